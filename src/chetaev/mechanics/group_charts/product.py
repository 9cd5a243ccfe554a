r"""Coordinates of the second kind on any Lie group: $h(y) = e^{y_1 E_1} e^{y_2 E_2} \cdots e^{y_d E_d}$.

The velocity needs the brackets alone. With $\mathrm{Ad}(e^{yE_a}) = e^{y\, \mathrm{ad}_a}$, $(\mathrm{ad}_a)^c{}_b = c^c_{ab}$,

$$ h^{-1}h' = \sum_a y_a'\, e^{-y_d \mathrm{ad}_d} \cdots e^{-y_{a+1} \mathrm{ad}_{a+1}}\, E_a, \qquad
   h'h^{-1} = \sum_a y_a'\, e^{y_1 \mathrm{ad}_1} \cdots e^{y_{a-1} \mathrm{ad}_{a-1}}\, E_a , $$

so that a Lie algebra without matrices has this chart too, for a group with this algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Expr, ImmutableMatrix, Rational, S, Symbol

from chetaev.core.errors import ModelError
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.exact_numbers import combinations, spanned
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Coordinate
from chetaev.core.system import System, fresh_coordinates


class ProductChart:
    """A group coordinate in coordinates of the second kind, multiplied by the matrix `centre` if it is given."""

    def __init__(self, system: System, group: GroupCoordinate, centre: Sequence[Any] | None = None) -> None:
        self.group = group
        self.coordinates = tuple(fresh_coordinates(system, [f"{group.name}_{a + 1}" for a in range(group.group.dimension)]))
        self.centre = None if centre is None else [Rational(c) for c in centre]
        self.where = f"chart of {group.name}"

    def entries(self) -> dict[Symbol, Expr]:
        """The entries of the matrix."""
        kind = self.group.group
        if self.group.reduced or not isinstance(kind, MatrixGroup):
            return {}
        h = sympy.eye(kind.size)
        for e, y in zip(kind.matrices, self.coordinates, strict=True):
            h = (h * self._exponential(e, y)).applyfunc(sympy.expand)
        if self.centre is not None:
            a = sympy.Matrix(kind.matrix(self.centre, sympy.cos, sympy.sin))
            h = a * h if self.group.body else h * a
        cells = [(i, j) for i in range(kind.size) for j in range(kind.order)]
        return {self.group.matrix[i, j]: h[i, j] for i, j in cells}

    def velocities(self) -> list[Expr]:
        """The components `A1'`, `A2'`, ... of the velocity."""
        d = self.group.group.dimension
        order = range(d - 1, -1, -1) if self.group.body else range(d)
        carried, found = sympy.eye(d), sympy.zeros(d, 1)
        for a in order:
            y = self.coordinates[a]
            found += y.d() * carried[:, a]
            carried = (carried * self._exponential(self._adjoint(a), -y if self.group.body else y)).applyfunc(sympy.expand)
        return list(found)

    def slopes(self) -> dict[Coordinate, dict[Coordinate, Expr]]:
        """The components of a variation by variations of the coordinates."""
        pairs = zip(self.group.components, self.velocities(), strict=True)
        return {q: {y: slope for y in self.coordinates if (slope := e.diff(y.d())) != 0} for q, e in pairs}

    def kinds(self) -> dict[str, str]:
        """The kinds of the coordinates."""
        return {y.base: "line" for y in self.coordinates}

    def _adjoint(self, a: int) -> ImmutableMatrix:
        d, brackets = self.group.group.dimension, self.group.group.brackets
        found = sympy.zeros(d, d)
        for b in range(d):
            parts = brackets.get((min(a, b), max(a, b)), {}) if a != b else {}
            for c, value in parts.items():
                found[c, b] = S(value) if a < b else -S(value)
        return ImmutableMatrix(found)

    def _exponential(self, m: ImmutableMatrix, y: Expr) -> sympy.Matrix:
        found = exponential(m, y)
        if found is None:
            raise ModelError(
                f"a basis matrix of {self.group.word} has eigenvalues without a closed form.",
                where=self.where,
                why="Coordinates of the second kind are exponentials of the basis matrices.",
                hint="another basis of the same Lie algebra",
            )
        return found


def exponential(m: ImmutableMatrix, y: Expr) -> sympy.Matrix | None:
    r"""$e^{yM}$ for a real expression y; None if the eigenvalues have no closed form.

    With the minimal polynomial of $M$ of degree $k$, $e^{yM} = \sum_{j<k} c_j(y) M^j$. At each root $\lambda$ of multiplicity $r$ the
    polynomial $\sum c_j \lambda^j$ has the value $e^{\lambda y}$, and its first $r - 1$ derivatives with respect to $\lambda$ have those of
    $e^{\lambda y}$; these linear equations determine the functions $c_j$. Pairs of complex roots give sines and cosines.
    """
    n = m.rows
    powers = [ImmutableMatrix(sympy.eye(n))]
    while len(spanned([*powers, powers[-1] * m])) > len(powers):
        powers.append(powers[-1] * m)
    k = len(powers)
    (last,) = combinations(powers, [powers[-1] * m])
    assert last is not None  # noqa: S101 - the loop ended because it depends on the others
    z = Symbol("z")
    roots = sympy.roots(sympy.Poly(z**k - sum((c * z**j for j, c in enumerate(last)), S.Zero), z))
    if sum(roots.values()) < k or any(root.is_real is None for root in roots):
        return None
    rows: list[list[Expr]] = []
    values: list[Expr] = []
    for root, count in roots.items():
        re, im = root.as_real_imag()
        if im.is_negative:
            continue
        for times in range(count):
            slopes = [sympy.diff(z**j, z, times).subs(z, root) for j in range(k)]
            grown = y**times * sympy.exp(re * y)
            if im == 0:
                rows.append(slopes)
                values.append(grown)
                continue
            parts = [sympy.expand_complex(e).as_real_imag() for e in slopes]
            rows += [[a for a, _ in parts], [b for _, b in parts]]
            values += [grown * sympy.cos(im * y), grown * sympy.sin(im * y)]
    coefficients = sympy.Matrix(rows).inv() * sympy.Matrix(values)
    found: Any = sympy.zeros(n, n)
    for c, power in zip(coefficients, powers, strict=True):
        found += c * power
    return found.applyfunc(sympy.expand)
