"""Typical sizes of all unknowns, from the data of a problem; they make the search independent of the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from chetaev.core.symbols import Multiplier
from chetaev.paths.optimal.problem import Array, Problem

_MOST_CORNERS = 6
"""Largest number of inputs for which all combinations of bounds are tried to find the fastest rates; otherwise one input is varied at a
time.
"""
_INSIDE = 8
"""Number of random inputs within their bounds at which rates are also evaluated."""
_STRENGTHS = (1.0, 0.3, 0.1, 0.03)
"""Sizes of the inputs in crude integrations, relative to their bounds."""
_CRUDE_STEPS, _STEPS_PER_INPUT = 40, 10
"""Number of steps of a crude integration, and number of steps between changes of its inputs."""
_ZERO_NUMBER = 1e-300
"""Number below which a value counts as zero, because quotients by it would overflow."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """Typical sizes, all positive."""

    duration: float
    x: Array
    y: Array
    u: Array
    rows: Array
    """Sizes of the rows that determine the top jets."""


def middle(problem: Problem) -> Array:
    """Values of the inputs within their bounds, zero where the bounds allow it."""
    return np.array([min(max(0.0, each.low), each.high) for each in problem.steered])


def sizes_of(problem: Problem, x0: Array, x1: Array, duration: float | None) -> Sizes:
    """The sizes for a path between two states; `duration` is None if it is unknown."""
    tries = _fast_rates(problem, x0, x1)
    distance = np.abs(x1 - x0)
    if duration is None:
        duration = _duration(problem, distance, tries)
    x = _of_state(problem, x0, x1, duration)
    u = _of_inputs(problem, x0, x, duration)
    y = _of_tops(problem, (x0 + x1) / 2, x, u, duration)
    return Sizes(duration, x, y, u, _of_rows(problem, (x0 + x1) / 2, y, u))


def _fast_rates(problem: Problem, x0: Array, x1: Array) -> list[Array]:
    """Rates at both ends with inputs at their bounds; an input without bounds stays at zero."""
    rest = middle(problem)
    ends = [sorted({v for v in (each.low, each.high) if np.isfinite(v)}) or [0.0] for each in problem.steered]
    if len(ends) <= _MOST_CORNERS:
        choices = [np.array(c) for c in product(*ends)]
    else:
        choices = [np.where(np.arange(len(ends)) == k, v, rest) for k, e in enumerate(ends) for v in e]
    chance = np.random.default_rng(11)
    choices += [_inside(problem, chance) for _ in range(_INSIDE)]
    found = [problem.rates_at(problem.t0, x, problem.input_jets(c)) for x in (x0, x1) for c in [rest, *choices]]
    return [r for r in found if np.isfinite(r).all()]


def _inside(problem: Problem, chance: np.random.Generator) -> Array:
    """Random inputs within their bounds, where an input that is an angle may have its fastest rates; inputs without bounds are of order
    one.
    """
    found = []
    for each in problem.steered:
        low = each.low if np.isfinite(each.low) else min(-1.0, each.high - 1)
        high = each.high if np.isfinite(each.high) else max(1.0, low + 1)
        found.append(chance.uniform(low, high))
    return np.array(found)


def _duration(problem: Problem, distance: Array, rates: list[Array]) -> float:
    """The time in which the fastest rates cover the distances, including acceleration from rest."""
    place = {z: k for k, z in enumerate(problem.state)}
    fastest = np.max(np.abs(rates), axis=0, initial=0.0) if rates else np.zeros(len(place))
    found = []
    for z, k in place.items():
        if not distance[k] > 0:
            continue
        above = place.get(z.d())
        if fastest[k] > _ZERO_NUMBER:
            found.append(distance[k] / fastest[k])
        elif above is not None and fastest[above] > _ZERO_NUMBER:
            found.append(2 * np.sqrt(distance[k] / fastest[above]))
    return float(max(found)) if found else 1.0


def _of_state(problem: Problem, x0: Array, x1: Array, duration: float) -> Array:
    """The sizes of the state: values at the ends or, where both are zero, distances from the start under random inputs."""
    place = {z: k for k, z in enumerate(problem.state)}
    found = np.maximum(np.abs(x0), np.abs(x1))
    kinds = problem.equations.system.kinds
    bottoms = [k for z, k in place.items() if z.order == 0 or type(z)(z.base, z.order - 1) not in place]
    angles = np.array([kinds.get(z.base) == "angle" for z in problem.state])
    # where angles are declared, all other coordinates are lengths
    longest = max((found[k] for k in bottoms if not angles[k]), default=0.0) if angles.any() else 0.0
    limits = np.where(
        np.isin(np.arange(len(found)), bottoms), np.where(found > _ZERO_NUMBER, 2 * found, np.where(angles, 1.0, np.inf)), np.inf
    )
    reached = _excursions(problem, x0, duration, limits) if any(found[k] <= _ZERO_NUMBER for k in bottoms) else found
    for z, k in sorted(place.items(), key=lambda pair: pair[0].order):
        if k not in bottoms:
            found[k] = max(found[k], found[place[type(z)(z.base, z.order - 1)]] / duration)
        elif found[k] <= _ZERO_NUMBER:
            found[k] = 1.0 if angles[k] else longest if longest > _ZERO_NUMBER else reached[k]
    return np.where(found > _ZERO_NUMBER, found, 1.0)


def _excursions(problem: Problem, x0: Array, duration: float, limits: Array) -> Array:
    """The largest distances from the start under random inputs that change a few times, by a crude integration.

    An integration ends where a jet exceeds `limits`: inputs at their bounds for the whole duration would lead far beyond the path.
    """
    chance, largest = np.random.default_rng(17), np.zeros(len(x0))
    rest, h = middle(problem), duration / _CRUDE_STEPS
    for strength in _STRENGTHS:
        x, w = x0.copy(), np.zeros(0)
        for k in range(_CRUDE_STEPS):
            if k % _STEPS_PER_INPUT == 0:
                w = problem.input_jets((rest + strength * (_inside(problem, chance) - rest)).tolist())
            t = problem.t0 + k * h
            f = problem.rates_at(t, x, w)
            g = problem.rates_at(t + h / 2, x + h / 2 * f, w)
            x = x + h * g
            if not np.isfinite(x).all() or (np.abs(x - x0) > limits).any():
                break
            largest = np.maximum(largest, np.abs(x - x0))
    return largest


def _of_inputs(problem: Problem, x0: Array, x: Array, duration: float) -> Array:
    """The sizes of the inputs: their bounds, or the inputs that produce the rates that the path needs."""
    found = []
    rest = middle(problem)
    base = problem.rates_at(problem.t0, x0, problem.input_jets(rest))
    for k, each in enumerate(problem.steered):
        known = [abs(v) for v in (each.low, each.high) if np.isfinite(v) and v]
        if known:
            found.append(max(known))
            continue
        moved = problem.rates_at(problem.t0, x0, problem.input_jets(rest + np.eye(len(rest))[k])) - base
        acting = np.isfinite(moved) & (np.abs(moved) > _ZERO_NUMBER)
        found.append(float(np.max(x[acting] / duration / np.abs(moved[acting]))) if acting.any() else 1.0)
    return np.array(found)


def _of_tops(problem: Problem, at: Array, x: Array, u: Array, duration: float) -> Array:
    place = {z: k for k, z in enumerate(problem.state)}
    found = np.zeros(len(problem.tops))
    for j, z in enumerate(problem.tops):
        below = place.get(type(z)(z.base, z.order - 1)) if z.order else None
        found[j] = x[below] / duration if below is not None else 0.0
    if not len(found):
        return found
    a, b = (np.abs(v) for v in problem.matrices(problem.t0, at, problem.input_jets(u)))
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    for j, z in enumerate(problem.tops):
        if isinstance(z, Multiplier) and found[j] <= 0:  # a reaction as large as the other terms of its rows
            acting = np.nonzero(a[:, j])[0]
            terms = [(a[i] @ found + b[i]) / a[i, j] for i in acting]
            found[j] = max(terms, default=0.0)
    return np.where(found > _ZERO_NUMBER, found, 1.0)


def _of_rows(problem: Problem, at: Array, y: Array, u: Array) -> Array:
    if not problem.tops:
        return np.zeros(0)
    a, b = (np.nan_to_num(np.abs(v)) for v in problem.matrices(problem.t0, at, problem.input_jets(u)))
    found: Array = (a * y).max(axis=1)
    found = np.maximum(found, 0.0)
    return np.where(found > _ZERO_NUMBER, found, np.where(b > _ZERO_NUMBER, b, 1.0))
