r"""Structural analysis by Pryce's Sigma method.

Which rows have to be differentiated, how often, and which jets are then the state? The signature matrix $\sigma_{ij}$ holds the
order of the highest derivative of unknown $j$ in row $i$. A maximum-weight assignment and the smallest offsets with
$d_j - c_i \ge \sigma_{ij}$, equality on the assignment, answer it: row $i$ is differentiated $c_i$ times, jets below $d_j$ are the
state, the derivatives of row $i$ below $c_i$ are constraints on it. Mixed orders, algebraic multipliers and hidden constraints need
no special cases.

J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364-394.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Expr, S, Symbol

from chetaev.analysis.assignment import heaviest_assignment
from chetaev.assemble import right_hand_side
from chetaev.calculus import SYMBOLIC, Algebra, Calculus, Frame
from chetaev.equations import Equations
from chetaev.functions import bent_by_corners
from chetaev.symbols import Jet, Multiplier, Place, highest_orders
from chetaev.values import Undefined
from chetaev.zero import random_point, seems_zero

_ABSENT = -(10**6)
_SUSPICIOUS = 1e-9
_POINTS = 3


@dataclass(frozen=True)
class Structure:
    """Offsets of rows and unknowns; `None` in place of a structure means that no assignment exists."""

    rows: tuple[Any, ...]
    """The residuals in some algebra, with jets removed that only seem to occur."""
    unknowns: tuple[Jet, ...]
    signature: tuple[tuple[int | None, ...], ...]
    assignment: tuple[int, ...]
    """The unknown assigned to each row."""
    row_offsets: tuple[int, ...]
    unknown_offsets: tuple[int, ...]
    algebra: Algebra[Any] = field(repr=False, compare=False)
    frame: Frame = field(repr=False, compare=False)
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict, repr=False, compare=False)
    """What stands for the components of group coordinates in the state: all places for the first one, nothing for the others."""

    @cached_property
    def top(self) -> tuple[Jet, ...]:
        """The jets the system is solved for: $q_j^{(d_j)}$."""
        return tuple(z.d(d) for z, d in zip(self.unknowns, self.unknown_offsets, strict=True))

    @cached_property
    def state(self) -> tuple[Jet, ...]:
        """The jets below the top; a group coordinate itself is there by its places."""
        found: list[Jet] = []
        for z, d in zip(self.unknowns, self.unknown_offsets, strict=True):
            found += self.at_order(z, d, 0)
            found += [z.d(k) for k in range(1, d)]
        return tuple(found)

    def at_order(self, z: Jet, d: int, k: int) -> list[Jet]:
        """The jet of order `k` of an unknown with offset `d`, if it is below the top: at order 0 a group coordinate has places instead."""
        if k >= d:
            return []
        return list(self.places.get(z.base, ())) if k == 0 and z.base in self.places else [z.d(k)]

    @property
    def surplus(self) -> int:
        """How many more numbers the state holds than it has directions: one for each quaternion, whose length means nothing."""
        return sum(len(places) - len(places[0].components) for places in self.places.values() if places and places[0] in self.state)

    @property
    def dimension(self) -> int:
        r"""Number of free initial values, $\sum d_j - \sum c_i$."""
        return sum(self.unknown_offsets) - sum(self.row_offsets)

    @cached_property
    def jacobian(self) -> tuple[tuple[Any, ...], ...]:
        r"""The system Jacobian $\partial f_i / \partial q_j^{(d_j - c_i)}$."""
        zero = self.algebra.of(S.Zero)
        calculus = Calculus(self.algebra, self.frame)
        lines = []
        for row, c in zip(self.rows, self.row_offsets, strict=True):
            jets = {j: z.d(d - c) for j, (z, d) in enumerate(zip(self.unknowns, self.unknown_offsets, strict=True)) if d >= c}
            partial = dict(zip(jets, calculus.gradient(row, list(jets.values())), strict=True))
            lines.append(tuple(partial.get(j, zero) for j in range(len(self.unknowns))))
        return tuple(lines)


def structure(equations: Equations, algebra: Algebra[Any] = SYMBOLIC) -> Structure | None:
    """The structure of a square system, or None if its rows cannot be assigned to its unknowns."""
    rows, weights = _signature(equations, algebra)
    if len(rows) != len(equations.unknowns):
        return None
    chosen, assignment = heaviest_assignment(weights)
    if any(weights[i, j] == _ABSENT for i, j in zip(chosen, assignment, strict=True)):
        return None
    c, d = _with_places(equations, weights, assignment)
    return _structure(equations, rows, weights, tuple(map(int, assignment)), c, d, algebra)


def loose_structure(equations: Equations, algebra: Algebra[Any] = SYMBOLIC) -> Structure:
    """Offsets for any number of rows and unknowns: those of the rows that can be assigned, and what follows for the others.

    An unmatched row is differentiated as often as its jets allow, an unmatched unknown counts with its own highest order.
    """
    rows, weights = _signature(equations, algebra)
    chosen, columns = heaviest_assignment(weights)
    matched = {int(i): int(j) for i, j in zip(chosen, columns, strict=True) if weights[i, j] != _ABSENT}
    present = weights != _ABSENT
    c = [0] * len(rows)
    while True:
        d = [max((int(weights[i, j]) + c[i] for i in range(len(rows)) if present[i, j]), default=0) for j in range(weights.shape[1])]
        new = [d[matched[i]] - int(weights[i, matched[i]]) if i in matched else c[i] for i in range(len(rows))]
        if new == c:
            break
        c = new
    for i in range(len(rows)):
        if i not in matched and present[i].any():
            c[i] = min(d[j] - int(weights[i, j]) for j in range(weights.shape[1]) if present[i, j])
    return _structure(equations, rows, weights, tuple(matched.get(i, -1) for i in range(len(rows))), c, d, algebra)


def _signature(equations: Equations, algebra: Algebra[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    given = [row.residual for row in equations.assembled(algebra)]
    suspects = _suspects(given, algebra)
    rows = [_without_fakes(equations, i, row, suspects[i], algebra) for i, row in enumerate(given)]
    weights = [_orders(row, equations.unknowns, algebra) for row in rows]
    return rows, np.array(weights, dtype=np.int64).reshape(len(rows), len(equations.unknowns))


def _structure(
    equations: Equations,
    rows: list[Any],
    weights: NDArray[np.int64],
    assignment: tuple[int, ...],
    c: list[int],
    d: list[int],
    algebra: Algebra[Any],
) -> Structure:
    signature = tuple(tuple(None if s == _ABSENT else int(s) for s in line) for line in weights)
    places: dict[str, tuple[Place, ...]] = {}
    for group in equations.system.groups.values():
        places |= {q.base: group.places if k == 0 else () for k, q in enumerate(group.components)}
    frame = equations.system.frame
    return Structure(tuple(rows), equations.unknowns, signature, assignment, tuple(c), tuple(d), algebra, frame, places)


def _with_places(equations: Equations, weights: NDArray[np.int64], assignment: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    """The smallest offsets with every group coordinate in the state: a row that says where one stands moves it by its derivative."""
    c, d = _offsets(weights, assignment)
    turning = equations.system.frame.turning
    first = [c[i] + int(equations.unknowns[j] in turning and d[j] == 0) for i, j in enumerate(assignment)]
    return (c, d) if first == c else _offsets(weights, assignment, first)


def raised(found: Structure, rows: set[int], columns: set[int]) -> Structure:
    """The structure with some rows differentiated once more, so that they become linear in the jets solved for.

    A row that is not linear in its highest jets is linear in the next ones; what stood at the top becomes state, and the row itself a
    constraint on it. Rows that share these jets have to follow, and so do the jets assigned to them.
    """
    weights = np.array([[_ABSENT if s is None else s for s in line] for line in found.signature])
    c, d = np.array(found.row_offsets), np.array(found.unknown_offsets)
    touching = weights == d[None, :] - c[:, None]
    while True:
        more_columns = columns | {found.assignment[i] for i in rows}
        more_rows = rows | {i for i in range(len(c)) if any(touching[i, j] for j in more_columns)}
        if (more_rows, more_columns) == (rows, columns):
            break
        rows, columns = more_rows, more_columns
    first = [int(c[i]) + (i in rows) for i in range(len(c))]
    new_c, new_d = _offsets(weights, np.array(found.assignment), first)
    return replace(found, row_offsets=tuple(new_c), unknown_offsets=tuple(new_d))


def _orders(row: Any, unknowns: tuple[Jet, ...], algebra: Algebra[Any]) -> list[int]:
    """The highest order of each unknown in a row."""
    found = highest_orders(algebra.symbols(row))
    return [found.get(z.base, _ABSENT) for z in unknowns]


def _without_fakes(equations: Equations, i: int, row: Any, suspects: list[Jet], algebra: Algebra[Any]) -> Any:
    """A row without highest jets in which it is constant: a total derivative added to L writes jets that cancel, and they must not count.

    Numbers only raise the suspicion, because a small slope may be a small mass; many digits of the symbolic row decide. A jet inside sign
    has no slope, and the row depends on it.
    """
    while True:
        fakes = [z for z in suspects if seems_zero(_slope(equations, i, z)) and not _inside_a_corner(equations, i, z)]
        if not fakes:
            return row
        row = algebra.without(row, fakes)
        (suspects,) = _suspects([row], algebra)


def _slope(equations: Equations, i: int, z: Jet) -> Expr:
    """The slope of a row, as an expression.

    The rows of the principle are formed only if there is no shorter way: a multiplier of a reaction has its slope in R_V, and a kinematic
    row is there as the user wrote it.
    """
    lowered = equations.lowered
    if equations.rewritten is None:
        k = i - len(lowered.varied)
        if 0 <= k < len(lowered.system.kinematic):
            return lowered.system.kinematic[k].residual.diff(z)
        if k < 0 and isinstance(z, Multiplier) and not lowered.vakonomic:
            return -right_hand_side(lowered, lowered.varied[i]).diff(z)
    return equations.rows[i].residual.diff(z)


def _inside_a_corner(equations: Equations, i: int, z: Jet) -> bool:
    """Whether a jet stands inside sign, abs, min or max where a row comes from. The rows of the principle are not formed for that."""
    if equations.rewritten is not None:
        return bent_by_corners(equations.rewritten[i].residual, [z])
    system, k = equations.lowered.system, i - len(equations.lowered.varied)
    if 0 <= k < len(system.kinematic):
        return bent_by_corners(system.kinematic[k].residual, [z])
    data = [equations.lowered.lagrangian, system.dissipation, *system.forces.values()]
    data += [e for row in equations.lowered.reactions for e in row.values()]
    return any(bent_by_corners(e, [z]) for e in data)


def _suspects(rows: list[Any], algebra: Algebra[Any]) -> list[list[Jet]]:
    """For each row those of its highest jets on which it hardly seems to depend.

    All rows are looked at together, because one tape of all is made sooner than a tape of each; one by one if they are not defined at
    enough common points.
    """
    jets = [_highest(present) for present in algebra.symbols_of_each(rows)]
    slopes = [algebra.gradient(row, found) for row, found in zip(rows, jets, strict=True)]
    sizes = _largest_slopes(slopes, algebra)
    if sizes is None:
        sizes = [found[0] if (found := _largest_slopes([line], algebra)) else np.zeros(len(line)) for line in slopes]
    return [[z for z, size in zip(found, line, strict=True) if size <= _SUSPICIOUS] for found, line in zip(jets, sizes, strict=True)]


def _highest(symbols: Iterable[Symbol]) -> list[Jet]:
    """The highest jet of each quantity among some symbols."""
    highest: dict[str, Jet] = {}
    for z in symbols:
        if isinstance(z, Jet) and not isinstance(z, Place) and (z.base not in highest or z.order > highest[z.base].order):
            highest[z.base] = z
    return sorted(highest.values(), key=lambda z: z.name)


def _largest_slopes(slopes: list[list[Any]], algebra: Algebra[Any]) -> list[NDArray[np.float64]] | None:
    """The largest slopes at some random points, each row measured by its largest one; None if too few points have values."""
    tape = algebra.tape([slope for line in slopes for slope in line])
    ends = np.cumsum([len(line) for line in slopes])[:-1]
    largest = [np.zeros(len(line)) for line in slopes]
    seen = 0
    for seed in range(40):
        try:
            found = np.split(np.abs(tape(random_point(tape.symbols, seed))), ends)
        except Undefined:
            continue
        largest = [np.maximum(a, b / max(1.0, float(b.max(initial=0.0)))) for a, b in zip(largest, found, strict=True)]
        seen += 1
        if seen == _POINTS:
            return largest
    return largest if seen and len(slopes) == 1 else None


def _offsets(weights: NDArray[np.int64], assignment: NDArray[np.int64], first: list[int] | None = None) -> tuple[list[int], list[int]]:
    """The smallest offsets, or the smallest not below the first ones, by Pryce's fixpoint."""
    n = len(assignment)
    c = first or [0] * n
    while True:
        d = [max(int(weights[i, j]) + c[i] for i in range(n) if weights[i, j] != _ABSENT) for j in range(n)]
        new = [d[assignment[i]] - int(weights[i, assignment[i]]) for i in range(n)]
        if new == c:
            return c, d
        c = new
