r"""Shooting: change the start of a motion until the conditions at both ends hold.

The unknowns are the state $y_0$ on its manifold, the final time and parameters if they are unknown, and the multipliers of free ends.
The derivatives of the end are those of the motion itself, so that the Levenberg-Marquardt iteration converges quadratically.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError
from chetaev.mechanics.tolerances import ALMOST_ZERO, CUT, NEWTON_CUT
from chetaev.numerics.prepared import end_and_slopes
from chetaev.orbits.flow import Flow
from chetaev.paths.boundary.ends import Array, Ends, Rows

_MOST_ITERATIONS = 60
"""Limit of iterations for each seed. Most seeds that lead to a path need about ten."""
_MET = 1e-13
"""Residual, relative to the sizes of the conditions, at which the iteration ends; smaller ones are errors of the motion itself."""
_NOISE = 1e-10
"""Residual, relative to the sizes of the conditions, below which failed steps may be due to errors of the motion."""
_MOST_FAILED_STEPS = 3
"""Number of successive failed steps below `_NOISE` after which the iteration ends. One step may fail by chance: errors of two motions
differ."""
_FIRST_DAMPING = 1e-3
"""First damping of the Levenberg-Marquardt iteration, relative to the squared singular values. Larger values make it slow, smaller ones let
it diverge."""
_LARGEST_DAMPING = 1e9
"""Damping beyond which a seed is abandoned."""
_LEADS_TO_KNOWN_PATH = 1e-3
"""Residual and distance from a known path, relative to the sizes, below which a shot is taken to lead to that path."""
_SLOW_REDUCTION = 0.9
"""Factor of the residual in one iteration above which it counts as slow; ten slow iterations in a row mean a local minimum of the residual
that is not a path."""
_LEAST_PARAMETER_SIZE = 1e-3
"""Smallest size of an unknown parameter without bounds, in its unit; a parameter that starts at zero would not move otherwise."""
_SHORTEST_DURATION = 1e-6
"""Shortest duration, relative to the first one, that a step may lead to."""
_LEAST_DAMPING = 1e-14
"""Smallest damping of the iteration; with less, damping could not grow again within the allowed iterations."""


@dataclass(frozen=True)
class Unknowns:
    """A point in the space of unknowns."""

    y: Array
    """The state at the start."""
    t1: float
    p: Array
    """All parameters."""
    nu: tuple[Array, Array]
    """The multipliers of free ends, at the start and at the end."""


@dataclass(frozen=True)
class Shot:
    """A motion with the residuals of all conditions and their derivatives with respect to all unknowns."""

    at: Unknowns
    residual: Array
    """The residuals relative to the sizes of the conditions."""
    slopes: Array
    """A column for each unknown, in units of their sizes."""
    basis: Array
    """Directions tangent to the manifold of states, in units of the sizes of the jets."""
    end: Array
    """The state at the end."""

    @property
    def worst(self) -> float:
        """The largest residual."""
        return float(np.abs(self.residual).max(initial=0.0))

    @property
    def next_step(self) -> float:
        """The length of Newton's next step, in units of the sizes of the unknowns."""
        return float(np.linalg.norm(np.linalg.lstsq(self.slopes, self.residual, rcond=CUT)[0]))


