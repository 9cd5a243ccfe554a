"""Slopes of functions that the table of the notation describes by their slope alone."""

from __future__ import annotations

from functools import cache

from sympy import Expr

from chetaev.core.functions import SMOOTH
from chetaev.core.notation.meaning import parse_expression
from chetaev.core.notation.vocabulary import Vocabulary
from chetaev.core.symbols import Parameter

ARGUMENT = Parameter("u")
"""The argument in the text of a slope."""


@cache
def slopes_of_functions() -> dict[str, Expr]:
    """The slope of each such function, by its name."""
    known = Vocabulary(expressions={"u": ARGUMENT})
    return {name: parse_expression(function.slope, known, f"function {name}") for name, function in SMOOTH.items() if function.slope}
