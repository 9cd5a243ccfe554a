r"""Conjugate times, at which extremals from the same start meet again to first order.

Motions near a path that satisfy the conditions at its start have displacements $Q(t)$ and momenta $P(t)$ that span a Lagrangian plane. It
meets the plane $Q = 0$ at the conjugate times. The angles between the two planes are those of the eigenvalues of the unitary matrix
$W = (Q + iP)(Q + iP)^T$, after the columns are made orthonormal: an eigenvalue passes $-1$ at a conjugate time. Angles detect double zeros,
where the determinant of $Q$ does not change its sign, and do not depend on the order of its zero at the start.

V. I. Arnold, Funct. Anal. Appl. 1 (1967) 1-13; A. Agrachev, D. Barilari, U. Boscain, A Comprehensive Introduction to Sub-Riemannian
Geometry (Cambridge 2020), chapters 8 and 15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from chetaev.core.calculus import SYMBOLIC, Calculus
from chetaev.core.errors import ChetaevError
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.notation import show
from chetaev.core.state import State
from chetaev.mechanics.ranks.split import split
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.paths.boundary.attitudes import components_from_entries
from chetaev.paths.boundary.ends import Array, Boundary

_SAMPLES_PER_PATH = 160
"""Number of samples over one duration of the path; intervals in which the angles change fast are divided further."""
_DEEPEST = 12
"""Largest number of times an interval is halved to follow the angles."""
_LONGEST_TURN = 2.0
"""Largest change of the sum of all angles between two samples, in radians; a half turn in either direction would look the same."""
_LOCATED_TO = 1e-12
"""Accuracy of conjugate times, relative to the duration."""
_RESOLVED = 1e-7
"""Angle, in radians, below which the first samples are round-off of displacements that vanish to a high order at the start."""
_STUCK = 1e-8
"""Relative to the largest: smaller displacements along the whole path count as zero, so that another multiplier gives the same path."""
_NOT_LAGRANGIAN = 1e-4
"""Largest deviation from a unitary matrix of a family of displacements that is Lagrangian; beyond it the integrated displacements have lost
their digits."""
_SHORT_INTERVAL = 1e-3
"""Relative to the duration: in a shorter interval with one change of sign the time is located by Brent's method."""
_TIME_ERROR = 1e-14
"""Relative error of a conjugate time; `_LOCATED_TO` is the absolute one."""


