r"""A whole trial step as one function: stages, error, projection, the functions at its end and the length of the next step.

What the loop does by several calls, each of which leaves its results in memory for the next one, stands here in one function for one
system: numbers stay in registers, their count is known, and the roots for the length of the next step, which the following stages wait for,
are computed beside the projection. Operations and their order are those of `step`, `calls` and `native`, and of the code of each program,
so that all results have the same bits. Whatever is not the usual course of a step is left to the loop: then the function says how far it
came, and what it has written is right up to there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.engine import CALLED, NAME, bind, machine_code
from chetaev.numerics.methods.dop853.codes import AMONG, ATOL, CALM, GIVEN, GREW, LARGEST, MOVED, MOVED_FURTHER, ROUND_OFF, SIZES, WHOLE
from chetaev.numerics.methods.dop853.scale_constants import (
    FAR,
    FURTHER,
    GROWS,
    HUGE,
    MEMORY,
    MUCH_LARGER,
    SAFETY,
    SMALL_PART,
    SQUARE_SETTLED,
    TINY,
    WEIGHT,
)
from chetaev.numerics.methods.dop853.tableau import LAST_SUMS, NODES, SUMS
from chetaev.numerics.methods.dop853.whole_steps.in_line import BLOCK, VECTOR, ZEROS, InLine
from chetaev.numerics.methods.dop853.whole_steps.look_code import LookLines, Looks, table_of
from chetaev.numerics.methods.dop853.whole_steps.stage_code import LONGEST, Stages, spread

LONGEST_END = 500
"""Most instructions of the programs at the end of a step, which stand in the function twice as long as they are in code of their own."""
_SIGNATURE = ", ".join(
    [
        *[f"double %{name}" for name in ("t", "h", "relative")],
        *[f"ptr noalias readonly %{name}" for name in ("y", "p")],
        *[f"ptr noalias %{name}" for name in ("k", "free", "end", "ends", "scales")],
        *[f"ptr noalias readonly %{name}" for name in ("inside", "notes", "before")],
    ]
)
_RESULT = "{ i64, double }"
_SIZE, _SIZES = "declare double @llvm.fabs.f64(double)", f"declare {VECTOR} @llvm.fabs.v{BLOCK}f64({VECTOR})"
_ROOT = "declare double @llvm.sqrt.f64(double)"
_ALIGNED = 32
"""Bytes of a vector, to which the stack is aligned: LLVM itself aligns it to half of that, and vectors kept there for a while would lie in
two lines of the cache, where a processor waits for them much longer: Rocard's tyre took 1.7 times as long."""
_MOST_CALLS = 3
"""Most calls of the projection, as in `calls.settle`."""


class Ends(NamedTuple):
    """Programs for the end of a step: the projection, empty if there is none; the rates together with watched functions and residuals; what
    the loop asks of the tube of the step, None if that is not known.
    """

    project: bytes
    ends: bytes
    looks: Looks | None


def step_code(rates: bytes, n: int, ends: Ends | None) -> int:
    """The address of a function that `native.call_step` calls; 0 where nothing would be gained.

    Its first result is 0 if an angle is too large for sines and cosines in line, so that nothing it wrote means anything; 1 if only the
    rows of k are right; and `codes.WHOLE` plus the number of calls of the projection if all is done: then `free`, `end` and the row of
    `ends` are right too, the error is allowed, the sizes are renewed, and the second result is the ratio of the next step to this one.
    Bits say what the loop need not find out itself: `CALM`, `GREW` and `MOVED_FURTHER`.
    """
    stages = Stages(table_of(rates), n)
    if stages.length > LONGEST or (stages.angles and not sine.IN_LINE):
        return 0
    last = None if ends is None else _Last(stages, n, ends)
    text = _text(stages, last if last is not None and last.is_short else None)
    for name in CALLED.findall(text):
        bind(name)
    return machine_code(text, optimised=True)


