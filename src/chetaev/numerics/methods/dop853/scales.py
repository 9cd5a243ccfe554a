"""What an error is measured by: the sizes that a run shows, and the round-off of its rates.

Nothing is compared with the number one: the error of a component is relative to the component itself and to its typical size, which is the
one somebody gave, or the largest of the last steps, and not less than a thousandth of the largest of the whole run. A component that has no
size of its own, because it vanishes by symmetry and shows the round-off of others, is found when steps are rejected because of it: the
rates are computed once more at states some units in the last place away, and what differs is no error.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.methods.dop853.calls import call, distance
from chetaev.numerics.methods.dop853.codes import EVALUATIONS, PROJECTIONS
from chetaev.numerics.methods.dop853.scale_constants import MEMORY, NOISE, ROUND_OFF, SHAKEN, SMALL_PART
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, System, Work
from chetaev.numerics.native import part

EPSILON = 2.0**-52


@part
def begin_sizes(control: Control, y: Array) -> None:
    """Sizes at the start of a run: those of its state, and those seen before."""
    for j in range(control.among.size):
        control.among[j] = 0.0
    for j in range(y.size):
        control.largest[j] = max(abs(y[j]), control.before[j])
        control.sizes[j] = control.given[j] if control.given[j] >= 0.0 else max(abs(y[j]), SMALL_PART * control.largest[j])
        control.noise[j] = 0.0
        control.among[control.kinds[j]] = max(control.among[control.kinds[j]], control.largest[j], control.sizes[j])


@part
def remember_sizes(control: Control, y: Array) -> None:
    """Sizes after a step to y."""
    for j in range(y.size):
        size = abs(y[j])
        if size > control.largest[j]:
            control.largest[j] = size
            control.among[control.kinds[j]] = max(control.among[control.kinds[j]], size)
        if control.given[j] < 0.0:
            control.sizes[j] = max(size, MEMORY * control.sizes[j], SMALL_PART * control.largest[j])


@part
def _shaken(y: Array, out: Array, which: int, noise: Array) -> None:
    """A state some units in the last place away, and as far as round-off of rates moves it."""
    for j in range(y.size):
        side = 1.0 if ((j + 1) * (which + 3)) % 5 < 3 else -1.0
        out[j] = y[j] * (1.0 + side * SHAKEN) + side * noise[j]


@part
def listen(system: System, control: Control, t: float, h: float, y: Array, work: Work, counts: Integers) -> None:
    """Learn how large round-off alone makes the error of a step from (t, y), whose rates are known."""
    for j in range(y.size):
        work.trial[j] = 0.0
    for which in range(2):
        _shaken(y, work.stage, which, work.trial)
        call(system.rhs, system, t * (1.0 + which * SHAKEN), work.stage, work.slope)
        for j in range(y.size):
            noise = NOISE * abs(h) * abs(work.slope[j] - work.k[0, j])
            if control.noise[j] < noise < np.inf:
                control.noise[j] = noise
    counts[EVALUATIONS] += 2
    for j in range(y.size):
        change = abs(h) * _spread(j, work)
        if control.noise[j] < NOISE * change and change <= ROUND_OFF * control.among[control.kinds[j]]:
            control.noise[j] = NOISE * change


@part
def _spread(j: int, work: Work) -> float:
    """By how much the rate of a component changes over the stages of a step.

    Where that is round-off of the values of its kind, it may be no error either: 1 + tanh(x), far before the foot of this ramp, is constant
    but for jumps by the last digit of 1, which states some units in the last place away do not show.
    """
    low, high = work.k[0, j], work.k[0, j]
    for stage in range(12):
        low, high = min(low, work.k[stage, j]), max(high, work.k[stage, j])
    return high - low


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
