"""Drawing space on a plane: perspective, and drawing order from far to near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chetaev.core.scene.fields import DARK, WHITE
from chetaev.plot.scenes.drawing import Array, Camera, Drawing, Floor, Solid, Track, mixed, rgb
from chetaev.plot.scenes.view import axes as axes_of

_LIGHT = np.array([0.35, -0.45, 0.82])
"""The direction towards the light."""
_LEAST_LENGTH = 1e-12
"""Smallest length of a piece of a track in the picture by which its direction is divided."""


@dataclass(frozen=True)
class Projection:
    """Perspective from a camera at the sample k: heights in the picture run from -1 to 1."""

    camera: Camera
    k: int

    def pictured(self, points: Array) -> tuple[Array, Array]:
        """Return positions in the picture, and distances from the eye along its line of sight."""
        camera = self.camera
        right, up, back = axes_of(camera.azimuth, camera.elevation)
        near = (points - camera.target[min(self.k, len(camera.target) - 1)]) @ np.column_stack([right, up, back])
        depth = camera.distance - near[..., 2]
        slope = np.tan(np.radians(camera.fov) / 2)
        return near[..., :2] / np.maximum(depth, 0.05 * camera.distance)[..., None] / slope, depth

    @property
    def eye(self) -> Array:
        """The position of the eye."""
        back = axes_of(self.camera.azimuth, self.camera.elevation)[2]
        found: Array = self.camera.target[min(self.k, len(self.camera.target) - 1)] + self.camera.distance * back
        return found


def paint_space(axes: Any, drawing: Drawing, k: int) -> list[Any]:
    """Draw all solids and paths at the sample k."""
    import matplotlib.collections as artists_of

    lines_of: Any = artists_of.LineCollection  # its type stubs lack arrays
    polygons_of: Any = artists_of.PolyCollection

    camera = drawing.view
    if not isinstance(camera, Camera):
        raise TypeError("this drawing is planar")
    projection = Projection(camera, k)
    axes.set_xlim(-camera.ratio, camera.ratio)
    axes.set_ylim(-1, 1)
    artists: list[Any] = []
    if drawing.floor is not None and drawing.floor.height is not None:
        lines, colours = _grid(drawing.floor, camera, projection)
        grey = mixed(drawing.floor.colour, WHITE, 0.72)
        shadows = np.concatenate(
            [_shadow(item, k, drawing.floor, projection) for item in drawing.items if isinstance(item, Solid)] or [_NONE]
        )
        artists.append(lines_of(lines, colors=colours, linewidths=0.8, zorder=0))
        artists.append(polygons_of(shadows, facecolors=grey, edgecolors=grey, linewidths=0.6, zorder=1))
    found = [_faces(item, k, projection) for item in drawing.items if isinstance(item, Solid)]
    found += [_ribbon(item, k, projection) for item in drawing.items if isinstance(item, Track)]
    polygons, shades, depths = (np.concatenate(parts) for parts in zip(*(found or [_EMPTY]), strict=True))
    order = np.argsort(-depths)
    artists.append(polygons_of(polygons[order], facecolors=shades[order], edgecolors=shades[order], linewidths=0.6, zorder=2))
    for artist in artists:
        axes.add_collection(artist, autolim=False)
    return artists


_NONE = np.empty((0, 4, 2))
Polygons = tuple[Array, Array, Array]
"""Corners in the picture, colours and depths."""
_EMPTY: Polygons = (_NONE, np.empty((0, 3)), np.empty(0))


def _faces(solid: Solid, k: int, projection: Projection) -> Polygons:
    """The faces of a solid that look at the eye, shaded."""
    points = solid.vertices(min(k, len(solid.place) - 1))
    flat, depth = projection.pictured(points)
    corners = points[solid.mesh.faces]
    normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    sizes = np.linalg.norm(normals, axis=1)
    seen = (sizes > 0) & (np.sum(normals * (projection.eye - corners[:, 0]), axis=1) > 0)
    lit = (normals[seen] @ (_LIGHT / np.linalg.norm(_LIGHT)) / sizes[seen])[:, None]
    paints = solid.mesh.tints[seen]
    dull = 0.25 * (1 - lit)
    shades = (1 - dull) * paints + dull * rgb(DARK)
    faces = solid.mesh.faces[seen]
    return flat[faces], shades, depth[faces].mean(axis=1)


def _ribbon(track: Track, k: int, projection: Projection) -> Polygons:
    """Return a path as narrow quadrilaterals, so that bodies can hide parts of it."""
    last = k * track.finer + 1
    first = max(0, (k - track.steps) * track.finer) if track.steps else 0
    points = track.place[first:last]
    if len(points) < 2:
        return _EMPTY
    flat, depth = projection.pictured(points)
    way = np.diff(flat, axis=0)
    length = np.maximum(np.hypot(way[:, 0], way[:, 1]), _LEAST_LENGTH)[:, None]
    side = np.column_stack([-way[:, 1], way[:, 0]]) / length * 0.0045 * track.width / 2
    quads = np.stack([flat[:-1] + side, flat[1:] + side, flat[1:] - side, flat[:-1] - side], axis=1)
    age = (np.arange(first, last - 1) - (last - 1 - track.steps * track.finer)) / max(1, track.steps * track.finer)
    strength = 0.85 * (np.clip(age, 0, 1) if track.steps else np.ones(len(way)))[:, None]
    return quads, 1 - strength + strength * rgb(track.colour), (depth[:-1] + depth[1:]) / 2


def _shadow(solid: Solid, k: int, floor: Floor, projection: Projection) -> Array:
    """Return the faces of a solid projected vertically onto the floor."""
    points = solid.vertices(min(k, len(solid.place) - 1)).copy()
    points[:, 2] = floor.height
    flat, depth = projection.pictured(points)
    return _NONE if depth.min() < 0.1 * projection.camera.distance else flat[solid.mesh.faces]


def _grid(floor: Floor, camera: Camera, projection: Projection) -> tuple[Array, Array]:
    """Return the lines of the floor around the camera's target, paler with distance."""
    reach = 2.2 * camera.distance
    middle = projection.eye[:2] * 0.25 + 0.75 * camera.target[min(projection.k, len(camera.target) - 1)][:2]
    cuts = np.linspace(-reach, reach, 61)
    lines, shades = [], []
    for axis in (0, 1):
        across = middle[1 - axis]
        levels = np.arange(np.ceil((across - reach) / floor.spacing), np.floor((across + reach) / floor.spacing) + 1) * floor.spacing
        points = np.empty((len(levels), len(cuts), 3))
        points[:, :, axis], points[:, :, 1 - axis], points[:, :, 2] = middle[axis] + cuts, levels[:, None], floor.height
        flat, depth = projection.pictured(points)
        seen = np.minimum(depth[:, 1:], depth[:, :-1]) > 0.15 * camera.distance
        fade = 0.6 + 0.4 * np.clip(depth[:, :-1] / camera.distance - 0.9, 0, 1.3)[seen][:, None] / 1.3
        lines.append(np.stack([flat[:, :-1][seen], flat[:, 1:][seen]], axis=1))
        shades.append((1 - fade) * rgb(floor.colour) + fade)
    return np.concatenate(lines), np.concatenate(shades)
