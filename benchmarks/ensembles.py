"""(c) Ten thousand sleighs, against a loop of solve_ivp with a numba right-hand side, by its default method and by DOP853.

The library integrates all of them, in parallel, with projection; the peer's loop runs over a sample and is scaled. Wall time, since threads
are part of the answer; the ratio of CPU times says what they contribute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import peer
from hand import CASES
from loop import recorded
from measure import Effort, Spread, Table, figures, seconds_of, take_turns

import chetaev as ch
from chetaev.numerics.methods import dop853

MEMBERS = 10_000
T = 10.0
TOLERANCE = 1e-8
METHODS = ("RK45", "DOP853")
"""The default of solve_ivp, and the method of the library."""

Members = Mapping[str, Any]


def tables(effort: Effort) -> list[Table]:
    """Wall time, CPU time and agreement."""
    case = next(c for c in CASES if c.name == "sleigh")
    starts = _starts()
    sample = np.linspace(0, MEMBERS - 1, 20 if effort.quick else 200).astype(int)
    way, run = _library(case.model, starts)

    def loop(method: str) -> Any:
        return np.array([peer.integrate(case.jitted, T, _reduced(starts, i), TOLERANCE, method) for i in sample])

    ends, by_hand = run(), loop("DOP853")
    works: dict[str, Callable[[], Any]] = {"chetaev": run, **{method: partial(loop, method) for method in METHODS}}
    spent: dict[str, list[float]] = {name: [] for name in works}
    scale = {"chetaev": 1.0, **dict.fromkeys(METHODS, MEMBERS / len(sample))}

    def measured(name: str) -> float:
        wall = time.perf_counter()
        spent[name].append(scale[name] * seconds_of(works[name]))
        return scale[name] * (time.perf_counter() - wall)

    walls = take_turns({name: partial(measured, name) for name in works}, effort.repetitions)
    cpus = {name: Spread(tuple(values)) for name, values in spent.items()}
    found = Table(
        "(c) Ensemble of 10,000 sleighs",
        ["clock", "chetaev", *[column for method in METHODS for column in (f"loop of solve_ivp, {method}, numba", "ratio")]],
        f"T = {T:g}, tolerance {TOLERANCE:g}, by {way}. The peer ran {len(sample)} members, scaled to {MEMBERS}. "
        f"Largest difference of positions at the end: {figures(float(np.max(np.abs(ends[sample] - by_hand[:, :3]))))}; "
        f"members that failed: {int(np.sum(~np.isfinite(ends).all(axis=1)))}.",
    )
    for clock, times in (("wall", walls), ("CPU", cpus)):
        peers = [cell for name in METHODS for cell in (_seconds(times[name]), times[name].over(times["chetaev"]))]
        found.add(clock, _seconds(times["chetaev"]), *peers)
    return [found]


def _seconds(times: Spread) -> str:
    return f"{figures(times.median)} s"


def _starts() -> Members:
    """Sleighs in all directions, most of them running backwards at first, so that they turn."""
    random = np.random.default_rng(20240607)
    theta = random.uniform(-1.2, 1.2, MEMBERS)
    return {
        "x": random.uniform(-1, 1, MEMBERS),
        "y": random.uniform(-1, 1, MEMBERS),
        "theta": theta,
        "x'": random.uniform(-1.5, 0.5, MEMBERS) * np.cos(theta),
        "theta'": random.uniform(-2, 2, MEMBERS),
    }


def _reduced(starts: Members, i: int) -> Any:
    """The hand's state: position, heading, speed along the blade, spin."""
    return np.array([*[starts[z][i] for z in ("x", "y", "theta")], starts["x'"][i] / np.cos(starts["theta"][i]), starts["theta'"][i]])


def _library(model: ch.Model, starts: Members) -> tuple[str, Callable[[], Any]]:
    """The library's ensemble; a function that returns x, y, theta of all members at the end."""
    equations = ch.derive(model)
    if hasattr(ch, "simulate_many"):

        def many() -> Any:
            found = ch.simulate_many(equations, starts, (0.0, T), parameters=model.parameters, tolerance=TOLERANCE)
            ends = np.column_stack([found.final[z] for z in ("x", "y", "theta")])
            ends[found.failed] = np.nan
            return ends

        return "simulate_many", many
    with recorded() as calls:
        motion = ch.simulate(equations, model.start, (0.0, T), parameters=model.parameters, tolerance=TOLERANCE, keep="final")
    names = [z.name for z in motion.jets]
    full = {**starts, "y'": starts["x'"] * np.tan(starts["theta"])}
    states = np.column_stack([full[z] for z in names])

    def direct() -> Any:
        done = calls[0].many(states)
        return np.where((done.status == dop853.Status.FINISHED)[:, None], done.y[:, [names.index(z) for z in ("x", "y", "theta")]], np.nan)

    return "dop853.run_many", direct
