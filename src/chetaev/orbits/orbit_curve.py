r"""The curve of periodic orbits of a system.

The unknowns are a state on the orbit, the period where the system does not depend on time, and, if the curve is followed along one, a
parameter. The equations say that the orbit closes, that the state satisfies the constraints, that integrals keep their values, and that the
state has not moved along time and symmetries from the one before. Along a jet, the first integral is free: the family is that of energies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.errors import InitialError, ParameterError, StateError, UnfinishedError, UsageError
from chetaev.core.state import State
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.stability.spectrum import Complex
from chetaev.orbits.arclength import Array, Product, null_space, plane, solved, tangent_at
from chetaev.orbits.flow import Flow, flow_of
from chetaev.orbits.invariants import Invariants, explained, invariants_of
from chetaev.orbits.periodic import Orbit, Search, periodic
from chetaev.orbits.special import Found

_STEPS = 8.0
"""Units of the quantity along which the curve is followed in the interval; a step is at most a fifth of one."""
_FAMILY = 1e-7
"""Relative to the largest singular value: smaller ones belong to families; the error of the integrator is below."""
_DOUBT = 1e-8
"""Error of a multiplier of size 1, from that of the integrator."""
_AMPLITUDES = (0.02, 0.05, 0.005)
"""Distances from an equilibrium at which the first orbit of a family is looked for, in units of the unknowns."""
_SLANT = 0.3
"""Least cosine of the angle between an orbit and the normal of the plane in which its first state lies."""
_REPEATS = 1e-7
"""Relative to their sizes: rates one period later agree up to here."""

Evaluated = tuple[Array, Array, Array, Array, Array]


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
    """The number of the coordinate along which the curve is followed."""
    span: float
    """The unit of the period; the period that has the coordinate 0."""
    given: Any
    """The period of a system that depends on time: a number, or a text in the parameters."""
    times: int
    """How often that period is passed."""
    kept: tuple[tuple[int, float], ...]
    """Integrals that keep a value: their numbers, and the values."""
    reference: Array
    """The state from which no other moves along time and symmetries."""
    name: str
    where: str
    seen: dict[bytes, Evaluated] = field(default_factory=dict, repr=False)
    """Motions that were followed already."""

    longest = 0.2
    close = 1e-8
    met = 1e-7
    difference = 1e-4

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the jets of the state."""
        return self.flow.names

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.origin) + int(self.flow.autonomous) + int(self.parameter is not None)

    @cached_property
    def along(self) -> Array:
        """The slopes of the quantity along which the curve is followed."""
        found: Array = np.eye(self.size)[self.place]
        return found

    def state(self, u: Array) -> Array:
        """The jets of the state at the first time."""
        found: Array = self.origin + self.flow.sizes * u[: len(self.origin)]
        return found

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
        """The flow with the parameter of a point."""
        return self.flow if self.parameter is None else replace(self.flow, p=self._values(u))

    def _evaluated(self, u: Array) -> Evaluated:
        """State at the start, at the end, derivatives by state and parameter in units of the jets, and the rates at the end."""
        key = u.tobytes()
        if key not in self.seen:
            flow, duration = self.flow_at(u), self.period(u)
            if not duration > 0:
                raise StateError("the period is not positive.", where=self.where)
            try:
                x = flow.settled(self.state(u))
                name = None if self.parameter is None else str(self.parameter.name)
                end, slopes, column = flow.after_by(x, duration, name, self._moved(u))
            except (UnfinishedError, InitialError) as failure:
                raise StateError(f"the motion does not reach its end: {failure.what}", where=self.where) from None
            self.seen[key] = x, end, slopes, column * self.unit, flow.rates(end, flow.t0 + duration) / flow.sizes
        return self.seen[key]

    def _moved(self, u: Array) -> Array | None:
        """The derivative of the start by the parameter, where the parameter moves the constraints; by differences."""
        if self.parameter is None or not len(self.flow.constraints(self.origin)[0]):
            return None
        step = 1e-5 * np.eye(self.size)[-1]
        x = self.state(u)
        found: Array = (self.flow_at(u + step).settled(x) - self.flow_at(u - step).settled(x)) / (2e-5 * self.unit)
        return found

    def numbers(self, u: Array) -> tuple[Array, Array]:
        """Residuals and their derivative."""
        flow, x, n = self.flow_at(u), self.state(u), len(self.origin)
        _, end, slopes, column, rates = self._evaluated(u)
        gap, _ = self.search.gap(x, end, np.zeros(0))
        rest, rows = flow.constraints(x)
        matrix = np.zeros((n + len(rows) + len(self.kept) + len(self._phases), self.size))
        matrix[:n, :n], matrix[n : n + len(rows), :n] = slopes - np.eye(n), rows
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
                h = 1e-4
                step = h * np.eye(self.size)[-1]
                matrix[:n, -1] += rates * (self.period(u + step) - self.period(u - step)) / (2 * h)
        return residual, matrix

    @cached_property
    def _phases(self) -> Array:
        """The directions of time and symmetries at the reference, of length 1, a row each."""
        vectors = self.invariants.vectors(self.flow, self.reference)
        if self.flow.autonomous:
            vectors = np.hstack([self._rates_there[:, None], vectors])
        vectors = vectors / self.flow.sizes[:, None]
        lengths = np.linalg.norm(vectors, axis=0)
        found: Array = (vectors[:, lengths > 0] / lengths[lengths > 0]).T
        return found

    @cached_property
    def _rates_there(self) -> Array:
        return self.flow.rates(self.reference)

    def _integrals(self, flow: Flow, x: Array) -> tuple[Array, Array]:
        """What the integrals are off their values, and their gradients, in units of the jets."""
        if not self.kept:
            return np.zeros(0), np.zeros((0, len(x)))
        places = [i for i, _ in self.kept]
        gradients = self.invariants.gradients(flow, x)[places] * flow.sizes
        lengths = np.linalg.norm(gradients, axis=1)
        lengths[lengths == 0] = 1.0
        off = self.invariants.values(flow, x)[places] - np.array([v for _, v in self.kept])
        return off / lengths, gradients / lengths[:, None]

    def _by_parameter(self, u: Array, x: Array) -> tuple[Array, Array]:
        """The slopes of constraints and integrals by the parameter, by differences."""
        h = 1e-5
        step = h * np.eye(self.size)[-1]
        above, below = self.flow_at(u + step), self.flow_at(u - step)
        rows = (above.constraints(x)[0] - below.constraints(x)[0]) / (2 * h)
        return rows, (self._integrals(above, x)[0] - self._integrals(below, x)[0]) / (2 * h)

    def renewed(self, u: Array) -> OrbitCurve:
        """The same curve; with phases that refer to a point of it where the first ones no longer cut the orbits.

        As long as they do, they stay: at the start of a swing from rest, all orbits of its family start from rest.
        """
        later = replace(self, flow=self.flow_at(u), reference=self.state(u))
        if len(later._phases) == len(self._phases):
            s = np.linalg.svd(later._phases @ self._phases.T, compute_uv=False)
            if s.min(initial=1.0) > _SLANT:
                return self
        return later

    def keeping_all_but_one(self, across: Array, u: Array) -> OrbitCurve:
        """Refuse to choose one of many families of orbits."""
        what = f"{across.shape[1]} directions lead to other orbits at {self.name} = {self.value(u):.6g}; which of them is not determined."
        raise StateError(what, where=self.where, hint="start on the other family: ch.orbits.periodic finds one of its orbits")

    def monodromy(self, u: Array) -> tuple[Array, Array]:
        """The derivative of the flow over a period on the tangent space, and a basis of that space in units of the jets."""
        flow = self.flow_at(u)
        x, _, slopes, _, _ = self._evaluated(u)
        basis = flow.tangent(x)
        return basis.T @ slopes @ basis, basis

    @cached_property
    def explained(self) -> int:
        """How many multipliers are 1 because of time, integrals and symmetries."""
        x = self.reference
        return explained(self.flow, self.invariants, x, self.flow.tangent(x), with_time=self.flow.autonomous)

    def _split(self, u: Array) -> tuple[Complex, Complex]:
        """The multipliers that nothing explains, and the others."""
        values = np.linalg.eigvals(self.monodromy(u)[0]).astype(complex)
        order = np.argsort(np.abs(values - 1))
        return values[np.sort(order[self.explained :])], values[order[: self.explained]]

    def spectrum(self, u: Array) -> tuple[Complex, Array]:
        """The multipliers that nothing explains, with bounds of their errors."""
        values = self._split(u)[0]
        return values, np.full(len(values), _DOUBT * max(1.0, float(np.abs(values).max(initial=0.0))))

    def left_out(self, u: Array) -> Complex:
        """The multipliers that time, integrals and symmetries explain."""
        return self._split(u)[1]

    def doubling(self, u: Array) -> float:
        """The determinant that vanishes where a multiplier is -1."""
        matrix = self.monodromy(u)[0]
        return float(np.linalg.det(matrix + np.eye(len(matrix))))

    @staticmethod
    def trivial(_: Array) -> int:
        """None of the multipliers that are left is trivial."""
        return 0

    @staticmethod
    def from_trivial(values: Complex) -> Array:
        """The distances of multipliers from the trivial one, 1."""
        return np.abs(values - 1)

    @staticmethod
    def growth(values: Complex) -> Array:
        """The logarithms by which disturbances grow over a period."""
        return np.asarray(np.log(np.maximum(np.abs(values), 1e-300)))

    @staticmethod
    def crossings() -> tuple[tuple[str, Product], ...]:
        """Functions of two multipliers that vanish where one passes 1 or -1, and the kinds of these points."""
        return (("branch", lambda p, q: (p - 1) * (q - 1)), ("period_doubling", lambda p, q: (p + 1) * (q + 1)))

    @staticmethod
    def gap(a: complex, b: complex) -> complex:
        """A smooth function that vanishes where two multipliers meet, and is real on both axes."""
        return (a - b) ** 2 / (a * b)

    @staticmethod
    def mirrored(v: complex) -> complex:
        """The multiplier that a conservative system has together with this one, in the same half of the plane."""
        return 1 / v.conjugate()


