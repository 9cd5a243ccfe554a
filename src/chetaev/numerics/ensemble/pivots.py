"""Orders of elimination for many matrices at once: `elimination.elimination_order` without a loop over the members.

Few orders come out for many matrices, since all of them have to suit the samples too; each needs machine code of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chetaev.numerics import elimination
from chetaev.numerics.elimination import Flags, PivotOrder
from chetaev.numerics.ensemble.batch import Array, Indices, Mask


def pivot_orders(
    matrices: Array, samples: Sequence[Array], rank: int | None = None, lasting: Flags | None = None
) -> dict[PivotOrder, Indices]:
    """`elimination_order(balanced([matrix, *samples])[0], rank, lasting)` for each matrix: which of them take which order.

    Matrices that agree in the pivots chosen so far stay together. A matrix without an order, or with an entry that is not finite, is left
    out.
    """
    found: dict[PivotOrder, Indices] = {}
    good = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    if not len(good):
        return found
    rows, columns = matrices.shape[1:]
    work = np.concatenate([elimination.balanced(samples)[0], elimination.balanced(list(matrices[good]))[0]])
    steady = np.zeros((rows, columns), dtype=bool) if lasting is None else lasting
    stack = [_Started(good, work, np.zeros(len(work)), steady, (), np.arange(rows), np.arange(columns))]
    while stack:
        started = stack.pop()
        if len(started.pairs) == (min(rows, columns) if rank is None else rank):
            found[PivotOrder(started.pairs)] = started.which
        else:
            stack += started.continued(len(samples))
    return dict(sorted(found.items(), key=lambda item: item[0].pairs))


@dataclass(frozen=True)
class _Started:
    """An elimination under way: matrices that agree in all pivots so far, after the samples, with what is left of them."""

    which: Indices
    work: Array
    retired: Array
    steady: Flags
    pairs: tuple[tuple[int, int], ...]
    rows: Indices
    columns: Indices

    def continued(self, samples: int) -> list[_Started]:
        """The next pivot, which may differ from matrix to matrix."""
        chosen = _best_pivots(np.abs(self.work[samples:]), np.abs(self.work[:samples]), self.steady)
        found = []
        for place in np.unique(chosen[chosen >= 0]):
            k, j = divmod(int(place), len(self.columns))
            same = np.concatenate([np.ones(samples, dtype=bool), chosen == place])
            work = self.work[same]
            sizes = np.maximum(np.abs(work[:, k]).max(axis=1), np.abs(work[:, :, j]).max(axis=1))
            retired = np.maximum(self.retired[same], sizes)
            left, steady = elimination._eliminated(work, self.steady, k, j, retired)
            pairs = (*self.pairs, (int(self.rows[k]), int(self.columns[j])))
            found.append(
                _Started(self.which[chosen == place], left, retired, steady, pairs, np.delete(self.rows, k), np.delete(self.columns, j))
            )
        return found


def _best_pivots(own: Array, common: Array, steady: Flags) -> Indices:
    """The place of the next pivot for each matrix, -1 for none: `elimination._best_pivot` for many."""
    present = (own > 0) | (common > 0).any(axis=0)
    allowed = _not_small(own) & _not_small(common).all(axis=0)
    worst = np.minimum(_share(own), _share(common).min(axis=0, initial=np.inf))
    largest = worst.max(axis=(1, 2), keepdims=True, initial=0.0)
    some = np.asarray(allowed.any(axis=(1, 2)))
    allowed = np.where(some[:, None, None], allowed, worst == largest)
    count = 2 * (present.sum(axis=2)[:, :, None] - 1) * (present.sum(axis=1)[:, None, :] - 1) + ~steady
    count = np.where(allowed, count, np.iinfo(np.int64).max).reshape(len(own), -1)
    return np.where(~some & (largest.ravel() < elimination._NOTHING), -1, count.argmin(axis=1))


def _not_small(sizes: Array) -> Mask:
    found: Mask = (sizes >= elimination._THRESHOLD * sizes.max(axis=1, keepdims=True)) & (sizes > 0)
    return found


def _share(sizes: Array) -> Array:
    found: Array = sizes / np.maximum(sizes.max(axis=(1, 2), keepdims=True), 1e-300)
    return found
