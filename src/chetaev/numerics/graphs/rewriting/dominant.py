r"""Products whose factors leave the range of doubles while they do not, such as $\sinh u/\cosh^3 u$ and $e^u/(1 + e^u)$ at $u = 800$.

A factor that is a polynomial in $e^u$ and $e^{-u}$ is its leading term beyond a limit, $c\,e^{au}$, to all digits of a double. There its
value is replaced by $c$, and the exponents of all factors are added up in one exponential:

$$ \prod_i b_i^{p_i} \to \prod_i \big(I_i\,b_i(I_i u) + (1 - I_i)\,c_i\big)^{p_i}\; \exp\Big(\sum_i (1 - I_i)\,p_i a_i u\Big), $$

with $I_i$ 1 within the limit and 0 beyond, as in `overflow`. Exponentials among the factors go into the same sum, whatever their
arguments. Within all limits the other factors are the same to the last bit. High powers such as $x^{300}/(1 + x^{300})$ are the same in
$u = \log|x|$.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import sympy
from sympy import Expr, Rational, Symbol

from chetaev.core.symbols import Parameter, long

VARIABLE = Symbol("argument of growing functions")
"""Stands for the argument of the functions of one factor."""
_SQUARE = 350
"""Exponent of e up to which the square of a number is a double: doubles end at e^709, and the margin leaves room for other factors."""
_NEGLIGIBLE = 40
"""Natural logarithm of a ratio beyond which the smaller term does not change the sum of two doubles."""
_PARAMETER = 115
"""Natural logarithm of the largest size of a parameter that a leading term is supposed to exceed, and of its inverse: 1e50."""
_DEGREE = 64
"""Largest power of a sum of exponentials that is multiplied out."""
_LOWEST_GROWING_DEGREE = 16
"""Smallest degree of a polynomial that counts as growing: lower ones overflow where a value is above 1e19."""
_MOST_PARTS = 60
"""Longer factors are left as they are."""
_FUNCTIONS = (sympy.exp, sympy.cosh, sympy.sinh)

Laurent = dict[Rational, Expr]
"""Coefficients of powers of e^u, by exponents."""


@dataclass(frozen=True)
class Leading:
    """The term c*e^(a*u) that dominates a factor on one side."""

    coefficient: Expr
    exponent: Rational


@dataclass(frozen=True)
class Growth:
    """A factor that is a power of a polynomial in e^u and e^-u."""

    argument: Expr
    written: Expr
    """The polynomial, with `VARIABLE` for the argument."""
    power: Expr
    limit: Rational
    """The size of the argument beyond which the leading term is used."""
    above: Leading | None
    below: Leading | None
    gap: float
    """Smallest size of the argument at which the leading terms dominate; of its logarithm for a polynomial."""
    algebraic: bool = False
    """Whether the factor is a power of a polynomial in the argument itself, and the leading term a power of it."""


def growths(factors: Sequence[Expr]) -> dict[Expr, Growth]:
    """Return the factors of a product that grow, if another one may make up for them; none otherwise.

    >>> x = Symbol("x")
    >>> [g.limit for g in growths([sympy.sinh(x), sympy.cosh(x)**-3, x]).values()]
    [350/3, 350/3]
    >>> growths([sympy.cosh(x), x])
    {}
    """
    if sum(1 for f in factors if f.args) < 2:
        return {}  # symbols and numbers do not grow, and one factor alone has none that makes up for it
    if not any(isinstance(f, sympy.exp) or (f.is_Pow and f.exp.is_negative) for f in factors):
        return {}  # nothing falls
    if any(VARIABLE in f.free_symbols for f in factors):
        return {}
    exponentials = [f for f in factors if isinstance(f, sympy.exp) and f.args[0].free_symbols]
    found = {f: g for f in factors if f not in exponentials and (g := growth(f)) is not None}
    falls = exponentials or any(g.power.is_negative for g in found.values())
    if not falls or len(found) + len(exponentials) < 2:
        return {}
    limits = {g.argument: min(other.limit for other in found.values() if other.argument == g.argument) for g in found.values()}
    if any(not _leads(g, limits[g.argument]) for g in found.values()):
        return {}
    return {f: replace(g, limit=limits[g.argument]) for f, g in found.items()}


def growth(factor: Expr) -> Growth | None:
    """A factor as a power of a polynomial in e^u and e^-u; None for others, and where no term dominates the others."""
    base, power = (factor.base, factor.exp) if factor.is_Pow and not isinstance(factor, sympy.exp) else (factor, sympy.Integer(1))
    if not power.is_Rational or long(base, _MOST_PARTS):
        return None
    if not base.has(*_FUNCTIONS):
        return _polynomial(base, power)
    argument, written = _written(base)
    terms = None if argument is None else _laurent(written)
    if argument is None or not terms or len(terms) == 1:
        return None
    exponents = sorted(terms)
    steepest = max(abs(exponents[0]), abs(exponents[-1]))
    limit = Rational(_SQUARE) / (steepest * max(abs(power), sympy.Integer(1)))
    sides = {side: (terms[e[0]], e[0], _gap(terms, e)) for side, e in (("below", exponents), ("above", exponents[::-1])) if e[0]}
    if any(gap > limit or not (power.is_Integer or c.is_positive) for c, _, gap in sides.values()):
        return None
    leading = {side: Leading(c, exponent) for side, (c, exponent, _) in sides.items()}
    gap = max((gap for _, _, gap in sides.values()), default=0.0)
    return Growth(argument, written, power, limit, leading.get("above"), leading.get("below"), gap)


def _polynomial(base: Expr, power: Expr) -> Growth | None:
    """A high power, or a power of a polynomial of high degree in one symbol or expression; None for others."""
    high = [f.base for f in base.atoms(sympy.Pow) if f.exp.is_Integer and f.exp >= _LOWEST_GROWING_DEGREE] or (
        [base] if abs(power) >= _LOWEST_GROWING_DEGREE else []
    )
    written = base.xreplace(dict.fromkeys(high[:1], VARIABLE))
    if not high or written.free_symbols != {VARIABLE} or not written.is_polynomial(VARIABLE):
        return None
    z, polynomial = high[0], sympy.Poly(written, VARIABLE)
    degree = polynomial.degree()
    if degree * abs(power) < _LOWEST_GROWING_DEGREE or not all(c.is_Rational for c in polynomial.all_coeffs()):
        return None
    limit = Rational(math.floor(1000 * math.exp(_SQUARE / (degree * max(1.0, abs(float(power)))))), 1000)
    first = polynomial.LC()
    lower = [((_NEGLIGIBLE + math.log(abs(c / first))) / (degree - k)) for (k,), c in polynomial.terms()[1:]]
    gap = max(lower, default=0.0)
    below = first * (-1) ** degree
    if gap > math.log(limit) or (not power.is_Integer and not (first.is_positive and below.is_positive)):
        return None
    sides = [Leading(c, Rational(degree)) for c in (first, below)]
    return Growth(z, written, power, limit, sides[0], sides[1], gap, algebraic=True)


def _gap(terms: Laurent, exponents: Sequence[Rational]) -> float:
    """The size of the argument from which the term with the first of some exponents dominates; infinite if its size is not known."""
    first = terms[exponents[0]]
    if not first.is_number:
        return math.inf
    sizes = [math.log(abs(float(c))) if c.is_number else _PARAMETER for c in (terms[e] for e in exponents[1:])]
    ratios = [
        (_NEGLIGIBLE + size - math.log(abs(float(first)))) / float(abs(e - exponents[0]))
        for e, size in zip(exponents[1:], sizes, strict=True)
    ]
    return max(ratios)


def _leads(growth: Growth, limit: Rational) -> bool:
    """Whether the leading terms dominate beyond a limit."""
    return growth.gap <= (math.log(limit) if growth.algebraic else float(limit))


def _written(base: Expr) -> tuple[Expr | None, Expr]:
    """The common argument of the growing functions in an expression, and the expression with `VARIABLE` in its place."""
    argument, replaced = None, {}
    for f in base.atoms(*_FUNCTIONS):
        if not f.args[0].free_symbols:
            continue
        content, primitive = f.args[0].as_content_primitive()
        if primitive.could_extract_minus_sign():
            content, primitive = -content, -primitive
        argument = primitive if argument is None else argument
        if primitive != argument or not content.is_Rational:
            return None, base
        replaced[f] = f.func(content * VARIABLE)
    return argument, base.xreplace(replaced)


def _laurent(e: Expr) -> Laurent | None:
    """An expression as a polynomial in e^u and e^-u; None if it is none, or a coefficient is no number or parameter."""
    if VARIABLE not in e.free_symbols:
        return {Rational(0): e} if all(isinstance(z, Parameter) for z in e.free_symbols) else None
    if isinstance(e, _FUNCTIONS):
        a = e.args[0].coeff(VARIABLE)
        half = Rational(1, 2)
        return {a: sympy.Integer(1)} if isinstance(e, sympy.exp) else {a: half, -a: half if isinstance(e, sympy.cosh) else -half}
    if e.is_Add:
        parts = [_laurent(term) for term in e.args]
        return None if any(part is None for part in parts) else _sum([part for part in parts if part])
    if e.is_Mul:
        parts = [_laurent(factor) for factor in e.args]
        return None if any(part is None for part in parts) else _product([part for part in parts if part])
    if e.is_Pow and e.exp.is_Integer and 0 < e.exp <= _DEGREE:
        base = _laurent(e.base)
        return None if base is None else _product([base] * int(e.exp))
    return None


def _sum(parts: Sequence[Laurent]) -> Laurent:
    found: Laurent = {}
    for part in parts:
        for exponent, c in part.items():
            found[exponent] = found.get(exponent, sympy.Integer(0)) + c
    return {exponent: c for exponent, c in found.items() if c != 0}


def _product(parts: Sequence[Laurent]) -> Laurent:
    found: Laurent = {Rational(0): sympy.Integer(1)}
    for part in parts:
        found = _sum([{Rational(a + b): c * d} for a, c in found.items() for b, d in part.items()])
    return found
