"""Suggested fixes of an error, as values that each front end prints in its own syntax.

The hint of an error is advice: text with fixes among it. `str(fix)` is Python; `chetaev.cli.session` prints the same fix as options of the
command line, `chetaev.io.writing` as keys of a model file. A function that passes on an error changes these values, not sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

    def __str__(self) -> str:
        return "{..., " + _mapping((name, "") for name in self.names)[1:]


@dataclass(frozen=True)
class Guess(Fix):
    """Give initial values near those that are sought."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"State(fixed, guess={_mapping((name, '') for name in self.names)})"


@dataclass(frozen=True)
class UsePrinciple(Fix):
    """Derive the equations under a principle."""

    principle: Any
    """The principle itself, of a layer above: `derive(system, fix.principle)`."""
    system: str = ""
    """The user's name for the system, to show the whole call; empty to show the principle only."""

    def __str__(self) -> str:
        return f"derive({self.system}, {self.principle})" if self.system else str(self.principle)


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
class Ask(Fix):
    """Call the function `verb` of the library, which reports more."""

    verb: str

    def __str__(self) -> str:
        return f"ch.{self.verb}"


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


def listed(fixes: Sequence[Fix]) -> list[str | Fix]:
    """Advice that lists alternatives as a sentence does: `A, B or C`."""
    between = [", "] * (len(fixes) - 2) + [" or "] * (len(fixes) > 1)
    return [part for fix, words in zip(fixes, [*between, ""], strict=True) for part in (fix, words)]


def _mapping(entries: Iterable[tuple[str, str]]) -> str:
    """A mapping as Python writes it; three dots stand for what the user has to choose."""
    return "{" + ", ".join(f'"{name}": ' + (f'"{text}"' if text else "...") for name, text in entries) + "}"
