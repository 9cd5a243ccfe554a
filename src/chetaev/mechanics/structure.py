r"""Structural analysis by Pryce's Sigma method.

It decides which rows have to be differentiated, how often, and which jets are then the state. The signature matrix $\sigma_{ij}$ holds the
order of the highest derivative of unknown $j$ in row $i$. A maximum-weight assignment and the smallest offsets with
$d_j - c_i \ge \sigma_{ij}$, equality on the assignment, give the answer: row $i$ is differentiated $c_i$ times, jets below $d_j$ are the
state, the derivatives of row $i$ below $c_i$ are constraints on it. Mixed orders, algebraic multipliers and hidden constraints need no
special cases.

J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364-394.

`heaviest_assignment` finds the assignment with the largest total weight. Rows are added one by one, each along a shortest augmenting
path, a search of Dijkstra's kind in reduced costs $w_{ij} = c_{ij} - u_i - v_j \ge 0$ with $w_{ij} = 0$ on the assignment: the Hungarian
method in $O(m^2 n)$ operations. Weights are whole numbers and all arithmetic is exact; of equal columns the first free one is taken, so
that equal matrices give equal assignments.

R. Jonker, A. Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment problems, Computing 38 (1987) 325-340.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.calculus import SYMBOLIC, Algebra, Calculus, Frame
from chetaev.core.exact.signature import TRIALS, related, vanishing
from chetaev.core.support.lines import Line
from chetaev.core.symbols import Jet, Place, highest_orders
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles.given_forces import require_no_contact

_ABSENT = -(10**6)
"""Weight of an unknown that does not occur in a row. It must outweigh the sum of all orders, so that no assignment uses it needlessly."""

Orders = Sequence[Mapping[int, int]]
"""For each row the highest order of every unknown that occurs in it."""


@dataclass(frozen=True)
class Structure:
    """The offsets of rows and unknowns of a system."""

    rows: tuple[Any, ...]
    """The residuals in some algebra, without jets that cancel."""
    unknowns: tuple[Jet, ...]
    orders: tuple[Mapping[int, int], ...]
    """For each row the highest order of every unknown that occurs in it, by the number of the unknown."""
    assignment: tuple[int, ...]
    """The unknown assigned to each row."""
    row_offsets: tuple[int, ...]
    unknown_offsets: tuple[int, ...]
    algebra: Algebra[Any] = field(repr=False, compare=False)
    frame: Frame = field(repr=False, compare=False)
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict, repr=False, compare=False)
    """The entries of the state for each component of a group coordinate: all stored numbers for the first one, none for the others."""

    @property
    def signature(self) -> tuple[tuple[int | None, ...], ...]:
        """The matrix of highest orders, with None for unknowns that do not occur."""
        return tuple(tuple(line.get(j) for j in range(len(self.unknowns))) for line in self.orders)

    @cached_property
    def top(self) -> tuple[Jet, ...]:
        """The jets the system is solved for: $q_j^{(d_j)}$."""
        return tuple(z.d(d) for z, d in zip(self.unknowns, self.unknown_offsets, strict=True))

    @cached_property
    def state(self) -> tuple[Jet, ...]:
        """The jets below the top; a group coordinate is represented by its stored numbers."""
        found: list[Jet] = []
        for z, d in zip(self.unknowns, self.unknown_offsets, strict=True):
            found += self.at_order(z, d, 0)
            found += [z.d(k) for k in range(1, d)]
        return tuple(found)

    def at_order(self, z: Jet, d: int, k: int) -> list[Jet]:
        """The jets of order `k` of `z` in the state, none if `k` reaches its offset `d`; at order 0 the stored numbers of a group."""
        if k >= d:
            return []
        return list(self.places.get(z.base, ())) if k == 0 and z.base in self.places else [z.d(k)]

    @property
    def surplus(self) -> int:
        """The number of entries of the state beyond its dimension: one for each quaternion, whose length is arbitrary."""
        return sum(len(places) - len(places[0].components) for places in self.places.values() if places and places[0] in self.state)

    @property
    def dimension(self) -> int:
        r"""Number of free initial values, $\sum d_j - \sum c_i$."""
        return sum(self.unknown_offsets) - sum(self.row_offsets)

    @cached_property
    def jacobian(self) -> tuple[Line, ...]:
        r"""The system Jacobian $\partial f_i / \partial q_j^{(d_j - c_i)}$."""
        calculus = Calculus(self.algebra, self.frame)
        tops, found = list(zip(self.unknowns, self.unknown_offsets, strict=True)), dict[int, Line]()
        for c in set(self.row_offsets):
            own, moved = [i for i, offset in enumerate(self.row_offsets) if offset == c], [j for j, (_, d) in enumerate(tops) if d >= c]
            lines = calculus.lines([self.rows[i] for i in own], [tops[j][0].d(tops[j][1] - c) for j in moved])
            found |= {
                i: Line({moved[k]: e for k, e in line.entries.items()}, len(tops), line.zero) for i, line in zip(own, lines, strict=True)
            }
        return tuple(found[i] for i in range(len(self.rows)))


def structure(equations: Equations, algebra: Algebra[Any] = SYMBOLIC) -> Structure | None:
    """The structure of a square system, or None if its rows cannot be assigned to its unknowns."""
    require_no_contact(equations.system, "the structure of")
    rows, orders = _signature(equations, algebra)
    if len(rows) != len(equations.unknowns):
        return None
    assignment = sparse_assignment(orders)
    if assignment is None:
        return None
    c, d = _with_places(equations, orders, assignment)
    return _structure(equations, rows, orders, tuple(assignment), c, d, algebra)


def partial_structure(equations: Equations, algebra: Algebra[Any] = SYMBOLIC) -> Structure:
    """Offsets for any number of rows and unknowns: for the rows that can be assigned, and from these for the others.

    An unmatched row is differentiated as often as its jets allow; an unmatched unknown has its own highest order.
    """
    require_no_contact(equations.system, "the structure of")
    rows, orders = _signature(equations, algebra)
    weights = np.full((len(rows), len(equations.unknowns)), _ABSENT)
    for i, line in enumerate(orders):
        weights[i, list(line)] = list(line.values())
    chosen, columns = heaviest_assignment(weights)
    matched = {int(i): int(j) for i, j in zip(chosen, columns, strict=True) if weights[i, j] != _ABSENT}
    c = [0] * len(rows)
    while True:
        d = _highest_raised(orders, c, len(equations.unknowns))
        new = [d[matched[i]] - orders[i][matched[i]] if i in matched else c[i] for i in range(len(rows))]
        if new == c:
            break
        c = new
    for i, line in enumerate(orders):
        if i not in matched and line:
            c[i] = min(d[j] - order for j, order in line.items())
    return _structure(equations, rows, orders, tuple(matched.get(i, -1) for i in range(len(rows))), c, d, algebra)


def _signature(equations: Equations, algebra: Algebra[Any]) -> tuple[list[Any], Orders]:
    rows = _without_absent_jets([row.residual for row in equations.assembled(algebra)], algebra)
    number = {z.base: j for j, z in enumerate(equations.unknowns)}
    found = [highest_orders(algebra.symbols(row)) for row in rows]
    return rows, [dict(sorted((number[base], order) for base, order in line.items() if base in number)) for line in found]


def _structure(
    equations: Equations,
    rows: list[Any],
    orders: Orders,
    assignment: tuple[int, ...],
    c: list[int],
    d: list[int],
    algebra: Algebra[Any],
) -> Structure:
    places: dict[str, tuple[Place, ...]] = {}
    for group in equations.system.groups.values():
        places |= {q.base: group.places if k == 0 else () for k, q in enumerate(group.components)}
    frame = equations.system.frame
    return Structure(tuple(rows), equations.unknowns, tuple(orders), assignment, tuple(c), tuple(d), algebra, frame, places)


def _with_places(equations: Equations, orders: Orders, assignment: Sequence[int]) -> tuple[list[int], list[int]]:
    """The smallest offsets with every group coordinate in the state: a row that fixes its position is differentiated once more."""
    c, d = _offsets(orders, assignment)
    turning = equations.system.frame.turning
    first = [c[i] + int(equations.unknowns[j] in turning and d[j] == 0) for i, j in enumerate(assignment)]
    return (c, d) if first == c else _offsets(orders, assignment, first)


def raised(found: Structure, rows: set[int], columns: set[int]) -> Structure:
    """The structure with some rows differentiated once more, so that they become linear in the jets solved for.

    A row that is not linear in its highest jets is linear in the next ones; the former top becomes part of the state, and the row itself a
    constraint on it. Rows that share these jets are raised too, and so are the jets assigned to them.
    """
    c, d = found.row_offsets, found.unknown_offsets
    touching = [{j for j, order in line.items() if order == d[j] - c[i]} for i, line in enumerate(found.orders)]
    while True:
        more_columns = columns | {found.assignment[i] for i in rows}
        more_rows = rows | {i for i, held in enumerate(touching) if not held.isdisjoint(more_columns)}
        if (more_rows, more_columns) == (rows, columns):
            break
        rows, columns = more_rows, more_columns
    first = [c[i] + (i in rows) for i in range(len(c))]
    new_c, new_d = _offsets(found.orders, found.assignment, first)
    return replace(found, row_offsets=tuple(new_c), unknown_offsets=tuple(new_d))


def _without_absent_jets(rows: Sequence[Any], algebra: Algebra[Any]) -> list[Any]:
    """Rows without highest jets that cancel, as those of a total derivative added to L do.

    Only jets that are formally absent are removed. The derivative by a jet inside `sign` vanishes too; so where a derivative is zero, the
    row itself is compared at points that differ in this jet alone. A jet is removed by setting it to zero, where a row may be undefined
    (log); so the result is compared with the row, and a row that is not shown to be equal keeps its jets.
    """
    found = list(rows)
    changing = list(range(len(found)))
    while changing:
        jets = [_highest(present) for present in algebra.symbols_of_each([found[i] for i in changing])]
        slopes = [algebra.gradient(found[i], own) for i, own in zip(changing, jets, strict=True)]
        flat = [slope for line in slopes for slope in line]
        zero = iter(vanishing(algebra.program(flat)[0]) or [False] * len(flat))
        absent = {
            i: [z for z in own if next(zero) and not _depends_on(found[i], z, algebra)] for i, own in zip(changing, jets, strict=True)
        }
        shorter = {i: algebra.without(found[i], own) for i, own in absent.items() if own}
        same = vanishing(algebra.program([found[i] - row for i, row in shorter.items()])[0]) if shorter else None
        changing = [i for i, equal in zip(shorter, same or (), strict=False) if equal]
        for i in changing:
            found[i] = shorter[i]
    return found


def _depends_on(row: Any, z: Jet, algebra: Algebra[Any]) -> bool:
    """Whether a row depends on `z`, by its signature; True if the field has no point."""
    symbols = sorted(algebra.symbols(row), key=lambda w: (w == z, w.name))
    program, _ = algebra.program([row], symbols)
    if not program.corners:
        return False
    found = related(program, len(symbols) - 1, TRIALS)
    return not found or any(values != found[0][1] for _, values in found)


def _highest(symbols: Iterable[Symbol]) -> list[Jet]:
    """The highest jet of each quantity among some symbols."""
    highest: dict[str, Jet] = {}
    for z in symbols:
        if isinstance(z, Jet) and not isinstance(z, Place) and (z.base not in highest or z.order > highest[z.base].order):
            highest[z.base] = z
    return sorted(highest.values(), key=lambda z: z.name)


def _offsets(orders: Orders, assignment: Sequence[int], first: list[int] | None = None) -> tuple[list[int], list[int]]:
    """The smallest offsets, not below `first` if that is given, by Pryce's fixpoint iteration."""
    c = first or [0] * len(assignment)
    while True:
        d = _highest_raised(orders, c, len(assignment))
        new = [d[j] - orders[i][j] for i, j in enumerate(assignment)]
        if new == c:
            return c, d
        c = new


