"""Reductions of formulas for reading: equal everywhere, and without a search.

`a*sin(u)^2 + a*cos(u)^2` becomes `a`, `a - a*cos(u)^2` becomes `a*sin(u)^2`, also beside common factors such as other powers of `sin(u)`.
Where products and powers of sums cancel, the remainder is written.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy
from sympy import Expr

from chetaev.core.support.budget import size

_MOST_NODES = 4_000
"""Nodes of an expression that is reduced, about a screen of formulas. Longer ones are shown unchanged, so that printing stays fast."""
_MOST_TERMS = 250
"""Terms that an expression may have when its products and powers of sums are multiplied out; more would slow down printing."""
_SHORTER_BY = 0.6
"""Relative: the expanded form is used only if it has at most this share of the nodes. With 1, formulas that do not become shorter would
lose the form in which they were derived."""


def reduced(e: Expr) -> Expr:
    """Return an expression that is equal everywhere, shorter where squares of sine and cosine add up or terms cancel.

    >>> m, a, u = sympy.symbols("m a u")
    >>> reduced(m*a**2*sympy.sin(u)**2 + m*a**2*sympy.cos(u)**2 - a**2*m - 1), reduced(m*(a + u) - a*(m + u) + a*u)
    (-1, m*u)
    """
    if not (e.is_Add or e.is_Mul or e.is_Pow) or not e.has(sympy.Add):
        return e
    before = size(e)
    if before > _MOST_NODES:
        return e
    found = _inside(e)
    if _terms(found) <= _MOST_TERMS:
        out = _inside(_multiplied_out(found))
        found = out if size(out) <= _SHORTER_BY * size(found) else found
    return found


def _multiplied_out(e: Expr) -> Expr:
    """Return a sum of products: products and powers of sums are written out, and nothing else is changed."""
    return e.expand(mul=True, multinomial=True, power_base=False, power_exp=False, log=False, basic=False)


def _inside(e: Expr) -> Expr:
    """Return an expression whose sums are joined, the innermost first."""
    if not e.has(sympy.sin, sympy.cos):
        return e
    known: dict[sympy.Basic, Expr] = {}
    for node in sympy.postorder_traversal(e):
        if not isinstance(node, Expr) or node in known or not node.args:
            continue
        args = [known.get(a, a) for a in node.args]
        made = node if all(a is b for a, b in zip(args, node.args, strict=True)) else node.func(*args)
        known[node] = _joined(made) if made.is_Add else made
    return known.get(e, e)


def _joined(total: Expr) -> Expr:
    """Return a sum with all its pairs `c*sin(u)^2*r + c*cos(u)^2*r` and `c*r - c*cos(u)^2*r` replaced; r may contain the same functions."""
    terms = {rest: number for number, rest in (term.as_coeff_Mul() for term in sympy.Add.make_args(total))}
    known: dict[Expr, list[tuple[Expr, Expr]]] = {}
    joined = False
    while (found := next(_pairs(terms, known), None)) is not None:
        first, second, number, result = found
        joined = True
        del terms[first], terms[second]
        factor, rest = result.as_coeff_Mul()
        number = number * factor + terms.pop(rest, 0)
        if number != 0:
            terms[rest] = number
    return sympy.Add(*[number * rest for rest, number in terms.items()]) if joined else total


def _pairs(terms: dict[Expr, Expr], known: dict[Expr, list[tuple[Expr, Expr]]]) -> Iterator[tuple[Expr, Expr, Expr, Expr]]:
    """Yield two terms of a sum, without their numbers, and the number and the single term that they add up to."""
    for term, number in terms.items():
        if term not in known:
            known[term] = list(_squares(term))
        for rest, partner in known[term]:
            if terms.get(partner) == number:
                yield term, partner, number, rest
            if terms.get(rest) == -number:
                yield term, rest, -number, partner


def _squares(term: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield, for each sine or cosine of which a term has a square, the rest of the term, and the term with the other square."""
    factors = sympy.Mul.make_args(term)
    for factor in factors:
        base, exponent = factor.as_base_exp()
        if isinstance(base, sympy.sin | sympy.cos) and exponent.is_Integer and exponent >= 2:
            other = sympy.cos if isinstance(base, sympy.sin) else sympy.sin
            rest = sympy.Mul(*[f for f in factors if f != factor], base ** (exponent - 2))
            yield rest, rest * other(base.args[0]) ** 2


def _terms(e: Expr) -> int:
    """Return the number of terms after multiplying out, at most one above `_MOST_TERMS`."""
    if e.is_Add:
        return min(sum(_terms(a) for a in e.args), _MOST_TERMS + 1)
    if e.is_Mul:
        count = 1
        for a in e.args:
            count = min(count * _terms(a), _MOST_TERMS + 1)
        return count
    if e.is_Pow and e.exp.is_Integer and e.exp > 0:
        return min(_terms(e.base) ** min(int(e.exp), _MOST_TERMS), _MOST_TERMS + 1)
    return 1
