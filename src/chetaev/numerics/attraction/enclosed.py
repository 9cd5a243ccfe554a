"""Bounds of expressions over boxes of states, with outward rounding; None where a function jumps or leaves its domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.symbols import Jet
from chetaev.numerics.enclosures.ranges import NoValue, Range, add, multiply, ranges
from chetaev.numerics.graphs.algebra import GraphAlgebra

Box = tuple[Range, ...]
Array = NDArray[np.float64]
_ROUNDING_OF_CENTRE = 4e-16
"""Relative: more than the rounding error of the centre of an interval, a sum of two products; with less, matrices would not be enclosed."""


def around(value: float) -> Range:
    """The neighbours of a double: the number that a decimal text means lies between them."""
    whole = float(value).is_integer() and abs(value) < 2**53
    return (value, value) if whole else (nextafter(value, -inf), nextafter(value, inf))


class Enclosed:
    """Expressions in jets that move over a box and in symbols with fixed ranges."""

    def __init__(self, graph: GraphAlgebra, expressions: Sequence[Any], jets: Sequence[Jet], fixed: Mapping[Symbol, Range]) -> None:
        symbols = [*jets, *[z for z in fixed if z not in jets]]
        self._program = graph.program(list(expressions), symbols)[0]
        self._fixed = [fixed[z] for z in symbols[len(jets) :]]

    def __call__(self, box: Sequence[Range]) -> list[Range] | None:
        """The ranges; None where an expression may have no value, or may jump."""
        try:
            found = ranges(self._program, [*box, *self._fixed])
        except NoValue:
            return None
        return None if found.partial or found.jumps else found.found


def middle(box: Sequence[Range]) -> Array:
    """The centre of a box."""
    return np.array([0.5 * low + 0.5 * high for low, high in box])


def hull(box: Sequence[Range], other: Sequence[Range]) -> Box:
    """The smallest box that contains both."""
    return tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(box, other, strict=True))


def inside(box: Sequence[Range], other: Sequence[Range]) -> bool:
    """Whether a box lies in another one."""
    return all(b[0] <= a[0] and a[1] <= b[1] for a, b in zip(box, other, strict=True))


def total(parts: Sequence[Range]) -> Range:
    """The range of a sum."""
    found: Range = (0.0, 0.0)
    for part in parts:
        found = add(found, part)
    return found


def both(a: Range, b: Range) -> Range:
    """The intersection of two ranges of one number."""
    return max(a[0], b[0]), min(a[1], b[1])


class Bounded:
    """One expression over a box, by its ranges and by those of its slopes: f(m) + f'(box) (box - m), which is narrow for small boxes."""

    def __init__(self, graph: GraphAlgebra, expression: Any, jets: Sequence[Jet], fixed: Mapping[Symbol, Range]) -> None:
        self._value = Enclosed(graph, [expression], jets, fixed)
        self._slopes = Enclosed(graph, graph.gradient(expression, jets), jets, fixed)

    def __call__(self, box: Sequence[Range], enough: Callable[[Range], bool] | None = None) -> Range | None:
        """The range, or None where the expression may have no value; slopes are not computed if the plain range is narrow `enough`."""
        plain = self._value(box)
        if plain is None or (enough is not None and enough(plain[0])):
            return None if plain is None else plain[0]
        slopes = self._slopes(box)
        if slopes is None:
            return plain[0]
        centre = middle(box)
        there = self._value([(c, c) for c in centre.tolist()])
        if there is None:
            return plain[0]
        steps = [add(side, (-c, -c)) for side, c in zip(box, centre.tolist(), strict=True)]
        return both(plain[0], total([there[0], *[multiply(s, h) for s, h in zip(slopes, steps, strict=True)]]))


def symmetric_part(entries: Sequence[Range], n: int) -> tuple[Array, Array]:
    """Centres and radii of the symmetric part of an n x n matrix of ranges."""
    centres, radii = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            low, high = add(entries[i * n + j], entries[j * n + i])
            centres[i, j] = 0.25 * low + 0.25 * high
            radii[i, j] = nextafter(0.25 * (high - low), inf) + _ROUNDING_OF_CENTRE * abs(centres[i, j])
    return centres, radii


def negative_definite(entries: Sequence[Range] | None, n: int, units: Array) -> bool:
    """Whether all matrices in the ranges have a negative definite symmetric part: the largest eigenvalue of the centres and the largest sum
    of a row of radii bound the eigenvalues of each (J. Rohn, Reliable Computing 2005); a margin covers the rounding of the eigenvalues.
    """
    if entries is None or not all(np.isfinite(side) for entry in entries for side in entry):
        return False
    centres, radii = symmetric_part(entries, n)
    scale = np.outer(units, units)
    centres, radii = centres * scale, radii * scale
    return bool(np.linalg.eigvalsh(centres)[-1] + radii.sum(axis=1).max() + _EIGENVALUE_MARGIN * np.abs(centres).sum() < 0)


_EIGENVALUE_MARGIN = 1e-12
"""Relative to the sum of all entries: more than the rounding error of computed eigenvalues, so that proofs allow for it."""
