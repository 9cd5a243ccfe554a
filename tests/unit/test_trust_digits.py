"""Evidence from inside the steps of every run: the defect of the continuous motion, and digits that rounding takes from the rates."""

import math

import casadi as ca
import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.machine.directed import AVAILABLE, directed
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.dop853 import codes, scale_constants

FAR = 1_000_000_000
WIDTH = 1e-3
PUSH = WIDTH * math.sqrt(math.pi)
"""The integral of a pulse of that width."""

directions = pytest.mark.skipif(not AVAILABLE, reason="this LLVM sets no direction of rounding")


def pulse(z, place):
    return ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"exp(-(({z} - {place})*1000)^2)"}))


def force(text):
    return ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": text}))


# ------------------------------------------------------------ the defect, whatever is kept


@pytest.mark.parametrize("given", [{}, {"keep": "final"}, {"t": [0, 1, 2, 10]}])
def test_every_motion_has_all_figures(given):
    motion = ch.simulate(ch.gallery("double-pendulum"), **given)
    assert motion.certificate.missing == (() if AVAILABLE else ("rounding",))


def test_what_is_kept_changes_neither_bits_nor_evidence():
    model = ch.gallery("double-pendulum")
    kept, final = ch.simulate(model), ch.simulate(model, keep="final")
    assert kept.end[1].tobytes() == final.end[1].tobytes()
    seen = [[f for f in motion.certificate.figures if f.kind in ("defect", "rounding")] for motion in (kept, final)]
    assert seen[0] and seen[0] == seen[1]


def test_the_defect_of_one_step_is_that_of_its_polynomial():
    """y' = cos(3 t) y in one step: the largest defect seen is that of the kept polynomial at the place of the look."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y"), ca.SX.sym("p", 0)
    kernel = compile_kernel(ca.Function("f", [t, y, p], [ca.cos(3 * t) * y]))
    limits = dop853.Limits(rtol=1e-2, first_step=0.8)
    code = dop853.Code(kernel.address, directed=directed(kernel.address, 1))
    kept = dop853.run(code, 0.0, 0.8, [1.0], limits=limits, keep=dop853.STEPS)
    final = dop853.run(code, 0.0, 0.8, [1.0], limits=limits, keep=dop853.FINAL)
    assert kept.accepted == final.accepted == final.looked == 1 and kept.y.tobytes() == final.y.tobytes()
    theta = scale_constants.FIRST_PLACE + scale_constants.PLACES * (scale_constants.GOLDEN_PART % 1.0)
    values, slopes = dop853.interpolate(kept.nodes, kept.states, kept.coefficients, [0.8 * theta])
    off = 0.8 * abs(slopes[0, 0] - math.cos(2.4 * theta) * values[0, 0])
    assert off > 1e-9
    for run in (kept, final):
        assert run.inside[codes.OFF, 0] == pytest.approx(off, rel=1e-4)
        assert run.inside[codes.WHEN, 0] == pytest.approx(0.8 * theta)


def test_a_defect_is_not_certified(monkeypatch):
    """Limits that nothing meets: a motion of which only the end is kept says so, and so does a member of an ensemble."""
    monkeypatch.setattr("chetaev.numerics.motion.inside._DEFECT", 0.0)
    monkeypatch.setattr("chetaev.numerics.motion.inside._LEAST_DEFECT", 1e-30)
    model = ch.gallery("double-pendulum")
    motion = ch.simulate(model, keep="final")
    assert motion.outcome == "not_certified" and "between two steps" in motion.message
    assert set(ch.simulate_many(model, [model.start] * 5).outcome) == {"not_certified"}


# ------------------------------------------------------------ rounding


@directions
def test_code_rounded_up_and_down():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 0)
    kernel = compile_kernel(ca.Function("f", [t, y, p], [ca.vertcat(1 - ca.cos(y[0]), ca.sin(y[1]), y[1] / 3)]))
    at = np.array([[1e-9, 0.7]])
    up, down = dop853.evaluate(directed(kernel.address, 3), [0.0], at, np.zeros(0), 6).reshape(2, 3)
    plain = kernel(0.0, at[0], [])
    assert plain[0] == 0.0 and max(abs(up[0]), abs(down[0])) > 1e-17  # the right value is 5e-19
    assert np.abs(up[1:] - plain[1:]).max() < 1e-15 and np.abs(down[1:] - plain[1:]).max() < 1e-15
    assert up[2] > down[2]
    assert kernel(0.0, at[0], []).tobytes() == plain.tobytes()  # the direction was set back
    assert 1.0 + 2.0**-60 == 1.0


@directions
@pytest.mark.parametrize("method", [None, ch.Taylor()], ids=["explicit", "taylor"])
def test_a_pulse_at_a_large_time(method):
    """Doubles at 1e9 are 1e-7 apart, and a pulse of 1e-3 has four digits; the same pulse at t = 0 has all."""
    if method is not None:
        pytest.importorskip("heyoka")
    motion = ch.simulate(pulse("t", FAR), {"x": 0, "x'": 0}, (FAR - 1, FAR + 1), method=method)
    assert motion.outcome == "not_certified" and "the equations lose digits" in motion.message
    near = ch.simulate(pulse("t", 0), {"x": 0, "x'": 0}, (-1, 1), method=method)
    assert near.outcome == "finished" and near.final["x'"] == pytest.approx(PUSH, rel=1e-8)


@directions
def test_a_pulse_at_a_large_position():
    """x'^2/2 grows by the integral of the force."""
    right = math.sqrt(1 + 2 * PUSH)
    motion = ch.simulate(pulse("x", FAR), {"x": FAR - 1, "x'": 1}, (0, 2))
    assert motion.outcome == "not_certified" and "the equations lose digits" in motion.message
    near = ch.simulate(pulse("x", 0), {"x": -1, "x'": 1}, (0, 2))
    assert near.outcome == "finished" and near.final["x'"] == pytest.approx(right, rel=1e-8)
    many = ch.simulate_many(pulse("x", FAR), {"x": [FAR - 1, FAR - 1.5, FAR - 0.5, FAR - 1.1], "x'": 1}, (0, 2))
    assert set(many.outcome) == {"not_certified"}


