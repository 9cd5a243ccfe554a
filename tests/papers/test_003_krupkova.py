"""Differential systems in higher-order mechanics (Krupková), the equations of its sections 8, 9 and 11.

The right-hand sides are typed from the paper. Its expressions are E_sigma = sum_k (-1)^k D^k dL/dq_k, the negative of the library's rows.
Where the paper is misprinted or wrong, a test shows that the printed form fails and that the corrected one holds.
"""

import random
from functools import cache

import pytest
import sympy
from by_hand import TIME, close, d_dt, gap, solved, states, value

import chetaev as ch

X, Y, Z, Q = ch.coordinates("x y z q")
Q1, Q2, Q3 = ch.coordinates("q1 q2 q3")

# Lagrangians by the order s of their equations: s = 1 (affine in the velocities), 2, 3, 4 and 6.
LAGRANGIANS = {
    1: "x^2*y*y' - y^2*x'/3 - x*y^3 + t*x^2",
    2: "(1 + y^2)*x'^2/2 + x'*y'*x/3 + y'^3/6 + y'^2 - x*y^2*t",
    3: "x''*y' + x'^2*y^2/2 - x*y^2",
    4: "(1 + y^2)*x''^2/2 + x''*y''*x'/3 + y''^2 - x*y'^3 + t*x*y",
    6: "x'''^2*(2 + y)/2 + y'''^2 - x''*y'^2 + x*y^2",
}


# ---- tools ------------------------------------------------------------------------------------------------------------------------


def expression(lagrangian, q):
    """E_sigma = sum_k (-1)^k D^k dL/dq_k."""
    top = max((z.order for z in lagrangian.free_symbols if getattr(z, "base", None) == q.base), default=0)
    return sympy.Add(*[(-1) ** k * d_dt(lagrangian.diff(q.d(k)), k) for k in range(top + 1)])


def same(a, b):
    """Whether two expressions are identical."""
    return sympy.expand(a - b) == 0


def forms(equations):
    """The paper's E_sigma from the library: minus the rows."""
    return [-row.residual for row in equations.rows]


@cache
def general(order):
    """E_sigma of a general example with equations of this order."""
    return tuple(forms(ch.derive(ch.System("x y", lagrangian=LAGRANGIANS[order]))))


@cache
def gallery(name):
    return ch.derive(ch.gallery(name))


def order_of(expressions):
    return max(z.order for e in expressions for z in e.free_symbols if hasattr(z, "base"))


# ---- section 8: Lagrangian systems ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", LAGRANGIANS)
def test_section_8_sign_of_the_euler_lagrange_expressions(order):
    """E_sigma = sum_k (-1)^k D^k dL/dq_k is minus the library's row, at every order."""
    lagrangian = ch.parse(LAGRANGIANS[order], coordinates="x y")
    assert order_of(general(order)) == order
    for q, e in zip((X, Y), general(order), strict=True):
        assert same(expression(lagrangian, q), e)
        assert not same(expression(lagrangian, q), -e)


def eq_8_1(forms, coordinates, s):
    """All Anderson-Duchamp-Krupka expressions of a dynamical form."""
    e = dict(zip(coordinates, forms, strict=True))
    for sigma in coordinates:
        for nu in coordinates:
            for k in range(s + 1):
                later = [(-1) ** j * sympy.binomial(j, k) * d_dt(e[nu].diff(sigma.d(j)), j - k) for j in range(k + 1, s + 1)]
                yield e[sigma].diff(nu.d(k)) - (-1) ** k * e[nu].diff(sigma.d(k)) - sympy.Add(*later)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_eq_8_1_variationality_of_derived_rows(order):
    """(8.1) holds for the rows of every Lagrangian."""
    assert all(sympy.expand(e) == 0 for e in eq_8_1(general(order), (X, Y), order))


def test_eq_8_1_fails_for_rows_with_friction():
    """(8.1) fails for x'' + x' + x = 0, which has no Lagrangian in this form."""
    rows = forms(ch.derive(ch.System("x", lagrangian="(x'^2 - x^2)/2", dissipation="x'^2/2")))
    assert max(abs(e) for e in eq_8_1(rows, (X,), 2)) == 2


def lepage(forms, coordinates, s, j, k):
    """The matrix F^{jk} of (8.3)."""

    def entry(e, nu):
        return sympy.Add(
            *[(-1) ** (j + i) * sympy.binomial(j + i, i) * d_dt(e.diff(nu.d(j + k + i + 1)), i) for i in range(s - j - k)]
        ) / sympy.Integer(2)

    return sympy.Matrix([[sympy.expand(entry(e, nu)) for nu in coordinates] for e in forms])


