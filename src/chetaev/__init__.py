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

if TYPE_CHECKING:
    from chetaev import forms, plot, transforms
    from chetaev.analysis.classify import classify
    from chetaev.analysis.constraint_algorithm import constraint_algorithm
    from chetaev.comparison import Comparison, compare
    from chetaev.constraints import Constraint, VariationalConstraint
    from chetaev.derivation import derive
    from chetaev.dirac_bergmann import Dirac, Presymplectic, dirac, lagrangian_forms, presymplectic, reduced_phase_space
    from chetaev.equations import Equations
    from chetaev.errors import (
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
    from chetaev.export import code
    from chetaev.forms.constrained_system import ConstrainedSystem, constrain
    from chetaev.forms.constraint_structure import ConstraintStructure
    from chetaev.forms.dynamical import DynamicalForm
    from chetaev.forms.helmholtz import helmholtz
    from chetaev.forms.lepage_equivalent import lepagean_equivalent
    from chetaev.forms.multipliers import integrating_factor
    from chetaev.forms.order_reduction import reduce_order
    from chetaev.forms.regularity import regularity
    from chetaev.forms.tonti import tonti_lagrangian
    from chetaev.gallery import gallery
    from chetaev.groups.reduction import reduce
    from chetaev.io.reading import load
    from chetaev.io.writing import save
    from chetaev.model import Model
    from chetaev.notation import show, to_sympy
    from chetaev.numerics.analyze import Analysis, Verdict, analyze
    from chetaev.numerics.ensemble import Ensemble, simulate_many
    from chetaev.numerics.evaluate import evaluate, residual
    from chetaev.numerics.events import On
    from chetaev.numerics.methods.base import Method
    from chetaev.numerics.methods.implicit import Implicit
    from chetaev.numerics.methods.taylor import Taylor
    from chetaev.numerics.simulate import simulate
    from chetaev.numerics.stability import Equilibrium, Linearization, eigenvalue_sweep, equilibria, linearize
    from chetaev.parsing import parse
    from chetaev.plot.animation import animate
    from chetaev.principles import Chetaev, DAlembert, Hamilton, Herglotz, Mixed, Principle, Vakonomic, VirtualWork
    from chetaev.registration import register
    from chetaev.report import Report, report
    from chetaev.state import State
    from chetaev.symbols import Coordinate, Input, Parameter, coordinates, delta, inputs, parameters
    from chetaev.system import System
    from chetaev.trajectory import Outcome, Trajectory
    from chetaev.transforms.contact import contact_as_nonholonomic, contact_as_vakonomic
    from chetaev.transforms.coordinates import change_coordinates
    from chetaev.transforms.extended import vakonomic_as_free
    from chetaev.transforms.friction import friction_as_constraint
    from chetaev.transforms.hamel import hamel
    from chetaev.transforms.legendre import hamiltonian
    from chetaev.transforms.lift import lift
    from chetaev.transforms.linear import linearize_constraints
    from chetaev.transforms.morphism import Morphism
    from chetaev.transforms.quasi import reduce_velocities
    from chetaev.transforms.restrict import restrict
    from chetaev.transforms.routh import routh
    from chetaev.transforms.symmetries import symmetries

__version__ = "0.1.0"

_HOMES = {
    "chetaev.analysis.classify": "classify",
    "chetaev.analysis.constraint_algorithm": "constraint_algorithm",
    "chetaev.numerics.analyze": "Analysis Verdict analyze",
    "chetaev.comparison": "Comparison compare",
    "chetaev.constraints": "Constraint VariationalConstraint",
    "chetaev.derivation": "derive",
    "chetaev.dirac_bergmann": "Dirac Presymplectic dirac lagrangian_forms presymplectic reduced_phase_space",
    "chetaev.export": "code",
    "chetaev.forms.constrained_system": "ConstrainedSystem constrain",
    "chetaev.forms.constraint_structure": "ConstraintStructure",
    "chetaev.equations": "Equations",
    "chetaev.errors": "BranchError ChetaevError GaugeError InitialError ModelError NotationError ParameterError PrincipleError "
    "StateError UsageError",
    "chetaev.forms.lepage_equivalent": "lepagean_equivalent",
    "chetaev.forms.multipliers": "integrating_factor",
    "chetaev.forms.tonti": "tonti_lagrangian",
    "chetaev.forms.helmholtz": "helmholtz",
    "chetaev.forms.order_reduction": "reduce_order",
    "chetaev.forms.dynamical": "DynamicalForm",
    "chetaev.forms.regularity": "regularity",
    "chetaev.gallery": "gallery",
    "chetaev.groups.reduction": "reduce",
    "chetaev.io.reading": "load",
    "chetaev.io.writing": "save",
    "chetaev.model": "Model",
    "chetaev.notation": "show to_sympy",
    "chetaev.numerics.ensemble": "Ensemble simulate_many",
    "chetaev.numerics.evaluate": "evaluate residual",
    "chetaev.state": "State",
    "chetaev.numerics.methods.base": "Method",
    "chetaev.numerics.methods.implicit": "Implicit",
    "chetaev.numerics.methods.taylor": "Taylor",
    "chetaev.numerics.events": "On",
    "chetaev.numerics.simulate": "simulate",
    "chetaev.numerics.stability": "Equilibrium Linearization eigenvalue_sweep equilibria linearize",
    "chetaev.parsing": "parse",
    "chetaev.plot.animation": "animate",
    "chetaev.principles": "Chetaev DAlembert Hamilton Herglotz Mixed Principle Vakonomic VirtualWork",
    "chetaev.registration": "register",
    "chetaev.report": "Report report",
    "chetaev.symbols": "Coordinate Input Parameter coordinates delta inputs parameters",
    "chetaev.system": "System",
    "chetaev.trajectory": "Outcome Trajectory",
    "chetaev.transforms.contact": "contact_as_nonholonomic contact_as_vakonomic",
    "chetaev.transforms.coordinates": "change_coordinates",
    "chetaev.transforms.extended": "vakonomic_as_free",
    "chetaev.transforms.friction": "friction_as_constraint",
    "chetaev.transforms.hamel": "hamel",
    "chetaev.transforms.legendre": "hamiltonian",
    "chetaev.transforms.lift": "lift",
    "chetaev.transforms.linear": "linearize_constraints",
    "chetaev.transforms.morphism": "Morphism",
    "chetaev.transforms.quasi": "reduce_velocities",
    "chetaev.transforms.restrict": "restrict",
    "chetaev.transforms.routh": "routh",
    "chetaev.transforms.symmetries": "symmetries",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = ("forms", "groups", "plot", "transforms")

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `import chetaev` costs nothing."""
    if name in _MODULES:
        return import_module(f"chetaev.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'chetaev' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
