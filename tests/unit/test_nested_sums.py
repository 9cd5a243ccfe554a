"""Long chains: rows with nested sums and intermediate results, against dense matrices in NumPy."""

import casadi as ca
import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.nested.rows import extended_rows
from chetaev.numerics.graphs.algebra import GraphAlgebra

GRAVITY = 9.81


def numbers(n):
    chance = np.random.default_rng(n)
    return chance.uniform(0.5, 2, n), chance.uniform(0.5, 1.5, n), chance.uniform(-2, 2, n), chance.uniform(-1, 1, n)


def pairs(n):
    """The chain as a sum over pairs of links."""
    angles, below = [f"a{k}" for k in range(n)], [" + ".join(f"m{j}" for j in range(k, n)) for k in range(n)]
    moving = [f"({below[k]})/2*l{k}^2*{angles[k]}'^2" for k in range(n)]
    moving += [f"({below[k]})*l{j}*l{k}*a{j}'*a{k}'*cos(a{j} - a{k})" for k in range(n) for j in range(k)]
    return " + ".join([*moving, *[f"({below[k]})*g*l{k}*cos(a{k})" for k in range(n)]]), {}


def positions(n):
    """The same chain from the positions of its masses."""
    where = {f"x{k}": (f"x{k - 1} + " if k else "") + f"l{k}*sin(a{k})" for k in range(n)}
    where |= {f"y{k}": (f"y{k - 1} " if k else "") + f"- l{k}*cos(a{k})" for k in range(n)}
    return " + ".join(f"m{k}/2*(x{k}'^2 + y{k}'^2) - m{k}*g*y{k}" for k in range(n)), where


def chain(n, written):
    lagrangian, where = written(n)
    parameters = " ".join([*[f"m{k}" for k in range(n)], *[f"l{k}" for k in range(n)], "g"])
    return ch.derive(ch.System(" ".join(f"a{k}" for k in range(n)), parameters, lagrangian=lagrangian, where=where))


def accelerations(masses, lengths, a, w):
    below = np.cumsum(masses[::-1])[::-1]
    joined = np.array([[below[max(j, k)] * lengths[j] * lengths[k] for k in range(len(a))] for j in range(len(a))])
    apart = a[:, None] - a
    return np.linalg.solve(joined * np.cos(apart), -(joined * np.sin(apart)) @ w**2 - below * lengths * GRAVITY * np.sin(a))


def rates(equations, state, values):
    compiled = compile_equations(equations)
    names = [z.name for z in compiled.flow.state]
    found = compiled.rhs(0.0, np.array([state[z] for z in names]), np.array([*[values[z.name] for z in compiled.flow.arguments], 0.0]))
    return compiled, dict(zip(names, found, strict=False))


