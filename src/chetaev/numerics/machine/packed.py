"""Calls of precompiled functions with the same arguments again and again.

A function takes an array by its seven parts, and a stepping loop takes fifty arrays: to pass these from Python takes longer than a short
run. Here the parts are written into one row of memory, once, and a few instructions of machine code read them from there and make the call.
The caller may change the contents of packed arrays between two calls, and single numbers and arrays in the row; the arrays stay alive with
it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from chetaev.numerics.machine.engine import NAME, address_of, machine_code
from chetaev.numerics.machine.precompiled import flattened


class Packed:
    """A function with its arguments; one thread at a time may call it."""

    def __init__(self, function: Callable[..., None], *arguments: Any) -> None:
        self.name, self.arguments = function.__name__, arguments
        kinds, values = flattened(arguments)
        function.check(kinds)  # type: ignore[attr-defined]
        end = len(values) + 2
        self._row = np.zeros(end + 3, np.int64)  # two addresses, the arguments, what the call returns, and where these addresses point
        self._floats = self._row.view(np.float64)
        self._places: list[int] = []
        place, numbers = 2, []
        for kind in kinds:
            self._places.append(place)
            if kind == "float":
                numbers.append((place, values[place - 2]))
                values[place - 2] = 0
            place += _size(kind)
        self._row[2:end] = values
        for place, number in numbers:
            self._floats[place] = number
        self._at = self._row.ctypes.data
        self._row[:2] = self._at + 8 * (end + 1), self._at + 8 * (end + 2)  # where numba leaves a result and an exception
        self.entry = _entry(function.symbol, tuple(kinds))  # type: ignore[attr-defined]
        """The address of code that makes the call, for compiled callers: `void entry(void* row)`."""
        self._enter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.entry)
        self.row = self._at
        """The address of the row."""
        self.returned = self._row[end : end + 1]
        """What the last call returned: zero, unless it failed."""

    def set(self, argument: int, value: float | int | np.ndarray[Any, Any]) -> None:
        """Replace an argument, counted with the fields of tuples one by one; an array by one of its kind that the caller keeps."""
        place = self._places[argument]
        if isinstance(value, np.ndarray):
            parts = (value.size, value.itemsize, address_of(value), *value.shape, *value.strides)
            self._row[place + 2 : place + 2 + len(parts)] = parts
        elif isinstance(value, float):
            self._floats[place] = value
        else:
            self._row[place] = value

    def __call__(self) -> None:
        self._enter(self._at)
        if self.returned.item():
            raise RuntimeError(f"{self.name} did not end as it should")


class InTurn:
    """Kernels that are called one after the other at one time, each with the same arguments again and again: an entry holds a kernel's
    address, and the arrays y, p and out. One thread at a time may call it.
    """

    def __init__(self, calls: Sequence[tuple[int, np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]]) -> None:
        self._kept = [arrays for _, *arrays in calls]
        self._table = np.array([[address, *(a.ctypes.data for a in arrays)] for address, *arrays in calls], np.int64)
        self._enter = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)(turns_code())
        self._at, self._number = self._table.ctypes.data, len(calls)

    def __call__(self, t: float) -> None:
        self._enter(t, self._at, self._number)

    @property
    def table(self) -> tuple[int, int]:
        """Where the calls are listed, and their number, for compiled callers."""
        return self._at, self._number


@cache
def turns_code() -> int:
    """The address of code that calls the kernels of a table: `void turns(double t, ptr table, int64 number)`."""
    parts = ("kernel", "y", "p", "out")
    loads = [f"%{name}_at = getelementptr ptr, ptr %line, i64 {k}\n%{name} = load ptr, ptr %{name}_at" for k, name in enumerate(parts)]
    text = "\n".join(
        [
            f"define void @{NAME}(double %t, ptr %table, i64 %number) nounwind {{",
            "begin:\nbr label %turn",
            "turn:",
            "%k = phi i64 [0, %begin], [%next, %turn]",
            "%first = mul i64 %k, 4",
            "%line = getelementptr ptr, ptr %table, i64 %first",
            *loads,
            "call void %kernel(double %t, ptr %y, ptr %p, ptr %out)",
            "%next = add i64 %k, 1",
            "%more = icmp slt i64 %next, %number",
            "br i1 %more, label %turn, label %done",
            "done:\nret void\n}\n",
        ]
    )
    return machine_code(text, optimised=True)


@cache
def _size(kind: str) -> int:
    """The places of an argument in the row."""
    return 1 if kind in ("int", "float") else 5 + 2 * int(kind.rpartition(":")[2])


@cache
def _entry(symbol: str, kinds: Sequence[str]) -> int:
    """The address of code that reads arguments from a row and calls a function that is loaded already."""
    types = ["i64", "i64"]
    for kind in kinds:
        types += ["double" if kind == "float" else "i64"] * _size(kind)
    lines, names = [], []
    for k, kind in enumerate(types):
        lines += [f"%a{k} = getelementptr double, ptr %row, i64 {k}", f"%v{k} = load {kind}, ptr %a{k}"]
        names.append(f"{kind} %v{k}")
    text = "\n".join(
        [
            f"declare i32 @{symbol}({', '.join(types)})",
            f"define void @{NAME}(ptr %row) nounwind {{",
            *lines,
            f"%failed = call i32 @{symbol}({', '.join(names)})",
            "%wide = sext i32 %failed to i64",
            f"%last = getelementptr double, ptr %row, i64 {len(types)}",
            "store i64 %wide, ptr %last",
            "ret void\n}\n",
        ]
    )
    return machine_code(text, optimised=True)
