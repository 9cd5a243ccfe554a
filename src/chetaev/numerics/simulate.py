"""simulate: from equations and initial data to a trajectory, in compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr, Symbol

from chetaev.calculus import total_derivative
from chetaev.declarations import read_value
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import InitialError, UsageError
from chetaev.frozen import Frozen
from chetaev.model import Model
from chetaev.notation import show
from chetaev.numerics.binding import Binding, bind, number
from chetaev.numerics.compiled import Array, Compiled, compile_at, compile_equations
from chetaev.numerics.evaluate import evaluate
from chetaev.numerics.initial import State
from chetaev.numerics.machine import Kernel
from chetaev.numerics.methods import dop853
from chetaev.symbols import Input
from chetaev.trajectory import Event, Outcome, Trajectory

_SMALLEST_DETERMINANT = 1e-7
_WORST_PIVOT = 1e-3
_REORDERINGS = 20


@dataclass(frozen=True)
class On:
    """An event: a root of an expression. `terminal` ends the run there; `direction` is +1 for rising, -1 for falling, 0 for both."""

    expression: Any
    terminal: bool = False
    direction: int = 0


def simulate(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    t: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    events: Sequence[Any] = (),
    inputs: Mapping[str, Any] | None = None,
    conserve: str | None = None,
    keep: str = "steps",
    max_steps: int = 1_000_000,
) -> Trajectory:
    """The motion from a state over an interval `(t0, t1)`, or at an increasing or decreasing array of times.

    An explicit method of order 8 with error control runs in machine code; after each step the state is projected onto all
    constraints, hidden ones too. `keep="final"` stores the end, extrema and drift only. `conserve="energy"` projects onto the energy
    as well where it is a first integral. The tolerance is 1e-9 unless given. A model brings its own start, interval and values.

    >>> from chetaev import System
    >>> spring = System("x", lagrangian="x'^2/2 - x^2/2")
    >>> motion = simulate(derive(spring), {"x": 1, "x'": 0}, (0, 3.141592653589793), tolerance=1e-12)
    >>> round(motion.final["x"], 10)
    -1.0
    """
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        start = model.start if start is None else start
        t = model.t if t is None else t
        tolerance = model.tolerance if tolerance is None else tolerance
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    tolerance = 1e-9 if tolerance is None else tolerance
    where = f"simulate {equations.system.label}" if isinstance(equations, Equations) else "simulate"
    times = _times(t, where)
    now = evaluate(equations, start, parameters=parameters, t=float(times[0]), inputs=inputs)
    binding = bind(equations.system, parameters, inputs, where)
    run = _Run(
        equations, binding, _positive(tolerance, "tolerance", where), keep, max_steps, _events(events, equations, where), conserve, where
    )
    return run.from_state({z: now.jets[z] for z in compile_equations(equations).flow.state}, times)


@dataclass(frozen=True)
class _Run:
    """One simulation: everything but the state it starts from."""

    equations: Equations
    binding: Binding
    tolerance: float
    keep: str
    max_steps: int
    events: tuple[On, ...]
    conserve: str | None
    where: str

    def __post_init__(self) -> None:
        if self.keep not in ("steps", "final"):
            raise UsageError(f"keep={self.keep!r} is not known.", where=self.where, hint='keep="steps" or keep="final"')
        if self.conserve not in (None, "energy"):
            raise UsageError(f"conserve={self.conserve!r} is not known.", where=self.where, hint='conserve="energy"')

    def from_state(self, jets: Mapping[Any, float], times: Array) -> Trajectory:
        """Run, choosing other pivots where the first ones wear out, until the end or the edge of the domain."""
        compiled = compile_equations(self.equations)
        flow = compiled.flow
        state = np.array([*[jets[z] for z in flow.state], *([0.0] if flow.has_power else [])])
        if not self._pivots_suit(compiled, float(times[0]), state):
            compiled = compile_at(self.equations, self._point(compiled, float(times[0]), state))
        energy = _Reader(compiled, self.binding, None, 0.0).energy_of(times[0], state)
        pieces: list[_Piece] = []
        at, remaining = float(times[0]), times
        for _ in range(_REORDERINGS):
            piece = self._piece(compiled, at, state, remaining, energy)
            pieces.append(piece)
            at, state = float(piece.run.t), np.array(piece.run.y)
            if piece.run.status is not dop853.Status.FLOOR or not self._only_pivots(compiled, at, state):
                break
            remaining = _after(times, at)
            compiled = compile_at(self.equations, self._point(compiled, at, state))
        return _assembled(self, pieces, times, energy)

    def _piece(self, compiled: Compiled, at: float, state: Array, times: Array, energy: float) -> _Piece:
        flow = compiled.flow
        watch = compiled.watch([e.expression for e in self.events])
        inputs = compiled.inputs(self.binding)
        project = compiled.conserving() if self.conserve and not flow.has_power else compiled.project
        p = compiled.parameters(self.binding, at, energy)
        first = watch(at, state, p)
        flag = np.zeros(1, np.int64)
        mode = dop853.FINAL if self.keep == "final" else (dop853.STEPS if len(times) == 2 else dop853.TIMES)
        arguments: dict[str, Any] = {
            "t0": at, "t1": float(times[-1]), "y0": state, "p": p, "first_input": len(self.equations.system.parameters),
            "rtol": self.tolerance, "atol": self.tolerance, "max_steps": self.max_steps, "keep": mode,
            "times": times if mode == dop853.TIMES else (), "n_watch": 2 + len(self.events), "n_measure": len(compiled.labels),
            "directions": [0, 0, *[e.direction for e in self.events]], "terminal": [True, False, *[e.terminal for e in self.events]],
            "floor": [abs(float(first[0])) * _SMALLEST_DETERMINANT, _WORST_PIVOT * min(1.0, float(first[1])), *[0.0] * len(self.events)],
            "flag": flag,
        }  # fmt: skip
        addresses = [compiled.rhs, project, inputs, watch, compiled.measure]
        done = _interruptible(lambda: dop853.run(*[0 if k is None else k.address for k in addresses], **arguments), flag)
        return _Piece(compiled, done, project)

    def _pivots_suit(self, compiled: Compiled, at: float, state: Array) -> bool:
        """Whether the usual order of elimination works at the start; a symmetric position may make one of its pivots vanish."""
        found = np.array(compiled.flow.watch()(at, state, compiled.parameters(self.binding, at, 0.0))).ravel()
        return bool(np.all(np.isfinite(found)) and found[1] > _WORST_PIVOT)

    def _only_pivots(self, compiled: Compiled, at: float, state: Array) -> bool:
        """Whether a small pivot means a bad order of elimination and not a singular state."""
        point = self._point(compiled, at, state)
        fresh = compile_at(self.equations, point)
        worst = fresh.flow.watch()(at, state, compiled.parameters(self.binding, at, 0.0))
        return float(worst[1]) > 10 * _WORST_PIVOT

    def _point(self, compiled: Compiled, at: float, state: Array) -> dict[Symbol, float]:
        flow = compiled.flow
        known = self.binding.at(frozenset(flow.arguments), at)
        return {**known, **dict(zip(flow.state, map(float, state), strict=False))}


@dataclass(frozen=True)
class _Piece:
    """A run with one choice of pivots."""

    compiled: Compiled
    run: Any
    project: Kernel | None


@dataclass(frozen=True)
class _Reader:
    """Values of expressions along states, and states between the nodes."""

    compiled: Compiled
    binding: Binding
    dense: tuple[_Piece, ...] | None
    energy_at_start: float

    def values(self, expression: Expr, times: Array, states: Array) -> Array:
        flow = self.compiled.flow
        return self._mapped(flow.function([self._with_inputs(flow.on_state(flow.graph.of(expression)))]), times, states)[0]

    def _with_inputs(self, e: ca.SX) -> ca.SX:
        """An expression with those inputs written out that are no arguments of the flow."""
        flow = self.compiled.flow
        others = [z for z in flow.graph.symbols(e) if isinstance(z, Input) and z not in flow.inputs]
        written = [flow.graph.of(total_derivative(self.binding.inputs[z.base], z.order)) for z in others]
        return ca.substitute(e, flow.graph.vector(others), ca.vertcat(*written)) if others else e

    def energy(self, times: Array, states: Array) -> tuple[Array, Array]:
        energy, *_ = self._mapped(self._energy, times, states)
        work = states[:, -1] if self.compiled.flow.has_power else np.zeros(len(times))
        return energy, work

    def energy_of(self, t: float, state: Array) -> float:
        return float(self._mapped(self._energy, np.array([t]), state[None, :])[0, 0])

    @cached_property
    def _energy(self) -> ca.Function:
        return self.compiled.flow.function([self.compiled.flow.energy])

    def states_at(self, times: Array) -> Array:
        if self.dense is None:
            raise UsageError(
                "only single times were kept.",
                where=f"motion of {self.compiled.flow.system.equations.system.label}",
                hint="simulate(..., t=(t0, t1))",
            )
        found = np.full((len(times), self.compiled.size), np.nan)
        for piece in self.dense:
            states, _ = dop853.interpolate(piece.run.nodes, piece.run.states, piece.run.coefficients, times)
            found = np.where(np.isnan(found), states, found)
        if np.isnan(found).any():
            raise UsageError("a time outside the motion.", where=f"motion of {self.compiled.flow.system.equations.system.label}")
        return self._settled(times, found)

    def _settled(self, times: Array, states: Array) -> Array:
        project = self.dense[-1].project if self.dense else None
        if project is None:
            return states
        inputs = self.compiled.inputs(self.binding)
        p = self.compiled.parameters(self.binding, float(times[0]), self.energy_at_start)
        first = len(self.compiled.flow.system.equations.system.parameters)
        return dop853.settle(project.address, 0 if inputs is None else inputs.address, times, states, p, first)[0]

    def _mapped(self, function: ca.Function, times: Array, states: Array) -> Array:
        kept = times if self.compiled.flow.inputs else times[:1]
        p = np.array([self.compiled.parameters(self.binding, float(t), self.energy_at_start) for t in kept])
        p = np.broadcast_to(p, (len(times), p.shape[1]))
        return np.array(function.map(len(times))(times[None, :], states.T, p.T))


def _assembled(run: _Run, pieces: Sequence[_Piece], times: Array, energy: float) -> Trajectory:
    """The pieces joined under the names of the system."""
    last = pieces[-1]
    compiled = last.compiled
    steps = run.keep == "steps" and len(times) == 2
    nodes, states = _kept(run, pieces, times)
    drift = np.max([piece.run.measured for piece in pieces], axis=0)
    low, high = np.min([p.run.minima for p in pieces], axis=0), np.max([p.run.maxima for p in pieces], axis=0)
    jets = compiled.flow.state
    outcome, message = _outcome(run, last)
    reader = _Reader(compiled, run.binding, tuple(pieces) if steps else None, energy)
    return Trajectory(
        equations=run.equations,
        t=nodes,
        states=states,
        end=(float(last.run.t), np.array(last.run.y)),
        jets=jets,
        outcome=outcome,
        message=message,
        drift=Frozen(zip(compiled.labels, map(float, drift), strict=True)),
        extrema=Frozen({z.name: (float(a), float(b)) for z, a, b in zip(jets, low, high, strict=False)}),
        events=_met(run, pieces),
        counts=Frozen(
            {name: sum(int(getattr(p.run, name)) for p in pieces) for name in ("accepted", "rejected", "evaluations", "projections")}
        ),
        reader=reader,
    )


def _kept(run: _Run, pieces: Sequence[_Piece], times: Array) -> tuple[Array, Array]:
    if run.keep == "final":
        return np.array([float(pieces[-1].run.t)]), np.array([pieces[-1].run.y])
    parts = [(np.array(p.run.nodes), np.array(p.run.states)) for p in pieces]
    nodes = np.concatenate([t if k == 0 or len(times) > 2 else t[1:] for k, (t, _) in enumerate(parts)])
    states = np.concatenate([x if k == 0 or len(times) > 2 else x[1:] for k, (_, x) in enumerate(parts)])
    return nodes, states


def _outcome(run: _Run, piece: _Piece) -> tuple[Outcome, str]:
    status, index, t = piece.run.status, int(piece.run.index), float(piece.run.t)
    if status is dop853.Status.FINISHED:
        return Outcome.FINISHED, "the end of the interval was reached."
    if status is dop853.Status.WATCH and index >= 2:
        return Outcome.EVENT, f"{show(run.events[index - 2].expression)} = 0 at t = {t:.12g}."
    if status in (dop853.Status.WATCH, dop853.Status.FLOOR):
        return Outcome.LEFT_DOMAIN, f"the system Jacobian becomes singular at t = {t:.12g}."
    if status is dop853.Status.NOT_FINITE:
        return Outcome.LEFT_DOMAIN, f"the equations have no finite value near t = {t:.12g}."
    if status is dop853.Status.DRIFT:
        return Outcome.DRIFT_EXCEEDED, f"the state cannot be brought back to the constraints at t = {t:.12g}."
    if status is dop853.Status.INTERRUPTED:
        return Outcome.INTERRUPTED, f"stopped by the user at t = {t:.12g}."
    if status is dop853.Status.TOO_MANY_STEPS:
        return Outcome.STEP_TOO_SMALL, f"{run.max_steps} steps did not suffice; t = {t:.12g} was reached."
    return Outcome.STEP_TOO_SMALL, f"the step became too small at t = {t:.12g}."


def _met(run: _Run, pieces: Sequence[_Piece]) -> tuple[Event, ...]:
    """All roots of the user's expressions, in order; the terminal one last."""
    met = []
    for piece in pieces:
        jets = piece.compiled.flow.state
        for t, index, state in zip(piece.run.found_times, piece.run.found_indices, piece.run.found_states, strict=True):
            if index >= 2:
                values = Frozen({z.name: float(v) for z, v in zip(jets, state, strict=False)})
                met.append(Event(show(run.events[int(index) - 2].expression), float(t), values))
        if piece.run.status is dop853.Status.WATCH and piece.run.index >= 2:
            values = Frozen({z.name: float(v) for z, v in zip(jets, piece.run.y, strict=False)})
            met.append(Event(show(run.events[int(piece.run.index) - 2].expression), float(piece.run.t), values))
    return tuple(met)


