"""The interface between a method and the loop in Python: steps with their polynomials, and strides of many steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from chetaev.numerics.machine.kernels import Kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import Task
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.methods.dop853.types import Array, Integers, Seen


class StepFailed(Exception):
    """The stepper cannot make a further step; `status` says why."""

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
    """The steps of a method. `python_loop` calls a stepper from Python; each piece of a motion has a new one.

    It begins at the state of its task and never steps beyond the end of it, nor further than `task.max_step`. `task.tolerance` and
    `task.measures` say which errors are allowed, and `right_hand_side(task)` is the function of time and state it integrates.
    """

    rejected: int
    evaluations: int
    places: tuple[float, ...]
    """The points at which a step evaluates the rates, as parts of the step."""

    def step(self) -> Step:
        """The next accepted step, not beyond the end of the interval."""

    def shorten(self, t: float, y: Array, h: float) -> None:
        """Go back to a state; the next step is not longer than h."""

    def restart(self, t: float, y: Array) -> None:
        """Continue from another state."""

    def straight(self, t0: float, y0: Array, t1: float) -> Array:
        """The state at t1 from a state at t0, as exactly as the method can."""


class Quiet(NamedTuple):
    """The steps of a stride: their ends and, if they are kept, their polynomials; the number of projections, and the largest ratio of the
    bound of a node over a step to its seen value (`dop853.enclosure.tube`). The next stride writes over the arrays.
    """

    nodes: Array
    states: Array
    rows: Array
    projections: int
    worst: float


class Striding(ABC):
    """A stepper that makes strides."""

    @abstractmethod
    def stride(self, seen: Seen, signs: Integers, limits: dop853.Limits | None, most: int) -> Quiet:
        """At most `most` steps without an event, rejected ones included; `seen` and `signs` are updated.

        `limits` are those of the projection, if there is one.
        """


def call(task: Task, kernel: Kernel, t: float, y: Array) -> Array:
    """A kernel at a state, with the inputs of that time."""
    return kernel(t, y, task.parameters_at(t, y))


def right_hand_side(task: Task) -> Callable[[float, Array], Array]:
    """The rates as a function of time and state."""
    return lambda t, y: call(task, task.rhs, t, y)


def corrected(rows: Array, delta: Array) -> Array:
    """The polynomial with its end moved, its beginning and both slopes kept."""
    wide = np.zeros((max(len(rows), 3), rows.shape[1]))
    wide[: len(rows)] = rows
    wide[1] += 3 * delta
    wide[2] -= 2 * delta
    return wide


def shortened(rows: Array, theta: float) -> Array:
    """The polynomial over the first part of its step."""
    return rows * (theta ** np.arange(1, len(rows) + 1))[:, None]


def value_at(y: Array, rows: Array, theta: float | Array) -> Array:
    """The polynomial at a place of its step, or at a column of places."""
    value: Array = np.zeros_like(y)
    for row in rows[::-1]:
        value = theta * (value + row)
    return y + value
