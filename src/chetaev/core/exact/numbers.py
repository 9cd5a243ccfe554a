r"""Logarithms and angles of rational numbers by those of primes, so that relations between them are recognised.

$\log 6 = \log 2 + \log 3$ by the factors of six. $\arctan\frac{b}{a}$ is the angle of the Gaussian integer $a + bi$, the sum of the angles
of its prime factors: an angle for each prime $p = x^2 + y^2$, and eighths of a turn. So $2\arctan\frac12 = \arctan\frac43$, and
$4\arctan\frac15 - \arctan\frac1{239} = \frac\pi4$ (Machin). Logarithms of different primes are independent over the rational numbers, and
so are these angles together with $\pi$, because factorisations are unique.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import sympy

_LARGEST_FACTORED = 2**64
"""Numbers above this are not factored, which could take long: their logarithms and angles stay as they are."""
_WHOLE = 1e-6
"""Largest distance from a whole number of eighth turns, in eighth turns, that is round-off. Any number between 1e-12 and 1e-2 gives the
same answers."""


@lru_cache(maxsize=1024)
def logarithm(number: Fraction) -> dict[int, int] | None:
    """Return the primes of a positive number with their exponents; None if it is not factored."""
    if number <= 0 or max(number.numerator, number.denominator) > _LARGEST_FACTORED:
        return None
    found = {int(p): int(k) for p, k in sympy.factorint(number.numerator).items()}
    for p, k in sympy.factorint(number.denominator).items():
        found[int(p)] = found.get(int(p), 0) - int(k)
    return found


@lru_cache(maxsize=1024)
def angle(tangent: Fraction) -> tuple[dict[Fraction, int], int] | None:
    """Return the arctangent of a number as multiples of those of others, one for each prime, and of pi/4; None if it is not factored."""
    a, b = tangent.denominator, tangent.numerator
    norm = a * a + b * b
    if norm > _LARGEST_FACTORED:
        return None
    found: dict[Fraction, int] = {}
    for p, k in sympy.factorint(norm).items():
        if p == 2:
            continue
        x, y = _two_squares(int(p))
        divides = (a * x + b * y) % p == 0 and (b * x - a * y) % p == 0  # (a + bi)/(x + yi) is a Gaussian integer
        found[Fraction(y, x)] = int(k) if divides else -int(k)
    rest = math.atan(float(tangent)) - sum(k * math.atan(float(t)) for t, k in found.items())
    eighths = rest / (math.pi / 4)
    return (found, round(eighths)) if abs(eighths - round(eighths)) < _WHOLE else None


@lru_cache(maxsize=1024)
def _two_squares(p: int) -> tuple[int, int]:
    """Return x > y > 0 with x^2 + y^2 = p, a prime that is 1 modulo 4 (G. Cornacchia)."""
    a, b = p, int(sympy.ntheory.sqrt_mod(-1, p))
    while b * b > p:
        a, b = b, a % b
    other = math.isqrt(p - b * b)
    return max(b, other), min(b, other)


def tangent_of(function: str, number: Fraction) -> Fraction | None:
    """Return the tangent of the asin or atan of a number, if it is rational."""
    if function == "atan":
        return number
    rest = 1 - number * number
    if rest <= 0:
        return None
    above, below = math.isqrt(rest.numerator), math.isqrt(rest.denominator)
    return number * Fraction(below, above) if above**2 == rest.numerator and below**2 == rest.denominator else None
