"""The input of a transformation: a system, a model or equations, under the principle that the theorem needs."""

from __future__ import annotations

from typing import Any

from chetaev.core.errors import PrincipleError
from chetaev.core.fixes import Advice, UsePrinciple
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_chart import require_coordinates
from chetaev.mechanics.principles import Hamilton, Principle, VirtualWork


def source_under(given: Any, principle: Principle, verb: str) -> Equations:
    """The equations of `given` under `principle`; a model or equations must be under this principle already."""
    if isinstance(given, Equations):
        equations = given
    elif hasattr(given, "principle"):
        equations = derive(given)
    else:
        equations = derive(given, principle)
    require_coordinates(equations.system, verb)
    if equations.principle != principle:
        raise PrincipleError(
            f"{equations.system.label} is under {equations.principle}; {verb} needs {principle}.",
            where=f"{verb} {equations.system.label}",
            hint=_way_to(equations, principle, verb),
        )
    return equations


def _way_to(equations: Equations, principle: Principle, verb: str) -> Advice:
    """The hint how to bring a system under `principle`; where constraints or an action forbid that, another transformation."""
    if equations.lowered.action is not None:
        return "contact_as_vakonomic(...) first" if equations.lowered.costates else "symmetries(...) gives the momenta of contact systems"
    if isinstance(principle, Hamilton) and equations.system.kinematic:
        return "restrict(...) first, where the constraints are holonomic; symmetries(...) gives the momenta in any case"
    return f"{verb}(", UsePrinciple(principle, "system"), ")"


def with_reactions(given: Any, verb: str) -> Equations:
    """Equations of `given` with reactions only; a system that states its variations is derived under `VirtualWork`."""
    if isinstance(given, Equations):
        equations = given
    elif getattr(given, "variational", None) is not None and not hasattr(given, "principle"):
        equations = derive(given, VirtualWork())
    else:
        equations = derive(given)
    require_coordinates(equations.system, verb)
    if equations.lowered.costates or equations.lowered.action is not None:
        raise PrincipleError(
            f"{equations.system.label} is under {equations.principle}.",
            where=f"{verb} {equations.system.label}",
            why="The theorem is about constraints with reactions (kinematic and variational constraints).",
            hint="vakonomic_as_free, contact_as_nonholonomic or contact_as_vakonomic first",
        )
    return equations
