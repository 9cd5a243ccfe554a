"""The process of `limited` as its owner sees it: start it, ask it, end it.

It is started when it is first needed, kept for later calls, and ends with its owner in every case, because its standard input is closed
then. It imports this package alone, never the main module, so that no guard is needed in a script, a prompt or a notebook. It has a session
of its own, so that Ctrl-C in a terminal reaches the owner only, which then ends it. Threads that ask at the same time have a process each;
a forked child makes its own.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any, cast

from chetaev.core.support.budget import process

_SECONDS_TO_START = 120.0
"""Seconds on the wall for the start, half a second on an idle machine. After that the start counts as failed."""
_SECONDS_BETWEEN_LOOKS = 0.2
"""Seconds between two readings of the clock. On Windows this delays the response to Ctrl-C."""
_SECONDS_TO_END = 2.0
"""Seconds on the wall that a process has for its end before it is killed."""
_MOST_IDLE = 2
"""Idle processes that are kept, of about 60 MB each; more are useful only where many threads ask again and again."""
_END = b""
"""Stands for the end of the process among its messages."""
_PROGRAM = "import sys; sys.path[:] = {path!r}; from chetaev.core.support.budget.process import serve; serve()"


class NoProcess(Exception):
    """No process can be started here."""


class Worker:
    """One process, for one call at a time."""

    def __init__(self) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise NoProcess("this program has no interpreter of its own")
        own: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        # the order of sets and the size of SymPy's cache, which change counts, are the same everywhere
        settings = {"PYTHONHASHSEED": "0", "SYMPY_USE_CACHE": "yes", "SYMPY_CACHE_SIZE": "1000"}
        settings |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a process with threads must not be forked
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, with a program of our own
                [sys.executable, "-c", _PROGRAM.format(path=sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env={**os.environ, **settings},
                **own,
            )
        except OSError as fault:
            raise NoProcess(str(fault)) from fault
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        if not self._next(_SECONDS_TO_START):
            self.kill()
            raise NoProcess("the process did not start")

    def ask(self, call: bytes, seconds: float) -> tuple[str, Any, float] | None:
        """The answer to a call: its kind, the value and the operations; None if the process ended without one.

        It has `seconds` on the wall. After that it is ended, and the kind of the answer is CLOCK.
        """
        try:
            process.write(cast(Any, self._process.stdin), call)
            answer = self._next(seconds)
        except OSError:  # it ended before it could read the call
            answer = _END
        except BaseException:  # Ctrl-C, for example: the answer to this call must not be taken for that of the next one
            self.kill()
            raise
        if answer is None or answer == _END:
            self.kill()
            return (process.CLOCK, None, 0.0) if answer is None else None
        found = cast(tuple[str, Any, float], pickle.loads(answer))  # noqa: S301 - from a process of our own
        if found[0] in (process.RAN_OUT, process.CLOCK) and not process.FORKS:
            self.close()  # it ended itself
        return found

    @property
    def alive(self) -> bool:
        """Whether the process runs and can be asked."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process and its forks at once."""
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self.close()

    def close(self) -> None:
        """Let the process end, and wait for that."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def disown(self) -> None:
        """Forget, in a forked child, a process that belongs to its parent."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.returncode = 0

    def _next(self, seconds: float) -> bytes | None:
        """The next message, or `_END`; None if `seconds` pass without one."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            try:
                return self._answers.get(timeout=max(0.0, min(left, _SECONDS_BETWEEN_LOOKS)))
            except queue.Empty:
                if left <= 0:
                    return None

    def _listen(self) -> None:
        source = cast(Any, self._process.stdout)
        message: bytes | None = b"begin"
        while message:
            try:
                message = process.read(source)
            except (OSError, ValueError):  # the pipe was closed
                message = None
            self._answers.put(message or _END)
        source.close()


_IDLE: list[Worker] = []
"""Processes that wait for a call. A list because `pop` and `append` need no lock."""


def take() -> Worker:
    """A process that no other thread uses."""
    while _IDLE:
        try:
            worker = _IDLE.pop()
        except IndexError:  # another thread was faster
            break
        if worker.alive:
            return worker
        worker.close()
    return Worker()


def give_back(worker: Worker) -> None:
    """Keep a process for later calls, or end it."""
    if worker.alive and len(_IDLE) < _MOST_IDLE:
        _IDLE.append(worker)
    else:
        worker.close()


def end_all() -> None:
    """End the idle processes."""
    while _IDLE:
        _IDLE.pop().close()


def _disown_all() -> None:
    while _IDLE:
        _IDLE.pop().disown()


atexit.register(end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
