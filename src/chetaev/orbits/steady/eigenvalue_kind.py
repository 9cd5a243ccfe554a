"""Eigenvalues of equilibria and steady motions: their real part is the rate of growth, and the trivial one is 0."""

from __future__ import annotations

import numpy as np

from chetaev.numerics.stability.spectrum import Complex
from chetaev.orbits.arclength import Array, Product


class Rates:
    """A curve whose eigenvalues are rates, not multipliers over a period."""

    @staticmethod
    def growth(values: Complex) -> Array:
        """The rates at which disturbances grow."""
        return np.asarray(values).real

    @staticmethod
    def crossings() -> tuple[tuple[str, Product], ...]:
        """Functions of two eigenvalues that vanish where one crosses the axis, and the kinds of these points."""
        return (("branch", lambda p, q: p * q),)

    @staticmethod
    def gap(a: complex, b: complex) -> complex:
        """A smooth function of two eigenvalues that vanishes where they meet: the squared difference."""
        return (a - b) ** 2

    @staticmethod
    def mirrored(v: complex) -> complex:
        """The other eigenvalue of a conservative system's quadruple in the same half-plane."""
        return -v.conjugate()

    @staticmethod
    def from_trivial(values: Complex) -> Array:
        """The distances of eigenvalues from the trivial one, 0."""
        return np.abs(values)

    @staticmethod
    def period(_: Array) -> None:
        """None: equilibria and steady motions have no period."""
        return

    def check(self, _: Array) -> None:
        """Do nothing: only periodic orbits need a check."""

    def carried(self, _: Array) -> dict[str, float]:
        """Empty: only relative equilibria have velocities of symmetries."""
        return {}
