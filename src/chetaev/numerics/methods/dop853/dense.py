r"""The interpolant of a step, and its comparison with the equations between the nodes.

A step of length h from (t, y) is described by $\theta \in [0, 1]$ and the nested polynomial of degree 7

$$P(\theta) = y + \theta(F_0 + (1-\theta)(F_1 + \theta(F_2 + (1-\theta)(F_3 + \theta(F_4 + (1-\theta)(F_5 + \theta F_6))))))$$

whose rows $F_0, \dots, F_6$ are the array `dense`. A projection that moves the end of the step by $\delta$ adds $\delta\theta^2(3 -
2\theta)$, which is $F_0 + \delta, F_1 - \delta, F_2 + 2\delta$; $F_2$ also loses $h(f(y + \delta) - f(y))$, so that the slope at the end is
the one the next step starts with: P is C1.

In a sample of steps the run compares the slope of P with the rates at one point between the nodes (a *comparison inside* the step), and
estimates the round-off of the rates there.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import add_rows, inner, part, sum_rows
from chetaev.numerics.methods.dop853 import tableau as c
from chetaev.numerics.methods.dop853.calls import call, copy
from chetaev.numerics.methods.dop853.codes import (
    ACCEPTED,
    BELOW,
    CHANGE,
    EVALUATIONS,
    LOOK,
    LOOKED,
    MOVED,
    MOVED_FURTHER,
    OFF,
    ROUNDED,
    SLOPE,
    SPACE,
    WHEN,
    WHOLE,
)
from chetaev.numerics.methods.dop853.scale_constants import (
    DIGITS,
    FIRST_COMPARISON,
    FIRST_PLACE,
    FURTHER,
    GOLDEN_PART,
    MUCH_SHORTER,
    PLACE_DIGITS,
    PLACES,
    SPARSE,
    SPREAD,
)
from chetaev.numerics.methods.dop853.scales import EPSILON
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix, Seen, System, Work


def _interpolant(system: System, t: float, h: float, y: Array, work: Work, counts: Integers) -> None:
    """Compute the polynomial of the step just accepted, which ends in `end` with slope `slope`, unless it is known already.

    Three evaluations, four if the projection moved the state.
    """
    if work.ready[0]:
        return
    work.ready[0] = True
    k, z, f, dense = work.k, work.stage, system.rhs, work.dense
    width, moved = k.shape[1], False
    for j in range(y.size):
        moved |= work.end[j] != work.free[j]
    if moved:
        call(f, system, t + h, work.free, k[12])
    else:
        copy(work.slope, k[12])
    counts[EVALUATIONS] += 4 if moved else 3
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A13)
    call(f, system, t + c.C13 * h, z, k[13])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A14)
    call(f, system, t + c.C14 * h, z, k[14])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A15)
    call(f, system, t + c.C15 * h, z, k[15])
    for j in range(y.size):  # Hermite data at both ends, the projection folded in
        dense[0, j] = work.end[j] - y[j]
        dense[1, j] = h * k[0, j] - dense[0, j]
        dense[2, j] = 2.0 * dense[0, j] - h * (work.slope[j] + k[0, j])
    sum_rows(dense[3].ctypes, h, k.ctypes, width, c.D3)
    sum_rows(dense[4].ctypes, h, k.ctypes, width, c.D4)
    sum_rows(dense[5].ctypes, h, k.ctypes, width, c.D5)
    sum_rows(dense[6].ctypes, h, k.ctypes, width, c.D6)


interpolant = part(_interpolant)
interpolant_in_line = inner(_interpolant)
"""The same function, inlined for the loop that calls it in every step."""


@part
def state(y: Array, dense: Matrix, theta: float, out: Array) -> None:
    """P(theta), without rounding where theta = 0."""
    rest = 1.0 - theta
    for j in range(y.size):
        high = dense[3, j] + theta * (dense[4, j] + rest * (dense[5, j] + theta * dense[6, j]))
        out[j] = y[j] + theta * (dense[0, j] + rest * (dense[1, j] + theta * (dense[2, j] + rest * high)))


@part
def rate(dense: Matrix, theta: float, h: float, out: Array) -> None:
    """P'(theta)/h by the product rule, from the innermost bracket outwards."""
    for j in range(out.size):
        value, slope = dense[6, j], 0.0
        for i in range(5, -1, -1):
            if i % 2 == 1:
                value, slope = dense[i, j] + theta * value, value + theta * slope
            else:
                value, slope = dense[i, j] + (1.0 - theta) * value, (1.0 - theta) * slope - value
        out[j] = (value + theta * slope) / h


