r"""Rank, null space and solutions of least norm of a matrix, from one decomposition.

The result must not depend on units, so rows and columns are scaled first. Two scalings do not depend on units: one brings the logarithms
of all entries nearest to zero, one brings the largest entry of every row and column to one. The first is right where masses and lengths
differ by many orders of magnitude; entries that are small for another reason, such as a difference of two coordinates in a nearly
symmetric position, distort it. Scaling does not change the rank, so the scaling with the larger numerical rank is used.

Entries without correct digits are set to zero before scaling, which would magnify them. They are recognised by their error bounds
(`numerics.graphs.rounding_bounds`), or, at random points of order one, by a noise level relative to the largest entry.

The largest neglected singular value is zero within the error bounds of the entries if it is not larger than these allow (Weyl). Between
that bound and the cut the digits do not decide, and the matrix is *ill-conditioned*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chetaev.core.symbols import Jet
from chetaev.mechanics.ranks.sparse import FEWEST_ROWS, Numbers, clearly_regular, is_sparse, log_scales, whole
from chetaev.mechanics.tolerances import CUT, NOISE, OPEN

Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SINGULAR = 1e-7
"""Relative to the largest singular value of the scaled Jacobian: a smaller one marks a singular state, where accelerations lose seven
digits."""
_DIGITLESS = 4.0
"""An entry whose size is at most this multiple of its error bound counts as zero. Larger values clear small entries that are right,
smaller ones let round-off become a pivot."""
_DECOMPOSITION_ERROR = 2 * float(np.finfo(float).eps)
"""Error of a singular value relative to the largest, per row or column, caused by the decomposition itself. A smaller value would take
round-off for a neglected direction, a larger one would hide ill-conditioned matrices."""
_PASSES = 2
"""Passes over rows, then columns, after which the largest entry of each is one; with one pass, columns would undo the scaling of rows."""
_BALANCING = 6
"""Passes of Ruiz' scaling, after which the largest entries of rows and columns are one within a few per cent."""
_FITS = 4
"""Fits of the scales to logarithms of entries; each leaves out the outliers of the previous one."""
_OUTLIER = -7.0
"""Natural logarithm of a scaled entry below which it is left out of the fit: about a thousandth of the usual size. Larger values drop
ordinary entries; with smaller ones a single tiny entry distorts all scales."""
_REFINED = 3
"""Steps of iterative refinement of a solution; it ends earlier where the residual stops shrinking."""

_SOLVED = 4 * float(np.finfo(float).eps)
"""Largest residual of a solved row relative to the sizes of its terms. A smaller value would spend steps on round-off."""
_NORMAL_CUT = 1e-10
"""Relative: singular values of the normal equations below this are zero. The equations consist of small integers, so that other singular
values are far above."""


def rank(matrix: Numbers) -> int:
    """The rank at a random point of order one."""
    return Factored(matrix, NOISE).rank


def null_space(matrix: Matrix, noise: float = NOISE) -> Matrix:
    """A basis of the null space at a random point of order one, as columns, with unknowns in units of their scales."""
    return Factored(matrix, noise).null


def least_norm(jacobian: Matrix, right: Matrix, noise: float = 0.0) -> tuple[Matrix, Matrix]:
    """The solution of least norm, and a basis of the null space as columns, with unknowns in units of their scales."""
    found = Factored(jacobian, noise)
    return found.solved(right), found.null


class _Decomposed:
    """The singular values and vectors of scaled matrices of one shape."""

    def __init__(self, rows: Matrix, scaled: Matrix, columns: Matrix) -> None:
        self.rows, self.columns = rows, columns
        found: tuple[Matrix, Matrix, Matrix]
        found = thin_svd(scaled) if scaled.shape[1:] == (1, 1) else np.linalg.svd(scaled, full_matrices=True)
        self.u, self.s, self.vt = found

    @property
    def sizes(self) -> Matrix:
        """The singular values of each matrix relative to its largest."""
        largest = self.s[:, :1]
        return self.s / np.where(largest > 0, largest, 1.0)

    def take(self, members: Indices, other: _Decomposed, which: Flags) -> None:
        """Replace `members` by those of `other` that `which` marks."""
        for name in ("rows", "columns", "u", "s", "vt"):
            getattr(self, name)[members] = getattr(other, name)[which]


