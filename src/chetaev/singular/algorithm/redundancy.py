r"""Redundant final branches: those whose motions another branch contains.

A branch $b$ inside the closure of a branch $a$ is redundant if its motions are motions of $a$: the rates on $b$ are the restriction of
those on $a$, or the linear system of $a$ keeps its rank on $b$ and the rates on $b$ solve it. An envelope lies in the closure of another
branch as well, but moves differently, and is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chetaev.singular.algorithm.branches import Branch
from chetaev.singular.algorithm.elimination import Row
from chetaev.singular.algorithm.ideals import dimension, normal_form
from chetaev.singular.algorithm.ring import Fraction, Poly
from chetaev.singular.algorithm.search import Final, Rows
from chetaev.singular.algorithm.space import Space


def essential(space: Space, rows: Rows, finals: Sequence[Final]) -> tuple[list[Final], dict[int, int]]:
    """The branches that are not redundant, larger ones first, and for each of the others the node that contains it."""
    ordered = sorted(finals, key=lambda f: (-dimension(space, f.branch.determined, f.branch.basis), f.node))
    kept: list[Final] = []
    contained: dict[int, int] = {}
    for small in ordered:
        home = next((large for large in kept if _inside(space, rows, small, large)), None)
        if home is None:
            kept.append(small)
        else:
            contained[small.node] = home.node
    return kept, contained


def _inside(space: Space, rows: Rows, small: Final, large: Final) -> bool:
    b = small.branch
    if not all(b.vanishes(space, g) for g in large.branch.constraints(space)):
        return False
    return _restricts(space, small, large) or _keeps_rank(space, rows, small, large)


def _restricts(space: Space, small: Final, large: Final) -> bool:
    """Whether the formula for the rates of the larger branch holds on the smaller one."""
    b = small.branch
    rates = {j: _general(space, small, j) for j in range(small.solved.unknowns)}
    for j in range(large.solved.unknowns):
        term, slopes = large.solved.rate(space, j)
        if any(b.vanishes(space, d) for _, d in [term, *slopes.values()]):
            return False
        expected: dict[int, Fraction] = {-1: term}
        for k, slope in slopes.items():
            for key, value in rates[k].items():
                expected[key] = _add(space, expected.get(key), space.times(slope, value))
        for key in expected.keys() | rates[j].keys():
            n, _ = _add(space, expected.get(key), space.minus(rates[j].get(key, (space.zero, space.one))))
            if not b.vanishes(space, n):
                return False
    return True


def _general(space: Space, final: Final, j: int) -> dict[int, Fraction]:
    """The coefficients of a rate by the index of the free function; the key -1 has the term without free functions."""
    term, slopes = final.solved.rate(space, j)
    return {-1: term, **slopes}


def _keeps_rank(space: Space, rows: Rows, small: Final, large: Final) -> bool:
    """Whether the rows of the larger branch have the same rank on the smaller one and are solved by its rates."""
    b = small.branch
    system = [[b.reduce(space, e) for e in row] for row in rows.all(large.branch.constraints(space))]
    if rank_on(space, b, [row[:-1] for row in system]) != len(large.solved.pivots):
        return False
    rates = {j: _general(space, small, j) for j in range(small.solved.unknowns)}
    for row in system:
        total: dict[int, Fraction] = {-1: (row[-1], space.one)}
        for j, entry in enumerate(row[:-1]):
            if entry:
                for key, value in rates[j].items():
                    total[key] = _add(space, total.get(key), space.times((entry, space.one), value))
        if any(not b.vanishes(space, n) for n, _ in total.values()):
            return False
    return True


def rank_on(space: Space, branch: Branch, matrix: Sequence[Row]) -> int:
    """The rank of a matrix at a general point of a branch."""
    work = [list(row) for row in matrix if any(row)]
    found = 0
    while work:
        place = _pivot(space, branch, work)
        if place is None:
            return found
        pivot = work.pop(place[0])
        p, found = pivot[place[1]], found + 1
        if p.is_ground:
            p, pivot = space.one, [e.mul_ground(1 / p.LC) for e in pivot]
        reduced = []
        for row in work:
            a = row[place[1]]
            if a:
                row = [normal_form(p * x - a * y, branch.basis) for x, y in zip(row, pivot, strict=True)]
            if any(row):
                reduced.append(row)
        work = reduced
    return found


def _pivot(space: Space, branch: Branch, rows: Sequence[Row]) -> tuple[int, int] | None:
    """The indices of a pivot that does not vanish on the branch, chosen to keep rows short.

    A number if there is one; otherwise the shortest entry of a column with few other entries. Derivatives of constraints contain velocities
    that occur in no other row, so that their elimination changes no other row.
    """
    filled = [sum(1 for row in rows if row[j]) for j in range(len(rows[0]))]
    entries = [
        (not e.is_ground, filled[j], len(e) * sum(map(len, row)), i, j) for i, row in enumerate(rows) for j, e in enumerate(row) if e
    ]
    return next(((i, j) for *_, i, j in sorted(entries) if _not_zero(space, branch, rows[i][j])), None)


def _not_zero(space: Space, branch: Branch, e: Poly) -> bool:
    # the ideal is already saturated by `nonzero`, so the answer does not depend on it
    return bool(e) and not replace(branch, nonzero=()).vanishes(space, e)


def _add(space: Space, a: Fraction | None, b: Fraction) -> Fraction:
    return b if a is None else space.add(a, b)
