r"""Linear systems of graph expressions, solved by an elimination whose pivots are chosen once.

Pivots are chosen numerically at several points of the constraint manifold at once: by Markowitz' count, among entries that are not small in
their column at any of the points. The elimination is then written out in the graph, zeros and all that cancels left out, so that solving
costs only the operations a careful hand would write. The pivots are returned too: for a square system of full rank their product is the
determinant up to sign, and a pivot that falls far below its reference tells that another order is needed.

A matrix of rank $r$, square or not, takes $r$ pivots. Unknowns without a pivot are set to zero, and the directions in which they could
move are returned as a basis of the null space; rows without a pivot leave an expression that must vanish if a solution exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.graph import minus, over, times
from chetaev.numerics.steady import Residues

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]

_THRESHOLD = 0.05
_VANISHES = 1e-13
_NOTHING = 1e-10
_PASSES = 6


@dataclass(frozen=True)
class Solved:
    """A solution of `A y = b` as graph expressions, and the pivots it divides by."""

    solution: tuple[ca.SX, ...]
    """With zero for unknowns that have no pivot."""
    pivots: tuple[ca.SX, ...]
    references: tuple[float, ...]
    """The largest size of each pivot at the points it was chosen at."""
    sign: int
    """The sign of the permutation: the determinant is `sign` times the product of the pivots."""
    null: tuple[tuple[ca.SX, ...], ...] = ()
    """For each unknown without a pivot a vector of the null space, with 1 at its place and 0 at the others'."""
    leftover: tuple[tuple[int, ca.SX], ...] = ()
    """Rows without a pivot, and what is left of their right-hand sides: a solution exists where these vanish."""


@dataclass(frozen=True)
class PivotOrder:
    """Which entry is eliminated when: pairs (row, column)."""

    pairs: tuple[tuple[int, int], ...]


def pivot_order(samples: Sequence[Matrix]) -> PivotOrder | None:
    """An order that suits all sample matrices, which are square; None if they are singular together."""
    found = elimination_order(samples)
    return found if len(found.pairs) == len(samples[0]) else None


def elimination_order(
    samples: Sequence[Matrix] | Matrix, rank: int | None = None, lasting: Flags | None = None, residues: Residues | None = None
) -> PivotOrder:
    """As many pivots as suit all sample matrices, or `rank` of them at most.

    Among entries of equal count those come first that are marked as lasting: constants, which never wear out along a motion. With
    residues, which tell what is constant after every step, constants come first whatever their count.
    """
    work = np.array(samples, dtype=float)
    _, m, n = work.shape
    steady = np.zeros((m, n), dtype=bool) if lasting is None else np.array(lasting, dtype=bool)
    rows, columns = np.arange(m), np.arange(n)
    retired = np.zeros(len(work))
    pairs: list[tuple[int, int]] = []
    left = None if residues is None else residues.copy()
    for _ in range(min(m, n) if rank is None else min(m, n, rank)):
        if left is not None:
            steady = left.flags[np.ix_(rows, columns)]
        chosen = _best_pivot(np.abs(work), steady, 1 if left is None else 2 * m * n)
        if chosen is None:
            break
        k, j = chosen
        pairs.append((int(rows[k]), int(columns[j])))
        if left is not None and left.eliminate(*pairs[-1]) is None:
            left, steady = None, np.zeros_like(steady)
        retired = np.maximum(retired, np.maximum(np.abs(work[:, k]).max(axis=1), np.abs(work[:, :, j]).max(axis=1)))
        work, steady = _eliminated(work, steady, k, j, retired)
        rows, columns = np.delete(rows, k), np.delete(columns, j)
    return PivotOrder(tuple(pairs))


def _best_pivot(sizes: Matrix, steady: Flags, weight: int = 1) -> tuple[int, int] | None:
    """The entry of least Markowitz count that is never small in its column; one that is not steady counts so many halves more."""
    present = (sizes > 0).any(axis=0)
    allowed = ((sizes >= _THRESHOLD * sizes.max(axis=1, keepdims=True)) & (sizes > 0)).all(axis=0)
    if not allowed.any():
        # no entry suits all points: the largest by its worst point, or nothing
        worst = (sizes / np.maximum(sizes.max(axis=(1, 2), keepdims=True), 1e-300)).min(axis=0)
        if worst.max(initial=0.0) < _NOTHING:
            return None
        allowed = worst == worst.max()
    count = 2 * (present.sum(axis=1)[:, None] - 1) * (present.sum(axis=0)[None, :] - 1) + weight * ~steady
    k, j = np.unravel_index(int(np.argmin(np.where(allowed, count, np.iinfo(np.int64).max))), count.shape)
    return int(k), int(j)


def _eliminated(work: Matrix, steady: Flags, k: int, j: int, retired: Matrix) -> tuple[Matrix, Flags]:
    """What is left of the matrices after a pivot, and which entries are still made of constants only."""
    scale = np.maximum(np.abs(work).max(axis=(1, 2)), retired)[:, None, None]
    others, kept = np.arange(work.shape[1]) != k, np.arange(work.shape[2]) != j
    column, row, pivot = work[:, others, j], work[:, k, kept], work[:, k, j]
    left = work[:, others][:, :, kept] - column[:, :, None] * row[:, None, :] / pivot[:, None, None]
    left[np.abs(left) < _VANISHES * scale] = 0.0
    touched = (column != 0).any(axis=0)[:, None] & (row != 0).any(axis=0)[None, :]
    constant = steady[others, j][:, None] & steady[k, kept][None, :] & steady[k, j]
    return left, steady[others][:, kept] & (constant | ~touched)


