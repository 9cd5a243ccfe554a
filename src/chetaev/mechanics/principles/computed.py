"""What d'Alembert's and Chetaev's principles share: variational rows computed from the kinematic ones."""

from __future__ import annotations

from chetaev.core.fixes import UsePrinciple
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle, chetaev_row, points_of, same_span, with_reactions
from chetaev.mechanics.principles.virtual_work import VirtualWork


def lowered_with(principle: Principle, system: System) -> Lowered:
    """Normal form with the rows R_V computed from R_K.

    A system may state the same rows itself; equal means equal span on the constraint manifold, and then the stated rows
    carry the multipliers. Different ones are refused, never discarded.
    """
    if len(system.kinematic) > len(system.coordinates):
        raise principle.refusal(
            system,
            f"{len(system.kinematic)} kinematic rows for {len(system.coordinates)} coordinates.",
            why="At most as many rows as coordinates can be independent.",
            hint=("remove the rows that follow from others, or ", UsePrinciple(VirtualWork()), " with rows of your own"),
        )
    rows = tuple(chetaev_row(system, row) for row in system.kinematic)
    if system.variational is not None:
        stated = tuple(row.coefficients for row in system.variational)
        if not same_span(rows, stated, system.coordinates, points_of(system, system.kinematic)):
            raise principle.refusal(
                system,
                "The system states variational rows that differ from those the principle computes; they would be discarded.",
                why="Here the directions of virtual displacements are not those of the kinematic constraints.",
                hint=(UsePrinciple(VirtualWork()), ", or remove the variational rows"),
            )
        rows = stated
    return Lowered(system, system.lagrangian, with_reactions(rows))
