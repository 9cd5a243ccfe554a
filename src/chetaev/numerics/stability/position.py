r"""The state as a vector of directions, for the study of nearby motions.

For ordinary systems these are the jets of the state. A group coordinate A has directions $\eta^a$ along its fields,
$\delta A = \eta^a X_a$, around its current value: there is no chart, so that a steady rotation is a steady motion.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Jet
from chetaev.core.system import System
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.flow.prolongation import Problem, Prolongation
from chetaev.numerics.start.matrix_element import in_coset

_STEPS_PER_ROTATION = 200
"""Runge-Kutta steps of a rotation at constant velocity: the error of fourth order is then at round-off for a turn."""


def directions(system: Prolongation) -> tuple[Jet, ...]:
    """The jets below the top; the component `A1` of a group coordinate stands for the direction of its field."""
    found = system.structure
    return tuple(z.d(k) for z, d in zip(found.unknowns, found.unknown_offsets, strict=True) for k in range(d))


def centred(problem: Problem, jets: Mapping[Jet, float]) -> tuple[Problem, Matrix]:
    """The problem around the group elements of a state, and the vector of that state."""
    places = {z: jets[z] for group in problem.system.equations.system.groups.values() for z in group.places}
    turning = problem.system.equations.system.frame.turning
    vector = np.array([0.0 if z in turning else jets[z] for z in directions(problem.system)])
    return replace(problem, centre=places), vector


def jets_at(problem: Problem, x: Matrix) -> dict[Jet, float]:
    """The state that belongs to a vector of directions."""
    values = dict(zip(directions(problem.system), map(float, x), strict=True))
    turning = problem.system.equations.system.frame.turning
    jets = {z: v for z, v in values.items() if z not in turning}
    for group in problem.system.equations.system.groups.values():
        here = [problem.centre[z] for z in group.places]
        step = [values.get(q, 0.0) for q in group.components]
        moved = group.group.rates(here, step, group.body, math.cos, math.sin) if group.places else []
        jets |= {z: v + dv for z, v, dv in zip(group.places, here, moved, strict=True)}
    return jets


def carried(problem: Problem, x: Matrix, time: float) -> tuple[Problem, Matrix]:
    """Return the problem and the vector of the state after `time` at constant velocities."""
    found = directions(problem.system)
    values = dict(zip(found, map(float, x), strict=True))
    jets = jets_at(problem, x)
    moved = {z: v + time * values.get(z.d(), 0.0) if z.order == 0 else v for z, v in jets.items()}
    for group in problem.system.equations.system.groups.values():
        place, velocity = [jets[z] for z in group.places], [values.get(q.d(), 0.0) for q in group.components]
        moved |= dict(zip(group.places, _turned(group, place, velocity, time), strict=True))
    return centred(problem, moved)


def normalised(system: System, jets: Mapping[Jet, float]) -> dict[Jet, float]:
    """Jets with the quaternions of group coordinates brought to length one, and matrices to their cosets."""
    found = dict(jets)
    for group in system.groups.values():
        if isinstance(group.group, MatrixGroup) and group.places:
            found |= dict(zip(group.places, in_coset(group, [found[z] for z in group.places]), strict=True))
        quaternion = group.places[-4:] if group.group.orthogonal == 3 else ()
        length = math.sqrt(sum(found[z] ** 2 for z in quaternion))
        found |= {z: found[z] / length for z in quaternion if length > 0}
    return found


def tangent(system: System, jets: Sequence[Jet], at: Mapping[Jet, float]) -> Matrix:
    """The directions in which jets may move, as columns: one for each jet, and the fields of a group of matrices for its numbers."""
    values = np.array([at.get(z, 0.0) for z in jets], dtype=float)  # only the numbers of groups matter
    return fields(system, jets, values, [group for group in system.groups.values() if isinstance(group.group, MatrixGroup)])


def fields(system: System, jets: Sequence[Jet], values: Matrix, groups: Sequence[GroupCoordinate] | None = None) -> Matrix:
    """A unit vector for each jet and, for some groups (all by default), their fields in the place of unit vectors of their numbers."""
    columns = {z: k for k, z in enumerate(jets)}
    at = dict(zip(jets, map(float, values), strict=True))
    held: set[Jet] = set()
    found: list[Matrix] = []
    for group in system.groups.values() if groups is None else groups:
        if not group.places or not all(z in columns for z in group.places):
            continue
        held.update(group.places)
        here = [at[z] for z in group.places]
        for a in range(group.group.dimension):
            unit = [1.0 if b == a else 0.0 for b in range(group.group.dimension)]
            line = np.zeros(len(jets))
            line[[columns[z] for z in group.places]] = group.group.rates(here, unit, group.body, math.cos, math.sin)
            found.append(line)
    plain = [np.eye(len(jets))[k] for z, k in columns.items() if z not in held]
    return np.array([*plain, *found]).T if plain or found else np.zeros((len(jets), 0))


def _turned(group: GroupCoordinate, place: Sequence[float], velocity: Sequence[float], time: float) -> list[float]:
    """The stored numbers of a group element after a time at constant velocity, by the classical Runge-Kutta method."""
    here, h = np.array(place, dtype=float), time / _STEPS_PER_ROTATION

    def rates(q: Matrix) -> Matrix:
        return np.array(group.group.rates(list(q), velocity, group.body, math.cos, math.sin), dtype=float)

    for _ in range(_STEPS_PER_ROTATION if len(here) else 0):
        a = rates(here)
        b = rates(here + h / 2 * a)
        c = rates(here + h / 2 * b)
        here = here + h / 6 * (a + 2 * b + 2 * c + rates(here + h * c))
    return here.tolist()


def name_of(problem: Problem, z: Jet) -> str:
    """Return the name of a direction: `δA1` for one of a group coordinate."""
    return f"δ{z.base}" if z in problem.system.equations.system.frame.turning else z.name
