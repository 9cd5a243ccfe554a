"""The registry of theorems with their command-line options, their input, and hypotheses that several of them share.

The input of a transformation is a system, a model or equations, under the principle that the theorem needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from sympy import Expr

from chetaev.core.errors import PrincipleError, UsageError, about
from chetaev.core.fixes import Advice, Ask, InPython, UsePrinciple
from chetaev.core.symbols import Coordinate, order_in
from chetaev.core.system import System, fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.principles import Hamilton, Principle, VirtualWork
from chetaev.mechanics.principles.given_forces import require_given_forces
from chetaev.transforms.tools.options import Option, options_of

Verb = Callable[..., Any]


@dataclass(frozen=True)
class Theorem:
    """A verb that returns a Morphism."""

    verb: Verb
    options: Mapping[str, Option] = field(default_factory=dict)
    """The options of the command line, each with the argument of the verb that it gives."""


THEOREMS: dict[str, Theorem] = {}
"""Every theorem under its name with hyphens."""


def theorem(**options: Option) -> Callable[[Verb], Verb]:
    """Register a verb for the command line: `@theorem(order=Option("n", Form.INTEGER))` has the option `--order` for the argument `n`."""

    def known(verb: Verb) -> Verb:
        return _registered(_with_given_forces(verb), options)

    return known


def _with_given_forces(verb: Verb) -> Verb:
    """The verb with a check that raises an error for forces that are not functions of time and state."""

    @wraps(verb)
    def checked(given: Any, *arguments: Any, **options: Any) -> Any:
        system = given if isinstance(given, System) else getattr(given, "system", None)
        if isinstance(system, System):
            require_given_forces(system, verb.__name__)
        return verb(given, *arguments, **options)

    return checked


def _registered(verb: Verb, options: Mapping[str, Option]) -> Verb:
    """Note a verb for the command line."""
    name = verb.__name__.replace("_", "-")
    other = THEOREMS.get(name)
    if other is not None and (other.verb.__module__, other.verb.__qualname__) != (verb.__module__, verb.__qualname__):
        raise UsageError(f"{name} is the name of another theorem.", where="theorem", hint="choose another name")
    THEOREMS[name] = Theorem(verb, options)
    return verb


def register_theorem(verb: Verb) -> Verb:
    """Register the verb of an extension: a function of the source that returns a Morphism.

    Its other arguments are options of the command line under their own names (`chetaev.transforms.tools.options`); those without a default
    are required.
    """
    given = list(signature(verb).parameters.values())
    if not given or given[0].kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        hint = InPython("def mine(source, *, order=1) -> ch.transforms.Morphism: ...")
        raise UsageError(f"{verb.__name__} takes no system to transform.", where="register", hint=hint)
    return _registered(verb, options_of(verb))


def equations_of(given: Any, principle: Principle, verb: str, groups: bool = False) -> Equations:
    """The equations of `given`: a model or equations keep their principle, a system is derived under `principle`.

    With `groups`, the theorem holds in every frame, and group coordinates are allowed.
    """
    equations = given if isinstance(given, Equations) else derive(given, None if hasattr(given, "principle") else principle)
    if not groups:
        require_coordinates(equations.system, verb)
    return equations


def source_under(given: Any, principle: Principle, verb: str, groups: bool = False) -> Equations:
    """The equations of `given` under `principle`; a model or equations must already be under this principle, or have its normal form."""
    equations = equations_of(given, principle, verb, groups)
    if equations.principle != principle and not _has_form_of(equations, principle):
        raise PrincipleError(
            f"{equations.system.label} is under {equations.principle}; {verb} needs {principle}.",
            where=about(f"{verb} {equations.system.label}", "principle"),
            hint=_way_to(equations, principle, verb),
        )
    return equations


def _has_form_of(equations: Equations, principle: Principle) -> bool:
    """Whether another principle, such as a mixture or one of the user, gives the normal form of `principle` to a system with rows.

    Without rows all principles agree, and equality would not mean that this one was intended.
    """
    if not equations.system.kinematic:
        return False
    try:
        return equations.lowered == principle.lower(equations.system)
    except PrincipleError:
        return False


def _way_to(equations: Equations, principle: Principle, verb: str) -> Advice:
    """A hint how to bring a system under `principle`, or another transformation if constraints or an action exclude that."""
    if equations.lowered.action is not None:
        if equations.lowered.costates:
            return Ask("contact_as_vakonomic", "..."), " first"
        return Ask("symmetries", "..."), " gives the momenta of contact systems"
    if isinstance(principle, Hamilton) and equations.system.kinematic:
        first, always = Ask("restrict", "..."), Ask("symmetries", "...")
        return first, " first, where the constraints are holonomic; ", always, " gives the momenta in any case"
    return UsePrinciple(principle, "system", verb)


def with_reactions(given: Any, verb: str) -> Equations:
    """The equations of `given`, whose constraints must all have reactions; a system
    with stated variations is derived under `VirtualWork`.
    """
    if isinstance(given, Equations):
        equations = given
    elif getattr(given, "variational", None) is not None and not hasattr(given, "principle"):
        equations = derive(given, VirtualWork())
    else:
        equations = derive(given)
    if equations.lowered.costates or equations.lowered.action is not None:
        raise PrincipleError(
            f"{equations.system.label} is under {equations.principle}.",
            where=about(f"{verb} {equations.system.label}", "principle"),
            why="The theorem is about constraints with reactions (kinematic and variational constraints).",
            hint="vakonomic_as_free, contact_as_nonholonomic or contact_as_vakonomic first",
        )
    return equations


_LOWER_ORDER = Ask("hamiltonian", "system")


def require_first_order(lagrangian: Expr, where: str, why: str = "", hint: Advice = _LOWER_ORDER) -> None:
    """Raise a PrincipleError if the Lagrangian contains derivatives of higher order than velocities."""
    if order_in(lagrangian, Coordinate) > 1:
        raise PrincipleError("the Lagrangian contains second or higher derivatives.", where=about(where, "lagrangian"), why=why, hint=hint)


def require_affine_rows(system: System, where: str, why: str) -> None:
    """Raise a PrincipleError unless all kinematic rows are affine in the velocities."""
    for label, row in system.kinematic_rows():
        if row.kind not in ("holonomic", "linear", "affine"):
            hint = (Ask("lift", "system"), " first; with n >= k + 1 its rows are affine")
            raise PrincipleError(
                f"{label} is not affine in the velocities: {row}", where=about(where, "kinematic", row=label), why=why, hint=hint
            )


def require_new_names(names: Sequence[str], system: System, where: str) -> None:
    """Raise a UsageError if one of `names` already has a meaning in `system`."""
    for name, free in zip(names, fresh_coordinates(system, names), strict=True):
        if name != free.base:
            raise UsageError(f"{name} already has a meaning.", where=where, hint="another name")
