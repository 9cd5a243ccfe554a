"""How an evaluation is printed: group elements as a user gives them, and round-off of a zero as zero. The values themselves stay.

Arithmetic on zeros leaves numbers such as 1e-63, and sums whose terms cancel leave numbers such as 1e-17. The first kind is told by its
size (`round_off`). The second is not: an acceleration of 1e-6 beside a distance of 1e13, which is that of a planet, is no round-off. It is
told by what it does when the last digits of the state change: then it changes by as much as it is large. So only what is computed can be
round-off; what the state is free to be is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.symbols import Jet
from chetaev.core.system import System
from chetaev.numerics.evaluation.round_off import sizes_beside
from chetaev.numerics.start.attitude import rotation_vector

_SMALL = 1e-12
"""Numbers below this part of the largest one may be round-off. Larger ones are shown even if no digit of theirs is certain."""
_ROUND_OFF = 30
_LAST_DIGITS = 4 * float(np.finfo(float).eps)
"""A quaternion has one length, not four: an angle below this is a change of its last digits."""

Values = Mapping[Jet, float]
Nearby = Callable[[Sequence[Jet]], Sequence[Values]]
"""Jets computed again for states with other last digits; those that are free are left out. Asked only if a number may be round-off."""


def written(system: System, jets: Values, undetermined: Collection[str], nearby: Nearby) -> str:
    """A line for each jet, and one for the place of each group coordinate."""
    shown, lines = _cleared(system, jets, nearby), {}
    owner = {z: group for group in system.groups.values() if all(z in jets for z in group.places) for z in group.places}
    for z, v in shown.items():
        if z in owner:
            lines[owner[z].name] = _element(owner[z], jets)
        else:
            lines[z.name] = f"{v: .15g}{'  not unique: least norm' if z.name in undetermined else ''}"
    width = max(map(len, lines), default=0)
    return "\n".join(f"{name:<{width}}  {line}" for name, line in lines.items())


def _cleared(system: System, jets: Values, nearby: Nearby) -> dict[Jet, float]:
    """The numbers, those that are round-off replaced by zero."""
    sizes = sizes_beside(jets, system)
    found = {z: sizes[z].cleared(v) + 0.0 for z, v in jets.items()}  # -0.0 + 0.0 is 0.0
    least = _SMALL * max((abs(v) for v in found.values() if np.isfinite(v)), default=0.0)
    small = [z for z, v in found.items() if 0 < abs(v) < least]
    elsewhere = nearby(small) if small else ()
    for z in small:
        noise = max((abs(there.get(z, jets[z]) - jets[z]) for there in elsewhere), default=0.0)
        if abs(jets[z]) <= _ROUND_OFF * noise:
            found[z] = 0.0
    return found


def _element(group: GroupCoordinate, jets: Values) -> str:
    """An element in a form in which a start may give it."""
    numbers = np.array([jets[z] for z in group.places])
    if "w" in group.group.places:
        vector = rotation_vector(numbers[-4:])
        numbers = np.concatenate([numbers[:-4], np.where(np.abs(vector) < _LAST_DIGITS, 0.0, vector)])
    digits = [f"{v + 0.0:.15g}" for v in numbers]
    text = f"{numbers[0] + 0.0: .15g}" if len(numbers) == 1 else f" [{', '.join(digits)}]"
    return f"{text}  {group.group.shown}"
