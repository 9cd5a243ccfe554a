"""The directions in which a motion is differentiated: parameters, and values that its start gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Expr, Symbol

from chetaev.core.declarations import read_value
from chetaev.core.errors import InitialError, NotationError, UsageError, about, did_you_mean
from chetaev.core.fixes import InPython, SetArgument, sentences
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.symbols import Jet, Multiplier, Place
from chetaev.mechanics.equations import Equations
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.prolongation import prolongation
from chetaev.numerics.graphs.binding import Binding, slope_of_number
from chetaev.numerics.start.attitude import read_element
from chetaev.numerics.start.data import read_state

_DIFFERENCE_STEP = 1e-3
"""Relative step of five-point differences of an orientation whose entries are texts with parameters: its fourth power is round-off."""


@dataclass(frozen=True)
class By:
    """One direction: a parameter, a jet that the start gives, or a component of the variation of a group element that it gives."""

    name: str
    parameter: Symbol | None = None
    jet: Jet | None = None
    group: GroupCoordinate | None = None
    component: int = 0
    """The index of the component of the variation."""

    @property
    def described(self) -> dict[str, Any]:
        """The direction as texts and numbers, for a file."""
        if self.parameter is not None:
            return {"name": self.name, "parameter": self.parameter.name}
        if self.jet is not None:
            return {"name": self.name, "jet": self.jet.name}
        assert self.group is not None  # noqa: S101 - one of the three is given
        return {"name": self.name, "group": self.group.name, "component": self.component}


def direction_of(given: Mapping[str, Any], equations: Equations) -> By:
    """The direction that `By.described` describes; a KeyError, ValueError or NotationError if the equations do not have it."""
    name = str(given["name"])
    if "parameter" in given:
        return By(name, {z.name: z for z in equations.system.parameters}[given["parameter"]])
    if "jet" in given:
        jet = read_value(given["jet"], equations.vocabulary, "slopes")
        if not isinstance(jet, Jet):
            raise ValueError(f"{given['jet']} is not a jet")
        return By(name, jet=jet)
    group = equations.system.groups[given["group"]]
    component = int(given["component"])
    if not 0 <= component < len(group.components):
        raise ValueError("a group has no such component")
    return By(name, group=group, component=component)


@dataclass(frozen=True)
class Directions:
    """All directions of a request, in its order."""

    several: tuple[By, ...]
    usual: Mapping[Jet, float] | None = None
    """Typical slopes of jets along directions that are combinations of initial values; None if each direction is a single value."""

    def __len__(self) -> int:
        return len(self.several)

    @property
    def parameters(self) -> tuple[Symbol | None, ...]:
        """The parameter of each direction; None for initial values."""
        return tuple(by.parameter for by in self.several)

    @property
    def names(self) -> tuple[str, ...]:
        """The names as given."""
        return tuple(by.name for by in self.several)

    def index(self, name: str, where: str) -> int:
        """The index of the direction `name`."""
        wanted = _spelled(name)
        for k, by in enumerate(self.several):
            if _spelled(by.name) == wanted:
                return k
        raise UsageError(
            f"the motion was not differentiated by {name}.",
            where=where,
            hint=(SetArgument("slopes", [*self.names, name]), ", as an argument of the run"),
        )


def read_directions(given: Any, equations: Equations, start: State | Mapping[str, Any], binding: Binding, where: str) -> Directions:
    """The directions that a user names; refuses values that the start does not give."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise UsageError(f"slopes={given!r} is not a list of names.", where=where, hint=SetArgument("slopes", ["a", "theta'"]))
    state = start if isinstance(start, State) else State(start)
    found = [_read(name, equations, state, binding, where) for name in given]
    names = [_spelled(by.name) for by in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"slopes: {twice[0]} is given twice.", where=about(where, "slopes", twice[0]), hint="give it once")
    return Directions(tuple(found))


def require_names(given: Sequence[Any], equations: Equations, start: Any, where: str) -> None:
    """Raise an error for a name that has no meaning in the system; values of the start are not needed."""
    fixed = start.fixed if isinstance(start, State) else start if isinstance(start, Mapping) else {}
    known = {z.name for z in equations.system.parameters} | set(equations.system.groups) | {_spelled(str(name)) for name in fixed}
    for name in [name for name in given if isinstance(name, str) and not _spelled(name).startswith("δ")]:
        text = _spelled(name)
        if text in known:
            continue
        try:
            read_value(text, equations.vocabulary, where)
        except NotationError:
            listed = " ".join(z.name for z in (*equations.system.parameters, *equations.unknowns))
            what = f"slopes: {name} is neither a parameter nor an initial value."
            raise UsageError(what, where=where, hint=sentences(did_you_mean(text, listed.split()), f"Known: {listed}")) from None


def _spelled(name: str) -> str:
    """A name in plain letters; a variation keeps its δ, which would be a Greek letter."""
    for mark in ("δ", "delta "):
        if name.startswith(mark):
            return f"δ{spell(name.removeprefix(mark))}"
    return spell(name)


