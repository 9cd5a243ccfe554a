"""From expressions back to the notation and to LaTeX. `parse(show(e)) == e`."""

from __future__ import annotations

from typing import Any, Literal

import sympy
from sympy import Expr, Rational
from sympy.printing.conventions import split_super_sub
from sympy.printing.latex import LatexPrinter, greek_letters_set, tex_greek_dictionary

from chetaev.core.functions import SPELLING
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Variation

_SUM, _PRODUCT, _POWER, _ATOM = range(4)


def show(expression: Any, form: Literal["text", "latex"] = "text") -> str:
    r"""An expression as text of the notation or as LaTeX.

    >>> from chetaev.core.symbols import Coordinate, Parameter
    >>> x, m = Coordinate("x"), Parameter("m")
    >>> show(m * x.d(1) ** 2 / 2)
    "m*x'^2/2"
    >>> show(m * x.d(2), "latex")
    'm \\ddot{x}'
    """
    with deep():
        if form == "latex":
            return _Typeset().doprint(expression)
        if isinstance(expression, int | float):
            expression = Rational(repr(expression))
        return _Text().show(expression, _SUM)


class _Typeset(LatexPrinter):
    """SymPy's LaTeX, but names mean themselves: SymPy reads `xdot` as a dot above x, which is another variable here."""

    def _deal_with_super_sub(self, string: str, style: str = "plain") -> str:
        name, above, below = split_super_sub(string)
        found: str = _letters(name)
        found += f"^{{{' '.join(map(_letters, above))}}}" if above else ""
        return found + (f"_{{{' '.join(map(_letters, below))}}}" if below else "")


def _letters(name: str) -> str:
    """A Greek letter by its command, anything else as it is."""
    found: str = tex_greek_dictionary.get(name) or (f"\\{name}" if name in greek_letters_set else name)
    return found


def in_notation(expression: Expr) -> bool:
    """Whether an expression can be written in the notation."""
    plain = (sympy.Symbol, sympy.Add, sympy.Mul, sympy.Pow, sympy.Rational, *SPELLING)
    return all(isinstance(e, plain) or e in (sympy.pi, sympy.E) for e in sympy.preorder_traversal(expression))


class _Text:
    """One expression becoming a text. A part that occurs in many places, as in derivatives of what is nested, is written once."""

    def __init__(self) -> None:
        self._known: dict[Expr, tuple[str, int]] = {}

    def _rendered(self, e: Expr) -> tuple[str, int]:
        found = self._known.get(e)
        if found is None:
            found = self._known[e] = self._render(e)
        return found

    def show(self, e: Expr, room: int) -> str:
        """Text of an expression, in brackets when it binds weaker than its surroundings."""
        text, strength = self._rendered(e)
        return text if strength >= room else f"({text})"

    def _render(self, e: Expr) -> tuple[str, int]:
        if isinstance(e, Variation):
            return f"delta {e.coordinate}", _ATOM
        if e.is_Symbol:
            return e.name, _ATOM
        if e.is_Rational:
            return _rational(e)
        if e is sympy.pi:
            return "pi", _ATOM
        if e is sympy.E:
            return "exp(1)", _ATOM
        if e.is_Add:
            return self._sum(e), _SUM
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow or isinstance(e, sympy.exp):
            return self._power(e)
        name = SPELLING.get(type(e))
        if name is None:
            raise ValueError(f"{type(e).__name__} is not in the notation")
        return f"{name}({', '.join(self.show(a, _SUM) for a in e.args)})", _ATOM

    def _sum(self, e: Expr) -> str:
        pieces: list[str] = []
        texts = [self.show(term, _SUM) for term in e.as_ordered_terms()]
        texts.sort(key=lambda text: text.startswith("-"))  # stable: a sum begins with a positive term if it has one
        for text in texts:
            if not pieces:
                pieces.append(text)
            elif text.startswith("-"):
                pieces.append(f" - {text[1:]}")
            else:
                pieces.append(f" + {text}")
        return "".join(pieces)

    def _product(self, e: Expr) -> tuple[str, int]:
        coefficient, rest = e.as_coeff_Mul()
        above: list[str] = []
        below: list[str] = []
        if coefficient.is_Rational:
            numerator, denominator = abs(coefficient.p), coefficient.q
        else:
            numerator, denominator, rest = 1, 1, e
        if numerator != 1:
            above.append(str(numerator))
        for factor in rest.as_ordered_factors():
            base, exponent = factor.args if factor.is_Pow else (factor, sympy.S.One)
            if exponent.is_Rational and exponent.is_negative:
                below.append(self.show(sympy.Pow(base, -exponent), _POWER))
            else:
                above.append(self.show(factor, _POWER))
        if denominator != 1:
            below.append(str(denominator))
        text = "*".join(above) or "1"
        for divisor in below:
            text += f"/{divisor}"
        negative = coefficient.is_Rational and coefficient.is_negative
        return (f"-{text}", _SUM) if negative else (text, _PRODUCT)

    def _power(self, e: Expr) -> tuple[str, int]:
        if isinstance(e, sympy.exp):
            return f"exp({self.show(e.args[0], _SUM)})", _ATOM
        base, exponent = e.args
        if exponent.is_Rational and exponent.is_negative:
            return f"1/{self.show(sympy.Pow(base, -exponent), _POWER)}", _PRODUCT
        if exponent == Rational(1, 2):
            return f"sqrt({self.show(base, _SUM)})", _ATOM
        return f"{self.show(base, _ATOM)}^{self.show(exponent, _ATOM)}", _POWER


def _rational(e: Rational) -> tuple[str, int]:
    text = str(e.p) if e.q == 1 else f"{e.p}/{e.q}"
    return text, _SUM if e.p < 0 else (_ATOM if e.q == 1 else _PRODUCT)
