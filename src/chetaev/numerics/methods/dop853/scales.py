r"""Units of errors: typical sizes of components in the run so far, and the round-off of the rates.

Nothing is compared with the number one: the error of a component is relative to the component itself and to its typical size, which is the
size given by the caller, or the largest value in the last steps, and not less than a thousandth of the largest of the whole run. A
component without a size, which vanishes by symmetry and consists of the round-off of others, is recognised when steps are rejected because
of it: the rates are computed once more at states and parameters some units in the last place away, and differences of this size do not
count as errors.

An angle that grows through many turns has the size of its remainder. A component that all code reads through sines and cosines of whole and
half multiples alone is *folded*: where it leaves $[-3\pi, 3\pi]$, two turns of $2\pi$ are subtracted and counted. Steps, errors and sizes
use the remainder; states that leave the loop contain the whole angle, and are projected once more. Without folding, the rounding of an
angle of a million radians would disturb the motion by 1e-10 in every step, and a relative tolerance would allow errors of that size.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import inner, part, renew_largest
from chetaev.numerics.methods.dop853.calls import call, in_tolerances, settle
from chetaev.numerics.methods.dop853.codes import (
    AMONG,
    BEFORE,
    BOUND,
    DOUBLE_TURN,
    EVALUATIONS,
    FIFTH,
    GIVEN,
    LARGEST,
    PROJECTIONS,
    ROUND_OFF,
    SIZES,
    TURNS,
)
from chetaev.numerics.methods.dop853.scale_constants import (
    LEFT_AFTER_HALVING,
    MEMORY,
    MOST_NOISE_RATIO,
    MOST_ROUND_OFF,
    MUCH_LARGER,
    NOISE,
    PERTURBATION,
    SMALL_PART,
)
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, Matrix, System, Work

EPSILON = 2.0**-52
"""The distance from 1 to the next double."""
_REST = 4.898587196589413e-16
r"""The rounding error of `DOUBLE_TURN`, $4\pi$ minus the double. Without it every turn would shift the angle by this amount, always in the
same direction."""
_SPLIT = 134217729.0
"""2^27 + 1: a number times this, less the difference of the two, is its upper half (T. J. Dekker, Numer. Math. 18, 224)."""
_MOST = 1e20
"""Radians: of a larger angle the remainder is not known to thirteen digits, so it is not folded."""


@part
def begin_sizes(control: Control, y: Array) -> None:
    """Set the sizes at the start of a run, from its state and from the largest values before it."""
    rows = control.rows
    for j in range(y.size):
        rows[LARGEST, j] = max(abs(y[j]), min(rows[BEFORE, j], rows[BOUND, j]))
        rows[ROUND_OFF, j] = 0.0
    _renew_sizes(control, y)


@part
def sizes_again(control: Control, y: Array, minima: Array, maxima: Array) -> None:
    """Set the sizes again after a step was undone, from the state and from the extremes of the run."""
    rows = control.rows
    for j in range(y.size):
        rows[LARGEST, j] = min(max(-minima[j], maxima[j], rows[BEFORE, j]), rows[BOUND, j])
    _renew_sizes(control, y)


@part
def _renew_sizes(control: Control, y: Array) -> None:
    """Typical sizes, and the largest of each kind, from the largest values so far."""
    rows = control.rows
    for j in range(y.size):
        rows[AMONG, j] = 0.0
        rows[SIZES, j] = rows[GIVEN, j] if rows[GIVEN, j] >= 0.0 else max(abs(y[j]), SMALL_PART * rows[LARGEST, j])
    for j in range(y.size):
        _raise_among(control, j, max(rows[LARGEST, j], rows[SIZES, j]))


@inner
def _raise_among(control: Control, j: int, size: float) -> None:
    """Note that component j has this size: components of its kind are measured by it, unless one of them is larger."""
    rows = control.rows
    if size > rows[AMONG, j]:
        for i in range(control.kinds.size):
            if control.kinds[i] == control.kinds[j]:
                rows[AMONG, i] = size


@inner
def remember_sizes(control: Control, y: Array) -> None:
    """Sizes after a step to y."""
    rows = control.rows
    pointers = (rows[LARGEST].ctypes, rows[SIZES].ctypes, rows[GIVEN].ctypes, rows[AMONG].ctypes, y.ctypes)
    if renew_largest(*pointers, (MEMORY, SMALL_PART, MUCH_LARGER), rows.shape[1]):
        raise_largest(control, y)


@part
def raise_largest(control: Control, y: Array) -> None:
    """Note that some components of a state may be the largest of their kinds."""
    for j in range(y.size):
        _raise_among(control, j, abs(y[j]))


@part
def _perturbed(h: float, y: Array, noise: Array, out: Array, which: int) -> None:
    """A state moved by some units in the last place, and by what the round-off `noise` of the rates adds in a step of size h."""
    for j in range(y.size):
        side = 1.0 if ((j + 1) * (which + 3)) % 5 < 3 else -1.0
        out[j] = y[j] * (1.0 + side * PERTURBATION) + side * noise[j] * abs(h)


@part
def measure_round_off(system: System, control: Control, t: float, h: float, y: Array, work: Work, counts: Integers) -> None:
    """Estimate the round-off of the rates at both ends of a step of size h from (t, y) to `work.free`, and allow errors of its size.

    A component that vanishes by symmetry is round-off at both ends. Round-off at one end only, such as that of the direction of a velocity
    that is almost zero, does not explain the error of the whole step.
    """
    noise, there, rates = work.trial, work.dense[0], work.dense[1]
    call(system.rhs, system, t + h, work.free, rates)
    _round_off_of_rates(system, t + h, h, work.free, rates, work, there)
    _round_off_of_rates(system, t, h, y, work.k[0], work, noise)
    for j in range(y.size):
        round_off = min(noise[j], MOST_NOISE_RATIO * there[j]) if rates[j] - rates[j] == 0.0 else noise[j]
        control.rows[ROUND_OFF, j] = max(control.rows[ROUND_OFF, j], round_off)
    counts[EVALUATIONS] += 5


@part
def _round_off_of_rates(system: System, t: float, h: float, y: Array, rates: Array, work: Work, noise: Array) -> None:
    """Estimate the round-off of the rates at (t, y) by evaluations at two perturbed states, with perturbed parameters and time.

    The second state is moved by the round-off found at the first one, as the stages of a step are: the only error of a coordinate that
    starts at rest is that of its velocity.
    """
    for j in range(y.size):
        noise[j] = 0.0
    for which in range(2):
        _perturbed(h, y, noise, work.stage, which)
        for j in range(system.p.size):
            work.saved[j] = system.p[j]
            system.p[j] *= 1.0 + (PERTURBATION if (j + which) % 2 else -PERTURBATION)
        call(system.rhs, system, t * (1.0 + (1 - which) * PERTURBATION), work.stage, work.slope)
        for j in range(system.p.size):
            system.p[j] = work.saved[j]
        for j in range(y.size):
            round_off = NOISE * abs(work.slope[j] - rates[j])
            noise[j] = max(noise[j], round_off) if round_off < np.inf else noise[j]


@part
def unresolved(control: Control, h: float, y: Array, work: Work) -> None:
    """Learn which errors are round-off, where a step was rejected twice: they do not become smaller with the step as errors do, and are
    small beside the rates of their kind, or below the last digit of the largest of it. The estimates of this step are in `k`, those of
    the one before in `past`.
    """
    if abs(h) <= 0.5 * work.past[y.size]:
        for j in range(y.size):
            work.trial[j] = 0.0
        for j in range(y.size):
            work.trial[control.kinds[j]] = max(work.trial[control.kinds[j]], abs(work.k[0, j]))
        for j in range(y.size):
            error, kind = abs(work.k[FIFTH, j]), control.kinds[j]
            faint = error < MOST_ROUND_OFF * EPSILON * work.trial[kind] or abs(h) * error < EPSILON * control.rows[AMONG, j]
            if faint and error > LEFT_AFTER_HALVING * work.past[j]:
                control.rows[ROUND_OFF, j] = max(control.rows[ROUND_OFF, j], NOISE * error)
    for j in range(y.size):
        work.past[j] = abs(work.k[FIFTH, j])
    work.past[y.size] = abs(h)


@part
def round_off_of_projection(system: System, control: Control, t: float, h: float, y: Array, work: Work, counts: Integers) -> float:
    """By how much the correction of the projection changes, in tolerances, when a state on the constraints is moved by the
    round-off of a step of size h alone.
    """
    call(system.project, system, t, y, work.slope)
    for j in range(y.size):
        work.slope[j] -= y[j]
    largest = 0.0
    for which in range(2):
        _perturbed(h, y, control.rows[ROUND_OFF], work.stage, which)
        call(system.project, system, t, work.stage, work.trial)
        for j in range(y.size):
            work.trial[j] -= work.slope[j]
        far = in_tolerances(control, h, work.trial, work.stage)
        if far > largest:
            largest = far
    counts[PROJECTIONS] += 3
    return largest


@part
def _rounding_error(a: float, b: float, product: float) -> float:
    """The exact rounding error of a product, also on processors that do not fuse products and sums."""
    high, upper = _SPLIT * a, _SPLIT * b
    high, upper = high - (high - a), upper - (upper - b)
    low, lower = a - high, b - upper
    return ((high * upper - product) + high * lower + low * upper) + low * lower


@part
def fold(rows: Matrix, y: Array) -> None:
    """Subtract whole double turns from the components of a state that are beyond their bounds, and count them."""
    for j in range(y.size):
        while rows[BOUND, j] < abs(y[j]) <= _MOST:
            turns = np.floor(y[j] / DOUBLE_TURN + 0.5)
            product = turns * DOUBLE_TURN
            y[j] = ((y[j] - product) - _rounding_error(turns, DOUBLE_TURN, product)) - turns * _REST
            rows[TURNS, j] += turns


@part
def unfold(rows: Matrix, x: Array) -> None:
    """Add the counted turns to a state, in place."""
    for j in range(x.size):
        x[j] += rows[TURNS, j] * DOUBLE_TURN


@part
def onto_rows(system: System, control: Control, t: float, x: Array, trial: Array) -> None:
    """A state with its whole turns, projected onto the constraints, in place. Rows as those of `Work`."""
    unfold(control.rows, x)
    if system.project != 0:
        settle(system, control, t, 0.0, x, trial, 0.0)


@part
def make_whole(system: System, control: Control, t: float, x: Array, trial: Array) -> None:
    """Add the counted turns to a state and project it onto the constraints: a whole angle has fewer digits than its remainder."""
    turned = False
    for j in range(x.size):
        turned |= control.rows[TURNS, j] != 0.0
    if turned:
        onto_rows(system, control, t, x, trial)


@part
def put_back(system: System, control: Control, t: float, y: Array, trial: Array) -> None:
    """Replace the state at the end of a run by that of `make_whole`, and reset the counts of turns."""
    make_whole(system, control, t, y, trial)
    for j in range(y.size):
        control.rows[TURNS, j] = 0.0
