"""The result of an ensemble: the ends of its motions, and the reason of each end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.equations import Equations
from chetaev.numerics.ensemble.batch import Array, Indices, Mask
from chetaev.numerics.ensemble.columns import Columns
from chetaev.numerics.motion.trajectory import Outcome

COUNTS = ("accepted", "rejected", "evaluations", "projections", "shortened")
NOT_STARTED = -1
"""The status of a member that never started; numbers of `dop853.Status` are not negative."""


@dataclass(frozen=True)
class Endings:
    """Stored sentences of a pickled ensemble."""

    sentences: tuple[str, ...]

    def __call__(self, member: int) -> str:
        return self.sentences[member]


@dataclass(frozen=True, repr=False, eq=False)
class Ensemble:
    """The ends of many motions. `ensemble.final["x'"]` is an array over the members, and so is any expression in their jets.

    A member that never started (`started[i]` is False) has NaN for its states; one that failed on the way keeps the state it reached.
    `message(i)` says why a member ended or did not start. Before a member says `finished`, its rates are inserted into the original rows at
    both ends, and its energy balance is checked; the motion between its steps is not stored, and its defect is not checked.
    """

    equations: Equations
    """The equations of the motions."""
    shape: tuple[int, ...]
    """The shape of the arrays that were given; members count in C order."""
    t: Array
    """The time each member reached."""
    outcome: NDArray[Any]
    """Why each member ended, as an array of `Outcome`."""
    drift: Frozen[str, Array]
    """The largest residual of every constraint and of the energy balance, relative to its terms, by member."""
    extrema: Frozen[str, tuple[Array, Array]]
    """The least and the largest value of every jet of the state, by member."""
    counts: Frozen[str, Indices]
    """The numbers of accepted and rejected steps, evaluations, projections and shortened steps, by member."""
    start: Columns
    """The completed initial data."""
    final: Columns
    """The ends; `Columns` are mappings from names to arrays over the members."""
    notes: Frozen[int, str]
    """The reasons why some members did not start."""
    status: Indices
    """How the loop ended, by member, as numbers of `dop853.Status`; -1 for members that never started."""
    endings: Callable[[int], str]
    """The sentence of a member that started."""

    @cached_property
    def failed(self) -> Indices:
        """The members that did not reach the end, whether they started or not."""
        return np.flatnonzero(self.outcome != Outcome.FINISHED)

    @cached_property
    def started(self) -> Mask:
        """Which members had consistent data, and so a motion."""
        return self.status != NOT_STARTED

    @property
    def parameters(self) -> Frozen[str, Array]:
        """The value of every parameter, by member."""
        names = [z.name for z in self.equations.system.parameters]
        return Frozen({name: self.start.batch.p[:, k].copy() for k, name in enumerate(names)})

    def rotation(self, name: str) -> Array:
        """The matrices of a group coordinate at the ends, one for each member; see also `final.quaternion` and `final.velocity`."""
        return self.final.rotation(name)

    def message(self, member: int) -> str:
        """Why a member ended, or why it did not start."""
        k = range(len(self))[member]
        return self.notes.get(k) or self.endings(k)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the sentences instead of the function that makes them."""
        kept = {part.name: getattr(self, part.name) for part in fields(self)}
        return kept | {"endings": Endings(tuple(self.message(k) for k in range(len(self))))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.equations.system.name or 'system'} · {self.equations.principle}"]
        counted = Counter(self.outcome[self.started].tolist())
        tally = [f"{counted[o]} {o}" for o in Outcome if counted[o]]
        tally += [f"{int(np.sum(~self.started))} did not start"] * (not self.started.all())
        lines.append(f"  {len(self)} member{'s' * (len(self) != 1)}: {', '.join(tally)}")
        steps = self.counts["accepted"]
        lines.append(f"  {int(steps.min())} to {int(steps.max())} steps each, {int(steps.sum())} in all")
        width = max((len(name) for name in self.drift), default=0)
        for name, sizes in self.drift.items():
            known = sizes[np.isfinite(sizes)]
            lines.append(f"  {name:<{width}}  at most {known.max():.1e}" if len(known) else f"  {name:<{width}}  not known")
        lines += [f"  member {k}: {self.message(int(k))}" for k in self.failed[:5]]
        if len(self.failed) > 5:
            lines.append(f"  … and {len(self.failed) - 5} more; ensemble.failed lists them")
        return "\n".join(lines)
