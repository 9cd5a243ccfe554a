"""Periodic orbits, Floquet's multipliers, exponents and sections, against closed forms and published numbers."""

from functools import cache, partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipk

import chetaev as ch

PENDULUM = ch.System("th", lagrangian="th'^2/2 + cos(th)", name="pendulum")
HENON = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - (x^2 + y^2)/2 - x^2*y + y^3/3", name="Henon-Heiles")
CHAOTIC = {"x": 0, "y": -0.15, "x'": 0.49057, "y'": 0}


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0, 3.0])
def test_the_period_of_a_pendulum(angle):
    exact = 4 * ellipk(np.sin(angle / 2) ** 2)
    orbit = ch.orbits.periodic(ch.derive(PENDULUM), {"th": angle, "th'": 0}, period=0.95 * exact)
    assert orbit.period == pytest.approx(exact, rel=1e-10)
    assert orbit.trivial == 2 and len(orbit.remaining) == 0 and not orbit.shift
    assert orbit.residual < 1e-9
    np.testing.assert_allclose(orbit.multipliers, 1, atol=1e-4)  # a Jordan block: the root of round-off
    energy = orbit.start["th'"] ** 2 / 2 - np.cos(orbit.start["th"])
    assert energy == pytest.approx(-np.cos(angle), rel=1e-9)  # the integral of the start is kept


def test_a_pendulum_that_goes_round_closes_after_a_turn():
    orbit = ch.orbits.periodic(ch.derive(PENDULUM), {"th": 0, "th'": 2.5}, period=3.0)
    assert orbit.period == pytest.approx(2 * 2 / 2.5 * ellipk(4 / 2.5**2), rel=1e-10)
    assert orbit.shift["th"] == pytest.approx(2 * np.pi, rel=1e-10)


def test_the_same_orbit_with_a_constraint():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = 1"])
    start = ch.State({"x": np.sin(1.0), "x'": 0.0}, {"y": -0.5})
    orbit = ch.orbits.periodic(ch.derive(system, ch.DAlembert()), start, period=6.5)
    assert orbit.period == pytest.approx(4 * ellipk(np.sin(0.5) ** 2), rel=1e-10)
    assert len(orbit.multipliers) == 2 == orbit.trivial


