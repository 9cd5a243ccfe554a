"""Values with settings as a person types them: `weighted(2, along=y)`, `mixed('no slip'=vakonomic, blade=dalembert)`.

    value    = word ["(" [argument {"," argument}] ")"] | quoted | "[" values "]" | "{" [name "=" value {"," name "=" value}] "}"
    argument = [name "="] value
    name     = word | quoted

A word is a number, `true`, `false`, `None`, the word of a kind, or a text; a quoted text is always a text. `words_of` writes what
`Reader` reads, and `split_words` separates several values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from chetaev.core.errors import ChetaevError
from chetaev.core.fixes import Advice
from chetaev.core.support.plain import DECIMAL
from chetaev.core.support.specs.specified import Specified, left_out

if TYPE_CHECKING:
    from chetaev.core.support.registry import Registry

T = TypeVar("T", bound=Specified)

_DEPTH = 8
"""Depth to which values may be nested in a text; the reader recurses."""
_WORD = re.compile(r"[\w.+-][\w'.+-]*(?:\[\w+\])*")
"""A word, a number, or the label of a row, `kinematic[0]`."""
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_TOKEN = re.compile(rf"\s*(?:(?P<word>{_WORD.pattern})|(?P<quoted>{_QUOTED})|(?P<mark>[(),=\[\]{{}}]))", re.DOTALL)
_CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "None": None}
"""Words for values that are no texts."""
_NOT_FINITE = ("inf", "-inf", "nan")
"""Numbers without digits."""
NO_KINDS = frozenset((*_CONSTANTS, *_NOT_FINITE))
"""Words that cannot name a kind, since they are read as a truth value or a number."""


class _Token(NamedTuple):
    kind: str
    text: str


_END = _Token("end", "")


def split_words(text: str) -> list[str]:
    """The parts of a text between commas that are neither inside brackets nor inside quotation marks.

    >>> split_words("mixed(a=vakonomic, b=dalembert), dalembert")
    ['mixed(a=vakonomic, b=dalembert)', 'dalembert']
    """
    parts, depth, begin = [], 0, 0
    for found in _TOKEN.finditer(text):
        mark = found["mark"] or " "
        depth += (mark in "([{") - (mark in ")]}")
        if mark == "," and depth <= 0:
            parts.append(text[begin : found.end() - 1].strip())
            begin = found.end()
    return [*parts, text[begin:].strip()]


def words_of(value: Specified) -> str:
    """`value` as the text that `Reader` reads; texts are quoted, since a word may also name a kind."""
    return _written(value, brackets=False)


def _written(value: Specified, brackets: bool) -> str:
    """A value with its settings; with `brackets` also if it has none, where a word alone would be a text."""
    found, omitted = [], left_out(value)
    for name, setting in value.settings().items():
        if name in omitted:
            continue
        nested = value.nests(name)
        if value.maps(name) and isinstance(setting, Mapping):
            found += _entries(setting, nested)
        elif isinstance(setting, Specified) and name == _first(type(value)):
            found.append(_setting(setting, nested))
        else:
            found.append(f"{name}={_setting(setting, nested)}")
    return f"{value.word}({', '.join(found)})" if found or brackets else value.word


def _setting(setting: Any, nested: bool) -> str:
    if isinstance(setting, Specified):
        return _written(setting, brackets=not nested)
    if isinstance(setting, Mapping):
        return f"{{{', '.join(_entries(setting, nested))}}}"
    if isinstance(setting, list | tuple):
        return f"[{', '.join(_setting(v, nested) for v in setting)}]"
    if hasattr(setting, "tolist"):  # an array, or a number of NumPy
        return _setting(setting.tolist(), nested)
    if isinstance(setting, str):
        return _quoted(setting)
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def _entries(given: Mapping[Any, Any], nested: bool) -> list[str]:
    names = {key: str(key) for key in given}
    return [f"{name if _WORD.fullmatch(name) else _quoted(name)}={_setting(given[key], nested)}" for key, name in names.items()]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _first(kind: type[Specified]) -> str | None:
    """The setting that may be given without its name, the first one."""
    given = list(signature(kind).parameters.values())
    return given[0].name if given and given[0].kind is Parameter.POSITIONAL_OR_KEYWORD else None


class Reader(Generic[T]):
    """A reader of one typed value."""

    def __init__(self, known: Registry[T], text: str, where: str) -> None:
        self.known, self.text, self.where = known, text, where
        self.tokens = self._tokens()[::-1]

    def _tokens(self) -> list[_Token]:
        found, at = [], 0
        while at < len(self.text.rstrip()):
            token = _TOKEN.match(self.text, at)
            if token is None:
                raise self.fault()
            at, kind = token.end(), str(token.lastgroup)
            text = token[kind] if kind != "quoted" else re.sub(r"\\(.)", r"\1", token[kind][1:-1], flags=re.DOTALL)
            found.append(_Token(kind, text))
        return found

    def read(self) -> T:
        """The value that the whole text is."""
        value = self._value(0, nested=True)
        if self.tokens or not isinstance(value, Specified):
            raise self.fault()
        return value  # type: ignore[return-value] # made by the registry

    def fault(self, hint: Advice = "") -> ChetaevError:
        return self.known.fault(f"{self.text!r} does not name a {self.known.kind}.", where=self.where, hint=hint or self.known.example)

    @property
    def _next(self) -> _Token:
        return self.tokens[-1] if self.tokens else _END

    def _take(self, mark: str) -> bool:
        """Pass over a mark if it comes next."""
        if self._next != _Token("mark", mark):
            return False
        self.tokens.pop()
        return True

    def _require(self, mark: str) -> None:
        if not self._take(mark):
            raise self.fault()

    def _name(self) -> str | None:
        """The name before the next `=`, which is passed over too; None if no name comes next."""
        if len(self.tokens) < 2 or self.tokens[-2] != _Token("mark", "=") or self._next.kind == "mark":
            return None
        name = self.tokens.pop().text
        self._require("=")
        return name

    def _value(self, depth: int, nested: bool) -> Any:
        """The next value; with `nested` every word is that of a kind."""
        if depth > _DEPTH or not self.tokens:
            raise self.fault()
        if self._take("["):
            return tuple(self._several("]", depth, nested))
        if self._take("{"):
            return self._mapping(depth, nested)
        token = self.tokens.pop()
        if token.kind == "mark":
            raise self.fault()
        if self._next.kind in ("word", "quoted"):
            both = f"{token.text} {self._next.text}"
            raise self.fault(f"a comma between {both}, or quotation marks around a name of several words: '{both}'")
        if token.kind == "quoted":
            return token.text
        return self._call(token.text, depth) if self._take("(") else self._plain(token.text, nested)

    def _several(self, end: str, depth: int, nested: bool) -> list[Any]:
        found: list[Any] = []
        while not self._take(end):
            if found:
                self._require(",")
            found.append(self._value(depth + 1, nested))
        return found

    def _mapping(self, depth: int, nested: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._take("}"):
            if found:
                self._require(",")
            self._entry(found, self._name(), depth, nested)
        return found

    def _entry(self, found: dict[str, Any], name: str | None, depth: int, nested: bool) -> None:
        """Read the value of `name` into a mapping, once."""
        if name is None or name in found:
            raise self.fault()
        found[name] = self._value(depth + 1, nested)

    def _plain(self, word: str, nested: bool) -> Any:
        """The value of a word without settings."""
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if DECIMAL.fullmatch(word) or word in _NOT_FINITE:
            return int(word) if word.lstrip("+-").isdecimal() else float(word)
        return self.known.made(word, (), {}, self.where) if nested or word in self.known.words() else word

    def _call(self, word: str, depth: int) -> T:
        """The value of `word(...)`, of which the opening bracket has been read."""
        kind = self.known.kind_of(word.lower(), self.where, typed=True)
        settings, mapped = kind.setting_names(), kind.mapping_setting()
        positional: list[Any] = []
        named: dict[str, Any] = {}
        while not self._take(")"):
            if positional or named:
                self._require(",")
            name = self._name()
            if name is None:
                meant = settings[len(positional)] if len(positional) < len(settings) else None
                positional.append(self._value(depth + 1, meant is None or kind.nests(meant)))
            else:
                meant = name if name in settings and name != mapped else mapped
                self._entry(named, name, depth, meant is None or kind.nests(meant))
        if not settings and (positional or named):
            raise self.known.fault(f"{word} has no inner {self.known.kind}.", where=self.where, hint=self.known.example)
        return self.known.made(word, positional, named, self.where)
