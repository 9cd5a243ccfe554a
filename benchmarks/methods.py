"""(i) Other methods: `Taylor()` against heyoka at tight tolerances, `Implicit()` against CasADi's cvodes; and CasADi's idas, which has the
multiplier of a constraint as an algebraic unknown.

heyoka, cvodes and idas integrate equations written by hand, without events or checks. Whole calls of `simulate` with
`keep="final"` are measured, over times long enough for their set-up to matter little. Errors are differences from heyoka at 1e-17 in its
mode of high accuracy, or from `Implicit()` at 1e-11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from measure import Effort, Table, figures, milliseconds, seconds_of, take_turns

import chetaev as ch

TOLERANCES = (1e-10, 1e-12, 1e-15)
STIFF = (1e-6, 1e-8)
ALGEBRAIC = (1e-6, 1e-9)
MU, STIFF_END = 100.0, 1000.0
"""Van der Pol's parameter, and a time of about six of its periods."""


@dataclass(frozen=True)
class Case:
    """A system twice: for the library, and as rates of heyoka's variables x, y, u, v; its first coordinate is compared at the end."""

    name: str
    equations: ch.Equations
    start: dict[str, float]
    first: str
    rates: Callable[..., list[Any]]
    values: tuple[float, ...]
    end: float


def _pendulum(hy: Any, x: Any, u: Any) -> list[Any]:
    return [u, -hy.sin(x)]


def _kepler(hy: Any, x: Any, y: Any, u: Any, v: Any) -> list[Any]:
    square = x * x + y * y
    pull = -1.0 / (square * hy.sqrt(square))
    return [u, v, pull * x, pull * y]


def _circle(hy: Any, x: Any, y: Any, u: Any, v: Any) -> list[Any]:
    reaction = -(u * u + v * v - 9.81 * y) / (x * x + y * y)
    return [u, v, reaction * x, reaction * y - 9.81]


def _double(hy: Any, a: Any, b: Any, u: Any, v: Any) -> list[Any]:
    c, s = hy.cos(a - b), hy.sin(a - b)
    first, second = -v * v * s - 2 * 9.81 * hy.sin(a), u * u * s - 9.81 * hy.sin(b)
    below = 2.0 - c * c
    return [u, v, (first - c * second) / below, (2.0 * second - c * first) / below]


def _cases() -> list[Case]:
    derive, system = ch.derive, ch.System
    circle = system("x y", lagrangian="(x'^2 + y'^2)/2 - 9.81*y", kinematic=["x^2 + y^2 = 1"])
    double = system("a b", lagrangian="a'^2 + b'^2/2 + a'*b'*cos(a - b) + 9.81*(2*cos(a) + cos(b))")
    kepler = system("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)")
    angle, bound = derive(system("q", lagrangian="q'^2/2 + cos(q)")), derive(circle, ch.DAlembert())
    return [
        Case("pendulum", angle, {"q": 1, "q'": 0.5}, "q", _pendulum, (1.0, 0.5), 1e4),
        Case("Kepler", derive(kepler), {"x": 1, "y": 0, "x'": 0, "y'": 1.2}, "x", _kepler, (1.0, 0.0, 0.0, 1.2), 1e4),
        Case("Cartesian pendulum", bound, {"x": 0.6, "y": -0.8, "x'": 0}, "x", _circle, (0.6, -0.8, 0.0, 0.0), 2e3),
        Case("double pendulum", derive(double), {"a": 0.5, "b": 0.4, "a'": 0, "b'": 0}, "a", _double, (0.5, 0.4, 0.0, 0.0), 1e3),
    ]


def tables(effort: Effort) -> list[Table]:
    """Tight tolerances, stiffness, an algebraic unknown."""
    return [_tight(effort), _stiff(effort), _algebraic(effort)]


def _tight(effort: Effort) -> Table:
    found = Table(
        "(i) Tight tolerances",
        ["system", "tolerance", "heyoka", "Taylor()", "ratio", "default", "ratio", "errors: heyoka, Taylor(), default"],
        "CPU of a whole call, and ratios to heyoka, which integrates equations by hand without constraints or checks.",
    )
    for case in _cases():
        exact = _heyoka(case, 1e-17, high_accuracy=True)()
        for tolerance in TOLERANCES:
            sides = {"heyoka": _heyoka(case, tolerance), "taylor": _ours(case, tolerance, ch.Taylor()), "default": _ours(case, tolerance)}
            errors = ", ".join(figures(abs(work() - exact)) for work in sides.values())
            times = take_turns({name: partial(seconds_of, work) for name, work in sides.items()}, effort.repetitions)
            cells = [cell for name in ("taylor", "default") for cell in (milliseconds(times[name]), times[name].over(times["heyoka"]))]
            found.add(case.name, f"{tolerance:g}", milliseconds(times["heyoka"]), *cells, errors)
    return found


