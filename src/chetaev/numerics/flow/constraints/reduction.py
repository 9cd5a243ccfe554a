r"""Motions in velocities that the rows on the state leave free.

A state has to satisfy rows $A(q) q' + b = 0$, and jets that they determine need not be integrated: the rates depend on the others only. For
a knife edge with heading $\theta$, $x'$ and $y'$ follow from the speed $u = x' \cos\theta + y' \sin\theta$, which changes more slowly than
both, and the rates in $u$ and $\theta'$ are those one finds by hand.

The rows are eliminated with pivots that are the same at all states, so that the free velocities serve everywhere. A row without such a
pivot may have two entries $a_i, a_j$ with constant $\rho^2 = a_i^2 + a_j^2$, as $-\sin\theta$ and $\cos\theta$. Then, with a further
velocity $u$,

$$ u = a_j z_i - a_i z_j, \quad w = a_i z_i + a_j z_j, \qquad z_i = (a_j u + a_i w)/\rho^2, \quad z_j = (a_j w - a_i u)/\rho^2, $$

and the row determines $w$. Further velocities are integrated beside the state, which keeps all its jets: what the rows determine is
written into it at the end of every step, in place of a projection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from chetaev.core.symbols import TIME, Coordinate, Jet
from chetaev.numerics.flow.constraints.null_space import NullSpaceRows
from chetaev.numerics.flow.constraints.projection import onto_groups
from chetaev.numerics.flow.constraints.triangular import ORDERS_OF_WAYS, triangular
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.nested.rows import nested_rows
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import NOTHING, is_nothing, minus, over, plus, times
from chetaev.numerics.graphs.residues import residues_of
from chetaev.numerics.graphs.simplification.simplify import cost, simplified

_MOST_ROWS = 24
"""Most rows that are eliminated; the time this takes grows with the square of their number."""
_STAGES = 12
"""Evaluations of the rates in a step."""
_PROJECTIONS = 1.1
"""Projections of a step, on average."""
_MORE_COSTLY = 1.2
"""Largest ratio of the costs of a step, with and without reduced velocities, for which further velocities are used: they often allow
longer steps."""
_FAR_MORE_COSTLY = 1.5
"""Ratio of the costs of rates, in reduced velocities and of the flow, above which other ways to write them are not tried: none of the
gallery's systems with a larger one gains by reduced velocities."""

Line = dict[Jet, ca.SX]
"""The entries of a row by the jets they multiply; the entry of `_REST` stands alone."""
_REST = Coordinate("no jet")


