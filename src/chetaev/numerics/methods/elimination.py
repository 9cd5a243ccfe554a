"""Which components of a Newton step are eliminated before its matrix is factored, and the order of the others."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.methods.dop853.types import Integers

_SMALLEST_BAND = 12
"""Fewest unknowns whose matrix is stored as a band: fewer are solved as fast with all entries."""
_BAND_WORK = 6
"""Work of a band, in units of that of a dense matrix, from which on all entries are stored: exchanges of rows widen a band."""


@dataclass(frozen=True)
class Elimination:
    r"""How $(\gamma - J)x = r$ is solved for a Jacobian with many zeros.

    A component whose rate is a multiple of one other component *follows* it: $x_i = (r_i + cx_j)/\gamma$, as a coordinate follows its
    velocity. A component that no rate reads is *unread*, such as work. Both are found after the others, which are *kept*: their matrix is
    a band, `lower` entries wide below the diagonal and `upper` above it, in their `order`. The lists of entries are numbers of nonzeros of
    the Jacobian: those between kept components, with their `places` (rows and columns of the matrix); those `across`, by which
    kept components read followers, with the places where they reach the matrix and, in `followed`, the kept component, the follower and
    its number among the followers; and those `beside` the matrix, of the rows of components `found` last, with their
    `columns`: one for each follower, then those of unread components, which begin at `starts`.
    """

    order: Integers
    lower: int
    upper: int
    inside: Integers
    places: Integers
    across: Integers
    filled: Integers
    followed: Integers
    found: Integers
    beside: Integers
    starts: Integers
    columns: Integers

    @property
    def width(self) -> int:
        """The length of a row of the band, with room for what an exchange of rows fills."""
        return 2 * self.lower + self.upper + 1

    @property
    def entries(self) -> list[int]:
        """The nonzeros of the Jacobian in the order in which the steps have them."""
        return [int(k) for k in np.r_[self.inside, self.across, self.beside]]


def elimination_of(pattern: ca.Sparsity) -> Elimination:
    """The elimination for a Jacobian with these nonzeros."""
    n = int(pattern.size1())
    rows, columns = (np.array(which, np.int64) for which in pattern.get_triplet())
    read = np.isin(np.arange(n), columns)
    leads = _leads(n, rows, columns, read)
    follows = leads >= 0
    kept, followers = np.flatnonzero(read & ~follows), np.flatnonzero(follows)
    is_kept = read & ~follows
    inside, across = np.flatnonzero(is_kept[rows] & is_kept[columns]), np.flatnonzero(is_kept[rows] & follows[columns])
    own, last = np.flatnonzero(follows[rows]), np.flatnonzero(~read[rows])
    own, last = own[np.argsort(rows[own])], last[np.argsort(rows[last], kind="stable")]
    new = np.cumsum(is_kept) - 1
    i, j = new[rows[np.r_[inside, across]]], new[np.r_[columns[inside], leads[columns[across]]]]
    order, lower, upper = _ordered(len(kept), i, j)
    place = np.argsort(order)
    places = np.stack([place[i], place[j]])
    number = np.cumsum(follows) - 1
    return Elimination(
        order=kept[order].astype(np.int64),
        lower=lower,
        upper=upper,
        inside=inside,
        places=np.ascontiguousarray(places[:, : len(inside)]),
        across=across,
        filled=np.ascontiguousarray(places[:, len(inside) :]),
        followed=np.stack([rows[across], columns[across], number[columns[across]]]),
        found=np.r_[followers, np.flatnonzero(~read)],
        beside=np.r_[own, last],
        starts=np.asarray(len(own) + np.searchsorted(rows[last], np.r_[np.flatnonzero(~read), n]), np.int64),
        columns=columns[np.r_[own, last]],
    )


def _leads(n: int, rows: Integers, columns: Integers, read: NDArray[np.bool_]) -> Integers:
    """For each component the one that it follows, or -1; what is followed follows nothing."""
    found, followed = np.full(n, -1), np.zeros(n, bool)
    alone = np.bincount(rows, minlength=n) == 1
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        if alone[i] and read[i] and i != j and found[j] < 0 and not followed[i]:
            found[i], followed[j] = j, True
    return found


def _ordered(n: int, i: Integers, j: Integers) -> tuple[Integers, int, int]:
    """The order of Cuthill and McKee reversed, and how far entries are below and above the diagonal; all where that is less work."""
    dense = np.arange(n), max(n - 1, 0), max(n - 1, 0)
    if n < _SMALLEST_BAND:
        return dense
    from scipy.sparse import csr_matrix  # which takes a tenth of a second
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    both = csr_matrix((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])), (n, n))
    order = np.asarray(reverse_cuthill_mckee(both, True), np.int64)
    place = np.argsort(order)
    away = place[j] - place[i]
    lower, upper = max(0, -int(away.min(initial=0))), max(0, int(away.max(initial=0)))
    return dense if _BAND_WORK * lower * (lower + upper) > n * n else (order, lower, upper)
