r"""The rules by which roots are located, for the compiled loop and for the one in Python alike.

Plain functions of numbers and arrays: the compiled loop compiles them with itself, `methods.changes` and `methods.enclosed` call them as
they are. The two loops differ only in how they use the answer. The compiled loop shortens its step until it contains one change of sign,
since its next step costs little; the loop in Python halves the part of the step that it examines, since its steps are long.
"""

from __future__ import annotations

from math import prod, sqrt

from chetaev.numerics.methods.dop853.codes import EVEN, GOLDEN, NEAR, UNRESOLVED
from chetaev.numerics.methods.dop853.types import Array, Matrix

ROOT = 1e-13
"""Width of the bracket of a root, in parts of the interval in which it was found."""
REFINEMENTS = 24
"""Most parabolas in the search for a turning point."""
NOWHERE = -1.0
"""A value of theta for "nowhere": theta is between 0 and 1."""
_INFINITY = float("inf")
_INSIDE = 1e-3
"""The smallest distance of a parabola's extreme value from the outer two of three points, relative to the distance of these two."""
_EVEN = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Parts of a step at which the polynomial is interpolated that decides whether samples resolve a function."""
_UNEVEN = (0.1035533905932738, 0.3830127018922193, 0.6090169943749474, 0.8864314575050762)
"""Places between: (k + 1/2)/4 moved by incommensurable parts of a quarter, so that a fast oscillation does not look like a slow one."""
_MORE_UNEVEN = tuple((k // 2 + (1 + k % 2) / 3 + (sqrt(p) % 1 - 0.5) / 4) / 4 for k, p in enumerate((2, 3, 5, 7, 11, 13, 17, 19)))


def _weights(uneven: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(prod((x - b) / (a - b) for b in _EVEN if b != a) for a in _EVEN) for x in uneven)


PLACES, MORE_PLACES = (tuple(sorted((*_EVEN, *uneven))) for uneven in (_UNEVEN, _MORE_UNEVEN))
"""Points at which a function is evaluated, as parts of an interval. An interval that is halved repeatedly needs more of them: over short
intervals round-off is often zero at a few points, and would seem smooth."""
WEIGHTS, MORE_WEIGHTS = _weights(_UNEVEN), _weights(_MORE_UNEVEN)
"""Lagrange's weights of the values at the even places for the polynomial at the uneven ones."""


def sign_of(x: float) -> int:
    """1, -1, or 0 for zero and NaN."""
    return 1 if x > 0.0 else (-1 if x < 0.0 else 0)


def smooth(samples: Matrix, which: int, weights: tuple[tuple[float, ...], ...]) -> bool:
    """Whether samples resolve a function: its values, at the places that belong to the weights, stand in a column.

    They do if all of them are NaN, and do not if only some are; otherwise the polynomial of degree 4 through the values at the even places
    must agree with the other values.
    """
    largest, off, numbers, size, between = 0.0, 0.0, 0, 5 + len(weights), len(weights) // 4
    for i in range(size):
        numbers += abs(samples[i, which]) < _INFINITY
        largest = max(largest, abs(samples[i, which]))
    if numbers < size:
        return numbers == 0
    for i in range(len(weights)):
        line = weights[i]
        value = samples[i + i // between + 1, which]
        for m in range(5):
            value -= line[m] * samples[(between + 1) * m, which]
        off = max(off, abs(value))
    return not off > UNRESOLVED * largest


def bracket_place(a: float, b: float, below: float, above: float, radius: float, span: float) -> float:
    """The point at which a function is evaluated next to find its root between a and b, whose values are `below` and `above`.

    `radius` is the error that bisection would have reached by now, `span` the first width of the bracket. Method ITP: I. F. D. Oliveira, R.
    H. C. Takahashi, ACM Trans. Math. Softw. 47 (2020) 5; never more than one evaluation beyond bisection.
    """
    middle = 0.5 * (a + b)
    secant = (above * a - below * b) / (above - below)
    side = 1.0 if middle >= secant else -1.0
    shift = 0.2 * (b - a) ** 2 / span
    place = secant + side * shift if shift <= abs(middle - secant) else middle
    reach = radius - 0.5 * (b - a)
    if not abs(place - middle) <= reach:
        place = middle - side * reach
    return place if a < place < b else middle


def turning_place(left: float, a: float, middle: float, b: float, right: float, c: float) -> float:
    """Where the parabola through three values of one sign is nearest to zero, if its value there is near zero; `NOWHERE` otherwise."""
    sign = 1 if b > 0.0 else -1
    if not left < middle < right:
        return NOWHERE
    fall, rise = (b - a) / (middle - left), (c - b) / (right - middle)
    bend = (rise - fall) / (right - left)
    if not sign * bend > 0.0:
        return NOWHERE
    margin = _INSIDE * (right - left)
    place = min(max(0.5 * (left + middle) - 0.5 * fall / bend, left + margin), right - margin)
    extreme = b + (place - middle) * (fall + bend * (place - left))
    return NOWHERE if place == middle or not sign * extreme < NEAR * max(abs(a), abs(c)) else place


def turning_closer(
    left: float, a: float, middle: float, b: float, right: float, c: float, place: float, value: float
) -> tuple[float, float, float, float, float, float]:
    """Three places and values around a turning point, nearer to it after one more evaluation."""
    nearer = (value < b) if b > 0.0 else (value > b)
    if nearer == (place < middle):
        right, c = (middle, b) if nearer else (place, value)
    else:
        left, a = (middle, b) if nearer else (place, value)
    if nearer:
        middle, b = place, value
    return left, a, middle, b, right, c


def certain_sign(bounds: Array, place: int) -> int:
    """The sign that bounds, four for each function, prove for one over a part of a step; 0 if that is not known."""
    return 1 if bounds[4 * place] > 0.0 else (-1 if bounds[4 * place + 1] < 0.0 else 0)


def decided(bounds: Array, place: int) -> bool:
    """Whether a function has one root at most over a part of a step: it keeps its sign, or has no pole and rises or falls throughout."""
    low, high = bounds[4 * place], bounds[4 * place + 1]
    monotone = bounds[4 * place + 2] > 0.0 or bounds[4 * place + 3] < 0.0
    return low > 0.0 or high < 0.0 or (monotone and low > -_INFINITY and high < _INFINITY) or (low == 0.0 and high == 0.0)


def turns_through(first: float, middle: float, last: float) -> bool:
    """Whether the roots of three values of one sign, with the sign of one end reversed, are as even as those of a square that vanishes
    between: (1 - y^2)^2 may be higher in the middle than where it turned back shortly after the beginning.
    """
    a, b, c = sqrt(first), sqrt(middle), sqrt(last)
    return min(abs(a + 2.0 * b - c), abs(c + 2.0 * b - a)) < EVEN * max(a, b, c)


def section_place(a: float, best: float, c: float) -> float:
    """The next point of the search for the lowest value between a and c, so far at `best`: a golden section of the longer part."""
    return best + GOLDEN * (c - best) if c - best > best - a else best - GOLDEN * (best - a)


def section_closer(a: float, best: float, least: float, c: float, place: float, value: float) -> tuple[float, float, float, float]:
    """The interval, the best place and the least value after that evaluation."""
    if value < least:
        return (best, place, value, c) if place > best else (a, place, value, best)
    return (a, best, least, place) if place > best else (place, best, least, c)
