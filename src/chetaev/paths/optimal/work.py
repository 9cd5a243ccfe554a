"""The work that a search for inputs may do: it is counted, so that what is found does not depend on the machine or its load."""

from __future__ import annotations

import time

from chetaev.core.support.budget import OPERATIONS, spend
from chetaev.core.support.budget.counting import ceiling, warn_of_clock

ENTRIES_PER_SECOND = 2_000_000
"""Nonzero first derivatives of the rows of a program, times iterations of IPOPT, to the second of a budget: an iteration takes 0.4 to 0.9
microseconds for each. With more, searches that do not converge take longer; with fewer, long programs end early."""


class Work:
    """A budget of `seconds`, counted in nonzero derivatives of rows times iterations; the clock ends it after a multiple of this time."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.by_clock = seconds, False
        self._entries_left = seconds * ENTRIES_PER_SECOND
        self._until = time.process_time() + ceiling(seconds)

    @property
    def left(self) -> float:
        """The seconds of the budget that are left; none once the clock has ended it."""
        self.by_clock = self.by_clock or self.time_left <= 0
        return 0.0 if self.by_clock else max(0.0, self._entries_left / ENTRIES_PER_SECOND)

    @property
    def time_left(self) -> float:
        """The processor time, in seconds, after which the clock ends the search."""
        return self._until - time.process_time()

    def did(self, iterations: int, entries: int) -> None:
        """Count `iterations` of a program whose rows have `entries` nonzero derivatives."""
        self._entries_left -= iterations * entries
        spend(iterations * entries * OPERATIONS / ENTRIES_PER_SECOND)

    def report(self) -> None:
        """Warn if the clock ended the search."""
        if self.by_clock:
            warn_of_clock(self.seconds)
