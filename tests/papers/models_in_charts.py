"""A gallery model with a group coordinate, written in ordinary coordinates near its start, with its initial data carried over.

`chetaev.groups.in_coordinates` writes the system; the state is carried over here, with quaternions as matrices.
"""

from dataclasses import dataclass

import numpy as np
import sympy

import chetaev as ch
from chetaev.core.symbols import Coordinate, Place
from chetaev.groups import in_coordinates
from chetaev.numerics.flow.prolongation import prolongation

OFF = (0.11, -0.07, 0.05, 0.09)
"""How far the centre of a chart is from the place of the start, so that the state has no special place in the chart."""


@dataclass(frozen=True)
class InChart:
    """The model in ordinary coordinates, and the components of the group's velocity in them."""

    model: ch.Model
    velocities: dict[Coordinate, sympy.Expr]


def in_chart(model):
    """The model in a chart around a place near its start."""
    now = ch.evaluate(model)
    ((name, group),) = model.system.groups.items()
    here = [now.jets[z] for z in group.places]
    centre = [sympy.Rational(str(v)) + sympy.Rational(str(shift)) for v, shift in zip(here, OFF, strict=False)]
    system = in_coordinates(model.system, {name: centre})
    plain = model.system.replace(kinematic=(), variational=None, forces={}, dissipation=None, where={}, quasi={})
    written = [in_coordinates(plain.replace(lagrangian=q.d()), {name: centre}).lagrangian for q in group.components]
    chart = [q for q in system.coordinates if q not in model.system.coordinates]
    there = dict(zip(chart, _coordinates_of(group, centre, here), strict=True))
    slopes = np.array([[float(e.diff(y.d()).subs(there)) for y in there] for e in written])
    speeds = np.linalg.solve(slopes, [now[q.d().name] for q in group.components])
    start = {y.name: v for y, v in there.items()} | {y.d().name: float(v) for y, v in zip(there, speeds, strict=True)}
    start |= {z.name: now.jets[z] for z in state_beside(model, group)}
    flat = ch.Model(
        system,
        model.principle,
        parameters=model.parameters,
        start=ch.State(start),
        t=model.t,
        inputs=model.inputs,
    )
    return InChart(flat, {q.d(): e for q, e in zip(group.components, written, strict=True)})


def state_beside(model, group):
    """The jets of the state that do not belong to the group coordinate."""
    inner = {q.base for q in group.components}
    return [z for z in prolongation(ch.derive(model)).structure.state if not isinstance(z, Place) and z.base not in inner]


def _coordinates_of(group, centre, here):
    """The coordinates of a place in the chart around a centre: $q = q_0 (1, y/2)$ in the body and $(1, y/2) q_0$ in space."""
    if "w" not in group.group.places:
        return [v - float(c) for v, c in zip(here, centre, strict=True)]
    w, x, y, z = (float(c) for c in centre)
    sign = 1 if group.body else -1
    times = np.array([[w, -x, -y, -z], [x, w, -sign * z, sign * y], [y, sign * z, w, -sign * x], [z, -sign * y, sign * x, w]])
    small = np.linalg.solve(times, here)
    return [float(v) for v in 2 * small[1:] / small[0]]
