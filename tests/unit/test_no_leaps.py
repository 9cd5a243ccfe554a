"""No step leaps over what the user wrote: barriers, pulses, poles and steps of mass between the places a step looks at.

Right answers are closed forms: conservation of energy and momentum, integrals of pulses; SciPy with small steps where there is none.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.motion.storage import load

METHODS = [None, ch.Implicit(), ch.Taylor()]
NAMES = ["explicit", "implicit", "taylor"]


def motion(lagrangian, start, end, *, principle=None, method=None, events=(), tolerance=1e-9, values=None, given=None, **parts):
    names = " ".join(name for name in start if not name.endswith("'") and name != "s")
    equations = ch.derive(ch.System(names, lagrangian=lagrangian, **parts), principle)
    return ch.simulate(
        equations, start, (0, end), method=method, events=events, tolerance=tolerance, parameters=values, inputs=given, progress=False
    )


# ------------------------------------------------------------ barriers


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("steepness", [1, 20, 1000])
def test_a_barrier_far_away_turns_a_particle_back(steepness: float, method: ch.Method | None) -> None:
    """Energy 1/2 below the height 1: the particle returns with the opposite velocity."""
    found = motion(f"q'^2/2 - exp(-({steepness}*(q - 500))^2)", {"q": 0, "q'": 1}, 1000, method=method)
    assert found.outcome == "finished"
    assert found.final["q'"] == pytest.approx(-1, abs=1e-6)
    assert found.enclosed.shortened > 0 and found.enclosed.worst <= 30 and len(found.enclosed.nodes) == 1


def test_barriers_in_random_places_of_random_widths_and_heights() -> None:
    """Above the barrier the particle goes on with its old speed, below it turns back with it.

    Rounding the place changes the energy by the force times a unit in its last place. Where that is more than the limit of a certificate,
    3e-8, the motion says so: a width of 1e-5 at 1e4 has six digits in doubles.
    """
    random = np.random.default_rng(5)
    for _ in range(25):
        place, width, height = 10 ** random.uniform(0.5, 4), 10 ** random.uniform(-5, 0), random.choice([0.05, 0.3, 0.7, 2.0, 1e3, 1e8])
        found = motion(f"q'^2/2 - {height}*exp(-((q - {place})/{width})^2)", {"q": 0, "q'": 1}, 2 * place)
        reached = min(height, 0.5)
        steepest = reached * math.sqrt(2 * max(math.log(height / reached), 0.5)) / width
        few_digits = steepest * math.ulp(place) > 3e-8
        assert found.outcome == ("not_certified" if few_digits else "finished")
        assert ("lose digits" in found.message) == few_digits
        assert found.final["q'"] == pytest.approx(1 if height < 0.5 else -1, abs=1e-6)


HIT_BY_THE_INTERPOLANT = [
    (14.487082833054368, 60.87220777781199, 2.293445509383788, 0.9577986238001782, 38.01377160570734, 6.081029362202957e-08),
    (6757.180188155726, 848.1639871671825, 6.176909602175458, 2.8698222017343302, 3770.649374547618, 1.7315265517587996e-06),
    (103.81565122295932, 1125.9546796818415, 4.802592521431868, 2.191481809514254, 63.73273313655157, 2.1494469825174345e-09),
    (37.63391594672145, 2271.9078435875904, 0.09560622632548468, 0.19555687287895016, 576.633847855693, 2.932534375378035e-10),
    (1787.1058907707422, 4.661483115692014, 7.546043929729684, 2.7470063577883623, 1447.2153277323819, 7.521162289738739e-07),
    (1329952.7169849905, 2.231207598156574, 186.41885398496635, 8.635249943920936, 192935.61591961543, 4.3198301081394884e-08),
]
"""Place, steepness, height, speed, duration, tolerance: an evaluation of the interpolant meets the barrier, no stage does."""


@functools.cache
def _barrier() -> ch.Equations:
    return ch.derive(ch.System("q", "a w h", lagrangian="q'^2/2 - h*exp(-(w*(q - a))^2)"))


def _passed(a: float, w: float, h: float, speed: float, end: float, tolerance: float) -> ch.Trajectory:
    start, values = {"q": 0, "q'": speed}, {"a": a, "w": w, "h": h}
    return ch.simulate(_barrier(), start, (0, end), parameters=values, tolerance=tolerance, progress=False)


@pytest.mark.parametrize("case", HIT_BY_THE_INTERPOLANT, ids=str)
def test_a_barrier_that_only_the_interpolant_meets(case: tuple[float, ...]) -> None:
    """What the interpolant meets bends it; the bent one met the barrier again where the step had never looked, and the step passed."""
    found = _passed(*case)
    assert found.outcome == "finished"
    assert found.final["q'"] == pytest.approx(-case[3], rel=1e-3)


def test_many_barriers() -> None:
    """Widths of at least twenty times the tolerance of a place: below the barrier the speed is kept, above it turns."""
    random = np.random.default_rng(14)
    wrong = []
    for _ in range(60):
        a, speed, tolerance = 10 ** random.uniform(1, 7), 10 ** random.uniform(-1, 1), 10 ** random.uniform(-12, -6)
        w = 10 ** random.uniform(math.log10(8 / a), math.log10(0.05 / (a * tolerance)))
        h = speed**2 / 2 * random.choice([0.5, 0.9, 1.5, 2, 5])
        case = (a, w, h, speed, random.uniform(1.2, 3) * a / speed + 10 / (w * speed), tolerance)
        found = _passed(*case)
        if found.outcome == "finished" and not abs(found.final["q'"] - math.copysign(speed, speed**2 / 2 - h)) < 1e-2 * speed:
            wrong.append(case)
    assert not wrong


@pytest.mark.parametrize("steepness", [1, 10, 100, 1e4])
@pytest.mark.parametrize(("hill", "speed", "right"), [("- exp(-({}*q)^2)", 1, 3), ("+ exp(-({}*q)^2)", 2, 2), ("- 1/(1 + ({}*q)^4)", 1, 3)])
def test_a_start_at_the_top_of_a_hill_and_at_the_bottom_of_a_well(hill: str, speed: float, right: float, steepness: float) -> None:
    """No force acts at the start. The height of one is won or lost: v^2 = 1 + 2, or 4 - 2."""
    found = motion("q'^2/2 " + hill.format(steepness), {"q": 0, "q'": speed}, 100)
    assert found.outcome == "finished"
    assert found.final["q'"] == pytest.approx(math.sqrt(right), abs=1e-6)


@pytest.mark.parametrize("steepness", [1, 30])
@pytest.mark.parametrize("part", [0.1, 0.2, 0.25, 0.3076923076923077, 1 / 3, 0.5, 0.6, 7 / 9, 6 / 7])
def test_a_barrier_whose_top_is_where_a_step_looks(part: float, steepness: float) -> None:
    """The tail is so weak that the first step is the whole way. Its stage at the top finds no force, only height."""
    found = motion(f"q'^2/2 - 1/(1 + ({steepness}*(q - {1000 * part!r}))^4)", {"q": 0, "q'": 1}, 1000)
    assert found.outcome == "finished"
    assert found.final["q'"] == pytest.approx(-1, abs=1e-5)


@pytest.mark.parametrize("method", METHODS[1:], ids=NAMES[1:])
@pytest.mark.parametrize("part", [(4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0])
def test_a_barrier_whose_top_is_where_a_step_of_another_method_looks(part: float, method: ch.Method) -> None:
    """The stages of Radau's method; with one step for the whole way the one at the top finds no force."""
    found = motion(f"q'^2/2 - 1/(1 + (30*(q - {100 * part!r}))^4)", {"q": 0, "q'": 1}, 150, method=method, tolerance=1e-7)
    assert found.outcome == "finished"
    assert found.final["q'"] == pytest.approx(-1, abs=1e-4)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_start_on_a_hill_whose_top_is_flat_in_all_derivatives_of_a_series(method: ch.Method | None) -> None:
    """1/(1 + q^40) differs from 1 by a power that no series of order 19 has: the height of one is won, v^2 = 1 + 2."""
    found = motion("q'^2/2 - 1/(1 + (3*q)^40)", {"q": 0, "q'": 1}, 10, method=method, tolerance=1e-8)
    assert found.outcome == "finished"
    assert found.final["q'"] == pytest.approx(math.sqrt(3), abs=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1e9])
