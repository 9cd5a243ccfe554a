"""The compiled loop over lanes: members of an ensemble side by side, each with its own time and its own steps.

A trial step is made in all lanes at once, with the arithmetic of the loop for one state (`dop853.loop`), operation by operation. Most steps
are ordinary: accurate, or rejected for the first time; the projection moves little, no watched function changes its sign, the step leaps
over nothing. These are decided here. All other steps are left to the loop for one state, which repeats the step from its beginning and
returns the run. So a member has the same bits as in a separate run, in any lane and with any neighbours. A lane whose member has ended
takes the next one. Lanes begin members, and compare inside steps, at different times; so members begin ahead of their turn, and comparisons
are collected, until there are enough of them for all columns of a table (`starts`, `inside_steps`).
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.lane_rows import (
    LANES,
    adopt,
    call_lanes,
    column_in,
    column_out,
    commit,
    ended,
    judged,
    measured,
    moment,
    moves,
    raise_among,
    reach,
    relative,
    remember,
    stage,
    totals,
)
from chetaev.numerics.machine.native import inner, part
from chetaev.numerics.methods.dop853 import codes, location
from chetaev.numerics.methods.dop853 import tableau as c8
from chetaev.numerics.methods.dop853.calls import HUGE, SQUARE_SETTLED
from chetaev.numerics.methods.dop853.codes import (
    ACCEPTED,
    EVALUATIONS,
    KEPT,
    LATELY,
    MOST_BEYOND_SEEN,
    NOTHING,
    RADIAN,
    REJECTED,
    SLACK,
    TIMES,
)
from chetaev.numerics.methods.dop853.enclosure.proof import CLOSE, MARGIN, PARABOLA, sign_of
from chetaev.numerics.methods.dop853.enclosure.tube import STAGES, safe_part
from chetaev.numerics.methods.dop853.scale_constants import FURTHER, MEMORY, MUCH_LARGER, SMALL_PART, TINY, WEIGHT
from chetaev.numerics.methods.dop853.scales import EPSILON, fold
from chetaev.numerics.methods.dop853.step import FAR, GROWS, SAFETY, SUSPECT
from chetaev.numerics.methods.dop853.types import Array, Matrix, Results, Stack, Tube, Watches
from chetaev.numerics.methods.dop853.watched_functions import CLEAR
from chetaev.numerics.methods.lanes.calls import call, call_ends, call_stages
from chetaev.numerics.methods.lanes.control import (
    accurate,
    any_above,
    corrected,
    count_lanes,
    counted,
    lanes_where,
    lowest_lane,
    not_finite,
    onwards,
    prepare,
    quiet,
    to_correct,
)
from chetaev.numerics.methods.lanes.dense import interpolants, states_at_times
from chetaev.numerics.methods.lanes.inside_steps import changes_inside, compare_together, remember_step
from chetaev.numerics.methods.lanes.lane_transfer import begin, finish, go_on, take_step
from chetaev.numerics.methods.lanes.layout import (
    ALIVE,
    AT,
    COUNT,
    DETOURS,
    ERROR,
    EXTRA,
    FINITE,
    FIRST,
    FIVE,
    FURTHER_OFF,
    GREW,
    GROWTH,
    INACCURATE,
    INTEGRAL,
    LATEST,
    MASK,
    MEMBER,
    NEEDED,
    NEW_WORST,
    PAST_STEP,
    PREVIOUS,
    READY,
    SIZE,
    STEP,
    T_NEW,
    THREE,
    WORST,
    H,
    One,
    Places,
    T,
    Tables,
    Task,
    Wide,
)
from chetaev.numerics.methods.lanes.starts import begin_together, take_new

_NEVER = 2**62
"""A number of steps that no run reaches."""
_SEVERAL = 16
"""A member stays in the loop for one state after this many steps there, if these are a fifth of its steps."""
_TOO_FEW = 2
"""Number of remaining members for which lanes are no longer used: a step in all lanes takes as long as two or three steps of one state."""

_decided, _turns_through = part(location.decided), part(location.turns_through)


@inner
def _try(wide: Wide, m: Matrix, at: Places, first_input: int, rtol: float) -> None:
    """A trial step in all lanes up to its error: stages, and the end in `free` and `end`."""
    x, y, k, n = m.ctypes, at.y, at.k, at.n
    if wide.stages == 0 or call_stages(wide.stages, m.ctypes, T, STEP, y, at.p, k, at.total) == 0:
        _one_by_one(wide, m, at, first_input)
        totals(x, at.total, k, n, c8.B)
        totals(x, at.fifth, k, n, c8.E5)
        totals(x, at.third, k, n, c8.E3)
    moment(x, AT, T, STEP, 1.0)
    sums, sizes = (at.total, at.fifth, at.third), (at.absolute, at.sizes, at.noise)
    ended(x, sums, n, y, (at.free, at.end), sizes, STEP, FINITE, FIVE, THREE, (rtol, WEIGHT, TINY))
    judged(x, FIVE, THREE, STEP, ERROR, GROWTH, (float(n), GROWS, SAFETY, 1.0 / 3.0))


@inner
def _one_by_one(wide: Wide, m: Matrix, at: Places, first_input: int) -> None:
    """Stages 1-11 by calls of the right-hand side."""
    x, f, y, z, k, n = m.ctypes, wide.rhs, at.y, at.stage, at.k, at.n
    stage(x, z, y, STEP, k, n, c8.A1)
    moment(x, AT, T, STEP, c8.C1)
    call(f, wide, m, at, first_input, AT, z, k + n)
    stage(x, z, y, STEP, k, n, c8.A2)
    moment(x, AT, T, STEP, c8.C2)
    call(f, wide, m, at, first_input, AT, z, k + 2 * n)
    stage(x, z, y, STEP, k, n, c8.A3)
    moment(x, AT, T, STEP, c8.C3)
    call(f, wide, m, at, first_input, AT, z, k + 3 * n)
    stage(x, z, y, STEP, k, n, c8.A4)
    moment(x, AT, T, STEP, c8.C4)
    call(f, wide, m, at, first_input, AT, z, k + 4 * n)
    stage(x, z, y, STEP, k, n, c8.A5)
    moment(x, AT, T, STEP, c8.C5)
    call(f, wide, m, at, first_input, AT, z, k + 5 * n)
    stage(x, z, y, STEP, k, n, c8.A6)
    moment(x, AT, T, STEP, c8.C6)
    call(f, wide, m, at, first_input, AT, z, k + 6 * n)
    stage(x, z, y, STEP, k, n, c8.A7)
    moment(x, AT, T, STEP, c8.C7)
    call(f, wide, m, at, first_input, AT, z, k + 7 * n)
    stage(x, z, y, STEP, k, n, c8.A8)
    moment(x, AT, T, STEP, c8.C8)
    call(f, wide, m, at, first_input, AT, z, k + 8 * n)
    stage(x, z, y, STEP, k, n, c8.A9)
    moment(x, AT, T, STEP, c8.C9)
    call(f, wide, m, at, first_input, AT, z, k + 9 * n)
    stage(x, z, y, STEP, k, n, c8.A10)
    moment(x, AT, T, STEP, c8.C10)
    call(f, wide, m, at, first_input, AT, z, k + 10 * n)
    stage(x, z, y, STEP, k, n, c8.A11)
    moment(x, AT, T, STEP, 1.0)
    call(f, wide, m, at, first_input, AT, z, k + 11 * n)


@part
def _fold(m: Matrix, at: Places, one: One) -> None:
    """Subtract whole turns from the angles of steps just made, as `dop853.scales`."""
    y, rows = one.work.start, one.control.rows
    for lane in range(LANES):
        if m[MASK, lane] != 0.0:
            column_out(m.ctypes, at.y, at.n, lane, y.ctypes)
            column_out(m.ctypes, at.turns, at.n, lane, rows[codes.TURNS].ctypes)
            fold(rows, y)
            column_in(m.ctypes, at.y, at.n, lane, y.ctypes)
            column_in(m.ctypes, at.turns, at.n, lane, rows[codes.TURNS].ctypes)


@part
def _reject(m: Matrix, at: Places) -> bool:
    """Rejections for the first time; MASK is 1 in lanes with an accurate step and 2 where the loop for one state must decide. Whether
    some step is accurate.
    """
    found = False
    for lane in range(LANES):
        if m[MASK, lane] == 0.0:
            continue
        error = m[ERROR, lane]
        if not (abs(error) < np.inf and m[FINITE, lane] == 0.0 and m[FIVE, lane] < HUGE**2 and m[THREE, lane] < HUGE**2):
            m[MASK, lane] = 2.0
        elif error > 1.0:
            if m[INACCURATE, lane] != 0.0 or error > SUSPECT:
                m[MASK, lane] = 2.0
                continue
            m[MASK, lane] = 0.0
            m[COUNT + REJECTED, lane] += 1.0
            m[COUNT + EVALUATIONS, lane] += 11.0
            m[COUNT + LATELY, lane] = m[INACCURATE, lane] = 1.0
            for j in range(at.n):
                m[at.past + j, lane] = abs(m[at.fifth + j, lane])
            m[PAST_STEP, lane] = abs(m[STEP, lane])
            m[H, lane] = m[STEP, lane] * min(0.9, m[GROWTH, lane])
        else:
            found = True
    return found


@inner
def _project(wide: Wide, m: Matrix, at: Places, first_input: int, rtol: float) -> None:
    """Project the ends of accurate steps, as `dop853.calls.settle`; MASK becomes 2 where that is not the usual small correction."""
    to_correct(m.ctypes)
    calls, going = 0, True
    while going and calls < 3:
        call(wide.project, wide, m, at, first_input, AT, at.end, at.trial)
        relative(m.ctypes, at.trial, at.end, at.among, at.n, SIZE, TINY)
        going = corrected(m.ctypes, calls == 0, float(at.n), (FAR * rtol) ** 2, HUGE**2, SQUARE_SETTLED**2)
        calls += 1
        adopt(m.ctypes, FIRST, at.trial, at.end, at.n)


@inner
def _ends(wide: Wide, m: Matrix, at: Places, first_input: int) -> None:
    """Rates, watched functions and residuals where the steps end; MASK becomes 2 where rates are not finite."""
    call_ends(wide, m, at, first_input, at.end)
    not_finite(m.ctypes)


@inner
def _around(m: Matrix, at: Places, tube: Tube) -> None:
    """Boxes around the steps."""
    for which in range(tube.columns.size):
        reach(m.ctypes, at.box, tube.columns[which], at.y, at.end, at.free, at.slope, at.k, at.n, STEP, SLACK, STAGES)
    for lane in range(LANES):
        t, later = m[T, lane], m[T, lane] + m[STEP, lane]
        m[at.box + 4 * at.n, lane], m[at.box + 4 * at.n + 1, lane] = min(t, later), max(t, later)


@inner
def _may_leap(wide: Wide, m: Matrix, at: Places) -> bool:
    """Whether one box around some step leaves open that it leaps: MASK is 3 there."""
    call_lanes(wide.nodes, m[AT:].ctypes, m[at.box :].ctypes, m[at.p :].ctypes, m[at.values :].ctypes)
    found = False
    for lane in range(LANES):
        if m[MASK, lane] != 1.0:
            continue
        worst = m[WORST, lane]
        for i in range(at.nodes):
            most, least = m[at.values + i, lane], max(m[at.values + at.nodes + i, lane], NOTHING)
            if not most <= worst * least:
                if not most <= MOST_BEYOND_SEEN * least:
                    m[MASK, lane] = 3.0
                    found = True
                    break
                worst = most / least
        m[NEW_WORST, lane] = worst
    return found


@inner
def _watch(wide: Wide, m: Matrix, at: Places, first_input: int, watches: Watches, closely: bool, boxed: bool, tube: Tube) -> None:
    """MASK becomes 2 where roots of watched functions are not excluded, 4 where one changes its sign, and 2 below a floor."""
    if closely:
        if not boxed:
            _around(m, at, tube)
        boxed = True
        call_lanes(wide.bounds, m[AT:].ctypes, m[at.box :].ctypes, m[at.p :].ctypes, m[at.limits :].ctypes)
        for lane in range(LANES):
            long = abs(m[STEP, lane]) > 1e6 * EPSILON * abs(m[T, lane])
            for which in range(watches.places.size):
                place = watches.places[which]
                if m[MASK, lane] == 1.0 and long and place >= 0 and not _decided(m[at.limits : at.limits + 4 * at.watched, lane], place):
                    m[MASK, lane] = 2.0
    if wide.determinant != 0:
        if wide.turns != 0:
            if not boxed:
                _around(m, at, tube)
            call_lanes(wide.turns, m[AT:].ctypes, m[at.box :].ctypes, m[at.p :].ctypes, m[SIZE:].ctypes)
        else:
            for lane in range(LANES):
                m[SIZE, lane] = 0.0
        for j in range(at.n):
            for lane in range(LANES):
                bend = 0.125 * m[STEP, lane] * (m[at.k + j, lane] - m[at.slope + j, lane])
                m[at.stage + j, lane] = 0.5 * (m[at.y + j, lane] + m[at.end + j, lane]) + bend
        moment(m.ctypes, PREVIOUS, T, STEP, 0.5)
        call(wide.determinant, wide, m, at, first_input, PREVIOUS, at.stage, FIRST)
        for lane in range(LANES):
            if m[MASK, lane] == 1.0 and _may_touch(m[at.before, lane], m[FIRST, lane], m[at.after, lane], m[SIZE, lane]):
                m[MASK, lane] = 2.0
    if not quiet(m.ctypes, at.after, at.signs, at.before, at.watched, watches.directions.ctypes, watches.floor.ctypes):
        _disturbed(m, at, watches)


@part
def _first_signs(m: Matrix, at: Places, closely: bool) -> None:
    """MASK becomes 2 for first steps whose watched functions may start at a root, as `dop853.watched_functions.begin` says: signs are those
    a little later there.
    """
    for lane in range(LANES):
        if m[MASK, lane] == 1.0 and m[COUNT + ACCEPTED, lane] == 0.0:
            clear = not closely
            for which in range(at.watched):
                clear &= abs(m[at.before + which, lane]) > CLEAR * abs(m[at.after + which, lane])
            if not clear:
                m[MASK, lane] = 2.0


@part
def _disturbed(m: Matrix, at: Places, watches: Watches) -> None:
    """MASK becomes 4 where a function changes its sign, and 2 where one is below its floor only."""
    for lane in range(LANES):
        if m[FIRST, lane] == 0.0:
            continue
        m[MASK, lane] = 2.0
        for which in range(at.watched):
            old, new, wanted = int(m[at.signs + which, lane]), sign_of(m[at.after + which, lane]), watches.directions[which]
            if old != 0 and new != 0 and new != old and (wanted == 0 or wanted == new):
                m[MASK, lane] = 4.0


@inner
def _may_touch(before: float, between: float, after: float, turn: float) -> bool:
    """As `dop853.enclosure.proof.may_touch`, from the determinant in three places."""
    first, middle, last = abs(before), abs(between), abs(after)
    half, bend, lower, suspicious = 0.5 * (last - first), first - 2.0 * middle + last, min(first, last), False
    if bend > 0.0 and abs(half) < (1.0 + MARGIN) * bend:
        suspicious = middle - 0.5 * half * half / bend < PARABOLA * lower or lower < CLOSE * max(first, last)
    suspicious |= not turn <= RADIAN or _turns_through(first, middle, last)
    return suspicious and before * after > 0.0


@part
def _examine(m: Matrix, at: Places, one: One) -> None:
    """Examine steps whose MASK is 3, which becomes 1 where the step leaps over nothing, and 2 otherwise."""
    counts = one.progress.counts
    for lane in range(LANES):
        if m[MASK, lane] == 3.0:
            take_step(m, at, lane, one)
            whole = safe_part(one.system, m[T, lane], m[STEP, lane], one.work.start, one.work, one.tube, counts)
            m[MASK, lane] = 1.0 if whole == 1.0 else 2.0
            m[NEW_WORST, lane] = one.tube.notes[codes.WORST]
            m[EXTRA, lane] += counts[EVALUATIONS] - m[COUNT + EVALUATIONS, lane]
            m[READY, lane] = 1.0 if one.work.ready[0] else 0.0


@inner
def _keep(wide: Wide, m: Matrix, at: Places, first_input: int, times: Array, series: Stack, one: One) -> None:
    """The states at given times in the steps just made."""
    needed = False
    for lane in range(LANES):
        m[FINITE, lane] = m[NEEDED, lane] = 0.0
        size, t_new = int(m[COUNT + KEPT, lane]), m[T_NEW, lane]
        if m[MASK, lane] == 1.0 and size < times.size and (times[size] - t_new) * m[STEP, lane] <= 0.0:
            m[NEEDED, lane] = 1.0
            needed |= times[size] != t_new
    if needed:
        interpolants(wide, m, at, first_input)
    for lane in range(LANES):
        if m[NEEDED, lane] != 0.0:
            if times[int(m[COUNT + KEPT, lane])] != m[T_NEW, lane] and m[READY, lane] == 0.0:
                m[EXTRA, lane] += 4.0 if m[FINITE, lane] != 0.0 else 3.0
            states_at_times(m, at, lane, times, series[int(m[MEMBER, lane])], one)


def integrate_lanes(wide: Wide, task: Task, results: Results, series: Stack, one: One, tables: Tables, at: Places) -> None:
    """The members of an ensemble. Each has its own p, and the same bits as in a separate run.

    `series` holds the states at the times of the task, where it keeps TIMES. `one` is room for one state.
    """
    t0, t1, y0, p, watches, flag, keep, times = task
    m, new, seen = tables
    control, tube, first_input, x, members = one.control, one.tube, one.system.first_input, m.ctypes, y0.shape[0]
    # From a plain 0, numba would first compile for this constant, and then again, what these are passed to.
    closely, following, looks = bool(False), int(0), int(0)  # noqa: UP018, RUF046
    direction, alive, fill, young = 1.0 if t1 >= t0 else -1.0, 0, True, False
    room = one.work.trial, one.seen.inside[codes.SLOPE]
    together, waiting = wide.rhs != 0 and control.first_step == 0.0 and t0 != t1, 0
    for which in range(watches.closely.size):
        closely |= watches.closely[which]
    for lane in range(LANES):
        m[ALIVE, lane] = 0.0
    for j in range(at.n):
        for lane in range(LANES):
            m[at.absolute + j, lane] = control.rows[codes.ATOL, j]
            m[at.given + j, lane] = new[at.given + j, lane] = control.rows[codes.GIVEN, j]
            m[at.bound + j, lane] = new[at.bound + j, lane] = control.rows[codes.BOUND, j]
    while True:
        if fill:
            fill, dead = False, lanes_where(x, ALIVE, 0.0)
            while dead != 0 and following < members:
                lane = lowest_lane(dead)
                if together and waiting == 0:
                    waiting = begin_together(wide, new, at, one, following, t0, t1, y0, p)
                column = following % LANES
                m[DETOURS, lane] = 0.0
                if together and new[ALIVE, column] != 0.0:
                    take_new(new, column, m, lane, at, keep, times, t0, series, results.inside)
                else:
                    begin(m, at, lane, 0 if wide.rhs != 0 else _NEVER, one, following, t0, y0[following], p[following], results, series)
                following, waiting, young = following + 1, waiting - 1, True
                if m[ALIVE, lane] != 0.0:
                    dead &= dead - 1
            alive = LANES - count_lanes(dead)
            if alive == 0:
                compare_together(wide, seen, at, one.system, room, looks, results.inside)
                return
        stuck = prepare(x, t1, direction, float(control.max_steps)) or alive <= _TOO_FEW or flag[0] != 0
        if stuck:
            for lane in range(LANES):
                m[MASK, lane] *= 4.0 if alive <= _TOO_FEW else 2.0
        else:
            _try(wide, m, at, first_input, control.rtol)
        if not stuck and (accurate(x, HUGE**2) or _reject(m, at)):
            if wide.project != 0:
                _project(wide, m, at, first_input, control.rtol)
            _ends(wide, m, at, first_input)
            if wide.nodes != 0:
                _around(m, at, tube)
                if _may_leap(wide, m, at):
                    _examine(m, at, one)
            if at.watched > 0:
                if young:
                    _first_signs(m, at, closely)
                _watch(wide, m, at, first_input, watches, closely, wide.nodes != 0, tube)
            moves(x, at.y, at.end, at.moved, at.n, FURTHER_OFF, FURTHER)
            if onwards(x, direction, control.max_step):
                changes_inside(x, MASK, at.y, at.end, at.free, at.moved, at.n, FIRST)
                asking = lanes_where(x, MASK, 5.0)
                while asking != 0:
                    remember_step(m, lowest_lane(asking), seen, looks, at, one.system.doubting != 0)
                    asking, looks = asking & (asking - 1), looks + 1
                    if looks == LANES:
                        compare_together(wide, seen, at, one.system, room, looks, results.inside)
                        looks = 0
            young = young and (lanes_where(x, COUNT + ACCEPTED, 0.0) & lanes_where(x, MASK, 0.0)) != 0
        if any_above(x, MASK, 1.0):
            compare_together(wide, seen, at, one.system, room, looks, results.inside)
            looks = 0
            for lane in range(LANES):
                if m[MASK, lane] >= 2.0:
                    m[DETOURS, lane] += 1.0
                    often = m[DETOURS, lane] > _SEVERAL and 5.0 * m[DETOURS, lane] > m[COUNT + ACCEPTED, lane]
                    most = _NEVER if often or m[MASK, lane] == 4.0 else int(m[COUNT + ACCEPTED, lane]) + 1
                    go_on(m, at, lane, most, one, results, series)
                    m[MASK, lane] = 0.0
                    fill = True
        if remember(x, MASK, at.largest, at.sizes, at.given, at.among, at.end, at.n, GREW, (MEMORY, SMALL_PART, MUCH_LARGER)):
            raise_among(x, GREW, at.end, at.among, at.n, control.kinds.ctypes, at.stage)
        if keep == TIMES:  # after the sizes are known by which projections are measured
            _keep(wide, m, at, first_input, times, series, one)
        if commit(x, MASK, at.y, at.end, at.k, at.slope, at.minima, at.maxima, at.bound, at.turns, codes.DOUBLE_TURN, at.n):
            _fold(m, at, one)
        if at.residual > 0:
            measured(x, MASK, at.residuals, at.measured, at.residual, STEP, INTEGRAL, LATEST)
        if counted(x, t1, float(at.nodes)):
            fill, ended = True, lanes_where(x, MASK, 1.0) & lanes_where(x, T, t1)
            while ended != 0:
                finish(m, at, lowest_lane(ended), one, results)
                ended &= ended - 1
