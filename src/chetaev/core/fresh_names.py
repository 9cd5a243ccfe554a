"""New names for coordinates that are added to a system."""

from __future__ import annotations

from collections.abc import Sequence

from chetaev.core.symbols import Coordinate
from chetaev.core.system import System


def fresh(system: System, wanted: Sequence[str]) -> list[Coordinate]:
    """Coordinates with the wanted names, or with as many underscores appended as it takes to be new in the system."""
    taken = {*system.vocabulary.jets, *system.vocabulary.parameters, *system.where, *system.quasi, "t", "pi"}
    found = []
    for name in wanted:
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(Coordinate(name))
    return found
