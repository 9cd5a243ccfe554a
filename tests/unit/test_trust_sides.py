"""Corners whose sides end at the surface, as abs(x)^(3/2), and steps of time in Lagrangians of higher order or with multipliers."""

import math
import time

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import chetaev as ch


def across(force, x0, v0, end, surface):
    """Position and velocity at `end` under x'' = force(x), by SciPy, halted at the surface."""

    def reached(_, y):
        return y[0] - surface

    reached.terminal = True
    settings = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}
    first = solve_ivp(lambda _, y: [y[1], force(y[0])], (0, end), [x0, v0], events=reached, **settings)
    x, v = surface + 1e-14 * np.sign(first.y[1, -1]), first.y[1, -1]
    return solve_ivp(lambda _, y: [y[1], force(y[0])], (first.t[-1], end), [x, v], **settings).y[:, -1]


@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=["explicit", "implicit"])
@pytest.mark.parametrize(("text", "power"), [("3/2", 3 / 2), ("4/3", 4 / 3), ("7/4", 7 / 4), ("5/2", 5 / 2)])
def test_a_fractional_power_of_abs_is_crossed(text, power, method):
    """(m*u)^p has no value beyond the surface; the force is continuous there."""
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - abs(x - 3)^({text})"))
    motion = ch.simulate(equations, {"x": 2.5, "x'": 1.5}, (0, 1), method=method)
    wanted = across(lambda x: -power * abs(x - 3) ** (power - 1) * np.sign(x - 3), 2.5, 1.5, 1, 3)
    assert motion.outcome == "finished"
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(wanted, abs=2e-7)


@pytest.mark.parametrize("text", ["abs(x - 3)^(1/3)", "((x - 3)^2)^(1/6)"])
def test_a_root_of_a_distance_is_crossed(text):
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"-{text}"}))
    motion = ch.simulate(equations, {"x": 2.5, "x'": 1.5}, (0, 1))
    wanted = across(lambda x: -(abs(x - 3) ** (1 / 3)), 2.5, 1.5, 1, 3)
    assert motion.outcome == "finished"
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(wanted, abs=2e-7)


@pytest.mark.parametrize("potential", ["abs(x - 3)^(1/2)", "0.1*log(abs(x - 3))"])
def test_a_pole_on_the_surface_is_not_crossed(potential):
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - {potential}"))
    motion = ch.simulate(equations, {"x": 2.5, "x'": 1.5}, (0, 1))
    assert motion.outcome in ("left_domain", "step_too_small")
    assert motion.final["x"] == pytest.approx(3, abs=1e-9)


@pytest.mark.parametrize("step", ["step(t - 1)", "piecewise(t - 1, 0, 1)"])
def test_a_force_switched_on_in_a_second_order_lagrangian(step):
    """D^2 x'' = step(t - 1): x = (t - 1)^4/24. No momentum contains the step."""
    equations = ch.derive(ch.System("x", lagrangian=f"x''^2/2 - x*{step}"))
    motion = ch.simulate(equations, {"x": 0, "x'": 0, "x''": 0, "x'''": 0}, (0, 3))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(16 / 24, abs=1e-9)


def test_a_force_switched_on_in_a_vakonomic_system():
    """x' = y' and lambda' free: 2*x'' = -step(t - 1)."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y*step(t - 1)", kinematic=["x' = y'"])
    motion = ch.simulate(ch.derive(system, ch.Vakonomic()), {"x": 0, "y": 0, "x'": 0, "lambda1": 0}, (0, 2))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(-0.25, abs=1e-9)


@pytest.mark.parametrize(
    "lagrangian", ["x''^2/2*(1 + max(0, x - 1)) - 0.1*x", "x''^2/2 + max(0, x'' - 1)^2/2 - x", "x''^2/2*(1 + step(t - 1))"]
)
def test_a_jump_of_a_momentum_of_second_order_is_refused(lagrangian):
    """D(L_x'') is continuous, so that x''' or x'' jumps: no rule says how, and no motion may go on as if they did not."""
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian=lagrangian)), {"x": 0, "x'": 1, "x''": 0.9, "x'''": 0.5}, (0, 1.5))
    assert motion.outcome == "left_domain"
    assert "momenta jump" in motion.message


@pytest.mark.parametrize("pulse", ["exp(1 - exp(((x - 3)/0.001)^2))", "exp(-cosh((x - 3)/0.001))", "1/cosh(sinh((x - 3)/0.001))"])
def test_towers_of_exponentials_are_decided_in_seconds(pulse):
    """At random points these functions have arguments with more digits than memory holds. x' = 1.5 - 5*(integral of the pulse)."""
    functions = {"exp": lambda u: math.exp(min(u, 300.0)), "cosh": lambda u: math.cosh(min(u, 300.0)), "sinh": math.sinh}
    begin = time.process_time()
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - 0.05*y^2", forces={"x": f"-5*{pulse}*x'"})
    motion = ch.simulate(ch.derive(system), {"x": 2.9, "x'": 1.5, "y": 0, "y'": 0}, (0, 0.2))
    assert time.process_time() - begin < 30
    lost = quad(lambda x: eval(pulse.replace("^", "**"), functions, {"x": x}), 2.996, 3.004, points=[3], epsabs=1e-13)[0]  # noqa: S307
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(1.5 - 5 * lost, abs=1e-8)