Begun = tuple[OrbitCurve, Array, Array, bool]
"""A curve, a point of it, its direction there, and whether it is followed one way only."""


def orbits_along(
    equations: Equations,
    start: Any,
    along: Symbol,
    until: tuple[float, float],
    parameters: Mapping[str, Any],
    period: Any,
    t: float,
    inputs: Mapping[str, Any],
    tolerance: float,
    where: str,
) -> Begun:
    """The curve of periodic orbits through a start."""
    given = start.period if isinstance(start, Orbit) and period is None else period
    if given is None:
        raise UsageError("no period is given.", where=where, hint='period=6.2 or period="2*pi/w"; or an orbit as the start')
    first: Any = start.start if isinstance(start, Orbit) else start
    orbit = periodic(equations, first, given, parameters, t=t, inputs=inputs, tolerance=tolerance)
    flow, _ = flow_of("continuation", equations, State(dict(orbit.start)), parameters, t, orbit.period, tolerance, inputs)
    jets = list(flow.run.jets)
    if isinstance(along, Jet) and along not in jets:
        raise ParameterError(f"{along.name} is no jet of the state.", where=where, hint=" ".join(z.name for z in jets))
    curve = _curve(flow, flow.start, orbit.period, given, along, until, where)
    turning = {z.name for z, angle in zip(jets, curve.search.turning, strict=True) if angle}
    if any(name not in turning for name in orbit.shift):
        raise StateError(
            "the orbit at the start closes only up to a symmetry.",
            where=where,
            why="Families of relative orbits are not followed.",
            hint="coordinates relative to the moving frame, in which the orbit closes",
        )
    if not flow.autonomous:
        _require_repetition(curve, until)
    u = np.zeros(curve.size)
    curve = _keeping(curve, u)
    null = null_space(curve, u, _FAMILY)
    direction = null @ (null.T @ curve.along)
    if float(np.linalg.norm(direction)) < 1e-6:
        direction = null[:, -1] if null.shape[1] else curve.along
    tangent = tangent_at(curve, u, direction / np.linalg.norm(direction))
    return curve, u, tangent, False


