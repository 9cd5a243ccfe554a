r"""A drawing: a scene evaluated along a motion, the common input of both renderers (matplotlib and the web page).

In the plane a piece is a set of strokes in body axes, moved by a position, an angle and a length. A vertex of a stroke is a triple
$(s, a, b)$: it lies $s \ell + a$ along the piece's direction and $b$ across it, where $\ell$ is the length at that time. So a rigid body
is a piece with $s = 0$, and a spring or an arrow stretches without its coils or head becoming thinner. In space a solid is a mesh, moved by
a position, a rotation and a factor along its third body axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """The expressions from which the arrays of a part are computed, for pages that compute motions (`live`)."""

    place: str | Sequence[str | float]
    end: str | Sequence[str | float] | None = None
    """The other end of a part that stretches from `place`."""
    angle: str | float = 0
    """The angle of a part in the plane."""
    rotation: str | None = None
    """The orientation of a part in space, as in `Shape.rotation`."""
    value: str | float | None = None
    """The number after a text."""
    tip: bool = False
    """Whether the part is at `end`, in the direction from `place` to it."""


@dataclass(frozen=True)
class Stroke:
    """A line or an area in the body axes of a piece; `width` is in pixels."""

    points: Array
    fill: str | None = None
    edge: str | None = None
    width: float = 1.5
    closed: bool = True


@dataclass(frozen=True)
class Piece:
    """Strokes that move together in the plane."""

    strokes: tuple[Stroke, ...]
    place: Array
    angle: Array
    length: Array
    source: Source | None = None

    def vertices(self, stroke: Stroke, k: int) -> Array:
        """The vertices of a stroke in the picture at the sample k."""
        along = stroke.points[:, 0] * self.length[k] + stroke.points[:, 1]
        c, s = np.cos(self.angle[k]), np.sin(self.angle[k])
        across = stroke.points[:, 2]
        found: Array = self.place[k] + np.column_stack([c * along - s * across, s * along + c * across])
        return found


@dataclass(frozen=True)
class Dot:
    """A marker whose radius is in pixels."""

    place: Array
    radius: float
    fill: str
    edge: str
    source: Source | None = None


@dataclass(frozen=True)
class Track:
    """A path; `finer` is its number of points per frame, `steps` the number of frames that stay visible (0 means all)."""

    place: Array
    colour: str
    finer: int
    steps: int
    width: float = 2.0
    source: Source | None = None


@dataclass(frozen=True)
class Words:
    """A text at a moving position, with a number after it if there are `values`; `shift` is in pixels, upwards positive."""

    place: Array
    text: str
    colour: str
    shift: tuple[float, float] = (8.0, 8.0)
    align: str = "left"
    values: Array | None = None
    size: float = 14.0
    source: Source | None = None


@dataclass(frozen=True, eq=False)
class Mesh:
    """Flat faces with four vertices each, a triangle repeating its last one; `paints` has the colour of each face."""

    vertices: Array
    faces: NDArray[np.int64]
    paints: tuple[str, ...]

    @cached_property
    def tints(self) -> Array:
        """The colours of the faces as red, green and blue."""
        return np.array([rgb(paint) for paint in self.paints]).reshape(-1, 3)


@dataclass(frozen=True)
class Solid:
    """A mesh that moves in space."""

    mesh: Mesh
    place: Array
    rotation: Array
    stretch: Array
    source: Source | None = None

    def vertices(self, k: int) -> Array:
        """The vertices in space at the sample k."""
        own = self.mesh.vertices * np.array([1.0, 1.0, self.stretch[k]])
        found: Array = own @ self.rotation[k].T + self.place[k]
        return found


@dataclass(frozen=True)
class Floor:
    """The ground: a line at `height` in a vertical plane, otherwise a grid of the given `spacing`."""

    height: float | None
    spacing: float
    colour: str


Item = Piece | Dot | Track | Words | Solid


@dataclass(frozen=True)
class Window:
    """The visible box of a planar picture: fixed, or moving with its centre."""

    centre: Array
    half: Array

    @property
    def ratio(self) -> float:
        """Width over height."""
        return float(self.half[0] / self.half[1])

    def limits(self, k: int) -> tuple[float, float, float, float]:
        """Left, right, bottom and top at the sample k."""
        x, y = self.centre[min(k, len(self.centre) - 1)]
        return x - self.half[0], x + self.half[0], y - self.half[1], y + self.half[1]


@dataclass(frozen=True)
class Camera:
    """A camera that looks at `target` from `distance`; `azimuth`, `elevation` and the vertical field of view `fov` in degrees."""

    target: Array
    distance: float
    azimuth: float
    elevation: float
    fov: float
    ratio: float


@dataclass(frozen=True)
class Drawing:
    """Everything to be drawn, at all times."""

    times: Array
    items: tuple[Item, ...]
    view: Window | Camera
    floor: Floor | None
    axes: tuple[str, str] | None
    title: str
    caption: str
    legend: tuple[tuple[str, str], ...] = ()
    """Names and colours of the motions, if there are several."""

    @property
    def ratio(self) -> float:
        """Width over height of the picture."""
        return self.view.ratio


def still(value: Array) -> Array:
    """Return the array with one row if all rows are equal, otherwise unchanged."""
    return value[:1] if len(value) > 1 and np.all(value == value[:1]) else value


def mixed(colour: str, other: str, share: float) -> str:
    """Mix `colour` with the fraction `share` of `other`."""
    r, g, b = np.rint(255 * ((1 - share) * rgb(colour) + share * rgb(other))).astype(int)
    return f"#{r:02x}{g:02x}{b:02x}"


def rgb(colour: str) -> Array:
    """Red, green and blue from 0 to 1."""
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def recoloured(item: Item, colour: str) -> Item:
    """Return a part of a drawing in the colour of its motion."""

    def own(old: str | None) -> str | None:
        return None if old is None else mixed(old, colour, 0.6)

    match item:
        case Piece():
            return replace(item, strokes=tuple(replace(s, fill=own(s.fill), edge=own(s.edge)) for s in item.strokes))
        case Dot():
            return replace(item, fill=colour)
        case Solid():
            return replace(item, mesh=replace(item.mesh, paints=tuple(mixed(paint, colour, 0.6) for paint in item.mesh.paints)))
        case _:
            return replace(item, colour=colour)


def nice_step(length: float, parts: int) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that divides `length` into about `parts` parts."""
    if not length > 0:
        return 1.0
    raw = length / parts
    power = 10.0 ** np.floor(np.log10(raw))
    return float(min((m * power for m in (1, 2, 5, 10)), key=lambda step: abs(np.log(step / raw))))
