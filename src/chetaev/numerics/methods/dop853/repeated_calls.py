"""Room for runs of DOP853 with the same code, which is used again and again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from chetaev.numerics.machine.packed import Packed
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.arguments import (
    Code,
    Limits,
    Watching,
    check,
    control_of,
    fill_control,
    room_for_extremes,
    room_for_roots,
    room_to_keep,
    rows_of,
    tube_of,
    watches_of,
    width_of,
    with_room,
    work_of,
)
from chetaev.numerics.methods.dop853.loaded import LOOP
from chetaev.numerics.methods.dop853.types import Array, Control, Found, Integers, Kept, Progress, Seen, System, Tube, Watches, Work

if TYPE_CHECKING:
    from chetaev.numerics.methods.dop853.whole_steps.look_code import Looks

PORTION = 1 << 16
"""Steps between two pauses, in which Python handles signals such as Ctrl-C: some tens of milliseconds for a small system."""
_ROOMS = 64
"""Most rooms that wait for another run."""
_SMALL = 1 << 16
"""Numbers that a room may hold for what is kept without being counted: half a megabyte."""
_MOST = 1 << 22
"""Most numbers that larger rooms which wait may hold together: 32 megabytes. New memory costs a motion of a thousand steps as much as its
steps do."""
_END, _CONTROL = len(System._fields), len(System._fields) + 2
"""Places of arguments of the loop: the last time, and what `Control` holds. Another order would pass a pointer for a number."""
_MADE = {name: System._fields.index(name) for name in ("stages", "doubting")}
"""The places of code that is made where many steps were taken."""
_KEEP = _CONTROL + len(Control._fields) + len(Watches._fields)
"""The place after them: what is kept, wanted times, the flag, room for what is kept."""


_PAYS = 1 << 20
"""Steps with a right-hand side after which all stages of a step are compiled into one function: this takes 10 to 80 ms to make and saves 10
to 40 ns in each."""
_stages: dict[tuple[int, ...], int] = {}
_steps: dict[tuple[int, int], int] = {}
_doubting: dict[int, int] = {}
"""Code of bounds for motions that are repeated very often, by the address of that for few motions, and by its own."""


def stages_of(code: Code, n: int) -> int:
    """The address of the stages in one function, with the same bits, for a run of n components, and of what follows them as far as that is
    possible; 0 where nothing would be gained.
    """
    # Imported here: the environment that builds a wheel has neither CasADi nor SymPy, and imports this package to compile its loop.
    from chetaev.numerics.machine.kernels import program_at
    from chetaev.numerics.methods.dop853.whole_steps.doubting_code import doubting_code
    from chetaev.numerics.methods.dop853.whole_steps.step_code import Ends, step_code

    key = _key(code, n)
    if key not in _stages:
        program = None if code.inputs else program_at(code.rhs)
        at_end = code.ends or (0 if code.n_watch or code.n_measure else code.rhs)
        ends, project = program_at(at_end), program_at(code.project) if code.project else b""
        whole = None if ends is None or project is None or code.own not in (0, n) else Ends(project, ends, _looks_of(code, n))
        _stages[key] = 0 if program is None else step_code(program, n, whole)
    if code.doubting and code.doubting not in _doubting:
        found = doubting_code(code.doubting)
        _doubting[code.doubting] = _doubting[found] = found
    return _stages[key]


def _looks_of(code: Code, n: int) -> Looks | None:
    """The programs of what the loop asks of a tube; None if one is not known."""
    from chetaev.numerics.machine.kernels import program_at
    from chetaev.numerics.methods.dop853.whole_steps.look_code import Looks

    addresses = code.nodes, code.bounds, code.turns, code.determinant
    nodes, bounds, turns, determinant = (program_at(address) if address else b"" for address in addresses)
    if nodes is None or bounds is None or turns is None or determinant is None:
        return None
    return Looks(nodes, bounds, turns, determinant, code.n_nodes, code.boxed or n)


def _key(code: Code, n: int) -> tuple[int, ...]:
    """What code for whole steps depends on."""
    steps = code.rhs, code.project, code.ends, code.own, code.n_watch, code.n_measure, n
    return *steps, code.nodes, code.bounds, code.turns, code.determinant, code.n_nodes, code.boxed


def with_stages(code: Code, n: int) -> Code:
    """The same code, with whole steps in one function, and code of its own for bounds of rounding errors, if they exist."""
    stages, doubting = 0 if code.inputs else _stages.get(_key(code, n), 0), _doubting.get(code.doubting, code.doubting)
    return code if (stages, doubting) == (code.stages, code.doubting) else code._replace(stages=stages, doubting=doubting)


def _has_stages(code: Code, n: int, steps: int) -> bool:
    """Whether code for all stages exists after `steps` further steps; it is made for a right-hand side with which many steps were taken."""
    if _key(code, n) in _stages:
        return True
    key = code.rhs, n
    _steps[key] = taken = _steps.get(key, 0) + steps
    if taken >= _PAYS:
        stages_of(code, n)
    return taken >= _PAYS


def state_row(n: int) -> Array:
    """A row for a state of n numbers, with the room behind it that the loop needs."""
    return rows_of(1, width_of(n))[0, :n]


class Room:
    """Everything that the loop reads and writes, for code, a state and parameters of given sizes; for one run at a time."""

    def __init__(self, code: Code, y: Array, p: Array, keep: int, times: int, roots: bool = True, seen: Seen | None = None) -> None:
        n = y.size
        self.code, self.keep, self.y, self.p = code, keep, y, p
        self.control, self.watches = control_of(n, Limits(), code.own, code.angles), watches_of(code.n_watch, Watching())
        self.kept, self.found = room_to_keep(keep, times, n), room_for_roots(code.n_watch if roots else 0, n)
        self.seen: Seen = room_for_extremes(n, code.n_measure, code.own) if seen is None else seen
        self.work: Work = work_of(n, code, p.size)._replace(start=y)
        self.tube: Tube = tube_of(n, code)
        self.progress = Progress(np.zeros(2), np.zeros(codes.COUNTS, np.int64))
        self.wanted, self._flag = np.zeros(times), np.zeros(1, np.int64)
        self.run = Packed(
            LOOP.integrate, code.system(p), 0.0, y, self.control, self.watches, keep, self.wanted, self._flag, self.kept, self.found,
            self.seen, self.work, self.tube, self.progress,
        )  # fmt: skip

    def fill(
        self, y: Array, p: Array, t0: float, t1: float, limits: Limits, watching: Watching, times: Array, flag: Integers | None
    ) -> None:
        """Write the arguments of a run; the loop itself computes the components behind y."""
        self.y[: y.size], self.p[:], self.wanted[:] = y, p, times
        self.set_limits(t1, limits)
        if self.code.n_watch:
            for row, given in zip(self.watches, watching, strict=True):
                row[:] = given
        self._flag = np.zeros(1, np.int64) if flag is None else flag
        self.run.set(_KEEP + 2, self._flag)
        self.progress.clock[:], self.progress.counts[:] = (t0, 0.0), 0

    def set_limits(self, t1: float, limits: Limits) -> None:
        """Write the end and the limits of a run."""
        fill_control(self.control, limits)
        self.run.set(_END, float(t1))
        numbers = (float(limits.rtol), float(min(limits.first_step, limits.max_step)), float(limits.max_step), int(limits.max_steps))
        for k, v in enumerate(numbers):
            self.run.set(_CONTROL + k, v)

    def after(self, steps: int) -> None:
        """Use code for all stages once many steps were taken with a right-hand side, of which these are the latest."""
        if not self.code.stages and _has_stages(self.code, self.y.size, steps):
            found = with_stages(self.code, self.y.size)
            if found is not self.code:
                self.code = found
                for name, place in _MADE.items():
                    self.run.set(place, getattr(found, name))

    @property
    def size(self) -> int:
        """The count of numbers for what is kept."""
        return int(self.kept.states.size + self.kept.coefficients.size + self.found.states.size)


def with_more_room(room: Room) -> None:
    """Twice the room for what is kept, where there is none left."""
    kept, found = with_room(room.keep, room.kept, room.found, room.code.n_watch, room.progress.counts)
    for first, old, new in ((_KEEP + 3, room.kept, kept), (_KEEP + 3 + len(Kept._fields), room.found, found)):
        for k, (before, after) in enumerate(zip(old, new, strict=True)):
            if after is not before:
                room.run.set(first + k, after)
    room.kept, room.found = kept, Found(*found)


_waiting: dict[tuple[object, ...], list[Room]] = {}
_lock = Lock()


@contextmanager
def room_for(code: Code, n: int, parameters: int, keep: int, times: int) -> Iterator[Room]:
    """Room for one run, new or used before."""
    columns = None if code.columns is None else tuple(np.asarray(code.columns).tolist())
    key = (code._replace(columns=columns), n, parameters, keep, times)
    with _lock:
        waiting = _waiting.get(key)
        room = waiting.pop() if waiting else None
    if room is None:
        room = Room(code, state_row(n), np.zeros(parameters), keep, times)
    yield room  # the room of a run that failed is not used again
    if (size := room.size) <= _MOST:
        key = (
            room.code._replace(**{name: getattr(key[0], name) for name in ("columns", "angles")}),
            *key[1:],
        )  # it may have got other code
        with _lock:
            others = [other for several in _waiting.values() for other in several]
            if len(others) >= _ROOMS or (size > _SMALL and size + sum(other.size for other in others) > _MOST):
                _waiting.clear()
            _waiting.setdefault(key, []).append(room)


_tables: dict[tuple[int, int], list[tuple[Packed, Array, Array]]] = {}


def interpolated(nodes: Array, states: Array, coefficients: Array, times: Array) -> tuple[Array, Array]:
    """States and rates at a few times, in room that is used again."""
    key = times.size, states.shape[1]
    try:
        used = _tables.setdefault(key, []).pop()
    except IndexError:
        wanted, found = np.zeros(times.size), np.zeros((2, *key))
        used = Packed(LOOP.interpolate, nodes, states, coefficients, wanted, found[0], found[1]), wanted, found
    call, wanted, found = used
    for k, given in enumerate((nodes, states, coefficients)):
        call.set(k, given)
    wanted[:], found[:] = times, np.nan
    call()
    values, rates = found.copy()
    if len(_tables) > _ROOMS:
        _tables.clear()
    _tables.setdefault(key, []).append(used)
    return values, rates


class Runner:
    """Runs from t0 to t1 that keep their ends only; one thread at a time may use it.

    A run reads its state in `y`, made by `state_row`, and its parameters in `p`, leaves the end in `y`, and writes extremes and residuals
    into `seen`. It has the bits of `run` with `keep=FINAL`.
    """

    def __init__(
        self, code: Code, y: Array, p: Array, t0: float, t1: float, limits: Limits, watching: Watching, seen: Seen | None = None
    ) -> None:
        check(code, p.size, t0, t1, codes.FINAL)
        code = with_stages(code, y.size)
        room = Room(code, y, p, codes.FINAL, 0, roots=False, seen=seen)
        room.fill(y.copy(), p.copy(), t0, t1, limits, watching, np.empty(0), None)
        self._begin, self._run, self._progress, self._pause = float(t0), room.run, room.progress, room.control.pause
        self.seen, self.watches, self.counts, self.room = room.seen, room.watches, room.progress.counts, room

    def __call__(self) -> int:
        """Run, and return the status."""
        counts, pause, clock = self.counts, self._pause, self._progress.clock
        clock[codes.NOW], clock[codes.STEP] = self._begin, 0.0
        counts[codes.STATUS], pause[0] = codes.NEW, PORTION
        self._run()
        status: int = counts.item(codes.STATUS)
        while status == codes.NO_ROOM:
            counts[codes.STATUS] = codes.RUNNING
            pause[0] += PORTION
            self._run()
            status = counts.item(codes.STATUS)
        self.took(1)
        return status

    def took(self, runs: int) -> None:
        """Count the steps of the last run, for as many runs like it: after many steps other code is used."""
        self.room.after(runs * self.counts.item(codes.ACCEPTED))
