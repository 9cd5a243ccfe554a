"""The result of an ensemble: the ends of its motions, and the reason of each end."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.display.html import card, columns, facts, number, set_symbol
from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.equations import Equations
from chetaev.numerics.ensemble.batch import Array, Indices, Mask
from chetaev.numerics.ensemble.columns import Columns
from chetaev.numerics.ensemble.members import Members
from chetaev.numerics.ensemble.series import Series
from chetaev.numerics.motion.storage.tables import package, table_names
from chetaev.numerics.motion.trajectory import Outcome, Trajectory

COUNTS = ("accepted", "rejected", "evaluations", "projections", "shortened")
NOT_STARTED = -1
"""The status of a member that never started; numbers of `dop853.Status` are not negative."""


@dataclass(frozen=True)
class Endings:
    """Stored sentences of a pickled ensemble."""

    sentences: tuple[str, ...]

    def __call__(self, member: int) -> str:
        return self.sentences[member]


@public
@dataclass(frozen=True)
class PerMember:
    """What some members have, by member, as a row of tuples: `ensemble.events[3]`."""

    found: Mapping[int, tuple[Any, ...]]
    size: int

    def __getitem__(self, member: int) -> tuple[Any, ...]:
        return self.found.get(range(self.size)[member], ())

    def __len__(self) -> int:
        return self.size


@public
@dataclass(frozen=True, repr=False, eq=False)
class Ensemble:
    """Many motions. `ensemble.final["x'"]` is an array over the members, and so is any expression in their jets.

    With `t=times` of three or more times the states at these are kept, and `ensemble["x'"]` has one row per member and one column per time;
    otherwise `ensemble["x'"]` are the ends. `ensemble[3]` is the motion of member 3, a `Trajectory`, which this access computes again.

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
    times: Array | None
    """The times at which states are kept; None if only the ends are."""
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
    series: Series | None
    """The states at `times`, read by name; `series.states` is the array of members, times and components."""
    events: PerMember
    """The events that each member met, in the order of time: `ensemble.events[3]`."""
    switches: PerMember
    """The switching surfaces that each member met."""
    notes: Frozen[int, str]
    """The reasons why some members did not start."""
    status: Indices
    """How the loop ended, by member, as numbers of `dop853.Status`; -1 for members that never started."""
    endings: Callable[[int], str]
    """The sentence of a member that started."""
    members: Members
    """The data and settings of the members."""
    motions: Frozen[int, Trajectory] | None = field(default=None, repr=False)
    """The motions of the members, if they were differentiated."""

    def slope(self, name: str, by: str) -> Array:
        """The derivative of a jet, a multiplier or an expression by one of the `slopes`: at the ends by member, or by member and time where
        series are kept. NaN without a motion, and after its end.

        Args:
            name: A jet, a multiplier or an expression.
            by: One of the `slopes` of `simulate_many`.

        Raises:
            UsageError: If the ensemble has no slopes, or if `by` is not one of them.
        """
        if self.motions is None:
            where = f"ensemble of {self.equations.system.label}"
            raise UsageError("the ensemble has no slopes.", where=where, hint=SetArgument("slopes", [by], "ch.simulate_many"))
        if self.times is None:
            return np.array([self.motions[k].final.slope(name, by) if k in self.motions else np.nan for k in range(len(self))])
        found = np.full((len(self), len(self.times)), np.nan)
        for k, motion in self.motions.items():
            values = dict(zip(motion.t.tolist(), motion.slope(name, by), strict=True))
            found[k] = [values.get(float(t), np.nan) for t in self.times]
        return found

    def __getitem__(self, name: str | int) -> Any:
        """An array by the name of a jet, or by an expression; or, by its number, the motion of a member."""
        if isinstance(name, str):
            return self.final[name] if self.series is None else self.series[name]
        try:
            k = range(len(self))[operator.index(name)]
        except TypeError:
            what, hint = f"{name!r} is neither a name nor the number of a member.", InPython('ensemble["x"], ensemble[3]')
            raise UsageError(what, where=f"ensemble of {self.equations.system.label}", hint=hint) from None
        if k in self.final.alone:
            return self.final.alone[k]
        return self.members.motion(k)

    def to_xarray(self) -> Any:
        """A data set over the members, and over time if states are kept: jets of the state, multipliers, parameters and outcomes."""
        xarray = package("xarray", "to_xarray")
        dimensions: tuple[str, ...] = ("member",) if self.series is None else ("member", "t")
        columns = {name: (dimensions, values) for name, values in self._table().items()}
        along: dict[str, Any] = {"member": np.arange(len(self)), "outcome": ("member", self.outcome.astype(str))}
        along |= {name: ("member", values) for name, values in self.parameters.items() if name not in columns}
        if self.series is not None:
            along["t"] = self.times
        return xarray.Dataset(columns, along, self._attributes())

    def to_pandas(self) -> Any:
        """A data frame with a row for each member, or for each member and time if states are kept."""
        pandas = package("pandas", "to_pandas")
        members = np.arange(len(self))
        if self.series is None or self.times is None:
            index: Any = pandas.Index(members, name="member")
        else:
            index = pandas.MultiIndex.from_product([members, self.times], names=["member", "t"])
        frame = pandas.DataFrame({name: values.ravel() for name, values in self._table().items()}, index=index)
        frame.attrs.update(self._attributes())
        return frame

    def _table(self) -> dict[str, Any]:
        return {name: self[name] for name in table_names(self.equations, self.final.flows[0].state)}

    def _attributes(self) -> dict[str, str]:
        system = self.equations.system
        lagrangian = system.lagrangian_text or show(system.lagrangian)
        return {"system": system.name, "lagrangian": lagrangian, "principle": str(self.equations.principle)}

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
        """The matrices of a group coordinate at the ends, one for each member; see also `final.quaternion` and `final.velocity`.

        Args:
            name: The name of a group coordinate.

        Raises:
            UsageError: If the system has no group coordinate `name`.
        """
        return self.final.rotation(name)

    def matrix(self, name: str) -> NDArray[Any]:
        """The matrices of a coordinate in any group at the ends, one for each member.

        Args:
            name: The name of a group coordinate.

        Raises:
            UsageError: If the system has no group coordinate `name`.
        """
        return self.final.matrix(name)

    def message(self, member: int) -> str:
        """Why a member ended, or why it did not start.

        Args:
            member: The index of the member; negative ones count from the end.
        """
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

    def _repr_html_(self) -> str:
        spread = []
        for name in self.final if self.started.any() else ():
            ends = np.asarray(self.final[name], dtype=float)
            known = ends[np.isfinite(ends)]
            if len(known):
                spread.append((set_symbol(name), *(number(v) for v in (known.min(), np.median(known), known.max()))))
        table = columns(("at the ends", "least", "median", "greatest"), spread) if spread else ""
        return card(self._title, facts(map(escape, self._facts())), table)

    def __str__(self) -> str:
        return "\n".join([self._title, *(f"  {fact}" for fact in self._facts())])

    @property
    def _title(self) -> str:
        return f"{self.equations.system.name or 'system'} · {self.equations.principle}"

    def _facts(self) -> list[str]:
        """How the motions ended, their steps and drifts, and why some failed, as sentences."""
        counted = Counter(self.outcome[self.started].tolist())
        tally = [f"{counted[o]} {o}" for o in Outcome if counted[o]]
        tally += [f"{int(np.sum(~self.started))} did not start"] * (not self.started.all())
        lines = [f"{len(self)} member{'s' * (len(self) != 1)}: {', '.join(tally)}"]
        steps = self.counts["accepted"]
        lines.append(f"{int(steps.min())} to {int(steps.max())} steps each, {int(steps.sum())} in all")
        width = max((len(name) for name in self.drift), default=0)
        for name, sizes in self.drift.items():
            known = sizes[np.isfinite(sizes)]
            lines.append(f"{name:<{width}}  at most {known.max():.1e}" if len(known) else f"{name:<{width}}  not known")
        lines += [f"member {k}: {self.message(int(k))}" for k in self.failed[:5]]
        if len(self.failed) > 5:
            lines.append(f"… and {len(self.failed) - 5} more; ensemble.failed lists them")
        return lines
