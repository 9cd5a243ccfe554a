"""Formulas that lose digits in doubles: a motion says so, and right motions are not refused."""

import math

import casadi as ca
import mpmath
import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.machine.interpreter import interprets
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853

FAR = 1_000_000_000
WIDTH = 1e-3
PUSH = WIDTH * math.sqrt(math.pi)
"""The integral of a pulse of that width."""

pytestmark = pytest.mark.skipif(not interprets(), reason="programs are not interpreted here")


def pulse(z, place):
    return ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"exp(-(({z} - {place})*1000)^2)"}))


def force(text):
    return ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": text}))


# ------------------------------------------------------------ rounding


def bounds(outputs, at, p=(), inputs=None):
    t, y, given = ca.SX.sym("t"), ca.SX.sym("y", len(at)), ca.SX.sym("p", len(p))
    kernel = compile_kernel(ca.Function("f", [t, y, given], [ca.vertcat(*outputs(t, y, given))]))
    driving = None if inputs is None else compile_kernel(ca.Function("u", [t, y, given], [ca.vertcat(*inputs(t))]))
    n, where = kernel.n_out, np.array([at], float)
    above, below = dop853.evaluate(doubting(kernel, driving), [0.5], where, np.array(p, float), 2 * n).reshape(2, n)
    return (above + below) / 2, (above - below) / 2, kernel(0.5, where[0], np.array(p, float))


def test_bounds_contain_the_error():
    """Against mpmath: the bound is larger than the error, and not by more than a few units where nothing cancels."""
    x, v = 1e-9, 0.7
    values, errors, plain = bounds(
        lambda t, y, p: [
            1 - ca.cos(y[0]),
            (ca.exp(y[0]) - 1) / y[0],
            ca.sqrt(y[1]) * y[0] + y[1],
            1 / (1 - ca.tanh(20 * y[1])),
            ca.fmax(y[0], y[1]) + ca.atan2(y[0], y[1]) - ca.log(1 + y[0]),
            y[1] ** 2.7 - ca.sin(y[1]),
        ],
        [x, v],
    )
    mp = mpmath.MPContext()
    mp.dps = 50
    x, v = mp.mpf(x), mp.mpf(v)
    right = [
        1 - mp.cos(x),
        (mp.exp(x) - 1) / x,
        mp.sqrt(v) * x + v,
        1 / (1 - mp.tanh(20 * v)),
        v + mp.atan2(x, v) - mp.log(1 + x),
        v ** mp.mpf(2.7) - mp.sin(v),
    ]
    assert values == pytest.approx(plain, rel=1e-15)
    off = np.array([abs(float(mp.mpf(float(a)) - b)) for a, b in zip(plain, right, strict=True)])
    assert (off <= errors).all()
    assert (errors < [1e-15, 1e-6, 1e-15, 1e9, 1e-15, 1e-15]).all()


def test_bounds_carry_those_of_inputs():
    """The input 1 - cos(t/10^9) at t = 0.5 has no digits, and what is made of it has none."""
    _, error, plain = bounds(lambda t, y, p: [1e18 * p[0] + y[0]], [1.0], [7.0], lambda t: [1 - ca.cos(t / 10**9)])
    assert error[0] > 100
    assert plain[0] == 1 + 7e18  # the kernel alone takes the input from p


@pytest.mark.parametrize("method", [None, ch.Taylor()], ids=["explicit", "taylor"])
def test_a_pulse_at_a_large_time(method):
    """Doubles at 1e9 are 1e-7 apart, and a pulse of 1e-3 has four digits; the same pulse at t = 0 has all."""
    motion = ch.simulate(pulse("t", FAR), {"x": 0, "x'": 0}, (FAR - 1, FAR + 1), method=method)
    assert motion.outcome == "not_certified" and "the equations lose digits" in motion.message
    near = ch.simulate(pulse("t", 0), {"x": 0, "x'": 0}, (-1, 1), method=method)
    assert near.outcome == "finished" and near.final["x'"] == pytest.approx(PUSH, rel=1e-8)


