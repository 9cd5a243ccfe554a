r"""Translations of a group coordinate from either side, as displacements in its frame.

Displacements $\delta A = A\,\eta$ (for spatial velocities $\eta A$), $\eta$ constant, have constant components and change the velocity by
$\delta\xi^c = C^c_{ab}\,\xi^a \eta^b$. Those from the other side, $\delta A = \eta A$ (or $A\,\eta$), do not change the velocity; their
components are those of $A^{-1}\eta A$ (or $A\,\eta A^{-1}$). If the group leaves a form $B$ invariant, $A^{-1} = B^{-1}A^T B$; then the
momentum is conserved for every start, inside the group or not, if the Lie algebra contains all matrices that leave the form invariant:
$S^{*}\eta S$ is one of them for every matrix $S$.
"""

from __future__ import annotations

from functools import lru_cache

import sympy
from sympy import Expr, ImmutableMatrix, Matrix, S, Symbol

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.exact_numbers import combinations, spanned
from chetaev.core.groups.matrix_group import MatrixGroup

_MOST_ROWS_BY_MINORS = 4
"""Largest number of rows of a matrix whose inverse is written by minors; the determinant of five rows has 120 terms."""


@lru_cache(maxsize=64)
def from_the_other_side(group: GroupCoordinate) -> tuple[tuple[Expr, ...], ...] | None:
    """The components of the displacement E_b A, or A E_b, for every basis matrix E_b; None without a formula for the inverse."""
    if group.reduced:
        return None
    inverse = _inverse(group)
    if inverse is None:
        return None
    a = group.matrix
    first, second = (inverse, a) if group.body else (a, inverse)
    basis = [Matrix(e) for e in group.group.basis]
    read = _components(basis)
    found = []
    for e in basis:
        moved = first * e * second
        found.append(tuple(sympy.expand(sum((c * moved[cell] for cell, c in line.items()), S.Zero)) for line in read))
    return tuple(found)


@lru_cache(maxsize=64)
def for_every_start(group: GroupCoordinate) -> bool:
    r"""Whether the formula for $A^{-1}\eta A$ gives an element of the Lie algebra for every invertible matrix A, in the group or not.

    It does if the algebra consists of all matrices that leave the form invariant, or if it contains its brackets with all matrices.
    """
    kind = group.group
    if not isinstance(kind, MatrixGroup):
        return True  # its elements lie in the group
    n = kind.order
    form = _form(kind)
    if form is not None:
        whole = n * n if kind.complex else n * (n - 1) // 2 if form == form.T else n * (n + 1) // 2
        return kind.dimension == whole
    units = [ImmutableMatrix(kind.size, kind.size, lambda i, j, k=k: int(i * kind.size + j == k)) for k in range(kind.size**2)]
    if kind.complex:
        return False
    return all(parts is not None for e in kind.matrices for parts in combinations(kind.matrices, [u * e - e * u for u in units]))


def moved_entries(group: GroupCoordinate, b: int, other: bool) -> dict[Symbol, Expr]:
    """The change of the entries under a translation by basis matrix `b`, from the other side if `other`."""
    which = GroupCoordinate(group.name, group.key, group.body != other)
    return {z: e for z, e in which.fields[b].items() if z in group.chart} if not group.reduced else {}


def _components(basis: list[Matrix]) -> list[dict[int, Expr]]:
    """For each component of a combination of basis matrices, its coefficients in the entries of the matrix, indexed by rows."""
    rows = Matrix([list(e) for e in basis])
    _, pivots = rows.rref()
    inverse = rows[:, list(pivots)].inv()
    return [{pivots[k]: inverse[k, a] for k in range(len(pivots)) if inverse[k, a] != 0} for a in range(len(basis))]


def _inverse(group: GroupCoordinate) -> ImmutableMatrix | None:
    """The inverse of the matrix of entries as polynomials, up to a factor that is constant along every motion."""
    kind, a = group.group, group.matrix
    n, turn = kind.size, kind.orthogonal
    if turn:
        rotation = a[:turn, :turn].T
        if turn == n:
            return ImmutableMatrix(rotation)
        return ImmutableMatrix(
            sympy.BlockMatrix([[rotation, -rotation * a[:turn, turn:]], [sympy.zeros(1, turn), sympy.eye(1)]]).as_explicit()
        )
    form = _form(kind) if isinstance(kind, MatrixGroup) else None
    if form is not None:
        return ImmutableMatrix(form.inv() * a.T * form)
    if n > _MOST_ROWS_BY_MINORS:
        return None
    minors = Matrix(a).adjugate(method="berkowitz").applyfunc(sympy.expand)
    traceless = all(sum(e[i][i] for i in range(n)) == 0 for e in kind.basis)
    return ImmutableMatrix(minors if traceless else minors / Matrix(a).det(method="berkowitz"))


def _form(group: MatrixGroup) -> Matrix | None:
    """An invertible matrix B with $E^T B + B E = 0$ for every basis matrix E, preferably the identity; None if there is none."""
    n = group.size
    if all(e.T + e == sympy.zeros(n, n) for e in group.matrices):
        return sympy.eye(n)
    unknown = [ImmutableMatrix(n, n, lambda i, j, k=k: int(i * n + j == k)) for k in range(n * n)]
    rows = [[entry for e in group.matrices for entry in (e.T * b + b * e)] for b in unknown]
    null = Matrix(rows).T.nullspace()
    if not null or len(spanned([ImmutableMatrix(v) for v in null])) != len(null):
        return None
    for vector in (*null, sum(null[1:], null[0])):
        b = Matrix(n, n, list(vector))
        if b.det(method="berkowitz") != 0:
            return b
    return None
