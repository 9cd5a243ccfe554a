"""003, sections 10 and 11: constrained systems as systems."""

from functools import cache

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME
from chetaev.singular.forms import contact_form, d, equal, interior, is_zero, rank, wedge

X, Y, Z = ch.coordinates("x y z")


@cache
def ridden():
    form = ch.DynamicalForm("x y", ["-x'' - y", "2*x' - x - y''"], name="ridden")
    return ch.constrain(form, ch.ConstraintStructure("x y", ["y' = x*x'"]))


@cache
def over_a_knife(*rows):
    return ch.constrain(ch.DynamicalForm("x y z", list(rows), "k"), ch.ConstraintStructure("x y z", ["z' = y*x'"]))


def same(a, b):
    return sympy.simplify(a - b) == 0


# ---- regularity, distribution, connection -------------------------------------------------------------------------------------------


def test_11_regularity_of_the_example():
    """B' = -(x^2 + 1) never vanishes, although the completed rows are no regular form."""
    system = ridden()
    assert same(system.B[0, 0], -(X**2) - 1)
    found = ch.regularity(system)
    assert found.regular and found.weakly_regular and found.semiregular and found == system.regularity
    assert ch.regularity(system.equations).regular is False


def test_11_a_regular_form_may_become_singular_and_a_singular_one_regular():
    lost = ch.constrain(ch.DynamicalForm("x y", ["-y''", "-x''"]), ch.ConstraintStructure("x y", ["y' = 0"]))
    assert ch.regularity(lost.form).regular and lost.regularity.regular is False
    won = ch.constrain(ch.DynamicalForm("x y", ["-x'' - y''", "-x'' - y'' - x"]), ch.ConstraintStructure("x y", ["y' = 0"]))
    assert ch.regularity(won.form).regular is False and won.regularity.regular
    with pytest.raises(ch.ModelError, match="not regular"):
        _ = lost.connection


def test_11_rank_that_changes_on_the_constraint():
    """B' = y^2 - 1 under z' = y x' for B = diag(-1, -1, 1) in the x direction."""
    found = over_a_knife("-x''", "-y''", "z''").regularity
    assert found.regular is False and "y" in str(found)


def test_11_constraints_above_the_phase_space_are_singular():
    system = ch.constrain(ch.DynamicalForm("x y", ["-x''", "-y''"]), ch.ConstraintStructure("x y", ["y'' = x*x''"]))
    assert system.regularity.regular is False


def test_10_constraint_semispray_and_connection():
    """Γ = ∂t + x'∂x + x x'∂y + Γ^x ∂x', with the acceleration that the multiplier gives."""
    system = ridden()
    v = X.d()
    reaction = (v**2 - X * Y - 2 * v + X) / (1 + X**2)
    field = system.semispray
    assert field[TIME] == 1 and field[X] == v and same(field[Y], X * v)
    assert same(field[v], -Y - X * reaction)
    assert system.structure.is_connection(field)
    text = str(system.connection)
    assert text.startswith("constraint connection spanned by\n  Γ = x'*∂x + x*x'*∂y") and "dx - x'*dt" in text
    assert all(is_zero(sympy.simplify(form(field))) for form in system.connection.forms)


def test_10_a_connection_where_the_rows_stay_implicit():
    """z'^2 = x'^2 + y'^2 in a field: accelerations by the bordered matrix."""
    form = ch.DynamicalForm("x y z", ["-x'' + y", "-y'' - 2*x'", "-z'' - 1"])
    system = ch.constrain(form, ch.ConstraintStructure("x y z", ["z'^2 = x'^2 + y'^2"]))
    assert system.structure.solved is None
    values = {X: 0.3, Y: -0.4, Z: 0.2, X.d(): 0.6, Y.d(): 0.8, Z.d(): 1.0}
    found = [float(system.semispray[z.d()].subs(values)) for z in (X, Y, Z)]
    u, v, w = 0.6, 0.8, 1.0
    bordered = np.array([[1, 0, 0, 2 * u], [0, 1, 0, 2 * v], [0, 0, 1, -2 * w], [-2 * u, -2 * v, 2 * w, 0]])
    assert np.allclose(found, np.linalg.solve(bordered, [-0.4, -2 * u, -1, 0])[:3], atol=1e-13)


def test_11_constraint_dynamical_distribution():
    """Rank 1 and spanned by Γ where B' is regular; by hand i_ξ α_Q for the vertical fields ∂x + x∂y and ∂x'."""
    system = ridden()
    assert rank(system.distribution) == 1
    only = system.distribution.fields[0]
    assert all(same(only[z] / only[TIME], e) for z, e in system.semispray.items())
    singular = ch.constrain(ch.DynamicalForm("x y", ["-y", "-x'"]), ch.ConstraintStructure("x y", ["y' = x*x'"]))
    assert rank(singular.distribution) == 2  # i_ξ α = A' dt-terms only: ω^x and the forms of C are left


def test_11_1_vertical_fields_of_the_canonical_distribution_give_the_equations():
    """(11.2): along Γ the forms i_ξ α_Q vanish for ξ = ∂x + x∂y and ξ = ∂x'."""
    system = ridden()
    for vertical in ({X: sympy.S.One, Y: X}, {X.d(): sympy.S.One}):
        assert sympy.simplify(interior(vertical, system.alpha)(system.semispray)) == 0


# ---- Theorem 11.4 -------------------------------------------------------------------------------------------------------------------


