"""The border between fates on a grid: cells whose corners differ, and points found by halving the edges between neighbours."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def cells(inside: Mask) -> tuple[Mask, Mask]:
    """For every cell of a grid, whether all of its corners are inside, and whether any is."""
    corners = [
        inside[tuple(slice(c, n - 1 + c) for c, n in zip(corner, inside.shape, strict=True))]
        for corner in product((0, 1), repeat=inside.ndim)
    ]
    return np.logical_and.reduce(corners), np.logical_or.reduce(corners)


Fates = NDArray[np.int8]


def halved(axes: list[Array], fate: Fates, inside: int, ask: Callable[[Array], Fates], times: int) -> tuple[Array, Array, Fates]:
    """For every edge between neighbours of which one is inside, the last state inside and the first outside after some halvings, and the
    fate of the latter.
    """
    first, second, beyond = _edges(axes, fate, inside)
    for _ in range(times if len(first) else 0):
        middle = 0.5 * (first + second)
        found = ask(middle)
        good = found == inside
        first, second = np.where(good[:, None], middle, first), np.where(good[:, None], second, middle)
        beyond = np.where(good, beyond, found)
    return first, second, beyond


def _edges(axes: list[Array], fate: Fates, wanted: int) -> tuple[Array, Array, Fates]:
    """The two ends of such edges, the one inside first, and the fates of the others."""
    grid, inside = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1), fate == wanted
    firsts, seconds, fates = [], [], []
    for k in range(inside.ndim):
        low = tuple(slice(0, -1) if j == k else slice(None) for j in range(inside.ndim))
        high = tuple(slice(1, None) if j == k else slice(None) for j in range(inside.ndim))
        for here, there in ((low, high), (high, low)):
            changes = inside[here] & ~inside[there]
            firsts.append(grid[here][changes])
            seconds.append(grid[there][changes])
            fates.append(fate[there][changes])
    return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(fates)


def drawn(axes: list[Array], whole: Mask, count: int, seed: int) -> Array:
    """Random points of some cells of a grid; none if there are no cells."""
    places = np.argwhere(whole)
    if not len(places) or not count:
        return np.zeros((0, len(axes)))
    random = np.random.default_rng(seed)
    chosen = places[random.integers(len(places), size=count)]
    shares = random.uniform(size=chosen.shape)
    return np.stack([a[chosen[:, k]] * (1 - shares[:, k]) + a[chosen[:, k] + 1] * shares[:, k] for k, a in enumerate(axes)], axis=-1)
