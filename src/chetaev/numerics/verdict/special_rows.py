r"""Rows of special form that `analyze` looks for: rows that contradict each other, follow from others, or are products.

*Contradictions.* A combination of stated rows with rational coefficients, derivatives included, may be a constant other than zero. Such
rows have no motion, however small the constant is: $x + y = 1$ and $x + y = 1 + 10^{-20}$. At random points in doubles they hold up to
round-off, and one of them looks redundant. So the rows are written as vectors of their terms, and eliminated exactly.

*Redundant rows.* If the system without a stated row has the same manifold of states and no free function, the row follows from the other
rows and their derivatives, and is no contradiction: one set of motions contains the other, so with equal dimensions they agree on the
manifold.

*Products.* $u\,v = 0$ is the union of $u = 0$ and $v = 0$. The constraint algorithm finds such branches for all rows and their
consequences. If it does not end within its budget, the rows as written are factored, and each factor that states can satisfy is a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sympy
from sympy import Expr, S

from chetaev.core.notation import show
from chetaev.core.support.budget import size
from chetaev.core.symbols import Input, jets_in, long
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Stated
from chetaev.numerics.flow.closure import Closure, End, closure_of, closure_with

_LARGEST_ROW = 120
"""Parts of a row above which it is left out: expanding it could take seconds."""
_MOST_TERMS = 400
"""Most different terms of all rows; the elimination takes the third power of their number at worst."""
_CONSTANT_DIGITS = 60
"""Decimal digits with which constants such as sqrt(2) are added up."""
_ZERO_CONSTANT = 1e-40
"""Sum of such constants, relative to its terms, below which it may be zero and is not a contradiction."""
_LARGEST_FACTORED = 200
"""Operations of a row above which it is not factored, which could take seconds."""
_NONZERO_FACTOR = 1e-4
"""Value of a factor, relative to its terms, above which it does not vanish at a random point of another factor; points have errors of
1e-10."""

_Terms = dict[Expr, Expr]
"""Rational coefficients, by the factors that they multiply."""


# -- contradictions


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
        if _is_nonzero_number(left):
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
    """The constant terms that remain of each row after terms with symbols are eliminated, and the rows that were combined."""
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


def _is_nonzero_number(terms: _Terms) -> bool:
    if not terms or set(terms) == {S.One}:
        return bool(terms)
    numbers = [(c * z).evalf(_CONSTANT_DIGITS) for z, c in terms.items()]
    known = all(v.is_Float for v in numbers)
    return known and bool(abs(sympy.Add(*numbers)) > _ZERO_CONSTANT * sympy.Add(*map(abs, numbers)))


# -- redundant rows


@dataclass(frozen=True)
class Needed:
    """The closure of a square set of rows, and the labels of the rows that follow from these."""

    closure: Closure
    left_out: tuple[str, ...]


def without_redundant_rows(found: Closure) -> Needed | None:
    """Return the closure of a square subset of the rows with the same motions; None if none is found."""
    equations, closed = found.system.equations, found
    left_out: list[str] = []
    for origin in reversed([origin for origin in equations.origins if isinstance(origin, Stated)]):
        rows, unknowns = equations.counts
        if rows <= unknowns:
            break
        fewer = _without(equations, origin)
        if fewer.unknowns != equations.unknowns:
            continue
        other = closure_of(fewer)
        if other.determined and not other.others and other.dimension == found.dimension:
            equations, closed = fewer, other
            left_out.insert(0, origin.label)
    rows, unknowns = equations.counts
    return Needed(closed, tuple(left_out)) if rows <= unknowns else None


def _without(equations: Equations, origin: Stated) -> Equations:
    return replace(equations, rewritten=tuple(row for row in equations.rows if row.origin != origin))


# -- products


def factor_closures(found: Closure) -> list[tuple[Expr, Closure]]:
    """Return the factors of a row on the state with the states that satisfy each; empty if no row is such a product.

    A factor counts if its states, closed by consequences, contain a point at which the other factors do not vanish.
    """
    equations = found.system.equations
    for i, order in found.system.hidden():
        if order or i >= len(equations.rows):
            continue
        factors = _factors(equations.rows[i].residual)
        if len(factors) < 2:
            continue
        closed = [(f, closure_with(equations, [f], [show(f) if f.is_Symbol else f"({show(f)})"])) for f in factors]
        kept = [(f, c) for f, c in closed if c.end is End.CLOSED and _has_point_apart(c, [g for g in factors if g != f])]
        if len(kept) > 1:
            return kept
    return []


def _factors(e: Expr) -> list[Expr]:
    if size(e) > _LARGEST_FACTORED:
        return []
    try:
        _, found = sympy.factor_list(e)
    except sympy.PolynomialError:  # not a polynomial in its functions
        return []
    return [f for f, _ in found if jets_in(f)]


def _has_point_apart(closed: Closure, others: Sequence[Expr]) -> bool:
    from chetaev.singular.algorithm.points import largest_fault  # local: already loaded by the constraint algorithm

    return any(all(largest_fault([g], point) > _NONZERO_FACTOR for g in others) for point in closed.system.points)
