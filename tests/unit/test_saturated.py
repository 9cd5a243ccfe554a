"""Functions with a finite limit whose argument overflows a double: the limit, and a slope of zero."""

from __future__ import annotations

import math

import mpmath
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


@pytest.mark.parametrize("potential", ["tanh(exp(1e3*x) - exp(2e3*x))", "exp(exp(1e3*x))"])
def test_what_may_cancel_or_has_no_limit_is_refused(potential):
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - ({potential})"))
    with pytest.raises(ch.StateError, match="no finite value"):
        ch.simulate(equations, {"x": 8, "x'": 0}, (0, 1))
    with pytest.raises(ch.StateError, match="falling exponentials"):
        ch.evaluate(equations, {"x": 8, "x'": 0})


FAR = {
    "sinh(x)/cosh(x)^3": lambda x: mpmath.sinh(x) / mpmath.cosh(x) ** 3,
    "sinh(x)^2/cosh(x)^2": lambda x: mpmath.tanh(x) ** 2,
    "exp(x)/(1 + exp(x))": lambda x: 1 / (1 + mpmath.exp(-x)),
    "exp(x)/(1 + exp(x))^2": lambda x: mpmath.exp(-x) / (1 + mpmath.exp(-x)) ** 2,
    "(exp(x) - exp(-x))/(exp(x) + exp(-x))": mpmath.tanh,
    "(1 + 3*exp(-2*x))/(2 + 7*exp(-2*x))": lambda x: (1 + 3 * mpmath.exp(-2 * x)) / (2 + 7 * mpmath.exp(-2 * x)),
    "cosh(x)/sqrt(1 + sinh(x)^2)": lambda x: mpmath.mpf(1),
    "cosh(x)/(1 + cosh(x)^2)": lambda x: mpmath.cosh(x) / (1 + mpmath.cosh(x) ** 2),
    "sinh(x)*exp(-x^2)": lambda x: mpmath.sinh(x) * mpmath.exp(-(x**2)),
    "exp(x)*exp(-x^2/500)": lambda x: mpmath.exp(x - x**2 / 500),
    "x*exp(x)/(exp(x) - 1)^2": lambda x: x * mpmath.exp(x) / mpmath.expm1(x) ** 2,
    "cosh(x)/sinh(x) - 1/x": lambda x: mpmath.coth(x) - 1 / x,
    "log(cosh(x))": lambda x: mpmath.log(mpmath.cosh(x)),
    "x^301/(7 + x^300)": lambda x: x**301 / (7 + x**300),
}
"""Quotients and products that are doubles where their parts are not."""


@pytest.mark.parametrize("text", FAR)
def test_quotients_of_what_overflows(text):
    """As a force, and in L, where the slope counts; on both sides of every limit."""
    force = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": text}))
    potential = ch.derive(ch.System("x", lagrangian=f"x'^2/2 + {text}"))
    for x in (0.3, -2.0, 30.0, -116.6, 170.0, 340.0, -349.9, 351.0, 700.0, -711.0, 5e3, -1e5):
        with mpmath.workdps(400):
            right, slope = FAR[text](mpmath.mpf(x)), mpmath.diff(FAR[text], mpmath.mpf(x), h=mpmath.mpf(10) ** -150)
        assert ch.evaluate(force, {"x": x, "x'": 0})["x''"] == pytest.approx(float(right), rel=1e-11, abs=1e-290), x
        if abs(slope) > mpmath.mpf(10) ** -15 * abs(right):  # below that evaluate may refuse for want of digits
            assert ch.evaluate(potential, {"x": x, "x'": 0})["x''"] == pytest.approx(float(slope), rel=1e-9, abs=1e-290), x


@pytest.mark.parametrize("method", [None, ch.Taylor()], ids=["default", "taylor"])
def test_a_motion_far_out(method):
    """x'^2/2 = 9/2 + (tanh(x) - tanh(1)) beyond x = 1000, and the input's momentum is 2 tanh."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + sinh(x)/cosh(x)", forces={"y": "u"}, inputs={"u": "1/cosh(t - 10)^2"})
    options = {} if method is None else {"method": method}
    motion = ch.simulate(ch.derive(system), {"x": 1, "y": 0, "x'": 3, "y'": 0}, (0, 800), **options)
    assert motion.outcome == "finished" and motion.final["x"] > 2000
    assert motion.final["x'"] == pytest.approx(math.sqrt(9 + 2 * (1 - math.tanh(1))), rel=1e-8)
    assert motion.final["y'"] == pytest.approx(1 + math.tanh(10), rel=1e-8)
