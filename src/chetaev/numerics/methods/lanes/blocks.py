"""Code for several states (`vector_code`) at many points: these stand in blocks of `LANES`, number by number."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.machine.engine import NAME, machine_code
from chetaev.numerics.machine.processor import LANES

Array = NDArray[np.float64]


def in_blocks(rows: Array, room: int = 0) -> Array:
    """Rows of numbers, one for each point, as blocks, with room behind the numbers. The last point fills up the last block."""
    size, n = rows.shape
    whole, blocks = size // LANES, -(-size // LANES)
    found = np.empty((blocks, n + room, LANES))
    found[:whole, :n] = rows[: whole * LANES].reshape(whole, LANES, n).transpose(0, 2, 1)
    if blocks > whole:
        found[whole, :n] = rows[np.minimum(np.arange(whole * LANES, blocks * LANES), size - 1)].T
    return found


def of_points(blocks: NDArray[Any], size: int) -> NDArray[Any]:
    """One number for each point, from one row of every block."""
    return blocks.reshape(-1)[:size]


def rows_of_points(blocks: Array, size: int) -> Array:
    """All numbers of the points, a row for each."""
    rows = np.empty((len(blocks) * LANES, blocks.shape[1]))
    rows.reshape(len(blocks), LANES, -1)[:] = blocks.transpose(0, 2, 1)
    return rows[:size]


def evaluate_blocks(address: int, t: Array, y: Array, p: Array, out: Array) -> None:
    """Compute code for several states at all blocks; `out` may be a part of y that the code does not read."""
    parts = [(a.ctypes.data, a.strides[0]) for a in (t, y, p, out)]
    _entry()(address, len(y), *[number for pair in parts for number in pair])


@cache
def _entry() -> Any:
    names = ("t", "y", "p", "out")
    places = [f"%{name}.far = mul i64 %k, %{name}.stride\n%{name}.at = getelementptr i8, ptr %{name}, i64 %{name}.far" for name in names]
    text = "\n".join(
        [
            f"define void @{NAME}(ptr %kernel, i64 %number, {', '.join(f'ptr %{name}, i64 %{name}.stride' for name in names)}) nounwind {{",
            "begin:\nbr label %block",
            "block:",
            "%k = phi i64 [0, %begin], [%next, %block]",
            *places,
            f"call void %kernel({', '.join(f'ptr %{name}.at' for name in names)})",
            "%next = add i64 %k, 1",
            "%more = icmp slt i64 %next, %number",
            "br i1 %more, label %block, label %done",
            "done:\nret void\n}\n",
        ]
    )
    kinds = [ctypes.c_void_p, ctypes.c_int64] * 5
    return ctypes.CFUNCTYPE(None, *kinds)(machine_code(text, optimised=True))
