"""The settings of a run, one line each: how model files and motion files hold them.

A setting is a field of `Model`, an argument of `simulate` and a key of files by the same name. To add one: a line in `RUN_SETTINGS`, the
field in `mechanics/model.py`, and the argument of `simulate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any

from chetaev.core.errors import InitialError, ModelError
from chetaev.core.fixes import Ask, ChooseBranch, SetArgument
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.plain import (
    ANY,
    METHOD,
    NUMBER,
    NUMBERS,
    SMALLEST_TOLERANCE,
    TABLE,
    TEXT,
    TEXTS,
    TOLERANCE,
    TRUTH,
    fits,
    list_of,
    mapping,
    named_texts,
    require_keys,
    text_of,
)
from chetaev.core.support.registry import spec_of
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.methods import METHODS
from chetaev.numerics.motion.settings import MOST_TIMES, described, event_of, in_words, is_usual


class Form(Enum):
    """The place of a setting in a model file."""

    KEY = "a key of [simulate]"
    TABLE = "a table of its own, with names of jets as keys"
    LIST = "a list of tables"


@dataclass(frozen=True)
class RunSetting:
    """A setting, its form in files, and the functions between this form and the value in a model."""

    name: str
    kind: str
    """The kind of its value; in a table or a list, of each entry."""
    read: Callable[[Any, str], Any]
    """Return the value in a model from a value of the right kind in a file (for a list: from one entry), given its place in the file."""
    write: Callable[[Any, str], Any]
    """Return the value in a file from the value in a model, or None for no entry; the text names the caller in messages."""
    form: Form = Form.KEY
    keys: Mapping[str, str] = field(default_factory=Frozen)
    """The keys of an entry of a list, with the kinds of their values."""

    def stored(self, given: Any) -> Any:
        """Check a value from a motion file and return the value in a model."""
        if self.form is Form.LIST:
            return tuple(self.read(self._checked_entry(entry), self.name) for entry in list_of(given, self.name))
        if self.form is Form.TABLE:
            return self.read({name: _checked(v, self.kind, self.name) for name, v in mapping(given, self.name).items()}, self.name)
        return self.read(_checked(given, self.kind, self.name), self.name)

    def _checked_entry(self, given: Any) -> dict[str, Any]:
        require_keys(given, self.keys, f"an entry of {self.name}")
        return {key: _checked(value, self.keys[key], key) for key, value in given.items()}


def _checked(given: Any, kind: str, name: str) -> Any:
    """Return `given` if it is of the kind and its texts have no control characters."""
    if not fits(given, kind):
        raise TypeError(f"{name} is not {kind}")
    if isinstance(given, str):
        return text_of(given, name)
    return named_texts(given, name) if kind == TABLE else given


def _times(given: list[Any], where: str) -> tuple[float, ...]:
    """The ends of an interval, or three or more times in order, at which states are stored."""
    if len(given) < 2 or not all(map(finite, given)):
        shown = given if len(given) < 4 else f"[{given[0]}, {given[1]}, ...]"
        raise ModelError(f"t = {shown} is no interval.", where=where, hint="t = [0, 10]")
    found = tuple(map(float, given))
    if len(found) == 2 and found[0] == found[1]:
        raise ModelError("the interval has no length.", where=where, hint="t = [0, 10]")
    forward = found[0] < found[-1]
    if any(a >= b if forward else a <= b for a, b in pairwise(found)):
        raise ModelError("the times are not in order.", where=where, hint="t = [0, 10], or increasing (or decreasing) times")
    return found


def _plain_times(given: Any, where: str) -> list[float]:
    if isinstance(given, str) or len(given) < 2:
        raise ModelError(f"t = {given!r} is no interval.", where=where, hint=SetArgument("t", (0, 10)))
    if len(given) > MOST_TIMES:
        what = f"t has {len(given)} times; a model file holds at most {MOST_TIMES}."
        raise ModelError(what, where=where, hint=(SetArgument("t", (0, 10)), " in the model; times to keep are given to simulate"))
    return [number(v, {}, f"{where}, t", InitialError) for v in given]


def _max_steps(given: Any, where: str) -> int:
    if not isinstance(given, int) or given < 1:
        raise ModelError(f"max_steps = {given} is not a number of steps.", where=where, hint="max_steps = 1000000")
    return given


def _keep(given: str, where: str) -> str:
    if given not in ("steps", "final"):
        raise ModelError(f"{given} is not what a motion can store.", where=where, hint='keep = "final", or keep = "steps"')
    return given


def _tolerance(given: Any, where: str) -> float | tuple[float, float]:
    """Relative, or relative and absolute, of which the second may be zero."""
    relative, absolute = given if isinstance(given, list) else (given, 0)
    if not finite(absolute) or absolute < 0:
        raise ModelError(f"an absolute tolerance of {absolute} is no size.", where=where, hint="tolerance = [1e-9, 1e-12]")
    found = _positive("tolerance", relative, where, "[1e-9, 1e-12]" if isinstance(given, list) else "1e-9")
    if found < SMALLEST_TOLERANCE:
        raise ModelError(f"tolerance = {found:g} is beyond double precision.", where=where, hint="tolerance = 1e-12")
    return (found, float(absolute)) if isinstance(given, list) else found


def _plain_tolerance(given: Any, where: str) -> list[float] | float:
    pair = [number(v, {}, f"{where}, tolerance", InitialError) for v in (given if isinstance(given, tuple) else (given,))]
    return pair if len(pair) > 1 else pair[0]


def _plain_longest_step(given: Any, where: str) -> float | None:
    return None if given is None else number(given, {}, f"{where}, max_step", InitialError)


def _branch(given: Any, where: str) -> int | str:
    if isinstance(given, float):
        raise ModelError(f"branch = {given} is not a whole number.", where=where, hint='branch = 0, or branch = "q3 = 0"')
    return int(given) if isinstance(given, int) else str(given)


def _plain_branch(given: Any, where: str) -> int | str | None:
    if isinstance(given, bool) or not isinstance(given, int | str | None):
        raise ModelError(
            "a branch that is given as an object has no word in a model file.",
            where=where,
            hint=(ChooseBranch(0), ", ", SetArgument("branch", "q3 = 0")),
        )
    return given


def _conserve(given: str, where: str) -> str:
    if given != "energy":
        raise ModelError(f"{given} is not what a motion can be projected onto.", where=where, hint='conserve = "energy"')
    return given


def _plain_method(given: Any, where: str) -> str | dict[str, Any] | None:
    """The word of a method with its settings; None for the usual one."""
    if is_usual(given):
        return None
    if not METHODS.holds(given):
        what = f"the method {type(given).__name__} has no word in a model file."
        raise ModelError(what, where=where, hint=(Ask("ch.register", "the class"), ", which has a word; simulate takes any method"))
    return spec_of(given, where)


def _plain_scale(given: Mapping[Any, Any], where: str) -> dict[str, float] | None:
    return {in_words(name): number(v, {}, f"{where}, scale of {name}", InitialError) for name, v in given.items()} or None


def _plain_gauge(given: Mapping[Any, Any], _: str) -> dict[str, str] | None:
    return {in_words(name): in_words(value) for name, value in given.items()} or None


def _event(given: Mapping[str, Any], where: str) -> Any:
    if "expression" not in given:
        raise ModelError("an event has no expression.", where=where, hint='expression = "x"')
    return event_of(given)


def _positive(name: str, given: Any, where: str, usual: str) -> float:
    if not finite(given) or given <= 0:
        raise ModelError(f"{name} = {given} is not a positive number.", where=where, hint=f"{name} = {usual}")
    return float(given)


def finite(value: Any) -> bool:
    """Whether a number, or a text of one, is finite in double precision."""
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


RUN_SETTINGS = (
    RunSetting("t", NUMBERS, _times, _plain_times),
    RunSetting("tolerance", TOLERANCE, _tolerance, _plain_tolerance),
    RunSetting("max_step", NUMBER, lambda given, where: _positive("max_step", given, where, "0.1"), _plain_longest_step),
    RunSetting("max_steps", NUMBER, _max_steps, lambda given, _: None if given is None else int(given)),
    RunSetting("keep", TEXT, _keep, lambda given, _: given),
    RunSetting("slopes", TEXTS, lambda given, _: tuple(given), lambda given, _: list(map(str, given)) or None),
    RunSetting("branch", ANY, _branch, _plain_branch),
    RunSetting("conserve", TEXT, _conserve, lambda given, _: given),
    RunSetting("method", METHOD, METHODS.of_spec, _plain_method),
    RunSetting("scale", NUMBER, lambda given, _: Frozen(given), _plain_scale, Form.TABLE),
    RunSetting("gauge", TEXT, lambda given, _: Frozen(given), _plain_gauge, Form.TABLE),
    RunSetting(
        "events",
        TABLE,
        _event,
        lambda given, _: list(map(described, given)) or None,
        Form.LIST,
        Frozen({"expression": TEXT, "terminal": TRUTH, "direction": NUMBER, "reset": TABLE}),
    ),
)
"""In the order of model files."""


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a model for settings, by name, as numbers, texts, lists and mappings, for a motion file or a report."""
    return {setting.name: setting.write(settings[setting.name], "a motion") for setting in RUN_SETTINGS if setting.name in settings}
