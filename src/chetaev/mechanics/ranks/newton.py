"""Newton's iteration towards points where rows vanish.

Every search for points on rows takes the steps of `least_norm` and moves by `moved`. `root` repeats them with a limit on their length; the
searches for points near a given one (damped, with frozen rank) and for multiple roots (with shorter steps where rows do not decrease)
choose their own lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sympy import Symbol

from chetaev.core.values import Undefined
from chetaev.mechanics.ranks.factored import Matrix
from chetaev.mechanics.ranks.sparse import DECOMPOSED, Numbers, damped_step, is_sparse, largest_of, scaled, sparse_least_norm, whole
from chetaev.mechanics.tolerances import NEWTON_CUT

Values = Mapping[Symbol, float]
RowsAt = Callable[[Values], tuple[Matrix, Numbers]]
"""Rows and their slopes by the jets that move, at a point; raises `Undefined` where one has no value."""

_ROOT_RESIDUAL = 1e-5
"""Largest residual of a row at a root, relative to its change when a jet changes by its size. At a multiple root it is at most the error of
the point; with a larger value $e^x g = 0$ holds at any point far enough to the left, where the row falls towards zero without a root."""


class Root(NamedTuple):
    """The end of an iteration."""

    point: dict[Symbol, float]
    residual: Matrix
    """The rows one step before `point`."""
    jacobian: Numbers
    """Their slopes there."""
    reach: float
    """The longest step that was allowed there."""


def least_norm(residual: Matrix, jacobian: Numbers) -> tuple[Matrix, float] | None:
    """Return the shortest step after which linear rows would vanish, and its length; None if it is not finite."""
    sparse = sparse_least_norm(jacobian, -residual, NEWTON_CUT) if is_sparse(jacobian) else None
    if sparse is None and len(residual) >= DECOMPOSED and is_sparse(jacobian):
        sparse = damped_step(jacobian, -residual)
    step: Matrix = (
        np.asarray(np.linalg.lstsq(whole(jacobian), -residual, rcond=NEWTON_CUT)[0], dtype=np.float64) if sparse is None else sparse
    )
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(step))
    return (step, length) if np.isfinite(length) else None


def at_root(residual: Matrix, jacobian: Numbers, sizes: Matrix) -> bool:
    """Tell whether scaled rows are small compared with their changes when jets change by their `sizes`."""
    changes = largest_of(scaled(jacobian, np.ones(jacobian.shape[0]), sizes), 1)
    return bool(np.all(np.abs(residual) <= _ROOT_RESIDUAL * changes))


def moved(at: Values, jets: Sequence[Symbol], shift: Matrix) -> dict[Symbol, float]:
    """Return a point with `jets` displaced by `shift`."""
    return {**at, **{z: float(at[z] + s) for z, s in zip(jets, shift, strict=True)}}


def root(
    rows_at: RowsAt,
    start: Values,
    jets: Sequence[Symbol],
    units: Matrix | float,
    steps: int,
    reach: Callable[[Values], float],
    shortest: Callable[[Values, float], float],
) -> Root | None:
    """Return the point at which steps of least norm end; None if they do not end within `steps`, or reach a point without values.

    A step from a point, in `units` of the jets, is at most `reach(point)` long. The iteration ends with a step shorter than `shortest` of
    its end point and its reach.
    """
    at = dict(start)
    for _ in range(steps):
        try:
            residual, jacobian = rows_at(at)
        except Undefined:
            return None
        found = least_norm(residual, jacobian)
        if found is None:
            return None
        step, length = found
        longest = reach(at)
        at = moved(at, jets, (min(1.0, longest / length) if length > 0 else 1.0) * (step * units))
        if length < shortest(at, longest):
            return Root(at, residual, jacobian, longest)
    return None
