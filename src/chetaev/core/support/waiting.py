"""Says on a terminal or in a notebook what takes long and reports nothing itself, such as the set-up of a large system.

One thread looks at all that is open ten times a second, as long as something is: a thread for each call would take as long as a short
motion.
"""

from __future__ import annotations

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
    shell = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return True
    return bool(sys.stderr is not None and sys.stderr.isatty())


class Waiting:
    """A block of work that is named, with the time it has taken, once it takes long; `shown` is whether to say anything."""

    def __init__(self, shown: bool, title: str, what: str) -> None:
        self.shown, self._title, self._what = shown, title, what
        self._begun = 0.0
        self._line = ""

    def __enter__(self) -> Self:
        if self.shown:
            self._begun = time.monotonic()
            _watch(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.shown:
            return
        with _LOCK:
            _OPEN.discard(self)
            self._write("")

    def look(self) -> None:
        """Name the work if it has become long."""
        if time.monotonic() < self._begun + SHOWN_AFTER:
            return
        minutes, seconds = divmod(int(time.monotonic() - self._begun), 60)
        line = f"{self._title}: {self._what}, {minutes:02d}:{seconds:02d}"
        self._write(line[: get_terminal_size().columns - 1])

    def _write(self, line: str) -> None:
        """Write a line in the place of the one before."""
        if line != self._line and sys.stderr is not None:
            sys.stderr.write("\r" + " " * len(self._line) + "\r" + line)
            sys.stderr.flush()
            self._line = line


_LOCK = threading.Lock()
_OPEN: set[Waiting] = set()
_WATCHED = [False]
"""Whether a thread looks at open work."""


def _watch(work: Waiting) -> None:
    with _LOCK:
        _OPEN.add(work)
        if not _WATCHED[0]:
            _WATCHED[0] = True
            threading.Thread(target=_look_at_all, name="chetaev-waiting", daemon=True).start()


def _look_at_all() -> None:
    while True:
        time.sleep(RENEWED_EVERY)
        with _LOCK:
            if not _OPEN:
                _WATCHED[0] = False
                return
            for work in _OPEN:
                work.look()
