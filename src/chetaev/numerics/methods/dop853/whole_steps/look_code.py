r"""What the loop asks of the tube of a trial step, in line in code for whole steps (`step_code`): whether the step is *calm*.

In a calm step the first and cheapest test of each kind settles that nothing happens between the ends: no node exceeds a known ratio
(`tube.may_leap`), every function with bounds changes its sign once at most (`proof.all_decided`), and the determinant does not come close
to zero and turn back (`proof.may_touch`). The loop makes these tests itself in all other steps, with the same operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.instructions import STATE
from chetaev.numerics.machine.tape import lines_of
from chetaev.numerics.methods.dop853.codes import CLOSE, EVEN, MARGIN, NOTHING, PARABOLA, RADIAN, SLACK, WORST
from chetaev.numerics.methods.dop853.whole_steps.in_line import BLOCK, VECTOR, ZEROS, InLine
from chetaev.numerics.methods.dop853.whole_steps.stage_code import spread

LONGEST_LOOKS = 300
"""Most instructions of the programs that read a tube, and of the determinant."""

Table = list[tuple[int, int, int, int]]


class Looks(NamedTuple):
    """Programs over a box (`types.Tube`) and that of the determinant, empty where there are none; the number of nodes, and the number of
    components that a box has.
    """

    nodes: bytes
    bounds: bytes
    turns: bytes
    determinant: bytes
    n_nodes: int
    boxed: int


def table_of(program: bytes) -> Table:
    """The lines of a program."""
    return list(lines_of(np.frombuffer(program, np.int32).reshape(-1, 4)))


class LookLines:
    """The lines of these tests, written with the vectors of `lines`, behind the end of a step."""

    def __init__(self, lines: InLine, n: int, looks: Looks) -> None:
        self._write, self._looks, self._n = lines, looks, n
        programs = looks.nodes, looks.bounds, looks.turns, looks.determinant
        nodes, bounds, turns, determinant = (InLine(table_of(program), n, lines) if program else None for program in programs)
        self._nodes, self._bounds, self._turns, self._determinant = nodes, bounds, turns, determinant
        self._parts = [part for part in (nodes, bounds, turns, determinant) if part is not None]

    @property
    def is_short(self) -> bool:
        """Whether the programs are short enough, and call no functions (`step_code`)."""
        if not all(part.stays_in_line for part in self._parts):
            return False
        return sum(part.moving for part in self._parts) <= LONGEST_LOOKS and (sine.IN_LINE or not any(part.angles for part in self._parts))

    def write(self, rates: Sequence[Sequence[str]], free: Sequence[str], end: Sequence[str], slope: Sequence[str], after: str) -> str:
        """Write them: from the rates at the stages, the ends of the step before and after projection and the slope there, by blocks, and
        the first watched function; whether the step is calm.
        """
        add, found = self._write.lines.append, ["true"]
        box = self._box(rates, free, end, slope)
        if self._nodes is not None:
            found += self._no_leap(self._over(self._nodes, "n", box))
        if self._bounds is not None:
            values = self._over(self._bounds, "b", box)
            found += [self._decided(f"%decided{k // 4}", *values[k : k + 4]) for k in range(0, len(values), 4)]
        if self._determinant is not None:
            turn = sine.bits(0.0) if self._turns is None else self._over(self._turns, "u", box)[0]
            found.append(self._no_touch(self._determinant, rates[0], end, slope, after, turn))
        found += [part.near(name) for part, name in zip(self._parts, "ABCD", strict=False)]
        calm = "true"
        for k, each in enumerate(found[1:]):
            add(f"%calm{k} = and i1 {calm}, {each}")
            calm = f"%calm{k}"
        return calm

    # -- the box around the step, as `tube.around` makes it

    def _box(self, rates: Sequence[Sequence[str]], free: Sequence[str], end: Sequence[str], slope: Sequence[str]) -> dict[int, str]:
        """The numbers of the box that programs read, by their places."""
        add, n = self._write.lines.append, self._looks.boxed
        programs = (self._looks.nodes, self._looks.bounds, self._looks.turns)
        read = sorted({a for program in programs for operation, a, *_ in table_of(program) if operation == STATE})
        blocks = {(a % n) // BLOCK for a in read if a < 4 * n}
        rows = {b: self._reached(b, [row[b] for row in rates], free[b], end[b], slope[b]) for b in sorted(blocks)}
        found = {}
        for a in read:
            if a < 4 * n:
                which, j = divmod(a, n)
                add(f"%box{a} = extractelement {VECTOR} {rows[j // BLOCK][which]}, i32 {j % BLOCK}")
            else:
                later = "olt" if a == 4 * n else "ogt"
                add(f"%box{a}.first = fcmp {later} double %t, %t.end")
                add(f"%box{a} = select i1 %box{a}.first, double %t, double %t.end")
            found[a] = f"%box{a}"
        return found

    def _reached(self, block: int, rates: Sequence[str], free: str, end: str, slope: str) -> list[str]:
        """As `native.reach_columns`: the least and the largest states in the step, then the least and the largest rates."""
        name, start = f"%reach{block}", f"%y{block}"
        slow = fast = slope
        for k, rate in enumerate(rates):
            slow, fast = self._smaller(f"{name}.slow{k}", slow, rate), self._larger(f"{name}.fast{k}", fast, rate)
        moved = [self._two(f"{name}.moved{k}", "fmul", "%h.all", rate) for k, rate in enumerate((slow, fast))]
        down = self._smaller(f"{name}.down", ZEROS, self._smaller(f"{name}.less", *moved))
        up = self._larger(f"{name}.up", ZEROS, self._larger(f"{name}.more", *moved))
        from_start, from_end = self._two(f"{name}.a", "fadd", start, down), self._two(f"{name}.b", "fsub", end, up)
        low = self._larger(f"{name}.low", from_start, from_end)
        from_start, from_end = self._two(f"{name}.c", "fadd", start, up), self._two(f"{name}.d", "fsub", end, down)
        high = self._smaller(f"{name}.high", from_start, from_end)
        add, wider = self._write.lines.append, spread(SLACK)
        add(f"{name}.falls = fcmp olt {VECTOR} {down}, {ZEROS}")
        add(f"{name}.rises = fcmp ogt {VECTOR} {up}, {ZEROS}")
        add(f"{name}.turns = and <{BLOCK} x i1> {name}.falls, {name}.rises")
        slack = self._two(f"{name}.slack", "fmul", wider, self._two(f"{name}.range", "fsub", high, low))
        add(f"{name}.beyond = select <{BLOCK} x i1> {name}.turns, {VECTOR} {slack}, {VECTOR} {ZEROS}")
        add(f"{name}.off = call {VECTOR} @llvm.fabs.v{BLOCK}f64({VECTOR} {self._two(f'{name}.by', 'fsub', end, free)})")
        more = self._two(f"{name}.extra", "fadd", f"{name}.beyond", f"{name}.off")
        width = self._two(f"{name}.width", "fmul", wider, self._two(f"{name}.speeds", "fsub", fast, slow))
        lowest = self._smaller(f"{name}.first", self._two(f"{name}.e", "fsub", low, more), self._smaller(f"{name}.f", start, end))
        highest = self._larger(f"{name}.last", self._two(f"{name}.g", "fadd", high, more), self._larger(f"{name}.i", start, end))
        return [lowest, highest, self._two(f"{name}.slowest", "fsub", slow, width), self._two(f"{name}.fastest", "fadd", fast, width)]

    def _over(self, program: InLine, name: str, box: dict[int, str]) -> list[str]:
        """What a program stores for the box, at the time 0."""
        return program.at_places(name, program.fixed(f"{name}f"), sine.bits(0.0), box)

    # -- the tests

    def _no_leap(self, values: Sequence[str]) -> list[str]:
        """As `tube.may_leap` where no ratio is larger than the largest so far."""
        add, count = self._write.lines.append, self._looks.n_nodes
        add(f"%worst.at = getelementptr double, ptr %notes, i64 {WORST}")
        add("%worst = load double, ptr %worst.at")
        for i, (most, least) in enumerate(zip(values[:count], values[count:], strict=True)):
            name, nothing = f"%node{i}", sine.bits(NOTHING)
            add(f"{name}.known = fcmp ord double {least}, 0.0")
            add(f"{name}.large = fcmp ogt double {least}, {nothing}")
            add(f"{name}.least = select i1 {name}.large, double {least}, double {nothing}")
            add(f"{name}.most = fmul double %worst, {name}.least")
            add(f"{name}.below = fcmp ole double {most}, {name}.most")
            add(f"{name} = and i1 {name}.known, {name}.below")
        return [f"%node{i}" for i in range(count)]

    def _decided(self, name: str, low: str, high: str, slowest: str, fastest: str) -> str:
        """As `location.decided`."""
        infinite = "0x7FF0000000000000"
        tests = {
            "positive": f"fcmp ogt double {low}, 0.0",
            "negative": f"fcmp olt double {high}, 0.0",
            "rises": f"fcmp ogt double {slowest}, 0.0",
            "falls": f"fcmp olt double {fastest}, 0.0",
            "above": f"fcmp ogt double {low}, 0xFFF0000000000000",
            "below": f"fcmp olt double {high}, {infinite}",
            "from": f"fcmp oeq double {low}, 0.0",
            "to": f"fcmp oeq double {high}, 0.0",
            "signed": f"or i1 {name}.positive, {name}.negative",
            "monotone": f"or i1 {name}.rises, {name}.falls",
            "finite": f"and i1 {name}.above, {name}.below",
            "once": f"and i1 {name}.monotone, {name}.finite",
            "zero": f"and i1 {name}.from, {name}.to",
            "either": f"or i1 {name}.signed, {name}.once",
        }
        self._write.lines.extend(f"{name}.{test} = {line}" for test, line in tests.items())
        self._write.lines.append(f"{name} = or i1 {name}.either, {name}.zero")
        return name

    def _no_touch(self, determinant: InLine, rates: Sequence[str], end: Sequence[str], slope: Sequence[str], after: str, turn: str) -> str:
        """As `proof.may_touch`, the opposite of it."""
        add = self._write.lines.append
        add(f"%middle.h = fmul double {sine.bits(0.125)}, %h")
        add(f"%middle.one = insertelement {VECTOR} undef, double %middle.h, i32 0")
        add(f"%middle.all = shufflevector {VECTOR} %middle.one, {VECTOR} undef, <{BLOCK} x i32> {ZEROS}")
        state = {}
        for b in sorted({j // BLOCK for j in determinant.reads}):
            name = f"%middle{b}"
            half = self._two(f"{name}.half", "fmul", spread(0.5), self._two(f"{name}.both", "fadd", f"%y{b}", end[b]))
            bent = self._two(f"{name}.bent", "fmul", "%middle.all", self._two(f"{name}.turn", "fsub", rates[b], slope[b]))
            self._two(name, "fadd", half, bent)
        for j in determinant.reads:
            add(f"%middle.z{j} = extractelement {VECTOR} %middle{j // BLOCK}, i32 {j % BLOCK}")
            state[j] = f"%middle.z{j}"
        add(f"%middle.part = fmul double {sine.bits(0.5)}, %h")
        add("%middle.t = fadd double %t, %middle.part")
        value = determinant.at_places("d", determinant.fixed("df"), "%middle.t", state)[0]
        add("%d.before = load double, ptr %before")
        lines = {
            "first": "call double @llvm.fabs.f64(double %d.before)",
            "middle": f"call double @llvm.fabs.f64(double {value})",
            "last": f"call double @llvm.fabs.f64(double {after})",
            "gain": "fsub double %d.last, %d.first",
            "half": f"fmul double {sine.bits(0.5)}, %d.gain",
            "twice": f"fmul double {sine.bits(2.0)}, %d.middle",
            "drop": "fsub double %d.first, %d.twice",
            "bend": "fadd double %d.drop, %d.last",
            "falls": "fcmp olt double %d.last, %d.first",
            "lower": "select i1 %d.falls, double %d.last, double %d.first",
            "upper": "select i1 %d.falls, double %d.first, double %d.last",
            "bends": "fcmp ogt double %d.bend, 0.0",
            "slope": "call double @llvm.fabs.f64(double %d.half)",
            "wide": f"fmul double {sine.bits(1.0 + MARGIN)}, %d.bend",
            "near": "fcmp olt double %d.slope, %d.wide",
            "within": "and i1 %d.bends, %d.near",
            "part": f"fmul double {sine.bits(0.5)}, %d.half",
            "square": "fmul double %d.part, %d.half",
            "fall": "fdiv double %d.square, %d.bend",
            "least": "fsub double %d.middle, %d.fall",
            "some": f"fmul double {sine.bits(PARABOLA)}, %d.lower",
            "low": "fcmp olt double %d.least, %d.some",
            "little": f"fmul double {sine.bits(CLOSE)}, %d.upper",
            "small": "fcmp olt double %d.lower, %d.little",
            "any": "or i1 %d.low, %d.small",
            "inside": "and i1 %d.within, %d.any",
            "slow": f"fcmp ole double {turn}, {sine.bits(RADIAN)}",
            "fast": "xor i1 %d.slow, true",
            # as `location.turns_through`
            "a": "call double @llvm.sqrt.f64(double %d.first)",
            "b": "call double @llvm.sqrt.f64(double %d.middle)",
            "c": "call double @llvm.sqrt.f64(double %d.last)",
            "bb": f"fmul double {sine.bits(2.0)}, %d.b",
            "ab": "fadd double %d.a, %d.bb",
            "abc": "fsub double %d.ab, %d.c",
            "cb": "fadd double %d.c, %d.bb",
            "cba": "fsub double %d.cb, %d.a",
            "one": "call double @llvm.fabs.f64(double %d.abc)",
            "other": "call double @llvm.fabs.f64(double %d.cba)",
            "ordered": "fcmp olt double %d.one, %d.other",
            "uneven": "select i1 %d.ordered, double %d.one, double %d.other",
            "more": "fcmp ogt double %d.a, %d.b",
            "ab.most": "select i1 %d.more, double %d.a, double %d.b",
            "most.c": "fcmp ogt double %d.ab.most, %d.c",
            "most": "select i1 %d.most.c, double %d.ab.most, double %d.c",
            "even": f"fmul double {sine.bits(EVEN)}, %d.most",
            "through": "fcmp olt double %d.uneven, %d.even",
            "turned": "or i1 %d.inside, %d.fast",
            "suspicious": "or i1 %d.turned, %d.through",
            "product": f"fmul double %d.before, {after}",
            "same": "fcmp ogt double %d.product, 0.0",
            "touches": "and i1 %d.suspicious, %d.same",
        }
        self._write.lines.extend(f"%d.{name} = {line}" for name, line in lines.items())
        add("%d.clear = xor i1 %d.touches, true")
        return "%d.clear"

    # -- vectors

    def _two(self, name: str, operation: str, a: str, b: str) -> str:
        self._write.lines.append(f"{name} = {operation} {VECTOR} {a}, {b}")
        return name

    def _larger(self, name: str, a: str, b: str) -> str:
        return self._chosen(name, "ogt", a, b)

    def _smaller(self, name: str, a: str, b: str) -> str:
        return self._chosen(name, "olt", a, b)

    def _chosen(self, name: str, how: str, a: str, b: str) -> str:
        """As `native._larger` and `native._smaller`."""
        self._write.lines.append(f"{name}.is = fcmp {how} {VECTOR} {b}, {a}")
        self._write.lines.append(f"{name} = select <{BLOCK} x i1> {name}.is, {VECTOR} {b}, {VECTOR} {a}")
        return name
