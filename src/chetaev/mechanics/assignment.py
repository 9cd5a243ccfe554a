r"""The assignment problem: rows to columns, one to one, with the largest total weight.

Rows are added one by one. Each is assigned along a shortest augmenting path, a search of Dijkstra's kind in reduced costs
$w_{ij} = c_{ij} - u_i - v_j \ge 0$ with $w_{ij} = 0$ on the assignment: the Hungarian method in $O(m^2 n)$ operations. Weights are whole
numbers and all arithmetic is exact; of equal columns the first free one is taken, so that equal matrices give equal assignments.

R. Jonker, A. Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment problems, Computing 38 (1987) 325-340.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_FAR = np.iinfo(np.int64).max // 8
"""A distance larger than any path; `4 * _FAR` must not overflow."""


def heaviest_assignment(weights: Integers) -> tuple[Integers, Integers]:
    """Rows, in ascending order, and the columns assigned to them; as many pairs as the shorter side of `weights` has entries.

    >>> rows, columns = heaviest_assignment(np.array([[4, 1, 3], [2, 0, 5]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [0, 2])
    """
    if weights.shape[0] > weights.shape[1]:
        columns, rows = heaviest_assignment(weights.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    costs = -np.asarray(weights, dtype=np.int64)
    m, n = costs.shape
    row_prices, column_prices = np.zeros(m, dtype=np.int64), np.zeros(n, dtype=np.int64)
    owner = np.full(n, -1)
    for row in range(m):
        _augment(costs, row, row_prices, column_prices, owner)
    taken = np.flatnonzero(owner >= 0)
    order = np.argsort(owner[taken])
    return np.arange(m), taken[order]


def _augment(costs: Integers, row: int, row_prices: Integers, column_prices: Integers, owner: Integers) -> None:
    """Assign `row` along the shortest path to a free column, and update the prices so that reduced costs stay non-negative."""
    n = costs.shape[1]
    distance, before = np.full(n, _FAR), np.full(n, -1)
    done, taken = np.zeros(n, dtype=bool), owner >= 0
    i, column, length = row, -1, 0
    while True:
        offered = length + costs[i] - row_prices[i] - column_prices
        closer = ~done & (offered < distance)
        distance[closer], before[closer] = offered[closer], column
        column = int(np.argmin(np.where(done, 4 * _FAR, 2 * distance + taken)))  # among columns at equal distance a free one comes first
        length = int(distance[column])
        if not taken[column]:
            break
        done[column] = True
        i = int(owner[column])
    row_prices[row] += length
    row_prices[owner[done]] += length - distance[done]
    column_prices[done] -= length - distance[done]
    while column >= 0:
        previous = before[column]
        owner[column] = row if previous < 0 else owner[previous]
        column = int(previous)
