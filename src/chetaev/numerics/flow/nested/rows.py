r"""Rows that are linear in the jets solved for, with intermediate results as further unknowns: a large sparse system for a small dense one.

A chain of n links in angles has a dense mass matrix, which takes O(n^3) operations to eliminate. Its rows are computed from each other in
O(n) operations, if sums are nested (`chetaev.numerics.flow.nested.sums`): accelerations along the chain, and forces back. Each intermediate
result that is used several times becomes an unknown $u$ with a row $u - \sum_i c_i z_i = r$. The determinant is the same, and the
elimination of the sparse system in a fill-reducing order takes O(n) operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.calculus import Calculus
from chetaev.core.exact.signature import vanishing
from chetaev.core.support.lines import Line, present
from chetaev.mechanics.assemble import right_hand_side
from chetaev.numerics.flow.elimination import PivotOrder, Samples, Solved, solve
from chetaev.numerics.flow.nested.sums import NestedAlgebra
from chetaev.numerics.flow.nested.variations import euler_lagrange
from chetaev.numerics.flow.prolongation import Pair, Prolongation
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import NOTHING, dense, is_nothing, minus, over, plus, times
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.residues import Residues
from chetaev.numerics.machine.tape import fold

Flags = NDArray[np.bool_]

_FEWEST_ROWS = 16
"""Fewest rows for which intermediate results are looked for. Bounds of rounding errors grow faster along intermediate results than in a
small dense matrix: with fewer rows more motions would be checked in many digits, which takes longer than what is saved."""
_ENTRIES_OF_SPARSE_ROWS = 6
"""Entries per row of a matrix that is taken as sparse already; only time of set-up depends on it."""
_WORTHWHILE = 0.9
"""Largest ratio of operations, with and without intermediate results, for which these are used; it is an estimate."""
_ONE = ca.SX(1)
"""The coefficient of an unknown in itself."""


@dataclass(frozen=True)
class ExtendedRows:
    """`matrix` times (jets, further unknowns) = `right`; the further rows and unknowns stand last."""

    matrix: tuple[Line, ...]
    right: tuple[ca.SX, ...]
    further: int
    """The number of unknowns that are intermediate results."""
    shorter: ClassVar[bool] = False
    """Whether the rows are written without terms that cancel (`nested_rows`)."""

    def solved(self, order: PivotOrder, samples: Samples, residues: Residues | None, freeze: bool) -> Solved:
        """The jets, and then the further unknowns, by an elimination."""
        return solve(self.matrix, self.right, order, samples, residues, freeze)


@dataclass
class _Form:
    """A linear form in unknowns: coefficients by column, and the part without unknowns."""

    coefficients: dict[int, ca.SX]
    rest: ca.SX


@dataclass(frozen=True)
class LooseRows:
    """Rows in which some expressions are leaves."""

    rows: list[ca.SX]
    leaves: ca.SX
    values: ca.SX
    """What the leaves stand for."""

    def written(self) -> list[ca.SX]:
        """The rows without leaves."""
        found: list[ca.SX] = dense(ca.substitute(ca.vertcat(*self.rows), self.leaves, self.values)).elements()
        return found


_Value = ca.SX | _Form
"""What does not contain unknowns, or a form in them."""


_EXTENDED: Remembered[ExtendedRows | None] = Remembered(64)
_ROWS: Remembered[list[ca.SX] | None] = Remembered(64)
_LEVELS: Remembered[tuple[list[list[ca.SX]], LooseRows | None]] = Remembered(16)


def extended(system: Prolongation) -> ExtendedRows | None:
    """The rows of a system as a sparse linear system with intermediate results; None where that saves nothing, or is not shown to be the
    same; remembered.
    """
    return _EXTENDED.get(system.structure, (), lambda: _extended(system))


def _extended(system: Prolongation) -> ExtendedRows | None:
    jacobian, pairs = system.structure.jacobian, system.stage(0)
    if not system.plain or not is_dense(jacobian):
        return None
    rows = nested_rows(system, pairs)
    found = None if rows is None else extended_rows(system.algebra, rows, system.structure.top)
    if rows is None or found is None:
        return None
    cost = _cost(_present(jacobian), [system.row(pair) for pair in pairs])
    return found if _cost(_present(found.matrix), rows) <= _WORTHWHILE * cost else None


def nested_rows(system: Prolongation, pairs: Sequence[Pair], shorter: bool = False) -> list[ca.SX] | None:
    """Some rows with nested sums; None unless each is shown to be identical with the row as it is stated; remembered.

    With `shorter` they are written without terms that cancel, where that is possible. An elimination of a chain's rows then takes a
    quarter less time, but its rounding errors were eighteen times as large where velocities are small; so that is not done.
    """
    return _ROWS.get(system.structure, (*pairs, shorter), lambda: _shown_rows(system, pairs, shorter))


def _shown_rows(system: Prolongation, pairs: Sequence[Pair], shorter: bool) -> list[ca.SX] | None:
    if system.added:
        return None
    levels, _ = _LEVELS.get(system.structure, (shorter,), lambda: _levels(system, shorter))
    if len(levels[0]) != len(system.structure.rows):
        return None
    rows = [levels[times][i] for i, times in pairs]
    differences = [minus(row, system.row(pair)) for row, pair in zip(rows, pairs, strict=True)]
    zero = vanishing(system.algebra.program(differences)[0])
    return rows if zero is not None and all(zero) else None


def _levels(system: Prolongation, shorter: bool) -> tuple[list[list[ca.SX]], LooseRows | None]:
    """All rows with nested sums, and their derivatives; all are differentiated together, so that derivatives share as much as rows. Then
    the rows with the rates of factors as leaves, if they are known.
    """
    source, graph = system.equations.system, system.algebra
    nested = NestedAlgebra(graph, [*source.coordinates, *source.parameters])
    loose = _without_cancelling_terms(system, nested) if shorter else None
    found = [loose.written() if loose else [row.residual for row in system.equations.assembled(cast(GraphAlgebra, nested))]]
    calculus = Calculus(graph, source.frame)
    for _ in range(max(system.structure.row_offsets)):
        found.append(calculus.totals(found[-1]))
    return found, loose


def loose_rows(system: Prolongation, places: Sequence[int]) -> LooseRows | None:
    """Some of the rows as stated, with nested sums, in which the rates of factors are leaves; None where they are not known or not shown
    to be the rows.
    """
    if nested_rows(system, [(i, 0) for i in places], shorter=True) is None:
        return None
    _, found = _LEVELS.get(system.structure, (True,), lambda: _levels(system, True))
    return None if found is None else replace(found, rows=[found.rows[i] for i in places])


def _without_cancelling_terms(system: Prolongation, nested: NestedAlgebra) -> LooseRows | None:
    """All rows, with Euler-Lagrange expressions that are written without terms that cancel; None where that is not possible."""
    equations, lowered = system.equations, system.equations.lowered
    source = lowered.system
    if equations.rewritten is not None or lowered.action is not None or source.equations or source.groups:
        return None
    order = [*equations.system.coordinates, *equations.system.parameters]
    found = euler_lagrange(system.algebra, lowered.lagrangian, source.coordinates, order)
    if found is None:
        return None
    varied, expressions = set(lowered.varied), zip(source.coordinates, found.expressions, strict=True)
    own = [minus(e, nested.of(right_hand_side(lowered, q))) for q, e in expressions if q in varied]
    stated = [minus(nested.of(row.lhs), nested.of(row.rhs)) for row in source.kinematic]
    return LooseRows([*own, *stated], found.leaves, found.rates)


def is_dense(matrix: Sequence[Sequence[ca.SX]], fewest: int = _FEWEST_ROWS) -> bool:
    """Tell whether a matrix has enough rows and entries for nested sums to save operations."""
    entries = sum(not is_nothing(e) for line in matrix for _, e in present(line)) if len(matrix) >= fewest else 0
    return len(matrix) >= fewest and entries >= _ENTRIES_OF_SPARSE_ROWS * len(matrix)


def nested_lagrangian(system: Prolongation) -> NestedAlgebra | None:
    """An algebra in which the Lagrangian has nested sums; None unless it is shown to be identical with the Lagrangian as it is stated."""
    source, graph = system.equations.system, system.algebra
    nested, lagrangian = NestedAlgebra(graph, [*source.coordinates, *source.parameters]), system.equations.lowered.lagrangian
    zero = vanishing(graph.program([minus(nested.of(lagrangian), graph.of(lagrangian))])[0])
    return nested if zero is not None and all(zero) else None


def _present(matrix: Sequence[Sequence[ca.SX]]) -> Flags:
    found = np.zeros((len(matrix), len(matrix[0])), dtype=bool)
    for i, line in enumerate(matrix):
        found[i, [j for j, e in present(line) if not is_nothing(e)]] = True
    return found


def _cost(present: Flags, rows: Sequence[ca.SX]) -> int:
    """Operations that rows and their elimination take, by Markowitz' counts alone."""
    column = ca.vertcat(*rows)
    total = int(ca.Function("rows", [ca.vertcat(*ca.symvar(column))], [column]).n_instructions())
    left = present.copy()
    for _ in range(len(left)):
        lengths, heights = left.sum(axis=1) - 1, left.sum(axis=0) - 1
        counts = np.where(left, lengths[:, None] * heights[None, :], np.iinfo(np.int64).max)
        i, j = divmod(int(counts.argmin()), left.shape[1])
        if not left[i, j]:
            break
        total += 2 * int(counts[i, j])
        left[np.ix_(left[:, j], left[i])] = True
        left[i], left[:, j] = False, False
    return total


