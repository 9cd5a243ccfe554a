"""002, section 2.5: contact geometry; its theorems for Lagrangians of higher order; abnormal extremals."""

from functools import cache

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME
from chetaev.singular.forms import d, equal, interior, is_zero, lie_derivative, rank, wedge
from chetaev.singular.forms.fields import bracket

X, Y = ch.coordinates("x y")
LAGRANGIAN = "x'^2*(1 + y^2)/2 + y'^2/2 + x'*y'*s/3 - k*x^2/2 - c*s*y"
VALUES = {"k": 1.3, "c": 0.4}
START = {"x": 0.3, "y": -0.4, "x'": 0.7, "y'": 0.2, "s": 0.5}


@cache
def geometry(lagrangian=LAGRANGIAN):
    return ch.contact_geometry(ch.System("x y", "k c", lagrangian=lagrangian, action="s"))


def at(e, g, t=0.6):
    names = {X: 0.3, Y: -0.4, X.d(): 0.7, Y.d(): 0.2, g.action: 0.5, TIME: t}
    names |= {p: VALUES[p.name] for p in g.equations.system.parameters}
    return float(sympy.sympify(e).subs(names))


def test_2_5_2_contact_form_and_energy():
    g = geometry()
    s, v, w = g.action, X.d(), Y.d()
    p, q = v * (1 + Y**2) + w * s / 3, w + v * s / 3
    assert equal(g.eta, d(s) - p * d(X) - q * d(Y))
    assert sympy.simplify(g.energy - (v * p + w * q - g.lagrangian)) == 0
    assert g.regular
    volume = wedge(g.eta, d(g.eta), d(g.eta))
    coefficient = volume.coefficient(X, X.d(), Y, Y.d(), s)
    assert sympy.expand(coefficient**2 - 4 * g.determinant**2) == 0  # η∧dη∧dη = ± 2 det W, a volume where W is regular


def test_2_5_2_reeb_field():
    g = geometry()
    assert is_zero(interior(g.reeb, d(g.eta))) and sympy.simplify(g.eta(g.reeb)) == 1
    damping = sympy.simplify(g.reeb(g.energy) + g.lagrangian.diff(g.action))
    assert damping == 0  # R(E) = -L_s


def test_2_5_2_contact_hamiltonian_field_of_the_energy():
    """η(X) = -E, L_X η = L_s η."""
    g = geometry()
    assert is_zero(g.eta(g.field) + g.energy)
    assert equal(lie_derivative(g.field, g.eta), g.lagrangian.diff(g.action) * g.eta)


@pytest.mark.parametrize("more", ["", " + x'*s^2*t + sin(t)*y*y'"])
def test_13_herglotz_field_has_the_accelerations_of_the_equations(more):
    """Herglotz' equation by hand: W a = L_q + L_s L_v - L_vq v - L L_vs - L_vt."""
    g = geometry(LAGRANGIAN + more)
    L, s, speeds = g.lagrangian, g.action, (X.d(), Y.d())
    W = np.array([[at(L.diff(a, b), g) for b in speeds] for a in speeds])
    rest = [
        L.diff(q) + L.diff(s) * L.diff(v) - sum(L.diff(v, z) * z.d() for z in (X, Y)) - L * L.diff(v, s) - L.diff(v, TIME)
        for q, v in zip((X, Y), speeds, strict=True)
    ]
    found = np.linalg.solve(W, [at(e, g) for e in rest])
    assert np.allclose([at(g.field[v], g) for v in speeds], found, atol=1e-13)
    assert at(g.field[s], g) == pytest.approx(at(L, g), abs=1e-14) and at(g.field[X], g) == 0.7
    now = ch.evaluate(g.equations, START, parameters=VALUES, t=0.6)
    assert np.allclose([now["x''"], now["y''"]], found, atol=1e-12)


def test_jacobi_bracket():
    r"""{f, g} = -η([X_f, X_g]), [X_f, X_g] = X_{f, g}, and Jacobi's identity on the flat contact manifold."""
    g = geometry("x'^2/2 + y'^2/2 - c*s")
    f, h = X * Y.d() + g.action * X.d(), Y**2 + X.d()
    left = bracket(g.hamiltonian_field(f), g.hamiltonian_field(h))
    right = g.hamiltonian_field(g.bracket(f, h))
    assert all(sympy.expand(left.get(z, 0) - right.get(z, 0)) == 0 for z in g.variables)
    assert sympy.expand(g.bracket(f, h) + g.bracket(h, f)) == 0
    k = X * Y * g.action
    cyclic = g.bracket(f, g.bracket(h, k)) + g.bracket(h, g.bracket(k, f)) + g.bracket(k, g.bracket(f, h))
    assert sympy.expand(cyclic) == 0
    assert sympy.expand(g.bracket("x'", "x")) == 1 and sympy.expand(g.bracket("1", "s")) == -1  # {p, q} = 1, X_1 = -R


