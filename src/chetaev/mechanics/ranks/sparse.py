"""Large sparse matrices: full rank, solutions and fits from a sparse elimination, where the answer is clear.

A singular value decomposition of n rows takes O(n^3) operations, whatever the matrix; a sparse elimination of a chain or a net of bodies
takes little more than O(n). It gives the norm of the inverse instead of a rank: where that is far from the limits, the rank is full, and a
solution of least norm is unique. Every function here returns None, or False, where that is not clear; the caller then decomposes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]
Sparse = Any
"""A matrix of SciPy that stores its entries row by row (csr)."""
Numbers = Any
"""A matrix of NumPy, or a sparse one."""

FEWEST_ROWS = 100
"""Fewest rows of a matrix that is treated as sparse: below, a decomposition takes a few milliseconds."""
_LARGEST_DENSITY = 0.1
"""Largest share of entries that are not zero."""
_NORM_MARGIN = 100.0
"""Factor by which an estimated norm has to stay within its limit. The estimate is a lower bound, in practice within a factor of three."""
_EIGENVALUE_ERROR = 0.1
"""Relative error of an estimated eigenvalue, far within `_NORM_MARGIN`."""
_SEED = 8
"""The seed of the first vector of Lanczos' method; every random vector will do, and the same one gives the same answers in every run."""
_SOLVED = 1e-12
"""Largest residual of a solution, relative to its terms."""
_DAMPING = 1e-7
"""Singular values below this part of the largest hardly count in a damped step. With a value near the root of the smallest number that
doubles distinguish from one, 1e-8, steps are round-off where rows depend on each other."""
DECOMPOSED = 300
"""Fewest rows of a sparse matrix for which an iteration takes damped steps instead of a singular value decomposition, which takes a second
for 800 rows."""
_REFINED = 3
"""Most steps of iterative refinement of a solution of a clearly regular matrix; each gains as many digits as the condition leaves."""
_ROUND_OFF = 4 * float(np.finfo(float).eps)
"""Residual of a solved row, relative to its terms, at which refinement ends. A smaller value would spend steps on round-off."""
_PASSES = 6
"""Passes of Ruiz' scaling, after which the largest entries of rows and columns are one within a few per cent."""


def is_sparse(matrix: Numbers) -> bool:
    """Tell whether a matrix is large and has few entries."""
    return is_stored_sparsely(matrix) or few(int(np.count_nonzero(matrix)), matrix.shape)


def is_stored_sparsely(matrix: Numbers) -> bool:
    """Tell whether a matrix is stored without its zeros."""
    return hasattr(matrix, "toarray")


def few(entries: int, shape: tuple[int, int]) -> bool:
    """Tell whether a matrix with so many entries is large and sparse."""
    return shape[0] >= FEWEST_ROWS and entries <= _LARGEST_DENSITY * shape[0] * shape[1]


def whole(matrix: Numbers) -> Matrix:
    """The matrix with its zeros."""
    return matrix.toarray() if is_stored_sparsely(matrix) else np.asarray(matrix)


def values_at(tape: Any, at: Mapping[Symbol, float], count: int, shape: tuple[int, int]) -> tuple[Matrix, Numbers]:
    """The first `count` values of an evaluator, and those behind them as a matrix, stored without zeros if it is large and sparse."""
    if stores_sparsely(tape, shape):
        return parted(tape, tape.computed(at), count, shape)
    values = np.array(tape(at), dtype=float)
    return values[:count], values[count:].reshape(shape)


def doubts_at(
    tape: Any, at: Mapping[Symbol, float], errors: Mapping[Symbol, float], count: int, shape: tuple[int, int]
) -> tuple[Matrix, Numbers]:
    """Bounds of the errors of `values_at`, from those of the symbols."""
    if stores_sparsely(tape, shape):
        return parted(tape, tape.computed_doubts(at, errors), count, shape)
    found = np.array(tape.doubts(at, errors), dtype=float)
    return found[:count], found[count:].reshape(shape)


def stores_sparsely(tape: Any, shape: tuple[int, int]) -> bool:
    """Tell whether the matrix in `values_at` is stored without zeros."""
    places = getattr(tape, "places", None)
    return places is not None and few(len(places), shape)


def parted(tape: Any, numbers: Matrix, count: int, shape: tuple[int, int]) -> tuple[Matrix, Sparse]:
    """Numbers that an evaluator computed, as `values_at` returns them."""
    first = int(np.searchsorted(tape.places, count))
    values = np.zeros(count)
    values[tape.places[:first]] = numbers[:first]
    return values, stored(numbers[first:], tape.places[first:] - count, shape)


def stored(numbers: Matrix, places: NDArray[np.int64], shape: tuple[int, int]) -> Sparse:
    """A sparse matrix with entries at ascending places, counted by rows; entries keep their order, and those that are zero stay."""
    from scipy.sparse import csr_matrix

    rows, columns = np.divmod(places, shape[1])
    return csr_matrix((numbers, columns, np.searchsorted(rows, np.arange(shape[0] + 1))), shape=shape)


