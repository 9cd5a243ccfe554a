"""The minimum of a sum of squares whose derivatives are known, and the covariance of what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import least_squares

from chetaev.numerics.flow.compiled import Array

_ROUGH_CHANGE, _FINE_CHANGE = 1e-4, 1e-12
"""Relative changes of the sum of squares, and of the unknowns, that end a search: one of several, and the last one."""
_FEW_STEPS = 25
"""The most steps of a rough search, one of several."""
STOPPED = "the search reached its limit of steps before it converged"
"""How a search ended that did not converge."""
_OPEN = 1e-7
"""Relative singular value of the derivatives, in units of their columns, below which a combination of unknowns has no influence:
derivatives are exact to 1e-9."""
_LEFT = 0.5
"""Values of a column that the unknowns must leave, for a variance of its own."""
_NO_PART = 1e-6
"""Relative to its largest part, a smaller part of a combination is round-off."""

Residuals = Callable[[Array], tuple[Array, Array]]
"""Weighted differences between motions and data at the unknowns, and their derivatives."""


def minimum(residuals: Residuals, x: Array, low: Array, high: Array, steps: int, quick: bool = False) -> tuple[Array, float, str]:
    """The unknowns at a minimum near x, half their sum of squares, and how the search ended after at most `steps`; `quick` is rough."""
    limit = _ROUGH_CHANGE if quick else _FINE_CHANGE
    found = least_squares(
        lambda v: residuals(v)[0],
        np.clip(x, low, high),
        jac=lambda v: residuals(v)[1],
        bounds=(low, high),
        x_scale="jac",
        xtol=limit,
        ftol=limit,
        gtol=limit,
        max_nfev=min(steps, _FEW_STEPS) if quick else steps,
    )
    return np.array(found.x), float(found.cost), str(found.message) if found.status > 0 else STOPPED


def covariance_of(
    jacobian: Array, names: Sequence[str], variances: Callable[[Array], Array], basis: Array | None = None
) -> tuple[Array, list[dict[str, float]], int]:
    """The covariance of the unknowns, infinite for those in combinations without influence, these combinations, and the rank.

    `variances` gives the variance of each value, in units of its weight, from the leverages: the parts of the values that the unknowns take
    up, whose sum is the rank. With `basis` the columns of J are derivatives along the columns of the basis, whose lines are the changes of
    the unknowns: directions in which constraints between the unknowns hold.
    """
    norms = np.sqrt((jacobian**2).sum(axis=0))
    units = np.where(norms > 0, norms, 1.0)
    u, s, v = np.linalg.svd(jacobian / units, full_matrices=False)
    full = np.linalg.svd(jacobian / units)[2] if len(s) < jacobian.shape[1] else v
    determined = s > _OPEN * max(float(s.max(initial=0.0)), 1e-300)
    along = np.diag(1 / units) if basis is None else basis / units
    u, inverse = u[:, determined], along @ (v[determined].T / s[determined])
    covariance = inverse @ (u.T * variances((u**2).sum(axis=1))) @ u @ inverse.T
    combinations = []
    for line in [*v[~determined], *full[len(s) :]]:
        moved = along @ line
        moved = moved / np.abs(moved).max() * np.sign(moved[np.abs(moved).argmax()])
        combinations.append({name: float(c) for name, c in zip(names, moved, strict=True) if abs(c) > _NO_PART})
    loose = [k for k, name in enumerate(names) if any(name in one for one in combinations)]
    covariance[loose, loose] = np.inf
    return covariance, combinations, int(determined.sum())


def variances_by_columns(residual: Array, columns: Sequence[str]) -> Callable[[Array], Array]:
    """The variances of values whose columns are known, from the squares of their residuals: a column has one value less for every unknown
    that it determines. A column without a value left has the variance of all.
    """

    def found(leverages: Array) -> Array:
        pooled = float(residual @ residual) / max(len(residual) - float(leverages.sum()), 1.0)
        variances = np.full(len(residual), pooled)
        for name in set(columns):
            own = np.array([column == name for column in columns])
            left = own.sum() - leverages[own].sum()
            if left > _LEFT:
                variances[own] = (residual[own] ** 2).sum() / left
        return variances

    return found
