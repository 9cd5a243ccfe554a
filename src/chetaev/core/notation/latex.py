r"""From the syntax tree to LaTeX, as it is written: nothing is multiplied out, sorted or simplified.

    product over product     a fraction, $\frac{I}{2}\dot\psi^2$ for `I/2*psi'^2`
    name                     Greek letters, digits as indices, several letters upright; primes are dots
    function                 $\cos\theta$ where nothing can be misread, else $\cos(\theta)$

`Typeset.cut` cuts a long formula between terms, between factors, and inside brackets where a factor alone is too long, so that a
reader's window decides where lines end. No system is needed: unknown names are set like known ones. A minus without a blank after it is
a sign, a minus between blanks an operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import sympy

from chetaev.core.functions import FUNCTIONS, SMOOTH
from chetaev.core.notation.tree import Call, Foreign, Name, Number, Power, Product, Sum, Tree, Varied
from chetaev.core.support.letters import symbol_latex

_HEADS = (
    {name: rf"\operatorname{{{name}}}" for name in FUNCTIONS}
    | {name: f"\\{name}" for name in "sin cos tan sinh cosh tanh exp min max".split()}
    | {name: function.latex for name, function in SMOOTH.items() if function.latex}
)
"""LaTeX for the name of each function."""
_BARE = frozenset("sin cos tan sinh cosh tanh".split())
"""Functions that need no brackets around a single letter."""
_OWN_FORM = frozenset(("sqrt", "abs", "exp", "piecewise", "D", ""))
"""Functions whose power does not stand after the name."""
_LONGEST_EXPONENT = 12
"""Estimated characters of an exponent from which exp(...) is written instead of a power of e: long raised text is hard to read."""
_COMMAND = re.compile(r"\\(?:mathrm|operatorname|left|right|frac|sqrt|d*ot|[,;! ])|[{}^_&]")
"""LaTeX that takes no width of its own."""
_CONTROL = re.compile(r"\\[A-Za-z]+")
"""Commands that are about one character wide."""
_TALL = re.compile(r"\\frac|\\sqrt|\\begin")
"""Parts that need brackets of their own height."""


def estimated_width(formula: str) -> int:
    """The approximate width of a formula in characters; a fraction counts as wide as both its parts together, an overestimate."""
    return len(_CONTROL.sub("x", _COMMAND.sub("", formula)).replace(" ", ""))


@dataclass(frozen=True)
class _Fraction:
    """A part of a product: factors over factors."""

    above: tuple[Part, ...]
    below: tuple[Part, ...]


Part = Tree | _Fraction
_ONE = Number("1")
"""The numerator of a fraction whose factors stand beside it."""


@dataclass(frozen=True)
class Typeset:
    """A fold over a syntax tree to LaTeX, with a method per kind of node. Without `tables`, `piecewise` is set like any function."""

    tables: bool = True
    _known: dict[int, str] = field(default_factory=dict)
    """LaTeX of nodes by identity: `cut` asks for the width of each many times."""

    def whole(self, node: Part) -> str:
        """A node with nothing around it, so that a sum needs no brackets."""
        if isinstance(node, _Fraction):
            return self._factor(node)
        if id(node) not in self._known:
            self._known[id(node)] = self._whole(node)
        return self._known[id(node)]

    def _whole(self, node: Tree) -> str:
        if isinstance(node, Sum):
            text = "".join(f" {sign} {self._factor(term)}" for sign, term in node.terms)
            return text[3:] if text.startswith(" +") else f"-{text[3:]}"
        return self._factor(node)

    def _factor(self, node: Part, following: Sequence[Part] = ()) -> str:
        r"""A factor in a product, or a term: $\cos\theta$ needs no brackets before another function or at the end."""
        after = _base(following[0]) if following else None
        bare = after is None or (isinstance(after, Call) and after.name in _HEADS.keys() - _OWN_FORM)
        match node:
            case Sum():
                return _brackets(self.whole(node))
            case Name():
                return symbol_latex(node.name, node.primes)
            case Number():
                return _number(node.text)
            case Product():
                return self._product(_parts(node))
            case _Fraction():
                return rf"\frac{{{self._product(node.above)}}}{{{self._product(node.below)}}}"
            case Power():
                return self._power(node, bare)
            case Call():
                return self._call(node, "", bare)
            case Varied():
                return rf"\delta {symbol_latex(node.name)}"
            case Foreign():
                return str(sympy.latex(node.expression))

    def _product(self, factors: Sequence[Part]) -> str:
        if len(factors) == 1:
            return self.whole(factors[0])
        return " ".join(_dot(factors, k) + self._factor(factor, factors[k + 1 : k + 2]) for k, factor in enumerate(factors))

    def _power(self, node: Power, bare: bool) -> str:
        base, up = node.base, f"^{{{self.whole(node.exponent)}}}"
        if isinstance(base, Call) and base.name not in _OWN_FORM:
            return self._call(base, up, bare)
        text = self.whole(base)
        simple = isinstance(base, Name | Number | Call) and not set("^(") & set(text) and not _TALL.search(text)
        return text + up if simple or text.startswith(r"\left|") else _brackets(text) + up

    def _call(self, node: Call, power: str, bare: bool) -> str:
        if node.name == "D":
            return self._derivative(node)
        inside = list(map(self.whole, node.arguments))
        inner = ", ".join(inside)
        if node.name == "piecewise" and self.tables and len(inside) == 3:
            u, a, b = inside
            cases = rf"\begin{{cases}} {a} & {u} < 0 \\ {b} & {u} \geq 0 \end{{cases}}"
            return cases if bare else _brackets(cases)
        if node.name == "sqrt":
            return rf"\sqrt{{{inner}}}"
        if node.name == "abs":
            return rf"\left|{inner}\right|"
        if node.name == "exp" and not _TALL.search(inner) and estimated_width(inner) < _LONGEST_EXPONENT:
            return f"e^{{{inner}}}"
        if bare and node.name in _BARE and isinstance(node.arguments[0], Name | Number) and " " not in inner:
            return rf"{_head(node)}{power}{'' if inner.startswith(chr(92)) else ' '}{inner}"
        return f"{_head(node)}{power}{_brackets(inner)}"

    def _derivative(self, node: Call) -> str:
        order = 0
        inner: Tree = node
        while isinstance(inner, Call) and inner.name == "D":
            inner, *count = inner.arguments
            order += int(count[0].text) if count and isinstance(count[0], Number) else 1
        if isinstance(inner, Name):
            return symbol_latex(inner.name, inner.primes + order)
        power = "" if order == 1 else f"^{{{order}}}"
        return rf"\frac{{d{power}}}{{dt{power}}}{_brackets(self.whole(inner))}"

    # -- pieces ------------------------------------------------------------------------------------------------------------

    def cut(self, node: Part, width: int) -> Iterator[str]:
        """A node in pieces between which a line may end."""
        if isinstance(node, Sum):
            for k, (sign, term) in enumerate(node.terms):
                first, *rest = self._cut_factor(term, width)
                yield rf"{sign} \, {first}" if k else f"{sign}{first}".lstrip("+")
                yield from rest
            return
        text = self.whole(node)
        if estimated_width(text) <= width:
            yield text
        elif isinstance(node, Product):
            yield from self._cut_product(_parts(node), width)
        elif isinstance(node, _Fraction) and estimated_width(self._product(node.above)) > width:
            yield from self._cut_product([_Fraction((_ONE,), node.below), *node.above], width)  # the denominator is not cut
        elif isinstance(node, Power) and isinstance(node.base, Sum | Product | Power):
            yield from _enclosed("(", self.cut(node.base, width), f")^{{{self.whole(node.exponent)}}}")
        elif isinstance(node, Call) and (node.name == "exp" or node.name not in _OWN_FORM) and len(node.arguments) == 1:
            yield from _enclosed(f"{_head(node)}(", self.cut(node.arguments[0], width), ")")
        else:
            yield text

    def _cut_factor(self, node: Part, width: int) -> Iterator[str]:
        """A factor in pieces, with brackets around a sum."""
        return _enclosed("(", self.cut(node, width), ")") if isinstance(node, Sum) else self.cut(node, width)

    def _cut_product(self, factors: Sequence[Part], width: int) -> Iterator[str]:
        held = ""  # short factors stay together
        for k, factor in enumerate(factors):
            text = _dot(factors, k) + self._factor(factor, factors[k + 1 : k + 2])
            if estimated_width(f"{held}{text}") <= width:
                held = f"{held} {text}".lstrip()
                continue
            inner = [text] if estimated_width(text) <= width else list(self._cut_factor(factor, width))
            inner[0] = inner[0] if len(inner) == 1 else _dot(factors, k) + inner[0]
            if held and estimated_width(f"{held}{inner[0]}") <= width:
                inner[0] = f"{held} {inner[0]}"
            elif held:
                yield held
            yield from inner[:-1]
            held = inner[-1]
        if held:
            yield held


def _parts(product: Product) -> list[Part]:
    """The factors of a product, those with others below them as fractions; brackets around a product inside do not matter."""
    parts: list[Part] = []
    above: list[Part] = []
    below: list[Part] = []
    for sign, factor in product.factors:
        flat: list[Part] = _parts(factor) if isinstance(factor, Product) else [factor]
        if sign == "/":
            below += flat
        elif below:
            parts.append(_fraction(above, below))
            above, below = flat, []
        else:
            above += flat
    return [*parts, _fraction(above, below)] if below else [*parts, *above]


def _fraction(above: list[Part], below: list[Part]) -> _Fraction:
    """Factors over factors, numbers below first."""
    return _Fraction(tuple(above), tuple(sorted(below, key=lambda node: not isinstance(node, Number))))


def _dot(factors: Sequence[Part], k: int) -> str:
    """A dot before a factor that would read as one number with the factor before it."""
    before, factor = factors[k - 1], factors[k]
    number, fraction = isinstance(_base(factor), Number), isinstance(factor, _Fraction)
    meet = (number and not isinstance(before, Sum)) or (fraction and isinstance(before, Number))
    return r"\cdot " if k and meet else ""


def _base(node: Part) -> Part:
    return node.base if isinstance(node, Power) else node


def _head(call: Call) -> str:
    """The name of a function."""
    return _HEADS.get(call.name) or symbol_latex(call.name)


def _enclosed(opening: str, cut: Iterator[str], closing: str) -> Iterator[str]:
    pieces = list(cut)
    pieces[0] = opening + pieces[0]
    yield from pieces[:-1]
    yield pieces[-1] + closing


def _brackets(inner: str) -> str:
    """Brackets that grow only where something tall stands in them."""
    return rf"\left({inner}\right)" if _TALL.search(inner) else f"({inner})"


def _number(text: str) -> str:
    """A number as it is written, with a power of ten where it has one."""
    mantissa, _, power = text.lower().partition("e")
    if not power:
        return mantissa
    return f"10^{{{int(power)}}}" if mantissa == "1" else rf"{mantissa} \cdot 10^{{{int(power)}}}"