@dataclass(frozen=True)
class Nearby:
    """A path, continued beyond its end, with its derivatives with respect to the start."""

    boundary: Boundary
    motion: Trajectory
    first: Array
    """The directions at the start as columns, in the jets with respect to which the motion is differentiated."""
    sizes: Array
    """Typical sizes of the jets of the boundary."""

    def table(self, names: Sequence[str], times: Array) -> Array:
        """Derivatives of expressions along the directions, with the axes time, expression, direction."""
        section = self.motion.at(times)
        return np.stack([section.all_slopes(name) @ self.first for name in names], axis=1)

    def displacements(self, times: Array) -> Array:
        """The displacements of the jets of the boundary, with the axes time, jet, direction; those
        of a group element are along its fields.
        """
        groups = self.boundary.equations.system.groups.values()
        owners = {q: (group, a) for group in groups for a, q in enumerate(group.components)}
        turned = {group.name: self._turned(group, times) for group in groups}
        plain = [z.name for z in self.boundary.pairs if z not in owners]
        rest = iter(np.moveaxis(self.table(plain, times), 1, 0) if plain else ())
        found = [turned[owners[z][0].name][:, owners[z][1]] if z in owners else next(rest) for z in self.boundary.pairs]
        return np.stack(found, axis=1)

    def _turned(self, group: GroupCoordinate, times: Array) -> Array:
        """The components of the displacements of a group element."""
        section, n = self.motion.at(times), group.group.size
        matrices, slopes = np.zeros((len(times), n, n)), np.zeros((len(times), n, n, self.first.shape[1]))
        for i, j in np.ndindex(n, n):
            cell = group.matrix[i, j]
            text = show(cell)
            matrices[:, i, j] = section[text] if cell.free_symbols else float(cell)
            slopes[:, i, j] = section.all_slopes(text) @ self.first if cell.free_symbols else 0.0
        return components_from_entries(group, matrices, slopes)

    def _momenta(self, times: Array, displaced: Array) -> Array:
        r"""Changes of momenta that make the plane Lagrangian: along fields of a group these are $\delta p_b - \tfrac12 p_c C^c_{ab}
        \eta^a$.
        """
        pairs = list(self.boundary.pairs)
        found = self.table([show(p) for p in self.boundary.pairs.values()], times)
        frame, section = self.boundary.equations.system.frame, self.motion.at(times)
        place = {a: pairs.index(z) for z, a in frame.turning.items() if z in pairs}
        for (a, b), parts in frame.structure.items():
            for c, constant in parts.items():
                if a in place and b in place and c in place:
                    p = float(constant) / 2 * np.asarray(section[show(self.boundary.pairs[pairs[place[c]]])], float)[:, None]
                    found[:, place[b]] -= p * displaced[:, place[a]]
                    found[:, place[a]] += p * displaced[:, place[b]]
        return found

    def planes(self, times: Array) -> tuple[Array, Array]:
        """Displacements and momenta at some times, in units in which both are of the same size."""
        q, p = self._unweighted(times)
        return q, p / self._weight

    def _unweighted(self, times: Array) -> tuple[Array, Array]:
        displaced = self.displacements(times)
        return displaced / self.sizes[None, :, None], self._momenta(times, displaced) * self.sizes[None, :, None]

    @cached_property
    def _weight(self) -> float:
        q, p = self._unweighted(np.linspace(self.motion.t[0], self.motion.t[-1], 12)[1:])
        return float(np.linalg.norm(p) / (np.linalg.norm(q) or 1.0)) or 1.0

    @cached_property
    def _stuck(self) -> tuple[Array, Array]:
        """Two bases: combinations of directions that move no point of the path (other multipliers of the same path), and the others."""
        times = np.linspace(self.motion.t[0], self.motion.t[-1], 24)[1:]
        q, _ = self.planes(times)
        found = split(np.vstack(list(q)), _STUCK)
        return found.null, found.rows

    def angles(self, times: Array, swapped: tuple[int, ...] = ()) -> Array | None:
        """The angles of the plane of displacements and momenta at each time, in [0, 2 pi); None if it is not Lagrangian.

        For the jets `swapped`, which are free at the end, momenta take the place of displacements.
        """
        stuck, moving = self._stuck
        q, p = self.planes(times)
        found = []
        for held, dq, dp in zip(self._holonomic(times), q, p, strict=True):
            basis = self._tangent(held, dp @ stuck)
            a, b = (dq @ moving).copy(), (dp @ moving).copy()
            for k in swapped:
                a[k], b[k] = b[k].copy(), -a[k].copy()
            a, b = basis.T @ a, basis.T @ b
            if a.shape[0] != a.shape[1]:
                return None
            frame = np.linalg.qr(np.vstack([a, b]))[0]
            unitary = frame[: len(a)] + 1j * frame[len(a) :]
            if np.abs(unitary.conj().T @ unitary - np.eye(len(a))).max() > _NOT_LAGRANGIAN:
                return None
            values = np.linalg.eigvals(unitary @ unitary.T)
            found.append(np.sort(np.mod(-np.angle(-values), 2 * np.pi)))
        return np.array(found)

    def _tangent(self, held: Array, undetermined: Array) -> Array:
        """An orthonormal basis of the displacements that holonomic rows and undetermined multipliers allow."""
        rows = np.vstack([undetermined.T, held * self.sizes])
        return split(rows).null

    def _holonomic(self, times: Array) -> Array:
        """The gradients of the rows on positions, with the axes time, row, jet."""
        jets, section = list(self.boundary.pairs), self.motion.at(times)
        calculus = Calculus(SYMBOLIC, self.boundary.equations.system.frame)
        rows = [[section[show(slope)] for slope in calculus.gradient(row, jets)] for row in self.boundary.holonomic]
        return np.moveaxis(np.array(rows, float).reshape(len(rows), len(jets), len(times)), 2, 0)


def independent(basis: Array, first: int = 0) -> list[int]:
    """Indices of jets that parametrise the manifold of states: pivots of the rows of a tangent basis. The first `first` rows are always
    chosen.
    """
    rest, chosen = basis.copy(), []
    for step in range(basis.shape[1]):
        lengths = np.linalg.norm(rest, axis=1)
        k = step if step < first else int(np.argmax(lengths))
        chosen.append(k)
        direction = rest[k] / lengths[k]
        rest = rest - np.outer(rest @ direction, direction)
    return sorted(chosen)


