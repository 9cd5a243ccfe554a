"""The minimum of a sum of squares with known derivatives, and the covariance of the unknowns there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.flow.compiled import Array

_ROUGH_CHANGE, _FINE_CHANGE = 1e-4, 1e-12
"""Relative changes of the sum of squares, and of the unknowns, that end a rough search and the last one."""
_FEW_STEPS = 25
"""The most steps of a rough search."""
_WEIGHT_OF_FIRST_VALUES = 1e-10
"""Weight of the first values relative to that of the data: without it a search could move unknowns that the data do not determine by any
amount. It moves the others by about its square."""
STOPPED = "the search reached its limit of steps before it converged"
"""The message of a search that did not converge."""
_NO_SINGULAR_VALUE = 1e-7
"""Relative singular value of the derivatives, in units of their columns, below which a combination of unknowns has no influence:
derivatives are exact to 1e-9."""
_FEWEST_DEGREES = 0.5
"""Degrees of freedom of a column above which its variance is estimated from its own residuals."""
_NO_INFLUENCE = 1e-12
"""Influence of an unknown on the data, for a change by its own size and relative to that of others, below which it is round-off."""
_NO_PART = 1e-6
"""Component of a combination, relative to the largest, below which it is round-off."""

Residuals = Callable[[Array], tuple[Array, Array]]
"""Weighted differences between motions and data at the unknowns, and their derivatives."""


def minimum(residuals: Residuals, x: Array, low: Array, high: Array, steps: int, quick: bool = False) -> tuple[Array, float, str]:
    """The unknowns at a minimum near x, half the sum of squares there, and how the search of at most `steps` ended; `quick` is rough."""
    from scipy.optimize import least_squares  # reports know fits, but few compute one

    limit, first = _ROUGH_CHANGE if quick else _FINE_CHANGE, np.clip(x, low, high)
    sizes = sizes_of(first)
    held = np.diag(_WEIGHT_OF_FIRST_VALUES * np.sqrt((residuals(first)[1] ** 2).sum(axis=0) * sizes**2).max(initial=0.0) / sizes)
    found = least_squares(
        lambda v: np.concatenate([residuals(v)[0], held @ (v - first)]),
        first,
        jac=lambda v: np.concatenate([_without_round_off(residuals(v)[1], sizes), held]),
        bounds=(low, high),
        x_scale="jac",
        xtol=limit,
        ftol=limit,
        gtol=limit,
        max_nfev=min(steps, _FEW_STEPS) if quick else steps,
    )
    off = residuals(found.x)[0]
    return np.array(found.x), 0.5 * float(off @ off), str(found.message) if found.status > 0 else STOPPED


def _without_round_off(jacobian: Array, sizes: Array) -> Array:
    """The derivatives, with zeros in place of columns that are round-off."""
    norms = np.sqrt((jacobian**2).sum(axis=0)) * sizes
    return np.where(norms > _NO_INFLUENCE * norms.max(initial=0.0), jacobian, 0.0)


def sizes_of(x: Array) -> Array:
    """The units in which changes of the unknowns are measured: their absolute values, or 1 for zero."""
    return np.where(x != 0, np.abs(x), 1.0)


def covariance_of(
    jacobian: Array, names: Sequence[str], variances: Callable[[Array], Array], sizes: Array, basis: Array | None = None
) -> tuple[Array, list[dict[str, float]], int]:
    """The covariance of the unknowns, the combinations of unknowns without influence, and the rank; variances in these are infinite.

    `variances` maps the leverages, the diagonal of the projection onto the column space of J, whose sum is the rank, to the variance of
    each value in units of its weight. `sizes` are those of the unknowns. With `basis` the columns of J are derivatives along the columns of
    the basis, directions in which constraints between the unknowns hold; the lines of the basis belong to the unknowns.
    """
    along = np.diag(sizes) if basis is None else basis
    from scipy.linalg import null_space  # reports know fits, but few compute one

    scaled = jacobian * sizes if basis is None else jacobian
    norms = np.sqrt((scaled**2).sum(axis=0))
    felt = norms > _NO_INFLUENCE * norms.max(initial=0.0)
    units = np.where(felt, norms, 1.0)
    along = along / units
    u, s, v = np.linalg.svd(np.where(felt, scaled, 0.0) / units, full_matrices=False)
    determined = s > _NO_SINGULAR_VALUE * max(float(s.max(initial=0.0)), ALMOST_ZERO)
    u, inverse = u[:, determined], along @ (v[determined].T / s[determined])
    covariance = inverse @ (u.T * variances((u**2).sum(axis=1))) @ u @ inverse.T
    open_ways = null_space(v[determined]) if determined.any() else np.eye(len(norms))
    combinations = []
    for parts in _sparse_lines((along @ open_ways).T / sizes):
        moved = parts * sizes / (parts * sizes)[np.abs(parts).argmax()]
        combinations.append({name: float(c) for name, c, part in zip(names, moved, parts, strict=True) if abs(part) > _NO_PART})
    loose = [k for k, name in enumerate(names) if any(name in one for one in combinations)]
    covariance[loose, loose] = np.inf
    return covariance, combinations, int(determined.sum())


def _sparse_lines(lines: Array) -> Array:
    """Lines with the same span, each with an entry 1 where the others are 0, so that the combinations contain few unknowns."""
    from scipy.linalg import qr  # reports know fits, but few compute one

    if not len(lines):
        return lines
    _, triangle, order = qr(lines, pivoting=True, mode="economic")
    sizes = np.abs(np.diagonal(triangle))
    rank = int((sizes > _NO_PART * sizes.max(initial=0.0)).sum())
    found = np.zeros((rank, lines.shape[1]))
    found[:, order] = np.linalg.solve(triangle[:rank, :rank], triangle[:rank])
    return found


def variances_by_columns(residual: Array, columns: Sequence[str]) -> Callable[[Array], Array]:
    """A function from leverages to the variances of values, estimated by column: the sum of squares of the residuals divided by the degrees
    of freedom, the number of values minus their leverages. A column without degrees of freedom has the variance of all values.
    """

    def found(leverages: Array) -> Array:
        pooled = float(residual @ residual) / max(len(residual) - float(leverages.sum()), 1.0)
        variances = np.full(len(residual), pooled)
        for name in set(columns):
            own = np.array([column == name for column in columns])
            left = own.sum() - leverages[own].sum()
            if left > _FEWEST_DEGREES:
                variances[own] = (residual[own] ** 2).sum() / left
        return variances

    return found
