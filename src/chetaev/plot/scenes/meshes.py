"""Meshes of bodies in body axes: round bodies about the third axis, long bodies from the origin along it; and meshes as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from chetaev.core.scene.fields import DARK, ORANGE, WHITE
from chetaev.plot.scenes.drawing import Array, Mesh, mixed

_PLACES = 4
"""Decimal digits of coordinates, relative to the largest of a list: a tenth of a pixel of a body that fills the screen."""
_ON_AXIS = 1e-12
"""Largest radius of a point on the axis, in the unit of the profile: one vertex stands for the whole ring."""


def ball(radius: float, colour: str, marked: bool) -> Mesh:
    """A sphere; `marked` paints it like a beach ball, so that its rotation is visible."""
    around, across = 30, 16
    return _revolved(
        [(radius * np.sin(v), -radius * np.cos(v)) for v in np.linspace(0, np.pi, across + 1)],
        around,
        lambda i, j: _patch(colour, i * 6 // around, j < across // 2) if marked else colour,
    )


def ellipsoid(semiaxes: Array, half: bool, colour: str) -> Mesh:
    """An ellipsoid in two tints, or with `half` its lower half with a flat top."""
    around, across = 36, 16
    angles = np.linspace(0, np.pi / 2 if half else np.pi, across + 1)
    profile = [(float(np.sin(v)), -float(np.cos(v))) for v in angles]
    profile += [(0.0, 0.0)] if half else []
    light = mixed(colour, WHITE, 0.55)
    unit = _revolved(profile, around, lambda i, j: light if j == across or (i * 4 // around) % 2 else colour)
    return Mesh(unit.vertices * semiaxes, unit.faces, unit.paints)


def disk(radius: float, thickness: float, colour: str) -> Mesh:
    """A flat cylinder with sectors of two tints and a bright mark near its rim."""
    half, around = thickness / 2, 48
    light = mixed(colour, WHITE, 0.6)

    def paint(i: int, j: int) -> str:
        if j == 2:
            return mixed(colour, DARK, 0.45)
        if j in (1, 3) and i in (0, around - 1):
            return ORANGE
        return colour if (i * 4 // around) % 2 else light

    profile = [(0, -half), (0.78 * radius, -half), (radius, -half), (radius, half), (0.78 * radius, half), (0, half)]
    return _revolved(profile, around, paint)


def wheel(radius: float, spokes: int, colour: str) -> Mesh:
    """A tyre, a hub and spokes, one of them bright."""
    tube = 0.07 * radius
    ring = np.linspace(0, 2 * np.pi, 9)
    tyre = _revolved([(radius - tube + tube * np.cos(u), tube * np.sin(u)) for u in ring], 40, lambda i, j: colour)
    hub = cylinder(0.09 * radius, 10, mixed(colour, WHITE, 0.3), 1, -0.16 * radius, 0.32 * radius)
    parts = [tyre, hub]
    for k in range(spokes):
        bar = cylinder((0.03 if k == 0 else 0.014) * radius, 5, ORANGE if k == 0 else mixed(colour, WHITE, 0.55), 3, 0.0, radius - tube)
        parts.append(moved(bar, along_z([np.cos(2 * np.pi * k / spokes), np.sin(2 * np.pi * k / spokes), 0.0])))
    return joined(parts)


def cylinder(radius: float, around: int, colour: str, pieces: int = 6, start: float = 0.0, length: float = 1.0) -> Mesh:
    """A closed cylinder along the third axis, divided into pieces that can be sorted by depth."""
    profile = [(0.0, start), *((radius, start + length * k / pieces) for k in range(pieces + 1)), (0.0, start + length)]
    return _revolved(profile, around, lambda i, j: colour)


def capsule(radius: float, length: float, colour: str, around: int = 10) -> Mesh:
    """A bar with round ends along the third axis."""
    low, high = [(0.0, -radius), (0.71 * radius, -0.71 * radius)], [(0.71 * radius, length + 0.71 * radius), (0.0, length + radius)]
    return _revolved([*low, *((radius, length * k / 4) for k in range(5)), *high], around, lambda i, j: colour)


def cone(radius: float, height: float, colour: str) -> Mesh:
    """An arrow's head, its tip at the origin."""
    return _revolved([(0.0, -height), (radius, -height), (0.0, 0.0)], 16, lambda i, j: colour)


