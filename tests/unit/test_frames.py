"""Frames carried along motions in compiled code, against the factors of one long product in many digits."""

import mpmath
import numpy as np
import pytest
from scipy.special import ellipk

import chetaev as ch
from chetaev.numerics.prepared import growth_of, prepare

RATES = np.array([[0.3, 2.0, 0.0, 1.0], [-2.0, 0.3, 1.0, 0.0], [0.5, 0.0, -20.0, 3.0], [0.0, 1.0, 0.0, -4.0]])
NAMES = "xyzw"


def factors(span, frame):
    """The logarithms of the diagonal of R, where QR is the frame after a time, in 300 digits."""
    with mpmath.workdps(300):
        moved = mpmath.expm(mpmath.matrix(RATES.tolist()) * span) * mpmath.matrix(frame.tolist())
        r = mpmath.qr(moved, mode="full")[1]
        return np.array([float(mpmath.log(abs(r[k, k]))) for k in range(frame.shape[1])])


def linear():
    rows = [f"{q}' - ({' + '.join(f'({v})*{z}' for v, z in zip(line, NAMES, strict=True))})" for q, line in zip(NAMES, RATES, strict=True)]
    return ch.derive(ch.DynamicalForm("x y z w", rows))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_growth_over_many_steps_is_that_of_one_factorisation(count):
    """The last column shrinks by 1e-87, so that without a new frame every few steps no digit of it would be left."""
    frame = np.linalg.qr(np.random.default_rng(3).normal(size=(4, count)))[0]
    run = prepare(linear(), t=(0, 10), tolerance=1e-13)
    y, p = run.start({"x": 1, "y": 0.5, "z": -1, "w": 2})
    found = growth_of(run, y, p, frame, np.ones(4), {}, 10.0, 7)
    assert found.outcome == "finished" and found.lengths.sum() == pytest.approx(10, rel=1e-14) and len(found.logs) == 7
    np.testing.assert_allclose(found.logs.sum(axis=0), factors(10, frame), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(found.y, [float(v) for v in mpmath.expm(mpmath.matrix(RATES.tolist()) * 10) * mpmath.matrix(y)], rtol=1e-10)


def test_units_change_the_frame_and_not_what_it_spans():
    """In other units the first column is longer, and all columns together grow as the determinant does: by the trace."""
    run = prepare(linear(), t=(0, 10), tolerance=1e-12)
    y, p = run.start({"x": 1, "y": 0.5, "z": -1, "w": 2})
    units = np.array([1.0, 1e3, 1e-3, 7.0])
    found = growth_of(run, y, p, np.eye(4), units, {}, 3.0, 1)
    assert found.logs.sum() == pytest.approx(3 * np.trace(RATES), rel=1e-10)


def test_columns_stay_on_the_constraints():
    """Of a pendulum in the plane two directions are left of four; the orbit is periodic, and over whole periods its volume is kept."""
    system = ch.System("x y", "l g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"])
    values, start = {"l": 1, "g": 1}, {"x": 1, "y": 0, "x'": 0, "y'": 0}
    period = 4 * ellipk(0.5)  # it swings by a right angle to both sides of the lowest place
    found = ch.orbits.lyapunov(ch.derive(system, ch.DAlembert()), start, T=20 * period, parameters=values)
    assert len(found.exponents) == 2 and found.zeros == 2
    assert found.exponents.sum() == pytest.approx(0, abs=1e-8)


def test_a_motion_that_ends_early_keeps_the_growth_so_far():
    """x' = x^2 from 1 leaves every bound at t = 1; the slope of x by its start is x^2."""
    run = prepare(ch.derive(ch.DynamicalForm("x", ["x' - x^2"])), t=(0, 2))
    y, p = run.start({"x": 1})
    found = growth_of(run, y, p, np.eye(1), np.ones(1), {}, 2.0, 50)
    assert found.outcome != "finished" and found.lengths.sum() == pytest.approx(1, abs=1e-8)
    assert found.y[0] > 1e6 and found.logs.sum() == pytest.approx(2 * np.log(found.y[0]), rel=1e-8)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_exponents_do_not_depend_on_units(unit):
    """In x'' = -x^3 a factor of x is one of 1/t."""
    form = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^4/4"))
    usual = ch.orbits.lyapunov(form, {"x": 1, "x'": 0}, T=100)
    other = ch.orbits.lyapunov(form, {"x": unit, "x'": 0}, T=100 / unit)
    np.testing.assert_allclose(other.exponents / unit, usual.exponents, rtol=1e-6)
    assert other.zeros == usual.zeros == 2