def is_representative(system, found):
    """Closed, and with the equations of the constrained system: (11.2) for all vertical fields of C at the semispray."""
    structure = system.structure
    vertical = [{q.d(): sympy.S.One} for q in system.independent]
    for k, q in enumerate(system.independent):
        lifted = {q: sympy.S.One} | {structure.coordinates[i]: structure.gradient[r, k] for r, i in enumerate(structure.dependent)}
        vertical.append(lifted)
    motions = all(sympy.simplify(interior(xi, found)(system.semispray)) == 0 for xi in vertical)
    return is_zero(d(found)) and motions


def test_11_4_corollary_11_5_a_lagrangian_form():
    form = ch.DynamicalForm.of(ch.System("x y z", lagrangian="x'^2/2 + y'^2/2 + z'^2/2 - x*z"))
    system = ch.constrain(form, ch.ConstraintStructure("x y z", ["z' = y*x'"]))
    assert system.is_lagrangian and is_representative(system, system.lagrangian.representative)


@pytest.mark.parametrize(
    "rows",
    [
        ("-x'' - y*x'", "-y''", "-z'' + x'"),  # the free particle plus x' times the reaction (-y, 0, 1)
        ("-x'' - y*x' + y*y' - x", "-y'' - y*x'", "-z'' + x' + 3*t"),
    ],
)
def test_11_4_a_closed_representative_although_the_form_has_no_lagrangian(rows):
    system = over_a_knife(*rows)
    assert ch.helmholtz(system.form).variational is False
    found = system.lagrangian
    assert found.lagrangian and is_representative(system, found.representative)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (("-x'' - k*x'", "-y''", "-z''"), "power"),
        (("-x'' - 2*y''", "-y''", "-z''"), "not symmetric"),
        (("-x'' - y'*x'*x'', ", "-y''", "-z''"), "slopes"),
    ],
)
def test_11_4_refuted(rows, said):
    rows = tuple(row.rstrip(", ") for row in rows)
    found = over_a_knife(*rows).lagrangian
    assert found.lagrangian is False and said in found.reason


def test_11_4_on_the_leaves_of_an_integrable_constraint():
    """y' = x x' has leaves y - x^2/2 = c; there 2x x' is friction, and without it the system is Lagrangian."""
    assert ridden().is_lagrangian is False and "friction" in ridden().lagrangian.reason
    form = ch.DynamicalForm("x y", ["-x'' - y^2*x", "-y'' + y^2"])  # the forces (-y^2 x, y^2) do no work on a leaf
    system = ch.constrain(form, ch.ConstraintStructure("x y", ["y' = x*x'"]))
    assert ch.helmholtz(form).variational is False
    assert system.is_lagrangian and is_representative(system, system.lagrangian.representative)


# ---- Lepage classes, semiholonomic constraints --------------------------------------------------------------------------------------


def test_3_5_a_representative_of_the_users_choice():
    form = ch.DynamicalForm("x y", ["-x'' - y", "2*x' - x - y''"])
    own = form.representative({("x", "y"): "x*y'"})
    eta = X * Y.d() * wedge(contact_form(X), contact_form(Y))
    by_hand = wedge(contact_form(X), -Y * d(TIME) - d(X.d())) + wedge(contact_form(Y), (2 * X.d() - X) * d(TIME) - d(Y.d())) + eta
    assert equal(own.two_form, by_hand)
    assert equal(form.representative(eta).two_form, by_hand)
    assert own.F[0, 1] == X * Y.d() and own.F[1, 0] == -X * Y.d()
    for wrong in (wedge(d(X), d(TIME)), wedge(contact_form(X), d(Y.d()))):
        with pytest.raises(ch.UsageError, match="2-contact"):
            form.representative(wrong)


def test_3_5_all_members_have_the_same_semisprays():
    form = ch.DynamicalForm("x y", ["-x'' - y", "2*x' - x - y''"])
    field = {TIME: 1, X: X.d(), Y: Y.d(), X.d(): -Y, Y.d(): 2 * X.d() - X}
    for eta in ({}, {("x", "y"): "3 + x"}):
        two = form.representative(eta).two_form
        assert all(is_zero(interior(field, two).coefficient(z)) for z in (X, Y, X.d(), Y.d()))


@pytest.mark.parametrize("degree", [1, 2])
def test_10_3_semiholonomic_constraints_of_degree_p_move_on_leaves(degree):
    """With u = 0 and its derivatives zero at the start the motion is that on the surface u = y - x^2 = 0."""
    form = ch.DynamicalForm("x y", ["-x'' - y", "2*x' - x - y''"])
    structure = ch.semiholonomic("x y", ["y - x^2"], degree)
    assert structure.degrees == (degree,)
    start = {"x": 0.5, "x'": 0.7, "y": 0.25, "y'": 0.7}
    given = start if degree == 2 else {k: v for k, v in start.items() if k != "y'"}
    motion = ch.simulate(ch.derive(ch.constrain(form, structure)), given, (0, 1), tolerance=1e-12)
    surface = ch.singular.pulled_back(form, {form.coordinates[1]: form.coordinates[0] ** 2})
    expected = ch.simulate(ch.derive(surface), {"x": 0.5, "x'": 0.7}, (0, 1), tolerance=1e-12)
    assert motion.final["x"] == pytest.approx(expected.final["x"], abs=1e-10)
    other = ch.simulate(ch.derive(ch.constrain(form, structure)), {**given, "y": 0.35}, (0, 1), tolerance=1e-12)
    assert np.allclose(other["y - x^2"], 0.1, atol=1e-10)
