"""Values that files and the command line choose by a word: principles and methods, those of the library and those of others.

A spec is the word of a kind, or a mapping with that word under `name` and the settings beside it: `"vakonomic"`,
`{"name": "weighted", "weight": 2}`. A setting is a text, a number, a truth value, a list or a mapping of settings, or a value of the same
registry: a mapping with `name`, or its word alone where the kind declares that texts are words (`Specified.nests`), as in
`{"name": "herglotz", "inner": "vakonomic"}`. Only registered kinds can be chosen, and reading a file imports nothing.

Installed packages may announce modules in the entry-point group `chetaev`; importing such a module registers its kinds. They are imported
for an unknown word on the command line or in an argument of a program, never for a word in a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from numbers import Integral, Real
from typing import Any, Generic, TypeVar

from chetaev.core.errors import ChetaevError, UsageError, did_you_mean
from chetaev.core.fixes import Advice, Ask, InPython, sentences
from chetaev.core.support.specs.specified import Specified, check_settings, left_out
from chetaev.core.support.specs.words import NO_KINDS, Reader, words_of

__all__ = ["Registry", "Specified", "chosen", "import_extensions", "spec_of", "words_of"]

T = TypeVar("T", bound="Specified")
V = TypeVar("V")

_WORD = re.compile(r"[a-z][a-z0-9-]*")
"""The form of a word that names a kind."""


def spec_of(value: Specified, where: str = "save") -> str | dict[str, Any]:
    """`value` as plain data. A setting that is None by default and not given is left out: files cannot express None."""
    omitted = left_out(value)
    settings = {
        name: _Plain(value, where, value.nests(name)).setting(setting, mapped=value.maps(name))
        for name, setting in value.settings().items()
        if name not in omitted
    }
    return {"name": value.word, **settings} if settings else value.word


@dataclass(frozen=True)
class _Plain:
    """One setting of `value` as plain data; `nested` if its texts are words of kinds."""

    value: Specified
    where: str
    nested: bool

    def setting(self, setting: Any, mapped: bool = False) -> Any:
        if isinstance(setting, Specified):
            spec = spec_of(setting, self.where)
            return {"name": spec} if isinstance(spec, str) and not self.nested else spec
        if isinstance(setting, Mapping):
            return self.mapping(setting, mapped)
        if isinstance(setting, list | tuple):
            return [self.setting(v) for v in setting]
        if hasattr(setting, "tolist"):  # an array, or a number of NumPy
            return self.setting(setting.tolist())
        if isinstance(setting, str):
            return str.__str__(setting)  # of a member of an enumeration too
        return self.number(setting)

    def mapping(self, setting: Mapping[Any, Any], mapped: bool) -> dict[str, Any]:
        found = {}
        for name, v in setting.items():
            if not isinstance(name, str):
                raise self.refusal(f"the key {name!r} is not a text")
            found[name] = self.setting(v)
        if not mapped and isinstance(found.get("name"), str):
            raise self.refusal("a table with the key name is read as a value with that word", "another key, or a classmethod `maps`")
        return found

    def number(self, setting: Any) -> bool | int | float:
        if isinstance(setting, bool):
            return setting
        if isinstance(setting, Integral):
            return int(setting)
        if not isinstance(setting, Real):
            raise self.refusal(f"it contains a value of the type {type(setting).__name__}")
        if not isinstance(setting, float) and float(setting) != setting:
            raise self.refusal(f"{setting!r} is not a number in double precision")
        return float(setting)

    def refusal(self, why: str, hint: str = "texts, numbers, truth values, principles, and lists and mappings of these") -> UsageError:
        return UsageError(f"a setting of {self.value} cannot be written: {why}.", where=self.where, hint=hint)


class Registry(dict[str, type[T]], Generic[T]):
    """The kinds of one base class by their words."""

    def __init__(
        self,
        kind: str,
        fault: type[ChetaevError],
        example: str,
        homes: Mapping[str, str] | None = None,
        reserved: Mapping[str, str] | None = None,
    ) -> None:
        """An empty registry.

        `kind` is the noun for a value in messages, `fault` the class of errors, `example` a value on the command line. `homes` maps words
        to modules that are imported, and register their kind, on first use of the word. `reserved` maps names that no setting may have,
        besides `name`, to what they mean in files.
        """
        super().__init__()
        self.kind, self.fault, self.example, self._homes = kind, fault, example, dict(homes or {})
        self.reserved = {"name": f"the word of the {kind}", **(reserved or {})}

    def words(self) -> list[str]:
        """All words, also of kinds that are not imported yet."""
        return list(dict.fromkeys([*self._homes, *self]))

    def register(self, kind: type[T]) -> type[T]:
        """Register a class under its word; registering the same class again, as a notebook cell may do, replaces it."""
        word = getattr(kind, "word", None)
        if not isinstance(word, str) or not _WORD.fullmatch(word):
            hint = f'word = "{kind.__name__.lower()}"'
            raise UsageError(f"{kind.__name__} has no word of small letters, digits and hyphens.", where="register", hint=hint)
        if word in NO_KINDS:
            raise UsageError(f"{word} is a value, and cannot be the word of a {self.kind}.", where="register", hint="choose another word")
        known = self.get(word)
        taken = known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__)
        if taken or self._homes.get(word, kind.__module__) != kind.__module__:
            owner = word if known is None else known.__name__
            raise UsageError(f"{word} is the word of {owner}.", where="register", hint="choose another word")
        check_settings(kind, self.reserved)
        self[word] = kind
        return kind

    def kind_of(self, word: str, where: str, *, typed: bool = False) -> type[T]:
        """The class of `word`; with `typed=True` the word comes from a person or a program, and installed extensions are imported."""
        if word not in self and word in self._homes:
            import_module(self._homes[word])
        if word not in self and typed:
            import_extensions()
        if word not in self:
            raise self.fault(f"{word} is not a {self.kind}.", where=where, hint=self._unknown(word, typed))
        return self[word]

    def _unknown(self, word: str, typed: bool) -> Advice:
        """What to do about an unknown word."""
        known = self.words()
        installed = "" if typed else "; chetaev --extensions ... imports installed ones"
        own = (f"  A {self.kind} of your own: ", Ask("ch.register", "its class"), f" first{installed}")
        return [*sentences(did_you_mean(word, known), f"Known: {' '.join(known)}."), *own]

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
        values = {name: self._value(value, kind.nests(name), kind.maps(name), where) for name, value in settings.items()}
        try:
            return kind(**values)
        except ChetaevError:
            raise
        except (TypeError, ValueError) as refused:
            raise self._refused(given["name"], refused, where) from refused

    def _value(self, given: Any, nested: bool, mapped: bool, where: str) -> Any:
        """The value of a setting; with `nested` a text is the word of a kind, with `mapped` a table has names of the user as keys."""
        if isinstance(given, Mapping):
            if not mapped and isinstance(given.get("name"), str):
                return self.of_spec(given, where)
            return {name: self._value(value, nested, False, where) for name, value in given.items()}
        if isinstance(given, list):
            return tuple(self._value(value, nested, False, where) for value in given)
        return self.of_spec(given, where) if nested and isinstance(given, str) else given

    def written(self, value: T, where: str) -> str | dict[str, Any]:
        """`value` as plain data of which `of_spec` makes an equal value; an error of the registry if there are none."""
        if not self.holds(value):
            what = f"{type(value).__name__} is not registered, and could not be read again."
            raise self.fault(what, where=where, hint=(Ask("ch.register", type(value).__name__), ", with a word"))
        spec = spec_of(value, where)
        self.require_same(self.of_spec(spec, where), value, where)
        return spec

    def require_same(self, found: T, meant: T, where: str) -> None:
        """Raise an error of the registry if what a file gives back is not the value that was written."""
        if found != meant:
            raise self.fault(
                f"{meant} would be read as {found}.",
                where=where,
                why="A value is written by its settings, and read by calling its class with them.",
                hint=("let ", InPython(f"{type(meant).__name__}(**settings)"), " be equal to the value with these settings"),
            )

    def of_words(self, text: str, where: str) -> T:
        """The value of a text on the command line: `vakonomic`, `herglotz(vakonomic)`, `mixed(kinematic[0]=vakonomic, ...)`."""
        return Reader(self, text, where).read()

    def made(self, word: str, positional: Sequence[Any], named: Mapping[str, Any], where: str) -> T:
        """The value of a typed word with its settings."""
        kind = self.kind_of(word.lower(), where, typed=True)
        try:
            return kind.of_words(positional, named)
        except ChetaevError as refused:
            raise self.fault(refused.fact, where=where, why=refused.why, hint=refused.advice) from None
        except (TypeError, ValueError) as refused:
            raise self._refused(word, refused, where) from refused

    def _refused(self, word: str, refused: Exception, where: str) -> ChetaevError:
        """The error for settings that the constructor of a kind does not take."""
        names = " ".join(self.kind_of(word.lower(), where).setting_names()) or "none"
        return self.fault(f"these are not the settings of {word}.", where=where, why=f"({refused})", hint=f"its settings: {names}")


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
    known = isinstance(word, str)
    if known and word not in table:
        import_extensions()
    if not known or word not in table:
        hint = sentences(did_you_mean(str(word), table), f"one of {' '.join(table)}")
        raise UsageError(f"{word!r} is not a {kind}.", where=where, hint=hint)
    return table[word]
