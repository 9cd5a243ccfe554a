"""Typical sizes of components for the methods that step in Python, as `dop853.scales` computes them in the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.methods.accuracy import Array, Measures
from chetaev.numerics.methods.compiled_steps.codes import AS_EXPECTED, FAINT, NO_SIZE
from chetaev.numerics.methods.dop853.scale_constants import (
    BESIDE,
    GUESS_AT_REST,
    LONGEST_GUESS,
    MEMORY,
    MOST_RATE_ATTEMPTS,
    NEARER,
    NEGLIGIBLE_TIME_SCALE,
    NOISE,
    PERTURBATION,
    SMALL_PART,
    TINY,
)

Rates = Callable[[float, Array], Array]


@lru_cache(maxsize=64)
def _sides(n: int) -> Array:
    """Signs at random, always the same."""
    return np.random.default_rng(0).choice([-1.0, 1.0], n)


class Sizes:
    """Typical sizes of the components of a state during a run."""

    def __init__(self, measures: Measures, rates: Rates, t: float, y: Array, span: float, round_off: Array) -> None:
        """`round_off` bounds the rounding errors of the rates; it counts for components that have no size at the start."""
        self.measures, self.rates = measures, rates
        self.largest = np.maximum(np.abs(y), measures.before)
        self.sizes = np.where(measures.sizes >= 0, measures.sizes, np.maximum(np.abs(y), SMALL_PART * self.largest))
        self.slope = rates(t, y)
        self.time, bend = self._time(t, y, span)
        """The time in which second derivatives change the motion at the start; infinite if they vanish."""
        usual = np.maximum(np.abs(y), self.sizes)
        ahead = min(self.time, abs(span))
        expected = np.abs(self.slope) * ahead + np.where(np.isfinite(bend), bend, 0.0) * ahead**2 / 2
        nothing = np.where(self.among > 0, 0.0, 1.0)
        self.floor = np.where(usual > 0, 0.0, np.where(expected > 0, expected, nothing))
        """The expected sizes of components that have none yet, from their rates at the start."""
        self.noise = np.maximum(self._round_off(t, y), np.where(usual > 0, 0.0, round_off * abs(span)))

    def remember(self, y: Array) -> None:
        """Update the sizes with the state at the end of a step."""
        size = np.abs(y)
        self.largest = np.maximum(self.largest, size)
        own = np.maximum(size, np.maximum(MEMORY * self.sizes, SMALL_PART * self.largest))
        self.sizes = np.where(self.measures.sizes >= 0, self.measures.sizes, own)
        self.floor = np.where(self.largest > 0, 0.0, self.floor)

    @property
    def among(self) -> Array:
        """For each component the largest value of its kind so far."""
        return self._largest_of_kind(self.largest)

    def _largest_of_kind(self, largest: Array) -> Array:
        found = np.zeros(len(largest))
        np.maximum.at(found, self.measures.kinds, np.maximum(largest, self.sizes))
        return found[self.measures.kinds]

    @property
    def typical(self) -> Array:
        """The units of errors: a component that is round-off beside others of its kind is measured by their size."""
        among = self.among
        own = np.maximum(self.sizes, self.floor)
        return np.where(self._faint, among, own)

    @property
    def _faint(self) -> NDArray[np.bool_]:
        """Which components are round-off beside the largest of their kind and have no expected size."""
        return np.asarray((self.measures.sizes < 0) & (np.maximum(self.largest, self.floor) < FAINT * self.among))

    def show(self, end: Array) -> bool:
        """Whether a component has another size at the end of a step than the unit of its error, so that the step has to be repeated."""
        size, among = np.abs(end), self._largest_of_kind(np.maximum(self.largest, np.abs(end)))
        own = (self.measures.sizes < 0) & (size >= np.maximum(FAINT * among, NO_SIZE))
        smaller = (self.largest == 0) & (size < AS_EXPECTED * self.floor)
        found = own & (smaller | (np.maximum(self.largest, self.floor) < FAINT * among))
        self.floor = np.where(found, size, self.floor)
        return bool(found.any())

    @property
    def absolute(self) -> Array:
        """The errors allowed for components that vanish."""
        return self.measures.atol + self.measures.rtol * self.typical + self.noise + TINY

    @property
    def units(self) -> Array:
        """Positive sizes by which the components may be divided."""
        return np.maximum(self.typical, (self.measures.atol + self.noise) / self.measures.rtol)

    def first_step(self, order: int, span: float) -> float:
        """A first step for a method whose errors are estimated with some order."""
        if not np.isfinite(self.time):
            return LONGEST_GUESS * abs(span)
        return float(min((0.01 * self.measures.rtol) ** (1 / order) * self.time, abs(span)))

    def _time(self, t: float, y: Array, span: float) -> tuple[float, Array]:
        """As `dop853.step.first_step` finds it, and the rates of the rates at the start."""
        with np.errstate(all="ignore"):
            moving = (y != 0) & (self.slope != 0)
            slowest = float(np.abs(y[moving] / self.slope[moving]).max(initial=0.0))
            least = 1000 * np.finfo(float).eps * abs(t)
            guess = max(min(0.01 * slowest, LONGEST_GUESS * abs(span)) if slowest > 0 else GUESS_AT_REST * abs(span), least)
            for _ in range(MOST_RATE_ATTEMPTS):
                ahead = self.rates(t + np.copysign(guess, span), y + np.copysign(guess, span) * self.slope)
                if np.all(np.isfinite(ahead)):
                    break
                guess = max(NEARER * guess, least)
            bend = np.abs(ahead - self.slope) / guess
            size = np.maximum(np.abs(y), BESIDE * self.among)
            times = np.where(bend > 0, np.maximum(np.sqrt(size / bend), np.abs(self.slope) / bend), 0.0)
            own = times > np.where(size > 0, 0.0, NEGLIGIBLE_TIME_SCALE * guess)
            return float(np.min(times[own], initial=np.inf)), bend

    def _round_off(self, t: float, y: Array) -> Array:
        """The sizes that round-off of the rates gives to components without a size, over the time in which the motion changes direction."""
        if not np.isfinite(self.time):
            return np.zeros(len(y))
        sides = _sides(len(y))
        with np.errstate(all="ignore"):
            off = np.abs(self.rates(t, y * (1 + PERTURBATION * sides)) - self.slope)
        return np.where(np.isfinite(off), NOISE * off * self.time, 0.0)
