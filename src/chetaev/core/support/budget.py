"""Budgets for work of unpredictable length.

`deadline(seconds)` interrupts pure Python code, in any thread, by an exception that `except Exception` does not catch. The block ends
without an error and `expired` is True; budgets may be nested, and each stops only its own block. Processor time counts; a block also ends
after four times as long by the wall clock.

`allowance(seconds)` counts operations instead, which code announces by `spend`, so that the result of a block does not depend on the
machine or its load. A deadline several times as long ends code that announces nothing; `by_clock` is then True.
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

_WALL_FACTOR = 4.0
"""Wall-clock time allowed, in multiples of the processor time. Smaller values end blocks on busy machines."""
_SHORTEST_WAIT = 0.005
"""Seconds between two looks at the clock, at least; the precision of a deadline."""
_RESEND_AFTER = 0.5
"""Seconds after which an exception that had no effect is sent again: Python discards those raised in some callbacks."""
_CALLBACK_DEPTH = 4
"""Innermost frames searched for a callback that would discard the exception; such callbacks are shallow."""
OPERATIONS = 80_000
"""Counted operations per second of an allowance: about what Python does with sparse polynomials in that time. More let endless searches
run longer; fewer cut long searches that would end."""
_CEILING = 5.0
"""Processor time after which the clock ends an allowance, in multiples of its seconds: enough for machines several times slower than the
one on which `OPERATIONS` was measured, so that the count decides."""
_SHORTEST = 2.0
"""Seconds before which the clock ends no allowance: preparations that are not counted take a part of that."""


class OutOfTime(BaseException):
    """A budget is exhausted."""


@dataclass
class Clock:
    """The result of a budget."""

    expired: bool = False
    """Whether the block was interrupted."""
    by_clock: bool = False
    """Whether a clock interrupted it, and not the count of operations."""


@dataclass
class _Count:
    """The operations left in an allowance, and in the one around it."""

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
"""The innermost allowance of this context."""


def spend(operations: float) -> None:
    """Count `operations` in the current allowance; the block ends if more than are left."""
    count = _COUNT.get()
    if count is not None:
        count.spend(operations)


@dataclass
class Allowance(Clock):
    """The result of a block whose operations are counted."""

    seconds: float = 0.0
    """The operations spent, divided by `OPERATIONS`."""


@contextmanager
def allowance(seconds: float) -> Iterator[Allowance]:
    """A block that ends after `seconds * OPERATIONS` operations."""
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
    """A block that ends after `seconds` of processor time."""
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
            woken.wait(_RESEND_AFTER if sent else _SHORTEST_WAIT)

    woken = threading.Event()
    over_wall = time.monotonic() + _WALL_FACTOR * seconds
    over_processor = _processor_time(here) + seconds

    def watch() -> None:
        left = seconds
        while not woken.wait(left):
            left = min(over_processor - _processor_time(here), over_wall - time.monotonic())
            if left <= 0:
                interrupt()
                return
            left = max(left, _SHORTEST_WAIT)

    watcher = threading.Thread(target=watch, daemon=True)

    def stop() -> None:
        nonlocal over
        with lock:
            over = True
            pause.leave()
        woken.set()

    try:
        try:
            _start(watcher, mine)
            yield clock
        finally:
            _complete(stop, mine)
    except mine:
        clock.expired = clock.by_clock = True


class _NoCollection:
    """Pauses the garbage collector while an exception is pending: Python discards exceptions in callbacks of the collector."""

    def __init__(self) -> None:
        self._paused = False

    def enter(self) -> None:
        """Stop the collector if it is enabled."""
        if gc.isenabled():
            gc.disable()
            self._paused = True

    def leave(self) -> None:
        """Enable the collector again if `enter` stopped it."""
        if self._paused:
            gc.enable()
            self._paused = False


def _start(watcher: threading.Thread, own: type[OutOfTime]) -> None:
    """Start the watcher, also if a very small budget ends before the block has begun; the watcher sends its exception again."""
    while True:
        try:
            if not watcher.is_alive():
                watcher.start()
            return
        except own:
            continue


def _would_be_lost(frame: FrameType | None) -> bool:
    """Whether a thread runs a callback of a weak reference or of the collector, or a finaliser, where Python discards exceptions."""
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
    """The processor time of a thread; on systems without that clock, the wall-clock time."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    except (AttributeError, OSError):
        return time.monotonic()


def _complete(action: Callable[[], None], own: type[OutOfTime]) -> None:
    """Finish `action` even if an outer budget ends within it; the exception of the outer budget is raised afterwards."""
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
