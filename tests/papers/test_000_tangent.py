"""Lagrangian systems with higher order constraints (Cendra, Grillo): the natural maps of T^(k)Q and the operator of a connection.

Charts are exchanged by a nonlinear map; what is natural commutes with its lifts. Where the paper is misprinted, a test shows that the
printed form fails and that the corrected one holds.
"""

import random

import pytest
import sympy
from by_hand import TIME, d_dt

import chetaev as ch
from chetaev.core.calculus import SYMBOLIC, Calculus, Frame
from chetaev.core.errors import UsageError
from chetaev.mechanics.assemble import euler_lagrange
from chetaev.singular.forms import (
    Connection,
    DoubleVector,
    HigherVector,
    base_derivative,
    base_derivative_of_covector,
    base_point,
    beta,
    bracket,
    carrier,
    covariant_derivative,
    covariant_derivative_of_covector,
    covariant_euler_lagrange,
    double_lift,
    equation_field,
    fibre_derivatives,
    flip,
    from_beta,
    from_zeta,
    generic,
    immersion,
    lift,
    liouville_field,
    split,
    t_zeta,
    truncate,
    truncate_inner,
    truncate_outer,
    vanishing,
    velocities,
    vertical,
    vertical_endomorphism,
    zeta,
)

X, Y = ch.coordinates("x y")
CHART = {X: X + Y**2 - X * Y / 3, Y: 2 * Y - X**3 / 5 + 1}
R = sympy.Rational


def numbers(seed, *shape):
    """Random rational vectors of the plane in a table of this shape."""
    chance = random.Random(seed)

    def made(shape):
        if not shape:
            return tuple(R(chance.randint(-30, 30), chance.randint(3, 9)) for _ in range(2))
        return tuple(made(shape[1:]) for _ in range(shape[0]))

    return made(shape)


def double(seed, outer, inner):
    return DoubleVector(numbers(seed, outer + 1, inner + 1))


def higher(seed, order):
    return HigherVector(numbers(seed, order + 1))


def connection(seed):
    """Random Christoffel symbols, affine in the coordinates, without any symmetry."""
    chance = random.Random(seed)
    indices = [(i, j, k) for i in range(2) for j in range(2) for k in range(2)]
    return Connection((X, Y), {n: R(chance.randint(-5, 5), 3) + chance.randint(-2, 2) * X + chance.randint(-2, 2) * Y for n in indices})


def lagrangian(seed, order):
    """A random polynomial in the jets up to an order, and t."""
    chance = random.Random(seed)
    jets = [q.d(k) for q in (X, Y) for k in range(order + 1)]
    top = X.d(order) ** 2 + X.d(order) * Y.d(order) / 3 + 2 * Y.d(order) ** 2
    return top * (1 + X**2) + sympy.Add(*[chance.randint(-3, 3) * sympy.Mul(*chance.choices([*jets, TIME], k=3)) for _ in range(4)])


def in_coordinates(function):
    return euler_lagrange(Calculus(SYMBOLIC, Frame.of_coordinates((X, Y))), function)


def exact(expressions):
    """Values at a rational point that depends on the names of the symbols alone."""
    found = []
    for e in map(sympy.S, expressions):
        chances = {z: random.Random(z.name) for z in e.free_symbols}
        found.append(e.xreplace({z: R(chance.randint(-20, 20), chance.choice([3, 5, 7])) for z, chance in chances.items()}))
    return found


# ---- section II: kappa, beta ------------------------------------------------------------------------------------------------------


@pytest.mark.erratum("000", "(5)", r"second identity with $\tau_{TQ}$ again", r"$(\tau_Q)_* \circ \delta\gamma' = \gamma'$")
@pytest.mark.erratum("000", "(11)", r"$\kappa\circ\kappa = \mathrm{id}_{TQ}$", r"$\mathrm{id}_{TTQ}$")
def test_eq_8_and_11_the_involution():
    """(11): kappa o kappa is the identity of TTQ (the paper prints TQ); (5): the second projection is the differential of tau_Q."""
    v = double(1, 1, 1)
    (q, dq), (rate, drate) = v.table
    assert flip(v).table == ((q, rate), (dq, drate))
    assert flip(flip(v)) == v != flip(v)
    assert base_point(flip(v)) == carrier(v)
    assert carrier(flip(v)) == base_point(v)


