"""Programs of exact operations as tables for the arithmetic of pairs of doubles."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial

import mpmath
import numpy as np

from chetaev.core.exact.program import Compound, Program
from chetaev.numerics.machine.two_doubles import codes
from chetaev.numerics.machine.two_doubles.codes import Array, Matrix, Table
from chetaev.numerics.machine.two_doubles.loaded import TWO_DOUBLES

_UNIT = 2.0**-105
"""Largest relative error of a number as a pair of doubles."""
_MOST_FACTORS = 64
"""Largest power that is multiplied out."""
_DIGITS = 50
"""Decimal digits of a constant from which its pair is taken."""
_ONE_TO_ONE = {
    "add": codes.ADD, "sub": codes.SUBTRACT, "mul": codes.MULTIPLY, "div": codes.DIVIDE, "neg": codes.NEGATE, "assign": codes.ASSIGN,
    "sin": codes.SIN, "cos": codes.COS, "sqrt": codes.SQRT,
}  # fmt: skip
"""Operations by their names in programs."""
_TWO_ARGUMENTS = (codes.ADD, codes.SUBTRACT, codes.MULTIPLY, codes.DIVIDE)


class InTwoDoubles:
    """A program in pairs of doubles."""

    def __init__(self, table: Table, numbers: Matrix, outputs: list[int], rows: int) -> None:
        self._table, self._numbers, self._outputs, self._rows = table, numbers, np.array(outputs, np.int64), rows

    def __call__(self, values: Array) -> tuple[Array, Array]:
        """The values of the outputs, rounded to doubles, and bounds of the errors that they had before that; what is not finite has no
        bound.
        """
        rows = np.zeros((self._rows, 3))
        TWO_DOUBLES.run_program(self._table, values, self._numbers, _terms(), rows)
        found = rows[self._outputs]
        return found[:, 0], found[:, 2]


def in_two_doubles(program: Program) -> InTwoDoubles | None:
    """A program in pairs of doubles; None if it has other functions than sine, cosine and square root."""
    lines: list[tuple[int, int, int, int]] = []
    numbers: list[tuple[float, float, float]] = []
    rows: dict[int | None, int] = {None: 0}

    def row(slot: int) -> int:
        """The row of a slot; slots are any numbers. The first row is free."""
        return rows.setdefault(slot, len(rows))

    for operation, slot, a, b in program.lines:
        if operation == "input":
            lines.append((codes.INPUT, row(slot), a, 0))
        elif operation == "number" or (operation == "constant" and not isinstance(a, Compound)):
            lines.append((codes.NUMBER, row(slot), len(numbers), 0))
            numbers.append(_pair(a) if operation == "number" else _pair_of_constant(a))
        elif operation in ("sq", "twice"):
            lines.append((codes.MULTIPLY if operation == "sq" else codes.ADD, row(slot), row(a), row(a)))
        elif operation == "inv":
            lines += [(codes.NUMBER, 0, len(numbers), 0), (codes.DIVIDE, row(slot), 0, row(a))]
            numbers.append((1.0, 0.0, 0.0))
        elif operation == "power" and b.denominator == 1 and 1 <= b.numerator <= _MOST_FACTORS:
            lines.append((codes.ASSIGN, 0, row(a), 0))
            lines += [(codes.MULTIPLY, 0, 0, row(a))] * (b.numerator - 1)
            lines.append((codes.ASSIGN, row(slot), 0, 0))
        elif operation in _ONE_TO_ONE:
            code = _ONE_TO_ONE[operation]
            lines.append((code, row(slot), row(a), row(b) if code in _TWO_ARGUMENTS else 0))
        else:
            return None
    outputs = [row(slot) for slot in program.outputs]
    return InTwoDoubles(np.array(lines, np.int64).reshape(-1, 4), np.array(numbers).reshape(-1, 3), outputs, len(rows))


def _pair(number: Fraction) -> tuple[float, float, float]:
    try:
        first = float(number)
        second = float(number - Fraction(first))
    except OverflowError:
        return np.nan, np.nan, np.inf
    return first, second, 0.0 if Fraction(first) + Fraction(second) == number else _UNIT * abs(first)


def _pair_of_constant(name: str) -> tuple[float, float, float]:
    mp = mpmath.MPContext()
    mp.dps = _DIGITS
    value = +getattr(mp, name)
    first = float(value)
    return first, float(value - first), _UNIT * abs(first)


@cache
def _terms() -> Matrix:
    """The reciprocals of factorials."""
    return np.array([_pair(Fraction(1, factorial(k)))[:2] for k in range(codes.TERMS)])
