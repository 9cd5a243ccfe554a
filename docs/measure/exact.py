"""Motions known in closed form, one per kind of system: model, start, interval, and the exact coordinates as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.special import ellipj, ellipk

import chetaev as ch

Array = NDArray[np.float64]
Exact = Callable[[Array], Mapping[str, Array]]


@dataclass(frozen=True)
class Known:
    """A motion and its closed form; `source` says where the formula comes from."""

    title: str
    equations: ch.Equations
    start: Any
    t: tuple[float, float]
    parameters: Mapping[str, float]
    exact: Exact
    source: str

    def run(self, **options: Any) -> ch.Trajectory:
        """Simulate it."""
        return ch.simulate(self.equations, self.start, self.t, parameters=self.parameters, progress=False, **options)

    def error(self, motion: ch.Trajectory) -> float:
        """The largest error of a coordinate at the steps kept, relative to the coordinate's own size."""
        return max(float(np.abs(motion[name] - v).max() / np.abs(v).max()) for name, v in self.exact(motion.t).items())


def known() -> list[Known]:
    """All of them."""
    return [
        pendulum(),
        knife_edge(),
        constant_speed(),
        damped_oscillator(),
        rolling_disk(),
        heisenberg(),
        transformer(),
        pais_uhlenbeck(),
        top(),
    ]


def pendulum() -> Known:
    """A Cartesian pendulum let go at rest: Jacobi's functions."""
    g, length, angle = 9.81, 1.3, 2.0
    m = np.sin(angle / 2) ** 2

    def exact(t: Array) -> dict[str, Array]:
        sn = ellipj(ellipk(m) - np.sqrt(g / length) * t, m)[0]
        theta = 2 * np.arcsin(np.sin(angle / 2) * sn)
        return {"x": length * np.sin(theta), "y": -length * np.cos(theta)}

    model = ch.gallery("cartesian-pendulum")
    start = ch.State({"x": float(length * np.sin(angle)), "x'": 0}, guess={"y": float(-length * np.cos(angle))})
    names = [p.name for p in model.system.parameters]
    values = {name: {"g": g, "l": length}.get(name, 0.7) for name in names}
    return Known("Cartesian pendulum, d'Alembert", ch.derive(model), start, (0, 20), values, exact, "Jacobi's elliptic functions")


def knife_edge() -> Known:
    """A skate on a slope from rest, blade downhill: a cycloid."""
    g, alpha, w = 9.81, 0.3, 1.7
    size = g * np.sin(alpha) / (2 * w**2)

    def exact(t: Array) -> dict[str, Array]:
        return {"x": size * np.sin(w * t) ** 2, "y": size * (w * t - np.sin(2 * w * t) / 2), "theta": w * t}

    values = {"m": 1.3, "J": 0.4, "g": g, "alpha": alpha}
    start = {"x": 0, "y": 0, "theta": 0, "x'": 0, "theta'": w}
    return Known(
        "skate on a slope, d'Alembert", ch.derive(ch.gallery("knife-edge")), start, (0, 20), values, exact, "a cycloid; Bloch, section 1.6"
    )


def constant_speed() -> Known:
    """A particle of constant speed under Chetaev's rule: the catenary of equal strength."""
    g, c, x1 = 0.9, 1.3, 0.5
    y1 = np.sqrt(c**2 - x1**2)
    u0 = np.arcsinh(y1 / x1)

    def exact(t: Array) -> dict[str, Array]:
        u = u0 - g * t / c
        x = -(c**2) / g * (np.arctan(np.sinh(u)) - np.arctan(np.sinh(u0)))
        return {"x": x, "y": -(c**2) / g * (np.log(np.cosh(u)) - np.log(np.cosh(u0)))}

    start = ch.State({"x": 0, "y": 0, "x'": x1}, guess={"y'": float(y1)})
    values = {"m": 1.2, "g": g, "c": c}
    return Known(
        "particle of constant speed, Chetaev", ch.derive(ch.gallery("constant-speed")), start, (0, 6), values, exact, "integrated by hand"
    )


def damped_oscillator() -> Known:
    """Herglotz' oscillator: the damped one."""
    omega, gamma = 1.3, 0.25
    w = np.sqrt(omega**2 - gamma**2 / 4)

    def exact(t: Array) -> dict[str, Array]:
        return {"x": np.exp(-gamma * t / 2) * (np.cos(w * t) + gamma / (2 * w) * np.sin(w * t))}

    values = {"omega": omega, "gamma": gamma}
    return Known(
        "damped oscillator, Herglotz",
        ch.derive(ch.gallery("damped-oscillator")),
        {"x": 1, "x'": 0, "s": 0},
        (0, 20),
        values,
        exact,
        "elementary",
    )


