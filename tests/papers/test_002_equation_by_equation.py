"""002: single equations on the library's own forms, fields and theorems, at points without symmetry."""

import numpy as np
import pytest
import sympy
from by_hand import d_dt

import chetaev as ch
from chetaev.core.calculus import SYMBOLIC, Calculus, Frame
from chetaev.mechanics.assemble import euler_lagrange
from chetaev.singular.forms import d, interior

X, Y = ch.coordinates("x y")
LAGRANGIAN = (1 + X**2) * X.d() ** 2 / 2 + Y.d() ** 2 + X.d() * Y.d() / 3 + 2 * X * Y.d() - X * Y**2
DISSIPATIVE = "(1 + x^2)*x'^2/2 + y'^2 + x'*y'/3 + 2*x*y' - x*y^2 - s/3 + s*x'/5 - s^2/7"
POINT = {"x": 0.3, "y": -0.4, "x'": 0.8, "y'": 0.5, "s": 0.2}


def at(expression, values):
    return float(sympy.S(expression).subs({s: values[s.name] for s in sympy.S(expression).free_symbols}))


def contact_lagrangian():
    """The Lagrangian with s, typed again, and s."""
    s = ch.System("x y", lagrangian=DISSIPATIVE, action="s").action
    return LAGRANGIAN - s / 3 + s * X.d() / 5 - s**2 / 7, s


def herglotz_by_hand():
    """Accelerations of Herglotz' equation D L_v - L_q = L_s L_v at the point."""
    function, s = contact_lagrangian()
    rows = []
    for q in (X, Y):
        slope = function.diff(q.d())
        rows.append(d_dt(slope, rates={s: function}) - function.diff(q) - function.diff(s) * slope)
    matrix, right = sympy.linear_eq_to_matrix(rows, [X.d(2), Y.d(2)])
    values = {z: POINT[z.name] for z in (X, Y, X.d(), Y.d(), s)}
    return np.linalg.solve(np.array(matrix.subs(values), float), np.array(right.subs(values), float).ravel())


def test_eq_1_and_2_the_lagrangian_vector_field():
    """i_X omega = dE and J(X) = Delta for the field of the library, with both sides by its own exterior calculus."""
    omega, energy, *_ = ch.lagrangian_forms(ch.System([X, Y], lagrangian=LAGRANGIAN))
    assert sympy.expand(energy - sum(LAGRANGIAN.diff(q.d()) * q.d() for q in (X, Y)) + LAGRANGIAN) == 0
    field = ch.presymplectic(omega, energy, [X, Y, X.d(), Y.d()]).field
    left, right = interior(field, omega), d(energy)
    for z in (X, Y, X.d(), Y.d()):
        assert sympy.simplify(left.coefficient(z) - right.coefficient(z)) == 0
    assert field[X] == X.d() and field[Y] == Y.d()
    slope = LAGRANGIAN.diff(X.d())
    along = sum(slope.diff(z) * field[z] for z in (X, Y, X.d(), Y.d()))
    assert sympy.simplify(along - LAGRANGIAN.diff(X)) == 0


def test_eq_7_along_second_order_fields_the_two_sides_differ_by_the_euler_lagrange_operator():
    """i_X omega - dE = (L_q - D L_v) dq for X = v d/dq + B d/dv with any B; minus the rows of the library."""
    omega, energy, *_ = ch.lagrangian_forms(ch.System([X, Y], lagrangian=LAGRANGIAN))
    rates = {X.d(): X * Y.d() + 1, Y.d(): Y - X.d() ** 2}
    difference = interior({X: X.d(), Y: Y.d(), **rates}, omega) - d(energy)
    rows = euler_lagrange(Calculus(SYMBOLIC, Frame.of_coordinates((X, Y))), LAGRANGIAN)
    tops = {X.d(2): rates[X.d()], Y.d(2): rates[Y.d()]}
    for q, row in zip((X, Y), rows, strict=True):
        assert sympy.expand(difference.coefficient(q) + row.subs(tops)) == 0
        assert sympy.expand(difference.coefficient(q.d())) == 0


