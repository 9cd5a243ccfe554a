"""Motions of regular equations in one piece: what `simulate` does for them, without deciding anything anew.

Code is used once it is made for many calls, which the first calls of `simulate` see to. A motion that does not reach its end, or whose
checks fail, is computed by `chetaev.numerics.motion.run` from its beginning; both give the same bits. After a long one of that kind the
motions of these equations are not tried here again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.enclosures.global_bounds import may_vanish
from chetaev.numerics.enclosures.kernels import nodes_kernel, turns_kernel
from chetaev.numerics.flow.compiled import Array, Compiled, Stepping, compile_equations
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.flow.prolongation import Problem, square_prolongation
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.methods.base import NESTED, Method, Wide, angles_of, columns_read, ends_kernel
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.motion.certification import Net
from chetaev.numerics.motion.outcomes import Ending, verdict
from chetaev.numerics.motion.progress import Progress
from chetaev.numerics.motion.quick.short_runs import Short, ShortRuns
from chetaev.numerics.motion.record import Record, keep_of
from chetaev.numerics.motion.series_runs import MOST_LOST_STEPS, SeriesRuns
from chetaev.numerics.motion.trajectory import Trajectory, with_late_records
from chetaev.numerics.slopes.augmented import slopes_with_state
from chetaev.numerics.slopes.directions import Directions, given_slopes, read_directions
from chetaev.numerics.slopes.start_slopes import first_slopes
from chetaev.numerics.slopes.variation import from_lanes
from chetaev.numerics.smooth_pieces.piece import Piece, Setting
from chetaev.numerics.smooth_pieces.request import Request
from chetaev.numerics.start.clear_states import Clear, clear_states
from chetaev.numerics.start.conditions import Alone
from chetaev.numerics.start.data import Data, read_state
from chetaev.numerics.verdict.branch_choice import decided_by_numbers

_MOST_INSTRUCTIONS = 5000
"""Most instructions of the rates of a system here. A run first checks for interruption after 64 steps, a few milliseconds at this size."""
_PIECES: Remembered[OnePiece | None]


@dataclass(frozen=True)
class Wanted:
    """The arguments of a simulation that differ from call to call."""

    times: Array
    accuracy: Accuracy
    final: bool
    max_steps: int
    max_step: float
    slopes: Sequence[str] | None = None
    method: Method | None = None
    """Taylor series, for which only the end is kept; None for the explicit method."""


class OnePiece:
    """Motions of compiled equations without corners."""

    def __init__(self, switched: Switched, compiled: Compiled, clear: Clear, inputs: Frozen[str, Expr]) -> None:
        self.switched, self.compiled, self.flow, self.clear, self.inputs = switched, compiled, compiled.flow, clear, inputs
        self._codes: dict[tuple[bool, bool, bool], dop853.Code] = {}
        self._last: tuple[tuple[Accuracy, float, int, tuple[int, ...]], dop853.Limits] | None = None
        self.useful = True
        """Whether motions are tried here: not after a long one had to begin anew."""
        self.nodes = False
        """Whether the checks of a motion needed its nodes; the next ones keep them, as in `chetaev.numerics.motion.run`."""
        self.series = None if inputs or compiled.flow.inputs or compiled.flow.system.added else SeriesRuns(compiled)
        """Runs by Taylor series."""
        self.short = None if inputs or compiled.flow.inputs else ShortRuns(compiled)
        """Runs that keep their ends only; None where inputs drive the motion, which are computed in another way where it begins."""

    @cached_property
    def ready(self) -> bool:
        """Whether code for many calls exists; asked again until it does."""
        compiled = self.compiled
        nodes, used = nodes_kernel(self.flow, self.inputs).kernel, compiled.stepping
        kernels = (used.rhs, used.project, compiled.measure, compiled.watch(), nodes)
        if any(kernel is not None and kernel.provisional for kernel in kernels):
            raise NotReady
        return True

    def motion(
        self, start: State | Mapping[str, object], binding: Binding, wanted: Wanted, where: str, progress: Progress
    ) -> Trajectory | None:
        """The motion from a user's data, or the part of it before Ctrl-C; None if anything about it is in doubt."""
        t0 = float(wanted.times[0])
        data = read_state(self.switched.original, start, binding, where, expressions=True)
        if data.demands or not {*data.fixed, *data.guess} <= self.clear.places or (data.guess and wanted.slopes is not None):
            return None
        state = self._state(Problem(self.clear.system, binding, t0, where), data)
        if state is None:
            return None
        if wanted.method is not None:
            return self._by_series(state, binding, wanted, wanted.method, where, progress)
        if wanted.final and wanted.slopes is None and self.short is not None and self.short.useful:
            found = self._in_short(state, binding, wanted, self.short)
            if found is not None:
                return found
        jets = dict(zip(self.flow.state, state.tolist(), strict=True))
        here = Setting(self.switched, (), binding, self.compiled)
        y, p = here.native(jets, 0.0), here.parameters(t0)
        pivot = float(self.compiled.watch()(t0, y, p)[1])
        if not pivot > WORST_PIVOT:
            return None
        energy = p[-1] = float(self.compiled.measure(t0, y, p)[len(self.compiled.labels) - 1])
        directions = None if wanted.slopes is None else read_directions(wanted.slopes, self.switched.original, start, binding, where)
        wide = None if directions is None else self._wide(here, jets, start, binding, directions, wanted.times, where)
        run = self._run(here, y, p, WORST_PIVOT * min(1.0, pivot), wanted, progress, wide)
        if run.status not in (dop853.Status.FINISHED, dop853.Status.INTERRUPTED):
            self.useful = run.accepted <= MOST_LOST_STEPS
            return None
        tolerance = wanted.accuracy.relative
        piece = Piece(here, run, NESTED, self.compiled.project, energy, 0.0, t0, float(run.t), y)
        if wide is None and not wanted.final and run.status is dop853.Status.FINISHED and self._is_well(piece, p, wanted):
            return self._late(
                lambda: self._recorded(piece, Net(tolerance, True), wanted), tolerance, run.nodes, run.states, piece.end, run.y
            )
        net = Net(tolerance, True)
        motion = self._recorded(piece, net, wanted, directions, wide)
        if (motion.certificate.ok and not net.unsettled) or run.status is dop853.Status.INTERRUPTED:
            return motion
        self.useful = run.accepted <= MOST_LOST_STEPS
        self.nodes = self.nodes or net.unsettled
        return None

    def _state(self, problem: Problem, data: Data) -> Array | None:
        """The jets of the state; None if there is no clear state with these data."""
        if data.guess:
            jets = self.clear.completed(problem, data)
            return None if jets is None else np.array([jets[z] for z in self.flow.state])
        found = self.clear.numbers(Alone(problem, self.flow.state), data.fixed)
        return None if found is None else found[0][0]

    def _in_short(self, state: Array, binding: Binding, wanted: Wanted, short: ShortRuns) -> Trajectory | None:
        """The end of a motion of not too many steps; None if anything about it is in doubt."""
        interval, tolerance = (float(wanted.times[0]), float(wanted.times[-1])), wanted.accuracy.relative

        def choice(lasting: bool) -> tuple[bool, dop853.Code]:
            touching = not lasting and self._touching(binding, interval)
            return touching, self._code(lasting, touching, self.compiled.stepping)

        limits = self._limits(wanted.accuracy, wanted.max_step, wanted.max_steps, self.compiled.stepping)
        values = np.array([binding.parameters[z] for z in self.flow.system.equations.system.parameters])
        ended = short.run(state, values, Short(*interval, limits, tolerance), choice)
        if ended is None:
            return None

        def records() -> Trajectory:
            here, first = Setting(self.switched, (), binding, self.compiled), np.zeros(self.flow.size)
            first[: len(state)] = state
            run = short.as_run(ended)
            piece = Piece(here, run, NESTED, self.compiled.project, ended.energy, 0.0, interval[0], run.t, first)
            return self._recorded(piece, Net(tolerance, True), wanted)

        t, end = ended.clock[codes.NOW], ended.row[: self.flow.size]
        return self._late(records, tolerance, np.array([t]), np.array([end]), t, end)

    def _by_series(
        self, state: Array, binding: Binding, wanted: Wanted, method: Method, where: str, progress: Progress
    ) -> Trajectory | None:
        """The end of a motion by Taylor series; None if anything about it is in doubt."""
        series, accuracy = self.series, wanted.accuracy
        if series is None:
            return None
        request = Request(
            self.switched,
            binding,
            wanted.times,
            accuracy.relative,
            method,
            (),
            False,
            True,
            wanted.max_steps,
            wanted.max_step,
            where,
            accuracy,
        )
        found = series.follow(Setting(self.switched, (), binding, self.compiled), state, request, progress)
        if found is None:
            return None
        piece, tolerance = found.piece, accuracy.relative
        t, states = np.array([piece.end]), np.array([piece.run.y])
        if found.well:
            return self._late(
                lambda: self._recorded(piece, Net(tolerance, method.smooth), wanted), tolerance, t, states, piece.end, piece.run.y
            )
        net = Net(tolerance, method.smooth)
        motion = self._recorded(piece, net, wanted)
        if (motion.certificate.ok and not net.unsettled) or piece.run.status is dop853.Status.INTERRUPTED:
            return motion
        series.gave_up(piece.run)
        return None

    def _is_well(self, piece: Piece, p: Array, wanted: Wanted) -> bool:
        """Whether quick checks find no doubt about a motion."""
        short = self.short
        return short is not None and short.useful and short.is_well(piece.run, piece.first, p, piece.begin, wanted.accuracy.relative)

    def _late(self, records: Callable[[], Trajectory], tolerance: float, t: Array, states: Array, end: float, last: Array) -> Trajectory:
        """A motion that reached its end and passed its checks; `records` returns all of it."""
        outcome, message = verdict(dop853.Status.FINISHED, Ending(end))
        return with_late_records(
            records,
            equations=self.switched.original,
            t=np.array(t),
            states=np.array(states),
            end=(end, last.copy()),
            jets=self.flow.state,
            outcome=outcome,
            message=message,
            events=(),
            tolerance=tolerance,
            pieces=np.zeros(len(t), np.int64),
        )

    def _recorded(
        self, piece: Piece, net: Net, wanted: Wanted, directions: Directions | None = None, wide: Wide | None = None
    ) -> Trajectory:
        """The records of a motion, which the net checks."""
        dense = not wanted.final and len(wanted.times) == 2
        record = Record(self.switched, piece.setting.binding, wanted.final, dense, wanted.accuracy.relative, net)
        record.directions = directions
        record.add(piece)
        if wide is not None and directions is not None:
            net.differentiated(piece, directions, from_lanes(wide.usual, len(directions)))
        return record.joined(self.flow.state, verdict(dop853.Status(piece.run.status), Ending(piece.end)))

    def _touching(self, binding: Binding, interval: tuple[float, float]) -> bool:
        """Whether a pivot may vanish at some state."""
        return may_vanish(self.flow, {z: (v, v) for z, v in binding.parameters.items()}, interval)

    def _wide(
        self, here: Setting, jets: Mapping[Jet, float], start: Any, binding: Binding, directions: Directions, times: Array, where: str
    ) -> Wide:
        """The slopes that are integrated together with the state."""
        t0 = float(times[0])
        slopes = first_slopes(here, t0, jets, given_slopes(self.switched.original, start, binding, directions, where), directions, where)
        return slopes_with_state(here, t0, jets, slopes, directions, {}, float(times[-1]) - t0, False)

    def _run(
        self, here: Setting, y: Array, p: Array, floor: float, wanted: Wanted, progress: Progress, wide: Wide | None = None
    ) -> dop853.Run:
        lowest = self.compiled.lowest_pivot
        lasting = lowest is not None and bool(lowest(wanted.times[0], y, p)[0] > floor)
        touching = not lasting and self._touching(here.binding, (float(wanted.times[0]), float(wanted.times[-1])))
        watching = dop853.Watching() if lasting else dop853.Watching(terminal=[True, False], floor=[0.0, floor])
        keep = keep_of(wanted.final, wanted.times, self.nodes)
        with progress, ExitStack() as stack:

            def paused(t: float) -> None:
                if not entered:
                    entered.append(stack.enter_context(progress.asking_to_stop()))
                progress.reached(t)

            entered: list[None] = []
            stepping = self.compiled.stepping if wide is None else self.compiled.plain_stepping
            code = self._code(lasting, touching, stepping)
            limits = self._limits(wanted.accuracy, wanted.max_step, wanted.max_steps, stepping)
            round_off = partial(self._round_off, here, float(p[-1]), float(wanted.times[-1] - wanted.times[0]))
            if wide is not None:
                code, limits = self._with(wide, code, lasting), wide.limits(limits)
                y, p = np.concatenate([y, wide.first]), np.concatenate([p, wide.extra])
            found = dop853.run(
                code,
                float(wanted.times[0]),
                float(wanted.times[-1]),
                y,
                p,
                limits,
                watching,
                keep=keep,
                times=wanted.times if keep == dop853.TIMES else (),
                flag=progress.flag,
                paused=paused,
                round_off=round_off,
            )
            reduced = stepping is self.compiled.reduced_stepping
            return found._replace(reduced=reduced) if wide is None else found.narrowed(self.flow.size)

    def _with(self, wide: Wide, code: dop853.Code, lasting: bool) -> dop853.Code:
        """The code of a run with slopes."""
        ends = ends_kernel(wide.rhs, None if lasting else self.compiled.watch(), self.compiled.measure)
        return code._replace(
            rhs=wide.rhs.address,
            project=0 if wide.project is None else wide.project.address,
            ends=0 if ends is None else ends.address,
            boxed=self.flow.size,
            own=self.flow.size,
        )

    def _round_off(self, here: Setting, energy: float, span: float, t: float, y: Array) -> Array:
        """What rounding alone may make of the rates at a state, in a duration; of slopes behind it nothing is known."""
        own = self.compiled.round_off(here.binding, t, y[: self.flow.size], here.parameters(t, energy), span)
        return np.concatenate([own, np.zeros(len(y) - len(own))])

    def _limits(self, accuracy: Accuracy, max_step: float, max_steps: int, stepping: Stepping) -> dop853.Limits:
        key = (accuracy, max_step, max_steps, stepping.like)
        if self._last is None or self._last[0] != key:
            measures = accuracy.measures(self.flow.state, self.flow.size).without_work(self.flow.has_power)
            self._last = key, measures.limits(max_step, max_steps).of_further(self.flow.size, stepping.like)
        return self._last[1]

    def _code(self, lasting: bool, touching: bool, stepping: Stepping) -> dop853.Code:
        """Addresses of the code of a run; pivots that last are not watched."""
        key = lasting, touching, stepping is self.compiled.plain_stepping
        if key not in self._codes:
            compiled = self.compiled
            nodes = nodes_kernel(self.flow, self.inputs).kernel
            turns = turns_kernel(self.flow, self.inputs) if touching else None
            determinant = compiled.determinant if touching else None
            watch = None if lasting else compiled.watch()
            inputs = compiled.inputs(Binding({}, self.inputs))
            ends = ends_kernel(stepping.rhs, watch, compiled.measure)
            used = (stepping.rhs, stepping.project, inputs, watch, compiled.measure, nodes, None, turns, determinant, ends)
            self._codes[key] = dop853.Code(*[0 if kernel is None else kernel.address for kernel in used])._replace(
                first_input=len(self.flow.system.equations.system.parameters),
                n_watch=0 if lasting else 2,
                n_measure=compiled.measure.n_out,
                n_nodes=0 if nodes is None else nodes.n_out // 2,
                columns=tuple(columns_read(self.flow.size, nodes, None, turns)),
                boxed=self.flow.size,
                angles=angles_of(compiled, stepping, inputs, watch),
                doubting=doubting(stepping.rhs, inputs, len(self.flow.system.equations.system.parameters), often=True),
                begin=0 if stepping.begin is None else stepping.begin.address,
                like=stepping.like,
            )
        return self._codes[key]


