"""The compiled loop by itself: what `simulate` asks of it, to be run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import chetaev as ch
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.dop853.loaded import LOOP
from chetaev.numerics.motion.quick.short_runs import ShortRuns


class Call(NamedTuple):
    """Arguments of one run of the compiled loop: code, ends of the interval, state, parameters, limits, watched functions; options."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def again(self, project: bool = True) -> dop853.Run:
        """The same run once more, or without projection."""
        code, *rest = self.arguments
        return dop853.run(code if project else code._replace(project=0), *rest, **self.options)

    def optimise(self) -> None:
        """Have the code made that a run gets after a million steps."""
        code, start = self.arguments[0], self.arguments[3]
        dop853.stages_of(code, code.size(len(start)))

    def many(self, starts: Any, threads: int | None = None, floor: Any = 0.0) -> dop853.Ensemble:
        """The same run from other states, keeping the ends only; floors, which belong to one start, must be given."""
        code, t0, t1, _, p, limits, watching = self.arguments
        return dop853.run_many(code, t0, t1, starts, p, limits, watching._replace(floor=floor), threads=threads)

    def copies(self, number: int) -> dop853.Ensemble:
        """The same run several times, in one thread."""
        start, watching = self.arguments[3], self.arguments[6]
        return self.many(np.tile(np.asarray(start), (number, 1)), threads=1, floor=watching.floor)

    def repeated(self, number: int) -> Callable[[], None]:
        """What makes the same run several times in one call of compiled code, without making arrays for it."""
        passed: list[Any] = []
        original = LOOP.integrate_some

        def keep(*arguments: Any) -> None:
            passed.append(arguments)
            original(*arguments)

        with patch.object(dop853, "LOOP", SimpleNamespace(integrate_some=keep)):
            self.copies(number)
        (arguments,) = passed
        return lambda: original(*arguments)


def optimise(equations: ch.Equations) -> None:
    """Have the code for many calls made, so that no first steps are tried with plain code."""
    compiled = compile_equations(equations)
    for kernel in (compiled.rhs, compiled.project, compiled.measure, compiled.watch()):
        if kernel is not None:
            assert kernel.address  # noqa: S101 - asking for the address makes the code


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """The runs of the compiled loop that `simulate` makes meanwhile, so that the loop can be measured without what surrounds it.

    Short runs have room of their own and call the loop directly; without them `simulate` makes the same runs by `dop853.run`.
    """
    calls: list[Call] = []
    original = dop853.run

    def run(*arguments: Any, **options: Any) -> dop853.Run:
        calls.append(Call(arguments, options))
        return original(*arguments, **options)

    with patch.object(dop853, "run", run), patch.object(ShortRuns, "useful", False):
        yield calls
    assert calls, "the motion made no run that was recorded"  # noqa: S101 - a benchmark of nothing would be very fast
