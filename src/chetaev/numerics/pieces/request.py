"""What was asked of a simulation, and where a piece of it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from chetaev.core.symbols import Jet
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.methods.base import Method
from chetaev.numerics.pieces.events import Watched
from chetaev.numerics.pieces.piece import Setting


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

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


@dataclass(frozen=True)
class Place:
    """Where a piece begins."""

    setting: Setting
    t: float
    jets: Mapping[Jet, float]
    work: float
    energy: float
    jump: bool = False
    """Whether something changed abruptly here."""
    soon: float = inf
    """The time until an event that was just met is expected again: a longer first step would not see it."""
    awaited: tuple[int, int] | None = None
    """An event that was just met, by number, and the direction in which alone it can be met next: the motion was sent back."""