def test_multipliers_of_van_der_pol():
    """The other multiplier is exp of the integral of the divergence mu (1 - x^2), here by SciPy."""
    system = ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "mu*(1 - x^2)*x'"})
    orbit = ch.orbits.periodic(ch.derive(system), {"x": 2, "x'": 0}, period=6.5, parameters={"mu": 1.0})
    start = [orbit.start["x"], orbit.start["x'"], 0]

    def rates(_, y):
        return [y[1], -y[0] + (1 - y[0] ** 2) * y[1], 1 - y[0] ** 2]

    end = solve_ivp(rates, (0, orbit.period), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(end[:2], start[:2], atol=1e-9)
    assert orbit.period == pytest.approx(6.6632868593231, rel=1e-11)
    assert orbit.trivial == 1
    np.testing.assert_allclose(sorted(orbit.multipliers.real), [np.exp(end[2]), 1], rtol=1e-7)


@cache
def eight():
    pairs = [(1, 2), (1, 3), (2, 3)]
    attraction = " + ".join(f"1/sqrt((x{a} - x{b})^2 + (y{a} - y{b})^2)" for a, b in pairs)
    kinetic = " + ".join(f"(x{k}'^2 + y{k}'^2)/2" for k in (1, 2, 3))
    system = ch.System("x1 y1 x2 y2 x3 y3", lagrangian=f"{kinetic} + {attraction}")
    v = (-0.93240737, -0.86473146)
    start = {"x1": 0.97000436, "y1": -0.24308753, "x2": -0.97000436, "y2": 0.24308753, "x3": 0, "y3": 0}
    start |= {"x1'": -v[0] / 2, "y1'": -v[1] / 2, "x2'": -v[0] / 2, "y2'": -v[1] / 2, "x3'": v[0], "y3'": v[1]}
    return ch.orbits.periodic(ch.derive(system), start, period=6.3259)


def test_the_figure_eight_is_stable_and_its_true_pair_is_not_taken_for_trivial():
    """A. Chenciner, R. Montgomery, Ann. Math. 152 (2000) 881; C. Simo (2002): multipliers near 0.9986 +- 0.0529i and -0.2976 +- 0.9547i."""
    orbit = eight()
    assert orbit.period == pytest.approx(6.32591398, rel=1e-6)
    assert (orbit.trivial, len(orbit.multipliers)) == (8, 12)
    np.testing.assert_allclose(np.abs(orbit.remaining), 1, atol=1e-5)
    np.testing.assert_allclose(sorted(orbit.remaining.real), [-0.2976, -0.2976, 0.9986, 0.9986], atol=2e-4)


def floquet(amplitude):
    """Kapitza's pendulum with g = 1, w = 10: half of the trace of the monodromy matrix at the upper equilibrium, by the library."""
    system = ch.System("th", "a w", lagrangian="th'^2/2 - (1 - a*w^2*cos(w*t))*cos(th)")
    orbit = ch.orbits.periodic(ch.derive(system), {"th": 0, "th'": 0}, period="2*pi/w", parameters={"a": amplitude, "w": 10.0})
    return float(orbit.multipliers.sum().real / 2)


def by_scipy(amplitude):
    def rates(t, y):
        stiffness = 1 - amplitude * 100 * np.cos(10 * t)
        return [y[1], stiffness * y[0], y[3], stiffness * y[2]]

    end = solve_ivp(rates, (0, 2 * np.pi / 10), [1, 0, 0, 1], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return (end[0] + end[3]) / 2


def test_the_critical_amplitude_of_kapitza():
    ours = brentq(lambda a: floquet(a) - 1, 0.1, 0.2, xtol=1e-13)
    theirs = brentq(lambda a: by_scipy(a) - 1, 0.1, 0.2, xtol=1e-13)
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_a_system_that_hides_time_at_its_equilibrium_depends_on_time():
    system = ch.System("th", "a w", lagrangian="th'^2/2 - (1 - a*w^2*cos(w*t))*cos(th)")
    with pytest.raises(ch.StateError, match="equilibrium"):
        ch.orbits.periodic(ch.derive(PENDULUM), {"th": 0, "th'": 0}, period=6)
    orbit = ch.orbits.periodic(ch.derive(system), {"th": 0, "th'": 0}, period="2*pi/w", parameters={"a": 0.2, "w": 10.0})
    assert orbit.trivial == 0 and orbit.period == pytest.approx(0.2 * np.pi, rel=1e-15)


def test_a_relative_orbit_turns_about_the_centre():
    """Kepler's potential with 1/r^2: r returns after a period, the angle does not; by SciPy in polar coordinates."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2) + 0.05/(x^2 + y^2)")
    momentum = 1.1
    start = [1.0, 0.0, 0.0]

    def rates(_, y):
        return [y[1], momentum**2 / y[0] ** 3 - 1 / y[0] ** 2 - 0.1 / y[0] ** 3, momentum / y[0] ** 2]

    def turned(_, y):
        return y[1]

    turned.direction = 1
    found = solve_ivp(rates, (0, 60), start, method="DOP853", rtol=1e-12, atol=1e-13, events=turned)
    period, angle = next((t, y[2]) for t, y in zip(found.t_events[0], found.y_events[0], strict=True) if t > 1)
    orbit = ch.orbits.periodic(ch.derive(system), {"x": 1, "y": 0, "x'": 0, "y'": momentum}, period=0.98 * period, relative=True)
    assert orbit.period == pytest.approx(period, rel=1e-8)
    end = np.array([orbit.start["x"] + orbit.shift.get("x", 0), orbit.start["y"] + orbit.shift.get("y", 0)])
    first = np.array([orbit.start["x"], orbit.start["y"]])
    between = np.arctan2(first[0] * end[1] - first[1] * end[0], first @ end)
    assert np.cos(between) == pytest.approx(np.cos(angle), abs=1e-7)
    np.testing.assert_allclose(np.abs(orbit.multipliers), 1, atol=1e-3)


def test_exponents_of_a_conservative_system():
    found = ch.orbits.lyapunov(ch.derive(HENON), CHAOTIC, T=2000)
    assert found.exponents.sum() == pytest.approx(0, abs=1e-8)
    assert found.zeros == 2 and found.outcome == "finished"
    assert found.exponents[0] > 0.03
    np.testing.assert_allclose(found.exponents[1:3], 0, atol=0.01)
    assert found.divergence == pytest.approx(found.exponents.sum(), abs=1e-12)


def test_exponents_of_a_sleigh_show_attraction():
    """Its last direction decays to straight motion; four exponents vanish by energy and by displacements of the plane."""
    found = ch.orbits.lyapunov(ch.gallery("sleigh"), T=300)
    assert found.zeros == 4 and found.exponents[-1] < -0.5
    np.testing.assert_allclose(found.exponents[:4], 0, atol=0.03)


def test_exponents_of_a_double_pendulum_add_up_to_zero():
    """Its mass matrix is not constant: the volume that the flow keeps is that of momenta, not of velocities."""
    found = ch.orbits.lyapunov(ch.gallery("double-pendulum"), T=60)
    assert found.exponents.sum() == pytest.approx(0, abs=1e-8) and found.zeros == 2
    assert found.exponents[0] > 0.3


def test_exponents_of_lorenz():
    """J. C. Sprott, Chaos and Time-Series Analysis (2003): 0.9056, 0, -14.5723; their sum is the constant divergence -s - 1 - b."""
    rows = ["x' - s*(y - x)", "y' - x*(r - z) + y", "z' - x*y + b*z"]
    form = ch.derive(ch.DynamicalForm("x y z", rows, parameters="s r b"))
    found = ch.orbits.lyapunov(form, {"x": 1, "y": 1, "z": 20}, T=3000, parameters={"s": 10, "r": 28, "b": "8/3"})
    assert found.exponents.sum() == pytest.approx(-41 / 3, abs=1e-6) and found.zeros == 1
    np.testing.assert_array_less(np.abs(found.exponents - [0.9056, 0, -14.5723]), 4 * found.errors)


def test_exponents_add_up_to_the_mean_divergence():
    """The mean of 1 - x^2 along van der Pol's motion, by SciPy."""
    system = ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "(1 - x^2)*x'"})
    found = ch.orbits.lyapunov(ch.derive(system), {"x": 2, "x'": 0.3}, T=50)

    def rates(_, y):
        return [y[1], -y[0] + (1 - y[0] ** 2) * y[1], 1 - y[0] ** 2]

    mean = solve_ivp(rates, (0, 50), [2, 0.3, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[2, -1] / 50
    assert found.exponents.sum() == pytest.approx(mean, abs=1e-7)


def test_exponents_of_a_motion_whose_steps_are_used_up(monkeypatch):
    """One step for each of the 400 parts of a long run does not suffice. The exponents of damping c add up to -c after any time."""
    monkeypatch.setattr(ch.orbits.flow, "prepare", partial(ch.prepare, max_steps=1))
    damped = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "-0.2*x'"}))
    found = ch.orbits.lyapunov(damped, {"x": 1, "x'": 0}, T=4000)
    assert found.outcome == ch.Outcome.STEP_TOO_SMALL and found.message.startswith("400 steps did not suffice; t = ")
    assert 50 < found.T < 1000 and str(found).endswith(f"step_too_small: {found.message}")
    assert found.exponents.sum() == pytest.approx(-0.2, abs=1e-6)


