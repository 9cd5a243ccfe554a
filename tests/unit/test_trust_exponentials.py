"""Exponentials that are no doubles, as factors of products that are: nothing is zero because one of its factors underflows."""

from __future__ import annotations

import math

import pytest

import chetaev as ch

PUSHED = {
    "one": ("exp(-1000)*exp(x)", {"x": 1000.0}, 1.0),
    "two": ("exp(-1000)*exp(x)*exp(y)", {"x": 600.0, "y": 400.0}, 1.0),
    "sum": ("exp(-1000)*exp(x + y)", {"x": 300.0, "y": 700.5}, math.exp(0.5)),
    "large": ("exp(1000)*exp(-x)*y", {"x": 1001.0, "y": 3.0}, 3 * math.exp(-1)),
    "no constant": ("exp(-x)*exp(y)*exp(y + 100)", {"x": 1000.0, "y": 450.0}, 1.0),
    "a bump multiplied out": ("x*exp(-90000)*exp(2*x)*exp(-x^2/90000)", {"x": 90000.0}, 90000.0),
    "hyperbolic": ("exp(-1000)*cosh(x)*cosh(y)", {"x": 600.0, "y": 400.0}, 0.25),
    "one hyperbolic": ("exp(-1000)*cosh(x)*y", {"x": -1000.0, "y": 3.0}, 1.5),
    "a sum": ("exp(-1000)*(exp(x) + 3*exp(y))*x", {"x": 999.0, "y": 1000.0}, 999 * (math.exp(-1) + 3)),
    "powers": ("exp(-800)*x^50*y^50", {"x": 1e4, "y": 1e3}, math.exp(50 * math.log(1e7) - 800)),
}
"""A force on x, where the body is, and its value there."""


@pytest.mark.parametrize("name", PUSHED)
def test_a_force_with_a_factor_below_all_doubles(name):
    force, place, right = PUSHED[name]
    start = {"y": 0.0, **place, "x'": 0.0, "y'": 0.0}
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", forces={"x": force})
    equations = ch.derive(system)
    assert ch.evaluate(equations, start)["x''"] == pytest.approx(right, rel=1e-10)
    span = 1e-4 / math.sqrt(max(1.0, right))
    motion = ch.simulate(equations, start, (0, span), tolerance=1e-11)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(right * span, rel=1e-6)
    assert ch.simulate_many(equations, [start], (0, span), tolerance=1e-11).final["x'"][0] == pytest.approx(right * span, rel=1e-6)


def test_a_potential_with_a_factor_below_all_doubles():
    """V = e^-1000 (e^x - x e^1000/2): x'' = 1/2 - e^(x - 1000), by slopes of products."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - exp(-1000)*exp(x) + x/2"))
    assert ch.evaluate(equations, {"x": 1001.0, "x'": 0.0})["x''"] == pytest.approx(0.5 - math.e, rel=1e-12)


def test_a_mass_with_a_factor_below_all_doubles():
    """L = e^(y - 1000) (x'^2/2 + x): x'' = 1 - x'*y', y'' = e^(y - 1000) (x'^2/2 + x)."""
    equations = ch.derive(ch.System("x y", lagrangian="exp(-1000)*exp(y)*x'^2/2 + y'^2/2 + exp(-1000)*exp(y)*x"))
    now = ch.evaluate(equations, {"x": 2.0, "y": 1000.5, "x'": 0.3, "y'": 0.7})
    assert now["x''"] == pytest.approx(1 - 0.21, rel=1e-12)
    assert now["y''"] == pytest.approx(math.exp(0.5) * (0.045 + 2), rel=1e-12)


def test_a_term_that_no_state_makes_large_is_negligible():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2 + exp(-1000)*sin(x)"))
    assert ch.evaluate(equations, {"x": 1.5, "x'": 0.0})["x''"] == -1.5
