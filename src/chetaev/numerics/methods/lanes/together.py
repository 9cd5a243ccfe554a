"""Code for several states (`vector_code`) at one state of every member."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.engine import address_of
from chetaev.numerics.machine.processor import LANES
from chetaev.numerics.methods.dop853.arguments import solid
from chetaev.numerics.methods.dop853.types import Array, Flags, Integers, Stack
from chetaev.numerics.methods.lanes.layout import EndCode
from chetaev.numerics.methods.lanes.loaded import AT_MEMBERS


def evaluate_together(address: int, t: Array, states: Array, p: Array, outputs: int) -> Array:
    """The results of code at many points: arguments and results have a row for each."""
    y, parameters = solid(states), solid(p)
    found = np.empty((len(y), outputs))
    room = _room(1 + y.shape[1] + parameters.shape[1] + outputs)
    AT_MEMBERS.evaluate_members(address, solid(t), y, parameters, room, found)
    return found


def extend_together(address: int, t: Array, states: Array, p: Array, outputs: int) -> Array:
    """States in rows, with the results of code at them behind."""
    y, parameters = solid(states), solid(p)
    found = np.empty((len(y), y.shape[1] + outputs))
    AT_MEMBERS.extend_members(address, solid(t), y, parameters, _room(1 + y.shape[1] + parameters.shape[1] + outputs), found)
    return found


def judge_together(code: EndCode, t: Array, states: Array, p: Array, neighbours: Array) -> tuple[Flags, Array, Array]:
    """Which states are clear, and the last residual and the size of its terms at each (`at_members.check_ends`)."""
    y, parameters = _whole(states), solid(p)
    size, n = states.shape
    clear, last, terms = np.empty(size, bool), np.empty(size), np.empty(size)
    room = _room(3 + 3 * n + parameters.shape[1] + code.n_held + code.n_measure + 5 * code.rows)
    AT_MEMBERS.check_ends(code, solid(t), y, parameters, solid(neighbours), room, clear, last, terms)
    return clear, last, terms


def small_inside(
    inside: Stack,
    minima: Array,
    maxima: Array,
    steps: Integers,
    limits: tuple[float, float, float],
    n: int,
    balance: tuple[Array, Array, Array],
) -> Flags:
    """Which members have defects inside their steps, round-off, and errors of the balance within limits (`at_members.compare_inside`)."""
    small = np.empty(len(minima), bool)
    measured, last, terms = map(solid, balance)
    whole = _whole(inside), _whole(minima), _whole(maxima), np.ascontiguousarray(steps)
    AT_MEMBERS.compare_inside(*whole, *limits, n, measured, last, terms, small)
    return small


def _room(rows: int) -> Array:
    """Room for rows of numbers, of which each begins in a line of the cache."""
    room = np.empty(rows * LANES + 8)
    first = -(address_of(room) // 8) % 8
    return room[first : first + rows * LANES].reshape(rows, LANES)


def _whole(rows: Array) -> Array:
    """Contiguous rows that begin with given ones: those which the loop wrote, if these are the first columns of such."""
    whole = rows.base
    if whole is None or whole.shape[:-1] != rows.shape[:-1] or whole.dtype != rows.dtype or not whole.flags.c_contiguous:
        return solid(rows)
    return whole if whole.__array_interface__["data"] == rows.__array_interface__["data"] else solid(rows)
