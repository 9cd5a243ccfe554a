"""Values that files and the command line choose by a word: principles and methods, those of the library and those of others.

A spec is the word of a kind, or a mapping with that word under `name` and the settings beside it:
`"vakonomic"`, `{"name": "herglotz", "inner": "vakonomic"}`. A setting is a text, a number, a truth value, a value of the same registry
(again a spec), or a mapping from names to these. Only registered kinds can be chosen, and reading a file imports nothing.

Installed packages may announce modules in the entry-point group `chetaev`; importing such a module registers its kinds. They are imported
for an unknown word on the command line or in an argument of a program, never for a word in a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from typing import Any, ClassVar, Generic, Self, TypeVar

from chetaev.core.errors import ChetaevError, UsageError, did_you_mean

T = TypeVar("T", bound="Specified")
V = TypeVar("V")

_WORD = re.compile(r"[a-z][a-z0-9-]*")
"""The form of a word that names a kind."""
_DEPTH = 8
"""Depth to which values may be nested in a text; the reader recurses."""
_PIECE = re.compile(r"\s*([\w'.\[\]-]+|[(),=])")
"""A word, a row's label, a number, or a mark."""


class Specified:
    """Abstract: a value with a word. Two of the same kind with the same settings are equal.

    The settings are the arguments of its constructor, kept under their names as attributes.
    """

    word: ClassVar[str] = ""
    """Its name in model files and on the command line."""
    title: ClassVar[str] = ""
    """Its name in a report; the Python expression if this is empty."""
    papers: ClassVar[tuple[str, ...]] = ()
    """References for a report: texts, or keys of `chetaev.report.sections`."""

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """The names of the constructor's arguments."""
        return () if cls.__init__ is object.__init__ else tuple(signature(cls).parameters)

    @classmethod
    def nests(cls, setting: str) -> bool:
        """Whether `setting` is a value of the same registry, or a mapping to such values, so that words in files are read as kinds."""
        return False

    @classmethod
    def of_words(cls, positional: Sequence[Any], named: Mapping[str, Any]) -> Self:
        """The value of `word(positional, name=value)` on the command line."""
        return cls(*positional, **named)

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments by name; a kind may leave out those with their default."""
        return {name: getattr(self, name) for name in self.setting_names()}

    def in_words(self) -> str:
        """Its name in a report."""
        return self.title or str(self)

    def cited(self) -> tuple[str, ...]:
        """The references behind it."""
        return self.papers

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.settings().items())})"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.settings() == other.settings()

    def __hash__(self) -> int:
        return hash((type(self), _hashable(self.settings())))


def _hashable(value: Any) -> Any:
    """A hashable form of `value`, equal for equal settings whatever container holds them."""
    if isinstance(value, Mapping):
        return frozenset((name, _hashable(v)) for name, v in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return value if value.__hash__ is not None else repr(value)


def spec_of(value: Specified) -> str | dict[str, Any]:
    """`value` as plain data. A setting that is None by default and not given is left out: files cannot express None."""
    given = value.settings()
    usual = signature(type(value)).parameters if None in given.values() else {}
    settings = {name: _plain(setting, value) for name, setting in given.items() if setting is not None or usual[name].default is not None}
    return {"name": value.word, **settings} if settings else value.word


def words_of(value: Specified) -> str:
    """`value` as the text that `Registry.of_words` reads."""
    found = []
    for place, (name, setting) in enumerate(value.settings().items()):
        if isinstance(setting, Mapping):
            found += [f"{key}={_word(each)}" for key, each in setting.items()]
        else:
            found.append(_word(setting) if not place and isinstance(setting, Specified) else f"{name}={_word(setting)}")
    return f"{value.word}({', '.join(found)})" if found else value.word


def _word(setting: Any) -> str:
    return words_of(setting) if isinstance(setting, Specified) else str(setting)


def _plain(setting: Any, value: Specified) -> Any:
    if isinstance(setting, Specified):
        return spec_of(setting)
    if isinstance(setting, Mapping):
        return {str(name): _plain(v, value) for name, v in setting.items()}
    if isinstance(setting, str | bool | int | float):
        return setting
    raise UsageError(
        f"a setting of {value} cannot be written: {type(setting).__name__}.",
        where="save",
        hint="texts, numbers, truth values, principles, and mappings of these",
    )


class Registry(dict[str, type[T]], Generic[T]):
    """The kinds of one base class by their words."""

    def __init__(self, kind: str, fault: type[ChetaevError], example: str, homes: Mapping[str, str] | None = None) -> None:
        """An empty registry.

        `kind` is the noun for a value in messages, `fault` the class of errors, `example` a value on the command line. `homes` maps words
        to modules that are imported, and register their kind, on first use of the word.
        """
        super().__init__()
        self.kind, self.fault, self.example, self._homes = kind, fault, example, dict(homes or {})

    def words(self) -> list[str]:
        """All words, also of kinds that are not imported yet."""
        return list(dict.fromkeys([*self._homes, *self]))

    def register(self, kind: type[T]) -> type[T]:
        """Register a class under its word; registering the same class again, as a notebook cell may do, replaces it."""
        word = getattr(kind, "word", None)
        if not isinstance(word, str) or not _WORD.fullmatch(word):
            hint = f'word = "{kind.__name__.lower()}"'
            raise UsageError(f"{kind.__name__} has no word of small letters, digits and hyphens.", where="register", hint=hint)
        known = self.get(word)
        taken = known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__)
        if taken or self._homes.get(word, kind.__module__) != kind.__module__:
            owner = word if known is None else known.__name__
            raise UsageError(f"{word} is the word of {owner}.", where="register", hint="choose another word")
        self[word] = kind
        return kind

    def kind_of(self, word: str, where: str, *, typed: bool = False) -> type[T]:
        """The class of `word`; with `typed=True` the word comes from a person or a program, and installed extensions are imported."""
        if word not in self and word in self._homes:
            import_module(self._homes[word])
        if word not in self and typed:
            import_extensions()
        if word not in self:
            known = self.words()
            hint = f"{did_you_mean(word, known)}  Known: {' '.join(known)}".strip()
            raise self.fault(f"{word} is not a {self.kind}.", where=where, hint=hint)
        return self[word]

    def holds(self, value: Any) -> bool:
        """Whether the class of `value` is registered here."""
        return isinstance(value, Specified) and self.get(getattr(value, "word", "")) is type(value)

    def of_spec(self, given: Any, where: str) -> T:
        """The value of plain data."""
        if isinstance(given, str):
            given = {"name": given}
        if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
            raise self.fault(f"no {self.kind} is named.", where=where, hint=f"name = one of {' '.join(self.words())}")
        kind = self.kind_of(given["name"], where)
        settings = {str(name): value for name, value in given.items() if name != "name"}
        known = kind.setting_names()
        for name in settings:
            if name not in known:
                what = f"{given['name']} has no setting {name}." if known else f"{given['name']} has no settings, and {name} is given."
                raise self.fault(what, where=where, hint=did_you_mean(name, known) or f"known: {' '.join(known) or 'none'}")
        needed = [name for name, p in signature(kind).parameters.items() if p.default is p.empty and name not in settings] if known else []
        if needed:
            raise self.fault(f"{given['name']} needs the setting {needed[0]}.", where=where, hint=f"its settings: {' '.join(known)}")
        return kind(**{name: self._value(value, kind.nests(name), where) for name, value in settings.items()})

    def _value(self, given: Any, nested: bool, where: str) -> Any:
        """The value of a setting; with `nested` a word is read as a kind of this registry."""
        if isinstance(given, Mapping) and "name" in given:
            return self.of_spec(given, where)
        if isinstance(given, Mapping):
            return {name: self._value(value, nested, where) for name, value in given.items()}
        return self.of_spec(given, where) if nested and isinstance(given, str) else given

    def of_words(self, text: str, where: str) -> T:
        """The value of a text on the command line: `vakonomic`, `herglotz(vakonomic)`, `mixed(kinematic[0]=vakonomic, ...)`."""
        found = _Reader(self, text, where)
        value: T = found.value(0)
        if found.next is not None or not isinstance(value, Specified):
            raise found.fault()
        return value


class _Reader(Generic[T]):
    """A reader of `word(setting, name=setting)`."""

    def __init__(self, known: Registry[T], text: str, where: str) -> None:
        self.known, self.text, self.where = known, text, where
        self.pieces = _PIECE.findall(text)
        if "".join(self.pieces) != re.sub(r"\s+", "", text):
            raise self.fault()
        self.pieces.reverse()

    @property
    def next(self) -> str | None:
        return self.pieces[-1] if self.pieces else None

    def fault(self) -> ChetaevError:
        return self.known.fault(f"{self.text!r} does not name a {self.known.kind}.", where=self.where, hint=self.known.example)

    def take(self, *allowed: str) -> str:
        if self.next is None or (allowed and self.next not in allowed) or (not allowed and self.next in "(),="):
            raise self.fault()
        return self.pieces.pop()

    def value(self, depth: int, nested: bool = True) -> Any:
        """The next value with its settings; with `nested=False` a number or a plain word."""
        if depth > _DEPTH:
            raise self.fault()
        word, fault = self.take(), self.known.fault
        if self.next != "(":
            number = _number(word)
            return number if number is not None else self._made(word, [], {}) if nested else word
        kind = self.known.kind_of(word.lower(), self.where, typed=True)
        settings = kind.setting_names()
        self.take("(")
        positional: list[Any] = []
        named: dict[str, Any] = {}
        while self.next != ")":
            if len(self.pieces) > 1 and self.pieces[-2] == "=":
                name = self.take()
                self.take("=")
                named[name] = self.value(depth + 1, name not in settings or kind.nests(name))
            else:
                expected = settings[len(positional) : len(positional) + 1]
                positional.append(self.value(depth + 1, not expected or kind.nests(expected[0])))
            if self.next != ")":
                self.take(",")
        self.take(")")
        if not settings:
            raise fault(f"{word} has no inner {self.known.kind}.", where=self.where, hint=self.known.example)
        return self._made(word, positional, named)

    def _made(self, word: str, positional: Sequence[Any], named: Mapping[str, Any]) -> T:
        kind, fault = self.known.kind_of(word.lower(), self.where, typed=True), self.known.fault
        try:
            return kind.of_words(positional, named)
        except ChetaevError as refused:
            raise fault(refused.what, where=self.where, hint=refused.hint) from None
        except TypeError:
            hint = f"its settings: {' '.join(kind.setting_names())}"
            raise fault(f"these are not the settings of {word}.", where=self.where, hint=hint) from None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


@cache
def import_extensions() -> tuple[str, ...]:
    """Import, once, the modules that installed packages announce in the entry-point group `chetaev`; returns their names."""
    found = tuple(entry_points(group="chetaev"))
    for point in found:
        try:
            point.load()
        except (ImportError, AttributeError) as fault:
            what = f"the extension {point.name} ({point.value}) cannot be imported: {fault}."
            raise UsageError(what, where="extensions", hint="repair or uninstall the package") from fault
    return tuple(point.name for point in found)


def chosen(table: Mapping[str, V], word: str, kind: str, where: str) -> V:
    """The entry of `table` for a word from a person or a program; installed extensions are imported if the word is unknown."""
    if word not in table:
        import_extensions()
    if word not in table:
        hint = f"{did_you_mean(str(word), table)}  one of {' '.join(table)}".strip()
        raise UsageError(f"{word!r} is not a {kind}.", where=where, hint=hint)
    return table[word]
