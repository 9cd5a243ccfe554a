r"""A stepping loop in Python for methods that are not compiled with it: projection, watched functions and bookkeeping as in `dop853`.

A `Stepper` makes accepted steps, each with a polynomial $y + \sum_k c_k\theta^k$. The end of a step is projected onto the constraints, and
the polynomial bent by $\delta\theta^2(3 - 2\theta)$ to meet it. A watched function that changes its sign is located on this polynomial; a
terminal root is made sharp by stepping to it once more from the beginning of the step, because the polynomial of an implicit method is
less exact than its nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from chetaev.numerics.machine import Kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import Task
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.methods.dop853.types import Array, Run

_EARLY = 1e-6
"""Roots in this part of the first step are the start itself."""
_FAR = 10.0
_SHARPER = 4


class StepFailed(Exception):
    """A stepper cannot go on."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.sentence)
        self.status = status


@dataclass(frozen=True)
class Step:
    """An accepted step: its end and the rows $c_1, c_2, ...$ of its polynomial."""

    t: float
    y: Array
    rows: Array


class Stepper(Protocol):
    """What a method provides."""

    rejected: int
    evaluations: int

    def step(self) -> Step:
        """The next accepted step, not beyond the end of the interval."""

    def restart(self, t: float, y: Array) -> None:
        """Continue from another state."""

    def straight(self, t0: float, y0: Array, t1: float) -> Array:
        """The state at t1 from a state at t0, as exactly as the method can."""


