"""Roots of events are proved, poles are none, a start on a surface counts if the motion goes through it, and singular loci are noticed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chetaev as ch

METHODS = [None, ch.Implicit(), ch.Taylor()]
NAMES = ["explicit", "implicit", "taylor"]
FREE = ch.derive(ch.System("q", lagrangian="q'^2/2"))


def flight(event, end=72, method=None, **options):
    """Uniform motion q = t through an event."""
    return ch.simulate(FREE, {"q": 0, "q'": 1}, (0, end), events=[event], method=method, progress=False, **options)


def times(found):
    return [event.t for event in found.events]


# ------------------------------------------------------------ narrow roots


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("width", [1, 1e-3, 1e-6])
def test_a_narrow_dip_has_two_roots(width: float, method: ch.Method | None) -> None:
    found = flight(f"1 - 2*exp(-((q - 40.01)/{width})^2)", method=method)
    half = width * math.sqrt(math.log(2))
    assert times(found) == pytest.approx([40.01 - half, 40.01 + half], abs=1e-8)


def test_a_narrow_dip_ends_a_motion() -> None:
    found = flight(ch.On("1 - 2*exp(-(1000*(q - 40))^2)", terminal=True))
    assert found.outcome == "event"
    assert found.final["q"] == pytest.approx(40 - math.sqrt(math.log(2)) / 1000, abs=1e-9)


def test_dips_in_random_places() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        place, width = random.uniform(1, 71), 10 ** random.uniform(-6, 0)
        assert len(times(flight(f"({place} - q)^2 - {width**2}"))) == 2
        assert len(times(flight(f"sqrt((q - {place})^2 + {width**2 / 4}) - {width}"))) == 2
        assert len(times(flight(f"tanh((q - {place})/{width})^2 - 1/2"))) == 2


def test_a_fast_oscillation() -> None:
    assert len(times(flight("sin(300*q)", 10.001))) == int(10.001 * 300 / math.pi)


def test_roots_on_both_sides_of_a_corner() -> None:
    found = flight("min(abs(q - 40), abs(q - 50)) - 1e-5")
    assert times(found) == pytest.approx([40 - 1e-5, 40 + 1e-5, 50 - 1e-5, 50 + 1e-5], abs=1e-8)


def test_a_touch_is_no_root() -> None:
    assert not times(flight("(q - 40)^2"))
    assert not times(flight("(q - 40)^2 + 1e-18"))


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_poles_are_no_roots(method: ch.Method | None) -> None:
    assert times(flight("tan(q)", method=method)) == pytest.approx([k * math.pi for k in range(1, 23)], abs=1e-8)
    assert not times(flight("1/(q - 40)", method=method))
    assert times(flight("1/(q - 40)^3 + 50", method=method)) == pytest.approx([40 - 50 ** (-1 / 3)], abs=1e-8)


def test_a_switch_that_is_on_for_a_moment() -> None:
    """A force 1 while exp(-(100 (q - 50))^2) > 1/2: the energy grows by the width of that stretch."""
    system = ch.System("q", lagrangian="q'^2/2", forces={"q": "(1 + sign(exp(-(100*(q - 50))^2) - 1/2))/2"})
    found = ch.simulate(ch.derive(system), {"q": 0, "q'": 1}, (0, 100), progress=False)
    assert len(found.switches) == 2
    assert found.final["q'"] == pytest.approx(math.sqrt(1 + 4 * math.sqrt(math.log(2)) / 100), rel=1e-8)


# ------------------------------------------------------------ a start on a surface

BALL = ch.derive(ch.System("y", "e", lagrangian="y'^2/2 - y"))
FLOOR = ch.On("y", direction=-1, reset={"y'": "-e*y'"})


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_ball_that_starts_on_the_floor_and_moves_down_bounces(method: ch.Method | None) -> None:
    """Up with 1/2 at once, back after 1: the second bounce leaves 1/4, the third comes 1/2 later."""
    found = ch.simulate(BALL, {"y": 0, "y'": -1}, (0, 1.6), parameters={"e": 0.5}, events=[FLOOR], method=method, progress=False)
    assert times(found) == pytest.approx([0, 1, 1.5], abs=1e-7)
    assert found.final["y"] == pytest.approx(0.125 * 0.1 - 0.1**2 / 2, abs=1e-7)


def test_a_ball_that_leaves_the_floor_does_not_bounce_at_once() -> None:
    found = ch.simulate(BALL, {"y": 0, "y'": 1}, (0, 3), parameters={"e": 0.5}, events=[FLOOR], progress=False)
    assert times(found)[0] == pytest.approx(2, abs=1e-9)


def test_a_ball_at_rest_on_the_floor_does_not_fall_through() -> None:
    found = ch.simulate(BALL, {"y": 0, "y'": 0}, (0, 3), parameters={"e": 0.5}, events=[FLOOR], progress=False)
    assert found.outcome == "step_too_small" and found.final["y"] == 0


def test_other_events_at_the_start() -> None:
    down = ch.simulate(
        BALL, {"y": 0, "y'": -1}, (0, 1), parameters={"e": 1}, events=[ch.On("y", terminal=True, direction=-1)], progress=False
    )
    assert down.outcome == "event" and down.final["y"] == 0
    seen = ch.simulate(BALL, {"y": 0, "y'": -1}, (0, 1), parameters={"e": 1}, events=[ch.On("y", direction=-1)], progress=False)
    assert times(seen) == [0]
    both = ch.simulate(BALL, {"y": 0, "y'": -1}, (0, 1), parameters={"e": 1}, events=["y", ch.On("y", direction=1)], progress=False)
    assert times(both) == []
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    period = ch.simulate(spring, {"x": 1, "x'": 0}, (0, 9), events=[ch.On("x'", terminal=True, direction=-1)], progress=False)
    assert period.final.t == pytest.approx(2 * math.pi, abs=1e-7)


# ------------------------------------------------------------ singular loci


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_crossing_of_manifolds_is_noticed(method: ch.Method | None) -> None:
    cross = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x*y = 0"]), ch.DAlembert())
    found = ch.simulate(cross, {"x": -1, "y": 0, "x'": 1, "y'": 0}, (0, 3), method=method, progress=False)
    assert found.outcome == "left_domain"
    assert found.final.t == pytest.approx(1, abs=1e-6)


def test_members_of_an_ensemble_notice_it_too() -> None:
    cross = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x*y = 0"]), ch.DAlembert())
    ensemble = ch.simulate_many(cross, {"x": [-1.0, -2.0, 1.0], "y": 0, "x'": 1, "y'": 0}, (0, 3), progress=False)
    assert list(ensemble.outcome) == ["left_domain", "left_domain", "finished"]


@pytest.mark.parametrize("method", [None, ch.Implicit()])
def test_a_flat_parallelogram_is_noticed(method: object) -> None:
    """Bars of length 1 on a base of 2: flat when the first bar has turned by a quarter, at t = pi/2 with the speed 1."""
    rows = ["x1^2 + y1^2 = 1", "(x2 - x1)^2 + (y2 - y1)^2 = 4", "(x2 - 2)^2 + y2^2 = 1"]
    bars = ch.derive(ch.System("x1 y1 x2 y2", lagrangian="(x1'^2 + y1'^2 + x2'^2 + y2'^2)/2", kinematic=rows), ch.DAlembert())
    start = {"x1": 0, "y1": 1, "x2": 2, "y2": 1, "x1'": 1}
    found = ch.simulate(bars, start, (0, 10), progress=False, method=method)
    assert found.outcome == "left_domain" and found.message.endswith("= 0.")
    assert found.final.t == pytest.approx(math.pi / 2, abs=1e-3)
    if method is None:
        ensemble = ch.simulate_many(bars, {**start, "x1'": [1.0, -2.0]}, (0, 10), progress=False)
        assert list(ensemble.outcome) == ["left_domain"] * 2 and all(text.endswith("= 0.") for text in map(ensemble.message, range(2)))


@pytest.mark.parametrize("eccentricity", [0.9, 0.9995, 0.9999])
def test_polar_coordinates_are_regular_near_the_centre(eccentricity: float) -> None:
    """One period of Kepler's motion from apoapsis."""
    kepler = ch.derive(ch.System("r phi", lagrangian="(r'^2 + r^2*phi'^2)/2 + 1/r"))
    far = 1 + eccentricity
    start = {"r": far, "r'": 0, "phi": 0, "phi'": math.sqrt(1 - eccentricity**2) / far**2}
    found = ch.simulate(kepler, start, (0, 2 * math.pi), progress=False, tolerance=1e-11)
    assert found.outcome == "finished"
    assert found.final["r"] == pytest.approx(far, abs=1e-4)
    assert found.final["phi"] == pytest.approx(2 * math.pi, abs=1e-4)


