"""Linearised motion, equilibria and eigenvalues along a parameter, against results by hand."""

import math
import pickle

import casadi as ca
import numpy as np
import pytest
from scipy.special import roots_laguerre

import chetaev as ch
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.stability import eigenvalue_sweep, equilibria, linearize

ANGLE = ch.System("theta", "m g l", lagrangian="m*l^2/2*theta'^2 + m*g*l*cos(theta)", name="pendulum")
CARTESIAN = ch.System("x y", "m g l", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["x^2 + y^2 = l^2"], name="bob")
VALUES = {"m": 1.3, "g": 9.81, "l": 1.1}


def same(found, expected, tolerance=1e-11):
    """Equal as sets of complex numbers."""
    left = list(expected)
    assert len(found) == len(left)
    for v in found:
        nearest = min(left, key=lambda w: abs(w - v))
        assert abs(nearest - v) < tolerance * max(1.0, *map(abs, expected)), (found, expected)
        left.remove(nearest)


def moving(eigenvalues):
    return [v for v in eigenvalues if abs(v) > 1e-9]


# -- pendulums ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("theta", "sign", "stable"), [(0, -1, None), ("pi", 1, False)])
def test_pendulum_hanging_and_standing(theta, sign, stable):
    """theta'' = -+(g/l) theta."""
    found = linearize(ch.derive(ANGLE), {"theta": theta, "theta'": 0}, parameters=VALUES)
    root = math.sqrt(VALUES["g"] / VALUES["l"])
    same(found.eigenvalues, [root, -root] if sign > 0 else [1j * root, -1j * root])
    assert found.names == ("theta", "theta'")
    np.testing.assert_allclose(found.matrix, [[0, 1], [sign * VALUES["g"] / VALUES["l"], 0]], atol=1e-14)
    assert found.stable is stable
    assert found.steady


@pytest.mark.parametrize("side", [-1, 1])
def test_cartesian_pendulum_equals_the_angle(side):
    """Two of its four jets are bound by the rod and its derivative; the eigenvalues are those of the angle."""
    found = linearize(ch.derive(CARTESIAN, ch.DAlembert()), {"x": 0, "y": side * VALUES["l"], "x'": 0}, parameters=VALUES)
    angle = linearize(ch.derive(ANGLE), {"theta": 0 if side < 0 else "pi", "theta'": 0}, parameters=VALUES)
    same(found.eigenvalues, angle.eigenvalues)
    assert found.stable is angle.stable
    assert found.full.shape == (4, 4) and found.tangent.shape == (4, 2) and found.matrix.shape == (2, 2)


def test_the_tangent_lies_on_the_constraints_and_holds_the_independent_jets():
    start = {"x": 0.66, "y": -0.88, "x'": -0.9}
    found = linearize(ch.derive(CARTESIAN, ch.DAlembert()), start, parameters=VALUES)
    x, xv, y, yv = found.state.values()
    assert list(found.state) == ["x", "x'", "y", "y'"]
    np.testing.assert_allclose(np.array([[x, 0, y, 0], [xv, x, yv, y]]) @ found.tangent, 0, atol=1e-15)
    np.testing.assert_array_equal(found.tangent[[list(found.state).index(name) for name in found.names]], np.eye(2))


def test_cartesian_pendulum_in_motion_has_no_acceleration_in_its_matrix():
    """x'' = -x (g y + x'^2 + y'^2 ...)/l^2 in the chart (x, x'): differentiated by hand with y = -sqrt(l^2 - x^2), y' = -x x'/y."""
    g, l = VALUES["g"], VALUES["l"]

    def rate(x, v):
        y = -math.sqrt(l * l - x * x)
        return x * (g * y - v * v - (x * v / y) ** 2) / l**2

    found = linearize(ch.derive(CARTESIAN, ch.DAlembert()), ch.State({"x": 0.6, "x'": -0.9}, {"y": -0.9}), parameters=VALUES)
    assert found.names == ("x", "x'")
    h = 1e-5
    row = [(rate(0.6 + h, -0.9) - rate(0.6 - h, -0.9)) / (2 * h), (rate(0.6, -0.9 + h) - rate(0.6, -0.9 - h)) / (2 * h)]
    np.testing.assert_allclose(found.matrix, [[0, 1], row], rtol=1e-8)
    assert found.rates["x'"] == pytest.approx(rate(0.6, -0.9), rel=1e-13)
    assert found.stable is None and not found.steady
    assert "not a steady motion" in found.verdict


