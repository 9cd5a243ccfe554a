"""(a) From the text of a Lagrangian to the first point of a trajectory, against sympy.physics.mechanics.

The library: System, derive, simulate over one millisecond. The peer: LagrangesMethod, lambdify, solve_ivp over the same interval; it starts
from SymPy objects, so it has nothing to parse. Warm: everything is imported and has run on a smaller system. Fresh: a new process,
interpreter and imports included.
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from first_point import FIRST, SIDES
from measure import Effort, Spread, Table, figures, milliseconds, seconds_of, take_turns
from texts import TITLES

SIZES = (2, 5, 10, 20)
_LARGEST_PEER = 10
_LATER = 0.5
_LIMIT = 60
"""Seconds of CPU that LagrangesMethod.rhs() may take."""
_MEMORY = 4 << 30
"""Bytes that it may take."""

_tags = itertools.count()


def tables(effort: Effort) -> list[Table]:
    """Warm and fresh."""
    return [_warm(effort), _fresh(effort)]


def _warm(effort: Effort) -> Table:
    found = Table(
        "(a) Lagrangian to first trajectory point, warm process",
        ["system", "n", "chetaev", "LagrangesMethod", "ratio", "ratio to t = 1", "LagrangesMethod.rhs()", "difference"],
        "CPU time. LagrangesMethod: mass matrix lambdified with shared sub-expressions and solved numerically, its faster way; `rhs()` "
        f"inverts it symbolically, in a process of its own with a limit of {_LIMIT} s. Ratio: LagrangesMethod / chetaev, median "
        "(least to largest) of interleaved rounds; to t = 1: the same for a trajectory of that length instead of one step. "
        f"Difference: the largest between the coordinates of both sides at t = {_LATER:g}, for a "
        "tolerance of 1e-9.",
    )
    for family in TITLES:
        _warm_up(["chetaev", "peer"], family)
        for n in SIZES:
            sides = {name: _side(name, family, n) for name in _compared(n, effort)}
            times = take_turns(sides, _rounds(family, n, effort))
            ratio = times["peer"].over(times["chetaev"]) if "peer" in times else None
            peer = milliseconds(times["peer"]) if "peer" in times else None
            longer = _longer_ratio(family, n, effort) if peer else None
            symbolic = None if effort.quick and n > 2 else _symbolic(family, n)
            found.add(TITLES[family], n, milliseconds(times["chetaev"]), peer, ratio, longer, symbolic, _difference(family, n, effort))
    return found


def _longer_ratio(family: str, n: int, effort: Effort) -> Spread:
    """LagrangesMethod / chetaev, up to a trajectory over one second."""
    sides = {name: _side(name, family, n, 1.0) for name in _compared(n, effort)}
    times = take_turns(sides, max(1, _rounds(family, n, effort) // 2))
    return times["peer"].over(times["chetaev"])


def _fresh(effort: Effort) -> Table:
    found = Table(
        "(a) Lagrangian to first trajectory point, fresh process",
        ["system", "n", "chetaev", "LagrangesMethod", "ratio"],
        "CPU time of a new process, interpreter and imports included. The library's compiled loop is on disk from an earlier run.",
    )
    for family in TITLES:
        for n in (2, 10) if effort.quick else SIZES:
            names = ["chetaev"] if n > 5 and effort.quick else _compared(n, effort)
            times = take_turns(
                {name: partial(_process, name, family, n) for name in names}, min(2 if effort.quick else 3, _rounds(family, n, effort))
            )
            ratio = times["peer"].over(times["chetaev"]) if "peer" in times else None
            peer = milliseconds(times["peer"]) if "peer" in times else None
            found.add(TITLES[family], n, milliseconds(times["chetaev"]), peer, ratio)
    return found


def chetaev_setup(family: str, n: int, rounds: int) -> Spread:
    """The library's set-up time alone, warm."""
    _warm_up(["chetaev"], family)
    return take_turns({"chetaev": _side("chetaev", family, n)}, rounds)["chetaev"]


def _warm_up(names: Sequence[str], family: str) -> None:
    for name in names:
        for n in (1, 2):
            SIDES[name](family, n, next(_tags))


def _side(name: str, family: str, n: int, t: float = FIRST) -> Callable[[], float]:
    return lambda: seconds_of(lambda: SIDES[name](family, n, next(_tags), t))


def _compared(n: int, effort: Effort) -> list[str]:
    return ["chetaev", "peer"] if n <= _LARGEST_PEER or effort.long else ["chetaev"]


def _rounds(family: str, n: int, effort: Effort) -> int:
    """Fewer rounds where one takes many seconds."""
    if n <= 5:
        return effort.repetitions
    return 3 if not effort.quick else 2 if n <= 10 and family != "bobs" else 1


def _difference(family: str, n: int, effort: Effort) -> float | None:
    if n > (2 if effort.quick else _LARGEST_PEER):
        return None
    tag = next(_tags)
    pairs = zip(SIDES["chetaev"](family, n, tag, _LATER), SIDES["peer"](family, n, tag, _LATER), strict=True)
    return max(abs(a - b) for a, b in pairs)


def _process(name: str, family: str, n: int) -> float:
    """CPU seconds of a child process."""
    before = _children()
    subprocess.run(_command(name, family, n), check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return _children() - before


def _command(name: str, family: str, n: int) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("first_point.py")), name, family, str(n), str(next(_tags))]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _symbolic(family: str, n: int) -> str | None:
    """What LagrangesMethod.rhs() costs, in a warm process that may be stopped."""
    if n > _LARGEST_PEER:
        return None
    done = subprocess.run(_command("symbolic", family, n), check=False, capture_output=True, text=True, preexec_fn=_limit)  # noqa: S603
    if done.returncode < 0:
        return f"over {_LIMIT} s"
    if "MemoryError" in done.stderr:
        return f"over {_MEMORY >> 30} GiB"
    done.check_returncode()
    return f"{figures(1e3 * float(done.stdout))} ms"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
