"""Ranges of expressions over an interval of one real variable, bounded or not, with bounds for round-off.

The lines of a program are run with pairs of doubles, each rounded outwards. Arguments outside the domain of a function have no value; a
range is that of the values that exist. R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, SIAM 2009.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf, nextafter, pi

from chetaev.core.exact.program import Compound, Program
from chetaev.core.functions import SMOOTH

Range = tuple[float, float]

EVERYTHING: Range = (-inf, inf)
_UNITS_OF_WIDENING = 4
"""Units in the last place by which values of functions are widened: those of the C library err by about one."""
_LARGEST_ANGLE = 1e6
"""Arguments of sine, cosine and tangent beyond which any value is possible: whole turns are no longer subtracted exactly enough."""
_QUARTER = (nextafter(pi / 2, -inf), nextafter(pi / 2, inf))
"""A quarter turn, the arccosine of zero."""
_LARGEST_EXPONENT = 700.0
"""Arguments of exp beyond which its value is infinite or zero in doubles."""
_SMALLEST_DOUBLE = 5e-324
"""The smallest positive double: an upper bound of exponentials that underflow. Zero would be no bound."""
_PASSING_MARGIN = 1e-9
"""Margin, in radians or units of the argument, within which a range counts as containing an extreme value of a periodic function. It
exceeds the rounding error of arguments up to `_LARGEST_ANGLE`; with less, ranges would be too narrow."""


class NoValue(Exception):
    """Raised if a function has no value at any argument of the interval, or no rule here."""


@dataclass
class Ranges:
    """The ranges of the outputs of a program, and whether they are those of a continuous function."""

    found: list[Range]
    partial: bool = False
    """Whether some arguments lie outside the domain of a function, or at a pole."""
    jumps: bool = False
    """Whether a function may jump inside the interval."""


def ranges(program: Program, inputs: Sequence[Range]) -> Ranges:
    """Return the ranges of the outputs; `NoValue` where none exists, or where the program has an operation without known ranges."""
    run = _Run()
    held: dict[int, Range] = {}
    for operation, target, a, b in program.lines:
        if operation == "input":
            v = inputs[a]
        elif operation == "number":
            v = _fraction(a)
        elif operation == "constant":
            v = _constant(a)
        elif operation == "power":
            v = run.power(held[a], b)
        else:
            v = _OF_TWO[operation](run, held[a], held[b]) if operation in _OF_TWO else run.of_one(operation, held[a])
        if math.isnan(v[0]) or math.isnan(v[1]):
            v = EVERYTHING
        held[target] = v
    return Ranges([held[slot] for slot in program.outputs], run.partial, run.jumps)


def _down(v: float, units: int = 1) -> float:
    for _ in range(units):
        v = nextafter(v, -inf)
    return v


def _up(v: float, units: int = 1) -> float:
    for _ in range(units):
        v = nextafter(v, inf)
    return v


def _wide(low: float, high: float, units: int = _UNITS_OF_WIDENING) -> Range:
    return _down(low, units), _up(high, units)


def _fraction(number: Fraction) -> Range:
    v = float(number)
    return (v, v) if Fraction(v) == number else (_down(v), _up(v))


def _constant(name: str | Compound) -> Range:
    if name != "pi":
        raise NoValue(str(name))
    return _down(pi), _up(pi)


def _sum(a: float, b: float, away: Callable[[float], float]) -> float:
    """A sum, moved outwards unless it is exact."""
    s = a + b
    if math.isinf(s):
        return s
    bb = s - a
    return s if (a - (s - bb)) + (b - bb) == 0 else away(s)


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def add(a: Range, b: Range) -> Range:
    """All sums."""
    return _sum(a[0], b[0], _down), _sum(a[1], b[1], _up)


def negative(a: Range) -> Range:
    """All negatives."""
    return -a[1], -a[0]


def multiply(a: Range, b: Range) -> Range:
    """All products."""
    for x, y in ((a, b), (b, a)):
        if x[0] == x[1] and abs(x[0]) in (0.0, 1.0, 2.0, 0.5):
            first, second = _times(x[0], y[0]), _times(x[0], y[1])
            return min(first, second), max(first, second)
    products = [_times(x, y) for x in a for y in b]
    return _wide(min(products), max(products), 1)


def square(a: Range) -> Range:
    """All squares."""
    low, high = max(a[0], -a[1], 0.0), max(-a[0], a[1])
    return max(0.0, _down(low * low)) if low else 0.0, _up(high * high) if math.isfinite(high) else inf


class _Run:
    """One run of a program, which records arguments outside domains and jumps."""

    def __init__(self) -> None:
        self.partial = self.jumps = False

    def inside(self, a: Range, low: float, high: float) -> Range:
        """The part of a range that lies in a domain."""
        if a[1] < low or a[0] > high:
            raise NoValue("outside the domain")
        if a[0] < low or a[1] > high:
            self.partial = True
        return max(a[0], low), min(a[1], high)

    def inverse(self, a: Range) -> Range:
        if a == (0.0, 0.0):
            raise NoValue("division by zero")
        if a[0] < 0 < a[1]:
            self.partial = True
            return EVERYTHING
        if a[0] == 0 or a[1] == 0:
            self.partial = True
            return (_down(1 / a[1]), inf) if a[0] == 0 else (-inf, _up(1 / a[0]))
        return _wide(1 / a[1], 1 / a[0], 1)

    def power(self, a: Range, exponent: Fraction) -> Range:
        if exponent < 0:
            return self.inverse(self.power(a, -exponent))
        if exponent.denominator > 1:
            low, high = self.inside(a, 0.0, inf)
            e = float(exponent)
            return max(0.0, _down(_raised(low, e), _UNITS_OF_WIDENING)), _up(_raised(high, e), _UNITS_OF_WIDENING)
        n = int(exponent)
        if n == 0:
            return 1.0, 1.0
        if n % 2:
            return _wide(_raised(a[0], n), _raised(a[1], n))
        low, high = max(a[0], -a[1], 0.0), max(-a[0], a[1])
        return max(0.0, _down(_raised(low, n), _UNITS_OF_WIDENING)), _up(_raised(high, n), _UNITS_OF_WIDENING)

    def raised(self, a: Range, b: Range) -> Range:
        return self.exp(multiply(b, self.rising(self.inside(a, 0.0, inf), _log)))

    def exp(self, a: Range) -> Range:
        low, high = (0.0 if v < -_LARGEST_EXPONENT else inf if v > _LARGEST_EXPONENT else math.exp(v) for v in a)
        return max(0.0, _down(low, _UNITS_OF_WIDENING)), _up(high, _UNITS_OF_WIDENING) if high else _SMALLEST_DOUBLE if a[1] > -inf else 0.0

    def rising(self, a: Range, function: Callable[[float], float]) -> Range:
        return _wide(function(a[0]), function(a[1]))

    def sine(self, a: Range, ahead: float = 0.0) -> Range:
        if max(-a[0], a[1]) > _LARGEST_ANGLE:
            return -1.0, 1.0
        ends = sorted(math.sin(v + ahead) if not ahead else math.cos(v) for v in a)
        # a margin keeps extrema that lie on a bound inside
        high = 1.0 if _passes(a, pi / 2 - ahead, 2 * pi) else min(1.0, _up(ends[1], _UNITS_OF_WIDENING))
        low = -1.0 if _passes(a, -pi / 2 - ahead, 2 * pi) else max(-1.0, _down(ends[0], _UNITS_OF_WIDENING))
        return low, high

    def tangent(self, a: Range) -> Range:
        if max(-a[0], a[1]) > _LARGEST_ANGLE or _passes(a, pi / 2, pi):
            self.partial = True
            return EVERYTHING
        return self.rising(a, math.tan)

    def sign(self, a: Range) -> Range:
        self.jumps = self.jumps or a[0] <= 0 <= a[1]
        return float((a[0] > 0) - (a[0] < 0)), float((a[1] > 0) - (a[1] < 0))

    def step(self, a: Range) -> Range:
        low, high = self.sign(a)
        return 0.5 + 0.5 * low, 0.5 + 0.5 * high

    def of_one(self, operation: str, a: Range) -> Range:
        if operation not in _OF_ONE:
            raise NoValue(operation)
        return _OF_ONE[operation](self, a)

    def less(self, a: Range, b: Range) -> Range:
        if a[1] < b[0]:
            return 1.0, 1.0
        if b[1] < a[0]:
            return 0.0, 0.0
        self.jumps = True
        return 0.0, 1.0

    def equal(self, a: Range, b: Range) -> Range:
        if a[1] < b[0] or b[1] < a[0]:
            return 0.0, 0.0
        self.jumps = True
        return 0.0, 1.0

    def cosh(self, a: Range) -> Range:
        low, high = max(a[0], -a[1], 0.0), max(-a[0], a[1])
        return max(1.0, _down(_huge(math.cosh, low), _UNITS_OF_WIDENING)), _up(_huge(math.cosh, high), _UNITS_OF_WIDENING)


def _huge(function: Callable[[float], float], v: float) -> float:
    return math.copysign(inf, v) if abs(v) > _LARGEST_EXPONENT else function(v)


def _overflowing(function: Callable[[float], float], v: float) -> float:
    try:
        return function(v)
    except OverflowError:
        return math.copysign(inf, v)


def _raised(v: float, exponent: float) -> float:
    try:
        return float(v**exponent)
    except OverflowError:
        return -inf if v < 0 else inf


def _log(v: float) -> float:
    return -inf if v == 0 else inf if v == inf else math.log(v)


def _atanh(v: float) -> float:
    return math.copysign(inf, v) if abs(v) == 1 else math.atanh(v)


def _passes(a: Range, place: float, period: float) -> bool:
    """Whether a range contains, or almost contains, `place` plus whole periods."""
    above, below = a[1] + _PASSING_MARGIN - place, a[0] - _PASSING_MARGIN - place
    return math.floor(above / period) > math.floor(below / period)


_OF_TWO: dict[str, Callable[[_Run, Range, Range], Range]] = {
    "add": lambda _, a, b: add(a, b),
    "sub": lambda _, a, b: add(a, negative(b)),
    "mul": lambda _, a, b: multiply(a, b),
    "div": lambda run, a, b: multiply(a, run.inverse(b)),
    "pow": lambda run, a, b: run.raised(a, b),
    "less": lambda run, a, b: run.less(a, b),
    "equal": lambda run, a, b: run.equal(a, b),
    "where": lambda _, a, b: b if a == (1.0, 1.0) else (0.0, 0.0) if a == (0.0, 0.0) else (min(b[0], 0.0), max(b[1], 0.0)),
    "min": lambda _, a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda _, a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
"""The ranges of operations with two arguments, from those of the arguments."""
_OF_ONE: dict[str, Callable[[_Run, Range], Range]] = {
    "neg": lambda _, a: negative(a),
    "sq": lambda _, a: square(a),
    "twice": lambda _, a: multiply(a, (2.0, 2.0)),
    "inv": lambda run, a: run.inverse(a),
    "assign": lambda _, a: a,
    "not": lambda _, a: (1 - a[1], 1 - a[0]),
    "sign": lambda run, a: run.sign(a),
    "step": lambda run, a: run.step(a),
    "abs": lambda _, a: (max(a[0], -a[1], 0.0), max(-a[0], a[1])),
    "sqrt": lambda run, a: run.power(a, Fraction(1, 2)),
    "sin": lambda run, a: run.sine(a),
    "cos": lambda run, a: run.sine(a, pi / 2),
    "tan": lambda run, a: run.tangent(a),
    "asin": lambda run, a: run.rising(run.inside(a, -1.0, 1.0), math.asin),
    "acos": lambda run, a: add(_QUARTER, negative(run.rising(run.inside(a, -1.0, 1.0), math.asin))),
    "atan": lambda run, a: run.rising(a, math.atan),
    "sinh": lambda run, a: run.rising(a, lambda v: _huge(math.sinh, v)),
    "cosh": lambda run, a: run.cosh(a),
    "tanh": lambda run, a: run.rising(a, math.tanh),
    "asinh": lambda run, a: run.rising(a, math.asinh),
    "acosh": lambda run, a: run.rising(run.inside(a, 1.0, inf), math.acosh),
    "atanh": lambda run, a: run.rising(run.inside(a, -1.0, 1.0), _atanh),
    "exp": lambda run, a: run.exp(a),
    "log": lambda run, a: run.rising(run.inside(a, 0.0, inf), _log),
    **{
        name: partial(_Run.rising, function=partial(_overflowing, getattr(math, name)))
        for name, function in SMOOTH.items()
        if function.slope
    },
}
"""The ranges of operations with one argument."""
OPERATIONS_OF_TWO = frozenset(_OF_TWO)
"""Operations with two arguments."""
