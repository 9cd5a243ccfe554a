r"""Machine code of a function and of its derivatives in several directions at once, one in each lane of a vector register.

The program is that of one direction. Values that depend on seeds, entries of y and p from a place on, are vectors with a lane for each
direction; they are linear in the seeds, so that no vector meets another in a product. All other values are computed once for all lanes.
An entry that is a seed, and one that depends on seeds, takes as many numbers as there are lanes, one after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi
import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.engine import NAME
from chetaev.numerics.machine.instructions import (
    CASES,
    CONST,
    DECLARATIONS,
    FUSED_FROM,
    FUSED_LESS,
    FUSED_SUM,
    PARAMETER,
    STATE,
    STORE,
    TIME,
    TURNING,
    Circle,
    joined,
    operands,
)
from chetaev.numerics.machine.kernels import Kernel, compile_kernel, made, most_optimised
from chetaev.numerics.machine.tape import lines_of

_WIDTH = 4
"""Numbers in a vector register of usual processors; more lanes than two are filled up to a multiple of it."""
_LINE = 16
"""Bytes of a program for each value."""
_VECTORS: dict[int, str] = {
    casadi.OP_ADD: "{r} = fadd {v} {a}, {b}",
    casadi.OP_SUB: "{r} = fsub {v} {a}, {b}",
    casadi.OP_MUL: "{r} = fmul {v} {a}, {b}",
    casadi.OP_DIV: "{r} = fdiv {v} {a}, {b}",
    casadi.OP_NEG: "{r} = fneg {v} {a}",
    casadi.OP_TWICE: "{r} = fadd {v} {a}, {a}",
    FUSED_SUM: "{r} = call {v} @llvm.fmuladd.{n}({v} {a}, {v} {b}, {v} {c})",
    FUSED_LESS: "{r}.n = fneg {v} {c}\n{r} = call {v} @llvm.fmuladd.{n}({v} {a}, {v} {b}, {v} {r}.n)",
    FUSED_FROM: "{r}.n = fneg {v} {a}\n{r} = call {v} @llvm.fmuladd.{n}({v} {r}.n, {v} {b}, {v} {c})",
    casadi.OP_IF_ELSE_ZERO: "{r}.i = fcmp une {v} {a}, zeroinitializer\n{r} = select <{l} x i1> {r}.i, {v} {b}, {v} zeroinitializer",
}
"""Operations for vectors: those that are linear in what depends on seeds."""
_FUSED = (FUSED_SUM, FUSED_LESS, FUSED_FROM)


def lanes_for(directions: int) -> int:
    """The number of lanes for some directions."""
    return directions if directions <= 2 else -(-directions // _WIDTH) * _WIDTH


@dataclass(frozen=True)
class Lanes(Kernel):
    """A kernel with its derivatives in several lanes: `n_state`, `n_parameters` and `n_out` count all lanes."""

    lanes: int = 1
    own: int = 0
    """Entries of y, and of out, before those with lanes."""
    first_seed: int = 0
    """Entries of p before those with lanes."""
    seeded: int = 0
    """Entries of y with lanes; as many of out."""
    after: int = 0
    """Where further entries of out begin that have no lanes, in the program; 0 = nowhere."""
    later: int = 0
    """Where they are stored."""

    @cached_property
    def text(self) -> str:
        """The program in LLVM's language."""
        return _text(self)

    @cached_property
    def address(self) -> int:
        """The address of the code."""
        return made(self.text, self.instructions <= most_optimised())

    @property
    def early(self) -> int:
        """The address of the code: there is no other for few calls."""
        return self.address

    @property
    def provisional(self) -> bool:
        """Never."""
        return False

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.program, self.n_state, self.n_parameters, self.n_out, self.instructions, self.hot)
        return Lanes, (*fields, self.lanes, self.own, self.first_seed, self.seeded, self.after, self.later)


@lru_cache(maxsize=128)
def lanes_with(own: Lanes, *parts: tuple[Kernel, int]) -> Lanes:
    """The code `own` with further kernels of (t, y, p), each with the place from which its entries are stored."""
    first = own.own + own.seeded
    low = min(place for _, place in parts)
    program = joined([(own.program, 0), *[(kernel.program, place - low + first) for kernel, place in parts]])
    sizes = own.n_state, own.n_parameters, max(place + kernel.n_out for kernel, place in parts), len(program) // _LINE
    return Lanes(program, *sizes, True, own.lanes, own.own, own.first_seed, own.seeded, first, low)


