"""Motions in one piece, with everything decided in advance: from a complete state to values at the end, in compiled code.

What `simulate` decides for every motion is decided once here: the kernels, their pivots, tolerances, room. A motion is accepted only if it
is beyond doubt, by checks that are at least as strict as those of `simulate`: its start satisfies all rows up to round-off, the rates
satisfy the rows of motion at both ends, no pivot is small, the loop reaches the end, the motion follows the equations inside its steps,
and the energy balances. Any other motion is left to `simulate`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Parameter
from chetaev.numerics.enclosures.global_bounds import may_vanish
from chetaev.numerics.enclosures.kernels import nodes_kernel, turns_kernel
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.flow.held_rows import held_rows
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.machine.packed import InTurn
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.methods.base import angles_of, columns_read, ends_kernel
from chetaev.numerics.methods.checked_runs import IN_DOUBT, OTHER_STEPS, WELL, CheckedRun, Judged
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.arguments import places_in_room, seen_in, width_of
from chetaev.numerics.methods.dop853.repeated_calls import Runner, state_row
from chetaev.numerics.methods.dop853.types import Seen
from chetaev.numerics.motion import step_evidence
from chetaev.numerics.motion.certification import balance_allowed, left_allowed, left_at_the_end
from chetaev.numerics.motion.quick.checks import LARGEST, NO_LIMIT, Allowed, Way, in_turn, left_in, on_the_way, placed
from chetaev.numerics.start.direct_completion import ROUND_OFF_RESIDUAL, excesses, positive

_PROJECTIONS = 3
"""Most projections of a start; each squares the relative residual, which is at most 1e-8 at first."""
_CACHE_SIZE = 64
"""Size of the caches by vectors of parameters, and by numbers of steps."""


class Straight:
    """Motions of compiled equations without modes, over one interval, and values of expressions at their ends."""

    def __init__(
        self,
        compiled: Compiled,
        inputs: Mapping[str, Expr],
        interval: tuple[float, float],
        accuracy: Accuracy,
        steps: tuple[int, float],
        outputs: Sequence[ca.SX],
    ) -> None:
        self.compiled, self.flow, self.inputs = compiled, compiled.flow, Frozen(inputs)
        self.t0, self.t1 = interval
        self.tolerance, self.max_steps, self.max_step = accuracy.relative, *steps
        flow = self.flow
        self.measures = accuracy.measures(flow.state, flow.size).without_work(flow.has_power)
        self.states, self.size = len(flow.state), flow.size
        self.stepping = compiled.stepping
        self.whole = self.size + len(self.stepping.like)
        self.width = width_of(self.whole)
        """The room of a state with further velocities."""
        self.parameters, self.room = len(flow.system.equations.system.parameters), len(flow.arguments) + 1
        self.hidden = len(flow.system.hidden())
        self.outputs = compile_kernel(flow.function(outputs, "outputs"))
        self.defect, self.rounding = step_evidence.defect_allowed(self.tolerance), step_evidence.rounding_allowed(self.tolerance) ** 2
        self._touching: dict[bytes, bool] = {}
        self._allowed: dict[int, tuple[float, float]] = {}
        self._threads = threading.local()

    @cached_property
    def layout(self) -> _Layout:
        """The row of a thread."""
        compiled, rates, lowest = self.compiled, self.stepping.at_state, self.compiled.lowest_pivot
        begins = (rates, compiled.measure, compiled.watch(), *([] if lowest is None else [lowest]))
        ends = (rates, compiled.measure, self.outputs)
        behind = max(sum(kernel.n_out for kernel in kernels) for kernels in (begins, ends))
        seen, ended, measures = width_of(self.width + behind), self.width + rates.n_out, compiled.measure.n_out
        return _Layout(begins, ends, ended, ended + measures, seen, seen + places_in_room(self.whole, measures)[-1])

    @cached_property
    def sound(self) -> ca.Function:
        """Zeros where a start is beyond doubt, as a function of the time, the row of a thread, and its parameters: residuals are round-off,
        of the rows on the state, for parameters in their ranges, and of the rows of motion with the rates behind the state; and no pivot is
        small, or becomes so at any state if a bound is known. Then the limit of the pivots.
        """
        flow, system, layout = self.flow, self.flow.system, self.layout
        held = held_rows(flow, self.width)
        below = positive(excesses([system.row(pair) for pair in system.hidden()], ROUND_OFF_RESIDUAL))
        below = ca.substitute(below, flow.x, held.arguments[1][: self.size])
        for k, z in enumerate(system.equations.system.parameters):
            good = ca.fabs(flow.p[k]) <= LARGEST
            below += ca.if_else(ca.logic_and(good, flow.p[k] > 0) if z.is_positive else good, 0, 1)  # 1 for what is no number, too
        t, state_and_rates, p = held.arguments
        row, end = ca.SX.sym("row", layout.size), ca.SX.sym("end", len(_End._fields))
        pivot = row[layout.pivots + 1]
        limit, large = WORST_PIVOT * ca.fmin(1.0, pivot), pivot > WORST_PIVOT
        if self.compiled.lowest_pivot is not None:
            large = ca.logic_and(large, row[layout.pivots + self.compiled.watch().n_out] > limit)
        found = ca.substitute(ca.vertcat(below, left_in(held)), state_and_rates, row[: state_and_rates.numel()])
        return self.flow.graph.function("sound", [t, row, ca.vertcat(p, end)], ca.vertcat(found, ca.if_else(large, 0, 1), limit))

    @cached_property
    def sound_at_the_end(self) -> ca.Function:
        """Zeros where a motion ended well, as a function of the time, the row of a thread, and its parameters with `_End` behind them: the
        rows of motion hold with the rates at the end; the motion follows the equations inside its steps, with rates that have enough
        digits; the energy balances on the way; and at the end.
        """
        held, layout = held_rows(self.flow, self.width), self.layout
        t, state_and_rates, p = held.arguments
        row, end = ca.SX.sym("row", layout.size), ca.SX.sym("end", len(_End._fields))
        way = Way(layout.seen, layout.ended, self.whole, self.states, self.compiled.measure.n_out)
        known = _End(*ca.vertsplit(end))
        allowed = Allowed(known.steps, known.balance_allowed, known.left_allowed, self.defect, self.rounding)
        found = [ca.substitute(left_in(held), state_and_rates, row[: state_and_rates.numel()]), *on_the_way(row, way, allowed)]
        return self.flow.graph.function("sound_at_the_end", [t, row, ca.vertcat(p, end)], ca.vertcat(*found))

    @cached_property
    def input_kernel(self) -> Kernel | None:
        """The inputs at a time."""
        return self.compiled.inputs(Binding({}, self.inputs))

    def run(self, y: Array, p: Array) -> Array | None:
        """Values at the end of the motion from a state; None if anything about it, or about the numbers given, is in doubt."""
        try:
            here: _Thread = self._threads.found
        except AttributeError:
            here = self._threads.found = _Thread(self)
        return here.run(y, p)

    def known_to_touch(self, p: Array) -> bool | None:
        """Whether a pivot may vanish at some state, with these parameters; None if that is not known yet."""
        return self._touching.get(p.tobytes())

    def touching(self, p: Array) -> bool:
        """Whether a pivot may vanish at some state, with these values of the parameters."""
        key = p[: self.parameters].tobytes()
        if key not in self._touching:
            if len(self._touching) >= _CACHE_SIZE:
                self._touching.clear()
            values = zip(self.flow.system.equations.system.parameters, map(float, p), strict=False)
            known = {z: (v, v) for z, v in values if isinstance(z, Parameter)}
            self._touching[key] = may_vanish(self.flow, known, (self.t0, self.t1))
        return self._touching[key]

    def allowed(self, accepted: int) -> tuple[float, float]:
        """The largest errors of the balance after a number of steps: on the way, and at the end."""
        if accepted not in self._allowed:
            if len(self._allowed) >= _CACHE_SIZE:
                self._allowed.clear()
            self._allowed[accepted] = balance_allowed(self.tolerance, accepted), left_allowed(self.tolerance, accepted)
        return self._allowed[accepted]

    def runner(self, lasting: bool, touching: bool, y: Array, p: Array, seen: Seen) -> Runner:
        """Room and code for runs in one thread; pivots that last are not watched."""
        compiled, flow = self.compiled, self.flow
        nodes = nodes_kernel(flow, self.inputs).kernel
        turns = turns_kernel(flow, self.inputs) if touching else None
        determinant = compiled.determinant if touching else None
        watch = None if lasting else compiled.watch()
        stepping = self.stepping
        ends = ends_kernel(stepping.rhs, watch, compiled.measure)
        used = (stepping.rhs, stepping.project, self.input_kernel, watch, compiled.measure, nodes, None, turns, determinant, ends)
        code = dop853.Code(*[0 if kernel is None else kernel.address for kernel in used])._replace(
            first_input=self.parameters,
            n_watch=0 if lasting else 2,
            n_measure=compiled.measure.n_out,
            n_nodes=0 if nodes is None else nodes.n_out // 2,
            columns=columns_read(self.size, nodes, None, turns),
            boxed=self.size,
            angles=angles_of(compiled, stepping, self.input_kernel, watch),
            doubting=doubting(stepping.rhs, self.input_kernel, self.parameters, often=True),
            begin=0 if stepping.begin is None else stepping.begin.address,
            like=stepping.like,
        )
        watching = dop853.Watching() if lasting else dop853.Watching(terminal=[True, False])
        limits = self.measures.limits(self.max_step, self.max_steps).of_further(self.size, stepping.like)
        return Runner(code, y, p, self.t0, self.t1, limits, watching, seen)


class _Layout(NamedTuple):
    """The row of a thread: the state, the values of kernels where a motion begins or ends, and what the loop saw on its way."""

    begins: tuple[Kernel, ...]
    ends: tuple[Kernel, ...]
    """The kernels where a motion begins, and where it ends; their values follow each other."""
    ended: int
    """The place of the residuals at the end, and at the start."""
    pivots: int
    """The place of the determinant and the smallest pivot at the start; what the latter is at least follows."""
    seen: int
    """The place of what the loop saw."""
    size: int


class _End(NamedTuple):
    """Numbers with which the end of a motion is judged."""

    steps: Any
    balance_allowed: Any
    """The largest error of the balance on the way, relative to its terms."""
    left_allowed: Any
    """The largest error of the balance at the end, relative to its terms."""


class _Thread:
    """Room of one thread."""

    def __init__(self, of: Straight) -> None:
        self.of, compiled, layout = of, of.compiled, of.layout
        parameters = np.zeros(of.room + len(_End._fields))
        self.p, self.known = parameters[: of.room], parameters[of.room :]
        self.known[0] = -1.0  # no number of steps
        self._row = row = state_row(layout.size)
        self.y, self._whole = row[: of.size], row[: of.whole]
        self.seen = seen_in(row[layout.seen :], of.whole, compiled.measure.n_out)
        self._state, self._parameters = self.y[: of.states], self.p[: of.parameters]
        begin, (_, self.begun, self.watched, *self.lowest) = placed(layout.begins, row, of.width)
        end, (_, self.ended, self.given) = placed(layout.ends, row, of.width)
        self.sound, self.faults = np.zeros(4), np.zeros(4)
        inputs = [] if of.input_kernel is None else [(of.input_kernel, self.p[of.parameters :])]
        begins, ends = ([(kernel.address, row, out) for kernel, out in [*inputs, *calls]] for calls in (begin, end))
        self._begin = in_turn(begins, [(of.sound, self.sound)], row, parameters)
        self._end = in_turn(ends, [(of.sound_at_the_end, self.faults)], row, parameters)
        self._moved = np.zeros(of.size)
        self._project = None if compiled.project is None else _into(compiled.project, self.y, self.p, self._moved)
        self.balance = len(compiled.labels) - 1
        self.runners: dict[tuple[bool, bool], Runner] = {}
        self.at_once: dict[bool | None, CheckedRun] = {}
        """Runs with their checks in one call, by whether pivots may touch zero."""
        self.doubts = 0
        """Motions that such a run left in doubt."""

    def run(self, y: Array, p: Array) -> Array | None:
        at_once = self.at_once.get(not self.lowest and self.of.known_to_touch(p))
        if at_once is None:
            return self.part_by_part(y, p)
        self._state[:], self._parameters[:] = y, p
        found = at_once()
        if found == OTHER_STEPS:
            self._judge_the_end(at_once.steps)
            found = IN_DOUBT if self.faults.any() else WELL
        if found == WELL:
            return self.given.copy()
        self.doubts += 1
        if self.doubts >= _DOUBTS and 2 * self.doubts > at_once.calls:
            self.at_once.clear()
        return self.part_by_part(y, p)

    def part_by_part(self, y: Array, p: Array) -> Array | None:
        """The end of a motion. Projecting the start, watching pivots and comparing more of the balance may remove doubts."""
        of, values = self.of, self.p
        t0 = of.t0
        self._state[:], self._parameters[:], values[-1] = y, p, 0.0
        if of.states < of.size:
            self.y[-1] = 0.0
        self._begin(t0)
        if self.sound[:2].any() and not self._projected(t0):
            return None
        pivot = self.watched.item(1)
        if not pivot > WORST_PIVOT:
            return None
        begun, values[-1] = self.begun.item(-1), self.begun.item(self.balance)
        floor = WORST_PIVOT * min(1.0, pivot)
        lasting = bool(self.lowest) and self.lowest[0].item(0) > floor
        key = lasting, not lasting and of.touching(values)
        runner = self.runners.get(key)
        if runner is None:
            runner = self.runners[key] = of.runner(*key, self._whole, values, self.seen)
        if not lasting:
            runner.watches.floor[1] = floor
        if runner() != codes.FINISHED:
            return None
        self._judge_the_end(runner.counts.item(codes.ACCEPTED))
        if not self._ended_well(begun):
            return None
        if lasting == bool(self.lowest) and key[1] not in self.at_once and self.doubts < _DOUBTS:
            self._check_at_once(key[1], runner)
        return self.given.copy()

    def _check_at_once(self, touching: bool, runner: Runner) -> None:
        """Prepare runs with their checks in one call, if the checks are compiled."""
        of, begin, end = self.of, self._begin, self._end
        if isinstance(begin, InTurn) and isinstance(end, InTurn):
            nowhere = np.zeros(1)
            work, floor = self.y[-1:] if of.states < of.size else nowhere, runner.watches.floor[1:]
            copied = (self.begun[self.balance :], self.p[-1:]), (self.sound[3:], floor if floor.size else nowhere)
            judged = Judged(begin, self.sound[:3], work, copied, self.known, end, self.faults)
            self.at_once[touching] = CheckedRun(runner, of.t0, of.t1, judged)

    def _judge_the_end(self, steps: int) -> None:
        """Compute what judges the end of the latest run, which took some steps."""
        if steps != self.known[0]:
            on_the_way, at_the_end = self.of.allowed(steps)
            self.known[:] = steps, on_the_way, min(at_the_end, NO_LIMIT)
        self._end(self.of.t1)

    def _projected(self, t: float) -> bool:
        """Whether a start is moved onto the constraints, and then satisfies all rows; one that does not need it fails here."""
        n, rows = self.of.hidden, self.begun
        if self._project is None or not (np.abs(rows[:n]) <= PROJECTED * rows[n + 1 : 2 * n + 1]).all():
            return False
        for _ in range(_PROJECTIONS):
            self._project(t)
            self._state[:] = self._moved[: self.of.states]
            self._begin(t)
            if not self.sound[:2].any():
                return True
        return False

    def _ended_well(self, begun: float) -> bool:
        """Whether the motion passes the checks of a certificate; `begun` are the terms of the energy at its start. Motions with a jet that
        has no typical size are left to `simulate`.
        """
        rows, inside, on_the_way, at_the_end = self.faults.tolist()
        if not rows == inside == on_the_way == 0.0:
            return False
        if at_the_end == 0.0:
            return True
        residual, span = float(self.ended[self.balance]), abs(self.of.t1 - self.of.t0)
        terms = min(float(self.ended[-1]), float(self.seen.measured[-1]))
        integral = float(self.seen.roots[codes.INTEGRAL])
        return bool(left_at_the_end(residual, terms, integral, span, begun) <= self.of.allowed(int(self.known[0]))[1])


_DOUBTS = 16
"""Motions in doubt, if they are half of all, after which a thread no longer runs motions in one call: those in doubt are run twice then."""
PROJECTED = 1e-8
"""Largest residual of a start that is projected, relative to the sum of the terms of its row; more contradicts the row."""


def _into(kernel: Kernel, y: Array, p: Array, out: Array) -> Callable[[float], None]:
    entry: Any = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)
    first, second, third = (ctypes.c_void_p(a.ctypes.data) for a in (y, p, out))

    def call(t: float) -> None:
        entry(t, first, second, third)

    return call
