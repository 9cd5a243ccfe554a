"""Errors that speak the user's notation: where, what, why, and what to do next.

Every error of the library is a `ChetaevError`. Its text has up to four parts::

    PrincipleError · derive 'sleigh'
      One nonholonomic constraint and no principle named.  d'Alembert and vakonomic motions differ here.
      -> derive(sleigh, DAlembert())  or  derive(sleigh, Vakonomic())
"""

from __future__ import annotations

import difflib
import os
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from chetaev.core.fixes import Advice, Fix, parts_of
from chetaev.core.support.text import visible

_WINDOW = 100
"""Widest excerpt of the user's text shown above a caret."""
_TRACEBACK = "CHETAEV_TRACEBACK"
"""The variable of the environment that asks for whole tracebacks in notebooks."""
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Location(str):
    """The place of a fault as messages print it, with what it names as data.

    `part` is a part of a `System`, such as `kinematic`; `key` a name in that part, or the number of a row. `source` is the model file or
    the option of the command line that holds the fault.
    """

    part: str
    key: str | int | None
    source: str

    def __new__(cls, text: str, *, part: str = "", key: str | int | None = None, source: str = "") -> Location:
        found = super().__new__(cls, text)
        found.part, found.key, found.source = part, key, source
        return found

    def at(self, part: str, key: str | int | None = None) -> Location:
        """A part of what stands here: `system 'sleigh', kinematic[0]`."""
        entry = "" if key is None else f"[{key}]" if isinstance(key, int) else f".{key}"
        return Location(f"{self}, {part}{entry}", part=part, key=key, source=self.source)

    def about(self, part: str, key: str | int | None = None) -> Location:
        """The same words for a fault in a part that the message itself names."""
        return Location(str(self), part=part, key=key, source=self.source)


class ChetaevError(Exception):
    """Something the user can mend.

    `where` is the stage and the place, `what` the fact, `why` one mathematical sentence, `hint` what to do. `place` and `fixes`
    are the place and what to do as values: a program acts on them, and the command line and model files say them in their own words.
    """

    def __init__(self, what: str, *, where: str, why: str = "", hint: Advice = "") -> None:
        super().__init__(what)
        self.where, self.what, self.why, self.advice = where, what, why, parts_of(hint)
        self.voice: Callable[[Fix], str] = str
        """How the hint says a fix: in Python's words, or in those of the file that was being read."""

    @property
    def place(self) -> Location:
        """Where the fault is, with the part of the system it is in, if that is known."""
        return self.where if isinstance(self.where, Location) else Location(self.where)

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """What mends the fault, as values."""
        return tuple(part for part in self.advice if isinstance(part, Fix))

    @property
    def hint(self) -> str:
        """What mends the fault, in words."""
        return "".join(self.voice(part) if isinstance(part, Fix) else part for part in self.advice)

    def __str__(self) -> str:
        lines = [f"{type(self).__name__} · {self.where}"]
        lines += self._body()
        if self.hint:
            lines.append(f"  -> {self.hint}")
        return visible("\n".join(lines))  # what is quoted may be hostile

    def _body(self) -> list[str]:
        return ["  " + "  ".join(part for part in (self.what, self.why) if part)]

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows (IPython asks for this method by its name): the user's own line and the message.

        The frames inside the library say nothing to somebody who can mend the line; `CHETAEV_TRACEBACK=full` in the environment shows all.
        """
        if os.environ.get(_TRACEBACK) == "full":
            return traceback.format_exception(self)
        own = [frame for frame in traceback.extract_tb(self.__traceback__) if not frame.filename.startswith(_PACKAGE)]
        place = [f"line {own[-1].lineno}:  {own[-1].line}", ""] if own and own[-1].line else []
        return [visible(line) for line in place] + str(self).splitlines()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.__dict__)


class NotationError(ChetaevError):
    """A text that is not in the notation; shows the text with a caret under the fault."""

    def __init__(self, what: str, *, where: str, text: str = "", span: tuple[int, int] = (0, 0), why: str = "", hint: Advice = "") -> None:
        super().__init__(what, where=where, why=why, hint=hint)
        self.text, self.span = text, span

    def _body(self) -> list[str]:
        if not self.text:
            return super()._body()
        line, start, stop = _excerpt(self.text, *self.span)
        message = "  ".join(part for part in (self.what, self.why) if part)
        return [f"  {line}", f"  {' ' * start}{'^' * max(1, stop - start)} {message}"]


class UsageError(ChetaevError, TypeError):
    """A function was called with something it does not take."""


class ModelError(ChetaevError):
    """The parts of a system do not fit together."""


class PrincipleError(ChetaevError):
    """The principle is missing, or does not apply to this system."""


class ParameterError(ChetaevError):
    """A parameter or an input has no value, or an impossible one."""


class InitialError(ChetaevError):
    """The initial data are too few, too many or contradictory; `rows` are the labels of those that the data contradict."""

    def __init__(self, what: str, *, where: str, why: str = "", hint: Advice = "", rows: tuple[str, ...] = ()) -> None:
        super().__init__(what, where=where, why=why, hint=hint)
        self.rows = rows


class StateError(ChetaevError):
    """The equations do not determine the motion at this state."""


class GaugeError(StateError):
    """Functions of time that the equations leave free are not chosen, or not well."""


class BranchError(StateError):
    """The motions live on several manifolds, and it is not clear which one is meant."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`"Did you mean theta?"`, or an empty string."""
    spellings = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(spellings), n=1, cutoff=0.6)
    return f"Did you mean {spellings[close[0]]}?" if close else ""


def require_mapping(given: object, what: str, where: str, example: str) -> None:
    """Refuse what is not a mapping, with an example of one."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} given as {type(given).__name__}, not by name.", where=where, hint=example)


def with_article(noun: str) -> str:
    """A noun with its article: `a coordinate`, `an input`."""
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def _excerpt(text: str, start: int, stop: int) -> tuple[str, int, int]:
    """The line of the fault, cut to a window around it, and where the fault lies in it."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : len(text) if last < 0 else last]
    start, stop = start - first, min(stop - first, len(line))
    if len(line) > _WINDOW:
        left = max(0, min(start - _WINDOW // 2, len(line) - _WINDOW))
        head, tail = ("… " if left else ""), (" …" if left + _WINDOW < len(line) else "")
        line = head + line[left : left + _WINDOW] + tail
        start, stop = start - left + len(head), min(stop - left, _WINDOW) + len(head)
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return printable, start, stop


def _rebuild(kind: type[ChetaevError], state: dict[str, object]) -> ChetaevError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (state["what"],)
    return error


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what was computed until then: `motion` is a Trajectory, or the Ensemble of `simulate_many`.

    Its outcome is `interrupted`. As a KeyboardInterrupt it is not caught by `except Exception`, and ends loops around simulations.
    """

    def __init__(self, motion: Any) -> None:
        super().__init__("the simulation was interrupted; what was computed is the attribute motion of this exception")
        self.motion = motion

    def __reduce__(self) -> tuple[Any, ...]:
        return Interrupted, (self.motion,)
