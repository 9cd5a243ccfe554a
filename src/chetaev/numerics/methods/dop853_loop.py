r"""The compiled loop of DOP853: stages, error, projection, interpolant, roots, and what is kept.

Everything here is machine code without Python objects; `chetaev.numerics.methods.dop853` is the door to it. Only `integrate`,
`integrate_some`, `interpolate` and `settle` are entered from Python and cached on disk. Numba renews that cache when THIS file changes, not
when an imported one does; that is why the parts of the loop share one file. Numbers, types and the call of a kernel live elsewhere; `BASIS`
is a digest of them, and a test fails until it is renewed here.

A step of length h from (t, y) is described by $\theta \in [0, 1]$ and the nested polynomial of degree 7

$$P(\theta) = y + \theta(F_0 + (1-\theta)(F_1 + \theta(F_2 + (1-\theta)(F_3 + \theta(F_4 + (1-\theta)(F_5 + \theta F_6))))))$$

whose rows $F_0, \dots, F_6$ are the array `dense`. A projection that moves the end of the step by $\delta$ adds $\delta\theta^2(3 -
2\theta)$, which is $F_0 + \delta, F_1 - \delta, F_2 + 2\delta$; $F_2$ also loses $h(f(y + \delta) - f(y))$, so that the slope at the end is
the one the next step starts with: P is C1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from chetaev.numerics.kernel_call import call_kernel
from chetaev.numerics.methods import dop853_tableau as c
from chetaev.numerics.methods.dop853_types import Array, Control, Found, Integers, Kept, Results, Run, Seen, System, Watches, Work

BASIS = "39607a3fd4ebb348"
"""The digest of dop853_tableau.py, dop853_types.py and `machine._call_kernel`, from which the machine code is made besides this file."""

_part = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
_hot = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
"""Parts that allocate nothing: without the runtime that counts references they are 1.4 to 2.2 times faster."""
_inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, forceinline=True)
"""Parts of every step: as calls they would be passed a hundred numbers each, since tuples of arrays are passed by their parts."""
_entry = njit(error_model="numpy", no_cfunc_wrapper=True, cache=True, nogil=True)

RUNNING, FINISHED, WATCH, FLOOR, TOO_MANY_STEPS, STEP_TOO_SMALL, DRIFT, NOT_FINITE, INTERRUPTED = range(-1, 8)
FINAL, STEPS, TIMES = range(3)
"""What is kept: the final state, every accepted step, given times."""

_ACCEPTED, _INACCURATE, _DRIFTED, _BROKEN = range(4)
"""Verdicts on a trial step."""
_ACCEPTS, _REJECTS, _EVALUATIONS, _PROJECTIONS, _KEPT = range(5)
"""Places in the array of counts."""
_LOOK, _ROOM = -2, -3
"""Why a stretch of steps is interrupted: watched functions need a closer look, or there is no room to keep another step."""

_NEVER = 2.0
"""A root that is not in the step."""
_EARLY = 1e-6
"""Roots in this part of the first step are the start itself."""
_ROOT = 1e-13
"""Width of the bracket of a root, in steps."""
_SQUARE_SETTLED = 3e-9
"""A relative correction of Newton's method after which the next one, of the order of its square, is round-off."""
_FAR = 10.0
"""A correction, in units of the tolerance, that no projection should make."""
_PATIENCE = 20
"""Trial steps in a row that are not finite."""
_SAFETY = 0.8
"""Where 0.9 rejects every fourth step of a double pendulum, 0.8 rejects every sixth: as many evaluations in all, smaller errors."""
_EPSILON = 2.0**-52
_TINY = 1e-300


# ------------------------------------------------------------ calls and norms


@_hot
def _call(address: int, system: System, t: float, y: Array, out: Array) -> None:
    """A kernel at (t, y), the inputs first."""
    if system.inputs != 0:
        call_kernel(system.inputs, t, y.ctypes, system.p.ctypes, system.p[system.first_input :].ctypes)
    call_kernel(address, t, y.ctypes, system.p.ctypes, out.ctypes)


@_hot
def _copy(x: Array, out: Array) -> None:
    """out[:] = x, which numba would compile into twenty functions that format messages about shapes."""
    for j in range(x.size):
        out[j] = x[j]


@_hot
def _finite(x: Array) -> bool:
    total = 0.0
    for j in range(x.size):
        total += 0.0 * x[j]
    return total == 0.0


@_hot
def _distance(x: Array, y: Array, at: Array, control: Control) -> float:
    """Root mean square of x - y in units of the tolerance at a state."""
    total = 0.0
    for j in range(x.size):
        total += ((x[j] - y[j]) / (control.atol[j] + control.rtol * abs(at[j]) + _TINY)) ** 2
    return np.sqrt(total / x.size)


