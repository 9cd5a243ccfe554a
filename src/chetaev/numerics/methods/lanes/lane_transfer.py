"""The run in a lane, moved into the loop for one state and back, for steps that the loop over lanes does not decide.

Between two accepted steps a run consists of its state with the first stage of the next step, its typical sizes, extremes and residuals so
far, the signs of watched functions, and its counts. `take_out` writes all of it where the loop for one state has it, and `put_in` writes it
back; the bits are those of a run that never was in a lane.
"""

from __future__ import annotations

from chetaev.numerics.machine.lane_rows import call_packed, column_in, column_out
from chetaev.numerics.machine.native import inner, rare
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.calls import call
from chetaev.numerics.methods.dop853.codes import (
    AMONG,
    COUNTS,
    FINISHED,
    INSIDE,
    KEPT,
    LARGEST,
    LOWER_BOUND,
    MOVED,
    NEW,
    NO_ROOM,
    NOW,
    ROUND_OFF,
    RUNNING,
    SHORTENED,
    SIZES,
    STATUS,
    STEP,
    STOPPER,
    TURNS,
    UPPER_BOUND,
)
from chetaev.numerics.methods.dop853.enclosure.proof import sign_of
from chetaev.numerics.methods.dop853.scales import put_back
from chetaev.numerics.methods.dop853.types import Array, Matrix, Results, Stack
from chetaev.numerics.methods.lanes.layout import (
    ALIVE,
    COUNT,
    INACCURATE,
    INTEGRAL,
    LATEST,
    LEAPED_NODE,
    MEMBER,
    PAST_STEP,
    SPACE,
    WORST,
    H,
    One,
    Places,
    T,
)


@inner
def take_out(m: Matrix, at: Places, lane: int, one: One, results: Results) -> None:
    """Write the run in a lane, between two steps, as a run of one state; its comparisons inside steps are in the results."""
    x, n, rows, seen, work, counts = m.ctypes, at.n, one.control.rows, one.seen, one.work, one.progress.counts
    column_out(x, at.p, at.parameters, lane, one.system.p.ctypes)
    column_out(x, at.y, n, lane, work.start.ctypes)
    column_out(x, at.k, n, lane, work.k.ctypes)
    column_out(x, at.largest, n, lane, rows[LARGEST].ctypes)
    column_out(x, at.sizes, n, lane, rows[SIZES].ctypes)
    column_out(x, at.among, n, lane, rows[AMONG].ctypes)
    column_out(x, at.noise, n, lane, rows[ROUND_OFF].ctypes)
    column_out(x, at.turns, n, lane, rows[TURNS].ctypes)
    column_out(x, at.minima, n, lane, seen.minima.ctypes)
    column_out(x, at.maxima, n, lane, seen.maxima.ctypes)
    column_out(x, at.past, n, lane, work.past.ctypes)
    column_out(x, at.moved, n, lane, seen.inside[MOVED].ctypes)
    column_out(x, at.measured, at.residual, lane, seen.measured.ctypes)
    column_out(x, at.before, at.watched, lane, work.before.ctypes)
    column_out(x, at.rough, at.watched, lane, work.rough.ctypes)
    work.past[n] = m[PAST_STEP, lane]
    work.inaccurate[0] = m[INACCURATE, lane] != 0.0
    work.ready[0] = False
    for j in range(at.watched):
        work.signs[j] = int(m[at.signs + j, lane])
    seen.roots[codes.INTEGRAL], seen.roots[codes.LATEST], seen.roots[codes.SPACE] = m[INTEGRAL, lane], m[LATEST, lane], m[SPACE, lane]
    for k in range(INSIDE):
        for j in range(n):
            seen.inside[k, j] = results.inside[int(m[MEMBER, lane]), k, j]
    one.tube.notes[codes.WORST], one.tube.notes[codes.LEAPED_NODE] = m[WORST, lane], m[LEAPED_NODE, lane]
    for j in range(COUNTS):
        counts[j] = int(m[COUNT + j, lane])


