"""Differential systems in higher-order mechanics (Krupková), sections 10 and 11: constraint structures and constrained systems.

Equations are typed from the paper. Where it is inexact a test shows that the printed statement fails and that the corrected one holds.
"""

import itertools

import pytest
import sympy
from sympy import Matrix, Rational, S

import chetaev as ch
from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import TIME
from chetaev.singular.dynamical.constrained_system import pulled_back, semiholonomic, semiholonomic_degree
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.forms import adapted, contact_form, d, horizontal_part, interior, is_zero, prolong, pull_back, rank, wedge

X, Y, Z = ch.coordinates("x y z")
DT = d(TIME)
FORM = DynamicalForm(
    "x y z",
    [
        "(2 + x^2)*x'' + 3*y''*z - x*y' + t",
        "x''/2 - (3 + z'^2)*y'' + z''*x - y^2*z'",
        "y''*x' + 2*z'' + x*y*z - 1",
    ],
)
G = X.d() ** 2 * Y + Y.d() * TIME - X  # z' = g, nonlinear in the velocities
NONLINEAR = ch.ConstraintStructure([X, Y, Z], [Z.d() - G])


# ---- section 10 -----------------------------------------------------------------------------------------------------------------------


def test_eq_10_4_and_10_5():
    """phi = f dt + f_{q_r} omega, and h phi = f dt."""
    f = Z.d() - G
    expected = f * DT + contact_form(Z) - G.diff(X.d()) * contact_form(X) - G.diff(Y.d()) * contact_form(Y)
    (phi,) = NONLINEAR.forms
    assert is_zero(phi - expected)
    assert is_zero(horizontal_part(phi) - f * DT)


def test_eq_10_6_lemma_10_1():
    """i_{J^r xi} phi = i_{F(xi)} df for vertical fields xi = a(t, q) d/dq, with F(d/dq) = d/dq_r."""
    (phi,) = NONLINEAR.forms
    f = Z.d() - G
    for q, a in [(X, X * Y), (Y, Z**2 + TIME), (Z, S.One)]:
        lifted = prolong({q: a}, [X, Y, Z], 1)
        assert is_zero(interior(lifted, phi) - interior({q.d(): a}, d(f)))


@pytest.mark.parametrize(
    ("coordinates", "rows"),
    [("x y z", ["z' = x'^2*y"]), ("x y z", ["x'^2 + y'^2 + z'^2 = 3"]), ("x y z w", ["w'' = x''*y'' + z", "z'' = y*x''^2"])],
)
def test_rank_of_the_local_distributions(coordinates, rows):
    """Rank rm + m + 1 - 2k on jets; corank k on the constraint."""
    structure = ch.ConstraintStructure(coordinates, rows)
    m, r, k = len(structure.coordinates), structure.order, structure.corank
    assert rank(structure.canonical) == r * m + m + 1 - 2 * k


def test_theorem_10_2_does_not_depend_on_the_equations():
    """f and a f, with a function a without zeros, give the same canonical distribution."""
    (phi,) = NONLINEAR.canonical_forms
    (other,) = ch.ConstraintStructure([X, Y, Z], [(2 + X**2 + Y.d() ** 2) * (Z.d() - G)]).forms
    on = pull_back(other, {Z.d(): G})
    assert is_zero(wedge(phi, on)) is True
    assert is_zero(wedge(phi, contact_form(X))) is False


@pytest.mark.erratum(
    "003", "section 10", "constraint connections are spanned by constraint semisprays", "with the semispray condition added"
)
def test_e9_constraint_connections_need_the_semispray_condition():
    """Section 10 calls every horizontal rank 1 subdistribution of C a constraint connection spanned by semisprays; this one is not."""
    structure = ch.ConstraintStructure([X, Y], [Y.d() - X.d() ** 2])
    g = X.d() ** 2
    field = {TIME: S.One, X: X.d() + 1, Y: g + g.diff(X.d())}
    (phi,) = structure.canonical_forms
    assert is_zero(phi(field)) is True  # horizontal and in C ...
    assert structure.is_connection(field) is False  # ... but no semispray
    spray = structure.semispray({X: X * Y})
    assert structure.is_connection(spray) is True
    assert spray[Y] == g and spray[X.d()] == X * Y


def test_constraint_semispray_of_second_order():
    structure = ch.ConstraintStructure([X, Y], [Y.d(2) - X.d(2) * X.d() - Y])
    spray = structure.semispray({X: Y})
    assert spray[Y.d()] == structure.solved[Y.d(2)] and spray[X.d()] == X.d(2) and spray[X.d(2)] == Y
    assert structure.is_connection(spray) is True


