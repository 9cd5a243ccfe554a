r"""Code that is run with all its operations rounded up, and then down: what the results differ by is round-off.

Unlike a bound of the error the difference is about as large as the error itself, and it takes no other code than that which is judged. The
difference $1 - \cos x$ at $x = 10^{-9}$, which is zero in doubles, becomes $10^{-16}$ when the cosine is rounded down, and a quotient by
$x^2$ shows that it has no correct digit (J. Vignes, A stochastic arithmetic for reliable scientific computation, Math. Comput. Simulation
35 (1993) 233). Functions of the mathematical library may round as always.

A compiled loop calls code by its address: so there is a stock of entry functions, as in `interpreter`, each of which calls the code whose
address stands in its line of a table.
"""

from __future__ import annotations

import threading

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.machine.interpreter import SIGNATURE, addresses_of

_STOCK = 16
"""Entry functions that are compiled together; a smaller number compiles more often."""
_OLDEST = 18
"""The first version of LLVM that sets the direction of rounding on all kinds of machine."""
AVAILABLE = llvm.llvm_version_info[0] >= _OLDEST
"""Whether code can be run with another direction of rounding."""
_NEAREST, _UP, _DOWN = 1, 2, 3
"""Directions of rounding, in LLVM's numbers."""

_LOCK = threading.Lock()
_ENTRIES: dict[tuple[int, int], int] = {}
_FREE: list[tuple[int, NDArray[np.int64]]] = []
_TABLES: list[NDArray[np.int64]] = []
"""Where the entries look; they are kept as long as the process, like all code."""


def directed(address: int, size: int) -> int:
    """The address of code that stores `size` results of the code at an address rounded up, and behind them the same rounded down; 0 if this
    LLVM cannot make it.
    """
    if not AVAILABLE:
        return 0
    with _LOCK:
        if (address, size) not in _ENTRIES:
            if not _FREE:
                _FREE.extend(_made())
            entry, line = _FREE.pop()
            line[:] = address, size
            _ENTRIES[address, size] = entry
        return _ENTRIES[address, size]


def _made() -> list[tuple[int, NDArray[np.int64]]]:
    """New entry functions, each with its line of a table: the address of code, and the number of its results."""
    table = np.zeros((_STOCK, 2), np.int64)
    _TABLES.append(table)
    entries = {
        f"directed{k}": f"""define internal void @directed{k}({SIGNATURE}) nounwind {{
%code = load ptr, ptr inttoptr (i64 {line.ctypes.data} to ptr)
%size = load i64, ptr inttoptr (i64 {line.ctypes.data + 8} to ptr)
%second = getelementptr double, ptr %out, i64 %size
call void @llvm.set.rounding(i32 {_UP})
call void %code(double %t, ptr %y, ptr %p, ptr %out)
call void @llvm.set.rounding(i32 {_DOWN})
call void %code(double %t, ptr %y, ptr %p, ptr %second)
call void @llvm.set.rounding(i32 {_NEAREST})
ret void
}}"""
        for k, line in enumerate(table)
    }
    return list(zip(addresses_of(entries, ["declare void @llvm.set.rounding(i32)"]), table, strict=True))
