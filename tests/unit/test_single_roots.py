"""A missing value that a row determines by one root, proved to be the only one, is computed; any other is asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import lambertw

import chetaev as ch
from chetaev.core.calculus import SYMBOLIC
from chetaev.core.notation.meaning import parse_expression
from chetaev.core.notation.vocabulary import Vocabulary
from chetaev.core.symbols import Parameter
from chetaev.numerics.enclosures.ranges import ranges

X = 0.1
"""The value of x in every start."""


def start_of(row, kind="line", start=None):
    system = ch.System({"x": "line", "y": kind}, lagrangian="(x'^2 + y'^2)/2", kinematic=[row])
    return ch.evaluate(ch.derive(system, ch.DAlembert()), start or {"x": X, "x'": 1})


SINGLE = {
    "y^3 = 8": 2,
    "exp(y) = 3": math.log(3),
    "y + y^3 = 2": 1,
    "y^3 - y = 6": 2,
    "y*exp(y) = 1": float(lambertw(1).real),
    "y + sin(y) = 2": brentq(lambda y: y + math.sin(y) - 2, 0, 2, xtol=1e-15),
    "y^5 + y = 3 + x": brentq(lambda y: y**5 + y - 3 - X, 0, 2, xtol=1e-15),
    "atan(y) = x": math.tan(X),
    "tanh(y) = x + 0.3": math.atanh(0.4),
    "log(y) = x": math.exp(X),
    "sqrt(y) = 2 + x": 2.1**2,
    "1/y = 4 + x": 1 / 4.1,
    "2^y = 8": 3,
    "exp(y) + y = x": brentq(lambda y: math.exp(y) + y - X, -2, 2, xtol=1e-15),
    "exp(y) = 1": 0,
    "y^3 = 8e30": 2e10,
    "y + abs(y)/2 = 3 + x": 3.1 / 1.5,
    "y^5 - y^4 + y = 18": 2,
}


@pytest.mark.parametrize("row", SINGLE)
def test_a_single_root_is_computed(row):
    now = start_of(row)
    assert now["y"] == pytest.approx(SINGLE[row], rel=1e-13, abs=1e-15)


def test_the_velocity_follows_from_the_root():
    """y = log(3 + x), y' = x'/(3 + x), y'' = (x'' (3 + x) - x'^2)/(3 + x)^2, with lambda from E_x and E_y."""
    now = start_of("exp(y) = 3 + x")
    assert now["y'"] == pytest.approx(1 / 3.1, rel=1e-13)
    assert now["y''"] == pytest.approx((now["x''"] * 3.1 - 1) / 3.1**2, rel=1e-12)
    assert now["x''"] + now["y''"] / 3.1 == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize(
    ("row", "kind", "count"),
    [
        ("y^2 = 4", "line", 2),
        ("tan(y) = 1", "angle", 2),
        ("sin(y) = 0.3", "angle", 2),
        ("y^3 - 3*y = 1", "line", 3),
        ("sin(y) = x", "line", None),
        ("y^2 = 4*y - 4", "line", 1),
        ("sin(y) = 1", "angle", 1),
        ("y^4 - y^3 = 8", "line", 2),
    ],
)
def test_several_roots_and_double_ones_are_asked_for(row, kind, count):
    with pytest.raises(ch.InitialError, match="y is missing, and the equations for it are not linear") as missing:
        start_of(row, kind)
    if count is not None:
        assert f"{count} solution{'s' * (count > 1)} found" in str(missing.value)


def test_an_angle_that_does_not_repeat_is_a_number():
    right = brentq(lambda y: math.cos(y) + 3 * math.sin(y) - 4 * y, 0, 2, xtol=1e-15)
    assert start_of("cos(y) + 3*sin(y) = 4*y", "angle")["y"] == pytest.approx(right, rel=1e-13)


@pytest.mark.parametrize("angle", [0, 0.3, math.pi / 2, 2, math.pi, -1, -3])
def test_two_rows_determine_an_angle_modulo_whole_turns(angle):
    """Each of x = cos(q), y = sin(q) has two roots, or a double one; both together have one."""
    system = ch.System({"x": "line", "y": "line", "q": "angle"}, lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x = cos(q)", "y = sin(q)"])
    start = {"x": math.cos(angle), "y": math.sin(angle), "q'": 0.5}
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), start)
    assert math.remainder(now["q"] - angle, 2 * math.pi) == pytest.approx(0, abs=1e-12)
    assert (now["x'"], now["y'"]) == pytest.approx((-math.sin(angle) / 2, math.cos(angle) / 2), abs=1e-12)


def test_roots_follow_one_another_in_blocks():
    """z from z^3 = 8, then y from exp(y) = z + x, then the velocities."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["exp(y) = z + x", "z^3 = 8"])
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": X, "x'": 1})
    assert (now["z"], now["y"], now["y'"]) == pytest.approx((2, math.log(2 + X), 1 / (2 + X)), rel=1e-13)


def test_a_velocity_with_a_single_root_is_computed():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y' + y'^3 = x'"])
    now = ch.evaluate(ch.derive(system, ch.Chetaev()), {"x": 0, "y": 0, "x'": 10})
    assert now["y'"] == pytest.approx(2, rel=1e-13)


def test_members_of_an_ensemble_are_completed_too():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y^3 + y = x"])
    ends = ch.simulate_many(ch.derive(system, ch.DAlembert()), {"x": [2.0, 10.0], "x'": 0.0}, (0, 1))
    assert ends.final["y"] == pytest.approx([1, 2], rel=1e-9)


TEXTS = "y^3 - y|exp(-y^2)|sin(3*y) + cos(y)|y/(1 + y^2)|tanh(y)*y|sqrt(1 + y^2) - abs(y)|atan(y) - log(2 + sin(y))|2^y - y"


@pytest.mark.parametrize("text", TEXTS.split("|"))
def test_ranges_contain_every_value(text):
    y = Parameter("y")
    program, _ = SYMBOLIC.program([parse_expression(text, Vocabulary(expressions={"y": y}))], [y])
    chance = np.random.default_rng(2)
    for _ in range(30):
        low, high = sorted(chance.uniform(-4, 4, 2))
        bound = ranges(program, [(low, high)]).found[0]
        for at in chance.uniform(low, high, 20):
            (value, _) = ranges(program, [(at, at)]).found[0]
            assert bound[0] <= value <= bound[1]
