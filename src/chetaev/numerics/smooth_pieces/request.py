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
    """The directions in which the motion is differentiated (`chetaev.numerics.slopes.directions.Directions`); None for none."""
    judged: bool = True
    """Whether errors by round-off are checked, which may take a hundred times as long as a motion with slopes."""
    schedule: Schedule | None = None
    """The inputs that are not formulas."""
    reduced: bool = True
    """Whether steps may be made in reduced velocities."""
    nodes: bool = False
    """Whether the checks need the nodes of a motion of which only the end is kept."""

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
    expected_in: float = inf
    """The time after which the event that was just met is expected again; a longer first step could miss it."""
    awaited: tuple[int, int] | None = None
    """The index of an event that was just met and reversed the motion, and the only direction in which it can be met next."""
    crawling: bool = False
    """Whether a body under planar friction starts to move here. The slower it is, the faster its direction changes: an explicit method
    takes a million steps where an implicit one takes a hundred."""
    slopes: Mapping[Jet, Array] | None = None
    """The slopes of the state, an array over the directions for each jet."""
    crossing: Any = None
    """The reason why the piece before ended (`chetaev.numerics.slopes.jumps.Crossing`); None if only pivots or code changed."""
