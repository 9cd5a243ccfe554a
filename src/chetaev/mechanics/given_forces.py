"""Systems whose forces are known from the state: no force contains a multiplier, and no contact opens and closes."""

from __future__ import annotations

from chetaev.core.errors import PrincipleError
from chetaev.core.system import System


def require_given_forces(system: System, verb: str) -> None:
    """Raise a PrincipleError if a force contains a multiplier, for a function that treats forces as functions of the state."""
    inside = sorted(m.base for m in system.multipliers_in_forces)
    if inside:
        raise PrincipleError(
            f"a force contains the multiplier {inside[0]}.",
            where=f"{verb} {system.label}",
            why="Such a force follows from the equations; here forces have to be functions of time and state.",
            hint=f"write {inside[0]} out as a function of the state, or use simulate, evaluate and analyze",
        )
