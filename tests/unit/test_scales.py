"""Tolerances have no unit: motions are the same in nanometres and light years, and small jets are as exact as large ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import chetaev as ch

METHODS = [None, ch.Implicit(), ch.Taylor()]
SPRING = ch.derive(ch.System("x", "m k", lagrangian="m*x'^2/2 - k*x^2/2"))
ONE = {"m": 1, "k": 1}


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("size", [1e-20, 1e-9, 1e100])
def test_an_oscillation_of_any_size(size, method):
    motion = ch.simulate(SPRING, {"x": size, "x'": 0}, (0, 10), parameters=ONE, method=method, tolerance=1e-8)
    assert motion.outcome == "finished"
    assert motion.final["x"] / size == pytest.approx(math.cos(10), abs=1e-7)
    assert motion.final["x'"] / size == pytest.approx(-math.sin(10), abs=1e-7)


def test_a_seismometer():
    motion = ch.simulate(SPRING, {"x": 1e-9, "x'": 0}, (0, 100), parameters=ONE)
    assert motion.final["x"] / 1e-9 == pytest.approx(math.cos(100), abs=1e-7)


def test_members_of_any_size():
    sizes = np.array([1e-20, 1e-9, 1.0, 1e100])
    ensemble = ch.simulate_many(SPRING, {"x": sizes, "x'": 0}, (0, 10), parameters=ONE)
    assert ensemble.final["x"] / sizes == pytest.approx(math.cos(10), abs=1e-8)


def test_a_small_jet_beside_a_large_one():
    both = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - x^2/2 - 2*y^2"))
    motion = ch.simulate(both, {"x": 1, "x'": 0, "y": 1e-12, "y'": 0}, (0, 10))
    assert motion.final["x"] == pytest.approx(math.cos(10), abs=1e-8)
    assert motion.final["y"] / 1e-12 == pytest.approx(math.cos(20), abs=1e-7)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("length", [1e-9])
def test_a_cartesian_pendulum_of_any_length(length, method):
    """Against the angle, by SciPy."""
    exact = solve_ivp(lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 1), [math.asin(0.6), 0], method="DOP853", rtol=1e-13, atol=1e-13)
    pendulum = ch.System("x y", "l g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"])
    start = ch.State({"x": 0.6 * length, "x'": 0}, guess={"y": -0.8 * length})
    values = {"l": length, "g": 9.81 * length}
    motion = ch.simulate(ch.derive(pendulum, ch.DAlembert()), start, (0, 1), parameters=values, method=method, tolerance=1e-8)
    assert motion.outcome == "finished"
    assert motion.final["x"] / length == pytest.approx(math.sin(exact.y[0, -1]), abs=1e-7)
    assert motion.final["y"] / length == pytest.approx(-math.cos(exact.y[0, -1]), abs=1e-7)


@pytest.mark.parametrize("size", [1e-6, 1e-12, 1e9])
def test_dry_friction_of_any_size(size):
    """Half swings about the centres mu and -mu: 1, -0.7, 0.4, -0.1, where it sticks."""
    block = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x')"}))
    motion = ch.simulate(block, {"x": size, "x'": 0}, (0, 12), parameters={"mu": 0.15 * size})
    assert motion.final["x"] / size == pytest.approx(-0.1, abs=1e-8)


# ------------------------------------------------------------ other units, with the numbers in the text

UNITS = [(1.0, 1.0, 1.0), (1e-12, 1.0, 1.0), (1e12, 1e-6, 1.0), (1.0, 1e12, 1e12), (1e3, 1e-12, 1e-12), (1e-9, 1e9, 1e12)]


def text(v):
    """A number as one writes it."""
    return f"{v!r}"


@pytest.mark.parametrize(("length", "time", "mass"), UNITS)
def test_a_pendulum_in_other_units(length, time, mass):
    exact = solve_ivp(lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 5), [1, 0.5], method="DOP853", rtol=1e-13, atol=1e-13).y[0, -1]
    m, l, g = text(2 * mass), text(length), text(9.81 * length / time**2)
    pendulum = ch.derive(ch.System("q", lagrangian=f"{m}*{l}^2*q'^2/2 + {m}*{g}*{l}*cos(q)"))
    motion = ch.simulate(pendulum, {"q": 1, "q'": 0.5 / time}, (0, 5 * time))
    assert motion.outcome == "finished"
    assert motion.final["q"] == pytest.approx(exact, abs=1e-7)
    assert motion.drift["balance"] < 1e-7


@pytest.mark.parametrize(("length", "time", "mass"), UNITS)
def test_kepler_in_other_units(length, time, mass):
    """Periapsis at 0.4 of a = 1, e = 0.6; Kepler's equation gives the place after 5."""
    e, at = 0.6, 5.0
    anomaly = brentq(lambda u: u - e * math.sin(u) - at, 0, 10, xtol=1e-14)
    m, k = text(mass), text(mass * length**3 / time**2)
    kepler = ch.derive(ch.System("x y", lagrangian=f"{m}*(x'^2 + y'^2)/2 + {k}/sqrt(x^2 + y^2)"))
    start = {"x": (1 - e) * length, "y": 0, "x'": 0, "y'": math.sqrt((1 + e) / (1 - e)) * length / time}
    motion = ch.simulate(kepler, start, (0, at * time))
    assert motion.outcome == "finished"
    assert motion.final["x"] / length == pytest.approx(math.cos(anomaly) - e, abs=1e-7)
    assert motion.final["y"] / length == pytest.approx(math.sqrt(1 - e**2) * math.sin(anomaly), abs=1e-7)


