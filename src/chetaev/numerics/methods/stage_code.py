r"""The stages of a Runge-Kutta step as one function, with the program of the rates in line in each of them.

A loop that calls the rates by address writes the state of a stage to memory, where the rates read it, and reads the rates there: a small
program waits longer for memory than it computes. Here states and rates stay in registers, and what depends on p alone is computed once in
a step. The operations and their order are those of `native.add_rows` and of the program's own code: the rates have the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    in_order,
    operands,
)
from chetaev.numerics.machine.sine import MOST_TOGETHER
from chetaev.numerics.machine.tape import lines_of

LONGEST = 155
"""Most instructions of a program, with `ANGLES` for sines and cosines. Systems of the gallery below it take 0.85 to 1.0 of their time,
above it 0.95 to 1.0, and code for longer programs takes a tenth of a second to make."""
ANGLES = 40
"""Instructions of the sines and cosines of up to `sine.MOST_TOGETHER` angles."""
_ROWS = 16
"""Rows of k."""
_BLOCK = 4
"""Numbers of a vector, as in `native.BLOCK`, which the loop's rows are padded to."""
_VECTOR = f"<{_BLOCK} x double>"
_SIGNATURE = "double %t, double %h, ptr noalias readonly %y, ptr noalias readonly %p, ptr noalias %k"
_FUSED = "declare double @llvm.fmuladd.f64(double, double, double)"
_FUSED_VECTOR = f"declare {_VECTOR} @llvm.fmuladd.v{_BLOCK}f64({_VECTOR}, {_VECTOR}, {_VECTOR})"

Sums = Sequence[tuple[Sequence[int], Sequence[float]]]
"""For each stage but the first the earlier stages whose rates it adds, the one just before it last, and their weights."""


