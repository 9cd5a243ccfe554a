"""The rows of motion with the rates that machine code gives: what they leave, and the sizes of their terms.

Unknowns of the rows that are no rates of the state, as multipliers, are those of the flow; the rates are arguments, so that a row shows
whether the code of the rates is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from chetaev.core.symbols import TIME
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.magnitude import magnitudes


@dataclass(frozen=True)
class HeldRows:
    """Residuals and sizes as graphs of time, a vector of state and rates, and the parameters."""

    flow: Flow
    residuals: list[ca.SX]
    sizes: list[ca.SX]
    arguments: list[ca.SX]

    def function(self, outputs: list[ca.SX], name: str) -> ca.Function:
        """A function of (t, state and rates, p)."""
        return self.flow.graph.function(name, self.arguments, ca.vertcat(*outputs))


def held_rows(flow: Flow, first: int) -> HeldRows:
    """The rows, with the vector of the flow in front of the rates, which begin at the place `first`."""
    system, graph = flow.system, flow.graph
    rates = {z.d(): k for k, z in enumerate(flow.state)}
    top = system.structure.top
    moving, others = [z for z in top if z in rates], [z for z in top if z not in rates]
    rows = [system.row(pair) for pair in system.stage(0)]
    column = ca.vertcat(*rows, *magnitudes(rows))
    if others:
        column = ca.substitute(column, graph.vector(others), ca.vertcat(*[flow.tops[z] for z in others]))
    y = ca.SX.sym("y", first + flow.size)
    given = [y[first + rates[z]] for z in moving]
    column = ca.substitute(column, ca.vertcat(flow.x, graph.vector(moving)), ca.vertcat(y[: flow.size], *given))
    found = ca.vertsplit(ca.densify(column))
    return HeldRows(flow, found[: len(rows)], found[len(rows) :], [graph.leaf(TIME), y, flow.p])
