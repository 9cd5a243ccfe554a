"""The value of one expression at a point, in doubles if these have correct digits, otherwise in many digits.

The value is computed in doubles and with more digits. The two differ for one of two reasons: numbers cancel in the expression, or the value
depends on the rounding of the symbols, as x^2 + y^2 - 1 on a circle does. In the first case the value with many digits is right; in the
second more digits do not help, and the value in doubles is returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, Symbol

from chetaev.core.exact.constants import for_doubles
from chetaev.core.values import Tape, Undefined, many_digits
from chetaev.mechanics.tolerances import NEGLIGIBLE_ERROR
from chetaev.numerics.flow.exact_rates import Array, with_enough_digits
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.smooth_pieces.clear_readings import ROUNDING_MULTIPLE
from chetaev.numerics.start.clear_states import LOST_DIGITS

_NEIGHBOURS = 3
"""Number of neighbouring points that show the effect of the last digits of the symbols; a single one may show none by chance."""


def clear_value(expression: Expr, values: Mapping[Symbol, float]) -> float:
    """The value of an expression.

    Args:
        expression: An expression with exact numbers.
        values: The value of each of its symbols.

    Returns:
        The value in doubles, or that of many digits if doubles lost it.

    Raises:
        Undefined: If the expression has no finite value here.
    """
    tape = Tape([expression])
    point = {z: values[z] for z in tape.symbols}
    plain = _in_doubles(expression, values)
    found = _with_digits(tape, [point])
    if found is None:
        if plain is None:
            raise Undefined("not a finite number")
        return plain
    right = float(found[0])
    if plain is None:
        return right
    if abs(plain - right) <= LOST_DIGITS * abs(right):
        return plain
    signs = np.random.default_rng(5).choice([-1.0, 1.0], size=(_NEIGHBOURS, len(point)))
    beside = [{z: v * (1 + s * EPSILON) for s, (z, v) in zip(line, point.items(), strict=True)} for line in signs]
    moved = _with_digits(tape, beside)
    excused = 0.0 if moved is None else ROUNDING_MULTIPLE * float(np.abs(moved - right).max())
    return plain if abs(plain - right) <= excused else right


def _in_doubles(expression: Expr, values: Mapping[Symbol, float]) -> float | None:
    try:
        return float(Tape([for_doubles(expression)])(values)[0])
    except Undefined:
        return None


def _with_digits(tape: Tape, points: Sequence[Mapping[Symbol, float]]) -> Array | None:
    """The values at `points`, with enough digits to be right; None if one has no value."""

    def compute(mp: mpmath.MPContext) -> list[Any]:
        arithmetic = many_digits(mp.dps)[1]
        try:
            return [tape({z: mp.mpf(v) for z, v in point.items()}, arithmetic)[0] for point in points]
        except Undefined as cause:  # more digits may give a value
            raise ValueError(str(cause)) from cause

    return with_enough_digits(compute, NEGLIGIBLE_ERROR)
