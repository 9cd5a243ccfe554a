r"""Missing initial values found block by block.

Rows that are not linear in all missing values together may be linear in them one after the other: $-e = 0$ gives $e$, then
$x'' \sin e = y' \cos e$ gives $y'$. Rows are matched with the missing values, the strongly connected blocks of the matching are taken in
the order of their dependence, and a block that is linear in its own values is solved. A value that enters its rows nonlinearly is computed
if all roots of one of these rows are known, and only one of them satisfies the others: $\cos\theta = x$, $\sin\theta = y$.

The matching and the components are computed here: SciPy has both, but importing it takes longer than the rest of a start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from chetaev.core.errors import StateError
from chetaev.core.exact.program import Program
from chetaev.core.symbols import Jet, Place
from chetaev.numerics.flow.local_rank import factored_at
from chetaev.numerics.flow.prolongation import Pair, Problem
from chetaev.numerics.start.conditions import Conditions, residual_of
from chetaev.numerics.start.newton import jets_in_rows
from chetaev.numerics.start.single_root import Row, all_roots

_LARGEST_RESIDUAL = 1e-6
"""Scaled residual up to which a root of one row satisfies the others. Given values have errors; other roots are far away."""


@dataclass(frozen=True)
class InBlocks:
    """Missing values that blocks of rows determine, and missing values with several possibilities."""

    found: Mapping[Jet, float]
    several: Mapping[Jet, Sequence[float]]
    """All values for which the rows hold; it is proved that there are no others."""


def solved_in_blocks(problem: Problem, known: Mapping[Jet, float], guessed: Mapping[Jet, float], tops: bool = False) -> InBlocks:
    """Return values of missing jets that blocks of rows determine, without those that depend on a guess.

    With `tops` the rows of motion are used too: `known` may then have accelerations, or quantities without a rate of their own.
    """
    system = problem.system
    sought = [*system.structure.state, *(system.structure.top if tops else ())]
    missing = [z for z in sought if z not in known]
    present = {pair: jets_in_rows(system, pair) & set(missing) for pair in [*system.hidden(), *(system.stage(0) if tops else ())]}
    open_rows = [pair for pair, jets in present.items() if jets and jets.isdisjoint(guessed)]
    found: dict[Jet, float] = {}
    several: dict[Jet, list[float]] = {}
    for pairs, jets in _blocks([(pair, present[pair]) for pair in open_rows], missing):
        needed = set().union(*[present[pair] for pair in pairs])
        if needed - found.keys() == set(jets):
            solved = _solved(problem, pairs, jets, {**known, **found})
            if not solved and len(jets) == 1:
                rows = [pair for pair in open_rows if jets[0] in present[pair] and present[pair] - found.keys() == set(jets)]
                roots = _roots(problem, rows, jets[0], {**known, **found})
                solved = {jets[0]: roots[0]} if len(roots) == 1 else {}
                several |= {jets[0]: roots} if len(roots) > 1 else {}
            found |= solved
    return InBlocks(found, several)


def _blocks(rows: Sequence[tuple[Pair, set[Jet]]], missing: Sequence[Jet]) -> list[tuple[list[Pair], list[Jet]]]:
    """Return square blocks of rows and jets that determine each other, in the order of their dependence."""
    if not rows:
        return []
    columns = {z: j for j, z in enumerate(missing)}
    entries = [{columns[z] for z in jets} for _, jets in rows]
    owner = matched(entries, len(missing))
    column_of = {i: j for j, i in enumerate(owner) if i >= 0}
    needs = [{owner[j] for j in present if owner[j] >= 0} if i in column_of else set() for i, present in enumerate(entries)]
    label = strong_components(needs)
    members = {c: [i for i in column_of if label[i] == c] for c in dict.fromkeys(label[i] for i in column_of)}
    done: set[int] = set()
    ordered = []
    while ready := [c for c in members if c not in done and _needed(members[c], needs, label, members) <= done]:
        done |= set(ready)
        ordered += [([rows[i][0] for i in members[c]], [missing[column_of[i]] for i in members[c]]) for c in ready]
    return ordered


def _needed(rows: Sequence[int], needs: Sequence[set[int]], label: Sequence[int], members: Mapping[int, Sequence[int]]) -> set[int]:
    """The other blocks on whose values `rows` depend."""
    found = {label[j] for i in rows for j in needs[i]}
    return {c for c in found if c in members} - {label[i] for i in rows}


def _solved(problem: Problem, pairs: Sequence[Pair], jets: Sequence[Jet], at: Mapping[Jet, float]) -> dict[Jet, float]:
    """The values of one block; empty if it is not linear in them, or does not determine all of them here."""
    if problem.system.curved(list(pairs), list(jets)):
        return {}
    try:
        residual, factored = factored_at(problem, pairs, jets, {**at, **dict.fromkeys(jets, 0.0)})
    except StateError:  # a row without a value here is reported later, with the others
        return {}
    if factored.rank < len(jets):
        return {}
    return {z: float(v) for z, v in zip(jets, factored.solved(-residual), strict=True)}


def _roots(problem: Problem, pairs: Sequence[Pair], z: Jet, at: Mapping[Jet, float]) -> list[float]:
    """The values of one jet for which all rows hold, if it is proved that there are no others; otherwise empty."""
    if isinstance(z, Place):
        return []
    kinds = problem.system.equations.system.kinds
    size, angle = problem.sizes.get(z, 1.0), z.order == 0 and kinds.get(z.base) == "angle"
    for pair in pairs:
        found = all_roots(Row(_derivatives(problem, pair, z, at), size, angle))
        if found is None:
            continue
        others = Conditions(problem, tuple(other for other in pairs if other != pair))
        return [v for v in found if not others.pairs or residual_of(others, {**at, z: v}).scaled < _LARGEST_RESIDUAL]
    return []


def _derivatives(problem: Problem, pair: Pair, z: Jet, at: Mapping[Jet, float]) -> Callable[[int], tuple[Program, list[float | None]]]:
    """The derivatives of a row by the jet `z`, as programs, with the values of all other symbols."""
    algebra = problem.system.algebra

    @cache
    def derivative(k: int) -> tuple[Program, list[float | None]]:
        e = problem.system.row(pair)
        for _ in range(k):
            (e,) = algebra.gradient(e, [z])
        program, order = algebra.program([e])
        known = {**problem.binding.at(frozenset(order), problem.t), **at}
        return program, [None if w == z else float(known[w]) for w in order]

    return derivative


def matched(rows: Sequence[Collection[int]], columns: int) -> list[int]:
    """For each column its row in a maximum matching of rows with the columns that they contain, -1 for none.

    >>> matched([{0, 1}, {0}], 3)
    [1, 0, -1]
    """
    owner = [-1] * columns
    own: dict[int, int] = {}
    for start in range(len(rows)):
        end, came = _path(rows, owner, start)
        while end is not None:  # along the path every row takes the next column
            row = came[end]
            previous = own.get(row)
            owner[end], own[row], end = row, end, previous
    return owner


def _path(rows: Sequence[Collection[int]], owner: Sequence[int], start: int) -> tuple[int | None, dict[int, int]]:
    """The first free column on an augmenting path from the row `start`, and the row from which each column was reached; None if there is
    none.
    """
    came: dict[int, int] = {}
    waiting = [start]
    for row in waiting:
        for column in sorted(rows[row]):
            if column in came:
                continue
            came[column] = row
            if owner[column] < 0:
                return column, came
            waiting.append(owner[column])
    return None, came


def strong_components(needs: Sequence[Collection[int]]) -> list[int]:
    """The index of the strongly connected component of each node, in the graph of `needs` (R. E. Tarjan, 1972).

    >>> strong_components([{1}, {0}, {1}])
    [0, 0, 1]
    """
    found, low, order = [-1] * len(needs), [0] * len(needs), [-1] * len(needs)
    open_nodes: list[int] = []
    components = visited = 0
    for root in range(len(needs)):
        path = [(root, iter(sorted(needs[root])))] if order[root] < 0 else []
        while path:
            node, others = path[-1]
            if order[node] < 0:
                order[node] = low[node] = visited
                visited += 1
                open_nodes.append(node)
            for other in others:
                if order[other] < 0:
                    path.append((other, iter(sorted(needs[other]))))
                    break
                if found[other] < 0:
                    low[node] = min(low[node], low[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    while found[node] < 0:
                        found[open_nodes.pop()] = components
                    components += 1
    return found
