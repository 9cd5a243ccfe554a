"""Rough logarithms and powers of two, in line, for the length of a step: a call of the mathematical library makes every register wait in
memory, and three of them took a tenth of a step. Their values are the same on all systems.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from chetaev.numerics.machine.native import inner

_DIGITS, _BIAS = 52, 1023
"""Binary digits of a double after the first one, and what is added to its exponent where it is stored."""
_MOST = 1000.0
"""Largest exponent of two that is raised: 2^1024 is no double."""
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
    """The logarithm of a positive number to the base two, to 2e-5: a polynomial of degree 5 between two powers of two."""
    bits = bits_of(x)
    m = with_bits((bits & _FRACTION) | _ONE)
    high = (0.04392863 * m - 0.40947559) * m + 1.61017755
    return ((bits >> _DIGITS) - _BIAS) + (((high * m - 3.52021884) * m + 5.06975632) * m - 2.79415368)


@inner
def rough_power(x: float) -> float:
    """Two to a power between -1000 and 1000, to 2e-7 of it; powers beyond are taken for these."""
    x = min(max(x, -_MOST), _MOST)
    whole = floor(x)
    part = x - whole
    high = (0.00189511 * part + 0.00894621) * part + 0.05586328
    found = ((high * part + 0.24014077) * part + 0.69315462) * part + 0.9999999
    return found * with_bits((int(whole) + _BIAS) << _DIGITS)
