r"""Group elements in boundary value problems: their values, displacements and typical sizes.

An element A has no coordinates. At an end it is given by the entries of its matrix, so that the number of turns to an attitude does not
matter. It moves along its fields, $\delta A = \eta^a X_a$; the components $\eta^a$ are its displacements, and the Ostrogradsky momenta of
`A1`, `A2`, ... belong to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Coordinate, Entry, Jet
from chetaev.core.system import System

Array = NDArray[np.float64]

_OUTSIDE_ALGEBRA = 1e-9
"""Largest part of a matrix logarithm outside the Lie algebra, relative to the velocity; beyond it the element lies on no one-parameter
subgroup."""


def turning_in(symbols: Iterable[object]) -> set[Jet]:
    """The components `A1`, `A2`, ... of the group elements whose entries occur among `symbols`."""
    return {Coordinate(name) for z in symbols if isinstance(z, Entry) for name in z.components}


def matrix_at(group: GroupCoordinate, places: Sequence[float]) -> Array:
    """The matrix of an element from its stored numbers."""
    return np.array(group.group.matrix(list(places), math.cos, math.sin), dtype=float)


def entry_values(group: GroupCoordinate, places: Sequence[float]) -> dict[Entry, float]:
    """The values of the entries of an element, except entries that are constant on the group."""
    matrix, n = matrix_at(group, places), group.group.size
    cells = [(i, j) for i in range(n) for j in range(n) if isinstance(group.matrix[i, j], Entry)]
    return {group.matrix[c]: float(matrix[c]) for c in cells}


def identities(system: System) -> dict[Jet, float]:
    """The stored numbers of the identities of all groups."""
    return {z: float(v) for group in system.groups.values() for z, v in zip(group.places, group.group.identity, strict=True)}


def wound(system: System, means: Mapping[Jet, float], turns: int) -> dict[Jet, float]:
    """The velocities of `mean_velocities` with more turns around the axes of rotations."""
    found = dict(means)
    for group in system.groups.values():
        angular = [q.d() for q in group.components[group.group.rotation] if q.d() in means]
        angle = float(np.linalg.norm([means[z] for z in angular]))
        if angle > 0:
            found |= {z: means[z] * (1 + 2 * math.pi * turns / angle) for z in angular}
    return found


def displacements(system: System, jets: Sequence[Jet], y: Array, columns: Array, wanted: Sequence[Jet]) -> Array:
    """The displacements of the jets `wanted` when the state `y` moves along `columns`; those of a component `A1` are along its field."""
    at = {z: k for k, z in enumerate(jets)}
    owners = {q: (group, a) for group in system.groups.values() for a, q in enumerate(group.components)}
    moved: dict[str, Array] = {}
    lines = []
    for z in wanted:
        if z in owners:
            group, a = owners[z]
            if group.name not in moved:
                moved[group.name] = _along_fields(group, at, y, columns)
            lines.append(moved[group.name][a])
        else:
            lines.append(columns[at[z]])
    return np.array(lines).reshape(len(wanted), columns.shape[1])


def _along_fields(group: GroupCoordinate, at: Mapping[Jet, int], y: Array, columns: Array) -> Array:
    rows = [at[z] for z in group.places]
    place, count = [float(v) for v in y[rows]], group.group.dimension
    fields = np.array([group.group.rates(place, np.eye(count)[a].tolist(), group.body, math.cos, math.sin) for a in range(count)], float).T
    found: Array = np.linalg.lstsq(fields, columns[rows], rcond=None)[0]
    return found


def components_from_entries(group: GroupCoordinate, matrices: Array, slopes: Array) -> Array:
    """The components of displacements from derivatives of the matrix.

    `slopes` has the axes time, row, column, direction; the result has the axes time, component, direction.
    """
    first = np.linalg.inv(matrices)
    shifted = np.einsum("tij,tjkd->tikd", first, slopes) if group.body else np.einsum("tijd,tjk->tikd", slopes, first)
    basis = np.array(group.group.basis, dtype=float).reshape(group.group.dimension, -1)
    flat = shifted.reshape(len(matrices), basis.shape[1], -1)
    found: Array = np.einsum("ab,tbd->tad", np.linalg.pinv(basis.T), flat)
    return found


def mean_velocities(system: System, start: Mapping[Jet, float], end: Mapping[Jet, float]) -> dict[Jet, float]:
    """The velocities of the one-parameter subgroups that lead from `start` to `end` in a unit of time, where they exist."""
    found: dict[Jet, float] = {}
    for group in system.groups.values():
        if not all(z in start and z in end for z in group.places):
            continue
        from scipy.linalg import logm  # takes half a second to load

        a, b = (matrix_at(group, [values[z] for z in group.places]) for values in (start, end))
        between = np.linalg.solve(a, b) if group.body else np.linalg.solve(a.T, b.T).T
        logarithm = np.asarray(logm(between))
        basis = np.array(group.group.basis, dtype=float).reshape(group.group.dimension, -1)
        velocity = np.linalg.lstsq(basis.T, logarithm.real.ravel(), rcond=None)[0]
        off = np.abs(basis.T @ velocity - logarithm.ravel()).max(initial=0.0)
        if np.isfinite(velocity).all() and off <= _OUTSIDE_ALGEBRA * max(1.0, float(np.abs(velocity).max(initial=0.0))):
            found |= {q.d(): float(v) for q, v in zip(group.components, velocity, strict=True)}
    return found


def element_sizes(system: System, start: Mapping[Jet, float], end: Mapping[Jet, float]) -> dict[str, float]:
    """Typical sizes of stored numbers and of displacements by name: a radian for rotations, the distance of the ends for translations.

    The size of a translation that the ends do not determine is zero.
    """
    found: dict[str, float] = {}
    for group in system.groups.values():
        kind = group.group
        found |= {z.base: 1.0 for z in (*group.places, *group.components)}
        if isinstance(kind, MatrixGroup) or not kind.orthogonal:
            continue
        shifts = group.places[: -4 if kind.orthogonal == 3 else -1]
        ends = [[values[z] for z in shifts] for values in (start, end) if all(z in values for z in shifts)]
        length = float(np.linalg.norm(np.subtract(ends[0], ends[1]))) if len(ends) == 2 else float(np.linalg.norm(ends[0])) if ends else 0.0
        turned = set(range(group.group.dimension)[kind.rotation])
        found |= {z.base: length for z in shifts} | {q.base: length for a, q in enumerate(group.components) if a not in turned}
    return found