@pytest.mark.parametrize("written", [pairs, positions])
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e9])
def test_accelerations_of_a_chain(written, unit):
    n = 16
    masses, lengths, a, w = numbers(n)
    values = {f"m{k}": unit * masses[k] for k in range(n)} | {f"l{k}": lengths[k] for k in range(n)} | {"g": GRAVITY}
    state = {f"a{k}": a[k] for k in range(n)} | {f"a{k}'": w[k] for k in range(n)}
    equations = chain(n, written)
    compiled, found = rates(equations, state, values)
    assert compiled.flow.extended is not None
    expected = accelerations(masses, lengths, a, w)
    np.testing.assert_allclose([found[f"a{k}'"] for k in range(n)], expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    # `evaluate` goes another way
    direct = ch.evaluate(equations, state, parameters=values)
    np.testing.assert_allclose([found[f"a{k}'"] for k in range(n)], [direct[f"a{k}''"] for k in range(n)], rtol=1e-9, atol=1e-9)


def test_the_determinant_is_that_of_the_mass_matrix():
    n = 16
    masses, lengths, a, w = numbers(n)
    values = {f"m{k}": masses[k] for k in range(n)} | {f"l{k}": lengths[k] for k in range(n)} | {"g": GRAVITY}
    compiled, _ = rates(chain(n, pairs), {f"a{k}": 0.0 for k in range(n)} | {f"a{k}'": 0.0 for k in range(n)}, values)
    flow = compiled.flow
    assert flow.extended is not None
    p = np.array([*[values[z.name] for z in flow.arguments], 0.0])
    below = np.cumsum(masses[::-1])[::-1]

    def both(angles):
        at = {f"a{k}": angles[k] for k in range(n)} | {f"a{k}'": w[k] for k in range(n)}
        joined = [[below[max(j, k)] * lengths[j] * lengths[k] * np.cos(angles[j] - angles[k]) for k in range(n)] for j in range(n)]
        return float(compiled.determinant(0.0, np.array([at[z.name] for z in flow.state]), p)[0]), np.linalg.det(joined)

    first, second = both(a), both(a[::-1].copy())
    assert first[0] > 0
    assert first[0] / second[0] == pytest.approx(first[1] / second[1], rel=1e-9)


@pytest.mark.parametrize("written", [pairs, positions])
def test_operations_grow_like_the_number_of_links(written):
    small, large = (compile_equations(chain(n, written)) for n in (16, 32))
    for kind in ("rhs", "measure"):
        assert getattr(large, kind).instructions < 2.5 * getattr(small, kind).instructions


def wheels(n):
    """A tractor at (x, y) with n trailers: no axle slides. Velocities of axles, as rows of coefficients of (x', y', angles')."""
    rows = []
    for k in range(n + 1):
        joined = "".join(f" + d{j}*a{j}'*cos(a{j} - a{k})" for j in range(1, k)) + (f" + d{k}*a{k}'" if k else "")
        rows.append(f"x'*sin(a{k}) - y'*cos(a{k}){joined} = 0")
    kinetic = " + ".join(f"J{k}/2*a{k}'^2" for k in range(n + 1))
    names = ["x", "y", *[f"a{k}" for k in range(n + 1)]]
    parameters = " ".join(["m", *[f"J{k}" for k in range(n + 1)], *[f"d{k}" for k in range(1, n + 1)]])
    return names, ch.derive(
        ch.System(" ".join(names), parameters, lagrangian=f"m/2*(x'^2 + y'^2) + {kinetic}", kinematic=rows), ch.DAlembert()
    )


def slopes(angles, arms):
    n = len(arms)
    found = np.zeros((n + 1, n + 3))
    for k in range(n + 1):
        found[k, :2] = np.sin(angles[k]), -np.cos(angles[k])
        for j in range(1, k + 1):
            found[k, 2 + j] = arms[j - 1] * np.cos(angles[j] - angles[k])
    return found


def test_trailers():
    n = 16
    names, equations = wheels(n)
    chance = np.random.default_rng(5)
    mass, inertias, arms = 1.7, chance.uniform(0.3, 0.9, n + 1), chance.uniform(0.6, 1.4, n)
    place, angles = chance.uniform(-1, 1, 2), chance.uniform(-0.5, 0.5, n + 1)
    a = slopes(angles, arms)
    speeds = np.linalg.svd(a)[2][len(a) :].T @ np.array([0.8, -0.3])
    values = {"m": mass} | {f"J{k}": inertias[k] for k in range(n + 1)} | {f"d{k + 1}": arms[k] for k in range(n)}
    q = np.concatenate([place, angles])
    state = dict(zip(names, q, strict=True)) | {f"{z}'": v for z, v in zip(names, speeds, strict=True)}
    compiled, found = rates(equations, state, values)
    assert compiled.flow.extended is not None
    step = 1e-6
    moved = (slopes(angles + step * speeds[2:], arms) - slopes(angles - step * speeds[2:], arms)) / (2 * step)
    weights = np.concatenate([[mass, mass], inertias])
    whole = np.block([[np.diag(weights), -a.T], [a, np.zeros((n + 1, n + 1))]])
    solution = np.linalg.solve(whole, np.concatenate([np.zeros(n + 3), -moved @ speeds]))
    np.testing.assert_allclose([found[f"{z}'"] for z in names], solution[: n + 3], rtol=1e-7, atol=1e-8)
    shown = ch.evaluate(equations, state, parameters=values)
    np.testing.assert_allclose([shown[f"lambda{k + 1}"] for k in range(n + 1)], solution[n + 3 :], rtol=1e-7, atol=1e-8)
    # projection: the least correction of velocities
    off = speeds + chance.uniform(-1e-3, 1e-3, n + 3)
    wrong = state | {f"{z}'": v for z, v in zip(names, off, strict=True)}
    listed = [z.name for z in compiled.flow.state]
    p = np.array([*[values[z.name] for z in compiled.flow.arguments], 0.0])
    back = dict(zip(listed, compiled.project(0.0, np.array([wrong[z] for z in listed]), p), strict=False))
    np.testing.assert_allclose([back[f"{z}'"] for z in names], off - np.linalg.pinv(a) @ (a @ off), rtol=0, atol=1e-13)
    np.testing.assert_allclose([back[z] for z in names], q, rtol=0, atol=0)


def test_a_motion_of_trailers_keeps_its_energy_and_wheels():
    names, equations = wheels(8)
    values = {"m": 1.7} | {f"J{k}": 0.3 + 0.1 * (k % 3) for k in range(9)} | {f"d{k}": 0.8 + 0.1 * (k % 4) for k in range(1, 9)}
    start = dict.fromkeys(names, 0.0) | {f"a{k}": 0.3 * (-1) ** k for k in range(9)} | {"x'": 1.0, "a0'": 0.4}
    motion = ch.simulate(equations, start, (0, 1), parameters=values, tolerance=1e-10)
    assert motion.outcome == ch.Outcome.FINISHED
    assert motion.verify().worst < 1e-7


def test_rows_that_are_not_linear_have_no_intermediate_results():
    graph = GraphAlgebra()
    x, y = sympy.symbols("x y")
    a, b = graph.leaf(x), graph.leaf(y)
    assert extended_rows(graph, [a * b, a + b], [x, y]) is None
    assert extended_rows(graph, [ca.sin(a), b], [x, y]) is None
    found = extended_rows(graph, [2 * a + b - 3, b / 4], [x, y])
    assert found is not None
    assert found.further == 0
    np.testing.assert_allclose(np.array([[float(e) for e in line] for line in found.matrix]), [[2, 1], [0, 0.25]])
    assert [float(e) for e in found.right] == [3, 0]