def test_eq_25_and_26_lemma_6_the_involution_through_a_connection_with_torsion():
    gamma = connection(4)
    v = double(2, 1, 1)
    x, y, z = beta(gamma, v)
    at = dict(zip((X, Y), v.table[0][0], strict=True))
    twist = tuple(c.xreplace(at) for c in gamma.torsion(x, y))
    assert beta(gamma, flip(v)) == (y, x, tuple(a + b for a, b in zip(z, twist, strict=True)))
    assert any(twist)
    assert from_beta(gamma, v.table[0][0], x, y, z) == v


def test_eq_18_beta_is_the_covariant_derivative_of_a_curve_of_vectors():
    """For W = (x(t), y(t); w) the third part is W' + Gamma(gamma', W), with the velocity in the first place."""
    w = ch.coordinates("w1 w2")
    gamma = connection(5)
    v = DoubleVector((((X, Y), tuple(w)), ((X.d(), Y.d()), tuple(z.d() for z in w))))
    by_hand = [w[i].d() + sum(gamma.symbols.get((i, j, k), 0) * (X, Y)[j].d() * w[k] for j in range(2) for k in range(2)) for i in range(2)]
    assert exact(beta(gamma, v)[2]) == exact(by_hand)
    assert exact(covariant_derivative(gamma, w)) == exact(by_hand)


def test_eq_20_to_24_lemma_5_fibre_and_base_derivative_split_the_differential():
    """<dL, V> = <BL, Y> + <FL, Z> for beta(V) = X + Y + Z."""
    gamma, function = connection(6), lagrangian(1, 1)
    v = double(3, 1, 1)
    _, y, z = beta(gamma, v)
    values = {q.d(j): v.table[0][j][a] for a, q in enumerate((X, Y)) for j in range(2)} | {TIME: R(2)}
    (fibre,), base = fibre_derivatives(function, gamma), base_derivative(function, gamma)
    through = sum(b * c for b, c in zip(base, y, strict=True)) + sum(f * c for f, c in zip(fibre, z, strict=True))
    directly = sum(function.diff(q.d(j)) * v.table[1][j][a] for a, q in enumerate((X, Y)) for j in range(2))
    assert sympy.S(through - directly).xreplace(values) == 0
    assert fibre == tuple(function.diff(q.d()) for q in (X, Y))


@pytest.mark.parametrize(("order", "seed"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)])
def test_eq_27_theorem_7_and_remark_8_the_operator_through_any_connection(order, seed):
    """Equal to the library's expressions whatever the connection; for orders 2 and 3 its curvature takes part."""
    function = lagrangian(seed, order)
    through = covariant_euler_lagrange(function, connection(seed + 10))
    assert exact(through) == exact(in_coordinates(function))


def printed_remark_8(function, gamma, sign):
    (fibre,), velocity = fibre_derivatives(function, gamma), (X.d(), Y.d())
    rate, base = covariant_derivative_of_covector(gamma, fibre), base_derivative(function, gamma)
    twist = [gamma.torsion(velocity, e) for e in ((1, 0), (0, 1))]
    return [-rate[i] + base[i] + sign * sum(f * t for f, t in zip(fibre, twist[i], strict=True)) for i in range(2)]


def test_remark_8_has_the_wrong_sign_of_the_torsion():
    function, gamma = lagrangian(3, 1), connection(7)
    wanted = [-e for e in in_coordinates(function)]
    assert exact(printed_remark_8(function, gamma, -1)) == exact(wanted)
    assert exact(printed_remark_8(function, gamma, +1)) != exact(wanted)
    symmetric = Connection((X, Y), {(0, 0, 1): X, (0, 1, 0): X, (1, 0, 0): Y, (1, 1, 1): 2})
    assert exact(printed_remark_8(function, symmetric, +1)) == exact(wanted)


