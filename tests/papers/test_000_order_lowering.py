"""000, sections IV and V: order lowering, linearisation and friction, with the corrections of the misprinted equations."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.zero import vanishes

TIMES = np.linspace(0, 2, 21)


def close(a, b, tolerance=1e-10):
    assert np.abs(np.asarray(a) - b).max() < tolerance * max(1.0, np.abs(b).max())


@cache
def rocard(forward=True):
    """Rocard's tyre in closed form: psi'' and epsilon' from the hidden constraint, as SciPy integrates them."""
    model = ch.gallery("rocard", forward=forward)
    i, j, m, k, a = (model.parameters[n] for n in "I J M K a".split())
    times = TIMES if forward else TIMES / 4

    def rhs(_, s):
        _, theta, e, _, _, v, w = s
        sign = np.sign(v)
        turn = sign * a / m * np.sin(e) * (i + m * np.cos(e)) / (m + i * np.cos(e)) / v
        return [v, w, w - turn, v * np.cos(theta - e), v * np.sin(theta - e), -sign * a * np.sin(e) ** 2 / (m + i * np.cos(e)), -k * e / j]

    start = [0.2, 0.5, 0.15, 0.1, -0.2, 1.8 if forward else -1.8, 0.6]
    found = solve_ivp(rhs, (0, times[-1]), start, "DOP853", times, rtol=2e-13, atol=1e-14).y
    _, theta, e, _, _, v, w = found
    rates = np.array([rhs(0, s) for s in found.T]).T
    turning = w - rates[2]
    force = -m * (rates[5] * np.cos(theta - e) - v * turning * np.sin(theta - e))  # M*x1'' = -lambda1
    return model, times, found, force


def moved(morphism, model, times):
    start = morphism.forward(model.start, parameters=model.parameters)
    return ch.simulate(morphism.target, start, times, tolerance=1e-12, parameters=model.parameters)


@cache
def versions(name):
    source = ch.derive(ch.gallery(name))
    lifted = ch.lift(source)
    return lifted, lifted.then(ch.linearize_constraints(lifted.target))


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("linear", [False, True])
def test_rocard_lifted_and_linear_against_the_closed_form(forward, linear):
    model, times, found, force = rocard(forward)
    lifted = ch.lift(ch.derive(model))
    morphism = lifted.then(ch.linearize_constraints(lifted.target)) if linear else lifted
    motion = moved(morphism, model, times)
    for name, column in zip("psi theta epsilon x1 x2 psi1 theta1".split(), found, strict=True):
        close(motion[name], column)
    close(motion["lambda1"], force)
    close(motion["lambda3"], -model.parameters["K"] * found[2])


def same_row(row, text, equations):
    """Two rows say the same, up to a sign."""
    wanted = ch.parse(text, equations)
    return vanishes(row.residual - wanted) is True or vanishes(row.residual + wanted) is True


def test_the_complete_linear_version_of_rocards_tyre():
    """(97) with its corrections: x2' has a sine, the third line is linear only with tau', and five rows were missing."""
    _, linear = versions("rocard")
    names = "psi1 theta1 epsilon1 x1_1 x2_1".split()
    wanted = [
        "x1_1 - psi1*cos(theta - epsilon)",
        "x2_1 - psi1*sin(theta - epsilon)",
        "-psi1'*tan(epsilon) + (psi1*(theta1 - epsilon1) - sign(psi1)*a/M*tan(epsilon))*tau'",
        *[f"{q}' - {v}*tau'" for q, v in zip("psi theta epsilon x1 x2".split(), names, strict=True)],
    ]
    rows = list(linear.system.kinematic)
    assert len(rows) == len(wanted)
    for text in wanted:
        assert any(same_row(row, text, linear.target) for row in rows), text
    assert all(row.kind in ("holonomic", "linear") for row in rows)
    printed = "x2_1 - psi1*cos(theta - epsilon)"
    assert not any(same_row(row, printed, linear.target) for row in rows)
    assert [str(v) for v in linear.system.variational] == [
        "delta psi*cos(theta) - delta x1 = 0",
        "delta psi*sin(theta) - delta x2 = 0",
        "delta theta - delta epsilon = 0",
    ]


def test_the_printed_second_row_of_97_has_other_motions():
    model = ch.gallery("rocard")
    _, linear = versions("rocard")
    rows = [
        "x2_1 = psi1*cos(theta - epsilon)" if same_row(row, "x2_1 - psi1*sin(theta - epsilon)", linear.target) else row
        for row in linear.system.kinematic
    ]
    image = linear.forward(model.start, parameters=model.parameters).fixed
    start = {k: v for k, v in image.items() if k not in ("x2_1", "x2'", "epsilon1", "epsilon'")}
    wrong = ch.derive(linear.system.replace(kinematic=rows), ch.VirtualWork())
    printed = ch.evaluate(wrong, start, parameters=model.parameters)
    assert abs(printed["x2'"] - 1.8 * np.sin(0.35)) > 0.5


def test_the_viscous_particle_in_all_versions():
    """Section V.C: 2-lift and linear version move as m*x'' = -grad V - F*x' says."""
    model = ch.gallery("viscous-particle")
    m, b, c = (model.parameters[n] for n in "m b c".split())

    def rhs(_, s):
        x, y, z, u, v, w = s
        f = [(0.8 + b * x**2) * u + 0.2 * v + 0.1 * w, 0.2 * u + (0.5 + b * y**2) * v - 0.1 * w, 0.1 * u - 0.1 * v + (0.6 + b * z**2) * w]
        g = [x + c * y * z, 2 * y + c * x * z, z / 2 + c * x * y]
        return [u, v, w, *[-(p + q) / m for p, q in zip(g, f, strict=True)]]

    found = solve_ivp(rhs, (0, 2), [1.0, -0.5, 0.7, 0.4, 0.9, -0.3], "DOP853", TIMES, rtol=2e-13, atol=1e-14).y
    for morphism in versions("viscous-particle"):
        motion = moved(morphism, model, TIMES)
        for name, column in zip("x y z x1 y1 z1".split(), found, strict=True):
            close(motion[name], column)
        close(motion["lambda1"], -1 + 0 * TIMES)


