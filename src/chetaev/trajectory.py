"""A trajectory: what a simulation computed, under the names of the system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Expr

from chetaev.equations import Equations
from chetaev.frozen import Frozen
from chetaev.notation import parse_expression
from chetaev.symbols import Jet

Array = NDArray[np.float64]


class Outcome(StrEnum):
    """Why a simulation ended."""

    FINISHED = "finished"
    EVENT = "event"
    LEFT_DOMAIN = "left_domain"
    STEP_TOO_SMALL = "step_too_small"
    DRIFT_EXCEEDED = "drift_exceeded"
    INTERRUPTED = "interrupted"


class Reader(Protocol):
    """What turns states into values of expressions; numerics provides it."""

    def values(self, expression: Expr, times: Array, states: Array) -> Array:
        """An expression along states."""

    def states_at(self, times: Array) -> Array:
        """States between the nodes, on the constraints."""

    @property
    def energy(self) -> Any:
        """The energy and the work done, along states, as a function."""


@dataclass(frozen=True)
class Event:
    """A root of an expression that was met on the way."""

    text: str
    t: float
    state: Frozen[str, float]


@dataclass(frozen=True, repr=False, eq=False)
class Trajectory:
    """Nodes, states and everything that follows from them.

    `motion["x'"]`, `motion["lambda1"]` and `motion["m*x'^2/2"]` are arrays over `motion.t`; `motion.at(t)` is the same at any times.
    """

    equations: Equations
    t: Array
    states: Array
    end: tuple[float, Array]
    """Where the motion ended, kept or not."""
    jets: tuple[Jet, ...]
    outcome: Outcome
    message: str
    drift: Frozen[str, float]
    """The largest residual of every constraint, hidden ones too, and of the energy balance, over all accepted steps."""
    extrema: Frozen[str, tuple[float, float]]
    events: tuple[Event, ...]
    counts: Frozen[str, int]
    reader: Reader = field(compare=False)

    def __getitem__(self, name: str) -> Array:
        return self._column(name, self.t, self.states)

    def at(self, t: ArrayLike) -> Section:
        """The motion at any times within it, interpolated at the method's order and projected onto the constraints."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        return Section(self, times, self.reader.states_at(times), scalar=np.ndim(t) == 0)

    @cached_property
    def final(self) -> Section:
        """The end of the motion; a valid start for another."""
        t, state = self.end
        return Section(self, np.array([t]), state[None, :], scalar=True)

    @cached_property
    def energy(self) -> Array:
        """The energy of the lowered Lagrangian at the nodes."""
        found: Array = self.reader.energy(self.t, self.states)[0]
        return found

    @cached_property
    def balance(self) -> Array:
        """E(t) - E(t0) minus the work done: zero for an exact motion."""
        energy, work = self.reader.energy(self.t, self.states)
        found: Array = energy - energy[0] - (work - work[0])
        return found

    def reaction(self, coordinate: str) -> Array:
        """The generalised reaction on a coordinate, at the nodes."""
        return self.reader.values(self.equations.reaction(coordinate), self.t, self.states)

    def verify(self, points: int = 200) -> Any:
        """A certificate that shares nothing with the solver: the motion inserted into the original rows."""
        from chetaev.numerics.verify import verify

        return verify(self, points)

    def save(self, path: Any) -> Any:
        """Write the motion, with its model, to an .npz file; `chetaev.storage.load` reads it back."""
        from chetaev.storage import save

        return save(self, path)

    def to_pandas(self) -> Any:
        """A data frame over time with all jets and multipliers."""
        from chetaev.storage import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> Any:
        """A data set over time with all jets and multipliers."""
        from chetaev.storage import to_xarray

        return to_xarray(self)

    def _column(self, name: str, times: Array, states: Array) -> Array:
        for k, z in enumerate(self.jets):
            if z.name == name:
                return states[:, k]
        where = f"motion of {self.equations.system.label}"
        return self.reader.values(parse_expression(name, self.equations.vocabulary, where), times, states)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        steps = self.counts["accepted"]
        lines = [f"{self.equations.system.name or 'system'} · {self.equations.principle}"]
        lines.append(f"  {self.outcome}: {self.message}")
        lines.append(f"  up to t = {self.end[0]:g} in {steps} steps, {len(self.t)} kept")
        width = max((len(name) for name in self.drift), default=0)
        lines += [f"  {name:<{width}}  at most {size:.1e}" for name, size in self.drift.items()]
        lines += [f"  event {event.text} = 0 at t = {event.t:.12g}" for event in self.events]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Section(Mapping[str, Any]):
    """A motion at some times: a mapping over the state that reads any expression."""

    motion: Trajectory
    t: Array
    states: Array
    scalar: bool

    def __getitem__(self, name: str) -> Any:
        column = self.motion._column(name, self.t, self.states)
        return float(column[0]) if self.scalar else column

    def __iter__(self) -> Iterator[str]:
        return (z.name for z in self.motion.jets)

    def __len__(self) -> int:
        return len(self.motion.jets)

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {self[name]}" for name in self)
