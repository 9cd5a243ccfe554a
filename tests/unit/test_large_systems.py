"""Systems of many bodies: accelerations and multipliers as NumPy finds them from Newton's equations, and the sparse parts beneath."""

import random

import casadi as ca
import numpy as np
import pytest
import sympy
from scipy.sparse import csr_matrix

import chetaev as ch
from chetaev.core.exact.manifold import _solved
from chetaev.core.notation.arithmetic import known_to_vanish
from chetaev.core.support.lines import Line
from chetaev.numerics.flow.elimination import Samples, elimination_order, solve
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.residues import residues_of

G, GRAVITY = 1.3, 9.81


def test_accelerations_of_twenty_bodies():
    n, chance = 20, np.random.default_rng(3)
    place, masses = chance.uniform(-5, 5, (n, 3)), chance.uniform(0.5, 2, n)
    distances = " + ".join(f"G*m{i}*m{j}/sqrt((x{i} - x{j})^2 + (y{i} - y{j})^2 + (z{i} - z{j})^2)" for j in range(n) for i in range(j))
    kinetic = " + ".join(f"m{k}/2*(x{k}'^2 + y{k}'^2 + z{k}'^2)" for k in range(n))
    names = [f"{c}{k}" for k in range(n) for c in "xyz"]
    values = {f"m{k}": masses[k] for k in range(n)} | {"G": G}
    system = ch.System(" ".join(names), " ".join(values), lagrangian=f"{kinetic} + {distances}")
    start = dict(zip(names, place.ravel(), strict=True)) | {f"{z}'": 0.1 for z in names}
    found = ch.evaluate(ch.derive(system), start, parameters=values)
    apart = place[None] - place[:, None]
    cubes = (apart**2).sum(axis=2) ** 1.5 + np.eye(n)
    expected = G * (apart * (masses[None, :, None] / cubes[:, :, None])).sum(axis=1)
    np.testing.assert_allclose([found[f"{z}''"] for z in names], expected.ravel(), rtol=1e-11, atol=1e-13)


def rods(points, joined, fixed, masses=None):
    """A system of masses at `points` in the plane, by default one, with rods between pairs and from points to fixed places."""
    names = [f"{c}{k}" for k in range(len(points)) for c in "xy"]
    m = np.ones(len(points)) if masses is None else masses
    kinetic = " + ".join(f"{m[k]}*(x{k}'^2 + y{k}'^2)/2 - {m[k]}*g*y{k}" for k in range(len(points)))
    rows = [f"(x{a} - x{b})^2 + (y{a} - y{b})^2 = {round(float(((points[a] - points[b]) ** 2).sum()))}" for a, b in joined]
    rows += [f"(x{a} - {p[0]})^2 + (y{a} - {p[1]})^2 = {round(float(((points[a] - p) ** 2).sum()))}" for a, p in fixed]
    system = ch.System(" ".join(names), "g", lagrangian=kinetic, kinematic=rows)
    return names, ch.derive(system, ch.DAlembert())


def newton(points, speeds, joined, fixed, masses=None):
    """Accelerations and multipliers of the rows |x_a - x_b|^2 = const: m x'' = -m g + (2 J)^T lambda, J x'' = -|v_a - v_b|^2."""
    n, m = 2 * len(points), len(joined) + len(fixed)
    slopes, right = np.zeros((m, n)), np.zeros(m)
    for i, (a, b) in enumerate(joined):
        slopes[i, 2 * a : 2 * a + 2], slopes[i, 2 * b : 2 * b + 2] = points[a] - points[b], points[b] - points[a]
        right[i] = -((speeds[a] - speeds[b]) ** 2).sum()
    for i, (a, p) in enumerate(fixed, start=len(joined)):
        slopes[i, 2 * a : 2 * a + 2] = points[a] - p
        right[i] = -(speeds[a] ** 2).sum()
    inertia = np.repeat(np.ones(len(points)) if masses is None else masses, 2)
    whole = np.block([[np.diag(inertia), -2 * slopes.T], [slopes, np.zeros((m, m))]])
    solution = np.linalg.solve(whole, np.concatenate([inertia * np.tile([0.0, -GRAVITY], len(points)), right]))
    return solution[:n], solution[n:]


