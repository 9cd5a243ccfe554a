r"""The curve of relative equilibria of a system: motions along its symmetries, such as a precessing top.

With the fields $X_k$ of the symmetries, $f(x) = \xi^k X_k(x)$: the rates are those of a displacement with constant velocities $\xi$. The
unknowns are the jets of the state, these velocities, and the quantity along which the curve is followed, a parameter or an expression. The
other equations are the constraints, that group elements stay on their groups, that the state has not moved along symmetries from a
reference state, and that some quantities keep their values. In the moving frame the linearised motion has the constant matrix
$Df - \xi^k DX_k$; the fields are affine, and the derivatives of the rates are differences of fourth order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sympy import Expr, Symbol

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import StateError
from chetaev.core.values import Tape, Undefined
from chetaev.numerics.stability.spectrum import Complex, inverse_of, spectrum_of
from chetaev.orbits.arclength import FAMILY_SINGULAR_VALUE, MOVES, UNITS_OF_INTERVAL, Array, at_value, null_space, solved
from chetaev.orbits.displacement import Displacement, displacement_of
from chetaev.orbits.flow import Flow
from chetaev.orbits.invariants import Divided, Invariants, divided
from chetaev.orbits.steady.eigenvalue_kind import Rates

_DIFFERENCE_STEP = 1e-3
"""Step of differences, in units of the jets: its fourth power (truncation) and round-off divided by it are both about 1e-12."""
_EIGENVALUE_ERROR = 1e-9
"""Error of an eigenvalue relative to the largest, which comes from differences."""
_LEAST_COSINE = 0.3
"""Least cosine of the angle between the symmetries at a point and at the reference state; below it, a new reference is chosen."""
_LEAST_VELOCITY = 1e-3
"""Least unit of a velocity of a symmetry, relative to the largest velocity."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """An expression in the jets of the state, with its slopes."""

    name: str
    tape: Tape

    @classmethod
    def of(cls, name: str, expression: Expr, flow: Flow) -> Quantity:
        """Compile an expression; entries of group elements become functions of the stored numbers."""
        written = flow.equations.system.charted(expression)
        return cls(name, Tape([written, *SYMBOLIC.gradient(written, list(flow.run.jets))]))

    def at(self, flow: Flow, x: Array) -> tuple[float, Array]:
        """The value and its derivatives with respect to the jets."""
        known = {**dict(zip(flow.run.jets, map(float, x), strict=True)), **flow.known}
        try:
            value, *slopes = self.tape(known)
        except Undefined:
            raise StateError(f"{self.name} has no value here.", where=flow.where) from None
        return float(value), np.array(slopes, dtype=float)


@dataclass(frozen=True, eq=False)
class RelativeCurve(Rates):
    """Equations of a curve of relative equilibria."""

    flow: Flow
    invariants: Invariants
    displacement: Displacement
    """The symmetries that carry the state."""
    parameter: Symbol | None
    quantity: Quantity | None
    """The expression along which the curve is followed; None if it is followed along a parameter."""
    origin: Array
    """The state that has the coordinates 0."""
    speeds: Array
    """The velocities of the symmetries that have the coordinates 0."""
    p0: float
    """The value of the parameter or of `quantity` that has the coordinate 0."""
    unit: float
    time: float
    """The unit of time, in which the motion changes the state by about its size."""
    reference: Array
    """The reference state of the phase conditions: states do not move away from it along symmetries."""
    kept: tuple[tuple[Quantity, float], ...]
    """Quantities that keep a value."""
    held: tuple[tuple[int, float], ...]
    """Velocities of symmetries that keep a value: their indices, and the values."""
    name: str
    where: str
    known: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, repr=False)
    """Cache of residuals and derivatives, by the bytes of the point."""
    seen: dict[bytes, Divided] = field(default_factory=dict, repr=False)
    """Cache of eigenvalues, by the bytes of the point."""

    longest = 0.1
    close = 1e-10
    met = 1e-8
    difference = 1e-4
    cut = 1e-10

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the jets of the state."""
        return self.flow.names

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.origin) + len(self.speeds) + 1

    @cached_property
    def along(self) -> Array:
        """The slopes of the quantity along which the curve is followed."""
        found: Array = np.eye(self.size)[-1]
        return found

    def state(self, u: Array) -> Array:
        """The jets of the state at a point."""
        found: Array = self.origin + self.flow.sizes * u[: len(self.origin)]
        return found

    def value(self, u: Array) -> float:
        """The value of the quantity along which the curve is followed."""
        return float(self.p0 + self.unit * u[-1])

    def velocities(self, u: Array) -> Array:
        """The velocities of the symmetries at a point."""
        found: Array = self.speeds + u[len(self.origin) : -1] * self._speed_units
        return found

    @cached_property
    def _speed_units(self) -> Array:
        """Velocities of the symmetries that change the state by about its size in the unit of time."""
        lengths = np.linalg.norm(self._moved(self.origin) / self.flow.sizes[:, None], axis=0)
        return 1 / (np.maximum(lengths, _LEAST_VELOCITY * lengths.max(initial=0.0)) * self.time)

    def _moved(self, x: Array) -> Array:
        """The fields of the symmetries at a state, a column for each."""
        found: Array = (self.displacement.matrices @ np.append(x, 1.0))[:, :-1].T
        return found

    def flow_at(self, u: Array) -> Flow:
        """The flow with the value of the parameter at a point."""
        return self.flow if self.parameter is None else self._with(self.parameter, self.value(u))

    def _with(self, parameter: Symbol, value: float) -> Flow:
        if parameter.is_positive and value <= 0:
            raise StateError(f"{parameter.name} = {value:g}, but it is declared positive.", where=self.where)
        p = self.flow.p.copy()
        p[self.flow.equations.system.parameters.index(parameter)] = value
        return replace(self.flow, p=p)

    def numbers(self, u: Array) -> tuple[Array, Array]:
        """Residuals and their derivative."""
        key = u.tobytes()
        if key not in self.known:
            self.known[key] = self._numbers(u)
        return self.known[key]

    def _numbers(self, u: Array) -> tuple[Array, Array]:
        flow, x, n, sizes = self.flow_at(u), self.state(u), len(self.origin), self.flow.sizes
        fields = self._moved(x)
        residuals = [self.time * (self._rates(flow, x) - fields @ self.velocities(u)) / sizes]
        blocks = [np.zeros((n, self.size))]
        blocks[0][:, :n] = self.time * self._in_the_frame(flow, x, self.velocities(u))
        blocks[0][:, n:-1] = -self.time * fields * self._speed_units / sizes[:, None]
        rest, rows = flow.constraints(x)
        kept = flow.on_groups(x)
        for residual, slopes in (
            (rest, rows),
            ((x - flow.normalised(x)) / sizes, np.eye(n) - kept @ kept.T),
            (self._phases @ ((x - self.reference) / sizes), self._phases),
        ):
            residuals.append(residual)
            blocks.append(np.hstack([slopes, np.zeros((len(slopes), self.size - n))]))
        if self.parameter is not None:
            blocks[0][:, -1], blocks[1][:, -1] = self._by_parameter(self.parameter, u, x)
        for quantity, wanted in self.kept:
            value, slope = quantity.at(flow, x)
            length = float(np.linalg.norm(slope * sizes)) or 1.0
            residuals.append(np.array([(value - wanted) / length]))
            blocks.append(np.append(slope * sizes / length, np.zeros(self.size - n))[None])
        for k, wanted in self.held:
            residuals.append((self.velocities(u)[[k]] - wanted) / self._speed_units[k])
            blocks.append(np.eye(self.size)[[n + k]])
        if self.quantity is not None:
            value, slope = self.quantity.at(flow, x)
            residuals.append(np.array([(value - self.value(u)) / self.unit]))
            blocks.append(np.concatenate([slope * sizes / self.unit, np.zeros(len(self.speeds)), [-1.0]])[None])
        return np.concatenate(residuals), np.vstack(blocks)

    def _rates(self, flow: Flow, x: Array) -> Array:
        found = flow.rates(x)
        if not np.all(np.isfinite(found)):
            raise StateError("the rates have no value here.", where=self.where)
        return found

    def _in_the_frame(self, flow: Flow, x: Array, velocities: Array) -> Array:
        """The matrix of the linearised motion in the frame that moves with the symmetries, in units of the jets."""
        n, sizes = len(x), self.flow.sizes

        def along(direction: Array) -> Array:
            return _slope(lambda s: self._rates(flow, x + s * _DIFFERENCE_STEP * sizes * direction)) / _DIFFERENCE_STEP

        columns = [along(e) for e in np.eye(n)]
        turned = np.tensordot(velocities, self.displacement.matrices, 1)[:n, :n] * sizes
        found: Array = (np.array(columns).T - turned) / sizes[:, None]
        return found

    def _by_parameter(self, parameter: Symbol, u: Array, x: Array) -> tuple[Array, Array]:
        """The derivatives of rates and constraints with respect to the parameter, in units."""
        value = self.value(u)

        def both(s: float) -> Array:
            there = self._with(parameter, value + s * _DIFFERENCE_STEP * self.unit)
            return np.concatenate([self.time * self._rates(there, x) / self.flow.sizes, there.constraints(x)[0]])

        found = _slope(both) / _DIFFERENCE_STEP
        return found[: len(x)], found[len(x) :]

    @cached_property
    def _phases(self) -> Array:
        """The slopes of the phase conditions: an orthonormal basis, as rows, of the symmetries at the reference."""
        left, s, _ = np.linalg.svd(self._moved(self.reference) / self.flow.sizes[:, None], full_matrices=False)
        found: Array = left[:, s > FAMILY_SINGULAR_VALUE * s.max(initial=0.0)].T
        return found

    def renewed(self, u: Array) -> RelativeCurve:
        """This curve, with phase conditions that refer to the point `u` if the present ones no longer cut the symmetries transversally."""
        later = replace(self, reference=self.state(u), known={})
        if len(later._phases) == len(self._phases):
            s = np.linalg.svd(later._phases @ self._phases.T, compute_uv=False)
            if s.min(initial=1.0) > _LEAST_COSINE:
                return self
        return later

    def shown(self, u: Array) -> dict[str, float]:
        """The state by name, with the stored numbers of group elements."""
        return dict(zip(self.names, map(float, self.flow.normalised(self.state(u))), strict=True))

    def carried(self, u: Array) -> dict[str, float]:
        """The velocities of the symmetries, by their names."""
        names = [self.invariants.names[k] for k in self.displacement.numbers]
        return dict(zip(names, map(float, self.velocities(u)), strict=True))

    def _divided(self, u: Array) -> Divided:
        """The eigenvalues, separated into those that symmetries and integrals explain and the others."""
        key = u.tobytes()
        if key not in self.seen:
            flow, x = self.flow_at(u), self.state(u)
            basis = flow.tangent(x)
            matrix = basis.T @ self._in_the_frame(flow, x, self.velocities(u)) @ basis
            self.seen[key] = divided(flow, self.invariants, x, basis, matrix, with_time=False)
        return self.seen[key]

    def spectrum(self, u: Array) -> tuple[Complex, Array]:
        """The eigenvalues that neither symmetries nor integrals explain, with error bounds."""
        values, doubts = spectrum_of(self._divided(u).block)
        return values, np.maximum(doubts, _EIGENVALUE_ERROR * max(float(np.abs(values).max(initial=0.0)), 1 / self.time))

    def left_out(self, u: Array) -> Complex:
        """The eigenvalues that symmetries and integrals explain."""
        return self._divided(u).explained

    def trivial(self, u: Array) -> int:
        """The number of eigenvalues of `spectrum` that vanish at a point, within their error bounds or by the rank of the matrix."""
        values, doubts = self.spectrum(u)
        matrix = self._divided(u).block
        return max(int(np.sum(np.abs(values) <= doubts)), len(matrix) - inverse_of(matrix)[1])

    def keeping_all_but_one(self, across: Array, u: Array) -> RelativeCurve:
        """Raise a StateError: of several families, none is chosen."""
        what = f"{across.shape[1]} directions lead to other motions at {self.name} = {self.value(u):.6g}; continuation cannot choose one."
        raise StateError(what, where=self.where, hint="start on the other family")

    def holding_velocities(self, u: Array) -> RelativeCurve:
        """The curve with enough velocities of symmetries held, rotations first, that its family has one dimension."""
        points, curve = [u], self
        for ahead in (0.1, -0.1):
            try:
                points.append(solved(self, u + ahead * self.along, at_value(self, self.value(u) + ahead * self.unit)))
            except StateError:
                continue
        turning = np.abs(self.displacement.matrices[:, : len(self.origin), : len(self.origin)]).max(axis=(1, 2), initial=0.0) > 0
        for k in np.argsort(~turning, kind="stable"):
            free = min((null_space(curve, point, FAMILY_SINGULAR_VALUE) for point in points), key=lambda null: null.shape[1])
            if free.shape[1] <= 1:
                break
            still = free @ np.linalg.svd((self.along @ free)[None, :])[2][1:].T
            if float(np.abs(still[len(self.origin) + k]).max()) > MOVES:
                curve = replace(curve, held=(*curve.held, (int(k), float(self.velocities(u)[k]))), known={})
        return curve


