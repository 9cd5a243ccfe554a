"""Criteria that compare fits of different principles: information criteria, and a test whether residuals are noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chetaev.numerics.flow.compiled import Array

_DEVIATIONS_BY_CHANCE = 5.0
"""Standard deviations that von Neumann's ratio of independent residuals may lie below its mean 2. Fewer take noise for a curve."""
_RATIO_OF_A_CURVE = 0.5
"""The ratio below which residuals are a curve and not noise, even if they are few."""
_SMALLEST_RESIDUAL = 1e-6
"""Relative to the spread of the data: smaller residuals are errors of the computed motion, not signs of another law."""
_SMALLEST_VARIANCE = 1e-30
"""The smallest variance, in units of the data: residuals below it are round-off."""
_FEWEST_VALUES = 10
"""Fewest values whose residuals can be distinguished from a curve."""


def criteria(columns: Sequence[Array], unknowns: int, chi2: float | None) -> tuple[float, float]:
    """Akaike's and the Bayesian criterion, from residuals in units of their data.

    `chi2` is the weighted sum of squares; without it the variance of every column is estimated from its residuals.
    """
    values = sum(map(len, columns))
    likelihood = sum(len(v) * np.log(max(float(np.mean(v**2)), _SMALLEST_VARIANCE)) for v in columns) if chi2 is None else chi2
    return float(likelihood + 2 * unknowns), float(likelihood + np.log(values) * unknowns)


def is_noise(residuals: Array, data: Array) -> bool:
    """Whether residuals over time look like independent errors rather than a curve (von Neumann's ratio)."""
    n, total = len(residuals), float(residuals @ residuals)
    spread = float(np.abs(data - data.mean()).max(initial=0.0)) or float(np.abs(data).max(initial=0.0))
    if n < _FEWEST_VALUES or np.sqrt(total / n) <= _SMALLEST_RESIDUAL * spread:
        return True
    ratio = float(np.sum(np.diff(residuals) ** 2)) / total
    return ratio > max(_RATIO_OF_A_CURVE, 2.0 - _DEVIATIONS_BY_CHANCE * 2.0 / np.sqrt(n))
