"""From the results of the stepping loop to an `Ensemble`.

The members of a large ensemble are integrated block by block, and what remains of a block is written here: so the memory of a run is that
of its result and of one block.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from chetaev.core.support.frozen import Frozen
from chetaev.numerics.ensemble.arguments import Given
from chetaev.numerics.ensemble.batch import Array, Indices
from chetaev.numerics.ensemble.columns import Columns
from chetaev.numerics.ensemble.members import Members
from chetaev.numerics.ensemble.result import COUNTS, NOT_STARTED, Ensemble, PerMember
from chetaev.numerics.ensemble.run import Integration
from chetaev.numerics.ensemble.series import Series
from chetaev.numerics.flow.compiled import Compiled
from chetaev.numerics.flow.elimination import PivotOrder
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.motion import outcomes
from chetaev.numerics.motion.outcomes import Ending, locus_near
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.numerics.smooth_pieces.piece import Piece, Setting


class Collection:
    """The results of all members: those of one block as they are, those of several in arrays for all."""

    t: Array
    status: Indices
    y: Array
    first: Array
    """The states where motions begin."""
    low: Array
    high: Array
    drift: Array
    counts: Indices
    which: Indices
    """The order of elimination of each member; -1 for those that `simulate` ran."""

    def __init__(self, read: Given, series: Array | None, max_steps: int) -> None:
        self.read, self.series, self.max_steps = read, series, max_steps
        self.compiled: dict[PivotOrder, Compiled] = {}
        self.alone: dict[int, Trajectory] = {}
        self.notes: dict[int, tuple[Outcome, str]] = {}

    def add(self, first: int, run: Integration, alone: Mapping[int, Trajectory], notes: Mapping[int, tuple[Outcome, str]]) -> None:
        """Take in the results of a block of members that begins with member `first`. `alone` holds the motions that `simulate` ran."""
        here = slice(first, first + run.read.size)
        for k, motion in alone.items():
            _insert(run, k, motion)
        status = run.status
        status[list(notes)] = NOT_STARTED
        for column in (run.y, run.low, run.high, run.completion.states):
            column[list(notes)] = np.nan
        for member in map(int, np.flatnonzero(run.cornered)):
            if member not in alone and member not in notes:  # the user interrupted before it started
                status[member] = Status.INTERRUPTED
        orders = [kernels.compiled.flow.order for kernels in run.pivoted]
        for order, kernels in zip(orders, run.pivoted, strict=True):
            self.compiled.setdefault(order, kernels.compiled)
        known = list(self.compiled)
        places = np.array([known.index(order) for order in orders])
        found: dict[str, Any] = {
            "t": run.at, "status": status, "y": run.y, "first": run.completion.states, "low": run.low, "high": run.high, "drift": run.drift,
            "counts": run.counts, "which": np.where(run.cornered, -1, places[run.which]),
        }  # fmt: skip
        for name, column in found.items():
            if run.read.size == self.read.size:
                setattr(self, name, column)
                continue
            if not hasattr(self, name):
                setattr(self, name, np.empty((self.read.size, *column.shape[1:]), column.dtype))
            getattr(self, name)[here] = column
        self.alone |= {first + k: motion for k, motion in alone.items()}
        self.notes |= {first + k: note for k, note in notes.items()}

    def ensemble(self, members: Members) -> Ensemble:
        """The ensemble under the names of the system."""
        read, compiled = self.read, read_first(self.compiled, self.read)
        flow = compiled.flow
        usual, first = _outcomes(), int(self.status[0])
        outcome = np.empty(read.size, object)
        outcome.fill(str(usual[first]))
        if (self.status != first).any():
            for s in np.unique(self.status):
                outcome[self.status == s] = str(usual[int(s)])
        for k, motion in self.alone.items():
            outcome[k] = str(motion.outcome)
        for k, (why, _) in self.notes.items():
            outcome[k] = str(why)
        flows = tuple(found.flow for found in self.compiled.values()) or (flow,)
        final = Columns(read.switched, read.batch, self.t, self.y, flows, self.which, self.alone)
        times, settings = members.settings.times, members.settings
        return Ensemble(
            equations=members.equations,
            shape=read.shape,
            t=self.t,
            times=times if settings.series else None,
            outcome=outcome,
            drift=Frozen(zip(compiled.labels, self.drift.T, strict=True)),
            extrema=Frozen({z.name: (self.low[:, k], self.high[:, k]) for k, z in enumerate(flow.state)}),
            counts=Frozen(zip(COUNTS, self.counts.T, strict=True)),
            start=Columns(read.switched, read.batch, np.full(read.size, read.t), self.first, flows, self.which),
            final=final,
            series=None if self.series is None else Series(final, times, self.series, self.alone),
            events=PerMember({k: motion.events for k, motion in self.alone.items() if motion.events}, read.size),
            switches=PerMember({k: motion.switches for k, motion in self.alone.items() if motion.switches}, read.size),
            notes=Frozen({k: text for k, (_, text) in self.notes.items()}),
            status=self.status,
            endings=_Sentences(self, tuple(self.compiled.values())),
            members=members,
            motions=None if settings.slopes is None else Frozen(self.alone),
        )


@cache
def _outcomes() -> Mapping[int, Outcome]:
    """What each status of the loop means for a motion without events."""
    return {int(s): outcomes.verdict(s, Ending(0.0))[0] for s in Status} | {NOT_STARTED: Outcome.INTERRUPTED}


def read_first(compiled: Mapping[PivotOrder, Compiled], read: Given) -> Compiled:
    """The kernels whose state names the columns."""
    return next(iter(compiled.values()), read.batch.compiled)


def _insert(run: Integration, k: int, motion: Trajectory) -> None:
    """Replace the loop's result for member `k` by the motion that `simulate` computed."""
    t, state = motion.end
    run.at[k], run.y[k] = t, np.nan
    for j, z in enumerate(run.pivoted[0].compiled.flow.state):
        if z in motion.jets:  # configurations may differ in their states
            run.y[k, j] = state[motion.jets.index(z)]
            run.low[k, j], run.high[k, j] = motion.extrema[z.name]
    if run.series is not None:
        _insert_series(run, run.series[k], motion)
    labels = run.pivoted[0].compiled.labels
    run.measured[k] = [*[motion.drift_absolute.get(z, np.nan) for z in labels], *[motion.scales.get(z, np.nan) for z in labels]]
    run.counts[k] = [motion.counts[name] for name in COUNTS]
    ended = (int(s) for s in Status if outcomes.verdict(s, Ending(0.0, event="."))[0] is motion.outcome)
    run.status[k] = next(ended, int(Status.FINISHED))  # a motion that is not certified reached its end


