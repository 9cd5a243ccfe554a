"""Typical sizes of coordinates that the ends do not determine, because they are zero or free at both ends.

The size of a coordinate with different values at the ends is known. The others are chosen such that velocities of typical size contribute
equally to L, and that the terms of the rows balance. So the choice of units does not change the seeds.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from chetaev.core.symbols import TIME
from chetaev.paths.boundary.attitudes import identities
from chetaev.paths.boundary.ends import Array
from chetaev.paths.boundary.shooting import Shooting

_TRIED = np.logspace(-18, 18, 145)
"""Sizes that are tried, for any choice of units; the one with which the terms of the rows balance best is taken."""
_CONFIGURATIONS_TRIED = 7
"""Number of random configurations over which the median of terms is taken."""


def completed_sizes(shooting: Shooting, own: dict[str, float]) -> float:
    """Fill in the zero sizes of `own` in place; return a typical size for jets that still have none."""
    terms = _Terms(shooting)
    open_ones = [base for base in terms.bases if not own.get(base)]
    if open_ones and len(open_ones) < len(terms.bases):
        weights = terms.weights(own)
        known = [weights[b] * own[b] ** 2 for b in terms.bases if b not in open_ones and weights[b] > 0]
        for base in open_ones:
            if known and weights[base] > 0:
                own[base] = float(np.sqrt(max(known) / weights[base]))
        open_ones = [base for base in open_ones if not own.get(base)]
        if open_ones and (found := terms.balanced(own, open_ones)) is not None:
            own.update(dict.fromkeys(open_ones, found))
    sizes = [v for v in own.values() if v > 0]
    return float(np.exp(np.mean(np.log(sizes)))) if sizes else 1.0


class _Terms:
    """The second derivatives of L with respect to the velocities, and the terms of the rows, as functions of positions and velocities."""

    def __init__(self, shooting: Shooting) -> None:
        equations, graph = shooting.flow.equations, shooting.ends.flow.graph
        system = equations.system
        self.bases, self.span = [q.base for q in system.coordinates], abs(shooting.span)
        self.p, self.t0 = shooting.flow.p, shooting.flow.t0
        velocities = graph.vector(system.velocities)
        rows = [graph.of(system.charted(row.residual)) for row in system.kinematic if row.order == 1]
        matrix = ca.jacobian(ca.vertcat(*rows), velocities) if rows else ca.SX(0, len(self.bases))
        second = ca.diag(ca.hessian(graph.of(system.charted(system.lagrangian)), velocities)[0])
        column = graph.numeric(ca.vertcat(ca.densify(second), ca.vec(ca.densify(matrix))))
        own = [*system.coordinates, *system.velocities, TIME, *system.parameters]
        kept = {z.name() for z in ca.symvar(graph.vector(own))}
        others = [z for z in ca.symvar(column) if z.name() not in kept]
        unit = {z.name: v for z, v in identities(system).items()}
        column = ca.substitute(column, ca.vertcat(*others), ca.DM([unit.get(z.name(), 0.0) for z in others])) if others else column
        arguments = [graph.vector(system.coordinates), velocities, graph.leaf(TIME), graph.vector(system.parameters)]
        self.function = ca.Function("terms", arguments, [ca.densify(column)])
        self.rows = len(rows)

    def _values(self, sizes: Array) -> Array:
        chance, found = np.random.default_rng(4), []
        for _ in range(_CONFIGURATIONS_TRIED):
            q, v = (sizes * chance.normal(size=len(sizes)) for _ in range(2))
            found.append(np.abs(np.array(self.function(q, v / self.span, self.t0, self.p)).ravel()))
        return np.nanmedian(np.array(found), axis=0)

    def weights(self, own: dict[str, float]) -> dict[str, float]:
        """The second derivatives of L with respect to the velocities."""
        sizes = np.array([own.get(b) or 0.0 for b in self.bases])
        values = self._values(sizes)[: len(sizes)]
        return {b: float(w) if np.isfinite(w) else 0.0 for b, w in zip(self.bases, values, strict=True)}

    def balanced(self, own: dict[str, float], unknown: list[str]) -> float | None:
        """A common size of the coordinates `unknown` with which their terms in the rows are as large as those of the others."""
        if not self.rows:
            return None
        inside = np.array([b in unknown for b in self.bases])
        best, least = None, np.inf
        for tried in _TRIED:
            sizes = np.where(inside, tried, [own.get(b) or 0.0 for b in self.bases])
            terms = self._values(sizes)[len(sizes) :].reshape(len(sizes), self.rows).T * sizes
            two = np.array([terms[:, inside].max(axis=1, initial=0.0), terms[:, ~inside].max(axis=1, initial=0.0)])
            if np.all(two > 0):
                off = float(np.abs(np.log(two[0] / two[1])).max())
                best, least = (float(tried), off) if off < least else (best, least)
        return best
