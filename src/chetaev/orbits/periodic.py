r"""periodic: an orbit that closes after a period, found by Newton's iteration with the exact derivative of the flow.

The unknowns are the start $x$ on the manifold of states, the period $T$ where the system does not depend on time, and, for relative orbits,
the amounts $a$ by which symmetries displace the end: $\varphi_T(x) = S_a(x)$. Orbits come in families, of energies and of places, where
Newton's equations are singular. So the integrals keep the values that they have at the start, and steps have no component along time and
symmetries; of what remains the step of least norm is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import StateError, UnfinishedError, UsageError
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.orbits.flow import Array, Flow, flow_of
from chetaev.orbits.invariants import Invariants, explained, invariants_of

Complex = NDArray[np.complex128]

_TURNS = 40
"""Newton's iterations. A start near an orbit needs about five."""
_CLOSED = 1e-9
"""Relative to the sizes of the jets: an orbit closes up to here. Its error is that of the integrator times the largest multiplier."""
_KEPT = 1e-6
"""Relative to their sizes: the last equations before the end of the iteration hold up to here. Otherwise no orbit has the integrals of the
start, and Newton's iteration ends at a compromise."""
_CUT = 1e-8
"""Relative to the largest singular value: smaller ones belong to families, along which the step has no component."""
_LEAST = 0.4
"""The least ratio of the period to the given one, and of the given one to it: beyond it Newton's iteration has left the orbit meant."""
_FULL = 2 * np.pi
"""A turn: places that differ by it are the same where the rates are."""
_AT_REST = 1e-9
"""Rates relative to the sizes of the jets per period: a slower state is an equilibrium."""


@dataclass(frozen=True, eq=False, repr=False)
class Orbit:
    """A periodic orbit."""

    period: float
    """The time after which it closes."""
    start: Mapping[str, float]
    """A state on it, at the first time of `motion`."""
    multipliers: Complex
    """Floquet's multipliers on the manifold of states, the largest first: one for each dimension."""
    trivial: int
    """How many multipliers are 1 because of time, integrals and symmetries."""
    shift: Mapping[str, float]
    """The displacement after a period, by coordinate, of a relative orbit; empty if the orbit closes."""
    motion: Trajectory
    """One period."""
    residual: float
    """The distance between the two ends, relative to the sizes of the jets."""
    title: str

    @property
    def remaining(self) -> Complex:
        """The multipliers that nothing explains: those nearest to 1, `trivial` of them, are left out."""
        order = np.argsort(np.abs(self.multipliers - 1))
        kept = np.sort(order[self.trivial :])
        found: Complex = self.multipliers[kept]
        return found

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [self.title, f"  period       {self.period:.12g}", f"  residual     {self.residual:.1e}"]
        shown = ",  ".join(_text(v) for v in self.multipliers)
        lines.append(f"  multipliers  {shown}")
        lines.append(f"  {self.trivial} of {len(self.multipliers)} explained by time, integrals and symmetries")
        if self.shift:
            lines.append("  shift        " + ", ".join(f"{name} {v:.12g}" for name, v in self.shift.items()))
        return "\n".join(lines)


def _text(v: complex) -> str:
    if abs(v.imag) <= 1e-12 * abs(v):
        return f"{v.real:.6g}"
    return f"{v.real:.6g} {'-' if v.imag < 0 else '+'} {abs(v.imag):.6g}i"


def periodic(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    period: Any = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    relative: bool | None = None,
    tolerance: float = 1e-12,
) -> Orbit:
    """A periodic orbit near a start, with its multipliers.

    The period of a system that depends on time is kept; otherwise it is found. In families of orbits the integrals of the start (energy,
    momenta) are kept.

    Args:
        equations: Equations or a model.
        start: A state near the orbit; None for that of a model.
        period: An approximate period: a number, or a text in the parameters such as `"2*pi/w"`; exact if the equations depend on time.
        parameters: Values of the parameters.
        t: The time at the start.
        inputs: Functions of time for the inputs.
        relative: Whether the orbit may close up to a symmetry; by default only if it does not close otherwise.
        tolerance: The tolerance of the motion.

    Returns:
        The orbit, with its period, multipliers and motion.

    Raises:
        StateError: If the start is an equilibrium, or no orbit is found near it.
        UsageError: If the period is missing.
        ModelError: For group coordinates.

    >>> from chetaev import System, derive
    >>> oscillator = derive(System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    >>> orbit = periodic(oscillator, {"x": 1, "x'": 0}, period=3.1, parameters={"k": 4})
    >>> round(orbit.period, 9), orbit.trivial
    (3.141592654, 2)
    """
    if period is None:
        raise UsageError("no period is given.", where="periodic", hint='periodic(equations, start, period=6.2) or period="2*pi/w"')
    flow, guess = flow_of("periodic", equations, start, parameters, t, period, tolerance, inputs)
    invariants = invariants_of(flow.equations)
    if flow.autonomous and np.all(np.abs(flow.rates(flow.start)) * guess <= _AT_REST * flow.sizes):
        raise StateError(
            "the start is an equilibrium, which is no periodic orbit.",
            where=flow.where,
            hint="a start away from it; ch.equilibria finds it",
        )
    search = Search(flow, invariants)
    kinds = [False, True] if relative is None else [relative]
    for moving in kinds:
        found = search.closed(guess, moving and bool(invariants.fields))
        if found is not None:
            return found
    raise StateError(
        f"no periodic orbit was found near the start in {_TURNS} iterations: the ends stay {search.nearest:.1e} apart.",
        where=flow.where,
        why="Newton's iteration converges from a start and a period near those of an orbit.",
        hint="another start or period; relative=True for an orbit that closes up to a symmetry",
    )


