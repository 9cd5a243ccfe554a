"""Numbers at which the denominators of a function of one variable vanish, and the period of such a function.

Zeros are not solved for: numbers at which they usually lie are tried, with sixty digits. They are the roots of polynomials in the function,
numerators included, since a denominator such as exp(x) - exp(1/2) has to vanish where its numerator does; the places where an argument of
a function vanishes; and simple parts of a turn for sine, cosine and tangent. A zero that is not found has no series, and is a pole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import mpmath
import sympy
from sympy import Expr, Rational, Symbol, pi

from chetaev.core.functions import SMOOTH, SPELLING
from chetaev.core.values import many_digits

DIGITS = 60
"""Decimal digits of values."""
NO_VALUE = (ValueError, ZeroDivisionError, OverflowError, KeyError)
"""What an operation without a value raises."""
_MOST_PLACES = 6
"""Most places that are returned, those nearest to zero."""
_ANGLES = 6
"""Angles at which a denominator may vanish are multiples of pi over this number."""
_TURN = 12
"""Number of such angles of either sign that are tried if the function has no period: one turn."""
_LONGEST_PERIOD = 8
"""Longest period, in turns of the fastest angle, with which places are repeated. In longer ones too many would have to be tried."""
_DEGREE = 20
"""Highest degree of a polynomial whose roots are sought: those of degree 300 take minutes."""
_ZERO_VALUE = 1e-45
"""Largest size of an expression that vanishes, relative to its terms; of a function such as sin it is the value itself."""
_SAME_PLACE = 1e-20
"""Places that are nearer to each other are one."""


def is_quotient(factor: Expr) -> bool:
    """Tell whether an expression is one over a power of another with symbols."""
    return bool(factor.is_Pow and factor.exp.is_Integer and factor.exp.is_negative and factor.base.free_symbols)


def places_of(function: Expr, variable: Symbol) -> list[Expr]:
    """Return numbers where a denominator vanishes, and in a product the rest vanishes too; those in one period if the function has one.

    >>> x = Symbol("x")
    >>> places_of(x/sympy.sin(x), x), places_of(1/x, x), places_of(sympy.sin(3*x)/sympy.sin(x), x)
    ([0], [], [0, pi])
    """
    bases = {f.base for f in function.atoms(sympy.Pow) if is_quotient(f)}
    rest = [f for f in sympy.Mul.make_args(function) if not is_quotient(f)] if not function.is_Add else [sympy.Integer(0)]
    mp, _ = many_digits(DIGITS)
    found: list[tuple[Any, Expr]] = []
    for place in dict.fromkeys(_candidates(function, variable, turns_of(function, variable))):
        try:
            at = value_of(place, variable, mp.mpf(0), mp)
        except NO_VALUE:
            continue
        known = any(abs(at - other) < _SAME_PLACE for other, _ in found)
        if not known and any(_vanishes(e, variable, at, mp) for e in bases) and any(_vanishes(e, variable, at, mp) for e in rest):
            found.append((at, place))
    return [place for _, place in sorted(found, key=lambda pair: (abs(pair[0]), pair[0] < 0))[:_MOST_PLACES]]


@lru_cache(maxsize=256)
def turns_of(function: Expr, variable: Symbol) -> Rational:
    """Return the number q of a function with the period 2 pi/q; 0 if it has none, or a longer one than is used.

    >>> x = Symbol("x")
    >>> turns_of(sympy.sin(3*x)/sympy.sin(x/2), x), turns_of(x/sympy.sin(x), x)
    (1/2, 0)
    """
    angles = {f.args[0] for f in function.atoms(sympy.sin, sympy.cos, sympy.tan)}
    rates = {abs(angle.diff(variable)) for angle in angles if angle.has(variable)}
    hidden = function.xreplace({f: Symbol("wave") for f in function.atoms(sympy.sin, sympy.cos, sympy.tan)})
    if not rates or hidden.has(variable) or not all(rate.is_Rational and rate for rate in rates):
        return Rational(0)
    slowest = Rational(math.gcd(*[int(rate.p) for rate in rates]), math.lcm(*[int(rate.q) for rate in rates]))
    return slowest if max(rates) <= _LONGEST_PERIOD * slowest else Rational(0)


def value_of(e: Expr, variable: Symbol, at: Any, mp: mpmath.MPContext) -> Any:
    """Return a function of a complex number; one of `NO_VALUE` is raised where it has no value."""
    if e == variable:
        return at
    if e.is_Rational:
        return mp.mpf(e.p) / e.q
    if e.is_NumberSymbol:
        return +getattr(mp, {"Pi": "pi", "Exp1": "e"}[type(e).__name__])
    values = [value_of(a, variable, at, mp) for a in e.args]
    if e.is_Add:
        return mp.fsum(values)
    if e.is_Mul:
        return mp.fprod(values)
    if e.is_Pow:
        return values[0] ** int(e.exp) if e.exp.is_Integer else mp.power(*values)
    name = SPELLING[type(e)]
    if name not in SMOOTH:
        raise KeyError(name)
    return getattr(mp, name)(values[0])


def _candidates(function: Expr, variable: Symbol, turns: Rational) -> Iterator[Expr]:
    """Numbers at which a denominator may vanish."""
    inner = {a for f in function.atoms(sympy.Function, sympy.exp) for a in f.args}
    polynomials = {variable, *inner, *{f.base for f in function.atoms(sympy.Pow)}, *sympy.Mul.make_args(function)}
    for e in sorted(polynomials | function.atoms(sympy.Add), key=sympy.default_sort_key):
        if e.has(variable) and not e.is_Pow and e.is_polynomial(variable) and sympy.degree(e, variable) <= _DEGREE:
            yield from _roots(sympy.Poly(e, variable))
    angles = {f.args[0] for f in function.atoms(sympy.sin, sympy.cos, sympy.tan)}
    for angle in sorted(angles, key=sympy.default_sort_key):
        rate, first = angle.diff(variable), angle.xreplace({variable: sympy.Integer(0)})
        if not (rate.is_Rational and rate and first.is_number):
            continue
        half = _TURN if not turns else int(_ANGLES * abs(rate) / turns)
        for k in range(-half + 1, half + 1):
            place = (k * pi / _ANGLES - first) / rate
            if not (turns and place.has(pi) and abs(place / pi * turns) > 1):
                yield place


def _roots(polynomial: sympy.Poly) -> Iterable[Expr]:
    """Real roots of a polynomial: rational ones, and those of degree one and two."""
    if polynomial.degree() <= 2 and all(c.is_number for c in polynomial.all_coeffs()):
        return [root for root in sympy.roots(polynomial) if root.is_real]
    return list(polynomial.ground_roots()) if all(c.is_Rational for c in polynomial.all_coeffs()) else []


def _vanishes(e: Expr, variable: Symbol, at: Any, mp: mpmath.MPContext) -> bool:
    """Whether an expression vanishes at a number, compared with its terms, or has no value there."""
    try:
        if e.is_Add:
            values = [value_of(term, variable, at, mp) for term in e.args]
            return bool(abs(mp.fsum(values)) <= _ZERO_VALUE * max(map(abs, values)))
        return bool(abs(value_of(e, variable, at, mp)) <= _ZERO_VALUE)
    except NO_VALUE:
        return True
