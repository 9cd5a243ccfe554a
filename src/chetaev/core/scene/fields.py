"""Readers for the fields of shapes and scenes, used for Python arguments and for files alike.

A reader takes the value and its place in the input, and returns the value in normal form or raises a UsageError. Reading a normal form
again does not change it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from chetaev.core.errors import UsageError, did_you_mean
from chetaev.core.fixes import Advice, sentences
from chetaev.core.support.text import fault

Place: TypeAlias = "str | Sequence[str | float]"
"""Expressions for the coordinates of a point in the picture."""
Size: TypeAlias = "str | float | None"
Reader: TypeAlias = Callable[[Any, str], Any]

BLUE, RED, GREEN, ORANGE, PURPLE = "#0b6bb8", "#d1501c", "#00876c", "#e39b0c", "#a8478f"
"""Colours of shapes, as `#rrggbb`."""
DARK, GREY, WHITE = "#2b333c", "#7f8b97", "#ffffff"
"""Colours of outlines, grounds and highlights."""
COLOURS = {
    "blue": BLUE, "red": RED, "green": GREEN, "orange": ORANGE, "purple": PURPLE, "dark": DARK, "grey": GREY, "white": WHITE,
}  # fmt: skip
"""Colours by name; others are written `#rrggbb`."""

_LONGEST_TEXT = 10_000
"""Largest number of characters of a text in a scene. A longer expression takes minutes to parse; a longer label covers the picture."""
_LONGEST_SHOWN = 80
"""Characters of a value that a message shows: one line."""
_MOST_PARTS = 1000
"""Largest number of spokes, coils, corners or rods of a shape, and of shapes of a scene. Each becomes a mesh or a line in every picture;
more would exhaust the memory of a program that draws the file."""


def cut(text: str) -> list[str]:
    """A text cut at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def place(given: Any, where: str) -> tuple[str, ...]:
    """The two or three expressions of a place, from a text with commas or from a sequence."""
    parts: list[str] = []
    if isinstance(given, str):
        parts = cut(plain(given, where))
    elif isinstance(given, Sequence) and all(isinstance(part, str) or _is_number(part) for part in given):
        parts = [plain(str(part), where).strip() for part in given]
    if len(parts) not in (2, 3) or not all(parts) or any(len(cut(part)) > 1 for part in parts):
        raise UsageError(f"{shown(given)} is not a place.", where=where, hint='"x, y" in the plane, "x, y, z" in space')
    return tuple(parts)


def places(given: Any, where: str) -> tuple[tuple[str, ...], ...]:
    """A sequence of places."""
    return tuple(place(corner, where) for corner in listed(given, where, '["0, 0", "1, 0", "0, 1"]'))


def pairs(given: Any, where: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """A sequence of pairs of places."""
    found = tuple(places(pair, where) for pair in listed(given, where, _PAIRS))
    if not found or any(len(pair) != 2 for pair in found):
        raise UsageError("a rod has two ends." if found else "there are no rods.", where=where, hint=_PAIRS)
    return found


def rotation(given: Any, where: str) -> str:
    """Turns about axes, nine entries, or the name of a rotation, as one text."""
    parts = given if isinstance(given, str) or not isinstance(given, Sequence) else ", ".join(str(part) for part in given)
    if not isinstance(parts, str) or not parts.strip():
        raise UsageError(f"{shown(given)} is not a rotation.", where=where, hint=_ROTATION)
    for part in turns_of(plain(parts, where)):
        axis, _, angle = part.partition(" ")
        if axis not in ("x", "y", "z") or not angle.strip():
            raise UsageError(f"{shown(part)} is not a turn about an axis.", where=where, hint=_ROTATION)
    return parts


def turns_of(given: str) -> list[str]:
    """The turns about axes of a rotation; none if it is the name of a coordinate or nine entries."""
    parts = cut(given)
    return [] if len(parts) == 9 or given.strip().isidentifier() else parts


def entries_of(given: str) -> list[str]:
    """The nine entries of a rotation that is not given by turns, row by row: of a name `A` they are A11, A12, ..., A33."""
    name = given.strip()
    return [f"{name}{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)] if name.isidentifier() else cut(given)


def expression(given: Any, where: str) -> str | float:
    """A text in the notation, or a number."""
    if isinstance(given, str) and given.strip():
        return plain(given, where)
    return number(given, where, 'a number, or a text such as "theta - pi/2"')


def number(given: Any, where: str, hint: Advice = "a number") -> float:
    """A finite number."""
    if not _is_number(given) or not math.isfinite(given):
        raise UsageError(f"{shown(given)} is not a number.", where=where, hint=hint)
    return int(given) if isinstance(given, int) else float(given)


def positive(given: Any, where: str) -> float:
    """A number above zero."""
    if not _is_number(given) or not 0 < given < math.inf:
        raise UsageError(f"{shown(given)} is not a positive number.", where=where, hint="a number above zero")
    return number(given, where)


def count(given: Any, where: str) -> int:
    """A number of parts, from 1 to `_MOST_PARTS`."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= _MOST_PARTS:
        raise UsageError(f"{shown(given)} is not a valid number.", where=where, hint=f"a whole number from 1 to {_MOST_PARTS}")
    return given


def truth(given: Any, where: str) -> bool:
    """True or False."""
    if not isinstance(given, bool):
        raise UsageError(f"{shown(given)} is neither true nor false.", where=where)
    return given


def axis(given: Any, where: str) -> str:
    """One of the axes of a body."""
    if given not in ("x", "y", "z"):
        raise UsageError(f"{shown(given)} is not an axis.", where=where, hint="x, y or z")
    return str(given)


def colour(given: Any, where: str) -> str:
    """A colour as `#rrggbb`, from that or from its word."""
    found = COLOURS.get(given, given) if isinstance(given, str) else given
    if not isinstance(found, str) or not re.fullmatch("#[0-9a-fA-F]{6}", found):
        hint = sentences(did_you_mean(str(given), COLOURS), f"#rrggbb, or one of {' '.join(COLOURS)}")
        raise UsageError(f"{shown(given)} is not a colour.", where=where, hint=hint)
    return found


def plain(given: Any, where: str) -> str:
    """A text of one line without control characters."""
    if not isinstance(given, str):
        raise UsageError(f"{shown(given)} is not a text.", where=where)
    reason = fault(given) or (f"has {len(given)} characters, and at most {_LONGEST_TEXT} are read." if len(given) > _LONGEST_TEXT else None)
    if reason:
        raise UsageError(f"the text {reason}", where=where, hint="plain text on one line")
    return given


def listed(given: Any, where: str, hint: Advice) -> list[Any]:
    """The entries of a list that is not too long."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError(f"{shown(given)} is not a list.", where=where, hint=hint)
    if len(given) > _MOST_PARTS:
        raise UsageError(f"a list of {len(given)} entries; at most {_MOST_PARTS} are drawn.", where=where)
    return list(given)


def optional(reader: Reader) -> Reader:
    """A reader that leaves None as it is: a field that was left out."""
    return lambda given, where: None if given is None else reader(given, where)


def shown(given: Any) -> str:
    """A value in a message, cut short."""
    text = repr(given)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


_PAIRS = '[["0, 0", "1, 0"], ["1, 0", "1, 1"]]'
"""Hint for a field of pairs of places."""
_ROTATION = '"z varphi, y theta", nine entries, or the name of a rotation'
"""Hint for a rotation."""
