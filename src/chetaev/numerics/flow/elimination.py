r"""Linear systems of graph expressions, solved by an elimination whose pivots are chosen once.

Which entries are zero is a formal question, answered exactly by residues in a finite field (`residues`): only what is identically zero is
left out, at every step. Which entries are good pivots is a local question, answered by numbers at several points of the constraint manifold
at once: Markowitz' count decides among entries that are not small in their column at any of the points and larger than their own *doubt*,
a bound of their error that is propagated through the elimination. The elimination is then unrolled in the graph, so that solving costs only
the necessary operations. The pivots are returned too: for a square system of full rank their product is the determinant up to sign, and a
pivot far below its reference means that another order is needed.

A matrix of rank $r$, square or not, takes $r$ pivots. Unknowns without a pivot are set to zero, and the directions in which they could
move are returned as a basis of the null space; rows without a pivot leave an expression that must vanish if a solution exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Rational

from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.graphs.arithmetic import is_nothing, minus, over, times
from chetaev.numerics.graphs.residues import Residues

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]

_THRESHOLD = 0.05
"""Smallest ratio of a pivot to the largest entry of its column at every sample; less lets round-off grow, more destroys sparsity."""
DIGITLESS = 4.0
"""Doubts: an entry of at most this size has no correct digit and cannot be a pivot."""
_LEAST_RATIO = 1e6
"""Smallest ratio of a pivot to its doubt where no entry suits all points, unless more pivots are known to exist."""
_EPSILON = float(np.finfo(float).eps)
"""The distance from 1 to the next double."""
_PASSES = 6
"""Passes of balancing, after which the largest entries of rows and columns are near one."""


@dataclass(frozen=True)
class Solved:
    """A solution of `A y = b` as graph expressions, and the pivots it divides by."""

    solution: tuple[ca.SX, ...]
    """With zero for unknowns that have no pivot."""
    pivots: tuple[ca.SX, ...]
    references: tuple[float, ...]
    """The largest size of each pivot at the points it was chosen at."""
    sizes: Matrix
    """The size of each pivot at these points: a line per point, a column per pivot."""
    sign: int
    """The sign of the permutation: the determinant is `sign` times the product of the pivots."""
    null: tuple[tuple[ca.SX, ...], ...] = ()
    """For each unknown without a pivot a vector of the null space, with 1 at its place and 0 at the others'."""
    leftover: tuple[tuple[int, ca.SX], ...] = ()
    """Rows without a pivot, and what is left of their right-hand sides: a solution exists where these vanish."""
    steps: tuple[tuple[int, int, ca.SX], ...] = ()
    """What was done with right-hand sides: from one entry, another times a factor was subtracted."""
    rows: tuple[dict[int, ca.SX], ...] = ()
    """The matrix after the elimination."""
    order: tuple[tuple[int, int], ...] = ()
    """The rows and columns of the pivots."""

    def again(self, right: Sequence[ca.SX]) -> list[ca.SX]:
        """The solution with another right-hand side, by the same factors; what `right` does not have is zero."""
        b = [*right, *[ca.SX(0)] * (len(self.rows) - len(right))]
        for k, i, factor in self.steps:
            b[k] = minus(b[k], times(factor, b[i]))
        return _back_substituted(self.rows, b, self.order, len(self.order) + len(self.null))


@dataclass(frozen=True)
class PivotOrder:
    """The order of elimination: pairs (row, column)."""

    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Samples:
    """A matrix at several points, with bounds of the errors of its entries; rows and columns are scaled to remove units."""

    numbers: Matrix
    doubts: Matrix
    down: Matrix
    """Scales of rows: a line per point."""
    across: Matrix
    """Scales of columns."""

    @classmethod
    def of(cls, matrices: Sequence[Matrix], doubts: Sequence[Matrix] | None = None) -> Samples:
        """The largest entry of every row and column is brought near one. Without doubts, entries are taken as exact."""
        work = np.array(matrices, dtype=float)
        known = np.zeros_like(work) if doubts is None else np.where(np.isfinite(doubts), doubts, np.abs(work))
        down, across = np.ones(work.shape[:2]), np.ones((len(work), work.shape[2]))
        for _ in range(_PASSES):
            rows, columns = (np.sqrt(np.abs(work).max(axis=axis, initial=0.0)) for axis in (2, 1))
            rows[rows == 0], columns[columns == 0] = 1.0, 1.0
            work = work / rows[:, :, None] / columns[:, None, :]
            down, across = down * rows, across * columns
        return cls(work, known / down[:, :, None] / across[:, None, :], down, across)


