"""Impacts that follow each other faster and faster, and events that happen at the same time."""

from math import sqrt

import numpy as np
import pytest

import chetaev as ch
from chetaev import On

G = 9.81
BALL = ch.System("x y", parameters="e", lagrangian=f"x'^2/2 + y'^2/2 - {G}*y", name="ball")


def bounce(e: float, tolerance: float, method: ch.Method | None = None, direction: int = -1) -> ch.Trajectory:
    impact = On("y", direction=direction, reset={"y'": "-e*y'"})
    start = {"x": 0, "y": 1, "x'": 0.5, "y'": 0}
    return ch.simulate(ch.derive(BALL), start, (0, 20), parameters={"e": e}, tolerance=tolerance, events=[impact], method=method)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("e", [0, 1e-8, 1e-5, 0.02, 0.3, 0.7, 0.9])
def test_a_ball_never_falls_through_the_floor(e: float, tolerance: float) -> None:
    motion = bounce(e, tolerance)
    fall = sqrt(2 / G)
    rest = fall * (1 + 2 * e / (1 - e))  # a geometric series of flights, each e times as long as the one before
    assert motion.outcome == "step_too_small"
    assert "follow each other without end" in motion.message
    assert motion.end[0] == pytest.approx(rest, abs=1e-6)
    assert motion.extrema["y"][0] > -1e-10
    expected = fall * (1 + 2 * np.cumsum(e ** np.arange(1, len(motion.events))))
    assert [event.t for event in motion.events[1:]] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("floor", ["2 - y", "3*(2 - y)", "(2 - y)*(5 + x^2)", "700 - y - 698"])
@pytest.mark.parametrize("e", [0.02, 0.3, 0.8])
def test_a_floor_at_a_height_carries_the_ball_too(floor: str, e: float) -> None:
    """Bounces lower than the round-off of the height end the motion; the ball fell through the floor there."""
    impact, start = On(floor, direction=1, reset={"y'": "-e*y'"}), {"x": 0, "y": 3, "x'": 0.5, "y'": 0}
    motion = ch.simulate(ch.derive(BALL), start, (0, 8), parameters={"e": e}, events=[impact])
    assert "follow each other without end" in motion.message
    assert motion.end[0] == pytest.approx(sqrt(2 / G) * (1 + e) / (1 - e), abs=1e-6)
    assert motion.extrema["y"][0] > 2 - 1e-10


@pytest.mark.parametrize("method", [ch.Implicit(), ch.Taylor()])
def test_other_methods_bounce_alike(method: ch.Method) -> None:
    assert bounce(0.3, 1e-9, method).end[0] == pytest.approx(sqrt(2 / G) * (1 + 0.6 / 0.7), abs=1e-6)


def test_an_event_in_both_directions_is_not_met_again_where_it_was() -> None:
    motion = bounce(1e-5, 1e-9, direction=0)
    assert motion.end[0] == pytest.approx(sqrt(2 / G) * (1 + 2e-5), abs=1e-6)
    assert motion.extrema["y"][0] > -1e-10


def test_a_kick_on_the_way_through_does_not_stop_the_motion() -> None:
    kick = On("y", direction=-1, reset={"x'": "x' + 1"})
    start = {"x": 0, "y": 1, "x'": 0.5, "y'": 0}
    motion = ch.simulate(ch.derive(BALL), start, (0, 1), parameters={"e": 1}, events=[kick])
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(0.5 + (1 - sqrt(2 / G)), abs=1e-9)
    assert motion.final["y"] == pytest.approx(1 - G / 2, abs=1e-9)


def test_a_corner_is_hit_on_both_walls_at_once() -> None:
    free = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2"))
    walls = [On("x - 1", reset={"x'": "-x'/2"}), On("(y - 2)*(x + 3)", reset={"y'": "-y'/4"}), "3*x - 3"]
    motion = ch.simulate(free, {"x": 0, "y": 0, "x'": 1, "y'": 2}, (0, 2), events=walls)
    assert [motion.final[name] for name in ("x", "x'", "y", "y'")] == pytest.approx([0.5, -0.5, 1.5, -0.5], abs=1e-12)
    assert sorted(event.text for event in motion.events) == sorted(["x - 1", "(x + 3)*(y - 2)", "3*x - 3"])


def test_a_terminal_event_ends_the_motion_beside_a_reset() -> None:
    events = [On("y*(x + 3)", reset={"y'": "-y'"}), On("y", terminal=True)]
    motion = ch.simulate(ch.derive(BALL), {"x": 0, "y": 1, "x'": 0.5, "y'": 0}, (0, 1), parameters={"e": 1}, events=events)
    assert motion.outcome == "event"
    assert motion.end[0] == pytest.approx(sqrt(2 / G), abs=1e-10)
    assert motion.final["y'"] == pytest.approx(-sqrt(2 * G), abs=1e-9)


def test_chosen_times_beside_impacts_that_follow_each_other_soon() -> None:
    times = np.array([0, 0.4, 0.45155, 0.5, 1])
    impact = On("y", direction=-1, reset={"y'": "-y'*0.01"})
    motion = ch.simulate(ch.derive(BALL), {"x": 0, "y": 1, "x'": 0, "y'": 0}, times, parameters={"e": 1}, tolerance=1e-11, events=[impact])
    fall = sqrt(2 / G)
    flight = 0.45155 - fall
    assert motion.outcome == "step_too_small"
    assert motion.t == pytest.approx(times[:3], abs=0)
    assert motion["y"] == pytest.approx([1, 1 - G / 2 * 0.16, 0.01 * G * fall * flight - G / 2 * flight**2], abs=1e-11)
