"""sign, abs, min and max inside one another, beside one another, in rows, in Lagrangians, in inputs, and at rest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import chetaev as ch

METHODS = pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])


def driven(force: str, end: float = 3.0, inputs: bool = False, method=None, start=(0.0, 0.0), tolerance=1e-10):
    """An oscillator x'' + x = force."""
    given = {"forces": {"x": "u"}, "inputs": {"u": force}} if inputs else {"forces": {"x": force}}
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", **given))
    return ch.simulate(equations, {"x": start[0], "x'": start[1]}, (0, end), tolerance=tolerance, method=method)


@METHODS
@pytest.mark.parametrize("inputs", [False, True], ids=["force", "input"])
def test_a_step_written_by_max_of_sign(method, inputs):
    motion = driven("max(0, sign(t - 1))", inputs=inputs, method=method)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(1 - math.cos(2), abs=1e-7)
    assert motion.final["u" if inputs else "max(0, sign(t - 1))"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("force", "before", "after"),
    [
        ("sign(sign(t - 1) + 1/2)", -1, 1),
        ("min(1, 1 + sign(t - 1))", 0, 1),
        ("abs(sign(t - 1) + 1)/2", 0, 1),
        ("max(0, sign(t - 1))*max(0, sign(t - 1))", 0, 1),
        ("max(0, sign(t - 1)) + min(0, sign(1 - t))", 0, 0),
        ("sign(max(0, sign(t - 1)) - 1/2)", -1, 1),
        ("min(1, max(0, 3*sign(t - 1)))", 0, 1),
        ("abs(abs(sign(t - 1) + 1) - 1)", 1, 1),
        ("max(sign(t - 1), sign(t - 1)*2) - 1", -2, 1),
    ],
)
@pytest.mark.parametrize("inputs", [False, True], ids=["force", "input"])
def test_a_force_that_jumps_once(force, before, after, inputs):
    """Before t = 1 x = before (1 - cos t); after it x oscillates about `after`."""
    motion = driven(force, inputs=inputs)
    x, v = before * (1 - math.cos(1)), before * math.sin(1)
    right = after + (x - after) * math.cos(2) + v * math.sin(2)
    assert motion.final["x"] == pytest.approx(right, abs=1e-7)
    assert motion.outcome == "finished"


@pytest.mark.parametrize("inputs", [False, True], ids=["force", "input"])
def test_a_window(inputs):
    motion = driven("max(0, sign((t - 1)*(2 - t)))", inputs=inputs)
    x, v = 1 - math.cos(1), math.sin(1)
    assert motion.final["x"] == pytest.approx(x * math.cos(1) + v * math.sin(1), abs=1e-7)


def test_a_floor_by_max_of_sign():
    """Free fall onto x'' = -1 - 100 x max(0, sign(-x)): a spring below zero, closed form piece by piece."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x", forces={"x": "-100*x*max(0, sign(-x))"}))
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 2), tolerance=1e-10)
    t1, v = math.sqrt(2), math.sqrt(2)  # hits the floor with speed sqrt(2); below: x = -0.01 + 0.01 cos 10s - v/10 sin 10s
    leave = brentq(lambda s: -0.01 + 0.01 * math.cos(10 * s) - v / 10 * math.sin(10 * s), 0.2, 0.4)
    up = -0.1 * math.sin(10 * leave) - v * math.cos(10 * leave)
    s = 2 - t1 - leave
    assert motion.final["x"] == pytest.approx(up * s - s * s / 2, abs=1e-7)
    lowest = -0.01 - math.sqrt(0.01**2 + (v / 10) ** 2)
    times = t1 + np.linspace(0, leave, 400)
    assert motion.at(times)["x"].min() == pytest.approx(lowest, abs=1e-5)


@pytest.mark.parametrize("force", ["-max(0, x'*sign(x))", "-abs(x'*sign(x))"])
def test_corners_whose_argument_contains_another_corner(force):
    """Integrated piece by piece between the zeros of x and x' by SciPy."""
    motion = ch.simulate(
        ch.derive(ch.System("x", lagrangian="x'^2/2 - 2*x^2", forces={"x": force})), {"x": 0.3, "x'": 1.5}, (0, 4), tolerance=1e-10
    )

    def rates(_, y, sx, sv):
        product = sx * sv > 0
        damping = abs(y[1]) if product or force.startswith("-abs") else 0.0
        return [y[1], -4 * y[0] - damping]

    t, y, sx, sv = 0.0, [0.3, 1.5], 1, 1
    while True:
        zero_x = lambda _, y, *a: y[0]  # noqa: E731
        zero_v = lambda _, y, *a: y[1]  # noqa: E731
        zero_x.terminal = zero_v.terminal = True
        zero_x.direction, zero_v.direction = -sx, -sv
        piece = solve_ivp(rates, (t, 4), y, "DOP853", rtol=1e-12, atol=1e-13, events=[zero_x, zero_v], args=(sx, sv))
        t, y = piece.t[-1], piece.y[:, -1]
        if piece.status == 0:
            break
        sx, sv = (-sx, sv) if len(piece.t_events[0]) else (sx, -sv)
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(y, abs=1e-6)


