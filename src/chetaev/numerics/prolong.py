"""The rows of a system together with their total derivatives, and their numbers at a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.analysis.ranks import Matrix, equilibrated, matrices_at, points_on
from chetaev.analysis.structure import Structure, raised, structure
from chetaev.calculus import Calculus, Evaluator
from chetaev.equations import Equations
from chetaev.errors import StateError
from chetaev.numerics.binding import Binding
from chetaev.numerics.graph import GraphAlgebra
from chetaev.symbols import Jet, Multiplier
from chetaev.values import Undefined
from chetaev.zero import random_point

_CUT = 1e-9
_NULL = 1e-7
_ZERO = 1e-9
_TRIES = 6

Pair = tuple[int, int]
"""A row and how often it is differentiated."""


class Prolongation:
    """Derivatives of the rows on a graph, formed when they are needed, for equations with a structure."""

    def __init__(self, equations: Equations, found: Structure) -> None:
        self.equations, self.structure, self.algebra = equations, found, found.algebra
        # the action variable counts as an unknown with its row s' = L: only then are derivatives of rows consistent with the offsets
        self._calculus = Calculus(found.algebra, equations.system.frame)
        self._derivatives: list[list[Any]] = [[row] for row in found.rows]
        self._tapes: dict[tuple[tuple[Pair, ...], tuple[Jet, ...]], Evaluator] = {}

    def row(self, pair: Pair) -> Any:
        """A row differentiated so many times."""
        i, times = pair
        known = self._derivatives[i]
        while len(known) <= times:
            known.append(self._calculus.total(known[-1]))
        return known[times]

    def tape(self, pairs: Sequence[Pair], unknowns: Sequence[Jet]) -> Evaluator:
        """What evaluates some rows and their Jacobian with respect to some jets; remembered."""
        key = (tuple(pairs), tuple(unknowns))
        if key not in self._tapes:
            rows = [self.row(pair) for pair in pairs]
            self._tapes[key] = self.algebra.tape([*rows, *[d for r in rows for d in self.algebra.gradient(r, unknowns)]])
        return self._tapes[key]

    def stage(self, k: int) -> list[Pair]:
        """The rows of stage `k`: those that concern jets `k` above the top (below, for negative k)."""
        return [(i, c + k) for i, c in enumerate(self.structure.row_offsets) if c + k >= 0]

    def stages(self) -> range:
        """The stages of rows that restrict the state, positions first."""
        return range(-max(self.structure.row_offsets, default=0), 0)

    def hidden(self) -> list[Pair]:
        """All rows the state must satisfy."""
        return [pair for k in self.stages() for pair in self.stage(k)]

    def label(self, pair: Pair) -> str:
        """How messages call a differentiated row."""
        return self.equations.labels[pair[0]] + "'" * pair[1]

    def symbols(self, pairs: Sequence[Pair]) -> frozenset[Symbol]:
        """The symbols that occur in some rows."""
        return frozenset().union(*[self.algebra.symbols(self.row(pair)) for pair in pairs])

    @cached_property
    def generic_nullity(self) -> int | None:
        """The nullity of the system Jacobian at random points of the constraint manifold.

        Positive for redundant constraints, whose multipliers are not unique; None if a coordinate is left open everywhere, so that the
        rows hide a further constraint or a free function.
        """
        return self._generic_null.shape[1] if self.harmless(self._generic_null) else None

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The multipliers that redundant constraints leave open."""
        return tuple(z.name for z in open_jets(self.structure.top, self._generic_null))

    @cached_property
    def _generic_null(self) -> Matrix:
        hidden = [self.row(pair) for pair in self.hidden()]
        points = points_on(hidden, [], algebra=self.algebra)
        noise = 1e-11 if hidden else 1e-15  # points on constraints carry the error of Newton's iteration, others round-off only
        found = [null_space(a, noise) for a in matrices_at(self.structure.jacobian, points, self.algebra)]
        return min(found, key=lambda n: n.shape[1]) if found else np.zeros((len(self.structure.top), 0))

    def harmless(self, null: Matrix) -> bool:
        """Whether a null space concerns multipliers of reactions only."""
        opened = open_jets(self.structure.top, null)
        return not opened or (not self.equations.lowered.vakonomic and all(isinstance(z, Multiplier) for z in opened))

    def curved(self, pairs: Sequence[Pair], unknowns: Sequence[Jet]) -> list[Jet]:
        """The unknowns in which some rows are not affine: their slope changes with the unknowns, smoothly or at a corner."""
        found: set[Jet] = set()
        wanted = set(unknowns)
        for row in map(self.row, pairs):
            occurring = self.algebra.symbols(row)
            present = [z for z in unknowns if z in occurring]
            slopes = self.algebra.gradient(row, present)
            bent = {z: slope for z, slope in zip(present, slopes, strict=True) if not wanted.isdisjoint(self.algebra.symbols(slope))}
            found |= {z for z, varies in zip(bent, self._vary(list(bent.values()), unknowns), strict=True) if varies}
        return [z for z in unknowns if z in found]

    def _vary(self, slopes: Sequence[Any], unknowns: Sequence[Jet]) -> list[bool]:
        """Which slopes change when only the unknowns do."""
        if not slopes:
            return []
        tape = self.algebra.tape(slopes)
        varies = np.zeros(len(slopes), dtype=bool)
        for seed in range(_TRIES):
            here = random_point(tape.symbols, seed)
            there = random_point(tape.symbols, 100 + seed)
            try:
                a = np.array(tape(here))
                b = np.array(tape({z: there[z] if z in unknowns else v for z, v in here.items()}))
            except Undefined:
                continue
            varies |= np.abs(a - b) > _ZERO * np.maximum(1e-30, np.maximum(np.abs(a), np.abs(b)))
        return varies.tolist()


