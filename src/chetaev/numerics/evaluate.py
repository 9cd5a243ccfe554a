"""evaluate: accelerations and multipliers at a state; residual: how far given jets are from a motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr

from chetaev.analysis.ranks import Matrix, generic_rank, points_on
from chetaev.budget import OutOfTime, deadline
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import ChetaevError, InitialError, NotationError, StateError
from chetaev.model import Model
from chetaev.notation import parse_expression, show
from chetaev.numerics.binding import Binding, bind, number
from chetaev.numerics.initial import State, complete, least_norm, read_state
from chetaev.numerics.prolong import Prolongation, prolongation
from chetaev.symbols import Action, Coordinate, Input, Jet, Multiplier, jets_in
from chetaev.values import Tape, Undefined, value

_INCONSISTENT = 1e-8
_NULL = 1e-7


@dataclass(frozen=True)
class Evaluation(Mapping[str, float]):
    """Values by name: jets, multipliers, and any expression in them."""

    equations: Equations
    jets: Mapping[Jet, float]
    binding: Binding
    t: float

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
        return "\n".join(f"{name:<{width}}  {v: .15g}" for name, v in self.items())

    def _value(self, expression: Expr) -> float:
        missing = jets_in(expression) - self.jets.keys() - jets_in(expression, Input)
        if missing:
            raise NotationError(
                f"{sorted(z.name for z in missing)[0]} is not known here.", where=f"evaluation of {self.equations.system.label}"
            )
        return float(value(expression, {**self.binding.at(expression.free_symbols, self.t), **self.jets}))


def evaluate(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
) -> Evaluation:
    """All jets up to the accelerations, and the multipliers, at a state; of a model, at its own start unless another is given.

    Missing initial values are computed from the constraints where they enter linearly. At a state where the equations do not
    determine the motion a StateError says which unknown is left open.

    >>> from chetaev import DAlembert, System
    >>> knife = System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y' = x'*tan(theta)"])
    >>> now = evaluate(derive(knife, DAlembert()), {"x": 0, "y": 0, "theta": 0, "x'": 2, "theta'": 3})
    >>> now["y''"], now["lambda1"]
    (6.0, 6.0)
    """
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        start = model.start if start is None else start
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    if start is None:
        raise TypeError("evaluate needs a state")
    where = f"evaluate {equations.system.label}"
    binding = bind(equations.system, parameters, inputs, where)
    t = number(t, dict(binding.parameters), f"{where}, t", InitialError)
    system = prolongation(equations)
    if system is None:
        raise _no_structure(equations, where)
    data = read_state(equations, start, binding, where)
    jets = complete(system, data, binding, t, where)
    for level in range(_levels(system)):
        jets |= _solve_level(system, level, jets, data.guess, binding, t, where)
    _check_given(jets, data.fixed, where)
    return Evaluation(equations, _selected(system, jets), binding, t)


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
    tape = Tape([row.residual for row in equations.rows])
    point = {**binding.at(tape.symbols, t), **read.fixed, **read.guess}
    missing = sorted(z.name for z in tape.symbols if z not in point)
    if missing:
        raise InitialError(f"no value for {' '.join(missing)}.", where=where, hint="give every jet that occurs in the rows")
    try:
        return dict(zip([row.label for row in equations.rows], map(float, tape(point)), strict=True))
    except Undefined as cause:
        raise StateError(f"the equations have no finite value here ({cause}).", where=where) from None


def _wanted(system: Prolongation) -> dict[Jet, int]:
    """The order up to which each unknown is reported."""
    source = system.equations.system
    written = [source.lagrangian, source.dissipation, *source.forces.values(), *[row.residual for row in source.kinematic]]
    highest = max((z.order for e in written for z in jets_in(e, Coordinate)), default=0)
    least = {Coordinate: max(2, highest), Multiplier: int(system.equations.lowered.vakonomic), Action: 1}
    offsets = zip(system.structure.unknowns, system.structure.unknown_offsets, strict=True)
    return {z: max(least[type(z)], d if isinstance(z, Coordinate) else d - 1) for z, d in offsets}


def _levels(system: Prolongation) -> int:
    """How many levels of derivatives above the state are needed."""
    wanted = _wanted(system)
    offsets = zip(system.structure.unknowns, system.structure.unknown_offsets, strict=True)
    return max(1, *(wanted[z] - d + 1 for z, d in offsets))


def _solve_level(
    system: Prolongation, level: int, jets: Mapping[Jet, float], guess: Mapping[Jet, float], binding: Binding, t: float, where: str
) -> dict[Jet, float]:
    """The jets `level` above the top, from the rows differentiated as often."""
    pairs = system.stage(level)
    unknowns = [z.d(level) for z in system.structure.top]
    trial = {z: guess.get(z, 0.0) for z in unknowns}
    curved = level == 0 and any(e.has(*unknowns) for line in system.structure.jacobian for e in line)
    if curved and not any(z in guess for z in unknowns):
        names = ", ".join(f"{z.name!r}: ..." for z in unknowns if isinstance(z, Coordinate))
        raise InitialError(
            "the rows are not linear in their highest derivatives: there may be several accelerations.",
            where=where,
            hint=f"State(fixed, guess={{{names}}})",
        )
    for _ in range(60 if curved else 1):
        try:
            values, jacobian = system.numbers(pairs, unknowns, system.point(pairs, binding, t, {**jets, **trial}))
        except Undefined as cause:
            raise StateError(f"the equations have no finite value at this state ({cause}).", where=where, hint="another state") from None
        step, null = least_norm(jacobian, -values)
        _require_determined(system, pairs, unknowns, values, jacobian, step, null, {**jets, **trial}, binding, t, where)
        trial = {z: float(trial[z] + s) for z, s in zip(unknowns, step, strict=True)}
        if np.abs(step).max(initial=0.0) < 1e-14 * max(1.0, *map(abs, trial.values())):
            break
    return trial


def _require_determined(
    system: Prolongation,
    pairs: list[tuple[int, int]],
    unknowns: list[Jet],
    values: Matrix,
    jacobian: Matrix,
    step: Matrix,
    null: Matrix,
    point: Mapping[Jet, float],
    binding: Binding,
    t: float,
    where: str,
) -> None:
    """Refuse a state at which a coordinate is not determined; multipliers of redundant constraints may be."""
    if not null.shape[1]:
        return
    open_jets = [z for z, line in zip(unknowns, null, strict=True) if np.abs(line).max() > _NULL * np.abs(null).max()]
    left = values + jacobian @ step
    consistent = float(np.abs(left).max()) <= _INCONSISTENT * max(1.0, float(np.abs(values).max()))
    if consistent and all(isinstance(z, Multiplier) for z in open_jets) and not system.equations.lowered.vakonomic:
        return
    names = " ".join(z.name for z in open_jets) + (" is" if len(open_jets) == 1 else " are")
    locus = _locus(system, point, binding, t)
    if locus is None:
        raise StateError(
            f"{names} not determined: the system Jacobian is singular everywhere on the constraint manifold.",
            where=where,
            why="The equations contain a further constraint, or a free function, that no single row shows.",
            hint="this system needs the constraint algorithm",
        )
    at = f"at this state, where {locus} = 0" if locus else "at this state"
    raise StateError(
        f"{names} not determined {at}.",
        where=where,
        why="The system Jacobian is singular here and regular nearby.",
        hint="a state off this locus",
    )


def _locus(system: Prolongation, point: Mapping[Jet, float], binding: Binding, t: float) -> str | None:
    """A factor of the Jacobian's determinant that vanishes here; empty if none was found in time; None if it vanishes everywhere."""
    structure = system.structure
    points = points_on([system.row(*pair) for pair in system.hidden()], [])
    if generic_rank(structure.jacobian, points) < len(structure.rows):
        return None
    try:
        with deadline(3.0):
            determinant = sympy.factor(sympy.Matrix(structure.jacobian).det())
    except OutOfTime:
        return ""
    for factor in sympy.Mul.make_args(sympy.fraction(sympy.together(determinant))[0]):
        base = factor.base if factor.is_Pow else factor
        if base.free_symbols and abs(value(base, {**binding.at(base.free_symbols, t), **point})) < 1e-8:
            return show(base)
    return ""


def _check_given(jets: Mapping[Jet, float], fixed: Mapping[Jet, float], where: str) -> None:
    """Fixed values of jets above the state must agree with what the equations say."""
    for z, v in fixed.items():
        if z in jets and abs(jets[z] - v) > _INCONSISTENT * max(1.0, abs(v)):
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