def top_matrix(forms, coordinates, s):
    """B_{sigma nu} = dE_sigma/dq_s^nu."""
    return sympy.Matrix([[sympy.expand(e.diff(nu.d(s))) for nu in coordinates] for e in forms])


def test_eq_8_3_antisymmetry():
    """(8.2), (8.3): F^{jk}_{sigma nu} = -F^{kj}_{nu sigma} for variational rows."""
    for s in (2, 3, 4):
        for j in range(s):
            for k in range(s - j):
                both = lepage(general(s), (X, Y), s, j, k) + lepage(general(s), (X, Y), s, k, j).T
                assert both.expand() == sympy.zeros(2, 2)


def test_section_8_6_rows_are_affine_in_their_highest_derivatives():
    """Corollary 8.6: E = A + B q_s, with B symmetric for even s and antisymmetric for odd s."""
    for s in LAGRANGIANS:
        b = top_matrix(general(s), (X, Y), s)
        assert order_of([X, *b]) < s
        assert (b.T - (-1) ** s * b).expand() == sympy.zeros(2, 2) and b != sympy.zeros(2, 2)


def test_section_8_6_printed_lepage_coefficients_miss_one_half():
    """Corollary 8.6: F^{j, s-1-j} = (-1)^j B/2; printed without the factor 1/2."""
    for s in (2, 3, 4):
        b = top_matrix(general(s), (X, Y), s)
        for j in range(s):
            f = lepage(general(s), (X, Y), s, j, s - 1 - j)
            assert (2 * f - (-1) ** j * b).expand() == sympy.zeros(2, 2)
            assert max(gap(e, 0) for e in f - (-1) ** j * b) > 1e-3


def scaled(e, u):
    """e with all jets multiplied by u."""
    return e.xreplace({z: u * z for z in e.free_symbols if hasattr(z, "base")})


def vainberg_tonti(forms, coordinates):
    """(8.4): L = q^sigma times the integral of E_sigma(t, u q, ..., u q_s) over u from 0 to 1."""
    u = sympy.Symbol("u")
    return sympy.Add(*[q * sympy.integrate(sympy.expand(scaled(e, u)), (u, 0, 1)) for q, e in zip(coordinates, forms, strict=True)])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_eq_8_4_vainberg_tonti_lagrangian(order):
    """(8.4) gives a Lagrangian with the same rows, of the same order as the rows."""
    lagrangian = vainberg_tonti(general(order), (X, Y))
    for a, b in zip(forms(ch.derive(ch.System("x y", lagrangian=lagrangian))), general(order), strict=True):
        assert same(a, b)


@pytest.mark.parametrize("name", ["krupkova", "cawley", "pais-uhlenbeck"])
def test_eq_8_4_vainberg_tonti_lagrangian_of_the_gallery(name):
    """(8.4) for the singular systems of section 9 and for the fourth-order oscillator."""
    system = gallery(name).system
    lagrangian = vainberg_tonti(forms(gallery(name)), system.coordinates)
    again = ch.derive(system.replace(lagrangian=lagrangian))
    assert all(same(a, b) for a, b in zip(forms(again), forms(gallery(name)), strict=True))


def weight(e):
    """The integral of e(u q, u q_1, ...) u over u from 0 to 1."""
    u = sympy.Symbol("u")
    return sympy.integrate(sympy.expand(scaled(sympy.sympify(e), u)) * u, (u, 0, 1))


def lepage_weights(forms, coordinates, s, k):
    """The sum over j of 2 q_j^sigma times the weight of F^{jk}_{sigma nu}, by nu."""
    total = sympy.zeros(1, len(coordinates))
    for j in range(s - k):
        f = lepage(forms, coordinates, s, j, k).applyfunc(weight)
        total += 2 * sympy.Matrix([[q.d(j) for q in coordinates]]) * f
    return total