def test_an_implicit_run_crosses_a_pole_inside_a_bounded_function():
    """The kinetic energy changes by the integral of the force, which has a jump where 1/(x - 3) has its pole."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-0.3*atan(1/(x - 3))"}))
    motion = ch.simulate(equations, {"x": 0.2, "x'": 2.5}, (0, 4), method=ch.Implicit())
    end = motion.final["x"]
    work, _ = quad(lambda u: -0.3 * math.atan(1 / (u - 3)), 0.2, end, points=[3])
    assert motion.outcome == "finished" and end > 4
    assert motion.final["x'"] ** 2 / 2 == pytest.approx(2.5**2 / 2 + work, rel=1e-8)


@pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["explicit", "implicit", "taylor"])
@pytest.mark.parametrize(
    ("text", "force", "surface"),
    [
        ("acos(cos(x))", lambda x: math.acos(math.cos(x)), math.pi),
        ("sqrt(1 - cos(x)^2)", lambda x: abs(math.sin(x)), math.pi),
        ("acosh(cosh(x - 3))", lambda x: abs(x - 3), 3.0),
        ("asin(sin(x))", lambda x: math.asin(math.sin(x)), math.pi / 2),
    ],
)
def test_corners_hidden_in_smooth_functions_are_not_leapt_over(text, force, surface, method):
    """A Taylor series before the corner converges beyond it, to the other branch."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"-0.3*{text}"}))
    motion = ch.simulate(equations, {"x": surface - 1, "x'": 2}, (0, 1), method=method)
    wanted = across(lambda x: -0.3 * force(x), surface - 1, 2, 1, surface)
    assert motion.outcome == "finished"
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(wanted, abs=2e-7)


@pytest.mark.parametrize(
    ("text", "force", "surface"),
    [
        ("sqrt(1 - cos(x))", lambda x: math.sqrt(2) * abs(math.sin(x / 2)), 2 * math.pi),
        ("sqrt(2 + 2*sin(x))", lambda x: 2 * abs(math.sin(x / 2 + math.pi / 4)), -math.pi / 2),
        ("sqrt(cosh(x) - 1)", lambda x: math.sqrt(2) * abs(math.sinh(x / 2)), 0.0),
        ("sqrt(x^2 - 2*x + 1)", lambda x: abs(x - 1), 1.0),
        ("(x^4 + x^2)^(1/2)", lambda x: abs(x) * math.sqrt(x**2 + 1), 0.0),
        ("acos(sin(x))", lambda x: math.acos(math.sin(x)), math.pi / 2),
        ("acosh(cosh(x - 3))", lambda x: abs(x - 3), 3.0),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 0.37, 2.9])
def test_hidden_corners_are_met_exactly(text, force, surface, scale):
    """At the tolerance, wherever the steps happen to lie: the velocity at the end by quadrature on either side of the corner."""
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2", forces={"x": f"-k*{text}"}))
    motion = ch.simulate(equations, {"x": surface - 1, "x'": 2.5}, (0, 1), parameters={"k": 0.3 * scale}, tolerance=1e-10)
    wanted = across(lambda x: -0.3 * scale * force(x), surface - 1, 2.5, 1, surface)
    assert motion.outcome == "finished" and motion.switches
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(wanted, abs=3e-9)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_square_with_parameters_below_is_a_hidden_corner(unit):
    """V = k u^2 sqrt(x^2/u^2 - 2 x/u + 1) = k u |x - u|: a constant force towards x = u on either side, in any unit of length."""
    equations = ch.derive(ch.System("x", "k u", lagrangian="x'^2/2 - k*u^2*sqrt(x^2/u^2 - 2*x/u + 1)"))
    motion = ch.simulate(equations, {"x": 0, "x'": 2 * unit}, (0, 1), parameters={"k": 0.7, "u": unit}, tolerance=1e-10)
    met = (math.sqrt(4 + 2 * 0.7) - 2) / 0.7
    speed, left = 2 + 0.7 * met, 1 - met
    assert motion.outcome == "finished" and [s.t for s in motion.switches] == pytest.approx([met], abs=1e-9)
    assert motion.final["x"] / unit == pytest.approx(1 + speed * left - 0.35 * left**2, abs=1e-9)
    assert motion.final["x'"] / unit == pytest.approx(speed - 0.7 * left, abs=1e-9)
