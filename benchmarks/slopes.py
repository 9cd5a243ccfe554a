"""(j) Derivatives of motions: their cost in motions, and peers that differentiate integrators.

Motions of the gallery and their slopes take turns, `simulate` against `simulate(..., slopes=...)`, both warm, with the certificate of the
motion and of its slopes. The peers integrate the sleigh's equations in independent velocities, solved by hand, with their own forward
sensitivities: CVODES of SUNDIALS through CasADi, and diffrax where it is installed. No constraints and no multipliers are theirs to treat.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from measure import Effort, Table, milliseconds, seconds_per_call, take_turns
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import chetaev as ch

Array = NDArray[np.float64]
TOLERANCE = 1e-9
SLEIGH = ch.System(
    "x y theta",
    "m J a",
    lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
    kinematic=["y'*cos(theta) - x'*sin(theta) = a*theta'"],
    name="sleigh",
)
VALUES = {"m": 1.2, "J": 0.4, "a": 0.25}
START = {"x": 0.0, "y": 0.0, "theta": 0.5, "x'": -1.0, "theta'": 0.6}
END = 5.0
BY = ("m", "J", "a")
MOTIONS: dict[str, tuple[float, tuple[str, ...]]] = {
    "sleigh": (10.0, ("m", "J", "a", "x'", "theta'")),
    "rolling-disk": (5.0, ("m", "R", "theta", "theta'", "phi'")),
    "rattleback": (5.0, ()),
    "bicycle": (5.0, ()),
}
"""Motions of the gallery: their duration, and what they are differentiated by; ten parameters where nothing is said."""
DIRECTIONS = 10
WARM = 55
"""Calls before the measurement: after fifty all code is compiled."""


def tables(effort: Effort) -> list[Table]:
    """Costs in motions, and peers."""
    return [_costs(effort), _peers(effort)]


def _costs(effort: Effort) -> Table:
    found = Table(
        "(j) Slopes in units of their motion",
        ["motion", "directions", "motion", "with one direction", "all directions", "per direction"],
        f"CPU time of `simulate`, tolerance {TOLERANCE:g}, ends only, warm. Ratios to the motion alone, median (least to largest).",
    )
    for name, (end, by) in MOTIONS.items():
        model = ch.gallery(name)
        known = [p.name for p in model.system.parameters] + [str(z) for z in model.start.fixed]
        names = [z for z in by if z in known] or [p.name for p in model.system.parameters][:DIRECTIONS]
        settings: dict[str, Any] = {"t": (float(model.t[0]), float(model.t[0]) + end), "tolerance": TOLERANCE, "keep": "final"}

        def work(slopes: list[str] | None, model: ch.Model = model, settings: dict[str, Any] = settings) -> Callable[[], Any]:
            return partial(ch.simulate, model, slopes=slopes, **settings)

        for _ in range(WARM):
            for slopes in (None, names[:1], names):
                work(slopes)()
        sides = {"motion": work(None), "one": work(names[:1]), "all": work(names)}
        spent = take_turns({side: partial(seconds_per_call, call) for side, call in sides.items()}, effort.repetitions)
        one, whole = spent["one"].over(spent["motion"]), spent["all"].over(spent["motion"])
        each = whole.scaled(1 / len(names))
        found.add(name, len(names), milliseconds(spent["motion"]), one, whole, each)
    return found


def _peers(effort: Effort) -> Table:
    found = Table(
        "(j) The sleigh differentiated by its parameters, beside other packages",
        ["package", "motion and slopes", "ratio to chetaev", "largest error of a slope"],
        f"Derivatives of x, y, theta at t = {END:g} by m, J, a, with the tolerance {TOLERANCE:g}; CPU time of a call, warm. "
        "Errors: against the equations of variation derived by hand and integrated by SciPy to 1e-13, relative to the largest slope.",
    )
    sides: dict[str, Callable[[], Array]] = {"chetaev": _ours(), "CasADi, CVODES": _cvodes()}
    if importlib.util.find_spec("diffrax") is not None:
        sides["diffrax, Dopri8"] = _diffrax()
    exact = _exact()
    spent = take_turns({name: partial(seconds_per_call, call) for name, call in sides.items()}, effort.repetitions)
    for name, call in sides.items():
        error = float(np.abs(call() - exact).max() / np.abs(exact).max())
        found.add(name, milliseconds(spent[name]), spent[name].over(spent["chetaev"]), error)
    if len(sides) == 2:
        found.add("diffrax", "not installed", None, None)
    return found


def _ours() -> Callable[[], Array]:
    equations = ch.derive(SLEIGH, ch.DAlembert())

    def call() -> Array:
        """The start keeps the velocity along the blade, as the peers do, so that x' moves with a."""
        start = {**START, "x'": f"{_blade()!r}*cos(0.5) - a*0.6*sin(0.5)"}
        motion = ch.simulate(equations, start, (0, END), parameters=VALUES, slopes=BY, tolerance=TOLERANCE, keep="final")
        return np.array([[motion.final.slope(q, by) for by in BY] for q in ("x", "y", "theta")])

    return call


