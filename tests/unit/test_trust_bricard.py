"""Bricard's mechanism: six hinges along the edges of a cube, 30 rows of rank 29 along a motion with one degree of freedom.

The reference is written by hand: Newton's and Euler's equations of the five moving links with the reactions of all rows, solved by least
squares.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], float)
HINGES = ["y", "z", "x", "y", "z", "x"]
"""Axis of the hinge at each corner: perpendicular to both edges that meet there."""
LINKS = "PQRUW"
"""Link k lies between corners k and k + 1; the edge from the last corner to the first is fixed."""
CENTRES = (CORNERS[:5] + CORNERS[1:]) / 2
INERTIA = np.array([0.10, 0.12, 0.15])
GRAVITY = np.array([1.2, -0.7, -9.81])
BASIS = dict(zip("xyz", np.eye(3), strict=True))
LIMIT = 1e-7
"""Singular values of the bordered matrix below this part of the largest are zero: one is, the next is above 1e-2."""


def hinges():
    """(link before, link after, corner, axis, two normals); -1 is the fixed edge. At the start all links have the axes of space."""
    for k, axis in enumerate(HINGES):
        normals = [BASIS[c] for c in "xyz" if c != axis]
        yield (k - 1, k if k < 5 else -1, CORNERS[k], BASIS[axis], normals)


def turned(link: int, vector: np.ndarray) -> list[str]:
    """The components in space of a vector fixed in a link."""
    if link < 0:
        return [repr(float(c)) for c in vector]
    name = LINKS[link]
    return [" + ".join(f"({float(c)!r})*{name}{i}{j}" for j, c in enumerate(vector, 1) if c) or "0" for i in (1, 2, 3)]


def place(link: int, corner: np.ndarray) -> list[str]:
    if link < 0:
        return [repr(float(c)) for c in corner]
    return [f"{c}{link} + {arm}" for c, arm in zip("xyz", turned(link, corner - CENTRES[link]), strict=True)]


def bricard() -> ch.Equations:
    coordinates = {}
    for k, name in enumerate(LINKS):
        coordinates |= {name: "SO3 body", f"x{k}": "line", f"y{k}": "line", f"z{k}": "line"}
    terms = []
    for k, name in enumerate(LINKS):
        terms += [f"({c}{k}'^2)/2 + ({float(g)!r})*{c}{k}" for c, g in zip("xyz", GRAVITY, strict=True)]
        terms += [f"{float(j)!r}*{name}{i}'^2/2" for i, j in enumerate(INERTIA, 1)]
    rows = []
    for before, after, corner, axis, normals in hinges():
        rows += [f"{a} = {b}" for a, b in zip(place(before, corner), place(after, corner), strict=True)]
        pins = turned(before, axis)
        rows += [" + ".join(f"({u})*({a})" for u, a in zip(turned(after, n), pins, strict=True)) + " = 0" for n in normals]
    return ch.derive(ch.System(coordinates, lagrangian=" + ".join(terms), kinematic=rows), ch.DAlembert())


def by_hand(y: np.ndarray) -> tuple[np.ndarray, int]:
    """Rates of places, matrices, velocities and angular velocities, and the rank of the rows."""
    R, v, w = y[15:60].reshape(5, 3, 3), y[60:75].reshape(5, 3), y[75:].reshape(5, 3)
    rows, right = [], []

    def point(k, corner):
        """Slopes of a point of a link by velocities and spins, and its acceleration where both are constant."""
        slope = np.zeros((3, 30))
        if k < 0:
            return slope, np.zeros(3)
        arm = corner - CENTRES[k]
        slope[:, 3 * k : 3 * k + 3] = np.eye(3)
        slope[:, 15 + 3 * k : 18 + 3 * k] = np.column_stack([R[k] @ np.cross(e, arm) for e in np.eye(3)])
        return slope, R[k] @ np.cross(w[k], np.cross(w[k], arm))

    def vector(k, u):
        """A vector of a link in space, its rate, its slopes by spins, and its second rate where the spin is constant."""
        slope = np.zeros((3, 30))
        if k < 0:
            return u, np.zeros(3), slope, np.zeros(3)
        slope[:, 15 + 3 * k : 18 + 3 * k] = np.column_stack([R[k] @ np.cross(e, u) for e in np.eye(3)])
        return R[k] @ u, R[k] @ np.cross(w[k], u), slope, R[k] @ np.cross(w[k], np.cross(w[k], u))

    for before, after, corner, axis, normals in hinges():
        (A, a), (B, b) = point(before, corner), point(after, corner)
        rows += list(A - B)
        right += list(b - a)
        p, dp, P, ddp = vector(before, axis)
        for normal in normals:
            n, dn, N, ddn = vector(after, normal)
            rows.append(p @ N + n @ P)
            right.append(-(p @ ddn + n @ ddp + 2 * dp @ dn))
    G = np.array(rows)
    mass = np.diag(np.concatenate([np.ones(15), np.tile(INERTIA, 5)]))
    force = np.concatenate([np.tile(GRAVITY, 5), *[np.cross(INERTIA * w[k], w[k]) for k in range(5)]])
    K = np.block([[mass, -G.T], [G, np.zeros((30, 30))]])
    rates = np.linalg.lstsq(K, np.concatenate([force, right]), rcond=LIMIT)[0][:30]
    spins = [R[k] @ np.array([[0, -w[k][2], w[k][1]], [w[k][2], 0, -w[k][0]], [-w[k][1], w[k][0], 0]]) for k in range(5)]
    return np.concatenate([v.ravel(), np.array(spins).ravel(), rates]), int(np.linalg.matrix_rank(G, tol=LIMIT))


def start() -> tuple[dict[str, object], np.ndarray]:
    given: dict[str, object] = {}
    for k, name in enumerate(LINKS):
        given |= {name: np.eye(3).tolist(), f"{name}1'": 0, f"{name}2'": 0, f"{name}3'": 0}
        given |= {f"{c}{k}": float(z) for c, z in zip("xyz", CENTRES[k], strict=True)} | {f"{c}{k}'": 0 for c in "xyz"}
    return given, np.concatenate([CENTRES.ravel(), np.tile(np.eye(3).ravel(), 5), np.zeros(30)])


def test_bricards_mechanism_falls_as_by_hand():
    given, y = start()
    equations = bricard()
    now = ch.evaluate(equations, given)
    rates, rank = by_hand(y)
    assert rank == 29
    names = [f"{c}{k}''" for k in range(5) for c in "xyz"] + [f"{name}{i}''" for name in LINKS for i in (1, 2, 3)]
    assert [now[name] for name in names] == pytest.approx(rates[60:], abs=1e-9)
    motion = ch.simulate(equations, given, (0, 0.4), tolerance=1e-10)
    assert motion.outcome == "finished", motion.message
    right = solve_ivp(lambda _, y: by_hand(y)[0], (0, 0.4), y, "DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
    assert [motion.final[f"{c}{k}"] for k in range(5) for c in "xyz"] == pytest.approx(right[:15], abs=1e-7)
    assert np.abs(right[:15] - CENTRES.ravel()).max() > 0.1
    matrices = right[15:60].reshape(5, 3, 3)
    for name, matrix in zip(LINKS, matrices, strict=True):
        assert motion.rotation(name)[-1] == pytest.approx(matrix, abs=1e-7)
