"""The ends of pieces at contacts: impacts, and rest after smaller and smaller bounces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chetaev.core.symbols import Jet
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Touch
from chetaev.numerics.smooth_pieces.impacts import impact, impact_of_choice
from chetaev.numerics.smooth_pieces.momentum_jumps import Refused
from chetaev.numerics.smooth_pieces.piece import Setting
from chetaev.numerics.smooth_pieces.switching import Surfaces

_SETTLED = 1e-9
"""Time of all further bounces, relative to the duration of the run, below which a body stays on its contact if the bounces are lower than
the tolerance."""
_UNRESOLVED = 1e-12
"""Time of all further bounces, relative to the duration of the run, below which they cannot be resolved, and the body stays."""
LOWEST = 64 * float(np.finfo(float).eps)
"""Height of a bounce, relative to the terms of the gap or of the function of an event, below which it cannot be distinguished from none."""


@dataclass(frozen=True)
class Landing:
    """The state after an impact, a configuration with all touched contacts open, and the modes that are still to be chosen."""

    jets: Mapping[Jet, float]
    configuration: Configuration
    open_modes: tuple[int, ...]
    expected_in: float
    """The time after which the first contact is expected again."""
    touched: tuple[int, ...]
    """The contacts that may take part."""
    resting: frozenset[int]
    """The contacts that stay closed because their further bounces cannot be distinguished from none."""
    choice: Configuration
    """The contacts that take part in the impact, and the modes of friction in it."""


def touched_at(surfaces: Surfaces, here: Setting, t: float, jets: Mapping[Jet, float], met: int | None = None) -> list[int]:
    """The contacts that are closed, or whose gap vanishes and does not open; `met` is known to vanish."""
    vanishing = {*surfaces.vanishing(here, t, jets), *([] if met is None else [met])}
    found = []
    for k in surfaces.switched.contacts:
        closing = k in vanishing and surfaces.speed(here, k, t, jets) <= 0  # `speed` also records the speed
        if here.configuration[k] == SLIDING or k == met or closing:
            found.append(k)
    return found


def landed(surfaces: Surfaces, here: Setting, touched: Sequence[int], t: float, jets: Mapping[Jet, float]) -> Landing:
    """Return the state after an impact of the contacts `touched`; raise `Refused` if it is not determined."""
    bounce = _restitution(surfaces, here, touched, t, jets)
    after = impact(surfaces, here, touched, bounce, t, jets)
    free = _freed(surfaces, here, touched, t, after.jets)
    resting = {k for k in touched if after.speeds[k] > 0 and _settles(surfaces, free, k, after.speeds[k], bounce[k], t, after.jets)}
    if resting:
        after = impact(surfaces, here, touched, _bounces(bounce, resting), t, jets)
        free = _freed(surfaces, here, touched, t, after.jets)
    stays = [k for k in touched if after.speeds[k] == 0]
    modes = surfaces.switched.modes
    vanish = [k for k in surfaces.vanishing(free, t, after.jets) if k not in surfaces.switched.contacts and not modes[k].constant]
    returns = [_return(surfaces, free, k, after.speeds[k], t, after.jets) for k in touched if after.speeds[k] > 0]
    expected_in, open_modes = min(returns, default=np.inf), tuple(sorted({*stays, *vanish}))
    return Landing(after.jets, free.configuration, open_modes, expected_in, tuple(touched), frozenset(resting), after.choice)


def repeat_impact(surfaces: Surfaces, here: Setting, landing: Landing, t: float, jets: Mapping[Jet, float]) -> Mapping[Jet, float]:
    """Return the state after an impact with the contacts and modes of `landing`, from a state or with parameters close to those of it."""
    bounce = _bounces(_restitution(surfaces, here, landing.touched, t, jets), landing.resting)
    return impact_of_choice(surfaces, landing.choice, landing.touched, bounce, t, jets)


def _bounces(restitution: Mapping[int, float], resting: Collection[int]) -> dict[int, float]:
    """The coefficients of restitution, zero for contacts that stay closed."""
    return {k: 0.0 if k in resting else e for k, e in restitution.items()}


def _restitution(surfaces: Surfaces, here: Setting, touched: Sequence[int], t: float, jets: Mapping[Jet, float]) -> dict[int, float]:
    """The coefficients of restitution at a state before an impact."""
    contacts = [mode.contact for k in touched if isinstance(mode := surfaces.switched.modes[k], Touch)]
    values = surfaces.numbers(here, [surfaces.switched.read(c.restitution, here.configuration) for c in contacts], t, jets)
    for contact, e in zip(contacts, values, strict=True):
        if not 0 <= e <= 1:
            raise Refused(f"the coefficient of restitution of {contact.name} is {e:g}, and not between 0 and 1.")
    return dict(zip(touched, map(float, values), strict=True))


def _freed(surfaces: Surfaces, here: Setting, touched: Sequence[int], t: float, jets: Mapping[Jet, float]) -> Setting:
    """The setting with all touched contacts open, and modes that agree with the state; modes whose functions vanish keep a side."""
    modes = surfaces.switched.modes
    first = tuple(1 if k in touched else m or 1 if not isinstance(modes[k], Direction) else m for k, m in enumerate(here.configuration))
    there = surfaces.setting(first)
    values = surfaces.values(there, t, jets)
    left = {*touched, *surfaces.vanishing(there, t, jets), *surfaces.switched.implicit_modes, *surfaces.switched.contacts}
    left |= {k for k, mode in enumerate(modes) if isinstance(mode, Direction) or mode.constant}
    return surfaces.setting(tuple(m if k in left else int(np.sign(values[k])) or m for k, m in enumerate(first)))


def _settles(surfaces: Surfaces, free: Setting, k: int, speed: float, e: float, t: float, jets: Mapping[Jet, float]) -> bool:
    """Whether the time or the height of all further bounces of a contact cannot be distinguished from zero."""
    back = _return(surfaces, free, k, speed, t, jets)
    if not np.isfinite(back):
        return False
    height, whole = speed * back / 4, back / (1 - e) if e < 1 else np.inf
    low = height <= surfaces.tolerance * surfaces.largest(k)
    if whole <= (_SETTLED if low else _UNRESOLVED) * surfaces.span:
        return True
    return bool(height <= LOWEST * surfaces.size_of(free, k, t, jets))


def _return(surfaces: Surfaces, free: Setting, k: int, speed: float, t: float, jets: Mapping[Jet, float]) -> float:
    """The time until a gap that opens with `speed` closes again, by its acceleration; infinite if it does not."""
    pull = -surfaces.acceleration(free, k, t, jets)
    return 2 * speed / pull if pull > 0 else np.inf
