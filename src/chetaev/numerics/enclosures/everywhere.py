r"""Bounds of a graph over all states: whether a pivot can vanish anywhere.

The tape of the graph is run once in intervals, with everything that moves between minus and plus infinity. Sine and cosine stay between -1
and 1 and a square is not negative, which is enough for many mass matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isnan, sqrt

import casadi as ca
from sympy import Symbol

from chetaev.core.support.frozen import Frozen
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.remembered import Remembered
from chetaev.numerics.machine.tape import fold

Range = tuple[float, float]

_MOST = 3000
"""Most instructions of a graph that are run, in Python, in a few milliseconds. For a larger graph the answer is "may vanish"."""
_EVERYTHING: Range = (-inf, inf)

_KNOWN: Remembered[bool] = Remembered(256)


def may_vanish(flow: Flow, parameters: Mapping[Symbol, Range]) -> bool:
    """Whether a pivot of the system Jacobian may be zero at some state, with parameters between bounds; cached."""
    return _KNOWN.get(flow, Frozen(parameters), lambda: _may_vanish(flow, parameters))


def _may_vanish(flow: Flow, parameters: Mapping[Symbol, Range]) -> bool:
    pivots = [e for e in flow.solved.pivots if not e.is_constant()]
    if not pivots:
        return False
    graph = flow.graph
    symbols = sorted(graph.symbols_of(pivots), key=lambda z: z.name)
    function = graph.function("pivots", [graph.vector(symbols)], ca.vertcat(*pivots), cse=True)
    if function.n_instructions() > _MOST:
        return True
    return any(low <= 0 <= high for low, high in _run(function, [parameters.get(z, _EVERYTHING) for z in symbols]))


def _run(function: ca.Function, arguments: list[Range]) -> list[Range]:
    found = fold(function, lambda _, entry: arguments[entry], lambda number: (number, number), _applied)
    return [(0.0, 0.0) if one is None else one for one in found]


def _applied(operation: int, arguments: tuple[Range, ...]) -> Range:
    known: Callable[..., Range] | None = (_OF_ONE if len(arguments) == 1 else _OF_TWO).get(operation)
    return _EVERYTHING if known is None else _checked(known(*arguments))


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


_OF_ONE: dict[int, Callable[[Range], Range]] = {
    ca.OP_NEG: lambda a: (-a[1], -a[0]),
    ca.OP_SQ: _square,
    ca.OP_TWICE: lambda a: (2 * a[0], 2 * a[1]),
    ca.OP_INV: _inverse,
    ca.OP_SQRT: _root,
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
