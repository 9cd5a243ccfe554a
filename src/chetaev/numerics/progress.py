"""A bar that grows while a long simulation runs, and Ctrl-C that keeps what was computed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from chetaev.errors import UsageError
from chetaev.numerics.instructions import with_clock
from chetaev.numerics.machine import Kernel
from chetaev.numerics.methods.base import Task
from chetaev.numerics.methods.dop853.types import Run

_PATIENCE = 1.0
"""Seconds after which a run counts as long."""
_EVERY = 0.1

_CLOCK = np.zeros(1)
"""Where watched functions leave the time they were last called at. One place for the whole process: the code that writes there is compiled
once per kernel."""


class Progress:
    """Follows the pieces of one simulation from the main thread."""

    def __init__(self, shown: bool | None, t0: float, t1: float, title: str, where: str) -> None:
        if shown not in (None, True, False):
            raise UsageError(f"progress={shown!r} is not known.", where=where, hint="progress=True, False or None")
        self.shown = _watched_by_somebody() if shown is None else bool(shown)
        self.t0, self.t1, self.title = t0, t1, title
        self.flag = np.zeros(1, np.int64)
        self._bar: Any = None
        self._began = 0.0
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._pool = ThreadPoolExecutor(1)
        if self.shown:
            _CLOCK[0] = self.t0
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        if self._bar is not None:
            self._bar.n = 1.0 if error is None and not self.flag[0] else self._bar.n
            self._bar.close()

    def probed(self, watch: Kernel) -> Kernel:
        """A watched function that tells how far the run is."""
        if not self.shown:
            return watch
        return replace(watch, program=with_clock(watch.program, _CLOCK.ctypes.data))

    def follow(self, work: Callable[[Task], Run], task: Task) -> Run:
        """The result of some work, done in a thread so that Ctrl-C can ask it to stop and what was computed comes back."""
        assert self._pool is not None  # noqa: S101 - used inside the with block
        future = self._pool.submit(work, task)
        while True:
            try:
                return self._waited(future)
            except KeyboardInterrupt:
                self.flag[0] = 1

    def _waited(self, future: Future[Run]) -> Run:
        while self.shown:
            try:
                return future.result(_EVERY)
            except NotYet:
                if future.done():
                    raise
                self._show()
        return future.result()

    def _show(self) -> None:
        if time.monotonic() - self._began < _PATIENCE:
            return
        if self._bar is None:
            tqdm = _bar_here()

            self._bar = tqdm(total=1.0, desc=self.title, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}", leave=False)
        part = (float(_CLOCK[0]) - self.t0) / (self.t1 - self.t0)
        self._bar.n = min(max(part, self._bar.n), 1.0)
        self._bar.refresh()


def _bar_here() -> Any:
    """A bar for a notebook where its widgets are installed, else one of letters."""
    from importlib.util import find_spec

    if "IPython" in sys.modules and find_spec("ipywidgets") is not None:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    return tqdm


def _watched_by_somebody() -> bool:
    """Whether there is a terminal or a notebook."""
    shell = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return True
    return bool(sys.stderr is not None and sys.stderr.isatty())
