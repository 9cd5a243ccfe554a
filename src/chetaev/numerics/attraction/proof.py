"""Covering a region with boxes over each of which a statement holds, and enclosing an equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nextafter

import numpy as np

from chetaev.numerics.attraction.enclosed import Array, Bounded, Box, Enclosed, middle
from chetaev.numerics.enclosures.ranges import Range, add, multiply

MOST_BOXES = 2000
"""Boxes after which a cover is abandoned: some seconds for a small system."""
_LEAST_PROGRESS = (300, 0.15)
"""A number of boxes, and the fraction of the first box that must be decided by then; a slower cover would not finish."""
_THINNEST = 1e-7
"""Side of a box, relative to the first one, below which it is not divided further: narrower boxes would not decide either."""
_RADII_OF_EQUILIBRIUM = (1e-14, 1e-12, 1e-10, 1e-8)
"""Radii about an approximate equilibrium, in typical sizes of the jets, within which one exact equilibrium is sought."""


def covered(first: Box, value: Bounded, level: float, holds: Callable[[Box], bool], fails: Callable[[Array], bool] | None = None) -> bool:
    """Whether `holds` for boxes that cover all states of a box at which `value` is at most `level`.

    `fails` may show at the centre of a box that the statement is false there, which ends the search early.
    """
    widths = np.array([high - low for low, high in first])
    least = _THINNEST * widths
    waiting, count, decided = [first], 0, 0.0
    while waiting:
        box = waiting.pop()
        count += 1
        found = value(box, lambda side: side[0] > level)
        sides = np.array([high - low for low, high in box])
        relative = np.where(widths > 0, sides / np.where(widths > 0, widths, 1.0), 0.0)
        if (found is not None and found[0] > level) or holds(box):
            decided += float(np.prod(relative[widths > 0]))
            continue
        k = int(np.argmax(relative))
        if count >= MOST_BOXES or sides[k] <= least[k] or (count >= _LEAST_PROGRESS[0] and decided < _LEAST_PROGRESS[1]):
            return False
        centre = middle(box)
        if fails is not None and fails(centre):
            return False
        low, high = box[k]
        waiting += [(*box[:k], (low, float(centre[k])), *box[k + 1 :]), (*box[:k], (float(centre[k]), high), *box[k + 1 :])]
    return True


def faces(box: Box) -> list[Box]:
    """The faces of a box, as boxes without thickness in one direction."""
    return [(*box[:k], (side, side), *box[k + 1 :]) for k in range(len(box)) for side in box[k]]


def equilibrium_box(rates: Enclosed, slopes: Enclosed, centre: Array, units: Array) -> Box | None:
    """A box with exactly one zero of the rates, by Krawczyk's test; the point `centre` if the rates are exactly zero there."""
    n = len(centre)
    here = [(float(c), float(c)) for c in centre]
    at = rates(here)
    if at is None:
        return None
    exact = all(low == 0 == high for low, high in at)
    for radius in _RADII_OF_EQUILIBRIUM:
        steps = [(-radius * u, radius * u) for u in units.tolist()]
        box = tuple(add(c, s) for c, s in zip(here, steps, strict=True))
        jacobian = slopes(box)
        if jacobian is None:
            return None
        middles = middle(jacobian).reshape(n, n)
        try:
            inverse: Array = np.asarray(np.linalg.inv(middles), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        if all(_lies_in(s, t) for s, t in zip(_krawczyk(inverse, at, jacobian, steps), steps, strict=True)):
            return tuple(here) if exact else box
    return None


def _krawczyk(inverse: Array, at: Sequence[Range], jacobian: Sequence[Range], steps: Sequence[Range]) -> list[Range]:
    """-C g(m) + (1 - C J) (box - m), relative to the centre m."""
    n, found = len(at), []
    for i in range(n):
        total: Range = (0.0, 0.0)
        for j in range(n):
            c = (float(inverse[i, j]),) * 2
            total = add(total, multiply((-c[1], -c[0]), at[j]))
            entry: Range = (1.0, 1.0) if i == j else (0.0, 0.0)
            for k in range(n):
                factor = -float(inverse[i, k])
                entry = add(entry, multiply((factor, factor), jacobian[k * n + j]))
            total = add(total, multiply(entry, steps[j]))
        found.append(total)
    return found


def _lies_in(a: Range, b: Range) -> bool:
    return nextafter(b[0], inf) < a[0] and a[1] < nextafter(b[1], -inf)


def one_zero_at_most(jacobian: Sequence[Range] | None, n: int) -> bool:
    """Whether a function with these slopes over a box takes no value twice: the slopes times the inverse of their centre are diagonally
    dominant.
    """
    if jacobian is None or not all(np.isfinite(side) for entry in jacobian for side in entry):
        return False
    try:
        inverse = np.linalg.inv(middle(jacobian).reshape(n, n))
    except np.linalg.LinAlgError:
        return False
    for i in range(n):
        rest = 0.0
        for j in range(n):
            entry: Range = (0.0, 0.0)
            for k in range(n):
                c = float(inverse[i, k])
                entry = add(entry, multiply((c, c), jacobian[k * n + j]))
            if i == j:
                entry = add(entry, (-1.0, -1.0))
            rest = nextafter(rest + max(abs(entry[0]), abs(entry[1])), inf)
        if rest >= 1:
            return False
    return True
