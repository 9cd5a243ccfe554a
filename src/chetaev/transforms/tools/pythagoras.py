r"""Shorter expressions by $\sin^2 a + \cos^2 a = 1$ and $\cosh^2 a - \sinh^2 a = 1$.

Charts with angles produce squares of sines and cosines that cancel: in polar coordinates two of the eight terms of $\dot x^2 + \dot y^2$
remain. Even powers of the sine are replaced by the cosine, or the other way round; the shortest form is used.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy import Expr, Pow, cos, cosh, sin, sinh

from chetaev.core.support.budget import limited, size

_SECONDS = 1.0
"""Budget for shorter forms of one expression."""
_SHORT = 600
"""Size of expressions that are expanded in place, within a tenth of a second."""
_LONGEST = 2000
"""Operations above which an expression is not expanded."""


def collapsed(e: Expr) -> Expr:
    """The shortest of an expression and its forms without squares of sines, or without squares of cosines."""
    if not e.has(sin, cos, sinh, cosh) or e.count_ops() > _LONGEST:
        return e
    above, below = sympy.fraction(e)
    short = limited(_shortest_fraction, above, below, seconds=_SECONDS, small=size(above, below) <= _SHORT)
    return min(e, short.or_else(e), key=sympy.count_ops)


def _shortest_fraction(above: Expr, below: Expr) -> Expr:
    return _shortest(above) / _shortest(below)


def _shortest(e: Expr) -> Expr:
    expanded = sympy.expand(e)
    return min([e, *[sympy.factor_terms(without(expanded)) for without in (_without_sines, _without_cosines)]], key=sympy.count_ops)


def _without_sines(e: Expr) -> Expr:
    return _squares_replaced(e, sin, lambda a: 1 - cos(a) ** 2, sinh, lambda a: cosh(a) ** 2 - 1)


def _without_cosines(e: Expr) -> Expr:
    return _squares_replaced(e, cos, lambda a: 1 - sin(a) ** 2, cosh, lambda a: 1 + sinh(a) ** 2)


def _squares_replaced(e: Expr, circular: type, by: Callable[[Expr], Expr], hyperbolic: type, hyperbolic_by: Callable[[Expr], Expr]) -> Expr:
    """Even powers of a function replaced by a formula, and the result expanded."""

    def replacement(power: Pow) -> Expr:
        function = power.base
        formula = by if isinstance(function, circular) else hyperbolic_by
        pairs, single = divmod(int(power.exp), 2)
        return formula(function.args[0]) ** pairs * function**single

    powers = [p for p in e.atoms(Pow) if isinstance(p.base, (circular, hyperbolic)) and p.exp.is_Integer and p.exp > 1]
    return sympy.expand(e.xreplace({p: replacement(p) for p in powers}))
