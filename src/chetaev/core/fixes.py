"""Suggested fixes of an error, as values that each front end prints in its own syntax.

The hint of an error is advice: text with fixes among it. `str(fix)` is Python; `chetaev.cli.fixes` prints the same fix as options of the
command line, `chetaev.io.fixes` as keys of a model file. A function that passes on an error changes these values, not sentences. Python
code stands in fixes only, never in the texts between them: the command line and model files would show code that they cannot use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any


@dataclass(frozen=True)
class Fix:
    """Something the user can do."""


@dataclass(frozen=True)
class SetParameter(Fix):
    """Give parameters their values."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"parameters=dict({', '.join(f'{name}=...' for name in self.names)})"


@dataclass(frozen=True)
class SetInput(Fix):
    """Give inputs their functions of time, such as the example."""

    names: tuple[str, ...]
    example: str = ""

    def __str__(self) -> str:
        return f"inputs={_mapping((name, self.example) for name in self.names)}"


@dataclass(frozen=True)
class SetInitial(Fix):
    """Give initial values besides those that are given."""

    names: tuple[str, ...]
    example: str = ""
    """A value as Python writes it, such as `numpy.eye(3)` for a rotation."""

    def __str__(self) -> str:
        return "{..., " + ", ".join(f'"{name}": {self.example or "..."}' for name in self.names) + "}"


@dataclass(frozen=True)
class Guess(Fix):
    """Give initial values near those that are sought."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"State(fixed, guess={_mapping((name, '') for name in self.names)})"


@dataclass(frozen=True)
class LeaveOut(Fix):
    """Leave out one of the initial values, or an argument of the call."""

    names: tuple[str, ...]
    """The initial values of which one has to go, or the argument."""
    argument: bool = False

    def __str__(self) -> str:
        return f"leave out {self.names[0]}=" if self.argument else f"leave out {either(self.names)}"


@dataclass(frozen=True)
class UsePrinciple(Fix):
    """Derive the equations under a principle."""

    principle: Any
    """The principle itself, of a layer above: `derive(system, fix.principle)`."""
    system: str = ""
    """The user's name for the system, to show the whole call; empty to show the principle only."""
    taken_by: str = ""
    """The function that takes the equations, if the call of it is shown too."""

    def __str__(self) -> str:
        shown = f"derive({self.system}, {self.principle})" if self.system else str(self.principle)
        return f"{self.taken_by}({shown})" if self.taken_by else shown


@dataclass(frozen=True)
class ChooseBranch(Fix):
    """Choose one of several manifolds of motions by its number."""

    number: int

    def __str__(self) -> str:
        return f"branch={self.number}"


@dataclass(frozen=True)
class ChooseGauge(Fix):
    """Choose functions that the equations leave free, such as the examples."""

    functions: tuple[tuple[str, str], ...]
    """The names of free quantities, each with an example of a function of time."""
    verb: str
    """The function of the library that takes the choice."""

    def __str__(self) -> str:
        return f"{self.verb}(..., gauge={_mapping(self.functions)})"


@dataclass(frozen=True)
class Code:
    """A value that only Python can write: `numpy.linspace(0, 1, 50)`."""

    text: str
    word: str = ""
    """The word for it in model files and on the command line, if there is one."""


@dataclass(frozen=True)
class SetArgument(Fix):
    """Give an argument of the call a value such as the example: a method, a tolerance, an interval, a number of steps."""

    name: str
    value: Any = field(default=..., hash=False)
    """A number, a text, a tuple, a list or a mapping of these, or `Code`; three dots for a value that the user has to choose."""
    verb: str = ""
    """The function that takes the argument, to show the whole call; empty to show the argument only."""

    def __str__(self) -> str:
        given = f"{self.name}={in_python(self.value)}"
        return f"{self.verb}(..., {given})" if self.verb else given


@dataclass(frozen=True)
class SetPart(Fix):
    """State a part of the system, such as its forces, in the way of the example."""

    part: str
    """The name of the part: an argument of `System`, and a key of model files."""
    value: Any = field(default=..., hash=False)
    """The example, as the value of `SetArgument`."""
    whole: bool = False
    """Whether Python shows the whole call, `System(..., action="s")`."""

    def __str__(self) -> str:
        given = f"{self.part}={in_python(self.value)}"
        return f"System(..., {given})" if self.whole else given


