r"""A polynomial for every intermediate result of a graph.

Atoms are inputs, sines and cosines of single angles, reciprocals of sums, and results of all other operations. Sines and cosines of sums
of angles are expanded, so that $\cos\theta \cos(\theta - \epsilon) + \sin\theta \sin(\theta - \epsilon)$ becomes $\cos\epsilon$. A result
with more than `MOST_TERMS` terms is an atom of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Any, NamedTuple

import casadi as ca

from chetaev.numerics.graphs.simplification.polynomial import MOST, Atoms, Number, Terms, power_of, product, quotient, total
from chetaev.numerics.machine.tape import fold

INPUT, NUMBER = -1, -2
"""Operations of nodes without arguments; the others are CasADi's."""

MOST_TERMS = 24
"""Largest number of terms of a polynomial. More terms find more cancellations in long expressions, which take longer to analyse."""
_MOST_TERMS_IN_ALL = 2500
"""Largest number of terms of all polynomials together, which take about 50 ms."""
_MOST_PRODUCTS = 72
"""Largest number of products of two terms for which a product is expanded. Otherwise the longer factor is taken as an atom."""
_MOST_ANGLES = 3
"""Largest number of angles in a sum whose sine is expanded; n angles give 2^(n-1) terms."""


class Node(NamedTuple):
    """An intermediate result: an operation and the nodes it is applied to."""

    operation: int
    arguments: tuple[int, ...] = ()
    value: Any = None
    """The place of an input, or a number."""


class Atom(NamedTuple):
    """The meaning of an atom: `input`, `node`, `sin`, `cos` or `reciprocal`, with the place of the input, the number of the node, or the
    terms of the angle or the denominator.
    """

    kind: str
    of: Any