def entries_of(matrix: Sparse) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows and columns of the entries of a sparse matrix, in the order of its data."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), np.asarray(matrix.indices, dtype=np.int64)


def same_entries(a: Sparse, b: Sparse) -> bool:
    """Tell whether two sparse matrices have entries at the same places, in the same order."""
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def same_numbers(a: Numbers, b: Numbers) -> bool:
    """Tell whether two matrices have the same numbers, and are stored in the same way."""
    if is_stored_sparsely(a) and is_stored_sparsely(b):
        return same_entries(a, b) and np.array_equal(a.data, b.data)
    return not (is_stored_sparsely(a) or is_stored_sparsely(b)) and np.array_equal(a, b)


def scaled(matrix: Numbers, down: Matrix, across: Matrix) -> Numbers:
    """The matrix with rows times `down` and columns times `across`."""
    if not is_stored_sparsely(matrix):
        return matrix * across * down[:, None]
    rows, columns = entries_of(matrix)
    found = matrix.copy()
    found.data = matrix.data * across[columns] * down[rows]
    return found


def largest_of(matrix: Numbers, axis: int) -> Matrix:
    """The largest sizes of entries of all rows (axis 1) or columns (axis 0)."""
    if not is_stored_sparsely(matrix):
        return np.asarray(np.abs(matrix).max(axis=axis, initial=0.0))
    found = np.zeros(matrix.shape[1 - axis])
    np.maximum.at(found, entries_of(matrix)[1 - axis], np.abs(matrix.data))
    return found


def numbers_in(matrix: Numbers) -> Matrix:
    """The entries: all of them, or those that are stored."""
    return np.asarray(matrix.data) if is_stored_sparsely(matrix) else matrix


def has_small_entry(matrix: Numbers, small: float) -> bool:
    """Tell whether an entry that is not zero is below the part `small` of the largest in its row or column."""
    rows, columns = largest_of(matrix, 1), largest_of(matrix, 0)
    if is_stored_sparsely(matrix):
        i, j = entries_of(matrix)
        beside = np.maximum(rows[i], columns[j])
    else:
        beside = np.maximum(rows[:, None], columns[None, :])
    sizes = np.abs(numbers_in(matrix))
    return bool(np.any((sizes > 0) & (sizes < small * beside)))


def sparse_least_norm(matrix: Numbers, right: Matrix, cut: float) -> Matrix | None:
    """The solution of least norm of rows that are clearly independent, with singular values far above `cut` times the largest; else
    None.
    """
    bordered, n = _bordered(matrix, cut), matrix.shape[1]
    if bordered is None:
        return None
    step: Matrix = bordered.solve(np.concatenate([np.zeros(n), right]))[:n]
    terms = abs(matrix) @ np.abs(step) + np.abs(right)
    solved = np.all(np.abs(matrix @ step - right) <= _SOLVED * np.maximum(terms, terms.max() * _SOLVED))
    return step if solved and np.isfinite(step).all() else None


def damped_step(matrix: Numbers, right: Matrix) -> Matrix | None:
    """The solution of least norm of rows that may depend on each other, without directions in which they hardly change; None if it is not
    finite. It is a step of an iteration and not exact.
    """
    from scipy.sparse import bmat, csc_matrix, identity

    m, n = matrix.shape
    a = csc_matrix(matrix)
    held = (_DAMPING * _norm_bound(a)) ** 2
    bordered = _eliminated(bmat([[identity(n), a.T], [a, -held * identity(m)]], format="csc"))
    step: Matrix | None = None if bordered is None else bordered.solve(np.concatenate([np.zeros(n), right]))[:n]
    return step if step is not None and np.isfinite(step).all() else None


def sparse_fit(matrix: Numbers, right: Matrix, cut: float) -> Matrix | None:
    """The least squares of `matrix @ x = right` for clearly independent columns, with singular values far above `cut` times the largest;
    else None.
    """
    bordered, (n, m) = _bordered(matrix.T, cut), matrix.shape
    if bordered is None:
        return None
    found: Matrix = bordered.solve(np.concatenate([right, np.zeros(m)]))[n:]
    left = matrix @ found - right
    terms = abs(matrix.T) @ (abs(matrix) @ np.abs(found) + np.abs(right))
    solved = np.all(np.abs(matrix.T @ left) <= _SOLVED * np.maximum(terms, terms.max(initial=0.0) * _SOLVED))
    return found if solved and np.isfinite(found).all() else None


def _bordered(matrix: Numbers, cut: float) -> Any:
    """The factors of [[1, A^T], [A, 0]]; None unless the rows of A are clearly independent."""
    from scipy.sparse import bmat, csc_matrix, identity

    m, n = matrix.shape
    a = csc_matrix(matrix)
    bordered = _eliminated(bmat([[identity(n), a.T], [a, None]], format="csc")) if m <= n else None
    if bordered is None:
        return None

    def inverse(y: Matrix) -> Matrix:
        """The inverse of A A^T."""
        found: Matrix = -bordered.solve(np.concatenate([np.zeros(n), np.ravel(y)]))[n:]
        return found

    norm = np.sqrt(_largest_eigenvalue(inverse, m))
    return bordered if 1 / norm > _NORM_MARGIN * cut * _norm_bound(a) else None


