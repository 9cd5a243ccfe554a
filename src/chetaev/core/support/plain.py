"""Plain data from files: texts, lists and mappings of their one type. What is of another type is a TypeError, and not repaired."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chetaev.core.support.text import fault


def text_of(given: Any, name: str) -> str:
    """A text, if it is one and contains nothing that a terminal would obey."""
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


def require_keys(given: Any, known: Iterable[str], what: str) -> None:
    """Refuse what nobody knows: it may have meant something to who wrote it."""
    if not isinstance(given, dict):
        raise TypeError(f"{what} is not a mapping")
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ValueError(f"{what} has no part {unknown[0]!r}")
