"""One trial step: stages, error, projection, and the size of the next."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import add_row, add_rows, all_finite, call_step, copy_row, inner, part, sum_rows, sum_squares
from chetaev.numerics.methods.dop853 import tableau as c
from chetaev.numerics.methods.dop853.calls import bounded, call, finite, settle_in_line
from chetaev.numerics.methods.dop853.codes import (
    AMONG,
    ATOL,
    CALLS,
    EVALUATIONS,
    FIFTH,
    GREW,
    MOVED_BY,
    PROJECTIONS,
    ROUND_OFF,
    SIZES,
    THIRD,
    WHOLE,
)
from chetaev.numerics.methods.dop853.scale_constants import (
    BESIDE,
    FAR,
    GROWS,
    GUESS_AT_REST,
    HUGE,
    LONGEST_GUESS,
    MOST_RATE_ATTEMPTS,
    NEARER,
    NEGLIGIBLE_TIME_SCALE,
    SAFETY,
    TINY,
    WEIGHT,
)
from chetaev.numerics.methods.dop853.scales import (
    EPSILON,
    measure_round_off,
    raise_largest,
    remember_sizes,
    round_off_of_projection,
    unresolved,
)
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, Seen, System, Tube, Work

ACCURATE, INACCURATE, DRIFTED, BROKEN = range(4)
"""Verdicts on a trial step."""

SUSPECT = 1e3
"""Errors below this, in units of the tolerance, may be round-off of a component that vanishes by symmetry; so may every second error in a
row."""
_BESIDE = 0.1
"""Weight of the errors of slopes, which are integrated together with a motion: they may be ten times its tolerance. Slopes of a
double pendulum with the weight 1 need half as many steps again."""
FINEST = 1e-16
"""Relative tolerance for the choice of the first step if the caller gives none."""


@inner
def first_step(system: System, control: Control, t: float, y: Array, span: float, work: Work) -> float:
    r"""Length of the first step: a part of the time in which second derivatives change a component, or its rate, by its own size.

    For each component that is $\max(\sqrt{|y/y''|}, |y'/y''|)$, whatever the units are; the least of these times counts, and the part is
    $(0.01\,tol)^{1/8}$. Components far below the others of their kind are measured by these. `span` has the sign of the direction. The step
    is never so short that it does not change the time. After Hairer, Norsett, Wanner I, section II.4. One evaluation, if it gives numbers.
    """
    k, whole = work.k, abs(span) if np.isfinite(span) else 1.0
    slowest = 0.0
    for j in range(y.size):
        if y[j] != 0.0 and k[0, j] != 0.0:
            slowest = max(slowest, abs(y[j] / k[0, j]))
    guess = min(0.01 * slowest, LONGEST_GUESS * whole) if slowest > 0.0 else GUESS_AT_REST * whole
    least = 1000.0 * EPSILON * abs(t)
    guess = min(max(guess, least), whole, control.max_step)
    for _ in range(MOST_RATE_ATTEMPTS):
        for j in range(y.size):
            work.stage[j] = y[j] + np.copysign(guess, span) * k[0, j]
        call(system.rhs, system, t + np.copysign(guess, span), work.stage, k[1])
        if finite(k[1, : y.size]):
            break
        guess = max(NEARER * guess, least)
    bend = np.inf
    for j in range(y.size):
        second = abs(k[1, j] - k[0, j]) / guess
        size = max(abs(y[j]), BESIDE * control.rows[AMONG, j])
        time = max(np.sqrt(size / second), abs(k[0, j]) / second) if second > 0.0 else 0.0
        if (0.0 if size > 0.0 else NEGLIGIBLE_TIME_SCALE * guess) < time < bend:
            bend = time
    part_of = np.sqrt(np.sqrt(np.sqrt(0.01 * max(control.rtol, FINEST))))
    better = LONGEST_GUESS * whole if bend == np.inf else part_of * bend
    return np.copysign(min(max(better, least), whole, control.max_step), span)


@inner
def _at_once(system: System, control: Control, t: float, h: float, y: Array, work: Work, seen: Seen, tube: Tube) -> tuple[int, float]:
    """How far code for the whole step came, and the ratio of the next step to this one if it is done."""
    return call_step(
        system.stages, t, h, control.rtol, y.ctypes, system.p.ctypes, work.k.ctypes, work.free.ctypes, work.end.ctypes, work.slope.ctypes,
        control.rows.ctypes, seen.inside.ctypes, tube.notes.ctypes, work.before.ctypes,
    )  # fmt: skip


@inner
def _stages(system: System, control: Control, t: float, h: float, y: Array, work: Work, made: bool) -> bool:
    """Stages 1-11 from stage 0, what they sum to in the last rows of `k`, and the end of the step in `free`; whether that is finite.

    `made`: the rows of `k` are there already.
    """
    k, width = work.k, work.k.shape[1]
    moved, fifth, third = k[MOVED_BY], k[FIFTH], k[THIRD]
    if not made:
        _one_by_one(system, t, h, y, work)
        sum_rows(moved.ctypes, h, k.ctypes, width, c.B)
        sum_rows(fifth.ctypes, 1.0, k.ctypes, width, c.E5)
        sum_rows(third.ctypes, 1.0, k.ctypes, width, c.E3)
    for j in range(control.own, y.size):
        fifth[j] *= _BESIDE
        third[j] *= _BESIDE
    return add_row(work.free.ctypes, y.ctypes, moved.ctypes, width)  # in one sum, with one rounding error of the size of y


@inner
def _one_by_one(system: System, t: float, h: float, y: Array, work: Work) -> None:
    """Stages 1-11 by calls of the right-hand side."""
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


@inner
def _error(control: Control, h: float, y: Array, work: Work) -> float:
    """The error of the step in units of the tolerance, from estimates of orders 5 and 3: Hairer, Norsett, Wanner I, (10.17)."""
    k, rows = work.k, control.rows
    five, three = sum_squares(
        k[FIFTH].ctypes, k[THIRD].ctypes, y.ctypes, work.free.ctypes, rows[ATOL].ctypes, rows[SIZES].ctypes, rows[ROUND_OFF].ctypes,
        (control.rtol, WEIGHT, abs(h), TINY), k.shape[1],
    )  # fmt: skip
    if not max(five, three) < HUGE**2:
        five, three = _bounded_sums(control, h, y, work)
    if five == 0.0:
        return 0.0 * three
    return abs(h) * five / np.sqrt((five + 0.01 * three) * control.own)


@part
def _bounded_sums(control: Control, h: float, y: Array, work: Work) -> tuple[float, float]:
    """The sums of squares of both estimates, where some of the squares are too large to be numbers."""
    rows, five, three = control.rows, 0.0, 0.0
    for j in range(y.size):
        usual = max(abs(y[j]), abs(work.free[j])) + WEIGHT * rows[SIZES, j]
        inverse = 1.0 / (rows[ATOL, j] + control.rtol * usual + rows[ROUND_OFF, j] * abs(h) + TINY)
        five += bounded(abs(work.k[FIFTH, j]) * inverse) ** 2
        three += bounded(abs(work.k[THIRD, j]) * inverse) ** 2
    return five, three


@inner
def _ends(system: System, t: float, work: Work) -> None:
    """Rates, watched functions and residuals where a step ends."""
    if system.ends != 0:
        call(system.ends, system, t, work.end, work.slope)
        return
    call(system.rhs, system, t, work.end, work.slope)
    if work.after.size > 0:
        call(system.watch, system, t, work.end, work.after)
    if work.residuals.size > 0:
        call(system.measure, system, t, work.end, work.residuals)


@inner
def attempt(
    system: System, control: Control, t: float, h: float, y: Array, work: Work, seen: Seen, tube: Tube, counts: Integers
) -> tuple[int, float, int]:
    """A trial step to `work.end` with its slope, watched functions and residuals there; a verdict, the ratio of the next step to this one,
    and what code for whole steps found (`codes.WHOLE` and bits beside it). The error is estimated before the projection.
    """
    work.ready[0] = False
    counts[EVALUATIONS] += 11
    made, growth = 0, 0.0
    if system.stages != 0:
        made, growth = _at_once(system, control, t, h, y, work, seen, tube)
    if made >= WHOLE:
        counts[EVALUATIONS] += 1
        counts[PROJECTIONS] += (made & CALLS) - WHOLE
        work.inaccurate[0] = False
        if made & GREW != 0:
            raise_largest(control, work.end)
        return ACCURATE, growth, made
    verdict, error = _judged(system, control, t, h, y, work, counts, made > 0)
    return verdict, factor(verdict, error), 0


@inner
def _judged(system: System, control: Control, t: float, h: float, y: Array, work: Work, counts: Integers, made: bool) -> tuple[int, float]:
    """The same in several calls: a verdict and the error. `made`: the stages are there already."""
    ends = _stages(system, control, t, h, y, work, made)
    error = _error(control, h, y, work)
    if not (np.isfinite(error) and ends):
        return BROKEN, error
    if error > 1.0:
        if not work.inaccurate[0]:
            work.past[y.size] = 0.0
        unresolved(control, h, y, work)
        if work.inaccurate[0] or error > SUSPECT:
            measure_round_off(system, control, t, h, y, work, counts)
            error = _error(control, h, y, work)
    work.inaccurate[0] = error > 1.0
    if error > 1.0:
        return INACCURATE, error
    copy_row(work.free.ctypes, work.end.ctypes, work.k.shape[1])
    if system.project != 0:
        far, calls = settle_in_line(system, control, t + h, h, work.end, work.trial, FAR)
        counts[PROJECTIONS] += calls
        if far > FAR:
            measure_round_off(system, control, t, h, y, work, counts)
            far /= max(1.0, round_off_of_projection(system, control, t + h, h, work.end, work, counts))
        if not far <= FAR:
            return (DRIFTED if far > FAR else BROKEN), error
    _ends(system, t + h, work)
    counts[EVALUATIONS] += 1
    if not all_finite(work.slope.ctypes, work.k.shape[1]):
        return BROKEN, error
    remember_sizes(control, work.end)
    return ACCURATE, error


@part
def factor(verdict: int, error: float) -> float:
    """The ratio of the next step to this one: 0.8 error^(-1/8), between 1/3 and 6."""
    if verdict == DRIFTED:
        return 0.5
    if verdict == BROKEN:
        return 0.2
    root = np.sqrt(np.sqrt(np.sqrt(error)))
    return GROWS if GROWS * root < SAFETY else max(1.0 / 3.0, SAFETY / root)
