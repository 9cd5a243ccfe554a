"""The arguments of a simulation, and the beginning of a piece."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from chetaev.core.symbols import Jet
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.driving.schedule import Schedule
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.methods.base import Method
from chetaev.numerics.smooth_pieces.events import Watched
from chetaev.numerics.smooth_pieces.piece import Setting


@dataclass(frozen=True)
class Request:
    """The arguments of a simulation."""

    switched: Switched
    binding: Binding
    times: Array
    tolerance: float
    method: Method
    events: tuple[Watched, ...]
    conserve: bool
    final: bool
    max_steps: int
    max_step: float
    where: str
    accuracy: Accuracy
    """The tolerance with typical sizes."""
    slopes: Any = None
    """What the motion is differentiated by (`chetaev.numerics.slopes.directions.Directions`), if anything."""
    judged: bool = True
    """Whether round-off is judged, which may take a hundred times as long as a motion with slopes."""
    schedule: Schedule | None = None
    """The inputs that are no formulas."""

    @property
    def span(self) -> float:
        """The duration of the run."""
        return abs(float(self.times[-1] - self.times[0]))


@dataclass(frozen=True)
class Place:
    """The beginning of a piece: setting, time and state."""

    setting: Setting
    t: float
    jets: Mapping[Jet, float]
    work: float
    energy: float
    jump: bool = False
    """Whether the state or the forces jump here."""
    soon: float = inf
    """The time until the event that was just met is expected again; a longer first step could miss it."""
    awaited: tuple[int, int] | None = None
    """The index of an event that was just met and reversed the motion, and the only direction in which it can be met next."""
    crawling: bool = False
    """Whether a body under planar friction starts to move here. Its direction adjusts itself the faster, the slower the body is: an
    explicit method makes a million steps where an implicit one makes a hundred."""
    slopes: Mapping[Jet, Array] | None = None
    """The slopes of the state, an array over the directions for each jet."""
    crossing: Any = None
    """Why the piece before ended (`chetaev.numerics.slopes.jumps.Crossing`); None where only pivots or code changed."""