def box(size: Array, colour: str, parts: int = 4) -> Mesh:
    """A box about the origin with sides tinted by direction and a marked front, divided into parts that can be sorted by depth."""
    light, dark = mixed(colour, WHITE, 0.45), mixed(colour, DARK, 0.25)
    paints = ((colour, ORANGE), (dark, dark), (light, light))
    u = np.linspace(-0.5, 0.5, parts + 1)
    grid = np.arange((parts + 1) ** 2).reshape(parts + 1, parts + 1)
    cells = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=-1).reshape(-1, 4)
    sides = []
    for axis in range(3):
        for end, side in enumerate((-0.5, 0.5)):
            points = np.empty((parts + 1, parts + 1, 3))
            points[..., axis], points[..., (axis + 1) % 3], points[..., (axis + 2) % 3] = side, u[:, None], u[None, :]
            outward = cells if end else cells[:, ::-1]
            sides.append(Mesh(points.reshape(-1, 3) * size, outward, (paints[axis][end],) * len(cells)))
    return joined(sides)


def helix(radius: float, coils: int, wire: float, colour: str) -> Mesh:
    """A coil of unit length along the third axis, with straight ends."""
    u = np.linspace(0, 1, 14 * coils + 1)
    fade = np.minimum(1, 12 * np.minimum(u, 1 - u))
    phase = 2 * np.pi * coils * u
    path = np.column_stack([radius * fade * np.cos(phase), radius * fade * np.sin(phase), u])
    return tube(path, wire, 5, colour)


def ellipse(a: float, b: float, height: float, colour: str) -> Mesh:
    """A flat patch, slightly above the ground."""
    u = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    points = np.column_stack([a * np.cos(u), b * np.sin(u), np.full(32, height)])
    return Mesh(points, np.array([(0, k, k + 1, k + 1) for k in range(1, 31)]), (colour,) * 30)


