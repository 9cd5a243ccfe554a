"""Events: roots of expressions along a motion, which may end the motion or change its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr

from chetaev.core.declarations import read_value
from chetaev.core.errors import Location, UsageError, require_mapping
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations


@public
@dataclass(frozen=True)
class On:
    """An event: a root of `expression`, a text or an expression in jets and multipliers.

    `terminal` ends the run there. `direction` is +1 for rising, -1 for falling, 0 for both. `reset` gives new values to jets of the
    state, as numbers or expressions in the state before: `On("x", direction=-1, reset={"x'": "-e*x'"})` is an impact with coefficient of
    restitution e. Jets of lower order than the reset ones stay unchanged; the others move onto the constraints by the smallest change. New
    values that contradict the constraints raise an error. Each of several events at the same time may end the motion, and all resets use
    the state before; the first listed reset takes precedence where two differ.

    Roots are changes of sign, also by a jump, of the expression itself or of an input or a force that it contains; a pole is not a root.
    Within a step of the integrator, bounds of the expression and of its rate prove where it has no root or one root: no root is missed, not
    even in a narrow dip, down to 1e-11 of a step. Where log(x) has no value it has no root. An expression with accelerations or
    multipliers, which are not part of the state, is evaluated at several points of each step instead, and the step is shortened until the
    expression is smooth between them. An expression that is proved to be constant along the motion, such as the energy minus its first
    value, has no root: its changes of sign are round-off.

    A motion that starts on the surface of an event with a `direction`, and passes through it in this direction, meets it immediately: a
    ball that starts on the floor and moves downwards bounces. Other roots at the start are not events: without a direction, if the motion
    leaves the surface to the other side, and roots of expressions in velocities without a `reset`, which are zero because the motion starts
    at rest.
    """

    expression: Any
    terminal: bool = False
    direction: int = 0
    reset: Mapping[Any, Any] | None = None

    def __post_init__(self) -> None:
        if self.reset is not None:
            require_mapping(self.reset, "new values of a reset are", "On", InPython('On("x", reset={"x\'": "-e*x\'"})'))
            object.__setattr__(self, "reset", Frozen(self.reset))


@dataclass(frozen=True)
class Watched:
    """An event with its expression parsed, and the new values by jet."""

    expression: Expr
    terminal: bool
    direction: int
    reset: Frozen[Jet, Expr] | None
    text: str = field(compare=False, default="")

    @property
    def stops(self) -> bool:
        """Whether the integrator has to stop there."""
        return self.terminal or self.reset is not None


def read_events(given: Sequence[Any], equations: Equations, state: Sequence[Jet], where: str) -> tuple[Watched, ...]:
    """Parse the user's events."""
    found = []
    if isinstance(given, str | On) or not isinstance(given, Sequence):
        raise UsageError("events are not given as a list.", where=where, hint=SetArgument("events", ["x"]))
    for k, event in enumerate(given):
        place = Location(where).at("events", k)
        event = event if isinstance(event, On) else On(event)
        if event.direction not in (-1, 0, 1):
            raise UsageError(f"direction={event.direction!r} is not known.", where=place, hint="1 rising, -1 falling, 0 both")
        expression = read_value(event.expression, equations.vocabulary, place)
        reset = None if not event.reset else _read_reset(event.reset, equations, state, place)
        found.append(Watched(expression, bool(event.terminal), event.direction, reset, show(expression)))
    return tuple(found)


def _read_reset(given: Mapping[Any, Any], equations: Equations, state: Sequence[Jet], where: str) -> Frozen[Jet, Expr]:
    values: dict[Jet, Expr] = {}
    for key, value in given.items():
        jet = read_value(key, equations.vocabulary, where)
        if not isinstance(jet, Jet) or jet not in state:
            names = " ".join(z.name for z in state)
            raise UsageError(f"{key} is not part of the state, and cannot be reset.", where=where, hint=f"the state is {names}")
        values[jet] = read_value(value, equations.vocabulary, f"{where}, {jet.name}")
    return Frozen(values)
