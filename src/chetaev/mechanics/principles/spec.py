"""Principles as plain data: one form for model files, motion files, the command line and reports.

A spec is the word of a principle, or a mapping with that word under `name` and the settings beside it:
`"vakonomic"`, `{"name": "herglotz", "inner": "vakonomic"}`. A setting is a text, a number, a truth value, a principle (again a spec), or a
mapping from names to these. Only registered principles are chosen, and nothing is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chetaev.core.errors import ChetaevError, PrincipleError, UsageError, did_you_mean
from chetaev.mechanics.principles.base import Principle

PRINCIPLES: dict[str, type[Principle]] = {}
"""Every registered principle under its word."""

_WORD = re.compile(r"[a-z][a-z0-9-]*")
_DEPTH = 8
"""How deep principles may be nested in a text; deeper ones are refused before Python's own limit is near."""
_PIECE = re.compile(r"\s*([\w'.\[\]-]+|[(),=])")
"""A word, a row's label, a number, or a mark."""


def register_principle(kind: type[Principle]) -> type[Principle]:
    """Make a principle known to files, the command line and reports by its `word`."""
    word = getattr(kind, "word", None)
    if not isinstance(word, str) or not _WORD.fullmatch(word):
        raise UsageError(
            f"{kind.__name__} has no word of small letters, digits and hyphens.", where="register", hint=f'word = "{kind.__name__.lower()}"'
        )
    known = PRINCIPLES.get(word)
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise UsageError(f"{word} is the word of {known.__name__}.", where="register", hint="choose another word")
    PRINCIPLES[word] = kind
    return kind


def spec_of(principle: Principle) -> str | dict[str, Any]:
    """A principle as plain data."""
    settings = {name: _plain(value, principle) for name, value in principle.settings().items()}
    return {"name": principle.word, **settings} if settings else principle.word


def _plain(value: Any, principle: Principle) -> Any:
    if isinstance(value, Principle):
        return spec_of(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(v, principle) for name, v in value.items()}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise UsageError(
        f"a setting of {principle} cannot be written: {type(value).__name__}.",
        where="save",
        hint="texts, numbers, truth values, principles, and mappings of these",
    )


def of_spec(given: Any, where: str) -> Principle:
    """The principle of plain data."""
    if isinstance(given, str):
        return kind_of(given, where)()
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise PrincipleError("no principle is named.", where=where, hint=f"name = one of {' '.join(PRINCIPLES)}")
    kind = kind_of(given["name"], where)
    settings = {str(name): value for name, value in given.items() if name != "name"}
    known = kind.setting_names()
    for name in settings:
        if name not in known:
            what = f"{given['name']} has no setting {name}." if known else f"{given['name']} has no settings, and {name} is given."
            raise PrincipleError(what, where=where, hint=did_you_mean(name, known) or f"known: {' '.join(known) or 'none'}")
    return kind(**{name: _value(value, kind.holds_principles(name), where) for name, value in settings.items()})


def _value(given: Any, principle: bool, where: str) -> Any:
    """A setting; a word that stands where a principle is expected is one."""
    if isinstance(given, Mapping) and "name" in given:
        return of_spec(given, where)
    if isinstance(given, Mapping):
        return {name: _value(value, principle, where) for name, value in given.items()}
    return kind_of(given, where)() if principle and isinstance(given, str) else given


def kind_of(word: str, where: str) -> type[Principle]:
    """The class of a word."""
    if word not in PRINCIPLES:
        hint = f"{did_you_mean(word, PRINCIPLES)}  Known: {' '.join(PRINCIPLES)}".strip()
        raise PrincipleError(f"{word} is not a principle.", where=where, hint=hint)
    return PRINCIPLES[word]


def of_words(text: str, where: str) -> Principle:
    """The principle of a line of the command line: `vakonomic`, `herglotz(vakonomic)`, `mixed(kinematic[0]=vakonomic, ...)`."""
    found = _Words(text, where)
    principle = found.value(0)
    if found.next is not None or not isinstance(principle, Principle):
        raise found.fault()
    return principle


def words_of(principle: Principle) -> str:
    """A principle in the words that `of_words` reads."""
    found = []
    for place, (name, value) in enumerate(principle.settings().items()):
        if isinstance(value, Mapping):
            found += [f"{key}={_word(each)}" for key, each in value.items()]
        else:
            found.append(_word(value) if not place and isinstance(value, Principle) else f"{name}={_word(value)}")
    return f"{principle.word}({', '.join(found)})" if found else principle.word


def _word(value: Any) -> str:
    return words_of(value) if isinstance(value, Principle) else str(value)


class _Words:
    """A reader of `word(setting, name=setting)`."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.pieces = _PIECE.findall(text)
        if "".join(self.pieces) != re.sub(r"\s+", "", text):
            raise self.fault()
        self.pieces.reverse()

    @property
    def next(self) -> str | None:
        return self.pieces[-1] if self.pieces else None

    def fault(self) -> PrincipleError:
        return PrincipleError(f"{self.text!r} does not name a principle.", where=self.where, hint="herglotz(vakonomic)")

    def take(self, *allowed: str) -> str:
        if self.next is None or (allowed and self.next not in allowed) or (not allowed and self.next in "(),="):
            raise self.fault()
        return self.pieces.pop()

    def value(self, depth: int, principle: bool = True) -> Any:
        """A principle with its settings; a number or a word where no principle is expected."""
        if depth > _DEPTH:
            raise self.fault()
        word = self.take()
        if self.next != "(":
            number = _number(word)
            return number if number is not None else kind_of(word.lower(), self.where)() if principle else word
        kind = kind_of(word.lower(), self.where)
        settings = kind.setting_names()
        self.take("(")
        positional: list[Any] = []
        named: dict[str, Any] = {}
        while self.next != ")":
            if len(self.pieces) > 1 and self.pieces[-2] == "=":
                name = self.take()
                self.take("=")
                named[name] = self.value(depth + 1, name not in settings or kind.holds_principles(name))
            else:
                expected = settings[len(positional) : len(positional) + 1]
                positional.append(self.value(depth + 1, not expected or kind.holds_principles(expected[0])))
            if self.next != ")":
                self.take(",")
        self.take(")")
        if not settings:
            raise PrincipleError(f"{word} has no inner principle.", where=self.where, hint="herglotz(vakonomic)")
        try:
            return kind.of_words(positional, named)
        except ChetaevError as fault:
            raise PrincipleError(fault.what, where=self.where, hint=fault.advice) from None
        except TypeError:
            hint = f"its settings: {' '.join(settings)}"
            raise PrincipleError(f"these are not the settings of {word}.", where=self.where, hint=hint) from None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
