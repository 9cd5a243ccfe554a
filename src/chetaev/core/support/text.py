"""Texts of the user are data: they are shown, and never interpreted as commands or markup.

Names, titles and prose are written to terminals, LaTeX, web pages and comments of programs. Control characters are refused in texts that
are stored (`fault`) and written as escapes in quotations of refused texts (`visible`). Characters that a language reads as markup are
escaped for that language: `in_latex`, `in_c_comment`, `in_mathtext`.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 500
"""Largest number of characters of the name of a system, which stands in every heading."""

_CONTROL = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Unicode's categories of characters without a glyph: control, format (such as a change of the writing direction), surrogates, separators
of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Format characters that words of some scripts need."""
_BLANKS = "\n\t"
"""Control characters that a text of several lines may contain."""

_LATEX = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\sim ", "^": r"\wedge ", "<": "{<}", ">": "{>}",
}  # fmt: skip
"""Formulas that show the characters which LaTeX, or a web page around it, would read as markup. A `<` before a brace opens no tag."""
_PIECES = re.compile(r"[^\\{}$&#_%~^<>]+|.", re.DOTALL)
"""A run of plain characters, or one character of `_LATEX`."""


def fault(text: str, lines: bool = False) -> str | None:
    """The reason why `text` cannot be accepted, or None; with `lines` it may have several lines."""
    shown = text.replace("\n", "").replace("\t", "") if lines else text
    if shown.isprintable():  # nearly every text; characters of these categories are not printable
        return None
    for c in text:
        if _is_control(c) and not (lines and c in _BLANKS):
            return f"contains the control character U+{ord(c):04X}{_called(c)}."
    return None


def visible(text: str) -> str:
    r"""`text` with control characters written as `\x1b` and the like; line ends and tabs stay.

    >>> visible("a\x1b]0;b")
    'a\\x1b]0;b'
    """
    if text.isascii() and text.isprintable():  # nearly every text
        return text
    return "".join(c.encode("unicode_escape").decode() if _is_control(c) and c not in _BLANKS else c for c in text)


def in_latex(text: str) -> str:
    r"""`text` inside a LaTeX formula, with all markup escaped.

    >>> print(in_latex("a_b"))
    \text{a}\_\text{b}
    """
    return "".join(_LATEX.get(piece, rf"\text{{{piece}}}") for piece in _PIECES.findall(text))


def in_c_comment(text: str) -> str:
    """`text` inside a comment of C, which it cannot end. C joins lines at a backslash, or at `??/`, before it looks for comments."""
    text = text.replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
    text = re.sub(r"\?(?=\?)", "? ", text)
    return re.sub(r"\*(?=/)|/(?=\*)", r"\g<0> ", text)


def in_mathtext(text: str) -> str:
    """`text` for a picture of matplotlib, with dollar signs escaped."""
    return text.replace("$", r"\$")


def _is_control(c: str) -> bool:
    return unicodedata.category(c) in _CONTROL and c not in _JOINERS


def _called(c: str) -> str:
    """The name of a character, in brackets; control characters have none."""
    name = {"\x1b": "ESCAPE", "\n": "line end", "\r": "carriage return", "\t": "tab", "\0": "NUL", "\x7f": "DELETE"}.get(c)
    name = name or unicodedata.name(c, "")
    return f" ({name})" if name else ""
