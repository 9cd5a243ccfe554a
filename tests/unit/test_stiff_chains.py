"""Radau IIA with a Jacobian that is a band: chains of stiff springs, against matrix exponentials and dense solvers that share no code."""

import casadi as ca
import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import chetaev as ch
from chetaev.numerics.methods import elimination, implicit
from chetaev.numerics.methods.compiled_steps import bands, step_matrices
from chetaev.numerics.methods.compiled_steps import radau_tableau as tableau

N = 15
SHAPES = [(1, 0, 0), (2, 1, 1), (5, 4, 4), (9, 2, 1), (9, 1, 3), (12, 0, 2), (12, 2, 0), (30, 7, 5), (8, 7, 7)]


@njit
def _solved(a, b, lower, one, x, y):
    pivots = np.zeros(a.shape[0], np.int64)
    real = a.copy()
    known = bands.factor_band(real, lower, pivots)
    bands.solve_band(real, lower, pivots, one)
    both = bands.factor_complex_band(a, b, lower, pivots)
    bands.solve_complex_band(a, b, lower, pivots, x, y)
    return known and both


@pytest.mark.parametrize(("n", "lower", "upper"), SHAPES)
def test_bands_are_solved_as_dense_matrices_are(n, lower, upper):
    random = np.random.default_rng(n + 10 * lower + upper)
    inside = np.array([[-lower <= j - i <= upper for j in range(n)] for i in range(n)])
    a, b = (random.normal(size=(n, n)) * inside for _ in range(2))
    if lower and upper:
        a[0, 0] = b[0, 0] = 0.0  # a pivot of zero has to be exchanged
    rows = np.zeros((2, n, 2 * lower + upper + 1))
    for i, j in np.argwhere(inside):
        rows[:, i, j - i + lower] = a[i, j], b[i, j]
    one, x, y = random.normal(size=(3, n))
    expected, both = np.linalg.solve(a, one), np.linalg.solve(a + 1j * b, x + 1j * y)
    assert _solved(rows[0], rows[1], lower, one, x, y)
    assert one == pytest.approx(expected, rel=1e-8)
    assert x + 1j * y == pytest.approx(both, rel=1e-8)


def test_a_singular_band_is_noticed():
    singular = np.array([[0.0, 1.0, 2.0, 0.0], [2.0, 4.0, 0.0, 0.0]])  # rows 1 2 and 2 4
    assert not _solved(singular.copy(), np.zeros((2, 4)), 1, np.ones(2), np.ones(2), np.ones(2))


def _chain():
    """Fifteen masses on springs of different stiffness, with friction that pushes one way only, and a body that follows the last one."""
    names = [f"x{k}" for k in range(N)]
    stiffness, friction = [10.0 ** (k % 5) for k in range(N)], [3.0 + 1e4 * (k % 3) for k in range(N)]
    masses = [1 + 0.1 * k for k in range(N)]
    matrix = np.zeros((2 * N + 2, 2 * N + 2))
    forces, energies = {}, []
    for k, name in enumerate(names):
        before = names[k - 1] if k else "0"
        energies.append(f"{masses[k]:g}*{name}'^2/2 - {stiffness[k]:g}*({name} - {before})^2/2")
        forces[name] = f"-{friction[k]:g}*{name}'" + (f" + {0.5 * friction[k]:g}*{before}'" if k else "")
        matrix[k, N + k] = 1.0
        matrix[N + k, k] -= stiffness[k] / masses[k]
        matrix[N + k, N + k] = -friction[k] / masses[k]
        if k:
            matrix[N + k, k - 1] += stiffness[k] / masses[k]
            matrix[N + k - 1, k - 1] -= stiffness[k] / masses[k - 1]
            matrix[N + k - 1, k] += stiffness[k] / masses[k - 1]
            matrix[N + k, N + k - 1] = 0.5 * friction[k] / masses[k]
    matrix[2 * N, 2 * N + 1] = 1.0
    matrix[2 * N + 1, N - 1], matrix[2 * N + 1, 2 * N + 1] = 2.0, -7.0
    forces["z"] = f"2*{names[-1]} - 7*z'"
    equations = ch.derive(ch.System([*names, "z"], lagrangian=" + ".join([*energies, "z'^2/2"]), forces=forces))
    state = [(-1) ** k * (1 + 0.3 * k) for k in range(N)]
    start = dict(zip(names, state, strict=True)) | {f"{name}'": 0.0 for name in names} | {"z": 0.4, "z'": -1.5}
    exact = expm(3 * matrix) @ [*state, *np.zeros(N), 0.4, -1.5]
    return equations, start, [*names, "z"], [*exact[:N], exact[2 * N]]


