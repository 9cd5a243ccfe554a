"""Angles that grow through many turns keep their digits: the loop stores a remainder and a number of turns, and returns the whole angle."""

import casadi
import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import chetaev as ch
from chetaev.numerics.machine.kernels import compile_kernel

SPEED = 3.0
"""Of a pendulum with m = g = l = 1 at its lowest point; it turns over from 2 on."""


def pendulum():
    return ch.System("theta", lagrangian="theta'^2/2 + cos(theta)", name="pendulum")


def turned(t):
    """The angle at a time: theta = 2 am(t/k), k = 2/theta'(0), from tables of the elliptic functions; and the speed 2 dn(t/k)/k."""
    k = 2 / SPEED
    _, _, dn, am = ellipj(t / k, k**2)
    return 2 * am, 2 * dn / k


def test_a_thousand_turns_follow_the_elliptic_function():
    motion = ch.simulate(ch.derive(pendulum()), {"theta": 0, "theta'": SPEED}, (0, 2500), tolerance=1e-13)
    times = np.linspace(0, 2500, 1001)
    angle, speed = turned(times)
    assert angle[-1] > 1000 * 2 * np.pi
    found = motion.at(times)
    np.testing.assert_allclose(found["theta"], angle, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found["theta'"], speed, rtol=0, atol=1e-7)
    assert np.all(np.diff(motion["theta"]) > 0)
    assert motion.drift_absolute["balance"] < 1e-9


def test_energy_is_kept_where_the_digits_of_the_angle_would_be_lost():
    """From a million turns on, neighbouring angles are 1e-9 apart: without a remainder the energy is soon off by as much."""
    motion = ch.simulate(
        ch.derive(pendulum()), {"theta": 2 * np.pi * 10**6, "theta'": SPEED}, (0, 1000), tolerance=1e-13, keep="final", max_steps=10**6
    )
    assert motion.drift_absolute["balance"] < 1e-10
    np.testing.assert_allclose(motion.final["theta"] - 2 * np.pi * 10**6, turned(1000)[0], rtol=0, atol=1e-7)


def test_sines_of_half_an_angle_keep_their_sign():
    """With theta = 2 phi it is the same pendulum; what was half an angle is the angle."""
    half = ch.System("phi", lagrangian="phi'^2/8 + cos(phi/2)", name="half")
    motion = ch.simulate(ch.derive(half), {"phi": 0, "phi'": 2 * SPEED}, (0, 200), tolerance=1e-12)
    np.testing.assert_allclose(motion["phi"] / 2, turned(motion.t)[0], rtol=0, atol=1e-8)


def test_roots_extremes_and_given_times_are_whole():
    equations, start = ch.derive(pendulum()), {"theta": 0, "theta'": -SPEED}
    passed = ch.simulate(equations, start, (0, 50), tolerance=1e-11, events=["cos(theta/2)"])
    tops = [event.state["theta"] for event in passed.events]
    assert len(tops) > 15
    np.testing.assert_allclose(tops, -np.pi * (2 * np.arange(len(tops)) + 1), atol=1e-8)
    far = ch.simulate(equations, start, (0, 50), tolerance=1e-11, events=[ch.On("theta + 100", terminal=True)])
    assert far.final["theta"] == pytest.approx(-100, abs=1e-9)
    times = np.linspace(0, 50, 7)
    found = ch.simulate(equations, start, times, tolerance=1e-11)
    np.testing.assert_allclose(found["theta"], -turned(times)[0], rtol=0, atol=1e-8)


