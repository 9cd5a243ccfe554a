"""Roots of squares that are multiplied out are corners: a difference that vanishes by them is zero, and bends are located."""

import pytest

import chetaev as ch


@pytest.mark.parametrize(
    "zero",
    [
        "sqrt(1 + x^2 + 2*x) - abs(1 + x)",
        "sqrt(x^2 + 2*x*y + y^2) - abs(x + y)",
        "sqrt(x^4 + 2*x^2 + 1) - 1 - x^2",
        "sqrt(x^2 + x^2*y^2) - abs(x)*sqrt(1 + y^2)",
        "abs(x)*abs(y) - abs(x*y)",
    ],
)
def test_a_mass_that_is_zero_by_its_corners(zero):
    """y is free, whatever the side; no side has signs that contradict each other."""
    found = ch.analyze(ch.derive(ch.System("x y", lagrangian=f"x'^2/2 + ({zero})*y'^2/2")))
    assert (found.verdict, found.free_functions, found.branches) == (ch.Verdict.GAUGE, ("y",), ())


def test_a_lagrangian_that_is_zero_by_its_corners():
    found = ch.analyze(ch.derive(ch.System("x", lagrangian="(sqrt(1 + x^2 + 2*x) - abs(1 + x))*x'^2/2")))
    assert (found.verdict, found.free_functions) == (ch.Verdict.GAUGE, ("x",))


def test_rows_that_fix_all_coordinates_beside_a_mass_of_zero():
    """y = 0 and x = y."""
    found = ch.analyze(ch.derive(ch.System("x y", lagrangian="(sqrt(1 + x^2 + 2*x) - abs(1 + x))*x'^2/2 + x*y - y^2/2")))
    assert (found.verdict, found.dimension, found.branches) == (ch.Verdict.REGULAR, 0, ())


def test_a_mass_on_one_side_only():
    found = ch.analyze(ch.derive(ch.System("x y", lagrangian="(sqrt(1 + x^2 + 2*x) - (1 + x))*y'^2/2 + x'^2/2")))
    sides = {branch.verdict: branch.sides for branch in found.branches}
    assert sides == {ch.Verdict.GAUGE: ("x + 1 > 0",), ch.Verdict.REGULAR: ("x + 1 < 0",)}


def test_a_bend_is_located():
    """V = |x - 1|: from 0 with speed 1/2, x = t/2 + t^2/2 until x = 1, then the force turns."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - sqrt(x^2 - 2*x + 1)"))
    motion = ch.simulate(equations, {"x": 0, "x'": 0.5}, (0, 2))
    met = -0.5 + (0.25 + 2) ** 0.5
    assert motion.switches[0].t == pytest.approx(met, abs=1e-12)
    assert motion.final["x'"] == pytest.approx(0.5 + met - (2 - met), abs=1e-12)
