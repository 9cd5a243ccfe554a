"""Proofs by bounds over the tube of a step that no root is missed and that no determinant touches zero.

A function has no root in a part of a step over which its bounds exclude zero. It has at most one where its bounds are finite and those of
its rate exclude zero; then its signs at both ends show whether there is one. Other parts are halved. In a part as short as `SHORTEST_PART`,
where a function touches zero or has a pole, the signs at both ends decide.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import call_kernel, inner, part, rare
from chetaev.numerics.methods.dop853 import location
from chetaev.numerics.methods.dop853.calls import call
from chetaev.numerics.methods.dop853.codes import (
    CLOSE,
    FALL,
    LEVEL_ERROR,
    LONGEST_PART,
    MARGIN,
    MIDDLE,
    PARABOLA,
    RADIAN,
    SECTIONS,
    SHORTEST_LEVEL_PART,
    SHORTEST_PART,
    TRIES,
    TURN,
)
from chetaev.numerics.methods.dop853.dense import interpolant, state
from chetaev.numerics.methods.dop853.enclosure.tube import around, between
from chetaev.numerics.methods.dop853.types import Array, Integers, System, Tube, Watches, Work

_FEW_TRIES = 40
"""As `TRIES`, for a function whose bounds proved nothing in the last `_GIVEN_UP` steps, such as the round-off of zero."""
_GIVEN_UP = 3.0
"""Steps in a row in which the bounds of a function proved nothing. With fewer, a function that vanishes once would get `_FEW_TRIES` too."""
_LOOKS, _MOST_LOOKS, _FIRST_SECTIONS = 9, 4000, 12
"""Fewest and most points at which a determinant that may touch zero is evaluated, and the number of golden sections after which the search
ends if the determinant is not small."""


sign_of, _clear, _decided = part(location.sign_of), part(location.certain_sign), part(location.decided)
_turns_through = part(location.turns_through)
_section_place, _section_closer = part(location.section_place), part(location.section_closer)


@part
def watched_at(system: System, t: float, h: float, y: Array, theta: float, work: Work, out: Array) -> None:
    """The watched functions on the interpolant."""
    state(y, work.dense, theta, work.stage)
    call(system.watch, system, t + theta * h, work.stage, out)


# ------------------------------------------------------------ roots


@inner
def all_decided(system: System, watches: Watches, tube: Tube) -> bool:
    """Whether the bounds over the box around the step prove that every function that has bounds changes its sign once at most."""
    found = True
    if tube.bounds != 0:
        call_kernel(tube.bounds, 0.0, tube.box.ctypes, system.p.ctypes, tube.limits.ctypes)
        for which in range(watches.places.size):
            place = watches.places[which]
            found &= place < 0 or _decided(tube.limits, place)
    return found


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
def _part_with_one_root(system: System, t: float, h: float, y: Array, which: int, place: int, work: Work, tube: Tube) -> float:
    sign, changes, first, last, left, width, tries = work.signs[which], 0, 0.0, 0.0, 0.0, 1.0, 0
    most = _FEW_TRIES if work.rough[which] >= _GIVEN_UP else TRIES
    while left < 1.0 and tries < most:
        right = min(left + width, 1.0)
        between(t, h, y, left, right, work, tube)
        _bound(system, tube)
        tries += 1
        new, nowhere = _clear(tube.limits, place), not tube.limits[4 * place] <= tube.limits[4 * place + 1]
        if new == 0 and not nowhere:
            if width > SHORTEST_PART and not _decided(tube.limits, place):
                width *= 0.5
                continue
            watched_at(system, t, h, y, right, work, work.values)
            new = sign_of(work.values[which])
        elif new != 0 and tube.limits[4 * place + 2] == -np.inf and tube.limits[4 * place + 3] == np.inf:  # it may end in this part
            watched_at(system, t, h, y, right, work, work.values)
            if work.values[which] != work.values[which]:
                if width > SHORTEST_PART:
                    width *= 0.5
                    continue
                new = 0
        if nowhere and changes > 0:  # it has no value from here on: the step ends before
            return 0.5 * (first + last)
        if new != 0 and new != sign:  # a first sign, where the function begins to have values, counts as a change
            changes += 1
            if changes == 2:
                return 0.5 * (first + left)
            first = right
        if new != 0:
            sign, last = new, right
        left, width = right, 2.0 * width
    work.rough[which] = work.rough[which] + 1.0 if left < 1.0 else 0.0
    lost = changes > 0 and not abs(work.after[which]) > 0.0 and last < 1.0  # not a number, or underflow to zero: the sign before it counts
    return 0.5 * (first + last) if lost else 1.0


# ------------------------------------------------------------ determinants


@inner
def may_touch(system: System, t: float, h: float, y: Array, work: Work, tube: Tube, boxed: bool) -> bool:
    """Whether the first watched function, a determinant, may come close to zero in a step and turn back.

    It is evaluated in the middle of the step, on the cubic polynomial through both ends, which needs no further evaluation of the rates.
    `boxed`: the box of the tube is the one around this step. The conditions are combined without branches: a processor that predicts one
    branch wrongly loses more time than all conditions take.
    """
    tube.notes[TURN] = 0.0
    if tube.turns != 0:
        if not boxed:
            around(t, h, y, work, tube)
        call_kernel(tube.turns, 0.0, tube.box.ctypes, system.p.ctypes, tube.notes[TURN:].ctypes)
    for j in range(y.size):
        work.stage[j] = 0.5 * (y[j] + work.end[j]) + 0.125 * h * (work.k[0, j] - work.slope[j])
    call(tube.determinant, system, t + 0.5 * h, work.stage, tube.notes[MIDDLE:])
    first, middle, last = abs(work.before[0]), abs(tube.notes[MIDDLE]), abs(work.after[0])
    half, bend, lower = 0.5 * (last - first), first - 2.0 * middle + last, min(first, last)
    inside = (bend > 0.0) & (abs(half) < (1.0 + MARGIN) * bend)  # a parabola has its lowest value in the step
    inside &= (middle - 0.5 * half * half / bend < PARABOLA * lower) | (lower < CLOSE * max(first, last))
    suspicious = inside | (not tube.notes[TURN] <= RADIAN) | _turns_through(first, middle, last)
    return suspicious & (work.before[0] * work.after[0] > 0.0)


@rare
def level_part(system: System, t: float, h: float, y: Array, work: Work, tube: Tube, counts: Integers) -> float:
    """The part of a step in which the determinant does not come close to zero and turn back; 1 = the whole."""
    interpolant(system, t, h, y, work, counts)
    looks = _LOOKS
    if not tube.notes[TURN] <= RADIAN:
        looks = max(_LOOKS, int(min(float(_MOST_LOOKS), 5.0 * tube.notes[TURN] / RADIAN)))
    first = abs(work.before[0])
    lower = min(first, abs(work.after[0]))
    theta, least = _lowest(system, t, h, y, looks, lower, work, tube)
    if not least < FALL * lower:
        return 1.0
    left, right = 0.0, theta
    while right - left > LEVEL_ERROR * right:
        place = 0.5 * (left + right)
        if _determinant(system, t, h, y, place, work, tube) > FALL * first:
            left = place
        else:
            right = place
    return min(max(left, SHORTEST_LEVEL_PART), LONGEST_PART)


@part
def _lowest(system: System, t: float, h: float, y: Array, looks: int, lower: float, work: Work, tube: Tube) -> tuple[float, float]:
    """The first place in a step where the determinant is close to zero and turns back, and how small it is; infinite if there is none."""
    width, before, here = 1.0 / (looks - 1), np.inf, _determinant(system, t, h, y, 0.0, work, tube)
    for i in range(looks):
        after = _determinant(system, t, h, y, (i + 1) * width, work, tube) if i + 1 < looks else np.inf
        if here <= before and here <= after:
            best, least = _refined(system, t, h, y, i * width, here, width, lower, work, tube)
            if least < FALL * lower:
                return best, least
        before, here = here, after
    return 0.0, np.inf


@part
def _refined(
    system: System, t: float, h: float, y: Array, best: float, least: float, width: float, lower: float, work: Work, tube: Tube
) -> tuple[float, float]:
    """Where the determinant is smallest near a place, and how small; not exactly if that is far from zero."""
    a, c = max(best - width, 0.0), min(best + width, 1.0)
    for i in range(SECTIONS):
        if i == _FIRST_SECTIONS and not least < CLOSE * lower:
            break
        theta = _section_place(a, best, c)
        a, best, least, c = _section_closer(a, best, least, c, theta, _determinant(system, t, h, y, theta, work, tube))
    return best, least


@part
def _determinant(system: System, t: float, h: float, y: Array, theta: float, work: Work, tube: Tube) -> float:
    """The size of the determinant on the interpolant."""
    state(y, work.dense, theta, work.stage)
    call(tube.determinant, system, t + theta * h, work.stage, tube.notes[MIDDLE:])
    return abs(tube.notes[MIDDLE])