def test_a_free_particle_that_passes_the_origin_of_polar_coordinates() -> None:
    """From r = 100 along a straight line with the distance 0.03 from the origin."""
    polar = ch.derive(ch.System("r phi", lagrangian="(r'^2 + r^2*phi'^2)/2"))
    found = ch.simulate(polar, {"r": 100, "r'": -1, "phi": 0, "phi'": 0.03 / 100**2}, (0, 200), progress=False, tolerance=1e-11)
    speed = math.hypot(1, 0.03 / 100)
    x, y = 100 - 200, 200 * 0.03 / 100
    assert found.outcome == "finished" and speed > 1
    assert found.final["r"] == pytest.approx(math.hypot(x, y), abs=1e-6)
    assert found.final["phi"] == pytest.approx(math.atan2(y, x), abs=1e-6)


def test_through_the_origin_polar_coordinates_are_singular() -> None:
    polar = ch.derive(ch.System("r phi", lagrangian="(r'^2 + r^2*phi'^2)/2"))
    found = ch.simulate(polar, {"r": 1, "r'": -1, "phi": 0, "phi'": 0}, (0, 3), progress=False)
    assert found.outcome == "left_domain" and "r = 0" in found.message


def test_a_sphere_passed_close_to_its_pole() -> None:
    """Along a great circle that passes the south pole at a distance of 1e-6*sin(1), where th has ten digits of sin(th).

    With a tolerance that asks for more, the certificate tells the error.
    """
    sphere = ch.derive(ch.System("th ph", lagrangian="(th'^2 + sin(th)^2*ph'^2)/2"))
    start = {"th": 1, "th'": 1, "ph": 0, "ph'": 1e-6}
    found = ch.simulate(sphere, start, (0, 4), progress=False)
    speed = math.hypot(1, 1e-6 * math.sin(1))
    point = np.array([math.sin(1), 0, math.cos(1)]) * math.cos(4 * speed)
    point += np.array([math.cos(1), 1e-6 * math.sin(1), -math.sin(1)]) * math.sin(4 * speed) / speed
    right = math.acos(point[2]), math.atan2(point[1], point[0]) % (2 * math.pi)
    assert found.outcome == "finished"
    assert (found.final["th"], found.final["ph"]) == pytest.approx(right, abs=3e-9)
    more = ch.simulate(sphere, start, (0, 4), progress=False, tolerance=1e-11)
    assert more.outcome == "not_certified" and more.certificate.failed == ("rounding",)
    assert 0.1 * more.certificate.worst < abs(more.final["th"] - right[0]) < more.certificate.worst


def test_after_a_pole_of_a_row_the_next_piece_is_not_singular() -> None:
    """The determinant of a row tan(x) is huge beside its pole; the motion that turns back from there is regular."""
    turned = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y' = x'*tan(x)"]), ch.Chetaev())
    start = {"x": math.pi / 2 - 1e-6, "y": 0, "x'": -1e-6}
    found = ch.simulate(turned, start, (0, 20), progress=False, tolerance=1e-11)
    # x'/cos(x) is constant by energy; the integral of dx/cos(x) is log(tan(pi/4 + x/2))
    speed = -1e-6 / math.cos(start["x"])
    s0 = math.log(math.tan(math.pi / 4 + start["x"] / 2))
    x = 2 * (math.atan(math.exp(s0 + speed * 20)) - math.pi / 4)
    assert found.outcome == "finished"
    assert found.final["x"] == pytest.approx(x, abs=1e-6)
