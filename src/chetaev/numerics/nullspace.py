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
    return Factored(matrix, noise).null


def least_norm(jacobian: Matrix, right: Matrix, noise: float = 0.0) -> tuple[Matrix, Matrix]:
    """The solution of least norm, and a basis of the null space as columns; scaling makes units irrelevant."""
    found = Factored(jacobian, noise)
    return found.solved(right), found.null


class Factored:
    """A matrix made ready for solutions of least norm."""

    def __init__(self, jacobian: Matrix, noise: float = 0.0) -> None:
        self.jacobian = jacobian
        self.null = np.zeros((0, 0))
        if jacobian.shape[1]:
            self._rows, scaled, self._columns = equilibrated(jacobian, noise)
            self._u, self._s, self._vt = np.linalg.svd(scaled, full_matrices=True)
            self._rank = int(np.sum(self._s > _CUT * self._s[0])) if len(self._s) and self._s[0] > 0 else 0
            self.null = (self._vt[self._rank :].T) / self._columns[:, None]

    def solved(self, right: Matrix) -> Matrix:
        """The solution of least norm."""
        if not self.jacobian.shape[1]:
            return np.zeros(0)
        step = self._once(right)
        left = right - self.jacobian @ step
        for _ in range(_REFINED):  # scales may differ so much that what is small beside the rest has no digits at first
            better = step + self._once(left)
            rest = right - self.jacobian @ better
            if not np.linalg.norm(rest / self._rows) < np.linalg.norm(left / self._rows):
                break
            step, left = better, rest
        if self.null.shape[1]:  # scaling bent the metric: take the least norm in the user's variables
            step = step - self.null @ np.linalg.lstsq(self.null, step, rcond=None)[0]
        return step

    def _once(self, right: Matrix) -> Matrix:
        r = self._rank
        found: Matrix = (self._vt[:r].T @ ((self._u[:, :r].T @ (right / self._rows)) / self._s[:r])) / self._columns
        return found


def open_jets(jets: Sequence[Jet], null: Matrix) -> list[Jet]:
    """The jets a null space moves."""
    if not null.shape[1]:
        return []
    largest = float(np.abs(null).max())
    return [z for z, line in zip(jets, null, strict=True) if np.abs(line).max() > _NULL * largest]
