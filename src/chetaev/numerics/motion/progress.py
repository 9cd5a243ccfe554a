"""A progress bar for long work, and Ctrl-C that keeps the computed part of a simulation."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.support.waiting import RENEWED_EVERY, SHOWN_AFTER, Waiting, output_is_watched
from chetaev.numerics.methods.base import Task
from chetaev.numerics.methods.dop853.types import Run


class Bar:
    """Shows what long work has done, on a terminal or in a notebook. Short work shows nothing.

    `shown` is None to show the bar only on a terminal or in a notebook; `look` are arguments of tqdm.
    """

    def __init__(self, shown: bool | None, where: str, **look: Any) -> None:
        if shown not in (None, True, False):
            raise UsageError(f"progress={shown!r} is not known.", where=where, hint=(SetArgument("progress", True), ", False or None"))
        self.shown = output_is_watched() if shown is None else bool(shown)
        self._look = look
        self._bar: Any = None
        self._next = time.monotonic() + SHOWN_AFTER

    def __enter__(self) -> Self:
        self._next = time.monotonic() + SHOWN_AFTER
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, done: float, note: str | None = None) -> None:
        """Note how much is done. A count never falls; a note takes the place of the one before."""
        if not self.shown or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + RENEWED_EVERY
        if self._bar is None:
            self._bar = _bar_here()(leave=False, **self._look)
        self._bar.n = max(done, self._bar.n)
        if note is not None:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.refresh()


class Progress:
    """Follows the pieces of one simulation, which report their time from time to time."""

    def __init__(self, shown: bool | None, t0: float, t1: float, title: str, where: str) -> None:
        self.t0, self.t1, self.title = t0, t1, title
        self.flag = np.zeros(1, np.int64)
        """The flag that asks a run to stop."""
        self._bar = Bar(shown, where, total=1.0, desc=title, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")
        self._before, self._after = (Waiting(self._bar.shown, title, what) for what in ("setting up", "checking"))

    @property
    def shown(self) -> bool:
        """Whether a bar appears once the run is long."""
        return self._bar.shown

    def __enter__(self) -> Self:
        self._bar.__enter__()
        self._before.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for shown in (self._before, self._after, self._bar):
            shown.__exit__(kind, error, trace)

    def follow(self, work: Callable[[Task], Run], task: Task) -> Run:
        """Return the result of a task; Ctrl-C asks it to stop, and the computed part is returned."""
        for shown in (self._before, self._after):
            shown.__exit__(None, None, None)
        with self.asking_to_stop():
            found = work(task)
        self._after.__enter__()
        return found

    def reached(self, t: float) -> None:
        """Note that the run has reached the time `t`."""
        self._bar.show(min((t - self.t0) / (self.t1 - self.t0), 1.0))

    @contextmanager
    def asking_to_stop(self) -> Iterator[None]:
        """Let Ctrl-C set the flag; a second Ctrl-C raises as usual. A handler installed by the user stays in place."""
        usual = signal.getsignal(signal.SIGINT)
        if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(number: int, frame: Any) -> None:
            if self.flag[0]:
                signal.default_int_handler(number, frame)
            self.flag[0] = 1

        signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)


def _bar_here() -> Any:
    """Return a bar for a notebook if its widgets are installed, otherwise a text bar."""
    from importlib.util import find_spec

    if "IPython" in sys.modules and find_spec("ipywidgets") is not None:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    return tqdm
