r"""The polynomial of a step, $y + \sum_k c_k\theta^k$: its values, its rates, and boxes around parts of it.

The same as `methods.enclosed.Stretch`, compiled.
"""

from __future__ import annotations

from chetaev.numerics.machine.native import part
from chetaev.numerics.methods.dop853.tube import range_of
from chetaev.numerics.methods.dop853.types import Array, Matrix, Tube


@part
def state_at(y: Array, rows: Matrix, theta: float, out: Array) -> None:
    """The state at a place of the step."""
    for j in range(y.size):
        value = 0.0
        for k in range(rows.shape[0] - 1, -1, -1):
            value = theta * (value + rows[k, j])
        out[j] = y[j] + value


@part
def rate_at(rows: Matrix, theta: float, h: float, out: Array) -> None:
    """The derivative at a place of the step."""
    for j in range(rows.shape[1]):
        value = 0.0
        for k in range(rows.shape[0] - 1, -1, -1):
            value = theta * value + (k + 1) * rows[k, j]
        out[j] = value / h


@part
def bend(rows: Matrix, free: Array, end: Array) -> None:
    r"""Move the end by $\delta$, which adds $\delta\theta^2(3 - 2\theta)$."""
    for j in range(end.size):
        delta = end[j] - free[j]
        rows[1, j] += 3.0 * delta
        rows[2, j] -= 2.0 * delta


@part
def between(t: float, h: float, y: Array, rows: Matrix, left: float, right: float, tube: Tube) -> None:
    """The box around a part of the step, into `tube.box`, with the bounds of its rates."""
    box, places, n = tube.box, tube.rows, y.size
    middle = 0.5 * (left + right)
    state_at(y, rows, left, places[0])
    state_at(y, rows, middle, places[1])
    state_at(y, rows, right, places[2])
    rate_at(rows, left, h, places[3])
    rate_at(rows, middle, h, places[4])
    rate_at(rows, right, h, places[5])
    for j in range(n):
        low, high = range_of(places[3, j], places[4, j], places[5, j])
        box[2 * n + j], box[3 * n + j] = low, high
        if low >= 0.0 or high <= 0.0:  # it does not turn back
            box[j], box[n + j] = min(places[0, j], places[2, j]), max(places[0, j], places[2, j])
        else:
            box[j], box[n + j] = range_of(places[0, j], places[1, j], places[2, j])
    a, b = t + left * h, t + right * h
    box[4 * n], box[4 * n + 1] = min(a, b), max(a, b)


@part
def at_one_place(t: float, h: float, y: Array, rows: Matrix, theta: float, tube: Tube) -> None:
    """One place of the step as a tube."""
    box, n = tube.box, y.size
    state_at(y, rows, theta, tube.rows[0])
    rate_at(rows, theta, h, tube.rows[1])
    for j in range(n):
        box[j] = box[n + j] = tube.rows[0, j]
        box[2 * n + j] = box[3 * n + j] = tube.rows[1, j]
    box[4 * n] = box[4 * n + 1] = t + theta * h