def test_five_hanging_links_swing_at_the_zeros_of_a_laguerre_polynomial():
    """Equal links and masses, g = l = 1: the squared frequencies are the zeros of L_5 (D. Bernoulli 1733, Euler)."""
    n = 5
    pairs = [(i, j) for i in range(1, n + 1) for j in range(1, n + 1)]
    kinetic = " + ".join(f"{n - max(i, j) + 1}*cos(q{i} - q{j})*q{i}'*q{j}'/2" for i, j in pairs)
    height = " + ".join(f"{n - k + 1}*cos(q{k})" for k in range(1, n + 1))
    names = [f"q{k}" for k in range(1, n + 1)]
    system = ch.System(" ".join(names), lagrangian=f"{kinetic} + {height}")
    found = linearize(ch.derive(system), {**dict.fromkeys(names, 0), **{f"{q}'": 0 for q in names}})
    roots = np.sqrt(roots_laguerre(n)[0])
    same(found.eigenvalues, [*(1j * roots), *(-1j * roots)])


def test_redundant_constraints_change_nothing():
    start = {"x": 0.66, "y": -0.88, "x'": -0.9}
    twice = ch.System("x y", "m g l", lagrangian=CARTESIAN.lagrangian, kinematic=["x^2 + y^2 = l^2", "3*x^2 + 3*y^2 = 3*l^2"])
    once = linearize(ch.derive(CARTESIAN, ch.DAlembert()), start, parameters=VALUES)
    found = linearize(ch.derive(twice, ch.DAlembert()), start, parameters=VALUES)
    np.testing.assert_allclose(found.matrix, once.matrix, rtol=1e-12, atol=1e-12)


# -- against other linearisations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["leaning-disk", "greidanus", "rocard", "sleigh", "cart-pendulum", "spherical-pendulum", "trailer"])
def test_matrix_is_that_of_finite_differences_of_evaluate(name):
    """The rates of the independent jets, as evaluate gives them, differenced along each of them at a state in full motion."""
    model = ch.gallery(name)
    equations = ch.derive(model)
    found = linearize(model)

    def rates(y):
        now = ch.evaluate(equations, dict(zip(found.names, y, strict=True)), parameters=model.parameters)
        return np.array([now[f"{z}'"] for z in found.names])

    y = np.array([found.state[z] for z in found.names])
    h = 1e-5
    columns = [(rates(y + h * e) - rates(y - h * e)) / (2 * h) for e in np.eye(len(y))]
    np.testing.assert_allclose(found.matrix, np.array(columns).T, rtol=1e-6, atol=1e-6 * np.abs(found.matrix).max())


