"""The inverse problem: which forms have a Lagrangian, which identities fail, and what Lagrangian they have.

The Euler-Lagrange operator here is written anew, and variationality is tested a second time as symmetry of the second variation.
"""

import random

import pytest
import sympy
from euler_by_hand import T, d_dt, rows_of

import chetaev as ch
from chetaev.groups import in_coordinates
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.inverse.helmholtz import decide
from chetaev.singular.inverse.lagrangians import (
    contracted,
    contracted_lagrangian,
    degree,
    homogeneous_lagrangian,
    minimal_lagrangian,
    tonti_lagrangian,
)
from chetaev.singular.inverse.primitives import antiderivative, potential, vector_potential
from chetaev.singular.inverse.variation import adjoint


def gap(e):
    """The largest value at five random points of the positive domain, where every case here is defined."""
    chance = random.Random(5)
    symbols = sorted(e.free_symbols, key=str)
    points = [{z: sympy.Float(chance.uniform(0.1, 0.5), 40) for z in symbols} for _ in range(5)]
    return max(abs(complex(e.xreplace(p).evalf(30))) for p in points)


def form(coordinates, lagrangian, parameters=""):
    """The bare rows of a Lagrangian, which keep no trace of it."""
    names = [ch.Coordinate(n) for n in coordinates.split()]
    return DynamicalForm(coordinates, rows_of(ch.parse(lagrangian, coordinates=coordinates, parameters=parameters), names), parameters)


def gives(lagrangian, some_form):
    return max(gap(a - b) for a, b in zip(rows_of(lagrangian, some_form.coordinates), some_form.rows, strict=True)) < 1e-20


VARIATIONAL = {
    "harmonic": ("q", "m*q'^2/2 - k*q^2/2", "m k"),
    "kepler": ("x y", "m*(x'^2 + y'^2)/2 + k/sqrt(x^2 + y^2)", "m k"),
    "kepler in polar coordinates": ("r phi", "m*(r'^2 + r^2*phi'^2)/2 + k/r", "m k"),
    "magnetic field": ("x y z", "m*(x'^2 + y'^2 + z'^2)/2 + e*B*(x*y' - y*x')/2 + e*x*z*y'", "m e B"),
    "bateman": ("x y", "x'*y' + b*(x*y' - y*x')/2 - k*x*y", "b k"),
    "pais-uhlenbeck": ("q", "(q''^2 - (w1^2 + w2^2)*q'^2 + w1^2*w2^2*q^2)/2", "w1 w2"),
    "third order": ("x y", "x''*y' + x'^2*y^2/2 - x*y^2", ""),
    "sixth order": ("x y", "x'''^2*(2 + y)/2 + y'''^2 - x''*y'^2 + x*y^2", ""),
    "first order": ("x y", "x^2*y*y' - y^2*x'/3 - x*y^3 + t*x^2", ""),
    "pendulum": ("x", "x'^2/2 + g*cos(x)/l", "g l"),
    "double pendulum": ("a b", "(a'^2 + b'^2/2 + a'*b'*cos(a - b))*m + g*(2*cos(a) + cos(b))", "m g"),
    "growing mass": ("x", "exp(b*t)*(x'^2 - k*x^2)/2", "b k"),
    "logarithm": ("x", "x'^2/2 + log(x)", ""),
    "singular in the velocity": ("x", "x'*log(x') + x", ""),
    "hyperbolic plane": ("x y", "(x'^2 + y'^2)/y^2/2", ""),
    "relativistic": ("x y", "-sqrt(1 - x'^2 - y'^2) + 1/(x^2 + y^2)", ""),
    "brachistochrone": ("y", "sqrt(1 + y'^2)/sqrt(y)", ""),
    "vortex": ("x y", "x'^2/2 + y'^2/2 + k*atan(y/x)", "k"),
    "any power": ("x y", "(x'^2 + y'^2)/2 - (x^2 + y^2)^(n/2)", "n"),
    "singular": ("q1 q2 q3", "q1'*q3' + q2^2*q3/2", ""),
}

NOT_VARIATIONAL = {
    "damped": ("q", ["-q'' - b*q' - k*q"], "b k"),
    "wrong sign in a pair": ("x y", ["x'' + y", "y'' - x"], ""),
    "rotational force": ("x y", ["-x'' - y^3", "-y'' + x"], ""),
    "not affine": ("x", ["x''^2"], ""),
    "asymmetric mass": ("x y", ["x'' + y''", "y''"], ""),
    "odd order of one coordinate": ("x", ["x'''"], ""),
    "velocity force": ("x y", ["-x'' + x*y'", "-y'' + x*x'"], ""),
}


