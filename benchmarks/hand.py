"""Four systems as a careful hand would write them for a numerical method: explicit first-order equations, y' = f(t, y, p).

Each function serves numba (SciPy's right-hand side) and NumPy's long doubles (the reference solution); the C in `native/` is the same.
`Case` says how its state is related to the names of the gallery's model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import symbolic
from numba import njit
from peer import Rhs, lambdified

import chetaev as ch


def double_pendulum(t: Any, y: Any, p: Any, out: Any) -> None:
    """Angles and angular velocities; the mass matrix inverted by hand."""
    m1, m2, l1, l2, g = p[0], p[1], p[2], p[3], p[4]
    s, c = np.sin(y[0] - y[1]), np.cos(y[0] - y[1])
    m = m1 + m2
    a = -m2 * l2 * y[3] * y[3] * s - m * g * np.sin(y[0])
    b = l1 * y[2] * y[2] * s - g * np.sin(y[1])
    det = m1 + m2 * s * s
    out[0] = y[2]
    out[1] = y[3]
    out[2] = (a - m2 * c * b) / (l1 * det)
    out[3] = (m * b - c * a) / (l2 * det)


def sleigh(t: Any, y: Any, p: Any, out: Any) -> None:
    """Position, heading, speed along the blade v, spin w: v' = a w^2, (J + m a^2) w' = -m a v w."""
    m, J, a = p[0], p[1], p[2]
    v, w = y[3], y[4]
    out[0] = v * np.cos(y[2])
    out[1] = v * np.sin(y[2])
    out[2] = w
    out[3] = a * w * w
    out[4] = -m * a * v * w / (J + m * a * a)


def leaning_disk(t: Any, y: Any, p: Any, out: Any) -> None:
    """x, y, phi, theta, psi, phi', theta', and the axial spin w = psi' - phi' sin(theta).

    (J + m R^2) w' = m R^2 cos(theta) theta' phi', I cos(theta) phi'' = 2 I sin(theta) theta' phi' + J w theta',
    (I + m R^2) theta'' = m g R sin(theta) - (J + m R^2) w cos(theta) phi' - I phi'^2 cos(theta) sin(theta).
    """
    m, R, I, J, g = p[0], p[1], p[2], p[3], p[4]  # noqa: E741
    s, c = np.sin(y[3]), np.cos(y[3])
    turn, lean, w = y[5], y[6], y[7]
    rolling = m * R * R
    spin = w + turn * s
    out[0] = R * spin * np.cos(y[2])
    out[1] = R * spin * np.sin(y[2])
    out[2] = turn
    out[3] = lean
    out[4] = spin
    out[5] = lean * (2.0 * I * s * turn + J * w) / (I * c)
    out[6] = (m * g * R * s - (J + rolling) * w * c * turn - I * turn * turn * c * s) / (I + rolling)
    out[7] = rolling * c * lean * turn / (J + rolling)


def cartesian_pendulum(t: Any, y: Any, p: Any, out: Any) -> None:
    """x, y and their rates, with the tension from the twice differentiated constraint; nothing brings the bob back to the circle."""
    g = p[1]
    pull = (g * y[1] - y[2] * y[2] - y[3] * y[3]) / (y[0] * y[0] + y[1] * y[1])
    out[0] = y[2]
    out[1] = y[3]
    out[2] = pull * y[0]
    out[3] = pull * y[1] - g


@dataclass(frozen=True)
class Case:
    """A system on all sides. `named` turns the hand's state into the values of `names`, by which errors are measured."""

    name: str
    t: float
    rhs: Callable[[Any, Any, Any, Any], None]
    from_start: Callable[[Any], Sequence[float]]
    names: Sequence[str]
    named: Callable[[Any, Any], Sequence[Any]]
    peer: Callable[[Sequence[float], Sequence[float]], symbolic.Symbolic]

    @cached_property
    def model(self) -> ch.Model:
        """The gallery's model."""
        return ch.gallery(self.name)

    @cached_property
    def now(self) -> Any:
        """The start, completed."""
        return ch.evaluate(self.model)

    @cached_property
    def p(self) -> Any:
        """Parameters in the model's order."""
        return np.array([float(v) for v in self.model.parameters.values()])

    @cached_property
    def y0(self) -> Any:
        """The hand's state at the start."""
        return np.array(self.from_start(self.now), dtype=float)

    @cached_property
    def jitted(self) -> Rhs:
        """The right-hand side compiled by numba, for solve_ivp."""
        inner, p = njit(self.rhs), self.p

        @njit
        def rhs(t: float, y: Any) -> Any:
            out = np.empty(y.size)
            inner(t, y, p, out)
            return out

        rhs(0.0, self.y0)
        found: Rhs = rhs
        return found

    @cached_property
    def lambdified(self) -> Rhs:
        """The peer's right-hand side, in all coordinates and velocities."""
        return lambdified(self.peer(list(self.p), self.full_start))

    @cached_property
    def full_start(self) -> list[float]:
        """All coordinates, then all velocities."""
        jets = [z.name for z in self.model.system.coordinates]
        return [self.now[z] for z in jets] + [self.now[f"{z}'"] for z in jets]

    @cached_property
    def full_names(self) -> list[str]:
        """What the peer's state is called."""
        jets = [z.name for z in self.model.system.coordinates]
        return jets + [f"{z}'" for z in jets]


