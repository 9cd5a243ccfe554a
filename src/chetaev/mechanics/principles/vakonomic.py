"""Vakonomic dynamics: the action is stationary among the curves that obey the constraints."""

from __future__ import annotations

from typing import final

import sympy

from chetaev.core.fixes import UsePrinciple
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle, multipliers
from chetaev.mechanics.principles.virtual_work import VirtualWork


@final
class Vakonomic(Principle):
    r"""The action is stationary among curves that obey the rows: $L \to L + \lambda_a R_K^a$ with varied multipliers (004, (3.3)).

    Forces act on the coordinates only. A holonomic row enters undifferentiated, and its multiplier equals d'Alembert's. For a nonholonomic
    row $\lambda(t_0)$ is free data and $-\lambda'$ corresponds to d'Alembert's multiplier. Only normal extremals are described.
    """

    word = "vakonomic"
    title = "the vakonomic principle"
    papers = ("004",)

    def rewrite(self, system: System) -> Lowered:
        if system.variational is not None:
            raise self.refusal(
                system,
                "The system states variational rows, which vakonomic dynamics has no use for.",
                why="Its variations are those of curves that obey the kinematic rows.",
                hint=(UsePrinciple(VirtualWork()), ", or remove the variational rows"),
            )
        symbols = multipliers(len(system.kinematic))
        added = [symbol * row.residual for symbol, row in zip(symbols, system.kinematic, strict=True)]
        return Lowered(system, sympy.Add(system.lagrangian, *added), costates=symbols)
