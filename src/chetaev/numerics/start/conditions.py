"""Rows that initial data must satisfy, and their residuals at states of one or of many members.

`Conditions` are differentiated rows of a system and demands of the user. `Rows` evaluates them at states, in a line for each member, and
compares residuals with the sizes of the terms of their rows, so that units drop out.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import casadi as ca
import numpy as np
from sympy import Expr, Symbol

from chetaev.core.errors import StateError
from chetaev.core.notation import show
from chetaev.core.symbols import Jet, jets_in
from chetaev.mechanics.ranks.factored import Flags, Indices, Matrix
from chetaev.mechanics.ranks.sizes import Sizes, units_of
from chetaev.mechanics.ranks.sparse import Numbers, Sparse, entries_of, is_stored_sparsely, largest_of, parted, scaled, stores_sparsely
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation
from chetaev.numerics.graphs.graph_tape import GraphTape

EXACT_RESIDUAL = 1e-16
"""Scaled residual, and relative size of a slope, that double precision cannot improve."""
_GUESSED = 0.3
"""Unit for moves of a guessed jet, relative to that of a jet without a value: guesses move less."""
_LEAST_SIZE_IN_ORDER = 1e-6
"""Smallest size of a jet relative to the largest of its order."""
_LEAST_TYPICAL_SIZE = 1e-12
"""Smallest size of a jet relative to its typical size."""
_DOUBTFUL = 1e-9
"""Scaled residual above which the terms of the row are evaluated individually, which takes longer."""
_MOST_TERMS = 10_000
"""Most terms of a row that are evaluated individually; a longer row is compared as a whole."""
FIRST = np.zeros(1, dtype=np.int64)
"""The member of a batch of one."""


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
        found = Alone(self.problem, tuple(at)).values(self.tape(tuple(unknowns)), line(at), FIRST)
        if not np.isfinite(found).all():
            raise self.undefined(at)
        m = len(self.asked)
        return found[0, :m] - self.asked, found[0, m:].reshape(m, len(unknowns))

    def undefined(self, at: Mapping[Jet, float]) -> StateError:
        """The error if a row, a demand or one of their slopes has no value."""
        rows = Conditions(self.problem, self.pairs)
        if self.demands and alone(rows, at).look(line(at), FIRST)[2][0]:
            return StateError("the data have no finite value at this state (not a finite number).", where=self.problem.where)
        return self.problem.undefined(self.pairs, at)

    def curved(self, unknowns: Sequence[Jet]) -> list[Jet]:
        """The unknowns that do not enter all rows affinely."""
        wanted = set(unknowns)
        nonlinear = {z for d in self.demands for z in jets_in(d.expression) & wanted if jets_in(d.expression.diff(z)) & wanted}
        nonlinear |= set(self.problem.system.curved(self.pairs, unknowns))
        return [z for z in unknowns if z in nonlinear]

    def tape(self, unknowns: tuple[Jet, ...]) -> GraphTape:
        """The tape of rows and demands, then their Jacobian with respect to `unknowns`; cached."""
        system = self.problem.system
        if not self.demands:
            return system.tape(self.pairs, unknowns)
        if unknowns not in self._tapes:
            rows = [*map(system.row, self.pairs), *[system.algebra.of(demand.expression) for demand in self.demands]]
            self._tapes[unknowns] = system.algebra.tape([*rows, *[d for r in rows for d in system.algebra.gradient(r, unknowns)]])
        return self._tapes[unknowns]

    def summands(self) -> tuple[GraphTape, list[int]]:
        """The tape of the terms of all rows and demands, and the number of terms of each."""
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
        """The values of a tape at states of some members, a line each, finite or not."""


class Alone:
    """A single start: a batch of one."""

    def __init__(self, problem: Problem, jets: tuple[Jet, ...]) -> None:
        self._problem, self.jets = problem, jets
        self._points: dict[GraphTape, tuple[Indices, Indices, Matrix]] = {}
        self._known: dict[Symbol, float] = {}

    def one(self, member: int) -> Problem:
        """The problem."""
        return self._problem

    def values(self, tape: GraphTape, x: Matrix, which: Indices) -> Matrix:
        """The values of a tape at the states in the lines of x."""
        if len(x) == 1:
            return tape.at(self.point(tape, x))[None, :]
        places, columns, point = self._places_of(tape)
        found = []
        for state in x:
            point[places] = state[columns]
            found.append(tape.at(point))
        return np.array(found)

    def point(self, tape: GraphTape, x: Matrix) -> Matrix:
        """The input vector of a tape at the single state of x; valid until the next call."""
        places, columns, point = self._places_of(tape)
        point[places] = x[0, columns]
        return point

    def _places_of(self, tape: GraphTape) -> tuple[Indices, Indices, Matrix]:
        """The positions of jets in the inputs of a tape, the columns of these jets, and an input vector with the other values."""
        if tape not in self._points:
            if not self._known or self._problem.binding.inputs:
                self._known = self._problem.binding.at(tape.symbols, self._problem.t)
            places, columns, others = _places(tape, self.jets)
            values = [0.0] * len(tape.order)
            for k, z in others:
                values[k] = self._known[z]
            self._points[tape] = places, columns, np.array(values)
        return self._points[tape]


@lru_cache(maxsize=256)
def _places(tape: GraphTape, jets: tuple[Jet, ...]) -> tuple[Indices, Indices, list[tuple[int, Symbol]]]:
    """The positions of jets in the inputs of a tape, the columns of these jets, and the positions of other symbols."""
    column = {z: k for k, z in enumerate(jets)}
    places = [k for k, z in enumerate(tape.order) if z in column]
    others = [(k, z) for k, z in enumerate(tape.order) if z not in column]
    return np.array(places, dtype=np.int64), np.array([column[tape.order[k]] for k in places], dtype=np.int64), others


class Rows:
    """Conditions at states of several members."""

    def __init__(self, conditions: Conditions, members: Members) -> None:
        self.conditions, self.members, self.jets = conditions, members, members.jets
        self.units = units_of(self.jets, conditions.sizes)
        self._asked, orders = conditions.asked, np.array([z.order for z in self.jets])
        self._alike = [np.flatnonzero(orders == order) for order in set(orders.tolist())]

    def columns(self, jets: Sequence[Jet]) -> list[int]:
        """The columns of `jets` in a state."""
        place = {z: k for k, z in enumerate(self.jets)}
        return [place[z] for z in jets]

    def look(self, x: Matrix, which: Indices) -> tuple[Matrix, Matrix, Flags]:
        """Residuals, their Jacobian with respect to all jets, and which members have finite values; the others get zeros."""
        found = self.members.values(self.conditions.tape(self.jets), x, which)
        finite: Flags = np.asarray(np.isfinite(found).all(axis=1))
        if not finite.all():
            found = np.where(finite[:, None], found, 0.0)
        m = len(self._asked)
        return found[:, :m] - self._asked, found[:, m:].reshape(len(x), m, len(self.jets)), finite

    def largest(self, x: Matrix) -> Matrix:
        """For each member and jet the largest jet of the same order, in units of their typical sizes."""
        relative = np.abs(x) / self.units
        for alike in self._alike:
            relative[:, alike] = relative[:, alike].max(axis=1, keepdims=True)
        return relative

    def typical(self, x: Matrix) -> Matrix:
        """The size of the jets of each order at a state, in the units of each jet; the typical sizes if all are zero."""
        largest = self.largest(x)
        return np.where(largest == 0, 1.0, largest) * self.units

    def weights(self, columns: Sequence[int], x: Matrix, guessed: Container[Jet] = ()) -> Matrix:
        """The units in which moves of jets are measured: the size of jets of their order, smaller for guesses, which then move less."""
        return self.typical(x)[:, columns] * [_GUESSED if self.jets[k] in guessed else 1.0 for k in columns]

    def sizes(self, x: Matrix) -> Matrix:
        """The sizes of jets at a state.

        The size is the value, or a millionth of the largest jet of its order, so that a velocity that is zero up to round-off among
        velocities of order one contradicts nothing. Jets of one order are compared in units of their typical sizes.
        """
        return np.maximum(np.abs(x), self.units * np.maximum(_LEAST_SIZE_IN_ORDER * self.largest(x), _LEAST_TYPICAL_SIZE))

    def slopes_by(self, jacobian: Matrix, x: Matrix) -> Matrix:
        """The size of the largest term of each row, from its slopes and the sizes of the jets."""
        scale: Matrix = (np.abs(jacobian) * self.sizes(x)[:, None, :]).max(axis=2, initial=0.0)
        return np.where(scale > 0, scale, 1.0)

    def terms_by_slopes(self, x: Matrix, which: Indices) -> tuple[Matrix, Matrix, Flags]:
        """Residuals, the size of the largest term of each row, and which members have finite values."""
        sparse = self.look_sparsely(x)
        if sparse is None:
            residual, jacobian, finite = self.look(x, which)
            return residual, self.slopes_by(jacobian, x), finite
        residual, slopes = sparse
        scale = largest_of(scaled(slopes, np.ones(len(residual)), self.sizes(x)[0]), 1)
        return residual[None], np.where(scale > 0, scale, 1.0)[None], np.ones(1, dtype=bool)

    def look_sparsely(self, x: Matrix) -> tuple[Matrix, Sparse] | None:
        """Residuals and their Jacobian, stored without its zeros, of a single start; None for others, for rows that are not large and
        sparse, and without finite values.
        """
        tape, shape = self.conditions.tape(self.jets), (len(self._asked), len(self.jets))
        if len(x) != 1 or not isinstance(self.members, Alone) or not stores_sparsely(tape, shape):
            return None
        values, slopes = parted(tape, tape.run(self.members.point(tape, x)), shape[0], shape)
        return (values - self._asked, slopes) if np.isfinite(values).all() and np.isfinite(slopes.data).all() else None

    def significant(self, jacobian: Numbers, x: Matrix) -> Numbers:
        """The Jacobian without slopes that are round-off: those of jets whose term is below the last digit of the largest term of the
        row.
        """
        if is_stored_sparsely(jacobian):
            terms = abs(scaled(jacobian, np.ones(jacobian.shape[0]), self.sizes(x)[0]))
            found = jacobian.copy()
            found.data[terms.data <= EXACT_RESIDUAL * largest_of(terms, 1)[entries_of(terms)[0]]] = 0.0
            return found
        terms = np.abs(jacobian) * self.sizes(x)[:, None, :]
        return np.where(terms > EXACT_RESIDUAL * terms.max(axis=2, keepdims=True, initial=0.0), jacobian, 0.0)

    def terms(self, x: Matrix, which: Indices) -> Matrix:
        """The largest term of each row as written, constants included, since jets give no size if they are zero.

        It is at least the demanded value, and zero if a term has no value.
        """
        tape, counts = self.conditions.summands()
        found = np.abs(self.members.values(tape, x, which))
        starts = np.cumsum([0, *counts[:-1]])
        largest = np.maximum.reduceat(found, starts, axis=1) if counts else np.zeros((len(x), 0))
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), np.maximum(largest, np.abs(self._asked)), 0.0)

    def residuals(self, x: Matrix, which: Indices) -> tuple[Matrix, Matrix, Flags]:
        """Residuals relative to the sizes of their terms, plain residuals, and which members have finite values."""
        residual, terms, finite = self.terms_by_slopes(x, which)
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
    scaled, residual, finite = alone(rows, at).residuals(line(at), FIRST)
    if not finite[0]:
        raise rows.undefined(at)
    if not scaled.size:
        return Residual(0.0, 0, 0.0)
    worst = int(np.argmax(scaled))
    return Residual(float(scaled[0, worst]), worst, float(residual[0, worst]))


def alone(rows: Conditions, at: Mapping[Jet, float]) -> Rows:
    """The rows of a single start with the jets of `at`."""
    return Rows(rows, Alone(rows.problem, tuple(at)))


def line(at: Mapping[Jet, float]) -> Matrix:
    """A state as a line."""
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
