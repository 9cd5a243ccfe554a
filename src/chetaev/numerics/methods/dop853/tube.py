r"""Between the points that a step evaluates: bounds of the nodes of a system over the tube of an accepted trial step.

A *node* is a function, quotient or power in the user's data (`chetaev.numerics.enclosures`). The value of a node that a step has *seen* is
the second largest of its values at the points where the step evaluated the rates: both ends and the stages. The step *leaps* if a node may
exceed `BEYOND_SEEN` times the seen value somewhere in the tube of the step. Three tests decide this, each more expensive than the one
before:

1. over one box around the whole step, from the rates at the stages: a node that is nowhere 30 times its smallest value there is seen, and
   nothing has to be evaluated in single places;
2. with what was seen at both ends;
3. over boxes around parts of the interpolant, halved where that is necessary, with what was seen at the stages.

The interpolant evaluates the rates in three more places. An unexpected value there spoils it, and the cubic polynomial through both ends of
the step takes its place: a barrier hit by one of the three bends the interpolant so that it seems to have been seen elsewhere, too.

A step that leaps over a feature is tried again, so short that it ends where the feature begins: where the node is a small part (`_EDGE`) of
what it can be in the step, or `_LEAP` times what was seen. There the end of the step sees the feature, and error control does the rest.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import BLOCK, add_rows, call_kernel, inner, part, reach_columns
from chetaev.numerics.methods.dop853 import tableau as c
from chetaev.numerics.methods.dop853.codes import (
    BEYOND_SEEN,
    EDGE,
    FINEST_PART,
    FIRST_PART,
    FOUND_LEAST,
    FOUND_MOST,
    LONGEST_PART,
    NOTHING,
    REACHES,
    SEEN_ONCE,
    SLACK,
    SURPRISE,
    WAS_SEEN,
    WORST,
)
from chetaev.numerics.methods.dop853.dense import interpolant, rate, state
from chetaev.numerics.methods.dop853.types import Array, Integers, System, Tube, Work

STAGES = 12
"""Rows of `k` that hold the rates at the stages of a step."""
_EDGE = 1e-12
"""Part of the largest value of a node in a step at which a feature begins and a shortened step ends; smaller parts do not matter."""
_LEAP = 1e3
"""A shortened step may end where a node is this multiple of its largest value seen so far."""
_HERMITE = 3
"""Rows of the interpolant that both ends of a step determine. The others need further evaluations of the rates, between the stages."""


# ------------------------------------------------------------ boxes


@inner
def components(tube: Tube) -> int:
    """The number of components of the state that a box encloses; slopes, which are integrated together with a state, are in no box."""
    return (tube.box.size - 2) // 4


def _around(t: float, h: float, y: Array, work: Work, tube: Tube) -> None:
    """The box around a whole step: what can be reached from either end with the rates at the stages. Only the columns that the nodes read
    are computed, and their neighbours in a block.
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
"""The same where every step passes."""


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
def may_surprise(system: System, tube: Tube) -> bool:
    """Whether the box around the step does not prove that no node surprises, so that further tests are needed."""
    call_kernel(tube.nodes, 0.0, tube.box.ctypes, system.p.ctypes, tube.values.ctypes)
    values, worst = tube.values, tube.notes[WORST]
    for i in range(values.shape[1]):
        most, least = values[FOUND_MOST, i], max(values[FOUND_LEAST, i], NOTHING)
        if not most <= worst * least:
            if not most <= BEYOND_SEEN * least:
                return True
            worst = most / least
    tube.notes[WORST] = worst
    return False


@part
def safe_part(system: System, t: float, h: float, y: Array, work: Work, tube: Tube, counts: Integers) -> float:
    """The part of a step in which no node surprises; 1 = the whole. The nodes over the box around the step were found."""
    values, ratio = tube.values, 1.0
    for i in range(values.shape[1]):
        values[REACHES, i] = values[FOUND_MOST, i]
        values[WAS_SEEN, i] = values[SEEN_ONCE, i] = max(values[FOUND_LEAST, i], NOTHING)
    _see(system, t, y, work.k[0, : y.size], tube)
    _see(system, t + h, work.end, work.slope, tube)
    for i in range(values.shape[1]):
        ratio = _larger_ratio(ratio, values[REACHES, i], values[WAS_SEEN, i])
    if ratio <= BEYOND_SEEN:
        tube.notes[WORST] = max(tube.notes[WORST], ratio)
        return 1.0
    _see_stages(system, t, h, y, work, tube)
    interpolant(system, t, h, y, work, counts)
    if not _misled(system, t, h, y, work, tube):
        return _walked(system, t, h, y, work, tube)
    for i in range(_HERMITE, work.dense.shape[0]):
        for j in range(work.dense.shape[1]):
            work.dense[i, j] = 0.0
    work.ready[0] = False
    return min(_walked(system, t, h, y, work, tube), 0.5)


