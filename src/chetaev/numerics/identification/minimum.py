"""The minimum of a sum of squares whose derivatives are known, and the covariance of what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import least_squares

from chetaev.numerics.flow.compiled import Array

_ROUGH_CHANGE, _FINE_CHANGE = 1e-4, 1e-12
"""Relative changes of the sum of squares, and of the unknowns, that end a search: one of several, and the last one."""
_FEW_CALLS, _MOST_CALLS = 25, 100
"""The most motions of a search: one of several, and the last one."""
_OPEN = 1e-7
"""Relative singular value of the derivatives, in units of their columns, below which a combination of unknowns has no influence:
derivatives are exact to 1e-9."""
_NO_PART = 1e-6
"""Relative to its largest part, a smaller part of a combination is round-off."""

Residuals = Callable[[Array], tuple[Array, Array]]
"""Weighted differences between motions and data at the unknowns, and their derivatives."""


def minimum(residuals: Residuals, x: Array, low: Array, high: Array, quick: bool = False) -> tuple[Array, float, str]:
    """The unknowns at a minimum near x, half their sum of squares, and how the search ended; with `quick` roughly."""
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
        max_nfev=_FEW_CALLS if quick else _MOST_CALLS,
    )
    return np.array(found.x), float(found.cost), str(found.message)


def covariance_of(jacobian: Array, names: Sequence[str], basis: Array | None = None) -> tuple[Array, list[dict[str, float]], int]:
    """The inverse of J^T J, infinite for unknowns in combinations without influence, these combinations, and the rank.

    With `basis` the columns of J are derivatives along the columns of the basis, whose lines are the changes of the unknowns: directions in
    which constraints between the unknowns hold.
    """
    norms = np.sqrt((jacobian**2).sum(axis=0))
    units = np.where(norms > 0, norms, 1.0)
    _, s, v = np.linalg.svd(jacobian / units, full_matrices=True)
    s = np.concatenate([s, np.zeros(jacobian.shape[1] - len(s))])
    determined = s > _OPEN * max(float(s.max(initial=0.0)), 1e-300)
    along = np.diag(1 / units) if basis is None else basis / units
    covariance = along @ ((v[determined].T / s[determined] ** 2) @ v[determined]) @ along.T
    combinations = []
    for line in v[~determined]:
        moved = along @ line
        moved = moved / np.abs(moved).max() * np.sign(moved[np.abs(moved).argmax()])
        combinations.append({name: float(c) for name, c in zip(names, moved, strict=True) if abs(c) > _NO_PART})
    loose = [k for k, name in enumerate(names) if any(name in one for one in combinations)]
    covariance[loose, loose] = np.inf
    return covariance, combinations, int(determined.sum())