def test_products_of_signs_switch_once_each():
    motion = driven("sign(t - 1)*sign(t - 2)")
    x, v = 1 - math.cos(1), math.sin(1)
    x, v = -1 + (x + 1) * math.cos(1) + v * math.sin(1), v * math.cos(1) - (x + 1) * math.sin(1)
    assert motion.final["x"] == pytest.approx(1 + (x - 1) * math.cos(1) + v * math.sin(1), abs=1e-7)


@pytest.mark.parametrize("depth", [2, 6, 20, 60])
def test_nested_max_of_the_same_arguments_is_one_max(depth):
    """max(x, max(x, ... max(x, y))) = max(x, y); the force on x, below: x < y all the way, so x'' = y = 3."""
    text = "y"
    for _ in range(depth):
        text = f"max(x, {text})"
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2", forces={"x": text}))
    motion = ch.simulate(equations, {"x": 0, "y": 3, "x'": 0, "y'": 0}, (0, 1), tolerance=1e-10)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(1.5, abs=1e-8)


def test_nested_max_switches_where_the_larger_changes():
    """x'' = max(x, max(x, y)) with y = 1: x = t^2/2 until x = 1 at sqrt(2), then x'' = x."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2", forces={"x": "max(x, max(x, max(x, y)))"}))
    motion = ch.simulate(equations, {"x": 0, "y": 1, "x'": 0, "y'": 0}, (0, 2), tolerance=1e-10)
    s = 2 - math.sqrt(2)
    assert motion.final["x"] == pytest.approx(math.cosh(s) + math.sqrt(2) * math.sinh(s), abs=1e-7)


@pytest.mark.parametrize("width", [0.1, 0.01])
def test_a_smooth_step_of_mass(width):
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2*(1 + tanh(x/{width})/2)"))
    motion = ch.simulate(equations, {"x": -1, "x'": 1}, (0, 3), tolerance=1e-10)
    assert motion.final["x'"] == pytest.approx(1 / math.sqrt(3), abs=1e-6)


def test_a_sign_in_the_mass_keeps_energy_or_is_refused():
    """The limit of smooth steps: energy 1/4 before, so x' = 1/sqrt(3) after."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2*(1 + sign(x)/2)"))
    motion = ch.simulate(equations, {"x": -1, "x'": 1}, (0, 3), tolerance=1e-10)
    if motion.outcome == "finished":
        assert motion.final["x'"] == pytest.approx(1 / math.sqrt(3), abs=1e-6)
    else:
        assert motion.final["x"] == pytest.approx(0, abs=1e-6)


def test_a_sign_in_the_potential_is_a_step_of_energy_or_is_refused():
    """L = x'^2/2 - 0.3 (1 + sign(x))/2: the limit of smooth steps slows x' from 1 to sqrt(1 - 0.6)."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - 0.15*sign(x)"))
    motion = ch.simulate(equations, {"x": -1, "x'": 1}, (0, 3), tolerance=1e-10)
    if motion.outcome == "finished":
        assert motion.final["x'"] == pytest.approx(math.sqrt(0.4), abs=1e-6)
    else:
        assert motion.final["x"] == pytest.approx(0, abs=1e-6)


def test_friction_with_a_corner_inside_sticks():
    """x'' = -mu sign(sign(x') + 0.2 sin t): the inner sign dominates, so it is dry friction, at rest after x'/mu."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-0.5*sign(sign(x') + 0.2*sin(t))"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 5), tolerance=1e-10)
    assert motion.outcome == "finished"
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx([1, 0], abs=1e-7)


def test_planar_friction_comes_to_rest():
    """Speed falls by mu from 1.25; rest after 2.5 at half the product, on a straight line."""
    friction = {q: f"-0.5*{q}'/sqrt(x'^2 + y'^2)" for q in "xy"}
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2", forces=friction))
    motion = ch.simulate(equations, {"x": 0, "y": 0, "x'": 0.75, "y'": 1}, (0, 4), max_steps=20000)
    assert motion.outcome == "finished"
    way = 1.25 * 2.5 / 2
    assert [motion.final["x"], motion.final["y"]] == pytest.approx([0.6 * way, 0.8 * way], abs=1e-6)
    assert [motion.final["x'"], motion.final["y'"]] == pytest.approx([0, 0], abs=1e-6)