def eq_8_9(forms, coordinates, s):
    """The function f, with the gauge function phi = 0."""
    v, half = sympy.Symbol("v"), s - s // 2
    total = sympy.S.Zero
    for k in range(half, s):
        for nu, w in zip(coordinates, lepage_weights(forms, coordinates, s, k), strict=True):
            high = {z: v * z for z in w.free_symbols if hasattr(z, "base") and z.order >= half}
            total += nu.d(k) * sympy.integrate(sympy.expand(w.xreplace(high)), (v, 0, 1))
    return sympy.expand(total)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_eq_8_14_minimal_order_lagrangian(order):
    """(8.14): L - df/dt with f of (8.9) has the same rows and the order s/2, or (s + 1)/2 for odd s."""
    f = eq_8_9(general(order), (X, Y), order)
    minimal = sympy.expand(vainberg_tonti(general(order), (X, Y)) - d_dt(f))
    assert order_of([minimal]) == (order + 1) // 2
    for a, b in zip(forms(ch.derive(ch.System("x y", lagrangian=minimal))), general(order), strict=True):
        assert same(a, b)


OSCILLATOR_L = "(q''^2 - (w1^2 + w2^2)*q'^2 + w1^2*w2^2*q^2)/2"
OSCILLATOR_P = ("-(w1^2 + w2^2)*q' - q'''", "q''")
OSCILLATOR_H = "q''^2/2 - q'*q''' - (w1^2 + w2^2)*q'^2/2 - w1^2*w2^2*q^2/2"


def oscillator(text):
    return ch.parse(text, gallery("pais-uhlenbeck"))


def test_section_8_pais_uhlenbeck_equation():
    """E = q'''' + (w1^2 + w2^2) q'' + w1^2 w2^2 q; the library's row is minus that."""
    paper = oscillator("D(q, 4) + (w1^2 + w2^2)*q'' + w1^2*w2^2*q")
    assert same(forms(gallery("pais-uhlenbeck"))[0], paper)


def test_eq_8_15_momenta_of_the_oscillator():
    """(8.15): p^0 = dL/dq' - D dL/dq'', p^1 = dL/dq''; the row is D p^0 - dL/dq."""
    lagrangian = oscillator(OSCILLATOR_L)
    first, second = (oscillator(text) for text in OSCILLATOR_P)
    assert same(lagrangian.diff(Q.d(2)), second)
    assert same(lagrangian.diff(Q.d()) - d_dt(lagrangian.diff(Q.d(2))), first)
    assert same(d_dt(first) - lagrangian.diff(Q), gallery("pais-uhlenbeck").rows[0].residual)


def test_eq_8_15_hamiltonian_of_the_oscillator():
    """(8.15): H = -L + p^0 q' + p^1 q''; it is the model's conserved energy."""
    built = oscillator(f"-{OSCILLATOR_L} + ({OSCILLATOR_P[0]})*q' + ({OSCILLATOR_P[1]})*q''")
    assert same(built, oscillator(OSCILLATOR_H))


def test_section_8_14_energy_balance_of_the_oscillator():
    """dH/dt = -q' E with the paper's sign of E, so dH/dt = +q' times the library's row."""
    change = d_dt(oscillator(OSCILLATOR_H))
    assert same(change, -Q.d() * forms(gallery("pais-uhlenbeck"))[0])
    assert same(change, Q.d() * gallery("pais-uhlenbeck").rows[0].residual)


def test_eq_8_11_and_8_14_total_energy_of_the_oscillator():
    """Remark 8.14: H from E alone, without a Lagrangian, is the Hamiltonian of (8.15)."""
    e = forms(gallery("pais-uhlenbeck"))
    total = -vainberg_tonti(e, (Q,))
    for k in range(4):
        total += Q.d(k + 1) * lepage_weights(e, (Q,), 4, k)[0]
    assert same(total, oscillator(OSCILLATOR_H))


def test_eq_8_10_momenta_of_the_oscillator():
    """(8.10): the momenta from E and f are those of (8.15) for the minimal Lagrangian of (8.14), here L itself up to a derivative."""
    e = forms(gallery("pais-uhlenbeck"))
    f = eq_8_9(e, (Q,), 4)
    minimal = sympy.expand(vainberg_tonti(e, (Q,)) - d_dt(f))
    momenta = [lepage_weights(e, (Q,), 4, k)[0] - f.diff(Q.d(k)) for k in (0, 1)]
    assert same(momenta[1], minimal.diff(Q.d(2)))
    assert same(momenta[0], minimal.diff(Q.d()) - d_dt(minimal.diff(Q.d(2))))