def _blade() -> float:
    """The velocity v along the blade at the start: x' = v*cos(theta) - a*theta'*sin(theta)."""
    return float((START["x'"] + VALUES["a"] * START["theta'"] * np.sin(START["theta"])) / np.cos(START["theta"]))


def _rates(z: Any, p: Any, cos: Any, sin: Any) -> list[Any]:
    """The sleigh in x, y, theta, the velocity v along the blade and the angular velocity w; parameters m, J, a."""
    _, _, theta, v, w = (z[k] for k in range(5))
    m, inertia, a = (p[k] for k in range(3))
    return [
        v * cos(theta) - a * w * sin(theta),
        v * sin(theta) + a * w * cos(theta),
        w,
        a * w**2,
        -m * a * v * w / (inertia + m * a**2),
    ]


def _begin() -> Array:
    return np.array([START["x"], START["y"], START["theta"], _blade(), START["theta'"]])


def _cvodes() -> Callable[[], Array]:
    z, p = ca.SX.sym("z", 5), ca.SX.sym("p", 3)
    problem = {"x": z, "p": p, "ode": ca.vertcat(*_rates(z, p, ca.cos, ca.sin))}
    whole = ca.integrator("whole", "cvodes", problem, 0, END, {"reltol": TOLERANCE, "abstol": TOLERANCE, "max_num_steps": 10**6})
    slopes = whole.factory("slopes", ["x0", "p"], ["xf", "jac:xf:p"])
    begin, values = _begin(), [VALUES[by] for by in BY]
    return lambda: np.array(slopes(begin, values)[1])[:3]


def _diffrax() -> Callable[[], Array]:
    import diffrax
    import jax

    jax.config.update("jax_enable_x64", True)
    np_ = jax.numpy

    def end(p: Any) -> Any:
        def field(t: Any, z: Any, _: Any) -> Any:
            return np_.stack(_rates(z, p, np_.cos, np_.sin))

        found = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Dopri8(),
            t0=0.0,
            t1=END,
            dt0=None,
            y0=np_.asarray(_begin()),
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            adjoint=diffrax.ForwardMode(),
            max_steps=100_000,
        )
        return found.ys[-1][:3]

    slopes = jax.jit(jax.jacfwd(end))
    values = np_.asarray([VALUES[by] for by in BY])
    return lambda: np.asarray(slopes(values))


def _exact() -> Array:
    """The slopes by the equations of variation."""
    z, p = ca.SX.sym("z", 5), ca.SX.sym("p", 3)
    rates = ca.vertcat(*_rates(z, p, ca.cos, ca.sin))
    both = ca.Function("both", [z, p], [rates, ca.jacobian(rates, z), ca.jacobian(rates, p)])
    values = [VALUES[by] for by in BY]

    def vary(_: float, y: Array) -> Array:
        f, by_state, by_parameters = (np.array(part) for part in both(y[:5], values))
        return np.concatenate([f.ravel(), (by_state @ y[5:].reshape(5, 3) + by_parameters).ravel()])

    begin = np.concatenate([_begin(), np.zeros(15)])
    found = solve_ivp(vary, (0, END), begin, method="DOP853", rtol=1e-13, atol=1e-13).y[5:, -1]
    return np.asarray(found.reshape(5, 3)[:3])
