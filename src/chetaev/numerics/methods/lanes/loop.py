"""The compiled loop over lanes: members of an ensemble side by side, each with its own time and its own steps.

A trial step is made in all lanes at once, with the arithmetic of the loop for one state (`dop853.loop`), operation by operation. Most steps
are ordinary: accurate, or rejected for the first time; the projection is close, nothing watched happens, no node surprises. These are
judged and made here. Whatever else a step asks for is left to the loop for one state, which makes that step again from its beginning and
hands the run back. So a member has the bits of a run of its own, whichever lane it is in and whatever its neighbours do. A member begins
in that loop, and a lane whose member has ended takes the next one.
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
    ending,
    errors,
    finite_lanes,
    judged,
    measured,
    moment,
    moves,
    raise_among,
    reach,
    relative,
    remember,
    stage,
    weighed,
)
from chetaev.numerics.machine.native import inner, part
from chetaev.numerics.methods.dop853 import codes, location
from chetaev.numerics.methods.dop853 import tableau as c8
from chetaev.numerics.methods.dop853.calls import HUGE, SQUARE_SETTLED
from chetaev.numerics.methods.dop853.codes import (
    ACCEPTED,
    BEYOND_SEEN,
    EVALUATIONS,
    FINISHED,
    KEPT,
    LATELY,
    MOVED,
    NOTHING,
    RADIAN,
    REJECTED,
    SLACK,
    TIMES,
)
from chetaev.numerics.methods.dop853.dense import interpolant, look_inside
from chetaev.numerics.methods.dop853.proof import CLOSE, MARGIN, PARABOLA, sign_of
from chetaev.numerics.methods.dop853.scale_constants import FURTHER, MEMORY, MUCH_LARGER, SMALL_PART, TINY, WEIGHT
from chetaev.numerics.methods.dop853.scales import EPSILON, fold
from chetaev.numerics.methods.dop853.step import FAR, GROWS, SAFETY, SUSPECT
from chetaev.numerics.methods.dop853.tube import STAGES, safe_part
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix, Results, Stack, Tube, Watches
from chetaev.numerics.methods.dop853.watched_functions import CLEAR
from chetaev.numerics.methods.lanes.control import accurate, corrected, counted, onwards, prepare, quiet
from chetaev.numerics.methods.lanes.lane_transfer import begin, go_on, put_seen, report, take_out, take_step
from chetaev.numerics.methods.lanes.layout import (
    ACTIVE,
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
    Wide,
)

_NEVER = 2**62
"""A number of steps that no run reaches."""
_SEVERAL = 16
"""Steps of a member that were left to the loop for one state, after which it is left there if these were a fifth of its steps."""
_TOO_FEW = 2
"""Members left with which lanes are not worth it: a step in all lanes takes as long as two or three steps of one state."""

_decided, _turns_through = part(location.decided), part(location.turns_through)


@inner
def _call(address: int, wide: Wide, m: Matrix, at: Places, first_input: int, t: int, y: int, out: int) -> None:
    """Code for all lanes at times and states in these rows, the inputs first."""
    if wide.inputs != 0:
        call_lanes(wide.inputs, m[t:].ctypes, m[y:].ctypes, m[at.p :].ctypes, m[at.p + first_input :].ctypes)
    call_lanes(address, m[t:].ctypes, m[y:].ctypes, m[at.p :].ctypes, m[out:].ctypes)


@inner
def _try(wide: Wide, m: Matrix, at: Places, first_input: int, rtol: float) -> None:
    """A trial step in all lanes up to its error: stages, and the end in `free` and `end`."""
    x, f, y, z, k, n = m.ctypes, wide.rhs, at.y, at.stage, at.k, at.n
    stage(x, z, y, STEP, k, n, c8.A1)
    moment(x, AT, T, STEP, c8.C1)
    _call(f, wide, m, at, first_input, AT, z, k + n)
    stage(x, z, y, STEP, k, n, c8.A2)
    moment(x, AT, T, STEP, c8.C2)
    _call(f, wide, m, at, first_input, AT, z, k + 2 * n)
    stage(x, z, y, STEP, k, n, c8.A3)
    moment(x, AT, T, STEP, c8.C3)
    _call(f, wide, m, at, first_input, AT, z, k + 3 * n)
    stage(x, z, y, STEP, k, n, c8.A4)
    moment(x, AT, T, STEP, c8.C4)
    _call(f, wide, m, at, first_input, AT, z, k + 4 * n)
    stage(x, z, y, STEP, k, n, c8.A5)
    moment(x, AT, T, STEP, c8.C5)
    _call(f, wide, m, at, first_input, AT, z, k + 5 * n)
    stage(x, z, y, STEP, k, n, c8.A6)
    moment(x, AT, T, STEP, c8.C6)
    _call(f, wide, m, at, first_input, AT, z, k + 6 * n)
    stage(x, z, y, STEP, k, n, c8.A7)
    moment(x, AT, T, STEP, c8.C7)
    _call(f, wide, m, at, first_input, AT, z, k + 7 * n)
    stage(x, z, y, STEP, k, n, c8.A8)
    moment(x, AT, T, STEP, c8.C8)
    _call(f, wide, m, at, first_input, AT, z, k + 8 * n)
    stage(x, z, y, STEP, k, n, c8.A9)
    moment(x, AT, T, STEP, c8.C9)
    _call(f, wide, m, at, first_input, AT, z, k + 9 * n)
    stage(x, z, y, STEP, k, n, c8.A10)
    moment(x, AT, T, STEP, c8.C10)
    _call(f, wide, m, at, first_input, AT, z, k + 10 * n)
    stage(x, z, y, STEP, k, n, c8.A11)
    moment(x, AT, T, STEP, 1.0)
    _call(f, wide, m, at, first_input, AT, z, k + 11 * n)
    ending(x, at.free, at.end, y, STEP, k, n, FINITE, c8.B)
    numbers = (rtol, WEIGHT, TINY)
    errors(x, at.fifth, k, n, y, at.free, at.absolute, at.sizes, at.noise, STEP, FIVE, THREE, numbers, c8.E5, c8.E3)
    judged(x, FIVE, THREE, STEP, ERROR, GROWTH, (float(n), GROWS, SAFETY, 1.0 / 3.0))


@inner
def _interpolants(wide: Wide, m: Matrix, at: Places, first_input: int) -> None:
    """The polynomials of the steps just made, for all lanes, as `dop853.dense.interpolant`; the row AT is left at the end of the steps."""
    x, f, y, z, k, n = m.ctypes, wide.rhs, at.y, at.stage, at.k, at.n
    _call(f, wide, m, at, first_input, AT, at.free, k + 12 * n)
    for j in range(n):
        for lane in range(LANES):
            if m[at.end + j, lane] == m[at.free + j, lane]:
                continue
            m[FINITE, lane] = 1.0  # the projection moved the state
    for lane in range(LANES):
        if m[FINITE, lane] == 0.0:
            for j in range(n):
                m[k + 12 * n + j, lane] = m[at.slope + j, lane]
    stage(x, z, y, STEP, k, n, c8.A13)
    moment(x, AT, T, STEP, c8.C13)
    _call(f, wide, m, at, first_input, AT, z, k + 13 * n)
    stage(x, z, y, STEP, k, n, c8.A14)
    moment(x, AT, T, STEP, c8.C14)
    _call(f, wide, m, at, first_input, AT, z, k + 14 * n)
    stage(x, z, y, STEP, k, n, c8.A15)
    moment(x, AT, T, STEP, c8.C15)
    _call(f, wide, m, at, first_input, AT, z, k + 15 * n)
    moment(x, AT, T, STEP, 1.0)
    d = at.dense
    for j in range(n):
        for lane in range(LANES):
            h = m[STEP, lane]
            m[d + j, lane] = m[at.end + j, lane] - m[y + j, lane]
            m[d + n + j, lane] = h * m[k + j, lane] - m[d + j, lane]
            m[d + 2 * n + j, lane] = 2.0 * m[d + j, lane] - h * (m[at.slope + j, lane] + m[k + j, lane])
    weighed(x, d + 3 * n, STEP, k, n, c8.D3)
    weighed(x, d + 4 * n, STEP, k, n, c8.D4)
    weighed(x, d + 5 * n, STEP, k, n, c8.D5)
    weighed(x, d + 6 * n, STEP, k, n, c8.D6)


@part
def _states_at_times(m: Matrix, at: Places, lane: int, times: Array, series: Matrix) -> None:
    """The states of a member at the times in its step, as `dop853.loop` keeps them."""
    t, t_new, h = m[T, lane], m[T_NEW, lane], m[STEP, lane]
    n, d = at.n, at.dense
    size = int(m[COUNT + KEPT, lane])
    while size < times.size and (times[size] - t_new) * h <= 0.0:
        if times[size] == t_new:
            for j in range(n):
                series[size, j] = m[at.end + j, lane] + m[at.turns + j, lane] * codes.DOUBLE_TURN
        else:
            theta = (times[size] - t) / (t_new - t)
            rest = 1.0 - theta
            for j in range(n):
                high = m[d + 3 * n + j, lane] + theta * (
                    m[d + 4 * n + j, lane] + rest * (m[d + 5 * n + j, lane] + theta * m[d + 6 * n + j, lane])
                )
                series[size, j] = m[at.y + j, lane] + theta * (
                    m[d + j, lane] + rest * (m[d + n + j, lane] + theta * (m[d + 2 * n + j, lane] + rest * high))
                )
                series[size, j] += m[at.turns + j, lane] * codes.DOUBLE_TURN
        size += 1
    m[COUNT + KEPT, lane] = float(size)


@part
def _fold(m: Matrix, at: Places, one: One) -> None:
    """Take whole turns out of the angles of steps just made, as `dop853.scales`."""
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
    for lane in range(LANES):
        m[ACTIVE, lane] = 1.0 if m[MASK, lane] == 1.0 else 0.0
        m[PREVIOUS, lane] = np.inf
    calls, going = 0, True
    while going and calls < 3:
        _call(wide.project, wide, m, at, first_input, AT, at.end, at.trial)
        relative(m.ctypes, at.trial, at.end, at.among, at.n, SIZE, TINY)
        going = corrected(m.ctypes, float(calls), float(at.n), rtol, FAR, HUGE**2, SQUARE_SETTLED)
        calls += 1
        adopt(m.ctypes, FIRST, at.trial, at.end, at.n)


@inner
def _ends(wide: Wide, m: Matrix, at: Places, first_input: int) -> None:
    """Rates, watched functions and residuals where the steps end."""
    if wide.ends != 0:
        _call(wide.ends, wide, m, at, first_input, AT, at.end, at.slope)
    else:
        _call(wide.rhs, wide, m, at, first_input, AT, at.end, at.slope)
        if at.watched > 0:
            _call(wide.watch, wide, m, at, first_input, AT, at.end, at.after)
        if at.residual > 0:
            _call(wide.measure, wide, m, at, first_input, AT, at.end, at.residuals)
    finite_lanes(m.ctypes, at.slope, at.n, FINITE)
    for lane in range(LANES):
        if m[MASK, lane] == 1.0 and m[FINITE, lane] != 0.0:
            m[MASK, lane] = 2.0


@inner
def _around(m: Matrix, at: Places, tube: Tube) -> None:
    """Boxes around the steps."""
    for which in range(tube.columns.size):
        reach(m.ctypes, at.box, tube.columns[which], at.y, at.end, at.free, at.slope, at.k, at.n, STEP, SLACK, STAGES)
    for lane in range(LANES):
        t, later = m[T, lane], m[T, lane] + m[STEP, lane]
        m[at.box + 4 * at.n, lane], m[at.box + 4 * at.n + 1, lane] = min(t, later), max(t, later)


@inner
def _surprises(wide: Wide, m: Matrix, at: Places) -> bool:
    """Whether the nodes of some step have to be looked at more closely than over one box: MASK is 3 there."""
    call_lanes(wide.nodes, m[AT:].ctypes, m[at.box :].ctypes, m[at.p :].ctypes, m[at.values :].ctypes)
    found = False
    for lane in range(LANES):
        if m[MASK, lane] != 1.0:
            continue
        worst = m[WORST, lane]
        for i in range(at.nodes):
            most, least = m[at.values + i, lane], max(m[at.values + at.nodes + i, lane], NOTHING)
            if not most <= worst * least:
                if not most <= BEYOND_SEEN * least:
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
        _call(wide.determinant, wide, m, at, first_input, PREVIOUS, at.stage, FIRST)
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
    """As `dop853.proof.may_touch`, from the determinant in three places."""
    first, middle, last = abs(before), abs(between), abs(after)
    half, bend, lower, suspicious = 0.5 * (last - first), first - 2.0 * middle + last, min(first, last), False
    if bend > 0.0 and abs(half) < (1.0 + MARGIN) * bend:
        suspicious = middle - 0.5 * half * half / bend < PARABOLA * lower or lower < CLOSE * max(first, last)
    suspicious |= not turn <= RADIAN or _turns_through(first, middle, last)
    return suspicious and before * after > 0.0


@part
def _look_closely(m: Matrix, at: Places, one: One) -> None:
    """Look at the nodes of steps whose MASK is 3, which becomes 1 where nothing surprises, and 2 otherwise."""
    counts = one.progress.counts
    for lane in range(LANES):
        if m[MASK, lane] == 3.0:
            take_step(m, at, lane, one)
            whole = safe_part(one.system, m[T, lane], m[STEP, lane], one.work.start, one.work, one.tube, counts)
            m[MASK, lane] = 1.0 if whole == 1.0 else 2.0
            m[NEW_WORST, lane] = one.tube.notes[codes.WORST]
            m[EXTRA, lane] += counts[EVALUATIONS] - m[COUNT + EVALUATIONS, lane]
            m[READY, lane] = 1.0 if one.work.ready[0] else 0.0


@part
def _look_inside(m: Matrix, at: Places, one: One) -> None:
    """Look inside steps whose MASK is 5, which becomes 1."""
    counts = one.progress.counts
    for lane in range(LANES):
        if m[MASK, lane] == 5.0:
            take_step(m, at, lane, one)
            interpolant(one.system, m[T, lane], m[STEP, lane], one.work.start, one.work, counts)
            look_inside(one.system, m[T, lane], m[STEP, lane], one.work.start, one.seen, one.work, counts)
            put_seen(m, at, lane, one)
            before = 0.0
            if m[READY, lane] != 0.0:  # the evaluations of the interpolant were counted before
                before = 3.0
                for j in range(at.n):
                    if m[at.end + j, lane] != m[at.free + j, lane]:
                        before = 4.0
            m[EXTRA, lane] += counts[EVALUATIONS] - m[COUNT + EVALUATIONS, lane] - before
            m[READY, lane] = 1.0
            m[MASK, lane] = 1.0


@inner
def _keep(wide: Wide, m: Matrix, at: Places, first_input: int, times: Array, series: Stack) -> None:
    """The states at given times in the steps just made."""
    needed = False
    for lane in range(LANES):
        m[FINITE, lane] = m[NEEDED, lane] = 0.0
        size, t_new = int(m[COUNT + KEPT, lane]), m[T_NEW, lane]
        if m[MASK, lane] == 1.0 and size < times.size and (times[size] - t_new) * m[STEP, lane] <= 0.0:
            m[NEEDED, lane] = 1.0
            needed |= times[size] != t_new
    if needed:
        _interpolants(wide, m, at, first_input)
    for lane in range(LANES):
        if m[NEEDED, lane] != 0.0:
            if times[int(m[COUNT + KEPT, lane])] != m[T_NEW, lane] and m[READY, lane] == 0.0:
                m[EXTRA, lane] += 4.0 if m[FINITE, lane] != 0.0 else 3.0
            _states_at_times(m, at, lane, times, series[int(m[MEMBER, lane])])


def integrate_lanes(
    members: int,
    wide: Wide,
    t0: float,
    t1: float,
    y0: Matrix,
    p: Matrix,
    watches: Watches,
    flag: Integers,
    keep: int,
    times: Array,
    results: Results,
    series: Stack,
    one: One,
    m: Matrix,
    at: Places,
) -> None:
    """The members of an ensemble: rows of y0 and p. Each has its own p, and the bits of a run of its own.

    `series` holds the states at `times`, where `keep` is TIMES. `one` is room for one state.
    """
    control, tube, first_input, x = one.control, one.tube, one.system.first_input, m.ctypes
    direction, closely, following, alive, fill, young = 1.0 if t1 >= t0 else -1.0, False, 0, 0, True, False
    for which in range(watches.closely.size):
        closely |= watches.closely[which]
    for lane in range(LANES):
        m[ALIVE, lane] = 0.0
        for j in range(at.n):
            m[at.absolute + j, lane], m[at.given + j, lane] = control.rows[codes.ATOL, j], control.rows[codes.GIVEN, j]
            m[at.bound + j, lane] = control.rows[codes.BOUND, j]
    while True:
        if fill:
            alive, fill = 0, False
            for lane in range(LANES):
                while m[ALIVE, lane] == 0.0 and following < members:
                    m[DETOURS, lane] = 0.0
                    begin(m, at, lane, 0 if wide.rhs != 0 else _NEVER, one, following, t0, y0[following], p[following], results, series)
                    following, young = following + 1, True
                alive += m[ALIVE, lane] != 0.0
            if alive == 0:
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
                if _surprises(wide, m, at):
                    _look_closely(m, at, one)
            if at.watched > 0:
                if young:
                    _first_signs(m, at, closely)
                _watch(wide, m, at, first_input, watches, closely, wide.nodes != 0, tube)
            moves(x, at.y, at.end, at.inside + MOVED * at.n, at.n, FURTHER_OFF, FURTHER)
            if onwards(x, direction, control.max_step):
                _look_inside(m, at, one)
            if keep == TIMES:
                _keep(wide, m, at, first_input, times, series)
            young = False
            for lane in range(LANES):
                young |= m[COUNT + ACCEPTED, lane] == 0.0 and m[MASK, lane] == 0.0
        for lane in range(LANES):
            if m[MASK, lane] >= 2.0:
                m[DETOURS, lane] += 1.0
                often = m[DETOURS, lane] > _SEVERAL and 5.0 * m[DETOURS, lane] > m[COUNT + ACCEPTED, lane]
                most = _NEVER if often or m[MASK, lane] == 4.0 else int(m[COUNT + ACCEPTED, lane]) + 1
                go_on(m, at, lane, most, one, results, series)
                m[MASK, lane] = 0.0
                fill = True
        remember(x, MASK, at.largest, at.sizes, at.given, at.among, at.end, at.n, GREW, (MEMORY, SMALL_PART, MUCH_LARGER))
        raise_among(x, GREW, at.end, at.among, at.n, control.kinds.ctypes)
        if commit(x, MASK, at.y, at.end, at.k, at.slope, at.minima, at.maxima, at.bound, at.turns, codes.DOUBLE_TURN, at.n):
            _fold(m, at, one)
        if at.residual > 0:
            measured(x, MASK, at.residuals, at.measured, at.residual, STEP, INTEGRAL, LATEST)
        if counted(x, t1, float(at.nodes)):
            fill = True
            for lane in range(LANES):
                if m[MASK, lane] == 1.0 and m[T, lane] == t1:
                    take_out(m, at, lane, one)
                    report(results, int(m[MEMBER, lane]), FINISHED, m[T, lane], one)
                    m[ALIVE, lane] = 0.0
