"""003, sections 2 to 5 and 8 to 11: single equations, typed from the paper, against the library's own objects."""

from math import comb

import numpy as np
import pytest
import sympy
from by_hand import TIME, d_dt
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.singular.dynamical.constrained_system import semiholonomic_degree
from chetaev.singular.forms import contact_form, d, equal, interior, is_zero, prolong, pull_back, rank, wedge

X, Y, Z = ch.coordinates("x y z")
R = sympy.Rational


def zero(e):
    return sympy.simplify(e) == 0


def total(forms):
    found = forms[0]
    for each in forms[1:]:
        found = found + each
    return found


# ---- sections 2 and 3 ------------------------------------------------------------------------------------------------------------------


def test_eq_2_1_contact_forms_vanish_along_jets_of_curves_and_only_they_do():
    """omega_j = dq_j - q_(j+1) dt, pulled back along t -> (t, c, c', c'', ...)."""
    curve = {X: sympy.sin(2 * TIME), Y: TIME**3 - TIME}
    along = {q.d(k): e.diff(TIME, k) for q, e in curve.items() for k in range(4)}
    for q in (X, Y):
        for j in range(3):
            form = contact_form(q.d(j))
            assert equal(form, d(q.d(j)) - q.d(j + 1) * d(TIME)) is True
            assert is_zero(pull_back(form, along)) is True
            assert is_zero(pull_back(d(q.d(j)), along)) is False


def test_eq_3_3_forms_are_affine_in_their_highest_derivatives():
    """E = A + B q_s; a form that is not affine is one of the next order, with B = 0."""
    form = ch.DynamicalForm("x y", ["x*x'' - 2*y''*x' + t*y^2", "y'*x'' + 3*y'' - x'^2"])
    assert form.order == 2
    assert sympy.Matrix([[X, -2 * X.d()], [Y.d(), 3]]) == form.B
    assert sympy.Matrix([TIME * Y**2, -(X.d() ** 2)]) == form.A
    bent = ch.DynamicalForm("x", ["x''^2 - x"])
    assert bent.order == 3 and sympy.Matrix([[0]]) == bent.B and sympy.Matrix([X.d(2) ** 2 - X]) == bent.A


def test_eq_3_8_and_3_9_a_lepage_form_of_order_zero_needs_an_antisymmetric_matrix():
    """alpha = A dq ^ dt + B/2 dq ^ dq on Y for s = 1, closed or not; its one-contact part is the form only if B is antisymmetric."""
    form = ch.DynamicalForm("x y", ["x*y' - y^2 + t", "-x*x' + 3*x*y"])
    lepage = form.lepage
    assert form.order == 1 and sympy.Matrix([[0, X], [-X, 0]]) == form.B
    typed = total([a * wedge(d(q), d(TIME)) for a, q in zip(form.A, (X, Y), strict=True)]) + R(1, 2) * total(
        [form.B[i, j] * wedge(d(p), d(q)) for i, p in enumerate((X, Y)) for j, q in enumerate((X, Y))]
    )
    assert equal(lepage.two_form, typed) is True
    other = ch.DynamicalForm("x y", ["x' + y'", "-x' + y"])  # not antisymmetric: of the next order, with B = 0 (remark 3.3)
    assert other.order == 2 and sympy.zeros(2, 2) == other.B


def test_eq_3_10_theorem_3_4_paths_are_the_curves_along_which_i_xi_alpha_vanishes():
    """J^(s-1)gamma^* i_xi alpha = 0 for all vertical xi exactly if E = 0 along gamma: a damped oscillator, and a curve that is none."""
    form = ch.DynamicalForm("x y", ["-x'' - 2*x' - 5*x + y*0", "-2*y'' + x'"])
    path = {X: sympy.exp(-TIME) * sympy.cos(2 * TIME)}
    path[Y] = sympy.integrate(path[X] / 2, TIME)
    other = {X: path[X], Y: path[Y] + TIME**2}
    for curve, solves in ((path, True), (other, False)):
        along = {q.d(k): e.diff(TIME, k) for q, e in curve.items() for k in range(3)}
        pulled = [pull_back(interior({z: sympy.S.One}, form.lepage.two_form), along) for z in form.phase]
        zeros = [zero(f.coefficient(TIME)) for f in pulled]
        assert all(zeros) is solves
        assert all(zero(row.subs(along, simultaneous=True)) for row in form.rows) is solves


