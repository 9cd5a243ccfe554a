"""A look inside a step, between the places at which its rates were computed: the defect of the polynomial, the round-off of the rates."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import inner, part
from chetaev.numerics.methods.dop853.calls import call
from chetaev.numerics.methods.dop853.codes import ACCEPTED, CHANGE, EVALUATIONS, LOOK, LOOKED, MOVED, OFF, ROUNDED, SLOPE, SPACE, WHEN
from chetaev.numerics.methods.dop853.dense import interpolant, rate, state
from chetaev.numerics.methods.dop853.inside_constants import DIGITS, FIRST_PLACE, FURTHER, GOLDEN_PART, NARROWER, PLACES, SPARSE, SPREAD
from chetaev.numerics.methods.dop853.scales import EPSILON
from chetaev.numerics.methods.dop853.types import Array, Integers, Seen, System, Work


@part
def begin_looking(seen: Seen) -> None:
    """Nothing was seen yet."""
    for i in range(seen.inside.shape[0]):
        for j in range(seen.inside.shape[1]):
            seen.inside[i, j] = 0.0
    seen.roots[SPACE] = 0.0


@inner
def unlike_others(h: float, y: Array, end: Array, seen: Seen) -> bool:
    """Whether a step of length h from y to `end` is much shorter, or moves a component much further, than those looked at."""
    far = abs(h) < NARROWER * seen.roots[SPACE]
    for j in range(y.size):
        far |= abs(end[j] - y[j]) > FURTHER * seen.inside[MOVED, j]
    return far


@part
def look_inside(system: System, t: float, h: float, y: Array, seen: Seen, work: Work, counts: Integers) -> None:
    """Look at one place of the step just accepted, of length h from (t, y), and choose the next step to look at.

    The place and the number of steps to the next look follow from the number of the step, so that equal runs look at the same places.
    Round-off is independent from step to step: its squares are added, each for all the steps since the last look.
    """
    number, inside, there, rates = counts[ACCEPTED], seen.inside, work.trial, work.stage
    chance = (GOLDEN_PART * (number + 1)) % 1.0
    theta = FIRST_PLACE + PLACES * chance
    interpolant(system, t, h, y, work, counts)
    state(y, work.dense, theta, there)
    rate(work.dense, theta, h, inside[SLOPE])
    at = t + theta * h
    call(system.rhs, system, at, there, rates)
    counts[EVALUATIONS] += 1
    for j in range(y.size):
        inside[MOVED, j] = max(inside[MOVED, j], abs(work.end[j] - y[j]))
        off = abs(h * (inside[SLOPE, j] - rates[j])) - DIGITS * EPSILON * abs(at * rates[j])
        if inside[OFF, j] < off < np.inf:
            inside[OFF, j], inside[CHANGE, j], inside[WHEN, j] = off, abs(h * rates[j]), at
    if system.shaken != 0:
        call(system.shaken, system, at * (1.0 + EPSILON), there, inside[SLOPE])
        counts[EVALUATIONS] += 1
        for j in range(y.size):
            square = (h * (inside[SLOPE, j] - rates[j])) ** 2
            if square < np.inf:
                inside[ROUNDED, j] += (number + 1 - counts[LOOKED]) * square
    counts[LOOKED], counts[LOOK] = number + 1, number + SPARSE + int(SPREAD * chance)
    seen.roots[SPACE] = abs(h)
