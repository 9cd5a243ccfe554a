"""Matrices of residues: rank, null space and elimination, all exact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from chetaev.core.exact.field import Extended, Residue


@lru_cache(maxsize=4096)
def reciprocal(v: Residue, p: int) -> Residue:
    """The inverse of a non-zero element of the field; cached, since the same matrices are eliminated in several orders."""
    if isinstance(v, Extended):
        return Extended(v.a, -v.b) * pow(v.a * v.a + v.b * v.b, -1, p) % p
    return pow(v, -1, p)


def reduced(matrix: Sequence[Sequence[Residue]], p: int) -> tuple[list[list[Residue]], list[int]]:
    """The reduced row echelon form, and the columns of its pivots."""
    rows = [[v % p for v in line] for line in matrix]
    columns = len(rows[0]) if rows else 0
    pivots: list[int] = []
    for j in range(columns):
        top = len(pivots)
        found = next((i for i in range(top, len(rows)) if rows[i][j] != 0), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        factor = reciprocal(rows[top][j], p)
        rows[top] = [v * factor % p for v in rows[top]]
        for i in range(len(rows)):
            if i != top and rows[i][j] != 0:
                share = rows[i][j]
                rows[i] = [(v - share * w) % p for v, w in zip(rows[i], rows[top], strict=True)]
        pivots.append(j)
    return rows[: len(pivots)], pivots


def rank(matrix: Sequence[Sequence[Residue]], p: int) -> int:
    """The rank modulo p."""
    return len(reduced(matrix, p)[1])


def null_space(matrix: Sequence[Sequence[Residue]], columns: int, p: int) -> list[list[Residue]]:
    """A basis of the null space: one vector per column without a pivot, with 1 there."""
    rows, pivots = reduced(matrix, p)
    found = []
    for j in range(columns):
        if j not in pivots:
            vector: list[Residue] = [0] * columns
            vector[j] = 1
            for line, pivot in zip(rows, pivots, strict=True):
                vector[pivot] = -line[j] % p
            found.append(vector)
    return found


def independent_of_previous(rows: Sequence[Sequence[Residue]], p: int) -> list[bool]:
    """For each row whether it is independent of those before it."""
    basis: list[tuple[int, list[Residue]]] = []
    found = []
    for line in rows:
        left = [v % p for v in line]
        for j, vector in basis:
            if left[j] != 0:
                share = left[j]
                left = [(v - share * w) % p for v, w in zip(left, vector, strict=True)]
        pivot = next((j for j, v in enumerate(left) if v != 0), None)
        found.append(pivot is not None)
        if pivot is not None:
            factor = reciprocal(left[pivot], p)
            basis.append((pivot, [v * factor % p for v in left]))
    return found
