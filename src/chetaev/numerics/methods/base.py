r"""The base class of methods: from kernels and a state to a run with nodes and polynomials between them.

A run keeps a polynomial per step, in one of two bases over $\theta \in [0, 1]$: `nested`, the form of `dop853.dense`, with seven rows, or
`powers`, $y + \sum_{k \ge 1} c_k \theta^k$, with as many rows as the method's polynomials have.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import casadi as ca
import numpy as np

from chetaev.core.support.public import public
from chetaev.core.support.registry import Specified
from chetaev.core.symbols import Jet
from chetaev.numerics.flow.compiled import Compiled, Stepping
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.machine.kernels import MOST_JOINED, Foreign, Kernel, joined_kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.machine.vectors.directions import Lanes, lanes_with
from chetaev.numerics.methods import METHODS, dop853
from chetaev.numerics.methods.accuracy import Accuracy, Measures
from chetaev.numerics.methods.dop853.arguments import width_of
from chetaev.numerics.methods.dop853.repeated_calls import Room
from chetaev.numerics.methods.dop853.types import Array, Integers, Run

if TYPE_CHECKING:
    from chetaev.numerics.methods.stepper import Stepper

NESTED, POWERS = "nested", "powers"

_NO_SLOPE = 1e-2
"""Relative to the tolerance and to the typical size of a slope: errors of slopes that are always allowed. A larger part would show in small
slopes, a smaller one follows round-off where slopes vanish."""
_ROUND_OFF = 16 * float(np.finfo(float).eps)
"""Relative to the typical size of a slope: the least error that is allowed, where the tolerance is as fine as round-off."""
UNREDUCED = (dop853.Status.STEP_TOO_SMALL, dop853.Status.DRIFT, dop853.Status.NOT_FINITE)
"""How runs in reduced velocities end where these may be the reason: a constant pivot may be zero for the given parameters."""
_FIRST_STEPS = 128
"""Steps that are tried with code that need not be made: with it they take about a quarter of the time in which optimised code is made."""


@dataclass(frozen=True)
class Watch:
    """One watched function: its direction, whether it ends the run, its smallest size allowed, whether steps must resolve all its roots,
    and its place among the functions with bounds over a tube (-1 = none).
    """

    direction: int = 0
    terminal: bool = False
    floor: float = 0.0
    closely: bool = False
    place: int = -1


@dataclass(frozen=True)
class Wide:
    """Slopes of a motion, integrated together with its state: for each jet one in each of several directions.

    Their errors limit the steps as those of the state do.
    """

    rhs: Kernel
    """The rates of the state, with the work done, and of the slopes."""
    project: Kernel | None
    """The state on the constraints, and the slopes on their linearisation."""
    first: Array
    """The slopes at the beginning."""
    extra: Array
    """Numbers behind the vector p that this code reads."""
    lanes: int
    """The number of slopes of a jet."""
    usual: Array
    """Typical sizes of slopes: the size of the jet divided by that of the parameter or initial value."""

    def limits(self, own: dop853.Limits) -> dop853.Limits:
        """The limits of a state, for the state and its slopes.

        The tolerance of a slope by a parameter is relative to the size of the jet over the size of the parameter, so that round-off of a
        slope that vanishes does not shorten steps.
        """
        kinds = np.asarray(own.kinds)
        n, more = len(kinds), len(self.first)
        jets = more // self.lanes
        of_slopes = n + jets * np.tile(np.arange(self.lanes), jets) + np.repeat(kinds[:jets], self.lanes)
        return own._replace(
            atol=np.concatenate([np.broadcast_to(own.atol, n), max(_NO_SLOPE * own.rtol, _ROUND_OFF) * self.usual]),
            sizes=np.concatenate([np.broadcast_to(own.sizes, n), np.full(more, -1.0)]),
            before=np.concatenate([np.broadcast_to(own.before, n), np.zeros(more)]),
            kinds=np.concatenate([kinds, of_slopes]),
        )


@dataclass(frozen=True)
class Task:
    """One smooth piece of a motion, ready for any method."""

    compiled: Compiled
    binding: Binding
    rates: ca.Function
    """The rates of the state as a graph."""
    rhs: Kernel
    """The rates of the state as machine code."""
    project: Kernel | None
    inputs: Kernel | None
    watch: Kernel
    watches: tuple[Watch, ...]
    nodes: Kernel | None
    """Bounds of the functions in the data over a tube (`chetaev.numerics.enclosures`)."""
    bounds: Kernel | None
    """Bounds of the watched functions and of their rates over a tube."""
    turns: Kernel | None
    """How far the arguments of sine and cosine move in a tube, where the determinant may touch zero."""
    determinant: Kernel | None
    """The determinant of the system Jacobian, if it may touch zero."""
    p: Array
    """Parameters, room for the inputs, the energy at the start."""
    first_input: int
    t0: float
    t1: float
    y0: Array
    tolerance: float
    max_steps: int
    max_step: float
    """The longest step allowed."""
    keep: int
    times: Array
    flag: Integers = field(compare=False)
    """The run stops when its first entry becomes nonzero."""
    reached: Callable[[float], None] = field(compare=False)
    """Called with the present time at every pause of the run."""
    before: Mapping[Jet, float] = field(default_factory=dict, compare=False)
    """The largest values of jets before the piece."""
    accuracy: Accuracy | None = None
    """Tolerances and typical sizes; None: only `tolerance` counts."""
    wide: Wide | None = None
    """The slopes that are integrated together with the state."""
    stepping: Stepping | None = None
    """The kernels of steps in reduced velocities, for the method that can use them; None: `rhs` and `project`."""

    @cached_property
    def measures(self) -> Measures:
        """The units of errors."""
        flow = self.compiled.flow
        wanted = self.accuracy or Accuracy(self.tolerance)
        return wanted.measures(flow.state, flow.size, self.before).without_work(flow.has_power)

    @property
    def kernels(self) -> list[Kernel | None]:
        """The kernels in the order of `dop853.Code`."""
        measure = self.compiled.measure
        rhs, project = (self.rhs, self.project) if self.wide is None else (self.wide.rhs, self.wide.project)
        if self.stepping is not None:
            rhs, project = self.stepping.rhs, self.stepping.project
        return [
            rhs, project, self.inputs, self.watch, measure, self.nodes, self.bounds, self.turns, self.determinant,
        ]  # fmt: skip

    def parameters_at(self, t: float, y: Array) -> Array:
        """The vector p with the inputs of a time."""
        if self.inputs is None:
            return self.p
        p, values = self.p.copy(), self.inputs(t, y, self.p)
        p[self.first_input : self.first_input + len(values)] = values
        return p

    def round_off(self, t: float, y: Array) -> Array:
        """Bounds of the change that rounding errors of the rates at a state cause over the duration of the piece."""
        return self.compiled.round_off(self.binding, t, y, self.parameters_at(t, y), self.t1 - self.t0)

    def wide_round_off(self, t: float, y: Array) -> Array:
        """The bounds of `round_off` for a state with its slopes; those of the slopes are zero, since none are known."""
        n = len(self.y0)
        return np.concatenate([self.round_off(t, y[:n]), np.zeros(len(y) - n)])


@public
class Method(Specified, ABC):
    """A method of integration. Methods are values: two with the same settings are equal.

    A method provides `stepper`; the loop that calls it finds events and switching surfaces, applies resets, projects onto the constraints,
    measures the drift and shortens steps that might leap over a feature. With a `word`, `ch.register` makes it known to files.
    """

    basis: ClassVar[str] = POWERS
    """The basis of the polynomials of its steps."""
    smooth: ClassVar[bool] = True
    """Whether these have almost the order of the method, so that the defect of their derivatives is evidence."""

    def stepper(self, task: Task) -> Stepper:
        """Return the object that makes the steps of one smooth piece.

        Args:
            task: The piece to integrate: rates, start, interval and tolerances.
        """
        raise NotImplementedError(f"{type(self).__name__} has no stepper")

    def run(self, task: Task) -> Run:
        """Integrate one piece. A method overrides `run` only if it has its own loop, which must do all that `python_loop` does.

        Args:
            task: The piece to integrate: rates, start, interval and tolerances.
        """
        from chetaev.numerics.methods.python_loop import run_in_python  # which imports this module

        return run_in_python(task, self.stepper(task))


@METHODS.register
class Explicit(Method):
    """Dormand-Prince 8(5,3), the whole loop in machine code: what `method=None` means."""

    word = "explicit"
    papers = ("Hairer",)
    basis: ClassVar[str] = NESTED

    def run(self, task: Task) -> Run:
        """Integrate one piece. The first steps are tried with code that is made at once and computes the same: a short piece is done
        before the code for a long one would have been made. Steps in reduced velocities that fail are made once more without these.
        """
        task = task if task.wide is None else replace(task, stepping=None)
        done = self._run(task)
        if task.stepping is None or done.status not in UNREDUCED:
            return done if task.stepping is None else done._replace(reduced=True)
        return self._run(replace(task, stepping=None))

    def _run(self, task: Task) -> Run:
        kernels = task.kernels
        if task.max_steps > _FIRST_STEPS and any(kernel is not None and kernel.provisional for kernel in kernels):
            early = [0 if kernel is None else kernel.early for kernel in kernels]
            done = _run(task, early, _FIRST_STEPS, often=False, led=self.led(task))
            if done.status is not dop853.Status.TOO_MANY_STEPS:
                return done
        ends = ends_kernel(kernels[0] or task.rhs, task.watch if task.watches else None, task.compiled.measure)
        addresses = [0 if kernel is None else kernel.address for kernel in kernels]
        return _run(task, addresses, task.max_steps, often=True, ends=0 if ends is None else ends.address, led=self.led(task))

    def led(self, task: Task) -> Callable[[Room], Callable[[], None]] | None:
        """The object that controls the loop along a piece with slopes (`dop853.run`), one for each run; None: the loop runs alone."""
        return None


def ends_kernel(rhs: Kernel, watch: Kernel | None, measure: Kernel) -> Kernel | None:
    """Rates, watched functions and residuals at once, as `dop853.run` wants them where a step ends: most of what the watched functions
    take is computed for the rates too. None if that would take too long to make.
    """
    if isinstance(rhs, Foreign):
        return None
    width = width_of(rhs.n_out)
    watched = () if watch is None else ((watch, width),)
    if isinstance(rhs, Lanes):
        joined = lanes_with(rhs, *watched, (measure, width + (0 if watch is None else watch.n_out)))
        return joined if joined.instructions <= MOST_JOINED else None
    return joined_kernel((rhs, 0), *watched, (measure, width + (0 if watch is None else watch.n_out)))


def code_of(task: Task, addresses: Sequence[int], often: bool = False) -> dop853.Code:
    """The code of a task, whose kernels are at `addresses`; it runs `often` if it was made for more than a few steps."""
    used = task.stepping or Stepping(task.compiled.rhs, task.project, task.compiled.rhs)
    return dop853.Code(*addresses)._replace(
        first_input=task.first_input,
        n_watch=len(task.watches),
        n_measure=task.compiled.measure.n_out,
        n_nodes=0 if task.nodes is None else task.nodes.n_out // 2,
        columns=columns_read(len(task.y0), task.nodes, task.bounds, task.turns),
        boxed=len(task.y0),
        own=0 if task.wide is None else len(task.y0),
        angles=angles_of(task.compiled, used, task.inputs, task.watch if task.watches else None),
        doubting=doubting(used.rhs, None if isinstance(task.inputs, Lanes) else task.inputs, task.first_input, often),
        begin=0 if used.begin is None else used.begin.address if often else used.begin.early,
        like=used.like,
    )


def watching_of(task: Task) -> dop853.Watching:
    """How the functions that a task watches are watched."""
    return dop853.Watching(
        directions=[w.direction for w in task.watches],
        terminal=[w.terminal for w in task.watches],
        floor=[w.floor for w in task.watches],
        closely=[w.closely for w in task.watches],
        places=[w.place for w in task.watches],
    )


def _run(
    task: Task,
    addresses: Sequence[int],
    max_steps: int,
    often: bool,
    ends: int = 0,
    led: Callable[[Room], Callable[[], None]] | None = None,
) -> Run:
    code = code_of(task, addresses, often)._replace(ends=ends)
    limits = task.measures.limits(task.max_step, max_steps)
    watching = watching_of(task)
    times = task.times if task.keep == dop853.TIMES else ()
    y0, p, round_off, n = task.y0, task.p, task.round_off, len(task.y0)
    if task.wide is not None:
        y0, p, limits = np.concatenate([y0, task.wide.first]), np.concatenate([p, task.wide.extra]), task.wide.limits(limits)
        round_off = task.wide_round_off
    limits = limits.of_further(n, code.like)
    run = dop853.run(
        code,
        task.t0,
        task.t1,
        y0,
        p,
        limits,
        watching,
        keep=task.keep,
        times=times,
        flag=task.flag,
        paused=task.reached,
        round_off=round_off,
        led=led,
    )
    return run if task.wide is None else run.narrowed(n)


def angles_of(compiled: Compiled, stepping: Stepping, *others: Kernel | None) -> tuple[int, ...]:
    """The components of a state that its rates and residuals, the projection and other code depend on as on angles.

    The sizes of terms that are measured too depend on the angles themselves, as the rounding of a sine does: on their remainders.
    """
    read = [compiled.measure.angles(outputs=len(compiled.labels)), *(k.angles() for k in (stepping.rhs, *others) if k is not None)]
    read += [] if stepping.project is None else [stepping.project.angles(moving=True)]
    angles, unsuited = (frozenset[int]().union(*sets) for sets in zip(*read, strict=True))
    return tuple(sorted(angles - unsuited))


def columns_read(n: int, *tubes: Kernel | None) -> list[int]:
    """The components of a state of n numbers whose bounds, or those of their rates, some code for tubes reads; time is no component."""
    return sorted({k % n for kernel in tubes if kernel is not None for k in kernel.reads if k < 4 * n})


def interpolate(basis: str, nodes: Array, states: Array, coefficients: Array, times: Array) -> Array:
    """States at any times from what a run kept with STEPS; NaN outside the nodes, a node's own state at a node."""
    if basis == NESTED:
        return dop853.interpolate(nodes, states, coefficients, times)[0]
    found = np.full((len(times), states.shape[1]), np.nan)
    forward = 1.0 if nodes[-1] >= nodes[0] else -1.0
    inside = (forward * (times - nodes[0]) >= 0) & (forward * (nodes[-1] - times) >= 0)
    low = np.clip(np.searchsorted(forward * nodes, forward * times, side="right") - 1, 0, len(nodes) - 1)
    found[inside] = states[low[inside]]
    between = np.flatnonzero(inside & (times != nodes[low]))
    step = low[between]
    theta = ((times[between] - nodes[step]) / (nodes[step + 1] - nodes[step]))[:, None]
    rows = coefficients[step]
    value = np.zeros((len(between), states.shape[1]))
    for k in range(rows.shape[1] - 1, -1, -1):
        value = theta * (value + rows[:, k])
    found[between] = states[step] + value
    return found


def derivatives(basis: str, nodes: Array, states: Array, coefficients: Array, times: Array) -> tuple[Array, Array]:
    """States at times within the nodes, and their derivatives, from what a run kept with STEPS."""
    if basis == NESTED:
        return dop853.interpolate(nodes, states, coefficients, times)
    forward = 1.0 if nodes[-1] >= nodes[0] else -1.0
    step = np.clip(np.searchsorted(forward * nodes, forward * times, side="right") - 1, 0, len(nodes) - 2)
    h = (nodes[step + 1] - nodes[step])[:, None]
    theta, rows = (times - nodes[step])[:, None] / h, coefficients[step]
    value, slope = np.zeros((2, len(times), states.shape[1]))
    for k in range(rows.shape[1] - 1, -1, -1):
        slope = theta * slope + (k + 1) * rows[:, k]
        value = theta * (value + rows[:, k])
    return states[step] + value, slope / h
