"""Limits of expressions: they are finite, real, and of bounded size.

Named sub-expressions let a short text describe an expression whose tree is exponentially large, and powers of numbers let one
describe an integer that fills the memory; both are refused before they are formed.
"""

from __future__ import annotations

import math

import sympy
from sympy import Expr

MOST_NODES = 3_000_000
"""Terms of an expression when it is written out. Larger ones would fill the memory of everything that follows."""
MOST_DERIVED = 10_000
"""Terms of a derivative that a text asks for: repeated derivatives of a short text grow without bound."""
MOST_NAMED = 3_000_000
"""Terms of all named expressions of a system together, written out: a chain of n names, each one term longer than the one before, has
n^2/2. Reading this many takes about twelve seconds, and the attraction of 300 bodies has 1.3 millions."""
DEEPEST_NODES = 500
"""Depth of nesting of an expression. Functions on expressions recurse with several Python frames per level; beyond twice this depth the
interpreter's own stack may overflow."""
LARGEST_EXPONENT = 1000
"""Largest numerator and denominator of a constant exponent. Larger powers of sums fill the memory once they are expanded."""
MOST_DIGITS = 400
"""Decimal digits of a number, and largest power of ten either way. Longer numbers would fill the memory in products."""
_MOST_BITS = math.ceil(MOST_DIGITS * math.log2(10))
"""`MOST_DIGITS` in bits."""
_MOST_BITS_UNDER_A_ROOT = 133
"""Bits of a number under a root: 40 decimal digits. SymPy factorises such numbers, which takes minutes for longer ones."""
NOT_FINITE = (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)
"""SymPy's values that are not finite numbers; each is a singleton."""


def fault(expression: Expr, most: int = MOST_NODES) -> str | None:
    """The reason why an expression cannot be accepted, or None. Shared sub-expressions are visited once."""
    sizes: dict[Expr, int] = {}
    depths: dict[Expr, int] = {}
    stack: list[tuple[Expr, bool]] = [(expression, False)]
    while stack:
        node, done = stack.pop()
        if node in sizes:
            continue
        if done:
            sizes[node] = 1 + sum(sizes[a] for a in node.args)
            if sizes[node] > most:
                return f"the expression has more than {most} terms when it is written out."
            depths[node] = 1 + max((depths[a] for a in node.args), default=0)
            if depths[node] > DEEPEST_NODES:
                return f"the expression is nested more than {DEEPEST_NODES} deep when it is written out."
            continue
        found = node_fault(node)
        if found:
            return found
        stack.append((node, True))
        stack += [(a, False) for a in node.args]
    return None


def written_size(expression: Expr, known: dict[Expr, int]) -> int:
    """The number of terms of `expression` when it is written out; `known` caches the sizes of parts across calls."""
    stack = [expression]
    while stack:
        node = stack[-1]
        missing = [] if node in known else [a for a in node.args if a not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        if node not in known:
            known[node] = 1 + sum(known[a] for a in node.args)
    return known[expression]


def power_fault(base: Expr, exponent: Expr) -> str | None:
    """The reason why `base ^ exponent` must not be formed, or None."""
    if not exponent.is_Rational:
        return None
    if abs(exponent.p) > LARGEST_EXPONENT or exponent.q > LARGEST_EXPONENT:
        return f"a constant exponent beyond {LARGEST_EXPONENT}."
    bits = max(base.p.bit_length(), base.q.bit_length()) if base.is_Rational else 0
    if bits * abs(exponent.p) > 10 * _MOST_BITS:
        return f"a number of more than {MOST_DIGITS} digits."
    if exponent.q > 1 and bits > _MOST_BITS_UNDER_A_ROOT:
        return "a root of a number of more than 40 digits."
    return None


def call_fault(name: str, argument: Expr) -> str | None:
    """The reason why a function must not be applied, or None: SymPy evaluates exp(n*log(2)), and factorises numbers under a root."""
    if name == "exp" and argument.has(sympy.log) and abs(argument.as_coeff_Mul()[0]) > LARGEST_EXPONENT:
        return f"a constant exponent beyond {LARGEST_EXPONENT}."
    return power_fault(argument, sympy.Rational(1, 2)) if name == "sqrt" else None


class Size:
    """The size of the numbers collected in one sum or product, so that it is refused before it is computed."""

    def __init__(self) -> None:
        self._bits = 0

    def grows(self, part: Expr) -> bool:
        """Whether another number makes the whole too large."""
        if part.is_Rational:
            self._bits += max(part.p.bit_length(), part.q.bit_length())
        return self._bits > 40 * _MOST_BITS


def node_fault(node: Expr) -> str | None:
    """The reason why a single node cannot be accepted, or None."""
    if node.is_Rational:
        return f"a number of more than {MOST_DIGITS} digits." if max(node.p.bit_length(), node.q.bit_length()) > _MOST_BITS else None
    if any(node is infinite for infinite in NOT_FINITE):  # identity is enough, and comparing values would double the time
        return "this has no finite value (a division by zero?)."
    # `is_Rational` comes before `is_negative`, which takes SymPy long for a general base
    if node is sympy.I or (node.is_Pow and node.base.is_Rational and node.base.is_negative and node.exp.is_Rational and node.exp.q > 1):
        return "this is not real."
    if node.is_Pow and node.exp.is_Rational and (abs(node.exp.p) > LARGEST_EXPONENT or node.exp.q > LARGEST_EXPONENT):
        return f"a constant exponent beyond {LARGEST_EXPONENT}."
    return None
