r"""wavefront: the ends of all extremals of one length from a point, the image of the exponential map.

Extremals of unit speed ($2L = 1$) leave a point in all admissible directions, and with all multipliers. After a time $t$ their ends form
the wavefront. The points that no shorter extremal reaches form the sphere of radius $t$; the wavefront folds at conjugate points.

An extremal is no longer a minimum after its first conjugate point. It may stop being the shortest curve before, where another one of the
same length arrives: the first such points form the cut locus. On a surface these are self-crossings of the wavefront.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError, StateError, UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Multiplier
from chetaev.core.values import Tape
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.split import split
from chetaev.numerics.prepared import prepare
from chetaev.orbits.flow import Flow
from chetaev.paths.boundary.ends import Array, Boundary
from chetaev.paths.connect import read_system
from chetaev.paths.properties.conjugate import conjugate_times, independent, nearby

_DIRECTIONS = 61
"""Default number of directions in a plane of velocities; the first and the last one agree, so that a drawn surface closes."""
_MOTIONS_FOR_SIZES = 23
"""Number of motions from which typical sizes are taken; a prime, so that they do not all have the same direction."""
_MOST_STEPS = 20_000
"""Largest number of steps of an extremal; the ends of those that need more are NaN."""
_SPHERE = 400
"""Default number of directions where more than two velocities are free; they are random and evenly distributed."""
_CONJUGATE_TOLERANCE = 1e-9
"""Tolerance of the motions along which conjugate points are sought."""
_SIZE_TOLERANCE = 1e-6
"""Tolerance of the motions from which typical sizes are taken."""
_PART_OF_SIZE = 1e-3
"""Part of the largest value of a jet that is passed to `prepare` as its typical size: errors are then relative to a thousandth of it."""
_DEPENDENT_ROW = 1e-10
"""Singular values of the rows of constraints below this count as zero."""
_NOT_POSITIVE = 1e-12
"""Relative to its largest entry: smallest eigenvalue of a positive form on the admissible velocities."""
_FIXED_POSITION = 1e-9
"""Singular values of the positions in a basis of states below this belong to directions that leave the positions fixed."""
_PARALLEL = 1e-14
"""Relative determinant of two edges that count as parallel and do not cross."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Wavefront:
    """The ends of extremals from one point."""

    equations: Equations
    """The equations of the extremals."""
    t: float
    """The length of the extremals, which have unit speed."""
    points: Mapping[str, Array]
    """The ends by coordinate: a row for each direction, a column for each combination of multipliers; NaN where a motion did not reach its
    end."""
    starts: Mapping[str, Array]
    """The starts by jet, in the same order."""
    run: Any
    """The prepared motion of all extremals."""
    parameters: Array
    """The values of the parameters, in the order of `run`."""
    sizes: Array
    """Typical sizes of the jets."""

    def __getitem__(self, name: str) -> Array:
        """The ends of one coordinate."""
        if name not in self.points:
            raise UsageError(f"{name} is not a coordinate.", where="wavefront", hint=" ".join(self.points))
        return self.points[name]

    def conjugate(self, longest: float | None = None) -> Mapping[str, Array]:
        """The first conjugate points of all extremals: `t` and the coordinates by name, in the order of the ends.

        Args:
            longest: The length up to which the extremals are followed; by default twice that of the wavefront.

        Returns:
            Arrays by name; NaN for extremals without a conjugate point within this length.
        """
        length = 2 * self.t if longest is None else float(longest)
        table = np.stack(list(self.starts.values()), axis=-1)
        lines = table.reshape(-1, table.shape[-1])
        found = [
            _first_conjugate_point(self.equations, self.run, y, self.parameters, self.sizes, length, _CONJUGATE_TOLERANCE) for y in lines
        ]
        return Frozen(_columns(found, list(self.points), table.shape[:-1]))

    def meetings(self) -> Mapping[str, Array]:
        """The points that two extremals of this length reach: self-crossings of the wavefront of a surface.

        They are computed for the polygon through the ends, so that more directions give more accurate points. At the length at which the
        wavefront first meets itself, they are points of the cut locus.

        Returns:
            The coordinates by name, and `first` and `second`: the positions of the two extremals among the directions, as fractional
            indices.

        Raises:
            UsageError: If the wavefront is not a curve in two coordinates.
        """
        names = list(self.points)
        if len(names) != 2 or self.points[names[0]].shape[1] != 1:
            why = "Meetings are defined on surfaces: two coordinates, and no multipliers."
            hint = (Ask("connect", "..."), " between given ends")
            raise UsageError("the wavefront is not a curve.", where=f"wavefront {self.equations.system.label}", why=why, hint=hint)
        found = _crossings(self.points[names[0]][:, 0], self.points[names[1]][:, 0])
        return Frozen(dict(zip((*names, "first", "second"), found.T, strict=True)))

    def __repr__(self) -> str:
        shape = next(iter(self.points.values())).shape
        return f"<wavefront of {self.equations.system.label} at t = {self.t:g}: {shape[0]} directions, {shape[1]} multipliers>"


