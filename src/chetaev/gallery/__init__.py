"""The gallery: one file per system, each with a function `model()` that tells its story and gives good values.

It is the documentation's gallery and the tests' test bed at once. The package is callable: `chetaev.gallery()` lists the names,
`chetaev.gallery("rocard")` is a `Model`.
"""

from __future__ import annotations

import pkgutil
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, overload

from chetaev.errors import ModelError, did_you_mean
from chetaev.model import Model


@overload
def gallery() -> list[str]: ...
@overload
def gallery(name: str, **options: Any) -> Model: ...
def gallery(name: str | None = None, **options: Any) -> list[str] | Model:
    """Without a name, the names of all gallery systems; with one, that model. Families take options: `gallery("chain", n=5)`."""
    names = list(_names())
    if name is None:
        return names
    if not isinstance(name, str) or name.replace("_", "-") not in names:
        raise ModelError(f"no system {name!r}.", where="gallery", hint=f"{did_you_mean(str(name), names)}  gallery() lists all".strip())
    name = name.replace("_", "-")
    return _made(name, **options) if options else _usual(name)


@cache
def _names() -> tuple[str, ...]:
    """The names of all systems, in alphabetical order."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)))


@cache
def _usual(name: str) -> Model:
    """A system with its usual options: a model cannot change, so everybody may have the same one."""
    return _made(name)


def _made(name: str, **options: Any) -> Model:
    model: Model = import_module(f"{__name__}.{name.replace('-', '_')}").model(**options)
    return model


class _Callable(ModuleType):
    """This package, callable: importing it must not hide the public function of the same name."""

    __call__ = staticmethod(gallery)


sys.modules[__name__].__class__ = _Callable
