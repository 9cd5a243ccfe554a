"""Numbers, tables and sentences as HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_ROW = re.compile(r"(?:kinematic|variational|consequence|branch)\[\d+\]'*|\bE_\w+")
"""Labels of rows."""
_MINUS = "\N{MINUS SIGN}"


def number(value: Any, digits: int = 6) -> str:
    """Return a number with `digits` significant digits, a power of ten where needed, and a typographic minus sign."""
    v = float(value)
    if not math.isfinite(v):
        return "not finite"
    if v == 0:
        return "0"
    if 1e-4 <= abs(v) < 10.0**digits:
        return f"{v:.{digits}g}".replace("-", _MINUS)
    mantissa, _, exponent = f"{v:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = f"10<sup>{int(exponent)}</sup>"
    whole = {"1": power, "-1": f"-{power}"}.get(mantissa, f"{mantissa}·{power}")
    return whole.replace("-", _MINUS)


def size(value: Any) -> str:
    """Return a residual with two digits."""
    return number(value, 2)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table of HTML cells; it scrolls where it is wider than the window."""
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    top = f"<thead><tr>{cells}</tr></thead>" if any(head) else ""
    return f'<div class="scroll"><table class="{kind}">{top}<tbody>{body}</tbody></table></div>'


def counted(count: int, noun: str) -> str:
    """`1 equation`, `2 equations`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def sentence(text: str, labels: Sequence[str] = ()) -> str:
    """Return a phrase of the library, without capital and full stop, as an HTML sentence; `labels` are names of rows in it."""
    phrase = text.strip()
    named = [rf"(?<!\w){re.escape(label)}(?!\w)" for label in labels if label.isidentifier()]
    rows = re.compile("|".join([_ROW.pattern, *named]))
    capital = phrase if rows.match(phrase) else phrase[:1].upper() + phrase[1:]
    return rows.sub(r"<code>\g<0></code>", escape(capital + ("" if phrase.endswith((".", "!", "?")) else "."), quote=False))
