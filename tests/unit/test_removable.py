"""Functions with removable singularities have their values beside these, against mpmath, for every function that has a series."""

import mpmath
import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.numerics.graphs.rewriting.removable import Series, removable
from chetaev.numerics.graphs.rewriting.removable.series import _sums_to

PLACES = (1e-13, 1e-9, -1e-9, 3e-6, 1e-3, -0.015, 0.1, 0.2, -0.24, 0.26, 0.6)
"""Inside and outside the radii of all series."""

FUNCTIONS = {
    "log(1 + x)/x": lambda x: mpmath.log(1 + x) / x,
    "log(1 - x)/x": lambda x: mpmath.log(1 - x) / x,
    "log(1 + x)^2/x^2": lambda x: mpmath.log(1 + x) ** 2 / x**2,
    "atan(x)/x": lambda x: mpmath.atan(x) / x,
    "(atan(x) - x)/x^3": lambda x: (mpmath.atan(x) - x) / x**3,
    "asin(x)/x": lambda x: mpmath.asin(x) / x,
    "tan(x)/x": lambda x: mpmath.tan(x) / x,
    "tanh(x)/x": lambda x: mpmath.tanh(x) / x,
    "x/(exp(x) - 1)": lambda x: x / mpmath.expm1(x),
    "(exp(x) - 1 - x)/x^2": lambda x: (mpmath.expm1(x) - x) / x**2,
    "(1 - cos(x))/x^2": lambda x: (1 - mpmath.cos(x)) / x**2,
    "(x - sin(x))/x^3": lambda x: (x - mpmath.sin(x)) / x**3,
    "(1/x - 1/sin(x))/x": lambda x: (1 / x - 1 / mpmath.sin(x)) / x,
    "x/log(1 + x)": lambda x: x / mpmath.log(1 + x),
    "log(1 + x^2)/x^2": lambda x: mpmath.log(1 + x**2) / x**2,
    "log(cosh(x))/x^2": lambda x: mpmath.log(mpmath.cosh(x)) / x**2,
    "(sin(x) + x^97)/x": lambda x: (mpmath.sin(x) + x**97) / x,
    "(1 - cos(x^7))/x^14": lambda x: (1 - mpmath.cos(x**7)) / x**14,
    "log(x + 1)/(x + x^3)": lambda x: mpmath.log(x + 1) / (x + x**3),
    "atan(x)/(x*(2 + x))": lambda x: mpmath.atan(x) / (x * (2 + x)),
    "(sqrt(1 + x) - 1)/x": lambda x: (mpmath.sqrt(1 + x) - 1) / x,
    "(atan(2*x) - 2*x)/x^3": lambda x: (mpmath.atan(2 * x) - 2 * x) / x**3,
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_forces_beside_a_removable_singularity(text):
    """In L as well as in a force, where the slope is that of the series."""
    force = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"7*({text})"}))
    potential = ch.derive(ch.System("x", lagrangian=f"x'^2/2 + {text}"))
    for x in PLACES:
        with mpmath.workdps(320):  # fourteen powers of 1e-13
            right = float(7 * FUNCTIONS[text](mpmath.mpf(x)))
            slope = float(mpmath.diff(FUNCTIONS[text], mpmath.mpf(x), h=mpmath.mpf(10) ** -100))
        start = {"x": x, "x'": 0}
        assert ch.evaluate(force, start)["x''"] == pytest.approx(right, rel=1e-9), x
        assert ch.evaluate(potential, start)["x''"] == pytest.approx(slope, rel=1e-7, abs=1e-9), x


def test_the_argument_may_be_a_difference():
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", forces={"x": "log(1 + x - y)/(x - y)"}))
    found = [ch.evaluate(equations, {"x": 3 + h, "y": 3, "x'": 0, "y'": 0})["x''"] for h in (2.0**-30, 0.125)]
    assert found == pytest.approx([1 - 2.0**-31, mpmath.log(1.125) / 0.125], rel=1e-9)


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e6, 1e12])
@pytest.mark.parametrize("text", ["log(1 + U)/U", "(1 - cos(U))/U^2", "U/(exp(U) - 1)", "1/U^2 - 1/sin(U)^2", "(sqrt(1 + U^2) - 1)/U^2"])
def test_scales_of_the_variable(text, unit):
    """As a number, as a parameter, and from another origin: series have the digits, so that no motion needs many."""
    for u in (1e-11, 3e-7, -1e-2, 0.3):
        with mpmath.workdps(60):
            right = float(OTHERS[text](mpmath.mpf(u)))
        for argument, place, values in (
            (f"x/{unit!r}", u * unit, {}),
            ("x/l", u * unit, {"l": unit}),
            ("(x - y)/l", 2.0**-8 * unit + u * unit, {"l": unit}),
        ):
            written = text.replace("U", f"({argument})")
            equations = ch.derive(ch.System("x y", list(values), lagrangian="(x'^2 + y'^2)/2", forces={"x": written}))
            start = {"x": place, "x'": 0, "y": 2.0**-8 * unit if "y" in argument else 0.0, "y'": 0}
            near = 1e-4 if "y" in argument else 1e-9  # of u itself few digits are left
            motion = ch.simulate(equations, start, (0, 1e-7 * unit**0.5), parameters=values)
            assert motion.outcome == "finished" and not motion.certificate.digits
            assert ch.evaluate(equations, start, parameters=values)["x''"] == pytest.approx(right, rel=near), (argument, u)


OTHERS = {
    "log(1 + U)/U": lambda x: mpmath.log(1 + x) / x,
    "(1 - cos(U))/U^2": lambda x: (1 - mpmath.cos(x)) / x**2,
    "U/(exp(U) - 1)": lambda x: x / mpmath.expm1(x),
    "1/U^2 - 1/sin(U)^2": lambda x: 1 / x**2 - 1 / mpmath.sin(x) ** 2,
    "(sqrt(1 + U^2) - 1)/U^2": lambda x: (mpmath.sqrt(1 + x**2) - 1) / x**2,
}


@pytest.mark.parametrize("coefficients", [(), (1.0,), (1.0, -0.5, 1 / 3 + 1e-9), (float("nan"),)])
def test_a_series_that_is_not_the_function_is_not_used(coefficients):
    x = sympy.Symbol("x")
    assert not _sums_to(Series(sympy.Integer(0), sympy.Integer(1), sympy.Rational(1, 64), coefficients), sympy.log(1 + x) / x, x)


def test_a_function_without_a_value_on_the_circle_has_a_smaller_one():
    """log(1 + x) has none at x = -1, and atan(x) none at x = i."""
    x = sympy.Symbol("x")
    for function in (sympy.log(1 + x) / x, sympy.atan(x) / x):
        (series,) = removable(function).series
        assert series.radius < sympy.Rational(1, 4) and series.coefficients[0] == 1


def test_angles_of_two_coordinates_beside_quotients():
    """Where the angle x + y vanishes depends on y: no number is a candidate, and comparing one with pi raised a TypeError."""
    potential = "sin(y)^3/(m + cos(x + y)^2) + sin(y)*cos(y)^2/(m + cos(x + y)^2)"
    system = ch.System("x y", "m", lagrangian=f"(x'^2 + y'^2)/2 - ({potential})")
    now = ch.evaluate(ch.derive(system), {"x": 0.4, "y": 0.3, "x'": 0, "y'": 0}, parameters={"m": 2})
    slope = np.sin(0.3) * 2 * np.cos(0.7) * np.sin(0.7) / (2 + np.cos(0.7) ** 2) ** 2
    assert now["x''"] == pytest.approx(-slope, rel=1e-13)
