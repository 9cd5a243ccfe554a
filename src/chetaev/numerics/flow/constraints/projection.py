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

from chetaev.core.calculus import Calculus
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.support.lines import Line, present
from chetaev.core.support.lines import columns as columns_of
from chetaev.core.symbols import Action, Jet, Multiplier, Parameter
from chetaev.mechanics.ranks.generic import rank, rank_at, sparse_matrices_at
from chetaev.mechanics.ranks.sparse import Numbers, numbers_in, scaled, whole
from chetaev.numerics.flow.elimination import Samples, elimination_order, solve, solve_positive
from chetaev.numerics.flow.nested.rows import extended_rows, is_dense, nested_rows
from chetaev.numerics.flow.symmetric_order import symmetric_order
from chetaev.numerics.graphs.arithmetic import NOTHING, dense, is_nothing, minus, plus, times
from chetaev.numerics.graphs.group_steps import projected_places
from chetaev.numerics.graphs.residues import residues_of

if TYPE_CHECKING:
    from chetaev.numerics.flow.flow import Flow

Entries = Sequence[Sequence[ca.SX]]


def projection(flow: Flow, conserve: bool = False) -> ca.Function | None:
    """Return one Newton step onto the constraints and, with `conserve`, the energy at the start; None without constraints."""
    stages = [*onto_groups(flow), *_stages(flow, conserve)]
    if not stages:
        return None
    t, x, p = (ca.SX.sym(name, size) for name, size in (("t", 1), ("x", flow.size), ("p", len(flow.arguments) + 1)))
    moved = x
    for stage in stages:
        moved = stage(t, moved, p)
    return ca.Function("project", [t, x, p], [ca.densify(moved)])


def onto_groups(flow: Flow) -> list[ca.Function]:
    """Return the step that brings matrices back to their groups; none if there are no such groups."""
    moved = {z: flow.graph.leaf(z) for z in flow.state}
    for group in flow.system.equations.system.groups.values():
        if group.places and group.places[0] in moved:
            here = [moved[z] for z in group.places]
            moved |= dict(zip(group.places, projected_places(group, here), strict=True))
    changed = any(not moved[z].is_symbolic() for z in flow.state)
    return [flow.function([*moved.values(), *flow.work], "groups")] if changed else []


def _stages(flow: Flow, conserve: bool) -> list[ca.Function]:
    system = flow.system
    energy = [flow.balanced_energy - flow.start_energy] if conserve else []
    if not _stages_suffice(flow):
        return [_at_once(flow, energy)]
    stages = [_stage(flow, k) for k in system.stages()]
    return [*stages, _stage(flow, -1, energy)] if conserve else stages


def _stages_suffice(flow: Flow) -> bool:
    """Tell whether the stages one by one have as many independent constraints as all rows together."""
    system = flow.system
    if not system.hidden() or system.plain:
        return True
    jets = _directions(flow)
    together = _rank(_slopes(flow, [system.row(pair) for pair in system.hidden()], jets), flow)
    return together == sum(_rank(_stage_jacobian(flow, k)[0], flow) for k in system.stages() if system.stage(k))


def _rank(entries: Entries, flow: Flow) -> int:
    return rank_at(entries, flow.points, flow.graph, flow.system.sizes)


def _stage_jacobian(flow: Flow, k: int) -> tuple[list[Line], list[Jet]]:
    """Return the rows' slopes in the jets of a stage; group coordinates are moved by their numbers, matrices along their fields.

    Rows are the same for all multiples of a quaternion, so the least correction of one is a rotation. Rows change across the cosets of a
    group of matrices, so a correction is along the fields A1, A2, ...
    """
    structure = flow.system.structure
    columns = [j for j, d in enumerate(structure.unknown_offsets) if d + k >= 0]
    jets = [structure.unknowns[j].d(structure.unknown_offsets[j] + k) for j in columns]
    if not any(z.base in structure.places and z.order == 0 for z in jets):
        return columns_of([structure.jacobian[i] for i, _ in flow.system.stage(k)], columns, NOTHING), jets
    fixed = _along_fields(flow)
    moved = [w for z in jets for w in ([z] if z in fixed else structure.at_order(z.d(-z.order), z.order + 1, z.order))]
    return _slopes(flow, [flow.system.row(pair) for pair in flow.system.stage(k)], moved), moved


