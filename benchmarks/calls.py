"""(h) Whole calls of short motions, against heyoka: what a call costs besides its steps.

The sleigh over T = 0.1 at tolerance 1e-6, with another mass and spin in every call. heyoka integrates the five reduced equations, written
by hand, without constraints to check or project onto; the library all six jets of the state. For single states the peer is a CasADi
function of the same accelerations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import casadi as ca
import numpy as np
from cases import CASES
from measure import Effort, Table, figures, seconds_per_call, take_turns

import chetaev as ch

T = 0.1
TOLERANCE = 1e-6
_WARM = 120
"""Calls after which all code is made for many calls."""


def tables(effort: Effort) -> list[Table]:
    """Motions, then single states."""
    model = next(c for c in CASES if c.name == "sleigh").model
    return [_motions(model, effort), _states(model, effort)]


def _motions(model: ch.Model, effort: Effort) -> Table:
    equations = ch.derive(model)
    run = ch.prepare(equations, t=(0, T), tolerance=TOLERANCE)
    y0, p = run.start(model.start, parameters=model.parameters)
    mass, spin = run.parameters.index("m"), run.state.index("theta'")
    number = count()

    def prepared() -> Any:
        k = next(number) % 7
        y0[spin], p[mass] = 1.0 + 0.01 * k, 1.0 + 0.02 * k
        return run(y0, p)

    def simulated() -> Any:
        k = next(number) % 7
        start = {**model.start.fixed, "theta'": 1.0 + 0.01 * k}
        return ch.simulate(equations, start, (0, T), parameters={**model.parameters, "m": 1.0 + 0.02 * k}, tolerance=TOLERANCE)

    sides: dict[str, Callable[[], Any]] = {"prepared": prepared, "simulate": simulated, "heyoka": _heyoka(model, number)}
    for work in sides.values():
        for _ in range(_WARM):
            work()
    times = take_turns({name: partial(seconds_per_call, work) for name, work in sides.items()}, effort.repetitions)
    y0, p = run.start(model.start, parameters=model.parameters)
    found = Table(
        "(h) Whole calls, sleigh, T = 0.1",
        ["call", "CPU", "ratio to heyoka"],
        f"Tolerance {TOLERANCE:g}, another mass and spin in every call. heyoka: five reduced equations, no constraint. Difference of the "
        f"ends: {figures(float(np.abs(run(y0, p)[[0, 2, 4]] - _end(model)[:3]).max()))}.",
    )
    for name in sides:
        found.add(name, f"{figures(times[name].median * 1e6)} us", times[name].over(times["heyoka"]))
    return found


def _states(model: ch.Model, effort: Effort) -> Table:
    equations = ch.derive(model)
    run = ch.prepare(equations, t=(0, T))
    y0, p = run.start(model.start, parameters=model.parameters)
    t, y, q = ca.SX.sym("t"), ca.SX.sym("y", len(y0)), ca.SX.sym("p", len(p))
    theta, u, v, w = y[4], y[1], y[3], y[5]
    along = u * ca.cos(theta) + v * ca.sin(theta)
    turn = -q[0] * q[2] * along * w / (q[1] + q[0] * q[2] ** 2)
    faster = q[2] * w**2
    rates = [u, faster * ca.cos(theta) - along * w * ca.sin(theta), v, faster * ca.sin(theta) + along * w * ca.cos(theta), w, turn]
    function = ca.Function("rates", [t, y, q], [ca.vertcat(*rates)])
    sides: dict[str, Callable[[], Any]] = {
        "evaluate": lambda: ch.evaluate(equations, model.start, parameters=model.parameters),
        "run.rates": lambda: run.rates(0.0, y0, p),
        "CasADi": lambda: function(0.0, y0, p),
    }
    for work in sides.values():
        for _ in range(_WARM):
            work()
    times = take_turns({name: partial(seconds_per_call, work) for name, work in sides.items()}, effort.repetitions)
    off = float(np.abs(np.array(function(0.0, y0, p)).ravel() - run.rates(0.0, y0, p)).max())
    note = f"CasADi: a function of the accelerations, by hand, called with arrays. Difference: {figures(off)}."
    found = Table("(h) Single states, sleigh", ["call", "CPU", "ratio to CasADi"], note)
    for name in sides:
        found.add(name, f"{figures(times[name].median * 1e6)} us", times[name].over(times["CasADi"]))
    return found


def _integrator(model: ch.Model) -> Any:
    import heyoka as hy

    x, y, theta, v, w = hy.make_vars("x", "y", "theta", "v", "w")
    m, spin, a = hy.par[0], hy.par[1], hy.par[2]
    rates = [
        (x, v * hy.cos(theta)),
        (y, v * hy.sin(theta)),
        (theta, w),
        (v, a * w * w),
        (w, -m * a * v * w / (spin + m * a * a)),
    ]
    return hy.taylor_adaptive(rates, _reduced(model), pars=[float(model.parameters[name]) for name in ("m", "J", "a")], tol=TOLERANCE)


def _reduced(model: ch.Model) -> list[float]:
    now = ch.evaluate(model)
    return [now["x"], now["y"], now["theta"], now["x'*cos(theta) + y'*sin(theta)"], now["theta'"]]


def _heyoka(model: ch.Model, number: Any) -> Callable[[], Any]:
    taylor, start = _integrator(model), np.array(_reduced(model))
    state, values = taylor.state, taylor.pars

    def call() -> Any:
        k = next(number) % 7
        taylor.time = 0.0
        state[:], values[0] = start, 1.0 + 0.02 * k
        state[4] = 1.0 + 0.01 * k
        taylor.propagate_until(T)
        return state

    return call


def _end(model: ch.Model) -> Any:
    taylor = _integrator(model)
    taylor.propagate_until(T)
    return taylor.state
