"""004, section 2.2 and 3: time-dependent presymplectic dynamics, the reduced problem, second-order solutions, the reduced phase space."""

from functools import cache

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.symbols import TIME
from chetaev.singular.forms import d, equal, interior, is_zero, rank, wedge

X, Y = ch.coordinates("x y")


@cache
def regular():
    return ch.System("x y", "m", lagrangian="m*x'^2/2*(1 + t^2) + y'^2/2 + t*x*y' - x^2*y")


@cache
def vakonomic():
    return ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - t*x", kinematic=["y' = x*x' + t"])


@cache
def bundle():
    return ch.lagrangian_bundle(vakonomic(), ch.Vakonomic())


def numbers(e, values):
    return float(sympy.sympify(e).subs(values))


# ---- (2.21)-(2.23) ------------------------------------------------------------------------------------------------------------------


def test_eq_2_23_field_of_the_poincare_cartan_form_has_the_accelerations():
    """By hand: m(1 + t^2) x'' = t y' - 2xy - 2 m t x', y'' = -x - t x' - x^2."""
    found = ch.presymplectic(*ch.lagrangian_forms(regular()))
    m = regular().parameters[0]
    assert sympy.simplify(found.field[X.d()] - (TIME * Y.d() - 2 * X * Y - 2 * m * TIME * X.d()) / (m * (1 + TIME**2))) == 0
    assert sympy.simplify(found.field[Y.d()] + X + TIME * X.d() + X**2) == 0
    assert found.field[X] == X.d() and found.dimension == 4 and not found.kernel.fields
    now = ch.evaluate(ch.derive(regular()), {"x": 0.3, "y": 0.4, "x'": 0.5, "y'": 0.6}, parameters={"m": 2}, t=0.7)
    values = {X: 0.3, Y: 0.4, X.d(): 0.5, Y.d(): 0.6, m: 2, TIME: 0.7}
    assert np.allclose([numbers(found.field[z.d()], values) for z in (X, Y)], [now["x''"], now["y''"]], atol=1e-13)


def test_eq_2_23_sign_of_the_energy_in_the_form():
    """Ω = -d(θ_L - E dt): the field solves i_Z Ω = 0, and with the other sign of E dt it does not."""
    omega, energy, names = ch.lagrangian_forms(regular())
    field = {TIME: sympy.S.One, **ch.presymplectic(omega, energy, names).field}
    assert is_zero(interior(field, omega))
    momenta = {q: regular().lagrangian.diff(q.d()) for q in (X, Y)}
    by_hand = wedge(d(X), d(momenta[X])) + wedge(d(Y), d(momenta[Y])) + wedge(d(energy), d(TIME))  # the form itself, with its own sign
    assert equal(omega, by_hand)
    assert not is_zero(interior(field, omega - 2 * wedge(d(energy), d(TIME))))


def test_a_constant_form_with_a_time_dependent_energy_is_completed():
    """ω = dx∧dp, E = p^2/2 + t x: x' = p, p' = -t."""
    x, p = ch.coordinates("x p")
    found = ch.presymplectic(wedge(d(x), d(p)), p**2 / 2 + TIME * x, [TIME, x, p])
    assert found.field[x] == p and found.field[p] == -TIME


def test_eq_2_21_and_2_22_on_the_lagrangian_bundle():
    b = ch.lagrangian_bundle(regular())
    u, L = b.rate, b.source.lagrangian
    by_hand = wedge(d(u), d(TIME))
    for q in (X, Y):
        p = L.diff(q.d())
        by_hand = by_hand + wedge(d(p), d(q) - q.d() * d(TIME)) - p * wedge(d(q.d()), d(TIME))
    assert equal(b.omega, by_hand) and not b.kernel.fields
    lifted = b.lift({TIME: sympy.S.One, **b.dynamics.field})
    assert equal(interior(lifted, b.omega), -d(b.phi))
    assert all(sympy.simplify(b.solution.field[z] - lifted[z]) == 0 for z in (X, Y, X.d(), Y.d()))


def test_eq_2_20_almost_tangent_structure():
    b = bundle()
    tilt = b.almost_tangent({TIME: sympy.S.One, **b.second_order.field})
    assert all(sympy.expand(e.subs({Y.d(): X * X.d() + TIME})) == 0 for e in tilt.values())  # zero for a second-order equation, on S
    moved = b.almost_tangent({X: X.d() + 3, Y: Y.d(), TIME: sympy.S.One, b.source.coordinates[2]: b.velocities[2]})
    assert moved[X.d()] == 3 and sympy.simplify(moved[b.rate] - 3 * b.momenta[0]) == 0


# ---- (2.24)-(2.28), (3.19), (3.20) --------------------------------------------------------------------------------------------------


