"""The scene of a model or motion: its own, or a default one by the declared kinds and the names of the coordinates.

The default scene interprets coordinates of the kind `line` with names such as `x y` as positions. It never draws an angle as a position: an
angle is a direction or a hand on a dial. The caption states the assumptions of the scene and the coordinates that it does not show.
"""

from __future__ import annotations

import re
from typing import Any

import sympy
from sympy import Expr, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython
from chetaev.core.scene import Body, Dial, Ground, Point, Scene, Shape, Slider, Trace
from chetaev.core.scene.fields import BLUE, GREEN, ORANGE, PURPLE, RED
from chetaev.core.system import System
from chetaev.plot.scenes.text import pretty

_COLOURS = (RED, BLUE, GREEN, ORANGE, PURPLE)
_ANGLES = ("theta", "phi", "varphi", "psi", "alpha", "beta", "chi")
"""Names of coordinates that count as angles even if they are declared as lines, which is the default kind."""
_CARTESIAN = ("x", "y", "z", "X", "Y", "Z")
"""Names of coordinates that count as positions unless they are declared as angles or have the unit of an angle."""
_TURNING = (sympy.sin, sympy.cos, sympy.tan)
_UNITS_OF_ANGLES = ("rad", "deg", "°", "rev")
_POINTED = ("-1, -0.6", "1.4, 0", "-1, 0.6", "-0.5, 0")
"""The outline of a body that points along its heading, before scaling."""
_APART = 2.4
"""Distance between bodies whose positions no coordinate gives; the bodies are 1.6 wide, so with a smaller one they could touch."""

Places = list[tuple[str, ...]]


def scene_of(shown: Any) -> Scene:
    """Return the scene of a model or of its motion; the default scene if there is none, and for equations or a system."""
    own = getattr(shown, "scene", None)
    return own if isinstance(own, Scene) else default_scene(_system(shown))


def _system(shown: Any) -> System:
    for path in ((), ("system",), ("equations", "system")):
        found = shown
        for name in path:
            found = getattr(found, name, None)
        if isinstance(found, System):
            return found
    raise UsageError(f"{type(shown).__name__} has no scene.", where="scene_of", hint="a motion, a model, equations or a system")


def default_scene(system: System) -> Scene:
    """Return points for `x y`, `x y z`, `x1 x2`, `x1 y1 x2 y2 ...` or `r theta`; the next angle is the heading of a single point.

    A coordinate that is a rotation or a rigid motion is drawn as a body. A system without such coordinates is shown by its quantities: a
    dial for every angle, a marker on an axis for everything else.
    """
    kinds = {name: kind.split()[0] for name, kind in system.kinds.items()}
    turning_only = _read_as_angles(system)
    angles = [
        name
        for name, kind in kinds.items()
        if kind == "angle" or (kind == "line" and (name.rstrip("0123456789") in _ANGLES or name in turning_only))
    ]
    lines = [name for name, kind in kinds.items() if kind == "line" and name not in angles]
    points, used = _points(lines, angles)
    left = [name for name in (*lines, *angles) if name not in used]
    placed = {name: group for name, group in system.groups.items() if not group.reduced}
    turning = [name for name, group in placed.items() if group.group.orthogonal == 3]
    gliding = [name for name, group in placed.items() if group.group.orthogonal == 2 and group.group.size == 3]
    others = [name for name in system.groups if name not in (*turning, *gliding)]
    if turning:
        return _solids(turning, points, left + others, {name: group.group.size == 4 for name, group in placed.items()})
    if gliding:
        bodies = [((f"{name}13", f"{name}23"), f"atan2({name}21, {name}11)") for name in gliding]
        return _flat([*bodies, *((place, None) for place in points)], left + others)
    if points:
        heading = next((name for name in left if name in angles), None) if len(points) == 1 and len(points[0]) == 2 else None
        return _flat([(place, heading) for place in points], [name for name in left + others if name != heading])
    named = [name for name in angles if kinds[name] == "line"]
    assumed = [f"{_names(named)} {'is an angle' if len(named) == 1 else 'are angles'}"] if named else []
    shapes = [shape for name in kinds for shape in _quantities(name, system, name in angles)]
    if not shapes:
        raise UsageError(
            "only velocities are known, not positions.",
            where="scene_of",
            hint=(InPython("reconstruct(motion, ...)"), " computes positions"),
        )
    return Scene(shapes, caption=_said(assumed, []))


