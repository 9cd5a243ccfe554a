"""Suggested fixes as model files write them: tables and keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chetaev.core.fixes import (
    Ask,
    ChooseBranch,
    ChooseGauge,
    Code,
    Fix,
    Guess,
    InPython,
    LeaveOut,
    SetArgument,
    SetInitial,
    SetInput,
    SetParameter,
    SetPart,
    UsePrinciple,
    either,
    plain_number,
)
from chetaev.core.parts import PARTS, Kind
from chetaev.io.toml import entries, in_toml, principle_keys
from chetaev.numerics.motion.run_settings import RUN_SETTINGS, Form

_PARTS = {part.name: part for part in PARTS}
_SETTINGS = {setting.name: setting for setting in RUN_SETTINGS}


def in_the_file(fix: Fix, principle_table: str = "[principle]") -> str:
    """Return `fix` as a table and its keys. A fix that has no key in a file is printed as Python, and says so.

    >>> in_the_file(SetParameter(("m", "J")))
    '[parameters] m = ..., J = ...'
    >>> in_the_file(SetArgument("t", (0, 10)))
    '[simulate] t = [0, 10]'
    """
    return key_of(fix, principle_table) or (f"in Python, {fix}" if isinstance(fix, Ask | InPython | SetArgument | SetPart) else str(fix))


def key_of(fix: Fix, principle_table: str = "[principle]") -> str:
    """Return `fix` as a table and its keys; empty if files have no key for it."""
    match fix:
        case SetParameter(names):
            return f"[parameters] {', '.join(f'{name} = ...' for name in names)}"
        case SetInput(names, example):
            return "[values] " + ", ".join(f'{name} = "{example or "..."}"' for name in names)
        case SetInitial(names):
            return f"[initial] fixed = [..., {_rows(names)}]"
        case Guess(names):
            return f"[initial] guess = [{_rows(names)}]"
        case LeaveOut(names, argument):
            return f"leave out {names[0]} in [simulate]" if argument else f"leave out {either(names)} in [initial] fixed"
        case UsePrinciple(principle):
            return f"{principle_table} {', '.join(f'{key} = {value}' for key, value in principle_keys(principle).items())}"
        case ChooseBranch(number):
            return f"[simulate] branch = {number}"
        case ChooseGauge(functions):
            return "[gauge] " + ", ".join(f'{name} = "{text}"' for name, text in functions)
        case SetArgument(name, value) if name in _SETTINGS and writable(value):
            return _setting(_SETTINGS[name].form, name, value)
        case SetPart(part, value) if writable(value):
            return _part(part, value)
    return ""


def writable(value: Any) -> bool:
    """Whether an example can be written in a file: it contains no Python object for which files have no notation."""
    if isinstance(value, Mapping):
        return all(writable(v) for v in value.values())
    return all(map(writable, value)) if isinstance(value, list | tuple) else not isinstance(value, Code) or bool(value.word)


def _setting(form: Form, name: str, value: Any) -> str:
    value = value.word if isinstance(value, Code) else value
    if form is Form.KEY:
        return f"[simulate] {name} = {in_toml(value, plain_number)}"
    if form is Form.LIST:
        return f"[[{name}]] expression = {in_toml(value[0], plain_number)}"
    return f"[{name}] {', '.join(entries(value, plain_number))}"


def _part(name: str, value: Any) -> str:
    """A part of the system as a key at the top, or as a table."""
    part = _PARTS[name]
    if part.kind is Kind.NAMES and isinstance(value, str):
        value = dict.fromkeys(value.split(), "line" if name == "coordinates" else ...)
    if isinstance(value, Mapping):
        given = {key: part.open_word if part.open_word and v is None else v for key, v in value.items()}
        return f"[{part.table + '.' if part.table else ''}{name}] {', '.join(entries(given, plain_number))}"
    return f"{f'[{part.table}] ' if part.table else ''}{name} = {in_toml(value, plain_number)}"


def _rows(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name} = ..."' for name in names)
