"""Large sparse matrices: full rank, solutions and fits from a sparse elimination, where the answer is clear.

A singular value decomposition of n rows takes O(n^3) operations, whatever the matrix; a sparse elimination of a chain or a net of bodies
takes little more than O(n). It gives the norm of the inverse instead of a rank: where that is far from the limits, the rank is full, and a
solution of least norm is unique. Every function here returns None, or False, where that is not clear; the caller then decomposes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]

_FEWEST_ROWS = 100
"""Fewest rows of a matrix that is treated as sparse: below, a decomposition takes a few milliseconds."""
_LARGEST_DENSITY = 0.1
"""Largest share of entries that are not zero."""
_NORM_MARGIN = 100.0
"""Factor by which an estimated norm has to stay within its limit. The estimate is a lower bound, in practice within a factor of three."""
_SOLVED = 1e-12
"""Largest residual of a solution, relative to its terms."""
_PASSES = 6
"""Passes of Ruiz' scaling, after which the largest entries of rows and columns are one within a few per cent."""


def is_sparse(matrix: Matrix | Flags) -> bool:
    """Tell whether a matrix is large and has few entries."""
    return len(matrix) >= _FEWEST_ROWS and bool(np.count_nonzero(matrix) <= _LARGEST_DENSITY * matrix.size)


def sparse_least_norm(matrix: Matrix, right: Matrix, cut: float) -> Matrix | None:
    """The solution of least norm of rows that are clearly independent, with singular values far above `cut` times the largest; else
    None.
    """
    whole, n = _bordered(matrix, cut), matrix.shape[1]
    if whole is None:
        return None
    step: Matrix = whole.solve(np.concatenate([np.zeros(n), right]))[:n]
    terms = np.abs(matrix) @ np.abs(step) + np.abs(right)
    solved = np.all(np.abs(matrix @ step - right) <= _SOLVED * np.maximum(terms, terms.max() * _SOLVED))
    return step if solved and np.isfinite(step).all() else None


def sparse_fit(matrix: Matrix, right: Matrix, cut: float) -> Matrix | None:
    """The least squares of `matrix @ x = right` for clearly independent columns, with singular values far above `cut` times the largest;
    else None.
    """
    whole, (n, m) = _bordered(matrix.T, cut), matrix.shape
    if whole is None:
        return None
    found: Matrix = whole.solve(np.concatenate([right, np.zeros(m)]))[n:]
    left = matrix @ found - right
    terms = np.abs(matrix.T) @ (np.abs(matrix) @ np.abs(found) + np.abs(right))
    solved = np.all(np.abs(matrix.T @ left) <= _SOLVED * np.maximum(terms, terms.max(initial=0.0) * _SOLVED))
    return found if solved and np.isfinite(found).all() else None


def _bordered(matrix: Matrix, cut: float) -> Any:
    """The factors of [[1, A^T], [A, 0]]; None unless the rows of A are clearly independent."""
    from scipy.sparse import bmat, csc_matrix, identity
    from scipy.sparse.linalg import LinearOperator, onenormest

    m, n = matrix.shape
    a = csc_matrix(matrix)
    whole = _eliminated(bmat([[identity(n), a.T], [a, None]], format="csc")) if m <= n else None
    if whole is None:
        return None

    def inverse(y: Matrix) -> Matrix:
        """The inverse of A A^T."""
        found: Matrix = -whole.solve(np.concatenate([np.zeros(n), np.ravel(y)]))[n:]
        return found

    largest = float(np.sqrt(abs(a).sum(axis=0).max() * abs(a).sum(axis=1).max()))
    smallest = 1 / np.sqrt(onenormest(LinearOperator((m, m), matvec=inverse, rmatvec=inverse, dtype=float)))
    return whole if smallest > _NORM_MARGIN * cut * largest else None


def clearly_regular(matrix: Matrix, doubts: Matrix | None, cut: float) -> bool:
    """Tell whether a square matrix clearly has full rank: its smallest singular value, in units of rows and columns, is far above `cut`
    times the largest, and above the change that the error bounds `doubts` of the entries allow.
    """
    m, n = matrix.shape
    if m != n or not is_sparse(matrix) or not np.isfinite(matrix).all():
        return False
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import LinearOperator, onenormest

    present = matrix != 0
    logs = np.log(np.abs(matrix), out=np.zeros_like(matrix), where=present)
    rows, columns = np.split(np.exp(log_scales(present, np.concatenate([logs.sum(axis=1), logs.sum(axis=0)])[None])[0]), 2)
    unsure = np.zeros_like(matrix) if doubts is None else np.where(np.isfinite(doubts), doubts, np.abs(matrix))
    a, unsure = matrix / rows[:, None] / columns, unsure / rows[:, None] / columns
    for _ in range(_PASSES):
        r, c = (np.sqrt(np.abs(a).max(axis=axis, initial=0.0)) for axis in (1, 0))
        if not r.all() or not c.all():
            return False
        a, unsure = a / r[:, None] / c, unsure / r[:, None] / c
    found = _eliminated(csc_matrix(a))
    if found is None:
        return False
    inverse = LinearOperator((n, n), matvec=found.solve, rmatvec=lambda y: found.solve(y, "T"), dtype=float)
    # |A^-1| in the norm of singular values is at most the root of the product of the norms by columns and by rows
    smallest = 1 / np.sqrt(onenormest(inverse) * onenormest(inverse.H))
    largest = np.sqrt(np.abs(a).sum(axis=0).max() * np.abs(a).sum(axis=1).max())
    return bool(smallest > _NORM_MARGIN * max(cut * largest, float(np.linalg.norm(unsure))))


def log_scales(present: Flags, sums: Matrix) -> Matrix:
    """The least squares of least norm of `logs = rows + columns` over the entries present, from sums of logs by rows and by columns."""
    from scipy.sparse import bmat, csc_matrix, diags
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import splu

    m = len(present)
    a = csc_matrix(present.astype(float))
    counts = np.concatenate([present.sum(axis=1), present.sum(axis=0)]).astype(float)
    normal = bmat([[None, a], [a.T, None]], format="csc") + diags(counts, format="csc")
    number, part = connected_components(normal, directed=False)
    # each connected part has one free factor between rows and columns: fix one scale, and remove the mean afterwards
    held = np.unique(part, return_index=True)[1]
    free = np.setdiff1d(np.arange(len(counts)), held)
    found = np.zeros_like(sums)
    if len(free):
        found[:, free] = splu(normal[free][:, free].tocsc()).solve(np.ascontiguousarray(sums[:, free].T)).T
    signs = np.where(np.arange(len(counts)) < m, 1.0, -1.0)
    sizes = np.bincount(part, minlength=number)
    for line in found:
        line -= signs * (np.bincount(part, weights=signs * line, minlength=number) / sizes)[part]
    return found


def _eliminated(matrix: Any) -> Any:
    """The factors of a sparse matrix; None if it is singular."""
    from scipy.sparse.linalg import splu

    try:
        return splu(matrix)
    except RuntimeError:  # exactly singular
        return None
