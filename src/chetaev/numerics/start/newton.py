r"""Solving rows for some jets: damped steps far from the constraints, steps of frozen rank near them.

Far away a Levenberg-Marquardt step with $\mu \sim |F|$ cannot overshoot; rows and jets are scaled, so units drop out. Near the
constraints the rank of the Jacobian is taken once and kept: with redundant rows its smallest singular value is of the order of the
distance, and a Newton step of full rank would divide by it and leave again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.calculus import Evaluator
from chetaev.core.errors import StateError
from chetaev.core.notation import show
from chetaev.core.symbols import Input, Jet, Place, jets_in
from chetaev.core.values import Undefined
from chetaev.mechanics.ranks.factored import NOISE, Factored
from chetaev.mechanics.ranks.generic import Matrix, equilibrated
from chetaev.mechanics.ranks.sizes import Sizes
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation, open_jets
from chetaev.numerics.flow.sampling import points_near

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
    _tapes: dict[tuple[Jet, ...], Evaluator] = field(default_factory=dict, repr=False, compare=False)

    @property
    def sizes(self) -> Sizes:
        """The typical sizes of symbols."""
        return self.problem.sizes

    @property
    def labels(self) -> list[str]:
        """The names of the rows in messages."""
        return [*map(self.problem.system.label, self.pairs), *map(str, self.demands)]

    def numbers(self, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        """Residuals and their Jacobian with respect to some jets."""
        residual, jacobian = self.problem.numbers(self.pairs, unknowns, at)
        if not self.demands:
            return residual, jacobian
        tape = self._tape(tuple(unknowns))
        try:
            values = np.array(tape({**self.problem.binding.at(tape.symbols, self.problem.t), **at}), dtype=float)
        except Undefined as cause:
            raise StateError(f"the data have no finite value at this state ({cause}).", where=self.problem.where) from None
        m = len(self.demands)
        asked = values[:m] - [demand.value for demand in self.demands]
        return np.concatenate([residual, asked]), np.vstack([jacobian, values[m:].reshape(m, len(unknowns))])

    def curved(self, unknowns: Sequence[Jet]) -> list[Jet]:
        """The unknowns that do not enter all rows affinely."""
        wanted = set(unknowns)
        bent = {z for d in self.demands for z in jets_in(d.expression) & wanted if jets_in(d.expression.diff(z)) & wanted}
        bent |= set(self.problem.system.curved(self.pairs, unknowns))
        return [z for z in unknowns if z in bent]

    def terms(self, at: Mapping[Jet, float]) -> Matrix:
        """Return the largest term of each row, constants included: at rest in the origin the jets give no size."""
        algebra = self.problem.system.algebra
        rows = [*map(self.problem.system.row, self.pairs), *[algebra.of(demand.expression) for demand in self.demands]]
        parts = [_summands(row) for row in rows]
        tape = algebra.tape([term for terms in parts for term in terms])
        try:
            values = iter(np.abs(tape({**self.problem.binding.at(tape.symbols, self.problem.t), **at})))
        except Undefined:
            return np.zeros(len(rows))
        largest = np.array([max(next(values) for _ in terms) for terms in parts])
        return np.maximum(largest, [0.0] * len(self.pairs) + [abs(demand.value) for demand in self.demands])

    def _tape(self, unknowns: tuple[Jet, ...]) -> Evaluator:
        if unknowns not in self._tapes:
            algebra = self.problem.system.algebra
            rows = [algebra.of(demand.expression) for demand in self.demands]
            self._tapes[unknowns] = algebra.tape([*rows, *[d for r in rows for d in algebra.gradient(r, unknowns)]])
        return self._tapes[unknowns]


@dataclass(frozen=True)
class Residual:
    """The largest residual of data in the rows."""

    scaled: float
    """The largest residual relative to the size of its terms."""
    worst: int
    value: float


def residual_of(rows: Conditions, jets: Sequence[Jet], at: Mapping[Jet, float]) -> Residual:
    """The largest residual of some rows."""
    residual, jacobian = rows.numbers(jets, at)
    if not len(residual):
        return Residual(0.0, 0, 0.0)
    terms = _terms(jacobian, jets, at, rows.sizes)
    scaled = np.abs(residual) / terms
    if scaled.max() > _DOUBTFUL:
        scaled = np.abs(residual) / np.maximum(terms, rows.terms(at))
    worst = int(np.argmax(scaled))
    return Residual(float(scaled[worst]), worst, float(residual[worst]))


def significant(jacobian: Matrix, jets: Sequence[Jet], at: Mapping[Jet, float], sizes: Sizes) -> Matrix:
    """Return the Jacobian with zeros for slopes that are round-off: their jets cannot change the last digit of the row's largest term."""
    terms = np.abs(jacobian) * _sizes(jets, at, sizes)
    return np.where(terms > _EXACT * terms.max(axis=1, keepdims=True, initial=0.0), jacobian, 0.0)


