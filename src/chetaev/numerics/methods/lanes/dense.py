"""Between the nodes, for all lanes: the polynomials of `dop853.dense`, and states at given times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chetaev.numerics.machine.lane_rows import Rows, column_out, moment, stage, weighed
from chetaev.numerics.machine.native import inner, rare
from chetaev.numerics.methods.dop853 import tableau as c8
from chetaev.numerics.methods.dop853.calls import copy
from chetaev.numerics.methods.dop853.codes import AMONG, DOUBLE_TURN, KEPT, TURNS
from chetaev.numerics.methods.dop853.scales import onto_rows
from chetaev.numerics.methods.dop853.types import Array, Matrix
from chetaev.numerics.methods.lanes.calls import call
from chetaev.numerics.methods.lanes.layout import AT, COUNT, FINITE, STEP, T_NEW, One, Places, T, Wide

_POINTER = types.CPointer(types.float64)
_ROW = types.intp


def _last_rate(typingctx: Any, m: Any, end: Any, free: Any, slope: Any, rate: Any, n: Any, moved: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, end, free, slope, rate, n, moved = arguments
        b, x = builder, Rows(builder, base)
        found = cgutils.alloca_once_value(builder, x.equal(0.0))
        b.store(x.load(moved), found)
        with cgutils.for_range(builder, n) as loop:
            apart = b.fcmp_unordered("!=", x.load(x.next(end, loop.index)), x.load(x.next(free, loop.index)))
            b.store(b.select(apart, x.equal(1.0), b.load(found)), found)
        x.store(b.load(found), moved)
        same = b.fcmp_ordered("==", b.load(found), x.equal(0.0))
        with cgutils.for_range(builder, n) as loop:
            x.blend(same, x.load(x.next(slope, loop.index)), x.next(rate, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 6), generate


_last_rates: Callable[..., None] = intrinsic(_last_rate)
"""`_last_rates(m, end, free, slope, rate, n, moved)`: where the projection did not move the state, the rate before it is the slope; `moved`
is 1 where it did."""


def _first_row(typingctx: Any, m: Any, dense: Any, y: Any, end: Any, k: Any, slope: Any, n: Any, h: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, dense, y, end, k, slope, n, h = arguments
        b, x = builder, Rows(builder, base)
        step = x.load(h)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            start, last, first, then = (x.load(x.next(row, j)) for row in (y, end, k, slope))
            change = b.fsub(last, start)
            x.store(change, x.next(dense, j))
            x.store(b.fsub(b.fmul(step, first), change), x.next(b.add(dense, n), j))
            both = b.fmul(step, b.fadd(then, first))
            x.store(b.fsub(b.fmul(x.equal(2.0), change), both), x.next(b.add(dense, b.mul(n, n.type(2))), j))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 7), generate


_first_rows: Callable[..., None] = intrinsic(_first_row)
"""`_first_rows(m, dense, y, end, k, slope, n, h)`: the first three rows of the polynomials."""


@inner
def interpolants(wide: Wide, m: Matrix, at: Places, first_input: int) -> None:
    """The polynomials of the steps just made, for all lanes, as `dop853.dense.interpolant`; the row AT is left at the end of the steps."""
    x, f, y, z, k, n = m.ctypes, wide.rhs, at.y, at.stage, at.k, at.n
    call(f, wide, m, at, first_input, AT, at.free, k + 12 * n)
    _last_rates(x, at.end, at.free, at.slope, k + 12 * n, n, FINITE)
    stage(x, z, y, STEP, k, n, c8.A13)
    moment(x, AT, T, STEP, c8.C13)
    call(f, wide, m, at, first_input, AT, z, k + 13 * n)
    stage(x, z, y, STEP, k, n, c8.A14)
    moment(x, AT, T, STEP, c8.C14)
    call(f, wide, m, at, first_input, AT, z, k + 14 * n)
    stage(x, z, y, STEP, k, n, c8.A15)
    moment(x, AT, T, STEP, c8.C15)
    call(f, wide, m, at, first_input, AT, z, k + 15 * n)
    moment(x, AT, T, STEP, 1.0)
    d = at.dense
    _first_rows(x, d, y, at.end, k, at.slope, n, STEP)
    weighed(x, d + 3 * n, STEP, k, n, c8.D3)
    weighed(x, d + 4 * n, STEP, k, n, c8.D4)
    weighed(x, d + 5 * n, STEP, k, n, c8.D5)
    weighed(x, d + 6 * n, STEP, k, n, c8.D6)


@rare
def states_at_times(m: Matrix, at: Places, lane: int, times: Array, series: Matrix, one: One) -> None:
    """The states of a member at the times in its step, as `dop853.loop` keeps them. `one` is room for one state."""
    system, control, between = one.system, one.control, one.work.stage
    column_out(m.ctypes, at.p, at.parameters, lane, system.p.ctypes)
    column_out(m.ctypes, at.among, at.n, lane, control.rows[AMONG].ctypes)
    column_out(m.ctypes, at.turns, at.n, lane, control.rows[TURNS].ctypes)
    t, t_new, h = m[T, lane], m[T_NEW, lane], m[STEP, lane]
    n, d = at.n, at.dense
    size = int(m[COUNT + KEPT, lane])
    while size < times.size and (times[size] - t_new) * h <= 0.0:
        if times[size] == t_new:
            for j in range(n):
                series[size, j] = m[at.end + j, lane] + m[at.turns + j, lane] * DOUBLE_TURN
        else:
            theta = (times[size] - t) / (t_new - t)
            rest = 1.0 - theta
            for j in range(n):
                high = m[d + 3 * n + j, lane] + theta * (
                    m[d + 4 * n + j, lane] + rest * (m[d + 5 * n + j, lane] + theta * m[d + 6 * n + j, lane])
                )
                between[j] = m[at.y + j, lane] + theta * (
                    m[d + j, lane] + rest * (m[d + n + j, lane] + theta * (m[d + 2 * n + j, lane] + rest * high))
                )
            onto_rows(system, control, times[size], between, one.work.trial)
            copy(between, series[size])
        size += 1
    m[COUNT + KEPT, lane] = float(size)