@lru_cache(maxsize=32)
def prolongation(equations: Equations) -> Prolongation | None:
    """The prolongation of a square system; None without a structure. Remembered, because forming the rows takes time."""
    found = structure(equations, GraphAlgebra())
    if found is None:
        return None
    system = Prolongation(equations, found)
    top = found.top
    curved = system.curved(system.stage(0), top)
    if not curved:
        return system
    rows = {i for i, c in enumerate(found.row_offsets) if system.curved([(i, c)], top)}
    return Prolongation(equations, raised(found, rows, {top.index(z) for z in curved}))


@dataclass(frozen=True)
class Problem:
    """Equations with values for parameters, inputs and time: numbers can be asked for."""

    system: Prolongation
    binding: Binding
    t: float
    where: str

    def numbers(self, pairs: Sequence[Pair], unknowns: Sequence[Jet], jets: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        """Residuals of some rows and their Jacobian with respect to some jets, at a state."""
        tape = self.system.tape(pairs, unknowns)
        try:
            values = np.array(tape({**self.binding.at(tape.symbols, self.t), **jets}), dtype=float)
        except Undefined as cause:
            what = f"the equations have no finite value at this state ({cause})."
            raise StateError(what, where=self.where, hint="another state") from None
        return values[: len(pairs)], values[len(pairs) :].reshape(len(pairs), len(unknowns))


def null_space(matrix: Matrix, noise: float = 1e-11) -> Matrix:
    """A basis of the null space at a random point of order one, as columns."""
    return least_norm(matrix, np.zeros(matrix.shape[0]), noise)[1]


def least_norm(jacobian: Matrix, right: Matrix, noise: float = 0.0) -> tuple[Matrix, Matrix]:
    """The solution of least norm, and a basis of the null space as columns; scaling makes units irrelevant."""
    if jacobian.shape[1] == 0:
        return np.zeros(0), np.zeros((0, 0))
    rows, scaled, columns = equilibrated(jacobian, noise)
    u, s, vt = np.linalg.svd(scaled, full_matrices=True)
    r = int(np.sum(s > _CUT * s[0])) if len(s) and s[0] > 0 else 0
    null: Matrix = (vt[r:].T) / columns[:, None]
    step: Matrix = (vt[:r].T @ ((u[:, :r].T @ (right / rows)) / s[:r])) / columns
    if null.shape[1]:  # scaling bent the metric: take the least norm in the user's variables
        step = step - null @ np.linalg.lstsq(null, step, rcond=None)[0]
    return step, null


def open_jets(jets: Sequence[Jet], null: Matrix) -> list[Jet]:
    """The jets a null space moves."""
    if not null.shape[1]:
        return []
    largest = float(np.abs(null).max())
    return [z for z, line in zip(jets, null, strict=True) if np.abs(line).max() > _NULL * largest]
