"""The settings of a run that are single values, one line each: how model files and motion files hold them.

A setting is a field of `Model`, an argument of `simulate` and a key of files by the same name. To add one: a line in `RUN_SETTINGS`, the
field in `mechanics/model.py`, and the argument of `simulate`. Settings by name (`scale`, `gauge`) and `events` are tables of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chetaev.core.errors import InitialError, ModelError
from chetaev.core.support.plain import ANY, METHOD, NUMBER, NUMBERS, TEXT, TOLERANCE, fits, text_of
from chetaev.core.support.registry import spec_of
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.methods.accuracy import SMALLEST_TOLERANCE
from chetaev.numerics.methods.registry import METHODS
from chetaev.numerics.motion.settings import is_usual


@dataclass(frozen=True)
class RunSetting:
    """A setting, what files have for it, and how that becomes the value of a model and back."""

    name: str
    kind: str
    read: Callable[[Any, str], Any]
    """The value of a model, from one of the right kind in a file; the text says where in the file."""
    write: Callable[[Any, str], Any]
    """What a model file has for the value of a model; None if nothing. The text says who writes."""

    def stored(self, given: Any) -> Any:
        """The value of a model from a motion file, where nothing has been checked."""
        if not fits(given, self.kind):
            raise TypeError(f"{self.name} is not {self.kind}")
        return self.read(text_of(given, self.name) if isinstance(given, str) else given, self.name)


def _interval(given: list[Any], where: str) -> tuple[float, float]:
    if len(given) != 2 or not all(map(finite, given)):
        raise ModelError(f"t = {given} is no interval.", where=where, hint="t = [0, 10]")
    first, last = map(float, given)
    if first == last:
        raise ModelError("the interval has no length.", where=where, hint="t = [0, 10]")
    return first, last


def _plain_interval(given: Any, where: str) -> list[float]:
    if isinstance(given, str) or len(given) != 2:
        what = f"t is no interval: it has {len(given)} entries."
        raise ModelError(what, where=where, hint="t=(0, 10) in the model; times to keep are given to simulate")
    return [number(v, {}, f"{where}, t", InitialError) for v in given]


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
        raise ModelError("a branch that is given as an object has no word in a model file.", where=where, hint='branch=0, branch="q3 = 0"')
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
        raise ModelError(what, where=where, hint="ch.register(the class), which has a word; simulate takes any method")
    return spec_of(given)


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
    RunSetting("t", NUMBERS, _interval, _plain_interval),
    RunSetting("tolerance", TOLERANCE, _tolerance, _plain_tolerance),
    RunSetting("max_step", NUMBER, lambda given, where: _positive("max_step", given, where, "0.1"), _plain_longest_step),
    RunSetting("branch", ANY, _branch, _plain_branch),
    RunSetting("conserve", TEXT, _conserve, lambda given, _: given),
    RunSetting("method", METHOD, METHODS.of_spec, _plain_method),
)
"""In the order of model files."""
