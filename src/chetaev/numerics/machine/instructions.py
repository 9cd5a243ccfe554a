"""The instruction tape of a CasADi graph as a program, and a program as text for LLVM.

An SX function already lists its operations in order: the tape. A program is the same list with every value computed once, under its own
number. The arithmetic of the tape is kept: nothing is reassociated, NaN and infinity propagate as in C. There are two exceptions. A
division by a value that depends on p alone becomes a product with its inverse, which can be computed before the state is known. A product
that is used only once, in a sum, is rounded together with the sum (`fmuladd`, if the processor has it). The program decides this, not LLVM,
so that the interpreter and the compiled code give the same result to the last bit.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import casadi
import numpy as np
from numpy.typing import NDArray

from chetaev.core.functions import SMOOTH
from chetaev.numerics.machine import sine
from chetaev.numerics.machine.engine import NAME
from chetaev.numerics.machine.tape import lines_of, tape_of

LIBM = {
    **dict.fromkeys((*(name for name in SMOOTH if name != "sqrt"), "log1p", "expm1"), 1),
    **dict.fromkeys("pow atan2 hypot fmod remainder".split(), 2),
}
_INTRINSICS = {**dict.fromkeys("sqrt floor ceil".split(), 1), "copysign": 2}

_COMPARE = "{{r}}.i = fcmp {how} double {{a}}, {{b}}\n{{r}} = uitofp i1 {{r}}.i to double"
_LOGIC = (
    "{{r}}.a = fcmp une double {{a}}, 0.0\n{{r}}.b = fcmp une double {{b}}, 0.0\n"
    "{{r}}.i = {how} i1 {{r}}.a, {{r}}.b\n{{r}} = uitofp i1 {{r}}.i to double"
)
# C's fmin and fmax: the other argument where one is NaN. Two selects in sequence, which LLVM compiles faster without optimisation.
_CHOICE = (
    "{{r}}.c = fcmp {how} double {{a}}, {{b}}\n{{r}}.s = select i1 {{r}}.c, double {{a}}, double {{b}}\n"
    "{{r}}.n = fcmp uno double {{b}}, {{b}}\n{{r}} = select i1 {{r}}.n, double {{a}}, double {{r}}.s"
)


def _call(name: str, arguments: int) -> str:
    return f"{{r}} = call double @{name}({', '.join(['double {a}', 'double {b}'][:arguments])})"


def _declaration(name: str, arguments: int, attributes: str = "") -> str:
    return f"declare double @{name}({', '.join(['double'] * arguments)}){attributes}"


def operation_of(name: str) -> int:
    """The number of an operation of CasADi."""
    return int(getattr(casadi, f"OP_{name.upper()}"))


LINES: dict[int, str] = {
    casadi.OP_ADD: "{r} = fadd double {a}, {b}",
    casadi.OP_SUB: "{r} = fsub double {a}, {b}",
    casadi.OP_MUL: "{r} = fmul double {a}, {b}",
    casadi.OP_DIV: "{r} = fdiv double {a}, {b}",
    casadi.OP_NEG: "{r} = fneg double {a}",
    casadi.OP_SQ: "{r} = fmul double {a}, {a}",
    casadi.OP_TWICE: "{r} = fadd double {a}, {a}",
    casadi.OP_INV: "{r} = fdiv double 1.0, {a}",
    # clears the sign bit: unoptimised, LLVM compiles this in half the time of its own fabs
    casadi.OP_FABS: ("{r}.b = bitcast double {a} to i64\n{r}.m = and i64 {r}.b, 9223372036854775807\n{r} = bitcast i64 {r}.m to double"),
    casadi.OP_LT: _COMPARE.format(how="olt"),
    casadi.OP_LE: _COMPARE.format(how="ole"),
    casadi.OP_EQ: _COMPARE.format(how="oeq"),
    casadi.OP_NE: _COMPARE.format(how="une"),
    casadi.OP_NOT: "{r}.i = fcmp oeq double {a}, 0.0\n{r} = uitofp i1 {r}.i to double",
    casadi.OP_AND: _LOGIC.format(how="and"),
    casadi.OP_OR: _LOGIC.format(how="or"),
    casadi.OP_IF_ELSE_ZERO: "{r}.i = fcmp une double {a}, 0.0\n{r} = select i1 {r}.i, double {b}, double 0.0",
    casadi.OP_FMIN: _CHOICE.format(how="olt"),
    casadi.OP_FMAX: _CHOICE.format(how="ogt"),
    # -1, 1, or the argument itself: zero and NaN are their own signs
    casadi.OP_SIGN: (
        "{r}.p = fcmp ogt double {a}, 0.0\n{r}.q = select i1 {r}.p, double 1.0, double {a}\n"
        "{r}.n = fcmp olt double {a}, 0.0\n{r} = select i1 {r}.n, double -1.0, double {r}.q"
    ),
    **{operation_of(name): _call(name, arguments) for name, arguments in LIBM.items()},
    **{operation_of(name): _call(f"llvm.{name}.f64", arguments) for name, arguments in _INTRINSICS.items()},
}

DECLARATIONS: dict[int, str] = {
    **{operation_of(name): _declaration(name, arguments, " nounwind willreturn readnone") for name, arguments in LIBM.items()},
    **{operation_of(name): _declaration(f"llvm.{name}.f64", arguments) for name, arguments in _INTRINSICS.items()},
}
"""What an operation calls; an operation without an entry is arithmetic."""

if sine.IN_LINE:
    for _place, _name in enumerate(("sin", "cos")):
        LINES[operation_of(_name)] = sine.call(_place)
        DECLARATIONS[operation_of(_name)] = sine.DEFINITION

_CONST, _DIV, _INV, _MUL, _SQ, _ADD, _SUB, _SQRT, _POW = (operation_of(name) for name in "const div inv mul sq add sub sqrt pow".split())
_INPUT, _OUTPUT, _COMMUTING = casadi.OP_INPUT, casadi.OP_OUTPUT, frozenset((_ADD, _MUL))
_SAME = frozenset((casadi.OP_ASSIGN, casadi.OP_LIFT))
_POWERS = frozenset((_POW, casadi.OP_CONSTPOW))

# operations that CasADi does not have
CONST, TIME, STATE, PARAMETER, STORE, FUSED_SUM, FUSED_LESS, FUSED_FROM = range(128, 136)
FUSED = frozenset((FUSED_SUM, FUSED_LESS, FUSED_FROM))
"""Operations with a product of two values and a third."""
_SYMMETRIC = _COMMUTING | {FUSED_SUM, FUSED_LESS, FUSED_FROM}
"""Operations for which a and b may change places."""
_FIRST = frozenset((CONST, TIME, STATE, PARAMETER))
"""Operations that read no other value."""

CASES = LINES | {
    # a number in place of {i} is an index, not a value
    STATE: "{r}.at = getelementptr double, ptr %y, i64 {i}\n{r} = load double, ptr {r}.at",
    PARAMETER: "{r}.at = getelementptr double, ptr %p, i64 {i}\n{r} = load double, ptr {r}.at",
    STORE: "{r}.at = getelementptr double, ptr %out, i64 {i}\nstore double {b}, ptr {r}.at",
    # the product of a and b: with c added, with c subtracted, and subtracted from c
    FUSED_SUM: "{r} = call double @llvm.fmuladd.f64(double {a}, double {b}, double {c})",
    FUSED_LESS: "{r}.n = fneg double {c}\n{r} = call double @llvm.fmuladd.f64(double {a}, double {b}, double {r}.n)",
    FUSED_FROM: "{r}.n = fneg double {a}\n{r} = call double @llvm.fmuladd.f64(double {r}.n, double {b}, double {c})",
}
DECLARATIONS |= dict.fromkeys((FUSED_SUM, FUSED_LESS, FUSED_FROM), "declare double @llvm.fmuladd.f64(double, double, double)")


def _mentioning(place: str) -> NDArray[np.bool_]:
    """Which operations read a value in a place, by their numbers."""
    return np.array([place in CASES.get(operation, "") for operation in range(FUSED_FROM + 1)])


READS = _READS_A, _READS_B, _READS_C = tuple(_mentioning(place) for place in ("{a}", "{b}", "{c}"))
"""Which operations read a value in the second, third and fourth place of a line."""
_OF_ONE = frozenset(map(int, np.flatnonzero(_READS_A & ~_READS_B)))
_OF_TWO = frozenset(map(int, np.flatnonzero(_READS_A & _READS_B))) - _POWERS

TURNING = (casadi.OP_SIN, casadi.OP_COS)
"""Sine and cosine, in the order in which code for both has them."""
FEW_ANGLES = 8
"""Most arguments of sines and cosines that are computed inline in code for several states; each takes half a millisecond to compile."""
MOST_ANGLES = 64
"""Most arguments of sines and cosines that are computed inline in code for one state, which computes four of them together."""

_LONGEST_POWER = 128
"""Largest integer or half-integer exponent computed by multiplications; beyond it libm's `pow` is as fast and more exact."""