def extended_rows(graph: GraphAlgebra, rows: Sequence[ca.SX], jets: Sequence[Symbol]) -> ExtendedRows | None:
    """The rows `rows = 0` as a sparse linear system in the jets and intermediate results; None if they are not linear in the jets."""
    column = dense(ca.vertcat(*rows))
    symbols = ca.symvar(column)
    function = ca.Function("rows", [ca.vertcat(*symbols)], [column])
    places = {graph.leaf(z).name(): k for k, z in enumerate(jets)}
    extension = _Extension(symbols, places, len(jets), _uses(function))
    try:
        forms = fold(function, extension.read, _number, extension.apply)
    except _NotLinear:
        return None
    return extension.matrix([_form(e) if e is not None else _form(NOTHING) for e in forms])


class _NotLinear(Exception):
    """An operation on an unknown is not linear."""


def _uses(function: ca.Function) -> list[int]:
    """How often the result of each operation is used, in the order of the tape."""
    counts: list[list[int]] = []

    def begun(*_: float) -> list[int]:
        return [0]

    def applied(_: int, arguments: tuple[list[int], ...]) -> list[int]:
        for used in arguments:
            used[0] += 1
        counts.append([0])
        return counts[-1]

    for used in fold(function, begun, begun, applied):
        if used is not None:
            used[0] += 1
    return [used[0] for used in counts]