def _along_fields(flow: Flow) -> dict[Jet, tuple[Jet, ...]]:
    """Return the components of groups of matrices, each with the stored numbers that it moves."""
    groups = [g for g in flow.system.equations.system.groups.values() if isinstance(g.group, MatrixGroup)]
    return {q: g.places for g in groups if g.places and g.places[0] in flow.state for q in g.components}


def _slopes(flow: Flow, rows: Sequence[ca.SX], jets: Sequence[Jet]) -> list[Line]:
    """Return the slopes of rows in jets, and along the fields of components."""
    return Calculus(flow.graph, flow.system.equations.system.frame).lines(rows, jets)


def _directions(flow: Flow) -> list[Jet]:
    """Return the jets of the state, with the components of groups of matrices in place of their numbers."""
    fields = _along_fields(flow)
    numbers = {z for places in fields.values() for z in places}
    return [*[z for z in flow.state if z not in numbers], *fields]


def _stage(flow: Flow, k: int, extra: Sequence[ca.SX] = ()) -> ca.Function:
    """Return the step that satisfies the rows of a stage, and further ones, by moving the jets of the stage."""
    jacobian, jets = _stage_jacobian(flow, k)
    sparse = _sparse_stage(flow, k, jets) if not extra and flow.system.plain and is_dense(jacobian) else None
    if sparse is not None:
        return sparse
    rows = [*[flow.system.row(pair) for pair in flow.system.stage(k)], *extra]
    solved = _solved(flow, flow.system.stage(k), len(extra))
    return _correction(flow, rows, [*jacobian, *_slopes(flow, extra, jets)], jets, solved)


def _sparse_stage(flow: Flow, k: int, jets: Sequence[Jet]) -> ca.Function | None:
    r"""A step where rows have nested sums: $\delta - J^T\mu = 0$, $J\delta = r$ with intermediate results as further unknowns, in
    O(n) operations for a chain of n bodies; None if multipliers or fields of groups are moved, or if pivots are missing.
    """
    graph, pairs = flow.graph, flow.system.stage(k)
    rows = nested_rows(flow.system, pairs, flow.extended is not None and flow.extended.shorter)
    if rows is None or _along_fields(flow) or any(isinstance(z, Action | Multiplier) for z in jets):
        return None
    steps, shares = ([Parameter(f"{kind} {j}") for j in range(count)] for kind, count in (("step", len(jets)), ("share", len(rows))))
    column, moving = ca.vertcat(*rows), graph.vector(jets)
    along: list[ca.SX] = dense(ca.jtimes(column, moving, graph.vector(steps))).elements()
    back: list[ca.SX] = dense(ca.jtimes(column, moving, graph.vector(shares), True)).elements()
    system = extended_rows(
        graph,
        [
            *[minus(graph.leaf(step), e) for step, e in zip(steps, back, strict=True)],
            *[minus(e, row) for e, row in zip(along, rows, strict=True)],
        ],
        [*steps, *shares],
    )
    samples = [] if system is None else sparse_matrices_at(system.matrix, flow.points, graph)
    if system is None or not samples:
        return None
    numbers, residues = Samples.of(samples), residues_of(graph, system.matrix)
    order = elimination_order(numbers, len(system.matrix), residues=residues)
    if len(order.pairs) < len(system.matrix):
        return None
    found = dict(zip(jets, solve(system.matrix, system.right, order, numbers, residues).solution, strict=False))
    return flow.function([*[graph.leaf(z) - found[z] if z in found else graph.leaf(z) for z in flow.state], *flow.work], "stage")


def _at_once(flow: Flow, extra: Sequence[ca.SX]) -> ca.Function:
    rows = [*[flow.system.row(pair) for pair in flow.system.hidden()], *extra]
    jets, solved = _directions(flow), _solved(flow, flow.system.hidden(), len(extra))
    return _correction(flow, rows, _slopes(flow, rows, jets), jets, solved)


def _solved(flow: Flow, pairs: Sequence[tuple[int, int]], extra: int) -> list[int]:
    """Return the positions of those rows whose derivatives have a pivot in the flow, and of the further ones."""
    pivots = {i for i, _ in flow.order.pairs}
    return [k for k, (i, _) in enumerate(pairs) if i in pivots] + list(range(len(pairs), len(pairs) + extra))


