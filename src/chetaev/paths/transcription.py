r"""Rough paths of least action: the action as a function of positions at a few times, minimised under the rows by IPOPT.

With the midpoint rule a curve of $N$ pieces has the action $\sum_k h\, L(\bar q_k, \Delta q_k/h)$ and the rows
$R(\bar q_k, \Delta q_k/h) = 0$. The minimiser is a path up to an error of order $h^2$, and the multipliers of its rows, divided by $h$,
are those of vakonomic motion. Random bends of the straight line between the ends lead to several of them: a straight line itself may be
a degenerate start, for which a solver finds no way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from chetaev.core.symbols import TIME, Jet, Multiplier
from chetaev.paths.ends import Array
from chetaev.paths.shooting import Shooting, Unknowns

_PIECES = 40
"""Pieces of a rough curve; shooting from it needs two digits of its velocities."""
_TRIALS = 4
"""Bent starts that are tried."""
_MOST = 150
"""Iterations of IPOPT for each; a well posed problem needs about ten."""


def rough_paths(shooting: Shooting, given: tuple[Mapping[Jet, float], Mapping[Jet, float]]) -> list[Unknowns]:
    """Seeds from rough paths of least action; none for problems that are not of this kind.

    Transcribed are Lagrangians of first order without an action variable or inputs, between fixed or free positions, over a fixed time.
    """
    equations = shooting.flow.equations
    system, ends = equations.system, shooting.ends
    if not ends.boundary.variational or shooting.t1 is None or shooting.unknown or ends.periodic or ends.start.others or ends.end.others:
        return []
    plain = all(z.order == 0 for z in (*ends.boundary.pairs, *ends.start.values, *ends.end.values))
    if not plain or system.action is not None or system.inputs or any(row.order > 1 for row in system.kinematic):
        return []
    return _Transcribed(shooting, given).seeds()


class _Transcribed:
    """The discrete problem."""

    def __init__(self, shooting: Shooting, given: tuple[Mapping[Jet, float], Mapping[Jet, float]]) -> None:
        self.shooting, (self.first, self.last) = shooting, given
        flow = shooting.flow
        self.system = flow.equations.system
        self.coordinates = list(self.system.coordinates)
        names = list(flow.names)
        self.sizes = np.array([flow.sizes[names.index(q.name)] if q.name in names else 1.0 for q in self.coordinates])
        self.h = (shooting.span) / _PIECES
        self._make()

    def _make(self) -> None:
        graph, n = self.shooting.ends.flow.graph, len(self.coordinates)
        q, v = graph.vector(self.coordinates), graph.vector(self.system.velocities)
        rows = [graph.of(row.residual) for row in self.system.kinematic]
        held = [row.order == 0 for row in self.system.kinematic]
        column = graph.numeric(ca.vertcat(graph.of(self.system.lagrangian), *rows))
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
        action = self.h * ca.sum2(inside[0, :])
        problem: Any = {"x": ca.vec(points), "f": action, "g": ca.vertcat(*[ca.vec(row) for row in rows_of]) if rows_of else ca.MX(0, 1)}
        quiet: Any = {"print_level": 0, "sb": "yes", "max_iter": _MOST, "tol": 1e-8}
        self.solver = ca.nlpsol("rough", "ipopt", problem, {"ipopt": quiet, "print_time": False, "error_on_fail": False})
        self.velocity_rows = [k for k, is_held in enumerate(held) if not is_held]

    def seeds(self) -> list[Unknowns]:
        """The seeds from several curved starts."""
        chance, found = np.random.default_rng(8), []
        low, high = np.full((len(self.coordinates), _PIECES + 1), -np.inf), np.full((len(self.coordinates), _PIECES + 1), np.inf)
        for column, values in ((0, self.first), (_PIECES, self.last)):
            for i, z in enumerate(self.coordinates):
                if z in values:
                    low[i, column] = high[i, column] = values[z] / self.sizes[i]
        s = np.linspace(0, 1, _PIECES + 1)
        for _ in range(_TRIALS):
            ends = np.array([[values.get(z, 0.0) for z in self.coordinates] for values in (self.first, self.last)]) / self.sizes
            curve = ends[0][:, None] * (1 - s) + ends[1][:, None] * s
            for wave in (1, 2):
                curve = curve + chance.normal(size=(len(self.sizes), 1)) * np.sin(wave * np.pi * s)
            bounds: dict[str, Any] = {"lbx": low.ravel("F"), "ubx": high.ravel("F"), "lbg": 0, "ubg": 0}
            answer = self.solver(x0=curve.ravel("F"), **bounds)
            if self.solver.stats()["success"]:
                points = np.array(answer["x"]).reshape(_PIECES + 1, -1).T * self.sizes[:, None]
                found.append(self._seed(points, np.array(answer["lam_g"]).ravel()))
        return found

    def _seed(self, points: Array, duals: Array) -> Unknowns:
        """The state at the start of a rough path: velocities by three points, multipliers by extrapolation to the start."""
        flow, shooting = self.shooting.flow, self.shooting
        velocities = (-3 * points[:, 0] + 4 * points[:, 1] - points[:, 2]) / (2 * self.h)
        tables = duals.reshape(-1, _PIECES) / self.h
        known = {z: points[i, 0] for i, z in enumerate(self.coordinates)} | {z.d(): velocities[i] for i, z in enumerate(self.coordinates)}
        for k in self.velocity_rows:
            known[Multiplier(f"lambda{k + 1}")] = 1.5 * tables[k, 0] - 0.5 * tables[k, 1]
        y = flow.settled(np.array([known.get(z, 0.0) for z in flow.run.jets]))
        return Unknowns(y, flow.t0 + shooting.span, flow.p.copy(), shooting.without_multipliers())
