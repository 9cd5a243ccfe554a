"""Decisions about the steps of all lanes at once, in vectors and without a branch, as far as every step needs them.

Each function returns whether some lane needs further decisions; then the loop treats the lanes one by one. The rows are those of `layout`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chetaev.numerics.machine.lane_rows import LANES, Rows
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.scale_constants import MUCH_SHORTER
from chetaev.numerics.methods.dop853.scales import EPSILON
from chetaev.numerics.methods.lanes.layout import (
    ACTIVE,
    ALIVE,
    CALLS,
    COUNT,
    ERROR,
    EXTRA,
    FINITE,
    FIRST,
    FIVE,
    FURTHER_OFF,
    GROWTH,
    INACCURATE,
    LAST,
    MASK,
    NEW_WORST,
    PREVIOUS,
    READY,
    SIZE,
    SPACE,
    STEP,
    T_NEW,
    THREE,
    WORST,
    H,
    T,
)

_POINTER = types.CPointer(types.float64)
_INT = ir.IntType(64)


def _row(number: int) -> Any:
    return _INT(number)


def _lanes_where(typingctx: Any, m: Any, row: Any, number: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, row, number = arguments
        x = Rows(builder, base)
        bits = builder.bitcast(builder.fcmp_ordered("==", x.load(row), x.spread(number)), ir.IntType(LANES))
        return builder.zext(bits, _INT)

    return types.int64(_POINTER, types.intp, types.float64), generate


lanes_where: Callable[..., int] = intrinsic(_lanes_where)
"""`lanes_where(m, row, number)`: the lanes whose entry of a row is a number, as bits."""


def _counting(name: str, *more: Any) -> Callable[..., Any]:
    def typed(typingctx: Any, bits: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(_INT, [_INT, *[each.type for each in more]])
            function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.i64")
            return builder.call(function, [arguments[0], *more])

        return types.int64(types.int64), generate

    return typed


lowest_lane: Callable[[int], int] = intrinsic(_counting("cttz", ir.Constant(ir.IntType(1), 0)))
"""`lowest_lane(bits)`: the first of some lanes."""
count_lanes: Callable[[int], int] = intrinsic(_counting("ctpop"))
"""`count_lanes(bits)`: their number."""


def _prepare(typingctx: Any, m: Any, t1: Any, direction: Any, max_steps: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, t1, direction, max_steps = arguments
        b, x = builder, Rows(builder, base)
        end, way, most, zero, one = x.spread(t1), x.spread(direction), x.spread(max_steps), x.equal(0.0), x.equal(1.0)
        t, h, alive = x.load(_row(T)), x.load(_row(H)), x.chosen(_row(ALIVE))
        beyond = b.fmul(b.fsub(b.fadd(t, b.fmul(x.equal(1.01), h)), end), way)
        last = b.fcmp_ordered(">=", beyond, zero)
        later = b.select(last, end, b.fadd(t, h))
        x.store(later, _row(T_NEW))
        x.store(b.select(alive, b.fsub(later, t), zero), _row(STEP))
        x.store(b.select(last, one, zero), _row(LAST))
        x.store(b.select(alive, one, zero), _row(MASK))
        for row in (CALLS, EXTRA, READY):
            x.store(zero, _row(row))
        small = b.fcmp_ordered("<", x.size(h), b.fmul(x.equal(10.0 * EPSILON), x.size(t)))
        small = b.and_(small, b.fcmp_ordered("<", x.size(h), x.size(b.fsub(end, t))))
        tried = b.fadd(x.load(_row(COUNT + codes.ACCEPTED)), x.load(_row(COUNT + codes.REJECTED)))
        return x.any(b.and_(alive, b.or_(small, b.fcmp_ordered(">=", tried, most))))

    return types.boolean(_POINTER, *[types.float64] * 3), generate


prepare: Callable[..., bool] = intrinsic(_prepare)
"""`prepare(m, t1, direction, max_steps)`: the steps that are tried next; MASK is 1 in lanes that try one. Returns whether a step is too
short, or the limit of steps is reached, in some lane."""


def _accurate(typingctx: Any, m: Any, huge: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, huge = arguments
        b, x = builder, Rows(builder, base)
        most, mask = x.spread(huge), x.chosen(_row(MASK))
        good = b.fcmp_ordered("<=", x.load(_row(ERROR)), x.equal(1.0))
        good = b.and_(good, b.fcmp_ordered("==", x.load(_row(FINITE)), x.equal(0.0)))
        for row in (FIVE, THREE):
            good = b.and_(good, b.fcmp_ordered("<", x.load(_row(row)), most))
        return b.not_(x.any(b.and_(mask, b.not_(good))))

    return types.boolean(_POINTER, types.float64), generate


accurate: Callable[..., bool] = intrinsic(_accurate)
"""`accurate(m, huge)`: whether all steps are accurate."""


def _to_correct(typingctx: Any, m: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x = Rows(builder, arguments[0])
        x.store(x.flags(builder.fcmp_ordered("==", x.load(_row(MASK)), x.equal(1.0))), _row(ACTIVE))
        x.store(x.equal(float("inf")), _row(PREVIOUS))
        return context.get_dummy_value()

    return types.void(_POINTER), generate


to_correct: Callable[..., None] = intrinsic(_to_correct)
"""`to_correct(m)`: ACTIVE where MASK is 1, and no correction before."""


def _not_finite(typingctx: Any, m: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        b, x = builder, Rows(builder, arguments[0])
        mask = x.load(_row(MASK))
        bad = b.and_(b.fcmp_ordered("==", mask, x.equal(1.0)), b.fcmp_unordered("!=", x.load(_row(FINITE)), x.equal(0.0)))
        x.store(b.select(bad, x.equal(2.0), mask), _row(MASK))
        return context.get_dummy_value()

    return types.void(_POINTER), generate


not_finite: Callable[..., None] = intrinsic(_not_finite)
"""`not_finite(m)`: MASK becomes 2 where it is 1 and FINITE is not zero."""


def _any_above(typingctx: Any, m: Any, row: Any, number: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, row, number = arguments
        x = Rows(builder, base)
        return x.any(builder.fcmp_ordered(">", x.load(row), x.spread(number)))

    return types.boolean(_POINTER, types.intp, types.float64), generate


any_above: Callable[..., bool] = intrinsic(_any_above)
"""`any_above(m, row, number)`: whether some entry of a row is above a number."""


def _corrected(typingctx: Any, m: Any, begins: Any, n: Any, near: Any, huge: Any, settled: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, begins, n, near, huge, settled = arguments
        b, x = builder, Rows(builder, base)
        total, active, one, zero = x.load(_row(SIZE)), x.chosen(_row(ACTIVE)), x.equal(1.0), x.equal(0.0)
        square = b.fdiv(total, x.spread(n))
        limit = x.spread(b.select(begins, near, ir.Constant(ir.DoubleType(), float("inf"))))
        usual = b.and_(b.fcmp_ordered("<", total, x.spread(huge)), b.fcmp_ordered("<", square, limit))
        odd = b.and_(active, b.not_(usual))
        x.blend(odd, x.equal(2.0), _row(MASK))
        x.store(b.fadd(x.load(_row(CALLS)), b.select(active, one, zero)), _row(CALLS))
        before = x.load(_row(PREVIOUS))
        adopted = b.and_(b.and_(active, usual), b.fcmp_ordered("<", square, before))
        x.store(b.select(adopted, one, zero), _row(FIRST))
        x.blend(adopted, square, _row(PREVIOUS))
        going = b.and_(adopted, b.not_(b.fcmp_ordered("<", square, x.spread(settled))))
        x.store(b.select(going, one, zero), _row(ACTIVE))
        return x.any(going)

    return types.boolean(_POINTER, types.boolean, *[types.float64] * 4), generate


corrected: Callable[..., bool] = intrinsic(_corrected)
"""`corrected(m, begins, n, near, huge, settled)`: after a call of the projection, with squares of sizes as `dop853.calls.settle`: FIRST is
1 in lanes that adopt the correction, ACTIVE in lanes that need another one; MASK becomes 2 where a correction is not the usual small one,
the first one below `near`. Returns whether some lane needs another one."""


def _quiet(
    typingctx: Any, m: Any, after: Any, signs: Any, before: Any, n: Any, directions: Any, floors: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, after, signs, before, n, directions, floors = arguments
        b, x = builder, Rows(builder, base)
        zero, mask = x.equal(0.0), b.fcmp_ordered("==", x.load(_row(MASK)), x.equal(1.0))
        odd = cgutils.alloca_once_value(builder, b.and_(mask, b.not_(mask)))
        b.store(b.and_(mask, b.not_(mask)), odd)
        with cgutils.for_range(builder, n) as loop:
            value, old = x.load(x.next(after, loop.index)), x.load(x.next(signs, loop.index))
            new = b.fsub(x.flags(b.fcmp_ordered(">", value, zero)), x.flags(b.fcmp_ordered("<", value, zero)))
            wanted = x.spread(b.sitofp(b.load(b.gep(directions, [loop.index])), ir.DoubleType()))
            way = b.or_(b.fcmp_ordered("==", wanted, zero), b.fcmp_ordered("==", wanted, new))
            changed = b.and_(b.fcmp_ordered("!=", old, zero), b.and_(b.fcmp_ordered("!=", new, zero), b.fcmp_ordered("!=", new, old)))
            low = b.fcmp_ordered("<", x.size(value), x.spread(b.load(b.gep(floors, [loop.index]))))
            b.store(b.or_(b.load(odd), b.and_(mask, b.or_(b.and_(changed, way), low))), odd)
        with cgutils.for_range(builder, n) as loop:
            value = x.load(x.next(after, loop.index))
            new = b.fsub(x.flags(b.fcmp_ordered(">", value, zero)), x.flags(b.fcmp_ordered("<", value, zero)))
            good = b.and_(mask, b.not_(b.load(odd)))
            x.blend(b.and_(good, b.fcmp_ordered("!=", new, zero)), new, x.next(signs, loop.index))
            x.blend(good, value, x.next(before, loop.index))
        x.store(x.flags(b.load(odd)), _row(FIRST))
        return b.not_(x.any(b.load(odd)))

    pointers = types.CPointer(types.int64), _POINTER
    return types.boolean(_POINTER, *[types.intp] * 4, *pointers), generate


quiet: Callable[..., bool] = intrinsic(_quiet)
"""`quiet(m, after, signs, before, n, directions.ctypes, floors.ctypes)`: whether no watched function changes its sign or is below its floor
in a lane whose MASK is 1; FIRST is 1 where one does, and the signs and values of the others are renewed."""


def _onwards(typingctx: Any, m: Any, direction: Any, max_step: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, direction, max_step = arguments
        b, x = builder, Rows(builder, base)
        zero, one, mask = x.equal(0.0), x.equal(1.0), b.fcmp_ordered("==", x.load(_row(MASK)), x.equal(1.0))
        size, growth, old, last = x.size(x.load(_row(STEP))), x.load(_row(GROWTH)), x.load(_row(H)), x.chosen(_row(LAST))
        lately = x.chosen(_row(COUNT + codes.LATELY))
        proposal = b.fmul(size, b.select(lately, x.smaller(one, growth), growth))
        proposal = b.select(last, x.larger(proposal, x.size(old)), proposal)
        new = b.fmul(x.spread(direction), x.smaller(x.spread(max_step), proposal))
        x.blend(mask, new, _row(H))
        turn = b.fcmp_ordered(">=", x.load(_row(COUNT + codes.ACCEPTED)), x.load(_row(COUNT + codes.LOOK)))
        never = b.fcmp_ordered("==", x.load(_row(COUNT + codes.LOOKED)), zero)
        narrow = b.fcmp_ordered("<", size, b.fmul(x.equal(MUCH_SHORTER), x.load(_row(SPACE))))
        odd = b.select(never, last, b.or_(narrow, x.chosen(_row(FURTHER_OFF))))
        look = b.and_(mask, b.or_(turn, odd))
        x.blend(look, x.equal(5.0), _row(MASK))
        return x.any(look)

    return types.boolean(_POINTER, types.float64, types.float64), generate


onwards: Callable[..., bool] = intrinsic(_onwards)
"""`onwards(m, direction, max_step)`: the sizes of the next steps. Whether the run compares inside some step: MASK is 5 there."""


def _counted(typingctx: Any, m: Any, t1: Any, nodes: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, t1, nodes = arguments
        b, x = builder, Rows(builder, base)
        mask, zero = x.chosen(_row(MASK)), x.equal(0.0)

        def add(row: int, more: Any) -> None:
            x.store(b.fadd(x.load(_row(row)), b.select(mask, more, zero)), _row(row))

        add(COUNT + codes.ACCEPTED, x.equal(1.0))
        add(COUNT + codes.EVALUATIONS, b.fadd(x.equal(12.0), x.load(_row(EXTRA))))
        add(COUNT + codes.PROJECTIONS, x.load(_row(CALLS)))
        for row in (COUNT + codes.LATELY, INACCURATE):
            x.blend(mask, zero, _row(row))
        later = x.load(_row(T_NEW))
        x.blend(mask, later, _row(T))
        x.blend(b.and_(mask, b.fcmp_ordered("!=", x.spread(nodes), zero)), x.load(_row(NEW_WORST)), _row(WORST))
        return x.any(b.and_(mask, b.fcmp_ordered("==", later, x.spread(t1))))

    return types.boolean(_POINTER, types.float64, types.float64), generate


counted: Callable[..., bool] = intrinsic(_counted)
"""`counted(m, t1, nodes)`: counts and times after accepted steps. Whether some run has reached its end."""
