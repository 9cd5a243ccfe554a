r"""All changes of sign of a function of $\theta$ within a step, however many there are.

A part of the step is looked at in `_PLACES`, most of them at unequal distances: a fast oscillation must not look like a slow one. If the
polynomial of degree 4 through the values at $0, \frac14, \dots, 1$ of the part does not agree with the others, up to a tenth of the largest
value, the part is halved. So are those in which the function jumps or has no value in some places, until they are short. A function of
which more short parts are left than long ones is rough, for example round-off, and is looked at in both ends only.

Where it keeps its sign in three places it may have the other one between them: it comes to zero and turns back. It is looked at where the
parabola through the three has its extreme value, if this is near zero, and again with parabolas through nearer places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, isfinite, log2, sqrt, ulp
from typing import NamedTuple

import numpy as np

from chetaev.numerics.methods.dop853.codes import NEAR, UNSEEN

Function = Callable[[float], float]
Look = Callable[[Sequence[float]], None]

_EVEN = tuple(k / 4 for k in range(5))
_UNEVEN = tuple((k // 2 + (1 + k % 2) / 3 + (sqrt(p) % 1 - 0.5) / 4) / 4 for k, p in enumerate((2, 3, 5, 7, 11, 13, 17, 19)))
_PLACES = tuple(sorted((*_EVEN, *_UNEVEN)))
"""Where a part is looked at, in parts of it. The uneven ones have no common measure: no oscillation fits into all of them."""
_THROUGH = [_PLACES.index(x) for x in _EVEN]
_AGAINST = [k for k in range(len(_PLACES)) if k not in _THROUGH]
_WEIGHTS = np.array([[np.prod([(_PLACES[k] - b) / (a - b) for b in _EVEN if b != a]) for a in _EVEN] for k in _AGAINST])
"""Lagrange's weights of the values in `_THROUGH` for the polynomial in `_AGAINST`."""
_SHORTEST = 2.0**-20
"""Parts that are not halved any more."""
_PATIENCE = 8
"""Shortest parts, beyond the number of the others, that are too many."""
_ROOT = 1e-13
"""Width of the bracket of a located root, relative to that of its change of sign; `pieces.switching` relies on it."""
_REFINEMENTS = 12
"""Most parabolas through ever nearer places in the search for an extreme value of the other sign."""
_INSIDE = 1e-3
"""How near to the ends of three places a parabola's extreme value is looked for, in parts of their distance."""


class Change(NamedTuple):
    """A change of sign between two places, and the new sign."""

    left: float
    right: float
    sign: int


Sample = tuple[float, float]
"""A place and the value there."""


def sign_changes(
    f: Function,
    left: float,
    right: float,
    sign: int,
    *,
    first: int | None = None,
    look: Look | None = None,
    corners: Sequence[float] = (),
) -> tuple[list[Change], int]:
    """The changes of sign of f from `left` to `right`, in order, and its last sign. `sign` is the one at `left`; 0 = not known.

    Zeros have no sign: they leave it as it is. At the right end of a change f has the new sign. With `first` only the first change to this
    sign, or to any sign if it is 0, must be found, and the search may end there. `look` is told in which places f is evaluated next.
    In `corners` f bends: it may have another sign there than on both sides.
    """
    samples = _samples(f, left, right, sign, first, look or (lambda places: None))
    turns = [sample for three in zip(samples, samples[1:], samples[2:], strict=False) for sample in _turn(f, *three)]
    bends = [(place, f(place)) for place in corners if samples[0][0] < place < samples[-1][0]]
    return _changes(sorted(samples + turns + bends), sign)


def _changes(samples: Sequence[Sample], sign: int) -> tuple[list[Change], int]:
    """The changes of sign from sample to sample, and the last sign. What is known of the sign at the first one is given."""
    found, before = [], samples[0][0]
    for place, value in samples[1:]:
        new = sign_of(value)
        if sign and new and new != sign:
            found.append(Change(before, place, new))
        if new:
            sign, before = new, place
    return found, sign


