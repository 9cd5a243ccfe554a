"""What a simulation was asked for, as far as a model file can hold it, and what it cannot.

A report, or a saved motion, repeats the run: it needs the data as they were given, not as they were completed, and the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chetaev.errors import UsageError, did_you_mean
from chetaev.state import State

if TYPE_CHECKING:
    from chetaev.numerics.methods.base import Method

METHODS = ("explicit", "implicit", "taylor")
"""Methods by the words of model files and of the command line."""


@dataclass(frozen=True)
class Asked:
    """The start as it was given, the interval, the method, and the arguments of `simulate` that a model file has no words for."""

    start: State
    t: tuple[float, float]
    method: Method
    besides: tuple[str, ...] = ()


def method_of(word: str | None, where: str) -> Method | None:
    """The method of a word; None for none."""
    if word is None:
        return None
    if word not in METHODS:
        hint = f"{did_you_mean(word, METHODS)}  one of {' '.join(METHODS)}".strip()
        raise UsageError(f"{word} is not a method.", where=where, hint=hint)
    if word == "implicit":
        from chetaev.numerics.methods.implicit import Implicit

        return Implicit()
    if word == "taylor":
        from chetaev.numerics.methods.taylor import Taylor

        return Taylor()
    from chetaev.numerics.methods.base import Explicit

    return Explicit()


def word_of(method: Method | None) -> str | None:
    """The word of a method; None for the usual one, and for methods of one's own."""
    word = type(method).__name__.lower()
    return word if word in METHODS[1:] else None


def is_usual(method: Method) -> bool:
    """Whether a method is the one that is used where none is named."""
    from chetaev.numerics.methods.base import Explicit

    return isinstance(method, Explicit)


def besides(method: Method, arguments: dict[str, Any], rewritten: bool) -> tuple[str, ...]:
    """The names of arguments that were given and that a model file cannot hold."""
    given = [name for name, value in arguments.items() if value is not None and not (isinstance(value, Sequence) and not len(value))]
    given += ["rows that were rewritten"] if rewritten else []
    return (*given, *([] if is_usual(method) or word_of(method) else [f"the method {type(method).__name__}"]))
