"""Expressions as an automatic-differentiation graph: the algebra that numerics works in.

CasADi's SX graphs share sub-expressions and differentiate in a time proportional to their size, where SymPy's trees swell. The assembler,
the structural analysis and everything below them run on either algebra; here is the one for numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr, Symbol

from chetaev.functions import SPELLING
from chetaev.values import Undefined

_CALLS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ca, name) for name in "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log sqrt sign".split()},
    "abs": ca.fabs,
    "min": ca.fmin,
    "max": ca.fmax,
}


class GraphAlgebra:
    """SX expressions; one instance owns the graph's symbols, so expressions of different instances do not mix."""

    def __init__(self) -> None:
        self._leaves: dict[Symbol, ca.SX] = {}
        self._names: dict[str, Symbol] = {}
        self._known: dict[Expr, ca.SX] = {}

    def of(self, expression: Expr) -> ca.SX:
        """The graph of an expression, each shared sub-expression only once."""
        stack: list[tuple[Expr, bool]] = [(expression, False)]
        while stack:
            node, ready = stack.pop()
            if node in self._known:
                continue
            if node.args and not ready:
                stack.append((node, True))
                stack += [(a, False) for a in node.args]
                continue
            self._known[node] = self._made(node)
        return self._known[expression]

    def leaf(self, symbol: Symbol) -> ca.SX:
        """The graph's symbol for a symbol."""
        if symbol not in self._leaves:
            name = f"{type(symbol).__name__}:{symbol.name}"
            self._leaves[symbol] = ca.SX.sym(name)
            self._names[name] = symbol
        return self._leaves[symbol]

    def vector(self, symbols: Sequence[Symbol]) -> ca.SX:
        """A column of leaves."""
        return ca.vertcat(*[self.leaf(z) for z in symbols]) if symbols else ca.SX(0, 1)

    def gradient(self, e: ca.SX, symbols: Sequence[Symbol]) -> list[ca.SX]:
        if not symbols:
            return []
        row = ca.jacobian(e, self.vector(symbols))
        return [row[0, i] for i in range(len(symbols))]

    def along(self, e: ca.SX, rates: Mapping[Symbol, ca.SX]) -> ca.SX:
        if not rates:
            return ca.SX(0)
        return ca.jtimes(e, self.vector(list(rates)), ca.vertcat(*rates.values()))

    def symbols(self, e: ca.SX) -> set[Symbol]:
        return {self._names[leaf.name()] for leaf in ca.symvar(e)}

    def without(self, e: ca.SX, symbols: Sequence[Symbol]) -> ca.SX:
        return ca.substitute(e, self.vector(symbols), ca.SX.zeros(len(symbols), 1)) if symbols else e

    def tape(self, expressions: Sequence[ca.SX]) -> GraphTape:
        return GraphTape(self, expressions)

    def _made(self, node: Expr) -> ca.SX:
        if node.is_Symbol:
            return self.leaf(node)
        if node.is_Rational:
            return ca.SX(_float(node.p, node.q))
        if node.is_NumberSymbol:
            return ca.SX(float(node))
        arguments = [self._known[a] for a in node.args]
        if node.is_Add:
            return _balanced(arguments, lambda a, b: a + b)
        if node.is_Mul:
            return _balanced(arguments, lambda a, b: a * b)
        if node.is_Pow:
            return _power(arguments[0], node.exp, arguments[1])
        return _CALLS[SPELLING[type(node)]](*arguments)


class GraphTape:
    """Expressions of a graph made ready for numbers."""

    def __init__(self, algebra: GraphAlgebra, expressions: Sequence[ca.SX]) -> None:
        column = ca.vertcat(*expressions) if expressions else ca.SX(0, 1)
        found = algebra.symbols(column)
        self._order = sorted(found, key=lambda z: z.name)
        self.symbols: frozenset[Symbol] = frozenset(found)
        self._function = ca.Function("tape", [algebra.vector(self._order)], [ca.densify(column)])

    def __call__(self, values: Mapping[Symbol, float]) -> list[float]:
        """The values of the expressions; `Undefined` where one is not finite."""
        numbers = np.array(self._function([values[z] for z in self._order])).ravel()
        if not np.all(np.isfinite(numbers)):
            raise Undefined("not a finite number")
        return numbers.tolist()


def _float(p: int, q: int) -> float:
    try:
        return p / q
    except OverflowError:
        return math.inf  # found out when the graph is evaluated


def _balanced(parts: list[ca.SX], combine: Callable[[ca.SX, ca.SX], ca.SX]) -> ca.SX:
    """A sum or product as a balanced tree: shallow graphs differentiate and evaluate with less round-off."""
    while len(parts) > 1:
        parts = [combine(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def _power(base: ca.SX, exponent: Expr, converted: ca.SX) -> ca.SX:
    """Integer powers as products, half-integers through a root: both stay differentiable at zero."""
    if exponent.is_Integer:
        size = _integer_power(base, abs(int(exponent)))
        return 1 / size if exponent.is_negative else size
    if exponent.is_Rational and exponent.q == 2:
        root = _integer_power(ca.sqrt(base), abs(exponent.p))
        return 1 / root if exponent.is_negative else root
    if exponent.is_Rational:
        return base ** float(exponent)
    return base**converted


def _integer_power(base: ca.SX, exponent: int) -> ca.SX:
    result, square = ca.SX(1), base
    while exponent:
        if exponent & 1:
            result = result * square
        exponent >>= 1
        square = square * square if exponent else square
    return result
