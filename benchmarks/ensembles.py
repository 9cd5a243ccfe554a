"""(c) Ten thousand sleighs, against a loop of solve_ivp with a numba right-hand side, by its default method and by DOP853; and ten thousand
sleighs and double pendulums against heyoka's batch mode.

The library integrates all of them, in parallel, with projection; the peer's loop runs over a sample and is scaled. Wall time, since threads
are part of the answer; the ratio of CPU times says what they contribute. heyoka integrates equations reduced by hand, eight members at a
time in one thread, without projection, events or checks, at the loosest tolerance with which its median error is not larger than the
library's; CPU times are compared, whole calls of `simulate_many` and the loop within them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import peer
from cases import CASES
from loop import recorded
from measure import Effort, Spread, Table, figures, seconds_of, take_turns

import chetaev as ch
from chetaev.numerics.ensemble import side_by_side
from chetaev.numerics.methods import dop853, lanes

MEMBERS = 10_000
T = 10.0
TOLERANCE = 1e-8
TOLERANCES = (1e-8, 1e-10)
"""Of the library, against heyoka."""
_HEYOKA = tuple(10.0 ** (-k / 4) for k in range(12, 61))
"""Tolerances that are tried for heyoka, the loosest first: from 1e-3 to 1e-15."""
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
    return [found, _against_heyoka(effort, case.model, starts)]


def _against_heyoka(effort: Effort, sleigh: ch.Model, starts: Members) -> Table:
    """CPU per member: the library on one thread, and heyoka's Taylor series for eight states at a time."""
    double = next(c for c in CASES if c.name == "double_pendulum").model
    random = np.random.default_rng(1)
    swings = dict(zip(("theta1", "theta2", "theta1'", "theta2'"), random.uniform(-1.5, 1.5, (4, MEMBERS)), strict=True))
    reduced = np.array([_reduced(starts, i) for i in range(MEMBERS)]).T
    found = Table(
        "(c) Ensembles of 10,000 against heyoka's batch mode",
        ["system", "tolerance", "simulate_many", "its loop", "heyoka, batch 8", "simulate_many / heyoka", "loop / heyoka", "errors"],
        f"T = {T:g}, one thread; microseconds of CPU per member after millions of steps, heyoka at the loosest tolerance with no larger "
        "error. Errors of library and heyoka: median over the members of the largest difference of a coordinate at the end from heyoka at "
        "tolerance 1e-17.",
    )
    for name, model, given, state in (
        ("Chaplygin sleigh", sleigh, starts, reduced),
        ("double pendulum", double, swings, np.array(list(swings.values()))),
    ):
        coordinates = [z for z in given if "'" not in z]
        exact = _batches(model, state, 1e-17)()[: len(coordinates)]
        for tolerance in TOLERANCES:
            run = _many(model, given, tolerance)
            warm = _warmed(run)
            error = _error([warm.final[z] for z in coordinates], exact)
            tried = ((peer, _error(peer()[: len(coordinates)], exact)) for peer in (_batches(model, state, e) for e in _HEYOKA))
            heyoka, other = next(pair for pair in tried if pair[1] <= error)
            spent: list[float] = []

            def ours(run: Callable[[], Any] = run, spent: list[float] = spent) -> float:
                with _loop_timed() as inside:
                    whole = seconds_of(run)
                spent.append(sum(inside))
                return whole

            times = take_turns({"library": ours, "heyoka": partial(seconds_of, heyoka)}, effort.repetitions)
            loop = Spread(tuple(spent))
            cells = [figures(t.median / MEMBERS * 1e6) for t in (times["library"], loop, times["heyoka"])]
            ratios = [times["library"].over(times["heyoka"]), loop.over(times["heyoka"])]
            found.add(name, figures(tolerance), *cells, *ratios, f"{figures(error)}, {figures(other)}")
    return found


def _error(ends: Any, exact: Any) -> float:
    """The median over the members of the largest difference of a coordinate."""
    return float(np.median(np.abs(np.asarray(ends) - exact).max(axis=0)))


def _warmed(run: Callable[[], Any]) -> Any:
    """The ensemble after so many steps that all code is made for many steps, as heyoka makes all of its code before it begins."""
    found = run()
    for _ in range(-(-side_by_side.PAYS // int(found.counts["accepted"].sum()))):
        found = run()
    return found


def _many(model: ch.Model, given: Members, tolerance: float) -> Callable[[], Any]:
    equations = ch.derive(model)

    def run() -> Any:
        return ch.simulate_many(equations, given, (0.0, T), parameters=model.parameters, tolerance=tolerance, threads=1)

    return run


@contextmanager
def _loop_timed() -> Iterator[list[float]]:
    """CPU seconds that the compiled loop takes, call by call."""
    compiled, found = lanes.LANE_LOOP, []

    def timed(*arguments: Any) -> None:
        begun = time.thread_time()
        compiled.integrate_lanes(*arguments)
        found.append(time.thread_time() - begun)

    lanes.LANE_LOOP = SimpleNamespace(integrate_lanes=timed)
    try:
        yield found
    finally:
        lanes.LANE_LOOP = compiled


def _batches(model: ch.Model, states: Any, tolerance: float) -> Callable[[], Any]:
    """Heyoka for eight members at a time."""
    import heyoka as hy

    p = [float(v) for v in model.parameters.values()]
    if model.system.name == "double pendulum":
        a, b, u, v = hy.make_vars("a", "b", "u", "v")
        m1, m2, l1, l2, g = p
        s, c, m = hy.sin(a - b), hy.cos(a - b), m1 + m2
        x, y, det = -m2 * l2 * v * v * s - m * g * hy.sin(a), l1 * u * u * s - g * hy.sin(b), m1 + m2 * s * s
        rates = [(a, u), (b, v), (u, (x - m2 * c * y) / (l1 * det)), (v, (m * y - c * x) / (l2 * det))]
    else:
        x, y, a, v, w = hy.make_vars("x", "y", "a", "v", "w")
        m, inertia, arm = p
        turning = -m * arm / (inertia + m * arm * arm)
        rates = [(x, v * hy.cos(a)), (y, v * hy.sin(a)), (a, w), (v, arm * w * w), (w, turning * v * w)]
    stepper = hy.taylor_adaptive_batch(rates, np.zeros((len(rates), 8)), tol=tolerance)

    def run() -> Any:
        found = np.empty_like(states)
        for first in range(0, states.shape[1], 8):
            stepper.set_time(0.0)
            stepper.state[:] = states[:, first : first + 8]
            stepper.propagate_until(np.full(8, T))
            found[:, first : first + 8] = stepper.state
        return found

    return run


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