def samples_of(system: Any, points: Sequence[Any], solved: bool = False) -> Samples:
    """The system Jacobian at random points of its manifold, or with `solved` of a smaller one, at which it is defined."""
    found = [a for a in system.measured(points, solved=solved) if a is not None]
    return Samples.of([a for a, _ in found], [doubts for _, doubts in found])


@dataclass
class Elimination:
    """The numbers of a partial elimination, in place: rows and columns of former pivots are zero."""

    numbers: Matrix
    doubts: Matrix
    left: Flags
    """The rows without a pivot so far."""
    constant: Flags
    """Which entries are constant along a motion, as pivots to be preferred."""
    residues: Residues | None
    """The exact zeros. None where no residue is known; then only numerical zeros count."""

    @classmethod
    def begun(cls, samples: Samples, constant: Flags | None, residues: Residues | None) -> Elimination:
        """Nothing is eliminated yet."""
        _, m, n = samples.numbers.shape
        constant_now = np.zeros((m, n), dtype=bool) if constant is None else np.array(constant, dtype=bool)
        left = None if residues is None else residues.copy()
        found = cls(np.array(samples.numbers), np.array(samples.doubts), np.ones(m, dtype=bool), constant_now, left)
        if left is not None:
            absent = ~left.present
            found.numbers[:, absent], found.doubts[:, absent] = 0.0, 0.0
        return found

    def of_samples(self, which: Flags) -> Elimination:
        """A copy with some of the samples."""
        residues = None if self.residues is None else self.residues.copy()
        numbers, doubts = self.numbers[which], self.doubts[which]
        return replace(self, numbers=numbers, doubts=doubts, left=self.left.copy(), constant=self.constant.copy(), residues=residues)

    @property
    def present(self) -> Flags:
        """Which entries of the remaining part are not formally zero."""
        if self.residues is not None:
            return self.residues.present & self.left[:, None]
        found: Flags = (self.numbers != 0).any(axis=0)
        return found

    def eliminate(self, i: int, j: int) -> list[tuple[int, int]] | None:
        """Make one step with the pivot in row i and column j.

        Return the entries that became constant by exact cancellation; None where no residue is known.
        """
        if self.residues is None:
            column, row = (self.numbers[:, :, j] != 0).any(axis=0), (self.numbers[:, i] != 0).any(axis=0)
        else:
            column, row = self.residues.present[:, j] & self.left, self.residues.present[i].copy()
        column[i], row[j] = False, False
        others, kept = np.flatnonzero(column), np.flatnonzero(row)
        changed = None if self.residues is None else self.residues.eliminate(i, j)
        if changed is None:
            self.residues = None  # zero at one of the random states by chance: exact zeros are unknown from here on
        self._subtract(i, j, others, kept)
        for held in (self.numbers, self.doubts):
            held[:, i], held[:, :, j] = 0.0, 0.0
        self.left[i] = False
        return changed

    def _subtract(self, i: int, j: int, others: NDArray[np.int64], kept: NDArray[np.int64]) -> None:
        """Subtract multiples of row i from the rows `others`, in the columns `kept`."""
        if not len(others) or not len(kept):
            return
        work, doubts, block = self.numbers, self.doubts, np.ix_(np.arange(len(self.numbers)), others, kept)
        pivot = np.where(work[:, i, j] == 0, np.inf, work[:, i, j])[:, None, None]
        column, row = work[:, others, j][:, :, None] / pivot, work[:, i, kept][:, None, :] / pivot
        share = column * work[:, i, kept][:, None, :]  # not column*row*pivot, which overflows where the pivot is tiny
        inherited = np.abs(column) * doubts[:, i, kept][:, None, :] + np.abs(row) * doubts[:, others, j][:, :, None]
        inherited += np.abs(share) * (doubts[:, i, j][:, None, None] / np.abs(pivot))
        old = work[block]
        more = inherited + _EPSILON * (np.abs(old) + 2 * np.abs(share))
        numbers, unsure = old - share, doubts[block] + np.where(share != 0, more, 0.0)
        if self.residues is not None:
            absent = ~self.residues.present[np.ix_(others, kept)]
            numbers[:, absent], unsure[:, absent] = 0.0, 0.0
        work[block], doubts[block] = numbers, unsure
        made = self.constant[others, j][:, None] & self.constant[i, kept][None, :] & self.constant[i, j]
        self.constant[np.ix_(others, kept)] &= made

    def best_pivots(self, shared: int, prefer: bool, wanted: bool) -> NDArray[np.int64]:
        """For each sample after the `shared` ones the place, counted by rows, of its pivot that suits the shared ones too; -1 for none.

        It is the entry of least Markowitz count that is never small in its column and has digits; constant ones come first if preferred.
        Where no entry suits all samples: the one that is largest beside its doubt, by its worst sample, if a pivot is `wanted`, or if it
        has digits everywhere.
        """
        present, later = self.present, len(self.numbers) - shared
        rows, columns = _entries(present)
        if not len(rows):
            return np.full(later, -1)
        sizes, doubts = np.abs(self.numbers[:, rows, columns]), self.doubts[:, rows, columns]
        possible = np.ones(len(rows), dtype=bool) if self.residues is None else self.residues.pivotal[rows, columns]
        suits = (sizes > DIGITLESS * doubts) & (sizes > 0) & possible & (sizes >= _THRESHOLD * _largest_of_each(sizes, columns))
        allowed = suits[shared:] & suits[:shared].all(axis=0)
        none = ~allowed.any(axis=1, keepdims=True)
        if none.any():
            allowed = np.where(none, self._last_resort(shared, sizes, doubts, possible, wanted), allowed)
        constant = self.residues.constant if prefer and self.residues is not None else self.constant
        weight = 2 * present.size + 1 if prefer else 1
        count = 2 * (np.bincount(rows)[rows] - 1) * (np.bincount(columns)[columns] - 1) + weight * ~constant[rows, columns]
        places = rows * present.shape[1] + columns
        first = np.where(allowed, count * present.size + places, np.iinfo(np.int64).max).argmin(axis=1)
        return np.where(allowed.any(axis=1), places[first], -1)

    def _last_resort(self, shared: int, sizes: Matrix, doubts: Matrix, possible: Flags, wanted: bool) -> Flags:
        ratio = np.where(possible, _ratio_to_doubt(sizes, doubts), 0.0)
        worst = np.minimum(ratio[shared:], ratio[:shared].min(axis=0, initial=np.inf))
        best = worst.max(axis=1, keepdims=True, initial=0.0)
        found: Flags = (worst == best) & (best > (0.0 if wanted else _LEAST_RATIO))
        if wanted and self.residues is not None:  # numbers are exhausted, the field is not: masses and rows that differ by less than the
            found = np.where(best == 0.0, possible, found)  # last digit
        return found


