r"""How large the terms of an expression are: what its value is compared with when it should vanish.

$$ |a \pm b| \to |a| + |b|, \qquad |ab| \to |a||b|, \qquad |f(a)| \to |f(a)| + |f'(a)|\,|a|, $$

from the leaves up. A value far below the sum of its terms is round-off, in any units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

_SAME = {ca.OP_ASSIGN, ca.OP_NEG, ca.OP_FABS}
_SUMS = {ca.OP_ADD, ca.OP_SUB}
_FLAT = {ca.OP_SIGN, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_IF_ELSE_ZERO, ca.OP_FLOOR, ca.OP_CEIL}
"""Operations whose value itself is all there is."""


def magnitudes(expressions: Sequence[ca.SX]) -> list[ca.SX]:
    """The sums of the absolute values of the terms of expressions, as graphs of the same symbols.

    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> magnitudes([x - 2 * x * y])
    [SX(@1=fabs(x), (@1+((2.*@1)*fabs(y))))]
    """
    column = ca.densify(ca.vertcat(*expressions)) if expressions else ca.SX(0, 1)
    symbols = ca.symvar(column)
    function = ca.Function("terms", [ca.vertcat(*symbols)], [column])
    value: dict[int, Any] = {}
    size: dict[int, Any] = {}
    found = [ca.SX(0)] * len(expressions)
    operations = zip(*[map(read, range(function.n_instructions())) for read in _readers(function)], strict=True)
    for k, (code, target, source) in enumerate(operations):
        if code == ca.OP_OUTPUT:
            found[target[1]] = size[source[0]]
        elif code == ca.OP_CONST:
            number = float(function.instruction_constant(k))
            value[target[0]], size[target[0]] = ca.SX(number), ca.SX(abs(number))
        elif code == ca.OP_INPUT:
            value[target[0]], size[target[0]] = symbols[source[1]], _unary(ca.OP_FABS, symbols[source[1]])
        else:
            values, sizes = [value[s] for s in source], [size[s] for s in source]
            value[target[0]] = _applied(code, values)
            size[target[0]] = _size(code, values, sizes, value[target[0]])
    return found


def _readers(function: ca.Function) -> tuple[Callable[[int], Any], ...]:
    return function.instruction_id, function.instruction_output, function.instruction_input


_unary, _binary = ca.SX.unary, ca.SX.binary
"""Seven times as fast as operators between graphs."""


def _size(code: int, values: Sequence[Any], sizes: Sequence[Any], result: Any) -> Any:
    if code in _SAME:
        return sizes[0]
    if code in _SUMS:
        return _binary(ca.OP_ADD, sizes[0], sizes[1])
    if code == ca.OP_TWICE:
        return _unary(ca.OP_TWICE, sizes[0])
    if code == ca.OP_MUL:
        return _binary(ca.OP_MUL, sizes[0], sizes[1])
    if code == ca.OP_SQ:
        return _unary(ca.OP_SQ, sizes[0])
    if code == ca.OP_DIV:
        return _binary(ca.OP_DIV, _binary(ca.OP_MUL, sizes[0], sizes[1]), _unary(ca.OP_SQ, values[1]))
    total = _unary(ca.OP_FABS, result)
    if code in _FLAT:
        return total
    for slope, size in zip(_slopes(code, values), sizes, strict=True):
        total = _binary(ca.OP_ADD, total, _binary(ca.OP_MUL, _unary(ca.OP_FABS, slope), size))
    return total


def _applied(code: int, values: Sequence[Any]) -> Any:
    return _unary(code, values[0]) if len(values) == 1 else _binary(code, values[0], values[1])


def _slopes(code: int, values: Sequence[Any]) -> list[Any]:
    """The derivatives of an operation."""
    known = _KNOWN.get(code)
    if known is not None:
        return [_unary(known, values[0])]
    own = ca.SX.sym("u", len(values))
    slopes = ca.densify(ca.gradient(_applied(code, ca.vertsplit(own)), own))
    return ca.vertsplit(ca.Function("slopes", [own], [slopes])(ca.vertcat(*values)))


_KNOWN: dict[int, int] = {ca.OP_SIN: ca.OP_COS, ca.OP_COS: ca.OP_SIN}
"""Derivatives up to their sign."""
