"""The input of Dirac's analysis: a Lagrangian of first order, from a system, a model or equations without other forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr

from chetaev.core.errors import PrincipleError
from chetaev.core.fixes import SetInput, UsePrinciple, listed
from chetaev.core.symbols import Coordinate, Jet, Parameter, jets_in
from chetaev.core.system import System, fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_chart import require_coordinates
from chetaev.mechanics.principles import Hamilton, Principle, Vakonomic
from chetaev.singular.dynamical.dynamical import input_values


@dataclass(frozen=True)
class Source:
    """Coordinates (multipliers of vakonomic motion among them), their momenta, parameters and the Lagrangian."""

    coordinates: tuple[Jet, ...]
    momenta: tuple[Coordinate, ...]
    parameters: tuple[Parameter, ...]
    lagrangian: Expr
    system: System

    @property
    def label(self) -> str:
        """The name of the system in messages."""
        return self.system.label


def read_source(given: Any, principle: Principle | None, verb: str) -> Source:
    """The Lagrangian of `given`; a PrincipleError if its equations are not the Euler-Lagrange equations of one of first order."""
    equations = given if isinstance(given, Equations) else derive(given, principle)
    system, lowered = equations.system, equations.lowered
    where = f"{verb} {system.label}"
    require_coordinates(system, verb)
    if lowered.action is not None or lowered.reactions or system.dissipation != 0 or any(system.forces.values()):
        raise PrincipleError(
            f"the equations under {equations.principle} are not those of a Lagrangian alone.",
            where=where,
            why="Forces, reactions, dissipation and an action variable have no place in a Hamiltonian.",
            hint=(
                *listed([UsePrinciple(Hamilton()), UsePrinciple(Vakonomic())]),
                ", without forces; constraint_algorithm takes any equations",
            ),
        )
    coordinates = (*system.coordinates, *lowered.costates)
    lagrangian = _written_out(lowered.lagrangian, system, where)
    high = [z for z in jets_in(lagrangian) if z.order > 1]
    if high:
        raise PrincipleError(
            f"the Lagrangian contains {min(high, key=lambda z: z.name)}.",
            where=where,
            why="Momenta are taken from a Lagrangian of first order.",
            hint="constraint_algorithm takes Lagrangians of any order",
        )
    momenta = tuple(fresh_coordinates(system, [f"p_{q.base}" for q in coordinates]))
    return Source(coordinates, momenta, system.parameters, lagrangian, system)


def _written_out(lagrangian: Expr, system: System, where: str) -> Expr:
    """The Lagrangian with every input replaced by the function of time it stands for."""
    values = input_values([lagrangian], system.inputs)
    missing = next((z.base for z, value in values.items() if value is None), None)
    if missing is not None:
        raise PrincipleError(
            f"the input {missing} has no value.",
            where=where,
            why="Constraints are differentiated in time, which needs a formula for the input.",
            hint=SetInput((missing,), "sin(t)"),
        )
    return lagrangian.xreplace(values)
