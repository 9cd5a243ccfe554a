"""Derivatives of the values at a state by parameters and by given values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.evaluation.motion_start import begin
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.slopes.directions import Directions, given_slopes, read_directions
from chetaev.numerics.slopes.linear import at_state, of_energy, of_expressions
from chetaev.numerics.slopes.start_slopes import first_slopes
from chetaev.numerics.smooth_pieces.piece import Setting
from chetaev.numerics.smooth_pieces.switching import Surfaces

_TOLERANCE = 1e-12
"""Relative distance from a switching surface below which a state lies on it, as in runs with the smallest tolerance."""


@dataclass(frozen=True)
class SlopesAt:
    """The slopes of a completed state."""

    directions: Directions
    setting: Setting
    t: float
    native: Array
    state: Array
    """A line for each jet of the state, a column for each direction."""

    def of(self, e: Expr | None, by: int) -> float:
        """The slope of `e`, or of the energy for None, by the direction with index `by`."""
        here, parameters = self.setting, self.directions.parameters
        if e is None:
            function = of_energy(here, parameters)
        else:
            function = of_expressions(here, [here.switched.read(e, here.configuration)], parameters)
        return float(at_state(here, function, self.t, self.native, len(parameters)).along(self.state)[0, by])


def slopes_at(equations: Equations, start: State | Mapping[str, Any], binding: Binding, t: float, given: Any, where: str) -> SlopesAt:
    """Complete a start and differentiate it."""
    directions = read_directions(given, equations, start, binding, where)
    surfaces = Surfaces(smooth(equations, Frozen(binding.inputs)), binding, _TOLERANCE, 1.0, 1.0)
    begun = begin(surfaces, start, t, where)
    here = begun.setting.suited(t, begun.jets)
    moved = given_slopes(equations, start, binding, directions, where)
    found: dict[Jet, Array] = first_slopes(here, t, begun.jets, moved, directions, where)
    return SlopesAt(directions, here, t, here.native(begun.jets, 0.0), np.array([found[z] for z in here.flow.state]))
