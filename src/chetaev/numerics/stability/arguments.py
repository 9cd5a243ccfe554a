"""Reading the arguments of the functions about stability: a state with its parameters, and the motion near it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chetaev.core.errors import InitialError, StateError, UsageError, about
from chetaev.core.fixes import Ask, InPython
from chetaev.core.state import State
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles.given_forces import require_no_contact
from chetaev.numerics.evaluation.evaluate import evaluate_as
from chetaev.numerics.flow.prolongation import Problem, Prolongation, prolongation, square_prolongation
from chetaev.numerics.graphs.binding import bind, number
from chetaev.numerics.stability.corners import require_smooth
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.start.completed import Completed, decided_by_state, on_its_component
from chetaev.numerics.start.data import read_state
from chetaev.numerics.start.initial import complete
from chetaev.numerics.verdict.branch_choice import Selection

Start = State | Mapping[str, Any]


def read_model(
    verb: str, equations: Any, parameters: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None
) -> tuple[Equations, Mapping[str, Any], Mapping[str, Any]]:
    """Return equations, parameters and inputs; given values replace those of a model."""
    if isinstance(equations, Model):
        parameters, inputs = {**equations.parameters, **(parameters or {})}, {**equations.inputs, **(inputs or {})}
        equations = derive(equations)
    if not isinstance(equations, Equations):
        hint = InPython(f"{verb}(ch.derive(system, principle), ...)")
        raise UsageError(f"{verb} takes equations or a model, not {type(equations).__name__}.", where=verb, hint=hint)
    return equations, parameters or {}, inputs or {}


def refuse_choice(verb: str, branch: Any, gauge: Any) -> None:
    """Raise if a branch or a gauge is given, and name the functions that take one."""
    for option, given in {"branch": branch, "gauge": gauge}.items():
        if given is not None:
            raise UsageError(
                f"{verb} takes no {option}.",
                where=about(verb, option),
                why="It works where the equations as stated determine the motion.",
                hint=(
                    Ask("simulate", f"..., {option}=..."),
                    " and ",
                    Ask("evaluate", f"..., {option}=..."),
                    " follow a motion with this choice",
                ),
            )


def local_motion(
    verb: str,
    equations: Any,
    start: Start | None,
    parameters: Mapping[str, Any] | None,
    t: float | None,
    inputs: Mapping[str, Any] | None,
) -> Local:
    """Return the motion near a state, which is completed from the constraints."""
    if isinstance(equations, Model):
        start = equations.start if start is None else start
        t = equations.t[0] if t is None else t
    equations, parameters, inputs = read_model(verb, equations, parameters, inputs)
    where = f"{verb} {equations.system.label}"
    require_no_contact(equations.system, verb)
    if start is None:
        raise UsageError("no state is given.", where=about(where, "start"), hint=InPython(f'{verb}(equations, {{"x": 0, ...}}, ...)'))
    binding = bind(equations.system, parameters, inputs, where)
    t = number(0.0 if t is None else t, dict(binding.parameters), f"{where}, t", InitialError)
    problem = Problem(determined(equations, start, parameters, t, inputs, verb), binding, t, where)
    data = read_state(equations, start, binding, where, expressions=True).on(problem.system)
    jets = complete(problem, data)
    problem = on_its_component(Completed(equations, problem, data, jets)).problem
    try:
        found = Local.of(problem, jets)
    except StateError:
        explain(equations, start, parameters, t, inputs, verb)
        raise
    require_smooth(problem, jets)
    return found


def determined(
    equations: Equations, start: Start, parameters: Mapping[str, Any], t: float, inputs: Mapping[str, Any], verb: str
) -> Prolongation:
    """The rows and their derivatives, if they determine the motion."""
    where = f"{verb} {equations.system.label}"
    stated = square_prolongation(equations)
    if stated is not None and stated.generic_nullity is None:  # random states do not decide, so the given one must
        found = decided_by_state(equations, start, bind(equations.system, parameters, inputs, where), t, where)
        if found is not None:
            return found.problem.system
    system = prolongation(equations)
    if system is None or system.generic_nullity is None:
        explain(equations, start, parameters, t, inputs, verb)
        raise StateError("the equations do not determine the motion.", where=where)
    return system


def explain(equations: Equations, start: Start, parameters: Mapping[str, Any], t: float, inputs: Mapping[str, Any], verb: str) -> None:
    """Raise the error that `evaluate` raises at this state, which names the singular locus, under the name of another `verb`."""
    where = f"{verb} {equations.system.label}"
    binding = bind(equations.system, parameters, inputs, where)
    evaluate_as(equations, binding, Selection(start, t, None, None, where, "evaluate", instant=True))  # hints must name `evaluate`