def test_10_3_holonomic_semiholonomic_and_nonholonomic():
    """(i), (ii): phi = pi* du, closed, C integrable; (iii) not closed, not integrable."""
    u = Z - X * Y
    holonomic = semiholonomic([X, Y, Z], [u], 1)
    (phi,) = holonomic.forms
    assert is_zero(phi - d(u)) and is_zero(d(phi)) and holonomic.integrable is True
    disk = ch.ConstraintStructure([X, Y, Z], [Z.d() - Y * X.d()])
    (phi,) = disk.forms
    assert is_zero(phi - (d(Z) - Y * d(X))) and is_zero(d(phi)) is False and disk.integrable is False


# ---- section 11 -----------------------------------------------------------------------------------------------------------------------


def typed_11_6(form, g, dependent, independent, s):
    """(11.6) as printed, with q_{s-1}^{dep} = g put in at the end."""
    A, B, q = form.A, form.B, form.coordinates
    put = {q[dependent].d(s - 1): g}
    free = [q[i].d(s) for i in range(len(q))]
    hat = total_derivative(g).xreplace(dict.fromkeys(free, S.Zero)).xreplace(put)
    slope = {i: g.diff(q[i].d(s - 1)) for i in independent}
    rows = []
    for a in independent:
        value = A[a] + A[dependent] * slope[a] + B[a, dependent] * hat + B[dependent, dependent] * slope[a] * hat
        rows.append(value.xreplace(put))
    matrix = [
        [
            (B[a, b] + B[a, dependent] * slope[b] + B[dependent, b] * slope[a] + B[dependent, dependent] * slope[a] * slope[b]).xreplace(
                put
            )
            for b in independent
        ]
        for a in independent
    ]
    return Matrix(rows), Matrix(matrix)


def test_eq_11_6_for_nonsymmetric_b():
    system = ch.constrain(FORM, NONLINEAR)
    assert system.case == "equal" and system.structure.dependent == (2,)
    A, B = typed_11_6(FORM, G, 2, (0, 1), 2)
    assert all(is_zero(a - b) for a, b in zip(system.A, A, strict=True))
    assert all(is_zero(a - b) for a, b in zip(system.B, B, strict=True))
    assert is_zero(B[0, 1] - B[1, 0]) is False


def test_eq_11_6_of_third_order():
    form = DynamicalForm("x y", ["x''' + y*y''' - x''*x' + t", "2*x''' - 3*y''' + y''*x + y'"])
    g = X.d(2) * X.d() + TIME * Y * X.d(2) ** 2
    system = ch.constrain(form, ch.ConstraintStructure([X, Y], [Y.d(2) - g]))
    A, B = typed_11_6(form, g, 1, (0,), 3)
    assert is_zero(system.A[0] - A[0]) and is_zero(system.B[0, 0] - B[0, 0])


def test_eq_11_5_is_the_pull_back_modulo_the_constraint_ideal():
    """alpha_Q - iota* alpha lies in the ideal of phi and of 2-contact forms: nothing with dt survives when omega^z is put to its value."""
    system = ch.constrain(FORM, NONLINEAR)
    alpha = FORM.lepage.two_form
    pulled = pull_back(alpha, {Z.d(): G})
    # on vertical fields of C, contracted with a constraint semispray, both give the same 1-forms
    gamma = NONLINEAR.semispray({X: X * Y + 1, Y: Z - TIME})
    for q in (X, Y):
        vertical = {q: S.One, Z: G.diff(q.d())}
        left, right = interior(gamma, interior(vertical, pulled)), interior(gamma, interior(vertical, system.alpha))
        assert is_zero(left - right) is True
    assert is_zero(interior(gamma, interior({X: S.One, Z: S.Zero}, pulled)) - interior(gamma, interior({X: S.One}, system.alpha))) is False


def test_eq_11_7_along_paths():
    """The intrinsic equations (11.2): i_xi alpha_Q along a semispray are the rows A' + B' q_s."""
    system = ch.constrain(FORM, NONLINEAR)
    rates = {X: X * Y + 1, Y: Z - TIME}
    gamma = NONLINEAR.semispray(rates)
    for q, row in zip((X, Y), system.rows, strict=True):
        value = interior(gamma, interior({q: S.One, Z: G.diff(q.d())}, system.alpha)).coefficient()
        expected = row.xreplace({z.d(2): e for z, e in rates.items()})
        assert is_zero(value - expected) is True
        assert is_zero(value + expected) is False


def test_constraints_above_the_phase_space():
    """r >= s: alpha_Q = (E_l + E_i dg^i/dq_r^l) omega^l wedge dt, singular as a system on J^rY."""
    g = X.d(2) * X.d() + Y.d(2) ** 2 * Z
    system = ch.constrain(FORM, ch.ConstraintStructure([X, Y, Z], [Z.d(2) - g]))
    assert system.case == "above" and system.B.is_zero_matrix
    expected = ch.forms.zero_form(2)
    for q, row in ((X, FORM.rows[0]), (Y, FORM.rows[1])):
        expected = expected + (row + FORM.rows[2] * g.diff(q.d(2))).xreplace({Z.d(2): g}) * wedge(contact_form(q), DT)
    assert is_zero(system.alpha - expected)


