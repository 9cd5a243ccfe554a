"""register: make a principle, method, group, transformation, language or function of the user available by its word everywhere."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython
from chetaev.core.groups.kinds import Group
from chetaev.core.notation.defined import Function
from chetaev.core.support.public import public
from chetaev.core.support.registry import Specified

Thing = TypeVar("Thing")


@public
def register(thing: Thing) -> Thing:
    """Register `thing` under its word and return it, so that `register` also serves as a decorator.

    | thing | word |
    |---|---|
    | a class of principles, with the base `Principle` | its `word`: `principle`, `--principle` |
    | a class of methods, with the base `Method` | its `word`: `method`, `--method` |
    | a class of groups, with the base `ch.groups.Group` | its `word`: kinds of coordinates, `{"A": "Heis body"}` |
    | a transformation, a function that returns a `Morphism` | its name with hyphens: `chetaev transform` |
    | a `chetaev.export.Language` | its `word`: `ch.code`, `--code` |
    | a `chetaev.core.notation.Function` | its name in the notation |

    A model file chooses among registered words and imports nothing, so a program registers before it reads the file. A word can be taken
    only once; registering the same thing again, as a notebook cell that runs twice does, has no effect.

    Args:
        thing: The thing to register.

    Returns:
        The thing itself.

    Raises:
        UsageError: If the word is taken or not one, or the thing is of no kind that can be registered.

    >>> from chetaev.mechanics.principles import DAlembert
    >>> register(DAlembert).word
    'dalembert'
    """
    _registrar(thing)(thing)
    return thing


def _registrar(thing: Any) -> Callable[[Any], Any]:
    """Return the function that registers things of this kind. Imports are local, so that only the needed packages are loaded."""
    if isinstance(thing, Function):
        return Function.register
    if isinstance(thing, FunctionType):
        from chetaev.transforms.tools.theorem import register_theorem

        return register_theorem
    if isinstance(thing, type) and issubclass(thing, Group):
        from chetaev.core.groups.registration import register_group

        return register_group
    if isinstance(thing, type) and issubclass(thing, Specified):
        from chetaev.mechanics.principles import PRINCIPLES, Principle

        if issubclass(thing, Principle):
            return PRINCIPLES.register
        from chetaev.numerics.methods import METHODS
        from chetaev.numerics.methods.base import Method

        if issubclass(thing, Method):
            return METHODS.register
    elif not isinstance(thing, type | str | int | float):
        from chetaev.export import Language, register_language

        if isinstance(thing, Language):
            return register_language
    raise UsageError(
        f"register takes a principle, a method, a group, a transformation, a language or a function of the notation, not {thing!r}.",
        where="register",
        hint=InPython("class Mine(ch.Principle): ..."),
    )
