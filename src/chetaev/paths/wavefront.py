r"""wavefront: the ends of all extremals of one length from a point, the image of the exponential map.

Extremals of unit speed ($2L = 1$) leave a point in all admissible directions, and with all multipliers. After a time $t$ their ends form
the wavefront. The points that no shorter extremal reaches form the sphere of radius $t$; the wavefront folds at conjugate points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError, StateError, UsageError
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Multiplier
from chetaev.core.values import Tape
from chetaev.mechanics.equations import Equations
from chetaev.numerics.prepared import prepare
from chetaev.paths.boundary.ends import Array
from chetaev.paths.connect import read_system
from chetaev.paths.findings.locus import crossings, first_conjugate_point, named

_DIRECTIONS = 61
"""Directions of the start in a plane of velocities, both ends of the circle included, so that a drawn surface closes."""
_MOTIONS_FOR_SIZES = 23
"""Motions from which typical sizes are taken; a prime, so that they are not all of one direction."""
_MOST_STEPS = 20_000
"""The largest number of steps of an extremal; those that need more are NaN."""
_SPHERE = 400
"""Directions of the start where more than two velocities are free: evenly distributed by chance."""


@dataclass(frozen=True, eq=False, repr=False)
class Wavefront:
    """The ends of extremals from one point."""

    equations: Equations
    """The `equations` of the extremals."""
    t: float
    """The length of the extremals, which have unit speed."""
    points: Mapping[str, Array]
    """The ends by coordinate: a line for each direction, a column for each combination of multipliers; NaN where a motion did not end."""
    starts: Mapping[str, Array]
    """The starts by jet, in the same order."""
    run: Any
    """The prepared `run` of all extremals."""
    parameters: Array
    """The values of the `parameters`, in the order of the run."""
    sizes: Array
    """Typical `sizes` of the jets."""

    def __getitem__(self, name: str) -> Array:
        """The ends of one coordinate."""
        if name not in self.points:
            raise UsageError(f"{name} is not a coordinate.", where="wavefront", hint=" ".join(self.points))
        return self.points[name]

    def conjugate(self, longest: float | None = None) -> Mapping[str, Array]:
        """The first conjugate points of all extremals: `t` and the coordinates by name, in the order of the ends.

        Args:
            longest: The length up to which the extremals are followed; twice that of the wavefront by default.

        Returns:
            Arrays by name, NaN for extremals without a conjugate point up to there.
        """
        length = 2 * self.t if longest is None else float(longest)
        table = np.stack(list(self.starts.values()), axis=-1)
        lines = table.reshape(-1, table.shape[-1])
        found = [first_conjugate_point(self.equations, self.run, y, self.parameters, self.sizes, length, 1e-9) for y in lines]
        return Frozen(named(found, list(self.points), table.shape[:-1]))

    def meetings(self) -> Mapping[str, Array]:
        """The points that two extremals of this length reach: crossings of the wavefront of a surface with itself.

        They are those of the polygon through the ends, so that more directions give more digits. For lengths at which the wavefront first
        meets itself, they are points of the cut locus.

        Returns:
            The coordinates by name, and `first` and `second`: the places of the two extremals among the directions.

        Raises:
            UsageError: If the wavefront is no curve in two coordinates.
        """
        names = list(self.points)
        if len(names) != 2 or self.points[names[0]].shape[1] != 1:
            why = "Meetings are sought for surfaces: two coordinates, and no multipliers."
            hint = "connect(...) between given ends"
            raise UsageError("the wavefront is no curve.", where=f"wavefront {self.equations.system.label}", why=why, hint=hint)
        found = crossings(self.points[names[0]][:, 0], self.points[names[1]][:, 0])
        return Frozen(dict(zip((*names, "first", "second"), found.T, strict=True)))

    def __repr__(self) -> str:
        shape = next(iter(self.points.values())).shape
        return f"<wavefront of {self.equations.system.label} at t = {self.t:g}: {shape[0]} directions, {shape[1]} multipliers>"


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
    """The ends of all extremals of length `t` from a point.

    Args:
        system: A system or a model whose L is a quadratic form of the velocities: half the square of a length.
        principle: The principle; None for that of a model, or for a system without constraints.
        start: The configuration.
        t: The length of the extremals.
        parameters: Values of the parameters.
        multipliers: Values of each multiplier at the start, for all combinations; by default 81 values between -4 pi/t and 4 pi/t.
        directions: The number of directions at the start.
        tolerance: The tolerance of the motions.

    Returns:
        The ends as arrays, by coordinate.

    Raises:
        UsageError: For an argument of a wrong kind.
        StateError: If L does not measure the velocities at the start.

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
        raise UsageError(f"t={t!r} is no length.", where=where, hint="a positive number")
    run = prepare(equations, t=(0.0, float(t)), tolerance=tolerance)
    names, jets = list(run.state), list(run.jets)
    place: dict[str, Any] = {q.name: (start or {}).get(q.name) for q in equations.system.coordinates}
    missing = [name for name, v in place.items() if v is None]
    if missing:
        raise UsageError(f"the start has no value for {' '.join(missing)}.", where=where, hint="a value for each coordinate")
    columns = _multipliers(jets, multipliers, float(t), where)
    velocities = _directions(equations, run, place, values, directions, where)
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
    sizes = np.array([scale.get(name, 1e-3) / 1e-3 for name in names])
    return Wavefront(equations, float(t), points, {name: starts[:, :, k] for k, name in enumerate(names)}, run, p, sizes)