def test_a_number_of_exponents():
    found = ch.orbits.lyapunov(ch.derive(HENON), CHAOTIC, T=500, number=1)
    assert found.exponents.shape == (1,) and np.isnan(found.divergence)
    with pytest.raises(ch.UsageError, match="not a count"):
        ch.orbits.lyapunov(ch.derive(HENON), CHAOTIC, T=500, number=7)


def test_a_section_of_a_motion_and_of_equations():
    equations = ch.derive(HENON)
    motion = ch.simulate(equations, CHAOTIC, (0, 60), tolerance=1e-11)
    stored = ch.orbits.section(motion, "x = 0", direction=1)
    unstored = ch.orbits.section(equations, "x = 0", 1, start=CHAOTIC, t=(0, 60), tolerance=1e-11)
    np.testing.assert_allclose(stored.t, unstored.t, rtol=1e-12)
    np.testing.assert_allclose(stored["x"], 0, atol=1e-12)
    assert np.all(stored["x'"] > 0) and len(stored) == len(stored["y"]) > 5
    np.testing.assert_allclose(motion.at(stored.t)["y"], stored["y"], atol=1e-8)


def test_a_section_of_an_ensemble():
    equations = ch.derive(HENON)
    starts = [{"x": 0, "y": y, "x'": 0.4, "y'": 0} for y in (-0.15, 0.1, 0.2)]
    found = ch.orbits.section(ch.simulate_many(equations, starts, t=np.linspace(0, 30, 31)), "x = 0", 1)
    single = ch.orbits.section(equations, "x = 0", 1, start=starts[1], t=(0, 30))
    np.testing.assert_allclose(found["y"][found["member"] == 1], single["y"], atol=1e-9)
    assert set(found["member"]) == {0, 1, 2}


