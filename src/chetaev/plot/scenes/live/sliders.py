"""The sliders of a page: parameters and initial values with their ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chetaev.core.errors import InitialError, UsageError, did_you_mean
from chetaev.core.fixes import Fix, SetArgument, sentences
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.mechanics.model import Model
from chetaev.numerics.graphs.binding import number_of
from chetaev.numerics.motion.trajectory import Trajectory

_BESIDE = 0.01
"""Fraction of a range by which an initial value is moved to learn whether it is free; contradictions are found at far smaller ones."""


@dataclass(frozen=True)
class Slide:
    """A slider: `kind` is `"parameters"` or `"start"`, the argument of the module's `simulate` that takes its value."""

    name: str
    kind: str
    low: float
    high: float
    value: float

    @property
    def words(self) -> str:
        """The name of the slider for screen readers."""
        return self.name if self.kind == "parameters" else f"{self.name} at the start"

    @property
    def data(self) -> dict[str, Any]:
        """The slider as data for the script of the page."""
        return {"name": self.name, "kind": self.kind, "low": self.low, "high": self.high, "value": self.value}


def read_sliders(given: Any, motion: Trajectory, model: Model, where: str) -> tuple[Slide, ...]:
    """Return the sliders that a mapping from names to ranges describes. A range is widened to contain the value of the motion."""
    hint = SetArgument("sliders", {"a": (0.1, 1), "theta'": (-1, 1)})
    if not isinstance(given, Mapping) or not given:
        raise UsageError("sliders are a mapping from names to ranges.", where=where, hint=hint)
    parameters = {p.name: float(motion[p.name][0]) for p in motion.equations.system.parameters}
    state = {z.name: float(v) for z, v in zip(motion.jets, motion.states[0], strict=False)}
    found: list[Slide] = []
    for name, limits in given.items():
        word = spell(str(name))
        known = parameters if word in parameters else state
        if word not in known:
            suggestion = did_you_mean(word, [*parameters, *state])
            what = f"{word} is neither a parameter nor in the state of the motion."
            raise UsageError(what, where=where, hint=sentences(suggestion, f"Known: {' '.join([*parameters, *state])}"))
        low, high = _range(word, limits, f"{where}, slider {word}", hint)
        value = known[word]
        kind = "parameters" if known is parameters else "start"
        if kind == "start":
            _require_free(word, value, (low, high), model, where)
        found.append(Slide(word, kind, min(low, value), max(high, value), value))
    if len({slide.name for slide in found}) < len(found):
        raise UsageError("two sliders have the same name.", where=where, hint=hint)
    return tuple(found)


def _range(name: str, given: Any, where: str, hint: Fix) -> tuple[float, float]:
    try:
        low, high = (number_of(name, v, where, UsageError) for v in given)
    except (TypeError, ValueError):
        raise UsageError(f"{given!r} is not a range.", where=where, hint=hint) from None
    if not low < high:
        raise UsageError(f"{low:g} to {high:g} is not a range: its end is not above its beginning.", where=where, hint=hint)
    return low, high


def _require_free(name: str, now: float, limits: tuple[float, float], model: Model, where: str) -> None:
    """Raise for an initial value that the constraints and the other given values determine, so that no other value is possible.

    Values beside the present one are tried first: a constraint such as x^2 + y^2 = l^2 may allow these, and neither end of the range.
    """
    from chetaev.export.problem import right_hand_side

    fixed = {key: value for key, value in model.start.fixed.items() if spell(str(key)) != name}
    guess = {key: value for key, value in model.start.guess.items() if spell(str(key)) != name}
    beside = _BESIDE * (limits[1] - limits[0])
    for value in (now + beside, now - beside, *limits):
        try:
            right_hand_side(replace(model, start=State({**fixed, name: value}, guess)))
        except InitialError as error:
            reason = error.what
        else:
            return
    raise UsageError(
        f"{name} cannot be moved: the constraints and the other given values determine it.",
        where=where,
        why=f"Beside {now:g}, at {limits[0]:g} and at {limits[1]:g}: {reason}",
        hint="a slider for another initial value or for a parameter, or a motion with fewer given values",
    )