@dataclass(frozen=True)
class Reduction:
    """The state of a flow as a function of some of its jets and of further velocities."""

    flow: Flow
    further: tuple[Jet, ...]
    """Symbols of the further velocities."""
    like: tuple[int, ...]
    """For each of them the place in the state of a velocity of its kind."""
    beginning: tuple[ca.SX, ...]
    """Their values at a state."""
    determined: dict[Jet, ca.SX]
    """Jets that the rows determine, as functions of the other jets and the further velocities."""

    @property
    def _arguments(self) -> list[ca.SX]:
        graph, flow = self.flow.graph, self.flow
        return [graph.leaf(TIME), ca.vertcat(flow.x, graph.vector(self.further)), flow.p]

    def _written(self, expressions: Sequence[ca.SX]) -> list[ca.SX]:
        """Expressions in which the jets that rows determine are replaced."""
        column = ca.vertcat(*expressions)
        return _split(ca.substitute(column, self.flow.graph.vector(tuple(self.determined)), ca.vertcat(*self.determined.values())))

    @cached_property
    def _rates(self) -> list[ca.SX]:
        """The rates of state, work and further velocities. Those of jets that rows determine are the derivatives of these functions; or
        rates of the flow, if that costs less. Simplifying takes most of the set-up, so this is tried only where it may decide.
        """
        flow, graph = self.flow, self.flow.graph
        plain = dict(zip(flow.state, flow.rates, strict=True)) | {
            u: flow.rate_of(e) for u, e in zip(self.further, self.beginning, strict=True)
        }
        powers = [self._shorter([flow.power]), self._written([flow.power])] if flow.has_power else [[]]
        free = [z for z in plain if z not in self.determined]
        rates = dict(zip(free, self._shorter([plain[z] for z in free]), strict=True))
        rates |= zip(self.determined, self._along(rates), strict=True)
        ways, before = [rates], cost(graph, flow.rates)
        if before < cost(graph, list(rates.values())) <= (_FAR_MORE_COSTLY if flow.extended is None else float("inf")) * before:
            ways.append(dict(zip(plain, self._shorter(list(plain.values())), strict=True)))
        choices = [(way, power) for way in ways for power in powers]
        best, power = min(choices, key=lambda choice: cost(graph, [*choice[0].values(), *choice[1]]))
        found = [*[best[z] for z in flow.state], *power, *[best[u] for u in self.further]]
        # velocities and accelerations have the same recursion, which is then computed once; short graphs were simplified
        return found if flow.extended is None else _split(ca.cse(ca.vertcat(*found)))

    @cached_property
    def cost_of_step(self) -> float:
        """The cost of the rates in all stages of a step and of completing its end."""
        return _STAGES * cost(self.flow.graph, self._rates) + cost(self.flow.graph, list(self.determined.values()))

    def _along(self, rates: Mapping[Jet, ca.SX]) -> list[ca.SX]:
        """The derivatives of the jets that rows determine, from the rates of the others; inputs have derivatives of their own."""
        graph, determined = self.flow.graph, list(self.determined.values())
        moving = [w for w in graph.symbols_of(determined) if isinstance(w, Jet) or w == TIME]
        own = {w: ca.SX(1) if w == TIME else rates[w] if w in rates else graph.leaf(w.d()) for w in moving}
        return graph.along(determined, own)

    def _shorter(self, expressions: Sequence[ca.SX]) -> list[ca.SX]:
        """Expressions in the free jets, with few operations."""
        written = self._written(expressions)
        return simplified(self.flow.graph, written, range(len(written)), self._points) or written

    @cached_property
    def _points(self) -> list[dict]:
        """States with the values of the further velocities."""
        tape, found = self.flow.graph.tape(self.beginning), []
        for point in self.flow.points[:3]:
            found.append({**point, **dict(zip(self.further, tape(point), strict=True))})
        return found

    def rhs(self) -> ca.Function:
        """The rates of state, work and further velocities, as a function of (t, these, p)."""
        return self.flow.graph.function("reduced", self._arguments, ca.vertcat(*self._rates))

    def begin(self) -> ca.Function:
        """The further velocities at a state."""
        return self.flow.function(self.beginning, "begin")

    def at_state(self) -> ca.Function:
        """The rates of state and work as a function of (t, x, p), computed through the further velocities."""
        graph, flow = self.flow.graph, self.flow
        column = ca.substitute(ca.vertcat(*self._rates[: flow.size]), graph.vector(self.further), ca.vertcat(*self.beginning))
        return flow.function([column], "at_state")

    def complete(self) -> ca.Function:
        """The state with the jets that rows determine; coordinates of groups are brought back to them first."""
        flow, graph = self.flow, self.flow.graph
        jets = [self.determined.get(z, graph.leaf(z)) for z in flow.state]
        arguments = self._arguments
        whole = graph.function("complete", arguments, ca.vertcat(*jets, *flow.work, graph.vector(self.further)))
        t, y, p = (ca.SX.sym(name, argument.numel()) for name, argument in zip("typ", arguments, strict=True))
        moved = y
        for stage in onto_groups(flow):
            moved = ca.vertcat(stage(t, moved[: flow.size], p), moved[flow.size :])
        return ca.Function("complete", [t, y, p], [ca.densify(whole(t, moved, p))])


def reduction_of(flow: Flow) -> Reduction | None:
    """The reduction of a flow by all rows on its state; None if they have no constant pivots, or if it would save nothing."""
    system, graph = flow.system, flow.graph
    if isinstance(flow.extended, NullSpaceRows):
        return _recursive(flow)
    if not system.plain or flow.extended is not None or not 0 < len(system.hidden()) <= _MOST_ROWS:
        return None
    determined: dict[Jet, ca.SX] = {}
    further: list[Jet] = []
    like: list[int] = []
    beginning: list[ca.SX] = []
    for rows, jets in system.staged(-1):
        known = _substituted(graph, rows, determined)
        moving = _affine_jets(graph, known, [z for z in jets if z not in determined])
        lines = _lines(graph, known, moving)
        solved = _solved(graph, lines, moving, len(further))
        if solved is None:
            return None
        for u, first, value in solved.further:
            further.append(u)
            like.append(flow.state.index(first))
            beginning.append(value)
        determined |= solved.determined
    if any(z not in flow.state for z in determined):
        return None
    return _worthwhile(Reduction(flow, tuple(further), tuple(like), tuple(beginning), determined))


