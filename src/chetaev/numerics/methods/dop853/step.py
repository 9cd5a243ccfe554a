"""One trial step: stages, error, projection, and the size of the next."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.methods.dop853 import tableau as c
from chetaev.numerics.methods.dop853.calls import TINY, call, copy, distance, finite, settle
from chetaev.numerics.methods.dop853.codes import EVALUATIONS, PROJECTIONS
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, System, Work
from chetaev.numerics.native import add_rows, inner, part, sum_rows

ACCURATE, INACCURATE, DRIFTED, BROKEN = range(4)
"""Verdicts on a trial step."""

EPSILON = 2.0**-52
_FAR = 10.0
"""A correction, in units of the tolerance, that no projection should make."""
_SAFETY = 0.8
"""Where 0.9 rejects every fourth step of a double pendulum, 0.8 rejects every sixth: as many evaluations in all, smaller errors."""


@part
def first_step(system: System, control: Control, t: float, y: Array, span: float, work: Work) -> float:
    """Size of the first step: Hairer, Norsett, Wanner I, section II.4. One evaluation. `span` has the sign of the direction.

    Not so small that time does not feel it: a state of almost zero that is moved by large rates would suggest that.
    """
    k, zero = work.k, work.free
    for j in range(y.size):
        zero[j] = 0.0
    size, speed = distance(y, zero, y, control), distance(k[0], zero, y, control)
    guess = 1e-6 if size < 1e-5 or speed < 1e-5 else 0.01 * size / speed
    guess = max(guess, 1000.0 * EPSILON * abs(t))
    guess = np.copysign(min(guess, abs(span), control.max_step), span)
    for j in range(y.size):
        work.stage[j] = y[j] + guess * k[0, j]
    call(system.rhs, system, t + guess, work.stage, k[1])
    bend = distance(k[1], k[0], y, control) / abs(guess)
    steepest = max(speed, bend)
    if not np.isfinite(steepest):
        return guess
    better = max(1e-6, 1e-3 * abs(guess)) if steepest <= 1e-15 else (0.01 / steepest) ** 0.125
    return np.copysign(min(100.0 * abs(guess), better, abs(span), control.max_step), span)


@inner
def _stages(system: System, t: float, h: float, y: Array, work: Work) -> None:
    """Stages 1-11 from stage 0, and the end of the step in `free`."""
    k, z, f = work.k, work.stage, system.rhs
    width = k.shape[1]
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A1)
    call(f, system, t + c.C1 * h, z, k[1])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A2)
    call(f, system, t + c.C2 * h, z, k[2])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A3)
    call(f, system, t + c.C3 * h, z, k[3])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A4)
    call(f, system, t + c.C4 * h, z, k[4])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A5)
    call(f, system, t + c.C5 * h, z, k[5])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A6)
    call(f, system, t + c.C6 * h, z, k[6])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A7)
    call(f, system, t + c.C7 * h, z, k[7])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A8)
    call(f, system, t + c.C8 * h, z, k[8])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A9)
    call(f, system, t + c.C9 * h, z, k[9])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A10)
    call(f, system, t + c.C10 * h, z, k[10])
    add_rows(z.ctypes, y.ctypes, h, k.ctypes, width, c.A11)
    call(f, system, t + h, z, k[11])
    sum_rows(z.ctypes, h, k.ctypes, width, c.B)
    for j in range(y.size):  # the whole increment is added at once, with one rounding error of the size of y
        work.free[j] = y[j] + z[j]


@inner
def _error(control: Control, h: float, y: Array, work: Work) -> float:
    """The error of the step in units of the tolerance, from estimates of orders 5 and 3: Hairer, Norsett, Wanner I, (10.17)."""
    k, fifth, third = work.k, work.stage, work.trial
    sum_rows(fifth.ctypes, 1.0, k.ctypes, k.shape[1], c.E5)
    sum_rows(third.ctypes, 1.0, k.ctypes, k.shape[1], c.E3)
    five, three = 0.0, 0.0
    for j in range(y.size):
        inverse = 1.0 / (control.atol[j] + control.rtol * max(abs(y[j]), abs(work.free[j])) + TINY)
        five += (fifth[j] * inverse) ** 2
        three += (third[j] * inverse) ** 2
    if five == 0.0:
        return 0.0 * three
    return abs(h) * five / np.sqrt((five + 0.01 * three) * y.size)


@inner
def attempt(system: System, control: Control, t: float, h: float, y: Array, work: Work, counts: Integers) -> tuple[int, float]:
    """A trial step to `work.end` with its slope; a verdict and the error. The error is estimated before the projection."""
    work.ready[0] = False
    _stages(system, t, h, y, work)
    counts[EVALUATIONS] += 11
    error = _error(control, h, y, work)
    if not (np.isfinite(error) and finite(work.free)):
        return BROKEN, error
    if error > 1.0:
        return INACCURATE, error
    copy(work.free, work.end)
    if system.project != 0:
        far, calls = settle(system, control, t + h, work.end, work.trial)
        counts[PROJECTIONS] += calls
        if not far <= _FAR:
            return (DRIFTED if far > _FAR else BROKEN), error
    call(system.rhs, system, t + h, work.end, work.slope)
    counts[EVALUATIONS] += 1
    return (ACCURATE if finite(work.slope) else BROKEN), error


@part
def factor(verdict: int, error: float) -> float:
    """By what the step is multiplied: 0.8 error^(-1/8) between 1/3 and 6."""
    if verdict == DRIFTED:
        return 0.5
    if verdict == BROKEN:
        return 0.2
    root = np.sqrt(np.sqrt(np.sqrt(error)))
    return 6.0 if 6.0 * root < _SAFETY else max(1.0 / 3.0, _SAFETY / root)