@directions
@pytest.mark.parametrize(("text", "limit"), [("-(1 - cos(x))/x^2", -0.5), ("-(x - sin(x))/x^3", -1 / 6)])
def test_a_removable_pole_in_which_all_digits_are_lost(text, limit):
    """At x = 1e-9 these are zero in doubles, and a body would rest there; the right force is the limit. Further away motions are right."""
    equations = force(text)
    assert ch.simulate(equations, {"x": 1e-9, "x'": 0}, (0, 1)).outcome == "not_certified"
    assert set(ch.simulate_many(equations, {"x": [1e-9] * 5, "x'": 0}, (0, 1)).outcome) == {"not_certified"}
    start = {"x": 0.3, "x'": -1}
    passed = ch.simulate(equations, start, (0, 0.5))
    assert passed.outcome == "finished"
    assert passed.final["x'"] == pytest.approx(-1 + 0.5 * limit, abs=2e-3)  # the forces change by less than a percent on the way


@directions
@pytest.mark.parametrize("method", [None, ch.Taylor()], ids=["explicit", "taylor"])
def test_a_mass_that_almost_vanishes(method):
    """The mass falls to 1e-10 of itself within 0.1 at x = 500: it has six digits there, and so has the velocity behind it."""
    if method is not None:
        pytest.importorskip("heyoka")
    system = ch.System("x", "c w d", lagrangian="(1 - (1 - d)*exp(-((x - c)/w)^2))*x'^2/2")
    values = {"c": 500, "w": 0.1, "d": 1e-10}
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 10}, (0, 100), parameters=values, method=method)
    assert motion.outcome == "not_certified" and "the equations lose digits" in motion.message
    mild = ch.simulate(ch.derive(system), {"x": 0, "x'": 10}, (0, 100), parameters=values | {"d": 1e-2}, method=method)
    assert mild.outcome == "finished" and mild.final["x'"] == pytest.approx(10, rel=1e-7)
