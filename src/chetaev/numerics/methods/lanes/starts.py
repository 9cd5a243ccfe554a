"""The beginnings of several members at once, as `dop853.loop` begins one run: rates, sizes and the first step.

They stand in a table like that of the lanes, until a lane is free. A member whose rates are not finite, or with an angle that has to be
folded, is left to the loop for one state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chetaev.numerics.machine.lane_rows import LANES, Rows, column_to, finite_lanes, measured, raise_among
from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.dop853.codes import BOUND, EVALUATIONS, GIVEN, KEPT, LOOK, STOPPER, TIMES
from chetaev.numerics.methods.dop853.enclosure.proof import sign_of
from chetaev.numerics.methods.dop853.scale_constants import BESIDE, FIRST_COMPARISON, GUESS_AT_REST, LONGEST_GUESS, NEGLIGIBLE_TIME_SCALE
from chetaev.numerics.methods.dop853.scales import EPSILON
from chetaev.numerics.methods.dop853.step import FINEST
from chetaev.numerics.methods.dop853.types import Array, Matrix, Stack
from chetaev.numerics.methods.lanes.calls import call, call_ends
from chetaev.numerics.methods.lanes.layout import (
    ALIVE,
    AT,
    COUNT,
    FINITE,
    FIRST,
    FIRST_ROW,
    INTEGRAL,
    LATEST,
    LEAPED_NODE,
    MASK,
    MEMBER,
    SIZE,
    STEP,
    WORST,
    H,
    One,
    Places,
    T,
    Wide,
)

_POINTER = types.CPointer(types.float64)
_ROW = types.intp


def _slowest(typingctx: Any, m: Any, y: Any, k: Any, n: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, k, n, out = arguments
        b, x = builder, Rows(builder, base)
        zero, most = x.equal(0.0), cgutils.alloca_once_value(builder, x.equal(0.0))
        with cgutils.for_range(builder, n) as loop:
            state, rate = x.load(x.next(y, loop.index)), x.load(x.next(k, loop.index))
            both = b.and_(b.fcmp_ordered("!=", state, zero), b.fcmp_ordered("!=", rate, zero))
            known = b.load(most)
            b.store(b.select(both, x.larger(known, x.size(b.fdiv(state, rate))), known), most)
        x.store(b.load(most), out)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 4), generate


_slowest_time: Callable[..., None] = intrinsic(_slowest)
"""`_slowest_time(m, y, k, n, out)`: the largest |y/k| of components of which neither is zero."""


def _bend(
    typingctx: Any, m: Any, y: Any, k: Any, n: Any, among: Any, guess: Any, out: Any, beside: Any, at_once: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, k, n, among, guess, out, beside, at_once = arguments
        b, x = builder, Rows(builder, base)
        zero, least, after = x.equal(0.0), cgutils.alloca_once_value(builder, x.equal(float("inf"))), x.load(guess)
        part, early = x.spread(beside), b.fmul(x.spread(at_once), after)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            first, next_one = x.load(x.next(k, j)), x.load(x.next(b.add(k, n), j))
            second = b.fdiv(x.size(b.fsub(next_one, first)), after)
            size = x.larger(x.size(x.load(x.next(y, j))), b.fmul(part, x.load(x.next(among, j))))
            time = x.larger(x.function("sqrt", b.fdiv(size, second)), b.fdiv(x.size(first), second))
            time = b.select(b.fcmp_ordered(">", second, zero), time, zero)
            limit = b.select(b.fcmp_ordered(">", size, zero), zero, early)
            known = b.load(least)
            shorter = b.and_(b.fcmp_ordered("<", limit, time), b.fcmp_ordered("<", time, known))
            b.store(b.select(shorter, time, known), least)
        x.store(b.load(least), out)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 6, types.float64, types.float64), generate


_bend_time: Callable[..., None] = intrinsic(_bend)
"""`_bend_time(m, y, k, n, among, guess, out, beside, at_once)`: the least time in which second derivatives change a
component, or its rate, by its own size, from the rates in the first two rows of k, `guess` apart; as `dop853.step.first_step`."""


@inner
def begin_together(wide: Wide, m: Matrix, at: Places, one: One, first: int, t0: float, t1: float, y0: Matrix, p: Matrix) -> int:
    """Begin members in all columns, from member `first` on, and return their number. ALIVE is 1 for members with finite rates and no angle
    to fold.
    """
    members = min(LANES, y0.shape[0] - first)
    for lane in range(LANES):
        for row in range(FIRST_ROW):
            m[row, lane] = 0.0
        m[T, lane] = m[AT, lane] = t0
        m[MASK, lane] = m[WORST, lane] = 1.0
        m[LEAPED_NODE, lane], m[COUNT + STOPPER, lane] = -1.0, -1.0
        m[COUNT + LOOK, lane], m[COUNT + EVALUATIONS, lane] = FIRST_COMPARISON, 2.0
        member = first + min(lane, members - 1)
        m[MEMBER, lane] = float(member)
        for j in range(at.n):
            m[at.y + j, lane] = y0[member, j]
        for j in range(at.parameters):
            m[at.p + j, lane] = p[member, j]
    _sizes(m, at, one)
    call_ends(wide, m, at, one.system.first_input, at.y)
    _first_steps(wide, m, at, one, t0, t1)
    if at.residual > 0:
        measured(m.ctypes, MASK, at.residuals, at.measured, at.residual, STEP, INTEGRAL, LATEST)
    for lane in range(LANES):
        for j in range(at.watched):
            m[at.before + j, lane], m[at.signs + j, lane] = m[at.after + j, lane], float(sign_of(m[at.after + j, lane]))
            m[at.rough + j, lane] = 0.0
    return members


@inner
def _sizes(m: Matrix, at: Places, one: One) -> None:
    """As `dop853.scales.begin_sizes` without an earlier run; and the extremes so far."""
    for j in range(at.n):
        given = one.control.rows[GIVEN, j]
        for lane in range(LANES):
            size = abs(m[at.y + j, lane])
            m[at.largest + j, lane] = size
            m[at.sizes + j, lane] = given if given >= 0.0 else size
            m[at.trial + j, lane] = max(size, m[at.sizes + j, lane])
            m[at.among + j, lane] = m[at.noise + j, lane] = m[at.moved + j, lane] = m[at.turns + j, lane] = 0.0
            m[at.minima + j, lane] = m[at.maxima + j, lane] = m[at.y + j, lane]
    for j in range(at.residual):
        for lane in range(LANES):
            m[at.measured + j, lane] = 0.0
    raise_among(m.ctypes, MASK, at.trial, at.among, at.n, one.control.kinds.ctypes)


@inner
def _first_steps(wide: Wide, m: Matrix, at: Places, one: One, t0: float, t1: float) -> None:
    """The sizes of the first steps in H, as `dop853.step.first_step`, from rates in `slope`, which are kept in `k`."""
    x, n, k, control = m.ctypes, at.n, at.k, one.control
    span, whole, least = t1 - t0, abs(t1 - t0) if np.isfinite(t1 - t0) else 1.0, 1000.0 * EPSILON * abs(t0)
    for j in range(n):
        for lane in range(LANES):
            m[k + j, lane] = m[at.slope + j, lane]
            m[FINITE, lane] += 0.0 * m[at.y + j, lane] if abs(m[at.y + j, lane]) <= control.rows[BOUND, j] else 1.0
    for lane in range(LANES):
        m[ALIVE, lane] = 1.0 if m[FINITE, lane] == 0.0 else 0.0
    _slowest_time(x, at.y, k, n, SIZE)
    for lane in range(LANES):
        slowest = m[SIZE, lane]
        guess = min(0.01 * slowest, LONGEST_GUESS * whole) if slowest > 0.0 else GUESS_AT_REST * whole
        m[FIRST, lane] = min(max(guess, least), whole, control.max_step)
        m[AT, lane] = t0 + np.copysign(m[FIRST, lane], span)
    for j in range(n):
        for lane in range(LANES):
            m[at.stage + j, lane] = m[at.y + j, lane] + np.copysign(m[FIRST, lane], span) * m[k + j, lane]
    call(wide.rhs, wide, m, at, one.system.first_input, AT, at.stage, k + n)
    finite_lanes(x, k + n, n, FINITE)
    _bend_time(x, at.y, k, n, at.among, FIRST, SIZE, BESIDE, NEGLIGIBLE_TIME_SCALE)
    part_of = np.sqrt(np.sqrt(np.sqrt(0.01 * max(control.rtol, FINEST))))
    for lane in range(LANES):
        m[ALIVE, lane] = m[ALIVE, lane] if m[FINITE, lane] == 0.0 else 0.0
        better = LONGEST_GUESS * whole if m[SIZE, lane] == np.inf else part_of * m[SIZE, lane]
        m[H, lane] = np.copysign(min(max(better, least), whole, control.max_step), span)


@inner
def take_new(source: Matrix, column: int, m: Matrix, lane: int, at: Places, keep: int, times: Array, t0: float, series: Stack) -> None:
    """Write a member that has begun into a lane."""
    column_to(source.ctypes, column, m.ctypes, lane, 0, FIRST_ROW)
    column_to(source.ctypes, column, m.ctypes, lane, at.y, 2 * at.n)
    column_to(source.ctypes, column, m.ctypes, lane, at.p, at.box - at.p)
    size, member = 0, int(m[MEMBER, lane])
    while keep == TIMES and size < times.size and times[size] == t0:
        for j in range(at.n):
            series[member, size, j] = m[at.y + j, lane]
        size += 1
    m[COUNT + KEPT, lane] = float(size)
