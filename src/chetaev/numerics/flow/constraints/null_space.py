r"""Accelerations of systems whose constraints are a recursion, in O(n) operations for a few free velocities.

Rows $M a + c + \sigma A^T \lambda = 0$ and $A a + \gamma = 0$ have the solution $a = a_0 + B \dot u$ with $A B = 0$, where $a_0$ and the
columns of $B$ come from the recursion (`triangular`), and

$$ B^T M B\, \dot u = -B^T (M a_0 + c) $$

has one row for each free velocity. The multipliers follow from the transposed recursion. All pivots of the recursion are constant, so only
those of the small matrix move along a motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import casadi as ca

from chetaev.core.exact.signature import vanishing
from chetaev.core.symbols import Multiplier
from chetaev.numerics.flow.constraints.triangular import Triangular, Values, triangular
from chetaev.numerics.flow.elimination import PivotOrder, Samples, Solved, solve
from chetaev.numerics.flow.nested.rows import ExtendedRows, is_dense, nested_rows
from chetaev.numerics.flow.prolongation import Prolongation
from chetaev.numerics.graphs.arithmetic import NOTHING, dense, minus, plus, times
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.residues import Residues

_MOST_FREE = 4
"""Most free velocities. Operations grow in proportion to their number; with more, the elimination of a sparse matrix takes fewer."""

_KNOWN: Remembered[NullSpaceRows | None] = Remembered(64)


@dataclass(frozen=True)
class NullSpaceRows(ExtendedRows):
    """The lines of the recursion, and then the small matrix; their unknowns in the order of the lines, and then the free ones."""

    recursion: Triangular
    balance: ca.SX
    """The rows of the forces, without multipliers."""
    forces: tuple[int, ...]
    """The places of these rows, and the unknown accelerations in the same order."""
    constraints: tuple[int, ...]
    """The places of the differentiated constraints, and the multipliers in the same order."""
    unknowns: ca.SX
    """The accelerations."""
    sign: int
    """The sign of the multipliers in the rows of the forces."""
    directions: tuple[Values, ...]
    moved: tuple[tuple[ca.SX, ...], ...]
    """For each direction the forces of inertia along it."""

    def solved(self, order: PivotOrder, samples: Samples, residues: Residues | None, freeze: bool) -> Solved:
        """The accelerations and multipliers."""
        found = solve(self.matrix, self.right, order, samples, residues, freeze)
        start = self.recursion.particular()
        solution = self.completed(start, self.at(start), found.solution[len(self.recursion.steps) :])
        known = {field.name: getattr(found, field.name) for field in fields(Solved)}
        return NullSpaceSolved(**{**known, "solution": tuple(solution)}, null_space=self)

    def at(self, accelerations: Values) -> list[ca.SX]:
        """The rows of the forces at given accelerations, without multipliers."""
        column = ca.vertcat(*_vector(accelerations, self.unknowns.numel()))
        found: list[ca.SX] = dense(ca.substitute(self.balance, self.unknowns, column)).elements()
        return found

    def completed(self, start: Values, forces: Sequence[ca.SX], rates: Sequence[ca.SX]) -> list[ca.SX]:
        """Accelerations and multipliers, from those where the free rates are zero and the free rates."""
        accelerations, left = _vector(start, self.unknowns.numel()), list(forces)
        for direction, moved, rate in zip(self.directions, self.moved, rates, strict=True):
            for k in range(len(left)):
                accelerations[k] = plus(accelerations[k], times(direction.get(k, NOTHING), rate))
                left[k] = plus(left[k], times(moved[k], rate))
        shares = self.recursion.multipliers(dict(enumerate(left)))
        return [*accelerations, *[times(ca.SX(self.sign), shares[k]) for k in range(len(self.constraints))]]


@dataclass(frozen=True)
class NullSpaceSolved(Solved):
    """A solution by free velocities."""

    null_space: NullSpaceRows | None = None

    def again(self, right: Sequence[ca.SX]) -> list[ca.SX]:
        """The solution with another right-hand side, by the same factors."""
        rows = self.null_space
        assert rows is not None  # noqa: S101 - it is always given
        start = rows.recursion.particular([-right[i] for i in rows.constraints])
        column = ca.vertcat(*_vector(start, rows.unknowns.numel()))
        inertia = dense(ca.jtimes(rows.balance, rows.unknowns, column)).elements()
        forces = [minus(e, right[i]) for e, i in zip(inertia, rows.forces, strict=True)]
        steps = len(rows.recursion.steps)
        sides = [NOTHING] * steps + [-_dot(direction, forces) for direction in rows.directions]
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
    if not ordered or not shares or not system.plain or not is_dense(structure.jacobian):
        return None
    rows = nested_rows(system, system.stage(0))
    if rows is None:
        return None
    held, acting = ([rows[i] for i in places] for places in (constraints, forces))
    sign = _sign(system, acting, held, moving, shares)
    recursion = triangular(graph, held, moving) if sign else None
    if recursion is None or len(recursion.free) > _MOST_FREE:
        return None
    balance, unknowns = graph.without(dense(ca.vertcat(*acting)), shares), graph.vector(moving)
    directions = recursion.directions()
    moved = [dense(ca.jtimes(balance, unknowns, ca.vertcat(*_vector(direction, len(moving))))).elements() for direction in directions]
    found = NullSpaceRows(
        (), (), 0, recursion, balance, tuple(forces), tuple(constraints), unknowns, sign, tuple(directions), tuple(map(tuple, moved))
    )
    return _with_matrix(found, len(structure.top))


def _with_matrix(rows: NullSpaceRows, rank: int) -> NullSpaceRows:
    """The lines and the small matrix written out."""
    recursion = rows.recursion
    order = [*[step.unknown for step in recursion.steps], *recursion.free]
    column, steps = {j: k for k, j in enumerate(order)}, len(recursion.steps)
    matrix = [[NOTHING] * len(order) for _ in order]
    for k, step in enumerate(recursion.steps):
        matrix[k][k] = step.pivot
        for w, e in step.others.items():
            matrix[k][column[w]] = e
    for g, along in enumerate(rows.directions):
        for f, moved in enumerate(rows.moved):
            matrix[steps + g][steps + f] = _dot(along, moved)
    start = rows.at(recursion.particular())
    right = [*[-step.rest for step in recursion.steps], *[-_dot(direction, start) for direction in rows.directions]]
    own = {field.name: getattr(rows, field.name) for field in fields(NullSpaceRows)}
    return NullSpaceRows(**{**own, "matrix": tuple(map(tuple, matrix)), "right": tuple(right), "further": len(order) - rank})


def _sign(
    system: Prolongation, acting: Sequence[ca.SX], held: Sequence[ca.SX], moving: Sequence[object], shares: Sequence[object]
) -> int:
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


def _vector(values: Values, count: int) -> list[ca.SX]:
    return [values.get(k, NOTHING) for k in range(count)]


def _dot(direction: Values, forces: Sequence[ca.SX]) -> ca.SX:
    """The sum of forces along a direction."""
    total = NOTHING
    for k, force in enumerate(forces):
        if k in direction:
            total = plus(total, times(direction[k], force))
    return total
