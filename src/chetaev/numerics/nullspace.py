"""Null spaces and solutions of least norm, whatever the units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chetaev.analysis.ranks import Matrix, equilibrated
from chetaev.symbols import Jet

_CUT = 1e-9
_NULL = 1e-7
_REFINED = 3


def null_space(matrix: Matrix, noise: float = 1e-11) -> Matrix:
    """A basis of the null space at a random point of order one, as columns."""
    return least_norm(matrix, np.zeros(matrix.shape[0]), noise)[1]


def least_norm(jacobian: Matrix, right: Matrix, noise: float = 0.0) -> tuple[Matrix, Matrix]:
    """The solution of least norm, and a basis of the null space as columns; scaling makes units irrelevant."""
    if jacobian.shape[1] == 0:
        return np.zeros(0), np.zeros((0, 0))
    rows, scaled, columns = equilibrated(jacobian, noise)
    u, s, vt = np.linalg.svd(scaled, full_matrices=True)
    r = int(np.sum(s > _CUT * s[0])) if len(s) and s[0] > 0 else 0
    null: Matrix = (vt[r:].T) / columns[:, None]

    def solved(b: Matrix) -> Matrix:
        found: Matrix = (vt[:r].T @ ((u[:, :r].T @ (b / rows)) / s[:r])) / columns
        return found

    step = solved(right)
    left = right - jacobian @ step
    for _ in range(_REFINED):  # scales may differ so much that what is small beside the rest has no digits at first
        better = step + solved(left)
        rest = right - jacobian @ better
        if not np.linalg.norm(rest / rows) < np.linalg.norm(left / rows):
            break
        step, left = better, rest
    if null.shape[1]:  # scaling bent the metric: take the least norm in the user's variables
        step = step - null @ np.linalg.lstsq(null, step, rcond=None)[0]
    return step, null


def open_jets(jets: Sequence[Jet], null: Matrix) -> list[Jet]:
    """The jets a null space moves."""
    if not null.shape[1]:
        return []
    largest = float(np.abs(null).max())
    return [z for z, line in zip(jets, null, strict=True) if np.abs(line).max() > _NULL * largest]
