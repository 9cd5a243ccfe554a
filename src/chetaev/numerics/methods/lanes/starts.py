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

from chetaev.numerics.machine.lane_rows import LANES, Rows, column_in, column_to, finite_lanes, measured, raise_among
from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.dop853.codes import EVALUATIONS, KEPT, LOOK, STOPPER, TIMES
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
    PREVIOUS,
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


def _sizes_of(
    typingctx: Any, m: Any, y: Any, given: Any, sizes: Any, high: Any, equal: Any, zero: Any, n: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, given, sizes, high, equal, zero, n = arguments
        b, x = builder, Rows(builder, base)
        largest, low, most = cgutils.unpack_tuple(builder, equal)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            state, known = x.load(x.next(y, j)), x.load(x.next(given, j))
            size = x.size(state)
            own = b.select(b.fcmp_ordered(">=", known, x.equal(0.0)), known, size)
            x.store(size, x.next(largest, j))
            x.store(own, x.next(sizes, j))
            x.store(x.larger(size, own), x.next(high, j))
            for row in (low, most):
                x.store(state, x.next(row, j))
            for row in cgutils.unpack_tuple(builder, zero):
                x.store(x.equal(0.0), x.next(row, j))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 4, types.UniTuple(_ROW, 3), types.UniTuple(_ROW, 4), _ROW), generate


_begin_sizes: Callable[..., None] = intrinsic(_sizes_of)
"""`_begin_sizes(m, y, given, sizes, high, (largest, minima, maxima), zeros, n)`: the sizes of components where runs begin, and the larger
of size and state in `high`; rows that equal the state or its size, and rows of zeros."""