_NUMBER, _OF_PARAMETERS, _MOVING = range(3)
"""Dependence of a value: a number, a function of p alone, or a function of time and state too."""


@dataclass
class _Values:
    """The values of a program, without duplicates."""

    known: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """The number of a value by its operation and operands, in the order of computation."""
    kinds: list[int] = field(default_factory=list)
    numbers: dict[int, float] = field(default_factory=dict)
    """The constants among them."""

    def new(self, operation: int, a: int, b: int, kind: int) -> int:
        """Return the number of a value, new or known; `a` and `b` are the numbers of its operands, or indices."""
        key = (operation, b, a) if b < a and operation in _COMMUTING else (operation, a, b)
        found = self.known.setdefault(key, len(self.kinds))
        if found == len(self.kinds):
            self.kinds.append(kind)
        return found

    def of_one(self, operation: int, a: int) -> int:
        """A value computed from another."""
        return self.new(operation, a, 0, self.kinds[a])

    def of_two(self, operation: int, a: int, b: int) -> int:
        """A value computed from two others."""
        kind, other = self.kinds[a], self.kinds[b]
        if operation == _DIV and other == _OF_PARAMETERS:
            operation, b = _MUL, self.of_one(_INV, b)
        return self.new(operation, a, b, kind if kind > other else other)

    def number(self, low: int, high: int) -> int:
        """A constant, by the halves of its bits."""
        found = self.new(CONST, low, high, _NUMBER)
        self.numbers[found] = struct.unpack("=d", struct.pack("=ii", low, high))[0]
        return found

    def power(self, base: int, exponent: int) -> int:
        r"""A power: products of repeated squares if the exponent is a short number, with a root for a half: $u^{-5/2} = 1/(u^2\sqrt u)$.

        At one number this is not C's `pow`: $(-\infty)^{k + 1/2}$ is NaN here, as it is for every other base below zero and for `sqrt`; C
        has infinity there, or +0 for a negative exponent. NaN is the better answer. CasADi writes $u^{1/2}$ as a root, so only with NaN do
        $u^{1/2}$ and $u^{3/2}$ have the same domain. A base that has overflowed to $-\infty$ is refused like a finite negative one,
        where +0 would look like a vanishing force. And the root needs no comparison.
        """
        size = abs(self.numbers.get(exponent, np.inf))
        if size > _LONGEST_POWER or not float(2 * size).is_integer():
            return self.of_two(_POW, base, exponent)
        factors = []
        if not size.is_integer():
            base = self.of_two(_ADD, base, self.number(0, 0))  # (-0)^(-1/2) is +inf: a base under a root is not -0
        square, left = base, int(size)
        while left:
            if left & 1:
                factors.append(square)
            left >>= 1
            square = self.of_one(_SQ, square) if left else square
        if not size.is_integer():
            factors.append(self.of_one(_SQRT, base))
        product = factors[0] if factors else self.number(*struct.unpack("=ii", struct.pack("=d", 1.0)))
        for factor in factors[1:]:
            product = self.of_two(_MUL, product, factor)
        return self.of_one(_INV, product) if self.numbers[exponent] < 0 else product


