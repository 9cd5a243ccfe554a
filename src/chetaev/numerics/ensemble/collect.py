"""From the results of the stepping loop to an `Ensemble`."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np

from chetaev.core.support.frozen import Frozen
from chetaev.numerics.ensemble.columns import Columns
from chetaev.numerics.ensemble.result import COUNTS, NOT_STARTED, Ensemble
from chetaev.numerics.ensemble.run import Integration
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.motion import outcomes
from chetaev.numerics.motion.outcomes import Ending, locus_near
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.numerics.pieces.piece import Piece, Setting


def collect(run: Integration, alone: Mapping[int, Trajectory], notes: Mapping[int, tuple[Outcome, str]]) -> Ensemble:
    """The ensemble under the names of the system. `alone` holds the motions that `simulate` ran."""
    read, labels = run.read, run.pivoted[0].compiled.labels
    state = run.pivoted[0].compiled.flow.state
    for k, motion in alone.items():
        _insert(run, k, motion)
    status = run.status
    status[list(notes)] = NOT_STARTED
    for column in (run.y, run.low, run.high, run.completion.states):
        column[list(notes)] = np.nan
    for member in map(int, np.flatnonzero(run.cornered)):
        if member not in alone and member not in notes:  # the user interrupted before it started
            status[member] = Status.INTERRUPTED
    usual = {int(s): outcomes.verdict(s, Ending(0.0))[0] for s in Status}
    outcome = np.array([alone[k].outcome if k in alone else notes[k][0] if k in notes else usual[int(s)] for k, s in enumerate(status)])
    flows = tuple(kernels.compiled.flow for kernels in run.pivoted)
    which = np.where(run.cornered, -1, run.which)
    return Ensemble(
        equations=read.switched.original,
        shape=read.shape,
        t=run.at,
        outcome=outcome.astype(object),
        drift=Frozen(zip(labels, run.drift.T.copy(), strict=True)),
        extrema=Frozen({z.name: (run.low[:, k].copy(), run.high[:, k].copy()) for k, z in enumerate(state)}),
        counts=Frozen(zip(COUNTS, run.counts.T.copy(), strict=True)),
        start=Columns(read.switched, read.batch, np.full(read.size, read.t), run.completion.states, flows, which),
        final=Columns(read.switched, read.batch, run.at, run.y, flows, which, alone),
        notes=Frozen({k: text for k, (_, text) in notes.items()}),
        status=status,
        endings=lambda k: alone[k].message if k in alone else _sentence(run, k),
    )


def _insert(run: Integration, k: int, motion: Trajectory) -> None:
    """Replace the loop's result for member `k` by the motion that `simulate` computed."""
    t, state = motion.end
    run.at[k], run.y[k] = t, np.nan
    for j, z in enumerate(run.pivoted[0].compiled.flow.state):
        if z in motion.jets:  # configurations may differ in their states
            run.y[k, j] = state[motion.jets.index(z)]
            run.low[k, j], run.high[k, j] = motion.extrema[z.name]
    labels = run.pivoted[0].compiled.labels
    run.measured[k] = [*[motion.drift_absolute.get(z, np.nan) for z in labels], *[motion.scales.get(z, np.nan) for z in labels]]
    run.counts[k] = [motion.counts[name] for name in COUNTS]
    ended = (int(s) for s in Status if outcomes.verdict(s, Ending(0.0, event="."))[0] is motion.outcome)
    run.status[k] = next(ended, int(Status.FINISHED))  # a motion that is not certified reached its end


def _sentence(run: Integration, k: int) -> str:
    """Return the reason why the loop ended for member `k`, with the singular locus if it met one."""
    status, t = Status(int(run.status[k])), float(run.at[k])
    locus = ""
    if status in (Status.FLOOR, Status.WATCH, Status.NOT_FINITE):
        read = run.read
        binding, compiled = read.bound(k), run.pivoted[run.which[k]].compiled
        configuration = tuple(int(binding.parameters[mode.symbol]) for mode in read.switched.modes)
        setting = Setting(read.switched, configuration, binding, compiled)
        end, first = SimpleNamespace(t=t, y=run.y[k]), run.completion.states[k]
        locus = locus_near(Piece(setting, end, "", None, 0.0, 0.0, read.t, t, first), read.t, setting.named(first))
    return outcomes.verdict(status, Ending(t, run.max_steps, locus=locus))[1]
