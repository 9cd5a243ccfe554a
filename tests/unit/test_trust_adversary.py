"""Motions that an adversary found: wrong, or refused, where a right answer is known in closed form."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import chetaev as ch

METHODS = pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])
FREE = ch.derive(ch.System("x", lagrangian="x'^2/2"))


@METHODS
@pytest.mark.parametrize(
    ("event", "roots"),
    [
        ("1/tan(x)", [math.pi / 2, 3 * math.pi / 2]),
        ("1/tan(x)^3", [math.pi / 2, 3 * math.pi / 2]),
        ("1/(1/(x - 4))", [4.0]),
        ("tan(x)", [math.pi]),
        ("1/(x - 4)", []),
        ("(x - 4)^(-1/3)", []),
    ],
)
def test_a_pole_inside_a_formula_is_no_pole_of_the_event(event, roots, method):
    motion = ch.simulate(FREE, {"x": 0.5, "x'": 1}, (0, 5.5), events=[event], method=method)
    assert [0.5 + found.t for found in motion.events] == pytest.approx(roots, abs=1e-8)


@METHODS
@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    ("event", "root"),
    [
        ("exp(-1e4*abs(x - 1))*sign(x - 1)", 1.0),
        ("exp(-1000*(2 - x)^2*abs(x - 1))*sign(x - 1)", 1.0),
        ("exp(-1e4*(x - 1)^2)*sign(x - 1.001)", 1.001),
        ("exp(-1e4*(x - 1)^2)*atan(1/(x - 1))", 1.0),
        ("exp(-1e4*abs(x - 1))*step(x - 1) - 1e-9*exp(-1e4*abs(x - 1))", 1.0),
        ("step(x - 1) - exp(1e6*(x - 1))*step(1 - x)", 1.0),
        ("step(x - 1)*step(3 - x) - 1/2", 1.0),
    ],
)
def test_an_event_that_decays_on_both_sides_of_its_jump(event, root, terminal, method):
    """In doubles the functions are -0.0 where the motion starts; beside the jump they are larger than at both ends of a step."""
    motion = ch.simulate(FREE, {"x": 0, "x'": 1}, (0, 2.5), events=[ch.On(event, terminal=terminal)], method=method)
    assert motion.outcome == ("event" if terminal else "finished")
    assert [found.t for found in motion.events] == pytest.approx([root], abs=1e-9)


@METHODS
@pytest.mark.parametrize("width", ["1", "0.05"])
def test_a_mass_with_a_hat(width, method):
    """sqrt(m) x' is constant, so that the speed behind the hat is the one before it; the passage takes 2 w (8 - 1)/(3*3) longer parts."""
    text = f"x'^2/2*(1 + 3*max(0, 1 - abs((x - 1)/{width})))"
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian=text)), {"x": -3, "x'": 1}, (0, 10), method=method)
    passage = 2 * float(width) * 14 / 9  # the integral of sqrt(1 + 3 u) over u from 0 to 1, twice
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(1, abs=1e-8)
    assert motion.final["x"] == pytest.approx(-3 + 10 - passage + 2 * float(width), abs=1e-7)


@pytest.mark.parametrize("place", [0.7, 100.0])
def test_a_corner_beyond_which_a_row_overflows(place):
    """y' = exp(-abs(u)) x' with the energy conserved: x' = 1 behind the bump. On the other side of the corner the formula is exp(1e5)."""
    row = f"y' = exp(-abs((x - {place})/1e-3))*x'"
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=[row]), ch.DAlembert())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion = ch.simulate(equations, {"x": place - 1, "y": 0, "x'": 1}, (0, 2))
    assert motion.outcome == "finished" and motion.final["x'"] == pytest.approx(1, abs=1e-8)
    assert motion.final["y"] == pytest.approx(2e-3, rel=1e-6)


@METHODS
def test_a_row_whose_coefficient_vanishes_at_a_corner(method):
    """The energy is conserved, so that x' = 1 behind the hat; y rises by its area, 0.1. The coefficient is a pivot that vanishes there."""
    row = "y' = max(0, 1 - abs(x - 1)/0.1)*x'"
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=[row]), ch.DAlembert())
    motion = ch.simulate(equations, {"x": -1, "y": 0, "x'": 1}, (0, 5), method=method)
    assert motion.outcome == "finished" and motion.final["x'"] == pytest.approx(1, abs=1e-8)
    assert motion.final["y"] == pytest.approx(0.1, abs=1e-8)


def test_a_corner_beyond_which_a_mass_overflows():
    text = "x'^2/2*(1 + exp(-abs((x + 102.75)/0.05))/2)"
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian=text)), {"x": -500, "x'": 1}, (0, 800))
    assert motion.outcome == "finished" and motion.final["x'"] == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("force", ["(1 - (1 - x)^2)^4", "(1 - (1 - x)^2)^6"])
def test_a_series_that_begins_where_a_high_power_vanishes(force):
    """The energy tells the speed: x'^2 = 1 - 2 V."""
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - {force}/8"))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 0.8), method=ch.Taylor())
    x = motion.final["x"]
    exponent = int(force[-1])
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(math.sqrt(1 - (1 - (1 - x) ** 2) ** exponent / 4), abs=1e-9)


