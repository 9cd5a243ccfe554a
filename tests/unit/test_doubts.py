"""Ranks with doubts: running error bounds, one decomposition for rank and null space, and rows that almost depend on each other."""

import casadi as ca
import mpmath
import numpy as np
import pytest

import chetaev as ch
from chetaev.mechanics.ranks.factored import Factored
from chetaev.numerics.graphs.rounding_bounds import EPSILON, values_and_doubts


def graph(x, y, z):
    return [
        x - y,
        (x * x - y * y) / (x - y + z),
        ca.sin(x) ** 2 + ca.cos(x) ** 2 - 1,
        ca.sqrt(x * y) * ca.exp(z) - ca.log(x),
        x**3 - y**1.5,
    ]


def exact(x, y, z):
    m = mpmath
    return [x - y, (x * x - y * y) / (x - y + z), m.mpf(0), m.sqrt(x * y) * m.exp(z) - m.log(x), x**3 - y ** m.mpf(1.5)]


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_and_are_not_wild(seed):
    """Against fifty digits, for arguments that are exact."""
    a, c = np.random.default_rng(seed).uniform(0.3, 2.0, 2)
    given = np.array([a, a * (1 + 1e-9 * seed), c])
    symbols = ca.SX.sym("s", 3)
    function = ca.Function("f", [symbols], [ca.vertcat(*graph(*ca.vertsplit(symbols)))])
    values, doubts = values_and_doubts(function, given, np.zeros(3))
    with mpmath.workdps(50):
        errors = [abs(float(mpmath.mpf(float(v)) - w)) for v, w in zip(values, exact(*map(mpmath.mpf, given)), strict=True)]
    assert np.all(errors <= doubts)
    assert np.all(doubts <= 200 * EPSILON)


def test_doubts_of_arguments_are_carried_through():
    """x^2 - y^2 at x = y = 3, both uncertain by d: at most 12 d, and rounding."""
    symbols = ca.SX.sym("s", 2)
    function = ca.Function("f", [symbols], [symbols[0] ** 2 - symbols[1] ** 2])
    _, doubts = values_and_doubts(function, np.array([3.0, 3.0]), np.array([1e-9, 1e-9]))
    assert doubts[0] == pytest.approx(12e-9, rel=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_rank_and_nullity_are_the_columns_whatever_the_units(seed):
    rng = np.random.default_rng(seed)
    m, n, r = rng.integers(2, 9), rng.integers(2, 9), 2
    matrix = rng.standard_normal((m, r)) @ rng.standard_normal((r, n))
    units = 10.0 ** rng.integers(-8, 9, n)
    scaled = matrix * 10.0 ** rng.integers(-8, 9, (m, 1)) / units
    found = Factored(scaled)
    assert (found.rank, found.nullity) == (r, n - r)
    null = units[:, None] * found.null_in(units)
    assert null.shape == (n, n - r)
    assert np.abs(scaled @ null / (np.abs(scaled) @ np.abs(null) + 1e-300)).max(initial=0.0) < 1e-10


def test_round_off_becomes_no_pivot():
    """A slope of 1e-17 with a doubt of 1e-16 is no slope; one with a doubt of 1e-30 is."""
    matrix, doubts = np.array([[1.0, 2.0], [0.0, 1e-17]]), np.full((2, 2), 1e-16)
    assert Factored(matrix, doubts=doubts).rank == 1
    assert Factored(matrix, doubts=1e-14 * doubts).rank == 2


def test_small_differences_do_not_bend_a_regular_matrix():
    """A bordered matrix of condition below 100 with entries of 1e-15 to 1e-30 in many places stays regular."""
    rng = np.random.default_rng(2)
    a = np.kron(np.eye(5), np.array([[1.0, 0.3, 0.0]])) + np.where(rng.random((5, 15)) < 0.6, 10.0 ** rng.uniform(-30, -15, (5, 15)), 0.0)
    matrix = np.block([[np.eye(15), a.T], [a, np.zeros((5, 5))]])
    assert np.linalg.cond(matrix) < 100
    found = Factored(matrix)
    right = rng.standard_normal(20)
    assert found.rank == 20
    assert found.solved(right) == pytest.approx(np.linalg.solve(matrix, right), rel=1e-10)


def near_dependent(e):
    rows = ["x' = y'", f"x' = (1 + {e})*y'"]
    return ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y + 0.3*x", kinematic=rows), ch.DAlembert())


VERBS = {
    "evaluate": lambda equations, start: ch.evaluate(equations, start),
    "simulate": lambda equations, start: ch.simulate(equations, start, (0, 1)),
    "linearize": lambda equations, start: ch.linearize(equations, start),
}


@pytest.mark.parametrize("e", ["1e-2", "1e-3"])
def test_rows_that_differ_clearly_hold_both_coordinates(e):
    """x' = y' = 0, and E_x, E_y give the multipliers: lambda1 + lambda2 = -0.3, lambda1 + (1 + e)*lambda2 = -1."""
    equations = near_dependent(e)
    now = ch.evaluate(equations, {"x": 0, "y": 0})
    second = -0.7 / float(e)
    assert [now[z] for z in ("x'", "y'", "x''", "y''")] == pytest.approx([0, 0, 0, 0], abs=1e-9)
    assert (now["lambda1"], now["lambda2"]) == pytest.approx((-0.3 - second, second), rel=1e-7)
    assert ch.simulate(equations, {"x": 0, "y": 0}, (0, 1)).final["y"] == pytest.approx(0, abs=1e-9)
    assert ch.simulate_many(equations, {"x": [0.0, 0.1], "y": 0}, (0, 1)).final["x"] == pytest.approx([0, 0.1], abs=1e-9)


@pytest.mark.parametrize("e", ["1e-6", "1e-8", "1e-11", "1e-14"])
@pytest.mark.parametrize("start", [{"x": 0, "y": 0}, {"x": 0, "y": 0, "x'": 0, "y'": 0}], ids=["incomplete", "complete"])
def test_rows_that_hardly_differ_are_called_ill_conditioned_by_every_verb(e, start):
    """Taken for dependent they would let the coordinates fall together with -0.35."""
    equations = near_dependent(e)
    for run in VERBS.values():
        with pytest.raises(ch.StateError, match=r"ill-conditioned at this state: a singular value .* is \d.*e-\d+ of the largest"):
            run(equations, start)
    assert "ill-conditioned" in refused_by_many(equations, start)


def refused_by_many(equations, start):
    """Why no member of an ensemble starts: an error where nothing can be compiled, else a note for each."""
    try:
        ends = ch.simulate_many(equations, {name: [float(v), float(v)] for name, v in start.items()}, (0, 1))
    except ch.StateError as refused:
        return str(refused)
    assert np.isnan(ends.final["x"]).all()
    return min(ends.notes.values())


def test_rows_that_are_the_same_are_redundant():
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y + 0.3*x", kinematic=["x' = y'", "2*x' = 2*y'"]), ch.DAlembert())
    now = ch.evaluate(equations, {"x": 0, "y": 0, "x'": 0})
    assert (now["x''"], now["y''"]) == pytest.approx((-0.35, -0.35), abs=1e-12)
