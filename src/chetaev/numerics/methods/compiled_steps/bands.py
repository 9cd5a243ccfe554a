"""Linear systems whose matrix has entries near its diagonal only: factors with partial pivoting, real ones and complex ones in two parts.

Row i holds the columns from i - lower to i + upper + lower, from left to right: an exchange of rows fills up to `lower` columns more. The
work grows with the number of unknowns times the square of the width, which `methods.implicit` makes small by its order of the unknowns.
"""

from __future__ import annotations

from chetaev.numerics.machine.native import part
from chetaev.numerics.methods.compiled_steps.vectors import subtract_multiple
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix


@part
def factor_band(a: Matrix, lower: int, pivots: Integers) -> bool:
    """Factor a matrix in place, with inverses of its pivots; whether no pivot is zero."""
    n, reach = a.shape[0], a.shape[1] - lower
    for k in range(n):
        below, best = min(n, k + lower + 1), k
        for i in range(k + 1, below):
            if abs(a[i, k - i + lower]) > abs(a[best, k - best + lower]):
                best = i
        pivots[k] = best
        if not abs(a[best, k - best + lower]) > 0.0:
            return False
        _exchange(a, lower, k, best)
        inverse, count = 1.0 / a[k, lower], min(reach, n - k) - 1
        a[k, lower] = inverse
        for i in range(k + 1, below):
            first = k - i + lower
            a[i, first] *= inverse
            if a[i, first] != 0.0:
                subtract_multiple(a[i, first + 1 :].ctypes, a[k, lower + 1 :].ctypes, a[i, first], count)
    return True


@part
def _exchange(a: Matrix, lower: int, k: int, best: int) -> None:
    """Exchange two rows from the column k on."""
    if best != k:
        for column in range(k, min(a.shape[0], k + a.shape[1] - lower)):
            one, other = column - k + lower, column - best + lower
            a[k, one], a[best, other] = a[best, other], a[k, one]


@part
def solve_band(a: Matrix, lower: int, pivots: Integers, x: Array) -> None:
    """Solve with the factors, in place; each number waits for the one before, and that one is added last."""
    n, reach = a.shape[0], a.shape[1] - lower
    for k in range(n):
        best = pivots[k]
        found = x[best]
        if best != k:
            x[best], x[k] = x[k], found
        for i in range(k + 1, min(n, k + lower + 1)):
            x[i] -= a[i, k - i + lower] * found
    for i in range(n - 1, -1, -1):
        found = x[i]
        for j in range(min(reach, n - i) - 1, 0, -1):
            found -= a[i, lower + j] * x[i + j]
        x[i] = found * a[i, lower]


@part
def factor_complex_band(a: Matrix, b: Matrix, lower: int, pivots: Integers) -> bool:
    """Factor the matrix a + ib in place, with inverses of its pivots; whether no pivot is zero."""
    n, reach = a.shape[0], a.shape[1] - lower
    for k in range(n):
        below, best, largest = min(n, k + lower + 1), k, 0.0
        for i in range(k, below):
            size = abs(a[i, k - i + lower]) + abs(b[i, k - i + lower])
            if size > largest:
                best, largest = i, size
        pivots[k] = best
        _exchange(a, lower, k, best)
        _exchange(b, lower, k, best)
        size = a[k, lower] * a[k, lower] + b[k, lower] * b[k, lower]
        if not size > 0.0:
            return False
        real, imaginary, count = a[k, lower] / size, -b[k, lower] / size, min(reach, n - k) - 1
        a[k, lower], b[k, lower] = real, imaginary
        for i in range(k + 1, below):
            first = k - i + lower
            p = a[i, first] * real - b[i, first] * imaginary
            q = a[i, first] * imaginary + b[i, first] * real
            a[i, first], b[i, first] = p, q
            if p != 0.0 or q != 0.0:
                subtract_multiple(a[i, first + 1 :].ctypes, a[k, lower + 1 :].ctypes, p, count)
                subtract_multiple(a[i, first + 1 :].ctypes, b[k, lower + 1 :].ctypes, -q, count)
                subtract_multiple(b[i, first + 1 :].ctypes, b[k, lower + 1 :].ctypes, p, count)
                subtract_multiple(b[i, first + 1 :].ctypes, a[k, lower + 1 :].ctypes, q, count)
    return True


@part
def solve_complex_band(a: Matrix, b: Matrix, lower: int, pivots: Integers, x: Array, y: Array) -> None:
    """Solve for x + iy with the factors, in place."""
    n, reach = a.shape[0], a.shape[1] - lower
    for k in range(n):
        best = pivots[k]
        real, imaginary = x[best], y[best]
        if best != k:
            x[best], x[k] = x[k], real
            y[best], y[k] = y[k], imaginary
        for i in range(k + 1, min(n, k + lower + 1)):
            p, q = a[i, k - i + lower], b[i, k - i + lower]
            x[i] -= p * real - q * imaginary
            y[i] -= p * imaginary + q * real
    for i in range(n - 1, -1, -1):
        real, imaginary = x[i], y[i]
        for j in range(min(reach, n - i) - 1, 0, -1):
            p, q = a[i, lower + j], b[i, lower + j]
            real -= p * x[i + j] - q * y[i + j]
            imaginary -= p * y[i + j] + q * x[i + j]
        p, q = a[i, lower], b[i, lower]
        x[i], y[i] = real * p - imaginary * q, real * q + imaginary * p
