"""Building blocks of a compiled loop: calls by address, and sums of rows of an array four columns at a time.

Only the compilation of a loop imports this module, and numba with it; `chetaev.numerics.machine.precompiled` loads compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

SETTINGS: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
"""A loop allocates nothing: without numba's reference-counting runtime it is 1.4 to 2.2 times faster."""
part: Any = njit(**SETTINGS)
"""Part of a loop."""
inner: Any = njit(**SETTINGS, forceinline=True)
"""Inlined part of every step: a call would pass a hundred numbers, since tuples of arrays are passed by their parts. A `part` that it calls
is inlined too."""
RARE: list[Any] = []
"""The functions that `rare` made."""


def rare(function: Callable[..., Any]) -> Any:
    """Part of a loop that few steps need, or that works long: it is called, which leaves less code to optimise in its callers."""
    RARE.append(njit(**SETTINGS, forceinline=False)(function))
    return RARE[-1]


BLOCK = 4
"""Columns that are computed together, in one, two or four vector registers. Rows of arrays are padded to multiples of it."""

_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, BLOCK)
_ZEROS = ir.Constant(_VECTOR, [0.0] * BLOCK)
_NONE = ir.Constant(ir.VectorType(ir.IntType(1), BLOCK), [0] * BLOCK)
_POINTER = types.CPointer(types.float64)


def _call_kernel(typingctx: Any, address: Any, t: Any, y: Any, p: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("y", y), ("p", p), ("out", out)):
        _check_pointer("call_kernel", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_DOUBLE, *[_DOUBLE.as_pointer()] * 3])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.intp, types.float64, _POINTER, _POINTER, _POINTER), generate


call_kernel: Callable[[int, float, Any, Any, Any], None] = intrinsic(_call_kernel)
"""`call_kernel(kernel.address, t, y.ctypes, p.ctypes, out.ctypes)` inside a function compiled by numba.

The arrays hold doubles, are contiguous and long enough, and `out` does not overlap entries that the kernel reads: none of this is checked.
The address is an argument and not part of the caller's code, so one compiled caller on disk works with every kernel.
"""