@pytest.mark.parametrize("name", VARIATIONAL)
def test_a_form_with_a_lagrangian_is_recognised_and_gets_one_back(name):
    some = form(*VARIATIONAL[name])
    verdict = ch.helmholtz(some)
    assert verdict.variational is True and not verdict.violations and not verdict.undecided and verdict.complete
    assert verdict.lagrangian is not None and gives(verdict.lagrangian, some)
    assert not gives(-verdict.lagrangian, some)


@pytest.mark.parametrize("name", NOT_VARIATIONAL)
def test_a_form_without_a_lagrangian_lists_what_fails(name):
    coordinates, rows, parameters = NOT_VARIATIONAL[name]
    some = DynamicalForm(coordinates, rows, parameters)
    verdict = ch.helmholtz(some)
    assert verdict.variational is False and verdict.violations and verdict.lagrangian is None
    by_name = dict(zip((q.base for q in some.coordinates), zip(some.coordinates, some.rows, strict=True), strict=True))
    for identity in verdict.violations:  # each again from (8.1)
        (s, e_s), (n, e_n) = by_name[identity.sigma], by_name[identity.nu]
        k, order = identity.k, 4
        terms = [(-1) ** j * sympy.binomial(j, k) * d_dt(e_n.diff(s.d(j)), j - k) for j in range(k, order + 1)]
        again = sympy.expand(e_s.diff(n.d(k)) - sympy.Add(*terms))
        assert again != 0 and sympy.expand(again - identity.expression) == 0


def second_variation(some, seed):
    """The integral of v E'[q]u - u E'[q]v along polynomials, with variations that vanish to high order at both ends; exact."""
    chance = random.Random(seed)

    def polynomial(degree):
        return sympy.Add(*[chance.randint(-3, 3) * T**k for k in range(degree + 1)]) + T

    bump = (T * (1 - T)) ** 4
    q = {z.base: polynomial(3) for z in some.coordinates}
    u = {z.base: bump * polynomial(2) for z in some.coordinates}
    v = {z.base: bump * polynomial(2) for z in some.coordinates}

    def linear(row, along):
        jets = [z for z in row.free_symbols if hasattr(z, "base")]
        on_curve = {z: sympy.diff(q[z.base], T, z.order) for z in jets}
        return sympy.Add(*[row.diff(z).subs(on_curve) * sympy.diff(along[z.base], T, z.order) for z in jets])

    pairs = list(zip(some.coordinates, some.rows, strict=True))
    integrand = sympy.Add(*[v[z.base] * linear(row, u) - u[z.base] * linear(row, v) for z, row in pairs])
    integral = sympy.Poly(integrand.subs({p: sympy.Rational(k + 2, 3) for k, p in enumerate(some.parameters)}), T, domain="QQ").integrate(T)
    return integral.eval(1) - integral.eval(0)


POLYNOMIAL = ["harmonic", "magnetic field", "bateman", "pais-uhlenbeck", "third order", "sixth order", "first order", "singular"]


@pytest.mark.parametrize("name", POLYNOMIAL)
def test_variational_forms_have_a_symmetric_second_variation(name):
    assert all(second_variation(form(*VARIATIONAL[name]), seed) == 0 for seed in (1, 2))


@pytest.mark.parametrize("name", NOT_VARIATIONAL)
def test_other_forms_have_none(name):
    coordinates, rows, parameters = NOT_VARIATIONAL[name]
    assert any(second_variation(DynamicalForm(coordinates, rows, parameters), seed) != 0 for seed in (1, 2))


@pytest.mark.parametrize("seed", range(6))
def test_random_polynomial_forms_agree_with_the_second_variation(seed):
    """Random Lagrangians give variational rows; one more random term in one row destroys that unless the second variation says no."""
    chance = random.Random(seed)
    q = ch.coordinates("x y")
    jets = [z.d(k) for z in q for k in range(3)]

    def monomial():
        return chance.choice([-2, 1, 3]) * sympy.Mul(*chance.choices(jets, k=chance.randint(1, 3)))

    rows = rows_of(sympy.Add(*[monomial() for _ in range(3)]), q)
    good = DynamicalForm("x y", rows)
    assert ch.helmholtz(good).variational is True
    bad = DynamicalForm("x y", [rows[0] + monomial(), rows[1]])
    symmetric = all(second_variation(bad, s) == 0 for s in range(3))
    assert ch.helmholtz(bad).variational is symmetric


