"""What begins at rest and small beside others is as exact as the rest; a motion ends where two sheets of its constraints touch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chetaev as ch

METHODS = [None, ch.Taylor(), ch.Implicit()]
NAMES = ["default", "taylor", "implicit"]


@pytest.mark.parametrize("tolerance", [1e-9, 1e-6])
@pytest.mark.parametrize("force", [1, 1e-7], ids=["large", "small"])
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_mass_with_a_narrow_minimum_beside_a_heavy_body(method, force, tolerance):
    """The heavy body moves by x = t, so the momentum of y is force*t, and y' = force*t/(1 + k^2 (t - c)^2) has an elementary integral."""
    k, c, end = 1e4, 2.9, 3.0
    text = "1e20*x'^2/2 + (1 + 1e8*(x - 2.9)^2)*y'^2/2"
    system = ch.System("x y", "F", lagrangian=text, forces={"y": "F"})
    start = {"x": 0, "x'": 1, "y": 0, "y'": 0}
    motion = ch.simulate(ch.derive(system), start, (0, end), parameters={"F": force}, tolerance=tolerance, **_with(method))

    def integral(t: float) -> float:
        return force * (math.log(1 + (k * (t - c)) ** 2) / (2 * k**2) + c * math.atan(k * (t - c)) / k)

    assert motion.outcome == "finished"
    assert motion.final["y"] == pytest.approx(integral(end) - integral(0), rel=300 * tolerance)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_body_at_rest_that_a_passing_one_wakes(method):
    """While x = t passes 5, y gets the impulse 1e-12*sqrt(pi)/10, a hundredth of a tolerance beside the velocity of x."""
    force = "1e-12*exp(-(10*(x - 5))^2)"
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", forces={"y": force})
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 1, "y": 0, "y'": 0}, (0, 8), tolerance=1e-9, **_with(method))
    assert motion.outcome == "finished"
    assert motion.final["y'"] == pytest.approx(1e-13 * math.sqrt(math.pi), rel=1e-6)
    assert motion.final["y"] == pytest.approx(3e-13 * math.sqrt(math.pi), rel=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_pulse_that_hits_a_body_at_rest(method):
    """The force is below the smallest number at the start: x'' = x + F has the solution of Duhamel's integral, by Gauss-Legendre here."""
    system = ch.System("x", lagrangian="x'^2/2 + x^2/2", forces={"x": "1e-10*exp(-(100*(t - 1))^2)"})
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 0}, (0, 3), tolerance=1e-6, **_with(method))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    s = 1 + 0.1 * nodes
    expected = 0.1 * float(weights @ (1e-10 * np.exp(-((100 * (s - 1)) ** 2)) * np.sinh(3 - s)))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("tolerance", [1e-9, 1e-6])
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_motion_ends_where_two_parabolas_touch(method, tolerance):
    """y^2 = x^4 is y = x^2 and y = -x^2: at the origin the rows do not tell on which of them the motion goes on."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y^2 = x^4"])
    equations = ch.derive(system, ch.DAlembert())
    motion = ch.simulate(equations, {"x": 0.5, "y": 0.25, "x'": -1}, (0, 3), tolerance=tolerance, **_with(method))
    assert motion.outcome == "left_domain"
    assert abs(motion.final["x"]) < 1e-6
    assert motion.final["x'"] == pytest.approx(-math.sqrt(2), abs=1e-4)  # the speed is conserved, and y' = 2 x x' was -1 at the start


def _with(method):
    return {} if method is None else {"method": method}
