"""evaluate: accelerations and multipliers at a state; residual: how far given jets are from a motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr

from chetaev.analysis.ranks import Matrix
from chetaev.analysis.structure import structure
from chetaev.budget import deadline
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import ChetaevError, InitialError, NotationError, StateError, UsageError
from chetaev.model import Model
from chetaev.notation import parse_expression, show
from chetaev.numerics.binding import Binding, bind, number
from chetaev.numerics.initial import Data, State, complete, read_state
from chetaev.numerics.prolong import Pair, Problem, Prolongation, least_norm, open_jets, prolongation
from chetaev.symbols import Action, Coordinate, Input, Jet, Multiplier, jets_in
from chetaev.values import Tape, Undefined, value

_INCONSISTENT = 1e-8
_ON_LOCUS = 1e-8
_SMALL_ROW = 1e-6


@dataclass(frozen=True, repr=False)
class Evaluation(Mapping[str, float]):
    """Values by name: jets, multipliers, and any expression in them."""

    equations: Equations
    jets: Mapping[Jet, float]
    binding: Binding
    t: float
    undetermined: tuple[str, ...] = ()
    """Multipliers of redundant constraints: not unique, given with the least norm. Reactions are unique."""

    def __getitem__(self, name: str) -> float:
        for jet, v in self.jets.items():
            if jet.name == name:
                return v
        return self._value(parse_expression(name, self.equations.vocabulary, f"evaluation of {self.equations.system.label}"))

    def __iter__(self) -> Iterator[str]:
        return (jet.name for jet in self.jets)

    def __len__(self) -> int:
        return len(self.jets)

    def reaction(self, coordinate: str) -> float:
        """The generalised reaction on a coordinate."""
        return self._value(self.equations.reaction(coordinate))

    def __str__(self) -> str:
        width = max(len(name) for name in self)
        note = "  not unique: least norm"
        return "\n".join(f"{name:<{width}}  {v: .15g}{note if name in self.undetermined else ''}" for name, v in self.items())

    def __repr__(self) -> str:
        return str(self)

    def _value(self, expression: Expr) -> float:
        missing = jets_in(expression) - self.jets.keys() - jets_in(expression, Input)
        if missing:
            raise NotationError(
                f"{sorted(z.name for z in missing)[0]} is not known here.", where=f"evaluation of {self.equations.system.label}"
            )
        try:
            return float(value(expression, {**self.binding.at(expression.free_symbols, self.t), **self.jets}))
        except Undefined as cause:
            where = f"evaluation of {self.equations.system.label}"
            raise StateError(f"{show(expression)} has no finite value here ({cause}).", where=where) from None

    def __contains__(self, name: object) -> bool:
        return any(jet.name == name for jet in self.jets)

    def get(self, name: str, default: Any = None) -> Any:
        """A value that was computed, or a default."""
        return next((v for jet, v in self.jets.items() if jet.name == name), default)


def evaluate(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Evaluation:
    """All jets up to the accelerations, and the multipliers, at a state and a time (0 if none is given).

    A model brings its own start, initial time and values; what is given here takes precedence.

    Missing initial values are computed from the constraints where they enter linearly. At a state where the equations do not
    determine the motion a StateError says which unknown is left open.

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
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    if not isinstance(equations, Equations):
        hint = "evaluate(ch.derive(system, principle), start, ...)"
        raise UsageError(f"evaluate takes equations or a model, not {type(equations).__name__}.", where="evaluate", hint=hint)
    if start is None:
        raise UsageError("no state is given.", where=f"evaluate {equations.system.label}", hint='evaluate(equations, {"x": 0, ...})')
    where = f"evaluate {equations.system.label}"
    binding = bind(equations.system, parameters, inputs, where)
    t = number(0.0 if t is None else t, dict(binding.parameters), f"{where}, t", InitialError)
    system = prolongation(equations)
    if system is None:
        raise _no_structure(equations, where)
    if system.generic_nullity is None:
        raise _singular_everywhere(system, where)
    data = _with_multipliers_guessed(read_state(equations, start, binding, where), system)
    problem = Problem(system, binding, t, where)
    jets = complete(problem, data)
    for level in range(_levels(system)):
        jets |= _solved_at_level(problem, level, jets)
    _check_given(jets, data.fixed, where)
    return Evaluation(equations, _selected(system, jets), binding, t, system.undetermined)


