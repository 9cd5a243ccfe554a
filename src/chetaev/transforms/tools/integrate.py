"""Constraints on velocities that are constraints on positions in disguise, written as what they are: `f(t, q) = c`."""

from __future__ import annotations

from sympy import Expr

from chetaev.core.constraints import Constraint
from chetaev.core.errors import PrincipleError
from chetaev.core.fresh_names import fresh
from chetaev.core.symbols import Parameter
from chetaev.core.system import System
from chetaev.mechanics.classify import classify

Constants = dict[Parameter, Expr]


def with_integrals(system: System, where: str) -> tuple[System, list[Constraint], Constants]:
    """The system with integrable rows on velocities replaced by their integrals, those rows, and the constants.

    All rows on velocities are replaced if they are integrable together, else those that are so by themselves.
    """
    places = [k for k, row in enumerate(system.kinematic) if row.kind in ("linear", "affine") and not row.has_action]
    found = _integrals(system, places, where)
    if not found:
        found = {k: e for place in places for k, e in _integrals(system, [place], where).items()}
    names = fresh(system, [f"c{n + 1}" for n in range(len(found))])
    constants = {Parameter(z.base): e for z, e in zip(names, found.values(), strict=True)}
    surfaces = {k: Constraint(e, c) for (k, e), c in zip(found.items(), constants, strict=True)}
    rows = [surfaces.get(k, row) for k, row in enumerate(system.kinematic)]
    return system.replace(kinematic=rows, parameters=[*system.parameters, *constants]), list(surfaces.values()), constants


def _integrals(system: System, places: list[int], where: str) -> dict[int, Expr]:
    """One integral a row for rows that are integrable together; nothing if they are not."""
    if not places:
        return {}
    classified = classify(system.replace(kinematic=[system.kinematic[k] for k in places], variational=None))
    if classified.contradictory or not classified.integrable:
        return {}
    if classified.redundant or len(classified.integrals) != len(places):
        raise PrincipleError(
            f"{system.kinematic_labels[places[0]]} and the rows on velocities after it are integrable, but not every integral was found."
            if len(places) > 1
            else f"{system.kinematic_labels[places[0]]} is integrable, but its integral was not found.",
            where=where,
            why=f"{len(classified.integrals)} of {len(places)} are known, and redundant rows have none of their own.",
            hint="write the rows as constraints on positions, and drop redundant ones",
        )
    return dict(zip(places, classified.integrals, strict=True))
