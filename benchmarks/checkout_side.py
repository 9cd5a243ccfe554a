"""One checkout's side of `checkouts.py`: a process that measures what it is told to, one line each.

`set-up NAME` and `again NAME` are answered by CPU seconds, `prepare NAME` by what the motion counts, then `loop NAME` by CPU seconds; a
system that is refused by null. What the loop is asked for differs between checkouts: each brings its own `loop.py`. Set-up is measured in a
child of this process, which imported everything but does not know the system yet: nothing is remembered from one time to the next.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import seconds_per_call

import chetaev as ch
from chetaev.numerics.methods import base

sys.path.insert(0, str(Path(ch.__file__).resolve().parents[2] / "benchmarks"))
from loop import Call, recorded

FIRST = 1e-3
"""The part of its interval over which a motion is computed for set-up: one step or a few."""
_LONG = 0.01
"""Seconds that a measurement takes at least: the clock counts in microseconds, but caches and branches need some time to settle."""
_FEW, _MANY = 2e-4, 2e-3
"""Seconds that two calls of the loop take, about, each with several runs of the same motion. Their difference is what the runs take: the
call itself takes half a millisecond for threads and arrays, hundreds of times a short run. Short calls are rarely interrupted."""
_TRIES = 6
"""Times that both are called for one answer. The least times count, of all answers."""
_USUAL = 1e-9
"""The tolerance of a motion for which none is given."""
_EXACT = 1e-4
"""Part of the tolerance that a motion has with which errors are found, and the least such tolerance is 1e-13."""

_prepared: dict[str, list[_Timed]] = {}


@dataclass
class _Timed:
    """A run of the loop, in how many copies it is called, and the least times so far."""

    call: Call
    copies: tuple[int, int]
    least: list[float]

    def seconds(self) -> float:
        """CPU seconds of one run."""
        for _ in range(_TRIES):
            for k, number in enumerate(self.copies):
                self.least[k] = min(self.least[k], _timed(lambda: self.call.copies(number)))  # noqa: B023 - called at once
        return (self.least[1] - self.least[0]) / (self.copies[1] - self.copies[0])


def _motion(model: ch.Model, equations: ch.Equations, part: float = 1.0, tolerance: Any = None) -> ch.Trajectory:
    t0, t1 = model.t
    return ch.simulate(
        equations,
        model.start,
        (t0, t0 + part * (t1 - t0)),
        parameters=model.parameters,
        inputs=dict(model.inputs) or None,
        tolerance=tolerance or model.tolerance,
    )


def _set_up(name: str) -> float:
    """From a model to the first steps."""
    return _in_child(lambda: _timed(lambda: _motion(model := ch.gallery(name), ch.derive(model), FIRST)))


def _timed(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _in_child(work: Callable[[], float]) -> float:
    """What a forked process finds. What is there before is not searched for garbage: the child would have to copy all of it."""
    gc.collect()
    gc.freeze()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return float(text) if text else float("nan")


def _again(name: str) -> float:
    """The same motion once more, on equations that were compiled for the first."""
    model = ch.gallery(name)
    equations = ch.derive(model)
    return seconds_per_call(lambda: _motion(model, equations), _LONG)


def _prepare(name: str) -> dict[str, float]:
    """One motion, its error, and the runs of the loop in it, with code for many calls from the first step on."""
    model, usual = ch.gallery(name), base._FIRST_STEPS
    equations = ch.derive(model)
    base._FIRST_STEPS = sys.maxsize
    try:
        with recorded() as calls:
            motion = _motion(model, equations)
    finally:
        base._FIRST_STEPS = usual
    _prepared[name] = [_with_copies(call) for call in calls]
    runs = [call.copies(1) for call in calls]
    counts = {"evaluations": sum(int(run.evaluations[0]) for run in runs), "steps": sum(int(run.accepted[0]) for run in runs)}
    return {**counts, "error": _error(model, equations, motion)}


def _error(model: ch.Model, equations: ch.Equations, motion: ch.Trajectory) -> float:
    """The largest error at the end of a motion, relative to the component, or to a thousandth of the largest at the end."""
    usual = model.tolerance if isinstance(model.tolerance, float) else _USUAL
    exact = _motion(model, equations, tolerance=max(_EXACT * usual, 1e-13)).final
    floor = 1e-3 * max(abs(float(v)) for v in exact.values())
    return max(abs(float(motion.final[z]) - float(v)) / max(abs(float(v)), floor, 1e-300) for z, v in exact.items())


def _with_copies(call: Call) -> _Timed:
    few, more = 2, 22
    calls = [[_timed(lambda: call.copies(number)) for number in (few, more)] for _ in range(_TRIES)]  # noqa: B023 - called at once
    each = max((min(c[1] for c in calls) - min(c[0] for c in calls)) / (more - few), 1e-7)
    return _Timed(call, (max(1, int(_FEW / each)), max(6, int(_MANY / each))), [float("inf")] * 2)


def _loop(name: str) -> float:
    """The compiled loop by itself, with all it does in a motion but keeping it."""
    return sum(run.seconds() for run in _prepared[name])


_ANSWERS: dict[str, Callable[[str], Any]] = {"set-up": _set_up, "prepare": _prepare, "again": _again, "loop": _loop}


def main() -> None:
    """Answer until nothing more is asked."""
    model = ch.gallery("damped-oscillator")
    _motion(model, ch.derive(model))
    print(json.dumps(ch.__file__), flush=True)
    for line in sys.stdin:
        what, name = line.split()
        try:
            answer = _ANSWERS[what](name)
        except ch.ChetaevError:  # some systems of the gallery are there to be refused
            answer = None
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
