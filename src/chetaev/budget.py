"""A time budget for work whose length nobody can foresee.

`deadline(seconds)` interrupts pure Python code, in any thread, by an exception that no `except Exception` swallows. The block ends quietly
and `expired` tells that it did; budgets may be nested, and each stops only its own block.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class OutOfTime(BaseException):
    """A budget is spent."""


@dataclass
class Clock:
    """Whether a block was cut short."""

    expired: bool = False


@contextmanager
def deadline(seconds: float) -> Iterator[Clock]:
    """A block that ends when it takes longer than so many seconds."""
    mine: type[OutOfTime] = type("OutOfTime", (OutOfTime,), {})
    here = threading.get_ident()
    lock = threading.Lock()
    clock = Clock()
    over = False

    def interrupt() -> None:
        with lock:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(here), ctypes.py_object(mine))

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True

    def stop() -> None:
        nonlocal over
        with lock:
            over = True
        timer.cancel()

    try:
        try:
            timer.start()
            yield clock
        finally:
            _surely(stop, mine)
    except mine:
        clock.expired = True


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
