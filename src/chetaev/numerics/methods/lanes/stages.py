r"""The stages of a Runge-Kutta step of several members as one function, as `stage_code` for one, with vectors as in `machine.vector_code`.

The sums of a stage are computed for those components only that the rates read: a position that no force depends on needs none. The
operations and their order are those of `lane_rows.stage` and of the program's code in lanes: the rates have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.engine import NAME, machine_code
from chetaev.numerics.machine.instructions import DECLARATIONS, LIBM, STATE, TURNING, Circle, operation_of
from chetaev.numerics.machine.processor import LANES, wide_target
from chetaev.numerics.machine.tape import lines_of
from chetaev.numerics.machine.vectors.states import runs_in_lanes, widened
from chetaev.numerics.methods.dop853.whole_steps.stage_code import ANGLES, LONGEST, Stages, Sums

_ROW = f"<{LANES} x double>"
_FUSED = "declare double @llvm.fmuladd.f64(double, double, double)"
_SIGNATURE = ", ".join(
    [*[f"ptr noalias readonly %{name}" for name in ("t", "h", "y", "p")], "ptr readonly %k", "ptr %new", "ptr noalias %sums"]
)
_CALLED = {operation_of(name) for name in LIBM}.difference(TURNING)
"""Operations that call the mathematical library, for one lane after another: then the calls take most of the time."""


def lane_stages_code(program: bytes, n: int, sums: Sums, nodes: Sequence[float], last: Sums) -> int:
    """The address of `int64 stages(t, h, y, p, k, k, sums)`, each a pointer to rows of `LANES` numbers; 0 where nothing would be gained.

    It reads the first n rows of k and writes the following ones, and n rows of weighed sums of all stages for each entry of `last`.
    `nodes` are the times of the stages, as parts of the step. The result is 0 if an angle is too large for sines and cosines in line: then
    the rows mean nothing. Without the 32 registers of 512 bits that it was measured with, a value would take four registers or more of
    sixteen, and stages are made one by one.
    """
    table = list(lines_of(np.frombuffer(program, np.int32).reshape(-1, 4)))
    stages = _LaneStages(table, n)
    possible = wide_target() is not None and runs_in_lanes() and sine.IN_LINE
    if not possible or stages.moving + ANGLES * stages.angles > LONGEST or any(operation in _CALLED for operation, *_ in table):
        return 0
    return machine_code(stages.whole_text(sums, nodes, last), optimised=True)


class _Angles(Circle):
    """Sines and cosines in line, one angle of all members after another: each fills a vector."""

    def __init__(self, prefix: str, lines: list[str], sizes: list[str]) -> None:
        super().__init__(True, prefix)
        self._wide, self._sizes = lines, sizes

    def begin(self, arguments: Sequence[str]) -> None:
        """Nothing is computed beforehand."""

    def value(self, place: int, x: str) -> str:
        """The sine (0) or cosine (1) of a value."""
        if x not in self._known:
            new = sine.Lines(f"%{self._prefix}a{len(self._known)}")
            self._sizes[:] = [new.larger([*self._sizes, new.size(x)])]
            self._known[x] = new.sine_and_cosine(x)
            self._wide += map(widened, new.text)
        return self._known[x][place]


class _LaneStages(Stages):
    """The lines of the function. The rows of k have two names, so that LLVM reads them where they are used: it would keep far more of them
    than there are registers.
    """

    def __init__(self, table: list[tuple[int, int, int, int]], n: int) -> None:
        super().__init__(table, n)
        self._sizes: list[str] = []
        """The largest size of an angle so far: one number is compared at the end, and no bits are kept for each of them."""

    def whole_text(self, sums: Sums, nodes: Sequence[float], last_sums: Sums) -> str:
        """The whole function."""
        read = sorted({a for operation, a, *_ in self._table if operation == STATE})
        fixed = self._program("f", [""] * len(self._table), False, "", {})[0]
        time, step = self._row("%time", "%t", 0), self._row("%step", "%h", 0)
        states = {j: self._row(f"%y{j}", "%y", j) for j in read}
        newest = {j: self._row(f"%k0.{j}", "%k", j) for j in read}
        for stage, ((places, weights), node) in enumerate(zip(sums, nodes, strict=True), start=1):
            state = {}
            *older, (_, last) = zip(places, weights, strict=True)
            self._add(f"%s{stage}.last = fmul double {step}, {sine.bits(last)}")
            totals = self._weighed_columns(f"%s{stage}", read, older)
            for j in read:
                state[j] = self._summed(stage, j, totals.get(j), states[j], newest[j])
            self._add(f"%s{stage}.ahead = fmul double {sine.bits(node)}, {step}")
            self._add(f"%s{stage}.t = fadd double {time}, %s{stage}.ahead")
            stored = self._program(f"s{stage}", fixed, True, f"%s{stage}.t", state)[1]
            for j, name in enumerate(stored):
                self._store_row(f"%k{stage}.{j}.at", "%new", stage * self._n + j, name)
            newest = {j: stored[j] for j in read}
        for which, (places, weights) in enumerate(last_sums):
            totals = self._weighed_columns(f"%l{which}", range(self._n), list(zip(places, weights, strict=True)))
            for j, total in totals.items():
                self._store_row(f"%l{which}.{j}.at", "%sums", which * self._n + j, total)
        result = ["ret i64 1"]
        if self._sizes:
            near = sine.Lines("%near")
            flags = f"bitcast <{LANES} x i1> {near.is_near(self._sizes[0])} to i{LANES}"
            self._lines += map(widened, near.text)
            result = [f"%bits = {flags}", f"%all = icmp eq i{LANES} %bits, -1", "%result = zext i1 %all to i64", "ret i64 %result"]
        head = {_FUSED, sine.DECLARATION, *[DECLARATIONS[o] for o in self._called & DECLARATIONS.keys()]}
        define = f"define i64 @{NAME}({_SIGNATURE}) nounwind {{"
        return "\n".join([*sorted(map(widened, head)), define, *self._lines, *result, "}", ""])

    def _add(self, line: str) -> None:
        self._lines.append(widened(line))

    def _circle(self, prefix: str) -> Circle:
        return _Angles(prefix, self._lines, self._sizes)

    def _row(self, name: str, pointer: str, place: int) -> str:
        self._lines.append(f"{name}.at = getelementptr {_ROW}, ptr {pointer}, i64 {place}")
        self._lines.append(f"{name} = load {_ROW}, ptr {name}.at, align 8")
        return name

    def _store_row(self, at: str, pointer: str, place: int, name: str) -> None:
        """Store a value, or a constant."""
        value = name if name.startswith("%") else widened(f"double {name}").removeprefix(f"{_ROW} ")
        self._lines += [f"{at} = getelementptr {_ROW}, ptr {pointer}, i64 {place}", f"store {_ROW} {value}, ptr {at}, align 8"]

    def _weighed_columns(self, prefix: str, columns: Sequence[int], terms: Sequence[tuple[int, float]]) -> dict[int, str]:
        """The weighed sums of some components of stages. Each weight is used for all of them, while it stands in a register."""
        totals: dict[int, str] = {}
        for place, number in terms:
            weight = sine.bits(number)
            for j in columns:
                row, new = self._row(f"{prefix}.{j}.k{place}", "%k", place * self._n + j), f"{prefix}.{j}.w{place}"
                self._add(self._sum(new, weight, row, totals[j]) if j in totals else f"{new} = fmul double {weight}, {row}")
                totals[j] = new
        return totals

    def _parameter(self, name: str, place: int) -> None:
        self._row(name, "%p", place)

    def _summed(self, stage: int, j: int, total: str | None, begun: str, newest: str) -> str:
        """A component of the state of a stage, from the weighed sum of older rates and the newest one."""
        if total is not None:
            self._add(self._sum(f"%s{stage}.{j}.o", "%step", total, begun))
            begun = f"%s{stage}.{j}.o"
        self._add(self._sum(f"%s{stage}.z{j}", f"%s{stage}.last", newest, begun))
        return f"%s{stage}.z{j}"

    def _sum(self, name: str, a: str, b: str, c: str) -> str:
        return f"{name} = call double @llvm.fmuladd.f64(double {a}, double {b}, double {c})"
