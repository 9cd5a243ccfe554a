"""Expressions as one shared graph, and their derivatives: the arithmetic of the independent mechanics.

Nothing here comes from chetaev, SymPy or CasADi. A node is a number: its place in a list that only grows, so arguments stand before
what uses them. Equal nodes are one node. A leaf is a jet `(name, order)` or the time `("t", 0)`. abs, min, max are written by sign, so sign
is the only corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import mpmath

Node = int
Leaf = tuple[str, int]

_NODES: list[tuple[Any, ...]] = []
_PLACES: dict[tuple[Any, ...], Node] = {}


def _node(*key: Any) -> Node:
    place = _PLACES.get(key)
    if place is None:
        place = _PLACES[key] = len(_NODES)
        _NODES.append(key)
    return place


def number(value: Any) -> Node:
    return _node("number", Fraction(value))


def leaf(name: str, order: int = 0) -> Node:
    return _node("leaf", (name, order))


ZERO, ONE, TWO = number(0), number(1), number(2)
TIME = leaf("t")


def value_of(a: Node) -> Fraction | None:
    """The number a node is, if it is one."""
    return _NODES[a][1] if _NODES[a][0] == "number" else None


def add(a: Node, b: Node) -> Node:
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        return number(x + y)
    if a == ZERO:
        return b
    if b == ZERO:
        return a
    return _node("+", min(a, b), max(a, b))


def mul(a: Node, b: Node) -> Node:
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        return number(x * y)
    if ZERO in (a, b):
        return ZERO
    if a == ONE:
        return b
    if b == ONE:
        return a
    return _node("*", min(a, b), max(a, b))


def neg(a: Node) -> Node:
    return mul(number(-1), a)


def sub(a: Node, b: Node) -> Node:
    return ZERO if a == b else add(a, neg(b))


def div(a: Node, b: Node) -> Node:
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        return number(x / y)
    if a == ZERO:
        return ZERO
    return mul(a, number(1 / y)) if y is not None else _node("/", a, b)


def power(a: Node, b: Node) -> Node:
    x, y = value_of(a), value_of(b)
    if y == 0:
        return ONE
    if y == 1:
        return a
    if x is not None and y is not None and y.denominator == 1 and abs(y) < 400:
        return number(x**y)
    return _node("^", a, b)


def sign(a: Node) -> Node:
    x = value_of(a)
    return number((x > 0) - (x < 0)) if x is not None else _node("sign", a)


def apply(name: str, *args: Node) -> Node:
    """A function of the notation."""
    if name == "sign":
        return sign(*args)
    if name == "abs":
        return mul(args[0], sign(args[0]))
    if name in ("min", "max"):
        a = args[0]
        for b in args[1:]:
            apart = apply("abs", sub(a, b))
            a = div(add(add(a, b), apart if name == "max" else neg(apart)), TWO)
        return a
    if name == "step":
        return div(add(ONE, sign(args[0])), TWO)
    if value_of(args[0]) == 0 and name in ("sin", "tan", "sinh", "tanh", "atan", "asin", "asinh"):
        return ZERO
    if value_of(args[0]) == 0 and name in ("cos", "exp", "cosh"):
        return ONE
    return _node(name, *args)


def total(nodes: Iterable[Node]) -> Node:
    result = ZERO
    for a in nodes:
        result = add(result, a)
    return result


def reach(roots: Iterable[Node]) -> list[Node]:
    """All nodes below the roots, arguments first."""
    seen: set[Node] = set()
    todo = list(roots)
    while todo:
        a = todo.pop()
        if a not in seen:
            seen.add(a)
            if _NODES[a][0] not in ("number", "leaf"):
                todo.extend(_NODES[a][1:])
    return sorted(seen)


def leaves(roots: Iterable[Node]) -> set[Leaf]:
    return {_NODES[a][1] for a in reach(roots) if _NODES[a][0] == "leaf"}


def _slope(name: str, u: Node, f: Node) -> Node:
    """The derivative of a function of one argument; f is the function itself."""
    one_minus, one_plus = sub(ONE, mul(u, u)), add(ONE, mul(u, u))
    table: dict[str, Callable[[], Node]] = {
        "sin": lambda: apply("cos", u),
        "cos": lambda: neg(apply("sin", u)),
        "tan": lambda: add(ONE, mul(f, f)),
        "asin": lambda: div(ONE, apply("sqrt", one_minus)),
        "acos": lambda: neg(div(ONE, apply("sqrt", one_minus))),
        "atan": lambda: div(ONE, one_plus),
        "sinh": lambda: apply("cosh", u),
        "cosh": lambda: apply("sinh", u),
        "tanh": lambda: div(ONE, mul(apply("cosh", u), apply("cosh", u))),
        "asinh": lambda: div(ONE, apply("sqrt", one_plus)),
        "exp": lambda: f,
        "log": lambda: div(ONE, u),
        "sqrt": lambda: div(ONE, mul(TWO, f)),
        "sign": lambda: ZERO,
    }
    return table[name]()


def _partials(a: Node) -> list[tuple[Node, Node]]:
    """The arguments of a node and its derivatives by them."""
    op, *args = _NODES[a]
    if op == "+":
        return [(args[0], ONE), (args[1], ONE)]
    if op == "*":
        return [(args[0], args[1]), (args[1], args[0])]
    if op == "/":
        return [(args[0], div(ONE, args[1])), (args[1], neg(div(a, args[1])))]
    if op == "^":
        base, exponent = args
        parts = [(base, mul(exponent, power(base, sub(exponent, ONE))))]
        if value_of(exponent) is None:
            parts.append((exponent, mul(a, apply("log", base))))
        return parts
    return [(args[0], _slope(op, args[0], a))]


def along(root: Node, rate: Callable[[Leaf], Node]) -> Node:
    """The derivative of a node when every leaf changes at a rate: the chain rule forward."""
    rates: dict[Node, Node] = {}
    for a in reach([root]):
        op = _NODES[a][0]
        if op == "number":
            rates[a] = ZERO
        elif op == "leaf":
            rates[a] = rate(_NODES[a][1])
        elif all(rates[b] == ZERO for b in _NODES[a][1:]):
            rates[a] = ZERO
        else:
            rates[a] = total(mul(slope, rates[b]) for b, slope in _partials(a) if rates[b] != ZERO)
    return rates[root]


def gradient(root: Node) -> dict[Leaf, Node]:
    """All partial derivatives of a node: the chain rule backward."""
    weights: dict[Node, Node] = {root: ONE}
    found: dict[Leaf, Node] = {}
    for a in reversed(reach([root])):
        w = weights.get(a, ZERO)
        if w == ZERO or _NODES[a][0] == "number":
            continue
        if _NODES[a][0] == "leaf":
            found[_NODES[a][1]] = w
            continue
        for b, slope in _partials(a):
            weights[b] = add(weights.get(b, ZERO), mul(w, slope))
    return found


def corners(roots: Iterable[Node]) -> list[Node]:
    """The sign nodes, inner ones first."""
    return [a for a in reach(roots) if _NODES[a][0] == "sign"]


def argument(a: Node) -> Node:
    return _NODES[a][1]


_DIGITS: dict[str, Callable[..., Any]] = {
    name: getattr(mpmath, name) for name in "sin cos tan asin acos atan sinh cosh tanh asinh exp log sqrt".split()
}
_DIGITS["tanh"] = lambda x: mpmath.tanh(x) if abs(x) < 10**6 else mpmath.sign(x)  # equal to more digits than are kept
_DIGITS["cosh"] = lambda x: mpmath.cosh(x) if abs(x) < 10**9 else mpmath.inf
_DIGITS["exp"] = lambda x: mpmath.exp(x) if x > -(10**9) else mpmath.mpf(0)
_DIGITS["sign"] = lambda x: mpmath.mpf((x > 0) - (x < 0))


def evaluate(roots: Sequence[Node], values: dict[Leaf, Any]) -> list[Any]:
    """Values of nodes in mpmath's precision."""
    held: dict[Node, Any] = {}
    for a in reach(roots):
        op, *args = _NODES[a]
        if op == "number":
            held[a] = mpmath.mpf(args[0].numerator) / args[0].denominator
        elif op == "leaf":
            held[a] = mpmath.mpf(values[args[0]])
        elif op == "+":
            held[a] = held[args[0]] + held[args[1]]
        elif op == "*":
            held[a] = held[args[0]] * held[args[1]]
        elif op == "/":
            held[a] = held[args[0]] / held[args[1]]
        elif op == "^":
            exponent = value_of(args[1])
            whole = exponent is not None and exponent.denominator == 1
            held[a] = held[args[0]] ** (int(exponent) if whole else held[args[1]])  # type: ignore[arg-type]
        else:
            held[a] = _DIGITS[op](held[args[0]])
    return [held[a] for a in roots]


