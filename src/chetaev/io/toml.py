"""Values and keys as TOML writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any

from chetaev.mechanics.principles import Principle, spec_of


def in_toml(value: Any, number: Callable[[Any], str] = repr) -> str:
    """Write a text, a number, a truth value, or a list or table of these; three dots stand for a value that the user has to choose."""
    match value:
        case EllipsisType():
            return "..."
        case Mapping():
            return "{" + ", ".join(entries(value, number)) + "}"
        case list() | tuple():
            return f"[{', '.join(in_toml(v, number) for v in value)}]"
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False)
    return number(value)


def entries(table: Mapping[Any, Any], number: Callable[[Any], str] = repr) -> list[str]:
    """Write the entries of a table: `name = value`."""
    return ["..." if name is ... else f"{written_key(name)} = {in_toml(value, number)}" for name, value in table.items()]


def written_key(name: str) -> str:
    """Write a key, quoted where TOML requires it."""
    return name if name.replace("_", "a").isalnum() and name.isascii() else json.dumps(name, ensure_ascii=False)


def principle_keys(principle: Principle, where: str = "save") -> dict[str, str]:
    """Return the keys, with their values, of a table that names `principle`; `where` is for the error about a setting without a form."""
    found = spec_of(principle, where)
    return {name: in_toml(value) for name, value in ({"name": found} if isinstance(found, str) else found).items()}
