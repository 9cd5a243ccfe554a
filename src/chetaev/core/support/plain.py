"""Checks of plain data from files: texts, lists and mappings. Data of another type raise a TypeError; nothing is converted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from chetaev.core.support.text import fault

TEXT, TEXTS, NUMBER, NUMBERS, ANY = "a text", "a list of texts", "a number", "a list of numbers", "a text or a number"
ROWS = "a list of texts, or a table of texts by name"
METHOD = "a text, or a table with a name and settings"
SETTING = "a text, a number, a truth value, a list or a table"
TOLERANCE, TRUTH, TABLE = "a number, or a list of numbers", "a truth value", "a table of texts"
CONTACTS = "inequalities, each alone or in a list with a coefficient of restitution"
MATRICES, CONSTANTS = "a list of matrices", 'a table of brackets such as {"1,2" = {3 = 1}}'
"""The types of values in files, as messages name them; `fits` checks them."""

DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""A text that is a decimal number."""

SMALLEST_TOLERANCE = 1e-17
"""Relative. A tenth of the round-off of double precision: the error of a step cannot be smaller, so a smaller tolerance would only fail."""


def fits(value: Any, kind: str) -> bool:
    """Whether `value` is of the type `kind`, one of the constants above."""
    if kind == MATRICES:
        rows = [row for matrix in value if isinstance(matrix, list) for row in matrix] if isinstance(value, list) else []
        return bool(rows) and all(isinstance(row, list) and all(fits(v, ANY) for v in row) for row in rows)
    if kind == CONSTANTS:
        inner = [v for v in value.values() if isinstance(v, dict)] if isinstance(value, dict) else []
        return isinstance(value, dict) and len(inner) == len(value) and all(fits(v, ANY) for parts in inner for v in parts.values())
    if kind == CONTACTS:
        entries = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [None]
        return all(isinstance(e, str) or (isinstance(e, list) and len(e) == 2 and all(fits(v, ANY) for v in e)) for e in entries)
    if kind == METHOD:
        return isinstance(value, str | dict) and fits(value, SETTING)
    if kind == ROWS:
        return fits(value, TEXTS) or (isinstance(value, dict) and bool(value) and all(fits(v, TEXT) for v in value.values()))
    if kind in (TEXTS, NUMBERS):
        return isinstance(value, list) and all(fits(v, TEXT if kind == TEXTS else NUMBER) for v in value)
    if kind == TOLERANCE:
        return fits(value, NUMBER) or (fits(value, NUMBERS) and len(value) == 2)
    if kind == TRUTH:
        return isinstance(value, bool)
    if kind == TABLE:
        return isinstance(value, dict) and all(fits(v, TEXT) for v in value.values())
    if kind == SETTING:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return isinstance(value, str | int | float | dict | list) and all(fits(v, SETTING) for v in inside)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) if kind == TEXT else is_number if kind == NUMBER else is_number or isinstance(value, str)


def text_of(given: Any, name: str) -> str:
    """`given`, if it is a text without control characters."""
    if not isinstance(given, str):
        raise TypeError(f"{name} is not a text")
    reason = fault(given, lines=True)
    if reason:
        raise ValueError(f"{name} {reason}")
    return given


def list_of(given: Any, name: str) -> list[Any]:
    """A list."""
    if not isinstance(given, list):
        raise TypeError(f"{name} is not a list")
    return given


def texts(given: Any, name: str) -> list[str]:
    """A list of texts."""
    return [text_of(v, name) for v in list_of(given, name)]


def mapping(given: Any, name: str) -> dict[str, Any]:
    """A mapping from names."""
    if not isinstance(given, dict):
        raise TypeError(f"{name} is not a mapping")
    for key in given:
        text_of(key, f"a name in {name}")
    return given


def named_texts(given: Any, name: str) -> dict[str, str]:
    """A mapping from names to texts."""
    return {key: text_of(v, name) for key, v in mapping(given, name).items()}


def contacts(given: Any, name: str) -> dict[str, Any] | list[Any]:
    """Inequalities, alone or with a coefficient of restitution, by name or in a list."""

    def one(entry: Any) -> Any:
        if not isinstance(entry, list):
            return text_of(entry, name)
        if len(entry) != 2:
            raise ValueError(f"an entry of {name} is not an inequality with a coefficient of restitution")
        return tuple(text_of(v, name) if isinstance(v, str) else _number(v, name) for v in entry)

    return [one(entry) for entry in given] if isinstance(given, list) else {key: one(entry) for key, entry in mapping(given, name).items()}


def _number(given: Any, name: str) -> float | int:
    """`given`, if it is a number."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(f"{name} contains neither a text nor a number")
    return given


def require_keys(given: Any, known: Iterable[str], what: str) -> None:
    """Raise a ValueError for a key that is not `known`; ignoring it would hide a misspelling."""
    if not isinstance(given, dict):
        raise TypeError(f"{what} is not a mapping")
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ValueError(f"{what} has no part {unknown[0]!r}")
