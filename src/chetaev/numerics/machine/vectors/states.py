"""A program for several states at once: the lines of its machine code, with a vector of numbers in place of every number.

Number `i` of a vector belongs to lane `i`, and an array holds one row of `LANES` numbers where the code for one state holds a number. The
lines are those of the code for one state (`instructions.CASES`, `sine`), with every type widened: a lane computes the same operations in
the same order and has the same bits. What is no operation of vectors, a function of the mathematical library, is called lane by lane.
"""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.engine import CALLED, NAME, SAME_BITS, bind, machine_code
from chetaev.numerics.machine.instructions import (
    CASES,
    CONST,
    DECLARATIONS,
    FEW_ANGLES,
    LIBM,
    PARAMETER,
    STATE,
    STORE,
    TIME,
    TURNING,
    operation_of,
)
from chetaev.numerics.machine.interpreter import interpreted, interprets
from chetaev.numerics.machine.processor import LANES
from chetaev.numerics.machine.rounding_bounds import bound_lines, bound_of_constant
from chetaev.numerics.machine.sine import widened
from chetaev.numerics.machine.tape import lines_of

_LOOSE = {operation_of(name) for name in LIBM}
"""Operations that are calls of the mathematical library."""


_SIGNATURE = ", ".join([*[f"ptr noalias readonly %{name}" for name in ("times", "y", "p")], "ptr noalias writeonly %out"])


def runs_in_lanes() -> bool:
    """Whether programs for several states can be made here: with pointers without types, which LLVM has since version 15, and where sine
    and cosine of one argument have the same bits together as apart.
    """
    return llvm.llvm_version_info[0] > 15 and (SAME_BITS or sine.IN_LINE)


_MADE: dict[bytes, int] = {}
_DOUBTING: dict[tuple[bytes, int], int] = {}
_MOST_DOUBTED = 400
"""Most values of a program whose bounds are computed for several states: such code is five times as long as that of the values, and takes
a tenth of a second to make; it is called once in fifty steps."""


def is_made(program: bytes) -> bool:
    """Whether code for several states exists."""
    return program in _MADE


def code_in_lanes(program: bytes) -> int:
    """The address of `void kernel(double* t, double* y, double* p, double* out)` for `LANES` states, whose numbers lie side by side."""
    if program not in _MADE:
        _MADE[program] = _code(program)
    return _MADE[program]


def doubts_in_lanes(program: bytes, size: int) -> int:
    """The address of code for several states that stores `size` results plus, and behind them minus, bounds of their errors, as
    `rounding_bounds.doubting` for one state; 0 for programs that are long or call the mathematical library.
    """
    if (program, size) not in _DOUBTING:
        table = np.frombuffer(program, np.int32).reshape(-1, 4)
        far = len(table) > _MOST_DOUBTED or np.isin(table[:, 0], list(_LOOSE.difference(TURNING))).any() or not sine.IN_LINE
        _DOUBTING[program, size] = 0 if far else _made(text_in_lanes(program, bounds=size))
    return _DOUBTING[program, size]


def _code(program: bytes) -> int:
    table = np.frombuffer(program, np.int32).reshape(-1, 4)
    angles = len(np.unique(table[np.isin(table[:, 0], TURNING), 1]))
    if not 0 < angles <= FEW_ANGLES or not sine.IN_LINE:
        return _made(text_in_lanes(program))
    return _made(text_in_lanes(program, _made(_lane_by_lane(program) if interprets() else text_in_lanes(program))))


def _lane_by_lane(program: bytes) -> str:
    """Code that has a program interpreted for one lane after another: for arguments that hardly ever occur, made at once."""
    table = np.frombuffer(program, np.int32).reshape(-1, 4)
    sizes = {name: 1 + int(table[table[:, 0] == kind, 1].max(initial=0)) for name, kind in (("y", STATE), ("p", PARAMETER), ("out", STORE))}
    begin = [f"%{name}.one = alloca double, i64 {size}" for name, size in sizes.items()]
    call = f"call void inttoptr (i64 {interpreted(program)} to ptr)(double %t, ptr %y.one, ptr %p.one, ptr %out.one)"
    return f"""define void @{NAME}({_SIGNATURE}) nounwind {{
entry:
{chr(10).join(begin)}
br label %lane
lane:
%l = phi i64 [ 0, %entry ], [ %more, %out.done ]
%t.at = getelementptr double, ptr %times, i64 %l
%t = load double, ptr %t.at
br label %y.loop
{_copied("y", "lane", sizes["y"], "p.loop", inwards=True)}
{_copied("p", "y.done", sizes["p"], "call", inwards=True)}
call:
{call}
br label %out.loop
{_copied("out", "call", sizes["out"], "", inwards=False)}
%more = add i64 %l, 1
%again = icmp slt i64 %more, {LANES}
br i1 %again, label %lane, label %end
end:
ret void
}}
"""


