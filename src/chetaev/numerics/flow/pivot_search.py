"""Matrices at several points, and the numbers of their elimination, by the entries that are not zero: the search for good pivots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.mechanics.ranks.sparse import Numbers, entries_of, is_stored_sparsely, same_entries, whole
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.graphs.residues import Residues

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

_THRESHOLD = 0.05
"""Smallest ratio of a pivot to the largest entry of its column at every sample; less lets round-off grow, more destroys sparsity."""
DIGITLESS = 4.0
"""Doubts: an entry of at most this size has no correct digit and cannot be a pivot."""
_LEAST_RATIO = 1e6
"""Smallest ratio of a pivot to its doubt where no entry suits all points, unless more pivots are known to exist."""
_EPSILON = float(np.finfo(float).eps)
"""The distance from 1 to the next double."""
_LEAST_ROOM = 64
"""Fewest entries for which room is made at once; any number gives the same results."""
_PASSES = 6
"""Passes of balancing, after which the largest entries of rows and columns are near one."""


@dataclass(frozen=True)
class Samples:
    """A matrix at several points, with bounds of the errors of its entries; rows and columns are scaled to remove units. Entries that are
    zero at all points are left out.
    """

    shape: tuple[int, int]
    rows: Indices
    """The row of each entry."""
    columns: Indices
    numbers: Matrix
    """The scaled entries: a line per point."""
    doubts: Matrix
    down: Matrix
    """Scales of rows: a line per point."""
    across: Matrix
    """Scales of columns."""

    @classmethod
    def of(cls, matrices: Sequence[Numbers], doubts: Sequence[Numbers] | None = None) -> Samples:
        """The largest entry of every row and column is brought near one. Without doubts, entries are taken as exact."""
        shape = matrices[0].shape
        places, work, known = _entries_of(matrices, doubts)
        rows, columns = np.divmod(places, max(1, shape[1]))
        down, across = np.ones((len(work), shape[0])), np.ones((len(work), shape[1]))
        for _ in range(_PASSES):
            high, wide = np.zeros_like(down), np.zeros_like(across)
            for k, sizes in enumerate(np.abs(work)):
                np.maximum.at(high[k], rows, sizes)
                np.maximum.at(wide[k], columns, sizes)
            high, wide = np.where(high > 0, np.sqrt(high), 1.0), np.where(wide > 0, np.sqrt(wide), 1.0)
            work = work / high[:, rows] / wide[:, columns]
            down, across = down * high, across * wide
        return cls(shape, rows, columns, work, known / down[:, rows] / across[:, columns], down, across)

    @property
    def sizes(self) -> Matrix:
        """The sizes of the entries in their own units: a line per point."""
        found: Matrix = np.abs(self.numbers) * self.down[:, self.rows] * self.across[:, self.columns]
        return found

    def from_place(self, first: int) -> Samples:
        """The part of a square matrix whose rows and columns begin at a place."""
        kept = (self.rows >= first) & (self.columns >= first)
        shape, rows, columns = (self.shape[0] - first, self.shape[1] - first), self.rows[kept] - first, self.columns[kept] - first
        return Samples(shape, rows, columns, self.numbers[:, kept], self.doubts[:, kept], self.down[:, first:], self.across[:, first:])

    def with_others(self, other: Samples) -> Samples:
        """The samples of both."""
        n = self.shape[1]
        places, wider = np.unique(np.concatenate([self.rows * n + self.columns, other.rows * n + other.columns])), []
        for one in (self, other):
            own = np.searchsorted(places, one.rows * n + one.columns)
            for held in (one.numbers, one.doubts):
                wider.append(np.zeros((len(held), len(places))))
                wider[-1][:, own] = held
        rows, columns = np.divmod(places, max(1, n))
        numbers, doubts = np.concatenate(wider[::2]), np.concatenate(wider[1::2])
        down, across = np.concatenate([self.down, other.down]), np.concatenate([self.across, other.across])
        return Samples(self.shape, rows, columns, numbers, doubts, down, across)


def _entries_of(matrices: Sequence[Numbers], doubts: Sequence[Numbers] | None) -> tuple[Indices, Matrix, Matrix]:
    """The places, counted by rows, of the entries of matrices that are not zero everywhere, the entries, and bounds of their errors."""
    if is_stored_sparsely(matrices[0]) and all(same_entries(a, matrices[0]) for a in matrices):  # those of one tape
        i, j = entries_of(matrices[0])
        places, work = i * matrices[0].shape[1] + j, np.array([a.data for a in matrices])
        known = np.zeros_like(work) if doubts is None else np.array([a.data for a in doubts])
    else:
        work = np.array([whole(a).ravel() for a in matrices], dtype=float)
        known = np.zeros_like(work) if doubts is None else np.array([whole(a).ravel() for a in doubts])
        places = np.flatnonzero(((work != 0) | (known != 0)).any(axis=0))
        work, known = work[:, places], known[:, places]
    return places, work, np.where(np.isfinite(known), known, np.abs(work))


def samples_of(system: Any, points: Sequence[Any], solved: bool = False) -> Samples:
    """The system Jacobian at random points of its manifold, or with `solved` of a smaller one, at which it is defined."""
    found = [a for a in system.measured(points, solved=solved) if a is not None]
    return Samples.of([a for a, _ in found], [doubts for _, doubts in found])


class Elimination:
    """The numbers of a partial elimination, in place, by the entries of those rows and columns that have no pivot so far.

    Every entry has a slot: a column of the arrays, which is used again when the entry is eliminated. So a step takes as many operations as
    it changes entries.
    """

    def __init__(self, samples: Samples, constant: Flags | None, residues: Residues | None) -> None:
        """`constant` are the entries that are constant along a motion, as pivots to be preferred, and `residues` the exact zeros. Without
        residues only numerical zeros count.
        """
        m, n = samples.shape
        self.width, self.residues = n, None if residues is None else residues.copy()
        known = {place: k for k, place in enumerate((samples.rows * n + samples.columns).tolist())}
        places = list(known) if residues is None else [i * n + j for i, row in enumerate(residues.rows) for j in row]
        taken = [known.get(place, len(known)) for place in places]
        self.numbers, self.doubts = (np.pad(held, ((0, 0), (0, 1)))[:, taken] for held in (samples.numbers, samples.doubts))
        self.places = np.array(places, dtype=np.int64)
        """The place of each slot, counted by rows; -1 for one that is free."""
        self.constant = np.zeros(len(places), dtype=bool) if constant is None else constant.ravel()[self.places]
        self.lasting, self.pivotal = np.zeros(len(places), dtype=bool), np.ones(len(places), dtype=bool)
        """Which entries are constant by their residues, and which are different from zero at all states."""
        self._suits = np.zeros(self.numbers.shape, dtype=bool)
        self.rows: list[dict[int, int]] = [{} for _ in range(m)]
        """The slots of each row by their columns, and of each column by their rows."""
        self.columns: list[dict[int, int]] = [{} for _ in range(n)]
        self._heights, self._widths = np.zeros(n, dtype=np.int64), np.zeros(m, dtype=np.int64)
        self._free: list[int] = []
        self._changed = set(range(n))
        """Columns whose entries changed since pivots were sought."""
        for slot, place in enumerate(places):
            self._put(place // n, place % n, slot)
        if self.residues is not None:
            entries = [entry for row in self.residues.rows for entry in row.values()]
            self.lasting[:], self.pivotal[:] = [entry.constant for entry in entries], [entry.pivotal for entry in entries]
        else:
            self._clear(range(len(places)))

    def of_samples(self, which: Flags) -> Elimination:
        """A copy with some of the samples."""
        found = copy(self)
        found.residues = None if self.residues is None else self.residues.copy()
        found.numbers, found.doubts, found._suits = self.numbers[which], self.doubts[which], self._suits[which]
        for name in ("places", "constant", "lasting", "pivotal", "_heights", "_widths", "_free", "_changed"):
            setattr(found, name, getattr(self, name).copy())
        found.rows, found.columns = [dict(row) for row in self.rows], [dict(column) for column in self.columns]
        return found

    def _put(self, i: int, j: int, slot: int) -> None:
        self.rows[i][j] = self.columns[j][i] = slot
        self._widths[i] += 1
        self._heights[j] += 1

    def _remove(self, i: int, j: int) -> None:
        slot = self.rows[i].pop(j)
        del self.columns[j][i]
        self._widths[i] -= 1
        self._heights[j] -= 1
        self.places[slot] = -1
        self._free.append(slot)

    def _clear(self, slots: Iterable[int]) -> None:
        """Remove entries that are zero at all samples, where no residue is known."""
        some = np.fromiter(slots, dtype=np.int64)
        for place in self.places[some[~(self.numbers[:, some] != 0).any(axis=0)]].tolist():
            self._remove(*divmod(place, self.width))

    def _new(self, i: int, j: int) -> int:
        """A slot for an entry that was zero."""
        if not self._free:
            more = max(_LEAST_ROOM, len(self.places))
            self._free = list(range(len(self.places) + more - 1, len(self.places) - 1, -1))
            for name, fill in (("numbers", 0.0), ("doubts", 0.0), ("_suits", False)):
                setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, more)), constant_values=fill))
            for name, fill in (("places", -1), ("constant", True), ("lasting", True), ("pivotal", True)):
                setattr(self, name, np.pad(getattr(self, name), (0, more), constant_values=fill))
        slot = self._free.pop()
        self.numbers[:, slot], self.doubts[:, slot] = 0.0, 0.0
        self.places[slot], self.constant[slot], self.pivotal[slot] = i * self.width + j, True, True
        self._put(i, j, slot)
        return slot

    def number(self, i: int, j: int) -> Matrix:
        """An entry at all samples."""
        slot = self.rows[i].get(j)
        return np.zeros(len(self.numbers)) if slot is None else self.numbers[:, slot]

    def eliminate(self, i: int, j: int) -> list[tuple[int, int]] | None:
        """Make one step with the pivot in row i and column j.

        Return the entries that became constant by exact cancellation; None where no residue is known.
        """
        pivot = self.rows[i].get(j)
        others, kept = {k: s for k, s in self.columns[j].items() if k != i}, {c: s for c, s in self.rows[i].items() if c != j}
        changed = None if self.residues is None else self.residues.eliminate(i, j)
        lost = changed is None and self.residues is not None
        if changed is None:
            self.residues = None  # zero at one of the random states by chance: exact zeros are unknown from here on
        if pivot is not None:
            self._subtract(pivot, others, kept)
        self._changed |= {j, *kept}
        for c in list(self.rows[i]):
            self._remove(i, c)
        for k in list(self.columns[j]):
            self._remove(k, j)
        if lost:
            self._clear([slot for row in self.rows for slot in row.values()])
            self._changed = set(range(self.width))
        return changed

    def _subtract(self, pivot: int, others: dict[int, int], kept: dict[int, int]) -> None:
        """Subtract multiples of the row of a pivot from other rows; entries whose residues are zero then are left out."""
        column, row, slots = [], [], []
        for k, first in others.items():
            line, exact = self.rows[k], None if self.residues is None else self.residues.rows[k]
            for c, above in kept.items():
                if exact is None or c in exact:
                    slot = line.get(c)
                    slots.append(self._new(k, c) if slot is None else slot)
                    column.append(first)
                    row.append(above)
                    if exact is not None:
                        self.lasting[slots[-1]], self.pivotal[slots[-1]] = exact[c].constant, exact[c].pivotal
                elif c in line:
                    self._remove(k, c)
        if not slots:
            return
        work, doubts = self.numbers, self.doubts
        by = np.where(work[:, pivot] == 0, np.inf, work[:, pivot])[:, None]
        down, across = work[:, column] / by, work[:, row] / by
        share = down * work[:, row]  # not down*across*pivot, which overflows where the pivot is tiny
        inherited = np.abs(down) * doubts[:, row] + np.abs(across) * doubts[:, column]
        inherited += np.abs(share) * (doubts[:, pivot][:, None] / np.abs(by))
        old = work[:, slots]
        more = inherited + _EPSILON * (np.abs(old) + 2 * np.abs(share))
        work[:, slots], doubts[:, slots] = old - share, doubts[:, slots] + np.where(share != 0, more, 0.0)
        self.constant[slots] &= self.constant[column] & self.constant[row] & self.constant[pivot]
        if self.residues is None:
            self._clear(slots)

    def best_pivots(self, shared: int, prefer: bool, wanted: bool) -> Indices:
        """For each sample after the `shared` ones the place, counted by rows, of its pivot that suits the shared ones too; -1 for none.

        It is the entry of least Markowitz count that is never small in its column and has digits; constant ones come first if preferred.
        Where no entry suits all samples: the one that is largest beside its doubt, by its worst sample, if a pivot is `wanted`, or if it
        has digits everywhere.
        """
        self._update_suitable()
        held = np.flatnonzero(self.places >= 0)
        if not len(held):
            return np.full(len(self.numbers) - shared, -1)
        suits = self._suits[:, held]
        allowed = suits[shared:] & suits[:shared].all(axis=0)
        none = ~allowed.any(axis=1, keepdims=True)
        if none.any():
            sizes, doubts = np.abs(self.numbers[:, held]), self.doubts[:, held]
            allowed = np.where(none, self._last_resort(shared, sizes, doubts, self._possible(held), wanted), allowed)
        constant = self.lasting if prefer and self.residues is not None else self.constant
        whole, places = len(self.rows) * self.width, self.places[held]
        rows, columns = np.divmod(places, self.width)
        weight = 2 * whole + 1 if prefer else 1
        count = 2 * (self._widths[rows] - 1) * (self._heights[columns] - 1) + weight * ~constant[held]
        first = np.where(allowed, count * whole + places, np.iinfo(np.int64).max).argmin(axis=1)
        return np.where(allowed.any(axis=1), places[first], -1)

    def _possible(self, slots: Indices) -> Flags:
        """Which entries may be pivots by their residues."""
        return np.ones(len(slots), dtype=bool) if self.residues is None else self.pivotal[slots]

    def _update_suitable(self) -> None:
        """Find out again which entries of changed columns have digits and are not small in their column."""
        changed = [(j, slot) for j in self._changed for slot in self.columns[j].values()]
        self._changed = set()
        if not changed:
            return
        columns, slots = np.array(changed).T
        sizes, doubts = np.abs(self.numbers[:, slots]), self.doubts[:, slots]
        suits = (sizes > DIGITLESS * doubts) & (sizes > 0) & self._possible(slots)
        self._suits[:, slots] = suits & (sizes >= _THRESHOLD * _largest_of_each(sizes, columns))

    def _last_resort(self, shared: int, sizes: Matrix, doubts: Matrix, possible: Flags, wanted: bool) -> Flags:
        ratio = np.where(possible, _ratio_to_doubt(sizes, doubts), 0.0)
        worst = np.minimum(ratio[shared:], ratio[:shared].min(axis=0, initial=np.inf))
        best = worst.max(axis=1, keepdims=True, initial=0.0)
        found: Flags = (worst == best) & (best > (0.0 if wanted else _LEAST_RATIO))
        if wanted and self.residues is not None:  # numbers are exhausted, the field is not: masses and rows that differ by less than the
            found = np.where(best == 0.0, possible, found)  # last digit
        return found


def _largest_of_each(sizes: Matrix, columns: Indices) -> Matrix:
    """For each entry the largest one of its column; entries of a column stand together, with a line per sample."""
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    found: Matrix = np.repeat(np.maximum.reduceat(sizes, starts, axis=1), np.diff(starts, append=len(columns)), axis=1)
    return found


def _ratio_to_doubt(sizes: Matrix, doubts: Matrix) -> Matrix:
    """How much larger than its error each entry is; no entry is known better than the round-off of the largest one."""
    largest = np.maximum(sizes.max(axis=1, keepdims=True, initial=0.0), ALMOST_ZERO)
    found: Matrix = sizes / np.maximum(doubts, _EPSILON * largest)
    return found
