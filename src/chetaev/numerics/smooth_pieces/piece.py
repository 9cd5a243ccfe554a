"""Pieces of a motion: one choice of pivots, modes and energy each, and their compiled form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr, Symbol

from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet
from chetaev.mechanics.ranks.exact import exactly_zero
from chetaev.numerics.corners.mode import Configuration
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.flow.compiled import Array, Compiled, compile_at, compile_beside_zeros, compile_equations, compile_on_component
from chetaev.numerics.flow.exact_rates import Exact, with_exact_functions, with_exact_rates
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.flow.pole_rewriting import has_pole
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.accuracy import kinds_of
from chetaev.numerics.methods.base import interpolate

_MOST_BY_EARLY_CODE = 1000
"""Most states that are projected by quickly compiled code; for more, optimised code is compiled."""
_WATCHES: Remembered[Kernel] = Remembered(128)
_EXACT_WATCHES: Remembered[Kernel] = Remembered(16)
_KEPT: Remembered[bool] = Remembered(256)


@dataclass(frozen=True)
class Setting:
    """Compiled equations under one configuration of modes: everything that a piece needs besides its state."""

    switched: Switched
    configuration: Configuration
    binding: Binding
    compiled: Compiled
    renewed: bool = False
    """Whether the pivots were chosen for the state where the piece begins."""
    exact: bool = False
    """Whether watched functions are computed in many digits."""

    @property
    def flow(self) -> Flow:
        """The graph functions of the equations."""
        return self.compiled.flow

    @property
    def on_one_component(self) -> bool:
        """Whether the equations are compiled for the component of a given state only."""
        system = self.flow.system
        return not system.added and system.stated is not system

    def parameters(self, t: float, energy: float = 0.0) -> Array:
        """The vector p at a time."""
        return self.compiled.parameters(self.binding, t, energy)

    def native(self, jets: Mapping[Jet, float], work: float) -> Array:
        """The state vector of the flow from values by jet."""
        return np.array([*[jets[z] for z in self.flow.state], *([work] if self.flow.has_power else [])])

    def named(self, native: Array) -> dict[Jet, float]:
        """The values by jet of a state vector of the flow."""
        return dict(zip(self.flow.state, map(float, native), strict=False))

    def function(self, expressions: Sequence[Expr]) -> ca.Function:
        """Expressions in jets as a function of (t, x, p); inputs that are not arguments of the flow are written out."""
        return self.flow.function([self.written(e) for e in expressions])

    def functions(self, expressions: Sequence[Expr]) -> ca.Function:
        """As `function`, with all expressions written on the state together, which is faster for many."""
        column = ca.vertcat(*[self.flow.graph.of(e) for e in expressions])
        return self.flow.function([self.flow.with_inputs(self.flow.on_state(column), self.binding.inputs)])

    def numbers(self, function: ca.Function, t: float, native: Array, energy: float = 0.0) -> Array:
        """The values of a function of (t, x, p) at one state."""
        return np.array(function(t, native, self.parameters(t, energy))).ravel()

    def mapped(self, function: ca.Function, times: Array, native: Array, energy: float) -> Array:
        """The values of a function of (t, x, p) at several states: one row per output."""
        kept = times if self.flow.inputs else times[:1]
        p = np.array([self.parameters(float(t), energy) for t in kept])
        p = np.broadcast_to(p, (len(times), p.shape[1]))
        return np.array(function.map(len(times))(times[None, :], native.T, p.T))

    @cached_property
    def energy(self) -> ca.Function:
        """The energy as a function of (t, x, p)."""
        return self.flow.function([self.flow.energy])

    def in_many_digits(self) -> Setting:
        """The setting with rates and watched functions in many digits, a thousand times as slow."""
        return replace(self, compiled=with_exact_rates(self.compiled, self.binding), exact=True)

    def written(self, e: Expr) -> ca.SX:
        """An expression on the state as a graph, with inputs that are not arguments of the flow written out."""
        return self.flow.with_inputs(self.flow.on_state(self.flow.graph.of(e)), self.binding.inputs)

    def watch(self, functions: Sequence[Expr]) -> Kernel:
        """Machine code of the determinant, the smallest pivot, and some functions; cached."""
        key = (tuple(functions), Frozen(self.binding.inputs))
        if not functions:
            return self.compiled.watch()
        code = _WATCHES.get(self.compiled, key, lambda: compile_kernel(self.flow.watch(self._written(functions)), hot=False))
        if not self.exact:
            return code
        return _EXACT_WATCHES.get(
            self.compiled, key, lambda: with_exact_functions(code, self.compiled, self.binding, key, self._written(functions))
        )

    def keeps(self, e: Expr) -> bool:
        """Whether an expression is proved to be constant along every motion."""

        def proved() -> bool:
            system = self.flow.system
            rows = [system.row(pair) for pair in system.hidden()]
            return exactly_zero([self.flow.rate_of(self.written(e))], rows, self.flow.graph, system.staged(-1)) == [True]

        return _KEPT.get(self.compiled, (e, Frozen(self.binding.inputs)), proved)

    def evaluator(self, expressions: Sequence[Expr]) -> Evaluator:
        """Expressions as a function of time and state, in many digits if `exact` is true and they have a value then.

        Its first argument is this setting, or one with other values of the inputs.
        """
        function = self.function(expressions)

        def plain(here: Setting, t: float, native: Array) -> Array:
            return here.numbers(function, t, native)

        if not self.exact:
            return plain
        key = ("expressions", tuple(expressions), Frozen(self.binding.inputs))
        exact = Exact(self.compiled, self.binding, key, lambda: self._written(expressions))

        def exactly(here: Setting, t: float, native: Array) -> Array:
            found = exact(t, native, here.parameters(t))
            return plain(here, t, native) if found is None else found

        return exactly

    def exactly(self, functions: Sequence[Expr]) -> Exact:
        """Functions in many digits, and then the slopes of each by all jets of the state."""

        def expressions() -> list[ca.SX]:
            written = self._written(functions)
            return [*written, *[slope for e in written for slope in self.flow.graph.gradient(e, self.flow.state)]]

        return Exact(self.compiled, self.binding, ("slopes", tuple(functions), Frozen(self.binding.inputs)), expressions)

    def _written(self, functions: Sequence[Expr]) -> list[ca.SX]:
        return [self.written(e) for e in functions]

    @cached_property
    def lowest_pivot(self) -> float:
        """A lower bound of the smallest pivot over all states, with these values of the parameters; 0 if none is known."""
        kernel = self.compiled.lowest_pivot
        if kernel is None:
            return 0.0
        given = np.array([*[self.binding.parameters.get(z, 0.0) for z in self.flow.arguments], 0.0])
        found = float(kernel(0.0, np.zeros(self.flow.size), given)[0])
        return found if np.isfinite(found) else 0.0

    def point(self, t: float, jets: Mapping[Jet, float]) -> dict[Symbol, float]:
        """Values of all symbols of the flow at a state, for a new choice of pivots."""
        known = self.binding.at(frozenset(self.flow.arguments), t)
        return {**known, **{z: jets[z] for z in self.flow.state}}

    def worst_pivot(self, t: float, native: Array) -> float:
        """Return the smallest ratio of a pivot to its reference; -1 where it is NaN."""
        found = self.compiled.watch()(t, native, self.parameters(t))
        return float(found[1]) if np.all(np.isfinite(found)) else -1.0

    def suited(self, t: float, jets: Mapping[Jet, float]) -> Setting:
        """Return the setting itself if its pivots work at a state, otherwise one with other pivots: a pivot may vanish by symmetry."""
        if self.worst_pivot(t, self.native(jets, 0.0)) > WORST_PIVOT and not has_pole(self.flow.system, self.point(t, jets)):
            return self
        return self.renew(t, jets)

    def renew(self, t: float, jets: Mapping[Jet, float]) -> Setting:
        """The setting with pivots chosen for a state."""
        compiled = compile_at(self.flow.system, self.point(t, jets))
        return replace(self, compiled=compiled, renewed=True)

    def with_other_pivots(self, t: float, native: Array) -> Setting | None:
        """Return a setting with better pivots for a state, if there are better ones, or if the state is not singular; otherwise None."""
        jets = self.named(native)
        fresh = self.renew(t, jets)  # the new flow may include the work where the old one does not, or vice versa
        better = fresh.worst_pivot(t, fresh.native(jets, 0.0)) > 10 * WORST_PIVOT
        return fresh if better or self.regular(t, jets) else None

    def with_other_minor(self, t: float, native: Array) -> Setting | None:
        """Return a setting with pivots in other rows or unknowns, if one of several minors vanishes at a state that is not singular.

        Of rows that depend on each other one is left out; if a factor of a remaining row vanishes, the omitted one can replace it.
        """
        jets = self.named(native)
        if self.flow.system.plain or not self.regular(t, jets):
            return None
        compiled = compile_beside_zeros(self.flow.system, self.point(t, jets))
        if compiled is None or {*compiled.flow.order.pairs} == {*self.flow.order.pairs}:
            return None
        return replace(self, compiled=compiled, renewed=True)

    def regular(self, t: float, jets: Mapping[Jet, float]) -> bool:
        """Tell whether the system Jacobian clearly has its generic rank at a state."""
        return self.compiled.regular_at(self.point(t, jets))

    def lowest_fall(self, piece: Piece) -> float:
        """Return the smallest ratio of a pivot at the end of a piece to the same pivot at the beginning."""
        ends = (piece.begin, piece.first), (piece.end, piece.run.y)
        first, last = (np.abs(self.numbers(self.flow.pivots, t, y, piece.reference)) for t, y in ends)
        falls = last / np.where(first > 0, first, np.nan)
        return float(np.min(falls)) if np.all(np.isfinite(falls)) else 0.0

    def fall_of_determinant(self, piece: Piece, t: float, jets: Mapping[Jet, float]) -> float:
        """Return the determinant at the end of a piece, relative to an earlier state; unlike pivots, it can be compared after another
        choice of pivots.
        """
        ends = (t, self.native(jets, 0.0)), (piece.end, piece.run.y)
        first, last = (abs(float(self.compiled.watch()(at, y, self.parameters(at))[0])) for at, y in ends)
        return last / first if first > 0 else 1.0


Evaluator = Callable[[Setting, float, Array], Array]
"""Expressions as a function of a setting with its inputs, of time and state."""


@dataclass(frozen=True)
class ComponentState:
    """A state of a run, which selects its component of the constraint set if random states lie on another one."""

    t: float
    jets: Mapping[Jet, float]


def setting(switched: Switched, configuration: Configuration, binding: Binding, component: ComponentState | None = None) -> Setting:
    """The compiled equations of a configuration, on the component of a state; a StateError if they do not determine the motion."""
    equations, bound = switched.equations(configuration), switched.binding(binding, configuration)
    compiled = compile_equations(equations) if component is None else compile_on_component(equations, bound, component.t, component.jets)
    return Setting(switched, configuration, bound, compiled)


def reference(here: Setting, energy: float, work: float) -> float:
    """The reference energy of the balance: plus the work before the piece, if the flow does not integrate work."""
    return energy if here.flow.has_power else energy + work


@dataclass(frozen=True)
class Piece:
    """A run in one setting."""

    setting: Setting
    run: Any
    """Nodes, states and coefficients in the layout of the setting's flow."""
    basis: str
    project: Kernel | None
    energy: float
    """The initial energy of the balance: that of the start, plus the changes by resets."""
    work: float
    """The work done before the piece, for a flow without work."""
    begin: float
    end: float
    first: Array = field(compare=False)
    """The state where it begins, in the layout of the flow."""

    @cached_property
    def parameters(self) -> Array:
        """The vector p where the piece begins."""
        return self.setting.parameters(self.begin, self.reference)

    @property
    def reference(self) -> float:
        """The reference energy of the balance; the flow itself integrates the work of the piece, if any."""
        return reference(self.setting, self.energy, self.work)

    def states_at(self, times: Array) -> Array:
        """States in the layout of the flow at times within the piece, on the constraints."""
        if len(self.run.nodes) == 1:
            found = np.repeat(np.array(self.run.states), len(times), axis=0)
        else:
            found = interpolate(self.basis, self.run.nodes, self.run.states, self.run.coefficients, times)
        return self.projected(times, found)

    def projected(self, times: Array, states: Array) -> Array:
        """States in the layout of the flow, moved onto the constraints."""
        if self.project is None:
            return states
        kernels = (self.project, self.setting.compiled.inputs(self.setting.binding))
        few = len(times) <= _MOST_BY_EARLY_CODE
        project, inputs = (0 if kernel is None else kernel.early if few else kernel.address for kernel in kernels)
        p = self.setting.parameters(float(times[0]), self.reference)
        first = len(self.setting.flow.system.equations.system.parameters)
        sizes = np.abs(np.array(self.run.states)).max(axis=0, initial=0.0)
        kinds = kinds_of(self.setting.flow.state, self.setting.flow.size)
        code, limits = dop853.Code(0, project, inputs, first_input=first), dop853.Limits(sizes=sizes, kinds=kinds)
        return dop853.settle(code, times, states, p, limits)[0]


