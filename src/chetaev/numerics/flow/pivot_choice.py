"""The choice of pivots: a flow with an order of elimination that suits random points of the constraint manifold and given states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sympy import Symbol

from chetaev.core.support.lines import joined
from chetaev.core.symbols import Parameter
from chetaev.mechanics.ranks.factored import Factored
from chetaev.mechanics.ranks.sparse import whole
from chetaev.numerics.flow.constraints.null_space import null_space_rows
from chetaev.numerics.flow.elimination import Flags, PivotOrder, Samples, elimination_order
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.nested.rows import ExtendedRows, extended
from chetaev.numerics.flow.pivot_search import DIGITLESS
from chetaev.numerics.flow.prolongation import Prolongation
from chetaev.numerics.flow.symmetric_order import keeps_digits, symmetric_order
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import NOTHING, is_nothing
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.residues import Residues, residues_of

WORST_PIVOT = 1e-3
"""Relative to its size where it was chosen: a smaller pivot is replaced by another choice of pivots. A smaller limit loses digits, a larger
one compiles more often."""
_MOST_ROWS = 16
"""Most rows for which constant pivots are preferred; with more rows the gain does not pay for the fill-in."""

_RESIDUES: Remembered[Residues | None] = Remembered(64)


def make_flow(system: Prolongation, extra_points: Sequence[dict[Symbol, float]] = (), usual_only: bool = False) -> Flow | None:
    """Return a flow with pivots that suit random points of the constraint manifold, and given ones; None if there are too few pivots.

    With `usual_only` they suit the given points alone, at which entries far below their size at random points count as zero.
    """
    if system.generic_nullity is None:
        return None
    rank = len(system.structure.top) - system.generic_nullity
    given = [a for a in system.measured(extra_points, given=True) if a is not None]
    random = [a for a in system.measured(system.generic_points) if a is not None]
    if usual_only and random:
        least = WORST_PIVOT * np.max([np.abs(whole(a)) for a, _ in random], axis=0)
        given = [(whole(a), whole(doubts)) for a, doubts in given]
        given = [(np.where(np.abs(a) < least, 0.0, a), np.where(np.abs(a) < least, 0.0, doubts)) for a, doubts in given]
        if any(Factored(a, doubts=doubts).rank < rank for a, doubts in given):
            return None
    found = given if usual_only else [*given, *random]
    if not found:
        return None
    sparse = None if usual_only else _by_free_velocities(system, extra_points) or _with_intermediate_results(system, extra_points)
    if sparse is not None:
        return sparse
    samples = Samples.of([a for a, _ in found], [doubts for _, doubts in found])
    residues = _RESIDUES.get(system.structure, (), lambda: residues_of(system.algebra, system.structure.jacobian))
    symmetric = symmetric_order(samples.shape, residues) if rank == samples.shape[0] and not usual_only else None
    if symmetric is not None and all(keeps_digits(symmetric, *at) for at in given):
        return Flow(system, symmetric, samples, tuple(extra_points), residues)
    order, freeze = _order(system, samples, rank, residues)
    return Flow(system, order, samples, tuple(extra_points), residues, freeze) if len(order.pairs) == rank else None


def _with_intermediate_results(system: Prolongation, extra_points: Sequence[dict[Symbol, float]]) -> Flow | None:
    """Return a flow by the elimination of a large sparse matrix; None where that saves nothing, or lacks pivots."""
    rows = extended(system)
    samples = None if rows is None else _samples(system, rows, extra_points)
    if rows is None or samples is None:
        return None
    count = len(rows.matrix)
    residues = _RESIDUES.get(system.structure, ("extended",), lambda: residues_of(system.algebra, rows.matrix))
    order = elimination_order(samples, count, residues=residues)
    return Flow(system, order, samples, tuple(extra_points), residues, extended=rows) if len(order.pairs) == count else None


def _by_free_velocities(system: Prolongation, extra_points: Sequence[dict[Symbol, float]]) -> Flow | None:
    """Return a flow by the few velocities that constraints leave free; None where these are no recursion, or a pivot of it is zero."""
    rows = null_space_rows(system)
    samples = None if rows is None else _samples(system, rows, extra_points)
    if rows is None or samples is None:
        return None
    steps, count = len(rows.recursion.steps), len(rows.matrix)
    pivots = (samples.rows == samples.columns) & (samples.rows < steps)
    if pivots.sum() < steps or not np.all(np.abs(samples.numbers[:, pivots]) > DIGITLESS * samples.doubts[:, pivots]):
        return None
    residues = _RESIDUES.get(system.structure, ("free velocities",), lambda: residues_of(system.algebra, rows.matrix))
    small = samples.from_place(steps)
    known = None if residues is None else residues_of(system.algebra, [line[steps:] for line in rows.matrix[steps:]])
    pairs = elimination_order(small, count - steps, residues=known).pairs
    order = PivotOrder((*[(k, k) for k in range(steps)], *[(steps + i, steps + j) for i, j in pairs]))
    return Flow(system, order, samples, tuple(extra_points), residues, True, rows) if len(order.pairs) == count else None


def _samples(system: Prolongation, rows: ExtendedRows, extra_points: Sequence[dict[Symbol, float]]) -> Samples | None:
    """Return the matrix of rows at given points and random ones; None if it has no values at a given point, as where a pivot is zero that
    it contains the inverse of, or at none of the random ones.
    """
    tape = system.algebra.tape(joined(rows.matrix, NOTHING))
    given = system.measured(extra_points, given=True, tape=tape)
    if any(a is None for a in given):
        return None
    found = [a for a in (*given, *system.measured(system.generic_points, tape=tape)) if a is not None]
    return Samples.of([a for a, _ in found], [doubts for _, doubts in found]) if found else None


def _order(system: Prolongation, samples: Samples, rank: int, residues: Residues | None) -> tuple[PivotOrder, bool]:
    """Return the order by Markowitz' count, or one with constant pivots first where that costs less, and whether constant entries are
    written without the state.

    Without constraints, or with many rows, constant entries gain nothing, and they are not preferred.
    """
    sparse = elimination_order(samples, rank, constant_entries(system), residues)
    few = samples.shape[0] <= _MOST_ROWS and bool(system.equations.multipliers)
    before = None if residues is None or not few else residues.cost_of(sparse.pairs)
    if residues is None or before is None:
        return sparse, False
    constant = elimination_order(samples, rank, residues=residues, prefer=True)
    after = residues.cost_of(constant.pairs) if len(constant.pairs) == rank else None
    return (sparse if after is None or before <= after else constant), True


def constant_entries(system: Prolongation) -> Flags:
    """Which entries of the Jacobian depend on parameters only."""
    graph: GraphAlgebra = system.algebra
    jacobian = system.structure.jacobian
    held = [(i, j, e) for i, line in enumerate(jacobian) for j, e in line.entries.items() if not is_nothing(e)]
    entries = [e for _, _, e in held]
    moving = [z for z in graph.symbols_of(entries) if not isinstance(z, Parameter)]
    found = np.ones((len(jacobian), len(jacobian[0]) if jacobian else 0), dtype=bool)
    for (i, j, _), moves in zip(held, graph.which_contain(entries, moving), strict=True):
        found[i, j] = not moves
    return found
