"""Systems made from linear normal forms, whose motions are known: the verdict does not depend on factors, units and crossings."""

import pytest

import chetaev as ch


def rows_alone(coordinates: str, rows: list[str], lagrangian: str = "0") -> ch.Equations:
    """Rows without reactions: with no Lagrangian they are all the equations there are."""
    return ch.derive(ch.System(coordinates, lagrangian=lagrangian, kinematic=rows, variational=[]), ch.VirtualWork())


def counted(analysis: ch.Analysis) -> list[tuple[int | None, int]]:
    return sorted((branch.dimension, len(branch.free_functions)) for branch in analysis.branches)


def test_three_manifolds_that_cross():
    """x'' = y z, z x = 0, x y = 0: x moves freely where y = z = 0; where x = 0 one of y and z vanishes and the other is free."""
    equations = ch.derive(ch.System("x y z", lagrangian="x'^2/2 + x*y*z"))
    found = ch.analyze(equations)
    assert (found.verdict, counted(found)) == (ch.Verdict.BRANCHING, [(2, 0), (2, 1), (2, 1)]), found.evidence
    motion = ch.simulate(equations, {"x": 1, "x'": 0.5, "y": 0, "z": 0}, (0, 2))
    assert motion.outcome == "finished" and motion.final["x"] == pytest.approx(2, abs=1e-9)


def test_three_lines_through_a_point():
    """y z = z u = u y = 0: two of the three vanish and one is free, while x'' = 0; two states and two jets of the free one."""
    found = ch.analyze(ch.derive(ch.System("x y z u", lagrangian="x'^2/2 + y*z*u")))
    assert (found.verdict, counted(found)) == (ch.Verdict.BRANCHING, [(4, 1), (4, 1), (4, 1)]), found.evidence


FALLING = ["", "exp(x)*", "exp(-x)*", "(2 + sin(x))*", "exp(x - y)*"]
"""Factors without a zero; an exponential falls below every residual far away."""


@pytest.mark.parametrize("factor", FALLING)
def test_a_factor_without_a_zero_changes_no_dimension(factor):
    """With v = y + x^2 the second row and two derivatives of the first, x + 2 x' + v/2 = 0, add up to x' = 0: one constant is left."""
    v = "(y + x^2)"
    rows = [f"{factor}(x + 2*x' + {v}/2) = 0", f"x' - x'' - 2*D(x, 3) - D({v}, 2)/2 = 0"]
    found = ch.analyze(rows_alone("x y", rows))
    assert (found.verdict, found.dimension, found.free_functions) == (ch.Verdict.CONSTRAINED, 1, ()), found.evidence


@pytest.mark.parametrize("factor", FALLING)
def test_a_factor_without_a_zero_makes_no_motion(factor):
    """The last row says x = -2 and then, with the others, -x/4 = 0."""
    rows = ["4*D(x, 4) - 2*D(x, 3) + x''/2 - x' - x = 0", "(1 + y^2)*(x/2 + 1) = 0", f"{factor}(4*x'' - 2*x' - 3/2*x) = 0"]
    found = ch.analyze(rows_alone("x y", rows))
    assert (found.verdict, found.branches) == (ch.Verdict.INCONSISTENT, ()), found.evidence


@pytest.mark.parametrize("factor", FALLING)
def test_contradicting_rows_with_a_factor_have_no_motion(factor):
    """v = y + 7/10 cos x vanishes, so x = v'' = 0 by the second row and x = -2 by the third."""
    v = "(y + 7/10*cos(x))"
    rows = [f"{factor}{v}/2 = 0", f"{factor}(D({v}, 2) - x) = 0", f"x + {v}/2 - D({v}, 2) + 2 = 0"]
    found = ch.analyze(rows_alone("x y", rows))
    assert not found.verdict.allows_motion and found.branches == (), found.evidence
    if factor != "exp(-x)*":  # undecided: random points of the first row have x > 20, where the second row is below every residual
        assert found.verdict is ch.Verdict.INCONSISTENT, found.evidence


@pytest.mark.parametrize("factor", FALLING)
@pytest.mark.parametrize("unit", ["1", "1e-6", "1e6"])
def test_a_coordinate_that_only_a_factor_contains_is_free(factor, unit):
    """y = 0 satisfies all rows, and x occurs only in what multiplies zero."""
    rows = [f"{factor}(y'/2 + 2*y'') = 0", "y/2 = 0", f"{unit}*(y'/2 + y'' + 4*D(y, 3)) = 0"]
    found = ch.analyze(rows_alone("x y", rows))
    assert (found.verdict, len(found.free_functions)) == (ch.Verdict.GAUGE, 1), found.evidence


def test_thirds_cancel_in_consequences():
    """Three equations of motion and two rows, all linear: an exact elimination of the jets up to order 30 leaves x = y = z = 0 only."""
    lagrangian = (
        "x'^2 + x'*y' + 3*x'*z' + y'^2/2 + 2*y'*z' + 5/2*z'^2 - x^2/2 - x*y - y*z - z^2/2"  # of rank two: thirds appear in its elimination
    )
    rows = ["2*D(x, 3) + 2*y'' + 2*D(y, 3) + D(z, 3) = 0", "2*x + 2*x' + y' = 0"]
    found = ch.analyze(rows_alone("x y z", rows, lagrangian))
    assert found.verdict is ch.Verdict.INCONSISTENT, found.evidence
    assert counted(found) == [(0, 0)]