def test_friction_as_a_tilted_row_sticks():
    """Normal force 1, mu = 0.5, x' = 0.5: x = 0.25 at t = 1, then at rest."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["y = 0"], variational=["δy - 0.5*sign(x')*δx = 0"])
    motion = ch.simulate(ch.derive(system, ch.VirtualWork()), {"x": 0, "x'": 0.5}, (0, 2), tolerance=1e-10)
    assert motion.final["x"] == pytest.approx(0.25, abs=1e-8)
    assert motion.outcome == "finished"


@pytest.mark.parametrize("size", [1, 1e-3, 1e-6, 1e-9, 1e-12, 1e6])
def test_dry_friction_of_every_size(size):
    """x0 = A, mu = 0.3 A, k = 1: turning points 1, -0.4, then sticks at -0.2... the swing from -0.4 ends at -0.2, where 0.2 < 0.3."""
    equations = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x')"}))
    motion = ch.simulate(equations, {"x": size, "x'": 0}, (0, 10), parameters={"mu": 0.3 * size})
    assert motion.final["x"] / size == pytest.approx(-0.2, abs=1e-6)
    assert motion.final["x'"] / size == pytest.approx(0, abs=1e-6)


def test_a_tiny_speed_under_friction_is_no_contradiction():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-sign(x')"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1e-12}, (0, 1))
    assert motion.outcome == "finished"
    assert abs(motion.final["x"]) < 1e-20


def test_a_corner_in_the_mass_gives_each_side_its_structure():
    """Beyond x = 5 x has a mass: x'' (x - 5) + x'^2/2 + x = 0."""
    equations = ch.derive(ch.System("x y", lagrangian="max(0, x - 5)*x'^2/2 + y'^2/2 - x^2/2"))
    now = ch.evaluate(equations, {"x": 7, "y": 0, "x'": 0.5, "y'": 0.1})
    assert now["x''"] == pytest.approx(-(7 + 0.125) / 2, rel=1e-12)
    analysis = ch.analyze(equations)
    assert not (str(analysis.verdict.value) == "REGULAR" and analysis.dimension == 2)


@pytest.mark.parametrize(
    ("lagrangian", "right"),
    [
        ("(x'^2 + y'^2)/2 - 0.15*sign(x)", [2 * math.sqrt(0.4), 1.5]),  # energy 1/2 of x falls by 0.3
        ("(x'^2 + y'^2)/2 - 0.6*sign(x)", [-2.0, 1.5]),  # too high a step: reflected
        ("(x'^2 + y'^2)/2*(1 + 0.5*sign(x))", [2 * math.sqrt(0.3125 / 0.75 - 1 / 36), 0.5 + 2 / 6]),  # y's momentum stays
    ],
)
def test_refraction_at_a_step(lagrangian, right):
    motion = ch.simulate(ch.derive(ch.System("x y", lagrangian=lagrangian)), {"x": -1, "y": 0, "x'": 1, "y'": 0.5}, (0, 3))
    if motion.outcome == "finished":
        assert [motion.final["x"], motion.final["y"]] == pytest.approx(right, abs=1e-6)
    else:
        assert motion.final["x"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("rate", "phase"), [(1, 0), (1, 1e5), (1, 1e9), (7, 0.3), (1000, 0)])
