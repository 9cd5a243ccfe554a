"""Finding a group coordinate by its name, and naming what a system moves."""

from __future__ import annotations

from chetaev.core.errors import UsageError
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import Jet
from chetaev.core.system import System


def group_named(system: System, name: str, where: str) -> GroupCoordinate:
    """The group coordinate of a name, if it is one and not only its velocity is known."""
    found = system.groups.get(spell(str(name)))
    if found is None or found.reduced:
        known = " ".join(name for name, group in system.groups.items() if not group.reduced) or "none"
        raise UsageError(f"{name} is not a group coordinate.", where=where, hint=f"group coordinates: {known}")
    return found


def lowest_written(system: System, z: Jet) -> str:
    """How the notation calls what a jet belongs to: `q2`, but `A3'` for a component of a group coordinate, which has no value itself."""
    return f"{z.base}'" if z.d(-z.order) in system.frame.turning else z.base
