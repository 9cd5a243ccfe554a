r"""Removable singularities: functions of one variable such as $(1 - \cos u)/u^2$, $u/(e^u - 1)$ or $1/u - \coth u$.

At the singular place a formula of doubles has no value, and beside it few correct digits or none: at $u = 10^{-9}$ the first one is zero
instead of one half. There the graph has the Taylor series of the function,

$$ G(a + h) = \sum_{k} c_k h^k, \qquad c_k = \frac{1}{2\pi} \int_0^{2\pi} G(a + \rho e^{i\varphi})\, \rho^{-k} e^{-ik\varphi}\, d\varphi, $$

whose coefficients are computed with sixty digits. The singularity is removable if those with negative k vanish. A function that has no
value on a circle, or a jump, is not regular inside of it, and the sum of a series has to be the function at other places too. Exact
arithmetic never takes the series: for it every value is beyond the radius (`GraphAlgebra._around`).

A scale of the variable may be a number, as in $\sin(10^9 x)/x$, or a symbol: $(1 - \cos(kx))/x^2$ is $k^2 (1 - \cos u)/u^2$ with $u = kx$.
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
_UNITS = 3
"""Most scales of a function on which circles are tried."""
_PLACES = 4
"""Most singular places of a function that are looked for."""
_CHECKED = ((1, 1), (-1, 1), (7, 10), (-3, 10), (1, 10))
"""Parts of the radius of a series at which its sum is compared with the function."""
_AGREES = 1e-14
"""Relative to the terms of a series: largest difference between its sum and the function; its coefficients are doubles."""
_NO_VALUE = (ValueError, ZeroDivisionError, OverflowError, KeyError)
"""What an operation without a value raises."""
_PARTS = 60
"""Longer expressions are left as they are."""
_INNER = Symbol("argument of a function")
"""Stands for the argument of a function."""


@dataclass(frozen=True)
class Series:
    """A function around a place where its formula has no value."""

    centre: Rational
    unit: Rational
    """A power of four, the scale on which the function changes; the variable of the series is (u - centre)/unit."""
    radius: Rational
    """Within this distance from the centre, in units, the series is used."""
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
    """Functions of one variable in a product or sum, with the argument, the variable that stands for it, and the other factors.

    The argument is a single jet or the time, the denominator, or a multiple of these.
    """
    divided = _summed if node.is_Add else _divided
    for base in dict.fromkeys(f.base for term in sympy.Add.make_args(node) for f in sympy.Mul.make_args(term) if _is_quotient(f)):
        symbols = list(base.free_symbols)
        variable = symbols[0] if len(symbols) == 1 else Symbol("argument of a quotient")
        if len(symbols) == 1 and not _moves(variable):
            continue
        replaced = {} if len(symbols) == 1 else {base: variable, -base: -variable}
        argument = variable if len(symbols) == 1 else base
        parts = [(part.xreplace(replaced), part) for part in node.args]
        own, others = divided(parts, variable)
        if len(own) > 1:
            yield node.func(*own), argument, variable, others
        for scale in _scales([written for written, _ in parts], variable):
            scaled = Symbol("multiple of an argument")
            own, others = divided([(e.xreplace({variable: scaled / scale}), part) for e, part in parts], scaled)
            if len(own) > 1:
                yield node.func(*own), scale * argument, scaled, others
    for argument, symbol, inverse in _inner(node):
        own, others = divided([(part.xreplace({symbol: inverse}), part) for part in node.args], _INNER)
        if len(own) > 1:
            yield node.func(*own), argument, _INNER, others


def _inner(node: Expr) -> Iterator[tuple[Expr, Symbol, Expr]]:
    """Arguments of functions that are linear in a symbol, with other symbols: the argument, and the symbol as a function of it."""
    for argument in dict.fromkeys(a for f in node.atoms(sympy.Function, sympy.exp) for a in f.args if len(a.free_symbols) > 1):
        for symbol in sorted(filter(_moves, argument.free_symbols), key=lambda z: z.name):
            slope = argument.diff(symbol)
            if slope and symbol not in slope.free_symbols:
                yield argument, symbol, sympy.expand((_INNER - argument.xreplace({symbol: sympy.Integer(0)})) / slope)


def _summed(terms: Iterable[tuple[Expr, Expr]], variable: Symbol) -> tuple[list[Expr], tuple[Expr, ...]]:
    """The terms of a sum that is a function of the variable alone but for a common factor, and that factor; no terms otherwise."""
    parts = [written.as_independent(variable, as_Add=False) for written, _ in terms]
    common = parts[0][0] if parts[0][0].free_symbols else Rational(1)
    own = [factor / common * function for factor, function in parts]
    return (own, (common,)) if all(e.free_symbols <= {variable} for e in own) else ([], ())


def _divided(factors: Iterable[tuple[Expr, Expr]], variable: Symbol) -> tuple[list[Expr], tuple[Expr, ...]]:
    """Factors that are functions of the variable alone, and all others: a factor with the variable and other symbols is kept as it was."""
    own: list[Expr] = []
    others: list[Expr] = []
    for written, factor in factors:
        parts = sympy.Mul.make_args(written)
        mine = [e for e in parts if e.free_symbols == {variable}]
        rest = [e for e in parts if e.free_symbols != {variable}]
        if not mine or any(variable in e.free_symbols for e in rest):
            others.append(factor)
        else:
            own += mine
            others += rest
    return own, tuple(others)


def _scales(factors: Iterable[Expr], variable: Symbol) -> list[Expr]:
    """Symbols, or products of them, by which the variable is multiplied in the arguments of functions and in the bases of powers."""
    found: dict[Expr, None] = {}
    for factor in factors:
        inner = [a for f in factor.atoms(sympy.Function, sympy.exp, sympy.Pow) for a in (f.args[:1] if f.is_Pow else f.args)]
        for e in inner:
            terms = [term for term in sympy.Add.make_args(e) if variable in term.free_symbols]
            for scale, rest in [term.as_independent(variable, as_Add=False) for term in terms]:
                degree = 1 if rest == variable else int(rest.exp) if rest.is_Pow and rest.base == variable and rest.exp.is_Integer else 0
                root = _root(scale, degree)
                if root is not None and root.free_symbols:
                    found[root] = None
    return sorted(found, key=sympy.default_sort_key)


def _root(product: Expr, degree: int) -> Expr | None:
    """The root of a product of powers that is one itself; None otherwise."""
    powers = [factor.as_base_exp() for factor in sympy.Mul.make_args(product) if factor.free_symbols]
    if degree < 1 or not all(base.is_Symbol and exponent.is_Integer and exponent % degree == 0 for base, exponent in powers):
        return None
    return sympy.Mul(*[base ** (exponent / degree) for base, exponent in powers])


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
    units = _units(function, variable, centre)
    for radius, unit in sorted({(Rational(part * unit), unit) for unit in units for part in _RADII}, reverse=True):
        series = _on_circle(function, variable, centre, unit, radius)
        if series is not None and _sums_to(series, function, variable):
            return series
    return None


def _on_circle(function: Expr, variable: Symbol, centre: Rational, unit: Rational, radius: Rational) -> Series | None:
    """The series whose coefficients follow from the values on a circle; None if the function is not real and regular inside."""
    mp, _ = many_digits(_DIGITS)
    turns = [mp.expjpi(mp.mpf(2 * k) / _CIRCLE) for k in range(_CIRCLE)]
    rho, middle = (mp.mpf(r.p) / r.q for r in (radius, centre))
    try:
        values = [_value(function, variable, middle + rho * turn, mp) for turn in turns]
    except _NO_VALUE:
        return None
    size = max(map(abs, values))
    if not all(map(mp.isfinite, values)) or size == 0:
        return None

    def scaled(k: int) -> Any:
        """The coefficient of degree k times the power of the radius."""
        return sum(v * turns[-k * j % _CIRCLE] for j, v in enumerate(values)) / _CIRCLE

    if not all(abs(scaled(k)) <= _VANISHES * size for k in [*range(-_LOWEST, 0), *range(_CIRCLE // 2, _CIRCLE // 2 + 8)]):
        return None
    found = [scaled(k) for k in range(_TERMS)]
    if not all(abs(c.imag) <= _VANISHES * size for c in found):
        return None
    part = radius / unit
    units = mp.mpf(part.p) / part.q
    coefficients = [float(c.real / units**k) if abs(c) > _VANISHES * size else 0.0 for k, c in enumerate(found)]
    while coefficients and not coefficients[-1]:
        coefficients.pop()
    return Series(centre, unit, Rational(_PART * part), tuple(coefficients))


def _units(function: Expr, variable: Symbol, centre: Rational) -> list[Rational]:
    """Scales on which the function changes: where an argument of a function in it changes by one, or a polynomial in it by itself."""
    found = {Rational(1): None}
    inner = {a for f in function.atoms(sympy.Function, sympy.exp) for a in f.args}
    for e in sorted(inner | {f.base for f in function.atoms(sympy.Pow)}, key=sympy.default_sort_key):
        if not (e.has(variable) and e.is_polynomial(variable)):
            continue
        coefficients = sympy.Poly(e.xreplace({variable: variable + centre}), variable).all_coeffs()[::-1]
        first = abs(coefficients[0]) if coefficients[0] and e not in inner else Rational(1)
        for k, c in enumerate(coefficients):
            if k and c.is_Rational and c and first.is_Rational and (c != 1 or e in inner):
                found[_power_of_four(first / abs(c), k)] = None
    return list(found)[:_UNITS]


def _power_of_four(size: Rational, degree: int) -> Rational:
    """The power of four next to a root of a number."""
    return Rational(Rational(4) ** round((size.p.bit_length() - size.q.bit_length()) / (2 * degree)))


def _sums_to(series: Series, function: Expr, variable: Symbol) -> bool:
    """Whether the sum of a series is the function at some real places, none of which is on the circle of its coefficients."""
    mp, _ = many_digits(_DIGITS)
    middle, unit = (mp.mpf(r.p) / r.q for r in (series.centre, series.unit))
    for p, q in _CHECKED:
        h = mp.mpf(p * series.radius.p) / (q * series.radius.q)
        terms = [c * h**k for k, c in enumerate(series.coefficients)]
        try:
            right = _value(function, variable, middle + unit * h, mp)
        except _NO_VALUE:
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
    if e.is_Pow:
        return values[0] ** int(e.exp) if e.exp.is_Integer else mp.power(*values)
    name = SPELLING[type(e)]
    if name not in SMOOTH:
        raise KeyError(name)
    return getattr(mp, name)(values[0])
