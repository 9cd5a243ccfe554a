r"""A step of Radau IIA of order 5 with simplified Newton iterations.

Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.

The Jacobian is that of the beginning of the step. An older one would do for Newton's method, but the estimated error is divided by it:
behind a place of strong damping an old Jacobian makes the errors of long steps vanish.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import part
from chetaev.numerics.methods.compiled_steps import radau_tableau as c
from chetaev.numerics.methods.compiled_steps.codes import (
    ATOL,
    BEFORE,
    BEFORE_ERROR,
    END,
    ERROR,
    EVALUATIONS,
    LAST,
    LONGEST,
    NEW,
    NEXT,
    NOISE,
    NOW,
    PROPOSED,
    REJECTED,
    TYPICAL,
)
from chetaev.numerics.methods.compiled_steps.sizes import find_typical, show_sizes
from chetaev.numerics.methods.compiled_steps.step_matrices import factored, solve, solve_complex
from chetaev.numerics.methods.compiled_steps.types import Newton, Path, Room
from chetaev.numerics.methods.dop853.calls import call, finite
from chetaev.numerics.methods.dop853.codes import NOT_FINITE, RUNNING, STEP_TOO_SMALL
from chetaev.numerics.methods.dop853.scale_constants import TINY
from chetaev.numerics.methods.dop853.step import EPSILON
from chetaev.numerics.methods.dop853.types import Array, Control, System

_ITERATIONS = 6
"""Most iterations of Newton's method. A step that needs more is halved, which costs less."""
_SMALLEST, _LARGEST = 0.2, 10.0
"""Bounds of the ratio of the next step to this one: the usual numbers of this method."""
_SAFETY = 0.9
"""Ratio of the next step to the step whose error would equal the tolerance."""
_POWER = 0.2
"""One over the power of the step with which the estimated error grows, which is between 4 and 6."""
_LEAST_ERROR = 1e-2
"""Lower limit of the error, in units of the tolerance, that the next step length uses: without a force an error may be 1e-30, and the ratio
of the next error to it would shorten steps without need. The number of RADAU5."""
_FINEST = 100 * 2.0**-52
"""The smallest relative tolerance: below it the iterations do not converge, because of round-off."""
_MARGIN = 2.0
"""Factor of the sharpened estimate, which is about thirty times the error of a step of a linear system already: errors add up, and
with 1 those of the steps of ten oscillations exceed the tolerance."""
_LEAST_GAIN = 0.125
"""Least ratio of the error of a step to an estimate with one power of the step less: where a small fast motion hides beside a large slow
one, an error may be larger than its estimate by one over it."""
_PATIENCE = 200
"""Trial steps in a row that may fail. Each is at most half as long as the one before: a motion that needs more has ended."""


@part
def radau_step(system: System, slopes: int, control: Control, path: Path, room: Room, newton: Newton) -> int:
    """The next accurate step, unchecked: its polynomial in `room.rows`, its end in `room.free`, its time in the clock; status."""
    clock, y, t, end = path.clock, path.y, path.clock[NOW], path.clock[END]
    call(system.rhs, system, t, y, newton.slope)
    call(slopes, system, t, y, newton.jacobian)
    path.counts[EVALUATIONS] += 1
    if not (finite(newton.slope) and finite(newton.jacobian)):
        return NOT_FINITE
    find_typical(path.scales, path.kinds)
    least, direction = 10.0 * EPSILON * abs(t), 1.0 if end > t else -1.0
    length, known, rejected = clock[NEXT], clock[BEFORE] > 0.0, False
    if length > clock[LONGEST] or length < least:
        length, known = max(min(length, clock[LONGEST]), least), False
    for _ in range(_PATIENCE):
        if length < least or not length > TINY:
            return STEP_TOO_SMALL
        clock[NEW] = end if (t + direction * length - end) * direction >= 0.0 else t + direction * length
        h = clock[NEW] - t
        length = abs(h)
        iterations = _solved(system, control, t, h, path, newton) if factored(h, newton) else 0
        if iterations == 0:
            path.counts[REJECTED] += 1
            length *= 0.5
            continue
        error = _estimate(system, control, t, h, rejected, path, room, newton)
        safety = _SAFETY * (2 * _ITERATIONS + 1) / (2 * _ITERATIONS + iterations)
        grown = safety * _factor(clock, length, error, known)
        if error <= 1.0 and show_sizes(path.scales, path.kinds, room.free):
            find_typical(path.scales, path.kinds)
            path.counts[REJECTED] += 1
            continue
        if error <= 1.0:
            clock[ERROR], clock[PROPOSED] = max(error, _LEAST_ERROR), length * min(_LARGEST, max(_SMALLEST, grown))
            _polynomial(y, room, newton)
            return RUNNING if finite(room.free) else NOT_FINITE
        path.counts[REJECTED] += 1
        length *= max(_SMALLEST, grown) if grown < 1.0 else _SMALLEST
        rejected = True
    return STEP_TOO_SMALL


