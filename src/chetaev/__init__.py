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
    from chetaev import control, groups, interop, orbits, plot, singular, sweeps, transforms
    from chetaev.core import errors
    from chetaev.core.declarations import parse
    from chetaev.core.errors import ChetaevError
    from chetaev.core.notation import show
    from chetaev.core.sampled import Feedback, Sampled
    from chetaev.core.state import State
    from chetaev.core.symbols import coordinates, delta
    from chetaev.core.system import System
    from chetaev.export import code
    from chetaev.gallery import gallery
    from chetaev.interop.mechanics import from_mechanics
    from chetaev.io.reading import load
    from chetaev.io.writing import save
    from chetaev.mechanics.classify import classify
    from chetaev.mechanics.derivation import derive
    from chetaev.mechanics.model import Model
    from chetaev.mechanics.principles import Chetaev, DAlembert, Hamilton, Herglotz, Mixed, Vakonomic, VirtualWork
    from chetaev.mechanics.servo import servo
    from chetaev.numerics.comparison.compare import compare
    from chetaev.numerics.ensemble import simulate_many
    from chetaev.numerics.evaluation.evaluate import evaluate, residual
    from chetaev.numerics.identification import fit, which
    from chetaev.numerics.methods.implicit import Implicit
    from chetaev.numerics.methods.taylor import Taylor
    from chetaev.numerics.motion.simulate import simulate
    from chetaev.numerics.prepared import prepare
    from chetaev.numerics.smooth_pieces.events import On
    from chetaev.numerics.stability import equilibria, linearize
    from chetaev.numerics.verdict.analyze import analyze
    from chetaev.paths.abnormal import abnormal
    from chetaev.paths.connect import connect
    from chetaev.paths.steering import steer
    from chetaev.plot.animation import animate
    from chetaev.registration import register
    from chetaev.report import report
    from chetaev.singular import forms
    from chetaev.singular.algorithm import constraint_algorithm
    from chetaev.singular.dynamical.dynamical_form import DynamicalForm
    from chetaev.singular.inverse.helmholtz import helmholtz
    from chetaev.studio import studio
    from chetaev.sweeps import sweep

__version__ = VERSION

_HOMES = {
    "chetaev.core.errors": "ChetaevError",
    "chetaev.core.notation": "show",
    "chetaev.core.declarations": "parse",
    "chetaev.core.sampled": "Feedback Sampled",
    "chetaev.core.state": "State",
    "chetaev.core.symbols": "coordinates delta",
    "chetaev.core.system": "System",
    "chetaev.export": "code",
    "chetaev.gallery": "gallery",
    "chetaev.interop.mechanics": "from_mechanics",
    "chetaev.io.reading": "load",
    "chetaev.io.writing": "save",
    "chetaev.mechanics.classify": "classify",
    "chetaev.mechanics.derivation": "derive",
    "chetaev.mechanics.model": "Model",
    "chetaev.mechanics.principles": "Chetaev DAlembert Hamilton Herglotz Mixed Vakonomic VirtualWork",
    "chetaev.mechanics.servo": "servo",
    "chetaev.numerics.comparison.compare": "compare",
    "chetaev.numerics.ensemble": "simulate_many",
    "chetaev.numerics.evaluation.evaluate": "evaluate residual",
    "chetaev.numerics.identification": "fit which",
    "chetaev.numerics.methods.implicit": "Implicit",
    "chetaev.numerics.methods.taylor": "Taylor",
    "chetaev.numerics.motion.simulate": "simulate",
    "chetaev.numerics.smooth_pieces.events": "On",
    "chetaev.numerics.prepared": "prepare",
    "chetaev.numerics.stability": "equilibria linearize",
    "chetaev.numerics.verdict.analyze": "analyze",
    "chetaev.paths.abnormal": "abnormal",
    "chetaev.paths.connect": "connect",
    "chetaev.paths.steering": "steer",
    "chetaev.plot.animation": "animate",
    "chetaev.registration": "register",
    "chetaev.report": "report",
    "chetaev.singular.algorithm": "constraint_algorithm",
    "chetaev.singular.dynamical.dynamical_form": "DynamicalForm",
    "chetaev.singular.inverse.helmholtz": "helmholtz",
    "chetaev.studio": "studio",
    "chetaev.sweeps": "sweep",
}
"""The names a first program uses, by the modules that define them; the imports above repeat them for type checkers."""

_MODULES = {
    "control": "chetaev.control",
    "errors": "chetaev.core.errors",
    "forms": "chetaev.singular.forms",
    "groups": "chetaev.groups",
    "interop": "chetaev.interop",
    "orbits": "chetaev.orbits",
    "plot": "chetaev.plot",
    "singular": "chetaev.singular",
    "sweeps": "chetaev.sweeps",
    "transforms": "chetaev.transforms",
}
"""Public modules by the name under which `chetaev` offers them."""

_ALSO = {
    "chetaev.control": "Basin LyapunovCertificate Wavefront basin lyapunov_certificate wavefront",
    "chetaev.mechanics.analysis": "Analysis Verdict",
    "chetaev.mechanics.equations": "Equations",
    "chetaev.numerics.methods.base": "Method",
    "chetaev.core.rows.constraints": "Constraint VariationalConstraint",
    "chetaev.core.errors": "BranchError GaugeError InitialError ModelError NotationError ParameterError PrincipleError StateError "
    "UnfinishedError UsageError",
    "chetaev.core.notation": "to_sympy",
    "chetaev.core.symbols": "Coordinate Input Parameter inputs parameters",
    "chetaev.mechanics.principles": "AsStated Principle",
    "chetaev.mechanics.prolonged.constraints": "prolong_constraints",
    "chetaev.numerics.comparison.compare": "Comparison",
    "chetaev.numerics.ensemble": "Ensemble",
    "chetaev.numerics.identification": "Answer Fit",
    "chetaev.numerics.motion.trajectory": "Outcome Trajectory",
    "chetaev.numerics.prepared": "Prepared",
    "chetaev.numerics.stability": "Equilibrium Linearization eigenvalue_sweep",
    "chetaev.numerics.verdict.implicit_equation": "implicit_equation",
    "chetaev.paths.abnormal": "Abnormal",
    "chetaev.paths.path": "Path Paths",
    "chetaev.paths.steering": "Steering",
    "chetaev.report": "Report",
    "chetaev.sweeps": "Sample Sweep count grid largest_lyapunov open_sweep sample",
    "chetaev.singular": "ConstrainedSystem ConstraintStructure ContactGeometry Dirac LagrangianBundle Precontact Presymplectic constrain "
    "contact_geometry dirac integrating_factor lagrangian_bundle lagrangian_forms lepagean_equivalent precontact presymplectic "
    "reduce_order regularity semiholonomic semiholonomic_degree tonti_lagrangian",
    "chetaev.transforms": "Morphism change_coordinates contact_as_nonholonomic contact_as_vakonomic friction_as_constraint hamel "
    "hamiltonian lift linearize_constraints reduce reduce_velocities reduced_phase_space restrict routh symmetries tangent "
    "vakonomic_as_free",
}
"""Names that live in other public modules, or are results of verbs; `chetaev` knows them too, and does not list them."""

_HOME = {name: module for table in (_ALSO, _HOMES) for module, names in table.items() for name in names.split()}

__all__ = sorted([*" ".join(_HOMES.values()).split(), *_MODULES])
ALSO = sorted(" ".join(_ALSO.values()).split())
"""The names that are known and not listed."""


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
