"""The rows of a system together with their total derivatives, formed when they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from sympy import Expr, Symbol

from chetaev.analysis.ranks import Matrix
from chetaev.analysis.structure import Structure, structure
from chetaev.equations import Equations
from chetaev.numerics.binding import Binding
from chetaev.recursion import deep
from chetaev.symbols import Jet
from chetaev.values import Tape


class Prolongation:
    """Derivatives of the rows, and their numbers at a point, for one set of equations with a structure."""

    def __init__(self, equations: Equations, found: Structure) -> None:
        self.equations, self.structure = equations, found
        self._derivatives: list[list[Expr]] = [[row] for row in found.rows]
        self._tapes: dict[tuple[tuple[int, int], ...], Tape] = {}

    def row(self, i: int, times: int) -> Expr:
        """Row `i` differentiated so many times."""
        known = self._derivatives[i]
        with deep():
            while len(known) <= times:
                known.append(self.equations.total(known[-1]))
        return known[times]

    def stage(self, k: int) -> list[tuple[int, int]]:
        """The rows of stage `k` as (row, derivative): those that concern jets `k` above the top (below, for negative k)."""
        return [(i, c + k) for i, c in enumerate(self.structure.row_offsets) if c + k >= 0]

    def hidden(self) -> list[tuple[int, int]]:
        """All rows the state must satisfy."""
        return [pair for k in range(-max(self.structure.row_offsets, default=0), 0) for pair in self.stage(k)]

    def label(self, pair: tuple[int, int]) -> str:
        """How messages call a differentiated row."""
        return self.equations.rows[pair[0]].label + "'" * pair[1]

    def numbers(self, pairs: Sequence[tuple[int, int]], unknowns: Sequence[Jet], point: Mapping[Symbol, float]) -> tuple[Matrix, Matrix]:
        """Residuals of some rows and their Jacobian with respect to some jets, at a point."""
        rows = [self.row(*pair) for pair in pairs]
        tape = Tape([*rows, *[r.diff(z) for r in rows for z in unknowns]])
        values = np.array(tape(point), dtype=float)
        return values[: len(rows)], values[len(rows) :].reshape(len(rows), len(unknowns))

    def symbols(self, pairs: Sequence[tuple[int, int]]) -> frozenset[Symbol]:
        """The symbols that occur in some rows."""
        return frozenset().union(*[self.row(*pair).free_symbols for pair in pairs])

    def point(self, pairs: Sequence[tuple[int, int]], binding: Binding, t: float, jets: Mapping[Jet, float]) -> dict[Symbol, float]:
        """Values for everything that occurs in some rows."""
        return {**binding.at(self.symbols(pairs), t), **jets}


@lru_cache(maxsize=32)
def prolongation(equations: Equations) -> Prolongation | None:
    """The prolongation of a square system; None without a structure. Remembered, because forming the rows takes time."""
    found = structure(equations)
    return None if found is None else Prolongation(equations, found)