def test_eq_28_and_29_the_operator_by_second_derivatives():
    """EL(X, Y) = -F(FL) Y - B(FL) X + BL for a connection without torsion, at Y = D gamma'/Dt."""
    function = lagrangian(2, 1).subs(TIME, R(1, 3))
    gamma = Connection((X, Y), {(0, 0, 1): X * Y, (0, 1, 0): X * Y, (1, 0, 0): Y - 1, (0, 1, 1): X**2})
    velocity, acceleration = velocities(gamma, 2)
    (fibre,), base = fibre_derivatives(function, gamma), base_derivative(function, gamma)
    second = [[f.diff(q.d()) for q in (X, Y)] for f in fibre]
    across = base_derivative_of_covector(fibre, gamma)
    rate = [sum(second[i][j] * acceleration[j] + across[j][i] * velocity[j] for j in range(2)) for i in range(2)]
    assert exact(rate) == exact(covariant_derivative_of_covector(gamma, fibre))
    assert exact([b - r for b, r in zip(base, rate, strict=True)]) == exact([-e for e in in_coordinates(function)])


def test_the_operator_is_the_geodesic_equation_of_the_metric():
    """With the connection of the metric itself BL = 0, and E is the mass times the covariant acceleration."""
    r, phi = ch.coordinates("r phi")
    polar = Connection((r, phi), {(0, 1, 1): -r, (1, 0, 1): 1 / r, (1, 1, 0): 1 / r})
    kinetic = (r.d() ** 2 + r**2 * phi.d() ** 2) / 2
    assert [sympy.simplify(b) for b in base_derivative(kinetic, polar)] == [0, 0]
    a, b = covariant_euler_lagrange(kinetic, polar)
    assert sympy.simplify(a - (r.d(2) - r * phi.d() ** 2)) == 0
    assert sympy.simplify(b - (r**2 * phi.d(2) + 2 * r * r.d() * phi.d())) == 0
    assert [sympy.simplify(c) for c in polar.curvature((1, 0), (0, 1), (2, 5))] == [0, 0]


def test_the_curvature_is_the_commutator_of_covariant_derivatives():
    """On the sphere R(X, Y) Z = g(Y, Z) X - g(X, Z) Y."""
    th, ph = ch.coordinates("theta phi")
    s, c = sympy.sin(th), sympy.cos(th)
    sphere = Connection((th, ph), {(0, 1, 1): -s * c, (1, 0, 1): c / s, (1, 1, 0): c / s})
    x, y, z = (2, 1), (-1, 3), (5, 7)

    def metric(a, b):
        return a[0] * b[0] + s**2 * a[1] * b[1]

    wanted = [metric(y, z) * x[i] - metric(x, z) * y[i] for i in range(2)]
    assert [sympy.simplify(a - b) for a, b in zip(sphere.curvature(x, y, z), wanted, strict=True)] == [0, 0]


# ---- section III A: natural maps --------------------------------------------------------------------------------------------------


def test_lifts_of_maps_by_the_chain_rule():
    v = generic((X, Y), 3)
    images = lift(CHART, v).parts
    for k, image in enumerate(images):
        assert exact(image) == exact([d_dt(f, k) for f in CHART.values()])


@pytest.mark.parametrize(("outer", "inner"), [(1, 1), (2, 1), (3, 1), (1, 3), (2, 2)])
def test_eq_30_and_lemma_11_the_flip_is_natural(outer, inner):
    v = double(7, outer, inner)
    assert double_lift(CHART, flip(v)) == flip(double_lift(CHART, v))


@pytest.mark.parametrize(("order", "outer"), [(1, 1), (2, 1), (3, 1), (4, 2)])
def test_eq_32_the_immersions_are_natural(order, outer):
    v = higher(8, order)
    assert double_lift(CHART, immersion(v, outer)) == immersion(lift(CHART, v), outer)
    if outer == 1:
        assert immersion(v).table == (v.parts[:-1], v.parts[1:])


@pytest.mark.erratum(
    "000", "(35)", r"$\tau_{TQ}^{(l+1,k+1)}$ on the right, which does not act there", r"$\tau_Q^{(l+1,k+1)}$, and $l \le k$"
)
def test_eq_34_to_36_lemma_12_projections_flip_and_immersion():
    """(34), (36), and (35) with tau_Q^(l+1,k+1) on the right (the paper prints tau_TQ, which does not act there); for l <= k only."""
    k, l = 3, 1
    v = double(9, k, 1)
    assert truncate_inner(flip(v), l) == flip(truncate_outer(v, l))
    assert carrier(flip(v)) == base_point(v)
    a = higher(10, k + 1)
    assert truncate_inner(immersion(a), l) == immersion(truncate(a, l + 1))
    with pytest.raises(UsageError):
        truncate(a, k + 2)


