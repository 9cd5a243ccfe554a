r"""Where the extremals of a wavefront stop being shortest: conjugate points, and points that two extremals of the same length reach.

An extremal is no longer a minimum after its first conjugate point. It may stop being the shortest curve before, where another one of the
same length arrives: the first such points form the cut locus. For a surface these are crossings of the wavefront with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError
from chetaev.mechanics.equations import Equations
from chetaev.orbits.flow import Flow
from chetaev.paths.boundary.ends import Array, Boundary
from chetaev.paths.findings.conjugate import conjugate_times, independent, nearby


def first_conjugate_point(
    equations: Equations, run: Any, y: Array, p: Array, sizes: Array, longest: float, tolerance: float
) -> tuple[float, dict[str, float]] | None:
    """The first conjugate time of an extremal from a state at a fixed configuration, and the coordinates there; None if there is none."""
    boundary = Boundary(equations)
    flow = Flow(equations, run, y, p, sizes, "wavefront")
    try:
        basis = flow.tangent(flow.settled(y))
    except ChetaevError:
        return None
    names = list(flow.names)
    places = [names.index(z.name) for z in boundary.pairs]
    _, s, vt = np.linalg.svd(basis[places])
    first = sizes[:, None] * (basis @ vt[int(np.sum(s > 1e-9)) :].T)
    lines = {names[k]: first[k] for k in independent(basis)}
    start, parameters = dict(zip(names, y.tolist(), strict=True)), dict(zip(run.parameters, p.tolist(), strict=True))
    near = nearby(boundary, start, parameters, (0.0, longest), lines, sizes[places], tolerance)
    times = None if near is None else conjugate_times(near, longest)
    if near is None or not times:
        return None
    there = near.motion.at(times[0])
    return times[0], {q.name: float(there[q.name]) for q in equations.system.coordinates}


def crossings(x: Array, y: Array) -> Array:
    """Where a polygon crosses itself: a line for each crossing, with both coordinates and the two places along the polygon."""
    points = np.column_stack([x, y])
    steps = np.diff(points, axis=0)
    found = []
    for i in range(len(steps)):
        for j in range(i + 2, len(steps)):
            matrix = np.column_stack([steps[i], -steps[j]])
            if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) <= 1e-14 * np.linalg.norm(steps[i]) * np.linalg.norm(steps[j]):
                continue
            a, b = np.linalg.solve(matrix, points[j] - points[i])
            closed = i == 0 and j == len(steps) - 1  # neighbours, if the polygon closes
            if 0 <= a < 1 and 0 <= b < 1 and not closed:
                found.append([*(points[i] + a * steps[i]), i + a, j + b])
    return np.array(found).reshape(len(found), 4)


def named(points: Sequence[tuple[float, Mapping[str, float]] | None], names: list[str], shape: tuple[int, ...]) -> dict[str, Array]:
    """Points and their times as arrays by name, NaN where there is none."""
    table = {name: np.full(len(points), np.nan) for name in ("t", *names)}
    for k, point in enumerate(points):
        if point is not None:
            table["t"][k] = point[0]
            for name in names:
                table[name][k] = point[1][name]
    return {name: column.reshape(shape) for name, column in table.items()}