# ---- section 5 -------------------------------------------------------------------------------------------------------------------------


def test_eq_5_8_and_5_9_ranks_of_the_matrices():
    """B and (B|A), F and (F|A): the ranks that `regularity` reports are those of the typed matrices at random points."""
    form = ch.DynamicalForm("x y", ["x'' + y'' - x", "x'' + y'' + y'^2"])
    found = ch.regularity(form)
    lepage = form.lepage
    values = {z: R(k + 2, 3) for k, z in enumerate([*form.phase, TIME])}
    B, A = form.B.subs(values), form.A.subs(values)
    assert (B.rank(), B.row_join(A).rank()) == (1, 2)
    F = sympy.zeros(4, 4)
    F[:2, 2:], F[2:, :2] = form.B, -form.B.T  # 2F^{01} = B, and F is antisymmetric under exchange of all indices
    assert lepage.F[:2, 2:] == F[:2, 2:] and lepage.F[2:, :2] == F[2:, :2]
    wide = lepage.F_and_A.subs(values)
    assert wide[:, :4] == lepage.F.subs(values) and list(wide[:, 4]) == [*A, 0, 0]
    assert {s.rank for s in found.proper.strata} == {1} and found.regular is False and found.weakly_regular is False
    assert lepage.F.subs(values).rank() == max(s.rank for s in found.extended.strata)


def test_eq_5_13_and_5_14_primary_constraint_sets():
    """rank B = rank (B|A) where the rows are solvable: x'' + y'' = x = -y'^2; there is no motion elsewhere."""
    form = ch.DynamicalForm("x y", ["x'' + y'' - x", "x'' + y'' + y'^2"])
    tree = ch.constraint_algorithm(form)
    step = tree.leaves[0].steps[0]
    on = sympy.solve(list(step), [X], dict=True)[0]
    assert zero(on[X] + Y.d() ** 2)
    for point, expected in (({X: -4, Y.d(): 2, X.d(): 1, Y: 3}, True), ({X: -3, Y.d(): 2, X.d(): 1, Y: 3}, False)):
        B, A = form.B.subs(point), form.A.subs(point)
        assert (B.rank() == B.row_join(A).rank()) is expected
        assert all(zero(e.subs(point)) for e in step) is expected
    extended = ch.constraint_algorithm(form, dynamics="extended")
    first = extended.leaves[0].steps[0] if extended.leaves and extended.leaves[0].steps else ()
    F = form.lepage.F
    at = {X: R(-3), Y.d(): R(2), X.d(): R(1), Y: R(3)}
    solvable = F.subs(at).rank() == form.lepage.F_and_A.subs(at).rank()
    assert all(zero(e.subs(at)) for e in first) is solvable


def test_eq_5_15_the_semispray_of_a_regular_form():
    """d/dt + q_1 d/dq - B^{-1} A d/dq_1, and `regularity` says regular; the leaf of the algorithm has the same rates."""
    form = ch.DynamicalForm("x y", ["2*x'' + x*y'' - x'*y", "y'' - 3*x + t"])
    assert ch.regularity(form).regular is True
    typed = -form.B.inv() * form.A
    (leaf,) = ch.constraint_algorithm(form).leaves
    assert zero(leaf.field["x'"] - typed[0]) and zero(leaf.field["y'"] - typed[1])
    assert zero(typed[1] - (3 * X - TIME)) and zero(typed[0] - (X.d() * Y - X * (3 * X - TIME)) / 2)


# ---- section 8 -------------------------------------------------------------------------------------------------------------------------

LAGRANGIAN = X.d(2) ** 2 / 2 + TIME * X * Y.d(2) + Y.d() ** 2 * X.d() - X**2 * Y
"""Of second order, with time, and linear in y''."""


