r"""The curve of equilibria or of steady motions of a system.

The unknowns are all jets of the state and the parameter along which the curve is followed, if any. The equations are the constraints, that
the rates of the quantities that influence the motion vanish (at an equilibrium all rates), and that quantities without influence, such as
positions and headings, keep their values. Integrals make some of these equations consequences of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import qr
from sympy import Symbol

from chetaev.core.errors import StateError
from chetaev.mechanics.tolerances import CUT
from chetaev.numerics.flow.prolongation import Problem
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions, jets_at, normalised
from chetaev.numerics.stability.spectrum import Complex, inverse_of, scaled, spectrum_of
from chetaev.numerics.stability.state_chart import Spot, natural, slopes_by, spot_at, view_at
from chetaev.orbits.arclength import DIFFERENCE, MOVES, UNITS_OF_INTERVAL, Array, at_value, null_space, solved
from chetaev.orbits.steady.eigenvalue_kind import Rates

_LEAST_SINGULAR_VALUE = 1e-3
"""Least relative singular value of the derivative of the scaled constraints with respect to the dependent jets: below it, other independent
jets are chosen."""


@dataclass(frozen=True, eq=False)
class RestCurve(Rates):
    """Equations of a curve of equilibria or steady motions."""

    local: Local
    """The motion near a state, with its chart."""
    origin: Array
    """The state that has the coordinates 0."""
    sizes: Array
    """Units of the jets."""
    parameter: Symbol | None
    p0: float
    """The value of the parameter that has the coordinate 0."""
    place: int
    """The index of the unknown along which the curve is followed."""
    unit: float
    """The unit of that coordinate."""
    samples: tuple[float, ...]
    """Values of the parameter at which the quantities that influence the motion are determined."""
    at_rest: bool
    """Whether all rates vanish, not only those of quantities that influence the motion."""
    held: tuple[tuple[int, float], ...]
    """Jets that keep a value: their indices in the state, and the values."""
    name: str
    where: str
    seen: dict[bytes, tuple[Complex, Array]] = field(default_factory=dict, repr=False)
    """Cache of eigenvalues, by the bytes of the point."""
    known: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, repr=False)
    """Cache of residuals and derivatives, by the bytes of the point."""

    longest = 0.1
    close = 1e-11
    met = 1e-8
    difference = 1e-5
    cut = 1e-11

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the jets of the state."""
        return tuple(z.name for z in directions(self.local.problem.system))

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.origin) + (self.parameter is not None)

    @cached_property
    def along(self) -> Array:
        """The slopes of the quantity along which the curve is followed."""
        found: Array = np.eye(self.size)[self.place]
        return found

    def state(self, u: Array) -> Array:
        """The jets of the state at a point."""
        found: Array = self.origin + self.sizes * u[: len(self.origin)]
        return found

    def value(self, u: Array) -> float:
        """The value of the quantity along which the curve is followed."""
        return float(self.p0 + self.unit * u[-1]) if self.parameter is not None else float(self.state(u)[self.place])

    def coordinates(self, x: Array, value: float) -> Array:
        """The point with a state and a value of the parameter."""
        u = (x - self.origin) / self.sizes
        return u if self.parameter is None else np.append(u, (value - self.p0) / self.unit)

    def problem(self, u: Array) -> Problem:
        """The equations with the value of the parameter at a point."""
        return self._with(self.value(u)) if self.parameter is not None else self.local.problem

    def _with(self, value: float) -> Problem:
        problem, parameter = self.local.problem, self.parameter
        if parameter is None:
            return problem
        if parameter.is_positive and value <= 0:
            raise StateError(f"{parameter.name} = {value:g}, but it is declared positive.", where=self.where)
        return replace(problem, binding=Binding({**problem.binding.parameters, parameter: value}, problem.binding.inputs))

    @cached_property
    def quotient(self) -> tuple[Array, Array]:
        """The matrix from the free jets to the quantities that influence the motion at any value of the parameter, and a right inverse."""
        problems = [self.local.problem, *[self._with(v) for v in self.samples]] if self.parameter is not None else [self.local.problem]
        return self.local.quotient_over(problems)

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        """Two matrices: of the combinations of rates that vanish, and of the combinations of
        jets without influence that keep their values.
        """
        down = self.quotient[0]
        n, free = len(self.origin), list(self.local.chart.free)
        rates = np.zeros((len(free) if self.at_rest else len(down), n))
        rates[:, free] = np.eye(len(free)) if self.at_rest else down
        units = self.sizes[free]
        vt = np.linalg.svd(down * units)[2] if len(down) else np.eye(len(free))
        pins = np.zeros((len(free) - len(down), n))
        pins[:, free] = vt[len(down) :] / units
        return rates, pins

    @cached_property
    def _anchor(self) -> Array:
        """The state whose quantities without influence, such as positions and headings, are kept."""
        return np.asarray(self.local.view.spot.x, dtype=float)

    def numbers(self, u: Array) -> tuple[Array, Array]:
        """Residuals and their derivative, each in its unit."""
        key = u.tobytes()
        if key not in self.known:
            residual, slopes = self._unscaled(u)
            self.known[key] = residual / self._units, slopes / self._units[:, None]
        return self.known[key]

    @cached_property
    def _units(self) -> Array:
        """Sizes of the equations, from their slopes at this state and nearby."""
        here = self.coordinates(self._anchor, self._value_here)
        found = np.abs(self._unscaled(here)[1])
        for shift in np.random.default_rng(7).uniform(-0.03, 0.03, (3, self.size)):
            try:
                found = np.maximum(found, np.abs(self._unscaled(here + shift)[1]))
            except StateError:
                continue
        largest = found.max(axis=1, initial=0.0)
        return np.where(largest > 0, largest, 1.0)

    @property
    def _value_here(self) -> float:
        return float(self.local.problem.binding.parameters[self.parameter]) if self.parameter is not None else 0.0

    def _unscaled(self, u: Array) -> tuple[Array, Array]:
        x, problem = self.state(u), self.problem(u)
        spot = spot_at(problem, x)
        rates, pins = self._rows
        held = np.array([i for i, _ in self.held], dtype=int)
        residual = np.concatenate(
            [spot.residual, rates @ spot.rates, pins @ (x - self._anchor), (x[held] - [v for _, v in self.held]) / self.sizes[held]]
        )
        by_state = np.vstack([spot.rows, rates @ spot.full, pins, np.eye(len(x))[held] / self.sizes[held, None]]) * self.sizes
        if self.parameter is None:
            return residual, by_state
        moved, shifted = self._by_parameter(problem, spot, self.parameter)
        column = np.concatenate([shifted, rates @ moved, np.zeros(len(pins) + len(held))]) * self.unit
        return residual, np.hstack([by_state, column[:, None]])

    def _by_parameter(self, problem: Problem, spot: Spot, parameter: Symbol) -> tuple[Array, Array]:
        """The derivatives of rates and constraints with respect to the parameter, by differences if inputs depend on it."""
        if not any(parameter in e.free_symbols for e in problem.binding.inputs.values()):
            return slopes_by(problem, spot, parameter)
        value, h = float(problem.binding.parameters[parameter]), DIFFERENCE * self.unit
        below, above = spot_at(self._with(value - h), spot.x), spot_at(self._with(value + h), spot.x)
        return (above.rates - below.rates) / (2 * h), (above.residual - below.residual) / (2 * h)

    def renewed(self, u: Array) -> RestCurve:
        """This curve, with other independent jets if the constraints no longer determine the others from the present ones."""
        if any(group.places for group in self.local.problem.system.equations.system.groups.values()):
            return self._centred(u)
        bound = list(self.local.chart.bound)
        if not bound:
            return self
        rows = spot_at(self.problem(u), self.state(u)).rows[:, bound]
        s = np.linalg.svd(scaled(rows)[1], compute_uv=False)
        if s[len(bound) - 1] > _LEAST_SINGULAR_VALUE * s[0]:
            return self
        problem = self.problem(u)
        return replace(self, local=Local.of(problem, jets_at(problem, self.state(u))), seen={}, known={})

    def _centred(self, u: Array) -> RestCurve:
        """This curve with directions of group coordinates that start from the point `u`, which keeps its coordinates."""
        problem = self.problem(u)
        jets = normalised(problem.system.equations.system, jets_at(problem, self.state(u)))
        local = Local.of(problem, jets)
        x = np.asarray(local.view.spot.x, dtype=float)
        return replace(self, local=local, origin=x - self.sizes * u[: len(x)], seen={}, known={})

    def shown(self, u: Array) -> dict[str, float]:
        """The state by name, with the stored numbers of group elements."""
        problem = self.problem(u)
        jets = normalised(problem.system.equations.system, jets_at(problem, self.state(u)))
        loose = problem.system.equations.system.frame.turning
        return {z.name: float(v) for z, v in jets.items() if z not in loose}

    def spectrum(self, u: Array) -> tuple[Complex, Array]:
        """The eigenvalues of `matrix`, with bounds of their round-off."""
        key = u.tobytes()
        if key not in self.seen:
            self.seen[key] = spectrum_of(self.matrix(u)[0])
        return self.seen[key]

    def matrix(self, u: Array) -> tuple[Array, Array]:
        """The matrix of the linearised motion of the quantities with influence, and the changes of the state that belong to them."""
        down, up = self.quotient
        view = view_at(self.problem(u), self.local.chart, self.state(u))
        return down @ view.matrix @ up, view.tangent @ up

    def left_out(self, _: Array) -> Complex:
        """The eigenvalues of directions without influence: zeros."""
        return np.zeros(len(self.local.chart.free) - len(self.quotient[0]), dtype=complex)

    def trivial(self, u: Array) -> int:
        """The number of eigenvalues that vanish at a point, within their error bounds or by the rank of the matrix."""
        matrix = self.matrix(u)[0]
        values, doubts = self.spectrum(u)
        return max(int(np.sum(np.abs(values) <= doubts)), len(matrix) - inverse_of(matrix)[1])

    def keeping_all_but_one(self, across: Array, u: Array) -> RestCurve:
        """The curve with all but one of the directions `across` excluded by keeping the jets that change most along the others."""
        curve, x = self, self.state(u)
        order = qr(across[: len(x)].T, mode="r", pivoting=True)[1][: across.shape[1]]
        for i in sorted(map(int, order))[1:]:
            curve = replace(curve, held=(*curve.held, (i, float(x[i]))), known={})
        return curve

    def holding(self, candidates: Sequence[tuple[int, float]], u: Array) -> RestCurve:
        """The curve with enough of the first independent `candidates` held that its family has one dimension.

        Points near `u` count too, because at a branch point the null space has more dimensions than the family.
        """
        points, curve = [u], self
        for ahead in (0.1, -0.1):
            beyond = self.value(u) + ahead * self.unit
            try:
                points.append(solved(self, u + ahead * self.along, at_value(self, beyond)))
            except StateError:
                continue
        for i, v in candidates:
            free = min((null_space(curve, point, CUT) for point in points), key=lambda null: null.shape[1])
            if free.shape[1] <= 1:
                break
            still = free @ np.linalg.svd((self.along @ free)[None, :])[2][1:].T
            if i != self.place and float(np.abs(still[i]).max()) > MOVES:
                curve = replace(curve, held=(*curve.held, (i, v)), known={})
        return curve


def rest_curve(
    local: Local, along: Any, until: tuple[float, float], at_rest: bool, held: Sequence[tuple[int, float]], where: str
) -> RestCurve:
    """The curve through a state; `along` is a parameter or a jet of the state."""
    x = np.asarray(local.view.spot.x, dtype=float)
    state = directions(local.problem.system)
    sizes = natural(x, local.view.spot.units)
    unit = (until[1] - until[0]) / UNITS_OF_INTERVAL
    if along in state:
        place, parameter, p0 = state.index(along), None, 0.0
        sizes = sizes.copy()
        sizes[place] = unit
    else:
        place, parameter, p0 = len(state), along, float(local.problem.binding.parameters[along])
    inside = np.random.default_rng(11).uniform(0.02, 0.98, 2) * (until[1] - until[0]) + until[0]
    samples = tuple(float(v) for v in inside)
    name = str(along.name)
    return RestCurve(local, x, sizes, parameter, p0, place, unit, samples, at_rest, tuple(held), name, where)
