"""Polynomial integrals and invariant measures of reduced systems, against the classical results and numerical checks of them."""

import numpy as np
import pytest
import sympy

import chetaev as ch

HEAVY = "(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 - (c1*A31 + c2*A32 + c3*A33)"


def heavy(**values):
    names = {name: values.get(name, 0) for name in ("I1", "I2", "I3", "c1", "c2", "c3")}
    system = ch.System({"A": "SO3 body"}, "I1 I2 I3 c1 c2 c3", lagrangian=HEAVY, name="heavy top")
    return ch.Model(system, ch.Hamilton(), names, {"A": (0.3, -0.5, 0.2), "A1'": 0.4, "A2'": -0.7, "A3'": 1.1}, t=(0, 5))


def constant(found, model):
    """The integrals are constant along a motion, which knows nothing of polynomials."""
    motion = ch.simulate(model, t=np.linspace(0, 5, 51), tolerance=1e-11)
    for e in found:
        values = motion[ch.show(e)]
        assert np.ptp(values) < 1e-7 * max(1.0, float(np.abs(values).max()))
    return len(found)


def test_the_integrals_of_a_top_without_weight():
    model = heavy(I1=1, I2=2, I3="7/2")
    found = ch.orbits.first_integrals(model, degree=4)
    assert found.variables == ("A1'", "A2'", "A3'")
    assert constant(found, model) == 2 == found.independent


@pytest.mark.parametrize(
    ("values", "degrees"),
    [
        ({"I1": 2, "I2": 2, "I3": 3, "c3": 1}, [1, 2, 2]),  # Lagrange: the spin
        ({"I1": 2, "I2": 2, "I3": 1, "c1": 1}, [2, 2, 4]),  # Kovalevskaya
        ({"I1": 1, "I2": 2, "I3": 3, "c1": 1}, [2, 2]),  # none of its own (Husson 1906): energy and vertical momentum only
    ],
)
def test_the_integrals_of_heavy_tops(values, degrees):
    model = heavy(**values)
    found = ch.orbits.first_integrals(model, degree=4)
    assert constant(found, model) == len(degrees)
    vertical = {"A31", "A32", "A33", "A1'", "A2'", "A3'"}
    assert set(found.variables) == vertical
    assert [sympy.Poly(e, *e.free_symbols).total_degree() for e in found] == degrees


def test_goryachev_and_chaplygin_have_one_on_a_level_only():
    """I1 = I2 = 4 I3 has a further integral where the vertical momentum vanishes, not on all states."""
    assert len(ch.orbits.first_integrals(heavy(I1=4, I2=4, I3=1, c1=1), degree=4)) == 2


def test_integrals_with_symbols_hold_for_all_values():
    system = ch.System({"A": "SO3 body"}, "c", lagrangian="A1'^2 + A2'^2 + A3'^2/2 - c*A31")
    found = ch.orbits.first_integrals(system, degree=4)
    w1, w2, a1, a2, c = (sympy.Symbol(name) for name in ("w1", "w2", "a1", "a2", "c"))
    symbols = {z.name: z for e in found for z in e.free_symbols}
    names = {symbols["A1'"]: w1, symbols["A2'"]: w2, symbols["A31"]: a1, symbols["A32"]: a2, symbols["c"]: c}
    published = (w1**2 - w2**2 - c * a1) ** 2 + (2 * w1 * w2 - c * a2) ** 2  # S. Kowalevski, Acta Math. 12 (1889) 177
    assert sympy.expand(found.integrals[2].xreplace(names) - published) == 0


def test_none_is_an_answer():
    rows = ["x' - s*(y - x)", "y' - x*(r - z) + y", "z' - x*y + b*z"]
    lorenz = ch.derive(ch.DynamicalForm("x y z", rows, parameters="s r b"))
    found = ch.orbits.first_integrals(lorenz, degree=3)
    assert len(found) == 0 and "none: no polynomial of degree 3 or less" in str(found)
    measure = ch.orbits.invariant_measure(lorenz)
    assert measure.exists is False and "at rest" in measure.reason


def test_constraints_and_angles_are_relations():
    """Chaplygin's sleigh has its energy; Suslov's problem too; Veselova's a quadratic one more, of degree 4 here."""
    sleigh = ch.gallery("sleigh")
    found = ch.orbits.first_integrals(sleigh, degree=3)
    assert found.variables == ("x'", "y'", "theta'", "cos(theta)", "sin(theta)")
    assert constant(found, sleigh) == 1
    assert constant(ch.orbits.first_integrals(ch.gallery("suslov"), degree=4), ch.gallery("suslov")) == 1
    assert constant(ch.orbits.first_integrals(ch.gallery("veselova"), degree=2), ch.gallery("veselova")) == 1


def test_suslov_has_a_measure_only_about_a_principal_axis():
    """V. V. Kozlov (1988): the constraint must lie along an eigenvector of the inertia."""
    system = ch.System(
        {"A": "SO3 body"},
        "I1 I2 I3 I13 I23",
        lagrangian="(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 + I13*A1'*A3' + I23*A2'*A3'",
        kinematic=["A3' = 0"],
    )
    equations = ch.derive(system, ch.DAlembert())
    assert ch.orbits.invariant_measure(equations).exists is False
    assert ch.orbits.invariant_measure(equations, parameters={"I13": 0}).exists is False
    principal = ch.orbits.invariant_measure(equations, parameters={"I13": 0, "I23": 0})
    assert principal.exists is True and principal.density == 1


