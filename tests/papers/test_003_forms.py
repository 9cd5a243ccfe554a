"""Differential systems in higher-order mechanics (Krupková): the forms and distributions of sections 2 to 5, 8 and 9.

Forms are typed from the paper. Where it is misprinted or wrong, a test shows that the printed form fails and the corrected one holds.
"""

import random

import pytest
import sympy
from by_hand import TIME, d_dt

import chetaev as ch
from chetaev.singular.forms import (
    Distribution,
    VectorField,
    adapted,
    annihilated_by,
    bracket,
    characteristic_distribution,
    contact_component,
    contact_form,
    contact_part,
    contains,
    d,
    derived_flag,
    equal,
    horizontal_part,
    interior,
    is_contact,
    is_involutive,
    is_zero,
    lie_derivative,
    order_of,
    prolong,
    pull_back,
    rank,
    wedge,
    zero_form,
)

X, Y = ch.coordinates("x y")
Q1, Q2, Q3 = ch.coordinates("q1 q2 q3")
DT = d(TIME)
HALF = sympy.Rational(1, 2)
LAGRANGIANS = {
    1: (1 + Y**2) * X.d() ** 2 / 2 + X.d() * Y.d() * X / 3 + Y.d() ** 3 / 6 - X * Y**2 * TIME,
    2: (1 + Y**2) * X.d(2) ** 2 / 2 + X.d(2) * Y.d(2) * X.d() / 3 + Y.d(2) ** 2 - X * Y.d() ** 3 + TIME * X * Y,
}


def total(forms, degree=2):
    result = zero_form(degree)
    for form in forms:
        result = result + form
    return result


def random_data(s, seed):
    """A_sigma, B_sigma,nu without symmetry, and F^ij_sigma,nu with F^ij_sigma,nu = -F^ji_nu,sigma for i, j <= s - 2."""
    chance = random.Random(seed)
    jets = [q.d(k) for q in (X, Y) for k in range(s)]

    def polynomial():
        return sympy.Add(*[chance.randint(-4, 4) * sympy.Mul(*chance.choices([*jets, TIME], k=2)) for _ in range(2)]) + chance.randint(1, 5)

    a = [polynomial() for _ in range(2)]
    b = [[polynomial() for _ in range(2)] for _ in range(2)]
    f = {}
    slots = [(i, q) for i in range(s - 1) for q in range(2)]
    for n, (i, p) in enumerate(slots):
        for j, q in slots[n + 1 :]:
            f[i, j, p, q] = polynomial()
            f[j, i, q, p] = -f[i, j, p, q]
    return a, b, f


def lepage(s, a, b, f):
    """(3.5), (3.6)."""
    z = (X, Y)
    first = [wedge(contact_form(z[p]), a[p] * DT + sum(b[p][q] * d(z[q].d(s - 1)) for q in range(2))) for p in range(2)]
    second = [wedge(c, contact_form(z[p].d(i)), contact_form(z[q].d(j))) for (i, j, p, q), c in f.items()]
    return total([*first, *second])


# ---- section 2 --------------------------------------------------------------------------------------------------------------------


def test_h_p_and_2_1():
    f = X * Y.d() ** 2 + TIME * X.d()
    assert equal(horizontal_part(d(f)), d_dt(f) * DT) is True
    eta = f * DT + Y * d(X) - X.d() * d(Y.d())
    by_hand = (f + Y * X.d() - X.d() * Y.d(2)) * DT
    assert equal(horizontal_part(eta), by_hand) is True
    assert equal(contact_part(eta), Y * contact_form(X) - X.d() * contact_form(Y.d())) is True


def test_the_prolongation_formula():
    """xi = t^2 d_t + t q d_q: xi_1 = q - t q_1, xi_2 = -3 t q_2 by hand."""
    lifted = prolong({TIME: TIME**2, X: TIME * X}, [X], 2)
    assert sympy.expand(lifted[X.d()] - (X - TIME * X.d())) == 0
    assert sympy.expand(lifted[X.d(2)] + 3 * TIME * X.d(2)) == 0
    assert is_contact(lie_derivative(lifted, contact_form(X.d()))) is True


def test_one_contact_and_two_contact_parts_of_a_two_form():
    """i_xi of the first is horizontal, of the second contact, for vertical xi."""
    eta = X * wedge(d(X), d(Y.d())) + Y.d() * wedge(d(Y), DT)
    vertical = VectorField({X: Y, Y: 1, X.d(): X, Y.d(): TIME, X.d(2): 3, Y.d(2): X})
    one, two = contact_component(eta, 1), contact_component(eta, 2)
    assert equal(one + two, eta) is True
    assert is_zero(contact_part(interior(vertical, one))) is True
    assert is_contact(interior(vertical, two)) is True
    assert is_contact(interior(vertical, one)) is False


