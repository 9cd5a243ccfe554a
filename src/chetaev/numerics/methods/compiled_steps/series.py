r"""A step of a Taylor series, whose coefficients a kernel gives: as long as the last two coefficients allow.

With $\rho_k = (|x|/|c_k|)^{1/k}$ the step is $e^{-2 - 0.7/(m - 1)}\min(\rho_{m-1}, \rho_m)$ for the order m: A. Jorba, M. Zou, A software
package for the numerical integration of ODEs by means of high-order Taylor methods, Experimental Mathematics 14 (2005) 99-117. The norms
are those of the largest component, in units of its typical size.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import call_kernel, inner, part
from chetaev.numerics.methods.compiled_steps.codes import END, EVALUATIONS, INVERSE, LEAST, LONGEST, NEW, NEXT, NOW, PROPOSED, TYPICAL
from chetaev.numerics.methods.compiled_steps.polynomial import last_rate
from chetaev.numerics.methods.compiled_steps.rough import rough_logarithm, rough_power
from chetaev.numerics.methods.compiled_steps.sizes import find_typical, show_sizes
from chetaev.numerics.methods.compiled_steps.types import Path, Room
from chetaev.numerics.methods.compiled_steps.vectors import fill_powers, scale_and_sum
from chetaev.numerics.methods.dop853.calls import call, finite
from chetaev.numerics.methods.dop853.codes import NOT_FINITE, RUNNING, STEP_TOO_SMALL
from chetaev.numerics.methods.dop853.step import EPSILON
from chetaev.numerics.methods.dop853.types import Control, System

_POWERS = 1.0 / np.log(2.0)
"""The logarithm of e to the base two."""
_GROWTH = 6.0
"""Largest ratio of a step to the one before it, if that one had to be shortened."""
_SAFETY = 0.7
"""How much shorter a step is than the coefficients allow, as an exponent over the order: the number of Jorba and Zou."""

_RENEWED = 20
"""Most repetitions of a step because of new typical sizes of components; each repetition is shorter."""


@inner
def series_step(system: System, series: int, control: Control, path: Path, room: Room) -> int:
    """The next step, unchecked: its polynomial in `room.rows`, its end in `room.free` and its time in the clock; status."""
    status = _one_step(system, series, control, path, room)
    for _ in range(_RENEWED):
        if status != RUNNING or not show_sizes(path.scales, path.kinds, room.free):
            break
        status = _one_step(system, series, control, path, room)
    return status


@part
def meets_rates(system: System, control: Control, path: Path, room: Room) -> bool:
    """Whether the slope of the series at the end of its step is that of the equations there, as far as `room.seam` says.

    The series of sqrt(1 - cos(x)^2) before pi is that of sin(x), beyond pi too: it converges, to another function.
    """
    clock, scales = path.clock, path.scales
    h = clock[NEW] - clock[NOW]
    call(system.rhs, system, clock[NEW], room.free, room.place)
    path.counts[EVALUATIONS] += 1
    for j in range(path.y.size):
        unit = max(scales[TYPICAL, j], scales[LEAST, j])
        if not abs(h * (last_rate(room, j, h) - room.place[j])) <= room.seam * unit:
            return False
    return True


@part
def _one_step(system: System, series: int, control: Control, path: Path, room: Room) -> int:
    """A step as long as the sizes allow that are known."""
    clock, scales, rows, y = path.clock, path.scales, room.rows, path.y
    t, end, m = clock[NOW], clock[END], room.order
    find_typical(scales, path.kinds)
    size, last, before, known = 1.0, 0.0, 0.0, 0.0
    for j in range(y.size):
        scales[INVERSE, j] = 1.0 / max(scales[TYPICAL, j], scales[LEAST, j])
        size = max(size, abs(y[j]) * scales[INVERSE, j])
    call_kernel(series, t, y.ctypes, system.p.ctypes, rows.ctypes)
    path.counts[EVALUATIONS] += 1
    for j in range(y.size):
        unit = scales[INVERSE, j]
        known += 0.0 * (rows[j, m - 1] + rows[j, m - 2])
        last = max(last, abs(rows[j, m - 1]) * unit)
        before = max(before, abs(rows[j, m - 2]) * unit)
    if known != 0.0:
        return NOT_FINITE
    length, left, radius = np.inf, abs(end - t), np.inf  # the logarithm of the radius, to the base two
    if last > 0.0:
        radius = (rough_logarithm(size) - rough_logarithm(last)) * (1.0 / m)
    if before > 0.0:
        radius = min(radius, (rough_logarithm(size) - rough_logarithm(before)) * (1.0 / (m - 1)))
    if radius < np.inf:
        length = rough_power(radius - (2.0 + _SAFETY / (m - 1)) * _POWERS)
    clock[PROPOSED] = np.inf
    if clock[NEXT] < length:
        length = clock[NEXT]
        clock[PROPOSED] = _GROWTH * length
    length = min(length, clock[LONGEST])
    clock[NEW] = end if length >= left else (t + length if end > t else t - length)
    h = clock[NEW] - t
    if (length < left and abs(h) < 10.0 * EPSILON * abs(t)) or h == 0.0:
        return STEP_TOO_SMALL
    width = room.powers.size
    fill_powers(room.powers.ctypes, h, h, m, width)
    for j in range(y.size):
        room.free[j] = y[j] + scale_and_sum(rows[j].ctypes, room.powers.ctypes, width)
    return RUNNING if finite(room.free) else NOT_FINITE
