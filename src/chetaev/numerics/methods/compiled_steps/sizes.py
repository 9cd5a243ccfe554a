"""Typical sizes of components during a run: `methods.sizes`, compiled."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import inner, part
from chetaev.numerics.methods.compiled_steps.codes import AMONG, AS_EXPECTED, FAINT, FLOOR, GIVEN, LARGEST, NO_SIZE, SIZES, TYPICAL
from chetaev.numerics.methods.dop853.scale_constants import MEMORY, SMALL_PART
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix


@inner
def remember(scales: Matrix, y: Array) -> None:
    """Update the sizes with the state at the end of a step."""
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
    """The units of errors: a component that is round-off beside others of its kind is measured by their size."""
    if not _may_be_faint(scales, 0.0):
        for j in range(kinds.size):
            scales[TYPICAL, j] = max(scales[SIZES, j], scales[FLOOR, j])
        return
    _find_among(scales, kinds)
    for j in range(kinds.size):
        among = scales[AMONG, kinds[j]]
        scales[TYPICAL, j] = among if _is_faint(scales, j, among) else max(scales[SIZES, j], scales[FLOOR, j])


@inner
def _may_be_faint(scales: Matrix, most: float) -> bool:
    """Whether a component may be round-off beside others, if none is larger than `most`; most often none is beside the largest of all."""
    least = np.inf
    for j in range(scales.shape[1]):
        most = max(most, max(scales[LARGEST, j], scales[SIZES, j]))
        least = min(least, max(scales[LARGEST, j], scales[FLOOR, j]))
    return not least >= FAINT * most


@inner
def _find_among(scales: Matrix, kinds: Integers) -> None:
    """The largest size of each kind."""
    for j in range(kinds.size):
        scales[AMONG, j] = 0.0
    for j in range(kinds.size):
        k = kinds[j]
        scales[AMONG, k] = max(scales[AMONG, k], max(scales[LARGEST, j], scales[SIZES, j]))


@inner
def show_sizes(scales: Matrix, kinds: Integers, end: Array) -> bool:
    """Whether a component has another size at the end of a step than the unit of its error, so that the step has to be repeated.

    An example is a body at rest that starts to move: an error that is small beside the motion of other bodies may be as large as its own
    motion. A component without a size may turn out to be much smaller than expected.
    """
    most, least = 0.0, np.inf
    for j in range(end.size):
        most, least = max(most, abs(end[j])), min(least, scales[LARGEST, j])
    if least > 0.0 and not _may_be_faint(scales, most):
        return False
    return _show_sizes(scales, kinds, end)


@part
def _show_sizes(scales: Matrix, kinds: Integers, end: Array) -> bool:
    """The same by the sizes of each kind."""
    _find_among(scales, kinds)
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
    """Whether a component is round-off beside the largest of its kind and has no expected size."""
    return scales[GIVEN, j] < 0.0 and max(scales[LARGEST, j], scales[FLOOR, j]) < FAINT * among