def test_a_pulse_at_a_large_position():
    """x'^2/2 grows by the integral of the force. Doubles at 1e9 are 1e-7 apart: every rounding of the place inside the pulse changes the
    energy by up to 6e-8, however exact the force is.
    """
    right = math.sqrt(1 + 2 * PUSH)
    starts = [FAR - 1, FAR - 1.1]
    for x in starts:
        motion = ch.simulate(pulse("x", FAR), {"x": x, "x'": 1}, (0, 2))
        assert motion.outcome == "not_certified" and "the equations lose digits" in motion.message
        assert motion.certificate.worst == pytest.approx(2e-7, rel=0.5)  # ten roundings of chance, each by at most 6e-8
        rough = ch.simulate(pulse("x", FAR), {"x": x, "x'": 1}, (0, 2), tolerance=1e-6)
        assert rough.outcome == "finished" and rough.final["x'"] == pytest.approx(right, rel=1e-5)
    near = ch.simulate(pulse("x", 0), {"x": -1, "x'": 1}, (0, 2))
    assert near.outcome == "finished" and near.final["x'"] == pytest.approx(right, rel=1e-8)
    many = ch.simulate_many(pulse("x", FAR), {"x": starts, "x'": 1}, (0, 2))
    assert set(many.outcome) == {"not_certified"}


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("-(1 - cos(x))/x^2", lambda x: -mpmath.quad(lambda u: (1 - mpmath.cos(u)) / u**2, [1e-9, x])),
        ("-(x - sin(x))/x^3", lambda x: -mpmath.quad(lambda u: (u - mpmath.sin(u)) / u**3, [1e-9, x])),
        ("-x/(exp(x) - 1)", lambda x: -mpmath.quad(lambda u: u / mpmath.expm1(u), [1e-9, x])),
        ("-(1 - cos(3*x))/x^2", lambda x: -mpmath.quad(lambda u: (1 - mpmath.cos(3 * u)) / u**2, [1e-9, x])),
        ("1/x - cosh(x)/sinh(x) - 1/5", lambda x: mpmath.quad(lambda u: 1 / u - mpmath.coth(u) - 0.2, [1e-9, x])),
    ],
)
def test_a_removable_pole_in_which_all_digits_are_lost(text, work):
    """At x = 1e-9 such forces are zero in doubles, and a body would rest there. x'^2/2 is the integral of the right force."""
    equations = force(text)
    motion = ch.simulate(equations, {"x": 1e-9, "x'": 0}, (0, 0.5))
    assert motion.outcome == "finished" and motion.final["x'"] < -0.05
    with mpmath.workdps(40):
        right = float(work(motion.final["x"]))
    assert motion.final["x'"] ** 2 / 2 == pytest.approx(right, rel=1e-7)
    many = ch.simulate_many(equations, {"x": [1e-9] * 3, "x'": 0}, (0, 0.5))
    assert set(many.outcome) == {"finished"}
    assert many.final["x'"] == pytest.approx([motion.final["x'"]] * 3, rel=1e-8)


@pytest.mark.parametrize("x", [1e-12, 1e-9, 1e-5, -1e-9])
def test_digits_that_no_series_has_are_computed(x):
    """(cos(x) - cos(k x))/x^2 is (k^2 - 1)/2 near zero, whatever k is: doubles lose all digits, and the motion is computed in many."""
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2", forces={"x": "(cos(x) - cos(k*x))/x^2"}))
    assert ch.evaluate(equations, {"x": x, "x'": 0}, parameters={"k": 3})["x''"] == pytest.approx(4, rel=1e-9)
    motion = ch.simulate(equations, {"x": x, "x'": 0}, (0, 0.01), parameters={"k": 3}, keep="final")
    assert motion.outcome == "finished" and motion.final["x'"] == pytest.approx(0.04, rel=1e-5)
    assert motion.certificate.digits or x == 1e-5


def test_noise_does_not_excuse_itself():
    """1/u^2 - 1/sin(k u)^2 with k = 1 is -1/3 near u = 0; at 9e-11 the error in doubles is 1e4, of another sign at every state."""
    equations = ch.derive(ch.System("x", "a k", lagrangian="x'^2/2", forces={"x": "1/sin(k*(x - a))^2 - 1/(x - a)^2"}))
    for x in (3.0000000000904845, 3.00000000004, 3.0000000002):
        motion = ch.simulate(equations, {"x": x, "x'": 0.3}, (0, 1e-3), parameters={"a": 3, "k": 1})
        assert motion.outcome == "not_certified" or motion.final["x'"] == pytest.approx(0.3 + 1e-3 / 3, rel=1e-7)