def euler_lagrange(lagrangian, coordinates, order):
    """E_sigma in the sign of the paper: sum (-1)^k D^k dL/dq_k."""
    return [sympy.expand(sum((-1) ** k * d_dt(lagrangian.diff(q.d(k)), k) for k in range(order + 1))) for q in coordinates]


def test_eq_8_2_and_8_3_the_closed_form_of_a_variational_system():
    """alpha = E omega ^ dt + F omega_j ^ omega_k with F of (8.3), typed; the Lepagean equivalent of a Lagrangian is this form."""
    rows = euler_lagrange(LAGRANGIAN, (X, Y), 2)
    s = 4
    found = ch.lepagean_equivalent(LAGRANGIAN, [X, Y]).alpha

    def entry(i, j, k, m):
        q = ((X, Y)[i], (X, Y)[m])
        terms = [(-1) ** (j + n) * comb(j + n, n) * d_dt(rows[i].diff(q[1].d(j + k + n + 1)), n) for n in range(s - j - k)]
        return sympy.expand(sum(terms) / 2)

    typed = total([e * wedge(contact_form(q), d(TIME)) for e, q in zip(rows, (X, Y), strict=True)])
    for i, p in enumerate((X, Y)):
        for m, q in enumerate((X, Y)):
            for j in range(s):
                for k in range(s - j):
                    typed = typed + entry(i, j, k, m) * wedge(contact_form(p.d(j)), contact_form(q.d(k)))
                    assert zero(entry(i, j, k, m) + entry(m, k, j, i)), "F is antisymmetric"
    assert equal(found, typed) is True


def test_eq_8_4_vainbergs_and_tontis_lagrangian():
    """L = q int_0^1 E(t, u q, u q_1, ...) du, integrated by hand for a cubic and a linear term."""
    rows = [-2 * X.d(2) - 3 * X**2 * Y, -Y.d(4) - X**3 + TIME]
    found = ch.tonti_lagrangian([X, Y], rows)
    typed = -X * X.d(2) - R(3, 4) * X**3 * Y + Y * (-Y.d(4) / 2 - X**3 / 4 + TIME)
    assert zero(found.lagrangian - typed)
    again = euler_lagrange(typed, (X, Y), 4)
    assert all(zero(a - b) for a, b in zip(again, rows, strict=True))


def test_eq_8_5_to_8_13_canonical_form_momenta_and_hamiltonian():
    """rho = -H dt + p_k dq_k + df: momenta and H of fewer jets, with alpha = d rho; H of (8.13) from Tonti's Lagrangian and f."""
    rows = euler_lagrange(LAGRANGIAN, (X, Y), 2)
    form = ch.DynamicalForm([X, Y], rows)
    found = ch.reduce_order(form)
    assert found.order == 2 and found.verified is True
    p, hamiltonian = found.momenta, found.hamiltonian
    rho = -hamiltonian * d(TIME) + total([e * d(z) for z, e in p.items()])  # (8.7) without df
    alpha = ch.lepagean_equivalent(LAGRANGIAN, [X, Y]).alpha
    assert equal(d(rho), alpha) is True  # (8.5)
    assert {z.name for z in p} == {"x", "y", "x'", "y'"}  # k <= s - c - 1 = 1
    # (8.13): H = -L_Tonti + sum p q_(k+1) + df/dt with the f that Tonti's Lagrangian loses
    tonti = ch.tonti_lagrangian([X, Y], rows).lagrangian
    lost = tonti - found.lagrangian
    assert all(zero(e) for e in euler_lagrange(lost, (X, Y), 4))
    assert zero(hamiltonian + tonti - sum(e * z.d() for z, e in p.items()) - lost)