def _correction(flow: Flow, rows: Sequence[ca.SX], jacobian: Entries, jets: Sequence[Jet], solved: Sequence[int]) -> ca.Function:
    samples = sparse_matrices_at(jacobian, flow.points, flow.graph)
    weights = _weights(samples, jets)
    kept = list(range(len(rows))) if flow.system.plain or not samples else _independent(samples, weights, solved)
    lines = {a: {c: e for c, e in present(jacobian[a]) if weights[c] and not is_nothing(e)} for a in kept}
    normal = _normal([lines[a] for a in kept], weights)
    right = [rows[a] for a in kept]
    with np.errstate(over="ignore"):
        squares = [scaled(a[kept], np.ones(len(kept)), np.array(weights)) @ a[kept].T for a in samples]
    squares = [square for square in squares if np.isfinite(numbers_in(square)).all()]
    if squares and kept:
        numbers, residues = Samples.of(squares), residues_of(flow.graph, normal)
        order = symmetric_order(numbers.shape, residues) or elimination_order(numbers, len(kept), residues=residues)
        shares: Sequence[ca.SX] = solve(normal, right, order, numbers, residues).solution
    else:
        shares = solve_positive(normal, right)
    columns = {z: k for k, z in enumerate(jets) if weights[k]}
    fields = _along_fields(flow)
    frame = flow.system.equations.system.frame
    moving: dict[int, list[ca.SX]] = {}
    for a, share in zip(kept, shares, strict=True):
        for column, e in lines[a].items():
            moving.setdefault(column, []).append(times(e, share))
    steps = {z: weights[column] * _sum(moving.get(column, ())) for z, column in columns.items()}
    moved = []
    for z in flow.state:
        value = flow.graph.leaf(z)
        if z in steps:
            value = value - steps[z]
        for q, stored in fields.items():
            if z in stored and q in steps and z in frame.fields[frame.turning[q]]:
                value = value - times(flow.graph.of(frame.fields[frame.turning[q]][z]), steps[q])
        moved.append(value)
    return flow.function([*moved, *flow.work], "stage")


def _normal(lines: Sequence[Mapping[int, ca.SX]], weights: Sequence[float]) -> list[Line]:
    """The weighted products of all pairs of rows, given by their nonzero entries; those of rows without a common column are zero."""
    holding: dict[int, list[int]] = {}
    for b, line in enumerate(lines):
        for c in line:
            holding.setdefault(c, []).append(b)
    found: list[dict[int, ca.SX]] = [{} for _ in lines]
    for a, line in enumerate(lines):
        for b in sorted({b for c in line for b in holding[c] if b >= a}):
            found[a][b] = found[b][a] = _dot(line, lines[b], weights)
    return [Line(line, len(lines), NOTHING) for line in found]


def _independent(samples: Sequence[Numbers], weights: Sequence[float], solved: Sequence[int]) -> list[int]:
    """Return independent rows with the full rank at every sample: those that the accelerations satisfy (`solved`), if they suffice.

    Rows may depend on each other along a motion and not beside it. With other rows than the accelerations satisfy, the projection would
    then move every step to a set on which the next one does not stay, and steps would become ever shorter.
    """
    samples = [whole(a) for a in samples]
    moving, most = np.flatnonzero(weights), max(map(rank, samples))
    if len(solved) == most and all(rank(a[list(solved)][:, moving]) == most for a in samples):
        return list(solved)
    order = elimination_order(Samples.of([a[:, moving] for a in samples]), most)
    return sorted(i for i, _ in order.pairs)


def _weights(samples: Sequence[Numbers], jets: Sequence[Jet]) -> list[float]:
    """1 for coordinates; 0 for the action and for multipliers if the other columns keep the rank of the rows."""
    light = [0.0 if isinstance(z, Action | Multiplier) else 1.0 for z in jets]
    if all(light):
        return light
    enough = all(rank(whole(a) * np.array(light)) == rank(a) for a in samples) if samples else False
    return light if enough else [1.0] * len(jets)


def _dot(a: Mapping[int, ca.SX], b: Mapping[int, ca.SX], weights: Sequence[float]) -> ca.SX:
    """Return the weighted product of two rows, given by their nonzero entries."""
    return _sum([times(e, b[c]) if weights[c] == 1 else weights[c] * times(e, b[c]) for c, e in a.items() if c in b])


def _sum(parts: Sequence[ca.SX]) -> ca.SX:
    total = ca.SX(0)
    for part in parts:
        total = plus(total, part)
    return total
