"""The value that `periodic` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.numerics.motion.trajectory import Trajectory

Complex = NDArray[np.complex128]
_PRINTED_AS_REAL = 1e-12
"""Relative: a multiplier with a smaller imaginary part prints as a real number."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Orbit:
    """A periodic orbit with its Floquet multipliers."""

    period: float
    """The time after which the orbit closes."""
    start: Mapping[str, float]
    """The state on the orbit at the first time of `motion`."""
    multipliers: Complex
    """Floquet multipliers on the manifold of states, one for each dimension, the largest first."""
    explained: Complex
    """The multipliers that follow from time, integrals and symmetries: 1, and for a relative orbit those of the group, such as
    `exp(i*theta)` where a period turns the orbit by `theta`."""
    remaining: Complex
    """The other multipliers, on the quotient by the directions of time, integrals and symmetries."""
    shift: Mapping[str, float]
    """For a relative orbit, the displacement after a period by coordinate; empty if the orbit closes."""
    amounts: Mapping[str, float]
    """For a relative orbit, the symmetry that maps its start to its end: `exp` of the sum of these amounts times their fields; empty if the
    orbit closes."""
    motion: Trajectory
    """One period."""
    residual: float
    """The distance between the two ends, relative to the sizes of the jets."""
    title: str
    """The first line of the printed result."""
    found: Mapping[str, float] = field(default_factory=lambda: Frozen({}))
    """The values of the quantities named in `unknown`; empty if none were named."""

    @property
    def trivial(self) -> int:
        """The number of multipliers that time, integrals and symmetries explain."""
        return len(self.explained)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [self.title, f"  period       {self.period:.12g}", f"  residual     {self.residual:.1e}"]
        if self.found:
            lines.append("  found        " + ", ".join(f"{name} {v:.12g}" for name, v in self.found.items()))
        shown = ",  ".join(_text(v) for v in self.multipliers)
        lines.append(f"  multipliers  {shown}")
        lines.append(f"  {self.trivial} of {len(self.multipliers)} explained by time, integrals and symmetries")
        if self.shift:
            lines.append("  shift        " + ", ".join(f"{name} {v:.12g}" for name, v in self.shift.items()))
        if self.amounts:
            lines.append("  symmetry     " + ", ".join(f"{v:.12g} along {name}" for name, v in self.amounts.items()))
        return "\n".join(lines)


def _text(v: complex) -> str:
    if abs(v.imag) <= _PRINTED_AS_REAL * abs(v):
        return f"{v.real:.6g}"
    return f"{v.real:.6g} {'-' if v.imag < 0 else '+'} {abs(v.imag):.6g}i"
