"""The motion as a flow on a graph: rates of the state, the jets above it, projection onto the constraints, and monitored functions.

Everything here is a CasADi function of (t, x, p): time, the jets below the top (with the work done as a last component where it is
needed), and parameters followed by the jets of inputs and the energy at the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, cast

import casadi as ca
import numpy as np
from sympy import Expr, S, Symbol

from chetaev.core.calculus import Calculus, total_derivative
from chetaev.core.exact.signature import has_values
from chetaev.core.support.lines import present
from chetaev.core.symbols import TIME, Input, Jet, Multiplier, Parameter, Place, highest_orders
from chetaev.mechanics.ranks.exact import exactly_zero
from chetaev.mechanics.ranks.factored import column_scales
from chetaev.mechanics.ranks.generic import Point
from chetaev.numerics.flow.constraints.projection import projection
from chetaev.numerics.flow.elimination import (
    Matrix,
    PivotOrder,
    Samples,
    Solved,
    solve,
    solve_positive,
)
from chetaev.numerics.flow.energy import energy_and_power, of_time_alone
from chetaev.numerics.flow.nested.rows import ExtendedRows, nested_lagrangian, nested_rows
from chetaev.numerics.flow.prolongation import Prolongation
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import is_nothing, larger, over, plus, size, times
from chetaev.numerics.graphs.bounds import Bounds
from chetaev.numerics.graphs.graph_tape import GraphTape
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.magnitude import magnitudes
from chetaev.numerics.graphs.residues import Residues
from chetaev.numerics.graphs.simplification.simplify import simplified

_SIMILAR_UNITS = 10.0
"""Binary exponent: units of columns that differ by less than this power of two count as equal."""

_ROUNDING_OF_ARGUMENTS = 1e-4
"""Part of a function's sensitivity that counts as a term of the energy (`magnitudes`). With 1 the term cos(z) would be as large as z, and
an error of the energy seem a million times smaller at z = 1e6; with 0 rounding of the largest angles would seem an error."""
_SAMPLES_OF_ROUNDING = 3
"""States at which bounds of rounding errors of shorter code are compared with those of the code it replaces."""

Stages = list[tuple[list[ca.SX], list[Jet]]]
_CONSERVING: Remembered[bool | None] = Remembered(64)


@dataclass(frozen=True)
class Flow:
    """Graph functions of a system that determines its motion, for one choice of pivots."""

    system: Prolongation
    order: PivotOrder
    samples: Samples
    given: tuple[Point, ...] = ()
    """States that the pivots have to suit, besides random ones."""
    residues: Residues | None = None
    """The residues that decide which entries of the system Jacobian are identically zero, and which are constant along a motion."""
    freeze: bool = False
    """Whether constant entries are written without the state, which is faster with constraints and few rows."""
    extended: ExtendedRows | None = None
    """The rows with intermediate results as further unknowns, which `order` and `samples` then refer to."""

    @property
    def matrix(self) -> Sequence[Sequence[ca.SX]]:
        """The matrix that is eliminated: the system Jacobian, or that of the rows with intermediate results."""
        return self.system.structure.jacobian if self.extended is None else self.extended.matrix

    @property
    def rank(self) -> int:
        """The number of pivots in the system Jacobian."""
        return len(self.order.pairs) - (0 if self.extended is None else self.extended.further)

    @property
    def graph(self) -> GraphAlgebra:
        """The algebra all expressions belong to."""
        found: GraphAlgebra = self.system.algebra
        return found

    @property
    def state(self) -> tuple[Jet, ...]:
        """The jets below the top."""
        return self.system.structure.state

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The jets of inputs that occur."""
        pairs = [*self.system.hidden(), *self.system.stage(0)]
        energies = [*self._energy, self.energy_of_time]
        present = self.system.symbols(pairs).union(*map(self.graph.symbols, energies))
        return tuple(sorted((z for z in present if isinstance(z, Input)), key=lambda z: z.name))

    @cached_property
    def arguments(self) -> tuple[Symbol, ...]:
        """The symbols of the vector p before the energy at the start."""
        return (*self.system.equations.system.parameters, *self.inputs)

    @cached_property
    def solved(self) -> Solved:
        """The top jets as expressions in the state, and then intermediate results; tops and pivots are written with few operations.

        Multipliers that redundant constraints leave open are those of least norm. How rates are written depends on the order of elimination
        and on random states only: motions from several states share code, in `simulate` one after the other, in ensembles side by side.
        """
        if self.extended is not None:
            return self.extended.solved(self.order, self.samples, self.residues, self.freeze)
        rows, top = ca.vertcat(*[self.system.row(pair) for pair in self.system.stage(0)]), self.system.structure.top
        right: Any = ca.densify(-self.graph.without(rows, top))
        found = solve(self.system.structure.jacobian, right.elements(), self.order, self.samples, self.residues, self.freeze)
        opened = [j for j, z in enumerate(top) if z.name in self.system.undetermined]
        solution, rates = _of_least_norm(found, opened), [k for k, z in enumerate(top) if z.order]
        shorter = simplified(self.graph, [*solution, *found.pivots], rates, list(self.system.generic_points)[:_SAMPLES_OF_ROUNDING])
        if shorter is None:
            return replace(found, solution=tuple(solution))
        return replace(found, solution=tuple(shorter[: len(top)]), pivots=tuple(shorter[len(top) :]))

    @cached_property
    def tops(self) -> dict[Jet, ca.SX]:
        """The top jets by name."""
        return dict(zip(self.system.structure.top, self.solved.solution, strict=False))

    @cached_property
    def points(self) -> list[Point]:
        """States at which pivots are chosen: the given ones and random ones of the constraint manifold."""
        return [*self.given, *self.system.generic_points]

    @cached_property
    def rates(self) -> list[ca.SX]:
        """The derivative of each jet of the state."""
        return [self._rate(z) for z in self.state]

    def _rate(self, z: Jet) -> ca.SX:
        if isinstance(z, Place):
            return self.on_state(Calculus(self.graph, self.system.equations.system.frame).total(self.graph.leaf(z)))
        return self.tops[z.d()] if z.d() in self.tops else self.graph.leaf(z.d())

    @cached_property
    def _energy(self) -> tuple[ca.SX, ca.SX]:
        return energy_and_power(self.system.equations, self._writing, self._lagrangian[1])

    @cached_property
    def _lagrangian(self) -> tuple[Expr, Expr]:
        """A function of time alone in the Lagrangian, and the rest; zero and all of it where the rate of an action variable contains it,
        and where sums are nested.
        """
        lowered = self.system.equations.lowered
        if lowered.action is not None or lowered.system.equations or self._writing is not self.graph:
            return S.Zero, lowered.lagrangian
        found = of_time_alone(lowered.lagrangian)
        moves = any(z == TIME or isinstance(z, Input) for z in found[0].free_symbols)
        return found if moves else (S.Zero, lowered.lagrangian)

    @cached_property
    def energy_of_time(self) -> ca.SX:
        """The part of the energy that is a function of time alone: it changes without work that would have to be integrated."""
        return self.graph.of(-self._lagrangian[0])

    @cached_property
    def _writing(self) -> GraphAlgebra:
        """The algebra in which energies are written, with nested sums where rows have them."""
        nested = None if self.extended is None else nested_lagrangian(self.system)
        return self.graph if nested is None else cast(GraphAlgebra, nested)

    @cached_property
    def energy(self) -> ca.SX:
        """The energy on the state."""
        return self.balanced_energy + self.energy_of_time if self._lagrangian[0] != 0 else self.balanced_energy

    @cached_property
    def balanced_energy(self) -> ca.SX:
        """The energy on the state without its function of time alone; its rate is `power`."""
        return self.on_state(self._energy[0])

    @cached_property
    def power(self) -> ca.SX:
        """The rate of the balanced energy on the state.

        Reactions that were eliminated from the equations have no expression here; with them the power is the rate of the energy.
        """
        power = self.on_state(self._energy[1])
        eliminated = any(isinstance(z, Multiplier) and z not in self.state for z in self.graph.symbols(power))
        return self.rate_of(self.balanced_energy) if eliminated else power

    @property
    def has_power(self) -> bool:
        """Whether the balanced energy may change: False only if the power is proved to vanish on the constraint manifold."""
        return self._powerless is not True

    @cached_property
    def conserves_energy(self) -> bool | None:
        """Whether the energy is a first integral; None if that is undecided."""
        return self._powerless if self._lagrangian[0] == 0 else False

    @cached_property
    def _powerless(self) -> bool | None:
        """Whether the power vanishes on the constraint manifold; None if that is undecided.

        It vanishes there if it vanishes where some of the rows hold. The power of reactions alone usually vanishes where the few rows hold
        that restrict the highest jets of the state: these come first. Those for the tops and for the velocities are the easiest to satisfy.
        Cached by the system, since the choice of pivots does not affect it.
        """
        return _CONSERVING.get(self.system, (), self._conserves_energy)

    def _conserves_energy(self) -> bool | None:
        power = self._energy[1]
        if power.is_zero():
            return True
        offsets = {z.base: d for z, d in zip(self.system.structure.unknowns, self.system.structure.unknown_offsets, strict=True)}
        above = [z.order - offsets[z.base] for z in self.graph.symbols(power) if isinstance(z, Jet) and z.base in offsets]
        reactions = [z for z in self.graph.symbols(power) if isinstance(z, Multiplier)]
        highest = [stage for stage in self.system.staged(-1)[-1:] if stage[0]]
        if highest and self.graph.without(power, reactions).is_zero():
            known = exactly_zero([power], highest[0][0], self.graph, highest)
            if known is not None and known[0]:
                return True
        whole = self.system.staged(max([0, *above]))
        later = [whole[first:] for first in range(len(whole))]
        affine = self._affine(whole)
        for stages in [*later, affine, *[[stage] for stage in affine]]:
            rows = [row for staged, _ in stages for row in staged]
            known = exactly_zero([power], rows, self.graph, stages)
            if known is not None and (known[0] or stages == whole):
                return True if known[0] else None if not has_values(self.graph.program([power])[0])[0] else False
        return None

    def _affine(self, stages: Stages) -> Stages:
        """Return the rows of each stage that are affine in the jets of the stage."""
        found = []
        for rows, jets in stages:
            affine = [row for row in rows if not any(self.graph.which_contain(self.graph.gradient(row, jets), jets))]
            found.append((affine, jets))
        return found

    def on_state(self, e: ca.SX) -> ca.SX:
        """An expression with every jet above the state written out by the equations of motion."""
        top = {z.base: d for z, d in zip(self.system.structure.unknowns, self.system.structure.unknown_offsets, strict=True)}
        while True:
            above = [
                z for z in self.graph.symbols(e) if isinstance(z, Jet) and not isinstance(z, Input) and self._offset(z, top) is not None
            ]
            if not above:
                return e
            e = ca.substitute(e, self.graph.vector(above), ca.vertcat(*[self.jet(z) for z in above]))

    def jet(self, z: Jet) -> ca.SX:
        """A jet at or above the top: a top jet, or its derivative along the flow."""
        return self.tops[z] if z in self.tops else self.rate_of(self.jet(type(z)(z.base, z.order - 1)))

    def rate_of(self, e: ca.SX) -> ca.SX:
        """The derivative of an expression of the state along the flow."""
        moving = [w for w in self.graph.symbols(e) if isinstance(w, Jet) or w == TIME]
        rates = dict(zip(self.state, self.rates, strict=True))
        seeds = [ca.SX(1) if w == TIME else rates[w] if w in rates else self.graph.leaf(w.d()) for w in moving]
        return ca.jtimes(e, self.graph.vector(moving), ca.vertcat(*seeds)) if moving else ca.SX(0)

    def _offset(self, z: Jet, top: dict[str, int]) -> int | None:
        """Return the number of derivatives by which a jet lies above the state; None inside it."""
        d = top.get(z.base)
        return None if d is None or z.order < d else z.order - d

    def with_inputs(self, e: ca.SX, functions: Mapping[str, Expr]) -> ca.SX:
        """Return an expression in which inputs that are not arguments of the flow are written out as functions of time."""
        others = [z for z in self.graph.symbols(e) if isinstance(z, Input) and z not in self.inputs]
        written = [self.graph.of(total_derivative(functions[z.base], z.order)) for z in others]
        return ca.substitute(e, self.graph.vector(others), ca.vertcat(*written)) if others else e

    # -- functions of (t, x, p) --------------------------------------------------------------------------------------------------

    def function(self, outputs: Sequence[Any], name: str = "f") -> ca.Function:
        """A CasADi function of (t, x, p) with one dense output column."""
        column = ca.vertcat(*outputs) if outputs else ca.SX(0, 1)
        return self.graph.function(name, [self.graph.leaf(TIME), self.x, self.p], column)

    @cached_property
    def x(self) -> ca.SX:
        """The state and the work done; cached, because CasADi takes as long to join symbols as to execute hundreds of instructions."""
        return ca.vertcat(self.graph.vector(self.state), *self.work)

    @cached_property
    def p(self) -> ca.SX:
        """Parameters, inputs and the energy at the start."""
        return ca.vertcat(self.graph.vector(self.arguments), self.start_energy)

    @property
    def size(self) -> int:
        """The length of the vector x."""
        return len(self.state) + int(self.has_power)

    @cached_property
    def work(self) -> list[ca.SX]:
        """The work done, the last component of x; nothing where energy is conserved."""
        return [self.graph.leaf(Parameter("work done"))] if self.has_power else []

    @cached_property
    def start_energy(self) -> ca.SX:
        """The energy at the start, the last component of p."""
        return self.graph.leaf(Parameter("energy at the start"))

    def rhs(self) -> ca.Function:
        """Rates of the state."""
        return self._rhs

    @cached_property
    def _rhs(self) -> ca.Function:
        return self.function([*self.rates, *([self.power] if self.has_power else [])], "rhs")

    def measure(self) -> tuple[ca.Function, tuple[str, ...]]:
        """Residuals of all constraints on the state and the balance of energy, with their names; then the sums of their terms' sizes."""
        hidden = self.system.hidden()
        balance = self.balanced_energy - self.start_energy - sum(self.work)
        nested = nested_rows(self.system, hidden, self.extended.shorter) if self.extended is not None and hidden else None
        rows = nested or [self.system.row(pair) for pair in hidden]
        sizes, (energies,) = magnitudes(rows), magnitudes([self._terms_of_energy], _ROUNDING_OF_ARGUMENTS)
        exchanged = self.on_state(energies) + ca.fabs(self.start_energy) + sum(map(ca.fabs, self.work))
        return self.function([*rows, balance, *sizes, exchanged], "measure"), (*map(self.system.label, hidden), "balance")

    @property
    def _terms_of_energy(self) -> ca.SX:
        """Return an expression with the terms of the energy, each once: a Lagrangian of first order has them up to signs."""
        lagrangian = self._lagrangian[1]
        first = all(order <= 1 for order in highest_orders(lagrangian.free_symbols).values())
        return self._writing.of(lagrangian) if first else self._energy[0]

    def watch(self, extra: Sequence[ca.SX] = ()) -> ca.Function:
        """Return a function of the determinant, the smallest pivot, then functions of the user.

        The determinant is relative to the points at which the pivots were chosen. A pivot is measured in units of its row and column at the
        same state, and relative to the largest such value at those points. Entries of a row are compared in units of their columns:
        otherwise a small mass beside a reaction would be negligible in its row.
        """
        return self.function([self.determinant, self.smallest_pivot, *[self.on_state(e) for e in extra]], "watch")

    @cached_property
    def determinant(self) -> ca.SX:
        """The determinant of the system Jacobian, relative to the points the pivots were chosen at."""
        determinant, constant = ca.SX(self.solved.sign), self._bounds_of_entries.which_are_constant(self.solved.pivots)
        pivots = zip(constant, self.solved.pivots, self.solved.references, strict=True)
        for _, pivot, reference in sorted(pivots, key=lambda item: not item[0]):
            determinant = determinant * (pivot * (1 / reference))
        if not self.system.plain:  # one minor of several: where it vanishes another will do, so its sign means nothing
            determinant = ca.fabs(determinant)
        return determinant

    @cached_property
    def pivots(self) -> ca.Function:
        """Return a function of all pivots; their product does not show which of them fell."""
        return self.function(self.solved.pivots, "pivots")

    @cached_property
    def smallest_pivot(self) -> ca.SX:
        """The smallest pivot, as `watch` measures it. Of those that are constant, in rows with bounded entries, it is a lower bound."""
        sizes = [{j: size(e) for j, e in present(line) if not is_nothing(e)} for line in self.matrix]
        one, units, lasting = ca.SX(1), self._column_units, self._inverse_lasting_pivots
        moving = [pair for pair, known in zip(self.order.pairs, lasting, strict=True) if known is None]
        rows = {i: _largest(_in_units(sizes[i], units)) for i, _ in (self.order.pairs if moving else ())}
        inverse, held = {i: over(one, size) for i, size in rows.items()}, dict[int, list[ca.SX]]()
        for i in rows:
            for j, e in sizes[i].items():
                held.setdefault(j, []).append(times(e, inverse[i]))
        columns = {j: _largest(held.get(j, ())) for _, j in moving}
        largest = reduce(larger, [known for known in lasting if known is not None], one)
        # the largest inverse: that of a constant pivot needs no division at every state
        for (i, j), pivot, usual, known in zip(self.order.pairs, self.solved.pivots, self._usual_pivots, lasting, strict=True):
            if known is None:
                largest = larger(largest, times(over(ca.SX(usual), size(pivot)), times(rows[i], columns[j])))
        return over(one, largest)

    @cached_property
    def _inverse_lasting_pivots(self) -> list[ca.SX | None]:
        """For each pivot an upper bound of its inverse, as `watch` measures it, at all states; None if it moves or no bound is known.

        A column in units of its rows is never larger than its own unit, so the largest possible entry of a row decides.
        """
        bounds, units, found = self._bounds_of_entries, self._column_units, list[ca.SX | None]()
        for (i, j), pivot, usual in zip(self.order.pairs, self.solved.pivots, self._usual_pivots, strict=True):
            line = present(self.matrix[i]) if self.freeze and bounds.is_constant(pivot) else ()
            sizes = {c: bounds.of(e) for c, e in line if not is_nothing(e)}
            known = bool(sizes) and all(size is not None for size in sizes.values())
            largest = times(over(ca.SX(usual * units[j]), size(pivot)), _largest(_in_units(sizes, units))) if known else None
            found.append(largest)
        return found

    @cached_property
    def _bounds_of_entries(self) -> Bounds:
        """Bounds of expressions in the parameters and the symbols of the matrix."""
        entries = [e for line in self.matrix for _, e in present(line) if not is_nothing(e)]
        return Bounds(self.graph.vector([z for z in self.graph.symbols_of(entries) if not isinstance(z, Parameter)]))

    @cached_property
    def has_constant_jacobian(self) -> bool:
        """Whether the system Jacobian depends on parameters alone, so that no state is singular if one is not."""
        entries = [e for line in self.system.structure.jacobian for e in line.entries.values() if not is_nothing(e)]
        return all(isinstance(z, Parameter) for z in self.graph.symbols_of(entries))

    @cached_property
    def lowest_pivot(self) -> GraphTape | None:
        """A lower bound of the smallest pivot at all states, as a function of parameters; None if a pivot moves or no bound is known."""
        known = [largest for largest in self._inverse_lasting_pivots if largest is not None]
        if not known or len(known) < len(self.order.pairs):
            return None
        return self.graph.tape([over(ca.SX(1), reduce(larger, known, ca.SX(1)))])

    @cached_property
    def _column_units(self) -> Matrix:
        """Return units of the columns, as powers of two, in which the entries of a row are compared; one where all entries have similar
        sizes.

        They minimise the logarithms of the entries at the given states; entries that vanish there count with their size elsewhere.
        """
        samples, sizes = self.samples, self.samples.sizes
        given = sizes[: max(1, len(self.given))].max(axis=0)
        logs = np.log2(column_scales(samples.rows, samples.columns, np.where(given > 0, given, sizes.max(axis=0)), samples.shape))
        units: Matrix = 2.0 ** np.round(logs - np.median(logs))
        return units if np.ptp(logs) > _SIMILAR_UNITS else np.ones_like(units)

    @cached_property
    def _usual_pivots(self) -> Matrix:
        """Return the largest sizes of the pivots at the samples, in units of their rows and columns, at most one."""
        samples, found = self.samples, self.solved.sizes.copy()
        i, j = np.array(self.order.pairs, dtype=np.int64).reshape(-1, 2).T
        kept, units = np.isin(samples.rows, i), self._column_units
        for at, numbers in zip(found, samples.sizes, strict=True):
            rows, columns = np.zeros(samples.shape[0]), np.zeros(samples.shape[1])
            np.maximum.at(rows, samples.rows, numbers / units[samples.columns])
            rows[rows == 0] = 1.0
            np.maximum.at(columns, samples.columns[kept], (numbers / rows[samples.rows])[kept])
            columns[columns == 0] = 1.0
            at /= rows[i] * columns[j]
        usual: Matrix = np.minimum(found.max(axis=0), 1.0)
        return usual

    def project(self, conserve: bool = False) -> ca.Function | None:
        """One Newton step onto the hidden constraints, positions first; None without constraints."""
        return projection(self, conserve)


