"""The principle of virtual work with stated variational constraints."""

from __future__ import annotations

from typing import final

from chetaev.core.fixes import SetPart
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle, with_reactions


@public
@final
class VirtualWork(Principle):
    r"""$E_i = u_i + \lambda_a R_V^a{}_i$ with the rows $R_V$ the system states, independent of $R_K$ (001, section 4; 000, Theorem 17).

    For tyres, servo-constraints, and friction as a constraint. Rows of any order and number: n + #C_V unknowns, n + #C_K equations.
    """

    word = "virtual-work"
    title = "the principle of virtual work with stated variations"
    takes_equations = True
    papers = ("000", "001")

    def rewrite(self, system: System) -> Lowered:
        """Add reactions along the stated variational rows."""
        if system.variational is None:
            raise self.refusal(
                system,
                "No variational rows are stated.",
                part="variational",
                why="Under virtual work the directions of virtual displacements are data, not a consequence of the kinematic rows.",
                hint=(
                    SetPart("variational", ["δx - cos(theta)*δpsi = 0", ...]),
                    ", or ",
                    SetPart("variational", []),
                    " if there are no reactions",
                ),
            )
        rows = tuple(row.coefficients for row in system.variational)
        return Lowered(system, system.lagrangian, with_reactions(rows))