def _ours(case: Case, tolerance: float, method: ch.Method | None = None) -> Callable[[], float]:
    options: dict[str, Any] = {"tolerance": tolerance, "method": method, "keep": "final", "max_steps": 10**8}
    return lambda: float(ch.simulate(case.equations, case.start, (0, case.end), **options).final[case.first])


def _heyoka(case: Case, tolerance: float, **options: Any) -> Callable[[], float]:
    import heyoka as hy

    names = hy.make_vars(*"xyuv"[: len(case.values)])
    pairs = list(zip(names, case.rates(hy, *names), strict=True))
    taylor = hy.taylor_adaptive(pairs, list(case.values), tol=tolerance, **options)

    def call() -> float:
        taylor.time = 0.0
        taylor.state[:] = case.values
        taylor.propagate_until(case.end)
        return float(taylor.state[0])

    return call


def _stiff(effort: Effort) -> Table:
    text = {"x": "mu*(1 - x^2)*x'"}
    equations = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces=text, name="van der Pol"))

    def ours(tolerance: float) -> float:
        motion = ch.simulate(
            equations,
            {"x": 2, "x'": 0},
            (0, STIFF_END),
            parameters={"mu": MU},
            tolerance=tolerance,
            method=ch.Implicit(),
            keep="final",
        )
        return float(motion.final["x"])

    x = ca.SX.sym("x", 2)
    problem = {"x": x, "ode": ca.vertcat(x[1], MU * (1 - x[0] ** 2) * x[1] - x[0])}
    exact = ours(1e-11)
    found = Table(
        f"(i) Stiffness: van der Pol, mu = {MU:g}, T = {STIFF_END:g}",
        ["tolerance", "cvodes", "Implicit()", "ratio", "errors: cvodes, Implicit()"],
        "CPU of a whole call. CasADi's cvodes has the exact Jacobian of its graph.",
    )
    for tolerance in STIFF:
        options = {"reltol": tolerance, "abstol": tolerance, "max_num_steps": 10**7}
        solver = ca.integrator("stiff", "cvodes", problem, 0, STIFF_END, options)
        sides: dict[str, Callable[[], float]] = {
            "cvodes": partial(_end_of, solver),
            "ours": partial(ours, tolerance),
        }
        errors = ", ".join(figures(abs(work() - exact)) for work in sides.values())
        times = take_turns({name: partial(seconds_of, work) for name, work in sides.items()}, effort.repetitions)
        found.add(f"{tolerance:g}", milliseconds(times["cvodes"]), milliseconds(times["ours"]), times["ours"].over(times["cvodes"]), errors)
    return found


def _end_of(solver: Any) -> float:
    return float(solver(x0=[2.0, 0.0])["xf"][0])


def _algebraic(effort: Effort) -> Table:
    """The Cartesian pendulum, whose rod CasADi's idas has as the second derivative of the constraint, with the tension as an unknown."""
    case = next(case for case in _cases() if case.name == "Cartesian pendulum")
    end = case.end / 10
    case = replace(case, end=end)
    x, tension = ca.SX.sym("x", 4), ca.SX.sym("tension")
    pulls = [-tension * x[0], -tension * x[1] - 9.81]
    row = x[2] ** 2 + x[3] ** 2 + x[0] * pulls[0] + x[1] * pulls[1]
    problem = {"x": x, "z": tension, "ode": ca.vertcat(x[2], x[3], *pulls), "alg": row}
    exact = _heyoka(case, 1e-17, high_accuracy=True)()
    found = Table(
        f"(i) A multiplier as an algebraic unknown: Cartesian pendulum, T = {end:g}",
        ["tolerance", "idas", "simulate", "ratio", "errors: idas, simulate", "rod's length lost: idas, simulate"],
        "CPU of a whole call. idas has the row with second derivatives, the exact Jacobian and no projection; its rod grows or shrinks.",
    )
    for tolerance in ALGEBRAIC:
        options = {"reltol": tolerance, "abstol": tolerance, "max_num_steps": 10**7}
        solver = ca.integrator("bound", "idas", problem, 0, end, options)

        def idas(solver: Any = solver) -> list[float]:
            return [float(v) for v in np.asarray(solver(x0=list(case.values), z0=8.0)["xf"]).ravel()]

        def ours(tolerance: float = tolerance) -> list[float]:
            final = ch.simulate(case.equations, case.start, (0, end), tolerance=tolerance, keep="final", max_steps=10**8).final
            return [final["x"], final["y"]]

        sides = {"idas": idas, "simulate": ours}
        ends = [work() for work in sides.values()]
        times = take_turns({name: partial(seconds_of, work) for name, work in sides.items()}, effort.repetitions)
        found.add(
            f"{tolerance:g}",
            *[milliseconds(times[name]) for name in sides],
            times["simulate"].over(times["idas"]),
            ", ".join(figures(abs(e[0] - exact)) for e in ends),
            ", ".join(figures(abs(float(np.hypot(e[0], e[1])) - 1)) for e in ends),
        )
    return found
