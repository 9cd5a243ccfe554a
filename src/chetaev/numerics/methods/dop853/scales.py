"""What an error is measured by: the sizes that a run shows, and the round-off of its rates.

Nothing is compared with the number one: the error of a component is relative to the component itself and to its typical size, which is the
one somebody gave, or the largest of the last steps, and not less than a thousandth of the largest of the whole run. A component that has no
size of its own, because it vanishes by symmetry and shows the round-off of others, is found when steps are rejected because of it: the
rates are computed once more at states and parameters some units in the last place away, and what differs is no error.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.methods.dop853.calls import call, distance
from chetaev.numerics.methods.dop853.codes import EVALUATIONS, PROJECTIONS
from chetaev.numerics.methods.dop853.scale_constants import MEMORY, NOISE, NOISY, SHAKEN, SLOWLY, SMALL_PART
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, System, Work
from chetaev.numerics.native import inner, part

EPSILON = 2.0**-52


@part
def begin_sizes(control: Control, y: Array) -> None:
    """Sizes at the start of a run: those of its state, and those seen before."""
    for j in range(control.among.size):
        control.among[j] = 0.0
    for j in range(y.size):
        control.largest[j] = max(abs(y[j]), control.before[j])
        control.sizes[j] = control.given[j] if control.given[j] >= 0.0 else max(abs(y[j]), SMALL_PART * control.largest[j])
        control.noise[j] = control.hiss[j] = 0.0
        control.among[control.kinds[j]] = max(control.among[control.kinds[j]], control.largest[j], control.sizes[j])


@part
def sizes_again(control: Control, y: Array, minima: Array, maxima: Array) -> None:
    """Sizes as if a step had not been made: those of the state, and of the extremes that count."""
    for j in range(control.among.size):
        control.among[j] = 0.0
    for j in range(y.size):
        control.largest[j] = max(-minima[j], maxima[j], control.before[j])
        control.sizes[j] = control.given[j] if control.given[j] >= 0.0 else max(abs(y[j]), SMALL_PART * control.largest[j])
        control.among[control.kinds[j]] = max(control.among[control.kinds[j]], control.largest[j], control.sizes[j])


@inner
def remember_sizes(control: Control, y: Array) -> None:
    """Sizes after a step to y."""
    for j in range(y.size):
        size = abs(y[j])
        if size > control.largest[j]:
            control.largest[j] = size
            control.among[control.kinds[j]] = max(control.among[control.kinds[j]], size)
        if control.given[j] < 0.0:
            control.sizes[j] = max(size, MEMORY * control.sizes[j], SMALL_PART * control.largest[j])


@inner
def set_noise(control: Control, h: float) -> None:
    """What round-off of the rates makes of a step of size h."""
    for j in range(control.noise.size):
        control.noise[j] = control.hiss[j] * abs(h)


@part
def _shaken(y: Array, out: Array, which: int, noise: Array) -> None:
    """A state some units in the last place away, and as far as round-off of rates moves it."""
    for j in range(y.size):
        side = 1.0 if ((j + 1) * (which + 3)) % 5 < 3 else -1.0
        out[j] = y[j] * (1.0 + side * SHAKEN) + side * noise[j]


@part
def listen(system: System, control: Control, t: float, h: float, y: Array, work: Work, counts: Integers) -> None:
    """Learn how large round-off alone makes the error of a step from (t, y), whose rates are known. Parameters are rounded too."""
    for j in range(y.size):
        work.trial[j] = 0.0
    for which in range(2):
        _shaken(y, work.stage, which, work.trial)
        for j in range(system.p.size):
            work.saved[j] = system.p[j]
            system.p[j] *= 1.0 + (SHAKEN if (j + which) % 2 else -SHAKEN)
        call(system.rhs, system, t * (1.0 + which * SHAKEN), work.stage, work.slope)
        for j in range(system.p.size):
            system.p[j] = work.saved[j]
        for j in range(y.size):
            hiss = NOISE * abs(work.slope[j] - work.k[0, j])
            if control.hiss[j] < hiss < np.inf:
                control.hiss[j] = hiss
    counts[EVALUATIONS] += 2
    set_noise(control, h)


@part
def unresolved(control: Control, h: float, y: Array, work: Work) -> None:
    """Learn which errors are round-off, where a step was rejected twice: they do not become smaller with the step as errors do, and are
    small beside the rates of their kind, or below the last digit of the largest of it. The estimates of this step are in `stage`, those of
    the one before in `past`.
    """
    if abs(h) <= 0.5 * work.past[y.size]:
        for j in range(y.size):
            work.trial[j] = 0.0
        for j in range(y.size):
            work.trial[control.kinds[j]] = max(work.trial[control.kinds[j]], abs(work.k[0, j]))
        for j in range(y.size):
            error, kind = abs(work.stage[j]), control.kinds[j]
            faint = error < NOISY * EPSILON * work.trial[kind] or abs(h) * error < EPSILON * control.among[kind]
            if faint and error > SLOWLY * work.past[j]:
                control.hiss[j] = max(control.hiss[j], NOISE * error)
        set_noise(control, h)
    for j in range(y.size):
        work.past[j] = abs(work.stage[j])
    work.past[y.size] = abs(h)


@part
def echo(system: System, control: Control, t: float, y: Array, work: Work, counts: Integers) -> float:
    """By how much the correction of the projection changes, in tolerances, when a state on the constraints is moved by round-off alone."""
    call(system.project, system, t, y, work.slope)
    for j in range(y.size):
        work.slope[j] -= y[j]
    largest = 0.0
    for which in range(2):
        _shaken(y, work.stage, which, control.noise)
        call(system.project, system, t, work.stage, work.trial)
        for j in range(y.size):
            work.trial[j] -= work.slope[j]
        far, _ = distance(work.trial, work.stage, work.stage, control)
        if far > largest:
            largest = far
    counts[PROJECTIONS] += 3
    return largest
