r"""Displacements of states by symmetries.

The fields of symmetries are affine in the numbers of a state, $X_k(x) = A_k x + b_k$: translations, rotations, products with a group
element from either side. So $S_a = \exp(a^k X_k)$ is an affine map, the exponential of a matrix, and its derivatives are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.orbits.flow import Array, Flow
from chetaev.orbits.invariants import Invariants

_AFFINE = 1e-9
"""Largest difference of a field from its affine part at a random state, relative to the field; with a larger one it is not affine."""
_TERMS_OF_EXPONENTIAL = 16
"""Terms of the exponential series; the first omitted one is below 1e-17 for a matrix of norm 1/2."""
_INDEPENDENT = 1e-7
"""Relative to the longest vector of a symmetry: a shorter remainder after projection means that the symmetry depends on others."""


def exponential(matrix: Array) -> Array:
    """The exponential of a small matrix by scaling and squaring of its series. SciPy's `expm`
    is slow where other processes use the cores.
    """
    halvings = max(0, int(np.ceil(np.log2(max(float(np.abs(matrix).sum(axis=0).max(initial=0.0)), ALMOST_ZERO)))) + 1)
    part = matrix / 2.0**halvings
    found = term = np.eye(len(matrix))
    for k in range(1, _TERMS_OF_EXPONENTIAL):
        term = term @ part / k
        found = found + term
    for _ in range(halvings):
        found = found @ found
    return found


@dataclass(frozen=True, eq=False)
class Displacement:
    """The maps $S_a$ of some symmetries."""

    numbers: tuple[int, ...]
    """Indices of these symmetries among the fields of `Invariants`."""
    matrices: Array
    r"""For each symmetry the matrix of $\dot x = A x + b$, acting on $(x, 1)$."""

    def __len__(self) -> int:
        return len(self.numbers)

    def matrix(self, amounts: Array) -> Array:
        """The affine map $S_a$, as a matrix for states with a 1 appended."""
        return exponential(np.tensordot(amounts, self.matrices, 1))

    def moved(self, x: Array, amounts: Array) -> Array:
        """The displaced state $S_a(x)$."""
        found: Array = (self.matrix(amounts) @ np.append(x, 1.0))[:-1]
        return found

    def push(self, amounts: Array) -> Array:
        """The derivative of $S_a(x)$ with respect to $x$."""
        return self.matrix(amounts)[:-1, :-1]

    def slopes(self, x: Array, amounts: Array) -> Array:
        """The derivative of $S_a(x)$ with respect to the amounts, a column for each."""
        whole, y = np.tensordot(amounts, self.matrices, 1), np.append(x, 1.0)
        n, columns = len(y), []
        for m in self.matrices:  # the derivative is a block of the exponential of a block matrix
            both = exponential(np.block([[whole, m], [np.zeros((n, n)), whole]]))
            columns.append((both[:n, n:] @ y)[:-1])
        return np.array(columns).reshape(len(self), len(x)).T


def displacement_of(flow: Flow, invariants: Invariants, x: Array) -> Displacement:
    """The displacements by those symmetries that are affine and whose fields are independent at `x`."""
    n, vectors = len(x), invariants.vectors(flow, x)
    slopes = [(invariants.vectors(flow, x + e * s) - vectors) / s for e, s in zip(np.eye(n), flow.sizes, strict=True)]
    matrices = np.zeros((vectors.shape[1], n + 1, n + 1))
    for k in range(len(matrices)):
        matrices[k, :n, :n] = np.array([column[:, k] for column in slopes]).T
        matrices[k, :n, n] = vectors[:, k] - matrices[k, :n, :n] @ x
    tried = x + 0.1 * flow.sizes * np.random.default_rng(17).normal(size=n)
    there = invariants.vectors(flow, tried)
    affine = []
    for k, m in enumerate(matrices):
        off = np.abs((m @ np.append(tried, 1.0))[:n] - there[:, k]) / flow.sizes
        size = (np.abs(m[:n, :n]) @ np.abs(tried) + np.abs(m[:n, n])) / flow.sizes
        if float(off.max()) <= _AFFINE * max(float(size.max()), ALMOST_ZERO):
            affine.append(k)
    chosen = _independent(vectors[:, affine] / flow.sizes[:, None])
    numbers = tuple(sorted(affine[k] for k in chosen))
    return Displacement(numbers, matrices[list(numbers)] if numbers else np.zeros((0, n + 1, n + 1)))


def _independent(columns: Array) -> list[int]:
    """Indices of columns that form a basis of the span of all."""
    if not columns.shape[1]:
        return []
    lengths = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(lengths > 0, lengths, 1.0)
    _, r, order = qr(unit, mode="economic", pivoting=True)
    found = np.abs(np.diag(r)) > _INDEPENDENT
    return [int(k) for k, ok in zip(order, found, strict=False) if ok]
