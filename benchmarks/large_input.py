"""(a) A large input: the bicycle written out from its geometry, from text to accelerations, and how parsing grows with the text.

Each run of the bicycle is a new process, because SymPy and the library remember expressions; imports are shown apart.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
from measure import Effort, Spread, Table, figures, milliseconds, seconds_of, take_turns

import chetaev as ch

TERMS = (500, 1000, 2000, 4000)
_STAGES = ("imports", "text to System", "derive", "accelerations", "first trajectory point")


def tables(effort: Effort) -> list[Table]:
    """The bicycle, then sums of many terms."""
    return [_bicycle(effort), _sums(effort)]


def _bicycle(effort: Effort) -> Table:
    rounds = [_process() for _ in range(1 if effort.quick else 3)]
    stages = {name: Spread(tuple(found[k] for found in rounds)) for k, name in enumerate(_STAGES)}
    total = Spread(tuple(sum(found[1:4]) for found in rounds))
    found = Table(
        "(a) A large input: the bicycle of the gallery",
        ["stage", "CPU"],
        f"{int(rounds[0][-1])} operations in the Lagrangian as SymPy counts them, eight coordinates, one holonomic and four nonholonomic "
        "constraints. New processes; imports are not part of the sum.",
    )
    for name, spent in stages.items():
        found.add(name, milliseconds(spent))
    found.add("text to accelerations", milliseconds(total))
    return found


def _process() -> list[float]:
    done = subprocess.run([sys.executable, str(Path(__file__))], check=True, capture_output=True, text=True)  # noqa: S603
    return [float(v) for v in done.stdout.split()]


def stages() -> list[float]:
    """CPU seconds of each stage in this process, and the number of operations of the Lagrangian."""
    clock: Callable[[], float] = time.process_time
    import_module("chetaev.numerics.motion.simulate")  # `import chetaev` alone imports nothing yet
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent, start = [used.ru_utime + used.ru_stime], clock()
    model = ch.gallery("bicycle")
    spent.append(clock() - start)
    start = clock()
    equations = ch.derive(model.system, model.principle)
    spent.append(clock() - start)
    start = clock()
    ch.evaluate(equations, model.start, parameters=model.parameters)
    spent.append(clock() - start)
    start = clock()
    ch.simulate(equations, model.start, (0, 1e-3), parameters=model.parameters)
    spent.append(clock() - start)
    return [*spent, float(model.system.lagrangian.count_ops())]


def _sums(effort: Effort) -> Table:
    found = Table(
        "(a) Reading a long sum",
        ["terms", "characters", "CPU", "per term"],
        "A System with one coordinate whose Lagrangian is a sum of so many different terms: `c*cos(k*x)*x'^2`.",
    )
    times = take_turns({str(n): partial(_reading, n) for n in TERMS}, effort.repetitions)
    for n in TERMS:
        spent = times[str(n)]
        found.add(n, len(_text(n, 0)), milliseconds(spent), f"{figures(1e6 * spent.median / n)} us")
    medians = [times[str(n)].median for n in TERMS]
    found.add("exponent", None, f"{np.polyfit(np.log(TERMS), np.log(medians), 1)[0]:.2f}", None)
    return found


_tags = iter(range(1, 10_000))


def _reading(n: int) -> float:
    text = _text(n, next(_tags))
    return seconds_of(lambda: ch.System("x", lagrangian=text))


def _text(n: int, tag: int) -> str:
    return " + ".join(f"{k + 1}.{tag:04}1*cos({k + 2}*x)*x'^2" for k in range(n))


if __name__ == "__main__":
    print(*stages())
