r"""Shapes: what a scene is made of, as data. Places, angles and sizes are texts in the notation of the model.

A place is two expressions, or three in space: `"x, y"` or `("x", "y")`. Whatever may stand in `motion[...]` may stand there. A place of two
expressions in a scene in space lies on the plane $z = 0$. Sizes are read once, at the start; where one is left out, it follows from the
size of the picture.

A body in space is turned by a rotation from its own axes to those of the picture, given as

- turns about its axes, one after the other, `"z varphi, y theta"`, which is the product $R_z(\varphi) R_y(\theta)$,
- the nine entries of the matrix, row by row,
- or the name of a coordinate that is a rotation, `"A"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from chetaev.errors import UsageError

Place: TypeAlias = "str | Sequence[str | float]"
"""Expressions for the coordinates of a point in the picture."""
Size: TypeAlias = "str | float | None"

BLUE, RED, GREEN, ORANGE, PURPLE = "#0b6bb8", "#d1501c", "#00876c", "#e39b0c", "#a8478f"
DARK, GREY, WHITE = "#2b333c", "#7f8b97", "#ffffff"


@dataclass(frozen=True, repr=False)
class Shape:
    """Abstract: anything that is drawn."""

    def __post_init__(self) -> None:
        for name in _PLACES:
            if hasattr(self, name):
                object.__setattr__(self, name, split(getattr(self, name), f"{type(self).__name__}, {name}"))

    @property
    def places(self) -> tuple[tuple[str, ...], ...]:
        """The places that move."""
        return tuple(getattr(self, name) for name in _PLACES if hasattr(self, name))

    def __str__(self) -> str:
        words = [type(self).__name__.lower()]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "colour" or (value == field.default and field.name not in _PLACES):
                continue
            words.append(_said(field.name, value))
        return " ".join(words)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Point(Shape):
    """A particle: a dot, or a ball of a given radius."""

    at: Place
    radius: Size = None
    colour: str = RED
    label: str = ""


@dataclass(frozen=True, repr=False)
class Pivot(Shape):
    """A fixed bearing."""

    at: Place
    colour: str = DARK


@dataclass(frozen=True, repr=False)
class Rod(Shape):
    """A straight bar between two places; `thread` draws it thin."""

    start: Place
    end: Place
    colour: str = DARK
    thread: bool = False


@dataclass(frozen=True, repr=False)
class Spring(Shape):
    """A coil between two places; `width` is its diameter."""

    start: Place
    end: Place
    coils: int = 9
    width: Size = None
    colour: str = GREY


@dataclass(frozen=True, repr=False)
class Arrow(Shape):
    """An arrow from one place to another."""

    start: Place
    end: Place
    colour: str = GREEN
    label: str = ""


@dataclass(frozen=True, repr=False)
class Trace(Shape):
    """The path of a place so far: all of it, or the last `seconds` of it, which fade."""

    at: Place
    colour: str = BLUE
    seconds: float | None = None


@dataclass(frozen=True, repr=False)
class Wheel(Shape):
    """A wheel with spokes. In the plane it is seen from the side and turned anticlockwise by `angle`; in space `axis` is its axle."""

    at: Place
    radius: Size = None
    angle: str | float = 0
    rotation: Place | None = None
    axis: str = "z"
    spokes: int = 10
    colour: str = DARK


@dataclass(frozen=True, repr=False)
class Disk(Shape):
    """A full disk with sectors that show its rotation. In the plane it is turned by `angle`; in space `axis` is its axle."""

    at: Place
    radius: Size = None
    angle: str | float = 0
    rotation: Place | None = None
    axis: str = "z"
    thickness: Size = None
    colour: str = BLUE


@dataclass(frozen=True, repr=False)
class Ball(Shape):
    """A ball with patches that show its rotation; in the plane a circle turned by `angle`."""

    at: Place
    radius: Size = None
    angle: str | float = 0
    rotation: Place | None = None
    colour: str = BLUE


@dataclass(frozen=True, repr=False)
class Ellipsoid(Shape):
    """An ellipsoid with its half axes along the body's own, or the lower `half` of it under a flat top; in the plane an ellipse."""

    at: Place
    semiaxes: Place
    angle: str | float = 0
    rotation: Place | None = None
    half: bool = False
    colour: str = BLUE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "semiaxes", split(self.semiaxes, "Ellipsoid, semiaxes"))