def _entries(present: Flags) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows and columns of all entries, column by column. To read the flags as they are stored and to sort the few entries takes
    a quarter or less of the time of reading large matrices column by column.
    """
    rows, columns = np.divmod(np.flatnonzero(present), present.shape[1])
    order = np.argsort(columns, kind="stable")
    return rows[order], columns[order]


def _largest_of_each(sizes: Matrix, columns: NDArray[np.int64]) -> Matrix:
    """For each entry the largest one of its column; entries stand column by column, with a line per sample."""
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    found: Matrix = np.repeat(np.maximum.reduceat(sizes, starts, axis=1), np.diff(starts, append=len(columns)), axis=1)
    return found


def _ratio_to_doubt(sizes: Matrix, doubts: Matrix) -> Matrix:
    """How much larger than its error each entry is; no entry is known better than the round-off of the largest one."""
    largest = np.maximum(sizes.max(axis=1, keepdims=True, initial=0.0), ALMOST_ZERO)
    found: Matrix = sizes / np.maximum(doubts, _EPSILON * largest)
    return found


def elimination_order(
    samples: Samples, rank: int | None = None, constant: Flags | None = None, residues: Residues | None = None, prefer: bool = False
) -> PivotOrder:
    """Return as many pivots as suit all sample matrices, or at most `rank`, if this rank is known.

    Among entries of equal count, constant ones come first: they keep their size along a motion. With `prefer`, entries that are constant by
    their residues come first regardless of their count.
    """
    work, (m, n) = Elimination.begun(samples, constant, residues), samples.numbers.shape[1:]
    count = min(m, n) if rank is None else min(m, n, rank)
    ((order, _),) = _chosen(work, len(samples.numbers) - 1, count, prefer, rank is not None)
    return order


def pivot_orders(
    matrices: Matrix, samples: Samples, rank: int, constant: Flags | None = None, residues: Residues | None = None
) -> dict[PivotOrder, NDArray[np.int64]]:
    """`elimination_order` for each matrix together with the samples: which of them take which order.

    A matrix without an order, or with an entry that is not finite, is left out. Few orders come out for many matrices, since all of them
    have to suit the samples too; each order needs separate machine code.
    """
    good = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    if not len(good):
        return {}
    own = Samples.of(list(matrices[good]))
    joined = [np.concatenate([getattr(samples, name), getattr(own, name)]) for name in ("numbers", "doubts", "down", "across")]
    found = _chosen(Elimination.begun(Samples(*joined), constant, residues), len(samples.numbers), rank, False, True)
    whole = [(order, good[which]) for order, which in found if len(order.pairs) == rank]
    return dict(sorted(whole, key=lambda item: item[0].pairs))


def _chosen(work: Elimination, shared: int, count: int, prefer: bool, wanted: bool) -> list[tuple[PivotOrder, NDArray[np.int64]]]:
    """Orders of at most `count` pivots, and which of the samples after the shared ones take them: those that agree stay together."""
    found: list[tuple[PivotOrder, NDArray[np.int64]]] = []
    stack: list[tuple[Elimination, NDArray[np.int64], tuple[tuple[int, int], ...]]]
    stack = [(work, np.arange(len(work.numbers) - shared), ())]
    while stack:
        work, which, pairs = stack.pop()
        places = work.best_pivots(shared, prefer, wanted) if len(pairs) < count else np.full(len(which), -1)
        columns = work.numbers.shape[2]
        for place in set(places.tolist()):
            some = places == place
            if place < 0:
                found.append((PivotOrder(pairs), which[some]))
                continue
            part = work if some.all() else work.of_samples(np.concatenate([np.ones(shared, dtype=bool), some]))
            pair = divmod(place, columns)
            part.eliminate(*pair)
            stack.append((part, which[some], (*pairs, pair)))
    return found


def solve(
    matrix: Sequence[Sequence[ca.SX]],
    right: Sequence[ca.SX],
    order: PivotOrder,
    samples: Samples,
    residues: Residues | None = None,
    freeze: bool = False,
    written: Callable[[Expr], ca.SX] | None = None,
) -> Solved:
    """Unroll the elimination in a given order. Entries whose residues are zero at all states are left out.

    With `freeze`, entries that contain the state but do not depend on it are written without the state. `written` writes quotients of
    numbers, so that they stay exact: CasADi makes a double of 1/3, with which later differences are not zero where they should be.
    """
    rows: list[dict[int, ca.SX]] = [{j: e for j, e in enumerate(line) if not is_nothing(e)} for line in matrix]
    b, n = list(right), samples.numbers.shape[2]
    work = Elimination.begun(samples, None, residues)
    if work.residues is not None:
        work.residues.clear(rows, freeze)
    pivots, sizes = [], np.zeros((len(samples.numbers), len(order.pairs)))
    steps: list[tuple[int, int, ca.SX]] = []
    remaining = dict.fromkeys(range(len(b)))
    holding: list[set[int]] = [set() for _ in range(n)]
    for k, line in enumerate(rows):
        for c in line:
            holding[c].add(k)
    for number, (i, j) in enumerate(order.pairs):
        del remaining[i]
        pivot = rows[i][j]
        pivots.append(pivot)
        for k in sorted(holding[j]):
            if k in remaining and j in rows[k]:
                factor = _quotient(rows[k].pop(j), pivot, written)
                _subtract(rows[k], rows[i], factor, j)
                b[k] = minus(b[k], times(factor, b[i]))
                steps.append((k, i, factor))
                for c in rows[i]:
                    holding[c].add(k)
        with np.errstate(over="ignore"):
            sizes[:, number] = np.abs(work.numbers[:, i, j]) * samples.down[:, i] * samples.across[:, j]
        exact = work.residues
        changed = work.eliminate(i, j)
        if exact is not None and changed is not None:
            exact.follow(changed, rows, freeze)
    columns = {j for _, j in order.pairs}
    free = [j for j in range(n) if j not in columns]
    solution = _back_substituted(rows, b, order.pairs, n)
    null = []
    for f in free:
        moved = [-line[f] if f in line else ca.SX(0) for line in rows]
        direction = _back_substituted([{c: e for c, e in line.items() if c != f} for line in rows], moved, order.pairs, n)
        direction[f] = ca.SX(1)
        null.append(tuple(direction))
    leftover = tuple((k, b[k]) for k in remaining)
    references = tuple(float(v) or 1.0 for v in np.where(np.isfinite(sizes), sizes, 0.0).max(axis=0, initial=0.0))
    sign, by = _permutation_sign(order.pairs), (tuple(steps), tuple(rows), order.pairs)
    return Solved(tuple(solution), tuple(pivots), references, sizes, sign, tuple(null), leftover, *by)


def _quotient(a: ca.SX, b: ca.SX, written: Callable[[Expr], ca.SX] | None) -> ca.SX:
    """Return a quotient; that of two numbers as `written` writes it."""
    if written is None or not (a.is_constant() and b.is_constant()):
        return over(a, b)
    return written(Rational(float(a)) / Rational(float(b)))


def solve_positive(matrix: Sequence[Sequence[ca.SX]], right: Sequence[ca.SX]) -> list[ca.SX]:
    """The solution of a symmetric positive definite system, eliminated in its own order: no pivot can vanish."""
    n = len(right)
    return list(solve(matrix, right, PivotOrder(tuple((k, k) for k in range(n))), Samples.of([np.eye(n)])).solution)


def _subtract(target: dict[int, ca.SX], source: dict[int, ca.SX], factor: ca.SX, skip: int) -> None:
    for column, e in source.items():
        if column != skip:
            product = times(factor, e)
            target[column] = minus(target[column], product) if column in target else -product


def _back_substituted(rows: Sequence[dict[int, ca.SX]], b: Sequence[ca.SX], pairs: Sequence[tuple[int, int]], n: int) -> list[Any]:
    solution: list[Any] = [None] * n
    for i, j in reversed(pairs):
        value = b[i]
        for column, e in rows[i].items():
            if column != j and solution[column] is not None:
                value = minus(value, times(e, solution[column]))
        solution[j] = over(value, rows[i][j])
    return [ca.SX(0) if e is None else e for e in solution]


def _permutation_sign(pairs: Sequence[tuple[int, int]]) -> int:
    """The sign of the permutation of the columns that have a pivot, in the order of their rows."""
    columns = sorted(j for _, j in pairs)
    place = {j: k for k, j in enumerate(columns)}
    target = [place[j] for _, j in sorted(pairs)]
    sign, seen = 1, [False] * len(target)
    for start in range(len(target)):
        length, k = 0, start
        while not seen[k]:
            seen[k] = True
            k = target[k]
            length += 1
        sign = -sign if length and length % 2 == 0 else sign
    return sign