def test_eq_8_14_and_8_15_the_lagrangian_of_minimal_order():
    """lambda_min = lambda - h df: a second-order Lagrangian with a hidden derivative is of first order; momenta by (8.15)."""
    hidden = X * Y.d() * TIME + X**2 * Y
    lagrangian = X.d() ** 2 / 2 + X * Y.d() ** 2 + d_dt(hidden)
    found = ch.reduce_order(ch.System([X, Y], lagrangian=lagrangian))
    assert found.order == 1 and found.minimal
    assert zero(lagrangian - found.lagrangian - d_dt(found.removed))
    for q in (X, Y):
        assert zero(found.momenta[q] - found.lagrangian.diff(q.d()))
    second = ch.reduce_order(ch.DynamicalForm([X, Y], euler_lagrange(LAGRANGIAN, (X, Y), 2)))
    for q in (X, Y):
        least = second.lagrangian
        assert zero(second.momenta[q.d()] - least.diff(q.d(2)))
        assert zero(second.momenta[q] - least.diff(q.d()) + d_dt(least.diff(q.d(2))))


# ---- section 9 -------------------------------------------------------------------------------------------------------------------------


def test_eq_9_5_the_distribution_on_the_set_where_q2_vanishes():
    """d/dt + q1' d/dq1 + q3' d/dq3 and d/dq2' span the distribution of Cawley's system on q2 = 0, within its tangent space."""
    form = ch.DynamicalForm.of(ch.gallery("cawley"))
    q1, q2, q3 = form.coordinates
    typed = [{TIME: sympy.S.One, q1: q1.d(), q3: q3.d()}, {q2.d(): sympy.S.One}]
    on = {q2: sympy.S.Zero}
    for field in typed:
        assert q2 not in field  # tangent to q2 = 0
        for annihilating in form.lepage.dynamical_annihilator():
            assert zero(interior(field, annihilating).coefficient().subs(on))


# ---- sections 10 and 11 ------------------------------------------------------------------------------------------------------------------

G = X.d() ** 2 * Y + Y.d() * TIME - X
FORM = ["(2 + x^2)*x'' + 3*y''*z - x*y' + t", "x''/2 - (3 + z'^2)*y'' + z''*x - y^2*z'", "y''*x' + 2*z'' + x*y*z - 1"]


def test_eq_10_1_to_10_3_constraints_and_normal_charts():
    """Rows f = 0 of rank k, solved for k highest derivatives; dependent rows and rows without highest derivatives are refused."""
    structure = ch.ConstraintStructure([X, Y, Z], [Z.d() - G])
    assert structure.slopes == sympy.Matrix([[-2 * X.d() * Y, -TIME, 1]])
    assert structure.slopes.rank() == 1 and structure.corank == 1
    assert structure.solved == {Z.d(): sympy.expand(G)} or zero(structure.solved[Z.d()] - G)
    with pytest.raises(ch.ModelError):
        ch.ConstraintStructure([X, Y, Z], [Z.d() - G, 2 * Z.d() - 2 * G])


def test_eq_10_6_the_constraint_form_feels_the_highest_slopes():
    """i_{J xi} phi = i_{F(xi)} df for vertical xi, on a structure made here, and not for the plain differential in place of F."""
    structure = ch.ConstraintStructure([X, Y, Z], [Z.d() - G])
    (phi,) = structure.forms
    f = Z.d() - G
    for q, a in [(X, X * Y), (Y, Z**2 + TIME), (Z, sympy.S.One)]:
        lifted = prolong({q: a}, [X, Y, Z], 1)
        assert is_zero(interior(lifted, phi) - interior({q.d(): a}, d(f))) is True
    assert is_zero(interior(prolong({X: X * Y}, [X, Y, Z], 1), d(f)) - interior({X.d(): X * Y}, d(f))) is False


def test_eq_11_4_generators_of_the_constraint_codistribution():
    """phi = (q_1^z - g) dt - g_{x'} omega^x - g_{y'} omega^y + omega^z."""
    (phi,) = ch.ConstraintStructure([X, Y, Z], [Z.d() - G]).forms
    typed = (Z.d() - G) * d(TIME) - G.diff(X.d()) * contact_form(X) - G.diff(Y.d()) * contact_form(Y) + contact_form(Z)
    assert equal(phi, typed) is True


def third_order():
    """A form of third order under a constraint of first order: r = 1 < s - 1 = 2."""
    rows = ["D(x,3) + y*x'' - x'", "2*D(y,3) - x*y'' + t", "D(z,3) + x' - y"]
    return ch.constrain(ch.DynamicalForm("x y z", rows), ch.ConstraintStructure("x y z", ["z' - x*y' = t*x'"]))


