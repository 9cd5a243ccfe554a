r"""Solving rows for some jets: damped steps far from the constraints, steps of frozen rank near them.

Far away a Levenberg-Marquardt step with $\mu \sim |F|$ cannot overshoot; rows and jets are scaled, so units drop out. Near the constraints
the rank of the Jacobian is determined once and kept: with redundant rows its smallest singular value is of the order of the distance, and a
Newton step of full rank would divide by it and move away again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from chetaev.core.errors import StateError
from chetaev.core.symbols import Input, Jet, Place
from chetaev.mechanics.ranks.factored import Factored, Flags, Indices, Matrix, equilibrated_stack, open_jets, singular_values, thin_svd
from chetaev.mechanics.ranks.sizes import Sizes
from chetaev.mechanics.tolerances import NOISE
from chetaev.numerics.flow.constraint_set.sampling import points_near
from chetaev.numerics.flow.prolongation import Pair, Prolongation
from chetaev.numerics.start.conditions import EXACT_RESIDUAL, FIRST, Conditions, Rows, alone, line, residual_of

_MOST_STEPS = 60
"""Most steps of each of the two phases."""
_END_OF_DAMPING = 1e-6
"""Scaled residual below which damped steps end and steps of frozen rank begin."""
_ZERO_SINGULAR_VALUE = 1e-8
"""Singular value, relative to the largest, below which it counts as zero. A smaller number would divide by round-off at redundant rows."""
_LEAST_DAMPING = 1e-6
"""Smallest damping; with less, steps far from the constraints overshoot."""
_USUAL_RANK = 1e-6
"""Singular value, relative to the largest, below which it counts as zero in ranks at nearby states, which are off the rows by about as
much."""
_LARGEST_RESIDUAL = 1e-9
"""Scaled residual of a solution."""
_SAME_SOLUTION = 1e-5
"""Relative difference up to which two solutions are the same: a double root is found to half the digits."""
_STARTS = 12
"""Starting values of the search for roots; roots may be missed with fewer."""
_NEIGHBOURS = 3
"""Number of nearby states at which the usual rank of the rows is determined."""
_MOST_DAMPING = 1e9
"""Damping at which the damped steps end, because they no longer move the state."""


def settle(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float], guessed: Container[Jet]) -> dict[Jet, float]:
    """Move `unknowns` from `at` as near to the rows as an iteration comes; other jets keep their values exactly."""
    if not unknowns:
        return dict(at)
    jets, x, single = list(at), line(at), alone(rows, at)
    columns = single.columns(unknowns)
    if not settle_together(single, columns, x, FIRST, guessed)[0]:
        raise rows.undefined(at)
    return dict(zip(jets, x[0].tolist(), strict=True))


def settle_together(rows: Rows, columns: Sequence[int], x: Matrix, which: Indices, guessed: Container[Jet]) -> Flags:
    """Move some jets of some members as near to the rows as they come; return the members at which the rows have values."""
    if not len(columns):
        return rows.terms_by_slopes(x, which)[2]
    path = _Path(rows, list(columns), x, which, guessed)
    path.approach()
    path.polish()
    return path.finite


class _Path:
    """Iterations of several members towards the rows, in scaled variables; `x` is moved in place.

    Members are independent. One that has converged, or comes no nearer, is not moved any more.
    """

    def __init__(self, rows: Rows, columns: list[int], x: Matrix, which: Indices, guessed: Container[Jet]) -> None:
        self.rows, self.columns, self.x, self.which = rows, columns, x, which
        self.move = rows.weights(columns, x, guessed)
        residual, jacobian, self.finite = rows.look(x, which)
        self.scale = rows.slopes_by(jacobian, x)
        self.residual, self.jacobian = self._scaled(residual, jacobian, slice(None))
        self.size = np.linalg.norm(self.residual, axis=1)
        far = np.flatnonzero(self.size > _END_OF_DAMPING)
        if len(far):
            self.scale[far] = np.maximum(self.scale[far], rows.terms(x[far], which[far]))
            self.residual, self.jacobian = self._scaled(residual, jacobian, slice(None))
            self.size = np.linalg.norm(self.residual, axis=1)

    def approach(self) -> None:
        """Damped steps until the rows almost hold."""
        damping = np.ones(len(self.x))
        for _ in range(_MOST_STEPS):
            going = np.flatnonzero(self.finite & (self.size >= _END_OF_DAMPING) & (damping <= _MOST_DAMPING))
            if not len(going):
                return
            # not by the normal equations, which lose all digits if a slope is near a pole
            u, s, vt = thin_svd(self.jacobian[going])
            damped = s / (np.square(s) + (damping[going] * self.size[going])[:, None])
            went = self._step_if_nearer(going, _combined(u, damped, vt, -self.residual[going]), 1.0)
            damping[going] = np.where(went, np.maximum(damping[going] / 4, _LEAST_DAMPING), damping[going] * 4)

    def polish(self) -> None:
        """Gauss-Newton steps of least weighted norm, with the rank of the first step."""
        going = np.flatnonzero(self.finite & (self.size < _END_OF_DAMPING))
        ranks = np.full(len(self.x), -1)
        for _ in range(_MOST_STEPS):
            going = going[self.size[going] >= EXACT_RESIDUAL]
            if not len(going):
                return
            u, s, vt = thin_svd(self.jacobian[going])
            first = ranks[going] < 0
            if first.any():
                cut = np.maximum(_ZERO_SINGULAR_VALUE, 30 * self.size[going])[:, None] * s[:, :1]
                ranks[going] = np.where(first, ((s > cut) & (s > 0)).sum(axis=1), ranks[going])
            kept = np.arange(s.shape[1]) < ranks[going][:, None]
            inverse = np.where(kept, 1 / np.where(kept, s, 1.0), 0.0)
            going = going[self._step_if_nearer(going, _combined(u, inverse, vt, -self.residual[going]), 0.9)]

    def _step_if_nearer(self, going: Indices, step: Matrix, factor: float) -> Flags:
        """Take the steps of members whose residual becomes less than `factor` times the old one; return these members."""
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
    single, columns, jacobian = _slopes_at(rows, unknowns, at)
    found, usual, scaled = ranks_beside(single, columns, line(at), FIRST, jacobian, cut)
    if found[0] >= usual[0]:
        return []
    beside = _on_the_set(rows, unknowns, at)  # off the set, rows may be independent that depend on each other wherever they hold
    if beside and found[0] >= max(_rank_of(scaled(a[None])) for a in beside):
        return []
    here = scaled(jacobian[:, :, columns])[0]
    return open_jets(unknowns, np.linalg.svd(here, full_matrices=True)[2][found[0] :].T)


def _slopes_at(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Rows, list[int], Matrix]:
    """Rows at one state, the columns of some unknowns, and the slopes in all jets; a StateError where they have no value."""
    single = alone(rows, at)
    _, jacobian, finite = single.look(line(at), FIRST)
    if not finite[0]:
        raise rows.undefined(at)
    return single, single.columns(unknowns), jacobian


def ranks_beside(
    rows: Rows, columns: Sequence[int], x: Matrix, which: Indices, jacobian: Matrix, cut: float
) -> tuple[Indices, Indices, Callable[[Matrix], Matrix]]:
    """The ranks of the slopes in some jets at the states of members, the ranks at nearby states, and the function that scales slopes."""
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
    return (sizes[0] > cut).sum(axis=1), (sizes[1:] > _USUAL_RANK).sum(axis=2).max(axis=0), scaled


def _rank_of(scaled: Matrix) -> int:
    return int(np.sum(singular_values(scaled) > _USUAL_RANK))


def _on_the_set(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> list[Matrix]:
    """The slopes at nearby states that satisfy all hidden rows whose jets have values in `at`."""
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
    """The size of jets of the same order at a state, in units of their typical sizes; the typical size if all are zero."""
    relative = max((abs(v) / sizes.get(w, 1.0) for w, v in at.items() if w.order == z.order), default=0.0)
    return (relative or 1.0) * sizes.get(z, 1.0)


def null_at(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float], noise: float = NOISE) -> Matrix:
    """Directions in which unknowns can move without changing the rows, as columns, measured by their sizes at the state."""
    single, columns, jacobian = _slopes_at(rows, unknowns, at)
    return Factored(jacobian[0][:, columns], noise).null_in(single.weights(columns, line(at))[0])


@dataclass(frozen=True)
class Root:
    """A solution for missing jets, and the directions in which it is not isolated."""

    at: Mapping[Jet, float]
    null: Matrix


def roots(
    rows: Conditions,
    unknowns: Sequence[Jet],
    known: Mapping[Jet, float],
    guess: Mapping[Jet, float],
    possible: Mapping[Jet, Sequence[float]] = MappingProxyType({}),
) -> list[Root]:
    """Solutions found from several starting values, distinct modulo whole turns of angles; there may be others.

    `possible` values of some unknowns are starting values too.
    """
    chance = np.random.default_rng(7)
    turns = _angles(rows, unknowns, known)
    sizes = rows.sizes
    spread = {z: np.pi if z in turns else 2 * _typical(z, known, sizes) for z in unknowns}
    found: list[Root] = []
    starts = [
        {z: float(guess.get(z, spread[z] * chance.uniform(-1, 1)) if k else guess.get(z, 0.0)) for z in unknowns} for k in range(_STARTS)
    ]
    starts += [{**starts[0], z: v} for z, values in possible.items() if z in unknowns for v in values]
    for first in starts:
        start = {**known, **first}
        try:
            at = settle(rows, unknowns, start, guess)
            if residual_of(rows, at).scaled > _LARGEST_RESIDUAL:
                continue
            root = Root(at, null_at(rows, unknowns, at))
        except StateError:
            continue
        if not any(_alike(root.at, other.at, spread, turns, sizes) for other in found):
            found.append(root)
    return found


def _angles(rows: Conditions, unknowns: Sequence[Jet], known: Mapping[Jet, float]) -> set[Jet]:
    """Unknown positions by whose whole turns the rows do not change: angles, declared or not."""
    kinds = rows.problem.system.equations.system.kinds
    found = {z for z in unknowns if z.order == 0 and kinds.get(z.base) == "angle"}
    at = {**known, **{z: float(c) * rows.sizes.get(z, 1.0) for z, c in zip(unknowns, _chances(0, len(unknowns)), strict=False)}}
    try:
        here = rows.numbers([], at)[0]
        terms = np.maximum(np.abs(here), alone(rows, at).terms(line(at), FIRST)[0])
        for z in unknowns:
            if z.order == 0 and z not in found and not isinstance(z, Place):
                there = rows.numbers([], {**at, z: at[z] + 2 * np.pi})[0]
                if np.all(np.abs(there - here) <= _LARGEST_RESIDUAL * terms):
                    found.add(z)
    except StateError:  # no value here: use the declared kinds
        return found
    return found


def _alike(a: Mapping[Jet, float], b: Mapping[Jet, float], spread: Mapping[Jet, float], turns: set[Jet], sizes: Sizes) -> bool:
    """Tell whether two solutions are the same, relative to the spread of the starting values, since a double root has half the digits only
    and zero has no size.
    """
    for z, size in spread.items():
        gap = abs(a[z] - b[z])
        if z in turns:
            gap = abs((gap + np.pi) % (2 * np.pi) - np.pi)
        if gap > _SAME_SOLUTION * max(abs(a[z]), abs(b[z]), _typical(z, a, sizes), size):
            return False
    return True