@pytest.mark.parametrize("name", ["leaning-disk", "rocard", "damped-oscillator", "cartesian-pendulum", "viscous-particle"])
def test_full_matrix_is_the_derivative_of_the_compiled_flow(name):
    """Differentiated on the graph through the elimination; the work that some flows carry along does not appear."""
    model = ch.gallery(name)
    equations = ch.derive(model)
    found = linearize(model)
    flow = compile_equations(equations).flow
    x = flow.graph.vector(flow.state)
    slopes = flow.function([ca.vec(ca.jacobian(ca.vertcat(*flow.rates), x))])
    work = [0.0] * int(flow.has_power)
    p = [*[model.parameters[z.name] for z in flow.arguments], 0.0]
    expected = np.array(slopes(model.t[0], [*found.state.values(), *work], p)).reshape(found.full.shape, order="F")
    np.testing.assert_allclose(found.full, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    assert list(found.state) == [z.name for z in flow.state]


def test_growth_in_a_simulation():
    """A small lean of the slow upright disk grows as theta'' = lambda^2 theta + k theta(0), k = J (J + m R^2) w^2/(I (I + m R^2))."""
    model = ch.gallery("leaning-disk")
    m, R, I, J = (model.parameters[name] for name in "m R I J".split())
    start = {"x": 0, "y": 0, "phi": 0.3, "theta": 1e-6, "psi": 0, "phi'": 0, "theta'": 0, "psi'": 2.0}
    rate = linearize(ch.derive(model), {**start, "theta": 0}, parameters=model.parameters).eigenvalues[0].real
    motion = ch.simulate(ch.derive(model), start, (0, 2.0), parameters=model.parameters, tolerance=1e-12)
    k = J * (J + m * R**2) * 2.0**2 / (I * (I + m * R**2) * rate**2)
    assert motion.final["theta"] == pytest.approx(1e-6 * ((1 + k) * math.cosh(2.0 * rate) - k), rel=1e-6)


# -- steady motions of the gallery --------------------------------------------------------------------------------------------------


def disk(speed, phi=0.6):
    return {"x": 0.2, "y": -0.3, "phi": phi, "theta": 0, "psi": 0.1, "phi'": 0, "theta'": 0, "psi'": speed}


@pytest.mark.parametrize("factor", [0.3, 0.99, 1.01, 3.0])
def test_upright_disk_stands_above_a_speed(factor):
    """Linear in the lean, the momentum about the vertical diameter gives I phi'' = J w theta', that about the contact point
    (I + m R^2) theta'' = m g R theta - (J + m R^2) w phi'. So with phi' = J w theta/I + constant
    lambda^2 (I + m R^2) = m g R - J (J + m R^2) w^2/I, and six zeros: x, y, phi, psi, psi', and rolling on a circle."""
    model = ch.gallery("leaning-disk")
    m, R, I, J, g = (model.parameters[name] for name in "m R I J g".split())
    w = factor * math.sqrt(I * m * g * R / (J * (J + m * R**2)))
    found = linearize(ch.derive(model), disk(w), parameters=model.parameters)
    square = (m * g * R - J * (J + m * R**2) * w**2 / I) / (I + m * R**2)
    root = np.sqrt(complex(square))
    same(found.eigenvalues, [0] * 6 + [root, -root], tolerance=1e-9)
    assert found.stable is (False if factor < 1 else None)
    assert found.steady
    assert found.rates["x"] == pytest.approx(R * w * math.cos(0.6))


def test_the_heading_of_the_disk_does_not_matter():
    model = ch.gallery("leaning-disk")
    first, second = (linearize(ch.derive(model), disk(4.0, phi), parameters=model.parameters) for phi in (0.0, 1.1))
    same(first.eigenvalues, second.eigenvalues)


def tyre(speed):
    return {"psi": 0.2, "theta": 0.5, "epsilon": 0, "x1": 0.1, "x2": -0.2, "psi'": speed, "theta'": 0}


@pytest.mark.parametrize("speed", [0.4, 1.8])
def test_rocards_tyre_rolling_straight(speed):
    """J theta'' = lambda3 = -K epsilon, and the hidden row gives epsilon' = theta' - a epsilon/(M psi'):
    lambda^2 + a/(M psi') lambda + K/J = 0, and zeros for x1, x2, theta, psi, psi'."""
    model = ch.gallery("rocard")
    J, M, K, a = (model.parameters[name] for name in "J M K a".split())
    found = linearize(ch.derive(model), tyre(speed), parameters=model.parameters)
    same(found.eigenvalues, [0] * 5 + list(np.roots([1, a / (M * speed), K / J])))
    assert found.stable is True
    assert found.steady
    assert "5 directions" in found.verdict


def test_rocards_tyre_rolling_backwards():
    """The sign in the third row changes with psi': lambda^2 + a/(M |psi'|) lambda + K/J = 0 again."""
    model = ch.gallery("rocard")
    J, M, K, a = (model.parameters[name] for name in "J M K a".split())
    found = linearize(ch.derive(model), tyre(-1.8), parameters=model.parameters)
    same(moving(found.eigenvalues), np.roots([1, a / (M * 1.8), K / J]))


def greidanus(speed):
    return {"psi": 0.2, "theta": 0.5, "epsilon": 0, "y1": 0.1, "y2": 0, "xi": 0, "psi'": speed, "theta'": 0, "xi'": 0}


def greidanus_polynomial(v, values):
    """J theta'' = -beta epsilon, epsilon' = theta' - v (alpha xi + beta epsilon), and across the wheel
    M (v (theta' - epsilon') - xi'') = alpha xi, so (s^2 + v beta s + beta/J)(s^2 + c) + v^3 alpha beta s = 0, c = alpha/M - alpha v^2."""
    J, M, alpha, beta = (values[name] for name in "J M alpha beta".split())
    c = alpha / M - alpha * v**2
    return [1, v * beta, beta / J + c, v * beta * alpha / M, c * beta / J]


@pytest.mark.parametrize("speed", [0.3, 0.8, 0.83, 1.2])
@pytest.mark.parametrize("alpha", [1.2, 3.2, 3.4, 50.0])
def test_greidanus_tyre_is_stable_for_low_stiffness_and_speed(speed, alpha):
    """errata 001-dis (Hurwitz): stable iff alpha < beta M/J = 10/3 and M psi'^2 < 1, that is psi' < 0.8165."""
    model = ch.gallery("greidanus")
    values = {**model.parameters, "alpha": alpha}
    found = linearize(ch.derive(model), greidanus(speed), parameters=values)
    same(moving(found.eigenvalues), np.roots(greidanus_polynomial(speed, values)), tolerance=1e-9)
    assert len(found.eigenvalues) == 9
    assert found.stable is (alpha < values["beta"] * values["M"] / values["J"] and values["M"] * speed**2 < 1)


@pytest.mark.parametrize("a", [0.4, 0.6, 2.0])
@pytest.mark.parametrize("b", [-1.7, -0.9, 0.5])
def test_cart_pendulum_with_feedback(a, b):
    """000-stab: (I + m l b) theta'' + (nu - m l a) theta' = m g l theta is stable iff a > nu/(m l) = 0.5 and b < -I/(m l) = -1."""
    model = ch.gallery("cart-pendulum")
    values = {**model.parameters, "a": a, "b": b}
    m, l, I, g, nu = (values[name] for name in "m l I g nu".split())
    found = linearize(ch.derive(model), {"x": 0.3, "theta": 0, "theta'": 0}, parameters=values)
    same(found.eigenvalues, [0, *np.roots([I + m * l * b, nu - m * l * a, -m * g * l])])
    assert found.stable is (a > nu / (m * l) and b < -I / (m * l))


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("theta", [0.0, 0.4, 1.3])
def test_sleigh_runs_with_its_centre_of_mass_ahead(direction, theta):
    """(J + m a^2) theta'' = -m a v theta', and four zeros: x, y, theta, v."""
    model = ch.gallery("sleigh")
    m, J, a = (model.parameters[name] for name in "m J a".split())
    v = direction * 1.7
    start = {"x": 0, "y": 0, "theta": theta, "x'": v * math.cos(theta), "theta'": 0}
    found = linearize(ch.derive(model), start, parameters=model.parameters)
    same(found.eigenvalues, [0, 0, 0, 0, -m * a * v / (J + m * a**2)])
    assert found.stable is (direction > 0)


def test_conical_pendulum():
    """At phi'^2 cos(theta) = g/l with phi' free to change, theta swings at phi' sqrt(1 + 3 cos(theta)^2) (Landau, Lifshitz, section 14)."""
    model = ch.gallery("spherical-pendulum")
    g, l, spin = model.parameters["g"], model.parameters["l"], 4.5
    steady = equilibria(model, {"theta": 0.8, "phi": 0.3, "phi'": spin}, fixed=["phi'"])
    cosine = g / (l * spin**2)
    assert steady["theta"] == pytest.approx(math.acos(cosine), rel=1e-13)
    assert steady["phi"] == 0.3 and steady["phi'"] == spin and steady["theta'"] == 0
    root = 1j * spin * math.sqrt(1 + 3 * cosine**2)
    same(linearize(model, steady).eigenvalues, [0, 0, root, -root])


# -- other principles and higher orders ---------------------------------------------------------------------------------------------


def test_damped_oscillator_of_herglotz():
    """x'' + gamma x' + omega^2 x = 0 and, at x = 0, delta s' = -gamma delta s."""
    model = ch.gallery("damped-oscillator")
    omega, gamma = model.parameters["omega"], model.parameters["gamma"]
    found = linearize(model, {"x": 0, "x'": 0, "s": 0})
    root = 1j * math.sqrt(omega**2 - gamma**2 / 4)
    same(found.eigenvalues, [-gamma / 2 + root, -gamma / 2 - root, -gamma])
    assert found.stable is True and found.verdict == "stable: every disturbance decays."


def test_pais_uhlenbeck():
    found = linearize(ch.gallery("pais-uhlenbeck"), {"q": 0, "q'": 0, "q''": 0, "q'''": 0})
    same(found.eigenvalues, [1.7j, -1.7j, 1j, -1j])
    assert found.names == ("q", "q'", "q''", "q'''")
    assert found.stable is None and "1.7" in found.verdict


def test_merged_frequencies_are_left_undecided():
    """At w1 = w2 the motion grows as t; round-off splits the double eigenvalue by its root, and that must not count as growth."""
    model = ch.gallery("pais-uhlenbeck")
    found = linearize(ch.derive(model), {"q": 0, "q'": 0, "q''": 0, "q'''": 0}, parameters={"w1": 1.3, "w2": 1.3})
    same(found.eigenvalues, [1.3j, 1.3j, -1.3j, -1.3j], tolerance=1e-6)
    assert found.stable is None


def test_vakonomic_firms_have_the_multiplier_in_their_state():
    """With w = exp(-beta t): q1'' = beta q1' + B lambda/(A1 w), q2' = D - B (q1 + q2), lambda' = B lambda - w A2 (q2'' - beta q2')."""
    model = ch.gallery("two-firms")
    A1, A2, B, beta = (model.parameters[name] for name in "A1 A2 B beta".split())
    found = linearize(model)
    w = math.exp(-beta * model.t[0])
    k = w * A2 * B * (B + beta)
    expected = np.array([[0, 1, 0, 0], [0, beta, 0, B / (A1 * w)], [-B, 0, -B, 0], [-k, w * A2 * B, -k, B]])
    assert found.names == ("q1", "q1'", "q2", "lambda1")
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-13, atol=1e-14)
    assert found.stable is None  # the law of motion itself changes in time