@public
def wavefront(
    system: Any,
    principle: Any = None,
    start: Mapping[str, Any] | None = None,
    t: float = 1.0,
    parameters: Mapping[str, Any] | None = None,
    *,
    multipliers: Mapping[str, Sequence[float]] | None = None,
    directions: int | None = None,
    tolerance: float = 1e-9,
) -> Wavefront:
    """Compute the ends of all extremals of length `t` from a point.

    Args:
        system: A system or a model whose L is a quadratic form of the velocities: half the square of a length.
        principle: The principle; by default that of the model, and none for a system without constraints.
        start: The configuration from which the extremals start.
        t: The length of the extremals.
        parameters: Values of the parameters.
        multipliers: Values of each multiplier at the start, for all combinations; by default 81 values between -4 pi/t and 4 pi/t.
        directions: The number of directions at the start.
        tolerance: The tolerance of the motions.

    Returns:
        The ends as arrays, by coordinate.

    Raises:
        UsageError: For an argument of a wrong type.
        StateError: If L is not positive definite on the admissible velocities at the start.

    >>> import chetaev as ch
    >>> plane = ch.System("x y", lagrangian="(x'^2 + y'^2)/2")
    >>> front = wavefront(plane, None, {"x": 0, "y": 0}, t=2, directions=5)
    >>> front["x"].ravel().round(9) + 0.0
    array([ 2.,  0., -2.,  0.,  2.])
    """
    equations, values = read_system("wavefront", system, principle, parameters)
    where = f"wavefront {equations.system.label}"
    if equations.system.groups:
        why = "A wavefront is a set of points in coordinates."
        raise UsageError("group coordinates are not supported here.", where=where, why=why, hint="describe the rotation by angles")
    if isinstance(t, bool) or not isinstance(t, int | float) or not np.isfinite(t) or not t > 0:
        raise UsageError(f"t={t!r} is not a length.", where=about(where, "t"), hint="a positive number")
    run = prepare(equations, t=(0.0, float(t)), tolerance=tolerance)
    names, jets = list(run.state), list(run.jets)
    place: dict[str, Any] = {q.name: (start or {}).get(q.name) for q in equations.system.coordinates}
    missing = [name for name, v in place.items() if v is None]
    if missing:
        raise UsageError(f"the start has no value for {' '.join(missing)}.", where=where, hint="a value for each coordinate")
    columns = _multipliers(jets, multipliers, float(t), where)
    velocities = _directions(equations, place, values, directions, where)
    shape = (len(velocities), len(columns))
    starts = np.empty((*shape, len(names)))
    rest = {q.name: float(v) for q, v in zip(equations.system.coordinates, place.values(), strict=True)}
    for i, velocity in enumerate(velocities):
        for j, column in enumerate(columns):
            given = {**rest, **velocity, **column}
            starts[i, j] = [given.get(name, 0.0) for name in names]
    _, p = run.start(dict(zip(names, starts[0, 0].tolist(), strict=True)), values)
    table = starts.reshape(-1, len(names))
    scale = _scale(run, table, p)
    run = prepare(equations, t=run.t, tolerance=tolerance, scale=scale, max_steps=_MOST_STEPS)
    ends = run.many(table, p).reshape(*shape, len(names))
    points = {q.name: ends[:, :, names.index(q.name)] for q in equations.system.coordinates if q.name in names}
    sizes = np.array([scale.get(name, _PART_OF_SIZE) / _PART_OF_SIZE for name in names])
    return Wavefront(equations, float(t), points, {name: starts[:, :, k] for k, name in enumerate(names)}, run, p, sizes)


