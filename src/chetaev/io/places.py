"""Line numbers of tables, keys and list entries in a model file, for messages.

A text is indexed once, because every check of a value computes its location first.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import lru_cache

from chetaev.core.errors import Location

_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"' -]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+)\s*(?:\.[^=]*)?=")

_ENTRY = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
"""A quoted string in a list."""
_MARK = re.compile(_ENTRY.pattern + r"|#[^\n]*|[][{}]")
"""Brackets; strings and comments match first, so that brackets inside them do not count."""
_LONGEST_LINE = 1000
"""Number of characters of a line that are searched for a header or a key. It bounds the time of the regular expressions on hostile files;
messages about a key further to the right have no line number."""


class _Index:
    """The tables, keys and strings of a file, with their lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tables: dict[tuple[str, int], int] = {}
        self.keys: dict[tuple[str, int, str], int] = {}
        seen: Counter[str] = Counter()
        here, number = "", 0
        for number, line in enumerate(text.splitlines(), 1):
            header = _HEADER.match(line[:_LONGEST_LINE]) if "[" in line else None
            if header:
                here = header[1]
                self.tables[here, seen[here]] = number
                seen[here] += 1
                continue
            found = _KEY.match(line[:_LONGEST_LINE]) if "=" in line else None
            if found:
                self.keys.setdefault((here, max(0, seen[here] - 1), found[1].strip("\"'")), number)
        self._ends = [at for at, c in enumerate(text) if c == "\n"]
        self._texts: list[int] | None = None
        self._tables_of: dict[int, list[int]] = {}

    def entry(self, line: int, index: int) -> int:
        """Return the line of entry `index` of a list of strings that begins on `line`; `line` if there is no such entry."""
        if self._texts is None:
            self._texts = [found.start() for found in _ENTRY.finditer(self.text)]
        at = bisect_left(self._texts, self.text.find("[", self._beginning(line))) + index
        return bisect_right(self._ends, self._texts[at]) + 1 if at < len(self._texts) else line

    def inline_table(self, line: int, index: int) -> int:
        """Return the line of entry `index`, `{...}`, of a list that begins on `line`; `line` if there is no such entry."""
        if line not in self._tables_of:
            self._tables_of[line] = self._inline_tables(line)
        found = self._tables_of[line]
        return found[index] if index < len(found) else line

    def _inline_tables(self, line: int) -> list[int]:
        found, depth = [], 0
        for mark in _MARK.finditer(self.text, self.text.find("[", self._beginning(line))):
            depth += (mark[0] in "[{") - (mark[0] in "]}")
            if mark[0] == "{" and depth == 2:
                found.append(bisect_right(self._ends, mark.start()) + 1)
            if depth == 0:
                break
        return found

    def _beginning(self, line: int) -> int:
        """Return the position in the text at which `line` begins."""
        return self._ends[line - 2] + 1 if 2 <= line < len(self._ends) + 2 else 0


_index = lru_cache(maxsize=2)(_Index)


def line_of(text: str, table: str, key: str = "", occurrence: int = 0) -> int | None:
    """Return the number of the line of `key` in `table`, of the table's header if `key` is empty, or None if it is not found.

    `occurrence` numbers the tables of an array `[[table]]`.
    """
    index = _index(text)
    return index.keys.get((table, occurrence, key)) if key else index.tables.get((table, occurrence))


def line_after(text: str, line: int) -> int:
    """Return the number of the next line after `line` with a table or a key; one more than the number of lines if there is none."""
    index = _index(text)
    return min((k for k in (*index.tables.values(), *index.keys.values()) if k > line), default=text.count("\n") + 2)


def place(source: str, text: str, table: str, key: str = "", occurrence: int = 0, index: int | None = None) -> Location:
    """Return a location for messages: file, table and key, line; `index` selects an entry of a list of strings."""
    name = ".".join(part for part in (table, key) if part)
    line = line_of(text, table, key, occurrence) or line_of(text, name)  # the key may be a table
    line = _index(text).entry(line, index) if line and index is not None else line
    found = Location.in_file(source, name + (f"[{index}]" if index is not None else ""), line or 0)
    return found.about(table or key, key if table and key else index)


def place_in_scene(source: str, text: str, key: str, shape: int | None) -> str:
    """Return the location of a key of the scene, or of the shape with index `shape`: a list entry, or a table [[scene.shapes]]."""
    if shape is None:
        return place(source, text, "scene", key)
    name = f"scene.shapes[{shape}]" + (f".{key}" if key else "")
    own, listed = line_of(text, "scene.shapes", "", shape), line_of(text, "scene", "shapes")
    line = line_of(text, "scene.shapes", key, shape) or own or (listed and _index(text).inline_table(listed, shape))
    return Location.in_file(source, name, line or 0)