def test_dissipated_quantities():
    g = geometry("x'^2/2 + y'^2/2 - c*s - x")
    assert g.is_dissipated(g.energy) and g.is_dissipated("y'") and g.is_dissipated("x'") is False
    assert sympy.expand(g.bracket(g.energy, "y'")) == 0
    motion = ch.simulate(g.equations, START, (0, 2), parameters=VALUES, tolerance=1e-12)
    quotient = motion["(x'^2/2 + y'^2/2 + c*s + x)/y'"]
    assert np.allclose(quotient, quotient[0], atol=1e-9)
    assert np.allclose(motion["y'"], 0.2 * np.exp(-0.4 * motion.t), atol=1e-10)


def test_14_omega_on_the_product_has_a_kernel_of_two_dimensions():
    """The paper prints ∂/∂v_s alone; the lift ∂_s - W^{-1}L_sv ∂_v is in it too."""
    g = geometry()
    s = ch.coordinates("s x")[0]
    second = {s: sympy.S.One} | {v: e.xreplace({g.action: s}) for v, e in g.reeb.items() if v != g.action}
    for field in ({s.d(): sympy.S.One}, second):
        assert is_zero(interior(field, g.omega))
    assert rank(g.omega_kernel) == 2


@pytest.mark.parametrize(
    ("lagrangian", "dimension", "free"),
    [("x'^2/2 - x*y - c*s", 1, 0), ("(x' - y)^2/2 - c*s*x", 3, 1), ("x'^2/2 + x'*y - y^2/2 - c*s", 3, 0), (LAGRANGIAN, 5, 0)],
)
def test_precontact_algorithm(lagrangian, dimension, free):
    """Against the verdict on Herglotz' equations, which shares no code with it."""
    g = geometry(lagrangian)
    found = ch.precontact(g.equations)
    analysis = ch.analyze(g.equations)
    assert (found.dimension, found.free_components) == (dimension, free)
    assert analysis.dimension == dimension and len(analysis.free_functions) == free
    if not g.regular:
        with pytest.raises(ch.PrincipleError, match="singular"):
            _ = g.field


def test_precontact_field_has_the_accelerations():
    """x'' + y' = -c(x' + y), y = x': x'' = -c x' in the third system."""
    g = geometry("x'^2/2 + x'*y - y^2/2 - c*s")
    found = ch.precontact(g.equations)
    now = ch.evaluate(g.equations, {"x": 0.3, "x'": 0.7, "s": 0.5}, parameters=VALUES)
    field = {z: at(e.subs({Y: X.d(), Y.d(): now["y'"]}), g) for z, e in found.field.items()}
    assert field[X.d()] == pytest.approx(-0.4 * 0.7, abs=1e-12) == pytest.approx(now["x''"], abs=1e-12)


def test_contact_geometry_refuses_what_has_none():
    with pytest.raises(ch.PrincipleError, match="action variable"):
        ch.contact_geometry(ch.derive(ch.System("x", lagrangian="x'^2/2")))
    with pytest.raises(ch.PrincipleError, match="higher"):
        ch.contact_geometry(ch.System("x", lagrangian="x''^2/2 - s", action="s"))
    with pytest.raises(ch.PrincipleError, match="constraints or forces"):
        ch.contact_geometry(ch.System("x", lagrangian="x'^2/2 - s", action="s", forces={"x": "1"}))


# ---- Theorems 1 to 4 for Lagrangians of higher order --------------------------------------------------------------------------------

HIGHER = "x''^2/2*(1 + y^2) + y''*x'/3 + y'^2/2 + y''^2/2 - x^2 - c*s - s*x*x'/5 + x''*s^2/7"
JETS = {"x": 0.3, "y": 0.1, "x'": 0.2, "y'": -0.4, "x''": 0.5, "y''": 0.1, "D(x,3)": 0.2, "D(y,3)": -0.1, "s": 0.3}


@cache
def higher():
    equations = ch.derive(ch.System("x y", "c", lagrangian=HIGHER, action="s"), ch.Herglotz())
    return equations, ch.simulate(equations, JETS, (0, 0.6), parameters={"c": 0.3}, tolerance=1e-11)


@pytest.mark.parametrize("theorem", [ch.contact_as_nonholonomic, ch.contact_as_vakonomic])
def test_theorems_1_and_2_of_order_two(theorem):
    equations, motion = higher()
    morphism = theorem(equations)
    assert morphism.check(motion).largest < 1e-9


