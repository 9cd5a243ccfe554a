r"""Rank, null space and solutions of least norm of a matrix, from one decomposition.

Units must not matter, so rows and columns are scaled first. Two scalings are known that do not depend on units: one brings the logarithms
of all entries nearest to zero, one brings the largest entry of every row and column to one. The first is right where masses and lengths
differ by many orders; it is bent by entries that are small for another reason, such as a difference of two coordinates in a position
that is almost symmetric. Scaling changes no rank, so the scaling that shows the larger rank is believed.

Entries that have no digits are cleared before: scaling would make ones of them. They are told by their doubts (`numerics.doubts`), or, at
random points of order one, by a noise relative to the largest entry.

What the rank leaves out has a size. It is zero if it is not larger than the doubts of the entries can make it (Weyl); between that and the
cut nobody can tell with the digits at hand, and the matrix is *ill-conditioned*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chetaev.core.symbols import Jet

Matrix = NDArray[np.float64]

_NULL = 1e-7
"""Relative to the largest component of a null vector: smaller components are the error of a null space at the cut, and move nothing."""

CUT = 1e-9
"""Singular values of the scaled matrix below this part of the largest count as zero: solutions keep six digits above it."""
NOISE = 1e-11
"""At random points of order one, found by iteration, entries below this part of the largest are errors of the iteration."""
_DIGITLESS = 4.0
"""An entry whose size is at most this multiple of its error bound counts as zero. Larger values clear small entries that are right,
smaller ones let round-off become a pivot."""
_ROUND_OFF = 2 * float(np.finfo(float).eps)
"""Error of a singular value per row or column, relative to the largest: that of the decomposition itself."""
_PASSES = 2
"""Passes over rows, then columns, after which the largest entry of each is one."""
_BALANCING = 6
"""Passes of Ruiz' scaling, after which the largest entries of rows and columns are one within a few per cent."""
_FITS = 4
"""Fits of the scales to logarithms of entries; each leaves out the outliers of the one before."""
_OUTLIER = -7.0
"""Natural logarithm of a scaled entry below which the entry is left out of the fit: about a thousandth of the usual size. With a larger
value ordinary entries would drop out, with a smaller one a single tiny entry would bend all scales."""
_REFINED = 3
"""Steps of iterative refinement of a solution; it ends earlier where the residual stops shrinking."""


def rank(matrix: Matrix) -> int:
    """The rank at a random point of order one."""
    return Factored(matrix, NOISE).rank


def null_space(matrix: Matrix, noise: float = NOISE) -> Matrix:
    """A basis of the null space at a random point of order one, as columns; the unknowns are measured by their scales."""
    return Factored(matrix, noise).null


def least_norm(jacobian: Matrix, right: Matrix, noise: float = 0.0) -> tuple[Matrix, Matrix]:
    """The solution of least norm, and a basis of the null space as columns, in which the unknowns are measured by their scales."""
    found = Factored(jacobian, noise)
    return found.solved(right), found.null


@dataclass(frozen=True)
class _Decomposed:
    """The singular values and vectors of a scaled matrix."""

    rows: Matrix
    columns: Matrix
    u: Matrix
    s: Matrix
    vt: Matrix

    @classmethod
    def of(cls, rows: Matrix, scaled: Matrix, columns: Matrix) -> _Decomposed:
        return cls(rows, columns, *np.linalg.svd(scaled, full_matrices=True))

    @property
    def sizes(self) -> Matrix:
        """The singular values relative to the largest."""
        largest = float(self.s[0]) if len(self.s) else 0.0
        return self.s / largest if largest > 0 else np.zeros_like(self.s)


