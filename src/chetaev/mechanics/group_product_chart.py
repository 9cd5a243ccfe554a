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
from chetaev.core.groups.exponential import exponential
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Coordinate
from chetaev.core.system import System, fresh_coordinates


class ProductChart:
    """A group coordinate in coordinates of the second kind, beside a matrix or the identity."""

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
