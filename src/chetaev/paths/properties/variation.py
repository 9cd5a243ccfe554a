r"""The first variation of the action along a curve, and the rank of its end-point map, from the rows and L alone.

Displacements of a curve that satisfy the linearised rows $A\,\delta q' + R_q\,\delta q = 0$ solve the control system
$\delta q' = -A^+ R_q\,\delta q + (1 - A^+ A)\, w$ with any $w(t)$. Those that vanish at both ends are admissible variations, along which
the action of an extremal is stationary. If the ends of all displacements do not span all directions, the end-point map is singular, and
the curve is an abnormal extremal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from chetaev.core.calculus import Calculus
from chetaev.core.symbols import TIME, Jet
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.split import rank_of, split
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.paths.boundary.ends import Array

_STEPS_ALONG_PATH = 240
"""Least number of Runge-Kutta steps along a path; the error of a variation is then about 1e-8."""
_FINER = 6
"""Least number of Runge-Kutta steps for each step of the motion: a path that winds needs more."""
_WAVES = 7
"""Number of cosines of time in each direction that drive the variations: enough for the ends to span the range of the end-point map."""
_ZERO_SINGULAR_VALUE = 1e-6
"""Relative to the largest singular value of the end-point map: smaller ones are errors of the Runge-Kutta rule."""
ALLOWED = 1e-6
"""Largest first variation, relative to its terms, that a certificate allows; the Runge-Kutta rule has errors up to 1e-8."""
_RANDOM_VARIATIONS = 8
"""Number of random admissible variations that are tried."""
_CUT = 1e-10
"""Relative: singular values of the rows below this are left out of their pseudoinverse; with less, redundant rows give arbitrary
displacements."""


@dataclass(frozen=True)
class Variation:
    """The result of admissible variations of a path."""

    largest: float
    """The largest first variation of the action, relative to the sum of the absolute values of its terms."""
    corank: int
    """The number of directions that the ends of displacements do not span, without those that holonomic rows exclude."""


def vary(
    equations: Equations, motion: Trajectory, parameters: dict[Any, float], typical: Sequence[float], free_time: bool = False
) -> Variation | None:
    """Try random admissible variations; None for rows and Lagrangians that are not supported.

    `typical` are sizes of the coordinates. With a free final time the end moves along the path as well.
    """
    system = equations.system
    rows = system.kinematic
    if system.inputs or any(row.order > 1 or row.has_action for row in rows):
        return None
    lagrangian = system.lagrangian
    order = max([1, *[z.order for z in lagrangian.free_symbols if hasattr(z, "order") and hasattr(z, "base")]])
    if order > 1 and (rows or (system.groups and order > 2)):
        return None
    grid = _Grid(equations, motion, parameters, order, np.array(typical))
    ends, change, size = grid.followed()
    holonomic = sum(row.order == 0 for row in rows)
    scaled = ends / grid.sizes[:, None]
    ways = split(scaled, _ZERO_SINGULAR_VALUE)
    rank, admissible = ways.rank, ways.null
    if free_time and order == 1:
        last = np.array([motion.final[v.name] for v in system.velocities]) * abs(float(motion.t[-1] - motion.t[0]))
        rank = rank_of(np.column_stack([scaled, ways.largest * last / grid.sizes]), _ZERO_SINGULAR_VALUE)
    chance = np.random.default_rng(3)
    largest = 0.0
    for _ in range(_RANDOM_VARIATIONS):
        c = admissible @ chance.normal(size=admissible.shape[1])
        total = float(np.abs(c) @ size)
        largest = max(largest, abs(float(change @ c)) / total if total else 0.0)
    return Variation(largest, len(ends) - holonomic - rank)


def varied(calculus: Calculus[Any], e: Any, jets: Sequence[Jet]) -> list[Any]:
    r"""The coefficients of the displacements $\eta$, $\eta'$, $\eta''$ in the variation of an expression.

    Along the fields of a group the velocities change by $\delta\xi^c = \eta'^c + C^c_{ab}\,\xi^a\eta^b$, and their rates by the derivative
    of that.
    """
    frame, algebra = calculus.frame, calculus.algebra
    found = dict(zip(jets, calculus.gradient(e, jets), strict=True))
    plain = dict(found)
    for (i, j), parts in frame.structure.items():
        for a, b, sign in ((i, j, 1), (j, i, -1)):
            moved, velocity = frame.velocities[b].d(-1), frame.velocities[a]
            for c, constant in parts.items():
                speed = frame.velocities[c]
                found[moved] = found[moved] + algebra.of(sign * constant * velocity) * plain[speed]
                if speed.d() in plain:
                    found[moved] = found[moved] + algebra.of(sign * constant * velocity.d()) * plain[speed.d()]
                    found[moved.d()] = found[moved.d()] + algebra.of(sign * constant * velocity) * plain[speed.d()]
    return list(found.values())


class _Grid:
    """A path at the nodes and midpoints of equal steps, with the coefficients of its linearised rows and of the variation of L."""

    def __init__(self, equations: Equations, motion: Trajectory, parameters: dict[Any, float], order: int, typical: Array) -> None:
        system, self.order = equations.system, order
        self.n, self.steps = len(system.coordinates), max(_STEPS_ALONG_PATH, _FINER * len(motion.t))
        self.t = np.linspace(float(motion.t[0]), float(motion.t[-1]), 2 * self.steps + 1)
        self.jets = [q.d(k) for k in range(order + 1) for q in system.coordinates]
        graph, frame = GraphAlgebra(), system.frame
        calculus = Calculus(graph, frame)
        rows = [system.vocabulary.total(row.residual) if row.order == 0 else row.residual for row in system.kinematic]
        action = [system.action] if system.action is not None else []
        shown = [z for z in self.jets if z not in frame.turning]
        elements = [z for group in system.groups.values() for z in group.places]
        leaves = graph.vector([TIME, *shown, *elements, *action, *system.parameters])
        lagrangian, residuals = graph.of(system.lagrangian), [graph.of(e) for e in rows]
        lines = [varied(calculus, e, self.jets) for e in (lagrangian, *residuals)]
        lines[0] = [*lines[0], *calculus.gradient(lagrangian, action)]
        column = ca.densify(graph.numeric(ca.vertcat(*[e for line in lines for e in line])))
        function = ca.Function("entries", [leaves], [column])
        section = motion.at(self.t)
        table = [self.t, *[np.asarray(section[z.name], float) for z in (*shown, *elements, *action)]]
        table += [np.full(len(self.t), parameters[z]) for z in system.parameters]
        values = np.array(function.map(len(self.t))(np.array(table))).T
        width = len(self.jets)
        first = width + len(action)
        self.slopes = values[:, :width]
        self.damping = values[:, width] if action else np.zeros(len(self.t))
        self.rows = values[:, first:].reshape(len(self.t), len(rows), width)
        spread = np.array([np.ptp(section[q.name]) if q in shown else 0.0 for q in system.coordinates])
        unit = np.maximum(spread, typical)
        span = abs(self.t[-1] - self.t[0])
        self.sizes = np.concatenate([unit / span**k for k in range(order)])
        self.direction = float(np.sign(self.t[-1] - self.t[0]))
        waves = np.cos(np.pi * np.linspace(0, 1, len(self.t))[:, None] * np.arange(_WAVES))
        self.inputs = np.einsum("ij,tk->tijk", np.diag(unit / span**order), waves).reshape(len(self.t), self.n, -1)
        velocities = self.rows[:, :, self.n : 2 * self.n]
        self.inverses = unit[:, None] * np.linalg.pinv(velocities * unit, rcond=_CUT)

    def followed(self) -> tuple[Array, Array, Array]:
        """The ends of the displacements, the changes of the action and the sums of its absolute terms, a column for each input."""
        n, order = self.n, self.order
        columns = n * _WAVES
        state = np.zeros((n * order + 2, columns))
        h = (self.t[-1] - self.t[0]) / self.steps
        for k in range(self.steps):
            a = self._rates(2 * k, state)
            b = self._rates(2 * k + 1, state + h / 2 * a)
            c = self._rates(2 * k + 1, state + h / 2 * b)
            d = self._rates(2 * k + 2, state + h * c)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
        return state[: n * order], state[-2], np.abs(state[-1])

    def _rates(self, i: int, state: Array) -> Array:
        n, below = self.n, state[: self.n * self.order]
        w = self.inputs[i]
        top = w
        if self.rows.shape[1]:
            a, lower = self.rows[i][:, n:], self.rows[i][:, :n]
            top = w - self.inverses[i] @ (a @ w + lower @ below)
        jets = np.vstack([below, top])
        terms = self.slopes[i][:, None] * jets
        change = terms.sum(axis=0) + self.damping[i] * state[-2]
        return np.vstack([jets[n:], change, self.direction * np.abs(terms).sum(axis=0)])
