"""The slopes of a completed start: those of given values are given, those of completed values follow from the linearised constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from chetaev.core.calculus import Calculus
from chetaev.core.errors import InitialError
from chetaev.core.symbols import Jet, Multiplier
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.slopes.directions import By, Directions, GivenSlopes
from chetaev.numerics.slopes.linear import Linear, at_state, of_expressions, of_rows
from chetaev.numerics.smooth_pieces.piece import Setting

_ZERO_SINGULAR_VALUE = 1e-10
"""Singular value of the scaled rows, relative to the largest, below which it is zero and slopes are not determined."""
_ROUND_OFF_OF_TERMS = 1e-6
"""Size of the terms of a linearised row, relative to the largest possible term, below which they are round-off."""
_CONTRADICTS = 1e-7
"""Residual of a linearised row, relative to its terms, above which given values cannot move independently."""
_NAMED = 1e-6
"""Smallest component of a unit null vector of a jet that is named as open in a message."""


def first_slopes(
    here: Setting, t: float, jets: Mapping[Jet, float], given: GivenSlopes, directions: Directions, where: str
) -> dict[Jet, Array]:
    """The slopes of all jets of the state at a start, an array over the directions each."""
    state, k = here.flow.state, len(directions)
    native = here.native(jets, 0.0)
    moved = dict(given.jets)
    for j, by in enumerate(directions.several):
        if by.group is not None:
            for z, v in _turned(here, by, t, native).items():
                moved[z] = moved.get(z, np.zeros(k)).copy()
                moved[z][j] += v
    known = [z for z in state if z in moved]
    above = [(z, v) for z, v in moved.items() if z not in state]
    demands = [*((z, v) for z, v in above if not isinstance(z, Multiplier)), *given.demands]
    rows = at_state(here, of_rows(here, directions.parameters), t, native, k)
    asked = at_state(here, of_expressions(here, [e for e, _ in demands], directions.parameters), t, native, k)
    values = np.vstack([np.zeros((len(rows.values), k)), *[v[None, :] for _, v in demands]])
    labels = [*map(here.flow.system.label, here.flow.system.hidden()), *[str(e) for e, _ in demands]]
    both = Linear(*(np.concatenate(pair) for pair in zip(_parts(rows), _parts(asked), strict=True)))
    return completed(state, {z: moved[z] for z in known}, both, values, directions, labels, where)


def _parts(found: Linear) -> tuple[Array, Array, Array, Array]:
    return found.values, found.by_time, found.by_state, found.by_parameters


def completed(
    state: Sequence[Jet], known: Mapping[Jet, Array], rows: Linear, values: Array, directions: Directions, labels: Sequence[str], where: str
) -> dict[Jet, Array]:
    """Solve linearised rows, by_state S + by_parameters = values, for the slopes that are not known."""
    k = len(directions)
    unknown = [j for j, z in enumerate(state) if z not in known]
    slopes = np.array([known.get(z, np.zeros(k)) for z in state]).reshape(len(state), k)
    left = values - rows.along(slopes)
    sizes = np.abs(rows.by_state) @ np.abs(slopes) + np.abs(rows.by_parameters) + np.abs(values)
    found, open_ = _solved(rows.by_state[:, unknown], left)
    if open_ is not None:
        names = " ".join(state[unknown[j]].name for j in np.flatnonzero(np.abs(open_).max(axis=1) > _NAMED))
        raise InitialError(
            f"slopes: how {names} depends on the directions is open.",
            where=where,
            why="The constraints leave these values free; they are guesses, which were moved onto the constraints.",
            hint="give the free values in the start",
        )
    slopes[unknown] = found
    off = np.abs(rows.along(slopes) - values)
    sizes = np.maximum(sizes, np.abs(rows.by_state) @ np.abs(slopes))
    largest = np.abs(rows.by_state).max(axis=1, initial=0.0)[:, None] * np.abs(slopes).max(axis=0, initial=0.0)[None, :]
    wrong = off > _CONTRADICTS * np.maximum(sizes, _ROUND_OFF_OF_TERMS * largest)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        what = f"slopes: {labels[i]} does not hold any more when {directions.names[j]} moves."
        raise InitialError(
            what,
            where=where,
            why="Other values that the start gives are kept, and the constraint ties them together.",
            hint="leave out one of the tied values, which is then completed",
        )
    return {z: slopes[j] for j, z in enumerate(state)}


def _solved(matrix: Array, right: Array) -> tuple[Array, Array | None]:
    """The solution of least squares, in units of rows and columns, and a basis of the null space, or None if that is zero."""
    m, n = matrix.shape
    if not n:
        return np.zeros((0, right.shape[1])), None
    if not m:
        return np.zeros((n, right.shape[1])), np.eye(n)
    units = np.abs(matrix).max(axis=1)
    units = np.where(units > 0, units, 1.0)
    scaled = matrix / units[:, None]
    columns = np.abs(scaled).max(axis=0)
    columns = np.where(columns > 0, columns, 1.0)
    u, s, v = np.linalg.svd(scaled / columns, full_matrices=True)
    rank = int((s > _ZERO_SINGULAR_VALUE * s.max(initial=0.0)).sum()) if s.size and s.max() > 0 else 0
    found = v[:rank].T @ ((u[:, :rank].T @ (right / units[:, None])) / s[:rank, None])
    return found / columns[:, None], None if rank == n else v[rank:].T / columns[:, None]


def _turned(here: Setting, by: By, t: float, native: Array) -> dict[Jet, float]:
    """The derivatives of the stored numbers of a group element along a component of its variation: their rates at unit velocity."""
    flow, group = here.flow, by.group
    assert group is not None  # noqa: S101 - asked before
    calculus = Calculus(flow.graph, flow.system.equations.system.frame)
    rates = ca.vertcat(*[calculus.total(flow.graph.leaf(z)) for z in group.places])
    velocities = [q.d() for q in group.components]
    numbers = ca.DM([float(j == by.component) for j in range(len(velocities))])
    rates = ca.substitute(rates, flow.graph.vector(velocities), numbers)
    found = here.numbers(flow.function([rates]), t, native)
    return dict(zip(group.places, map(float, found), strict=True))
