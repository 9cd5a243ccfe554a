"""Verdicts and comparisons that must not depend on the unit, on how a row bends, or on how a start is written."""

import numpy as np
import pytest

import chetaev as ch

BENT = "D(x,3)^2 + D(y,3) = 1 + x"


@pytest.mark.parametrize("lagrangian", ["(x'^2 + y'^2)/2", "(x'^2 + y'^2)/2 - x^2*y"])
def test_rows_that_bend_in_their_highest_derivatives_are_regular(lagrangian):
    """Chetaev: E_x is solved for x''' = .../(2 lambda), E_y for lambda, the row for y'''; the Jacobian is -2 lambda: six free values."""
    found = ch.analyze(ch.derive(ch.System("x y", lagrangian=lagrangian, kinematic=[BENT]), ch.Chetaev()))
    assert (found.verdict, found.dimension) == ("REGULAR", 6)
    assert [ch.show(f) for f in found.singular_locus] == ["lambda1"]


def test_the_motion_of_that_system_solves_equations_written_by_hand():
    """With L = (x'^2 + y'^2)/2: y'' = lambda, x'' = 2 lambda x''', y''' = 1 + x - x'''^2, in the library's signs of lambda."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=[BENT]), ch.Chetaev())
    values = {"x": 0.1, "x'": 0.2, "x''": 0.3, "y": 0.4, "y'": 0.5, "y''": 0.8}
    third = 0.3 / (2 * 0.8)
    motion = ch.simulate(equations, ch.State(values, guess={"D(x,3)": third, "lambda1": 0.8}), (0, 0.5), tolerance=1e-11)

    from scipy.integrate import solve_ivp

    def rates(_, s):
        x, v, a, _, w, b = s
        j = a / (2 * b)
        return [v, a, j, w, b, 1 + x - j * j]

    by_hand = solve_ivp(rates, (0, 0.5), list(values.values()), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert motion.outcome == "finished"
    assert [motion[name][-1] for name in values] == pytest.approx(by_hand, abs=1e-8)
    assert motion["lambda1"][-1] == pytest.approx(by_hand[5], abs=1e-8)


def test_a_maximum_that_vanishes_is_regular_on_both_sides():
    found = ch.analyze(ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["max(x, y) = 0"]), ch.DAlembert()))
    assert (found.verdict, found.dimension) == ("REGULAR", 2)


def test_hidden_rows_are_printed_as_formulas():
    system = ch.System("x y e", lagrangian="(x'^2 + y'^2)/2 - e^2/2", kinematic=["x''*sin(e) = y'*cos(e)"], variational=["δx = sin(e)*δy"])
    found = ch.analyze(ch.derive(system, ch.VirtualWork()))
    assert "e" in found.hidden and "e = 0" in str(found)


def test_only_the_zero_motion_has_one_verdict():
    """Two systems whose only motion is rest: no motion for general data, and what remains has dimension 0."""
    for kinematic, variational in ([["D(x,3) = y", "y' = x"], []], [["x'' = y", "y'' = x"], ["δx = y'*δy"]]):
        system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=kinematic, variational=variational)
        found = ch.analyze(ch.derive(system, ch.VirtualWork()))
        assert (found.verdict, [b.dimension for b in found.branches]) == ("INCONSISTENT", [0])


@pytest.mark.parametrize("unit", ["1", "1/10^9", "10^9"])
def test_motions_coincide_or_not_whatever_the_unit_of_length(unit):
    """A knife edge on a slope: d'Alembert's motion is bounded downhill, no multiplier makes the vakonomic one equal to it."""
    edge = ch.System("x y phi", lagrangian=f"(x'^2 + y'^2)/2 + ({unit})^2*phi'^2/2 + ({unit})*x/2", kinematic=["x'*sin(phi) = y'*cos(phi)"])
    length = size_of(unit)
    start = {"x": 0, "y": 0, "phi": 0.4, "phi'": 0.7, "x'": 0.3 * length * np.cos(0.4), "y'": 0.3 * length * np.sin(0.4), "lambda1": 0}
    (pair,) = ch.compare(edge, [ch.DAlembert(), ch.Vakonomic()], start, (0, 1)).pairs
    assert pair.searched and pair.coinciding is None


def size_of(unit):
    """The number of a unit as it is written above."""
    return {"1": 1.0, "1/10^9": 1e-9, "10^9": 1e9}[unit]


def test_an_inverse_that_nearly_leads_back_in_small_units_is_refused():
    """x = 10^-12 r cos(a): the wrong inverse is off by less than any absolute limit, and by a factor of two."""
    plane = ch.System("x y", lagrangian="(x'^2 + y'^2)/2")
    polar = {"x": "r*cos(a)/10^12", "y": "r*sin(a)/10^12"}
    right = {"r": "10^12*sqrt(x^2 + y^2)", "a": "atan2(y, x)"}
    wrong = {"r": "2*10^12*sqrt(x^2 + y^2)", "a": "atan2(y, x)"}
    assert ch.change_coordinates(plane, polar, inverse=right) is not None
    with pytest.raises(ch.ChetaevError, match="lead back"):
        ch.change_coordinates(plane, polar, inverse=wrong)
