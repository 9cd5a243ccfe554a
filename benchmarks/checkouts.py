"""This checkout against another: set-up, a motion once more, and the compiled loop, on every system of the gallery.

python benchmarks/checkouts.py ../base                                  all systems, ratios new / base
python benchmarks/checkouts.py ../base --only sleigh disk --rounds 15   some of them, more exactly

Each checkout is a process of its own with the same interpreter, and they take turns. The loop by itself is given as a whole and per
evaluation of the rates, since another choice of steps changes both, and at equal error, since the cost of a method of order eight grows
like the eighth root of its accuracy. Compiled code of both checkouts is on disk before anything is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from measure import Spread, Table, figures, take_turns

HERE = Path(__file__).resolve().parent
WHAT = ("set-up", "again", "loop")
_OF_LOOPS = ("evaluations", "per", "error", "equal")
_ROUND_OFF = 1e-12
"""Relative errors below this are round-off, and say nothing of steps."""


class Side:
    """A process that runs the library of one checkout."""

    def __init__(self, checkout: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(HERE / "checkout_side.py")]
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        used = Path(self._read())
        if checkout.resolve() not in used.parents:
            raise SystemExit(f"{checkout} was asked for, {used} was imported")

    def ask(self, what: str, name: str) -> Any:
        """The answer of the process."""
        print(what, name, file=self._process.stdin, flush=True)
        return self._read()

    def seconds(self, what: str, name: str) -> float:
        """As a number, NaN where there is none."""
        found = self.ask(what, name)
        return float("nan") if found is None else float(found)

    def _read(self) -> Any:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise SystemExit("a process ended; its message is above")
        return json.loads(line)


def compared(sides: dict[str, Side], names: list[str], rounds: int, what: list[str]) -> Table:
    """A row for each system, then the median of all."""
    found = Table(
        "Two checkouts",
        [
            "system",
            *[f"{w}, base" for w in what],
            *what,
            "steps, base",
            "evaluations",
            "loop per evaluation",
            "error",
            "loop at equal error",
        ],
        "CPU milliseconds of the base, then ratios new / base, each of the least times of all rounds: other work only adds. "
        "Set-up: model to the first steps, in a process that knows no system. "
        "Again: a motion over the model's interval on compiled equations. Loop: the compiled loop in it, ends kept only. "
        "Error: at the end of the motion, relative to each component.",
    )
    medians: dict[str, list[float]] = {w: [] for w in (*what, *_OF_LOOPS)}
    for name in names:
        times = {w: _turns(sides, w, name, rounds) for w in WHAT[:2] if w in what}  # set-up first, before the system is known
        counts = {key: side.ask("prepare", name) for key, side in sides.items()}
        if None in counts.values():
            continue
        if "loop" in what:
            times["loop"] = _turns(sides, "loop", name, rounds)
        least = {w: {side: _least(w, t[side]) for side in t} for w, t in times.items()}
        ratios: dict[str, float | None] = {w: t["new"] / t["base"] for w, t in least.items()}
        ratios |= _of_loops(ratios.get("loop"), counts)
        for w, ratio in ratios.items():
            if ratio is not None:
                medians[w].append(ratio)
        base = [figures(1e3 * least[w]["base"]) for w in what]
        found.add(name, *base, *[ratios[w] for w in what], int(counts["base"]["steps"]), *[ratios[w] for w in _OF_LOOPS])
        print("|", " | ".join(found.rows[-1]), "|", flush=True)
    found.add("median", *[None] * len(what), *_summary(medians, what, statistics.median))
    found.add("largest", *[None] * len(what), *_summary(medians, what, max))
    return found


def _least(what: str, times: Spread) -> float:
    """The least time; a loop's times are least ones already, of all rounds so far."""
    return times.values[-1] if what == "loop" else min(times.values)


def _of_loops(ratio: float | None, counts: dict[str, dict[str, float]]) -> dict[str, float | None]:
    """Evaluations, the loop for each of them, the error, and the loop at equal error; none of these where there are no errors."""
    new, base = counts["new"], counts["base"]
    work = new["evaluations"] / max(base["evaluations"], 1)
    error = new["error"] / base["error"] if min(new["error"], base["error"]) > _ROUND_OFF else None
    equal = None if ratio is None or error is None else ratio * error ** (1 / 8)
    return dict(zip(_OF_LOOPS, (work, ratio / work if ratio is not None and work else None, error, equal), strict=True))


def _turns(sides: dict[str, Side], what: str, name: str, rounds: int) -> dict[str, Spread]:
    return take_turns({key: partial(side.seconds, what, name) for key, side in sides.items()}, rounds)


def _summary(medians: dict[str, list[float]], what: list[str], of: Callable[[list[float]], float]) -> list[float | None]:
    cells = {key: of(values) if values else None for key, values in medians.items()}
    return [*[cells[w] for w in what], None, *[cells[w] for w in _OF_LOOPS]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="This checkout against another.")
    parser.add_argument("base", type=Path, help="the other checkout, a work tree with src/chetaev in it")
    parser.add_argument("--only", nargs="+", help="some systems of the gallery")
    parser.add_argument("--what", nargs="+", choices=WHAT, default=list(WHAT))
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    sides = {"base": Side(chosen.base), "new": Side(HERE.parent)}
    folder = chosen.base / "src/chetaev/gallery"
    files = [f for ending in ("py", "toml") for f in folder.glob(f"[!_]*.{ending}")]
    names = chosen.only or sorted(f.stem.replace("_", "-") for f in files)
    print(compared(sides, names, chosen.rounds, chosen.what))


if __name__ == "__main__":
    main()
