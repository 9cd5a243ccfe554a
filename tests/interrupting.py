"""Ctrl-C in the middle of a computation that would take hours, whatever else the machine does."""

import signal
import threading
from collections.abc import Callable

import pytest

WAITS = (0.3, 1.0, 4.0, 16.0)
"""Seconds until the signal is sent. The first suffices on a quiet machine; on a busy one the computation may not have begun by then."""


def interrupted(call: Callable[[], object], begun: Callable[[BaseException], bool]) -> BaseException:
    """The KeyboardInterrupt that ends `call`; where `begun` says that it came too early, the call is made again and has more time."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs tests in the background has it ignored
    try:
        for wait in WAITS:
            timer = threading.Timer(wait, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))

            def soon_stopped(timer: threading.Timer = timer) -> None:
                timer.start()
                call()

            try:
                with pytest.raises(KeyboardInterrupt) as stopped:
                    soon_stopped()
            finally:
                timer.cancel()
            if begun(stopped.value):
                break
        return stopped.value
    finally:
        signal.signal(signal.SIGINT, before)
