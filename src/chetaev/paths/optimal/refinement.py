"""Estimate the error of a path between its collocation points, and refine the mesh where it is large; nodes at switches of an input may
move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.paths.optimal.mesh import STAGES, Mesh, collocation
from chetaev.paths.optimal.problem import Array, Problem
from chetaev.paths.optimal.sizes import Sizes
from chetaev.paths.optimal.transcription import Path

_SWITCH = 0.2
"""Least change of an input at a switch, relative to its size."""
_STEEP = 3.0
"""Least ratio of the change at a switch to the changes in adjacent intervals."""
_LARGEST_JUMP = 1e-4
"""Jump of an input between intervals, relative to its size, above which the mesh is refined."""
_DIVIDED_SHARE = 0.05
"""Intervals are divided if their error exceeds this fraction of the largest."""
_ROUNDING = 1e-11
"""Error in typical sizes below which it is round-off and does not depend on the mesh."""
MOST_INTERVALS = 160
"""Largest number of intervals of a mesh; with more, a program of ten jets takes minutes."""


def residuals(problem: Problem, sizes: Sizes, path: Path) -> Array:
    """For each interval, the largest difference between the rates of the path and those of the equations between collocation points.

    The maximum is over the jets and a few points; it is multiplied by the length of the interval, in typical sizes.
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
    """The changes of inputs that may jump, within intervals and at inner nodes, relative to their sizes; and where they switch."""

    inside: Array
    jumps: Array
    switch_inside: NDArray[np.bool_]
    switch_between: NDArray[np.bool_]


def changes(problem: Problem, sizes: Sizes, path: Path) -> Changes:
    """The changes of inputs on a path.

    A switch is a change much larger than those nearby; an input that is merely steep changes nearby as well. Only nodes at switches may
    move, since the optimiser would stretch other intervals to exploit their error.
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
    """A mesh with intervals divided where the error is large, an input jumps or switches, or a relation fails.

    `violated` marks the intervals in which a relation along the path fails.
    """
    n, found = len(path.mesh), changes(problem, sizes, path)
    jumps = np.zeros(n)
    jumps[:-1] = np.maximum(jumps[:-1], found.jumps)
    jumps[1:] = np.maximum(jumps[1:], found.jumps)
    worst, largest = float(errors.max(initial=0.0)), float(jumps.max(initial=0.0))
    wrong = (errors > _DIVIDED_SHARE * worst) & (worst > _ROUNDING)
    divide = wrong | violated | found.switch_inside | ((jumps > _DIVIDED_SHARE * largest) & (jumps > _LARGEST_JUMP))
    if any(problem.orders) or not divide.any():
        divide = np.ones(n, dtype=bool)  # splines have no jumps that would show where the mesh is too coarse
    room = MOST_INTERVALS - n
    if divide.sum() > room:
        order = np.argsort(-(errors / max(worst, ALMOST_ZERO) + jumps / max(largest, ALMOST_ZERO) + violated))
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