def test_whole_angles_are_on_the_constraints():
    """At z = 3e5 neighbouring angles are 6e-11 apart: states that were on the row with the remainder are off it by as much unless moved."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - (x^2 + y^2)/2 + cos(z)", kinematic=["x' + sin(z)*y' = 0"])
    equations, start = ch.derive(system, ch.DAlembert()), {"x": 1, "y": 0, "z": 2 * np.pi * 50_000, "y'": 0.3, "z'": 2.5}
    motion = ch.simulate(equations, start, (0, 20), tolerance=1e-12, events=["sin(z)"])
    assert motion.final["z"] > start["z"] + 12 * np.pi
    assert motion.events
    states = [(motion[z] for z in ("x'", "y'", "z")), *([e.state[z] for z in ("x'", "y'", "z")] for e in motion.events)]
    for speed, other, angle in states:
        np.testing.assert_allclose(speed + np.sin(angle) * other, 0, atol=1e-13)


def test_members_of_an_ensemble_turn_as_alone():
    equations, speeds, times = ch.derive(pendulum()), np.linspace(2.5, 6, 24), np.linspace(0, 30, 5)
    starts = {"theta": 0.3, "theta'": speeds}
    ends = ch.simulate_many(equations, starts, (0, 30), tolerance=1e-10)
    series = ch.simulate_many(equations, starts, times, tolerance=1e-10)
    for k in (0, 7, 23):
        start = {"theta": 0.3, "theta'": speeds[k]}
        alone = ch.simulate(equations, start, (0, 30), tolerance=1e-10, keep="final")
        assert ends["theta"][k] == alone.final["theta"] > 10 * np.pi
        np.testing.assert_array_equal(series["theta"][k], ch.simulate(equations, start, times, tolerance=1e-10)["theta"])


ANGLE, OTHER, UNREAD = "angle", "other", "unread"


@pytest.mark.parametrize(
    ("formula", "kind"),
    [
        (lambda z, p: casadi.sin(z), ANGLE),
        (lambda z, p: casadi.cos(3 * z - p) * p, ANGLE),
        (lambda z, p: casadi.sin(z / 2), ANGLE),
        (lambda z, p: casadi.tan(z) + casadi.cos(z + z), ANGLE),
        (lambda z, p: casadi.sin(z / 3), OTHER),
        (lambda z, p: casadi.sin(p * z), OTHER),
        (lambda z, p: z * casadi.sin(z), OTHER),
        (lambda z, p: z - casadi.sin(z), OTHER),
        (lambda z, p: casadi.sin(z * z), OTHER),
        (lambda z, p: casadi.sin(z * p + z), OTHER),
        (lambda z, p: casadi.sin(p), UNREAD),
    ],
)
def test_what_is_read_as_an_angle(formula, kind):
    t, y, p = casadi.SX.sym("t"), casadi.SX.sym("y", 2), casadi.SX.sym("p")
    kernel = compile_kernel(casadi.Function("f", [t, y, p], [casadi.vertcat(formula(y[1], p), y[0])]))
    angles, others = kernel.angles()
    assert (1 in angles, 1 in others) == {ANGLE: (True, False), OTHER: (1 in angles, True), UNREAD: (False, False)}[kind]
    assert 0 in others
    if kind is not UNREAD:  # the first output alone decides where the second is not asked for
        moved = compile_kernel(casadi.Function("f", [t, y, p], [casadi.vertcat(formula(y[1], p), y[0] + y[1])]))
        assert 1 in moved.angles()[1]
        assert (1 in moved.angles(outputs=1)[1]) == (kind is OTHER)


def test_a_moved_state_stores_its_angles():
    t, y, p = casadi.SX.sym("t"), casadi.SX.sym("y", 2), casadi.SX.sym("p")
    moving = compile_kernel(casadi.Function("f", [t, y, p], [casadi.vertcat(y[0] - casadi.sin(y[1]), y[1] + casadi.cos(y[1]) * y[0])]))
    assert moving.angles(moving=True) == ({1}, {0})
    assert moving.angles() == ({1}, {0, 1})


@pytest.mark.parametrize("x0", [1e6, 1e12, 1e17, 1e20])
def test_pendulum_from_a_huge_angle(x0):
    """The remainder of the angle in 60 digits is a start for SciPy; with one rounded in doubles theta' was off by 5e-5 from 1e12 on."""
    with mpmath.workdps(60):
        rest = float(mpmath.mpf(x0) - 2 * mpmath.pi * mpmath.floor(mpmath.mpf(x0) / (2 * mpmath.pi)))
    right = solve_ivp(lambda t, y: [y[1], -np.sin(y[0])], (0, 2), [rest, 0], method="DOP853", rtol=1e-12, atol=1e-13).y[1, -1]
    equations = ch.derive(pendulum())
    assert ch.simulate(equations, {"theta": x0, "theta'": 0}, (0, 2)).final["theta'"] == pytest.approx(right, abs=3e-9)
    assert ch.simulate_many(equations, {"theta": [x0], "theta'": 0}, (0, 2)).final["theta'"][0] == pytest.approx(right, abs=3e-9)
