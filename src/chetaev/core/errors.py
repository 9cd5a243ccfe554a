"""Errors in the user's notation: where, what, why, and what to do next.

Every error of the library is a `ChetaevError`. Its text has up to four parts::

    PrincipleError · derive 'sleigh'
      One nonholonomic constraint and no principle named.  d'Alembert and vakonomic motions differ here.
      -> derive(sleigh, DAlembert())  or  derive(sleigh, Vakonomic())

Every warning of the library is a `ChetaevWarning`: `warnings.simplefilter("error", ch.errors.ChetaevWarning)` makes errors of them.
"""

from __future__ import annotations

import difflib
import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from chetaev.core.fixes import Advice, Fix, Replace, changed_by, parts_of
from chetaev.core.support.frames import without_library
from chetaev.core.support.text import visible

__all__ = [
    "BranchError",
    "ChetaevError",
    "ChetaevWarning",
    "ClockWarning",
    "GaugeError",
    "InitialError",
    "LostDigitsWarning",
    "ModelError",
    "NotationError",
    "ParameterError",
    "PrincipleError",
    "StateError",
    "UnfinishedError",
    "UsageError",
    "VelocityWarning",
]

_WIDEST_EXCERPT = 100
"""Widest excerpt of the user's text shown above a caret."""
_LONGEST_LINE = 4000
"""Characters of a line of a message. A message quotes texts of the user; a hostile file could fill a terminal or a log with them."""
_TRACEBACK = "CHETAEV_TRACEBACK"
"""The environment variable that asks for whole tracebacks: `1`, `full` or any other word but `0`."""


def full_traceback() -> bool:
    """Tell whether the user asked for all frames of tracebacks: `CHETAEV_TRACEBACK=1`, or `full`."""
    return os.environ.get(_TRACEBACK, "") not in ("", "0")


class Location(str):
    """The place of a fault as messages print it, with the same facts as data.

    `verb` is the public function that the user called, or the class of a method or property. `part` is a part of a `System`, such as
    `kinematic`, or an argument of that function, such as `start` or `parameters`; `key` is a name in that part, or the number of a row.
    `row` is the label of the equation at fault, such as `kinematic[0]'`. `source` is the model file or the option of the command line that
    holds the fault; `inner` is the place inside it, without the line. `line`, `column` and `length` are the faulty characters of the file,
    counted from 1. Facts that are not known are empty, None or 0.
    """

    verb: str
    part: str
    key: str | int | None
    row: str
    source: str
    inner: str
    line: int
    column: int
    length: int

    def __new__(cls, text: str, *, part: str = "", key: str | int | None = None, source: str = "") -> Location:
        found = super().__new__(cls, text)
        found.part, found.key, found.source, found.inner = part, key, source, text
        found.verb = found.row = ""
        found.line = found.column = found.length = 0
        return found

    @classmethod
    def in_file(cls, source: str, inner: str, line: int = 0, column: int = 0, length: int = 0) -> Location:
        """A place in a file, printed as `m.toml, constraints.kinematic[0], line 7`."""
        found = cls(", ".join(filter(None, (source, inner, f"line {line}" if line else ""))), source=source)
        found.inner, found.line, found.column, found.length = inner, line, column, length
        return found

    def at(self, part: str, key: str | int | None = None) -> Location:
        """The place of a part of this: `system 'sleigh', kinematic[0]`."""
        entry = "" if key is None else f"[{key}]" if isinstance(key, int) else f".{key}"
        return Location(f"{self}, {part}{entry}", part=part, key=key, source=self.source)

    def _with(self, text: str | None = None, **facts: Any) -> Location:
        return _located(str(self) if text is None else text, self.__dict__ | facts)

    def about(self, part: str, key: str | int | None = None, row: str = "") -> Location:
        """This place with `part`, `key` and `row` as data, for messages that name them themselves."""
        return self._with(part=part, key=key, row=row)

    def during(self, verb: str) -> Location:
        """This place with the public function that the user called."""
        return self._with(verb=verb)

    def spanning(self, line: int, column: int, length: int) -> Location:
        """This place with the faulty characters of the file."""
        return self._with(line=line, column=column, length=length)

    def beside(self, *others: str) -> Location:
        """This place, printed with others in which the fault may lie."""
        return self._with(", ".join([self, *others]))

    def within(self, source: Location) -> Location:
        """This place, which was found after reading, with the place in the file that has to change before it."""
        span = {"line": source.line, "column": source.column, "length": source.length}
        return self._with(f"{source}, {self}", source=source.source, inner=str(self), **span)

    def __reduce__(self) -> tuple[object, ...]:
        return _located, (str(self), self.__dict__)


