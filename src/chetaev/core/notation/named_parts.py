"""Names for long parts that repeat, so that formulas of a million characters can be read: the bicycle has 2,000 different parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from itertools import count
from typing import Any

from sympy import Basic, Expr, Symbol

from chetaev.core.notation.bounds import written_size

_LONGEST_PRINTED = 20_000
"""Terms of expressions, written out, up to which they are printed as they are: some 40,000 characters, hundreds of lines of a terminal."""
_SMALLEST_NAMED = 12
"""Terms of a part, after its own parts have names, from which on it gets a name. Shorter parts are easier to read than their names."""


def named_parts(expressions: Sequence[Expr], taken: Container[str]) -> tuple[list[Expr], list[tuple[Symbol, Expr]]]:
    """Expressions with names `P1`, `P2`, ... for long parts that occur several times, and what the names stand for, in order.

    Short expressions stay as they are. `taken` are names that have a meaning already.
    """
    sizes: dict[Expr, int] = {}
    if sum(written_size(e, sizes) for e in expressions) <= _LONGEST_PRINTED:
        return list(expressions), []
    order = _inner_first(expressions)
    uses = Counter(a for node in order for a in node.args)
    names = (name for k in count(1) if (name := f"P{k}") not in taken)
    made: dict[Expr, Expr] = {}
    terms: dict[Expr, int] = {}
    found: list[tuple[Symbol, Expr]] = []
    for node in order:
        made[node] = node.func(*[made[a] for a in node.args]) if node.args else node
        terms[node] = 1 + sum(terms[a] for a in node.args)
        if uses[node] > 1 and terms[node] >= _SMALLEST_NAMED:
            symbol = Symbol(next(names), real=True)
            found.append((symbol, made[node]))
            made[node], terms[node] = symbol, 1
    return [made[e] for e in expressions], found


def _inner_first(expressions: Sequence[Expr]) -> list[Any]:
    """All different parts of expressions, each after its own parts."""
    found: dict[Basic, None] = {}
    stack: list[tuple[Basic, bool]] = [(e, False) for e in reversed(expressions)]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if ready or not node.args:
            found[node] = None
        else:
            stack += [(node, True), *[(a, False) for a in reversed(node.args)]]
    return list(found)
