"""A scene: how a motion looks, as data. Shapes with places in the notation of the model, and from where one looks.

>>> from chetaev.plot.scene import Scene
>>> from chetaev.plot.shapes import Pivot, Point, Rod, Trace
>>> print(Scene([Rod("0, 0", "x, y"), Pivot("0, 0"), Trace("x, y", seconds=2), Point("x, y")]))
scene in the plane
  rod from (0, 0) to (x, y)
  pivot (0, 0)
  trace (x, y) seconds 2
  point (x, y)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from inspect import Parameter, signature
from itertools import product
from typing import TYPE_CHECKING, Any

from chetaev.errors import ChetaevError, UsageError
from chetaev.plot.shapes import Dial, Place, Shape, Slider, split

if TYPE_CHECKING:
    from chetaev.system import System


@dataclass(frozen=True, repr=False)
class Scene:
    """Shapes, drawn one after the other: later ones lie on top.

    `follow` is a place that stays in the middle of the picture; without it the picture stands still and holds the whole motion.
    `view` is where one looks from in space, in degrees: the azimuth, anticlockwise from the x axis, and the elevation.
    `room` widens the picture around what is followed, or around the whole motion.
    `axes` are the names of the two directions where the picture is a graph rather than a thing.
    `caption` says what the picture shows, or leaves out.
    """

    shapes: Sequence[Shape]
    follow: Place | None = None
    view: tuple[float, float] = (-62.0, 22.0)
    room: float = 1.0
    axes: tuple[str, str] | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shapes", tuple(self.shapes))
        for shape in self.shapes:
            if not isinstance(shape, Shape):
                raise UsageError(f"{shape!r} is no shape.", where="scene", hint='Scene([Point("x, y"), Trace("x, y")])')
        if not self.shapes:
            raise UsageError("a scene without shapes.", where="scene", hint='Scene([Point("x, y")])')
        if self.follow is not None:
            object.__setattr__(self, "follow", split(self.follow, "follow"))

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


def scene_of(shown: Any) -> Scene:
    """The scene of a motion, a model, equations or a system: the gallery's if it knows a system of this name, else one by coordinates."""
    from chetaev.plot.scene_default import default_scene

    system = _system(shown)
    return _from_gallery(system.name, tuple(z.base for z in system.coordinates)) or default_scene(system)


def _system(shown: Any) -> System:
    from chetaev.system import System

    for path in ((), ("system",), ("equations", "system")):
        found = shown
        for name in path:
            found = getattr(found, name, None)
        if isinstance(found, System):
            return found
    raise UsageError(f"{type(shown).__name__} has no scene.", where="scene_of", hint="a motion, a model, equations or a system")


@lru_cache(maxsize=64)
def _from_gallery(name: str, coordinates: tuple[str, ...]) -> Scene | None:
    """The scene of the gallery system with this name and these coordinates."""
    from chetaev.gallery import gallery

    words = re.findall(r"[^\W\d_]{3,}", name)
    for entry in gallery() if words else []:
        module = import_module(f"chetaev.gallery.{entry.replace('-', '_')}")
        if not hasattr(module, "scene") or not _mentions(entry, words):
            continue
        for options in _variants(module.model, len(coordinates)):
            try:
                system = module.model(**options).system
            except ChetaevError:
                continue  # a family that has no member of this size
            if system.name == name and tuple(z.base for z in system.coordinates) == coordinates:
                wanted = signature(module.scene).parameters
                scene: Scene = module.scene(**{word: value for word, value in options.items() if word in wanted})
                return scene
    return None


def _mentions(entry: str, words: Sequence[str]) -> bool:
    """Whether all words of a name occur in a gallery file: only then is its system worth building."""
    text = (files("chetaev.gallery") / f"{entry.replace('-', '_')}.py").read_text(encoding="utf-8")
    return all(re.search(rf"\b{word}\b", text) for word in words)


def _variants(model: Any, size: int) -> Iterator[Mapping[str, Any]]:
    """The options of a family worth trying for a system of this many coordinates; its usual ones first."""
    yield {}
    choices: dict[str, list[Any]] = {}
    for word, parameter in signature(model).parameters.items():
        default = parameter.default
        if isinstance(default, bool):
            choices[word] = [default, not default]
        elif isinstance(default, int):
            choices[word] = list(range(size, max(size - 5, -1), -1))
        elif default is Parameter.empty:
            return
    if choices:
        for values in product(*choices.values()):
            yield dict(zip(choices, values, strict=True))