# ---- sections 3 and 4 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [2, 3, 4])
def test_3_5_every_form_of_the_lepage_class_has_the_same_one_contact_part(s):
    a, b, f = random_data(s, s)
    alpha = lepage(s, a, b, f)
    e = [a[p] + sum(b[p][q] * z.d(s) for q, z in enumerate((X, Y))) for p in range(2)]
    dynamical = wedge(e[0] * d(X) + e[1] * d(Y), DT)
    assert order_of(alpha) == s - 1
    assert equal(contact_component(alpha, 1), dynamical) is True
    assert not f or equal(alpha, lepage(s, a, b, {})) is False


@pytest.mark.erratum(
    "003",
    "(3.7), (5.10)",
    r"$B_{\sigma\nu}\,\omega^\nu$",
    r"$B_{\nu\sigma}\,\omega^\nu$; another codistribution unless $B$ is (anti)symmetric or regular",
)
@pytest.mark.parametrize("s", [2, 3])
def test_3_7_the_index_of_the_second_family_is_transposed(s):
    """E1: i of d/dq_(s-1)^sigma gives -B_nu,sigma omega^nu; the printed B_sigma,nu omega^nu is another form."""
    a, b, f = random_data(s, 10 + s)
    alpha = lepage(s, a, b, f)
    for p, z in enumerate((X, Y)):
        found = interior({z.d(s - 1): sympy.S.One}, alpha)
        corrected = -1 * (b[0][p] * contact_form(X) + b[1][p] * contact_form(Y))
        printed = b[p][0] * contact_form(X) + b[p][1] * contact_form(Y)
        assert equal(found, corrected) is True
        assert equal(found, printed) is False and equal(found, -printed) is False


def test_3_7_another_codistribution():
    """B = [[0, 1], [0, 0]]: the codistribution contains omega^1, the printed one omega^2."""
    alpha = lepage(2, [0, 0], [[0, 1], [0, 0]], {})
    variables = [X, Y, X.d(), Y.d(), TIME]
    vertical = [interior({z: sympy.S.One}, alpha) for z in variables[:-1]]
    delta = annihilated_by(vertical, variables)
    assert contains(delta, VectorField({Y: 1})) is True
    assert contains(delta, VectorField({X: 1})) is False


def test_3_2_a_unique_lepage_form_of_order_zero():
    """(3.9): for antisymmetric B, alpha = A dq ^ dt + B/2 dq ^ dq on Y."""
    a1, a2, b = X * Y + TIME, Y**3, X**2 - Y
    alpha = a1 * wedge(d(X), DT) + a2 * wedge(d(Y), DT) + b * wedge(d(X), d(Y))
    e = wedge((a1 + b * Y.d()) * d(X) + (a2 - b * X.d()) * d(Y), DT)
    assert order_of(alpha) == 0
    assert equal(contact_component(alpha, 1), e) is True


@pytest.mark.erratum("003", "(4.4)", "sum up to $s - 1 - i$", r"up to $s - 1$; the printed limit is right for closed $\alpha$ only")
@pytest.mark.parametrize("s", [2, 4])
def test_4_4_the_hamilton_form_needs_the_sum_up_to_s_minus_1(s):
    """E2. On J^1(J^(s-1)Y) the jets q_k become coordinates of their own; the printed limit s - 1 - i loses terms at s = 4."""
    a, b, f = random_data(s, 20 + s)
    own = {z.d(k): ch.coordinates(f"{z.base}_{k}") for z in (X, Y) for k in range(s)}
    found = contact_component(pull_back(lepage(s, a, b, f), own), 1)
    doubled = {key: 2 * c for key, c in f.items()}
    for p in range(2):
        for q in range(2):
            doubled[0, s - 1, p, q] = b[p][q]
            doubled[s - 1, 0, p, q] = -b[q][p]

    def hamilton(limit):
        terms = []
        for p, z in enumerate((X, Y)):
            for i in range(s):
                # E_sigma contains q_s, which is no coordinate of J^1(J^(s-1)Y): its B q_s cancels against the last term of the sum.
                h = a[p] if i == 0 else sympy.S.Zero
                for q, w in enumerate((X, Y)):
                    for k in range(limit(i) + 1):
                        known = own[w.d(k + 1)] if k + 1 < s else 0
                        h += doubled.get((i, k, p, q), 0) * (own[w.d(k)].d() - known)
                terms.append(wedge(h.xreplace(own), d(own[z.d(i)]), DT))
        return total(terms)

    assert equal(found, hamilton(lambda i: s - 1)) is True
    assert equal(found, hamilton(lambda i: s - 1 - i)) is (s == 2)


