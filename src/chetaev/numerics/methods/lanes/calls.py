"""Calls of code for all lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from chetaev.numerics.machine.lane_rows import Rows, call_lanes, finite_lanes
from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.dop853.types import Matrix
from chetaev.numerics.methods.lanes.layout import AT, FINITE, Places, Wide

_POINTER = types.CPointer(types.float64)


def _call_stages(typingctx: Any, address: Any, m: Any, t: Any, h: Any, y: Any, p: Any, k: Any, sums: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, base, *rows = arguments
        x = Rows(builder, base)
        places = [x.at(row) for row in (*rows[:-1], rows[-2], rows[-1])]
        kind = ir.FunctionType(ir.IntType(64), [place.type for place in places])
        return builder.call(builder.inttoptr(address, kind.as_pointer()), places)

    return types.int64(types.intp, _POINTER, *[types.intp] * 6), generate


call_stages: Callable[..., int] = intrinsic(_call_stages)
"""`call_stages(address, m, t, h, y, p, k, sums)`: a function of `stages`, with the first rows of what it takes, and what it
returns."""


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
