"""Shorter code for expressions: the same values, at least as exact, with the two rules of sine and cosine that lose no digits."""

import math
import random

import casadi as ca
import pytest
import sympy

from chetaev.core.exact.signature import vanishing
from chetaev.core.symbols import Coordinate, Parameter
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.simplification.polynomial import Atoms, power_of, product, total
from chetaev.numerics.graphs.simplification.simplify import cost, simplified

X, Y = Coordinate("x"), Coordinate("y")
NAMES = {"x": X, "y": Y, "v": X.d(), "w": Y.d(), "m": Parameter("m"), "J": Parameter("J")}
POINT = {X: 0.7, Y: -0.4, X.d(): 1.3, Y.d(): 0.6, NAMES["m"]: 1.7, NAMES["J"]: 0.8}


class Setting:
    """A graph whose leaves are called as in `NAMES`: unlike expressions of SymPy, what is written with them is not simplified."""

    def __init__(self):
        self.graph = GraphAlgebra()
        for name, symbol in NAMES.items():
            setattr(self, name, self.graph.leaf(symbol))

    def shorter(self, e, points=(POINT,)):
        found = simplified(self.graph, [e], [0], points)
        return None if found is None else found[0]

    def value(self, e, **changed):
        return self.graph.tape([e])({**POINT, **{NAMES[name]: v for name, v in changed.items()}})[0]


@pytest.mark.parametrize(
    ("written", "most"),
    [
        (lambda g: (ca.sin(g.x) ** 2 / g.m + ca.cos(g.x) ** 2 / g.m) * g.v, 7),
        (lambda g: g.m * (ca.cos(g.x) * ca.cos(g.x - g.y) + ca.sin(g.x) * ca.sin(g.x - g.y)) * g.v, 14),
        (lambda g: g.v * ca.cos(g.x) * ca.sin(g.x) / g.m - ca.sin(g.x) * g.v * ca.cos(g.x) / g.m + g.w, 0),
        (lambda g: g.v * (g.J + g.m * g.w**2) / (g.J + g.m * g.w**2) + g.w, 1),
        (lambda g: (ca.tan(g.x) + ca.cos(g.x) / ca.sin(g.x)) * ca.sin(g.x) * ca.cos(g.x) * g.v, 0),
        (lambda g: (1 - ca.sin(g.x) ** 2) * g.w + g.v * ca.sin(g.x) ** 2 + g.v * ca.cos(g.x) ** 2, 15),
        (lambda g: g.v / (ca.sin(g.x) ** 2 / g.m + ca.cos(g.x) ** 2 / g.m + g.J), 14),
    ],
)
def test_identities_shorten_expressions(written, most):
    g = Setting()
    given = written(g)
    found = g.shorter(given)
    assert found is not None
    assert cost(g.graph, [found]) <= most < cost(g.graph, [given])
    assert g.value(found) == pytest.approx(g.value(given), rel=4e-16, abs=4e-16)


def test_a_square_of_a_sine_is_never_written_as_a_difference():
    """1 - cos(x)^2 has no digits where x is small: a mass with the factor sin(x)^2 would lose them too."""
    g = Setting()
    both = ca.sin(g.x) ** 2 * g.J + ca.cos(g.x) ** 2 * g.m  # with J = 1 and m = 0 this is the square of the sine
    found = g.shorter((both * g.v) / (ca.sin(g.y) ** 2 / g.w + ca.cos(g.y) ** 2 / g.w))
    assert found is not None
    assert g.value(found, x=1e-9, J=1.0, m=0.0, v=1.0, w=1.0) == pytest.approx(math.sin(1e-9) ** 2, rel=4e-16)


def test_one_minus_a_square_becomes_a_square():
    """The rule that wins digits: 1 - sin(x)^2 near a right angle."""
    g = Setting()
    found = g.shorter((1 - ca.sin(g.x) ** 2) * g.v / (ca.sin(g.y) ** 2 / g.m + ca.cos(g.y) ** 2 / g.m))
    assert found is not None
    assert g.value(found, x=math.pi / 2 - 1e-7) == pytest.approx(1e-14 * 1.3 * 1.7, rel=1e-6)


