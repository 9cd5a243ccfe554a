"""Inputs, outputs and feedback of linearised motions, against matrices by hand, published ones, and python-control."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_are

import chetaev as ch

CART = ch.System(
    "x th",
    "M m l g",
    lagrangian="(M + m)/2*x'^2 + m*l*x'*th'*cos(th) + m*l^2/2*th'^2 - m*g*l*cos(th)",
    inputs={"u": None},
    forces={"x": "u"},
    name="cart",
)
VALUES = {"M": 2.0, "m": 0.5, "l": 0.7, "g": 9.81}
UPRIGHT = {"x": 0, "th": 0, "x'": 0, "th'": 0}


@cache
def cart(*outputs):
    return ch.linearize(ch.derive(CART), UPRIGHT, parameters=VALUES, inputs=["u"], outputs=list(outputs) or None)


def by_hand():
    """Names x, x', th, th': Newton's equations of cart and pendulum, linearised about the upright position."""
    M, m, l, g = VALUES.values()
    a = np.array([[0, 1, 0, 0], [0, 0, -m * g / M, 0], [0, 0, 0, 1], [0, 0, (M + m) * g / (M * l), 0]])
    return a, np.array([[0], [1 / M], [0], [-1 / (M * l)]])


def test_cart_pendulum_by_hand():
    found = cart("x''", "2*th + x", "u")
    a, b = by_hand()
    assert found.names == ("x", "x'", "th", "th'") and found.inputs == ("u",)
    np.testing.assert_allclose(found.A, a, atol=1e-13)
    np.testing.assert_allclose(found.B, b, atol=1e-13)
    np.testing.assert_allclose(found.C, [a[1], [1, 0, 2, 0], np.zeros(4)], atol=1e-13)
    np.testing.assert_allclose(found.D, [[b[1, 0]], [0], [1]], atol=1e-13)


def test_the_operating_value_of_an_input_is_that_of_the_state():
    spring = ch.System("x", lagrangian="x'^2/2 - x^2/2", inputs={"u": None}, forces={"x": "u^3*cos(x)"})
    found = ch.linearize(ch.derive(spring), {"x": 0.4, "x'": 0}, inputs={"u": 1.5})
    np.testing.assert_allclose(found.B, [[0], [3 * 1.5**2 * np.cos(0.4)]], rtol=1e-14)
    np.testing.assert_allclose(found.A, [[0, 1], [-1 - 1.5**3 * np.sin(0.4), 0]], rtol=1e-14)


def test_matrices_predict_a_motion_with_a_small_input():
    a, b = cart().A, cart().B
    motion = ch.simulate(ch.derive(CART), UPRIGHT, (0, 1), parameters=VALUES, inputs={"u": 1e-6}, tolerance=1e-12)
    whole = expm(np.block([[a, b], [np.zeros((1, 5))]]))[:4, 4] * 1e-6
    np.testing.assert_allclose([motion.final[name] for name in cart().names], whole, rtol=1e-6)


def test_a_multiplier_as_output_depends_on_the_input_directly():
    bead = ch.System("x y", "m g", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["y = 2*x"], inputs={"u": None}, forces={"x": "u"})
    found = ch.linearize(
        ch.derive(bead, ch.DAlembert()), {"x": 0.3, "x'": 0}, parameters={"m": 2, "g": 9}, inputs=["u"], outputs=["lambda1"]
    )
    # rows y - 2x = 0, R = (-2, 1): m*x'' = u - 2*lambda, m*y'' = -m*g + lambda, y'' = 2*x'': lambda = (m*g + 2*u)/5
    np.testing.assert_allclose(found.D, [[2 / 5]], rtol=1e-13)


def test_integrable_velocity_rows_leave_an_uncontrollable_integral():
    def rolling(row, start):
        system = ch.System("x phi", "r", lagrangian="(x'^2 + phi'^2)/2", kinematic=[row], inputs={"u": None}, forces={"phi": "u"})
        return ch.linearize(ch.derive(system, ch.DAlembert()), start, parameters={"r": 0.5}, inputs=["u"]).controllable

    assert rolling("x = r*phi", {"phi": 0, "phi'": 0}) is True
    assert rolling("x' = r*phi'", {"x": 0, "phi": 0, "phi'": 0}) is False


@pytest.mark.parametrize("speed", [0.0, 1.3])
def test_a_sleigh_is_linearly_controllable_only_while_it_moves(speed):
    sleigh = ch.System(
        "x y theta",
        "m J",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
        kinematic=["y'*cos(theta) = x'*sin(theta)"],
        inputs={"F": None, "T": None},
        forces={"x": "F*cos(theta)", "y": "F*sin(theta)", "theta": "T"},
    )
    start = {"x": 0, "y": 0, "theta": 0.3, "x'": speed * np.cos(0.3), "theta'": 0}
    found = ch.linearize(ch.derive(sleigh, ch.DAlembert()), start, parameters={"m": 1.2, "J": 0.4}, inputs=["F", "T"])
    assert found.controllable is (speed > 0)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_controllability_does_not_depend_on_units(unit):
    system = CART.replace(forces={"x": f"u*{unit!r}"})
    values = {"M": 2 * unit, "m": 0.5 * unit, "l": 0.7 / unit, "g": 9.81 / unit}
    assert ch.linearize(ch.derive(system), UPRIGHT, parameters=values, inputs=["u"]).controllable


