"""Whether the rows of several members hold, decided for all lanes at once; rows of a table as in `machine.lane_rows`.

A number that is not finite holds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chetaev.numerics.machine.lane_rows import Rows

_POINTER = types.CPointer(types.float64)
_ROW = types.intp


def _small(typingctx: Any, m: Any, sizes: Any, n: Any, allowed: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, sizes, n, allowed, out = arguments
        b, x = builder, Rows(builder, base)
        part, one, zero = x.spread(allowed), x.equal(1.0), x.equal(0.0)
        found = cgutils.alloca_once_value(builder, one)
        b.store(one, found)
        with cgutils.for_range(builder, n) as loop:
            size, terms = x.load(x.next(sizes, loop.index)), x.load(x.next(b.add(sizes, n), loop.index))
            fine = b.fcmp_ordered("<=", size, b.fmul(part, terms))
            b.store(b.select(fine, b.load(found), zero), found)
        x.store(b.load(found), out)
        return context.get_dummy_value()

    return types.void(_POINTER, _ROW, _ROW, types.float64, _ROW), generate


small_beside_terms: Callable[..., None] = intrinsic(_small)
"""`small_beside_terms(m, sizes, n, allowed, out)`: `out` is 1 where n rows are at most `allowed` times the n rows behind them, else 0."""


def _nudge(typingctx: Any, m: Any, y: Any, n: Any, factors: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, n, factors, out = arguments
        b, x = builder, Rows(builder, base)
        with cgutils.for_range(builder, n) as loop:
            factor = x.spread(b.load(b.gep(factors, [loop.index])))
            x.store(b.fmul(x.load(x.next(y, loop.index)), factor), x.next(out, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, _ROW, _ROW, _POINTER, _ROW), generate


nudged_rows: Callable[..., None] = intrinsic(_nudge)
"""`nudged_rows(m, y, n, factors.ctypes, out)`: n rows, each times its factor."""


def _certain(
    typingctx: Any, m: Any, doubts: Any, values: Any, there: Any, sizes: Any, n: Any, numbers: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, doubts, values, there, sizes, n, numbers = arguments
        b, x = builder, Rows(builder, base)
        distance, allowed = (x.spread(number) for number in cgutils.unpack_tuple(builder, numbers))
        one, zero = x.equal(1.0), x.equal(0.0)
        found = cgutils.alloca_once_value(builder, one)
        b.store(one, found)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            here, moved, known = (x.load(x.next(row, j)) for row in (values, there, sizes))
            size = b.fdiv(x.size(b.fsub(moved, here)), distance)
            new = b.and_(b.fcmp_unordered(">", size, known), b.fcmp_ordered("==", known, known))
            size = b.select(new, size, known)
            x.store(size, x.next(sizes, j))
            above, below = x.load(x.next(doubts, j)), x.load(x.next(b.add(doubts, n), j))
            doubt = b.fmul(x.size(b.fsub(above, below)), x.equal(0.5))
            fine = b.fcmp_ordered("<=", doubt, b.fmul(allowed, size))
            b.store(b.select(fine, b.load(found), zero), found)
        certain = x.next(sizes, n)
        before = x.load(certain)
        after = b.select(b.fcmp_ordered("!=", before, zero), before, b.load(found))
        x.store(after, certain)
        return x.any(b.fcmp_ordered("==", after, zero))

    return types.boolean(_POINTER, *[_ROW] * 5, types.UniTuple(types.float64, 2)), generate


certain_rows: Callable[..., bool] = intrinsic(_certain)
"""`certain_rows(m, doubts, values, there, sizes, n, (distance, allowed))`: the largest changes of n rows between a state and its
neighbours, in `sizes`, raised by those between `values` and `there`; the row behind becomes 1 where the bounds of the errors, half of the
differences of n `doubts` and the n behind, are small beside them. Whether it is 0 in some lane."""
