"""Vakonomic dynamics: the action is stationary among the curves that obey the constraints."""

from __future__ import annotations

from typing import Any, final

import sympy

from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import Ask, UsePrinciple
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle, multipliers
from chetaev.mechanics.principles.virtual_work import VirtualWork


@public
@final
class Vakonomic(Principle):
    r"""The action is stationary among curves that obey the rows: $L \to L + \lambda_a R_K^a$ with varied multipliers (004, (3.3)).

    Forces act on the coordinates only. A holonomic row enters undifferentiated, and its multiplier equals d'Alembert's. For a nonholonomic
    row $\lambda(t_0)$ is free data and $-\lambda'$ corresponds to d'Alembert's multiplier.

    Extremals are *normal* or *abnormal*. `Vakonomic(abnormal=True)` has the abnormal ones, for which the multiplier of $L$ is zero: the
    equations are those of $\lambda_a R_K^a$ alone, with $\lambda \ne 0$ (002, section 5 with $A = 0$). They belong to the constraints, not
    to $L$, and often leave the parametrisation free. A start with $\lambda = 0$ describes no extremal. `abnormal` chooses them.
    """

    word = "vakonomic"
    title = "the vakonomic principle"
    papers = ("004",)

    def __init__(self, abnormal: bool = False) -> None:
        if not isinstance(abnormal, bool):
            raise UsageError(
                f"abnormal={abnormal!r} is not a truth value.",
                where=about("Vakonomic", "abnormal"),
                hint=UsePrinciple(Vakonomic(abnormal=True)),
            )
        self.abnormal = abnormal

    def settings(self) -> dict[str, Any]:
        """The setting `abnormal`, if it is True."""
        return {"abnormal": True} if self.abnormal else {}

    def in_words(self) -> str:
        """The name of the principle in a report."""
        return "abnormal extremals of the constraints" if self.abnormal else self.title

    def rewrite(self, system: System) -> Lowered:
        """Add each kinematic row, times a costate, to the Lagrangian; abnormal extremals have these terms alone."""
        if system.variational is not None:
            raise self.refusal(
                system,
                "The system states variational rows, which vakonomic dynamics does not use.",
                why="Its variations are those of curves that obey the kinematic rows.",
                hint=(UsePrinciple(VirtualWork()), ", or remove the variational rows"),
                part="variational",
            )
        symbols = multipliers(len(system.kinematic))
        added = [symbol * row.residual for symbol, row in zip(symbols, system.kinematic, strict=True)]
        if self.abnormal:
            self._require_abnormal(system)
        varied = added if self.abnormal else [system.lagrangian, *added]
        return Lowered(system, sympy.Add(*varied), costates=symbols)

    def _require_abnormal(self, system: System) -> None:
        """Raise a PrincipleError if abnormal extremals have no meaning here."""
        if not system.kinematic:
            raise self.refusal(
                system, "There is no constraint.", why="Without rows every extremal is normal.", hint=UsePrinciple(Vakonomic())
            )
        if system.forces or system.dissipation != 0:
            raise self.refusal(
                system,
                "Forces act.",
                why="For an abnormal extremal the multiplier of L is zero, and with it that of the work of forces.",
                hint="remove the forces: abnormal extremals depend on the constraints alone",
                part="forces",
            )
        if any(row.has_action for row in system.kinematic):
            raise self.refusal(
                system,
                "A row contains the action.",
                why="With 1 + mu = 0 its multiplier would have to satisfy mu_b psi_s = 0 besides.",
                hint=(Ask("contact_as_vakonomic", "system"), " has all extremals, at mu = 1"),
            )
