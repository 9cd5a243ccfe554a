r"""The conditions at the two ends of a path, as functions of the state there, with their derivatives.

The variation of the action at an end is $p_i\,\delta q^i - E\,\delta t$, with the Ostrogradsky momenta $p$ of the lowered Lagrangian. At an
end that is not fixed, it vanishes for all displacements that the stated conditions $c$ and the holonomic rows $\varphi$ allow:

$$ p = \nu_j\, \partial_q c_j + \mu_h\, \partial_q \varphi_h, \qquad -E = \nu_j\, \partial_t c_j. $$

The multipliers $\nu$ and $\mu$ of these transversality conditions are unknowns of the boundary value problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.core.calculus import SYMBOLIC, Calculus
from chetaev.core.declarations import read_value
from chetaev.core.errors import UsageError, require_mapping
from chetaev.core.fixes import InPython
from chetaev.core.notation import Vocabulary, from_sympy, parse_expression, show
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import TIME, Coordinate, Entry, Jet, Multiplier, jets_in
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.start.attitude import read_element
from chetaev.paths.boundary.attitudes import entry_values, turning_in
from chetaev.transforms.tools.momenta import energy, momenta

Array = NDArray[np.float64]

_CONDITIONS = (InPython('{"x": 0, "y": None}'), ": a value for each coordinate, or None where the end is free")
"""The form of the conditions at an end, for messages."""


@dataclass(frozen=True)
class End:
    """The conditions at one end, as they were given."""

    word: str
    """`start` or `end`."""
    values: Mapping[Jet, Expr]
    """Jets with a value: a number or an expression in parameters."""
    others: tuple[tuple[Expr, Expr], ...]
    """Expressions with a value."""
    free: tuple[Jet, ...]
    """Jets that were given as None; for a group element given as None, its components."""
    places: Mapping[Jet, float] = field(default_factory=dict)
    """The stored numbers of the group elements that were given."""
    entries: tuple[tuple[Entry, float], ...] = ()
    """The entries of their matrices."""

    @cached_property
    def fixed(self) -> frozenset[Jet]:
        """The jets whose displacements vanish."""
        return frozenset(self.values) | turning_in(e for e, _ in self.entries)

    @property
    def stated(self) -> frozenset[Jet]:
        """The jets that occur in a condition of this end."""
        return self.fixed.union(self.free, *[moving_in(e) for e, _ in self.others])


def moving_in(e: Expr) -> set[Jet]:
    """The jets in an expression; for entries of a group element, its components."""
    return jets_in(e) | turning_in(e.free_symbols)


def read_end(given: Any, word: str, equations: Equations, where: str, parameters: Mapping[Any, float] | None = None) -> End:
    """Read the conditions at an end; raise a UsageError for an invalid one.

    Group elements may depend on the values `parameters`.
    """
    place = f"{where}, {word}"
    require_mapping(given, f"{word} is", place, _CONDITIONS)
    names = Vocabulary(parameters={str(z.name): z for z in equations.system.parameters})
    values: dict[Jet, Expr] = {}
    others: list[tuple[Expr, Expr]] = []
    free: list[Jet] = []
    places: dict[Jet, float] = {}
    entries: list[tuple[Entry, float]] = []
    for key, value in given.items():
        group = equations.system.groups.get(spell(str(key)))
        if group is not None and value is None:
            free += group.components
            continue
        if group is not None:
            element = read_element(group, value, parameters or {}, f"{place}, {key}")
            places |= element
            entries += entry_values(group, list(element.values())).items()
            continue
        expression = read_value(key, equations.vocabulary, place)
        if isinstance(expression, Jet) and (expression in values or expression in free):
            raise UsageError(f"{key} is given twice.", where=place, hint=_CONDITIONS)
        if value is None:
            if not isinstance(expression, Jet):
                raise UsageError(f"{show(expression)} cannot be None: only jets can be free.", where=place, hint=InPython('{"x": None}'))
            free.append(expression)
            continue
        read = parse_expression(value, names, place) if isinstance(value, str) else from_sympy(_number(value, key, place), names, place)
        if isinstance(expression, Jet):
            values[expression] = read
        elif not moving_in(expression):
            raise UsageError(f"{key} contains no coordinate.", where=place, hint=_CONDITIONS)
        else:
            others.append((expression, read))
    return End(word, values, tuple(others), tuple(free), places, tuple(entries))


def _number(value: Any, key: Any, place: str) -> Any:
    if isinstance(value, bool) or not (isinstance(value, Expr) or np.isscalar(value)) or (np.isscalar(value) and not np.isfinite(value)):
        hint = ('a finite number, an expression such as "pi/6", or None: ', InPython(f'{{"{key}": None}}'))
        raise UsageError(f"{key} = {value!r} is not a value.", where=place, hint=hint)
    found: Any = value
    return found if isinstance(found, Expr) else float(found)


@dataclass(frozen=True)
class Boundary:
    """The boundary terms of the action: the jets below the highest derivatives in L, with their momenta."""

    equations: Equations

    @cached_property
    def pairs(self) -> dict[Jet, Expr]:
        """Each of these jets with its momentum."""
        return {q.d(k): p for q in self.equations.system.coordinates for k, p in enumerate(momenta(self.equations, q))}

    @cached_property
    def holonomic(self) -> list[Expr]:
        """The rows on positions, and those of their derivatives that contain only jets of `pairs`."""
        deepest = max((z.order for z in self.pairs), default=0)
        rows = [row.residual for row in self.equations.system.kinematic if row.order == 0]
        return [self.equations.total(row, k) if k else row for row in rows for k in range(deepest + 1)]

    @property
    def variational(self) -> bool:
        """Whether the motions are extremals of the action: there are no forces and no reactions."""
        system = self.equations.system
        return not (system.equations or system.forces or system.dissipation != 0 or self.equations.lowered.reactions)


@dataclass(frozen=True)
class Rows:
    """Rows of a boundary value problem at one end: functions of the time, the state, the parameters and the end's own multipliers."""

    labels: tuple[str, ...]
    value: ca.Function
    slopes: ca.Function
    multipliers: int

    def at(self, t: float, y: Array, p: Array, nu: Array) -> tuple[Array, list[Array]]:
        """The residuals, and their derivatives with respect to time, state, parameters and multipliers."""
        residual = np.array(self.value(t, y, p, nu)).ravel()
        widths = (1, len(y), len(p), self.multipliers)
        parts = [np.array(m, float).reshape(len(residual), n) for m, n in zip(self.slopes(t, y, p, nu), widths, strict=True)]
        return residual, parts