class Factored:
    """A matrix made ready for questions about its rank and for solutions of least norm.

    `doubts` are bounds of the errors of the entries; `noise` clears entries below that part of the largest; singular values below `cut` of
    the largest are left out. A `rank` that is known exactly, from elsewhere, is taken as it is.
    """

    def __init__(
        self, jacobian: Matrix, noise: float = 0.0, doubts: Matrix | None = None, cut: float = CUT, rank: int | None = None
    ) -> None:
        self.jacobian = np.array(jacobian, dtype=float)
        known = None if doubts is None else np.where(np.isfinite(doubts), doubts, 0.0)
        if known is not None:
            self.jacobian[np.abs(self.jacobian) <= _DIGITLESS * known] = 0.0
        self._found = _Decomposed.of(*equilibrated(self.jacobian, noise))
        self.rank = int(np.sum(self._found.sizes > cut))
        if self.rank < min(self.jacobian.shape):
            other = _Decomposed.of(*_balanced(self.jacobian, noise))
            if int(np.sum(other.sizes > cut)) > self.rank:
                self._found, self.rank = other, int(np.sum(other.sizes > cut))
        self.rank = self.rank if rank is None else rank
        self.null: Matrix = self._found.vt[self.rank :].T
        """An orthonormal basis of the null space of the scaled matrix, as columns: what it moves does not depend on units."""
        self._doubts = known

    @property
    def sizes(self) -> Matrix:
        """The singular values of the scaled matrix, relative to the largest."""
        return self._found.sizes

    @property
    def scales(self) -> tuple[Matrix, Matrix]:
        """The scales of rows and columns."""
        return self._found.rows, self._found.columns

    @property
    def kept(self) -> float:
        """The smallest singular value that the rank keeps, relative to the largest of all."""
        return float(self._found.sizes[self.rank - 1]) if self.rank else 0.0

    @property
    def dropped(self) -> float:
        """The largest singular value that the rank leaves out, relative to the largest of all; 0 if there is none."""
        return float(self._found.sizes[self.rank]) if self.rank < len(self._found.s) else 0.0

    @property
    def blur(self) -> float:
        """How large a singular value of zero may look: by the decomposition itself, and by the doubts of the entries (Weyl)."""
        found = self._found
        blur = _ROUND_OFF * max(self.jacobian.shape)
        if self._doubts is None or not len(found.s) or found.s[0] == 0:
            return blur
        return blur + _DIGITLESS * float(np.linalg.norm(self._doubts / found.rows[:, None] / found.columns) / found.s[0])

    @property
    def nullity(self) -> int:
        """The dimension of the null space: columns less rank."""
        return self.jacobian.shape[1] - self.rank

    def of_columns(self, columns: Sequence[int]) -> Factored:
        """Some columns of the matrix by themselves."""
        chosen = list(columns)
        return Factored(self.jacobian[:, chosen], doubts=None if self._doubts is None else self._doubts[:, chosen])

    @property
    def ill_conditioned(self) -> bool:
        """Whether what the rank leaves out is neither zero, up to the doubts, nor large enough to be divided by."""
        return self.dropped > self.blur

    def solved(self, right: Matrix) -> Matrix:
        """The solution of least norm."""
        rows = self._found.rows
        step = self._once(right)
        left = right - self.jacobian @ step
        for _ in range(_REFINED):  # scales may differ so much that what is small beside the rest has no digits at first
            better = step + self._once(left)
            rest = right - self.jacobian @ better
            if not np.linalg.norm(rest / rows) < np.linalg.norm(left / rows):
                break
            step, left = better, rest
        if self.null.shape[1]:  # scaling bent the metric: take the least norm in the user's variables
            null = self.null / self._found.columns[:, None]
            null /= np.linalg.norm(null, axis=0)
            step = step - null @ np.linalg.lstsq(null, step, rcond=None)[0]
        return step

    def null_in(self, units: Matrix) -> Matrix:
        """A basis of the null space, as columns, in which the unknowns are measured by given sizes.

        Scales make a large slope of a slope that almost vanishes; where the sizes of the unknowns are known these say what moves.
        """
        null = self.null / (self._found.columns * units)[:, None]
        found: Matrix = np.linalg.qr(null / np.linalg.norm(null, axis=0))[0] if null.shape[1] else null
        return found

    def _once(self, right: Matrix) -> Matrix:
        r, at = self.rank, self._found
        found: Matrix = (at.vt[:r].T @ ((at.u[:, :r].T @ (right / at.rows)) / at.s[:r])) / at.columns
        return found


def equilibrated(matrix: Matrix, noise: float = NOISE) -> tuple[Matrix, Matrix, Matrix]:
    """Row scales, scaled matrix and column scales, with `matrix = diag(rows) @ scaled @ diag(columns)`.

    At random points of order one, entries below the noise are round-off of zeros and are cleared; with a user's values a small
    entry may be a small mass, and nothing is cleared.
    """
    a = _cleared(matrix, noise)
    rows, columns = _geometric_scales(a)
    a = a / rows[:, None] / columns
    for _ in range(_PASSES):
        r = np.abs(a).max(axis=1, initial=0.0)
        r[r == 0] = 1.0
        a, rows = a / r[:, None], rows * r
        c = np.abs(a).max(axis=0, initial=0.0)
        c[c == 0] = 1.0
        a, columns = a / c, columns * c
    return rows, a, columns


def _cleared(matrix: Matrix, noise: float) -> Matrix:
    a = np.array(matrix, dtype=float)
    a[np.abs(a) < noise * np.abs(a).max(initial=0.0)] = 0.0
    return a


def _balanced(matrix: Matrix, noise: float) -> tuple[Matrix, Matrix, Matrix]:
    """The same with scales that bring the largest entry of every row and column near one (D. Ruiz)."""
    a = _cleared(matrix, noise)
    rows, columns = np.ones(a.shape[0]), np.ones(a.shape[1])
    for _ in range(_BALANCING):
        r, c = (np.sqrt(np.abs(a).max(axis=axis, initial=0.0)) for axis in (1, 0))
        r[r == 0], c[c == 0] = 1.0, 1.0
        a, rows, columns = a / r[:, None] / c, rows * r, columns * c
    return rows, a, columns


def _geometric_scales(a: Matrix) -> tuple[Matrix, Matrix]:
    """Scales that bring the logarithms of the entries nearest to zero (Curtis and Reid): units drop out.

    An entry that stays very small is left out and the rest fitted again: a small entry does no harm, bent scales do.
    """
    m, n = a.shape
    present = a != 0
    logs = np.log(np.abs(a), out=np.zeros_like(a), where=present)
    rows, columns = np.zeros(m), np.zeros(n)
    for _ in range(_FITS):
        if not present.any():
            break
        # the normal equations of logs = rows + columns: as many unknowns as rows and columns, however many entries there are
        counts = np.concatenate([present.sum(axis=1), present.sum(axis=0)])
        normal = np.diag(counts.astype(float))
        normal[:m, m:], normal[m:, :m] = present, present.T
        sums = np.where(present, logs, 0.0)
        fitted = np.linalg.lstsq(normal, np.concatenate([sums.sum(axis=1), sums.sum(axis=0)]), rcond=1e-10)[0]
        rows, columns = fitted[:m], fitted[m:]
        keep = present & (logs - rows[:, None] - columns > _OUTLIER)
        if (keep == present).all():
            break
        present = keep
    return np.exp(rows), np.exp(columns)


def open_jets(jets: Sequence[Jet], null: Matrix) -> list[Jet]:
    """Return the jets that a null space moves."""
    if not null.shape[1]:
        return []
    largest = float(np.abs(null).max())
    return [z for z, line in zip(jets, null, strict=True) if np.abs(line).max() > _NULL * largest]