def test_eq_11_8_prolonged_constraints():
    """u = 0 and du/dt = 0 on the phase space of second order."""
    found = third_order()
    assert found.case == "below"
    x, y, z = found.form.coordinates
    u = z.d() - x * y.d() - TIME * x.d()
    assert [sympy.expand(e - u) for e in found.structure.prolonged] == [0]
    assert [sympy.expand(e - d_dt(u)) for e in found.structure.rows] == [0]


def test_eq_11_10_to_11_13_the_system_on_the_prolonged_constraint():
    """The induced distribution, and i_xi alpha = 0 for vertical xi in it along a solution of multiplier equations by hand."""
    found = third_order()
    x, y, z = found.form.coordinates
    # (11.11): the forms that annihilate it are those of the first-order constraint
    typed = contact_form(z) - x * contact_form(y) - TIME * contact_form(x)
    (phi,) = found.structure.canonical_forms
    assert is_zero(pull_back(typed - phi, found.structure.solved or {})) is True
    # (11.10): dimension of J^2 (1 + 9) - 2 rows, minus 1 form
    assert rank(found.structure.canonical) == 10 - 2 - 1
    # (11.13): E_x + t*E_z = 0 and E_y + x*E_z = 0, with z''' from D^2 u; by hand
    ex, ey, ez = found.form.rows
    third = sympy.solve(d_dt(z.d() - x * y.d() - TIME * x.d(), 2), z.d(3))[0]
    wanted = [(ex + TIME * ez).subs(z.d(3), third), (ey + x * ez).subs(z.d(3), third)]
    chance = np.random.default_rng(4)
    symbols = sorted({s for e in [*wanted, *found.rows] for s in e.free_symbols}, key=str)
    values = {s: R(int(chance.integers(-9, 9)), 4) for s in symbols}
    for s, e in (found.structure.solved or {}).items():
        values[s] = e.subs(values)
    tops = [x.d(3), y.d(3)]
    ours = sympy.solve([e.subs({k: v for k, v in values.items() if k not in tops}) for e in found.rows], tops)
    theirs = sympy.solve([e.subs({k: v for k, v in values.items() if k not in tops}) for e in wanted], tops)
    assert ours == theirs and len(ours) == 2
    motion = ch.simulate(
        ch.derive(found), {"x": 0.3, "y": 0.2, "z": 0.1, "x'": 0.4, "y'": -0.3, "x''": 0.2, "y''": 0.5}, (0, 0.5), tolerance=1e-11
    )
    solved = sympy.solve(wanted, tops)
    rates = sympy.lambdify([TIME, x, y, z, x.d(), y.d(), x.d(2), y.d(2)], [solved[x.d(3)], solved[y.d(3)]])

    def rhs(t, s):
        a = rates(t, *s)
        return [s[3], s[4], s[1 - 1] * s[4] + t * s[3], s[5], s[6], *a]

    end = solve_ivp(rhs, (0, 0.5), [0.3, 0.2, 0.1, 0.4, -0.3, 0.2, 0.5], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert [motion[n][-1] for n in ("x", "y", "z", "x'", "y'")] == pytest.approx(end[:5], abs=1e-9)


def test_eq_11_14_holonomic_constraints():
    """rank u_q = k; a holonomic row has degree 1 in the prolonged row, and the reduced rows are those of the pulled-back form."""
    form = ch.DynamicalForm("x y z", FORM)
    u = Z - X * Y - TIME
    found = ch.constrain(form, ch.ConstraintStructure("x y z", [u]))
    assert sympy.Matrix([[u.diff(q) for q in (X, Y, Z)]]).rank() == 1
    assert semiholonomic_degree(d_dt(u), (X, Y, Z)) == 1
    (phi,) = found.structure.canonical_forms
    typed = contact_form(Z) - Y * contact_form(X) - X * contact_form(Y)
    values = found.structure.solved or {}
    assert is_zero(pull_back(typed, values) - pull_back(phi, values)) is True
