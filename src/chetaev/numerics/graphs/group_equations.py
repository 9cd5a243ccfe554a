r"""The equations of a group of matrices, and the step that brings a matrix back to the group.

An element $h$ of $G$ leaves invariant each bilinear form $B$ with $E_a^T B + B E_a = 0$, each form on the dual space with
$E_a B + B E_a^T = 0$, and volumes if all traces vanish:

$$ h^T B h = B, \qquad h^{-1} B h^{-T} = B, \qquad \det h = 1. $$

These functions F do not change under $h \mapsto gh$, $g \in G$. So near any element they depend on $z$ in $h = g(1 + z)$ alone, and a
constant matrix P makes of their values the components of $z$ in a complement of the Lie algebra: $PF$ are independent functions near every
element. One step of Newton's iteration is the least change of $h$, within the smallest affine space $1 + N$ that contains $G$, that removes
$PF$ to first order; least in the entries, because a matrix with entries of $10^5$ and determinant 1 is brought back by changes in their
last digits.
Where the equations do not determine the group, as for groups that are not algebraic, the steps keep what they determine.

All arithmetic is that of numbers: the functions are only used to remove errors of the size of a step's error. `group_steps` writes the
same step as a graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.mechanics.ranks.split import Split, split

Array = NDArray[np.float64]

_ZERO_SINGULAR_VALUE = 1e-11
"""Relative: a singular value below this is zero. Bases are typed by hand, so that others are far above."""
_MOST_STEPS = 8
"""Most steps onto the group; they converge quadratically from a matrix that is off by 1e-8."""
_ROUND_OFF = 4e-16
"""Relative: a residual that ends the iteration."""
_NO_PART = 1e-6
"""Largest entry of a symmetric or antisymmetric part of a unit matrix that counts as absent; others are far above, since bases are typed by
hand."""


@dataclass(frozen=True, eq=False)
class GroupEquations:
    """The invariant forms of a group, whether it keeps volumes, and the matrix P that makes independent functions of their residuals."""

    group: MatrixGroup
    forms: tuple[Array, ...]
    dual_forms: tuple[Array, ...]
    volume: bool
    combined: Array
    """P: a row for each independent function, a column for each residual."""
    directions: Array
    """An orthonormal basis of N, a matrix in each row."""
    complete: bool
    """Whether the equations, with the linear ones, determine the group near each of its elements."""

    def residuals(self, h: Array) -> Array:
        """The residuals at a matrix."""
        inverse = np.linalg.inv(h) if self.dual_forms else h
        found = [(h.T @ b @ h - b).ravel() for b in self.forms]
        found += [(inverse @ b @ inverse.T - b).ravel() for b in self.dual_forms]
        if self.volume:
            n = self.group.order
            volume = np.linalg.det(h[:n, :n] + 1j * h[n:, :n]) if self.group.complex else np.linalg.det(h)
            found.append(np.array([volume.real - 1, volume.imag] if self.group.complex else [volume - 1]))
        return np.concatenate(found) if found else np.zeros(0)

    def nearest(self, h: Array) -> Array:
        """The element of the group that the steps lead to."""
        for _ in range(_MOST_STEPS):
            f = self.combined @ self.residuals(h)
            if not len(f) or np.abs(f).max() <= _ROUND_OFF * max(1.0, float(np.abs(h).max()) ** 2):
                break
            slopes = self.combined @ np.array([self._slope(h, e.reshape(h.shape)) for e in self.directions]).T
            h = h - (np.linalg.pinv(slopes) @ f @ self.directions).reshape(h.shape)
        return h

    def _slope(self, h: Array, e: Array) -> Array:
        """The derivatives of the residuals at h in a direction."""
        inverse = np.linalg.inv(h)
        found = [(e.T @ b @ h + h.T @ b @ e).ravel() for b in self.forms]
        for b in self.dual_forms:
            part = -inverse @ e @ inverse @ b @ inverse.T
            found.append((part + part.T if np.allclose(b, b.T) else part - part.T).ravel())
        if self.volume:
            n, z = self.group.order, inverse @ e
            if self.group.complex:
                rate = np.linalg.det(h[:n, :n] + 1j * h[n:, :n]) * complex(np.trace(z[:n, :n]), np.trace(z[n:, :n]))
                found.append(np.array([rate.real, rate.imag]))
            else:
                found.append(np.array([np.linalg.det(h) * np.trace(z)]))
        return np.concatenate(found)


@lru_cache(maxsize=64)
def equations_of(group: MatrixGroup) -> GroupEquations:
    """The equations of a group, as many as are needed."""
    basis = _floats(group.matrices)
    n = group.size
    complement = _complement(_floats(group.envelope), basis)
    if not len(complement):
        return GroupEquations(group, (), (), False, np.zeros((0, 0)), np.zeros((0, n * n)), True)
    forms: list[Array] = []
    dual_forms: list[Array] = []
    volume = False
    rows = np.zeros((0, len(complement)))
    for b, dual in _candidates(basis, n):
        if _rank(rows) == len(complement):
            break
        own = [-(z @ b + b @ z.T) if dual else z.T @ b + b @ z for z in complement]
        more = np.vstack([rows, np.array([e.ravel() for e in own]).T.reshape(-1, len(complement))])
        if _rank(more) > _rank(rows):
            rows = more
            (dual_forms if dual else forms).append(b)
    if _rank(rows) < len(complement) and np.abs(_traces(basis, group)).max() < _ZERO_SINGULAR_VALUE:
        more = np.vstack([rows, _traces(complement, group).T])
        if _rank(more) > _rank(rows):
            rows, volume = more, True
    ordered = _rows(complement, forms, dual_forms, volume, group)
    rank = _rank(ordered)
    left, sizes, _ = np.linalg.svd(ordered, full_matrices=False) if rank else (ordered, np.zeros(0), ordered)
    combined = _cleaned(np.linalg.pinv(ordered) if rank == len(complement) else left[:, :rank].T / sizes[:rank, None])
    directions = _cleaned(np.linalg.qr(_floats(group.envelope).reshape(len(group.envelope), -1).T)[0].T)
    return GroupEquations(group, tuple(forms), tuple(dual_forms), volume, combined, directions, rank == len(complement))


def _candidates(basis: Array, n: int) -> Iterator[tuple[Array, bool]]:
    """Invariant forms, those nearest to the identity first, then those of the dual space."""
    eye = np.eye(n)
    for dual in (False, True):
        sides = [(e, e.T) if dual else (e.T, e) for e in basis]
        rows = np.vstack([np.kron(left, eye) + np.kron(eye, right.T) for left, right in sides])
        null = _split(rows).null.T
        if not len(null):
            continue
        first = null.T @ (null @ eye.ravel())
        listed = [first, *null] if np.abs(first).max() > _ZERO_SINGULAR_VALUE else list(null)
        for vector in listed:
            b = vector.reshape(n, n)
            for part in (b + b.T, b - b.T):
                if np.abs(part).max() > _NO_PART:
                    yield _cleaned(part / np.abs(part).max()), dual


def _rows(complement: Array, forms: Sequence[Array], dual_forms: Sequence[Array], volume: bool, group: MatrixGroup) -> Array:
    """The slopes of all residuals at the identity in the directions of the complement."""
    blocks = [np.array([(z.T @ b + b @ z).ravel() for z in complement]).T for b in forms]
    blocks += [np.array([-(z @ b + b @ z.T).ravel() for z in complement]).T for b in dual_forms]
    blocks += [_traces(complement, group).T] if volume else []
    return np.vstack([block.reshape(-1, len(complement)) for block in blocks]) if blocks else np.zeros((0, len(complement)))


def _traces(matrices: Array, group: MatrixGroup) -> Array:
    """The traces; real and imaginary parts for complex matrices."""
    if not len(matrices):
        return np.zeros((0, 2 if group.complex else 1))
    n = group.order
    if not group.complex:
        return np.array([[np.trace(e)] for e in matrices])
    return np.array([[np.trace(e[:n, :n]), np.trace(e[n:, :n])] for e in matrices])


def _complement(space: Array, part: Array) -> Array:
    """An orthonormal basis of the matrices of a space that are orthogonal to a part of it."""
    flat, own = space.reshape(len(space), -1), part.reshape(len(part), -1)
    projector = np.eye(flat.shape[1]) - np.linalg.pinv(own) @ own
    _, _, vectors = np.linalg.svd(flat @ projector, full_matrices=False)
    found = vectors[: len(space) - len(part)]
    return _cleaned(found).reshape(-1, *space.shape[1:])


def _floats(matrices: Sequence[object]) -> Array:
    return np.array([np.array(e, dtype=object).astype(float) for e in matrices])


def _cleaned(a: NDArray[Any]) -> Array:
    return np.where(np.abs(a) < _ZERO_SINGULAR_VALUE, 0.0, a)


def _split(rows: Array) -> Split:
    return split(rows, _ZERO_SINGULAR_VALUE, at_least=1.0)


def _rank(rows: Array) -> int:
    return _split(rows).rank