def root(f: Function, change: Change) -> float:
    """Where f changes its sign: the end of a bracket, narrower than `_ROOT` of the change, on the new side.

    Method ITP: I. F. D. Oliveira, R. H. C. Takahashi, ACM Trans. Math. Softw. 47 (2020) 5; never more than one evaluation beyond bisection.
    """
    (a, b, sign), below, above = change, f(change.left) * change.sign, f(change.right) * change.sign
    if below >= 0:
        return a
    width = max(_ROOT * (b - a), 4 * ulp(b))
    radius = width * 2.0 ** ceil(log2((b - a) / width))
    while b - a > width:
        middle = 0.5 * (a + b)
        secant = (above * a - below * b) / (above - below)
        side = 1.0 if middle >= secant else -1.0
        shift = 0.2 * (b - a) ** 2 / (change.right - change.left)
        place = secant + side * shift if shift <= abs(middle - secant) else middle
        reach = radius - 0.5 * (b - a)
        if not abs(place - middle) <= reach:
            place = middle - side * reach
        if not a < place < b:
            place = middle
        value = f(place) * sign
        if value == 0:
            return place
        if value > 0:
            b, above = place, value
        else:
            a, below = place, value
        radius *= 0.5
    return b


def sign_of(value: float) -> int:
    """1, -1, or 0 for zero and for what is no number."""
    return int(value > 0) - int(value < 0)


def _samples(f: Function, left: float, right: float, sign: int, first: int | None, look: Look) -> list[Sample]:
    """Places in which f is seen, with its values; both ends only if it is rough."""
    found: list[Sample] = [(left, f(left))]
    parts, long, short = [(left, right)], 0, 0
    while parts:
        a, b = parts.pop()
        places = [a + (b - a) * x for x in _PLACES[:-1]] + [b]
        look(places)
        values = [f(place) for place in places]
        seen = _seen(values)
        if not seen and b - a > _SHORTEST * (right - left):
            middle = 0.5 * (a + b)
            parts += [(middle, b), (a, middle)]
            continue
        long, short = (long + 1, short) if seen else (long, short + 1)
        if short > _PATIENCE + long:
            return [found[0], (right, f(right))]
        part = list(zip(places, values, strict=True))
        found += part[1:]
        changes, sign = _changes(part, sign)
        if first is not None and seen and any(first in (0, change.sign) for change in changes):
            return found
    return found


def _seen(values: Sequence[float]) -> bool:
    """Whether a polynomial agrees with the values of a part; or none of them is a number."""
    numbers = [isfinite(value) for value in values]
    if not all(numbers):
        return not any(numbers)
    off = [values[k] for k in _AGAINST] - _WEIGHTS @ [values[k] for k in _THROUGH]
    return bool(np.abs(off).max() <= UNSEEN * max(map(abs, values)))


def _turn(f: Function, first: Sample, second: Sample, third: Sample) -> list[Sample]:
    """A place between three in which f has the other sign, if it has the same in all three and one is found."""
    (left, a), (middle, b), (right, c) = first, second, third
    sign = sign_of(b)
    if not sign or not sign_of(a) == sign == sign_of(c):
        return []
    for _ in range(_REFINEMENTS):
        if not left < middle < right:
            return []
        fall, rise = (b - a) / (middle - left), (c - b) / (right - middle)
        bend = (rise - fall) / (right - left)
        if not sign * bend > 0:
            return []
        margin = _INSIDE * (right - left)
        place = min(max(0.5 * (left + middle - fall / bend), left + margin), right - margin)
        extreme = sign * (b + (place - middle) * (fall + bend * (place - left)))
        if place == middle or not extreme < NEAR * max(abs(a), abs(c)):
            return []
        value = f(place)
        if sign_of(value) == -sign:
            return [(place, value)]
        nearer = sign * value < sign * b
        if nearer == (place < middle):
            right, c = (middle, b) if nearer else (place, value)
        else:
            left, a = (middle, b) if nearer else (place, value)
        if nearer:
            middle, b = place, value
    return []
