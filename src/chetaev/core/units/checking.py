"""The units of a system: reading them, and the check that its Lagrangian, rows, contacts and forces are consistent in them.

Forces, Rayleigh's function, the action and the multipliers in forces have units that follow from those of the Lagrangian: u_x is in L/x,
F in L/t, s in L t, the multiplier of a row R of order k in L/(R t^k). Inputs and values of parameters are numbers that come later; they
are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy

from chetaev.core.errors import Location, ModelError, did_you_mean, require_mapping
from chetaev.core.fixes import SetPart, sentences
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.letters import spell
from chetaev.core.symbols import Multiplier, delta, jets_in
from chetaev.core.units.dimensions import Dimensions
from chetaev.core.units.unit import PURE, Unit, read_unit

if TYPE_CHECKING:
    from chetaev.core.system import System

_TIME = "s"
"""The unit of time where none is given."""
_ROTATIONS = ("SO3", "S1", "SO2")
"""Groups whose velocities are angles per time and whose matrices have pure numbers as entries."""


def read_units(given: Any, system: System, place: Location) -> Frozen[str, str]:
    """Return the texts of units by name; each must be a unit, and each name one of the system's, or `t`."""
    require_mapping(given, "units are", place, SetPart("units", {"m": "kg", "x": "m"}))
    known = names_with_units(system)
    found: dict[str, str] = {}
    for key, text in given.items():
        name, at = spell(str(key)), place.at("units", str(key))
        if name not in known:
            hint = sentences(did_you_mean(name, known), f"Names: {' '.join(known)}")
            raise ModelError(f"a unit of {key}, which is not a name of the system.", where=at, hint=hint)
        if name in found:
            raise ModelError(f"two units of {name}.", where=at, hint="remove one of the two")
        read_unit(text, at)
        found[name] = " ".join(text.split())
    if "t" in found and set(read_unit(found["t"], place.at("units", "t")).dimension) != {"s"}:
        raise ModelError(f"t is time, and {found['t']} is not a unit of time.", where=place.at("units", "t"), hint='"s", "ms", "h"')
    return Frozen(found)


def names_with_units(system: System) -> list[str]:
    """Return the names that may have a unit, `t` last."""
    found = [q.base for q in system.coordinates] + [p.name for p in system.parameters] + [z.base for z in system.inputs]
    found += [*system.where, *system.quasi, *([system.action.base] if system.action is not None else [])]
    found += [name for group in system.groups.values() for name in group.entries]
    return [*found, "t"]


def dimensions_of(system: System) -> Dimensions:
    """Return the units of a system as they follow from the texts given, with seconds for time and pure numbers for rotations."""
    units = {"t": read_unit(_TIME, "units")}
    for group in system.groups.values():
        if group.word in _ROTATIONS:
            units |= dict.fromkeys([*(q.base for q in group.components), *group.entries], PURE)
    units |= {name: read_unit(text, "units") for name, text in system.units.items()}
    named = {*system.where, *system.quasi}
    found = Dimensions({name: unit for name, unit in units.items() if name not in named})
    action = system.action
    if action is None or action.base in found.units:
        return found
    try:
        energy = found.of(system.lagrangian)
    except ModelError:  # the check of the Lagrangian reports it
        return found
    return found if energy is None else Dimensions({**found.units, action.base: energy * found.units["t"]})


def check_dimensions(system: System, place: Location) -> None:
    """Raise a ModelError, with the terms, if a part of the system adds or equates different units."""
    found = dimensions_of(system)
    energy = found.at(place.at("lagrangian")).of(system.lagrangian)
    for q, e in system.equations.items():
        found.at(place.at("equations", q.base)).of(e)
    for k, row in enumerate(system.kinematic):
        found.at(place.at("kinematic", row.name or k)).same(row.lhs, row.rhs)
    for k, stated in enumerate(system.variational or ()):
        form = sympy.Add(*[e * delta(q) for q, e in stated.coefficients.items()])
        found.at(place.at("variational", stated.name or k)).of(form)
    _check_contacts(system, found, place)
    _check_named(system, found, place)
    if system.equations:
        for q, u in system.forces.items():
            found.at(place.at("forces", q.base)).of(u)
        return
    _check_energies(system, energy, found, place)


def is_consistent(system: System) -> bool:
    """Tell whether no part of the system adds or equates different units."""
    try:
        check_dimensions(system, Location("units"))
    except ModelError:
        return False
    return True


