"""Initial data as the user gives them, by name: values of jets and group coordinates, and values demanded of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from sympy import Expr

from chetaev.core.declarations import read_value
from chetaev.core.errors import ChetaevError, InitialError, NotationError, about, did_you_mean, require_mapping
from chetaev.core.fixes import Advice, InPython, SetArgument, SetInitial, sentences
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.symbols import TIME, Input, Jet, Multiplier, Place, jets_in
from chetaev.mechanics.equations import Equations
from chetaev.numerics.flow.prolongation import Problem, Prolongation, prolongation
from chetaev.numerics.graphs.binding import Binding, number
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.start.attitude import read_element
from chetaev.numerics.start.conditions import Demand

_NAMES: Remembered[dict[str, Jet]] = Remembered(64)
"""The jets that texts of users name, by equations."""


@dataclass(frozen=True)
class Data:
    """Initial data read: values by jet, numbers or columns over members, and values demanded of expressions."""

    fixed: Mapping[Jet, Any]
    guess: Mapping[Jet, Any]
    demands: tuple[Demand, ...] = ()

    def on(self, system: Prolongation) -> Data:
        """Return the data for rows with a known state: multipliers outside the state are computed, so their values become guesses."""
        loose = {z: v for z, v in self.fixed.items() if isinstance(z, Multiplier) and z not in system.structure.state}
        return replace(self, fixed={z: v for z, v in self.fixed.items() if z not in loose}, guess={**self.guess, **loose})


def read_state(equations: Equations, start: State | Mapping[str, Any], binding: Binding, where: str, *, expressions: bool = False) -> Data:
    """Return the user's data with resolved names and numbers; `expressions` allows values of expressions too."""
    if not isinstance(start, State):
        require_mapping(start, "the state is", about(where, "start"), InPython('{"x": 0, "x\'": 1}'))
        start = State(fixed=start)
    fixed, demands = _read(equations, start.fixed, binding, where, expressions)
    guess, _ = _read(equations, start.guess, binding, where, False)
    both = [z.name for z in fixed if z in guess]
    if both:
        raise InitialError(f"{both[0]} is given both as fixed and as a guess.", where=about(where, "start", both[0]), hint="give it once")
    return Data(fixed, guess, tuple(demands))


def require_elements(problem: Problem, data: Data) -> None:
    """Raise an InitialError if a group coordinate has no fixed value: there is no default, and a guess cannot be moved."""
    for name, group in problem.system.equations.system.groups.items():
        if isinstance(group.group, MatrixGroup) and any(z in data.guess for z in group.places):
            raise InitialError(
                f"{name} is given as a guess.",
                where=about(problem.where, "start", name),
                why=f"A motion stays in the coset of its start, so that the entries of {name} cannot be moved one by one.",
                hint=f"{name} as a fixed value, and other data as guesses",
            )
        if any(z in problem.system.structure.state and z not in data.fixed and z not in data.guess for z in group.places):
            raise InitialError(
                f"no initial value for {name}.",
                where=about(problem.where, "start", name),
                why=f"{name} is an element of {group.word}.",
                hint=SetInitial((name,), group.group.example),
            )


def _read(
    equations: Equations, given: Mapping[str, Any], binding: Binding, where: str, expressions: bool
) -> tuple[dict[Jet, float], list[Demand]]:
    values: dict[Jet, float] = {}
    demands: list[Demand] = []
    if not given:
        return values, demands
    known = [z.base for z in equations.unknowns]
    names = _NAMES.get(equations, (), dict)
    key: Any = None
    try:
        for key, v in given.items():
            plain = names.get(key) if isinstance(key, str) else None
            if plain is not None and plain not in values and not demands:
                usual = type(v) is float and isfinite(v)
                values[plain] = v if usual else number(v, binding.parameters, f"{where}, {key}", InitialError)
                continue
            group = equations.system.groups.get(spell(str(key)))
            if group is not None:
                if any(z in values for z in group.places):
                    raise InitialError(f"{key} is given twice.", where=about(where, "start", str(key)), hint="give it once")
                values |= read_element(group, v, dict(binding.parameters), f"{where}, {key}")
                continue
            jet = _named(equations, key, where)
            moving = {z for z in jets_in(equations.system.charted(jet)) if z.base in known or isinstance(z, Place)}
            is_jet = isinstance(jet, Jet) and not isinstance(jet, Input) and bool(moving)
            if not is_jet and not (expressions and moving):
                hint: Advice = sentences(f"jets of {' '.join(known)}.", did_you_mean(str(key), known))
                if jet == TIME:
                    hint = SetArgument("t", v, "evaluate")
                raise InitialError(f"{key} is not an unknown of the motion.", where=about(where, "start", str(key)), hint=hint)
            if jet in values or any(d.expression == jet for d in demands):
                raise InitialError(
                    f"{key if not is_jet else jet.name} is given twice.", where=about(where, "start", str(key)), hint="give it once"
                )
            found = number(v, dict(binding.parameters), f"{where}, {key}", InitialError)
            if is_jet and isinstance(jet, Jet):
                values[jet] = found
                if isinstance(key, str):
                    names[key] = jet
            else:
                demands.append(Demand(equations.system.charted(jet), found))
    except ChetaevError as fault:
        fault.where = about(fault.where, "start", str(key))
        raise
    return values, demands


def _named(equations: Equations, key: Any, where: str) -> Expr:
    """Return the expression of a key; the error for an unknown name lists the state.

    A state of a motion is always a valid start, even if it contains rates of multipliers, which rows cannot contain.
    """
    try:
        return read_value(key, equations.vocabulary, where)
    except NotationError as error:
        system = prolongation(equations)
        for z in () if system is None else system.structure.state:
            if z.name == key:
                return z
        if system is not None and not error.hint:
            error.advice = (f"the state is {' '.join(equations.system.by_name(system.structure.state))}",)
        raise