def test_code_with_more_rounding_is_refused():
    """(x - y)^2 v + x y v + y x v is shorter as (x^2 + y^2) v, but (x - y)^2 v alone would lose all digits where x = y nearly."""
    g = Setting()
    close = {**POINT, X: 1.0, Y: 1.0 + 1e-12}
    d = g.x - g.y
    given = (d * d * g.v + g.v * g.w * ca.sin(g.x) ** 2 + g.v * g.w * ca.cos(g.x) ** 2 - g.v * g.w) * g.m
    found = g.shorter(given, [close])
    exact = (1.0 - (1.0 + 1e-12)) ** 2 * 1.3 * 1.7
    for e in (given, found if found is not None else given):
        assert g.value(e, x=1.0, y=1.0 + 1e-12) == pytest.approx(exact, rel=1e-9)


def test_what_cannot_become_shorter_stays():
    g = Setting()
    assert g.shorter(ca.sin(g.x) * g.v + ca.cos(g.y) * g.w) is None


def test_long_expressions_are_left_alone():
    g = Setting()
    assert g.shorter(sum(ca.sin(k * g.x + g.y) * g.v for k in range(1, 400))) is None


def _random_expression(g, chance, depth):
    if depth == 0:
        s, c, t = ca.sin, ca.cos, ca.tan
        return chance.choice([g.x, g.y, g.v, g.w, g.m, g.J, s(g.x), c(g.x), s(g.y), c(g.y), s(g.x - g.y), c(g.x + g.y), t(g.x) / 3])
    a, b = (_random_expression(g, chance, depth - 1) for _ in range(2))
    return chance.choice([a + b, a - b, a * b, a * b, a / (b**2 + g.m), a * ca.sin(g.y) ** 2 + a * ca.cos(g.y) ** 2])


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_keep_their_values(seed):
    chance, g = random.Random(seed), Setting()
    given = [_random_expression(g, chance, 4) for _ in range(3)]
    points = [{z: chance.uniform(0.3, 1.4) for z in POINT} for _ in range(2)]
    found = simplified(g.graph, given, range(3), points)
    if found is None:
        return
    assert cost(g.graph, found) < cost(g.graph, given)
    before, after = g.graph.tape(given), g.graph.tape(found)
    for _ in range(5):
        point = {z: chance.uniform(0.2, 1.2) for z in POINT}
        allowed = before.doubts(point, {z: 1e-16 * abs(v) for z, v in point.items()})
        for a, b, doubt in zip(before(point), after(point), allowed, strict=True):
            assert abs(a - b) <= 4 * doubt


def test_most_random_expressions_become_shorter():
    """The test above would pass if nothing were ever found."""
    shorter = 0
    for seed in range(40):
        chance, g = random.Random(seed), Setting()
        given = [_random_expression(g, chance, 4) for _ in range(3)]
        shorter += simplified(g.graph, given, range(3), [POINT]) is not None
    assert shorter >= 12


def test_collapsing_ends_and_is_exact_for_high_powers():
    atoms = Atoms()
    s, c = atoms.new_circle()
    circle = {power_of(s, 2): 1, power_of(c, 2): 1}
    power = {0: 1}
    for _ in range(6):
        power = product(power, circle)
    assert len(power) == 7
    assert atoms.collapsed(power) == {0: 1}
    assert atoms.collapsed(total({0: 3}, {power_of(s, 2): 2}, -1)) == {0: 1, power_of(c, 2): 2}


def test_numbers_stay_exact():
    """A third is not a double; it stays a leaf of the graph, so that the result is exactly v/3."""
    g = Setting()
    third = g.graph.of(sympy.Rational(1, 3))
    found = g.shorter((ca.sin(g.x) ** 2 / g.m + ca.cos(g.x) ** 2 / g.m) * g.v * third)
    assert found is not None
    assert vanishing(g.graph.program([found - g.graph.of(X.d() / NAMES["m"] / 3)])[0]) == [True]
