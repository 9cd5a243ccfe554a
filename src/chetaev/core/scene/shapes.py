r"""The shapes of a scene, as data. Places, angles and sizes are texts in the notation of the model.

A place is two expressions, or three in space: `"x, y"` or `("x", "y")`, each an expression that `motion[...]` accepts. In space a place of
two expressions lies on the plane $z = 0$. Sizes are evaluated once, at the start; without a size the shape follows the size of the picture.

A body in space is turned by a rotation from its own axes to those of the picture, given as

- turns about its axes, one after the other, `"z varphi, y theta"`, which is the product $R_z(\varphi) R_y(\theta)$,
- the nine entries of the matrix, row by row,
- or the name of a coordinate that is a rotation, `"A"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from chetaev.core.errors import UsageError, did_you_mean
from chetaev.core.fixes import sentences
from chetaev.core.scene import fields as read
from chetaev.core.scene.fields import BLUE, COLOURS, DARK, GREEN, GREY, ORANGE, RED, Place, Reader, Size
from chetaev.core.support.public import public

__all__ = [
    "SHAPES",
    "Arrow",
    "Ball",
    "Blade",
    "Body",
    "Circle",
    "Dial",
    "Disk",
    "Ellipsoid",
    "Frame",
    "Ground",
    "Label",
    "Patch",
    "Pivot",
    "Point",
    "Rod",
    "Shape",
    "Slider",
    "Spring",
    "Trace",
    "Tyre",
    "Wheel",
]
"""The public names: `chetaev.core.scene` and `chetaev.plot` take theirs from this list."""

_SIZE = read.optional(read.expression)
"""The reader of sizes, which may be left out."""
READERS: dict[str, Reader] = {
    "at": read.place, "start": read.place, "end": read.place, "semiaxes": read.place, "size": read.optional(read.place),
    "outline": read.places, "rods": read.pairs, "rotation": read.optional(read.rotation), "axis": read.axis,
    "angle": read.expression, "value": read.expression, "scale": read.expression, "height": _SIZE,
    "radius": _SIZE, "length": _SIZE, "width": _SIZE, "thickness": _SIZE,
    "seconds": read.optional(read.positive), "coils": read.count, "spokes": read.count,
    "thread": read.truth, "half": read.truth, "fit": read.truth,
    "colour": read.colour, "label": read.plain, "text": read.plain,
}  # fmt: skip
"""The reader of each field, by name; a field means the same in all shapes."""
_PLACES = ("at", "start", "end")
"""The fields that hold moving places."""
_LISTS = ("outline", "rods")
"""The fields that hold lists, which `str` shows by their length."""


@dataclass(frozen=True, repr=False)
class Shape:
    """Abstract: anything that is drawn. A field means the same in all shapes.

    `at`, `start`, `end` are places; `angle` turns a shape in the plane, anticlockwise, and `rotation` a body in space.
    `radius`, `length`, `width` and `thickness` are sizes, `semiaxes` the three half axes and `size` the three edges of a body.
    `axis` is the body's own axis, `x`, `y` or `z`, about which a wheel turns.
    `outline` is a sequence of corners and `rods` one of pairs of places, in the body's own axes; `scale` multiplies them.
    `fit` makes a body a small part of the picture; `half` leaves out its upper half.
    `coils` and `spokes` are whole numbers; `thread` draws a thin line; `seconds` is the length of a trace in time.
    `value` is the quantity that is shown, `height` that of the ground.
    `label` and `text` are words beside the shape, `colour` is a name or a code such as `#0b6bb8`.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value = READERS[field.name](getattr(self, field.name), f"scene, {type(self).__name__}, {field.name}")
            object.__setattr__(self, field.name, value)

    @property
    def places(self) -> tuple[tuple[str, ...], ...]:
        """The places that move."""
        return tuple(getattr(self, name) for name in _PLACES if hasattr(self, name))

    @property
    def word(self) -> str:
        """The kind of shape in a file."""
        return type(self).__name__.lower()

    @property
    def given(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        return {field.name: v for field in fields(self) if (v := getattr(self, field.name)) != field.default}

    @property
    def expressions(self) -> Iterator[tuple[str, str]]:
        """Pairs of a field and a text that is parsed with the names of the model."""
        for name, value in self.given.items():
            if name == "rotation":
                turns = read.turns_of(value)
                yield from ((name, text) for text in ([turn.partition(" ")[2] for turn in turns] or read.entries_of(value)))
            elif READERS[name] not in (read.axis, read.colour, read.plain):
                yield from ((name, text) for text in _texts(value))

    def __str__(self) -> str:
        return " ".join([self.word, *(_said(name, value) for name, value in self.given.items() if name != "colour")])

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
    rotation: str | None = None
    axis: str = "z"
    spokes: int = 10
    colour: str = DARK


@dataclass(frozen=True, repr=False)
class Disk(Shape):
    """A full disk with sectors that show its rotation. In the plane it is turned by `angle`; in space `axis` is its axle."""

    at: Place
    radius: Size = None
    angle: str | float = 0
    rotation: str | None = None
    axis: str = "z"
    thickness: Size = None
    colour: str = BLUE


@dataclass(frozen=True, repr=False)
class Ball(Shape):
    """A ball with patches that show its rotation; in the plane a circle turned by `angle`."""

    at: Place
    radius: Size = None
    angle: str | float = 0
    rotation: str | None = None
    colour: str = BLUE


@dataclass(frozen=True, repr=False)
class Ellipsoid(Shape):
    """An ellipsoid with its half axes along the body's own, or the lower `half` of it under a flat top; in the plane an ellipse."""

    at: Place
    semiaxes: Place
    angle: str | float = 0
    rotation: str | None = None
    half: bool = False
    colour: str = BLUE


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

    Both are multiplied by `scale`, or with `fit` made a small part of the picture.
    """

    at: Place
    angle: str | float = 0
    outline: Sequence[Place] = ()
    rotation: str | None = None
    size: Place | None = None
    scale: str | float = 1.0
    fit: bool = False
    colour: str = BLUE


@dataclass(frozen=True, repr=False)
class Frame(Shape):
    """Rods fixed to one rigid body: pairs of places in the body's own axes."""

    at: Place
    rods: Sequence[Sequence[Place]]
    angle: str | float = 0
    rotation: str | None = None
    width: Size = None
    colour: str = RED


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


SHAPES = {kind.__name__.lower(): public(kind) for kind in Shape.__subclasses__()}
"""The shapes by their words in a file."""


def read_shape(data: Mapping[str, Any], where: Callable[[str], str]) -> Shape:
    """The shape that a table of a file describes; `where(key)` is the place of a key in the file, for messages."""
    word = data.get("shape")
    if not isinstance(word, str) or word not in SHAPES:
        hint = sentences(did_you_mean(str(word or ""), SHAPES), f"shape = one of {' '.join(SHAPES)}")
        what = "no shape is named." if word is None else f"{read.shown(word)} is not a shape."
        raise UsageError(what, where=where("shape"), hint=hint)
    kind = SHAPES[word]
    names = [field.name for field in fields(kind)]
    for key in data:
        if key not in (*names, "shape"):
            hint = sentences(did_you_mean(key, names), f"Known: {' '.join(names)}")
            raise UsageError(f"{key} is not a key of the shape {word}.", where=where(key), hint=hint)
    for field in fields(kind):
        if field.default is MISSING and field.name not in data:
            raise UsageError(f"the shape {word} has no {field.name}.", where=where("shape"), hint=f'{field.name} = "x, y"')
    return kind(**{name: READERS[name](data[name], where(name)) for name in names if name in data})


def shape_data(shape: Shape) -> dict[str, Any]:
    """A shape as texts, numbers, truth values and lists, in the form that `read_shape` reads."""
    return {"shape": shape.word, **{name: _data(name, value) for name, value in shape.given.items()}}


def _data(name: str, value: Any) -> Any:
    if name == "colour":
        return {code: word for word, code in COLOURS.items()}.get(value, value)
    if name == "outline":
        return [", ".join(corner) for corner in value]
    if name == "rods":
        return [[", ".join(end) for end in rod] for rod in value]
    return ", ".join(value) if isinstance(value, tuple) else value


def _texts(value: Any) -> Iterator[str]:
    """The texts in a field."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _texts(part)


def _said(name: str, value: Any) -> str:
    """A field in words."""
    if name in _LISTS:
        return f"{len(value)} {'corners' if name == 'outline' else 'rods'}"
    text = f"({', '.join(value)})" if isinstance(value, tuple) else str(value)
    return text if name == "at" else f"{_WORDS.get(name, name)} {text}"


_WORDS = {"start": "from", "end": "to", "value": "of"}
"""Words by which `str` introduces a field, where they differ from its name."""
