"""Make a drawing from a scene and a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from chetaev.core.scene import Ground, Scene, Shape, Trace
from chetaev.core.scene.fields import BLUE, GREEN, ORANGE, PURPLE, RED
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.plot.scenes.drawing import Array, Camera, Drawing, Floor, Item, Window, nice_step, recoloured
from chetaev.plot.scenes.planar import abstract, planar
from chetaev.plot.scenes.spatial import spatial
from chetaev.plot.scenes.values import Values, require_sizes
from chetaev.plot.scenes.view import camera, extent, lowest, window

_UNITS = 22
"""Width of a picture relative to `unit`, the default size of small shapes. A smaller number makes dots, wheels and arrows larger."""
_MOST_POINTS = 6000
"""Largest number of points of a path; more would slow down a page without being visible."""
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE)
"""Colours of motions that share a picture."""


def compose(motions: Trajectory | Mapping[str, Trajectory], scene: Scene, times: Array) -> Drawing:
    """Return the drawing of a motion at uniform times, or of several in one picture, each in its own colour."""
    named = {"": motions} if isinstance(motions, Trajectory) else motions
    several = len(named) > 1
    first = next(iter(named.values()))
    values = Values(first, times)
    title = first.equations.system.name or "system"
    if scene.abstract:
        items, box = abstract(scene.shapes, values)
        return Drawing(times, tuple(items), window(items, None, box=box), None, None, title, scene.caption)
    dimension = scene.dimension
    follow = None if scene.follow is None or several else values.place(scene.follow, dimension)
    for motion in named.values():
        require_sizes(scene.shapes, Values(motion, times))
    unit = unit_of(scene, [Values(motion, times) for motion in named.values()], dimension, follow)
    items, legend = [], []
    for k, (name, motion) in enumerate(named.items()):
        made = _items(scene, Values(motion, times), Values(motion, _finer(motion, times)), unit)
        colour = COLOURS[k % len(COLOURS)]
        items += [recoloured(item, colour) for item in made] if several else made
        legend += [(name, colour)] if several else []
    grounds = [shape for shape in scene.shapes if isinstance(shape, Ground)]
    view: Window | Camera
    if dimension == 3:
        view = camera(items, follow, scene.view, 1.0 if several else scene.room)
        floor = _floor(grounds, values, items, view.distance / 1.3)
    else:
        line = values.constant(grounds[0].height) if grounds and grounds[0].height is not None else None
        view = window(items, follow, 1.0 if several else scene.room, line=line)
        floor = Floor(line, nice_step(2 * float(view.half[0]), 9), grounds[0].colour) if grounds else None
    return Drawing(times, tuple(items), view, floor, scene.axes, title, scene.caption, tuple(legend))


def _items(scene: Scene, values: Values, path: Values, unit: float) -> list[Item]:
    """Return the parts of all shapes of one motion."""
    make = spatial if scene.dimension == 3 else planar
    return [item for shape in scene.shapes if not isinstance(shape, Ground) for item in make(shape, values, path, unit)]


def _floor(grounds: list[Ground], values: Values, items: list[Item], room: float) -> Floor | None:
    """Return the floor in space: at its given height, or below all bodies."""
    if not grounds:
        return None
    height = lowest(items) if grounds[0].height is None else values.constant(grounds[0].height)
    return Floor(height, nice_step(room, 9), grounds[0].colour)


def unit_of(scene: Scene, motions: Sequence[Values], dimension: int, follow: Array | None) -> float:
    """Return the default size of small shapes, in the units of the motion."""
    clouds = []
    for values, shape in product(motions, scene.shapes):
        if follow is not None and isinstance(shape, Trace):
            continue
        reach = _reach(shape, values)
        for place in shape.places:
            points = values.place(place, dimension)
            points = points if follow is None else points - follow
            clouds += [points - reach, points + reach]
    size = extent(clouds)
    return (size if size > 0 else 1.0) / _UNITS


def _reach(shape: Shape, values: Values) -> float:
    """Return how far a shape with a given size extends around its position."""
    sizes = [getattr(shape, name, None) for name in ("radius", "length")]
    return max((values.constant(size) for size in sizes if size is not None), default=0.0)


def _finer(motion: Trajectory, times: Array) -> Array:
    """Return times for paths: fine enough for the steps of the motion, and a multiple of the frames of the animation."""
    steps = max(1, len(times) - 1)
    factor = int(np.clip(np.ceil(4 * len(motion) / steps), 1, 8))
    factor = max(1, min(factor, _MOST_POINTS // steps))
    return np.linspace(times[0], times[-1], steps * factor + 1)
