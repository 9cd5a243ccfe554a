"""A time budget for work whose length nobody can foresee.

`deadline(seconds)` interrupts pure Python code, in any thread, by an exception that no `except Exception` swallows.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTime(BaseException):
    """The budget is spent."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """A block that ends with `OutOfTime` when it takes longer than so many seconds."""
    here = threading.get_ident()
    lock = threading.Lock()
    over = False

    def interrupt() -> None:
        with lock:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(here), ctypes.py_object(OutOfTime))

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over = True
        timer.cancel()
