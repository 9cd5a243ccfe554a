r"""Newton's iteration for an orbit that closes after a period, with the exact derivative of the flow.

The unknowns are the start $x$ on the manifold of states, the period $T$ where the system does not depend on time, and, for relative orbits,
the amounts $a$ by which symmetries displace the end: $\varphi_T(x) = S_a(x)$. Orbits come in families, parametrised by energies and by
positions, where Newton's equations are singular. Therefore the integrals keep their values at the start, steps have no component along time
and symmetries, and of the remaining steps that of least norm is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import StateError, UnfinishedError
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet, Place
from chetaev.mechanics.tolerances import CUT
from chetaev.orbits.arclength import FAMILY_SINGULAR_VALUE
from chetaev.orbits.closing.orbit import Complex, Orbit
from chetaev.orbits.displacement import displacement_of
from chetaev.orbits.flow import Array, Flow
from chetaev.orbits.invariants import Invariants, divided, phases

MOST_ITERATIONS = 40
"""Limit of Newton's iterations. A start near an orbit needs about five."""
CLOSED = 1e-9
"""Largest distance between the ends, relative to the sizes of the jets. The error of an orbit is that of the integrator times the largest
multiplier."""
LARGEST_RESIDUAL = 1e-6
"""Largest residual of Newton's equations, relative to their sizes, where the iteration converges. A larger one means a least-squares
compromise: no orbit has the integrals of the start."""
LEAST_PERIOD_RATIO = 0.4
"""Least ratio of the period to the given period, and of the given one to it: beyond it Newton's iteration has left the intended orbit."""
_WHOLE_TURN = 2 * np.pi
"""Radians of a full turn, which does not change an angle."""
_TIME_DIRECTION_ERROR = 1e-2
"""Largest change of the direction of time over a period, relative to the rates. Accurate orbits have 1e-9 and less; a larger change means
that instability has destroyed all digits."""
_UNMOVED = 1e-7
"""Change of a coordinate over a period, below which it counts as unmoved; the change is relative to 1 or to itself."""
_SAME_RATES = 1e-9
"""Relative to the rates and to the sizes of the jets: rates that differ by less after a whole turn are the same, and the jet is an
angle."""
_SHORTEST_SHIFT = 1e-9
"""Shortest shift along a symmetry for which a step is halved again; below it round-off decides."""


