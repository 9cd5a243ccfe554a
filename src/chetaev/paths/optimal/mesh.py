r"""Intervals, collocation points, and the shapes of inputs on them.

An input of which no derivative occurs is linear on each interval and may jump between intervals; one whose first derivative occurs is
piecewise linear; one whose second derivative occurs is a natural cubic spline, whose values and second derivatives are unknowns.
These are the interpolations of `Sampled`, so that a simulation uses exactly the inputs that were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from chetaev.paths.optimal.problem import Array

STAGES = 4
"""Number of collocation points in an interval, the last one at its end (Radau IIA, order 7). More points make the program denser."""


@lru_cache(maxsize=1)
def _lagrange() -> tuple[np.poly1d, ...]:
    """The Lagrange polynomials through 0 and the collocation points."""
    nodes = np.array([0.0, *ca.collocation_points(STAGES, "radau")])
    others = [np.delete(nodes, i) for i in range(len(nodes))]
    return tuple(np.poly1d(np.poly(rest) / np.prod(nodes[i] - rest)) for i, rest in enumerate(others))


def basis_at(tau: Array) -> tuple[Array, Array]:
    """The polynomials of `_lagrange` and their derivatives at points, in arrays points x polynomials."""
    return tuple(np.stack([f(tau) for f in family], axis=1) for family in (_lagrange(), [p.deriv() for p in _lagrange()]))  # type: ignore[return-value]


@lru_cache(maxsize=1)
def collocation() -> tuple[Array, Array, Array]:
    """Points in (0, 1], the derivatives of the Lagrange polynomials through 0 and these points, and weights of the integral."""
    points = np.array(ca.collocation_points(STAGES, "radau"))
    slopes: Array = np.array([basis.deriv()(points) for basis in _lagrange()])
    moments = 1 / np.arange(1, STAGES + 1)
    weights = np.asarray(np.linalg.solve(np.vander(points, increasing=True).T, moments), dtype=np.float64)
    return points, slopes, weights


@dataclass(frozen=True, eq=False)
class Mesh:
    """The intervals as fractions of the duration, and which of the inner nodes may move."""

    widths: Array
    movable: tuple[bool, ...]
    """For each inner node, whether the search may move it."""

    def __len__(self) -> int:
        return len(self.widths)

    @staticmethod
    def uniform(n: int) -> Mesh:
        """Equal intervals."""
        return Mesh(np.full(n, 1.0 / n), (False,) * (n - 1))

    @cached_property
    def nodes(self) -> Array:
        """The nodes from 0 to 1."""
        found = np.concatenate([[0.0], np.cumsum(self.widths)])
        found[-1] = 1.0
        return found

    def points(self) -> Array:
        """The collocation points, all intervals in one row."""
        c = collocation()[0]
        return (self.nodes[:-1, None] + self.widths[:, None] * c[None, :]).ravel()


def unknowns_of(order: int, n: int) -> int:
    """The number of unknowns of an input on n intervals."""
    return 2 * n if order == 0 else n + 1 if order == 1 else 2 * (n + 1)


def jets_on(order: int, u: Any, n: int, taus: Array, h: Any) -> list[Any]:
    """The jets of an input at the fractions `taus` of every interval, as rows for all intervals; `h` has the lengths of the intervals.

    `u` are the unknowns in units of the input. For order 0 these are the values at both ends of every interval, for order 1 the values at
    the nodes, for order 2 also the second derivatives, in units of the input over the square of the mean interval.
    """
    k = len(taus)
    spread = ca.kron(ca.DM.eye(n), ca.DM.ones(1, k))
    tau = ca.DM(np.tile(taus, n)).T
    if order == 0:
        a, b = (u[0:n].T @ spread, u[n : 2 * n].T @ spread)
        return [a * (1 - tau) + b * tau]
    a, b, long = u[0:n].T @ spread, u[1 : n + 1].T @ spread, h @ spread
    if order == 1:
        return [a * (1 - tau) + b * tau, (b - a) / long]
    m = u[n + 1 :]
    p, q = m[0:n].T @ spread, m[1 : n + 1].T @ spread
    value = a * (1 - tau) + b * tau + long**2 / 6 * (((1 - tau) ** 3 - (1 - tau)) * p + (tau**3 - tau) * q)
    slope = (b - a) / long + long / 6 * ((1 - 3 * (1 - tau) ** 2) * p + (3 * tau**2 - 1) * q)
    return [value, slope, (1 - tau) * p + tau * q]