def test_a_difference_of_roots_in_many_digits():
    """A pulse between roots of (t - 500)^2 and a tiny number: doubles have an error of 2e-6, and the push is 18 up to 1e-10."""
    text = "1e6*(sqrt((t - c - 0.003)^2 + w^2) + sqrt((t - c + 0.003)^2 + w^2) - 2*sqrt((t - c)^2 + w^2))"
    equations = ch.derive(ch.System("x", "c w", lagrangian="x'^2/2", forces={"x": text}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 1000), parameters={"c": 500, "w": 1e-6})
    assert motion.outcome == "finished" and motion.certificate.digits and "in many digits" in str(motion.certificate)
    assert motion.final["x'"] == pytest.approx(19, rel=2e-8)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_force_that_is_exactly_zero_far_away_is_no_loss(unit):
    """1 - tanh^2 times a large number: its bound is large, its value in doubles is right, and the motion is the free one."""
    equations = ch.derive(ch.System("x", "L", lagrangian="x'^2/2", forces={"x": "1e8*L*(1 - tanh(x/L)^2)"}))
    motion = ch.simulate(equations, {"x": 300 * unit, "x'": 2 * unit}, (0, 1), parameters={"L": unit})
    assert motion.outcome == "finished" and motion.final["x'"] == 2 * unit


def test_values_that_cancel_are_evaluated_in_many_digits():
    assert ch.evaluate(force("(x - sin(x))/x^3 + x*0"), {"x": 1e-9, "x'": 0})["x''"] == pytest.approx(1 / 6, rel=1e-12)
    for text in ("(exp(k*x) - 1 - k*x)/x^2", "(sqrt(1 + k*x^2) - 1)/x^2"):
        equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2", forces={"x": text}))
        assert ch.evaluate(equations, {"x": 1e-10, "x'": 0}, parameters={"k": 1})["x''"] == pytest.approx(0.5, rel=1e-9)


def test_a_row_that_rounding_hides():
    """y' = (cos(x) - cos(k x))/x^2 z' holds in doubles for y' = 0 at x = 1e-9, and in truth for y' = 3/2 z' if k = 2."""
    system = ch.System("x y z", "k", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["y' = (cos(x) - cos(k*x))/x^2*z'"])
    equations, start = ch.derive(system, ch.DAlembert()), {"x": 1e-9, "y": 0, "z": 0, "x'": 0, "z'": 2}
    with pytest.raises(ch.StateError, match="rounding hides it"):
        ch.evaluate(equations, start, parameters={"k": 2})
    assert ch.simulate(equations, start, (0, 1), parameters={"k": 2}).outcome == "not_certified"


def test_inputs_that_lose_digits():
    system = ch.System("x", lagrangian="x'^2/2", inputs={"u": None}, forces={"x": "u"})
    equations, driven = ch.derive(system), {"u": "(1 - cos(t))/t^2"}
    assert ch.evaluate(equations, {"x": 0, "x'": 0}, inputs=driven, t=1e-9)["x''"] == pytest.approx(0.5)
    assert ch.simulate(equations, {"x": 0, "x'": 0}, (1e-9, 2e-9), inputs=driven).final["x'"] == pytest.approx(5e-10)


