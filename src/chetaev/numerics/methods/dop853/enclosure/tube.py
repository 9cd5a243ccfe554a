r"""Between the points that a step evaluates: bounds of the nodes of a system over the tube of an accepted trial step.

A *node* is a function, quotient or power in the user's data (`chetaev.numerics.enclosures`). The *seen value* of a node is the second
largest of its absolute values at the points where the step evaluated the rates: both ends and the stages. The step *leaps* over a feature
if a node may exceed `MOST_BEYOND_SEEN` times its seen value somewhere in the tube of the step. Three tests decide this, each more expensive
than the one before:

1. over one box around the whole step, from the rates at the stages: if no node exceeds 30 times its smallest value in the box, the step
   does not leap, and no node has to be evaluated at single points;
2. with the values of the nodes at both ends;
3. over boxes around parts of the interpolant, halved where that is necessary, with the values of the nodes at the stages too.

The interpolant evaluates the rates at three more points. If a node exceeds its seen value at one of them, the interpolant is not used, and
the cubic polynomial through both ends of the step takes its place: a barrier at one of the three points bends the interpolant, so that the
other points would seem to lie on the barrier too.

A step that leaps over a feature is tried again with a length at which it ends where the feature begins: where the node is a small part
(`_EDGE`) of its bound over the step, or `_LEAP` times its seen value. The end of that step evaluates the feature, and error control does
the rest.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import BLOCK, add_rows, call_kernel, inner, part, rare, reach_columns
from chetaev.numerics.methods.dop853 import tableau as c
from chetaev.numerics.methods.dop853.codes import (
    BOUND_OVER_STEP,
    EDGE,
    FINEST_PART,
    FIRST_PART,
    LARGEST_VALUE,
    LEAPED_NODE,
    LONGEST_PART,
    LOWER_BOUND,
    MOST_BEYOND_SEEN,
    NOTHING,
    SEEN_VALUE,
    SLACK,
    UPPER_BOUND,
    WORST,
)
from chetaev.numerics.methods.dop853.dense import interpolant, rate, state
from chetaev.numerics.methods.dop853.types import Array, Integers, System, Tube, Work

STAGES = 12
"""Rows of `k` that hold the rates at the stages of a step."""
_EDGE = 1e-12
"""Part of the largest value of a node in a step at which a feature begins and a shortened step ends; smaller parts do not matter."""
_LEAP = 1e3
"""A shortened step may end where a node is this multiple of its seen value."""
_HERMITE = 3
"""Rows of the interpolant that both ends of a step determine. The others need further evaluations of the rates, between the stages."""


# ------------------------------------------------------------ boxes


@inner
def components(tube: Tube) -> int:
    """The number of components of the state that a box encloses; slopes, which are integrated together with a state, are in no box."""
    return (tube.box.size - 2) // 4


def _around(t: float, h: float, y: Array, work: Work, tube: Tube) -> None:
    """The box around a whole step: the states reached from either end with the rates at the stages. Only the columns that the nodes read,
    and their neighbours in a block, are computed.
    """
    box, rows, n, block = tube.box, tube.rows, components(tube), -1
    pointers = (rows.ctypes, y.ctypes, work.end.ctypes, work.free.ctypes, work.slope.ctypes, work.k.ctypes)
    for which in range(tube.columns.size):
        j = tube.columns[which]
        if j // BLOCK != block:
            block = j // BLOCK
            reach_columns(*pointers, h, SLACK, work.k.shape[1], STAGES, block * BLOCK)
        for i in range(4):
            box[i * n + j] = rows[i, j]
    box[4 * n], box[4 * n + 1] = min(t, t + h), max(t, t + h)


around = part(_around)
around_in_line = inner(_around)
"""The same function, inlined for the loop that calls it in every step."""


@part
def between(t: float, h: float, y: Array, left: float, right: float, work: Work, tube: Tube) -> None:
    """The box around a part of the interpolant, into `tube.box`, with the bounds of its rates."""
    box, rows, n = tube.box, tube.rows, components(tube)
    middle = 0.5 * (left + right)
    state(y, work.dense, left, rows[0])
    state(y, work.dense, middle, rows[1])
    state(y, work.dense, right, rows[2])
    rate(work.dense, left, h, rows[3])
    rate(work.dense, middle, h, rows[4])
    rate(work.dense, right, h, rows[5])
    for j in range(n):
        low, high = range_of(rows[3, j], rows[4, j], rows[5, j])
        box[2 * n + j], box[3 * n + j] = low, high
        if low >= 0.0 or high <= 0.0:  # it does not turn back
            box[j], box[n + j] = min(rows[0, j], rows[2, j]), max(rows[0, j], rows[2, j])
        else:
            box[j], box[n + j] = range_of(rows[0, j], rows[1, j], rows[2, j])
    a, b = t + left * h, t + right * h
    box[4 * n], box[4 * n + 1] = min(a, b), max(a, b)


@part
def range_of(a: float, b: float, c: float) -> tuple[float, float]:
    """The range of a parabola through three values at equal distances, and a little more."""
    low, high = min(a, min(b, c)), max(a, max(b, c))
    half, bend = 0.5 * (c - a), a - 2.0 * b + c
    if abs(half) < abs(bend):
        extreme = b - 0.5 * half * half / bend
        low, high = min(low, extreme), max(high, extreme)
    slack = SLACK * (high - low)
    return low - slack, high + slack


# ------------------------------------------------------------ nodes


@inner
def may_leap(system: System, tube: Tube) -> bool:
    """Whether the box around the step leaves open that the step leaps over a feature of a node, so that further tests are needed."""
    call_kernel(tube.nodes, 0.0, tube.box.ctypes, system.p.ctypes, tube.values.ctypes)
    values, worst = tube.values, tube.notes[WORST]
    for i in range(values.shape[1]):
        most, least = values[UPPER_BOUND, i], max(values[LOWER_BOUND, i], NOTHING)
        if not most <= worst * least:
            if not most <= MOST_BEYOND_SEEN * least:
                return True
            worst = most / least
    tube.notes[WORST] = worst
    return False


@rare
def safe_part(system: System, t: float, h: float, y: Array, work: Work, tube: Tube, counts: Integers) -> float:
    """The part of a step that leaps over nothing; 1 = the whole. The bounds of the nodes over the box around the step are known."""
    values, ratio = tube.values, 1.0
    for i in range(values.shape[1]):
        values[BOUND_OVER_STEP, i] = values[UPPER_BOUND, i]
        values[SEEN_VALUE, i] = values[LARGEST_VALUE, i] = max(values[LOWER_BOUND, i], NOTHING)
    _add_point(system, t, y, work.k[0, : y.size], tube)
    _add_point(system, t + h, work.end, work.slope, tube)
    for i in range(values.shape[1]):
        ratio = _larger_ratio(ratio, values[BOUND_OVER_STEP, i], values[SEEN_VALUE, i])
    if ratio <= MOST_BEYOND_SEEN:
        tube.notes[WORST] = max(tube.notes[WORST], ratio)
        return 1.0
    _add_stages(system, t, h, y, work, tube)
    interpolant(system, t, h, y, work, counts)
    if not _interpolant_misleads(system, t, h, y, work, tube):
        return _safe_part_by_boxes(system, t, h, y, work, tube)
    for i in range(_HERMITE, work.dense.shape[0]):
        for j in range(work.dense.shape[1]):
            work.dense[i, j] = 0.0
    work.ready[0] = False
    return min(_safe_part_by_boxes(system, t, h, y, work, tube), 0.5)


@part
def _add_stages(system: System, t: float, h: float, y: Array, work: Work, tube: Tube) -> None:
    """Add the stages to the seen values, but for the first ones, which have no weight in the end of the step nor in its error."""
    k, z, n = work.k, work.stage, y.size
    width = k.shape[1]
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A5)
    _add_point(system, t + c.C5 * h, z[:n], k[5, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A6)
    _add_point(system, t + c.C6 * h, z[:n], k[6, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A7)
    _add_point(system, t + c.C7 * h, z[:n], k[7, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A8)
    _add_point(system, t + c.C8 * h, z[:n], k[8, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A9)
    _add_point(system, t + c.C9 * h, z[:n], k[9, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A10)
    _add_point(system, t + c.C10 * h, z[:n], k[10, :n], tube)


@part
def _interpolant_misleads(system: System, t: float, h: float, y: Array, work: Work, tube: Tube) -> bool:
    """Whether a node exceeds its seen value at one of the points where only the interpolant evaluated the rates."""
    k, z, n = work.k, work.stage, y.size
    width = k.shape[1]
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A13)
    found = _exceeds(system, t + c.C13 * h, z[:n], k[13, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A14)
    found |= _exceeds(system, t + c.C14 * h, z[:n], k[14, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A15)
    found |= _exceeds(system, t + c.C15 * h, z[:n], k[15, :n], tube)
    return found


@part
def _safe_part_by_boxes(system: System, t: float, h: float, y: Array, work: Work, tube: Tube) -> float:
    """As `safe_part`, over boxes around parts of the interpolant."""
    values, left, width, ratio, leaps = tube.values, 0.0, FIRST_PART, 1.0, False
    for i in range(values.shape[1]):
        edge = _EDGE * values[BOUND_OVER_STEP, i] if values[BOUND_OVER_STEP, i] < np.inf else 0.0
        values[EDGE, i] = max(_LEAP * values[SEEN_VALUE, i], edge)
    while left < 1.0:
        right = min(left + width, 1.0)
        between(t, h, y, left, right, work, tube)
        _bound(system, tube)
        worst, which, beyond = 1.0, -1, False
        for i in range(values.shape[1]):
            new = _larger_ratio(worst, values[UPPER_BOUND, i], values[SEEN_VALUE, i])
            if new > worst:
                worst, which = new, i
            beyond |= not values[UPPER_BOUND, i] <= values[EDGE, i]
        if worst <= MOST_BEYOND_SEEN or (leaps and not beyond):
            left, width = right, min(2.0 * width, FIRST_PART)
            ratio = max(ratio, worst)
        elif width > FINEST_PART:
            width *= 0.5
        elif beyond:
            tube.notes[LEAPED_NODE] = which
            return min(max(left, FINEST_PART), LONGEST_PART)
        else:
            leaps = True
            tube.notes[LEAPED_NODE] = which
    if leaps:
        return 0.5
    tube.notes[WORST] = max(tube.notes[WORST], ratio)
    return 1.0


@part
def _larger_ratio(ratio: float, found: float, seen: float) -> float:
    """The larger of `ratio` and `found / seen`; infinite if the quotient is not a number."""
    new = found / seen
    return ratio if new <= ratio else (new if new == new else np.inf)


@part
def _bound(system: System, tube: Tube) -> None:
    """Evaluate the bounds of the nodes over the tube."""
    call_kernel(tube.nodes, 0.0, tube.box.ctypes, system.p.ctypes, tube.values.ctypes)


@part
def _at(system: System, t: float, y: Array, rates: Array, tube: Tube) -> None:
    """Evaluate the nodes at one point."""
    box, n = tube.box, components(tube)
    for j in range(n):
        box[j] = box[n + j] = y[j]
        box[2 * n + j] = box[3 * n + j] = rates[j]
    box[4 * n] = box[4 * n + 1] = t
    _bound(system, tube)


@part
def _add_point(system: System, t: float, y: Array, rates: Array, tube: Tube) -> None:
    """Add one point to the seen values, which are the second largest: one point alone does not count.

    At the top of a narrow hill its force vanishes. A step with one stage at the top and no other point on the hill has not resolved it.
    """
    _at(system, t, y, rates, tube)
    values = tube.values
    for i in range(values.shape[1]):
        found = values[UPPER_BOUND, i]
        if values[SEEN_VALUE, i] < found < np.inf:
            values[SEEN_VALUE, i] = min(found, values[LARGEST_VALUE, i])
            values[LARGEST_VALUE, i] = max(found, values[LARGEST_VALUE, i])


@part
def _exceeds(system: System, t: float, y: Array, rates: Array, tube: Tube) -> bool:
    """Whether the value of a node at one point exceeds `MOST_BEYOND_SEEN` times its seen value."""
    _at(system, t, y, rates, tube)
    values, found = tube.values, False
    for i in range(values.shape[1]):
        found |= not values[UPPER_BOUND, i] <= MOST_BEYOND_SEEN * values[SEEN_VALUE, i]
    return found