def test_theorem_3_of_order_two():
    system = ch.System("x y", "c", lagrangian=HIGHER, action="s", kinematic=["y' = x*x'"])
    equations = ch.derive(system, ch.Herglotz(ch.Chetaev()))
    start = {"x": 0.3, "y": 0.1, "x'": 0.2, "x''": 0.5, "D(x,3)": 0.2, "s": 0.3}
    motion = ch.simulate(equations, start, (0, 0.4), parameters={"c": 0.3}, tolerance=1e-11)
    assert ch.contact_as_nonholonomic(equations).check(motion).largest < 1e-9


def test_theorem_4_of_order_two():
    system = ch.System("x y", "c", lagrangian="x''^2/2 + y''^2/2 - c*s + x*y", action="s", kinematic=["y' = x*x'"])
    equations = ch.derive(system, ch.Herglotz(ch.Vakonomic()))
    free = ch.analyze(equations).free_data
    given = {name: 0.1 + 0.07 * k for k, name in enumerate(free)}
    motion = ch.simulate(equations, given, (0, 0.3), parameters={"c": 0.3}, tolerance=1e-11)
    assert ch.contact_as_vakonomic(equations).check(motion).largest < 1e-8


# ---- abnormal extremals -------------------------------------------------------------------------------------------------------------


def test_abnormal_extremals_of_flat_martinet():
    """z' = y^2 x'/2: lambda' = 0, lambda y y' = 0, lambda y x' = 0, so y = 0 and x is any function."""
    system = ch.System("x y z", lagrangian="x'^2/2 + y'^2/2", kinematic=["z' = y^2*x'/2"])
    equations = ch.derive(system, ch.Vakonomic(abnormal=True))
    assert str(equations.principle) == "Vakonomic(abnormal=True)" and equations.principle != ch.Vakonomic()
    assert "lambda1*y*y'" in str(equations).replace("-", "").replace(" ", "")
    along = {"x'": np.cos(0.4), "x": np.sin(0.4), "y": 0, "y'": 0, "z'": 0, "lambda1": 1, "lambda1'": 0}
    assert set(ch.residual(equations, along).values()) == {0.0}
    assert max(map(abs, ch.residual(equations, {**along, "y": 0.1}).values())) > 0.01


def test_abnormal_extremals_that_are_determined_move():
    """z' = y'^2 - y^2: lambda is constant and y'' = -y, whatever L is."""
    system = ch.System("y z", lagrangian="y'^2/2 + z'^2*y", kinematic=["z' = y'^2 - y^2"])
    equations = ch.derive(system, ch.Vakonomic(abnormal=True))
    motion = ch.simulate(equations, {"y": 0.3, "y'": 0.7, "z": 0, "lambda1": 2}, (0, 2), tolerance=1e-12)
    t = 2.0
    assert motion.final["y"] == pytest.approx(0.3 * np.cos(t) + 0.7 * np.sin(t), abs=1e-11)
    assert motion.final["lambda1"] == pytest.approx(2, abs=1e-12)
    normal = ch.simulate(ch.derive(system, ch.Vakonomic()), {"y": 0.3, "y'": 0.7, "z": 0, "lambda1": 2}, (0, 2))
    assert abs(normal.final["y"] - motion.final["y"]) > 1e-3


def test_abnormal_extremals_need_constraints_and_no_forces(tmp_path):
    for parts in ({}, {"kinematic": ["y' = x*x'"], "forces": {"x": "1"}}):
        with pytest.raises(ch.PrincipleError):
            ch.derive(ch.System("x y", lagrangian="x'^2", **parts), ch.Vakonomic(abnormal=True))
    model = ch.Model(ch.System("x y", lagrangian="x'^2", kinematic=["y' = x*x'"]), ch.Vakonomic(abnormal=True), start={"x": 0, "y": 0})
    ch.save(model, tmp_path / "abnormal.toml")
    assert ch.load(tmp_path / "abnormal.toml") == model


def test_eq_14_the_two_form_on_the_product_has_its_own_sign():
    """Omega_L = dq^i ^ dp_i with p = L_v on T(Q x R), where s is a coordinate; L_vs gives a term dq ^ ds."""
    from chetaev.singular.forms import d, equal, wedge

    system = ch.System("x y", "c", lagrangian="x'^2*(1 + y^2)/2 + y'^2 - c*s*x' - y*s", action="s")
    found = ch.contact_geometry(system)
    s = found.omega_variables[2]
    (x, y), c = system.coordinates, system.parameters[0]
    momenta = {x: (1 + y**2) * x.d() - c * s, y: 2 * y.d()}
    by_hand = wedge(d(x), d(momenta[x])) + wedge(d(y), d(momenta[y]))
    assert equal(found.omega, by_hand) is True
