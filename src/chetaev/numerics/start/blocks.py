r"""Missing initial values found block by block.

Rows that are not linear in all missing values together may be linear in them one after the other: $-e = 0$ gives $e$, then
$x'' \sin e = y' \cos e$ gives $y'$. Rows are matched with the missing values, the strongly connected blocks of the matching are taken in
the order of their dependence, and a block that is linear in its own values is solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from chetaev.core.errors import StateError
from chetaev.core.symbols import Jet
from chetaev.numerics.flow.local_rank import factored_at
from chetaev.numerics.flow.prolongation import Pair, Problem
from chetaev.numerics.start.newton import jets_in_rows


def solved_in_blocks(problem: Problem, known: Mapping[Jet, float], guessed: Mapping[Jet, float]) -> dict[Jet, float]:
    """Return values of missing jets that blocks of rows determine linearly, without those that depend on a guess."""
    system = problem.system
    missing = [z for z in system.structure.state if z not in known]
    present = {pair: jets_in_rows(system, pair) & set(missing) for pair in system.hidden()}
    open_rows = [pair for pair, jets in present.items() if jets and jets.isdisjoint(guessed)]
    found: dict[Jet, float] = {}
    for pairs, jets in _blocks([(pair, present[pair]) for pair in open_rows], missing):
        needed = set().union(*[present[pair] for pair in pairs])
        if needed - found.keys() == set(jets):
            found |= _solved(problem, pairs, jets, {**known, **found})
    return found


def _blocks(rows: Sequence[tuple[Pair, set[Jet]]], missing: Sequence[Jet]) -> list[tuple[list[Pair], list[Jet]]]:
    """Return blocks of rows and as many jets that determine each other, in the order of their dependence."""
    if not rows:
        return []
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    columns = {z: j for j, z in enumerate(missing)}
    entries = [(i, columns[z]) for i, (_, jets) in enumerate(rows) for z in jets]
    shape = (len(rows), len(missing))
    incidence = csr_matrix((np.ones(len(entries)), tuple(np.array(entries).T)), shape=shape)
    owner = maximum_bipartite_matching(incidence, perm_type="row")  # for each column its row, -1 for none
    column_of = {int(i): j for j, i in enumerate(owner) if i >= 0}
    needs = np.zeros((len(rows), len(rows)))
    for i, j in entries:
        if owner[j] >= 0 and i in column_of:
            needs[i, owner[j]] = 1
    _, label = connected_components(csr_matrix(needs), directed=True, connection="strong")
    members = {c: [i for i in column_of if label[i] == c] for c in dict.fromkeys(label[i] for i in column_of)}
    done: set[int] = set()
    ordered = []
    while ready := [c for c in members if c not in done and _needed(members[c], needs, label, members) <= done]:
        done |= set(ready)
        ordered += [([rows[i][0] for i in members[c]], [missing[column_of[i]] for i in members[c]]) for c in ready]
    return ordered


def _needed(rows: Sequence[int], needs: np.ndarray, label: np.ndarray, members: Mapping[int, Sequence[int]]) -> set[int]:
    """The other blocks whose values some rows contain."""
    found = {int(label[j]) for i in rows for j in np.flatnonzero(needs[i])}
    return {c for c in found if c in members} - {int(label[i]) for i in rows}


def _solved(problem: Problem, pairs: Sequence[Pair], jets: Sequence[Jet], at: Mapping[Jet, float]) -> dict[Jet, float]:
    """The values of one block; none if it is not linear in them, or does not determine all of them here."""
    if problem.system.curved(list(pairs), list(jets)):
        return {}
    try:
        residual, factored = factored_at(problem, pairs, jets, {**at, **dict.fromkeys(jets, 0.0)})
    except StateError:  # a row without a value here is reported later, with the others
        return {}
    if factored.rank < len(jets):
        return {}
    return {z: float(v) for z, v in zip(jets, factored.solved(-residual), strict=True)}
