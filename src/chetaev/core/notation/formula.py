"""A formula in two languages, LaTeX and MathML, built piece by piece so that both always agree.

MathML is a row of elements side by side. It keeps to MathML Core, which browsers set without any library: operators that must not grow
say so, invisible signs stand for products and for the application of functions, and spaces are those of LaTeX.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from chetaev.core.support.letters import symbol_latex, symbol_mathml

_COMMAND = re.compile(r"\\(?:mathrm|operatorname|left|right|frac|sqrt|d*ot|[,;! ])|[{}^_&]")
"""LaTeX that takes no width of its own."""
_CONTROL = re.compile(r"\\[A-Za-z]+")
"""Commands that are about one character wide."""
_TALL = re.compile(r"\\frac|\\sqrt|\\begin")
"""Parts that need brackets of their own height."""
_SINGLE = re.compile(r"<(m[in])>[^<]*</\1>")
"""A name or a number, one element."""


def estimated_width(formula: str) -> int:
    """The approximate width of LaTeX in characters; a fraction counts as wide as both its parts together, an overestimate."""
    return len(_CONTROL.sub("x", _COMMAND.sub("", formula)).replace(" ", ""))


class Formula(NamedTuple):
    """A formula or a part of one."""

    latex: str
    mathml: str
    indexed: tuple[str, str] = ("", "")
    """MathML of a symbol and of its index, so that a power can stand above the index."""

    def then(self, other: Formula) -> Formula:
        """This formula and another one after it."""
        return Formula(self.latex + other.latex, self.mathml + other.mathml)

    @property
    def width(self) -> int:
        """The approximate width in characters."""
        return estimated_width(self.latex)

    @property
    def tall(self) -> bool:
        """Whether brackets around it have to grow."""
        return bool(_TALL.search(self.latex))

    def raised(self, exponent: Formula) -> Formula:
        """A power, without brackets."""
        base, index = self.indexed
        above = grouped(exponent.mathml)
        power = f"<msubsup>{base}{index}{above}</msubsup>" if index else f"<msup>{grouped(self.mathml)}{above}</msup>"
        return Formula(f"{self.latex}^{{{exponent.latex}}}", power)

    def bracketed(self) -> Formula:
        """The formula in brackets that grow only where something tall stands in them."""
        if self.tall:
            return Formula(rf"\left({self.latex}\right)", f"<mrow><mo>(</mo>{self.mathml}<mo>)</mo></mrow>")
        return OPENING.then(self).then(CLOSING)

    def element(self) -> str:
        """A whole `<math>` element, with the LaTeX as its label for screen readers, search and copying."""
        return f'<math displaystyle="true" alttext="{escape(self.latex)}">{self.mathml}</math>'


def grouped(mathml: str) -> str:
    """MathML as one element: a row of elements in an `<mrow>`."""
    return mathml if _SINGLE.fullmatch(mathml) else f"<mrow>{mathml}</mrow>"


OPENING = Formula("(", '<mo stretchy="false" form="prefix">(</mo>')
CLOSING = Formula(")", '<mo stretchy="false" form="postfix">)</mo>')
COMMA = Formula(", ", "<mo>,</mo>")
EQUALS = Formula(" = ", "<mo>=</mo>")
TIMES = Formula(" ", "<mo>\N{INVISIBLE TIMES}</mo>")
TIMES_FUNCTION = Formula(" ", '<mo lspace="0" rspace="0.167em">\N{INVISIBLE TIMES}</mo>')
"""A product beside the name of a function, which LaTeX keeps apart by a thin space."""
DOT = Formula(r" \cdot ", "<mo>\N{DOT OPERATOR}</mo>")
MINUS = Formula("-", '<mo form="prefix">\N{MINUS SIGN}</mo>')
"""The sign of a number or a term, not a subtraction."""
_SIGNS = {"-": "\N{MINUS SIGN}"}


def operator(sign: str) -> Formula:
    """A sign between two operands."""
    return Formula(f" {sign} ", f'<mo form="infix">{_SIGNS.get(sign, sign)}</mo>')


def leading(sign: str) -> Formula:
    """A sign with which a piece begins; the blank between pieces is the space before it."""
    return Formula(rf"{sign} \, ", f'<mo form="infix" lspace="0">{escape(_SIGNS.get(sign, sign))}</mo>')


def symbol(name: str, primes: int = 0) -> Formula:
    """A name with its dots and its index."""
    base, index = symbol_mathml(name, primes)
    return Formula(symbol_latex(name, primes), f"<msub>{base}{index}</msub>" if index else base, (base, index))


def varied(name: str) -> Formula:
    """The variation of a coordinate."""
    return Formula(rf"\delta {symbol_latex(name)}", f"<mi>δ</mi>{symbol(name).mathml}")


def number(text: str) -> Formula:
    """A number as it is written, with a power of ten where it has one."""
    mantissa, _, power = text.lower().partition("e")
    plain = Formula(mantissa, f"<mn>{mantissa}</mn>")
    if not power:
        return plain
    sign = MINUS if int(power) < 0 else Formula("", "")
    ten = Formula("10", "<mn>10</mn>").raised(sign.then(number(str(abs(int(power))))))
    return ten if mantissa == "1" else plain.then(DOT).then(ten)


def fraction(above: Formula, below: Formula) -> Formula:
    """One formula over another."""
    return Formula(rf"\frac{{{above.latex}}}{{{below.latex}}}", f"<mfrac>{grouped(above.mathml)}{grouped(below.mathml)}</mfrac>")


def root(inner: Formula) -> Formula:
    """A square root."""
    return Formula(rf"\sqrt{{{inner.latex}}}", f"<msqrt>{inner.mathml}</msqrt>")


def magnitude(inner: Formula) -> Formula:
    """An absolute value."""
    bars = f'<mrow><mo form="prefix">|</mo>{inner.mathml}<mo form="postfix">|</mo></mrow>'
    return Formula(rf"\left|{inner.latex}\right|", bars)


def exponential(inner: Formula) -> Formula:
    """A power of e."""
    return Formula("e", "<mi>e</mi>").raised(inner)


def cases(u: Formula, below: Formula, above: Formula) -> Formula:
    """`below` where u < 0, else `above`."""
    lines = [(below, "<", "&lt;"), (above, r"\geq", "≥")]
    latex = r" \\ ".join(f"{value.latex} & {u.latex} {sign} 0" for value, sign, _ in lines)
    left = '<mtd style="text-align:left">'
    rows = [f"<mtr>{left}{value.mathml}</mtd>{left}{u.mathml}<mo>{sign}</mo><mn>0</mn></mtd></mtr>" for value, _, sign in lines]
    table = f'<mrow><mo form="prefix">{{</mo><mtable>{"".join(rows)}</mtable></mrow>'
    return Formula(rf"\begin{{cases}} {latex} \end{{cases}}", table)


def function(latex: str, name: str) -> Formula:
    """The name of a function, upright."""
    upright = ' mathvariant="normal"' if len(name) == 1 else ""
    return Formula(latex, f"<mi{upright}>{name}</mi>")


def applied(head: Formula, argument: Formula, bracketed: bool) -> Formula:
    """A function of its argument."""
    sign = "<mo>\N{FUNCTION APPLICATION}</mo>"
    if bracketed:
        inner = argument.bracketed()
        return Formula(head.latex + inner.latex, head.mathml + sign + inner.mathml)
    space = "" if argument.latex.startswith("\\") else " "
    sign = sign.replace("<mo>", '<mo lspace="0" rspace="0.167em">')
    return Formula(f"{head.latex}{space}{argument.latex}", head.mathml + sign + argument.mathml)


def rate(order: int, inner: Formula) -> Formula:
    """The time derivative of a formula in brackets."""
    d, t = Formula("d", "<mi>d</mi>"), Formula("t", "<mi>t</mi>")
    one = number(str(order))
    above = d if order == 1 else d.raised(one)
    below = d.then(t if order == 1 else t.raised(one))
    return fraction(above, below).then(inner.bracketed())
