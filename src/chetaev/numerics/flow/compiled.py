"""Equations as machine code, compiled once, with parameters and inputs as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Symbol

from chetaev.core.calculus import Calculus, total_derivative
from chetaev.core.errors import StateError
from chetaev.core.fixes import Ask
from chetaev.core.symbols import TIME, Jet
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import Factored, is_regular
from chetaev.mechanics.ranks.sparse import clearly_regular
from chetaev.mechanics.tolerances import CUT
from chetaev.numerics.flow.constraint_set.component import component_at
from chetaev.numerics.flow.constraints.reduction import reduction_of
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.pivot_choice import make_flow
from chetaev.numerics.flow.pole_rewriting import without_poles
from chetaev.numerics.flow.prolongation import Problem, Prolongation, prolongation, square_prolongation
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.rounding_bounds import EPSILON, values_and_doubts
from chetaev.numerics.machine.kernels import Foreign, Kernel, compile_kernel
from chetaev.numerics.machine.tape import Line, lines_of, tape_of

Array = NDArray[np.float64]

_ONLY_NOISE = 10.0
"""A rate below this multiple of the bound of its rounding error may be rounding error alone. Larger values hide the beginning of a
motion."""
_CACHED_CHOICES = 64
"""Size of the cache of compiled choices of pivots; one motion of a mechanism may need twenty."""


@dataclass(frozen=True)
class Stepping:
    """Kernels with which an explicit method makes steps, in reduced velocities where there are any (`flow.constraints.reduction`)."""

    rhs: Kernel
    """The rates of the state, and of further velocities behind it."""
    project: Kernel | None
    """The state on the constraints; in reduced velocities the state with the jets that rows determine."""
    at_state: Kernel
    """The rates of the state computed in the same way as by `rhs`, from the state alone."""
    begin: Kernel | None = None
    """The further velocities at a state; None if there are none."""
    like: tuple[int, ...] = ()
    """For each further velocity the place in the state of a velocity of its kind."""


@dataclass(frozen=True)
class Compiled:
    """The kernels of one set of equations, for one choice of pivots."""

    flow: Flow
    rhs: Kernel
    project: Kernel | None
    measure: Kernel
    """Residuals, and then the sizes of their terms."""
    labels: tuple[str, ...]
    """The names of the measured residuals."""

    @property
    def size(self) -> int:
        """The length of the state vector: jets below the top, and the work where energy changes."""
        return self.flow.size

    def parameters(self, binding: Binding, t: float, energy: float) -> Array:
        """The vector p: parameters, inputs at a time, energy at the start."""
        arguments = self.flow.arguments
        values = binding.at(self._symbols, t) if self.flow.inputs else binding.parameters
        return np.array([*[values[z] for z in arguments], energy])

    def inputs(self, binding: Binding) -> Kernel | None:
        """Return machine code for the inputs at a time; None without inputs."""
        if not self.flow.inputs:
            return None
        written = self.driving(binding)
        if written not in self._made:
            self._made[written] = compile_kernel(self._of_time(binding))
        return self._made[written]

    def round_off(self, binding: Binding, t: float, y: Array, p: Array, span: float) -> Array:
        """Bounds of the rates at a state that consist of round-off alone, over a duration; zero for all others.

        Where large terms cancel, as in 1 + tanh(20*(t - 3)) long before t = 3, the acceleration of a body at rest is rounding error alone;
        over the duration it adds to the velocity, which is the rate of the coordinate. Near a singular state rounding errors of rates have
        no bound, and a motion through it must not be explained by them: so this holds only if the Jacobian is the same at all states.
        """
        if not self.flow.has_constant_jacobian:
            return np.zeros(len(y))
        given = np.array([t, *y, *p])
        doubts = EPSILON * np.abs(given)
        if self.flow.inputs:
            first = 1 + len(y) + len(self.flow.system.equations.system.parameters)
            of_inputs = values_and_doubts(_in_one(self._of_time(binding)), given, doubts)[1]
            doubts[first : first + len(of_inputs)] = of_inputs
        rates, noise = values_and_doubts(self._rates_in_one, given, doubts, self._rate_lines)
        place = {z: k for k, z in enumerate(self.flow.state)}
        for z in sorted((z for z in place if z.d() in place), key=lambda z: -z.order):
            noise[place[z]] += abs(span) * noise[place[z.d()]]
        found: Array = np.where(np.isfinite(noise) & (np.abs(rates) <= _ONLY_NOISE * noise), noise, 0.0)
        return found

    def regular_at(self, point: Mapping[Symbol, float]) -> bool:
        """Tell whether the system Jacobian clearly has its generic rank where all symbols of the flow have the values of `point`."""
        found = self.flow.system.measured([point], given=True)[0]
        return found is not None and is_regular(*found, rank=self.flow.rank)

    @cached_property
    def plain_stepping(self) -> Stepping:
        """Steps with the rates of all jets, and a projection."""
        return Stepping(self.rhs, self.project, self.rhs)

    @property
    def stepping(self) -> Stepping:
        """Steps in reduced velocities, if there are any; otherwise plain ones."""
        return self.reduced_stepping or self.plain_stepping

    @cached_property
    def reduced_stepping(self) -> Stepping | None:
        """Steps in reduced velocities; None if there are none, or if rates are computed otherwise than by their graph."""
        found = None if isinstance(self.rhs, Foreign) else reduction_of(self.flow)
        if found is None:
            return None
        rhs, complete, at_state = map(compile_kernel, (found.rhs(), found.complete(), found.at_state()))
        return Stepping(rhs, complete, at_state, compile_kernel(found.begin()) if found.further else None, found.like)

    @cached_property
    def _symbols(self) -> frozenset[Symbol]:
        return frozenset(self.flow.arguments)

    @cached_property
    def lowest_pivot(self) -> Kernel | None:
        """A lower bound of the smallest pivot at all states, as a function of the parameters; None if no bound is known."""
        tape, flow = self.flow.lowest_pivot, self.flow
        if tape is None:
            return None
        t, x, p = (ca.SX.sym(name, size) for name, size in (("t", 1), ("x", flow.size), ("p", len(flow.arguments) + 1)))
        column = ca.vertcat(*[p[flow.arguments.index(z)] for z in tape.order])
        return compile_kernel(ca.Function("lowest", [t, x, p], [ca.densify(tape.function(column))]), hot=False, fusing=False)

    @cached_property
    def _rates_in_one(self) -> ca.Function:
        return _in_one(self.flow.rhs())

    @cached_property
    def _rate_lines(self) -> list[Line]:
        """The lines of its tape."""
        return list(lines_of(tape_of(self._rates_in_one)))

    def driving(self, binding: Binding) -> tuple[Expr, ...]:
        """The inputs and their derivatives as functions of time."""
        return tuple(total_derivative(binding.inputs[z.base], z.order) for z in self.flow.inputs)

    def _of_time(self, binding: Binding) -> ca.Function:
        """A function of (t, x, p) in which the places of inputs in p are ignored.

        Derivatives are those of the graph, which has a value of 1/cosh(t)^2 where cosh(t) is too large for a double.
        """
        graph, flow = self.flow.graph, self.flow
        calculus = Calculus(graph, flow.system.equations.system.frame)
        written = [calculus.total(graph.of(binding.inputs[z.base]), z.order) for z in flow.inputs]
        known = graph.vector(flow.system.equations.system.parameters)
        rest = ca.SX.sym("rest", len(flow.inputs) + 1)
        x = ca.SX.sym("x", self.size)
        return graph.function("inputs", [graph.leaf(TIME), x, ca.vertcat(known, rest)], ca.vertcat(*written))

    def watch(self, events: Sequence[Expr] = ()) -> Kernel:
        """Determinant, smallest pivot, then the functions of events; cached."""
        key = ("watch", *events)
        if key not in self._made:
            self._made[key] = compile_kernel(self.flow.watch([self.flow.graph.of(e) for e in events]), hot=False)
        return self._made[key]

    def conserving(self) -> Kernel:
        """A projection onto the constraints and the energy of the start; cached."""
        if "conserving" not in self._made:
            function = self.flow.project(conserve=True)
            assert function is not None  # noqa: S101 - conservation always gives a row
            self._made["conserving"] = compile_kernel(function)
        return self._made["conserving"]

    def energy_at(self, t: float, x: Array, p: Array) -> float:
        """Return the balanced energy at one state: the balance with a zero reference, whose code is already compiled."""
        state, values = np.array(x), np.array(p)
        values[-1] = 0.0
        state[len(self.flow.state) :] = 0.0
        return float(self.measure(t, state, values)[len(self.labels) - 1])

    @cached_property
    def determinant(self) -> Kernel:
        """The determinant of the system Jacobian, as `watch` gives it."""
        return compile_kernel(self.flow.function([self.flow.determinant], "determinant"))

    @cached_property
    def restricting(self) -> Kernel:
        """The rows that restrict the state, alone: the first values of `measure`."""
        system = self.flow.system
        return compile_kernel(self.flow.function([system.row(pair) for pair in system.hidden()], "restricting"), hot=False)

    @cached_property
    def energy(self) -> Kernel:
        """The balanced energy on the state."""
        return compile_kernel(self.flow.function([self.flow.balanced_energy], "energy"), hot=False)

    @cached_property
    def _made(self) -> dict[Any, Kernel]:
        """Kernels made on demand."""
        return {}


def _in_one(function: ca.Function) -> ca.Function:
    """A function of (t, x, p) as one of all these numbers in one column."""
    sizes = [function.numel_in(k) for k in range(3)]
    column = ca.SX.sym("column", sum(sizes))
    return ca.Function(function.name(), [column], [ca.densify(function(*ca.vertsplit(column, [0, *np.cumsum(sizes).tolist()])))])


_COMPILED: Remembered[Compiled] = Remembered(_CACHED_CHOICES)
_SUITING: Remembered[Compiled] = Remembered(_CACHED_CHOICES)
_FLOWS: Remembered[Flow | None] = Remembered(_CACHED_CHOICES)


@lru_cache(maxsize=32)
def compile_equations(equations: Equations) -> Compiled:
    """Return kernels for equations that determine their motion; cached, because parameters are arguments."""
    return compile_system(prolongation(equations), equations.system.label)


def compile_at(system: Prolongation, point: Mapping[Symbol, float]) -> Compiled:
    """Return kernels whose pivots also suit a given state; cached by the state and by the pivots: states with equal pivots share code."""
    values = tuple(sorted((z.name, float(v)) for z, v in point.items()))
    return _SUITING.get(system, values, lambda: _compile_at(system, point))


def _compile_at(system: Prolongation, point: Mapping[Symbol, float]) -> Compiled:
    system = without_poles(system, dict(point))
    (here,) = system.jacobians([point])
    if here is not None and not clearly_regular(here, None, CUT) and Factored(here).nullity > (system.generic_nullity or 0):
        near = system.near(point)  # the state's own branch, if constraints have several
        system = near if (near.generic_nullity or 0) > (system.generic_nullity or 0) else system
    flow = make_flow(system, (dict(point),)) or make_flow(system)  # a singular state has too few pivots; the run then reports it
    if flow is None:
        raise _no_order(system.equations.system.label)
    key = (flow.order, system.generic_nullity, system.added)
    return _COMPILED.get(system.stated, key, lambda: _compiled(flow))


def compile_beside_zeros(system: Prolongation, point: Mapping[Symbol, float]) -> Compiled | None:
    """Return kernels whose pivots suit a state without the entries that vanish near it; None if too few are left."""
    flow = make_flow(system, (dict(point),), usual_only=True)
    if flow is None:
        return None
    return _COMPILED.get(system.stated, (flow.order, system.generic_nullity, system.added), lambda: _compiled(flow))


def compile_on_component(equations: Equations, binding: Binding, t: float, jets: Mapping[Jet, float]) -> Compiled:
    """Kernels for the component of the constraint set that a state lies on."""
    stated = square_prolongation(equations)
    if stated is None or any(z not in jets for z in stated.structure.state):
        return compile_equations(equations)
    problem = Problem(stated, binding, t, f"compile {equations.system.label}")
    state = {z: jets[z] for z in stated.structure.state}
    system = component_at(problem, state)
    if system is None:
        return compile_equations(equations)
    if system is not stated:
        return compile_at(system, problem.point(state))
    try:
        return compile_equations(equations)
    except StateError:  # at no random state do the rows have values, or none from which pivots follow: the given one decides
        return compile_at(system, problem.point(state))


def flow_of(system: Prolongation) -> Flow | None:
    """The flow of rows that determine their motion, with pivots that suit random states; None if there is none; cached."""
    return _FLOWS.get(system, (), lambda: make_flow(system))


def compile_system(system: Prolongation | None, label: str) -> Compiled:
    """Return kernels for rows that determine their motion."""
    flow = None if system is None else flow_of(system)
    if flow is None:
        raise _no_order(label)
    return _compiled(flow)


def _no_order(label: str) -> StateError:
    return StateError(
        "no order of elimination solves these equations everywhere.",
        where=f"compile {label}",
        why="The system Jacobian is singular, and consequences of the rows do not close them: a free function is left, or no motion.",
        hint=(Ask("analyze"), " says what becomes of a motion"),
    )


def _compiled(flow: Flow) -> Compiled:
    measure, labels = flow.measure()
    project = flow.project()
    projecting = None if project is None else compile_kernel(project)
    return Compiled(flow, compile_kernel(flow.rhs()), projecting, compile_kernel(measure, hot=False), labels)
