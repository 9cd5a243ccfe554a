"""A motion as functions of time: its states, and the time derivatives of its dense output, at random times.

Time derivatives above the state come from the dense output of each step, expanded in Chebyshev polynomials and differentiated. Every step
is checked at a random time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.symbols import TIME, Jet, Parameter
from chetaev.numerics.methods.accuracy import usual_sizes
from chetaev.numerics.motion.trajectory import Trajectory

Array = NDArray[Any]

_DEGREE = 9
"""Degree of the polynomial that represents a step; the method's own has degree 7, and projection changes it slightly."""
_ROUND_OFF = 2.0**-52 * _DEGREE**2
"""Round-off of the derivative of a step's polynomial, in units of the values over half the length of the step. It dominates in short
steps."""
_NEGLIGIBLE_QUANTITY = 1e-10
"""Relative to the largest quantity of its kind: a quantity that is never larger is round-off; so is one below ten tolerances of it."""
_MOST_STEPS = 20_000
"""Most steps that are checked; of more, a random selection."""


class Row(NamedTuple):
    """A residual along a motion, the sizes of its terms, their size for typical quantities (`usual`), and round-off (`noise`)."""

    residual: Array
    terms: Array
    usual: float
    noise: Array | float = 0.0


@dataclass(frozen=True)
class Curve:
    """A motion at some times, with the time derivatives of its dense output there."""

    motion: Trajectory
    t: Array
    states: Array
    half: Array
    """Half the length of the step each time lies in."""
    place: Array
    """Where in its step each time lies, from -1 to 1."""
    coefficients: Array
    """Chebyshev coefficients of the states over each step: time, degree, component."""

    @staticmethod
    def of(motion: Trajectory, points: int) -> Curve:
        """The curve at random times: one in every step, and at least `points` in all."""
        nodes = motion.t
        step = _places(nodes, points)
        t = nodes[step] + (nodes[step + 1] - nodes[step]) * np.random.default_rng(points).uniform(0.0, 1.0, len(step))
        middle, half = (nodes[step + 1] + nodes[step]) / 2, (nodes[step + 1] - nodes[step]) / 2
        inner = chebyshev.chebpts1(_DEGREE + 1)
        times = middle[:, None] + half[:, None] * inner
        states = motion.at(times.ravel()).states.reshape(*times.shape, -1)
        coefficients = np.einsum("dm,pmc->pdc", np.linalg.inv(chebyshev.chebvander(inner, _DEGREE)), states)
        return Curve(motion, t, motion.at(t).states, half, (t - middle) / half, coefficients)

    def only(self, wanted: NDArray[np.bool_]) -> Curve:
        """The curve at some of its times."""
        parts = (self.t, self.states, self.half, self.place, self.coefficients)
        return Curve(self.motion, *[part[wanted] for part in parts])

    def jet(self, z: Jet) -> Array:
        """Return a jet: of the state, or a derivative of the highest jet of the state, or as the motion reports it."""
        if z in self.motion.jets:
            return self.states[:, self.motion.jets.index(z)]
        top = self._below(z)
        return self.reported(z) if top is None else self.rate(top, z.order - top.order)

    def rate(self, z: Jet, times: int) -> Array:
        """A derivative of the dense output of a jet of the state."""
        column = self.coefficients[:, :, self.motion.jets.index(z)]
        derived = chebyshev.chebder(column.T, times)
        values = np.einsum("pd,dp->p", chebyshev.chebvander(self.place, len(derived) - 1), derived)
        return values / self.half**times

    def against_rate(self, z: Jet, said: Array) -> Row:
        """Compare a reported rate with that of the dense output."""
        return Row(said - self.rate(z, 1), np.abs(said), self.usual(z.d()), _ROUND_OFF * self.usual(z) / np.abs(self.half))

    def derived(self, z: Jet) -> bool:
        """Whether a jet is a derivative of the dense output."""
        return z not in self.motion.jets and self._below(z) is not None

    def round_off(self, z: Jet) -> Array:
        """Return the round-off of a derivative of the dense output."""
        below = self._below(z)
        assert below is not None  # noqa: S101 - callers check `derived`
        found: Array = 2.0**-52 * self._usual[below] * (_DEGREE**2 / np.abs(self.half)) ** (z.order - below.order)
        return found

    @cached_property
    def faint(self) -> float:
        """The relative size below which a quantity counts as zero."""
        tolerance = self.motion.tolerance
        return max(_NEGLIGIBLE_QUANTITY, 10 * tolerance if np.isfinite(tolerance) else 0.0)

    @cached_property
    def _usual(self) -> dict[Jet, float]:
        jets = self.motion.jets
        sizes = np.array([np.abs(self.states[:, k]).max(initial=0.0) for k in range(len(jets))])
        span = float(self.motion.t[-1] - self.motion.t[0])
        return dict(zip(jets, map(float, usual_sizes(sizes, jets, span)), strict=True))

    def usual(self, z: Symbol) -> float:
        """Return the typical size of a symbol: for a jet the largest of its kind, at least the jet below it over the duration."""
        if not isinstance(z, Jet):
            return float(np.abs(self.value(z)).max(initial=0.0))
        if z in self._usual:
            return self._usual[z]
        top = self._below(z)
        own = float(np.abs(self.value(z)).max(initial=0.0))
        if top is None:
            return own
        span = abs(float(self.motion.t[-1] - self.motion.t[0]))
        return max(own, self._usual_rate(type(z), z.order), self._usual[top] / span ** (z.order - top.order))

    def _usual_rate(self, kind: type, order: int) -> float:
        """Return the largest rate of jets of one order less; cached."""
        if (kind, order) not in self._rates:
            alike = [w for w in self.motion.jets if type(w) is kind and w.order == order - 1]
            self._rates[kind, order] = max((float(np.abs(self.rate(w, 1)).max(initial=0.0)) for w in alike), default=0.0)
        return self._rates[kind, order]

    @cached_property
    def _rates(self) -> dict[tuple[type, int], float]:
        return {}

    def _below(self, z: Jet) -> Jet | None:
        """The highest jet of the state below a jet."""
        below = [w for w in self.motion.jets if w.base == z.base and type(w) is type(z) and w.order < z.order]
        return max(below, key=lambda w: w.order, default=None)

    def reported(self, z: Symbol) -> Array:
        """Return values that the motion reports: multipliers, inputs, parameters, modes."""
        if z in self._multipliers:
            return self._multipliers[z]
        known = z not in self.motion.equations.system.parameters and isinstance(z, Parameter)
        return (self.motion.reader.driven if known else self.motion.reader.values)(z, self.t, self.states)

    def value(self, z: Symbol) -> Array:
        """Any symbol of a row along the motion; cached."""
        if z == TIME:
            return self.t
        if z not in self._known:
            self._known[z] = self.jet(z) if isinstance(z, Jet) else self.reported(z)
        return self._known[z]

    @cached_property
    def _multipliers(self) -> dict[Symbol, Array]:
        found = [z for z in self.motion.equations.multipliers if z not in self.motion.jets]
        return dict(zip(found, self.motion.reader.several(found, self.t, self.states), strict=True)) if found else {}

    @cached_property
    def _known(self) -> dict[Symbol, Array]:
        return {}


def _places(nodes: Array, points: int) -> NDArray[np.int64]:
    """Return the steps in which the motion is checked: every one, and long ones more often."""
    lengths = np.abs(np.diff(nodes))
    steps = np.flatnonzero(lengths > 0)
    random = np.random.default_rng(len(nodes))
    once = steps if len(steps) <= _MOST_STEPS else np.sort(random.choice(steps, _MOST_STEPS, replace=False))
    more = random.choice(steps, max(points - len(once), 0), p=lengths[steps] / lengths[steps].sum())
    return np.sort(np.concatenate([once, more]))