def rolling_disk() -> Known:
    """The rolling disk of 002, section 4.3: both spins decay."""
    d, spin, turn, heading = -0.3, 1.5, 0.7, 0.4

    def exact(t: Array) -> dict[str, Array]:
        grown = (np.exp(d * t) - 1) / d
        phi = heading + turn * grown
        ratio = spin / turn
        return {
            "theta": spin * grown,
            "varphi": phi,
            "x": ratio * (np.sin(phi) - np.sin(heading)),
            "y": -ratio * (np.cos(phi) - np.cos(heading)),
        }

    start = {"x": 0, "y": 0, "theta": 0, "varphi": heading, "theta'": spin, "varphi'": turn, "s": 0.25}
    return Known(
        "rolling disk with friction, Herglotz(d'Alembert)",
        ch.derive(ch.gallery("disk-contact")),
        start,
        (0, 10),
        {"d": d},
        exact,
        "002, section 4.3",
    )


def heisenberg() -> Known:
    """The Heisenberg particle under d'Alembert's principle."""
    m, mass, x1, y0, y1 = 1.4, 0.9, 1.1, -0.5, 0.8
    c = x1 * np.sqrt(m + mass * y0**2)

    def exact(t: Array) -> dict[str, Array]:
        y = y0 + y1 * t
        x = c / (y1 * np.sqrt(mass)) * (np.arcsinh(y * np.sqrt(mass / m)) - np.arcsinh(y0 * np.sqrt(mass / m)))
        return {"x": x, "y": y, "z": c / (mass * y1) * (np.sqrt(m + mass * y**2) - np.sqrt(m + mass * y0**2))}

    start = {"x": 0, "y": y0, "z": 0, "x'": x1, "y'": y1}
    return Known(
        "Heisenberg particle, d'Alembert",
        ch.derive(ch.gallery("heisenberg")),
        start,
        (0, 10),
        {"m": m, "M": mass},
        exact,
        "Bates and Śniatycki",
    )


def transformer() -> Known:
    """The singular vakonomic transformer of 004, example 3: a linear flow of two currents."""
    r1, r2, l2, m = 1.0, 0.8, 1.2, 0.7
    k = np.array([[l2 * r1 * r2, -m * r2**2], [-m * r1 * r2, -l2 * r1 * r2]]) / (l2**2 * r1 + m**2 * r2)

    def exact(t: Array) -> dict[str, Array]:
        states = np.array([expm(k * s) @ [0.5, -0.3] for s in t])
        return {"I1": states[:, 0], "I2": states[:, 1]}

    values = {"R1": r1, "R2": r2, "L1": 1.5, "L2": l2, "M": m}
    return Known(
        "transformer, singular vakonomic",
        ch.derive(ch.gallery("transformer")),
        {"I1": 0.5, "I2": -0.3},
        (0, 3),
        values,
        exact,
        "004, example 3",
    )


def pais_uhlenbeck() -> Known:
    """A Lagrangian of second order: two frequencies."""

    def exact(t: Array) -> dict[str, Array]:
        return {"q": np.cos(t) + 0.4 * np.sin(2.3 * t)}

    start = {"q": 1, "q'": 0.92, "q''": -1, "q'''": -0.4 * 2.3**3}
    return Known(
        "Pais-Uhlenbeck oscillator, second order",
        ch.derive(ch.gallery("pais-uhlenbeck")),
        start,
        (0, 20),
        {"w1": 1.0, "w2": 2.3},
        exact,
        "elementary",
    )


def top() -> Known:
    """Euler's top: the angular velocity in the body by Jacobi's functions."""
    i1, i2, i3, a, c = 1.0, 2.0, 3.0, 0.6, 1.1
    p = c * np.sqrt((i3 - i2) * (i3 - i1) / (i1 * i2))
    b = (i3 - i1) * c * a / (i2 * p)
    m = (i2 - i1) * a * b / (i3 * c * p)

    def exact(t: Array) -> dict[str, Array]:
        sn, cn, dn, _ = ellipj(p * t, m)
        return {"A1'": a * cn, "A2'": b * sn, "A3'": c * dn}

    system = ch.System({"A": "SO3 body"}, "I1 I2 I3", lagrangian="(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2", name="Euler's top")
    start = {"A": np.eye(3), "A1'": a, "A2'": 0, "A3'": c}
    return Known(
        "Euler's top, rotations", ch.derive(system), start, (0, 20), {"I1": i1, "I2": i2, "I3": i3}, exact, "Jacobi's elliptic functions"
    )
