r"""All changes of sign of a function of $\theta$ within a step, however many there are.

The rules are those of the compiled loop (`dop853.location`). In each part of the step the function is evaluated at `MORE_PLACES`; if these
samples do not resolve it, or if it jumps or has no value at some of them, the part is halved, until it is short. A function that leaves
more short parts than long ones is rough, for example round-off, and is evaluated at both ends only.

A function that has the same sign at three points may have the other sign between them, if it comes to zero and turns back. It is evaluated
where the parabola through the three values has its extreme value, if this is near zero, and again with parabolas through nearer points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log2, ulp
from typing import NamedTuple

import numpy as np

from chetaev.numerics.methods.dop853.location import (
    MORE_PLACES,
    MORE_WEIGHTS,
    NOWHERE,
    REFINEMENTS,
    ROOT,
    bracket_place,
    sign_of,
    smooth,
    turning_closer,
    turning_place,
)

Function = Callable[[float], float]
Look = Callable[[Sequence[float]], None]

_SHORTEST_PART = 2.0**-20
"""Relative to the step: the shortest part; it is not halved again."""
_MOST_SHORT_PARTS = 8
"""A function is rough if the number of shortest parts exceeds that of the other parts by more than this."""


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
    sign, or to any sign if it is 0, must be found, and the search may end there. `look` receives the places at which f is evaluated next.
    f is not smooth at `corners`: it may have another sign there than on both sides.
    """
    samples = _samples(f, left, right, sign, first, look or (lambda places: None))
    turns = [sample for three in zip(samples, samples[1:], samples[2:], strict=False) for sample in _turn(f, *three)]
    bends = [(place, f(place)) for place in corners if samples[0][0] < place < samples[-1][0]]
    return _changes(sorted(samples + turns + bends), sign)


def _changes(samples: Sequence[Sample], sign: int) -> tuple[list[Change], int]:
    """The changes of sign from sample to sample, and the last sign; `sign` is that before the first sample."""
    found, before = [], samples[0][0]
    for place, value in samples[1:]:
        new = sign_of(value)
        if sign and new and new != sign:
            found.append(Change(before, place, new))
        if new:
            sign, before = new, place
    return found, sign


def root(f: Function, change: Change) -> float:
    """Where f changes its sign: the end of a bracket, narrower than `ROOT` of the change, on the new side."""
    (a, b, sign), below, above = change, f(change.left) * change.sign, f(change.right) * change.sign
    if below >= 0:
        return a
    width = max(ROOT * (b - a), 4 * ulp(b))
    radius = width * 2.0 ** ceil(log2((b - a) / width))
    while b - a > width:
        place = bracket_place(a, b, below, above, radius, change.right - change.left)
        value = f(place) * sign
        if value == 0:
            return place
        if value > 0:
            b, above = place, value
        else:
            a, below = place, value
        radius *= 0.5
    return b


def _samples(f: Function, left: float, right: float, sign: int, first: int | None, look: Look) -> list[Sample]:
    """Places at which samples resolve f, with its values; both ends only if f is rough."""
    found: list[Sample] = [(left, f(left))]
    parts, long, short = [(left, right)], 0, 0
    while parts:
        a, b = parts.pop()
        places = [a + (b - a) * x for x in MORE_PLACES[:-1]] + [b]
        look(places)
        values = [f(place) for place in places]
        seen = smooth(np.array(values)[:, None], 0, MORE_WEIGHTS)
        if not seen and b - a > _SHORTEST_PART * (right - left):
            middle = 0.5 * (a + b)
            parts += [(middle, b), (a, middle)]
            continue
        long, short = (long + 1, short) if seen else (long, short + 1)
        if short > _MOST_SHORT_PARTS + long:
            return [found[0], (right, f(right))]
        part = list(zip(places, values, strict=True))
        found += part[1:]
        changes, sign = _changes(part, sign)
        if first is not None and seen and any(first in (0, change.sign) for change in changes):
            return found
    return found


def _turn(f: Function, first: Sample, second: Sample, third: Sample) -> list[Sample]:
    """A place between three at which f has the other sign, if it has the same sign at all three and such a place is found."""
    (left, a), (middle, b), (right, c) = first, second, third
    sign = sign_of(b)
    if not sign or not sign_of(a) == sign == sign_of(c):
        return []
    for _ in range(REFINEMENTS):
        place = turning_place(left, a, middle, b, right, c)
        if place == NOWHERE:
            return []
        value = f(place)
        if sign_of(value) == -sign:
            return [(place, value)]
        left, a, middle, b, right, c = turning_closer(left, a, middle, b, right, c, place, value)
    return []