@pytest.mark.parametrize(("text", "place"), [("(x - 3)/(x^2 - 9)", 3), ("(x - 3)/(exp(x - 3) - 1)", 3), ("(1 - cos(x - y))/(x - y)^2", 0)])
def test_a_removable_pole_is_crossed_in_few_steps(text, place):
    """Energy as an integral of the force in many digits."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", forces={"x": text}))
    motion = ch.simulate(equations, {"x": place - 1, "y": 0, "x'": 1, "y'": 0}, (0, 1.5))
    assert motion.outcome == "finished" and motion.counts["accepted"] < 20 and motion.final["x"] > place + 0.3
    with mpmath.workdps(30):
        f = {
            "(x - 3)/(x^2 - 9)": lambda u: 1 / (u + 3),
            "(x - 3)/(exp(x - 3) - 1)": lambda u: (u - 3) / mpmath.expm1(u - 3),
            "(1 - cos(x - y))/(x - y)^2": lambda u: (1 - mpmath.cos(u)) / u**2,
        }[text]
        work = float(mpmath.quad(f, [place - 1, place, motion.final["x"]]))
    assert motion.final["x'"] ** 2 / 2 == pytest.approx(0.5 + work, rel=1e-8)
    assert ch.simulate(equations, {"x": place, "y": 0, "x'": 0, "y'": 0}, (0, 0.1)).outcome == "finished"  # a start at the pole itself


@pytest.mark.parametrize("method", [None, ch.Taylor()], ids=["explicit", "taylor"])
def test_a_mass_that_almost_vanishes(method):
    """The mass falls to 1e-10 of itself within 0.1 at x = 500: it has six digits in doubles there, and so has the place. With 1e-4 in place
    of 1e-10 the motion is known: the energy is conserved, so 10*t is the integral of the root of the mass, here by quadrature.
    """
    system = ch.System("x", "c w d", lagrangian="(1 - (1 - d)*exp(-((x - c)/w)^2))*x'^2/2")
    values = {"c": 500, "w": 0.1, "d": 1e-10}
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 10}, (0, 100), parameters=values, method=method)
    assert motion.outcome == "not_certified" and "the equations lose digits" in motion.message
    nodes = [499, 499.9, 499.99, 499.999, 499.9999, 500, 500.0001, 500.001, 500.01, 500.1, 501]
    for d in (1e-2, 1e-4):
        root = mpmath.quad(lambda x: mpmath.sqrt(1 - (1 - mpmath.mpf(d)) * mpmath.exp(-(((x - 500) / mpmath.mpf(0.1)) ** 2))), nodes)  # noqa: B023
        mild = ch.simulate(ch.derive(system), {"x": 0, "x'": 10}, (0, 100), parameters=values | {"d": d}, method=method)
        assert mild.outcome == "finished" and mild.final["x'"] == pytest.approx(10, rel=1e-7)
        assert mild.final["x"] == pytest.approx(1000 - 499 - float(root) + 501, rel=1e-8)


def test_slopes_without_digits_are_no_linearisation():
    """Of (cos(x) - cos(k x))/x^2 doubles give no slope at 1e-5; of (1 - cos(x))/x^2 the series has it, and -1 of -x."""
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2", forces={"x": "(cos(x) - cos(k*x))/x^2 - k^2/2 - x"}))
    with pytest.raises(ch.StateError, match="the derivative of x'' by x has no correct digits"):
        ch.linearize(equations, {"x": 1e-5, "x'": 0}, parameters={"k": 3})
    found = ch.linearize(force("(1 - cos(x))/x^2 - 1/2 - x"), {"x": 1e-5, "x'": 0}).matrix
    assert found[1, 0] == pytest.approx(-1 - 1e-5 / 12, rel=1e-12)


@pytest.mark.parametrize("text", ["atan(1/(x - 3))", "pi/2*sign(x - 3) - atan(x - 3)"])
def test_a_bounded_function_of_a_pole_is_crossed(text):
    """Both texts are the same force; the kinetic energy grows by its integral."""
    motion = ch.simulate(force(text), {"x": 2, "x'": 3}, (0, 1))
    right = mpmath.quad(lambda u: mpmath.atan(1 / (u - 3)), [2, 3, motion.final["x"]])
    assert motion.outcome == "finished" and motion.final["x"] > 3.5
    assert motion.final["x'"] ** 2 / 2 == pytest.approx(4.5 + float(right), rel=1e-7)


@pytest.mark.parametrize(("text", "value"), [("sqrt(1 + e) - 1", 5e-19), ("(1 + e)^(1/3) - 1", 1e-18 / 3), ("exp(e) - cosh(e)", 1e-18)])
def test_a_body_at_rest_by_lost_digits_moves(text, value):
    """Nothing has a size here but the force, which is zero in doubles: x = c*t^2/2 with c of 1e-18."""
    equations = ch.derive(ch.System("x", "e", lagrangian=f"x'^2/2 + ({text})*x"))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 1), parameters={"e": 1e-18})
    assert motion.outcome == "finished" and motion.certificate.digits
    assert motion.final["x"] == pytest.approx(value / 2, rel=1e-8, abs=0)
    many = ch.simulate_many(equations, {"x": [0.0] * 3, "x'": 0}, (0, 1), parameters={"e": 1e-18})
    assert set(many.outcome) == {"finished"} and many.final["x"] == pytest.approx([value / 2] * 3, rel=1e-8, abs=0)


def test_a_body_at_rest_in_balance_stays():
    """Zero forces, and forces whose terms cancel exactly, are no loss."""
    for text in ("x'^2/2 - x^2/2", "x'^2/2 + (a - b)*x", "x'^2/2 + sin(x)*x"):
        equations = ch.derive(ch.System("x", "a b", lagrangian=text))
        motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 1), parameters={"a": 0.1, "b": 0.1})
        assert motion.outcome == "finished" and motion.final["x"] == 0 and not motion.certificate.repeated


# ------------------------------------------------------------ reading


def quartic(x):
    """10^20*(sqrt(1 + x^2) - 1 - x^2/2) with 80 digits; about -10^20*x^4/8."""
    with mpmath.workdps(80):
        return float(mpmath.mpf(10) ** 20 * (mpmath.sqrt(1 + mpmath.mpf(x) ** 2) - 1 - mpmath.mpf(x) ** 2 / 2))


QUARTIC = "1e20*(sqrt(1 + x^2) - 1 - x^2/2)"
QUARTIC_WELL = ch.derive(ch.System("x", lagrangian=f"x'^2/2 + {QUARTIC}"))


def test_energy_and_expressions_read_from_a_motion_keep_their_digits():
    """All digits of the potential cancel in doubles: it reads 0 or 2048 instead of -1250."""
    motion = ch.simulate(QUARTIC_WELL, {"x": 1e-4, "x'": 3.0}, t=(0, 1e-5))
    exact = np.array([quartic(x) for x in motion["x"]])
    assert exact[0] == pytest.approx(-1250, rel=1e-8)
    np.testing.assert_allclose(motion[QUARTIC], exact, rtol=1e-13)
    np.testing.assert_allclose(motion.energy, motion["x'"] ** 2 / 2 - exact, rtol=1e-13)
    assert motion.energy == pytest.approx(1254.5, rel=1e-8)
    assert motion.final[QUARTIC] == pytest.approx(exact[-1], rel=1e-13)


def test_a_value_of_evaluate_keeps_its_digits():
    now = ch.evaluate(QUARTIC_WELL, {"x": 1e-4, "x'": 0})
    assert now[QUARTIC] == pytest.approx(quartic(1e-4), rel=1e-13)
    assert now["1/(1 - cos(x/1e6))"] == pytest.approx(2e20, rel=1e-8)  # 1/0 in doubles


def test_an_expression_with_an_input_read_from_a_motion_keeps_its_digits():
    system = ch.System("x", lagrangian="x'^2/2 - x^2/2", inputs={"u": "cos(t*1e-9)"}, forces={"x": "u"})
    motion = ch.simulate(ch.derive(system), {"x": 0.0, "x'": 1.0}, t=(1, 2))
    with mpmath.workdps(60):
        exact = [float(mpmath.mpf(x) * (1 - mpmath.cos(mpmath.mpf(t) / 10**9))) for x, t in zip(motion["x"], motion.t, strict=True)]
    np.testing.assert_allclose(motion["x*(1 - u)"], exact, rtol=1e-12)


def test_residuals_of_rows_that_hold_are_read_in_doubles():
    """x^2 + y^2 - 1 cancels for the rounded state too: more digits would say nothing."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = 1"])
    equations, start = ch.derive(system, ch.DAlembert()), {"x": 0.6, "y": 0.8, "x'": 0, "y'": 0}
    read = [ch.evaluate(equations, start)["x^2 + y^2 - 1"], *ch.simulate(equations, start, t=(0, 1))["x^2 + y^2 - 1"]]
    assert np.abs(read).max() < 1e-15
    assert (np.array(read) / np.finfo(float).eps % 0.25 == 0).all()  # sums of doubles near one have no smaller digits


def test_lost_values_that_would_take_too_long_are_left_out_with_a_warning(monkeypatch):
    monkeypatch.setattr("chetaev.numerics.smooth_pieces.clear_readings._MOST_WORK", 1000)
    motion = ch.simulate(QUARTIC_WELL, {"x": 1e-4, "x'": 0.0}, t=(0, 1e-5)).at(np.linspace(0, 1e-5, 500))
    with pytest.warns(ch.errors.LostDigitsWarning, match="at 500 of 500 times doubles lose its digits"):
        values = motion[QUARTIC]
    known = np.isfinite(values)
    assert 8 <= known.sum() < 500
    np.testing.assert_allclose(values[known], [quartic(x) for x in motion["x"][known]], rtol=1e-13)
