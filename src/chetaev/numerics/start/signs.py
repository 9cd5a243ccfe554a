"""The side of every switching surface on which given data lie."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.functions import Sign
from chetaev.core.state import State
from chetaev.core.symbols import Input
from chetaev.core.values import Tape, Undefined
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Mode, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.start.data import read_state


def signs_at(switched: Switched, binding: Binding, start: State | Mapping[str, Any] | None, t: float, where: str) -> Configuration:
    """Return the signs of the switching functions that the data determine, +1 for the others."""
    data = read_state(switched.original, {} if start is None else start, binding, where, expressions=True)
    point: dict[Symbol, float] = {**data.guess, **data.fixed}
    clear = _all_at_once(switched, binding, point, t)
    found = _one_by_one(switched, binding, point, t) if clear is None else clear
    return tuple(1 if isinstance(mode, Touch) else m for mode, m in zip(switched.modes, found, strict=True))


def apart_at(switched: Switched, binding: Binding, start: State | Mapping[str, Any], t: float, where: str) -> set[Mode]:
    """The contacts that are open according to the data: their gaps have positive values."""
    data = read_state(switched.original, start, binding, where, expressions=True)
    found = set()
    for k in switched.contacts:
        tape = Tape([switched.modes[k].function])
        point = {**_known(binding, tape.symbols, t), **data.guess, **data.fixed}
        with suppress(Undefined):
            found |= {switched.modes[k]} if tape.symbols <= point.keys() and next(iter(tape(point))) > 0 else set()
    return found


def _one_by_one(switched: Switched, binding: Binding, point: Mapping[Symbol, float], t: float) -> Configuration:
    """The signs if some functions vanish or have no value; each sign is found before those of functions that contain it."""
    tape = Tape(mode.function for mode in switched.modes)
    here = {**_known(binding, tape.symbols, t), **point}
    signs = []
    for mode, found in zip(switched.modes, tape.in_turn(here), strict=True):
        sign = 1 if found is None else int(np.sign(found)) or (SLIDING if isinstance(mode, Direction) else 1)
        here[mode.symbol] = float(sign)
        signs.append(sign)
    return tuple(signs)


def _known(binding: Binding, symbols: frozenset[Symbol], t: float) -> dict[Symbol, float]:
    """The values of parameters, time and inputs; an input that has no value at this time is left out."""
    found = binding.at(frozenset(), t)
    for z in symbols:
        if isinstance(z, Input):
            with suppress(Undefined):
                found |= binding.at(frozenset([z]), t)
    return found


def _all_at_once(switched: Switched, binding: Binding, point: Mapping[Symbol, float], t: float) -> Configuration | None:
    """The signs if all functions have values and none vanishes, else None; shared parts are evaluated once."""
    functions = {mode.symbol: mode.function for mode in switched.modes}
    tape = Tape(functions.values(), lambda z: Sign(functions[z], evaluate=False) if z in functions else None)
    try:
        here = {**binding.at(tape.symbols, t), **point}
        values = tape(here) if tape.symbols <= here.keys() else []
    except Undefined:
        return None
    return tuple(int(np.sign(v)) for v in values) if values and all(values) else None
