"""Programs in pairs of doubles, whose sum has 31 digits, with a bound of the error of every value.

A value stands in a row: the larger number of the pair, the smaller one, and the bound. Sums, products and quotients are those of Joldes,
Muller and Popescu (2017), whose relative errors are at most 3, 7 and 16 squares of the unit roundoff 2^-53; `UNIT` covers all of them.
Bounds are computed in doubles and enlarged by `MORE` in each operation, which covers their own rounding. A bound that is infinite, or not
a number, says nothing: so it is where a number is too large or too small for these algorithms.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.machine.native import inner
from chetaev.numerics.machine.two_doubles.codes import (
    ADD,
    ASSIGN,
    COS,
    DIVIDE,
    INPUT,
    MULTIPLY,
    NEGATE,
    NUMBER,
    SIN,
    SQRT,
    SUBTRACT,
    TERMS,
    Array,
    Matrix,
    Table,
)

UNIT = 16.0 * 2.0**-106
"""Largest relative error of an operation."""
MORE = 1.0 + 2.0**-48
"""Enlarges a bound by more than the rounding errors of its computation."""
LEAST = 1.0 - 2.0**-52
"""The larger number of a pair times this is smaller than the sum of both."""
SMALLEST = 1e-250
"""Smaller numbers lose digits by underflow."""
UNDERFLOW = 1e-290
"""Largest absolute error of a product by underflow."""
CIRCLE = 2.0**-99
"""Largest error of sine, relative to its argument, and of cosine, between -pi/4 and pi/4: 21 squares of the unit roundoff by Horner's
scheme, and 2^-112 by the terms that are left out."""
REDUCTION = 2.0**-100
"""Largest error of an argument by subtraction of quarters of a circle."""
MOST_QUARTERS = 2.0**20
"""Most quarters of a circle in an argument."""
_SPLIT = 2.0**27 + 1.0
"""Divides a double into two halves of 26 digits."""
_WHOLE = 1.5 * 2.0**52
"""Added to a number and subtracted again, it leaves the nearest integer."""
_QUARTER = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"), float.fromhex("-0x1.f1976b7ed8fbcp-110"))
"""A quarter of a circle, pi/2, as a sum of three doubles; what is left is below 2^-162."""


@inner
def _added(a: float, b: float) -> tuple[float, float]:
    """The sum of two doubles and its rounding error."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@inner
def _joined(a: float, b: float) -> tuple[float, float]:
    """The same where |a| is not smaller than |b|."""
    s = a + b
    return s, b - (s - a)