@pytest.mark.parametrize(("group", "kept"), [("SL2", True), ("H3", True), ("Aff1", False)])
def test_geodesics_keep_a_volume_exactly_on_unimodular_groups(group, kept):
    """V. V. Kozlov (1988): the trace of ad must vanish; in the affine group of the line it does not."""
    dimension = {"SL2": 3, "H3": 3, "Aff1": 2}[group]
    kinetic = " + ".join(f"{k + 1}*A{k + 1}'^2/2" for k in range(dimension))
    assert ch.orbits.invariant_measure(ch.System({"A": f"{group} body"}, lagrangian=kinetic)).exists is kept


@pytest.mark.parametrize("on_group", [True, False])
def test_the_sleigh_has_a_measure_only_with_its_mass_over_the_blade(on_group):
    if on_group:
        lagrangian = "m/2*(A1'^2 + (A2' + a*A3')^2) + J/2*A3'^2"
        system = ch.System({"A": "SE2 body"}, "m J a", lagrangian=lagrangian, kinematic=["A2' = 0"])
    else:
        lagrangian = "m/2*(x'^2 + y'^2) + m*a*th'*(y'*cos(th) - x'*sin(th)) + (J + m*a^2)/2*th'^2"
        system = ch.System("x y th", "m J a", lagrangian=lagrangian, kinematic=["y'*cos(th) = x'*sin(th)"])
    equations = ch.derive(system, ch.DAlembert())
    none = ch.orbits.invariant_measure(equations)
    assert none.exists is False and "first order in the velocities" in none.reason
    assert ch.orbits.invariant_measure(equations, parameters={"a": 0}).exists is True


def test_the_measure_of_veselova():
    """A. P. Veselov, L. E. Veselova (1986): the root of (gamma, I^-1 gamma). The equations are derived here again."""
    model = ch.gallery("veselova")
    inverse = 1 / np.array([float(model.parameters[name]) for name in ("I1", "I2", "I3")])
    found = ch.orbits.invariant_measure(model)
    density = sympy.lambdify(sorted(found.density.free_symbols, key=str), found.density)
    for gamma in np.random.default_rng(0).normal(size=(3, 3)):
        ratio = density(*gamma) / np.sqrt(gamma @ (inverse * gamma))
        assert ratio == pytest.approx(density(1, 0, 0) / np.sqrt(inverse[0]), rel=1e-12)

    def weighted(y):
        w, gamma = y[:3], y[3:]
        torque = np.cross(w / inverse, -w)  # I w' = I w x w + lambda gamma
        pull = -(gamma @ (-inverse * torque) + w @ np.cross(gamma, w)) / (gamma @ (inverse * gamma))
        rates = np.array([*(inverse * (-torque + pull * gamma)), *np.cross(gamma, w)])
        return density(*gamma) * rates

    y, h = np.array([0.3, -0.7, 0.4, 0.2, 0.5, -0.8]), 1e-5
    divergence = sum((weighted(y + h * e) - weighted(y - h * e))[k] / (2 * h) for k, e in enumerate(np.eye(6)))
    assert divergence == pytest.approx(0, abs=1e-8)


def test_undecided_is_said():
    """A potential hides the velocities that rule out a measure at rest; damping along one axis that depends on the place."""
    system = ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "x^3*x'^2"})
    found = ch.orbits.invariant_measure(system, degree=2)
    assert found.exists is None and "not decided" in str(found)
    assert ch.orbits.invariant_measure(system, degree=4).density == sympy.exp(-2 * sympy.Rational(1, 4) * system.coordinates[0] ** 4)


def test_refusals():
    top = ch.System({"A": "SO3 body"}, "I1", lagrangian="I1*A1'^2 + A2'^2 + A3'^2")
    with pytest.raises(ch.ParameterError, match="not a rational number"):
        ch.orbits.first_integrals(top, parameters={"I1": "sqrt(2)"})
    with pytest.raises(ch.ParameterError, match="not a rational number"):
        ch.orbits.first_integrals(top, parameters={"I1": float("nan")})
    with pytest.raises(ch.ParameterError, match="not a parameter"):
        ch.orbits.first_integrals(top, parameters={"I2": 1})
    for degree in (0, 2.0, True):
        with pytest.raises(ch.UsageError, match="positive number"):
            ch.orbits.first_integrals(top, degree=degree)
    with pytest.raises(ch.UsageError, match="monomials"):
        ch.orbits.first_integrals(ch.gallery("lagrange-top"), degree=20)
    with pytest.raises(ch.ModelError, match="depend on time"):
        ch.orbits.first_integrals(ch.System("x", lagrangian="x'^2/2 - x^2*cos(t)"))
    with pytest.raises(ch.ModelError, match="not a quotient of polynomials"):
        ch.orbits.first_integrals(ch.System("x", lagrangian="x'^2/2 - exp(x)"))
    with pytest.raises(ch.ModelError, match="do not determine"):
        ch.orbits.first_integrals(ch.System("x y", lagrangian="(x' + y')^2/2"))
