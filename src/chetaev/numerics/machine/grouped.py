"""Long programs in loops: equal operations that do not depend on each other are computed one after the other.

Machine code for each of 300,000 operations takes ten seconds and a gigabyte to make, and does not fit into the caches of a processor. The
values of a program are sorted instead by their level, one more than the highest level of what they read, and within a level by their
operation. Each such group is a loop over three columns: the places of the arguments. The loops are those of one function for all programs,
made from the same lines as the machine code of a program (`instructions.CASES`), so the results are the same to the last bit.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.machine.engine import bind
from chetaev.numerics.machine.instructions import CASES, CONST, LIBM, READS, STORE, TIME
from chetaev.numerics.machine.interpreter import LABELS, MEMORY, NEEDED, SIGNATURE, Entries, addresses_of

_LEAST_TOGETHER = 3
"""Smallest mean length of the loops of a program: the choice of a loop takes as long as several operations."""
_OPERATIONS = 1 << 8
"""More than the largest number of an operation: levels are multiplied by it to sort by both."""

Integers = NDArray[np.int64]

_LOCK = threading.Lock()
_ADDRESSES: dict[bytes, int] = {}
_KEPT: list[Any] = []
"""The tables that the loops read; they are kept as long as the process, like all code."""


def grouped(program: bytes) -> int | None:
    """The address of a function that computes a program in loops; None where too few operations are equal and independent."""
    with _LOCK:
        known = _ADDRESSES.get(program)
    if known is None:
        groups, columns = tables_of(np.frombuffer(program, np.int32).reshape(-1, 4))
        values = len(program) // 16
        with _LOCK:
            if program not in _ADDRESSES and values >= _LEAST_TOGETHER * len(groups):
                _KEPT.extend((groups, columns))
                _ADDRESSES[program] = _ENTRIES.address(groups.ctypes.data, len(groups), columns.ctypes.data, values)
            known = _ADDRESSES.setdefault(program, 0)
    return known or None


def tables_of(table: NDArray[np.int32]) -> tuple[Integers, NDArray[np.int32]]:
    """The loops of a program, a line each: operation, first value, number of values, and where its columns begin; and all columns.

    A loop has three columns, one behind the other. They hold the places of the arguments; of a load or store the index, and of a constant
    the halves of its bits in the last two.
    """
    keys = _levels(table).astype(np.int64) * _OPERATIONS + table[:, 0]
    order = np.argsort(keys, kind="stable")
    place = np.empty(len(table), np.int32)
    place[order] = np.arange(len(table), dtype=np.int32)
    firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    counts = np.diff(firsts, append=len(table))
    operations, columns = table[order, 0], np.empty(3 * len(table), np.int32)
    for column, reads in enumerate(READS):
        entries = table[order, column + 1]
        reading = reads[operations]
        entries[reading] = place[entries[reading]]
        begins = 2 * firsts + column * counts  # added to the place of a value, where its entry stands
        columns[np.repeat(begins, counts) + np.arange(len(table))] = entries
    return np.column_stack([operations[firsts], firsts, counts, 3 * firsts]).astype(np.int64), columns


def _levels(table: NDArray[np.int32]) -> NDArray[np.int32]:
    """One more than the highest level among the arguments of each value; stores come last."""
    of_a, of_b, of_c = (reads.tolist() for reads in READS)
    levels: list[int] = []
    for operation, a, b, c in zip(*table.T.tolist(), strict=True):
        level = 0
        if of_a[operation]:
            level = levels[a] + 1
        if of_b[operation] and levels[b] >= level:
            level = levels[b] + 1
        if of_c[operation] and levels[c] >= level:
            level = levels[c] + 1
        levels.append(level)
    found = np.array(levels, np.int32)
    found[table[:, 0] == STORE] = found.max(initial=0) + 1
    return found


@cache
def _routine() -> int:
    """The address of the function with the loops of all operations."""
    for name in (*LIBM, *MEMORY):
        bind(name)
    return addresses_of({"run": _text()}, NEEDED, optimised=True)[0]


def _text() -> str:
    switch = " ".join(f"i32 {operation}, label %to.{label}" for operation, label in LABELS.items())
    loops = "\n".join(_loop(operation, label) for operation, label in LABELS.items())
    own = "ptr noalias readonly %groups, i64 %count, ptr noalias readonly %columns, i64 %values"
    return f"""define internal void @run({own}, {SIGNATURE}) nounwind {{
entry:
%bytes = mul i64 %values, 8
%work = call ptr @malloc(i64 %bytes)
br label %next
next:
%g = phi i64 [ 0, %entry ], [ %g.after, %done ]
%more = icmp slt i64 %g, %count
br i1 %more, label %choose, label %end
choose:
%group = getelementptr [4 x i64], ptr %groups, i64 %g
%operation.long = load i64, ptr %group
%operation = trunc i64 %operation.long to i32
%first.p = getelementptr i64, ptr %group, i64 1
%first = load i64, ptr %first.p
%length.p = getelementptr i64, ptr %group, i64 2
%length = load i64, ptr %length.p
%at.p = getelementptr i64, ptr %group, i64 3
%at = load i64, ptr %at.p
%results = getelementptr double, ptr %work, i64 %first
%column.a = getelementptr i32, ptr %columns, i64 %at
%column.b = getelementptr i32, ptr %column.a, i64 %length
%column.c = getelementptr i32, ptr %column.b, i64 %length
switch i32 %operation, label %done [ {switch} ]
{loops}
done:
%g.after = add i64 %g, 1
br label %next
end:
call void @free(ptr %work)
ret void
}}"""


def _loop(operation: int, label: str) -> str:
    """The loop of one operation."""
    lines, names = [], {}
    for name, column in (("i", "a"), ("a", "a"), ("b", "b"), ("c", "c")):
        if f"{{{name}}}" in CASES.get(operation, ""):
            own = f"%{label}.{name}"
            lines += [f"{own}.p = getelementptr i32, ptr %column.{column}, i64 %{label}.k", f"{own}.w = load i32, ptr {own}.p"]
            lines += [f"{own}.x = zext i32 {own}.w to i64"]
            if name != "i":
                lines += [f"{own}.q = getelementptr double, ptr %work, i64 {own}.x", f"{own}.v = load double, ptr {own}.q"]
            names[name] = f"{own}.x" if name == "i" else f"{own}.v"
    result = f"%{label}"
    if operation == TIME:
        result = "%t"
    elif operation == CONST:
        lines += [f"%{label}.p = getelementptr i32, ptr %column.b, i64 %{label}.k", f"%{label}.low = load i32, ptr %{label}.p"]
        lines += [f"%{label}.q = getelementptr i32, ptr %column.c, i64 %{label}.k", f"%{label}.high = load i32, ptr %{label}.q"]
        lines += [f"%{label}.l = zext i32 %{label}.low to i64", f"%{label}.h = zext i32 %{label}.high to i64"]
        lines += [f"%{label}.s = shl i64 %{label}.h, 32", f"%{label}.bits = or i64 %{label}.s, %{label}.l"]
        lines += [f"{result} = bitcast i64 %{label}.bits to double"]
    else:
        lines.append(CASES[operation].format(r=result, **names))
    if operation != STORE:
        lines += [f"%{label}.to = getelementptr double, ptr %results, i64 %{label}.k", f"store double {result}, ptr %{label}.to"]
    body = "\n".join(lines)
    return f"""to.{label}:
br label %{label}.begin
{label}.begin:
%{label}.k = phi i64 [ 0, %to.{label} ], [ %{label}.after, %{label}.begin ]
{body}
%{label}.after = add i64 %{label}.k, 1
%{label}.again = icmp slt i64 %{label}.after, %length
br i1 %{label}.again, label %{label}.begin, label %done"""


_ENTRIES = Entries(_routine, ("ptr", "i64", "ptr", "i64"))
