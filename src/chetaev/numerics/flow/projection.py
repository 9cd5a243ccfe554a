r"""Projection of a state onto the constraints it has to satisfy.

Each stage of Pryce's scheme moves the highest jets its rows contain, positions first; its Jacobian is a submatrix of the system Jacobian.
Where the stages together do not imply all constraints (dependent rows hide a relation between lower jets), all rows are satisfied together
by moving all jets. Rows that depend on others are left out: they hold with them.

$$ x \mapsto x - W J^T (J W J^T)^{-1} r, $$

one step of Newton's iteration with the least correction in a metric $W$ that leaves the action and multipliers alone where it can.

J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364-394, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from chetaev.core.symbols import Action, Jet, Multiplier
from chetaev.mechanics.ranks.generic import Matrix, matrices_at, rank, rank_at
from chetaev.numerics.flow.elimination import Samples, elimination_order, solve, solve_positive
from chetaev.numerics.graphs.algebra import is_nothing, plus, times
from chetaev.numerics.graphs.residues import residues_of

if TYPE_CHECKING:
    from chetaev.numerics.flow.flow import Flow

Entries = Sequence[Sequence[ca.SX]]


def projection(flow: Flow, conserve: bool = False) -> ca.Function | None:
    """Return one Newton step onto the constraints and, with `conserve`, the energy at the start; None without constraints."""
    stages = _stages(flow, conserve)
    if not stages:
        return None
    t, x, p = (ca.SX.sym(name, size) for name, size in (("t", 1), ("x", flow.size), ("p", len(flow.arguments) + 1)))
    moved = x
    for stage in stages:
        moved = stage(t, moved, p)
    return ca.Function("project", [t, x, p], [ca.densify(moved)])


def _stages(flow: Flow, conserve: bool) -> list[ca.Function]:
    system = flow.system
    energy = [flow.energy - flow.start_energy] if conserve else []
    if not _stages_suffice(flow):
        return [_at_once(flow, energy)]
    stages = [_stage(flow, k) for k in system.stages()]
    return [*stages, _stage(flow, -1, energy)] if conserve else stages


def _stages_suffice(flow: Flow) -> bool:
    """Tell whether the stages one by one have as many independent constraints as all rows together."""
    system = flow.system
    if not system.hidden() or system.plain:
        return True
    together = _rank([flow.graph.gradient(system.row(pair), flow.state) for pair in system.hidden()], flow)
    return together == sum(_rank(_stage_jacobian(flow, k)[0], flow) for k in system.stages() if system.stage(k))


def _rank(entries: Entries, flow: Flow) -> int:
    return rank_at(entries, flow.points, flow.graph, flow.system.sizes)


def _stage_jacobian(flow: Flow, k: int) -> tuple[list[list[ca.SX]], list[Jet]]:
    """Return the rows' slopes in the jets of a stage; group coordinates are moved by their numbers.

    Rows are the same for all multiples of a quaternion, so the least correction of one is a rotation.
    """
    structure = flow.system.structure
    columns = [j for j, d in enumerate(structure.unknown_offsets) if d + k >= 0]
    jets = [structure.unknowns[j].d(structure.unknown_offsets[j] + k) for j in columns]
    if not any(z.base in structure.places and z.order == 0 for z in jets):
        return [[structure.jacobian[i][j] for j in columns] for i, _ in flow.system.stage(k)], jets
    moved = [w for z in jets for w in structure.at_order(z.d(-z.order), z.order + 1, z.order)]
    return [flow.graph.gradient(flow.system.row(pair), moved) for pair in flow.system.stage(k)], moved


def _stage(flow: Flow, k: int, extra: Sequence[ca.SX] = ()) -> ca.Function:
    """Return the step that satisfies the rows of a stage, and further ones, by moving the jets of the stage."""
    jacobian, jets = _stage_jacobian(flow, k)
    rows = [*[flow.system.row(pair) for pair in flow.system.stage(k)], *extra]
    return _correction(flow, rows, [*jacobian, *[flow.graph.gradient(e, jets) for e in extra]], jets)


def _at_once(flow: Flow, extra: Sequence[ca.SX]) -> ca.Function:
    rows = [*[flow.system.row(pair) for pair in flow.system.hidden()], *extra]
    return _correction(flow, rows, [flow.graph.gradient(e, flow.state) for e in rows], flow.state)


def _correction(flow: Flow, rows: Sequence[ca.SX], jacobian: Entries, jets: Sequence[Jet]) -> ca.Function:
    samples = matrices_at(jacobian, flow.points, flow.graph)
    weights = _weights(samples, jets)
    kept = list(range(len(rows))) if flow.system.plain or not samples else _independent(samples, weights)
    lines = {a: {c: e for c, e in enumerate(jacobian[a]) if weights[c] and not is_nothing(e)} for a in kept}
    products = {(a, b): _dot(lines[a], lines[b], weights) for k, a in enumerate(kept) for b in kept[k:]}
    normal = [[products[min(a, b), max(a, b)] for b in kept] for a in kept]
    right = [rows[a] for a in kept]
    squares = [(a[kept] * weights) @ a[kept].T for a in samples]
    if squares and kept:
        numbers, residues = Samples.of(squares), residues_of(flow.graph, normal)
        order = elimination_order(numbers, len(kept), residues=residues)
        shares: Sequence[ca.SX] = solve(normal, right, order, numbers, residues).solution
    else:
        shares = solve_positive(normal, right)
    columns = {z: k for k, z in enumerate(jets) if weights[k]}
    moved = []
    for z in flow.state:
        value = flow.graph.leaf(z)
        if z in columns:
            column = columns[z]
            step = _sum([times(lines[a][column], share) for a, share in zip(kept, shares, strict=True) if column in lines[a]])
            value = value - weights[column] * step
        moved.append(value)
    return flow.function([*moved, *flow.work], "stage")


def _independent(samples: Sequence[Matrix], weights: Sequence[float]) -> list[int]:
    """Return independent rows with the full rank at every sample."""
    moving = np.flatnonzero(weights)
    order = elimination_order(Samples.of([a[:, moving] for a in samples]), max(map(rank, samples)))
    return sorted(i for i, _ in order.pairs)


def _weights(samples: Sequence[Matrix], jets: Sequence[Jet]) -> list[float]:
    """1 for coordinates; 0 for the action and for multipliers if the other columns keep the rank of the rows."""
    light = [0.0 if isinstance(z, Action | Multiplier) else 1.0 for z in jets]
    if all(light):
        return light
    enough = all(rank(a * np.array(light)) == rank(a) for a in samples) if samples else False
    return light if enough else [1.0] * len(jets)


def _dot(a: Mapping[int, ca.SX], b: Mapping[int, ca.SX], weights: Sequence[float]) -> ca.SX:
    """Return the weighted product of two rows, given by their nonzero entries."""
    return _sum([times(e, b[c]) if weights[c] == 1 else weights[c] * times(e, b[c]) for c, e in a.items() if c in b])


def _sum(parts: Sequence[ca.SX]) -> ca.SX:
    total = ca.SX(0)
    for part in parts:
        total = plus(total, part)
    return total
