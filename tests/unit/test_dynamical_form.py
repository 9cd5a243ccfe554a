"""Dynamical forms: orders, matrices, Lepage forms, regularity."""

import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME
from chetaev.singular.dynamical.lepage import lepage
from chetaev.singular.forms import contact_component, d, equal, is_zero, wedge

X, Y = ch.coordinates("x y")


def of(coordinates, lagrangian, parameters=""):
    return ch.DynamicalForm.of(ch.System(coordinates, parameters, lagrangian=lagrangian))


# ---- reading ------------------------------------------------------------------------------------------------------------------------


def test_rows_as_text_and_as_expressions_are_the_same():
    text = ch.DynamicalForm("x y", ["m*x'' = -y", "sin(t)*y"], parameters="m")
    m = ch.parameters("m")
    built = ch.DynamicalForm("x y", [sympy.Eq(m * X.d(2), -Y), sympy.sin(TIME) * Y], parameters="m")
    assert text == built
    assert text.rows == (m * X.d(2) + Y, sympy.sin(TIME) * Y)


def test_rows_of_equations_have_the_sign_of_krupkova_then_the_kinematic_rows():
    system = ch.System("x y", "m", lagrangian="m/2*(x'^2 + y'^2) - x*y", kinematic=["y' = x*x'"])
    form = ch.DynamicalForm.of(system, ch.DAlembert())
    m, lam = form.parameters[0], form.coordinates[2]
    assert lam.name == "lambda1"
    assert [sympy.expand(e) for e in form.rows] == [
        sympy.expand(-m * X.d(2) - Y - lam * X),
        sympy.expand(-m * Y.d(2) - X + lam),
        sympy.expand(Y.d() - X * X.d()),
    ]


def test_the_action_variable_is_a_coordinate():
    form = ch.DynamicalForm.of(ch.System("x", "c", lagrangian="x'^2/2 - c*s", action="s"), ch.Herglotz())
    assert [q.name for q in form.coordinates] == ["x", "s"]
    assert form.labels == ("E_x", "action")


def test_vakonomic_rows_are_those_of_the_extended_lagrangian():
    form = ch.DynamicalForm.of(ch.System("x y", lagrangian="x'^2/2 + y'^2", kinematic=["y' = x*x'"]), ch.Vakonomic())
    lam = form.coordinates[2]
    extended = X.d() ** 2 / 2 + Y.d() ** 2 + lam * (Y.d() - X * X.d())
    for e, q in zip(form.rows, form.coordinates, strict=True):
        by_hand = extended.diff(q) - form.total(extended.diff(q.d()))
        assert sympy.expand(e - by_hand) == 0


def test_inputs_are_written_out_with_their_derivatives():
    system = ch.System("x", lagrangian="x'^2/2 + x*f'", inputs={"f": "t^3"})
    assert sympy.expand(ch.DynamicalForm.of(system).rows[0] - (3 * TIME**2 - X.d(2))) == 0


def test_an_open_input_is_refused():
    with pytest.raises(ch.ModelError, match="input f has no value"):
        ch.DynamicalForm.of(ch.System("x", lagrangian="x'^2/2 + x*f", inputs={"f": None}))


@pytest.mark.parametrize("rows", ["x''", [], 3])
def test_rows_must_be_a_list(rows):
    with pytest.raises(ch.UsageError, match="rows are given as"):
        ch.DynamicalForm("x", rows)


def test_unknown_names_are_errors():
    with pytest.raises(ch.NotationError, match="unknown name"):
        ch.DynamicalForm("x", ["x'' + y"])


