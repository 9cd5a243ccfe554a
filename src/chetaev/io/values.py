"""Values as a model file holds them: numbers, texts in the notation, and lists of these for an element of a group.

Arrays, NumPy numbers and SciPy rotations are written as their numbers. A value that a file cannot hold, or that `evaluate` would not
accept, raises before anything is written; the message names the value and an acceptable form.
"""

from __future__ import annotations

import json
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
from chetaev.numerics.motion.run_settings import RUN_SETTINGS, Form

_MOST_ENTRIES = 16
"""Entries of the largest matrix of a group (SE(3), 4 by 4). A larger array is refused as a batch of starts."""


def datum(name: str, given: Any, model: Model) -> str:
    """Return the right side of a row `name = value` of initial data."""
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
    """Return the value of a parameter: a number, or the text that was given."""
    where = f"save {model.system.label}, parameter {name}"
    return given if isinstance(given, str) else _number(given, where, ParameterError)


def function(name: str, given: Any, model: Model) -> str:
    """Return the function of time that an open input is bound to."""
    if callable(given) and not isinstance(given, Expr):
        raise ParameterError(
            f"{name} is a Python function, which a model file cannot hold.",
            where=f"save {model.system.label}, input {name}",
            hint=("an expression in t: ", SetInput((name,), "sin(2*t)")),
        )
    return _scalar(given, f"save {model.system.label}, input {name}", ParameterError)


def principle_keys(principle: Principle) -> dict[str, str]:
    """Return the keys, with their values, of a table that names `principle`."""
    found = spec_of(principle)
    return {name: setting(value) for name, value in ({"name": found} if isinstance(found, str) else found).items()}


def setting(value: Any) -> str:
    """Write a text, a number, a truth value, or a list or table of these, in TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key(name)} = {setting(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(setting, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def key(name: str) -> str:
    """Write a key in TOML, quoted where TOML requires it."""
    return name if name.replace("_", "a").isalnum() and name.isascii() else json.dumps(name, ensure_ascii=False)


def run(model: Model, form: Form) -> dict[str, Any]:
    """Return the settings of the run that have `form` in a model file, by name, as numbers, texts, lists and mappings."""
    kept = [setting for setting in RUN_SETTINGS if setting.form is form]
    found = {setting.name: setting.write(getattr(model, setting.name), f"save {model.system.label}") for setting in kept}
    return {name: value for name, value in found.items() if value is not None}


def _plain(given: Any, name: str, where: str) -> Any:
    """Turn arrays, tuples and objects with `as_matrix`, such as SciPy's Rotation, into lists; return anything else unchanged."""
    if hasattr(given, "as_matrix"):
        given = np.asarray(given.as_matrix(), dtype=float)
    if isinstance(given, np.ndarray) and given.ndim and (given.ndim > 2 or given.size > _MOST_ENTRIES):
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
    """Return a text unchanged, an expression in the notation, any other value as a number that reads back exactly."""
    if isinstance(given, str):
        return given
    return show(given) if isinstance(given, Expr) else repr(_number(given, where, kind))


def _number(given: Any, where: str, kind: type[ChetaevError]) -> float:
    if not isinstance(given, Real | Expr) or isinstance(given, bool):
        hint = 'a number, or a text such as "pi/6"; for an element of a group a NumPy array or a list of these'
        raise kind(f"a value of the kind {type(given).__name__} cannot be written.", where=where, hint=hint)
    return number(given, {}, where, kind)
