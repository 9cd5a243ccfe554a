"""Clocks, repetitions and tables: what all benchmarks share.

The machine may be shared and noisy. So all sides of a comparison take turns, in an order that rotates; CPU time is measured where one
thread works; a ratio is formed within each round, and reported as the median of the rounds with the least and the largest.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Clock = Callable[[], float]


@dataclass(frozen=True)
class Effort:
    """How much is measured: `quick` takes about five minutes on two cores, `long` adds peers that take minutes each."""

    quick: bool = False
    long: bool = False

    @property
    def repetitions(self) -> int:
        """Rounds of a comparison."""
        return 3 if self.quick else 7


@dataclass(frozen=True)
class Spread:
    """Numbers of several rounds: the median, and between which values they lie."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        low, high = figures(min(self.values)), figures(max(self.values))
        return f"{figures(self.median)} ({low} to {high})" if low != high else figures(self.median)

    def scaled(self, factor: float) -> Spread:
        """The numbers times a factor."""
        return Spread(tuple(factor * v for v in self.values))

    def over(self, other: Spread) -> Spread:
        """The ratio, round by round."""
        return Spread(tuple(a / b for a, b in zip(self.values, other.values, strict=True)))


@dataclass
class Table:
    """Rows of a markdown table under a title, with a note on what was measured."""

    title: str
    columns: Sequence[str]
    note: str
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        """One more row; numbers are rounded, None is a dash."""
        self.rows.append([_cell(c) for c in cells])

    def __str__(self) -> str:
        lines = [f"## {self.title}", "", self.note, "", _line(self.columns), _line(["---"] * len(self.columns))]
        return "\n".join([*lines, *map(_line, self.rows), ""])


def figures(x: float) -> str:
    """Three significant figures, without an exponent where that is readable."""
    if x == 0 or 1e-3 <= abs(x) < 1e5:
        digits = f"{x:.3g}"
        return digits if "e" not in digits else f"{float(digits):.0f}"
    return f"{x:.1e}"


def milliseconds(found: Spread) -> str:
    """A median in milliseconds."""
    return f"{figures(found.median * 1e3)} ms"


def seconds_of(work: Callable[[], Any], clock: Clock = time.process_time) -> float:
    """The time one call takes; CPU time of all threads unless another clock is given."""
    start = clock()
    work()
    return clock() - start


def seconds_per_call(work: Callable[[], Any], at_least: float = 0.02, clock: Clock = time.process_time) -> float:
    """The time of a call too short for the clock: repeated, more often each time, until all take long enough. The first does not count."""
    work()
    calls = 1
    while True:
        start = clock()
        for _ in range(calls):
            work()
        spent = clock() - start
        if spent >= at_least:
            return spent / calls
        calls *= 2 if spent > at_least / 16 else 8


def take_turns(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Spread]:
    """Every side measured once in each round, the order rotating."""
    names = list(sides)
    found: dict[str, list[float]] = {name: [] for name in names}
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:
            gc.collect()
            gc.freeze()  # what another side left behind is not to be looked through on this side's time
            found[name].append(sides[name]())
    return {name: Spread(tuple(values)) for name, values in found.items()}


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return figures(value) if isinstance(value, float) else str(value)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