class Search:
    """Newton's iteration for one flow."""

    def __init__(self, flow: Flow, invariants: Invariants) -> None:
        self.flow, self.invariants = flow, invariants
        self.turning = self._turning()
        self.nearest = np.inf
        self.span = float(flow.run.t[1] - flow.run.t[0])

    def _turning(self) -> NDArray[np.bool_]:
        """The places of the state that are angles: a full turn changes no rate."""
        flow, found = self.flow, []
        chance = np.random.default_rng(5)
        for i, z in enumerate(flow.run.jets):
            same = z.order == 0
            for _ in range(3 if same else 0):
                x = flow.start + 0.1 * flow.sizes * chance.normal(size=len(flow.start))
                turned = x.copy()
                turned[i] += _FULL
                try:
                    a, b = flow.rates(x), flow.rates(turned)
                except StateError:
                    continue
                same = same and bool(np.all(np.abs(a - b) <= 1e-9 * (np.abs(a) + np.abs(b)) + 1e-9 * flow.sizes))
            found.append(same)
        return np.array(found)

    def closed(self, period: float, relative: bool) -> Orbit | None:
        """The orbit near the start; None if the iteration does not converge."""
        flow, x = self.flow, self.flow.start.copy()
        wanted = self.invariants.values(flow, x) if flow.autonomous else np.zeros(0)
        amounts = self.aligned(x, period) if relative else np.zeros(0)
        for _ in range(_TURNS):
            basis = flow.tangent(x)
            try:
                end, slopes, _ = flow.after(x, period, flow.sizes[:, None] * basis)
            except (StateError, UnfinishedError):
                return None
            gap, moved = self.gap(x, end, amounts)
            self.nearest = min(self.nearest, float(np.abs(gap / flow.sizes).max()))
            matrix, right = self._equations(x, end, slopes, basis, gap, moved, wanted, amounts, relative)
            u, s, vt = np.linalg.svd(matrix, full_matrices=False)
            kept = s > _CUT * s[0]
            step = -vt[kept].T @ ((u[:, kept].T @ right) / s[kept])
            d = basis.shape[1]
            size = float(np.abs(step[:d]).max(initial=0.0))
            damping = min(1.0, 0.3 / size) if size > 0.3 else 1.0
            x = x + damping * flow.sizes * (basis @ step[:d])
            if flow.autonomous:
                period = period + damping * step[d] * self.span
                if not _LEAST * self.span < period < self.span / _LEAST:
                    return None
            amounts = amounts + damping * step[d + 1 :] if relative else amounts
            x = self._on_manifold(x)
            # a good start may need a better period only
            rest = max(
                abs(float(step[d])), float(np.abs(moved / flow.sizes[:, None] @ step[d + 1 :]).max(initial=0.0)) if relative else 0.0
            )
            if damping == 1.0 and max(size, rest) < _CLOSED:
                return self._orbit(x, period, amounts) if float(np.abs(right).max()) < _KEPT else None
        return None

    def aligned(self, x: Array, period: float) -> Array:
        """Amounts of the symmetries that bring the start near its end: tried one after the other, then together."""
        flow, count = self.flow, len(self.invariants.fields)
        amounts = np.zeros(count)
        try:
            end = flow.after(x, period, np.zeros((len(x), 1)))[0]
        except (StateError, UnfinishedError):
            return amounts

        def distance(tried: Array) -> float:
            return float(np.linalg.norm(self.gap(x, end, tried)[0] / flow.sizes))

        for k in range(count):
            direction = self._field(k, x)
            length = float(np.sum((direction / flow.sizes) ** 2))
            along = float(np.sum(self.gap(x, end, amounts)[0] * direction / flow.sizes**2)) / length if length else 0.0
            trials = [amounts + amount * np.eye(count)[k] for amount in (*np.linspace(-np.pi, np.pi, 25), along)]
            amounts = min([amounts, *trials], key=distance)
        for _ in range(10):
            gap = self.gap(x, end, amounts)[0] / flow.sizes
            h = 1e-6
            columns = [(self.gap(x, end, amounts + h * e)[0] / flow.sizes - gap) / h for e in np.eye(count)]
            step = np.linalg.lstsq(np.array(columns).T, -gap, rcond=1e-6)[0]
            if distance(amounts + step) >= distance(amounts):
                break
            amounts = amounts + step
        return amounts

    def _on_manifold(self, x: Array) -> Array:
        """The state moved onto the constraints."""
        return self.flow.settled(x)

    def gap(self, x: Array, end: Array, amounts: Array) -> tuple[Array, Array]:
        """The difference of the ends after the symmetries, full turns left out, and the directions of the symmetries there."""
        target = self._displaced(x, amounts)
        vectors = self.invariants.vectors(self.flow, target)[:, : len(amounts)]
        gap = end - target
        gap[self.turning] -= _FULL * np.round(gap[self.turning] / _FULL)
        return gap, vectors

    def _displaced(self, x: Array, amounts: Array) -> Array:
        """The state displaced by symmetries, each followed for its amount by a few steps of Runge and Kutta's rule."""
        for k, amount in enumerate(amounts):
            steps = max(1, int(np.ceil(abs(amount) / 0.02)))
            h = amount / steps
            for _ in range(steps if amount else 0):
                a = self._field(k, x)
                b = self._field(k, x + h / 2 * a)
                c = self._field(k, x + h / 2 * b)
                x = x + h / 6 * (a + 2 * b + 2 * c + self._field(k, x + h * c))
        return x

    def _field(self, k: int, x: Array) -> Array:
        found: Array = self.invariants.vectors(self.flow, x)[:, k]
        return found

    def _equations(
        self, x: Array, end: Array, slopes: Array, basis: Array, gap: Array, vectors: Array, wanted: Array, amounts: Array, relative: bool
    ) -> tuple[Array, Array]:
        """Newton's equations in units of the sizes: closing, integrals that keep their values, no step along time and symmetries."""
        flow = self.flow
        unit = flow.sizes[:, None]
        period = [flow.rates(end)[:, None] / unit] if flow.autonomous else [np.zeros((len(x), 1))]
        scale = self.span
        carried = basis if not np.any(amounts) else self._push(x, amounts) @ (unit * basis) / unit
        columns = [slopes / unit - carried, *[scale * column for column in period]]
        if relative:
            columns.append(-vectors / unit)
        matrix, right = np.hstack(columns), gap / flow.sizes
        if len(wanted):
            gradients = self.invariants.gradients(flow, x) * flow.sizes
            lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
            lengths[lengths == 0] = 1.0
            rows = np.hstack([gradients / lengths @ basis, np.zeros((len(gradients), matrix.shape[1] - basis.shape[1]))])
            off = (self.invariants.values(flow, x) - wanted) / lengths.ravel()
            matrix, right = np.vstack([matrix, rows]), np.concatenate([right, off])
        phases = self.invariants.vectors(flow, x) / unit
        if flow.autonomous:
            phases = np.hstack([flow.rates(x)[:, None] / unit, phases])
        lengths = np.linalg.norm(phases, axis=0)
        fixed = (phases[:, lengths > 0] / lengths[lengths > 0]).T @ basis
        rows = np.hstack([fixed, np.zeros((len(fixed), matrix.shape[1] - basis.shape[1]))])
        return np.vstack([matrix, rows]), np.concatenate([right, np.zeros(len(fixed))])

    def _orbit(self, x: Array, period: float, amounts: Array) -> Orbit:
        flow = self.flow
        basis = flow.tangent(x)
        end, slopes, motion = flow.after(x, period, flow.sizes[:, None] * basis)
        gap, _ = self.gap(x, end, amounts)
        residual = float(np.abs(gap / flow.sizes).max())
        monodromy = basis.T @ (self._back(x, amounts, slopes) / flow.sizes[:, None])
        values = np.linalg.eigvals(monodromy).astype(complex)
        trivial = explained(flow, self.invariants, x, basis, with_time=flow.autonomous)
        moved = end - x
        shown = {z.name: float(v) for z, v in zip(flow.run.jets, moved, strict=True) if z.order == 0 and abs(v) > 1e-7 * max(1.0, abs(v))}
        turned = {z.name for z, angle in zip(flow.run.jets, self.turning, strict=True) if angle}
        shift = shown if len(amounts) and np.any(amounts) else {name: v for name, v in shown.items() if name in turned}
        return Orbit(
            period=float(period),
            start=Frozen(zip(flow.names, map(float, x), strict=True)),
            multipliers=values[np.argsort(-np.abs(values), kind="stable")],
            trivial=trivial,
            shift=Frozen(shift),
            motion=motion,
            residual=residual,
            title=f"periodic orbit of {flow.equations.system.label}",
        )

    def _back(self, x: Array, amounts: Array, slopes: Array) -> Array:
        """Slopes at the end of a relative orbit, carried back to the start by the inverse of the symmetry."""
        if not np.any(amounts):
            return slopes
        return np.asarray(np.linalg.solve(self._push(x, amounts), slopes), dtype=float)

    def _push(self, x: Array, amounts: Array) -> Array:
        """The derivative of the displacement by the symmetries; the fields are affine, so differences have no error but round-off."""
        h = 0.1
        columns = [
            (self._displaced(x + h * s * e, amounts) - self._displaced(x - h * s * e, amounts)) / (2 * h * s)
            for s, e in zip(self.flow.sizes, np.eye(len(x)), strict=True)
        ]
        found: Array = np.array(columns).T
        return found
