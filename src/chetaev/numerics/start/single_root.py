r"""All roots of a row in one missing value, with a proof that there are no others.

Branch and bound over the whole line: a part on which the range of the row does not contain zero has no root; a part on which its slope
keeps its sign has one root or none, by the signs at its ends; any other part is divided. Towards infinity a row keeps its sign if one of
its derivatives does and all lower ones have that sign at the end: $y^4 - y^3 - 5$ for $y > 4$, whose fourth derivative is 24. An angle that
the row contains in sines, cosines and tangents only has roots modulo a whole turn.

If a root is multiple, or the ranges do not resolve it, the answer is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from chetaev.core.exact.program import Program
from chetaev.numerics.enclosures.ranges import OPERATIONS_OF_TWO, NoValue, Range, ranges

_ORDERS = 5
"""Highest derivative whose sign is used towards infinity: enough for polynomials of degree five and sums with exponentials."""
_REACH = 24
"""Powers of four, in units of the value's size, at which the end of the line is tried."""
_MOST_PARTS = 2000
"""Most parts of the line that are examined: about a tenth of a second. With more, the roots count as not proved."""
_NARROW = 1e-11
"""Width of a part, relative to its place and to the size of the value, below which it is not divided further."""
_DIVISION = 0.4871
"""Relative position at which a part is divided: not the middle, because roots are often round numbers and must not lie on a bound."""
_TURN = (-math.pi * 0.999, math.pi * 1.001)
"""A whole turn, with ends that are unlikely to be roots."""
_TURNING = frozenset(("sin", "cos", "tan"))
"""Functions that repeat after a whole turn."""
_ABSOLUTE_ERROR, _RELATIVE_ERROR = 1e-300, 8.9e-16
"""Errors of a root: the absolute one, in any unit, is so small that only the relative one counts, which is the least that `brentq`
accepts."""


@dataclass(frozen=True)
class Row:
    """A row as a function of one missing value: a program for each of its derivatives, made when it is needed."""

    derivative: Callable[[int], tuple[Program, list[float | None]]]
    """The program of the k-th derivative, and its inputs: numbers, and None for the missing value."""
    size: float
    """The typical size of the value."""
    angle: bool
    """Whether the value is an angle."""

    def ranges(self, k: int, part: Range) -> tuple[Range, bool]:
        """The range of a derivative, and whether it is that of a continuous function."""
        program, inputs = self.derivative(k)
        found = ranges(program, [part if v is None else (v, v) for v in inputs])
        return found.found[0], not (found.partial or found.jumps)

    def sign(self, k: int, at: float) -> int:
        """The sign of the k-th derivative at a point; 0 if it is not certain."""
        low, high = self.ranges(k, (at, at))[0]
        return (low > 0) - (high < 0)


def all_roots(row: Row) -> list[float] | None:
    """Return all roots of a row, each a simple one; None if it is not proved that there are no others."""
    turns = _repeats(*row.derivative(0))
    if turns and not row.angle:  # none, or infinitely many
        return None
    try:
        ends = _TURN if turns else _ends(row)
        parts = None if ends is None else _parts_with_roots(row, ends)
    except NoValue:
        return None
    if parts is None:
        return None
    from scipy.optimize import brentq  # takes longer to import than most motions to compute

    program, inputs = row.derivative(0)
    found = [
        float(brentq(lambda y: _middle(program, inputs, y), *part, xtol=_ABSOLUTE_ERROR, rtol=_RELATIVE_ERROR, maxiter=500))
        for part in parts
    ]
    return sorted(math.remainder(root, 2 * math.pi) if turns else root for root in found)


def _middle(program: Program, inputs: Sequence[float | None], y: float) -> float:
    low, high = ranges(program, [(y, y) if v is None else (v, v) for v in inputs]).found[0]
    return 0.5 * (low + high)


