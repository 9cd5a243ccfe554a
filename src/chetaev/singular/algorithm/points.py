"""Real points of a branch, found by Newton's iteration from random starts, and a check of the field there."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import sympy
from sympy import Expr, Symbol

from chetaev.core.calculus import SYMBOLIC, partials
from chetaev.core.exact.constants import for_doubles
from chetaev.core.functions import Sign, in_own_functions
from chetaev.core.symbols import TIME, Jet, symbols_in
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.newton import root
from chetaev.mechanics.ranks.sizes import Sizes, natural_sizes, row_sizes, units_of
from chetaev.mechanics.ranks.split import rank_of
from chetaev.singular.algorithm.branches import Branch
from chetaev.singular.algorithm.space import Space

Point = dict[Symbol, float]

_TRIES = 80
"""Number of random starts for Newton's iteration. A branch with few real points may need most of them; each takes about a millisecond."""
_MOST_STEPS = 40
"""Limit of Newton's steps; an iteration that needs more converges linearly to a multiple zero, and is discarded."""
_ZERO_PART = 1e-6
"""Fraction of its size at the random start below which an expression that must not vanish, or a slope, counts as zero."""
_MET = 1e-10
"""Largest residual of an equation at a solution, relative to its change over a distance of order one. Smaller values reject double roots,
larger ones accept points off the branch."""
_SHORTEST_STEP = 1e-13
"""Length of a step, relative to the point, after which the iteration ends: further steps are round-off."""
_BELOW = 1e-6
"""Least size of a jet, relative to the largest jet; smaller values may be round-off of zero."""
_SCALES = (1.0, 1.0, 0.4, 2.5, 6.0)
"""Sizes of successive random starts, to find solutions of order one, near zero and far from it."""


class Sampler:
    """Draws real points of a branch in the user's variables, of the given `sizes`, or of those that its equations suggest."""

    def __init__(self, space: Space, branch: Branch, codimension: int, sizes: Sizes | None = None) -> None:
        given = {space.symbols[i]: space.expression(e) for i, e in branch.solved.items() if i not in space.generators}
        # a solution that contains functions of solved jets stays an equation
        solved = {z: e for z, e in given.items() if e.free_symbols.isdisjoint(given)}
        functions = [(space.generators[i].definition, space.expression(e)) for i, e in branch.solved.items() if i in space.generators]
        equations = [space.expression(g) for g in branch.equations() if g not in space.relations]
        equations += [f - e for f, e in functions if not isinstance(f, Sign)] + [z - e for z, e in given.items() if z not in solved]
        self.signs = [(f - e).xreplace(solved) for f, e in functions if isinstance(f, Sign)]
        self.equations = [e for e in (in_own_functions(e.xreplace(solved)) for e in equations) if e.free_symbols]
        self.solved = solved
        self.variables = [z for z in (*space.phase, TIME) if z not in solved]
        self.parameters = [p for p in space.parameters if p not in space.translation.constants]
        self.avoided = [in_own_functions(space.expression(n).xreplace(solved)) for n in branch.nonzero]
        self.expected = codimension - len(solved)
        gradient = [in_own_functions(slope) for e in self.equations for slope in partials(e, self.variables)]
        self._system = Tape([*self.equations, *gradient])
        sizes = sizes or natural_sizes(self.equations, SYMBOLIC, symbols=self.variables)
        self._units, self._rows = units_of(self.variables, sizes), row_sizes(self.equations, SYMBOLIC, sizes)
        """The sizes of variables and equations, in which their numbers are of order one."""
        # the functions are evaluated too, so that points outside their domains are rejected: log(x) at x = -1
        functions_there = [in_own_functions(g.definition.xreplace(solved)) for g in space.generators.values()]
        self._avoided = [Tape([e]) for e in self.avoided]
        self._rest = Tape([*solved.values(), *self.avoided, *self.signs, *functions_there])

    def draw(self, count: int, signed: bool = False, tries: int = _TRIES) -> list[Point]:
        """Points at which the branch is a manifold of its full dimension.

        Parameters take positive values, unless `signed` asks for both signs.
        """
        found: list[Point] = []
        for attempt in range(tries):
            start = self._start(attempt + 1, signed)
            slopes = self._slopes(start)
            point = None if slopes is None else self._newton(start, slopes)
            full = None if point is None else self._complete(point, start)
            if full is not None and slopes is not None and self._smooth(full, slopes):
                found.append(full)
            if len(found) == count:
                break
        return found

    def _start(self, seed: int, signed: bool) -> Point:
        chance = random.Random(seed)
        scale = _SCALES[seed % len(_SCALES)]
        point: Point = {z: float(unit) * scale * chance.uniform(-1.3, 1.3) for z, unit in zip(self.variables, self._units, strict=True)}
        for p in self.parameters:
            size = chance.uniform(0.4, 1.7)
            point[p] = -size if signed and not p.is_positive and chance.random() < 0.5 else size
        return point

    def _slopes(self, start: Point) -> np.ndarray | None:
        """The largest slope of each equation at a random start, which measures its units; None if undefined."""
        try:
            _, jacobian = self._at(start)
        except Undefined:
            return None
        found: np.ndarray = np.abs(jacobian).max(axis=1, initial=0.0)
        return found

    def _newton(self, point: Point, slopes: np.ndarray) -> Point | None:
        """The limit of the iteration; None if it does not converge quadratically, as at a multiple zero."""
        if not self.equations:
            return point
        found = root(
            self._at,
            point,
            self.variables,
            self._units,
            _MOST_STEPS,
            lambda at: max(2.0, self._largest(at)),
            lambda at, _: _SHORTEST_STEP * (1 + self._largest(at)),
        )
        if found is None:
            return None
        try:
            residual, jacobian = self._at(found.point)
        except Undefined:
            return None
        changes = np.abs(jacobian) @ self._scaled(found.point)
        return found.point if bool(np.all(np.abs(residual) <= _MET * np.maximum(slopes, changes))) else None

    def _at(self, point: Mapping[Symbol, float]) -> tuple[np.ndarray, np.ndarray]:
        """The equations and their slopes in units of their sizes; raises `Undefined` where one has no value."""
        values = np.array(self._system({**dict.fromkeys(self._system.symbols, 0.0), **point}), dtype=float)
        n = len(self.equations)
        return values[:n] / self._rows, values[n:].reshape(n, len(self.variables)) * self._units / self._rows[:, None]

    def _scaled(self, point: Mapping[Symbol, float]) -> np.ndarray:
        """The sizes of the variables at a point, in their units."""
        found: np.ndarray = np.abs([point[z] for z in self.variables]) / self._units
        return found

    def _largest(self, point: Mapping[Symbol, float]) -> float:
        """The largest size of a value at a point; parameters have no units."""
        return max([float(self._scaled(point).max(initial=0.0)), *[abs(point[p]) for p in self.parameters]])

    def _complete(self, point: Point, start: Point) -> Point | None:
        try:
            values = self._rest(point)
        except Undefined:
            return None
        k, n, m = len(self.solved), len(self.avoided), len(self.signs)
        if any(abs(v) <= _ZERO_PART * usual for v, usual in zip(values[k : k + n], self._usual(start), strict=True)):
            return None
        if any(abs(v) > _ZERO_PART for v in values[k + n : k + n + m]):
            return None
        return {**point, **dict(zip(self.solved, values[:k], strict=True))}

    def _usual(self, start: Point) -> list[float]:
        """The sizes of the expressions that must not vanish at a random start; 0 for one without a value."""
        found = []
        for tape in self._avoided:
            try:
                found.append(abs(tape(start)[0]))
            except Undefined:
                found.append(0.0)
        return found

    def _smooth(self, point: Point, slopes: np.ndarray) -> bool:
        if not self.equations:
            return self.expected == 0
        try:
            _, jacobian = self._at(point)
        except Undefined:
            return False
        scaled = jacobian / np.maximum(slopes, np.abs(jacobian).max(axis=1, initial=0.0)).clip(min=np.finfo(float).tiny)[:, None]
        return rank_of(scaled, _ZERO_PART, size=1.0) == self.expected


