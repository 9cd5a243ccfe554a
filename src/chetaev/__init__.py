"""chetaev: constrained Lagrangian mechanics.

Write the system as in the paper, name the principle, read the equations.

    >>> import chetaev as ch
    >>> sleigh = ch.System("x y theta", "m J", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
    ...                    kinematic=["y'*cos(theta) = x'*sin(theta)"], name="sleigh")
    >>> print(ch.derive(sleigh, ch.DAlembert()))
    sleigh · DAlembert()
      E_x           m*x'' = -lambda1*sin(theta)
      E_y           m*y'' = lambda1*cos(theta)
      E_theta       J*theta'' = 0
      kinematic[0]  y'*cos(theta) = x'*sin(theta)
      4 equations for 4 unknowns: x y theta lambda1
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from chetaev.core.support.version import VERSION

if TYPE_CHECKING:
    from chetaev import plot, transforms
    from chetaev.core.constraints import Constraint, VariationalConstraint
    from chetaev.core.errors import (
        BranchError,
        ChetaevError,
        GaugeError,
        InitialError,
        ModelError,
        NotationError,
        ParameterError,
        PrincipleError,
        StateError,
        UsageError,
    )
    from chetaev.core.notation import show, to_sympy
    from chetaev.core.parsing import parse
    from chetaev.core.state import State
    from chetaev.core.symbols import Coordinate, Input, Parameter, coordinates, delta, inputs, parameters
    from chetaev.core.system import System
    from chetaev.export import code
    from chetaev.gallery import gallery
    from chetaev.io.reading import load
    from chetaev.io.writing import save
    from chetaev.mechanics.classify import classify
    from chetaev.mechanics.derivation import derive
    from chetaev.mechanics.equations import Equations
    from chetaev.mechanics.model import Model
    from chetaev.mechanics.principles import Chetaev, DAlembert, Hamilton, Herglotz, Mixed, Principle, Vakonomic, VirtualWork
    from chetaev.mechanics.registration import register
    from chetaev.numerics.comparison.compare import Comparison, compare
    from chetaev.numerics.ensemble import Ensemble, simulate_many
    from chetaev.numerics.evaluation.evaluate import evaluate, residual
    from chetaev.numerics.methods.base import Method
    from chetaev.numerics.methods.implicit import Implicit
    from chetaev.numerics.methods.taylor import Taylor
    from chetaev.numerics.motion.simulate import simulate
    from chetaev.numerics.motion.trajectory import Outcome, Trajectory
    from chetaev.numerics.pieces.events import On
    from chetaev.numerics.stability import Equilibrium, Linearization, eigenvalue_sweep, equilibria, linearize
    from chetaev.numerics.verdict.analyze import Analysis, Verdict, analyze
    from chetaev.plot.animation import animate
    from chetaev.report import Report, report
    from chetaev.singular import forms
    from chetaev.singular.constraint_algorithm import constraint_algorithm
    from chetaev.singular.dirac_bergmann import Dirac, Presymplectic, dirac, lagrangian_forms, presymplectic, reduced_phase_space
    from chetaev.singular.dynamical.constrained_system import ConstrainedSystem, constrain
    from chetaev.singular.dynamical.constraint_structure import ConstraintStructure
    from chetaev.singular.dynamical.dynamical import DynamicalForm
    from chetaev.singular.inverse.helmholtz import helmholtz
    from chetaev.singular.inverse.lepage_equivalent import lepagean_equivalent
    from chetaev.singular.inverse.multipliers import integrating_factor
    from chetaev.singular.inverse.order_reduction import reduce_order
    from chetaev.singular.inverse.tonti import tonti_lagrangian
    from chetaev.singular.regularity import regularity
    from chetaev.transforms.contact import contact_as_nonholonomic, contact_as_vakonomic
    from chetaev.transforms.coordinates import change_coordinates
    from chetaev.transforms.friction import friction_as_constraint
    from chetaev.transforms.group_reduction import reduce
    from chetaev.transforms.hamel import hamel
    from chetaev.transforms.legendre import hamiltonian
    from chetaev.transforms.lift import lift
    from chetaev.transforms.linear import linearize_constraints
    from chetaev.transforms.quasi import reduce_velocities
    from chetaev.transforms.restrict import restrict
    from chetaev.transforms.routh import routh
    from chetaev.transforms.symmetries import symmetries
    from chetaev.transforms.tools.morphism import Morphism
    from chetaev.transforms.vakonomic_as_free import vakonomic_as_free

__version__ = VERSION

_HOMES = {
    "chetaev.mechanics.classify": "classify",
    "chetaev.singular.constraint_algorithm": "constraint_algorithm",
    "chetaev.numerics.verdict.analyze": "Analysis Verdict analyze",
    "chetaev.numerics.comparison.compare": "Comparison compare",
    "chetaev.core.constraints": "Constraint VariationalConstraint",
    "chetaev.mechanics.derivation": "derive",
    "chetaev.singular.dirac_bergmann": "Dirac Presymplectic dirac lagrangian_forms presymplectic reduced_phase_space",
    "chetaev.export": "code",
    "chetaev.singular.dynamical.constrained_system": "ConstrainedSystem constrain",
    "chetaev.singular.dynamical.constraint_structure": "ConstraintStructure",
    "chetaev.mechanics.equations": "Equations",
    "chetaev.core.errors": "BranchError ChetaevError GaugeError InitialError ModelError NotationError ParameterError PrincipleError "
    "StateError UsageError",
    "chetaev.singular.inverse.lepage_equivalent": "lepagean_equivalent",
    "chetaev.singular.inverse.multipliers": "integrating_factor",
    "chetaev.singular.inverse.tonti": "tonti_lagrangian",
    "chetaev.singular.inverse.helmholtz": "helmholtz",
    "chetaev.singular.inverse.order_reduction": "reduce_order",
    "chetaev.singular.dynamical.dynamical": "DynamicalForm",
    "chetaev.singular.regularity": "regularity",
    "chetaev.gallery": "gallery",
    "chetaev.transforms.group_reduction": "reduce",
    "chetaev.io.reading": "load",
    "chetaev.io.writing": "save",
    "chetaev.mechanics.model": "Model",
    "chetaev.core.notation": "show to_sympy",
    "chetaev.numerics.ensemble": "Ensemble simulate_many",
    "chetaev.numerics.evaluation.evaluate": "evaluate residual",
    "chetaev.core.state": "State",
    "chetaev.numerics.methods.base": "Method",
    "chetaev.numerics.methods.implicit": "Implicit",
    "chetaev.numerics.methods.taylor": "Taylor",
    "chetaev.numerics.pieces.events": "On",
    "chetaev.numerics.motion.simulate": "simulate",
    "chetaev.numerics.stability": "Equilibrium Linearization eigenvalue_sweep equilibria linearize",
    "chetaev.core.parsing": "parse",
    "chetaev.plot.animation": "animate",
    "chetaev.mechanics.principles": "Chetaev DAlembert Hamilton Herglotz Mixed Principle Vakonomic VirtualWork",
    "chetaev.mechanics.registration": "register",
    "chetaev.report": "Report report",
    "chetaev.core.symbols": "Coordinate Input Parameter coordinates delta inputs parameters",
    "chetaev.core.system": "System",
    "chetaev.numerics.motion.trajectory": "Outcome Trajectory",
    "chetaev.transforms.contact": "contact_as_nonholonomic contact_as_vakonomic",
    "chetaev.transforms.coordinates": "change_coordinates",
    "chetaev.transforms.vakonomic_as_free": "vakonomic_as_free",
    "chetaev.transforms.friction": "friction_as_constraint",
    "chetaev.transforms.hamel": "hamel",
    "chetaev.transforms.legendre": "hamiltonian",
    "chetaev.transforms.lift": "lift",
    "chetaev.transforms.linear": "linearize_constraints",
    "chetaev.transforms.tools.morphism": "Morphism",
    "chetaev.transforms.quasi": "reduce_velocities",
    "chetaev.transforms.restrict": "restrict",
    "chetaev.transforms.routh": "routh",
    "chetaev.transforms.symmetries": "symmetries",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = {
    "forms": "chetaev.singular.forms",
    "groups": "chetaev.groups",
    "plot": "chetaev.plot",
    "transforms": "chetaev.transforms",
}
"""Public modules by the name under which `chetaev` offers them."""

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `import chetaev` costs nothing."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'chetaev' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
