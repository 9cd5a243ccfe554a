"""Real points at which a program has values, found with many digits.

An expression that is not zero in a finite field may still vanish by an identity that the field does not know, as acos(x) + asin(x) - pi/2
does. A value that stays the same as the number of digits grows shows that it does not.
"""

from __future__ import annotations

import random
from typing import Any

import mpmath

from chetaev.core.exact.program import Program, many_digit_values

_DIGITS = ((60, 90), (400, 500), (3000, 3200))
"""Decimal digits with which a value must be the same. 1 + tanh(-300) is zero with 90 digits, and 1 + tanh(-3000) with 500."""
_POINTS = (12, 12, 4)
"""Random points tried with each."""
_SIZES = (1.0, 1.0, 0.2, 6.0)
"""Sizes of random points one after the other, which reach domains such as those of asin and acosh."""


def has_values(program: Program) -> list[bool]:
    """Which outputs are shown to differ from zero at some random point; False where none is found."""
    shown = [False] * len(program.outputs)
    for pair, points in zip(_DIGITS, _POINTS, strict=True):
        for seed in range(points):
            first, second = (_values(program, seed, digits) for digits in pair)
            if first is None or second is None:
                continue
            agree = [a != 0 and abs(a - b) < abs(a) / 2 for a, b in zip(first, second, strict=True)]
            shown = [known or now for known, now in zip(shown, agree, strict=True)]
            if all(shown):
                return shown
    return shown


def _values(program: Program, seed: int, digits: int) -> list[Any] | None:
    """The outputs at a random point; None where one has no value."""
    mp = mpmath.mp.clone()
    mp.dps = digits
    chance = random.Random(seed)
    size = _SIZES[seed % len(_SIZES)]
    values = []
    for k in range(program.inputs):
        drawn = mp.mpf(chance.randint(200, 1300)) / 997 * size
        values.append(drawn if k in program.positive or chance.random() < 0.5 else -drawn)
    try:
        return [mp.mpf(v) for v in many_digit_values(program, values, mp)]
    except (ValueError, ZeroDivisionError, OverflowError, KeyError):
        return None