def test_barriers_are_found_in_any_units(scale: float) -> None:
    found = motion(f"q'^2/2 - {scale**2}*exp(-(20*(q/{scale} - 500))^2)", {"q": 0, "q'": scale}, 1000, tolerance=1e-10)
    assert found.final["q'"] / scale == pytest.approx(-1, abs=1e-4)


def test_two_barriers_are_met_again_and_again() -> None:
    """Between two walls 200 apart a particle of speed 1 turns back five times in 1000."""
    found = motion("q'^2/2 - exp(-(50*(q - 100))^2) - exp(-(50*(q + 100))^2)", {"q": 0, "q'": 1}, 1000, events=["q'"])
    assert len(found.events) == 5
    assert found.final["q'"] == pytest.approx(-1, abs=1e-6)


def test_a_barrier_by_a_name_and_by_an_input() -> None:
    where = motion("q'^2/2 - u", {"q": 0, "q'": 1}, 1000, where={"u": "2/(1 + (30*(q - 400))^2)"})
    assert where.final["q'"] == pytest.approx(-1, abs=1e-4)
    driven = motion("q'^2/2 - q^2*u", {"q": 1, "q'": 0}, 1000, inputs={"u": None}, given={"u": "exp(-(100*(t - 300))^2)"})
    kick = -2 * math.sqrt(math.pi) / 100  # the momentum -2 q times the integral of the pulse, at q = 1
    assert driven.final["q'"] == pytest.approx(kick, rel=1e-3)


