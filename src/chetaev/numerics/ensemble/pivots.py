"""Orders of elimination for many matrices at once: `elimination.elimination_order` without a loop over the members.

Many matrices have few different orders, since all orders have to suit the samples too; each order needs its own machine code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chetaev.numerics.ensemble.batch import Array, Indices, Mask
from chetaev.numerics.flow import elimination
from chetaev.numerics.flow.elimination import Elimination, Flags, PivotOrder, Samples
from chetaev.numerics.graphs.residues import Residues


def pivot_orders(
    matrices: Array, samples: Samples, rank: int | None = None, constant: Flags | None = None, residues: Residues | None = None
) -> dict[PivotOrder, Indices]:
    """Return `elimination_order` for each matrix together with the samples, for a known rank: the matrices of each order.

    Matrices that agree in the pivots chosen so far stay together. A matrix without an order, or with an entry that is not finite, is left
    out.
    """
    found: dict[PivotOrder, Indices] = {}
    good = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    if not len(good):
        return found
    rows, columns = matrices.shape[1:]
    own = Samples.of(list(matrices[good]))
    joined = [np.concatenate([getattr(samples, name), getattr(own, name)]) for name in ("numbers", "doubts", "down", "across")]
    stack = [_Started(good, Elimination.begun(Samples(*joined), constant, residues), ())]
    while stack:
        started = stack.pop()
        if len(started.pairs) == (min(rows, columns) if rank is None else rank):
            found[PivotOrder(started.pairs)] = started.which
        else:
            stack += started.continued(len(samples.numbers))
    return dict(sorted(found.items(), key=lambda item: item[0].pairs))


@dataclass(frozen=True)
class _Started:
    """A partial elimination: matrices that agree in all pivots so far, after the samples, in their eliminated form."""

    which: Indices
    work: Elimination
    pairs: tuple[tuple[int, int], ...]

    def continued(self, samples: int) -> list[_Started]:
        """The next pivot, which may differ from matrix to matrix."""
        chosen = _best_pivots(self.work, samples)
        found = []
        for place in np.unique(chosen[chosen >= 0]):
            k, j = divmod(int(place), len(self.work.columns))
            work = self.work.of_samples(np.concatenate([np.ones(samples, dtype=bool), chosen == place]))
            pair = work.eliminate(k, j)
            found.append(_Started(self.which[chosen == place], work, (*self.pairs, pair)))
        return found


def _best_pivots(work: Elimination, samples: int) -> Indices:
    """Return the index of the next pivot for each matrix, -1 for none: `Elimination.best_pivot` for many."""
    sizes, present = np.abs(work.numbers), work.present
    possible = work.possible(present)
    digits = (sizes > elimination._DIGITLESS * work.doubts) & possible & (sizes > 0)
    suits: Mask = digits & (sizes >= elimination._THRESHOLD * sizes.max(axis=1, keepdims=True))
    allowed = suits[samples:] & suits[:samples].all(axis=0)
    ratio = np.where(possible, elimination.ratio_to_doubt(sizes, work.doubts), 0.0)
    worst = np.minimum(ratio[samples:], ratio[:samples].min(axis=0, initial=np.inf))
    best = worst.max(axis=(1, 2), keepdims=True, initial=0.0)
    some = np.asarray(allowed.any(axis=(1, 2)))
    allowed = np.where(some[:, None, None], allowed, worst == best)
    count = 2 * (present.sum(axis=1)[:, None] - 1) * (present.sum(axis=0)[None, :] - 1) + ~work.constant
    count = np.where(allowed, count, np.iinfo(np.int64).max).reshape(len(allowed), -1)
    return np.where(~some & (best.ravel() == 0), -1, count.argmin(axis=1))
