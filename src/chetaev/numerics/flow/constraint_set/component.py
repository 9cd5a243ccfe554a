r"""The component of the constraint set that a state lies on.

Rows of closed loops have sets of many components: a chain of parallelograms may be folded at any of its joints, and the dependent rows
differ between components. Random points lie on any of them. Where a state is given, the state decides:

- If the system Jacobian is regular there, the rows determine the motion through it.
- If rows are dependent there and at all nearby states, only multipliers are left open.
- Rows may be dependent along the motion only, as those of a platform on four parallel ropes: at nearby states, where the platform turns
  about the ropes, they are independent. The motion stays where they are dependent. A state where rows just happen to be dependent, such as
  a parallelogram that lies flat, is distinguished from this by states shortly before and after on the motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial

import numpy as np
from sympy import Symbol

from chetaev.core.symbols import Jet, Place
from chetaev.mechanics.ranks.factored import Factored, Matrix
from chetaev.mechanics.ranks.generic import Point
from chetaev.numerics.flow.constraint_set.sampling import points_from
from chetaev.numerics.flow.local_rank import clearly_regular_at, factored_at, require_clear
from chetaev.numerics.flow.prolongation import Problem, Prolongation

_AHEAD = 1e-3
"""Displacement along the motion at which ranks are compared, relative to the size of the positions; the prediction has an error of its
third power."""
_STILL_DEPENDENT = 1e-7
"""Relative to the largest singular value: smaller ones belong to rows that are still dependent ahead. Rows that just happen to be dependent
at a state have 1e-3 there, or 1e-6 where they touch, and the error of the prediction is 1e-9."""
_LEFT_OVER = 1e-8
"""Relative to their terms: largest residual of dependent rows that agree."""


def component_at(problem: Problem, jets: Mapping[Jet, float], *, instant: bool = False) -> Prolongation | None:
    """Return the rows with the ranks on the component of a state; None if the stated rows do not determine the motion there.

    Raise a StateError if the digits of the state do not decide. With `instant`, no motion is needed, and a regular state suffices.
    """
    system = problem.system
    pairs, top = system.stage(0), system.structure.top
    at = {**jets, **dict.fromkeys(top, 0.0)}
    point = problem.point(jets)
    if (instant or system.generic_nullity == 0) and clearly_regular_at(problem, pairs, top, at):
        return system.standing([point], np.zeros((len(top), 0))) if instant else system
    values, found = factored_at(problem, pairs, top, at)
    require_clear(problem, pairs, top, found, at)
    regular = system.square and not found.nullity
    if instant and regular:
        return system.standing([point], found.null)
    if found.nullity == system.generic_nullity:
        return system
    if regular:
        return system.near(point)
    if not system.harmless(found.null) or not _consistent(found, values):
        return None
    near = system.near(point)
    if near.generic_nullity == found.nullity:
        return near
    along = _dependent_along(problem, jets, found, values)
    return system.standing([point, *along], found.null) if along else None


def _consistent(found: Factored, values: Matrix) -> bool:
    """Tell whether dependent rows are consistent."""
    tops = found.solved(-values)
    left = np.abs(values + found.jacobian @ tops)
    terms = np.abs(values) + np.abs(found.jacobian) @ np.abs(tops)
    return bool(np.all(left <= _LEFT_OVER * np.maximum(terms, terms.max(initial=0.0) * _LEFT_OVER)))


def _dependent_along(problem: Problem, jets: Mapping[Jet, float], found: Factored, values: Matrix) -> list[Point]:
    """Return states shortly before and after on the motion, if as many rows are dependent there; otherwise none."""
    system = problem.system
    tops = dict(zip(system.structure.top, map(float, found.solved(-values)), strict=True))
    times = _looked_at({**jets, **tops})
    hidden = [system.row(pair) for pair in system.hidden()]
    ahead: list[Point] = [_moved(problem, {**jets, **tops}, t) for t in times]
    points = points_from(hidden, ahead, system.algebra) if hidden else ahead
    matrices = [a for a in system.jacobians(points) if a is not None]
    same = len(matrices) == len(times) and all(_small(a) == found.nullity for a in matrices)
    return list(points) if same else []


def _small(matrix: Matrix) -> int:
    """Return the number of singular values of the scaled matrix that are small, or missing."""
    return matrix.shape[1] - Factored(matrix, cut=_STILL_DEPENDENT).rank


def _looked_at(at: Mapping[Jet, float]) -> list[float]:
    """Return time steps before and after in which the positions change by a small part of their size; none at rest."""
    sizes = [max((abs(v) for z, v in at.items() if z.order == k), default=0.0) for k in range(3)]
    reach = _AHEAD * (sizes[0] or 1.0)
    if sizes[1] > 0:
        step = reach / sizes[1]
        return [step, -step]
    return [float(np.sqrt(2 * reach / sizes[2]))] if sizes[2] > 0 else []


def _moved(problem: Problem, at: Mapping[Jet, float], step: float) -> dict[Symbol, float]:
    """The state after a short time, by the derivatives that are known at the state."""
    system = problem.system
    point = problem.point(at)
    places = [z for z in system.structure.state if isinstance(z, Place)]
    rates = system.rates_of(places, 2)
    moved = dict(point)
    for z in system.structure.state:
        if z in rates:
            known = [at[z], *[float(v) for v in system.algebra.tape(rates[z])(point)]]
        else:
            known = [at[z]]
            while (w := z.d(len(known))) in at:
                known.append(at[w])
        moved[z] = sum(v * step**k / factorial(k) for k, v in enumerate(known))
    return {z: moved[z] for z in moved if z not in system.structure.top}