@inner
def _multiplied(a: float, b: float) -> tuple[float, float]:
    """The product of two doubles and its rounding error, by Dekker."""
    p, u, v = a * b, _SPLIT * a, _SPLIT * b
    a1, b1 = u - (u - a), v - (v - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@inner
def _sum(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """(a + b) + (c + d)."""
    s, e = _added(a, c)
    t, f = _added(b, d)
    v, w = _joined(s, e + t)
    return _joined(v, f + w)


@inner
def _product(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """(a + b) (c + d)."""
    p, e = _multiplied(a, c)
    return _joined(p, e + (a * d + b * c))


@inner
def _quotient(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """(a + b) / (c + d)."""
    q = a / c
    p, e = _multiplied(c, q)
    s, f = _joined(p, d * q)
    r, g = _joined(s, f + e)
    return _joined(q, ((a - r) + (b - g)) / c)


@inner
def _horner(terms: Matrix, first: int, x: float, y: float) -> tuple[float, float]:
    """The sum of every second term from `first` on, in powers of x + y with alternating signs."""
    last = TERMS - 2 + first
    a, b = terms[last, 0], terms[last, 1]
    for k in range(last - 2, -1, -2):
        a, b = _product(a, b, x, y)
        a, b = _sum(terms[k, 0], terms[k, 1], -a, -b)
    return a, b


@inner
def _circle(terms: Matrix, x: float, y: float, doubt: float, quarter: int) -> tuple[float, float, float]:
    """The sine of x + y plus some quarters of a circle, and a bound of its error."""
    count = (x / _QUARTER[0] + _WHOLE) - _WHOLE
    if not abs(count) <= MOST_QUARTERS:
        return np.nan, np.nan, np.inf
    if count != 0.0:
        p, e = _multiplied(count, _QUARTER[0])
        x, y = _sum(x, y, -p, -e)
        p, e = _multiplied(count, _QUARTER[1])
        x, y = _sum(x, y, -p, -e)
        x, y = _sum(x, y, -count * _QUARTER[2], 0.0)
        doubt += REDUCTION
    which = (int(count) + quarter) & 3
    u, v = _product(x, y, x, y)
    a, b = _horner(terms, which & 1 ^ 1, u, v)
    if which & 1:
        doubt += CIRCLE
    else:
        a, b = _product(a, b, x, y)
        doubt += CIRCLE * abs(x)
    if which & 2:
        a, b = -a, -b
    return a, b, doubt * MORE


def run_program(table: Table, inputs: Array, numbers: Matrix, terms: Matrix, slots: Matrix) -> None:
    """The values of all lines of a program; `terms` are the reciprocals of factorials."""
    for k in range(table.shape[0]):
        operation, target, first, second = table[k, 0], table[k, 1], table[k, 2], table[k, 3]
        if operation == INPUT:
            slots[target, 0], slots[target, 1], slots[target, 2] = inputs[first], 0.0, 0.0
            continue
        if operation == NUMBER:
            for j in range(3):
                slots[target, j] = numbers[first, j]
            continue
        a, b, e = slots[first, 0], slots[first, 1], slots[first, 2]
        c, d, f = slots[second, 0], slots[second, 1], slots[second, 2]
        if operation in (ADD, SUBTRACT):
            if operation == SUBTRACT:
                c, d = -c, -d
            x, y = _sum(a, b, c, d)
            doubt = (e + f + UNIT * abs(x)) * MORE
        elif operation == MULTIPLY:
            x, y = _product(a, b, c, d)
            if (a == 0.0 and e == 0.0) or (c == 0.0 and f == 0.0):
                doubt = 0.0 * x
            else:
                doubt = (abs(a) * f + abs(c) * e + e * f + UNIT * abs(x)) * MORE
                doubt += 0.0 if abs(x) > SMALLEST else UNDERFLOW
        elif operation == DIVIDE:
            x, y = _quotient(a, b, c, d)
            least = abs(c) * LEAST - f
            if a == 0.0 and e == 0.0 and least > 0.0:
                doubt = 0.0
            elif least > SMALLEST and abs(a) > SMALLEST and abs(x) > SMALLEST:
                doubt = ((e + abs(x) * f) / least * MORE + UNIT * abs(x)) * MORE
            elif SMALLEST < least < np.inf:  # what is left of terms that cancelled: zero, with all of it as its doubt
                x, y, doubt = 0.0, 0.0, (abs(a) + e) / least * MORE + UNDERFLOW
            else:
                doubt = np.inf
        elif operation == NEGATE:
            x, y, doubt = -a, -b, e
        elif operation == ASSIGN:
            x, y, doubt = a, b, e
        elif operation in (SIN, COS):
            x, y, doubt = _circle(terms, a, b, e, 0 if operation == SIN else 1)
        elif operation == SQRT:
            least = a * LEAST - e
            x, y, doubt = 0.0, 0.0, e
            if least > SMALLEST:
                root = np.sqrt(a)
                p, g = _multiplied(root, root)
                u, _ = _sum(a, b, -p, -g)
                x, y = _joined(root, u / (2.0 * root))
                doubt = (e / np.sqrt(least) + UNIT * x) * MORE
            elif not (a == 0.0 and e == 0.0):
                doubt = np.inf
        else:
            x, y, doubt = np.nan, np.nan, np.inf
        slots[target, 0], slots[target, 1], slots[target, 2] = x, y, doubt
