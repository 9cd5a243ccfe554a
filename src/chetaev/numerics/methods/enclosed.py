r"""Bounds between the points that a step in Python evaluates: the counterpart of `dop853.enclosure` for the methods of `python_loop`.

A step is a polynomial $y + \sum_k c_k\theta^k$. Boxes around parts of it are handed to the kernels of `chetaev.numerics.enclosures`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chetaev.numerics.machine.kernels import Kernel
from chetaev.numerics.methods.changes import Change
from chetaev.numerics.methods.compiled_steps.codes import BEYOND, DIP, FEWEST_LOOKS, MOST_LOOKS
from chetaev.numerics.methods.dop853.codes import (
    FALL,
    FINEST_PART,
    FIRST_PART,
    FURTHER,
    LEAST_GRAINS,
    LEVEL_ERROR,
    LONGEST_PART,
    MOST_BEYOND_SEEN,
    NARROWEST,
    NOTHING,
    POLE_RATIO,
    RADIAN,
    SECTIONS,
    SHORTEST_LEVEL_PART,
    SHORTEST_PART,
    SLACK,
    TRIES,
)
from chetaev.numerics.methods.dop853.location import certain_sign, decided, section_closer, section_place, sign_of
from chetaev.numerics.methods.dop853.types import Array


@dataclass(frozen=True)
class Stretch:
    """One step: its beginning, its length, and its polynomial."""

    t: float
    h: float
    y: Array
    rows: Array

    def box(self, left: float, right: float) -> Array:
        """The tube of a part of the step, as the kernels read it."""
        places = np.array([left, 0.5 * (left + right), right])
        states, rates = self._at(places)
        slow, fast = _range(rates)
        low, high = _range(states)
        straight = (slow >= 0) | (fast <= 0)  # it does not turn back
        low = np.where(straight, np.minimum(states[0], states[2]), low)
        high = np.where(straight, np.maximum(states[0], states[2]), high)
        ends = sorted((self.t + left * self.h, self.t + right * self.h))
        return np.concatenate([low, high, slow, fast, ends])

    def place(self, theta: float) -> Array:
        """One place as a tube."""
        states, rates = self._at(np.array([theta]))
        t = self.t + theta * self.h
        return np.concatenate([states[0], states[0], rates[0], rates[0], [t, t]])

    @cached_property
    def _slopes(self) -> Array:
        slopes: Array = self.rows * np.arange(1, len(self.rows) + 1)[:, None] / self.h
        return slopes

    def _at(self, places: Array) -> tuple[Array, Array]:
        powers = places[:, None] ** np.arange(len(self.rows) + 1)
        return self.y + powers[:, 1:] @ self.rows, powers[:, :-1] @ self._slopes


def _range(values: Array) -> tuple[Array, Array]:
    """The range of parabolas through three values at equal distances, and a little more."""
    low, high = values.min(axis=0), values.max(axis=0)
    half, bend = 0.5 * (values[2] - values[0]), values[0] - 2 * values[1] + values[2]
    inside = np.abs(half) < np.abs(bend)
    extreme = np.where(inside, values[1] - 0.5 * half**2 / np.where(inside, bend, 1.0), values[1])
    low, high = np.minimum(low, extreme), np.maximum(high, extreme)
    slack = SLACK * (high - low)
    return low - slack, high + slack


@dataclass(frozen=True)
class Safe:
    """The part of a step that leaps over nothing (1 = the whole), the largest ratio of bound to seen value, the last node leaped over."""

    part: float
    worst: float
    surprise: int = -1


def safe_part(kernel: Kernel, p: Array, step: Stretch, places: Sequence[float]) -> Safe:
    """As `dop853.enclosure.tube.safe_part`, for a step that evaluated the nodes at some points."""

    def bounds(tube: Array) -> tuple[Array, Array]:
        most, least = kernel(0.0, tube, p).reshape(2, -1)
        return np.where(np.isnan(most), np.inf, most), least

    most, least = bounds(step.box(0.0, 1.0))
    ratio = float(_ratios(most, np.maximum(least, NOTHING)).max())
    if ratio <= MOST_BEYOND_SEEN:
        return Safe(1.0, ratio)
    seen = np.maximum(_seen(lambda theta: bounds(step.place(theta))[0], places), np.maximum(_finite(least), NOTHING))
    left, width, worst = 0.0, FIRST_PART, 1.0
    while left < 1.0:
        right = min(left + width, 1.0)
        ratios = _ratios(bounds(step.box(left, right))[0], seen)
        if ratios.max() <= MOST_BEYOND_SEEN:
            left, width, worst = right, min(2 * width, FIRST_PART), max(worst, float(ratios.max()))
        elif width > FINEST_PART:
            width *= 0.5
        else:
            return Safe(min(max(left, FINEST_PART), LONGEST_PART), worst, int(ratios.argmax()))
    return Safe(1.0, worst)


def _seen(nodes: Callable[[float], Array], places: Sequence[float]) -> Array:
    """The seen values: the second largest at the points evaluated, since at the top of a narrow hill its force vanishes.

    `compiled_steps.checks` has the same, also for a series, which evaluates the rates at one point only.
    """
    if len(places) == 1:
        beyond = np.max([_finite(nodes(k / BEYOND)) for k in range(1, BEYOND + 1)], axis=0)
        return np.minimum(_finite(nodes(places[0])), beyond)
    found: Array = np.sort([_finite(nodes(theta)) for theta in places], axis=0)[-2]
    return found


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)


def _ratios(most: Array, seen: Array) -> Array:
    with np.errstate(over="ignore"):  # a node without a finite bound exceeds its seen value
        return most / seen


def proved_changes(
    f: Callable[[float], float],
    bounds: Callable[[float, float], Array],
    left: float,
    right: float,
    sign: int,
    first: int | None,
    grain: float = 0.0,
) -> tuple[list[Change], int] | None:
    """The changes of sign of f between two places and its last sign, as `changes.sign_changes`; None if bounds do not decide this.

    `bounds` gives those of f and of its rate over a part of the step. A pole is no change of sign. Where bounds are infinite, f has a pole,
    or only a part of its formula has one, as 1/tan(x) where it vanishes: the values of f decide. `grain` is the distance of neighbouring
    times, as a part of the step.
    """
    found: list[Change] = []
    width, tries = right - left, 0
    while left < right:
        tries += 1
        if tries > TRIES:
            return None
        end = min(left + width, right)
        found_bounds = bounds(left, end)
        low, high, slow, fast = found_bounds
        new, finite = certain_sign(found_bounds, 0), bool(np.isfinite(low) and np.isfinite(high))
        if not new and low <= high:  # otherwise it has no value there
            if not decided(found_bounds, 0) and width > SHORTEST_PART:
                width *= 0.5
                continue
            new = sign_of(f(end))
        elif new and slow == -np.inf and fast == np.inf and np.isnan(f(end)):  # it ends in this part
            if width > SHORTEST_PART:
                width *= 0.5
                continue
            new = 0
        if new * sign < 0:
            tries = 0
        if new * sign < 0 and (finite or not _pole(f, left, end, new, grain)):
            found.append(Change(left, end, new))
            if first is not None and first in (0, new):
                return found, new
        sign = new or sign
        left, width = end, 2 * width
    return found, sign


def _pole(f: Callable[[float], float], left: float, right: float, sign: int, grain: float) -> bool:
    """Whether f has a pole where it changes its sign to `sign`: its size grows towards a pole, falls towards a root, stays at a jump."""
    near = max(NARROWEST, LEAST_GRAINS * grain)
    a, b = left, right
    while b - a > near:
        middle = 0.5 * (a + b)
        a, b = (a, middle) if sign_of(f(middle)) == sign else (middle, b)
    nearest = max(abs(f(a - near)), abs(f(b + near)))
    beside = max(abs(f(a - FURTHER * near)), abs(f(b + FURTHER * near)))
    return not beside > POLE_RATIO * nearest


def level_part(f: Callable[[float], float], turn: float, look: Callable[[Sequence[float]], None]) -> float:
    """The part of a step in which a determinant does not come close to zero and turn back; 1 = the whole.

    `turn` is how far angles move; `look` receives the places at which `f` will be evaluated.
    """
    looks = max(FEWEST_LOOKS, int(min(MOST_LOOKS, 5 * turn / RADIAN))) if np.isfinite(turn) else MOST_LOOKS
    places = np.linspace(0.0, 1.0, looks)
    look(places.tolist())
    values = np.array([abs(f(theta)) for theta in places.tolist()])
    lower = min(values[0], values[-1])
    if f(0.0) * f(1.0) < 0 or not np.isfinite(lower):
        return 1.0
    around = np.concatenate([[np.inf], values, [np.inf]])
    turns = np.flatnonzero((values <= around[:-2]) & (values <= around[2:]) & (values <= DIP * _largest_beside(values)))
    refined = (_refined(f, float(places[k]), float(values[k]), 1 / (looks - 1)) for k in turns)
    right = next((best for best, least in refined if least < FALL * lower), None)
    if right is None:
        return 1.0
    left = 0.0
    while right - left > LEVEL_ERROR * right:
        middle = 0.5 * (left + right)
        left, right = (middle, right) if abs(f(middle)) > FALL * values[0] else (left, middle)
    return min(max(left, SHORTEST_LEVEL_PART), LONGEST_PART)


def _largest_beside(values: Array) -> Array:
    """The largest of each value and two neighbours on both sides."""
    wide = np.concatenate([np.zeros(2), values, np.zeros(2)])
    found: Array = np.max([wide[k : k + len(values)] for k in range(5)], axis=0)
    return found


def _refined(f: Callable[[float], float], best: float, least: float, width: float) -> tuple[float, float]:
    """Where a determinant is smallest near a place, and how small."""
    a, c = max(best - width, 0.0), min(best + width, 1.0)
    for _ in range(SECTIONS):
        theta = section_place(a, best, c)
        a, best, least, c = section_closer(a, best, least, c, theta, abs(f(theta)))
    return best, least