def _scale(run: Any, starts: Array, p: Array) -> dict[str, float]:
    """Typical sizes of the jets, from some of the motions; without them, coordinates that are
    zero up to round-off would need tiny steps.
    """
    few = starts[:: max(1, len(starts) // _MOTIONS_FOR_SIZES)]
    short = prepare(run.equations, t=run.t, tolerance=_SIZE_TOLERANCE, max_steps=_MOST_STEPS)
    ends = np.abs(np.vstack([short.many(few, p), few]))
    sizes = np.nanmax(ends, axis=0)
    return {name: _PART_OF_SIZE * float(size) for name, size in zip(run.state, sizes, strict=True) if size > 0}


def _multipliers(jets: Sequence[Any], given: Mapping[str, Sequence[float]] | None, t: float, where: str) -> list[dict[str, float]]:
    """All combinations of values of the multipliers that are part of the state."""
    own = [z.name for z in jets if isinstance(z, Multiplier)]
    unknown = [name for name in given or {} if name not in own]
    if unknown:
        raise UsageError(f"{unknown[0]} is not a multiplier of the state.", where=where, hint=f"multipliers: {' '.join(own) or 'none'}")
    grids = [np.asarray((given or {}).get(name, np.linspace(-4 * np.pi / t, 4 * np.pi / t, 81)), float) for name in own]
    mesh = np.meshgrid(*grids, indexing="ij") if grids else []
    table = np.array([m.ravel() for m in mesh]).T if grids else np.zeros((1, 0))
    return [dict(zip(own, line.tolist(), strict=True)) for line in table]


def _directions(
    equations: Equations, place: Mapping[str, Any], values: Mapping[str, Any], count: int | None, where: str
) -> list[dict[str, float]]:
    """Admissible velocities of unit speed at the start."""
    system = equations.system
    point = {q: float(place[q.name]) for q in system.coordinates} | {z: float(values[z.name]) for z in system.parameters}
    velocities = list(system.velocities)
    rows = [equations.total(row.residual) if row.order == 0 else row.residual for row in system.kinematic]
    try:
        rest = point | dict.fromkeys(velocities, 0.0)
        matrix = np.array([[float(Tape([row.diff(v)])(rest)[0]) for v in velocities] for row in rows]).reshape(len(rows), len(velocities))
        metric = np.array([[float(Tape([system.lagrangian.diff(v, w)])(rest)[0]) for v in velocities] for w in velocities])
    except (ChetaevError, ArithmeticError, ValueError) as fault:
        raise StateError(
            "the constraints or the second derivatives of L have no value at the start.", where=where, hint="another start"
        ) from fault
    basis = split(matrix, _DEPENDENT_ROW, size=1.0).null
    inner = basis.T @ metric @ basis
    if not basis.size or np.linalg.eigvalsh(inner)[0] <= _NOT_POSITIVE * np.abs(inner).max():
        why = "A unit speed needs a positive form on all admissible velocities."
        raise StateError(
            "L is not positive on all admissible velocities at the start.", where=where, why=why, hint="L = half the square of a length"
        )
    unit = basis @ np.linalg.inv(np.linalg.cholesky(inner).T)
    dimension = unit.shape[1]
    if dimension == 2:
        angles = np.linspace(0.0, 2 * np.pi, count or _DIRECTIONS)
        circle = np.array([np.cos(angles), np.sin(angles)])
    else:
        circle = np.random.default_rng(2).normal(size=(dimension, count or _SPHERE))
        circle = circle / np.linalg.norm(circle, axis=0)
    return [{v.name: float(x) for v, x in zip(velocities, column, strict=True)} for column in (unit @ circle).T]


def _first_conjugate_point(
    equations: Equations, run: Any, y: Array, p: Array, sizes: Array, longest: float, tolerance: float
) -> tuple[float, dict[str, float]] | None:
    """The first conjugate time of the extremal from state `y` with a fixed configuration, and
    the coordinates then; None if there is none.
    """
    boundary = Boundary(equations)
    flow = Flow(equations, run, y, p, sizes, "wavefront")
    try:
        basis = flow.tangent(flow.settled(y))
    except ChetaevError:
        return None
    names = list(flow.names)
    places = [names.index(z.name) for z in boundary.pairs]
    first = sizes[:, None] * (basis @ split(basis[places], _FIXED_POSITION, size=1.0).null)
    lines = {names[k]: first[k] for k in independent(basis)}
    start, parameters = dict(zip(names, y.tolist(), strict=True)), dict(zip(run.parameters, p.tolist(), strict=True))
    near = nearby(boundary, start, parameters, (0.0, longest), lines, sizes[places], tolerance)
    times = None if near is None else conjugate_times(near, longest)
    if near is None or not times:
        return None
    there = near.motion.at(times[0])
    return times[0], {q.name: float(there[q.name]) for q in equations.system.coordinates}


def _crossings(x: Array, y: Array) -> Array:
    """The self-crossings of a polygon: a row for each, with both coordinates and the two positions along the polygon."""
    points = np.column_stack([x, y])
    steps = np.diff(points, axis=0)
    found = []
    for i in range(len(steps)):
        for j in range(i + 2, len(steps)):
            matrix = np.column_stack([steps[i], -steps[j]])
            lengths = np.linalg.norm(steps[i]), np.linalg.norm(steps[j])
            if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) <= _PARALLEL * lengths[0] * lengths[1]:
                continue
            a, b = np.linalg.solve(matrix, points[j] - points[i])
            closed = i == 0 and j == len(steps) - 1  # adjacent edges of a closed polygon
            if 0 <= a < 1 and 0 <= b < 1 and not closed:
                found.append([*(points[i] + a * steps[i]), i + a, j + b])
    return np.array(found).reshape(len(found), 4)


def _columns(points: Sequence[tuple[float, Mapping[str, float]] | None], names: list[str], shape: tuple[int, ...]) -> dict[str, Array]:
    """Arrays of times and coordinates by name, with NaN for a missing point."""
    table = {name: np.full(len(points), np.nan) for name in ("t", *names)}
    for k, point in enumerate(points):
        if point is not None:
            table["t"][k] = point[0]
            for name in names:
                table[name][k] = point[1][name]
    return {name: column.reshape(shape) for name, column in table.items()}
