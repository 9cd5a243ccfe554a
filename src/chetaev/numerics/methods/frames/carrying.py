"""The method of a motion that carries a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.symbols import Jet
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.machine.packed import Packed
from chetaev.numerics.methods.base import Explicit, Task, Wide
from chetaev.numerics.methods.dop853 import Limits
from chetaev.numerics.methods.dop853.repeated_calls import Room
from chetaev.numerics.methods.dop853.types import Array, Run
from chetaev.numerics.methods.frames.loaded import FRAME_LOOP
from chetaev.numerics.methods.frames.types import Frame, Tally


@dataclass(frozen=True)
class _Columns(Wide):
    """Slopes that are columns of length 1 in units of the jets, and measured by these units."""

    units: Array

    def limits(self, own: Limits) -> Limits:
        """As for all slopes, with sizes that do not depend on what the run shows."""
        n = len(np.asarray(own.kinds))
        found = super().limits(own)
        return found._replace(sizes=np.concatenate([np.asarray(found.sizes)[:n], np.repeat(self.units, self.lanes)]))


class Carrying(Explicit):
    """DOP853 with a frame beside the state.

    Args:
        count: The number of columns, the slopes of the request.
        units: Units of jets in which the columns have length 1.
        momenta: Velocities, and the momenta that count in their place in the volume in which columns are orthonormal.
        begin: The time at the start.
        span: The duration of the motion.
        parts: The number of parts of the motion for which growth is returned separately.
    """

    def __init__(self, count: int, units: Mapping[Jet, float], momenta: Mapping[Jet, Expr], begin: float, span: float, parts: int) -> None:
        self.count, self.units, self.momenta, self.begin, self.span, self.parts = count, units, momenta, begin, span, parts
        self.logs, self.lengths = np.zeros((parts, count)), np.zeros(parts)
        """The logarithms by which columns grew in each part of the motion, and the time that was spent in it."""
        self._tally: Tally | None = None

    def run(self, task: Task) -> Run:
        """Integrate one piece, and add the growth of the columns."""
        if task.wide is None:
            raise ValueError("a frame needs slopes beside the state")
        units = np.array([self.units[z] for z in task.compiled.flow.state])
        kept = {name: getattr(task.wide, name) for name in Wide.__dataclass_fields__}
        done = super().run(replace(task, wide=_Columns(**kept, units=units)))
        if self._tally is not None:
            self.logs += self._tally.logs
            self.lengths += self._tally.lengths
        return done

    def led(self, task: Task) -> Callable[[Room], Callable[[], None]]:
        """The loop that makes the columns orthonormal after each step; every run of a piece begins its sums anew."""
        flow, wide = task.compiled.flow, task.wide
        assert isinstance(wide, _Columns)  # noqa: S101 - made in run
        places = [flow.state.index(z) for z in self.momenta]
        change = _change(flow, self.momenta) if places else None
        n = len(flow.state)
        frame = Frame(
            flow.size,
            wide.lanes,
            0 if change is None else change.address,
            wide.units,
            np.array(places, np.int64),
            np.zeros(len(places) * n),
            np.zeros((self.count, n)),
        )
        last = np.array([task.t0])
        self._tally = tally = Tally(self.begin, self.span / self.parts, np.zeros_like(self.logs), np.zeros_like(self.lengths), last)

        def leader(room: Room) -> Callable[[], None]:
            run, progress = room.run, room.progress
            given = (room.control.pause, progress.clock, progress.counts, room.y, room.work.k, room.p, frame, tally)
            return Packed(FRAME_LOOP.carry, run.entry, run.row, *given)

        return leader


def _change(flow: Flow, momenta: Mapping[Jet, Expr]) -> Kernel:
    """Machine code of the slopes of momenta by the jets of the state, row by row."""
    graph: Any = flow.graph
    slopes = ca.jacobian(ca.vertcat(*map(graph.of, momenta.values())), graph.vector(flow.state))
    return compile_kernel(flow.function([ca.densify(ca.vec(slopes.T))], "momenta"))
