r"""Rows on the state that are products: $u\,v = 0$ is the union of $u = 0$ and $v = 0$.

The constraint algorithm finds such branches for all rows and their consequences. If it does not end within its budget, the rows as written
are factored here, and each factor that states can satisfy is a branch of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Expr

from chetaev.core.notation import show
from chetaev.core.support.budget import size
from chetaev.core.symbols import jets_in
from chetaev.numerics.flow.closure import Closure, End, closure_with

_LARGEST_FACTORED = 200
"""Operations of a row above which it is not factored, which could take seconds."""
_NONZERO_FACTOR = 1e-4
"""Relative to its terms: a factor above this does not vanish at a random point of another factor, which is found to 1e-10."""


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
    except sympy.PolynomialError:  # no polynomial in its functions
        return []
    return [f for f, _ in found if jets_in(f)]


def _has_point_apart(closed: Closure, others: Sequence[Expr]) -> bool:
    from chetaev.singular.algorithm.points import largest_fault  # loaded by the constraint algorithm, which ran before

    return any(all(largest_fault([g], point) > _NONZERO_FACTOR for g in others) for point in closed.system.points)
