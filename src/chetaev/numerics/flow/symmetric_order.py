r"""The order in which a large symmetric matrix is eliminated by its diagonal.

The system Jacobian of masses joined by constraints is $[[M, -J^T], [J, 0]]$: symmetric, once some rows have the other sign. With the pivots
of $M$ first, those of the multipliers are the pivots of $-J M^{-1} J^T$, which has a sign wherever $M$ has one and the rows are
independent, so that no pivot vanishes at a regular state of any symmetry. Each step needs the products of one half only. The order within
both parts is that of least degree, which keeps the fill-in of chains and nets small.

D. J. Rose, A graph-theoretic study of the numerical solution of sparse positive definite systems of linear equations (1972).
"""

from __future__ import annotations

import heapq

import numpy as np

from chetaev.mechanics.ranks.sparse import Numbers, clearly_regular, few
from chetaev.mechanics.tolerances import CUT
from chetaev.numerics.flow.elimination import PivotOrder
from chetaev.numerics.graphs.residues import Residues

_MOST_CANCELLED = 1e3
"""Largest ratio of the terms of a pivot to the pivot itself at a given state: three digits lost. Larger ratios occur where light masses lie
between heavy ones; pivots off the diagonal lose fewer digits there."""


def symmetric_order(shape: tuple[int, int], residues: Residues | None) -> PivotOrder | None:
    """Return an order of pivots on the diagonal of a large sparse matrix that is symmetric in the finite field, but for signs of rows;
    None for other matrices, and where a pivot is zero at all states, as with masses of both signs.
    """
    if residues is None or not few(sum(map(len, residues.rows)), shape):
        return None
    signs = _signs(residues)
    pairs = tuple((k, k) for k in _of_least_degree(residues)) if signs is not None else ()
    return None if signs is None or residues.cost_of(pairs) is None else PivotOrder(pairs, signs)


def keeps_digits(order: PivotOrder, matrix: Numbers, doubts: Numbers) -> bool:
    """Tell whether a matrix is clearly regular at a state, and an elimination by its diagonal loses few digits in every pivot."""
    from scipy.sparse import csr_matrix, diags
    from scipy.sparse.linalg import splu

    if not clearly_regular(matrix, doubts, CUT):
        return False
    places = [i for i, _ in order.pairs]
    a = (diags(np.array(order.signs, dtype=float)) @ csr_matrix(matrix))[places][:, places].tocsc()
    try:
        found = splu(a, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        return False
    if not np.array_equal(found.perm_r, found.perm_c):
        return False
    terms = np.asarray(abs(found.L).multiply(abs(found.U).T).sum(axis=1)).ravel()
    return bool(np.all(terms <= _MOST_CANCELLED * np.abs(found.U.diagonal())))


def _signs(residues: Residues) -> tuple[int, ...] | None:
    """The signs of rows that make a matrix symmetric; None if there are none."""
    rows, prime = residues.rows, residues.prime
    if len(rows) != residues.columns:
        return None
    signs = [0] * len(rows)
    for first in range(len(rows)):
        signs[first] = signs[first] or 1
        reached = [first]
        while reached:
            i = reached.pop()
            for j, entry in rows[i].items():
                other = rows[j].get(i)
                if other is None:
                    return None
                same = entry.values == other.values
                if not same and any((a + b) % prime for a, b in zip(entry.values, other.values, strict=True)):
                    return None
                sign = signs[i] if same else -signs[i]
                if signs[j] not in (0, sign):
                    return None
                if not signs[j]:
                    signs[j] = sign
                    reached.append(j)
    return tuple(signs)


def _of_least_degree(residues: Residues) -> list[int]:
    """Rows with an entry on the diagonal, then the others; among them always one with the fewest entries left."""
    beside = [{j for j in row if j != i} for i, row in enumerate(residues.rows)]
    later = [i not in row for i, row in enumerate(residues.rows)]
    waiting = [(later[k], len(near), k) for k, near in enumerate(beside)]
    heapq.heapify(waiting)
    order: list[int] = []
    taken = [False] * len(beside)
    while waiting:
        _, degree, k = heapq.heappop(waiting)
        if taken[k] or degree != len(beside[k]):
            continue
        taken[k] = True
        order.append(k)
        near = beside[k]
        for j in near:
            beside[j] |= near
            beside[j] -= {j, k}
            heapq.heappush(waiting, (later[j], len(beside[j]), j))
    return order
