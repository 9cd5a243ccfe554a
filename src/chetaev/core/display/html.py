"""Numbers, formulas, rows and tables as HTML, for notebooks and reports.

A formula is a row of small elements of MathML that flow like words, so that lines break at the window's edge and nothing is clipped. Each
has its LaTeX as a label for screen readers and for copying.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from sympy import Expr

from chetaev.core.errors import ChetaevError
from chetaev.core.notation.show import mathml, pieces
from chetaev.core.support.text import visible

WIDTH = 30
"""Characters: about the widest unbreakable piece of a formula. It has to fit the screen of a telephone."""
LONGEST = 3_500
"""Characters of a row that is typeset, about a screen; of a longer row only the length is given."""
_MINUS = "\N{MINUS SIGN}"
_STYLE = (
    ".chetaev{font-family:system-ui,sans-serif;line-height:1.5;overflow-x:auto}"
    ".chetaev dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1.2em;margin:.4em 0;align-items:baseline}"
    ".chetaev dt{opacity:.7;font-weight:normal;text-align:left}.chetaev dd{margin:0;overflow-wrap:anywhere}"
    ".chetaev table{border-collapse:collapse;margin:.4em 0}"
    ".chetaev td,.chetaev th{padding:.15em .8em .15em 0;text-align:left;vertical-align:middle}"
    ".chetaev td.n,.chetaev th.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".chetaev ul{margin:.3em 0;padding-left:1.3em}.chetaev p{margin:.3em 0}"
    ".chetaev .good,.chetaev .free,.chetaev .bad{border:1px solid;border-radius:1em;padding:0 .6em;font-size:.85em;font-weight:600}"
    ".chetaev .good{color:#00876c}.chetaev .free{color:#a86a00}.chetaev .bad{color:#c0262d}"
    ".chetaev svg,.chetaev img{vertical-align:middle}"
)
_LEAST_PLAIN = 1e-4
"""Smallest absolute value that is written without a power of ten, as Python does."""


def number(value: Any, digits: int = 6) -> str:
    """Return a number with `digits` significant digits, a power of ten where needed, and a typographic minus sign."""
    v = float(value)
    if not math.isfinite(v):
        return "not finite"
    if v == 0:
        return "0"
    if _LEAST_PLAIN <= abs(v) < 10.0**digits:
        return f"{v:.{digits}g}".replace("-", _MINUS)
    mantissa, _, exponent = f"{v:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = f"10<sup>{int(exponent)}</sup>"
    whole = {"1": power, "-1": f"-{power}"}.get(mantissa, f"{mantissa}·{power}")
    return whole.replace("-", _MINUS)


def size(value: Any) -> str:
    """Return a residual with two digits."""
    return number(value, 2)


def counted(count: int, noun: str) -> str:
    """`1 equation`, `2 equations`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def set_formula(*sides: str | Expr) -> str:
    """Set a row, by its sides or as one text, or an expression, in pieces between which a line may break."""
    return " ".join(piece.element() for piece in pieces(*sides, width=WIDTH))


def set_symbol(text: str) -> str:
    """Set a short expression in one piece."""
    return mathml(text.replace(".", "_") if text[:1].isalpha() else text)  # A.w is a component of the rotation A


def set_name(text: str) -> str:
    """Set a name that a user gave as the key of a value; anything that is not a name is shown as it is."""
    try:
        return set_symbol(text)
    except ChetaevError:
        return f"<code>{escape(visible(text))}</code>"


def set_row(text: str, *sides: str | Expr) -> str:
    """Set a row whose text is `text`, unless it is too long to be read."""
    return set_formula(*sides) if len(text) <= LONGEST else f"{len(text)} characters; <code>print</code> writes them"


def rows(given: Iterable[tuple[str, str]], html_labels: bool = False) -> str:
    """Return labels beside HTML; labels are plain texts, or HTML if `html_labels` is true."""
    parts = [f"<dt>{label if html_labels else escape(label)}</dt><dd>{body}</dd>" for label, body in given]
    return f"<dl>{''.join(parts)}</dl>" if parts else ""


def facts(given: Iterable[str]) -> str:
    """Return a list of HTML items."""
    items = "".join(f"<li>{fact}</li>" for fact in given)
    return f"<ul>{items}</ul>" if items else ""


def columns(head: Sequence[str], lines: Iterable[Sequence[str]], numbers_from: int = 1) -> str:
    """Return a table of HTML cells; from column `numbers_from` on they are numbers, set flush right."""

    def cells(tag: str, line: Sequence[str]) -> str:
        kinds = [' class="n"' if k >= numbers_from else "" for k in range(len(line))]
        return "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, line, strict=True))

    body = "".join(f"<tr>{cells('td', line)}</tr>" for line in lines)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def badge(text: str, kind: str) -> str:
    """Return a word in a frame; `kind` is good, free or bad."""
    return f'<span class="{kind}">{escape(text)}</span>'


def card(title: str, *parts: str) -> str:
    """Return a display with a title, which is a text, and parts, which are HTML."""
    return f'<div class="chetaev"><style>{_STYLE}</style><p><strong>{escape(title)}</strong></p>{"".join(parts)}</div>'
