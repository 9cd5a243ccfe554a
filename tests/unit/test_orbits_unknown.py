"""Periodic orbits with chosen unknowns: jets of the start, parameters and the period, against closed forms and SciPy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import chetaev as ch

PENDULUM = ch.derive(ch.System("th", lagrangian="th'^2/2 + cos(th)", name="pendulum"))
VALVE = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "mu*(1 - x^2)*x'"}, name="valve"))
DUFFING = ch.derive(ch.System("x", "a b", lagrangian="x'^2/2 - a*x^2/2 - b*x^4/4", name="Duffing"))
FORCED = ch.derive(ch.System("x", "w", lagrangian="x'^2/2 - 2*x^2 + x*cos(w*t)", name="forced"))
RIGHT = 2e-11
"""Relative error of what is found; the integrator's is 1e-12 to 1e-13."""


def swing(angle):
    """The period of a pendulum with this amplitude."""
    return 4 * ellipk(np.sin(angle / 2) ** 2)


def test_the_amplitude_for_a_period():
    orbit = ch.orbits.periodic(PENDULUM, {"th": 1.5, "th'": 0}, period=swing(2.0), unknown=["th"])
    assert orbit.found == {"th": pytest.approx(2.0, rel=RIGHT)}
    assert orbit.start["th"] == orbit.found["th"] and orbit.start["th'"] == 0 and orbit.period == swing(2.0)
    assert orbit.trivial == 2 and "found        th 2" in str(orbit)


def test_the_velocity_for_a_period():
    orbit = ch.orbits.periodic(PENDULUM, {"th": 0.3, "th'": -1.5}, period=swing(2.0), unknown="th'")
    assert orbit.found["th'"] == pytest.approx(-np.sqrt(2 * (np.cos(0.3) - np.cos(2.0))), rel=RIGHT)
    assert orbit.start["th"] == 0.3


def test_a_direction_along_the_orbit_does_not_count():
    orbit = ch.orbits.periodic(PENDULUM, {"th": 1.5, "th'": -0.2}, period=swing(2.0), unknown=["th", "th'"])
    assert orbit.start["th'"] ** 2 / 2 - np.cos(orbit.start["th"]) == pytest.approx(-np.cos(2.0), rel=1e-10)


def test_the_period_alone():
    orbit = ch.orbits.periodic(PENDULUM, {"th": 1.0, "th'": 0}, period=6, unknown=["period"])
    assert orbit.found["period"] == orbit.period == pytest.approx(swing(1.0), rel=RIGHT)


def test_the_stiffness_for_a_period():
    oscillator = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    orbit = ch.orbits.periodic(oscillator, {"x": 1, "x'": 0.3}, period=3, parameters={"k": 4}, unknown=["k"])
    assert orbit.found["k"] == pytest.approx((2 * np.pi / 3) ** 2, rel=RIGHT)
    assert orbit.start == {"x": 1, "x'": 0.3} and orbit.period == 3
    assert orbit.motion["x"][-1] == pytest.approx(1, abs=1e-11)


def test_the_linear_stiffness_of_duffing():
    orbit = ch.orbits.periodic(DUFFING, {"x": 1.2, "x'": 0}, period=4, parameters={"a": 1, "b": 0.7}, unknown=["a"])
    stiff = orbit.found["a"] + 0.7 * 1.2**2
    assert 4 * ellipk(0.7 * 1.2**2 / (2 * stiff)) / np.sqrt(stiff) == pytest.approx(4, rel=RIGHT)


def test_a_limit_cycle_through_a_place():
    orbit = ch.orbits.periodic(VALVE, {"x": 1, "x'": 2.5}, period=6.5, parameters={"mu": 1}, unknown=["x'", "period"])
    assert orbit.start["x"] == 1 and orbit.period == pytest.approx(6.6632868593231, rel=1e-11)


def test_a_parameter_and_a_velocity_of_a_limit_cycle():
    orbit = ch.orbits.periodic(VALVE, {"x": 1, "x'": 2.6}, period=7, parameters={"mu": 1}, unknown=["x'", "mu"])
    mu, start = orbit.found["mu"], [1, orbit.found["x'"]]

    def rates(_, y):
        return [y[1], -y[0] + mu * (1 - y[0] ** 2) * y[1]]

    np.testing.assert_allclose(solve_ivp(rates, (0, 7), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1], start, atol=1e-10)


