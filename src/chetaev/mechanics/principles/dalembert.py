"""d'Alembert's principle: reactions do no work in displacements the constraints allow."""

from __future__ import annotations

from typing import final

from chetaev.core.fixes import UsePrinciple
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, order_in
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle
from chetaev.mechanics.principles.chetaev import Chetaev, lowered_with


@public
@final
class DAlembert(Principle):
    r"""$R_V = \partial R_K/\partial q'$ for rows affine in the velocities, $\partial R_K/\partial q$ for holonomic rows, at fixed time.

    Agrees with `Chetaev` on these rows and with `Vakonomic` on holonomic ones. Other rows are refused: a quotient can be multiplied out,
    a nonlinear row needs `Chetaev`.
    """

    word = "dalembert"
    title = "d'Alembert's principle"
    takes_equations = True

    def rewrite(self, system: System) -> Lowered:
        """Add reactions along the coefficients of the kinematic rows, which must be holonomic or affine in the velocities."""
        higher = order_in(system.lagrangian, Coordinate) > 1
        for label, row in system.kinematic_rows():
            if higher and row.has_action and row.order == 0:
                raise self.refusal(
                    system,
                    f"{label} contains the action, and the Lagrangian is of higher order: {row}.",
                    why="Its derivative, with s' = L, is not affine in the velocities.",
                    hint=UsePrinciple(Chetaev()),
                    part="kinematic",
                    row=label,
                )
            if row.kind not in ("holonomic", "linear", "affine"):
                raise self.refusal(
                    system,
                    f"{label} is {row.kind if row.order < 2 else f'of {row.kind}'}: {row}.",
                    why="d'Alembert's principle is for rows that are holonomic or affine in the velocities as written.",
                    hint=("multiply out, or " * (row.order < 2), UsePrinciple(Chetaev())),
                    part="kinematic",
                    row=label,
                )
        return lowered_with(self, system)