# -- verdicts -----------------------------------------------------------------------------------------------------------------------

HOOP = ch.System(
    "theta", "w c", lagrangian="theta'^2/2 + w^2*sin(theta)^2/2 + cos(theta)", dissipation="c/2*theta'^2", name="bead on a hoop"
)


@pytest.mark.parametrize(("w", "stable"), [(0.9, True), (1.0, None), (1.1, False)])
def test_a_bifurcation_is_no_family(w, stable):
    """theta'' = (w^2 cos(theta) - 1) sin(theta) - c theta': at w = 1 the zero eigenvalue belongs to no family of equilibria."""
    found = linearize(ch.derive(HOOP), {"theta": 0, "theta'": 0}, parameters={"w": w, "c": 0.3})
    same(found.eigenvalues, np.roots([1, 0.3, 1 - w**2]))
    assert found.stable is stable


def test_a_curved_family_of_equilibria_is_stable():
    """A bead with friction in the valley (x^2 + y^2 - 1)^2 rests anywhere on the circle:
    x'' + c x' + 8 x = 0 across, y'' + c y' = 0 along."""
    valley = ch.System("x y", "c", lagrangian="(x'^2 + y'^2)/2 - (x^2 + y^2 - 1)^2", dissipation="c/2*(x'^2 + y'^2)")
    found = linearize(ch.derive(valley), {"x": 1, "y": 0, "x'": 0, "y'": 0}, parameters={"c": 0.5})
    same(found.eigenvalues, [0, -0.5, *np.roots([1, 0.5, 8])])
    assert found.stable is True and "1 direction " in found.verdict


