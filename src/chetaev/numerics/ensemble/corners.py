"""Members that meet a corner of sign, abs, min or max on their way: run by `simulate`, which locates the corner and may slide along it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chetaev.core.errors import ChetaevError, Interrupted
from chetaev.core.state import State
from chetaev.numerics.ensemble.given import Given, Notes, refusal
from chetaev.numerics.ensemble.threads import Workers
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory


def follow_alone(
    read: Given, members: Iterable[int], t1: float, accuracy: Accuracy, method: Any, max_steps: int, max_step: Any, workers: Workers
) -> tuple[dict[int, Trajectory], Notes]:
    """Return the motions of some members, and notes for those without one. Ctrl-C ends the current motion and starts no other."""
    motions: dict[int, Trajectory] = {}
    notes: Notes = {}
    original = read.switched.original
    names = [str(z.name) for z in original.system.parameters]
    for member in members:
        if workers.stopped:
            break
        data = read.data(member)
        start = State({z.name: v for z, v in data.fixed.items()}, {z.name: v for z, v in data.guess.items()})
        values = dict(zip(names, map(float, read.batch.p[member]), strict=False))
        try:
            motions[member] = simulate(
                original,
                start,
                (read.t, t1),
                parameters=values,
                inputs=read.given_inputs,
                **accuracy.wish,
                method=method,
                keep="final",
                max_steps=max_steps,
                max_step=max_step,
                progress=False,
            )
        except ChetaevError as refused:
            notes[member] = refusal(refused)
            continue
        except Interrupted as stopped:
            motions[member] = stopped.motion
            workers.flag[0] = 1
        except KeyboardInterrupt:  # before the motion began
            workers.flag[0] = 1
        workers.show()
    return motions, notes