class NormalForms:
    """The nodes of a function of one column, in the order of computation, and a polynomial for each."""

    def __init__(self, function: ca.Function) -> None:
        self.nodes: list[Node] = []
        self.forms: list[Terms] = []
        self.atoms: list[Atom] = []
        self.denominators: dict[Any, tuple[int, tuple[int, Number]]] = {}
        """For the terms of a denominator without common factors: a node that is these terms times a monomial and a number."""
        self._degrees: list[int] = []
        """Bounds of the absolute exponents in each polynomial."""
        self._registry = Atoms()
        self._terms = 0
        self._known: dict[Any, Any] = {}
        self._results: dict[Node, int] = {}
        self.outputs = fold(
            function,
            lambda _, place: self._node(Node(INPUT, (), place)),
            lambda number: self._node(Node(NUMBER, (), number)),
            lambda operation, arguments: self._node(Node(operation, arguments)),
        )
        """The node of each output; None for zero."""

    @property
    def too_long(self) -> bool:
        """Whether polynomials have too many terms in all."""
        return self._terms > _MOST_TERMS_IN_ALL

    def exponents(self, monomial: int) -> tuple[tuple[int, int], ...]:
        """The atoms of a monomial with their exponents."""
        return self._registry.exponents(monomial)

    def _node(self, node: Node) -> int:
        if node not in self._results:
            self._results[node] = len(self.nodes)
            self.nodes.append(node)
            form, degree = self._form(node) if node.operation in _RULES and not self.too_long else ({}, MOST + 1)
            self._terms += len(form)
            if degree > MOST or len(form) > MOST_TERMS:
                form, degree = self._as_atom(len(self.nodes) - 1)
            self.forms.append(form)
            self._degrees.append(degree)
        return self._results[node]

    def _form(self, node: Node) -> tuple[Terms, int]:
        return _RULES[node.operation](self, node)

    def _atom(self, kind: str, of: Any) -> tuple[Terms, int]:
        key = kind, of
        if key not in self._known:
            self._known[key] = self._registry.new()
            self.atoms.append(Atom(kind, of))
        return {power_of(self._known[key]): 1}, 1

    def _as_atom(self, node: int) -> tuple[Terms, int]:
        return self._atom("node", node)

    # -- rules ------------------------------------------------------------------------------------------------------------------

    def _input(self, node: Node) -> tuple[Terms, int]:
        return self._atom("input", node.value)

    def _number(self, node: Node) -> tuple[Terms, int]:
        if not math.isfinite(node.value):
            return {}, MOST + 1
        value = Fraction(node.value)
        return ({0: quotient(value.numerator, value.denominator)} if value else {}), 0

    def _sum(self, node: Node) -> tuple[Terms, int]:
        (a, b), factor = node.arguments, -1 if node.operation == ca.OP_SUB else 1
        return self._registry.collapsed(total(self.forms[a], self.forms[b], factor)), max(self._degrees[a], self._degrees[b])

    def _multiple(self, node: Node) -> tuple[Terms, int]:
        (a,), factor = node.arguments, -1 if node.operation == ca.OP_NEG else 2
        return {monomial: factor * c for monomial, c in self.forms[a].items()}, self._degrees[a]

    def _product(self, node: Node) -> tuple[Terms, int]:
        a, b = node.arguments if len(node.arguments) == 2 else node.arguments * 2
        return self._times((self.forms[a], self._degrees[a], a), (self.forms[b], self._degrees[b], b))

    def _times(self, *factors: tuple[Terms, int, int | None]) -> tuple[Terms, int]:
        """The product of two polynomials with their degrees; the longer one becomes an atom if it belongs to a node and both are long."""
        (a, first, _), (b, second, _) = factors
        if len(a) * len(b) > _MOST_PRODUCTS:
            longer = 0 if len(a) >= len(b) else 1
            node = factors[longer][2]
            if node is None:
                return {}, MOST + 1
            factors = tuple((*self._as_atom(node), node) if k == longer else f for k, f in enumerate(factors))
            (a, first, _), (b, second, _) = factors
        if first + second > MOST or len(a) * len(b) > _MOST_PRODUCTS:
            return {}, MOST + 1
        return self._registry.collapsed(product(a, b)), first + second

    def _quotient(self, node: Node) -> tuple[Terms, int]:
        *above, below = node.arguments
        over = (self.forms[above[0]], self._degrees[above[0]], above[0]) if above else ({0: 1}, 0, None)
        denominator, degree = self.forms[below], self._degrees[below]
        if not denominator:
            return {}, MOST + 1
        content, rest = self.content(denominator)
        if len(over[0]) == len(denominator):
            own, same = self.content(over[0])
            if same == rest:
                return {own[0] - content[0]: quotient(own[1], content[1])}, over[1] + degree
        inverse: Terms = {-content[0]: quotient(1, content[1])}
        if len(denominator) > 1:
            inverse = {power_of(self._reciprocal(rest, below, content)) - content[0]: quotient(1, content[1])}
        return self._times(over, (inverse, degree + 1, None))

    def _reciprocal(self, terms: Terms, node: int, content: tuple[int, Number]) -> int:
        """The atom that is the reciprocal of a sum without common factors, which times `content` is the node."""
        key = "reciprocal", frozenset(terms.items())
        if key not in self._known:
            self._known[key] = self._registry.new_reciprocal(terms)
            self.atoms.append(Atom(*key))
            self.denominators[key[1]] = node, content
        return int(self._known[key])

    def content(self, terms: Terms) -> tuple[tuple[int, Number], Terms]:
        """The common monomial and number of a polynomial, and the polynomial divided by both, with a positive first coefficient."""
        least: dict[int, int] | None = None
        for monomial in terms:
            own = dict(self.exponents(monomial))
            least = own if least is None else {k: e for k in {*least, *own} if (e := min(least.get(k, 0), own.get(k, 0)))}
            if not least:
                break
        common = sum(power_of(k, e) for k, e in (least or {}).items())
        number = _common_number(terms.values())
        number = -number if terms[max(terms)] < 0 else number
        if not common and number == 1:
            return (0, 1), terms
        return (common, number), {monomial - common: quotient(c, number) for monomial, c in terms.items()}

    def _circular(self, node: Node) -> tuple[Terms, int]:
        (a,) = node.arguments
        angles = [self._circle(monomial, c) for monomial, c in sorted(self.forms[a].items())]
        if len(angles) > _MOST_ANGLES:
            angles = [self._circle_of(frozenset(self.forms[a].items()))]
        sine, cosine = (angles or [({}, {0: 1})])[0]
        for s, c in angles[1:]:
            sine, cosine = (
                total(product(sine, c), product(cosine, s)),
                total(product(cosine, c), product(sine, s), -1),
            )
        return (sine if node.operation == ca.OP_SIN else cosine), len(angles)

    def _tangent(self, node: Node) -> tuple[Terms, int]:
        (a,) = node.arguments
        if len(self.forms[a]) != 1:
            return {}, MOST + 1
        ((monomial, coefficient),) = self.forms[a].items()
        if abs(coefficient) == 2:
            return {}, MOST + 1
        (sine, sign), ((cosine, _),) = next(iter((terms := self._circle(monomial, coefficient))[0].items())), terms[1].items()
        return {sine - cosine: sign}, 1

    def _circle(self, monomial: int, coefficient: Number) -> tuple[Terms, Terms]:
        """Sine and cosine of one term, which is a single angle; those of twice an angle are expanded."""
        size = abs(coefficient)
        sine, cosine = self._circle_of(frozenset({(monomial, 1 if size == 2 else size)}))
        if size == 2:
            sine, cosine = product({0: 2}, product(sine, cosine)), total(product(cosine, cosine), product(sine, sine), -1)
        return (product({0: -1}, sine) if coefficient < 0 else sine), cosine

    def _circle_of(self, terms: frozenset[tuple[int, Number]]) -> tuple[Terms, Terms]:
        if terms not in self._known:
            self._known[terms] = self._registry.new_circle()
            self.atoms += [Atom("sin", terms), Atom("cos", terms)]
        sine, cosine = self._known[terms]
        return {power_of(sine): 1}, {power_of(cosine): 1}


_RULES: dict[int, Callable[[NormalForms, Node], tuple[Terms, int]]] = {
    INPUT: NormalForms._input,
    NUMBER: NormalForms._number,
    ca.OP_ADD: NormalForms._sum,
    ca.OP_SUB: NormalForms._sum,
    ca.OP_NEG: NormalForms._multiple,
    ca.OP_TWICE: NormalForms._multiple,
    ca.OP_MUL: NormalForms._product,
    ca.OP_SQ: NormalForms._product,
    ca.OP_DIV: NormalForms._quotient,
    ca.OP_INV: NormalForms._quotient,
    ca.OP_SIN: NormalForms._circular,
    ca.OP_COS: NormalForms._circular,
    ca.OP_TAN: NormalForms._tangent,
}
"""Operations that make polynomials of polynomials."""


def _common_number(numbers: Collection[Number]) -> Number:
    """The largest positive number of which all are integer multiples."""
    if all(isinstance(c, int) for c in numbers):
        return math.gcd(*numbers)
    below = math.lcm(*[c.denominator for c in numbers])
    return quotient(math.gcd(*[int(c * below) for c in numbers]), below)