def test_a_parameter_moves_a_constraint():
    """A pendulum of length l that starts from rest at x: y follows, and the period is sqrt(l) times that of length 1."""
    system = ch.System("x y", "l", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = l^2"])
    start = ch.State({"x": np.sin(1.0), "x'": 0.0}, {"y": -0.5})
    equations = ch.derive(system, ch.DAlembert())
    orbit = ch.orbits.periodic(equations, start, period=7, parameters={"l": 1}, unknown=["l", "y"])
    length = orbit.found["l"]
    angle = np.arcsin(np.sin(1.0) / length)
    assert np.sqrt(length) * swing(angle) == pytest.approx(7, rel=RIGHT)
    assert orbit.found["y"] == pytest.approx(-length * np.cos(angle), rel=RIGHT)
    along = ch.orbits.periodic(equations, start, period=swing(1.3), parameters={"l": 1}, unknown=["x", "y"])
    assert along.found["x"] == pytest.approx(np.sin(1.3), rel=RIGHT)
    with pytest.raises(ch.UsageError, match="the constraints determine x from the jets that are not unknown"):
        ch.orbits.periodic(equations, start, period=7, parameters={"l": 1}, unknown=["x"])


def test_a_forced_oscillator():
    """The response is cos(w*t)/(4 - w^2); a text as the period follows w, and a number determines it."""
    start, w = {"x": 0.5, "x'": 0}, {"w": 1.3}
    orbit = ch.orbits.periodic(FORCED, start, period="2*pi/w", parameters=w, unknown=["w"])
    assert orbit.found["w"] == pytest.approx(np.sqrt(2), rel=RIGHT)
    assert orbit.period == pytest.approx(np.sqrt(2) * np.pi, rel=RIGHT)
    other = ch.orbits.periodic(FORCED, start, period=4.8, parameters=w, unknown=["x", "w"])
    assert other.found["w"] == pytest.approx(2 * np.pi / 4.8, rel=RIGHT)
    assert other.found["x"] == pytest.approx(1 / (4 - other.found["w"] ** 2), rel=RIGHT)
    with pytest.raises(ch.StateError, match="does not determine x, w"):
        ch.orbits.periodic(FORCED, start, period="2*pi/w", parameters=w, unknown=["x", "w"])
    with pytest.raises(ch.UsageError, match="cannot be unknown"):
        ch.orbits.periodic(FORCED, start, period=4.8, parameters=w, unknown=["x", "period"])


def test_equations_that_do_not_repeat_have_no_orbit():
    with pytest.raises(ch.StateError, match=r"do not repeat after the period 4\.8"):
        ch.orbits.periodic(FORCED, {"x": 0.5, "x'": 0}, period=4.8, parameters={"w": 1.3})


def test_an_orbit_that_closes_up_to_a_rotation():
    """With c/r^2 the radius moves as Kepler's: its period is 2 pi (-2 E)^(-3/2)."""
    system = ch.System("x y", "c", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2) + c/(x^2 + y^2)")
    start = {"x": 1, "y": 0, "x'": 0, "y'": 1.1}
    orbit = ch.orbits.periodic(ch.derive(system), start, period=8.4, parameters={"c": 0.05}, unknown=["y'"])
    energy = -((2 * np.pi / 8.4) ** (2 / 3)) / 2
    assert orbit.found["y'"] == pytest.approx(np.sqrt(2 * (energy + 1 + 0.05)), rel=RIGHT)
    assert orbit.amounts and np.hypot(orbit.motion["x"][-1], orbit.motion["y"][-1]) == pytest.approx(1, abs=1e-10)


def test_counts():
    start = {"th": 1.5, "th'": 0}
    with pytest.raises(ch.UsageError, match=r"2 unknowns cannot be found from 1 condition: th, th', period"):
        ch.orbits.periodic(PENDULUM, start, period=8, unknown=["th", "th'", "period"])
    with pytest.raises(ch.UsageError, match=r"2 unknowns cannot be found from 1 condition: a, b"):
        ch.orbits.periodic(DUFFING, {"x": 1.2, "x'": 0}, period=4, parameters={"a": 1, "b": 0.7}, unknown="a b")
    with pytest.raises(ch.StateError, match="the number of unknowns must be 2, not 1"):
        ch.orbits.periodic(VALVE, {"x": 1, "x'": 2.5}, period=6.5, parameters={"mu": 1}, unknown=["x'"])


def test_what_is_not_determined_or_not_an_orbit_is_told():
    oscillator = ch.derive(ch.System("x", lagrangian="x'^2/2 - 2*x^2"))
    with pytest.raises(ch.StateError, match="does not determine x"):
        ch.orbits.periodic(oscillator, {"x": 1, "x'": 0.3}, period="pi", unknown=["x"])
    with pytest.raises(ch.StateError, match="equilibrium"):  # no swing is shorter than 2 pi
        ch.orbits.periodic(PENDULUM, {"th": 1.5, "th'": 0}, period=5, unknown=["th"])


def test_names():
    start = {"th": 1.5, "th'": 0}
    with pytest.raises(ch.ParameterError, match="thh is neither a jet of the state nor a parameter"):
        ch.orbits.periodic(PENDULUM, start, period=8, unknown=["thh"])
    with pytest.raises(ch.UsageError, match="no unknown is named"):
        ch.orbits.periodic(PENDULUM, start, period=8, unknown=[])
    with pytest.raises(ch.UsageError, match="2 is not the name"):
        ch.orbits.periodic(PENDULUM, start, period=8, unknown=[2])
    own = ch.derive(ch.System("x", "period", lagrangian="x'^2/2 - (2*pi/period)^2*x^2/2"))
    orbit = ch.orbits.periodic(own, {"x": 1, "x'": 0.2}, period=3, parameters={"period": 2.8}, unknown=["period"])
    assert orbit.found["period"] == pytest.approx(3, rel=RIGHT) and orbit.period == 3
