"""Packages that import their public names on first use, from one table of modules, and packages that are callable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package: `homes` lists the names of each module, separated by spaces."""
    home = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home[name]), name)

    return get, lambda: sorted(home), sorted(home)


def made_by(value: object, module: str, name: str) -> bool:
    """Tell whether `value` is an instance of a class in a module that need not be loaded; no value is until it is."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


def make_callable(package: str, function: Callable[..., Any]) -> None:
    """Make a package callable as its public `function` of the same name, which importing the package would otherwise hide."""

    class CallablePackage(ModuleType):
        __call__ = staticmethod(function)

    sys.modules[package].__class__ = CallablePackage