@dataclass
class _March:
    task: Task
    stepper: Stepper
    nodes: list[float] = field(default_factory=list)
    states: list[Array] = field(default_factory=list)
    rows: list[Array] = field(default_factory=list)
    found: list[tuple[float, int, Array]] = field(default_factory=list)
    accepted: int = 0
    projections: int = 0

    def __post_init__(self) -> None:
        task = self.task
        self.t, self.y = task.t0, np.array(task.y0)
        self.forward = 1.0 if task.t1 >= task.t0 else -1.0
        self.low, self.high = self.y.copy(), self.y.copy()
        self.measured = np.zeros(len(task.compiled.labels))
        self.signs = np.zeros(len(task.watches), np.int64)
        self.asked = 0
        self._include(self.t, self.y)
        if task.keep == dop853.STEPS:
            self.nodes.append(self.t)
            self.states.append(self.y.copy())
        self._keep_times(self.t, self.t, self.y, None)

    def run(self) -> Run:
        status, index = Status.FINISHED, -1
        if not (np.all(np.isfinite(self.y)) and np.all(np.isfinite(call(self.task, self.task.rhs, self.t, self.y)))):
            status = Status.NOT_FINITE
        while status is Status.FINISHED and self.t != self.task.t1:
            if self.task.flag[0]:
                status = Status.INTERRUPTED
            elif self.accepted + self.stepper.rejected >= self.task.max_steps:
                status = Status.TOO_MANY_STEPS
            else:
                try:
                    status, index = self._advance()
                except StepFailed as failed:
                    status = failed.status
        return self._result(status, index)

    def _advance(self) -> tuple[Status, int]:
        task, t, y = self.task, self.t, self.y
        step = self.stepper.step()
        end, far = self._projected(step.t, step.y)
        if not far <= _FAR:
            raise StepFailed(Status.DRIFT)
        rows = bent(step.rows, end - step.y)
        stop, t_new = self._roots(t, y, step.t, end, rows)
        if stop >= 0:
            t_new, end = self._sharpened(t, y, t_new, stop, step.t)
            rows = bent(_shortened(rows, (t_new - t) / (step.t - t)), end - _at(y, rows, (t_new - t) / (step.t - t)))
        self._keep(t, t_new, y, end, rows)
        if stop >= 0 or not np.array_equal(end, step.y):
            self.stepper.restart(t_new, end)
        self.t, self.y = t_new, end
        self.accepted += 1
        self._include(t_new, end)
        if stop >= 0:
            return Status.WATCH, stop
        values = np.abs(call(task, task.watch, t_new, end))
        below = [k for k, w in enumerate(task.watches) if values[k] < w.floor]
        return (Status.FLOOR, below[0]) if below else (Status.FINISHED, -1)

    # -- watched functions

    def _roots(self, t: float, y: Array, t_new: float, end: Array, rows: Array) -> tuple[int, float]:
        """The terminal function whose root comes first, or -1, and where the step ends then; other roots up to there are recorded."""
        task, h = self.task, t_new - t
        left = _EARLY if self.accepted == 0 else 0.0
        if self.accepted == 0:
            self.signs = np.sign(self._watched(t + left * h, self._placed(t, y, h, rows, left))).astype(np.int64)
        new = np.sign(call(task, task.watch, t_new, end)).astype(np.int64)
        changed = [k for k, w in enumerate(task.watches) if self._fires(k, int(new[k]), w.direction)]
        roots = {k: self._root(k, t, y, h, rows, left) for k in changed}
        stops = [k for k in changed if task.watches[k].terminal]
        stop = min(stops, key=lambda k: roots[k], default=-1)
        limit = roots[stop] if stop >= 0 else 1.0
        for k in sorted((k for k in changed if k not in stops and roots[k] <= limit), key=lambda k: roots[k]):
            at = t + roots[k] * h
            self.found.append((at, k, self._placed(t, y, h, rows, roots[k])))
        self.signs = np.where(new != 0, new, self.signs)
        return stop, t + limit * h

    def _fires(self, k: int, new: int, wanted: int) -> bool:
        old = int(self.signs[k])
        return old != 0 and new != 0 and new != old and wanted in (0, new)

    def _root(self, k: int, t: float, y: Array, h: float, rows: Array, left: float) -> float:
        """Where a watched function vanishes on the polynomial of the step, on the new side."""

        def value(theta: float) -> float:
            return float(self._watched(t + theta * h, self._placed(t, y, h, rows, theta))[k])

        first, last = value(left), value(1.0)
        if first == 0.0 or first * last > 0.0:
            return left if first == 0.0 else 1.0
        root = float(brentq(value, left, 1.0, xtol=1e-13, rtol=1e-14))
        return min(1.0, root + 2e-13) if value(root) * last < 0.0 else root

    def _sharpened(self, t: float, y: Array, guess: float, k: int, t_new: float) -> tuple[float, Array]:
        """A terminal root on the motion itself instead of its polynomial, by secants."""

        def state(at: float) -> Array:
            return self._projected(at, self.stepper.straight(t, y, at))[0]

        a, end = guess, state(guess)
        value = float(self._watched(a, end)[k])
        slope = self._slope(k, a, end)
        for _ in range(_SHARPER):
            if value == 0.0 or not np.isfinite(slope) or slope == 0.0:
                break
            b = a - value / slope
            if not (b - t) * self.forward > 0 or not (t_new - b) * self.forward >= 0 or abs(b - a) <= 1e-15 * max(abs(a), abs(t_new - t)):
                break
            end_b = state(b)
            value_b = float(self._watched(b, end_b)[k])
            if abs(value_b) >= abs(value):
                break
            a, end, value = b, end_b, value_b
        return a, end

    def _slope(self, k: int, t: float, y: Array) -> float:
        """The rate of a watched function along the motion."""
        h = self.forward * 1e-6 * max(abs(t), abs(self.task.t1 - self.task.t0), 1e-300)
        rate = call(self.task, self.task.rhs, t, y)
        ahead, behind = (float(self._watched(t + s * h, y + s * h * rate)[k]) for s in (1.0, -1.0))
        return (ahead - behind) / (2 * h)

    def _watched(self, t: float, y: Array) -> Array:
        return call(self.task, self.task.watch, t, y)

    def _placed(self, t: float, y: Array, h: float, rows: Array, theta: float) -> Array:
        return self._projected(t + theta * h, _at(y, rows, theta))[0]

    # -- bookkeeping

    def _projected(self, t: float, y: Array) -> tuple[Array, float]:
        task = self.task
        if task.project is None:
            return np.array(y), 0.0
        addresses = (task.project.address, 0 if task.inputs is None else task.inputs.address)
        moved, far = dop853.settle(*addresses, [t], y[None, :], task.p, task.first_input, rtol=task.tolerance, atol=task.tolerance)
        self.projections += 1
        return moved[0], float(far[0])

    def _keep(self, t: float, t_new: float, y: Array, end: Array, rows: Array) -> None:
        if self.task.keep == dop853.STEPS:
            self.nodes.append(t_new)
            self.states.append(end)
            self.rows.append(rows)
        self._keep_times(t, t_new, y, end, rows)

    def _keep_times(self, t: float, t_new: float, y: Array, end: Array | None, rows: Array | None = None) -> None:
        task = self.task
        while task.keep == dop853.TIMES and self.asked < len(task.times) and (task.times[self.asked] - t_new) * self.forward <= 0:
            at = float(task.times[self.asked])
            state = y if rows is None or end is None else end if at == t_new else _at(y, rows, (at - t) / (t_new - t))
            self.nodes.append(at)
            self.states.append(np.array(state))
            self.asked += 1

    def _include(self, t: float, y: Array) -> None:
        self.low, self.high = np.minimum(self.low, y), np.maximum(self.high, y)
        self.measured = np.maximum(self.measured, np.abs(call(self.task, self.task.compiled.measure, t, y)))

    def _result(self, status: Status, index: int) -> Run:
        n = len(self.y)
        most = max((len(r) for r in self.rows), default=1)
        coefficients = np.zeros((len(self.rows), most, n))
        for k, rows in enumerate(self.rows):
            coefficients[k, : len(rows)] = rows
        return Run(
            status=status,
            index=index,
            t=self.t,
            y=self.y,
            nodes=np.array(self.nodes),
            states=np.array(self.states).reshape(len(self.nodes), n),
            coefficients=coefficients,
            found_times=np.array([at for at, _, _ in self.found]),
            found_indices=np.array([k for _, k, _ in self.found], np.int64),
            found_states=np.array([state for _, _, state in self.found]).reshape(len(self.found), n),
            minima=self.low,
            maxima=self.high,
            measured=self.measured,
            next_step=0.0,
            accepted=self.accepted,
            rejected=self.stepper.rejected,
            evaluations=self.stepper.evaluations,
            projections=self.projections,
        )


