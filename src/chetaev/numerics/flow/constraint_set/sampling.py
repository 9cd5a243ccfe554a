r"""Points of a constraint set near a given one: the branch a user's start lies on.

Rows that are dependent at a point make Newton's iteration unreliable there: the smallest singular value is of the order of the distance
from the set, and a full-rank step near the set leaves it again. So the approach is damped, $(J^T J + \mu) s = -J^T F$ with $\mu = |F|$, and
the last steps are taken with the rank frozen. A point counts when the last step is small, not only the residual: at a multiple root the
residual is small long before the point is reached.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.calculus import Algebra
from chetaev.core.symbols import Input, Jet
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.ranks import newton
from chetaev.mechanics.ranks.generic import Matrix, Point
from chetaev.mechanics.ranks.sizes import Sizes, Slopes, natural_sizes
from chetaev.mechanics.ranks.split import split
from chetaev.mechanics.tolerances import ALMOST_ZERO

_MOST_DAMPED_STEPS = 40
"""Most damped steps."""
_MOST_FROZEN_STEPS = 6
"""Most steps with frozen rank, which converge quadratically."""
_FROZEN_RANK = 1e-6
"""Scaled residual below which steps have frozen rank; also the relative cut of that rank."""
_ARRIVED = 1e-10
"""Scaled length of the last step, and scaled residual, of a point on the set."""
_LEAST_SLOPE = 1e-8
"""Smallest singular value, relative to the largest, of a direction in which a point is corrected."""
_POLISHED = 1e-8
"""Longest scaled step that only removes the error of a point; towards a multiple root steps are as long as the distance from it."""
_SHORTEST_DISPLACEMENT = 1 / 64
"""Relative to the first displacement: the shortest one with which a point is sought."""
_LARGEST_CORRECTION = 0.5
"""Largest ratio of the correction back to the set to the displacement along it; a larger one leads to another component."""


def points_near(
    rows: Sequence[Any],
    start: Mapping[Symbol, float],
    algebra: Algebra[Any],
    count: int = 4,
    spread: float = 0.1,
    moved: Sequence[Symbol] | None = None,
    sizes: Sizes | None = None,
) -> list[Point]:
    """Return points where all rows vanish, reached from random displacements of a start along their set.

    `moved` are the jets that move, by default the unknowns in the rows; `sizes` are their units, by default those that the rows suggest.
    """
    jets = list(moved) if moved else _moving(rows, start, algebra)
    jets = jets if rows else [z for z in start if isinstance(z, Jet) and not isinstance(z, Input)]
    slopes = Slopes(rows, jets, algebra, natural_sizes(rows, algebra, start, jets) if sizes is None else sizes)
    start = {**random_point(slopes.symbols, 0), **start}
    chance = np.random.default_rng(7)
    sizes_there = np.maximum(1.0, np.abs([start[z] for z in jets]) / slopes.units)
    along = _tangents(slopes, start, sizes_there)
    found: list[Point] = []
    shortest = spread * _SHORTEST_DISPLACEMENT
    for _ in range(4 * count):
        shift = spread * sizes_there * (along @ (along.T @ chance.standard_normal(len(jets))))
        point = _beside(slopes, start, shift)
        if point is not None:
            found.append(point)
        elif spread > shortest:  # a long displacement leads to another component of the set, or to none
            spread /= 4
        if len(found) == count:
            break
    return found


def _moving(rows: Sequence[Any], start: Mapping[Symbol, float], algebra: Algebra[Any]) -> list[Symbol]:
    """The jets of unknowns that occur in some rows."""
    present = algebra.symbols_of(list(rows))
    return sorted({z for z in start if z in present and isinstance(z, Jet) and not isinstance(z, Input)}, key=lambda z: z.name)


def _tangents(slopes: Slopes, start: Mapping[Symbol, float], sizes: Matrix) -> Matrix:
    """Return the directions, as orthonormal columns, in which jets in units of their sizes can move along the rows; all without rows."""
    everywhere = np.eye(len(slopes.jets))
    try:
        _, jacobian = slopes.dense(start)
    except Undefined:
        return everywhere
    return split(jacobian * sizes, _FROZEN_RANK).null if slopes.count else everywhere


def _length(vector: Matrix) -> float:
    """The length of a vector whose squares may overflow."""
    return math.hypot(*map(float, vector.ravel()))


def _beside(slopes: Slopes, start: Mapping[Symbol, float], shift: Matrix) -> Point | None:
    """Return the point of the set near the end of a displacement along it; None if there is none nearby."""
    here = newton.moved(start, slopes.jets, shift * slopes.units)
    point = _settled(slopes, here) if slopes.count else here
    if point is None:
        return None
    back = np.array([point[z] - here[z] for z in slopes.jets]) / slopes.units
    return point if _length(back) <= _LARGEST_CORRECTION * _length(shift) else None


def points_from(rows: Sequence[Any], starts: Sequence[Point], algebra: Algebra[Any], sizes: Sizes | None = None) -> list[Point]:
    """Return points where all rows vanish, reached from given ones by moving all jets together.

    Where rows are quadratic forms in the velocities, rest is a multiple root that attracts an iteration in velocities only; moving all jets
    leads to the other solutions, and an iteration towards the multiple root does not converge within the limit.
    """
    if not starts:
        return []
    jets = _moving(rows, starts[0], algebra)
    slopes = Slopes(rows, jets, algebra, natural_sizes(rows, algebra, starts[0], jets) if sizes is None else sizes)
    settled = [_settled(slopes, {**random_point(slopes.symbols, 0), **start}) for start in starts]
    return [point for point in settled if point is not None]


def _settled(slopes: Slopes, start: Mapping[Symbol, float]) -> Point | None:
    at = dict(start)
    rank: int | None = None
    polished = 0
    n = len(slopes.jets)
    try:
        for _ in range(_MOST_DAMPED_STEPS):
            residual, jacobian = slopes.dense(at)
            size = float(np.abs(residual).max(initial=0.0))
            if size < _FROZEN_RANK:
                u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
                if rank is None:
                    rank = int(np.sum(s > max(_LEAST_SLOPE, 30 * size) * max(float(s.max(initial=0.0)), ALMOST_ZERO)))
                step = -vt[:rank].T @ ((u[:, :rank].T @ residual) / np.maximum(s[:rank], ALMOST_ZERO))
                polished += 1
            else:
                rank = None
                damped = np.vstack([jacobian, np.sqrt(size) * np.eye(n)])
                step = -np.linalg.lstsq(damped, np.concatenate([residual, np.zeros(n)]), rcond=None)[0]
            at = newton.moved(at, slopes.jets, step * slopes.units)
            length = float(np.abs(step).max(initial=0.0))
            if rank is not None and length < _ARRIVED:
                return _polished(slopes, at) if _is_root(slopes, at) else None
            if polished > _MOST_FROZEN_STEPS or not np.isfinite(length):
                return None
    except Undefined:
        return None
    return None


def _polished(slopes: Slopes, at: dict[Symbol, float]) -> dict[Symbol, float]:
    """Return the point after one more step with the rank that it has there, if this step is short.

    The rank was frozen farther away, where a direction of small slopes may have been left out: slopes that vanish on the set would not be
    as small as they should be.
    """
    residual, jacobian = slopes.dense(at)
    step = -np.linalg.lstsq(jacobian, residual, rcond=_LEAST_SLOPE)[0]
    return newton.moved(at, slopes.jets, step * slopes.units) if float(np.abs(step).max(initial=0.0)) < _POLISHED else at


def _is_root(slopes: Slopes, at: Mapping[Symbol, float]) -> bool:
    """Tell whether rows vanish at a point, and are not merely small there together with their slopes."""
    residual, jacobian = slopes.dense(at)
    sizes = np.maximum(1.0, np.abs([at[z] for z in slopes.jets]) / slopes.units)
    return float(np.abs(residual).max(initial=0.0)) < _ARRIVED and newton.at_root(residual, jacobian, sizes)