def _copied(name: str, before: str, size: int, then: str, inwards: bool) -> str:
    """A loop that copies the numbers of lane %l to the room of one state, or back."""
    source, target = ("wide", "one") if inwards else ("one", "wide")
    return f"""{name}.loop:
%{name}.j = phi i64 [ 0, %{before} ], [ %{name}.next, %{name}.loop ]
%{name}.row = mul i64 %{name}.j, {LANES}
%{name}.place = add i64 %{name}.row, %l
%{name}.wide.at = getelementptr double, ptr %{name}, i64 %{name}.place
%{name}.one.at = getelementptr double, ptr %{name}.one, i64 %{name}.j
%{name}.value = load double, ptr %{name}.{source}.at
store double %{name}.value, ptr %{name}.{target}.at
%{name}.next = add i64 %{name}.j, 1
%{name}.more = icmp slt i64 %{name}.next, {size}
br i1 %{name}.more, label %{name}.loop, label %{name}.done
{name}.done:
{f"br label %{then}" if then else ""}"""


def _made(text: str) -> int:
    for name in CALLED.findall(text):
        bind(name)
    return machine_code(text, optimised=True)


def text_in_lanes(program: bytes, otherwise: int | None = None, bounds: int = 0) -> str:
    """Return a program for several states in LLVM's language.

    `otherwise` is the address of other code for the same program. With it sines and cosines are computed inline, and the other code is
    called where an argument in some lane is too large for that. With `bounds`, the number of results, these are stored plus and minus
    bounds of their errors (`rounding_bounds`).
    """
    lines = [f"%t = load {_wide('double')}, ptr %times, align 8"]
    names: list[str] = []
    doubts: list[str] = []
    called: set[int] = set()
    circles: dict[str, tuple[str, str]] = {}
    sizes: list[str] = []
    for k, (operation, a, b, c) in enumerate(lines_of(np.frombuffer(program, np.int32).reshape(-1, 4))):
        name = f"%v{k}"
        if operation == CONST:
            name = f"0x{c & 0xFFFFFFFF:08X}{b & 0xFFFFFFFF:08X}"
        elif operation == TIME:
            name = "%t"
        elif operation in (STATE, PARAMETER):
            lines += [f"{name}.at = getelementptr {_wide('double')}, ptr {'%y' if operation == STATE else '%p'}, i64 {a}"]
            lines += [f"{name} = load {_wide('double')}, ptr {name}.at, align 8"]
        elif operation == STORE and bounds:
            for how, place in (("fadd", a), ("fsub", a + bounds)):
                lines += [widened(f"{name}.{how} = {how} double {names[b]}, {doubts[b]}"), *_stored(f"{name}.{how}", place)]
        elif operation == STORE:
            lines += _stored(names[b], a, name)
        elif operation in TURNING and sine.IN_LINE:
            if names[a] not in circles:
                new = sine.Lines(f"%c{k}")
                if otherwise is None:
                    circles[names[a]] = new.called(names[a])
                    lines += [widened(line).replace(f"@{sine.NAME}(", f"@{_CIRCLE}(") for line in new.text]
                else:
                    sizes = [new.larger([*sizes, new.size(names[a])])]
                    circles[names[a]] = new.sine_and_cosine(names[a])
                    lines += map(widened, new.text)
            name = circles[names[a]][TURNING.index(operation)]
        elif operation in _LOOSE:
            called.add(operation)
            lines += _one_by_one(CASES[operation].format(r="{r}", a="{a}", b="{b}"), name, [names[a], names[b]])
        else:
            called.add(operation)
            lines += [widened(line) for line in CASES[operation].format(r=name, a=names[a], b=names[b], c=names[c]).splitlines()]
        if bounds:
            more, doubt = _doubted(name, (operation, a, b, c), names, doubts)
            lines += more
            doubts.append(doubt)
        names.append(name)
    head = {line if operation in _LOOSE else widened(line) for operation in called if (line := DECLARATIONS.get(operation)) is not None}
    end = ["ret void", "}", ""]
    if circles and otherwise is not None:
        head |= {widened(sine.DECLARATION)}
        last = sine.Lines("%near")
        near = last.is_near(sizes[0])
        end = [
            *map(widened, last.text),
            f"%bits = bitcast {_wide('i1')} {near} to i{LANES}",
            f"%all = icmp eq i{LANES} %bits, -1",
            "br i1 %all, label %end, label %otherwise",
            "otherwise:",
            f"call void inttoptr (i64 {otherwise} to ptr)(ptr %times, ptr %y, ptr %p, ptr %out)",
            "br label %end",
            "end:",
            *end,
        ]
    elif circles:
        head = {line for line in head if line not in _CIRCLE_HEAD} | {*_CIRCLE_HEAD, _circle()}
    return "\n".join([*sorted(head), f"define void @{NAME}({_SIGNATURE}) nounwind {{", *lines, *end])


