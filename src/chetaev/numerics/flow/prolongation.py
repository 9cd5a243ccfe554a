"""The rows of a system together with their total derivatives, and their numbers at a state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar, cast

import numpy as np
import sympy
from sympy import Expr, Symbol

from chetaev.core.calculus import Calculus
from chetaev.core.errors import StateError
from chetaev.core.exact.signature import related
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance, size, spend
from chetaev.core.symbols import TIME, Action, Coordinate, Input, Jet, Multiplier, Parameter, highest_orders, jets_in
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Consequence, Origin
from chetaev.mechanics.ranks.exact import exact_rank, exactly_zero, free_columns
from chetaev.mechanics.ranks.factored import Factored, least_norm, null_space, open_jets
from chetaev.mechanics.ranks.generic import Matrix, Point, matrices_at, measured_at, numbers_at, points_on
from chetaev.mechanics.ranks.sizes import Sizes, natural_sizes
from chetaev.mechanics.ranks.sparse import clearly_regular
from chetaev.mechanics.structure import Structure, raised, structure
from chetaev.mechanics.tolerances import CUT, POINT_ERROR, STATE_ERROR
from chetaev.numerics.flow.sampling import points_from, points_near
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.graph_tape import GraphTape

__all__ = [
    "Pair",
    "Problem",
    "Prolongation",
    "least_norm",
    "null_space",
    "open_jets",
    "plainly_affine",
    "prolongation",
    "square_prolongation",
]

_ZERO = 1e-9
"""Relative difference up to which a slope is the same at two random points."""
_TRIES = 6
"""Pairs of random points at which slopes are compared, where the finite field has no point."""
_POINTS = 4
"""Random points of the constraint manifold at which ranks are evaluated; with fewer, special points could decide."""
_MORE = 5
"""Factor by which the number of random points is increased where the first ones are unsuitable."""
_CONTRADICTION = 1e-7
"""Relative to the sum of their terms: largest residual of consistent rows, at points that satisfy the lower rows to 1e-11."""
_NOTHING = 1e-8
"""Relative to the largest top: a smaller top may be round-off."""
_SECONDS = 2.0
"""Budget of the search for the sub-expression without a value; without a result the message names none."""

_T = TypeVar("_T")

Pair = tuple[int, int]
"""A row and how often it is differentiated."""


def _null_space(matrix: Matrix, doubts: Matrix) -> tuple[Matrix, bool]:
    """The null space of a matrix, and whether round-off may be all that makes its rank so large."""
    if clearly_regular(matrix, doubts, CUT):
        return np.zeros((len(matrix), 0)), False
    found = Factored(matrix, doubts=doubts)
    return found.null, found.may_be_less


class Prolongation:
    """Derivatives of the rows on a graph, formed when they are needed, for equations with a structure."""

    def __init__(
        self, equations: Equations, found: Structure, near: Point | None = None, added: tuple[str, ...] = (), count: int = _POINTS
    ) -> None:
        self.equations, self.structure, self.algebra = equations, found, cast(GraphAlgebra, found.algebra)
        self._near, self.added, self._count = near, added, count
        self.stated = self
        """The same rows with the ranks at random states, if the ranks here are those at given states."""
        self._seeds: list[Point] = []
        # the action variable counts as an unknown with its row s' = L: only then are derivatives of rows consistent with the offsets
        self._calculus = Calculus(found.algebra, equations.system.frame)
        self._derivatives: list[list[Any]] = [[row] for row in found.rows]
        self._tapes: dict[tuple[tuple[Pair, ...], tuple[Jet, ...]], GraphTape] = {}
        self._curved: dict[tuple[tuple[Pair, ...], tuple[Jet, ...]], list[Jet]] = {}
        self._sizes: dict[tuple[tuple[str, float], ...], Sizes] = {}
        self._last_nulls: tuple[Sequence[Point], list[Matrix | None]] = ((), [])

    def row(self, pair: Pair) -> Any:
        """Return a row, differentiated as often as the pair says."""
        i, times = pair
        known = self._derivatives[i]
        while len(known) <= times:
            known.append(self._calculus.total(known[-1]))
        return known[times]

    def tape(self, pairs: Sequence[Pair], unknowns: Sequence[Jet]) -> GraphTape:
        """What evaluates some rows and their Jacobian with respect to some jets; remembered."""
        key = (tuple(pairs), tuple(unknowns))
        if key not in self._tapes:
            rows = [self.row(pair) for pair in pairs]
            self._tapes[key] = self.algebra.tape([*rows, *[d for r in rows for d in self._calculus.gradient(r, unknowns)]])
        return self._tapes[key]

    def stage(self, k: int) -> list[Pair]:
        """The rows of stage `k`: those that concern jets `k` above the top (below, for negative k)."""
        return [(i, c + k) for i, c in enumerate(self.structure.row_offsets) if c + k >= 0]

    def stages(self) -> range:
        """The stages of rows that restrict the state, positions first."""
        return range(-max(self.structure.row_offsets, default=0), 0)

    def hidden(self) -> list[Pair]:
        """All rows the state must satisfy."""
        return list(self._hidden)

    @cached_property
    def _hidden(self) -> tuple[Pair, ...]:
        return tuple(pair for k in self.stages() for pair in self.stage(k))

    def label(self, pair: Pair) -> str:
        """Return the name of a differentiated row in messages."""
        return (*self.equations.labels, *self.added)[pair[0]] + "'" * pair[1]

    def origin(self, row: int) -> Origin:
        """Return the origin of a row."""
        origins = self.equations.origins
        return origins[row] if row < len(origins) else Consequence(self.added[row - len(origins)])

    def extended(self, rows: Sequence[Any], labels: Sequence[str]) -> Prolongation:
        """The system with further rows, differentiated as often as their jets allow."""
        found = self.structure
        offsets = {z.base: d for z, d in zip(found.unknowns, found.unknown_offsets, strict=True)}
        orders = [_orders(self.algebra.symbols(row), offsets) for row in rows]
        more = Prolongation(
            self.equations,
            replace(
                found,
                rows=(*found.rows, *rows),
                signature=(*found.signature, *[tuple(present.get(z.base) for z in found.unknowns) for present in orders]),
                assignment=(*found.assignment, *[-1] * len(rows)),
                row_offsets=(*found.row_offsets, *[min((offsets[b] - k for b, k in o.items()), default=0) for o in orders]),
            ),
            self._near,
            (*self.added, *labels),
            self._count,
        )
        more._seeds = self.__dict__.get("points", [])
        more._sizes = self._sizes  # consequences have the sizes of their rows
        more._derivatives = [*self._derivatives, *more._derivatives[len(self._derivatives) :]]
        return more

    def row_without_unknowns(self, label: str) -> bool:
        """Whether a row contains no jet of an unknown."""
        row = self.structure.rows[(*self.equations.labels, *self.added).index(label)]
        return not any(isinstance(z, Jet) and not isinstance(z, Input) for z in self.algebra.symbols(row))

    def symbols(self, pairs: Sequence[Pair]) -> frozenset[Symbol]:
        """The symbols that occur in some rows."""
        return frozenset().union(*[self.algebra.symbols(self.row(pair)) for pair in pairs])

    @cached_property
    def reported(self) -> dict[Jet, int]:
        """The order up to which each unknown is reported: accelerations, the tops, and the jets in which the system is written."""
        source = self.equations.system
        written = [
            source.lagrangian,
            *source.equations.values(),
            source.dissipation,
            *source.forces.values(),
            *[row.residual for row in source.kinematic],
        ]
        written += [e for row in source.variational or () for e in row.coefficients.values()]
        highest = max((z.order for e in written for z in jets_in(e, Coordinate)), default=0)
        lowered = self.equations.lowered
        least = {Coordinate: max(2, highest), Action: 1}
        offsets = zip(self.structure.unknowns, self.structure.unknown_offsets, strict=True)
        return {z: max(least.get(type(z), int(lowered.is_costate(z))), d) for z, d in offsets}

    @cached_property
    def generic_nullity(self) -> int | None:
        """The nullity of the system Jacobian at random points of the constraint manifold.

        Positive for redundant constraints, whose multipliers are not unique; None if a coordinate is left open everywhere, or if rows that
        depend on each other contradict each other, so that they hide a further constraint or a free function.
        """
        known = any(null is not None for null in self._nulls)  # without a value at any random point nothing is known
        return self._generic_null.shape[1] if known and self.harmless(self._generic_null) and self.solvable else None

    @property
    def nullity(self) -> int:
        """The smallest nullity of the system Jacobian at the points, for coordinates and multipliers alike."""
        return int(self._generic_null.shape[1])

    @property
    def square(self) -> bool:
        """Whether there are as many rows as unknowns."""
        return len(self.structure.rows) == len(self.structure.unknowns)

    @property
    def plain(self) -> bool:
        """Whether the system Jacobian is square and of full rank."""
        return self.square and self.generic_nullity == 0

    @cached_property
    def solvable(self) -> bool:
        """Whether the rows of stage 0 have a solution wherever those below hold."""
        if self.square and not self._generic_null.shape[1]:
            return True
        return not self.contradictions(self.generic_points)

    def contradictions(self, points: Sequence[Point]) -> dict[int, float]:
        """Return points, by index, at which no tops satisfy all rows of stage 0, with the size of the residual."""
        pairs, top = self.stage(0), self.structure.top
        rest = [[self.algebra.without(self.row(pair), top)] for pair in pairs]
        found = {}
        for k, point in enumerate(points):
            matrices, right = (matrices_at(e, [point], self.algebra) for e in (self.structure.jacobian, rest))
            if matrices and right:
                b = right[0].ravel()
                solution = least_norm(matrices[0], b, self._noise)[0]
                left = np.abs(b - matrices[0] @ solution)
                sizes = np.abs(solution) + _NOTHING * np.abs(solution).max(initial=0.0)  # a vanishing top has the round-off of the others
                terms = np.abs(b) + np.abs(matrices[0]) @ sizes
                if (left > _CONTRADICTION * terms).any():
                    found[k] = float(left.max(initial=0.0))
        return found

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The multipliers that redundant constraints leave open."""
        return tuple(z.name for z in open_jets(self.structure.top, self._generic_null))

    @property
    def drawn(self) -> bool:
        """Whether the points were drawn at the sizes of the jets, and not near a state."""
        return self._near is None

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of symbols, from the numbers in the rows and the parameters of the state near which ranks are evaluated."""
        return self.sizes_with(self._near or {})

    def sizes_with(self, known: Mapping[Symbol, float]) -> Sizes:
        """Return the sizes of symbols for given values of the parameters; cached."""
        values = {z: float(v) for z, v in known.items() if isinstance(z, Parameter)}
        key = tuple(sorted(((z.name, v) for z, v in values.items())))
        if key not in self._sizes:
            rows = [self.row(pair) for pair in (*self.hidden(), *self.stage(0))]
            self._sizes[key] = natural_sizes(rows, self.algebra, values, [TIME, *self.structure.state, *self.structure.top])
        return self._sizes[key]

    @cached_property
    def points(self) -> list[Point]:
        """Random points of the constraint manifold, with a value for every symbol of the rows that are solved."""
        hidden = [self.row(pair) for pair in self.hidden()]
        if self._seeds and (found := points_from(hidden, self._seeds, self.algebra, self.sizes)):
            return found
        if self._near is not None:
            moved = [
                z for z in self._near if isinstance(z, Jet) and not isinstance(z, Input)
            ]  # ranks depend on more jets than the rows contain
            return [self._near, *points_near(hidden, self._near, self.algebra, count=self._count, moved=moved, sizes=self.sizes)]
        symbols = self.symbols([*self.hidden(), *self.stage(0)])
        found = points_on(hidden, list(symbols), count=self._count, algebra=self.algebra, sizes=self.sizes)
        if any(null is None for null in self._null_spaces(found)):  # a square root may be undefined at most random points
            more = points_on(hidden, list(symbols), count=_MORE * self._count, algebra=self.algebra, sizes=self.sizes)
            found = [point for point, a in zip(more, self.jacobians(more), strict=True) if a is not None][: self._count]
        if hidden and self._least_nullity(found):
            # with constraints that are quadratic forms, random parameters may allow only rest: other parameters are tried
            more = points_on(hidden, list(symbols), count=_MORE * self._count, algebra=self.algebra, sizes=self.sizes)
            found = more if self._least_nullity(more) < self._least_nullity(found) else found
        if hidden and len({a.shape[1] for a in self._null_spaces(found) if a is not None}) > 1:
            # the staged iteration converged to non-generic points: repeat it with all jets and frozen rank
            starts: list[Point] = [random_point(symbols, seed, sizes=self.sizes) for seed in range(3 * self._count)]
            found = points_from(hidden, starts, self.algebra, self.sizes)[: 2 * self._count] or found
        return found

    def _least_nullity(self, points: Sequence[Point]) -> int:
        return min((null.shape[1] for null in self._null_spaces(points) if null is not None), default=0)

    @property
    def original(self) -> Prolongation:
        """The system without rows that were added."""
        if not self.added:
            return self
        n, found = len(self.equations.labels), self.structure
        rows = {name: getattr(found, name)[:n] for name in ("rows", "signature", "assignment", "row_offsets")}
        return Prolongation(self.equations, replace(found, **rows), self._near, count=self._count)

    def sampled(self, count: int) -> Prolongation:
        """Return the same rows with the ranks at `count` random points."""
        found = Prolongation(self.equations, self.structure, self._near, self.added, count)
        found._derivatives, found._tapes, found._sizes = self._derivatives, self._tapes, self._sizes
        found.stated = self.stated
        return found

    def near(self, point: Point) -> Prolongation:
        """Return the same rows with the ranks near a given state: constraints may have several branches, with different ranks."""
        found = Prolongation(self.equations, self.structure, dict(point), self.added, self._count)
        found._derivatives, found._tapes, found._sizes = self._derivatives, self._tapes, self._sizes
        found._curved, found.stated = self._curved, self.stated
        return found

    def standing(self, points: Sequence[Point], null: Matrix) -> Prolongation:
        """Return the same rows with the rank at given states and along the motion from there."""
        found = self.near(points[0])
        found.points = [dict(point) for point in points]
        found._nulls = [null] * len(points)
        found.solvable = True
        return found

    def rates_of(self, symbols: Sequence[Jet], count: int) -> dict[Jet, list[Any]]:
        """The first derivatives of some jets with respect to time: those of places contain the velocities of their group."""
        found: dict[Jet, list[Any]] = {}
        for z in symbols:
            e = self.algebra.of(z)
            found[z] = [e := self._calculus.total(e) for _ in range(count)]
        return found

    @property
    def _noise(self) -> float:
        """The relative size of a zero entry: points on constraints have the error of Newton's iteration, others only round-off."""
        return 1e-11 if self.hidden() else 1e-15

    @cached_property
    def _nulls(self) -> list[Matrix | None]:
        return self._null_spaces(self.points)

    def _null_spaces(self, points: Sequence[Point]) -> list[Matrix | None]:
        """The null space of the system Jacobian at each point; None where it is undefined. Those of the last list of points are kept.

        None also where round-off may be all that makes the rank full, if another point shows more.
        """
        known, nulls = self._last_nulls
        if known is not points:
            found = [None if numbers is None else _null_space(*numbers) for numbers in self.measured(points)]
            if any(at is not None and not at[0].shape[1] for at in found) and self.may_saturate:
                found = [None if numbers is None else _null_space(*numbers) for numbers in self.measured(points, bounded=True)]
            clear = [None if at is None or at[1] else at[0] for at in found]
            nulls = clear if any(null is not None for null in clear) else [None if at is None else at[0] for at in found]
            self._last_nulls = points, nulls
        return nulls

    def measured(
        self, points: Sequence[Point], given: bool = False, solved: bool = False, tape: GraphTape | None = None, bounded: bool = False
    ) -> list[tuple[Matrix, Matrix] | None]:
        """The system Jacobian, or the square matrix of `tape`, at several points with bounds of the errors of its entries; None where it is
        undefined.

        Points on the rows, or with `solved` on other ones, have the error of Newton's iteration; those that are `given` have none. With
        `bounded` the bounds are computed for every entry, also where nothing suggests that digits are lost.
        """
        shape = len(self.structure.jacobian), len(self.structure.unknowns)
        if tape is None:
            tape = self._jacobian_tape
        else:
            shape = (math.isqrt(tape.size),) * 2
        error = POINT_ERROR if (self.hidden() and not given) or solved else STATE_ERROR
        return measured_at(tape, shape, points, error, self.sizes, self.drawn, bounded)

    def jacobians(self, points: Sequence[Point]) -> list[Matrix | None]:
        """The system Jacobian at several points; None where it is undefined."""
        entries = self.structure.jacobian
        return numbers_at(self._jacobian_tape, (len(entries), len(self.structure.unknowns)), points)

    @cached_property
    def _jacobian_tape(self) -> Any:
        return self.algebra.tape([e for line in self.structure.jacobian for e in line])

    @property
    def may_saturate(self) -> bool:
        """Whether the system Jacobian may have an entry that is zero by an identity of functions, and is round-off where they saturate."""
        return bool(self._jacobian_tape.may_saturate)

    @cached_property
    def exact_nullity(self) -> int | None:
        """The nullity of the system Jacobian on the constraint manifold, computed in a finite field; None if no point is found there.

        Near a given state numbers decide, since points in the field may lie on another component.
        """
        found = self._in_field(exact_rank, self.structure.jacobian) if self._near is None else None
        return None if found is None else len(self.structure.top) - found

    @cached_property
    def rank_falls(self) -> bool:
        """Whether the system Jacobian has a lower rank on the constraint manifold than off it; other components may then differ."""
        if not self.nullity:
            return False
        found = exact_rank(self.structure.jacobian, (), self.algebra)
        return found is not None and found > len(self.structure.top) - self.nullity

    @cached_property
    def exactly_free(self) -> tuple[Jet, ...] | None:
        """The jets of the state, lowest orders first, that the rows on it leave free, computed in a finite field.

        Affine rows have one component, so a given state does not matter.
        """
        if self._near is not None and self.curved(self.hidden(), self.structure.state):
            return None
        state = sorted(self.structure.state, key=lambda z: z.order)
        free = self._in_field(free_columns, [self.algebra.gradient(self.row(pair), state) for pair in self.hidden()])
        return None if free is None else tuple(state[k] for k in free)

    def exactly_zero(self, expressions: Sequence[Any]) -> list[bool] | None:
        """Which expressions in jets of the state vanish where the rows on it hold, computed in a finite field; None if that is not known.

        Rows that are not affine may have components that the field does not distinguish.
        """
        if not expressions or self.curved(self.hidden(), self.structure.state):
            return None
        return self._in_field(lambda entries, *rest: exactly_zero(entries[0], *rest), [expressions])

    def _in_field(self, ask: Callable[..., _T | None], entries: Sequence[Sequence[Any]]) -> _T | None:
        """Ask a question about a matrix at field points of the rows on the state, solved order by order or otherwise stage by stage."""
        rows = [self.row(pair) for pair in self.hidden()]
        found = ask(entries, rows, self.algebra)
        return ask(entries, rows, self.algebra, self.staged(-1)) if found is None else found

    def staged(self, last: int) -> list[tuple[list[Any], list[Jet]]]:
        """Return the rows of every stage up to `last`, and the jets for which they are solved."""
        found = []
        offsets = list(zip(self.structure.unknowns, self.structure.unknown_offsets, strict=True))
        for k in range(self.stages().start, last + 1):
            jets = [w for z, d in offsets if d + k >= 0 for w in self.structure.at_order(z, d + k + 1, d + k)]
            found.append(([self.row(pair) for pair in self.stage(k)], jets))
        return found

    @cached_property
    def _generic_null(self) -> Matrix:
        """A point at which the Jacobian clearly has full rank decides; where the numerical rank is lower, the finite field decides."""
        n = len(self.structure.top)
        found = [null for null in self._nulls if null is not None]
        least = min((null.shape[1] for null in found), default=n)
        exact = self.exact_nullity if least else 0
        if exact is None or exact >= least:
            return min(found, key=lambda null: null.shape[1]) if found else np.zeros((n, 0))
        forced = [Factored(a, doubts=doubts, rank=n - exact) for a, doubts in filter(None, self.measured(self.points))]
        return max(forced, key=lambda factored: factored.kept).null if forced else np.zeros((n, exact))

    @property
    def shown_regular(self) -> bool:
        """Whether the system Jacobian has full rank at a random point, above its round-off, and not in the finite field alone."""
        return any(null is not None and not null.shape[1] for null in self._nulls)

    @property
    def rank_evidence(self) -> str:
        """The method by which the generic rank of the system Jacobian was found."""
        if self.shown_regular:
            return "full at a random point of the constraint manifold, above its round-off"
        if self.exact_nullity is not None:
            return "exact in a finite field, on the constraint manifold"
        return "by numbers with their round-off, at random points of the constraint manifold"

    @property
    def generic_points(self) -> list[Point]:
        """The points at which the system Jacobian has its generic rank."""
        usual = self._generic_null.shape[1]
        known = [(point, null.shape[1]) for point, null in zip(self.points, self._nulls, strict=True) if null is not None]
        return [point for point, nullity in known if nullity == usual] or [point for point, _ in known]

    def harmless(self, null: Matrix) -> bool:
        """Whether a null space concerns multipliers only."""
        opened = open_jets(self.structure.top, null)
        return all(isinstance(z, Multiplier) for z in opened)

    def curved(self, pairs: Sequence[Pair], unknowns: Sequence[Jet]) -> list[Jet]:
        """The unknowns in which some rows are not affine: their slope changes with the unknowns, smoothly or at a corner."""
        key = (tuple(pairs), tuple(unknowns))
        if key not in self._curved:
            self._curved[key] = self._which_curve(pairs, unknowns)
        return list(self._curved[key])

    def _which_curve(self, pairs: Sequence[Pair], unknowns: Sequence[Jet]) -> list[Jet]:
        rows = [self.row(pair) for pair in pairs]
        present = [[z for z in unknowns if z in occurring] for occurring in map(self.algebra.symbols, rows)]
        slopes = [self.algebra.gradient(row, jets) for row, jets in zip(rows, present, strict=True)]
        suspicious = iter(self.algebra.which_contain([slope for line in slopes for slope in line], unknowns))
        found: set[Jet] = set()
        for jets, line in zip(present, slopes, strict=True):
            varying = {z: slope for z, slope in zip(jets, line, strict=True) if next(suspicious)}
            found |= {z for z, varies in zip(varying, self._vary(list(varying.values()), unknowns), strict=True) if varies}
        return [z for z in unknowns if z in found]

    def _vary(self, slopes: Sequence[Any], unknowns: Sequence[Jet]) -> list[bool]:
        """Return which slopes depend on the unknowns; by numbers where the finite field has no point."""
        if not slopes:
            return []
        symbols = sorted(self.algebra.symbols_of(slopes), key=lambda z: (z in unknowns, z.name))
        program, _ = self.algebra.program(slopes, symbols)
        exact = related(program, sum(z not in unknowns for z in symbols))
        if exact:
            return [any(values[k] != exact[0][1][k] for _, values in exact) for k in range(len(slopes))]
        tape = self.algebra.tape(slopes)
        varies = np.zeros(len(slopes), dtype=bool)
        for seed in range(_TRIES):
            here = random_point(tape.symbols, seed, sizes=self.sizes)
            there = random_point(tape.symbols, 100 + seed, sizes=self.sizes)
            try:
                a = np.array(tape(here))
                b = np.array(tape({z: there[z] if z in unknowns else v for z, v in here.items()}))
            except Undefined:
                continue
            varies |= np.abs(a - b) > _ZERO * np.maximum(1e-30, np.maximum(np.abs(a), np.abs(b)))
        return varies.tolist()


