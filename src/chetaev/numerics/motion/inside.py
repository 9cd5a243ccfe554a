"""What a run saw inside its steps (`dop853.dense`), as a figure of a certificate: the defect of the continuous motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.methods.dop853.codes import CHANGE, OFF

_DEFECT = 1e4
"""Largest defect of a step, in units of the tolerance: the derivative of an interpolant is less exact than the motion, over the gallery by
a factor of up to 800."""
_LEAST_DEFECT = 1e-10
"""Relative round-off of the derivative of an interpolant."""
_MOST = 0.3
"""Largest limit of any figure, also for a large tolerance."""
_CLEAR = 1e-6
"""Defect, relative to the size of its jet, above which other scales are considered."""
NOTHING = 1e-10
"""Relative to the typical size of their jets: smaller terms are round-off."""


def defect_allowed(tolerance: float) -> float:
    """Return the largest relative defect of a step."""
    return min(_DEFECT * tolerance + _LEAST_DEFECT, _MOST)


def defects(inside: Array, sizes: Array, usual: Callable[[], Array]) -> Array:
    """The largest defect of each component relative to its largest value, or to what its rate makes of it in the step.

    `usual` are typical sizes; they count where a component is round-off of its kind, because then its rates are round-off too. Rows of
    several motions may be given at once.
    """
    off, change = inside[..., OFF, :], inside[..., CHANGE, :]
    scale = np.maximum(sizes, change)
    if not np.all(off <= _CLEAR * scale):
        scale = np.maximum(measured_by(sizes, usual()), change)
    return relative(off, scale)


def measured_by(sizes: Array, usual: Array) -> Array:
    """Return sizes of terms, or the typical sizes where the terms are round-off relative to them."""
    return np.where(sizes > NOTHING * usual, sizes, usual)


def relative(found: Array, scale: Array) -> Any:
    """Return errors relative to sizes; the errors themselves where there is no size."""
    return found / np.where(scale > 0, scale, 1.0)
