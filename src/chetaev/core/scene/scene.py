"""A scene: how a motion is drawn, as data. Shapes with places in the notation of the model, and the direction of view.

>>> from chetaev.core.scene import Pivot, Point, Rod, Scene, Trace
>>> print(Scene([Rod("0, 0", "x, y"), Pivot("0, 0"), Trace("x, y", seconds=2), Point("x, y")]))
scene in the plane
  rod from (0, 0) to (x, y)
  pivot (0, 0)
  trace (x, y) seconds 2
  point (x, y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from chetaev.core.errors import UsageError, did_you_mean
from chetaev.core.fixes import InPython, sentences
from chetaev.core.scene import fields as read
from chetaev.core.scene.fields import Place
from chetaev.core.scene.shapes import Dial, Shape, Slider, read_shape, shape_data
from chetaev.core.support.public import public
from chetaev.core.support.text import fault

_EXAMPLE = InPython('Scene([Point("x, y"), Trace("x, y")])')
"""Hint for shapes given in Python."""


@public
@dataclass(frozen=True, repr=False)
class Scene:
    """A picture of a motion. The `shapes` are drawn one after the other: later ones lie on top.

    `follow` is a place that stays in the centre of the picture; without it the picture is fixed and contains the whole motion.
    `view` is the direction of view in space, in degrees: the azimuth, anticlockwise from the x axis, and the elevation.
    `room` is a factor that widens the picture around the followed place, or around the whole motion.
    `axes` are the names of the two directions, for a picture that is a graph.
    `caption` is the text below the picture.
    """

    shapes: Sequence[Shape]
    follow: Place | None = None
    view: tuple[float, float] = (-62.0, 22.0)
    room: float = 1.0
    axes: tuple[str, str] | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        for name, reader in _READERS.items():
            object.__setattr__(self, name, reader(getattr(self, name), "scene" if name == "shapes" else f"scene, {name}"))

    @property
    def dimension(self) -> int:
        """3 if any place has three coordinates, else 2."""
        return max((len(place) for shape in self.shapes for place in shape.places), default=2)

    @property
    def abstract(self) -> bool:
        """Whether nothing in the scene has a place in space."""
        return all(isinstance(shape, Slider | Dial) for shape in self.shapes)

    def __str__(self) -> str:
        kind = "of quantities" if self.abstract else "in space" if self.dimension == 3 else "in the plane"
        lines = [f"scene {kind}", *(f"  {shape}" for shape in self.shapes)]
        if self.follow:
            lines.append(f"  followed at ({', '.join(map(str, self.follow))})")
        return "\n".join([*lines, *([f"  {self.caption}"] if self.caption else [])])

    def __repr__(self) -> str:
        return str(self)


def read_scene(data: Mapping[str, Any], where: Callable[[str, int | None], str]) -> Scene:
    """The scene that a table of a file describes; `where(key, k)` is the place of a key, of the scene or of its shape `k`, for messages."""
    for key in data:
        if key not in _READERS:
            hint = sentences(did_you_mean(key, _READERS), f"Known: {' '.join(_READERS)}")
            raise UsageError(f"{key} is not a key of a scene.", where=where(key, None), hint=hint)
    tables = read.listed(data.get("shapes", ()), where("shapes", None), _TABLES)
    if not tables:
        raise UsageError("a scene without shapes.", where=where("shapes", None), hint=_TABLES)
    for k, table in enumerate(tables):
        if not isinstance(table, Mapping):
            raise UsageError(f"{read.shown(table)} is not a shape.", where=where("", k), hint=_TABLES)
    shapes = _shapes([read_shape(table, _of_shape(where, k)) for k, table in enumerate(tables)], where("shapes", None))
    return Scene(shapes, **{name: _READERS[name](value, where(name, None)) for name, value in data.items() if name != "shapes"})


def _of_shape(where: Callable[[str, int | None], str], k: int) -> Callable[[str], str]:
    return lambda key: where(key, k)


def written(scene: Scene) -> dict[str, Any]:
    """A scene as texts, numbers and lists, in the form that `read_scene` reads."""
    found: dict[str, Any] = {"shapes": [shape_data(shape) for shape in scene.shapes]}
    for field in fields(scene)[1:]:
        value = getattr(scene, field.name)
        if value != field.default:
            found[field.name] = ", ".join(value) if field.name == "follow" else list(value) if isinstance(value, tuple) else value
    return found


def _shapes(given: Any, where: str) -> tuple[Shape, ...]:
    shapes = tuple(read.listed(given, where, _EXAMPLE))
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise UsageError(f"{read.shown(shape)} is not a shape.", where=where, hint=_EXAMPLE)
    if not shapes:
        raise UsageError("a scene without shapes.", where=where, hint=InPython('Scene([Point("x, y")])'))
    quantities = sum(isinstance(shape, Slider | Dial) for shape in shapes)
    if quantities not in (0, len(shapes)):
        what = "sliders and dials have no place beside shapes that have one."
        raise UsageError(what, where=where, hint="a scene of sliders and dials alone, or of shapes with places alone")
    if not quantities and not any(shape.places for shape in shapes):
        raise UsageError("a scene of the ground alone.", where=where, hint=_EXAMPLE)
    return shapes


def _angles(given: Any, where: str) -> tuple[float, ...]:
    entries = [read.number(v, where) for v in read.listed(given, where, "[-62, 22]")]
    if len(entries) != 2:
        raise UsageError(
            f"{read.shown(given)} is not a direction of view.", where=where, hint="azimuth and elevation in degrees: [-62, 22]"
        )
    return tuple(entries)


def _axes(given: Any, where: str) -> tuple[str, ...]:
    names = [read.plain(v, where) for v in read.listed(given, where, '["x", "y"]')]
    if len(names) != 2:
        raise UsageError(f"{read.shown(given)} are not the names of two axes.", where=where, hint='["x", "y"]')
    return tuple(names)


def _caption(given: Any, where: str) -> str:
    reason = fault(given, lines=True) if isinstance(given, str) else "is not a text."
    if reason:
        raise UsageError(f"the caption {reason}", where=where, hint="plain text")
    return str(given)


_TABLES = 'shapes = [{shape = "point", at = "x, y"}, {shape = "trace", at = "x, y"}]'
"""Hint for shapes given in a file."""
_READERS: dict[str, read.Reader] = {
    "shapes": _shapes,
    "follow": read.optional(read.place),
    "view": _angles,
    "room": read.positive,
    "axes": read.optional(_axes),
    "caption": _caption,
}
"""The reader of each field of a scene."""
