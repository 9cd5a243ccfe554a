r"""Bounds of a graph over all states: whether a pivot can vanish anywhere.

The tape of the graph is run once in intervals, with all moving symbols between minus and plus infinity. Sine and cosine stay between -1 and
1 and a square is not negative, which is enough for many mass matrices. A product of two multiples of the same number is a multiple of its
square: $(y/m) y + 1/M$ is positive. Where these bounds do not suffice, a mass matrix that is positive definite does (`positive_inertia`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, inf, isnan, sqrt
from typing import NamedTuple

import casadi as ca
from sympy import Symbol

from chetaev.core.symbols import TIME
from chetaev.numerics.enclosures.positive_inertia import positive_pivots
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.tape import Line, fold, lines_of, tape_of

Range = tuple[float, float]

_MOST_INSTRUCTIONS = 3000
"""Most instructions of a graph that are run in Python, within a few milliseconds. For a larger graph the answer is "may vanish"."""
_EVERYTHING: Range = (-inf, inf)
_LARGEST_EXPONENT = 709.0
"""The largest exponent whose exponential is a double."""

_KNOWN: Remembered[bool] = Remembered(256)
_Pivots = tuple[list[Symbol], ca.Function, list[Line] | None]
"""Pivots as a function of the symbols in them, with its tape unless that is too long."""
_PIVOTS: Remembered[_Pivots | None] = Remembered(64)


def may_vanish(flow: Flow, parameters: Mapping[Symbol, Range], interval: Range = _EVERYTHING) -> bool:
    """Whether a pivot of the system Jacobian may be zero at some state, with parameters and time between bounds; cached."""
    if flow.extended is None and not _may_be_zero(flow, parameters, interval, frozenset()):  # with intermediate results bounds show nothing
        return False
    shown = positive_pivots(flow, parameters)
    return not (shown or flow.extended) or _may_be_zero(flow, parameters, interval, shown)


def _may_be_zero(flow: Flow, parameters: Mapping[Symbol, Range], interval: Range, shown: frozenset[int]) -> bool:
    """Whether one of the pivots that are not `shown` to be different from zero may vanish, by its bounds."""
    found = _PIVOTS.get(flow, (shown,), lambda: _pivots(flow, shown))
    if found is None:
        return False
    symbols, function, lines = found
    if lines is None:
        return True
    known = {**parameters, TIME: (min(interval), max(interval))}
    ranges = tuple(known.get(z, _EVERYTHING) for z in symbols)
    fixed = tuple(z in parameters and z != TIME for z in symbols)
    return _KNOWN.get(flow, (ranges, fixed, shown), lambda: _any_zero(function, lines, ranges, fixed))


def _any_zero(function: ca.Function, lines: list[Line], ranges: Sequence[Range], fixed: Sequence[bool]) -> bool:
    leaves = [_fixed(each) if known else _moving(each) for each, known in zip(ranges, fixed, strict=True)]
    return any(low <= 0 <= high for low, high in _run(function, lines, leaves))


def _pivots(flow: Flow, shown: frozenset[int]) -> _Pivots | None:
    """The pivots but those in some places; None if all are numbers."""
    pivots = [e for k, e in enumerate(flow.solved.pivots) if k not in shown and not e.is_constant()]
    if not pivots:
        return None
    symbols = sorted(flow.graph.symbols_of(pivots), key=lambda z: z.name)
    function = flow.graph.function("pivots", [flow.graph.vector(symbols)], ca.vertcat(*pivots), cse=True)
    return symbols, function, list(lines_of(tape_of(function))) if function.n_instructions() <= _MOST_INSTRUCTIONS else None


class _Value(NamedTuple):
    """A number as a multiple of another: the bounds of both."""

    factor: Range
    root: object
    """The identity of the number of which this one is a multiple; None for constants."""
    of: Range
    """The bounds of that number."""

    @property
    def bounds(self) -> Range:
        """The bounds of the number itself."""
        return _checked(_product(self.factor, self.of))


_ONE: Range = (1.0, 1.0)
"""The factor of a number that is a multiple of itself only."""


def _fixed(bounds: Range) -> _Value:
    return _Value(bounds, None, _ONE)


def _moving(bounds: Range) -> _Value:
    return _Value(_ONE, object(), bounds)


def _scaled(a: _Value, factor: Range) -> _Value:
    return _Value(_checked(_product(a.factor, factor)), a.root, a.of)


def _run(function: ca.Function, lines: list[Line], arguments: list[_Value]) -> list[Range]:
    found = fold(function, lambda _, entry: arguments[entry], lambda number: _fixed((number, number)), _applied, lines)
    return [(0.0, 0.0) if one is None else one.bounds for one in found]


def _applied(operation: int, arguments: tuple[_Value, ...]) -> _Value:
    a, b = arguments[0], arguments[-1]
    if operation in _MULTIPLES:
        return _scaled(a, _MULTIPLES[operation])
    if operation == ca.OP_MUL and (a.root is None or b.root is None):
        return _scaled(b, a.bounds) if a.root is None else _scaled(a, b.bounds)
    if operation == ca.OP_MUL and a.root is b.root:
        return _Value(_checked(_product(a.factor, b.factor)), object(), _square(a.of))
    if operation == ca.OP_DIV and b.root is None:
        return _scaled(a, _inverse(b.bounds))
    known: Callable[..., Range] | None = (_OF_ONE if len(arguments) == 1 else _OF_TWO).get(operation)
    found = _EVERYTHING if known is None else _checked(known(*[one.bounds for one in arguments]))
    return _fixed(found) if all(one.root is None for one in arguments) else _moving(found)


def _checked(a: Range) -> Range:
    return _EVERYTHING if isnan(a[0]) or isnan(a[1]) else a


def _product(a: Range, b: Range) -> Range:
    products = [0.0 if x == 0 or y == 0 else x * y for x in a for y in b]
    return min(products), max(products)


def _inverse(a: Range) -> Range:
    return _EVERYTHING if a[0] <= 0 <= a[1] else (1 / a[1], 1 / a[0])


def _square(a: Range) -> Range:
    low = max(a[0], -a[1], 0.0)
    high = max(-a[0], a[1])
    return low * low, high * high


def _root(a: Range) -> Range:
    return sqrt(max(a[0], 0.0)), sqrt(max(a[1], 0.0))


def _exponential(a: Range) -> Range:
    low, high = (exp(x) if x < _LARGEST_EXPONENT else inf for x in a)
    return low, high


_MULTIPLES: dict[int, Range] = {ca.OP_NEG: (-1.0, -1.0), ca.OP_TWICE: (2.0, 2.0)}
_OF_ONE: dict[int, Callable[[Range], Range]] = {
    ca.OP_SQ: _square,
    ca.OP_INV: _inverse,
    ca.OP_SQRT: _root,
    ca.OP_EXP: _exponential,
    ca.OP_SIN: lambda _: (-1.0, 1.0),
    ca.OP_COS: lambda _: (-1.0, 1.0),
    ca.OP_TANH: lambda _: (-1.0, 1.0),
    ca.OP_FABS: lambda a: (max(a[0], -a[1], 0.0), max(-a[0], a[1])),
}
_OF_TWO: dict[int, Callable[[Range, Range], Range]] = {
    ca.OP_ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ca.OP_SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    ca.OP_MUL: _product,
    ca.OP_DIV: lambda a, b: _product(a, _inverse(b)),
}
