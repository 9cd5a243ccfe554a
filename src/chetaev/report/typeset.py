"""Formulas as MathML, which browsers set themselves.

A formula is a row of small elements that flow like words, so that lines break at the window's edge and nothing is clipped. Each has its
LaTeX as a label for screen readers and for copying.
"""

from __future__ import annotations

from sympy import Expr

from chetaev.core.notation.formula import Formula, leading, operator, symbol
from chetaev.core.notation.show import mathml, pieces

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
