"""What a transformation is given: a system, a model or equations, brought under the principle the theorem speaks of."""

from __future__ import annotations

from typing import Any

from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import PrincipleError
from chetaev.principles import Principle


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
