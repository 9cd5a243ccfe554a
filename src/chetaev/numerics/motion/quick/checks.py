"""Checks of motions as graphs of one row of memory: what decides whether a motion ended well.

Each graph is zero where nothing is in doubt, and not a number where something has no value. The checks are at least as strict as those of a
certificate (`certification`), so that a motion that passes has a certificate that is ok.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.held_rows import HeldRows
from chetaev.numerics.graphs.buffered import Buffered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel, joined_kernel
from chetaev.numerics.machine.packed import InTurn
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.arguments import places_in_room
from chetaev.numerics.smooth_pieces.rounding import DISTANCE_FOR_TERMS
from chetaev.numerics.start.clear_states import HOLDS
from chetaev.numerics.start.direct_completion import positive

_MOST_COMPILED = 1000
"""Most instructions of compiled checks; these take 50 ms to compile, and a microsecond to run."""
LARGEST = float(np.finfo(float).max)
"""Larger numbers are infinite."""
NO_LIMIT = 1e100
"""Stands for no limit of an error: products with infinity would be no numbers."""


class Allowed(NamedTuple):
    """Numbers with which a motion is judged: floats, or graphs of them."""

    steps: Any
    balance: Any
    """The largest error of the balance on the way, relative to its terms."""
    left: Any
    """The largest error of the balance at the end, relative to its terms."""
    defect: Any
    """The largest defect inside a step, relative to the size of its component."""
    rounding: Any
    """The square of the largest error by rounding, relative to the size of its component."""


class Way(NamedTuple):
    """Where a row has what a run saw."""

    seen: int
    """The place of what it saw on the way (`places_in_room`)."""
    ended: int
    """The place of the residuals at the end."""
    whole: int
    """The components of the run."""
    states: int
    """The jets of the state, which are judged."""
    measures: int
    """The residuals, with the sizes of their terms."""


def left_in(held: HeldRows) -> ca.SX:
    """Zero where the rows of motion leave no more than round-off."""
    return positive([ca.fabs(row) - HOLDS * size for row, size in zip(held.residuals, held.sizes, strict=True)])


def on_the_way(row: ca.SX, way: Way, allowed: Allowed) -> list[ca.SX]:
    """Three sums: of what the motion does not follow the equations inside its steps, or loses of their digits; of what the energy does not
    balance on the way; and of what it does not balance at the end.
    """
    minima, maxima, measured, _, inside, _ = (way.seen + place for place in places_in_room(way.whole, way.measures))
    balance = way.measures // 2 - 1

    def jets(first: int) -> ca.SX:
        return row[first : first + way.states]

    off, rounded = (jets(inside + k * way.whole) for k in (codes.OFF, codes.ROUNDED))
    sizes, before, at_the_end = ca.fmax(-jets(minima), jets(maxima)), row[measured:][: way.measures], row[way.ended :][: way.measures]
    unlike = [*ca.vertsplit(off - allowed.defect * sizes), *ca.vertsplit(allowed.steps * rounded - allowed.rounding * sizes * sizes)]
    return [
        positive(unlike),
        positive([before[balance] - allowed.balance * before[-1]]),
        positive([ca.fabs(at_the_end[balance]) - allowed.left * ca.fmin(at_the_end[-1], before[-1])]),
    ]


def hidden_by_rounding(row: ca.SX, first: int, rows: int, beside: int, allowed: float) -> ca.SX:
    """Zero where rounding hides no row that does not hold (`rounding.rows_in_doubt`): behind `first` are the rows that restrict the state
    plus bounds of their errors, minus these bounds, the rows themselves, and the rows at some states `beside`.
    """
    above, below, values, *moved = (row[first + k * rows : first + (k + 1) * rows] for k in range(3 + beside))
    terms, without = ca.SX(0), ca.SX(0)
    for there in moved:
        terms = ca.fmax(terms, ca.fabs(there - values) / DISTANCE_FOR_TERMS)
        without += ca.sum1(ca.if_else(ca.fabs(there) <= LARGEST, 0, 1))  # a maximum would pass over what is no number
    return without + positive(ca.vertsplit(ca.fabs(above - below) / 2 - allowed * terms))


def placed(kernels: Sequence[Kernel], row: Array, first: int) -> tuple[list[tuple[Kernel, Array]], list[Array]]:
    """Kernels that compute, all together, a row of values for each from the place `first` on, and these rows."""
    places = np.cumsum([first, *[kernel.n_out for kernel in kernels]]).tolist()
    rows = [row[begin:end] for begin, end in pairwise(places)]
    joined = joined_kernel(*zip(kernels, [place - first for place in places], strict=False))
    return [(joined, row[first:])] if joined is not None else list(zip(kernels, rows, strict=True)), rows


def in_turn(
    calls: Sequence[tuple[int, Array, Array]],
    judges: Sequence[tuple[ca.Function, Array]],
    row: Array,
    p: Array,
    most: int = _MOST_COMPILED,
) -> Callable[[float], None]:
    """What calls code at some addresses at a time, each with the places of its state and of its results, and then functions of a time,
    `row` and `p`. Those with more than `most` instructions are left to CasADi: compiling them takes long, and saves a microsecond.
    """
    before, t = [(address, y, p, out) for address, y, out in calls], np.zeros(1)
    small, large = ([(judge, out) for judge, out in judges if (judge.n_instructions() <= most) is wanted] for wanted in (True, False))
    compute = InTurn([*before, *[(compile_kernel(judge, fusing=False).address, row, p, out) for judge, out in small]])
    if not large:
        return compute
    evaluate = [Buffered(judge).placed([t, row, p], out) for judge, out in large]

    def call(at: float) -> None:
        compute(at)
        t[0] = at
        for each in evaluate:
            each()

    return call
