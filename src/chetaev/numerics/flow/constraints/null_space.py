r"""Accelerations of systems whose constraints are a recursion, in O(n) operations for a few free velocities.

Rows $M a + c + \sigma A^T \lambda = 0$ and $A a + \gamma = 0$ have the solution $a = a_0 + B \dot u$ with $A B = 0$, where $a_0$ and the
columns of $B$ come from the recursion (`triangular`), and

$$ B^T M B\, \dot u = -B^T (M a_0 + c) $$

has one row for each free velocity. Both sides are values of linear forms $B^T M$, which one backward sweep over the rows gives. The
multipliers follow from the transposed recursion. All pivots of the recursion are constant, so only those of the small matrix move along a
motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import casadi as ca
from sympy import Symbol

from chetaev.core.exact.signature import vanishing
from chetaev.core.support.lines import Line
from chetaev.core.symbols import Multiplier
from chetaev.numerics.flow.constraints.triangular import Triangular, Values, triangular
from chetaev.numerics.flow.elimination import PivotOrder, Samples, Solved, solve
from chetaev.numerics.flow.nested.rows import ExtendedRows, LooseRows, is_dense, loose_rows, nested_rows
from chetaev.numerics.flow.prolongation import Prolongation
from chetaev.numerics.graphs.arithmetic import NOTHING, balanced, dense, is_nothing, minus, plus, times
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.residues import Residues

_FEWEST_ROWS = 16
"""Fewest rows for which a recursion is looked for. With 12 four trailers would have half as many operations, but set-up of the bicycle,
which has no recursion, would take 40 per cent longer."""
_MOST_FREE = 4
"""Most free velocities. Operations grow in proportion to their number; with more, the elimination of a sparse matrix takes fewer."""

_KNOWN: Remembered[NullSpaceRows | None] = Remembered(64)


@dataclass(frozen=True)
class NullSpaceRows(ExtendedRows):
    """The lines of the recursion, and then the small matrix; their unknowns in the order of the lines, and then the free ones."""

    shorter: ClassVar[bool] = True
    recursion: Triangular
    balance: ca.SX
    """The rows of the forces, without multipliers."""
    forces: tuple[int, ...]
    """The places of these rows, in the order of the accelerations."""
    constraints: tuple[int, ...]
    """The places of the differentiated constraints, in the order of the multipliers."""
    accelerations: ca.SX
    sign: int
    """The sign of the multipliers in the rows of the forces."""
    directions: tuple[Values, ...]
    """How all unknowns of the recursion move with each free one."""

    def solved(self, order: PivotOrder, samples: Samples, residues: Residues | None, freeze: bool) -> Solved:
        """The accelerations and multipliers."""
        found = solve(self.matrix, self.right, order, samples, residues, freeze)
        start = _vector(self.recursion.particular(), self.accelerations.numel())
        forces = _parts(ca.substitute(self.balance, self.accelerations, ca.vertcat(*start)))
        solution = self.completed(start, forces, found.solution[len(self.recursion.steps) :])
        known = {field.name: getattr(found, field.name) for field in fields(Solved)}
        return NullSpaceSolved(**{**known, "solution": tuple(solution)}, rows_of_system=self)

    def inertia(self, along: Sequence[ca.SX]) -> list[ca.SX]:
        """The forces that accelerations need."""
        return _parts(ca.jtimes(self.balance, self.accelerations, ca.vertcat(*along)))

    def completed(self, start: Sequence[ca.SX], forces: Sequence[ca.SX], rates: Sequence[ca.SX]) -> list[ca.SX]:
        """Accelerations and multipliers, from the accelerations and forces where the free rates are zero, and the free rates."""
        accelerations = list(start)
        for direction, rate in zip(self.directions, rates, strict=True):
            accelerations = [plus(a, times(direction.get(k, NOTHING), rate)) for k, a in enumerate(accelerations)]
        more = self.inertia([minus(a, first) for a, first in zip(accelerations, start, strict=True)])
        shares = self.recursion.multipliers({k: plus(a, b) for k, (a, b) in enumerate(zip(forces, more, strict=True))})
        return [*accelerations, *[times(ca.SX(self.sign), shares[k]) for k in range(len(self.constraints))]]


@dataclass(frozen=True)
class NullSpaceSolved(Solved):
    """A solution by free velocities."""

    rows_of_system: NullSpaceRows | None = None

    def again(self, right: Sequence[ca.SX]) -> list[ca.SX]:
        """The solution with another right-hand side, by the same factors."""
        rows = self.rows_of_system
        assert rows is not None  # noqa: S101 - it is always given
        start = _vector(rows.recursion.particular([-right[i] for i in rows.constraints]), rows.accelerations.numel())
        forces = [minus(e, right[i]) for e, i in zip(rows.inertia(start), rows.forces, strict=True)]
        steps = len(rows.recursion.steps)
        sides = [NOTHING] * steps + [-_dot(_vector(direction, len(forces)), forces) for direction in rows.directions]
        return rows.completed(start, forces, super().again(sides)[steps:])


def null_space_rows(system: Prolongation) -> NullSpaceRows | None:
    """The rows of a system by free velocities; None where its constraints are no recursion, or leave many velocities free; remembered."""
    return _KNOWN.get(system.structure, (), lambda: _null_space_rows(system))


def _null_space_rows(system: Prolongation) -> NullSpaceRows | None:
    graph, structure = system.algebra, system.structure
    moving = [z for z in structure.top if not isinstance(z, Multiplier)]
    shares = [z for z in structure.top if isinstance(z, Multiplier)]
    forces, constraints = ([i for i, c in enumerate(structure.row_offsets) if bool(c) is held] for held in (False, True))
    ordered = structure.top == (*moving, *shares) and (len(forces), len(constraints)) == (len(moving), len(shares))
    if not ordered or not shares or not system.plain or not is_dense(structure.jacobian, _FEWEST_ROWS):
        return None
    rows = nested_rows(system, system.stage(0), NullSpaceRows.shorter)
    if rows is None:
        return None
    held, acting = ([rows[i] for i in places] for places in (constraints, forces))
    sign = _sign(system, acting, held, moving, shares)
    recursion = triangular(graph, held, moving) if sign else None
    if recursion is None or len(recursion.free) > _MOST_FREE:
        return None
    balance = graph.without(dense(ca.vertcat(*acting)), shares)
    found = NullSpaceRows(
        (), (), 0, recursion, balance, tuple(forces), tuple(constraints), graph.vector(moving), sign, tuple(recursion.directions())
    )
    loose = loose_rows(system, forces)
    loose = LooseRows(acting, ca.SX(0, 1), ca.SX(0, 1)) if loose is None else loose
    return _with_matrix(found, replace(loose, rows=_parts(graph.without(dense(ca.vertcat(*loose.rows)), shares))), len(structure.top))


def _with_matrix(rows: NullSpaceRows, loose: LooseRows, rank: int) -> NullSpaceRows:
    """The lines and the small matrix written out."""
    recursion, count = rows.recursion, rows.accelerations.numel()
    order = [*[step.unknown for step in recursion.steps], *recursion.free]
    column, steps = {j: k for k, j in enumerate(order)}, len(recursion.steps)
    matrix: list[dict[int, ca.SX]] = [{} for _ in order]
    for k, step in enumerate(recursion.steps):
        matrix[k][k] = step.pivot
        for w, e in step.others.items():
            matrix[k][column[w]] = e
    start = ca.vertcat(*_vector(recursion.particular(), count))
    first = [*_parts(ca.substitute(loose.values, rows.accelerations, start)), *_parts(start)]
    directions = [_vector(direction, count) for direction in rows.directions]
    moved = [[*_parts(ca.jtimes(loose.values, rows.accelerations, ca.vertcat(*along))), *along] for along in directions]
    right = [-step.rest for step in recursion.steps]
    for g, along in enumerate(directions):
        alone, form = _form_along(rows, loose, along)
        right.append(-plus(alone, _dot(form, first)))
        for f, values in enumerate(moved):
            matrix[steps + g][steps + f] = _dot(form, values)
    return replace(
        rows,
        matrix=tuple(Line(dict(sorted(line.items())), len(order), NOTHING) for line in matrix),
        right=tuple(right),
        further=len(order) - rank,
    )


def _form_along(rows: NullSpaceRows, loose: LooseRows, along: Sequence[ca.SX]) -> tuple[ca.SX, list[ca.SX]]:
    """The power of the forces along a direction, as an affine form in the leaves and accelerations: its rest, and its slopes."""
    virtual = ca.SX.sym("virtual", len(along))
    unknowns = ca.vertcat(loose.leaves, rows.accelerations)
    power = ca.dot(ca.vertcat(*loose.rows), virtual)
    both = ca.vertcat(ca.substitute(power, unknowns, ca.SX.zeros(unknowns.numel())), ca.gradient(power, unknowns))
    alone, *form = _parts(ca.substitute(both, virtual, ca.vertcat(*along)))
    return alone, form


def _sign(system: Prolongation, acting: Sequence[ca.SX], held: Sequence[ca.SX], moving: Sequence[Symbol], shares: Sequence[Symbol]) -> int:
    """The sign with which multipliers stand in the rows of the forces, if their coefficients are shown to be those of the constraints;
    0 if not.
    """
    graph = system.algebra
    accelerations, multipliers = graph.vector(moving), graph.vector(shares)
    reactions = ca.jtimes(ca.vertcat(*acting), multipliers, multipliers)
    restricted = ca.jtimes(ca.vertcat(*held), accelerations, accelerations)
    powers = [ca.dot(dense(reactions), accelerations), ca.dot(dense(restricted), multipliers)]
    zero = vanishing(graph.program([minus(*powers), plus(*powers)])[0])
    return 0 if zero is None else 1 if zero[0] else -1 if zero[1] else 0


def _parts(column: ca.SX) -> list[ca.SX]:
    found: list[ca.SX] = dense(column).elements()
    return found


def _vector(values: Values, count: int) -> list[ca.SX]:
    return [values.get(k, NOTHING) for k in range(count)]


def _dot(a: Sequence[ca.SX], b: Sequence[ca.SX]) -> ca.SX:
    """A sum of products, as a tree: its operations need not wait for each other."""
    products = [times(x, y) for x, y in zip(a, b, strict=True)]
    return balanced([e for e in products if not is_nothing(e)] or [NOTHING], plus)
