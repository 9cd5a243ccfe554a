"""One checkout's side of `checkouts.py`: a process that measures what it is told to, one line each.

`set-up NAME` and `again NAME` are answered by CPU seconds, `prepare NAME` by what the motion counts, then `loop NAME` by CPU seconds; a
system that is refused by null. Set-up is measured in a child of this process, which imported everything but does not know the system yet:
nothing is remembered from one time to the next.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from loop import Call, recorded
from measure import seconds_per_call

import chetaev as ch
from chetaev.numerics.methods import base

FIRST = 1e-3
"""The part of its interval over which a motion is computed for set-up: one step or a few."""
_LONG = 0.01
"""Seconds that a measurement takes at least: the clock counts in microseconds, but caches and branches need some time to settle."""
_KEPT = 512
"""Runs of the loop in one call of it, so that the call itself, half a millisecond for threads and arrays, does not count."""

_prepared: dict[str, list[Call]] = {}


def _motion(model: ch.Model, equations: ch.Equations, part: float = 1.0) -> ch.Trajectory:
    t0, t1 = model.t
    return ch.simulate(
        equations,
        model.start,
        (t0, t0 + part * (t1 - t0)),
        parameters=model.parameters,
        inputs=dict(model.inputs) or None,
        tolerance=model.tolerance,
    )


def _set_up(name: str) -> float:
    """From a model to the first steps."""
    return _in_child(lambda: _timed(lambda: _motion(model := ch.gallery(name), ch.derive(model), FIRST)))


def _timed(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _in_child(work: Callable[[], float]) -> float:
    """What a forked process finds."""
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
    """One motion, and the runs of the loop in it, with code for many calls from the first step on."""
    model, usual = ch.gallery(name), base._FIRST_STEPS
    base._FIRST_STEPS = sys.maxsize
    try:
        with recorded() as calls:
            _motion(model, ch.derive(model))
    finally:
        base._FIRST_STEPS = usual
    _prepared[name] = calls
    runs = [call.copies(1) for call in calls]
    return {"evaluations": sum(int(run.evaluations[0]) for run in runs), "steps": sum(int(run.accepted[0]) for run in runs)}


def _loop(name: str) -> float:
    """The compiled loop by itself, with all it does in a motion but keeping it."""
    calls = _prepared[name]

    def work() -> None:
        for call in calls:
            call.copies(_KEPT)

    return seconds_per_call(work, _LONG) / _KEPT


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