def stages_code(program: bytes, n: int, sums: Sums, nodes: Sequence[float], ends: Sums) -> int:
    """The address of `int64 stages(double t, double h, double* y, double* p, double* k)`; 0 where nothing would be gained.

    It reads the first row of k and writes the following ones, with zeros behind the n numbers of a state, and in the last rows the sums
    `ends` over all stages, the first of them times h. `nodes` are the times of the stages, as parts of the step. The result is 0 if an
    angle is too large for sines and cosines in line: then the rows mean nothing.
    """
    stages = Stages(list(lines_of(np.frombuffer(program, np.int32).reshape(-1, 4))), n)
    if stages.moving + ANGLES * -(-stages.angles // MOST_TOGETHER) > LONGEST or (stages.angles and not sine.IN_LINE):
        return 0
    text = stages.text(sums, nodes, ends)
    for name in CALLED.findall(text):
        bind(name)
    return machine_code(text, optimised=True)


class Stages:
    """The lines of the function."""

    def __init__(self, table: list[tuple[int, int, int, int]], n: int) -> None:
        self._table, self._n, self._blocks = table, n, range(-(-n // _BLOCK))
        self._order = in_order(table)
        self._lines: list[str] = []
        self._called: set[int] = set()
        self._rows: dict[tuple[int, int], str] = {}
        """The rates of stages so far, in vectors: by stage and block."""
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
    def moving(self) -> int:
        """The number of instructions that depend on time or state; the others are executed once in a step."""
        return sum(self._moving)

    def text(self, sums: Sums, nodes: Sequence[float], ends: Sums) -> str:
        """The whole function."""
        fixed = self._program("f", [""] * len(self._table), False, "", {})[0]
        self._add(f"%h.one = insertelement {_VECTOR} undef, double %h, i32 0")
        self._add(f"%h.all = shufflevector {_VECTOR} %h.one, {_VECTOR} undef, <{_BLOCK} x i32> zeroinitializer")
        for block in self._blocks:
            self._load(f"%y{block}", "%y", _BLOCK * block, _VECTOR)
            self._rows[0, block] = self._load(f"%k0.b{block}", "%k", _BLOCK * block, _VECTOR)
        newest = [self._load(f"%k0.{j}", "%k", j, "double") for j in range(self._n)]
        for stage, ((places, weights), node) in enumerate(zip(sums, nodes, strict=True), start=1):
            state = dict(enumerate(self._state(stage, list(zip(places, weights, strict=True)), newest)))
            ahead = f"%s{stage}.ahead"
            self._add(f"{ahead} = fmul double {sine.bits(node)}, %h")
            self._add(f"%s{stage}.t = fadd double %t, {ahead}")
            newest = self._program(f"s{stage}", fixed, True, f"%s{stage}.t", state)[1]
            self._store(stage, newest)
        for which, terms in enumerate(ends):
            self._end(_ROWS - len(ends) + which, list(zip(*terms, strict=True)), scaled=which == 0)
        near = "true"
        for k, each in enumerate(self._near):
            self._add(f"%near{k} = and i1 {near}, {each}")
            near = f"%near{k}"
        self._add(f"%result = zext i1 {near} to i64")
        head = {_FUSED, _FUSED_VECTOR, sine.DECLARATIONS, *[DECLARATIONS[o] for o in self._called & DECLARATIONS.keys()]}
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
        names, stored, angles = list(known), [""] * self._n, self._circle(prefix)
        order, first, arguments = self._order
        for place, k in enumerate(order):
            operation, a, b, c = self._table[k]
            if place == first:
                angles.begin([names[v] for v in arguments if self._moving[v] == moving])
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

    def _circle(self, prefix: str) -> Circle:
        """Sines and cosines in line, with names of their own in each stage."""
        found = Circle(True, prefix)
        found.lines = self._lines
        return found

    def _parameter(self, name: str, place: int) -> None:
        self._load(name, "%p", place, "double")

    def _state(self, stage: int, terms: list[tuple[int, float]], newest: list[str]) -> list[str]:
        """The state of a stage: older rates in vectors, the newest ones number by number."""
        *older, (_, last) = terms
        weight, found = f"%s{stage}.last", []
        self._add(f"{weight} = fmul double %h, {sine.bits(last)}")
        for block in self._blocks:
            begun, total = f"%y{block}", self._weighed(f"%s{stage}.{block}", older, block)
            if total:
                self._add(self._fused(f"%s{stage}.{block}.z", "%h.all", total, begun))
                begun = f"%s{stage}.{block}.z"
            for j in range(_BLOCK * block, min(_BLOCK * (block + 1), self._n)):
                name = f"%s{stage}.z{j}"
                self._add(f"{name}.o = extractelement {_VECTOR} {begun}, i32 {j % _BLOCK}")
                self._add(f"{name} = call double @llvm.fmuladd.f64(double {weight}, double {newest[j]}, double {name}.o)")
                found.append(name)
        return found

    def _weighed(self, prefix: str, terms: Sequence[tuple[int, float]], block: int) -> str:
        """The sum of weighed rates of stages; nothing without terms."""
        total = ""
        for place, number in terms:
            spread, new, row = f"<{', '.join([f'double {sine.bits(number)}'] * _BLOCK)}>", f"{prefix}.w{place}", self._rows[place, block]
            self._add(self._fused(new, spread, row, total) if total else f"{new} = fmul {_VECTOR} {spread}, {row}")
            total = new
        return total

    def _end(self, row: int, terms: Sequence[tuple[int, float]], scaled: bool) -> None:
        """Write a sum over the stages into a row of k, times h if it is `scaled`."""
        for block in self._blocks:
            name = f"%e{row}.{block}"
            total = self._weighed(name, terms, block)
            if scaled:
                self._add(f"{name}.h = fmul {_VECTOR} %h.all, {total}")
            self._write(f"{name}.h" if scaled else total, row, block)

    def _write(self, vector: str, row: int, block: int) -> None:
        place = _BLOCK * (row * len(self._blocks) + block)
        self._add(f"%k{row}.b{block}.at = getelementptr double, ptr %k, i64 {place}")
        self._add(f"store {_VECTOR} {vector}, ptr %k{row}.b{block}.at, align 8")

    def _fused(self, name: str, a: str, b: str, c: str) -> str:
        return f"{name} = call {_VECTOR} @llvm.fmuladd.v{_BLOCK}f64({_VECTOR} {a}, {_VECTOR} {b}, {_VECTOR} {c})"

    def _store(self, stage: int, rates: list[str]) -> None:
        """Write a row of k in vectors, which later stages use."""
        for block in self._blocks:
            whole = "zeroinitializer"
            for j in range(_BLOCK * block, min(_BLOCK * (block + 1), self._n)):
                self._add(f"%k{stage}.{j} = insertelement {_VECTOR} {whole}, double {rates[j]}, i32 {j % _BLOCK}")
                whole = f"%k{stage}.{j}"
            self._rows[stage, block] = whole
            self._write(whole, stage, block)
