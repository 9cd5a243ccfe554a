"""The sizes that a run shows: `methods.sizes`, compiled."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.compiled_steps.codes import AMONG, AS_EXPECTED, FAINT, FLOOR, GIVEN, LARGEST, NO_SIZE, SIZES, TYPICAL
from chetaev.numerics.methods.dop853.scale_constants import MEMORY, SMALL_PART
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix


@inner
def remember(scales: Matrix, y: Array) -> None:
    """Take in a state."""
    for j in range(y.size):
        size = abs(y[j])
        largest = max(scales[LARGEST, j], size)
        scales[LARGEST, j] = largest
        own = max(size, max(MEMORY * scales[SIZES, j], SMALL_PART * largest))
        scales[SIZES, j] = scales[GIVEN, j] if scales[GIVEN, j] >= 0.0 else own
        if largest > 0.0:
            scales[FLOOR, j] = 0.0


@inner
def find_typical(scales: Matrix, kinds: Integers) -> None:
    """The sizes by which errors are measured: of what is round-off beside others of its kind, theirs."""
    for j in range(kinds.size):
        scales[AMONG, j] = 0.0
    for j in range(kinds.size):
        k = kinds[j]
        scales[AMONG, k] = max(scales[AMONG, k], max(scales[LARGEST, j], scales[SIZES, j]))
    for j in range(kinds.size):
        among = scales[AMONG, kinds[j]]
        scales[TYPICAL, j] = among if _is_faint(scales, j, among) else max(scales[SIZES, j], scales[FLOOR, j])


@inner
def show_sizes(scales: Matrix, kinds: Integers, end: Array) -> bool:
    """Tell whether components have another size at the end of a step than the one they were measured by: the step is to be made again.

    A body at rest that something sets in motion is one of them: an error that is small beside other bodies may be all of its motion. What
    has no size yet may turn out to be much smaller than expected.
    """
    found = False
    for j in range(end.size):
        scales[AMONG, kinds[j]] = max(scales[AMONG, kinds[j]], abs(end[j]))
    for j in range(end.size):
        among, size = scales[AMONG, kinds[j]], abs(end[j])
        own = scales[GIVEN, j] < 0.0 and max(FAINT * among, NO_SIZE) <= size < np.inf
        smaller = scales[LARGEST, j] == 0.0 and size < AS_EXPECTED * scales[FLOOR, j]
        if own and (smaller or _is_faint(scales, j, among)):
            scales[FLOOR, j] = size
            found = True
    return found


@inner
def _is_faint(scales: Matrix, j: int, among: float) -> bool:
    """Whether a component is round-off beside the largest of its kind, and nothing is expected of it."""
    return scales[GIVEN, j] < 0.0 and max(scales[LARGEST, j], scales[FLOOR, j]) < FAINT * among
