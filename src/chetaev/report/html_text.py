"""Numbers, tables, sentences and formulas as HTML.

A formula is a row of small elements of MathML that flow like words, so that lines break at the window's edge and nothing is clipped. Each
has its LaTeX as a label for screen readers and for copying.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from sympy import Expr

from chetaev.core.notation.formula import Formula, leading, operator, symbol
from chetaev.core.notation.show import mathml, pieces
from chetaev.core.system import System
from chetaev.core.units.unit import typeset
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.quantities import unit_of

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


_WIDTH = 30
"""Characters: about the widest unbreakable piece of a formula. It has to fit the screen of a telephone."""
_SIGNS = (("!=", r"\neq ", "≠"), (">", "> ", ">"), ("<", "< ", "<"))
RELATIONS = {sign: Formula(latex, leading(mark).mathml) for sign, latex, mark in _SIGNS}
"""Relations of running text that are not in the notation."""


def set_formula(*sides: str | Expr) -> str:
    """Set a row, by its sides or as one text, or an expression, in pieces between which a line may break."""
    return " ".join(piece.element() for piece in pieces(*sides, width=_WIDTH))


def set_symbol(text: str) -> str:
    """Set a short expression in one piece."""
    return mathml(text.replace(".", "_") if text[:1].isalpha() else text)  # A.w is a component of the rotation A


def set_unit(about: System | Equations, name: str) -> str:
    """Return the unit of a quantity, after a space; empty if it is not known."""
    unit = unit_of(about, name)
    return f' <span class="unit">{escape(typeset(unit))}</span>' if unit else ""


def set_relation(relation: str, text: str) -> str:
    """Set a relation such as `!=` and what stands after it."""
    first, *rest = pieces(text, width=_WIDTH)
    return " ".join(piece.element() for piece in (RELATIONS[relation].then(first), *rest))


def set_general_form(reactions: bool) -> tuple[str, str]:
    """Set the form of all equations, `E_i = u_i + lambda_a R^a_i`, and the coefficients `R^a_i`."""
    base, index = symbol("R_i").indexed
    coefficients = Formula("R^{a}_{i}", f"<msubsup>{base}{index}<mi>a</mi></msubsup>")
    form = symbol("E_i").then(operator("=")).then(symbol("u_i"))
    if reactions:
        form = form.then(operator("+")).then(symbol("lambda_a")).then(coefficients)
    return form.element(), coefficients.element()