def _terms(jacobian: Matrix, jets: Sequence[Jet], at: Mapping[Jet, float], sizes: Sizes) -> Matrix:
    """The size of the largest term of each row."""
    scale: Matrix = (np.abs(jacobian) * _sizes(jets, at, sizes)).max(axis=1, initial=0.0)
    return np.where(scale > 0, scale, 1.0)


def _sizes(jets: Sequence[Jet], at: Mapping[Jet, float], sizes: Sizes) -> Matrix:
    """The sizes of jets at a state.

    A jet counts with its value, or with a millionth of the largest jet of its order: a velocity that is zero up to round-off among
    velocities of order one contradicts nothing. Jets of one order are compared in units of their usual sizes.
    """
    largest: dict[int, float] = {}
    for z in jets:
        largest[z.order] = max(largest.get(z.order, 0.0), abs(at[z]) / sizes.get(z, 1.0))
    return np.array([max(abs(at[z]), sizes.get(z, 1.0) * max(_SMALL * largest[z.order], _TINY)) for z in jets])


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


def weights(unknowns: Sequence[Jet], at: Mapping[Jet, float], guessed: Mapping[Jet, float], sizes: Sizes) -> Matrix:
    """Return the weights of moves: the size of jets of the same order, and less for guesses."""
    return np.array([(_GUESSED if z in guessed else 1.0) * max(abs(at[z]), _typical(z, at, sizes)) for z in unknowns])


def settle(rows: Conditions, unknowns: Sequence[Jet], move: Matrix, at: Mapping[Jet, float]) -> dict[Jet, float]:
    """Move `unknowns` as near to the rows as possible; all other jets keep their values exactly."""
    found = dict(at)
    if not unknowns:
        return found
    path = _Path(rows, list(unknowns), move, found)
    path.approach()
    path.polish()
    return path.at


class _Path:
    """One iteration towards the rows, in scaled variables."""

    def __init__(self, rows: Conditions, unknowns: list[Jet], move: Matrix, at: dict[Jet, float]) -> None:
        self.rows, self.unknowns, self.move, self.at = rows, unknowns, move, at
        everything = list(at)
        self.scale = _terms(rows.numbers(everything, at)[1], everything, at, rows.sizes)
        self.residual, self.jacobian = self._look(at)
        self.size = float(np.linalg.norm(self.residual))
        if self.size > _NEAR:
            self.scale = np.maximum(self.scale, rows.terms(at))
            self.residual, self.jacobian = self._look(at)
            self.size = float(np.linalg.norm(self.residual))

    def approach(self) -> None:
        """Damped steps until the rows almost hold."""
        damping = 1.0
        for _ in range(_STEPS):
            if self.size < _NEAR or damping > _MOST_DAMPING:
                return
            n = len(self.unknowns)  # not by the normal equations, which lose all digits at a large slope near a pole
            damped = np.vstack([self.jacobian, np.sqrt(damping * self.size) * np.eye(n)])
            step = np.linalg.lstsq(damped, np.concatenate([-self.residual, np.zeros(n)]), rcond=None)[0]
            damping = max(damping / 4, _SMALL) if self._goes(step, 1.0) else damping * 4

    def polish(self) -> None:
        """Gauss-Newton steps of least weighted norm, with the rank of the first."""
        if not self.size < _NEAR:
            return
        r: int | None = None
        for _ in range(_STEPS):
            if self.size < _EXACT:
                return
            u, s, vt = np.linalg.svd(self.jacobian, full_matrices=False)
            if r is None:
                r = int(np.sum(s > max(_RANK, 30 * self.size) * s[0])) if s[0] > 0 else 0
            step = vt[:r].T @ ((u[:, :r].T @ -self.residual) / s[:r])
            if not self._goes(step, 0.9):
                return

    def _goes(self, step: Matrix, factor: float) -> bool:
        """Take the step if it reduces the residual below `factor` times its value; return whether it did."""
        trial = {**self.at, **{z: float(self.at[z] + d) for z, d in zip(self.unknowns, step * self.move, strict=True)}}
        try:
            residual, jacobian = self._look(trial)
        except StateError:
            return False
        size = float(np.linalg.norm(residual))
        if not size < factor * self.size:
            return False
        self.at, self.residual, self.jacobian, self.size = trial, residual, jacobian, size
        return True

    def _look(self, at: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        residual, jacobian = self.rows.numbers(self.unknowns, at)
        if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(jacobian))):
            raise StateError("not finite.", where=self.rows.problem.where)
        return residual / self.scale, jacobian / self.scale[:, None] * self.move


