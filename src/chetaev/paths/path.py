"""The values that `connect` returns: paths between two ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, overload

from chetaev.core.certificate import Certificate
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.equations import Equations
from chetaev.numerics.motion.trajectory import Trajectory


class Facts(Protocol):
    """The properties of a path; `Candidate` of `ranking` and `Singular` of `strictly_abnormal` implement them."""

    action: float
    start: Mapping[str, float]
    multipliers: Mapping[str, float]
    unknown: Mapping[str, float]
    residual: float
    family: int
    minimum: bool | None

    @property
    def times(self) -> tuple[float, ...]:
        """The conjugate times."""

    @property
    def kind(self) -> str:
        """`normal`, `abnormal` or `both`."""

    def certified(self) -> Trajectory:
        """The motion with its certificate."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """A motion that joins the two ends. Costly properties, such as conjugate times, are computed on first access."""

    facts: Any
    """The implementation of the properties, such as `chetaev.paths.properties.ranking.Candidate`."""

    @cached_property
    def motion(self) -> Trajectory:
        """The motion, an ordinary trajectory whose certificate has an additional check: the first variation of the action."""
        found: Facts = self.facts
        return found.certified()

    @property
    def action(self) -> float:
        """The integral of L; under Herglotz' principle the change of the action variable."""
        return float(self.facts.action)

    @property
    def start(self) -> Mapping[str, float]:
        """The whole state at the start."""
        return Frozen(self.facts.start)

    @property
    def multipliers(self) -> Mapping[str, float]:
        """The multipliers at the start."""
        return Frozen(self.facts.multipliers)

    @property
    def parameters(self) -> Mapping[str, float]:
        """The values of the unknown parameters."""
        return Frozen(self.facts.unknown)

    @property
    def residual(self) -> float:
        """The largest residual of the conditions at the ends, relative to the sizes of the jets."""
        return float(self.facts.residual)

    @property
    def conjugate_times(self) -> tuple[float, ...]:
        """The times at which extremals from the start meet to first order, repeated according to multiplicity.

        Times after the end are included as far as the path was continued. Empty if none was found, or where they are not defined.
        """
        return tuple(self.facts.times)

    @property
    def minimum(self) -> bool | None:
        """Whether the action is a local minimum: no conjugate time before the end, and Legendre's condition; None if that is undecided."""
        found: bool | None = self.facts.minimum
        return found

    @property
    def kind(self) -> str:
        """`normal`, `abnormal`, `both` for a normal extremal on which the end-point map is singular, or `undecided`."""
        return str(self.facts.kind)

    @property
    def family(self) -> int:
        """The dimension of the family of paths with the same ends; 0 for an isolated path."""
        return int(self.facts.family)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the motion."""
        return self.motion.certificate

    @property
    def t(self) -> float:
        """The final time."""
        return float(self.motion.t[-1])

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        word = {True: "a local minimum", False: "not a minimum", None: "undecided whether a minimum"}[self.minimum]
        parts = [f"action {self.action:.12g}", f"residual {self.residual:.1e}", self.kind, word]
        if self.family:
            parts.append(f"one of a family of dimension {self.family}")
        if self.conjugate_times:
            parts.append("conjugate times " + ", ".join(f"{t:.9g}" for t in self.conjugate_times[:3]))
        values = {**self.multipliers, **self.parameters}
        if values:
            parts.append(", ".join(f"{name} = {v:.12g}" for name, v in values.items()))
        return "path: " + "; ".join(parts)


@public
@dataclass(frozen=True, eq=False, repr=False)
class Paths(Sequence[Path]):
    """The paths that were found, ordered by action."""

    equations: Equations
    """The equations of the motions."""
    paths: tuple[Path, ...]
    """The paths, ordered by action."""
    residual: float
    """The largest residual of the best path, or of the best attempt if no path was found."""
    seeds: int
    """The number of seeds that were tried."""
    reason: str = ""
    """Why no path was found, if that is known."""

    @overload
    def __getitem__(self, key: int) -> Path: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Path, ...]: ...

    def __getitem__(self, key: int | slice) -> Path | tuple[Path, ...]:
        return self.paths[key]

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        label = self.equations.system.name or "system"
        if not self.paths:
            why = f"\n  {self.reason}" if self.reason else ""
            return f"{label}: no path found from {self.seeds} seeds; the best attempt misses the ends by {self.residual:.1e}{why}"
        noun = "path" if len(self.paths) == 1 else "paths"
        return "\n".join([f"{label}: {len(self.paths)} {noun} from {self.seeds} seeds", *[f"  {path}" for path in self.paths]])
