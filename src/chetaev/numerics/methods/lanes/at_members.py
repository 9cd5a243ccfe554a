"""Code for several states at one state of every member: values, what is checked where motions begin and end, and comparisons inside steps.

The numbers of `LANES` members at a time are arranged in a small table, evaluated and judged there: arrays over all members would be written
and read once for every operation. A number that is not finite makes nothing clear.
"""

from __future__ import annotations

from chetaev.numerics.machine.lane_rows import LANES, call_lanes, column_in, column_out
from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.dop853.codes import CHANGE, OFF, ROUNDED
from chetaev.numerics.methods.dop853.types import Array, Flags, Integers, Matrix, Stack
from chetaev.numerics.methods.lanes.held_rows import certain_rows, nudged_rows, small_beside_terms
from chetaev.numerics.methods.lanes.layout import EndCode


@inner
def _arrange(room: Matrix, first: int, t: Array, y: Matrix, n: int, p: Matrix, behind: int) -> None:
    """Times, states of n numbers, and `behind` rows further parameters, of members from `first` on; the last member fills up the table."""
    for lane in range(LANES):
        member = min(first + lane, y.shape[0] - 1)
        room[0, lane] = t[member]
        column_in(room.ctypes, 1, n, lane, y[member].ctypes)
        column_in(room.ctypes, 1 + n + behind, p.shape[1], lane, p[member].ctypes)


def evaluate_members(address: int, t: Array, y: Matrix, p: Matrix, room: Matrix, out: Matrix) -> None:
    """The results of code at the state of every member, in rows."""
    x, at_p = room.ctypes, 1 + y.shape[1]
    at = at_p + p.shape[1]
    for first in range(0, y.shape[0], LANES):
        _arrange(room, first, t, y, y.shape[1], p, 0)
        call_lanes(address, x, room[1:].ctypes, room[at_p:].ctypes, room[at:].ctypes)
        for lane in range(min(LANES, y.shape[0] - first)):
            column_out(x, at, out.shape[1], lane, out[first + lane].ctypes)


def extend_members(address: int, t: Array, y: Matrix, p: Matrix, room: Matrix, out: Matrix) -> None:
    """The state of every member, with the results of code at it behind, in rows."""
    n, x, at_p = y.shape[1], room.ctypes, 1 + y.shape[1]
    at = at_p + p.shape[1]
    for first in range(0, y.shape[0], LANES):
        _arrange(room, first, t, y, n, p, 0)
        call_lanes(address, x, room[1:].ctypes, room[at_p:].ctypes, room[at:].ctypes)
        for lane in range(min(LANES, y.shape[0] - first)):
            for j in range(n):
                out[first + lane, j] = y[first + lane, j]
            for j in range(n, out.shape[1]):
                out[first + lane, j] = room[at + j - n, lane]


def check_ends(
    code: EndCode, t: Array, y: Matrix, p: Matrix, neighbours: Matrix, room: Matrix, clear: Flags, last: Array, terms: Array
) -> None:
    """Whether the rows of every member hold at its state, the first numbers of a row of y, up to round-off that hides nothing: residuals of
    the rows of motion with the computed rates, and doubts of the rows on the state, are small beside their terms. The second are the
    changes of these rows between the state and some `neighbours`, given by factors. Also the last residual that is measured, and the size
    of its terms.
    """
    n, rows, half = neighbours.shape[1], code.rows, code.n_held // 2
    x, at_p = room.ctypes, 1 + 2 * n
    held = at_p + p.shape[1]
    measured = held + code.n_held
    doubts, values, moved = measured + code.n_measure, measured + code.n_measure + 2 * rows, measured + code.n_measure + 3 * rows
    there, sizes, fine = moved + n, moved + n + rows, moved + n + 2 * rows + 1
    time, state, parameters = x, room[1:].ctypes, room[at_p:].ctypes
    for first in range(0, y.shape[0], LANES):
        _arrange(room, first, t, y, n, p, n)
        call_lanes(code.rates, time, state, parameters, room[1 + n :].ctypes)
        call_lanes(code.held, time, state, parameters, room[held:].ctypes)
        call_lanes(code.measure, time, state, parameters, room[measured:].ctypes)
        small_beside_terms(x, held, half, code.allowed, fine)
        if rows > 0:
            call_lanes(code.doubting, time, state, parameters, room[doubts:].ctypes)
            call_lanes(code.restricting, time, state, parameters, room[values:].ctypes)
            for i in range(rows + 1):  # the last row says which members are certain
                for lane in range(LANES):
                    room[sizes + i, lane] = 0.0
            which, unsure = 0, True
            while unsure and which < neighbours.shape[0]:
                nudged_rows(x, 1, n, neighbours[which].ctypes, moved)
                call_lanes(code.restricting, time, room[moved:].ctypes, parameters, room[there:].ctypes)
                unsure = certain_rows(x, doubts, values, there, sizes, rows, (code.distance, code.allowed))
                which += 1
        for lane in range(min(LANES, y.shape[0] - first)):
            clear[first + lane] = room[fine, lane] != 0.0 and (rows == 0 or room[sizes + rows, lane] != 0.0)
            last[first + lane] = room[measured + code.n_measure // 2 - 1, lane]
            terms[first + lane] = room[measured + code.n_measure - 1, lane]


def compare_inside(
    inside: Stack,
    minima: Matrix,
    maxima: Matrix,
    steps: Integers,
    defect: float,
    rounded: float,
    left: float,
    n: int,
    measured: Matrix,
    last: Array,
    terms: Array,
    small: Flags,
) -> None:
    """Whether defects inside the steps of every member, and the root of their round-off, are small beside its own n components; and the
    error of the balance beside the terms of the energy: the largest on the way, the last number of the first half of what is measured, and
    the last one, beside its terms.
    """
    half = measured.shape[1] // 2
    for member in range(minima.shape[0]):
        largest = measured[member, 2 * half - 1]
        fine, count = measured[member, half - 1] <= left * largest, float(steps[member])
        fine &= abs(last[member]) <= left * largest and abs(last[member]) <= left * terms[member]
        for j in range(n):
            low, high = abs(minima[member, j]), abs(maxima[member, j])
            usual, change = max(low, high), inside[member, CHANGE, j]
            fine &= minima[member, j] <= maxima[member, j] and change >= 0.0
            fine &= inside[member, OFF, j] <= defect * max(usual, change)
            fine &= count * inside[member, ROUNDED, j] <= (rounded * usual) * (rounded * usual)
        small[member] = fine
