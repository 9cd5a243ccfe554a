"""Motions by Taylor series that keep their ends only: what `chetaev.numerics.motion.run` does for regular equations in one piece, without
deciding anything anew.

The method runs the same task. Quick checks, which are at least as strict as the certificate (`quick.short_runs`), decide whether the motion
is well; then its certificate and its other records are computed when they are read. A motion in doubt is recorded and checked at once, and
left to `run` if its checks fail or want more than is kept.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from chetaev.numerics.enclosures.kernels import nodes_kernel
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.machine.kernels import Kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import Method, Task
from chetaev.numerics.methods.taylor import Taylor
from chetaev.numerics.motion.progress import Progress
from chetaev.numerics.motion.quick.short_runs import ShortRuns
from chetaev.numerics.motion.record import wanted_times
from chetaev.numerics.motion.watched_functions import Watching, make_task
from chetaev.numerics.smooth_pieces.piece import Piece, Setting
from chetaev.numerics.smooth_pieces.request import Place, Request

_NOTHING_WATCHED = Watching((), (), None)


class Followed(NamedTuple):
    """A run to the end of an interval, or until Ctrl-C."""

    piece: Piece
    well: bool
    """Whether nothing about it is in doubt."""


class SeriesRuns:
    """Runs of compiled equations without corners, inputs and consequences that need other pivots somewhere."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.checks = compiled, ShortRuns(compiled, compiled.plain_stepping)
        self.useful = True
        """Whether motions are tried here: not after a long one had to begin anew."""

    @cached_property
    def _kernels(self) -> list[Kernel | None]:
        compiled = self.compiled
        return [compiled.rhs, compiled.project, compiled.measure, compiled.watch(), nodes_kernel(compiled.flow, {}).kernel]

    @property
    def ready(self) -> bool:
        """Whether code for many calls exists, which the first motions of `run` make."""
        return not any(kernel is not None and kernel.provisional for kernel in self._kernels)

    def follow(self, here: Setting, state: Array, request: Request, progress: Progress) -> Followed | None:
        """The run from a state; None if it does not reach its end, or its pivots do not suit its start."""
        times, compiled = request.times, self.compiled
        t0, jets = float(times[0]), dict(zip(here.flow.state, state.tolist(), strict=True))
        first = here.native(jets, 0.0)
        if not here.worst_pivot(t0, first) > WORST_PIVOT:
            return None
        energy = compiled.energy_at(t0, first, here.parameters(t0))
        task = self._task(Place(here, t0, jets, 0.0, energy), request, progress)
        with progress:
            run = progress.follow(request.method.run, task)
        if run.status not in (dop853.Status.FINISHED, dop853.Status.INTERRUPTED):
            self.gave_up(run)
            return None
        piece = Piece(here, run, request.method.basis, compiled.project, energy, 0.0, t0, float(run.t), first)
        well = run.status is dop853.Status.FINISHED and self.checks.useful
        return Followed(piece, well and self.checks.is_well(run, first, task.p, t0, request.tolerance))

    def _task(self, place: Place, request: Request, progress: Progress) -> Task:
        wanted, end = wanted_times(request.times, place.t, True), float(request.times[-1])
        task = make_task(request, place, end, _NOTHING_WATCHED, self.compiled.project, progress, request.max_steps, wanted)
        return replace(task, accuracy=request.accuracy)

    def gave_up(self, run: dop853.Run) -> None:
        """Note that a motion begins anew."""
        self.useful = run.accepted <= MOST_LOST_STEPS


MOST_LOST_STEPS = 64
"""Most steps of a motion that may be lost, when it begins anew, each time: they take less time than the decisions of a motion."""


def suits(method: Method | None) -> bool:
    """Whether runs of a method are made here: it is the method itself, whose subclasses may do other things."""
    return type(method) is Taylor
