r"""The size of the terms of an expression, with which its value is compared when it should vanish.

$$ |a \pm b| \to |a| + |b|, \qquad |ab| \to |a||b|, \qquad |f(a)| \to |f(a)| + |f'(a)|\,|a|, $$

from the leaves up. A value far below the sum of its terms is round-off, in any units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import casadi as ca

from chetaev.numerics.graphs.arithmetic import dense
from chetaev.numerics.machine.tape import fold

_SAME = {ca.OP_NEG, ca.OP_FABS}
_FLAT = {ca.OP_SIGN, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_IF_ELSE_ZERO, ca.OP_FLOOR, ca.OP_CEIL}
"""Operations with piecewise constant values: their size is the size of the value."""


def magnitudes(expressions: Sequence[ca.SX], rounding: float = 1.0) -> list[ca.SX]:
    r"""Return the sums of the absolute values of the terms of expressions, as graphs of the same symbols.

    Of a function the term $|f'(a)|\,|a|$ counts `rounding` times: it measures how rounding of the argument changes the value. With 1 a
    value far below its size is round-off; a small number gives the size of the values themselves.

    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> [terms] = magnitudes([x - 2 * x * y])
    >>> float(ca.substitute(terms, ca.vertcat(x, y), ca.DM([-3, 5])))
    33.0
    """
    column = dense(ca.vertcat(*expressions)) if expressions else ca.SX(0, 1)
    symbols = ca.symvar(column)
    function = ca.Function("terms", [ca.vertcat(*symbols)], [column])

    def apply(code: int, arguments: tuple[_Pair, ...]) -> _Pair:
        own = _Lazy(code, tuple(value for value, _ in arguments))
        return own, _size(code, own, [size for _, size in arguments], rounding)

    found = fold(
        function,
        lambda _, entry: (_Lazy(ca.OP_INPUT, (), symbols[entry]), _unary(ca.OP_FABS, symbols[entry])),
        lambda number: (_Lazy(ca.OP_CONST, (), ca.SX(number)), ca.SX(abs(number))),
        apply,
        frequent=_FREQUENT,
    )
    return [ca.SX(0) if pair is None else pair[1] for pair in found]


class _Lazy:
    """The value of an operation as a graph, built on demand: sums and products of sizes do not need it."""

    __slots__ = ("_made", "code", "sources")

    def __init__(self, code: int, sources: tuple[_Lazy, ...], made: Any = None) -> None:
        self.code, self.sources, self._made = code, sources, made

    @property
    def graph(self) -> Any:
        waiting = [self]
        while waiting:
            last = waiting[-1]
            missing = [s for s in last.sources if s._made is None]
            if missing:
                waiting += missing
                continue
            if last._made is None:
                last._made = _applied(last.code, [s._made for s in last.sources])
            waiting.pop()
        return self._made


_unary, _binary = ca.SX.unary, ca.SX.binary
"""Seven times faster than operators between graphs."""
_Pair = tuple[_Lazy, Any]
"""A value and the size of its terms."""


def _sum(code: int) -> Callable[[_Pair, _Pair], _Pair]:
    return lambda a, b: (_Lazy(code, (a[0], b[0])), _binary(ca.OP_ADD, a[1], b[1]))


def _product(a: _Pair, b: _Pair) -> _Pair:
    return _Lazy(ca.OP_MUL, (a[0], b[0])), _binary(ca.OP_MUL, a[1], b[1])


_FREQUENT: dict[int, Callable[[_Pair, _Pair], _Pair]] = {ca.OP_ADD: _sum(ca.OP_ADD), ca.OP_SUB: _sum(ca.OP_SUB), ca.OP_MUL: _product}
"""Sums and products, which are most operations of large systems."""


def _size(code: int, result: _Lazy, sizes: Sequence[Any], rounding: float) -> Any:
    if code in _SAME:
        return sizes[0]
    if code == ca.OP_TWICE:
        return _unary(ca.OP_TWICE, sizes[0])
    if code == ca.OP_SQ:
        return _unary(ca.OP_SQ, sizes[0])
    if code == ca.OP_DIV:
        return _binary(ca.OP_DIV, _binary(ca.OP_MUL, sizes[0], sizes[1]), _unary(ca.OP_SQ, result.sources[1].graph))
    total = _unary(ca.OP_FABS, result.graph)
    if code in _FLAT:
        return total
    for slope, size in zip(_slopes(code, [s.graph for s in result.sources]), sizes, strict=True):
        moved = _binary(ca.OP_MUL, _unary(ca.OP_FABS, slope), size)
        total = _binary(ca.OP_ADD, total, moved if rounding == 1 else _binary(ca.OP_MUL, ca.SX(rounding), moved))
    return total


def _applied(code: int, values: Sequence[Any]) -> Any:
    return _unary(code, values[0]) if len(values) == 1 else _binary(code, values[0], values[1])


def _slopes(code: int, values: Sequence[Any]) -> list[Any]:
    """The derivatives of an operation."""
    known = _KNOWN.get(code)
    if known is not None:
        return [_unary(known, values[0])]
    return ca.vertsplit(_derivatives(code, len(values))(ca.vertcat(*values)))


@lru_cache(maxsize=64)
def _derivatives(code: int, arguments: int) -> ca.Function:
    """The derivatives of an operation as a function; cached, because a sum over pairs of bodies has thousands of equal roots."""
    own = ca.SX.sym("u", arguments)
    return ca.Function("slopes", [own], [ca.densify(ca.gradient(_applied(code, ca.vertsplit(own)), own))])


_KNOWN: dict[int, int] = {ca.OP_SIN: ca.OP_COS, ca.OP_COS: ca.OP_SIN}
"""Derivatives up to their sign."""
