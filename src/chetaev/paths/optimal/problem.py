r"""A steering problem as graph functions of time, state, top jets and inputs.

The equations are used as rows $A(x) y + b(x, u) = 0$ for the top jets $y$ (accelerations and multipliers), which are unknowns of the
transcription, so that there is no division by a pivot that might vanish. Where redundant constraints leave multipliers undetermined, the
rates of the flow are used instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Integer

from chetaev.core.calculus import total_derivative
from chetaev.core.declarations import read_value
from chetaev.core.errors import ModelError, StateError, UsageError
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.functions import has_corner
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Input, Jet, Place
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.binding import Binding, bind
from chetaev.numerics.verdict.branch_choice import decided_by_numbers
from chetaev.paths.optimal.conditions import Condition, Relation, Steered, read_bounds, read_end, read_interval, read_path, state_only

Array = NDArray[np.float64]

_NONZERO_DENOMINATOR = 1e-300
"""Least denominator; it replaces zero."""
MOST_DERIVATIVES = 2
"""Highest derivative of an input that the equations may contain: inputs are piecewise linear up to 1, and cubic splines for 2."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A steering problem: inputs, conditions at both ends, relations along the path, cost and duration."""

    equations: Equations
    binding: Binding
    steered: tuple[Steered, ...]
    start: tuple[Condition, ...]
    free_start: tuple[str, ...]
    end: tuple[Condition, ...]
    path: tuple[Relation, ...]
    cost: Expr | None
    """The integrand; None for the duration."""
    t0: float
    shortest: float
    longest: float
    """The least and the largest duration."""
    where: str

    @cached_property
    def flow(self) -> Flow:
        """The flow of the equations."""
        return compile_equations(self.equations).flow

    @property
    def fixed_time(self) -> bool:
        """Whether the final time is given."""
        return self.shortest == self.longest

    @property
    def state(self) -> tuple[Jet, ...]:
        """The jets of the state."""
        return self.flow.state

    @cached_property
    def implicit(self) -> bool:
        """Whether the top jets are unknowns: the rows determine them all."""
        system = self.flow.system
        return len(system.stage(0)) == len(system.structure.top) and not system.generic_nullity

    @property
    def tops(self) -> tuple[Jet, ...]:
        """The unknown jets at the top."""
        return self.flow.system.structure.top if self.implicit else ()

    # -- graphs

    @cached_property
    def xdot(self) -> list[ca.SX]:
        """The rates of the state, in state and top jets."""
        graph = self.flow.graph
        return [graph.leaf(z.d()) for z in self.state] if self.implicit else list(self.flow.rates)

    @cached_property
    def rows(self) -> list[ca.SX]:
        """The rows that determine the top jets."""
        system = self.flow.system
        return [system.row(pair) for pair in system.stage(0)] if self.implicit else []

    @cached_property
    def hidden(self) -> list[ca.SX]:
        """The rows that restrict the state."""
        system = self.flow.system
        return [system.row(pair) for pair in system.hidden()]

    @property
    def hidden_labels(self) -> list[str]:
        """The names of these rows."""
        return [self.flow.system.label(pair) for pair in self.flow.system.hidden()]

    @cached_property
    def driven(self) -> bool:
        """Whether an input occurs in the constraints, which then determine a part of the state from it."""
        return any(isinstance(z, Input) for z in self.flow.graph.symbols_of(self.hidden))

    @cached_property
    def pulled(self) -> Array:
        """For each row that restricts the state, the jets that a projection onto it changes: those of the highest order in the row.

        Changing positions for a row on velocities would admit further, distant solutions.
        """
        found = np.zeros((len(self.hidden), len(self.state)))
        for i, row in enumerate(self.hidden):
            present = self.flow.graph.symbols(row)
            orders = [z.order for z in self.state if z in present]
            found[i] = [float(z in present and z.order == max(orders)) for z in self.state]
        return found

    @cached_property
    def relations(self) -> list[ca.SX]:
        """The expressions that must not be negative."""
        return [self._on_unknowns(r.expression, f"{self.where}, path: {r.text}") for r in self.path]

    @cached_property
    def integrand(self) -> ca.SX:
        """The cost per time."""
        return ca.SX(1) if self.cost is None else self._on_unknowns(self.cost, f"{self.where}, minimise")

    def _on_unknowns(self, e: Expr, where: str) -> ca.SX:
        found = self.flow.graph.of(e)
        if not self.implicit:
            return self.flow.on_state(found)
        known = {*self.state, *self.tops}
        beyond = [z for z in self.flow.graph.symbols(found) if isinstance(z, Jet) and not isinstance(z, Input) and z not in known]
        if beyond:
            names = " ".join(z.name for z in (*self.state, *self.tops))
            raise UsageError(
                f"{beyond[0].name} is neither in the state nor determined by it.",
                where=where,
                hint=f"an expression in t, inputs and {names}",
            )
        return found

    @cached_property
    def orders(self) -> tuple[int, ...]:
        """The highest derivative of each steered input in the equations."""
        every = [*self.xdot, *self.rows, *self.hidden, *self.relations, self.integrand]
        present = [z for z in self.flow.graph.symbols_of(every) if isinstance(z, Input)]
        found = tuple(max((z.order for z in present if z.base == each.name), default=0) for each in self.steered)
        for each, order in zip(self.steered, found, strict=True):
            if order > MOST_DERIVATIVES:
                raise ModelError(
                    f"the equations contain the derivative of order {order} of the input {each.name}.",
                    where=self.where,
                    why=f"steer represents an input by a spline with at most {MOST_DERIVATIVES} derivatives.",
                    hint=f"let {each.name} be a coordinate that a force moves, or take a derivative of it as the input",
                )
        return found

    @cached_property
    def jets_of_inputs(self) -> list[Input]:
        """The steered inputs and their derivatives, input by input."""
        return [
            Input(each.name).d(k) if k else Input(each.name)
            for each, n in zip(self.steered, self.orders, strict=True)
            for k in range(n + 1)
        ]

    def function(self, name: str, expressions: Sequence[ca.SX]) -> ca.Function:
        """A function of time, state, top jets and jets of steered inputs, with parameters and other inputs substituted."""
        graph = self.flow.graph
        column = ca.vertcat(*expressions) if expressions else ca.SX(0, 1)
        steered = {each.name for each in self.steered}
        others = [z for z in graph.symbols(column) if isinstance(z, Input) and z.base not in steered]
        if others:
            written = [graph.of(total_derivative(self.binding.inputs[z.base], z.order)) for z in others]
            column = ca.substitute(column, graph.vector(others), ca.vertcat(*written))
        parameters = self.equations.system.parameters
        if parameters:
            column = ca.substitute(column, graph.vector(parameters), ca.DM([self.binding.parameters[z] for z in parameters]))
        arguments = [graph.leaf(TIME), graph.vector(self.state), graph.vector(self.tops), graph.vector(self.jets_of_inputs)]
        return graph.function(name, arguments, column)

    def of_state(self, name: str, conditions: Sequence[Condition]) -> ca.Function:
        """The residuals of conditions at an end."""
        graph = self.flow.graph
        return self.function(name, [graph.of(c.expression) - c.value for c in conditions])

    # -- numbers

    @cached_property
    def _system(self) -> ca.Function:
        whole = ca.vertcat(*self.rows) if self.rows else ca.SX(0, 1)
        y = self.flow.graph.vector(self.tops)
        slopes = ca.densify(ca.jacobian(whole, y)) if self.rows else ca.SX(0, 0)
        return self.function("system", [*self.rows, *ca.vertsplit(ca.vec(slopes))] if self.rows else [])

    @cached_property
    def _rates(self) -> ca.Function:
        return self.function("rates", self.xdot)

    def matrices(self, t: float, x: Array, w: Array) -> tuple[Array, Array]:
        """The matrix A and the vector b of the rows A y + b = 0 for the top jets y."""
        m = len(self.tops)
        found = np.array(self._system(t, x, np.zeros(m), w)).ravel()
        return found[m:].reshape(m, m, order="F"), found[:m]

    def tops_along(self, t: Array, x: Array, w: Array) -> Array:
        """The top jets that the rows determine at many states, in an array jets x times; NaN where rows have no value or are dependent."""
        m, count = len(self.tops), len(t)
        if not m:
            return np.zeros((0, count))
        found = np.array(self._system.map(count)(t[None, :], x, np.zeros((m, count)), w))
        b, a = found[:m].T, found[m:].T.reshape(count, m, m).transpose(0, 2, 1)
        good = np.isfinite(a).all(axis=(1, 2)) & np.isfinite(b).all(axis=1)
        scale = np.maximum(np.abs(a).max(axis=2), _NONZERO_DENOMINATOR)
        result = np.full((count, m), np.nan)
        for k in np.nonzero(good)[0]:
            result[k] = np.linalg.lstsq(a[k] / scale[k][:, None], -b[k] / scale[k], rcond=None)[0]
        return result.T

    def rates_along(self, t: Array, x: Array, w: Array) -> Array:
        """The rates of the state at many states, in an array jets x times."""
        found: Array = np.array(self._rates.map(len(t))(t[None, :], x, self.tops_along(t, x, w), w))
        return found

    def rates_at(self, t: float, x: Array, w: Array) -> Array:
        """The rates of the state."""
        return self.rates_along(np.array([t]), x[:, None], w[:, None])[:, 0]

    def input_jets(self, values: Any) -> Array:
        """The jets of constant inputs."""
        return np.array([v if k == 0 else 0.0 for v, n in zip(values, self.orders, strict=True) for k in range(n + 1)])


