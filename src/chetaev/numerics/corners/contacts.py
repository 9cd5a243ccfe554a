"""Equations with open and closed contacts: a closed one is a row with its reaction, an open one has neither."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from sympy import Expr, S

from chetaev.core.functions import Magnitude
from chetaev.core.support.frozen import Frozen
from chetaev.core.unilateral import Contact
from chetaev.mechanics.equations import Equations


def without_contacts(equations: Equations) -> Equations:
    """The equations while all contacts are open; they have no contact any more."""
    contacts = equations.system.unilateral
    return _closed(equations, frozenset(), contacts) if contacts else equations


@lru_cache(maxsize=64)
def with_closed(equations: Equations, closed: frozenset[Contact]) -> Equations:
    """The equations while the contacts `closed` hold and all others are open."""
    return _closed(equations, closed, equations.system.unilateral)


def _closed(equations: Equations, closed: frozenset[Contact], contacts: Iterable[Contact]) -> Equations:
    lowered = equations.lowered
    apart = {c.multiplier: S.Zero for c in contacts if c not in closed}
    rows = [c.row for c in contacts if c in closed]
    system = lowered.system.exchange(
        unilateral=(),
        kinematic=(*lowered.system.kinematic, *rows),
        forces=Frozen({q: e for q, u in lowered.system.forces.items() if (e := u.xreplace(apart)) != 0}),
    )
    reactions = Frozen({m: row for m, row in lowered.reactions.items() if m not in apart})
    return replace(equations, lowered=replace(lowered, system=system, reactions=reactions))


def with_sizes_of_contacts(equations: Equations) -> Equations:
    """The equations with `lambda_floor` in place of `abs(lambda_floor)`: the multiplier of a contact is never negative."""
    contacts = equations.system.unilateral
    if not contacts:
        return equations
    sizes: dict[Expr, Expr] = {Magnitude(c.multiplier): c.multiplier for c in contacts}
    forces = Frozen({q: u.xreplace(sizes) for q, u in equations.system.forces.items()})
    return replace(equations, lowered=replace(equations.lowered, system=equations.system.exchange(forces=forces)))