def _located(text: str, facts: dict[str, Any]) -> Location:
    found = Location(text)
    found.__dict__.update(facts)
    return found


def about(where: str, part: str = "", names: str | Sequence[str] = (), *, row: str = "") -> Location:
    """A place with the part at fault as data: an argument or a part of the system, the name in it if it is only one, the row's label."""
    key = names if isinstance(names, str) else names[0] if len(names) == 1 else None
    return (where if isinstance(where, Location) else Location(where)).about(part, key, row)


class ChetaevError(Exception):
    """An error that the user can correct.

    `where` is the stage and the place, `what` the fact, `why` one mathematical sentence, `hint` what to do. `place` and `fixes` hold the
    place and the suggested fixes as values; a program can act on them, and the command line and model files print them in their syntax.
    """

    def __init__(self, what: Advice, *, where: str, why: str = "", hint: Advice = "") -> None:
        self.where, self.fact, self.why, self.advice = where, parts_of(what), why, parts_of(hint)
        self.voice: Callable[[Fix], str] = str
        """How the message prints a fix: as Python, or in the syntax of the command line or of the file that was being read."""
        super().__init__(self.what)

    @property
    def place(self) -> Location:
        """The place of the fault: the function that was called, and the part, name or row at fault if that is known.

        If the error does not name the part, it is the one that the suggested fixes change, if they all change the same one.
        """
        place = self.where if isinstance(self.where, Location) else Location(self.where)
        if place.part or place.row:
            return place
        changed = {changed_by(fix) for fix in self.fixes} - {("", None)}
        parts = {part for part, _ in changed}
        if len(parts) != 1:
            return place
        return place.about(parts.pop(), changed.pop()[1] if len(changed) == 1 else None)

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """The suggested fixes, as values."""
        return tuple(part for part in (*self.fact, *self.advice) if isinstance(part, Fix))

    @property
    def what(self) -> str:
        """The fact, as text."""
        return self._in_words(self.fact)

    @property
    def hint(self) -> str:
        """The suggested fixes, as text."""
        return self._in_words(self.advice)

    def _in_words(self, advice: Iterable[str | Fix]) -> str:
        return "".join(self.voice(part) if isinstance(part, Fix) else part for part in advice)

    @property
    def lines(self) -> list[str]:
        """The message below its first line."""
        return [*self._body(), *([f"  -> {self.hint}"] if self.hint else [])]

    def __str__(self) -> str:
        return "\n".join(printable([f"{type(self).__name__} · {self.where}", *self.lines]))

    def _body(self) -> list[str]:
        return ["  " + "  ".join(part for part in (self.what, self.why) if part)]

    def leaving(self, verb: str) -> Self:
        """This error as the public function `verb` raises it again: with its name, and without the frames of the library.

        A terminal shows the traceback before the message. A frame for every call inside the library does not help, and moves the user's
        own line off the screen. Frames of functions that the user gave to the library stay. Other errors in the chain of causes lose the
        frames of the library too; the chain itself stays. `CHETAEV_TRACEBACK=1` keeps all frames.

        Args:
            verb: The name of the public function, or of the class of a special method.
        """
        self.where = self.place.during(verb)
        if full_traceback():
            return self
        self.__traceback__ = without_library(self.__traceback__, others=False)
        seen, cause = {id(self)}, self.__cause__ or self.__context__
        while cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            cause.__traceback__ = without_library(cause.__traceback__, others=True)
            cause = cause.__cause__ or cause.__context__
        return self

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in a notebook: the user's own line and the message, without the frames inside the library.

        `CHETAEV_TRACEBACK=1` in the environment shows the whole traceback.
        """
        if full_traceback():
            return traceback.format_exception(self)
        trace = without_library(self.__traceback__, others=False) or without_library(self.__traceback__, others=True)
        own = traceback.extract_tb(trace)
        place = [f"line {own[-1].lineno}:  {own[-1].line}", ""] if own and own[-1].line else []
        return [visible(line) for line in place] + str(self).splitlines()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.__dict__)


def printable(lines: Iterable[str]) -> list[str]:
    """Lines of a message for a terminal or a log: the texts that they quote may be long and may contain control characters."""
    return [visible(_shortened(line)) for line in lines]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} ... ({len(text)} characters)"


class NotationError(ChetaevError):
    """A text that is not in the notation. The message shows `text` with a caret under `span`, its first and last faulty character.

    `undeclared` is the name at fault if nothing declares it and it could be that of a parameter.
    """

    def __init__(
        self,
        what: Advice,
        *,
        where: str,
        text: str = "",
        span: tuple[int, int] = (0, 0),
        why: str = "",
        hint: Advice = "",
        undeclared: str = "",
    ) -> None:
        super().__init__(what, where=where, why=why, hint=hint)
        self.text, self.span, self.undeclared = text, span, undeclared

    def _body(self) -> list[str]:
        if not self.text:
            return super()._body()
        line, start, stop = _excerpt(self.text, *self.span)
        message = "  ".join(part for part in (self.what, self.why) if part)
        return [f"  {line}", f"  {' ' * start}{'^' * max(1, stop - start)} {message}"]


class UsageError(ChetaevError, TypeError):
    """A function was called with an argument that it does not take."""


class ModelError(ChetaevError):
    """The parts of a system do not fit together."""


class PrincipleError(ChetaevError):
    """The principle is missing, or does not apply to this system."""


class ParameterError(ChetaevError):
    """A parameter or an input has no value, or an impossible one."""


class InitialError(ChetaevError):
    """The initial data are too few, too many or contradictory; `origins` are those of the rows that they contradict."""

    def __init__(self, what: Advice, *, where: str, why: str = "", hint: Advice = "", origins: tuple[Any, ...] = ()) -> None:
        super().__init__(what, where=where, why=why, hint=hint)
        self.origins = origins

    @property
    def rows(self) -> tuple[str, ...]:
        """The labels of the rows that the data contradict."""
        return tuple(origin.label for origin in self.origins)


class StateError(ChetaevError):
    """The equations do not determine the motion at this state."""


class GaugeError(StateError):
    """A function of time that the equations leave free is not chosen, or the choice does not fit."""


class BranchError(StateError):
    """The motions lie on several manifolds, and the data do not select one."""


class UnfinishedError(ChetaevError):
    """A motion did not reach the end of its interval: `outcome` is the word for the reason, `motion` what was computed of it."""

    def __init__(self, what: Advice, *, where: str, why: str = "", hint: Advice = "", outcome: Any = None, motion: Any = None) -> None:
        super().__init__(what, where=where, why=why, hint=hint)
        self.outcome, self.motion = outcome, motion


class ChetaevWarning(UserWarning):
    """A result that differs from the request, or may differ on another machine."""


class ClockWarning(ChetaevWarning):
    """The clock, not the count of operations, ended a computation, so that the answer may be another one on another machine."""


class LostDigitsWarning(ChetaevWarning):
    """Values of an expression are left out (NaN), because they have no correct digit in doubles and many digits would take too long."""


class VelocityWarning(ChetaevWarning):
    """Velocities declared in an object of SymPy differ from those of its positions, which were used."""


def did_you_mean(name: str, known: Iterable[str]) -> Replace | None:
    """The known name that is spelled most like `name`, as a fix that prints `Did you mean theta?`; None if none is close."""
    spellings = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(spellings), n=1, cutoff=0.6)
    return Replace(spellings[close[0]], name) if close else None


def require_mapping(given: object, what: str, where: str, example: Advice) -> None:
    """Raise a UsageError with an example if `given` is not a mapping."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} given as {type(given).__name__}, not by name.", where=where, hint=example)


