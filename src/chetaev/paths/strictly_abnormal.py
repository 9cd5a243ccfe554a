r"""Strictly abnormal paths: abnormal curves between the ends that are not normal extremals.

No multipliers of the normal equations lead to such a curve, so no seed finds it. If the rows determine the field of abnormal curves
(`abnormal`), only one such curve leaves the start. If it meets the end, its timing is that of least action along the curve, which is the
motion of a bead on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from chetaev.core.errors import ModelError
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet
from chetaev.core.system import System, fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.principles import DAlembert
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.paths.abnormal import abnormal
from chetaev.paths.boundary.ends import Array
from chetaev.paths.boundary.shooting import Shooting
from chetaev.paths.path import Path

_FOLLOWED_DISTANCE = 2.0
"""Length to which the curve is followed, in units of the length at which the field at the start would move each coordinate to the end."""
_SAMPLES_OF_CURVE = 2001
"""Number of samples of the curve in each search for the point nearest to the end."""
_MET = 1e-9
"""Largest distance of the curve from the end, relative to the sizes of the coordinates."""
_SAME_CURVE = 1e-6
"""Largest distance, relative to the sizes of the coordinates, of a normal path that is the same curve."""
_TOLERANCE = 1e-13
"""Tolerance of the motion along the curve whose nearest point to the end is sought."""
_FINEST_INTERVAL = 1e-14
"""Relative to the longest duration: shortest interval of times around the nearest point; shorter ones are round-off."""
_CLEARLY_MET = 1e-4
"""Relative to `_MET`: distance at which the search for the nearest point ends."""
_NEAR_ENOUGH = 1e-9
"""Relative to the longest duration: interval of times at which the search ends."""


@dataclass(frozen=True)
class Singular:
    """The properties of a strictly abnormal path."""

    inner: Path
    """The motion of a bead along the curve."""
    start: Mapping[str, float]
    residual: float
    action: float
    multipliers: Mapping[str, float]
    unknown: Mapping[str, float]
    family = 0
    minimum = None
    times = ()
    kind = "abnormal"

    def certified(self) -> Trajectory:
        """The motion with its certificate."""
        return self.inner.motion


def strictly_abnormal(
    join: Callable[..., Sequence[Path]],
    shooting: Shooting,
    known: Sequence[Mapping[Jet, float]],
    parameters: Mapping[str, float],
    normal: Sequence[Path],
) -> list[Path]:
    """The strictly abnormal path between two configurations, if the rows determine one; `join` is `connect`."""
    equations, ends = shooting.flow.equations, shooting.ends
    system = equations.system
    whole = all(q in values for q in system.coordinates for values in known)
    plain = not (system.groups or system.inputs or system.action is not None or ends.start.others or ends.end.others or shooting.unknown)
    if not (whole and plain and equations.lowered.costates and shooting.t1 is not None and ends.boundary.variational):
        return []
    if any(z.order for z in ends.boundary.pairs) or any(row.order != 1 for row in system.kinematic):
        return []
    first, last = ({q: values[q] for q in system.coordinates} for values in known)
    try:
        found = abnormal(system, {q.name: v for q, v in first.items()}, parameters)
    except ModelError:
        return []  # `abnormal` does not accept rows that have a drift or are not linear
    if not found.motions or found.field is None:
        return []
    sizes = np.array([shooting.flow.sizes[shooting.flow.names.index(q.name)] for q in system.coordinates])
    curve = _along(system, found.field)
    place = _meeting(curve, found.field, first, last, parameters, sizes)
    if place is None:
        return []
    begin = {q.name: v for q, v in first.items()} | {curve.coordinates[-1].name: 0.0}
    beads = join(curve, DAlembert(), begin, {curve.coordinates[-1].name: place}, t=shooting.flow.run.t, parameters=parameters, seeds=2)
    return [
        Path(_properties(bead, system, last, sizes)) for bead in beads[:1] if not any(_same(bead, path, system, sizes) for path in normal)
    ]


def _along(system: System, field: Mapping[str, sympy.Expr]) -> System:
    """The system of a bead on the curve: all coordinates move along the field, and an additional coordinate is the curve parameter."""
    (counter,) = fresh_coordinates(system, ["way"])
    rows = [sympy.Eq(q.d(), field[q.name] * counter.d()) for q in system.coordinates]
    kinds = {q.name: "line" for q in (*system.coordinates, counter)}
    return System(kinds, list(system.parameters), lagrangian=system.lagrangian, kinematic=rows, name=f"abnormal curve of {system.label}")


def _meeting(
    curve: System,
    field: Mapping[str, sympy.Expr],
    first: Mapping[Jet, float],
    last: Mapping[Jet, float],
    parameters: Mapping[str, float],
    sizes: Array,
) -> float | None:
    """The curve parameter at which the curve meets the end; None if it does not."""
    point = {**first, **{z: parameters[z.name] for z in curve.parameters}}
    speeds = np.array([abs(float(field[q.name].xreplace(point))) for q in first])
    ways = np.abs([last[q] - v for q, v in first.items()])
    longest = float(np.max(np.where(speeds > 0, ways / np.where(speeds > 0, speeds, 1.0), 0.0)))
    if longest == 0:
        return None
    target, names = np.array(list(last.values())), [q.name for q in first]
    start = {q.name: v for q, v in first.items()} | {curve.coordinates[-1].name: 0.0}
    unit = System(curve.kinds, list(curve.parameters), lagrangian="0", kinematic=[*curve.kinematic, f"{curve.coordinates[-1].name}' = 1"])
    for sign in (1.0, -1.0):
        motion = simulate(
            derive(unit, DAlembert()),
            start,
            (0.0, sign * _FOLLOWED_DISTANCE * longest),
            parameters=parameters,
            tolerance=_TOLERANCE,
            progress=False,
        )
        low, high = sorted((float(motion.t[0]), float(motion.t[-1])))
        while high - low > _FINEST_INTERVAL * longest:
            times = np.linspace(low, high, _SAMPLES_OF_CURVE)
            section = motion.at(times)
            off = np.linalg.norm((np.array([section[name] for name in names]).T - target) / sizes, axis=1)
            k = int(np.argmin(off))
            if off[k] < _MET * _CLEARLY_MET or high - low < _NEAR_ENOUGH * longest:
                break
            low, high = float(times[max(k - 1, 0)]), float(times[min(k + 1, len(times) - 1)])
        if off[k] < _MET:
            return float(times[k])
    return None


def _properties(bead: Path, system: System, last: Mapping[Jet, float], sizes: Array) -> Singular:
    names = [q.name for q in system.coordinates]
    off = np.abs([bead.motion.final[q.name] - v for q, v in last.items()]) / sizes
    start = Frozen({name: v for name, v in bead.start.items() if name.rstrip("'") in names})
    return Singular(bead, start, float(max(off.max(), bead.residual)), bead.action, Frozen({}), Frozen({}))


def _same(bead: Path, path: Path, system: System, sizes: Array) -> bool:
    """Whether a normal path is the curve of the bead, with the same timing."""
    times = np.linspace(bead.motion.t[0], bead.motion.t[-1], 17)
    one, other = (np.array([motion.at(times)[q.name] for q in system.coordinates]) for motion in (bead.motion, path.motion))
    return bool(np.all(np.abs(one - other) <= _SAME_CURVE * sizes[:, None]))
