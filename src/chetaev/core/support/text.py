"""Texts of the user are data: whatever they contain, they are shown and never obeyed.

Names, titles and prose travel far: into terminals, LaTeX, pages, comments of programs. A character that a terminal, a compiler or an editor
takes for a command is refused where such a text enters (`fault`), and shown by its number where a text that was not accepted is quoted
(`visible`). Characters that only a language reads as markup are spelt for that language: `in_latex`, `in_c_comment`, `in_mathtext`.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 500
"""Characters of the name of a system: it stands in every heading, and a longer one would bury what it heads."""

_OBEYED = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Unicode's categories of characters that act instead of being seen: control, format (those that turn the direction of writing, for
example), halves of characters, separators of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Format characters that belong to words of some scripts, and do nothing else."""
_BLANKS = "\n\t"

_LATEX = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\sim ", "^": r"\wedge ", "<": "{<}", ">": "{>}",
}  # fmt: skip
"""What LaTeX, or a page that LaTeX stands in, would read as markup, as mathematics that shows it. A < before a brace opens no tag."""
_PIECES = re.compile(r"[^\\{}$&#_%~^<>]+|.", re.DOTALL)


def fault(text: str, lines: bool = False) -> str | None:
    """Why a text cannot be accepted, or None; with `lines` it may have several lines."""
    shown = text.replace("\n", "").replace("\t", "") if lines else text
    if shown.isprintable():  # nearly every text: no character of any of these categories is printable
        return None
    for c in text:
        if _is_obeyed(c) and not (lines and c in _BLANKS):
            return f"contains the character U+{ord(c):04X}{_called(c)}, which is not shown but obeyed."
    return None


def visible(text: str) -> str:
    r"""A text with characters that would be obeyed written as `\x1b` and the like; line ends and tabs stay.

    >>> visible("a\x1b]0;b")
    'a\\x1b]0;b'
    """
    if text.isascii() and text.isprintable():  # nearly every text
        return text
    return "".join(c.encode("unicode_escape").decode() if _is_obeyed(c) and c not in _BLANKS else c for c in text)


def in_latex(text: str) -> str:
    r"""A text inside a formula of LaTeX, nothing in it a command.

    >>> print(in_latex("a_b"))
    \text{a}\_\text{b}
    """
    return "".join(_LATEX.get(piece, rf"\text{{{piece}}}") for piece in _PIECES.findall(text))


def in_c_comment(text: str) -> str:
    """A text inside a comment of C, which it cannot end: C joins lines at a backslash, or at `??/`, before it looks for comments."""
    text = text.replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
    text = re.sub(r"\?(?=\?)", "? ", text)
    return re.sub(r"\*(?=/)|/(?=\*)", r"\g<0> ", text)


def in_mathtext(text: str) -> str:
    """A text in a picture of matplotlib, nothing in it a formula."""
    return text.replace("$", r"\$")


def _is_obeyed(c: str) -> bool:
    return unicodedata.category(c) in _OBEYED and c not in _JOINERS


def _called(c: str) -> str:
    """The name of a character, in brackets; control characters have none."""
    name = {"\x1b": "ESCAPE", "\n": "line end", "\r": "carriage return", "\t": "tab", "\0": "NUL", "\x7f": "DELETE"}.get(c)
    name = name or unicodedata.name(c, "")
    return f" ({name})" if name else ""
