r"""Where in the text of a model file an error lies: line, column and length, counted from 1.

Errors name a line of the file, and errors of the notation a span of the text they read. That text stands between quotes of the file, where
escapes such as `\"` take more characters than they mean; so the quoted texts are read again, with the place of each of their characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from chetaev.core.errors import ChetaevError, InitialError, Location, NotationError, ParameterError, PrincipleError, StateError
from chetaev.core.fixes import LeaveOut, Replace
from chetaev.io.places import line_after, line_of, place

_QUOTED = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\#[^\n]*', re.DOTALL)
"""A quoted text, or a comment, in which quotes mean nothing."""
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(\s*\n\s*)|(.))", re.DOTALL)
_PLAIN_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_TABLES: tuple[tuple[type[ChetaevError], str], ...] = (
    (ParameterError, "parameters"),
    (InitialError, "initial"),
    (PrincipleError, "principle"),
    (StateError, "simulate"),
)
"""The table of a model file in which an error found after reading can be corrected."""


class Span(NamedTuple):
    """A part of a line, counted from 1."""

    line: int
    column: int
    length: int


def span_of(fault: ChetaevError, text: str) -> Span:
    """Return where in `text` an error lies: the faulty characters, or the line that the error names, or the table to change."""
    known = fault.place
    if known.column:
        return _within(text, known.line, known.column, known.length)
    line = known.line or _line_to_change(fault, text)
    if isinstance(fault, NotationError) and fault.text:
        found = _quoted_span(text, line or 1, fault.text, *fault.span)
    else:
        found = span_to_replace(fault, text) or _span_to_leave_out(fault, text)
    if found is not None:
        return found
    return _whole_line(text, line) if line else _end(text)


def span_to_replace(fault: ChetaevError, text: str) -> Span | None:
    """Return the characters of a misspelled name outside formulas, on the line of the error; None unless it stands there once."""
    words = [fix.instead_of for fix in fault.fixes if isinstance(fix, Replace) and fix.instead_of]
    lines = text.split("\n")
    if not words or not 1 <= fault.place.line <= len(lines):
        return None
    written = lines[fault.place.line - 1]
    found = list(re.finditer(rf"(?<![\w'.-]){re.escape(words[0])}(?![\w'-])", written))
    return Span(fault.place.line, found[0].start() + 1, len(words[0])) if len(found) == 1 else None


def _span_to_leave_out(fault: ChetaevError, text: str) -> Span | None:
    """Return the last of the given initial values that contradict each other: it is likely the one that was written last."""
    names = {name for fix in fault.fixes if isinstance(fix, LeaveOut) and not fix.argument for name in fix.names}
    begin = line_of(text, "initial", "fixed")
    if not isinstance(fault, InitialError) or not names or not begin:
        return None
    start, stop = _offset(text, begin), _offset(text, line_after(text, begin))
    last: Span | None = None
    for found in _QUOTED.finditer(text, start, stop):
        meant, places = _meaning(found[0], found.start()) if not found[0].startswith("#") else ("", [0])
        if meant.split("=")[0].strip() in names:
            row = text.count("\n", 0, places[0]) + 1
            last = _within(text, row, places[0] - _offset(text, row) + 1, places[-1] - places[0])
    return last


def table_to_change(fault: ChetaevError, text: str, source: str) -> Location:
    """Return the place in a file at which an error that was found after reading can be corrected: a table, or the file."""
    table = table_of(fault)
    return place(source, text, table) if table and line_of(text, table) else Location.in_file(source, "")


def table_of(fault: ChetaevError) -> str:
    """Return the table in which an error that was found after reading can be corrected; empty if no table is meant."""
    return next((name for kind, name in _TABLES if isinstance(fault, kind)), "")


def _line_to_change(fault: ChetaevError, text: str) -> int:
    """Return the line of the table to change; 0 if the text has no such table."""
    table = table_of(fault)
    return (line_of(text, table) if table else None) or 0


def _end(text: str) -> Span:
    """The end of the text, where what is missing can be added."""
    return _within(text, text.count("\n") + 1, len(text) - text.rfind("\n"), 1)


def _quoted_span(text: str, line: int, quoted: str, start: int, stop: int) -> Span | None:
    """Return the characters `start` to `stop` of `quoted`, which stands in a quoted text of the file on or after `line`."""
    begin = _offset(text, line)
    candidates = [found for found in _QUOTED.finditer(text) if found.end() > begin and not found[0].startswith("#")]
    for found in candidates:
        meant, places = _meaning(found[0], found.start())
        at = meant.find(quoted)
        if at < 0:
            continue
        first = places[min(at + start, len(places) - 1)]
        last = places[min(at + max(stop, start + 1), len(places) - 1)]
        row = text.count("\n", 0, first) + 1
        return _within(text, row, first - _offset(text, row) + 1, last - first)
    return None


def _meaning(quoted: str, offset: int) -> tuple[str, list[int]]:
    """Return what a quoted text means, and the place in the file of each of its characters and of its end."""
    marks = 3 if quoted.startswith(('"""', "'''")) else 1
    inner = quoted[marks:-marks]
    skipped = 1 if marks == 3 and inner.startswith("\n") else 0  # the first line break of a text of several lines is left out
    meant, places, at = [], [], skipped
    for length, characters in _characters(inner, skipped, escapes=quoted.startswith('"')):
        meant.append(characters)
        places += [offset + marks + at] * len(characters)
        at += length
    return "".join(meant), [*places, offset + marks + at]


def _characters(inner: str, at: int, escapes: bool) -> Iterator[tuple[int, str]]:
    """Yield how many characters are written, and which are meant."""
    while at < len(inner):
        found = _ESCAPE.match(inner, at) if escapes and inner[at] == "\\" else None
        if found is None:
            yield 1, inner[at]
            at += 1
            continue
        number = found[1] or found[2]
        if number:
            code = int(number, 16)
            yield len(found[0]), chr(code) if code < 0x110000 else "?"
        else:
            yield len(found[0]), "" if found[3] else _PLAIN_ESCAPES.get(found[4], found[4])
        at = found.end()


def _whole_line(text: str, line: int) -> Span:
    """Return a line without the blanks at its ends."""
    lines = text.split("\n")
    line = min(max(line, 1), len(lines))
    written = lines[line - 1]
    blanks = len(written) - len(written.lstrip())
    return Span(line, blanks + 1, max(1, len(written.strip())))


def _within(text: str, line: int, column: int, length: int) -> Span:
    """Return a span cut to its line; the whole line if the span begins behind its end, where nothing could be underlined."""
    lines = text.split("\n")
    line = min(max(line, 1), len(lines))
    room = len(lines[line - 1]) - column + 1
    return Span(line, column, max(1, min(length, room))) if room > 0 else _whole_line(text, line)


def _offset(text: str, line: int) -> int:
    """Return the position at which a line begins."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at
