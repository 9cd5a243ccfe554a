"""Where something stands in a model file: the line of a key, for messages."""

from __future__ import annotations

import re
from itertools import islice

_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"' -]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+)\s*(?:\.[^=]*)?=")

_ENTRY = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
"""A text of a list."""


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


def line_of_entry(text: str, line: int, index: int) -> int:
    """The line of an entry of a list of texts that begins on a given line; the list's own if it has no such entry."""
    beginning = sum(len(before) for before in text.splitlines(keepends=True)[: line - 1])
    entries = list(islice(_ENTRY.finditer(text, text.find("[", beginning)), index + 1))
    return text.count("\n", 0, entries[index].start()) + 1 if index < len(entries) else line


def place(source: str, text: str, table: str, key: str = "", occurrence: int = 0, index: int | None = None) -> str:
    """A place as messages name it: file, table and key, line."""
    name = ".".join(part for part in (table, key) if part)
    line = line_of(text, table, key, occurrence) or line_of(text, name)  # the key may be a table of its own
    line = line_of_entry(text, line, index) if line and index is not None else line
    parts = [source, name + (f"[{index}]" if index is not None else ""), f"line {line}" if line else ""]
    return ", ".join(part for part in parts if part)