def _recursive(flow: Flow) -> Reduction | None:
    """The reduction by rows on the velocities alone, which determine them one after the other; None if they do not."""
    system, graph = flow.system, flow.graph
    ((_, jets), *later), rows = system.staged(-1), nested_rows(system, system.hidden(), NullSpaceRows.shorter)
    recursion = None if later or rows is None else triangular(graph, rows, jets)
    if recursion is None or any(z not in flow.state for z in jets):
        return None
    leaves = [graph.leaf(z) for z in jets]
    turned = {turn.unknown: turn for turn in recursion.turns}
    further = {u: Coordinate(f"reduced velocity {k + 1}").d(jets[turn.jets[0]].order) for k, (u, turn) in enumerate(turned.items())}
    start, directions = recursion.particular(), recursion.directions()
    determined: dict[Jet, ca.SX] = {}
    for k in (step.unknown for step in reversed(recursion.steps) if step.unknown < len(jets)):
        value = start.get(k, NOTHING)
        for f, direction in zip(recursion.free, directions, strict=True):
            own = graph.leaf(further[f]) if f in further else leaves[f]
            value = plus(value, times(direction.get(k, NOTHING), own))
        determined[jets[k]] = value
    like = tuple(flow.state.index(jets[turned[u].jets[0]]) for u in further)
    beginning = tuple(turned[u].of(leaves) for u in further)
    return _worthwhile(Reduction(flow, tuple(further.values()), like, beginning, determined))


def _worthwhile(found: Reduction) -> Reduction | None:
    """A reduction, if a step in its velocities takes less time."""
    flow, graph = found.flow, found.flow.graph
    rates, project = [*flow.rates, *([flow.power] if flow.has_power else [])], flow.project()
    projection = 0.0 if project is None else _PROJECTIONS * project.n_instructions()
    plain = _STAGES * cost(graph, rates) + projection
    return found if found.cost_of_step <= (_MORE_COSTLY if found.further else 1.0) * plain else None


@dataclass(frozen=True)
class _Solved:
    """What a stage determines, and its further velocities, each with a jet of its kind and its value at a state."""

    determined: dict[Jet, ca.SX]
    further: list[tuple[Jet, Jet, ca.SX]]


def _solved(graph: GraphAlgebra, lines: Sequence[Line], jets: Sequence[Jet], known: int) -> _Solved | None:
    """The solution of the rows of a stage; None if none is found that has constant pivots."""
    for ways in ORDERS_OF_WAYS:
        found = _Stage(graph, [dict(line) for line in lines], jets, known).solved(ways)
        if found is not None:
            return found
    return None


