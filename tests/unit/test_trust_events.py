"""Events at poles and at the start, and singular loci: what is noticed and what must not be called singular."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipk

import chetaev as ch

METHODS = pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])
FREE = ch.derive(ch.System("q", lagrangian="q'^2/2"))


@METHODS
def test_poles_are_no_roots(method):
    motion = ch.simulate(FREE, {"q": 0.1, "q'": 1}, (0, 72), events=[ch.On("tan(q)")], method=method)
    right = [k * math.pi - 0.1 for k in range(1, 23) if k * math.pi < 72.1]
    assert [event.t for event in motion.events] == pytest.approx(right, abs=1e-7)


@pytest.mark.parametrize(
    "text", ["1/(q - 40)", "1/(q - 40)^3", "1/sin(q/100)*0 + 1/(q - 40)", "(q - 50)/(q - 40) + 2 - 2", "log(abs(q - 40))*0 + 1/(q - 40)"]
)
def test_a_pole_gives_no_event(text):
    motion = ch.simulate(FREE, {"q": 0.5, "q'": 1}, (0, 45), events=[ch.On(text)])
    assert len(motion.events) == 0


@METHODS
def test_a_root_at_the_last_time_is_found(method):
    """Free fall from 2 reaches 0 at t = 2; upwards it is not crossed."""
    fall, start = ch.derive(ch.System("x", lagrangian="x'^2/2 - x")), {"x": 2, "x'": 0}
    events = [ch.On("x"), ch.On("x", direction=1), ch.On("x + x", direction=-1)]
    motion = ch.simulate(fall, start, (0, 2), events=events, method=method)
    assert motion.outcome == "finished" and [event.t for event in motion.events] == pytest.approx([2, 2], abs=1e-12)
    assert ch.simulate(fall, start, (0, 2), events=[ch.On("x", terminal=True)], method=method).outcome == "event"
    assert ch.simulate(fall, start, (0, 1.99), events=[ch.On("x")], method=method).events == ()


def test_a_root_beside_a_pole_is_found():
    motion = ch.simulate(FREE, {"q": 0, "q'": 1}, (0, 72), events=[ch.On("(q - 40.001)/(q - 40)")])
    assert [event.t for event in motion.events] == pytest.approx([40.001], abs=1e-8)


def test_many_roots_are_all_found():
    motion = ch.simulate(FREE, {"q": 0.5, "q'": 1}, (0, 71.5), events=[ch.On("sin(100*q)")])
    assert len(motion.events) == math.floor(7200 / math.pi) - math.floor(50 / math.pi)


BALL = ch.derive(ch.System("y", lagrangian="y'^2/2 - y"))
BOUNCE = ch.On("y", direction=-1, reset={"y'": "-y'"})


def test_a_start_on_the_surface_that_moves_inwards_triggers():
    """From y = 0 with y' = -1: reflected at once, then a throw of speed 1 every 2 time units."""
    motion = ch.simulate(BALL, {"y": 0, "y'": -1}, (0, 3), events=[BOUNCE])
    assert motion.final["y"] == pytest.approx(0.5, abs=1e-7)
    assert (
        motion.extrema["y"][0] > -1e-6 if hasattr(motion, "extrema") and "y" in getattr(motion, "extrema", {}) else min(motion["y"]) > -1e-6
    )


def test_a_start_on_the_surface_that_moves_outwards_does_not():
    motion = ch.simulate(BALL, {"y": 0, "y'": 1}, (0, 3), events=[BOUNCE])
    assert [event.t for event in motion.events] == pytest.approx([2], abs=1e-8)
    assert motion.final["y"] == pytest.approx(0.5, abs=1e-7)


def test_a_terminal_event_at_the_start_that_moves_inwards_ends_there():
    motion = ch.simulate(BALL, {"y": 0, "y'": -1}, (0, 3), events=[ch.On("y", direction=-1, terminal=True)])
    assert motion.outcome == "event"
    assert motion.final["t"] == pytest.approx(0, abs=1e-9)


# Singular loci


