"""Values with a word and settings, such as principles and methods, and what their classes have to provide.

The settings of a value are the arguments of its constructor, kept as attributes under the same names. A setting is a text, a number, a
truth value, a value of the same registry, or a list or a mapping of these. None stands for a setting that is left out.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, signature, unwrap
from types import CodeType, FunctionType
from typing import Any, ClassVar, Self

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython


class Specified:
    """Abstract: a value with a word. Two of the same kind with the same settings are equal; a list equals a tuple of the same entries."""

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
        """Whether every text in `setting` is the word of a value of the same registry: `inner = "vakonomic"` in a file.

        A setting for which this is not declared may contain such values too; a file has them as tables, `inner = {name = "vakonomic"}`.

        Args:
            setting: The name of an argument of the constructor.
        """
        return False

    @classmethod
    def maps(cls, setting: str) -> bool:
        """Whether `setting` is a mapping from names that the user chooses.

        Then `name` is a key like any other in a file, and a typed text has the entries beside the other settings: `mixed(blade=dalembert)`.

        Args:
            setting: The name of an argument of the constructor.
        """
        return False

    @classmethod
    def mapping_setting(cls) -> str | None:
        """The setting for which `maps` holds, or None."""
        return next((name for name in cls.setting_names() if cls.maps(name)), None)

    @classmethod
    def of_words(cls, positional: Sequence[Any], named: Mapping[str, Any]) -> Self:
        """The value of `word(positional, name=value)` on the command line.

        Args:
            positional: The settings without a name, in the order of the constructor's arguments.
            named: The settings by name; with a `mapping_setting`, other names are its entries.
        """
        mapped = cls.mapping_setting()
        if mapped is None:
            return cls(*positional, **named)
        others = [name for name in cls.setting_names() if name != mapped]
        entries = {name: value for name, value in named.items() if name not in others}
        return cls(*positional, **{name: named[name] for name in others if name in named}, **({mapped: entries} if entries else {}))

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments by name; a kind may leave out those with their default."""
        return {name: self._setting(name) for name in self.setting_names()}

    def _setting(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError as missing:
            raise _not_kept(type(self), name) from missing

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
        return type(self) is type(other) and _comparable(self.settings()) == _comparable(other.settings())

    def __hash__(self) -> int:
        return hash((type(self), _hashable(_comparable(self.settings()))))


def left_out(value: Specified) -> set[str]:
    """The settings that are None, as their default is; neither files nor typed texts mention them."""
    empty = [name for name, setting in value.settings().items() if setting is None]
    usual = signature(type(value)).parameters if empty else {}
    return {name for name in empty if name in usual and usual[name].default is None}


def _comparable(value: Any) -> Any:
    """`value` with tuples in the place of lists and arrays, and plain mappings."""
    if isinstance(value, Mapping):
        return {name: _comparable(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(_comparable, value))
    return _comparable(value.tolist()) if hasattr(value, "tolist") else value


def _hashable(value: Any) -> Any:
    """A hashable form of a comparable value, equal for equal ones."""
    if isinstance(value, dict):
        return frozenset((name, _hashable(v)) for name, v in value.items())
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return value if value.__hash__ is not None else type(value).__name__


def check_settings(kind: type[Specified], reserved: Mapping[str, str]) -> None:
    """Raise a UsageError if the constructor of `kind` has arguments that cannot be settings; `reserved` maps names to their meanings."""
    if kind.__init__ is object.__init__:
        return
    for p in signature(kind).parameters.values():
        if p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD, Parameter.POSITIONAL_ONLY):
            raise UsageError(
                f"{p} of {kind.__name__} is not a setting with a name.",
                where=f"register {kind.__name__}",
                why="Settings are given by name in files and on the command line.",
                hint=InPython(f"def __init__(self, {p.name}=...)"),
            )
        if p.name in reserved:
            raise UsageError(
                f"a setting of {kind.__name__} is called {p.name}.",
                where=f"register {kind.__name__}",
                why=f"In files {p.name} is {reserved[p.name]}.",
                hint="another name for the argument of the constructor",
            )
    if kind.settings is Specified.settings:
        kept = set(_stored(kind))
        for name in kind.setting_names():
            if name not in kept and not hasattr(kind, name):
                raise _not_kept(kind, name)


def _not_kept(kind: type[Specified], name: str) -> UsageError:
    return UsageError(
        f"{kind.__name__} does not keep its setting {name}.",
        where=kind.__name__,
        why="Values are compared and written by their settings, the arguments of the constructor.",
        hint=(InPython(f"self.{name} = {name}"), " in __init__"),
    )


def _stored(kind: type) -> Iterator[str]:
    """The names that the methods of a class store as attributes, and every text in them: `object.__setattr__(self, "weight", weight)`."""
    for base in kind.__mro__:
        yield from getattr(base, "__annotations__", {})  # fields of a dataclass
        for method in vars(base).values():
            found = unwrap(method) if callable(method) else method
            if isinstance(found, FunctionType):
                yield from _stored_by(found.__code__)


def _stored_by(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname == "STORE_ATTR":
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _stored_by(constant)