def test_eq_3_19_kernel_on_the_bundle_and_at_fixed_time():
    """∂_λ - a^{ij} g_i ∂_{v^j} - a^{ij} g_i p_j ∂_u' and ∂_λ', with a = 1 and g = (-x, 1)."""
    b = bundle()
    lam = b.source.coordinates[2]
    p = b.momenta
    first = {lam: sympy.S.One, X.d(): X, Y.d(): -sympy.S.One, b.rate: X * p[0] - p[1]}
    for field in (first, {lam.d(): sympy.S.One}):
        assert is_zero(interior(field, b.omega))
    assert rank(b.kernel) == 2 and len(b.dynamics.kernel.fields) == 2
    assert rank(b.vertical) == 1 and is_zero(d(lam.d())(b.vertical.fields[0]) - b.vertical.fields[0][lam.d()])


def test_eq_2_24_the_algorithm_stops_at_the_rows():
    """M_1 = {g = 0} (det b != 0); compatibility of the first field of (3.19) is g."""
    b = bundle()
    g = Y.d() - X * X.d() - TIME
    assert len(b.dynamics.steps) == 1 and sympy.expand(b.dynamics.constraints[0] ** 2 - g**2) == 0
    assert b.dynamics.dimension == 5 and b.dynamics.free_components == 1
    assert any(sympy.expand(e**2 - g**2) == 0 for e in b.dynamics.compatibility)


def test_eq_2_25_to_2_27_the_first_manifolds_by_the_kernel():
    """M_0 is u' = L; M_1 is where every kernel field annihilates the differential of phi, (2.27), and there i_Z Omega = -d phi has a
    solution that it has not elsewhere, (2.26)."""
    b = bundle()
    g = Y.d() - X * X.d() - TIME
    phi = sympy.expand(b.phi)
    lagrangian = b.source.lagrangian
    assert sympy.expand(phi - (b.rate - lagrangian)) == 0 or sympy.expand(phi + (b.rate - lagrangian)) == 0
    found = [sympy.expand(interior(field, d(phi)).terms.get((), sympy.S.Zero)) for field in b.kernel.fields]
    assert any(e != 0 for e in found) and all(e == 0 or sympy.rem(e, g, Y.d()) == 0 for e in found)
    left = interior(b.lift({TIME: sympy.S.One, **b.dynamics.field}), b.omega) + d(phi)
    on = {Y.d(): X * X.d() + TIME}
    assert all(sympy.simplify(c.subs(on)) == 0 for c in left.terms.values())
    assert any(sympy.simplify(c) != 0 for c in left.terms.values())


def test_eq_2_24_a_chain_of_three_steps_that_move_with_time():
    """L = x'^2/2 + y*(x - t^2): M_1 is x = t^2, M_2 is x' = 2t, M_3 is y = 2, and the motion is x = t^2."""
    found = ch.presymplectic(*ch.lagrangian_forms(ch.System("x y", lagrangian="x'^2/2 + y*(x - t^2)")))
    rows = [X - TIME**2, X.d() - 2 * TIME, Y - 2]
    assert len(found.steps) == 3
    for step, row in zip(found.steps, rows, strict=True):
        new = [sympy.expand(e) for e in (step if isinstance(step, tuple | list) else [step])]
        assert any(sympy.expand(e - row) == 0 or sympy.expand(e + row) == 0 for e in new)
    values = {X: TIME**2, X.d(): 2 * TIME, Y: sympy.S(2)}
    assert sympy.simplify(sympy.sympify(found.field[X]).subs(values) - 2 * TIME) == 0
    assert sympy.simplify(sympy.sympify(found.field[X.d()]).subs(values) - 2) == 0


def test_eq_3_20_components_of_the_field():
    """(3.20c-e) with a = 1, g = (-x, 1), g_0 = -t, b = 1 + x^2, on M."""
    b = bundle()
    lam = b.source.coordinates[2]
    F = (-TIME, sympy.S.Zero)  # the terms in lambda cancel: D g_x - dg/dx = -x' + x' = 0
    Z = (-1 - X.d() ** 2 - X * F[0] + F[1]) / (1 + X**2)  # D g at the accelerations F, divided by b
    field = b.dynamics.field
    on = {Y.d(): X * X.d() + TIME}
    assert sympy.simplify(field[lam].subs(on) - Z.subs(on)) == 0
    assert sympy.simplify(field[X.d()].subs(on) - (F[0] + Z * X)) == 0
    assert sympy.simplify(field[Y.d()].subs(on) - (F[1] - Z)) == 0


def test_eq_2_28_equivalence_theorem_and_reduced_problem():
    b = bundle()
    assert b.equivalent and b.reduced.dimension == 4 and b.reduced.consistent
    assert ch.lagrangian_bundle(regular()).equivalent
    none = ch.lagrangian_bundle(ch.System("x y", lagrangian="x'^2/2 + y"))  # 1 = 0
    assert none.equivalent and not none.dynamics.consistent and not none.reduced.consistent


