"""Systems with quasi-velocities, and comparisons of a system with its form in them, for several test files."""

import itertools

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.symbols import TIME

BLADE = {"v": "x'*cos(theta) + y'*sin(theta)", "u": "y'*cos(theta) - x'*sin(theta)", "omega": "theta'"}
"""Along a blade, across it to the left, and about the vertical."""


def checked(morphism, start, values, t=(0, 1), inputs=None):
    motion = ch.simulate(morphism.source, start, t, parameters=values, tolerance=1e-12, inputs=inputs)
    found = morphism.check(motion)
    assert found.largest < 1e-10, found
    assert {z.base for z in morphism.source.unknowns} <= set(found.backward)
    assert {w.base for w in morphism.target.unknowns} <= set(found.forward)
    return motion, found.motion


def sleigh(**more):
    """Chaplygin's sleigh: the centre of mass is at the distance a in front of the blade's contact."""
    return ch.System(
        "x y theta",
        "m J a",
        lagrangian="m/2*((x' - a*theta'*sin(theta))^2 + (y' + a*theta'*cos(theta))^2) + J/2*theta'^2",
        kinematic=["y'*cos(theta) = x'*sin(theta)"],
        quasi=BLADE,
        name="sleigh",
        **more,
    )


SLEIGH = {"m": 1.3, "J": 0.4, "a": 0.7}


def random_expression(chance, names):
    """A smooth function of the positions that is never large."""
    first, second = chance.choice(names, 2, replace=False)
    return f"{round(0.3 * chance.normal(), 3)}*{chance.choice(['sin', 'cos', 'atan'])}({first})*{second}"


def random_system(seed, moving=False, full=True, **more):
    """Three coordinates, a full mass matrix, gyroscopic terms, forces, dissipation, and quasi-velocities without any structure.

    Those that are not `full` have fewer coefficients that depend on positions, which makes formulas several times shorter.
    """
    chance = np.random.default_rng(seed)
    names = ["x", "y", "z"]
    wave = lambda: random_expression(chance, [*names, "t"] if moving else names)  # noqa: E731
    kinetic = " + ".join(
        f"({2 if i == j else 0} + {wave()})*{names[i]}'*{names[j]}'" for i, j in itertools.combinations_with_replacement(range(3), 2)
    )
    system = ch.System(
        "x y z",
        "k",
        lagrangian=f"{kinetic} + ({wave()})*x' + ({wave()})*z' - k*(x^2 + 2*y^2 + cos(z))/2 + ({wave()})",
        forces={"x": f"{wave()} - z'*y", "z": "x'*t + 1"},
        dissipation=f"(0.3 + 0.1*sin(x))*(x' - y')^2 + z'^4/40 + ({wave()})*x'*z'",
        name=f"random {seed}",
        **more,
    )
    rows = [f"(2 + {wave()})*z'", f"2*x' - ({wave()})*z'", f"3*y' + ({wave()})*x' + ({wave()})*z'"]
    if not full:
        rows = ["2*z' - x'/3", f"2*x' - ({wave()})*z'", f"3*y' + ({wave()})*x'"]
    if moving:
        rows = [f"{row} + {wave()} + t*{wave()}" for row in rows]
    return system, dict(zip(("f", "g", "h"), rows, strict=True))


def compared(morphism, definition, start, values, t):
    """Accelerations and multipliers of both sides at one state; `w` and `w'` are formed by hand from those of the source."""
    source = morphism.source
    now = ch.evaluate(source, start, parameters=values, t=t)
    coordinates = source.system.coordinates
    at = {z: now[z.name] for q in coordinates for z in (q, q.d(), q.d(2))} | {TIME: t}
    there = {q.base: now[q.base] for q in coordinates}
    expected = {}
    for name, text in definition.items():
        w = ch.parse(text, source.system)
        rate = w.diff(TIME) + sum(w.diff(q) * q.d() + w.diff(q.d()) * q.d(2) for q in coordinates)
        there[name] = float(w.subs(at))
        expected[f"{name}'"] = float(rate.subs(at))
    if source.lowered.action is not None:
        there[source.lowered.action.base] = now[source.lowered.action.base]
    found = ch.evaluate(morphism.target, there, parameters=values, t=t)
    expected |= {f"{q.base}''": now[f"{q.base}''"] for q in coordinates}
    expected |= {m.base: now[m.base] for m in source.multipliers}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-11, rel=1e-11), name


START = {"x": 0.4, "y": -0.3, "z": 0.8, "x'": 1.1, "y'": -0.7, "z'": 0.5}


ROWS = {
    "d'Alembert": (ch.DAlembert(), {"kinematic": ["x'*cos(z) - 2*y'*sin(x) + z' = 0.3*x*t"]}, "x y z x' y'", "", True),
    "holonomic": (ch.DAlembert(), {"kinematic": ["x + sin(y) - z^2/4 = -0.2*t"]}, "x y x' y'", "z", False),
    "Chetaev": (ch.Chetaev(), {"kinematic": ["x'^2 + x'*y'*sin(z)/3 - z'^2 = 0.7"]}, "x y z x' y'", "z'", False),
    "virtual work": (
        ch.VirtualWork(),
        {"kinematic": ["x' + z'*y = 0.4*sin(t)", "z'' = x' - y"], "variational": ["δx - 2*δy*cos(z) = 0", "x'*δz + δy = 0"]},
        "x y z y' z'",
        "",
        True,
    ),
}
"""A principle, its rows, what a start fixes and what it guesses, and whether the frame moves with time."""
