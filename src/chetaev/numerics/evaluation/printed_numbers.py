"""Numbers for printing: group elements in the form of initial data, and round-off of a zero as zero. The values are not changed.

Exact cancellation leaves zeros, and arithmetic on zeros leaves numbers such as 1e-63; sums whose terms cancel leave numbers such as 1e-17.
The size identifies the first kind. Units differ between coordinates, so a number can be compared only with other jets of the same
coordinate, or of the same group coordinate; numbers that are forty orders below the largest of these are cleared. The size does not
identify the second kind: a planet has an acceleration of 1e-6 at a distance of 1e13. Such a number is recomputed with perturbed last digits
of the state; it is round-off if it changes by as much as its size. So only computed values can be round-off; free values of the state are
printed unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Jet, Multiplier
from chetaev.core.system import System
from chetaev.numerics.start.attitude import rotation_vector
from chetaev.numerics.start.matrix_element import written_matrix

_SURELY_ZERO = 2.0**-104
"""Relative to the largest jet of the same coordinate: smaller numbers print as zero. It is the square of the rounding error; with less, a
product of two rounding errors would not print as zero."""
_TESTED_FOR_ROUND_OFF = 1e-12
"""Size, relative to the largest number, below which a number is tested for round-off; the test takes time."""
ROUND_OFF_MULTIPLE = 30
"""A number is round-off if it is at most this multiple of its change under perturbed last digits of the state."""
_LAST_DIGITS = 4 * float(np.finfo(float).eps)
"""Angle in radians that changes the last digits of a unit quaternion."""

Values = Mapping[Jet, float]
Nearby = Callable[[Sequence[Jet]], Sequence[Values]]
"""Recomputes jets for states with perturbed last digits, without free ones. Called only if a number may be round-off."""


def written(system: System, jets: Values, undetermined: Collection[str], nearby: Nearby) -> str:
    """A line for each jet, and one for each group element."""
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
    """The numbers, with zero in place of round-off."""
    sizes = sizes_beside(jets, system)
    found = {z: sizes[z].cleared(v) + 0.0 for z, v in jets.items()}  # -0.0 + 0.0 is 0.0
    least = _TESTED_FOR_ROUND_OFF * max((abs(v) for v in found.values() if np.isfinite(v)), default=0.0)
    small = [z for z, v in found.items() if 0 < abs(v) < least]
    elsewhere = nearby(small) if small else ()
    for z in small:
        noise = max((abs(there.get(z, jets[z]) - jets[z]) for there in elsewhere), default=0.0)
        if abs(jets[z]) <= ROUND_OFF_MULTIPLE * noise:
            found[z] = 0.0
    return found


def _element(group: GroupCoordinate, jets: Values) -> str:
    """An element in a form in which a start may give it."""
    numbers = np.array([jets[z] for z in group.places])
    if isinstance(group.group, MatrixGroup):
        return f" {written_matrix(group.group, numbers, 15)}  {group.group.shown}"
    if group.group.orthogonal == 3:
        vector = rotation_vector(numbers[-4:])
        numbers = np.concatenate([numbers[:-4], np.where(np.abs(vector) < _LAST_DIGITS, 0.0, vector)])
    digits = [f"{v + 0.0:.15g}" for v in numbers]
    text = f"{numbers[0] + 0.0: .15g}" if len(numbers) == 1 else f" [{', '.join(digits)}]"
    return f"{text}  {group.group.shown}"


@dataclass(frozen=True)
class Size:
    """The size of the quantities with which a number is compared."""

    largest: float

    def cleared(self, v: float) -> float:
        """Return `v`, or 0 if it is round-off relative to this size.

        >>> Size(2.0).cleared(-1.6e-43), Size(2.0).cleared(1e-30)
        (0.0, 1e-30)
        """
        return 0.0 if abs(v) < _SURELY_ZERO * self.largest else v


def sizes_beside(largest: Mapping[Jet, float], system: System) -> dict[Jet, Size]:
    """For each jet the largest absolute value among all jets of its coordinate; multipliers count as one coordinate."""
    owner = {z.base: name for name, group in system.groups.items() for z in (*group.places, *group.components)}

    def family(z: Jet) -> str:
        return "lambda" if isinstance(z, Multiplier) else owner.get(z.base, z.base)

    found: dict[str, float] = {}
    for z, v in largest.items():
        found[family(z)] = max(found.get(family(z), 0.0), abs(v) if abs(v) < float("inf") else 0.0)
    return {z: Size(found[family(z)]) for z in largest}
