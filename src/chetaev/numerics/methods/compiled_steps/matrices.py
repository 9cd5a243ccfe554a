"""Linear systems of a few unknowns: factors with partial pivoting, real ones and complex ones in two parts."""

from __future__ import annotations

from chetaev.numerics.machine.native import part
from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix


@part
def factor(a: Matrix, pivots: Integers) -> bool:
    """Factor a matrix in place; whether it has no pivot of zero."""
    n = a.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        pivots[k] = best
        if not abs(a[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, n):
            a[i, k] *= inverse
            if a[i, k] != 0.0:
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]
    return True


@part
def solve(a: Matrix, pivots: Integers, x: Array) -> None:
    """Solve with the factors, in place."""
    n = a.shape[0]
    for k in range(n):
        best = pivots[k]
        x[k], x[best] = x[best], x[k]
    for i in range(n):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]


@part
def factor_complex(a: Matrix, b: Matrix, pivots: Integers) -> bool:
    """Factor the matrix a + ib in place; whether it has no pivot of zero."""
    n = a.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) + abs(b[i, k]) > abs(a[best, k]) + abs(b[best, k]):
                best = i
        pivots[k] = best
        size = a[best, k] * a[best, k] + b[best, k] * b[best, k]
        if not size > 0.0:
            return False
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
                b[k, j], b[best, j] = b[best, j], b[k, j]
        real, imaginary = a[k, k] / size, -b[k, k] / size
        for i in range(k + 1, n):
            p = a[i, k] * real - b[i, k] * imaginary
            q = a[i, k] * imaginary + b[i, k] * real
            a[i, k], b[i, k] = p, q
            if p != 0.0 or q != 0.0:
                for j in range(k + 1, n):
                    a[i, j] -= p * a[k, j] - q * b[k, j]
                    b[i, j] -= p * b[k, j] + q * a[k, j]
    return True


@part
def solve_complex(a: Matrix, b: Matrix, pivots: Integers, x: Array, y: Array) -> None:
    """Solve for x + iy with the factors, in place."""
    n = a.shape[0]
    for k in range(n):
        best = pivots[k]
        x[k], x[best] = x[best], x[k]
        y[k], y[best] = y[best], y[k]
    for i in range(n):
        for j in range(i):
            x[i] -= a[i, j] * x[j] - b[i, j] * y[j]
            y[i] -= a[i, j] * y[j] + b[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= a[i, j] * x[j] - b[i, j] * y[j]
            y[i] -= a[i, j] * y[j] + b[i, j] * x[j]
        size = a[i, i] * a[i, i] + b[i, i] * b[i, i]
        real, imaginary = x[i], y[i]
        x[i] = (real * a[i, i] + imaginary * b[i, i]) / size
        y[i] = (imaginary * a[i, i] - real * b[i, i]) / size