@part
def _see_stages(system: System, t: float, h: float, y: Array, work: Work, tube: Tube) -> None:
    """The nodes at the stages count as seen, but for the first ones, which have no weight in the end of the step nor in its error."""
    k, z, n = work.k, work.stage, y.size
    width = k.shape[1]
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A5)
    _see(system, t + c.C5 * h, z[:n], k[5, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A6)
    _see(system, t + c.C6 * h, z[:n], k[6, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A7)
    _see(system, t + c.C7 * h, z[:n], k[7, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A8)
    _see(system, t + c.C8 * h, z[:n], k[8, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A9)
    _see(system, t + c.C9 * h, z[:n], k[9, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A10)
    _see(system, t + c.C10 * h, z[:n], k[10, :n], tube)


@part
def _misled(system: System, t: float, h: float, y: Array, work: Work, tube: Tube) -> bool:
    """Whether a node surprises at one of the points where only the interpolant evaluated the rates."""
    k, z, n = work.k, work.stage, y.size
    width = k.shape[1]
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A13)
    found = _surprises(system, t + c.C13 * h, z[:n], k[13, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A14)
    found |= _surprises(system, t + c.C14 * h, z[:n], k[14, :n], tube)
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A15)
    found |= _surprises(system, t + c.C15 * h, z[:n], k[15, :n], tube)
    return found


@part
def _walked(system: System, t: float, h: float, y: Array, work: Work, tube: Tube) -> float:
    """As `safe_part`, over boxes around parts of the interpolant."""
    values, left, width, ratio, leaps = tube.values, 0.0, FIRST_PART, 1.0, False
    for i in range(values.shape[1]):
        edge = _EDGE * values[REACHES, i] if values[REACHES, i] < np.inf else 0.0
        values[EDGE, i] = max(_LEAP * values[WAS_SEEN, i], edge)
    while left < 1.0:
        right = min(left + width, 1.0)
        between(t, h, y, left, right, work, tube)
        _bound(system, tube)
        worst, which, beyond = 1.0, -1, False
        for i in range(values.shape[1]):
            new = _larger_ratio(worst, values[FOUND_MOST, i], values[WAS_SEEN, i])
            if new > worst:
                worst, which = new, i
            beyond |= not values[FOUND_MOST, i] <= values[EDGE, i]
        if worst <= BEYOND_SEEN or (leaps and not beyond):
            left, width = right, min(2.0 * width, FIRST_PART)
            ratio = max(ratio, worst)
        elif width > FINEST_PART:
            width *= 0.5
        elif beyond:
            tube.notes[SURPRISE] = which
            return min(max(left, FINEST_PART), LONGEST_PART)
        else:
            leaps = True
            tube.notes[SURPRISE] = which
    if leaps:
        return 0.5
    tube.notes[WORST] = max(tube.notes[WORST], ratio)
    return 1.0


@part
def _larger_ratio(ratio: float, found: float, seen: float) -> float:
    """The larger of a ratio and another, infinite if that is no number."""
    new = found / seen
    return ratio if new <= ratio else (new if new == new else np.inf)


@part
def _bound(system: System, tube: Tube) -> None:
    """The nodes over the tube."""
    call_kernel(tube.nodes, 0.0, tube.box.ctypes, system.p.ctypes, tube.values.ctypes)


@part
def _at(system: System, t: float, y: Array, rates: Array, tube: Tube) -> None:
    """The nodes in one place."""
    box, n = tube.box, components(tube)
    for j in range(n):
        box[j] = box[n + j] = y[j]
        box[2 * n + j] = box[3 * n + j] = rates[j]
    box[4 * n] = box[4 * n + 1] = t
    _bound(system, tube)


@part
def _see(system: System, t: float, y: Array, rates: Array, tube: Tube) -> None:
    """The nodes in one place count as seen, as far as another place shows them too.

    At the top of a narrow hill its force vanishes: a step that meets the top in one place, and nothing of the hill elsewhere, knows
    nothing of it.
    """
    _at(system, t, y, rates, tube)
    values = tube.values
    for i in range(values.shape[1]):
        found = values[FOUND_MOST, i]
        if values[WAS_SEEN, i] < found < np.inf:
            values[WAS_SEEN, i] = min(found, values[SEEN_ONCE, i])
            values[SEEN_ONCE, i] = max(found, values[SEEN_ONCE, i])


@part
def _surprises(system: System, t: float, y: Array, rates: Array, tube: Tube) -> bool:
    """Whether the value of a node at one point is much larger than its seen value."""
    _at(system, t, y, rates, tube)
    values, found = tube.values, False
    for i in range(values.shape[1]):
        found |= not values[FOUND_MOST, i] <= BEYOND_SEEN * values[WAS_SEEN, i]
    return found