def test_the_crossing_of_two_manifolds_is_noticed():
    """x*y = 0 from x = -1 along y = 0: at the origin the motion may turn into the other line."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x*y = 0"]), ch.DAlembert())
    motion = ch.simulate(equations, {"x": -1, "y": 0, "x'": 1, "y'": 0}, (0, 3))
    assert motion.outcome != "finished"
    assert motion.final["t"] == pytest.approx(1, abs=1e-3)


def test_the_flat_parallelogram_is_noticed():
    """Equal bars of length 1 on ground points 1 apart: flat after the crank turned by pi/2, at t = pi/2."""
    rows = ["x1^2 + y1^2 = 1", "(x2 - 1)^2 + y2^2 = 1", "(x2 - x1)^2 + (y2 - y1)^2 = 1"]
    system = ch.System("x1 y1 x2 y2", lagrangian="(x1'^2 + y1'^2 + x2'^2 + y2'^2)/2", kinematic=rows)
    start = {"x1": 0, "y1": 1, "x2": 1, "y2": 1, "x1'": 1, "y1'": 0, "x2'": 1, "y2'": 0}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 3))
    assert motion.outcome != "finished"
    assert motion.final["t"] == pytest.approx(math.pi / 2, abs=1e-2)


def kepler_angle(e: float, share: float) -> tuple[float, float]:
    """r and phi after a share of the period from apoapsis (a = 1), by Kepler's equation."""
    mean = math.pi + 2 * math.pi * share
    E = mean
    for _ in range(100):
        E -= (E - e * math.sin(E) - mean) / (1 - e * math.cos(E))
    return 1 - e * math.cos(E), 2 * math.atan2(math.sqrt(1 + e) * math.sin(E / 2), math.sqrt(1 - e) * math.cos(E / 2))


@pytest.mark.parametrize("e", [0.9, 0.999, 0.9995, 0.9999])
def test_polar_coordinates_near_the_centre_are_regular(e):
    equations = ch.derive(ch.System("r phi", lagrangian="(r'^2 + r^2*phi'^2)/2 + 1/r"))
    h = math.sqrt(1 - e * e)
    start = {"r": 1 + e, "phi": 0, "r'": 0, "phi'": h / (1 + e) ** 2}
    motion = ch.simulate(equations, start, (0, 2 * math.pi * 0.75), tolerance=1e-12)
    assert motion.outcome == "finished", motion.message
    r, angle = kepler_angle(e, 0.75)
    assert motion.final["r"] == pytest.approx(r, abs=1e-5)
    assert math.remainder(motion.final["phi"] + math.pi - angle, 2 * math.pi) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("miss", [0.3, 0.03, 1e-3])
def test_a_straight_line_past_the_origin_in_polar_coordinates(miss):
    equations = ch.derive(ch.System("r phi", lagrangian="(r'^2 + r^2*phi'^2)/2"))
    r = math.hypot(100, miss)
    start = {"r": r, "phi": 0, "r'": -100 / r, "phi'": miss / r**2}
    motion = ch.simulate(equations, start, (0, 200), tolerance=1e-12)
    assert motion.outcome == "finished", motion.message
    assert motion.final["r"] == pytest.approx(r, rel=1e-6)
    assert motion.final["phi"] == pytest.approx(2 * math.atan2(100, miss), abs=1e-6)


def test_a_great_circle_that_passes_near_the_pole():
    """(th'^2 + sin(th)^2 ph'^2)/2 from the equator: cos th = cos(u) sin(i) ... the least th is ph'/speed."""
    equations = ch.derive(ch.System("th ph", lagrangian="(th'^2 + sin(th)^2*ph'^2)/2"))
    motion = ch.simulate(equations, {"th": 1, "ph": 0, "th'": 1, "ph'": 1e-5}, (0, 4), tolerance=1e-12)
    # closed form: rotate; p = (sin1, 0, cos1), v = (cos1, sin1*1e-5, -sin1)
    p, v = np.array([math.sin(1), 0, math.cos(1)]), np.array([math.cos(1), math.sin(1) * 1e-5, -math.sin(1)])
    speed = np.linalg.norm(v)
    x = p * math.cos(4 * speed) + v / speed * math.sin(4 * speed)
    assert motion.outcome == "finished", motion.message
    assert motion.final["th"] == pytest.approx(math.acos(x[2]), abs=1e-6)
    assert math.remainder(motion.final["ph"] - math.atan2(x[1], x[0]), 2 * math.pi) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("eps", [1e-6, 1e-8, 1e-10, 1e-12])