class NotReady(Exception):
    """Code for many calls is not made yet."""


def one_piece(equations: Equations, inputs: Mapping[str, Expr], method: Method | None = None) -> OnePiece | None:
    """Motions in one piece of equations that determine them, once their code is made for many calls; None otherwise; cached."""
    driven = Frozen(inputs)
    found = _PIECES.get(equations, driven, lambda: _one_piece(equations, driven))
    if method is not None:
        return found if found is not None and found.series is not None and found.series.useful and found.series.ready else None
    try:
        return found if found is not None and found.useful and found.ready else None
    except NotReady:
        return None


def _one_piece(equations: Equations, inputs: Frozen[str, Expr]) -> OnePiece | None:
    switched = smooth(equations, inputs)
    if switched.modes:
        return None
    stated = square_prolongation(equations)
    if stated is None or stated.generic_nullity is None or not decided_by_numbers(equations):
        return None  # where random states do not settle it, as for linkages, the given state decides: no search for consequences
    compiled = compile_equations(equations)  # which may remember other rows than `square_prolongation` does now
    clear = clear_states(compiled.flow.system)
    if clear is None:
        return None
    fits = clear.system is compiled.flow.system and compiled.rhs.instructions <= _MOST_INSTRUCTIONS
    return OnePiece(switched, compiled, clear, inputs) if fits else None


_PIECES = Remembered(64)
