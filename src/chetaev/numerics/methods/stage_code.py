r"""The stages of a Runge-Kutta step as one function, with the program of the rates in line in each of them.

A loop that calls the rates by address writes the state of a stage to memory, where the rates read it, and reads the rates there: a small
program waits longer for memory than it computes. Here states and rates stay in registers, and what depends on p alone is computed once in
a step. The operations and their order are those of `native.add_rows` and of the program's own code: the rates have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.engine import CALLED, NAME, bind, machine_code
from chetaev.numerics.machine.instructions import (
    CASES,
    CONST,
    DECLARATIONS,
    PARAMETER,
    STATE,
    STORE,
    TIME,
    TURNING,
    Circle,
    operands,
)
from chetaev.numerics.machine.tape import lines_of

LONGEST = 155
"""Most instructions of a program, with `_ANGLE` for each angle. Systems of the gallery below it take 0.70 to 1.0 of their time. Above it
registers do not suffice: a snakeboard with five angles takes 1.8 times as long."""
_ANGLE = 40
"""Instructions of a sine and a cosine."""
_BLOCK = 4
"""Numbers of a vector, as in `native.BLOCK`, which the loop's rows are padded to."""
_VECTOR = f"<{_BLOCK} x double>"
_SIGNATURE = "double %t, double %h, ptr noalias readonly %y, ptr noalias readonly %p, ptr noalias %k"
_FUSED = "declare double @llvm.fmuladd.f64(double, double, double)"
_FUSED_VECTOR = f"declare {_VECTOR} @llvm.fmuladd.v{_BLOCK}f64({_VECTOR}, {_VECTOR}, {_VECTOR})"

Sums = Sequence[tuple[Sequence[int], Sequence[float]]]
"""For each stage but the first the earlier stages whose rates it adds, the one just before it last, and their weights."""


def stages_code(program: bytes, n: int, sums: Sums, nodes: Sequence[float]) -> int:
    """The address of `int64 stages(double t, double h, double* y, double* p, double* k)`; 0 where nothing would be gained.

    It reads the first row of k and writes the following ones, with zeros behind the n numbers of a state. `nodes` are the times of the
    stages, as parts of the step. The result is 0 if an angle is too large for sines and cosines in line: then the rows mean nothing.
    """
    stages = Stages(list(lines_of(np.frombuffer(program, np.int32).reshape(-1, 4))), n)
    if stages.cost > LONGEST or (stages.angles and not sine.IN_LINE):
        return 0
    text = stages.text(sums, nodes)
    for name in CALLED.findall(text):
        bind(name)
    return machine_code(text, optimised=True)


class _Angles(Circle):
    """Sines and cosines in line, with names of their own in each stage."""

    def __init__(self, prefix: str, add: Callable[[str], None]) -> None:
        super().__init__(True)
        self._add, self._prefix = add, prefix

    def value(self, place: int, x: str) -> str:
        """The sine (0) or cosine (1) of a value."""
        if x not in self._known:
            new = sine.Lines(f"%{self._prefix}a{len(self._known)}")
            near = new.near(x)
            self.near = new.value(f"and i1 {self.near}, {near}") if self.near else near
            self._known[x] = new.sine_and_cosine(x)
            for line in new.text:
                self._add(line)
        return self._known[x][place]