def _insert_series(run: Integration, rows: Array, motion: Trajectory) -> None:
    """Write the states of a motion at the times of an ensemble."""
    forward = 1.0 if run.times[-1] > run.times[0] else -1.0
    places = np.searchsorted(forward * run.times, forward * motion.t)
    rows[...] = np.nan
    for j, z in enumerate(run.pivoted[0].compiled.flow.state):
        if z in motion.jets:
            rows[places, j] = motion.states[:, motion.jets.index(z)]


class _Sentences:
    """The reasons why members ended, as sentences that are made when they are read."""

    def __init__(self, of: Collection, compiled: tuple[Compiled, ...]) -> None:
        self._of, self._compiled = of, compiled

    def __call__(self, k: int) -> str:
        found = self._of
        if k in found.alone:
            return found.alone[k].message
        status, t = Status(int(found.status[k])), float(found.t[k])
        locus = ""
        if status in (Status.FLOOR, Status.WATCH, Status.NOT_FINITE):
            read = found.read
            binding, compiled = read.bound(k), self._compiled[found.which[k]]
            configuration = tuple(int(binding.parameters[mode.symbol]) for mode in read.switched.modes)
            setting = Setting(read.switched, configuration, binding, compiled)
            end, first = SimpleNamespace(t=t, y=found.y[k]), found.first[k]
            locus = locus_near(Piece(setting, end, "", None, 0.0, 0.0, read.t, t, first), read.t, setting.named(first))
        return outcomes.verdict(status, Ending(t, found.max_steps, locus=locus))[1]
