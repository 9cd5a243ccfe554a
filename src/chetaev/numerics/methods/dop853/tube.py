r"""What a step did not look at: bounds of the nodes of a system over the tube of an accepted trial step.

A *node* is a function, quotient or power in the user's data (`chetaev.numerics.enclosures`). A step has *seen* of it what it is in the
places where the step evaluated the rates: at both ends and at the stages. The step leaps if somewhere in its tube a node may be more than
`BEYOND_SEEN` times what was seen of it. This is found out in three ways, each dearer than the one before:

1. over one box around the whole step, from the rates at the stages: a node that is nowhere 30 times its smallest value there is seen, and
   nothing has to be evaluated in single places;
2. with what was seen at both ends;
3. over boxes around parts of the interpolant, halved where that is necessary, with what was seen at the stages.

A step that leaps is tried again, so much shorter that it ends before the surprise: where the node is a small part (`_EDGE`) of what it can
be in the step, or a thousand times what was seen. There the end of the step sees it, and error control does the rest.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.methods.dop853 import tableau as c
from chetaev.numerics.methods.dop853.codes import BEYOND_SEEN, NOTHING
from chetaev.numerics.methods.dop853.dense import interpolant, rate, state
from chetaev.numerics.methods.dop853.types import Array, Integers, System, Work
from chetaev.numerics.native import call_kernel, part

STAGES = 12
"""Rows of `k` that hold the rates at the stages of a step."""
_SLACK = 0.05
"""Part of its width by which a box is widened where the motion turns back in it. What a polynomial does between three places is known up
to that; without it a turning point between them would be cut off."""
_FIRST, _FINEST = 0.25, 1.0 / 64.0
"""Parts of a step that are looked at: at first, and at least. A surprise shorter than the finest is found too, only its place is known no
better."""
_EDGE = 1e-12
"""Part of what a node can be in a step at which the surprise begins, in order to end a shorter step there: less than what matters."""
_LEAP = 1e3
"""A step that is shortened may end where a node is so many times what was seen of it."""
_LONGEST = 0.9
"""Part of a step that leaps which is tried next, at most."""
_PLACES = (c.C1, c.C2, c.C3, c.C4, c.C5, c.C6, c.C7, c.C8, c.C9, c.C10)
"""Where a step evaluates the rates, besides its ends."""


@part
def safe_part(system: System, t: float, h: float, y: Array, work: Work, counts: Integers) -> float:
    """The part of a step in which no node surprises; 1 = the whole. How much more than seen a node may be is noted in `work.worst`."""
    nodes = work.seen.size
    around(t, h, y, work)
    _bound(system, work)
    ratio = 1.0
    for i in range(nodes):
        work.reach[i] = work.found[2 * i]
        work.seen[i] = max(work.found[2 * i + 1], NOTHING)
        ratio = _larger_ratio(ratio, work.reach[i], work.seen[i])
    if not ratio <= BEYOND_SEEN:
        _see(system, t, y, work.k[0, : y.size], work)
        _see(system, t + h, work.end, work.slope, work)
        ratio = 1.0
        for i in range(nodes):
            ratio = _larger_ratio(ratio, work.reach[i], work.seen[i])
    if ratio <= BEYOND_SEEN:
        work.worst[0] = max(work.worst[0], ratio)
        return 1.0
    interpolant(system, t, h, y, work, counts)
    for theta in _PLACES:
        state(y, work.dense, theta, work.rows[0])
        rate(work.dense, theta, h, work.rows[1])
        _see(system, t + theta * h, work.rows[0], work.rows[1], work)
    return _walked(system, t, h, y, work)


@part
def _walked(system: System, t: float, h: float, y: Array, work: Work) -> float:
    """As `safe_part`, over boxes around parts of the interpolant."""
    left, width, ratio, leaps = 0.0, _FIRST, 1.0, False
    for i in range(work.seen.size):
        edge = _EDGE * work.reach[i] if work.reach[i] < np.inf else 0.0
        work.edge[i] = max(_LEAP * work.seen[i], edge)
    while left < 1.0:
        right = min(left + width, 1.0)
        between(t, h, y, left, right, work)
        _bound(system, work)
        worst, which, beyond = 1.0, -1, False
        for i in range(work.seen.size):
            new = _larger_ratio(worst, work.found[2 * i], work.seen[i])
            if new > worst or not new <= worst:
                worst, which = new, i
            beyond |= not work.found[2 * i] <= work.edge[i]
        if worst <= BEYOND_SEEN or (leaps and not beyond):
            left, width = right, min(2.0 * width, _FIRST)
            ratio = max(ratio, worst)
        elif width > _FINEST:
            width *= 0.5
        elif beyond:
            work.surprise[0] = which
            return min(max(left, _FINEST), _LONGEST)
        else:
            leaps = True
            work.surprise[0] = which
    if leaps:
        return 0.5
    work.worst[0] = max(work.worst[0], ratio)
    return 1.0


@part
def _larger_ratio(ratio: float, found: float, seen: float) -> float:
    """The larger of a ratio and another, infinite if that is no number."""
    new = found / seen
    return ratio if new <= ratio else (new if new == new else np.inf)


@part
def _bound(system: System, work: Work) -> None:
    """The nodes over the tube."""
    call_kernel(system.nodes, 0.0, work.tube.ctypes, system.p.ctypes, work.found.ctypes)


@part
def _see(system: System, t: float, y: Array, rates: Array, work: Work) -> None:
    """The nodes in one place count as seen."""
    tube, n = work.tube, y.size
    for j in range(n):
        tube[j] = tube[n + j] = y[j]
        tube[2 * n + j] = tube[3 * n + j] = rates[j]
    tube[4 * n] = tube[4 * n + 1] = t
    _bound(system, work)
    for i in range(work.seen.size):
        if work.seen[i] < work.found[2 * i] < np.inf:
            work.seen[i] = work.found[2 * i]


# ------------------------------------------------------------ boxes


@part
def around(t: float, h: float, y: Array, work: Work) -> None:
    """The box around a whole step: what can be reached from either end with the rates at the stages."""
    tube, k, n = work.tube, work.k, y.size
    for j in range(n):
        tube[2 * n + j] = min(k[0, j], work.slope[j])
        tube[3 * n + j] = max(k[0, j], work.slope[j])
    for i in range(1, STAGES):
        for j in range(n):
            tube[2 * n + j] = min(tube[2 * n + j], k[i, j])
            tube[3 * n + j] = max(tube[3 * n + j], k[i, j])
    for j in range(n):
        start, end = y[j], work.end[j]
        first, second = h * tube[2 * n + j], h * tube[3 * n + j]
        down, up = min(0.0, min(first, second)), max(0.0, max(first, second))
        low, high = max(start + down, end - up), min(start + up, end - down)
        slack = abs(end - work.free[j]) + (_SLACK * (high - low) if down < 0.0 < up else 0.0)
        tube[j] = min(low - slack, min(start, end))
        tube[n + j] = max(high + slack, max(start, end))
        slack = _SLACK * (tube[3 * n + j] - tube[2 * n + j])
        tube[2 * n + j] -= slack
        tube[3 * n + j] += slack
    tube[4 * n], tube[4 * n + 1] = min(t, t + h), max(t, t + h)


@part
def between(t: float, h: float, y: Array, left: float, right: float, work: Work) -> None:
    """The box around a part of the interpolant, into `work.tube`, with the bounds of its rates."""
    tube, rows, n = work.tube, work.rows, y.size
    middle = 0.5 * (left + right)
    state(y, work.dense, left, rows[0])
    state(y, work.dense, middle, rows[1])
    state(y, work.dense, right, rows[2])
    rate(work.dense, left, h, rows[3])
    rate(work.dense, middle, h, rows[4])
    rate(work.dense, right, h, rows[5])
    for j in range(n):
        low, high = _range(rows[3, j], rows[4, j], rows[5, j])
        tube[2 * n + j], tube[3 * n + j] = low, high
        if low >= 0.0 or high <= 0.0:  # it does not turn back
            tube[j], tube[n + j] = min(rows[0, j], rows[2, j]), max(rows[0, j], rows[2, j])
        else:
            tube[j], tube[n + j] = _range(rows[0, j], rows[1, j], rows[2, j])
    a, b = t + left * h, t + right * h
    tube[4 * n], tube[4 * n + 1] = min(a, b), max(a, b)


@part
def _range(a: float, b: float, c: float) -> tuple[float, float]:
    """The range of a parabola through three values at equal distances, and a little more."""
    low, high = min(a, min(b, c)), max(a, max(b, c))
    half, bend = 0.5 * (c - a), a - 2.0 * b + c
    if abs(half) < abs(bend):
        extreme = b - 0.5 * half * half / bend
        low, high = min(low, extreme), max(high, extreme)
    slack = _SLACK * (high - low)
    return low - slack, high + slack
