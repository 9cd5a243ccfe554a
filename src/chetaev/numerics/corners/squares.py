"""Roots of squares that are written out, such as sqrt(1 + 2*x + x^2): a corner, as abs(1 + x) is, and shown as one.

SymPy writes sqrt((1 + x)^2) as abs(1 + x) by itself, but not where the square is multiplied out. Without the corner, sqrt(1 + 2*x + x^2) -
abs(1 + x) would vanish only where numbers show it, and a motion would run over the bend without noticing.
"""

from __future__ import annotations

from functools import lru_cache

import sympy
from sympy import Expr, Mul

from chetaev.core.functions import Magnitude
from chetaev.core.symbols import long

_PARTS = 40
"""Longer bases are left as they are: factoring them may take long."""


def with_roots_of_squares(e: Expr) -> Expr:
    """The same expression with the even factors of bases of half-integer powers as absolute values.

    >>> x = sympy.Symbol("x", real=True)
    >>> with_roots_of_squares(sympy.sqrt(x**2 + 2*x + 1))
    abs(x + 1)
    """
    table: dict[Expr, Expr] = {}
    stack, seen = [e], {e}
    while stack:  # parts that occur often are visited once
        node = stack.pop()
        if node.is_Pow and node.exp.is_Rational and node.exp.q == 2 and node.base.is_Add and not long(node.base, _PARTS):
            outside, inside = _split(node.base)
            if outside != 1:
                size = outside if outside.is_nonnegative else Magnitude(outside)
                table[node] = size ** (2 * node.exp) * inside**node.exp
        new = [a for a in node.args if a not in seen]
        seen.update(new)
        stack += new
    return e.xreplace(table) if table else e


@lru_cache(maxsize=256)
def _split(base: Expr) -> tuple[Expr, Expr]:
    """The root of the largest square that divides a sum, without numbers, and what is left."""
    try:
        number, factors = sympy.factor_list(base)
    except sympy.PolynomialError:
        return sympy.Integer(1), base
    outside = Mul(*[f ** (m // 2) for f, m in factors])
    return (outside, number * Mul(*[f for f, m in factors if m % 2])) if outside != 1 else (sympy.Integer(1), base)
