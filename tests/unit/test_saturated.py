"""Functions with a finite limit whose argument overflows a double: the limit, and a slope of zero."""

from __future__ import annotations

import math

import pytest

import chetaev as ch


def end(potential: str, x: float, v: float, t: float = 10, **settings: object) -> ch.Trajectory:
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - ({potential})"))
    found = ch.simulate(equations, {"x": x, "x'": v}, (0, t), **settings)
    assert found.outcome == "finished", found.message
    return found


@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=["default", "implicit"])
@pytest.mark.parametrize(
    ("potential", "before", "after"),
    [
        ("exp(-exp(1e3*(x - 5)))", 1, 0),
        ("tanh(exp(1e3*(x - 5)))/4", 0, 1 / 4),
        ("atan(exp(1e4*(x - 5)))/4", 0, math.pi / 8),
        ("exp(-exp(exp(1e2*(x - 5))))", math.exp(-1), 0),
        ("tanh(2 + sinh(1e3*(x - 5)))/8", -1 / 8, 1 / 8),
        ("1/(2 + cosh(1e3*(x - 5)) + exp(2e3*(x - 5)))", 0, 0),
        ("exp(-x^400)", 1, 0),
        ("1/(1 + x^400)", 1, 0),
        ("exp(-(x/5)^20)", 1, 0),
        ("erf(exp(1e3*(x - 5)))/4", 0, 1 / 4),
    ],
)
def test_the_speed_behind_a_step(potential, before, after, method):
    """From x = 0.5 across the step, far beyond the overflow: v^2/2 + V is constant."""
    found = end(potential, 0.5, 1, 12, method=method, tolerance=1e-10)
    assert found.final["x"] > 6
    assert found.final["x'"] == pytest.approx(math.sqrt(1 + 2 * (before - after)), rel=1e-6)


def test_a_barrier_that_overflows_on_both_sides_reflects():
    assert end("exp(1 - exp(1e3*abs(x - 5)))", 1, 1).final["x'"] == pytest.approx(-1, rel=1e-7)
    assert end("exp(1 - exp(1e3*abs(x - 5)))", 8, 1).final["x"] == pytest.approx(18, rel=1e-13)


def test_a_rest_beyond_the_overflow_is_a_rest():
    for potential in ("exp(-x^400)", "1/(1 + x^400)", "tanh(exp(1e3*x))", "exp(-exp(1e3*x))", "1/sinh(1e3*x)^2"):
        assert end(potential, 8, 0).final["x"] == 8


def test_a_softened_ramp_is_a_ramp():
    """log(1 + exp(u))/1000 is the height x of a ramp for large u: free fall."""
    assert end("log(1 + exp(1e3*x))/1e3", 8, 0, 2).final["x"] == pytest.approx(6, rel=1e-12)
    assert end("log(3 + 2*exp(1e3*x))/1e3", 0.5, 0, 0.1).final["x"] == pytest.approx(0.495, rel=1e-12)


def test_accelerations_within_the_limits_have_all_digits():
    """exp(-exp(u)) has the slope -exp(u - exp(u))."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - exp(-exp(3*x))"))
    for x in (-2.0, 0.1, 0.7, 1.2):
        assert ch.evaluate(equations, {"x": x, "x'": 0})["x''"] == pytest.approx(3 * math.exp(3 * x - math.exp(3 * x)), rel=1e-13)


@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=["default", "implicit"])
@pytest.mark.parametrize(
    ("potential", "x", "t"), [("exp(-1e-120*exp(x))", 0, 400), ("exp(-1e-120*cosh(x))", 0, 400), ("exp(-(x/5)^400)", 0.5, 4.9)]
)
def test_small_coefficients_do_not_hide_a_step(potential, x, t, method):
    assert end(potential, x, 1, t, method=method).final["x'"] == pytest.approx(math.sqrt(3), rel=1e-6)


@pytest.mark.parametrize("potential", ["tanh(exp(1e3*x) - exp(2e3*x))", "exp(1e3*x)/(1 + exp(1e3*x))", "exp(exp(1e3*x))"])
def test_what_may_cancel_or_has_no_limit_is_refused(potential):
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - ({potential})"))
    with pytest.raises(ch.StateError, match="no finite value"):
        ch.simulate(equations, {"x": 8, "x'": 0}, (0, 1))
    with pytest.raises(ch.StateError, match="falling exponentials"):
        ch.evaluate(equations, {"x": 8, "x'": 0})