def test_the_printed_verdict():
    verdict = ch.helmholtz(DynamicalForm("q", ["-q'' - b*q' - k*q"], "b k"))
    assert str(verdict) == (
        "not variational: q\n  violated   sigma = q, nu = q, k = 1:  dE_q/dq' + dE_q/dq' - 2*D(dE_q/dq'') = -2*b\n"
        "  -> integrating_factor(form) looks for a multiplier that makes it variational"
    )
    assert "L = -k*q^2/2 - q*q''/2   (Vainberg-Tonti)" in str(ch.helmholtz(DynamicalForm("q", ["-q'' - k*q"], "k")))


def test_the_order_of_rows_matters():
    swapped = DynamicalForm("x y", ["y'' - b*y' + k*y", "x'' + b*x' + k*x"], "b k")
    assert ch.helmholtz(swapped).variational is True
    assert ch.helmholtz(DynamicalForm("x y", list(swapped.rows[::-1]), "b k")).variational is False


def test_systems_models_and_equations_are_read():
    system = ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
    assert ch.helmholtz(system).lagrangian == system.lagrangian
    assert ch.helmholtz(ch.derive(system)).variational is True
    rubbed = ch.helmholtz(system.replace(dissipation="x'^2/2"))
    assert rubbed.variational is False and rubbed.violations[0].expression == -2
    pushed = ch.helmholtz(system.replace(forces={"x": "sin(t)"}))  # a force of time alone has the potential -x sin(t)
    assert pushed.variational is True and sympy.expand(rows_of(pushed.lagrangian, system.coordinates)[0] - pushed.rows[0]) == 0


@pytest.mark.parametrize("name", ch.gallery())
def test_gallery_rows_are_variational_where_nothing_but_a_lagrangian_acts(name):
    """Bare rows, so that nothing is known in advance. Reactions of holonomic constraints come from the Lagrangian L + lambda R.

    Rows in the components of a group's velocity are not those of a variational form, whether they come from a Lagrangian or not.
    """
    for principle in ch.gallery(name).principles:
        equations = ch.derive(ch.gallery(name).under(principle))
        if equations.system.groups:
            with pytest.raises(ch.ModelError, match="works in ordinary coordinates"):
                ch.helmholtz(equations)
            continue
        some = DynamicalForm.of(equations)
        system, lowered = equations.system, equations.lowered
        free = lowered.action is None and not system.forces and system.dissipation == 0
        holonomic = lowered.reactions and system.variational is None and all(row.kind == "holonomic" for row in system.kinematic)
        if not lowered.reactions or holonomic:
            verdict = decide(some.coordinates, some.rows, 20.0)
            assert verdict.variational is bool(free), (name, principle)
            assert (verdict.lagrangian is not None) is bool(free)


def test_a_body_on_a_group_is_variational_in_a_chart():
    """A plate that slides down a slope, its centre of mass ahead of its origin; not so with a force across the motion."""
    plate = ch.System({"A": "SE2 body"}, "m J c", lagrangian="m/2*(A1'^2 + (A2' + c*A3')^2) + J/2*A3'^2 - m*(A13 + c*A11)")
    for system, variational in ((plate, True), (plate.replace(forces={"A1": "-A2'*A11"}), False)):
        some = DynamicalForm.of(ch.derive(in_coordinates(system, {"A": ["1/3", "-1/2", "1/5"]})))
        assert decide(some.coordinates, some.rows, 20.0).variational is variational


# ---- Vainberg and Tonti -------------------------------------------------------------------------------------------------------------


def test_tonti_about_zero_has_the_order_of_the_form():
    some = DynamicalForm("x", ["-x'' - sin(x)"])
    found = tonti_lagrangian(some.coordinates, some.rows)
    (x,) = some.coordinates
    assert found.made_by == "Vainberg-Tonti about 0" and sympy.expand(found.lagrangian - (sympy.cos(x) - 1 - x * x.d(2) / 2)) == 0