def _scale(run: Any, starts: Array, p: Array) -> dict[str, float]:
    """Typical sizes of the jets, from some of the motions: a coordinate that is zero but for rounding would take steps without end."""
    few = starts[:: max(1, len(starts) // _MOTIONS_FOR_SIZES)]
    short = prepare(run.equations, t=run.t, tolerance=1e-6, max_steps=_MOST_STEPS)
    ends = np.abs(np.vstack([short.many(few, p), few]))
    sizes = np.nanmax(ends, axis=0)
    return {name: 1e-3 * float(size) for name, size in zip(run.state, sizes, strict=True) if size > 0}


def _multipliers(jets: Sequence[Any], given: Mapping[str, Sequence[float]] | None, t: float, where: str) -> list[dict[str, float]]:
    """All combinations of values of the multipliers that are part of the state."""
    own = [z.name for z in jets if isinstance(z, Multiplier)]
    unknown = [name for name in given or {} if name not in own]
    if unknown:
        raise UsageError(f"{unknown[0]} is no multiplier of the state.", where=where, hint=f"multipliers: {' '.join(own) or 'none'}")
    grids = [np.asarray((given or {}).get(name, np.linspace(-4 * np.pi / t, 4 * np.pi / t, 81)), float) for name in own]
    mesh = np.meshgrid(*grids, indexing="ij") if grids else []
    table = np.array([m.ravel() for m in mesh]).T if grids else np.zeros((1, 0))
    return [dict(zip(own, line.tolist(), strict=True)) for line in table]


def _directions(
    equations: Equations, run: Any, place: Mapping[str, Any], values: Mapping[str, Any], count: int | None, where: str
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
        raise StateError("the velocities have no measure at the start.", where=where, hint="another start") from fault
    _, s, vt = np.linalg.svd(matrix) if len(rows) else (None, np.zeros(0), np.eye(len(velocities)))
    basis = vt[int(np.sum(s > 1e-10)) :].T
    inner = basis.T @ metric @ basis
    if not basis.size or np.linalg.eigvalsh(inner)[0] <= 1e-12 * np.abs(inner).max():
        why = "A unit speed needs a positive form on all admissible velocities."
        raise StateError(
            "L does not measure all admissible velocities at the start.", where=where, why=why, hint="L = half a square of a length"
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
