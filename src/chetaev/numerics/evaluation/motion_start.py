"""The beginning of a motion: completed initial data, and the side of every switching surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chetaev.core.errors import InitialError, StateError
from chetaev.core.fixes import Guess
from chetaev.core.state import State
from chetaev.core.symbols import Input, Jet, Multiplier, jets_in
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Mode, Touch
from chetaev.numerics.evaluation.evaluate import evaluate_from
from chetaev.numerics.evaluation.one_side import require_one_side, state_on
from chetaev.numerics.smooth_pieces.piece import ComponentState, Setting
from chetaev.numerics.smooth_pieces.surface_values import Jets
from chetaev.numerics.smooth_pieces.switching import TOO_LARGE, Choice, Surfaces
from chetaev.numerics.start.clear_states import state_at_once
from chetaev.numerics.start.completed import Completed, on_its_component
from chetaev.numerics.start.data import read_state
from chetaev.numerics.start.signs import signs_at


@dataclass(frozen=True)
class Start:
    """A setting and a state in it."""

    setting: Setting
    jets: Mapping[Jet, float]
    crawling: bool = False
    """Whether a body starts to move against planar friction; its direction then has few correct digits (`Place.crawling`)."""


def begin(surfaces: Surfaces, start: State | Mapping[str, Any] | None, t: float, where: str) -> Start:
    """Return the completed state with its modes; raise an InitialError if no side, or several sides, are possible."""
    known: dict[Configuration, dict[Jet, float]] = {}

    def jets(here: Setting) -> dict[Jet, float]:
        if here.configuration not in known:
            known[here.configuration] = _completed(here, _state(surfaces, here.configuration, start, t, where), t)
        return known[here.configuration]

    def first(configuration: Configuration) -> Setting:
        """Return the setting of the first configuration to try; the state decides it before anything is compiled."""
        found = _state(surfaces, configuration, start, t, where)
        if found.elsewhere:
            surfaces.component = ComponentState(t, found.state)
        here = surfaces.setting(configuration)
        known[configuration] = _completed(here, found, t)
        return here

    if not surfaces.switched.modes:
        clear = state_at_once(surfaces.switched.equations(()), {} if start is None else start, surfaces.binding, t, where, often=False)
        if clear is not None:
            here = surfaces.setting(())
            if here.flow.state == tuple(clear.state):
                return Start(here, clear.state)
        here = first(())
        return Start(here, jets(here))
    configuration = signs_at(surfaces.switched, surfaces.binding, start, t, where)
    try:
        first(configuration)
    except StateError:  # constraints may complete a speed to zero, where the force of planar friction has no value
        configuration = _at_rest(surfaces, configuration)
        if not any(map(_is_at_rest, surfaces.switched.modes, configuration)):
            raise
        first(configuration)
    configuration = _agreeing(surfaces, configuration, t, jets, where)
    here = surfaces.setting(configuration)
    _require_one_acceleration(surfaces, here, start, t, jets, where)
    require_one_side(surfaces.switched, configuration, start, surfaces.binding, t, where)
    met = surfaces.vanishing(here, t, jets(here))
    if surfaces.switched.contacts:
        met = _resting_on_contacts(surfaces, here, met, t, jets(here), where)
    if not met and not surfaces.switched.implicit_modes:
        return Start(here, jets(here))
    if surfaces.switched.implicit_modes or surfaces.switched.rough:
        return _with_signs_of_multipliers(surfaces, here, start, met, t, jets, where)
    names = ", ".join(surfaces.switched.modes[k].text for k in met)
    try:
        choice = surfaces.choose(configuration, met, t, jets)
        if len(choice.configurations) == 1:
            there = surfaces.setting(choice.configurations[0])
            return Start(there, jets(there))
    except InitialError:  # keep a given speed of almost zero: the motion itself comes to rest
        return Start(here, jets(here))
    if not choice.configurations and choice.reason == TOO_LARGE and (moving := _set_off(surfaces, here, met, t, jets)) is not None:
        return moving
    raise _refusal(choice, names, where)


def _agreeing(surfaces: Surfaces, configuration: Configuration, t: float, jets: Jets, where: str) -> Configuration:
    """Signs of the switching functions that agree with the state completed with these signs, from a first guess."""
    for _ in range(2 * len(configuration) + 2):
        here = surfaces.setting(configuration)
        signs = np.sign(surfaces.values(here, t, jets(here))).astype(int)
        open_modes = surfaces.vanishing(here, t, jets(here))
        left = {*open_modes, *surfaces.switched.implicit_modes, *surfaces.switched.contacts}
        wanted = tuple(m if k in left else int(s) or m for k, (s, m) in enumerate(zip(signs, configuration, strict=True)))
        if wanted == configuration:
            return configuration
        configuration = wanted
    raise InitialError("no choice of signs agrees with the data.", where=where, why="Each one leads to the opposite sign.")


def _refusal(choice: Choice, names: str, where: str) -> InitialError:
    """The error for a state on surfaces from which no motion starts, or several."""
    if choice.configurations:
        return InitialError(
            f"the motion from this state is not unique: {names} = 0.",
            where=where,
            why="The equations lead away from this surface to both sides.",
            hint=f"say which side: a state with {names} a little above or below zero",
        )
    if choice.decided:
        return InitialError(f"no motion starts here, where {names} = 0.", where=where, why=choice.reason, hint="another state")
    message = f"which motion starts here, where {names} = 0, is undecided."
    return InitialError(message, where=where, why=choice.reason, hint="a state a little above or below some of these surfaces")


def _is_at_rest(mode: Mode, m: int) -> bool:
    return isinstance(mode, Direction) and m == SLIDING


def _at_rest(surfaces: Surfaces, configuration: Configuration) -> Configuration:
    """A configuration in which all bodies under planar friction are at rest."""
    modes = zip(surfaces.switched.modes, configuration, strict=True)
    return tuple(SLIDING if isinstance(mode, Direction) else m for mode, m in modes)


def _resting_on_contacts(
    surfaces: Surfaces, here: Setting, met: Sequence[int], t: float, jets: Mapping[Jet, float], where: str
) -> tuple[int, ...]:
    """Return the modes whose functions vanish, of the contacts only those whose gap neither opens nor closes; refuse a negative gap.

    A motion that starts on a contact and moves into it begins with an impact.
    """
    switched = surfaces.switched
    values = surfaces.values(here, t, jets)
    for k in switched.contacts:
        if k not in met and values[k] < 0:
            mode = switched.modes[k]
            assert isinstance(mode, Touch)  # noqa: S101 - `contacts` lists these
            raise InitialError(
                f"{mode.contact} does not hold at the start.",
                where=where,
                why=f"The gap {mode.text} is {values[k]:.6g} there.",
                hint="a start on the other side of the contact",
            )
    return tuple(k for k in met if k not in switched.contacts or surfaces.speed(here, k, t, jets) == 0)


def _with_signs_of_multipliers(
    surfaces: Surfaces, here: Setting, start: State | Mapping[str, Any] | None, met: Sequence[int], t: float, jets: Jets, where: str
) -> Start:
    """Return the start with signs of multipliers that agree with the forces that they cause; a guess chooses between several."""
    switched = surfaces.switched
    choice = surfaces.choose(here.configuration, met, t, jets)
    found = choice.configurations
    if len(found) > 1:
        data = read_state(switched.original, {} if start is None else start, surfaces.binding, where, expressions=True)
        guessed = {**data.guess, **data.fixed}
        signs = {k: here.configuration[k] for k in switched.implicit_modes if jets_in(switched.modes[k].function) <= guessed.keys()}
        contacts = {k: switched.modes[k].unknown for k in switched.contacts}
        signs |= {k: SLIDING if guessed[z] > 0 else 1 for k, z in contacts.items() if z in guessed}
        found = tuple(c for c in found if all(c[k] == m for k, m in signs.items()))
    if len(found) == 1:
        there = surfaces.setting(found[0])
        return Start(there, jets(there))
    rest = [switched.modes[k].text for k in met if k not in switched.implicit_modes]
    place = f", where {', '.join(rest)} = 0" if rest else ""
    if not found and not choice.decided:
        raise InitialError(f"which motion starts here{place} is undecided.", where=where, why=choice.reason)
    if not found:
        raise StateError(f"no motion starts here{place}.", where=where, why=choice.reason, hint="another state, or less friction")
    names = sorted({z.name for k in switched.implicit_modes for z in jets_in(switched.modes[k].function, Multiplier)})
    names += [switched.modes[k].unknown.name for k in switched.contacts]
    raise StateError(
        f"{len(found)} motions start here{place}: {_signs_of(surfaces, found)}.",
        where=where,
        why="A force depends on the size of a multiplier, which depends on that force (Painleve's paradox).",
        hint=("say which one: ", Guess(tuple(names))),
    )


def _signs_of(surfaces: Surfaces, configurations: Sequence[Configuration]) -> str:
    """The configurations in words: `lambda1 > 0 or lambda1 < 0`."""
    modes, words = surfaces.switched.modes, {1: ">", -1: "<", SLIDING: "="}
    changing = [k for k in range(len(modes)) if len({c[k] for c in configurations}) > 1]
    return " or ".join(", ".join(f"{modes[k].text} {words[c[k]]} 0" for k in changing) for c in configurations)


def _set_off(surfaces: Surfaces, here: Setting, met: Sequence[int], t: float, jets: Jets) -> Start | None:
    """The start of a body that planar friction does not hold at rest."""
    direction = surfaces.switched.modes[met[0]]
    if len(met) > 1 or not isinstance(direction, Direction):
        return None
    there = surfaces.setting(tuple(1 if k == met[0] else m for k, m in enumerate(here.configuration)))
    moving = surfaces.resting.set_off(there, direction, t, jets(here))
    return None if moving is None else Start(there, moving, crawling=True)


def _require_one_acceleration(
    surfaces: Surfaces, here: Setting, start: State | Mapping[str, Any] | None, t: float, jets: Jets, where: str
) -> None:
    """Raise an InitialError if without a guess both signs of a corner of accelerations fit the data, as in x'' = 2*abs(x'') - 3."""
    switched = surfaces.switched
    data = read_state(switched.original, {} if start is None else start, surfaces.binding, where, expressions=True)
    known = data.guess.keys() | data.fixed.keys()
    for k, mode in enumerate(switched.modes):
        if k in switched.implicit_modes:
            continue  # `_with_signs_of_multipliers` compares all of their signs
        above = jets_in(mode.function) - set(here.flow.state) - jets_in(mode.function, Input)
        if not above or above <= known:
            continue
        other = surfaces.setting(tuple(-m if j == k else m for j, m in enumerate(here.configuration)))
        try:
            value = surfaces.values(other, t, jets(other))[k]
        except StateError:
            continue
        if int(np.sign(value)) == other.configuration[k]:
            names = " ".join(sorted(z.name for z in above))
            raise InitialError(
                f"the equations are not linear in {names}, and both signs of {mode.text} fit the data.",
                where=where,
                hint=("say which one: ", Guess((min(z.name for z in above),))),
            )


def _state(surfaces: Surfaces, configuration: Configuration, start: State | Mapping[str, Any] | None, t: float, where: str) -> Completed:
    """The data completed by the constraints of a configuration."""
    found = state_on(surfaces.switched, configuration, {} if start is None else start, surfaces.binding, t, where)
    return on_its_component(found)


def _completed(here: Setting, found: Completed, t: float) -> dict[Jet, float]:
    if not _clearly_determined(here, found, t):
        found = replace(found, state=evaluate_from(found).jets)  # raises with a reason if there is no motion
    return {z: found.state[z] for z in here.flow.state}


def _clearly_determined(here: Setting, found: Completed, t: float) -> bool:
    """Tell whether the system Jacobian has full rank at a state, the rates have values there, and all given values are part of the
    state.
    """
    system, state = found.problem.system, found.state
    if not found.regular or system.added or found.data.fixed.keys() - state.keys() or found.data.demands:
        return False
    if system.equations.multipliers:  # not among the rates: evaluate the rows once, so that an undefined one raises
        found.problem.numbers(system.stage(0), (), {**state, **dict.fromkeys(system.structure.top, 0.0)})
    rates = here.compiled.rhs(t, here.native(state, 0.0), here.parameters(t))
    return bool(np.isfinite(rates).all())