@_hot
def _settle(system: System, control: Control, t: float, y: Array, trial: Array) -> tuple[float, int]:
    """Project y in place until the correction is round-off or no longer shrinks; the first correction, in tolerances, and the calls."""
    unit = control.rtol
    for j in range(y.size):
        unit = max(unit, control.atol[j])
    first, previous, calls = 0.0, np.inf, 0
    while calls < 3:
        _call(system.project, system, t, y, trial)
        calls += 1
        size = _distance(trial, y, y, control)
        if calls == 1:
            first = size
        if not size < previous:
            break
        _copy(trial, y)
        if size * unit < _SQUARE_SETTLED:
            break
        previous = size
    return first, calls


# ------------------------------------------------------------ one step


@_hot
def _first_step(system: System, control: Control, t: float, y: Array, span: float, work: Work) -> float:
    """Size of the first step: Hairer, Norsett, Wanner I, section II.4. One evaluation. `span` has the sign of the direction.

    Not so small that time does not feel it: a state of almost zero that is moved by large rates would suggest that.
    """
    k, zero = work.k, work.free
    for j in range(y.size):
        zero[j] = 0.0
    size, speed = _distance(y, zero, y, control), _distance(k[0], zero, y, control)
    guess = 1e-6 if size < 1e-5 or speed < 1e-5 else 0.01 * size / speed
    guess = max(guess, 1000.0 * _EPSILON * abs(t))
    guess = np.copysign(min(guess, abs(span), control.max_step), span)
    for j in range(y.size):
        work.stage[j] = y[j] + guess * k[0, j]
    _call(system.rhs, system, t + guess, work.stage, k[1])
    bend = _distance(k[1], k[0], y, control) / abs(guess)
    steepest = max(speed, bend)
    if not np.isfinite(steepest):
        return guess
    better = max(1e-6, 1e-3 * abs(guess)) if steepest <= 1e-15 else (0.01 / steepest) ** 0.125
    return np.copysign(min(100.0 * abs(guess), better, abs(span), control.max_step), span)


@_inner
def _stages(system: System, t: float, h: float, y: Array, work: Work) -> None:
    """Stages 1-11 from stage 0, and the end of the step in `free`."""
    n, k, z, f = y.size, work.k, work.stage, system.rhs
    for j in range(n):
        z[j] = y[j] + h * (c.A1_0 * k[0, j])
    _call(f, system, t + c.C1 * h, z, k[1])
    for j in range(n):
        z[j] = y[j] + h * (c.A2_0 * k[0, j] + c.A2_1 * k[1, j])
    _call(f, system, t + c.C2 * h, z, k[2])
    for j in range(n):
        z[j] = y[j] + h * (c.A3_0 * k[0, j] + c.A3_2 * k[2, j])
    _call(f, system, t + c.C3 * h, z, k[3])
    for j in range(n):
        z[j] = y[j] + h * (c.A4_0 * k[0, j] + c.A4_2 * k[2, j] + c.A4_3 * k[3, j])
    _call(f, system, t + c.C4 * h, z, k[4])
    for j in range(n):
        z[j] = y[j] + h * (c.A5_0 * k[0, j] + c.A5_3 * k[3, j] + c.A5_4 * k[4, j])
    _call(f, system, t + c.C5 * h, z, k[5])
    for j in range(n):
        z[j] = y[j] + h * (c.A6_0 * k[0, j] + c.A6_3 * k[3, j] + c.A6_4 * k[4, j] + c.A6_5 * k[5, j])
    _call(f, system, t + c.C6 * h, z, k[6])
    for j in range(n):
        z[j] = y[j] + h * (c.A7_0 * k[0, j] + c.A7_3 * k[3, j] + c.A7_4 * k[4, j] + c.A7_5 * k[5, j] + c.A7_6 * k[6, j])
    _call(f, system, t + c.C7 * h, z, k[7])
    for j in range(n):
        low = c.A8_0 * k[0, j] + c.A8_3 * k[3, j] + c.A8_4 * k[4, j]
        z[j] = y[j] + h * (low + c.A8_5 * k[5, j] + c.A8_6 * k[6, j] + c.A8_7 * k[7, j])
    _call(f, system, t + c.C8 * h, z, k[8])
    for j in range(n):
        low = c.A9_0 * k[0, j] + c.A9_3 * k[3, j] + c.A9_4 * k[4, j]
        z[j] = y[j] + h * (low + c.A9_5 * k[5, j] + c.A9_6 * k[6, j] + c.A9_7 * k[7, j] + c.A9_8 * k[8, j])
    _call(f, system, t + c.C9 * h, z, k[9])
    for j in range(n):
        low = c.A10_0 * k[0, j] + c.A10_3 * k[3, j] + c.A10_4 * k[4, j] + c.A10_5 * k[5, j]
        z[j] = y[j] + h * (low + c.A10_6 * k[6, j] + c.A10_7 * k[7, j] + c.A10_8 * k[8, j] + c.A10_9 * k[9, j])
    _call(f, system, t + c.C10 * h, z, k[10])
    for j in range(n):
        low = c.A11_0 * k[0, j] + c.A11_3 * k[3, j] + c.A11_4 * k[4, j] + c.A11_5 * k[5, j]
        z[j] = y[j] + h * (low + c.A11_6 * k[6, j] + c.A11_7 * k[7, j] + c.A11_8 * k[8, j] + c.A11_9 * k[9, j] + c.A11_10 * k[10, j])
    _call(f, system, t + h, z, k[11])
    for j in range(n):
        low = c.B0 * k[0, j] + c.B5 * k[5, j] + c.B6 * k[6, j] + c.B7 * k[7, j]
        work.free[j] = y[j] + h * (low + c.B8 * k[8, j] + c.B9 * k[9, j] + c.B10 * k[10, j] + c.B11 * k[11, j])