def test_eq_8_5_hamilton_equations_of_the_oscillator():
    """(8.5): with H = p0 q' + p1^2/2 + (w1^2 + w2^2) q'^2/2 - w1^2 w2^2 q^2/2 the motion obeys Hamilton's equations."""
    parameters = {"w1": 1.7, "w2": 1.0}
    for state in states("q q' q'' q'''"):
        now = ch.evaluate(gallery("pais-uhlenbeck"), state, parameters=parameters)
        rate_0 = value(d_dt(oscillator(OSCILLATOR_P[0])), {**now, **parameters})
        rate_1 = value(d_dt(oscillator(OSCILLATOR_P[1])), {**now, **parameters})
        assert close(rate_0, now["w1^2*w2^2*q"])  # -dH/dq
        assert close(rate_1, now[f"-({OSCILLATOR_P[0]}) - (w1^2 + w2^2)*q'"])  # -dH/dq'


def test_section_8_10_affine_lagrangian_gives_a_regular_first_order_system():
    """8.10 (ii): L = f + g_nu q'^nu with regular dg_nu/dq^sigma - dg_sigma/dq^nu determines the velocities."""
    lagrangian = ch.parse("x^2*y' - y*x' - x*y^2 + x^3/3", coordinates="x y")
    equations = ch.derive(ch.System("x y", lagrangian=lagrangian))
    curl = [lagrangian.diff(q, p.d()) - lagrangian.diff(q.d(), p) for q in (X, Y) for p in (X, Y)]
    rest = lagrangian.xreplace({X.d(): 0, Y.d(): 0})
    rows = [rest.diff(X) + curl[0] * X.d() + curl[1] * Y.d(), rest.diff(Y) + curl[2] * X.d() + curl[3] * Y.d()]
    for state in states("x y"):
        now, expected = ch.evaluate(equations, state), solved(rows, [X.d(), Y.d()], state)
        assert all(close(now[name], v) for name, v in expected.items())


def test_section_8_9_odd_number_of_first_order_rows_is_never_regular():
    """For odd m s the matrix B is antisymmetric of odd size: three coordinates with an affine Lagrangian leave the motion open."""
    equations = ch.derive(ch.System("x y z", lagrangian="x*y' + z^2*x' - y*z*x + z'*y^2"))
    assert sympy.expand(top_matrix(forms(equations), (X, Y, Z), 1).det()) == 0
    with pytest.raises(ch.ChetaevError):
        ch.evaluate(equations, {"x": 0.4, "y": 0.7, "z": -0.6})


# ---- section 5: rank conditions, from the library's rows ------------------------------------------------------------------------------


def matrices(equations, point):
    """The matrices B, (B|A), F, (F|A) of (5.8), (5.9) at a point, for second-order rows."""
    coordinates, e = equations.system.coordinates, forms(equations)
    m = len(coordinates)
    b = top_matrix(e, coordinates, 2)
    a = sympy.Matrix([x.xreplace({q.d(2): sympy.S.Zero for q in coordinates}) for x in e])
    blocks = [[lepage(e, coordinates, 2, i, k) * 2 for k in (0, 1)] for i in (0, 1)]
    blocks[1][1] = sympy.zeros(m, m)
    f = sympy.Matrix(sympy.BlockMatrix(blocks))
    wide = f.row_join(a.col_join(sympy.zeros(m, 1)))
    return [matrix.xreplace({z: sympy.Rational(v) for z, v in point.items()}) for matrix in (b, b.row_join(a), f, wide)]


def ranks(equations, point):
    return [matrix.rank() for matrix in matrices(equations, point)]


def points(coordinates, zero=()):
    """A random rational point of J^1, with some jets zero."""
    chance = random.Random(7)
    jets = [q.d(k) for q in coordinates for k in (0, 1)]
    return {z: sympy.S.Zero if z in zero else sympy.Rational(chance.randint(1, 9), chance.randint(2, 7)) for z in jets}


# ---- section 9.1 ------------------------------------------------------------------------------------------------------------------------


def krupkova(text):
    return ch.parse(text, gallery("krupkova"))


def test_eq_9_1_equations():
    """(9.1): E_1 = q1 q2 - q1'', E_2 = q1^2/2."""
    assert same(gallery("krupkova").system.lagrangian, krupkova("(q1'^2 + q1^2*q2)/2"))
    for e, text in zip(forms(gallery("krupkova")), ["q1*q2 - q1''", "q1^2/2"], strict=True):
        assert same(e, krupkova(text))


