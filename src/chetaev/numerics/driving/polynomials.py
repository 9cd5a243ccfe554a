"""Piecewise polynomials through samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chetaev.core.sampled import GROUP, Sampled

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Polynomials in s = (t - centre)/half between breakpoints, where s runs from -1 to 1."""

    breaks: Array
    """The breakpoints, one more than polynomials, in increasing order."""
    coefficients: Array
    """The coefficients of 1, s, s^2, ..., one row for each polynomial."""

    @property
    def degree(self) -> int:
        """The largest degree."""
        return self.coefficients.shape[1] - 1

    def index(self, t: float, forward: bool) -> int:
        """Return the index of the polynomial with which a motion continues from `t`, forwards or backwards."""
        found = int(np.searchsorted(self.breaks, t, side="right" if forward else "left")) - 1
        return min(max(found, 0), len(self.coefficients) - 1)

    def ends(self, t: float, forward: bool) -> float:
        """Return the breakpoint at which this polynomial ends; infinite if none follows."""
        k = self.index(t, forward)
        if forward:
            return float("inf") if k == len(self.coefficients) - 1 else float(self.breaks[k + 1])
        return float("-inf") if k == 0 else float(self.breaks[k])

    def numbers(self, k: int) -> Array:
        """The centre, half of the length, and the coefficients of a polynomial."""
        a, b = self.breaks[k], self.breaks[k + 1]
        return np.array([(a + b) / 2, (b - a) / 2, *self.coefficients[k]])

    def __call__(self, t: float) -> float:
        centre, half, *c = self.numbers(self.index(t, True))
        return float(np.polynomial.polynomial.polyval((t - centre) / half, c))


def polynomials_of(sampled: Sampled) -> Polynomials:
    """The polynomials of samples, according to their interpolation."""
    times, values = np.array(sampled.times), np.array(sampled.values)
    parts = [_INTERPOLATED[sampled.interpolation](times[list(part)], values[list(part)]) for part in sampled.parts()]
    width = max(rows.shape[1] for _, rows in parts)
    rows = np.vstack([np.pad(found, ((0, 0), (0, width - found.shape[1]))) for _, found in parts])
    breaks = np.concatenate([parts[0][0][:1], *[found[1:] for found, _ in parts]])
    if sampled.interpolation == "hold":  # the last value has an interval too, which never ends
        breaks, rows = np.append(breaks, breaks[-1] + 1), np.vstack([rows, [values[-1]]])
    return Polynomials(breaks, rows)


def _hold(t: Array, u: Array) -> tuple[Array, Array]:
    return t, u[:-1, None]


def _linear(t: Array, u: Array) -> tuple[Array, Array]:
    return t, np.stack([(u[:-1] + u[1:]) / 2, (u[1:] - u[:-1]) / 2], axis=1)


def _cubic(t: Array, u: Array) -> tuple[Array, Array]:
    """The natural spline: its second derivative vanishes at both ends."""
    if len(t) < 3:
        return _linear(t, u)
    h, slope = np.diff(t), np.diff(u) / np.diff(t)
    diagonal, beside = 2 * (h[:-1] + h[1:]), h[1:-1]
    inner = np.zeros(len(t) - 2)
    right = 6 * np.diff(slope)
    for k in range(1, len(inner)):  # Thomas' algorithm; the matrix is diagonally dominant
        factor = beside[k - 1] / diagonal[k - 1]
        diagonal[k] -= factor * beside[k - 1]
        right[k] -= factor * right[k - 1]
    for k in range(len(inner) - 1, -1, -1):
        inner[k] = (right[k] - (beside[k] * inner[k + 1] if k + 1 < len(inner) else 0.0)) / diagonal[k]
    m = np.array([0.0, *inner, 0.0])
    half = h / 2
    low, high = m[:-1] * half**2, m[1:] * half**2  # second derivatives by s
    mean, rise = (u[:-1] + u[1:]) / 2, (u[1:] - u[:-1]) / 2
    return t, np.stack([mean - (low + high) / 4, rise - (high - low) / 12, (low + high) / 4, (high - low) / 12], axis=1)


def _order_8(t: Array, u: Array) -> tuple[Array, Array]:
    """Through the nine samples of every eight intervals."""
    rows = []
    for first in range(0, len(t) - 1, GROUP):
        nodes, values = t[first : first + GROUP + 1], u[first : first + GROUP + 1]
        s = (2 * nodes - nodes[0] - nodes[-1]) / (nodes[-1] - nodes[0])
        rows.append(np.linalg.solve(np.vander(s, increasing=True), values))
    return t[::GROUP], np.array(rows)


_INTERPOLATED = {"hold": _hold, "linear": _linear, "cubic": _cubic, "order 8": _order_8}