@dataclass(frozen=True)
class Ends:
    """All conditions of a boundary value problem."""

    boundary: Boundary
    start: End
    end: End
    periodic: tuple[Jet, ...]
    free_time: bool
    inputs: Any

    @cached_property
    def flow(self) -> Flow:
        """The graph of the equations."""
        return compile_equations(smooth(self.boundary.equations, self.inputs).smooth).flow

    @cached_property
    def at_start(self) -> Rows:
        """The rows at the start."""
        return self._rows(self.start)

    @cached_property
    def at_end(self) -> Rows:
        """The rows at the end."""
        return self._rows(self.end)

    @cached_property
    def between(self) -> Rows:
        """Functions with the same value at both ends, for periodic conditions."""
        pairs, given = self.boundary.pairs, self.start.fixed | self.end.fixed
        moved = [z for z in self.periodic if z in pairs and z not in given and self.boundary.variational]
        functions: list[Expr] = [*self.periodic, *[pairs[z] for z in moved]]
        labels = [f"{z.name} periodic" for z in self.periodic] + [f"momentum of {z.name} periodic" for z in moved]
        return self._compiled(labels, [self._graph(e) for e in functions], ca.SX(0, 1))

    @cached_property
    def momenta(self) -> Rows:
        """The momenta of the boundary, as rows."""
        pairs = self.boundary.pairs
        return self._compiled([z.name for z in pairs], [self._graph(p) for p in pairs.values()], ca.SX(0, 1))

    def displacements(self, end: End) -> list[Jet]:
        """The jets whose displacements at an end are free or restricted by expressions; each has a transversality condition."""
        if not end.free or not self.boundary.variational:
            return []
        tied = frozenset().union(*[moving_in(e) for e in self._tying(end)])
        return [z for z in self.boundary.pairs if z not in end.fixed and z not in self.periodic and (z in end.free or z in tied)]

    def _tying(self, end: End) -> list[Expr]:
        """The conditions that restrict displacements of the jets of the boundary; conditions on other jets, such as velocities, do not."""
        return [e for e, _ in end.others if all(z in self.boundary.pairs for z in moving_in(e))]

    def _rows(self, end: End) -> Rows:
        labels = [z.name for z in end.values] + [show(e) for e, _ in (*end.others, *end.entries)]
        rows = [self._graph(z - v) for z, v in end.values.items()] + [self._graph(e - v) for e, v in end.others]
        rows += [self._graph(e) - v for e, v in end.entries]
        moving, tying = self.displacements(end), self._tying(end)
        timed = self.free_time and end.word == "end" and self.boundary.variational
        held = [e for e in (*tying, *self.boundary.holonomic) if moving or TIME in e.free_symbols] if moving or timed else []
        nu = ca.SX.sym("nu", len(held))
        for z in moving:
            row = self._graph(self.boundary.pairs[z])
            for k, e in enumerate(held):
                row = row - nu[k] * self._graph(self._slope(e, z))
            rows.append(row)
            labels.append(f"momentum of {z.name}")
        if timed:
            row = -self._graph(energy(self.boundary.equations))
            for k, e in enumerate(held):
                row = row - nu[k] * self._graph(e.diff(TIME))
            rows.append(row)
            labels.append("energy")
        return self._compiled(labels, rows, nu)

    def _slope(self, e: Expr, z: Jet) -> Expr:
        """The derivative of a condition with respect to a displacement; for a component of a group element, along its field."""
        found: Expr = Calculus(SYMBOLIC, self.boundary.equations.system.frame).gradient(e, [z])[0]
        return found

    def _graph(self, e: Expr) -> ca.SX:
        return self.on_state(self.flow.graph.of(self.boundary.equations.system.charted(e)))

    def on_state(self, e: ca.SX) -> ca.SX:
        """A node of the graph as a function of time, state and parameters alone."""
        flow = self.flow
        found = flow.with_inputs(flow.on_state(e), self.inputs)
        if flow.inputs:
            written = compile_equations(self.boundary.equations).driving(Binding({}, self.inputs))
            found = ca.substitute(found, flow.graph.vector(flow.inputs), ca.vertcat(*map(flow.graph.of, written)))
        return found

    def _compiled(self, labels: Sequence[str], rows: Sequence[ca.SX], nu: ca.SX) -> Rows:
        graph = self.flow.graph
        arguments = [graph.leaf(TIME), graph.vector(self.flow.state), graph.vector(self.boundary.equations.system.parameters), nu]
        column = ca.densify(graph.numeric(ca.vertcat(*rows))) if rows else ca.SX(0, 1)
        slopes = [ca.densify(ca.jacobian(column, z)) for z in arguments]
        return Rows(tuple(labels), ca.Function("rows", arguments, [column]), ca.Function("slopes", arguments, slopes), nu.numel())


def check_names(ends: Ends, where: str) -> None:
    """Raise a UsageError for free ends of motions that are not extremals, and for free jets that have no displacement."""
    for end in (ends.start, ends.end):
        if not end.free:
            continue
        if not ends.boundary.variational:
            raise UsageError(
                f"{end.free[0].name} is free at the {end.word}.",
                where=where,
                why="These motions are not extremals, so no transversality condition belongs to a free end.",
                hint=f"leave {end.free[0].name} out, and give as many conditions as there are free initial values",
            )
        wrong = [z for z in end.free if z not in ends.boundary.pairs]
        if wrong:
            named = " ".join(z.name for z in ends.boundary.pairs)
            kind = "a multiplier" if isinstance(wrong[0], Multiplier) else "no coordinate" if not isinstance(wrong[0], Coordinate) else ""
            why = f"Displacements at an end are those of {named}." if not kind else f"It is {kind}; displacements are those of {named}."
            raise UsageError(
                f"{wrong[0].name} = None has no meaning at the {end.word}.", where=where, why=why, hint=f"leave {wrong[0].name} out"
            )
