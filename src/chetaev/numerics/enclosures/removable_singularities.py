r"""Intervals of a function with removable singularities, over an interval of its argument that may contain some of these.

The line is cut into the discs around singular places, where the series of the function holds (`graphs.rewriting.removable`), and the gaps
between them, where its formula does. Over each piece that the interval meets the function is enclosed, and the hull of all is the result.
So a step over the singular place is bounded for any length, and an interval that contains a true pole is not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf, pi

import casadi as ca

from chetaev.numerics.enclosures import interval as iv
from chetaev.numerics.enclosures.interval import EVERYTHING, Interval, single
from chetaev.numerics.graphs.arithmetic import larger, minus, plus, times
from chetaev.numerics.graphs.rewriting.removable import Removable, Series

Pair = tuple[Interval, Interval]
"""Value and rate."""


def over(found: Removable, u: Interval, rate: Interval, formula: Callable[[Interval, Interval], Pair]) -> Pair:
    """Return value and rate of a function over an interval of its argument; `formula` returns both away from singular places."""
    discs = sorted(((float(series.centre), series) for series in found.series), key=lambda disc: disc[0])
    fits = ca.SX(1)
    if found.turns:
        period = 2 * pi / float(found.turns)
        discs = [*discs, *[(centre + period, series) for centre, series in discs]]
        first = discs[0][0] - _reach(discs[0][1])
        turns = ca.SX.unary(ca.OP_FLOOR, times(minus(u.low, ca.SX(first)), ca.SX(1 / period)))
        back = times(turns, ca.SX(-period))
        u = Interval(plus(u.low, back), plus(u.high, back))
        fits = iv.at_most(minus(u.high, u.low), ca.SX(period))
    found_pieces: list[tuple[ca.SX, Pair]] = []
    end = -inf
    for centre, series in discs:
        reach = _reach(series)
        found_pieces.append(_piece(u, end, centre - reach, lambda part: formula(part, rate)))
        found_pieces.append(_piece(u, centre - reach, centre + reach, _by_series(series, centre, rate)))
        end = centre + reach
    found_pieces.append(_piece(u, end, inf, lambda part: formula(part, rate)))
    value, slope = (reduce(iv.hull, [_if_met(met, pair[k]) for met, pair in found_pieces]) for k in (0, 1))
    return (value, slope) if not found.turns else (_where(fits, value), _where(fits, slope))


def _reach(series: Series) -> float:
    return float(series.radius * series.unit)


def _by_series(series: Series, centre: float, rate: Interval) -> Callable[[Interval], Pair]:
    """The function near a singular place, by its series."""
    unit = single(float(1 / series.unit))
    slopes = [k * c for k, c in enumerate(series.coefficients)][1:] or [0.0]

    def pair(part: Interval) -> Pair:
        h = iv.multiply(unit, iv.add(part, single(-centre)))
        return iv.polynomial(series.coefficients or [0.0], h), iv.multiply(iv.multiply(unit, rate), iv.polynomial(slopes, h))

    return pair


def _piece(u: Interval, low: float, high: float, function: Callable[[Interval], Pair]) -> tuple[ca.SX, Pair]:
    """Whether an interval meets a piece of the line, and the function over their intersection."""
    part = Interval(larger(u.low, ca.SX(low)), iv.smaller(u.high, ca.SX(high)))
    return iv.meets(u, low, high), function(part)


def _if_met(met: ca.SX, a: Interval) -> Interval:
    """An interval, unbounded where it has no value; empty if its piece is not met."""
    known = iv.at_most(a.low, a.high)
    low, high = iv.chosen(known, a.low, ca.SX(-inf)), iv.chosen(known, a.high, ca.SX(inf))
    return Interval(iv.chosen(met, low, ca.SX(inf)), iv.chosen(met, high, ca.SX(-inf)))


def _where(condition: ca.SX, a: Interval) -> Interval:
    """`a` where the condition holds, else the unbounded interval."""
    return Interval(iv.chosen(condition, a.low, EVERYTHING.low), iv.chosen(condition, a.high, EVERYTHING.high))
