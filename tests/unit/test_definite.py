"""Which expressions never vanish: proved ones have no zero anywhere, and those with a zero are never called so."""

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import Coordinate
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.definite import never_zero

X, Y = Coordinate("x"), Coordinate("y")
NEVER = """tanh(5*x) + 1; 1 - erf(x); 2 + sin(x)*cos(y); atan(x) + 2; abs(x) + 1; sqrt(1 + x) + 1; x^2 - x + 1; x^2 + x*y + y^2 + 1
    log(x)^2 + 1; exp(x) + cosh(y) - 1; -3 - max(sin(x), -1); 1 + x^2*y^4; exp(x)*(tanh(y) - 1); 1/(x^2 + 1)"""
SOMEWHERE = """1 + x; exp(x) - 1; 1 - tanh(x)^2*x; x^2 - y^2; sin(x) + 1; cosh(x) - 1; x^2 + 3*x*y + y^2 + 1; x^2 + 2*tanh(x)*x - 1
    x^2 + y; abs(x) + abs(y); x^4 - x + 1/8; max(x, y); x*exp(y); atan(x) - 1; sqrt(x^2); 1/x + 1; x^2 + x*tanh(x) + sin(y) - 1/9"""


def texts(several):
    return [text.strip() for line in several.splitlines() for text in line.split(";")]


def read(text):
    return ch.System("x y", lagrangian=text).lagrangian


@pytest.mark.parametrize("text", texts(NEVER))
def test_what_never_vanishes_is_proved(text):
    assert never_zero(read(text))
    assert never_zero(-read(text))


@pytest.mark.parametrize("text", texts(SOMEWHERE))
def test_what_vanishes_somewhere_is_not(text):
    assert not never_zero(read(text))


def test_no_random_expression_that_changes_its_sign_is_called_definite():
    draw = np.random.default_rng(1)
    parts = [
        X,
        Y,
        sympy.tanh(X),
        sympy.sin(Y),
        sympy.exp(X - Y),
        X * Y,
        sympy.sqrt(X**2 + 1),
        sympy.cosh(Y),
        sympy.Integer(1),
        X**2,
        1 / (Y**2 + 1),
    ]
    proved = changing = 0
    for _ in range(150):
        chosen, factors = draw.choice(len(parts), 4), draw.integers(-2, 4, 4)
        e = sympy.Add(*[int(c) * parts[k] for c, k in zip(factors, chosen, strict=True)]) * (1 + parts[draw.integers(len(parts))] ** 2)
        tape, signs = Tape([e]), set()
        for _ in range(60):
            try:
                signs.add(np.sign(tape({X: draw.normal(0, 2), Y: draw.normal(0, 2)})[0]))
            except Undefined:
                continue
        changing += len(signs) > 1
        proved += never_zero(e)
        assert not (len(signs) > 1 and never_zero(e)), e
    assert proved > 5
    assert changing > 30


def test_a_locus_without_a_real_point_is_not_told():
    told = str(ch.analyze(ch.derive(ch.System("x y", lagrangian="(tanh(5*x) + 1)*(x - 2)*x'^2/2 + y'^2/2"))))
    assert "singular where x - 2 = 0" in told
    assert "tanh" not in told.split("singular where")[1].splitlines()[0]
