"""Comparisons with the equations inside steps of several members together, as `dop853.dense.compare_inside`.

A comparison does not change a motion, and the time of the next one does not depend on its result. So steps are collected in a table like
that of the lanes until there are as many as lanes. The results are added to those of the members, in the order of their steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chetaev.numerics.machine.lane_rows import LANES, Rows, column_in, column_out, column_to, moment
from chetaev.numerics.machine.native import inner, part
from chetaev.numerics.methods.dop853.calls import call as call_one
from chetaev.numerics.methods.dop853.codes import ACCEPTED, CHANGE, LOOK, LOOKED, OFF, ROUNDED, WHEN
from chetaev.numerics.methods.dop853.scale_constants import (
    DIGITS,
    FIRST_PLACE,
    GOLDEN_PART,
    PLACE_DIGITS,
    PLACES,
    SPARSE,
    SPREAD,
)
from chetaev.numerics.methods.dop853.scales import EPSILON
from chetaev.numerics.methods.dop853.types import Array, Matrix, Stack, System
from chetaev.numerics.methods.lanes.calls import call
from chetaev.numerics.methods.lanes.dense import interpolants
from chetaev.numerics.methods.lanes.layout import (
    AT,
    COUNT,
    EXTRA,
    FINITE,
    FIRST,
    MASK,
    MEMBER,
    PREVIOUS,
    READY,
    SIZE,
    SPACE,
    STEP,
    Places,
    T,
    Wide,
)

_POINTER = types.CPointer(types.float64)
_ROW = types.intp


@inner
def _chance(number: float) -> float:
    """A number between 0 and 1 that follows from the number of a step."""
    turns = GOLDEN_PART * (number + 1.0)
    return turns - np.floor(turns)


def _changes_inside(
    typingctx: Any, m: Any, mask: Any, y: Any, end: Any, free: Any, moved: Any, n: Any, out: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, mask, y, end, free, moved, n, out = arguments
        b, x = builder, Rows(builder, base)
        which = b.fcmp_ordered("==", x.load(mask), x.equal(5.0))
        found = cgutils.alloca_once_value(builder, x.equal(0.0))
        b.store(x.equal(0.0), found)
        with cgutils.for_range(builder, n) as loop:
            start, last, before, most = (x.load(x.next(row, loop.index)) for row in (y, end, free, moved))
            x.blend(which, x.larger(most, x.size(b.fsub(last, start))), x.next(moved, loop.index))
            b.store(b.select(b.fcmp_unordered("!=", last, before), x.equal(1.0), b.load(found)), found)
        x.store(b.load(found), out)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 7), generate


changes_inside: Callable[..., None] = intrinsic(_changes_inside)
"""`changes_inside(m, mask, y, end, free, moved, n, out)`: the largest changes of the components in steps that are compared inside, those
of lanes whose mask is 5; and in `out` whether the projection moved the end of a step."""


@inner
def remember_step(m: Matrix, lane: int, seen: Matrix, column: int, at: Places, doubting: bool) -> None:
    """Copy the step just made in a lane into a column, where it waits for its comparison, and update the lane as after this comparison.
    `changes_inside` has left in FIRST whether the projection moved the end of the step. MASK becomes 1.
    """
    n, number = at.n, m[COUNT + ACCEPTED, lane]
    for row in (T, STEP, MEMBER, COUNT + ACCEPTED, COUNT + LOOKED):
        seen[row, column] = m[row, lane]
    column_to(m.ctypes, lane, seen.ctypes, column, at.y, 2 * n)  # with the first row of k, which follows
    column_to(m.ctypes, lane, seen.ctypes, column, at.k + 5 * n, 7 * n)  # interpolants do not read rows 1 to 4
    column_to(m.ctypes, lane, seen.ctypes, column, at.free, 2 * n)
    column_to(m.ctypes, lane, seen.ctypes, column, at.slope, n)
    column_to(m.ctypes, lane, seen.ctypes, column, at.p, at.parameters)
    if m[READY, lane] == 0.0:  # the evaluations of the interpolant were not counted before
        m[EXTRA, lane] += 4.0 if m[FIRST, lane] != 0.0 else 3.0
    m[EXTRA, lane] += 3.0 if doubting else 1.0
    m[COUNT + LOOK, lane] = number + SPARSE + float(int(SPREAD * _chance(number)))
    m[COUNT + LOOKED, lane] = number + 1.0
    m[SPACE, lane] = abs(m[STEP, lane])
    m[READY, lane] = m[MASK, lane] = 1.0


def _polynomial(
    typingctx: Any, m: Any, y: Any, dense: Any, n: Any, theta: Any, h: Any, there: Any, slope: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, dense, n, theta, h, there, slope = arguments
        b, x = builder, Rows(builder, base)
        part, step = x.load(theta), x.load(h)
        rest = b.fsub(x.equal(1.0), part)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            rows = [x.load(b.add(b.add(dense, b.mul(n, n.type(i))), j)) for i in range(7)]
            value, rate = rows[6], None
            for i in range(5, -1, -1):
                factor = part if i % 2 else rest
                inner = value
                value = b.fadd(rows[i], b.fmul(factor, value))
                if rate is None:  # the slope of the innermost bracket is zero
                    rate = b.fmul(factor, x.equal(0.0))
                else:
                    rate = b.fmul(factor, rate)
                rate = b.fadd(inner, rate) if i % 2 else b.fsub(rate, inner)
            x.store(b.fadd(x.load(x.next(y, j)), b.fmul(part, value)), x.next(there, j))
            x.store(b.fdiv(b.fadd(value, b.fmul(part, rate)), step), x.next(slope, j))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 7), generate


_polynomials: Callable[..., None] = intrinsic(_polynomial)
"""`_polynomials(m, y, dense, n, theta, h, there, slope)`: states and rates of polynomials, as `dop853.dense.state` and `rate`."""


def _defect(
    typingctx: Any, m: Any, k: Any, end: Any, slope: Any, rates: Any, n: Any, at: Any, h: Any, off: Any, change: Any, numbers: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, k, end, slope, rates, n, at, h, off, change, numbers = arguments
        b, x = builder, Rows(builder, base)
        epsilon, digits, more = (x.spread(number) for number in cgutils.unpack_tuple(builder, numbers))
        unit, step = b.fmul(epsilon, x.size(x.load(at))), x.load(h)
        with cgutils.for_range(builder, n) as loop:
            first, last, own, rate = (x.load(x.next(row, loop.index)) for row in (k, end, slope, rates))
            bend = x.larger(x.size(b.fsub(first, rate)), x.size(b.fsub(last, rate)))
            known = b.fmul(unit, b.fadd(b.fmul(digits, x.size(rate)), b.fmul(more, bend)))
            x.store(b.fsub(x.size(b.fmul(step, b.fsub(own, rate))), known), x.next(off, loop.index))
            x.store(x.size(b.fmul(step, rate)), x.next(change, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 9, types.UniTuple(types.float64, 3)), generate


_defects: Callable[..., None] = intrinsic(_defect)
"""`_defects(m, k, end, slope, rates, n, at, h, off, change, (epsilon, digits, more))`: how far the rates `slope` of a polynomial are from
the `rates` of the equations, and the change by these, both in a step."""


def _round_off(
    typingctx: Any, m: Any, above: Any, below: Any, rates: Any, n: Any, h: Any, steps: Any, out: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, above, below, rates, n, h, steps, out = arguments
        b, x = builder, Rows(builder, base)
        step, count, most = x.load(h), x.load(steps), x.equal(float("inf"))
        with cgutils.for_range(builder, n) as loop:
            high, low, rate = (x.load(x.next(row, loop.index)) for row in (above, below, rates))
            moved = b.fmul(step, x.larger(x.size(b.fsub(high, rate)), x.size(b.fsub(low, rate))))
            square = b.fmul(moved, moved)
            square = b.select(b.fcmp_ordered("<", square, most), square, most)
            x.store(b.fmul(count, square), x.next(out, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 7), generate


_rounded: Callable[..., None] = intrinsic(_round_off)
"""`_rounded(m, above, below, rates, n, h, steps, out)`: the squared round-off of the components in some steps, as
`dop853.dense.doubt`."""


def _nudge(typingctx: Any, m: Any, y: Any, n: Any, even: Any, odd: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, n, even, odd = arguments
        b, x = builder, Rows(builder, base)
        factors = x.load(even), x.load(odd)
        with cgutils.for_range(builder, n) as loop:
            first = b.icmp_signed("==", b.and_(loop.index, loop.index.type(1)), loop.index.type(0))
            row = x.next(y, loop.index)
            x.store(b.fmul(x.load(row), b.select(first, *factors)), row)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 4), generate


_nudged: Callable[..., None] = intrinsic(_nudge)
"""`_nudged(m, y, n, even, odd)`: components times factors, one for those with even numbers, and one for the others."""


@part
def compare_together(wide: Wide, m: Matrix, at: Places, system: System, room: tuple[Array, Array], count: int, inside: Stack) -> None:
    """Compare inside the steps in the first columns; the results are stored in rows that a waiting step does not need, and added to those
    of the members in `inside`. `room` for a state and for rates with their bounds is that of one state.

    It takes few arguments: a call passes all parts of each, and those of `One` take as long as a step.
    """
    if count == 0:
        return
    x, n, first_input, theta, off, change, rounded = m.ctypes, at.n, system.first_input, SIZE, at.largest, at.sizes, at.noise
    for lane in range(LANES):
        m[FINITE, lane] = 0.0
        m[theta, lane] = FIRST_PLACE + PLACES * _chance(m[COUNT + ACCEPTED, lane])
    moment(x, AT, T, STEP, 1.0)
    interpolants(wide, m, at, first_input)
    _polynomials(x, at.y, at.dense, n, theta, STEP, at.trial, at.fifth)
    for lane in range(LANES):
        m[AT, lane] = m[T, lane] + m[theta, lane] * m[STEP, lane]
    call(wide.rhs, wide, m, at, first_input, AT, at.trial, at.stage)
    _defects(x, at.k, at.slope, at.fifth, at.stage, n, AT, STEP, off, change, (EPSILON, DIGITS, PLACE_DIGITS))
    if system.doubting != 0:
        _doubt(wide, m, at, system, room, count, rounded)
    for lane in range(count):
        found = inside[int(m[MEMBER, lane])]
        for j in range(n):
            more = (found[OFF, j] < m[off + j, lane]) & (m[off + j, lane] < np.inf)
            found[OFF, j] = m[off + j, lane] if more else found[OFF, j]
            found[CHANGE, j] = m[change + j, lane] if more else found[CHANGE, j]
            found[WHEN, j] = m[AT, lane] if more else found[WHEN, j]
            if system.doubting != 0:
                found[ROUNDED, j] += m[rounded + j, lane]


@inner
def _doubt(wide: Wide, m: Matrix, at: Places, system: System, room: tuple[Array, Array], count: int, out: int) -> None:
    """The round-off of the components in the steps since the last comparison: state and time are moved by a unit in the last place."""
    n, above = at.n, at.dense
    for lane in range(LANES):
        m[PREVIOUS, lane], m[FIRST, lane] = m[AT, lane] * (1.0 + EPSILON), m[COUNT + ACCEPTED, lane] + 1.0 - m[COUNT + LOOKED, lane]
        odd = int(m[COUNT + ACCEPTED, lane]) % 2
        m[SIZE, lane], m[FINITE, lane] = (1.0 + EPSILON, 1.0 - EPSILON) if odd else (1.0 - EPSILON, 1.0 + EPSILON)
    _nudged(m.ctypes, at.trial, n, SIZE, FINITE)
    if wide.doubting != 0:
        call(wide.doubting, wide, m, at, system.first_input, PREVIOUS, at.trial, above)
    else:
        state, rates = room
        for lane in range(count):
            column_out(m.ctypes, at.p, at.parameters, lane, system.p.ctypes)
            column_out(m.ctypes, at.trial, n, lane, state.ctypes)
            call_one(system.doubting, system, m[PREVIOUS, lane], state, rates)
            column_in(m.ctypes, above, 2 * n, lane, rates.ctypes)
    _rounded(m.ctypes, above, above + n, at.stage, n, STEP, FIRST, out)