def tube(path: Array, radius: float, around: int, colour: str) -> Mesh:
    """A tube along a path whose tangent is nowhere parallel to its up direction."""
    way = np.gradient(path, axis=0)
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    helper = np.where(np.abs(way[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    side = np.cross(way, helper)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, way)
    u = np.linspace(0, 2 * np.pi, around, endpoint=False)
    rings = path[:, None] + radius * (np.cos(u)[None, :, None] * side[:, None] + np.sin(u)[None, :, None] * up[:, None])
    faces = [
        (i * around + j, (i + 1) * around + j, (i + 1) * around + (j + 1) % around, i * around + (j + 1) % around)
        for i in range(len(path) - 1)
        for j in range(around)
    ]
    return Mesh(rings.reshape(-1, 3), np.array(faces), (colour,) * len(faces))


def lens(half: float, height: float, colour: str) -> Mesh:
    """A blade that stands on its edge: thin, along the first axis."""
    return box(np.array([2 * half, 0.06 * half, height]), colour)


def moved(mesh: Mesh, rotation: Array, shift: Array | None = None) -> Mesh:
    """A mesh turned and shifted."""
    vertices = mesh.vertices @ rotation.T
    return Mesh(vertices if shift is None else vertices + shift, mesh.faces, mesh.paints)


def joined(meshes: Iterable[Mesh]) -> Mesh:
    """Several meshes as one."""
    parts = list(meshes)
    first = np.cumsum([0, *(len(mesh.vertices) for mesh in parts)])
    faces = np.concatenate([mesh.faces + start for mesh, start in zip(parts, first, strict=False)])
    return Mesh(np.concatenate([mesh.vertices for mesh in parts]), faces, tuple(paint for mesh in parts for paint in mesh.paints))


def along_z(direction: Array | list[float]) -> Array:
    """Return a rotation that takes the third axis to a direction; the identity for a zero vector."""
    z = np.asarray(direction, float)
    if not z.any():
        return np.eye(3)
    z = z / np.linalg.norm(z)
    helper = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.8 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _patch(colour: str, sector: int, upper: bool) -> str:
    return colour if (sector + upper) % 2 else mixed(colour, WHITE, 0.78)


def _revolved(profile: list[tuple[float, float]], around: int, paint: Callable[[int, int], str]) -> Mesh:
    """The surface that a profile of (radius, height) sweeps about the third axis; `paint(i, j)` colours sector i of band j."""
    u = 2 * np.pi * np.arange(around) / around
    rings: list[list[int]] = []
    vertices: list[list[float]] = []
    for r, z in profile:
        if r < _ON_AXIS:
            rings.append([len(vertices)] * around)
            vertices.append([0.0, 0.0, z])
        else:
            rings.append(list(range(len(vertices), len(vertices) + around)))
            vertices += [[r * np.cos(a), r * np.sin(a), z] for a in u]
    faces: list[tuple[int, int, int, int]] = []
    paints: list[str] = []
    for j, (low, high) in enumerate(pairwise(rings)):
        for i in range(around):
            k = (i + 1) % around
            if low[i] == low[k] and high[i] == high[k]:
                continue
            faces.append(
                (low[i], low[k], high[k], high[k])
                if high[i] == high[k]
                else (low[i], high[k], high[i], high[i])
                if low[i] == low[k]
                else (low[i], low[k], high[k], high[i])
            )
            paints.append(paint(i, j))
    return Mesh(np.array(vertices), np.array(faces, np.int64).reshape(-1, 4), tuple(paints))


def packed(meshes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return meshes as compact data of a page, which would otherwise consist mostly of corners of bodies.

    Numbers are integer multiples of a unit, lists do not repeat, and faces are runs, since the faces of tubes and balls follow each other
    in constant steps. `meshes` refer to `lists` and to `faces` by index; no list is None. `unpacked` in `plot/web/recipes.js` is the
    inverse.
    """
    lists: list[Any] = []
    faces: list[Any] = []

    def index(found: Any, among: list[Any]) -> int:
        if found not in among:
            among.append(found)
        return among.index(found)

    def numbers(values: Any) -> int | None:
        return index(_whole(values), lists) if values else None

    made = []
    for mesh in meshes:
        data = {"f": index({"runs": _runs(mesh["f"]), "c": _repeated(mesh["c"])}, faces), "p": mesh["p"]}
        if "parts" in mesh:
            parts = [[column, numbers(slope)] for column, slope in mesh["parts"]]
            made.append({**data, "base": numbers(mesh["base"]), "parts": parts})
        else:
            made.append({**data, "v": numbers(mesh["v"])})
    return {"meshes": made, "lists": lists, "faces": faces}


def _whole(values: Sequence[float]) -> list[float | int]:
    """The unit, followed by the numbers as integer multiples of it."""
    largest = max(map(abs, values))
    places = _PLACES - math.ceil(math.log10(largest)) if largest > 0 else 0
    return [float(f"1e{-places}"), *[round(v * 10.0**places) for v in values]]


def _runs(faces: Sequence[Sequence[int]]) -> list[Any]:
    """Faces as runs [face, step, count]: the corners of each are those of the previous one plus the step."""
    runs: list[Any] = []
    last: Sequence[int] = []
    for face in faces:
        step = [b - a for a, b in zip(last, face, strict=True)] if len(last) == len(face) else None
        if runs and step is not None and runs[-1][1:] == [0, 1]:
            runs[-1][1:] = [step, 2]
        elif runs and step is not None and runs[-1][1] == step:
            runs[-1][2] += 1
        else:
            runs.append([face, 0, 1])
        last = face
    return runs


def _repeated(values: Sequence[int]) -> list[int]:
    """The run-length encoding of values."""
    return [entry for value, group in groupby(values) for entry in (value, len(list(group)))]
