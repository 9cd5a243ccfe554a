"""The sizes that a run shows: `methods.sizes`, compiled."""

from __future__ import annotations

from chetaev.numerics.machine.native import inner
from chetaev.numerics.methods.dop853.scale_constants import MEMORY, SMALL_PART
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix
from chetaev.numerics.methods.strides.codes import AMONG, FAINT, FLOOR, GIVEN, LARGEST, SIZES, TYPICAL


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
        faint = scales[GIVEN, j] < 0.0 and scales[LARGEST, j] < FAINT * among
        scales[TYPICAL, j] = among if faint else max(scales[SIZES, j], scales[FLOOR, j])
