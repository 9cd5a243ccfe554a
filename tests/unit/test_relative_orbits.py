"""Orbits that close up to a symmetry, in a plane and on rotations, with multipliers and families, against SciPy and closed forms."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.orbits.flow import flow_of
from chetaev.orbits.invariants import invariants_of

SLEIGH = ch.System(
    "x y th",
    "m J a c k T0 T1 w",
    lagrangian="m/2*(x'^2 + y'^2) + m*a*th'*(y'*cos(th) - x'*sin(th)) + (J + m*a^2)/2*th'^2",
    kinematic=["y'*cos(th) = x'*sin(th)"],
    dissipation="c/2*(x'^2 + y'^2) + k/2*th'^2",
    forces={"th": "T0 + T1*cos(w*t)"},
    name="driven sleigh",
)
VALUES = {"m": 1, "J": 0.5, "a": 0.3, "c": 0.4, "k": 0.5, "T0": 0.8, "T1": 0.3, "w": 2.0}


def by_scipy(torque):
    """The periodic speeds of the sleigh in its own frame, the turn after a period, and the multipliers of the speeds."""

    def rates(t, y):
        u, w = y[:2]
        inertia = 0.5 + 0.3**2
        du = 0.3 * w**2 - 0.4 * u
        dw = (-0.3 * u * w - 0.5 * w + torque + 0.3 * np.cos(2 * t)) / inertia
        slopes = np.array([[-0.4, 0.6 * w], [-0.3 * w / inertia, (-0.3 * u - 0.5) / inertia]])
        return [du, dw, w, *(slopes @ np.reshape(y[3:], (2, 2))).ravel()]

    y = np.array([0.8, 1.2])
    for _ in range(40):  # the speeds attract by a tenth each period
        end = solve_ivp(rates, (0, np.pi), [*y, 0, 1, 0, 0, 1], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
        if np.abs(end[:2] - y).max() < 1e-11:
            break
        y = end[:2]
    return y, end[2], np.linalg.eigvals(end[3:].reshape(2, 2))


@cache
def driven():
    u, w = by_scipy(0.8)[0]
    start = {"x": 0.3, "y": -0.2, "th": 0.4, "x'": 1.02 * u * np.cos(0.4), "th'": 0.99 * w}
    return ch.orbits.periodic(ch.derive(SLEIGH, ch.DAlembert()), start, period="2*pi/w", parameters=VALUES)


def test_a_relative_orbit_of_the_plane_has_the_multipliers_of_its_group():
    (u, w), turn, others = by_scipy(0.8)
    orbit = driven()
    assert orbit.start["th'"] == pytest.approx(w, abs=1e-9)
    assert orbit.start["x'"] ** 2 + orbit.start["y'"] ** 2 == pytest.approx(u**2, abs=1e-9)
    assert orbit.shift["th"] == pytest.approx(turn, abs=1e-9)
    assert orbit.trivial == 3
    group = sorted([1, np.exp(1j * turn), np.exp(-1j * turn)], key=lambda z: z.imag)
    np.testing.assert_allclose(sorted(orbit.explained, key=lambda z: z.imag), group, atol=1e-9)
    np.testing.assert_allclose(sorted(orbit.remaining, key=lambda z: z.imag), sorted(others, key=lambda z: z.imag), atol=1e-8)
    assert orbit.amounts["-y*d/dx + x*d/dy + d/dth"] == pytest.approx(turn, abs=1e-9)
    assert "along d/dx" in str(orbit)


def test_a_family_of_relative_orbits():
    settings = {"along": "T0", "until": (0.5, 0.9), "kind": "periodic", "parameters": VALUES, "period": "2*pi/w"}
    family = ch.orbits.continuation(ch.derive(SLEIGH, ch.DAlembert()), driven(), **settings)
    assert family.values[0] == 0.5 and family.values[-1] == pytest.approx(0.9, rel=1e-15) and not family.special
    for point in (family.points[0], family.points[-1]):
        (_, w), turn, others = by_scipy(point.value)
        assert point.stable and point.state["th'"] == pytest.approx(w, abs=1e-8)
        expected = np.array([1, np.exp(1j * turn), np.exp(-1j * turn), *others])
        for value in expected:
            assert np.abs(point.eigenvalues - value).min() < 1e-7


def test_a_conservative_family_of_relative_orbits():
    """A potential -1/r - b/r^2: with l^2 = L^2 - 2 b the radius moves as in Kepler's problem, and the angle faster by L/l."""
    kepler = ch.derive(ch.System("x y", "b", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2) + b/(x^2 + y^2)"))
    start = {"x": 1, "y": 0, "x'": 0, "y'": 1.1}
    orbit = ch.orbits.periodic(kepler, start, period=7.4, parameters={"b": 0.05}, relative=True)
    assert (orbit.trivial, len(orbit.remaining)) == (4, 0)
    family = ch.orbits.continuation(kepler, orbit, along="b", until=(0.047, 0.055), kind="periodic", parameters={"b": 0.05})
    assert family.values[0] == 0.047 and family.values[-1] == 0.055
    np.testing.assert_allclose(family["period"], 2 * np.pi * (2 * 0.445) ** -1.5, rtol=1e-9)  # energy and momentum of the start are kept
    last = family.points[-1]
    again = ch.orbits.periodic(kepler, dict(last.state), period=last.period, parameters={"b": last.value}, relative=True)
    angle = 2 * np.pi * 1.1 / np.sqrt(1.1**2 - 2 * last.value)
    assert np.cos(sum(again.amounts.values())) == pytest.approx(np.cos(angle), abs=1e-8)


def test_relative_orbits_begin_where_a_steady_motion_loses_its_stability():
    """A runner on a round track: the radius begins to swing; SciPy closes the orbit, up to the angle."""
    forces = {"r": "(mu - 40*(r - 1.1)^2)*r'", "phi": "r^2*(1/2 - phi')"}
    runner = ch.derive(ch.System("r phi", "mu", lagrangian="(r'^2 + r^2*phi'^2)/2 - 2*(r - 1)^2", forces=forces))
    start, settings = {"r": 1.1, "phi": 0, "phi'": 0.5}, {"along": "mu", "until": (0.1, 0.3), "parameters": {"mu": 0.15}}
    steady = ch.orbits.continuation(runner, start, kind="steady", **settings)
    (hopf,) = steady.special
    r = hopf.state["r"]
    matrix = np.array([[0, 1, 0], [0.25 - 4, hopf.value - 40 * (r - 1.1) ** 2, r], [0, -1 / r, -1]])  # of r, r' and phi'
    assert hopf.kind == "hopf" and r * 0.25 == pytest.approx(4 * (r - 1), abs=1e-12)
    assert np.abs(np.linalg.eigvals(matrix).real[np.abs(np.linalg.eigvals(matrix).imag) > 0.1]).max() < 1e-9
    point = steady.switch(0).points[-1]

    def rates(_, y):
        r, v, w = y[:3]
        return [v, r * w**2 - 4 * (r - 1) + (point.value - 40 * (r - 1.1) ** 2) * v, 0.5 - w - 2 * v * w / r, w]

    first = [point.state["r"], point.state["r'"], point.state["phi'"], 0]
    end = solve_ivp(rates, (0, point.period), first, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(end[:3], first[:3], atol=1e-8)
    assert end[3] > 1 and point.stable and point.value == pytest.approx(0.3)


def body(w, inertia):
    """One period of the velocities of Euler's top and the rotation after it, by SciPy."""

    def rates(_, y):
        a, b, c = y[:3]
        i, j, k = inertia
        turning = np.reshape(y[3:], (3, 3)) @ np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
        return [(j - k) * b * c / i, (k - i) * c * a / j, (i - j) * a * b / k, *turning.ravel()]

    def back(_, y):
        return y[0] - w[0]

    back.direction = 1
    found = solve_ivp(rates, (0, 30), [*w, *np.eye(3).ravel()], method="DOP853", rtol=1e-12, atol=1e-13, events=back)
    return next((t, y[3:].reshape(3, 3)) for t, y in zip(found.t_events[0], found.y_events[0], strict=True) if t > 1)


def test_a_top_returns_up_to_a_rotation_about_its_momentum():
    model, w = ch.gallery("euler-top"), (0.3, 2.4, -0.5)
    inertia = [float(model.parameters[name]) for name in ("I1", "I2", "I3")]
    period, rotation = body(w, inertia)
    start = {"A": np.eye(3), "A1'": w[0], "A2'": w[1], "A3'": w[2]}
    orbit = ch.orbits.periodic(ch.derive(model), start, period=1.01 * period, parameters=model.parameters, relative=True)
    assert orbit.period == pytest.approx(period, rel=1e-9) and not orbit.shift
    turn = np.array([orbit.amounts[f"E{k}*A"] for k in (1, 2, 3)])
    angle = np.linalg.norm(turn)
    np.testing.assert_allclose(np.cross(turn, np.multiply(inertia, w)), 0, atol=1e-8)
    assert 1 + 2 * np.cos(angle) == pytest.approx(np.trace(rotation), abs=1e-8)
    assert (orbit.trivial, len(orbit.remaining)) == (6, 0)
    expected = [1, 1, 1, 1, np.exp(1j * angle), np.exp(-1j * angle)]
    np.testing.assert_allclose(sorted(orbit.multipliers, key=lambda z: z.imag), sorted(expected, key=lambda z: z.imag), atol=1e-6)


def test_the_momentum_of_a_top_is_kept_in_its_families():
    model = ch.gallery("euler-top")
    start = {"A": np.eye(3), "A1'": 0.3, "A2'": 2.4, "A3'": -0.5}
    orbit = ch.orbits.periodic(ch.derive(model), start, period=10.89, parameters=model.parameters, relative=True)
    family = ch.orbits.continuation(ch.derive(model), orbit, along="I3", until=(1.85, 1.95), kind="periodic", parameters=model.parameters)
    first, last = family.points[0], family.points[-1]
    for point in (first, last):
        w, inertia = [point.state[f"A{k}'"] for k in (1, 2, 3)], [0.9, 1.4, point.value]
        assert np.dot(inertia, np.square(w)) / 2 == pytest.approx(4.31, rel=1e-8)
        assert np.linalg.norm(np.multiply(inertia, w)) == pytest.approx(np.sqrt(12.265), rel=1e-8)
        assert point.period == pytest.approx(body(w, inertia)[0], rel=1e-8)


def test_exponents_of_a_top_vanish():
    found = ch.orbits.lyapunov(ch.gallery("euler-top"), T=200)
    assert found.exponents.shape == (6,) and found.zeros == 6
    assert found.exponents.sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(found.exponents, 0, atol=0.1)


def test_a_displacement_that_changes_the_constraints_is_no_symmetry():
    """Along the angle of the wheels the Lagrangian of the snakeboard does not change, but the rolling conditions do."""
    model = ch.gallery("snakeboard")
    flow, _ = flow_of("periodic", ch.derive(model), model.start, model.parameters, 0.0, 1.0, 1e-9)
    assert invariants_of(flow).names == ("d/dpsi", "d/dx", "d/dy", "-y*d/dx + x*d/dy + d/dtheta")


def test_a_force_that_turns_with_the_body_keeps_its_symmetry():
    """A push along the blade: the rotation moves it along; a wind from one side does not."""
    for force, kept in (({"x": "cos(th)", "y": "sin(th)"}, True), ({"x": "1"}, False)):
        system = SLEIGH.replace(forces=force, dissipation="x'^2 + y'^2 + th'^2")
        start = {"x": 0, "y": 0, "th": 0.3, "x'": 0.2, "th'": 0.4}
        flow, _ = flow_of("periodic", ch.derive(system, ch.DAlembert()), start, VALUES, 0.0, 1.0, 1e-9)
        assert ("-y*d/dx + x*d/dy + d/dth" in invariants_of(flow).names) is kept
