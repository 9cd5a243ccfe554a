"""The instruction tape of a CasADi function of scalars, read as a whole.

CasADi returns an instruction in three calls, each of which takes as long as executing a hundred instructions. A serialised function
contains the same table in one piece: four integers of 32 bits per instruction, as letters from `a` to `p` for four bits each. CasADi does
not document the position of the table; so it is searched by its first lines, and the instructions are read one by one if it is not found.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TypeVar

import casadi
import numpy as np
from numpy.typing import NDArray

from chetaev.core.exact.program import Compound, Program, fraction_of
from chetaev.core.functions import SMOOTH

Table = NDArray[np.int32]
Line = tuple[int, int, int, int]
V = TypeVar("V")

_INSTRUCTIONS_TO_MATCH = 8
"""Instructions by which the table is found; with too few, another part of the text could match."""
_LONGEST_READ_ONE_BY_ONE = 24
"""Tables of at most this many instructions are read one by one, which is faster than a search."""
_LETTERS_PER_INSTRUCTION = 32
"""Letters per instruction: four integers of 32 bits, four bits per letter."""


LIMIT = "limit"
"""The name of a constant that exact arithmetic treats as larger than every number (`overflow`)."""


def tape_of(function: casadi.Function) -> Table:
    """A line (operation, slot it writes to, slot, slot) per instruction.

    An input is (operation, slot, which input, which entry), an output (operation, which output, slot, which entry), and a constant has the
    bits of its number in the last two places.
    """
    count = int(function.n_instructions())
    if count > _LONGEST_READ_ONE_BY_ONE:
        stored = function.serialize().encode()
        start = stored.find(_in_letters([_line(function, k) for k in range(_INSTRUCTIONS_TO_MATCH)]))
        table = stored[start : start + _LETTERS_PER_INSTRUCTION * count]
        if start >= 0 and table.endswith(_in_letters([_line(function, count - 1)])):
            return _from_letters(table)
    return np.array([_line(function, k) for k in range(count)], np.int32).reshape(count, 4)


def lines_of(table: Table) -> Iterator[Line]:
    """Yield the lines of a table as tuples; thousands of lists would trigger the garbage collector."""
    numbers = iter(table.ravel().tolist())
    return zip(numbers, numbers, numbers, numbers, strict=True)


def fold(
    function: casadi.Function,
    read: Callable[[int, int], V],
    number: Callable[[float], V],
    apply: Callable[[int, tuple[V, ...]], V],
    lines: Iterable[Line] | None = None,
    frequent: Mapping[int, Callable[[V, V], V]] = MappingProxyType({}),
) -> list[V | None]:
    """The entries of the output of a function in another algebra; None for those that are zero everywhere.

    `read` gives an entry of an input, `number` a constant, `apply` what an operation makes of one or two arguments. Copies need nothing.
    `lines` are those of the function's tape, from a caller that folds the same function again and again. `frequent` has, for operations of
    two arguments, functions of their own: without the detour through `apply` a tape of sums and products takes two thirds of the time.
    """
    held: dict[int, V] = {}
    found: list[V | None] = [None] * int(function.numel_out(0))
    for operation, target, a, b in lines_of(tape_of(function)) if lines is None else lines:
        if operation in frequent:
            held[target] = frequent[operation](held[a], held[b])
        elif operation in _TWO:
            held[target] = apply(operation, (held[a], held[b]))
        elif operation == _OUTPUT:
            found[b] = held[a]
        elif operation == _INPUT:
            held[target] = read(a, b)
        elif operation == _CONST:
            held[target] = number(_double(a, b))
        elif operation == casadi.OP_ASSIGN:
            held[target] = held[a]
        else:
            held[target] = apply(operation, (held[a],))
    return found


def program_of(function: casadi.Function, numbers: Sequence[Fraction | str | Compound] = ()) -> Program:
    """The tape of a function of one column for exact arithmetic.

    The last inputs may stand for given numbers: fractions, or constants by name. Constants of the tape are doubles, read as `fraction_of`.
    """
    found = Program(int(function.numel_in(0)) - len(numbers), outputs=[0] * int(function.numel_out(0)))
    known: dict[int, Fraction] = {}
    limits: set[int] = set()
    add = found.add
    for operation, target, a, b in lines_of(tape_of(function)):
        if operation == _OUTPUT:
            _output(found, target, a, b)
            continue
        value = _number(a, b) if operation == _CONST else None
        if (
            operation == _CONST and _double(a, b) == math.pi / 2
        ):  # CasADi's own constant: a number with this many digits in a text would be an input
            value = None
            add(("constant", target, "pi", None))
            add(("number", _SPARE, Fraction(1, 2), None))
            add(("mul", target, target, _SPARE))
        elif operation == _CONST:
            add(("undefined" if value is None else "number", target, value, None))
        elif operation == _INPUT and b >= found.inputs:
            _add_number(found, target, numbers[b - found.inputs])
        elif operation == _INPUT:
            add(("input", target, b, None))
        elif operation in _POWERS and b in known:
            add(("power", target, a, known[b]))
        elif operation == casadi.OP_LT and a in limits:
            add(("number", target, Fraction(0), None))
        else:
            add((_EXACT[operation], target, a, b))
        if known:
            known.pop(target, None)
        if limits:
            limits.discard(target)
        if operation == _INPUT and b >= found.inputs and numbers[b - found.inputs] == LIMIT:
            limits.add(target)
        if value is not None:
            known[target] = value
    return found


def _output(program: Program, target: int, slot: int, entry: int) -> None:
    """Copy an output to a separate slot, since the tape reuses slots."""
    own = -1 - entry
    program.add(("assign", own, slot, None))
    program.outputs[entry] = own


def _number(a: int, b: int) -> Fraction | None:
    """A constant from its bits, exactly."""
    number = _double(a, b)
    return fraction_of(number) if math.isfinite(number) else None


def _double(a: int, b: int) -> float:
    return float(struct.unpack("=d", struct.pack("=ii", a, b))[0])


def _add_number(program: Program, target: int, number: Fraction | str | Compound) -> None:
    if isinstance(number, Fraction):
        program.add(("number", target, number, None))
    elif number == LIMIT:
        program.add(("number", target, Fraction(0), None))
    elif number == "E":
        program.add(("number", target, Fraction(1), None))
        program.add(("exp", target, target, None))
    else:
        program.add(("constant", target, number, None))


_SPARE = -(10**9)
"""A slot of a program that no tape uses: slots of the tape are natural numbers, those of outputs are just below zero."""
_INPUT, _OUTPUT, _CONST = casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST
_POWERS = (casadi.OP_POW, casadi.OP_CONSTPOW)
_TWO = frozenset(
    int(getattr(casadi, f"OP_{name}"))
    for name in "ADD SUB MUL DIV POW CONSTPOW ATAN2 FMIN FMAX LT LE EQ NE AND OR IF_ELSE_ZERO FMOD REMAINDER COPYSIGN HYPOT".split()
)
"""Operations of two arguments."""
_EXACT: dict[int, str] = {
    **{getattr(casadi, f"OP_{name.upper()}"): name for name in "add sub mul div neg sq twice inv assign not sign atan2".split()},
    **{getattr(casadi, f"OP_{name.upper()}"): name for name in SMOOTH},
    casadi.OP_FABS: "abs",
    casadi.OP_FMIN: "min",
    casadi.OP_FMAX: "max",
    casadi.OP_POW: "pow",
    casadi.OP_CONSTPOW: "pow",
    casadi.OP_LT: "less",
    casadi.OP_LE: "less",
    casadi.OP_EQ: "equal",
    casadi.OP_IF_ELSE_ZERO: "where",
}
"""Operations of a tape by the names of exact arithmetic."""


def _line(function: casadi.Function, k: int) -> tuple[int, int, int, int]:
    operation, read, written = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
    if operation == casadi.OP_CONST:
        return operation, written[0], *struct.unpack("=ii", struct.pack("=d", function.instruction_constant(k)))
    if operation == casadi.OP_OUTPUT:
        return operation, written[0], read[0], written[1]
    return operation, written[0], read[0], read[-1]


def _in_letters(lines: Sequence[tuple[int, int, int, int]]) -> bytes:
    numbers = np.frombuffer(np.array(lines, "<i4").tobytes(), np.uint8)
    return (np.column_stack([numbers & 15, numbers >> 4]) + ord("a")).astype(np.uint8).tobytes()


def _from_letters(table: bytes) -> Table:
    halves = np.frombuffer(table, np.uint8).reshape(-1, 2) - ord("a")
    return np.frombuffer((halves[:, 0] | halves[:, 1] << 4).tobytes(), "<i4").astype(np.int32).reshape(-1, 4)