@inner
def put_in(m: Matrix, at: Places, lane: int, one: One, results: Results) -> None:
    """Write a run of one state, between two steps, into a lane, and its comparisons inside steps into the results."""
    x, n, rows, seen, work, counts = m.ctypes, at.n, one.control.rows, one.seen, one.work, one.progress.counts
    column_in(x, at.p, at.parameters, lane, one.system.p.ctypes)
    column_in(x, at.y, n, lane, work.start.ctypes)
    column_in(x, at.k, n, lane, work.k.ctypes)
    column_in(x, at.largest, n, lane, rows[LARGEST].ctypes)
    column_in(x, at.sizes, n, lane, rows[SIZES].ctypes)
    column_in(x, at.among, n, lane, rows[AMONG].ctypes)
    column_in(x, at.noise, n, lane, rows[ROUND_OFF].ctypes)
    column_in(x, at.turns, n, lane, rows[TURNS].ctypes)
    column_in(x, at.minima, n, lane, seen.minima.ctypes)
    column_in(x, at.maxima, n, lane, seen.maxima.ctypes)
    column_in(x, at.past, n, lane, work.past.ctypes)
    column_in(x, at.moved, n, lane, seen.inside[MOVED].ctypes)
    column_in(x, at.measured, at.residual, lane, seen.measured.ctypes)
    column_in(x, at.before, at.watched, lane, work.before.ctypes)
    column_in(x, at.rough, at.watched, lane, work.rough.ctypes)
    m[PAST_STEP, lane] = work.past[n]
    m[INACCURATE, lane] = 1.0 if work.inaccurate[0] else 0.0
    for j in range(at.watched):
        m[at.signs + j, lane] = float(work.signs[j])
    m[INTEGRAL, lane], m[LATEST, lane], m[SPACE, lane] = seen.roots[codes.INTEGRAL], seen.roots[codes.LATEST], seen.roots[codes.SPACE]
    for k in range(INSIDE):
        for j in range(n):
            results.inside[int(m[MEMBER, lane]), k, j] = seen.inside[k, j]
    m[WORST, lane], m[LEAPED_NODE, lane] = one.tube.notes[codes.WORST], one.tube.notes[codes.LEAPED_NODE]
    for j in range(COUNTS):
        m[COUNT + j, lane] = float(counts[j])


@inner
def take_step(m: Matrix, at: Places, lane: int, one: One) -> None:
    """The step that was tried in a lane, with its state, stages and end: what the interpolant needs."""
    x, n, work, tube, counts = m.ctypes, at.n, one.work, one.tube, one.progress.counts
    column_out(x, at.p, at.parameters, lane, one.system.p.ctypes)
    column_out(x, at.y, n, lane, work.start.ctypes)
    column_out(x, at.free, n, lane, work.free.ctypes)
    column_out(x, at.end, n, lane, work.end.ctypes)
    column_out(x, at.slope, n, lane, work.slope.ctypes)
    for i in range(12):
        if i == 0 or i >= 3:  # rows 1 and 2 of k are not used
            column_out(x, at.k + i * n, n, lane, work.k[i].ctypes)
    column_out(x, at.values, at.nodes, lane, tube.values[UPPER_BOUND].ctypes)
    column_out(x, at.values + at.nodes, at.nodes, lane, tube.values[LOWER_BOUND].ctypes)
    work.ready[0] = False
    tube.notes[codes.WORST], tube.notes[codes.LEAPED_NODE] = m[WORST, lane], m[LEAPED_NODE, lane]
    for j in range(COUNTS):
        counts[j] = int(m[COUNT + j, lane])


@rare
def begin(
    m: Matrix, at: Places, lane: int, most: int, one: One, member: int, t0: float, y0: Array, p: Array, results: Results, series: Stack
) -> None:
    """Start a member: its first rates, the size of its first step, and `most` steps of it."""
    for j in range(p.size):
        one.system.p[j] = p[j]
    for j in range(y0.size):
        one.work.start[j] = y0[j]
    one.progress.clock[NOW], one.progress.clock[STEP] = t0, 0.0
    one.progress.counts[STATUS], one.progress.counts[KEPT] = NEW, 0
    m[MEMBER, lane], m[ALIVE, lane] = float(member), 1.0
    _follow(m, at, lane, most, one, 0, results, series)
    if at.watched > 0 and m[ALIVE, lane] != 0.0:
        call(one.system.watch, one.system, t0, one.work.start, one.work.before)
        for j in range(at.watched):
            m[at.before + j, lane], m[at.signs + j, lane] = one.work.before[j], float(sign_of(one.work.before[j]))


