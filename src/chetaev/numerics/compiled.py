"""Equations made into machine code: once per equations, with parameters and inputs as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Symbol

from chetaev.calculus import total_derivative
from chetaev.equations import Equations
from chetaev.errors import StateError
from chetaev.numerics.binding import Binding
from chetaev.numerics.flow import Flow, make_flow
from chetaev.numerics.machine import Kernel, compile_kernel
from chetaev.numerics.prolong import prolongation
from chetaev.symbols import TIME

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Compiled:
    """The kernels of one set of equations, for one choice of pivots."""

    flow: Flow
    rhs: Kernel
    project: Kernel | None
    measure: Kernel
    labels: tuple[str, ...]
    """What the measured residuals are called."""

    @property
    def size(self) -> int:
        """The length of the state vector: jets below the top, and the work where energy changes."""
        return len(self.flow.state) + int(self.flow.has_power)

    def parameters(self, binding: Binding, t: float, energy: float) -> Array:
        """The vector p: parameters, inputs at a time, energy at the start."""
        values = binding.at(frozenset(self.flow.arguments), t)
        return np.array([*[values[z] for z in self.flow.arguments], energy])

    def inputs(self, binding: Binding) -> Kernel | None:
        """Machine code that gives the inputs at a time; None without inputs."""
        if not self.flow.inputs:
            return None
        graph = self.flow.graph
        written = [graph.of(total_derivative(binding.inputs[z.base], z.order)) for z in self.flow.inputs]
        return compile_kernel(self._of_time(written))

    def _of_time(self, written: Sequence[ca.SX]) -> ca.Function:
        """A function of (t, x, p) in which the places of inputs in p are ignored."""
        graph, flow = self.flow.graph, self.flow
        known = graph.vector(flow.system.equations.system.parameters)
        rest = ca.SX.sym("rest", len(flow.inputs) + 1)
        x = ca.SX.sym("x", self.size)
        return ca.Function("inputs", [graph.leaf(TIME), x, ca.vertcat(known, rest)], [ca.densify(ca.vertcat(*written))], {"cse": True})

    def watch(self, events: Sequence[Expr]) -> Kernel:
        """Determinant, worst pivot, then the functions of events."""
        return compile_kernel(self.flow.watch([self.flow.graph.of(e) for e in events]), hot=False)

    def conserving(self) -> Kernel:
        """A projection onto the constraints and the energy of the start."""
        function = self.flow.project(conserve=True)
        assert function is not None  # noqa: S101 - conservation always gives a row
        return compile_kernel(function)


@lru_cache(maxsize=32)
def compile_equations(equations: Equations) -> Compiled:
    """Kernels for equations that determine their motion; remembered, because parameters are arguments."""
    return _compiled(equations, ())


def compile_at(equations: Equations, point: Mapping[Symbol, float]) -> Compiled:
    """Kernels whose pivots suit a given state as well."""
    return _compiled(equations, (dict(point),))


def _compiled(equations: Equations, points: tuple[dict[Symbol, float], ...]) -> Compiled:
    system = prolongation(equations)
    flow = None if system is None else make_flow(system, points)
    if flow is None:
        raise StateError(
            "no order of elimination solves these equations everywhere.",
            where=f"compile {equations.system.label}",
            why="The system Jacobian is singular: constraints are redundant, or the constraint algorithm is needed.",
            hint="ch.classify shows redundant rows; leave them out",
        )
    measure, labels = flow.measure()
    project = flow.project()
    projecting = None if project is None else compile_kernel(project)
    return Compiled(flow, compile_kernel(flow.rhs()), projecting, compile_kernel(measure, hot=False), labels)
