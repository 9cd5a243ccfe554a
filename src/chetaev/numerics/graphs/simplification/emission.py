"""Code for the outputs of normal forms: each intermediate result is computed either by its operation or as its polynomial.

Which of the two is better for a result depends on what else is computed, so several choices are made and the cheapest code is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import casadi as ca

from chetaev.numerics.graphs.simplification.normal_forms import INPUT, NUMBER, Node, NormalForms
from chetaev.numerics.graphs.simplification.polynomial import Number, Terms

_COSTS = {
    INPUT: 0.0, NUMBER: 0.0, int(ca.OP_ADD): 1.0, int(ca.OP_SUB): 1.0, int(ca.OP_MUL): 1.0, int(ca.OP_SQ): 1.0, int(ca.OP_NEG): 0.5,
    int(ca.OP_TWICE): 1.0, int(ca.OP_DIV): 6.0, int(ca.OP_INV): 6.0, int(ca.OP_SQRT): 6.0,
}  # fmt: skip
"""Costs of operations in additions, by their duration in machine code. They decide between equal results only."""
_COST_OF_FUNCTION = 12.0
"""The cost of sine, cosine and all operations that are not listed."""
_PART_OF_CONSTANT = 0.3
"""The cost of an operation on parameters alone, in parts of the usual one: it is done once for all stages of a step in long runs."""
_THRESHOLDS = (1, 2, 4, 8, 24)
"""For each of these numbers of terms there is a choice in which results with at most that many terms are computed as polynomials."""


def cost_of(operation: int) -> float:
    """The cost of an operation, in additions."""
    return _COSTS.get(operation, _COST_OF_FUNCTION)


class Code:
    """Instructions, each once, and their costs."""

    def __init__(self, constant_inputs: Sequence[bool]) -> None:
        self.nodes: list[Node] = []
        self._places: dict[Node, int] = {}
        self._constant_inputs = constant_inputs
        """Which inputs keep their values along a motion."""
        self.constant: list[bool] = []
        """Which results keep their values along a motion."""

    def add(self, operation: int, *arguments: int, value: Any = None) -> int:
        """The place of a result."""
        node = Node(operation, arguments, value)
        place = self._places.get(node)
        if place is None:
            place = self._places[node] = len(self.nodes)
            self.nodes.append(node)
            constant = self._constant_inputs[value] if operation == INPUT else all(self.constant[k] for k in arguments)
            self.constant.append(constant)
        return place

    def cost(self, outputs: Sequence[int]) -> float:
        """The cost of computing some results."""
        needed, stack, found = set(outputs), list(outputs), 0.0
        while stack:
            place = stack.pop()
            operation, arguments, _ = self.nodes[place]
            found += cost_of(operation) * (_PART_OF_CONSTANT if self.constant[place] else 1.0)
            for k in arguments:
                if k not in needed:
                    needed.add(k)
                    stack.append(k)
        return found


class Emission:
    """Code for the nodes of normal forms, for one choice of those that are computed as polynomials."""

    def __init__(self, forms: NormalForms, code: Code, as_polynomial: Sequence[bool]) -> None:
        self.forms, self.code, self.as_polynomial = forms, code, as_polynomial
        self._nodes: dict[int, int] = {}
        self._polynomials: dict[frozenset[tuple[int, Number]], int] = {}

    def outputs(self, wanted: Sequence[int]) -> list[int]:
        """The places of some nodes. Those they need are made first, so that nothing calls itself deeply."""
        for node in self._needed(wanted):
            self._node(node)
        return [self._nodes[node] for node in wanted]

    def _needed(self, wanted: Sequence[int]) -> list[int]:
        """The nodes that are computed by their operations, or belong to atoms of polynomials, in the order of computation."""
        found, stack = set(wanted), list(wanted)
        while stack:
            for k in self._direct(stack.pop()):
                if k not in found:
                    found.add(k)
                    stack.append(k)
        return sorted(found)

    def _direct(self, node: int) -> set[int]:
        """The nodes that a node is made of."""
        if not self.as_polynomial[node]:
            return set(self.forms.nodes[node].arguments)
        return self._below(self.forms.forms[node])

    def _below(self, terms: Terms) -> set[int]:
        found: set[int] = set()
        for monomial in terms:
            for atom, _ in self.forms.exponents(monomial):
                kind, of = self.forms.atoms[atom]
                if kind == "node":
                    found |= set(self.forms.nodes[of].arguments)
                elif kind == "reciprocal":
                    found.add(self.forms.denominators[of][0])
                elif kind != "input":
                    found |= self._below(dict(of))
        return found

    def _node(self, node: int) -> int:
        if node not in self._nodes:
            made = self._polynomial(self.forms.forms[node]) if self.as_polynomial[node] else self._operation(node)
            self._nodes[node] = made
        return self._nodes[node]

    def _operation(self, node: int) -> int:
        operation, arguments, value = self.forms.nodes[node]
        return self.code.add(operation, *map(self._node, arguments), value=value)

    # -- polynomials ------------------------------------------------------------------------------------------------------------

    def _polynomial(self, terms: Terms) -> int:
        key = frozenset(terms.items())
        if key not in self._polynomials:
            self._polynomials[key] = self._made(terms)
        return self._polynomials[key]

    def _made(self, terms: Terms) -> int:
        if len(terms) < 2:
            (monomial, coefficient) = next(iter(terms.items()), (0, 0))
            return self._monomial(monomial, coefficient)
        (common, number), rest = self.forms.content(terms)
        if common or abs(number) != 1:
            return self._times(self._polynomial(rest), common, number)
        if number == -1:
            return self.code.add(ca.OP_NEG, self._polynomial(rest)) if len(terms) > 2 else self._sum(terms)
        return self._sum(terms)

    def _sum(self, terms: Terms) -> int:
        """A sum without a common factor: the terms with the most frequent factor, and the others."""
        often = Counter((atom, exponent > 0) for monomial in terms for atom, exponent in self.forms.exponents(monomial))
        (atom, positive), count = max(often.items(), key=lambda item: (item[1], -item[0][0]))
        if 2 <= count < len(terms):
            some = {m: c for m, c in terms.items() if any(a == atom and (e > 0) == positive for a, e in self.forms.exponents(m))}
            others = {m: c for m, c in terms.items() if m not in some}
            return self._added([some, others])
        return self._added([{m: c} for m, c in sorted(terms.items())])

    def _added(self, parts: list[Terms]) -> int:
        """The sum of polynomials, of which those with a negative leading coefficient are subtracted."""
        signed = [(part, part[max(part)] < 0) for part in parts]
        signed.sort(key=lambda item: item[1])
        total = self._polynomial(signed[0][0])
        for part, negative in signed[1:]:
            value = self._polynomial({m: -c for m, c in part.items()} if negative else part)
            total = self.code.add(ca.OP_SUB if negative else ca.OP_ADD, total, value)
        return total

    def _monomial(self, monomial: int, coefficient: Number) -> int:
        if not monomial:
            return self._number(coefficient)
        return self._times(None, monomial, coefficient)

    def _times(self, factor: int | None, monomial: int, coefficient: Number) -> int:
        """A factor times a monomial and a number; factors that keep their values are multiplied with each other first."""
        factors = [] if factor is None else [factor]
        for atom, exponent in self.forms.exponents(monomial):
            value = self._atom(atom)
            factors += [self.code.add(ca.OP_INV, value) if exponent < 0 else value] * abs(exponent)
        if abs(coefficient) != 1:
            factors.append(self._number(abs(coefficient)))
        factors.sort(key=lambda k: (not self.code.constant[k], k))
        total = factors[0]
        for k in factors[1:]:
            total = self.code.add(ca.OP_SQ, total) if k == total else self.code.add(ca.OP_MUL, total, k)
        return self.code.add(ca.OP_NEG, total) if coefficient < 0 else total

    def _number(self, number: Number) -> int:
        return self.code.add(NUMBER, value=Fraction(number))

    def _atom(self, atom: int) -> int:
        kind, of = self.forms.atoms[atom]
        if kind == "input":
            return self.code.add(INPUT, value=of)
        if kind == "node":
            return self._operation(of)
        if kind == "reciprocal":
            node, (common, number) = self.forms.denominators[of]
            if self.as_polynomial[node]:
                return self.code.add(ca.OP_INV, self._polynomial(dict(of)))
            inverse = self.code.add(ca.OP_INV, self._node(node))
            return inverse if not common and number == 1 else self._times(inverse, common, number)
        return self.code.add(ca.OP_SIN if kind == "sin" else ca.OP_COS, self._polynomial(dict(of)))


def choices(forms: NormalForms) -> list[list[bool]]:
    """For several choices, which nodes are computed as polynomials."""
    plain = [node.operation in (INPUT, NUMBER, ca.OP_SIN, ca.OP_COS, ca.OP_TAN) for node in forms.nodes]
    short = [[not p and len(form) <= most for p, form in zip(plain, forms.forms, strict=True)] for most in _THRESHOLDS]
    return [*short, _cheaper(forms, plain)]


def _cheaper(forms: NormalForms, plain: Sequence[bool]) -> list[bool]:
    """Which nodes cost less as polynomials, by estimates in which the cost of a result is divided among its uses."""
    uses = Counter(k for node in forms.nodes for k in node.arguments)
    costs: list[float] = []
    found = []
    for k, node in enumerate(forms.nodes):
        direct = cost_of(node.operation) + sum(costs[a] / max(1, uses[a]) for a in node.arguments)
        written = direct + 1 if plain[k] else _cost_of_sum(forms, forms.forms[k])
        found.append(not plain[k] and written <= direct)
        costs.append(min(direct, written))
    return found


def _cost_of_sum(forms: NormalForms, terms: Terms) -> float:
    """The cost of a sum of products, with a common factor written once."""
    if not terms:
        return 0.0
    (common, number), rest = forms.content(terms) if len(terms) > 1 else ((0, 1), terms)
    products = sum(max(0, sum(abs(e) for _, e in forms.exponents(m)) - 1 + (abs(c) != 1)) for m, c in rest.items())
    return len(terms) - 1 + products + sum(abs(e) for _, e in forms.exponents(common)) + (abs(number) != 1)