def _check_contacts(system: System, found: Dimensions, place: Location) -> None:
    """Check the terms of gaps, and that coefficients of restitution are pure numbers."""
    for contact in system.unilateral:
        at = place.at("unilateral", contact.name)
        found.at(at).of(contact.gap)
        unit = found.at(at).of(contact.restitution)
        if unit is not None and not unit.pure:
            why = "It is the ratio of two speeds, a pure number."
            raise ModelError(f"the coefficient of restitution is in {unit}.", where=at, why=why, hint="correct the formula or the units")


def _check_named(system: System, found: Dimensions, place: Location) -> None:
    """Compare named expressions with the units given for their names."""
    for part, rates in (("where", 0), ("quasi", 1)):
        named: Mapping[str, Any] = getattr(system, part)
        for name, e in named.items():
            at = place.at(part, name)
            unit = found.at(at).of(e)
            if name in system.units and unit is not None:
                wanted = read_unit(system.units[name], at) / found.units["t"] ** rates
                if unit != wanted:
                    what = f"{name}{rates * chr(39)} is in {unit}, and the units say {wanted}."
                    raise ModelError(what, where=at, hint="correct the formula or the units")


def _check_energies(system: System, energy: Unit | None, found: Dimensions, place: Location) -> None:
    """Compare forces, Rayleigh's function and the action with the unit of the Lagrangian."""
    time, source = found.units["t"], "the Lagrangian is"
    given = [(place.at("dissipation"), "Rayleigh's function", found.at(place.at("dissipation")).of(system.dissipation), PURE / time)]
    if system.action is not None:
        given.append((place.at("action"), "the action", found.name(system.action.base), time))
    for q, u in system.forces.items():
        own, unit = found.name(q.base), found.at(place.at("forces", q.base)).of(u)
        if own is not None:
            given.append((place.at("forces", q.base), f"the force on {q.base}", unit, PURE / own))
    for at, what, unit, relative in given:
        if unit is None:
            continue
        if energy is None:
            energy, source = unit / relative, f"{what} shows that the Lagrangian is"
        elif unit != energy * relative:
            raise _unfit(what, unit, energy * relative, f"{source[:1].upper()}{source[1:]} in {energy}.", at)
    if energy is not None and system.multipliers_in_forces:
        _check_reacting(system, energy, found, place)


def _check_reacting(system: System, energy: Unit, found: Dimensions, place: Location) -> None:
    """Compare forces that contain multipliers, whose units follow from the rows, with the unit of the Lagrangian."""
    sizes = {name: energy / unit for name, unit in _reacting_rows(system, found).items()}
    known = Dimensions({**found.units, **sizes})
    for q, u in system.forces.items():
        inside = sorted(z.base for z in jets_in(u, Multiplier) if z.base in sizes)
        at = place.at("forces", q.base)
        own, unit = found.name(q.base), known.at(at).of(u) if inside else None
        if own is not None and unit is not None and unit != energy / own:
            why = f"{', '.join(f'{name} is in {sizes[name]}' for name in inside)}, and the Lagrangian in {energy}."
            raise _unfit(f"the force on {q.base}", unit, energy / own, why, at)


def _reacting_rows(system: System, found: Dimensions) -> dict[str, Unit]:
    """Return the units of the rows of virtual displacements by their multipliers, as far as they are known.

    A stated row is in its own unit; the slopes of a kinematic row R of order k in the highest derivatives make one in R t^k.
    """
    units: dict[str, Unit | None] = {}
    if system.variational is not None:
        for k, stated in enumerate(system.variational):
            units[f"lambda{k + 1}"] = found.of(sympy.Add(*[e * delta(q) for q, e in stated.coefficients.items()]))
    else:
        for k, row in enumerate(system.kinematic):
            own = None if row.has_action else found.same(row.lhs, row.rhs)
            units[f"lambda{k + 1}"] = None if own is None else own * found.units["t"] ** row.order
    units |= {contact.multiplier.base: found.of(contact.gap) for contact in system.unilateral}
    return {name: unit for name, unit in units.items() if unit is not None}


def _unfit(what: str, unit: Unit, needed: Unit, why: str, at: Location) -> ModelError:
    return ModelError(f"{what} is in {unit}, where {needed} is needed.", where=at, why=why, hint="correct the formula or the units")
