"""The units of quantities of a motion: names, multipliers and expressions, as labels of axes and tables."""

from __future__ import annotations

from typing import Any

from sympy import Expr

from chetaev.core.errors import ChetaevError
from chetaev.core.notation import parse_expression
from chetaev.core.system import System
from chetaev.core.units.checking import dimensions_of
from chetaev.core.units.dimensions import Dimensions
from chetaev.core.units.unit import Unit
from chetaev.mechanics.equations import Equations


def unit_of(about: System | Equations, name: str | Expr) -> str:
    """Return the unit of a name or an expression; empty if the system has no units, or not those that it needs.

    Args:
        about: A system or equations; only equations know the units of multipliers.
        name: A name, such as `x'`, or an expression, as text or as SymPy's.

    Returns:
        The unit as text, such as `m/s`.

    >>> spring = System("x", "m k", lagrangian="m/2*x'^2 - k/2*x^2", units={"x": "m", "m": "kg", "k": "N/m"})
    >>> unit_of(spring, "x''"), unit_of(spring, "k*x^2/2"), unit_of(spring, "t")
    ('m/s^2', 'N m', 's')
    """
    system = about.system if isinstance(about, Equations) else about
    if not system.units:
        return ""
    if isinstance(name, str) and name in system.units and name not in system.quasi:
        return system.units[name]
    try:
        expression = parse_expression(name, about.vocabulary, "units") if isinstance(name, str) else name
        found = _dimensions(about).of(expression)
    except ChetaevError:  # the label is not an expression, or is a sum of different units
        return ""
    return "" if found is None else str(found)


def _dimensions(about: System | Equations) -> Dimensions:
    if not isinstance(about, Equations):
        return dimensions_of(about)
    found = dimensions_of(about.system)
    if about.system.equations:
        return found
    energy = found.of(about.system.lagrangian)
    return found if energy is None else Dimensions({**found.units, **_multipliers(about, energy, found)})


def _multipliers(equations: Equations, energy: Unit, known: Dimensions) -> dict[str, Unit]:
    """Return the units of multipliers: a reaction lambda R_i is a force on q_i, in L/q_i; a costate times its row is in L."""
    found: dict[str, Unit] = {}
    lowered = equations.lowered
    terms: list[tuple[Any, Any, Unit | None]] = [(m, e, known.name(q.base)) for m, row in lowered.reactions.items() for q, e in row.items()]
    terms += [(m, lowered.lagrangian.diff(m), known.units["t"] ** 0) for m in lowered.costates]
    for m, coefficient, length in terms:
        own = known.of(coefficient)
        if own is not None and length is not None:
            found.setdefault(m.base, energy / (own * length))
    return found
