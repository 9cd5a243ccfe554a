"""Multipliers that make rows variational, and an honest account where none is found."""

import pytest
import sympy
from euler_by_hand import T, rows_of

import chetaev as ch
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.inverse.multipliers import integrating_factor

FOUND = {  # the rows, and the multiplier known beforehand
    "damped": ("q", ["q'' + b*q' + k*q"], "b k", [["exp(b*t)"]]),
    "damped, other sign": ("q", ["-m*q'' - b*q' - k*q^3"], "m b k", [["exp(b*t/m)"]]),
    "emden": ("q", ["q'' + 2*q'/t + q^3"], "", [["t^2"]]),
    "friction quadratic in the velocity": ("q", ["q'' + a*q'^2 + sin(q)"], "a", [["exp(2*a*q)"]]),
    "coordinate-dependent mass": ("q", ["q'' - q'^2/(2*q) + q"], "", [["1/q"]]),
    "power of the velocity": ("q", ["q'' + q'^3"], "", [["1/q'^3"]]),
    "bateman in the wrong order": ("x y", ["x'' + b*x' + k*x", "y'' - b*y' + k*y"], "b k", [["0", "1"], ["1", "0"]]),
    "divided by the masses": ("x y", ["x'' + k*(x - y)/m1", "y'' + k*(y - x)/m2"], "k m1 m2", [["m1", "0"], ["0", "m2"]]),
    "two rates": ("x y", ["x'' + a*x' + x", "y'' + b*y' + y"], "a b", [["exp(a*t)", "0"], ["0", "exp(b*t)"]]),
    "masses and friction": (
        "x y",
        ["x'' + b*x' + k*(x - y)/m1", "y'' + b*y' + k*(y - x)/m2"],
        "k m1 m2 b",
        [["m1*exp(b*t)", "0"], ["0", "m2*exp(b*t)"]],
    ),
    "hamilton's equations": ("q p", ["q' - p", "p' + q^2"], "", [["0", "1"], ["-1", "0"]]),
    "nothing to do": ("q", ["q'' + q"], "", [["1"]]),
}


@pytest.mark.parametrize("name", FOUND)
def test_known_multipliers(name):
    coordinates, rows, parameters, expected = FOUND[name]
    form = DynamicalForm(coordinates, rows, parameters)
    result = integrating_factor(form)
    known = sympy.Matrix([[ch.parse(e, coordinates=coordinates, parameters=parameters) for e in row] for row in expected])
    assert result.found and result.complete
    ratio = {sympy.simplify(a / b) for a, b in zip(result.matrix, known, strict=True) if b != 0}
    assert len(ratio) == 1 and not ratio.pop().free_symbols & set(form.coordinates)  # a multiplier is known up to a constant
    assert [a == 0 for a in result.matrix] == [b == 0 for b in known]
    multiplied = list(known * sympy.Matrix(form.rows))
    scale = next(a / b for a, b in zip(result.matrix, known, strict=True) if b != 0)
    for again, row in zip(rows_of(result.lagrangian, form.coordinates), multiplied, strict=True):
        assert sympy.simplify(again - scale * row) == 0
    assert result.verdict.variational is True


def test_the_damped_oscillator_by_hand():
    """e^{bt} (q'^2 - k q^2)/2 up to the sign and a total derivative."""
    form = DynamicalForm("q", ["-q'' - b*q' - k*q"], "b k")
    assert ch.helmholtz(form).variational is False
    (q,), (b, k) = form.coordinates, form.parameters
    minimal = ch.reduce_order(integrating_factor(form).verdict)
    assert sympy.simplify(minimal.lagrangian - sympy.exp(b * T) * (q.d() ** 2 - k * q**2) / 2) == 0


NOT_FOUND = {
    "van der pol": ("q", ["q'' + mu*(q^2 - 1)*q' + q"], "mu"),
    "one row of first order": ("x", ["x' + x"], ""),
    "three rows of first order": ("x y z", ["x' - y*z", "y' + 2*z*x", "z' - x*y"], ""),
}


@pytest.mark.parametrize("name", NOT_FOUND)
def test_what_was_tried_is_said_where_nothing_is_found(name):
    result = integrating_factor(DynamicalForm(*NOT_FOUND[name]))
    assert not result.found and result.lagrangian is None and result.rows is None and result.complete
    assert len(result.tried) == 4 and str(result).startswith("none found among: the given rows, times a constant matrix; a function")


def test_large_systems_say_that_less_was_tried():
    names = "a b c d f"
    result = integrating_factor(DynamicalForm(names, [f"{z}'' + {z}^2*{z}'" for z in names.split()]))
    assert not result.found and len(result.tried) == 3 and "matrix" not in str(result)


def test_out_of_time():
    result = integrating_factor(DynamicalForm("x y z", ["x''' - y*z'", "y'' + 2*z*x'", "z''' - x*y'*z''"]), seconds=0.02)
    assert not result.found and not result.complete and "the work allowed ran out" in str(result)


def test_the_printed_answer():
    text = str(integrating_factor(DynamicalForm("q", ["q'' + 2*q'/t + q^3"])))
    assert text.splitlines()[:2] == ["multiplier t^2", "variational: q"]
