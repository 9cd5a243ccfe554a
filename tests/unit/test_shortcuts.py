"""Shortcuts of exact arithmetic and of sizes give what the long way gives."""

import casadi as ca
import numpy as np
import pytest
from numba import njit

import chetaev as ch
from chetaev.core.exact.field import OutsideDomain
from chetaev.core.exact.signature import random_spot
from chetaev.core.symbols import Coordinate
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.magnitude import magnitudes
from chetaev.numerics.machine.native import add_row, copy_row, renew_largest, sum_squares, widen_range
from chetaev.numerics.methods import dop853

BUILDS = {
    "quotients": lambda x, y: (x - y / 3) / (x * x + 2 * y) - 1 / (x * x + 2 * y),
    "roots": lambda x, y: ca.sqrt(x * x + y) * x - y / ca.sqrt(x + 7),
    "corners": lambda x, y: ca.fabs(x - y) + ca.fmin(x, y / 2) * ca.sign(y),
    "functions": lambda x, y: ca.sin(x * y) / ca.exp(x) + ca.tanh(y),
}


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("name", BUILDS)
def test_values_modulo_p_need_no_other_residues_unless_exponents_are_read(name, extended):
    """The ring of residues modulo pqr maps onto the field modulo p, and so do roots and corners."""
    graph = GraphAlgebra()
    program, _ = graph.program([BUILDS[name](graph.leaf(Coordinate("x")), graph.leaf(Coordinate("y")))])
    assert program.needs_exponents == (name == "functions")
    compared = 0
    for draw in range(20):
        spot = random_spot(program, draw, extended)
        try:
            whole = spot.whole(program)
        except OutsideDomain:
            with pytest.raises(OutsideDomain):
                spot.run(program)
            continue
        assert spot.run(program) == [v % spot.field.p for v in whole]
        compared += 1
    assert compared > 2


def test_a_program_is_remembered_with_its_expressions():
    graph = GraphAlgebra()
    x, y = map(graph.leaf, (Coordinate("x"), Coordinate("y")))
    row, other = x * y - 1, x - y
    first = graph.program([row, other])[0]
    assert graph.program([row, other])[0] is first
    assert graph.program([other, row])[0] is not first
    assert graph.program([row, other], [Coordinate("y"), Coordinate("x")])[0] is not first


def test_sizes_of_terms_scale_with_their_factors():
    """Sums of absolute values are homogeneous where the terms are, and those of a quotient do not change with a common factor."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    sizes = ca.Function("sizes", [x, y], magnitudes([x * x - 3 * x * y, (x - y) / (x + 2 * y), ca.sin(x / y) * (x - y)]))
    first, second = (np.array(sizes(s * 1.3, s * 0.7)).ravel() for s in (1.0, 1e3))
    np.testing.assert_allclose(second, first * [1e6, 1.0, 1e3], rtol=1e-13)
    np.testing.assert_allclose(first[:2], [1.3**2 + 3 * 1.3 * 0.7, (1.3 + 0.7) * (1.3 + 1.4) / (1.3 + 1.4) ** 2], rtol=1e-14)


@njit
def _rows(a, b, y, z, sizes, largest, among, given, low, high, bound, turns, out):
    finite = add_row(out.ctypes, y.ctypes, z.ctypes, out.size)
    sums = sum_squares(a.ctypes, b.ctypes, y.ctypes, z.ctypes, given.ctypes, sizes.ctypes, low.ctypes, (1e-3, 2.0, 0.5, 1e-300), out.size)
    copy_row(out.ctypes, high.ctypes, out.size)
    beyond = widen_range(low.ctypes, high.ctypes, y.ctypes, bound.ctypes, turns.ctypes, 8.0, out.size)
    grew = renew_largest(largest.ctypes, sizes.ctypes, given.ctypes, among.ctypes, y.ctypes, (0.9, 0.1, 1.125), out.size)
    return finite, sums, grew, beyond


def test_rows_four_columns_at_a_time_are_what_numpy_computes():
    a, b, y, z, sizes, largest, given, low = np.random.default_rng(2).normal(size=(8, 8))
    sizes, largest, out, high = abs(sizes), abs(largest), np.empty(8), np.empty(8)
    among = abs(y) / 1.126  # the largest of its kind so far: every component is more than an eighth larger
    given[::3] = abs(given[::3])
    unit = given + 1e-3 * (np.maximum(abs(y), abs(z)) + 2 * sizes) + 0.5 * low + 1e-300
    expected = [(a / unit) @ (a / unit), (b / unit) @ (b / unit)]
    turns, bound = np.array([0.0, 3, -2, 0, 1, 0, 0, -1]), abs(y) + 0.1
    least, most = np.minimum(low, y + 8 * turns), np.maximum(y + z, y + 8 * turns)
    highest = np.maximum(largest, abs(y))
    usual = np.where(given < 0, np.maximum(np.maximum(abs(y), 0.9 * sizes), 0.1 * highest), sizes)
    finite, sums, grew, beyond = _rows(a, b, y, z, sizes, largest, among, given, low, high, bound, turns, out)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    assert (finite, grew, beyond) == (True, True, False)
    for found, wanted in ((out, y + z), (low, least), (high, most), (largest, highest), (sizes, usual)):
        np.testing.assert_array_equal(found, wanted)
    for bad in (np.nan, np.inf):
        z[6] = bad
        assert not _rows(a, b, y, z, sizes, largest, among, given, low, high, bound, turns, out)[0]
    bound[5] = abs(y[5]) - 0.1
    _, _, grew, beyond = _rows(a, b, y, z, sizes, largest, abs(y) / 1.124, given, low, high, bound, turns, out)
    assert (grew, beyond) == (False, True)


def test_boxes_of_what_is_read_are_enough(monkeypatch):
    """A barrier in x beside a coordinate that no function reads: bounds of that one change nothing, to the last bit."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y^2/2 - exp(-(20*(x - 3))^2)")
    calls = []
    original = dop853.run
    monkeypatch.setattr(dop853, "run", lambda *a, **k: calls.append((a, k)) or original(*a, **k))
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 1.2, "y": 1, "y'": 0}, (0, 6))
    assert motion.final["x'"] == pytest.approx(-1.2, abs=1e-7)  # 1.2^2/2 < 1: it turns back
    (code, *arguments), options = calls[-1]
    assert code.nodes
    assert code.columns == [0]
    few, all_of_them = (original(c, *arguments, **options) for c in (code, code._replace(columns=None)))
    assert few.y.tobytes() == all_of_them.y.tobytes()
    assert (few.shortened, few.worst) == (all_of_them.shortened, all_of_them.worst)
