"""evaluate: accelerations and multipliers at a state; residual: errors of the rows for given jets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from sympy import Expr, Symbol

from chetaev.core.errors import InitialError, NotationError, StateError, UsageError, about
from chetaev.core.exact.constants import for_doubles
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.functions import corners_in
from chetaev.core.notation import parse_expression, show
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.waiting import setting_up
from chetaev.core.symbols import Input, Jet, jets_in
from chetaev.core.system import group_named
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.ranks.factored import Matrix, equilibrated, least_norm, open_jets
from chetaev.mechanics.tolerances import CONTRADICTION
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.driving.feedback import with_feedback
from chetaev.numerics.driving.schedule import at_time
from chetaev.numerics.evaluation.clear_values import clear_value
from chetaev.numerics.evaluation.many_digits import with_all_digits
from chetaev.numerics.evaluation.printed_numbers import ROUND_OFF_MULTIPLE, written
from chetaev.numerics.flow.local_rank import factored_at, require_clear, solver_at
from chetaev.numerics.flow.pole_rewriting import last_digits_changed
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation, square_prolongation
from chetaev.numerics.graphs.binding import Binding, bind, number
from chetaev.numerics.start.attitude import Array, matrices
from chetaev.numerics.start.clear_states import state_at_once
from chetaev.numerics.start.completed import Completed, on_its_component, state_at
from chetaev.numerics.start.data import read_state
from chetaev.numerics.start.state_faults import inconsistent, singular_here
from chetaev.numerics.verdict.branch_choice import Selection, chosen, several_at

_ROUND_OFF_OF_STATE = 2.0**-50
"""Relative change of a state by a few units in the last place."""
_SMALL_ROW = 1e-6
"""Smallest size, relative to the largest row, with which a residual is compared: the terms of smaller rows may be round-off of others."""


@dataclass(frozen=True)
class Sides:
    """The equations of a configuration of corners, without corners, and the values of their modes."""

    equations: Equations
    modes: Mapping[Symbol, float]


@public
@dataclass(frozen=True, repr=False)
class Evaluation(Mapping[str, float]):
    """Values by name: jets, multipliers, and any expression in them."""

    equations: Equations
    jets: Mapping[Jet, float]
    binding: Binding
    t: float
    undetermined: tuple[str, ...] = ()
    """Multipliers of redundant constraints: not unique, given with the least norm. Reactions are unique."""
    state: frozenset[Jet] = field(default=frozenset(), repr=False, compare=False)
    """The jets below those that the equations are solved for."""
    sides: Sides | None = None
    """For equations with corners: the configuration of the state."""
    slopes: Any = field(default=None, repr=False, compare=False)
    """Derivatives by the quantities that `slopes=` names (`chetaev.numerics.evaluation.slopes.SlopesAt`)."""

    def slope(self, name: str, by: str) -> float:
        """The derivative of a jet, a multiplier, `"energy"` or an expression by one of the `slopes` of `evaluate`."""
        where = f"evaluation of {self.equations.system.label}"
        if self.slopes is None:
            raise UsageError("the values have no slopes.", where=where, hint=SetArgument("slopes", [by], "ch.evaluate"))
        k = self.slopes.directions.index(by, where)
        jet = self._named.get(name)
        if jet is None and name == "energy" and name not in self.equations.vocabulary.names():
            return float(self.slopes.of(None, k))
        return float(self.slopes.of(parse_expression(name, self.equations.vocabulary, where) if jet is None else jet, k))

    def __getitem__(self, name: str) -> float:
        jet = self._named.get(name)
        if jet is not None:
            return self.jets[jet]
        return self._value(parse_expression(name, self.equations.vocabulary, f"evaluation of {self.equations.system.label}"))

    def __iter__(self) -> Iterator[str]:
        return (jet.name for jet in self.jets)

    def __len__(self) -> int:
        return len(self.jets)

    def reaction(self, coordinate: str) -> float:
        """The generalised reaction on a coordinate."""
        own = self.equations.reaction(coordinate)
        if self.sides is None or not corners_in(own):
            return self._value(own)
        return self._value(self.sides.equations.reaction(coordinate), self.sides.modes)

    def __str__(self) -> str:
        return written(self.equations.system, self.jets, self.undetermined, lambda small: _nearby(self, small))

    def __repr__(self) -> str:
        return str(self)

    def rotation(self, name: str) -> Array:
        """The matrix of a group coordinate."""
        group = group_named(self.equations.system, name, f"evaluation of {self.equations.system.label}")
        return matrices(group, np.array([self.jets[z] for z in group.places]))

    def _value(self, expression: Expr, modes: Mapping[Symbol, float] = MappingProxyType({})) -> float:
        expression = self.equations.system.charted(expression)
        missing = jets_in(expression) - self.jets.keys() - jets_in(expression, Input) - modes.keys()
        if missing:
            raise NotationError(
                f"{sorted(z.name for z in missing)[0]} is not known here.", where=f"evaluation of {self.equations.system.label}"
            )
        try:
            given = self.binding.at(expression.free_symbols - modes.keys(), self.t)
            return clear_value(expression, {**given, **self.jets, **modes})
        except Undefined as cause:
            where = f"evaluation of {self.equations.system.label}"
            raise StateError(f"{show(expression)} has no finite value here ({cause}).", where=where) from None

    @cached_property
    def _named(self) -> Mapping[str, Jet]:
        return {jet.name: jet for jet in self.jets}

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def get(self, name: str, default: Any = None) -> Any:
        """A value that was computed, or a default."""
        jet = self._named.get(name)
        return default if jet is None else self.jets[jet]


@public
def evaluate(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    branch: Any = None,
    gauge: Mapping[str, Any] | None = None,
    slopes: Sequence[str] | None = None,
) -> Evaluation:
    """All jets up to the accelerations, and the multipliers, at a state.

    Missing initial values are computed from constraints in which they enter linearly, or which have one root only.

    Args:
        equations: Equations, or a model, which has a start, an initial time and values; arguments given here take precedence.
        start: Initial data by name, or a `State` with guesses.
        parameters: Values of the parameters, by name.
        t: The time; 0 by default.
        inputs: Functions of time for the inputs, by name.
        branch: The manifold of the motion, where there are several: its number or its constraints (`"q3 = 0"`). A start on exactly one of
            them needs no choice.
        gauge: Functions of time for quantities that the equations leave free: `{"q2": "sin(t)"}`.
        slopes: Parameters, and values given in the start, by which the values are differentiated: `now.slope("lambda1", "a")`.

    Returns:
        The values, by name.

    Raises:
        InitialError: If initial data are missing or contradict the constraints.
        ParameterError: If a value of a parameter or an input is missing.
        StateError: If the equations do not determine an unknown at this state; the message names it.
        BranchError: If the branch is not clear.
        GaugeError: If a gauge is missing.
        UsageError: If `equations` is neither equations nor a model.

    >>> from chetaev import DAlembert, System
    >>> knife = System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y' = x'*tan(theta)"])
    >>> now = evaluate(derive(knife, DAlembert()), {"x": 0, "y": 0, "theta": 0, "x'": 2, "theta'": 3})
    >>> round(now["y''"], 12), round(now["lambda1"], 12)
    (6.0, 6.0)
    """
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        start = model.start if start is None else start
        t = model.t[0] if t is None else t
        branch, gauge = (own if given is None else given for own, given in zip(model.choice.values(), (branch, gauge), strict=True))
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    if not isinstance(equations, Equations):
        hint = Ask("evaluate", "ch.derive(system, principle), start, ...")
        raise UsageError(
            f"evaluate takes equations or a model, not {type(equations).__name__}.", where=about("evaluate", "equations"), hint=hint
        )
    if start is None:
        raise UsageError(
            "no state is given.",
            where=about(f"evaluate {equations.system.label}", "start"),
            hint=Ask("evaluate", 'equations, {"x": 0, ...}'),
        )
    where = f"evaluate {equations.system.label}"
    if inputs:
        equations, inputs = with_feedback(equations, inputs, where)
        inputs = at_time(inputs, t, where)
    binding = bind(equations.system, parameters, inputs, where)
    t = number(0.0 if t is None else t, dict(binding.parameters), f"{where}, t", InitialError)
    selection = Selection(start, t, branch, gauge, where, "evaluate", instant=True)
    with setting_up(None, equations.system.name or "evaluate"):
        now = evaluate_as(equations, binding, selection)
    if slopes is None:
        return now
    from chetaev.numerics.evaluation.slopes import slopes_at  # local: it imports `motion_start`, which imports this module

    meant = chosen(equations, binding, selection)
    return replace(now, slopes=slopes_at(meant.equations, meant.start, binding, t, slopes, where))


def evaluate_as(equations: Equations, binding: Binding, selection: Selection) -> Evaluation:
    """Evaluate for any function of the library, with its choice of branch and gauge."""
    clear = _evaluate_clear_state(equations, binding, selection)
    if clear is not None:
        return clear
    meant = chosen(equations, binding, selection)
    try:
        if meant.completed is not None and not smooth(meant.equations, Frozen(binding.inputs)).modes:
            return evaluate_from(meant.completed)
        return evaluate_at(meant.equations, meant.start, binding, selection.t, meant.where)
    except StateError as fault:
        unclear = several_at(equations, binding, selection) if selection.branch is None else None
        raise unclear or fault from None


def _evaluate_clear_state(equations: Equations, binding: Binding, selection: Selection) -> Evaluation | None:
    """The values if the state is given without doubt in every respect; else None."""
    if selection.branch is not None or selection.gauge is not None or smooth(equations, Frozen(binding.inputs)).modes:
        return None
    found = state_at_once(equations, selection.start, binding, selection.t, selection.where, digits=True)
    if found is None:
        return None
    jets = found.jets
    if not found.digits:
        system = square_prolongation(equations)
        assert system is not None  # noqa: S101 - a state was found with it
        jets = with_all_digits(Problem(system, binding, selection.t, selection.where), jets, _levels(system))
    return Evaluation(equations, jets, binding, selection.t, (), frozenset(found.state))


def evaluate_at(equations: Equations, start: State | Mapping[str, Any], binding: Binding, t: float, where: str) -> Evaluation:
    """Evaluate equations whose motion is determined, with bound parameters and inputs."""
    switched = smooth(equations, Frozen(binding.inputs))
    if switched.modes:
        from chetaev.numerics.evaluation.corners import evaluate_on_its_side  # local: it imports this module

        return evaluate_on_its_side(switched, start, binding, t, where)
    return evaluate_from(state_at(equations, start, binding, t, where))


def evaluate_from(found: Completed) -> Evaluation:
    """Evaluate the jets above a completed state."""
    problem, jets = on_its_component(found).problem, dict(found.state)
    system = problem.system
    for level in range(_levels(system)):
        jets |= _solved_at_level(problem, level, jets)
    jets = with_all_digits(problem, jets, _levels(system))
    _check_given(jets, found.data.fixed, frozenset(found.state), problem.where)
    return Evaluation(
        found.equations, _selected(system, jets), problem.binding, problem.t, system.undetermined, frozenset(system.structure.state)
    )


def _nearby(now: Evaluation, small: Sequence[Jet]) -> list[dict[Jet, float]]:
    """Recompute jets for states with perturbed last digits: those above the state, and those that the rest of the state determines."""
    state = {z: v for z, v in now.jets.items() if z in now.state}
    found: list[dict[Jet, float]] = []
    for seed in range(3):
        moved = last_digits_changed(state, seed)
        left_out = [{w: v for w, v in moved.items() if w != z} for z in small if z in state]
        for given in [moved, *left_out]:
            there = _tried(now, given)
            found.append({z: there[z] for z in small if z in there and z not in given})
    return found


def _tried(now: Evaluation, given: Mapping[Jet, float]) -> Mapping[Jet, float]:
    """Return the jets for another state; an empty mapping if it does not determine them."""
    try:
        start = {z.name: v for z, v in given.items()}
        return evaluate_at(now.equations, start, now.binding, now.t, f"evaluation of {now.equations.system.label}").jets
    except (InitialError, StateError):
        return {}


@public
def residual(
    equations: Equations,
    jets: Mapping[str, Any],
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """`lhs - rhs` of every row, which is zero on a motion.

    Args:
        equations: Equations.
        jets: Values of all jets and multipliers that occur in the rows, by name.
        parameters: Values of the parameters, by name.
        t: The time.
        inputs: Functions of time for the inputs, by name.

    Returns:
        The residuals by the labels of the rows.

    Raises:
        UsageError: If `equations` is not equations.
        InitialError: If a jet is missing.
        StateError: If a row or an input has no finite value.
    """
    if not isinstance(equations, Equations):
        hint = (Ask("residual", "derive(system, principle), jets"), ", or ", Ask("residual", "derive(form), jets"))
        raise UsageError(f"residual takes equations, not {type(equations).__name__}.", where=about("residual", "equations"), hint=hint)
    where = f"residual of {equations.system.label}"
    binding = bind(equations.system, parameters, inputs, where)
    read = read_state(equations, jets, binding, where)
    t = number(t, dict(binding.parameters), f"{where}, t", InitialError)
    tape = Tape([for_doubles(equations.system.charted(row.residual)) for row in equations.rows])
    point = {**_inputs_at(binding, tape, t, where), **read.fixed, **read.guess}
    missing = sorted(z.name for z in tape.symbols if z not in point)
    if missing:
        raise InitialError(
            f"no value for {' '.join(missing)}.", where=about(where, "jets", missing), hint="give every jet that occurs in the rows"
        )
    try:
        return dict(zip([row.label for row in equations.rows], map(float, tape(point)), strict=True))
    except Undefined as cause:
        raise StateError(f"the equations have no finite value here ({cause}).", where=where) from None


def _inputs_at(binding: Binding, tape: Tape, t: float, where: str) -> dict[Any, float]:
    try:
        return binding.at(tape.symbols, t)
    except Undefined:
        raise StateError(f"an input has no finite value at t = {t:g}.", where=where) from None


def _levels(system: Prolongation) -> int:
    """Return the number of derivative levels above the state that are needed."""
    wanted = system.reported
    offsets = zip(system.structure.unknowns, system.structure.unknown_offsets, strict=True)
    return max(1, *(wanted[z] - d + 1 for z, d in offsets))


def _solved_at_level(problem: Problem, level: int, jets: Mapping[Jet, float]) -> dict[Jet, float]:
    """The derivatives of order `level` of the tops, from the rows differentiated `level` times, which are linear in them."""
    pairs = problem.system.stage(level)
    unknowns = [z.d(level) for z in problem.system.structure.top]
    trial = dict.fromkeys(unknowns, 0.0)
    clear = solver_at(problem, pairs, unknowns, {**jets, **trial})
    if clear is not None:
        step = clear[1](-clear[0])
        left = problem.sparse_numbers(pairs, unknowns, {**jets, **dict(zip(unknowns, map(float, step), strict=True))})[0]
        return dict(zip(unknowns, map(float, step - clear[1](left)), strict=True))
    values, factored = factored_at(problem, pairs, unknowns, {**jets, **trial})
    require_clear(problem, pairs, unknowns, factored, {**jets, **trial})
    step, null, jacobian = factored.solved(-values), factored.null, factored.jacobian
    if null.shape[1] > (problem.system.generic_nullity or 0):
        raise singular_here(problem, open_jets(unknowns, null), {**jets, **trial})
    trial = {z: float(s) for z, s in zip(unknowns, step, strict=True)}
    left, _ = problem.numbers(pairs, unknowns, {**jets, **trial})
    if len(pairs) > len(unknowns) - null.shape[1] and _contradict(problem, pairs, jets, trial, left, values, jacobian):
        raise inconsistent(problem, pairs, left)
    better = factored.solved(-left)  # removes round-off
    return {z: float(trial[z] + s) for z, s in zip(unknowns, better, strict=True)}


def _contradict(
    problem: Problem,
    pairs: Sequence[Pair],
    jets: Mapping[Jet, float],
    trial: Mapping[Jet, float],
    left: Matrix,
    values: Matrix,
    jacobian: Matrix,
) -> bool:
    """Tell whether dependent rows have residuals above round-off.

    A residual is compared with the terms of its row, each row in its own units. Terms may cancel inside a row before they are visible here,
    so a large residual is checked by perturbing the last digits of the state and solving again: if it changes by as much as its size, it is
    round-off.
    """
    rows = equilibrated(jacobian, 0.0)[0]
    sizes = (np.abs(values) + np.abs(jacobian) @ np.abs(list(trial.values()))) / rows
    excess = np.abs(left) / rows - CONTRADICTION * np.maximum(sizes, _SMALL_ROW * sizes.max(initial=0.0))
    if not np.any(excess > 0):
        return False
    noise, unknowns = np.zeros(len(left)), list(trial)
    for seed in range(3):
        moved = {**jets, **last_digits_changed(jets, seed), **dict.fromkeys(unknowns, 0.0)}
        there, slopes = problem.numbers(pairs, unknowns, moved)
        moved |= {z: float(v) for z, v in zip(unknowns, least_norm(np.where(jacobian == 0, 0.0, slopes), -there)[0], strict=True)}
        noise = np.maximum(noise, np.abs(problem.numbers(pairs, unknowns[:0], moved)[0] - left))
    return bool(np.any((excess > 0) & (np.abs(left) > ROUND_OFF_MULTIPLE * noise)))


def _check_given(jets: Mapping[Jet, float], fixed: Mapping[Jet, float], state: frozenset[Jet], where: str) -> None:
    """Raise if fixed values contradict the equations; values of the state may differ by the round-off of all jets together."""
    round_off = _ROUND_OFF_OF_STATE * max(map(abs, jets.values()), default=0.0)
    largest: dict[tuple[type, int], float] = {}
    for z, v in jets.items():
        largest[type(z), z.order] = max(largest.get((type(z), z.order), 0.0), abs(v))
    for z, v in fixed.items():
        if z not in jets:
            raise InitialError(
                f"{z.name} is not among the jets that are computed here.", where=about(where, "start", z.name), hint="leave it out"
            )
        if abs(jets[z] - v) > max(CONTRADICTION * max(largest[type(z), z.order], abs(v)), round_off if z in state else 0.0):
            raise InitialError(
                f"{z.name} = {v:g} contradicts the equations, which give {jets[z]:.12g}.",
                where=about(where, "start", z.name),
                why=f"{z.name} is not a free initial value here.",
                hint="leave it out, or give it as a guess",
            )


def _selected(system: Prolongation, jets: Mapping[Jet, float]) -> dict[Jet, float]:
    """The wanted jets, in the order of the unknowns."""
    found: dict[Jet, float] = {}
    for z, order in system.reported.items():
        found |= {w: jets[w] for w in system.structure.at_order(z, 1, 0)}
        found |= {z.d(k): jets[z.d(k)] for k in range(1, order + 1)}
    return found