def march(task: Task, stepper: Stepper) -> Run:
    """Run a stepper over a piece."""
    return _March(task, stepper).run()


def call(task: Task, kernel: Kernel, t: float, y: Array) -> Array:
    """A kernel at a state, with the inputs of that time."""
    p = task.p
    if task.inputs is not None:
        values = task.inputs(t, y[: task.inputs.n_state], p)
        p = p.copy()
        p[task.first_input : task.first_input + len(values)] = values
    return kernel(t, y[: kernel.n_state], p)


def right_hand_side(task: Task) -> Callable[[float, Array], Array]:
    """The rates as a function of time and state."""
    return lambda t, y: call(task, task.rhs, t, y)


def bent(rows: Array, delta: Array) -> Array:
    """The polynomial with its end moved, its beginning and both slopes kept."""
    wide = np.zeros((max(len(rows), 3), rows.shape[1]))
    wide[: len(rows)] = rows
    wide[1] += 3 * delta
    wide[2] -= 2 * delta
    return wide


def _shortened(rows: Array, theta: float) -> Array:
    """The polynomial over the first part of its step."""
    return rows * (theta ** np.arange(1, len(rows) + 1))[:, None]


def _at(y: Array, rows: Array, theta: float) -> Array:
    """The polynomial at a place of its step."""
    value = np.zeros_like(y)
    for row in rows[::-1]:
        value = theta * (value + row)
    return y + value
