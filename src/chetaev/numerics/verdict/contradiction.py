r"""Stated rows of which a combination with rational coefficients, derivatives included, is a constant other than zero.

Such rows have no motion, however small the constant is: $x + y = 1$ and $x + y = 1 + 10^{-20}$. At random points in doubles they hold up to
round-off, and one of them looks redundant. The rows are vectors of their terms here, and are eliminated exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Expr, S

from chetaev.core.symbols import Input, jets_in, long
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Stated

_LARGEST_ROW = 120
"""Parts of a row above which it is left out: expanding it could take seconds."""
_MOST_TERMS = 400
"""Most different terms of all rows; the elimination takes the third power of their number at worst."""
_CONSTANT_DIGITS = 60
"""Decimal digits of constants such as sqrt(2)."""
_ROUND_OFF = 1e-40
"""Relative to its terms: a smaller sum of such constants may be zero, and contradicts nothing."""

_Terms = dict[Expr, Expr]
"""Rational coefficients, by what they multiply."""


def contradicting_rows(equations: Equations) -> tuple[str, ...]:
    """The labels of stated rows that contradict each other by a constant; empty if none are found."""
    rows = [(label, e) for label, e in _stated(equations) if not long(e, _LARGEST_ROW)]
    if len(rows) < 2:
        return ()
    orders = [max((z.order for z in jets_in(e) if not isinstance(z, Input)), default=0) for _, e in rows]
    raised = [(i, equations.total(e, k)) for i, (_, e) in enumerate(rows) for k in range(max(orders) - orders[i] + 1)]
    vectors = [(_terms(e), frozenset([i])) for i, e in raised if not long(e, _LARGEST_ROW)]
    if len({term for terms, _ in vectors for term in terms}) > _MOST_TERMS:
        return ()
    for left, used in _eliminated(vectors):
        if _is_a_number_but_zero(left):
            return tuple(rows[i][0] for i in sorted(used))
    return ()


def _stated(equations: Equations) -> list[tuple[str, Expr]]:
    """The stated rows; those of the principle, which may be long, are not formed."""
    if equations.rewritten is None:
        return [(label, row.residual) for label, row in equations.system.kinematic_rows()]
    return [(row.label, row.residual) for row in equations.rewritten if isinstance(row.origin, Stated)]


def _terms(e: Expr) -> _Terms:
    """The rational coefficients of an expanded expression, by the other factors of its terms."""
    return {rest: c for rest, c in sympy.expand(e).as_coefficients_dict().items() if c}


def _eliminated(vectors: Sequence[tuple[_Terms, frozenset[int]]]) -> list[tuple[_Terms, frozenset[int]]]:
    """What is left of rows after all terms with symbols are eliminated, and which rows it is made of."""
    ahead, done = list(vectors), []
    while ahead:
        terms, used = ahead.pop()
        pivot = next((z for z in sorted(terms, key=str) if z.free_symbols), None)
        if pivot is None:
            done.append((terms, used))
            continue
        ahead = [(_combined(other, terms, pivot), also | used) if pivot in other else (other, also) for other, also in ahead]
    return done


def _combined(a: _Terms, b: _Terms, pivot: Expr) -> _Terms:
    """The terms of a - c b without the pivot."""
    c = a[pivot] / b[pivot]
    found = {z: a.get(z, S.Zero) - c * b.get(z, S.Zero) for z in {*a, *b}}
    return {z: v for z, v in found.items() if v}


def _is_a_number_but_zero(terms: _Terms) -> bool:
    if not terms or set(terms) == {S.One}:
        return bool(terms)
    numbers = [(c * z).evalf(_CONSTANT_DIGITS) for z, c in terms.items()]
    known = all(v.is_Float for v in numbers)
    return known and bool(abs(sympy.Add(*numbers)) > _ROUND_OFF * sympy.Add(*map(abs, numbers)))
