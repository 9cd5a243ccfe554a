r"""Dormand-Prince 8(5,3) in compiled code: one motion, many motions, and states between the nodes.

The method is DOP853 of Hairer, Norsett, Wanner (Solving Ordinary Differential Equations I, section II.10): twelve stages of order 8, an
error estimate of orders 5 and 3, an interpolant of order 7 that costs three more evaluations and is computed only when it is used. The
functions are machine code `void f(double t, double* y, double* p, double* out)` given by address (0 = absent); the caller keeps the code
alive.

| kernel | out |
|---|---|
| `rhs` | $y'$ |
| `project` | the state moved onto the constraints |
| `inputs` | values of the inputs at t; out is `&p[first_input]`; must not read there; called before every other kernel call |
| `watch` | functions whose change of sign and smallness matter |
| `measure` | residuals whose largest absolute values are reported |
| `doubting` | $y'$ plus, then minus, bounds of its rounding errors (`chetaev.numerics.machine.rounding_bounds`; 0 = not asked for) |
| `ends` | the rates, watched functions and residuals together, each with the bits of its own kernel (`types.System`) |
| `stages` | all stages of a step and what follows them, with the same bits; made where many steps were taken (`whole_steps`) |
| `nodes` | largest and smallest absolute values of functions over a tube |
| `bounds` | bounds of watched functions and of their rates over a tube |
| `turns` | how far angles turn in a tube, at most |
| `determinant` | the first watched function alone, if it may touch zero |

**Steps.** An error above 1 in units of `atol + rtol*(|y| + 2*size) + noise` (root mean square) rejects the step; `size` is the typical size
of the component and `noise` its round-off (`scales`). Factors lie between 1/3 and 6, and the step after a
rejection does not grow. A step that meets a number that is not finite is repeated with a fifth of its size, at most 20 times in a row.

**Projection.** After the error test the end of the step is projected, at most three times, until the correction is below 3e-9 (relative to
the component and the largest of its kind), so that the next one of Newton's method, of the order of its square, would be round-off, or no
longer shrinks. A first correction of more than 10 tolerances, and more than ten times what the round-off of the state causes, rejects the
step and halves it; the twentieth such rejection in a row is DRIFT. States between the nodes are those of the interpolant, not projected;
`settle` projects them.

**Watched functions.** A change of sign from one end of an accepted step to the other is located to 1e-13 of the step, on the interpolant,
with projected trial states; the time found lies on the new side. Of a function that is watched closely several roots in one step are found:
a step in which it is not resolved, or changes its sign more than once, is shortened (`watched_functions`). Of the others an even number of
roots in one step is missed. Terminal functions end the run at the earliest of their roots: the step is cut there. The others are recorded
up to there. The sign at the start is the sign a little later, at 1e-6 of the first accepted step: a run that starts at a root, or a
rounding error before it, does not find that root again. A value of exactly zero at the end of a step leaves the memory of the sign as it
is. `directions` are meant along the motion, forwards or backwards. `floor` is tested at accepted steps, not at the start.

**Inside steps.** In a sample of steps the run compares the derivative of the polynomial with the rates at a point between the nodes
(`dense`), and estimates the round-off of the rates there. The motion itself does not change.

**Modules.** `loop` makes the steps, each by `step` with the numbers of `tableau` and the `calls` of kernels. `scales` measures errors, with
`scale_constants`; `watched_functions` finds roots by the rules of `location`; `enclosure` bounds what a step did not evaluate and
decides what the bounds prove. `dense` has the polynomials between the nodes. `types`, `codes` and `arguments` hold the arguments, `loaded`
the compiled code, `repeated_calls` repeats calls. `whole_steps` has code for steps of one system.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chetaev.numerics.machine.engine import address_of, entry_of
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.arguments import (
    ANY_CHANGE,
    NEVER,
    USUAL_LIMITS,
    Code,
    Limits,
    Watching,
    check,
    control_of,
    room_for_extremes,
    room_for_roots,
    room_to_keep,
    row_of,
    solid,
    tube_of,
    watches_of,
    width_of,
    work_of,
)
from chetaev.numerics.methods.dop853.codes import FINAL, NODES, STEPS, TIMES
from chetaev.numerics.methods.dop853.loaded import LOOP
from chetaev.numerics.methods.dop853.repeated_calls import (
    Room,
    interpolated,
    room_for,
    stages_of,
    with_more_room,
    with_stages,
)
from chetaev.numerics.methods.dop853.scale_constants import PERTURBATION
from chetaev.numerics.methods.dop853.types import Array, Integers, Members, Plan, Progress, Records, Results, Run, System

__all__ = [
    "FINAL",
    "MANY_STEPS",
    "NODES",
    "STEPS",
    "TIMES",
    "Code",
    "Ensemble",
    "Limits",
    "Run",
    "Status",
    "Watching",
    "ensemble_of",
    "evaluate",
    "interpolate",
    "prepare",
    "results_for",
    "round_off_of_projection",
    "run",
    "run_many",
    "settle",
    "stages_of",
]

_SHORTEST = 10 * 2.0**-52
"""Length of the shortest step, relative to the time."""
_ANEW = 1e-3
"""Length of the first step after round-off was found, relative to the remaining time; error control then makes steps longer or shorter."""
MANY_STEPS = 1024
"""Steps after which round-off is first looked for, and then after every doubling: at t = 0 no step is too small for the time. A smaller
number takes time in ordinary long runs, a larger one in runs that only follow noise."""
_FIRST_PORTION = 64
"""Steps until the first pause of a run, in which the caller decides whether it goes on."""
_PORTION = 0.02
"""Seconds between two pauses, about."""
_FEW = 16
"""Most points at which a kernel is called from Python, one by one."""
_SHAKES = 4
"""States at which the round-off of the rates is estimated."""


class Status(IntEnum):
    """Why a run ended."""

    FINISHED = codes.FINISHED
    WATCH = codes.WATCH
    FLOOR = codes.FLOOR
    TOO_MANY_STEPS = codes.TOO_MANY_STEPS
    STEP_TOO_SMALL = codes.STEP_TOO_SMALL
    DRIFT = codes.DRIFT
    NOT_FINITE = codes.NOT_FINITE
    INTERRUPTED = codes.INTERRUPTED

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.FINISHED: "The end of the interval was reached.",
    Status.WATCH: "A terminal function changed its sign.",
    Status.FLOOR: "A watched function became smaller than its floor.",
    Status.TOO_MANY_STEPS: "The budget of steps is used up.",
    Status.STEP_TOO_SMALL: "The step fell below ten units in the last place of the time.",
    Status.DRIFT: "Three steps in a row ended too far from the constraints.",
    Status.NOT_FINITE: "The right-hand side is not a finite number.",
    Status.INTERRUPTED: "Somebody asked to stop.",
}


class Ensemble(NamedTuple):
    """One row per member; fields as in `Run`."""

    status: Integers
    index: Integers  # type: ignore[assignment]
    t: Array
    y: Array
    minima: Array
    maxima: Array
    measured: Array
    accepted: Integers
    rejected: Integers
    evaluations: Integers
    projections: Integers
    shortened: Integers
    worst: Array
    usual: Array
    inside: Array


def run(
    code: Code,
    t0: float,
    t1: float,
    y0: ArrayLike,
    p: ArrayLike = (),
    limits: Limits = USUAL_LIMITS,
    watching: Watching = ANY_CHANGE,
    *,
    keep: int = STEPS,
    times: ArrayLike = (),
    flag: Integers | None = None,
    paused: Callable[[float], None] | None = None,
    round_off: Callable[[float, Array], Array] | None = None,
    led: Callable[[Room], Callable[[], None]] | None = None,
) -> Run:
    """Integrate y' = rhs(t, y, p) from t0 to t1, forwards or backwards.

    p holds the parameters, then room for the inputs. `keep` is FINAL, STEPS (nodes, states, polynomials), NODES (without polynomials) or
    TIMES (states at `times`, which run from t0 towards t1). To stop the run set `flag[0]`, from another thread or from `paused`, which is
    called with the time every now and then; handlers of signals run then. `round_off` bounds the rounding errors of the rates at a state;
    it is called where steps become too small, and now and then, and errors below its value count as none from there on. `led` returns a
    function that replaces the loop for a room: compiled code that calls the loop, and works between its steps.
    """
    y, values, wanted = row_of(y0, "y0"), row_of(p, "p"), row_of(times, "times")
    if keep == TIMES and not _in_order(np.concatenate(([t0], wanted, [t1]))):
        raise ValueError("times must lie between t0 and t1 and run from t0 towards t1")
    check(code, values.size, t0, t1, keep)
    size = code.size(y.size)
    code = with_stages(code, size)
    with room_for(code, size, values.size, keep, wanted.size) as room:
        room.fill(y, values, t0, t1, limits, watching, wanted, flag)
        control, progress = room.control, room.progress
        go = room.run if led is None else led(room)
        status, portion, many, taken = codes.NEW, _FIRST_PORTION, NEVER if round_off is None else MANY_STEPS, 0
        while status in (codes.NEW, codes.NO_ROOM):
            progress.counts[codes.STATUS] = codes.NEW if status == codes.NEW else codes.RUNNING
            began = time.perf_counter()
            control.pause[0] = many if paused is None else min(many, progress.counts[codes.ACCEPTED] + portion)
            go()
            status = int(progress.counts[codes.STATUS])
            room.after(int(progress.counts[codes.ACCEPTED]) - taken)
            taken = int(progress.counts[codes.ACCEPTED])
            long = status == codes.NO_ROOM and progress.counts[codes.ACCEPTED] >= many
            if round_off is not None and (long or status == codes.STEP_TOO_SMALL):
                many = max(many, 2 * int(progress.counts[codes.ACCEPTED]))
                status = codes.NO_ROOM if _round_off_of_rates(room, limits.rtol, round_off, float(t1), y.size) else status
            if status == codes.NO_ROOM:
                with_more_room(room)
            if status == codes.NO_ROOM and paused is not None:
                paused(float(progress.clock[codes.NOW]))
                portion = max(1, portion // 2) if time.perf_counter() - began > _PORTION else 2 * portion
        return _run(keep, room, y.size)


def shortest(t: float) -> float:
    """The length of the shortest step at a time."""
    return _SHORTEST * abs(t)


def drowned(noise: Array, step: float, rtol: float, largest: Array) -> bool:
    """Whether rounding of the rates makes larger errors of some component than are allowed in a step."""
    return bool(np.any(noise * step > rtol * largest))


def _round_off_of_rates(room: Room, rtol: float, round_off: Callable[[float, Array], Array], t1: float, n: int) -> bool:
    """Whether steps became small because of round-off, of which not enough was known; then it is, and steps begin anew.

    Round-off is known of the first n components; a further one has that of the component it is like.
    """
    progress, like = room.progress, [*range(n), *room.code.like]
    t, known, largest = float(progress.clock[codes.NOW]), *(room.control.rows[k, : len(like)] for k in (codes.ROUND_OFF, codes.LARGEST))
    noise = round_off(t, room.y[:n])[like]
    step = max(shortest(t), abs(float(progress.clock[codes.STEP])))
    if not drowned(noise, step, rtol, largest) or np.all(noise <= 2 * known):
        return False
    known[:] = np.maximum(known, noise)
    progress.clock[codes.STEP] = _ANEW * (t1 - t)
    return True


def _run(keep: int, room: Room, n: int) -> Run:
    """Copies of the first n components in the arrays of a room, which other runs use afterwards."""
    accepted, rejected, evaluations, projections, size, roots, status, stopper, shortened, _, looked, _ = room.progress.counts.tolist()
    steps, kept, found, seen = size - 1 if keep == STEPS else 0, room.kept, room.found, room.seen
    t, step = room.progress.clock.tolist()
    return Run(
        Status(status),
        stopper,
        t,
        room.y[:n].copy(),
        kept.nodes[:size].copy(),
        kept.states[:size, :n].copy(),
        kept.coefficients[:steps, :, :n].copy(),
        found.times[:roots].copy(),
        found.indices[:roots].copy(),
        found.states[:roots, :n].copy(),
        seen.minima[:n].copy(),
        seen.maxima[:n].copy(),
        seen.measured.copy(),
        abs(step),
        accepted,
        rejected,
        evaluations,
        projections,
        shortened,
        float(room.tube.notes[codes.WORST]),
        int(room.tube.notes[codes.LEAPED_NODE]),
        float(seen.roots[codes.INTEGRAL]),
        seen.inside[: codes.INSIDE, :n].copy(),
        looked,
    )


def run_many(
    code: Code,
    t0: float,
    t1: float,
    y0: ArrayLike,
    p: ArrayLike,
    limits: Limits = USUAL_LIMITS,
    watching: Watching = ANY_CHANGE,
    *,
    flag: Integers | None = None,
    threads: int | None = None,
) -> Ensemble:
    """Integrate from every row of y0 with the same row of p (one row of p serves all), several members at a time.

    Each member is the run with `keep=FINAL` and the same arguments, bit for bit, whatever the number of threads; a member that fails
    affects no other. Roots of functions that are not terminal are not recorded, and need no projection. Ctrl-C stops all members and raises
    KeyboardInterrupt; `flag` stops them and returns the results so far.
    """
    own = np.array(y0, np.float64, order="C", ndmin=2)
    members, n = own.shape[0], code.size(own.shape[1])
    starts = with_room_behind(own, n)
    given = np.array(p, np.float64, order="C", ndmin=2)
    parameters = np.array(np.broadcast_to(given, (members, given.shape[1])), order="C")
    limits = limits._replace(before=0.0)
    check(code, given.shape[1], t0, t1, FINAL)
    code = with_stages(code, n)
    control_of(n, limits)
    results = results_for(starts, float(t0), code.n_measure, code.own)
    stop = np.zeros(1, np.int64) if flag is None else flag
    watches = watches_of(code.n_watch, watching)

    def some(first: int) -> None:
        last, system, nothing = min(first + portion, members), code.system(np.empty(given.shape[1])), np.empty(0)
        plan = Plan(control_of(n, limits, code.own, code.angles), watches, FINAL, nothing, stop)
        records = Records(
            room_to_keep(FINAL, 0, n),
            room_for_roots(0, n),
            room_for_extremes(n, code.n_measure, code.own),
            work_of(n, code, given.shape[1]),
            tube_of(n, code),
        )
        some_members, progress = Members(first, last, starts, parameters), Progress(np.zeros(2), np.zeros(codes.COUNTS, np.int64))
        LOOP.integrate_some(some_members, system, float(t0), float(t1), plan, records, progress, results)

    workers = threads or processors()
    portion = max(1, members // (16 * workers) if workers > 1 else members)
    with ThreadPoolExecutor(workers) as pool:
        try:
            for _ in pool.map(some, range(0, members, portion)):
                pass
        except BaseException:
            stop[0] = 1
            raise
    return ensemble_of(results, own.shape[1])


def with_room_behind(states: Array, n: int) -> Array:
    """Rows with room for n numbers, the first of which are those of some states."""
    if states.shape[1] == n:
        return states
    found = np.zeros((len(states), n))
    found[:, : states.shape[1]] = states
    return found


def results_for(starts: Array, t0: float, measures: int, own: int = 0) -> Results:
    """Room for the results of members that start in the rows of an array: as if all had been interrupted there. Inside steps only the first
    `own` components are looked at, 0 = all.
    """
    members, n = starts.shape
    return Results(
        status=np.full(members, codes.INTERRUPTED),
        index=np.full(members, -1),
        t=np.full(members, t0),
        y=starts.copy(),
        minima=starts.copy(),
        maxima=starts.copy(),
        measured=np.zeros((members, measures)),
        counts=np.zeros((members, 4), np.int64),
        shortened=np.zeros(members, np.int64),
        worst=np.ones(members),
        usual=np.zeros(members),
        inside=np.zeros((members, codes.INSIDE, own or n)),
    )


def ensemble_of(results: Results, n: int) -> Ensemble:
    """Results of the first n components, not copied, with the counts by their names."""
    counts = results.counts.T
    if results.y.shape[1] > n:
        y, minima, maxima, inside = (rows[..., :n] for rows in (results.y, results.minima, results.maxima, results.inside))
        results = results._replace(y=y, minima=minima, maxima=maxima, inside=inside)
    return Ensemble(*results[:7], counts[0], counts[1], counts[2], counts[3], *results[8:])


def interpolate(nodes: Array, states: Array, coefficients: Array, times: ArrayLike) -> tuple[Array, Array]:
    """States and their rates at any times, from what `run` kept with STEPS; NaN outside the nodes, a node's own state at a node."""
    wanted = row_of(times, "times")
    given = solid(nodes), solid(states), solid(coefficients)
    if wanted.size <= _FEW:
        return interpolated(*given, wanted)
    found = np.full((2, wanted.size, states.shape[1]), np.nan)
    LOOP.interpolate(*given, wanted, found[0], found[1])
    return found[0], found[1]