@pytest.mark.erratum("000", "Theorem 36", r"equivalence for any $\lambda'$", r"for $\lambda' = 1$ only; another constant is another system")
def test_the_linear_particle_at_another_rate_of_tau():
    """Correction to V.C: for tau' = c the multiplier is -(c^2 + (c^2 - 1) v.grad V/(v^T F v)) in our signs."""
    model = ch.gallery("viscous-particle")
    _, linear = versions("viscous-particle")
    start = dict(linear.forward(model.start, parameters=model.parameters).fixed)
    rate = 1.5
    start = {k: v for k, v in start.items() if not k.endswith("'")} | {"tau'": rate}
    for name in "xyz":
        start[f"{name}'"] = rate * start[f"{name}1"]
    now = ch.evaluate(linear.target, start, parameters=model.parameters)
    x, y, z = (start[n] for n in "xyz")
    b, c = model.parameters["b"], model.parameters["c"]
    v = rate * np.array([0.4, 0.9, -0.3])
    f = np.array([[0.8 + b * x**2, 0.2, 0.1], [0.2, 0.5 + b * y**2, -0.1], [0.1, -0.1, 0.6 + b * z**2]])
    gradient = np.array([x + c * y * z, 2 * y + c * x * z, z / 2 + c * x * y])
    lifted = v / rate  # the rows speak of the coordinates that were velocities
    work = lifted @ f @ lifted
    power = lifted @ gradient
    # E_x = m*x'' + grad V = lambda1*F*x1 with x'' = rate*x1' and x1' from the row of energy times tau'
    expected = -(rate**2 * (power + work) - power) / work
    assert now["lambda1"] == pytest.approx(expected, rel=1e-9)


def test_theorem_20_gives_the_gallery_particle_back():
    """The particle with Rayleigh's function becomes the gallery's, up to a factor in the variational row."""
    model = ch.gallery("viscous-particle")
    where = {n: e for n, e in model.system.where.items() if n in ("V",)}
    quadratic = "((0.8 + b*x^2)*x'^2 + 0.4*x'*y' + 0.2*x'*z' + (0.5 + b*y^2)*y'^2 - 0.2*y'*z' + (0.6 + b*z^2)*z'^2)/2"
    rubbed = ch.System(
        "x y z", "m b c", lagrangian="m/2*(x'^2 + y'^2 + z'^2) - V", where=where, dissipation=quadratic, name="particle with friction"
    )
    target = ch.friction_as_constraint(rubbed).system
    assert vanishes(target.kinematic[0].residual - model.system.kinematic[0].residual) is True
    ours, gallery = target.variational[0].coefficients, model.system.variational[0].coefficients
    assert all(vanishes(ours[q] - gallery[q]) is True for q in target.coordinates)
