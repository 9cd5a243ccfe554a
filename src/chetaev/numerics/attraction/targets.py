"""When a motion has arrived: inside a region that a Lyapunov function proves, or near the equilibrium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chetaev.core.system import System
from chetaev.numerics.attraction.certificate import LyapunovCertificate
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """What counts as arrival, for many states at once."""

    system: System
    rest: Mapping[str, float]
    """The equilibrium in the independent jets."""
    down: Array
    """Combinations of independent jets that influence the motion; the others, such as the place of a vehicle, may be anything."""
    sizes: Array
    """The distances of these combinations that count as near."""
    certificate: LyapunovCertificate | None

    def met(self, ends: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Which states have arrived; NaN has not. Angles are compared modulo whole turns."""
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
        """What arrival means, in a sentence."""
        if self.certificate is not None:
            return f"inside V <= {self.certificate.level:.6g}, from where arrival is proved; V = {self.certificate.function}"
        return "near the equilibrium by the size below; the linearised motion decays there, and no region is proved"


def target_of(local: Local, certificate: LyapunovCertificate | None, reach: Mapping[str, float], near: float) -> Target:
    """The target around an equilibrium; `reach` has half the sides of the box, of which `near` is the part that counts as near."""
    state = directions(local.problem.system)
    names = [state[i].name for i in local.chart.free]
    units = np.array(
        [reach.get(name, unit) for name, unit in zip(names, local.view.spot.units[list(local.chart.free)].tolist(), strict=True)]
    )
    down = local.quotient[0]
    rest = dict(zip(names, map(float, local.y), strict=True))
    return Target(local.problem.system.equations.system, rest, down, near * (np.abs(down) @ units), certificate)
