"""001: the elastic ball and the ball on a moving plane, as their numbered equations say."""

import numpy as np
import pytest
import sympy

import chetaev as ch


def at(expression, values):
    return float(sympy.S(expression).subs({s: values[s.name] for s in sympy.S(expression).free_symbols}))


def test_eq_3_the_path_is_curved_as_the_ball_spins():
    """r^2 w3^2 = w1^2 + w2^2 with the radius of curvature of a(t), where a' is from the rows and w3 from the second-order row (7)."""
    rows = ch.gallery("elastic-ball").system.kinematic
    w, turn = np.array([0.7, -0.4]), np.array([0.3, 1.1])
    spin = (w[0] * turn[1] - w[1] * turn[0]) / (w @ w)

    def velocity(angular):
        found = sympy.solve(
            [row.residual for row in rows[:2]], [s for row in rows[:2] for s in row.residual.free_symbols if s.name in ("a1'", "a2'")]
        )
        return np.array([at(found[s], {"A1'": angular[0], "A2'": angular[1]}) for s in sorted(found, key=str)])

    v, acceleration = velocity(w), velocity(turn)  # the rows are linear, so the rates of w give a''
    radius = np.linalg.norm(v) ** 3 / (v[0] * acceleration[1] - v[1] * acceleration[0])
    assert radius**2 * spin**2 == pytest.approx(w @ w, rel=1e-12)
    assert radius * spin == pytest.approx(np.linalg.norm(w), rel=1e-12)  # the sign of the corrected (7)


def test_eq_8_to_12_the_principle_of_virtual_work_for_the_elastic_ball():
    """The Lagrangian (8), the variations (10), the rows (11) and (12); the motion has no acceleration and no reaction."""
    model = ch.gallery("elastic-ball")
    system = model.system
    values = {"I": 0.6, "M": 1.5, "A1'": 0.3, "A2'": -0.8, "A3'": 0.5, "a1'": 0.2, "a2'": 1.1}
    assert at(system.lagrangian, values) == pytest.approx(0.3 * (0.09 + 0.64 + 0.25) + 0.75 * (0.04 + 1.21), rel=1e-12)
    first, second = ({q.name: e for q, e in row.coefficients.items() if e != 0} for row in system.variational)
    assert {q: e / first["a1"] for q, e in first.items()} == {"a1": 1, "A2": -1}
    assert {q: e / second["a2"] for q, e in second.items()} == {"a2": 1, "A1": 1}
    assert [abs(at(row.residual, values)) for row in system.kinematic] == pytest.approx([1.0, 1.4, 0.5], rel=1e-12)
    now = ch.evaluate(ch.derive(model), model.start, parameters=model.parameters)
    assert [now[name] for name in ("A1''", "A2''", "A3''", "a1''", "a2''", "lambda1", "lambda2")] == pytest.approx([0.0] * 7, abs=1e-14)
    # virtual work off the motion: displacements (alpha, (alpha_2, -alpha_1)) find (I + M)*w1', (I + M)*w2' and I*w3'
    moved = {"A1''": 0.4, "A2''": -0.9, "A3''": 0.7}
    alpha = np.array([0.3, 1.2, -0.5])
    work = 0.6 * (alpha @ list(moved.values())) + 1.5 * (moved["A2''"] * alpha[1] + moved["A1''"] * alpha[0])
    assert work == pytest.approx(2.1 * (0.4 * 0.3 - 0.9 * 1.2) - 0.6 * 0.7 * 0.5, rel=1e-12)


def test_eq_16_the_ball_does_not_slide():
    rows = ch.gallery("elastic-ball").system.kinematic
    values = {"A1'": 0.7, "A2'": -0.4, "A3'": 0.0, "a1'": -0.4, "a2'": -0.7}
    assert [at(row.residual, values) for row in rows] == [0.0, 0.0, 0.0]
    assert at(rows[1].residual, values | {"a2'": 0.7}) != 0


def test_eq_61_the_ball_moves_with_the_sheet_under_it():
    """(w2, -w1) = a' - v(a) for a ball of radius 1, with the field of the gallery written out by hand."""
    model = ch.gallery("ball-on-moving-plane")
    a1, a2, u, w, length = 1.2, 0.9, 1.4, -0.9, 0.7
    v1, v2 = u * np.sin(a2 / length) + w / 4 * np.sin(a1 / length), w * np.sin(a1 / length)
    values = {"a1": a1, "a2": a2, "u": u, "w": w, "l": length, "r": 1.0, "A1'": 0.3, "A2'": -0.6, "a1'": v1 - 0.6, "a2'": v2 - 0.3}
    assert [at(row.residual, values) for row in model.system.kinematic] == pytest.approx([0.0, 0.0], abs=1e-14)
    assert abs(at(model.system.kinematic[1].residual, values | {"a2'": v2 + 0.3})) > 0.5
