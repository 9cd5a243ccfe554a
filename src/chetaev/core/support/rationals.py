"""Numbers as exact rationals. A decimal number means the fraction that its digits write: 0.1 is 1/10, 2.5 is 5/2."""

from __future__ import annotations

import math
from numbers import Integral, Rational, Real
from typing import Any

import sympy

_DOUBLE = 53
"""Bits of a double: a Float of this precision is read by its shortest decimal form, others by all their digits."""


def is_real_number(given: Any) -> bool:
    """Whether `given` is a real number of Python or NumPy; a truth value is none, and numbers of SymPy are expressions."""
    return isinstance(given, Real) and not isinstance(given, bool | sympy.Expr)


def exact_number(given: Any) -> sympy.Rational:
    """A real number, or a Float of SymPy, as a rational; a ValueError for one that is not finite.

    >>> exact_number(0.1), exact_number(sympy.Float(2.5))
    (1/10, 5/2)
    """
    if isinstance(given, sympy.Float):
        return sympy.Rational(repr(float(given)) if given._prec == _DOUBLE else str(given))
    if isinstance(given, Integral):
        return sympy.Integer(int(given))
    if isinstance(given, Rational):
        return sympy.Rational(int(given.numerator), int(given.denominator))
    number = float(given)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return sympy.Rational(repr(number))


def without_floats(expression: sympy.Expr) -> sympy.Expr:
    """An expression with every Float in it as a rational."""
    return expression.xreplace({v: exact_number(v) for v in expression.atoms(sympy.Float)})