def _highest_raised(orders: Orders, c: Sequence[int], unknowns: int) -> list[int]:
    """The highest order of each unknown in rows differentiated `c` times; 0 for one that does not occur."""
    found: dict[int, int] = {}
    for line, times in zip(orders, c, strict=True):
        for j, order in line.items():
            found[j] = max(found.get(j, order + times), order + times)
    return [found.get(j, 0) for j in range(unknowns)]


Integers = NDArray[np.int64]

_BEYOND_ANY_PATH = np.iinfo(np.int64).max // 8
"""A distance larger than any path; `4 * _BEYOND_ANY_PATH` must not overflow."""


def heaviest_assignment(weights: Integers) -> tuple[Integers, Integers]:
    """Rows, in ascending order, and the columns assigned to them; their number is the smaller dimension of `weights`.

    >>> rows, columns = heaviest_assignment(np.array([[4, 1, 3], [2, 0, 5]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [0, 2])
    """
    if weights.shape[0] > weights.shape[1]:
        columns, rows = heaviest_assignment(weights.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    costs = -np.asarray(weights, dtype=np.int64)
    m, n = costs.shape
    row_prices, column_prices = np.zeros(m, dtype=np.int64), np.zeros(n, dtype=np.int64)
    owner = np.full(n, -1)
    for row in range(m):
        _augment(costs, row, row_prices, column_prices, owner)
    taken = np.flatnonzero(owner >= 0)
    order = np.argsort(owner[taken])
    return np.arange(m), taken[order]


def _augment(costs: Integers, row: int, row_prices: Integers, column_prices: Integers, owner: Integers) -> None:
    """Assign `row` along the shortest path to a free column, and update the prices so that reduced costs stay non-negative."""
    n = costs.shape[1]
    distance, before = np.full(n, _BEYOND_ANY_PATH), np.full(n, -1)
    done, taken = np.zeros(n, dtype=bool), owner >= 0
    i, column, length = row, -1, 0
    while True:
        offered = length + costs[i] - row_prices[i] - column_prices
        closer = ~done & (offered < distance)
        distance[closer], before[closer] = offered[closer], column
        column = int(
            np.argmin(np.where(done, 4 * _BEYOND_ANY_PATH, 2 * distance + taken))
        )  # among columns at equal distance a free one comes first
        length = int(distance[column])
        if not taken[column]:
            break
        done[column] = True
        i = int(owner[column])
    row_prices[row] += length
    row_prices[owner[done]] += length - distance[done]
    column_prices[done] -= length - distance[done]
    while column >= 0:
        previous = before[column]
        owner[column] = row if previous < 0 else owner[previous]
        column = int(previous)


def sparse_assignment(orders: Orders) -> list[int] | None:
    """The assignment of `heaviest_assignment` for as many rows as columns, from the weights that are present; None if it needs another one.

    A search looks at the entries of the rows that it passes, not at all columns: rows of a chain of bodies take a few operations each.

    >>> sparse_assignment([{0: 4, 1: 1}, {0: 3, 1: 2}])
    [0, 1]
    """
    n = len(orders)
    row_prices, column_prices, owner = [0] * n, [0] * n, [-1] * n
    for row in range(n):
        distance, before, done = dict[int, int](), dict[int, int](), dict[int, int]()
        waiting: list[tuple[int, int]] = []
        i, column, length = row, -1, 0
        while True:
            for j, order in orders[i].items():
                offered = length - order - row_prices[i] - column_prices[j]
                if j not in done and offered < distance.get(j, _BEYOND_ANY_PATH):
                    distance[j], before[j] = offered, column
                    heappush(waiting, (2 * offered + (owner[j] >= 0), j))  # among columns at equal distance a free one comes first
            while waiting and (waiting[0][1] in done or waiting[0][0] >> 1 != distance[waiting[0][1]]):
                heappop(waiting)
            if not waiting:
                return None
            column = heappop(waiting)[1]
            length = distance[column]
            if owner[column] < 0:
                break
            done[column] = length
            i = owner[column]
        row_prices[row] += length
        for j, reached in done.items():
            row_prices[owner[j]] += length - reached
            column_prices[j] -= length - reached
        while column >= 0:
            previous = before[column]
            owner[column] = row if previous < 0 else owner[previous]
            column = previous
    places = {i: j for j, i in enumerate(owner)}
    return [places[i] for i in range(n)]
