"""What a simulation was asked for, as far as a model file can hold it, and what it cannot.

A report, or a saved motion, repeats the run: it needs the data as they were given, not as they were completed, and the method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sympy import Expr

from chetaev.core.notation import show
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.numerics.methods.registry import METHODS
from chetaev.numerics.pieces.events import On, Watched

if TYPE_CHECKING:
    from chetaev.numerics.methods.accuracy import Accuracy
    from chetaev.numerics.methods.base import Method
    from chetaev.numerics.pieces.request import Request

MOST_STEPS = 1_000_000
"""Steps that a motion may take unless the user says otherwise: a run of minutes."""


@dataclass(frozen=True)
class Asked:
    """The start as it was given, the interval, the method, and the other arguments of `simulate`."""

    start: State
    t: tuple[float, float]
    method: Method | None
    """None for one without a word, of a motion that comes from a file."""
    besides: tuple[str, ...] = ()
    """Those that a model file has no words for."""
    settings: Frozen[str, Any] = field(default_factory=lambda: Frozen({}))
    """Those that it has words for, under the names that a `Model` has for them."""


def is_usual(method: Method | None) -> bool:
    """Whether a method is the one that is used where none is named."""
    return method is None or METHODS.get("explicit") is type(method)


def settled(accuracy: Accuracy, request: Request, choice: Mapping[str, Any], rewritten: bool) -> tuple[Frozen[str, Any], tuple[str, ...]]:
    """The settings of a run under the names that a model has for them, and the names of those that a model file cannot hold."""
    found: dict[str, Any] = {"tolerance": (accuracy.relative, accuracy.absolute) if accuracy.absolute > 0 else accuracy.relative}
    if math.isfinite(request.max_step):
        found["max_step"] = request.max_step
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
        "a number of steps": request.max_steps != MOST_STEPS,
        f"the method {type(request.method).__name__}": not METHODS.holds(request.method),
    }
    return Frozen(found), tuple(name for name, left in left_out.items() if left)


def in_words(given: Any) -> str:
    """An expression, a number or a text as a text of the notation that is read back as the same."""
    if isinstance(given, str):
        return given
    return show(given) if isinstance(given, Expr) else repr(float(given))


def described(event: Any) -> dict[str, Any]:
    """An event as texts, numbers and truth values, what is usual left out."""
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
    """The event of such a description."""
    return On(given["expression"], bool(given.get("terminal", False)), int(given.get("direction", 0)), given.get("reset"))


def _event(watched: Watched) -> On:
    reset = None if watched.reset is None else {z.name: show(value) for z, value in watched.reset.items()}
    return On(show(watched.expression), watched.terminal, watched.direction, reset)
