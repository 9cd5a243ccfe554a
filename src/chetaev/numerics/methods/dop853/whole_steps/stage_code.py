r"""The stages of a Runge-Kutta step as one function, with the program of the rates in line in each of them.

A loop that calls the rates by address writes the state of a stage to memory, where the rates read it, and reads the rates there: a small
program waits longer for memory than it computes. Here states and rates stay in registers, and what depends on p alone is computed once in
a step. The operations and their order are those of `native.add_rows` and of the program's own code: the rates have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.sine import MOST_TOGETHER
from chetaev.numerics.methods.dop853.whole_steps.in_line import BLOCK, VECTOR, InLine

LONGEST = 155
"""Most instructions of a program, with `ANGLES` for sines and cosines. Systems of the gallery below it take 0.85 to 1.0 of their time,
above it 0.95 to 1.0, and code for longer programs takes a tenth of a second to make."""
ANGLES = 40
"""Instructions of the sines and cosines of up to `sine.MOST_TOGETHER` angles."""
_ROWS = 16
"""Rows of k."""

Sums = Sequence[tuple[Sequence[int], Sequence[float]]]
"""For each stage but the first the earlier stages whose rates it adds, the one just before it last, and their weights."""


class Stages(InLine):
    """The lines of the stages. They read the first row of k and write the following ones, with zeros behind the n numbers of a state."""

    def __init__(self, table: list[tuple[int, int, int, int]], n: int) -> None:
        super().__init__(table, n)
        self._rows: dict[tuple[int, int], str] = {}
        """The rates of stages so far, in vectors: by stage and block."""

    @property
    def rates(self) -> list[list[str]]:
        """The rates in the stages written so far, each in vectors."""
        count = 1 + max((stage for stage, _ in self._rows), default=-1)
        return [[self._rows[stage, block] for block in self._blocks] for stage in range(count)]

    @property
    def length(self) -> int:
        """The number of instructions of a stage, to be compared with `LONGEST`."""
        return self.moving + ANGLES * -(-self.angles // MOST_TOGETHER)

    def write(self, sums: Sums, nodes: Sequence[float], ends: Sums) -> list[list[str]]:
        """Write the stages, and in the last rows of k the sums `ends` over all of them, the first of them times h; their names. `nodes` are
        the times of the stages, as parts of the step.
        """
        fixed = self._program("f", [""] * len(self._table), False, "", {})[0]
        self._add(f"%h.one = insertelement {VECTOR} undef, double %h, i32 0")
        self._add(f"%h.all = shufflevector {VECTOR} %h.one, {VECTOR} undef, <{BLOCK} x i32> zeroinitializer")
        for block in self._blocks:
            self._load(f"%y{block}", "%y", BLOCK * block, VECTOR)
            self._rows[0, block] = self._load(f"%k0.b{block}", "%k", BLOCK * block, VECTOR)
        newest = [self._load(f"%k0.{j}", "%k", j, "double") for j in range(self._n)]
        for stage, ((places, weights), node) in enumerate(zip(sums, nodes, strict=True), start=1):
            state = dict(enumerate(self._state(stage, list(zip(places, weights, strict=True)), newest)))
            ahead = f"%s{stage}.ahead"
            self._add(f"{ahead} = fmul double {sine.bits(node)}, %h")
            self._add(f"%s{stage}.t = fadd double %t, {ahead}")
            newest = self._program(f"s{stage}", fixed, True, f"%s{stage}.t", state)[1]
            self._store(stage, newest)
        first = _ROWS - len(ends)
        return [self._end(first + which, list(zip(*terms, strict=True)), scaled=which == 0) for which, terms in enumerate(ends)]

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
            for j in range(BLOCK * block, min(BLOCK * (block + 1), self._n)):
                name = f"%s{stage}.z{j}"
                self._add(f"{name}.o = extractelement {VECTOR} {begun}, i32 {j % BLOCK}")
                self._add(f"{name} = call double @llvm.fmuladd.f64(double {weight}, double {newest[j]}, double {name}.o)")
                found.append(name)
        return found

    def _weighed(self, prefix: str, terms: Sequence[tuple[int, float]], block: int) -> str:
        """The sum of weighed rates of stages; nothing without terms."""
        total = ""
        for place, number in terms:
            new, row = f"{prefix}.w{place}", self._rows[place, block]
            self._add(self._fused(new, spread(number), row, total) if total else f"{new} = fmul {VECTOR} {spread(number)}, {row}")
            total = new
        return total

    def _end(self, row: int, terms: Sequence[tuple[int, float]], scaled: bool) -> list[str]:
        """Write a sum over the stages into a row of k, times h if it is `scaled`; its name in each block."""
        found = []
        for block in self._blocks:
            name = f"%e{row}.{block}"
            total = self._weighed(name, terms, block)
            if scaled:
                self._add(f"{name}.h = fmul {VECTOR} %h.all, {total}")
            found.append(f"{name}.h" if scaled else total)
            self._write(found[-1], row, block)
        return found

    def _write(self, vector: str, row: int, block: int) -> None:
        self._put(vector, "%k", BLOCK * (row * len(self._blocks) + block), f"%k{row}.b{block}.to")

    def _store(self, stage: int, rates: list[str]) -> None:
        """Write a row of k in vectors, which later stages use."""
        for block in self._blocks:
            self._rows[stage, block] = self._gathered(f"%k{stage}", block, rates)
            self._write(self._rows[stage, block], stage, block)


def spread(number: float) -> str:
    """One number in all places of a vector."""
    return f"<{', '.join([f'double {sine.bits(number)}'] * BLOCK)}>"