@_inner
def _error(control: Control, h: float, y: Array, work: Work) -> float:
    """The error of the step in units of the tolerance, from estimates of orders 5 and 3: Hairer, Norsett, Wanner I, (10.17)."""
    k, five, three = work.k, 0.0, 0.0
    for j in range(y.size):
        inverse = 1.0 / (control.atol[j] + control.rtol * max(abs(y[j]), abs(work.free[j])) + _TINY)
        low = c.E5_0 * k[0, j] + c.E5_5 * k[5, j] + c.E5_6 * k[6, j] + c.E5_7 * k[7, j]
        five += ((low + c.E5_8 * k[8, j] + c.E5_9 * k[9, j] + c.E5_10 * k[10, j] + c.E5_11 * k[11, j]) * inverse) ** 2
        low = c.E3_0 * k[0, j] + c.E3_5 * k[5, j] + c.E3_6 * k[6, j] + c.E3_7 * k[7, j]
        three += ((low + c.E3_8 * k[8, j] + c.E3_9 * k[9, j] + c.E3_10 * k[10, j] + c.E3_11 * k[11, j]) * inverse) ** 2
    if five == 0.0:
        return 0.0 * three
    return abs(h) * five / np.sqrt((five + 0.01 * three) * y.size)


@_inner
def _attempt(system: System, control: Control, t: float, h: float, y: Array, work: Work, counts: Integers) -> tuple[int, float]:
    """A trial step to `work.end` with its slope; a verdict and the error. The error is estimated before the projection."""
    work.ready[0] = False
    _stages(system, t, h, y, work)
    counts[_EVALUATIONS] += 11
    error = _error(control, h, y, work)
    if not (np.isfinite(error) and _finite(work.free)):
        return _BROKEN, error
    if error > 1.0:
        return _INACCURATE, error
    _copy(work.free, work.end)
    if system.project != 0:
        far, calls = _settle(system, control, t + h, work.end, work.trial)
        counts[_PROJECTIONS] += calls
        if not far <= _FAR:
            return (_DRIFTED if far > _FAR else _BROKEN), error
    _call(system.rhs, system, t + h, work.end, work.slope)
    counts[_EVALUATIONS] += 1
    return (_ACCEPTED if _finite(work.slope) else _BROKEN), error


@_hot
def _factor(verdict: int, error: float) -> float:
    """By what the step is multiplied: 0.8 error^(-1/8) between 1/3 and 6."""
    if verdict == _DRIFTED:
        return 0.5
    if verdict == _BROKEN:
        return 0.2
    root = np.sqrt(np.sqrt(np.sqrt(error)))
    return 6.0 if 6.0 * root < _SAFETY else max(1.0 / 3.0, _SAFETY / root)


# ------------------------------------------------------------ between the nodes


