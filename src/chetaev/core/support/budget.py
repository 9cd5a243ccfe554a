"""Budgets for work whose length nobody can foresee.

`deadline(seconds)` interrupts pure Python code, in any thread, by an exception that no `except Exception` swallows. The block ends quietly
and `expired` tells that it did; budgets may be nested, and each stops only its own block. What counts is the time of the processor; after
four times as long by the clock on the wall a block ends in any case.

`allowance(seconds)` counts operations instead, which code announces by `spend`: what a block finishes then depends neither on the machine
nor on its load. A clock that allows several times as long only ends what nobody counted, and `by_clock` tells that it did.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType

_PATIENCE = 4.0
_LEAST = 0.005
_AGAIN = 0.5
_CALLBACK_DEPTH = 4


OPERATIONS = 80_000
"""Counted operations for one second of an allowance: about what Python does with sparse polynomials in that time. With more of them
searches that never end take longer; with fewer, long searches that would end do not."""
_CEILING = 5.0
"""How many times the seconds of an allowance the processor may take before the clock ends it: enough for machines several times slower than
the one on which operations were counted, so that the count decides."""
_SHORTEST = 2.0
"""Seconds before which the clock ends no allowance: preparations that nobody counts take a part of that."""


class OutOfTime(BaseException):
    """A budget is spent."""


@dataclass
class Clock:
    """Whether a block was cut short, and whether by a clock."""

    expired: bool = False
    by_clock: bool = False


@dataclass
class _Count:
    """The operations of an allowance that are left, and those of the one around it."""

    left: float
    over: type[OutOfTime]
    around: _Count | None

    def spend(self, operations: float) -> None:
        self.left -= operations
        if self.around is not None:
            self.around.spend(operations)
        if self.left < 0:
            raise self.over


_COUNT: ContextVar[_Count | None] = ContextVar("count", default=None)


def spend(operations: float) -> None:
    """Announce so many operations; the allowance in which they are done ends if they are more than is left of it."""
    count = _COUNT.get()
    if count is not None:
        count.spend(operations)


@dataclass
class Allowance(Clock):
    """What became of a block whose operations are counted."""

    seconds: float = 0.0
    """What was spent, in seconds of operations."""


@contextmanager
def allowance(seconds: float) -> Iterator[Allowance]:
    """A block that ends after the operations of so many seconds."""
    mine: type[OutOfTime] = type("OutOfWork", (OutOfTime,), {})
    given = seconds * OPERATIONS
    count = _Count(given, mine, _COUNT.get())
    found = Allowance()
    token = _COUNT.set(count)
    try:
        with deadline(max(_SHORTEST, _CEILING * seconds)) as clock:
            yield found
        found.expired = found.by_clock = clock.expired
    except mine:
        found.expired = True
    finally:
        _COUNT.reset(token)
        found.seconds = (given - count.left) / OPERATIONS


@contextmanager
def deadline(seconds: float) -> Iterator[Clock]:
    """A block that ends when it takes longer than so many seconds."""
    mine: type[OutOfTime] = type("OutOfTime", (OutOfTime,), {})
    here = threading.get_ident()
    lock = threading.Lock()
    clock = Clock()
    pause = _NoCollection()
    over = False

    def interrupt() -> None:
        while not over:
            with lock:
                sent = not over and not _would_be_lost(sys._current_frames().get(here))
                if sent:
                    pause.enter()
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(here), ctypes.py_object(mine))
            woken.wait(_AGAIN if sent else _LEAST)

    woken = threading.Event()
    over_wall = time.monotonic() + _PATIENCE * seconds
    over_processor = _processor_time(here) + seconds

    def watch() -> None:
        left = seconds
        while not woken.wait(left):
            left = min(over_processor - _processor_time(here), over_wall - time.monotonic())
            if left <= 0:
                interrupt()
                return
            left = max(left, _LEAST)

    watcher = threading.Thread(target=watch, daemon=True)

    def stop() -> None:
        nonlocal over
        with lock:
            over = True
            pause.leave()
        woken.set()

    try:
        try:
            _started(watcher, mine)
            yield clock
        finally:
            _surely(stop, mine)
    except mine:
        clock.expired = clock.by_clock = True


class _NoCollection:
    """No garbage is collected while an exception is on its way: Python swallows what reaches a callback of the collector."""

    def __init__(self) -> None:
        self._paused = False

    def enter(self) -> None:
        """Stop the collector, if it runs and nobody else stopped it."""
        if gc.isenabled():
            gc.disable()
            self._paused = True

    def leave(self) -> None:
        """Let it run again."""
        if self._paused:
            gc.enable()
            self._paused = False


def _started(watcher: threading.Thread, own: type[OutOfTime]) -> None:
    """Start the watcher although a very small budget may end before the block has begun; it asks again after a while."""
    while True:
        try:
            if not watcher.is_alive():
                watcher.start()
            return
        except own:
            continue


def _would_be_lost(frame: FrameType | None) -> bool:
    """Whether a thread runs a callback of a weak reference or of the collector, or a finaliser, in which Python swallows exceptions."""
    collecting = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    for _ in range(_CALLBACK_DEPTH):
        if frame is None:
            return False
        if frame.f_code.co_name == "__del__" or frame.f_code.co_filename.endswith(("weakref.py", "_weakrefset.py")):
            return True
        if frame.f_code in collecting:
            return True
        frame = frame.f_back
    return False


def _processor_time(thread: int) -> float:
    """The processor time a thread has used; where the system does not tell, the time by the clock on the wall."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    except (AttributeError, OSError):
        return time.monotonic()


def _surely(action: Callable[[], None], own: type[OutOfTime]) -> None:
    """Finish an action although an outer budget may end within it; the outer one's exception is raised afterwards."""
    late: OutOfTime | None = None
    done = False
    while not done:
        try:
            action()
            done = True
        except OutOfTime as fault:
            late = late if isinstance(fault, own) else fault
    if late is not None:
        raise late
