"""Coefficients that are zero to every digit at most places, and matter where the motion is: nothing may be left out of the equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch


def along_row(slope, bend, g, start, end, max_step):
    """x and x' at the end for L = (x'^2 + y'^2)/2 - g*y with y' = f(x)*x': (1 + f^2) x'' = -f (g + f_x x'^2), reduced by hand."""

    def rates(_, y):
        f = slope(y[0])
        return [y[1], -f * (g + bend(y[0]) * y[1] ** 2) / (1 + f * f)]

    return solve_ivp(rates, (0, end), start, "DOP853", rtol=1e-12, atol=1e-13, max_step=max_step).y[:, -1]


RAMP = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - 9.81*y", kinematic=["y' = 0.15*(1 + tanh(20*(x - 3)))*x'"])


def test_a_ramp_that_begins_far_from_the_origin_is_felt_by_evaluate():
    now = ch.evaluate(ch.derive(RAMP, ch.DAlembert()), {"x": 4, "y": 0, "x'": 2})
    assert now["y'"] == pytest.approx(0.6, rel=1e-12)
    assert now["x''"] == pytest.approx(-9.81 * 0.3 / 1.09, rel=1e-12)
    assert now["lambda1"] == pytest.approx(9.81 / 1.09, rel=1e-12)


@pytest.mark.parametrize("principle", [ch.DAlembert(), ch.Chetaev()], ids=str)
def test_a_ramp_that_begins_far_from_the_origin_is_climbed(principle):
    motion = ch.simulate(ch.derive(RAMP, principle), {"x": 2, "y": 0, "x'": 2}, (0, 2), tolerance=1e-10)
    right = along_row(
        lambda x: 0.15 * (1 + math.tanh(20 * (x - 3))), lambda x: 3 / math.cosh(min(20 * abs(x - 3), 300)) ** 2, 9.81, [2, 2], 2, 0.005
    )
    assert right == pytest.approx([2.83738, -1.99994], abs=1e-5)
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(right, abs=1e-7)
    assert motion.outcome == "finished"


@pytest.mark.parametrize(("k", "begin", "x"), [(10, 5, 6), (10, 3, 4), (10, 2, 3), (40, -7, -6), (3, 50, 60)])
def test_all_verbs_agree_on_a_ramp(k, begin, x):
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - 9.81*y", kinematic=[f"y' = 0.15*(1 + tanh({k}*(x - ({begin}))))*x'"])
    start = {"x": x, "y": 0, "x'": 2}
    f = 0.15 * (1 + math.tanh(k * (x - begin)))
    bend = 0.15 * k / math.cosh(k * (x - begin)) ** 2
    right = -f * (9.81 + 4 * bend) / (1 + f * f)
    equations = ch.derive(system, ch.DAlembert())
    assert ch.evaluate(equations, start)["x''"] == pytest.approx(right, rel=1e-10)
    motion = ch.simulate(equations, start, (0, 0.01), tolerance=1e-12)
    assert motion["x''"][0] == pytest.approx(right, rel=1e-9)
    assert motion.final["x'"] == pytest.approx(2 + 0.01 * right, abs=1e-5)
    assert ch.simulate_many(equations, [start], (0, 0.01), tolerance=1e-12).final["x'"][0] == pytest.approx(2 + 0.01 * right, abs=1e-5)
    space: dict = {"__name__": "exported"}
    text = ch.code(ch.Model(system=system, principle=ch.DAlembert(), start=ch.State(start)), "numpy")
    exec(compile(text, "exported", "exec"), space)  # noqa: S102 - the exported file has to run
    assert space["rhs"](0, space["START"])[list(space["STATE"]).index("x'")] == pytest.approx(right, rel=1e-10)


def test_a_full_state_on_the_ramp_is_no_contradiction():
    f = 0.15 * (1 + math.tanh(1.0))
    now = ch.evaluate(ch.derive(RAMP, ch.DAlembert()), {"x": 3.05, "y": 0.1, "x'": 0.5, "y'": 0.5 * f})
    assert now["y'"] == pytest.approx(0.5 * f, rel=1e-12)


@pytest.mark.parametrize("width", [0.1, 0.05, 0.03, 0.01])
def test_a_bead_rolls_over_a_bump_of_centimetres(width):
    height = 0.2 * width
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - 9.81*y", kinematic=[f"y = {height}*exp(-(x/{width})^2)"])
    equations = ch.derive(system, ch.DAlembert())
    start, end = {"x": -1.5 * width, "x'": 1}, 3 * width

    def f(x):
        return -2 * x / width**2 * height * math.exp(-((x / width) ** 2))

    def bend(x):
        return (4 * x * x / width**4 - 2 / width**2) * height * math.exp(-((x / width) ** 2))

    right = along_row(f, bend, 9.81, [-1.5 * width, 1], end, width / 50)
    motion = ch.simulate(equations, start, (0, end), tolerance=1e-10)
    assert [motion.final["x"] / width, motion.final["x'"]] == pytest.approx([right[0] / width, right[1]], abs=1e-7)
    assert ch.simulate_many(equations, [start], (0, end), tolerance=1e-10).final["x"][0] / width == pytest.approx(
        right[0] / width, abs=1e-7
    )
    if width == 0.05:
        assert right[0] == pytest.approx(0.0665086, abs=1e-7)


@pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])
def test_a_narrow_coupling_of_masses_is_kept_by_every_method(method):
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 + 0.5*exp(-(30*x)^2)*x'*y' - y"))

    def rates(_, y):
        x, _, vx, vy = y
        e = 0.5 * math.exp(-((30 * x) ** 2))
        slope = -1800 * x * e
        # E_x: x'' + e*y'' = 0, E_y: y'' + e*x'' + e_x*x'^2 = -1
        matrix = np.array([[1, e], [e, 1]])
        ax, ay = np.linalg.solve(matrix, [0.0, -1 - slope * vx**2])
        return [vx, vy, ax, ay]

    right = solve_ivp(rates, (0, 0.5), [0, 0, 0, 0], "DOP853", rtol=1e-12, atol=1e-13, max_step=1e-3).y[:, -1]
    motion = ch.simulate(equations, {"x": 0, "y": 0, "x'": 0, "y'": 0}, (0, 0.5), tolerance=1e-10, method=method)
    assert motion["x''"][0] == pytest.approx(2 / 3, rel=1e-10)
    assert [motion.final[n] for n in ("x", "y", "x'", "y'")] == pytest.approx(right, abs=1e-7)


def test_the_speed_of_light_may_be_a_number():
    c = 299792458
    system = ch.System("x y", "F", lagrangian="-299792458^2*sqrt(1 - (x'^2 + y'^2)/299792458^2) + F*x")
    start = {"x": 0, "y": 0, "x'": 0.1 * c, "y'": 0.8 * c}
    motion = ch.simulate(ch.derive(system), start, (0, 2), parameters={"F": 1e8}, tolerance=1e-10)
    gamma = 1 / math.sqrt(1 - 0.65)
    px, py = 0.1 * gamma + 2e8 / c, 0.8 * gamma  # momenta in units of c: p_x grows by F*t, p_y stays
    root = math.sqrt(1 + px**2 + py**2)
    assert [motion.final["x'"] / c, motion.final["y'"] / c] == pytest.approx([px / root, py / root], rel=1e-8)
    assert motion.outcome == "finished"


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e-6])
def test_a_length_may_be_a_number_in_the_text(size):
    system = ch.System("x y", lagrangian="1.4*x'^2 + y'^2 - 0.7*y", kinematic=[f"y' = 0.465*(x/{size!r})^2*x' + 0.1"])
    equations = ch.derive(system, ch.DAlembert())
    f, bend = 0.465 * 1.21, 2 * 0.465 * 1.1 / size
    right = -f * (0.7 + 2 * bend * 0.65**2) / (2.8 + 2 * f * f)
    start = {"x": 1.1 * size, "y": 0, "x'": 0.65}
    assert ch.evaluate(equations, start)["x''"] == pytest.approx(right, rel=1e-9)
    span = min(1.0, 0.01 * size)
    motion = ch.simulate(equations, start, (0, span), tolerance=1e-10)
    assert motion.outcome == "finished"
    assert motion["x''"][0] == pytest.approx(right, rel=1e-8)


@pytest.mark.parametrize(("place", "power"), [("10", 40), ("1e9", 30), ("1e9", 40), ("1e-9", 40)])
def test_a_high_power_is_no_zero(place, power):
    """(x/1e9)^40 is of order one at 1e9, though neither 1e-360 nor 1e360 is a floating-point number."""
    equations = ch.derive(ch.System("x y", lagrangian=f"x'^2/2 + y'^2/2 + 0.5*(x/{place})^{power}*x'*y' - y"))
    start = {"x": float(place), "y": 0, "x'": 0, "y'": 0}
    assert ch.evaluate(equations, start)["x''"] == pytest.approx(2 / 3, rel=1e-9)
    motion = ch.simulate(equations, start, (0, 1e-3 * min(1.0, float(place) ** 0.5)), tolerance=1e-10)
    assert motion["x''"][0] == pytest.approx(2 / 3, rel=1e-9)


@pytest.mark.parametrize(
    ("coefficient", "value"),
    [
        ("0.3*max(0, x - 0.5)", 0.3 * 5.5),
        ("0.15*(1 + sign(x - 5))", 0.3),
        ("0.2*(x - 5 + abs(x - 5))", 0.4),
        ("0.3*min(0, 5 - x)", -0.3),
        ("0.3*max(0, x - 5)", 0.3),
    ],
)
def test_corners_as_coefficients_of_masses(coefficient, value):
    """E_x: x'' + e y'' = 0 and E_y: y'' + e x'' = -1 at rest."""
    equations = ch.derive(ch.System("x y", lagrangian=f"x'^2/2 + y'^2/2 - y + {coefficient}*x'*y'"))
    start = {"x": 6, "y": 0, "x'": 0, "y'": 0}
    right = value / (1 - value**2)
    assert ch.evaluate(equations, start)["x''"] == pytest.approx(right, rel=1e-12)
    assert ch.simulate(equations, start, (0, 1e-3), tolerance=1e-10)["x''"][0] == pytest.approx(right, rel=1e-9)


def test_corners_as_coefficients_of_rows():
    """y' = f x' with f = 0.3 (x - 5): x'' = -f (1 + 0.3 x'^2)/(1 + f^2)."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["y' = 0.3*max(0, x - 5)*x'"]), ch.DAlembert())
    right = -0.3 * (1 + 0.3 * 0.04) / 1.09
    start = {"x": 6, "y": 0, "x'": 0.2}
    assert right == pytest.approx(-0.278532, abs=1e-6)
    assert ch.evaluate(equations, start)["x''"] == pytest.approx(right, rel=1e-12)
    assert ch.simulate(equations, start, (0, 1e-3), tolerance=1e-10)["x''"][0] == pytest.approx(right, rel=1e-9)


def test_a_corner_in_a_holonomic_row():
    """q2 = 0.275 (q1 - 2) beyond q1 = 2: an inclined plane."""
    system = ch.System("q1 q2", lagrangian="q1'^2/2 + q2'^2/2 - q2", kinematic=["q2 = 0.275*max(0, q1 - 2)"])
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"q1": 5, "q1'": 0.4})
    assert [now["q2"], now["q2'"]] == pytest.approx([0.825, 0.11], rel=1e-12)
    assert now["q1''"] == pytest.approx(-0.275 / (1 + 0.275**2), rel=1e-12)


def test_a_corner_in_a_variational_row():
    """q2' = 0, and the reaction is along (-0.3 (q1 - 5), 1): E_q2 gives lambda = 1, E_q1 gives q1'' = -0.3 (q1 - 5)."""
    system = ch.System("q1 q2", lagrangian="q1'^2/2 + q2'^2/2 - q2", kinematic=["q2' = 0"], variational=["δq2 = 0.3*max(0, q1 - 5)*δq1"])
    now = ch.evaluate(ch.derive(system, ch.VirtualWork()), {"q1": 7, "q2": 0, "q1'": 0.4})
    assert [now["q1''"], now["lambda1"]] == pytest.approx([-0.6, 1.0], rel=1e-12)


def test_a_mass_below_the_round_off_of_its_terms_is_a_mass():
    """cos(1.5707963267948966) is 6.1e-17, not zero: formally y has a mass."""
    assert ch.analyze(ch.derive(ch.System("x y", lagrangian="x'^2/2 + cos(1.5707963267948966)*y'^2/2 - x^2/2 - y^2/2"))).dimension == 4
