"""Building blocks of a compiled loop over lanes: calls of code for several states, and arithmetic on rows of `LANES` numbers.

All numbers of a loop stand in one table, a row for every number of a state, a column for every lane; a block begins at `m.ctypes` of that
table and names rows by their numbers. Every block computes in a lane what the block of `native` with the same purpose computes for one
state, operation by operation: both give the same bits. Where a mask is given, lanes whose entry of that row is zero keep what they have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chetaev.numerics.machine.processor import LANES

_FOLD = 4
"""Partial sums of squares, as the blocks for one state have them: one for each of four columns."""

_DOUBLE = ir.DoubleType()
_INT = ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_POINTER = types.CPointer(types.float64)
_ROW = types.intp
_NUMBER = types.float64


def _call_lanes(typingctx: Any, address: Any, t: Any, y: Any, p: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_DOUBLE.as_pointer()] * 4)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.intp, _POINTER, _POINTER, _POINTER, _POINTER), generate


call_lanes: Callable[..., None] = intrinsic(_call_lanes)
"""`call_lanes(address, t.ctypes, y.ctypes, p.ctypes, out.ctypes)`: code made by `vectors.states`."""


def _call_packed(typingctx: Any, entry: Any, row: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
        row = builder.inttoptr(arguments[1], ir.IntType(8).as_pointer())
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [row])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


call_packed: Callable[[int, int], None] = intrinsic(_call_packed)
"""`call_packed(packed.entry, packed.row)`: a call of `packed.Packed`."""


class _FixedLoad(ir.LoadInstr):
    """A load that is neither moved nor merged with another instruction."""

    def descr(self, buf: list[str]) -> None:
        """Write the instruction."""
        text: list[str] = []
        super().descr(text)
        buf.append("".join(text).replace("load ", "load volatile ", 1))


class Rows:
    """Vectors of the table, and arithmetic on them."""

    def __init__(self, builder: Any, base: Any) -> None:
        self.builder, self.base = builder, base

    def at(self, row: Any) -> Any:
        b = self.builder
        return b.bitcast(b.gep(self.base, [b.mul(row, row.type(LANES))]), _VECTOR.as_pointer())

    def load(self, row: Any) -> Any:
        return self.builder.load(self.at(row), align=8)

    def store(self, vector: Any, row: Any) -> None:
        self.builder.store(vector, self.at(row), align=8)

    def blend(self, which: Any, new: Any, row: Any) -> None:
        """A new vector in some lanes of a row. A load that LLVM must leave as it is keeps it from storing under a mask, which takes some
        processors tens of cycles.
        """
        old = _FixedLoad(self.builder.block, self.at(row))
        old.align = 8
        self.builder._insert(old)
        self.store(self.builder.select(which, new, old), row)

    def next(self, row: Any, j: Any) -> Any:
        return self.builder.add(row, j)

    def spread(self, number: Any) -> Any:
        b = self.builder
        one = b.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(_INT, 0))
        return b.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES))

    def equal(self, number: float) -> Any:
        return ir.Constant(_VECTOR, [number] * LANES)

    def function(self, name: str, *arguments: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(arguments))
        full = f"llvm.{name}.v{LANES}f64"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, full), list(arguments))

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        return self.function("fmuladd", a, b, c)

    def size(self, a: Any) -> Any:
        return self.function("fabs", a)

    def larger(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", b, a), b, a)

    def smaller(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", b, a), b, a)

    def any(self, bits: Any) -> Any:
        """Whether some lane is meant."""
        flags = self.builder.bitcast(bits, ir.IntType(LANES))
        return self.builder.icmp_unsigned("!=", flags, flags.type(0))

    def chosen(self, mask: Any) -> Any:
        """Which lanes a row of zeros and ones means."""
        return self.builder.fcmp_ordered("!=", self.load(mask), self.equal(0.0))

    def flags(self, bits: Any) -> Any:
        """Zeros and ones."""
        return self.builder.select(bits, self.equal(1.0), self.equal(0.0))

    def weighed(self, k: Any, n: Any, j: Any, terms: Sequence[tuple[Any, Any]]) -> Any:
        b, total = self.builder, None
        for place, weight in terms:
            row = self.load(b.add(b.add(k, b.mul(place, n)), j))
            spread = self.spread(weight)
            total = b.fmul(spread, row) if total is None else self.fused(spread, row, total)
        return total

    def terms(self, rows: Any) -> list[tuple[Any, Any]]:
        places, weights = (cgutils.unpack_tuple(self.builder, pair) for pair in cgutils.unpack_tuple(self.builder, rows))
        return list(zip(places, weights, strict=True))

    def sums(self) -> Any:
        """Room for partial sums, zero at first."""
        room = cgutils.alloca_once(self.builder, _VECTOR, size=_FOLD)
        for i in range(_FOLD):
            self.builder.store(self.equal(0.0), self.builder.gep(room, [ir.Constant(_INT, i)]))
        return room

    def add_square(self, room: Any, j: Any, ratio: Any) -> None:
        place = self.builder.gep(room, [self.builder.and_(j, j.type(_FOLD - 1))])
        self.builder.store(self.fused(ratio, ratio, self.builder.load(place)), place)

    def total(self, room: Any) -> Any:
        b = self.builder
        parts = [b.load(b.gep(room, [ir.Constant(_INT, i)])) for i in range(_FOLD)]
        return b.fadd(b.fadd(parts[0], parts[2]), b.fadd(parts[1], parts[3]))


def _stage(typingctx: Any, m: Any, out: Any, y: Any, h: Any, k: Any, n: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, out, y, h, k, n, rows = arguments
        table = Rows(builder, base)
        *older, newest = table.terms(rows)
        step = table.load(h)
        last = builder.fmul(step, table.spread(newest[1]))
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            found = table.load(table.next(y, j))
            if older:
                found = table.fused(step, table.weighed(k, n, j, older), found)
            fresh = table.load(builder.add(builder.add(k, builder.mul(newest[0], n)), j))
            table.store(table.fused(last, fresh, found), table.next(out, j))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 5, rows), generate


stage: Callable[..., None] = intrinsic(_stage)
r"""`stage(m, out, y, h, k, n, (rows, weights))`: $out = y + h \sum_i w_i k_i$, as `native.add_rows`."""


def _moment(typingctx: Any, m: Any, out: Any, t: Any, h: Any, part: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, out, t, h, part = arguments
        table = Rows(builder, base)
        table.store(builder.fadd(table.load(t), builder.fmul(table.spread(part), table.load(h))), out)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 3, _NUMBER), generate


moment: Callable[..., None] = intrinsic(_moment)
"""`moment(m, out, t, h, part)`: out = t + part*h."""


def _weighed(typingctx: Any, m: Any, out: Any, h: Any, k: Any, n: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, out, h, k, n, rows = arguments
        table = Rows(builder, base)
        terms, step = table.terms(rows), table.load(h)
        with cgutils.for_range(builder, n) as loop:
            table.store(builder.fmul(step, table.weighed(k, n, loop.index, terms)), table.next(out, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 4, rows), generate


weighed: Callable[..., None] = intrinsic(_weighed)
r"""`weighed(m, out, h, k, n, (rows, weights))`: $out = h \sum_i w_i k_i$, as `native.sum_rows`."""


def _totals(typingctx: Any, m: Any, out: Any, k: Any, n: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, out, k, n, rows = arguments
        table = Rows(builder, base)
        terms = table.terms(rows)
        with cgutils.for_range(builder, n) as loop:
            table.store(table.weighed(k, n, loop.index, terms), table.next(out, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 3, rows), generate


totals: Callable[..., None] = intrinsic(_totals)
r"""`totals(m, out, k, n, (rows, weights))`: $out = \sum_i w_i k_i$."""


def _finite(typingctx: Any, m: Any, x: Any, n: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, x, n, out = arguments
        table = Rows(builder, base)
        seen = cgutils.alloca_once_value(builder, table.equal(0.0))
        with cgutils.for_range(builder, n) as loop:
            builder.store(table.fused(table.load(table.next(x, loop.index)), table.equal(0.0), builder.load(seen)), seen)
        table.store(builder.load(seen), out)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 3), generate


finite_lanes: Callable[..., None] = intrinsic(_finite)
"""`finite_lanes(m, x, n, out)`: zero in lanes where n rows are finite."""


def _ended(
    typingctx: Any, m: Any, sums: Any, n: Any, y: Any, ends: Any, sizes: Any, h: Any, finite: Any, five: Any, three: Any, numbers: Any,
) -> tuple[Any, Callable[..., Any]]:  # fmt: skip
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, sums, n, y, ends, sizes, h, finite, five, three, numbers = arguments
        b, table = builder, Rows(builder, base)
        total, fifth, third = cgutils.unpack_tuple(builder, sums)
        free, end = cgutils.unpack_tuple(builder, ends)
        absolute, usually, noise = cgutils.unpack_tuple(builder, sizes)
        factor, weight, least = (table.spread(number) for number in cgutils.unpack_tuple(builder, numbers))
        step = table.load(h)
        length = table.size(step)
        squares = [table.sums(), table.sums()]
        seen = cgutils.alloca_once_value(builder, table.equal(0.0))
        b.store(table.equal(0.0), seen)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            start, fixed, usual, more = (table.load(table.next(row, j)) for row in (y, absolute, usually, noise))
            new = b.fadd(start, b.fmul(step, table.load(table.next(total, j))))
            for row in (free, end):
                table.store(new, table.next(row, j))
            b.store(table.fused(new, table.equal(0.0), b.load(seen)), seen)
            usual = table.fused(weight, usual, table.larger(table.size(start), table.size(new)))
            unit = table.fused(factor, usual, b.fadd(table.fused(length, more, fixed), least))
            inverse = b.fdiv(table.equal(1.0), unit)
            for estimate, room in zip((fifth, third), squares, strict=True):
                table.add_square(room, j, b.fmul(table.load(table.next(estimate, j)), inverse))
        table.store(b.load(seen), finite)
        for row, room in zip((five, three), squares, strict=True):
            table.store(table.total(room), row)
        return context.get_dummy_value()

    groups = types.UniTuple(_ROW, 3), _ROW, _ROW, types.UniTuple(_ROW, 2), types.UniTuple(_ROW, 3)
    return types.void(_POINTER, *groups, *[_ROW] * 4, types.UniTuple(types.float64, 3)), generate


ended: Callable[..., None] = intrinsic(_ended)
"""`ended(m, (total, fifth, third), n, y, (free, end), (absolute, sizes, noise), h, finite, five, three, (relative, weight, tiny))`: the end
of a step, twice, from the weighed sum of its stages; `finite` is zero in lanes where all of it is. And the sums of squares of both
estimates of the error of the step, as `native.sum_squares` has them."""


def _judged(typingctx: Any, m: Any, five: Any, three: Any, h: Any, error: Any, growth: Any, numbers: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, five, three, h, error, growth, numbers = arguments
        table = Rows(builder, base)
        size, grows, safety, least = (table.spread(number) for number in cgutils.unpack_tuple(builder, numbers))
        fifth, third = table.load(five), table.load(three)
        both = builder.fmul(builder.fadd(fifth, builder.fmul(table.equal(0.01), third)), size)
        ratio = builder.fdiv(builder.fmul(table.size(table.load(h)), fifth), table.function("sqrt", both))
        none = builder.fcmp_ordered("==", fifth, table.equal(0.0))
        found = builder.select(none, builder.fmul(table.equal(0.0), third), ratio)
        table.store(found, error)
        root = table.function("sqrt", table.function("sqrt", table.function("sqrt", found)))
        usual = table.larger(least, builder.fdiv(safety, root))
        table.store(builder.select(builder.fcmp_ordered("<", builder.fmul(grows, root), safety), grows, usual), growth)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 5, types.UniTuple(types.float64, 4)), generate


judged: Callable[..., None] = intrinsic(_judged)
"""`judged(m, five, three, h, error, growth, (n, grows, safety, least))`: the error of a step, and by what the next one is multiplied."""


def _relative(typingctx: Any, m: Any, x: Any, y: Any, sizes: Any, n: Any, out: Any, tiny: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, x, y, sizes, n, out, tiny = arguments
        table = Rows(builder, base)
        room, least = table.sums(), table.spread(tiny)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            new, old, usual = (table.load(table.next(row, j)) for row in (x, y, sizes))
            unit = builder.fadd(builder.fadd(table.size(old), usual), least)
            change = builder.fsub(new, old)
            # a component that is the same in all lanes adds zero, unless its unit is no number
            moved = builder.or_(builder.fcmp_unordered("!=", change, table.equal(0.0)), builder.fcmp_unordered("uno", unit, unit))
            with builder.if_then(table.any(moved)):
                table.add_square(room, j, builder.fdiv(change, unit))
        table.store(table.total(room), out)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 5, _NUMBER), generate


relative: Callable[..., None] = intrinsic(_relative)
"""`relative(m, x, y, sizes, n, out, tiny)`: the sums of squares of `native.sum_relative`."""


def _adopt(typingctx: Any, m: Any, mask: Any, x: Any, y: Any, n: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, mask, x, y, n = arguments
        table = Rows(builder, base)
        which = table.chosen(mask)
        with cgutils.for_range(builder, n) as loop:
            table.blend(which, table.load(table.next(x, loop.index)), table.next(y, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 4), generate


adopt: Callable[..., None] = intrinsic(_adopt)
"""`adopt(m, mask, x, y, n)`: y = x in some lanes."""


def _remember(
    typingctx: Any, m: Any, mask: Any, largest: Any, sizes: Any, given: Any, among: Any, y: Any, n: Any, grew: Any, numbers: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, mask, largest, sizes, given, among, y, n, grew, numbers = arguments
        table = Rows(builder, base)
        memory, least, much = (table.spread(number) for number in cgutils.unpack_tuple(builder, numbers))
        which = table.chosen(mask)
        any_above = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(ir.IntType(1), LANES), [0] * LANES))
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            state, old, last, known, others = (table.load(table.next(row, j)) for row in (y, largest, sizes, given, among))
            size = table.size(state)
            builder.store(builder.or_(builder.load(any_above), builder.fcmp_ordered(">", size, builder.fmul(much, others))), any_above)
            new = table.larger(old, size)
            table.blend(which, new, table.next(largest, j))
            faded = table.larger(builder.fmul(memory, last), builder.fmul(least, new))
            own = builder.and_(which, builder.fcmp_ordered("<", known, table.equal(0.0)))
            table.blend(own, table.larger(faded, size), table.next(sizes, j))
        above = builder.and_(which, builder.load(any_above))
        table.store(table.flags(above), grew)
        return table.any(above)

    return types.boolean(_POINTER, *[_ROW] * 8, types.UniTuple(types.float64, 3)), generate


remember: Callable[..., bool] = intrinsic(_remember)
"""`remember(m, mask, largest, sizes, given, among, y, n, grew, (memory, least, much))`: as `native.renew_largest`."""


def _commit(
    typingctx: Any, m: Any, mask: Any, y: Any, end: Any, k: Any, slope: Any, low: Any, high: Any, bound: Any, turns: Any, turn: Any, n: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, mask, y, end, k, slope, low, high, bound, turns, turn, n = arguments
        table = Rows(builder, base)
        which, whole = table.chosen(mask), table.spread(turn)
        beyond = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(ir.IntType(1), LANES), [0] * LANES))
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            here, rate, least, most = (table.load(table.next(row, j)) for row in (end, slope, low, high))
            table.blend(which, here, table.next(y, j))
            table.blend(which, rate, table.next(k, j))
            above = builder.fcmp_ordered(">", table.size(here), table.load(table.next(bound, j)))
            builder.store(builder.or_(builder.load(beyond), above), beyond)
            new = table.fused(table.load(table.next(turns, j)), whole, here)
            table.blend(which, table.smaller(least, new), table.next(low, j))
            table.blend(which, table.larger(most, new), table.next(high, j))
        return table.any(builder.and_(which, builder.load(beyond)))

    return types.boolean(_POINTER, *[_ROW] * 9, _NUMBER, _ROW), generate


commit: Callable[..., bool] = intrinsic(_commit)
"""`commit(m, mask, y, end, k, slope, low, high, bound, turns, turn, n)`: the end of a step becomes the state, and its slope the first stage
of the next; extremes as `native.widen_range`. Whether some lane has a component above its bound."""


def _measured(
    typingctx: Any, m: Any, mask: Any, residuals: Any, measured: Any, n: Any, h: Any, integral: Any, latest: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, mask, residuals, measured, n, h, integral, latest = arguments
        table = Rows(builder, base)
        which = table.chosen(mask)
        with cgutils.for_range(builder, n) as loop:
            j = loop.index
            size, old = table.size(table.load(table.next(residuals, j))), table.load(table.next(measured, j))
            new = builder.or_(builder.fcmp_ordered(">", size, old), builder.fcmp_unordered("!=", size, size))
            table.blend(builder.and_(which, new), size, table.next(measured, j))
        last = builder.add(residuals, builder.sub(n, n.type(1)))
        root = table.function("sqrt", table.function("sqrt", table.size(table.load(last))))
        number = builder.and_(which, builder.fcmp_ordered("<", root, table.equal(float("inf"))))
        before, total = table.load(latest), table.load(integral)
        more = builder.fadd(total, builder.fmul(table.size(table.load(h)), table.smaller(before, root)))
        table.blend(number, more, integral)
        table.blend(number, root, latest)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 7), generate


measured: Callable[..., None] = intrinsic(_measured)
"""`measured(m, mask, residuals, measured, n, h, integral, latest)`: the largest residuals, of which there is one at least, and the integral
of the fourth root of the last one over a step."""


def _moves(typingctx: Any, m: Any, y: Any, end: Any, moved: Any, n: Any, out: Any, times: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, y, end, moved, n, out, times = arguments
        table = Rows(builder, base)
        limit = table.spread(times)
        found = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(ir.IntType(1), LANES), [0] * LANES))
        with cgutils.for_range(builder, n) as loop:
            start, new, most = (table.load(table.next(row, loop.index)) for row in (y, end, moved))
            above = builder.fcmp_ordered(">", table.size(builder.fsub(new, start)), builder.fmul(limit, most))
            builder.store(builder.or_(builder.load(found), above), found)
        table.store(table.flags(builder.load(found)), out)
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 5, _NUMBER), generate


moves: Callable[..., None] = intrinsic(_moves)
"""`moves(m, y, end, moved, n, out, times)`: whether a component moves further than `times` its entry of `moved`."""


def _reach(
    typingctx: Any, m: Any, box: Any, j: Any, y: Any, end: Any, free: Any, slope: Any, k: Any, n: Any, h: Any, slack: Any, rows: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, box, j, y, end, free, slope, k, n, h, slack, count = arguments
        table = Rows(builder, base)
        b, zero, step, wider = builder, table.equal(0.0), table.load(h), table.spread(slack)
        start, last, ended = (table.load(table.next(row, j)) for row in (y, end, free))
        first = table.load(table.next(slope, j))
        slow, fast = (cgutils.alloca_once_value(builder, first) for _ in range(2))
        builder.store(first, slow)
        builder.store(first, fast)
        with cgutils.for_range(builder, count) as loop:
            rate = table.load(b.add(b.add(k, b.mul(loop.index, n)), j))
            builder.store(table.smaller(builder.load(slow), rate), slow)
            builder.store(table.larger(builder.load(fast), rate), fast)
        least, most = builder.load(slow), builder.load(fast)
        moved = [b.fmul(step, rate) for rate in (least, most)]
        down, up = table.smaller(zero, table.smaller(*moved)), table.larger(zero, table.larger(*moved))
        low = table.larger(b.fadd(start, down), b.fsub(last, up))
        high = table.smaller(b.fadd(start, up), b.fsub(last, down))
        turns = b.and_(b.fcmp_ordered("<", down, zero), b.fcmp_ordered(">", up, zero))
        more = b.select(turns, b.fmul(wider, b.fsub(high, low)), zero)
        more = b.fadd(more, table.size(b.fsub(last, ended)))
        width = b.fmul(wider, b.fsub(most, least))
        found = [
            table.smaller(b.fsub(low, more), table.smaller(start, last)),
            table.larger(b.fadd(high, more), table.larger(start, last)),
            b.fsub(least, width),
            b.fadd(most, width),
        ]
        for i, row in enumerate(found):
            table.store(row, b.add(b.add(box, b.mul(n, n.type(i))), j))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 9, _NUMBER, _ROW), generate


reach: Callable[..., None] = intrinsic(_reach)
"""`reach(m, box, j, y, end, free, slope, k, n, h, slack, rows)`: what can be reached in a step, of component j, into the four rows of a box
that are n rows apart; as `native.reach_columns`."""


def _column_out(typingctx: Any, m: Any, row: Any, n: Any, lane: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, row, n, lane, out = arguments
        first = builder.add(builder.mul(row, row.type(LANES)), lane)
        with cgutils.for_range(builder, n) as loop:
            place = builder.add(first, builder.mul(loop.index, row.type(LANES)))
            builder.store(builder.load(builder.gep(base, [place])), builder.gep(out, [loop.index]))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 3, _POINTER), generate


column_out: Callable[..., None] = intrinsic(_column_out)
"""`column_out(m, row, n, lane, out.ctypes)`: n rows of a lane, from `row` on, as an array."""


def _column_in(typingctx: Any, m: Any, row: Any, n: Any, lane: Any, source: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, row, n, lane, source = arguments
        first = builder.add(builder.mul(row, row.type(LANES)), lane)
        with cgutils.for_range(builder, n) as loop:
            place = builder.add(first, builder.mul(loop.index, row.type(LANES)))
            builder.store(builder.load(builder.gep(source, [loop.index])), builder.gep(base, [place]))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 3, _POINTER), generate


column_in: Callable[..., None] = intrinsic(_column_in)
"""`column_in(m, row, n, lane, source.ctypes)`: an array into n rows of a lane."""


def _column_to(typingctx: Any, m: Any, lane: Any, other: Any, to: Any, row: Any, n: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, lane, other, to, row, n = arguments
        first = builder.mul(row, row.type(LANES))
        with cgutils.for_range(builder, n) as loop:
            place = builder.add(first, builder.mul(loop.index, row.type(LANES)))
            number = builder.load(builder.gep(base, [builder.add(place, lane)]))
            builder.store(number, builder.gep(other, [builder.add(place, to)]))
        return context.get_dummy_value()

    return types.void(_POINTER, _ROW, _POINTER, *[_ROW] * 3), generate


column_to: Callable[..., None] = intrinsic(_column_to)
"""`column_to(m, lane, other, to, row, n)`: n rows of a lane, from `row` on, into the lane `to` of another table."""


def _raise_among(typingctx: Any, m: Any, mask: Any, y: Any, among: Any, n: Any, kinds: Any, room: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, mask, y, among, n, kinds, room = arguments
        table = Rows(builder, base)
        which = table.chosen(mask)

        def largest(j: Any) -> Any:
            return builder.add(room, builder.load(builder.gep(kinds, [j])))

        with cgutils.for_range(builder, n) as loop:
            table.store(table.load(table.next(among, loop.index)), largest(loop.index))
        with cgutils.for_range(builder, n) as loop:
            place = largest(loop.index)
            table.store(table.larger(table.load(place), table.size(table.load(table.next(y, loop.index)))), place)
        with cgutils.for_range(builder, n) as loop:
            table.blend(which, table.load(largest(loop.index)), table.next(among, loop.index))
        return context.get_dummy_value()

    return types.void(_POINTER, *[_ROW] * 4, types.CPointer(types.int64), _ROW), generate


raise_among: Callable[..., None] = intrinsic(_raise_among)
"""`raise_among(m, mask, y, among, n, kinds.ctypes, room)`: components that have become large: those of their kinds are measured by them. In
`among` components of a kind have equal entries. Kinds are numbers below n, and `room` is for a row of each: no branch depends on a lane."""
