"""Calls of kernels, norms, and the projection onto the constraints."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import call_kernel, copy_fresh, inner, part, sum_relative
from chetaev.numerics.methods.dop853.codes import AMONG, ATOL, ROUND_OFF
from chetaev.numerics.methods.dop853.scale_constants import HUGE, SQUARE_SETTLED, TINY
from chetaev.numerics.methods.dop853.types import Array, Control, System


@part
def call(address: int, system: System, t: float, y: Array, out: Array) -> None:
    """A kernel at (t, y), the inputs first."""
    if system.inputs != 0:
        call_kernel(system.inputs, t, y.ctypes, system.p.ctypes, system.p[system.first_input :].ctypes)
    call_kernel(address, t, y.ctypes, system.p.ctypes, out.ctypes)


@part
def copy(x: Array, out: Array) -> None:
    """out[:] = x, as far as `x` goes, which numba would compile into twenty functions that format messages about shapes."""
    for j in range(x.size):
        out[j] = x[j]


@part
def finite(x: Array) -> bool:
    """Are all entries finite numbers?"""
    total = 0.0
    for j in range(x.size):
        total += 0.0 * x[j]
    return total == 0.0


@part
def in_tolerances(control: Control, h: float, x: Array, y: Array) -> float:
    """The root mean square of x - y, y the end of a step of size h, in tolerances of the component and of the largest of its kind.

    Slopes that are integrated together with a motion do not count.
    """
    rows, total = control.rows, 0.0
    for j in range(control.own):
        usual = abs(y[j]) + rows[AMONG, j]
        total += bounded(abs(x[j] - y[j]) / (rows[ATOL, j] + control.rtol * usual + rows[ROUND_OFF, j] * abs(h) + TINY)) ** 2
    return np.sqrt(total / control.own)


@inner
def _relative(control: Control, x: Array, y: Array) -> float:
    """The mean square of x - y relative to the component and the largest of its kind."""
    rows, total = control.rows, HUGE**2
    if control.own == y.size:
        total = sum_relative(x.ctypes, y.ctypes, rows[AMONG].ctypes, TINY, rows.shape[1])
    if not total < HUGE**2:
        total = 0.0
        for j in range(control.own):
            total += bounded(abs(x[j] - y[j]) / (abs(y[j]) + rows[AMONG, j] + TINY)) ** 2
    return total / control.own


@inner
def bounded(ratio: float) -> float:
    """`ratio`, at most `HUGE`, so that its square is finite; NaN stays NaN. The error of a component without any size is large, not
    infinite.
    """
    return HUGE + 0.0 * ratio if ratio > HUGE else ratio


def _settle(system: System, control: Control, t: float, h: float, y: Array, trial: Array, near: float) -> tuple[float, int]:
    """Project the end y of a step of size h in place, until the correction is round-off or no longer shrinks.

    Return the size of the first correction, in tolerances, and the number of calls of the projection. A correction that is surely below
    `near` tolerances counts as `near`. Sizes are compared by their squares, which saves the root of small corrections.
    """
    first, previous, calls = near, np.inf, 0
    while calls < 3:
        call(system.project, system, t, y, trial)
        calls += 1
        square = _relative(control, trial, y)
        if calls == 1 and not square < (near * control.rtol) ** 2:
            first = in_tolerances(control, h, trial, y)
        if not square < previous:
            break
        copy_fresh(trial.ctypes, y.ctypes, control.rows.shape[1])
        if square < SQUARE_SETTLED**2:
            break
        previous = square
    return first, calls


settle = part(_settle)
settle_in_line = inner(_settle)
"""The same function, inlined for the loop that calls it in every step."""