def _zero_rows(typingctx: Any, m: Any, first: Any, n: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, first, n = arguments
        x = Rows(builder, base)
        with cgutils.for_range(builder, n) as loop:
            x.store(x.equal(0.0), x.next(first, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, _ROW, _ROW), generate


_zeros: Callable[..., None] = intrinsic(_zero_rows)
"""`_zeros(m, first, n)`: rows of zeros."""


def _signs_of(typingctx: Any, m: Any, after: Any, before: Any, signs: Any, n: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, after, before, signs, n = arguments
        b, x = builder, Rows(builder, base)
        zero = x.equal(0.0)
        with cgutils.for_range(builder, n) as loop:
            value = x.load(x.next(after, loop.index))
            x.store(value, x.next(before, loop.index))
            sign = b.fsub(x.flags(b.fcmp_ordered(">", value, zero)), x.flags(b.fcmp_ordered("<", value, zero)))
            x.store(sign, x.next(signs, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 4), generate


_begin_signs: Callable[..., None] = intrinsic(_signs_of)
"""`_begin_signs(m, after, before, signs, n)`: watched functions where runs begin, and their signs."""


def _rates_of(typingctx: Any, m: Any, y: Any, slope: Any, k: Any, bound: Any, n: Any, odd: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, slope, k, bound, n, odd = arguments
        b, x = builder, Rows(builder, base)
        found = cgutils.alloca_once_value(builder, x.equal(0.0))
        b.store(x.load(odd), found)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            state = x.load(x.next(y, j))
            x.store(x.load(x.next(slope, j)), x.next(k, j))
            inside = b.fcmp_ordered("<=", x.size(state), x.load(x.next(bound, j)))
            b.store(b.fadd(b.load(found), b.select(inside, b.fmul(x.equal(0.0), state), x.equal(1.0))), found)
        x.store(b.load(found), odd)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 6), generate


_begin_rates: Callable[..., None] = intrinsic(_rates_of)
"""`_begin_rates(m, y, slope, k, bound, n, odd)`: the slope becomes the first stage; `odd` is no longer zero where a component is beyond its
bound or not finite."""


def _after(typingctx: Any, m: Any, y: Any, k: Any, n: Any, h: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, k, n, h, out = arguments
        b, x = builder, Rows(builder, base)
        step = x.load(h)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            x.store(b.fadd(x.load(x.next(y, j)), b.fmul(step, x.load(x.next(k, j)))), x.next(out, j))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 5), generate


_ahead: Callable[..., None] = intrinsic(_after)
"""`_ahead(m, y, k, n, h, out)`: out = y + h*k."""


def _column_fill(typingctx: Any, m: Any, row: Any, n: Any, lane: Any, number: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, row, n, lane, number = arguments
        first = builder.add(builder.mul(row, row.type(LANES)), lane)
        with cgutils.for_range(builder, n) as loop:
            builder.store(number, builder.gep(base, [builder.add(first, builder.mul(loop.index, row.type(LANES)))]))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 3, types.float64), generate


column_fill: Callable[..., None] = intrinsic(_column_fill)
"""`column_fill(m, row, n, lane, number)`: a number into n rows of a lane."""


@inner
def begin_together(wide: Wide, m: Matrix, at: Places, one: One, first: int, t0: float, t1: float, y0: Matrix, p: Matrix) -> int:
    """Begin members in all columns, from member `first` on, and return their number. ALIVE is 1 for members with finite rates and no angle
    to fold.
    """
    members, x = min(LANES, y0.shape[0] - first), m.ctypes
    _zeros(x, 0, FIRST_ROW)
    for lane in range(LANES):
        m[T, lane] = m[AT, lane] = t0
        m[MASK, lane] = m[WORST, lane] = 1.0
        m[LEAPED_NODE, lane] = m[COUNT + STOPPER, lane] = -1.0
        m[COUNT + LOOK, lane], m[COUNT + EVALUATIONS, lane] = FIRST_COMPARISON, 2.0
        member = first + min(lane, members - 1)
        m[MEMBER, lane] = float(member)
        column_in(x, at.y, at.n, lane, y0[member].ctypes)
        column_in(x, at.p, at.parameters, lane, p[member].ctypes)
    _sizes(m, at, one)
    call_ends(wide, m, at, one.system.first_input, at.y)
    _first_steps(wide, m, at, one, t0, t1)
    if at.residual > 0:
        measured(x, MASK, at.residuals, at.measured, at.residual, STEP, INTEGRAL, LATEST)
    _begin_signs(x, at.after, at.before, at.signs, at.watched)
    _zeros(x, at.rough, at.watched)
    return members


@inner
def _sizes(m: Matrix, at: Places, one: One) -> None:
    """As `dop853.scales.begin_sizes` after no run before; and what was seen so far."""
    equal, zeros = (at.largest, at.minima, at.maxima), (at.among, at.noise, at.moved, at.turns)
    _begin_sizes(m.ctypes, at.y, at.given, at.sizes, at.trial, equal, zeros, at.n)
    _zeros(m.ctypes, at.measured, at.residual)
    raise_among(m.ctypes, MASK, at.trial, at.among, at.n, one.control.kinds.ctypes, at.stage)


@inner
def _first_steps(wide: Wide, m: Matrix, at: Places, one: One, t0: float, t1: float) -> None:
    """The sizes of the first steps in H, as `dop853.step.first_step`, from rates in `slope`, which are kept in `k`."""
    x, n, k, control = m.ctypes, at.n, at.k, one.control
    span, whole, least = t1 - t0, abs(t1 - t0) if np.isfinite(t1 - t0) else 1.0, 1000.0 * EPSILON * abs(t0)
    _begin_rates(x, at.y, at.slope, k, at.bound, n, FINITE)
    for lane in range(LANES):
        m[ALIVE, lane] = 1.0 if m[FINITE, lane] == 0.0 else 0.0
    _slowest_time(x, at.y, k, n, SIZE)
    for lane in range(LANES):
        slowest = m[SIZE, lane]
        guess = min(0.01 * slowest, LONGEST_GUESS * whole) if slowest > 0.0 else GUESS_AT_REST * whole
        m[FIRST, lane] = min(max(guess, least), whole, control.max_step)
        m[PREVIOUS, lane] = np.copysign(m[FIRST, lane], span)
        m[AT, lane] = t0 + m[PREVIOUS, lane]
    _ahead(x, at.y, k, n, PREVIOUS, at.stage)
    call(wide.rhs, wide, m, at, one.system.first_input, AT, at.stage, k + n)
    finite_lanes(x, k + n, n, FINITE)
    _bend_time(x, at.y, k, n, at.among, FIRST, SIZE, BESIDE, NEGLIGIBLE_TIME_SCALE)
    part_of = np.sqrt(np.sqrt(np.sqrt(0.01 * max(control.rtol, FINEST))))
    for lane in range(LANES):
        m[ALIVE, lane] = m[ALIVE, lane] if m[FINITE, lane] == 0.0 else 0.0
        better = LONGEST_GUESS * whole if m[SIZE, lane] == np.inf else part_of * m[SIZE, lane]
        m[H, lane] = np.copysign(min(max(better, least), whole, control.max_step), span)


@inner
def take_new(
    source: Matrix, column: int, m: Matrix, lane: int, at: Places, keep: int, times: Array, t0: float, series: Stack, inside: Stack
) -> None:
    """A member that has begun into a lane; nothing was compared inside its steps."""
    x, new = m.ctypes, source.ctypes
    column_to(new, column, x, lane, T, 2)  # with H, which follows
    column_to(new, column, x, lane, INTEGRAL, FIRST_ROW - INTEGRAL)  # the rows between are of a trial step
    column_to(new, column, x, lane, at.y, 2 * at.n)
    column_to(new, column, x, lane, at.p, at.noise - at.p)
    column_fill(x, at.noise, 2 * at.n, lane, 0.0)
    column_to(new, column, x, lane, at.minima, at.moved - at.minima)
    column_fill(x, at.moved, at.n, lane, 0.0)
    column_to(new, column, x, lane, at.before, at.box - at.before)
    size, member = 0, int(m[MEMBER, lane])
    for k in range(inside.shape[1]):
        for j in range(inside.shape[2]):
            inside[member, k, j] = 0.0
    while keep == TIMES and size < times.size and times[size] == t0:
        for j in range(at.n):
            series[member, size, j] = m[at.y + j, lane]
        size += 1
    m[COUNT + KEPT, lane] = float(size)