@dataclass(frozen=True)
class Shooting:
    """A boundary value problem."""

    flow: Flow
    ends: Ends
    t1: float | None
    """The final time; None where it is free."""
    unknown: tuple[int, ...]
    """The indices of unknown parameters."""
    bounds: tuple[tuple[float, float] | None, ...]
    """Their bounds; None for no bounds."""
    span: float
    """A typical duration."""
    paces: dict[Any, float] = field(default_factory=dict)
    """Cache: typical velocities of seeds that follow from accelerations at rest."""
    means: dict[Any, float] = field(default_factory=dict)
    """Cache: the displacements of coordinates and group elements between the ends, by the jet of the velocity."""
    _scales: dict[str, Array] = field(default_factory=dict)

    def with_sizes(self, sizes: Array) -> Shooting:
        """This problem with other typical sizes of the jets."""
        return replace(self, flow=replace(self.flow, sizes=sizes), paces={}, means={}, _scales={})

    def with_run(self, run: Any) -> Shooting:
        """This problem with motions of another tolerance."""
        return replace(self, flow=replace(self.flow, run=run))

    def at_parameters(self, p: Array) -> Flow:
        """The flow with other values of the parameters."""
        return self.flow if np.array_equal(p, self.flow.p) else replace(self.flow, p=p)

    def parts(self, at: Unknowns, end: Array) -> list[tuple[Rows, float, Array, Array]]:
        """The rows at both ends with their arguments."""
        return [
            (self.ends.at_start, self.flow.t0, at.y, at.nu[0]),
            (self.ends.at_end, at.t1, end, at.nu[1]),
        ]

    def shot(self, at: Unknowns) -> Shot | None:
        """The motion from the unknowns `at`; None if it does not reach the end."""
        flow = self.at_parameters(at.p)
        try:
            basis = flow.tangent(at.y)
            free = [flow.run.parameters[k] for k in self.unknown]
            first = np.hstack([flow.sizes[:, None] * basis, np.zeros((len(at.y), len(free)))])
            names = [*flow.names[: basis.shape[1]], *free]
            found = end_and_slopes(flow.run, at.y, at.p, names, first, at.t1, flow.sizes)
            rates = np.asarray(flow.run.rates(at.t1, found.y, at.p), float)
        except (ChetaevError, FloatingPointError, np.linalg.LinAlgError):
            return None
        if not (np.isfinite(found.y).all() and np.isfinite(found.slopes).all()):
            return None
        residual, slopes = self._assembled(at, found.y, found.slopes, rates, basis)
        if not (np.isfinite(residual).all() and np.isfinite(slopes).all()):
            return None
        return Shot(at, residual, slopes, basis, found.y)

    def _assembled(self, at: Unknowns, end: Array, carried: Array, rates: Array, basis: Array) -> tuple[Array, Array]:
        flow, d, count = self.flow, basis.shape[1], len(self.unknown)
        first = flow.sizes[:, None] * basis
        residuals, lines = [], []
        widths = [rows.multipliers for rows, *_ in self.parts(at, end)]
        for k, (rows, t, y, nu) in enumerate(self.parts(at, end)):
            r, (by_t, by_y, by_p, by_nu) = rows.at(t, y, at.p, nu)
            states = by_y @ (first if k == 0 else carried[:, :d])
            time = np.zeros((len(r), 1)) if k == 0 else (by_t + by_y @ rates[:, None]) * self.span
            parameters = by_p[:, list(self.unknown)] + (0 if k == 0 else by_y @ carried[:, d:])
            own = [by_nu if j == k else np.zeros((len(r), widths[j])) for j in range(2)]
            residuals.append(r)
            lines.append(np.hstack([states, time, parameters * self._parameter_sizes(at.p), *own]))
        for sign, t, y in ((1.0, at.t1, end), (-1.0, flow.t0, at.y)):
            r, (by_t, by_y, by_p, _) = self.ends.between.at(t, y, at.p, np.zeros(0))
            if not len(r):
                break
            late = sign > 0
            states = by_y @ (carried[:, :d] if late else first)
            time = (by_t + by_y @ rates[:, None]) * self.span if late else np.zeros((len(r), 1))
            parameters = by_p[:, list(self.unknown)] + (by_y @ carried[:, d:] if late else 0)
            line = np.hstack([states, time, parameters * self._parameter_sizes(at.p), np.zeros((len(r), sum(widths)))])
            if late:
                residuals.append(r)
                lines.append(line)
            else:
                residuals[-1] = residuals[-1] - r
                lines[-1] = lines[-1] - line
        scales = self.row_scales(at, end)
        matrix = np.vstack(lines) / scales[:, None]
        if self.t1 is not None:
            matrix[:, d] = 0.0
        assert matrix.shape[1] == d + 1 + count + sum(widths)  # noqa: S101 - the order of the unknowns
        return np.concatenate(residuals) / scales, matrix

    def _parameter_sizes(self, p: Array) -> Array:
        found = np.ones(len(self.unknown))
        for k, (i, bounds) in enumerate(zip(self.unknown, self.bounds, strict=True)):
            found[k] = (bounds[1] - bounds[0]) if bounds is not None else max(abs(p[i]), _LEAST_PARAMETER_SIZE)
        return found

    def row_scales(self, at: Unknowns, end: Array) -> Array:
        """The size of each condition: its change under displacements of typical size at the first seed."""
        if "rows" not in self._scales:
            found = []
            for rows, t, y, nu in self.parts(at, end):
                by_y = np.abs(rows.at(t, y, at.p, nu)[1][1])
                found.append(by_y @ self.flow.sizes)
            found.append(np.abs(self.ends.between.at(at.t1, end, at.p, np.zeros(0))[1][1]) @ self.flow.sizes)
            scales = np.concatenate(found)
            scales[scales == 0] = 1.0
            self._scales["rows"] = scales
        return self._scales["rows"]

    def moved(self, shot: Shot, step: Array) -> Unknowns | None:
        """The unknowns after a step, on the manifold of states; None if they violate bounds."""
        at, d = shot.at, shot.basis.shape[1]
        count, widths = len(self.unknown), [len(nu) for nu in at.nu]
        p = at.p.copy()
        p[list(self.unknown)] += step[d + 1 : d + 1 + count] * self._parameter_sizes(at.p)
        for i, bounds in zip(self.unknown, self.bounds, strict=True):
            if bounds is not None and not bounds[0] <= p[i] <= bounds[1]:
                return None
        t1 = float(at.t1 + (step[d] * self.span if self.t1 is None else 0.0))
        if (t1 - self.flow.t0) * np.sign(self.span) <= _SHORTEST_DURATION * abs(self.span):
            return None
        try:
            y = self.at_parameters(p).settled(at.y + self.flow.sizes * (shot.basis @ step[:d]))
        except ChetaevError:
            return None
        first = d + 1 + count
        nu = (at.nu[0] + step[first : first + widths[0]], at.nu[1] + step[first + widths[0] :])
        return Unknowns(y, t1, p, nu) if np.isfinite(y).all() else None

    def closest(self, seed: Unknowns, met: float = _MET, known: Sequence[Shot] = ()) -> Shot | None:
        """The shot at which the iteration from a seed ends; None if the seed has no motion, or leads to a path in `known`."""
        now = self.shot(seed)
        if now is not None and any(len(nu) for nu in seed.nu):
            now = self.shot(replace(seed, nu=self.fitted(seed, now.end)))
        if now is None:
            return None
        damping, slow, failed = _FIRST_DAMPING, 0, 0
        for _ in range(_MOST_ITERATIONS):
            if now.worst < met or damping > _LARGEST_DAMPING or slow >= 10:
                break
            if now.worst < _LEADS_TO_KNOWN_PATH and any(self.distance(now, other) < _LEADS_TO_KNOWN_PATH for other in known):
                return None
            u, s, vt = np.linalg.svd(now.slopes, full_matrices=False)
            if not s.size or s[0] == 0:
                break
            weights = s / (s**2 + damping * s[0] ** 2 * min(1.0, np.linalg.norm(now.residual)))
            weights[s < CUT * s[0]] = 0.0
            step = -vt.T @ (weights * (u.T @ now.residual))
            step = self._limited(step)
            then = self.moved(now, step)
            found = None if then is None else self.shot(then)
            before = float(np.linalg.norm(now.residual))
            if found is None or np.linalg.norm(found.residual) >= before:
                failed += 1
                if before < _NOISE * len(now.residual) and failed > _MOST_FAILED_STEPS:
                    break  # the residual is the error of the motion
                damping *= 8.0
                continue
            failed = 0
            slow = slow + 1 if np.linalg.norm(found.residual) > _SLOW_REDUCTION * before else 0
            damping = max(damping / 6.0, _LEAST_DAMPING)
            now = found
        return now

    def distance(self, a: Shot, b: Shot) -> float:
        """The largest difference of the unknowns of two shots, in units of their sizes."""
        apart: list[Any] = [
            np.abs(a.at.y - b.at.y) / np.maximum(self.flow.sizes, np.abs(b.at.y)),
            [abs(a.at.t1 - b.at.t1) / abs(self.span)],
        ]
        apart += [np.abs(a.at.p - b.at.p) / np.maximum(np.abs(b.at.p), ALMOST_ZERO)] if self.unknown else []
        return float(np.max(np.concatenate(apart)))

    def _limited(self, step: Array) -> Array:
        """The step shortened to at most twice the sizes of the unknowns, beyond which the linearisation is useless."""
        largest = float(np.abs(step).max(initial=0.0))
        return step * (2.0 / largest) if largest > 2.0 else step

    def fitted(self, at: Unknowns, end: Array) -> tuple[Array, Array]:
        """The least-squares multipliers of free ends for a motion; they enter the rows linearly."""
        found = []
        for rows, t, y, _ in self.parts(at, end):
            zero = np.zeros(rows.multipliers)
            residual, slopes = rows.at(t, y, at.p, zero)
            best = np.linalg.lstsq(slopes[3], -residual, rcond=NEWTON_CUT)[0] if rows.multipliers else zero
            found.append(np.where(np.isfinite(best), best, 0.0))
        return found[0], found[1]

    def without_multipliers(self) -> tuple[Array, Array]:
        """Zero multipliers for the free ends."""
        return np.zeros(self.ends.at_start.multipliers), np.zeros(self.ends.at_end.multipliers)
