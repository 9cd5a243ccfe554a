"""Constants that are zero by an identity vanish, those whose digits cancel have their value, and no verb divides by round-off."""

from __future__ import annotations

import mpmath
import pytest

import chetaev as ch
from chetaev.core.exact.constants import cancelled
from chetaev.core.notation.meaning import parse_expression
from chetaev.core.notation.vocabulary import Vocabulary
from chetaev.core.symbols import Parameter
from chetaev.core.zero import vanishes

ZERO = [
    "log(6) - log(2) - log(3)",
    "log(8)/log(2) - 3",
    "log(1.5) + log(2) - log(3)",
    "sqrt(2)*sqrt(3) - sqrt(6)",
    "sqrt(5 + 2*sqrt(6)) - sqrt(2) - sqrt(3)",
    "atan(1) - pi/4",
    "acos(1/2) - pi/3",
    "acos(3/5) + asin(3/5) - pi/2",
    "asin(3/5) - atan(3/4)",
    "2*atan(1/2) - atan(4/3)",
    "4*atan(1/5) - atan(1/239) - pi/4",
    "tanh(log(6)) - 35/37",
    "sin(log(6)) - sin(log(2) + log(3))",
    "cos(pi/5) - (1 + sqrt(5))/4",
]
VALUES = {
    "exp(pi*sqrt(163)) - 262537412640768744": lambda mp: mp.exp(mp.pi * mp.sqrt(163)) - 262537412640768744,
    "log(1 + 1e-20)": lambda mp: mp.log(1 + mp.mpf(10) ** -20),
    "sqrt(1 + 1e-18) - 1": lambda mp: mp.sqrt(1 + mp.mpf(10) ** -18) - 1,
    "cos(1e-9) - 1": lambda mp: mp.cos(mp.mpf(10) ** -9) - 1,
    "log(10) - log(2) - log(5) - 1e-20": lambda mp: -(mp.mpf(10) ** -20),
}
UNKNOWN = ["log(2 + sqrt(3)) + log(2 - sqrt(3))", "atan(sqrt(2)) + atan(1/sqrt(2)) - pi/2"]
"""Zeros that nothing here proves."""


def read(text):
    return parse_expression(text, Vocabulary(expressions={"x": Parameter("x")}))


@pytest.mark.parametrize("text", ZERO)
def test_relations_between_constants_are_known(text):
    assert vanishes(read(text)) is True
    assert vanishes(read(f"({text})*x^2 + 1e-30*x")) is False


@pytest.mark.parametrize("text", VALUES)
def test_what_is_nearly_zero_is_not(text):
    mp = mpmath.MPContext()
    mp.dps = 80
    assert vanishes(read(text)) is False
    assert cancelled(read(text)).value == float(VALUES[text](mp))


def with_mass(constant):
    """y has no mass if the constant is zero: then y = -x/3, and x'' = -x - y/3 = -8*x/9."""
    return ch.derive(ch.System("x y", lagrangian=f"x'^2/2 - x^2/2 + ({constant})*y'^2/2 - y^2/2 - x*y/3"))


@pytest.mark.parametrize("text", ZERO)
def test_a_mass_that_is_zero_is_none(text):
    equations = with_mass(text)
    assert (ch.analyze(equations).verdict, ch.analyze(equations).dimension) == ("REGULAR", 2)
    now = ch.evaluate(equations, {"x": 0.9, "x'": 0})
    assert (now["y"], now["x''"]) == pytest.approx((-0.3, -0.8), rel=1e-12)
    assert ch.simulate(equations, {"x": 0.9, "x'": 0}, (0, 1)).outcome == "finished"


@pytest.mark.parametrize("text", UNKNOWN)
def test_no_verb_divides_by_a_mass_that_may_be_zero(text):
    equations = with_mass(text)
    assert ch.analyze(equations).verdict == "UNDECIDED"
    start = {"x": 0.9, "x'": 0, "y": 0.1, "y'": 0}
    for verb in (ch.evaluate, lambda e, s: ch.simulate(e, s, (0, 1)), ch.linearize):
        with pytest.raises(ch.StateError, match="y'' is not determined"):
            verb(equations, start)
    assert "y'' is not determined" in ch.simulate_many(equations, [start], (0, 1)).message(0)


@pytest.mark.parametrize("text", [*VALUES, *ZERO, *UNKNOWN])
def test_a_force_has_the_value_of_its_constant(text):
    """E_x = x'' + x - 1e9*c: a constant that is lost in doubles would be a force of 1e-7 and more, or none."""
    mp = mpmath.MPContext()
    mp.dps = 80
    value = float(VALUES[text](mp)) if text in VALUES else 0.0
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - x^2/2 + 1e9*({text})*x"))
    now = ch.evaluate(equations, {"x": 0, "x'": 0})
    assert now["x''"] == pytest.approx(1e9 * value, rel=1e-12, abs=0)
    assert ch.residual(equations, {"x": 0, "x'": 0, "x''": now["x''"]})["E_x"] == pytest.approx(0, abs=1e-12 * abs(1e9 * value))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 1))
    assert motion.final["x"] == pytest.approx(1e9 * value * (1 - float(mpmath.cos(1))), rel=1e-8, abs=0)


@pytest.mark.parametrize("text", ["log(6) - log(2) - log(3)", "log(8)/log(2) - 3", "log(1.5) + log(2) - log(3)"])
def test_the_constraint_algorithm_knows_logarithms(text):
    """y occurs nowhere, so it is free; a product with x' vanishes term by term."""
    assert ch.analyze(ch.derive(ch.System("x y", lagrangian=f"({text})*y'^2/2 + x'^2/2 - x^2/2"))).verdict == "GAUGE"
    spread = "y*(log(6)*x' - log(2)*x' - log(3)*x')"
    assert ch.analyze(ch.derive(ch.System("x y", lagrangian=f"x'^2/2 - x^2/2 + {spread}"))).verdict == "GAUGE"
