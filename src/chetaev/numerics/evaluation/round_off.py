"""Numbers for printing: certain round-off of a zero is shown as zero.

Exact cancellation leaves zeros, and arithmetic on zeros leaves numbers such as 1e-63. Units differ between coordinates, so a number can be
compared only with other jets of the same coordinate, or of the same group coordinate. Numbers that are forty orders below the largest of
these are cleared, and only for printing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chetaev.core.symbols import Jet, Multiplier
from chetaev.core.system import System

_CERTAIN = 1e-40
"""Relative to the largest jet of the same coordinate: smaller numbers print as zero. Round-off of nonzero terms is never that small."""


@dataclass(frozen=True)
class Size:
    """The largest of the quantities with which a number is compared."""

    largest: float

    def cleared(self, v: float) -> float:
        """Return the number, or 0 if it is round-off relative to them.

        >>> Size(2.0).cleared(-1.6e-43), Size(2.0).cleared(1e-30)
        (0.0, 1e-30)
        """
        return 0.0 if abs(v) < _CERTAIN * self.largest else v


def sizes_beside(largest: Mapping[Jet, float], system: System) -> dict[Jet, Size]:
    """For each jet the largest absolute value among all jets of its coordinate; multipliers count as one coordinate."""
    owner = {z.base: name for name, group in system.groups.items() for z in (*group.places, *group.components)}

    def family(z: Jet) -> str:
        return "lambda" if isinstance(z, Multiplier) else owner.get(z.base, z.base)

    found: dict[str, float] = {}
    for z, v in largest.items():
        found[family(z)] = max(found.get(family(z), 0.0), abs(v) if abs(v) < float("inf") else 0.0)
    return {z: Size(found[family(z)]) for z in largest}
