"""The systems as arguments of sympy.physics.mechanics.LagrangesMethod: the families of `texts`, and four small ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cos, sin
from typing import Any

import sympy
from sympy.physics.mechanics import dynamicsymbols
from texts import ANGLES, INERTIAS, LENGTHS, MASSES, SPINS, unique


@dataclass(frozen=True)
class Symbolic:
    """A system for the peer: values in the order of the parameters, coordinates and velocities at the start."""

    lagrangian: Any
    coordinates: Sequence[Any]
    parameters: Sequence[Any]
    values: Sequence[float]
    start: Sequence[float]
    nonholonomic: Sequence[Any] = ()
    holonomic: Sequence[Any] = ()


def chain(n: int, tag: int) -> Symbolic:
    """A chain of n pendulums."""
    q = dynamicsymbols(f"theta{tag}_1:{n + 1}")
    m, a, g = sympy.symbols(f"m{tag}_1:{n + 1}"), sympy.symbols(f"l{tag}_1:{n + 1}"), sympy.Symbol(f"g{tag}")
    w, mu = [z.diff() for z in q], [sum(m[k:]) for k in range(n)]
    factors = [float(unique(tag)), *[1] * (n - 1)]
    lagrangian = sum(factors[k] * mu[k] / 2 * a[k] ** 2 * w[k] ** 2 + g * mu[k] * a[k] * sympy.cos(q[k]) for k in range(n))
    lagrangian += sum(mu[k] * a[j] * a[k] * w[j] * w[k] * sympy.cos(q[j] - q[k]) for k in range(n) for j in range(k))
    links = range(1, n + 1)
    values = [*[MASSES[k % 4] for k in links], *[LENGTHS[k % 4] for k in links], 9.81]
    return Symbolic(lagrangian, q, [*m, *a, g], values, [*[ANGLES[k % 5] for k in links], *[SPINS[k % 3] for k in links]])


def bobs(n: int, tag: int) -> Symbolic:
    """The same chain from the positions of its bobs."""
    same, t = chain(n, tag), dynamicsymbols._t
    q, m, a, g = same.coordinates, same.parameters[:n], same.parameters[n:-1], same.parameters[-1]
    factors = [float(unique(tag)), *[1] * (n - 1)]
    x = y = lagrangian = sympy.S.Zero
    for k in range(n):
        x, y = x + a[k] * sympy.sin(q[k]), y - a[k] * sympy.cos(q[k])
        lagrangian += factors[k] * m[k] / 2 * (x.diff(t) ** 2 + y.diff(t) ** 2) - m[k] * g * y
    return replace(same, lagrangian=lagrangian)


def trailer(n: int, tag: int) -> Symbolic:
    """A tractor with n trailers. Velocities at the start go down the train: speed and spin of each axle from the one before."""
    x, y = dynamicsymbols(f"x{tag} y{tag}")
    q = dynamicsymbols(f"theta{tag}_0:{n + 1}")
    X, Y, w = x.diff(), y.diff(), [z.diff() for z in q]
    m, J, d = (sympy.symbols(f"{letter}{tag}_0:{n + 1}") for letter in "mJd")
    mu, side = [sum(m[k:]) for k in range(n + 1)], [X * sympy.sin(z) - Y * sympy.cos(z) for z in q]
    trailers = range(1, n + 1)
    lagrangian = mu[0] / 2 * (X**2 + Y**2) + float(unique(tag)) * J[0] / 2 * w[0] ** 2
    lagrangian += sum(J[k] / 2 * w[k] ** 2 + mu[k] / 2 * d[k] ** 2 * w[k] ** 2 + mu[k] * d[k] * w[k] * side[k] for k in trailers)
    lagrangian += sum(mu[k] * d[j] * d[k] * w[j] * w[k] * sympy.cos(q[j] - q[k]) for k in trailers for j in range(1, k))
    rows = [side[k] + sum(d[j] * w[j] * sympy.cos(q[j] - q[k]) for j in range(1, k)) + (d[k] * w[k] if k else 0) for k in range(n + 1)]
    angles = [ANGLES[k % 5] for k in range(n + 1)]
    speed, spins = 1.3 / cos(angles[0]), [0.25]
    for k in trailers:
        bend = angles[k - 1] - angles[k]
        spins.append(speed * sin(bend) / LENGTHS[k % 4])
        speed *= cos(bend)
    values = [*[MASSES[k % 4] for k in range(n + 1)], *[INERTIAS[k % 3] for k in range(n + 1)], *[LENGTHS[k % 4] for k in trailers]]
    start = [0.2, -0.1, *angles, 1.3, 1.3 * sin(angles[0]) / cos(angles[0]), *spins]
    return Symbolic(lagrangian, [x, y, *q], [*m, *J, *d[1:]], values, start, nonholonomic=rows)


def double_pendulum(values: Sequence[float], start: Sequence[float]) -> Symbolic:
    """The double pendulum of the gallery."""
    a, b = dynamicsymbols("theta1 theta2")
    m1, m2, l1, l2, g = parameters = sympy.symbols("m1 m2 l1 l2 g")
    u, v = a.diff(), b.diff()
    kinetic = (m1 + m2) / 2 * l1**2 * u**2 + m2 / 2 * l2**2 * v**2 + m2 * l1 * l2 * u * v * sympy.cos(a - b)
    return Symbolic(kinetic + (m1 + m2) * g * l1 * sympy.cos(a) + m2 * g * l2 * sympy.cos(b), [a, b], parameters, values, start)


def sleigh(values: Sequence[float], start: Sequence[float]) -> Symbolic:
    """Chaplygin's sleigh of the gallery."""
    x, y, theta = dynamicsymbols("x y theta")
    m, J, a = parameters = sympy.symbols("m J a")
    X, Y, w = x.diff(), y.diff(), theta.diff()
    side = Y * sympy.cos(theta) - X * sympy.sin(theta)
    kinetic = m / 2 * (X**2 + Y**2) + m * a * w * side + (J + m * a**2) / 2 * w**2
    return Symbolic(kinetic, [x, y, theta], parameters, values, start, nonholonomic=[side])


