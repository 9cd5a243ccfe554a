r"""Poisson brackets of expressions and in a ring:
$\{f, g\} = \sum_i \partial_{q^i} f\, \partial_{p_i} g - \partial_{p_i} f\, \partial_{q^i} g$.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sympy import Add, Expr, Symbol

from chetaev.core.functions import in_own_functions
from chetaev.singular.algorithm.space import Fraction, Space

Pairs = Sequence[tuple[Symbol, Symbol]]
"""Coordinates with their momenta."""
Slopes = Mapping[Symbol, Fraction]
"""The partial derivatives of a function that do not vanish."""


def poisson_bracket(f: Expr, g: Expr, pairs: Pairs) -> Expr:
    r"""$\{f, g\}$ of two expressions.

    >>> from chetaev.core.symbols import coordinates
    >>> x, p = coordinates("x p")
    >>> poisson_bracket(x**2, p, [(x, p)])
    2*x
    """
    terms = [_slope(f, q) * _slope(g, p) - _slope(f, p) * _slope(g, q) for q, p in pairs]
    return in_own_functions(Add(*terms))


def _slope(f: Expr, z: Symbol) -> Expr:
    return f.diff(z) if z in f.free_symbols else f * 0


def slopes(space: Space, f: Fraction) -> dict[Symbol, Fraction]:
    """The partial derivatives of a quotient of two polynomials of the ring."""
    n, d = f
    above, below = space.partials(n), space.partials(d) if not d.is_ground else {}
    found = {}
    for z in {**above, **below}:
        parts = []
        if z in above:
            parts.append((above[z][0], above[z][1] * d))
        if z in below:
            parts.append((-n * below[z][0], below[z][1] * d**2))
        a, b = space.sum(parts)
        if a:
            found[z] = space.cancel(a, b)
    return found


def ring_bracket(space: Space, f: Slopes, g: Slopes, pairs: Pairs) -> Fraction:
    r"""$\{f, g\}$ from partial derivatives, in the ring."""
    parts: list[Fraction] = []
    for q, p in pairs:
        if q in f and p in g:
            parts.append(space.times(f[q], g[p]))
        if p in f and q in g:
            parts.append(space.times(space.minus(f[p]), g[q]))
    return space.sum(parts)
