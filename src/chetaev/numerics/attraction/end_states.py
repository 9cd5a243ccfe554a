"""How motions from many states end, and when they have arrived: inside a region that a Lyapunov function proves, or near the
equilibrium.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.equations import Equations
from chetaev.numerics.attraction.certificate import LyapunovCertificate
from chetaev.numerics.ensemble.many import simulate_many
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions

Array = NDArray[np.float64]
_MOST_STEPS = 20_000
"""Steps after which a motion counts as ended: one that approaches a singular state would take a million short ones."""


class Fate(IntEnum):
    """How a motion ends."""

    ATTRACTED = 1
    """It reached the target."""
    ELSEWHERE = 0
    """It ran to the last time without reaching the target: it went to another attractor, or is too slow."""
    ENDED = -1
    """It ended before the last time: at a singular state, at the edge of a function's domain, or after `_MOST_STEPS`."""
    NO_MOTION = -2
    """The constraints have no state with these values."""


@dataclass(frozen=True)
class Runs:
    """Settings for many motions: equations with values, the jets outside the box, the target."""

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
        """How motions from `points`, a row for each, end when they run for the time `until`."""
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
        """As `fates`, with twice the time for motions that have not arrived, repeated while that lets another one arrive.

        With `always` all `doublings` are made, because motions that start near a border are slow. Returns the fates, the last time, and the
        number of motions that arrived in the last doubling.
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


@dataclass(frozen=True)
class Target:
    """The criterion of arrival, for many states at once."""

    system: System
    rest: Mapping[str, float]
    """The equilibrium in the independent jets."""
    down: Array
    """Combinations of independent jets that influence the motion; the others, such as the position of a vehicle, may have any value."""
    sizes: Array
    """The distances of these combinations that count as near."""
    certificate: LyapunovCertificate | None

    def met(self, ends: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Which states have arrived; a state with NaN has not. Angles are compared modulo whole turns."""
        away = np.array([self._away(name, np.asarray(ends[name], dtype=float)) for name in self.rest])
        with np.errstate(invalid="ignore", over="ignore"):
            if self.certificate is not None and self.certificate.matrix is not None:
                rows = away[[list(self.rest).index(name) for name in self.certificate.equilibrium]]
                found: NDArray[np.bool_] = np.einsum("im,ij,jm->m", rows, self.certificate.matrix, rows) <= self.certificate.level
                return found
            near: NDArray[np.bool_] = np.all(np.abs(self.down @ away) <= self.sizes[:, None], axis=0)
            return near

    def _away(self, name: str, values: Array) -> Array:
        difference = values - self.rest[name]
        if self.system.kinds.get(name) == "angle":
            difference = difference - 2 * np.pi * np.round(difference / (2 * np.pi))
        return difference

    def describe(self) -> str:
        """The criterion in a sentence."""
        if self.certificate is not None:
            return f"inside V <= {self.certificate.level:.6g}, from where arrival is proved; V = {self.certificate.function}"
        return "near the equilibrium by the size below; the linearised motion decays there, and no region is proved"


def target_of(local: Local, certificate: LyapunovCertificate | None, reach: Mapping[str, float], near: float) -> Target:
    """The target around an equilibrium; `reach` has half the sides of the box, and `near` is the fraction of them that counts as near."""
    state = directions(local.problem.system)
    names = [state[i].name for i in local.chart.free]
    units = np.array(
        [reach.get(name, unit) for name, unit in zip(names, local.view.spot.units[list(local.chart.free)].tolist(), strict=True)]
    )
    down = local.quotient[0]
    rest = dict(zip(names, map(float, local.y), strict=True))
    return Target(local.problem.system.equations.system, rest, down, near * (np.abs(down) @ units), certificate)