def program_of(function: casadi.Function, out: casadi.Sparsity, fusing: bool) -> bytes:
    """The program of an SX function of (t, y, p): four integers of 32 bits per value, (operation, a, b, c).

    `a`, `b` and `c` are the numbers of earlier values. A load has its index in place of `a`; a store has its index in place of `a` and the
    stored value as `b`; a constant has its bits in place of `b` and `c`.
    """
    values = _Values()
    held: dict[int, int] = {}
    places = out.find()
    for i in sorted(set(range(out.numel())) - set(places)):
        values.new(STORE, i, values.number(0, 0), _MOVING)
    for operation, target, a, b in lines_of(tape_of(function)):
        if operation in _OF_TWO:
            held[target] = values.of_two(operation, held[a], held[b])
        elif operation in _OF_ONE:
            held[target] = values.of_one(operation, held[a])
        elif operation == _CONST:
            held[target] = values.number(a, b)
        elif operation == _INPUT:
            held[target] = values.new((TIME, STATE, PARAMETER)[a], b, 0, _OF_PARAMETERS if a == 2 else _MOVING)
        elif operation == _OUTPUT:
            values.new(STORE, places[b], held[a], _MOVING)
        elif operation in _SAME:
            held[target] = held[a]
        elif operation in _POWERS:
            held[target] = values.power(held[a], held[b])
        else:
            raise ValueError(f"the casadi operation {_spelling(operation)} cannot be compiled to machine code")
    table = np.zeros((len(values.known), 4), np.int32)
    table[:, :3] = np.fromiter(chain.from_iterable(values.known), np.int32).reshape(-1, 3)
    table = _fused(table) if fusing else table
    constants = table[:, 0] == CONST
    table[constants, 2:] = table[constants, 1:3]
    return table.tobytes()