@pytest.mark.parametrize(("length", "time", "mass"), [UNITS[1], UNITS[3], UNITS[5]])
def test_a_sleigh_in_other_units(length, time, mass):
    """The blade's speed is v tanh(chi (t - t0)): J. Neimark, N. Fufaev; m = J = 1, a = 0.2, v = w = 1."""
    a, t = 0.2, 5.0
    fastest = math.sqrt(1 + (1 + a**2))
    chi = a * fastest / (1 + a**2)
    late = math.atanh(1 / fastest)
    sleigh = ch.System(
        "x y theta",
        "m J a",
        lagrangian="m/2*((x' - a*theta'*sin(theta))^2 + (y' + a*theta'*cos(theta))^2) + J/2*theta'^2",
        kinematic=["y'*cos(theta) - x'*sin(theta) = 0"],
    )
    start = {"x": 0, "y": 0, "theta": 0, "theta'": 1 / time, "x'": length / time}
    values = {"m": mass, "J": mass * length**2, "a": a * length}
    motion = ch.simulate(ch.derive(sleigh, ch.DAlembert()), start, (0, t * time), parameters=values)
    assert motion.outcome == "finished"
    end = motion.final
    speed = (end["x'"] * math.cos(end["theta"]) + end["y'"] * math.sin(end["theta"])) * time / length
    assert speed == pytest.approx(fastest * math.tanh(chi * t + late), abs=1e-8)
    assert (end["theta"], end["x"] / length, end["y"] / length) == pytest.approx(
        (2.974154408695, -1.502931507800, 4.164260639611), abs=1e-7
    )


# ------------------------------------------------------------ what has no size of its own


def test_what_vanishes_up_to_round_off_does_not_shorten_steps():
    """1.7*0.3 - 0.51 is 5.6e-17: w is pushed by round-off, and has no other size."""
    plain = ch.derive(ch.System("u", lagrangian="u'^2/2 - u^2/2"))
    noisy = ch.derive(ch.System("u w", "a b c", lagrangian="(u'^2 + w'^2)/2 - u^2/2 - a*(b + w)^2/2 + c*w"))
    few = ch.simulate(plain, {"u": 1, "u'": 0}, (0, 20)).counts["accepted"]
    values = {"a": 1.7, "b": 0.3, "c": 0.51}
    motion = ch.simulate(noisy, {"u": 1, "u'": 0, "w": 0, "w'": 0}, (0, 20), parameters=values)
    assert motion.outcome == "finished"
    assert motion.counts["accepted"] < 3 * few
    assert motion.final["u"] == pytest.approx(math.cos(20), abs=1e-8)
    assert abs(motion.final["w"]) < 1e-15


