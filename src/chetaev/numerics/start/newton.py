r"""Solving rows for some jets: damped steps far from the constraints, steps of frozen rank near them.

Far away a Levenberg-Marquardt step with $\mu \sim |F|$ cannot overshoot; rows and jets are scaled, so units drop out. Near the
constraints the rank of the Jacobian is taken once and kept: with redundant rows its smallest singular value is of the order of the
distance, and a Newton step of full rank would divide by it and leave again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.errors import StateError
from chetaev.core.notation import show
from chetaev.core.symbols import Input, Jet, Place, jets_in
from chetaev.mechanics.ranks.factored import NOISE, Factored, Flags, Indices, Matrix, equilibrated_stack, singular_values, thin_svd
from chetaev.mechanics.ranks.sizes import Sizes, units_of
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation, open_jets
from chetaev.numerics.flow.sampling import points_near
from chetaev.numerics.graphs.algebra import GraphTape

_STEPS = 60
"""Most steps of each of the two phases."""
_NEAR = 1e-6
"""Scaled residual below which damped steps end and steps of frozen rank begin."""
_EXACT = 1e-16
"""Scaled residual (and relative size of a slope) that is exact in double precision."""
_RANK = 1e-8
"""Relative to the largest singular value: smaller ones count as zero. A smaller number would divide by round-off at redundant rows."""
_GUESSED = 0.3
"""Weight of a move of a guessed jet, relative to a jet without a value: guesses move less."""
_SMALL = 1e-6
"""Smallest size of a jet relative to the largest of its order, smallest damping, and relative cut of ranks at a turning point."""
_TINY = 1e-12
"""Smallest size of a jet relative to its typical size."""
_SOLVED = 1e-9
"""Scaled residual of a solution."""
_SAME = 1e-5
"""Relative difference up to which two solutions are the same: a double root is found to half the digits."""
_DOUBTFUL = 1e-9
"""Scaled residual above which the terms of the row are evaluated individually, which takes longer."""
_MOST_TERMS = 10_000
"""Most terms of a row that are evaluated individually; a longer row is compared as a whole."""
_STARTS = 12
"""Starting values of the search for roots; roots may be missed with fewer."""
_NEIGHBOURS = 3
"""Nearby states at which the usual rank of the rows is determined."""
_MOST_DAMPING = 1e9
"""Damping at which the damped steps are abandoned: they no longer move."""


@dataclass(frozen=True)
class Demand:
    """A value that the user gives for an expression, or for a jet above the state."""

    expression: Expr
    value: float

    def __str__(self) -> str:
        return f"{show(self.expression)} = {self.value:g}"


@dataclass(frozen=True)
class Conditions:
    """Rows that initial data must satisfy: differentiated rows of the system (`pairs`), and demands of the user."""

    problem: Problem
    pairs: tuple[Pair, ...]
    demands: tuple[Demand, ...] = ()
    _tapes: dict[tuple[Jet, ...], GraphTape] = field(default_factory=dict, repr=False, compare=False)

    @property
    def sizes(self) -> Sizes:
        """The typical sizes of symbols."""
        return self.problem.sizes

    @property
    def labels(self) -> list[str]:
        """The names of the rows in messages."""
        return [*map(self.problem.system.label, self.pairs), *map(str, self.demands)]

    @property
    def asked(self) -> Matrix:
        """The values that rows and demands must have."""
        return np.array([*[0.0] * len(self.pairs), *[demand.value for demand in self.demands]])

    def numbers(self, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        """Residuals and their Jacobian with respect to some jets at one state; a StateError where one has no value."""
        found = Alone(self.problem, tuple(at)).values(self.tape(tuple(unknowns)), _line(at), _FIRST)
        if not np.isfinite(found).all():
            raise self.undefined(at)
        m = len(self.asked)
        return found[0, :m] - self.asked, found[0, m:].reshape(m, len(unknowns))

    def undefined(self, at: Mapping[Jet, float]) -> StateError:
        """What to say where a row, a demand or one of their slopes has no value."""
        rows = Conditions(self.problem, self.pairs)
        if self.demands and _alone(rows, at).look(_line(at), _FIRST)[2][0]:
            return StateError("the data have no finite value at this state (not a finite number).", where=self.problem.where)
        return self.problem.undefined(self.pairs, at)

    def curved(self, unknowns: Sequence[Jet]) -> list[Jet]:
        """The unknowns that do not enter all rows affinely."""
        wanted = set(unknowns)
        bent = {z for d in self.demands for z in jets_in(d.expression) & wanted if jets_in(d.expression.diff(z)) & wanted}
        bent |= set(self.problem.system.curved(self.pairs, unknowns))
        return [z for z in unknowns if z in bent]

    def tape(self, unknowns: tuple[Jet, ...]) -> GraphTape:
        """What evaluates rows and demands, then their Jacobian with respect to some jets; remembered."""
        system = self.problem.system
        if not self.demands:
            return system.tape(self.pairs, unknowns)
        if unknowns not in self._tapes:
            rows = [*map(system.row, self.pairs), *[system.algebra.of(demand.expression) for demand in self.demands]]
            self._tapes[unknowns] = system.algebra.tape([*rows, *[d for r in rows for d in system.algebra.gradient(r, unknowns)]])
        return self._tapes[unknowns]

    def summands(self) -> tuple[GraphTape, list[int]]:
        """What evaluates the terms of all rows and demands as they stand, and how many each has."""
        if not self.demands:
            return _summands_of(self.problem.system, self.pairs)
        system = self.problem.system
        return _in_summands(system, [*map(system.row, self.pairs), *[system.algebra.of(demand.expression) for demand in self.demands]])


@lru_cache(maxsize=64)
def _summands_of(system: Prolongation, pairs: tuple[Pair, ...]) -> tuple[GraphTape, list[int]]:
    return _in_summands(system, [system.row(pair) for pair in pairs])


def _in_summands(system: Prolongation, rows: Sequence[ca.SX]) -> tuple[GraphTape, list[int]]:
    parts = [_summands(row) for row in rows]
    return system.algebra.tape([term for terms in parts for term in terms]), [len(terms) for terms in parts]


class Members(Protocol):
    """Starts that are completed together: one, or many for which the same jets are given."""

    jets: tuple[Jet, ...]
    """The jets of a state, which is a line with a column for each."""

    def one(self, member: int) -> Problem:
        """The problem of one member."""

    def values(self, tape: GraphTape, x: Matrix, which: Indices) -> Matrix:
        """A tape at states of some members, a line each, finite or not."""


class Alone:
    """A single start: a batch of one."""

    def __init__(self, problem: Problem, jets: tuple[Jet, ...]) -> None:
        self._problem, self.jets = problem, jets
        self._points: dict[GraphTape, tuple[list[int], list[int], Matrix]] = {}

    def one(self, member: int) -> Problem:
        """The problem."""
        return self._problem

    def values(self, tape: GraphTape, x: Matrix, which: Indices) -> Matrix:
        """A tape at the states of the lines of x."""
        if tape not in self._points:
            known, column = self._problem.binding.at(tape.symbols, self._problem.t), {z: k for k, z in enumerate(self.jets)}
            places = [k for k, z in enumerate(tape.order) if z in column]
            point = np.array([0.0 if z in column else known[z] for z in tape.order])
            self._points[tape] = places, [column[tape.order[k]] for k in places], point
        places, columns, point = self._points[tape]
        found = []
        for line in x:
            point[places] = line[columns]
            found.append(tape.at(point))
        return np.array(found)


class Rows:
    """Conditions at states of several members."""

    def __init__(self, conditions: Conditions, members: Members) -> None:
        self.conditions, self.members, self.jets = conditions, members, members.jets
        self.units = units_of(self.jets, conditions.sizes)
        self._asked, orders = conditions.asked, np.array([z.order for z in self.jets])
        self._alike = [np.flatnonzero(orders == order) for order in set(orders.tolist())]

    def columns(self, jets: Sequence[Jet]) -> list[int]:
        """The places of some jets in a state."""
        place = {z: k for k, z in enumerate(self.jets)}
        return [place[z] for z in jets]

    def look(self, x: Matrix, which: Indices) -> tuple[Matrix, Matrix, Flags]:
        """Residuals, their Jacobian with respect to all jets, and which members have finite ones; the others get zeros."""
        found = self.members.values(self.conditions.tape(self.jets), x, which)
        finite: Flags = np.asarray(np.isfinite(found).all(axis=1))
        if not finite.all():
            found = np.where(finite[:, None], found, 0.0)
        m = len(self._asked)
        return found[:, :m] - self._asked, found[:, m:].reshape(len(x), m, len(self.jets)), finite

    def largest(self, x: Matrix) -> Matrix:
        """Of each member the largest jet of each order, at the places of the jets of that order, in units of their usual sizes."""
        relative = np.abs(x) / self.units
        for alike in self._alike:
            relative[:, alike] = relative[:, alike].max(axis=1, keepdims=True)
        return relative

    def typical(self, x: Matrix) -> Matrix:
        """How large jets of each order are at a state, in the units of each jet; the usual sizes if all are zero."""
        largest = self.largest(x)
        return np.where(largest == 0, 1.0, largest) * self.units

    def weights(self, columns: Sequence[int], x: Matrix, guessed: Container[Jet] = ()) -> Matrix:
        """How far each jet may move: as far as jets of its order are large, and guesses less than what was never given."""
        return self.typical(x)[:, columns] * [_GUESSED if self.jets[k] in guessed else 1.0 for k in columns]

    def sizes(self, x: Matrix) -> Matrix:
        """The sizes of jets at a state.

        A jet counts with its value, or with a millionth of the largest jet of its order: a velocity that is zero up to round-off among
        velocities of order one contradicts nothing. Jets of one order are compared in units of their usual sizes.
        """
        return np.maximum(np.abs(x), self.units * np.maximum(_SMALL * self.largest(x), _TINY))

    def slopes_by(self, jacobian: Matrix, x: Matrix) -> Matrix:
        """The size of the largest term of each row, as its slopes tell it."""
        scale: Matrix = (np.abs(jacobian) * self.sizes(x)[:, None, :]).max(axis=2, initial=0.0)
        return np.where(scale > 0, scale, 1.0)

    def significant(self, jacobian: Matrix, x: Matrix) -> Matrix:
        """The Jacobian without slopes that are round-off: those of jets that could not change their row by a digit of its largest term."""
        terms = np.abs(jacobian) * self.sizes(x)[:, None, :]
        return np.where(terms > _EXACT * terms.max(axis=2, keepdims=True, initial=0.0), jacobian, 0.0)

    def terms(self, x: Matrix, which: Indices) -> Matrix:
        """The largest term of each row as it stands, constants included: at rest in the origin no jet tells the size of a row.

        It is at least what a demand asks for, and zero where a term has no value.
        """
        tape, counts = self.conditions.summands()
        found = np.abs(self.members.values(tape, x, which))
        starts = np.cumsum([0, *counts[:-1]])
        largest = np.maximum.reduceat(found, starts, axis=1) if counts else np.zeros((len(x), 0))
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), np.maximum(largest, np.abs(self._asked)), 0.0)

    def residuals(self, x: Matrix, which: Indices) -> tuple[Matrix, Matrix, Flags]:
        """Residuals relative to the sizes of their terms, residuals as they are, and which members have finite ones."""
        residual, jacobian, finite = self.look(x, which)
        terms = self.slopes_by(jacobian, x)
        scaled = np.abs(residual) / terms
        doubtful = np.flatnonzero(scaled.max(axis=1, initial=0.0) > _DOUBTFUL)
        if len(doubtful):
            larger = np.maximum(terms[doubtful], self.terms(x[doubtful], which[doubtful]))
            scaled[doubtful] = np.abs(residual[doubtful]) / larger
        return scaled, residual, finite


@dataclass(frozen=True)
class Residual:
    """The largest residual of data in the rows."""

    scaled: float
    """The largest residual relative to the size of its terms."""
    worst: int
    value: float


def residual_of(rows: Conditions, at: Mapping[Jet, float]) -> Residual:
    """The largest residual of some rows at one state."""
    scaled, residual, finite = _alone(rows, at).residuals(_line(at), _FIRST)
    if not finite[0]:
        raise rows.undefined(at)
    if not scaled.size:
        return Residual(0.0, 0, 0.0)
    worst = int(np.argmax(scaled))
    return Residual(float(scaled[0, worst]), worst, float(residual[0, worst]))


_FIRST = np.zeros(1, dtype=np.int64)


def _alone(rows: Conditions, at: Mapping[Jet, float]) -> Rows:
    return Rows(rows, Alone(rows.problem, tuple(at)))


def _line(at: Mapping[Jet, float]) -> Matrix:
    return np.array([[*at.values()]], dtype=float)


def _summands(row: ca.SX) -> list[ca.SX]:
    """The terms of a graph whose last operations are sums and differences."""
    found, stack = [], [row]
    while stack:
        node = stack.pop()
        if node.is_op(ca.OP_ADD) or node.is_op(ca.OP_SUB) or node.is_op(ca.OP_NEG):
            stack += [node.dep(i) for i in range(node.n_dep())]
        else:
            found.append(node)
        if len(found) + len(stack) > _MOST_TERMS:
            return [*found, *stack]
    return found


def settle(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float], guessed: Container[Jet]) -> dict[Jet, float]:
    """The values nearest to the rows that some jets can reach from where they are; others keep theirs, bit by bit."""
    if not unknowns:
        return dict(at)
    jets, x, alone = list(at), _line(at), _alone(rows, at)
    columns = alone.columns(unknowns)
    if not settle_together(alone, columns, x, _FIRST, guessed)[0]:
        raise rows.undefined(at)
    return dict(zip(jets, x[0].tolist(), strict=True))


def settle_together(rows: Rows, columns: Sequence[int], x: Matrix, which: Indices, guessed: Container[Jet]) -> Flags:
    """Move some jets of some members to the rows, as near as they come; which members the rows have values for."""
    if not len(columns):
        return rows.look(x, which)[2]
    path = _Path(rows, list(columns), x, which, guessed)
    path.approach()
    path.polish()
    return path.finite


class _Path:
    """Iterations of several members towards the rows, in scaled variables; `x` is moved in place.

    Each member goes its own way. One that has arrived, or that gets no nearer, stays where it is.
    """

    def __init__(self, rows: Rows, columns: list[int], x: Matrix, which: Indices, guessed: Container[Jet]) -> None:
        self.rows, self.columns, self.x, self.which = rows, columns, x, which
        self.move = rows.weights(columns, x, guessed)
        residual, jacobian, self.finite = rows.look(x, which)
        self.scale = rows.slopes_by(jacobian, x)
        self.residual, self.jacobian = self._scaled(residual, jacobian, slice(None))
        self.size = np.linalg.norm(self.residual, axis=1)
        far = np.flatnonzero(self.size > _NEAR)
        if len(far):
            self.scale[far] = np.maximum(self.scale[far], rows.terms(x[far], which[far]))
            self.residual, self.jacobian = self._scaled(residual, jacobian, slice(None))
            self.size = np.linalg.norm(self.residual, axis=1)

    def approach(self) -> None:
        """Damped steps until the rows almost hold."""
        damping = np.ones(len(self.x))
        for _ in range(_STEPS):
            going = np.flatnonzero(self.finite & (self.size >= _NEAR) & (damping <= _MOST_DAMPING))
            if not len(going):
                return
            # not by the normal equations: a slope near a pole leaves them without digits
            u, s, vt = thin_svd(self.jacobian[going])
            damped = s / (np.square(s) + (damping[going] * self.size[going])[:, None])
            went = self._goes(going, _combined(u, damped, vt, -self.residual[going]), 1.0)
            damping[going] = np.where(went, np.maximum(damping[going] / 4, _SMALL), damping[going] * 4)

    def polish(self) -> None:
        """Gauss-Newton steps of least weighted norm, with the rank of the first."""
        going = np.flatnonzero(self.finite & (self.size < _NEAR))
        ranks = np.full(len(self.x), -1)
        for _ in range(_STEPS):
            going = going[self.size[going] >= _EXACT]
            if not len(going):
                return
            u, s, vt = thin_svd(self.jacobian[going])
            first = ranks[going] < 0
            if first.any():
                cut = np.maximum(_RANK, 30 * self.size[going])[:, None] * s[:, :1]
                ranks[going] = np.where(first, ((s > cut) & (s > 0)).sum(axis=1), ranks[going])
            kept = np.arange(s.shape[1]) < ranks[going][:, None]
            inverse = np.where(kept, 1 / np.where(kept, s, 1.0), 0.0)
            going = going[self._goes(going, _combined(u, inverse, vt, -self.residual[going]), 0.9)]

    def _goes(self, going: Indices, step: Matrix, factor: float) -> Flags:
        """Take the steps of those members whose residual they shorten to less than a factor of what it was."""
        trial = self.x[going]
        trial[:, self.columns] += step * self.move[going]
        residual, jacobian, finite = self.rows.look(trial, self.which[going])
        residual, jacobian = self._scaled(residual, jacobian, going)
        size = np.linalg.norm(residual, axis=1)
        went: Flags = finite & (size < factor * self.size[going])
        some = going[went]
        self.x[some], self.residual[some], self.jacobian[some], self.size[some] = trial[went], residual[went], jacobian[went], size[went]
        return went

    def _scaled(self, residual: Matrix, jacobian: Matrix, members: Indices | slice) -> tuple[Matrix, Matrix]:
        scale, move = self.scale[members], self.move[members]
        return residual / scale, jacobian[:, :, self.columns] / scale[:, :, None] * move[:, None, :]


def _combined(u: Matrix, factors: Matrix, vt: Matrix, right: Matrix) -> Matrix:
    """V diag(factors) U^T applied to right-hand sides."""
    found: Matrix = (np.swapaxes(vt, 1, 2) @ (factors[:, :, None] * (np.swapaxes(u, 1, 2) @ right[:, :, None])))[:, :, 0]
    return found


def flat_here(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float], cut: float) -> list[Jet]:
    """The unknowns in whose direction the rows have no slope at one state although they have one nearby: a turning point.

    On $x^2 + y^2 = 1$ at $x = 1$ the slope in $y$ vanishes; $y$ is determined to half the digits only, and $y'$ not at all.
    """
    alone, columns, jacobian = _slopes_at(rows, unknowns, at)
    found, usual, scaled = ranks_beside(alone, columns, _line(at), _FIRST, jacobian, cut)
    if found[0] >= usual[0]:
        return []
    beside = _on_the_set(rows, unknowns, at)  # off it rows may be independent that depend on each other wherever they hold
    if beside and found[0] >= max(_rank_of(scaled(a[None])) for a in beside):
        return []
    here = scaled(jacobian[:, :, columns])[0]
    return open_jets(unknowns, np.linalg.svd(here, full_matrices=True)[2][found[0] :].T)


def _slopes_at(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Rows, list[int], Matrix]:
    """Rows at one state, the columns of some unknowns, and the slopes in all jets; a StateError where they have no value."""
    alone = _alone(rows, at)
    _, jacobian, finite = alone.look(_line(at), _FIRST)
    if not finite[0]:
        raise rows.undefined(at)
    return alone, alone.columns(unknowns), jacobian


def ranks_beside(
    rows: Rows, columns: Sequence[int], x: Matrix, which: Indices, jacobian: Matrix, cut: float
) -> tuple[Indices, Indices, Callable[[Matrix], Matrix]]:
    """The ranks of the slopes in some jets at the states of members, those at states nearby, and the scales they are measured in."""
    here = jacobian[:, :, columns]
    around = [_neighbours(rows, columns, x, which, seed) for seed in range(_NEIGHBOURS)]
    scale_rows, _, scale_columns = equilibrated_stack(np.maximum.reduce([np.abs(a) for a in around]))

    def scaled(a: Matrix) -> Matrix:
        found: Matrix = a / scale_rows[:, :, None] / scale_columns[:, None, :]
        return found

    if not here.size:
        nothing = np.zeros(len(x), dtype=np.int64)
        return nothing, nothing, scaled
    sizes = singular_values(np.concatenate([scaled(a) for a in (here, *around)])).reshape(1 + _NEIGHBOURS, len(x), -1)
    return (sizes[0] > cut).sum(axis=1), (sizes[1:] > _SMALL).sum(axis=2).max(axis=0), scaled


def _rank_of(scaled: Matrix) -> int:
    return int(np.sum(singular_values(scaled) > _SMALL))


def _on_the_set(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> list[Matrix]:
    """The slopes at states nearby that satisfy the rows, and those below them."""
    system = rows.problem.system
    known = [pair for pair in system.hidden() if jets_in_rows(system, pair) <= at.keys()]
    point = {**rows.problem.binding.at(system.symbols([*known, *rows.pairs]), rows.problem.t), **at}
    found = []
    for near in points_near([system.row(pair) for pair in known], point, system.algebra, count=_NEIGHBOURS, sizes=rows.sizes):
        try:
            found.append(rows.numbers(unknowns, {z: near[z] for z in at})[1])
        except StateError:
            continue
    return found


def jets_in_rows(system: Prolongation, pair: Pair) -> set[Jet]:
    """The jets of unknowns in a row."""
    return {z for z in system.symbols([pair]) if isinstance(z, Jet) and not isinstance(z, Input)}


def _neighbours(rows: Rows, columns: Sequence[int], x: Matrix, which: Indices, seed: int) -> Matrix:
    """The slopes at states about a tenth away; zeros where they have no value."""
    moved = x + 0.1 * np.maximum(np.abs(x), np.minimum(rows.units, rows.typical(x))) * _chances(seed, x.shape[1])
    found: Matrix = rows.look(moved, which)[1][:, :, columns]
    return found


@lru_cache(maxsize=64)
def _chances(seed: int, count: int) -> list[float]:
    return np.random.default_rng(seed).uniform(0.5, 1.5, count).tolist()


def _typical(z: Jet, at: Mapping[Jet, float], sizes: Sizes) -> float:
    """The size of jets of the same order at a state, in units of their usual sizes; the usual size if all are zero."""
    relative = max((abs(v) / sizes.get(w, 1.0) for w, v in at.items() if w.order == z.order), default=0.0)
    return (relative or 1.0) * sizes.get(z, 1.0)


def null_at(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float], noise: float = NOISE) -> Matrix:
    """Directions in which unknowns can move without changing the rows, as columns, measured by their sizes at the state."""
    alone, columns, jacobian = _slopes_at(rows, unknowns, at)
    return Factored(jacobian[0][:, columns], noise).null_in(alone.weights(columns, _line(at))[0])


@dataclass(frozen=True)
class Root:
    """A solution for missing jets, and the directions in which it is not isolated."""

    at: Mapping[Jet, float]
    null: Matrix


def roots(rows: Conditions, unknowns: Sequence[Jet], known: Mapping[Jet, float], guess: Mapping[Jet, float]) -> list[Root]:
    """Solutions found from several starting values, distinct modulo whole turns of angles; there may be others."""
    chance = np.random.default_rng(7)
    turns = _angles(rows, unknowns, known)
    sizes = rows.sizes
    spread = {z: np.pi if z in turns else 2 * _typical(z, known, sizes) for z in unknowns}
    found: list[Root] = []
    for k in range(_STARTS):
        start = {**known, **{z: float(guess.get(z, spread[z] * chance.uniform(-1, 1)) if k else guess.get(z, 0.0)) for z in unknowns}}
        try:
            at = settle(rows, unknowns, start, guess)
            if residual_of(rows, at).scaled > _SOLVED:
                continue
            root = Root(at, null_at(rows, unknowns, at))
        except StateError:
            continue
        if not any(_alike(root.at, other.at, spread, turns, sizes) for other in found):
            found.append(root)
    return found


def _angles(rows: Conditions, unknowns: Sequence[Jet], known: Mapping[Jet, float]) -> set[Jet]:
    """Unknown positions that a whole turn changes without changing the rows: angles, declared or not."""
    kinds = rows.problem.system.equations.system.kinds
    found = {z for z in unknowns if z.order == 0 and kinds.get(z.base) == "angle"}
    at = {**known, **{z: float(c) * rows.sizes.get(z, 1.0) for z, c in zip(unknowns, _chances(0, len(unknowns)), strict=False)}}
    try:
        here = rows.numbers([], at)[0]
        terms = np.maximum(np.abs(here), _alone(rows, at).terms(_line(at), _FIRST)[0])
        for z in unknowns:
            if z.order == 0 and z not in found and not isinstance(z, Place):
                there = rows.numbers([], {**at, z: at[z] + 2 * np.pi})[0]
                if np.all(np.abs(there - here) <= _SOLVED * terms):
                    found.add(z)
    except StateError:  # no value here: use the declared kinds
        return found
    return found


def _alike(a: Mapping[Jet, float], b: Mapping[Jet, float], spread: Mapping[Jet, float], turns: set[Jet], sizes: Sizes) -> bool:
    """Tell whether two solutions are the same, relative to the spread of the starting values: a double root is found to half the digits,
    and zero has no size.
    """
    for z, size in spread.items():
        gap = abs(a[z] - b[z])
        if z in turns:
            gap = abs((gap + np.pi) % (2 * np.pi) - np.pi)
        if gap > _SAME * max(abs(a[z]), abs(b[z]), _typical(z, a, sizes), size):
            return False
    return True
