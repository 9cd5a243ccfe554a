"""Rough logarithms and powers of two, in line, for the length of a step: a call of the mathematical library makes every register wait in
memory, and three of them took a tenth of a step. Their values are the same on all systems.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from chetaev.numerics.machine.native import inner

_DIGITS, _BIAS = 52, 1023
"""Binary digits of a double after the first one, and what is added to its exponent where it is stored."""
_MOST = 1000.0
"""Largest exponent of two that is raised: 2^1024 is no double."""
_NEAREST = 1.5 * 2.0**_DIGITS
"""A number beside which doubles are whole numbers: a sum with it ends with the bits of the nearest one."""
_ONE = _BIAS << _DIGITS
"""The bits of 1."""
_FRACTION = (1 << _DIGITS) - 1
"""A mask for the digits after the first one."""


def _bits_of(typingctx: Any, x: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _with_bits(typingctx: Any, bits: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


bits_of: Callable[[float], int] = intrinsic(_bits_of)
"""The bits of a double as a number."""
with_bits: Callable[[int], float] = intrinsic(_with_bits)
"""The double with these bits."""


@inner
def rough_logarithm(x: float) -> float:
    """The logarithm of a positive number to the base two, to 1e-3: a polynomial of degree 3 between two powers of two."""
    bits = bits_of(x)
    m = with_bits((bits & _FRACTION) | _ONE)
    return (((bits >> _DIGITS) - _BIAS) + (3.02947821 * m - 2.14494063)) + (m * m) * (0.15544586 * m - 1.03925816)


@inner
def rough_power(x: float) -> float:
    """Two to a power between -1000 and 1000, to 1e-4 of it; powers beyond are taken for these."""
    x = min(max(x, -_MOST), _MOST)
    shifted = x + _NEAREST
    part = x - (shifted - _NEAREST)
    found = (0.69312103 * part + 0.99992448) + (part * part) * (0.05592204 * part + 0.24264008)
    return found * with_bits((bits_of(shifted) + _BIAS) << _DIGITS)
