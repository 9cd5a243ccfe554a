"""Gradients, degrees and the graph algebra: shortcuts against SymPy's own rules."""

import math

import pytest
import sympy
from sympy import cos, sin

from chetaev.core.calculus import SYMBOLIC, Calculus, Frame, degree
from chetaev.core.functions import Sign
from chetaev.core.rows.constraints import Constraint
from chetaev.core.symbols import Coordinate, Parameter
from chetaev.core.values import Undefined
from chetaev.numerics.graphs.algebra import GraphAlgebra

x, y, m = Coordinate("x"), Coordinate("y"), Parameter("m")
v, w = x.d(), y.d()

EXPRESSIONS = [
    x * y,
    m * v * cos(x - y) + v**2 * sin(x) / 2 + w,
    v * (x + v * y) * m,
    sympy.exp(x * v) * v + sympy.sqrt(1 + w**2) - 3 * v,
    (x + y) ** 3 / (1 + v**2) + x * x.d(2),
]


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_gradient_is_that_of_sympy(e):
    symbols = [x, y, v, w, m, Coordinate("z")]
    for found, z in zip(SYMBOLIC.gradient(e, symbols), symbols, strict=True):
        assert sympy.expand(found - e.diff(z)) == 0


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_graph_gradient_agrees_with_sympy_and_is_remembered(e):
    graph, symbols = GraphAlgebra(), [x, y, v, w]
    row = graph.of(e)
    first, again = graph.gradient(row, symbols), graph.gradient(row, symbols)
    assert [a.element_hash() for a in first] == [a.element_hash() for a in again]
    assert graph.symbols(row) == e.free_symbols
    point = {x: 0.4, y: -0.7, v: 1.3, w: 0.2, x.d(2): 0.9, m: 1.7}
    numbers = graph.tape(first)(point)
    for found, z in zip(numbers, symbols, strict=True):
        assert found == pytest.approx(float(e.diff(z).subs(point)), rel=1e-13, abs=1e-13)


def test_slopes_asked_for_one_by_one_are_those_asked_for_together():
    for e in EXPRESSIONS:
        graph, other, symbols = GraphAlgebra(), GraphAlgebra(), [x, y, v, w, m, Coordinate("z")]
        point = {x: 0.4, y: -0.7, v: 1.3, w: 0.2, x.d(2): 0.9, m: 1.7}
        one_by_one = [graph.gradient(graph.of(e), [z])[0] for z in symbols]
        together = other.tape(other.gradient(other.of(e), symbols))(point)
        assert graph.tape(one_by_one)(point) == pytest.approx(together, rel=1e-13, abs=1e-13)
        assert one_by_one[-1].is_zero()


def test_symbols_of_several_expressions():
    several = [*EXPRESSIONS, sympy.Integer(3), x - x, Sign(x) * y, m]
    for algebra in (SYMBOLIC, GraphAlgebra()):
        made = [algebra.of(e) for e in several]
        assert algebra.symbols_of_each(made) == [e.free_symbols for e in several]
        assert algebra.symbols_of_each([]) == []
        assert algebra.which_contain(made, [y, w]) == [bool({y, w} & e.free_symbols) for e in several]
        assert algebra.which_contain(made, []) == [False] * len(several)


def test_memory_does_not_mix_expressions():
    """Nodes of the graph are remembered by address, and an address may be used again when its node is gone."""
    graph = GraphAlgebra()
    for k in range(200):
        e = sin(x) * (k + 2) + y * k
        assert graph.symbols(graph.of(e)) == e.free_symbols
        slopes = graph.tape(graph.gradient(graph.of(e), [x, y]))({x: 0.3})
        assert slopes == pytest.approx([(k + 2) * math.cos(0.3), k])


def test_tapes_without_expressions_or_symbols():
    graph = GraphAlgebra()
    assert graph.tape([])({}) == []
    assert graph.tape([graph.of(sympy.Integer(2))])({}) == [2.0]
    assert graph.symbols_of([]) == frozenset()
    assert graph.symbols_of([graph.of(x), graph.of(y * 0 + 1)]) == {x}
    with pytest.raises(Undefined):
        graph.tape([graph.of(1 / x)])({x: 0.0})


@pytest.mark.parametrize(
    ("e", "expected"),
    [(v * x + w * sin(y) + x**2, 1), (v * w, 2), (sin(v), 2), (v / (1 + v), 2), (x * y, 0), (v * (w + 1) - v * w, 2), (abs(x) * v, 1)],
    ids=str,
)
def test_degree_as_written(e, expected):
    assert degree(e, [v, w]) == expected


@pytest.mark.parametrize(
    ("lhs", "kind"),
    [
        (v * sin(y) - w, "linear"),
        (v * sin(y) - w - 1, "affine"),
        (v * w - 1, "nonlinear"),
        (v * (w + 1) - v * w - y, "affine"),  # affine after all cancels
        (v * (w + 1) - v * w - x * w, "linear"),
        (v * (1 - sin(x) ** 2 - cos(x) ** 2) + x, "holonomic"),
    ],
    ids=str,
)
def test_kind_of_a_row_does_not_depend_on_how_it_is_written(lhs, kind):
    assert Constraint(lhs).kind == kind


def test_fields_of_a_moving_frame_are_derivatives_along_them():
    turn = Coordinate("turn")
    forward, spin = Coordinate("forward", 1), Coordinate("spin", 1)
    frame = Frame((forward, spin), ({x: cos(turn), y: sin(turn)}, {turn: sympy.S.One}))
    e = m * x**2 * y + sin(turn) * x
    along, about = Calculus(SYMBOLIC, frame).fields(e)
    assert sympy.expand(along - cos(turn) * e.diff(x) - sin(turn) * e.diff(y)) == 0
    assert sympy.expand(about - e.diff(turn)) == 0