def test_long_turning_is_no_drift():
    """x' + sin(z) y' = 0 while z grows: the last digit of z moves the velocities by more than a tight tolerance."""
    driven = ch.System(
        "x y z",
        lagrangian="(x'^2 + y'^2 + z'^2)/2 - (x^2 + y^2)/2 + cos(z) - sin(2*z)/4",
        kinematic=["x' + sin(z)*y' = 0"],
    )
    start = {"x": 1, "y": 0, "z": 0, "y'": 0.3, "z'": 2.5}
    motion = ch.simulate(ch.derive(driven, ch.DAlembert()), start, (0, 2200), tolerance=1e-14, keep="final")
    assert motion.outcome == "finished"
    assert motion.final["z"] > 2**12
    assert motion.drift["balance"] < 1e-10


# ------------------------------------------------------------ the user's own scales


def test_an_absolute_tolerance_and_a_given_size():
    """A rotor that starts at zero and turns slowly: an absolute tolerance of 1e-3 lets steps grow, a small size makes them short."""
    wave = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    start = {"x": 1e-6, "x'": 0}
    counts = [
        ch.simulate(wave, start, (0, 20), **options).counts["accepted"]
        for options in ({"tolerance": (1e-9, 1e-9)}, {"tolerance": 1e-9}, {"scale": {"x": 1e-12, "x'": 1e-12}})
    ]
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": (1e-9, -1)}, "an absolute tolerance of -1 is negative"),
        ({"tolerance": (1e-9, 1e-9, 1)}, "neither a number nor a pair"),
        ({"tolerance": (0, 1e-9)}, "tolerance = 0 is not positive"),
        ({"scale": {"z": 1}}, "z is no jet of the state"),
        ({"scale": {"x": 0}}, "x = 0 is not positive"),
        ({"scale": 3}, "is not a mapping"),
    ],
)
def test_scales_that_mean_nothing(options, words):
    with pytest.raises(ch.ChetaevError, match=words):
        ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 1), parameters=ONE, **options)
    with pytest.raises(ch.ChetaevError, match=words):
        ch.simulate_many(SPRING, {"x": [1, 2], "x'": 0}, (0, 1), parameters=ONE, **options)


FAINT = {"1 + tanh(20*(t - 3))": 4, "tanh(10*(t - 3)) - tanh(10*(t - 4))": 2, "erf(50*(t - 3)) - erf(50*(t - 4))": 2}
"""Forces that begin with what rounding leaves where two numbers cancel, and what their integrals from 0 to 5 are."""


@pytest.mark.parametrize("method", [None, ch.Taylor()], ids=str)
@pytest.mark.parametrize("force", FAINT)
def test_a_body_at_rest_under_a_force_that_begins_with_round_off(force, method):
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": None}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 5), inputs={"u": force}, method=method)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(FAINT[force], abs=1e-7)


def test_round_off_in_an_ensemble():
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2", forces={"x": "1 + tanh(k*(t - 3))"}))
    many = ch.simulate_many(equations, {"x": 0, "x'": 0}, (0, 5), parameters={"k": [20, 30]})
    alone = [ch.simulate(equations, {"x": 0, "x'": 0}, (0, 5), parameters={"k": k}).final["x'"] for k in (20, 30)]
    assert list(many.final["x'"]) == alone == pytest.approx([4, 4], abs=1e-7)


def test_an_input_whose_parts_are_too_large_for_a_double():
    """1/cosh(1000*(t - 3))^2 has the integral 2/1000, and cosh(3000) is no double."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": "1/cosh(1000*(t - 3))^2"}))
    assert ch.simulate(equations, {"x": 0, "x'": 0}, (0, 5)).final["x'"] == pytest.approx(2e-3, rel=1e-8)
