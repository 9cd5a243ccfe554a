"""The compiled loop that carries a frame along a motion: after every step of DOP853 the frame is made orthonormal again.

The columns of the frame are slopes that run beside the state. Gram and Schmidt's procedure multiplies them from the right by the inverse of
a triangular matrix; the rates of slopes are linear in them, so the first stage of the next step is multiplied by the same matrix, and no
rate is computed again. Nothing is allocated.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.lane_rows import call_packed
from chetaev.numerics.machine.native import call_kernel, part
from chetaev.numerics.methods.dop853.codes import ACCEPTED, NEW, NO_ROOM, NOW, RUNNING, STATUS
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix
from chetaev.numerics.methods.frames.types import Frame, Tally

_NOTHING = 1e-300
"""A column shorter than this keeps its direction: divided by its length it would not be finite."""


@part
def _fill(t: float, y: Array, p: Array, frame: Frame) -> None:
    """The columns of the frame, in the units and the volume in which lengths and angles are taken."""
    columns, units, jets, usable = frame.columns, frame.units, frame.units.size, frame.momenta.size > 0
    if usable:
        call_kernel(frame.change, t, y.ctypes, p.ctypes, frame.matrix.ctypes)
        for i in range(frame.momenta.size * jets):
            usable &= abs(frame.matrix[i]) < np.inf
    for c in range(columns.shape[0]):
        for j in range(jets):
            columns[c, j] = y[frame.own + j * frame.lanes + c] / units[j]
        if usable:
            for r in range(frame.momenta.size):
                total = 0.0
                for j in range(jets):
                    total += frame.matrix[r * jets + j] * y[frame.own + j * frame.lanes + c]
                columns[c, frame.momenta[r]] = total / units[frame.momenta[r]]


@part
def _orthonormalise(y: Array, stage: Array, frame: Frame, logs: Array) -> None:
    """Make the columns orthonormal, the slopes in y and their rates in the first stage with them; add the logarithms of lengths."""
    columns, jets = frame.columns, frame.units.size
    for c in range(columns.shape[0]):
        for b in range(c):
            part_along = 0.0
            for j in range(jets):
                part_along += columns[b, j] * columns[c, j]
            for j in range(jets):
                at = frame.own + j * frame.lanes
                columns[c, j] -= part_along * columns[b, j]
                y[at + c] -= part_along * y[at + b]
                stage[at + c] -= part_along * stage[at + b]
        square = 0.0
        for j in range(jets):
            square += columns[c, j] * columns[c, j]
        length = np.sqrt(square)
        logs[c] += np.log(max(length, _NOTHING))
        if length > _NOTHING:
            for j in range(jets):
                at = frame.own + j * frame.lanes
                columns[c, j] /= length
                y[at + c] /= length
                stage[at + c] /= length


def carry(
    entry: int, row: int, pause: Integers, clock: Array, counts: Integers, y: Array, stages: Matrix, p: Array, frame: Frame, tally: Tally
) -> None:
    """Steps until the run ends, needs room or has made as many as `pause` says; `entry` and `row` call the loop of DOP853."""
    most, going = pause[0], True
    if counts[STATUS] == NEW:  # a frame may be orthonormal in other units
        _fill(clock[NOW], y, p, frame)
        _orthonormalise(y, stages[0], frame, tally.logs[0])
        for c in range(frame.columns.shape[0]):
            tally.logs[0, c] = 0.0
    while going:
        pause[0] = min(most, counts[ACCEPTED] + 1)
        call_packed(entry, row)
        t = clock[NOW]
        if t != tally.last[0]:
            which = min(tally.lengths.size - 1, int((t - tally.begin) / tally.width))
            _fill(t, y, p, frame)
            _orthonormalise(y, stages[0], frame, tally.logs[which])
            tally.lengths[which] += t - tally.last[0]
            tally.last[0] = t
        going = counts[STATUS] == NO_ROOM and pause[0] <= counts[ACCEPTED] < most
        if going:
            counts[STATUS] = RUNNING