class _Extension:
    """The rows in unknowns, of which there are more and more."""

    def __init__(self, symbols: Sequence[ca.SX], places: dict[str, int], width: int, uses: Sequence[int]) -> None:
        self.symbols, self.places, self.width = symbols, places, width
        self.uses = iter(uses)
        self.further: list[_Form] = []

    def read(self, _: int, entry: int) -> _Value:
        symbol = self.symbols[entry]
        column = self.places.get(symbol.name())
        return symbol if column is None else _Form({column: _ONE}, NOTHING)

    def apply(self, operation: int, arguments: tuple[_Value, ...]) -> _Value:
        uses, made = next(self.uses), _applied(operation, arguments)
        return self._named(made) if isinstance(made, _Form) and len(made.coefficients) > 1 and uses > 1 else made

    def _named(self, form: _Form) -> _Form:
        """A form as an unknown."""
        self.further.append(form)
        return _Form({self.width + len(self.further) - 1: _ONE}, NOTHING)

    def matrix(self, outputs: Sequence[_Form]) -> ExtendedRows:
        """The system whose first rows are the outputs."""
        whole, matrix, right = self.width + len(self.further), [], []
        for form in outputs:
            matrix.append(Line(dict(sorted(form.coefficients.items())), whole, NOTHING))
            right.append(-form.rest)
        for k, form in enumerate(self.further):
            line = {j: -e for j, e in form.coefficients.items()} | {self.width + k: _ONE}
            matrix.append(Line(dict(sorted(line.items())), whole, NOTHING))
            right.append(form.rest)
        return ExtendedRows(tuple(matrix), tuple(right), len(self.further))


def _number(value: float) -> ca.SX:
    return ca.SX(value)


def _form(e: _Value) -> _Form:
    return e if isinstance(e, _Form) else _Form({}, e)


def _applied(operation: int, arguments: tuple[_Value, ...]) -> _Value:
    """What an operation makes of its arguments; it must be linear in unknowns."""
    first, last = arguments[0], arguments[-1]
    if not isinstance(first, _Form) and not isinstance(last, _Form):
        return ca.SX.unary(operation, first) if len(arguments) == 1 else ca.SX.binary(operation, first, last)
    if operation == ca.OP_ADD:
        return _added(_form(first), _form(last))
    if operation == ca.OP_SUB:
        return _added(_form(first), _scaled(_form(last), ca.SX(-1)))
    if operation in _FACTORS and isinstance(first, _Form):
        return _scaled(first, ca.SX(_FACTORS[operation]))
    if operation == ca.OP_MUL and isinstance(first, _Form) and not isinstance(last, _Form):
        return _scaled(first, last)
    if operation == ca.OP_MUL and isinstance(last, _Form) and not isinstance(first, _Form):
        return _scaled(last, first)
    if operation == ca.OP_DIV and isinstance(first, _Form) and not isinstance(last, _Form):
        return _scaled(first, over(_ONE, last))
    raise _NotLinear


_FACTORS = {int(ca.OP_NEG): -1.0, int(ca.OP_TWICE): 2.0}
"""Operations that multiply by a number."""


def _added(a: _Form, b: _Form) -> _Form:
    found = dict(a.coefficients)
    for j, e in b.coefficients.items():
        found[j] = plus(found[j], e) if j in found else e
    return _Form(found, plus(a.rest, b.rest))


def _scaled(form: _Form, factor: ca.SX) -> _Form:
    return _Form({j: times(e, factor) for j, e in form.coefficients.items()}, times(form.rest, factor))
