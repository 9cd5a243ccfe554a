"""A run of DOP853 between kernels that judge its start and its end, in one call of machine code.

A short run takes two microseconds, and so do five calls from Python with what lies between them.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

import numpy as np

from chetaev.numerics.machine.engine import NAME, machine_code
from chetaev.numerics.machine.packed import InTurn, turns_code
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.repeated_calls import PORTION, Runner
from chetaev.numerics.methods.dop853.types import Array

WELL, OTHER_STEPS, IN_DOUBT = range(3)
"""What a run comes to."""


class Judged(NamedTuple):
    """What is read and written around a run. Arrays of one number are marked by *."""

    begin: InTurn
    """Computes `sound` at the start; the run begins if all its entries are zero."""
    sound: Array
    work: Array
    """* Set to zero before `begin`, and so is what the energy is copied to."""
    copied: tuple[tuple[Array, Array], tuple[Array, Array]]
    """* The energy at the start and the limit of the pivots, each with the place that it is copied to before the run."""
    steps: Array
    """* The number of steps with which `end` judges; after another number of steps it is not called."""
    end: InTurn
    """Computes `faults` at the end; all are zero if the run ended well."""
    faults: Array


class CheckedRun:
    """Calls of a runner with its checks; one thread at a time may use it."""

    def __init__(self, runner: Runner, t0: float, t1: float, judged: Judged) -> None:
        self._kept, self._runner, self.calls = judged, runner, 0
        room, numbers = runner.room, np.zeros(len(_Words._fields))
        run = room.run
        self._words, words = numbers, numbers.view(np.int64)
        (begin, first), (end, last) = judged.begin.table, judged.end.table
        (energy, reference), (limit, floor) = judged.copied
        places = (judged.sound, judged.faults, energy, reference, limit, floor, judged.work, judged.steps)
        arrays = [a.ctypes.data for a in (*places, room.progress.clock, room.progress.counts, room.control.pause, run.returned)]
        sizes = judged.sound.size, judged.faults.size
        words[:] = 0, 0, begin, first, end, last, *sizes, *arrays, run.entry, run.row
        numbers[:2] = t0, t1
        self._enter, self._at = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(_code()), numbers.ctypes.data

    def __call__(self) -> int:
        """WELL, OTHER_STEPS without a judgement of the end, or IN_DOUBT."""
        self.calls += 1
        if self.calls % _COUNTED == 0:
            self._runner.took(_COUNTED)
        found: int = self._enter(self._at)
        return found

    @property
    def steps(self) -> int:
        """The number of steps of the latest run."""
        return self._runner.counts.item(codes.ACCEPTED)


_COUNTED = 64
"""Calls after which the steps of the last one are counted for all of them: to count each would take a twentieth of its time."""


class _Words(NamedTuple):
    """Numbers and addresses that the machine code reads, in this order."""

    t0: int
    t1: int
    begin: int
    begin_calls: int
    end: int
    end_calls: int
    sound_size: int
    faults_size: int
    sound: int
    faults: int
    energy: int
    reference: int
    limit: int
    floor: int
    work: int
    steps: int
    clock: int
    counts: int
    pause: int
    returned: int
    entry: int
    row: int


_NUMBERS = {"t0", "t1"}
_INTEGERS = {"begin_calls", "end_calls", "sound_size", "faults_size"}


@cache
def _code() -> int:
    """The address of `int64 run(words)`."""
    lines = []
    for k, name in enumerate(_Words._fields):
        kind = "double" if name in _NUMBERS else "i64" if name in _INTEGERS else "ptr"
        lines += [f"%{name}.at = getelementptr i64, ptr %words, i64 {k}", f"%{name} = load {kind}, ptr %{name}.at"]
    places = {"status": ("counts", codes.STATUS), "accepted": ("counts", codes.ACCEPTED), "length": ("clock", codes.STEP)}
    lines += [f"%{name} = getelementptr i64, ptr %{array}, i64 {place}" for name, (array, place) in places.items()]
    turns = f"call void inttoptr (i64 {turns_code()} to ptr)"
    text = f"""define i64 @{NAME}(ptr %words) nounwind {{
start:
{chr(10).join(lines)}
store double 0.0, ptr %work
store double 0.0, ptr %reference
{turns}(double %t0, ptr %begin, i64 %begin_calls)
br label %sound.loop
{_all_zero("sound", "start", "run")}
run:
%found = load double, ptr %energy
store double %found, ptr %reference
%least = load double, ptr %limit
store double %least, ptr %floor
store double %t0, ptr %clock
store double 0.0, ptr %length
store i64 {codes.NEW}, ptr %status
store i64 {PORTION}, ptr %pause
call void %entry(ptr %row)
%ended = load i64, ptr %status
%failed = load i64, ptr %returned
%finished = icmp eq i64 %ended, {codes.FINISHED}
%returns = icmp eq i64 %failed, 0
%reached = and i1 %finished, %returns
br i1 %reached, label %count, label %doubt
count:
%number = load i64, ptr %accepted
%taken = sitofp i64 %number to double
%usual = load double, ptr %steps
%same = fcmp oeq double %taken, %usual
br i1 %same, label %judge, label %other
judge:
{turns}(double %t1, ptr %end, i64 %end_calls)
br label %faults.loop
{_all_zero("faults", "judge", "well")}
well:
ret i64 {WELL}
other:
ret i64 {OTHER_STEPS}
doubt:
ret i64 {IN_DOUBT}
}}
"""
    return machine_code(text, optimised=True)


def _all_zero(name: str, before: str, then: str) -> str:
    """A loop that goes to `then` if all numbers of an array are zero, and to `doubt` if one is not, or is no number."""
    return f"""{name}.loop:
%{name}.k = phi i64 [ 0, %{before} ], [ %{name}.next, %{name}.more ]
%{name}.place = getelementptr double, ptr %{name}, i64 %{name}.k
%{name}.value = load double, ptr %{name}.place
%{name}.zero = fcmp oeq double %{name}.value, 0.0
br i1 %{name}.zero, label %{name}.more, label %doubt
{name}.more:
%{name}.next = add i64 %{name}.k, 1
%{name}.again = icmp slt i64 %{name}.next, %{name}_size
br i1 %{name}.again, label %{name}.loop, label %{then}"""