@pytest.mark.erratum(
    "000",
    "(31)",
    r"$S_l = (0, \delta q_0, \dots, \delta q_{l-1})$, which depends on the chart for $l \ge 2$",
    r"$(0, \delta q_0, 2\,\delta q_1, \dots, l\,\delta q_{l-1})$",
)
def test_eq_31_the_vertical_endomorphism_needs_weights():
    """S_l = (0, dq0, 2 dq1, ..., l dq(l-1)) commutes with changes of charts; the printed (0, dq0, ..., dq(l-1)) does not for l >= 2."""

    def printed(v):
        base, vector = v.table
        return DoubleVector((base, ((R(0), R(0)), *vector[:-1])))

    for l in (1, 2, 3):
        v = double(11, 1, l)
        assert double_lift(CHART, vertical_endomorphism(v)) == vertical_endomorphism(double_lift(CHART, v))
        natural = double_lift(CHART, printed(v)) == printed(double_lift(CHART, v))
        assert natural is (l == 1)


def test_eq_31_the_defect_on_the_line():
    """errata: for n = 1, l = 2 the printed S_2 misses f'' q1 dq0."""
    q, q1, q2, dq, dq1, dq2 = sympy.symbols("q q1 q2 dq dq1 dq2", real=True)
    z = ch.coordinates("z")
    f = {z: z**3}
    v = DoubleVector((((q,), (q1,), (q2,)), ((dq,), (dq1,), (dq2,))))

    def printed(v):
        base, vector = v.table
        return DoubleVector((base, ((R(0),), *vector[:-1])))

    defect = double_lift(f, printed(v)).table[1][2][0] - printed(double_lift(f, v)).table[1][2][0]
    assert sympy.expand(defect - 6 * q * q1 * dq) == 0


@pytest.mark.erratum(
    "000", "(37)", r"$\Delta_l = (0, q_1, \dots, q_l)$, which depends on the chart for $l \ge 2$", r"$(0, q_1, 2 q_2, \dots, l\,q_l)$"
)
def test_eq_37_the_liouville_field_needs_weights():
    """Delta_l generates gamma(t) -> gamma(e^a t); pushed forward by a change of charts it is itself. Printed: (0, q1, ..., ql)."""
    for l in (1, 2, 3):
        v = higher(12, l)
        image = lift(CHART, v)
        weighted = DoubleVector((v.parts, tuple(tuple(j * c for c in part) for j, part in enumerate(v.parts))))
        printed = DoubleVector((v.parts, ((R(0), R(0)), *v.parts[1:])))
        assert double_lift(CHART, weighted).table[1] == tuple(tuple(j * c for c in part) for j, part in enumerate(image.parts))
        assert (double_lift(CHART, printed).table[1] == ((0, 0), *image.parts[1:])) is (l == 1)
        field = liouville_field((X, Y), l)
        assert [field.get(q.d(j), 0) for j in range(l + 1) for q in (X, Y)] == [j * q.d(j) for j in range(l + 1) for q in (X, Y)]


@pytest.mark.erratum(
    "000", "(39)", r"$(q_1, \dots, q_{l-1}, \chi(q_0, \dots, q_{l-1}))$, one entry short", r"$(q_1, \dots, q_l, \chi(q_0, \dots, q_l))$"
)
def test_eq_38_39_and_40_equations_of_higher_order():
    """S_l(X) = Delta_l exactly for X = (q1, ..., ql, chi(q0, ..., ql)); (39) prints a list that is one entry short."""
    l = 2
    field = equation_field({X: X.d(2) * Y, Y: -X}, l)
    assert field == {X: X.d(), X.d(): X.d(2), X.d(2): X.d(2) * Y, Y: Y.d(), Y.d(): Y.d(2), Y.d(2): -X}
    assert vertical(field, (X, Y), l) == liouville_field((X, Y), l)
    assert vertical(field + {X: Y}, (X, Y), l) != liouville_field((X, Y), l)
    sigma = immersion(HigherVector((*generic((X, Y), l).parts, (X.d(2) * Y, -X))))
    on_points = vertical_endomorphism(sigma)
    assert on_points.table[1] == tuple(tuple(j * q.d(j) for q in (X, Y)) for j in range(l + 1))


