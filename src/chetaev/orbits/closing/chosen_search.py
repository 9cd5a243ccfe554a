r"""Newton's iteration for a periodic orbit with chosen unknowns: some jets of the start, some parameters, the period.

Jets, parameters and a period that are not named keep their values. Named jets change along the constraints only; where an unknown parameter
changes the constraints, the named jets follow. The orbit closes if

$$ \varphi_T(x, p) = S_a(x). $$

The number of these conditions is the dimension of the manifold of states, less those that integrals make consequences of the others.
Directions of time and of symmetries that the named jets allow lead to the same orbit; a step has no component along them, and they do
not count as unknowns. More unknowns than conditions are refused. Fewer may be enough for symmetric orbits; the residual decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from chetaev.core.errors import StateError, UnfinishedError, UsageError
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.ranks.split import rank_of, split
from chetaev.numerics.graphs.binding import number, slope_of_number
from chetaev.numerics.prepared import end_and_slopes
from chetaev.orbits.arclength import FAMILY_SINGULAR_VALUE
from chetaev.orbits.closing.orbit import Orbit
from chetaev.orbits.closing.orbit_search import CLOSED, LARGEST_RESIDUAL, LEAST_PERIOD_RATIO, MOST_ITERATIONS, Search
from chetaev.orbits.closing.unknowns import PERIOD, Unknowns
from chetaev.orbits.flow import Array, Flow
from chetaev.orbits.invariants import Invariants, phases

_LEAST_SINGULAR_VALUE = 1e-7
"""Smallest singular value that counts as nonzero, for directions and slopes of length 1."""
_SETTLED = 1e-12
"""Largest constraint residual of a start, relative to the sizes of the jets."""
_LONGEST_STEP = 0.3
"""Longest step, in units of the jets and of the parameters; longer ones are shortened, because they lead to other orbits."""
_SHARES = (1.0, 0.5, 0.25, 0.125)
"""Fractions of a step that are tried in this order until the gap between the ends shrinks."""
_DIFFERENCE_STEP = 1e-5
"""Step of the differences of constraints with respect to a parameter, relative to the parameter."""
_STATES_TRIED = 3
"""Random states near the start at which directions are counted: at a special state, such as a turning point, the count may differ."""
_SPEED_OF_REST = 1e-6
"""Rates relative to the sizes of the jets per period: a slower state counts as an equilibrium, to which the iteration converged."""


@dataclass(frozen=True)
class _Point:
    """Values of the unknowns."""

    x: Array
    p: Array
    period: float
    amounts: Array


@dataclass(frozen=True)
class _Linear:
    """Newton's equations, linearised at some values of the unknowns."""

    basis: Array
    """Directions in which the named jets may change, as columns."""
    matrix: Array
    right: Array

    @property
    def length(self) -> float:
        """The distance between the ends, in units of the jets."""
        return float(np.linalg.norm(self.right))