def thin_svd(matrices: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Singular values and vectors; for a single row, a frequent case, in closed form."""
    if matrices.shape[1] != 1:
        found: tuple[Matrix, Matrix, Matrix] = np.linalg.svd(matrices, full_matrices=False)
        return found
    sizes = np.sqrt(np.square(matrices).sum(axis=2))
    return np.ones((len(matrices), 1, 1)), sizes, np.where(sizes > 0, matrices[:, 0] / np.where(sizes > 0, sizes, 1.0), 1.0)[:, None, :]


def singular_values(matrices: Matrix) -> Matrix:
    """The singular values alone."""
    if 1 in matrices.shape[1:]:
        return np.sqrt(np.square(matrices).sum(axis=(1, 2)))[:, None]
    return np.asarray(np.linalg.svd(matrices, compute_uv=False), dtype=np.float64)


class FactoredStack:
    """Matrices of one shape, decomposed together, for their ranks and for solutions of least norm.

    The result for each matrix does not depend on the others. `doubts` are bounds of the errors of the entries; `noise` clears entries below
    that fraction of the largest; singular values below `cut` times the largest are left out.
    """

    def __init__(self, jacobians: Matrix, noise: float = 0.0, doubts: Matrix | None = None, cut: float = CUT) -> None:
        self.jacobians = np.array(jacobians, dtype=float)
        if doubts is not None:
            self.jacobians[np.abs(self.jacobians) <= _DIGITLESS * doubts] = 0.0
        self.found = _Decomposed(*equilibrated_stack(self.jacobians, noise))
        self.ranks = (self.found.sizes > cut).sum(axis=1)
        low = np.flatnonzero(self.ranks < min(self.jacobians.shape[1:]))
        if len(low):
            other = _Decomposed(*_balanced(self.jacobians[low], noise))
            ranks = (other.sizes > cut).sum(axis=1)
            more = ranks > self.ranks[low]
            self.found.take(low[more], other, more)
            self.ranks[low[more]] = ranks[more]

    def solved(self, right: Matrix) -> Matrix:
        """The solutions of least norm, one for each right-hand side."""
        ranks = set(self.ranks.tolist())
        if len(ranks) == 1:
            return self._refined(slice(None), ranks.pop(), right)
        steps = np.zeros((len(self.jacobians), self.jacobians.shape[2]))
        for rank in ranks:
            some = np.flatnonzero(self.ranks == rank)
            steps[some] = self._refined(some, rank, right[some])
        return steps

    def null_in(self, some: Indices | slice, rank: int, units: Matrix | float) -> Matrix:
        """Bases of the null spaces of some matrices of one rank, as columns, with unknowns in the given `units`.

        The scales would enlarge a slope that almost vanishes; known sizes of the unknowns show correctly which of them move.
        """
        null = np.swapaxes(self.found.vt[some, rank:], 1, 2) / (self.found.columns[some] * units)[:, :, None]
        found: Matrix = np.linalg.qr(null / np.linalg.norm(null, axis=1, keepdims=True))[0] if null.shape[2] else null
        return found

    def _refined(self, some: Indices | slice, rank: int, right: Matrix) -> Matrix:
        at, jacobians = self.found, self.jacobians[some]
        rows, columns, s = at.rows[some], at.columns[some], at.s[some, :rank, None]
        ut, v = np.swapaxes(at.u[some, :, :rank], 1, 2), np.swapaxes(at.vt[some, :rank], 1, 2)

        def solve(left: Matrix) -> Matrix:
            found: Matrix = (v @ ((ut @ (left / rows)[:, :, None]) / s))[:, :, 0] / columns
            return found

        step, left = np.zeros_like(columns), right
        size = np.full(len(left), np.inf)
        for _ in range(1 + _REFINED):  # if scales differ widely, the first solution has no correct digits in small components
            better = step + solve(left)
            rest = right - (jacobians @ better[:, :, None])[:, :, 0]
            now = np.sqrt(np.square(rest / rows).sum(axis=1))
            shorter = now < size
            if not shorter.any():
                break
            step, left = np.where(shorter[:, None], better, step), np.where(shorter[:, None], rest, left)
            size = np.where(shorter, now, size)
            if not size.any():
                break
        if rank == len(rows[0]):
            step = _with_all_digits(step, solve, jacobians, right)
        if rank < step.shape[1]:  # so far the norm of the scaled unknowns is least: minimise that of the unknowns themselves
            null = self.null_in(some, rank, 1.0)
            step = step - (null @ (np.swapaxes(null, 1, 2) @ step[:, :, None]))[:, :, 0]
        return step


def _with_all_digits(step: Matrix, solve: Callable[[Matrix], Matrix], jacobians: Matrix, right: Matrix) -> Matrix:
    """Refine solutions of independent rows until their residuals are round-off.

    In units of the row scales, round-off in a row of tiny scale outweighs the errors of all other rows, and refinement ends too early.
    """
    last, (left, error) = step, _residual(step, jacobians, right)
    for _ in range(1 + _REFINED):
        if (error <= _SOLVED).all():
            break
        last = last + solve(left)
        left, now = _residual(last, jacobians, right)
        better = (now < error) & (error > _SOLVED)  # members of the stack that are solved stay unchanged
        step, error = np.where(better[:, None], last, step), np.where(better, now, error)
    return step


def _residual(step: Matrix, jacobians: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
    """The residuals, and the largest of each system relative to the sum of the sizes of its terms (Oettli and Prager)."""
    rest = right - (jacobians @ step[:, :, None])[:, :, 0]
    terms = (np.abs(jacobians) @ np.abs(step)[:, :, None])[:, :, 0] + np.abs(right)
    return rest, np.divide(np.abs(rest), terms, out=np.zeros_like(rest), where=terms > 0).max(axis=1, initial=0.0)


class Factored:
    """A matrix, decomposed for its rank and for solutions of least norm: a stack of one.

    A `rank` that the caller knows exactly is used instead of the numerical one.
    """

    def __init__(
        self,
        jacobian: Numbers,
        noise: float = 0.0,
        doubts: Numbers | None = None,
        cut: float = CUT,
        rank: int | None = None,
    ) -> None:
        self._doubts = None if doubts is None else np.where(np.isfinite(spread := whole(doubts)), spread, 0.0)
        self._stack = FactoredStack(np.asarray(whole(jacobian), dtype=float)[None], noise, self._doubts, cut)
        self.jacobian, at = self._stack.jacobians[0], self._stack.found
        if rank is not None:
            self._stack.ranks[0] = rank
        self.rank = int(self._stack.ranks[0])
        self._rows, self._columns, self._s, self.sizes = at.rows[0], at.columns[0], at.s[0], at.sizes[0]
        """The scales, and the singular values of the scaled matrix, absolute and relative to the largest."""
        self.null: Matrix = at.vt[0, self.rank :].T
        """An orthonormal basis of the null space of the scaled matrix, as columns; which unknowns it moves does not depend on units."""

    @property
    def scales(self) -> tuple[Matrix, Matrix]:
        """The scales of rows and columns."""
        return self._rows, self._columns

    @property
    def kept(self) -> float:
        """The smallest singular value that the rank keeps, relative to the largest of all."""
        return float(self.sizes[self.rank - 1]) if self.rank else 0.0

    @property
    def dropped(self) -> float:
        """The largest singular value that the rank leaves out, relative to the largest of all; 0 if there is none."""
        return float(self.sizes[self.rank]) if self.rank < len(self.sizes) else 0.0

    @property
    def blur(self) -> float:
        """Bound for the computed size of a singular value that is zero: error of the decomposition plus doubts of the entries (Weyl)."""
        blur = _DECOMPOSITION_ERROR * max(self.jacobian.shape)
        if self._doubts is None or not len(self._s) or self._s[0] == 0:
            return blur
        return blur + _DIGITLESS * float(np.linalg.norm(self._doubts / self._rows[:, None] / self._columns) / self._s[0])

    @property
    def may_be_less(self) -> bool:
        """Whether the full rank rests on a singular value that the doubts of the entries do not distinguish from zero."""
        return self.rank == min(self.jacobian.shape) and self.kept <= self.blur

    @property
    def nullity(self) -> int:
        """The dimension of the null space: columns minus rank."""
        return self.jacobian.shape[1] - self.rank

    def of_columns(self, columns: Sequence[int]) -> Factored:
        """The decomposition of some columns of the matrix."""
        chosen = list(columns)
        return Factored(self.jacobian[:, chosen], doubts=None if self._doubts is None else self._doubts[:, chosen])

    @property
    def ill_conditioned(self) -> bool:
        """Whether the largest neglected singular value is neither zero within its error nor large enough to divide by."""
        return self.dropped > self.blur

    def solved(self, right: Matrix) -> Matrix:
        """The solution of least norm."""
        return self._stack.solved(np.asarray(right, dtype=float)[None])[0]

    def null_in(self, units: Matrix) -> Matrix:
        """A basis of the null space, as columns, with unknowns in the given `units`."""
        return self._stack.null_in(slice(None), self.rank, units)[0]


def equilibrated(matrix: Matrix, noise: float = NOISE) -> tuple[Matrix, Matrix, Matrix]:
    """Row scales, scaled matrix and column scales, with `matrix = diag(rows) @ scaled @ diag(columns)`.

    Entries below `noise` times the largest are set to zero: at random points of order one they are round-off. With a user's values a small
    entry may be a small mass, and `noise` is 0.
    """
    rows, scaled, columns = equilibrated_stack(np.asarray(matrix, dtype=float)[None], noise)
    return rows[0], scaled[0], columns[0]


def column_scales(rows: Indices, columns: Indices, sizes: Matrix, shape: tuple[int, int]) -> Matrix:
    """The column scales of `equilibrated` without noise, of a matrix given by its entries."""
    if shape[0] < FEWEST_ROWS:
        matrix = np.zeros(shape)
        matrix[rows, columns] = sizes
        return equilibrated(matrix, 0.0)[2]
    kept = sizes > 0
    rows, columns, logs = rows[kept], columns[kept], np.log(sizes[kept])
    down, across = _log_scales_of_entries(rows, columns, logs, shape)
    a = np.exp(logs - down[rows] - across[columns])
    found = np.exp(across)
    for _ in range(_PASSES):
        for place, count in ((rows, shape[0]), (columns, shape[1])):
            largest = np.zeros(count)
            np.maximum.at(largest, place, a)
            largest[largest == 0] = 1.0
            a = a / largest[place]
        found = found * largest
    return found


def _log_scales_of_entries(rows: Indices, columns: Indices, logs: Matrix, shape: tuple[int, int]) -> tuple[Matrix, Matrix]:
    """The logarithms of `_geometric_scales`, of a large matrix given by its entries."""
    from scipy.sparse import csr_matrix

    kept = np.ones(len(logs), dtype=bool)
    for _ in range(_FITS):
        i, j, known = rows[kept], columns[kept], logs[kept]
        sums = np.concatenate([np.bincount(i, known, shape[0]), np.bincount(j, known, shape[1])])
        down, across = np.split(log_scales(csr_matrix((np.ones(len(i)), (i, j)), shape), sums[None])[0], [shape[0]])
        keep = kept & (logs - down[rows] - across[columns] > _OUTLIER)
        if not keep.any() or (keep == kept).all():
            break
        kept = keep
    return down, across


def equilibrated_stack(matrices: Matrix, noise: float = NOISE) -> tuple[Matrix, Matrix, Matrix]:
    """As `equilibrated`, for a stack of matrices of one shape."""
    a = _cleared(matrices, noise)
    rows, columns = _geometric_scales(a)
    a = a / rows[:, :, None] / columns[:, None, :]
    for _ in range(_PASSES):
        r = np.abs(a).max(axis=2, initial=0.0)
        r[r == 0] = 1.0
        a, rows = a / r[:, :, None], rows * r
        c = np.abs(a).max(axis=1, initial=0.0)
        c[c == 0] = 1.0
        a, columns = a / c[:, None, :], columns * c
    return rows, a, columns


def _cleared(matrices: Matrix, noise: float) -> Matrix:
    if not noise:
        return matrices
    sizes = np.abs(matrices)
    return np.where(sizes < noise * sizes.max(axis=(1, 2), keepdims=True, initial=0.0), 0.0, matrices)


def _balanced(matrices: Matrix, noise: float) -> tuple[Matrix, Matrix, Matrix]:
    """As `equilibrated_stack`, with scales that bring the largest entry of every row and column near one (D. Ruiz)."""
    a = _cleared(matrices, noise)
    rows, columns = np.ones(a.shape[:2]), np.ones((len(a), a.shape[2]))
    for _ in range(_BALANCING):
        r, c = (np.sqrt(np.abs(a).max(axis=axis, initial=0.0)) for axis in (2, 1))
        r[r == 0], c[c == 0] = 1.0, 1.0
        a, rows, columns = a / r[:, :, None] / c[:, None, :], rows * r, columns * c
    return rows, a, columns


def _geometric_scales(a: Matrix) -> tuple[Matrix, Matrix]:
    """Scales that bring the logarithms of the entries nearest to zero, independently of units (Curtis and Reid).

    An entry that stays very small is left out and the rest is fitted again: a small entry is harmless, distorted scales are not.
    """
    present = a != 0
    logs = np.log(np.abs(a), out=np.zeros_like(a), where=present)
    if not present.any():
        return np.ones(a.shape[:2]), np.ones((len(a), a.shape[2]))
    rows, columns = _fitted(present, logs)
    fitting: Indices | slice = slice(None)
    for _ in range(_FITS - 1):
        here, known = present[fitting], logs[fitting]
        keep = here & (known - rows[fitting][:, :, None] - columns[fitting][:, None, :] > _OUTLIER)
        changed = (keep != here).any(axis=(1, 2)) & keep.any(axis=(1, 2))
        if not changed.any():
            break
        present[fitting] = keep
        fitting = np.arange(len(a))[fitting][changed]
        rows[fitting], columns[fitting] = _fitted(present[fitting], logs[fitting])
    return np.exp(rows), np.exp(columns)


def _fitted(present: Flags, logs: Matrix) -> tuple[Matrix, Matrix]:
    """The least squares of `logs = rows + columns` over the entries that are present, matrix by matrix."""
    m = present.shape[1]
    given = np.where(present, logs, 0.0)
    sums = np.concatenate([given.sum(axis=2), given.sum(axis=1)], axis=1)
    if len(present) == 1 or (present == present[0]).all():
        found = _scales_of(present[0], sums)
        return found[:, :m], found[:, m:]
    found = np.empty_like(sums)
    patterns: dict[bytes, list[int]] = {}
    for k, pattern in enumerate(present):
        patterns.setdefault(pattern.tobytes(), []).append(k)
    for some in patterns.values():
        found[some] = _scales_of(present[some[0]], sums[some])
    return found[:, :m], found[:, m:]


def _scales_of(present: Flags, sums: Matrix) -> Matrix:
    """Scales from sums of logarithms over the entries of one pattern."""
    if is_sparse(present):
        return log_scales(present, sums)
    found: Matrix = (_solution_of(present.tobytes(), *present.shape) @ sums[:, :, None])[:, :, 0]
    return found


@lru_cache(maxsize=512)
def _solution_of(pattern: bytes, m: int, n: int) -> Matrix:
    """The matrix that maps sums of logarithms to scales, for one pattern of entries; cached, since few patterns occur, each very often."""
    present = np.frombuffer(pattern, dtype=bool).reshape(m, n)
    # the normal equations of logs = rows + columns: their size is m + n, not the number of entries
    normal = np.diag(np.concatenate([present.sum(axis=1), present.sum(axis=0)]).astype(float))
    normal[:m, m:], normal[m:, :m] = present, present.T
    found: Matrix = np.linalg.pinv(normal, rcond=_NORMAL_CUT)
    return found


def open_jets(jets: Sequence[Jet], null: Matrix) -> list[Jet]:
    """Return the jets that a null space moves."""
    if not null.shape[1]:
        return []
    largest = float(np.abs(null).max())
    return [z for z, line in zip(jets, null, strict=True) if np.abs(line).max() > OPEN * largest]


def is_regular(matrix: Numbers, doubts: Numbers, rank: int) -> bool:
    """Tell whether a matrix clearly has the given `rank`, in units of its own rows and columns."""
    if rank == matrix.shape[1] and clearly_regular(matrix, doubts, _SINGULAR):
        return True
    found = Factored(matrix, doubts=doubts)
    return found.rank == rank and found.kept > _SINGULAR
