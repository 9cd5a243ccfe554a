r"""Whether the data decide that rows are independent, although the digits of doubles do not show it.

The rows $x' = y'$ and $x' = (1 + e)\, y'$ with $e = 10^{-14}$ are independent, and the numbers given determine that: $e$ is known to
sixteen digits. The sum $1 + e$ in doubles has lost it. At a flat parallelogram, or on parallel ropes, rows depend on each other as far as
the state is known: another last digit of the state makes a small singular value larger or smaller.

So the smallest pivot is computed with many digits, for the data as they are and for data with other last digits. If it stays the same, the
data decide that it is not zero, and the matrix is ill-conditioned in doubles. If it changes, or is zero, the rows are dependent within the
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
from sympy import Symbol

from chetaev.core.exact.program import Program, many_digit_values
from chetaev.core.symbols import Parameter
from chetaev.core.values import many_digits
from chetaev.mechanics.ranks.factored import Factored

_PIVOT_DIGITS = 400
"""Decimal digits of the pivots: a sum of the largest and the smallest double keeps both."""
_LOST_DIGITS = 40
"""Last decimal digits that the elimination may lose: a pivot with none above these is zero."""
_CHANGED_DATA = 4
"""Data with other last digits for which the pivot is computed."""
_PARAMETER, _JET = 4, 64
"""Units in the last place by which parameters and jets are changed. Users state parameters, perhaps with the round-off of their own
computation; jets are results of a completion or of a motion, with the errors of these. With fewer, the error of a state is taken for its
value; with more, a difference of 1e-14 between parameters of order one counts as zero."""
_SAME_PIVOT = 2.0
"""Largest ratio of pivots that count as the same."""
_MOST_WORK = 4_000_000
"""Products of many-digit numbers in an elimination, at most: a few seconds. Beyond this the doubles decide."""


def decided_pivot(
    entries: Sequence[Any], found: Factored, algebra: Any, point: Mapping[Symbol, float], units: Mapping[Symbol, float]
) -> float:
    """Return the largest pivot, in units of the largest of all, that the rank of `found` leaves out, if the data decide it; otherwise 0.

    `entries` are those of the matrix, row by row, on graphs; `units` are the last digits of the values at the `point`.
    """
    m, n = found.jacobian.shape
    if found.rank >= min(m, n) or m * n * (found.rank + 1) * (_CHANGED_DATA + 1) > _MOST_WORK:
        return 0.0
    program, order = algebra.program(entries)
    mp, _ = many_digits(_PIVOT_DIGITS)
    chance = np.random.default_rng(3)
    pivots: list[Any] = []
    for k in range(_CHANGED_DATA + 1):
        signs = chance.choice([-1.0, 1.0], len(order)) if k else np.zeros(len(order))
        try:
            at = [mp.mpf(point[z]) + mp.mpf(s * _moved(z) * units.get(z, 0.0)) for z, s in zip(order, signs.tolist(), strict=True)]
            pivots.append(_left_out(program, at, found, mp))
        except (ValueError, ZeroDivisionError, OverflowError, KeyError):  # no value with these digits: they decide nothing
            return 0.0
        if pivots[-1] < mp.mpf(10) ** (_LOST_DIGITS - _PIVOT_DIGITS) or max(pivots) > _SAME_PIVOT * min(pivots):
            return 0.0
    return max(float(pivots[0]), float(np.finfo(float).tiny))


def _moved(z: Symbol) -> int:
    return _PARAMETER if isinstance(z, Parameter) else _JET


def _left_out(program: Program, at: Sequence[Any], found: Factored, mp: mpmath.MPContext) -> Any:
    """Return the pivot after those of the rank, relative to the largest, in an elimination with complete pivoting."""
    (m, n), (rows, columns) = found.jacobian.shape, found.scales
    values = many_digit_values(program, at, mp)
    lines = [{j: values[i * n + j] / mp.mpf(rows[i]) / mp.mpf(columns[j]) for j in range(n) if values[i * n + j] != 0} for i in range(m)]
    largest = mp.mpf(0 if found.rank else 1)  # where all entries are zero in doubles nothing is larger
    for step in range(found.rank + 1):
        i, j, pivot = max(
            ((i, j, v) for i, line in enumerate(lines) for j, v in line.items()), key=lambda e: abs(e[2]), default=(0, 0, None)
        )
        if pivot is None:
            return mp.mpf(0)
        largest = largest or abs(pivot)
        if step == found.rank:
            return abs(pivot) / largest
        chosen = lines.pop(i)
        for line in lines:
            if j in line:
                factor = line.pop(j) / pivot
                for k, v in chosen.items():
                    if k != j:
                        line[k] = line.get(k, mp.mpf(0)) - factor * v
    return mp.mpf(0)
