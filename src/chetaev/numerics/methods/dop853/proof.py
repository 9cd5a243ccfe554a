"""No root is missed, and no determinant touches zero unseen: what bounds over the tube of a step prove, and what is looked at without them.

Over a part of a step whose bounds exclude zero a function has no root; over one in which the bounds of its rate do, and its own are finite,
one at most, which its signs at both ends tell. Other parts are halved. What cannot be decided in a part as short as `SHORTEST_PART`, where
a function touches zero or has a pole, is told by the signs at its ends.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.methods.dop853.calls import call
from chetaev.numerics.methods.dop853.codes import FALL, GOLDEN, LONGEST_PART, SECTIONS, SHORTEST_PART, TRIES
from chetaev.numerics.methods.dop853.dense import interpolant, state
from chetaev.numerics.methods.dop853.tube import around, between
from chetaev.numerics.methods.dop853.types import Array, Integers, System, Tube, Watches, Work
from chetaev.numerics.native import call_kernel, inner, part

_FEW_TRIES = 40
"""As `TRIES`, for a function of which nothing could be proved in so many steps before (`_GIVEN_UP`): round-off of zero."""
_GIVEN_UP = 3.0
_PARABOLA = 0.25
"""As `FALL`, of the lowest value of a parabola, which is worth a closer look."""
_MARGIN = 0.05
"""How far beyond the ends of a step the lowest value may lie, in steps."""
_LOOKS = 17
"""Places in which a determinant is looked at more closely."""


@part
def sign_of(x: float) -> int:
    """1, -1, or 0 for zero and for what is no number."""
    return 1 if x > 0.0 else (-1 if x < 0.0 else 0)


@part
def watched_at(system: System, t: float, h: float, y: Array, theta: float, work: Work, out: Array) -> None:
    """The watched functions on the interpolant."""
    state(y, work.dense, theta, work.stage)
    call(system.watch, system, t + theta * h, work.stage, out)


# ------------------------------------------------------------ roots


@part
def proved_part(system: System, watches: Watches, t: float, h: float, y: Array, work: Work, tube: Tube, counts: Integers) -> float:
    """The part of the step in which every function that has bounds changes its sign once at most; 1 = the whole."""
    around(t, h, y, work, tube)
    _bound(system, tube)
    found, all_clear = 1.0, True
    for which in range(watches.places.size):
        place = watches.places[which]
        if place >= 0 and not _decided(tube.limits, place):
            all_clear = False
            work.samples[0, which] = 1.0
        else:
            work.samples[0, which] = 0.0
    if all_clear:
        return 1.0
    interpolant(system, t, h, y, work, counts)
    for which in range(watches.places.size):
        if work.samples[0, which] > 0.0:
            found = min(found, _part_with_one_root(system, t, h, y, which, watches.places[which], work, tube))
    return found


@part
def _bound(system: System, tube: Tube) -> None:
    call_kernel(tube.bounds, 0.0, tube.box.ctypes, system.p.ctypes, tube.limits.ctypes)


@part
def _clear(bounds: Array, place: int) -> int:
    """The sign that a function has over the tube; 0 if that is not known."""
    return 1 if bounds[4 * place] > 0.0 else (-1 if bounds[4 * place + 1] < 0.0 else 0)


@part
def _decided(bounds: Array, place: int) -> bool:
    """Whether a function has one root at most over the tube: it keeps its sign, or has no pole and rises or falls throughout."""
    low, high = bounds[4 * place], bounds[4 * place + 1]
    monotone = bounds[4 * place + 2] > 0.0 or bounds[4 * place + 3] < 0.0
    return low > 0.0 or high < 0.0 or (monotone and -np.inf < low and high < np.inf) or (low == 0.0 and high == 0.0)


@part
def _part_with_one_root(system: System, t: float, h: float, y: Array, which: int, place: int, work: Work, tube: Tube) -> float:
    sign, changes, first, left, width, tries = work.signs[which], 0, 0.0, 0.0, 1.0, 0
    most = _FEW_TRIES if work.rough[which] >= _GIVEN_UP else TRIES
    while left < 1.0 and tries < most:
        right = min(left + width, 1.0)
        between(t, h, y, left, right, work, tube)
        _bound(system, tube)
        tries += 1
        new = _clear(tube.limits, place)
        if new == 0:
            if width > SHORTEST_PART and not _decided(tube.limits, place):
                width *= 0.5
                continue
            watched_at(system, t, h, y, right, work, work.values)
            new = sign_of(work.values[which])
        if new * sign < 0:
            changes += 1
            if changes == 2:
                return 0.5 * (first + left)
            first = right
        sign = new if new != 0 else sign
        left, width = right, 2.0 * width
    work.rough[which] = work.rough[which] + 1.0 if left < 1.0 else 0.0
    return 1.0


# ------------------------------------------------------------ determinants


@inner
def may_touch(system: System, t: float, h: float, y: Array, work: Work) -> bool:
    """Whether the first watched function, a determinant, may come close to zero in a step and turn back.

    It is looked at in the middle of the step, on the cubic polynomial through both ends, which costs nothing to have.
    """
    for j in range(y.size):
        work.stage[j] = 0.5 * (y[j] + work.end[j]) + 0.125 * h * (work.k[0, j] - work.slope[j])
    call(system.watch, system, t + 0.5 * h, work.stage, work.values)
    first, middle, last = abs(work.before[0]), abs(work.values[0]), abs(work.after[0])
    half, bend, lowest = 0.5 * (last - first), first - 2.0 * middle + last, middle
    if bend > 0.0 and abs(half) < (1.0 + 2.0 * _MARGIN) * bend:
        lowest = middle - 0.5 * half * half / bend
    return lowest < _PARABOLA * min(first, last) and work.before[0] * work.after[0] > 0.0


@part
def level_part(system: System, t: float, h: float, y: Array, work: Work, counts: Integers) -> float:
    """The part of a step in which the determinant does not come close to zero and turn back; 1 = the whole."""
    interpolant(system, t, h, y, work, counts)
    theta, least = _lowest(system, t, h, y, work)
    first = abs(work.before[0])
    if not least < FALL * min(first, abs(work.after[0])) or theta <= 0.0:
        return 1.0
    left, right = 0.0, min(theta, 1.0)
    while right - left > 1e-3 * right:
        place = 0.5 * (left + right)
        watched_at(system, t, h, y, place, work, work.values)
        if abs(work.values[0]) > FALL * first:
            left = place
        else:
            right = place
    return min(max(left, 1e-3), LONGEST_PART)


@part
def _lowest(system: System, t: float, h: float, y: Array, work: Work) -> tuple[float, float]:
    """Where the determinant is smallest in a step, and how small."""
    best, least, width = 0.0, np.inf, (1.0 + 2.0 * _MARGIN) / (_LOOKS - 1)
    for i in range(_LOOKS):
        theta = i * width - _MARGIN
        watched_at(system, t, h, y, theta, work, work.values)
        if abs(work.values[0]) < least:
            best, least = theta, abs(work.values[0])
    a, c, value = best - width, best + width, least
    for _ in range(SECTIONS):
        theta = best + GOLDEN * (c - best) if c - best > best - a else best - GOLDEN * (best - a)
        watched_at(system, t, h, y, theta, work, work.values)
        value = abs(work.values[0])
        if value < least:
            a, c = (best, c) if theta > best else (a, best)
            best, least = theta, value
        elif theta > best:
            c = theta
        else:
            a = theta
    return best, least
