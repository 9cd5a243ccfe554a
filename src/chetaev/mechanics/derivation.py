"""derive: from a system and a principle to its equations."""

from __future__ import annotations

from typing import Any

from chetaev.core.errors import PrincipleError, UsageError, about
from chetaev.core.fixes import Ask, InPython, SetPart, UsePrinciple
from chetaev.core.support.public import public
from chetaev.core.symbols import jets_in
from chetaev.core.system import System
from chetaev.mechanics.classify import constraints_are_holonomic
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import AsStated, Chetaev, DAlembert, Hamilton, Herglotz, Lowered, Principle, Vakonomic, VirtualWork


@public
def derive(system: Any, principle: Principle | None = None) -> Equations:
    """The equations of motion of a system under a principle.

    Args:
        system: A system; a model, which has a principle; or a dynamical form, constrained or not, which needs none: the rows are minus
            those of the form, and a constraint acts on them by the multipliers of its canonical distribution.
        principle: The principle. It may be left out for a system without constraints, which obeys Hamilton's principle; where several
            principles are possible none is chosen silently.

    Returns:
        The equations, as labelled rows.

    Raises:
        UsageError: If `system` is neither a system nor a model.
        PrincipleError: If a principle is needed and missing, or does not apply to the system.

    >>> oscillator = System("x", "m k", lagrangian="m/2*x'^2 - k/2*x^2", name="oscillator")
    >>> print(derive(oscillator))
    oscillator · Hamilton()
      E_x  k*x + m*x'' = 0
      1 equation for 1 unknown: x
    """
    stated = getattr(system, "as_equations", None)
    if stated is not None:
        return _of_form(system, stated, principle)
    system, principle = _with_principle(system, principle)
    lowered = principle.lower(system)
    _require_velocities(lowered)
    return Equations(lowered, principle)


def _of_form(form: Any, stated: Any, principle: Principle | None) -> Equations:
    """The equations of a dynamical form, which no principle can change."""
    if principle is not None:
        raise PrincipleError(
            f"{form.label} is a dynamical form, and {principle} is named.",
            where=about(f"derive {form.label}", "principle"),
            why="A form is its own equations: nothing is varied, and its constraint has one canonical distribution.",
            hint=(Ask("derive", "form"), ", or ", Ask("derive", "system, principle"), " for a system with a Lagrangian"),
        )
    found: Equations = stated()
    return found


def _with_principle(given: Any, principle: Principle | None) -> tuple[System, Principle]:
    system = given if isinstance(given, System) else getattr(given, "system", None)
    if not isinstance(system, System):
        hint = Ask("derive", f'ch.gallery("{given}")') if isinstance(given, str) else Ask("derive", "system, principle")
        raise UsageError(f"derive takes a System or a Model, not {type(given).__name__}.", where=about("derive", "system"), hint=hint)
    if principle is None and system is not given:
        principle = given.principle
    if isinstance(principle, type) and issubclass(principle, Principle):
        raise PrincipleError(
            f"{principle.__name__} is a class.",
            where=about(f"derive {system.label}", "principle"),
            hint=InPython(f"{principle.__name__}()"),
        )
    if principle is None:
        return system, _only_principle(system)
    if not isinstance(principle, Principle):
        raise PrincipleError(
            f"{principle!r} is not a principle.",
            where=about(f"derive {system.label}", "principle"),
            hint=("for example ", UsePrinciple(DAlembert())),
        )
    return system, principle


def _only_principle(system: System) -> Principle:
    """Hamilton's principle, if the system has no constraints and no action variable; else a PrincipleError."""
    call = system.name if system.name.isidentifier() else "system"
    where = f"derive {system.label}"
    if system.action is not None:
        raise PrincipleError(
            f"The system has an action variable {system.action.base} and no principle is named.",
            where=about(where, "action"),
            hint=UsePrinciple(Herglotz(DAlembert()) if system.kinematic else Herglotz(), call),
        )
    if system.equations:
        return AsStated()
    if system.variational is not None:
        raise PrincipleError(
            "Variational rows and no principle named.", where=about(where, "variational"), hint=UsePrinciple(VirtualWork(), call)
        )
    if not system.kinematic:
        return Hamilton()
    holonomic = constraints_are_holonomic(system)
    kind = {True: "holonomic ", False: "nonholonomic ", None: ""}[holonomic]
    if not holonomic and any(row.kind == "holonomic" for row in system.kinematic):
        kind = ""
    count = _counted(len(system.kinematic), f"{kind}constraint")
    why = "d'Alembert and vakonomic motions agree here." if holonomic else "d'Alembert and vakonomic motions differ here."
    affine = all(row.kind in ("holonomic", "linear", "affine") for row in system.kinematic)
    raise PrincipleError(
        f"{count} and no principle named.",
        where=about(where, "principle"),
        why=why if affine else "Chetaev and vakonomic motions differ here.",
        hint=[UsePrinciple(p, call) for p in (DAlembert() if affine else Chetaev(), Vakonomic())],
    )


def _require_velocities(lowered: Lowered) -> None:
    """Raise a PrincipleError for a Lagrangian without velocities, unless forces, dissipation or rows contain some."""
    system = lowered.system
    moving = [lowered.lagrangian, *system.equations.values(), system.dissipation, *system.forces.values()]
    deliberate = system.lagrangian == 0 and (system.equations or system.kinematic or system.forces)
    if not deliberate and not any(z.order for e in moving for z in jets_in(e)):
        raise PrincipleError(
            "The Lagrangian contains no velocity.",
            where=about(f"derive {system.label}", "lagrangian"),
            why="Nothing in it resists acceleration, so no motion follows.",
            hint=("velocities are written x'; for a system without inertia give its dissipation or ", SetPart("lagrangian", 0)),
        )


def _counted(number: int, noun: str) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six")
    return f"{words[number] if number < len(words) else number} {noun}{'s' * (number != 1)}"
