"""Proofs that expressions have no zero for any real values of their symbols.

Two arguments are tried. *Ranges*: every part of an expression lies between bounds, with or without its ends (tanh(x) never reaches -1).
*Squares*: the expression, as a polynomial in its symbols and functions, is a sum of squares and a positive number, or has no root by
Sturm's theorem. All numbers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import inf
from typing import NamedTuple

import sympy
from sympy import Expr

from chetaev.core.functions import SPELLING
from chetaev.core.symbols import long

_HIGHEST_POWER = 50
"""Exponents beyond which no proof is tried: the time of counting roots grows with the cube of the degree."""
_MOST_SQUARES = 6
"""Variables of a polynomial in which squares are completed."""


class _Range(NamedTuple):
    low: Fraction | float
    high: Fraction | float
    reaches_low: bool = True
    reaches_high: bool = True

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0 or (self.low == 0 and not self.reaches_low) or (self.high == 0 and not self.reaches_high)


_EVERYTHING = _Range(-inf, inf)
_NOT_NEGATIVE, _POSITIVE = _Range(Fraction(0), inf), _Range(Fraction(0), inf, reaches_low=False)
_ONE, _HALF = Fraction(1), Fraction(15708, 10000)
"""One, and a little more than pi/2."""
_OF_FUNCTIONS = {
    "sin": _Range(-_ONE, _ONE),
    "cos": _Range(-_ONE, _ONE),
    "tanh": _Range(-_ONE, _ONE, False, False),
    "erf": _Range(-_ONE, _ONE, False, False),
    "atan": _Range(-_HALF, _HALF),
    "asin": _Range(-_HALF, _HALF),
    "acos": _Range(Fraction(0), 2 * _HALF),
    "atan2": _Range(-2 * _HALF, 2 * _HALF),
    "exp": _POSITIVE,
    "cosh": _Range(_ONE, inf),
    "acosh": _NOT_NEGATIVE,
    "abs": _NOT_NEGATIVE,
    "sign": _Range(-_ONE, _ONE),
    "step": _Range(Fraction(0), _ONE),
}


def never_zero(e: Expr) -> bool:
    """Whether an expression provably has no zero where its symbols are real and it has a value."""
    if long(e):
        return False
    return bool(e.is_positive or e.is_negative or _range(e).excludes_zero or (not e.is_number and _has_no_root(e)))


def bounded_away(e: Expr) -> bool:
    """Whether the ranges of the parts of an expression already exclude zero."""
    return not long(e) and _range(e).excludes_zero


def _range(e: Expr) -> _Range:
    if e.is_Rational:
        value = Fraction(int(e.p), int(e.q))
        return _Range(value, value)
    if e.is_Symbol:
        return _POSITIVE if e.is_positive else _NOT_NEGATIVE if e.is_nonnegative else _EVERYTHING
    if e.is_Add:
        return reduce(_sum, map(_range, e.args))
    if e.is_Mul:
        return reduce(_product, map(_range, e.args))
    if e.is_Pow:
        return _power(_range(e.base), e.exp)
    if e in (sympy.pi, sympy.E):
        return _Range(Fraction(27, 10), Fraction(32, 10))
    name = SPELLING.get(type(e), "")
    if name in ("min", "max"):
        (a, b), chosen = map(_range, e.args), min if name == "min" else max
        return _Range(chosen(a.low, b.low), chosen(a.high, b.high))
    return _OF_FUNCTIONS.get(name, _EVERYTHING)


def _sum(a: _Range, b: _Range) -> _Range:
    return _Range(a.low + b.low, a.high + b.high, a.reaches_low and b.reaches_low, a.reaches_high and b.reaches_high)


def _product(a: _Range, b: _Range) -> _Range:
    ends_a, ends_b = ((a.low, a.reaches_low), (a.high, a.reaches_high)), ((b.low, b.reaches_low), (b.high, b.reaches_high))
    corners = [_corner(x, y) for x in ends_a for y in ends_b]
    return _between(corners)


def _between(ends: Sequence[tuple[Fraction | float, bool]]) -> _Range:
    """The range from the smallest to the largest of `ends`, pairs of a value and whether it is attained."""
    low, high = min(value for value, _ in ends), max(value for value, _ in ends)
    return _Range(low, high, any(reached for v, reached in ends if v == low), any(reached for v, reached in ends if v == high))


def _corner(x: tuple[Fraction | float, bool], y: tuple[Fraction | float, bool]) -> tuple[Fraction | float, bool]:
    """The product of two ends, and whether it is attained; a zero is attained if the factor that is zero is."""
    if x[0] == 0 or y[0] == 0:
        return Fraction(0), (x[0] == 0 and x[1]) or (y[0] == 0 and y[1])
    return x[0] * y[0], x[1] and y[1]


def _power(base: _Range, exponent: Expr) -> _Range:
    if exponent.is_Integer and abs(exponent) > _HIGHEST_POWER:
        return _NOT_NEGATIVE if exponent % 2 == 0 else _EVERYTHING
    if exponent.is_Integer and exponent < 0:
        found = _power(base, -exponent)
        return _POSITIVE if found.low >= 0 else _Range(-inf, Fraction(0), reaches_high=False) if found.high <= 0 else _EVERYTHING
    if exponent.is_Integer and exponent % 2:
        n = int(exponent)
        return base._replace(low=base.low**n, high=base.high**n)
    if exponent.is_Integer:
        n = int(exponent)
        ends = [(base.low**n, base.reaches_low), (base.high**n, base.reaches_high)]
        return _between([*ends, (Fraction(0), True)] if base.low < 0 < base.high else ends)
    positive = exponent.is_negative or base.low > 0 or (base.low == 0 and not base.reaches_low)
    return _POSITIVE if positive else _NOT_NEGATIVE


def _has_no_root(e: Expr) -> bool:
    """Whether a polynomial in symbols and functions, all of them taken as independent, has no real root."""
    if any(not (power.exp.is_Integer and abs(power.exp) <= _HIGHEST_POWER) for power in e.atoms(sympy.Pow)):
        return False
    functions = {f: sympy.Dummy(real=True) if f.is_real else f for f in e.atoms(sympy.Function)}
    try:  # exp(-1.9016*x^2) would be read as the power 19016 of another exponential
        polynomial = sympy.Poly(e.xreplace(functions))
    except sympy.PolynomialError:
        return False
    if not (polynomial.domain.is_QQ or polynomial.domain.is_ZZ) or not all(z.is_real for z in polynomial.gens):
        return False
    return _is_positive(polynomial) or _is_positive(-polynomial)


def _is_positive(polynomial: sympy.Poly) -> bool:
    """Whether a polynomial is a sum of squares and a positive expression."""
    if polynomial.is_ground:
        return bool(polynomial.LC() > 0)
    gens = polynomial.gens
    if len(gens) > _MOST_SQUARES:
        return False
    if len(gens) == 1:
        return bool(polynomial.TC() > 0 and polynomial.count_roots() == 0)
    for i, x in enumerate(gens):
        if polynomial.degree(x) == 2:
            rest = (*gens[:i], *gens[i + 1 :])
            a, b, c = (_coefficient(polynomial, i, k, rest) for k in (2, 1, 0))
            if a.is_ground and a.LC() > 0:
                return _is_positive(c * 4 * a.LC() - b**2)
    return False


def _coefficient(polynomial: sympy.Poly, i: int, power: int, rest: tuple[Expr, ...]) -> sympy.Poly:
    """The coefficient of a power of the i-th variable, a polynomial in the other variables."""
    terms = {(*m[:i], *m[i + 1 :]): c for m, c in polynomial.terms() if m[i] == power}
    return sympy.Poly.from_dict(terms or {(0,) * len(rest): 0}, *rest, domain=sympy.QQ)