def _slope(at: Callable[[float], Array]) -> Array:
    """The derivative at 0 of a function of one variable, by a fourth-order difference with step 1."""
    found: Array = (8 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / 12
    return found


def relative_curve(
    flow: Flow, invariants: Invariants, along: Expr, until: tuple[float, float], fixed: Sequence[tuple[str, Expr]], where: str
) -> RelativeCurve | None:
    """The curve near the start of a flow; None if no symmetry moves that state."""
    x, sizes, n = flow.start, flow.sizes, len(flow.start)
    displacement = displacement_of(flow, invariants, x)
    if not len(displacement) or not flow.autonomous:
        return None
    fields = (displacement.matrices @ np.append(x, 1.0))[:, :n].T / sizes[:, None]
    rates = flow.rates(x) / sizes
    speeds = np.linalg.lstsq(fields, rates, rcond=None)[0]
    time = 1 / (float(np.linalg.norm(rates)) or 1.0)
    parameter = along if along in flow.equations.system.parameters else None
    quantity = None if parameter is not None else Quantity.of(str(along), along, flow)
    if parameter is not None:
        p0 = float(flow.p[flow.equations.system.parameters.index(parameter)])
    else:
        assert quantity is not None  # noqa: S101 - one of the two is there
        p0 = quantity.at(flow, x)[0]
    unit = (until[1] - until[0]) / UNITS_OF_INTERVAL
    kept = [(q, q.at(flow, x)[0]) for q in (Quantity.of(name, e, flow) for name, e in fixed)]
    return RelativeCurve(
        flow, invariants, displacement, parameter, quantity, x, speeds, p0, unit, time, x, tuple(kept), (), str(along), where
    )
