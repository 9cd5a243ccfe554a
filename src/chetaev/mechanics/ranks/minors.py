"""Determinants, adjugates and solutions of small linear systems as formulas that are not expanded."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Add, Expr, Matrix, S


class Minors:
    """The minors of a square matrix, each computed once by Laplace expansion along its first row; products are not expanded."""

    def __init__(self, matrix: Matrix) -> None:
        self._rows: list[list[Expr]] = matrix.tolist()
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Expr] = {}

    def determinant(self) -> Expr:
        """The determinant."""
        every = tuple(range(len(self._rows)))
        return self._minor(every, every)

    def solution(self, right: Sequence[Expr]) -> list[Expr]:
        r"""The solution of $A x = r$ by Cramer's rule: $x_k = \sum_i (-1)^{i+k} M_{ik} r_i / \det A$."""
        every = tuple(range(len(self._rows)))
        down = self._minor(every, every)
        found = []
        for k in every:
            others = (*every[:k], *every[k + 1 :])
            terms = [(-1) ** (i + k) * self._minor((*every[:i], *every[i + 1 :]), others) * r for i, r in enumerate(right) if r != 0]
            found.append(Add(*terms) / down)
        return found

    def adjugate(self) -> list[list[Expr]]:
        """The adjugate, which is the inverse times the determinant."""
        every = tuple(range(len(self._rows)))
        return [[(-1) ** (i + k) * self._minor((*every[:i], *every[i + 1 :]), (*every[:k], *every[k + 1 :])) for i in every] for k in every]

    def _minor(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> Expr:
        if not rows:
            return S.One
        key = rows, columns
        if key not in self._known:
            terms = []
            for n, j in enumerate(columns):
                entry = self._rows[rows[0]][j]
                if entry != 0:
                    terms.append((-1) ** n * entry * self._minor(rows[1:], (*columns[:n], *columns[n + 1 :])))
            self._known[key] = Add(*terms)
        return self._known[key]