def test_eq_11_the_field_of_a_nonholonomic_system():
    """i_X omega - dE = -lambda d^v phi in the library's sign of lambda, for a nonlinear constraint."""
    system = ch.System([X, Y], lagrangian=LAGRANGIAN, kinematic=["x'^2 - x*y' = 1/5"])
    values = {"x": 0.3, "y": -0.4, "x'": 0.8, "y'": (0.64 - 0.2) / 0.3}
    now = ch.evaluate(ch.derive(system, ch.Chetaev()), values)
    omega, energy, *_ = ch.lagrangian_forms(ch.System([X, Y], lagrangian=LAGRANGIAN))
    field = {X: X.d(), Y: Y.d(), X.d(): sympy.Float(now["x''"]), Y.d(): sympy.Float(now["y''"])}
    difference = interior(field, omega) - d(energy)
    slopes = {X: 2 * 0.8, Y: -0.3}
    for q, slope in slopes.items():
        assert at(difference.coefficient(q), values) == pytest.approx(-now["lambda1"] * slope, rel=1e-10)
    # tangency: D(x'^2 - x*y') = 0
    assert 2 * 0.8 * now["x''"] - 0.8 * values["y'"] - 0.3 * now["y''"] == pytest.approx(0.0, abs=1e-12)
    assert abs(now["lambda1"]) > 0.1


def test_eq_18_and_20_theorem_1_components_of_the_field():
    """The accelerations B, s' = L and G = v L_q + B L_v + L L_s of the nonholonomic system that Theorem 1 makes; lambda is L_s."""
    source = ch.derive(ch.System("x y", lagrangian=DISSIPATIVE, action="s"), ch.Herglotz())
    target = ch.contact_as_nonholonomic(source)
    function, s = contact_lagrangian()
    now = ch.evaluate(target.target, target.forward(POINT))
    B = herglotz_by_hand()
    assert [now["x''"], now["y''"]] == pytest.approx(B, rel=1e-11)
    rate = at(function, POINT)
    assert now["s'"] == pytest.approx(rate, rel=1e-12)
    G = sum(at(function.diff(q), POINT) * POINT[f"{q.name}'"] + b * at(function.diff(q.d()), POINT) for q, b in zip((X, Y), B, strict=True))
    G += rate * at(function.diff(s), POINT)
    assert now["s''"] == pytest.approx(G, rel=1e-11)
    # (18) with A = v and F = L: the left side is -lambda L_v
    for q in (X, Y):
        slope = function.diff(q.d())
        left = at(function.diff(q), POINT) - sum(at(slope.diff(h), POINT) * POINT[f"{h.name}'"] for h in (X, Y))
        left -= sum(b * at(slope.diff(h.d()), POINT) for h, b in zip((X, Y), B, strict=True)) + rate * at(slope.diff(s), POINT)
        assert left == pytest.approx(-at(function.diff(s), POINT) * at(slope, POINT), rel=1e-10)
    assert abs(now["lambda1"]) == pytest.approx(abs(at(function.diff(s), POINT)), rel=1e-11)


def test_eq_24_theorem_2_whatever_the_multiplier_is():
    """(mu + 1) (E + L_s L_v) = 0: for two starts of the multiplier the vakonomic system has the accelerations of Herglotz' equation."""
    source = ch.derive(ch.System("x y", lagrangian=DISSIPATIVE, action="s"), ch.Herglotz())
    target = ch.contact_as_vakonomic(source)
    start = target.forward(POINT)
    multiplier = next(name for name in start.fixed if name.startswith("lambda"))
    for value in (float(start.fixed[multiplier]), float(start.fixed[multiplier]) + 0.7):
        now = ch.evaluate(target.target, {**start.fixed, multiplier: value})
        assert [now["x''"], now["y''"]] == pytest.approx(herglotz_by_hand(), rel=1e-10)


def test_eq_25_the_field_of_a_dissipative_nonholonomic_system():
    """i_X Omega_L - dE_L = lambda d^v phi + lambda_a d^v phi^a with lambda = L_s: along dq, L_q - D L_v + L_s L_v = -lambda_a phi^a_v."""
    system = ch.System("x y", lagrangian=DISSIPATIVE, action="s", kinematic=["x' + 2*x*y' = 1"])
    values = POINT | {"x'": 1 - 2 * 0.3 * 0.5}
    now = ch.evaluate(ch.derive(system, ch.Herglotz(ch.DAlembert())), values)
    function, s = contact_lagrangian()
    rates = {s: function, X.d(): sympy.Float(now["x''"]), Y.d(): sympy.Float(now["y''"])}
    slopes = {X: 1.0, Y: 0.6}
    for q, slope in slopes.items():
        p = function.diff(q.d())
        left = function.diff(q) - d_dt(p, rates=rates) + function.diff(s) * p
        assert at(left, values) == pytest.approx(-now["lambda1"] * slope, rel=1e-10)
    assert now["x''"] + 2 * values["x'"] * 0.5 + 2 * 0.3 * now["y''"] == pytest.approx(0.0, abs=1e-12)
    assert abs(now["lambda1"]) > 0.1


def test_eq_32_the_dissipation_of_the_sleigh():
    system = ch.gallery("sleigh-contact").system
    slope = system.lagrangian.diff(system.action)
    assert slope.name == "gamma"
