"""Hamilton's principle: no constraint, nothing to add."""

from __future__ import annotations

from typing import final

from chetaev.core.fixes import UsePrinciple, listed
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle
from chetaev.mechanics.principles.chetaev import Chetaev
from chetaev.mechanics.principles.dalembert import DAlembert
from chetaev.mechanics.principles.vakonomic import Vakonomic
from chetaev.mechanics.principles.virtual_work import VirtualWork


@public
@final
class Hamilton(Principle):
    r"""The action is stationary among all curves: $E_i = u_i$.

    Refuses constraints of either kind; one that is holonomic can be treated by `DAlembert` or `Vakonomic` alike.
    """

    word = "hamilton"
    title = "Hamilton's principle"

    def rewrite(self, system: System) -> Lowered:
        """Keep the Lagrangian and add no reactions; the system must state no constraints."""
        if system.kinematic or system.variational is not None:
            stated = "kinematic" if system.kinematic else "variational"
            raise self.refusal(
                system,
                f"Hamilton's principle is for systems without constraints, and this system states {stated} rows.",
                part=stated,
                hint=listed([UsePrinciple(other) for other in (DAlembert(), Chetaev(), VirtualWork(), Vakonomic())]),
            )
        return Lowered(system, system.lagrangian)
