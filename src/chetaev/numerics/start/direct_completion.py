r"""Initial data completed directly, by divisions, if they are clear in every respect.

The rows decide, once for all values, which jets follow from a set of given ones, and by which divisions. A start then takes a few
evaluations of graphs. The result is used only if it is clear:

- every row that restricts the state holds up to round-off, as do the equations of motion with the accelerations found;
- no divisor is small, neither in units of its row and column (`Flow.watch`) nor, independently of units, compared with its values at
  neighbouring states. A divisor of round-off, such as a cosine at a right angle, is small compared with its values there.

Any other start is completed by `chetaev.numerics.start.initial`, with all its cases. Which of the two completes a start depends only on its
values, never on what was computed before, so that equal starts have equal digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np

from chetaev.core.symbols import Jet, Parameter
from chetaev.mechanics.ranks.factored import Flags, Indices, Matrix
from chetaev.mechanics.ranks.generic import matrices_at
from chetaev.numerics.flow.elimination import Samples, Solved, elimination_order, solve
from chetaev.numerics.flow.prolongation import Prolongation
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.graph_tape import GraphTape
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.magnitude import magnitudes
from chetaev.numerics.graphs.residues import residues_of

ROUND_OFF_RESIDUAL = 1e-14
"""Largest residual of a row, relative to the sum of its terms, that counts as round-off. With more, the data may have to be moved."""
_LEAST_DIVISOR = 1e-3
"""Smallest ratio of a divisor to its values at neighbouring states; a smaller one may be round-off, or a turning point."""
_DISTANCE_OF_NEIGHBOURS = 1e-3
"""Distance of neighbouring states, relative to the largest jet of the same order."""
_MOST_TOPS = 24
"""Most unknowns of systems that are completed directly: for more, making the graphs takes longer than a start."""
_SIDES = np.random.default_rng(16).choice([-1.0, 1.0], (2, 512)) * np.random.default_rng(17).uniform(0.5, 1.0, (2, 512))
"""Directions to two neighbouring states, the same in every run."""
_KNOWN: Remembered[Completion | None]


class Points(Protocol):
    """Starts with values for parameters, inputs and time (`chetaev.numerics.start.conditions.Members`)."""

    def values(self, tape: GraphTape, x: Matrix, which: Indices) -> Matrix:
        """The values of a tape at states of some starts, a line each, finite or not."""


@dataclass(frozen=True)
class Solution:
    """The missing jets as functions of given ones."""

    missing: list[int]
    """The columns of the missing jets in the state."""
    tape: GraphTape
    """Their values, and a number that is zero if they are clearly determined."""


class Completion:
    """Completes initial data of one system of rows."""

    def __init__(self, system: Prolongation) -> None:
        self.system, self.state = system, system.structure.state
        self._solutions: dict[frozenset[Jet], Solution | None] = {}

    def complete(self, points: Points, given: Iterable[Jet], x: Matrix, which: Indices) -> Flags | None:
        """Complete states in which some jets are given; tell which are complete, and clearly satisfy all rows.

        None if the given jets do not determine the others by divisions alone.
        """
        known = frozenset(given)
        if known not in self._solutions:
            self._solutions[known] = self._solved(known)
        solution = self._solutions[known]
        if solution is None:
            return None
        found = points.values(solution.tape, x, which)
        clear: Flags = np.asarray(found[:, -1] == 0.0)
        for column in found.T[:-1]:  # column by column takes a fifth of the time
            clear &= np.isfinite(column)
        if solution.missing:
            x[:, solution.missing] = np.where(clear[:, None], found[:, :-1], 0.0)
        return clear

    def at_neighbours(self, e: Sequence[ca.SX], known: Sequence[Jet]) -> list[list[ca.SX]]:
        """Expressions at two neighbouring states, where `known` jets have values and others are zero; the distance of the second state does
        not shrink if all jets of an order are small.
        """
        algebra, column = self.system.algebra, ca.vertcat(*e)
        leaves = {z: algebra.leaf(z) for z in known}
        largest: dict[int, ca.SX] = {}
        for z, leaf in leaves.items():
            largest[z.order] = ca.fmax(largest.get(z.order, ca.SX(0)), ca.fabs(leaf))
        sizes = [
            {k: ca.if_else(size > 0, size, 1.0) for k, size in largest.items()},
            {k: ca.fmax(size, 1.0) for k, size in largest.items()},
        ]
        found = []
        for size, sides in zip(sizes, _SIDES, strict=True):
            moved = [leaf + _DISTANCE_OF_NEIGHBOURS * float(sides[self.state.index(z)]) * size[z.order] for z, leaf in leaves.items()]
            found.append(ca.vertsplit(ca.substitute(column, ca.vertcat(*leaves.values()), ca.vertcat(*moved))) if moved else list(e))
        return found

    def doubts(self, pivots: Sequence[ca.SX], known: Sequence[Jet]) -> list[ca.SX]:
        """Numbers that are positive where a divisor is small compared with its values at neighbouring states."""
        own = moving(self.system.algebra, pivots)
        others = self.at_neighbours(own, known) if own else []
        return [_LEAST_DIVISOR * ca.fabs(there) - ca.fabs(here) for near in others for here, there in zip(own, near, strict=True)]

    def _solved(self, given: frozenset[Jet]) -> Solution | None:
        """The jets that are not given, solved for stage by stage; None if a stage determines too few, or not affinely."""
        system, algebra = self.system, self.system.algebra
        known, found, pivots = set(given), dict[Jet, ca.SX](), list[ca.SX]()
        for k in system.stages():
            pairs = tuple(system.stage(k))
            present = system.symbols(pairs)
            missing = [z for z in self.state if z in present and z not in known]
            if not missing:
                continue
            solved = None if system.curved(pairs, missing) else _solve([system.row(pair) for pair in pairs], missing, system)
            if solved is None:
                return None
            column = ca.vertcat(*solved.solution, *solved.pivots)
            if found:
                column = ca.substitute(column, algebra.vector(list(found)), ca.vertcat(*found.values()))
            values = ca.vertsplit(column)
            found |= dict(zip(missing, values[: len(missing)], strict=True))
            pivots += values[len(missing) :]
            known |= set(missing)
        if any(z not in known for z in self.state):
            return None
        rows = excesses([system.row(pair) for pair in system.hidden()], ROUND_OFF_RESIDUAL)
        if rows and found:
            rows = ca.vertsplit(ca.substitute(ca.vertcat(*rows), algebra.vector(list(found)), ca.vertcat(*found.values())))
        doubt = positive([*rows, *self.doubts(pivots, [z for z in self.state if z in given])])
        return Solution([self.state.index(z) for z in found], algebra.tape([*found.values(), doubt]))


def completion_of(system: Prolongation) -> Completion | None:
    """The direct completion, for rows that determine their motion at random states, with one row per unknown; else None; cached."""
    return _KNOWN.get(system, (), lambda: _completion(system))


def _completion(system: Prolongation) -> Completion | None:
    known = system.plain and not system.added and system.stated is system and system.drawn
    return (
        Completion(system) if known and len(system.structure.top) <= _MOST_TOPS and len(system.structure.state) <= _SIDES.shape[1] else None
    )


_KNOWN = Remembered(64)


def excesses(rows: Sequence[ca.SX], allowed: float) -> list[ca.SX]:
    """The amounts by which rows exceed `allowed` times the sum of their terms."""
    return [ca.fabs(row) - allowed * size for row, size in zip(rows, magnitudes(rows), strict=True)]


def moving(algebra: GraphAlgebra, pivots: Sequence[ca.SX]) -> list[ca.SX]:
    """The divisors that do not depend on parameters alone."""
    return [e for e in pivots if not all(isinstance(z, Parameter) for z in algebra.symbols(e))]


def positive(excess: Sequence[ca.SX]) -> ca.SX:
    """A graph that is zero if no number is positive, and NaN if one is NaN."""
    return sum((e + ca.fabs(e) for e in excess), ca.SX(0))


def _solve(rows: Sequence[ca.SX], missing: Sequence[Jet], system: Prolongation) -> Solved | None:
    """Solve rows for jets in which they are affine, with divisors chosen at random states; None if some jets are not determined."""
    algebra = system.algebra
    matrix = [algebra.gradient(row, missing) for row in rows]
    residues = residues_of(algebra, matrix)
    found = matrices_at(matrix, system.generic_points, algebra)
    if residues is None or not found or len(rows) < len(missing):
        return None
    samples = Samples.of(found)
    order = elimination_order(samples, len(missing), residues=residues)
    if len(order.pairs) < len(missing):
        return None
    right = ca.vertsplit(ca.densify(-algebra.without(ca.vertcat(*rows), missing)))
    return solve(matrix, right, order, samples, residues)