@_hot
def _interpolant(system: System, t: float, h: float, y: Array, work: Work, counts: Integers) -> None:
    """The polynomial of the step just accepted, ending in `end` with slope `slope`, unless it is there already.

    Three evaluations, four if the projection moved the state.
    """
    if work.ready[0]:
        return
    work.ready[0] = True
    n, k, z, f, dense = y.size, work.k, work.stage, system.rhs, work.dense
    moved = False
    for j in range(n):
        moved |= work.end[j] != work.free[j]
    if moved:
        _call(f, system, t + h, work.free, k[12])
    else:
        _copy(work.slope, k[12])
    counts[_EVALUATIONS] += 4 if moved else 3
    for j in range(n):
        low = c.A13_0 * k[0, j] + c.A13_6 * k[6, j] + c.A13_7 * k[7, j] + c.A13_8 * k[8, j]
        z[j] = y[j] + h * (low + c.A13_9 * k[9, j] + c.A13_10 * k[10, j] + c.A13_11 * k[11, j] + c.A13_12 * k[12, j])
    _call(f, system, t + c.C13 * h, z, k[13])
    for j in range(n):
        low = c.A14_0 * k[0, j] + c.A14_5 * k[5, j] + c.A14_6 * k[6, j] + c.A14_7 * k[7, j]
        z[j] = y[j] + h * (low + c.A14_10 * k[10, j] + c.A14_11 * k[11, j] + c.A14_12 * k[12, j] + c.A14_13 * k[13, j])
    _call(f, system, t + c.C14 * h, z, k[14])
    for j in range(n):
        low = c.A15_0 * k[0, j] + c.A15_5 * k[5, j] + c.A15_6 * k[6, j] + c.A15_7 * k[7, j]
        z[j] = y[j] + h * (low + c.A15_8 * k[8, j] + c.A15_12 * k[12, j] + c.A15_13 * k[13, j] + c.A15_14 * k[14, j])
    _call(f, system, t + c.C15 * h, z, k[15])
    for j in range(n):
        # Hermite data at both ends, the projection folded in, then the four higher rows
        dense[0, j] = work.end[j] - y[j]
        dense[1, j] = h * k[0, j] - dense[0, j]
        dense[2, j] = 2.0 * dense[0, j] - h * (work.slope[j] + k[0, j])
        low = c.D3_0 * k[0, j] + c.D3_5 * k[5, j] + c.D3_6 * k[6, j] + c.D3_7 * k[7, j] + c.D3_8 * k[8, j] + c.D3_9 * k[9, j]
        high = c.D3_10 * k[10, j] + c.D3_11 * k[11, j] + c.D3_12 * k[12, j] + c.D3_13 * k[13, j] + c.D3_14 * k[14, j] + c.D3_15 * k[15, j]
        dense[3, j] = h * (low + high)
        low = c.D4_0 * k[0, j] + c.D4_5 * k[5, j] + c.D4_6 * k[6, j] + c.D4_7 * k[7, j] + c.D4_8 * k[8, j] + c.D4_9 * k[9, j]
        high = c.D4_10 * k[10, j] + c.D4_11 * k[11, j] + c.D4_12 * k[12, j] + c.D4_13 * k[13, j] + c.D4_14 * k[14, j] + c.D4_15 * k[15, j]
        dense[4, j] = h * (low + high)
        low = c.D5_0 * k[0, j] + c.D5_5 * k[5, j] + c.D5_6 * k[6, j] + c.D5_7 * k[7, j] + c.D5_8 * k[8, j] + c.D5_9 * k[9, j]
        high = c.D5_10 * k[10, j] + c.D5_11 * k[11, j] + c.D5_12 * k[12, j] + c.D5_13 * k[13, j] + c.D5_14 * k[14, j] + c.D5_15 * k[15, j]
        dense[5, j] = h * (low + high)
        low = c.D6_0 * k[0, j] + c.D6_5 * k[5, j] + c.D6_6 * k[6, j] + c.D6_7 * k[7, j] + c.D6_8 * k[8, j] + c.D6_9 * k[9, j]
        high = c.D6_10 * k[10, j] + c.D6_11 * k[11, j] + c.D6_12 * k[12, j] + c.D6_13 * k[13, j] + c.D6_14 * k[14, j] + c.D6_15 * k[15, j]
        dense[6, j] = h * (low + high)


@_hot
def _state(y: Array, dense: Array, theta: float, out: Array) -> None:
    """P(theta), without rounding where theta = 0."""
    rest = 1.0 - theta
    for j in range(y.size):
        high = dense[3, j] + theta * (dense[4, j] + rest * (dense[5, j] + theta * dense[6, j]))
        out[j] = y[j] + theta * (dense[0, j] + rest * (dense[1, j] + theta * (dense[2, j] + rest * high)))


@_hot
def _rate(dense: Array, theta: float, h: float, out: Array) -> None:
    """P'(theta)/h by the product rule, from the innermost bracket outwards."""
    for j in range(out.size):
        value, slope = dense[6, j], 0.0
        for i in range(5, -1, -1):
            if i % 2 == 1:
                value, slope = dense[i, j] + theta * value, value + theta * slope
            else:
                value, slope = dense[i, j] + (1.0 - theta) * value, (1.0 - theta) * slope - value
        out[j] = (value + theta * slope) / h


@_part
def _cut(y: Array, dense: Array, theta: float, end: Array) -> None:
    r"""Shorten the step to its part [0, theta] and bend it by $\delta\theta^2(3 - 2\theta)$ to end in `end`.

    The nested form is Newton's with the nodes 0, 1, 0, 1, 0, 1, 0; new nodes 0, theta, ... enter at the front while the old ones leave.
    """
    newton, nodes = np.empty(8), np.empty(7)
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


# ------------------------------------------------------------ watched functions


@_hot
def _place(system: System, control: Control, t: float, h: float, y: Array, theta: float, out: Array, work: Work, counts: Integers) -> None:
    """The state at theta of the step, projected."""
    _state(y, work.dense, theta, out)
    if system.project != 0:
        _, calls = _settle(system, control, t + theta * h, out, work.trial)
        counts[_PROJECTIONS] += calls


