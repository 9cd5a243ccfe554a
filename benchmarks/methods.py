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
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from measure import Effort, Table, figures, milliseconds, seconds_of, take_turns

import chetaev as ch

TOLERANCES = (1e-10, 1e-12, 1e-15)
STIFF = (1e-6, 1e-8)
ALGEBRAIC = (1e-6, 1e-9)
CHAINS = (50, 200)
"""Masses of stiff chains."""
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
    """Tight tolerances, stiffness of one body and of a chain, an algebraic unknown."""
    return [_tight(effort), _stiff(effort), _stiff_chain(effort), _algebraic(effort)]


def _tight(effort: Effort) -> Table:
    found = Table(
        "(i) Tight tolerances",
        ["system", "tolerance", "heyoka", "Taylor()", "ratio", "at equal error", "default", "ratio", "errors: heyoka, Taylor(), default"],
        "CPU of a whole call, and ratios to heyoka, which integrates equations by hand without constraints or checks. At equal error: "
        "Taylor() against heyoka at the loosest tolerance with no larger error; a dash where no tolerance from 1e-10 to 1e-17 has one.",
    )
    for case in _cases():
        exact = _heyoka(case, 1e-17, high_accuracy=True)()
        peers = [_heyoka(case, 10.0**-digits) for digits in range(10, 18)]
        reached = [abs(peer() - exact) for peer in peers]
        for tolerance in TOLERANCES:
            sides = {"heyoka": _heyoka(case, tolerance), "taylor": _ours(case, tolerance, ch.Taylor()), "default": _ours(case, tolerance)}
            off = {name: abs(work() - exact) for name, work in sides.items()}
            errors = ", ".join(map(figures, off.values()))
            equal = next((peer for peer, error in zip(peers, reached, strict=True) if error <= off["taylor"]), None)
            if equal is not None:
                sides["equal"] = equal
            times = take_turns({name: partial(seconds_of, work) for name, work in sides.items()}, effort.repetitions)
            taylor, default = ((milliseconds(times[name]), times[name].over(times["heyoka"])) for name in ("taylor", "default"))
            at_equal = "–" if equal is None else times["taylor"].over(times["equal"])
            found.add(case.name, f"{tolerance:g}", milliseconds(times["heyoka"]), *taylor, at_equal, *default, errors)
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


def _stiff_chain(effort: Effort) -> Table:
    """Masses between stiff springs and dampers, whose Jacobian is a band, each bound to its place by a cubic force."""
    found = Table(
        "(i) Stiffness: chains of masses between springs and dampers, T = 5",
        ["masses", "tolerance", "cvodes", "Implicit()", "ratio", "errors: cvodes, Implicit()"],
        "CPU of a whole call. CasADi's cvodes has the exact sparse Jacobian of its graph, and factors it in a sparse order.",
    )
    for n in CHAINS:
        names = [f"u{k}" for k in range(n)]
        gaps = [("0", "0"), *[(name, f"{name}'") for name in names], ("0", "0")]
        pairs = [(f"({b} - {a})", f"({b_} - {a_})") for (a, a_), (b, b_) in pairwise(gaps)]
        energies = [f"{name}'^2/2 - {name}^4/4" for name in names] + [f"(-k/2*{across}^2)" for across, _ in pairs]
        system = ch.System(names, "k c", lagrangian=" + ".join(energies), dissipation=" + ".join(f"c/2*{rate}^2" for _, rate in pairs))
        equations = ch.derive(system)
        place = np.pi * np.arange(1, n + 1) / (n + 1)
        state = np.r_[np.sin(place) + 0.3 * np.sin(3 * place), np.zeros(n)]
        start = dict(zip([*names, *[f"{name}'" for name in names]], state.tolist(), strict=True))

        def ours(tolerance: float, equations: Any = equations, start: Any = start, names: Any = names) -> Any:
            options = {"parameters": {"k": 1e5, "c": 1e3}, "method": ch.Implicit(), "keep": "final"}
            final = ch.simulate(equations, start, (0, 5), tolerance=tolerance, **options).final
            return np.array([final[name] for name in names])

        u, v = ca.SX.sym("u", n), ca.SX.sym("v", n)
        wide, fast = ca.vertcat(0, u, 0), ca.vertcat(0, v, 0)
        forces = 1e5 * (wide[2:] - 2 * u + wide[:-2]) + 1e3 * (fast[2:] - 2 * v + fast[:-2]) - u**3
        problem = {"x": ca.vertcat(u, v), "ode": ca.vertcat(v, forces)}

        def theirs(tolerance: float, problem: Any = problem, state: Any = state, n: int = n) -> Callable[[], Any]:
            solver = ca.integrator("chain", "cvodes", problem, 0, 5, {"reltol": tolerance, "abstol": tolerance, "max_num_steps": 10**7})
            return lambda: np.asarray(solver(x0=state)["xf"]).ravel()[:n]

        exact = theirs(1e-12)()
        for tolerance in STIFF:
            sides: dict[str, Callable[[], Any]] = {"cvodes": theirs(tolerance), "ours": partial(ours, tolerance)}
            errors = ", ".join(figures(float(np.abs(work() - exact).max())) for work in sides.values())
            times = take_turns({name: partial(seconds_of, work) for name, work in sides.items()}, effort.repetitions)
            cells = [milliseconds(times["cvodes"]), milliseconds(times["ours"]), times["ours"].over(times["cvodes"])]
            found.add(str(n), f"{tolerance:g}", *cells, errors)
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
