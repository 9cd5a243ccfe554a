"""What becomes of motions from many states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.state import State
from chetaev.mechanics.equations import Equations
from chetaev.numerics.attraction.targets import Target
from chetaev.numerics.ensemble.many import simulate_many
from chetaev.numerics.motion.trajectory import Outcome

Array = NDArray[np.float64]
_MOST_STEPS = 20_000
"""Steps after which a motion counts as ended: one that approaches a singular state would take a million short ones."""


class Fate(IntEnum):
    """What became of a motion."""

    ATTRACTED = 1
    """It reached the target."""
    ELSEWHERE = 0
    """It went on to the last time without reaching the target: to another attractor, or too slowly."""
    ENDED = -1
    """It ended before: at a singular state, beyond the domain of a function, or with too many steps."""
    NO_MOTION = -2
    """The constraints have no state with these values."""


@dataclass(frozen=True)
class Runs:
    """How motions are run: equations with values, the state of the jets outside the box, the target."""

    equations: Equations
    names: tuple[str, ...]
    others: Mapping[str, Any]
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Any]
    target: Target
    guesses: Mapping[str, float]
    tolerance: Any
    threads: int | None

    def fates(self, points: Array, until: float) -> NDArray[np.int8]:
        """The fates of motions from some points, a row for each, over a time."""
        if not len(points):
            return np.zeros(0, np.int8)
        given = {**self.others, **{name: points[:, k] for k, name in enumerate(self.names)}}
        ensemble = simulate_many(
            self.equations,
            State(given, self.guesses) if self.guesses else given,
            (0.0, until),
            parameters=self.parameters,
            inputs=self.inputs,
            tolerance=self.tolerance,
            max_steps=_MOST_STEPS,
            threads=self.threads,
            progress=False,
        )
        arrived = self.target.met({name: ensemble.final[name] for name in self.target.rest})
        finished = ensemble.outcome == Outcome.FINISHED
        found = np.where(finished, np.where(arrived, Fate.ATTRACTED, Fate.ELSEWHERE), Fate.ENDED)
        return np.where(ensemble.started, found, Fate.NO_MOTION).astype(np.int8)

    def doubled(self, points: Array, until: float, doublings: int, always: bool = False) -> tuple[NDArray[np.int8], float, int]:
        """Fates, where motions that are still elsewhere get twice the time, as long as that lets one more of them arrive.

        With `always` all `doublings` are made: beside a border motions are slow. Returns the fates, the time of the last ones, and how
        many arrived in the last doubling.
        """
        found, late = self.fates(points, until), 0
        for _ in range(doublings):
            left = np.flatnonzero(found == Fate.ELSEWHERE)
            if not len(left):
                break
            until *= 2
            found[left] = self.fates(points[left], until)
            late = int(np.sum(found[left] == Fate.ATTRACTED))
            if not late and not always:
                break
        return found, until, late