class Search:
    """Newton's iteration for one flow."""

    def __init__(self, flow: Flow, invariants: Invariants) -> None:
        self.flow, self.invariants = flow, invariants
        self.displacement = displacement_of(flow, invariants, flow.start)
        self.turning = self._turning()
        self.nearest = np.inf
        self.span = float(flow.run.t[1] - flow.run.t[0])

    def _turning(self) -> NDArray[np.bool_]:
        """Which entries of the state are angles: coordinates of which a full turn changes no rate."""
        flow, found = self.flow, []
        chance = np.random.default_rng(5)
        for i, z in enumerate(flow.run.jets):
            same = z.order == 0
            for _ in range(3 if same else 0):
                x = flow.start + 0.1 * flow.sizes * chance.normal(size=len(flow.start))
                turned = x.copy()
                turned[i] += _WHOLE_TURN
                try:
                    a, b = flow.rates(x), flow.rates(turned)
                except StateError:
                    continue
                same = same and bool(np.all(np.abs(a - b) <= _SAME_RATES * (np.abs(a) + np.abs(b)) + _SAME_RATES * flow.sizes))
            found.append(same)
        return np.array(found)

    def closed(self, period: float, relative: bool) -> Orbit | None:
        """The orbit near the start, up to a symmetry if `relative`; None if the iteration does not converge."""
        flow, x = self.flow, self.flow.start.copy()
        wanted = self.invariants.values(flow, x) if flow.autonomous else np.zeros(0)
        amounts = self.aligned(x, period) if relative else np.zeros(0)
        for _ in range(MOST_ITERATIONS):
            basis = flow.tangent(x)
            try:
                end, slopes, _ = flow.after(x, period, flow.sizes[:, None] * basis)
            except (StateError, UnfinishedError):
                return None
            gap, side = self.gap(x, end, amounts)
            end, slopes = side * end, side[:, None] * slopes
            self.nearest = min(self.nearest, float(np.abs(gap / flow.sizes).max()))
            matrix, right = self._equations(x, end, slopes, basis, gap, wanted, amounts)
            u, s, vt = np.linalg.svd(matrix, full_matrices=False)
            kept = s > FAMILY_SINGULAR_VALUE * s[0]
            step = -vt[kept].T @ ((u[:, kept].T @ right) / s[kept])
            d = basis.shape[1]
            size = float(np.abs(step[:d]).max(initial=0.0))
            damping = min(1.0, 0.3 / size) if size > 0.3 else 1.0
            x = flow.settled(x + damping * flow.sizes * (basis @ step[:d]))
            if flow.autonomous:
                period = period + damping * step[d] * self.span
                if not LEAST_PERIOD_RATIO * self.span < period < self.span / LEAST_PERIOD_RATIO:
                    return None
            # the period may still change where the start is exact
            rest = max(abs(float(step[d])), float(np.abs(matrix[: len(x), d + 1 :] @ step[d + 1 :]).max(initial=0.0)))
            amounts = amounts + damping * step[d + 1 :]
            if damping == 1.0 and max(size, rest) < CLOSED:
                return self.orbit(x, period, amounts) if float(np.abs(right).max()) < LARGEST_RESIDUAL else None
        return None

    def aligned(self, x: Array, period: float) -> Array:
        """Amounts of the symmetries that map the start near its end: by trial one after the other, then all by Gauss-Newton steps."""
        flow, count = self.flow, len(self.displacement)
        amounts = np.zeros(count)
        try:
            end = flow.after(x, period, np.zeros((len(x), 1)))[0]
        except (StateError, UnfinishedError):
            return amounts

        def distance(tried: Array) -> float:
            return float(np.linalg.norm(self.gap(x, end, tried)[0] / flow.sizes))

        for k in range(count):
            direction = self.displacement.slopes(x, np.zeros(count))[:, k]
            length = float(np.sum((direction / flow.sizes) ** 2))
            along = float(np.sum(self.gap(x, end, amounts)[0] * direction / flow.sizes**2)) / length if length else 0.0
            trials = [amounts + amount * np.eye(count)[k] for amount in (*np.linspace(-np.pi, np.pi, 25), along)]
            amounts = min([amounts, *trials], key=distance)
        for _ in range(20):
            gap = self.gap(x, end, amounts)[0] / flow.sizes
            columns = self.displacement.slopes(x, amounts) / flow.sizes[:, None]
            step = np.linalg.lstsq(columns, gap, rcond=CUT)[0]
            while distance(amounts + step) >= distance(amounts) and float(np.abs(step).max(initial=0.0)) > _SHORTEST_SHIFT:
                step = step / 2
            if distance(amounts + step) >= distance(amounts):
                break
            amounts = amounts + step
        return amounts

    def gap(self, x: Array, end: Array, amounts: Array) -> tuple[Array, Array]:
        """The difference between the end and the displaced start, modulo full turns, and the signs of quaternions at the end."""
        target = self.displacement.moved(x, amounts) if len(amounts) else x
        side = self.flow.side(end, target)
        gap = side * end - target
        gap[self.turning] -= _WHOLE_TURN * np.round(gap[self.turning] / _WHOLE_TURN)
        return gap, side

    def _equations(
        self, x: Array, end: Array, slopes: Array, basis: Array, gap: Array, wanted: Array, amounts: Array
    ) -> tuple[Array, Array]:
        """Newton's equations in units of the jets: the gap closes, integrals keep their values, no step along time and symmetries."""
        flow = self.flow
        unit = flow.sizes[:, None]
        period = [flow.rates(end)[:, None] / unit] if flow.autonomous else [np.zeros((len(x), 1))]
        scale = self.span
        carried = self.displacement.push(amounts) @ (unit * basis) / unit if len(amounts) else basis
        columns = [slopes / unit - carried, *[scale * column for column in period]]
        if len(amounts):
            columns.append(-self.displacement.slopes(x, amounts) / unit)
        matrix, right = np.hstack(columns), gap / flow.sizes
        if len(wanted):
            gradients = self.invariants.gradients(flow, x) * flow.sizes
            lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
            lengths[lengths == 0] = 1.0
            rows = np.hstack([gradients / lengths @ basis, np.zeros((len(gradients), matrix.shape[1] - basis.shape[1]))])
            off = (self.invariants.values(flow, x) - wanted) / lengths.ravel()
            matrix, right = np.vstack([matrix, rows]), np.concatenate([right, off])
        fixed = phases(flow, self.invariants, x, gradients if len(wanted) else np.zeros((0, len(x)))) @ basis
        rows = np.hstack([fixed, np.zeros((len(fixed), matrix.shape[1] - basis.shape[1]))])
        return np.vstack([matrix, rows]), np.concatenate([right, np.zeros(len(fixed))])

    def orbit(self, x: Array, period: float, amounts: Array) -> Orbit | None:
        """The orbit through `x` that closes after `period`; None if instability leaves no accurate digits."""
        flow = self.flow
        basis = flow.tangent(x)
        end, slopes, motion = flow.after(x, period, flow.sizes[:, None] * basis)
        gap, side = self.gap(x, end, amounts)
        residual = float(np.abs(gap / flow.sizes).max())
        back = side[:, None] * slopes if not len(amounts) else self.displacement.push(-amounts) @ (side[:, None] * slopes)
        monodromy = basis.T @ (back / flow.sizes[:, None])
        if flow.autonomous and not _carries_time(flow, x, basis, monodromy):
            return None  # so unstable that the integrator's error is larger than the state
        parts = divided(flow, self.invariants, x, basis, monodromy, with_time=flow.autonomous)
        values = np.concatenate([parts.explained, parts.remaining])
        moved = end - x
        shown = {z.name: float(v) for z, v in zip(flow.run.jets, moved, strict=True) if _shifted(z, v)}
        turned = {z.name for z, angle in zip(flow.run.jets, self.turning, strict=True) if angle}
        relative = bool(np.any(np.abs(amounts) > CLOSED))
        shift = shown if relative else {name: v for name, v in shown.items() if name in turned}
        names = [self.invariants.names[k] for k in self.displacement.numbers]
        return Orbit(
            period=float(period),
            start=Frozen(zip(flow.names, map(float, x), strict=True)),
            multipliers=_ordered(values),
            explained=_ordered(parts.explained),
            remaining=_ordered(parts.remaining),
            shift=Frozen(shift),
            amounts=Frozen(zip(names, map(float, amounts), strict=True)) if relative else Frozen({}),
            motion=motion,
            residual=residual,
            title=f"periodic orbit of {flow.equations.system.label}",
        )


def _carries_time(flow: Flow, x: Array, basis: Array, monodromy: Array) -> bool:
    """Whether the computed monodromy maps the direction of time to itself; it fails to where instability leaves no accurate digits."""
    along = basis.T @ (flow.rates(x) / flow.sizes)
    return float(np.linalg.norm(monodromy @ along - along)) <= _TIME_DIRECTION_ERROR * float(np.linalg.norm(along))


def _shifted(z: Jet, v: float) -> bool:
    """Whether a coordinate has moved; single entries of a group element do not count."""
    return z.order == 0 and not isinstance(z, Place) and abs(v) > _UNMOVED * max(1.0, abs(v))


def _ordered(values: Complex) -> Complex:
    """Multipliers, the largest first."""
    found: Complex = values[np.argsort(-np.abs(values), kind="stable")]
    return found