@part
def cut(y: Array, dense: Matrix, theta: float, end: Array, newton: Array, nodes: Array) -> None:
    r"""Shorten the step to its part [0, theta] and bend it by $\delta\theta^2(3 - 2\theta)$ to end in `end`.

    The nested form is Newton's with the nodes 0, 1, 0, 1, 0, 1, 0; new nodes 0, theta, ... enter at the front while the old ones leave.
    `newton` and `nodes` are room for eight and seven numbers.
    """
    for j in range(y.size):
        newton[0] = y[j]
        for i in range(7):
            newton[i + 1] = dense[i, j] if i in (0, 3, 4) else -dense[i, j]
            nodes[i] = i % 2
        for entering in range(7):
            node = 0.0 if entering % 2 == 0 else theta
            for i in range(6, -1, -1):
                newton[i] += (node - nodes[i]) * newton[i + 1]
            for i in range(6, 0, -1):
                nodes[i] = nodes[i - 1]
            nodes[0] = node
        power = 1.0
        for i in range(7):
            power *= theta
            dense[i, j] = power * (newton[i + 1] if i in (0, 3, 4) else -newton[i + 1])
        delta = end[j] - y[j] - dense[0, j]
        dense[0, j] = end[j] - y[j]
        dense[1, j] -= delta
        dense[2, j] += 2.0 * delta


@part
def begin_comparisons(seen: Seen, counts: Integers) -> None:
    """Reset the record of comparisons inside steps."""
    counts[LOOK] = FIRST_COMPARISON
    for i in range(seen.inside.shape[0]):
        for j in range(seen.inside.shape[1]):
            seen.inside[i, j] = 0.0
    seen.roots[SPACE] = 0.0


@inner
def is_compared(h: float, last: bool, y: Array, end: Array, seen: Seen, counts: Integers, known: int) -> bool:
    """Whether the run compares inside a step of length h from y to `end`: if its number is due, if it is the `last` step, if it is much
    shorter than the steps compared so far, or changes a component much more. `known`: what code for whole steps found.
    """
    if counts[LOOKED] == 0:
        return last or counts[ACCEPTED] >= counts[LOOK]
    far = abs(h) < MUCH_SHORTER * seen.roots[SPACE] or counts[ACCEPTED] >= counts[LOOK]
    if known >= WHOLE:
        return far or known & MOVED_FURTHER != 0
    for j in range(seen.inside.shape[1]):
        far |= abs(end[j] - y[j]) > FURTHER * seen.inside[MOVED, j]
    return far


@inner
def doubt(inside: Matrix, h: float, rates: Array, steps: int) -> None:
    """Add the squared round-off of the components in `steps` steps of length h; `inside` holds the rates plus and minus their error bounds.

    A rate without a bound makes the sum infinite.
    """
    for j in range(inside.shape[1]):
        square = (h * max(abs(inside[SLOPE, j] - rates[j]), abs(inside[BELOW, j] - rates[j]))) ** 2
        inside[ROUNDED, j] += steps * (square if square < np.inf else np.inf)


@inner
def compare_inside(system: System, t: float, h: float, y: Array, seen: Seen, work: Work, counts: Integers) -> None:
    """Compare the interpolant with the rates at one point of the accepted step of length h from (t, y); choose the next step to compare.

    The point and the distance to the next comparison follow from the number of the step, so that equal runs compare at equal points. State
    and time are rounded numbers too: they are moved by a unit in the last place before the rates and their bounds are computed. The squares
    of the differences are added, each for all steps since the last comparison.
    """
    number, inside, there, rates = counts[ACCEPTED], seen.inside, work.trial, work.stage
    turns = GOLDEN_PART * (number + 1)
    chance = turns - np.floor(turns)
    theta = FIRST_PLACE + PLACES * chance
    state(y, work.dense, theta, there)
    rate(work.dense, theta, h, inside[SLOPE])
    at = t + theta * h
    call(system.rhs, system, at, there, rates)
    counts[EVALUATIONS] += 1
    for j in range(inside.shape[1]):
        inside[MOVED, j] = max(inside[MOVED, j], abs(work.end[j] - y[j]))
        bend = max(abs(work.k[0, j] - rates[j]), abs(work.slope[j] - rates[j]))
        off = abs(h * (inside[SLOPE, j] - rates[j])) - EPSILON * abs(at) * (DIGITS * abs(rates[j]) + PLACE_DIGITS * bend)
        if inside[OFF, j] < off < np.inf:
            inside[OFF, j], inside[CHANGE, j], inside[WHEN, j] = off, abs(h * rates[j]), at
    if system.doubting != 0:
        for j in range(y.size):
            there[j] *= 1.0 + (EPSILON if (j + number) % 2 else -EPSILON)
        call(system.doubting, system, at * (1.0 + EPSILON), there, inside[SLOPE])
        counts[EVALUATIONS] += 2
        doubt(inside, h, rates, number + 1 - counts[LOOKED])
    counts[LOOKED], counts[LOOK] = number + 1, number + SPARSE + int(SPREAD * chance)
    seen.roots[SPACE] = abs(h)
