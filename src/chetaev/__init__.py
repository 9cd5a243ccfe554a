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
    from chetaev.analysis.classify import classify
    from chetaev.constraints import Constraint, VariationalConstraint
    from chetaev.derivation import derive
    from chetaev.equations import Equations
    from chetaev.errors import (
        ChetaevError,
        InitialError,
        ModelError,
        NotationError,
        ParameterError,
        PrincipleError,
        StateError,
        UsageError,
    )
    from chetaev.gallery import gallery
    from chetaev.model import Model
    from chetaev.notation import show, to_sympy
    from chetaev.numerics.analyze import Analysis, Verdict, analyze
    from chetaev.numerics.ensemble import Ensemble, simulate_many
    from chetaev.numerics.evaluate import evaluate, residual
    from chetaev.numerics.initial import State
    from chetaev.numerics.simulate import On, simulate
    from chetaev.numerics.stability import Equilibrium, Linearization, eigenvalue_sweep, equilibria, linearize
    from chetaev.parsing import parse
    from chetaev.principles import Chetaev, DAlembert, Hamilton, Herglotz, Principle, Vakonomic, VirtualWork
    from chetaev.symbols import Coordinate, Input, Parameter, coordinates, delta, inputs, parameters
    from chetaev.system import System
    from chetaev.trajectory import Outcome, Trajectory

__version__ = "0.1.0"

_HOMES = {
    "chetaev.analysis.classify": "classify",
    "chetaev.numerics.analyze": "Analysis Verdict analyze",
    "chetaev.constraints": "Constraint VariationalConstraint",
    "chetaev.derivation": "derive",
    "chetaev.equations": "Equations",
    "chetaev.errors": "ChetaevError InitialError ModelError NotationError ParameterError PrincipleError StateError UsageError",
    "chetaev.gallery": "gallery",
    "chetaev.model": "Model",
    "chetaev.notation": "show to_sympy",
    "chetaev.numerics.ensemble": "Ensemble simulate_many",
    "chetaev.numerics.evaluate": "evaluate residual",
    "chetaev.numerics.initial": "State",
    "chetaev.numerics.simulate": "On simulate",
    "chetaev.numerics.stability": "Equilibrium Linearization eigenvalue_sweep equilibria linearize",
    "chetaev.parsing": "parse",
    "chetaev.principles": "Chetaev DAlembert Hamilton Herglotz Principle Vakonomic VirtualWork",
    "chetaev.symbols": "Coordinate Input Parameter coordinates delta inputs parameters",
    "chetaev.system": "System",
    "chetaev.trajectory": "Outcome Trajectory",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `import chetaev` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'chetaev' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