def test_optimal_feedback_solves_riccati_and_stabilises_the_motion():
    found = cart()
    gain = found.lqr("x^2 + 10*th^2", 0.5)
    a, b = by_hand()
    p = solve_continuous_are(a, b, np.diag([1, 0, 10, 0]), [[0.5]])
    np.testing.assert_allclose(gain.matrix, b.T @ p / 0.5, rtol=1e-9)
    assert max(gain.eigenvalues.real) < 0 and gain.left == 0
    np.testing.assert_allclose(found.lqr([1, 0, 10, 0], [[0.5]]).matrix, gain.matrix, rtol=1e-12)
    closed = CART.replace(inputs={}, forces={"x": gain.text["u"]})
    motion = ch.simulate(ch.derive(closed), {**UPRIGHT, "th": 0.2, "x": 0.5}, (0, 30), parameters=VALUES)
    assert abs(motion.final["th"]) < 1e-5 and abs(motion.final["x"]) < 1e-4


def test_transfer_function_and_python_control():
    control = pytest.importorskip("control")
    found = cart("x", "th''")
    theirs = control.ss(*by_hand(), found.C, found.D)
    s = 0.3 + 1.7j
    np.testing.assert_allclose(found.transfer(s), theirs(s).reshape(2, 1), rtol=1e-10)
    ours = found.to_control()
    assert ours.input_labels == ["u"] and ours.output_labels == ["x", "th''"]


def test_optimal_estimation_is_the_dual():
    found = cart("x", "th")
    gain = found.lqe(None, 0.1, [0.2, 0.3])
    a = by_hand()[0]
    p = solve_continuous_are(a.T, found.C.T, 0.1 * np.eye(4), np.diag([0.2, 0.3]))
    np.testing.assert_allclose(gain.matrix, p @ found.C.T @ np.diag([5, 10 / 3]), rtol=1e-8)
    assert found.observable and max(gain.eigenvalues.real) < 0


MEIJAARD = {
    "M": [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]],
    "C1": [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]],
    "K0": [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]],
    "K2": [[0, 76.59734589573222], [0, 2.65431523794604]],
}
"""J. P. Meijaard et al., Proc. R. Soc. A 463 (2007) 1955-1982: M q'' + v C1 q' + (g K0 + v^2 K2) q = f, q = (lean, steer)."""


def test_a_bicycle_is_held_upright_by_its_steer():
    model = ch.gallery("bicycle")
    steered = model.system.replace(inputs={"T": None}, forces={"steer": "T"})
    v = 3.0
    upright = {"x": 0, "y": 0, "yaw": 0, "lean": 0, "steer": 0, "rear": 0, "front": 0, "rear'": -v / 0.3, "lean'": 0, "steer'": 0}
    found = ch.linearize(
        ch.derive(steered, model.principle), ch.State(upright, guess={"pitch": 0}), parameters=model.parameters, inputs=["T"]
    )
    gain = found.lqr("lean^2 + steer^2 + lean'^2", 0.01)
    mass, c1, k0, k2 = (np.array(each) for each in MEIJAARD.values())
    inverse = np.linalg.inv(mass)
    a = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ (9.81 * k0 + v * v * k2), -inverse @ c1 * v]])
    b = np.vstack([np.zeros((2, 1)), inverse[:, 1:]])
    p = solve_continuous_are(a, b, np.diag([1, 1, 1, 0]), [[0.01]])
    expected = np.linalg.eigvals(a - b @ (b.T @ p / 0.01))
    moving = [w for w in gain.eigenvalues if abs(w) > 1e-6]
    np.testing.assert_allclose(sorted(moving, key=lambda w: (w.real, w.imag)), sorted(expected, key=lambda w: (w.real, w.imag)), rtol=1e-7)
    assert gain.left == len(found.names) - 4
    control = pytest.importorskip("control")
    _, _, theirs = control.lqr(a, b, np.diag([1, 1, 1, 0]), [[0.01]])
    np.testing.assert_allclose(sorted(moving, key=lambda w: (w.real, w.imag)), sorted(theirs, key=lambda w: (w.real, w.imag)), rtol=1e-7)


def test_refusals():
    equations = ch.derive(CART)
    with pytest.raises(ch.ParameterError, match="w is not an input"):
        ch.linearize(equations, UPRIGHT, parameters=VALUES, inputs=["w"])
    with pytest.raises(ch.UsageError, match="contains x'''"):
        ch.linearize(equations, UPRIGHT, parameters=VALUES, inputs=["u"], outputs=["x'''"])
    with pytest.raises(ch.UsageError, match="not a quadratic form"):
        cart().lqr("x + th^2")
    with pytest.raises(ch.UsageError, match="not positive definite"):
        cart().lqr(1, 0)
    driven = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x = y + u"], inputs={"u": None})
    with pytest.raises(ch.StateError, match=r"kinematic\[0\] contains the input u"):
        ch.linearize(ch.derive(driven, ch.DAlembert()), {"y": 0, "y'": 0}, inputs=["u"])
    assert ch.linearize(ch.derive(driven, ch.DAlembert()), {"y": 0, "y'": 0}, inputs={"u": 0.5}).names
    idle = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", inputs={"u": None}, forces={"x": "u"})
    rest = ch.linearize(ch.derive(idle), {"x": 0, "y": 0, "x'": 0, "y'": 0}, inputs=["u"])
    with pytest.raises(ch.StateError, match="no feedback stabilises"):
        rest.lqr("x^2 + y^2")
    assert rest.lqr("x^2").left == 2