def test_a_bump_with_a_smooth_rim_and_a_series():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 + 0.07*max(0, 1 - (10*(x - 1))^2)^4"))
    motion = ch.simulate(equations, {"x": -3, "x'": 1}, (0, 10), method=ch.Taylor())
    assert motion.outcome == "finished" and motion.final["x'"] == pytest.approx(1, abs=1e-9)


@METHODS
@pytest.mark.parametrize("start", [-3.0, -2.9, -5.0])
def test_two_curves_that_cross_are_noticed(start, method):
    """x = 1 crosses x = y^2 at y = -1, where the motion along x = 1 is one of two; the determinant is (1 - y^2)^2."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["(x - 1)*(x - y^2) = 0"]), ch.DAlembert())
    for end in (4.3, 20):
        motion = ch.simulate(equations, {"x": 1, "y": start, "x'": 0, "y'": 1}, (0, end), method=method)
        assert motion.outcome == "left_domain"
        assert motion.final["y"] == pytest.approx(-1, abs=1e-6)


def test_a_piece_without_a_value_on_its_surface_is_an_outcome():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - piecewise(x, 0, exp(-1/x))"))
    motion = ch.simulate(equations, {"x": -1, "x'": 1}, (0, 3))
    assert motion.outcome == "left_domain" and motion.final["x"] == pytest.approx(0, abs=1e-9)


# ------------------------------------------------------------ planar friction

TABLE = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", dissipation="0.2*sqrt((x' + 0.5*y)^2 + (y' - 0.5*x)^2)"))


def _slipping() -> np.ndarray:
    """The same motion from a speed of 1e-9 beside the table, by Radau with tight tolerances."""
    from scipy.integrate import solve_ivp

    def rates(t: float, s: np.ndarray) -> list[float]:
        a, b = s[2] + 0.5 * s[1], s[3] - 0.5 * s[0]
        n = math.sqrt(a * a + b * b + 1e-26)
        return [s[2], s[3], -0.2 * a / n, -0.2 * b / n]

    found: np.ndarray = solve_ivp(rates, (0, 3), [1, 0, 1e-9, 0.5], method="Radau", rtol=1e-11, atol=1e-14).y[:, -1]
    return found


@METHODS
@pytest.mark.parametrize("speed", [0.0, 1e-10])
def test_a_body_on_a_turntable_that_friction_does_not_hold(speed, method):
    """0.25 is needed on the circle and friction gives 0.2: the body starts to slip at once, and its direction has few digits then."""
    motion = ch.simulate(TABLE, {"x": 1, "y": 0, "x'": speed, "y'": 0.5}, (0, 3), method=method)
    assert motion.outcome == "finished"
    assert [motion.final[z] for z in ("x", "y", "x'", "y'")] == pytest.approx(list(_slipping()), abs=3e-7)


@METHODS
def test_a_body_on_a_belt_that_a_growing_pull_takes_away(method):
    """Along (0.6, 0.8) the pull is t/2 and friction 1/2, so that the velocity beside the belt is (t - 1)^2/4 from t = 1 on."""
    text = "(x'^2 + y'^2)/2 + 0.3*t*x + 0.4*t*y"
    equations = ch.derive(ch.System("x y", lagrangian=text, dissipation="0.5*sqrt((x' - 3)^2 + y'^2)"))
    motion = ch.simulate(equations, {"x": 0, "y": 0, "x'": 3, "y'": 0}, (0, 3), method=method)
    assert motion.outcome == "finished" and len(motion.t) < 2000
    assert motion.final["x'"] == pytest.approx(3.6, abs=1e-6) and motion.final["y'"] == pytest.approx(0.8, abs=1e-6)
    assert motion.final["x"] == pytest.approx(9 + 0.6 * 2 / 3, abs=1e-6)


def test_two_bodies_on_a_spring_stick_and_slip_in_few_steps():
    """The first one rests until the spring pulls with 0.3. Then it moves along the pull: explicit steps alone would be half a million."""
    friction = "0.3*sqrt(x'^2 + y'^2) + 0.1*sqrt(u'^2 + v'^2)"
    text = "(x'^2 + y'^2 + u'^2 + v'^2)/2 - ((u - x - 1)^2 + (v - y)^2)/2"
    equations = ch.derive(ch.System("x y u v", lagrangian=text, dissipation=friction))
    start = {"x": 0, "y": 0, "u": 1, "v": 0, "x'": 0, "y'": 0, "u'": 0.8, "v'": 0.9}
    motion = ch.simulate(equations, start, (0, 6))
    assert motion.outcome == "finished" and len(motion.t) < 5000
    assert [(s.before, s.after) for s in motion.switches] == [(0, 1), (1, 0), (0, 1)]
    # Radau on the equations with |v| replaced by sqrt(v^2 + 1e-14)
    right = {"x": 0.87285, "y": 0.98195, "u": 2.08871, "v": 1.22480}
    assert [motion.final[z] for z in right] == pytest.approx(list(right.values()), abs=2e-5)


@METHODS
@pytest.mark.parametrize(
    ("event", "root"), [("(x/50)^200 - 1", 50.0), ("(x/50)^200*(x - 40) - 10", 50.0), ("x^200/50^200 - 1/2", 50 * 0.5 ** (1 / 200))]
)
def test_an_event_with_a_number_that_is_no_double(event, root, method):
    """50^-200 underflows: bounds of the event that were made with this number proved that it has no root."""
    motion = ch.simulate(FREE, {"x": 0, "x'": 1}, (0, 51), events=[event], method=method)
    assert [found.t for found in motion.events] == pytest.approx([root], rel=1e-9)


@METHODS
@pytest.mark.parametrize(("size", "n"), [("1e-6", 80), ("1e-4", 100), ("1", 200)])
def test_a_wall_that_is_a_high_power(size, n, method):
    """x'' = -a (x/50)^n from x = 0 with speed 1: it returns after twice the time of x_m B(1/(n + 1), 1/2)/(n + 1)."""
    force = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"-{size}*(x/50)^{n}"}))
    motion = ch.simulate(force, {"x": 0, "x'": 1}, (0, 90), method=method)
    top = 50 * ((n + 1) / (100 * float(size))) ** (1 / (n + 1))
    turn = top * math.sqrt(math.pi) * math.gamma(1 + 1 / (n + 1)) / math.gamma(0.5 + 1 / (n + 1))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(2 * turn - 90, rel=1e-7)


@METHODS
@pytest.mark.parametrize("wall", ["c*exp(x)", "1e-120*exp(x)", "1e-320*exp(x/2)^2*1e200"])
def test_an_exponential_wall_with_a_small_factor(wall, method):
    """exp(x) = sech^2((t - T)/2)/(2 c) under V = c*exp(x), with T = log(2/c) for x = 0 and x' = 1 at t = 0."""
    system = ch.System("x", "c", lagrangian=f"x'^2/2 - {wall} + 0*c")
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 1}, (0, 400), parameters={"c": 1e-120}, method=method)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(2 * math.log(2e120) - 400, rel=1e-7)


