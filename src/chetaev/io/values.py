"""Values as a model file holds them: numbers, texts in the notation, and lists of these for an element of a group.

What Python offers besides (arrays, numbers of NumPy, a Rotation of SciPy) is written as its numbers. What a file cannot hold, or what
`evaluate` does not take for a value either, is refused before anything is written, with its name and what to give instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.errors import ChetaevError, InitialError, ParameterError
from chetaev.core.fixes import SetInput
from chetaev.core.notation import show
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Principle, spec_of
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.motion.run_settings import RUN_SETTINGS

_LARGEST = 16
"""Numbers in the largest matrix of a group."""


def datum(name: str, given: Any, model: Model) -> str:
    """The right side of a row `name = value` of initial data."""
    where = f"save {model.system.label}, start {name}"
    given = _plain(given, name, where)
    if isinstance(given, list) and name not in model.system.groups:
        raise InitialError(
            f"{name} is given as {len(given)} values.",
            where=where,
            why="A model file holds the start of one motion, and a list only for an element of a group.",
            hint="one number; simulate_many takes columns of starts",
        )
    return _listed(given, where)


def constant(name: str, given: Any, model: Model) -> float | str:
    """The value of a parameter: a number, or a text that is kept."""
    where = f"save {model.system.label}, parameter {name}"
    return given if isinstance(given, str) else _number(given, where, ParameterError)


def function(name: str, given: Any, model: Model) -> str:
    """What an open input is bound to."""
    if callable(given) and not isinstance(given, Expr):
        raise ParameterError(
            f"{name} is a function of Python, which a model file cannot hold.",
            where=f"save {model.system.label}, input {name}",
            hint=("an expression in t: ", SetInput((name,), "sin(2*t)")),
        )
    return _scalar(given, f"save {model.system.label}, input {name}", ParameterError)


def principle_keys(principle: Principle) -> dict[str, str]:
    """The keys of a table that names a principle, with their values."""
    found = spec_of(principle)
    return {name: setting(value) for name, value in ({"name": found} if isinstance(found, str) else found).items()}


def setting(value: Any) -> str:
    """A value in TOML: a text, a number, a truth value, or a list or table of these."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key(name)} = {setting(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(setting, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def key(name: str) -> str:
    """A key in TOML, in quotation marks where it needs them."""
    return name if name.replace("_", "a").isalnum() and name.isascii() else json.dumps(name, ensure_ascii=False)


def run(model: Model) -> Mapping[str, Any]:
    """The settings of the run that are single values, as numbers, texts and lists."""
    found = {setting.name: setting.write(getattr(model, setting.name), f"save {model.system.label}") for setting in RUN_SETTINGS}
    return {name: value for name, value in found.items() if value is not None}


def scale(model: Model) -> Mapping[str, str]:
    """The typical sizes of jets."""
    return {name: repr(_number(value, f"save {model.system.label}, scale of {name}", InitialError)) for name, value in model.scale.items()}


def _plain(given: Any, name: str, where: str) -> Any:
    """Lists in place of arrays, tuples and objects that have a matrix, such as a Rotation of SciPy; anything else as it is."""
    if hasattr(given, "as_matrix"):
        given = np.asarray(given.as_matrix(), dtype=float)
    if isinstance(given, np.ndarray) and given.ndim and (given.ndim > 2 or given.size > _LARGEST):
        raise InitialError(
            f"{name} is given as an array of shape {given.shape}.",
            where=where,
            why="A model file holds the start of one motion.",
            hint="one number, or one matrix; simulate_many takes columns of starts",
        )
    if isinstance(given, np.ndarray) and given.ndim:
        return given.tolist()
    return [_plain(part, name, where) for part in given] if isinstance(given, list | tuple) else given


def _listed(given: Any, where: str) -> str:
    return f"[{', '.join(_listed(part, where) for part in given)}]" if isinstance(given, list) else _scalar(given, where, InitialError)


def _scalar(given: Any, where: str, kind: type[ChetaevError]) -> str:
    """A text as it is, an expression in the notation, any other value as a number that is read back exactly."""
    if isinstance(given, str):
        return given
    return show(given) if isinstance(given, Expr) else repr(_number(given, where, kind))


def _number(given: Any, where: str, kind: type[ChetaevError]) -> float:
    if not isinstance(given, Real | Expr) or isinstance(given, bool):
        hint = 'a number, or a text such as "pi/6"; for an element of a group a NumPy array or a list of these'
        raise kind(f"a value of the kind {type(given).__name__} cannot be written.", where=where, hint=hint)
    return number(given, {}, where, kind)
