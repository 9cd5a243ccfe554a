r"""Linear systems of graph expressions, solved by an elimination whose pivots are chosen once.

Pivots are chosen numerically at several points of the constraint manifold at once: by Markowitz' count, among entries that are not small in
their column at any of the points. The elimination is then written out in the graph, zeros and all that cancels left out, so that solving
costs only the operations a careful hand would write. The pivots are returned too: their product is the determinant up to sign, and a pivot
that falls far below its reference tells that another order is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

_THRESHOLD = 0.05
_VANISHES = 1e-13


@dataclass(frozen=True)
class Solved:
    """The solution of `A y = b` as graph expressions, and the pivots it divides by."""

    solution: tuple[ca.SX, ...]
    pivots: tuple[ca.SX, ...]
    references: tuple[float, ...]
    """The largest size of each pivot at the points it was chosen at."""
    sign: int
    """The sign of the permutation: the determinant is `sign` times the product of the pivots."""


@dataclass(frozen=True)
class PivotOrder:
    """Which entry is eliminated when: pairs (row, column)."""

    pairs: tuple[tuple[int, int], ...]


def pivot_order(samples: Sequence[Matrix]) -> PivotOrder | None:
    """An order that suits all sample matrices; None if they are singular together."""
    work = [np.array(a, dtype=float) for a in samples]
    n = work[0].shape[0]
    rows, columns = list(range(n)), list(range(n))
    pairs = []
    for _ in range(n):
        found = _best_pivot(work, rows, columns)
        if found is None:
            return None
        i, j = found
        pairs.append(found)
        rows.remove(i)
        columns.remove(j)
        for a in work:
            scale = np.abs(a).max()
            a[np.ix_(rows, columns)] -= np.outer(a[rows, j], a[i, columns]) / a[i, j]
            a[np.abs(a) < _VANISHES * scale] = 0.0
    return PivotOrder(tuple(pairs))


def _best_pivot(work: Sequence[Matrix], rows: list[int], columns: list[int]) -> tuple[int, int] | None:
    """The entry of least Markowitz count that is never small in its column."""
    active = [np.abs(a[np.ix_(rows, columns)]) for a in work]
    present = np.any([a > 0 for a in active], axis=0)
    allowed = np.all([a >= _THRESHOLD * a.max(axis=0, initial=0.0) for a in active], axis=0) & np.all([a > 0 for a in active], axis=0)
    if not allowed.any():
        # no entry suits all points: the largest by its worst point, or nothing
        worst = np.min([a / max(a.max(), 1e-300) for a in active], axis=0)
        if worst.max(initial=0.0) < 1e-10:
            return None
        allowed = worst == worst.max()
    count = (present.sum(axis=1)[:, None] - 1) * (present.sum(axis=0)[None, :] - 1)
    count = np.where(allowed, count, np.iinfo(np.int64).max)
    i, j = np.unravel_index(int(np.argmin(count)), count.shape)
    return rows[i], columns[j]


def solve(matrix: Sequence[Sequence[ca.SX]], right: Sequence[ca.SX], order: PivotOrder, samples: Sequence[Matrix]) -> Solved:
    """The unrolled elimination in a given order. Entries that vanish at all samples are left out."""
    n = len(right)
    rows: list[dict[int, ca.SX]] = [{j: e for j, e in enumerate(line) if not e.is_zero()} for line in matrix]
    numbers = [np.array(a, dtype=float) for a in samples]
    b = list(right)
    pivots, references, upper = [], [], []
    remaining = set(range(n))
    for i, j in order.pairs:
        remaining.remove(i)
        pivot = rows[i][j]
        pivots.append(pivot)
        references.append(max(abs(float(a[i, j])) for a in numbers))
        for k in [k for k in remaining if j in rows[k]]:
            factor = rows[k].pop(j) / pivot
            _subtract(rows[k], rows[i], factor, j)
            b[k] = b[k] - factor * b[i]
        _eliminate_numbers(numbers, i, j, remaining)
        for k in remaining:
            for column in [c for c in rows[k] if all(a[k, c] == 0.0 for a in numbers)]:
                del rows[k][column]
        upper.append((i, j))
    return Solved(tuple(_back_substituted(rows, b, upper, n)), tuple(pivots), tuple(references), _permutation_sign(order.pairs))


def _subtract(target: dict[int, ca.SX], source: dict[int, ca.SX], factor: ca.SX, skip: int) -> None:
    for column, e in source.items():
        if column != skip:
            product = factor * e
            target[column] = target[column] - product if column in target else -product


def _eliminate_numbers(numbers: Sequence[Matrix], i: int, j: int, remaining: set[int]) -> None:
    keep = sorted(remaining)
    for a in numbers:
        scale = np.abs(a).max()
        a[keep] -= np.outer(a[keep, j] / a[i, j], a[i])
        a[np.abs(a) < _VANISHES * scale] = 0.0


def _back_substituted(rows: Sequence[dict[int, ca.SX]], b: Sequence[ca.SX], upper: Sequence[tuple[int, int]], n: int) -> list[Any]:
    solution: list[Any] = [None] * n
    for i, j in reversed(upper):
        value = b[i]
        for column, e in rows[i].items():
            if column != j:
                value = value - e * solution[column]
        solution[j] = value / rows[i][j]
    return solution


def _permutation_sign(pairs: Sequence[tuple[int, int]]) -> int:
    target = [j for _, j in sorted(pairs)]
    sign, seen = 1, [False] * len(target)
    for start in range(len(target)):
        length, k = 0, start
        while not seen[k]:
            seen[k] = True
            k = target[k]
            length += 1
        sign = -sign if length and length % 2 == 0 else sign
    return sign
