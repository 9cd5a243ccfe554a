"""Calls of kernels, norms, and the projection onto the constraints."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.methods.dop853.types import Array, Control, System
from chetaev.numerics.native import call_kernel, inner, part

TINY = 1e-300
HUGE = 1e100
_SQUARE_SETTLED = 3e-9
"""A relative correction of Newton's method after which the next one, of the order of its square, is round-off."""


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
def distance(x: Array, y: Array, at: Array, control: Control) -> tuple[float, float]:
    """Root mean squares of x - y at a state, each component measured by itself and the largest of its kind: in tolerances, and relative."""
    far, part_of = 0.0, 0.0
    for j in range(at.size):
        step, usual = abs(x[j] - y[j]), abs(at[j]) + control.among[control.kinds[j]]
        far += bounded(step / (control.atol[j] + control.rtol * usual + control.noise[j] + TINY)) ** 2
        part_of += bounded(step / (usual + TINY)) ** 2
    return np.sqrt(far / at.size), np.sqrt(part_of / at.size)


@inner
def bounded(ratio: float) -> float:
    """A ratio whose square is a number: what has no size at all is off by a lot, not by infinity. What is no number stays none."""
    return HUGE + 0.0 * ratio if ratio > HUGE else ratio


@part
def settle(system: System, control: Control, t: float, y: Array, trial: Array) -> tuple[float, int]:
    """Project y in place until the correction is round-off or no longer shrinks; the first correction, in tolerances, and the calls."""
    first, previous, calls = 0.0, np.inf, 0
    while calls < 3:
        call(system.project, system, t, y, trial)
        calls += 1
        far, size = distance(trial, y, y, control)
        if calls == 1:
            first = far
        if not size < previous:
            break
        copy(trial, y)
        if size < _SQUARE_SETTLED:
            break
        previous = size
    return first, calls
