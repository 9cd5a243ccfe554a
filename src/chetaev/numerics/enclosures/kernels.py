r"""Machine code of enclosures. A kernel reads a *tube* in place of a state: bounds of the state, bounds of its rates, and of the time.

| entries of the tube | |
|---|---|
| $0 \dots n - 1$ | lower bounds of the state |
| $n \dots 2n - 1$ | upper bounds |
| $2n \dots 3n - 1$ | lower bounds of its rates |
| $3n \dots 4n - 1$ | upper bounds |
| $4n$, $4n + 1$ | bounds of the time |

p is the parameter vector of all kernels; inputs are written out as functions of time, and their entries of p are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce

import casadi as ca
from sympy import Expr, Mul, Rational, Symbol

from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Parameter
from chetaev.numerics.enclosures.expression import Enclosing, NotEnclosed
from chetaev.numerics.enclosures.interval import (
    EVERYTHING,
    HUGE,
    LARGEST,
    ONE,
    Interval,
    add,
    capped,
    chosen,
    fractional_power,
    largest,
    least,
    magnitude,
    minimum,
    multiply,
    single,
)
from chetaev.numerics.enclosures.nodes import (
    angles_of,
    bends,
    factors_of,
    has_narrow_features,
    nested,
    nodes_of,
    products_of,
    removed_poles_of,
    sums_of,
)
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.arithmetic import larger, minus, over, times
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel


@dataclass(frozen=True)
class Nodes:
    """The nodes of a system: code that computes, over a tube, the largest absolute values of all nodes, then the smallest."""

    kernel: Kernel | None
    enclosed: tuple[Expr, ...]
    left_out: tuple[Expr, ...]
    """Nodes that contain unknowns outside the state, such as multipliers."""


_CANCELLED = 0.01
"""Size of a sum of sines, relative to its terms, below which it counts as small at the points that a step evaluates. A sum without
cancellation is 100 times larger, which is more than `BEYOND_SEEN`."""
_SMALL_NUMBER = Rational(1, 10**20)
"""Numbers below this must not multiply capped functions: times the cap of 1e150 the result would not be clearly large."""
_MODERATE = 10**20
"""Constant factors between the inverse of this and this do not matter: a value is compared with other values of the same expression, and
`HUGE` and `NOTHING` are far from all of these."""
_NODES: Remembered[Nodes] = Remembered(64)
_TURNS: Remembered[Kernel | None] = Remembered(64)
_BOUNDS: Remembered[tuple[Kernel | None, tuple[bool, ...]]] = Remembered(128)


def nodes_kernel(flow: Flow, inputs: Mapping[str, Expr]) -> Nodes:
    """The nodes of the equations that a flow belongs to; cached."""
    return _NODES.get(flow, inputs if isinstance(inputs, Frozen) else Frozen(inputs), lambda: _nodes_kernel(flow, inputs))


def _nodes_kernel(flow: Flow, inputs: Mapping[str, Expr]) -> Nodes:
    equations, driving = flow.system.equations, {z.base: inputs[z.base] for z in flow.inputs if z.base in inputs}
    found, products, removed = nodes_of(equations, driving), products_of(equations, driving), removed_poles_of(equations, driving)
    sums = sums_of(equations, driving)
    if not (found or products or sums or any(removed.values())):
        return Nodes(None, (), ())
    tube = _Tube(flow, inputs, capping=not any(map(_has_small_number, (*found, *products))))
    bounds: list[Interval] = []
    enclosed, left_out = [], []
    factors = factors_of(found, equations, driving)
    for node in found:
        try:
            bounds += _monitored(tube, node, factors.get(node, ()))
            enclosed.append(node)
        except NotEnclosed:
            left_out.append(node)
    for product, constants in products.items():
        with suppress(NotEnclosed):  # one of its factors is then in `left_out`
            bounds += tube.scaled(product, constants)
    for terms in sums:
        with suppress(NotEnclosed):
            bounds.append(_sum_beside_its_terms(tube.enclosing, terms))
    for pole, slopes in removed.items():
        with suppress(NotEnclosed):
            bounds += [_beside_removed_pole(tube.enclosing, pole, slopes)] if slopes else []
    kernel = tube.kernel([*map(largest, bounds), *map(least, bounds)], "nodes") if bounds else None
    return Nodes(kernel, tuple(enclosed), tuple(left_out))


def _has_small_number(node: Expr) -> bool:
    """Tell whether a number in a node is small enough to make its product with a capped function small: 1e-120*exp(x) at x = 300."""
    return any(0 < abs(number) < _SMALL_NUMBER for number in node.atoms(Rational))


def _without_moderate(number: Expr) -> Expr:
    """The factor of a constant `number` that remains after a moderate one is taken out."""
    large, size = Rational(_MODERATE), abs(number)
    return number / large if size > large else number * large if 0 < size < 1 / large else Rational(1)


def _beyond_moderate(size: ca.SX) -> ca.SX:
    """As `_without_moderate`, for the size of a constant that is known when the code runs."""
    large, one = ca.SX(float(_MODERATE)), ca.SX(1)
    above, below = times(size, over(one, large)), times(size, large)
    return chosen(ca.SX.binary(ca.OP_LT, one, above), above, chosen(ca.SX.binary(ca.OP_LT, below, one), below, one))


def _monitored(tube: _Tube, node: Expr, constants: Sequence[Expr]) -> list[Interval]:
    """Return the intervals that show a narrow feature of a node: its value times `constants`, if there are some, or its slope; and its
    slope by the innermost arguments.
    """
    enclosing = tube.enclosing
    found = tube.scaled(node, constants) if constants else [enclosing.slope(node)]
    if bends(node):  # if the parameter is zero or negative, it has a kink or an end of its domain, which both sides show
        positive = ca.SX.binary(ca.OP_LT, ca.SX(0), enclosing.value(node.base).low)
        found = [Interval(chosen(positive, a.low, ca.SX(0)), chosen(positive, a.high, ca.SX(0))) for a in found]
    slope = enclosing.inner_slope(node, has_narrow_features) if nested(node) else None
    return found if slope is None else [*found, slope]


def _sum_beside_its_terms(enclosing: Enclosing, terms: Sequence[Expr]) -> Interval:
    """Return the interval of |sum| plus `_CANCELLED` times the sum of |term|, so that a smaller sum does not count as small."""
    values = [enclosing.value(term) for term in terms]
    return add(magnitude(reduce(add, values)), multiply(single(_CANCELLED), reduce(add, map(magnitude, values))))


def _beside_removed_pole(enclosing: Enclosing, pole: Expr, slopes: Sequence[Expr]) -> Interval:
    """Return the interval of the inverse of the base of a quotient, limited by the slopes by which the data change."""
    inverse = fractional_power(magnitude(enclosing.value(pole.base)), -1.0)
    return minimum(inverse, reduce(add, [magnitude(enclosing.value(slope)) for slope in slopes]))


def bounds_kernel(flow: Flow, functions: Sequence[Expr], inputs: Mapping[str, Expr]) -> tuple[Kernel | None, tuple[bool, ...]]:
    """Return code for bounds of functions and of their rates over a tube, four numbers each, and which functions have bounds.

    Functions without bounds contain unknowns outside the state. Where a function has no value its bounds are NaN.
    """
    key = (tuple(functions), Frozen(inputs))
    return _BOUNDS.get(flow, key, lambda: _bounds_kernel(flow, functions, inputs))


def _bounds_kernel(flow: Flow, functions: Sequence[Expr], inputs: Mapping[str, Expr]) -> tuple[Kernel | None, tuple[bool, ...]]:
    tube = _Tube(flow, inputs)
    outputs: list[ca.SX] = []
    known = []
    for e in functions:
        try:
            value, rate = tube.enclosing.within_domain(e)
        except NotEnclosed:
            value = rate = EVERYTHING
        known.append(value is not EVERYTHING)
        outputs += [value.low, value.high, rate.low, rate.high]
    return (tube.kernel(outputs, "bounds") if any(known) else None), tuple(known)


def turns_kernel(flow: Flow, inputs: Mapping[str, Expr]) -> Kernel | None:
    """Return code for the largest width over a tube of the arguments of sine and cosine in the data; None without any. Cached."""
    return _TURNS.get(flow, Frozen(inputs), lambda: _turns_kernel(flow, inputs))


def _turns_kernel(flow: Flow, inputs: Mapping[str, Expr]) -> Kernel | None:
    tube, widest = _Tube(flow, inputs), ca.SX(0)
    for angle in angles_of(flow.system.equations, inputs):
        try:
            bounds = tube.enclosing.value(angle)
        except NotEnclosed:
            continue
        widest = larger(widest, minus(bounds.high, bounds.low))
    return None if widest.is_constant() else tube.kernel([widest], "turns")


class _Tube:
    """The symbols of a tube, and intervals over it."""

    def __init__(self, flow: Flow, inputs: Mapping[str, Expr], capping: bool = False) -> None:
        self.flow, n = flow, flow.size
        self.tube = ca.SX.sym("tube", 4 * n + 2)
        entries = ca.vertsplit(self.tube)
        values = [Interval(entries[k], entries[n + k]) for k in range(n)]
        rates = [Interval(entries[2 * n + k], entries[3 * n + k]) for k in range(n)]
        leaves: dict[Symbol, tuple[Interval, Interval]] = {TIME: (Interval(entries[-2], entries[-1]), ONE)}
        for z, rate in zip(flow.state, rates, strict=False):
            leaves[z.d()] = (rate, EVERYTHING)
        for z, value, rate in zip(flow.state, values, rates, strict=False):
            leaves[z] = (value, rate)
        self.enclosing = Enclosing(leaves, self._parameter, inputs, HUGE if capping else None)
        self.values = Enclosing(leaves, self._parameter, inputs, LARGEST)
        """Intervals for products with small factors: functions are capped at the end of the range of doubles, not before they are
        multiplied."""

    def scaled(self, e: Expr, constants: Sequence[Expr]) -> list[Interval]:
        """Return the intervals of an expression times constants, each once; moderate constants are left out."""
        found: dict[tuple[Expr, Expr], Interval] = {}
        for constant in constants:
            number, rest = constant.as_coeff_Mul()
            key = _without_moderate(number), rest
            if key not in found:
                size = magnitude(self.values.value(rest))
                own = self.values.value(Mul(key[0], e))
                found[key] = capped(own if rest.is_number else multiply(single(_beyond_moderate(size.low)), own))
        return list(found.values())

    def _parameter(self, z: Symbol) -> ca.SX:
        if isinstance(z, Parameter):
            return self.flow.graph.leaf(z)
        raise NotEnclosed(z.name)

    def kernel(self, outputs: Sequence[ca.SX], name: str) -> Kernel:
        """Code of (time, which is not read; tube; p)."""
        graph = self.flow.graph
        function = graph.function(name, [graph.leaf(TIME), self.tube, self.flow.p], ca.vertcat(*outputs), cse=True)
        return compile_kernel(function)