def test_a_bump_on_a_wire_turns_a_bead_back() -> None:
    """Kinetic energy 1/2 below the height 1 of the bump under gravity 1."""
    rows = ["y = exp(-(10*(x - 1/2))^2)"]
    found = motion("(x'^2 + y'^2)/2 - y", {"x": -60, "y": 0, "x'": 1, "y'": 0}, 120, kinematic=rows, principle=ch.DAlembert())
    assert found.final["x'"] == pytest.approx(-1, abs=1e-6)


def test_a_wall_of_lennard_jones() -> None:
    """A particle that comes from far away with the speed 1 goes back with it; the well between does not matter."""
    found = motion("x'^2/2 - 4e-9*((1/(x - 3))^12 - (1/(x - 3))^6)", {"x": 1000, "x'": -1}, 2000)
    assert found.outcome == "finished"
    assert found.final["x'"] == pytest.approx(1, abs=1e-6)


# ------------------------------------------------------------ pulses and steps


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("width", [1, 1e-3])
def test_a_pulse_gives_its_momentum(width: float, method: ch.Method | None) -> None:
    """The body is at rest, so that an absolute tolerance says what matters: before it, the pulse itself is 1e-162 and grows."""
    pulse = {"q": f"exp(-((t - 500)/{width})^2)/(sqrt(pi)*{width})"}
    found = motion("q'^2/2", {"q": 0, "q'": 0}, 1000, forces=pulse, method=method, tolerance=(1e-9, 1e-10))
    assert found.final["q'"] == pytest.approx(1, abs=1e-6)


def test_a_train_of_pulses_that_is_a_power_of_a_cosine() -> None:
    """Four pulses of cos(t - 1)^1000, each with the integral pi binomial(1000, 500)/2^1000."""
    found = motion("q'^2/2", {"q": 0, "q'": 0}, 12, forces={"q": "cos(t - 1)^1000"})
    one = math.pi * math.exp(math.lgamma(1001) - 2 * math.lgamma(501) - 1000 * math.log(2))
    assert found.final["q'"] == pytest.approx(4 * one, rel=1e-6)


@pytest.mark.parametrize("steepness", [1000, 100000])
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_step_of_mass(steepness: float, method: ch.Method | None) -> None:
    """Energy is conserved: 1/2*1/2 = 3/2*v^2/2."""
    found = motion(f"x'^2/2*(1 + tanh({steepness}*x)/2)", {"x": -1, "x'": 1}, 3, method=method)
    assert found.final["x'"] == pytest.approx(1 / math.sqrt(3), abs=1e-6)


def test_a_patch_of_resistance() -> None:
    """v' = -k(x) v: the speed falls by the integral of k."""
    found = motion("x'^2/2", {"x": 0, "x'": 3}, 40, dissipation="25*exp(-(50*(x - 70))^2)*x'^2")
    assert found.final["x'"] == pytest.approx(3 - math.sqrt(math.pi), rel=1e-6)


def test_a_patch_of_contact_damping() -> None:
    """Herglotz: v' = -g(t) v, the speed falls by the exponential of the integral of g."""
    start = {"x": 0, "x'": 1, "s": 0}
    found = motion("x'^2/2 - s*exp(-(20*(t - 50))^2)", start, 100, action="s", principle=ch.Herglotz())
    assert found.final["x'"] == pytest.approx(math.exp(-math.sqrt(math.pi) / 20), rel=1e-6)