@_hot
def _root(system: System, control: Control, t: float, h: float, y: Array, left: float, which: int, work: Work, counts: Integers) -> float:
    """Where a watched function changes sign between `left` and the end of the step: the end of a bracket of width 1e-13 on the new side.

    The trial states are projected, so that the state found satisfies both. Method ITP: I. F. D. Oliveira, R. H. C. Takahashi, ACM Trans.
    Math. Softw. 47 (2020) 5; never more than one evaluation beyond bisection.
    """
    a, b, below, above = left, 1.0, work.before[which], work.after[which]
    if below == 0.0:
        return a
    half = 0.5 * _ROOT
    radius = 2.0 * half * 2.0 ** np.ceil(np.log2((b - a) / (2.0 * half)))
    while b - a > _ROOT:
        middle = 0.5 * (a + b)
        secant = (above * a - below * b) / (above - below)
        side = 1.0 if middle >= secant else -1.0
        shift = 0.2 * (b - a) ** 2
        theta = secant + side * shift if shift <= abs(middle - secant) else middle
        reach = radius - 0.5 * (b - a)
        if not abs(theta - middle) <= reach:
            theta = middle - side * reach
        if not a < theta < b:
            theta = middle
        _place(system, control, t, h, y, theta, work.stage, work, counts)
        _call(system.watch, system, t + theta * h, work.stage, work.values)
        value = work.values[which]
        if value * above > 0.0:
            b, above = theta, value
        elif value * below > 0.0:
            a, below = theta, value
        else:
            return theta
        radius *= 0.5
    return b


@_hot
def _sign(x: float) -> int:
    return 1 if x > 0.0 else (-1 if x < 0.0 else 0)


@_hot
def _changed(watches: Watches, work: Work, which: int) -> bool:
    """Has a watched function changed its sign in the direction asked for?"""
    old, new, wanted = work.signs[which], _sign(work.after[which]), watches.directions[which]
    return old != 0 and new != 0 and new != old and (wanted == 0 or wanted == new)


@_hot
def _roots(
    system: System, control: Control, watches: Watches, t: float, h: float, y: Array, left: float, work: Work, counts: Integers
) -> int:
    """The roots in the step in `work.roots`, the sign memory renewed; the terminal function whose root is the earliest, or -1."""
    stop = -1
    for which in range(watches.floor.size):
        work.roots[which] = _NEVER
        if _changed(watches, work, which):
            work.roots[which] = _root(system, control, t, h, y, left, which, work, counts)
            if watches.terminal[which] and (stop < 0 or work.roots[which] < work.roots[stop]):
                stop = which
        new = _sign(work.after[which])
        if new != 0:
            work.signs[which] = new
    return stop


@_hot
def _next_found(watches: Watches, roots: Array, limit: float) -> int:
    """The earliest root of a function that is not terminal, up to a limit; -1 = none."""
    found = -1
    for which in range(roots.size):
        if not watches.terminal[which] and roots[which] <= limit and (found < 0 or roots[which] < roots[found]):
            found = which
    return found


@_hot
def _below_floor(watches: Watches, values: Array) -> int:
    for which in range(values.size):
        if abs(values[which]) < watches.floor[which]:
            return which
    return -1


# ------------------------------------------------------------ the loop


@_part
def _work(n: int, watched: int) -> Work:
    rows, values = np.zeros((22, n)), np.zeros((4, watched))
    signs, ready = np.zeros(watched, np.int64), np.zeros(1, np.bool_)
    return Work(
        rows[:16],
        rows[16],
        rows[17],
        rows[18],
        rows[19],
        np.zeros((7, n)),
        ready,
        rows[20],
        rows[21],
        values[0],
        values[1],
        values[2],
        signs,
        values[3],
    )


@_part
def _grown(x: Array, size: int, more: int) -> Array:
    """The row itself if there is room for more entries after `size`, else a copy with twice the room."""
    if size + more <= x.size:
        return x
    larger = np.empty(2 * x.size, x.dtype)
    for i in range(size):
        larger[i] = x[i]
    return larger


@_part
def _record(found: Found, t: float, which: int, y: Array) -> Found:
    size, n = found.size, y.size
    times, indices, states = _grown(found.times, size, 1), _grown(found.indices, size, 1), _grown(found.states, size * n, n)
    times[size], indices[size] = t, which
    _copy(y, states[size * n :])
    return Found(times, indices, states, size + 1)


@_hot
def _quiet(system: System, watches: Watches, t_new: float, work: Work) -> bool:
    """No watched function changes its sign: then their signs and values are renewed."""
    _call(system.watch, system, t_new, work.end, work.after)
    for which in range(watches.floor.size):
        if _changed(watches, work, which):
            return False
    for which in range(watches.floor.size):
        new = _sign(work.after[which])
        if new != 0:
            work.signs[which] = new
        work.before[which] = work.after[which]
    return True


