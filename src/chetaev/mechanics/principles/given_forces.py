"""Systems whose forces are known from the state: no force contains a multiplier, and no contact opens and closes."""

from __future__ import annotations

from chetaev.core.errors import PrincipleError, about
from chetaev.core.system import System


def require_no_contact(system: System, verb: str) -> None:
    """Raise a PrincipleError if the system has unilateral contacts, for a function that treats one set of equations."""
    if system.unilateral:
        raise PrincipleError(
            f"the contact {system.unilateral[0].name} opens and closes.",
            where=about(f"{verb} {system.label}", "unilateral", system.unilateral[0].name),
            why="The motion has other equations while it is open than while it is closed, and impacts between them.",
            hint="simulate, simulate_many, evaluate, analyze follow contacts; here leave out `unilateral`, or state the row in `kinematic`",
        )


def require_given_forces(system: System, verb: str) -> None:
    """Raise a PrincipleError if a force contains a multiplier, or a contact opens and closes: forces are no functions of the state then."""
    require_no_contact(system, verb)
    inside = sorted(m.base for m in system.multipliers_in_forces)
    if inside:
        raise PrincipleError(
            f"a force contains the multiplier {inside[0]}.",
            where=about(f"{verb} {system.label}", "forces"),
            why="Such a force follows from the equations; here forces have to be functions of time and state.",
            hint=f"write {inside[0]} out as a function of the state, or use simulate, evaluate and analyze",
        )
