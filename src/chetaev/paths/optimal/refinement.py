"""The error of a path between its collocation points, and a finer mesh where it is large; nodes beside jumps of an input may move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chetaev.paths.optimal.mesh import STAGES, Mesh, collocation
from chetaev.paths.optimal.problem import Array, Problem
from chetaev.paths.optimal.sizes import Sizes
from chetaev.paths.optimal.transcription import Path

_SWITCH = 0.2
"""Relative to the size of an input: a smaller change is no switch."""
_STEEP = 3.0
"""A switch is larger than the changes beside it by this factor."""
_BEND = 1e-4
"""Relative to the size of an input: a smaller jump between intervals needs no finer mesh."""
_DIVIDED_SHARE = 0.05
"""Relative to the largest error of an interval: intervals with more than this are divided."""
_ROUNDING = 1e-11
"""In typical sizes: smaller errors are rounding, and say nothing about the mesh."""
MOST_INTERVALS = 160
"""Of a mesh; with more, a program of ten jets takes minutes."""


def residuals(problem: Problem, sizes: Sizes, path: Path) -> Array:
    """For each interval, by how much the rates of the path differ from those of the equations between collocation points.

    The largest over the jets and a few points, times the length of the interval, in typical sizes.
    """
    c = np.array([0.0, *collocation()[0]])
    taus = (c[:-1] + c[1:]) / 2
    s = (path.mesh.nodes[:-1, None] + path.mesh.widths[:, None] * taus).ravel()
    x, slopes = path.interpolated(s)
    f = problem.rates_along(problem.t0 + path.duration * s, x, path.input_jets(problem.orders, taus))
    off = np.abs(slopes - path.duration * f) * np.repeat(path.mesh.widths, STAGES) / sizes.x[:, None]
    found: Array = np.nan_to_num(off, nan=np.inf).max(axis=0, initial=0.0).reshape(len(path.mesh), STAGES).max(axis=1)
    return found


@dataclass(frozen=True)
class Changes:
    """How inputs that may jump change: within intervals and at inner nodes, relative to their sizes; and where they switch."""

    inside: Array
    jumps: Array
    switch_inside: NDArray[np.bool_]
    switch_between: NDArray[np.bool_]


def changes(problem: Problem, sizes: Sizes, path: Path) -> Changes:
    """The changes of inputs on a path.

    A switch is a change that is large beside those around it: an optimal input that is merely steep changes by as much nearby. Only nodes
    at switches may move, since the search would stretch other intervals to profit from their error.
    """
    n = len(path.mesh)
    inside, jumps = np.zeros(n), np.zeros(max(n - 1, 0))
    within, between = np.zeros(n, dtype=bool), np.zeros(max(n - 1, 0), dtype=bool)
    for k, (u, order) in enumerate(zip(path.inputs, problem.orders, strict=True)):
        if order:
            continue
        own, gaps = np.abs(u[n:] - u[:n]) / sizes.u[k], np.abs(u[1:n] - u[n : 2 * n - 1]) / sizes.u[k]
        padded = np.concatenate([[0.0], own, [0.0]])
        beside = np.maximum(padded[:-2], padded[2:])
        within |= (own > _SWITCH) & (own > _STEEP * beside)
        between |= (gaps > _SWITCH) & (gaps > _STEEP * np.maximum(own[:-1], own[1:]))
        inside, jumps = np.maximum(inside, own), np.maximum(jumps, gaps)
    return Changes(inside, jumps, within, between)


def finer(problem: Problem, sizes: Sizes, path: Path, violated: NDArray[np.bool_], errors: Array) -> Mesh:
    """A mesh with intervals divided where the error is large, an input bends, or a relation is violated between points.

    `violated` marks intervals in which a relation along the path fails.
    """
    n, found = len(path.mesh), changes(problem, sizes, path)
    bends = np.zeros(n)
    bends[:-1] = np.maximum(bends[:-1], found.jumps)
    bends[1:] = np.maximum(bends[1:], found.jumps)
    worst, sharpest = float(errors.max(initial=0.0)), float(bends.max(initial=0.0))
    wrong = (errors > _DIVIDED_SHARE * worst) & (worst > _ROUNDING)
    divide = wrong | violated | found.switch_inside | ((bends > _DIVIDED_SHARE * sharpest) & (bends > _BEND))
    if any(problem.orders) or not divide.any():
        divide = np.ones(n, dtype=bool)  # splines show no jumps that could tell where they are too coarse
    room = MOST_INTERVALS - n
    if divide.sum() > room:
        order = np.argsort(-(errors / max(worst, 1e-300) + bends / max(sharpest, 1e-300) + violated))
        divide = np.isin(np.arange(n), [k for k in order if divide[k]][: max(room, 0)])
    widths: list[float] = []
    moves: list[bool] = []
    for k in range(n):
        if k:
            moves.append(bool(found.switch_between[k - 1]))
        if divide[k]:
            widths += [path.mesh.widths[k] / 2] * 2
            moves.append(bool(found.switch_inside[k]))
        else:
            widths.append(path.mesh.widths[k])
    return Mesh(np.array(widths), tuple(moves))
