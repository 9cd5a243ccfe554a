r"""The step that brings a matrix back to its group, as a graph of the stored numbers: `group_equations` has its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.numerics.graphs.group_equations import GroupEquations, equations_of


def projected_places(coordinate: GroupCoordinate, places: Sequence[ca.SX]) -> list[ca.SX]:
    """The stored numbers of an element after one step onto its coset; unchanged numbers of other groups and of groups without equations."""
    group = coordinate.group
    if coordinate.reduced or not isinstance(group, MatrixGroup) or not group.anchored:
        return list(places)
    found = equations_of(group)
    if not found.combined.size:
        return list(places)
    count = len(places) // 2
    a, t = (_filled(group, part) for part in (places[:count], places[count:]))
    if coordinate.body:
        moved = a + ca.solve(t, _change(found, t @ a))
    else:
        moved = a + ca.solve(t.T, _change(found, a @ t).T).T
    cells = [(i, j) for i in range(group.size) for j in range(group.order)]
    return [*[moved[i, j] for i, j in cells], *places[count:]]


def _change(found: GroupEquations, h: ca.SX) -> ca.SX:
    """The least change of an element h that satisfies the equations of the group to first order."""
    n = found.group.size
    e = ca.SX.sym("h", n, n)
    functions = ca.DM(found.combined) @ _residuals(found, e)
    slopes = ca.jacobian(functions, ca.vec(e.T)) @ ca.DM(found.directions.T)
    shares = _solved(slopes @ slopes.T, functions)
    moved = -ca.DM(found.directions.T) @ (slopes.T @ shares)
    change = ca.Function("change", [e], [ca.densify(ca.reshape(moved, n, n).T)])
    return change(h)


def _solved(normal: ca.SX, right: ca.SX) -> ca.SX:
    """The solution of equations with a positive definite matrix, by Cholesky's factors without roots."""
    k = normal.size1()
    a = [[normal[i, j] for j in range(k)] for i in range(k)]
    x = [right[i] for i in range(k)]
    for i in range(k):
        for j in range(i + 1, k):
            factor = a[j][i] / a[i][i]
            for m in range(i, k):
                a[j][m] = a[j][m] - factor * a[i][m]
            x[j] = x[j] - factor * x[i]
    for i in reversed(range(k)):
        for m in range(i + 1, k):
            x[i] = x[i] - a[i][m] * x[m]
        x[i] = x[i] / a[i][i]
    return ca.vertcat(*x)


def _filled(group: MatrixGroup, stored: Sequence[ca.SX]) -> ca.SX:
    rows = group.matrix(stored, np.cos, np.sin)
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def _residuals(found: GroupEquations, h: ca.SX) -> ca.SX:
    """The residuals of the equations as a graph of the entries of h."""
    inverse = ca.inv(h) if found.dual_forms else h
    parts = [ca.vec((h.T @ ca.DM(b) @ h - ca.DM(b)).T) for b in found.forms]
    parts += [ca.vec((inverse @ ca.DM(b) @ inverse.T - ca.DM(b)).T) for b in found.dual_forms]
    if found.volume:
        parts += [part - k for part, k in zip(_determinant(h, found.group), (1, 0), strict=False)]
    return ca.vertcat(*parts)


def _determinant(h: ca.SX, group: MatrixGroup) -> list[ca.SX]:
    """The determinant, by expansion; real and imaginary part for complex matrices."""
    n = group.order
    cells = {(i, j): (h[i, j], h[i + n, j]) if group.complex else (h[i, j], ca.SX(0)) for i in range(n) for j in range(n)}
    known: dict[tuple[int, ...], tuple[ca.SX, ca.SX]] = {(): (ca.SX(1), ca.SX(0))}

    def minor(columns: tuple[int, ...]) -> tuple[ca.SX, ca.SX]:
        if columns not in known:
            row, re, im = n - len(columns), ca.SX(0), ca.SX(0)
            for k, j in enumerate(columns):
                (x, y), (u, v), sign = cells[row, j], minor(columns[:k] + columns[k + 1 :]), (-1) ** k
                re, im = re + sign * (x * u - y * v), im + sign * (x * v + y * u)
            known[columns] = re, im
        return known[columns]

    found = minor(tuple(range(n)))
    return list(found) if group.complex else [found[0]]
