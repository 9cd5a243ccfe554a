"""Short runs that keep their ends only, and quick checks of all runs: what `simulate` does for most motions of regular equations.

A run is accepted if checks that are at least as strict as those of its certificate find no doubt (`checks`): at both ends
the rates satisfy the rows of motion, and rounding hides no row on the state; no pivot is small; the loop reaches the end; the motion
follows the equations inside its steps, with rates that have enough digits; the energy balances. The certificate itself, and the other
records of the motion, are computed if they are read, from what the run left. Any other run is left to `one_piece`, and has the same bits
there. CasADi's own machine evaluates the checks, which shares no code with the kernels, and nothing has to be compiled for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from chetaev.numerics.flow.compiled import Array, Compiled, Stepping
from chetaev.numerics.flow.held_rows import held_rows
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.machine.interpreter import interprets
from chetaev.numerics.machine.kernels import Kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.arguments import places_in_room, seen_in, width_of
from chetaev.numerics.methods.dop853.repeated_calls import Room, state_row, with_stages
from chetaev.numerics.motion import step_evidence
from chetaev.numerics.motion.certification import ROWS, balance_allowed, checked_nodes, left_allowed
from chetaev.numerics.motion.quick.checks import (
    NO_LIMIT,
    Allowed,
    Way,
    hidden_by_rounding,
    in_turn,
    left_in,
    on_the_way,
)
from chetaev.numerics.smooth_pieces.rounding import neighbours

_DOUBTS = 16
"""Runs in doubt, if they are half of all, after which no more are tried: those in doubt are computed twice."""


class Short(NamedTuple):
    """What is asked of a run."""

    t0: float
    t1: float
    limits: dop853.Limits
    tolerance: float


class Ended(NamedTuple):
    """What a run left: copies of the arrays of its room, and its counts."""

    row: Array
    counts: list[int]
    clock: list[float]
    notes: list[float]
    energy: float
    """The energy of the start."""


Choice = Callable[[bool], tuple[bool, dop853.Code]]
"""Given whether pivots last, whether they may vanish somewhere, and the code of the run."""


class ShortRuns:
    """Runs of compiled equations without corners and inputs; every thread has room of its own."""

    def __init__(self, compiled: Compiled, stepping: Stepping | None = None) -> None:
        """`stepping` are the kernels that make the steps; None: those of the explicit method."""
        self.compiled, self.flow, self.stepping = compiled, compiled.flow, stepping or compiled.stepping
        self.states, self.size = len(self.flow.state), self.flow.size
        self.whole = self.size + len(self.stepping.like)
        self.width, self.rows = width_of(self.whole), len(self.flow.system.hidden())
        self.room = len(self.flow.arguments) + 1
        self.beside = neighbours(self.size)
        """Factors that give neighbouring states, a line each."""
        self.calls = self.doubts = 0
        self._threads = threading.local()

    @property
    def useful(self) -> bool:
        """Whether runs are tried: not where programs are not interpreted, which bounds of rounding need, or if most were in doubt."""
        return interprets() and not (self.doubts >= _DOUBTS and 2 * self.doubts > self.calls)

    @cached_property
    def kernels(self) -> list[Kernel]:
        """What is computed at the start, in the order of its results; at the end the first two are enough."""
        lowest = self.compiled.lowest_pivot
        return [self.stepping.at_state, self.compiled.measure, self.compiled.watch(), *([] if lowest is None else [lowest])]

    @cached_property
    def layout(self) -> _Layout:
        """The row of a thread."""
        rates, measures = self.stepping.at_state.n_out, self.compiled.measure.n_out
        rows = self.width + sum(kernel.n_out for kernel in self.kernels)
        seen = width_of(rows + (3 + len(self.beside)) * self.rows)
        return _Layout(self.width + rates, rows, seen, seen + places_in_room(self.whole, measures)[-1])

    @cached_property
    def sound(self) -> ca.Function:
        """Zero where the rates satisfy the rows of motion at a state, and rounding hides no row on it."""
        held, layout = held_rows(self.flow, self.width), self.layout
        t, state_and_rates, p = held.arguments
        row, allowed = ca.SX.sym("row", layout.size), ca.SX.sym("allowed", len(Allowed._fields))
        found = ca.substitute(left_in(held), state_and_rates, row[: state_and_rates.numel()])
        if self.rows:
            found += hidden_by_rounding(row, layout.rows, self.rows, len(self.beside), ROWS)
        return self.flow.graph.function("sound", [t, row, ca.vertcat(p, allowed)], found)

    @cached_property
    def way(self) -> ca.Function:
        """Zero where the motion on the way, and its energy at the end, are in order."""
        layout = self.layout
        row, p = ca.SX.sym("row", layout.size), ca.SX.sym("p", self.room + len(Allowed._fields))
        way = Way(layout.seen, layout.ended, self.whole, self.states, self.compiled.measure.n_out)
        found = sum(on_the_way(row, way, Allowed(*ca.vertsplit(p[self.room :]))), ca.SX(0))
        return ca.Function("way", [ca.SX.sym("t"), row, p], [found])

    def run(self, x: Array, values: Array, asked: Short, choice: Choice) -> Ended | None:
        """The end of a motion from a state; None if anything about it is in doubt."""
        found = self._here.run(x, values, asked, choice)
        self._count(found is None)
        return found

    def is_well(self, run: dop853.Run, first: Array, p: Array, t0: float, tolerance: float) -> bool:
        """Whether nothing about a run that reached its end is in doubt; `first` is the state where it began, with parameters `p`."""
        found = bool(run.looked) and self._here.is_well(run, first, p, t0, tolerance)
        self._count(not found)
        return found

    @property
    def _here(self) -> _Thread:
        """The room of this thread."""
        try:
            here: _Thread = self._threads.found
        except AttributeError:
            here = self._threads.found = _Thread(self)
        return here

    def _count(self, doubtful: bool) -> None:
        self.calls += 1
        self.doubts += doubtful

    def as_run(self, ended: Ended) -> dop853.Run:
        """What a run left, as the loop gives it."""
        n, seen = self.size, seen_in(ended.row[self.layout.seen :], self.whole, self.compiled.measure.n_out)
        accepted, rejected, evaluations, projections, _, _, status, stopper, shortened, _, looked, _ = ended.counts
        nothing = np.empty((0, n))
        return dop853.Run(
            dop853.Status(status),
            stopper,
            ended.clock[codes.NOW],
            ended.row[:n],
            np.empty(0),
            nothing,
            np.empty((0, 7, n)),
            np.empty(0),
            np.empty(0, np.int64),
            nothing,
            seen.minima[:n],
            seen.maxima[:n],
            seen.measured,
            abs(ended.clock[codes.STEP]),
            accepted,
            rejected,
            evaluations,
            projections,
            shortened,
            ended.notes[codes.WORST],
            int(ended.notes[codes.LEAPED_NODE]),
            float(seen.roots[codes.INTEGRAL]),
            seen.inside[: codes.INSIDE, :n],
            looked,
            reduced=self.stepping is self.compiled.reduced_stepping,
        )


class _Layout(NamedTuple):
    """A row: the state, the rates from `ShortRuns.width` on, and then what is computed at an end, and what the loop saw on its way."""

    ended: int
    """The place of the residuals."""
    rows: int
    """The place of what shows whether rounding hides a row."""
    seen: int
    size: int


class _Thread:
    """Room of one thread."""

    def __init__(self, of: ShortRuns) -> None:
        self.of, compiled, layout = of, of.compiled, of.layout
        self.parameters = np.zeros(of.room + len(Allowed._fields))
        self.p, self.allowed = self.parameters[: of.room], self.parameters[of.room :]
        self.row = row = state_row(layout.size)
        self.y, self.whole, self.beside = row[: of.size], row[: of.whole], np.zeros(of.beside.shape)
        self.seen = seen_in(row[layout.seen :], of.whole, compiled.measure.n_out)
        places = np.cumsum([of.width, *[kernel.n_out for kernel in of.kernels]]).tolist()
        rows = [row[first:last] for first, last in pairwise(places)]
        _, self.measured, self.watched, *self.lowest = rows
        calls = [(kernel.early, row, out) for kernel, out in zip(of.kernels, rows, strict=True)]
        self.fault = np.zeros(2)
        sound, way = (of.sound, self.fault[:1]), (of.way, self.fault[1:])
        self._begin = in_turn([*calls, *self._restricting()], [sound], row, self.parameters, most=0)
        self._end = in_turn([*calls[:2], *self._restricting()], [sound, way], row, self.parameters, most=0)
        self.rooms: dict[tuple[bool, bool], tuple[Room, list[Any]]] = {}
        self.judged: tuple[float, int] | None = None

    def _restricting(self) -> list[tuple[int, Array, Array]]:
        """Calls that compute the rows which restrict the state, with bounds of their errors, and beside the state."""
        of, row = self.of, self.row
        restricting, rows, first = of.compiled.restricting, of.rows, of.layout.rows
        if not rows:
            return []
        found = [(doubting(restricting), row, row[first : first + 2 * rows])]
        for k, state in enumerate([row, *self.beside], 2):
            found.append((restricting.early, state, row[first + k * rows : first + (k + 1) * rows]))
        return found

    def run(self, x: Array, values: Array, asked: Short, choice: Choice) -> Ended | None:
        y, p = self.y, self.p
        y[: x.size], y[x.size :], p[: values.size], p[-1] = x, 0.0, values, 0.0
        np.multiply(y, self.of.beside, self.beside)
        self._begin(asked.t0)
        pivot = self.watched.item(1)
        if self.fault.item(0) != 0.0 or not pivot > WORST_PIVOT:
            return None
        energy = p[-1] = self.measured.item(self.measured.size // 2 - 1)
        floor = WORST_PIVOT * min(1.0, pivot)
        lasting = bool(self.lowest) and self.lowest[0].item(0) > floor
        room = self._ready(lasting, floor, asked, choice)
        room.run()
        counts = room.progress.counts.tolist()
        room.after(counts[codes.ACCEPTED])
        if counts[codes.STATUS] != codes.FINISHED or not counts[codes.LOOKED]:
            return None
        self._judge(asked.tolerance, counts[codes.ACCEPTED])
        np.multiply(y, self.of.beside, self.beside)
        self._end(asked.t1)
        if self.fault.tolist() != [0.0, 0.0]:
            return None
        return Ended(self.row.copy(), counts, room.progress.clock.tolist(), room.tube.notes.tolist(), energy)

    def is_well(self, run: dop853.Run, first: Array, p: Array, t0: float, tolerance: float) -> bool:
        nodes = checked_nodes(len(run.nodes), 0)
        self.p[:] = p
        for t, state in ((t0, first), *zip(run.nodes[nodes].tolist(), run.states[nodes], strict=True)):
            self._place(state)
            self._begin(t)
            if self.fault.item(0) != 0.0:
                return False
        n, seen = self.of.size, self.seen
        seen.minima[:n], seen.maxima[:n], seen.measured[:], seen.inside[: codes.INSIDE, :n] = (
            run.minima,
            run.maxima,
            run.measured,
            run.inside,
        )
        self._judge(tolerance, int(run.accepted))
        self._place(run.y)
        self._end(float(run.t))
        return bool(self.fault.tolist() == [0.0, 0.0])

    def _place(self, state: Array) -> None:
        """Write a state, and those beside it."""
        self.y[:] = state
        np.multiply(state, self.of.beside, self.beside)

    def _ready(self, lasting: bool, floor: float, asked: Short, choice: Choice) -> Room:
        """The room of a run that is about to begin; pivots that last are not watched. It pauses where rounding would be looked for."""
        touching, code = choice(lasting)
        key = lasting, touching
        if key not in self.rooms:
            watching = dop853.Watching() if lasting else dop853.Watching(terminal=[True, False])
            code = with_stages(code, self.of.whole)
            room = Room(code, self.whole, self.p, codes.FINAL, 0, roots=False, seen=self.seen)
            room.fill(self.whole.copy(), self.p.copy(), asked.t0, asked.t1, asked.limits, watching, np.empty(0), None)
            self.rooms[key] = room, [asked.t1, asked.limits]
        room, last = self.rooms[key]
        if last[0] != asked.t1 or last[1] is not asked.limits:
            room.set_limits(asked.t1, asked.limits)
            last[:] = asked.t1, asked.limits
        if not lasting:
            room.watches.floor[1] = floor
        room.progress.clock[:] = asked.t0, 0.0
        room.progress.counts[codes.STATUS] = codes.NEW
        room.control.pause[0] = dop853.MANY_STEPS
        return room

    def _judge(self, tolerance: float, steps: int) -> None:
        """Write what a run of some steps may lack."""
        if self.judged != (tolerance, steps):
            self.judged = tolerance, steps
            left = min(left_allowed(tolerance, steps), NO_LIMIT)
            defect, rounding = step_evidence.defect_allowed(tolerance), step_evidence.rounding_allowed(tolerance)
            self.allowed[:] = steps, balance_allowed(tolerance, steps), left, defect, rounding**2
