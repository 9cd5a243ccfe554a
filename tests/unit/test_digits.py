"""Ranks decided with forty digits where floats leave them open."""

import casadi as ca
import mpmath
import pytest

from chetaev.core.exact.program import many_digit_values
from chetaev.core.symbols import Coordinate
from chetaev.core.values import many_digits
from chetaev.numerics.flow.forty_digits import sure_rank
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.machine.tape import program_of

X, Y = Coordinate("x"), Coordinate("y")


def test_a_singular_value_that_is_the_error_of_the_point_is_zero():
    """The lower entry vanishes on the circle; the point is off by 1e-7."""
    graph = GraphAlgebra()
    circle = graph.of(X**2 + Y**2 - 1)
    entries = [[graph.of(X), graph.of(Y)], [graph.of(X), graph.of(Y) + circle]]
    point = {X: 0.6, Y: 0.8 + 1e-7}
    assert sure_rank(entries, [circle], point, graph) == 1
    assert sure_rank(entries, [], point, graph) == 2


@pytest.mark.parametrize("gap", [1e-6, 1e-7, 3e-8])
def test_a_small_singular_value_that_is_none_counts(gap):
    graph = GraphAlgebra()
    entries = [[graph.of(X), graph.of(X)], [graph.of(X), graph.of(X) * (1 + gap)]]
    assert sure_rank(entries, [], {X: 1.3}, graph) == 2


def test_clear_ranks_need_no_digits():
    graph = GraphAlgebra()
    x, y = graph.of(X), graph.of(Y)
    assert sure_rank([[x, y], [2 * x, 2 * y]], [], {X: 1.0, Y: 2.0}, graph) == 1
    assert sure_rank([[x, y], [y, x]], [], {X: 1.0, Y: 2.0}, graph) == 2
    assert sure_rank([[1 / x]], [], {X: 0.0}, graph) is None


def test_the_tape_runs_in_many_digits():
    """Every operation of the notation against mpmath itself."""
    mp, _ = many_digits(40)
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    pairs = [
        (ca.sin(x) * ca.cos(y), mpmath.sin(0.3) * mpmath.cos(0.7)),
        (ca.atan2(x, y) - ca.exp(x) / y, mpmath.atan2(0.3, 0.7) - mpmath.exp(0.3) / 0.7),
        (ca.fmin(x, y) + 2 * ca.fmax(x, y) + ca.sign(-x), 0.3 + 1.4 - 1),
        (x**2.5 + ca.sqrt(y) + ca.fabs(-x), 0.3**2.5 + mpmath.sqrt(0.7) + 0.3),
        (ca.tanh(x) + ca.asin(y) + ca.log(x) + ca.tan(y) + ca.acosh(1 + y), None),
    ]
    function = ca.Function("f", [ca.vertcat(x, y)], [ca.vertcat(*[e for e, _ in pairs])])
    found = many_digit_values(program_of(function), [mp.mpf(0.3), mp.mpf(0.7)], mp)
    for (_, exact), value, plain in zip(pairs, found, ca.DM(function([0.3, 0.7])).elements(), strict=True):
        assert float(value) == pytest.approx(plain if exact is None else float(exact), rel=1e-14)
    assert abs(found[0] - mp.sin(mp.mpf(0.3)) * mp.cos(mp.mpf(0.7))) < mp.mpf(10) ** -38
