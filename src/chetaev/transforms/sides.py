"""What a transformation is given: a system, a model or equations, brought under the principle the theorem speaks of."""

from __future__ import annotations

from typing import Any

from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import PrincipleError
from chetaev.principles import Principle, VirtualWork


def source_under(given: Any, principle: Principle, verb: str) -> Equations:
    """The equations of a system under a principle; of a model, or of equations, that are under this principle already."""
    if isinstance(given, Equations):
        equations = given
    elif hasattr(given, "principle"):
        equations = derive(given)
    else:
        equations = derive(given, principle)
    if equations.principle != principle:
        raise PrincipleError(
            f"{equations.system.label} is under {equations.principle}; {verb} speaks of {principle}.",
            where=f"{verb} {equations.system.label}",
            hint=f"{verb}(derive(system, {principle}))",
        )
    return equations


def with_reactions(given: Any, verb: str) -> Equations:
    """Equations whose multipliers stand before rows of R_V; a system that states its variations is taken under general virtual work."""
    if isinstance(given, Equations):
        equations = given
    elif getattr(given, "variational", None) is not None and not hasattr(given, "principle"):
        equations = derive(given, VirtualWork())
    else:
        equations = derive(given)
    if equations.lowered.vakonomic or equations.lowered.action is not None:
        raise PrincipleError(
            f"{equations.system.label} is under {equations.principle}.",
            where=f"{verb} {equations.system.label}",
            why="The theorem speaks of constraints with reactions (kinematic and variational constraints).",
            hint="vakonomic_as_free, contact_as_nonholonomic or contact_as_vakonomic first",
        )
    return equations
