"""The size of expressions, a bound for the work of expanding them, by which a caller decides whether a call is small."""

from __future__ import annotations

from itertools import chain
from math import comb, log2

from sympy import Add, Basic, Function, Integer, Rational, preorder_traversal

_LONGEST = 100_000
"""Nodes that are visited, at most. Whatever is larger is large for every caller."""
_HUGE = 1_000_000
"""The exponent or multiple above which nothing is counted: no caller calls that small."""


def size(*expressions: Basic) -> float:
    """The number of nodes, and besides: the terms of every power of a sum, the multiples in arguments of functions, long numbers.

    >>> from sympy import symbols, sin
    >>> x, y = symbols("x y")
    >>> size(x + y), size((x + y) ** 20) > 20, size(sin(1000 * x)) > 1000
    (3, True, True)
    """
    total = 0.0
    for node in chain.from_iterable(preorder_traversal(e) for e in expressions):
        total += 1
        if total > _LONGEST:
            break
        if node.is_Pow and isinstance(node.base, Add) and node.exp.is_Rational:
            power = abs(node.exp.p)
            total += _HUGE if power > _HUGE else comb(len(node.base.args) + int(power) - 1, int(power))
        elif isinstance(node, Function):
            total += sum(min(_HUGE, max(abs(c.p), c.q)) - 1 for c in node.atoms(Rational) if not isinstance(c, Integer) or abs(c.p) > 1)
        elif node.is_Rational:
            total += log2(max(abs(node.p), node.q, 1)) // 64
    return total if total != int(total) else int(total)
