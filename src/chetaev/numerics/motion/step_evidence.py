"""What a run saw inside its steps (`dop853.dense`), as figures of a certificate: the defect of the continuous motion, and round-off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.methods.dop853.codes import CHANGE, OFF, ROUNDED

_DEFECT = 1e4
"""Largest defect of a step, in units of the tolerance: the derivative of an interpolant is less exact than the motion, over the gallery by
a factor of up to 800."""
_LEAST_DEFECT = 1e-9
"""Relative round-off of the derivative of an interpolant, and what is left of a defect where a tolerance near round-off no longer shortens
steps: 5e-10 where an angle of 1e5 turns."""
_ROUNDED = 30.0
"""Largest error by rounding, in units of the tolerance. The motion is about as wrong as this figure says."""
_LEAST_ROUNDED = 1e-10
"""Smallest limit of the same, relative to the size of a jet. Over the gallery figures are below 3e-14, for the bicycle, whose steering has
few digits, 3e-11, and a smaller tolerance does not reduce them."""
_STEPS_OF_USUAL_RUNS = 1000.0
"""Steps above which the limit of rounding grows with their number: the errors that the tolerance allows in each step add up likewise, and a
long motion is not less exact by rounding than by its method."""
_LARGEST_LIMIT = 0.3
"""Largest limit of any figure, also for a large tolerance."""
_CLEAR_DEFECT = 1e-6
"""Defect, relative to the size of its jet, above which other scales are considered."""
NOTHING = 1e-10
"""Relative to the typical size of their jets: smaller terms are round-off."""


def defect_allowed(tolerance: float) -> float:
    """Return the largest relative defect of a step."""
    return min(_DEFECT * tolerance + _LEAST_DEFECT, _LARGEST_LIMIT)


def rounding_allowed(tolerance: float, steps: Any = 0) -> Any:
    """Return the largest relative error by rounding in a number of steps, or in each of several."""
    if isinstance(steps, int):  # one motion; NumPy would take twenty times as long
        return min((_ROUNDED * tolerance + _LEAST_ROUNDED) * max(1.0, steps / _STEPS_OF_USUAL_RUNS), _LARGEST_LIMIT)
    return np.minimum((_ROUNDED * tolerance + _LEAST_ROUNDED) * np.maximum(1.0, steps / _STEPS_OF_USUAL_RUNS), _LARGEST_LIMIT)


def clear_limits(tolerance: float) -> tuple[float, float]:
    """Return the defect and the round-off, relative to the sizes of a motion itself, up to which nothing else has to be known of it."""
    return min(_CLEAR_DEFECT, defect_allowed(tolerance)), min(_LEAST_ROUNDED, rounding_allowed(tolerance))


def defects(inside: Array, sizes: Array, usual: Callable[[], Array]) -> Array:
    """The largest defect of each component relative to its largest value, or to what its rate makes of it in the step.

    `usual` are typical sizes; they count where a component is round-off of its kind, because then its rates are round-off too. Rows of
    several motions may be given at once.
    """
    off, change = inside[..., OFF, :], inside[..., CHANGE, :]
    scale = np.maximum(sizes, change)
    if not np.all(off <= _CLEAR_DEFECT * scale):
        scale = np.maximum(measured_by(sizes, usual()), change)
    return relative(off, scale)


def roundings(inside: Array, sizes: Array, usual: Callable[[], Array], steps: Any) -> Array:
    """A bound of the rounding error of each component in a number of steps, relative to its largest value, or its typical size as above.

    Errors of one sign add up to the root of the number of steps times the sum of their squares. What has no size of any kind is wrong
    altogether by any error: a body that rests because sqrt(1 + 1e-18) - 1 is zero in doubles.
    """
    off = np.sqrt(steps * inside[..., ROUNDED, :])
    scale = sizes if np.all(off <= _LEAST_ROUNDED * sizes) else measured_by(sizes, usual())
    return np.where((scale == 0) & (off > 0), np.inf, relative(off, scale))


def measured_by(sizes: Array, usual: Array) -> Array:
    """Return sizes of terms, or the typical sizes where the terms are round-off relative to them."""
    return np.where(sizes > NOTHING * usual, sizes, usual)


def relative(found: Array, scale: Array) -> Any:
    """Return errors relative to sizes; the errors themselves where there is no size."""
    return found / np.where(scale > 0, scale, 1.0)
