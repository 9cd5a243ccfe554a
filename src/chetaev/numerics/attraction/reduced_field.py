"""The motion near an equilibrium as y' = g(y), on a graph, for the independent jets that influence others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr, Symbol

from chetaev.core.errors import StateError
from chetaev.core.symbols import TIME, Input, Jet, Place
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.pivot_choice import make_flow
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions

_MOST_ROWS_BY_MINORS = 3
"""Most rows of one stage that are solved by minors; the number of their terms grows as the factorial."""


class NotReduced(Exception):
    """Raised, with the reason, if the motion has no such form."""


@dataclass(frozen=True)
class ReducedField:
    """The rates of independent jets as expressions in these jets and in parameters."""

    flow: Flow
    jets: tuple[Jet, ...]
    rates: tuple[Any, ...]
    bound: Mapping[Jet, Any]
    """The jets that the constraints determine, as expressions in the independent ones."""
    dropped: tuple[Jet, ...]
    """Independent jets on which no other rate depends, such as the position of a cart."""
    centre: Matrix
    units: Matrix
    parameters: Mapping[Symbol, float]

    @property
    def graph(self) -> GraphAlgebra:
        """The algebra of the expressions."""
        return self.flow.graph

    def read(self, expression: Expr) -> Any:
        """An expression of the user, written in the independent jets."""
        found = self._written(self.flow.on_state(self.graph.of(expression)))
        strange = {z for z in self.graph.symbols(found) if z not in self.jets and z not in self.parameters}
        if strange:
            raise NotReduced(f"it contains {' and '.join(sorted(z.name for z in strange))}, which the motion of {self._names} does not fix")
        return found

    def rate_of(self, expression: Any) -> Any:
        """The rate of an expression along the motion."""
        return self.graph.along([expression], dict(zip(self.jets, self.rates, strict=True)))[0]

    def at_zero(self, expression: Any, jets: tuple[Jet, ...]) -> Any:
        """An expression where some jets vanish."""
        return ca.substitute(expression, self.graph.vector(jets), ca.DM.zeros(len(jets)))

    def _written(self, e: Any) -> Any:
        used = [z for z in self.bound if z in self.graph.symbols(e)]
        return ca.substitute(e, self.graph.vector(used), ca.vertcat(*[self.bound[z] for z in used])) if used else e

    @property
    def _names(self) -> str:
        return " ".join(z.name for z in self.jets)


def reduced_field(local: Local) -> ReducedField:
    """The motion in independent jets; `NotReduced` with the reason where it cannot be written so."""
    problem = local.problem
    system, state = problem.system, directions(problem.system)
    point = problem.point(dict(zip(state, map(float, local.view.spot.x), strict=True)))
    flow = make_flow(system, (point,)) or make_flow(system)
    if flow is None:
        raise NotReduced("the rows have no order in which they are solved")
    graph = flow.graph
    bound = _bound(local, graph)
    turning = system.equations.system.frame.turning  # directions in a group have no jets of order 0
    places = [k for k, i in enumerate(local.chart.free) if state[i] not in turning]
    free = tuple(state[local.chart.free[k]] for k in places)
    empty = ReducedField(flow, free, (), bound, (), local.y, np.ones(len(free)), dict(problem.binding.parameters))
    written = {z: empty._written(rate) for z, rate in zip(flow.state, flow.rates, strict=True) if z in free}
    timed = [z.name for e in written.values() for z in graph.symbols(e) if z == TIME or isinstance(z, Input)]
    if timed:
        raise NotReduced(f"the rates depend on {timed[0]}")
    _must_not_depend_on_places(local, graph, written)
    kept = list(free)
    while loose := [z for z in kept if all(z not in graph.symbols(written[w]) for w in kept)]:
        kept = [z for z in kept if z not in loose]
    if not kept:
        raise NotReduced("no jet influences the motion")
    places = [places[free.index(z)] for z in kept]
    return ReducedField(
        flow,
        tuple(kept),
        tuple(written[z] for z in kept),
        bound,
        tuple(z for z in free if z not in kept),
        local.y[places],
        local.view.spot.units[[local.chart.free[k] for k in places]],
        dict(problem.binding.parameters),
    )


def _must_not_depend_on_places(local: Local, graph: GraphAlgebra, rates: Mapping[Jet, Any]) -> None:
    """Raise `NotReduced` for rates that depend on an element of a group: boxes of jets do not cover a neighbourhood there."""
    for z, rate in rates.items():
        inside = {w for w in graph.symbols(rate) if isinstance(w, Place)}
        for name, group in local.problem.system.equations.system.groups.items():
            if inside & set(group.places):
                raise NotReduced(
                    f"the rate of {z.name} depends on {name}, which lies in a group: a group is not a vector space, and boxes of jets "
                    "do not cover a neighbourhood in it. groups.in_coordinates gives the same system in a chart"
                )


def _bound(local: Local, graph: GraphAlgebra) -> dict[Jet, Any]:
    """The jets that the constraints determine, stage by stage, where the rows are affine in them."""
    system, state = local.problem.system, directions(local.problem.system)
    chosen = {state[i] for i in local.chart.bound}
    found: dict[Jet, Any] = {}
    for k in system.stages():
        structure = system.structure
        at_stage = {z.d(d + k) for z, d in zip(structure.unknowns, structure.unknown_offsets, strict=True) if d + k >= 0}
        jets = [z for z in state if z in chosen and z in at_stage]
        rows = [_replaced(graph, system.row(pair), found) for pair in system.stage(k)]
        names = " ".join(z.name for z in jets)
        if len(jets) != len(rows) or len(rows) > _MOST_ROWS_BY_MINORS:
            raise NotReduced(f"{len(rows)} constraint rows at once are not solved for {names or 'any jet'} by formulas")
        slopes = [graph.gradient(row, jets) for row in rows]
        if any(z in graph.symbols(e) for line in slopes for e in line for z in jets):
            raise NotReduced(f"the constraints are not affine in {names}")
        matrix = ca.vertcat(*[ca.horzcat(*line) for line in slopes])
        right = ca.vertcat(*[graph.without(row, jets) for row in rows])
        solution = ca.densify(-ca.mtimes(ca.inv_minor(matrix), right))
        found |= dict(zip(jets, solution.elements(), strict=True))
    return found


def _replaced(graph: GraphAlgebra, e: Any, known: Mapping[Jet, Any]) -> Any:
    used = [z for z in known if z in graph.symbols(e)]
    return ca.substitute(e, graph.vector(used), ca.vertcat(*[known[z] for z in used])) if used else e


def local_or_reason(local: Local) -> str:
    """The reason why the state is not an equilibrium of the quantities that influence the motion; empty if it is one."""
    if not local.steady:
        return "the state is not an equilibrium"
    try:
        stable, verdict = local.verdict()
    except StateError as error:
        return str(error.what)
    return verdict if stable is False else ""