def _fused(table: NDArray[np.int32]) -> NDArray[np.int32]:
    """Fuse each sum or difference with a product that is used nowhere else; with the first one if both operands are such products."""
    operation, a, b = table[:, 0], table[:, 1], table[:, 2]
    uses = np.bincount(a[_READS_A[operation]], minlength=len(table)) + np.bincount(b[_READS_B[operation]], minlength=len(table))
    ready = ((operation == _MUL) | (operation == _SQ)) & (uses == 1)
    sums = np.flatnonzero((operation == _ADD) | (operation == _SUB))
    first = sums[ready[a[sums]]]
    second = sums[~ready[a[sums]] & ready[b[sums]]]
    fused, gone = table.copy(), np.zeros(len(table), bool)
    for chosen, product, other, less in ((first, a[first], b[first], FUSED_LESS), (second, b[second], a[second], FUSED_FROM)):
        fused[chosen, 0] = np.where(operation[chosen] == _ADD, FUSED_SUM, less)
        fused[chosen, 1] = a[product]
        fused[chosen, 2] = np.where(operation[product] == _SQ, a[product], b[product])
        fused[chosen, 3] = other
        gone[product] = True
    numbers = np.cumsum(~gone) - 1
    for column, reads in enumerate((_READS_A, _READS_B, _READS_C), start=1):
        reading = reads[fused[:, 0]]
        fused[reading, column] = numbers[fused[reading, column]]
    return fused[~gone]


def joined(parts: Sequence[tuple[bytes, int]]) -> bytes:
    """One program for several of the same (t, y, p): what they have in common is computed once, each value as its own program has it, to
    the last bit. The entries of a part are stored from its place on.
    """
    known: dict[tuple[int, int, int, int], int] = {}
    for program, first in parts:
        numbers: list[int] = []
        for operation, a, b, c in lines_of(np.frombuffer(program, np.int32).reshape(-1, 4)):
            if operation == STORE:
                a, b = a + first, numbers[b]
            elif operation not in _FIRST:
                a, b, c = numbers[a], numbers[b] if _READS_B[operation] else b, numbers[c] if _READS_C[operation] else c
                if b < a and operation in _SYMMETRIC:
                    a, b = b, a
            numbers.append(known.setdefault((operation, a, b, c), len(known)))
    return np.fromiter(chain.from_iterable(known), np.int32).tobytes()


