"""Turn converged shots into paths: merge equal curves, and compute action, conjugate times, family, kind and certificate of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from chetaev.core.certificate import Figure
from chetaev.core.errors import ChetaevError
from chetaev.core.notation import show
from chetaev.core.symbols import TIME, Jet
from chetaev.mechanics.ranks.split import rank_of, split
from chetaev.mechanics.tolerances import ALMOST_ZERO, CUT
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.paths.boundary.attitudes import displacements
from chetaev.paths.boundary.ends import Array
from chetaev.paths.boundary.shooting import Shooting, Shot
from chetaev.paths.path import Path
from chetaev.paths.properties.conjugate import Nearby, conjugate_times, independent, nearby
from chetaev.paths.properties.variation import ALLOWED, Variation, vary

_SAME_PATH = 1e-6
"""Largest distance of two curves that are the same path, relative to the sizes of the coordinates."""
_EQUAL = 1e-8
"""Largest relative difference between the actions of paths of one family."""
_NULL = 1e-6
"""Relative to the largest singular value of the derivative of all conditions: smaller ones belong to families."""
_AT_END = 1e-7
"""Relative to the duration: a conjugate time nearer to the end coincides with it, within the error of the path."""
_WANTED = 2
"""Number of conjugate times after which a path is not continued further."""
_LENGTHS = (1.5, 6.0)
"""Lengths to which a path is continued to find conjugate times, in durations of the path."""
_GAUSS = 10
"""Points of the Gauss rule in each step of a motion; its error is below that of the motion."""
_SAME_MULTIPLIER = 1e-5
"""Relative difference of multipliers of two paths of one family that count as equal."""
_MOVING_PARAMETER = 1e-6
"""Smallest singular value of the parameters in a null space that counts as a direction of a family."""
_MOVING_PATH = 1e-5
"""Relative to the sizes of the coordinates: smallest singular value of displacements that counts as a direction of a family; smaller ones
are errors of the integrated displacements."""
_LEGENDRE_CUT = 1e-10
"""Relative: cut of the null space of the rows in Legendre's condition, and size of an eigenvalue that counts as zero there."""


def ranked(shooting: Shooting, shots: Sequence[Shot], tolerance: float) -> list[Path]:
    """The paths of the shots, one for each curve, ordered by action."""
    candidates: list[Candidate] = []
    for shot in shots:
        found = Candidate.of(shooting, shot, tolerance)
        if found is None:
            continue
        same = next((k for k, other in enumerate(candidates) if found.same_curve(other)), None)
        if same is None:
            candidates.append(found)
        elif found.multiplier_size < candidates[same].multiplier_size:
            candidates[same] = found  # of the many multipliers of an abnormal curve, keep the smallest
    candidates.sort(key=lambda c: c.action)
    kept: list[Candidate] = []
    for candidate in candidates:
        if not any(candidate.same_family(other) for other in kept):
            kept.append(candidate)
    return [Path(candidate) for candidate in kept]


