"""The input of the inverse problem: coordinates with as many rows, from a dynamical form, equations, a system or a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr

from chetaev.core.errors import ModelError, UsageError
from chetaev.core.symbols import Jet
from chetaev.core.system import System
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_chart import require_coordinates
from chetaev.singular.dynamical.dynamical import DynamicalForm, input_values


@dataclass(frozen=True)
class Source:
    r"""Coordinates and rows $E_\sigma$ with the sign of Krupková, and the Lagrangian the rows come from if there is one."""

    coordinates: tuple[Jet, ...]
    rows: tuple[Expr, ...]
    label: str
    lagrangian: Expr | None = None


def read_source(given: Any, verb: str) -> Source:
    """The coordinates and rows of anything that has them; a system or a model is derived first."""
    lagrangian: Expr | None = None
    if isinstance(given, DynamicalForm):
        form = given
    elif isinstance(given, Equations | System) or isinstance(getattr(given, "system", None), System):
        equations = given if isinstance(given, Equations) else derive(given)
        require_coordinates(equations.system, verb)
        form, lagrangian = DynamicalForm.of(equations), _lagrangian(equations)
    else:
        raise UsageError(
            f"{verb} takes a DynamicalForm, Equations, a System or a Model, not {type(given).__name__}.",
            where=verb,
            hint=f'{verb}(ch.DynamicalForm("q", ["-q\'\' - q"]))',
        )
    if len(form.coordinates) != len(form.rows):
        raise ModelError(
            f"{len(form.rows)} rows for {len(form.coordinates)} unknowns.",
            where=f"{verb} {form.label}",
            why="The rows of a variational form are indexed by its coordinates.",
            hint="state one row for each coordinate, in their order",
        )
    return Source(form.coordinates, form.rows, form.label, lagrangian)


def _lagrangian(equations: Equations) -> Expr | None:
    """The Lagrangian of equations that are its Euler-Lagrange equations and nothing else, with the inputs written out."""
    lowered, system = equations.lowered, equations.system
    forced = bool(lowered.reactions) or lowered.action is not None or system.dissipation != 0 or any(system.forces.values())
    if forced or equations.rewritten is not None or (system.kinematic and not lowered.costates):
        return None
    values = input_values([lowered.lagrangian], system.inputs)
    return None if None in values.values() else lowered.lagrangian.xreplace(values)