def test_an_orbit_whose_digits_are_used_up_is_not_reported():
    """A nanoradian from the top the period is 92; after 40 the state is near the top again, and errors have grown by 1e12."""
    with pytest.raises(ch.StateError, match="no periodic orbit was found"):
        ch.orbits.periodic(ch.derive(PENDULUM), {"th": np.pi - 1e-9, "th'": 0}, period=40)


def test_exponents_of_roessler():
    """J. C. Sprott (2003): 0.0714, 0, -5.3943; their sum is the mean of a + x - c."""
    form = ch.derive(ch.DynamicalForm("x y z", ["x' + y + z", "y' - x - a*y", "z' - b - z*(x - c)"], parameters="a b c"))
    values = {"a": 0.2, "b": 0.2, "c": 5.7}
    found = ch.orbits.lyapunov(form, {"x": 1, "y": -5, "z": 0.02}, T=6000, parameters=values)
    assert found.zeros == 1
    np.testing.assert_array_less(np.abs(found.exponents - [0.0714, 0, -5.3943]), 4 * found.errors + 1e-3)

    def rates(_, y):
        return [-y[1] - y[2], y[0] + 0.2 * y[1], 0.2 + y[2] * (y[0] - 5.7), 0.2 + y[0] - 5.7]

    short = ch.orbits.lyapunov(form, {"x": 1, "y": -5, "z": 0.02}, T=20, parameters=values, tolerance=1e-11)
    mean = solve_ivp(rates, (0, 20), [1, -5, 0.02, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[3, -1] / 20
    assert short.exponents.sum() == pytest.approx(mean, abs=1e-6)


def test_refusals():
    friction = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "-sign(x')/10"}))
    with pytest.raises(ch.ModelError, match="corners"):
        ch.orbits.lyapunov(friction, {"x": 1, "x'": 0}, T=5)
    with pytest.raises(ch.UsageError, match="no period"):
        ch.orbits.periodic(ch.derive(PENDULUM), {"th": 1, "th'": 0})
    with pytest.raises(ch.StateError, match="no periodic orbit was found"):
        ch.orbits.periodic(ch.derive(ch.System("x", lagrangian="x'^2/2 + x^2/2")), {"x": 1, "x'": 0.1}, period=1.0)
    with pytest.raises(ch.UsageError, match="direction"):
        ch.orbits.section(ch.derive(HENON), "x = 0", 2, start=CHAOTIC, t=(0, 1))
