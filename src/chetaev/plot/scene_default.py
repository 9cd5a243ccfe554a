"""A scene for any system by the names of its coordinates: points where the names say points, else a marker for every coordinate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chetaev.plot.scene import Scene
from chetaev.plot.scene_text import pretty
from chetaev.plot.shapes import BLUE, GREEN, ORANGE, PURPLE, RED, Body, Dial, Ground, Point, Shape, Slider, Trace

if TYPE_CHECKING:
    from chetaev.system import System

_COLOURS = (RED, BLUE, GREEN, ORANGE, PURPLE)
_ANGLES = ("theta", "phi", "varphi", "psi", "alpha", "beta", "chi")
_POINTED = ("-1, -0.6", "1.4, 0", "-1, 0.6", "-0.5, 0")
"""A body that shows where it is heading, to be scaled."""
_APART = 2.4
"""Distance between bodies that have no place of their own."""

Places = list[tuple[str, ...]]


def default_scene(system: System) -> Scene:
    """Points for `x y`, `x y z`, `x1 x2`, `x1 y1 x2 y2 ...` or `r theta`; the first further angle is the heading of a single point.

    A coordinate that is a rotation or a rigid motion is drawn as a body. A system without such coordinates is shown by its quantities: a
    dial for every angle, a marker on an axis for everything else. What the scene leaves out is said in its caption.
    """
    kinds = {name: kind.split()[0] for name, kind in system.kinds.items()}
    names = [name for name, kind in kinds.items() if kind in ("line", "angle")]
    points, used = _points(names, system)
    left = [name for name in names if name not in used]
    turning = [name for name, kind in kinds.items() if kind in ("SO3", "SE3")]
    gliding = [name for name, kind in kinds.items() if kind == "SE2"]
    if turning:
        return _solids(turning, points, left, kinds)
    if gliding:
        bodies = [((f"{name}13", f"{name}23"), f"atan2({name}21, {name}11)") for name in gliding]
        return _flat([*bodies, *((place, None) for place in points)], left)
    if points:
        heading = [name for name in left if _is_angle(name, system)]
        if len(points) == 1 and heading and len(points[0]) == 2:
            return _flat([(points[0], heading[0])], [name for name in left if name != heading[0]])
        return _flat([(place, None) for place in points], left)
    return Scene([_quantity(name, kinds[name], system) for name in kinds])


def _flat(bodies: list[tuple[tuple[str, ...], str | None]], left: list[str]) -> Scene:
    """Points, and bodies with a heading, each with its path."""
    shapes: list[Shape] = [Ground()]
    shapes += [Trace(place, _COLOURS[k % len(_COLOURS)]) for k, (place, _) in enumerate(bodies)]
    for k, (place, heading) in enumerate(bodies):
        colour = _COLOURS[k % len(_COLOURS)]
        if heading is None:
            shapes.append(Point(place, colour=colour, label="" if len(bodies) == 1 else str(k + 1)))
        else:
            shapes.append(Body(place, heading, _POINTED, scale=None, colour=colour))
    return Scene(shapes, caption=_missing(left))


def _solids(turning: list[str], points: Places, left: list[str], kinds: dict[str, str]) -> Scene:
    """A box for every rotation, at the point the other coordinates give if there is just one."""
    shapes: list[Shape] = []
    for k, name in enumerate(turning):
        place: tuple[str, ...] = (str(_APART * k), "0", "0")
        if kinds[name] == "SE3":
            place = (f"{name}14", f"{name}24", f"{name}34")
        elif len(points) == len(turning) == 1:
            place = (*points.pop(), "0")[:3]
        if place[0] != str(_APART * k):
            shapes += [Ground(), Trace(place)] if not shapes else [Trace(place)]
        moves = any(isinstance(shape, Trace) for shape in shapes)
        shapes.append(Body(place, rotation=name, size="3.2, 2, 1", scale=None if moves else 0.5, colour=_COLOURS[(k + 1) % len(_COLOURS)]))
    return Scene(shapes, caption=_missing([*left, *(e for place in points for e in place)]))


def _quantity(name: str, kind: str, system: System) -> Shape:
    if kind == "S1":
        return Dial(f"atan2({name}21, {name}11)", label=name)
    return Dial(name) if _is_angle(name, system) else Slider(name)


def _points(names: list[str], system: System) -> tuple[Places, set[str]]:
    """The places that the coordinates' names tell, and the names they use."""
    for known in (("x", "y", "z"), ("X", "Y", "Z"), ("x", "y"), ("X", "Y"), ("a1", "a2")):
        if set(known) <= set(names):
            return [known], set(known)
    indices = sorted({int(found[1]) for name in names if (found := re.fullmatch(r"x(\d+)", name))})
    paired = [k for k in indices if f"y{k}" in names]
    if paired:
        deep = all(f"z{k}" in names for k in paired)
        places: Places = [(f"x{k}", f"y{k}", f"z{k}") if deep else (f"x{k}", f"y{k}") for k in paired]
        return places, {e for place in places for e in place}
    if indices in ([1, 2], [1, 2, 3]):
        place = tuple(f"x{k}" for k in indices)
        return [place], set(place)
    angles = [name for name in names if _is_angle(name, system)]
    if "r" in names and len(angles) == 1:
        angle = angles[0]
        return [(f"r*cos({angle})", f"r*sin({angle})")], {"r", angle}
    return [], set()


def _is_angle(name: str, system: System) -> bool:
    return system.kinds[name] == "angle" or name.rstrip("0123456789") in _ANGLES


def _missing(names: list[str]) -> str:
    return f"not shown: {', '.join(map(pretty, names))}" if names else ""