def driven(program: bytes, inputs: bytes, first: int) -> bytes:
    """One program that computes its inputs itself: those that another program stores stand in p from `first` on."""
    known: list[tuple[int, int, int, int]] = []
    places: dict[int, int] = {}
    for part in (inputs, program):
        numbers: list[int] = []
        for operation, a, b, c in lines_of(np.frombuffer(part, np.int32).reshape(-1, 4)):
            if operation == STORE and part is inputs:
                places[first + a] = numbers[b]
                numbers.append(-1)
                continue
            if operation == PARAMETER and part is program and a in places:
                numbers.append(places[a])
                continue
            if operation == STORE:
                b = numbers[b]
            elif operation not in _FIRST:
                a, b, c = numbers[a], numbers[b] if _READS_B[operation] else b, numbers[c] if _READS_C[operation] else c
            numbers.append(len(known))
            known.append((operation, a, b, c))
    return np.array(known, np.int32).tobytes()


def operands(operation: int, a: int, b: int, c: int) -> list[int]:
    """The values that an operation reads."""
    return [v for v, reads in ((a, _READS_A), (b, _READS_B), (c, _READS_C)) if reads[operation]]


def in_order(program: Sequence[tuple[int, int, int, int]]) -> tuple[list[int], int, list[int]]:
    """The values of a program in an order that begins with what arguments of sines and cosines need; how many these are; and those of the
    arguments that contain no sines themselves, which are then known together.
    """
    turned: list[bool] = []
    angles: dict[int, None] = {}
    for operation, a, b, c in program:
        turned.append(operation in TURNING or any(turned[v] for v in operands(operation, a, b, c)))
        if operation in TURNING and not turned[a]:
            angles[a] = None
    early: set[int] = set()
    waiting = list(angles)
    while waiting:
        k = waiting.pop()
        if k not in early:
            early.add(k)
            waiting += operands(*program[k])
    return [*sorted(early), *[k for k in range(len(program)) if k not in early]], len(early), list(angles)


def entries_read(program: bytes) -> tuple[int, ...]:
    """The entries of the state that a program reads."""
    table = np.frombuffer(program, np.int32).reshape(-1, 4)
    return tuple(map(int, np.unique(table[table[:, 0] == STATE, 1])))


def text_of(program: bytes, otherwise: int | None = None, library: bool = False) -> str:
    """Return a program in LLVM's language; with `library` sines and cosines are those of the mathematical library.

    `otherwise` is the address of other code for the same program. With it, and with at most `MOST_ANGLES` arguments, sines and cosines are
    computed inline, and the other code is called where an argument is too large for that.
    """
    table = np.frombuffer(program, np.int32).reshape(-1, 4)
    angles = len(np.unique(table[np.isin(table[:, 0], TURNING), 1]))
    if library:
        return _text(table, _Library(), None)
    circle = Circle(otherwise is not None and angles <= MOST_ANGLES) if angles and sine.IN_LINE else None
    return _text(table, circle, otherwise)


class Circle:
    """Sines and cosines, each pair once: inline or by calls."""

    def __init__(self, in_line: bool, prefix: str = "") -> None:
        self.lines: list[str] = []
        self.in_line, self._prefix = in_line, prefix
        self.near = ""
        """Whether all arguments so far are small enough for inline code."""
        self._known: dict[str, tuple[str, str]] = {}

    @property
    def head(self) -> str:
        """The declarations of the functions that the lines call."""
        return sine.DECLARATIONS if self.in_line else sine.DEFINITION

    def begin(self, arguments: Sequence[str]) -> None:
        """Compute sines and cosines of arguments that are known together, in vectors."""
        for group in sine.groups_of(arguments) if self.in_line else ():
            lines, near, pairs = sine.together(f"%{self._prefix}g{len(self._known)}", group)
            self.lines += lines
            self._require(near)
            self._known |= zip(group, pairs, strict=True)

    def _require(self, near: str) -> None:
        if self.near:
            self.lines.append(f"{near}.all = and i1 {self.near}, {near}")
        self.near = f"{near}.all" if self.near else near

    def value(self, place: int, x: str) -> str:
        """The sine (0) or cosine (1) of a value."""
        if x not in self._known:
            new = sine.Lines(f"%{self._prefix}a{len(self._known)}")
            near = new.near(x) if self.in_line else ""
            self._known[x] = new.sine_and_cosine(x) if self.in_line else new.called(x)
            self.lines += new.text
            if near:
                self._require(near)
        return self._known[x][place]