def test_masses_that_drift_together():
    """Two masses, a spring and a damper: u = x1 - x2 obeys u'' + 2 c u' + 2 u = 0; their common place and speed are a family."""
    pair = ch.System("x1 x2", "c", lagrangian="(x1'^2 + x2'^2)/2 - (x1 - x2)^2/2", dissipation="c/2*(x1' - x2')^2")
    found = linearize(ch.derive(pair), {"x1": 0.4, "x2": 0.4, "x1'": 1.5, "x2'": 1.5}, parameters={"c": 0.3})
    same(found.eigenvalues, [0, 0, *np.roots([1, 0.6, 2])])
    assert found.steady and found.stable is True
    assert "a steady motion" in found.title


def test_a_free_particle_is_undecided():
    found = linearize(ch.derive(ch.System("x", lagrangian="x'^2/2")), {"x": 0, "x'": 0})
    np.testing.assert_array_equal(found.eigenvalues, [0, 0])
    assert found.stable is None and "no eigenvalue differs" in found.verdict


def test_stability_that_depends_on_time_is_undecided():
    """Mathieu's pendulum hangs at rest, but its matrix oscillates."""
    system = ch.System("x", lagrangian="x'^2/2 - (1 + h*cos(t))*x^2/2", parameters="h", dissipation="x'^2/20")
    found = linearize(ch.derive(system), {"x": 0, "x'": 0}, parameters={"h": 0.5}, t=0.4)
    same(found.eigenvalues, np.roots([1, 0.1, 1 + 0.5 * math.cos(0.4)]))
    assert not found.steady and found.stable is None
    steady = linearize(ch.derive(system), {"x": 0, "x'": 0}, parameters={"h": 0}, t=0.4)
    assert steady.steady and steady.stable is True


