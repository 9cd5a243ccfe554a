"""From text to tokens: names, numbers, primes, variations and signs, each with its place in the text."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import NamedTuple

from chetaev.core.errors import NotationError
from chetaev.core.notation.bounds import MOST_DIGITS
from chetaev.core.support.letters import GREEK, LONGEST_NAME, spell

LONGEST_TEXT = 1_000_000
"""Characters of one text of the notation. Reading this many takes seconds; a longer text is refused before it is read."""

_LETTER = "A-Za-z" + "".join(GREEK)
"""Characters with which a name may begin, for regular expressions."""
_TOKEN = re.compile(
    rf"""
      (?P<blank>\s+)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<variation>δ(?=[{_LETTER}]))
    | (?P<name>[{_LETTER}][{_LETTER}0-9_]*)
    | (?P<primes>'+)
    | (?P<sign>\*\*|==|[-+*/^(),=])
    """,
    re.VERBOSE,
)
"""One token, or blanks, at a place of a text; the group is the kind."""

_ASCII_FOR = {
    "−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "⁄": "/",
    "′": "'", "’": "'", "‘": "'", "`": "'", "´": "'", "″": "''", "ʹ": "'",
    "ϕ": "phi", "ϵ": "epsilon", "ϑ": "theta", "ϰ": "kappa", "ϱ": "rho", "ϖ": "pi", "ς": "sigma", "µ": "mu",
    "[": "(", "]": ")", "{": "(", "}": ")", "≠": "!=", "≤": "<=", "≥": ">=", "√": "sqrt(...)", "∂": "delta",
}  # fmt: skip
"""Replacements for characters that look right but are not in the notation."""
_CONFUSABLE = dict(zip("аеіјорсухѕԁһАВЕІЈКМНОРСТУХ", "aeijopcyxsdhABEIJKMHOPCTYX", strict=True))
"""Cyrillic letters by the Latin ones that they look like."""
_BLANK_THEN_LETTER = re.compile(rf"\s+[{_LETTER}]")
"""Blanks and a letter: the text after a `δ` that is separated from its name."""


class Kind(StrEnum):
    """The kind of a token."""

    NAME = "name"
    NUMBER = "number"
    PRIMES = "primes"
    VARIATION = "variation"
    SIGN = "sign"
    END = "end"


_KINDS: dict[str | None, Kind] = {kind.value: kind for kind in Kind}
"""Kinds by the name of the group in `_TOKEN`."""


class Token(NamedTuple):
    """A piece of text with its place; `glued` is True if no blank stands before it."""

    kind: Kind
    text: str
    start: int
    stop: int
    glued: bool

    @property
    def span(self) -> tuple[int, int]:
        """The positions in the text at which the token begins and ends."""
        return self.start, self.stop


def tokens(text: str, where: str) -> list[Token]:
    """All tokens of a text, with an end mark."""
    if not isinstance(text, str):
        raise NotationError(f"expected a text, found {type(text).__name__}.", where=where)
    if len(text) > LONGEST_TEXT:
        raise NotationError(f"the text has {len(text)} characters; at most {LONGEST_TEXT} are read.", where=where)
    found: list[Token] = []
    at, glued = 0, False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotationError(_unknown_character(text, at), where=where, text=text, span=(at, at + 1))
        start, at = at, match.end()
        group, piece = match.lastgroup, match.group()
        if group == "blank":
            glued = False
            continue
        if group == "name":
            if piece == "δ" and _BLANK_THEN_LETTER.match(text, at):
                raise NotationError("δ must stand directly before a name, as in δx.", where=where, text=text, span=(start, at))
            if len(piece) > LONGEST_NAME:
                raise NotationError(f"a name of more than {LONGEST_NAME} letters.", where=where, text=text, span=(start, start + 1))
            piece = spell(piece)
        elif group == "number" and len(piece) > MOST_DIGITS and sum(map(str.isdigit, piece)) > MOST_DIGITS:
            raise NotationError(f"a number of more than {MOST_DIGITS} digits.", where=where, text=text, span=(start, start + 1))
        found.append(Token(_KINDS[group], piece, start, at, glued))
        glued = True
    found.append(Token(Kind.END, "", at, at, False))
    return found


def _unknown_character(text: str, at: int) -> str:
    """The message for a character that the notation does not know."""
    c = text[at]
    if c == "|":
        return "no bars here.  Write abs(x) for the absolute value."
    if c == '"':
        return "quotes cannot be read.  Write x'' with two single quotes for a second derivative."
    if c == "\\":
        return "LaTeX is written, not read.  Write plain text, such as theta'^2/2."
    if not c.isprintable():
        return f"character U+{ord(c):04X} cannot be read."
    name = unicodedata.name(c, f"U+{ord(c):04X}")
    if "SUPERSCRIPT" in name:
        return f"superscripts cannot be read.  Write ^{unicodedata.normalize('NFKC', c)}."
    if "SUBSCRIPT" in name:
        return f"subscripts cannot be read.  Write {unicodedata.normalize('NFKC', c)} after the name, as in x1."
    ascii_form = _ASCII_FOR.get(c) or _CONFUSABLE.get(c) or unicodedata.normalize("NFKC", c)
    if ascii_form != c and ascii_form.isascii():
        return f"{c!r} ({name}) cannot be read.  Write {ascii_form}"
    return f"{c!r} ({name}) cannot be read."


def names_in(text: str) -> set[str]:
    """The names in a text, without primes and without the sign of a variation; empty for a text that cannot be read."""
    try:
        return {token.text.rstrip("'") for token in tokens(text, "") if token.kind is Kind.NAME}
    except NotationError:
        return set()
