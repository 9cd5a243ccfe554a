r"""Rough paths of least action: IPOPT minimises the action, a function of positions at a few times, under the rows.

With the midpoint rule a curve of $N$ pieces has the action $\sum_k h\, L(\bar q_k, \Delta q_k/h)$ and the rows
$R(\bar q_k, \Delta q_k/h) = 0$. The minimiser is a path up to an error of order $h^2$, and the multipliers of its rows, divided by $h$,
are those of vakonomic motion. Random perturbations of the straight line between the ends lead to several minimisers; the straight line
itself may be a degenerate start. Rotations enter by unit quaternions and by angles, whose velocities are functions of their rates; the
opposite quaternion at the end, or another number of turns, leads to paths of another homotopy class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import TIME, Jet, Multiplier, Place
from chetaev.paths.boundary.attitudes import identities
from chetaev.paths.boundary.ends import Array
from chetaev.paths.boundary.shooting import Shooting, Unknowns
from chetaev.paths.search.stationary import Discrete

LINKS = 20
"""Number of states of a rough path with which multiple shooting begins; it must divide `_PIECES`."""
_PIECES = 40
"""Number of pieces of a rough curve; its velocities then have the two digits that shooting needs."""
_TRIALS = 4
"""Number of perturbed straight lines from which minima are searched."""
_TURNS = (0, 0, -1, 1)
"""Turns that are added to an angle at the end in each trial; the first two trials have different perturbations."""
_WAVES = (1, 2, 3, 4)
"""Numbers of half waves of the perturbations from which stationary curves are searched: paths up to the second conjugate time have no more.
"""
_MORE_TURNS = (-1, 1, -2, 2, -3, 3)
"""Turns of every second perturbed curve around the origin of two coordinates; more turns would need more pieces."""
_MOST_ITERATIONS = 150
"""Limit of IPOPT's iterations in each trial; a well-posed problem needs about ten."""
_TOLERANCE = 1e-8
"""Tolerance of IPOPT, in its scaled units: rough curves only begin other iterations."""


@dataclass(frozen=True)
class Rough:
    """A rough path."""

    start: Unknowns
    """The seed at its start."""
    states: tuple[Array, ...]
    """The states at equal parts of the duration, from the start on, `LINKS` of them."""


def rough_paths(shooting: Shooting, given: tuple[Mapping[Jet, float], Mapping[Jet, float]], count: int) -> list[Rough]:
    """Seeds from rough paths of least action, and from `count` stationary curves; none for problems that are not supported.

    Supported are Lagrangians of first order without an action variable, inputs or general matrix groups, between fixed or free positions,
    over a fixed time.
    """
    equations = shooting.flow.equations
    system, ends = equations.system, shooting.ends
    if not ends.boundary.variational or shooting.t1 is None or shooting.unknown or ends.periodic or ends.start.others or ends.end.others:
        return []
    plain = all(z.order == 0 for z in (*ends.boundary.pairs, *ends.start.values, *ends.end.values))
    matrices = any(isinstance(group.group, MatrixGroup) for group in system.groups.values())
    if not plain or matrices or system.action is not None or system.inputs or any(row.order > 1 for row in system.kinematic):
        return []
    problem = _Transcribed(shooting, given)
    return [*problem.minima(), *problem.saddles(count)]