def largest_fault(equations: Sequence[Expr], values: Mapping[Symbol, float]) -> float:
    """The largest residual of `equations` at a point, in the units of `Faults`."""
    return Faults(equations).largest(values)


class Faults:
    """Equations prepared for residuals at several points: the terms of each, and its derivatives with respect to all its symbols."""

    def __init__(self, equations: Sequence[Expr]) -> None:
        self.equations = tuple(equations)
        self._ready: list[tuple[int, list[Symbol], Tape]] = []

    def largest(self, values: Mapping[Symbol, float]) -> float:
        """The largest residual at a point, relative to the terms and to their change when jets change by their sizes.

        The size of a jet is that of the largest jet of its order, so that units do not matter. Infinite where an equation is undefined.
        """
        sizes = _sizes(values)
        worst = 0.0
        for k in range(len(self.equations)):
            count, symbols, tape = self._at(k)
            try:
                numbers = tape(values)
            except Undefined:
                return float("inf")
            own, slopes = numbers[:count], numbers[count:]
            change = sum(abs(slope) * sizes[z] for slope, z in zip(slopes, symbols, strict=True))
            fault, scale = abs(sum(own)), max(sum(map(abs, own)), change)
            worst = max(worst, fault / scale if scale else 0.0)
        return float(worst)

    def _at(self, k: int) -> tuple[int, list[Symbol], Tape]:
        """The number of terms of equation `k`, its symbols, and the tape of its terms and slopes; called for successive `k`."""
        if k == len(self._ready):
            e = for_doubles(self.equations[k])  # makes log(6) - log(2) - log(3) zero, not 2e-16
            terms, symbols = sympy.Add.make_args(e), sorted(symbols_in(e), key=str)
            tape = Tape([*terms, *[in_own_functions(slope) for slope in partials(e, symbols)]])
            self._ready.append((len(terms), symbols, tape))
        return self._ready[k]


def _sizes(values: Mapping[Symbol, float]) -> dict[Symbol, float]:
    """The sizes of symbols at a point."""
    jets = {z: abs(v) for z, v in values.items() if isinstance(z, Jet)}
    orders: dict[int, float] = {}
    for z, v in jets.items():
        orders[z.order] = max(orders.get(z.order, 0.0), v)
    least = _BELOW * max(orders.values(), default=0.0)
    return {z: max(orders[z.order], least) if isinstance(z, Jet) else abs(v) for z, v in values.items()}