def leaning_disk(values: Sequence[float], start: Sequence[float]) -> Symbolic:
    """The rolling disk of the gallery that may lean."""
    x, y, phi, theta, _ = coordinates = dynamicsymbols("x y phi theta psi")
    m, R, I, J, g = parameters = sympy.symbols("m R I J g")  # noqa: E741 - I is the moment about a diameter
    X, Y, turn, lean, spin = (z.diff() for z in coordinates)
    centre = [x - R * sympy.sin(theta) * sympy.sin(phi), y + R * sympy.sin(theta) * sympy.cos(phi), R * sympy.cos(theta)]
    kinetic = m / 2 * sum(z.diff(dynamicsymbols._t) ** 2 for z in centre) + I / 2 * (lean**2 + turn**2 * sympy.cos(theta) ** 2)
    kinetic += J / 2 * (spin - turn * sympy.sin(theta)) ** 2
    rows = [X - R * spin * sympy.cos(phi), Y - R * spin * sympy.sin(phi)]
    return Symbolic(kinetic - m * g * centre[2], coordinates, parameters, values, start, nonholonomic=rows)


def cartesian_pendulum(values: Sequence[float], start: Sequence[float]) -> Symbolic:
    """The pendulum of the gallery in Cartesian coordinates."""
    x, y = dynamicsymbols("x y")
    m, g, a = parameters = sympy.symbols("m g l")
    lagrangian = m / 2 * (x.diff() ** 2 + y.diff() ** 2) - m * g * y
    return Symbolic(lagrangian, [x, y], parameters, values, start, holonomic=[x**2 + y**2 - a**2])


FAMILIES = {"chain": chain, "bobs": bobs, "trailer": trailer}