def clearly_regular(matrix: Numbers, doubts: Numbers | None, cut: float) -> bool:
    """Tell whether a square matrix clearly has full rank: its smallest singular value, in units of rows and columns, is far above `cut`
    times the largest, and above the change that the error bounds `doubts` of the entries allow.
    """
    return regular_solver(matrix, doubts, cut) is not None


def regular_solver(matrix: Numbers, doubts: Numbers | None, cut: float) -> Callable[[Matrix], Matrix] | None:
    """The function that solves `matrix @ x = right` by a sparse elimination with iterative refinement; None unless `clearly_regular`."""
    m, n = matrix.shape
    if m != n or not is_sparse(matrix) or not np.isfinite(numbers_in(matrix)).all():
        return None
    from scipy.sparse import csc_matrix, csr_matrix

    a = csr_matrix(matrix, copy=True)
    if doubts is None:
        unsure = a * 0.0
    elif is_stored_sparsely(doubts):  # with the same entries as the matrix
        unsure = csr_matrix((np.where(np.isfinite(doubts.data), doubts.data, np.abs(matrix.data)), doubts.indices, doubts.indptr), (m, n))
    else:
        unsure = csr_matrix(np.where(np.isfinite(doubts), doubts, np.abs(whole(matrix))))
    a.eliminate_zeros()
    given = a
    i, j = entries_of(a)
    logs = np.log(np.abs(a.data))
    sums = np.concatenate([np.bincount(i, logs, m), np.bincount(j, logs, n)])
    rows, columns = np.split(np.exp(-log_scales(a, sums[None])[0]), 2)
    a, unsure = scaled(a, rows, columns), scaled(unsure, rows, columns)
    for _ in range(_PASSES):
        r, c = (np.sqrt(largest_of(a, axis)) for axis in (1, 0))
        if not r.all() or not c.all():
            return None
        a, unsure = scaled(a, 1 / r, 1 / c), scaled(unsure, 1 / r, 1 / c)
        rows, columns = rows / r, columns / c
    found = _eliminated(csc_matrix(a))
    if found is None:
        return None
    norm = np.sqrt(_largest_eigenvalue(lambda y: found.solve(found.solve(y), "T"), n))
    if not 1 / norm > _NORM_MARGIN * max(cut * _norm_bound(a), _norm_bound(unsure)):
        return None
    sizes = abs(given)

    def solve(right: Matrix) -> Matrix:
        x: Matrix = columns * found.solve(rows * right)
        for _ in range(_REFINED):
            rest = right - given @ x
            if np.all(np.abs(rest) <= _ROUND_OFF * (sizes @ np.abs(x) + np.abs(right))):
                break
            x = x + columns * found.solve(rows * rest)
        return x

    return solve


def _norm_bound(matrix: Sparse) -> float:
    """A bound of the largest singular value: the root of the product of the norms by columns and by rows."""
    return float(np.sqrt(abs(matrix).sum(axis=0).max() * abs(matrix).sum(axis=1).max()))


def _largest_eigenvalue(product: Callable[[Matrix], Matrix], n: int) -> float:
    """The largest eigenvalue of a symmetric non-negative matrix, from below and to a tenth, by Lanczos' method; infinite if the method
    does not converge. From a random start an estimate below a hundredth of the true value has a probability below 1e-14 for any matrix
    (J. Kuczynski, H. Wozniakowski, SIAM J. Matrix Anal. Appl. 13 (1992) 1094).
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    start = np.random.default_rng(_SEED).standard_normal(n)
    try:
        operator = LinearOperator((n, n), matvec=product, dtype=float)
        return float(eigsh(operator, 1, v0=start, tol=_EIGENVALUE_ERROR, return_eigenvectors=False)[0])
    except ArpackError:
        return np.inf


def log_scales(present: Numbers, sums: Matrix) -> Matrix:
    """The least squares of least norm of `logs = rows + columns` over the entries present, from sums of logs by rows and by columns."""
    from scipy.sparse import bmat, csc_matrix, diags
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import splu

    m = present.shape[0]
    a = csc_matrix(present != 0, dtype=float)
    counts = np.concatenate([np.bincount(a.indices, minlength=m), np.diff(a.indptr)]).astype(float)
    normal = bmat([[None, a], [a.T, None]], format="csc") + diags(counts, format="csc")
    number, part = connected_components(normal, directed=False)
    # each connected part has one free factor between rows and columns: fix one scale, and remove the mean afterwards
    held = np.unique(part, return_index=True)[1]
    free = np.setdiff1d(np.arange(len(counts)), held)
    found = np.zeros(sums.shape)
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