def test_a_product_of_powers_whose_numbers_leave_the_range_of_doubles():
    force = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-0.02*(x/50)^200*(2 - x/50)^200"}))
    for x in (27.0, 27.8, 50.0):
        expected = -0.02 * (x / 50) ** 200 * (2 - x / 50) ** 200
        assert ch.evaluate(force, {"x": x, "x'": 1})["x''"] == pytest.approx(expected, rel=1e-11)


DRIVES = {
    "formula": "step(t - 1)*step(2 - t)",
    "held": ch.Sampled([0, 1, 2], [0, 1, 0], "hold"),
    "samples": ([0, 1, 1, 2, 2, 3], [0, 0, 1, 1, 0, 0]),
    "controller": ch.Feedback(lambda t, _: 0.95 < t < 1.95, period=0.1),
}


@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES.keys())
def test_an_event_of_an_input_that_jumps(drive):
    """x'' = u, with u = 1 between t = 1 and t = 2: the function of the event jumps where a piece of the motion ends."""
    driven = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": None}))

    def met(**settings):
        return ch.simulate(driven, {"x": 0, "x'": 1}, (0, 2.8), inputs={"u": drive}, events=[ch.On("u - 1/3", **settings)])

    assert [event.t for event in met().events] == pytest.approx([1, 2])
    assert [event.t for event in met(direction=-1).events] == pytest.approx([2])
    assert (met(terminal=True).outcome, met(terminal=True).end[0]) == ("event", pytest.approx(1))
    assert met(direction=1, reset={"x'": "-x'"}).final["x"] == pytest.approx(1 - 1.8 + 0.5 + 0.8)


@METHODS
@pytest.mark.parametrize(
    ("event", "places"),
    [("step(x - 1) - 1/3", [1]), ("x*sign(x - 1)", [1]), ("sign(x - 1)*(2 - x)", [1, 2]), ("abs(x - 1) - 1e-3", [0.999, 1.001])],
)
def test_an_event_that_jumps_with_a_force(event, places, method):
    """x'' = -step(x - 1)/10: force and event have the same corner."""
    step = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-step(x - 1)/10"}))
    motion = ch.simulate(step, {"x": 0, "x'": 1}, (0, 2.2), events=[event], method=method)
    assert [motion.at(found.t)["x"] for found in motion.events] == pytest.approx(places)


def test_slopes_behind_a_reset_where_an_event_jumps():
    """A body turns at x = a with twice its speed: x(5) = a - 2 (5 - a)."""
    turned = ch.derive(ch.System("x", "a", lagrangian="x'^2/2", forces={"x": "-step(x - a)/10"}))
    events = [ch.On("step(x - a) - 1/3", reset={"x'": "-2*x'"})]
    motion = ch.simulate(turned, {"x": 0, "x'": 1}, (0, 5), parameters={"a": 1}, events=events, slopes=["a"])
    assert (motion.final["x"], motion.slope("x", "a")[-1]) == (pytest.approx(-7), pytest.approx(3))
