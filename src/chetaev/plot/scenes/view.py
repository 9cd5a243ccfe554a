"""The view: the smallest window, or the nearest position of the camera, that keeps everything in the picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from chetaev.plot.scenes.drawing import Array, Camera, Dot, Item, Piece, Solid, Track, Window, Words

_EMPTY_BORDER = 0.08
"""Width of the empty border, relative to the larger side of the picture."""
_WIDEST, _TALLEST = 2.0, 1.1
"""Largest and smallest ratio of width to height of a window; pages and films assume a picture that is wider than tall."""
_FOV = 32.0
"""Vertical field of view in degrees. A larger one distorts bodies near the border."""
_LEAST_SIDE = 1e-9
"""Smallest side of the window, and smallest spread of points before a camera, in units of the scene: a scene that is one point has no
size."""
_LEAST_SIDE_RELATIVE = 1e-6
"""Smallest side of the window relative to the largest coordinate; smaller windows would show round-off."""
_LEAST_DISTANCE = 1e-6
"""Smallest distance of the camera, in units of the scene."""


def window(items: Sequence[Item], follow: Array | None, room: float = 1.0, box: Array | None = None, line: float | None = None) -> Window:
    """Return the window of a planar drawing. `box` has given limits, `line` is the height of the ground, which must be visible."""
    centre = np.zeros((1, 2)) if follow is None else follow
    if box is None:
        clouds = [cloud for item in items for cloud in _planar_points(item, centre, follow is not None)]
        points = np.concatenate(clouds) if clouds else np.zeros((1, 2))
        points = points[np.isfinite(points).all(axis=1)]
        low, high = points.min(axis=0), points.max(axis=0)
        if line is not None and follow is None:
            low[1] = min(low[1], line - 0.05 * max(high - low))
        side = max(_LEAST_SIDE, float(max(high - low)), _LEAST_SIDE_RELATIVE * float(np.abs(points).max()))
        low, high = low - _EMPTY_BORDER * side, high + _EMPTY_BORDER * side
    else:
        low, high = box[[0, 2]], box[[1, 3]]
    half = (high - low) / 2
    half = np.array([max(half[0], _TALLEST * half[1]), max(half[1], half[0] / _WIDEST)])
    return Window(centre + (low + high) / 2, room * half)


def camera(items: Sequence[Item], follow: Array | None, view: tuple[float, float], room: float = 1.0) -> Camera:
    """Return the camera of a drawing in space, as near as all bodies and paths allow."""
    centre = np.zeros((1, 3)) if follow is None else follow
    clouds = [cloud for item in items for cloud in _spatial_points(item, centre, follow is not None)]
    points = np.concatenate(clouds) if clouds else np.zeros((1, 3))
    points = points[np.isfinite(points).all(axis=1)]
    right, up, back = axes(*view)
    seen = points @ np.column_stack([right, up, back])
    spread = np.maximum(np.ptp(seen, axis=0), _LEAST_SIDE)
    ratio = float(np.clip(spread[0] / spread[1], 1.25, 1.9))
    slope = np.tan(np.radians(_FOV) / 2) * np.array([ratio, 1.0]) * (1 - _EMPTY_BORDER)
    middle = (seen.min(axis=0) + seen.max(axis=0)) / 2
    distance = 1.0
    for _ in range(30):
        near = seen - middle
        distance = float(np.max(near[:, 2:] + np.abs(near[:, :2]) / slope))
        pictured = near[:, :2] / (distance - near[:, 2:])
        middle[:2] += (pictured.min(axis=0) + pictured.max(axis=0)) / 2 * distance
    distance = max(room * distance, _LEAST_DISTANCE)
    target = middle @ np.array([right, up, back])
    return Camera(centre + target, distance, view[0], view[1], _FOV, ratio)


def axes(azimuth: float, elevation: float) -> tuple[Array, Array, Array]:
    """Return the directions right, up and backwards of an eye that looks at the origin from a direction, in degrees."""
    a, e = np.radians([azimuth, elevation])
    back = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return right, np.cross(back, right), back


def extent(clouds: Iterable[Array]) -> float:
    """Return the largest side of the box around all points."""
    points = np.concatenate(list(clouds))
    points = points[np.isfinite(points).all(axis=1)]
    return float(np.ptp(points, axis=0).max()) if len(points) else 0.0


def lowest(items: Sequence[Item]) -> float:
    """Return the lowest height of any body or path in space."""
    origin = np.zeros((1, 3))
    return min((float(cloud[:, 2].min()) for item in items for cloud in _spatial_points(item, origin, False)), default=0.0)


def _planar_points(item: Item, centre: Array, following: bool) -> Iterable[Array]:
    """Yield all points of a part of the drawing, relative to the centre of the picture."""
    match item:
        case Piece():
            n = max(len(item.place), len(item.angle), len(item.length), len(centre))
            place = np.broadcast_to(item.place, (n, 2)) - centre
            c, s = np.cos(item.angle)[:, None], np.sin(item.angle)[:, None]
            for stroke in item.strokes:
                along = np.outer(item.length, stroke.points[:, 0]) + stroke.points[:, 1]
                across = stroke.points[:, 2]
                x, y = c * along - s * across, s * along + c * across
                yield np.column_stack([(place[:, :1] + x).ravel(), (place[:, 1:] + y).ravel()])
        case Dot() | Words():
            yield item.place - centre
        case Track() if not following:  # a window that follows the motion need not contain the whole path
            yield item.place - centre


def _spatial_points(item: Item, centre: Array, following: bool) -> Iterable[Array]:
    match item:
        case Solid():
            n = max(len(item.place), len(centre))
            few = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(int))
            vertices = item.mesh.vertices if len(item.mesh.vertices) <= 60 else _hull(item.mesh.vertices)
            for k in few:
                own = vertices * np.array([1.0, 1.0, item.stretch[min(k, len(item.stretch) - 1)]])
                place = item.place[min(k, len(item.place) - 1)] - centre[min(k, len(centre) - 1)]
                yield own @ item.rotation[min(k, len(item.rotation) - 1)].T + place
        case Words():
            yield item.place - centre
        case Track() if not following:
            yield item.place - centre


def _hull(vertices: Array) -> Array:
    """Return the extreme vertices in a set of directions, which are enough to bound a body."""
    ways = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], float)
    return vertices[np.unique(np.argmax(vertices @ ways.T, axis=0))]
