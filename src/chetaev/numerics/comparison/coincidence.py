r"""Initial multipliers for which a vakonomic motion is also a motion of another principle.

The accelerations, and their derivatives, of the vakonomic motion at a state are functions of the multipliers there. They are matched with
those of the other motion by Gauss-Newton steps, and a simulation checks whether the motions coincide. For a rolling disk the answer is
$\lambda = -\dot\theta(\cos\varphi, \sin\varphi)$ in our signs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import InitialError, StateError
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate
from chetaev.mechanics.equations import Equations
from chetaev.numerics.evaluation.values_at import values_at
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory

Array = NDArray[np.float64]
_MOST_STEPS = 12
"""Most Gauss-Newton steps; the iteration converges quadratically or not at all."""
_MATCHED = 1e-9
"""Relative residual below which rates match."""
_SAME_MOTION = 1e-6
"""Largest distance of motions that coincide, relative to the size of each coordinate; it exceeds the errors of both simulations."""
_LEAST_SIZE = 1e-3
"""Smallest size of a coordinate relative to the largest displacement of any: errors of the others move a coordinate that should rest."""
_ORDERS = (2, 3)
"""Orders of the derivatives that are matched: accelerations, and their rates, which determine multipliers that accelerations do not."""
_TOLERANCE = 1e-10
"""Tolerance of the simulation that is compared; its errors must be far below `_SAME_MOTION`."""
_DIFFERENCE = 1e-6
"""Step of the central differences of rates with respect to multipliers; smaller ones show round-off, larger ones the curvature."""
_CUT = 1e-9
"""Relative: singular values of these slopes below this are left out of a Gauss-Newton step."""


def coinciding_multipliers(
    vakonomic: Equations, other: Trajectory, times: Array, parameters: Mapping[str, Any], inputs: Mapping[str, Any]
) -> Frozen[str, float] | None:
    """Initial multipliers with which the vakonomic motion is the given motion of another principle; None if there are none."""
    coordinates = vakonomic.system.coordinates
    names = [m.base for m in vakonomic.multipliers]
    system = vakonomic.system
    places = [z for group in system.groups.values() for z in group.places]
    positions = [*[q for q in coordinates if q not in system.frame.turning], *places]
    start = {z.name: float(other[z.name][0]) for z in (*positions, *[q.d() for q in coordinates])}
    if other.equations.lowered.action is not None:
        start[other.equations.lowered.action.name] = float(other[other.equations.lowered.action.name][0])
    jets = [q.d(order) for order in _ORDERS for q in coordinates]
    values: dict[str, Any] = {"parameters": parameters, "t": float(times[0]), "inputs": inputs}
    wanted = np.array(values_at(other.equations, start, jets, **values))

    def rates(multipliers: Array) -> Array:
        return np.array(values_at(vakonomic, {**start, **dict(zip(names, map(float, multipliers), strict=True))}, jets, **values))

    try:
        found = _matched(rates, wanted, len(names), _usual(other, coordinates, times))
        if found is None:
            return None
        data = dict(zip(names, map(float, found), strict=True))
        motion = simulate(vakonomic, {**start, **data}, times, tolerance=_TOLERANCE, parameters=parameters, inputs=inputs)
    except (InitialError, StateError):  # the iteration reached a singular state: the motions do not coincide
        return None
    if len(motion.t) < len(times) or len(other.t) < len(times):
        return None
    known = positions or [q.d() for q in coordinates]  # a reduced system has velocities only
    paths = {z.name: float(np.ptp(other[z.name])) for z in known}
    least = _LEAST_SIZE * max(paths.values(), default=0.0)
    sizes = {name: max(path, least, float(np.abs(other[name]).max())) for name, path in paths.items()}
    same = all(float(np.abs(motion[name] - other[name]).max()) <= _SAME_MOTION * size for name, size in sizes.items())
    return Frozen(data) if same else None


def _usual(motion: Trajectory, coordinates: Sequence[Coordinate], times: Array) -> Array:
    """Typical sizes of the derivatives, from the velocities and the duration; for a uniform motion far smaller ones are round-off."""
    fastest = max((float(np.abs(motion[q.d().name]).max()) for q in coordinates), default=0.0)
    span = abs(float(times[-1] - times[0]))
    return np.repeat([fastest / span ** (order - 1) for order in _ORDERS], len(coordinates))


def _matched(rates: Any, wanted: Array, count: int, usual: Array) -> Array | None:
    """Return multipliers with the wanted rates, by Gauss-Newton with difference quotients; None if the rates cannot be reached.

    `usual` has typical sizes of the rates for a motion of this speed and duration.
    """
    found = np.zeros(count)
    scale = np.maximum(usual, np.abs(wanted).max(initial=0.0))
    for _ in range(_MOST_STEPS):
        here = rates(found)
        residual = here - wanted
        scale = np.maximum(scale, np.abs(here).max(initial=0.0))
        if np.all(np.abs(residual) <= _MATCHED * scale):
            return found
        step = _DIFFERENCE
        slopes = np.column_stack([(rates(found + step * e) - rates(found - step * e)) / (2 * step) for e in np.eye(count)])
        found = found - np.linalg.lstsq(slopes, residual, rcond=_CUT)[0]
    return None