def test_section_9_1_hamiltonian():
    """p_1 = q1', p_2 = 0, H = (q1'^2 - q1^2 q2)/2, and dH/dt = -q' E."""
    lagrangian, hamiltonian = krupkova("(q1'^2 + q1^2*q2)/2"), krupkova("(q1'^2 - q1^2*q2)/2")
    assert same(lagrangian.diff(Q1.d()), Q1.d()) and lagrangian.diff(Q2.d()) == 0
    assert same(Q1.d() * lagrangian.diff(Q1.d()) - lagrangian, hamiltonian)
    e = forms(gallery("krupkova"))
    assert same(d_dt(hamiltonian), -Q1.d() * e[0] - Q2.d() * e[1])


def test_section_9_1_primary_constraint_is_q1():
    """rank F = rank (F|A), and rank B = rank (B|A), if and only if q1 = 0."""
    generic, special = points((Q1, Q2)), points((Q1, Q2), zero=(Q1,))
    assert ranks(gallery("krupkova"), generic) == [1, 2, 2, 3]
    assert ranks(gallery("krupkova"), special) == [1, 1, 2, 2]


def test_eq_9_2_every_motion_in_q1_zero():
    """(9.2): q1 = q1' = 0 with any q2, q2', q2'' satisfies the rows; q1 different from zero does not."""
    for state in states("q2 q2' q2''"):
        on = ch.residual(gallery("krupkova"), {**state, "q1": 0, "q1'": 0, "q1''": 0})
        off = ch.residual(gallery("krupkova"), {**state, "q1": 0.5, "q1'": 0, "q1''": 0.5 * state["q2"]})
        assert set(on.values()) == {0.0} and abs(off["E_q2"]) > 1e-3


def test_section_9_1_secondary_constraint_is_the_velocity():
    """q1 = 0 along a motion implies q1' = 0: the second derivative of E_2 = q1^2/2 is q1'^2 at q1 = 0."""
    twice = d_dt(forms(gallery("krupkova"))[1], 2)
    assert same(twice.xreplace({Q1: sympy.S.Zero}), krupkova("q1'^2"))


def test_section_9_1_motion_is_not_determined():
    """The accelerations are indeterminate, and the library says so."""
    with pytest.raises(ch.StateError):
        ch.evaluate(gallery("krupkova"), {"q1": 0, "q1'": 0, "q2": 0.4, "q2'": -0.3})


# ---- section 9.2: Cawley's Lagrangian --------------------------------------------------------------------------------


def cawley(text):
    return ch.parse(text, gallery("cawley"))


def test_eq_9_3_equations():
    """(9.3): E = (-q3'', q2 q3, q2^2/2 - q1'') for L = q1' q3' + q2^2 q3/2, Cawley's Lagrangian (printed Cayley's)."""
    assert same(gallery("cawley").system.lagrangian, cawley("q1'*q3' + q2^2*q3/2"))
    for e, text in zip(forms(gallery("cawley")), ["-q3''", "q2*q3", "q2^2/2 - q1''"], strict=True):
        assert same(e, cawley(text))


def test_section_9_2_split_of_the_expressions():
    """E = A + B q'' with A = (0, q2 q3, q2^2/2) and B = -1 at (1,3) and (3,1); 2 F^{00} = 0."""
    coordinates, e = (Q1, Q2, Q3), forms(gallery("cawley"))
    assert top_matrix(e, coordinates, 2) == sympy.Matrix([[0, 0, -1], [0, 0, 0], [-1, 0, 0]])
    assert [x.xreplace({q.d(2): sympy.S.Zero for q in coordinates}) for x in e] == [0, Q2 * Q3, Q2**2 / 2]
    assert lepage(e, coordinates, 2, 0, 0) == sympy.zeros(3, 3)


def test_section_9_2_first_integral_and_energy():
    """q3' is a first integral, and H = q1' q3' - q2^2 q3/2 obeys dH/dt = -q' E."""
    e = forms(gallery("cawley"))
    assert same(d_dt(Q3.d()), -e[0])
    assert same(d_dt(cawley("q1'*q3' - q2^2*q3/2")), -sympy.Add(*[q.d() * x for q, x in zip((Q1, Q2, Q3), e, strict=True)]))


def test_section_9_2_ranks_agree_iff_q2_q3_vanishes():
    """rank F = rank (F|A) iff q2 q3 = 0; the same for B and (B|A)."""
    everything = (Q1, Q2, Q3)
    assert ranks(gallery("cawley"), points(everything)) == [2, 3, 4, 5]
    assert ranks(gallery("cawley"), points(everything, zero=(Q2,))) == [2, 2, 4, 4]
    assert ranks(gallery("cawley"), points(everything, zero=(Q3,))) == [2, 2, 4, 4]