@lru_cache(maxsize=32)
def prolongation(equations: Equations) -> Prolongation | None:
    """Return the rows that determine the motion, with their derivatives. Cached, because forming the rows takes time.

    Where the stated rows do not suffice, their consequences are added. If these do not determine the motion either, the square system is
    returned unchanged (its `generic_nullity` is None), or None if it has no structure.
    """
    from chetaev.numerics.flow.closure import closure_of  # local: it imports this module

    system = square_prolongation(equations)
    if system is not None and system.generic_nullity is not None:
        return system
    found = closure_of(equations)
    return found.system if found.determined else system


@lru_cache(maxsize=32)
def square_prolongation(equations: Equations) -> Prolongation | None:
    """The rows as they are stated, with their derivatives; None if they cannot be assigned to the unknowns one by one."""
    found = structure(equations, GraphAlgebra())
    if found is None:
        return None
    system = Prolongation(equations, found)
    top = found.top
    curved = system.curved(system.stage(0), top)
    if not curved:
        plain = plainly_affine(found)
        return system if plain is found else Prolongation(equations, plain)
    rows = {i for i, c in enumerate(found.row_offsets) if system.curved([(i, c)], top)}
    return Prolongation(equations, raised(found, rows, {top.index(z) for z in curved}))


@dataclass(frozen=True)
class Problem:
    """Equations with values for parameters, inputs and time, ready for evaluation."""

    system: Prolongation
    binding: Binding
    t: float
    where: str
    centre: Mapping[Jet, float] = field(default_factory=dict)
    """The numbers of group coordinates around which motions near a state are studied."""

    def numbers(self, pairs: Sequence[Pair], unknowns: Sequence[Jet], jets: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        """Residuals of some rows and their Jacobian with respect to some jets, at a state."""
        tape = self.system.tape(pairs, unknowns)
        try:
            values = np.array(tape({**self.binding.at(tape.symbols, self.t), **jets}), dtype=float)
        except Undefined:
            raise self.undefined(pairs, jets) from None
        return values[: len(pairs)], values[len(pairs) :].reshape(len(pairs), len(unknowns))

    @property
    def sizes(self) -> Sizes:
        """The sizes of symbols, from the numbers in the rows and the values of the parameters."""
        return self.system.sizes_with(self.binding.parameters)

    def point(self, jets: Mapping[Jet, float]) -> dict[Symbol, float]:
        """A state with the values of parameters, time and inputs."""
        return {**self.binding.at(self.system.symbols([*self.system.hidden(), *self.system.stage(0)]), self.t), **jets}

    def undefined(self, pairs: Sequence[Pair], jets: Mapping[Jet, float]) -> StateError:
        """Which part of the rows has no value; derivatives of a row may have none where the row has one."""
        from chetaev.numerics.flow.locus import without_value  # which builds on this module

        equations = self.system.equations
        part: Expr | None = None
        with allowance(_SECONDS):
            rows = [equations.rows[i].residual for i, _ in pairs if i < len(equations.rows)]
            highest = max((times for _, times in pairs), default=0)
            written = [equations.system.charted(row) for row in rows]
            for times in range(highest + 2):  # one more, for the Jacobian
                spend(size(*written))  # the derivatives are longer than what was written before
                written = [equations.system.charted(equations.total(row, times)) for row in rows]
                point = {**self.binding.at(frozenset().union(*[e.free_symbols for e in written]), self.t), **jets}
                part = without_value(written, point) if part is None else part
        what = f"{'the equations have' if part is None else f'{show(part)} has'} no finite value at this state."
        hint = "another state"
        if isinstance(part.base if isinstance(part, sympy.Pow) else part, sympy.exp | sympy.cosh | sympy.sinh):
            hint += "; if a quotient stays finite where this is too large for a double, write it with falling exponentials, 1/(1 + exp(-u))"
        return StateError(what, where=self.where, hint=hint)


def _orders(symbols: Iterable[Symbol], offsets: Mapping[str, int]) -> dict[str, int]:
    """The highest order of each unknown among some symbols."""
    return {base: order for base, order in highest_orders(symbols).items() if base in offsets}


def plainly_affine(found: Structure) -> Structure:
    """Rewrite affine rows as a sum of slopes times top jets and a remainder.

    A total derivative in L leaves terms such as $6 x' x'' - 6 x' x''$ in a row. They change no value, but the slope of the row by $x''$
    then contains $x''$, and so would the solution for it.
    """
    algebra, top = found.algebra, found.top
    zero = [i for i, c in enumerate(found.row_offsets) if c == 0]
    slopes = [algebra.gradient(found.rows[i], top) for i in zero]
    varying = np.array(algebra.which_contain([e for line in slopes for e in line], top), dtype=bool).reshape(len(zero), len(top))
    written: dict[int, Any] = {}
    for i, line, shows in zip(zero, slopes, varying, strict=True):
        if shows.any():
            terms = [algebra.without(e, top) * algebra.of(z) for e, z in zip(line, top, strict=True)]
            written[i] = sum(terms, algebra.without(found.rows[i], top))
    return replace(found, rows=tuple(written.get(i, row) for i, row in enumerate(found.rows))) if written else found
