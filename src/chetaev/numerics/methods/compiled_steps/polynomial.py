r"""The polynomial of a step, $y + \sum_k c_k\theta^k$: its values, its rates, and boxes around parts of it.

The same as `methods.enclosed.Stretch`, compiled. The coefficients of one component lie side by side, so that a sum over them takes a few
vector instructions (`vectors`).
"""

from __future__ import annotations

from chetaev.numerics.machine.native import inner, part
from chetaev.numerics.methods.compiled_steps.codes import HALF, HALF_RATE, LAST_RATE, QUARTER
from chetaev.numerics.methods.compiled_steps.types import Room
from chetaev.numerics.methods.compiled_steps.vectors import fill_powers, multiply, sum_products, three_sums
from chetaev.numerics.methods.dop853.enclosure.tube import range_of
from chetaev.numerics.methods.dop853.types import Array, Matrix, Tube


@inner
def inside(y: Array, room: Room, places: Matrix) -> None:
    """The states at a quarter, a half and three quarters of the step, as far as the determinant reads them."""
    for j in room.read:
        one, two, three = three_sums(room.rows[j].ctypes, room.weights.ctypes, room.powers.size, (QUARTER, HALF, QUARTER + 2))
        places[0, j], places[1, j], places[2, j] = y[j] + one, y[j] + two, y[j] + three


@inner
def state_at(y: Array, room: Room, theta: float, out: Array) -> None:
    """The state at a place of the step."""
    width = room.powers.size
    fill_powers(room.powers.ctypes, theta, theta, width, width)
    for j in range(y.size):
        out[j] = y[j] + sum_products(room.rows[j].ctypes, room.powers.ctypes, width)


@inner
def state_and_rate_at(y: Array, room: Room, theta: float, h: float, state: Array, rate: Array) -> None:
    """The state and the derivative at a place of the step, which is not its beginning."""
    width, inverse = room.powers.size, 1.0 / (h * theta)
    fill_powers(room.powers.ctypes, theta, theta, width, width)
    for j in range(y.size):
        state[j] = y[j] + sum_products(room.rows[j].ctypes, room.powers.ctypes, width)
    multiply(room.powers.ctypes, room.weights[LAST_RATE].ctypes, width)
    for j in range(y.size):
        rate[j] = inverse * sum_products(room.rows[j].ctypes, room.powers.ctypes, width)


@inner
def last_rate(room: Room, j: int, h: float) -> float:
    """The derivative of a component at the end of the step."""
    return sum_products(room.rows[j].ctypes, room.weights[LAST_RATE].ctypes, room.powers.size) / h


@inner
def rate_at(room: Room, theta: float, h: float, out: Array) -> None:
    """The derivative at a place of the step."""
    width = room.powers.size
    fill_powers(room.powers.ctypes, 1.0 / h, theta, width, width)
    multiply(room.powers.ctypes, room.weights[LAST_RATE].ctypes, width)
    for j in range(room.rows.shape[0]):
        out[j] = sum_products(room.rows[j].ctypes, room.powers.ctypes, width)


@inner
def bend(room: Room) -> None:
    r"""Move the end by $\delta$, which adds $\delta\theta^2(3 - 2\theta)$."""
    for j in range(room.end.size):
        delta = room.end[j] - room.free[j]
        room.rows[j, 1] += 3.0 * delta
        room.rows[j, 2] -= 2.0 * delta


@inner
def around(t: float, h: float, y: Array, room: Room, tube: Tube) -> None:
    """The box around the whole step, as `between`; only the columns that the nodes read are renewed."""
    box, n, end, inverse = tube.box, y.size, room.end, 1.0 / h
    for which in range(tube.columns.size):
        j = tube.columns[which]
        row = room.rows[j]
        half, slope, last = three_sums(row.ctypes, room.weights.ctypes, room.powers.size, (HALF, HALF_RATE, LAST_RATE))
        low, high = range_of(inverse * row[0], inverse * slope, inverse * last)
        box[2 * n + j], box[3 * n + j] = low, high
        if low >= 0.0 or high <= 0.0:  # it does not turn back
            box[j], box[n + j] = min(y[j], end[j]), max(y[j], end[j])
        else:
            box[j], box[n + j] = range_of(y[j], y[j] + half, end[j])
    box[4 * n], box[4 * n + 1] = min(t, t + h), max(t, t + h)


@part
def between(t: float, h: float, y: Array, room: Room, left: float, right: float, tube: Tube) -> None:
    """The box around a part of the step, into `tube.box`, with the bounds of its rates."""
    box, places, n = tube.box, tube.rows, y.size
    middle = 0.5 * (left + right)
    state_at(y, room, left, places[0])
    state_at(y, room, middle, places[1])
    state_at(y, room, right, places[2])
    rate_at(room, left, h, places[3])
    rate_at(room, middle, h, places[4])
    rate_at(room, right, h, places[5])
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
def at_one_place(t: float, h: float, y: Array, room: Room, theta: float, tube: Tube) -> None:
    """One place of the step as a tube."""
    box, n = tube.box, y.size
    state_at(y, room, theta, tube.rows[0])
    rate_at(room, theta, h, tube.rows[1])
    for j in range(n):
        box[j] = box[n + j] = tube.rows[0, j]
        box[2 * n + j] = box[3 * n + j] = tube.rows[1, j]
    box[4 * n] = box[4 * n + 1] = t + theta * h
