"""Says on a terminal or in a notebook what takes long and reports nothing itself, such as the set-up of a large system.

One thread looks at all that is open ten times a second, as long as something is: a thread for each call would take as long as a short
motion.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from shutil import get_terminal_size
from types import TracebackType
from typing import Self

SHOWN_AFTER = 1.0
"""Seconds after which work counts as long."""
RENEWED_EVERY = 0.1
"""Seconds between looks at open work, and between updates of a bar; more frequent ones slow down the work."""


def setting_up(shown: bool | None, title: str) -> Waiting:
    """A block in which equations are set up; `shown` is None to say so only on a terminal or in a notebook."""
    return Waiting(output_is_watched() if shown is None else shown is True, title, "setting up")


def reading(title: str) -> Waiting:
    """A block in which texts of a system are read, on a terminal or in a notebook."""
    return Waiting(output_is_watched(), title, "reading")


def output_is_watched() -> bool:
    """Tell whether there is a terminal or a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)  # missing while IPython is imported
    if shell is not None and type(shell()).__name__ == "ZMQInteractiveShell":
        return True
    is_terminal = getattr(sys.stderr, "isatty", None)  # streams of users need not have it
    return bool(is_terminal is not None and not getattr(sys.stderr, "closed", False) and is_terminal())


class Waiting:
    """A block of work that is named, with the time it has taken, once it takes long; `shown` is whether to say anything."""

    def __init__(self, shown: bool, title: str, what: str) -> None:
        self.shown, self._title, self._what = shown, title, what
        self._begun = 0.0
        self._line = ""

    def __enter__(self) -> Self:
        if self.shown:
            self._begun = time.monotonic()
            _WATCH.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.shown:
            return
        with _WATCH.lock:
            _WATCH.open.discard(self)
            self._write("")

    def look(self) -> None:
        """Name the work if it has become long."""
        if time.monotonic() < self._begun + SHOWN_AFTER:
            return
        minutes, seconds = divmod(int(time.monotonic() - self._begun), 60)
        line = f"{self._title}: {self._what}, {minutes:02d}:{seconds:02d}"
        self._write(line[: get_terminal_size().columns - 1])

    def _write(self, line: str) -> None:
        """Write a line in the place of the one before. A terminal that is gone, or a closed stream, ends no work: nothing more is said."""
        if line == self._line or sys.stderr is None:
            return
        before, self._line = self._line, line
        try:
            sys.stderr.write("\r" + " " * len(before) + "\r" + line)
            sys.stderr.flush()
        except (OSError, ValueError):
            self._line = ""


class _Watch:
    """All open work, and whether a thread looks at it."""

    def __init__(self) -> None:
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        """Begin without open work; so does a forked process, which has no thread that looks and perhaps a lock that nobody releases."""
        self.lock = threading.RLock()  # a handler of a signal may open work too
        self.open: set[Waiting] = set()
        self.running = False

    def add(self, work: Waiting) -> None:
        with self.lock:
            self.open.add(work)
            if self.running:
                return
            try:
                threading.Thread(target=self._look, name="chetaev-waiting", daemon=True).start()
                self.running = True
            except RuntimeError:
                self.open.clear()  # there are no further threads, as while the interpreter ends: nothing is said

    def _look(self) -> None:
        while True:
            time.sleep(RENEWED_EVERY)
            with self.lock:
                if not self.open:
                    self.running = False
                    return
                for work in tuple(self.open):
                    work.look()


_WATCH = _Watch()
