r"""A stepper for formulas of one step that estimate their own error: the lengths of the steps, and polynomials between the nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chetaev.core.support.public import public
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.methods.base import Task
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.methods.dop853.types import Array
from chetaev.numerics.methods.sizes import Sizes
from chetaev.numerics.methods.stepper import Step, StepFailed, right_hand_side

Formula = Callable[[Callable[[float, Array], Array], float, Array, float], tuple[Any, ...]]
"""From (rates, t, y, h) to the state at t + h, the estimate of its error in every component, and if it has them the rows of a `Step`."""

_SAFETY_FACTOR, _LEAST_RATIO, _LARGEST_RATIO = 0.9, 0.2, 5.0
"""The next step is `_SAFETY_FACTOR` times the one whose error would be what is allowed, and between `_LEAST_RATIO` and `_LARGEST_RATIO`
times the last one; the usual numbers of step control (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.4)."""


@public
class OneStep:
    """Steps of a formula, each so long that its estimated error is allowed by the tolerance.

    `order` is the power of the step with which the estimate grows, `places` where the formula evaluates the rates, as parts of a step. The
    polynomial between two nodes has degree 4 and meets the states and rates at both ends and the state in the middle, for which the
    formula is used once more, unless the formula returns its own rows.
    """

    def __init__(self, task: Task, formula: Formula, *, order: int, places: tuple[float, ...]) -> None:
        self.task, self.formula, self.order, self.places = task, formula, order, places
        self.rejected, self.evaluations = 0, 0
        self._rates = right_hand_side(task)
        self.t, self.y = task.t0, np.array(task.y0)
        self.sizes = Sizes(task.measures, self.rates, task.t0, task.y0, task.t1 - task.t0, task.round_off(task.t0, task.y0))
        self.h = self.sizes.first_step(order, task.t1 - task.t0)

    def rates(self, t: float, y: Array) -> Array:
        """The rates of the state, counted."""
        self.evaluations += 1
        return self._rates(t, y)

    def step(self) -> Step:
        """The next step whose error is allowed."""
        task, t, y, longest = self.task, self.t, self.y, _LARGEST_RATIO
        while True:
            left = task.t1 - t
            h = float(np.copysign(min(self.h, abs(left), task.max_step), left))
            with np.errstate(all="ignore"):
                end, error, *rows = self.formula(self.rates, t, y, h)
                allowed = self.sizes.absolute + task.tolerance * np.maximum(np.abs(y), np.abs(end))
                size = float(np.max(np.abs(error) / allowed, initial=0.0))
            good = np.isfinite(size) and bool(np.all(np.isfinite(end)))
            grown = (
                (_SAFETY_FACTOR * max(size, ALMOST_ZERO) ** (-1 / self.order)) if good else 0.0
            )  # an error of exactly 0 grows to the longest step
            self.h = abs(h) * float(np.clip(grown, _LEAST_RATIO, longest))
            if good and size <= 1.0 and not self.sizes.show(end):
                break
            self.rejected, longest = self.rejected + 1, 1.0
            if self.h < 10 * np.spacing(abs(t)):
                raise StepFailed(Status.STEP_TOO_SMALL if good else Status.NOT_FINITE)
        found = Step(task.t1 if h == left else t + h, np.array(end), rows[0] if rows else self._rows(t, y, h, end))
        self.t, self.y = found.t, found.y
        self.sizes.remember(found.y)
        return found

    def _rows(self, t: float, y: Array, h: float, end: Array) -> Array:
        r"""$y + \sum_k c_k\theta^k$: the cubic of both ends, and $16\,\theta^2(1 - \theta)^2$ times what it misses in the middle."""
        first, last, moved = h * self.rates(t, y), h * self.rates(t + h, end), end - y
        missed = self.formula(self.rates, t, y, h / 2)[0] - y - moved / 2 - (first - last) / 8
        cubic = [first, 3 * moved - 2 * first - last, first + last - 2 * moved, np.zeros_like(y)]
        return np.array([c + k * missed for c, k in zip(cubic, (0, 16, -32, 16), strict=True)])

    def shorten(self, t: float, y: Array, h: float) -> None:
        """Go back to a state; the next step is not longer than h."""
        self.restart(t, y)
        self.h = abs(h)

    def restart(self, t: float, y: Array) -> None:
        """Continue from another state."""
        self.t, self.y = t, np.array(y)

    def straight(self, t0: float, y0: Array, t1: float) -> Array:
        """The state at a time within an accepted step, by one shorter step."""
        return np.array(y0) if t0 == t1 else np.array(self.formula(self.rates, t0, y0, t1 - t0)[0])
