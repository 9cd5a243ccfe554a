"""Sums, products and divisions of the notation: equal to SymPy's, but formed faster.

SymPy rebuilds every collected term of a sum and computes assumptions of each new number; here a term that occurs once stays as it is.

Before a division SymPy deduces signs and parities of every part, which takes milliseconds for the distance of two bodies. An expression
that SymPy knows to be zero vanishes at every point, so a polynomial that is not zero at one point, evaluated exactly modulo a prime, is not
passed to SymPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import sympy
from sympy import Expr
from sympy.core.add import _addsort
from sympy.core.mul import _mulsort

_LONG = 50
"""Terms from which a sum is formed here. Shorter sums are left to SymPy, which is as fast for them."""
_PRIME = 2**61 - 1
"""The modulus. A polynomial that vanishes modulo it by chance is left to SymPy, so its size affects time only."""


def collected(terms: Sequence[Expr]) -> Expr:
    """The sum: equal to `Add(*terms)`, in the same order."""
    if len(terms) == 1:
        return terms[0]
    return (_long_sum(terms) if len(terms) > _LONG else None) or sympy.Add(*terms)


def multiplied(factors: Sequence[Expr]) -> Expr:
    """The product: equal to `Mul(*factors)`, in the same order."""
    return factors[0] if len(factors) == 1 else _plain_product(factors) or sympy.Mul(*factors)


def _plain_product(factors: Sequence[Expr]) -> Expr | None:
    """A number and rational powers of different symbols, functions and sums, put in order; None if a factor is of another kind.

    Such a product has no factors to combine. A number times a single sum is left to SymPy, which distributes it.
    """
    number: Expr = sympy.S.One
    powers: dict[Expr, Expr] = {}
    for factor in factors:
        if factor.is_Rational:
            number = factor if number is sympy.S.One else number * factor
            continue
        base, exponent = factor.args if factor.is_Pow else (factor, sympy.S.One)
        plain = base.is_Symbol or base.is_Add or (base.is_Function and not isinstance(base, sympy.exp))
        if not (plain and exponent.is_Rational) or base in powers:
            return None
        powers[base] = factor
    parts = list(powers.values())
    if number.is_zero or not parts or (len(parts) == 1 and parts[0].is_Add):
        return None
    _mulsort(parts)
    if number is not sympy.S.One:
        parts.insert(0, number)
    return parts[0] if len(parts) == 1 else sympy.Mul._from_args(tuple(parts), is_commutative=True)


def _long_sum(terms: Sequence[Expr]) -> Expr | None:
    """Like terms added, others as they are; None if a term is not of the plain kinds."""
    constant: Expr = sympy.S.Zero
    found: dict[Expr, tuple[Expr, Expr | None]] = {}
    for term in (part for whole in terms for part in sympy.Add.make_args(whole)):
        if term.is_Rational:
            constant += term
            continue
        if not (term.is_Symbol or term.is_Mul or term.is_Pow or term.is_Function):
            return None
        number, rest = term.as_coeff_Mul()
        if not number.is_Rational or rest.is_Add:
            return None
        before = found.get(rest)
        flat = number == 1 or len(term.args) == 1 + len(sympy.Mul.make_args(rest))  # SymPy leaves products in products of |x|
        found[rest] = (number, term if flat else None) if before is None else (before[0] + number, None)
    parts = [_scaled(number, rest) if term is None else term for rest, (number, term) in found.items() if number != 0]
    _addsort(parts)
    if constant != 0:
        parts.insert(0, constant)
    if len(parts) < 2:
        return parts[0] if parts else sympy.S.Zero
    return sympy.Add._from_args(tuple(parts), is_commutative=True)


def _scaled(number: Expr, rest: Expr) -> Expr:
    """A number times a term without one; the factors of a product are in order already."""
    if rest.is_Mul and number != 1:
        return rest._new_rawargs(number, *rest.args)
    return sympy.Mul(number, rest)


def known_to_vanish(e: Expr) -> bool:
    """Whether SymPy knows that `e` is zero."""
    while e.is_Pow and e.exp.is_Rational and e.exp.is_positive:  # a power vanishes where its base does
        e = e.base
    return not _residue(e) and bool(e.is_zero)


def _residue(e: Expr) -> int | None:
    """The value of a polynomial at a fixed point modulo the prime; None for other expressions."""
    if e.is_Symbol:
        return crc32(e.name.encode()) + 1
    if e.is_Rational:
        return int(e.p) * pow(int(e.q), -1, _PRIME) % _PRIME if e.q % _PRIME else None
    if e.is_Pow:
        base = _residue(e.base) if e.exp.is_Integer and e.exp.p > 0 else None
        return None if base is None else pow(base, int(e.exp), _PRIME)
    if not e.is_Add and not e.is_Mul:
        return None
    found = int(e.is_Mul)
    for part in e.args:
        value = _residue(part)
        if value is None:
            return None
        found = (found * value if e.is_Mul else found + value) % _PRIME
    return found