class ChosenSearch:
    """Newton's iteration with chosen unknowns."""

    def __init__(self, flow: Flow, invariants: Invariants, unknowns: Unknowns, period: Any, guess: float) -> None:
        self.flow, self.invariants, self.unknowns, self.given, self.span = flow, invariants, unknowns, period, guess
        self.search = Search(flow, invariants)
        self.units = np.array([abs(flow.p[k]) or 1.0 for k in unknowns.parameters])
        self.nearest = np.inf

    def closed(self, relative: bool) -> Orbit | None:
        """The orbit near the start, up to a symmetry if `relative`; None if the iteration does not converge."""
        x = self._settled(self.flow, self.flow.start)
        if x is None:
            raise StateError("the start does not satisfy the constraints.", where=self.flow.where, hint="another start")
        amounts = self.search.aligned(x, self.span) if relative else np.zeros(0)
        at = _Point(x, self.flow.p.copy(), self.span, amounts)
        now = self._linear(at)
        for _ in range(MOST_ITERATIONS):
            if now is None:
                return None
            u, s, vt = np.linalg.svd(now.matrix, full_matrices=False)
            kept = s > FAMILY_SINGULAR_VALUE * max(1.0, float(s[0]))
            step = -vt[kept].T @ ((u[:, kept].T @ now.right) / s[kept])
            size = float(np.abs(step).max(initial=0.0))
            if size < CLOSED:
                last = self._stepped(at, now.basis, step)
                return self._orbit(last, bool(np.all(kept))) if last is not None and now.length < LARGEST_RESIDUAL else None
            at, now = self._nearer(at, now, step * min(1.0, _LONGEST_STEP / size))
        return None

    def _nearer(self, at: _Point, now: _Linear, step: Array) -> tuple[_Point, _Linear | None]:
        """The point after the first fraction of `step` that shrinks the gap; after the largest feasible fraction if none does."""
        tried = []
        for share in _SHARES:
            point = self._stepped(at, now.basis, share * step)
            found = None if point is None else self._linear(point)
            if point is None or found is None:
                continue
            if found.length < now.length:
                return point, found
            tried.append((point, found))
        return tried[0] if tried else (at, None)

    def _linear(self, at: _Point) -> _Linear | None:
        """Newton's equations at a point; None if the motion from it has no end or no derivative."""
        flow = replace(self.flow, p=at.p)
        basis = self._directions(flow, at.x)
        try:
            matrix, right = self._equations(flow, at, basis)
        except (StateError, UnfinishedError):
            return None
        self.nearest = min(self.nearest, float(np.abs(right).max()))
        rows = np.zeros((self._phase_count, matrix.shape[1]))
        rows[:, : basis.shape[1]] = self._phases(flow, at.x, basis)[: len(rows)] @ basis
        return _Linear(basis, np.vstack([matrix, rows]), np.concatenate([right, np.zeros(len(rows))]))

    def require_few(self, relative: bool) -> None:
        """Raise a UsageError if there are more unknowns than conditions, or if no named quantity can change."""
        named, (_, basis) = self.unknowns, self._general[0]
        if not (basis.shape[1] or named.parameters or named.period):
            raise UsageError(
                f"the constraints determine {', '.join(named.names)} from the jets that are not unknown.",
                where=self.flow.where,
                hint="name the dependent jets too: both x and y of a point on a circle",
            )
        if self.determined(relative):
            return
        have, need = self.count(relative)
        raise UsageError(
            f"{_counted(have, 'unknown')} cannot be found from {_counted(need, 'condition')}: {', '.join(self.unknowns.names)}.",
            where=self.flow.where,
            why="Closing an orbit gives only these conditions; integrals and symmetries imply the others, so that orbits come in families.",
            hint="name fewer unknowns; everything else, including the period, keeps its value",
        )

    def determined(self, relative: bool) -> bool:
        """Whether there are at most as many unknowns as conditions."""
        have, need = self.count(relative)
        return have <= need

    def count(self, relative: bool) -> tuple[int, int]:
        """The numbers of unknowns and of conditions, modulo constraints, integrals and symmetries."""
        flow, (x, basis) = self.flow, self._general[0]
        amounts = len(self.search.displacement) if relative else 0
        have = basis.shape[1] - self._phase_count + len(self.unknowns.parameters) + int(self.unknowns.period) + amounts
        tangent = flow.tangent(x)
        rows = _unit_rows((self.invariants.gradients(flow, x) * flow.sizes) @ tangent)
        changed = (
            rows @ tangent.T @ (self.search.displacement.slopes(x, np.zeros(amounts)) / flow.sizes[:, None]) if amounts else rows[:, :0]
        )
        return have, tangent.shape[1] - _rank(rows) + _rank(changed)

    @cached_property
    def _general(self) -> list[tuple[Array, Array]]:
        """Random states near the start that differ in named jets, with the directions of these jets there; the start alone if there are
        none.
        """
        flow, chance, first = self.flow, np.random.default_rng(21), self.flow.start
        basis = self._directions(flow, first)
        moves = [0.1 * flow.sizes * (basis @ chance.normal(size=basis.shape[1])) for _ in range(_STATES_TRIED)]
        states = [x for x in (self._settled(flow, first + move) for move in moves) if x is not None] or [first]
        return [(x, self._directions(flow, x)) for x in states]

    @cached_property
    def _phase_count(self) -> int:
        """The number of directions of time and symmetries that the named jets allow at the states of `_general`."""
        return min(len(self._phases(self.flow, x, basis)) for x, basis in self._general)

    def _phases(self, flow: Flow, x: Array, basis: Array) -> Array:
        """Directions of time and symmetries that the named jets allow, a row each, in units of the jets."""
        all_phases = phases(flow, self.invariants, x, np.zeros((0, len(x))))
        if not len(all_phases):
            return all_phases
        inside = split((all_phases - all_phases @ basis @ basis.T).T, _LEAST_SINGULAR_VALUE, size=1.0).null
        found: Array = inside.T[::-1] @ all_phases
        return found

    def _directions(self, flow: Flow, x: Array) -> Array:
        """An orthonormal basis of the directions that change named jets only, along the constraints, in units of the jets."""
        named = np.eye(len(x))[:, list(self.unknowns.jets)]
        rows = flow.constraints(x)[1]
        if not len(rows) or not named.shape[1]:
            return named
        found: Array = named @ split(rows @ named, _LEAST_SINGULAR_VALUE, size=1.0).null
        return found

    def _settled(self, flow: Flow, x: Array) -> Array | None:
        """The state moved onto the constraints by changing named jets only; None if that is not possible."""
        named = np.eye(len(x))[:, list(self.unknowns.jets)]
        for _ in range(MOST_ITERATIONS):
            residual, rows = flow.constraints(x)
            if float(np.abs(residual).max(initial=0.0)) <= _SETTLED:
                return x
            if not named.shape[1]:
                return None
            x = x - flow.sizes * (named @ np.linalg.lstsq(rows @ named, residual, rcond=_LEAST_SINGULAR_VALUE)[0])
        return None

    def _moved(self, flow: Flow, x: Array, k: int, unit: float) -> Array:
        """The derivative of the start with respect to parameter `k`, which changes the constraints; in units of the jets and of the
        parameter.
        """
        named = np.eye(len(x))[:, list(self.unknowns.jets)]
        rows = flow.constraints(x)[1]
        if not len(rows) or not named.shape[1]:
            return np.zeros(len(x))
        step = _DIFFERENCE_STEP * unit * np.eye(len(flow.p))[k]
        slope = (replace(flow, p=flow.p + step).constraints(x)[0] - replace(flow, p=flow.p - step).constraints(x)[0]) / (
            2 * _DIFFERENCE_STEP
        )
        found: Array = -named @ np.linalg.lstsq(rows @ named, slope, rcond=_LEAST_SINGULAR_VALUE)[0]
        return found

    def _equations(self, flow: Flow, at: _Point, basis: Array) -> tuple[Array, Array]:
        """The closing conditions and their derivatives with respect to all unknowns, in units of the jets."""
        sizes, places = flow.sizes[:, None], self.unknowns.parameters
        moved = [self._moved(flow, at.x, k, unit)[:, None] for k, unit in zip(places, self.units, strict=True)]
        first = np.hstack([basis, *moved])
        by = [*flow.names[: basis.shape[1]], *[flow.run.parameters[k] for k in places]]
        scale = np.concatenate([np.ones(basis.shape[1]), self.units])
        end = end_and_slopes(
            flow.run, at.x, flow.p, by or flow.names[:1], (sizes * first / scale) if by else sizes * 0, flow.t0 + at.period
        )
        gap, side = self.search.gap(at.x, end.y, at.amounts)
        carried = self.search.displacement.push(at.amounts) @ (sizes * first) if len(at.amounts) else sizes * first
        slopes = (side[:, None] * end.slopes * scale if by else sizes[:, :0]) - carried
        rates = flow.rates(side * end.y, flow.t0 + at.period)
        for column, (k, unit) in enumerate(zip(places, self.units, strict=True), basis.shape[1]):
            slopes[:, column] += rates * unit * self._period_slope(at.p, k)
        columns = [slopes]
        if self.unknowns.period:
            columns.append(self.span * rates[:, None])
        if len(at.amounts):
            columns.append(-self.search.displacement.slopes(at.x, at.amounts))
        return np.hstack(columns) / sizes, gap / flow.sizes

    def _period_slope(self, p: Array, k: int) -> float:
        """The derivative of the period with respect to parameter `k`; 0 if the period is an unknown itself."""
        if self.unknowns.period:
            return 0.0
        symbols = self.flow.equations.system.parameters
        return slope_of_number(self.given, dict(zip(symbols, map(float, p), strict=True)), symbols[k], self.flow.where)

    def _stepped(self, at: _Point, basis: Array, step: Array) -> _Point | None:
        """The point after a step; None if constraints, signs of parameters or the range of allowed periods are violated."""
        d, places = basis.shape[1], list(self.unknowns.parameters)
        p, symbols = at.p.copy(), self.flow.equations.system.parameters
        p[places] += self.units * step[d : d + len(places)]
        if any(symbols[k].is_positive and p[k] <= 0 for k in places):
            return None
        flow = replace(self.flow, p=p)
        x = self._settled(flow, at.x + flow.sizes * (basis @ step[:d]))
        if self.unknowns.period:
            period = at.period + self.span * float(step[d + len(places)])
        else:
            period = number(self.given, dict(zip(symbols, map(float, p), strict=True)), flow.where, UsageError)
        if x is None or not LEAST_PERIOD_RATIO * self.span < period < self.span / LEAST_PERIOD_RATIO:
            return None
        first = d + len(places) + int(self.unknowns.period)
        return _Point(x, p, period, at.amounts + step[first:])

    def _orbit(self, at: _Point, determined: bool) -> Orbit | None:
        """The orbit at a point; None if it does not close. Raises for an equilibrium and for unknowns that are not `determined`."""
        flow = replace(self.flow, p=at.p, start=at.x)
        if flow.autonomous and np.all(np.abs(flow.rates(at.x)) * at.period <= _SPEED_OF_REST * flow.sizes):
            raise StateError(
                "Newton's iteration ended at an equilibrium, which is not a periodic orbit.",
                where=flow.where,
                hint="a start nearer to an orbit of this period, if there is one",
            )
        flow.require_repetition(at.x, at.period)
        if not determined:
            raise StateError(
                f"the orbit closes, but it does not determine {', '.join(self.unknowns.names)}: it closes for other values nearby as well.",
                where=flow.where,
                hint="name fewer or other unknowns: for an oscillator whose period does not depend on the amplitude, a parameter",
            )
        orbit = Search(flow, self.invariants).orbit(at.x, at.period, at.amounts)
        if orbit is None or orbit.residual > CLOSED * max(1.0, float(np.abs(orbit.multipliers).max(initial=0.0))):
            return None
        parameters = dict(zip(flow.run.parameters, map(float, at.p), strict=True))
        values = {**orbit.start, **parameters} | ({PERIOD: orbit.period} if self.unknowns.period else {})
        return replace(orbit, found=Frozen({name: values[name] for name in self.unknowns.names}))


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _unit_rows(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Array = rows / np.where(lengths > 0, lengths, 1.0)
    return found


def _rank(matrix: Array) -> int:
    return rank_of(matrix, _LEAST_SINGULAR_VALUE, size=1.0)