@dataclass(frozen=True)
class Ask(Fix):
    """Call the function `verb` of the library, which reports or does more."""

    verb: str
    arguments: str | None = None
    """The arguments in the brackets of the call, as Python; None to name the function only."""

    def __str__(self) -> str:
        return f"ch.{self.verb}" if self.arguments is None else f"{self.verb}({self.arguments})"


@dataclass(frozen=True)
class InPython(Fix):
    """Write code in Python that neither the command line nor model files have words for."""

    code: str

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True)
class Replace(Fix):
    """Write another name, which is spelled like the one at fault, `instead_of`; `words` say it in another way."""

    name: str
    instead_of: str = field(default="", compare=False)
    words: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.words or f"Did you mean {self.name}?"


Advice = str | Fix | Sequence[str | Fix]
"""A hint: words, a fix, or words and fixes in turn. Fixes without words between them are alternatives."""


def parts_of(advice: Advice) -> tuple[str | Fix, ...]:
    """`advice` as a tuple of texts and fixes; adjacent fixes are joined by "or"."""
    parts: list[str | Fix] = []
    for part in [advice] if isinstance(advice, str | Fix) else advice:
        if isinstance(part, Fix) and parts and isinstance(parts[-1], Fix):
            parts.append("  or  ")
        if part:
            parts.append(part)
    return tuple(parts)


def changed_by(fix: Fix) -> tuple[str, str | None]:
    """The part of the system, or the argument, that `fix` changes, with the name in it if that is only one; an empty text for neither."""
    part = ""
    names: tuple[str, ...] = ()
    match fix:
        case SetParameter(names):
            part = "parameters"
        case SetInput(names):
            part = "inputs"
        case SetInitial(names) | Guess(names) | LeaveOut(names, False):
            part = "start"
        case UsePrinciple():
            part = "principle"
        case ChooseBranch():
            part = "branch"
        case ChooseGauge(functions):
            part, names = "gauge", tuple(name for name, _ in functions)
        case LeaveOut((part,)) | SetArgument(part) | SetPart(part):
            pass
    return part, names[0] if len(names) == 1 else None


def listed(fixes: Sequence[Fix]) -> list[str | Fix]:
    """Advice that lists alternatives as a sentence does: `A, B or C`."""
    between = [", "] * (len(fixes) - 2) + [" or "] * (len(fixes) > 1)
    return [part for fix, words in zip(fixes, [*between, ""], strict=True) for part in (fix, words)]


def sentences(*parts: str | Fix | None) -> list[str | Fix]:
    """Advice of several sentences, of which those that are empty are left out."""
    given = [part for part in parts if part]
    return [piece for k, part in enumerate(given) for piece in (("  ", part) if k else (part,))]


def either(names: Sequence[str]) -> str:
    """Names as alternatives in a sentence: `x, y or z`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def in_python(value: Any) -> str:
    """An example as Python writes it: `(0, 10)`, `1e-9`, `{"x": "sin(t)"}`."""
    match value:
        case Code(text):
            return text
        case EllipsisType():
            return "..."
        case str():
            return f'"{value}"' if '"' not in value else repr(value)
        case tuple():
            return f"({', '.join(map(in_python, value))}{',' * (len(value) == 1)})"
        case list():
            return f"[{', '.join(map(in_python, value))}]"
        case Mapping():
            return "{" + ", ".join("..." if name is ... else f"{in_python(name)}: {in_python(v)}" for name, v in value.items()) + "}"
        case float():
            return plain_number(value)
    return str(value)


def plain_number(value: Any) -> str:
    """A number without padding zeros in its exponent: `1e-9`."""
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def _mapping(entries: Iterable[tuple[str, str]]) -> str:
    """A mapping as Python writes it; three dots stand for what the user has to choose."""
    return "{" + ", ".join(f'"{name}": ' + (f'"{text}"' if text else "...") for name, text in entries) + "}"
