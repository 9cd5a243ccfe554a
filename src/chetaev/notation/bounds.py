"""What an expression may be: finite, real, and of bounded size.

Named sub-expressions let a short text describe an expression whose tree is exponentially large, and powers of numbers let one
describe an integer that fills the memory; both are refused before anything works on them.
"""

from __future__ import annotations

import sympy
from sympy import Expr

MOST_NODES = 1_000_000
MOST_DERIVED = 30_000
"""Terms a written derivative may have: repeated derivatives of a short text grow without bound."""
LARGEST_EXPONENT = 1000
_MOST_BITS = 1329  # 400 decimal digits


def fault(expression: Expr, most: int = MOST_NODES) -> str | None:
    """Why an expression cannot be accepted, or None. Shared sub-expressions are visited once."""
    sizes: dict[Expr, int] = {}
    stack: list[tuple[Expr, bool]] = [(expression, False)]
    while stack:
        node, done = stack.pop()
        if node in sizes:
            continue
        if done:
            sizes[node] = 1 + sum(sizes[a] for a in node.args)
            if sizes[node] > most:
                return f"the expression has more than {most} terms when it is written out."
            continue
        found = _fault_of_node(node)
        if found:
            return found
        stack.append((node, True))
        stack += [(a, False) for a in node.args]
    return None


def power_fault(base: Expr, exponent: Expr) -> str | None:
    """Why `base ^ exponent` must not even be formed, or None."""
    if not exponent.is_Rational:
        return None
    if abs(exponent.p) > LARGEST_EXPONENT or exponent.q > LARGEST_EXPONENT:
        return f"a constant exponent beyond {LARGEST_EXPONENT}."
    if base.is_Rational and max(base.p.bit_length(), base.q.bit_length()) * abs(exponent.p) > 10 * _MOST_BITS:
        return "a number of more than 400 digits."
    return None


def _fault_of_node(node: Expr) -> str | None:
    if node.is_Rational:
        return "a number of more than 400 digits." if max(node.p.bit_length(), node.q.bit_length()) > _MOST_BITS else None
    if node in (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        return "this has no finite value (a division by zero?)."
    if node is sympy.I or (node.is_Pow and node.base.is_negative and node.base.is_Rational and node.exp.is_Rational and node.exp.q > 1):
        return "this is not real."
    if node.is_Pow and node.exp.is_Rational and (abs(node.exp.p) > LARGEST_EXPONENT or node.exp.q > LARGEST_EXPONENT):
        return f"a constant exponent beyond {LARGEST_EXPONENT}."
    return None