# ---- orders ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coordinates", "rows", "order"),
    [
        ("q", ["q'' + q"], 2),
        ("q", ["D(q, 4) + q"], 4),
        ("q", ["q'^2 - 4*q"], 2),  # not affine: rows on J^2 with B = 0
        ("q", ["q''^2 - q"], 3),
        ("q", ["q' - q"], 2),  # of first order, B not antisymmetric
        ("x y", ["y' + x", "-x' + y"], 1),  # antisymmetric: on Y itself
        ("x y", ["x^2 + y^2", "y - t"], 1),
        ("x y", ["x' - y"], 2),  # not square
        ("q", ["abs(q'') - q"], 3),
    ],
)
def test_true_order(coordinates, rows, order):
    form = ch.DynamicalForm(coordinates, rows)
    assert form.order == order
    assert form.dimension == order * len(form.coordinates) + 1


def test_matrices_reproduce_the_rows():
    form = ch.DynamicalForm("x y", ["x*y''*cos(t) - x'^2", "3*x'' + y*y'' - y'"])
    top = sympy.Matrix([X.d(2), Y.d(2)])
    assert (form.A + form.B * top - sympy.Matrix(form.rows)).expand() == sympy.zeros(2, 1)
    assert sympy.Matrix([[0, X * sympy.cos(TIME)], [3, Y]]) == form.B
    assert form.B_and_A == form.B.row_join(form.A)


def test_a_form_raised_in_order_has_no_matrix():
    form = ch.DynamicalForm("q", ["q'^2 - 4*q"])
    assert not form.affine
    assert sympy.zeros(1, 1) == form.B
    assert form.A[0] == form.rows[0]


# ---- Lepage forms ---------------------------------------------------------------------------------------------------------------------

VARIATIONAL = {
    1: "x^2*y*y' - y^2*x'/3 - x*y^3 + t*x^2",
    2: "(1 + y^2)*x'^2/2 + x'*y'*x/3 + y'^2 - x*y^2*t",
    3: "x''*y' + x'^2*y^2/2 - x*y^2",
    4: "(1 + y^2)*x''^2/2 + y''^2 - x*y'^3 + t*x*y",
}
NOT_VARIATIONAL = {2: ["x*y'' + y'", "3*x'' - y*x'"], 3: ["D(x, 3)*y - x''", "x' + D(y, 3)"]}


def dynamical_two_form(form):
    r"""$E_\sigma\,\omega^\sigma \wedge dt$."""
    return sum(
        (e * wedge(d(q), d(TIME)) for e, q in zip(form.rows[1:], form.coordinates[1:], strict=True)), form.rows[0] * wedge(d(X), d(TIME))
    )


@pytest.mark.parametrize("order", VARIATIONAL)
def test_lepagean_equivalent_is_closed_and_belongs_to_the_form(order):
    form = of("x y", VARIATIONAL[order])
    assert form.order == order
    alpha = form.lepage.two_form
    assert form.lepage.closed
    assert is_zero(d(alpha)) is True
    assert equal(contact_component(alpha, 1), dynamical_two_form(form)) is True


@pytest.mark.parametrize("order", NOT_VARIATIONAL)
def test_lepage_form_of_rows_without_lagrangian(order):
    form = ch.DynamicalForm("x y", NOT_VARIATIONAL[order])
    assert form.order == order
    assert not form.lepage.closed
    assert equal(contact_component(form.lepage.two_form, 1), dynamical_two_form(form)) is True


def test_errata_e1_transposed_matrix_in_the_codistribution():
    """(3.7): the last rows contain -B_{nu sigma}, not B_{sigma nu}; B = [[0, 1], [0, 0]] gives omega^1."""
    form = ch.DynamicalForm("x y", ["y''", "x"])
    one_forms = form.lepage.dynamical_annihilator()
    assert equal(one_forms[3], -(d(X) - X.d() * d(TIME))) is True
    assert not one_forms[2].terms


@pytest.mark.parametrize("order", [2, 3, 4])
def test_matrix_f_is_antisymmetric(order):
    f = of("x y", VARIATIONAL[order]).lepage.F
    assert (f + f.T).applyfunc(sympy.expand) == sympy.zeros(*f.shape)