def test_a_small_mass_is_no_singularity(eps):
    """L = x'^2/2 + eps y'^2/2 - eps y^2/2 - x^2/2: two oscillators, whatever eps."""
    equations = ch.derive(ch.System("x y", "eps", lagrangian="x'^2/2 + eps*y'^2/2 - eps*y^2/2 - x^2/2"))
    motion = ch.simulate(equations, {"x": 1, "y": 1, "x'": 0, "y'": 0}, (0, 3), parameters={"eps": eps})
    assert motion.outcome == "finished", motion.message
    assert [motion.final["x"], motion.final["y"]] == pytest.approx([math.cos(3)] * 2, abs=1e-7)


def test_a_lemniscate_stops_at_its_node():
    """(x^2 + y^2)^2 = x^2 - y^2 crosses itself at the origin."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["(x^2 + y^2)^2 = x^2 - y^2"]), ch.DAlembert())
    motion = ch.simulate(equations, {"x": 1, "y": 0, "x'": 0, "y'": 1}, (0, 4))
    assert motion.outcome != "finished"
    assert math.hypot(motion.final["x"], motion.final["y"]) < 1e-2


def test_a_parallelogram_with_a_coordinate_that_stays_zero_is_certified():
    """Round-off is not to be divided by round-off: b is identically zero along this motion."""
    rows = ["x1^2 + y1^2 = 1", "(x2 - x1)^2 + (y2 - y1)^2 = 4", "(x2 - 2)^2 + y2^2 = 1"]
    system = ch.System("x1 y1 x2 y2 b", lagrangian="(x1'^2 + y1'^2 + x2'^2 + y2'^2 + b'^2)/2 - 9.81*(y1 + y2) - b^2/2", kinematic=rows)
    a = 0.7
    start = {"x1": math.sin(a), "y1": -math.cos(a), "x2": 2 + math.sin(a), "y2": -math.cos(a), "b": 0, "b'": 0}
    start |= {"x1'": 0, "y1'": 0, "x2'": 0, "y2'": 0}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 0.4), tolerance=1e-10)
    right = solve_ivp(lambda _, y: [y[1], -9.81 * math.sin(y[0])], (0, 0.4), [a, 0], "DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    assert motion.final["x1"] == pytest.approx(math.sin(right), abs=1e-8)
    assert motion.verify().worst < 1e-5


@pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])
@pytest.mark.parametrize("distance", [1e-4, 1e-7, 1e-10])
def test_an_event_that_follows_the_start_closely_is_met(distance, method):
    """x = t; the run is 10 long, and its first step much longer than the distance."""
    free = ch.derive(ch.System("x", lagrangian="x'^2/2"))
    motion = ch.simulate(
        free, {"x": 0, "x'": 1}, (0, 10), events=[f"x - {distance}", ch.On(f"x - 2*{distance}", terminal=True)], method=method
    )
    assert [event.t for event in motion.events] == pytest.approx([distance, 2 * distance], rel=1e-6)
    assert motion.outcome == "event"


def test_an_event_that_follows_a_corner_closely_is_met():
    """x'' = sign(t - 1) is -1 until t = 1, where x = -1/2 and x' = -1; 1e-9 later x is lower by as much."""
    pushed = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "sign(t - 1)"}))
    motion = ch.simulate(pushed, {"x": 0, "x'": 0}, (0, 1.9), events=[ch.On("x + 0.500000001", direction=-1)], tolerance=1e-12)
    assert [event.t for event in motion.events] == pytest.approx([1 + 1e-9], abs=1e-12)


@pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])
@pytest.mark.parametrize(
    ("event", "roots"),
    [
        ("log((x - 3.3)^2 + 1e-10) + 20", [3.3 - np.sqrt(np.exp(-20) - 1e-10), 3.3 + np.sqrt(np.exp(-20) - 1e-10)]),
        ("log(1e-8 - (x - 5)^2) + 19", [5 - np.sqrt(1e-8 - np.exp(-19)), 5 + np.sqrt(1e-8 - np.exp(-19))]),
        ("sqrt(1e-8 - (x - 5)^2) - 5e-5", [5 - np.sqrt(0.75e-8), 5 + np.sqrt(0.75e-8)]),
        ("asin((x - 5)*1e4)", [5]),
        ("asin(x/10) - 0.5", [10 * np.sin(0.5)]),
        ("acosh(1 + 1e6*(x - 5)^2) - 0.001", [5 - np.sqrt((np.cosh(0.001) - 1) / 1e6), 5 + np.sqrt((np.cosh(0.001) - 1) / 1e6)]),
        ("atanh(1e3*(x - 5)) - 2", [5 + 1e-3 * np.tanh(2)]),
        ("sqrt(x - 1) - 1", [2]),
        ("x^1.5 - 8", [4]),
        ("log(x)*sqrt(x - 2) - 1e-3", None),
        ("log(-x)", []),
    ],
)
def test_events_that_have_values_in_some_places_only(event, roots, method):
    """x = t over (0, 10), so that roots of the expression are times; the intervals in which it has values may be 2e-4 wide."""
    free = ch.derive(ch.System("x", lagrangian="x'^2/2"))
    motion = ch.simulate(free, {"x": 0, "x'": 1}, (0, 10), events=[event], method=method)
    if roots is None:  # log(2) sqrt(x - 2) = 1e-3, nearly
        roots = [brentq(lambda x: np.log(x) * np.sqrt(x - 2) - 1e-3, 2, 3)]
    assert [found.t for found in motion.events] == pytest.approx(roots, abs=1e-9)