class _Stage:
    """Rows that are affine in the jets of a stage, eliminated with constant pivots."""

    def __init__(self, graph: GraphAlgebra, lines: list[Line], jets: Sequence[Jet], known: int) -> None:
        self.graph, self.lines, self.jets, self.first = graph, lines, jets, known
        self.steps: list[tuple[Jet, Line]] = []
        """Jets in the order in which they were eliminated, each as a linear form in others."""
        self.further: list[tuple[Jet, Jet, ca.SX]] = []

    def solved(self, ways: Sequence[tuple[bool, bool]]) -> _Solved | None:
        """Eliminate all rows, each in the first way that suits one of those left: with a pivot or (True) a further velocity, which is
        a number or (True) contains parameters. None if a row has no constant pivot.
        """
        while self.lines:
            if not any(self._turned(parameters) if turning else self._eliminated(parameters) for turning, parameters in ways):
                return None
        determined: dict[Jet, ca.SX] = {}
        for z, form in reversed(self.steps):
            value = form.get(_REST, NOTHING)
            for w, e in form.items():
                if w != _REST:
                    value = plus(value, times(e, determined.get(w, self.graph.leaf(w))))
            determined[z] = value
        return _Solved(determined, self.further)

    def _eliminated(self, parameters: bool) -> bool:
        """Eliminate the first row with a constant entry, by that entry."""
        constant = self._constant([[e for z, e in line.items() if z != _REST] for line in self.lines])
        for k, (line, flags) in enumerate(zip(self.lines, constant, strict=True)):
            places = [z for z, flag in zip([z for z in line if z != _REST], flags, strict=True) if flag]
            pivot = next((z for z in places if parameters or self._is_number(line[z])), None)
            if pivot is not None:
                minus_inverse = over(ca.SX(-1), line[pivot])
                form = {z: times(e, minus_inverse) for z, e in line.items() if z != pivot}
                del self.lines[k]
                self._substitute(pivot, form)
                return True
        return False

    def _turned(self, parameters: bool) -> bool:
        """Introduce a further velocity for the first row with two entries whose squares have a constant sum."""
        for k, line in enumerate(self.lines):
            jets = [z for z in line if z != _REST and z in self.jets]
            pairs = [(a, b) for i, a in enumerate(jets) for b in jets[i + 1 :]]
            squares = [plus(times(line[a], line[a]), times(line[b], line[b])) for a, b in pairs]
            flags = self._constant([squares])[0] if pairs else []
            for (a, b), square, flag in zip(pairs, squares, flags, strict=True):
                if flag and (parameters or self._is_number(square)):
                    del self.lines[k]
                    self._turn(a, b, line, self._without_state(square))
                    return True
        return False

    def _is_number(self, e: ca.SX) -> bool:
        """Whether a constant expression contains no parameters."""
        return not self.graph.symbols(self._without_state(e))

    def _turn(self, a: Jet, b: Jet, line: Line, square: ca.SX) -> None:
        p, q = line[a], line[b]
        u = Coordinate(f"reduced velocity {self.first + len(self.further) + 1}").d(a.order)
        leaf = self.graph.leaf
        self.further.append((u, a, minus(times(q, leaf(a)), times(p, leaf(b)))))
        across = {z: -e for z, e in line.items() if z not in (a, b)}
        for z, along, e in ((a, q, p), (b, -p, q)):
            form = {w: over(times(e, c), square) for w, c in across.items()}
            form[u] = over(along, square)
            self._substitute(z, form)

    def _substitute(self, z: Jet, form: Line) -> None:
        """Replace a jet by a linear form in all rows that are left."""
        self.steps.append((z, form))
        for line in self.lines:
            if z in line:
                factor = line.pop(z)
                for w, e in form.items():
                    product = times(factor, e)
                    line[w] = plus(line[w], product) if w in line else product

    def _constant(self, rows: Sequence[Sequence[ca.SX]]) -> list[list[bool]]:
        """Which expressions are the same at all states, and not zero."""
        width = max(map(len, rows), default=0)
        matrix = [[*row, *[NOTHING] * (width - len(row))] for row in rows]
        residues = residues_of(self.graph, matrix) if width else None
        if residues is None:
            return [[False] * len(row) for row in rows]
        return [[residues.can_pivot(i, j) and residues.is_constant(i, j) for j in range(len(row))] for i, row in enumerate(rows)]

    def _without_state(self, e: ca.SX) -> ca.SX:
        """A constant expression without the state."""
        residues = residues_of(self.graph, [[e]])
        return e if residues is None else residues.frozen(e)


def _affine_jets(graph: GraphAlgebra, rows: Sequence[ca.SX], jets: Sequence[Jet]) -> list[Jet]:
    """Jets in which rows are affine together; of two that multiply each other the one of higher order is kept."""
    moving = sorted(jets, key=lambda z: -z.order)
    for z in reversed(moving):
        slopes = [e for row in rows for e in graph.gradient(row, moving)]
        if not any(graph.which_contain(slopes, moving)):
            break
        if any(graph.which_contain(slopes, [z])):
            moving.remove(z)
    return moving


def _lines(graph: GraphAlgebra, rows: Sequence[ca.SX], jets: Sequence[Jet]) -> list[Line]:
    """Rows that are affine in jets, as linear forms."""
    found = []
    for row in rows:
        line = {z: e for z, e in zip(jets, graph.gradient(row, jets), strict=True) if not is_nothing(e)}
        alone = graph.without(row, jets)
        found.append(line if is_nothing(alone) else {**line, _REST: alone})
    return found


def _substituted(graph: GraphAlgebra, rows: Sequence[ca.SX], known: dict[Jet, ca.SX]) -> list[ca.SX]:
    if not known:
        return list(rows)
    return _split(ca.substitute(ca.vertcat(*rows), graph.vector(tuple(known)), ca.vertcat(*known.values())))


def _split(column: ca.SX) -> list[ca.SX]:
    found: Iterable[ca.SX] = ca.vertsplit(ca.densify(column))
    return list(found)
