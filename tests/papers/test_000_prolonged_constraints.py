"""000, appendix: C_K^[r] of (A1) and Proposition 39; 001, section 5: M_KV and its integrable part."""

from functools import cache

import pytest
import sympy

import chetaev as ch

X, Y, A = ch.coordinates("x y a")


def system(*kinematic, variational=None, coordinates="x y", lagrangian="x'^2/2 + y'^2/2 - y"):
    return ch.System(coordinates, lagrangian=lagrangian, kinematic=list(kinematic), variational=variational)


@cache
def skate():
    return system("y'*cos(a) = x'*sin(a)", coordinates="x y a", lagrangian="x'^2/2 + y'^2/2 + a'^2/2 + x")


# ---- (A1) ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("r", "dimension", "rows"), [(0, 3, 0), (1, 5, 1), (2, 7, 2), (3, 9, 3)])
def test_a1_dimensions_of_a_nonholonomic_row(r, dimension, rows):
    found = ch.prolong_constraints(skate(), r)
    assert (found.dimension, len(found.rows)) == (dimension, rows)


@pytest.mark.parametrize(("r", "dimension"), [(0, 1), (1, 2), (2, 3)])
def test_a1_a_holonomic_row_is_differentiated(r, dimension):
    found = ch.prolong_constraints(system("x^2 + y^2 = 1"), r)
    assert found.dimension == dimension
    by_hand = [X**2 + Y**2 - 1, X * X.d() + Y * Y.d(), X * X.d(2) + X.d() ** 2 + Y * Y.d(2) + Y.d() ** 2]
    basis = sympy.groebner(list(found.rows), X.d(2), Y.d(2), X.d(), Y.d(), X, Y, order="grevlex")
    assert all(basis.contains(e) for e in by_hand[: r + 1])


def test_a1_rows_that_are_dependent_in_their_highest_derivatives_project_to_a_row_of_lower_order():
    """x'' + y'' = x' and x'' + y'' = y: x' = y on T^(1)Q, so x'' = y' on T^(2)Q."""
    both = system("x'' + y'' = x'", "x'' + y'' = y", variational=[])
    assert [ch.prolong_constraints(both, r).dimension for r in range(4)] == [2, 3, 3, 3]
    assert {sympy.expand(e) for e in ch.prolong_constraints(both, 1).rows} in ({X.d() - Y}, {Y - X.d()})


def test_a1_rocard():
    model = ch.gallery("rocard")
    assert [ch.prolong_constraints(model, r).dimension for r in (0, 1, 2)] == [5, 8, 10]  # 15 jets, 3 rows and 2 derivatives


# ---- Proposition 39 -----------------------------------------------------------------------------------------------------------------


def test_39_linear_rows_always_have_the_variation_zero():
    found = ch.prolong_constraints(skate(), 1)
    assert found.compatible and found.rank == 1 and not found.drops_where and not found.empty_where


def test_39_the_rank_of_c_v_drops_at_rest():
    found = ch.prolong_constraints(system("x'*y'' = y'*x''", variational=["x'*δx + y'*δy"]), 1)
    assert found.compatible and found.rank == 1 and found.changes
    assert set(found.drops_where) == {X.d(), Y.d()}


def test_39_c_v_is_empty_where_a_coefficient_has_no_value():
    """x' = 0 is possible on C_K^[1] = T^(1)Q of the first, everywhere on that of the second, and nowhere on that of the third."""
    some = ch.prolong_constraints(system("x'*y'' - y'*x'' = 1", variational=["δx/x' + δy"]), 1)
    assert some.empty_where == (X.d(),) and some.compatible is False and some.rank == 1
    all_ = ch.prolong_constraints(system("x' = 0", variational=["δx/x' + δy"]), 1)
    assert all_.compatible is False and all_.rank is None
    none = ch.prolong_constraints(system("x' = 1", variational=["δx/x' + δy"]), 1)
    assert none.compatible is not False


def test_39_c_v_of_smaller_rank_on_the_constraint_than_off_it():
    found = ch.prolong_constraints(system("x' = y'", variational=["δx + δy", "x'*δx + y'*δy"]), 1)
    assert (found.rank, found.rank_elsewhere) == (1, 2)


# ---- M_KV ---------------------------------------------------------------------------------------------------------------------------


def test_m_kv_of_a_skate():
    """By hand: work along (cos a, sin a, 0) and (0, 0, 1), and the row; the only step is the derivative of the row."""
    equation = ch.implicit_equation(skate(), ch.DAlembert())
    c, s = sympy.cos(A), sympy.sin(A)
    along = (X.d(2) - 1) * c + Y.d(2) * s
    assert equation.order == 2 and equation.dimension == 6
    ratio = sympy.simplify(equation.rows[0] / along)
    assert ratio.is_number and ratio != 0 and sympy.expand(equation.rows[1]) in (A.d(2), -A.d(2))
    assert len(equation.steps) == 1 and len(equation.steps[0].added) == 1
    derivative = Y.d(2) * c - Y.d() * A.d() * s - X.d(2) * s - X.d() * A.d() * c
    assert sympy.simplify(equation.steps[0].added[0] / derivative).is_number
    assert equation.integrable_part.dimension == 5 == equation.analysis.dimension
    assert equation.complete and equation.integrable is False


@pytest.mark.parametrize(
    ("given", "principle", "dimensions"),
    [
        (system("x^2 + y^2 = 1"), ch.DAlembert(), [4, 3, 2]),
        (system(lagrangian="(x' - y)^2/2 - x^2/2"), ch.Hamilton(), [4, 3, 2, 1, 0]),
        (system(), ch.Hamilton(), [4]),
        (system("x'' = y'*x + 1", variational=["δx"]), None, [4]),
        (system("D(y,3) = x", variational=["δy"]), None, [6, 5]),
    ],
)
def test_m_kv_dimensions_step_by_step(given, principle, dimensions):
    equation = ch.implicit_equation(given, principle)
    assert [equation.dimension, *[step.dimension for step in equation.steps]] == dimensions
    assert equation.complete and equation.integrable_part.dimension == dimensions[-1] == equation.analysis.dimension
    assert equation.integrable is (len(dimensions) == 1)


def test_m_kv_of_a_singular_lagrangian_that_leaves_a_function_free():
    equation = ch.implicit_equation(system(lagrangian="(x' - y)^2/2"))
    assert equation.integrable and equation.analysis.verdict == ch.Verdict.GAUGE


def test_m_kv_without_a_motion_has_an_empty_integrable_part():
    equation = ch.implicit_equation(system("x = 0", "y'' = x", variational=[], lagrangian="x'^2/2 + y'^2/2 + x"))
    assert equation.integrable_part.dimension is None and str(equation.integrable_part) == "empty"


def test_m_kv_of_several_manifolds_has_components():
    equation = ch.implicit_equation(ch.System("q1 q2 q3", lagrangian="q1'*q3' + q2^2*q3/2"))
    q2, q3 = ch.coordinates("q2 q3")
    components = equation.integrable_part.components
    assert [part.dimension for part in components] == [4, 4]
    assert {q2, q2.d()} <= set(components[0].rows) and {q3, q3.d()} <= set(components[1].rows)


def test_m_kv_is_about_reactions():
    with pytest.raises(ch.PrincipleError, match="part of the state"):
        ch.implicit_equation(system("y' = x*x'"), ch.Vakonomic())