@part
def _factor(clock: Array, length: float, error: float, known: bool) -> float:
    """By how much the step may be longer, from this error and the one before: Hairer, Wanner II, (8.25)."""
    if error == 0.0:
        return np.inf
    trend = 1.0
    if known and clock[BEFORE_ERROR] > 0.0:
        trend = length / clock[BEFORE] * (clock[BEFORE_ERROR] / error) ** _POWER
    return min(1.0, trend) * error**-_POWER


@part
def _first_guess(clock: Array, h: float, y: Array, newton: Newton) -> None:
    """Stages on the polynomial of the step before."""
    if clock[LAST] == 0.0:
        for i in range(3):
            for j in range(y.size):
                newton.z[i, j] = 0.0
        return
    for i in range(3):
        place = c.C1 if i == 0 else (c.C2 if i == 1 else 1.0)
        theta = 1.0 + place * h / clock[LAST]
        for j in range(y.size):
            row = newton.before[j]
            newton.z[i, j] = newton.past[j] - y[j] + theta * (row[0] + theta * (row[1] + theta * (row[2] + theta * row[3])))


@part
def _solved(system: System, control: Control, t: float, h: float, path: Path, newton: Newton) -> int:
    """Solve for the stages: the number of iterations, 0 if they do not converge."""
    y, n, w, z, f, d, weights = path.y, path.y.size, newton.w, newton.z, newton.f, newton.d, newton.weights
    rtol = max(control.rtol, _FINEST)
    enough = max(10.0 * EPSILON / rtol, min(0.03, np.sqrt(rtol)))
    for j in range(n):
        weights[j] = 1.0 / (_allowed(control, path, j) + rtol * abs(y[j]))
    _first_guess(path.clock, h, y, newton)
    for j in range(n):
        w[0, j] = c.U11 * z[0, j] + c.U12 * z[1, j] + c.U13 * z[2, j]
        w[1, j] = c.U21 * z[0, j] + c.U22 * z[1, j] + c.U23 * z[2, j]
        w[2, j] = c.U31 * z[0, j] + c.U32 * z[1, j] + c.U33 * z[2, j]
    before, real, p, q = 0.0, newton.diagonal[0], newton.diagonal[1], newton.diagonal[2]
    for k in range(_ITERATIONS):
        for i in range(3):
            for j in range(n):
                newton.error[j] = y[j] + z[i, j]
            place = c.C1 if i == 0 else (c.C2 if i == 1 else 1.0)
            call(system.rhs, system, t + place * h, newton.error, f[i])
        path.counts[EVALUATIONS] += 3
        for j in range(n):
            d[0, j] = c.U11 * f[0, j] + c.U12 * f[1, j] + c.U13 * f[2, j] - real * w[0, j]
            d[1, j] = c.U21 * f[0, j] + c.U22 * f[1, j] + c.U23 * f[2, j] - (p * w[1, j] - q * w[2, j])
            d[2, j] = c.U31 * f[0, j] + c.U32 * f[1, j] + c.U33 * f[2, j] - (p * w[2, j] + q * w[1, j])
        solve(newton, d[0])
        solve_complex(newton, d[1], d[2])
        total = 0.0
        for j in range(n):
            one, other, third = d[0, j] * weights[j], d[1, j] * weights[j], d[2, j] * weights[j]
            total += one * one + other * other + third * third
        size = np.sqrt(total / (3 * n))
        rate = size / before if k > 0 else 0.0
        if not size < np.inf or rate >= 1.0 or rate ** (_ITERATIONS - k) / (1.0 - rate) * size > enough:
            return 0
        for j in range(n):
            for i in range(3):
                w[i, j] += d[i, j]
            z[0, j] = c.T11 * w[0, j] + c.T12 * w[1, j] + c.T13 * w[2, j]
            z[1, j] = c.T21 * w[0, j] + c.T22 * w[1, j] + c.T23 * w[2, j]
            z[2, j] = w[0, j] + w[1, j]
        if size == 0.0 or (k > 0 and rate / (1.0 - rate) * size < enough):
            return k + 1
        before = size
    return 0


