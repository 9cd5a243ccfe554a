"""How a loop compiled by numba calls machine code by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic


def _call_kernel(typingctx: Any, address: Any, t: Any, y: Any, p: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    pointer = types.CPointer(types.float64)
    for name, kind in (("y", y), ("p", p), ("out", out)):
        if kind != pointer and not (isinstance(kind, types.ArrayCTypes) and kind.dtype == types.float64):
            raise TypingError(f"call_kernel takes {name}.ctypes of an array of float64 as {name}, not {kind}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        kind = ir.FunctionType(ir.VoidType(), [double, *[double.as_pointer()] * 3])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.intp, types.float64, pointer, pointer, pointer), generate


call_kernel: Callable[[int, float, Any, Any, Any], None] = intrinsic(_call_kernel)
"""`call_kernel(kernel.address, t, y.ctypes, p.ctypes, out.ctypes)` inside a function compiled by numba.

The arrays hold doubles, are contiguous and long enough, and `out` overlaps nothing that the kernel reads: none of this is checked. The
address is an argument and not part of the caller's code, so the caller can be cached on disk and serves every kernel.
"""
