"""Where something stands in a model file: the line of a key, for messages."""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"' -]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+)\s*=")


def line_of(text: str, table: str, key: str = "", occurrence: int = 0) -> int | None:
    """The number of the line on which a key of a table stands (of the table itself without a key); None if it is not found.

    `occurrence` counts arrays of tables with the same name.
    """
    here, seen = "", -1
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            here = header[1]
            seen += here == table
            if here == table and seen == occurrence and not key:
                return number
            continue
        found = _KEY.match(line)
        if found and key and here == table and max(seen, 0) == occurrence and found[1].strip("\"'") == key:
            return number
    return None


def place(source: str, text: str, table: str, key: str = "", occurrence: int = 0, index: int | None = None) -> str:
    """A place as messages name it: file, table and key, line."""
    name = ".".join(part for part in (table, key) if part)
    line = line_of(text, table, key, occurrence)
    parts = [source, name + (f"[{index}]" if index is not None else ""), f"line {line}" if line else ""]
    return ", ".join(part for part in parts if part)
