r"""Checks of a step in a stride: it contains no event, leaps over no feature and meets no small determinant.

The rules are those of `methods.python_loop`, `methods.enclosed` and `methods.changes`, with one answer: whether the step is *quiet*. It
leaps over nothing (`dop853.enclosure.tube`), no determinant comes near zero, no watched function changes its sign or falls below its floor.
A step for which this is not certain ends the stride, and `python_loop` repeats it, shortens it, or finds the roots in it.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import call_kernel, inner, part, rare
from chetaev.numerics.methods.compiled_steps.codes import BEYOND, DIP, FEWEST_LOOKS, MOST_LOOKS, PROJECTIONS, SAMPLES
from chetaev.numerics.methods.compiled_steps.polynomial import around, at_one_place, between, inside, state_at
from chetaev.numerics.methods.compiled_steps.types import Room
from chetaev.numerics.methods.dop853 import location
from chetaev.numerics.methods.dop853.calls import call, copy, settle
from chetaev.numerics.methods.dop853.codes import (
    CORNER,
    FINEST_PART,
    FIRST_PART,
    LARGEST_VALUE,
    LOWER_BOUND,
    MIDDLE,
    MOST_BEYOND_SEEN,
    NOTHING,
    RADIAN,
    SEEN_VALUE,
    SHORTEST_PART,
    TRIES,
    TURN,
    UPPER_BOUND,
    WORST,
)
from chetaev.numerics.methods.dop853.location import MORE_PLACES, MORE_WEIGHTS, NOWHERE
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, System, Tube, Watches

_sign_of, _certain_sign, _decided = part(location.sign_of), part(location.certain_sign), part(location.decided)
_smooth, _turning_place = part(location.smooth), part(location.turning_place)


# ------------------------------------------------------------ nodes


@inner
def leaps_over_nothing(system: System, t: float, h: float, y: Array, room: Room, tube: Tube) -> bool:
    """Whether no node may be much larger between the points that the step evaluated than at these points: `enclosed.safe_part`."""
    values = tube.values
    around(t, h, y, room, tube)
    call_kernel(tube.nodes, 0.0, tube.box.ctypes, system.p.ctypes, values.ctypes)
    ratio = 1.0
    for i in range(values.shape[1]):
        ratio = _larger(ratio, values[UPPER_BOUND, i], max(values[LOWER_BOUND, i], NOTHING))
    if ratio <= MOST_BEYOND_SEEN:
        tube.notes[WORST] = max(tube.notes[WORST], ratio)
        return True
    return _leaps_over_nothing_by_points(system, t, h, y, room, tube)


@rare
def _leaps_over_nothing_by_points(system: System, t: float, h: float, y: Array, room: Room, tube: Tube) -> bool:
    """The same with the values of the nodes where the step evaluated the rates, in two places at least, as in `dop853.enclosure.tube`."""
    values = tube.values
    for i in range(values.shape[1]):
        values[SEEN_VALUE, i] = values[LARGEST_VALUE, i] = max(values[LOWER_BOUND, i], NOTHING)
    for k in range(room.places.size):
        _add_point(system, t, h, y, room, room.places[k], True, tube)
    if room.places.size == 1:
        for k in range(1, BEYOND + 1):
            _add_point(system, t, h, y, room, k / BEYOND, False, tube)
    return _walked(system, t, h, y, room, tube)


@part
def _add_point(system: System, t: float, h: float, y: Array, room: Room, theta: float, looked: bool, tube: Tube) -> None:
    """Add one point to the seen values, which are the second largest; only points where the step `looked` raise the largest value.

    A series evaluates the rates where it begins only. A node that is large there and nowhere beyond is a narrow hill, whose top may be flat
    in all derivatives that the series has.
    """
    at_one_place(t, h, y, room, theta, tube)
    values = tube.values
    call_kernel(tube.nodes, 0.0, tube.box.ctypes, system.p.ctypes, values.ctypes)
    for i in range(values.shape[1]):
        found = values[UPPER_BOUND, i]
        if values[SEEN_VALUE, i] < found < np.inf:
            values[SEEN_VALUE, i] = min(found, values[LARGEST_VALUE, i])
            if looked:
                values[LARGEST_VALUE, i] = max(found, values[LARGEST_VALUE, i])


@part
def _walked(system: System, t: float, h: float, y: Array, room: Room, tube: Tube) -> bool:
    """The same over boxes around parts of the step, with the seen values."""
    values, left, width, worst = tube.values, 0.0, FIRST_PART, 1.0
    while left < 1.0:
        right, ratio = min(left + width, 1.0), 1.0
        between(t, h, y, room, left, right, tube)
        call_kernel(tube.nodes, 0.0, tube.box.ctypes, system.p.ctypes, values.ctypes)
        for i in range(values.shape[1]):
            ratio = _larger(ratio, values[UPPER_BOUND, i], values[SEEN_VALUE, i])
        if ratio <= MOST_BEYOND_SEEN:
            left, width, worst = right, min(2.0 * width, FIRST_PART), max(worst, ratio)
        elif width > FINEST_PART:
            width *= 0.5
        else:
            return False
    tube.notes[WORST] = max(tube.notes[WORST], worst)
    return True


@part
def _larger(ratio: float, found: float, seen: float) -> float:
    """The larger of `ratio` and `found / seen`; infinite if the quotient is not a number."""
    new = found / seen
    return ratio if new <= ratio else (new if new == new else np.inf)


# ------------------------------------------------------------ determinants


@inner
def level(system: System, control: Control, t: float, h: float, y: Array, room: Room, tube: Tube, counts: Integers) -> bool:
    """Whether the determinant comes nowhere near zero and turns back: `enclosed.level_part`, as far as no point needs refinement.

    A determinant that is about the same in five places, between which angles hardly turn, is level.
    """
    tube.notes[TURN] = 0.0
    if tube.turns != 0:
        around(t, h, y, room, tube)
        call_kernel(tube.turns, 0.0, tube.box.ctypes, system.p.ctypes, tube.notes[TURN:].ctypes)
    if tube.notes[TURN] <= RADIAN:
        least, most = np.inf, 0.0
        inside(y, room, tube.rows)
        for i in range(5):
            place = y if i == 0 else (room.end if i == 4 else tube.rows[i - 1])
            call(tube.determinant, system, t + 0.25 * i * h, place, tube.notes[MIDDLE:])
            least, most = min(least, abs(tube.notes[MIDDLE])), max(most, abs(tube.notes[MIDDLE]))
        if least > DIP * most:
            return True
    return _looked_level(system, control, t, h, y, tube.notes[TURN], room, tube, counts)


@rare
def _looked_level(
    system: System, control: Control, t: float, h: float, y: Array, turn: float, room: Room, tube: Tube, counts: Integers
) -> bool:
    """The same in many places, moved onto the constraints."""
    looks = MOST_LOOKS
    if turn < np.inf:
        looks = max(FEWEST_LOOKS, int(min(float(MOST_LOOKS), 5.0 * turn / RADIAN)))
    values = room.levels
    for i in range(looks):
        theta = i / (looks - 1)
        _place(system, control, t, h, y, theta, room, counts)
        call(tube.determinant, system, t + theta * h, room.place, tube.notes[MIDDLE:])
        values[i] = tube.notes[MIDDLE]
    lower = min(abs(values[0]), abs(values[looks - 1]))
    if values[0] * values[looks - 1] < 0.0 or not lower < np.inf:
        return True  # a root from end to end is found as such
    for i in range(looks):
        here = abs(values[i])
        before = abs(values[i - 1]) if i > 0 else np.inf
        after = abs(values[i + 1]) if i + 1 < looks else np.inf
        if here <= before and here <= after:
            largest = here
            for k in range(max(i - 2, 0), min(i + 3, looks)):
                largest = max(largest, abs(values[k]))
            if not here > DIP * largest:
                return False
    return True


# ------------------------------------------------------------ watched functions


@part
def _place(system: System, control: Control, t: float, h: float, y: Array, theta: float, room: Room, counts: Integers) -> None:
    """The state in a place of the step, projected."""
    state_at(y, room, theta, room.place)
    if system.project != 0:
        _, calls = settle(system, control, t + theta * h, h, room.place, room.trial, np.inf)
        counts[PROJECTIONS] += calls


@part
def _watched(system: System, control: Control, t: float, h: float, y: Array, theta: float, room: Room, counts: Integers) -> None:
    """The watched functions in a place of the step, into `room.values`."""
    if theta == 1.0:
        copy(room.after, room.values)
    else:
        _place(system, control, t, h, y, theta, room, counts)
        call(system.watch, system, t + theta * h, room.place, room.values)


@inner
def no_root(
    system: System,
    control: Control,
    watches: Watches,
    t: float,
    h: float,
    y: Array,
    signs: Integers,
    room: Room,
    tube: Tube,
    counts: Integers,
) -> bool:
    """Whether no watched function changes its sign in the step, nor is below its floor at the end; `room.after` has the values there."""
    closely = False
    for k in range(watches.floor.size):
        if abs(room.after[k]) < watches.floor[k] or signs[k] * _sign_of(room.after[k]) < 0:
            return False
        closely |= watches.closely[k]
    return not closely or _no_root_between(system, control, watches, t, h, y, signs, room, tube, counts)


@rare
def _no_root_between(
    system: System,
    control: Control,
    watches: Watches,
    t: float,
    h: float,
    y: Array,
    signs: Integers,
    room: Room,
    tube: Tube,
    counts: Integers,
) -> bool:
    """The same for functions that are watched closely, between the ends of the step."""
    sampled = False
    for k in range(watches.floor.size):
        sampled |= watches.closely[k] and (watches.places[k] < 0 or watches.directions[k] == CORNER)
        bounded = watches.places[k] >= 0 and watches.directions[k] != CORNER
        if bounded and not _proved(system, control, t, h, y, k, watches.places[k], signs[k], room, tube, counts):
            return False
    if not sampled:
        return True
    for i in range(SAMPLES):
        _watched(system, control, t, h, y, MORE_PLACES[i], room, counts)
        copy(room.values, room.samples[i])
    for k in range(watches.floor.size):
        compared = watches.closely[k] and (watches.places[k] < 0 or watches.directions[k] == CORNER)
        if compared and not _seen_without_change(room, k, signs[k]):
            return False
    return True


@rare
def _proved(
    system: System,
    control: Control,
    t: float,
    h: float,
    y: Array,
    k: int,
    place: int,
    sign: int,
    room: Room,
    tube: Tube,
    counts: Integers,
) -> bool:
    """Whether bounds over parts of the step prove that a function keeps its sign: `enclosed.proved_changes` without changes."""
    limits, left, width, tries = tube.limits, 0.0, 1.0, 0
    while left < 1.0:
        tries += 1
        if tries > TRIES:
            return False
        right = min(left + width, 1.0)
        between(t, h, y, room, left, right, tube)
        call_kernel(tube.bounds, 0.0, tube.box.ctypes, system.p.ctypes, limits.ctypes)
        low, high = limits[4 * place], limits[4 * place + 1]
        endless = limits[4 * place + 2] == -np.inf and limits[4 * place + 3] == np.inf
        new, known = _certain_sign(limits, place), _decided(limits, place)
        if new == 0 and low <= high:  # otherwise it has no value there
            if not known and width > SHORTEST_PART:
                width *= 0.5
                continue
            _watched(system, control, t, h, y, right, room, counts)
            new = _sign_of(room.values[k])
        elif new != 0 and endless:
            _watched(system, control, t, h, y, right, room, counts)
            if room.values[k] != room.values[k]:  # it ends in this part
                return False
        if new * sign < 0:
            return False
        sign = new if new != 0 else sign
        left, width = right, 2.0 * width
    return True


@part
def _seen_without_change(room: Room, k: int, sign: int) -> bool:
    """Whether a function is smooth in its samples, has one sign there, and does not turn back near zero: `changes.sign_changes`."""
    samples = room.samples
    if not _smooth(samples, k, MORE_WEIGHTS):
        return False
    for i in range(SAMPLES):
        new = _sign_of(samples[i, k])
        if new * sign < 0:
            return False
        sign = new if new != 0 else sign
    for i in range(SAMPLES - 2):
        a, b, c = samples[i, k], samples[i + 1, k], samples[i + 2, k]
        same = _sign_of(b) != 0 and _sign_of(a) == _sign_of(b) and _sign_of(b) == _sign_of(c)
        if same and _turning_place(MORE_PLACES[i], a, MORE_PLACES[i + 1], b, MORE_PLACES[i + 2], c) != NOWHERE:
            return False
    return True