@METHODS
@pytest.mark.parametrize(("x", "end"), [(0.5, 3), (0.5, 5.5), (0.7, 5.5), (1.0, 4), (0.9, 40)])
def test_a_mass_that_touches_zero_is_not_passed(x, end, method):
    """The mass of y is sin(x)^2, and x moves through pi; with y' = 0 nothing else tells."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + sin(x)^2*y'^2/2"))
    motion = ch.simulate(equations, {"x": x, "x'": 1, "y": 0, "y'": 0}, (0, end), method=method)
    assert motion.outcome == "left_domain"
    assert motion.final["x"] == pytest.approx(math.pi, abs=1e-6)


@METHODS
def test_an_event_and_a_corner_on_one_surface(method):
    """x'' = -sign(x), and x' is halved at x = 0: half as high and half as long each time, from sqrt(2) on."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-sign(x)"}))
    events = ["2*x", ch.On("x", reset={"x'": "x'/2"})]
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 4), events=events, method=method)
    right = [k * math.sqrt(2) for k in (1, 2, 2.5, 2.75)]
    for text in ("x", "2*x"):
        assert [event.t for event in motion.events if event.text == text] == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("method", [None, ch.Taylor()], ids=["explicit", "taylor"])
@pytest.mark.parametrize("factor", ["(x - 0.495)", "tanh((x - 0.495)/0.055)"])
def test_an_event_that_underflows_to_zero_on_both_sides_of_its_root(factor, method):
    """The function is zero in doubles outside of (0.24, 0.79), so that no step ends with its new sign unless it is made to."""
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    motion = ch.simulate(spring, {"x": 1, "x'": 0}, (0, 7), events=[f"{factor}*exp(-((x - 0.517)/0.01)^2)"], method=method, tolerance=1e-11)
    first = math.acos(0.495)
    assert [event.t for event in motion.events] == pytest.approx([first, 2 * math.pi - first], abs=1e-8)


FALL = ch.System("y", lagrangian="y'^2/2 - 9.81*y")
ROD = ch.System("x y", "l g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"])


@METHODS
def test_first_integrals_have_no_roots(method):
    """Events that are zero along the whole motion up to round-off, beside one with the known root t = sqrt(1/9.81)."""
    events = ["y'' + 9.81", "y' + 9.81*t", "y'^2/2 + 9.81*y - 9.81", "y - 1/2"]
    motion = ch.simulate(ch.derive(FALL), {"y": 1, "y'": 0}, (0, 1), events=events, method=method)
    assert motion.outcome == "finished"
    assert [event.t for event in motion.events] == pytest.approx([9.81**-0.5], abs=1e-10)


@METHODS
def test_rows_and_the_energy_have_no_roots(method):
    """The pendulum of amplitude a: x = 0 at odd quarters of the period 4 K(sin(a/2)^2)/sqrt(g), and nothing else."""
    events = ["x^2 + y^2 - l^2", "x*x' + y*y'", "(x'^2 + y'^2)/2 + g*y + 4*g/5", "x"]
    rod = ch.derive(ROD, ch.DAlembert())
    motion = ch.simulate(rod, {"x": 0.6, "y": -0.8, "x'": 0}, (0, 5), parameters={"l": 1, "g": 9.81}, events=events, method=method)
    quarter = ellipk(np.sin(np.arcsin(0.6) / 2) ** 2) / np.sqrt(9.81)
    assert motion.outcome == "finished"
    assert [event.t for event in motion.events] == pytest.approx(quarter * np.arange(1, 10, 2), abs=1e-8)
