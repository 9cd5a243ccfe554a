r"""Linear algebra of small matrices whose entries have different units: scaling, inverses, quotients, eigenvalues with error bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, matrix_balance
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from chetaev.mechanics.ranks.generic import Matrix, equilibrated
from chetaev.mechanics.ranks.split import split
from chetaev.mechanics.tolerances import CUT

Complex = NDArray[np.complex128]

_SMALLEST_BOUND = 1e-12
"""Smallest bound of the round-off of an eigenvalue, relative to the largest eigenvalue."""
_SWEEPS = 12
"""Number of alternating scalings of rows and columns; a few converge."""
_WORST_CONDITION = 1e-9
"""Smallest product of left and right unit eigenvectors by which a bound is divided: defective eigenvalues would have no bound at all."""
_ROUND_OFF_OF_EIGENVALUES = 2e-14
"""Error of eigenvalues of a well-conditioned matrix, relative to its norm: the backward error of the QR algorithm for some dozens of rows.
With less, zero eigenvalues seem to grow."""
_SAME_REAL_PART = 1e-9
"""Relative to the largest eigenvalue: real parts that differ by less count as equal when eigenvalues are sorted, so that round-off does not
decide."""


def scaled(matrix: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Row scales, scaled matrix and column scales: the largest entry of each row and column becomes 1.

    Entries that are round-off of zero do not affect these scales, as they would affect geometric means.
    """
    a = np.array(matrix, dtype=float)
    rows, columns = np.ones(a.shape[0]), np.ones(a.shape[1])
    for _ in range(_SWEEPS):
        r, c = np.sqrt(np.abs(a).max(axis=1, initial=0.0)), np.sqrt(np.abs(a).max(axis=0, initial=0.0))
        r[r == 0], c[c == 0] = 1.0, 1.0
        a, rows, columns = a / r[:, None] / c, rows * r, columns * c
    return rows, a, columns


def inverse_of(matrix: Matrix) -> tuple[Matrix, int]:
    """Return the inverse, or a matrix that solves consistent systems, and the rank; scaling removes the effect of units.

    Where masses and lengths differ by many orders, scaling by geometric means shows ranks that scaling by largest entries hides. Scaling
    does not change the exact rank, so the larger of the two is taken.
    """
    (rows, balanced, columns), (u, s, vt), rank = _decomposed(scaled(matrix))
    if rank < min(matrix.shape):
        other = _decomposed(equilibrated(matrix, 0.0))
        if other[2] > rank:
            (rows, balanced, columns), (u, s, vt), rank = other
    if rank == len(rows) == len(columns):
        inverse = np.linalg.inv(balanced)  # singular vectors would fill exact zeros with round-off
    else:
        inverse = (vt[:rank].T / s[:rank]) @ u[:, :rank].T
    found: Matrix = inverse / columns[:, None] / rows
    return found, rank


Scaled = tuple[Matrix, Matrix, Matrix]
"""Row scales, a scaled matrix and column scales."""


def _decomposed(found: Scaled) -> tuple[Scaled, tuple[Matrix, Matrix, Matrix], int]:
    """A scaled matrix, its singular values and vectors, and its rank."""
    u, s, vt = np.linalg.svd(found[1], full_matrices=False)
    return found, (u, s, vt), int(np.sum(s > CUT * s[0])) if len(s) and s[0] > 0 else 0


def sizes_around(matrix: Matrix, units: Matrix) -> Matrix:
    """The smaller of the largest entries in the row and in the column of each entry of a map from variables to their rates.

    Entries are compared in units of the variables, since a derivative of a momentum may be a much smaller number than one of a velocity.
    """
    change = units[:, None] / units[None, :]
    sizes = np.abs(matrix) / change
    found: Matrix = change * np.minimum(sizes.max(axis=1, initial=0.0)[:, None], sizes.max(axis=0, initial=0.0)[None, :])
    return found


def without_null(matrices: Sequence[Matrix]) -> tuple[Matrix, Matrix]:
    """The projection to the quotient by the common null space of several matrices, and a lift; variables with zero columns are left out."""
    size = len(matrices[0])
    stacked = np.vstack(matrices)
    kept = np.any(stacked != 0, axis=0)
    if not kept.all():
        chosen = np.eye(size)[kept]
        return chosen, chosen.T
    _, balanced, columns = scaled(stacked)
    found = split(balanced)
    if found.rank == size:
        return np.eye(size), np.eye(size)
    return found.rows.T * columns, (found.rows.T / columns).T


def spectrum_of(matrix: Matrix) -> tuple[Complex, Matrix]:
    """Eigenvalues with error bounds, block by block; the variables of a block all influence each other.

    Blocks keep the zero eigenvalues of nested quadratures exact; computed together, a Jordan block would spread them by a root of
    round-off.
    """
    values: list[complex] = []
    doubts: list[float] = []
    if len(matrix):
        _, labels = connected_components(csr_array(matrix != 0), directed=True, connection="strong")
        for label in range(labels.max() + 1):
            block = matrix[np.ix_(labels == label, labels == label)]
            with np.errstate(invalid="ignore"):  # SciPy converts scales above 2^63, from entries such as 1e-78, to indices
                balanced = matrix_balance(block)[0]
            w, left, right = eig(balanced, left=True, right=True)
            condition = np.maximum(np.abs(np.sum(left.conj() * right, axis=0)), _WORST_CONDITION)
            values += w.tolist()
            doubts += (_ROUND_OFF_OF_EIGENVALUES * np.linalg.norm(balanced, 2) / condition).tolist()
    found = np.array(values, dtype=complex)
    return found, np.maximum(np.array(doubts), _SMALLEST_BOUND * np.abs(found).max(initial=0.0))


def ordered(values: Complex) -> Complex:
    """The largest real part first, then the largest imaginary part; round-off does not decide."""
    unit = _SAME_REAL_PART * np.abs(values).max(initial=0.0) or 1.0
    found: Complex = values[np.lexsort((-values.imag, -np.round(values.real / unit)))]
    return found


def matched(rows: Sequence[Complex], points: Matrix, found: Complex) -> NDArray[np.int64]:
    """Return the index of the new eigenvalue that continues each old one, by extrapolation of the last two rows."""
    expected = rows[-1]
    if len(rows) > 1 and points[-2] != points[-3]:
        expected = expected + (rows[-1] - rows[-2]) * (points[-1] - points[-2]) / (points[-2] - points[-3])
    chosen: NDArray[np.int64] = linear_sum_assignment(np.abs(expected[:, None] - found[None, :]))[1]
    return chosen