def _stored(value: str, place: int, prefix: str = "") -> list[str]:
    """Lines that store a value, or a constant, in a place of the result."""
    at = f"{prefix or value}.at"
    return [
        f"{at} = getelementptr {_wide('double')}, ptr %out, i64 {place}",
        f"store {_wide('double')} {_spelled(value)}, ptr {at}, align 8",
    ]


def _doubted(name: str, line: tuple[int, int, int, int], names: list[str], doubts: list[str]) -> tuple[list[str], str]:
    """Lines for the bound of the error of a value, and its name."""
    operation, a, b, c = line
    if operation == CONST:
        number = float(np.array([b, c], np.int32).view(np.float64)[0])
        return [], sine.bits(bound_of_constant(number, b))
    if operation in (TIME, STATE, PARAMETER, STORE):
        return [], "0.0"
    used = {letter: value for letter, value in zip("abc", (a, b, c), strict=True) if f"{{{letter}}}" in CASES[operation]}
    found, bound = bound_lines(operation, {z: names[v] for z, v in used.items()}, {z: doubts[v] for z, v in used.items()}, name)
    return [widened(each) for text in found for each in text.splitlines()], bound


def _wide(kind: str) -> str:
    return f"<{LANES} x {kind}>"


def _equal(number: str, kind: str = "double") -> str:
    return f"<{', '.join([f'{kind} {number}'] * LANES)}>"


def _spelled(name: str) -> str:
    """A value, or a constant, as an operand."""
    return name if name.startswith("%") else _equal(name)


def _one_by_one(line: str, name: str, operands: list[str]) -> list[str]:
    """A call for each lane. `line` has places for the result and the operands."""
    lines, whole = [], "undef"
    for i in range(LANES):
        values = []
        for which, operand in zip("ab", operands, strict=True):
            if f"{{{which}}}" in line and operand.startswith("%"):
                lines.append(f"{name}.{which}{i} = extractelement {_wide('double')} {operand}, i32 {i}")
                operand = f"{name}.{which}{i}"
            values.append(operand)
        lines.append(line.format(r=f"{name}.r{i}", a=values[0], b=values[1]))
        new = name if i == LANES - 1 else f"{name}.w{i}"
        lines.append(f"{new} = insertelement {_wide('double')} {whole}, double {name}.r{i}, i32 {i}")
        whole = new
    return lines


# ------------------------------------------------------------ sine and cosine


_CIRCLE = f"{sine.NAME}_in_lanes"
_BOTH = f"{{ {_wide('double')}, {_wide('double')} }}"
_CIRCLE_HEAD = (widened(sine.DECLARATION), "declare double @sin(double)", "declare double @cos(double)")


def _circle() -> str:
    """A function that returns sine and cosine of a vector. Lanes whose argument is too large for the polynomials ask the library."""
    near, lines = sine.Lines("%n"), sine.Lines("%v")
    inside = near.near("%x")
    both = lines.sine_and_cosine("%x")
    wide = _wide("double")
    text = [
        f"define internal {_BOTH} @{_CIRCLE}({wide} %x) nounwind {{",
        "entry:",
        *map(widened, near.text),
        *map(widened, lines.text),
        f"%bits = bitcast {_wide('i1')} {inside} to i{LANES}",
        f"%all = icmp eq i{LANES} %bits, -1",
        "br i1 %all, label %done, label %far",
        "far:",
    ]
    whole = list(both)
    for i in range(LANES):
        text += [f"%x{i} = extractelement {wide} %x, i32 {i}", f"%near{i} = extractelement {_wide('i1')} {inside}, i32 {i}"]
        text += [f"br i1 %near{i}, label %keep{i}, label %ask{i}", f"ask{i}:"]
        for which, function in enumerate(("sin", "cos")):
            text += [f"%{function}{i} = call double @{function}(double %x{i})"]
            text += [f"%{function}a{i} = insertelement {wide} {whole[which]}, double %{function}{i}, i32 {i}"]
        text += [f"br label %keep{i}", f"keep{i}:"]
        before = "far" if i == 0 else f"keep{i - 1}"
        for which, function in enumerate(("sin", "cos")):
            text += [f"%{function}b{i} = phi {wide} [ {whole[which]}, %{before} ], [ %{function}a{i}, %ask{i} ]"]
            whole[which] = f"%{function}b{i}"
    text += ["br label %done", "done:"]
    for which, name in enumerate(("s", "c")):
        text += [f"%{name} = phi {wide} [ {both[which]}, %entry ], [ {whole[which]}, %keep{LANES - 1} ]"]
    text += [f"%one = insertvalue {_BOTH} undef, {wide} %s, 0", f"%two = insertvalue {_BOTH} %one, {wide} %c, 1", f"ret {_BOTH} %two", "}"]
    return "\n".join(text)