def test_nothing_left_free():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x = 1", "y = 2"])
    found = linearize(ch.derive(system, ch.DAlembert()), {})
    assert found.matrix.shape == (0, 0) and found.eigenvalues.shape == (0,)
    assert found.stable is None and "nothing free" in str(found)


def test_units_do_not_matter():
    """A resonator of a microgram, a micrometre and a megahertz; positions of round-off size at rest."""
    system = ch.System("x y", "m k c", lagrangian="m/2*(x'^2 + y'^2) - k/2*(x^2 + 4*y^2)", dissipation="c/2*(x'^2 + y'^2)")
    values = {"m": 1e-9, "k": 4e4, "c": 1e-5}
    found = linearize(ch.derive(system), {"x": 1e-23, "y": 0, "x'": 0, "y'": 0}, parameters=values)
    ratio = values["c"] / values["m"]
    same(found.eigenvalues, [*np.roots([1, ratio, 4e13]), *np.roots([1, ratio, 1.6e14])])
    assert found.stable is True


@pytest.mark.parametrize("size", [1e-17, 1e-60, 1e-200])
def test_round_off_in_the_state_does_not_matter(size):
    model = ch.gallery("rocard")
    exact = linearize(ch.derive(model), tyre(1.8), parameters=model.parameters)
    near = linearize(ch.derive(model), {**tyre(1.8), "epsilon": size, "theta'": -size}, parameters=model.parameters)
    np.testing.assert_allclose(near.matrix, exact.matrix, rtol=1e-12, atol=1e-14)
    assert near.stable is True


def test_the_result_reads_well_and_is_a_value():
    found = linearize(ch.derive(ANGLE), {"theta": "pi", "theta'": 0}, parameters={"m": 1, "g": 4, "l": 1})
    assert str(found).splitlines() == [
        "linearisation of 'pendulum' at an equilibrium",
        "  eigenvalues  2,  -2",
        "  stability    unstable: a disturbance grows as exp(2*t).",
        "             theta  theta'",
        "   (theta)'      0       1",
        "  (theta')'      4       0",
    ]
    with pytest.raises(ValueError):
        found.matrix[0, 0] = 1
    assert str(pickle.loads(pickle.dumps(found))) == str(found)  # noqa: S301 - our own bytes


