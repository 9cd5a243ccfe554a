"""Long sums and plain products, equal to SymPy's but formed faster.

SymPy rebuilds every collected term and computes assumptions of each new number. Here a term that occurs once stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Expr
from sympy.core.add import _addsort
from sympy.core.mul import _mulsort

_LONG = 50
"""Terms from which a sum is formed here. Shorter sums are left to SymPy, which is as fast for them."""


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