def with_article(noun: str) -> str:
    """A noun with its article: `a coordinate`, `an input`."""
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def _excerpt(text: str, start: int, stop: int) -> tuple[str, int, int]:
    """The line of the fault, cut to `_WIDEST_EXCERPT` characters around it, and the span of the fault in that excerpt."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : len(text) if last < 0 else last]
    start, stop = start - first, min(stop - first, len(line))
    if len(line) > _WIDEST_EXCERPT:
        left = max(0, min(start - _WIDEST_EXCERPT // 2, len(line) - _WIDEST_EXCERPT))
        head, tail = ("… " if left else ""), (" …" if left + _WIDEST_EXCERPT < len(line) else "")
        line = head + line[left : left + _WIDEST_EXCERPT] + tail
        start, stop = start - left + len(head), min(stop - left, _WIDEST_EXCERPT) + len(head)
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return printable, start, stop


def _rebuild(kind: type[ChetaevError], state: dict[str, object]) -> ChetaevError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (error.what,)
    return error


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation. `motion` is the Trajectory computed so far, or the Ensemble of `simulate_many`.

    The outcome of `motion` is `interrupted`. As a KeyboardInterrupt this is not caught by `except Exception` and ends loops of the user.
    """

    def __init__(self, motion: Any) -> None:
        super().__init__("the simulation was interrupted; what was computed is the attribute motion of this exception")
        self.motion = motion

    def __reduce__(self) -> tuple[Any, ...]:
        return Interrupted, (self.motion,)