@dataclass(frozen=True, repr=False)
class Blade(Shape):
    """A blade on the ground, seen from above; it slides along its own direction `angle`."""

    at: Place
    angle: str | float = 0
    length: Size = None
    colour: str = DARK


@dataclass(frozen=True, repr=False)
class Tyre(Shape):
    """A wheel seen from above, which rolls along the direction `angle`."""

    at: Place
    angle: str | float = 0
    length: Size = None
    colour: str = DARK


@dataclass(frozen=True, repr=False)
class Body(Shape):
    """A rigid body: in the plane the polygon `outline`, a sequence of places in the body's own axes; in space a box of the given `size`.

    Both are multiplied by `scale`; None makes the body a small part of the picture.
    """

    at: Place
    angle: str | float = 0
    outline: Sequence[Place] = ()
    rotation: Place | None = None
    size: Place | None = None
    scale: Size = 1.0
    colour: str = BLUE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "outline", tuple(split(corner, "Body, outline") for corner in self.outline))
        if self.size is not None:
            object.__setattr__(self, "size", split(self.size, "Body, size"))


@dataclass(frozen=True, repr=False)
class Frame(Shape):
    """Rods fixed to one rigid body: pairs of places in the body's own axes."""

    at: Place
    rods: Sequence[tuple[Place, Place]] = ()
    angle: str | float = 0
    rotation: Place | None = None
    width: Size = None
    colour: str = RED

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rods", tuple((split(a, "Frame, rods"), split(b, "Frame, rods")) for a, b in self.rods))


@dataclass(frozen=True, repr=False)
class Patch(Shape):
    """An ellipse on the ground, where a tyre touches it; `angle` is the direction of its long axis."""

    at: Place
    angle: str | float = 0
    length: Size = None
    colour: str = ORANGE


@dataclass(frozen=True, repr=False)
class Circle(Shape):
    """A circle drawn as a line, such as a hoop or a path that is known beforehand; in space it is horizontal."""

    at: Place
    radius: Size = None
    colour: str = GREY


@dataclass(frozen=True, repr=False)
class Label(Shape):
    """A text beside a place."""

    at: Place
    text: str = ""
    colour: str = DARK


@dataclass(frozen=True, repr=False)
class Ground(Shape):
    """The ground: a line at a height if the plane of the picture is vertical, a grid if it is seen from above, a floor in space."""

    height: str | float | None = None
    colour: str = GREY


@dataclass(frozen=True, repr=False)
class Slider(Shape):
    """A quantity without a place in space: a marker on an axis of its own, with its value."""

    value: str
    label: str = ""
    colour: str = BLUE


@dataclass(frozen=True, repr=False)
class Dial(Shape):
    """An angle without a place in space: a hand on a dial, anticlockwise from the right."""

    value: str
    label: str = ""
    colour: str = BLUE


_PLACES = ("at", "start", "end")


def split(place: Any, where: str, sizes: tuple[int, ...] = (2, 3)) -> tuple[str, ...]:
    """The expressions of a place; a text is cut at the commas outside brackets."""
    if isinstance(place, str):
        parts = cut(place)
    elif isinstance(place, Sequence):
        parts = [str(part) for part in place]
    else:
        parts = []
    if len(parts) not in sizes or not all(part.strip() for part in parts):
        raise UsageError(f"{place!r} is no place.", where=f"scene, {where}", hint='"x, y" in the plane, "x, y, z" in space')
    return tuple(part.strip() for part in parts)


def cut(text: str) -> list[str]:
    """A text cut at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _said(name: str, value: Any) -> str:
    """A field in words."""
    if name in ("outline", "rods"):
        return f"{len(value)} {'corners' if name == 'outline' else 'rods'}"
    text = f"({', '.join(value)})" if isinstance(value, tuple) else str(value)
    return text if name == "at" else f"{_WORDS.get(name, name)} {text}"


_WORDS = {"start": "from", "end": "to", "value": "of"}
