r"""Watched functions: their changes of sign within a step, found and recorded.

A change of sign from one end of a step to the other is located on the interpolant. How often a function that is watched closely changes its
sign on the way is proved by bounds over the tube of the step (`roots`). Where there are none, because the function contains unknowns that
are no part of the state, it is evaluated inside the step, at `PLACES`. The step is too long

- if the polynomial of degree 4 through every second value does not agree with the values between, up to a tenth of the largest one: then
  the samples do not resolve the function, and half of the step is tried. A function that is not resolved after `_HALVINGS` halvings either
  is rough: it jumps, or is round-off. From then on only the ends of steps are used, until samples resolve it again;
- if the signs of the values change more than once;
- if a parabola through three values, refined, finds a value of the other sign between them: the function touches zero and turns back.

In the last two cases the step is shortened so that it contains one change of sign. At a corner, where the argument of abs changes its sign,
which is watched closely for this purpose, the step ends if a function has another sign there than beside it, or is not resolved.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import inner, part, rare
from chetaev.numerics.methods.dop853 import location
from chetaev.numerics.methods.dop853.calls import call, copy, settle
from chetaev.numerics.methods.dop853.codes import (
    AGAIN,
    BEFORE,
    CORNER,
    FLOOR,
    FOUND,
    FURTHER,
    LEAST_GRAINS,
    POLE_RATIO,
    PROJECTIONS,
    ROOT_AT_START,
    RUNNING,
    SAMPLES,
    STOPPER,
    WATCH,
)
from chetaev.numerics.methods.dop853.dense import cut, interpolant, state
from chetaev.numerics.methods.dop853.enclosure.proof import proved_part, sign_of, watched_at
from chetaev.numerics.methods.dop853.location import NOWHERE, PLACES, REFINEMENTS, ROOT, WEIGHTS
from chetaev.numerics.methods.dop853.scales import EPSILON, make_whole
from chetaev.numerics.methods.dop853.types import Array, Control, Found, Integers, System, Tube, Watches, Work

_NEVER = 2.0
"""A value of theta for "no root in the step": theta is between 0 and 1."""
_HALVINGS = 12.0
"""Most halvings of a step in order to resolve a function."""
_POLE = 1e2
"""A function that changes its sign has a pole there, and no root, if its values on both sides are `_POLE` times larger than those at the
ends of the step and decrease with the distance (`POLE_RATIO`). The second condition excludes jumps, whose values may be that large too."""
CLEAR = 1e-3
"""A function whose value at the start is at least this part of its value at the end of the first step does not start at its root."""
_BEYOND = 1e-4
"""A step that ends at a corner because samples did not resolve a function extends beyond the corner by this part of itself, so that the
next step does not contain the corner."""
_EARLY_ROOT, _OVERSHOT = 0.5, 10.0
"""A root before `_EARLY_ROOT` of a step is located in a new, shorter step if the step ends with values `_OVERSHOT` times larger than any
before: the error of the step is relative to these. Equations have no meaning beyond the surface where they end, and may lead anywhere
there."""
_AGAIN = 1.05
"""Length of that step relative to the distance of the root."""

_smooth, _bracket_place = part(location.smooth), part(location.bracket_place)
_turning_place, _turning_closer = part(location.turning_place), part(location.turning_closer)


@part
def _place(system: System, control: Control, t: float, h: float, y: Array, theta: float, out: Array, work: Work, counts: Integers) -> None:
    """The state at theta of the step, projected."""
    state(y, work.dense, theta, out)
    if system.project != 0:
        _, calls = settle(system, control, t + theta * h, h, out, work.trial, np.inf)
        counts[PROJECTIONS] += calls


# ------------------------------------------------------------ is the step short enough?


@inner
def begin(system: System, control: Control, t: float, h: float, y: Array, closely: bool, work: Work, counts: Integers) -> float:
    """The signs at the start of the first step, which are those a little later: a function that starts at its root does not fire.

    Returns how much later, in steps. Functions that are not watched closely, and change little compared to their first value, are evaluated
    at the start only.
    """
    call(system.watch, system, t, y, work.before)
    clear = not closely
    for which in range(work.signs.size):
        work.signs[which] = sign_of(work.before[which])
        clear &= abs(work.before[which]) > CLEAR * abs(work.after[which])
    if clear:
        return 0.0
    left = max(ROOT_AT_START, min(0.5, 16.0 * EPSILON * abs(t / h)))
    interpolant(system, t, h, y, work, counts)
    _place(system, control, t, h, y, left, work.stage, work, counts)
    call(system.watch, system, t + left * h, work.stage, work.before)
    for which in range(work.signs.size):
        work.signs[which] = sign_of(work.before[which])
    return left


@part
def any_closely(watches: Watches) -> bool:
    """Whether any function is watched closely."""
    found = False
    for which in range(watches.closely.size):
        found |= watches.closely[which]
    return found


@part
def any_sampled(watches: Watches) -> bool:
    """Has any function that is watched closely no bounds?"""
    found = False
    for which in range(watches.closely.size):
        found |= watches.closely[which] and watches.places[which] < 0 and watches.directions[which] != CORNER
    return found


@rare
def resolved_part(system: System, watches: Watches, t: float, h: float, y: Array, work: Work, tube: Tube, counts: Integers) -> float:
    """The part of the step in which every function that is watched closely changes its sign once at most; 1 = the whole.

    `before` and `after` hold the values at both ends.
    """
    found = proved_part(system, watches, t, h, y, work, tube, counts) if tube.bounds != 0 else 1.0
    return min(found, _sampled_part(system, watches, t, h, y, work, counts)) if any_sampled(watches) else found


@part
def _sampled_part(system: System, watches: Watches, t: float, h: float, y: Array, work: Work, counts: Integers) -> float:
    """As `resolved_part`, for functions without bounds."""
    interpolant(system, t, h, y, work, counts)
    samples, last, found = work.samples, SAMPLES - 1, 1.0
    copy(work.before, samples[0])
    copy(work.after, samples[last])
    for i in range(1, last):
        watched_at(system, t, h, y, PLACES[i], work, samples[i])
    for which in range(watches.closely.size):
        if watches.closely[which] and watches.places[which] < 0:
            smooth = _smooth(work.samples, which, WEIGHTS)
            bend = _NEVER if watches.directions[which] == CORNER else _bend(system, watches, t, h, y, work, which, smooth)
            if bend < 1.0:
                found = min(found, bend)
            elif smooth or bend == 1.0:
                work.rough[which] = 0.0
                found = min(found, _part_with_one_change(system, t, h, y, work, which))
            elif work.rough[which] < _HALVINGS:
                work.rough[which] += 1.0
                found = min(found, 0.5)
    return found


@part
def _part_with_one_change(system: System, t: float, h: float, y: Array, work: Work, which: int) -> float:
    samples, sign, changes, first, before = work.samples, work.signs[which], 0, 0, 0
    for i in range(SAMPLES):
        new = sign_of(samples[i, which]) if i > 0 else sign
        if new == 0:
            continue
        if sign != 0 and new != sign:
            changes += 1
            if changes == 2:
                return 0.5 * (PLACES[first] + PLACES[before])
            first = i
        sign, before = new, i
    for i in range(1, SAMPLES - 1):
        sign = sign_of(samples[i, which])
        if sign != 0 and sign == sign_of(samples[i - 1, which]) and sign == sign_of(samples[i + 1, which]):
            theta = _turn(system, t, h, y, work, which, i)
            if theta < 1.0:  # up to there, or if there is a change before, to where it is still the only one
                return PLACES[i - 1] if changes == 1 and i > first else theta
    return 1.0


@part
def _bend(system: System, watches: Watches, t: float, h: float, y: Array, work: Work, which: int, smooth: bool) -> float:
    """Where the step should end because of a corner: the first one at which a function has the other sign than beside it, or any if the
    function is not smooth; 1 = it ends there already, _NEVER = there is none.
    """
    found, samples = _NEVER, work.samples
    for corner in range(watches.directions.size):
        i = _interval_with_root(work, corner) if watches.directions[corner] == CORNER else -1
        if i >= 0:
            theta = _corner(system, t, h, y, work, corner, i)
            hidden = (
                sign_of(work.values[which]) * sign_of(samples[i, which]) < 0 < sign_of(samples[i, which]) * sign_of(samples[i + 1, which])
            )
            if hidden:
                found = min(found, theta)
            elif not smooth and theta > _BEYOND:
                found = min(found, theta + _BEYOND if theta < 1.0 - 2.0 * _BEYOND else 1.0)
    return found


@part
def _interval_with_root(work: Work, which: int) -> int:
    """The first of two neighbouring samples between which a function changes its sign; -1 = none."""
    for i in range(SAMPLES - 1):
        if sign_of(work.samples[i, which]) * sign_of(work.samples[i + 1, which]) < 0:
            return i
    return -1


@part
def _corner(system: System, t: float, h: float, y: Array, work: Work, which: int, i: int) -> float:
    """Where a function changes its sign after the i-th sample; all functions at that place are left in `work.values`."""
    left, right, sign = PLACES[i], PLACES[i + 1], sign_of(work.samples[i, which])
    while right - left > ROOT:
        theta = 0.5 * (left + right)
        watched_at(system, t, h, y, theta, work, work.values)
        if sign_of(work.values[which]) == sign:
            left = theta
        else:
            right = theta
    watched_at(system, t, h, y, right, work, work.values)
    return right


@part
def _turn(system: System, t: float, h: float, y: Array, work: Work, which: int, i: int) -> float:
    """Where a function that has the same sign at three samples, the i-th in the middle, has the other one between them; 1 = nowhere."""
    a, b, c = work.samples[i - 1, which], work.samples[i, which], work.samples[i + 1, which]
    left, middle, right = PLACES[i - 1], PLACES[i], PLACES[i + 1]
    for _ in range(REFINEMENTS):
        theta = _turning_place(left, a, middle, b, right, c)
        if theta == NOWHERE:
            return 1.0
        watched_at(system, t, h, y, theta, work, work.values)
        value = work.values[which]
        if sign_of(value) == -sign_of(b):
            return theta
        left, a, middle, b, right, c = _turning_closer(left, a, middle, b, right, c, theta, value)
    return 1.0


# ------------------------------------------------------------ roots


@part
def _changed(watches: Watches, work: Work, which: int) -> bool:
    """Whether a watched function changed its sign in its direction."""
    old, new, wanted = work.signs[which], sign_of(work.after[which]), watches.directions[which]
    return old != 0 and new != 0 and new != old and (wanted == 0 or wanted == new)


@part
def quiet(watches: Watches, work: Work) -> bool:
    """Whether no watched function changes its sign; if so, update their last signs and values."""
    for which in range(watches.floor.size):
        if _changed(watches, work, which):
            return False
    for which in range(watches.floor.size):
        new = sign_of(work.after[which])
        if new != 0:
            work.signs[which] = new
        work.before[which] = work.after[which]
    return True


@part
def _root(system: System, control: Control, t: float, h: float, y: Array, left: float, which: int, work: Work, counts: Integers) -> float:
    """Where a watched function changes sign between `left` and the end of the step: the end of a bracket of width 1e-13 on the new side;
    _NEVER if it has a pole there.

    The trial states are projected, so that the state found satisfies both.
    """
    a, b, below, above = left, 1.0, work.before[which], work.after[which]
    if below == 0.0:
        return a
    radius = ROOT * 2.0 ** np.ceil(np.log2((b - a) / ROOT))
    while b - a > ROOT:
        theta = _bracket_place(a, b, below, above, radius, 1.0)
        _place(system, control, t, h, y, theta, work.stage, work, counts)
        call(system.watch, system, t + theta * h, work.stage, work.values)
        value = work.values[which]
        if value * above > 0.0:
            b, above = theta, value
        elif value * below > 0.0:
            a, below = theta, value
        elif value == 0.0:
            return theta
        else:  # no number: the root is where the new side begins
            a = theta
        radius *= 0.5
    least = min(abs(below), abs(above))
    if least > _POLE * max(abs(work.before[which]), abs(work.after[which])):  # a pole, or a root where the function is tiny elsewhere
        aside = FURTHER * max(ROOT, LEAST_GRAINS * EPSILON * abs(t / h))
        later = b + aside < 1.0
        theta, nearest = (b + aside, above) if later else (a - aside, below)
        _place(system, control, t, h, y, theta, work.stage, work, counts)
        call(system.watch, system, t + theta * h, work.stage, work.values)
        return _NEVER if abs(work.values[which]) < POLE_RATIO * abs(nearest) else b
    return b


@part
def _roots(
    system: System, control: Control, watches: Watches, t: float, h: float, y: Array, left: float, work: Work, counts: Integers
) -> int:
    """The roots in the step in `work.roots`, the sign memory renewed; the terminal function whose root is the earliest, or -1."""
    stop = -1
    for which in range(watches.floor.size):
        work.roots[which] = _NEVER
        if _changed(watches, work, which):
            work.roots[which] = _root(system, control, t, h, y, left, which, work, counts)
            if watches.terminal[which] and work.roots[which] < _NEVER and (stop < 0 or work.roots[which] < work.roots[stop]):
                stop = which
        new = sign_of(work.after[which])
        if new != 0:
            work.signs[which] = new
    return stop


@part
def _next_found(watches: Watches, roots: Array, limit: float) -> int:
    """The earliest root of a function that is not terminal, up to a limit; -1 = none."""
    found = -1
    for which in range(roots.size):
        if not watches.terminal[which] and roots[which] <= limit and (found < 0 or roots[which] < roots[found]):
            found = which
    return found


@part
def below_floor(watches: Watches, values: Array) -> int:
    """A function that is smaller than its floor; -1 = none."""
    for which in range(values.size):
        if abs(values[which]) < watches.floor[which]:
            return which
    return -1


@part
def _overshot(control: Control, y: Array, work: Work, theta: float) -> bool:
    """Whether a step ends with values that are much larger than those up to a root."""
    state(y, work.dense, theta, work.stage)
    found = False
    for j in range(y.size):
        found |= abs(work.end[j]) > _OVERSHOT * max(abs(y[j]), abs(work.stage[j]), control.rows[BEFORE, j])
    return found


@rare
def look(
    system: System,
    control: Control,
    watches: Watches,
    t: float,
    t_new: float,
    y: Array,
    left: float,
    retry: bool,
    found: Found,
    work: Work,
    counts: Integers,
) -> tuple[int, float]:
    """The watched functions over an accepted step in which one changes its sign: status and where the step ends now. Roots are recorded."""
    h, saved = t_new - t, work.samples[0]
    interpolant(system, t, h, y, work, counts)
    for which in range(work.signs.size):
        saved[which] = work.signs[which]
    stop = _roots(system, control, watches, t, h, y, left, work, counts)
    early = stop >= 0 and retry and work.roots[stop] < _EARLY_ROOT and work.roots[stop] * abs(h) > 100.0 * EPSILON * abs(t)
    if early and _overshot(control, y, work, work.roots[stop]):
        for which in range(work.signs.size):
            work.signs[which] = int(saved[which])
        return AGAIN, t + _AGAIN * work.roots[stop] * h
    copy(work.after, work.before)
    limit = 1.0 if stop < 0 else work.roots[stop]
    which = _next_found(watches, work.roots, limit)
    while which >= 0:
        if counts[FOUND] < found.times.size:
            _place(system, control, t, h, y, work.roots[which], work.stage, work, counts)
            make_whole(system, control, t + work.roots[which] * h, work.stage, work.trial)
            _record(found, t + work.roots[which] * h, which, work.stage, counts)
        work.roots[which] = _NEVER
        which = _next_found(watches, work.roots, limit)
    if stop >= 0:
        _place(system, control, t, h, y, limit, work.end, work, counts)
        cut(y, work.dense, limit, work.end, work.room[:8], work.room[8:])
        counts[STOPPER] = stop
        return WATCH, t + limit * h
    low = below_floor(watches, work.after)
    counts[STOPPER] = low
    return (FLOOR if low >= 0 else RUNNING), t_new


@part
def _record(found: Found, t: float, which: int, y: Array, counts: Integers) -> None:
    size = counts[FOUND]
    found.times[size], found.indices[size] = t, which
    copy(y, found.states[size])
    counts[FOUND] += 1