def test_a_stiff_chain_follows_its_matrix_exponential(monkeypatch):
    """With coordinates eliminated and a band, and with dense factors of all that is read; nothing reads z and the work."""
    equations, start, names, exact = _chain()
    chosen, patterns = implicit.elimination_of, []
    monkeypatch.setattr(implicit, "elimination_of", lambda pattern: patterns.append(chosen(pattern)) or patterns[-1])
    band = ch.simulate(equations, start, (0, 3), tolerance=1e-9, method=ch.Implicit())
    assert [band.final[name] for name in names] == pytest.approx(exact, abs=3e-7)
    assert band.outcome == "finished"
    (found,) = patterns
    assert found.lower + found.upper <= 2
    assert len(found.order) == N + 1
    assert len(found.across) >= N
    monkeypatch.setattr(elimination, "_leads", lambda n, *_: np.full(n, -1))
    monkeypatch.setattr(elimination, "_SMALLEST_BAND", 1000)
    implicit._KNOWN._known.clear()
    dense = ch.simulate(equations, start, (0, 3), tolerance=1e-9, method=ch.Implicit())
    implicit._KNOWN._known.clear()
    assert dense.counts["accepted"] == band.counts["accepted"]
    assert [dense.final[name] for name in names] == pytest.approx([band.final[name] for name in names], abs=1e-10)


def test_a_dense_jacobian_has_no_band():
    """All entries are stored, in the order of the components; so are few components, and none."""
    for pattern in (ca.Sparsity.dense(20, 20), ca.Sparsity.banded(8, 1)):
        found = elimination.elimination_of(pattern)
        assert found.order.tolist() == list(range(pattern.size1()))
        assert found.lower == found.upper == pattern.size1() - 1
        assert len(found.found) == 0
    nothing = elimination.elimination_of(ca.Sparsity(20, 20))
    assert len(nothing.order) == 0
    assert nothing.found.tolist() == list(range(20))


def test_what_is_eliminated():
    """x and y follow u and w; u follows w, but x follows it already; s follows itself, z is read by nothing."""
    state = ca.SX.sym("state", 6)
    x, y, u, w, s, _ = state.elements()
    rates = ca.vertcat(2 * u, w * 3, w, -x - y - u * w + s, -s, x * u)
    found = elimination.elimination_of(ca.jacobian(rates, state).sparsity())
    assert found.order.tolist() == [2, 3, 4]
    assert found.found.tolist() == [0, 1, 5]
    assert found.followed.tolist() == [[3, 3], [0, 1], [0, 1]]
    assert found.columns.tolist() == [2, 3, 0, 2]
    assert found.starts.tolist() == [2, 4]


@njit
def _solved_steps(h, newton, one, x, y):
    known = step_matrices.factored(h, newton)
    step_matrices.solve(newton, one)
    step_matrices.solve_complex(newton, x, y)
    return known