@pytest.mark.erratum(
    "003", "section 9.2", r"ranks agree iff $q^2\dot q^3 = 0$; $M_x = \{\dot q^3 = 0\}$", r"iff $q^2q^3 = 0$; $M_x = \{q^3 = 0\}$"
)
def test_section_9_2_printed_rank_condition_fails():
    """Printed: iff q2 q3' = 0. At (q2, q3, q3') = (2, 3, 0) that holds and the ranks are 4, 5; at (2, 0, 5) it does not: 4, 4."""
    inside = {**points((Q1, Q2, Q3)), Q2: 2, Q3: 3, Q3.d(): 0}
    outside = {**points((Q1, Q2, Q3)), Q2: 2, Q3: 0, Q3.d(): 5}
    assert inside[Q2] * inside[Q3.d()] == 0 and ranks(gallery("cawley"), inside)[2:] == [4, 5]
    assert outside[Q2] * outside[Q3.d()] != 0 and ranks(gallery("cawley"), outside)[2:] == [4, 4]


def test_eq_9_4_secondary_constraint_on_q3_zero():
    """On q3 = 0 with q2 different from zero the derivative of q2 q3 = 0 leaves q2 q3' = 0, so q3' = 0; that part of 9.2 is right."""
    once = d_dt(forms(gallery("cawley"))[1])
    assert same(once.xreplace({Q3: sympy.S.Zero}), cawley("q2*q3'"))
    assert same(once.xreplace({Q2: sympy.S.Zero}), cawley("q2'*q3"))


def test_eq_9_7_regular_branch():
    """(9.7): on q2 = q2' = 0 the field d/dt + q1' d/dq1 + q3' d/dq3 is a motion: uniform and straight."""
    still = {"q2": 0, "q2'": 0, "q2''": 0, "q1''": 0, "q3''": 0}
    for state in states("q1 q3 q1' q3'"):
        assert set(ch.residual(gallery("cawley"), {**state, **still}).values()) == {0.0}


def test_eq_9_8_branch_with_a_free_function():
    """(9.8): on q3 = q3' = 0 q2 is arbitrary and q1'' = q2^2/2."""
    for state in states("q1 q2 q1' q2' q2''"):
        jets = {**state, "q3": 0, "q3'": 0, "q3''": 0, "q1''": state["q2"] ** 2 / 2}
        assert set(ch.residual(gallery("cawley"), jets).values()) == {0.0}


def test_eq_9_9_other_states_are_no_motions():
    """(9.9): off {q2 = q2' = 0} and {q3 = q3' = 0} a row, or its derivative, fails."""
    for state in states("q1 q2 q3 q1' q2' q3'"):
        jets = {**state, "q1''": state["q2"] ** 2 / 2, "q2''": 0, "q3''": 0}
        assert abs(ch.residual(gallery("cawley"), jets)["E_q2"]) > 1e-3


def bracket(a, b, coordinates):
    """The Lie bracket of vector fields given by their components."""
    return [sympy.Add(*[a[j] * b[i].diff(z) - b[j] * a[i].diff(z) for j, z in enumerate(coordinates)]) for i in range(len(coordinates))]


def test_eq_9_6_is_not_completely_integrable():
    """On q3 = q3' = 0 the bracket of the field with d/dq2 is -q2 d/dq1', outside the span (9.6), which the paper calls integrable."""
    chart = [TIME, Q1, Q2, Q1.d(), Q2.d()]
    acceleration = sympy.solve(forms(gallery("cawley"))[2], Q1.d(2))[0]
    field = [sympy.S.One, Q1.d(), sympy.S.Zero, acceleration, sympy.S.Zero]
    second, third = ([sympy.Integer(z == w) for w in chart] for z in (Q2, Q2.d()))
    found = bracket(field, second, chart)
    assert found == [0, 0, 0, -Q2, 0]
    assert sympy.Matrix([field, second, third]).rank() == 3
    assert sympy.Matrix([field, second, third, found, bracket(field, found, chart)]).rank() == 5


