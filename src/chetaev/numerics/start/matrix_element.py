r"""Elements of groups of matrices as numbers: any invertible matrix is a start, and a motion stays in its coset.

A matrix that satisfies the equations of the group up to eight digits is an element of the group and is moved onto it; any other invertible
matrix $A_0$ stands for its coset, and $T = A_0^{-1}$ is stored beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.errors import InitialError, about
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.graphs.group_equations import equations_of

Array = NDArray[np.float64]

_ON_GROUP = 1e-8
"""Residual of the equations of the group, relative to the squares of the entries: below it a matrix with eight correct digits counts as an
element of the group."""
_SINGULAR = 1e-13
"""Smallest ratio of singular values of a start; with a smaller one a product with the inverse has no correct digit."""


def read_matrix(group: GroupCoordinate, rows: Any, names: Mapping[Symbol, float], where: str) -> Array:
    """The stored numbers of a matrix that a user gives."""
    kind = group.group
    assert isinstance(kind, MatrixGroup)  # noqa: S101 - the caller has asked
    a = _real_block(kind, _numbers(rows, names, where))
    if a is None:
        raise InitialError(
            f"{group.name} is not given as a matrix of {group.word}.", where=about(where, "start", group.name), hint=kind.forms
        )
    sizes = np.linalg.svd(a, compute_uv=False)
    if not sizes[-1] > _SINGULAR * sizes[0]:
        raise InitialError(
            f"the matrix given for {group.name} is singular.",
            where=about(where, "start", group.name),
            why="A velocity is A^-1 A' or A' A^-1, so that A has an inverse.",
            hint=kind.forms,
        )
    stored = [(i, j) for i in range(kind.size) for j in range(kind.order)]
    if not kind.anchored:
        return np.array([a[c] for c in stored])
    equations = equations_of(kind)
    off = np.abs(equations.residuals(a)).max(initial=0.0) if _in_envelope(kind, a) else np.inf
    inside = off <= _ON_GROUP * max(1.0, float(np.abs(a).max()) ** 2)
    a = equations.nearest(a) if inside else a
    t = np.eye(kind.size) if inside else np.linalg.inv(a)
    return np.array([*[a[c] for c in stored], *[t[c] for c in stored]])


def in_coset(group: GroupCoordinate, places: Sequence[float]) -> list[float]:
    """Stored numbers moved onto their coset: $TA$, or $AT$, becomes an element of the group."""
    kind = group.group
    assert isinstance(kind, MatrixGroup)  # noqa: S101 - the caller has asked
    if not kind.anchored:
        return list(places)
    count = len(places) // 2
    a, t = (np.array(kind.matrix(list(part), np.cos, np.sin)) for part in (places[:count], places[count:]))
    h = equations_of(kind).nearest(t @ a if group.body else a @ t)
    moved = np.linalg.solve(t, h) if group.body else np.linalg.solve(t.T, h.T).T
    return [*[float(moved[i, j]) for i in range(kind.size) for j in range(kind.order)], *places[count:]]


def matrices_of(kind: MatrixGroup, places: Array) -> NDArray[Any]:
    """The matrices of stored numbers, one in each row: complex ones for a complex group."""
    n, size = kind.order, kind.size
    columns = np.asarray(places, dtype=float)[..., : size * n].reshape(*np.shape(places)[:-1], size, n)
    if not kind.complex:
        return columns
    found: NDArray[Any] = columns[..., :n, :] + 1j * columns[..., n:, :]
    return found


def without_complex_numbers(group: GroupCoordinate, given: Any) -> Any:
    """A start of a complex group as its real block; anything else unchanged."""
    if isinstance(given, str) or not isinstance(group.group, MatrixGroup) or not group.group.complex:
        return given
    try:
        a = np.array(given, dtype=complex)
    except (TypeError, ValueError):  # texts
        return given
    return given if a.shape != (group.group.order,) * 2 else np.block([[a.real, -a.imag], [a.imag, a.real]])


def written_matrix(kind: MatrixGroup, places: Array, digits: int = 6) -> str:
    """A matrix as rows of numbers; a complex one as its real block."""
    block = kind.matrix(list(np.asarray(places, dtype=float)), np.cos, np.sin)
    size = max(float(np.abs(block).max()), ALMOST_ZERO)
    cells = [["0" if abs(v) < 10.0 ** (-digits - 3) * size else f"{v + 0.0:.{digits}g}" for v in row] for row in block]
    return f"[{', '.join('[' + ', '.join(row) + ']' for row in cells)}]"


def _in_envelope(kind: MatrixGroup, a: Array) -> bool:
    """Whether a matrix satisfies the linear equations of the group."""
    flat = np.array([np.array(e, dtype=object).astype(float).ravel() for e in kind.envelope])
    away = (a - np.eye(kind.size)).ravel()
    rest = away - flat.T @ (np.linalg.pinv(flat.T) @ away)
    return bool(np.abs(rest).max() <= _ON_GROUP * max(1.0, float(np.abs(a).max())))


def _real_block(kind: MatrixGroup, a: NDArray[Any] | None) -> Array | None:
    """The stored form of a matrix; None if it has another shape, or is complex where the group is real."""
    if a is None or not np.isfinite(a).all():
        return None
    n = kind.order
    if a.shape == (n, n) and kind.complex:
        return np.block([[a.real, -a.imag], [a.imag, a.real]]).astype(float)
    if a.shape != (kind.size, kind.size) or np.abs(np.imag(a)).max(initial=0.0) > 0:
        return None
    real: Array = np.real(a).astype(float)
    if kind.complex and np.abs(real - _symmetrised(real, n)).max() > _ON_GROUP * np.abs(real).max():
        return None
    return _symmetrised(real, n) if kind.complex else real


def _symmetrised(a: Array, n: int) -> Array:
    """The nearest real block of a complex matrix."""
    x, y = (a[:n, :n] + a[n:, n:]) / 2, (a[n:, :n] - a[:n, n:]) / 2
    return np.block([[x, -y], [y, x]])


def _numbers(rows: Any, names: Mapping[Symbol, float], where: str) -> NDArray[Any] | None:
    """An array of real or complex numbers; None if it is not a matrix."""
    if isinstance(rows, np.ndarray):
        rows = rows.tolist()
    if not isinstance(rows, list | tuple) or not all(isinstance(row, list | tuple) and len(row) == len(rows) for row in rows):
        return None
    return np.array([[_number(v, names, where) for v in row] for row in rows])


def _number(v: Any, names: Mapping[Symbol, float], where: str) -> complex | float:
    if isinstance(v, complex | np.complexfloating) and not isinstance(v, float):
        return complex(v)
    return number(v, names, where, InitialError)
