"""Arithmetic of CasADi's expressions: single operations, and powers, sums and polynomials made of them.

The operators of CasADi's Python wrapper try to read their arguments as numbers first, which takes seven times as long as the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
from sympy import Expr


def plus(a: ca.SX, b: ca.SX) -> ca.SX:
    """The sum of two expressions."""
    return ca.SX.binary(ca.OP_ADD, a, b)


def minus(a: ca.SX, b: ca.SX) -> ca.SX:
    """The difference of two expressions."""
    return ca.SX.binary(ca.OP_SUB, a, b)


def times(a: ca.SX, b: ca.SX) -> ca.SX:
    """The product of two expressions."""
    return ca.SX.binary(ca.OP_MUL, a, b)


def over(a: ca.SX, b: ca.SX) -> ca.SX:
    """The quotient of two expressions."""
    return ca.SX.binary(ca.OP_DIV, a, b)


def dense(a: Any) -> Any:
    """Return the expression without structural zeros. Testing first is ten times faster than CasADi's own conversion of a dense one."""
    return a if a.is_dense() else ca.densify(a)


def larger(a: ca.SX, b: ca.SX) -> ca.SX:
    """The larger of two expressions."""
    return ca.SX.binary(ca.OP_FMAX, a, b)


def size(a: ca.SX) -> ca.SX:
    """The absolute value of an expression."""
    return ca.SX.unary(ca.OP_FABS, a)


NOTHING = ca.SX(0)
"""The one object for zero in gradients and matrices, which `is_nothing` recognises at once."""


def is_nothing(a: ca.SX) -> bool:
    """Tell whether an expression is the number zero. A matrix of a chain of bodies consists of zeros but for a few entries of a row."""
    return a is NOTHING or bool(a.is_zero())


def root(a: ca.SX) -> ca.SX:
    """The square root of an expression."""
    return ca.SX.unary(ca.OP_SQRT, a)


def step(u: ca.SX) -> ca.SX:
    """0 for u < 0, 1 for u > 0, 1/2 at 0."""
    return times(plus(ca.SX.unary(ca.OP_SIGN, u), ca.SX(1)), ca.SX(0.5))


def piecewise(u: ca.SX, a: ca.SX, b: ca.SX) -> ca.SX:
    """The value a where u < 0, else b; the expression that is not chosen need not have a value."""
    below = ca.SX.binary(ca.OP_LT, u, ca.SX(0))
    left = ca.SX.binary(ca.OP_IF_ELSE_ZERO, below, a)
    return plus(left, ca.SX.binary(ca.OP_IF_ELSE_ZERO, ca.SX.unary(ca.OP_NOT, below), b))


def balanced(parts: list[ca.SX], combine: Callable[[ca.SX, ca.SX], ca.SX]) -> ca.SX:
    """A sum or product as a balanced tree: shallow graphs differentiate and evaluate with less round-off."""
    while len(parts) > 1:
        parts = [combine(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def polynomial(coefficients: Sequence[float], h: ca.SX) -> ca.SX:
    """A polynomial by Horner's rule."""
    found = ca.SX(0)
    for c in reversed(coefficients):
        found = plus(times(found, h), ca.SX(c)) if c else times(found, h)
    return found


def raised(base: ca.SX, exponent: Expr, converted: ca.SX) -> ca.SX:
    """Integer powers as products, half-integers through a root: both stay differentiable at zero."""
    if exponent.is_Integer:
        size = integer_power(base, abs(int(exponent)))
        return over(ca.SX(1), size) if exponent.p < 0 else size
    if exponent.is_Rational and exponent.q == 2:
        power = integer_power(root(base), abs(exponent.p))
        return over(ca.SX(1), power) if exponent.p < 0 else power
    return ca.SX.binary(ca.OP_POW, base, ca.SX(float(exponent)) if exponent.is_Rational else converted)


def integer_power(base: ca.SX, exponent: int) -> ca.SX:
    """A power with an exponent that is a natural number, by repeated squares."""
    result, square = ca.SX(1), base
    while exponent:
        if exponent & 1:
            result = times(result, square)
        exponent >>= 1
        square = times(square, square) if exponent else square
    return result