def _read_as_angles(system: System) -> set[str]:
    """Return the coordinates whose unit is that of an angle, and those that formulas read inside sines, cosines and tangents only.

    Of the latter, `x`, `y` and `z` count as positions all the same: a potential cos(x) is usually that of a lattice.
    """
    rows = [row.residual for row in system.kinematic] + [e for row in system.variational or () for e in row.coefficients.values()]
    outside: set[Symbol] = set()
    inside: set[Symbol] = set()
    stack: list[tuple[Expr, bool]] = [(e, False) for e in (system.lagrangian, system.dissipation, *system.forces.values(), *rows)]
    while stack:
        e, turning = stack.pop()
        if not e.args:
            (inside if turning else outside).update(e.free_symbols)
        stack += [(part, turning or isinstance(e, _TURNING)) for part in e.args]
    found = {q.name for q in system.coordinates if q in inside and q not in outside and q.name not in _CARTESIAN}
    return found | {name for name, unit in system.units.items() if unit in _UNITS_OF_ANGLES}


def _flat(bodies: list[tuple[tuple[str, ...], str | None]], left: list[str]) -> Scene:
    """Return a planar scene of points, and of bodies with a heading, each with its path."""
    shapes: list[Shape] = [Ground()]
    shapes += [Trace(place, _COLOURS[k % len(_COLOURS)]) for k, (place, _) in enumerate(bodies)]
    for k, (place, heading) in enumerate(bodies):
        colour = _COLOURS[k % len(_COLOURS)]
        if heading is None:
            shapes.append(Point(place, colour=colour, label="" if len(bodies) == 1 else str(k + 1)))
        else:
            shapes.append(Body(place, heading, _POINTED, fit=True, colour=colour))
    assumed = [_placed([place for place, heading in bodies if heading is None or heading.isidentifier()])]
    assumed += [f"{pretty(heading)} is its heading" for _, heading in bodies if heading is not None and heading.isidentifier()]
    return Scene(shapes, caption=_said(assumed, left))


def _solids(turning: list[str], points: Places, left: list[str], travels: dict[str, bool]) -> Scene:
    """Return a scene with a box for every rotation; a single box has the position that the other coordinates give."""
    shapes: list[Shape] = []
    taken: Places = []
    for k, name in enumerate(turning):
        place: tuple[str, ...] = (str(_APART * k), "0", "0")
        if travels[name]:
            place = (f"{name}14", f"{name}24", f"{name}34")
        elif len(points) == len(turning) == 1:
            taken = [points.pop()]
            place = (*taken[0], "0")[:3]
        if place[0] != str(_APART * k):
            shapes += [Ground(), Trace(place)] if not shapes else [Trace(place)]
        moves = any(isinstance(shape, Trace) for shape in shapes)
        colour = _COLOURS[(k + 1) % len(_COLOURS)]
        shapes.append(Body(place, rotation=name, size="3.2, 2, 1", scale=1.0 if moves else 0.5, fit=moves, colour=colour))
    boxes = f"a box is turned by {_names(turning)}"
    return Scene(shapes, caption=_said([boxes, _placed(taken)], [*left, *(e for place in points for e in place)]))


def _quantities(name: str, system: System, is_angle: bool) -> list[Shape]:
    """Return a dial or a slider for a coordinate; for an element of a group without rotations, a slider for each variable entry."""
    group = system.groups.get(name)
    if group is None:
        return [Dial(name) if is_angle else Slider(name)]
    if group.group.orthogonal == 2 and not group.reduced:
        return [Dial(f"atan2({name}21, {name}11)", label=name)]
    return [Slider(entry) for entry, e in group.entries.items() if e.free_symbols]


def _points(names: list[str], angles: list[str]) -> tuple[Places, set[str]]:
    """Return the positions that the names of coordinates suggest, and the names used for them."""
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
    if "r" in names and len(angles) == 1:
        angle = angles[0]
        return [(f"r*cos({angle})", f"r*sin({angle})")], {"r", angle}
    return [], set()


def _placed(places: Places) -> str:
    """Return the part of the caption that names the coordinates interpreted as positions."""
    return f"{', '.join(f'({_names(place)})' for place in places)} {'is a place' if len(places) == 1 else 'are places'}" if places else ""


def _said(assumed: list[str], left: list[str]) -> str:
    """Return the caption: the assumptions of the scene, and the coordinates it does not show."""
    taken = [text for text in assumed if text]
    parts = [f"assumed: {', '.join(taken)}"] if taken else []
    return "; ".join([*parts, *([f"not shown: {_names(left)}"] if left else [])])


def _names(names: Any) -> str:
    return ", ".join(map(pretty, names))