@dataclass(frozen=True)
class Candidate:
    """A converged shot with its motion."""

    shooting: Shooting
    shot: Shot
    motion: Trajectory
    tolerance: float

    @staticmethod
    def of(shooting: Shooting, shot: Shot, tolerance: float) -> Candidate | None:
        """Simulate a shot as a user would; None if the motion does not finish."""
        flow = shooting.flow
        start = dict(zip(flow.names, shot.at.y.tolist(), strict=True))
        parameters = dict(zip(flow.run.parameters, shot.at.p.tolist(), strict=True))
        try:
            motion = simulate(flow.equations, start, (flow.t0, shot.at.t1), parameters=parameters, progress=False, **flow.run.accuracy.wish)
        except ChetaevError:
            return None
        return Candidate(shooting, shot, motion, tolerance) if motion.outcome.reached_end else None

    @cached_property
    def curve(self) -> Array:
        """The positions at equal parts of the duration."""
        times = np.linspace(self.motion.t[0], self.motion.t[-1], 17)
        section = self.motion.at(times)
        return np.array([section[name] for name in self._seen])

    @property
    def _seen(self) -> dict[str, float]:
        """The quantities that are compared along curves, with their typical sizes: coordinates, and entries of group elements.

        Controls, which have no momentum, are not compared: headings that differ by a full turn belong to the same path.
        """
        system, pairs = self.motion.equations.system, self.shooting.ends.boundary.pairs
        entries = {name: e for group in system.groups.values() for name, e in group.entries.items() if e.free_symbols}
        seen = {q.name: self._typical(q) for q in system.coordinates if q not in system.frame.turning and (q in pairs or not pairs)}
        return seen | dict.fromkeys(entries, 1.0)

    def same_curve(self, other: Candidate) -> bool:
        """Whether two candidates describe the same curve; mirror images, which have the same action, do not."""
        if abs(self.shot.at.t1 - other.shot.at.t1) > _SAME_PATH * abs(self.shooting.span):
            return False
        size = np.maximum(np.abs(self.curve).max(axis=1), list(self._seen.values()))
        size = np.where(size > 0, size, 1.0)
        same = bool(np.all(np.abs(self.curve - other.curve) <= _SAME_PATH * size[:, None]))
        return same and np.allclose(self.shot.at.p, other.shot.at.p, rtol=_SAME_PATH, atol=0)

    def same_family(self, other: Candidate) -> bool:
        """Whether two candidates belong to one family of paths: the same dimension, action and multipliers."""
        if abs(self.action - other.action) > _EQUAL * max(self.action_size, other.action_size):
            return False
        if not (self.family and self.family == other.family):
            return False
        mine, yours = np.array(list(self.multipliers.values())), np.array(list(other.multipliers.values()))
        moving = any(np.ptp(self.motion[name]) > _SAME_PATH * np.abs(self.motion[name]).max() for name in self.multipliers)
        return moving or bool(np.allclose(mine, yours, rtol=_SAME_MULTIPLIER))

    @cached_property
    def action(self) -> float:
        """The integral of the Lagrangian of the system, or the change of the action variable."""
        system = self.motion.equations.system
        if system.action is not None:
            s = self.motion[system.action.name]
            return float(s[-1] - s[0])
        weights, values = self._lagrangian
        return float(np.sum(weights * values))

    @property
    def action_size(self) -> float:
        """The integral of the absolute value of the Lagrangian; positive and negative parts of the action may cancel."""
        weights, values = self._lagrangian
        return float(np.sum(np.abs(weights * values)))

    @cached_property
    def _lagrangian(self) -> tuple[Array, Array]:
        """The weights of the Gauss rule along the motion, and the values of the Lagrangian."""
        points, weights = np.polynomial.legendre.leggauss(_GAUSS)
        nodes = self.motion.t
        half, middle = np.diff(nodes) / 2, (nodes[1:] + nodes[:-1]) / 2
        times = (middle[:, None] + half[:, None] * points[None, :]).ravel()
        values = np.asarray(self.motion.at(times)[show(self.motion.equations.system.lagrangian)], float)
        return (half[:, None] * weights[None, :]).ravel(), values

    @cached_property
    def multipliers(self) -> dict[str, float]:
        """The multipliers at the start."""
        begin = self.motion.at([float(self.motion.t[0])])
        return {m.base: float(np.asarray(begin[m.base])[0]) for m in self.motion.equations.multipliers}

    @property
    def multiplier_size(self) -> float:
        """The largest multiplier at the start."""
        return max(map(abs, self.multipliers.values()), default=0.0)

    @cached_property
    def parameters(self) -> dict[str, float]:
        """All parameters by name."""
        return dict(zip(self.shooting.flow.run.parameters, self.shot.at.p.tolist(), strict=True))

    # -- directions at the start

    @cached_property
    def first(self) -> Array:
        """Directions at the start that the conditions there allow."""
        flow, at = self.shooting.flow, self.shot.at
        states = flow.sizes[:, None] * self.shot.basis
        _, (_, by_y, _, by_nu) = self.shooting.ends.at_start.at(flow.t0, at.y, at.p, at.nu[0])
        null = split(np.hstack([by_y @ states, by_nu])).null
        moved: Array = states @ null[: states.shape[1]]
        return moved

    def _near(self, duration: float, first: Array) -> Nearby | None:
        flow = self.shooting.flow
        system, jets, y = flow.equations.system, flow.run.jets, self.shot.at.y
        elements = {z for group in system.groups.values() for z in group.places}
        turning = [q for group in system.groups.values() for q in group.components]
        wanted = [*turning, *[z for z in jets if z not in elements]]
        unit = np.array([self._typical(z) if z in turning else flow.sizes[jets.index(z)] for z in wanted])
        basis = displacements(system, jets, y, flow.sizes[:, None] * self.shot.basis, wanted) / unit[:, None]
        moved = displacements(system, jets, y, first, wanted)
        lines = {(f"δ{wanted[k].name}" if wanted[k] in turning else wanted[k].name): moved[k] for k in independent(basis, len(turning))}
        typical = [self._typical(z) for z in self.shooting.ends.boundary.pairs]
        interval = (flow.t0, flow.t0 + duration)
        return nearby(self.shooting.ends.boundary, self.start, self.parameters, interval, lines, typical, self.tolerance)

    @cached_property
    def family(self) -> int:
        """The dimension of the family of curves with the same ends, by the null space of the derivative of all conditions."""
        slopes, d = self.shot.slopes, self.shot.basis.shape[1]
        lengths = np.linalg.norm(slopes, axis=1)
        slopes = slopes / np.where(lengths > 0, lengths, 1.0)[:, None]
        fixed = self.shooting.t1 is not None
        null = split(np.delete(slopes, d, axis=1) if fixed else slopes, _NULL).null
        null = np.insert(null, d, 0.0, axis=0) if fixed else null
        if not null.size:
            return 0
        other = rank_of(null[d + 1 : d + 1 + len(self.shooting.unknown)], _MOVING_PARAMETER, size=1.0)
        moves = self.shooting.flow.sizes[:, None] * (self.shot.basis @ null[:d])
        near = self._near(self.shot.at.t1 - self.shooting.flow.t0, moves)
        if near is None:
            return other
        times = np.linspace(near.motion.t[0], near.motion.t[-1], 17)
        table = near.displacements(times) / near.sizes[None, :, None]
        return max(other, rank_of(np.vstack(list(table)), _MOVING_PATH, size=1.0))

    # -- conjugate times and minimality

    @cached_property
    def conjugate(self) -> tuple[list[float], list[float]] | None:
        """The conjugate times with the conditions of the end, and with a fixed end; None where they are not defined."""
        ends, duration = self.shooting.ends, self.shot.at.t1 - self.shooting.flow.t0
        if not ends.boundary.variational or ends.periodic or self.shooting.unknown or not self.first.shape[1]:
            return None
        jets = list(ends.boundary.pairs)
        swapped = tuple(k for k, z in enumerate(jets) if z in ends.displacements(ends.end)) if not ends.end.others else ()
        found: tuple[list[float], list[float]] | None = None
        for factor in _LENGTHS:
            near = self._near(factor * duration, self.first)
            if near is None:
                break
            plain = conjugate_times(near, duration)
            if plain is None:
                break
            with_end = conjugate_times(near, duration, swapped) if swapped else plain
            found = (plain if with_end is None else with_end, plain)
            if len(found[0]) >= _WANTED or abs(near.motion.t[-1] - near.motion.t[0]) < 0.99 * factor * abs(duration):
                break
        return found

    @cached_property
    def minimum(self) -> bool | None:
        """Whether the action is a local minimum, as far as the second variation decides."""
        definite = self._legendre()
        if definite is None or self.conjugate is None:
            return None if definite is not False or not self.shooting.ends.boundary.variational else False
        if not definite:
            return False
        t0, t1 = self.shooting.flow.t0, self.shot.at.t1
        parts = [(t - t0) / (t1 - t0) for t in self.conjugate[1]]
        if any(part < 1 - _AT_END for part in parts):
            return False
        if any(part <= 1 + _AT_END for part in parts):
            return None
        return self._end_form()

    def _legendre(self) -> bool | None:
        """Whether L is convex along the path in the highest velocities that rows allow and in controls (Legendre's condition)."""
        equations = self.motion.equations
        system, ends = equations.system, self.shooting.ends
        tops = [q.d(1 + max((z.order for z in ends.boundary.pairs if z.base == q.base), default=-1)) for q in system.coordinates]
        if not tops:
            return None
        graph = ends.flow.graph
        lagrangian = graph.of(system.charted(equations.lagrangian))
        column = graph.vector(tops)
        written = [equations.total(r.residual) if r.order == 0 else r.residual for r in system.kinematic if r.order < 2]
        rows = [graph.of(system.charted(e)) for e in written]
        second = ca.hessian(lagrangian, column)[0]
        first = ca.jacobian(ca.vertcat(*rows), column) if rows else ca.SX(0, len(tops))
        entries = [ends.on_state(e) for e in (*ca.vertsplit(ca.vec(ca.densify(second))), *ca.vertsplit(ca.vec(ca.densify(first))))]
        function = graph.function(
            "legendre", [graph.leaf(TIME), graph.vector(ends.flow.state), graph.vector(system.parameters)], ca.vertcat(*entries)
        )
        sizes = np.array([np.abs(self.motion.at(self.motion.t)[z.name]).max() for z in tops])
        sizes = np.maximum(sizes, [self._typical(z) for z in tops])
        section = self.motion.at(np.linspace(self.motion.t[0], self.motion.t[-1], 33))
        lowest, largest, n = np.inf, 0.0, len(tops)
        for t, y in zip(section.t, section.states, strict=True):
            values = np.array(function(float(t), y[: len(ends.flow.state)], self.shot.at.p)).ravel()
            matrix = values[: n * n].reshape(n, n) * np.outer(sizes, sizes)
            held = values[n * n :].reshape(n, -1).T * sizes
            basis = split(held, _LEGENDRE_CUT).null
            if basis.size:
                s = np.linalg.eigvalsh(basis.T @ matrix @ basis)
                lowest, largest = min(lowest, float(s[0])), max(largest, float(np.abs(s).max()))
        if not np.isfinite(lowest) or abs(lowest) <= _LEGENDRE_CUT * largest:
            return None
        return lowest > 0

    def _end_form(self) -> bool | None:
        """Whether the second variation is positive on displacements of a free end, and of a free final time."""
        ends, flow, at = self.shooting.ends, self.shooting.flow, self.shot.at
        moving = ends.displacements(ends.end)
        if not moving and not ends.free_time:
            return True
        near = self._near(at.t1 - flow.t0, self.first)
        if near is None:
            return None
        states = near.table(flow.names, np.array([near.motion.t[-1]]))[0]
        rates = np.asarray(flow.run.rates(at.t1, self.shot.end, at.p), float)[:, None]
        _, (by_t, by_y, _, _) = ends.at_end.at(at.t1, self.shot.end, at.p, at.nu[1])
        whole = np.hstack([by_y @ states, by_t + by_y @ rates])
        moved = displacements(flow.equations.system, flow.run.jets, self.shot.end, np.hstack([states, rates]), moving)
        if ends.free_time:
            moved = np.vstack([moved, np.eye(moved.shape[1])[-1:]])
        else:
            whole, moved = whole[:, :-1], moved[:, :-1]
        count = len(moving) + int(ends.free_time)
        conditions, transversal = whole[: len(whole) - count], whole[len(whole) - count :]
        free = split(conditions).null
        unit = np.array([*[self._typical(z) for z in moving], *([abs(self.shooting.span)] if ends.free_time else [])])
        displaced = (moved / unit[:, None]) @ free
        free = free @ split(displaced, size=max(float(np.linalg.norm(moved / unit[:, None])), ALMOST_ZERO)).rows
        if not free.shape[1]:
            return True  # the end cannot be displaced
        form = free.T @ moved.T @ transversal @ free
        s = np.linalg.eigvalsh((form + form.T) / 2)
        noise = CUT * float(np.abs(s).max(initial=0.0))
        return True if s[0] > noise else False if s[0] < -noise else None

    @cached_property
    def variation(self) -> Variation | None:
        """The first variation and the corank of the path, from random admissible variations."""
        parameters = dict(zip(self.motion.equations.system.parameters, self.shot.at.p.tolist(), strict=True))
        typical = [self._typical(q) for q in self.motion.equations.system.coordinates]
        return vary(self.motion.equations, self.motion, parameters, typical, self.shooting.ends.free_time)

    def _typical(self, z: Jet) -> float:
        """The typical size of a jet, from that of its coordinate."""
        names, sizes = self.shooting.flow.names, self.shooting.flow.sizes
        span = abs(self.shooting.span)
        turned = f"{z.base}'"  # a component of a group element has a velocity but no value
        base = (
            float(sizes[names.index(z.base)]) if z.base in names else float(sizes[names.index(turned)]) * span if turned in names else 1.0
        )
        return base / span**z.order

    # -- the properties of a path

    @property
    def start(self) -> dict[str, float]:
        """The state at the start."""
        return dict(zip(self.shooting.flow.names, self.shot.at.y.tolist(), strict=True))

    @property
    def unknown(self) -> dict[str, float]:
        """The parameters that were found."""
        names = [self.shooting.flow.run.parameters[k] for k in self.shooting.unknown]
        return {name: self.parameters[name] for name in names}

    @property
    def residual(self) -> float:
        """The largest residual."""
        return self.shot.worst

    @property
    def times(self) -> tuple[float, ...]:
        """The conjugate times."""
        return () if self.conjugate is None else tuple(self.conjugate[0])

    @property
    def kind(self) -> str:
        """`normal`, `both` if the end-point map is singular along the path, or `undecided` if variations could not be computed."""
        if not self.motion.equations.lowered.costates:
            return "normal"
        if self.variation is None:
            return "undecided"
        return "both" if self.variation.corank > 0 else "normal"

    def certified(self) -> Trajectory:
        """The motion with the first variation of the action among the figures of its certificate."""
        if self.variation is None or not self.shooting.ends.boundary.variational:
            return self.motion
        figure = Figure("variation", self.variation.largest, ALLOWED, "first variation of the action")
        certificate = self.motion.certificate
        return replace(self.motion, certificate=replace(certificate, figures=(*certificate.figures, figure)))
