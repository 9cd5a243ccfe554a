"""Chains of links in closed form: their Hamiltonian against M^-1 in NumPy."""

import numpy as np
import pytest
import sympy

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