class Stages:
    """The lines of the function."""

    def __init__(self, table: list[tuple[int, int, int, int]], n: int) -> None:
        self._table, self._n, self._blocks = table, n, range(-(-n // _BLOCK))
        self._lines: list[str] = []
        self._called: set[int] = set()
        self._near: list[str] = []
        self._moving: list[bool] = []
        for operation, a, b, c in table:
            reads = operation in (TIME, STATE, STORE) or any(self._moving[v] for v in operands(operation, a, b, c))
            self._moving.append(reads)

    @property
    def angles(self) -> int:
        """The number of arguments of sines and cosines."""
        return len({a for operation, a, *_ in self._table if operation in TURNING})

    @property
    def cost(self) -> int:
        """The number of instructions that depend on time or state, with those of sines and cosines; others are executed once in a step."""
        return sum(self._moving) + _ANGLE * self.angles

    def text(self, sums: Sums, nodes: Sequence[float]) -> str:
        """The whole function."""
        fixed = self._program("f", [""] * len(self._table), False, "", {})[0]
        self._add(f"%h.one = insertelement {_VECTOR} undef, double %h, i32 0")
        self._add(f"%h.all = shufflevector {_VECTOR} %h.one, {_VECTOR} undef, <{_BLOCK} x i32> zeroinitializer")
        for block in self._blocks:
            self._load(f"%y{block}", "%y", _BLOCK * block, _VECTOR)
        newest = [self._load(f"%k0.{j}", "%k", j, "double") for j in range(self._n)]
        for stage, ((places, weights), node) in enumerate(zip(sums, nodes, strict=True), start=1):
            state = dict(enumerate(self._state(stage, list(zip(places, weights, strict=True)), newest)))
            ahead = f"%s{stage}.ahead"
            self._add(f"{ahead} = fmul double {sine.bits(node)}, %h")
            self._add(f"%s{stage}.t = fadd double %t, {ahead}")
            newest = self._program(f"s{stage}", fixed, True, f"%s{stage}.t", state)[1]
            self._store(stage, newest)
        near = "true"
        for k, each in enumerate(self._near):
            self._add(f"%near{k} = and i1 {near}, {each}")
            near = f"%near{k}"
        self._add(f"%result = zext i1 {near} to i64")
        head = {_FUSED, _FUSED_VECTOR, sine.DECLARATION, *[DECLARATIONS[o] for o in self._called & DECLARATIONS.keys()]}
        define = f"define i64 @{NAME}({_SIGNATURE}) nounwind {{"
        return "\n".join([*sorted(head), define, *self._lines, "ret i64 %result", "}", ""])

    def _add(self, line: str) -> None:
        self._lines.append(line)

    def _load(self, name: str, pointer: str, place: int, kind: str) -> str:
        self._add(f"{name}.at = getelementptr double, ptr {pointer}, i64 {place}")
        self._add(f"{name} = load {kind}, ptr {name}.at, align 8")
        return name

    def _program(self, prefix: str, known: list[str], moving: bool, time: str, state: Mapping[int, str]) -> tuple[list[str], list[str]]:
        """The names of those values that move with the state, or of those that do not; and of what is stored."""
        names, stored, angles = list(known), [""] * self._n, _Angles(prefix, self._add)
        for k, (operation, a, b, c) in enumerate(self._table):
            if self._moving[k] != moving:
                continue
            if operation == CONST:
                names[k] = f"0x{c & 0xFFFFFFFF:08X}{b & 0xFFFFFFFF:08X}"
            elif operation == TIME:
                names[k] = time
            elif operation == STATE:
                names[k] = state[a]
            elif operation == STORE:
                stored[a] = names[b]
            elif operation in TURNING:
                names[k] = angles.value(TURNING.index(operation), names[a])
            else:
                names[k] = f"%{prefix}v{k}"
                self._called.add(operation)
                if operation == PARAMETER:
                    self._parameter(names[k], a)
                else:
                    self._add(CASES[operation].format(r=names[k], a=names[a], b=names[b], c=names[c]))
        self._near += [angles.near] if angles.near else []
        return names, stored

    def _parameter(self, name: str, place: int) -> None:
        self._load(name, "%p", place, "double")

    def _state(self, stage: int, terms: list[tuple[int, float]], newest: list[str]) -> list[str]:
        """The state of a stage: older rates in vectors from memory, the newest ones number by number."""
        *older, (_, last) = terms
        weight, found, width = f"%s{stage}.last", [], _BLOCK * len(self._blocks)
        self._add(f"{weight} = fmul double %h, {sine.bits(last)}")
        for block in self._blocks:
            begun, total = f"%y{block}", ""
            for place, number in older:
                row = self._load(f"%s{stage}.{block}.k{place}", "%k", place * width + _BLOCK * block, _VECTOR)
                spread = f"<{', '.join([f'double {sine.bits(number)}'] * _BLOCK)}>"
                new = f"%s{stage}.{block}.w{place}"
                self._add(self._fused(new, spread, row, total) if total else f"{new} = fmul {_VECTOR} {spread}, {row}")
                total = new
            if total:
                self._add(self._fused(f"%s{stage}.{block}.z", "%h.all", total, begun))
                begun = f"%s{stage}.{block}.z"
            for j in range(_BLOCK * block, min(_BLOCK * (block + 1), self._n)):
                name = f"%s{stage}.z{j}"
                self._add(f"{name}.o = extractelement {_VECTOR} {begun}, i32 {j % _BLOCK}")
                self._add(f"{name} = call double @llvm.fmuladd.f64(double {weight}, double {newest[j]}, double {name}.o)")
                found.append(name)
        return found

    def _fused(self, name: str, a: str, b: str, c: str) -> str:
        return f"{name} = call {_VECTOR} @llvm.fmuladd.v{_BLOCK}f64({_VECTOR} {a}, {_VECTOR} {b}, {_VECTOR} {c})"

    def _store(self, stage: int, rates: list[str]) -> None:
        """Write a row of k in vectors, which later stages read as such: a load of a vector waits for stores of single numbers."""
        width = _BLOCK * len(self._blocks)
        for block in self._blocks:
            whole = "zeroinitializer"
            for j in range(_BLOCK * block, min(_BLOCK * (block + 1), self._n)):
                self._add(f"%k{stage}.{j} = insertelement {_VECTOR} {whole}, double {rates[j]}, i32 {j % _BLOCK}")
                whole = f"%k{stage}.{j}"
            place = stage * width + _BLOCK * block
            self._add(f"%k{stage}.b{block} = getelementptr double, ptr %k, i64 {place}")
            self._add(f"store {_VECTOR} {whole}, ptr %k{stage}.b{block}, align 8")
