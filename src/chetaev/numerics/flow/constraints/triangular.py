r"""Rows that determine jets one after the other: $v = v_0 + B u$ in O(n) operations, where n rows in any order hide a recursion.

The velocity of a trailer's axle follows from that of the axle before it. Rows with nested sums (`chetaev.numerics.flow.nested`) have such
velocities as intermediate results, each with a line of its own. A line is solved for an unknown that no other line contains; then it is
set aside, and an unknown of another line may have become such a one. So nothing is ever substituted, and read backwards the lines give
all unknowns from a few free ones $u$. The transposed recursion gives the multipliers of the lines.

Every pivot is the same at all states. A line without one may have two unknowns $z_i, z_j$ with entries $a_i, a_j$ and a constant
$\rho^2 = a_i^2 + a_j^2$: these are replaced by $u = a_j z_i - a_i z_j$, which is free, and $w = a_i z_i + a_j z_j$, which the line
determines.

A row $a_i X + a_j Y + d z = 0$ often stands before two lines $X' = X + \alpha z$, $Y' = Y + \beta z$ with $(\alpha, \beta) = d\,(a_i,
a_j)$ and $\rho = 1$: an axle moves along its heading only. Then $X' = a_j l$ and $Y' = -a_i l$ with $l = a_j X - a_i Y$. So written, the
lines have no differences, and bounds of rounding errors grow slowly; otherwise they double from line to line. Where X and Y come from
such lines themselves, $l$ is a multiple of the $l$ before it, by the cosine of an angle between two axles: a processor then waits for one
product from axle to axle, not for three operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

import casadi as ca
from sympy import Symbol

from chetaev.core.exact.signature import vanishing
from chetaev.numerics.flow.nested.rows import extended_rows
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import NOTHING, is_nothing, minus, over, plus, times
from chetaev.numerics.graphs.residues import Residues, residues_of

Values = dict[int, ca.SX]
"""Expressions by the number of an unknown; those that are missing are zero."""
NUMBER, TURN, PARAMETER, TURN_WITH_PARAMETER = (False, False), (True, False), (False, True), (True, True)
ORDERS_OF_WAYS = ((NUMBER, TURN, PARAMETER, TURN_WITH_PARAMETER), (NUMBER, PARAMETER, TURN, TURN_WITH_PARAMETER))
"""Orders in which ways to solve a row are tried: with a pivot or (True) by turning two unknowns, with a constant that is a number or
(True) contains parameters. Numbers are the best pivots: a parameter may be small. But with too many turns a later row may be left
without a pivot."""

_ONE = ca.SX(1)


@dataclass(frozen=True, eq=False)
class Step:
    """A line `pivot * unknown + others + rest = 0`, solved for its unknown."""

    unknown: int
    pivot: ca.SX
    others: Values
    rest: ca.SX
    rows: Values = field(default_factory=dict)
    """The rows that are a part of the line, by their places, with their factors."""

    @cached_property
    def form(self) -> Values:
        """The unknown as a linear form in the others. A recursion over n lines waits for each product in turn, so entries are divided
        by the pivot beforehand.
        """
        return {w: _divided(-e, self.pivot) for w, e in self.others.items()}


@dataclass(frozen=True)
class Turn:
    """A free unknown $u = a_j z_i - a_i z_j$, with the places of both jets and its entries."""

    unknown: int
    jets: tuple[int, int]
    entries: tuple[ca.SX, ca.SX]

    def of(self, values: Sequence[ca.SX]) -> ca.SX:
        """The value of the unknown from the values of the jets."""
        first, last = (values[k] for k in self.jets)
        return minus(times(self.entries[1], first), times(self.entries[0], last))


@dataclass(frozen=True)
class Triangular:
    """Lines in an order in which each is solved for an unknown that no later one contains. The first unknowns are the given jets."""

    steps: tuple[Step, ...]
    free: tuple[int, ...]
    """Unknowns that are not solved for."""
    turns: tuple[Turn, ...]

    def particular(self, rests: Sequence[ca.SX] | None = None) -> Values:
        """All unknowns where the free ones are zero. If `rests` are given, these are those of the rows, and further lines have none."""
        found: Values = {}
        for step in reversed(self.steps):
            rest = step.rest if rests is None else reduce(plus, [times(e, rests[k]) for k, e in step.rows.items()], NOTHING)
            self._solve(step, found, rest)
        return found

    def directions(self) -> list[Values]:
        """For each free unknown how all others move with it."""
        found: list[Values] = [{f: _ONE} for f in self.free]
        for step in reversed(self.steps):
            for direction in found:
                self._solve(step, direction, NOTHING)
        return found

    @staticmethod
    def _solve(step: Step, known: Values, rest: ca.SX) -> None:
        total = NOTHING if is_nothing(rest) else _divided(-rest, step.pivot)
        for w, e in step.form.items():
            if w in known:
                total = plus(total, times(e, known[w]))
        if not is_nothing(total):
            known[step.unknown] = total

    def multipliers(self, forces: Mapping[int, ca.SX]) -> Values:
        """The multipliers of the rows, by their places: with those of the further lines, entries times multipliers balance the forces on
        all unknowns that are solved for.
        """
        acting, found = dict(forces), Values()
        for step in self.steps:
            force = acting.get(step.unknown, NOTHING)
            for k, e in step.rows.items():
                found[k] = plus(found.get(k, NOTHING), times(e, _divided(-force, step.pivot)))
            for w, e in step.form.items() if not is_nothing(force) else ():
                acting[w] = plus(acting.get(w, NOTHING), times(e, force))
        return found


def triangular(graph: GraphAlgebra, rows: Sequence[ca.SX], jets: Sequence[Symbol]) -> Triangular | None:
    """The recursion that rows hide; None if they are not affine in the jets, or have no such order with constant pivots."""
    system = extended_rows(graph, rows, jets)
    residues = None if system is None else residues_of(graph, system.matrix)
    if system is None or residues is None:
        return None
    lines = [{j: e for j, e in enumerate(line) if j in residues.rows[i]} for i, line in enumerate(system.matrix)]
    rests = [-e if not is_nothing(e) else NOTHING for e in system.right]
    for ways in ORDERS_OF_WAYS:
        search = _Search(graph, lines, rests, len(rows), len(jets), residues)
        if search.found(ways):
            return search.without_differences()
    return None


class _Search:
    """Lines that are set aside one by one."""

    def __init__(
        self, graph: GraphAlgebra, lines: Sequence[Values], rests: Sequence[ca.SX], rows: int, jets: int, residues: Residues
    ) -> None:
        self.graph, self.lines, self.rests, self.rows, self.jets, self.residues = graph, lines, rests, rows, jets, residues
        self.left = dict.fromkeys(range(len(lines)))
        self.holding: dict[int, set[int]] = {}
        for k, line in enumerate(lines):
            for j in line:
                self.holding.setdefault(j, set()).add(k)
        self.unknowns = jets + len(lines) - rows
        self.steps: list[Step] = []
        self.turns: list[Turn] = []

    def found(self, ways: Sequence[tuple[bool, bool]]) -> bool:
        """Set all lines aside, each solved in the first way that suits one of those left; False if a line remains."""
        while self.left:
            if not any(self._turned(parameters) if turning else self._solved(parameters) for turning, parameters in ways):
                return False
        return True

    def without_differences(self) -> Triangular:
        """The lines in their order, where those of projections are written without differences."""
        steps, projections, chained = list(self.steps), self._projections(), dict[int, tuple[int, int]]()
        for line, (first, last) in projections:
            (x, p), (y, q) = line.others.items()
            along, self.unknowns = self.unknowns, self.unknowns + 1
            for step, a, b in ((first, p, q), (last, q, -p)):  # the row times p or q is added to the line
                rest = plus(step.rest, times(a, line.rest))
                rows = {k: times(a, e) for k, e in line.rows.items()}
                steps[steps.index(step)] = Step(step.unknown, _ONE, {along: -b}, rest, rows)
            place = 1 + max(k for k, step in enumerate(steps) if step.unknown in (first.unknown, last.unknown))
            steps.insert(place, Step(along, _ONE, {x: -q, y: p}, NOTHING))
            chained |= {along: (x, y), line.unknown: (x, y)}
        solved = {step.unknown: step for step in steps}
        steps = [_continued(step, [solved.get(w) for w in chained.get(step.unknown, ())]) for step in steps]
        free = tuple(j for j in range(self.unknowns) if j not in solved)
        return Triangular(tuple(steps), free, tuple(self.turns))

    def _projections(self) -> list[tuple[Step, tuple[Step, Step]]]:
        """The rows that make a projection of two lines, with these lines; both squares add up to one."""
        candidates, zeros = [], list[ca.SX]()
        for line in self.steps:
            after = [step for step in self.steps if line.unknown in step.others]
            if not line.rows or len(line.others) != 2 or len(after) != 2:
                continue
            (x, p), (y, q) = line.others.items()
            pair = next(
                ((a, b) for a, b in (after, after[::-1]) if {*a.others} == {x, line.unknown} and {*b.others} == {y, line.unknown}), None
            )
            if pair is None or any(step.rows or not step.pivot.is_one() for step in pair):
                continue
            candidates.append((line, pair))
            zeros += [minus(plus(times(p, p), times(q, q)), _ONE), plus(pair[0].others[x], _ONE), plus(pair[1].others[y], _ONE)]
            zeros += [plus(step.others[line.unknown], times(line.pivot, e)) for step, e in zip(pair, (p, q), strict=True)]
        zero = vanishing(self.graph.program(zeros)[0]) if zeros else None
        return [] if zero is None else [each for k, each in enumerate(candidates) if all(zero[5 * k : 5 * k + 5])]

    def _solved(self, parameters: bool) -> bool:
        """Solve a line for an unknown that stands in no other line: a further line for the intermediate result that it defines."""
        for k in self.left:
            line, own = self.lines[k], self.jets + k - self.rows
            for j in line if k < self.rows else [own]:
                if (j < self.jets or j == own) and len(self.holding[j]) == 1 and self._constant(k, j, parameters):
                    others = {w: e for w, e in line.items() if w != j}
                    self.steps.append(Step(j, self.residues.frozen(line[j]), others, self.rests[k], {k: _ONE} if k < self.rows else {}))
                    self._set_aside(k)
                    return True
        return False

    def _constant(self, k: int, j: int, parameters: bool) -> bool:
        """Whether an entry is the same at all states, and not zero; a number, or perhaps with parameters."""
        known = self.residues.can_pivot(k, j) and self.residues.is_constant(k, j)
        return known and (parameters or not self.graph.symbols(self.residues.frozen(self.lines[k][j])))

    def _turned(self, parameters: bool) -> bool:
        """Turn two jets of a row that stand in no other line and whose entries have squares with a constant sum."""
        for k in self.left:
            line = self.lines[k]
            jets = [j for j in line if j < self.jets and len(self.holding[j]) == 1] if k < self.rows else []
            for a, b in ((a, b) for i, a in enumerate(jets) for b in jets[i + 1 :]):
                square = plus(times(line[a], line[a]), times(line[b], line[b]))
                residues = residues_of(self.graph, [[square]])
                if residues is None or not (residues.can_pivot(0, 0) and residues.is_constant(0, 0)):
                    continue
                constant = residues.frozen(square)
                if parameters or not self.graph.symbols(constant):
                    self._turn(k, a, b, constant)
                    return True
        return False

    def _turn(self, k: int, a: int, b: int, square: ca.SX) -> None:
        line, u, w = self.lines[k], self.unknowns, self.unknowns + 1
        self.unknowns += 2
        p, q = _divided(line[a], square), _divided(line[b], square)
        self.turns.append(Turn(u, (a, b), (line[a], line[b])))
        others = {j: e for j, e in line.items() if j not in (a, b)}
        self.steps += [
            Step(a, _ONE, {u: -q, w: -p}, NOTHING),
            Step(b, _ONE, {u: p, w: -q}, NOTHING),
            Step(w, _ONE, others, self.rests[k], {k: _ONE}),
        ]
        self._set_aside(k)

    def _set_aside(self, k: int) -> None:
        del self.left[k]
        for j in self.lines[k]:
            self.holding[j].discard(k)


def _continued(step: Step, pair: Sequence[Step | None]) -> Step:
    """A line without the two unknowns of `pair`, where their lines make both multiples of one further unknown; else the line itself."""
    known = [one for one in pair if one is not None and one.pivot.is_one() and len(one.others) == 1]
    before = {w for one in known for w in one.others}
    if len(known) != 2 or len(before) != 1:
        return step
    ((w,), entry, rest, rows) = before, NOTHING, step.rest, dict(step.rows)
    for one in known:
        factor = step.others[one.unknown]
        entry, rest = minus(entry, times(factor, one.others[w])), minus(rest, times(factor, one.rest))
        for k, e in one.rows.items():
            rows[k] = minus(rows.get(k, NOTHING), times(factor, e))
    return Step(step.unknown, step.pivot, {w: entry}, rest, rows)


def _divided(e: ca.SX, by: ca.SX) -> ca.SX:
    """A quotient by a constant, as a product with its inverse, which all quotients share. CasADi would make a division of a product with
    1/d, and that of a product with (2/d)/2 it leaves.
    """
    return e if by.is_one() else times(e, times(over(ca.SX(2), by), ca.SX(0.5)))
