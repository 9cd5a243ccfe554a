r"""Removable singularities: functions of one variable such as $(1 - \cos u)/u^2$, $u/(e^u - 1)$ or $1/u - \coth u$.

At the singular place a formula of doubles has no value, and beside it few correct digits or none: at $u = 10^{-9}$ the first one is zero
instead of one half. There the graph has the Taylor series of the function,

$$ G(a + h) = \sum_{k} c_k h^k, \qquad c_k = \frac{1}{2\pi} \int_0^{2\pi} G(a + \rho e^{i\varphi})\, \rho^{-k} e^{-ik\varphi}\, d\varphi, $$

whose coefficients are computed with sixty digits. The singularity is removable if those with negative k vanish. A function that has no
value on a circle, or a jump, is not regular inside of it, and the sum of a series has to be the function at other places too. Exact
arithmetic never takes the series: for it every value is beyond the radius (`GraphAlgebra._around`).

A scale of the variable may be a number, as in $\sin(10^9 x)/x$, or a symbol: $(1 - \cos(kx))/x^2$ is $k^2 (1 - \cos u)/u^2$ with $u = kx$.
A function of sines and cosines alone, such as $\sin(3u)/\sin u$, repeats its singular places: its series are used in every period.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import sympy
from sympy import Expr, Rational, Symbol

from chetaev.core.symbols import Jet, long
from chetaev.core.values import many_digits
from chetaev.numerics.graphs.rewriting.removable.places import DIGITS, NO_VALUE, is_quotient, places_of, turns_of, value_of

_CIRCLE = 96
"""Values on a circle; the coefficients then contain those of degrees higher by this number."""
_TERMS = 32
"""Most terms of a series."""
_LOWEST = 8
"""Highest order of a pole that is looked for."""
_VANISHES = 1e-40
"""Relative to the values on the circle: a coefficient times a power of the radius that is zero. Others are above 1e-28 for some of the
radii, since the values have sixty digits."""
_VALUES_TO_REFUSE, _SLIGHT = 24, 1e-6
"""Values on a circle that are enough to refuse a pole, and the relative size of a coefficient that shows one: those of degrees higher by
this number are far below, since the circle is small."""
_RADII = (Rational(4), Rational(2), Rational(1), Rational(1, 4), Rational(1, 16), Rational(1, 64))
"""Radii of circles. The first one inside of which the function is regular, with room to spare, is taken."""
_PART = Rational(1, 4)
"""Part of such a radius within which the series is used: its last term is then 1e-19 of the values on the circle."""
_HALF = Rational(255, 512)
"""A little less than one half, so that two series meet nowhere."""
_UNITS = 3
"""Most scales of a function on which circles are tried."""
_CHECKED = ((1, 1), (-1, 1), (7, 10), (-3, 10), (1, 10))
"""Parts of the radius of a series at which its sum is compared with the function."""
_SAME_SUM = 1e-14
"""Relative to the terms of a series: largest difference between its sum and the function; its coefficients are doubles."""
_MOST_PARTS = 60
"""Longer expressions are left as they are."""
_INNER = Symbol("argument of a function")
"""Stands for the argument of a function."""


@dataclass(frozen=True)
class Series:
    """A function around a place where its formula has no value."""

    centre: Expr
    """A real number."""
    unit: Rational
    """A power of four, the scale on which the function changes; the variable of the series is (u - centre)/unit."""
    radius: Rational
    """Within this distance from the centre, in units, the series is used."""
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Removable:
    """Parts of a product or sum that are a function of one variable with removable singularities, and the other factors and terms."""

    function: Expr
    argument: Expr
    variable: Symbol
    """What stands for the argument in the function."""
    series: tuple[Series, ...]
    others: tuple[Expr, ...]
    """Other factors."""
    terms: tuple[Expr, ...] = ()
    """Other terms of a sum, which the factors do not multiply."""
    turns: Expr = sympy.S.Zero
    """The function has the period 2 pi over this number; 0 if it has none."""


def removable(node: Expr) -> Removable | None:
    """The part of a product or sum that has removable singularities; None without one.

    >>> x = sympy.Symbol("x")
    >>> found = removable((1 - sympy.cos(x)) / x**2)
    >>> found.function, found.series[0].centre, found.series[0].coefficients[0]
    ((1 - cos(x))/x**2, 0, 0.5)
    """
    if not (node.is_Mul or node.is_Add) or long(node, _MOST_PARTS) or not _has_quotient(node):
        return None
    for function, argument, variable, others, terms in _functions(node):
        series = _series(function, variable)
        if series:
            return Removable(function, argument, variable, series, others, terms, turns_of(function, variable))
    return None


def _has_quotient(node: Expr) -> bool:
    terms = node.args if node.is_Add else (node,)
    return any(is_quotient(factor) for term in terms for factor in sympy.Mul.make_args(term))


_Found = tuple[Expr, Expr, Symbol, tuple[Expr, ...], tuple[Expr, ...]]


def _functions(node: Expr) -> Iterator[_Found]:
    """Functions of one variable in a product or sum: with the argument, the variable that stands for it, other factors and other terms.

    The argument is a single jet or the time, the denominator, or a multiple of these.
    """
    for base in dict.fromkeys(f.base for term in sympy.Add.make_args(node) for f in sympy.Mul.make_args(term) if is_quotient(f)):
        symbols = list(base.free_symbols)
        variable = symbols[0] if len(symbols) == 1 else Symbol("argument of a quotient")
        if len(symbols) == 1 and not _moves(variable):
            continue
        replaced = {} if len(symbols) == 1 else {base: variable, -base: -variable}
        argument = variable if len(symbols) == 1 else base
        parts = [(part.xreplace(replaced), part) for part in node.args]
        yield from _own(node, parts, argument, variable)
        for scale in _scales([written for written, _ in parts], variable):
            scaled = Symbol("multiple of an argument")
            yield from _own(node, [(e.xreplace({variable: scaled / scale}), part) for e, part in parts], scale * argument, scaled)
    for argument, symbol, inverse in _inner(node):
        yield from _own(node, [(part.xreplace({symbol: inverse}), part) for part in node.args], argument, _INNER)


def _own(node: Expr, parts: Sequence[tuple[Expr, Expr]], argument: Expr, variable: Symbol) -> Iterator[_Found]:
    """The functions of a variable among the parts of a product or sum; `parts` are written with the variable, and as they are."""
    if node.is_Add:
        yield from ((sympy.Add(*own), argument, variable, (common,), rest) for own, common, rest in _summed(parts, variable))
        return
    own, others = _divided(parts, variable)
    if len(own) > 1:
        yield sympy.Mul(*own), argument, variable, others, ()


def _inner(node: Expr) -> Iterator[tuple[Expr, Symbol, Expr]]:
    """Arguments of functions that are linear in a symbol, with other symbols: the argument, and the symbol as a function of it."""
    for argument in dict.fromkeys(a for f in node.atoms(sympy.Function, sympy.exp) for a in f.args if len(a.free_symbols) > 1):
        for symbol in sorted(filter(_moves, argument.free_symbols), key=lambda z: z.name):
            slope = argument.diff(symbol)
            if slope and symbol not in slope.free_symbols:
                yield argument, symbol, sympy.expand((_INNER - argument.xreplace({symbol: sympy.Integer(0)})) / slope)


def _summed(terms: Iterable[tuple[Expr, Expr]], variable: Symbol) -> Iterator[tuple[list[Expr], Expr, tuple[Expr, ...]]]:
    """Terms of a sum that are functions of the variable alone but for a common factor, that factor, and all other terms.

    At least two of them are quotients: a single one is treated as a product.
    """
    groups: dict[Expr, list[tuple[Expr, Expr]]] = {}
    for written, term in terms:
        factor, function = written.as_independent(variable, as_Add=False)
        number, common = factor.as_coeff_Mul()
        groups.setdefault(common, []).append((number * function, term))
    for common, group in groups.items():
        own = [function for function, _ in group]
        if sum(any(map(is_quotient, sympy.Mul.make_args(e))) for e in own) > 1:
            mine = {term for _, term in group}
            yield own, common, tuple(term for _, term in terms if term not in mine)


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
    found = [series for centre in places_of(function, variable) if (series := _around(function, variable, centre)) is not None]
    turns = turns_of(function, variable)
    return tuple(_apart(series, found, 2 * sympy.pi / turns if turns else None) for series in found)


def _apart(series: Series, all_of_them: Sequence[Series], period: Expr | None) -> Series:
    """A series that is used no further than half of the way to the centre of another one, or to its own after a period."""
    distances = [abs(other.centre - series.centre) for other in all_of_them if other is not series]
    if period is not None:
        distances = [period, *distances, *[period - distance for distance in distances]]
    nearest = min((Rational(float(d)) * _HALF / series.unit for d in distances), default=series.radius)
    return replace(series, radius=Rational(min(series.radius, nearest)))


def _around(function: Expr, variable: Symbol, centre: Expr) -> Series | None:
    """The series around a place; None if the function is not regular there."""
    units = _units(function, variable, centre)
    if not any(_seems_regular(function, variable, centre, Rational(unit * _RADII[-1])) for unit in units):
        return None
    for radius, unit in sorted({(Rational(part * unit), unit) for unit in units for part in _RADII}, reverse=True):
        series = _on_circle(function, variable, centre, unit, radius)
        if series is not None and _sums_to(series, function, variable):
            return series
    return None


def _seems_regular(function: Expr, variable: Symbol, centre: Expr, radius: Rational) -> bool:
    """Whether the values on a small circle show no pole inside. A few of them suffice, and refuse most poles in a short time."""
    mp, _ = many_digits(DIGITS)
    turns = [mp.expjpi(mp.mpf(2 * k) / _VALUES_TO_REFUSE) for k in range(_VALUES_TO_REFUSE)]
    rho, middle = mp.mpf(radius.p) / radius.q, value_of(centre, variable, mp.mpf(0), mp)
    try:
        values = [value_of(function, variable, middle + rho * turn, mp) for turn in turns]
    except NO_VALUE:
        return False
    size = max(map(abs, values))
    return all(
        abs(sum(v * turns[k * j % _VALUES_TO_REFUSE] for j, v in enumerate(values))) <= _SLIGHT * _VALUES_TO_REFUSE * size
        for k in range(1, _LOWEST + 1)
    )


def _on_circle(function: Expr, variable: Symbol, centre: Expr, unit: Rational, radius: Rational) -> Series | None:
    """The series whose coefficients follow from the values on a circle; None if the function is not real and regular inside."""
    mp, _ = many_digits(DIGITS)
    turns = [mp.expjpi(mp.mpf(2 * k) / _CIRCLE) for k in range(_CIRCLE)]
    rho, middle = mp.mpf(radius.p) / radius.q, value_of(centre, variable, mp.mpf(0), mp)
    try:
        values = [value_of(function, variable, middle + rho * turn, mp) for turn in turns]
    except NO_VALUE:
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


def _units(function: Expr, variable: Symbol, centre: Expr) -> list[Rational]:
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
    mp, _ = many_digits(DIGITS)
    middle, unit = (value_of(r, variable, mp.mpf(0), mp) for r in (series.centre, series.unit))
    for p, q in _CHECKED:
        h = mp.mpf(p * series.radius.p) / (q * series.radius.q)
        terms = [c * h**k for k, c in enumerate(series.coefficients)]
        try:
            right = value_of(function, variable, middle + unit * h, mp)
        except NO_VALUE:
            return False
        if not abs(mp.fsum(terms) - right) <= _SAME_SUM * mp.fsum(map(abs, terms)):
            return False
    return True