@pytest.mark.parametrize(("n", "entries"), [(1, 1), (2, 2), (5, 9), (8, 40), (20, 30), (40, 60)])
@pytest.mark.parametrize("seed", range(3))
def test_steps_with_components_eliminated_are_solved_as_dense_ones(n, entries, seed):
    """Jacobians with entries at random places; half of the rows have one entry only, so that their components follow others."""
    random = np.random.default_rng([n, entries, seed])
    matrix = np.zeros((n, n))
    matrix[random.integers(n, size=entries), random.integers(n, size=entries)] = 1.0
    for i in random.permutation(n)[: n // 2]:
        matrix[i] = 0.0
        matrix[i, random.integers(n)] = 1.0
    found = elimination.elimination_of(ca.sparsify(ca.DM(matrix)).sparsity())
    rows, columns = (np.array(which, int) for which in ca.sparsify(ca.DM(matrix)).sparsity().get_triplet())
    matrix[rows, columns] = random.normal(size=len(rows))
    newton = implicit._room(n, found)
    newton.jacobian[:] = matrix[rows[found.entries], columns[found.entries]]
    one, x, y = random.normal(size=(3, n))
    real, both = tableau.REAL / 0.1, complex(tableau.COMPLEX_REAL, tableau.COMPLEX_IMAGINARY) / 0.1
    expected = np.linalg.solve(real * np.eye(n) - matrix, one), np.linalg.solve(both * np.eye(n) - matrix, x + 1j * y)
    assert _solved_steps(0.1, newton, one, x, y)
    assert one == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
    assert x + 1j * y == pytest.approx(expected[1], rel=1e-9, abs=1e-12)


# ------------------------------------------------------------ errors


SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
def test_errors_are_those_that_the_tolerance_allows(tolerance):
    """A spring, at the ends of its steps and between them: an estimate of order 3 alone would leave errors a hundred times smaller."""
    motion = ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 10), tolerance=tolerance, method=ch.Implicit())
    times = np.linspace(0, 10, 1001)
    nodes, between = np.abs(motion["x"] - np.cos(motion.t)).max(), np.abs(motion.at(times)["x"] - np.cos(times)).max()
    assert 0.02 * tolerance < nodes < tolerance
    assert between < 1.5 * tolerance


def test_steps_grow_with_the_sixth_power_of_the_tolerance():
    """Four digits more take about five times as many steps; with an estimate of order 3 they take ten times as many."""
    steps = [
        ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 50), tolerance=tolerance, method=ch.Implicit()).counts["accepted"]
        for tolerance in (1e-5, 1e-9)
    ]
    assert 4 < steps[1] / steps[0] < 6.5


@pytest.mark.parametrize(("length", "time"), [(1.0, 1.0), (1e-6, 1e6), (1e6, 1e-6)])
def test_a_stiff_motion_in_other_units(length, time):
    """A mass on a spring and a stiff damper with a cubic force, beside SciPy's Radau: as many steps in any units, and the same errors."""
    law = "-s*x' - k*x - g*x^3 + a*cos(w*t)"
    equations = ch.derive(ch.System("x", "s k g a w", lagrangian="x'^2/2", forces={"x": law}))
    values = {"s": 1e4 / time, "k": 3e3 / time**2, "g": 2e3 / (length * time) ** 2, "a": 5e3 * length / time**2, "w": 7.0 / time}
    start = {"x": length, "x'": -2.0 * length / time}
    motion = ch.simulate(equations, start, (0, 5 * time), parameters=values, tolerance=1e-8, method=ch.Implicit())

    def rates(t, y):
        return [y[1], -1e4 * y[1] - 3e3 * y[0] - 2e3 * y[0] ** 3 + 5e3 * np.cos(7 * t)]

    times = np.linspace(0, 5, 101)
    exact = solve_ivp(rates, (0, 5), [1.0, -2.0], method="Radau", rtol=1e-12, atol=1e-15, t_eval=times)
    assert motion.at(times * time)["x"] / length == pytest.approx(exact.y[0], abs=3e-8)
    assert motion.certificate.ok
    assert motion.counts["accepted"] == pytest.approx(530, rel=0.02)


def test_a_ripple_beside_a_large_slow_motion_is_followed():
    """A fast force a ten-thousandth as large as a slow one, whose error the slow motion must not hide, and SciPy's method of order 8."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "cos(40*t)"}))
    times = np.linspace(0, 20, 401)
    exact = solve_ivp(
        lambda t, y: [y[1], np.cos(40 * t) - y[0]], (0, 20), [1.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-15, t_eval=times
    )
    for tolerance in (1e-5, 1e-7, 1e-9):
        motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 20), tolerance=tolerance, method=ch.Implicit())
        assert np.abs(motion.at(times)["x"] - exact.y[0]).max() < 5 * tolerance
