"""Samples of a Python function, dense enough that the polynomials through them agree with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from chetaev.core.errors import ParameterError
from chetaev.core.fixes import InPython
from chetaev.core.sampled import GROUP, Sampled
from chetaev.numerics.driving.polynomials import Array

_FIRST_INTERVALS = 64
"""Intervals with which the search begins. Details narrower than a few hundredths of the duration may be missed; the certificate says so."""
_MOST_INTERVALS = 20_000
"""Most intervals: a function that needs more has no smooth pieces, or oscillates too fast for samples."""
_NARROWEST = 1e-13
"""Length of an interval, relative to the duration, below which it is not divided: the function jumps there, or has a corner."""
_POLYNOMIAL_ERROR = 1e-2
"""Largest error of a polynomial between its samples, relative to the tolerance of the motion."""
_ROUND_OFF_OF_POLYNOMIALS = 1e-13
"""Rounding error of polynomials of degree 8, relative to the function; a smaller error cannot be asked for."""
_NODES = np.cos(np.pi * np.arange(GROUP, -1, -1) / GROUP)
"""The nine nodes of a polynomial between -1 and 1, denser at the ends."""
_BETWEEN = np.array([-0.97, -0.81, -0.52, -0.17, 0.21, 0.57, 0.83, 0.98])
"""Points between these nodes, at which a polynomial is compared with the function."""
_TO_BETWEEN = np.vander(_BETWEEN, GROUP + 1, increasing=True) @ np.linalg.inv(np.vander(_NODES, increasing=True))
"""The matrix from values at the nodes to values of the polynomial at `_BETWEEN`."""


class _Leaf(NamedTuple):
    """An interval with the values at its nodes, and whether its polynomial agrees with the function between them."""

    nodes: Array
    values: Array
    agrees: bool


def samples_of(function: Callable[[float], Any], t0: float, t1: float, tolerance: float, where: str) -> Sampled:
    """Return samples of a function between two times, such that polynomials of degree 8 agree with it within `_POLYNOMIAL_ERROR` times the
    tolerance.

    Intervals are halved until the polynomials agree. Where they do not agree in an interval of the smallest length the function jumps, and
    the samples keep the jump.
    """
    first, last = min(t0, t1), max(t0, t1)
    ends = np.linspace(first, last, _FIRST_INTERVALS + 1).tolist()
    leaves = _leaves(function, list(pairwise(ends)), last - first, tolerance, where)
    jumps = [(leaf.nodes[0], leaf.nodes[-1]) for leaf in leaves[1:-1] if not leaf.agrees]
    if jumps:  # begin again with intervals that end at the jumps, instead of the short ones around them
        leaves = _leaves(function, _between(ends, jumps), last - first, tolerance, where)
    times: list[float] = []
    values: list[float] = []
    for leaf in leaves:
        nodes = [*times[-1:], *leaf.nodes[1:]] if times else leaf.nodes.tolist()  # intervals meet up to round-off; a jump keeps both values
        joined = int(bool(times) and leaf.values[0] == values[-1])
        times += nodes[joined:]
        values += leaf.values[joined:].tolist()
    return Sampled(times, values, f"order {GROUP}", origin="a Python function")


def _between(ends: list[float], jumps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The intervals between given ends and on both sides of jumps."""
    sides = [side for jump in jumps for side in jump]
    cuts = sorted({*[t for t in ends if not any(a <= t <= b for a, b in jumps)], ends[0], ends[-1], *sides})
    return [(a, b) for a, b in pairwise(cuts) if (a, b) not in jumps]


def _leaves(function: Callable[[float], Any], ahead: list[tuple[float, float]], span: float, tolerance: float, where: str) -> list[_Leaf]:
    """The intervals into which given ones are divided, in order."""
    ahead = ahead[::-1]
    found: list[_Leaf] = []
    largest = 0.0
    while ahead:
        a, b = ahead.pop()
        if len(found) + len(ahead) > _MOST_INTERVALS:
            raise ParameterError(
                f"the function differs from more than {_MOST_INTERVALS} polynomials between its samples, near t = {a:g}.",
                where=where,
                why="A function is replaced by polynomials that agree with it; this one is too rough, or not a function of t alone.",
                hint=(
                    InPython("ch.Sampled(times, values)"),
                    ", ",
                    InPython("ch.Feedback(function, period)"),
                    " for a controller, or a formula of t",
                ),
            )
        nodes = _at(a, b, _NODES)
        at_nodes, between = (np.array([_value(function, t, where) for t in times]) for times in (nodes, _at(a, b, _BETWEEN)))
        largest = max(largest, float(np.abs(at_nodes).max()), float(np.abs(between).max()))
        agrees = (
            float(np.abs(_TO_BETWEEN @ at_nodes - between).max()) <= max(_POLYNOMIAL_ERROR * tolerance, _ROUND_OFF_OF_POLYNOMIALS) * largest
        )
        if agrees or b - a <= _NARROWEST * span + 16 * float(np.spacing(max(abs(a), abs(b)))):
            found.append(_Leaf(nodes, at_nodes, agrees))
        else:
            ahead += [((a + b) / 2, b), (a, (a + b) / 2)]
    return found


def _at(a: float, b: float, s: Array) -> Array:
    """The times at positions `s` from -1 to 1 in an interval, its ends exactly."""
    found: Array = np.where(s == -1, a, np.where(s == 1, b, (a + b) / 2 + (b - a) / 2 * s))
    return found


def _value(function: Callable[[float], Any], t: float, where: str) -> float:
    """The value of the user's function; a ParameterError if it is not a finite number."""
    given = function(float(t))
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise ParameterError(
            f"the function returns {type(given).__name__} at t = {t:g}, not a number.", where=where, hint="lambda t: 0.5*t"
        ) from None
    if not math.isfinite(found):
        raise ParameterError(f"the function is {found} at t = {t:g}.", where=where, hint="a function with finite values on the interval")
    return found
