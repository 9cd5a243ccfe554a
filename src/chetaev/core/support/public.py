"""Public functions and classes: what the user calls, and where the traceback of an error of the library is cut.

`@public` stands above every function and class of the tables in `chetaev/__init__.py` and of the public modules, and above the classes of
their results. An error of the library that leaves such a call has lost the frames of the library, so that a terminal shows the user's own
line, one frame of this file, and the message. An exception of Python that an argument of a wrong type causes, such as the AttributeError
of a number in the place of a form, becomes an error of the library which names that argument (`wrong_argument`); others pass unchanged.
`CHETAEV_TRACEBACK=1` keeps all frames.

A wrapped function keeps its name, docstring, signature and module. It is the one object of that name, for the library too; so it can be
pickled and compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

from chetaev.core.errors import ChetaevError, full_traceback
from chetaev.core.support.argument_types import wrong_argument

T = TypeVar("T")

_MARK = "__chetaev_public__"
"""The attribute of functions whose errors leave without frames of the library."""
_SPECIAL = frozenset(
    "__init__ __call__ __getitem__ __getattr__ __iter__ __contains__ __str__ __pos__ __neg__ __add__ __radd__ __sub__ __rsub__ __mul__ "
    "__rmul__ __truediv__ __rtruediv__ __pow__ __rpow__ __matmul__ __rmatmul__ __xor__ __rxor__ __and__ __or__ __invert__".split()
)
"""The special methods that a user's line calls and that may raise errors of the library."""


def public(thing: T) -> T:
    """Mark a function, or all public methods and properties of a class with those that it inherits from classes of the library."""
    if not isinstance(thing, type):
        return _wrapped(thing)  # type: ignore[arg-type, return-value]
    for base in thing.__mro__:
        if base.__module__.startswith("chetaev."):
            for name, member in list(vars(base).items()):
                if name in _SPECIAL or not name.startswith("_"):
                    _replace(base, name, member)
    return thing


def cuts_its_traceback(function: T) -> T:
    """Mark a method that calls `ChetaevError.leaving` itself, since a call through a wrapper would take too long."""
    setattr(function, _MARK, True)
    return function


def is_public(function: object) -> bool:
    """Tell whether errors of the library leave `function` without frames of the library."""
    return getattr(function, _MARK, False) is True


def _replace(owner: type, name: str, member: object) -> None:
    """Replace a method or a property of a class by one that cuts tracebacks; leave other members as they are."""
    if isinstance(member, cached_property):
        member.func = _wrapped(member.func)
    elif isinstance(member, property):
        if member.fget is not None and not is_public(member.fget):
            setattr(owner, name, property(_wrapped(member.fget), member.fset, member.fdel, member.__doc__))
    elif isinstance(member, staticmethod | classmethod):
        if not is_public(member.__func__):
            setattr(owner, name, type(member)(_wrapped(member.__func__)))
    elif type(member) is type(_replace) and not is_public(member):
        setattr(owner, name, _wrapped(member))


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    if is_public(function):
        return function

    verb = function.__qualname__.partition(".__")[0]  # a constructor, and other special methods, go by the name of their class

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ChetaevError as fault:
            raise fault.leaving(verb)  # noqa: B904 - the same error
        except (AttributeError, TypeError, ValueError):
            refused = wrong_argument(function, args, kwargs)
            if refused is None or full_traceback():
                raise
            raise refused.leaving(verb) from None

    setattr(call, _MARK, True)
    return call
