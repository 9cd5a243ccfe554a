"""Arguments of a wrong type, found after a call failed: a call that succeeds costs nothing.

Public functions take what their annotations say, and often more, such as any object with the same methods. So nothing is refused because of
its type alone; but if a call raised an exception of Python and an argument is not of the annotated type, that is what the user has to know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from inspect import signature, unwrap
from numbers import Number
from types import FunctionType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from chetaev.core.errors import UsageError, about, with_article
from chetaev.core.fixes import Ask, either

_NUMBERS = (int, float, complex)
"""Types of numbers, in the place of which numbers of NumPy and SymPy serve too."""


def wrong_argument(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> UsageError | None:
    """The error for the first argument that is not of its annotated type; None if there is none, and for methods but constructors."""
    function = unwrap(function)
    owner, _, method = function.__qualname__.rpartition(".")
    if not isinstance(function, FunctionType) or (owner and method != "__init__"):
        return None
    try:
        bound, hints = signature(function).bind(*args, **kwargs), get_type_hints(function)
    except (TypeError, NameError):  # the arguments do not fit at all, which Python says itself; or types that only checkers import
        return None
    kinds = signature(function).parameters
    for name, value in bound.arguments.items():
        single = kinds[name].kind not in (kinds[name].VAR_POSITIONAL, kinds[name].VAR_KEYWORD)
        if single and name in hints and not may_be(value, hints[name]):
            verb, taken = owner or method, either([*dict.fromkeys(_named(hints[name]))])
            call = ", ".join(each for each, p in [*kinds.items()][bool(owner) :] if p.default is p.empty)
            what = f"{verb} takes {taken} as {name}, not {_kind_of(value)}."
            return UsageError(what, where=about(verb, name), hint=Ask(verb, call))
    return None


def may_be(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type; also True for types that cannot be compared.

    >>> may_be(3, int | None), may_be("x", list[str]), may_be([3], list[str]), may_be(3.5, Any)
    (True, False, False, True)
    """
    if get_origin(kind) in (Union, UnionType):
        return any(may_be(value, each) for each in get_args(kind))
    plain = get_origin(kind) or kind
    if not isinstance(plain, type):
        return True
    if plain in _NUMBERS:
        return isinstance(value, Number) or hasattr(value, "__float__")
    try:
        fits = isinstance(value, plain)
    except TypeError:  # a protocol that instances cannot be compared with
        return True
    member = _member(kind)
    return fits and (member is None or not isinstance(value, Collection) or all(may_be(each, member) for each in value))


def _member(kind: Any) -> Any:
    """The annotated type of what a list or another collection holds; None if it is not one type."""
    plain, parts = get_origin(kind), [part for part in get_args(kind) if part is not ...]
    single = isinstance(plain, type) and issubclass(plain, Iterable) and len(parts) == 1
    return parts[0] if single else None


def _kind_of(value: Any) -> str:
    """The type of a value, and of what it holds if that is a list or a tuple."""
    held = dict.fromkeys(type(each).__name__ for each in value) if isinstance(value, list | tuple) else {}
    return f"{type(value).__name__} of {either([*held])}" if held else type(value).__name__


def _named(kind: Any) -> list[str]:
    """The names of an annotated type and of its alternatives, without None."""
    if get_origin(kind) in (Union, UnionType):
        return [name for each in get_args(kind) for name in _named(each)]
    plain = get_origin(kind) or kind
    member = _member(kind)
    held = f" of {either([name.partition(' ')[2] for name in _named(member)])}" if isinstance(member, type) else ""
    return [] if plain is NoneType else [with_article(getattr(plain, "__name__", str(plain))) + held]