def _sleigh_named(y: Any, p: Any) -> list[Any]:
    return [y[0], y[1], y[2], y[3] * np.cos(y[2]), y[3] * np.sin(y[2]), y[4]]


def _disk_named(y: Any, p: Any) -> list[Any]:
    return [*y[:7], y[7] + y[5] * np.sin(y[3])]


CASES = (
    Case(
        "double_pendulum",
        5.0,
        double_pendulum,
        lambda now: [now["theta1"], now["theta2"], now["theta1'"], now["theta2'"]],
        ("theta1", "theta2", "theta1'", "theta2'"),
        lambda y, p: y,
        symbolic.double_pendulum,
    ),
    Case(
        "sleigh",
        10.0,
        sleigh,
        lambda now: [now["x"], now["y"], now["theta"], now["x'*cos(theta) + y'*sin(theta)"], now["theta'"]],
        ("x", "y", "theta", "x'", "y'", "theta'"),
        _sleigh_named,
        symbolic.sleigh,
    ),
    Case(
        "leaning_disk",
        5.0,
        leaning_disk,
        lambda now: [now[z] for z in ("x", "y", "phi", "theta", "psi", "phi'", "theta'", "psi' - phi'*sin(theta)")],
        ("x", "y", "phi", "theta", "psi", "phi'", "theta'", "psi'"),
        _disk_named,
        symbolic.leaning_disk,
    ),
    Case(
        "cartesian_pendulum",
        10.0,
        cartesian_pendulum,
        lambda now: [now[z] for z in ("x", "y", "x'", "y'")],
        ("x", "y", "x'", "y'"),
        lambda y, p: y,
        symbolic.cartesian_pendulum,
    ),
)


def reference(case: Case, steps_per_unit: int = 64, columns: int = 8) -> list[float]:
    """The values at the end by extrapolation of the midpoint rule (Gragg, Bulirsch, Stoer) of order 16 in long doubles."""
    y = np.array(case.y0, np.longdouble)
    p = np.array(case.p, np.longdouble)
    steps = round(case.t * steps_per_unit)
    h = np.longdouble(case.t) / steps
    for _ in range(steps):
        y = _extrapolated(case.rhs, y, p, h, columns)
    return [float(v) for v in case.named(y, p)]


def _extrapolated(rhs: Callable[..., None], y: Any, p: Any, h: Any, columns: int) -> Any:
    rows: list[Any] = []
    for j in range(1, columns + 1):
        new = [_midpoints(rhs, y, p, h, 2 * j)]
        for k, old in enumerate(rows):
            new.append(new[k] + (new[k] - old) / ((np.longdouble(j) / (j - k - 1)) ** 2 - 1))
        rows = new
    return rows[-1]


def _midpoints(rhs: Callable[..., None], y: Any, p: Any, h: Any, n: int) -> Any:
    step, slope = h / n, np.empty_like(y)
    rhs(0, y, p, slope)
    before, at = y, y + step * slope
    for _ in range(n - 1):
        rhs(0, at, p, slope)
        before, at = at, before + 2 * step * slope
    return at
