"""The compiled loop of DOP853: steps, and what is kept of them.

Everything here is machine code without Python objects; `chetaev.numerics.methods.dop853` has the functions that call it. Nothing is
allocated: where there is no room to keep more, or after a number of steps, a run pauses and can be resumed.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import call_kernel, copy_fresh, copy_row, inner, part, rare, widen_range
from chetaev.numerics.methods.dop853.calls import call, copy, finite
from chetaev.numerics.methods.dop853.calls import settle as settle_one
from chetaev.numerics.methods.dop853.codes import (
    ACCEPTED,
    AGAIN,
    BOUND,
    CALM,
    DOUBLE_TURN,
    DRIFT,
    EVALUATIONS,
    FINISHED,
    FLOOR,
    FOUND,
    INSIDE,
    INTEGRAL,
    INTERRUPTED,
    KEPT,
    LATELY,
    LATEST,
    LEAPED_NODE,
    NEW,
    NO_ROOM,
    NODES,
    NOT_FINITE,
    NOW,
    REJECTED,
    RUNNING,
    SHORTENED,
    STATUS,
    STEP,
    STEP_TOO_SMALL,
    STEPS,
    STOPPER,
    TIMES,
    TOO_MANY_STEPS,
    TOUCHING,
    TURNS,
    WATCH,
    WORST,
)
from chetaev.numerics.methods.dop853.dense import (
    begin_comparisons,
    compare_inside,
    interpolant,
    interpolant_in_line,
    is_compared,
    rate,
    state,
)
from chetaev.numerics.methods.dop853.enclosure.proof import all_decided, level_part, may_touch
from chetaev.numerics.methods.dop853.enclosure.tube import around_in_line, may_leap, safe_part
from chetaev.numerics.methods.dop853.scale_constants import TIME_LEFT
from chetaev.numerics.methods.dop853.scales import begin_sizes, fold, make_whole, onto_rows, put_back, sizes_again, unfold
from chetaev.numerics.methods.dop853.step import ACCURATE, BROKEN, DRIFTED, EPSILON, attempt, first_step
from chetaev.numerics.methods.dop853.types import (
    Array,
    Control,
    Found,
    Integers,
    Kept,
    Matrix,
    Members,
    Plan,
    Progress,
    Records,
    Results,
    Seen,
    Stack,
    System,
    Work,
)
from chetaev.numerics.methods.dop853.watched_functions import any_closely, any_sampled, begin, below_floor, look, quiet, resolved_part

_PATIENCE = 20
"""Trial steps in a row with numbers that are not finite, after which a run ends."""
_DRIFTED = 20
"""Trial steps in a row that the projection moves too far, each half as long as the one before: a row may turn in a millionth of a step,
which the stages do not resolve and the projection does."""
_SHORTENED = 40
"""Trial steps in a row that are shortened for the sake of watched functions."""


# ------------------------------------------------------------ what is kept


@part
def _keep_start(keep: int, times: Array, kept: Kept, t: float, y: Array, counts: Integers) -> None:
    if keep in (STEPS, NODES):
        kept.nodes[0] = t
        copy(y, kept.states[0])
        counts[KEPT] = 1
    while keep == TIMES and counts[KEPT] < times.size and times[counts[KEPT]] == t:
        kept.nodes[counts[KEPT]] = t
        copy(y, kept.states[counts[KEPT]])
        counts[KEPT] += 1


@part
def _keep_step(system: System, control: Control, kept: Kept, t_new: float, work: Work, counts: Integers) -> None:
    size = counts[KEPT]
    kept.nodes[size] = t_new
    copy(work.end, work.stage)
    make_whole(system, control, t_new, work.stage, work.trial)
    copy(work.stage, kept.states[size])
    if kept.coefficients.shape[0] > 0:
        for i in range(7):
            for j in range(work.end.size):
                kept.coefficients[size - 1, i, j] = work.dense[i, j]
    counts[KEPT] += 1


@part
def _keep_times(
    times: Array, kept: Kept, system: System, control: Control, t: float, t_new: float, h: float, y: Array, work: Work, counts: Integers
) -> None:
    """The states at the times in the step from (t, y) to (t_new, end), which is h long or was cut short, on the constraints."""
    while counts[KEPT] < times.size and (times[counts[KEPT]] - t_new) * h <= 0.0:
        size = counts[KEPT]
        kept.nodes[size] = times[size]
        if times[size] == t_new:
            copy(work.end, kept.states[size])
            unfold(control.rows, kept.states[size])
        else:
            interpolant(system, t, h, y, work, counts)
            state(y, work.dense, (times[size] - t) / (t_new - t), work.stage)
            onto_rows(system, control, times[size], work.stage, work.trial)
            copy(work.stage, kept.states[size])
        counts[KEPT] += 1


@inner
def _measure(h: float, residuals: Array, seen: Seen) -> None:
    """The largest residuals (one that is no number stays), and the integral of the fourth root of the last one over the step."""
    if seen.measured.size > 0:
        for j in range(seen.measured.size):
            size = abs(residuals[j])
            if size > seen.measured[j] or size != size:
                seen.measured[j] = size
        root = np.sqrt(np.sqrt(abs(residuals[residuals.size - 1])))
        if root < np.inf:
            seen.roots[INTEGRAL] += abs(h) * min(seen.roots[LATEST], root)  # what only one end of a step shows may be a peak
            seen.roots[LATEST] = root


@inner
def _commit(
    system: System,
    control: Control,
    t: float,
    t_new: float,
    step: float,
    cut: bool,
    y: Array,
    keep: int,
    times: Array,
    records: Records,
    counts: Integers,
) -> None:
    """Add an accepted step to the run: store it as far as it is kept, and set y to its end, which may be earlier than the end of the trial
    step.

    For steps to be kept the interpolant is there.
    """
    kept, seen, work = records.kept, records.seen, records.work
    if keep in (STEPS, NODES) and t_new != t:
        _keep_step(system, control, kept, t_new, work, counts)
    elif keep == TIMES:
        _keep_times(times, kept, system, control, t, t_new, step, y, work, counts)
    width, rows = work.k.shape[1], control.rows
    copy_row(work.end.ctypes, y.ctypes, width)
    copy_fresh(work.slope.ctypes, work.k.ctypes, width)
    counts[ACCEPTED] += 1
    if widen_range(seen.minima.ctypes, seen.maxima.ctypes, y.ctypes, rows[BOUND].ctypes, rows[TURNS].ctypes, DOUBLE_TURN, width):
        fold(rows, y)
    if cut and work.residuals.size > 0:
        call(system.measure, system, t_new, y, work.residuals)
    _measure(t_new - t, work.residuals, seen)


# ------------------------------------------------------------ the loop


@inner
def _start(system: System, t: float, t1: float, y: Array, plan: Plan, records: Records, counts: Integers) -> tuple[int, float]:
    """Everything before the first step: status and size of that step. In line for the same reason as `_follow`."""
    control, _, keep, times, _ = plan
    kept, _, seen, work, tube = records
    for j in range(counts.size):
        counts[j] = 0
    counts[STOPPER] = -1
    if system.begin != 0:
        call(system.begin, system, t, y, y[y.size - system.further :])
    work.inaccurate[0] = False
    for j in range(work.rough.size):
        work.rough[j] = 0.0
    tube.notes[WORST], tube.notes[LEAPED_NODE] = 1.0, -1.0
    for j in range(y.size):
        seen.minima[j] = seen.maxima[j] = y[j]
    for j in range(seen.measured.size):
        seen.measured[j] = 0.0
    seen.roots[INTEGRAL] = seen.roots[LATEST] = 0.0
    begin_comparisons(seen, counts)
    _keep_start(keep, times, kept, t, y, counts)
    for j in range(y.size):
        control.rows[TURNS, j] = 0.0
    fold(control.rows, y)
    begin_sizes(control, y)
    call(system.rhs, system, t, y, work.k[0])
    counts[EVALUATIONS] += 1
    h, status = control.first_step * (1.0 if t1 >= t else -1.0), RUNNING
    if not (finite(y) and finite(work.k[0, : y.size])):
        status = NOT_FINITE
    elif h == 0.0 and t != t1:
        h = first_step(system, control, t, y, t1 - t, work)
        counts[EVALUATIONS] += 1
    if work.residuals.size > 0:
        call(system.measure, system, t, y, work.residuals)
    _measure(0.0, work.residuals, seen)
    return status, h


@part
def _before_step(control: Control, t: float, t1: float, h: float, counts: Integers, broken: int, drifted: int, flag: Integers) -> int:
    """Why the loop must end before the next trial step, or RUNNING."""
    if t == t1:
        return FINISHED
    if flag[0] != 0:
        return INTERRUPTED
    if drifted >= _DRIFTED:
        return DRIFT
    if broken >= _PATIENCE:
        return NOT_FINITE
    if abs(h) < 10.0 * EPSILON * abs(t) and abs(h) < abs(t1 - t):
        return NOT_FINITE if broken > 0 else STEP_TOO_SMALL
    if counts[ACCEPTED] + counts[REJECTED] >= control.max_steps:
        return TOO_MANY_STEPS
    return RUNNING


@part
def _vanishes(h: float, t: float, t1: float) -> bool:
    """Whether a step that had to be shortened is too small to be one: it is lost in the time, or in the time that is left."""
    return abs(h) < 4.0 * EPSILON * (abs(t) + TIME_LEFT * abs(t1 - t))


@inner
def _goes_on(control: Control, keep: int, kept: Kept, found: Found, watched: int, counts: Integers) -> bool:
    """Is there room for one more step, and for a root of every watched function, and no pause wanted?"""
    if counts[ACCEPTED] >= control.pause[0]:
        return False
    if keep in (STEPS, NODES) and counts[KEPT] >= kept.nodes.size:
        return False
    return found.times.size == 0 or counts[FOUND] + watched <= found.times.size


@inner
def _follow(
    system: System, t: float, t1: float, h: float, y: Array, plan: Plan, records: Records, counts: Integers
) -> tuple[int, float, float]:
    """Steps until the run ends or needs room, its state in y: status, time, size of the next step. `counts` tell whether the last trial
    step was rejected, as it may be where a lane hands over its run.

    In line: a call would pass four hundred numbers, which is as much work as a step of a
    small system.
    """
    control, watches, keep, times, flag = plan
    kept, found, seen, work, tube = records
    direction, watched, closely, sampled = 1.0 if t1 >= t else -1.0, watches.floor.size, any_closely(watches), any_sampled(watches)
    enclosed = tube.nodes != 0 or (watched > 0 and ((closely and tube.bounds != 0) or (tube.determinant != 0 and tube.turns != 0)))
    broken, drifted, shortened, again, rejected, left = 0, 0, 0, 0, counts[LATELY] != 0, 0.0
    counts[LATELY] = 0
    while True:
        status = _before_step(control, t, t1, h, counts, broken, drifted, flag)
        if status != RUNNING:
            return status, t, h
        if not _goes_on(control, keep, kept, found, watched, counts):
            return NO_ROOM, t, h
        stretched = h if shortened > 0 else 1.01 * h  # a step that is almost the last becomes it, unless it was made shorter on purpose
        last = (t + stretched - t1) * direction >= 0.0
        t_new = t1 if last else t + h
        step = t_new - t
        verdict, growth, known = attempt(system, control, t, step, y, work, seen, tube, counts)
        if verdict != ACCURATE:
            counts[REJECTED] += 1
            broken += verdict == BROKEN
            drifted += verdict == DRIFTED
            rejected, h = True, step * min(0.9, growth)
            continue
        calm = known & CALM != 0 and counts[ACCEPTED] > 0  # at the first step the values before it are not known yet
        boxed = enclosed and not calm
        if boxed:
            around_in_line(t, step, y, work, tube)
        if tube.nodes != 0 and not calm and may_leap(system, tube):
            boxed = False
            whole = safe_part(system, t, step, y, work, tube, counts)
            if whole < 1.0:
                counts[REJECTED] += 1
                counts[SHORTENED] += 1
                shortened, rejected, h = max(shortened, 1), True, step * whole
                if _vanishes(h, t, t1):
                    return STEP_TOO_SMALL, t, h
                continue
        if watched > 0:
            left = begin(system, control, t, step, y, closely, work, counts) if counts[ACCEPTED] == 0 else 0.0
            resolving = closely and shortened < _SHORTENED and abs(step) > 1e6 * EPSILON * abs(t)
            if resolving and (sampled or not (calm or (boxed and all_decided(system, watches, tube)))):
                whole, boxed = resolved_part(system, watches, t, step, y, work, tube, counts), False
                if whole < 1.0:
                    counts[REJECTED] += 1
                    shortened += 1
                    rejected, h = True, step * whole
                    continue
            if tube.determinant != 0 and not calm and may_touch(system, t, step, y, work, tube, boxed):
                whole = level_part(system, t, step, y, work, tube, counts)
                if whole < 1.0:
                    counts[REJECTED] += 1
                    shortened, rejected, h = max(shortened, 1), True, step * whole
                    if _vanishes(h / TOUCHING, t, t1):  # the determinant touches zero here, however far the pivots fell
                        counts[STOPPER] = 0
                        return FLOOR, t, h
                    continue
        proposal = abs(step) * (min(1.0, growth) if rejected else growth)
        h = direction * min(control.max_step, max(proposal, abs(h)) if last else proposal)
        broken, drifted, shortened, rejected = 0, 0, 0, False
        if watched > 0:
            if quiet(watches, work):
                low = below_floor(watches, work.after)
                if low >= 0:
                    status, counts[STOPPER] = FLOOR, low
            else:
                status, t_new = look(system, control, watches, t, t_new, y, left, again < _SHORTENED, found, work, counts)
                if status == AGAIN:
                    counts[REJECTED] += 1
                    sizes_again(control, y, seen.minima, seen.maxima)
                    shortened, again, rejected, h, status = 1, again + 1, True, t_new - t, RUNNING
                    continue
        compared = status != WATCH and is_compared(step, last, y, work.end, seen, counts, known)
        if compared or (keep == STEPS and t_new != t):
            interpolant_in_line(system, t, step, y, work, counts)
        if compared:
            compare_inside(system, t, step, y, seen, work, counts)
        _commit(system, control, t, t_new, step, status == WATCH, y, keep, times, records, counts)
        t = t_new
        if status != RUNNING:
            return status, t, h


@rare
def integrate(system: System, t1: float, y: Array, plan: Plan, records: Records, progress: Progress) -> None:
    """Integrate to t1 from a new state, or go on; arguments as `chetaev.numerics.methods.dop853.run` prepares them."""
    counts, t, h, status = progress.counts, progress.clock[NOW], progress.clock[STEP], RUNNING
    if counts[STATUS] == NEW:
        status, h = _start(system, t, t1, y, plan, records, counts)
    if status == RUNNING:
        status, t, h = _follow(system, t, t1, h, y, plan, records, counts)
    if status != NO_ROOM:
        put_back(system, plan.control, t, y, records.work.trial)
    progress.clock[NOW], progress.clock[STEP], counts[STATUS] = t, h, status


def integrate_some(
    members: Members, system: System, t0: float, t1: float, plan: Plan, records: Records, progress: Progress, results: Results
) -> None:
    """Integrate some members of an ensemble, each with its own p. They do not affect each other.

    All use the same records, one after the other. Only the ends are kept.
    """
    seen, work, tube, clock, counts = records.seen, records.work, records.tube, progress.clock, progress.counts
    y = work.start
    for i in range(members.first, members.last):
        copy(members.p[i], system.p)
        copy(members.y0[i], y)
        clock[NOW], clock[STEP], counts[STATUS] = t0, 0.0, NEW
        integrate(system, t1, y, plan, records, progress)
        results.status[i], results.index[i], results.t[i] = counts[STATUS], counts[STOPPER], clock[NOW]
        if counts[STATUS] == NO_ROOM:
            put_back(system, plan.control, clock[NOW], y, work.trial)
        copy(y, results.y[i])
        copy(seen.minima, results.minima[i])
        copy(seen.maxima, results.maxima[i])
        copy(seen.measured, results.measured[i])
        for j in range(results.counts.shape[1]):
            results.counts[i, j] = counts[j]
        results.shortened[i], results.worst[i], results.usual[i] = counts[SHORTENED], tube.notes[WORST], seen.roots[INTEGRAL]
        for k in range(INSIDE):
            copy(seen.inside[k], results.inside[i, k])


# ------------------------------------------------------------ afterwards


def interpolate(nodes: Array, states: Matrix, coefficients: Stack, times: Array, values: Matrix, rates: Matrix) -> None:
    """States and their time derivatives at given times, in any order; untouched outside the nodes. At a node the state is the node's,
    exactly.
    """
    steps = coefficients.shape[0]
    direction = 1.0 if nodes[-1] >= nodes[0] else -1.0
    for i in range(times.size):
        t = times[i]
        if not (t - nodes[0]) * (nodes[-1] - t) >= 0.0:
            continue
        low, high = 0, nodes.size
        while high - low > 1:  # nodes[low] is the last one that is not after t
            middle = (low + high) // 2
            if (t - nodes[middle]) * direction >= 0.0:
                low = middle
            else:
                high = middle
        if t == nodes[low]:
            copy(states[low], values[i])
        if steps == 0:
            continue
        step = min(low, steps - 1)
        h = nodes[step + 1] - nodes[step]
        theta = (t - nodes[step]) / h
        if t != nodes[low]:
            state(states[step], coefficients[step], theta, values[i])
        rate(coefficients[step], theta, h, rates[i])


def settle(system: System, control: Control, times: Array, states: Matrix, trial: Array, moved: Array) -> None:
    """Project states in place, as after an accepted step; how far each was moved at first, in units of the tolerance. States and the trial
    are rows with room as those of `Work`.
    """
    n = control.kinds.size
    for i in range(times.size):
        moved[i], _ = settle_one(system, control, times[i], 0.0, states[i, :n], trial[:n], 0.0)


def evaluate(address: int, times: Array, states: Matrix, p: Matrix, out: Matrix) -> None:
    """A kernel at many points."""
    for i in range(times.size):
        call_kernel(address, times[i], states[i].ctypes, p[i].ctypes, out[i].ctypes)