@rare
def go_on(m: Matrix, at: Places, lane: int, most: int, one: One, results: Results, series: Stack) -> None:
    """Continue the run in a lane by the loop for one state until it has made `most` steps, or to its end, which is reported."""
    take_out(m, at, lane, one, results)
    one.progress.clock[NOW], one.progress.clock[STEP], one.progress.counts[STATUS] = m[T, lane], m[H, lane], RUNNING
    _follow(m, at, lane, most, one, one.progress.counts[KEPT], results, series)


@inner
def _follow(m: Matrix, at: Places, lane: int, most: int, one: One, kept: int, results: Results, series: Stack) -> None:
    """Continue the run in the room of one state; `kept` of its states at given times are in the series already."""
    member, counts = int(m[MEMBER, lane]), one.progress.counts
    one.control.pause[0] = most
    call_packed(one.entry, one.row)
    for i in range(kept, min(counts[KEPT], series.shape[1])):
        for j in range(at.n):
            series[member, i, j] = one.kept.states[i, j]
    if counts[STATUS] == NO_ROOM:
        put_in(m, at, lane, one, results)
        m[T, lane], m[H, lane] = one.progress.clock[NOW], one.progress.clock[STEP]
    else:
        report(results, member, counts[STATUS], one.progress.clock[NOW], one)
        m[ALIVE, lane] = 0.0


@inner
def report(results: Results, i: int, status: int, t: float, one: One) -> None:
    """Store the results of a member whose run ended in the loop for one state."""
    y, seen, counts = one.work.start, one.seen, one.progress.counts
    put_back(one.system, one.control, t, y, one.work.trial)
    results.status[i], results.index[i], results.t[i] = status, counts[STOPPER], t
    for j in range(y.size):
        results.y[i, j], results.minima[i, j], results.maxima[i, j] = y[j], seen.minima[j], seen.maxima[j]
        for k in range(INSIDE):
            results.inside[i, k, j] = seen.inside[k, j]
    for j in range(seen.measured.size):
        results.measured[i, j] = seen.measured[j]
    for j in range(results.counts.shape[1]):
        results.counts[i, j] = counts[j]
    results.shortened[i], results.worst[i], results.usual[i] = counts[SHORTENED], one.tube.notes[codes.WORST], seen.roots[codes.INTEGRAL]


@rare
def _finish_turned(m: Matrix, at: Places, lane: int, one: One, results: Results) -> None:
    """As `finish`, where angles were folded: the state with its whole turns is projected once more, as in the loop for one state."""
    take_out(m, at, lane, one, results)
    report(results, int(m[MEMBER, lane]), FINISHED, m[T, lane], one)
    m[ALIVE, lane] = 0.0


@inner
def finish(m: Matrix, at: Places, lane: int, one: One, results: Results) -> None:
    """Store the results of the run in a lane, which has reached its end."""
    x, i = m.ctypes, int(m[MEMBER, lane])
    for j in range(at.n):
        if m[at.turns + j, lane] != 0.0:
            _finish_turned(m, at, lane, one, results)
            return
    results.status[i], results.index[i], results.t[i] = FINISHED, int(m[COUNT + STOPPER, lane]), m[T, lane]
    column_out(x, at.y, at.n, lane, results.y[i].ctypes)
    column_out(x, at.minima, at.n, lane, results.minima[i].ctypes)
    column_out(x, at.maxima, at.n, lane, results.maxima[i].ctypes)
    column_out(x, at.measured, at.residual, lane, results.measured[i].ctypes)
    for j in range(results.counts.shape[1]):
        results.counts[i, j] = int(m[COUNT + j, lane])
    results.shortened[i], results.worst[i], results.usual[i] = int(m[COUNT + SHORTENED, lane]), m[WORST, lane], m[INTEGRAL, lane]
    m[ALIVE, lane] = 0.0