def _curve(flow: Flow, x: Array, span: float, given: Any, along: Symbol, until: tuple[float, float], where: str) -> OrbitCurve:
    jets, unit = list(flow.run.jets), (until[1] - until[0]) / _STEPS
    invariants = invariants_of(flow.equations)
    count = len(jets) + int(flow.autonomous)
    if along in jets:
        place, parameter, p0 = jets.index(along), None, 0.0
        sizes = flow.sizes.copy()
        sizes[place] = unit
        flow = replace(flow, sizes=sizes)
    else:
        place, parameter = count, along
        p0 = float(flow.p[flow.equations.system.parameters.index(along)])
    search = Search(flow, invariants)
    period = span if flow.autonomous else given
    return OrbitCurve(flow, search, invariants, parameter, x, p0, unit, place, span, period, 1, (), x, str(along.name), where)


def _keeping(curve: OrbitCurve, u: Array) -> OrbitCurve:
    """The curve with as many integrals kept as the family has dimensions too many; the energy, if it comes first, is free last."""
    if not curve.flow.autonomous:
        return curve
    x = curve.state(u)
    values = curve.invariants.values(curve.flow, x)
    for i in reversed(range(len(values))):
        if null_space(curve, u, _FAMILY).shape[1] <= 1:
            break
        tried = replace(curve, kept=(*curve.kept, (i, float(values[i]))))
        if null_space(tried, u, _FAMILY).shape[1] < null_space(curve, u, _FAMILY).shape[1]:
            curve = tried
    return curve


