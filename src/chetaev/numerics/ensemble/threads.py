"""Compiled tasks on all processors, with a progress bar. Ctrl-C asks the tasks to stop and keeps their results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import Self

import numpy as np

from chetaev.numerics.methods.dop853 import processors
from chetaev.numerics.motion.progress import RENEWED_EVERY, Bar

Task = tuple[Callable[[], None], int]
"""A task, and its number of members."""
_KEPT = 4
"""Most pools of threads that wait for another ensemble: as many ensembles may run at the same time in threads of the user, and each finds
its pool. Others start threads, which takes as long as some thousand steps."""


class Workers:
    """Threads for one ensemble, and a bar that appears on a terminal after a second."""

    def __init__(self, threads: int | None, members: int, shown: bool | None, title: str) -> None:
        self.threads = threads or processors()
        self.flag = np.zeros(1, np.int64)
        """Compiled loops stop where they are once its entry is set."""
        self.members = members
        self.finished = 0
        self._bar = Bar(shown, "simulate_many", total=members, desc=title, unit=" motions")

    @property
    def stopped(self) -> bool:
        """Whether the user asked to stop."""
        return bool(self.flag[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.__exit__(None, None, None)

    def run(self, tasks: Sequence[Task]) -> None:
        """Run all tasks, and return when all are done or have stopped."""
        with _pool(self.threads) as pool, self._stopping():
            futures = [pool.submit(self._counted, work, size) for work, size in tasks]
            going = True
            while going:
                try:
                    going = bool(wait(futures, timeout=RENEWED_EVERY).not_done)
                    self.show()
                except KeyboardInterrupt:
                    self.flag[0] = 1
            for future in futures:
                future.result()

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Where an exception ends the run, as Ctrl-C while tasks are handed over does, stop its tasks: their threads are waited for."""
        try:
            yield
        except BaseException:
            self.flag[0] = 1
            raise

    def _counted(self, work: Callable[[], None], size: int) -> None:
        work()
        self.finished += size

    def show(self) -> None:
        """Update the bar, if the work takes long and there is a terminal or notebook."""
        self._bar.show(min(self.finished, self.members))


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads of which no other ensemble makes use, new or used before; the main thread stays free for Ctrl-C, even with one thread."""
    with _lock:
        place = next((k for k in reversed(range(len(_waiting))) if _waiting[k][0] == threads), None)
        found = None if place is None else _waiting.pop(place)[1]
    pool = found or ThreadPoolExecutor(threads, "simulate_many")
    try:
        yield pool
    except BaseException:
        pool.shutdown()
        raise
    with _lock:
        _waiting.append((threads, pool))
        surplus = _waiting.pop(0)[1] if len(_waiting) > _KEPT else None
    if surplus is not None:
        surplus.shutdown(wait=False)


def _forget() -> None:
    """Make a new start in a process that was forked: it has none of the threads, and the lock may be held by one of them."""
    global _lock
    _lock = Lock()
    _waiting.clear()


_waiting: list[tuple[int, ThreadPoolExecutor]] = []
"""Numbers of threads, and the threads; the last ones used are at the end."""
_lock = Lock()
if hasattr(os, "register_at_fork"):  # not on Windows, where no process is forked
    os.register_at_fork(after_in_child=_forget)