@_part
def _look(
    system: System,
    control: Control,
    watches: Watches,
    t: float,
    t_new: float,
    y: Array,
    first: bool,
    found: Found,
    work: Work,
    counts: Integers,
) -> tuple[int, int, float, Found]:
    """The watched functions over an accepted step: status, index, where the step ends now, the roots recorded.

    The signs at the start are those a little later: a function that starts at its root does not fire.
    """
    h, left, changes = t_new - t, 0.0, False
    _call(system.watch, system, t_new, work.end, work.after)
    if first:
        left = max(_EARLY, min(0.5, 16.0 * _EPSILON * abs(t / h)))
        _interpolant(system, t, h, y, work, counts)
        _place(system, control, t, h, y, left, work.stage, work, counts)
        _call(system.watch, system, t + left * h, work.stage, work.before)
    for which in range(watches.floor.size):
        if first:
            work.signs[which] = _sign(work.before[which])
        changes |= _changed(watches, work, which)
    if changes:
        _interpolant(system, t, h, y, work, counts)
    stop = _roots(system, control, watches, t, h, y, left, work, counts)
    _copy(work.after, work.before)
    limit = 1.0 if stop < 0 else work.roots[stop]
    which = _next_found(watches, work.roots, limit)
    while which >= 0:
        _place(system, control, t, h, y, work.roots[which], work.stage, work, counts)
        found = _record(found, t + work.roots[which] * h, which, work.stage)
        work.roots[which] = _NEVER
        which = _next_found(watches, work.roots, limit)
    if stop >= 0:
        _place(system, control, t, h, y, limit, work.end, work, counts)
        _cut(y, work.dense, limit, work.end)
        return WATCH, stop, t + limit * h, found
    low = _below_floor(watches, work.after)
    return (FLOOR if low >= 0 else RUNNING), low, t_new, found


@_part
def _begin(keep: int, times: Array, t: float, y: Array) -> Kept:
    """What is kept at the start."""
    room, n, size = 64 if keep == STEPS else times.size, y.size, 0
    nodes, states = np.empty(room), np.empty(room * n)
    coefficients = np.empty(room * 7 * n if keep == STEPS else 0)
    if keep == STEPS:
        nodes[0], size = t, 1
        _copy(y, states)
    while keep == TIMES and size < room and times[size] == t:
        nodes[size] = t
        _copy(y, states[size * n :])
        size += 1
    return Kept(nodes, states, coefficients, size)


@_part
def _with_room(kept: Kept, size: int, n: int) -> Kept:
    """What is kept, with room for one more step after `size` nodes."""
    nodes, states = _grown(kept.nodes, size, 1), _grown(kept.states, size * n, n)
    return Kept(nodes, states, _grown(kept.coefficients, (size - 1) * 7 * n, 7 * n), size)


@_hot
def _has_room(kept: Kept, size: int, n: int) -> bool:
    return size < kept.nodes.size and (size + 1) * n <= kept.states.size and size * 7 * n <= kept.coefficients.size


@_hot
def _keep_step(kept: Kept, t_new: float, work: Work, counts: Integers) -> None:
    size, n = counts[_KEPT], work.end.size
    kept.nodes[size] = t_new
    _copy(work.end, kept.states[size * n :])
    for i in range(7):
        _copy(work.dense[i], kept.coefficients[((size - 1) * 7 + i) * n :])
    counts[_KEPT] += 1


@_hot
def _keep_times(times: Array, kept: Kept, system: System, t: float, t_new: float, h: float, y: Array, work: Work, counts: Integers) -> None:
    """The states at the times in the step from (t, y) to (t_new, end), which is h long or was cut short."""
    n = y.size
    while counts[_KEPT] < times.size and (times[counts[_KEPT]] - t_new) * h <= 0.0:
        size = counts[_KEPT]
        kept.nodes[size] = times[size]
        if times[size] == t_new:
            _copy(work.end, kept.states[size * n :])
        else:
            _interpolant(system, t, h, y, work, counts)
            _state(y, work.dense, (times[size] - t) / (t_new - t), kept.states[size * n :])
        counts[_KEPT] += 1


@_inner
def _include(system: System, t: float, y: Array, seen: Seen) -> None:
    """Extremes of the state and largest residuals (a residual that is no number stays)."""
    for j in range(y.size):
        seen.minima[j] = min(seen.minima[j], y[j])
        seen.maxima[j] = max(seen.maxima[j], y[j])
    if seen.measured.size > 0:
        _call(system.measure, system, t, y, seen.residuals)
        for j in range(seen.measured.size):
            size = abs(seen.residuals[j])
            if size > seen.measured[j] or size != size:
                seen.measured[j] = size


@_hot
def _before_step(control: Control, t: float, t1: float, h: float, counts: Integers, broken: int, drifted: int, flag: Integers) -> int:
    """Why the loop must end before the next trial step, or RUNNING."""
    if t == t1:
        return FINISHED
    if flag[0] != 0:
        return INTERRUPTED
    if drifted >= 3:
        return DRIFT
    if broken >= _PATIENCE:
        return NOT_FINITE
    if abs(h) < 10.0 * _EPSILON * abs(t) and abs(h) < abs(t1 - t):
        return NOT_FINITE if broken > 0 else STEP_TOO_SMALL
    if counts[_ACCEPTS] + counts[_REJECTS] >= control.max_steps:
        return TOO_MANY_STEPS
    return RUNNING


