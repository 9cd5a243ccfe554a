r"""Double sums as nested ones, so that an expression of n bodies in a chain has a graph of O(n) operations.

The kinetic energy of n links in angles is a sum over all pairs,
$\sum_{j<k} \mu_k l_j l_k \theta_j'\theta_k' \cos(\theta_j - \theta_k)$. Addition theorems separate the factors of the two coordinates;
terms with the same factors of the later coordinate are collected,

$$ \sum_k \mu_k l_k \theta_k' \cos\theta_k \sum_{j<k} l_j \theta_j' \cos\theta_j + \dots, $$

and the inner sums, each of which continues another one, are formed one from the other. Sums that stand in the text, such as positions
along a chain, share their beginnings in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import casadi as ca
import sympy
from sympy import Add, Expr, Mul, S, Symbol

from chetaev.core.symbols import Input, Jet, symbols_in
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import integer_power, plus, times

Factors = tuple[Expr, ...]
_CACHED_TERMS = 1 << 14
"""Terms whose products are remembered: more than the pairs of a hundred links."""
_Beginnings = dict[tuple[int, Expr], tuple[int, ca.SX]]


@dataclass(frozen=True)
class Product:
    """A product of a number, of what does not move, and of the factors of each coordinate or multiplier, by its name."""

    number: Expr
    coefficients: Factors
    moving: dict[str, Expr]


class NestedAlgebra:
    """A graph's algebra in which expressions are written with nested sums; everything else is the graph's."""

    def __init__(self, graph: GraphAlgebra, order: Sequence[Symbol]) -> None:
        self._graph = graph
        self._place = {z.name: k for k, z in enumerate(order)}
        """The places of unknowns and parameters by name, in which the terms of a sum are ordered."""
        self._begun: tuple[_Beginnings, _Beginnings] = ({}, {})
        """The beginnings of sums read forwards and backwards: by the number of a beginning and the next term the number and the graph of
        the longer one."""
        self._known: dict[Expr, ca.SX] = {}
        self._keys: dict[Expr, tuple[int, str]] = {}
        self._moving: dict[Expr, tuple[str, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def of(self, expression: Expr) -> ca.SX:
        """The graph of an expression, with nested sums."""
        if expression not in self._known:
            self._known[expression] = self._written(expression)
        return self._known[expression]

    def _written(self, expression: Expr) -> ca.SX:
        summands: list[ca.SX] = []
        products: list[Product] = []
        for term in Add.make_args(expression):
            separated = self._separated(term)
            if separated is None:
                summands.append(self._nested(term))
            else:
                products += separated
        for (_, outer), some in self._grouped(products).items():
            summands.append(self._collected(outer, some))
        return reduce(plus, summands)

    # -- products of factors of several coordinates -------------------------------------------------------------------------------

    def _separated(self, term: Expr) -> list[Product] | None:
        """The term as a sum of products in which every factor moves with one coordinate; None if it is no such sum."""
        found = [self._product(Mul.make_args(product)) for product in _by_addition_theorem(term)]
        return None if any(product is None for product in found) else [product for product in found if product is not None]

    def _product(self, factors: Sequence[Expr]) -> Product | None:
        number, coefficients, moving = S.One, [], dict[str, list[Expr]]()
        for factor in factors:
            if factor.is_Rational:
                number *= factor
                continue
            bases = self._moved_by(factor)
            if not bases:
                coefficients.append(factor)
            elif len(bases) == 1:
                moving.setdefault(bases[0], []).append(factor)
            else:
                return None
        return Product(number, tuple(coefficients), {base: Mul(*own) for base, own in moving.items()}) if len(moving) > 1 else None

    def _moved_by(self, factor: Expr) -> tuple[str, ...]:
        """The names of the coordinates and multipliers that a factor moves with; several also for a factor that has to stay whole."""
        if factor not in self._moving:
            bases = {z.base for z in symbols_in(factor) if isinstance(z, Jet) and not isinstance(z, Input)}
            self._moving[factor] = tuple(bases) if not bases or _is_plain(factor) else ("", "")
        return self._moving[factor]

    def _grouped(self, products: Sequence[Product]) -> dict[tuple[str, Expr], list[Product]]:
        """Products by the factors of that coordinate which most products contain, the latest one of several."""
        often = Counter(base for product in products for base in product.moving)
        found: dict[tuple[str, Expr], list[Product]] = {}
        for product in products:
            base = max(product.moving, key=lambda base: (often[base], self._place.get(base, -1)))
            found.setdefault((base, product.moving[base]), []).append(product)
        return found

    def _collected(self, outer: Expr, products: Sequence[Product]) -> ca.SX:
        """The sum of products with the same outer factor, which multiplies one inner sum."""
        inner = [Mul(*[e for e in product.moving.values() if e != outer]) for product in products]
        order = sorted(range(len(inner)), key=lambda k: self._key(inner[k]))
        common = _common([product.coefficients for product in products])
        first = products[order[0]].number
        terms = [Mul(products[k].number / first, *_without(products[k].coefficients, common), inner[k]) for k in order]
        return times(self._nested(Mul(first, *common, outer)), self._sum_of(terms))

    # -- sums that share their beginnings -----------------------------------------------------------------------------------------

    def _nested(self, node: Expr) -> ca.SX:
        if node in self._known:
            return self._known[node]
        if node.is_Add and _is_plain(node):
            found = self._sum_of(node.args)
        elif node.is_Mul and _is_plain(node):
            found = reduce(times, [self._nested(a) for a in node.args])
        elif node.is_Pow and node.exp.is_Integer and node.exp.is_positive and _is_plain(node.base):
            found = integer_power(self._nested(node.base), int(node.exp))
        else:
            found = self._graph.of(node)
        self._known[node] = found
        return found

    def _sum_of(self, terms: Iterable[Expr]) -> ca.SX:
        """A sum, term by term in the order of coordinates or against it: sums with the same beginning share its graph."""
        ordered = sorted(terms, key=self._key)
        ways = [(ordered, self._begun[0]), (ordered[::-1], self._begun[1])]
        known = [_known_beginning(*way) for way in ways]
        found = [self._continued(*way) for way in ways]
        return found[1] if known[1] > known[0] else found[0]

    def _continued(self, terms: Sequence[Expr], begun: _Beginnings) -> ca.SX:
        number, total = 0, ca.SX(0)
        for term in terms:
            if (number, term) not in begun:
                added = self._nested(term)
                begun[number, term] = len(begun) + 1, plus(total, added) if number else added
            number, total = begun[number, term]
        return total

    def _key(self, term: Expr) -> tuple[int, str]:
        """The place of the latest coordinate or parameter, then the text."""
        if term not in self._keys:
            symbols = symbols_in(term)
            moving = [z.base for z in symbols if isinstance(z, Jet)] or [z.name for z in symbols]
            self._keys[term] = max((self._place.get(name, -1) for name in moving), default=-1), str(term)
        return self._keys[term]


def _known_beginning(terms: Sequence[Expr], begun: _Beginnings) -> int:
    """How many of the first terms form a sum that is known."""
    number = 0
    for k, term in enumerate(terms):
        if (number, term) not in begun:
            return k
        number = begun[number, term][0]
    return len(terms)


@lru_cache(maxsize=_CACHED_TERMS)
def _by_addition_theorem(term: Expr) -> list[Expr]:
    """The term with the sine or cosine of a sum of two arguments written out; the term itself if it has no or several such factors.

    Cached: rows, the Lagrangian and the energy are written one after the other, with the same terms.
    """
    factors = Mul.make_args(term)
    sums = [f for f in factors if isinstance(f, sympy.sin | sympy.cos) and f.args[0].is_Add and len(f.args[0].args) == 2]
    if len(sums) != 1:
        return [term]
    a, b = sums[0].args[0].args
    rest = [f for f in factors if f is not sums[0]]
    parts: list[tuple[Expr, ...]]
    if isinstance(sums[0], sympy.cos):
        parts = [(sympy.cos(a), sympy.cos(b)), (S.NegativeOne, sympy.sin(a), sympy.sin(b))]
    else:
        parts = [(sympy.sin(a), sympy.cos(b)), (sympy.cos(a), sympy.sin(b))]
    return [Mul(*rest, *part) for part in parts]


def _is_plain(e: Expr) -> bool:
    """Tell whether an expression is made of sums, products, whole powers, sines and cosines, which no special form of the graph is for."""
    for node in sympy.preorder_traversal(e):
        if node.is_Add or node.is_Mul or node.is_Rational or isinstance(node, Symbol | sympy.sin | sympy.cos):
            continue
        if node.is_Pow and node.exp.is_Integer and node.exp.is_positive:
            continue
        return False
    return True


def _common(products: Sequence[Factors]) -> Factors:
    """The factors that all products have."""
    found = []
    rest = [list(factors) for factors in products]
    for factor in products[0]:
        if all(factor in factors for factors in rest):
            found.append(factor)
            for factors in rest:
                factors.remove(factor)
    return tuple(found)


def _without(factors: Factors, common: Factors) -> Iterator[Expr]:
    left = list(common)
    for factor in factors:
        if factor in left:
            left.remove(factor)
        else:
            yield factor
