"""Between the nodes, for all lanes: the polynomials of `dop853.dense`, and states at given times."""

from __future__ import annotations

from chetaev.numerics.machine.lane_rows import LANES, column_out, moment, stage, weighed
from chetaev.numerics.machine.native import inner, part
from chetaev.numerics.methods.dop853 import tableau as c8
from chetaev.numerics.methods.dop853.calls import copy
from chetaev.numerics.methods.dop853.codes import AMONG, DOUBLE_TURN, KEPT, TURNS
from chetaev.numerics.methods.dop853.scales import onto_rows
from chetaev.numerics.methods.dop853.types import Array, Matrix
from chetaev.numerics.methods.lanes.calls import call
from chetaev.numerics.methods.lanes.layout import AT, COUNT, FINITE, STEP, T_NEW, One, Places, T, Wide


@inner
def interpolants(wide: Wide, m: Matrix, at: Places, first_input: int) -> None:
    """The polynomials of the steps just made, for all lanes, as `dop853.dense.interpolant`; the row AT is left at the end of the steps."""
    x, f, y, z, k, n = m.ctypes, wide.rhs, at.y, at.stage, at.k, at.n
    call(f, wide, m, at, first_input, AT, at.free, k + 12 * n)
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
    call(f, wide, m, at, first_input, AT, z, k + 13 * n)
    stage(x, z, y, STEP, k, n, c8.A14)
    moment(x, AT, T, STEP, c8.C14)
    call(f, wide, m, at, first_input, AT, z, k + 14 * n)
    stage(x, z, y, STEP, k, n, c8.A15)
    moment(x, AT, T, STEP, c8.C15)
    call(f, wide, m, at, first_input, AT, z, k + 15 * n)
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