def test_hamilton_form_vanishes_on_prolonged_paths():
    """(4.4) with q_{k,1} = q_{k+1} is E_sigma for i = 0 and zero above."""
    form = of("x y", VARIATIONAL[4])
    rows = form.lepage.hamilton_rows()
    for k, row in enumerate(rows):
        value = sum((c * z.d() for c, z in zip(row, form.phase, strict=False)), row[-1])
        expected = form.rows[k] if k < 2 else 0
        assert sympy.expand(value - expected) == 0


def test_hamilton_form_and_distribution_of_a_particle_by_hand():
    """x'' = -x^3: (4.4) reads -x^3 - (x_1)' and -x' + (x_0)', and the motions are the curves of d/dt + x' d/dx - x^3 d/dx'."""
    lepage = of("x", "x'^2/2 - x^4/4").lepage
    assert [str(e) for e in lepage.hamilton_form()] == ["-x**3 - x_1'", "-x' + x_0'"]
    assert str(lepage.dynamical_distribution()) == "span{x'*∂x - x^3*∂x' + ∂t}"


def test_a_form_that_is_not_square_has_no_lepage_form():
    with pytest.raises(ch.ModelError, match="1 rows for 2 coordinates"):
        lepage(ch.DynamicalForm("x y", ["x' - y"]))


# ---- regularity -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (ch.DynamicalForm("x y", ["-x'' - y", "y'' + x*x'"]), (True, True, True, True)),
        (of("x y", "(1 + x^2)*y'^2/2 + x'^2"), (True, True, True, True)),  # no real zero of det B
        (of("x y", "(2 - cos(x)^2)*y'^2/2 + x'^2"), (True, True, True, True)),
        (of("x y", "x*y' - y*x' - x^2"), (True, True, True, True)),  # affine in the velocities, regular in Krupkova's sense
        (ch.DynamicalForm("x y", ["x'' + y", "0"]), (False, True, True, True)),
        (ch.DynamicalForm("q", ["q*q''"]), (False, False, False, False)),
        (of("q1 q2", "(q1' - q2)^2/2"), (False, False, False, False)),
    ],
)
def test_regularity(form, expected):
    found = ch.regularity(form)
    assert (found.regular, found.weakly_regular, found.semiregular, found.strongly_semiregular) == expected
    assert found.singular is (not expected[0])


def test_errata_semiregular_and_weakly_regular_are_independent():
    """Theorem 5.2: rank F = rank (F|A) does not imply the same for B, if the Lepage form has a further contact part."""
    form = ch.DynamicalForm("x y", ["x''", "y' "])
    found = ch.regularity(form)
    assert (found.weakly_regular, found.semiregular) == (False, False)
    closed = of("x y z", "x'^2/2 + y*z' - z*y'")  # rows x'' and 2 z', -2 y': F sees the velocities of y and z, B does not
    found = ch.regularity(closed)
    assert (found.weakly_regular, found.semiregular) == (False, True)


def test_regularity_with_parameters_of_unknown_sign_is_undecided():
    assert ch.regularity(of("x y", "(m + k*y^2)*x'^2/2 + y'^2", "m k")).regular is None
    assert ch.regularity(of("x y", "(m + k*y^2)*x'^2/2 + y'^2", {"m": "positive", "k": "positive"})).regular is True


def test_regularity_names_the_strata():
    text = str(ch.regularity(ch.DynamicalForm("q", ["q*q''"])))
    assert "B: rank 1 where q != 0" in text
    assert "B: rank 0 where q = 0" in text


def test_what_is_no_form_is_refused_by_name():
    for verb in (ch.constraint_algorithm, ch.regularity):
        with pytest.raises(ch.UsageError, match="a DynamicalForm, Equations, a System or a Model is needed, not int"):
            verb(42)


def test_relations_of_roots_are_no_constraints_of_strata():
    found = ch.regularity(ch.System("x y", "m", lagrangian="-m*sqrt(x'^2 - y'^2)"))
    assert (found.regular, found.weakly_regular) == (False, True)
    assert "0 = 0" not in str(found)
