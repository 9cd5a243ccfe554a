"""Terms that cancel identically are no forces: the right motion is that without them. What cancels only here or there stays."""

from __future__ import annotations

import math

import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

ZEROS = [
    "cos(t)^2 + sin(t)^2 - 1",
    "1e3*(cos(1000*t)^2 + sin(1000*t)^2 - 1)",
    "(cos(t)^2 + sin(t)^2 - 1)*exp(20*t)",
    "cosh(t)^2 - sinh(t)^2 - 1",
    "sin(2*t) - 2*sin(t)*cos(t)",
    "sin(t)^2 - (1 - cos(2*t))/2",
    "(t + 1)^3 - t^3 - 3*t^2 - 3*t - 1",
    "(1 + x)^2 - 1 - 2*x - x^2",
    "exp(x)*exp(-x) - 1",
    "cos(x')^2 + sin(x')^2 - 1",
    "sqrt(2)*sqrt(3)*t - sqrt(6)*t",
    "cos(t)^2 + sin(t)^2 - 2 + cosh(x)^2 - sinh(x)^2",
]


def motion(force: str, start: dict[str, float], end: float = 10, **settings: object) -> ch.Trajectory:
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}), ch.DAlembert())
    return ch.simulate(equations, start, (0, end), **settings)


@pytest.mark.parametrize("force", ZEROS)
@pytest.mark.parametrize("start", [{"x": 0, "x'": 0}, {"x": 0.3, "x'": 0}, {"x": 0.3, "x'": 1}], ids=["at zero", "at rest", "moving"])
def test_a_body_under_no_force_moves_straight_on(force, start):
    found = motion(force, start)
    assert found.outcome == "finished", found.message
    assert found.final["x"] == pytest.approx(start["x"] + 10 * start["x'"], rel=1e-13, abs=1e-300)
    assert len(found.t) < 20


@pytest.mark.parametrize("method", [ch.Implicit(), ch.Taylor()], ids=str)
def test_other_methods_too(method):
    found = motion(ZEROS[0], {"x": 0.3, "x'": 0}, method=method)
    assert found.outcome == "finished"
    assert found.final["x"] == 0.3


def test_an_ensemble_too():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": ZEROS[0]}), ch.DAlembert())
    found = ch.simulate_many(equations, {"x": [0.0, 0.3], "x'": 0}, (0, 10))
    assert list(found.outcome) == ["finished"] * 2
    assert found.final["x"].tolist() == [0.0, 0.3]


def test_terms_that_cancel_beside_others():
    """A damped oscillator at its equilibrium stays there; elsewhere it swings as without them."""
    rest = motion("-x + cos(t)^2 + sin(t)^2 - 1", {"x": 0, "x'": 0})
    assert (rest.outcome, rest.final["x"], len(rest.t) < 20) == ("finished", 0.0, True)
    assert motion("-x + 2*cos(t)^2 + 2*sin(t)^2 - 2", {"x": 0.3, "x'": 0}).final["x"] == pytest.approx(0.3 * math.cos(10), abs=1e-8)


def test_a_constant_that_is_written_as_a_sum():
    assert motion("cos(t)^2 + sin(t)^2", {"x": 0, "x'": 0}).final["x"] == pytest.approx(50, rel=1e-12)


@pytest.mark.parametrize(
    ("force", "start", "end", "right"),
    [
        ("sqrt(x^2) - x", {"x": -1, "x'": 0}, 1, -math.cos(math.sqrt(2))),  # 2|x| to the right
        ("sqrt((t - 5)^2) - t + 5", {"x": 0, "x'": 0}, 5, 2 * (5 * 5**2 / 2 - 5**3 / 6)),  # 2 (5 - t)
        ("acos(cos(t + 4)) - t - 4", {"x": 0, "x'": 0}, 1, 2 * (math.pi - 4) / 2 - 2 / 6),  # 2 pi - 2 (t + 4)
        ("1 + tanh(20*(t - 1))", {"x": 0, "x'": 0}, 3, 4.0 + math.pi**2 / 12 / 400),  # beyond: (t - 1)^2 + pi^2/(12 * 20^2)
        ("1e-12*(cos(t)^2 + sin(t)^2)", {"x": 0, "x'": 0}, 2, 2e-12),
    ],
)
def test_what_vanishes_on_one_branch_or_nearly_is_kept(force, start, end, right):
    found = motion(force, start, end)
    assert found.outcome == "finished", found.message
    assert found.final["x"] == pytest.approx(right, rel=1e-7)


def test_rows_lagrangians_and_inputs():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x' = (cos(t)^2 + sin(t)^2 - 1)*y'"])
    found = ch.simulate(ch.derive(system, ch.DAlembert()), {"x": 1, "y": 0, "y'": 1}, (0, 10))
    assert (found.outcome, found.final["x"]) == ("finished", 1.0)
    assert found.final["y"] == pytest.approx(10, rel=1e-13)
    massless = ch.System("x y", lagrangian="x'^2/2 + (cos(t)^2 + sin(t)^2 - 1)*y'^2/2 - y^2")
    assert ch.analyze(ch.derive(massless)).dimension == 2  # y = 0 is a constraint
    driven = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": None}), ch.DAlembert())
    found = ch.simulate(driven, {"x": 0, "x'": 0}, (0, 10), inputs={"u": "cos(t)^2 + sin(t)^2 - 1"})
    assert (found.outcome, found.final["x"]) == ("finished", 0.0)


def test_round_off_that_no_identity_explains_does_not_shorten_steps():
    """asin + acos = pi/2 is not known to the field: the body stays where it is, up to round-off, and the run ends."""
    found = motion("acos(t/20) + asin(t/20) - pi/2", {"x": 0, "x'": 0})
    assert found.t[-1] == 10
    assert abs(found.final["x"]) < 1e-13
    assert len(found.t) < 5000


@pytest.mark.parametrize(
    ("potential", "force"),
    [
        ("cosh(x)^2 - sinh(x)^2 + x^2", lambda x: -2 * x),
        ("x^4/100 - cos(x)^2 - sin(x)^2 + cosh(x)^2 - sinh(x)^2 + x^2", lambda x: -2 * x - x**3 / 25),
        ("cosh(x)^2 - sinh(x)^2 + exp(-x/10) + x*sin(x)", lambda x: math.exp(-x / 10) / 10 - math.sin(x) - x * math.cos(x)),
    ],
)
def test_a_part_of_a_sum_cancels(potential, force):
    """At x = 30 the terms of cosh(x)^2 - sinh(x)^2 are 3e25, and their round-off was taken for a force."""
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - ({potential})"))
    motion = ch.simulate(equations, {"x": 30, "x'": 0}, (0, 1))
    right = solve_ivp(lambda _, y: [y[1], force(y[0])], (0, 1), [30, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(right, abs=1e-7)
