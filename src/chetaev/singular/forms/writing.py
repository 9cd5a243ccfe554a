"""How linear combinations are written: coefficients in the notation, times basis elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sympy import Expr, Symbol

from chetaev.core.notation.show import in_notation, show
from chetaev.core.support.letters import MOST_PRIMES
from chetaev.core.symbols import TIME, Jet

Place = tuple[int, int, str]


def place(z: Symbol) -> Place:
    """Where a variable stands among others: jets by order and name, time last."""
    if z == TIME:
        return 1, 0, ""
    return 0, z.order if isinstance(z, Jet) else 0, z.base if isinstance(z, Jet) else z.name


def letter(symbol: str, z: Symbol) -> str:
    """A letter glued to a variable: `dx'`, `∂t`; brackets where the variable's name is not a word."""
    plain = not isinstance(z, Jet) or z.order <= MOST_PRIMES
    return f"{symbol}{z.name}" if plain else f"{symbol}({z.name})"


def combination(terms: Iterable[tuple[Expr, str]], form: Literal["text", "latex"] = "text") -> str:
    """A sum of coefficients times basis elements, as text or as LaTeX; an empty name stands for the number 1."""
    opening, closing, times = ("(", ")", "*") if form == "text" else (r"\left(", r"\right)", r"\, ")
    pieces: list[str] = []
    for coefficient, name in terms:
        text = show(coefficient, form) if form == "latex" or in_notation(coefficient) else str(coefficient)
        if name and coefficient.is_Add:
            text = f"{opening}{text}{closing}"
        sign, text = ("-", text[1:]) if text.startswith("-") and not coefficient.is_Add else ("+", text)
        text = text if not name else name if text == "1" else f"{text}{times}{name}"
        pieces.append(f" {sign} {text}" if pieces else ("-" if sign == "-" else "") + text)
    return "".join(pieces) or "0"