def test_eq_9_5_is_completely_integrable():
    """On q2 = 0 the fields d/dt + q1' d/dq1 + q3' d/dq3 and d/dq2' commute, as printed."""
    chart = [TIME, Q1, Q3, Q1.d(), Q2.d(), Q3.d()]
    field = [sympy.S.One, Q1.d(), Q3.d(), sympy.S.Zero, sympy.S.Zero, sympy.S.Zero]
    assert bracket(field, [sympy.Integer(z == Q2.d()) for z in chart], chart) == [0] * 6


@pytest.mark.parametrize("time", [0.3, 1.0, 1.7])
def test_eq_9_6_witness_of_two_motions_from_one_state(time):
    """q3 = 0 with q2 = 0 and with q2 = t^2: both are motions from q1 = q1' = 0, and they end at (0, 0) and (T^6/60, T^5/10)."""
    rest = {"q3": 0, "q3'": 0, "q3''": 0}
    still = {**rest, "q1": 0, "q1'": 0, "q1''": 0, "q2": 0, "q2'": 0, "q2''": 0}
    driven = {**rest, "q1": time**6 / 60, "q1'": time**5 / 10, "q1''": time**4 / 2, "q2": time**2, "q2'": 2 * time, "q2''": 2}
    for jets in (still, driven):
        assert max(map(abs, ch.residual(gallery("cawley"), jets).values())) < 1e-15
    assert driven["q1'"] > 1e-4


def test_section_9_2_lagrangian_of_errata_e7_has_a_free_function_too():
    """L = (v1 - q2)^2/2 shows the same effect: E = (q2' - q1'', q2 - q1'), and q1' = q2 with arbitrary q2 is a motion."""
    equations = ch.derive(ch.System("q1 q2", lagrangian="(q1' - q2)^2/2"))
    assert [sympy.expand(e) for e in forms(equations)] == [Q2.d() - Q1.d(2), Q2 - Q1.d()]
    for state in states("q1 q2 q2'"):
        assert set(ch.residual(equations, {**state, "q1'": state["q2"], "q1''": state["q2'"]}).values()) == {0.0}


# ---- sections 10 and 11: constrained systems -------------------------------------------------------------------------------------------


PARTICLE = "(x'^2 + 2*y'^2 + z'^2 + x'*y'*cos(z)/2)/2 - x^2*y + x*z' + t*y*z"
BEAM = "(x''^2 + 2*y''^2 + z''^2 + x''*y''*cos(z)/2)/2 - x'^2*y' + x*z*y"
VELOCITY = "x'^2/3 + y'^2*sin(x)/2 + t*z"
JERK = "x*y''' + x'''*sin(z)/2 + z'*x''"


def constrained(lagrangian, kinematic):
    return ch.derive(ch.System("x y z", lagrangian=lagrangian, kinematic=[kinematic]), ch.Chetaev())


def eq_11_6(lagrangian, g, s):
    """The rows A'_l + B'_lj q_s^j of (11.7) for one constraint z_{s-1} = g, with q_{s-1}^z replaced by g."""
    free, everything = (X, Y), (X, Y, Z)
    e = {q: expression(lagrangian, q) for q in everything}
    b = {(q, p): e[q].diff(p.d(s)) for q in everything for p in everything}
    a = {q: e[q].xreplace({p.d(s): sympy.S.Zero for p in everything}) for q in everything}
    slope = {q: g.diff(q.d(s - 1)) for q in free}
    hat = d_dt(g) - sympy.Add(*[p.d(s) * slope[p] for p in free])
    rows = []
    for q in free:
        row = a[q] + a[Z] * slope[q] + b[q, Z] * hat + b[Z, Z] * slope[q] * hat
        for p in free:
            row += (b[q, p] + b[q, Z] * slope[p] + b[Z, p] * slope[q] + b[Z, Z] * slope[q] * slope[p]) * p.d(s)
        rows.append(row.xreplace({Z.d(s - 1): g}))
    return rows


def test_eq_10_5_generalised_chetaev_expressions():
    """(10.5): phi_sigma = df/dq_r^sigma at the constraint's own order r."""
    f = ch.parse(f"z''' - ({JERK})", coordinates="x y z")
    row = constrained(BEAM, f"z''' = {JERK}").variational[0]
    for q in (X, Y, Z):
        assert same(row[q], f.diff(q.d(3)))


