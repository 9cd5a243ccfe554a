"""The notation: text to expressions, expressions to text and LaTeX, and SymPy on both sides.

| what | where |
|---|---|
| text to tokens to the syntax tree | `lexer`, `parser`, `tree` |
| tree to SymPy, with the names of a system | `meaning`, `vocabulary`, within `bounds`; sums, products and divisors in `arithmetic` |
| SymPy to tree, tree to text | `show`; shorter for reading by `reduction`, with names for long parts by `named_parts` |
| tree to LaTeX and MathML | `typeset`, in pieces of `formula` |
| expressions built with SymPy alone | `convert` |
| functions described by a text: those of a program, slopes in the table | `defined` |
"""

from chetaev.core.notation.convert import from_sympy, to_sympy
from chetaev.core.notation.defined import Function
from chetaev.core.notation.meaning import parse_expression, parse_row
from chetaev.core.notation.show import show
from chetaev.core.notation.vocabulary import Vocabulary

__all__ = ["Function", "Vocabulary", "from_sympy", "parse_expression", "parse_row", "show", "to_sympy"]
