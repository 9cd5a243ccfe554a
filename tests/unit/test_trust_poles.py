"""Forces that are bounded and jump at a pole of their argument: motions cross the jump, or say that they end there."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch


def by_hand(force, turning, start, end):
    """The motion of a unit mass, with the side of the jump as a number that changes where `turning` vanishes."""
    t, y = 0.0, np.array(start, dtype=float)
    while True:
        side = np.sign(turning(y[0] + 1e-9 * y[1]))

        def reached(_, y):
            return turning(y[0])

        reached.terminal = True
        found = solve_ivp(lambda _, y, s=side: [y[1], force(y[0], s)], (t, end), y, method="DOP853", rtol=1e-12, atol=1e-13, events=reached)
        t, y = found.t[-1], found.y[:, -1]
        if t >= end:
            return y
        y = y + 1e-12 * np.array([y[1], 0.0])


CASES = {
    "atan(1/(x - 3))": (lambda x, s: np.arctan2(s, s * (x - 3)), lambda x: x - 3, (2.5, 2.0), 2.0),
    "-atan(1/(x - 3))": (lambda x, s: -np.arctan2(s, s * (x - 3)), lambda x: x - 3, (2.5, 0.2), 2.0),
    "atan(1/sin(x))": (lambda x, s: np.arctan2(s, s * np.sin(x)), np.sin, (2.5, 2.0), 4.0),
    "atan(tan(x))": (lambda x, s: np.arctan2(s * np.sin(x), s * np.cos(x)), np.cos, (0.5, 2.0), 4.0),
    "2*atan(3/(x - 3)^3) - x": (lambda x, s: 2 * np.arctan2(3 * s, s * (x - 3) ** 3) - x, lambda x: x - 3, (2.5, 2.0), 2.0),
}


@pytest.mark.parametrize("force", CASES)
def test_the_jump_of_an_arctangent_at_a_pole_is_crossed(force):
    function, turning, start, end = CASES[force]
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    motion = ch.simulate(equations, dict(zip(("x", "x'"), start, strict=True)), (0, end), tolerance=1e-11)
    assert motion.outcome == "finished"
    expected = by_hand(function, turning, start, end)
    assert [motion["x"][-1], motion["x'"][-1]] == pytest.approx(expected, abs=1e-8)


def test_an_ensemble_and_the_accelerations_agree_with_it():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "atan(1/(x - 3))"}))
    many = ch.simulate_many(equations, {"x": [2.5, 2.0], "x'": 2.0}, (0, 2), tolerance=1e-11)
    function, turning, *_ = CASES["atan(1/(x - 3))"]
    ends = [by_hand(function, turning, (x, 2.0), 2.0)[0] for x in (2.5, 2.0)]
    assert [motion["x"][-1] for motion in many] == pytest.approx(ends, abs=1e-8)
    for x in (2.0, 2.999, 3.001, 4.0):
        assert ch.evaluate(equations, {"x": x, "x'": 1})["x''"] == pytest.approx(np.arctan(1 / (x - 3)))


def test_a_force_pressed_onto_the_jump_from_both_sides_comes_to_rest_there():
    """x'' = -atan(1/(x - 3)) - x' swings about x = 3 with smaller and smaller amplitude: the energy x'^2/2 + V never grows."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-atan(1/(x - 3)) - 2*x'"}))
    motion = ch.simulate(equations, {"x": 2.9, "x'": 0.5}, (0, 1.0), tolerance=1e-10)
    expected = by_hand(lambda x, s: -np.arctan2(s, s * (x - 3)), lambda x: x - 3, (2.9, 0.5), 1e-3)  # the beginning, without friction
    assert motion.outcome == "finished" and abs(motion["x"][-1] - 3) < 0.1
    assert motion.at(1e-3)["x"] == pytest.approx(expected[0], abs=1e-6)


@pytest.mark.parametrize("force", ["tanh(1/(x - 3))", "1/(1 + exp(1/(x - 3)))"])
def test_jumps_that_no_corner_describes_are_not_crossed_in_silence(force):
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    motion = ch.simulate(equations, {"x": 2.5, "x'": 2.0}, (0, 2))
    assert motion.outcome != "finished" and motion["x"][-1] == pytest.approx(3, abs=1e-6)


def test_even_poles_do_not_jump():
    """atan(1/(x - 3)^2) is continuous, pi/2 at x = 3: the energy with its potential, by quadrature, is conserved."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "atan(1/(x - 3)^2)"}))
    motion = ch.simulate(equations, {"x": 2.5, "x'": 2.0}, (0, 2), tolerance=1e-11)
    found = solve_ivp(lambda _, y: [y[1], np.arctan2(1, (y[0] - 3) ** 2)], (0, 2), [2.5, 2.0], method="DOP853", rtol=1e-12, atol=1e-13)
    assert motion.outcome == "finished" and motion["x"][-1] == pytest.approx(found.y[0, -1], abs=1e-8)