def _read(given: Any, equations: Equations, start: State, binding: Binding, where: str) -> By:
    if not isinstance(given, str | Symbol):
        raise UsageError(f"slopes: {given!r} is not a name.", where=where, hint=SetArgument("slopes", ["a", "theta'"]))
    name = given if isinstance(given, str) else str(given.name)
    text = _spelled(name)
    parameters = {z.name: z for z in equations.system.parameters}
    if text in parameters:
        return By(name, parameters[text])
    if text.startswith("δ"):
        return _of_group(name, text[1:], equations, start, where)
    if text in equations.system.groups:
        components = " ".join(f"δ{q.base}" for q in equations.system.groups[text].components)
        raise UsageError(
            f"slopes: {name} is an element of a group, not a number.",
            where=about(where, "slopes", name),
            why="Elements vary along the components of their variation.",
            hint=f"slopes: {components}",
        )
    data = read_state(equations, start, binding, where, expressions=True)
    jet: Expr | None
    try:
        jet = read_value(text, equations.vocabulary, where)
    except NotationError:
        jet = next((z for z in (*data.fixed, *data.guess) if z.name == text), None)
    computed = isinstance(jet, Multiplier) and not _is_state(jet, equations)
    if jet in data.fixed and isinstance(jet, Jet) and not computed:
        return By(name, jet=jet)
    listed = " ".join([*parameters, *(z.name for z in data.fixed if not isinstance(z, Place))])
    hint = sentences(f"parameters and given values: {listed}.", did_you_mean(text, listed.split()))
    if jet in data.guess or (computed and jet in data.fixed):
        raise InitialError(
            f"slopes: {name} is a guess.",
            where=about(where, "slopes", name),
            why="A guess only selects a root; the start does not give it.",
            hint=hint,
        )
    if isinstance(jet, Jet):
        why = "It is completed from the constraints, or follows from the equations; a slope moves one given value and keeps the others."
        raise InitialError(f"slopes: the start gives no value of {name}.", where=about(where, "start", name), why=why, hint=hint)
    raise UsageError(f"slopes: {name} is neither a parameter nor an initial value.", where=about(where, "slopes", name), hint=hint)


def _is_state(multiplier: Multiplier, equations: Equations) -> bool:
    """Whether a multiplier is part of the state; other multipliers are computed, and given values of them are guesses."""
    system = prolongation(equations)
    return system is not None and multiplier in system.structure.state


def _of_group(name: str, component: str, equations: Equations, start: State, where: str) -> By:
    for group in equations.system.groups.values():
        for k, q in enumerate(group.components):
            if q.base == component:
                names = {spell(str(key)) for key in start.fixed}
                if group.name not in names and not {z.name for z in group.places} <= names:
                    what = f"slopes: the start gives no value of {group.name}."
                    raise InitialError(what, where=where, hint=(InPython(f'{{"{group.name}": ...}}'), " in the start"))
                return By(name, group=group, component=k)
    known = " ".join(f"δ{q.base}" for group in equations.system.groups.values() for q in group.components)
    raise UsageError(
        f"slopes: {name} is not a variation of a group element.",
        where=about(where, "slopes", name),
        hint=f"variations: {known}" if known else "an initial value is named as in the start",
    )


@dataclass(frozen=True)
class GivenSlopes:
    """The derivatives of given values by each direction: of jets, and of expressions whose values the start prescribes."""

    jets: Mapping[Jet, Array]
    demands: tuple[tuple[Expr, Array], ...]


def given_slopes(
    equations: Equations, start: State | Mapping[str, Any], binding: Binding, directions: Directions, where: str
) -> GivenSlopes:
    """The derivatives of the values that a start gives, texts with parameters included."""
    state = start if isinstance(start, State) else State(start)
    jets: dict[Jet, Array] = {}
    demands: list[tuple[Expr, Array]] = []
    names = dict(binding.parameters)
    for key, v in state.fixed.items():
        group = equations.system.groups.get(spell(str(key)))
        if group is not None:
            jets |= _element_slopes(group, v, binding, directions, where)
            continue
        data = read_state(equations, {key: 0.0}, binding, where, expressions=True)  # for its name
        slope = np.array([0.0 if p is None else slope_of_number(v, names, p, where) for p in directions.parameters])
        for z in data.fixed:
            jets[z] = slope + np.array([float(by.jet == z) for by in directions.several])
        demands += [(demand.expression, slope) for demand in data.demands]
    return GivenSlopes(jets, tuple(demands))


def _element_slopes(group: GroupCoordinate, given: Any, binding: Binding, directions: Directions, where: str) -> dict[Jet, Array]:
    """The derivatives of the stored numbers of a group element by each parameter; `start_slopes` has those along variations."""
    names = dict(binding.parameters)
    found: dict[Jet, Array] = {z: np.zeros(len(directions)) for z in group.places}
    texts = _texts(given)
    moving = [k for k, p in enumerate(directions.parameters) if p is not None and any(p.name in text for text in texts)]
    base = read_element(group, given, names, where) if moving else {}
    for k in moving:
        parameter = directions.parameters[k]
        assert parameter is not None  # noqa: S101 - chosen above
        size = _DIFFERENCE_STEP * max(abs(names[parameter]), 1.0)

        def at(steps: float, parameter: Symbol = parameter, size: float = size) -> Array:
            moved = read_element(group, given, {**names, parameter: names[parameter] + steps * size}, where)
            column = np.array([moved[z] for z in group.places])
            return -column if column @ np.array([base[z] for z in group.places]) < 0 else column

        slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * size)
        for z, v in zip(group.places, slope, strict=True):
            found[z][k] = v
    return found


def _texts(given: Any) -> list[str]:
    """The texts and expressions by which a user gives an element."""
    if isinstance(given, str | Expr):
        return [str(given)]
    if isinstance(given, np.ndarray) and given.dtype == object:
        given = given.tolist()
    return [text for part in given for text in _texts(part)] if isinstance(given, list | tuple) else []
