"""evaluate for equations with corners: in the configuration with which simulate would begin at the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sympy import Add, Symbol

from chetaev.core.errors import InitialError, StateError
from chetaev.core.state import State
from chetaev.core.symbols import Input, jets_in
from chetaev.core.values import Tape, Undefined
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.evaluation.evaluate import Evaluation, Sides, evaluate_from
from chetaev.numerics.evaluation.motion_start import Start, begin
from chetaev.numerics.evaluation.one_side import require_one_side, state_on
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.smooth_pieces.planar_rest import CRAWLING
from chetaev.numerics.smooth_pieces.switching import Surfaces
from chetaev.numerics.start.signs import signs_at

_TOLERANCE = 1e-9
"""Relative distance up to which a state lies on a surface, as in a run with the default tolerance."""
_ON_SURFACE = 1e-12
"""Size of a switching function, relative to its terms, below which it counts as zero."""


def evaluate_on_its_side(switched: Switched, start: State | Mapping[str, Any], binding: Binding, t: float, where: str) -> Evaluation:
    """Evaluate a state. On switching surfaces take the side that the motion enters, or stay on them if the motion does."""
    configuration = signs_at(switched, binding, start, t, where)
    for _ in range(2 * len(configuration) + 2):
        try:
            found = _in(switched, configuration, start, binding, t, where)
        except (InitialError, StateError):
            break  # this side may be wrong: `begin` below finds the right one, or raises with the reason
        signs = _signs(switched, found, configuration)
        if signs is None:
            break
        if signs == configuration:
            require_one_side(switched, configuration, start, binding, t, where)
            return found
        configuration = signs
    begun = begin(Surfaces(switched, binding, _TOLERANCE, 1.0), start, t, where)
    _require_no_impact(switched, binding, begun, t, where)
    if not _sets_off(switched, begun):
        return _in(switched, begun.setting.configuration, start, binding, t, where)
    found = _in(switched, begun.setting.configuration, {z.name: v for z, v in begun.jets.items()}, binding, t, where)
    return replace(found, jets={z: 0.0 if abs(v) <= CRAWLING else v for z, v in found.jets.items()})


def _require_no_impact(switched: Switched, binding: Binding, begun: Start, t: float, where: str) -> None:
    """Raise a StateError if the state is an impact, where velocities jump and accelerations have no value."""
    surfaces, here, jets = Surfaces(switched, binding, _TOLERANCE, 1.0), begun.setting, begun.jets
    met = surfaces.vanishing(here, t, jets) if switched.contacts else ()
    for k in switched.contacts:
        if k in met and here.configuration[k] != SLIDING and surfaces.speed(here, k, t, jets) < 0:
            raise StateError(
                f"the motion hits {switched.modes[k].text} = 0 here.",
                where=where,
                why="Velocities jump at an impact, and accelerations have no value.",
                hint="simulate begins with the impact; or give a velocity that does not lead into the contact",
            )


def _sets_off(switched: Switched, begun: Start) -> bool:
    """Tell whether a body starts to move from rest against planar friction, where only the direction of its velocity is known."""
    modes = zip(switched.modes, begun.setting.configuration, strict=True)
    crawling = {c.velocity for mode, m in modes if isinstance(mode, Direction) and m != SLIDING for c in mode.components}
    return any(0 < abs(begun.jets.get(z, 0.0)) <= CRAWLING for z in crawling)


def _in(
    switched: Switched, configuration: Configuration, start: State | Mapping[str, Any], binding: Binding, t: float, where: str
) -> Evaluation:
    """The values in one configuration, under the names of the user's equations."""
    equations, bound = switched.equations(configuration), switched.binding(binding, configuration)
    found = evaluate_from(state_on(switched, configuration, start, binding, t, where))
    contacts = {mode.unknown: m for mode, m in zip(switched.modes, configuration, strict=True) if isinstance(mode, Touch)}
    unknown = {z for mode, m in zip(switched.modes, configuration, strict=True) if m == SLIDING for z in mode.unknowns} - contacts.keys()
    modes: dict[Symbol, float] = {z: v for z, v in bound.parameters.items() if z not in binding.parameters}
    modes |= {z: v for z, v in found.jets.items() if z in unknown}
    jets = {z: v for z, v in found.jets.items() if z not in unknown} | {z: 0.0 for z, m in contacts.items() if m != SLIDING}
    return replace(found, equations=switched.original, jets=jets, binding=binding, sides=Sides(equations, modes))


def _signs(switched: Switched, found: Evaluation, configuration: Configuration) -> Configuration | None:
    """Return the signs of the switching functions at the evaluated state; None if one of them vanishes, or is not known."""
    assert found.sides is not None  # noqa: S101 - `_in` sets it
    functions = [switched.smooth.system.charted(mode.function) for mode in switched.modes]
    settled = [mode.constant and not jets_in(function) for mode, function in zip(switched.modes, functions, strict=True)]
    moving = [function for function, known in zip(functions, settled, strict=True) if not known]
    if any(not jets_in(function) - jets_in(function, Input) <= found.state for function in moving):
        return None
    terms = [Add.make_args(function) for function in moving]
    tape = Tape([*moving, *[term for some in terms for term in some]])  # nested functions share their parts
    point = {**found.binding.at(tape.symbols - found.sides.modes.keys(), found.t), **found.jets, **found.sides.modes}
    try:
        values = iter(tape(point))
    except Undefined:
        return None
    here = [float(next(values)) for _ in moving]
    sizes = [max(abs(float(next(values))) for _ in some) for some in terms]
    if any(abs(v) <= _ON_SURFACE * size for v, size in zip(here, sizes, strict=True)):
        return None
    unsettled = [mode for mode, known in zip(switched.modes, settled, strict=True) if not known]
    if any(isinstance(mode, Touch) and v <= 0 for mode, v in zip(unsettled, here, strict=True)):
        return None
    signs = iter(here)
    return tuple(m if known else int(np.sign(next(signs))) for m, known in zip(configuration, settled, strict=True))