def compile_lanes(function: casadi.Function, own: int, first_seed: int, lanes: int) -> Kernel:
    """Machine code of an SX function of (t, y, p) and one direction: y, p and the output hold seeds behind `own` and `first_seed`."""
    one = compile_kernel(function)
    if lanes == 1:
        return one
    seeded = one.n_state - own
    seeds = one.n_parameters - first_seed
    sizes = (own + lanes * seeded, first_seed + lanes * seeds, own + lanes * seeded)
    return Lanes(one.program, *sizes, one.instructions, True, lanes, own, first_seed, seeded)


def _text(kernel: Lanes) -> str:
    table: NDArray[np.int32] = np.frombuffer(kernel.program, np.int32).reshape(-1, 4)
    v = f"<{kernel.lanes} x double>"
    circle = Circle(False) if sine.IN_LINE else None
    lines: list[str] = [] if circle is None else circle.lines
    names: list[str] = []
    vector: list[bool] = []
    called: set[int] = set()
    spread: dict[int, str] = {}
    fused = turned = False

    def wide(k: int) -> str:
        """The name of a value as a vector."""
        if vector[k]:
            return names[k]
        if k not in spread:
            name = spread[k] = f"%w{k}"
            lines.append(f"{name}.i = insertelement {v} undef, double {names[k]}, i32 0")
            lines.append(f"{name} = shufflevector {v} {name}.i, {v} undef, <{kernel.lanes} x i32> zeroinitializer")
        return spread[k]

    for k, (operation, a, b, c) in enumerate(lines_of(table)):
        name = f"%v{k}"
        if operation == CONST:
            names.append(f"0x{c & 0xFFFFFFFF:08X}{b & 0xFFFFFFFF:08X}")
            vector.append(False)
            continue
        if operation == TIME:
            names.append("%t")
            vector.append(False)
            continue
        names.append(name)
        if operation in (STATE, PARAMETER):
            first, array = (kernel.own, "%y") if operation == STATE else (kernel.first_seed, "%p")
            vector.append(a >= first)
            if not vector[k]:
                lines.append(CASES[operation].format(r=name, i=a))
                continue
            lines.append(f"{name}.at = getelementptr double, ptr {array}, i64 {first + (a - first) * kernel.lanes}")
            lines.append(f"{name} = load {v}, ptr {name}.at, align 8")
        elif operation == STORE:
            vector.append(False)
            at = a
            if kernel.after and a >= kernel.after:
                at = a - kernel.after + kernel.later
            elif a >= kernel.own:
                lines.append(f"{name}.at = getelementptr double, ptr %out, i64 {kernel.own + (a - kernel.own) * kernel.lanes}")
                lines.append(f"store {v} {wide(b)}, ptr {name}.at, align 8")
                continue
            lines.append(CASES[STORE].format(r=name, i=at, b=names[b]))
        else:
            read = operands(operation, a, b, c)
            vector.append(any(vector[each] for each in read))
            if not vector[k] and circle is not None and operation in TURNING:
                names[k] = circle.value(TURNING.index(operation), names[a])
                turned = True
            elif not vector[k]:
                called.add(operation)
                lines.append(CASES[operation].format(r=name, a=names[a], b=names[b], c=names[c]))
            elif operation not in _VECTORS:
                raise ValueError("a derivative is not linear in its direction")
            else:
                fused |= operation in _FUSED
                spelled = {place: wide(value) for place, value in zip("abc", (a, b, c), strict=True) if value in read}
                lines.append(
                    _VECTORS[operation].format(r=name, v=v, n=f"v{kernel.lanes}f64", l=kernel.lanes, **{"b": "", "c": "", **spelled})
                )
    head = {DECLARATIONS[operation] for operation in called & DECLARATIONS.keys()}
    if fused:
        head.add(f"declare {v} @llvm.fmuladd.v{kernel.lanes}f64({v}, {v}, {v})")
    if turned and circle is not None:
        head.add(circle.head)
    define = f"define void @{NAME}(double %t, ptr noalias readonly %y, ptr noalias readonly %p, ptr noalias writeonly %out) nounwind {{"
    return "\n".join([*sorted(head), define, *lines, "ret void", "}", ""])