def test_eq_11_7_second_order_with_a_nonlinear_constraint():
    """(11.6), (11.7) with s = 2: A'_l + B'_lj q''^j = 0 gives the accelerations of Chetaev's principle."""
    lagrangian, g = (ch.parse(text, coordinates="x y z") for text in (PARTICLE, VELOCITY))
    paper = eq_11_6(lagrangian, g, 2)
    equations = constrained(PARTICLE, f"z' = {VELOCITY}")
    for state in states("x y z x' y'"):
        now = ch.evaluate(equations, state, t=0.6)
        expected = solved(paper, [X.d(2), Y.d(2)], {**now, "t": 0.6})
        assert all(close(now[name], v) for name, v in expected.items())


def test_eq_11_7_fourth_order_with_a_constraint_of_third_order():
    """(11.6), (11.7) with s = 4 and a constraint on the third derivatives."""
    lagrangian, g = (ch.parse(text, coordinates="x y z") for text in (BEAM, JERK))
    paper = eq_11_6(lagrangian, g, 4)
    equations = constrained(BEAM, f"z''' = {JERK}")
    for state in states("x y z x' y' z' x'' y'' z'' x''' y'''"):
        now = ch.evaluate(equations, state)
        expected = solved(paper, [X.d(4), Y.d(4)], dict(now))
        assert all(close(now[name], v) for name, v in expected.items())


def test_section_11_constraint_on_accelerations():
    """r >= s: the rows are E_l + E_z dg/dq_r^l; here z'' = g(x'', ...) with s = r = 2."""
    text = "y*x'' + sin(x)*y'' - x'*y'"
    lagrangian, g = (ch.parse(e, coordinates="x y z") for e in (PARTICLE, text))
    rows = [expression(lagrangian, q) + expression(lagrangian, Z) * g.diff(q.d(2)) for q in (X, Y)]
    equations = constrained(PARTICLE, f"z'' = {text}")
    for state in states("x y z x' y' z'"):
        now = ch.evaluate(equations, state, t=0.6)
        expected = solved([*rows, Z.d(2) - g], [X.d(2), Y.d(2), Z.d(2)], {**now, "t": 0.6})
        assert all(close(now[name], v) for name, v in expected.items())


def test_eq_11_9_constraint_of_lower_order_than_the_phase_space():
    """r < s - 1: the coefficients are du_r/dq_r at the constraint's own order, and the rows E_l + E_z dg/dq_r^l; r = 1, s = 4."""
    lagrangian, g = (ch.parse(text, coordinates="x y z") for text in (BEAM, VELOCITY))
    rows = [expression(lagrangian, q) + expression(lagrangian, Z) * g.diff(q.d()) for q in (X, Y)]
    equations = constrained(BEAM, f"z' = {VELOCITY}")
    for state in states("x y z x' y' x'' y'' x''' y'''"):
        now = ch.evaluate(equations, state, t=0.6)
        expected = solved([*rows, Z.d(4) - d_dt(g, 3)], [X.d(4), Y.d(4), Z.d(4)], {**now, "t": 0.6})
        assert all(close(now[name], v) for name, v in expected.items())


def test_section_11_6_holonomic_constraint_is_a_pull_back():
    """11.6: on y = x^2 the motion is that of the Lagrangian with y = x^2, y' = 2 x x' put in."""
    lagrangian = ch.parse("(1 + y^2)*x'^2/2 + x'*y'/3 + y'^2 - x*y^2", coordinates="x y")
    restricted = lagrangian.xreplace({Y: X**2, Y.d(): 2 * X * X.d()})
    system = ch.System("x y", lagrangian=lagrangian, kinematic=["y = x^2"])
    equations = ch.derive(system, ch.DAlembert())
    for state in states("x x'"):
        now = ch.evaluate(equations, state)
        assert close(now["x''"], solved([expression(restricted, X)], [X.d(2)], state)["x''"])


def test_section_11_7_semiholonomic_constraint_moves_like_a_holonomic_one():
    """11.7: f = du/dt gives on u = const the pulled-back motion as well, with u = y - x^2."""
    lagrangian = ch.parse("(1 + y^2)*x'^2/2 + x'*y'/3 + y'^2 - x*y^2", coordinates="x y")
    restricted = lagrangian.xreplace({Y: X**2 + sympy.Rational(1, 4), Y.d(): 2 * X * X.d()})
    equations = ch.derive(ch.System("x y", lagrangian=lagrangian, kinematic=["y' = 2*x*x'"]), ch.DAlembert())
    for state in states("x x'"):
        now = ch.evaluate(equations, {**state, "y": state["x"] ** 2 + 0.25})
        assert close(now["x''"], solved([expression(restricted, X)], [X.d(2)], state)["x''"])
