"""Values and derivatives of expressions on the state: by time, by the state, and by the parameters of directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from sympy import Expr, Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import TIME, Input
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.arithmetic import dense
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.smooth_pieces.piece import Setting

Parameters = tuple[Symbol | None, ...]

_FUNCTIONS: Remembered[ca.Function] = Remembered(256)


@dataclass(frozen=True)
class Linear:
    """Expressions at one state: their values and derivatives, a row each."""

    values: Array
    by_time: Array
    by_state: Array
    """By the jets of the state."""
    by_parameters: Array
    """By the parameter of each direction; zero for initial values."""

    def along(self, slopes: Array) -> Array:
        """The slopes of the expressions from those of the state, a column for each direction."""
        return self.by_state @ slopes + self.by_parameters


def written_out(flow: Flow, e: ca.SX, inputs: Mapping[str, Expr]) -> ca.SX:
    """An expression with all inputs written out as functions of time and parameters."""
    present = [z for z in flow.graph.symbols(e) if isinstance(z, Input)]
    written = [flow.graph.of(total_derivative(inputs[z.base], z.order)) for z in present]
    return ca.substitute(e, flow.graph.vector(present), ca.vertcat(*written)) if present else e


def derivatives_of(here: Setting, column: ca.SX, parameters: Parameters) -> ca.Function:
    """A function of (t, x, p): the values of a column, its derivative by time, then by the jets of the state and by parameters."""
    flow, graph = here.flow, here.flow.graph
    column = written_out(flow, column, here.binding.inputs)
    by_state = ca.jacobian(column, graph.vector(flow.state))
    by_parameters = [ca.SX(column.numel(), 1) if p is None else ca.jacobian(column, graph.leaf(p)) for p in parameters]
    table = ca.horzcat(column, ca.jacobian(column, graph.leaf(TIME)), by_state, *by_parameters)
    return graph.function("derivatives", [graph.leaf(TIME), flow.x, flow.p], ca.vec(dense(table)))


def of_expressions(here: Setting, expressions: Sequence[Expr], parameters: Parameters) -> ca.Function:
    """`derivatives_of` expressions in any jets; cached."""
    key = (tuple(expressions), tuple(None if p is None else p.name for p in parameters), _driven(here))

    def make() -> ca.Function:
        column = ca.vertcat(*[here.flow.graph.of(e) for e in expressions]) if expressions else ca.SX(0, 1)
        return derivatives_of(here, here.flow.with_inputs(here.flow.on_state(column), here.binding.inputs), parameters)

    return _FUNCTIONS.get(here.compiled, key, make)


def of_rows(here: Setting, parameters: Parameters) -> ca.Function:
    """`derivatives_of` all rows that restrict the state; cached."""
    key = ("rows", tuple(None if p is None else p.name for p in parameters), _driven(here))

    def make() -> ca.Function:
        system = here.flow.system
        rows = [system.row(pair) for pair in system.hidden()]
        return derivatives_of(here, ca.vertcat(*rows) if rows else ca.SX(0, 1), parameters)

    return _FUNCTIONS.get(here.compiled, key, make)


def of_energy(here: Setting, parameters: Parameters) -> ca.Function:
    """`derivatives_of` the energy; cached."""
    key = ("energy", tuple(None if p is None else p.name for p in parameters), _driven(here))
    return _FUNCTIONS.get(here.compiled, key, lambda: derivatives_of(here, here.flow.energy, parameters))


def _driven(here: Setting) -> tuple[tuple[str, Expr], ...]:
    return tuple(sorted(here.binding.inputs.items()))


def at_state(here: Setting, function: ca.Function, t: float, native: Array, directions: int) -> Linear:
    """The result of `derivatives_of` evaluated at one state."""
    width = 2 + len(here.flow.state) + directions
    table = here.numbers(function, t, native).reshape(width, -1).T if function.numel_out(0) else np.zeros((0, width))
    m = len(here.flow.state)
    return Linear(table[:, 0], table[:, 1], table[:, 2 : 2 + m], table[:, 2 + m :])
