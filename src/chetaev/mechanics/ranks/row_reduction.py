"""Row reduction of matrices of expressions, with pivots that do not vanish at given points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from sympy import Expr, Matrix, S, preorder_traversal

from chetaev.core.notation.bounds import written_size
from chetaev.core.symbols import symbols_in
from chetaev.core.zero import known_zero
from chetaev.mechanics.ranks.generic import Point, matrices_at, zero_on
from chetaev.mechanics.ranks.minors import Minors

_SMALL_PIVOT = 1e-9
"""Absolute. Entries below this, at points of order one, are pivots only if there are no others. With a smaller value the error of a point
could become a pivot."""
_LONG = 200
"""Nodes of an expression up to which its length is counted; longer pivots count as equally long."""
_LONG_COEFFICIENTS = 500
"""Terms of all coefficients after row reduction, written out, from which on Cramer's rule takes its place; three dense rows have as
many. With a smaller value the rows of short systems would be written in another way."""
_MOST_PIVOTS = 10
"""Number of pivots up to which Cramer's rule is used: the number of minors grows like 2^n, and takes three seconds for ten."""


@dataclass(frozen=True)
class Reduced:
    """Rows whose pivot columns form the identity; rows without a pivot are zero on the manifold."""

    rows: tuple[tuple[Expr, ...], ...]
    pivots: dict[int, int]
    """The pivot column of each row that has one."""
    divisors: tuple[Expr, ...]
    """The non-constant expressions that were divided by."""

    def free_columns(self) -> list[int]:
        """The columns without a pivot."""
        width = len(self.rows[0]) if self.rows else 0
        return [i for i in range(width) if i not in self.pivots.values()]


def row_reduce(matrix: Sequence[Sequence[Expr]], points: Sequence[Point]) -> Reduced:
    """Gauss-Jordan elimination with the simplest pivots, constants first; pivots that are not small at any point are preferred.

    It ends when all remaining entries are zero on the set of `points`, by an exact test.
    """
    rows = [list(row) for row in matrix]
    pivots: dict[int, int] = {}
    divisors: list[Expr] = []
    while True:
        places = [
            (a, i) for a, row in enumerate(rows) for i, e in enumerate(row) if a not in pivots and i not in pivots.values() and e != 0
        ]
        zero = zero_on([rows[a][i] for a, i in places], points)
        sizes = [abs(m) for m in matrices_at(rows, points)]
        choices = [
            (not all(size[a, i] > _SMALL_PIVOT for size in sizes), _cost(rows[a][i]), a, i)
            for (a, i), nothing in zip(places, zero, strict=True)
            if nothing is False
        ]
        if not choices:
            return Reduced(tuple(map(tuple, rows)), pivots, tuple(divisors))
        _, _, a, i = min(choices)
        pivot = rows[a][i]
        pivots[a] = i
        if not pivot.is_number:
            divisors.append(pivot.as_coeff_Mul()[1])
        rows[a] = [e / pivot for e in rows[a]]
        for b in range(len(rows)):
            factor = rows[b][i]
            if b != a and factor != 0:
                rows[b] = [_cleared(e - factor * p) for e, p in zip(rows[b], rows[a], strict=True)]


def by_pivots(matrix: Sequence[Sequence[Expr]], reduced: Reduced) -> tuple[dict[int, dict[int, Expr]], tuple[Expr, ...]]:
    """For every free column its coefficients by pivot column, and the expressions that are divided by.

    Gauss-Jordan elimination divides by one pivot after the other. Where its formulas are long, Cramer's rule with the same pivot columns
    takes its place: it divides by their determinant only, while a single pivot may vanish or have a pole where the determinant does not.
    """
    free, sizes = reduced.free_columns(), dict[Expr, int]()
    found = {f: {p: reduced.rows[a][f] for a, p in reduced.pivots.items()} for f in free}
    terms = sum(written_size(e, sizes) for line in found.values() for e in line.values())
    if terms <= _LONG_COEFFICIENTS or len(reduced.pivots) > _MOST_PIVOTS:
        return found, reduced.divisors
    columns = list(reduced.pivots.values())
    minors = Minors(Matrix([[matrix[a][p] for p in columns] for a in reduced.pivots]))
    solved = {f: dict(zip(columns, minors.solution([matrix[a][f] for a in reduced.pivots]), strict=True)) for f in free}
    determinant = minors.determinant()
    return solved, () if determinant.is_number else (determinant,)


def _cost(entry: Expr) -> int:
    """The order of preference as a pivot: constants first, then short expressions."""
    return -1 if entry.is_number else sum(1 for _ in islice(preorder_traversal(entry), _LONG))


def _cleared(e: Expr) -> Expr:
    """`e`, or 0 if a zero test finds that it vanishes."""
    return S.Zero if e != 0 and symbols_in(e) and known_zero(e) else e
