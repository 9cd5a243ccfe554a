"""The motion as a flow on a graph: rates of the state, the jets above it, projection onto the constraints, and what is watched.

Everything here is a CasADi function of (t, x, p): time, the jets below the top (with the work done as a last component where it is
needed), and parameters followed by the jets of inputs and the energy at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from sympy import Symbol

from chetaev.analysis.ranks import matrices_at, points_on, rank
from chetaev.numerics.elimination import Matrix, PivotOrder, Solved, pivot_order, solve
from chetaev.numerics.energy import energy_and_power
from chetaev.numerics.graph import GraphAlgebra
from chetaev.numerics.prolong import Prolongation
from chetaev.symbols import TIME, Action, Input, Jet, Multiplier, Parameter
from chetaev.values import Undefined

_SAMPLES = 4
_NO_POWER = 1e-9


@dataclass(frozen=True)
class Flow:
    """Graph functions of a regular system, for one choice of pivots."""

    system: Prolongation
    order: PivotOrder
    samples: tuple[Matrix, ...]

    @property
    def graph(self) -> GraphAlgebra:
        """The algebra all expressions belong to."""
        found: GraphAlgebra = self.system.algebra  # type: ignore[assignment]
        return found

    @property
    def state(self) -> tuple[Jet, ...]:
        """The jets below the top."""
        return self.system.structure.state

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The jets of inputs that occur."""
        pairs = [*self.system.hidden(), *self.system.stage(0)]
        present = self.system.symbols(pairs) | self.graph.symbols(self._energy[0]) | self.graph.symbols(self._energy[1])
        return tuple(sorted((z for z in present if isinstance(z, Input)), key=lambda z: z.name))

    @property
    def arguments(self) -> tuple[Symbol, ...]:
        """What the vector p holds before the energy at the start."""
        return (*self.system.equations.system.parameters, *self.inputs)

    @cached_property
    def solved(self) -> Solved:
        """The top jets as expressions in the state."""
        top = self.system.structure.top
        right = [-self.graph.without(self.system.row(pair), top) for pair in self.system.stage(0)]
        return solve(self.system.structure.jacobian, right, self.order, self.samples)

    @cached_property
    def tops(self) -> dict[Jet, ca.SX]:
        """The top jets by name."""
        return dict(zip(self.system.structure.top, self.solved.solution, strict=True))

    @cached_property
    def rates(self) -> list[ca.SX]:
        """The derivative of each jet of the state."""
        return [self.tops[z.d()] if z.d() in self.tops else self.graph.leaf(z.d()) for z in self.state]

    @cached_property
    def _energy(self) -> tuple[ca.SX, ca.SX]:
        return energy_and_power(self.system.equations, self.graph)

    @cached_property
    def energy(self) -> ca.SX:
        """The energy on the state."""
        return self.on_state(self._energy[0])

    @cached_property
    def power(self) -> ca.SX:
        """The power on the state."""
        return self.on_state(self._energy[1])

    @cached_property
    def has_power(self) -> bool:
        """Whether the energy changes: the power is not zero on the constraint manifold."""
        if self.power.is_zero():
            return False
        rows = [self.system.row(pair) for pair in self.system.hidden()]
        points = points_on(rows, list(self.graph.symbols(self.power)), algebra=self.graph)
        found = matrices_at([[self.power, self.energy]], points, self.graph)
        return not found or max(abs(a[0, 0]) / max(1.0, abs(a[0, 1])) for a in found) > _NO_POWER

    def on_state(self, e: ca.SX) -> ca.SX:
        """An expression with every jet above the state written out by the equations of motion."""
        top = dict(zip(self.system.structure.unknowns, self.system.structure.unknown_offsets, strict=True))
        while True:
            above = [
                z for z in self.graph.symbols(e) if isinstance(z, Jet) and not isinstance(z, Input) and self._offset(z, top) is not None
            ]
            if not above:
                return e
            e = ca.substitute(e, self.graph.vector(above), ca.vertcat(*[self.jet(z) for z in above]))

    def jet(self, z: Jet) -> ca.SX:
        """A jet at or above the top: a top jet, or its derivative along the flow."""
        if z in self.tops:
            return self.tops[z]
        below = self.jet(type(z)(z.base, z.order - 1))
        moving = [w for w in self.graph.symbols(below) if isinstance(w, Jet) or w == TIME]
        rates = dict(zip(self.state, self.rates, strict=True))
        seeds = [ca.SX(1) if w == TIME else rates[w] if w in rates else self.graph.leaf(w.d()) for w in moving]
        return ca.jtimes(below, self.graph.vector(moving), ca.vertcat(*seeds)) if moving else ca.SX(0)

    def _offset(self, z: Jet, top: dict[Jet, int]) -> int | None:
        """How far a jet lies above the state; None inside it."""
        for unknown, d in top.items():
            if unknown.base == z.base:
                return z.order - d if z.order >= d else None
        return None

    # -- functions of (t, x, p) --------------------------------------------------------------------------------------------------

    def function(self, outputs: Sequence[Any], name: str = "f") -> ca.Function:
        """A CasADi function of (t, x, p) with one dense output column."""
        x = self.graph.vector(self.state)
        p = self.graph.vector(self.arguments)
        column = ca.vertcat(*outputs) if outputs else ca.SX(0, 1)
        if self.has_power:
            x = ca.vertcat(x, self._work)
        return ca.Function(name, [self.graph.leaf(TIME), x, ca.vertcat(p, self._start)], [ca.densify(column)], {"cse": True})

    @cached_property
    def _work(self) -> ca.SX:
        return self.graph.leaf(Parameter("work done"))

    @cached_property
    def _start(self) -> ca.SX:
        return self.graph.leaf(Parameter("energy at the start"))

    def rhs(self) -> ca.Function:
        """Rates of the state."""
        return self.function([*self.rates, *([self.power] if self.has_power else [])], "rhs")

    def measure(self) -> tuple[ca.Function, tuple[str, ...]]:
        """Residuals of all constraints on the state and the balance of energy, with their names."""
        hidden = self.system.hidden()
        balance = self.energy - self._start - (self._work if self.has_power else 0)
        rows = [self.system.row(pair) for pair in hidden]
        return self.function([*rows, balance], "measure"), (*map(self.system.label, hidden), "balance")

    def watch(self, extra: Sequence[ca.SX] = ()) -> ca.Function:
        """The determinant, the worst pivot against its reference, then functions of the user's."""
        pivots, references = self.solved.pivots, self.solved.references
        determinant = ca.SX(self.solved.sign)
        smallest = ca.SX(1)
        for pivot, reference in zip(pivots, references, strict=True):
            determinant = determinant * (pivot / reference)
            smallest = ca.fmin(smallest, ca.fabs(pivot) / reference)
        return self.function([determinant, smallest, *[self.on_state(e) for e in extra]], "watch")

    def project(self, conserve: bool = False) -> ca.Function | None:
        """One Newton step onto the hidden constraints, in Pryce's stages, positions first; None without constraints."""
        stages = list(self.system.stages())
        if not stages and not conserve:
            return None
        t, x, p = (ca.SX.sym(n, size) for n, size in (("t", 1), ("x", len(self.state) + self.has_power), ("p", len(self.arguments) + 1)))
        moved = x
        for k in stages:
            moved = self._stage(k)(t, moved, p)
        if conserve:
            moved = self._energy_stage()(t, moved, p)
        return ca.Function("project", [t, x, p], [ca.densify(moved)], {"cse": True})

    def _stage(self, k: int) -> ca.Function:
        structure = self.system.structure
        pairs = self.system.stage(k)
        columns = [j for j, d in enumerate(structure.unknown_offsets) if d + k >= 0]
        jets = [structure.unknowns[j].d(structure.unknown_offsets[j] + k) for j in columns]
        rows = [self.system.row(pair) for pair in pairs]
        jacobian = [[structure.jacobian[i][j] for j in columns] for i, _ in pairs]
        return self._correction(rows, jacobian, jets)

    def _energy_stage(self) -> ca.Function:
        """The last stage with conservation of energy as one more row, moving the highest jets of the state."""
        structure = self.system.structure
        columns = [j for j, d in enumerate(structure.unknown_offsets) if d >= 1]
        jets = [structure.unknowns[j].d(structure.unknown_offsets[j] - 1) for j in columns]
        pairs = self.system.stage(-1)
        rows = [*[self.system.row(pair) for pair in pairs], self.energy - self._start]
        jacobian = [[structure.jacobian[i][j] for j in columns] for i, _ in pairs]
        jacobian.append(self.graph.gradient(self.energy, jets))
        return self._correction(rows, jacobian, jets)

    def _correction(self, rows: Sequence[ca.SX], jacobian: Sequence[Sequence[ca.SX]], jets: Sequence[Jet]) -> ca.Function:
        r"""$x - W J^T (J W J^T)^{-1} r$: the least correction in a metric that leaves action and multipliers alone where it can."""
        weights = self._weights(rows, jacobian, jets)
        m = len(rows)
        normal = [[_dot(jacobian[a], jacobian[b], weights) for b in range(m)] for a in range(m)]
        points = self._points(rows)
        samples = matrices_at(normal, points, self.graph)
        order = pivot_order(samples) if samples else None
        if order is None:
            return self.function([*map(self.graph.leaf, self.state), *([self._work] if self.has_power else [])], "stay")
        multipliers = solve(normal, list(rows), order, samples).solution
        moved = []
        for z in self.state:
            value = self.graph.leaf(z)
            if z in jets:
                column = jets.index(z)
                value = value - weights[column] * _sum([jacobian[a][column] * multipliers[a] for a in range(m)])
            moved.append(value)
        return self.function([*moved, *([self._work] if self.has_power else [])], "stage")

    def _weights(self, rows: Sequence[ca.SX], jacobian: Sequence[Sequence[ca.SX]], jets: Sequence[Jet]) -> list[float]:
        """1 for coordinates; 0 for the action and for multipliers if the other columns keep the rank of the rows."""
        light = [0.0 if isinstance(z, Action | Multiplier) else 1.0 for z in jets]
        found = matrices_at(jacobian, self._points(rows), self.graph)
        enough = all(rank(a * np.array(light)) == rank(a) for a in found) if found else False
        return light if enough else [1.0] * len(jets)

    def _points(self, rows: Sequence[ca.SX]) -> list[Any]:
        hidden = [self.system.row(pair) for pair in self.system.hidden()]
        return points_on(hidden, [z for r in rows for z in self.graph.symbols(r)], count=3, algebra=self.graph)


def make_flow(system: Prolongation, extra_points: Sequence[dict[Symbol, float]] = ()) -> Flow | None:
    """A flow with pivots that suit random points of the constraint manifold, and the given ones; None if the Jacobian is singular there."""
    rows = [system.row(pair) for pair in system.hidden()]
    points = [*extra_points, *points_on(rows, [], count=_SAMPLES, algebra=system.algebra)]
    try:
        samples = matrices_at(system.structure.jacobian, points, system.algebra)
    except Undefined:
        return None
    order = pivot_order(samples) if samples else None
    return None if order is None else Flow(system, order, tuple(samples))


def _dot(a: Sequence[ca.SX], b: Sequence[ca.SX], weights: Sequence[float]) -> ca.SX:
    return _sum([w * x * y for x, y, w in zip(a, b, weights, strict=True) if w and not x.is_zero() and not y.is_zero()])


def _sum(parts: Sequence[ca.SX]) -> ca.SX:
    total = ca.SX(0)
    for part in parts:
        total = total + part
    return total
