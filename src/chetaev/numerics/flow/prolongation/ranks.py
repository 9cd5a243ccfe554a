"""The rank of the system Jacobian of differentiated rows, at random points of the constraint manifold or near a given state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.support.lines import joined
from chetaev.core.symbols import Input, Jet, Multiplier, highest_orders
from chetaev.core.zero import random_point
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.exact import exact_rank, free_columns
from chetaev.mechanics.ranks.factored import Factored, least_norm, open_jets
from chetaev.mechanics.ranks.generic import Matrix, Point, matrices_at, measured_at, numbers_at, points_on
from chetaev.mechanics.ranks.sparse import Numbers, clearly_regular
from chetaev.mechanics.structure import Structure
from chetaev.mechanics.tolerances import CUT, POINT_ERROR, STATE_ERROR
from chetaev.numerics.flow.constraint_set.sampling import points_from, points_near
from chetaev.numerics.flow.prolongation.rows import DifferentiatedRows
from chetaev.numerics.graphs.arithmetic import NOTHING
from chetaev.numerics.graphs.graph_tape import GraphTape

_POINTS_FOR_RANKS = 4
"""Random points of the constraint manifold at which ranks are evaluated; with fewer, special points could decide."""
_MORE_POINTS = 5
"""Factor by which the number of random points is increased where the first ones are unsuitable."""
_CONTRADICTION = 1e-7
"""Relative to the sum of their terms: largest residual of consistent rows, at points that satisfy the lower rows to 1e-11."""
_ROUND_OFF_OF_TOPS = 1e-8
"""Relative to the largest top: a smaller top may be round-off."""
_ZERO_OFF_CONSTRAINTS = 1e-15
"""Relative size of a zero entry at a random point that no row restricts: its round-off."""


class Prolongation(DifferentiatedRows):
    """Differentiated rows with the rank of their system Jacobian."""

    def __init__(
        self,
        equations: Equations,
        found: Structure,
        near: Point | None = None,
        added: tuple[str, ...] = (),
        count: int = _POINTS_FOR_RANKS,
    ) -> None:
        super().__init__(equations, found, near, added)
        self._count = count
        self.stated = self
        """These rows with the ranks at random states, if the ranks here are those at given states."""
        self._seeds: list[Point] = []
        self._last_nulls: tuple[Sequence[Point], list[Matrix | None]] = ((), [])

    def extended(self, rows: Sequence[Any], labels: Sequence[str]) -> Prolongation:
        """The system with further rows, differentiated as often as their jets allow."""
        found = self.structure
        offsets = {z.base: d for z, d in zip(found.unknowns, found.unknown_offsets, strict=True)}
        orders = [_orders(self.algebra.symbols(row), offsets) for row in rows]
        more = Prolongation(
            self.equations,
            replace(
                found,
                rows=(*found.rows, *rows),
                orders=(*found.orders, *[{j: o[z.base] for j, z in enumerate(found.unknowns) if z.base in o} for o in orders]),
                assignment=(*found.assignment, *[-1] * len(rows)),
                row_offsets=(*found.row_offsets, *[min((offsets[b] - k for b, k in o.items()), default=0) for o in orders]),
            ),
            self._near,
            (*self.added, *labels),
            self._count,
        )
        more._seeds = self.__dict__.get("points", [])
        more._sizes = self._sizes  # consequences have the sizes of their rows
        more._derivatives = [*self._derivatives, *more._derivatives[len(self._derivatives) :]]
        return more

    @cached_property
    def generic_nullity(self) -> int | None:
        """The nullity of the system Jacobian at random points of the constraint manifold.

        Positive for redundant constraints, whose multipliers are not unique; None if a coordinate is left open everywhere, or if rows that
        depend on each other contradict each other, so that they hide a further constraint or a free function.
        """
        known = any(null is not None for null in self._nulls)  # without a value at any random point nothing is known
        return self._generic_null.shape[1] if known and self.harmless(self._generic_null) and self.solvable else None

    @property
    def nullity(self) -> int:
        """The smallest nullity of the system Jacobian at the points, for coordinates and multipliers alike."""
        return int(self._generic_null.shape[1])

    @property
    def plain(self) -> bool:
        """Whether the system Jacobian is square and of full rank."""
        return self.square and self.generic_nullity == 0

    @cached_property
    def solvable(self) -> bool:
        """Whether the rows of stage 0 have a solution wherever those below hold."""
        if self.square and not self._generic_null.shape[1]:
            return True
        return not self.contradictions(self.generic_points)

    def contradictions(self, points: Sequence[Point]) -> dict[int, float]:
        """Return points, by index, at which no tops satisfy all rows of stage 0, with the size of the residual."""
        pairs, top = self.stage(0), self.structure.top
        rest = [[self.algebra.without(self.row(pair), top)] for pair in pairs]
        found = {}
        for k, point in enumerate(points):
            matrices, right = (matrices_at(e, [point], self.algebra) for e in (self.structure.jacobian, rest))
            if matrices and right:
                b = right[0].ravel()
                solution = least_norm(matrices[0], b, self._noise)[0]
                left = np.abs(b - matrices[0] @ solution)
                largest = np.abs(solution).max(initial=0.0)
                sizes = np.abs(solution) + _ROUND_OFF_OF_TOPS * largest  # a vanishing top has the round-off of the others
                terms = np.abs(b) + np.abs(matrices[0]) @ sizes
                if (left > _CONTRADICTION * terms).any():
                    found[k] = float(left.max(initial=0.0))
        return found

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The multipliers that redundant constraints leave open."""
        return tuple(z.name for z in open_jets(self.structure.top, self._generic_null))

    @cached_property
    def points(self) -> list[Point]:
        """Random points of the constraint manifold, with a value for every symbol of the rows that are solved."""
        hidden = [self.row(pair) for pair in self.hidden()]
        if self._seeds and (found := points_from(hidden, self._seeds, self.algebra, self.sizes)):
            return found
        if self._near is not None:
            moved = [
                z for z in self._near if isinstance(z, Jet) and not isinstance(z, Input)
            ]  # ranks depend on more jets than the rows contain
            return [self._near, *points_near(hidden, self._near, self.algebra, count=self._count, moved=moved, sizes=self.sizes)]
        symbols = self.symbols([*self.hidden(), *self.stage(0)])
        found = points_on(hidden, list(symbols), count=self._count, algebra=self.algebra, sizes=self.sizes)
        if any(null is None for null in self._null_spaces(found)):  # a square root may be undefined at most random points
            more = points_on(hidden, list(symbols), count=_MORE_POINTS * self._count, algebra=self.algebra, sizes=self.sizes)
            found = [point for point, a in zip(more, self.jacobians(more), strict=True) if a is not None][: self._count]
        if hidden and self._least_nullity(found):
            # with constraints that are quadratic forms, random parameters may allow only rest: other parameters are tried
            more = points_on(hidden, list(symbols), count=_MORE_POINTS * self._count, algebra=self.algebra, sizes=self.sizes)
            found = more if self._least_nullity(more) < self._least_nullity(found) else found
        if hidden and len({a.shape[1] for a in self._null_spaces(found) if a is not None}) > 1:
            # the staged iteration converged to non-generic points: repeat it with all jets and frozen rank
            starts: list[Point] = [random_point(symbols, seed, sizes=self.sizes) for seed in range(3 * self._count)]
            found = points_from(hidden, starts, self.algebra, self.sizes)[: 2 * self._count] or found
        return found

    def _least_nullity(self, points: Sequence[Point]) -> int:
        return min((null.shape[1] for null in self._null_spaces(points) if null is not None), default=0)

    @property
    def original(self) -> Prolongation:
        """The system without rows that were added."""
        if not self.added:
            return self
        n, found = len(self.equations.labels), self.structure
        rows = {name: getattr(found, name)[:n] for name in ("rows", "orders", "assignment", "row_offsets")}
        return Prolongation(self.equations, replace(found, **rows), self._near, count=self._count)

    def sampled(self, count: int) -> Prolongation:
        """Return the same rows with the ranks at `count` random points."""
        found = Prolongation(self.equations, self.structure, self._near, self.added, count)
        found._derivatives, found._tapes, found._sizes = self._derivatives, self._tapes, self._sizes
        found.stated = self.stated
        return found

    def near(self, point: Point) -> Prolongation:
        """Return the same rows with the ranks near a given state: constraints may have several branches, with different ranks."""
        found = Prolongation(self.equations, self.structure, dict(point), self.added, self._count)
        found._derivatives, found._tapes, found._sizes = self._derivatives, self._tapes, self._sizes
        found._curved, found.stated = self._curved, self.stated
        return found

    def standing(self, points: Sequence[Point], null: Matrix) -> Prolongation:
        """Return the same rows with the rank at given states and along the motion from there."""
        found = self.near(points[0])
        found.points = [dict(point) for point in points]
        found._nulls = [null] * len(points)
        found.solvable = True
        return found

    @property
    def _noise(self) -> float:
        """The relative size of a zero entry: points on constraints have the error of Newton's iteration, others only round-off."""
        return POINT_ERROR if self.hidden() else _ZERO_OFF_CONSTRAINTS

    @cached_property
    def _nulls(self) -> list[Matrix | None]:
        return self._null_spaces(self.points)

    def _null_spaces(self, points: Sequence[Point]) -> list[Matrix | None]:
        """The null space of the system Jacobian at each point; None where it is undefined. Those of the last list of points are kept.

        None also where round-off may be all that makes the rank full, if another point shows more.
        """
        known, nulls = self._last_nulls
        if known is not points:
            found = [None if numbers is None else _null_space(*numbers) for numbers in self.measured(points)]
            if any(at is not None and not at[0].shape[1] for at in found) and self.may_saturate:
                found = [None if numbers is None else _null_space(*numbers) for numbers in self.measured(points, bounded=True)]
            clear = [None if at is None or at[1] else at[0] for at in found]
            nulls = clear if any(null is not None for null in clear) else [None if at is None else at[0] for at in found]
            self._last_nulls = points, nulls
        return nulls

    def measured(
        self, points: Sequence[Point], given: bool = False, solved: bool = False, tape: GraphTape | None = None, bounded: bool = False
    ) -> list[tuple[Numbers, Numbers] | None]:
        """The system Jacobian, or the square matrix of `tape`, at several points with bounds of the errors of its entries; None where it is
        undefined.

        Points on the rows, or with `solved` on other ones, have the error of Newton's iteration; those that are `given` have none. With
        `bounded` the bounds are computed for every entry, also where nothing suggests that digits are lost.
        """
        shape = len(self.structure.jacobian), len(self.structure.unknowns)
        if tape is None:
            tape = self._jacobian_tape
        else:
            shape = (math.isqrt(tape.size),) * 2
        error = POINT_ERROR if (self.hidden() and not given) or solved else STATE_ERROR
        return measured_at(tape, shape, points, error, self.sizes, self.drawn, bounded)

    def jacobians(self, points: Sequence[Point]) -> list[Numbers | None]:
        """The system Jacobian at several points; None where it is undefined."""
        entries = self.structure.jacobian
        return numbers_at(self._jacobian_tape, (len(entries), len(self.structure.unknowns)), points)

    @cached_property
    def _jacobian_tape(self) -> Any:
        return self.algebra.tape(joined(self.structure.jacobian, NOTHING))

    @property
    def may_saturate(self) -> bool:
        """Whether the system Jacobian may have an entry that is zero by an identity of functions, and is round-off where they saturate."""
        return bool(self._jacobian_tape.may_saturate)

    @cached_property
    def exact_nullity(self) -> int | None:
        """The nullity of the system Jacobian on the constraint manifold, computed in a finite field; None if no point is found there.

        Near a given state numbers decide, since points in the field may lie on another component.
        """
        found = self._in_field(exact_rank, self.structure.jacobian) if self._near is None else None
        return None if found is None else len(self.structure.top) - found

    @cached_property
    def rank_falls(self) -> bool:
        """Whether the system Jacobian has a lower rank on the constraint manifold than off it; other components may then differ."""
        if not self.nullity:
            return False
        found = exact_rank(self.structure.jacobian, (), self.algebra)
        return found is not None and found > len(self.structure.top) - self.nullity

    @cached_property
    def exactly_free(self) -> tuple[Jet, ...] | None:
        """The jets of the state, lowest orders first, that the rows on it leave free, computed in a finite field.

        Affine rows have one component, so a given state does not matter.
        """
        if self._near is not None and self.curved(self.hidden(), self.structure.state):
            return None
        state = sorted(self.structure.state, key=lambda z: z.order)
        free = self._in_field(free_columns, [self.algebra.gradient(self.row(pair), state) for pair in self.hidden()])
        return None if free is None else tuple(state[k] for k in free)

    @cached_property
    def _generic_null(self) -> Matrix:
        """A point at which the Jacobian clearly has full rank decides; where the numerical rank is lower, the finite field decides."""
        n = len(self.structure.top)
        found = [null for null in self._nulls if null is not None]
        least = min((null.shape[1] for null in found), default=n)
        exact = self.exact_nullity if least else 0
        if exact is None or exact >= least:
            return min(found, key=lambda null: null.shape[1]) if found else np.zeros((n, 0))
        forced = [Factored(a, doubts=doubts, rank=n - exact) for a, doubts in filter(None, self.measured(self.points))]
        return max(forced, key=lambda factored: factored.kept).null if forced else np.zeros((n, exact))

    @property
    def shown_regular(self) -> bool:
        """Whether the system Jacobian has full rank at a random point, above its round-off, and not in the finite field alone."""
        return any(null is not None and not null.shape[1] for null in self._nulls)

    @property
    def rank_evidence(self) -> str:
        """The method by which the generic rank of the system Jacobian was found."""
        if self.shown_regular:
            return "full at a random point of the constraint manifold, above its round-off"
        if self.exact_nullity is not None:
            return "exact in a finite field, on the constraint manifold"
        return "by numbers with their round-off, at random points of the constraint manifold"

    @property
    def generic_points(self) -> list[Point]:
        """The points at which the system Jacobian has its generic rank."""
        usual = self._generic_null.shape[1]
        known = [(point, null.shape[1]) for point, null in zip(self.points, self._nulls, strict=True) if null is not None]
        return [point for point, nullity in known if nullity == usual] or [point for point, _ in known]

    def harmless(self, null: Matrix) -> bool:
        """Whether a null space concerns multipliers only."""
        opened = open_jets(self.structure.top, null)
        return all(isinstance(z, Multiplier) for z in opened)


def _null_space(matrix: Numbers, doubts: Numbers) -> tuple[Matrix, bool]:
    """The null space of a matrix, and whether round-off may be all that makes its rank so large."""
    if clearly_regular(matrix, doubts, CUT):
        return np.zeros((matrix.shape[1], 0)), False
    found = Factored(matrix, doubts=doubts)
    return found.null, found.may_be_less


def _orders(symbols: Iterable[Symbol], offsets: Mapping[str, int]) -> dict[str, int]:
    """The highest order of each unknown among some symbols."""
    return {base: order for base, order in highest_orders(symbols).items() if base in offsets}