def residual(
    equations: Equations,
    jets: Mapping[str, Any],
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """`lhs - rhs` of every row, by label, for jets and multipliers given by name: zero on a motion."""
    where = f"residual of {equations.system.label}"
    binding = bind(equations.system, parameters, inputs, where)
    read = read_state(equations, jets, binding, where)
    t = number(t, dict(binding.parameters), f"{where}, t", InitialError)
    tape = Tape([row.residual for row in equations.rows])
    point = {**_inputs_at(binding, tape, t, where), **read.fixed, **read.guess}
    missing = sorted(z.name for z in tape.symbols if z not in point)
    if missing:
        raise InitialError(f"no value for {' '.join(missing)}.", where=where, hint="give every jet that occurs in the rows")
    try:
        return dict(zip([row.label for row in equations.rows], map(float, tape(point)), strict=True))
    except Undefined as cause:
        raise StateError(f"the equations have no finite value here ({cause}).", where=where) from None


def _inputs_at(binding: Binding, tape: Tape, t: float, where: str) -> dict[Any, float]:
    try:
        return binding.at(tape.symbols, t)
    except Undefined:
        raise StateError(f"an input has no finite value at t = {t:g}.", where=where) from None


def _with_multipliers_guessed(data: Data, system: Prolongation) -> Data:
    """Multipliers that are not part of the state are found, not given: a value is at most a guess."""
    loose = {z: v for z, v in data.fixed.items() if isinstance(z, Multiplier) and z not in system.structure.state}
    return Data({z: v for z, v in data.fixed.items() if z not in loose}, {**data.guess, **loose})


def _wanted(system: Prolongation) -> dict[Jet, int]:
    """The order up to which each unknown is reported."""
    source = system.equations.system
    written = [source.lagrangian, source.dissipation, *source.forces.values(), *[row.residual for row in source.kinematic]]
    written += [e for row in source.variational or () for e in row.coefficients.values()]
    highest = max((z.order for e in written for z in jets_in(e, Coordinate)), default=0)
    least = {Coordinate: max(2, highest), Multiplier: int(system.equations.lowered.vakonomic), Action: 1}
    offsets = zip(system.structure.unknowns, system.structure.unknown_offsets, strict=True)
    return {z: max(least[type(z)], d if isinstance(z, Coordinate) else d - 1) for z, d in offsets}


def _levels(system: Prolongation) -> int:
    """How many levels of derivatives above the state are needed."""
    wanted = _wanted(system)
    offsets = zip(system.structure.unknowns, system.structure.unknown_offsets, strict=True)
    return max(1, *(wanted[z] - d + 1 for z, d in offsets))


def _solved_at_level(problem: Problem, level: int, jets: Mapping[Jet, float]) -> dict[Jet, float]:
    """The jets `level` above the top, from the rows differentiated as often; the rows are linear in them."""
    pairs = problem.system.stage(level)
    unknowns = [z.d(level) for z in problem.system.structure.top]
    trial = dict.fromkeys(unknowns, 0.0)
    values, jacobian = problem.numbers(pairs, unknowns, {**jets, **trial})
    step, null = least_norm(jacobian, -values)
    if null.shape[1] > (problem.system.generic_nullity or 0):
        raise _singular_here(problem, open_jets(unknowns, null), {**jets, **trial})
    sizes = np.abs(values) + np.abs(jacobian) @ np.abs(step)
    allowed = _INCONSISTENT * np.maximum(sizes, _SMALL_ROW * sizes.max(initial=0.0))
    trial = {z: float(s) for z, s in zip(unknowns, step, strict=True)}
    left, _ = problem.numbers(pairs, unknowns, {**jets, **trial})
    if np.any(np.abs(left) > allowed):
        raise _inconsistent(problem, pairs, left)
    better, _ = least_norm(jacobian, -left)  # removes round-off
    return {z: float(trial[z] + s) for z, s in zip(unknowns, better, strict=True)}


def _singular_everywhere(system: Prolongation, where: str) -> StateError:
    return StateError(
        "the equations do not determine the accelerations: the system Jacobian is singular everywhere on the constraint manifold.",
        where=where,
        why="They contain a further constraint, or a free function, that no single row shows.",
        hint=f"{system.equations.system.label} needs the constraint algorithm; ch.derive and ch.residual work",
    )


def _singular_here(problem: Problem, jets: Sequence[Jet], point: Mapping[Jet, float]) -> StateError:
    names = " ".join(z.name for z in jets) + (" is" if len(jets) == 1 else " are")
    locus = _locus(problem, point)
    return StateError(
        f"{names} not determined at this state{f', where {locus} = 0' if locus else ''}.",
        where=problem.where,
        why="The system Jacobian is singular here and regular nearby.",
        hint="a state off this locus",
    )


def _inconsistent(problem: Problem, pairs: Sequence[Pair], left: Matrix) -> StateError:
    worst = int(np.argmax(np.abs(left)))
    return StateError(
        f"no acceleration satisfies all rows here: {problem.system.label(pairs[worst])} is left with {left[worst]:.3g}.",
        where=problem.where,
        why="Constraints that depend on each other make demands that cannot be met together.",
        hint="ch.classify shows which rows are redundant",
    )


def _locus(problem: Problem, point: Mapping[Jet, float]) -> str:
    """A factor of the Jacobian's determinant that vanishes at the state; empty if none was found in time."""
    determinant = sympy.S.One
    with deadline(3.0):
        symbolic = structure(problem.system.equations)
        determinant = sympy.factor(sympy.Matrix(symbolic.jacobian).det()) if symbolic else sympy.S.One
    for factor in sympy.Mul.make_args(sympy.fraction(sympy.together(determinant))[0]):
        base = factor.base if factor.is_Pow else factor
        if base.free_symbols:
            terms = Tape(sympy.Add.make_args(base))
            parts = terms({**problem.binding.at(terms.symbols, problem.t), **point})
            alone = len(parts) == 1 and abs(parts[0]) < _ON_LOCUS
            if alone or (len(parts) > 1 and abs(sum(parts)) <= _ON_LOCUS * max(map(abs, parts))):
                return show(base)
    return ""


def _check_given(jets: Mapping[Jet, float], fixed: Mapping[Jet, float], where: str) -> None:
    """Fixed values of jets above the state must agree with what the equations say."""
    for z, v in fixed.items():
        if z not in jets:
            raise InitialError(f"{z.name} is beyond what is computed here.", where=where, hint="leave it out")
        if abs(jets[z] - v) > _INCONSISTENT * max(1.0, abs(v)):
            raise InitialError(
                f"{z.name} = {v:g} contradicts the equations, which give {jets[z]:.12g}.",
                where=where,
                why=f"{z.name} is not a free initial value here.",
                hint="leave it out, or give it as a guess",
            )


def _selected(system: Prolongation, jets: Mapping[Jet, float]) -> dict[Jet, float]:
    """The wanted jets, in the order of the unknowns."""
    return {z.d(k): jets[z.d(k)] for z, order in _wanted(system).items() for k in range(order + 1)}


def _no_structure(equations: Equations, where: str) -> ChetaevError:
    rows, unknowns = equations.counts
    if rows != unknowns:
        return StateError(
            f"{rows} equations for {unknowns} unknowns: {'over' if rows > unknowns else 'under'}determined.",
            where=where,
            why="Accelerations are computed for as many equations as unknowns.",
            hint="add or remove variational rows, or analyse the equations first",
        )
    return StateError(
        "the rows cannot be assigned to the unknowns one by one.",
        where=where,
        why="Some unknowns occur in too few rows: the equations leave a free function, or contradict each other.",
        hint="this system needs the constraint algorithm",
    )