def nearby(
    boundary: Boundary,
    start: Mapping[str, float],
    parameters: Mapping[str, float],
    interval: tuple[float, float],
    directions: Mapping[str, Array],
    typical: Sequence[float] | Array,
    tolerance: float,
) -> Nearby | None:
    """The path from a start with derivatives along directions; None if they cannot be computed.

    `directions` has a row for each jet, or component of a group element, with respect to which the motion is differentiated; they determine
    the other jets of the start. `typical` are sizes of the jets of the boundary.
    """
    elements = {z.name for group in boundary.equations.system.groups.values() for z in group.places}
    fixed = {name: v for name, v in start.items() if name in directions or name in elements}
    state = State(fixed=fixed, guess={name: v for name, v in start.items() if name not in fixed})
    try:
        motion = simulate(
            boundary.equations, state, interval, parameters=parameters, slopes=list(directions), tolerance=tolerance, progress=False
        )
    except ChetaevError:
        return None
    if len(motion.t) < 2:
        return None
    spread = [np.ptp(motion.extrema[z.name]) if z.name in motion.extrema else 0.0 for z in boundary.pairs]
    sizes = np.maximum(spread, typical)
    return Nearby(boundary, motion, np.array(list(directions.values())), sizes)


def conjugate_times(near: Nearby, duration: float, swapped: tuple[int, ...] = ()) -> list[float] | None:
    """The times at which the plane of a path meets the plane $Q = 0$, repeated according to multiplicity; None if the plane is not
    Lagrangian.
    """
    t0, t1 = float(near.motion.t[0]), float(near.motion.t[-1])
    count = max(8, int(np.ceil(_SAMPLES_PER_PATH * abs(t1 - t0) / abs(duration))))
    times = np.linspace(t0, t1, count + 1)[1:]
    angles = near.angles(times, swapped)
    if angles is None:
        return None
    begin = 0
    while begin < len(times) and np.any(np.minimum(angles[begin], 2 * np.pi - angles[begin]) < _RESOLVED):
        begin += 1  # displacements vanish at the start, and are round-off near it

    def at(more: Array) -> Array:
        found = near.angles(more, swapped)
        if found is None:
            raise FloatingPointError("the plane is not Lagrangian")
        return found

    found: list[float] = []
    try:
        for k in range(begin, len(times) - 1):
            found += _between(at, (times[k], angles[k]), (times[k + 1], angles[k + 1]), abs(duration), 0)
    except FloatingPointError:
        return None
    return found


Sample = tuple[float, Array]


def _between(at: Callable[[Array], Array], a: Sample, b: Sample, duration: float, depth: int) -> list[float]:
    """The times between two samples at which an angle passes zero."""
    change = float(b[1].sum() - a[1].sum())
    turned = (change + np.pi) % (2 * np.pi) - np.pi
    if abs(turned) > _LONGEST_TURN and depth < _DEEPEST:
        middle = (a[0] + b[0]) / 2
        c = (middle, at(np.array([middle]))[0])
        return _between(at, a, c, duration, depth + 1) + _between(at, c, b, duration, depth + 1)
    passed = round((turned - change) / (2 * np.pi))
    if passed == 0:
        return []
    return _located(at, a, b, duration, abs(passed))


def _located(at: Callable[[Array], Array], a: Sample, b: Sample, duration: float, passed: int) -> list[float]:
    """Locate the times between two samples at which an angle passes zero, by dividing the interval into several parts at a time."""
    if abs(b[0] - a[0]) <= _LOCATED_TO * duration:
        return [b[0]] * passed
    if passed == 1 and abs(b[0] - a[0]) < _SHORT_INTERVAL * duration and _nearest(a[1]) < 0 < _nearest(b[1]):
        from scipy.optimize import brentq  # takes half a second to load

        return [float(brentq(lambda t: _nearest(at(np.array([t]))[0]), a[0], b[0], xtol=_LOCATED_TO * duration, rtol=_TIME_ERROR))]
    times = np.linspace(a[0], b[0], 18)
    if not np.all(np.diff(times) * np.sign(b[0] - a[0]) > 0):
        return [b[0]] * passed
    samples = [a, *zip(times[1:-1].tolist(), at(times[1:-1]), strict=True), b]
    found: list[float] = []
    for left, right in pairwise(samples):
        change = float(right[1].sum() - left[1].sum())
        turned = (change + np.pi) % (2 * np.pi) - np.pi
        here = abs(round((turned - change) / (2 * np.pi)))
        found += _located(at, left, right, duration, here) if here else []
    return found


def _nearest(angles: Array) -> float:
    """The angle nearest to zero, with its sign."""
    signed = np.where(angles > np.pi, angles - 2 * np.pi, angles)
    return float(signed[np.argmin(np.abs(signed))])