def flat_here(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float], cut: float) -> list[Jet]:
    """Return the unknowns in whose direction the rows have no slope here although they have one nearby: a turning point.

    On $x^2 + y^2 = 1$ at $x = 1$ the slope in $y$ vanishes; $y$ is determined to half the digits only, and $y'$ not at all.
    """
    _, here = rows.numbers(unknowns, at)
    around = [a for seed in range(_NEIGHBOURS) if (a := _neighbour(rows, unknowns, at, seed)) is not None]
    if not here.size or not around:
        return []
    scale_rows, _, scale_columns = equilibrated(np.maximum.reduce([np.abs(a) for a in around]))

    def scaled(a: Matrix) -> Matrix:
        return a / scale_rows[:, None] / scale_columns

    def usual(matrices: Sequence[Matrix]) -> int:
        return max(int(np.sum(np.linalg.svd(scaled(a), compute_uv=False) > _SMALL)) for a in matrices)

    _, s, vt = np.linalg.svd(scaled(here), full_matrices=True)
    found = int(np.sum(s > cut))
    if found >= usual(around):
        return []
    beside = _on_the_set(rows, unknowns, at)  # off the set, rows may be independent that are dependent on it
    return open_jets(unknowns, vt[found:].T) if not beside or found < usual(beside) else []


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


def _neighbour(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float], seed: int) -> Matrix | None:
    sizes, chance = rows.sizes, _chances(seed, len(at))
    typical = _typical_sizes(at, sizes)
    moved = {z: v + 0.1 * max(abs(v), min(sizes.get(z, 1.0), typical[z])) * c for (z, v), c in zip(at.items(), chance, strict=True)}
    try:
        return rows.numbers(unknowns, moved)[1]
    except StateError:
        return None


@lru_cache(maxsize=64)
def _chances(seed: int, count: int) -> list[float]:
    return np.random.default_rng(seed).uniform(0.5, 1.5, count).tolist()


def _typical(z: Jet, at: Mapping[Jet, float], sizes: Sizes) -> float:
    """The size of jets of the same order at a state, in units of their usual sizes; the usual size if all are zero."""
    relative = max((abs(v) / sizes.get(w, 1.0) for w, v in at.items() if w.order == z.order), default=0.0)
    return (relative or 1.0) * sizes.get(z, 1.0)


def _typical_sizes(at: Mapping[Jet, float], sizes: Sizes) -> dict[Jet, float]:
    """The same for all jets of a state."""
    relative: dict[int, float] = {}
    for z, v in at.items():
        relative[z.order] = max(relative.get(z.order, 0.0), abs(v) / sizes.get(z, 1.0))
    return {z: (relative[z.order] or 1.0) * sizes.get(z, 1.0) for z in at}


def null_at(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> Matrix:
    """Directions in which unknowns can move without changing the rows, as columns, measured by their sizes at the state."""
    return Factored(rows.numbers(unknowns, at)[1], NOISE).null_in(weights(unknowns, at, {}, rows.sizes))


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
            at = settle(rows, unknowns, weights(unknowns, start, guess, sizes), start)
            if residual_of(rows, list(at), at).scaled > _SOLVED:
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
        terms = np.maximum(np.abs(here), rows.terms(at))
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
