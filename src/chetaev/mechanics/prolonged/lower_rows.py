"""Consequences of lower order: combinations of rows from which the highest jets cancel where all the rows hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy
from sympy import Add, Expr, Mul, S, Symbol

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.symbols import Coordinate, jets_in, symbols_in
from chetaev.core.zero import known_zero
from chetaev.mechanics.ranks.generic import RANK_POINTS, Points, generic_rank, matrices_at, points_on, zero_on
from chetaev.mechanics.ranks.row_reduction import row_reduce

_ZERO_VALUE = 1e-7
"""Relative to the sum of the terms. Values below this count as zero if a rank shows that the expression is constant along the rows; the
error of points is about 1e-12."""


@dataclass(frozen=True)
class Lower:
    """Rows of lower order that given rows imply."""

    rows: tuple[Expr, ...]
    divisors: tuple[Expr, ...]
    """Expressions that must not vanish for the combinations to exist."""
    complete: bool
    """False if rows that are not affine in the jets may imply more."""


def points_where(rows: Sequence[Expr], jets: Sequence[Symbol]) -> Points:
    """Random points where some rows hold, with values for `jets`."""
    return points_on(list(rows), list(jets), count=RANK_POINTS)


def lower_rows(rows: Sequence[Expr], order: int, points: Points) -> Lower:
    """The consequences of `rows` with jets up to `order` only: rows without higher jets, and combinations in which these cancel.

    Args:
        rows: Expressions that vanish.
        order: The highest order of jets in the consequences.
        points: Points where all rows hold; entries that vanish there count as zero.

    Returns:
        The consequences, up to those of rows that are not affine in the higher jets.
    """
    low = [e for e in rows if order_of(e) <= order]
    high = [e for e in rows if order_of(e) > order]
    tops = sorted({z for e in high for z in jets_in(e, Coordinate) if z.order > order}, key=lambda z: z.name)
    if not high:
        return Lower(tuple(low), (), True)
    slopes = [SYMBOLIC.gradient(e, tops) for e in high]
    if generic_rank(slopes, points) == len(high):
        return Lower(tuple(low), (), True)
    if any(not known_zero(c.diff(z)) for line in slopes for c in line for z in tops if z in symbols_in(c)):
        return Lower(tuple(low), (), False)
    reduced = row_reduce([list(column) for column in zip(*slopes, strict=True)], points)
    rest = [SYMBOLIC.without(e, tops) for e in high]
    found = []
    for free in reduced.free_columns():
        weights = {free: S.One, **{p: -reduced.rows[a][free] for a, p in reduced.pivots.items()}}
        found.append(numerator(Add(*[Mul(w, rest[k]) for k, w in weights.items()])))
    return Lower((*low, *[e for e in found if e != 0]), reduced.divisors, True)


def order_of(e: Expr) -> int:
    """The highest order of a jet of a coordinate in an expression."""
    return max((z.order for z in jets_in(e, Coordinate)), default=0)


def numerator(e: Expr) -> Expr:
    """The numerator, without numerical factors; zero if it is known to vanish."""
    if known_zero(e):
        return S.Zero
    top = sympy.fraction(sympy.together(e))[0]
    return sympy.expand(top).as_content_primitive()[1] if top.is_polynomial(*top.free_symbols) else top


def follows(e: Expr, points: Points, jets: Sequence[Symbol]) -> bool:
    """Whether an expression vanishes wherever the rows of `points` do, at general points.

    If exact arithmetic does not decide, it vanishes if its gradient is a combination of those of the rows (a rank) and its values are
    round-off: it is then constant along the manifold, and zero at points of it.
    """
    if e == 0 or e in points.rows or known_zero(e):
        return True
    exact = zero_on([e], points)[0] if points else None
    if exact is not None or not points:
        return exact is True
    slopes = [SYMBOLIC.gradient(row, jets) for row in (*points.rows, e)]
    if generic_rank(slopes, points) != generic_rank(slopes[:-1], points):
        return False
    terms = [list(Add.make_args(e))]
    return all(abs(float(values.sum())) <= _ZERO_VALUE * float(abs(values).sum()) for values in matrices_at(terms, points))