class _Library(Circle):
    """Sines and cosines by calls of the mathematical library."""

    def __init__(self) -> None:
        super().__init__(False)

    @property
    def head(self) -> str:
        """The declarations of both."""
        return "\n".join(_declaration(name, 1, " nounwind willreturn readnone") for name in ("sin", "cos"))

    def value(self, place: int, x: str) -> str:
        """The sine (0) or cosine (1) of a value."""
        name = f"%a{len(self.lines)}"
        self.lines.append(f"{name} = call double @{('sin', 'cos')[place]}(double {x})")
        return name


def _text(table: NDArray[np.int32], circle: Circle | None, otherwise: int | None) -> str:
    lines: list[str] = [] if circle is None else circle.lines
    called: set[int] = set()
    program = list(lines_of(table))
    names, in_line = [""] * len(program), circle is not None and circle.in_line
    order, first, angles = in_order(program) if in_line else ([*range(len(program))], -1, [])
    if otherwise is not None:
        lines += _inverses_together(program, names)
    for place, k in enumerate(order):
        operation, a, b, c = program[k]
        if place == first and circle is not None:
            circle.begin([names[v] for v in angles])
        if names[k]:
            continue
        if operation == CONST:
            names[k] = f"0x{c & 0xFFFFFFFF:08X}{b & 0xFFFFFFFF:08X}"  # the bits of a double, the only spelling that reads back exactly
        elif operation == TIME:
            names[k] = "%t"
        elif circle is not None and operation in TURNING:
            names[k] = circle.value(TURNING.index(operation), names[a])
        else:
            names[k] = f"%v{k}"
            called.add(operation)
            if operation in (STATE, PARAMETER):
                lines.append(CASES[operation].format(r=names[k], i=a))
            elif operation == STORE:
                lines.append(CASES[operation].format(r=names[k], i=a, b=names[b]))
            else:
                lines.append(CASES[operation].format(r=names[k], a=names[a], b=names[b], c=names[c]))
    head = {DECLARATIONS[operation] for operation in called & DECLARATIONS.keys()}
    end = ["ret void", "}", ""]
    if circle is not None:
        head.add(circle.head)
    if circle is not None and circle.in_line:
        end = [
            f"br i1 {circle.near}, label %end, label %otherwise",
            "otherwise:",
            f"call void inttoptr (i64 {otherwise} to ptr)(double %t, ptr %y, ptr %p, ptr %out)",
            "br label %end",
            "end:",
            *end,
        ]
    define = f"define void @{NAME}(double %t, ptr noalias readonly %y, ptr noalias readonly %p, ptr noalias writeonly %out) nounwind {{"
    return "\n".join([*sorted(head), define, *lines, *end])


def _inverses_together(program: Sequence[tuple[int, int, int, int]], names: list[str]) -> list[str]:
    """Lines for the inverses of single parameters, in vectors: a processor divides four numbers in the time of one. Their names are added,
    and those of the parameters.
    """
    found = [k for k, (operation, a, _, _) in enumerate(program) if operation == _INV and program[a][0] == PARAMETER]
    lines: list[str] = []
    for group in sine.groups_of(found):
        count, whole, name = len(group), "undef", f"%inverse{group[0]}"
        for i, k in enumerate(group):
            a = program[k][1]
            names[a], names[k] = f"%v{a}", f"%v{k}"
            lines.append(CASES[PARAMETER].format(r=names[a], i=program[a][1]))
            lines.append(f"{name}.{i} = insertelement <{count} x double> {whole}, double {names[a]}, i32 {i}")
            whole = f"{name}.{i}"
        lines.append(f"{name} = fdiv <{count} x double> <{', '.join(['double 1.0'] * count)}>, {whole}")
        lines += [f"{names[k]} = extractelement <{count} x double> {name}, i32 {i}" for i, k in enumerate(group)]
    return lines


def _spelling(operation: int) -> str:
    return next((name for name in dir(casadi) if name.startswith("OP_") and getattr(casadi, name) == operation), str(operation))
