"""Rows with their total derivatives, by stages of differentiation, and the questions about them that need no rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from sympy import Symbol

from chetaev.core.calculus import Calculus
from chetaev.core.exact.signature import related
from chetaev.core.support.lines import joined
from chetaev.core.symbols import TIME, Action, Coordinate, Input, Jet, Parameter, jets_in
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Consequence, Origin
from chetaev.mechanics.ranks.exact import exactly_zero
from chetaev.mechanics.ranks.generic import Point
from chetaev.mechanics.ranks.sizes import Sizes, natural_sizes
from chetaev.mechanics.structure import Structure
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import NOTHING
from chetaev.numerics.graphs.graph_tape import GraphTape

_SAME_SLOPE = 1e-9
"""Relative difference up to which a slope is the same at two random points."""
_PAIRS_OF_POINTS = 6
"""Pairs of random points at which slopes are compared, where the finite field has no point."""

_T = TypeVar("_T")

Pair = tuple[int, int]
"""A row and how often it is differentiated."""
_LEAST_SLOPE = 1e-30
"""Smallest slope with which differences are compared, in units of random points of order one; smaller slopes are zero."""


class DifferentiatedRows:
    """Derivatives of the rows on a graph, formed when they are needed, for equations with a structure."""

    def __init__(self, equations: Equations, found: Structure, near: Point | None = None, added: tuple[str, ...] = ()) -> None:
        self.equations, self.structure, self.algebra = equations, found, cast(GraphAlgebra, found.algebra)
        self._near, self.added = near, added
        # the action variable counts as an unknown with its row s' = L: only then are derivatives of rows consistent with the offsets
        self._calculus = Calculus(found.algebra, equations.system.frame)
        self._derivatives: list[list[Any]] = [[row] for row in found.rows]
        self._tapes: dict[tuple[tuple[Pair, ...], tuple[Jet, ...]], GraphTape] = {}
        self._curved: dict[tuple[tuple[Pair, ...], tuple[Jet, ...]], list[Jet]] = {}
        self._sizes: dict[tuple[tuple[str, float], ...], Sizes] = {}
        self._symbols: dict[tuple[Pair, ...], frozenset[Symbol]] = {}

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
            self._tapes[key] = self.algebra.tape(joined([rows, *self._calculus.lines(rows, unknowns)], NOTHING))
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

    def row_without_unknowns(self, label: str) -> bool:
        """Whether a row contains no jet of an unknown."""
        row = self.structure.rows[(*self.equations.labels, *self.added).index(label)]
        return not any(isinstance(z, Jet) and not isinstance(z, Input) for z in self.algebra.symbols(row))

    def symbols(self, pairs: Sequence[Pair]) -> frozenset[Symbol]:
        """The symbols that occur in some rows; remembered."""
        key = tuple(pairs)
        if key not in self._symbols:
            self._symbols[key] = frozenset().union(*[self.algebra.symbols(self.row(pair)) for pair in pairs])
        return self._symbols[key]

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

    @property
    def square(self) -> bool:
        """Whether there are as many rows as unknowns."""
        return len(self.structure.rows) == len(self.structure.unknowns)

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

    def rates_of(self, symbols: Sequence[Jet], count: int) -> dict[Jet, list[Any]]:
        """The first derivatives of some jets with respect to time: those of places contain the velocities of their group."""
        found: dict[Jet, list[Any]] = {}
        for z in symbols:
            e = self.algebra.of(z)
            found[z] = [e := self._calculus.total(e) for _ in range(count)]
        return found

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

    def curved(self, pairs: Sequence[Pair], unknowns: Sequence[Jet]) -> list[Jet]:
        """The unknowns in which some rows are not affine: their slope changes with the unknowns, smoothly or at a corner."""
        key = (tuple(pairs), tuple(unknowns))
        if key not in self._curved:
            self._curved[key] = self._which_curve(pairs, unknowns)
        return list(self._curved[key])

    def _which_curve(self, pairs: Sequence[Pair], unknowns: Sequence[Jet]) -> list[Jet]:
        rows = [self.row(pair) for pair in pairs]
        place = {z: k for k, z in enumerate(unknowns)}
        present = [sorted((z for z in self.algebra.symbols(row) if z in place), key=lambda z: place[z]) for row in rows]
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
        for seed in range(_PAIRS_OF_POINTS):
            here = random_point(tape.symbols, seed, sizes=self.sizes)
            there = random_point(tape.symbols, 100 + seed, sizes=self.sizes)
            try:
                a = np.array(tape(here))
                b = np.array(tape({z: there[z] if z in unknowns else v for z, v in here.items()}))
            except Undefined:
                continue
            varies |= np.abs(a - b) > _SAME_SLOPE * np.maximum(_LEAST_SLOPE, np.maximum(np.abs(a), np.abs(b)))
        return varies.tolist()
