"""Ends that an integral of the constraints separates, in words."""

from __future__ import annotations

from sympy import Expr

from chetaev.core.notation import show
from chetaev.mechanics.classify import Classification


def separation(known: Classification, integral: Expr, before: float, after: float) -> str:
    """The sentence that names the rows, their integral and its values at both ends."""
    names = " ".join(known.system.kinematic_labels[k] for k in known.velocity_rows)
    word = "is holonomic in disguise" if len(known.velocity_rows) == 1 and known.integrable else "have an integral"
    return (
        f"the end cannot be reached: {names} {word}, {show(integral)} is constant on every motion, "
        f"{before:g} at the start and {after:g} at the end (ch.classify(system))."
    )
