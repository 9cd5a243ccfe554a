"""The notation: text to expressions, expressions to text and LaTeX, and SymPy on both sides."""

from chetaev.core.notation.convert import from_sympy, to_sympy
from chetaev.core.notation.defined import Function
from chetaev.core.notation.meaning import parse_expression, parse_row
from chetaev.core.notation.show import show
from chetaev.core.notation.vocabulary import Vocabulary

__all__ = ["Function", "Vocabulary", "from_sympy", "parse_expression", "parse_row", "show", "to_sympy"]
