"""Elimination and ranks on one manifold, decided by numbers at its points.

Dirac's analysis follows the general states of one manifold. A numerical point proves that a pivot does not vanish there, which is faster
than the ideals of `constraint_algorithm`, which must see every case. Without a real point the exact algorithms are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sympy import Symbol

from chetaev.core.symbols import TIME, Parameter
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.generic import Point, generic_rank, points_on
from chetaev.singular.algorithm.branches import Branch
from chetaev.singular.algorithm.elimination import Constraints, Elimination, Row, Solved, Split, eliminate
from chetaev.singular.algorithm.reality import never_vanishes
from chetaev.singular.algorithm.redundancy import rank_on
from chetaev.singular.algorithm.space import Poly, Space

_POINTS = 4
"""Real points of a manifold at which expressions are tested; an expression that vanishes at all of them counts as zero."""
_ZERO = 1e-8
"""Absolute value below which an expression vanishes at a point of order one, which is found to 1e-11."""


@dataclass(frozen=True)
class Manifold:
    """A branch with some of its real points."""

    space: Space
    branch: Branch
    points: tuple[Point, ...]

    @staticmethod
    def of(space: Space, branch: Branch) -> Manifold:
        """A branch, with points found for it."""
        rows = [space.expression(g) for g in branch.constraints(space) if g not in space.relations]
        symbols: list[Symbol] = [*space.phase, *[p for p in space.parameters if isinstance(p, Parameter)], TIME]
        known = [p for p in symbols if p not in space.translation.constants]
        avoided = Tape([space.expression(n) for n in branch.nonzero])
        found = []
        for point in points_on(rows, known, count=2 * _POINTS):
            try:
                values = avoided(point)
            except Undefined:
                continue
            if all(abs(v) > _ZERO for v in values):
                found.append(point)
        return Manifold(space, branch, tuple(found[:_POINTS]))

    def vanishes(self, f: Poly) -> bool:
        """Whether a polynomial is zero at all points, or on the branch if there is no point."""
        if not self.points:
            return self.branch.vanishes(self.space, f)
        tape = Tape([self.space.expression(f)])
        for point in self.points:
            try:
                if abs(tape(point)[0]) > _ZERO:
                    return False
            except Undefined:
                continue
        return True

    def rank(self, rows: Sequence[Sequence[Poly]]) -> int:
        """The rank of a matrix at general points."""
        if not rows:
            return 0
        if not self.points:
            return rank_on(self.space, self.branch, [[self.branch.reduce(self.space, e) for e in row] for row in rows])
        return generic_rank([[self.space.expression(e) for e in row] for row in rows], self.points)

    def eliminate(self, rows: Sequence[Row]) -> Solved | Constraints | Split:
        """Elimination with pivots that do not vanish at general points; `Split` holds the factors of a pivot that may vanish."""
        if not self.points:
            return eliminate(self.space, self.branch, rows)
        reached = Elimination(self.space, self.branch, rows).advance()
        if not isinstance(reached, list):
            return reached
        zero = [f for f in reached[0] if self.vanishes(f)]
        if zero:
            return Constraints(zero[:1], radical=True)
        safe = next((factors for factors in reached if all(never_vanishes(self.space, f) for f in factors)), None)
        return Split(reached[0] if safe is None else safe)


def with_nonzero(branch: Branch, factors: Sequence[Poly]) -> Branch:
    """A branch on which some further polynomials do not vanish."""
    return replace(branch, nonzero=(*branch.nonzero, *factors))