STEPS = [(3, -4), (0, -5), (-4, -3), (4, -3), (-3, -4)]
"""Rods of length 5, so that all places are integers."""


def test_a_chain_of_thirty_rods():
    n = 30
    points = np.cumsum([STEPS[k * k % 5] for k in range(n)], axis=0)
    joined, fixed = [(k, k - 1) for k in range(1, n)], [(0, np.zeros(2))]
    names, equations = rods(points, joined, fixed)
    # each point turns about the one before it
    speeds = np.cumsum([0.1 * (k % 3 - 1) * np.array([-STEPS[k * k % 5][1], STEPS[k * k % 5][0]]) for k in range(n)], axis=0)
    start = dict(zip(names, points.ravel(), strict=True)) | dict(zip([f"{z}'" for z in names], speeds.ravel(), strict=True))
    found = ch.evaluate(equations, start, parameters={"g": GRAVITY})
    accelerations, multipliers = newton(points, speeds, joined, fixed)
    np.testing.assert_allclose([found[f"{z}''"] for z in names], accelerations, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose([found[f"lambda{k + 1}"] for k in range(n)], multipliers, rtol=1e-10, atol=1e-10)


def test_a_chain_whose_matrices_are_stored_without_zeros():
    """Accelerations, multipliers and a motion of 120 rods with different masses against equations solved by NumPy."""
    n, duration, count = 120, 0.01, 8
    points = np.cumsum([STEPS[k * k % 5] for k in range(n)], axis=0).astype(float)
    joined, fixed, masses = [(k, k - 1) for k in range(1, n)], [(0, np.zeros(2))], 0.5 + np.arange(n) % 7 / 4
    names, equations = rods(points, joined, fixed, masses)
    speeds = np.cumsum([0.02 * (k % 3 - 1) * np.array([-STEPS[k * k % 5][1], STEPS[k * k % 5][0]]) for k in range(n)], axis=0)
    start = dict(zip(names, points.ravel(), strict=True)) | dict(zip([f"{z}'" for z in names], speeds.ravel(), strict=True))
    run = ch.simulate(equations, start, (0, duration), parameters={"g": GRAVITY}, tolerance=1e-12)
    assert run.outcome == "finished"
    accelerations, multipliers = newton(points, speeds, joined, fixed, masses)
    found = ch.evaluate(equations, start, parameters={"g": GRAVITY})
    np.testing.assert_allclose([found[f"{z}''"] for z in names], accelerations, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([found[f"lambda{k + 1}"] for k in range(n)], multipliers, rtol=1e-9, atol=1e-9)

    def rates(state):
        return np.concatenate([state[n:], newton(state[:n], state[n:], joined, fixed, masses)[0].reshape(n, 2)])

    state, h = np.concatenate([points, speeds]), duration / count
    for _ in range(count):
        a = rates(state)
        b = rates(state + h / 2 * a)
        c = rates(state + h / 2 * b)
        state = state + h / 6 * (a + 2 * b + 2 * c + rates(state + h * c))
    end = run.at(duration)
    np.testing.assert_allclose([end[z] for z in names], state[:n].ravel(), rtol=0, atol=1e-9)
    np.testing.assert_allclose([end[f"{z}'"] for z in names], state[n:].ravel(), rtol=0, atol=1e-8)


def test_matrices_stored_with_and_without_zeros_have_the_same_pivots():
    chance, graph = np.random.default_rng(4), GraphAlgebra()
    pattern = (chance.random((40, 40)) < 0.06) | np.eye(40, dtype=bool)
    numbers = [np.where(pattern, chance.uniform(-1, 1, (40, 40)), 0.0) for _ in range(3)]
    doubts = [1e-12 * np.abs(a) for a in numbers]
    stored, whole = Samples.of(*[[csr_matrix(a) for a in some] for some in (numbers, doubts)]), Samples.of(numbers, doubts)
    assert elimination_order(whole, 40) == elimination_order(stored, 40)
    matrix = [[ca.SX(float(v)) for v in line] for line in numbers[0]]
    lines = [Line({j: e for j, e in enumerate(line) if not e.is_zero()}, 40, ca.SX(0)) for line in matrix]
    assert list(map(len, residues_of(graph, matrix).rows)) == list(map(len, residues_of(graph, lines).rows))


@pytest.mark.parametrize(
    "text",
    [
        "x - y", "(x - y)^2", "(x - y)^2 + (y - x)^2", "x*y - 3/7", "sqrt(2)*(sqrt(2) + 1) - 2 - sqrt(2)", "x*(sqrt(3)^2 - 3)",
        "cos(x)^2 + sin(x)^2 - 1", "sin(x)", "(sqrt(2) - 1)*(sqrt(2) + 1) - 1", "exp(x)", "0", "x*0",
    ],
)  # fmt: skip
def test_divisors_that_sympy_knows_to_vanish(text):
    x, y = sympy.symbols("x y", real=True)
    e = sympy.sympify(text, locals={"x": x, "y": y})
    assert known_to_vanish(e) is bool(e.is_zero)
    assert known_to_vanish(sympy.sqrt(e)) is bool(e.is_zero)


def test_a_division_by_zero_is_still_refused():
    for text in ("1/(x - x)", "1/sqrt((x - x)^2 + (y - y)^2)", "(x - x)^(-2)", "x/0"):
        with pytest.raises(ch.NotationError, match="division by zero"):
            ch.System("x y", lagrangian=f"x'^2/2 + {text}")


def test_sparse_linear_equations_modulo_a_prime():
    prime, chance = 1_000_003, random.Random(2)
    for _ in range(20):
        m, n = chance.randint(1, 9), chance.randint(1, 9)
        matrix = [{j: chance.randrange(1, prime) for j in range(n) if chance.random() < 0.4} for _ in range(m)]
        kept, wanted = [chance.randrange(prime) for _ in range(n)], [chance.randrange(prime) for _ in range(n)]
        right = [sum(v * wanted[j] for j, v in line.items()) % prime for line in matrix]
        found = _solved(matrix, right, kept, prime)
        assert found is not None
        assert [sum(v * found[j] for j, v in line.items()) % prime for line in matrix] == right
        present = {j for line in matrix for j in line}
        assert all(found[j] == kept[j] for j in range(n) if j not in present)
        assert _solved([*matrix, matrix[0]], [*right, right[0] + 1], kept, prime) is None


def test_sparse_elimination_solves_linear_systems():
    chance, graph = np.random.default_rng(7), GraphAlgebra()
    for n in (3, 12, 30):
        pattern = (chance.random((n, n)) < 2 / n) | np.eye(n, dtype=bool)
        numbers = np.where(pattern, chance.integers(1, 9, (n, n)), 0) + 20 * np.eye(n, dtype=int)
        matrix = [[ca.SX(float(v)) for v in line] for line in numbers]
        right = chance.integers(-9, 9, n)
        samples, residues = Samples.of([numbers.astype(float)]), residues_of(graph, matrix)
        order = elimination_order(samples, n, residues=residues)
        solved = solve(matrix, [ca.SX(float(v)) for v in right], order, samples, residues)
        np.testing.assert_allclose([float(e) for e in solved.solution], np.linalg.solve(numbers, right), rtol=1e-12)
        assert solved.sign * np.prod([float(e) for e in solved.pivots]) == pytest.approx(np.linalg.det(numbers))
        np.testing.assert_allclose(solved.sizes[0], np.abs([float(e) for e in solved.pivots]), rtol=1e-10)


def test_many_rods_without_a_principle_are_refused_at_once():
    """Rows of positions are holonomic as they stand; to ask Frobenius about sixty of them took minutes."""
    n = 60
    names, rows = [f"{z}{k}" for k in range(n + 1) for z in "xyz"], []
    for k in range(n):
        rows.append(" + ".join(f"({z}{k} - {z}{k + 1})^2" for z in "xyz") + " = 1")
    system = ch.System(" ".join(names), lagrangian=" + ".join(f"{z}'^2/2" for z in names), kinematic=rows)
    with pytest.raises(ch.errors.PrincipleError, match="60 holonomic constraints and no principle named"):
        ch.derive(system)
