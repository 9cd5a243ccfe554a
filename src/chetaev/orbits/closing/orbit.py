"""A periodic orbit: what is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chetaev.core.support.frozen import Frozen
from chetaev.numerics.motion.trajectory import Trajectory

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False, repr=False)
class Orbit:
    """A periodic orbit."""

    period: float
    """The time after which it closes."""
    start: Mapping[str, float]
    """A state on it, at the first time of `motion`."""
    multipliers: Complex
    """Floquet's multipliers on the manifold of states, the largest first: one for each dimension."""
    explained: Complex
    """The multipliers that time, integrals and symmetries explain: 1, and for a relative orbit those of the group, such as
    `exp(i*theta)` where a period turns the orbit by `theta`."""
    remaining: Complex
    """The other multipliers, on what is left when time, integrals and symmetries are divided out."""
    shift: Mapping[str, float]
    """The displacement after a period, by coordinate, of a relative orbit; empty if the orbit closes."""
    amounts: Mapping[str, float]
    """The symmetry that carries the start of a relative orbit into its end, `exp` of the sum of these amounts times their fields; empty if
    the orbit closes."""
    motion: Trajectory
    """One period."""
    residual: float
    """The distance between the two ends, relative to the sizes of the jets."""
    title: str
    found: Mapping[str, float] = field(default_factory=lambda: Frozen({}))
    """The values of what was `unknown`, by name; empty if nothing was named."""

    @property
    def trivial(self) -> int:
        """How many multipliers time, integrals and symmetries explain."""
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
    if abs(v.imag) <= 1e-12 * abs(v):
        return f"{v.real:.6g}"
    return f"{v.real:.6g} {'-' if v.imag < 0 else '+'} {abs(v.imag):.6g}i"
