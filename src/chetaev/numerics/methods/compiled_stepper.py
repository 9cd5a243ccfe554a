"""The stepper of the compiled methods: from a task to the arrays of `compiled_steps`, and back."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np

from chetaev.numerics.machine.packed import Packed
from chetaev.numerics.methods.base import Task, code_of, watching_of
from chetaev.numerics.methods.compiled_steps import codes
from chetaev.numerics.methods.compiled_steps.loaded import STRIDES
from chetaev.numerics.methods.compiled_steps.types import Kept, Path, Room
from chetaev.numerics.methods.dop853 import FINAL, Limits, Status
from chetaev.numerics.methods.dop853.arguments import control_of, room_for_extremes, rows_of, tube_of, watches_of, width_of
from chetaev.numerics.methods.dop853.codes import AMONG as OF_KIND
from chetaev.numerics.methods.dop853.codes import RUNNING, WORST
from chetaev.numerics.methods.dop853.types import Array, Integers, Seen
from chetaev.numerics.methods.sizes import Sizes
from chetaev.numerics.methods.stepper import Quiet, Step, StepFailed, Striding, right_hand_side

_NUMBERS_PER_STRIDE, _FEWEST_STEPS, _MOST_STEPS = 1 << 18, 16, 8192
"""Numbers that a stride may keep (two megabytes), and its fewest and most steps: a pause between two strides takes as long as some hundred
steps of a small system, and is when Ctrl-C is noticed, a hundredth of a second later at most."""

_LATEST = threading.local()
"""The room of the latest stride in each thread whose steps are not kept: nothing is read from it after the stride, and new memory takes
as long as a hundred steps."""


class Strides(Striding):
    """The stepper of a compiled method: single steps for `python_loop`, and strides of steps without an event.

    `word` is the name of the method in the compiled code, `kernel` the address of what it calls besides the rates, `rows` the order
    of its polynomials, `extra` its own room, `seam` what `types.Room` says.
    """

    def __init__(
        self, task: Task, word: str, kernel: int, rows: int, places: tuple[float, ...], extra: tuple[Any, ...] = (), seam: float = 0.0
    ) -> None:
        self.task, self.places, self._word, self._kernel, self._extra = task, places, word, kernel, extra
        self.rejected, self.evaluations = 0, 0
        span, n, measures = task.t1 - task.t0, len(task.y0), task.measures
        self.sizes = Sizes(measures, right_hand_side(task), task.t0, task.y0, span, task.round_off(task.t0, task.y0))
        self._code = code_of(task, [0 if kernel is None else kernel.address for kernel in task.kernels], often=True)
        self._system = self._code.system(np.array(task.p))
        self._control = control_of(n, Limits(measures.rtol, measures.atol, kinds=measures.kinds))
        self._path = Path(
            clock=np.zeros(codes.CLOCK),
            counts=np.zeros(codes.COUNTS, np.int64),
            y=rows_of(width_of(n))[:n],
            signs=np.zeros(len(task.watches), np.int64),
            kinds=np.array(measures.kinds, np.int64),
            scales=np.zeros((codes.SCALES, n)),
        )
        self._fill_scales()
        self._room = _room(task, rows, places, seam)
        clock = self._path.clock
        clock[codes.END], clock[codes.LONGEST], clock[codes.NEXT] = task.t1, task.max_step, np.inf
        self.restart(task.t0, task.y0)

    def _fill_scales(self) -> None:
        scales, sizes = self._path.scales, self.sizes
        scales[codes.GIVEN], scales[codes.NOISE], scales[codes.ATOL] = sizes.measures.sizes, sizes.noise, sizes.measures.atol
        scales[codes.LARGEST], scales[codes.SIZES], scales[codes.FLOOR] = sizes.largest, sizes.sizes, sizes.floor
        scales[codes.LEAST] = (scales[codes.ATOL] + scales[codes.NOISE]) / sizes.measures.rtol

    @cached_property
    def _trial(self) -> Packed:
        """One step in machine code."""
        return Packed(
            getattr(STRIDES, f"{self._word}_trial"), self._system, self._kernel, self._control, self._path, self._room, *self._extra
        )

    @cached_property
    def _kept(self) -> Kept:
        """Room for the steps of a stride, and for their polynomials unless the run keeps the final state only."""
        rows, n, keeping = self._room.order, len(self.task.y0), self.task.keep != FINAL
        most = min(max(_NUMBERS_PER_STRIDE // ((rows if keeping else 1) * n), _FEWEST_STEPS), _MOST_STEPS)
        if keeping:
            return Kept(np.empty(most), np.empty((most, n)), np.empty((most, rows, n)))
        if _LATEST.__dict__.get("key") != (most, n, rows):
            _LATEST.key, _LATEST.kept = (most, n, rows), Kept(np.empty(most), np.empty((most, n)), np.empty((0, rows, n)))
        found: Kept = _LATEST.kept
        return found

    @cached_property
    def _many(self) -> tuple[Packed, Seen, Any]:
        """The compiled stride, its record of extremes and residuals, and its tube."""
        task, seen, tube = self.task, room_for_extremes(len(self.task.y0), self._code.n_measure), tube_of(len(self.task.y0), self._code)
        watches = watches_of(len(task.watches), watching_of(task))
        function, first = getattr(STRIDES, f"{self._word}_stride"), (self._system, self._kernel, self._control, watches, task.flag)
        return Packed(function, *first, self._path, self._room, tube, self._kept, seen, *self._extra), seen, tube

    def step(self) -> Step:
        """The next accepted step, not beyond the end of the interval."""
        path = self._path
        path.counts[:] = 0
        self._trial()
        self._count()
        if path.counts[codes.STATUS] != RUNNING:
            raise StepFailed(Status(int(path.counts[codes.STATUS])))
        return Step(float(path.clock[codes.NOW]), path.y.copy(), np.ascontiguousarray(self._room.rows[:, : self._room.order].T))

    def stride(self, seen: Seen, signs: Integers, limits: Limits | None, most: int) -> Quiet:
        """At most `most` steps without an event, rejected ones included, as far as there is room; `seen` and `signs` are updated.

        `limits` are those of the projection, if there is one.
        """
        call, own, tube = self._many
        path, kept = self._path, self._kept
        for here, given in zip(own, seen, strict=True):
            here[:] = given
        path.signs[:], path.counts[:], tube.notes[WORST] = signs, 0, 1.0
        path.counts[codes.MOST], path.counts[codes.KEEPING] = most, self.task.keep != FINAL
        if limits is not None:
            self._renew(limits)
        call()
        self._count()
        for here, given in zip(own, seen, strict=True):
            given[:] = here
        signs[:] = path.signs
        size = int(path.counts[codes.KEPT])
        steps = kept.nodes[:size], kept.states[:size], kept.rows[:size]
        return Quiet(*steps, int(path.counts[codes.PROJECTIONS]), float(tube.notes[WORST]))

    def _renew(self, limits: Limits) -> None:
        """The sizes by which corrections of the projection are measured, as `dop853.settle` takes them."""
        control, n = self._control, len(self.task.y0)
        among = np.zeros(n)
        np.maximum.at(among, control.kinds, np.maximum(limits.sizes, np.abs(self._path.y)))
        control.rows[OF_KIND, :n] = among[control.kinds]

    def _count(self) -> None:
        counts = self._path.counts
        self.rejected += int(counts[codes.REJECTED])
        self.evaluations += int(counts[codes.EVALUATIONS])

    def restart(self, t: float, y: Array) -> None:
        """Continue from another state; one that is only moved a little keeps what is known of the steps before."""
        clock = self._path.clock
        self._path.y[:] = y
        if t != clock[codes.NOW]:
            clock[codes.NOW], clock[codes.LAST], clock[codes.BEFORE] = t, 0.0, 0.0

    def shorten(self, t: float, y: Array, h: float) -> None:
        """Go back to a state; the next step is not longer than h."""
        self.restart(t, y)
        self._path.clock[codes.NEXT] = abs(h)

    def straight(self, t0: float, y0: Array, t1: float) -> Array:
        """The state at t1 from a state at t0; the run itself stays where it is."""
        path, clock = self._path, self._path.clock
        saved = [row.copy() for row in (clock, path.y, path.scales)]
        self.restart(t0, y0)
        clock[codes.END], clock[codes.NEXT], clock[codes.LAST], clock[codes.BEFORE] = t1, abs(t1 - t0), 0.0, 0.0
        while clock[codes.NOW] != t1:
            self.step()
        found = path.y.copy()
        for row, before in zip((clock, path.y, path.scales), saved, strict=True):
            row[:] = before
        clock[codes.LAST] = 0.0  # the polynomial of the step before is overwritten
        return found


def _room(task: Task, rows: int, places: tuple[float, ...], seam: float) -> Room:
    n, watched = len(task.y0), len(task.watches)
    states, width = rows_of(4, width_of(n))[:, :n], width_of(rows)
    degrees = np.arange(1, width + 1)
    values = 0 if not watched else task.watch.n_out
    return Room(
        order=rows,
        rows=rows_of(n, width),
        powers=rows_of(width),
        weights=np.array([*[place**degrees for place in (0.25, 0.5, 0.75)], degrees * 0.5 ** (degrees - 1.0), degrees * 1.0]),
        free=states[0],
        end=states[1],
        trial=states[2],
        place=states[3],
        places=np.array(places),
        after=np.zeros(values),
        residuals=np.zeros(task.compiled.measure.n_out),
        values=np.zeros(values),
        samples=np.zeros((codes.SAMPLES, values)),
        levels=np.zeros(codes.MOST_LOOKS if task.determinant is not None else 0),
        seam=seam,
        read=np.array(() if task.determinant is None else task.determinant.reads, np.int64),
    )
