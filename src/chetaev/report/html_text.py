"""Tables, sentences and relations of reports as HTML; numbers and formulas are those of `core.display`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from chetaev.core.display.html import WIDTH
from chetaev.core.notation.formula import Formula, leading, operator, symbol
from chetaev.core.notation.show import pieces
from chetaev.core.system import System
from chetaev.core.units.unit import typeset
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.quantities import unit_of

_ROW = re.compile(r"(?:kinematic|variational|consequence|branch)\[\d+\]'*|\bE_\w+")
"""Labels of rows."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table of HTML cells; it scrolls if it is wider than the window."""
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    top = f"<thead><tr>{cells}</tr></thead>" if any(head) else ""
    return f'<div class="scroll"><table class="{kind}">{top}<tbody>{body}</tbody></table></div>'


def sentence(text: str, labels: Sequence[str] = ()) -> str:
    """Return a phrase of the library, without capital and full stop, as an HTML sentence; `labels` are names of rows in it."""
    phrase = text.strip()
    named = [rf"(?<!\w){re.escape(label)}(?!\w)" for label in labels if label.isidentifier()]
    rows = re.compile("|".join([_ROW.pattern, *named]))
    capital = phrase if rows.match(phrase) else phrase[:1].upper() + phrase[1:]
    return rows.sub(r"<code>\g<0></code>", escape(capital + ("" if phrase.endswith((".", "!", "?")) else "."), quote=False))


_SIGNS = (("!=", r"\neq ", "≠"), (">", "> ", ">"), ("<", "< ", "<"))
RELATIONS = {sign: Formula(latex, leading(mark).mathml) for sign, latex, mark in _SIGNS}
"""Relations of running text that are not in the notation."""


def set_unit(about: System | Equations, name: str) -> str:
    """Return the unit of a quantity, after a space; empty if it is not known."""
    unit = unit_of(about, name)
    return f' <span class="unit">{escape(typeset(unit))}</span>' if unit else ""


def set_relation(relation: str, text: str) -> str:
    """Typeset a relation such as `!=` and the expression after it."""
    first, *rest = pieces(text, width=WIDTH)
    return " ".join(piece.element() for piece in (RELATIONS[relation].then(first), *rest))


def set_general_form(reactions: bool) -> tuple[str, str]:
    """Typeset the form of all equations, `E_i = u_i + lambda_a R^a_i`, and the coefficients `R^a_i`."""
    base, index = symbol("R_i").indexed
    coefficients = Formula("R^{a}_{i}", f"<msubsup>{base}{index}<mi>a</mi></msubsup>")
    form = symbol("E_i").then(operator("=")).then(symbol("u_i"))
    if reactions:
        form = form.then(operator("+")).then(symbol("lambda_a")).then(coefficients)
    return form.element(), coefficients.element()