def test_4_3_the_hamilton_form_gives_the_equations():
    """i_(J^1 xi) H = h~ i_xi alpha for vertical xi on J^(s-1)Y, here s = 2."""
    own = {z.d(k): ch.coordinates(f"{z.base}_{k}") for z in (X, Y) for k in range(2)}
    alpha = pull_back(lepage(2, *random_data(2, 31)), own)
    coordinates = list(own.values())
    xi = VectorField({z: (n + 1) * coordinates[0] - TIME for n, z in enumerate(coordinates)})
    left = interior(prolong(xi, coordinates, 1), contact_component(alpha, 1))
    assert equal(left, horizontal_part(interior(xi, alpha))) is True


# ---- section 8 --------------------------------------------------------------------------------------------------------------------


def cartan(lagrangian, order):
    """theta_lambda of Remark 8.8."""
    theta = lagrangian * DT
    for z in (X, Y):
        for i in range(order):
            momentum = sum((-1) ** k * d_dt(lagrangian.diff(z.d(i + k + 1)), k) for k in range(order - i))
            theta = theta + momentum * contact_form(z.d(i))
    return theta


def expressions(lagrangian, order):
    return [sum((-1) ** k * d_dt(lagrangian.diff(z.d(k)), k) for k in range(order + 1)) for z in (X, Y)]


@pytest.mark.parametrize("order", [1, 2])
def test_8_8_the_cartan_form(order):
    """h theta = lambda, and p_1 d theta = E: d theta is the closed Lepage form of the Euler-Lagrange form."""
    lagrangian = LAGRANGIANS[order]
    theta = cartan(lagrangian, order)
    e = expressions(lagrangian, order)
    assert equal(horizontal_part(theta), lagrangian * DT) is True
    assert equal(contact_component(d(theta), 1), wedge(e[0] * d(X) + e[1] * d(Y), DT)) is True
    assert is_zero(d(d(theta))) is True


@pytest.mark.erratum("003", "Corollary 8.6", "$F^{j,s-1-j} = (-1)^j B$", r"$\frac12(-1)^j B$")
@pytest.mark.parametrize("order", [1, 2])
def test_8_6_a_factor_one_half_is_missing(order):
    """E5: F^(j,s-1-j) = (-1)^j B/2 in alpha = E ^ dt + sum F omega ^ omega, sums over all pairs; the paper has no 1/2."""
    s = 2 * order
    lagrangian = LAGRANGIANS[order]
    split = adapted(d(cartan(lagrangian, order)), s)
    b = [[e.diff(w.d(s)) for w in (X, Y)] for e in expressions(lagrangian, order)]
    for p, z in enumerate((X, Y)):
        for q, w in enumerate((X, Y)):
            for j in range(s):
                # A coefficient of omega ^ omega, taken once, is twice the F of the sum over all pairs.
                f = split.coefficient(z.d(j), w.d(s - 1 - j)) / 2
                assert sympy.expand(f - (-1) ** j * HALF * b[p][q]) == 0
                assert b[p][q] == 0 or sympy.expand(f - (-1) ** j * b[p][q]) != 0


@pytest.mark.parametrize("order", [1, 2])
def test_8_3_the_coefficients_of_the_lepagean_equivalent(order):
    s = 2 * order
    e = expressions(LAGRANGIANS[order], order)
    split = adapted(d(cartan(LAGRANGIANS[order], order)), s)
    for p, z in enumerate((X, Y)):
        for w in (X, Y):
            for j in range(s):
                for k in range(s):
                    terms = [(-1) ** (j + l) * sympy.binomial(j + l, l) * d_dt(e[p].diff(w.d(j + k + l + 1)), l) for l in range(s - j - k)]
                    assert sympy.expand(split.coefficient(z.d(j), w.d(k)) / 2 - HALF * sum(terms)) == 0


# ---- section 9 --------------------------------------------------------------------------------------------------------------------

PHASE = [Q1, Q2, Q3, Q1.d(), Q2.d(), Q3.d(), TIME]


