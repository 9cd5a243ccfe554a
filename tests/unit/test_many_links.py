"""Chains of links: their Hamiltonian in closed form against M^-1 in NumPy, and their motion against SciPy."""

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import chetaev as ch

GRAVITY = 9.81


def chain(n: int) -> ch.System:
    """Links of length and mass one in angles from the vertical, with the masses at their ends."""
    angles = [f"a{i + 1}" for i in range(n)]
    moving = [f"{n - max(i, j)}/2*cos({x} - {y})*{x}'*{y}'" for i, x in enumerate(angles) for j, y in enumerate(angles)]
    hanging = [f"{n - i}*{GRAVITY}*cos({x})" for i, x in enumerate(angles)]
    return ch.System(" ".join(angles), lagrangian=" + ".join([*moving, *hanging]))


def energy(a: np.ndarray, p: np.ndarray) -> float:
    n = len(a)
    mass = np.array([[(n - max(i, j)) * np.cos(a[i] - a[j]) for j in range(n)] for i in range(n)])
    return float(p @ np.linalg.solve(mass, p) / 2 - sum((n - i) * GRAVITY * np.cos(a[i]) for i in range(n)))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_hamiltonian_of_links(n: int) -> None:
    legendre = ch.hamiltonian(chain(n))
    random = np.random.default_rng(n)
    a, p = random.uniform(-2, 2, size=(2, n))
    state = {f"a{i + 1}": a[i] for i in range(n)} | {f"p_a{i + 1}": p[i] for i in range(n)}
    h = legendre.expressions["H"]
    names = sorted(h.free_symbols, key=str)
    assert float(sympy.lambdify(names, h)(*[state[z.name] for z in names])) == pytest.approx(energy(a, p), rel=1e-12)
    rates = ch.evaluate(legendre.target, state)
    step = 1e-6
    for i in range(n):
        shift = step * np.eye(n)[i]
        along_p = (energy(a, p + shift) - energy(a, p - shift)) / (2 * step)
        along_a = (energy(a + shift, p) - energy(a - shift, p)) / (2 * step)
        assert rates[f"a{i + 1}'"] == pytest.approx(along_p, rel=1e-6, abs=1e-7)
        assert rates[f"p_a{i + 1}'"] == pytest.approx(-along_a, rel=1e-6, abs=1e-7)


def moved(n: int, start: np.ndarray, end: float) -> np.ndarray:
    """The state of a chain of the gallery at the end of a motion: equations by hand, solved by SciPy."""
    given = ch.gallery("chain", n=n).parameters
    m, length = (np.array([float(given[f"{name}{k + 1}"]) for k in range(n)]) for name in "ml")
    hanging, k = np.cumsum(m[::-1])[::-1], np.arange(n)
    pairs, weights = hanging[np.maximum.outer(k, k)] * np.outer(length, length), float(given["g"]) * hanging * length

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        turned = y[:n, None] - y[:n]
        torques = -(pairs * np.sin(turned)) @ y[n:] ** 2 - weights * np.sin(y[:n])
        return np.append(y[n:], np.linalg.solve(pairs * np.cos(turned), torques))

    return np.array(solve_ivp(rates, (0, end), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1])


@pytest.mark.parametrize(("n", "end", "tolerance", "error"), [(10, 2, 1e-9, 3e-8), (20, 1, 1e-12, 1e-10), (30, 1, 1e-9, 1e-8)])
def test_motion_of_many_links_is_certified_at_once(n: int, end: float, tolerance: float, error: float) -> None:
    """Bounds of the rounding along the elimination grow up to 1e15 times the rates, whose errors stay below 1e-12. In these
    motions a relative error of the start grows by a factor of up to 1000.
    """
    motion = ch.simulate(ch.gallery("chain", n=n), t=(0, end), tolerance=tolerance)
    assert motion.outcome == "finished" and "twice" not in str(motion.certificate)
    names = [f"theta{k + 1}{dot}" for dot in ("", "'") for k in range(n)]
    right = moved(n, np.array([motion[z][0] for z in names]), end)
    np.testing.assert_allclose([motion[z][-1] for z in names], right, rtol=0, atol=error * np.abs(right).max())
