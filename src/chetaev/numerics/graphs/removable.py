r"""Removable singularities: functions of one variable such as $(1 - \cos u)/u^2$, $u/(e^u - 1)$ or $1/u - \coth u$.

At the singular place a formula of doubles has no value, and beside it few correct digits or none: at $u = 10^{-9}$ the first one is zero
instead of one half. There the graph has the Taylor series of the function,

$$ G(a + h) = \sum_{k} c_k h^k, \qquad c_k = \frac{1}{2\pi} \int_0^{2\pi} G(a + \rho e^{i\varphi})\, \rho^{-k} e^{-ik\varphi}\, d\varphi, $$

whose coefficients are computed with sixty digits. The singularity is removable if those with negative k vanish. A function that has no
value on a circle, or a jump, is not regular inside of it, and the sum of a series has to be the function at other places too. Exact
arithmetic never takes the series: for it every value is beyond the radius (`GraphAlgebra._around`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mpmath
import sympy
from sympy import Expr, Rational, Symbol

from chetaev.core.functions import SMOOTH, SPELLING
from chetaev.core.symbols import Jet, long
from chetaev.core.values import many_digits

_DIGITS = 60
"""Decimal digits of the values on a circle."""
_CIRCLE = 96
"""Values on a circle; the coefficients then contain those of degrees higher by this number."""
_TERMS = 32
"""Most terms of a series."""
_LOWEST = 8
"""Highest order of a pole that is looked for."""
_VANISHES = 1e-40
"""Relative to the values on the circle: a coefficient times a power of the radius that is zero. Others are above 1e-28 for some of the
radii, since the values have sixty digits."""
_RADII = (Rational(4), Rational(2), Rational(1), Rational(1, 4), Rational(1, 16), Rational(1, 64))
"""Radii of circles. The first one inside of which the function is regular, with room to spare, is taken."""
_PART = Rational(1, 4)
"""Part of such a radius within which the series is used: its last term is then 1e-19 of the values on the circle."""
_PLACES = 4
"""Most singular places of a function that are looked for."""
_CHECKED = ((1, 1), (-1, 1), (7, 10), (-3, 10), (1, 10))
"""Parts of the radius of a series at which its sum is compared with the function."""
_AGREES = 1e-14
"""Relative to the terms of a series: largest difference between its sum and the function; its coefficients are doubles."""
_PARTS = 60
"""Longer expressions are left as they are."""


@dataclass(frozen=True)
class Series:
    """A function around a place where its formula has no value."""

    centre: Rational
    radius: Rational
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Removable:
    """Parts of a product or sum that are a function of one variable with removable singularities, and the other factors."""

    function: Expr
    argument: Expr
    variable: Symbol
    """What stands for the argument in the function."""
    series: tuple[Series, ...]
    others: tuple[Expr, ...]


def removable(node: Expr) -> Removable | None:
    """The part of a product or sum that has removable singularities; None without one.

    >>> x = sympy.Symbol("x")
    >>> found = removable((1 - sympy.cos(x)) / x**2)
    >>> found.function, found.series[0].centre, found.series[0].coefficients[0]
    ((1 - cos(x))/x**2, 0, 0.5)
    """
    if not (node.is_Mul or node.is_Add) or long(node, _PARTS) or not _has_quotient(node):
        return None
    for function, argument, variable, others in _functions(node):
        series = _series(function, variable)
        if series:
            return Removable(function, argument, variable, series, others)
    return None


def _has_quotient(node: Expr) -> bool:
    terms = node.args if node.is_Add else (node,)
    return any(_is_quotient(factor) for term in terms for factor in sympy.Mul.make_args(term))


def _is_quotient(factor: Expr) -> bool:
    return bool(factor.is_Pow and factor.exp.is_Integer and factor.exp.is_negative and factor.base.free_symbols)


def _functions(node: Expr) -> Iterator[tuple[Expr, Expr, Symbol, tuple[Expr, ...]]]:
    """Functions of one variable in a product or sum: of a single jet or the time, or of the denominator."""
    if node.is_Add:
        symbols = list(node.free_symbols)
        if len(symbols) == 1 and _moves(symbols[0]):
            yield node, symbols[0], symbols[0], ()
        return
    for base in [factor.base for factor in node.args if _is_quotient(factor)]:
        symbols = list(base.free_symbols)
        variable = symbols[0] if len(symbols) == 1 else Symbol("argument of a quotient")
        if len(symbols) == 1 and not _moves(variable):
            continue
        replaced = {} if len(symbols) == 1 else {base: variable, -base: -variable}
        own: list[tuple[Expr, Expr]] = []
        others: list[tuple[Expr, Expr]] = []
        for factor in node.args:
            written = factor.xreplace(replaced)
            (own if written.free_symbols == {variable} else others).append((written, factor))
        if len(own) > 1:
            argument = variable if len(symbols) == 1 else base
            yield sympy.Mul(*[e for e, _ in own]), argument, variable, tuple(e for _, e in others)


def _moves(symbol: Symbol) -> bool:
    return isinstance(symbol, Jet) or symbol.name == "t" or type(symbol) is Symbol


@lru_cache(maxsize=256)
def _series(function: Expr, variable: Symbol) -> tuple[Series, ...]:
    found = []
    for centre in list(_places(function, variable))[:_PLACES]:
        series = _around(function, variable, centre)
        if series is not None:
            found.append(series)
    return tuple(found)


def _places(function: Expr, variable: Symbol) -> Iterator[Rational]:
    """Rational numbers where a denominator vanishes, and in a product the rest vanishes too."""
    bases = {f.base for term in sympy.Add.make_args(function) for f in sympy.Mul.make_args(term) if _is_quotient(f)}
    seen: set[Rational] = set()
    for base in sorted(bases, key=sympy.default_sort_key):
        for place in _zeros(base, variable):
            if place in seen:
                continue
            seen.add(place)
            rest = [f for f in sympy.Mul.make_args(function) if not _is_quotient(f)]
            if function.is_Add or any(f.xreplace({variable: place}).is_zero for f in rest):
                yield place


def _zeros(base: Expr, variable: Symbol) -> Iterable[Rational]:
    """Rational zeros of a denominator: all of a polynomial, else those where the argument of a function vanishes."""
    if base.is_polynomial(variable):
        return list(sympy.Poly(base, variable).ground_roots())
    arguments = {variable, *[a for f in base.atoms(sympy.Function, sympy.exp) for a in f.args if a.is_polynomial(variable)]}
    candidates = [z for a in arguments if a.has(variable) for z in sympy.Poly(a, variable).ground_roots()]
    return [z for z in dict.fromkeys(candidates) if base.xreplace({variable: z}).is_zero]


def _around(function: Expr, variable: Symbol, centre: Rational) -> Series | None:
    """The series around a place; None if the function is not regular there."""
    mp, _ = many_digits(_DIGITS)
    turns = [mp.expjpi(mp.mpf(2 * k) / _CIRCLE) for k in range(_CIRCLE)]
    for radius in _RADII:
        rho = mp.mpf(radius.p) / radius.q
        try:
            values = [_value(function, variable, mp.mpf(centre.p) / centre.q + rho * turn, mp) for turn in turns]
        except (ValueError, ZeroDivisionError, OverflowError, KeyError):
            continue
        size = max(map(abs, values))
        if not all(map(mp.isfinite, values)) or size == 0:
            continue

        def scaled(k: int, values: list[Any] = values) -> Any:
            """The coefficient of degree k times the power of the radius."""
            return sum(v * turns[-k * j % _CIRCLE] for j, v in enumerate(values)) / _CIRCLE

        if not all(abs(scaled(k)) <= _VANISHES * size for k in [*range(-_LOWEST, 0), *range(_CIRCLE // 2, _CIRCLE // 2 + 8)]):
            continue
        found = [scaled(k) for k in range(_TERMS)]
        if not all(abs(c.imag) <= _VANISHES * size for c in found):
            return None
        coefficients = [float(c.real / rho**k) if abs(c) > _VANISHES * size else 0.0 for k, c in enumerate(found)]
        while coefficients and not coefficients[-1]:
            coefficients.pop()
        series = Series(centre, Rational(_PART * radius), tuple(coefficients))
        if _sums_to(series, function, variable):
            return series
    return None


def _sums_to(series: Series, function: Expr, variable: Symbol) -> bool:
    """Whether the sum of a series is the function at some real places, none of which is on the circle of its coefficients."""
    mp, _ = many_digits(_DIGITS)
    for p, q in _CHECKED:
        h = mp.mpf(p * series.radius.p) / (q * series.radius.q)
        terms = [c * h**k for k, c in enumerate(series.coefficients)]
        try:
            right = _value(function, variable, mp.mpf(series.centre.p) / series.centre.q + h, mp)
        except (ValueError, ZeroDivisionError, OverflowError, KeyError):
            return False
        if not abs(mp.fsum(terms) - right) <= _AGREES * mp.fsum(map(abs, terms)):
            return False
    return True


def _value(e: Expr, variable: Symbol, at: Any, mp: mpmath.MPContext) -> Any:
    """A function of a complex number."""
    if e == variable:
        return at
    if e.is_Rational:
        return mp.mpf(e.p) / e.q
    if e.is_NumberSymbol:
        return +getattr(mp, {"Pi": "pi", "Exp1": "e"}[type(e).__name__])
    values = [_value(a, variable, at, mp) for a in e.args]
    if e.is_Add:
        return mp.fsum(values)
    if e.is_Mul:
        return mp.fprod(values)
    if e.is_Pow and e.exp.is_Integer:
        return values[0] ** int(e.exp)
    name = SPELLING[type(e)]
    if name not in SMOOTH:
        raise KeyError(name)
    return getattr(mp, name)(values[0])
