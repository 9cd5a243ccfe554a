"""Switching functions that change their sign without a root, at a pole or at a jump, against pieces of constant acceleration by hand."""

import math

import numpy as np
import pytest

import chetaev as ch

START = {"x": 0.2, "x'": 2.0}


def by_hand(signs, breaks, x, v, end, force=0.3):
    """Position and velocity at `end` under x'' = force*signs(x), which is constant between the breaks; the motion always goes forwards."""
    t = 0.0
    for b in [b for b in breaks if b > x] + [math.inf]:
        a = force * signs(x + 1e-9)
        dt = end - t if math.isinf(b) else (-v + math.sqrt(v * v + 2 * a * (b - x))) / a if a else (b - x) / v
        if t + dt >= end:
            dt = end - t
            return x + v * dt + a * dt * dt / 2, v + a * dt
        x, v, t = b, v + a * dt, t + dt
    raise AssertionError


CASES = {
    "sign(tan(x))": (lambda x: np.sign(math.tan(x)), [k * math.pi / 2 for k in range(1, 9)]),
    "step(tan(x))": (lambda x: float(math.tan(x) > 0), [k * math.pi / 2 for k in range(1, 9)]),
    "sign(1/(x - 3))": (lambda x: np.sign(x - 3), [3]),
    "sign(1/(x - 3) + 2)": (lambda x: np.sign(1 / (x - 3) + 2), [2.5, 3]),
    "sign(tanh(1/(x - 3)^3))": (lambda x: np.sign(x - 3), [3]),
    "sign(atan(1/(x - 3)) + 1/2)": (lambda x: np.sign(math.atan(1 / (x - 3)) + 0.5), [3 - 1 / math.tan(0.5), 3]),
    "sign(atan(1/(x - 3)) - 1/2)": (lambda x: np.sign(math.atan(1 / (x - 3)) - 0.5), [3, 3 + 1 / math.tan(0.5)]),
    "sign(atan2(sin(x), cos(x)) + 3/10)": (
        lambda x: np.sign(math.atan2(math.sin(x), math.cos(x)) + 0.3),
        [math.pi, 2 * math.pi - 0.3, 3 * math.pi],
    ),
    "piecewise(tan(x), -1, 1)": (lambda x: np.sign(math.tan(x)), [k * math.pi / 2 for k in range(1, 9)]),
}


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=["explicit", "implicit"])
def test_a_sign_changes_at_a_pole_or_jump_of_its_argument(text, method):
    signs, breaks = CASES[text]
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"0.3*({text})"}))
    motion = ch.simulate(equations, START, (0, 4), method=method)
    x, v = by_hand(signs, breaks, 0.2, 2.0, 4.0)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(x, abs=1e-8)
    assert motion.final["x'"] == pytest.approx(v, abs=1e-8)
    assert len(motion.switches) == sum(0.2 < b < x for b in breaks)


def test_a_pole_passed_twice_is_not_forgotten():
    """An oscillator beyond the pole and back: the side at the end is that of the start, so only the switches tell."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "0.3*sign(1/(x - 3))"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 4}, (0, 3))
    # about x = -0.3 before 3 and about 0.3 beyond it, with the speed at 3 the same on both ways
    t1 = math.asin(3.3 / math.hypot(0.3, 4)) - math.atan2(0.3, 4)
    v1 = math.sqrt(0.3**2 + 16 - 3.3**2)
    t2 = t1 + 2 * math.atan2(v1, 2.7)
    assert motion.outcome == "finished"
    assert [s.t for s in motion.switches] == pytest.approx([t1, t2], abs=1e-8)
    assert motion.final["x"] == pytest.approx(-0.3 + 3.3 * math.cos(3 - t2) - v1 * math.sin(3 - t2), abs=1e-8)


def test_members_of_an_ensemble_switch_at_poles():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "0.3*sign(tan(x))"}))
    signs, breaks = CASES["sign(tan(x))"]
    ends = ch.simulate_many(equations, {"x": 0.2, "x'": [2.0, 1.0, 2.5]}, (0, 4)).final["x"]
    assert list(ends) == pytest.approx([by_hand(signs, breaks, 0.2, v, 4.0)[0] for v in (2.0, 1.0, 2.5)], abs=1e-8)


def test_friction_written_with_a_quotient_sticks():
    """sign(1/x') is sign(x'): the block comes to rest after v^2/2 = mu*s and stays."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-sign(1/x')"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(0.5, abs=1e-9)
    assert motion.final["x'"] == pytest.approx(0, abs=1e-9)