@pytest.mark.erratum(
    "003", "(11.9)", r"second equality on $\mathcal{Q}$", r"on $\mathcal{P}$ only; on $\mathcal{Q}$ up to $(u_{s-1} - u_r)\,dt$"
)
def test_e8_eq_11_9_holds_on_p_only():
    """phi of order s - 1 minus phi_r = (u_{s-1} - u_r) dt: iota* phi = iota* p phi_r on Q, and = iota* phi_r only where u_r = 0 as well."""
    u = Y.d() - X.d() ** 2 * X
    low = ch.ConstraintStructure([X, Y], [u])
    high = ch.ConstraintStructure.of_rows([X, Y], [u], order=2)
    assert len(high.prolonged) == 1 and is_zero(high.prolonged[0] - u)
    (phi,), (phi_r,) = high.forms, low.forms
    raised = total_derivative(u)
    assert is_zero(phi - phi_r - (raised - u) * DT)
    on_q = {Y.d(2): sympy.solve(raised, Y.d(2))[0]}
    assert is_zero(pull_back(phi - (phi_r - horizontal_part(phi_r)), on_q)) is True
    assert is_zero(pull_back(phi - phi_r, on_q)) is False  # (11.9) as printed
    on_p = {**on_q, Y.d(): X.d() ** 2 * X}
    assert is_zero(pull_back(phi - phi_r, {z: e.xreplace(on_p) for z, e in on_p.items()})) is True


def test_constraints_below_the_phase_space():
    """A Lagrangian of second order with a first-order constraint: s = 4, r = 1, against the multiplier form by elimination."""
    form = DynamicalForm.of(ch.derive(ch.System("x y", lagrangian="(x''^2 + 2*y''^2)/2 - x^2*y'^2/2")))
    u = Y.d() - X * X.d()
    system = ch.constrain(form, ch.ConstraintStructure([X, Y], [u]))
    assert system.case == "below" and system.structure.order == 3 and len(system.structure.prolonged) == 2
    # E_x + x E_y = 0 with y' = x x' and its derivatives put in
    put = {Y.d(k): total_derivative(X * X.d(), k - 1) for k in (1, 2, 3, 4)}
    expected = (form.rows[0] + X * form.rows[1]).xreplace(put)
    assert is_zero(system.rows[0] - expected)


def test_11_6_holonomic_systems_are_pull_backs():
    """C_P = T J^{s-1} Q_0, and alpha_P = d theta of the pulled-back Lagrangian: the reduced rows are its Euler-Lagrange expressions."""
    lagrangian = "(x'^2 + 3*y'^2*(1 + x^2))/2 + t*x*y' - y^3"
    form = DynamicalForm.of(ch.derive(ch.System("x y", lagrangian=lagrangian)))
    structure = ch.ConstraintStructure([X, Y], [Y - X**2])
    assert all(is_zero(phi) for phi in structure.canonical_forms)
    put = {Y: X**2, Y.d(): 2 * X * X.d()}
    restricted = DynamicalForm.of(ch.derive(ch.System("x", lagrangian=form_lagrangian(lagrangian).xreplace(put))))
    assert is_zero(pulled_back(form, {Y: X**2}).rows[0] - restricted.rows[0])
    assert is_zero(ch.constrain(form, structure).rows[0] - restricted.rows[0])


def form_lagrangian(text):
    return ch.parse(text, coordinates="x y")


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_11_7_semiholonomic_constraints(degree):
    """f = d^p u/dt^p: the constraint 1-form is that of du at every degree, and the degree is found again."""
    u = Z - X**2 * Y + TIME * X
    structure = semiholonomic([X, Y, Z], [u], degree)
    (f,) = structure.rows
    assert structure.order == degree and semiholonomic_degree(f, [X, Y, Z]) == degree
    contact = d(u) - horizontal_part(d(u))
    (phi,) = structure.forms
    assert is_zero(phi - f * DT - contact)
    assert adapted(contact, 1).coefficient(Z) == 1


def test_a_regular_system_may_become_singular_and_conversely():
    """Remark in section 11: L = x' y' on y' = -x' ... and E with B singular on a constraint where B' is regular."""
    saddle = DynamicalForm("x y", ["-y''", "-x''"])
    light = ch.constrain(saddle, ch.ConstraintStructure([X, Y], [Y.d() - S.One]))
    assert Matrix([[0]]) == light.B
    half = DynamicalForm("x y", ["-x'' - x", "y - x"])
    assert half.B.det() == 0
    assert ch.constrain(half, ch.ConstraintStructure([X, Y], [Y.d() - Rational(1, 2) * X.d()])).B.det() != 0


def test_several_constraints_choose_a_regular_block():
    structure = ch.ConstraintStructure("x y z", ["x' + y'*0 = sin(z)*z'", "y' = cos(x)*z'"])
    assert structure.dependent == (0, 1)
    for i, j in itertools.product(range(2), repeat=2):
        assert structure.block[i, j] == (1 if i == j else 0)
