r"""Roots of watched functions along one step, for methods that step in Python.

Watched functions are evaluated on the polynomial of a step, moved onto the constraints, and their roots are located there: every change of
sign in the step for functions that are watched closely (`changes`), the change from end to end for the others. A terminal root is improved
by another step to it from the beginning of the step, because the polynomial of an implicit method is less exact than its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.methods.base import Task
from chetaev.numerics.methods.changes import Change, root, sign_changes
from chetaev.numerics.methods.dop853.codes import CORNER, ROOT_AT_START
from chetaev.numerics.methods.dop853.location import sign_of
from chetaev.numerics.methods.dop853.types import Array
from chetaev.numerics.methods.enclosed import Stretch, proved_changes
from chetaev.numerics.methods.stepper import Stepper, call, value_at

Projection = Callable[[Array, Array], tuple[Array, Array]]
"""Moves states at some times onto the constraints, and says how far each was moved."""
_SAME_AS_START = 1e-9
"""Relative to the duration of the run: a root in the first step that follows in less time is the start itself. One step of a series may
reach the end of a run, so that a part of the step alone would be too long."""
_SIMULTANEOUS = 1e-12
"""Relative to the step: roots that are not further apart are at the same time."""
_MOST_SECANTS = 4
"""Most secants that move a terminal root, each with a step from the beginning of its step; an ordinary root needs one or two."""
_RATE_TIME = 1e-6
"""Relative to the duration of the run: the time over which the rate of a watched function is measured."""
_FALL_TO_ROOT, _NOT_SMALL = 0.5, 1e-3
"""A function jumps over zero if secants reduce its value by less than the first factor, and the value stays larger than its change in the
second part of `_RATE_TIME`. With less, round-off at a root would be taken for a jump, which takes fifty steps instead of four."""
_BESIDE_ROOT, _HARDLY_MOVED = 0.1, 1e-4
"""Secants that moved a root have found one if the function changes its sign within the first part of the way they moved it. This is not
checked where they moved it by less than the second part of `_RATE_TIME`: every root of an ordinary function."""
_SECANT_ENDS = 1e-15
"""Relative to the time and to the step: a secant that moves a root by less ends the iteration; smaller moves are round-off."""


@dataclass(frozen=True)
class Along:
    """The watched functions along a step, on its polynomial moved onto the constraints. Each place is evaluated once."""

    task: Task
    projected: Projection
    t: float
    h: float
    y: Array
    rows: Array
    known: dict[float, Array]
    """All values by place."""

    def value(self, k: int, theta: float) -> float:
        """One function in one place."""
        if theta not in self.known:
            self.look([theta])
        return float(self.known[theta][k])

    def look(self, places: Sequence[float]) -> None:
        """Evaluate all functions at several places; projecting these together costs little more than projecting one."""
        new, task = [theta for theta in places if theta not in self.known], self.task
        for theta, state in zip(new, self.states(np.array(new)) if new else (), strict=True):
            self.known[theta] = call(task, task.watch, self.t + theta * self.h, state)

    def states(self, places: Array) -> Array:
        """The states in some places."""
        return self.projected(self.t + places * self.h, value_at(self.y, self.rows, places[:, None]))[0]


@dataclass
class WatchedRoots:
    """The watched functions of a run, with their latest signs."""

    task: Task
    stepper: Stepper
    projected: Projection
    found: list[tuple[float, int, Array]] = field(default_factory=list)
    """The roots that do not end a step: time, index of the function, state."""

    def __post_init__(self) -> None:
        self.forward = 1.0 if self.task.t1 >= self.task.t0 else -1.0
        self.signs = np.zeros(len(self.task.watches), np.int64)

    def along(self, t: float, y: Array, t_new: float, end: Array, rows: Array) -> Along:
        """The watched functions along a step from `y` at `t` to `end` at `t_new`."""
        return Along(self.task, self.projected, t, t_new - t, y, rows, {1.0: self.watched(t_new, end)})

    def first_stop(self, t: float, y: Array, t_new: float, end: Array, rows: Array, first: bool) -> tuple[int, float]:
        """The terminal function whose root comes first, or -1, and where the step ends then; other roots up to there are recorded.

        The first step of a run, where `first` is true, begins with the signs just behind its beginning.
        """
        watches, h, left = self.task.watches, t_new - t, 0.0
        along = self.along(t, y, t_new, end, rows)
        functions = [partial(along.value, k) for k in range(len(watches))]
        if first:
            span = abs(self.task.t1 - self.task.t0)
            left = max(min(ROOT_AT_START, _SAME_AS_START * span / abs(h)), min(0.5, 16 * np.finfo(float).eps * abs(t / h)))
            self.signs[:] = [sign_of(f(left)) for f in functions]
        corners = self._corners(along, left)
        stop, limit, right = -1, 1.0, 1.0
        for k in (k for k, watch in enumerate(watches) if watch.terminal):
            for change in self._changes(k, along, left, right, corners)[:1]:
                theta = root(functions[k], change)
                if stop < 0 or theta < limit:
                    stop, limit, right = k, theta, change.right
        loose = [k for k, watch in enumerate(watches) if not watch.terminal and watch.direction != CORNER]
        others = [(k, change) for k in loose for change in self._changes(k, along, left, right, corners)]
        for theta, k in sorted((root(functions[k], change), k) for k, change in others):
            if theta <= limit + _SIMULTANEOUS:
                theta = min(theta, limit)
                self.found.append((t + theta * h, k, along.states(np.array([theta]))[0]))
        return stop, t_new if limit == 1.0 else t + limit * h  # t + h may differ from t_new in its last digit

    def _corners(self, along: Along, left: float) -> list[float]:
        """The corners of functions in a step: the roots of the arguments of abs, min and max."""
        found = []
        for k, watch in enumerate(self.task.watches):
            if watch.direction == CORNER:
                f = partial(along.value, k)
                changes, self.signs[k] = sign_changes(f, left, 1.0, int(self.signs[k]), look=along.look)
                found += [root(f, change) for change in changes]
        return found

    def _changes(self, k: int, along: Along, left: float, right: float, corners: Sequence[float]) -> list[Change]:
        """The changes of sign of a watched function in a step, in its direction: all, or the first if it is terminal.

        Its sign is remembered.
        """
        watch, sign = self.task.watches[k], int(self.signs[k])
        proved = self._proved(k, along, left, right) if watch.place >= 0 else None
        if proved is not None:
            found, self.signs[k] = proved
        elif watch.closely:
            first = watch.direction if watch.terminal else None
            found, self.signs[k] = sign_changes(partial(along.value, k), left, right, sign, first=first, look=along.look, corners=corners)
        else:
            new = sign_of(along.value(k, 1.0))
            found, self.signs[k] = [Change(left, 1.0, new)] if sign * new < 0 else [], new or sign
        return [change for change in found if watch.direction in (0, change.sign)]

    def _proved(self, k: int, along: Along, left: float, right: float) -> tuple[list[Change], int] | None:
        """The changes of sign of a watched function that has bounds; None if the bounds do not decide."""
        task, kernel = self.task, self.task.bounds
        watch, step = task.watches[k], Stretch(along.t, along.h, along.y, along.rows)
        first = watch.direction if watch.terminal else None

        def bounds(a: float, b: float) -> Array:
            assert kernel is not None  # noqa: S101 - a watch with a place has one
            return kernel(0.0, step.box(a, b), task.p)[4 * watch.place : 4 * watch.place + 4]

        grain = float(np.spacing(abs(along.t) + abs(along.h))) / abs(along.h)
        return proved_changes(partial(along.value, k), bounds, left, right, int(self.signs[k]), first, grain)

    def sharpened(self, t: float, y: Array, guess: float, k: int, t_new: float) -> tuple[float, Array]:
        """A terminal root on the motion itself instead of its polynomial, by secants; a jump over zero by bisection."""

        def state(at: float) -> Array:
            return self.projected(np.array([at]), self.stepper.straight(t, y, at)[None, :])[0][0]

        a, end = guess, state(guess)
        value = first = float(self.watched(a, end)[k])
        slope = self._slope(k, a, end)
        for _ in range(_MOST_SECANTS):
            if value == 0.0 or not np.isfinite(slope) or slope == 0.0:
                break
            b = a - value / slope
            if (
                not (b - t) * self.forward > 0
                or not (t_new - b) * self.forward >= 0
                or abs(b - a) <= _SECANT_ENDS * max(abs(a), abs(t_new - t))
            ):
                break
            end_b = state(b)
            value_b = float(self.watched(b, end_b)[k])
            if abs(value_b) >= abs(value):
                break
            a, end, value = b, end_b, value_b
        if np.isfinite(slope) and abs(value) > max(_FALL_TO_ROOT * abs(first), _NOT_SMALL * abs(slope) * self._short(a)):
            return self._jump(k, t, a, t_new, state)
        moved = _BESIDE_ROOT * abs(a - guess)
        if value != 0.0 and moved > _HARDLY_MOVED * self._short(a):  # secants across a jump lead to where there is no root
            before, after = (sign_of(float(self.watched(at, state(at))[k])) for at in (a - self.forward * moved, a + self.forward * moved))
            if before * after > 0:
                return self._jump(k, t, guess, t_new, state)
        return a, end

    def _jump(self, k: int, t: float, guess: float, t_new: float, state: Callable[[float], Array]) -> tuple[float, Array]:
        """Where a function that does not become small jumps over zero, near a guess; the guess if it does not."""

        def sign(at: float) -> int:
            return sign_of(float(self.watched(at, state(at))[k]))

        least, far = 8 * float(np.spacing(max(abs(guess), abs(t_new)))), abs(t_new - t)
        h = least
        while h < far:
            a, b = (min(max(at, min(t, t_new)), max(t, t_new)) for at in (guess - self.forward * h, guess + self.forward * h))
            old, new = sign(a), sign(b)
            if old * new < 0:
                while abs(b - a) > least:
                    middle = 0.5 * (a + b)
                    a, b = (a, middle) if sign(middle) == new else (middle, b)
                return b, state(b)
            h *= 4
        return guess, state(guess)

    def _short(self, t: float) -> float:
        """A time that is short compared with the run."""
        return _RATE_TIME * max(abs(t), abs(self.task.t1 - self.task.t0), ALMOST_ZERO)

    def _slope(self, k: int, t: float, y: Array) -> float:
        """The rate of a watched function along the motion."""
        h = self.forward * self._short(t)
        rate = call(self.task, self.task.rhs, t, y)
        ahead, behind = (float(self.watched(t + s * h, y + s * h * rate)[k]) for s in (1.0, -1.0))
        return (ahead - behind) / (2 * h)

    def watched(self, t: float, y: Array) -> Array:
        return call(self.task, self.task.watch, t, y)