def test_a_row_that_turns_within_a_thousandth() -> None:
    """y' = f(x)*x' with f from 0 to 1: energy gives x' = 1/sqrt(2) afterwards, and y' the same."""
    rows = ["y' = x'*(1 + tanh(1000*x))/2"]
    found = motion("(x'^2 + y'^2)/2", {"x": -5, "y": 0, "x'": 1, "y'": 0}, 10, kinematic=rows, principle=ch.Chetaev())
    assert found.final["x'"] == pytest.approx(1 / math.sqrt(2), abs=1e-6)
    assert found.final["y'"] == pytest.approx(1 / math.sqrt(2), abs=1e-6)


def test_a_row_of_virtual_work_that_acts_for_a_moment() -> None:
    """The reaction of y' = 1 acts on x through the coefficient c(x) of the variations: x'' = -c*lambda, y'' = 0 = lambda - F_y."""
    parts = {
        "kinematic": ["y' = 1"],
        "variational": ["δy + 3*exp(-(30*(x - 1/2))^2)*δx = 0"],
        "forces": {"y": "-1"},
        "principle": ch.VirtualWork(),
    }
    found = motion("(x'^2 + y'^2)/2", {"x": -40, "y": 0, "x'": 1, "y'": 1}, 80, **parts)
    # lambda = 1 holds y against its force; x is pushed with c(x): energy of x grows by the integral of c
    right = math.sqrt(1 + 2 * 3 * math.sqrt(math.pi) / 30)
    assert found.final["x'"] == pytest.approx(right, rel=1e-6)


# ------------------------------------------------------------ poles


@pytest.mark.parametrize("strength", [1e-10, 1e-12, 1e-15])
def test_a_weak_pole_is_not_crossed(strength: float) -> None:
    found = motion(f"x'^2/2 - {strength}/(x - 1)^2", {"x": 0, "x'": 1}, 3)
    assert found.outcome == "finished"
    assert found.final["x"] == pytest.approx(-1, abs=1e-5)
    assert found.final["x'"] == pytest.approx(-1, abs=1e-5)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_pole_that_no_double_resolves_ends_the_motion(method: ch.Method | None) -> None:
    """The turning point is 1e-25 before the pole; an attractive one is met."""
    for sign in "-+":
        found = motion(f"x'^2/2 {sign} 1e-50/(x - 1)^2", {"x": 0, "x'": 1}, 3, method=method)
        assert found.outcome in ("step_too_small", "left_domain")
        assert found.final["x"] <= 1


def test_coulomb_repulsion_head_on() -> None:
    found = motion("(x'^2 + y'^2)/2 - 1e-12/sqrt(x^2 + y^2)", {"x": -1, "x'": 1, "y": 0, "y'": 0}, 3)
    assert found.outcome == "finished"
    assert found.final["x"] == pytest.approx(-2, abs=1e-6)
    assert found.final["x'"] == pytest.approx(-1, abs=1e-6)


