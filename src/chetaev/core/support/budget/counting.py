"""Allowances: blocks that end after a number of operations, which code announces by `spend`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import NoReturn

from chetaev.core.errors import ClockWarning
from chetaev.core.support.frames import level_of_user

OPERATIONS = 80_000
"""Counted operations per second of a budget: about what Python does with sparse polynomials in that time. A larger value lets endless
searches run longer; a smaller one cuts long searches that would end."""
CEILING = 10.0
"""Processor time after which the clock ends a budget, in multiples of its seconds: enough for machines several times slower than the
one on which `OPERATIONS` was measured, so that the count decides."""
SHORTEST = 4.0
"""Seconds of processor time before which the clock ends no budget: preparations that are not counted take a part of them."""
_OPERATIONS_BETWEEN_LOOKS = 2_000
"""Operations between two readings of the clock; a reading takes as long as a tenth of an operation."""


def ceiling(seconds: float) -> float:
    """The processor time, in seconds, after which the clock ends a budget of `seconds`."""
    return max(SHORTEST, CEILING * seconds)


class OutOfWork(BaseException):
    """A budget is exhausted. Each budget has its own subclass, which `except Exception` does not catch, and catches it at its end."""


def warn_of_clock(seconds: float) -> None:
    """Report that the clock ended a computation with a budget of `seconds`."""
    what = f"the clock ended a computation with a budget of {seconds:g} seconds; the answer may depend on the machine and its load"
    warnings.warn(what, ClockWarning, stacklevel=level_of_user())


@dataclass
class Allowance:
    """The result of a block whose operations are counted."""

    expired: bool = False
    """Whether the block was ended."""
    by_clock: bool = False
    """Whether the clock ended it, and not the count of operations."""
    seconds: float = 0.0
    """The operations spent, divided by `OPERATIONS`."""


class Tally:
    """All operations that this process announced; the process of `limited` reads it."""

    operations = 0.0


@dataclass
class _Count:
    """The operations left in an allowance, and in the one around it."""

    left: float
    until: float
    """The processor time of this thread at which the clock ends the block."""
    over: type[OutOfWork]
    around: _Count | None
    by_clock: bool = False
    unseen: float = 0.0
    """Operations since the clock was last read."""

    def spend(self, operations: float) -> None:
        self.left -= operations
        if self.around is not None:
            self.around.spend(operations)
        if self.left < 0:
            raise self.over
        self.unseen += operations
        if self.unseen > _OPERATIONS_BETWEEN_LOOKS:
            self.unseen = 0.0
            if time.thread_time() > self.until:
                self.by_clock = True
                raise self.over


_COUNT: ContextVar[_Count | None] = ContextVar("count", default=None)
"""The innermost allowance of this context."""


def spend(operations: float) -> None:
    """Count `operations` in the current allowance; the block ends if more than are left."""
    Tally.operations += operations
    count = _COUNT.get()
    if count is not None:
        count.spend(operations)


def tally(operations: float) -> None:
    """Count `operations` in the process of `limited` only, not in an allowance.

    Functions with cached answers announce their work in this way: an allowance must not depend on what is in the cache.
    """
    Tally.operations += operations


def remaining() -> float:
    """The operations left in the current allowance and those around it; infinite without one."""
    count, least = _COUNT.get(), inf
    while count is not None:
        least = min(least, count.left)
        count = count.around
    return max(0.0, least)


@contextmanager
def apart() -> Iterator[None]:
    """A block that is neither counted in the surrounding allowance nor limited by it, for answers that are cached.

    Otherwise an answer that one caller's allowance cut short would be given to the next caller, and the first caller would pay for all.
    """
    token = _COUNT.set(None)
    try:
        yield
    finally:
        _COUNT.reset(token)


def give_up(by_clock: bool = True) -> NoReturn:
    """End the innermost allowance, because a part of the work gave no value."""
    count = _COUNT.get()
    if count is None:
        raise OutOfWork
    count.by_clock = by_clock
    raise count.over


@contextmanager
def allowance(seconds: float) -> Iterator[Allowance]:
    """A block that ends after `seconds * OPERATIONS` operations."""
    mine: type[OutOfWork] = type("OutOfWork", (OutOfWork,), {})
    given = seconds * OPERATIONS
    count = _Count(given, time.thread_time() + ceiling(seconds), mine, _COUNT.get())
    found = Allowance()
    token = _COUNT.set(count)
    try:
        yield found
    except mine:
        found.expired, found.by_clock = True, count.by_clock
        if count.by_clock:
            warn_of_clock(seconds)
    finally:
        _COUNT.reset(token)
        found.seconds = (given - count.left) / OPERATIONS