def _call_step(
    typingctx: Any, address: Any, t: Any, h: Any, relative: Any, y: Any, p: Any, k: Any, free: Any, end: Any, ends: Any, scales: Any,
    inside: Any, notes: Any, before: Any,
) -> tuple[Any, Callable[..., Any]]:  # fmt: skip
    rows = {
        "y": y, "p": p, "k": k, "free": free, "end": end, "ends": ends, "scales": scales, "inside": inside, "notes": notes,
        "before": before,
    }  # fmt: skip
    for name, kind in rows.items():
        _check_pointer("call_step", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        result = ir.LiteralStructType([ir.IntType(64), _DOUBLE])
        kind = ir.FunctionType(result, [*[_DOUBLE] * 3, *[_DOUBLE.as_pointer()] * len(rows)])
        found = builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.make_tuple(builder, signature.return_type, [builder.extract_value(found, i) for i in range(2)])

    return types.Tuple((types.int64, types.float64))(types.intp, *[types.float64] * 3, *[_POINTER] * len(rows)), generate


call_step: Callable[..., tuple[int, float]] = intrinsic(_call_step)
"""`call_step(address, t, h, relative, y, p, k, free, end, ends, scales, inside, notes, before)`, rows given by `.ctypes`: a function of
`dop853.whole_steps.step_code`, and what it returns.
"""


def _add_rows(typingctx: Any, out: Any, y: Any, h: Any, k: Any, width: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("out", out), ("y", y), ("k", k)):
        _check_pointer("add_rows", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, base, step, table, length, which = arguments
        places, weights = (cgutils.unpack_tuple(builder, pair) for pair in cgutils.unpack_tuple(builder, which))
        *older, newest = zip(places, weights, strict=True)
        last = builder.fmul(step, newest[1])
        with _columns(builder, length) as column:
            found = _load(builder, base, column)
            if older:
                total = _weighed(builder, table, length, column, older)
                found = _fused(builder, _spread(builder, step), total, found)
            _add_fresh(builder, found, last, table, builder.add(builder.mul(newest[0], length), column), target, column)
        return context.get_dummy_value()

    return types.void(_POINTER, _POINTER, types.float64, _POINTER, types.intp, rows), generate


add_rows: Callable[[Any, Any, float, Any, int, Any], None] = intrinsic(_add_rows)
r"""`add_rows(out.ctypes, y.ctypes, h, k.ctypes, width, (rows, weights))`: $out = y + h \sum_i w_i k_i$ over some rows of k.

`width` is the length of a row of k, a multiple of four, and the least length of `out` and `y`. The last row is added last, number by
number: a kernel may still be writing it, and numbers that are ready need not wait for the rest. So the sine of an angle, whose rate is
known at the beginning of a stage, is computed together with the accelerations of the previous stage.
"""


def _sum_rows(typingctx: Any, out: Any, h: Any, k: Any, width: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("out", out), ("k", k)):
        _check_pointer("sum_rows", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, step, table, length, which = arguments
        places, weights = (cgutils.unpack_tuple(builder, pair) for pair in cgutils.unpack_tuple(builder, which))
        with _columns(builder, length) as column:
            *older, (place, weight) = zip(places, weights, strict=True)
            total = _weighed(builder, table, length, column, older)
            newest = _load_fresh(builder, table, builder.add(builder.mul(place, length), column))
            total = _fused(builder, _spread(builder, weight), newest, total)
            _store(builder, builder.fmul(_spread(builder, step), total), target, column)
        return context.get_dummy_value()

    return types.void(_POINTER, types.float64, _POINTER, types.intp, rows), generate


sum_rows: Callable[[Any, float, Any, int, Any], None] = intrinsic(_sum_rows)
r"""`sum_rows(out.ctypes, h, k.ctypes, width, (rows, weights))`: $out = h \sum_i w_i k_i$, as in `add_rows`: the row named last is fresh."""


def _all_finite(typingctx: Any, x: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
    _check_pointer("all_finite", "x", x)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        fresh, length = arguments
        total = cgutils.alloca_once_value(builder, _ZEROS)
        with _columns(builder, length) as column:
            builder.store(_fused(builder, _load_fresh(builder, fresh, column), _ZEROS, builder.load(total)), total)
        return _all_zero(builder, builder.load(total))

    return types.boolean(_POINTER, types.intp), generate


all_finite: Callable[[Any, int], bool] = intrinsic(_all_finite)
"""`all_finite(x.ctypes, width)`: whether all of what a kernel has just written is finite."""


def _add_row(typingctx: Any, out: Any, y: Any, z: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("out", out), ("y", y), ("z", z)):
        _check_pointer("add_row", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, first, second, length = arguments
        finite = cgutils.alloca_once_value(builder, _ZEROS)
        with _columns(builder, length) as column:
            total = builder.fadd(_load(builder, first, column), _load(builder, second, column))
            _store(builder, total, target, column)
            builder.store(_fused(builder, total, _ZEROS, builder.load(finite)), finite)
        return _all_zero(builder, builder.load(finite))

    return types.boolean(*[_POINTER] * 3, types.intp), generate


add_row: Callable[[Any, Any, Any, int], bool] = intrinsic(_add_row)
"""`add_row(out.ctypes, y.ctypes, z.ctypes, width)`: out = y + z; whether all of it is finite."""


def _copying(load: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    def generated(typingctx: Any, x: Any, out: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
        for name, kind in (("x", x), ("out", out)):
            _check_pointer("copy_row", name, kind)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, target, length = arguments
            with _columns(builder, length) as column:
                _store(builder, load(builder, source, column), target, column)
            return context.get_dummy_value()

        return types.void(*[_POINTER] * 2, types.intp), generate

    return generated


copy_row: Callable[[Any, Any, int], None] = intrinsic(_copying(lambda *place: _load(*place)))
"""`copy_row(x.ctypes, out.ctypes, width)`: out = x."""
copy_fresh: Callable[[Any, Any, int], None] = intrinsic(_copying(lambda *place: _load_fresh(*place)))
"""`copy_fresh(x.ctypes, out.ctypes, width)`: out = x for numbers that a kernel has just written."""


def _widen_range(
    typingctx: Any, low: Any, high: Any, x: Any, bound: Any, turns: Any, turn: Any, width: Any
) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("low", low), ("high", high), ("x", x), ("bound", bound), ("turns", turns)):
        _check_pointer("widen_range", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        least, most, source, farthest, taken, turn, length = arguments
        beyond, whole = cgutils.alloca_once_value(builder, _NONE), _spread(builder, turn)
        with _columns(builder, length) as column:
            here, old = _load(builder, source, column), _load(builder, least, column)
            above = builder.fcmp_ordered(">", _size(builder, here), _load(builder, farthest, column))
            builder.store(builder.or_(builder.load(beyond), above), beyond)
            new = _fused(builder, _load(builder, taken, column), whole, here)
            _store(builder, _smaller(builder, old, new), least, column)
            _store(builder, _larger(builder, _load(builder, most, column), new), most, column)
        return _some(builder, builder.load(beyond))

    return types.boolean(*[_POINTER] * 5, types.float64, types.intp), generate


widen_range: Callable[..., bool] = intrinsic(_widen_range)
"""`widen_range(low.ctypes, high.ctypes, x.ctypes, bound.ctypes, turns.ctypes, turn, width)`: the least and the largest values of
x + turns*turn so far. Whether some |x| is above its bound.
"""


def _sum_squares(
    typingctx: Any, x: Any, other: Any, y: Any, z: Any, absolute: Any, sizes: Any, more: Any, numbers: Any, width: Any
) -> tuple[Any, Callable[..., Any]]:
    rows = {"x": x, "other": other, "y": y, "z": z, "absolute": absolute, "sizes": sizes, "more": more}
    for name, kind in rows.items():
        _check_pointer("sum_squares", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *pointers, given, length = arguments
        sums = [cgutils.alloca_once_value(builder, _ZEROS) for _ in range(2)]
        factor, weight, step, least = (_spread(builder, number) for number in cgutils.unpack_tuple(builder, given))
        with _columns(builder, length) as column:
            one, two, start, end, fixed, usual, noise = (_load(builder, pointer, column) for pointer in pointers)
            usual = _fused(builder, weight, usual, _larger(builder, _size(builder, start), _size(builder, end)))
            unit = _fused(builder, factor, usual, builder.fadd(_fused(builder, step, noise, fixed), least))
            inverse = builder.fdiv(ir.Constant(_VECTOR, [1.0] * BLOCK), unit)
            for place, row in zip(sums, (one, two), strict=True):
                ratio = builder.fmul(row, inverse)
                builder.store(_fused(builder, ratio, ratio, builder.load(place)), place)
        return context.make_tuple(builder, signature.return_type, [_total(builder, builder.load(place)) for place in sums])

    return types.UniTuple(types.float64, 2)(*[_POINTER] * 7, types.UniTuple(types.float64, 4), types.intp), generate


sum_squares: Callable[..., tuple[float, float]] = intrinsic(_sum_squares)
r"""`sum_squares(x, other, y, z, absolute, sizes, more, (relative, weight, times, tiny), width)`, rows given by `.ctypes`: the sums of
squares of `x` and of `other`, each component in units of $absolute + relative (\max(|y|, |z|) + weight\,sizes) + times\,more + tiny$.
"""


def _renew_largest(
    typingctx: Any, largest: Any, sizes: Any, given: Any, among: Any, y: Any, numbers: Any, width: Any
) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("largest", largest), ("sizes", sizes), ("given", given), ("among", among), ("y", y)):
        _check_pointer("renew_largest", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        highest, usual, known, others, state, numbers, length = arguments
        memory, least, much = (_spread(builder, number) for number in cgutils.unpack_tuple(builder, numbers))
        grew = cgutils.alloca_once_value(builder, _NONE)
        with _columns(builder, length) as column:
            size, old, last = _size(builder, _load(builder, state, column)), _load(builder, highest, column), _load(builder, usual, column)
            above = builder.fcmp_ordered(">", size, builder.fmul(much, _load(builder, others, column)))
            builder.store(builder.or_(builder.load(grew), above), grew)
            new = _larger(builder, old, size)
            _store(builder, new, highest, column)
            faded = _larger(builder, builder.fmul(memory, last), builder.fmul(least, new))
            own = builder.fcmp_ordered("<", _load(builder, known, column), _ZEROS)
            _store(builder, builder.select(own, _larger(builder, faded, size), last), usual, column)
        return _some(builder, builder.load(grew))

    return types.boolean(*[_POINTER] * 5, types.UniTuple(types.float64, 3), types.intp), generate


renew_largest: Callable[..., bool] = intrinsic(_renew_largest)
"""`renew_largest(largest, sizes, given, among, y, (memory, least, much), width)`, rows given by `.ctypes`: the largest absolute values so
far; and where `given` is negative the sizes, which become the absolute value, `memory` times what they were, or `least` times the largest,
whichever is largest. Whether an absolute value is above `much` times its entry of `among`.
"""


def _sum_relative(typingctx: Any, x: Any, y: Any, sizes: Any, tiny: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("x", x), ("y", y), ("sizes", sizes)):
        _check_pointer("sum_relative", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        fresh, known, usual, least, length = arguments
        total = cgutils.alloca_once_value(builder, _ZEROS)
        with _columns(builder, length) as column:
            old = _load(builder, known, column)
            unit = builder.fadd(builder.fadd(_size(builder, old), _load(builder, usual, column)), _spread(builder, least))
            ratio = builder.fdiv(builder.fsub(_load_fresh(builder, fresh, column), old), unit)
            builder.store(_fused(builder, ratio, ratio, builder.load(total)), total)
        return _total(builder, builder.load(total))

    return types.float64(*[_POINTER] * 3, types.float64, types.intp), generate


sum_relative: Callable[..., float] = intrinsic(_sum_relative)
"""`sum_relative(x.ctypes, y.ctypes, sizes.ctypes, tiny, width)`: the sum of squares of x - y in units of |y| + sizes + tiny. A kernel has
just written x.
"""


def _reach_columns(
    typingctx: Any, out: Any, y: Any, end: Any, free: Any, slope: Any, k: Any, h: Any, slack: Any, width: Any, rows: Any, first: Any
) -> tuple[Any, Callable[..., Any]]:
    for name, kind in {"out": out, "y": y, "end": end, "free": free, "slope": slope, "k": k}.items():
        _check_pointer("reach_columns", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, *pointers, table, h, slack, length, count, column = arguments
        step, wider = _spread(builder, h), _spread(builder, slack)
        slow, fast = (cgutils.alloca_once(builder, _VECTOR) for _ in range(2))
        start, end, free = (_load(builder, pointer, column) for pointer in pointers[:3])
        last = _load_fresh(builder, pointers[3], column)
        builder.store(last, slow)
        builder.store(last, fast)
        with cgutils.for_range(builder, count) as loop:
            rate = _load(builder, table, builder.add(builder.mul(loop.index, length), column))
            builder.store(_smaller(builder, builder.load(slow), rate), slow)
            builder.store(_larger(builder, builder.load(fast), rate), fast)
        least, most = builder.load(slow), builder.load(fast)
        moved = [builder.fmul(step, rate) for rate in (least, most)]
        down, up = _smaller(builder, _ZEROS, _smaller(builder, *moved)), _larger(builder, _ZEROS, _larger(builder, *moved))
        low = _larger(builder, builder.fadd(start, down), builder.fsub(end, up))
        high = _smaller(builder, builder.fadd(start, up), builder.fsub(end, down))
        turns = builder.and_(builder.fcmp_ordered("<", down, _ZEROS), builder.fcmp_ordered(">", up, _ZEROS))
        more = builder.select(turns, builder.fmul(wider, builder.fsub(high, low)), _ZEROS)
        more = builder.fadd(more, _size(builder, builder.fsub(end, free)))
        width = builder.fmul(wider, builder.fsub(most, least))
        found = [
            _smaller(builder, builder.fsub(low, more), _smaller(builder, start, end)),
            _larger(builder, builder.fadd(high, more), _larger(builder, start, end)),
            builder.fsub(least, width),
            builder.fadd(most, width),
        ]
        for i, row in enumerate(found):
            _store(builder, row, target, builder.add(builder.mul(length, length.type(i)), column))
        return context.get_dummy_value()

    return types.void(*[_POINTER] * 6, types.float64, types.float64, types.intp, types.intp, types.intp), generate


reach_columns: Callable[..., None] = intrinsic(_reach_columns)
"""`reach_columns(out, y, end, free, slope, k, h, slack, width, rows, first)`, rows given by `.ctypes`: what can be reached in a step of
size h from either end, y or `end`, with rates between those in the first rows of k and the slope: four rows, the least and the largest
states, then the least and the largest rates, in `BLOCK` columns from the column `first` on. States that turn back on the way, and rates,
are given `slack` times their range on both sides; `free` is the end before it was projected, and the distance is added.
"""


@contextmanager
def _columns(builder: Any, length: Any) -> Iterator[Any]:
    """A loop over the columns of a row, four at a time."""
    with cgutils.for_range(builder, builder.udiv(length, length.type(BLOCK))) as loop:
        yield builder.mul(loop.index, length.type(BLOCK))


def _all_zero(builder: Any, vector: Any) -> Any:
    """Whether all numbers of a vector are zero."""
    flags = builder.bitcast(builder.fcmp_ordered("==", vector, _ZEROS), ir.IntType(BLOCK))
    return builder.icmp_unsigned("==", flags, flags.type(2**BLOCK - 1))


def _some(builder: Any, bits: Any) -> Any:
    """Whether some bit is set."""
    flags = builder.bitcast(bits, ir.IntType(BLOCK))
    return builder.icmp_unsigned("!=", flags, flags.type(0))


def _size(builder: Any, vector: Any) -> Any:
    """Absolute values."""
    name = f"llvm.fabs.v{BLOCK}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), name), [vector])


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", b, a), b, a)


def _total(builder: Any, vector: Any) -> Any:
    """The sum of the numbers of a vector."""
    numbers = [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(BLOCK)]
    return builder.fadd(builder.fadd(numbers[0], numbers[2]), builder.fadd(numbers[1], numbers[3]))


def _check_pointer(function: str, name: str, kind: Any) -> None:
    if kind != _POINTER and not (isinstance(kind, types.ArrayCTypes) and kind.dtype == types.float64):
        raise TypingError(f"{function} takes {name}.ctypes of an array of float64 as {name}, not {kind}")


def _weighed(builder: Any, table: Any, length: Any, column: Any, terms: list[tuple[Any, Any]]) -> Any:
    """Weights times rows, four columns of it."""
    total = None
    for place, weight in terms:
        row = _load(builder, table, builder.add(builder.mul(place, length), column))
        spread = _spread(builder, weight)
        total = builder.fmul(spread, row) if total is None else _fused(builder, spread, row, total)
    return total


def _spread(builder: Any, number: Any) -> Any:
    """Return a vector with one number in all places."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK))


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a*b + c, rounded once where the processor can."""
    name = "f64" if a.type == _DOUBLE else f"v{BLOCK}f64"
    kind = ir.FunctionType(a.type, [a.type] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.{name}"), [a, b, c])


def _load(builder: Any, pointer: Any, place: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(pointer, [place]), _VECTOR.as_pointer()), align=8)


def _load_fresh(builder: Any, pointer: Any, place: Any) -> Any:
    """Four numbers that a kernel has just written, in the portions in which it wrote them: see `_add_fresh`."""
    found = ir.Constant(_VECTOR, ir.Undefined)
    for i in range(BLOCK):
        number = builder.load_atomic(builder.gep(pointer, [builder.add(place, place.type(i))]), "unordered", 8)
        found = builder.insert_element(found, number, ir.Constant(ir.IntType(32), i))
    return found


def _add_fresh(builder: Any, found: Any, weight: Any, pointer: Any, place: Any, target: Any, column: Any) -> None:
    """Add four numbers that a kernel has just written, times a weight, to others one by one, and store the sums. A processor forwards a
    store to a load of the same size at once, and to a wider load only after it has reached memory. `unordered` keeps LLVM from merging the
    loads.
    """
    for i in range(BLOCK):
        number = builder.load_atomic(builder.gep(pointer, [builder.add(place, place.type(i))]), "unordered", 8)
        old = builder.extract_element(found, ir.Constant(ir.IntType(32), i))
        at = builder.gep(target, [builder.add(column, column.type(i))])
        builder.store_atomic(_fused(builder, weight, number, old), at, "unordered", 8)


def _store(builder: Any, vector: Any, pointer: Any, place: Any) -> None:
    builder.store(vector, builder.bitcast(builder.gep(pointer, [place]), _VECTOR.as_pointer()), align=8)
