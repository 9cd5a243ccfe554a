"""The arguments of a simulation: those that a model file can hold, and those that it cannot.

A report, or a saved motion, repeats the run: it needs the data as given, not as completed, and the method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Expr

from chetaev.core.notation import show
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.model import Model
from chetaev.numerics.methods import METHODS
from chetaev.numerics.smooth_pieces.events import On, Watched

if TYPE_CHECKING:
    from chetaev.numerics.methods.accuracy import Accuracy
    from chetaev.numerics.methods.base import Method
    from chetaev.numerics.motion.trajectory import Trajectory
    from chetaev.numerics.smooth_pieces.request import Request

MOST_STEPS = 1_000_000
"""Default limit of the steps of a motion, a run of minutes. A motion that needs more ends with `step_too_small`."""

MOST_TIMES = 20_000
"""Times that a model file holds: 400 kB of the 1 MB that is read. Of more it holds the first and the last, and a report says so."""
_USUAL_TOLERANCE = 1e-9
"""The tolerance of a model made from a motion whose tolerance is not known: the default of `simulate`."""


@dataclass(frozen=True)
class Asked:
    """The start as it was given, the interval or the times, the method, and the other arguments of `simulate`."""

    start: State
    t: tuple[float, ...]
    method: Method | None
    """None for an unregistered method of a motion that was loaded from a file."""
    besides: tuple[str, ...] = ()
    """The names of arguments that a model file cannot hold."""
    settings: Frozen[str, Any] = field(default_factory=lambda: Frozen({}))
    """The other arguments, under the names of the fields of `Model`."""


def is_usual(method: Method | None) -> bool:
    """Tell whether a method is the default."""
    return method is None or METHODS.get("explicit") is type(method)


def settled(accuracy: Accuracy, request: Request, choice: Mapping[str, Any], rewritten: bool) -> tuple[Frozen[str, Any], tuple[str, ...]]:
    """Return the settings of a run under the names of the fields of `Model`, and the names of those that a model file cannot hold."""
    found: dict[str, Any] = {"tolerance": (accuracy.relative, accuracy.absolute) if accuracy.absolute > 0 else accuracy.relative}
    found |= _limits(request.max_step, request.max_steps, request.final)
    if request.slopes is not None:
        found["slopes"] = request.slopes.names
    if accuracy.scale:
        found["scale"] = accuracy.scale
    if request.conserve:
        found["conserve"] = "energy"
    if request.events:
        found["events"] = tuple(map(_event, request.events))
    if choice["gauge"]:
        found["gauge"] = Frozen({in_words(name): in_words(value) for name, value in choice["gauge"].items()})
    branch = choice["branch"]
    if isinstance(branch, int | str):
        found["branch"] = branch
    left_out = {
        "a branch that is given as an object": branch is not None and "branch" not in found,
        "rows that were rewritten": rewritten,
        f"the method {type(request.method).__name__}": not METHODS.holds(request.method),
    }
    return Frozen(found), tuple(name for name, left in left_out.items() if left)


def plain_settings(
    accuracy: Accuracy, motion: Trajectory, max_steps: int, max_step: float, final: bool
) -> tuple[Frozen[str, Any], tuple[str, ...]]:
    """Settings that a file keeps and names of those left out, for motions by the default method without events, branch or gauge."""
    found: dict[str, Any] = {"tolerance": (accuracy.relative, accuracy.absolute) if accuracy.absolute > 0 else accuracy.relative}
    found |= _limits(max_step, max_steps, final)
    if motion.slopes is not None:
        found["slopes"] = motion.slopes.directions.names
    return Frozen(found), ("rows that were rewritten",) if motion.equations.rewritten is not None else ()


def _limits(max_step: float, max_steps: int, final: bool) -> dict[str, Any]:
    """The limits of steps, and what is stored, where they are not the usual ones."""
    found: dict[str, Any] = {"max_step": max_step} if math.isfinite(max_step) else {}
    return found | ({"max_steps": max_steps} if max_steps != MOST_STEPS else {}) | ({"keep": "final"} if final else {})


def in_words(given: Any) -> str:
    """Return an expression, a number or a text as a text of the notation with the same meaning."""
    if isinstance(given, str):
        return given
    return show(given) if isinstance(given, Expr) else repr(float(given))


def described(event: Any) -> dict[str, Any]:
    """Return an event as texts, numbers and truth values, without defaults."""
    event = event if isinstance(event, On) else On(event)
    found: dict[str, Any] = {"expression": in_words(event.expression)}
    if event.terminal:
        found["terminal"] = True
    if event.direction:
        found["direction"] = int(event.direction)
    if event.reset:
        found["reset"] = {in_words(name): in_words(value) for name, value in event.reset.items()}
    return found


def event_of(given: Mapping[str, Any]) -> On:
    """Return the event of such a description."""
    return On(given["expression"], bool(given.get("terminal", False)), int(given.get("direction", 0)), given.get("reset"))


def _event(watched: Watched) -> On:
    reset = None if watched.reset is None else {z.name: show(value) for z, value in watched.reset.items()}
    return On(show(watched.expression), watched.terminal, watched.direction, reset)


def model_of(motion: Trajectory) -> Model:
    """Return the model that simulates to the same motion: its values, inputs, method, and the start as it was given."""
    equations, asked = motion.equations, motion.asked
    system = equations.system
    values = {p.name: float(motion[p.name][0]) for p in system.parameters}
    bound: Any = getattr(getattr(motion.reader, "binding", None), "inputs", {})
    samples: Any = getattr(motion.reader, "samples", {})
    open_inputs = [z.base for z, u in system.inputs.items() if u is None and z.base in bound]
    inputs = {name: samples[name] if name in samples else show(bound[name]) for name in open_inputs}
    start = {z.name: float(v) for z, v in zip(motion.jets, motion.states[0], strict=False)}
    t = (float(motion.t[0]), float(motion.end[0]))
    tolerance = motion.tolerance if np.isfinite(motion.tolerance) else _USUAL_TOLERANCE
    given = Model(system, equations.principle, values, State(start), t, tolerance, inputs, scene=motion.scene)
    return given if asked is None else replace(given, start=asked.start, t=asked.t, method=asked.method, **asked.settings)