def settle(code: Code, times: ArrayLike, states: ArrayLike, p: ArrayLike = (), limits: Limits = USUAL_LIMITS) -> tuple[Array, Array]:
    """States projected at their times, as `run` does after a step, and how far each was moved at first, in units of the tolerance.

    Sizes among the limits count besides those of the states themselves.
    """
    given = np.array(states, np.float64, ndmin=2)
    n = given.shape[1]
    moved = np.zeros((len(given), width_of(n)))
    moved[:, :n] = given
    system = System(code.project, code.project, code.inputs, 0, 0, code.first_input, row_of(p, "p"))
    wanted = row_of(times, "times")
    far = np.empty(wanted.size)
    control = control_of(n, limits._replace(before=0.0))
    among = np.zeros(n)
    np.maximum.at(among, control.kinds, np.fmax(control.rows[codes.GIVEN, :n], np.abs(given).max(axis=0, initial=0.0)))
    control.rows[codes.AMONG, :n] = among[control.kinds]
    LOOP.settle(system, control, wanted, moved, np.zeros(width_of(n)), far)
    return np.ascontiguousarray(moved[:, :n]), far


def round_off_of_projection(code: Code, t: float, state: Array, p: ArrayLike, limits: Limits) -> float:
    """How much further the projection moves a state on the constraints, in tolerances, if it is shaken by some units in the last place."""
    sides = np.vstack([np.zeros(state.size), np.random.default_rng(0).choice([-1.0, 1.0], (_SHAKES, state.size))])
    far = settle(code, np.full(len(sides), t), state * (1.0 + PERTURBATION * sides), p, limits)[1]
    return float(far[1:].max() - far[0])


def evaluate(address: int, times: ArrayLike, states: ArrayLike, p: ArrayLike, outputs: int) -> Array:
    """A kernel at many points, one row each; one row of p serves all."""
    wanted, y, values = row_of(times, "times"), solid(states), solid(p)
    found = np.empty((wanted.size, outputs))
    if wanted.size > _FEW:
        if values.shape != (wanted.size, values.shape[-1]):
            values = np.ascontiguousarray(np.broadcast_to(values, (wanted.size, values.shape[-1])))
        LOOP.evaluate(int(address), wanted, y, values, found)
        return found
    entry, (at_y, at_p, at) = entry_of(int(address)), map(address_of, (y, values, found))
    of_y, of_p, of = y.strides[0], values.strides[0] if values.ndim > 1 else 0, found.strides[0]
    for k, t in enumerate(wanted.tolist()):
        entry(t, at_y + k * of_y, at_p + k * of_p, at + k * of)
    return found


def _in_order(times: Array) -> bool:
    steps = np.diff(times)
    return bool(np.all(steps >= 0) or np.all(steps <= 0))


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
