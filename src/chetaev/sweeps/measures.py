"""The measures of a sweep. A string is an expression at the end of a motion; every other measure has its own type, so that the name of a
measure is never mistaken for an expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chetaev.core.declarations import read_value
from chetaev.core.errors import UsageError, about, require_mapping
from chetaev.core.fixes import Code, SetArgument
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.smooth_pieces.events import On, read_events

_RESERVED = ("outcome", "done")
"""Names of arrays that every store has."""
_HINT = SetArgument(
    "measure", {"end": "x", "hits": Code('ch.count("theta - pi")'), "time": Code('ch.On("y")'), "top": Code("ch.largest_lyapunov()")}
)


@dataclass(frozen=True)
class Count:
    """The number of times that a motion meets an event; made by `count`."""

    event: On
    """The event."""


@dataclass(frozen=True)
class LargestLyapunov:
    """The largest Lyapunov exponent over the interval of the motion; made by `largest_lyapunov`."""

    segments: int
    """The number of segments of the interval, at whose ends the variation is normalised."""


Measure = str | On | Count | LargestLyapunov


@public
def count(event: Any, direction: int = 0) -> Count:
    """A measure of a sweep: the number of roots of an expression along a motion.

    Args:
        event: The expression, a string, or `On(...)`.
        direction: 1 to count rising roots, -1 falling ones, 0 both; `On(...)` has its own direction.

    Returns:
        The measure.

    Raises:
        UsageError: For an unknown direction.

    >>> count("theta - pi").event.expression
    'theta - pi'
    """
    if direction not in (-1, 0, 1):
        raise UsageError(f"direction = {direction!r} is not known.", where=about("count", "direction"), hint="1 rising, -1 falling, 0 both")
    return Count(event if isinstance(event, On) else On(event, direction=direction))


@public
def largest_lyapunov(segments: int = 50) -> LargestLyapunov:
    """A measure of a sweep: the largest Lyapunov exponent, the mean rate at which neighbouring motions separate.

    The tangent lift of the equations computes a variation along with the motion. Its growth over the first tenth of the interval does not
    count: there it turns to the direction of largest growth. Over a time T, regular motions have values of the order 1/T.

    Args:
        segments: The number of segments of the interval, at whose ends the variation is normalised. Members whose variation grows too
            large get more.

    Returns:
        The measure.

    Raises:
        UsageError: If `segments` is not a positive integer.

    >>> largest_lyapunov().segments
    50
    """
    if isinstance(segments, bool) or not isinstance(segments, int) or segments < 1:
        raise UsageError(f"segments = {segments!r} is not a count.", where="largest_lyapunov", hint=SetArgument("segments", 50))
    return LargestLyapunov(segments)


@dataclass(frozen=True)
class Watched:
    """An event that a measure needs, with the text under which motions report it."""

    event: On
    text: str

    @property
    def key(self) -> tuple[str, int]:
        """A key that identifies the event."""
        return self.text, self.event.direction


def read_measures(given: Any, taken: Mapping[str, Any], where: str) -> Frozen[str, Measure]:
    """The measures by name, checked as far as possible without equations; measures may not use the names in `taken`."""
    require_mapping(given, "measures are", where, _HINT)
    if not given:
        raise UsageError("nothing is measured.", where=about(where, "measures"), hint=_HINT)
    for name, measure in given.items():
        place = f"{where}, measure {name!r}"
        if not isinstance(name, str) or not name or name in taken or name in _RESERVED:
            raise UsageError(f"{name!r} cannot name a measure.", where=where, hint="a name that is neither varied nor outcome or done")
        require_file_name(name, place)
        if not isinstance(measure, str | On | Count | LargestLyapunov):
            raise UsageError(f"{type(measure).__name__} is not a measure.", where=place, hint=_HINT)
        event = measure.event if isinstance(measure, Count) else measure
        if isinstance(event, On) and (event.terminal or event.reset):
            raise UsageError(
                "the event of a measure ends or changes the motion.",
                where=place,
                why="A measure only observes motions.",
                hint="add the event to the events of the model, and measure the same expression without terminal and reset",
            )
    return Frozen(given)


def require_file_name(name: str, where: str) -> None:
    """Raise a UsageError for a name that cannot be an array of a store."""
    if "/" in name or "\\" in name or not name.isprintable() or name.startswith((".", "__")) or name == "zarr.json":
        hint = "a name of printable characters, without slashes, that begins with a letter"
        raise UsageError(f"{name!r} cannot name an array of a store.", where=where, hint=hint)


def check_measures(measures: Mapping[str, Measure], model: Model, equations: Equations, where: str) -> None:
    """Raise an error for a measure that cannot be read with the names of these equations."""
    for name, measure in measures.items():
        place = f"{where}, measure {name!r}"
        if isinstance(measure, str):
            read_value(measure, equations.vocabulary, place)
    rounds_of(measures, model, equations, where)


def rounds_of(measures: Mapping[str, Measure], model: Model, equations: Equations, where: str) -> list[dict[str, Watched]]:
    """The events of measures, divided into runs in which their texts are unique.

    Motions report events by text only, so two directions of one expression need two runs.
    """
    own = watched_events(model.events, equations, where)
    rounds: list[dict[str, Watched]] = []
    for name, measure in measures.items():
        event = measure.event if isinstance(measure, Count) else measure
        if not isinstance(event, On):
            continue
        found = watched_events([event], equations, f"{where}, measure {name!r}")[0]
        same = [other for other in own if other.text == found.text]
        if any(other.key != found.key for other in same):
            what = f"the model has the event {found.text} with another direction."
            raise UsageError(what, where=f"{where}, measure {name!r}", hint="the direction of the event of the model")
        fits = next((r for r in rounds if all(other.text != found.text or other.key == found.key for other in r.values())), None)
        if fits is None:
            rounds.append({name: found})
        else:
            fits[name] = found
    return rounds


def watched_events(events: Any, equations: Equations, where: str) -> list[Watched]:
    """Events with the texts under which motions report them."""
    given = [replace(event, reset=None) if isinstance(event, On) else On(event) for event in events]
    return [Watched(event, read.text) for event, read in zip(given, read_events(given, equations, (), where), strict=True)]


def described(measure: Measure) -> dict[str, Any]:
    """A measure as plain data, for the description of a store."""
    if isinstance(measure, str):
        return {"expression": measure}
    if isinstance(measure, LargestLyapunov):
        return {"largest_lyapunov": {"segments": measure.segments}}
    event = measure.event if isinstance(measure, Count) else measure
    text = event.expression if isinstance(event.expression, str) else show(event.expression)
    return {"count" if isinstance(measure, Count) else "first": {"event": text, "direction": event.direction}}
