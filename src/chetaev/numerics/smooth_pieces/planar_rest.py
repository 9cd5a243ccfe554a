"""Bodies under planar friction: the speed below which they are at rest, and the start of motion from rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from sympy import S

from chetaev.core.symbols import Jet
from chetaev.numerics.corners.mode import Direction
from chetaev.numerics.corners.planar_friction import setting_off
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.smooth_pieces.piece import Setting

_SPEED_OF_REST = 1.0
"""Speed, in units of the tolerance times a typical speed, below which a body is at rest. With a smaller number, steps within the tolerance
miss the rest; with a larger one, bodies stop too early."""
CRAWLING = 1e-140
"""Speed of a body that starts to move, of which only the direction matters; its square is still a normal double."""
_BESIDE_A_BELT = 1e-8
"""As `CRAWLING`, relative to the velocities of a body at rest on a belt or a turntable: half of the digits of a velocity are left for the
direction, and forces that depend on the velocity change in the other half only."""
_STOPPING_TIME = 1e-2
"""Fraction of the duration of a run in which friction would stop a body of the typical speed, which this defines."""
_STARTING_SPEED = 2.0
"""Speed of a body that starts to move, in units of the speed that counts as rest; it has to exceed 1, or the body would rest again."""


@dataclass
class Resting:
    """The speeds of one run that count as rest: the tolerance times a typical speed of the run."""

    tolerance: float
    span: float
    _fastest: dict[Direction, float] = field(default_factory=dict)
    """The square of the largest speed so far, or of a speed that friction could stop in a part of the run."""

    def level(self, direction: Direction) -> float:
        """The square of the speed that counts as rest."""
        return (_SPEED_OF_REST * self.tolerance) ** 2 * self._fastest.get(direction, 0.0)

    def watched(self, here: Setting, t: float, jets: Mapping[Jet, float], moving: list[Direction]) -> Setting:
        """A setting for a piece from a state, with the levels below which its speeds count as rest."""
        levels = {}
        for direction in moving:
            square = float(here.numbers(here.function([direction.function]), t, here.native(jets, 0.0))[0])
            self._note(direction, square, self._forces(here, direction, t, jets))
            levels[direction.symbol] = self.level(direction)
        return replace(here, binding=Binding({**here.binding.parameters, **levels}, here.binding.inputs)) if levels else here

    def _note(self, direction: Direction, square: float, forces: _Forces) -> None:
        size = float(np.abs(np.concatenate([forces.given, forces.resisting.ravel()])).max())
        stopped = float(forces.weights.max()) * (_STOPPING_TIME * self.span * size) ** 2
        known = [v for v in (square, stopped, self._fastest.get(direction, 0.0)) if np.isfinite(v)]
        self._fastest[direction] = max(known, default=0.0)

    def stilled(self, here: Setting, direction: Direction, t: float, jets: Mapping[Jet, float]) -> dict[Jet, float]:
        """The state with this speed set to zero."""
        return self._moving(here, direction, t, jets, np.zeros(len(direction.components)))

    def set_off(self, here: Setting, direction: Direction, t: float, jets: Mapping[Jet, float]) -> dict[Jet, float] | None:
        """Return the state just after a body at rest starts to move; None if it stays at rest."""
        forces = self._forces(here, direction, t, jets)
        unit = setting_off(forces.given, forces.resisting, forces.weights)
        if unit is None:
            return None
        self._note(direction, 0.0, forces)
        return self._moving(here, direction, t, jets, max(_STARTING_SPEED * np.sqrt(self.level(direction)), CRAWLING) * unit)

    def _moving(self, here: Setting, direction: Direction, t: float, jets: Mapping[Jet, float], forms: Array) -> dict[Jet, float]:
        """Return the state with the values `forms` of the forms whose squares make up the speed."""
        ends = [c.velocity_for(value) for value in (S.Zero, S.One) for c in direction.components]
        zero, one = here.numbers(here.function(ends), t, here.native(jets, 0.0)).reshape(2, -1)
        new = zero + (one - zero) * forms
        return {**jets, **{c.velocity: float(v) for c, v in zip(direction.components, new, strict=True)}}

    def _forces(self, here: Setting, direction: Direction, t: float, jets: Mapping[Jet, float]) -> _Forces:
        """The accelerations of the forms at rest, affine in the unit vector."""
        equations, n = here.flow.system.equations, len(direction.components)
        rates = here.function([equations.total(c.form) for c in direction.components])
        weights = here.numbers(here.function([c.weight for c in direction.components]), t, here.native(jets, 0.0))
        given, resisting = np.zeros(n), np.zeros((n, n))
        rest = self._moving(here, direction, t, jets, np.zeros(n))
        crawl = max(CRAWLING, _BESIDE_A_BELT * max(abs(rest[c.velocity]) for c in direction.components))
        for j in range(n):
            along = np.eye(n)[j] / np.sqrt(weights[j])
            ways = [self._moving(here, direction, t, jets, side * crawl * along) for side in (1, -1)]
            forward, back = (here.numbers(rates, t, here.native(way, 0.0)) for way in ways)
            given += (forward + back) / (2 * n)
            resisting[:, j] = -(forward - back) / (2 * along[j])
        return _Forces(given, resisting, weights)


@dataclass(frozen=True)
class _Forces:
    """Accelerations given - resisting @ n for a unit vector n, sum of weights*n^2 = 1."""

    given: Array
    resisting: Array
    weights: Array