@part
def _allowed(control: Control, path: Path, j: int) -> float:
    """The error of a component that is allowed where it vanishes."""
    scales = path.scales
    return scales[ATOL, j] + control.rtol * scales[TYPICAL, j] + scales[NOISE, j] + TINY


@part
def _estimate(system: System, control: Control, t: float, h: float, rejected: bool, path: Path, room: Room, newton: Newton) -> float:
    """The end of the step in `room.free`; its estimated error, in units of what is allowed."""
    y, z, error, rtol = path.y, newton.z, newton.error, max(control.rtol, _FINEST)
    for j in range(y.size):
        room.free[j] = y[j] + z[2, j]
        newton.weights[j] = 1.0 / (_allowed(control, path, j) + rtol * max(abs(y[j]), abs(room.free[j])))
        newton.d[0, j] = (c.E1 * z[0, j] + c.E2 * z[1, j] + c.E3 * z[2, j]) / h
        error[j] = newton.slope[j] + newton.d[0, j]
    solve(newton, error)
    size = _norm(newton, error)
    if rejected and size > 1.0:
        for j in range(y.size):
            error[j] += y[j]
        call(system.rhs, system, t, error, newton.d[1])
        path.counts[EVALUATIONS] += 1
        for j in range(y.size):
            error[j] = newton.d[1, j] + newton.d[0, j]
        solve(newton, error)
        size = _norm(newton, error)
    return _sharpened(path, h, size, newton) if path.clock[LAST] != 0.0 else size


@part
def _sharpened(path: Path, h: float, size: float, newton: Newton) -> float:
    r"""The estimate of an error that grows with the sixth power of the step, from one that grows with the fourth.

    The estimated error is that of an embedded method of order 3, $ch^4y^{(4)}$. That of the step has two powers of h more: $h^2y^{(6)}$,
    $hJ\,hy^{(5)}$ and $(hJ)^2y^{(4)}$. Of either power one factor is seen here, as the change of the estimate since the step before and
    as its product with $hJ$, damped by $(1 - hJ/\gamma)^{-1}$ so that stiff components do not count more than once; what is
    seen once is taken twice. Components of which the step sees no motion, or only a fast one, keep the first estimate.
    """
    last, error, seen, other = path.clock[LAST], newton.error, newton.d[0], newton.d[1]
    ratio = h / last
    old, apart = ratio * ratio * ratio * ratio, 2.0 * ratio / (ratio + 1.0)
    for j in range(error.size):
        other[j] = error[j] * newton.diagonal[0]
    solve(newton, other)
    for j in range(error.size):
        changed, coupled = apart * abs(error[j] - old * newton.error_before[j]), c.REAL * abs(error[j] - other[j])
        seen[j] = max(changed, coupled)
    found = _norm(newton, seen)
    if not found < size:
        return size
    return min(size, _MARGIN * found * max(found / size, _LEAST_GAIN))


@part
def _norm(newton: Newton, error: Array) -> float:
    """The root mean square in units of what is allowed."""
    total, weights = 0.0, newton.weights
    for j in range(error.size):
        size = error[j] * weights[j]
        total += size * size
    return np.sqrt(total / error.size)


@part
def _polynomial(y: Array, room: Room, newton: Newton) -> None:
    r"""The polynomial of degree 4 through the beginning and the stages, with the slopes of the stages.

    That of degree 3 differs from it by a multiple of $\theta^4/4 - 3\theta^3/5 + 9\theta^2/20 - \theta/10$, whose slope vanishes at the
    stages and whose value at the end. With the multiple given by the estimated error it has the slope of the motion at the beginning too,
    where the motion is not stiff.
    """
    rows, z = room.rows, newton.z
    for j in range(y.size):
        more = -10.0 * c.REAL * newton.error[j]
        rows[j, 0] = c.P11 * z[0, j] + c.P21 * z[1, j] + c.P31 * z[2, j] - 0.1 * more
        rows[j, 1] = c.P12 * z[0, j] + c.P22 * z[1, j] + c.P32 * z[2, j] + 0.45 * more
        rows[j, 2] = c.P13 * z[0, j] + c.P23 * z[1, j] + c.P33 * z[2, j] - 0.6 * more
        rows[j, 3] = 0.25 * more
        rows[j, 2] += room.free[j] - y[j] - (rows[j, 0] + rows[j, 1] + rows[j, 2] + rows[j, 3])
