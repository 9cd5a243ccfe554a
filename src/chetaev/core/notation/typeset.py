r"""From the syntax tree to LaTeX and MathML, as it is written: nothing is multiplied out, sorted or simplified.

    product over product     a fraction, $\frac{I}{2}\dot\psi^2$ for `I/2*psi'^2`
    name                     Greek letters, digits as indices, several letters upright; primes are dots
    function                 $\cos\theta$ where nothing can be misread, else $\cos(\theta)$

`Typeset.cut` cuts a long formula between terms, between factors, and inside brackets where a factor alone is too long, so that a
reader's window decides where lines end. No system is needed: unknown names are set like known ones. A minus without a blank after it is
a sign, a minus between blanks an operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import sympy

from chetaev.core.functions import FUNCTIONS, SMOOTH
from chetaev.core.notation import formula as form
from chetaev.core.notation.formula import Formula
from chetaev.core.notation.tree import Call, Foreign, Name, Number, Power, Product, Sum, Tree, Varied

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
    """A fold over a syntax tree to formulas, with a method per kind of node. Without `tables`, `piecewise` is set like any function."""

    tables: bool = True
    _known: dict[int, Formula] = field(default_factory=dict)
    """Formulas of nodes by identity: `cut` asks for the width of each many times."""

    def whole(self, node: Part) -> Formula:
        """A node with nothing around it, so that a sum needs no brackets."""
        if isinstance(node, _Fraction):
            return self._factor(node)
        if id(node) not in self._known:
            self._known[id(node)] = self._whole(node)
        return self._known[id(node)]

    def _whole(self, node: Tree) -> Formula:
        if not isinstance(node, Sum):
            return self._factor(node)
        (sign, first), *rest = node.terms
        parts = [form.MINUS] * (sign == "-") + [self._factor(first)]
        for sign, term in rest:
            parts += [form.operator(sign), self._factor(term)]
        return _joined(parts)

    def _factor(self, node: Part, following: Sequence[Part] = ()) -> Formula:
        r"""A factor in a product, or a term: $\cos\theta$ needs no brackets before another function or at the end."""
        bare = not following or _is_function(following[0])
        match node:
            case Sum():
                return self.whole(node).bracketed()
            case Name():
                return form.symbol(node.name, node.primes)
            case Number():
                return form.number(node.text)
            case Product():
                return self._product(_parts(node))
            case _Fraction():
                return form.fraction(self._product(node.above), self._product(node.below))
            case Power():
                return self._power(node, bare)
            case Call():
                return self._call(node, None, bare)
            case Varied():
                return form.varied(node.name)
            case Foreign():
                return Formula(str(sympy.latex(node.expression)), str(sympy.mathml(node.expression, printer="presentation")))

    def _product(self, factors: Sequence[Part]) -> Formula:
        if len(factors) == 1:
            return self.whole(factors[0])
        parts = [self._factor(factors[0], factors[1:2])]
        for k, factor in enumerate(factors[1:], start=1):
            parts += [_times(factors, k), self._factor(factor, factors[k + 1 : k + 2])]
        return _joined(parts)

    def _power(self, node: Power, bare: bool) -> Formula:
        base, exponent = node.base, self.whole(node.exponent)
        if isinstance(base, Call) and base.name not in _OWN_FORM:
            return self._call(base, exponent, bare)
        found = self.whole(base)
        simple = isinstance(base, Name | Number | Call) and not set("^(") & set(found.latex) and not found.tall
        bars = isinstance(base, Call) and base.name == "abs"
        return (found if simple or bars else found.bracketed()).raised(exponent)

    def _call(self, node: Call, power: Formula | None, bare: bool) -> Formula:
        if node.name == "D":
            return self._derivative(node)
        inside = list(map(self.whole, node.arguments))
        inner = _joined([part for argument in inside for part in (form.COMMA, argument)][1:])
        if node.name == "piecewise" and self.tables and len(inside) == 3:
            table = form.cases(*inside)
            return table if bare else table.bracketed()
        if node.name == "sqrt":
            return form.root(inner)
        if node.name == "abs":
            return form.magnitude(inner)
        if node.name == "exp" and not inner.tall and inner.width < _LONGEST_EXPONENT:
            return form.exponential(inner)
        head = _head(node) if power is None else _head(node).raised(power)
        alone = bare and node.name in _BARE and isinstance(node.arguments[0], Name | Number) and " " not in inner.latex
        return form.applied(head, inner, bracketed=not alone)

    def _derivative(self, node: Call) -> Formula:
        order = 0
        inner: Tree = node
        while isinstance(inner, Call) and inner.name == "D":
            inner, *count = inner.arguments
            order += int(count[0].text) if count and isinstance(count[0], Number) else 1
        if isinstance(inner, Name):
            return form.symbol(inner.name, inner.primes + order)
        return form.rate(order, self.whole(inner))

    # -- pieces ------------------------------------------------------------------------------------------------------------

    def cut(self, node: Part, width: int) -> Iterator[Formula]:
        """A node in pieces between which a line may end."""
        if isinstance(node, Sum):
            for k, (sign, term) in enumerate(node.terms):
                first, *rest = self._cut_factor(term, width)
                yield form.leading(sign).then(first) if k else form.MINUS.then(first) if sign == "-" else first
                yield from rest
            return
        found = self.whole(node)
        if found.width <= width:
            yield found
        elif isinstance(node, Product):
            yield from self._cut_product(_parts(node), width)
        elif isinstance(node, _Fraction) and self._product(node.above).width > width:
            yield from self._cut_product([_Fraction((_ONE,), node.below), *node.above], width)  # the denominator is not cut
        elif isinstance(node, Power) and isinstance(node.base, Sum | Product | Power):
            yield from _enclosed(form.OPENING, self.cut(node.base, width), form.CLOSING.raised(self.whole(node.exponent)))
        elif isinstance(node, Call) and (node.name == "exp" or node.name not in _OWN_FORM) and len(node.arguments) == 1:
            yield from _enclosed(_head(node).then(form.OPENING), self.cut(node.arguments[0], width), form.CLOSING)
        else:
            yield found

    def _cut_factor(self, node: Part, width: int) -> Iterator[Formula]:
        """A factor in pieces, with brackets around a sum."""
        return _enclosed(form.OPENING, self.cut(node, width), form.CLOSING) if isinstance(node, Sum) else self.cut(node, width)

    def _cut_product(self, factors: Sequence[Part], width: int) -> Iterator[Formula]:
        held: Formula | None = None  # short factors stay together
        for k, factor in enumerate(factors):
            whole = self._factor(factor, factors[k + 1 : k + 2])
            times = _times(factors, k) if k else form.TIMES
            sign = _stripped(form.DOT) if times is form.DOT else None  # the factor's prefix if the factor begins a piece
            if _together(held, sign, whole) <= width:
                held = whole if held is None else held.then(times).then(whole)
                continue
            inner = [whole] if _together(None, sign, whole) <= width else list(self._cut_factor(factor, width))
            if held is not None and _together(held, sign, inner[0]) <= width:
                inner[0] = held.then(times).then(inner[0])
            else:
                if held is not None:
                    yield held
                inner[0] = sign.then(inner[0]) if sign else inner[0]
            yield from inner[:-1]
            held = inner[-1]
        if held is not None:
            yield held


def _joined(parts: Sequence[Formula]) -> Formula:
    return reduce(Formula.then, parts) if parts else Formula("", "")


def _stripped(sign: Formula) -> Formula:
    """A sign without the blank before it."""
    return Formula(sign.latex.lstrip(), sign.mathml)


def _together(held: Formula | None, sign: Formula | None, factor: Formula) -> int:
    """The width of the pending piece `held`, a sign and a factor."""
    return sum(part.width for part in (held, sign, factor) if part is not None)


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


def _times(factors: Sequence[Part], k: int) -> Formula:
    """The sign before factor `k`: a dot where it would read as one number with the factor before it, else none."""
    before, factor = factors[k - 1], factors[k]
    number, fraction = isinstance(_base(factor), Number), isinstance(factor, _Fraction)
    if (number and not isinstance(before, Sum)) or (fraction and isinstance(before, Number)):
        return form.DOT
    return form.TIMES_FUNCTION if _is_function(before) or _is_function(factor) else form.TIMES


def _base(node: Part) -> Part:
    return node.base if isinstance(node, Power) else node


def _is_function(node: Part) -> bool:
    """Whether a factor begins with the name of a function."""
    base = _base(node)
    return isinstance(base, Call) and base.name in _HEADS.keys() - _OWN_FORM


def _head(call: Call) -> Formula:
    """The name of a function."""
    known = _HEADS.get(call.name)
    return form.symbol(call.name) if known is None else form.function(known, known.removeprefix(r"\operatorname{").strip("\\{}"))


def _enclosed(opening: Formula, cut: Iterator[Formula], closing: Formula) -> Iterator[Formula]:
    pieces = list(cut)
    pieces[0] = opening.then(pieces[0])
    yield from pieces[:-1]
    yield pieces[-1].then(closing)
