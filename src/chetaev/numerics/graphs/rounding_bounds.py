r"""Bounds of the round-off of computed numbers ("doubts"): running error analysis on the instruction tape.

A slope of 1e-16 in a matrix may be a small slope, or the round-off of a zero: $x_2 - x_1$ for two positions that a symmetric motion
keeps equal. Its size cannot distinguish the two; its computation can. Along with every value the tape carries a bound of its error,

$$ e(f(a, b)) = |f_a|\, e(a) + |f_b|\, e(b) + \varepsilon |f(a, b)|, $$

to first order, beginning with the doubts of the arguments (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.3). A
value of at most a few times its doubt has no correct digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.notation.defined import ARGUMENT, slopes_of_functions
from chetaev.core.values import Tape
from chetaev.mechanics.ranks.factored import Matrix
from chetaev.numerics.machine.tape import Line, fold

EPSILON = float(np.finfo(float).eps)
"""The distance from 1 to the next double: one unit in the last place, relative to the number."""

Pair = tuple[float, float]
"""A value and its doubt."""


def values_and_doubts(
    function: ca.Function, arguments: Matrix, doubts: Matrix, lines: Iterable[Line] | None = None
) -> tuple[Matrix, Matrix]:
    """The values of a function of one column, and a bound of the error of each; infinite doubts where the bound has no value.

    `lines` are those of the function's tape, if the caller has them.
    """
    given = list(zip(map(float, arguments), map(float, doubts), strict=True))
    pairs = fold(function, lambda _, entry: given[entry], lambda number: (number, 0.0), _rounded, lines, _FREQUENT)
    found = np.array([(0.0, 0.0) if pair is None else pair for pair in pairs], dtype=float).reshape(-1, 2)
    return found[:, 0], np.where(np.isfinite(found[:, 1]), found[:, 1], np.inf)


def _rounded(code: int, arguments: tuple[Pair, ...]) -> Pair:
    """One instruction: its value, and the doubts of its arguments carried through it with one rounding more."""
    a, b = arguments[0], arguments[-1]
    try:
        if code in _EXACT:
            return _EXACT[code](a[0], b[0]), max(a[1], b[1])
        if code in _BINARY:
            value, slope_a, slope_b = _BINARY[code](a[0], b[0])
            return value, abs(slope_a) * a[1] + abs(slope_b) * b[1] + EPSILON * abs(value)
        if code in _STEEP_ENDS:
            return _beside_an_end(*_STEEP_ENDS[code], *a)
        value, slope = _UNARY[code](a[0])
        return value, abs(slope) * a[1] + EPSILON * abs(value)
    except (ValueError, ZeroDivisionError, OverflowError, KeyError):  # no value, or an unknown operation: no bound
        return math.nan, math.inf


def _beside_an_end(function: Callable[[float], float], low: float, high: float, a: float, doubt: float) -> Pair:
    """A function whose slope is infinite at the ends of its domain: its values at both ends of what the argument may be."""
    value = function(a)
    spread = max(abs(function(min(max(end, low), high)) - value) for end in (a - doubt, a + doubt))
    return value, spread + EPSILON * abs(value)


def _sum(a: Pair, b: Pair) -> Pair:
    value = a[0] + b[0]
    return value, a[1] + b[1] + EPSILON * abs(value)


def _difference(a: Pair, b: Pair) -> Pair:
    value = a[0] - b[0]
    return value, a[1] + b[1] + EPSILON * abs(value)


def _product(a: Pair, b: Pair) -> Pair:
    value = a[0] * b[0]
    return value, abs(b[0]) * a[1] + abs(a[0]) * b[1] + EPSILON * abs(value)


def _power(a: float, b: float) -> tuple[float, float, float]:
    value = math.pow(a, b)
    return value, b * math.pow(a, b - 1) if b else 0.0, value * math.log(a) if a > 0 else 0.0


def _angle(a: float, b: float) -> tuple[float, float, float]:
    square = a * a + b * b
    return math.atan2(a, b), b / square, a / square


def _sign(a: float) -> float:
    return float((a > 0) - (a < 0))


_FREQUENT: dict[int, Callable[[Pair, Pair], Pair]] = {ca.OP_ADD: _sum, ca.OP_SUB: _difference, ca.OP_MUL: _product}
"""Most instructions of a tape are these; each has the whole rule in one function."""
_EXACT: dict[int, Callable[[float, float], float]] = {
    ca.OP_FMIN: min,
    ca.OP_FMAX: max,
    ca.OP_NEG: lambda a, b: -a,
    ca.OP_FABS: lambda a, b: abs(a),
}
_BINARY: dict[int, Callable[[float, float], tuple[float, float, float]]] = {
    ca.OP_DIV: lambda a, b: (a / b, 1 / b, a / b / b),
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_ATAN2: _angle,
    ca.OP_LT: lambda a, b: (float(a < b), 0.0, 0.0),
    ca.OP_LE: lambda a, b: (float(a <= b), 0.0, 0.0),
    ca.OP_EQ: lambda a, b: (float(a == b), 0.0, 0.0),
    ca.OP_NE: lambda a, b: (float(a != b), 0.0, 0.0),
    ca.OP_AND: lambda a, b: (float(bool(a) and bool(b)), 0.0, 0.0),
    ca.OP_OR: lambda a, b: (float(bool(a) or bool(b)), 0.0, 0.0),
    ca.OP_IF_ELSE_ZERO: lambda a, b: (b if a else 0.0, 0.0, 1.0 if a else 0.0),
}
_STEEP_ENDS: dict[int, tuple[Callable[[float], float], float, float]] = {
    ca.OP_SQRT: (math.sqrt, 0.0, math.inf),
    ca.OP_ASIN: (math.asin, -1.0, 1.0),
    ca.OP_ACOS: (math.acos, -1.0, 1.0),
    ca.OP_ACOSH: (math.acosh, 1.0, math.inf),
}
"""Functions with the ends of their domains, where the first order of an error says nothing: asin(u) at u = -1."""
_UNARY: dict[int, Callable[[float], tuple[float, float]]] = {
    ca.OP_SQ: lambda a: (a * a, 2 * a),
    ca.OP_TWICE: lambda a: (2 * a, 2.0),
    ca.OP_INV: lambda a: (1 / a, 1 / a / a),
    ca.OP_EXP: lambda a: (math.exp(a), math.exp(a)),
    ca.OP_LOG: lambda a: (math.log(a), 1 / a),
    ca.OP_SIN: lambda a: (math.sin(a), math.cos(a)),
    ca.OP_COS: lambda a: (math.cos(a), math.sin(a)),
    ca.OP_TAN: lambda a: (math.tan(a), 1 / math.cos(a) ** 2),
    ca.OP_ATAN: lambda a: (math.atan(a), 1 / (1 + a * a)),
    ca.OP_SINH: lambda a: (math.sinh(a), math.cosh(a)),
    ca.OP_COSH: lambda a: (math.cosh(a), math.sinh(a)),
    ca.OP_TANH: lambda a: (math.tanh(a), 1 - math.tanh(a) ** 2),
    ca.OP_ASINH: lambda a: (math.asinh(a), 1 / math.sqrt(1 + a * a)),
    ca.OP_ATANH: lambda a: (math.atanh(a), 1 / (1 - a * a)),
    ca.OP_SIGN: lambda a: (_sign(a), 0.0),
    ca.OP_NOT: lambda a: (float(not a), 0.0),
}


def _with_slope(name: str, slope: Expr) -> Callable[[float], tuple[float, float]]:
    """The value and the slope of a function that the table of the notation describes by its slope."""
    value, tape = getattr(math, name), Tape([slope])
    return lambda a: (value(a), float(tape({ARGUMENT: a})[0]))


_UNARY |= {int(getattr(ca, f"OP_{name.upper()}")): _with_slope(name, slope) for name, slope in slopes_of_functions().items()}