@dataclass(frozen=True)
class Layout:
    """The columns of a trajectory: the jets of the system without sliding, and the work done if any piece does some."""

    jets: tuple[Jet, ...]
    works: bool
    _functions: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.jets) + int(self.works)

    @cached_property
    def _columns(self) -> dict[Jet, int]:
        return {z: k for k, z in enumerate(self.jets)}

    def native(self, piece: Piece, states: Array) -> Array:
        """Rows of a trajectory in the layout of a piece's flow."""
        flow = piece.setting.flow
        if flow.state == self.jets and flow.has_power == self.works:
            return states
        columns = [self._columns[z] for z in flow.state] + ([len(self.jets)] if flow.has_power else [])
        return states[:, columns]

    def common(self, piece: Piece, times: Array, native: Array) -> Array:
        """Rows of a piece's flow in the layout of the trajectory."""
        flow = piece.setting.flow
        if flow.state == self.jets and flow.has_power == self.works:
            return np.array(native)
        found = np.empty((len(times), self.size))
        kept = set(flow.state)
        missing = [z for z in self.jets if z not in kept]
        if missing and len(times):
            function = piece.setting.function(missing)
            found[:, [self._columns[z] for z in missing]] = piece.setting.mapped(function, times, native, piece.reference).T
        for k, z in enumerate(flow.state):
            found[:, self._columns[z]] = native[:, k]
        if self.works:
            found[:, -1] = native[:, -1] if flow.has_power else piece.work
        return found