def balanced(samples: Sequence[Matrix]) -> tuple[Matrix, Matrix, Matrix]:
    """The matrices with the largest entry of every row and column near one, and the scales of rows and columns: units drop out."""
    work = np.array(samples, dtype=float)
    down, across = np.ones(work.shape[:2]), np.ones((len(work), work.shape[2]))
    for _ in range(_PASSES):
        rows, columns = (np.sqrt(np.abs(work).max(axis=axis, initial=0.0)) for axis in (2, 1))
        rows[rows == 0], columns[columns == 0] = 1.0, 1.0
        work = work / rows[:, :, None] / columns[:, None, :]
        down, across = down * rows, across * columns
    return work, down, across


def solve(
    matrix: Sequence[Sequence[ca.SX]],
    right: Sequence[ca.SX],
    order: PivotOrder,
    samples: Sequence[Matrix],
    residues: Residues | None = None,
) -> Solved:
    """The unrolled elimination in a given order. Entries that vanish at all samples are left out.

    With residues, what is steady without showing it is written without the state.
    """
    numbers, down, across = balanced(samples)
    alive = _alive(numbers)
    rows: list[dict[int, ca.SX]] = [{j: e for j, e in enumerate(line) if alive[i, j] and not e.is_zero()} for i, line in enumerate(matrix)]
    b = list(right)
    steadily = None if residues is None else residues.beside(rows)
    pivots, references = [], []
    remaining = np.ones(len(b), dtype=bool)
    for i, j in order.pairs:
        remaining[i] = False
        pivot = rows[i][j]
        pivots.append(pivot)
        references.append(float((np.abs(numbers[:, i, j]) * down[:, i] * across[:, j]).max()))
        alive = _eliminate_numbers(numbers, i, j, remaining)
        for k in map(int, np.flatnonzero(remaining)):
            if j in rows[k]:
                factor = over(rows[k].pop(j), pivot)
                _subtract(rows[k], rows[i], factor, j)
                b[k] = minus(b[k], times(factor, b[i]))
                for column in [c for c in rows[k] if not alive[k, c]]:
                    del rows[k][column]
        if steadily is not None and not steadily.follow(i, j, rows):
            steadily = None
    columns = [j for _, j in order.pairs]
    free = [j for j in range(numbers.shape[2]) if j not in columns]
    solution = _back_substituted(rows, b, order.pairs, numbers.shape[2])
    null = []
    for f in free:
        moved = [-line[f] if f in line else ca.SX(0) for line in rows]
        direction = _back_substituted([{c: e for c, e in line.items() if c != f} for line in rows], moved, order.pairs, numbers.shape[2])
        direction[f] = ca.SX(1)
        null.append(tuple(direction))
    leftover = tuple((int(k), b[k]) for k in np.flatnonzero(remaining))
    return Solved(tuple(solution), tuple(pivots), tuple(references), _permutation_sign(order.pairs), tuple(null), leftover)


def pivots_of(samples: Sequence[Matrix], order: PivotOrder) -> Matrix:
    """The sizes of the pivots of an elimination in a given order: a line per matrix, a column per pivot."""
    numbers, down, across = balanced(samples)
    remaining = np.ones(numbers.shape[1], dtype=bool)
    found = np.zeros((len(numbers), len(order.pairs)))
    for k, (i, j) in enumerate(order.pairs):
        remaining[i] = False
        found[:, k] = np.abs(numbers[:, i, j]) * down[:, i] * across[:, j]
        _eliminate_numbers(numbers, i, j, remaining)
    return found


def solve_positive(matrix: Sequence[Sequence[ca.SX]], right: Sequence[ca.SX]) -> list[ca.SX]:
    """The solution of a symmetric positive definite system, eliminated in its own order: no pivot can vanish."""
    n = len(right)
    numbers = np.eye(n) + np.ones((n, n))  # of the same kind: no entry of the elimination is zero
    return list(solve(matrix, right, PivotOrder(tuple((k, k) for k in range(n))), [numbers]).solution)


def _subtract(target: dict[int, ca.SX], source: dict[int, ca.SX], factor: ca.SX, skip: int) -> None:
    for column, e in source.items():
        if column != skip:
            product = times(factor, e)
            target[column] = minus(target[column], product) if column in target else -product


def _eliminate_numbers(numbers: Matrix, i: int, j: int, remaining: Flags) -> Flags:
    """One step on the samples, in place; the entries that do not vanish at all of them."""
    factors = numbers[:, remaining, j] / np.where(numbers[:, i, j] == 0, np.inf, numbers[:, i, j])[:, None]
    numbers[:, remaining] -= factors[:, :, None] * numbers[:, i][:, None, :]
    return _alive(numbers)


def _alive(numbers: Matrix) -> Flags:
    """Which entries do not vanish at all samples; what is round-off is cleared."""
    scale = np.abs(numbers).max(axis=(1, 2), keepdims=True, initial=0.0)
    numbers[np.abs(numbers) < _VANISHES * scale] = 0.0
    found: Flags = (numbers != 0).any(axis=0)
    return found


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
    target = [columns.index(j) for _, j in sorted(pairs)]
    sign, seen = 1, [False] * len(target)
    for start in range(len(target)):
        length, k = 0, start
        while not seen[k]:
            seen[k] = True
            k = target[k]
            length += 1
        sign = -sign if length and length % 2 == 0 else sign
    return sign
