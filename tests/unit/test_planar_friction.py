"""Friction along v/|v| comes to rest, stays, and sets off again: closed forms, and SciPy on the equations in speed and angle."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp, trapezoid

import chetaev as ch

PLANE = {"x": "-mu*x'/sqrt(x'^2 + y'^2)", "y": "-mu*y'/sqrt(x'^2 + y'^2)"}


def plane(lagrangian="(x'^2 + y'^2)/2", push=("0", "0"), friction=PLANE, **parts):
    forces = {q: f"{friction[q]} + {e}" for q, e in zip("xy", push, strict=True)} if friction else {}
    return ch.derive(ch.System("x y", "mu", lagrangian=lagrangian, forces=forces, **parts))


@pytest.mark.parametrize("written", ["forces", "dissipation"])
def test_a_puck_stops_after_v_over_mu(written):
    system = plane() if written == "forces" else plane(friction=None, dissipation="mu*sqrt(x'^2 + y'^2)")
    motion = ch.simulate(system, {"x": 0, "y": 0, "x'": 1, "y'": 0.5}, (0, 4), parameters={"mu": 0.5})
    speed = math.hypot(1, 0.5)
    assert motion.outcome == "finished"
    assert [motion.final[z] for z in ("x", "y")] == pytest.approx([speed, speed / 2], abs=1e-9)  # v^2/(2 mu) along the velocity
    assert (motion.final["x'"], motion.final["y'"], motion.final["x''"]) == (0, 0, 0)
    assert [(s.before, s.after) for s in motion.switches] == [(1, 0)]
    assert motion.switches[0].t == pytest.approx(speed / 0.5, abs=1e-8)
    assert motion.verify().worst < 1e-6


def test_a_puck_that_is_pulled_turns_around():
    """mu = 1/2 and a pull of 1: it slows down by 3/2, and comes back with 1/2."""
    motion = ch.simulate(plane(push=("-1", "0")), {"x": 0, "y": 0, "x'": 1, "y'": 0}, (0, 4), parameters={"mu": 0.5})
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(1 / 3 - (4 - 2 / 3) ** 2 / 4, abs=2e-8)


def test_a_pull_overcomes_friction_at_its_time():
    """At rest under a growing pull along (3, 4)/5: it sets off when t/10 = mu, in that direction, with x'' = (t - t0)/10."""
    push = ("0.06*t", "0.08*t")
    motion = ch.simulate(plane(push=push), {"x": 0, "y": 0, "x'": 0, "y'": 0}, (0, 8), tolerance=1e-11, parameters={"mu": 0.5})
    assert motion.outcome == "finished"
    assert [(s.before, s.after) for s in motion.switches] == [(0, 1)]
    assert motion.switches[0].t == pytest.approx(5, abs=1e-9)
    assert [motion.final[z] for z in ("x", "y")] == pytest.approx([0.6 * 27 / 60, 0.8 * 27 / 60], abs=1e-8)


def test_a_path_with_a_spring_against_scipy():
    motion = ch.simulate(
        plane("(x'^2 + y'^2)/2 - (x^2 + 2*y^2)/2"), {"x": 1, "y": 0.2, "x'": 0, "y'": 0.3}, (0, 20), tolerance=1e-10, parameters={"mu": 0.1}
    )

    def rates(t, w):  # v = speed (cos, sin)(angle)
        x, y, speed, angle = w
        along = -x * math.cos(angle) - 2 * y * math.sin(angle)
        across = x * math.sin(angle) - 2 * y * math.cos(angle)
        return [speed * math.cos(angle), speed * math.sin(angle), along - 0.1, across / speed]

    def slow(t, w):
        return w[2] - 1e-7

    slow.terminal = True
    end = solve_ivp(rates, (0, 20), [1, 0.2, 0.3, math.pi / 2], events=slow, rtol=1e-10, atol=1e-12)
    assert motion.outcome == "finished"
    assert motion.switches[0].t == pytest.approx(end.t[-1], abs=1e-5)
    assert [motion.final["x"], motion.final["y"]] == pytest.approx(end.y[:2, -1], abs=1e-7)
    assert math.hypot(motion.final["x"], 2 * motion.final["y"]) <= 0.1  # the spring does not overcome friction there


def test_friction_that_is_weaker_in_one_direction():
    """From |w|^2 = x'^2 + 4 y'^2: straight along an axis it is dry friction with the coefficient of that axis, mu or 2 mu."""
    system = plane(friction=None, dissipation="mu*sqrt(x'^2 + 4*y'^2)")
    for name, factor in (("x", 1), ("y", 2)):
        start = {"x": 0, "y": 0, "x'": 0, "y'": 0, f"{name}'": 1}
        motion = ch.simulate(system, start, (0, 4), parameters={"mu": 0.5})
        assert motion.final[name] == pytest.approx(1 / (2 * 0.5 * factor), abs=1e-9)
        assert motion.outcome == "finished"


def test_a_belt_carries_the_body_with_it():
    """On a belt with the velocity 1/2: from rest it is accelerated by mu until it moves with the belt."""
    belt = {"x": "-mu*(x' - 1/2)/sqrt((x' - 1/2)^2 + y'^2)", "y": "-mu*y'/sqrt((x' - 1/2)^2 + y'^2)"}
    motion = ch.simulate(plane(friction=belt), {"x": 0, "y": 0, "x'": 0, "y'": 0}, (0, 4), parameters={"mu": 0.25})
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(0.5, abs=1e-12)
    assert motion.final["x"] == pytest.approx(0.5 * 4 - 0.5 * 2 / 2, abs=1e-9)


def test_other_verbs_at_rest():
    equations = plane(push=("0.3", "0"))
    rest = {"x": 0, "y": 0, "x'": 0, "y'": 0}
    assert ch.evaluate(equations, rest, parameters={"mu": 0.5})["x''"] == 0
    assert ch.evaluate(equations, rest, parameters={"mu": 0.1})["x''"] == pytest.approx(0.2, abs=1e-12)
    many = ch.simulate_many(equations, {**rest, "y'": [0.0, 1.0]}, (0, 2), parameters={"mu": np.array([0.1, 5.0])})
    assert many.final["x"][0] == pytest.approx(0.2 * 2, abs=1e-8)
    assert many.final["y'"][1] == 0


def test_quadratic_drag_never_rests():
    motion = ch.simulate(
        plane(friction={q: f"-mu*{q}'*sqrt(x'^2 + y'^2)" for q in "xy"}), {"x": 0, "y": 0, "x'": 3, "y'": 4}, (0, 2), parameters={"mu": 1}
    )
    assert not motion.switches
    assert motion.final["x'"] == pytest.approx(0.6 * 5 / (1 + 5 * 2), abs=1e-9)


def slid(friction, omega, end):
    """A bead that slides on the circle x = cos(a), y = sin(a), until it sticks: a'' = -cos(a) -+ friction(a, a')."""
    t, state = 0.0, [0.0, omega]
    while t < end:
        side = np.sign(state[1]) or -np.sign(np.cos(state[0]))

        def stops(_, s):
            return s[1]

        stops.terminal, stops.direction = True, -side
        rates = lambda _, s, side=side: [s[1], -np.cos(s[0]) - side * friction(*s)]  # noqa: E731
        found = solve_ivp(rates, (t, end), state, events=stops, rtol=1e-11, atol=1e-12)
        t, state = found.t[-1], [found.y[0, -1], 0.0]
        if abs(np.cos(state[0])) <= friction(*state):
            return t, state[0]
    raise AssertionError("it does not stick")


@pytest.mark.parametrize("row", ["x^2 + y^2 = 1", "x*x' + y*y' = 0"])
@pytest.mark.parametrize(
    ("force", "friction", "omega"),
    [("mu", lambda a, w: 0.4, 1.0), ("mu*2*abs(lambda1)", lambda a, w: 0.4 * abs(np.sin(a) - w**2), 1.0)],
)
def test_a_bead_on_a_circle_comes_to_rest(force, friction, omega, row):
    """It turns around, and sticks where friction holds it; the wire's reaction and the friction are told apart."""
    if "x'" in row:
        force = force.replace("2*", "")  # the reaction is lambda1*(x, y)
    forces = {q: f"-{force}*{q}'/sqrt(x'^2 + y'^2)" for q in "xy"}
    equations = ch.derive(ch.System("x y", "mu", lagrangian="(x'^2 + y'^2)/2 - y", forces=forces, kinematic=[row]), ch.DAlembert())
    motion = ch.simulate(equations, {"x": 1, "y": 0, "y'": omega}, (0, 12), parameters={"mu": 0.4}, tolerance=1e-11)
    t, angle = slid(friction, omega, 12)
    assert motion.outcome == "finished" and motion.switches[-1].t == pytest.approx(t, abs=1e-7)
    assert [motion.final["x"], motion.final["y"]] == pytest.approx([np.cos(angle), np.sin(angle)], abs=1e-7)
    assert motion.final["x'"] == motion.final["y'"] == 0
    assert motion.final["lambda1"] == pytest.approx(np.sin(angle) / (1 if "x'" in row else 2), abs=1e-7)


def test_a_bead_on_a_straight_wire_sets_off():
    """Along the wire y = 2x the pull is (t + 0.6)/sqrt(5), and friction holds 1/2."""
    forces = {"x": "t - mu*x'/sqrt(x'^2 + y'^2)", "y": "0.3 - mu*y'/sqrt(x'^2 + y'^2)"}
    equations = ch.derive(ch.System("x y", "mu", lagrangian="(x'^2 + y'^2)/2", forces=forces, kinematic=["y' = 2*x'"]), ch.DAlembert())
    start, values = {"x": 0, "y": 0, "x'": 0}, {"mu": 0.5}
    motion = ch.simulate(equations, start, (0, 3), parameters=values)
    off = 0.5 * 5**0.5 - 0.6
    assert motion.outcome == "finished" and motion.switches[0].t == pytest.approx(off, abs=1e-9)
    assert motion.final["x"] == pytest.approx((3 - off) ** 3 / 30, abs=1e-9)
    rest = ch.evaluate(equations, start, parameters=values)
    assert (rest["x''"], rest["y''"], rest["lambda1"]) == pytest.approx((0, 0, -0.06), abs=1e-14)


def test_a_skate_rests_while_it_turns():
    """It slows down by mu along its blade, whatever way it points."""
    forces = {q: f"-mu*{q}'/sqrt(x'^2 + y'^2)" for q in "xy"}
    system = ch.System("x y a", "mu", lagrangian="(x'^2 + y'^2 + a'^2)/2", forces=forces, kinematic=["x'*sin(a) = y'*cos(a)"])
    start = {"x": 0, "y": 0, "a": 0.3, "x'": np.cos(0.3), "a'": 0.7}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 4), parameters={"mu": 0.5})
    t = np.linspace(0, 2, 4001)
    right = [trapezoid((1 - t / 2) * f(0.3 + 0.7 * t), t) for f in (np.cos, np.sin)]
    assert motion.outcome == "finished" and motion.switches[0].t == pytest.approx(2, abs=1e-8)
    assert [motion.final["x"], motion.final["y"]] == pytest.approx(right, abs=1e-7)
    assert motion.final["a"] == pytest.approx(0.3 + 0.7 * 4) and motion.final["x'"] == 0
