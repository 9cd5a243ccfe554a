"""Calls of code for all lanes."""

from __future__ import annotations

from chetaev.numerics.machine.lane_rows import call_lanes, finite_lanes
from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.dop853.types import Matrix
from chetaev.numerics.methods.lanes.layout import AT, FINITE, Places, Wide


@inner
def call(address: int, wide: Wide, m: Matrix, at: Places, first_input: int, t: int, y: int, out: int) -> None:
    """Code for all lanes at times and states in these rows, the inputs first."""
    if wide.inputs != 0:
        call_lanes(wide.inputs, m[t:].ctypes, m[y:].ctypes, m[at.p :].ctypes, m[at.p + first_input :].ctypes)
    call_lanes(address, m[t:].ctypes, m[y:].ctypes, m[at.p :].ctypes, m[out:].ctypes)


@inner
def call_ends(wide: Wide, m: Matrix, at: Places, first_input: int, y: int) -> None:
    """Rates, watched functions and residuals at states, at the times in AT; FINITE is zero where all rates are finite."""
    if wide.ends != 0:
        call(wide.ends, wide, m, at, first_input, AT, y, at.slope)
    else:
        call(wide.rhs, wide, m, at, first_input, AT, y, at.slope)
        if at.watched > 0:
            call(wide.watch, wide, m, at, first_input, AT, y, at.after)
        if at.residual > 0:
            call(wide.measure, wide, m, at, first_input, AT, y, at.residuals)
    finite_lanes(m.ctypes, at.slope, at.n, FINITE)
