"""The singular locus as formulas: factors of the determinant of the system Jacobian, without factors that have no zero."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import sympy
from sympy import Expr
from sympy.polys.matrices import DomainMatrix

from chetaev.core.support.budget import apart, limited, size
from chetaev.mechanics.definite import never_zero
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.structure import structure

_LARGEST_MATRIX = 3_000
"""Operations in all entries of a Jacobian whose determinant is expanded; larger ones take seconds to convert."""
_MOST_PRODUCTS = 1_000_000
"""Products in the expansion of a determinant, at most, estimated by the terms of its rows. Ten times as many take seconds and give an
unreadable formula."""
_MOST_TERMS = 300
"""Terms of a determinant that is factorised, at most. Longer ones take seconds, and their factors cannot be read."""
_LONGEST_SIMPLIFIED = 60
"""Operations of a factor that is simplified by trigonometric identities, at most; the time grows quickly with the length."""
_HIGHEST_MULTIPLE = 100
"""Largest whole number in an argument of sine or cosine for such identities: SymPy expands the sine of a multiple to a polynomial."""
_SEARCH_SECONDS = 20.0
"""Budget of the search; the limits above should end it earlier."""
_LARGEST_IN_PLACE = 400
"""Size of a Jacobian whose determinant is expanded and factorised in place. Those of the gallery take at most half a second; starting
another process takes as long."""

_TOO_LONG = "its determinant is too long for a formula"


def locus_factors(equations: Equations) -> tuple[Expr, ...] | None:
    """The factors of the determinant that may have zeros; None if there is no formula of a readable length."""
    return _locus(equations)[0]


def no_formula(equations: Equations) -> str:
    """The reason why there is no formula for the singular locus."""
    return _locus(equations)[1]


@lru_cache(maxsize=32)
def _locus(equations: Equations) -> tuple[tuple[Expr, ...] | None, str]:
    """The factors, or the reason why there are none."""
    symbolic = structure(equations)
    jacobian = None if symbolic is None else sympy.ImmutableMatrix([list(line) for line in symbolic.jacobian])
    if jacobian is None or sum(sympy.count_ops(e) for e in jacobian) > _LARGEST_MATRIX:
        return None, _TOO_LONG
    with apart():
        answer = limited(_factors, jacobian, seconds=_SEARCH_SECONDS, small=size(*jacobian) <= _LARGEST_IN_PLACE)
    if not answer.done:
        return None, f"the search for a formula was ended: {answer.reason}"
    if answer.value is None:
        return None, _TOO_LONG
    return tuple(dict.fromkeys(b for b in answer.value if b.free_symbols and not never_zero(b))), ""


def _factors(jacobian: sympy.Matrix) -> list[Expr] | None:
    """The factors of the determinant; None if it would be too long."""
    plain, meant = _without_high_exponents(jacobian)
    determinant = _determinant(plain)
    if determinant is None:
        return None
    bases = [base.xreplace(meant) for base in _numerator_factors(determinant)]
    for _ in range(2):  # the first pass may leave squares of sine and cosine that only the second sees
        bases = [factor for base in bases for factor in _simplified(base)]
    return bases


def _without_high_exponents(matrix: sympy.Matrix) -> tuple[sympy.Matrix, dict[Expr, Expr]]:
    """The matrix with symbols for exponentials of long numbers, and the meaning of these symbols.

    SymPy converts exp(-1.901641*x^2) to the power 1901641 of a variable, a list of as many coefficients, which takes minutes.
    """
    high = [e for e in sorted(matrix.atoms(sympy.exp), key=str) if _highest_multiple(e) > _HIGHEST_MULTIPLE]
    symbols = {e: sympy.Dummy("exp", positive=True) for e in high}
    return matrix.xreplace(symbols), {symbol: e for e, symbol in symbols.items()}


def _determinant(matrix: sympy.Matrix) -> Expr | None:
    """The determinant expanded in a ring where sines and cosines are variables; None if it would be too long."""
    read = DomainMatrix.from_Matrix(matrix, composite=True)
    products = prod(sum(_terms(e, read.domain) for e in row) for row in read.to_list())
    if products > _MOST_PRODUCTS:
        return None
    found: Expr = read.domain.to_sympy(read.det())
    return found if len(sympy.Add.make_args(found)) <= _MOST_TERMS else None


def _terms(entry: Any, domain: Any) -> int:
    if not entry:
        return 0
    if domain.is_Poly:
        return len(entry)
    return len(entry.numer) + len(entry.denom) if domain.is_Frac else 1


def _simplified(base: Expr) -> list[Expr]:
    """The factors of `base` after simplification, if it is short enough; else `base` itself, which is also right."""
    long = sympy.count_ops(base) > _LONGEST_SIMPLIFIED or _highest_multiple(base) > _HIGHEST_MULTIPLE
    return [base] if long else _numerator_factors(sympy.trigsimp(base))


def _highest_multiple(e: Expr) -> int:
    """The largest numerator or denominator of a number in an argument of sine, cosine or another function."""
    numbers = [sympy.Rational(c) for f in e.atoms(sympy.Function) for c in f.atoms(sympy.Number) if c.is_finite]
    return max((max(abs(c.p), c.q) for c in numbers), default=0)


def _numerator_factors(e: Expr) -> list[Expr]:
    numerator = sympy.fraction(sympy.together(sympy.factor(e)))[0]
    return [f.base if f.is_Pow else f for f in sympy.Mul.make_args(sympy.factor(numerator))]
