"""Switching surfaces that a motion grazes: the time beyond them is right, or the motion does not say finished."""

from math import asin, pi

import pytest

import chetaev as ch

PULSE = ch.derive(ch.System("x y", "c", lagrangian="(x'^2 + y'^2)/2 - x^2/2", forces={"y": "1000000*step(x - c)"}))


def kicked(c: float) -> tuple[ch.Trajectory, float]:
    """x = 5 sin t is above c for pi - 2 asin(c/5), and y' is a million times that."""
    motion = ch.simulate(PULSE, {"x": 0, "x'": 5, "y": 0, "y'": 0}, (0, 3), parameters={"c": c})
    return motion, 1e6 * (pi - 2 * asin(min(c / 5, 1)))


@pytest.mark.parametrize("height", [1e-2, 1e-4, 1e-6])
def test_a_narrow_window_is_right(height: float) -> None:
    """At a height of 1e-6 the first run was wrong by 1e-4; the second one, with a smaller tolerance, is kept."""
    motion, right = kicked(5 - height)
    assert motion.outcome == "finished"
    assert motion.final["y'"] == pytest.approx(right, rel=1e-5)  # ten thousand tolerances, the limit of the figure


@pytest.mark.parametrize("height", [1e-8, 1e-10, 1e-12])
def test_a_window_below_the_tolerance_is_not_certified(height: float) -> None:
    """The height is less than what x is known to: y' is wrong by up to all of itself."""
    motion, _ = kicked(5 - height)
    assert motion.outcome == "not_certified" and motion.certificate.failed == ("grazing",)
    assert "grazes" in motion.message


def test_a_surface_that_is_nearly_reached_is_not_certified() -> None:
    motion, _ = kicked(5 + 1e-12)
    assert motion.outcome == "not_certified" and motion.final["y'"] == 0


def test_a_corner_without_a_jump_may_be_grazed() -> None:
    """max(0, x - c) has no jump: a window that is missed changes nothing that the tolerance knows."""
    system = ch.System("x y", "c", lagrangian="(x'^2 + y'^2)/2 - x^2/2", forces={"y": "max(0, x - c)"})
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 5, "y": 0, "y'": 0}, (0, 3), parameters={"c": 5 - 1e-10})
    assert motion.outcome == "finished" and abs(motion.final["y'"]) < 1e-9
