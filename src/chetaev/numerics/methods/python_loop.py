r"""A stepping loop in Python for methods that are not compiled with it: projection, watched functions and bookkeeping as in `dop853`.

A `Stepper` makes accepted steps, each with a polynomial $y + \sum_k c_k\theta^k$. The end of a step is projected onto the constraints, and
the polynomial corrected by $\delta\theta^2(3 - 2\theta)$ to meet it. `watched_roots` locates the roots of watched functions on it.

A stepper of a compiled method makes *strides* (`Striding`): many steps at once, in machine code, without an event, a root or a step that
has to be shortened. Where a stride ends, this loop makes the next step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.accuracy import usual_sizes
from chetaev.numerics.methods.base import POWERS, Task, interpolate
from chetaev.numerics.methods.compiled_steps.codes import FAR
from chetaev.numerics.methods.dop853 import Status, codes
from chetaev.numerics.methods.dop853.arguments import room_for_extremes
from chetaev.numerics.methods.dop853.codes import INTEGRAL, LATEST, TOUCHING
from chetaev.numerics.methods.dop853.scale_constants import DIGITS, FIRST_PLACE, GOLDEN_PART, PLACES, TIME_LEFT
from chetaev.numerics.methods.dop853.types import Array, Run
from chetaev.numerics.methods.enclosed import Stretch, level_part, safe_part
from chetaev.numerics.methods.stepper import Quiet, StepFailed, Stepper, Striding, call, corrected, shortened, value_at
from chetaev.numerics.methods.watched_roots import WatchedRoots

_MOST_DRIFTED = 20
"""Trial steps in a row that the projection moves too far, each half as long as the one before, after which a run ends with DRIFT. Fewer end
runs at rows that turn in a millionth of a step."""
_COMPARED_PLACES = tuple(k / 8 for k in range(9))
"""Parts of a step at which a series is compared with the rates, if the bounds of a node exceed its values at the beginning."""
_SERIES_ERROR = 50.0
"""Tolerances, over a step, by which the slope of a series may differ from the rates: as much as the last terms of a series."""


@dataclass
class _Loop:
    task: Task
    stepper: Stepper
    nodes: list[Array] = field(default_factory=list)
    states: list[Array] = field(default_factory=list)
    rows: list[Array] = field(default_factory=list)
    """What is kept, in portions of one step or of many."""
    accepted: int = 0
    projections: int = 0
    shortened: int = 0
    worst: float = 1.0
    surprise: int = -1
    looked: int = 0
    drifted: int = 0
    """Trial steps in a row that the projection moved too far."""
    wished: tuple[float, float] = (float("nan"), 0.0)
    """Where a step had to be shortened last, and the length it was to have."""

    def __post_init__(self) -> None:
        task = self.task
        self.t, self.y = task.t0, np.array(task.y0)
        self.forward = 1.0 if task.t1 >= task.t0 else -1.0
        self.seen = room_for_extremes(len(self.y), task.compiled.measure.n_out)
        self.seen.minima[:], self.seen.maxima[:], self.seen.measured[:] = self.y, self.y, 0.0
        self.roots = WatchedRoots(task, self.stepper, self.projected)
        self.asked = 0
        self._include(self.t, 0.0, self.y)
        if task.keep == dop853.STEPS:
            self.nodes.append(np.array([self.t]))
            self.states.append(self.y[None, :].copy())
        while task.keep == dop853.TIMES and self.asked < len(task.times) and task.times[self.asked] == self.t:
            self._keep_state(self.t, self.y)

    def run(self) -> Run:
        status, index = Status.FINISHED, -1
        if not (np.all(np.isfinite(self.y)) and np.all(np.isfinite(call(self.task, self.task.rhs, self.t, self.y)))):
            status = Status.NOT_FINITE
        else:
            self._begin()
        while status is Status.FINISHED and self.t != self.task.t1:
            self.task.reached(self.t)
            if self.task.flag[0]:
                status = Status.INTERRUPTED
            elif self.accepted + self.stepper.rejected >= self.task.max_steps:
                status = Status.TOO_MANY_STEPS
            else:
                try:
                    status, index = self._advance()
                    if status is Status.FINISHED and self.accepted:
                        self._stride()
                except StepFailed as failed:
                    status = failed.status
        return self._result(status, index)

    def _begin(self) -> None:
        """Begin with a stride where no watched function vanishes at the start; otherwise their signs are those just behind it."""
        values = call(self.task, self.task.watch, self.t, self.y)[: len(self.task.watches)]
        if np.all(np.abs(values) > 0.0):
            self.roots.signs[:] = np.sign(values)
            self._stride()

    def _stride(self) -> None:
        """Steps in which nothing happens, one stride after the other."""
        stepper, task = self.stepper, self.task
        while isinstance(stepper, Striding) and self.t != task.t1 and not task.flag[0]:
            most = task.max_steps - self.accepted - stepper.rejected
            found = stepper.stride(self.seen, self.roots.signs, None if task.project is None else self._limits, most)
            self.projections += found.projections
            if not len(found.nodes):
                return
            self.worst = max(self.worst, found.worst)
            self._keep_stride(found)
            self.accepted += len(found.nodes)
            self.looked = self.accepted
            self.t, self.y = float(found.nodes[-1]), found.states[-1].copy()
            task.reached(self.t)

    def _keep_stride(self, found: Quiet) -> None:
        if self.task.keep == dop853.STEPS:
            self.nodes.append(found.nodes.copy())
            self.states.append(found.states.copy())
            self.rows.append(found.rows.copy())
        if self.task.keep == dop853.TIMES:
            wanted = self.task.times[self.asked :]
            wanted = wanted[(wanted - found.nodes[-1]) * self.forward <= 0]
            nodes, states = np.concatenate(([self.t], found.nodes)), np.vstack((self.y, found.states))
            self.nodes.append(wanted)
            self.states.append(self.projected(wanted, interpolate(POWERS, nodes, states, found.rows, wanted))[0])
            self.asked += len(wanted)

    def _advance(self) -> tuple[Status, int]:
        task, t, y = self.task, self.t, self.y
        step = self.stepper.step()
        end, far = self._projected(step.t, step.y)
        if not far <= FAR and not far <= FAR * self._echo(step.t, end):
            return self._nearer(t, y, 0.5 * (step.t - t))
        self.drifted = 0
        rows = corrected(step.rows, end - step.y)
        whole = self._safe_part(t, y, step.t, end, rows)
        if whole < 1.0:
            h = (step.t - t) * whole
            # a stepper may refuse steps of a few units in the last place of the time
            refused = t == self.wished[0] and abs(step.t - t) > 1.1 * self.wished[1]
            if refused or self._vanishes(h, t):
                raise StepFailed(Status.STEP_TOO_SMALL)
            self.wished = t, abs(h)
            self.stepper.rejected += 1
            self.stepper.shorten(t, y, h)
            return Status.FINISHED, -1
        stop, t_new = self.roots.first_stop(t, y, step.t, end, rows, first=self.accepted == 0)
        if stop >= 0:
            t_new, end = self.roots.sharpened(t, y, t_new, stop, step.t)
            rows = corrected(shortened(rows, (t_new - t) / (step.t - t)), end - value_at(y, rows, (t_new - t) / (step.t - t)))
        self._compare_inside(t, t_new - t, y, rows)
        self._keep(t, t_new, y, end, rows)
        if stop >= 0 or not np.array_equal(end, step.y):
            self.stepper.restart(t_new, end)
        self.t, self.y = t_new, end
        self.accepted += 1
        self._include(t_new, t_new - t, end)
        if stop >= 0:
            return Status.WATCH, stop
        values = np.abs(call(task, task.watch, t_new, end))
        below = [k for k, w in enumerate(task.watches) if values[k] < w.floor]
        return (Status.FLOOR, below[0]) if below else (Status.FINISHED, -1)

    def _nearer(self, t: float, y: Array, h: float) -> tuple[Status, int]:
        """Try a step of length `h` instead of one whose end the projection moved too far, as `dop853` does: a row may turn in a part of a
        step that its formula does not resolve.
        """
        self.drifted += 1
        if self.drifted >= _MOST_DRIFTED:
            raise StepFailed(Status.DRIFT)
        self.stepper.rejected += 1
        self.stepper.shorten(t, y, h)
        return Status.FINISHED, -1

    def _vanishes(self, h: float, t: float) -> bool:
        """Whether a step that had to be shortened is too small to be one."""
        return abs(h) < 4 * float(np.finfo(float).eps) * (abs(t) + TIME_LEFT * abs(self.task.t1 - t))

    # -- between the points that a step evaluates

    def _safe_part(self, t: float, y: Array, t_new: float, end: Array, rows: Array) -> float:
        """The part of a step that leaps over nothing and in which no determinant touches zero; 1 = the whole."""
        task, whole = self.task, 1.0
        if task.nodes is not None:
            stretch = Stretch(t, t_new - t, y, rows)
            safe = safe_part(task.nodes, task.p, stretch, self.stepper.places)
            if safe.part < 1.0 and len(self.stepper.places) == 1 and self._follows_rates(t, t_new - t, y, rows):
                safe = safe_part(task.nodes, task.p, stretch, _COMPARED_PLACES)
            if safe.part < 1.0:
                self.shortened, self.surprise, whole = self.shortened + 1, safe.surprise, safe.part
            else:
                self.worst = max(self.worst, safe.worst)
        if whole == 1.0 and task.determinant is not None:
            along = self.roots.along(t, y, t_new, end, rows)
            tube = Stretch(t, t_new - t, y, rows).box(0.0, 1.0)
            turn = 0.0 if task.turns is None else float(task.turns(0.0, tube, task.p)[0])
            whole = level_part(partial(along.value, 0), turn, along.look)
            if whole < 1.0 and self._vanishes((t_new - t) * whole / TOUCHING, t):  # it touches zero here, however far the pivots fell
                raise StepFailed(Status.FLOOR)
        return whole

    def _follows_rates(self, t: float, h: float, y: Array, rows: Array) -> bool:
        """Whether a series, which uses the rates where it begins, agrees with them at `_COMPARED_PLACES`, which then count as evaluated.

        Otherwise a node that vanishes where the series begins, such as x^5 at x = 0, would exceed its seen value in every step, however
        short.
        """
        limits, powers = self._limits, np.arange(1, len(rows) + 1)
        sizes, least = np.asarray(limits.sizes, dtype=float), np.asarray(limits.atol, dtype=float)
        for theta in _COMPARED_PLACES[1:]:
            there, moved = value_at(y, rows, theta), (powers * theta ** (powers - 1)) @ rows
            allowed = _SERIES_ERROR * (limits.rtol * np.maximum(sizes, np.abs(there)) + least)
            if not np.all(np.abs(moved - h * call(self.task, self.task.rhs, t + theta * h, there)) <= allowed):
                return False
        return True

    # -- bookkeeping

    def _compare_inside(self, t: float, h: float, y: Array, rows: Array) -> None:
        """Compare the polynomial with the rates at one point, as `dop853.dense` does in some steps; here a comparison costs little."""
        if h == 0.0:
            return
        self.looked = self.accepted + 1
        task, powers = self.task, np.arange(1, len(rows) + 1)
        theta = FIRST_PLACE + PLACES * (GOLDEN_PART * (self.accepted + 1) % 1.0)
        at, there = t + theta * h, value_at(y, rows, theta)
        moved = (powers * theta ** (powers - 1)) @ rows
        rates = call(task, task.rhs, at, there)
        eps = float(np.finfo(float).eps)
        with np.errstate(all="ignore"):
            off = np.abs(moved - h * rates) - DIGITS * eps * np.abs(at * rates)
            squares = (h * np.abs(self._doubted(at, there) - rates).max(axis=0)) ** 2
        inside = self.seen.inside
        larger = np.isfinite(off) & (off > inside[codes.OFF])
        inside[: codes.ROUNDED, larger] = np.array([off, np.abs(h * rates), np.full(len(y), at)])[:, larger]
        inside[codes.ROUNDED] += np.where(np.isfinite(squares), squares, np.inf)

    def _doubted(self, t: float, y: Array) -> Array:
        """The rates with the bounds of their errors added and subtracted, with state and time moved by a unit in the last place."""
        task, unit = self.task, float(np.finfo(float).eps)
        t, y = t * (1.0 + unit), y * (1.0 + unit * np.where((np.arange(len(y)) + self.accepted) % 2, 1.0, -1.0))
        address = doubting(task.rhs, task.inputs, task.first_input)
        if not address:
            return call(task, task.rhs, t, y)[None, :]
        return dop853.evaluate(address, [t], y[None, :], task.p, 2 * len(y)).reshape(2, len(y))

    def _projected(self, t: float, y: Array) -> tuple[Array, float]:
        moved, far = self.projected(np.array([t]), y[None, :])
        return moved[0], float(far[0])

    def projected(self, times: Array, states: Array) -> tuple[Array, Array]:
        """States on the constraints, and how far each was moved."""
        task = self.task
        if task.project is None:
            return np.array(states), np.zeros(len(times))
        self.projections += len(times)
        return dop853.settle(self._code, times, states, task.p, self._limits)

    @property
    def _code(self) -> dop853.Code:
        task = self.task
        project, inputs = (0 if kernel is None else kernel.address for kernel in (task.project, task.inputs))
        return dop853.Code(0, project, inputs, first_input=task.first_input)

    @property
    def _limits(self) -> dop853.Limits:
        measures = self.task.measures
        sizes = np.maximum(np.maximum(measures.before, measures.sizes), np.maximum(-self.seen.minima, self.seen.maxima))
        sizes = usual_sizes(sizes, self.task.compiled.flow.state, self.task.t1 - self.task.t0)
        return dop853.Limits(measures.rtol, measures.atol, sizes, kinds=measures.kinds)

    def _echo(self, t: float, y: Array) -> float:
        """The change of the projection of a state that round-off alone causes, in tolerances."""
        return dop853.round_off_of_projection(self._code, t, y, self.task.p, self._limits)

    def _keep(self, t: float, t_new: float, y: Array, end: Array, rows: Array) -> None:
        task = self.task
        if task.keep == dop853.STEPS and t_new != t:
            self.nodes.append(np.array([t_new]))
            self.states.append(end[None, :])
            self.rows.append(rows[None, :, :])
        while task.keep == dop853.TIMES and self.asked < len(task.times) and (task.times[self.asked] - t_new) * self.forward <= 0:
            at = float(task.times[self.asked])
            self._keep_state(at, end if at == t_new else self._projected(at, value_at(y, rows, (at - t) / (t_new - t)))[0])

    def _keep_state(self, t: float, y: Array) -> None:
        """Keep the state at a time that was asked for."""
        self.nodes.append(np.array([t]))
        self.states.append(np.array(y)[None, :])
        self.asked += 1

    def _include(self, t: float, h: float, y: Array) -> None:
        low, high, measured, roots, _ = self.seen
        np.minimum(low, y, out=low)
        np.maximum(high, y, out=high)
        sizes = np.abs(call(self.task, self.task.compiled.measure, t, y))
        np.maximum(measured, sizes, out=measured)
        root = float(np.sqrt(np.sqrt(sizes[-1])))
        if root < np.inf:
            roots[INTEGRAL] += abs(h) * min(roots[LATEST], root)
            roots[LATEST] = root

    def _result(self, status: Status, index: int) -> Run:
        n = len(self.y)
        most, coefficients = max((rows.shape[1] for rows in self.rows), default=1), np.zeros((0, 1, n))
        if self.rows:
            coefficients = np.zeros((sum(map(len, self.rows)), most, n))
            first = 0
            for rows in self.rows:
                coefficients[first : first + len(rows), : rows.shape[1]] = rows
                first += len(rows)
        return Run(
            status=status,
            index=index,
            t=self.t,
            y=self.y,
            nodes=np.concatenate([np.zeros(0), *self.nodes]),
            states=np.concatenate([np.zeros((0, n)), *self.states]),
            coefficients=coefficients,
            found_times=np.array([at for at, _, _ in self.roots.found]),
            found_indices=np.array([k for _, k, _ in self.roots.found], np.int64),
            found_states=np.array([state for _, _, state in self.roots.found]).reshape(len(self.roots.found), n),
            minima=self.seen.minima,
            maxima=self.seen.maxima,
            measured=self.seen.measured,
            next_step=0.0,
            accepted=self.accepted,
            rejected=self.stepper.rejected,
            evaluations=self.stepper.evaluations,
            projections=self.projections,
            shortened=self.shortened,
            worst=self.worst,
            surprise=self.surprise,
            usual=float(self.seen.roots[INTEGRAL]),
            inside=self.seen.inside[: codes.INSIDE].copy(),
            looked=self.looked,
        )


def run_in_python(task: Task, stepper: Stepper) -> Run:
    """Run a stepper over a piece."""
    return _Loop(task, stepper).run()
