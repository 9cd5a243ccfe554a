r"""The curve of periodic orbits of a system.

The unknowns are a state on the orbit, the period if the system does not depend on time, the amounts of symmetries if the orbits close only
up to symmetries, and the parameter along which the curve is followed, if any. The equations say that the orbit closes, that the state
satisfies the constraints, that integrals keep their values, and that the state has not moved along time and symmetries from a reference
state. If the curve is followed along a jet, the first integral is free: the family is parametrised by energy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.errors import InitialError, StateError, UnfinishedError, UsageError
from chetaev.core.fixes import Ask
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.stability.spectrum import Complex
from chetaev.orbits.arclength import DIFFERENCE, Array, Product
from chetaev.orbits.closing.orbit_search import Search
from chetaev.orbits.flow import Flow
from chetaev.orbits.invariants import Divided, Invariants, divided, phases

_MULTIPLIER_ERROR = 1e-8
"""Error of a multiplier of size 1, which comes from the integrator."""
_LEAST_COSINE = 0.3
"""Least cosine of the angle between an orbit and the normal of the plane of its first state; below it, a new plane is chosen."""

Evaluated = tuple[Array, Array, Array, Array, Array]
_DIFFERENCE_OF_PERIODS = 1e-4
"""Step of central differences of the period of a driven system, which depends on the parameter smoothly and exactly."""


@dataclass(frozen=True, eq=False)
class OrbitCurve:
    """Equations of a curve of periodic orbits."""

    flow: Flow
    search: Search
    invariants: Invariants
    parameter: Symbol | None
    origin: Array
    """The state that has the coordinates 0."""
    p0: float
    unit: float
    place: int
    """The index of the unknown along which the curve is followed."""
    span: float
    """The unit of the period; the period that has the coordinate 0."""
    given: Any
    """The period of a system that depends on time: a number, or an expression in the parameters."""
    times: int
    """The number of such periods in an orbit: 2 after a period doubling."""
    kept: tuple[tuple[int, float], ...]
    """Integrals that keep a value: their indices, and the values."""
    reference: Array
    """The reference state of the phase conditions: states do not move away from it along time and symmetries."""
    name: str
    where: str
    natural: Array
    """Sizes of the jets that do not depend on the interval; in these units the planes
    of the phase conditions are orthogonal to the orbits."""
    relative: tuple[float, ...] = ()
    """The amounts of symmetries that have the coordinates 0; empty for orbits that close."""
    seen: dict[bytes, Evaluated] = field(default_factory=dict, repr=False)
    """Cache of motions, by the bytes of the point."""

    longest = 0.2
    close = 1e-8
    met = 1e-7
    difference = 1e-4
    cut = 1e-9

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the jets of the state."""
        return self.flow.names

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.origin) + int(self.flow.autonomous) + len(self.relative) + int(self.parameter is not None)

    @cached_property
    def _amount_units(self) -> Array:
        """The units of the amounts: amounts that move a state by about its size, at least those of the first orbit."""
        moved = self.search.displacement.slopes(self.origin, np.zeros(len(self.relative))) / self.flow.sizes[:, None]
        lengths = np.linalg.norm(moved, axis=0)
        return np.maximum(np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1.0), 1.0), np.abs(self.relative))

    @property
    def _amounts_at(self) -> slice:
        first = len(self.origin) + int(self.flow.autonomous)
        return slice(first, first + len(self.relative))

    def amounts(self, u: Array) -> Array:
        """The amounts of the symmetries that displace the end of an orbit."""
        found: Array = np.zeros(0)
        if self.relative:
            found = self.times * (np.array(self.relative) + self._amount_units * u[self._amounts_at])
        return found

    @cached_property
    def along(self) -> Array:
        """The slopes of the quantity along which the curve is followed."""
        found: Array = np.eye(self.size)[self.place]
        return found

    def state(self, u: Array) -> Array:
        """The jets of the state at the first time."""
        found: Array = self.origin + self.flow.sizes * u[: len(self.origin)]
        return found

    def shown(self, u: Array) -> dict[str, float]:
        """The state at the first time, by name."""
        return dict(zip(self.names, map(float, self.state(u)), strict=True))

    def value(self, u: Array) -> float:
        """The value of the quantity along which the curve is followed."""
        return float(self.p0 + self.unit * u[-1]) if self.parameter is not None else float(self.state(u)[self.place])

    def period(self, u: Array) -> float:
        """The period of an orbit."""
        if self.flow.autonomous:
            return float(self.span * (1 + u[len(self.origin)]))
        names = dict(zip(self.flow.equations.system.parameters, map(float, self._values(u)), strict=True))
        return self.times * number(self.given, names, self.where, UsageError)

    def _values(self, u: Array) -> Array:
        """The values of all parameters."""
        p = self.flow.p.copy()
        if self.parameter is not None:
            value = self.value(u)
            if self.parameter.is_positive and value <= 0:
                raise StateError(f"{self.parameter.name} = {value:g}, but it is declared positive.", where=self.where)
            p[self.flow.equations.system.parameters.index(self.parameter)] = value
        return p

    def flow_at(self, u: Array) -> Flow:
        """The flow with the value of the parameter at a point."""
        return self.flow if self.parameter is None else replace(self.flow, p=self._values(u))

    def check(self, u: Array) -> None:
        """Raise a StateError if round-off may spoil a point of the curve; iterations omit this costly test."""
        self._evaluated(u, checked=True)

    def _evaluated(self, u: Array, checked: bool = False) -> Evaluated:
        """The start, the end, the derivatives of the end with respect to start and parameter, and the rates at the end, in units of the
        jets.
        """
        key = u.tobytes()
        if key not in self.seen or checked:
            flow, duration = self.flow_at(u), self.period(u)
            if not duration > 0:
                raise StateError("the period is not positive.", where=self.where)
            try:
                x = flow.settled(self.state(u))
                name = None if self.parameter is None else str(self.parameter.name)
                end, slopes, column = flow.after_by(x, duration, name, self._moved(u), checked)
                side = self.search.gap(x, end, self.amounts(u))[1]
                end, slopes, column = side * end, side[:, None] * slopes, side * column
            except (UnfinishedError, InitialError) as failure:
                raise StateError(f"the motion does not reach its end: {failure.what}", where=self.where) from None
            self.seen[key] = x, end, slopes, column * self.unit, flow.rates(end, flow.t0 + duration) / flow.sizes
        return self.seen[key]

    def _moved(self, u: Array) -> Array | None:
        """The derivative of the start with respect to the parameter, which moves
        the constraints, by differences; None without constraints.
        """
        if self.parameter is None or not len(self.flow.constraints(self.origin)[0]):
            return None
        step = DIFFERENCE * np.eye(self.size)[-1]
        x = self.state(u)
        found: Array = (self.flow_at(u + step).settled(x) - self.flow_at(u - step).settled(x)) / (2 * DIFFERENCE * self.unit)
        return found

    def numbers(self, u: Array) -> tuple[Array, Array]:
        """Residuals and their derivative."""
        flow, x, n = self.flow_at(u), self.state(u), len(self.origin)
        _, end, slopes, column, rates = self._evaluated(u)
        amounts = self.amounts(u)
        gap, _ = self.search.gap(x, end, amounts)
        rest, rows = flow.constraints(x)
        matrix = np.zeros((n + len(rows) + len(self.kept) + len(self._phases), self.size))
        matrix[:n, :n], matrix[n : n + len(rows), :n] = slopes - self._push(amounts), rows
        if self.relative:
            moved = self.search.displacement.slopes(x, amounts) / flow.sizes[:, None]
            matrix[:n, self._amounts_at] = -self.times * moved * self._amount_units
        if flow.autonomous:
            matrix[:n, n] = self.span * rates
        values, gradients = self._integrals(flow, x)
        first = n + len(rows)
        matrix[first : first + len(self.kept), :n] = gradients
        matrix[first + len(self.kept) :, :n] = self._phases
        residual = np.concatenate([gap / flow.sizes, rest, values, self._phases @ ((x - self.reference) / flow.sizes)])
        if self.parameter is not None:
            matrix[:n, -1] = column
            matrix[n:first, -1], matrix[first : first + len(self.kept), -1] = self._by_parameter(u, x)
            if not flow.autonomous:
                h = _DIFFERENCE_OF_PERIODS
                step = h * np.eye(self.size)[-1]
                matrix[:n, -1] += rates * (self.period(u + step) - self.period(u - step)) / (2 * h)
        return residual, matrix

    def _push(self, amounts: Array) -> Array:
        """The derivative of the displacement with respect to the state, in units of the jets."""
        if not self.relative:
            return np.eye(len(self.origin))
        found: Array = self.search.displacement.push(amounts) * self.flow.sizes / self.flow.sizes[:, None]
        return found

    @cached_property
    def _phases(self) -> Array:
        """The slopes of the phase conditions at the reference, as rows of length 1."""
        plain, factors = replace(self.flow, sizes=self.natural), self.flow.sizes / self.natural
        rows = phases(plain, self.invariants, self.reference, self._integrals(plain, self.reference)[1]) * factors
        found: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return found

    def _integrals(self, flow: Flow, x: Array) -> tuple[Array, Array]:
        """The differences of the kept integrals from their values, and the gradients, in units of the jets."""
        if not self.kept:
            return np.zeros(0), np.zeros((0, len(x)))
        places = [i for i, _ in self.kept]
        gradients = self.invariants.gradients(flow, x)[places] * flow.sizes
        lengths = np.linalg.norm(gradients, axis=1)
        lengths[lengths == 0] = 1.0
        off = self.invariants.values(flow, x)[places] - np.array([v for _, v in self.kept])
        return off / lengths, gradients / lengths[:, None]

    def _by_parameter(self, u: Array, x: Array) -> tuple[Array, Array]:
        """The derivatives of constraints and integrals with respect to the parameter, by differences."""
        h = DIFFERENCE
        step = h * np.eye(self.size)[-1]
        above, below = self.flow_at(u + step), self.flow_at(u - step)
        rows = (above.constraints(x)[0] - below.constraints(x)[0]) / (2 * h)
        return rows, (self._integrals(above, x)[0] - self._integrals(below, x)[0]) / (2 * h)

    def renewed(self, u: Array) -> OrbitCurve:
        """This curve, with phase conditions that refer to the point `u` if the present ones no longer cut the orbits transversally.

        Otherwise the conditions stay, so that all orbits of a family begin alike, such as swings that begin at rest.
        """
        later = replace(self, flow=self.flow_at(u), reference=self.state(u))
        if len(later._phases) == len(self._phases):
            s = np.linalg.svd(later._phases @ self._phases.T, compute_uv=False)
            if s.min(initial=1.0) > _LEAST_COSINE:
                return self
        return later

    def keeping_all_but_one(self, across: Array, u: Array) -> OrbitCurve:
        """Raise a StateError: of several families of orbits, none is chosen."""
        what = f"{across.shape[1]} directions lead to other orbits at {self.name} = {self.value(u):.6g}; continuation cannot choose one."
        raise StateError(what, where=self.where, hint=("start on the other family: ", Ask("orbits.periodic"), " finds one of its orbits"))

    def monodromy(self, u: Array) -> tuple[Array, Array]:
        """The derivative of the flow over a period on the tangent space, and a basis of that space in units of the jets."""
        flow = self.flow_at(u)
        x, _, slopes, _, _ = self._evaluated(u)
        basis = flow.tangent(x)
        return basis.T @ self._push(-self.amounts(u)) @ slopes @ basis, basis

    def _divided(self, u: Array) -> Divided:
        """The multipliers, separated into those that time, integrals and symmetries explain and the others."""
        flow = self.flow_at(u)
        matrix, basis = self.monodromy(u)
        return divided(flow, self.invariants, self._evaluated(u)[0], basis, matrix, with_time=flow.autonomous)

    def spectrum(self, u: Array) -> tuple[Complex, Array]:
        """The multipliers that time, integrals and symmetries do not explain, with error bounds."""
        values = self._divided(u).remaining
        return values, np.full(len(values), _MULTIPLIER_ERROR * max(1.0, float(np.abs(values).max(initial=0.0))))

    def left_out(self, u: Array) -> Complex:
        """The multipliers that time, integrals and symmetries explain."""
        return self._divided(u).explained

    def doubling(self, u: Array) -> float:
        """The determinant that vanishes where a multiplier is -1."""
        matrix = self._divided(u).block
        return float(np.linalg.det(matrix + np.eye(len(matrix))))

    @staticmethod
    def carried(_: Array) -> dict[str, float]:
        """Empty: only relative equilibria have velocities of symmetries."""
        return {}

    @staticmethod
    def trivial(_: Array) -> int:
        """Zero: no multiplier of `spectrum` is trivial."""
        return 0

    @staticmethod
    def from_trivial(values: Complex) -> Array:
        """The distances of multipliers from the trivial one, 1."""
        return np.abs(values - 1)

    @staticmethod
    def growth(values: Complex) -> Array:
        """The logarithms by which disturbances grow over a period."""
        return np.asarray(np.log(np.maximum(np.abs(values), ALMOST_ZERO)))

    @staticmethod
    def crossings() -> tuple[tuple[str, Product], ...]:
        """Functions of two multipliers that vanish where one passes 1 or -1, and the kinds of these points."""
        return (("branch", lambda p, q: (p - 1) * (q - 1)), ("period_doubling", lambda p, q: (p + 1) * (q + 1)))

    @staticmethod
    def gap(a: complex, b: complex) -> complex:
        """A smooth function of two multipliers that vanishes where they meet, and is real for pairs on the real axis or the unit circle."""
        return (a - b) ** 2 / (a * b)

    @staticmethod
    def mirrored(v: complex) -> complex:
        """The other multiplier of a conservative system's quadruple in the same half-plane."""
        return 1 / v.conjugate()
