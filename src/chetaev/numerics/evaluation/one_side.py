"""Data that fit several sides of corners: |y| = 2 allows y = 2 and y = -2, and neither may be chosen silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.errors import InitialError, StateError, about
from chetaev.core.fixes import Guess
from chetaev.core.state import State
from chetaev.core.symbols import Input, Jet, jets_in
from chetaev.core.values import Undefined, value
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.start.completed import Completed, state_at
from chetaev.numerics.start.data import read_state

_MOST_CORNERS = 4
"""Corners of missing values up to which all combinations of signs are tried; with more, one sign is changed at a time."""


def state_on(
    switched: Switched, configuration: Configuration, start: State | Mapping[str, Any], binding: Binding, t: float, where: str
) -> Completed:
    """The data completed by the constraints of a configuration."""
    equations, bound = switched.equations(configuration), switched.binding(binding, configuration)
    start = _without_open_contacts(switched, configuration, start)
    own = Binding({z: bound.parameters[z] for z in equations.system.parameters}, bound.inputs)
    return state_at(equations, start, own, t, where)


def _without_open_contacts(switched: Switched, configuration: Configuration, start: Any) -> Any:
    """The data without the multipliers of open contacts, which the equations of this configuration do not contain."""
    apart = {switched.modes[k].unknown.name for k in switched.contacts if configuration[k] != SLIDING}
    if not apart:
        return start
    data = start if isinstance(start, State) else State(start)
    fixed, guess = ({name: v for name, v in part.items() if name not in apart} for part in (data.fixed, data.guess))
    return State(fixed, guess)


def require_one_side(
    switched: Switched, configuration: Configuration, start: State | Mapping[str, Any] | None, binding: Binding, t: float, where: str
) -> None:
    """Raise an InitialError if the missing values fit the data also on another side of their corners than that of `configuration`."""
    start = {} if start is None else start
    data = read_state(switched.original, start, binding, where, expressions=True)
    known = data.guess.keys() | data.fixed.keys()
    functions = [switched.smooth.system.charted(mode.function) for mode in switched.modes]
    missing = {k: jets_in(e) - jets_in(e, Input) - known for k, e in enumerate(functions)}
    corners = [k for k, mode in enumerate(switched.modes) if missing[k] and configuration[k] != SLIDING and not isinstance(mode, Direction)]
    for flipped in _changes(corners):
        other = tuple(-m if k in flipped else m for k, m in enumerate(configuration))
        try:
            found = state_on(switched, other, start, binding, t, where)
        except (InitialError, StateError):
            continue
        modes = {mode.symbol: float(m) for mode, m in zip(switched.modes, other, strict=True)}
        if all(_sign(functions[k], found, modes, binding, t) == other[k] for k in corners):
            raise _ambiguous(switched, flipped, sorted(set().union(*[missing[k] for k in flipped]), key=lambda z: z.name), found, where)


def _changes(corners: Sequence[int]) -> list[set[int]]:
    """The sets of corners whose signs are changed together."""
    if len(corners) > _MOST_CORNERS:
        return [{k} for k in corners]
    chosen = [{k for k, changed in zip(corners, some, strict=True) if changed} for some in product((False, True), repeat=len(corners))]
    return [some for some in chosen if some]


def _sign(function: Any, found: Completed, modes: Mapping[Symbol, float], binding: Binding, t: float) -> int:
    """The sign of a switching function at a completed state; 0 where it has no value, or depends on more than the state."""
    given = {**found.state, **modes}
    if not jets_in(function) - jets_in(function, Input) <= found.state.keys():
        return 0
    try:
        return int(np.sign(float(value(function, {**binding.at(function.free_symbols - given.keys(), t), **given}))))
    except Undefined:
        return 0


def _ambiguous(switched: Switched, flipped: set[int], missing: Sequence[Jet], found: Completed, where: str) -> InitialError:
    names = " ".join(z.name for z in missing)
    texts = ", ".join(switched.modes[k].text for k in sorted(flipped))
    values = ", ".join(f"{z.name} = {found.state[z]:.6g}" for z in missing)
    return InitialError(
        f"{names} {'is' if len(missing) == 1 else 'are'} missing, and both signs of {texts} fit the data.",
        where=about(where, "start", [z.name for z in missing]),
        why=f"One of the solutions is {values}.",
        hint=("give the value, or ", Guess(tuple(z.name for z in missing))),
    )
