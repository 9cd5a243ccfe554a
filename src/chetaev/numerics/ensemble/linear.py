"""Linear algebra for many small matrices at once: the batched form of `least_norm`."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.ensemble.batch import Array, Indices, Mask

_RANK = 1e-9
"""Relative to the largest singular value of a scaled matrix: smaller ones count as zero, as for a single start."""
_OPEN = 1e-7
"""Relative to the largest component of a null vector: unknowns with a smaller component are not moved by it."""


def scaled(matrices: Array) -> tuple[Array, Array, Array]:
    """Matrices with their rows and then their columns divided by the largest entry, and the scales."""
    rows = np.abs(matrices).max(axis=2, initial=0.0)
    rows[rows == 0] = 1.0
    found = matrices / rows[:, :, None]
    columns = np.abs(found).max(axis=1, initial=0.0)
    columns[columns == 0] = 1.0
    return found / columns[:, None, :], rows, columns


def least_norms(matrices: Array, right: Array) -> tuple[Array, Indices, Mask]:
    """Return solutions of least norm, ranks, and which unknowns a null space moves: `least_norm` for many matrices."""
    size, m, n = matrices.shape
    steps, opened = np.zeros((size, n)), np.zeros((size, n), dtype=bool)
    if not size or not m or not n:
        return steps, np.zeros(size, dtype=np.int64), opened | (n > 0)
    if m == n == 1:
        return _quotients(matrices, right)
    balanced, rows, columns = scaled(matrices)
    u, s, vt = np.linalg.svd(balanced, full_matrices=True)
    ranks = (s > _RANK * s[:, :1]).sum(axis=1)
    b = right / rows
    for r in set(ranks.tolist()):
        some = ranks == r
        weights = np.einsum("kmr,km->kr", u[some][:, :, :r], b[some]) / s[some, :r]
        found = np.einsum("krn,kr->kn", vt[some][:, :r], weights) / columns[some]
        if r < n:
            null = np.swapaxes(vt[some][:, r:], 1, 2) / columns[some][:, :, None]
            found -= np.einsum("knj,kj->kn", null, np.einsum("kjn,kn->kj", np.linalg.pinv(null), found))
            moved = np.abs(null).max(axis=2)
            opened[some] = moved > _OPEN * moved.max(axis=1, keepdims=True)
        steps[some] = found
    return steps, ranks, opened


def _quotients(matrices: Array, right: Array) -> tuple[Array, Indices, Mask]:
    """One equation for one unknown, the most frequent case."""
    slopes = matrices[:, :, 0]
    flat = slopes == 0
    return np.where(flat, 0.0, right / np.where(flat, 1.0, slopes)), (~flat[:, 0]).astype(np.int64), flat


def thin_svd(matrices: Array) -> tuple[Array, Array, Array]:
    """Return singular values and vectors; a single row, the most frequent case, needs no iteration."""
    if matrices.shape[1] != 1:
        found: tuple[Array, Array, Array] = np.linalg.svd(matrices, full_matrices=False)
        return found
    sizes = np.linalg.norm(matrices, axis=2)
    return np.ones((len(matrices), 1, 1)), sizes, matrices / np.where(sizes > 0, sizes, 1.0)[:, :, None]


def ranks_beside(matrices: Array, cut: float) -> Indices:
    """Return the ranks of matrices in common scales: a row or column is scaled by its largest size over all members."""
    if not matrices.size:
        return np.zeros(len(matrices), dtype=np.int64)
    _, rows, columns = scaled(np.abs(matrices).max(axis=0, keepdims=True))
    sizes = thin_svd(matrices / rows[:, :, None] / columns[:, None, :])[1]
    found: Indices = (sizes > cut).sum(axis=1)
    return found
