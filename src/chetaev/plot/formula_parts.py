r"""The parts of a formula: names, numbers, sums, products, powers and functions, and how each is set.

A product over a product is a fraction, a function of a single letter needs no brackets where nothing can be misread, and a part that is
too wide is cut into pieces between which a line may end.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chetaev.core.functions import FUNCTIONS, SMOOTH
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import MOST_PRIMES

_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega "
    "varepsilon vartheta varpi varrho varsigma varphi Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)
_INDEXED = re.compile(r"([A-Za-z]+?)(\d+)$")
_ABBREVIATED = re.compile(r"([A-Za-z])([A-Z][A-Za-z]*)$")
_FUNCTIONS = {name: function.latex for name, function in SMOOTH.items() if function.latex}
_UNARY = {"": "", "-": "{-}"}
"""A sign before a term, not between two: set without the space around an operator."""
_BUILT_IN = frozenset("sin cos tan sinh cosh tanh exp min max".split())
_COMMAND = re.compile(r"\\(?:mathrm|left|right|frac|sqrt|d*ot|[,;! ])|[{}^_&]")
_CONTROL = re.compile(r"\\[A-Za-z]+")


def symbol_latex(name: str, primes: int = 0) -> str:
    r"""A name as a symbol, with dots.

    >>> symbol_latex("x1", 2), symbol_latex("theta"), symbol_latex("p_phi"), symbol_latex("rear"), symbol_latex("mB")
    ('\\ddot{x}_{1}', '\\theta', 'p_{\\phi}', '\\mathrm{rear}', 'm_{B}')
    """
    base, index = _parts(spell(name))
    if primes > MOST_PRIMES:
        base = f"{base}^{{({primes})}}"
    elif primes:
        base = rf"\{'d' * primes}ot{{{base}}}"
    return f"{base}_{{{index}}}" if index else base


def estimated_width(formula: str) -> int:
    """About how many characters wide a formula is; a fraction is as wide as both its parts together, which errs on the safe side."""
    return len(_CONTROL.sub("x", _COMMAND.sub("", formula)).replace(" ", ""))


def _parts(name: str) -> tuple[str, str]:
    head, _, tail = name.partition("_")
    if tail and head:
        return _letters(head), symbol_latex(tail)
    found = _INDEXED.fullmatch(name)
    if found:
        return _letters(found[1]), found[2]
    short = _ABBREVIATED.fullmatch(name)
    if short and name not in _GREEK:
        return short[1], short[2] if len(short[2]) == 1 else rf"\mathrm{{{short[2]}}}"
    return _letters(name), ""


def _letters(text: str) -> str:
    if text in _GREEK:
        return f"\\{text}"
    return text if len(text) <= 1 or text.isdigit() else rf"\mathrm{{{text}}}".replace("_", r"\_")


class Node(ABC):
    """Abstract: a part of a formula."""

    @abstractmethod
    def latex(self) -> str:
        """The part in LaTeX, in one piece."""

    def cut(self, width: int) -> Iterator[str]:
        """The part in pieces."""
        yield self.latex()

    @property
    def wide(self) -> int:
        """About how many characters wide the part is."""
        return estimated_width(self.latex())


@dataclass(frozen=True)
class Atom(Node):
    """A symbol or a number, already set."""

    text: str
    number: bool = False

    def latex(self) -> str:
        return self.text


@dataclass(frozen=True)
class Sum(Node):
    """Terms with their signs; also a single one with a minus before it."""

    terms: tuple[tuple[str, Node], ...]
    """Each with its sign; the first may have none."""

    def latex(self) -> str:
        (sign, first), *rest = self.terms
        return f"{_UNARY[sign]}{_factor(first)}" + "".join(f" {s} {_factor(term)}" for s, term in rest)

    def cut(self, width: int) -> Iterator[str]:
        for k, (sign, term) in enumerate(self.terms):
            first, *rest = _bracketed(term, width)
            yield rf"{sign} \, {first}" if k else f"{_UNARY[sign]}{first}"
            yield from rest


@dataclass(frozen=True)
class Fraction(Node):
    """A part of a product: factors over factors."""

    above: tuple[Node, ...]
    below: tuple[Node, ...]

    def latex(self) -> str:
        return rf"\frac{{{_product(self.above, alone=True)}}}{{{_product(self.below, alone=True)}}}"

    def cut(self, width: int) -> Iterator[str]:
        one = (Atom("1", True),)
        if self.above == one or estimated_width(_product(self.above, alone=True)) <= width:
            yield self.latex()  # a denominator stays in one piece, however wide
            return
        yield from Product((Fraction(one, self.below), *self.above)).cut(width)


@dataclass(frozen=True)
class Product(Node):
    """Factors side by side."""

    factors: tuple[Node, ...]

    def latex(self) -> str:
        return _product(self.factors)

    def cut(self, width: int) -> Iterator[str]:
        if self.wide <= width:
            yield self.latex()
            return
        held = ""  # short factors stay together
        for k, factor in enumerate(self.factors):
            text = _factor(factor, self.factors[k + 1 : k + 2])
            dot = r"\cdot " if k and _numbers_meet(self.factors[k - 1], factor) else ""
            joined = f"{held} {dot}{text}".strip()
            if estimated_width(joined) <= width:
                held = joined
                continue
            inner = list(_bracketed(factor, width))
            inner[0] = f"{dot}{inner[0]}"
            if held and estimated_width(f"{held}{inner[0]}") <= width:
                inner[0] = f"{held} {inner[0]}"
            elif held:
                yield held
            yield from inner[:-1]
            held = inner[-1]
        if held:
            yield held


@dataclass(frozen=True)
class Power(Node):
    """A power; that of a function stands after its name."""

    base: Node
    exponent: Node

    def latex(self) -> str:
        up = f"^{{{self.exponent.latex()}}}"
        if isinstance(self.base, Call) and self.base.takes_power:
            return self.base.latex(up)
        simple = isinstance(self.base, Atom) and not self.base.text.startswith("-")
        return (self.base.latex() if simple else _inbrackets(self.base)) + up

    def cut(self, width: int) -> Iterator[str]:
        if self.wide <= width or isinstance(self.base, Atom | Call):
            yield self.latex()
            return
        inner = list(self.base.cut(width))
        inner[0] = f"({inner[0]}"
        yield from inner[:-1]
        yield f"{inner[-1]})^{{{self.exponent.latex()}}}"


@dataclass(frozen=True)
class Call(Node):
    """A function of its arguments."""

    name: str
    arguments: tuple[Node, ...]

    @property
    def takes_power(self) -> bool:
        r"""Whether a power stands after the name, as in $\sin^2$."""
        return self.name not in ("sqrt", "abs", "exp")

    @property
    def head(self) -> str:
        """The name of the function."""
        if self.name in _BUILT_IN:
            return f"\\{self.name}"
        known = self.name in FUNCTIONS
        return _FUNCTIONS.get(self.name) or (rf"\mathrm{{{self.name}}}" if known else symbol_latex(self.name))

    def latex(self, power: str = "", bare: bool = False) -> str:
        inner = ", ".join(a.latex() for a in self.arguments)
        if self.name == "sqrt":
            return rf"\sqrt{{{inner}}}"
        if self.name == "abs":
            return rf"\left|{inner}\right|"
        if self.name == "exp" and r"\frac" not in inner and estimated_width(inner) < 12:
            return f"e^{{{inner}}}"
        if bare and self.name in _BUILT_IN and isinstance(self.arguments[0], Atom) and len(self.arguments) == 1:
            return rf"{self.head}{power}{'' if inner.startswith(chr(92)) else ' '}{inner}"
        return f"{self.head}{power}{brackets(inner)}"

    def cut(self, width: int) -> Iterator[str]:
        if self.wide <= width or self.name in ("sqrt", "abs") or len(self.arguments) > 1:
            yield self.latex()
            return
        first, *rest = self.arguments[0].cut(width)
        opened = [f"{self.head}({first}", *rest]
        yield from opened[:-1]
        yield f"{opened[-1]})"


def _product(factors: Sequence[Node], alone: bool = False) -> str:
    r"""Factors side by side; with `alone` nothing stands around them, so that a single sum needs no brackets."""
    if alone and len(factors) == 1:
        return factors[0].latex() if not isinstance(factors[0], Call) else factors[0].latex(bare=True)
    found = ""
    for k, factor in enumerate(factors):
        dot = r"\cdot " if k and _numbers_meet(factors[k - 1], factor) else ""
        found += f" {dot}{_factor(factor, factors[k + 1 : k + 2])}"
    return found.strip()


def _factor(factor: Node, following: Sequence[Node] = ()) -> str:
    r"""A factor in a product: $\cos\theta$ needs no brackets before another function or at the end."""
    if isinstance(factor, Sum):
        return _inbrackets(factor)
    bare = not following or isinstance(following[0], Call) or (isinstance(following[0], Power) and isinstance(following[0].base, Call))
    if isinstance(factor, Call):
        return factor.latex(bare=bare)
    if isinstance(factor, Power) and isinstance(factor.base, Call) and factor.base.takes_power:
        return factor.base.latex(f"^{{{factor.exponent.latex()}}}", bare=bare)
    return factor.latex()


def _numbers_meet(first: Node, second: Node) -> bool:
    """Whether two factors would read as one number."""
    leading = second.base if isinstance(second, Power) else second
    return isinstance(leading, Atom) and leading.number and isinstance(first, Atom | Fraction | Power)


def _bracketed(node: Node, width: int) -> Iterator[str]:
    """A factor in pieces, with brackets around a sum."""
    if not isinstance(node, Sum):
        yield from node.cut(width)
        return
    inner = list(node.cut(width))
    inner[0] = f"({inner[0]}"
    yield from inner[:-1]
    yield f"{inner[-1]})"


def _inbrackets(node: Node) -> str:
    return brackets(node.latex())


def brackets(inner: str) -> str:
    """Brackets that grow only where something tall stands in them."""
    return rf"\left({inner}\right)" if r"\frac" in inner or r"\sqrt" in inner else f"({inner})"


def fraction(above: list[Node], below: list[Node]) -> Node:
    """Factors over factors, numbers below first."""
    numbers_first = sorted(below, key=lambda node: not (isinstance(node, Atom) and node.number))
    return Fraction(tuple(above), tuple(numbers_first))


def number_latex(text: str) -> str:
    """A number as it is written, with a power of ten where it has one."""
    mantissa, _, power = text.lower().partition("e")
    if not power:
        return mantissa
    return f"10^{{{int(power)}}}" if mantissa == "1" else rf"{mantissa} \cdot 10^{{{int(power)}}}"