class _Transcribed:
    """The discrete problem."""

    def __init__(self, shooting: Shooting, given: tuple[Mapping[Jet, float], Mapping[Jet, float]]) -> None:
        self.shooting, (self.first, self.last) = shooting, given
        flow = shooting.flow
        self.system = flow.equations.system
        self.groups = list(self.system.groups.values())
        turning = self.system.frame.turning
        self.coordinates: list[Any] = [q for q in self.system.coordinates if q not in turning]
        self.coordinates += [z for group in self.groups for z in group.places]
        names = list(flow.names)
        self.sizes = np.array([flow.sizes[names.index(q.name)] if q.name in names else 1.0 for q in self.coordinates])
        self._unit = identities(self.system)
        self.h = (shooting.span) / _PIECES
        self._make()

    def _make(self) -> None:
        graph, n = self.shooting.ends.flow.graph, len(self.coordinates)
        q, v = graph.vector(self.coordinates), ca.SX.sym("v", n)
        rows = [graph.of(self.system.charted(row.residual)) for row in self.system.kinematic]
        held = [row.order == 0 for row in self.system.kinematic]
        column = graph.numeric(ca.vertcat(graph.of(self.system.charted(self.system.lagrangian)), *rows))
        column = ca.substitute(column, graph.vector(self.system.velocities), self._velocities(q, v))
        p = graph.vector(self.system.parameters)
        terms = ca.Function("terms", [graph.leaf(TIME), q, v, p], [column])
        points = ca.MX.sym("points", n, _PIECES + 1)
        scaled = ca.repmat(ca.DM(self.sizes), 1, _PIECES + 1) * points
        moves = (scaled[:, 1:] - scaled[:, :-1]) / self.h
        middles = (scaled[:, 1:] + scaled[:, :-1]) / 2
        times = self.shooting.flow.t0 + self.h * (np.arange(_PIECES) + 0.5)
        parameters = ca.DM(self.shooting.flow.p.reshape(-1, 1))
        inside = terms.map(_PIECES)(times.reshape(1, -1), middles, moves, ca.repmat(parameters, 1, _PIECES))
        nodes = terms.map(_PIECES)(times.reshape(1, -1), scaled[:, 1:], moves, ca.repmat(parameters, 1, _PIECES))
        rows_of = [nodes[1 + k, :] if is_held else inside[1 + k, :] for k, is_held in enumerate(held)]
        rows_of += [ca.sum1(points[part, 1:] ** 2) - 1 for part in self._quaternions()]
        action = self.h * ca.sum2(inside[0, :])
        problem: Any = {"x": ca.vec(points), "f": action, "g": ca.vertcat(*[ca.vec(row) for row in rows_of]) if rows_of else ca.MX(0, 1)}
        quiet: Any = {"print_level": 0, "sb": "yes", "max_iter": _MOST_ITERATIONS, "tol": _TOLERANCE}
        self.solver = ca.nlpsol(
            "rough", "ipopt", problem, {"ipopt": quiet, "print_time": False, "error_on_fail": False, "show_eval_warnings": False}
        )
        self.velocity_rows = [k for k, is_held in enumerate(held) if not is_held]

    def _velocities(self, q: Any, v: Any) -> Any:
        """The velocities of the system; those of group elements follow from the rates of their stored numbers."""
        found: dict[Any, Any] = {z.d(): v[k] for k, z in enumerate(self.coordinates)}
        for group in self.groups:
            part = [self.coordinates.index(z) for z in group.places]
            own = group.group.velocity([q[k] for k in part], [v[k] for k in part], group.body, ca.cos, ca.sin)
            found |= {c.d(): e for c, e in zip(group.components, own, strict=True)}
        return ca.vertcat(*[found[z] for z in self.system.velocities])

    def _quaternions(self) -> list[list[int]]:
        """The indices of quaternions among the coordinates."""
        return [[self.coordinates.index(z) for z in group.places[-4:]] for group in self.groups if group.group.orthogonal == 3]

    def _turned(self, trial: int) -> Array:
        """The end with opposite quaternions in every second trial, and with other numbers of turns of angles in later trials."""
        last = np.array([self.last.get(z, self._unit.get(z, 0.0)) for z in self.coordinates])
        for group in self.groups:
            part = [self.coordinates.index(z) for z in group.places]
            if group.group.orthogonal == 3:
                last[part[-4:]] *= (-1.0) ** trial
            else:
                last[part[-1]] += 2 * np.pi * _TURNS[trial % len(_TURNS)]
        return last

    def minima(self) -> list[Rough]:
        """Seeds from curves of least action, found from several perturbed straight lines."""
        chance, found, fixed = np.random.default_rng(8), [], self._fixed()
        for trial in range(_TRIALS):
            curve = self._bent(trial, {wave: chance.normal(size=len(self.sizes)) for wave in (1, 2)})
            bounds = {"lbx": np.where(fixed, curve, -np.inf).ravel("F"), "ubx": np.where(fixed, curve, np.inf).ravel("F")}
            answer = self.solver(x0=curve.ravel("F"), lbg=0, ubg=0, **bounds)
            if self.solver.stats()["success"]:
                found.append(self._seed(np.array(answer["x"]).ravel(), np.array(answer["lam_g"]).ravel()))
        return found

    def saddles(self, count: int) -> list[Rough]:
        """Seeds from stationary curves of any kind, found from `count` lines with several waves."""
        chance, found = np.random.default_rng(9), []
        discrete = Discrete(self.solver, np.nonzero(~self._fixed().ravel("F"))[0])
        for trial in range(count):
            size = np.exp(chance.uniform(-1.0, 1.2, size=len(_WAVES)))
            bends = {wave: a / wave * chance.normal(size=len(self.sizes)) for wave, a in zip(_WAVES, size, strict=True)}
            curve = self._bent(trial, bends)
            if trial % 2:
                self._wind(curve, _MORE_TURNS[trial // 2 % len(_MORE_TURNS)], chance)
            answer = discrete.stationary(curve.ravel("F"))
            if answer is not None:
                found.append(self._seed(*answer))
        return found

    def _wind(self, curve: Array, turns: int, chance: np.random.Generator) -> None:
        """Wind two coordinates of a curve around their origin: paths around a centre differ by their number of turns."""
        plain = [i for i, z in enumerate(self.coordinates) if not isinstance(z, Place)]
        if len(plain) < 2:
            return
        pair = chance.choice(plain, 2, replace=False)
        angle = 2 * np.pi * turns * np.linspace(0, 1, curve.shape[1])
        one, other = curve[pair]
        curve[pair] = [np.cos(angle) * one - np.sin(angle) * other, np.sin(angle) * one + np.cos(angle) * other]

    def _fixed(self) -> Any:
        """A mask of the numbers of a curve that the ends determine."""
        found = np.zeros((len(self.coordinates), _PIECES + 1), bool)
        found[:, 0], found[:, -1] = [z in self.first for z in self.coordinates], [z in self.last for z in self.coordinates]
        return found

    def _bent(self, trial: int, bends: Mapping[int, Array]) -> Array:
        """The straight line between the ends plus waves with the coefficients `bends`, in units of the sizes."""
        s = np.linspace(0, 1, _PIECES + 1)
        first = np.array([self.first.get(z, self._unit.get(z, 0.0)) for z in self.coordinates])
        curve = (first[:, None] * (1 - s) + self._turned(trial)[:, None] * s) / self.sizes[:, None]
        for wave, size in bends.items():
            curve = curve + size[:, None] * np.sin(wave * np.pi * s)
        for part in self._quaternions():
            curve[part] /= np.linalg.norm(curve[part], axis=0)
        return curve

    def _seed(self, curve: Array, duals: Array) -> Rough:
        states = [self._state(curve, duals, k * (_PIECES // LINKS)) for k in range(LINKS)]
        start = Unknowns(
            states[0], self.shooting.flow.t0 + self.shooting.span, self.shooting.flow.p.copy(), self.shooting.without_multipliers()
        )
        return Rough(start, tuple(states))

    def _state(self, curve: Array, duals: Array, k: int) -> Array:
        """The state at point `k` of a rough path: velocities from three points, multipliers from the two adjacent pieces."""
        flow = self.shooting.flow
        points = curve.reshape(_PIECES + 1, -1).T * self.sizes[:, None]
        three = points[:, :3] if k == 0 else points[:, k - 1 : k + 2]
        velocities = three @ ([-3.0, 4.0, -1.0] if k == 0 else [-1.0, 0.0, 1.0]) / (2 * self.h)
        tables = duals.reshape(-1, _PIECES) / self.h
        known: dict[Any, float] = {z: points[i, k] for i, z in enumerate(self.coordinates)}
        own = np.array(self._velocities(ca.DM(points[:, k]), ca.DM(velocities))).ravel()
        known |= dict(zip(self.system.velocities, own.tolist(), strict=True))
        for row in self.velocity_rows:
            near = 1.5 * tables[row, 0] - 0.5 * tables[row, 1] if k == 0 else (tables[row, k - 1] + tables[row, k]) / 2
            known[Multiplier(f"lambda{row + 1}")] = near
        return flow.settled(np.array([known.get(z, 0.0) for z in flow.run.jets]))
