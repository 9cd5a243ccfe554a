"""An interpreter of programs, in machine code, for programs that are called only a few times and need not be compiled.

The interpreter is made from the same lines as the machine code of a program (`instructions.CASES`), so both give the same result to the
last bit. It takes about twice as long per call. It is compiled without optimisation, once per process, within ten milliseconds.

A compiled loop calls a kernel by its address, and passes no argument that identifies the program. So there is a stock of entry functions
with different addresses; each one runs the program whose address stands in its line of a table.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.machine.engine import NAME, SAME_BITS, bind, machine_code
from chetaev.numerics.machine.instructions import CASES, CONST, DECLARATIONS, LIBM, TIME

STOCK = 32
"""Entry functions that are compiled together. A system needs about ten, and 32 take 2.3 ms of compiling, where eight take 1 ms each time: a
smaller number compiles more often, a larger one takes longer before the first motion of a process."""
_ON_STACK = 32_768
"""Most numbers of a program that are on the stack: they take 256 KiB, and more could overflow the stack of a thread. Those of longer
programs are in memory that each call takes and gives back."""
MEMORY = ("malloc", "free")
"""The functions for that."""

SIGNATURE = "double %t, ptr %y, ptr %p, ptr %out"


def interprets() -> bool:
    """Tell whether programs can be interpreted. The interpreter uses pointers without types, which LLVM has since version 15."""
    return SAME_BITS and llvm.llvm_version_info[0] > 15


class Entries:
    """Functions with the signature of a kernel that call a routine with arguments of their own, each from its line of a table.

    `routine` returns its address; `kinds` are the types of these arguments, which come before those of a kernel.
    """

    def __init__(self, routine: Callable[[], int], kinds: Sequence[str]) -> None:
        self._routine, self._kinds = routine, kinds
        self._lock = threading.Lock()
        self._free: list[tuple[int, NDArray[np.int64]]] = []
        self._tables: list[NDArray[np.int64]] = []
        """Where the functions look; they are kept as long as the process, like all code."""

    def address(self, *arguments: int) -> int:
        """The address of a function that calls the routine with these arguments before its own."""
        with self._lock:
            if not self._free:
                self._free = self._made()
            address, line = self._free.pop()
            line[:] = arguments
            return address

    def _made(self) -> list[tuple[int, NDArray[np.int64]]]:
        table, routine = np.zeros((STOCK, len(self._kinds)), np.int64), self._routine()
        self._tables.append(table)
        passed = "".join(f"{kind} %own{k}, " for k, kind in enumerate(self._kinds))
        entries = {}
        for number, line in enumerate(table):
            at = int(line.ctypes.data)
            loads = [f"%own{k} = load {kind}, ptr inttoptr (i64 {at + 8 * k} to ptr)" for k, kind in enumerate(self._kinds)]
            call = f"call void inttoptr (i64 {routine} to ptr)({passed}{SIGNATURE})"
            head = f"define internal void @entry{number}({SIGNATURE}) nounwind {{"
            entries[f"entry{number}"] = "\n".join([head, *loads, call, "ret void", "}"])
        return list(zip(addresses_of(entries), table, strict=True))


_LOCK = threading.Lock()
_ADDRESSES: dict[bytes, int] = {}


def interpreted(program: bytes) -> int:
    """Return the address of a function that interprets a program; equal programs share it."""
    with _LOCK:
        if program not in _ADDRESSES:
            _ADDRESSES[program] = _ENTRIES.address(np.frombuffer(program, np.int8).ctypes.data, len(program) // 16)
        return _ADDRESSES[program]


def addresses_of(functions: Mapping[str, str], declarations: Iterable[str] = (), optimised: bool = False) -> list[int]:
    """Return the addresses of functions given by their text. A kernel that is called once stores them."""
    body = [
        f"%at{k} = getelementptr i64, ptr %out, i64 {k}\nstore i64 ptrtoint (ptr @{name} to i64), ptr %at{k}"
        for k, name in enumerate(functions)
    ]
    kernel = [f"define void @{NAME}({SIGNATURE}) nounwind {{", *body, "ret void", "}"]
    # the trailing comment keeps `engine._in_blocks` from splitting this text: it splits texts that end with a kernel
    text = "\n".join([*declarations, *functions.values(), *kernel, "; and nothing else", ""])
    tell = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(machine_code(text, optimised))
    found = np.zeros(len(functions), np.int64)
    tell(0.0, None, None, found.ctypes.data)
    return [int(address) for address in found]


@cache
def _interpreter() -> int:
    """The address of the interpreter: a loop over the values of a program with a case for each operation."""
    for name in (*LIBM, *MEMORY):
        bind(name)
    return addresses_of({"run": loop_text({op: (_block(op, label), (_result(op, label),)) for op, label in LABELS.items()})}, NEEDED)[0]


LABELS = {operation: f"op{operation}" for operation in (*CASES, CONST, TIME)}
"""The label of every operation in the text of an interpreter."""
NEEDED = (*sorted(set(DECLARATIONS.values())), "declare ptr @malloc(i64)", "declare void @free(ptr)")
"""The declarations of the functions that this text calls."""


def loop_text(blocks: Mapping[int, tuple[str, tuple[str, ...]]], arguments: str = "") -> str:
    """The text of a function that runs a program: a loop over its values, with a block of lines for each operation.

    `blocks` are the lines of an operation and the names of the numbers that they compute, which are stored beside each other; `arguments`
    of the function come before those of a kernel.
    """
    width = len(next(iter(blocks.values()))[1])
    switch = " ".join(f"i32 {operation}, label %to.{LABELS[operation]}" for operation in blocks)
    lines = "\n".join(f"to.{LABELS[operation]}:\n{text}\nbr label %done" for operation, (text, _) in blocks.items())
    found = [", ".join(f"[ {names[k]}, %to.{LABELS[operation]} ]" for operation, (_, names) in blocks.items()) for k in range(width)]
    results = "\n".join(f"%result{k} = phi double {values}" for k, values in enumerate(found))
    stores = "\n".join(f"%at{k} = getelementptr double, ptr %place, i64 {k}\nstore double %result{k}, ptr %at{k}" for k in range(width))
    return f"""define internal void @run(ptr %code, i64 %n, {arguments}{SIGNATURE}) nounwind {{
entry:
%long = icmp sgt i64 %n, {_ON_STACK // width}
%placed = select i1 %long, i64 0, i64 %n
%stack = alloca [{width} x double], i64 %placed
br i1 %long, label %take, label %begin
take:
%bytes = mul i64 %n, {8 * width}
%heap = call ptr @malloc(i64 %bytes)
br label %begin
begin:
%work = phi ptr [ %stack, %entry ], [ %heap, %take ]
br label %next
next:
%k = phi i64 [ 0, %begin ], [ %after, %done ]
%more = icmp slt i64 %k, %n
br i1 %more, label %choose, label %end
choose:
%word = getelementptr [4 x i32], ptr %code, i64 %k
%operation = load i32, ptr %word
switch i32 %operation, label %end [ {switch} ]
{lines}
done:
{results}
%place = getelementptr [{width} x double], ptr %work, i64 %k
{stores}
%after = add i64 %k, 1
br label %next
end:
br i1 %long, label %give, label %over
give:
call void @free(ptr %work)
br label %over
over:
ret void
}}"""


def _result(operation: int, case: str) -> str:
    """Return the value of an operation; a store has a dummy value."""
    return "%t" if operation == TIME else f"%{case}" if operation == CONST or "{r} =" in CASES.get(operation, "") else "0.0"


def _block(operation: int, case: str) -> str:
    """The lines of one operation, with its arguments looked up."""
    if operation == TIME:
        return ""
    if operation == CONST:
        return f"%{case}.at = getelementptr i32, ptr %word, i64 2\n%{case} = load double, ptr %{case}.at"
    lines, names = loaded(operation, case)
    return "\n".join([*lines, CASES[operation].format(r=f"%{case}", **names)])


def loaded(operation: int, case: str, kind: str = "double") -> tuple[list[str], dict[str, str]]:
    """The lines that look up the arguments of an operation, and the names of these; values are the first entries of places of a `kind`."""
    lines, names = [], {}
    for name, column in (("i", 1), ("a", 1), ("b", 2), ("c", 3)):
        if f"{{{name}}}" in CASES[operation]:
            field = f"%{case}.{name}"
            lines += [f"{field}.p = getelementptr i32, ptr %word, i64 {column}", f"{field}.w = load i32, ptr {field}.p"]
            lines += [f"{field}.x = zext i32 {field}.w to i64"]
            if name != "i":
                lines += [f"{field}.q = getelementptr {kind}, ptr %work, i64 {field}.x", f"{field}.v = load double, ptr {field}.q"]
            names[name] = f"{field}.x" if name == "i" else f"{field}.v"
    return lines, names


_ENTRIES = Entries(_interpreter, ("ptr", "i64"))