def test_complex_eigenvalues_are_written_plainly():
    found = linearize(ch.gallery("damped-oscillator"), {"x": 0, "x'": 0, "s": 0})
    assert "-0.125 + 1.29398i,  -0.125 - 1.29398i,  -0.25" in str(found)
    assert " 1.7i,  1i,  -1i,  -1.7i" in str(linearize(ch.gallery("pais-uhlenbeck"), {"q": 0, "q'": 0, "q''": 0, "q'''": 0}))


# -- sweeps -------------------------------------------------------------------------------------------------------------------------


def test_sweep_through_the_shimmy_of_greidanus():
    """At alpha = beta M/J a pair crosses the imaginary axis with the frequency sqrt(alpha/M): a Hopf point."""
    model = ch.gallery("greidanus")
    J, M, beta = (model.parameters[name] for name in "J M beta".split())
    critical = beta * M / J
    values = np.linspace(0.7, 1.3, 25) * critical
    found = eigenvalue_sweep(ch.derive(model), greidanus(0.6), "alpha", values, parameters=model.parameters)
    assert found.shape == (25, 9)
    for v, row in zip(values, found, strict=True):
        same(moving(row), np.roots(greidanus_polynomial(0.6, {**model.parameters, "alpha": v})), tolerance=1e-9)
    crossing = [j for j in range(9) if found[0, j].real < -1e-6 and found[-1, j].real > 1e-6]
    assert len(crossing) == 2
    for j in crossing:
        assert found[12, j].real == pytest.approx(0, abs=1e-12)
        assert abs(found[12, j].imag) == pytest.approx(math.sqrt(critical / M), rel=1e-12)
        assert np.abs(np.diff(found[:, j])).max() < 0.05


def test_sweep_follows_eigenvalues_that_cross():
    """Two oscillators of frequencies 1 and w: the columns keep their identity through w = 1."""
    pair = ch.derive(ch.System("x y", "w", lagrangian="(x'^2 + y'^2)/2 - x^2/2 - w^2*y^2/2"))
    values = np.linspace(0.55, 1.5, 20)
    found = eigenvalue_sweep(pair, {"x": 0, "y": 0, "x'": 0, "y'": 0}, "w", values)
    columns = sorted(found.T.tolist(), key=lambda c: (c[0].imag, c[-1].imag))
    expected = [-1j + 0 * values, -1j * values, 1j * values, 1j + 0 * values]
    np.testing.assert_allclose(columns, expected, atol=1e-12)


def test_sweep_with_a_state_that_moves():
    """The bead's equilibrium follows cos(theta) = 1/w^2."""
    values = np.linspace(1.05, 2, 12)
    found = eigenvalue_sweep(ch.derive(HOOP), lambda w: {"theta": math.acos(1 / w**2), "theta'": 0}, "w", values, parameters={"c": 0.2})
    for w, row in zip(values, found, strict=True):
        same(row, np.roots([1, 0.2, w**2 - 1 / w**2]))


def test_sweep_over_a_speed():
    model = ch.gallery("greidanus")
    start = {name: v for name, v in greidanus(0.6).items() if name != "psi'"}
    speeds = [0.5, 0.7, 0.9]
    found = eigenvalue_sweep(model, start, "psi'", speeds)
    for v, row in zip(speeds, found, strict=True):
        same(moving(row), np.roots(greidanus_polynomial(v, model.parameters)), tolerance=1e-9)
    assert [row.real.max() > 1e-9 for row in found] == [False, False, True]