@_inner
def _commit(
    system: System,
    t: float,
    t_new: float,
    step: float,
    y: Array,
    keep: int,
    times: Array,
    kept: Kept,
    seen: Seen,
    work: Work,
    counts: Integers,
) -> None:
    """An accepted step becomes part of the run: what is kept of it, and y at its end."""
    if keep == STEPS and t_new != t:
        _interpolant(system, t, step, y, work, counts)
        _keep_step(kept, t_new, work, counts)
    elif keep == TIMES:
        _keep_times(times, kept, system, t, t_new, step, y, work, counts)
    _copy(work.end, y)
    _copy(work.slope, work.k[0])
    counts[_ACCEPTS] += 1
    _include(system, t_new, y, seen)


@_hot
def _stretch(
    system: System,
    t: float,
    t1: float,
    h: float,
    y: Array,
    control: Control,
    watches: Watches,
    keep: int,
    times: Array,
    flag: Integers,
    kept: Kept,
    seen: Seen,
    work: Work,
    counts: Integers,
) -> tuple[int, int, float, float, float]:
    """Steps until the run ends or something is needed that allocates: status, stopping function, time, end of an open step, next step size.

    Everything that happens in most steps happens here, without the runtime that counts references. With _LOOK the last step is
    accepted but not committed.
    """
    direction, watched = 1.0 if t1 >= t else -1.0, watches.floor.size
    broken, drifted, rejected = 0, 0, False
    while True:
        status = _before_step(control, t, t1, h, counts, broken, drifted, flag)
        if status != RUNNING:
            return status, -1, t, t, h
        if keep == STEPS and not _has_room(kept, counts[_KEPT], y.size):
            return _ROOM, -1, t, t, h
        last = (t + 1.01 * h - t1) * direction >= 0.0
        t_new = t1 if last else t + h
        step = t_new - t
        verdict, error = _attempt(system, control, t, step, y, work, counts)
        factor = _factor(verdict, error)
        if verdict != _ACCEPTED:
            counts[_REJECTS] += 1
            broken += verdict == _BROKEN
            drifted += verdict == _DRIFTED
            rejected, h = True, step * min(0.9, factor)
            continue
        proposal = abs(step) * (min(1.0, factor) if rejected else factor)
        h = direction * min(control.max_step, max(proposal, abs(h)) if last else proposal)
        broken, drifted, rejected = 0, 0, False
        low = -1
        if watched > 0:
            if counts[_ACCEPTS] == 0 or not _quiet(system, watches, t_new, work):
                return _LOOK, -1, t, t_new, h
            low = _below_floor(watches, work.after)
        _commit(system, t, t_new, step, y, keep, times, kept, seen, work, counts)
        t = t_new
        if low >= 0:
            return FLOOR, low, t, t, h


@_part
def _follow(
    system: System,
    t0: float,
    t1: float,
    y0: Array,
    control: Control,
    watches: Watches,
    keep: int,
    times: Array,
    flag: Integers,
    kept: Kept,
    found: Found,
    seen: Seen,
    work: Work,
    counts: Integers,
) -> tuple[int, int, float, float, Kept, Found]:
    """The whole run, its end in `work.start`: status, stopping function, time, next step size, what was kept, the roots recorded."""
    n, direction, y = y0.size, 1.0 if t1 >= t0 else -1.0, work.start
    t, h, status, stopper = t0, control.first_step * direction, RUNNING, -1
    _copy(y0, y)
    for j in range(n):
        seen.minima[j] = seen.maxima[j] = y0[j]
    for j in range(seen.measured.size):
        seen.measured[j] = 0.0
    for j in range(counts.size):
        counts[j] = 0
    counts[_KEPT] = kept.size
    _call(system.rhs, system, t, y, work.k[0])
    counts[_EVALUATIONS] += 1
    if not (_finite(y) and _finite(work.k[0])):
        status = NOT_FINITE
    elif h == 0.0 and t != t1:
        h = _first_step(system, control, t, y, t1 - t, work)
        counts[_EVALUATIONS] += 1
    _include(system, t, y, seen)

    while status == RUNNING:
        status, stopper, t, t_new, h = _stretch(system, t, t1, h, y, control, watches, keep, times, flag, kept, seen, work, counts)
        if status == _ROOM:
            kept, status = _with_room(kept, counts[_KEPT], n), RUNNING
        elif status == _LOOK:
            step = t_new - t
            status, stopper, t_new, found = _look(system, control, watches, t, t_new, y, counts[_ACCEPTS] == 0, found, work, counts)
            _commit(system, t, t_new, step, y, keep, times, kept, seen, work, counts)
            t = t_new
    return status, stopper, t, abs(h), kept, found


@_part
def _seen(n: int, measures: int) -> Seen:
    return Seen(np.empty(n), np.empty(n), np.empty(measures), np.empty(measures))


