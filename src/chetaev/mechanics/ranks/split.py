"""Rank and null space of a matrix whose rows and columns have comparable sizes already, from one decomposition.

`factored` scales a matrix first, because its unknowns may have any units. Here the caller has divided by the sizes of jets, or rows are
unit vectors, and another scaling would change which directions count as small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chetaev.mechanics.tolerances import CUT

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """The space of columns' coefficients, split in two: rank + number of null vectors = number of columns."""

    rank: int
    largest: float
    """The largest singular value."""
    right: Matrix
    """The right singular vectors, as rows: the first `rank` span the row space, the others the null space."""

    @property
    def null(self) -> Matrix:
        """An orthonormal basis of the null space, as columns."""
        return self.right[self.rank :].T

    @property
    def rows(self) -> Matrix:
        """An orthonormal basis of the row space, as columns."""
        return self.right[: self.rank].T


def split(matrix: Matrix, cut: float = CUT, *, size: float | None = None, at_least: float = 0.0) -> Split:
    """Split by the singular values above and below `cut` times the largest, or times `size` if it is given.

    Where the largest singular value is below `at_least`, that takes its place: a matrix of round-off has rank zero.

    >>> found = split(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]]))
    >>> found.rank, found.null.shape[1]
    (1, 1)
    """
    _, sizes, right = np.linalg.svd(matrix, full_matrices=matrix.shape[0] < matrix.shape[1])  # all right vectors in any case
    largest = float(sizes.max(initial=0.0))
    return Split(int(np.sum(sizes > cut * (max(largest, at_least) if size is None else size))), largest, right)


def rank_of(matrix: Matrix, cut: float = CUT, *, size: float | None = None, at_least: float = 0.0) -> int:
    """The rank that `split` finds."""
    return split(matrix, cut, size=size, at_least=at_least).rank