def test_what_is_no_pole_is_crossed() -> None:
    """sin(x)/x is smooth: the motion through zero agrees with SciPy, which takes the limit there."""
    found = motion("x'^2/2 - sin(x)/x", {"x": -1, "x'": 1}, 3)
    force = lambda x: (math.sin(x) - x * math.cos(x)) / x**2 if abs(x) > 1e-4 else x / 3  # noqa: E731
    right = solve_ivp(lambda t, y: [y[1], force(y[0])], (0, 3), [-1.0, 1.0], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    assert found.outcome == "finished"
    assert [found.final["x"], found.final["x'"]] == pytest.approx(list(right), abs=1e-6)


def test_a_body_thrown_straight_up_turns_back_under_quadratic_drag() -> None:
    """The root sqrt(x'^2 + y'^2) comes to zero at the top: up to atan(1), and back to tanh."""
    found = motion(
        "(x'^2 + y'^2)/2 - y", {"x": 0, "y": 0, "x'": 0, "y'": 1}, 3, forces={"x": "-sqrt(x'^2 + y'^2)*x'", "y": "-sqrt(x'^2 + y'^2)*y'"}
    )
    assert found.outcome == "finished"
    assert found.final["y'"] == pytest.approx(-math.tanh(3 - math.pi / 4), abs=1e-7)


# ------------------------------------------------------------ ensembles, limits


def test_members_of_an_ensemble_do_not_leap_either() -> None:
    equations = ch.derive(ch.System("q", "a", lagrangian="q'^2/2 - exp(-(20*(q - a))^2)"))
    places = np.array([30.0, 100.0, 444.4, 500.0, 777.7, 1e4])
    ensemble = ch.simulate_many(equations, {"q": 0, "q'": 1}, (0, 2e4), parameters={"a": places}, progress=False)
    assert np.all(ensemble.outcome == ch.Outcome.FINISHED)
    assert ensemble.final["q'"] == pytest.approx(-1, abs=1e-6)
    assert np.all(ensemble.counts["shortened"] > 0)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_steps_are_not_longer_than_max_step(method: ch.Method | None) -> None:
    free = ch.derive(ch.System("x", lagrangian="x'^2/2"))
    found = ch.simulate(free, {"x": 0, "x'": 1}, (0, 10), max_step=0.25, method=method, progress=False)
    assert np.diff(found.t).max() <= 0.25 * (1 + 1e-12)
    assert len(found.t) >= 41


def test_max_step_is_a_positive_number() -> None:
    free = ch.derive(ch.System("x", lagrangian="x'^2/2"))
    with pytest.raises(ch.ChetaevError, match="max_step = -1 is not positive"):
        ch.simulate(free, {"x": 0, "x'": 1}, (0, 10), max_step=-1)


def test_what_was_enclosed_is_kept_in_files(tmp_path) -> None:
    found = motion("q'^2/2 - exp(-(20*(q - 50))^2)", {"q": 0, "q'": 1}, 100)
    found.save(tmp_path / "run.npz")
    assert load(tmp_path / "run.npz").enclosed == found.enclosed
    assert found.enclosed.nodes == ("exp(-(20*q - 1000)^2)",) and found.enclosed.left_out == ()


@pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=str)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(
    "force", ["1/abs(t - 1)^(3/2)", "-2/abs(t - 1)", "1/abs(sin(t - 1))^(5/4)", "3/((t - 1)^2)^(3/4)", "1/abs(x - 1)^(3/2)"]
)
def test_a_pole_on_a_switching_surface_is_not_crossed(force: str, tolerance: float, method: ch.Method | None) -> None:
    """The pole lies where one piece of abs ends and the next begins; x = 1 is reached, or not, without a motion beyond."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    found = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3), method=method, tolerance=tolerance, progress=False)
    if not found.outcome.reached_end:
        assert found.end[0] <= 1 + 1e-6 or "x" in force
        return
    assert "x" in force  # a repulsive force may turn the motion back before the pole
    assert max(found["x"]) < 1


def test_a_motion_away_from_a_pole_on_a_switching_surface() -> None:
    """No force before t = 1, a pole right after it."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "piecewise(t - 1, 0, 1/(t - 1)^(3/2))"}))
    found = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3), progress=False)
    assert not found.outcome.reached_end
    assert found.end[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    "force",
    ["-5*abs(x)", "sqrt(abs(t - 1))", "log(abs(t - 1) + 1e-3)", "1/(abs(x - 0.5) + 1e-6)", "-3*sign(x - 0.4)", "1/(1 + abs(sin(3*t)))"],
)
def test_surfaces_without_a_pole_are_crossed(force: str) -> None:
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    found = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 2), progress=False)
    assert found.outcome.reached_end, found.message


@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=str)
@pytest.mark.parametrize("force", ["5 + 1e-6/abs(t - 1)", "5 - 1e-9/abs(t - 1)", "5*t + 1e-4/abs(t - 1)", "5 + 1e-6/abs(x - 2.5)"])
def test_a_weak_pole_beside_other_forces_is_not_crossed(force: str, method: ch.Method | None) -> None:
    """The force grows near the surface only: at a thousandth of the interval it is 5.001. Its integral has no finite value."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    found = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 2), method=method, progress=False)
    assert not found.outcome.reached_end
    assert found.end[0] <= 1 + 1e-6


@pytest.mark.parametrize(
    ("force", "velocity"),
    [
        ("5 + log(abs(t - 1))", 8.0),
        ("5 + log(abs(t - 1))^2", 14.0),
        ("5 + abs(t - 1)^(1/3)", 11.5),
        ("sin(t + c) - sin(t)*cos(c) - cos(t)*sin(c) - 3*abs(t - 1)", -3.0),  # rates with rounding errors only, beside a kink
    ],
)
def test_weak_singularities_and_rounding_errors_are_no_poles(force: str, velocity: float) -> None:
    """Integrals by hand."""
    equations = ch.derive(ch.System("x", "c", lagrangian="x'^2/2", forces={"x": force}))
    found = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 2), parameters={"c": 1}, progress=False)
    assert found.outcome.reached_end, found.message
    assert found.final["x'"] == pytest.approx(velocity, rel=1e-6)