@pytest.mark.parametrize("x", [0.0, 5.0])
def test_corners_of_time_are_met_however_long_the_steps_are(rate, phase, x):
    """x' is the zigzag with the slopes 1 and -1 that turns where the sine vanishes; a step to the corner may be the whole run."""
    equations = ch.derive(ch.System("x", "a b", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": "sign(sin(a*t + b))"}))
    end = 0.5 + 8.5 / rate
    motion = ch.simulate(equations, {"x": x, "x'": 0}, (0.5, end), parameters={"a": rate, "b": phase}, tolerance=1e-11)
    turned = [math.remainder(rate * t + phase, 2 * math.pi) for t in (0.5, end)]
    assert motion.outcome == "finished"
    assert motion.final["x'"] * rate == pytest.approx(abs(turned[1]) - abs(turned[0]), abs=1e-10 + 1e-15 * phase)


@pytest.mark.parametrize(
    ("force", "end", "gained"),
    [
        ("1e7*(step(t - 1) - step(t - 1.0000001))", 100, "momentum"),
        ("1e8*(step(sin(t) - 0.5) - step(sin(t - 0.00000001) - 0.5))", 2, "momentum"),
        ("1e9*(step(x - 1) - step(x - 1.000000001))", 3, "energy"),
        ("1e8*(step(2*x - 2) - step(x - 1.00000001))", 3, "energy"),
    ],
)
@METHODS
def test_corners_that_follow_each_other_closely_are_two(force, end, gained, method):
    """The force between them is as large as they are close: it gives the momentum or the energy 1."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, end), method=method)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(2 if gained == "momentum" else math.sqrt(3), abs=1e-5)


def test_a_step_that_leads_far_beyond_a_corner_is_made_again_up_to_it():
    """Beyond the corner the smooth equations lead to -1e10, and errors would be relative to that. The pulse is 1e10*2*(sin(d) - c*d)."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "1e10*max(0, cos(t) - 0.99999999)"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (1, 9))
    half = math.acos(0.99999999)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(2e10 * (math.sin(half) - 0.99999999 * half), rel=3e-8)
    assert motion.final["x"] == pytest.approx(motion.final["x'"] * (9 - 2 * math.pi), rel=3e-8)


@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=["default", "implicit"])
def test_sides_of_time_that_end_at_a_root(method):
    """Neither side has values on the other: x' = 2/3 + 2/3."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "piecewise(t - 1, sqrt(1 - t), sqrt(t - 1))"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 2), method=method)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(4 / 3, abs=1e-6)


@pytest.mark.parametrize("gap", ["1e-9", "1e-11", "1e-12", "1e-14"])
@pytest.mark.parametrize("tolerance", [1e-9, 1e-13])
def test_two_corners_close_to_each_other_are_certified(gap, tolerance):
    """x'' = (t - 1/3)+ + (t - 1/3 - gap)+ from rest: between the corners only the last digits of the time are left."""
    force = f"max(0, t - 1/3) + max(0, t - 1/3 - {gap})"
    motion = ch.simulate(
        ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force})), {"x": 0, "x'": 0}, (0, 1), tolerance=tolerance
    )
    assert (motion.outcome, len(motion.switches)) == ("finished", 2)
    assert motion.final["x"] == pytest.approx((2 / 3) ** 3 / 6 + (2 / 3 - float(gap)) ** 3 / 6, rel=1e-12)


@pytest.mark.parametrize("tolerance", [1e-9, 1e-13, 1e-14])
def test_a_ramp_that_begins_during_rest(tolerance):
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "max(0, t - 1/3)"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 1), tolerance=tolerance)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx((2 / 3) ** 3 / 6, rel=1e-13)


@pytest.mark.parametrize(
    ("lagrangian", "start", "right"),
    [
        ("(3 + sign(x) + sign(sin(x)))*x'^2/2", {"x": -1, "x'": 1}, {"x": 5**-0.5, "x'": 5**-0.5}),
        ("(3 + sign(x)*sign(sin(x)))*x'^2/2", {"x": -1, "x'": 1}, {"x": 1, "x'": 1}),
        (
            "(2 + sign(x))*x'^2/2 + (2 + sign(y))*y'^2/2 - sign(y)/8",
            {"x": -1, "x'": 1, "y": -1, "y'": 1},
            {"x": 3**-0.5, "x'": 3**-0.5, "y'": 6**-0.5},
        ),
    ],
)
def test_the_lagrangian_jumps_at_two_surfaces_at_once(lagrangian, start, right):
    """Energy is conserved across masses from 1 to 5, from 4 over 2 to 4, and from 1 to 3 for each of two bodies, one climbing 1/4."""
    motion = ch.simulate(ch.derive(ch.System(" ".join(z for z in start if "'" not in z), lagrangian=lagrangian)), start, (0, 2))
    assert motion.outcome == "finished" and {z: motion.final[z] for z in right} == pytest.approx(right, rel=1e-9)


def test_two_surfaces_at_once_are_refused_where_their_order_counts():
    """From the quadrant x, y < 0 through the corner: beside it the motion meets a mass of 2 behind x = 0, or behind y = 0."""
    equations = ch.derive(ch.System("x y", lagrangian="(3 + sign(x)*sign(y))*(x'^2 + y'^2)/2"))
    motion = ch.simulate(equations, {"x": -1, "y": -1, "x'": 1, "y'": 1}, (0, 2))
    assert motion.outcome == "left_domain" and "the order of both decides" in motion.message