def _of_least_norm(solved: Solved, opened: Sequence[int]) -> list[ca.SX]:
    r"""$y - N (N^T N)^{-1} N^T y$ for the unknowns left open, with $N$ a basis of the null space."""
    solution = list(solved.solution)
    if not solved.null:
        return solution
    null = [[column[j] for j in opened] for column in solved.null]
    normal = [[_dot(a, b) for b in null] for a in null]
    shares = solve_positive(normal, [_dot(a, [solution[j] for j in opened]) for a in null])
    for k, j in enumerate(opened):
        solution[j] = solution[j] - _dot(shares, [column[k] for column in null])
    return solution


def _dot(a: Sequence[ca.SX], b: Sequence[ca.SX]) -> ca.SX:
    total = ca.SX(0)
    for x, y in zip(a, b, strict=True):
        total = plus(total, times(x, y))
    return total


def _in_units(sizes: Mapping[int, Any], units: Matrix) -> list[Any]:
    """Sizes of the entries of a row in units of their columns."""
    return [e if units[j] == 1 else times(e, ca.SX(1 / float(units[j]))) for j, e in sizes.items()]


def _largest(sizes: Sequence[ca.SX]) -> ca.SX:
    """The largest of some sizes."""
    return reduce(larger, sizes) if sizes else ca.SX(0)