def test_the_algebra_of_the_vertical_endomorphism():
    """S_l is nilpotent of degree l + 1; the field Delta_l lowers its degree: [Delta_l, S_l X] - S_l [Delta_l, X] = -S_l X."""
    l = 3
    v = double(13, 1, l)
    for _ in range(l):
        v = vertical_endomorphism(v)
    assert any(any(part) for part in v.table[1])
    assert not any(any(part) for part in vertical_endomorphism(v).table[1])
    some, delta = ch.forms.VectorField({X: Y.d(), X.d(): X * Y.d(3), Y.d(2): X.d(2) ** 2}), liouville_field((X, Y), l)
    derivative = bracket(delta, vertical(some, (X, Y), l)) - vertical(bracket(delta, some), (X, Y), l)
    assert vanishing(derivative + vertical(some, (X, Y), l)) is True


def test_eq_41_the_submersion():
    v = double(14, 3, 1)
    below, vector = split(v)
    assert below == base_point(flip(v)) == carrier(v)
    assert vector == v.table[0][1]
    with pytest.raises(UsageError, match=r"T\^\(l\)T\^\(1\)Q"):
        split(double(14, 1, 2))


# ---- section III A: with a connection ---------------------------------------------------------------------------------------------


@pytest.mark.erratum("000", "(44)", r"terms up to $D^k\gamma'/Dt^k$", r"up to $D^{k-1}\gamma'/Dt^{k-1}$")
def test_eq_44_covariant_velocities_end_at_the_derivative_k_minus_1():
    """zeta_k has k terms, up to D^(k-1) gamma'/Dt^(k-1); the paper prints D^k. It is a diffeomorphism, connection by connection."""
    gamma = connection(15)
    v = higher(16, 3)
    vectors = zeta(gamma, v)
    assert len(vectors) == 3
    assert vectors[0] == v.parts[1]
    assert from_zeta(gamma, v.parts[0], vectors) == v
    at = dict(zip((X, Y), v.parts[0], strict=True))
    second = [v.parts[2][i] + gamma(v.parts[1], v.parts[1])[i].xreplace(at) for i in range(2)]
    assert list(vectors[1]) == second


@pytest.mark.erratum("000", "before (45)", r"$t\zeta_1 = \beta\circ\kappa$ always", "only without torsion")
def test_eq_45_variations_and_lemma_14():
    """t zeta_1 = (gamma', Lambda + D Lambda/Dt) equals beta o kappa exactly when the torsion vanishes (the paper: always)."""
    v = double(17, 1, 1)
    for gamma, torsion_free in ((connection(18), False), (Connection((X, Y), {(0, 0, 1): Y, (0, 1, 0): Y, (1, 1, 1): X}), True)):
        below, vectors = t_zeta(gamma, v)
        assert vectors[0] == v.table[0][1]
        assert (below.parts[1], *vectors) == (beta(gamma, v)[1], beta(gamma, v)[0], beta(gamma, v)[2])
        assert ((below.parts[1], *vectors) == beta(gamma, flip(v))) is torsion_free
    below, vectors = t_zeta(connection(19), double(20, 3, 1))
    assert len(vectors) == 4 and below == carrier(double(20, 3, 1))


def test_covariant_velocities_do_not_depend_on_the_chart():
    """In polar coordinates the covariant acceleration of a curve is the Cartesian one, turned into the polar frame."""
    r, phi = ch.coordinates("r phi")
    polar = Connection((r, phi), {(0, 1, 1): -r, (1, 0, 1): 1 / r, (1, 1, 0): 1 / r})
    _, acceleration, jerk = velocities(polar, 3)
    cartesian = [r * sympy.cos(phi), r * sympy.sin(phi)]
    for k, vector in ((2, acceleration), (3, jerk)):
        for f in cartesian:
            pushed = f.diff(r) * vector[0] + f.diff(phi) * vector[1]
            assert sympy.simplify(d_dt(f, k) - pushed) == 0


def test_connections_refuse_symbols_that_depend_on_velocities():
    with pytest.raises(UsageError, match="depends on velocities"):
        Connection((X, Y), {(0, 0, 0): X.d()})
    with pytest.raises(UsageError, match="not a coordinate"):
        base_derivative(ch.coordinates("w").d() ** 2, connection(1))
