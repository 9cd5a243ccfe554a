"""Long sums and plain products, formed as SymPy would form them but without its cost per term.

SymPy multiplies every collected term anew and asks what it assumes of each new number. A term that occurs once can stay as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Expr
from sympy.core.add import _addsort

_LONG = 50


def collected(terms: Sequence[Expr]) -> Expr:
    """The sum: equal to `Add(*terms)`, in the same order."""
    if len(terms) == 1:
        return terms[0]
    return (_long_sum(terms) if len(terms) > _LONG else None) or sympy.Add(*terms)


def multiplied(factors: Sequence[Expr]) -> Expr:
    """The product; a number times a power of a symbol, the most frequent one, is in order as it stands."""
    if len(factors) == 1:
        return factors[0]
    if len(factors) == 2:
        number, power = factors
        base = power.base if power.is_Pow and power.exp.is_Integer else power
        if number.is_Rational and base.is_Symbol and number not in (0, 1):
            return sympy.Mul._from_args((number, power), is_commutative=True)
    return sympy.Mul(*factors)


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
