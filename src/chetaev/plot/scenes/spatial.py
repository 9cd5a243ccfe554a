"""Shapes in space as solids."""

from __future__ import annotations

from typing import Any

import numpy as np

from chetaev.core.scene import shapes as sh
from chetaev.core.scene.fields import WHITE
from chetaev.plot.scenes import meshes as meshes
from chetaev.plot.scenes.drawing import Array, Item, Mesh, Solid, Source, Words, mixed
from chetaev.plot.scenes.planar import size, track
from chetaev.plot.scenes.text import pretty
from chetaev.plot.scenes.values import Values

_AXLE = {
    "x": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "z": np.eye(3),
}
"""Rotations that take the third axis to the axle."""
_OPPOSITE = 1e-9
"""Difference of a cosine from -1 below which two unit vectors are opposite, and the shortest rotation is not determined."""


def spatial(shape: sh.Shape, values: Values, path: Values, unit: float) -> list[Item]:
    """Return the parts of a shape in space; `path` has the values at the finer times of traces, `unit` is the size of small shapes."""
    match shape:
        case sh.Trace():
            return [track(shape, values, path, 3)]
        case sh.Label():
            return [Words(values.place(shape.at, 3), pretty(shape.text), shape.colour, source=Source(shape.at))]
        case sh.Rod():
            return [_between(shape, meshes.cylinder((0.05 if shape.thread else 0.13) * unit, 10, shape.colour), values)]
        case sh.Spring():
            half = size(shape.width, values, 1.2 * unit) / 2
            return [_between(shape, meshes.helix(half, shape.coils, 0.12 * half, shape.colour), values)]
        case sh.Arrow():
            return _arrow(shape, values, unit)
        case sh.Point():
            words = [Words(values.place(shape.at, 3), pretty(shape.label), shape.colour, source=Source(shape.at))] if shape.label else []
            return [_rigid(shape.at, meshes.ball(size(shape.radius, values, 0.55 * unit), shape.colour, False), values), *words]
        case _:
            return [_rigid(shape.places[0], _mesh(shape, values, unit), values, _turned(shape))]


def _mesh(shape: sh.Shape, values: Values, unit: float) -> Mesh:
    """The mesh of a rigid shape in its body axes."""
    match shape:
        case sh.Pivot():
            return meshes.ball(0.28 * unit, shape.colour, False)
        case sh.Ball():
            return meshes.ball(size(shape.radius, values, 1.2 * unit), shape.colour, True)
        case sh.Ellipsoid():
            return meshes.ellipsoid(values.corner(shape.semiaxes, 3), shape.half, shape.colour)
        case sh.Disk():
            r = size(shape.radius, values, 1.5 * unit)
            return meshes.moved(meshes.disk(r, size(shape.thickness, values, 0.09 * r), shape.colour), _AXLE[shape.axis])
        case sh.Wheel():
            return meshes.moved(meshes.wheel(size(shape.radius, values, 1.5 * unit), shape.spokes, shape.colour), _AXLE[shape.axis])
        case sh.Body():
            edges = np.array([2.0, 1.0, 0.6]) if shape.size is None else values.corner(shape.size, 3)
            return meshes.box(edges * size(None if shape.fit else shape.scale, values, unit), shape.colour)
        case sh.Frame():
            width = size(shape.width, values, 0.25 * unit)
            sides = 10 if len(shape.rods) <= 20 else 5  # thin bars of a lattice look round with five sides
            return meshes.joined(_bar(values.corner(a, 3), values.corner(b, 3), width / 2, shape.colour, sides) for a, b in shape.rods)
        case sh.Blade():
            half = size(shape.length, values, 2.4 * unit) / 2
            return meshes.moved(meshes.lens(half, 0.3 * half, shape.colour), np.eye(3), np.array([0, 0, 0.15 * half]))
        case sh.Tyre():
            r = size(shape.length, values, 1.6 * unit) / 2
            return meshes.moved(meshes.disk(r, 0.36 * r, shape.colour), _AXLE["y"], np.array([0, 0, r]))
        case sh.Patch():
            half = size(shape.length, values, 1.6 * unit) / 2
            return meshes.ellipse(half, 0.5 * half, 0.04 * half, mixed(shape.colour, WHITE, 0.2))
        case sh.Circle():
            u = np.linspace(0, 2 * np.pi, 97)
            r = size(shape.radius, values, 3 * unit)
            return meshes.tube(np.column_stack([r * np.cos(u), r * np.sin(u), 0 * u]), 0.06 * unit, 5, shape.colour)
        case _:
            raise TypeError(f"no mesh for {shape!r}")


def _turned(shape: sh.Shape) -> str | None:
    """Return the orientation of a shape as an expression: its `rotation`, or its `angle` about the vertical."""
    rotation, angle = getattr(shape, "rotation", None), getattr(shape, "angle", None)
    return rotation if rotation is not None else None if angle is None else f"z {angle}"


def _bar(a: Array, b: Array, radius: float, colour: str, sides: int) -> Mesh:
    length = float(np.linalg.norm(b - a))
    return meshes.moved(meshes.capsule(radius, length, colour, sides), meshes.along_z(b - a), a)


def _rigid(at: Any, mesh: Mesh, values: Values, rotation: str | None = None) -> Solid:
    return Solid(mesh, values.place(at, 3), values.rotation(rotation), np.ones(len(values.times)), Source(at, rotation=rotation))


def _between(shape: sh.Rod | sh.Spring | sh.Arrow, mesh: Mesh, values: Values) -> Solid:
    """A mesh of unit length along the line from the start of a shape to its end."""
    a, b = values.place(shape.start, 3), values.place(shape.end, 3)
    return Solid(mesh, a, _directions(b - a), np.linalg.norm(b - a, axis=1), Source(shape.start, end=shape.end))


def _arrow(shape: sh.Arrow, values: Values, unit: float) -> list[Item]:
    shaft = _between(shape, meshes.cylinder(0.1 * unit, 10, shape.colour), values)
    head = meshes.cone(0.3 * unit, 0.8 * unit, shape.colour)
    tip = values.place(shape.end, 3)
    source = Source(shape.start, end=shape.end, tip=True)
    solids: list[Item] = [shaft, Solid(head, tip, shaft.rotation, np.ones(len(values.times)), source)]
    return [*solids, Words(tip, pretty(shape.label), shape.colour, source=Source(shape.end))] if shape.label else solids


def _directions(ways: Array) -> Array:
    """Return rotations that take the third axis to each direction, each closest to the previous one, so that coils do not jump."""
    found = np.empty((len(ways), 3, 3))
    now = np.eye(3)
    for k, way in enumerate(ways):
        length = np.linalg.norm(way)
        if length > 0:
            now = _swing(now[:, 2], way / length) @ now
        found[k] = now
    return found


def _swing(a: Array, b: Array) -> Array:
    """The shortest rotation from one unit vector to another."""
    axis, cosine = np.cross(a, b), float(a @ b)
    if cosine < -1 + _OPPOSITE:
        other = meshes.along_z(a)[:, 0]
        return 2 * np.outer(other, other) - np.eye(3)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + cross + cross @ cross / (1 + cosine)