def _interruptible(work: Any, flag: Any) -> Any:
    """Run compiled code in a thread, so that Ctrl-C can ask it to stop and what was computed comes back."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                flag[0] = 1


def _times(t: Any, where: str) -> Array:
    if t is None:
        raise UsageError("no interval is given.", where=where, hint="t=(0, 10)")
    try:
        times = np.array([number(v, {}, f"{where}, t", InitialError) for v in t])
    except TypeError:
        raise UsageError(f"t={t!r} is not an interval.", where=where, hint="t=(0, 10), or an array of times") from None
    steps = np.diff(times)
    if len(times) < 2 or not (np.all(steps > 0) or np.all(steps < 0)):
        hint = "t=(t0, t1) with t1 != t0, or increasing (or decreasing) times"
        raise InitialError("the times do not run from a beginning to an end.", where=where, hint=hint)
    return times


def _after(times: Array, at: float) -> Array:
    """The times that are still to come."""
    if len(times) == 2:
        return np.array([at, times[-1]])
    forward = times[-1] > times[0]
    return times[times > at] if forward else times[times < at]


def _positive(v: Any, name: str, where: str) -> float:
    found = number(v, {}, f"{where}, {name}", InitialError)
    if found <= 0:
        raise InitialError(f"{name} = {found:g} is not positive.", where=where, hint=f"{name}=1e-9")
    return found


def _events(given: Sequence[Any], equations: Equations, where: str) -> tuple[On, ...]:
    found = []
    for k, event in enumerate(given):
        event = event if isinstance(event, On) else On(event)
        expression = read_value(event.expression, equations.vocabulary, f"{where}, events[{k}]")
        found.append(On(expression, event.terminal, event.direction))
    return tuple(found)