def _require_repetition(curve: OrbitCurve, until: tuple[float, float]) -> None:
    """Raise if the equations do not repeat after the period, at some value of the parameter."""
    chance = np.random.default_rng(9)
    for value in (curve.p0, *until):
        u = np.zeros(curve.size)
        u[-1] = (value - curve.p0) / curve.unit
        try:
            flow, duration = curve.flow_at(u), curve.period(u)
        except (StateError, UsageError):
            continue
        for _ in range(3):
            x = curve.origin + 0.1 * flow.sizes * chance.normal(size=len(curve.origin))
            moment = flow.t0 + 0.37 * duration
            a, b = flow.rates(x, moment), flow.rates(x, moment + duration)
            if np.any(np.abs(a - b) > _REPEATS * (np.abs(a) + np.abs(b) + flow.sizes / duration)):
                what = f"the equations do not repeat after the period {duration:.6g} at {curve.name} = {value:.6g}."
                raise StateError(what, where=curve.where, hint='a text in the parameters: period="2*pi/w"')


def orbits_from_hopf(
    found: Found, equations: Equations, inputs: Mapping[str, Any], until: tuple[float, float], tolerance: float, where: str
) -> Begun:
    """The curve of periodic orbits that begins at a Hopf point of equilibria."""
    rest, u = found.node.curve, found.node.u
    if found.eigenvalue is None or not rest.at_rest:
        raise StateError(
            "the motions around this steady motion are periodic only up to a symmetry.",
            where=where,
            why="Families of relative orbits are not followed.",
            hint='kind="equilibria", or coordinates in which the steady motion is an equilibrium',
        )
    x, problem = rest.state(u), rest.problem(u)
    values = {z.name: v for z, v in problem.binding.parameters.items()}
    duration = 2 * np.pi / abs(found.eigenvalue.imag)
    at = State(dict(zip(rest.names, map(float, x), strict=True)))
    flow, _ = flow_of("continuation", equations, at, values, problem.t, duration, tolerance, inputs)
    order = [rest.names.index(name) for name in flow.names]
    flow = replace(flow, sizes=rest.sizes[order])
    matrix, tangent = rest.matrix(u)
    eigenvalues, vectors = np.linalg.eig(matrix)
    v = tangent @ vectors[:, np.argmin(np.abs(eigenvalues - found.eigenvalue))]
    v = v[order] / flow.sizes
    v = v * np.exp(-0.5j * np.angle(np.sum(v**2)))  # real and imaginary part are orthogonal, the real one is longer
    across = v.real / np.linalg.norm(v.real)
    along = rest.parameter if rest.parameter is not None else flow.run.jets[flow.names.index(rest.name)]
    base = _curve(flow, x[order], duration, duration, along, until, where)
    for amplitude in _AMPLITUDES:
        guess = np.zeros(base.size)
        guess[: len(x)] = amplitude * across
        reached = replace(base, reference=flow.settled(base.state(guess)))
        reached = _keeping(reached, guess)
        normal = np.zeros(base.size)
        normal[: len(x)] = across
        try:
            point = solved(reached, guess, plane(normal, guess))
        except StateError:
            continue
        reached = reached.renewed(point)
        return reached, point, tangent_at(reached, point, normal), True
    raise StateError(f"no periodic orbit was found near the Hopf point {rest.name} = {found.node.value:.6g}.", where=where)


def orbits_from_doubling(found: Found) -> Begun:
    """The curve of orbits of twice the period that begins at a period doubling."""
    curve, u = found.node.curve, found.node.u
    matrix, basis = curve.monodromy(u)
    _, _, vt = np.linalg.svd(matrix + np.eye(len(matrix)))
    across = basis @ vt[-1]
    twice = replace(curve, span=2 * curve.span, times=2 * curve.times, seen={})
    normal = np.zeros(curve.size)
    normal[: len(across)] = across / np.linalg.norm(across)
    for amplitude in _AMPLITUDES:
        guess = u + amplitude * normal
        reached = twice.renewed(guess)
        try:
            point = solved(reached, guess, plane(normal, guess))
        except StateError:
            continue
        away = point - u
        if float(np.linalg.norm(away[: len(across)])) > 0.5 * amplitude:
            reached = reached.renewed(point)
            return reached, point, tangent_at(reached, point, normal), True
    raise StateError(f"no orbit of twice the period was found near {curve.name} = {found.node.value:.6g}.", where=curve.where)
