"""The rule of dynamical forms: the stated equations hold, and constraints react as Chetaev's rule says."""

from __future__ import annotations

from typing import final

from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle
from chetaev.mechanics.principles.chetaev import Chetaev


@public
@final
class AsStated(Principle):
    r"""$-E_\sigma = u_\sigma + \lambda_a\, \partial f^a/\partial q^\sigma_{k_a}$ for systems that state the rows $E_\sigma$ of a form.

    Nothing is varied, so the rows need not come from a Lagrangian. The reactions annihilate the canonical distribution of the constraint
    (003, section 10): the displacements come from each row's own order $k_a$, as under `Chetaev`.
    """

    word = "as-stated"
    title = "the stated equations"
    papers = ("003",)
    takes_equations = True

    def rewrite(self, system: System) -> Lowered:
        """Keep the stated equations as rows, with the reactions of `Chetaev` where there are constraints."""
        if not system.equations:
            raise self.refusal(
                system,
                "The system states no equations.",
                why="With a Lagrangian the equations follow from a principle.",
                hint="name a principle, or give equations instead of the Lagrangian",
            )
        if system.kinematic or system.variational is not None:
            return Chetaev().rewrite(system)
        return Lowered(system, system.lagrangian)