def _text(stages: Stages, last: _Last | None) -> str:
    sums = stages.write(SUMS, NODES, LAST_SUMS)
    near = stages.near("")
    if last is None:
        stages.lines.append(f"%made = zext i1 {near} to i64")
        stages.lines.append(_returned("only", "%made", "0.0"))
    else:
        last.write(near, *sums)
    define = f"define {_RESULT} @{NAME}({_SIGNATURE}) nounwind alignstack({_ALIGNED}) {{"
    return "\n".join([*sorted({*stages.head, _SIZE, _SIZES, _ROOT}), define, "begin:", *stages.lines, "}", ""])


def _returned(name: str, made: str, growth: str) -> str:
    one = f"%{name}.made = insertvalue {_RESULT} undef, i64 {made}, 0"
    return f"{one}\n%{name} = insertvalue {_RESULT} %{name}.made, double {growth}, 1\nret {_RESULT} %{name}"


class _Last(InLine):
    """The lines behind the stages."""

    def __init__(self, stages: Stages, n: int, ends: Ends) -> None:
        super().__init__(table_of(ends.ends), n, stages)
        self._project = InLine(table_of(ends.project), n, stages) if ends.project else None
        self._n_rows, self._stages = BLOCK * len(self._blocks), stages
        looks = None if ends.looks is None else LookLines(self, n, ends.looks)
        self._looks = looks if looks is not None and looks.is_short else None

    @property
    def is_short(self) -> bool:
        """Whether the programs are short enough, and call no functions: with the tangent that Rocard's tyre watches, a step took from 0.95
        to 2.1 of the time of one by calls, which differed between processes.
        """
        parts = [part for part in (self, self._project) if part is not None]
        if not all(part.stays_in_line for part in parts):
            return False
        return sum(part.moving for part in parts) <= LONGEST_END and (sine.IN_LINE or not any(part.angles for part in parts))

    def write(self, near: str, moved: list[str], fifth: list[str], third: list[str]) -> None:
        """Write them, after the sums of the stages; `near`: all angles in the stages were small enough."""
        self._add("%t.end = fadd double %t, %h")
        free = []
        for b in self._blocks:
            self._add(f"%free{b} = fadd {VECTOR} %y{b}, {moved[b]}")
            self._put(f"%free{b}", "%free", BLOCK * b, f"%free{b}.to")
            free.append(f"%free{b}")
        allowed = self._error(free, fifth, third)
        self._add(f"%good = and i1 {self._finite('free', free)}, {allowed}")
        self._add(f"%usual = and i1 %good, {near}")
        fixed = self.fixed("wf")
        if self._project is None:
            self._add("br i1 %usual, label %done, label %left")
            self._at_end(fixed, free, [([name], ["begin"]) for name in free], "0")
        else:
            end = self._settled(self._project, free)
            self._at_end(fixed, free, end, "%calls")
        self._add("left:")
        self._add(f"%made = zext i1 {near} to i64")
        self._add(_returned("partly", "%made", "0.0"))

    def _error(self, free: Sequence[str], fifth: Sequence[str], third: Sequence[str]) -> str:
        """As `step._error`; whether the error is allowed."""
        self._add("%step = call double @llvm.fabs.f64(double %h)")
        step, relative = self._spread("%step"), self._spread("%relative")
        totals = {"five": ZEROS, "three": ZEROS}
        for b in self._blocks:
            name = f"%error{b}"
            fixed, usual, noise = (self._scale(f"{name}.{row}", row, b) for row in (ATOL, SIZES, ROUND_OFF))
            size = self._larger(f"{name}.size", self._size(f"{name}.start", f"%y{b}"), self._size(f"{name}.stop", free[b]))
            self._add(self._fused(f"{name}.usual", spread(WEIGHT), usual, size))
            self._add(self._fused(f"{name}.fixed", step, noise, fixed))
            self._add(f"{name}.least = fadd {VECTOR} {name}.fixed, {spread(TINY)}")
            self._add(self._fused(f"{name}.unit", relative, f"{name}.usual", f"{name}.least"))
            self._add(f"{name}.inverse = fdiv {VECTOR} {spread(1.0)}, {name}.unit")
            for which, rows in (("five", fifth), ("three", third)):
                ratio = f"{name}.{which}"
                self._add(f"{ratio} = fmul {VECTOR} {rows[b]}, {name}.inverse")
                self._add(self._fused(f"{ratio}.sum", ratio, ratio, totals[which]))
                totals[which] = f"{ratio}.sum"
        for which, total in totals.items():
            self._total(f"%{which}", total)
        self._lines += [
            "%e.above = fmul double %step, %five",
            f"%e.part = fmul double {sine.bits(0.01)}, %three",
            "%e.both = fadd double %five, %e.part",
            f"%e.mean = fmul double %e.both, {sine.bits(float(self._n))}",
            "%e.root = call double @llvm.sqrt.f64(double %e.mean)",
            "%e.ratio = fdiv double %e.above, %e.root",
            "%e.none = fmul double 0.0, %three",
            "%e.zero = fcmp oeq double %five, 0.0",
            "%error = select i1 %e.zero, double %e.none, double %e.ratio",
            "%e.small = fcmp ole double %error, 1.0",
            f"%e.five = fcmp olt double %five, {sine.bits(HUGE**2)}",
            f"%e.three = fcmp olt double %three, {sine.bits(HUGE**2)}",
            "%e.numbers = and i1 %e.five, %e.three",
            "%e.allowed = and i1 %e.small, %e.numbers",
        ]
        return "%e.allowed"

    def _settled(self, project: InLine, free: Sequence[str]) -> list[tuple[list[str], list[str]]]:
        """As `calls.settle` with `FAR`; the end of the step in vectors: their names, and the blocks of code that these come from."""
        fixed = project.fixed("qf")
        old, moved = [f"%x{b}" for b in self._blocks], [self._gathered_name("%new", b) for b in self._blocks]
        self._lines += [
            f"%near.limit = fmul double {sine.bits(FAR)}, %relative",
            "%first.limit = fmul double %near.limit, %near.limit",
            *(f"%among{b}.at = getelementptr double, ptr %scales, i64 {AMONG * self._n_rows + BLOCK * b}" for b in self._blocks),
            *(f"%among{b} = load {VECTOR}, ptr %among{b}.at, align 8" for b in self._blocks),
            "br i1 %usual, label %settle, label %left",
            "settle:",
            "%calls = phi i64 [ 1, %begin ], [ %calls.next, %again ]",
            "%limit = phi double [ %first.limit, %begin ], [ %square, %again ]",
            *(f"%x{b} = phi {VECTOR} [ {free[b]}, %begin ], [ {moved[b]}, %again ]" for b in self._blocks),
        ]
        new = project.at("q", fixed, "%t.end", self._numbers("%x", old))
        total = ZEROS
        for b in self._blocks:
            name = f"%moved{b}"
            self._add(f"{name}.size = fadd {VECTOR} {self._size(f'{name}.old', old[b])}, %among{b}")
            self._add(f"{name}.unit = fadd {VECTOR} {name}.size, {spread(TINY)}")
            self._add(f"{name}.by = fsub {VECTOR} {self._gathered('%new', b, new)}, {old[b]}")
            self._add(f"{name}.ratio = fdiv {VECTOR} {name}.by, {name}.unit")
            self._add(self._fused(f"{name}.sum", f"{name}.ratio", f"{name}.ratio", total))
            total = f"{name}.sum"
        self._total("%squares", total)
        self._lines += [
            f"%square = fdiv double %squares, {sine.bits(float(self._n))}",
            "%smaller = fcmp olt double %square, %limit",
            f"%closer = and i1 %smaller, {project.near('q')}",
        ]
        self._lines += [
            "br i1 %closer, label %moved, label %not",
            "not:",
            "%first = icmp eq i64 %calls, 1",
            "%no.longer = xor i1 %smaller, true",
            "%not.first = xor i1 %first, true",
            "%stays = and i1 %no.longer, %not.first",
            "br i1 %stays, label %done, label %left",
            "moved:",
            f"%tiny = fcmp olt double %square, {sine.bits(SQUARE_SETTLED * SQUARE_SETTLED)}",
            f"%last = icmp eq i64 %calls, {_MOST_CALLS}",
            "%settled = or i1 %tiny, %last",
            "br i1 %settled, label %done, label %again",
            "again:",
            "%calls.next = add i64 %calls, 1",
            "br label %settle",
        ]
        return [([old[b], moved[b]], ["not", "moved"]) for b in self._blocks]

    def _at_end(self, fixed: list[str], free: Sequence[str], sources: Sequence[tuple[list[str], list[str]]], calls: str) -> None:
        """As `step._ends`, with the end of the step, and the result."""
        self._add("done:")
        end = [f"%end{b}" for b in self._blocks]
        for name, (values, blocks) in zip(end, sources, strict=True):
            self._add(f"{name} = phi {VECTOR} {', '.join(f'[ {v}, %{at} ]' for v, at in zip(values, blocks, strict=True))}")
        for b in self._blocks:
            self._put(end[b], "%end", BLOCK * b, f"{end[b]}.to")
        found = self.at("w", fixed, "%t.end", self._numbers("%end", end))
        slope = [self._gathered(f"%slope{b}", b, found) for b in self._blocks]
        for b in self._blocks:
            self._put(slope[b], "%ends", BLOCK * b, f"%slope{b}.to")
        for j in range(self._n_rows, len(found)):
            self._add(f"%ends{j} = getelementptr double, ptr %ends, i64 {j}")
            self._add(f"store double {found[j]}, ptr %ends{j}")
        self._lines += [
            f"%complete = and i1 {self._finite('slope', slope)}, {self.near('w')}",
            "br i1 %complete, label %whole, label %left",
            "whole:",
        ]
        self._growth()
        flags = {GREW: self._renewed(end), MOVED_FURTHER: self._moved_further(end)}
        if self._looks is not None:
            after = found[self._n_rows] if len(found) > self._n_rows else ""
            flags[CALM] = self._looks.write(self._stages.rates, free, end, slope, after)
        self._add(f"%result0 = add i64 {calls}, {WHOLE}")
        for k, (bit, flag) in enumerate(flags.items()):
            self._add(f"%flag{k} = select i1 {flag}, i64 {bit}, i64 0")
            self._add(f"%result{k + 1} = add i64 %result{k}, %flag{k}")
        self._add(_returned("all", f"%result{len(flags)}", "%growth"))

    def _growth(self) -> None:
        """As `step.factor`. A processor has room for some hundred instructions that wait: the roots stand where so many of the others are
        done that the following ones, up to the next step, find room beside them.
        """
        self._lines += [
            "%g.two = call double @llvm.sqrt.f64(double %error)",
            "%g.four = call double @llvm.sqrt.f64(double %g.two)",
            "%g.eight = call double @llvm.sqrt.f64(double %g.four)",
            f"%g.most = fmul double {sine.bits(GROWS)}, %g.eight",
            f"%g.grows = fcmp olt double %g.most, {sine.bits(SAFETY)}",
            f"%g.ratio = fdiv double {sine.bits(SAFETY)}, %g.eight",
            f"%growth = select i1 %g.grows, double {sine.bits(GROWS)}, double %g.ratio",
        ]

    def _renewed(self, end: Sequence[str]) -> str:
        """As `native.renew_largest` for `scales.remember_sizes`."""
        grew = ZEROS
        for b in self._blocks:
            name = f"%size{b}"
            largest, sizes, given, among = (self._scale(f"{name}.{row}", row, b) for row in (LARGEST, SIZES, GIVEN, AMONG))
            size = self._size(f"{name}.now", end[b])
            self._add(f"{name}.much = fmul {VECTOR} {spread(MUCH_LARGER)}, {among}")
            self._add(f"{name}.above = fcmp ogt {VECTOR} {size}, {name}.much")
            self._add(f"{name}.grew = or <{BLOCK} x i1> {grew}, {name}.above")
            grew = f"{name}.grew"
            new = self._larger(f"{name}.new", largest, size)
            self._add(f"{name}.memory = fmul {VECTOR} {spread(MEMORY)}, {sizes}")
            self._add(f"{name}.part = fmul {VECTOR} {spread(SMALL_PART)}, {new}")
            usual = self._larger(f"{name}.usual", self._larger(f"{name}.faded", f"{name}.memory", f"{name}.part"), size)
            self._add(f"{name}.own = fcmp olt {VECTOR} {given}, {ZEROS}")
            self._add(f"{name}.chosen = select <{BLOCK} x i1> {name}.own, {VECTOR} {usual}, {VECTOR} {sizes}")
            self._put(new, "%scales", LARGEST * self._n_rows + BLOCK * b, f"{name}.new.to")
            self._put(f"{name}.chosen", "%scales", SIZES * self._n_rows + BLOCK * b, f"{name}.to")
        return self._any("%grew", grew)

    def _moved_further(self, end: Sequence[str]) -> str:
        """As `dense.is_compared`: whether a component changes much more than in the steps compared so far."""
        far = ZEROS
        for b in self._blocks:
            name, first = f"%far{b}", MOVED * self._n + BLOCK * b
            if BLOCK * (b + 1) <= self._n:
                moved = self._load(f"{name}.moved", "%inside", first, VECTOR)
            else:
                there = [self._load(f"{name}.m{j}", "%inside", MOVED * self._n + j, "double") for j in range(BLOCK * b, self._n)]
                moved = self._gathered(f"{name}.all", b, [""] * BLOCK * b + there)
            self._add(f"{name}.by = fsub {VECTOR} {end[b]}, %y{b}")
            self._add(f"{name}.limit = fmul {VECTOR} {spread(FURTHER)}, {moved}")
            self._add(f"{name}.above = fcmp ogt {VECTOR} {self._size(f'{name}.size', f'{name}.by')}, {name}.limit")
            self._add(f"{name}.some = or <{BLOCK} x i1> {far}, {name}.above")
            far = f"{name}.some"
        return self._any("%far", far)

    def _any(self, name: str, flags: str) -> str:
        self._add(f"{name}.bits = bitcast <{BLOCK} x i1> {flags} to i{BLOCK}")
        self._add(f"{name}.any = icmp ne i{BLOCK} {name}.bits, 0")
        return f"{name}.any"

    # -- vectors

    def _numbers(self, prefix: str, vectors: Sequence[str]) -> list[str]:
        """The numbers of a state."""
        for j in range(self._n):
            self._add(f"{prefix}.n{j} = extractelement {VECTOR} {vectors[j // BLOCK]}, i32 {j % BLOCK}")
        return [f"{prefix}.n{j}" for j in range(self._n)]

    def _scale(self, name: str, row: int, block: int) -> str:
        return self._load(name, "%scales", row * self._n_rows + BLOCK * block, VECTOR)

    def _spread(self, number: str) -> str:
        self._add(f"{number}.one = insertelement {VECTOR} undef, double {number}, i32 0")
        self._add(f"{number}.all = shufflevector {VECTOR} {number}.one, {VECTOR} undef, <{BLOCK} x i32> {ZEROS}")
        return f"{number}.all"

    def _size(self, name: str, vector: str) -> str:
        self._add(f"{name} = call {VECTOR} @llvm.fabs.v{BLOCK}f64({VECTOR} {vector})")
        return name

    def _larger(self, name: str, a: str, b: str) -> str:
        self._add(f"{name}.above = fcmp ogt {VECTOR} {b}, {a}")
        self._add(f"{name} = select <{BLOCK} x i1> {name}.above, {VECTOR} {b}, {VECTOR} {a}")
        return name

    def _total(self, name: str, vector: str) -> None:
        """The sum of the numbers of a vector, in the order of `native`."""
        for i in range(BLOCK):
            self._add(f"{name}.{i} = extractelement {VECTOR} {vector}, i32 {i}")
        self._add(f"{name}.even = fadd double {name}.0, {name}.2")
        self._add(f"{name}.odd = fadd double {name}.1, {name}.3")
        self._add(f"{name} = fadd double {name}.even, {name}.odd")

    def _finite(self, prefix: str, vectors: Sequence[str]) -> str:
        """Whether all numbers are finite."""
        total = ZEROS
        for b, vector in enumerate(vectors):
            self._add(self._fused(f"%{prefix}.finite{b}", vector, ZEROS, total))
            total = f"%{prefix}.finite{b}"
        self._add(f"%{prefix}.zero = fcmp oeq {VECTOR} {total}, {ZEROS}")
        self._add(f"%{prefix}.bits = bitcast <{BLOCK} x i1> %{prefix}.zero to i{BLOCK}")
        self._add(f"%{prefix}.finite = icmp eq i{BLOCK} %{prefix}.bits, -1")
        return f"%{prefix}.finite"