def test_tonti_moves_the_centre_where_the_form_is_singular_at_zero():
    some = DynamicalForm("x", ["-x'' + 1/x"])
    assert contracted(some.coordinates, some.rows, sympy.S.Zero) is None
    found = tonti_lagrangian(some.coordinates, some.rows)
    (x,) = some.coordinates
    assert found.made_by == "Vainberg-Tonti about 1"
    assert sympy.expand(found.lagrangian - (sympy.log(x) - (x - 1) * x.d(2) / 2)) == 0


def test_tonti_needs_a_moving_centre_for_a_form_singular_at_rest():
    some = form("x", "log(x')*x'^2")
    assert contracted(some.coordinates, some.rows, sympy.S.One) is None
    found = contracted_lagrangian(some.coordinates, some.rows)
    assert found.made_by == "Vainberg-Tonti about t + 1" and gives(found.lagrangian, some)


def test_tonti_of_a_form_that_is_not_variational_is_refused():
    some = DynamicalForm("q", ["-q'' - q'"])
    assert tonti_lagrangian(some.coordinates, some.rows) is None and minimal_lagrangian(some.coordinates, some.rows) is None


def test_homogeneous_terms_need_no_integral():
    some = form("x y", "m*(x'^2 + y'^2)/2 + k/sqrt(x^2 + y^2)", "m k")
    assert gives(homogeneous_lagrangian(some.coordinates, some.rows).lagrangian, some)
    x, y = some.coordinates
    assert degree(x / sympy.sqrt(x**2 + y**2) ** 3, {x, y}) == -2
    assert degree(sympy.sin(x), {x}) is None and degree(sympy.sin(x / y) * y, {x, y}) == 1


# ---- the tools ----------------------------------------------------------------------------------------------------------------------


def test_the_adjoint_of_the_adjoint_is_the_operator():
    x = ch.Coordinate("x")
    operator = [x * x.d(), T**2, x.d(2) ** 2, x]
    assert [sympy.expand(a - b) for a, b in zip(adjoint(adjoint(operator)), operator, strict=True)] == [0, 0, 0, 0]
    assert [sympy.expand(e) for e in adjoint([sympy.S.Zero, x])] == [-x.d(), -x]


def test_antiderivatives_are_right_or_absent():
    x, y = ch.coordinates("x y")
    for e in (x**3 / y, 1 / x, x / (x**2 + y**2) ** sympy.Rational(3, 2), 1 / (1 - x**2 - y**2) ** sympy.Rational(3, 2), sympy.exp(-x) * x):
        assert gap(antiderivative(e, x).diff(x) - e) < 1e-20
    assert antiderivative(sympy.exp(x**2), x) is None


def test_potentials():
    x, y, z = ch.coordinates("x y z")
    f = x**2 * sympy.sin(y) + y * sympy.log(z) + x / z
    found = potential([f.diff(v) for v in (x, y, z)], [x, y, z])
    assert all(gap((found - f).diff(v)) < 1e-20 for v in (x, y, z))
    assert potential([y, -x], [x, y]) is None
    w = [y * z**2, x**2 * z, sympy.cos(x) * y]
    variables = [x, y, z]
    curl = [[w[b].diff(variables[a]) - w[a].diff(variables[b]) for b in range(3)] for a in range(3)]
    again = vector_potential(curl, variables)
    assert all(gap(again[b].diff(variables[a]) - again[a].diff(variables[b]) - curl[a][b]) < 1e-20 for a in range(3) for b in range(3))


# ---- refusals -----------------------------------------------------------------------------------------------------------------------


def test_refusals():
    with pytest.raises(ch.UsageError, match="helmholtz takes a DynamicalForm"):
        ch.helmholtz("pendulum")
    with pytest.raises(ch.ModelError, match="2 rows for 1 unknowns"):
        ch.helmholtz(DynamicalForm("x", ["x''", "x'"]))
    with pytest.raises(ch.PrincipleError):
        ch.helmholtz(ch.gallery("disk").system)


def test_a_budget_that_is_too_small_leaves_the_question_open():
    some = form("x y", "(x'*y'' - y'*x'')^2/(x'^2 + y'^2)^(5/2)")
    verdict = ch.helmholtz(some, seconds=0.05)
    assert verdict.variational is None and not verdict.complete and verdict.lagrangian is None
    assert "the work allowed ran out" in str(verdict)
