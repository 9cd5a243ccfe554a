"""The contents of a request: the model in its text, with the principle, values and interval that the request gives besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chetaev.core.errors import Location, UsageError
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.support.plain import DECIMAL
from chetaev.core.support.specs.words import split_words
from chetaev.io.reading import loads
from chetaev.mechanics.model import Model, under
from chetaev.mechanics.principles import Principle, of_words
from chetaev.numerics.motion.run_settings import finite

MOST_TEXT = 1_000_000
"""Characters of a model text, as many as a model file may have; the server refuses longer requests before a process reads them."""
_MOST_NAMES = 1000
"""Values that a request may give by name; more are no model that anybody types."""


_MOST_TIMES = 10_000
"""Times at which a request may ask for states."""


_MOST_MEMBERS = 201
"""Motions of a sweep; more make no smoother curve on a screen."""


class MalformedError(Exception):
    """A request whose fields are not of the right kind: status 400."""


@dataclass(frozen=True)
class Range:
    """What a sweep varies: a name, its lowest and highest value, and how many values."""

    name: str
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Asked:
    """The fields of a request, each of its right kind."""

    text: str
    principle: tuple[str, ...] = ()
    """Words of principles; empty for those of the text."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)
    t: tuple[Any, ...] | None = None
    branch: int | str | None = None
    language: str = "numpy"
    over: Range | None = None
    """What a sweep varies."""
    measure: str = ""
    """What a sweep measures at the end of each motion: an expression."""

    def model(self, word: str | None = None) -> Model:
        """Return the model of the text with the given values, under the principle `word` or the first one asked for."""
        model = loads(self.text, "the model")
        wanted = word if word is not None else next(iter(self.principle), None)
        if wanted is not None:
            model = under(model, of_words(wanted, Location(f"principle {wanted}", source="request")))
        if self.parameters:
            model = replace(model, parameters={**model.parameters, **{spell(k): _value(v) for k, v in self.parameters.items()}})
        if self.start:
            given = {spell(name): _value(v) for name, v in self.start.items()}
            kept = {k: v for k, v in model.start.fixed.items() if spell(str(k)) not in given}
            guess = {k: v for k, v in model.start.guess.items() if spell(str(k)) not in given}
            model = replace(model, start=State({**kept, **given}, guess))
        if self.t is not None:
            model = replace(model, t=self.t)
        return model if self.branch is None else replace(model, branch=self.branch)


def _value(given: Any) -> Any:
    return float(given) if isinstance(given, str) and DECIMAL.fullmatch(given.strip()) and finite(given.strip()) else given


def read(body: Any) -> Asked:
    """Return the fields of a request.

    Raises:
        MalformedError: If the request is not an object, has no text, or a field is not of its kind.
    """
    if not isinstance(body, dict):
        raise MalformedError("the request is not an object.")
    text = body.get("text")
    if not isinstance(text, str):
        raise MalformedError("text is missing, or not a text.")
    if len(text) > MOST_TEXT:
        raise MalformedError(f"text has more than {MOST_TEXT} characters.")
    return Asked(
        text.replace("\r\n", "\n"),
        _principles(body.get("principle")),
        _mapping(body.get("parameters"), "parameters"),
        _mapping(body.get("start"), "start"),
        _interval(body.get("t")),
        _branch(body.get("branch")),
        _text(body.get("language"), "language") or "numpy",
        _range(body.get("over")),
        (_text(body.get("measure"), "measure") or "").strip(),
    )


def _principles(given: Any) -> tuple[str, ...]:
    """Words of principles: a text, several with commas, or a list."""
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        words = given
    else:
        words = split_words(_text(given, "principle") or "")
    return tuple(word.strip() for word in words if word.strip())[:8]


def _text(given: Any, name: str) -> str | None:
    if given is not None and not isinstance(given, str):
        raise MalformedError(f"{name} is not a text.")
    return given


def _mapping(given: Any, name: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > _MOST_NAMES or not all(isinstance(v, str) or _is_number(v) for v in given.values()):
        raise MalformedError(f"{name} is not an object of numbers and texts.")
    return given


def _interval(given: Any) -> tuple[float, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not 2 <= len(given) <= _MOST_TIMES or not all(map(_is_number, given)):
        raise MalformedError("t is not a list of two or more numbers.")
    return tuple(map(float, given))


def _range(given: Any) -> Range | None:
    if given is None:
        return None
    fields: dict[str, Any] = given if isinstance(given, dict) else {}
    name, low, high, count = (fields.get(key) for key in ("name", "low", "high", "count"))
    if not isinstance(name, str) or not _is_number(low) or not _is_number(high) or low is None or high is None or not low < high:
        raise MalformedError("over is not an object with a name, low, high and count.")
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= _MOST_MEMBERS:
        raise MalformedError(f"count of over is not a whole number from 2 to {_MOST_MEMBERS}.")
    return Range(name, float(low), float(high), count)


def _branch(given: Any) -> int | str | None:
    if given is None or isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    raise MalformedError("branch is neither a number nor a text.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and finite(value)


def require_text(body: Any, name: str) -> str:
    """Return the field `name` of a request, a text."""
    found = body.get(name) if isinstance(body, dict) else None
    if not isinstance(found, str):
        raise MalformedError(f"{name} is missing, or not a text.")
    return found


def require_two(principles: tuple[Principle, ...]) -> None:
    """Raise a UsageError if there is nothing to compare."""
    if len(set(principles)) < 2:
        raise UsageError(
            "compare needs at least two different principles.", where="compare", hint="choose another principle beside the first"
        )