@_part
def _found(n: int) -> Found:
    return Found(np.empty(4), np.empty(4, np.int64), np.empty(4 * n), 0)


@_entry
def integrate(
    system: System,
    t0: float,
    t1: float,
    y0: Array,
    control: Control,
    watches: Watches,
    measures: int,
    keep: int,
    times: Array,
    flag: Integers,
) -> Run:
    """Integrate from t0 to t1; arguments as `chetaev.numerics.methods.dop853.run` prepares them. The inputs write to `system.p`."""
    n = y0.size
    work, counts, seen = _work(n, watches.floor.size), np.zeros(5, np.int64), _seen(n, measures)
    status, stopper, t, h, kept, found = _follow(
        system, t0, t1, y0, control, watches, keep, times, flag, _begin(keep, times, t0, y0), _found(n), seen, work, counts
    )
    size = counts[_KEPT]
    steps = size - 1 if keep == STEPS else 0
    nodes, states = kept.nodes[:size], kept.states[: size * n].reshape(size, n)
    coefficients = kept.coefficients[: steps * 7 * n].reshape(steps, 7, n)
    roots, indices, places = found.times[: found.size], found.indices[: found.size], found.states[: found.size * n].reshape(found.size, n)
    accepts, rejects, evaluations, projections = counts[_ACCEPTS], counts[_REJECTS], counts[_EVALUATIONS], counts[_PROJECTIONS]
    return Run(
        status,
        stopper,
        t,
        work.start.copy(),
        nodes,
        states,
        coefficients,
        roots,
        indices,
        places,
        seen.minima,
        seen.maxima,
        seen.measured,
        h,
        accepts,
        rejects,
        evaluations,
        projections,
    )


@_entry
def integrate_some(
    first: int,
    last: int,
    system: System,
    t0: float,
    t1: float,
    y0: Array,
    p: Array,
    control: Control,
    watches: Watches,
    keep: int,
    results: Results,
    flag: Integers,
) -> None:
    """The members first, ..., last - 1 of an ensemble: rows of y0 and p. Each has its own p; what one does is invisible to the others.

    All use the same room, one after the other. `keep` is FINAL; as a constant it would have the loop compiled once more, for that constant.
    """
    n, nothing, own = y0.shape[1], np.empty(0), np.empty(p.shape[1])
    work, counts, seen = _work(n, watches.floor.size), np.zeros(5, np.int64), _seen(n, results.measured.shape[1])
    member = System(system.rhs, system.project, system.inputs, system.watch, system.measure, system.first_input, own)
    kept, found = _begin(keep, nothing, t0, y0[0]), _found(n)
    for i in range(first, last):
        _copy(p[i], own)
        found = Found(found.times, found.indices, found.states, 0)
        status, stopper, t, _, kept, found = _follow(
            member, t0, t1, y0[i], control, watches, keep, nothing, flag, kept, found, seen, work, counts
        )
        results.status[i], results.index[i], results.t[i] = status, stopper, t
        _copy(work.start, results.y[i])
        _copy(seen.minima, results.minima[i])
        _copy(seen.maxima, results.maxima[i])
        _copy(seen.measured, results.measured[i])
        counted = results.counts[i]
        counted[0], counted[1], counted[2], counted[3] = counts[_ACCEPTS], counts[_REJECTS], counts[_EVALUATIONS], counts[_PROJECTIONS]


# ------------------------------------------------------------ afterwards


@_entry
def interpolate(nodes: Array, states: Array, coefficients: Array, times: Array) -> tuple[Array, Array]:
    """States and their time derivatives at given times, in any order; NaN outside the nodes. At a node the state is the node's, exactly."""
    n, steps = states.shape[1], coefficients.shape[0]
    direction = 1.0 if nodes[-1] >= nodes[0] else -1.0
    values, rates = np.full((times.size, n), np.nan), np.full((times.size, n), np.nan)
    for i in range(times.size):
        t = times[i]
        if not (t - nodes[0]) * (nodes[-1] - t) >= 0.0:
            continue
        low, high = 0, nodes.size
        while high - low > 1:  # nodes[low] is the last one that is not after t
            middle = (low + high) // 2
            if (t - nodes[middle]) * direction >= 0.0:
                low = middle
            else:
                high = middle
        if t == nodes[low]:
            _copy(states[low], values[i])
        if steps == 0:
            continue
        step = min(low, steps - 1)
        h = nodes[step + 1] - nodes[step]
        theta = (t - nodes[step]) / h
        if t != nodes[low]:
            _state(states[step], coefficients[step], theta, values[i])
        _rate(coefficients[step], theta, h, rates[i])
    return values, rates


@_entry
def settle(system: System, control: Control, times: Array, states: Array) -> Array:
    """Project states in place, as after an accepted step; how far each was moved at first, in units of the tolerance."""
    moved, trial = np.empty(times.size), np.empty(states.shape[1])
    for i in range(times.size):
        moved[i], _ = _settle(system, control, times[i], states[i], trial)
    return moved
