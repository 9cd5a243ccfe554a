"""Sums over the coefficients of a component and powers of a place, four at a time: rows have room up to a multiple of four.

A loop over sixteen numbers waits four cycles for each sum; LLVM leaves loops as they are here (`chetaev.numerics.machine.compiling`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chetaev.numerics.machine.native import BLOCK

_DOUBLE, _INTEGER = ir.DoubleType(), ir.IntType(64)
_VECTOR, _PLACES = ir.VectorType(_DOUBLE, BLOCK), ir.VectorType(_INTEGER, BLOCK)
_ZEROS = ir.Constant(_VECTOR, [0.0] * BLOCK)
_POINTER = types.CPointer(types.float64)


def _sum_products(typingctx: Any, a: Any, b: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second, length = arguments
        total = cgutils.alloca_once_value(builder, _ZEROS)
        with _blocks(builder, length) as place:
            one, other = _load(builder, first, place), _load(builder, second, place)
            builder.store(_fused(builder, one, other, builder.load(total)), total)
        return _total(builder, builder.load(total))

    return types.float64(_POINTER, _POINTER, types.intp), generate


sum_products: Callable[[Any, Any, int], float] = intrinsic(_sum_products)
"""`sum_products(a.ctypes, b.ctypes, width)`: the sum of the products of two rows."""


def _three_sums(typingctx: Any, a: Any, weights: Any, width: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, table, length, which = arguments
        starts = [builder.mul(row, length) for row in cgutils.unpack_tuple(builder, which)]
        totals = [cgutils.alloca_once_value(builder, _ZEROS) for _ in starts]
        with _blocks(builder, length) as place:
            number = _load(builder, first, place)
            for start, total in zip(starts, totals, strict=True):
                weight = _load(builder, table, builder.add(start, place))
                builder.store(_fused(builder, number, weight, builder.load(total)), total)
        found = [_total(builder, builder.load(total)) for total in totals]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(types.float64, 3)(_POINTER, _POINTER, types.intp, types.UniTuple(types.intp, 3)), generate


three_sums: Callable[[Any, Any, int, tuple[int, int, int]], tuple[float, float, float]] = intrinsic(_three_sums)
"""`three_sums(a.ctypes, weights.ctypes, width, (i, j, k))`: the sums of the products of a row with three rows of weights."""


def _scale_and_sum(typingctx: Any, a: Any, b: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second, length = arguments
        total = cgutils.alloca_once_value(builder, _ZEROS)
        with _blocks(builder, length) as place:
            product = builder.fmul(_load(builder, first, place), _load(builder, second, place))
            _store(builder, product, first, place)
            builder.store(builder.fadd(builder.load(total), product), total)
        return _total(builder, builder.load(total))

    return types.float64(_POINTER, _POINTER, types.intp), generate


scale_and_sum: Callable[[Any, Any, int], float] = intrinsic(_scale_and_sum)
"""`scale_and_sum(a.ctypes, b.ctypes, width)`: a *= b; the sum of what comes of it."""


def _fill_powers(typingctx: Any, out: Any, start: Any, x: Any, count: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, first, factor, known, length = arguments
        square = builder.fmul(factor, factor)
        numbers = [first, builder.fmul(first, factor), builder.fmul(first, square)]
        numbers.append(builder.fmul(numbers[1], square))
        begun = _ZEROS
        for i, number in enumerate(numbers):
            begun = builder.insert_element(begun, number, ir.Constant(ir.IntType(32), i))
        powers = cgutils.alloca_once_value(builder, begun)
        ahead, end = _spread(builder, builder.fmul(square, square)), _spread(builder, known)
        with _blocks(builder, length) as place:
            found = builder.load(powers)
            places = builder.add(_spread(builder, place), ir.Constant(_PLACES, list(range(BLOCK))))
            wanted = builder.icmp_signed("<", places, end)
            _store(builder, builder.select(wanted, found, _ZEROS), target, place)
            builder.store(builder.fmul(found, ahead), powers)
        return context.get_dummy_value()

    return types.void(_POINTER, types.float64, types.float64, types.intp, types.intp), generate


fill_powers: Callable[[Any, float, float, int, int], None] = intrinsic(_fill_powers)
r"""`fill_powers(out.ctypes, start, x, count, width)`: $out_k = start\,x^k$, zeros from `count` on: a higher power may be infinite."""


def _multiply(typingctx: Any, a: Any, b: Any, width: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second, length = arguments
        with _blocks(builder, length) as place:
            _store(builder, builder.fmul(_load(builder, first, place), _load(builder, second, place)), first, place)
        return context.get_dummy_value()

    return types.void(_POINTER, _POINTER, types.intp), generate


multiply: Callable[[Any, Any, int], None] = intrinsic(_multiply)
"""`multiply(a.ctypes, b.ctypes, width)`: a *= b."""


def _subtract_multiple(typingctx: Any, x: Any, y: Any, factor: Any, count: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, number, length = arguments
        factors = _spread(builder, number)
        with _blocks(builder, length) as place:
            product = builder.fmul(factors, _load(builder, source, place))
            _store(builder, builder.fsub(_load(builder, target, place), product), target, place)
        rest = builder.and_(length, length.type(BLOCK - 1))
        done = builder.sub(length, rest)
        with cgutils.for_range(builder, rest) as loop:
            place = builder.add(done, loop.index)
            at, old = builder.gep(target, [place]), builder.load(builder.gep(source, [place]))
            builder.store(builder.fsub(builder.load(at), builder.fmul(number, old)), at)
        return context.get_dummy_value()

    return types.void(_POINTER, _POINTER, types.float64, types.intp), generate


subtract_multiple: Callable[[Any, Any, float, int], None] = intrinsic(_subtract_multiple)
"""`subtract_multiple(x.ctypes, y.ctypes, factor, count)`: x -= factor y, for any number of entries."""


@contextmanager
def _blocks(builder: Any, length: Any) -> Iterator[Any]:
    """A loop over the places 0, 4, 8, ... of a row."""
    with cgutils.for_range(builder, builder.udiv(length, length.type(BLOCK))) as loop:
        yield builder.mul(loop.index, length.type(BLOCK))


def _load(builder: Any, pointer: Any, place: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(pointer, [place]), _VECTOR.as_pointer()), align=8)


def _store(builder: Any, vector: Any, pointer: Any, place: Any) -> None:
    builder.store(vector, builder.bitcast(builder.gep(pointer, [place]), _VECTOR.as_pointer()), align=8)


def _spread(builder: Any, number: Any) -> Any:
    """A vector with one number in all places."""
    kind = ir.VectorType(number.type, BLOCK)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK))


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a*b + c, rounded once where the processor can."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{BLOCK}f64"), [a, b, c])


def _total(builder: Any, vector: Any) -> Any:
    """The sum of the numbers of a vector."""
    numbers = [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(BLOCK)]
    return builder.fadd(builder.fadd(numbers[0], numbers[2]), builder.fadd(numbers[1], numbers[3]))