def test_bicycle_of_the_benchmark():
    """Meijaard, Papadopoulos, Ruina, Schwab 2007, table 2: capsize, weave and caster of straight running at 5 m/s."""
    model = ch.gallery("bicycle")
    still = dict.fromkeys(("x", "y", "yaw", "lean", "steer", "rear", "front", "lean'", "steer'"), 0.0)
    found = linearize(ch.derive(model), ch.State({**still, "rear'": -5.0 / 0.3}, {"pitch": 0.0}), model.parameters)
    assert found.steady
    assert found.stable
    literature = [-0.32286642900409, -0.77534188219585 + 4.46486771378823j, -0.77534188219585 - 4.46486771378823j, -14.07838969279822]
    same(moving(found.eigenvalues), literature, tolerance=1e-11)


# ---- corners ------------------------------------------------------------------------------------------------------------------------


def pushed(force, **parts):
    return ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": force}, name="block", **parts))


@pytest.mark.parametrize(
    ("force", "surface"),
    [("-mu*sign(x')", "x'"), ("-mu*sign(x'*2)", "x'"), ("-mu*max(x, 0)", "x"), ("-mu*abs(x)", "x"), ("-mu*sign(x + x')", "x + x'")],
)
def test_no_linearisation_where_the_two_sides_differ(force, surface):
    """At rest dry friction is any force up to mu: sign(0) = 0 is no linearisation."""
    for call in (ch.linearize, lambda e, s, parameters: ch.eigenvalue_sweep(e, s, "mu", [0.1, 0.2])):
        with pytest.raises(ch.StateError) as caught:
            call(pushed(force), {"x": 0, "x'": 0}, parameters={"mu": 0.3})
        assert f"{surface} = 0 here" in str(caught.value)
        assert f"{surface} a little above or below 0" in str(caught.value)


@pytest.mark.parametrize("speed", [0.5, -0.5])
def test_beside_the_surface_the_linearisation_is_that_of_the_side(speed):
    found = ch.linearize(pushed("-mu*sign(x')*(1 + x'^2)"), {"x": 0.2, "x'": speed}, parameters={"mu": 0.3})
    assert np.asarray(found.matrix) == pytest.approx(np.array([[0, 1], [-1, -0.6 * abs(speed)]]))


@pytest.mark.parametrize(
    "force", ["-mu*x*abs(x)", "-mu*abs(x)^3", "-mu*max(x, 0)^2", "0*mu*sign(x')", "-mu*x'*abs(x')", "-mu*x*sign(1 + x)"]
)
def test_corners_that_the_first_order_does_not_see(force):
    """The slope at the corner is the same from both sides, or the corner lies elsewhere."""
    found = ch.linearize(pushed(force), {"x": 0, "x'": 0}, parameters={"mu": 0.3})
    stiffness = 1.3 if "sign(1 + x)" in force else 1.0
    assert np.asarray(found.matrix) == pytest.approx(np.array([[0, 1], [-stiffness, 0]]), abs=1e-12)


def test_friction_in_a_constrained_system_at_rest():
    """A bead on a wire with dry friction in its speed along it; the speed is zero up to round-off."""
    system = ch.System("x y", "mu", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["y = x^2"], dissipation="mu*abs(x')")
    with pytest.raises(ch.StateError, match="x' = 0 here"):
        ch.linearize(ch.derive(system, ch.DAlembert()), {"x": 0, "x'": 0}, parameters={"mu": 0.3})


def test_slopes_in_mixed_units_are_not_taken_for_round_off():
    """x of size 1e6 and y of size 1e-9 exchange: in these units the matrix is 1e8*[[-2, 3], [0.4, -1]]."""
    system = ch.System("x y", lagrangian="0", kinematic=["x' = -2e8*x + 3e23*y", "y' = 4e-8*x - 1e8*y"], variational=[])
    found = ch.linearize(ch.derive(system, ch.VirtualWork()), {"x": 0, "y": 0})
    assert np.array(found.matrix) == pytest.approx(np.array([[-2e8, 3e23], [4e-8, -1e8]]), rel=1e-12)
    root = math.sqrt(9 - 4 * 0.8)
    assert found.eigenvalues.real == pytest.approx([1e8 * (-3 + root) / 2, 1e8 * (-3 - root) / 2], rel=1e-9)
