"""Small pieces of Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Sequence

from chetaev.core.notation.show import latex, pieces
from chetaev.report.html_text import RELATIONS
from chetaev.report.prose import Setter, line

TAIL = ".,;:"


def cell(text: str) -> str:
    """Text that fits into one line of a table."""
    return prose(" ".join(text.split())).replace("|", "\\|")


def prose(text: str) -> str:
    """Plain text in which names and formulas look like code and nothing is taken for markup."""
    return re.sub(r"(?<![\\`$])([*_<>\[\]])", r"\\\1", text) if "`" not in text and "$" not in text else text


def formula(text: str, width: int = 70) -> str:
    """A row or an expression of the notation, as pieces between which a line may end."""
    return " ".join(f"$\\displaystyle {piece.latex}$" for piece in pieces(text, width=width)).replace("|", "\\vert ")


MARKDOWN = Setter(lambda text: f"${latex(text)}$", lambda sign, text: f"${RELATIONS[sign].latex}{latex(text)}$")
"""Formulas in running text, for Markdown."""


def told(text: str, names: Collection[str]) -> str:
    """Running text in which the names and formulas of a system are typeset; what only looks like a formula is shown as code."""
    known = {*names, *"wvkEHL", *(f"lambda{k}" for k in range(1, 10))}
    return "\n\n".join(_escaped(line(part, known, MARKDOWN)) for part in text.split("\n\n"))


def _escaped(text: str) -> str:
    """Text in which nothing outside of formulas is taken for markup."""
    parts = re.split(r"(\$[^$]*\$|<code>.*?</code>)", text)
    return "".join(_code(part) if k % 2 == 0 else part.replace("<code>", "`").replace("</code>", "`") for k, part in enumerate(parts))


def _code(text: str) -> str:
    words = re.split(r"(\s+)", html.unescape(text))
    shown = [f"`{w.rstrip(TAIL)}`{w[len(w.rstrip(TAIL)) :]}" if re.search(r"[*^]|\w'(?!\w*[a-z]{2})\W*\w*[*(=]", w) else w for w in words]
    return "".join(w if w.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", w) for w in shown)


def fenced(text: str, language: str = "text") -> str:
    """A block of code or output."""
    return f"```{language}\n{text.rstrip()}\n```"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])