def _ends(row: Row) -> tuple[float, float] | None:
    """Return two numbers beyond which the row has no root; None if none are found."""
    found = []
    for side in (-1.0, 1.0):
        place = next((p for k in range(_REACH) if _free_beyond(row, p := side * row.size * 4.0**k)), None)
        if place is None:
            return None
        found.append(place)
    return found[0], found[1]


def _free_beyond(row: Row, place: float) -> bool:
    """Tell whether the row has no root from `place` to infinity, on the side of its sign."""
    beyond = (place, inf) if place > 0 else (-inf, place)
    wanted = 0
    for k in range(_ORDERS + 1):
        try:
            (low, high), whole = row.ranges(k, beyond)
        except NoValue:
            return k == 0  # no value at all beyond: no root
        towards = -1 if place < 0 and k % 2 else 1  # to the left an even derivative grows if the next one is negative
        keeps = (low > 0) - (high < 0)
        if keeps and (k == 0 or (whole and keeps * towards == wanted)):
            return True
        if not whole:
            return False
        here = row.sign(k, place) * towards
        wanted = wanted or here
        if not here or here != wanted:
            return False
    return False


def _parts_with_roots(row: Row, ends: tuple[float, float]) -> list[Range] | None:
    """Return all parts of the line with roots, each with exactly one; None if that is not decided."""
    found: list[Range] = []
    left = [ends]
    for _ in range(_MOST_PARTS):
        if not left:
            return found
        part = left.pop()
        try:
            (low, high), continuous = row.ranges(0, part)
        except NoValue:  # outside the domain everywhere
            continue
        if low > 0 or high < 0:
            continue
        if continuous and _monotone(row, part):
            signs = [row.sign(0, end) for end in part]
            if not all(signs):
                return None
            found += [part] if signs[0] != signs[1] else []
            continue
        if part[1] - part[0] < _NARROW * max(row.size, abs(part[0]), abs(part[1])):
            return None
        middle = _divided(row, part)
        left += [(part[0], middle), (middle, part[1])]
    return None


def _monotone(row: Row, part: Range) -> bool:
    try:
        low, high = row.ranges(1, part)[0]
    except NoValue:
        return False
    return low > 0 or high < 0


def _divided(row: Row, part: Range) -> float:
    """The point at which to divide a part: zero if that is not a root, since poles and ends of domains often lie there."""
    if part[0] < 0 < part[1]:
        try:
            if row.sign(0, 0.0):
                return 0.0
        except NoValue:
            return 0.0
    return part[0] + _DIVISION * (part[1] - part[0])


def _repeats(program: Program, inputs: Sequence[float | None]) -> bool:
    """Tell whether a program has the same value after a whole turn of the missing value, by its form."""
    multiples: dict[int, Any] = {}
    """For each slot the integer multiple of the missing value in it, apart from periodic terms; None for any other dependence."""
    numbers: dict[int, Any] = {}
    for operation, target, a, b in program.lines:
        numbers[target] = a if operation == "number" else None
        if operation == "input":
            multiple: Any = 1 if inputs[a] is None else 0
        elif operation in ("number", "constant"):
            multiple = 0
        else:
            slots = (a, b) if operation in OPERATIONS_OF_TWO else (a,)
            multiple = _multiple(operation, [multiples[k] for k in slots], [numbers[k] for k in slots])
        multiples[target] = multiple
    return all(multiples[slot] == 0 for slot in program.outputs)


def _multiple(operation: str, arguments: Sequence[Any], numbers: Sequence[Any]) -> Any:
    if any(m is None for m in arguments):
        return None
    if all(m == 0 for m in arguments):
        return 0
    if operation in ("add", "sub"):
        return arguments[0] + (arguments[1] if operation == "add" else -arguments[1])
    if operation in ("neg", "assign", "twice"):
        return {"neg": -1, "assign": 1, "twice": 2}[operation] * arguments[0]
    if operation == "mul":
        for factor, m in ((numbers[0], arguments[1]), (numbers[1], arguments[0])):
            if factor is not None and factor.denominator == 1:
                return int(factor) * m
        return None
    return 0 if operation in _TURNING else None
