"""Strides: many steps in machine code, each checked, until `python_loop` has to handle one of them.

Everything here is machine code without Python objects; `chetaev.numerics.methods.compiled_stepper` calls it.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.compiled_steps.checks import leaps_over_nothing, level, no_root
from chetaev.numerics.methods.compiled_steps.codes import (
    ACCEPTED,
    BEFORE,
    BEFORE_ERROR,
    END,
    ERROR,
    EVALUATIONS,
    FAR,
    INSIDE_EVERY,
    KEEPING,
    KEPT,
    LAST,
    LOOK,
    MOST,
    NEW,
    NEXT,
    NOW,
    PROJECTIONS,
    PROPOSED,
    REJECTED,
    STATUS,
)
from chetaev.numerics.methods.compiled_steps.polynomial import bend, state_and_rate_at
from chetaev.numerics.methods.compiled_steps.radau import radau_step
from chetaev.numerics.methods.compiled_steps.series import meets_rates, series_step
from chetaev.numerics.methods.compiled_steps.sizes import remember
from chetaev.numerics.methods.compiled_steps.types import Kept, Newton, Path, Room
from chetaev.numerics.methods.dop853.calls import call, copy, settle
from chetaev.numerics.methods.dop853.codes import AMONG as OF_KIND
from chetaev.numerics.methods.dop853.codes import CHANGE, FINISHED, INTEGRAL, INTERRUPTED, LATEST, NO_ROOM, OFF, RUNNING, SLOPE, SPACE, WHEN
from chetaev.numerics.methods.dop853.dense import doubt
from chetaev.numerics.methods.dop853.scale_constants import DIGITS, FIRST_PLACE, GOLDEN_PART, MUCH_SHORTER, PLACES
from chetaev.numerics.methods.dop853.scales import EPSILON
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, Seen, System, Tube, Watches


@inner
def _before_step(path: Path, kept: Kept, flag: Integers) -> int:
    """Why the stride must end before its next step, or RUNNING."""
    counts = path.counts
    if path.clock[NOW] == path.clock[END]:
        return FINISHED
    if flag[0] != 0:
        return INTERRUPTED
    if counts[KEPT] >= kept.nodes.size or counts[ACCEPTED] + counts[REJECTED] >= counts[MOST]:
        return NO_ROOM
    return RUNNING


@inner
def _quiet(system: System, control: Control, watches: Watches, path: Path, room: Room, tube: Tube) -> bool:
    """Project the end of the trial step; whether the step is quiet (`checks`)."""
    t, t_new, y, counts = path.clock[NOW], path.clock[NEW], path.y, path.counts
    h = t_new - t
    copy(room.free, room.end)
    if system.project != 0:
        far, calls = settle(system, control, t_new, h, room.end, room.trial, FAR)
        counts[PROJECTIONS] += calls
        if not far <= FAR:
            return False
        bend(room)
    if tube.nodes != 0 and not leaps_over_nothing(system, t, h, y, room, tube):
        return False
    if tube.determinant != 0 and not level(system, control, t, h, y, room, tube, counts):
        return False
    if watches.floor.size > 0:
        call(system.watch, system, t_new, room.end, room.after)
        return no_root(system, control, watches, t, h, y, path.signs, room, tube, counts)
    return True


@inner
def _commit(system: System, control: Control, watches: Watches, path: Path, room: Room, kept: Kept, seen: Seen) -> None:
    """Add a quiet step to the run."""
    clock, counts, y = path.clock, path.counts, path.y
    h, size = clock[NEW] - clock[NOW], counts[KEPT]
    kept.nodes[size] = clock[NEW]
    copy(room.end, kept.states[size])
    if counts[KEEPING] != 0:
        for k in range(room.order):
            for j in range(y.size):
                kept.rows[size, k, j] = room.rows[j, k]
    its_turn = counts[KEPT] % INSIDE_EVERY == 0
    if its_turn or abs(h) < MUCH_SHORTER * seen.roots[SPACE]:  # a narrow feature begins
        _compare_inside(system, clock[NOW], h, y, size, INSIDE_EVERY if its_turn else 1, room, seen)
        seen.roots[SPACE] = abs(h)
        counts[EVALUATIONS] += 1
    counts[KEPT] += 1
    counts[ACCEPTED] += 1
    for k in range(watches.floor.size):
        if room.after[k] > 0.0 or room.after[k] < 0.0:
            path.signs[k] = 1 if room.after[k] > 0.0 else -1
    for j in range(y.size):
        seen.minima[j], seen.maxima[j] = min(seen.minima[j], room.end[j]), max(seen.maxima[j], room.end[j])
        if abs(room.end[j]) > control.rows[OF_KIND, j]:
            for i in range(y.size):
                if control.kinds[i] == control.kinds[j]:
                    control.rows[OF_KIND, i] = max(control.rows[OF_KIND, i], abs(room.end[j]))
    call(system.measure, system, clock[NEW], room.end, room.residuals)
    for j in range(seen.measured.size):
        size_of = abs(room.residuals[j])
        if size_of > seen.measured[j] or size_of != size_of:
            seen.measured[j] = size_of
    root = np.sqrt(np.sqrt(abs(room.residuals[room.residuals.size - 1])))
    if root < np.inf:
        seen.roots[INTEGRAL] += abs(h) * min(seen.roots[LATEST], root)
        seen.roots[LATEST] = root
    remember(path.scales, room.end)
    _advance(path)
    copy(room.end, y)


@inner
def _compare_inside(system: System, t: float, h: float, y: Array, number: int, steps: int, room: Room, seen: Seen) -> None:
    """How far the polynomial of a step is from following the equations at one place, as `dop853.dense.compare_inside` finds it.

    Its round-off counts for `steps` steps.
    """
    inside = seen.inside
    theta = FIRST_PLACE + PLACES * ((GOLDEN_PART * (number + 1)) % 1.0)
    at = t + theta * h
    state_and_rate_at(y, room, theta, h, room.trial, inside[SLOPE])
    call(system.rhs, system, at, room.trial, room.place)
    for j in range(y.size):
        rate = room.place[j]
        off = abs(h * (inside[SLOPE, j] - rate)) - DIGITS * EPSILON * abs(at * rate)
        if inside[OFF, j] < off < np.inf:
            inside[OFF, j], inside[CHANGE, j], inside[WHEN, j] = off, abs(h * rate), at
    if system.doubting != 0:
        for j in range(y.size):
            room.trial[j] *= 1.0 + (EPSILON if (j + number) % 2 else -EPSILON)
        call(system.doubting, system, at * (1.0 + EPSILON), room.trial, inside[SLOPE])
        doubt(inside, h, room.place, steps)


@inner
def _advance(path: Path) -> None:
    """Advance the clock to the end of the step."""
    clock = path.clock
    h = clock[NEW] - clock[NOW]
    clock[BEFORE], clock[BEFORE_ERROR], clock[LAST] = abs(h), clock[ERROR], h
    clock[NOW], clock[NEXT] = clock[NEW], clock[PROPOSED]


def series_trial(system: System, series: int, control: Control, path: Path, room: Room) -> None:
    """Make one step of a series without checks, and move the run to its end."""
    path.counts[STATUS] = series_step(system, series, control, path, room)
    if path.counts[STATUS] == RUNNING:
        remember(path.scales, room.free)
        _advance(path)
        copy(room.free, path.y)


def series_stride(
    system: System,
    series: int,
    control: Control,
    watches: Watches,
    flag: Integers,
    path: Path,
    room: Room,
    tube: Tube,
    kept: Kept,
    seen: Seen,
) -> None:
    """Make quiet steps of a series; end before the first step that is not quiet."""
    status = RUNNING
    while status == RUNNING:
        status = _before_step(path, kept, flag)
        if status == RUNNING:
            status = series_step(system, series, control, path, room)
        if status == RUNNING:
            same_branch = room.seam == 0.0 or meets_rates(system, control, path, room)
            if same_branch and _quiet(system, control, watches, path, room, tube):
                _commit(system, control, watches, path, room, kept, seen)
            else:
                status = LOOK
    path.counts[STATUS] = status


@inner
def _remember_polynomial(path: Path, room: Room, newton: Newton) -> None:
    """Keep the polynomial of a step, where it begins, and its estimated errors, for the next one."""
    copy(path.y, newton.past)
    copy(newton.error, newton.error_before)
    for j in range(path.y.size):
        copy(room.rows[j], newton.before[j])


def radau_trial(system: System, slopes: int, control: Control, path: Path, room: Room, newton: Newton) -> None:
    """Make one accurate step of Radau IIA without checks, and move the run to its end."""
    path.counts[STATUS] = radau_step(system, slopes, control, path, room, newton)
    if path.counts[STATUS] == RUNNING:
        _remember_polynomial(path, room, newton)
        remember(path.scales, room.free)
        _advance(path)
        copy(room.free, path.y)


def radau_stride(
    system: System,
    slopes: int,
    control: Control,
    watches: Watches,
    flag: Integers,
    path: Path,
    room: Room,
    tube: Tube,
    kept: Kept,
    seen: Seen,
    newton: Newton,
) -> None:
    """Make quiet steps of Radau IIA; end before the first step that is not quiet."""
    status = RUNNING
    while status == RUNNING:
        status = _before_step(path, kept, flag)
        if status == RUNNING:
            status = radau_step(system, slopes, control, path, room, newton)
        if status == RUNNING:
            if _quiet(system, control, watches, path, room, tube):
                _remember_polynomial(path, room, newton)
                _commit(system, control, watches, path, room, kept, seen)
            else:
                path.clock[NEXT] = abs(path.clock[NEW] - path.clock[NOW])
                status = LOOK
    path.counts[STATUS] = status
