"""Bounds of the round-off of a program in machine code of their own, with the bits of the interpreter of `rounding_bounds`.

A run asks for them inside a few steps, so the interpreter is enough for one motion. Of short motions that are repeated very often they take
a tenth; code of their own takes a third of the interpreter's time.
"""

from __future__ import annotations

import threading

import numpy as np

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.engine import NAME, machine_code
from chetaev.numerics.machine.instructions import (
    CASES,
    CONST,
    DECLARATIONS,
    LIBM,
    PARAMETER,
    STATE,
    STORE,
    TIME,
    TURNING,
    Circle,
    in_order,
    operation_of,
)
from chetaev.numerics.machine.interpreter import SIGNATURE
from chetaev.numerics.machine.rounding_bounds import bound_lines, bound_of_constant, doubted_at
from chetaev.numerics.machine.tape import lines_of

_LONGEST = 1000
"""Most instructions of a program: its code takes 0.2 s to make, which some hundred thousand calls save again."""
_CALLED = frozenset(operation_of(name) for name in LIBM).difference(TURNING)
"""Operations that call the mathematical library: then the calls take most of the time."""

_LOCK = threading.Lock()
_MADE: dict[int, int] = {}


def doubting_code(address: int) -> int:
    """The address of code that computes the same as the interpreter at an address of `rounding_bounds.doubting`; that address itself where
    nothing would be gained.
    """
    with _LOCK:
        if address not in _MADE:
            known = doubted_at(address)
            text = None if known is None else _text(*known, address)
            _MADE[address] = address if text is None else machine_code(text, optimised=True)
        return _MADE[address]


def _text(program: bytes, size: int, otherwise: int) -> str | None:
    """The program in LLVM's language; the code `otherwise` is called where an angle is too large for sines and cosines in line."""
    table = list(lines_of(np.frombuffer(program, np.int32).reshape(-1, 4)))
    if len(table) > _LONGEST or any(operation in _CALLED for operation, *_ in table) or not sine.IN_LINE:
        return None
    names, doubts = [""] * len(table), ["0.0"] * len(table)
    circle, called = Circle(True), set[int]()
    lines, (order, first, angles) = circle.lines, in_order(table)
    for place, k in enumerate(order):
        operation, a, b, c = table[k]
        if place == first:
            circle.begin([names[v] for v in angles])
        if operation == CONST:
            names[k] = f"0x{c & 0xFFFFFFFF:08X}{b & 0xFFFFFFFF:08X}"
            doubts[k] = sine.bits(bound_of_constant(float(np.array([b, c], np.int32).view(np.float64)[0]), b))
        elif operation == TIME:
            names[k] = "%t"
        elif operation == STORE:
            for how, entry in (("fadd", a), ("fsub", a + size)):
                lines.append(f"%v{k}.{how}.sum = {how} double {names[b]}, {doubts[b]}")
                lines.append(CASES[STORE].format(r=f"%v{k}.{how}", i=entry, b=f"%v{k}.{how}.sum"))
        elif operation in (STATE, PARAMETER):
            names[k] = f"%v{k}"
            lines.append(CASES[operation].format(r=names[k], i=a))
        else:
            used = {letter: value for letter, value in zip("abc", (a, b, c), strict=True) if f"{{{letter}}}" in CASES[operation]}
            read = {letter: names[v] for letter, v in used.items()}
            if operation in TURNING:
                names[k] = circle.value(TURNING.index(operation), names[a])
            else:
                names[k] = f"%v{k}"
                called.add(operation)
                lines.append(CASES[operation].format(r=names[k], **read))
            more, doubts[k] = bound_lines(operation, read, {letter: doubts[v] for letter, v in used.items()}, names[k])
            lines += more
    end = ["ret void", "}", ""]
    if circle.near:
        call = f"call void inttoptr (i64 {otherwise} to ptr)({SIGNATURE})"
        end = [f"br i1 {circle.near}, label %end, label %otherwise", "otherwise:", call, "br label %end", "end:", *end]
    head = {circle.head, *[DECLARATIONS[operation] for operation in called & DECLARATIONS.keys()]}
    return "\n".join([*sorted(head), f"define void @{NAME}({SIGNATURE}) nounwind {{", *lines, *end])