def read_problem(
    equations: Equations,
    inputs: Any,
    start: Any,
    end: Any,
    minimise: Any,
    t: Any,
    path: Any,
    parameters: Mapping[str, Any] | None,
    where: str,
) -> Problem:
    """Read the arguments of `steer`."""
    binding = bind(equations.system, parameters, {z.base: 0 for z, e in equations.system.inputs.items() if e is None}, where)
    steered = read_bounds(equations, inputs, binding, where)
    t0, shortest, longest = read_interval(t, where)
    starts, free = read_end(equations, start, binding, f"{where}, start")
    ends, _ = read_end(equations, end, binding, f"{where}, end")
    cost = _cost(equations, minimise, shortest == longest, where)
    _require_smooth(equations, binding, where)
    found = Problem(equations, binding, steered, starts, free, ends, read_path(equations, path, where), cost, t0, shortest, longest, where)
    state_only(starts, found.state, f"{where}, start")
    state_only(ends, found.state, f"{where}, end")
    _ = found.orders  # raises for an input that cannot be steered
    return found


def _cost(equations: Equations, minimise: Any, fixed: bool, where: str) -> Expr | None:
    if isinstance(minimise, str) and minimise.strip() == "t":
        if fixed:
            raise UsageError(
                'minimise="t", and the final time is given.',
                where=where,
                hint=(SetArgument("t", (0, None)), " for a free final time, or an integrand: ", SetArgument("minimise", "u^2")),
            )
        return None
    e = equations.system.charted(read_value(minimise, equations.vocabulary, f"{where}, minimise"))
    if has_corner(e):
        raise ModelError(
            f"the cost {minimise} has a corner.",
            where=f"{where}, minimise",
            why="Optimal inputs stay at corners, where the search has no derivatives.",
            hint="for abs(u) two inputs with u = p - q, 0 <= p, 0 <= q and the cost p + q; or sqrt(u^2 + 1e-6)",
        )
    return e if isinstance(e, Expr) else Integer(e)


def _require_smooth(equations: Equations, binding: Binding, where: str) -> None:
    if not decided_by_numbers(equations):
        raise StateError(
            "the motion depends on a branch or a gauge, which steer does not choose.", where=where, hint=Ask("ch.analyze", "equations")
        )
    switched = smooth(equations, Frozen(binding.inputs))
    if switched.modes:
        raise ModelError(
            f"the equations switch where {switched.modes[0].text} = 0.",
            where=where,
            why="A path through a corner has no derivatives there, which the search needs.",
            hint="a smooth function instead: tanh(v/v0) for sign(v), sqrt(v^2 + v0^2) for abs(v)",
        )
    state = compile_equations(equations).flow.state
    if any(isinstance(z, Place) for z in state) or equations.system.groups:
        raise ModelError("steer takes no group coordinates yet.", where=where, hint="angles as coordinates")
