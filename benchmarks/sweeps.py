"""(h) Sweeps against bare ensembles, and one worker of Dask against two.

A chart of Suslov's problem over a product of inertia and a velocity, T = 1000. `simulate_many` computes the same motions in memory, `sweep`
writes them to a store as well: CPU times. Workers are compared by wall time, without the time in which they start; on a busy machine that
says nothing.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import Effort, Spread, Table, seconds_of, take_turns

import chetaev as ch
from chetaev.core.support.frozen import Frozen
from chetaev.sweeps.cluster import client_of, run_on
from chetaev.sweeps.points import read_points
from chetaev.sweeps.progress import Bar
from chetaev.sweeps.study import Study, recipe_of

MODEL = replace(ch.gallery("suslov"), t=(0, 1000))


def tables(effort: Effort) -> list[Table]:
    """Throughput of a sweep, and of workers."""
    side = 48 if effort.quick else 200
    over = {"I13": ch.grid(0.1, 0.8, side), "A1'": ch.grid(0.5, 2, side)}
    first, second = (column.ravel() for column in np.meshgrid(*over.values(), indexing="ij"))
    start = ch.State({**MODEL.start.fixed, "A1'": second})

    def bare() -> Any:
        return ch.simulate_many(replace(MODEL, start=start), parameters={"I13": first}).final["A2'"]

    def swept() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return ch.sweep(MODEL, over, {"end": "A2'"}, to=Path(folder) / "chart.zarr")["end"].ravel()

    same = bool((bare() == swept()).all())
    sides: dict[str, Callable[[], float]] = {"bare": partial(seconds_of, bare), "swept": partial(seconds_of, swept)}
    spent = take_turns(sides, 3)
    ratio = Spread(tuple(b / s for b, s in zip(spent["bare"].values, spent["swept"].values, strict=True)))
    found = Table(
        "(h) A sweep against a bare ensemble",
        ["members", "simulate_many", "sweep", "throughput of the sweep", "same bits"],
        "Suslov's problem, T = 1000, one measure. CPU time in seconds, and the ratio of the throughputs, median (least to largest).",
    )
    found.add(side * side, spent["bare"].median, spent["swept"].median, ratio, same)
    return [found, _workers(side)]


def _workers(side: int) -> Table:
    study = Study(MODEL, Frozen({"end": "A2'"}), "benchmark")
    points = read_points({"I13": ch.grid(0.1, 0.8, side), "A1'": ch.grid(0.5, 2, side)}, "benchmark")
    parts = np.array_split(np.arange(side), 16)
    jobs = [((k,), points.columns((slice(p[0], p[-1] + 1), slice(0, side)))) for k, p in enumerate(parts)]
    walls = {}
    for workers in (1, 2):
        with client_of("local", workers, "benchmark") as client, Bar(False, 0, 0, "") as bar:
            for _ in run_on(client, recipe_of(study), jobs[: 2 * workers], bar, "benchmark"):  # each worker compiles
                pass
            begin = time.perf_counter()
            for _ in run_on(client, recipe_of(study), jobs, bar, "benchmark"):
                pass
            walls[workers] = time.perf_counter() - begin
    found = Table(
        "(h) Workers of Dask",
        ["members", "one worker", "two workers", "ratio"],
        "The same chart on a local cluster. Wall time in seconds after the workers have compiled.",
    )
    found.add(side * side, walls[1], walls[2], walls[1] / walls[2])
    return found