def test_semi_prolongable_solutions_and_the_second_order_one():
    """All solutions (3.20) are semi-prolongable; on S, where λ' = Z, one of them is a second-order equation: the vakonomic motion."""
    b = bundle()
    assert b.is_semi_prolongable(b.dynamics.field)
    lam = b.source.coordinates[2]
    assert not b.is_semi_prolongable({**b.dynamics.field, X: lam.d()})
    assert b.second_order.dimension == 4 and b.second_order.free_components == 0
    now = ch.evaluate(ch.derive(vakonomic(), ch.Vakonomic()), {"x": 0.3, "y": 0.4, "x'": 0.5, "lambda1": 0.7}, t=0.2)
    values = {X: 0.3, Y: 0.4, X.d(): 0.5, Y.d(): 0.35, lam: 0.7, lam.d(): now["lambda1'"], TIME: 0.2}
    field = b.second_order.field
    assert np.allclose([numbers(field[z], values) for z in (X.d(), Y.d(), lam)], [now["x''"], now["y''"], now["lambda1'"]], atol=1e-13)


# ---- the reduced phase space --------------------------------------------------------------------------------------------------------


@cache
def reduced():
    return ch.reduced_phase_space(vakonomic())


def test_eq_3_29_the_reduced_phase_space_prints_its_hamiltonian():
    """H = p v - L at v = (p_x + x(p_y - ...)): by hand from p = L_v + λ g_v, g = 0."""
    space = reduced()
    assert isinstance(space, ch.Morphism)
    px, py = ch.coordinates("p_x p_y")
    v = (px + X * (py - TIME)) / (1 + X**2)
    w = X * v + TIME
    by_hand = px * v + py * w - (v**2 + w**2) / 2 + TIME * X
    assert sympy.simplify(space.hamiltonian - by_hand) == 0 and "\n  H = " in str(space)


def test_eq_3_31_starts_and_motions_are_carried():
    """Against SciPy on the vakonomic equations by hand: λ' = Z of (3.20c)."""
    space = reduced()
    start = {"x": 0.3, "y": 0.4, "x'": 0.5, "lambda1": 0.7}
    motion = ch.simulate(space.source, start, (0, 1.5), tolerance=1e-12)
    assert space.check(motion).largest < 1e-10
    image = space.forward(start, t=0)
    flow = ch.simulate(space.target, image, (0, 1.5), tolerance=1e-12)

    def rates(t, s):
        x, _, v, _ = s
        z = (-1 - v * v + x * t) / (1 + x * x)
        return [v, x * v + t, -t + z * x, z]

    end = solve_ivp(rates, (0, 1.5), [0.3, 0.4, 0.5, 0.7], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    assert np.allclose([flow.final["x"], flow.final["y"]], end[:2], atol=1e-10)
    back = space.backward(flow)
    assert back["lambda1"][-1] == pytest.approx(end[3], abs=1e-9)


def test_rows_that_are_not_affine():
    """z'^2 = x'^2 + y'^2/2 + 1: against the vakonomic equations in the form d/dt(L_v + λ g_v) = L_q + λ g_q, integrated in (q, p)."""
    system = ch.System("x y z", "k", lagrangian="x'^2/2 + y'^2 + z'^2/2 - k*x*y - t*z", kinematic=["z'^2 = x'^2 + y'^2/2 + 1"])
    space = ch.reduced_phase_space(system)
    start = ch.State({"x": 0.3, "y": 0.1, "z": 0, "x'": 0.5, "y'": -0.3, "lambda1": 0.2}, {"z'": 1})
    motion = ch.simulate(space.source, start, (0, 1), parameters={"k": 0.8}, tolerance=1e-12)
    assert space.check(motion).largest < 1e-9

    def rates(t, s):
        # M a = b for (x'', y'', z'', λ'): p_x = x'(1 - 2λ), p_y = y'(2 - λ), p_z = z'(1 + 2λ)
        x, y, _, u, v, w, lam = s
        left = np.array([[1 - 2 * lam, 0, 0, -2 * u], [0, 2 - lam, 0, -v], [0, 0, 1 + 2 * lam, 2 * w], [-2 * u, -v, 2 * w, 0]])
        return [u, v, w, *np.linalg.solve(left, [-0.8 * y, -0.8 * x, -t, 0])]

    w = np.sqrt(0.25 + 0.045 + 1)
    end = solve_ivp(rates, (0, 1), [0.3, 0.1, 0, 0.5, -0.3, w, 0.2], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    final = ch.simulate(
        space.target, space.forward(start, parameters={"k": 0.8}, t=0), (0, 1), parameters={"k": 0.8}, tolerance=1e-12
    ).final
    assert np.allclose([final["x"], final["y"], final["z"], final["nu1"]], [*end[:3], end[6]], atol=1e-10)


def test_refused_where_the_bordered_matrix_is_singular():
    with pytest.raises(ch.PrincipleError, match="not functions of positions and momenta"):
        ch.reduced_phase_space(ch.System("x y", lagrangian="x'*y'", kinematic=["x' = 0"]))
    with pytest.raises(ch.PrincipleError, match="not functions of positions and momenta"):
        ch.reduced_phase_space(ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x^2 + y^2 = 1"]))
    with pytest.raises(ch.PrincipleError, match="no vakonomic row"):
        ch.reduced_phase_space(ch.System("x y", lagrangian="x'^2/2 + y'^2/2"))
