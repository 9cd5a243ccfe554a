"""What the parts of a compiled loop are written with: calls by address, and sums of rows of an array four columns at a time.

Only whoever compiles a loop imports this, and numba with it; `chetaev.numerics.precompiled` loads what was compiled before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

SETTINGS: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
"""Nothing is allocated in a loop: without the runtime that counts references it is 1.4 to 2.2 times faster."""
part: Any = njit(**SETTINGS)
"""Part of a loop."""
inner: Any = njit(**SETTINGS, forceinline=True)
"""Part of every step: as a call it would be passed a hundred numbers, since tuples of arrays are passed by their parts."""

BLOCK = 4
"""Columns that are computed together: what vector registers hold, or two or four of them."""

_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, BLOCK)
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

The arrays hold doubles, are contiguous and long enough, and `out` overlaps nothing that the kernel reads: none of this is checked. The
address is an argument and not part of the caller's code, so the caller can be kept on disk and serves every kernel.
"""


def _add_rows(typingctx: Any, out: Any, y: Any, h: Any, k: Any, width: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("out", out), ("y", y), ("k", k)):
        _check_pointer("add_rows", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, base, step, table, length, which = arguments
        places, weights = (cgutils.unpack_tuple(builder, pair) for pair in cgutils.unpack_tuple(builder, which))
        *older, newest = zip(places, weights, strict=True)
        last = builder.fmul(step, newest[1])
        with cgutils.for_range(builder, builder.udiv(length, length.type(BLOCK))) as loop:
            column = builder.mul(loop.index, length.type(BLOCK))
            found = _load(builder, base, column)
            if older:
                total = _weighed(builder, table, length, column, older)
                found = _fused(builder, _spread(builder, step), total, found)
            _add_fresh(builder, found, last, table, builder.add(builder.mul(newest[0], length), column), target, column)
        return context.get_dummy_value()

    return types.void(_POINTER, _POINTER, types.float64, _POINTER, types.intp, rows), generate


add_rows: Callable[[Any, Any, float, Any, int, Any], None] = intrinsic(_add_rows)
r"""`add_rows(out.ctypes, y.ctypes, h, k.ctypes, width, (rows, weights))`: $out = y + h \sum_i w_i k_i$ over some rows of k.

`width` is the length of a row of k, a multiple of four, and the room that `out` and `y` have at least. The row named last enters last,
number by number: it is being computed, and what is there already need not wait for the rest. So the sine of an angle, which moves with a
rate known from the beginning of a stage, is computed together with the accelerations of the stage before.
"""


def _sum_rows(typingctx: Any, out: Any, h: Any, k: Any, width: Any, rows: Any) -> tuple[Any, Callable[..., Any]]:
    for name, kind in (("out", out), ("k", k)):
        _check_pointer("sum_rows", name, kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, step, table, length, which = arguments
        places, weights = (cgutils.unpack_tuple(builder, pair) for pair in cgutils.unpack_tuple(builder, which))
        with cgutils.for_range(builder, builder.udiv(length, length.type(BLOCK))) as loop:
            column = builder.mul(loop.index, length.type(BLOCK))
            total = _weighed(builder, table, length, column, list(zip(places, weights, strict=True)))
            _store(builder, builder.fmul(_spread(builder, step), total), target, column)
        return context.get_dummy_value()

    return types.void(_POINTER, types.float64, _POINTER, types.intp, rows), generate


sum_rows: Callable[[Any, float, Any, int, Any], None] = intrinsic(_sum_rows)
r"""`sum_rows(out.ctypes, h, k.ctypes, width, (rows, weights))`: $out = h \sum_i w_i k_i$, as in `add_rows`."""


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
    """A number in all places of a vector."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK))


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a*b + c, rounded once where the processor can."""
    name = "f64" if a.type == _DOUBLE else f"v{BLOCK}f64"
    kind = ir.FunctionType(a.type, [a.type] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.{name}"), [a, b, c])


def _load(builder: Any, pointer: Any, place: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(pointer, [place]), _VECTOR.as_pointer()), align=8)


def _add_fresh(builder: Any, found: Any, weight: Any, pointer: Any, place: Any, target: Any, column: Any) -> None:
    """Four numbers that a kernel has just written, times a weight, added to others one by one, and stored. A processor hands what was
    written on at once in the same portions, and in larger ones only after it has reached memory. `unordered` keeps LLVM from putting them
    together.
    """
    for i in range(BLOCK):
        number = builder.load_atomic(builder.gep(pointer, [builder.add(place, place.type(i))]), "unordered", 8)
        old = builder.extract_element(found, ir.Constant(ir.IntType(32), i))
        at = builder.gep(target, [builder.add(column, column.type(i))])
        builder.store_atomic(_fused(builder, weight, number, old), at, "unordered", 8)


def _store(builder: Any, vector: Any, pointer: Any, place: Any) -> None:
    builder.store(vector, builder.bitcast(builder.gep(pointer, [place]), _VECTOR.as_pointer()), align=8)