def test_9_1_forms_and_distributions():
    """L = (q1'^2 + q1^2 q2)/2: alpha = d theta, and its associated systems as printed, dt among them unless q1 = 0."""
    lagrangian = (Q1.d() ** 2 + Q1**2 * Q2) / 2
    alpha = d(lagrangian * DT + Q1.d() * contact_form(Q1))
    printed = wedge(Q1 * Q2 * contact_form(Q1) + Q1**2 / 2 * contact_form(Q2), DT) - wedge(contact_form(Q1), d(Q1.d()))
    assert equal(alpha, printed) is True
    variables = [Q1, Q2, Q1.d(), Q2.d(), TIME]
    dynamical = annihilated_by([interior({z: sympy.S.One}, alpha) for z in variables[:-1]], variables)
    by_hand = annihilated_by([Q1**2 / 2 * DT, contact_form(Q1), d(Q1.d()) - Q1 * Q2 * DT], variables)
    assert rank(dynamical) == rank(by_hand) == 2
    assert all(contains(dynamical, field) for field in by_hand.fields)
    on = characteristic_distribution(alpha, variables, on=[Q1])
    assert rank(on) == 3 and any(TIME in field for field in on.fields)


def test_9_2_cawley():
    """E6: Delta is weakly horizontal where q2 q3 = 0, not where q2 q3' = 0."""
    lagrangian = Q1.d() * Q3.d() + Q2**2 * Q3 / 2
    alpha = d(lagrangian * DT + Q3.d() * contact_form(Q1) + Q1.d() * contact_form(Q3))
    w1, w2, w3 = map(contact_form, (Q1, Q2, Q3))
    printed = wedge(Q2 * Q3 * w2 + Q2**2 / 2 * w3, DT) - wedge(w1, d(Q3.d())) - wedge(w3, d(Q1.d()))
    assert equal(alpha, printed) is True

    def weakly_horizontal(on):
        vertical = [interior({z: sympy.S.One}, alpha) for z in PHASE[:-1]]
        return any(TIME in field for field in annihilated_by(vertical, PHASE, on).fields)

    assert weakly_horizontal([Q2]) and weakly_horizontal([Q3])
    assert not weakly_horizontal([Q3.d()])
    assert not weakly_horizontal([])


ALONG = VectorField({TIME: 1, Q1: Q1.d(), Q1.d(): Q2**2 / 2})


def test_9_5_is_involutive():
    fields = (VectorField({TIME: 1, Q1: Q1.d(), Q3: Q3.d()}), VectorField({Q2.d(): 1}))
    assert is_involutive(Distribution(tuple(PHASE), fields, on=(Q2,))) is True


@pytest.mark.erratum(
    "003",
    "(9.6)",
    "completely integrable",
    r"it is not: $[X, \partial_{q^2}] = -q^2\,\partial_{\dot q^1}$, and its brackets span everything",
)
def test_9_6_is_not_involutive():
    """E7: [X, d_q2] = -q2 d_q1'; with one more bracket the distribution grows to all of the 5-dimensional manifold (paper: leaves)."""
    fields = (ALONG, VectorField({Q2: 1}), VectorField({Q2.d(): 1}))
    assert bracket(ALONG, fields[1]) == VectorField({Q1.d(): -Q2})
    constrained = Distribution(tuple(PHASE), fields, on=(Q3, Q3.d()))
    assert rank(constrained) == 3
    assert is_involutive(constrained) is False
    assert [rank(step) for step in derived_flag(constrained)] == [3, 4, 5]


def test_9_6_is_not_a_characteristic_distribution():
    """The pull-back of alpha to {q3 = q3' = 0} is zero, so Cartan's theorem says nothing there."""
    lagrangian = Q1.d() * Q3.d() + Q2**2 * Q3 / 2
    alpha = d(lagrangian * DT + Q3.d() * contact_form(Q1) + Q1.d() * contact_form(Q3))
    assert is_zero(pull_back(alpha, {Q3: sympy.S.Zero, Q3.d(): sympy.S.Zero})) is True


def test_9_8_is_not_involutive():
    fields = (ALONG + {Q2: Q2.d()}, VectorField({Q2.d(): 1}))
    assert is_involutive(Distribution(tuple(PHASE), fields, on=(Q3, Q3.d()))) is False


def test_the_gauge_lagrangian_has_the_same_effect():
    """L = (q1' - q2)^2/2: Delta on {q1' = q2} has rank 3 within the manifold and is not involutive."""
    lagrangian = (Q1.d() - Q2) ** 2 / 2
    alpha = d(lagrangian * DT + (Q1.d() - Q2) * contact_form(Q1))
    variables = [Q1, Q2, Q1.d(), Q2.d(), TIME]
    row = Q1.d() - Q2
    vertical = [interior({z: sympy.S.One}, alpha) for z in variables[:-1]]
    constrained = annihilated_by([*vertical, d(row)], variables, on=[row])
    assert rank(constrained) == 3
    assert is_involutive(constrained) is False
