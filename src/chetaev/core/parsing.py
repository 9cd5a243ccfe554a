"""parse: one text to one expression, in the names of a system or in names declared on the spot."""

from __future__ import annotations

from typing import Any

from sympy import Expr

from chetaev.core.declarations import COORDINATE_KINDS, PARAMETER_KINDS, Names, read_names
from chetaev.core.errors import UsageError
from chetaev.core.notation import Vocabulary, parse_expression
from chetaev.core.symbols import Coordinate, Input, Parameter


def parse(text: str, about: Any = None, *, coordinates: Any = "", parameters: Any = "", inputs: Any = "") -> Expr:
    """The expression a text stands for, in the names of a system, equations or model, or in names declared here.

    >>> parse("m/2*x'^2", coordinates="x", parameters="m")
    m*x'**2/2
    """
    if about is not None:
        known = getattr(about, "vocabulary", None) or getattr(getattr(about, "system", None), "vocabulary", None)
        if not isinstance(known, Vocabulary):
            what = f"parse takes the names of a system, equations or model, not {type(about).__name__}."
            raise UsageError(what, where="parse", hint='parse(text, system), or parse(text, coordinates="x", parameters="m")')
        return parse_expression(text, known)
    declared = Names("parse")
    jets: dict[str, Any] = {n: Coordinate(n) for n in read_names(coordinates, "coordinate", COORDINATE_KINDS, declared)}
    kinds = read_names(parameters, "parameter", PARAMETER_KINDS, declared)
    jets |= {n: Input(n) for n in read_names(inputs, "input", ("given",), declared)}
    symbols = {n: Parameter(n, positive=kind == "positive") for n, kind in kinds.items()}
    return parse_expression(text, Vocabulary(jets=jets, parameters=symbols))