_FLOAT_NAMES = {name: getattr(math, name) for name in "sin cos tan asin acos atan sinh cosh tanh asinh exp log sqrt".split()}


def compiled(roots: Sequence[Node], order: Sequence[Leaf], modes: Sequence[Node] = ()) -> Callable[[Sequence[float], Sequence[float]], Any]:
    """A Python function of leaves and of the values that stand for the sign nodes in `modes`; other sign nodes are evaluated.

    The text that is compiled is made of the operations above only, never of words a user wrote.
    """
    place = {v: i for i, v in enumerate(order)}
    frozen = {a: i for i, a in enumerate(modes)}
    lines = ["def function(y, m):"]
    for a in reach(roots):
        op, *args = _NODES[a]
        if a in frozen:
            text = f"m[{frozen[a]}]"
        elif op == "number":
            text = f"({float(args[0])!r})"
        elif op == "leaf":
            text = f"y[{place[args[0]]}]"
        elif op in "+*/":
            text = f"v{args[0]} {op} v{args[1]}"
        elif op == "^":
            exponent = value_of(args[1])
            whole = exponent is not None and exponent.denominator == 1
            text = f"v{args[0]} ** ({int(exponent)})" if whole else f"v{args[0]} ** v{args[1]}"  # type: ignore[arg-type]
        elif op == "sign":
            text = f"(v{args[0]} > 0) - (v{args[0]} < 0)"
        else:
            text = f"{op}(v{args[0]})"
        lines.append(f"  v{a} = {text}")
    lines.append("  return (" + "".join(f"v{a}, " for a in roots) + ")")
    space: dict[str, Any] = dict(_FLOAT_NAMES, sinh=_grows(math.sinh), cosh=_grows(math.cosh), exp=_grows(math.exp))
    exec(compile("\n".join(lines), "<graph>", "exec"), space)  # noqa: S102 - see the docstring
    return space["function"]


def _grows(function: Callable[[float], float]) -> Callable[[float], float]:
    """An overflow is infinity, not an error: 1/cosh(1000) is zero."""

    def safe(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x) if function is math.sinh else math.inf

    return safe
