"""section: the points where motions cross a surface, after H. Poincaré, located as events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.smooth_pieces.events import On, read_events

Array = NDArray[np.float64]


@public
@dataclass(frozen=True, eq=False, repr=False)
class Crossings:
    """The states at which motions cross a surface, in the order of time: `crossings["x'"]` is a column."""

    t: Array
    """The times."""
    columns: Mapping[str, Array]
    """The jets of the state, by name."""
    member: NDArray[np.int64] | None
    """For an ensemble, the index of the member; None for a single motion."""
    surface: str
    """The surface, as it was given."""

    def __getitem__(self, name: str) -> Any:
        if name == "t":
            return self.t
        if name == "member" and self.member is not None:
            return self.member
        if name not in self.columns:
            raise UsageError(f"{name} is not in the state.", where=f"section {self.surface}", hint=" ".join(self.columns))
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return f"section {self.surface}: {len(self)} crossings"


@public
def section(
    motions: Any,
    surface: str,
    direction: int = 0,
    *,
    start: State | Mapping[str, Any] | None = None,
    t: Any = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Crossings:
    """Find the points where motions cross a surface.

    A motion, or each motion of an ensemble, is integrated again with an event on the surface. With equations and a start, the motion is not
    stored, so that it may be long.

    Args:
        motions: A motion, an ensemble whose members are motions, equations or a model.
        surface: The surface: `"x = 0"`, or an expression that vanishes on it.
        direction: 1 for crossings where the expression rises, -1 where it falls, 0 for both.
        start: The start, with equations.
        t: The interval, with equations.
        parameters: Values of the parameters, with equations.
        settings: Further arguments of `simulate`.

    Returns:
        Times and states at the crossings.

    Raises:
        UsageError: For an argument of a wrong type.

    >>> from chetaev import System, derive
    >>> oscillator = derive(System("x", lagrangian="x'^2/2 - x^2/2"))
    >>> found = section(oscillator, "x = 0", 1, start={"x": 0.5, "x'": 0}, t=(0, 20))
    >>> (found.t / 3.141592653589793).round(6).tolist()
    [1.5, 3.5, 5.5]
    """
    if direction not in (-1, 0, 1):
        raise UsageError(
            f"direction = {direction!r} is neither 1, -1 nor 0.", where=about("section", "direction"), hint="1 for rising crossings"
        )
    event = On(_residual(surface), direction=direction)
    if isinstance(motions, Trajectory):
        return _joined([_again(motions, event)], surface, False)
    if hasattr(motions, "members") or hasattr(motions, "motion"):
        return _joined([_again(motions[k], event) for k in range(len(motions))], surface, True)
    if t is None:
        hint = Ask("section", 'equations, "x = 0", start={...}, t=(0, 100)')
        raise UsageError("section of equations needs a start and an interval.", where="section", hint=hint)
    motion = simulate(motions, start, t, parameters=parameters, events=[event], keep="final", progress=False, **settings)
    return _joined([motion], surface, False)


def _residual(surface: str) -> str:
    left, equals, right = str(surface).partition("=")
    return f"({left.strip()}) - ({right.strip()})" if equals else str(surface)


def _again(motion: Trajectory, event: On) -> Trajectory:
    """The motion, integrated again with the event and without storing its points."""
    asked = motion.asked
    if asked is None:
        raise UsageError(
            "this motion was not made by simulate and cannot be integrated again.", where="section", hint="a motion of simulate"
        )
    settings = {name: v for name, v in asked.settings.items() if name != "events"}
    events = [*asked.settings.get("events", ()), event]  # its own events may have changed the motion
    binding: Any = cast(Any, motion.reader).binding
    values = {p.name: binding.parameters[p] for p in motion.equations.system.parameters}
    found: Trajectory = simulate(
        motion.equations,
        asked.start,
        asked.t,
        parameters=values,
        inputs=binding.inputs,
        method=asked.method,
        events=events,
        keep="final",
        progress=False,
        **settings,
    )
    return replace(found, events=tuple(e for e in found.events if e.text == _text_of(found, event)))


def _text_of(motion: Trajectory, event: On) -> str:
    return read_events([event], motion.equations, motion.jets, "section")[0].text


def _joined(motions: list[Trajectory], surface: str, several: bool) -> Crossings:
    events = [(k, event) for k, motion in enumerate(motions) for event in motion.events]
    names = list(dict.fromkeys(name for _, event in events for name in event.state)) or [z.name for z in motions[0].jets]
    columns = {name: np.array([event.state.get(name, np.nan) for _, event in events]) for name in names}
    member = np.array([k for k, _ in events], dtype=np.int64) if several else None
    return Crossings(np.array([event.t for _, event in events]), Frozen(columns), member, surface)
