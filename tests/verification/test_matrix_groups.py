"""Motions on any Lie group against integrations by hand: d'Alembert, Chetaev, vakonomic, Herglotz, L of order 2; both sides; any start."""

from functools import cache

import numpy as np
import pytest
from matrix_groups_by_hand import Hand, coadjoint, constants, integrate
from scipy.linalg import expm

import chetaev as ch

H = np.array([[1.0, 0], [0, -1]])
X = np.array([[0.0, 1], [0, 0]])
Y = np.array([[0.0, 0], [1, 0]])
SL2 = [H, X, Y]
HEISENBERG = [np.eye(3)[:, [0]] @ np.eye(3)[[1]], np.eye(3)[:, [1]] @ np.eye(3)[[2]], np.eye(3)[:, [0]] @ np.eye(3)[[2]]]
SO4 = [np.eye(4)[:, [j]] @ np.eye(4)[[i]] - np.eye(4)[:, [i]] @ np.eye(4)[[j]] for i in range(4) for j in range(i + 1, 4)]
NEAR = 1e-10
PRIMES = ("'", "''", "'''")


@cache
def group(name):
    return ch.groups.matrix_group({"sl2": SL2, "heisenberg": HEISENBERG, "so4": SO4}[name])


def run(system, principle, start, t, **settings):
    return ch.simulate(ch.derive(system, principle), start, (0, t), tolerance=1e-13, **settings)


def velocities(names, values):
    return {f"{name}'": float(v) for name, v in zip(names, values, strict=True)}


@pytest.mark.parametrize("side", ["body", "spatial"])
def test_hamilton_on_sl2_with_a_potential_of_entries_from_a_start_outside_the_group(side):
    inertia = np.array([[1.0, 0.2, 0], [0.2, 2.0, -0.3], [0, -0.3, 1.5]])
    hand = Hand(SL2, inertia, lambda a: np.array([[0, a[0, 1]], [2 * a[1, 0], 0.3]]), side == "body")
    a0, xi0 = np.array([[1.2, 0.4], [-0.3, 0.9]]), np.array([0.3, -0.5, 0.8])
    lagrangian = "A1'^2/2 + A2'^2 + 3/4*A3'^2 + 0.2*A1'*A2' - 0.3*A2'*A3' - A12^2/2 - A21^2 - 0.3*A22"
    system = ch.System({"A": f"G {side}"}, groups={"G": group("sl2")}, lagrangian=lagrangian)
    motion = run(system, ch.Hamilton(), {"A": a0, **velocities(["A1", "A2", "A3"], xi0)}, 4)
    a, xi, _ = hand.split(integrate(hand.hamilton, hand.start(a0, xi0), 4))
    assert np.abs(motion.matrix("A")[-1] - a).max() < NEAR
    assert np.abs([motion.final[f"A{k}'"] - v for k, v in zip((1, 2, 3), xi, strict=True)]).max() < NEAR
    assert np.ptp(np.linalg.det(motion.matrix("A"))) < 1e-13


def test_dalembert_on_sl2_with_a_row_that_depends_on_the_position():
    hand = Hand(SL2, np.diag([1.0, 2, 1.5]), lambda a: np.array([[0, a[0, 1]], [0, 0.4]]))
    a0, (x2, x3) = np.eye(2), (-0.5, 0.8)

    def row(a):
        return np.array([1.0, 0.5, a[1, 0] + 0.7])

    def rates(t, y):
        a, xi, _ = hand.split(y)
        da = hand.turned(a, xi)
        acceleration, _ = hand.with_rows(xi, a, row(a), -da[1, 0] * xi[2])
        return np.concatenate([da.ravel(), acceleration])

    x1 = -0.5 * x2 - (a0[1, 0] + 0.7) * x3
    system = ch.System(
        {"A": "G body"},
        groups={"G": group("sl2")},
        lagrangian="(A1'^2 + 2*A2'^2 + 1.5*A3'^2 - A12^2)/2 - 0.4*A22",
        kinematic=["A1' + A2'/2 + (A21 + 0.7)*A3' = 0"],
    )
    start = {"A": a0, "A2'": x2, "A3'": x3}
    motion = run(system, ch.DAlembert(), start, 3)
    y = integrate(rates, hand.start(a0, [x1, x2, x3]), 3)
    a, xi, _ = hand.split(y)
    assert np.abs(motion.matrix("A")[-1] - a).max() < NEAR
    assert np.abs([motion.final[f"A{k}'"] - v for k, v in zip((1, 2, 3), xi, strict=True)]).max() < NEAR
    _, multiplier = hand.with_rows(xi, a, row(a), -hand.turned(a, xi)[1, 0] * xi[2])
    assert abs(motion.final["lambda1"] - multiplier[0]) < 1e-9


def test_chetaev_on_the_heisenberg_group_with_a_nonlinear_row():
    hand = Hand(HEISENBERG, np.diag([1.0, 1.5, 2]), lambda a: np.array([[0, 0, 0.3], [0, 0, a[1, 2]], [0, 0, 0]]))
    a0 = np.array([[1.0, 0.2, 0.3], [0, 1, -0.4], [0, 0, 1]])
    x1, x2 = 0.6, -0.8

    def rates(t, y):
        a, xi, _ = hand.split(y)
        acceleration, _ = hand.with_rows(xi, a, [2 * xi[0], 2 * xi[1], -1], 0.0)
        return np.concatenate([hand.turned(a, xi).ravel(), acceleration])

    system = ch.System(
        {"A": "H3 body"},
        lagrangian="(A1'^2 + 1.5*A2'^2 + 2*A3'^2 - A23^2)/2 - 0.3*A13",
        kinematic=["A1'^2 + A2'^2 = A3'"],
    )
    motion = run(system, ch.Chetaev(), {"A": a0, "A1'": x1, "A2'": x2}, 3)
    a, xi, _ = hand.split(integrate(rates, hand.start(a0, [x1, x2, x1**2 + x2**2]), 3))
    assert np.abs(motion.matrix("A")[-1] - a).max() < NEAR
    assert np.abs([motion.final[f"A{k}'"] - v for k, v in zip((1, 2, 3), xi, strict=True)]).max() < NEAR
    assert (motion["A11"] == 1).all() and (motion["A31"] == 0).all() and (motion["A22"] == 1).all()


def vakonomic(hand, row):
    """p = I xi + lambda R is transported: I xi' + lambda' R = ad* p + torque, R xi' = 0."""

    def rates(t, y):
        a, xi, (multiplier,) = hand.split(y)
        p = hand.inertia @ xi + multiplier * row
        right = coadjoint(hand.c, xi, p, hand.body) + hand.torque(a)
        m = np.block([[hand.inertia, row[:, None]], [row[None, :], np.zeros((1, 1))]])
        found = np.linalg.solve(m, np.append(right, 0.0))
        return np.concatenate([hand.turned(a, xi).ravel(), found])

    return rates


def test_vakonomic_on_so4_with_a_potential():
    inertia = np.diag([1.0, 1.3, 0.8, 2, 1.1, 0.9])
    row = np.array([1.0, -2, 0.5, 0, 0, 1])
    hand = Hand(SO4, inertia, lambda a: np.outer([0.5, 0, 0, -0.2], [0, 0, 1, 0]))
    a0 = expm(0.3 * SO4[0] - 0.7 * SO4[4])
    xi0 = np.array([0.0, 0.4, -0.6, 0.7, 0.2, -0.3])
    xi0[0] = -row[1:] @ xi0[1:]
    system = ch.System(
        {"A": "SO4 body"},
        lagrangian="(A1'^2 + 1.3*A2'^2 + 0.8*A3'^2 + 2*A4'^2 + 1.1*A5'^2 + 0.9*A6'^2)/2 - 0.5*A13 + 0.2*A43",
        kinematic=["A1' - 2*A2' + A3'/2 + A6' = 0"],
    )
    names = [f"A{k}" for k in range(1, 7)]
    motion = run(system, ch.Vakonomic(), {"A": a0, **velocities(names, xi0), "lambda1": 0.4}, 2.5)
    a, xi, rest = hand.split(integrate(vakonomic(hand, row), hand.start(a0, xi0, 0.4), 2.5))
    assert np.abs(motion.matrix("A")[-1] - a).max() < NEAR
    assert np.abs([motion.final[f"{q}'"] - v for q, v in zip(names, xi, strict=True)]).max() < NEAR
    assert abs(motion.final["lambda1"] - rest[0]) < NEAR
    orthogonal = motion.matrix("A") @ np.swapaxes(motion.matrix("A"), 1, 2) - np.eye(4)
    assert np.abs(orthogonal).max() < 1e-14


def test_su2_is_so3():
    """The same Lagrangian and row: equal velocities, and the rotation of the unitary matrix."""
    text = "(A1'^2 + 2*A2'^2 + 3*A3'^2)/2"
    start = {"A1'": 0.4, "A2'": 0.9}
    settings = {"kinematic": ["A3' = A1'*A2'"]}
    double = ch.System({"A": "SU2 body"}, lagrangian=text, **settings)
    single = ch.System({"A": "SO3 body"}, lagrangian=text, **settings)
    one = run(double, ch.Chetaev(), {"A": np.eye(2), **start}, 5)
    other = run(single, ch.Chetaev(), {"A": np.eye(3), **start}, 5)
    assert max(abs(one.final[f"A{k}'"] - other.final[f"A{k}'"]) for k in (1, 2, 3)) < NEAR
    u = one.matrix("A")[-1]
    assert np.iscomplexobj(u) and np.abs(u @ u.conj().T - np.eye(2)).max() < 1e-14 and abs(np.linalg.det(u) - 1) < 1e-14
    sigma = [np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.array([[1, 0], [0, -1]])]
    rotation = np.array([[np.trace(sigma[i] @ u @ sigma[j] @ u.conj().T).real / 2 for j in range(3)] for i in range(3)])
    assert np.abs(rotation - other.rotation("A")[-1]).max() < NEAR


def test_a_free_motion_of_an_invariant_metric_is_an_exponential():
    for word, size, lagrangian in (
        ("SO4", 4, "(" + " + ".join(f"A{k}'^2" for k in range(1, 7)) + ")/2"),
        ("SU2", 2, "(A1'^2 + A2'^2 + A3'^2)/2"),
    ):
        basis = [np.array(e, dtype=complex) for e in (SO4 if word == "SO4" else _su2())]
        xi = np.linspace(-0.7, 0.9, len(basis))
        system = ch.System({"A": f"{word} body"}, lagrangian=lagrangian)
        motion = run(system, ch.Hamilton(), {"A": np.eye(size), **velocities([f"A{k + 1}" for k in range(len(basis))], xi)}, 60)
        exact = expm(60 * np.einsum("k,kij->ij", xi, np.array(basis)))
        found = motion.matrix("A")
        assert np.abs(found[-1] - exact).max() < 1e-9
        assert np.abs(found @ np.swapaxes(found.conj(), 1, 2) - np.eye(size)).max() < 1e-14


def _su2():
    sigma = [np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.array([[1, 0], [0, -1]])]
    return [-0.5j * s for s in sigma]


def test_the_determinant_stays_at_round_off_for_a_long_time():
    """Entries as bare numbers drift by the error of the steps; the default tolerance shows it best."""
    system = ch.System({"A": "SL2 body"}, lagrangian="(A1'^2 + 2*A2'^2 + A3'^2)/2 - A21^2/2 - A12^2/2")
    start = {"A": [[2, 0], [0, 0.75]], "A1'": 0.3, "A2'": -0.5, "A3'": 0.8}
    motion = ch.simulate(ch.derive(system), start, (0, 60))
    assert np.abs(np.linalg.det(motion.matrix("A")) - 1.5).max() < 1e-14 * max(1, np.abs(motion.matrix("A")).max() ** 2)
    between = motion.at(np.linspace(0.1, 59.9, 57)).matrix("A")
    assert np.abs(np.linalg.det(between) - 1.5).max() < 1e-13


def test_a_solvable_group_that_is_not_unimodular_by_brackets():
    """[e1, e2] = 96/7 e2, [e1, e3] = e2 + 96/7 e3: no trace terms; only p([xi, e_a])."""
    k = 96 / 7
    c = np.zeros((3, 3, 3))
    c[0, 1, 1], c[0, 2, 1], c[0, 2, 2] = k, 1, k
    c -= np.swapaxes(c, 0, 1)
    inertia, row = np.diag([3.0, 1, 2]), np.array([1.0, 0.5, -2])
    algebra = ch.groups.lie_algebra({(1, 2): {2: "96/7"}, (1, 3): {2: 1, 3: "96/7"}})
    system = ch.System(
        {"w": "solvable"}, groups={"solvable": algebra}, lagrangian="(3*w1'^2 + w2'^2 + 2*w3'^2)/2", kinematic=["w1' + w2'/2 = 2*w3'"]
    )
    xi0 = np.array([2 * 0.03 - 0.5 * 0.08, 0.08, 0.03])

    def dalembert(t, xi):
        m = np.block([[inertia, -row[:, None]], [row[None, :], np.zeros((1, 1))]])
        return np.linalg.solve(m, np.append(coadjoint(c, xi, inertia @ xi), 0.0))[:3]

    def vakonomic_rates(t, y):
        xi, multiplier = y[:3], y[3]
        m = np.block([[inertia, row[:, None]], [row[None, :], np.zeros((1, 1))]])
        return np.linalg.solve(m, np.append(coadjoint(c, xi, inertia @ xi + multiplier * row), 0.0))

    start = {"w2'": 0.08, "w3'": 0.03}
    names = ["w1'", "w2'", "w3'"]
    motion = run(system, ch.DAlembert(), start, 5)
    assert np.abs(np.array([motion.final[q] for q in names]) - integrate(dalembert, xi0, 5)).max() < NEAR
    motion = run(system, ch.Vakonomic(), {**start, "lambda1": 0.2}, 2)
    found = np.array([motion.final[q] for q in (*names, "lambda1")])
    assert np.abs(found - integrate(vakonomic_rates, np.append(xi0, 0.2), 2)).max() < NEAR


@pytest.mark.parametrize("side", ["body", "spatial"])
def test_herglotz_on_sl2(side):
    """p' = ad* p + L_s p + X L and s' = L, with L_s = -(0.2 + 0.1 s)."""
    hand = Hand(SL2, np.diag([1.0, 2, 1.5]), lambda a: np.array([[0, a[0, 1]], [0, 0]]), side == "body")
    a0, xi0 = np.array([[1.0, 0.3], [0, 1]]), np.array([0.3, -0.5, 0.8])

    def rates(t, y):
        a, xi, (s,) = hand.split(y)
        p = hand.inertia @ xi
        right = hand.free(xi, a) - (0.2 + 0.1 * s) * p
        lagrangian = xi @ p / 2 - a[0, 1] ** 2 / 2 - 0.2 * s - 0.05 * s**2
        return np.concatenate([hand.turned(a, xi).ravel(), np.linalg.solve(hand.inertia, right), [lagrangian]])

    system = ch.System({"A": f"SL2 {side}"}, lagrangian="(A1'^2 + 2*A2'^2 + 1.5*A3'^2 - A12^2)/2 - 0.2*s - 0.05*s^2", action="s")
    motion = run(system, ch.Herglotz(), {"A": a0, **velocities(["A1", "A2", "A3"], xi0), "s": 0.1}, 3)
    a, xi, rest = hand.split(integrate(rates, hand.start(a0, xi0, 0.1), 3))
    assert np.abs(motion.matrix("A")[-1] - a).max() < NEAR
    assert np.abs([motion.final[f"A{k}'"] - v for k, v in zip((1, 2, 3), xi, strict=True)]).max() < NEAR
    assert abs(motion.final["s"] - rest[0]) < NEAR


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_second_order_on_the_heisenberg_group(damping):
    """L = (xi'.K.xi' + xi.I.xi)/2 - damping s: with d = D - L_s = D + damping, pi = I xi - d(K xi') and d pi = ad* pi + X L."""
    c = constants(HEISENBERG)
    inertia, k = np.diag([1.0, 1.5, 2]), np.array([0.7, 1.0, 0.4])
    pull = 0.6

    def rates(t, y):
        a, xi, v, pi, s = y[:9].reshape(3, 3), y[9:12], y[12:15], y[15:18], y[18]
        # q = K xi' has D q = I xi - pi - damping q
        dv = (inertia @ xi - pi - damping * k * v) / k
        inner = np.einsum("k,kij->ij", xi, np.array(HEISENBERG))
        force = np.array([-pull * (a @ e)[0, 2] for e in HEISENBERG])
        dpi = coadjoint(c, xi, pi) + force - damping * pi
        ds = (v @ (k * v) + xi @ inertia @ xi) / 2 - pull * a[0, 2] - damping * s
        return np.concatenate([(a @ inner).ravel(), v, dv, dpi, [ds]])

    a0 = np.array([[1.0, 0.2, 0.3], [0, 1, -0.4], [0, 0, 1]])
    xi, v, w = np.array([0.5, -0.3, 0.2]), np.array([0.1, 0.4, -0.2]), np.array([-0.3, 0.2, 0.6])
    pi = inertia @ xi - k * w - damping * k * v
    y = integrate(rates, np.concatenate([a0.ravel(), xi, v, pi, [0.1]]), 2)
    contact = {"action": "s"} if damping else {}
    lagrangian = "(0.7*A1''^2 + A2''^2 + 0.4*A3''^2 + A1'^2 + 1.5*A2'^2 + 2*A3'^2)/2 - 0.6*A13" + (f" - {damping}*s" if damping else "")
    system = ch.System({"A": "H3 body"}, lagrangian=lagrangian, **contact)
    start = {"A": a0} | {f"A{j + 1}{PRIMES[n]}": float(z[j]) for n, z in enumerate((xi, v, w)) for j in range(3)}
    motion = run(system, ch.Herglotz() if damping else ch.Hamilton(), start | ({"s": 0.1} if damping else {}), 2)
    assert np.abs(motion.matrix("A")[-1] - y[:9].reshape(3, 3)).max() < NEAR
    assert np.abs([motion.final[f"A{j + 1}'"] - y[9 + j] for j in range(3)]).max() < NEAR
    assert np.abs([motion.final[f"A{j + 1}''"] - y[12 + j] for j in range(3)]).max() < NEAR


def test_two_groups_and_a_line_together():
    """A product: SL2 (body) and Aff1 (spatial), coupled by the potential x*A11*B12 and the kinetic energy."""
    aff = [np.array([[1.0, 0], [0, 0]]), np.array([[0.0, 1], [0, 0]])]
    ca, cb = constants(SL2), constants(aff)
    m = np.diag([1.0, 2, 1.5, 1, 0.8, 2])
    m[0, 3] = m[3, 0] = 0.3

    def rates(t, y):
        a, b, x, v = y[:4].reshape(2, 2), y[4:8].reshape(2, 2), y[8], y[9:15]
        p = m @ v
        inner_a, inner_b = np.einsum("k,kij->ij", v[:3], np.array(SL2)), np.einsum("k,kij->ij", v[3:5], np.array(aff))
        force_a = np.array([-x * b[0, 1] * (a @ e)[0, 0] for e in SL2])
        force_b = np.array([-x * a[0, 0] * (e @ b)[0, 1] for e in aff])
        right = np.concatenate(
            [coadjoint(ca, v[:3], p[:3]) + force_a, coadjoint(cb, v[3:5], p[3:5], body=False) + force_b, [-a[0, 0] * b[0, 1]]]
        )
        return np.concatenate([(a @ inner_a).ravel(), (inner_b @ b).ravel(), [v[5]], np.linalg.solve(m, right)])

    system = ch.System(
        {"A": "SL2 body", "B": "Aff1 spatial", "x": "line"},
        lagrangian="(A1'^2 + 2*A2'^2 + 1.5*A3'^2 + B1'^2 + 0.8*B2'^2)/2 + x'^2 + 0.3*A1'*B1' - x*A11*B12",
    )
    a0, b0, v0 = np.eye(2), np.array([[1.5, 0.2], [0, 1]]), np.array([0.3, -0.5, 0.8, 0.2, -0.4, 0.1])
    start = {"A": a0, "B": b0, "x": 0.5, **velocities(["A1", "A2", "A3", "B1", "B2", "x"], v0)}
    motion = run(system, ch.Hamilton(), start, 2)
    y = integrate(rates, np.concatenate([a0.ravel(), b0.ravel(), [0.5], v0]), 2)
    assert np.abs(motion.matrix("A")[-1] - y[:4].reshape(2, 2)).max() < NEAR
    assert np.abs(motion.matrix("B")[-1] - y[4:8].reshape(2, 2)).max() < NEAR
    assert abs(motion.final["x"] - y[8]) < NEAR and abs(motion.final["A3'"] - y[11]) < NEAR


def test_a_large_boost_keeps_its_digits():
    """A metric that both sides leave invariant, det xi < 0: entries of 10^5, whose last digits decide about the determinant."""
    system = ch.System({"A": "SL2 body"}, lagrangian="A1'^2 + A2'*A3'")
    xi = np.array([0.5, 0.9, 0.8])
    for a0 in (np.eye(2), np.array([[1.2, 0.4], [-0.3, 0.9]])):
        motion = run(system, ch.Hamilton(), {"A": a0, **velocities(["A1", "A2", "A3"], xi)}, 12)
        exact = a0 @ expm(12 * np.einsum("k,kij->ij", xi, np.array(SL2)))
        assert np.abs(exact).max() > 1e5
        assert np.abs(motion.matrix("A")[-1] / exact - 1).max() < 1e-11


@pytest.mark.parametrize("side", ["body", "spatial"])
def test_rigid_motions_by_matrices_are_those_of_se3(side):
    """Entries that are constant, a part that is orthogonal, and a row with a position, beside quaternions."""
    cell = np.eye(4)
    pairs = [(2, 1), (0, 2), (1, 0)]
    basis = [np.outer(cell[k], cell[3]) for k in range(3)]
    basis += [np.outer(cell[i], cell[j]) - np.outer(cell[j], cell[i]) for i, j in pairs]
    lagrangian = "(A1'^2 + 2*A2'^2 + 3*A3'^2 + A4'^2 + 2*A5'^2 + 1.5*A6'^2)/2 + 0.2*A1'*A5' - A14^2/2 - A34*A12"
    parts = {"lagrangian": lagrangian, "kinematic": ["A1' = A14*A5' + 0.1*A6'"]}
    start = {"A": np.eye(4), **velocities(["A2", "A3", "A4", "A5", "A6"], (-0.2, 0.5, 0.7, -0.4, 0.6))}
    own = ch.System({"A": f"G {side}"}, groups={"G": ch.groups.matrix_group(basis)}, **parts)
    one = run(own, ch.DAlembert(), start, 4)
    other = run(ch.System({"A": f"SE3 {side}"}, **parts), ch.DAlembert(), start, 4)
    assert np.abs(one.matrix("A")[-1] - other.matrix("A")[-1]).max() < NEAR
    assert abs(one.final["lambda1"] - other.final["lambda1"]) < 1e-9
    assert (one.matrix("A")[:, 3] == [0, 0, 0, 1]).all()


@pytest.mark.parametrize("side", ["body", "spatial"])
def test_vakonomic_on_the_heisenberg_group_with_a_row_of_positions_from_a_start_outside_the_group(side):
    """R = (1, A13, -2): p = I xi + lambda R, p_a' = +-p([xi, E_a]) - X_a V + lambda (X_a R).xi, and R.xi' = -R'.xi."""
    hand = Hand(HEISENBERG, np.diag([1.0, 1.5, 2]), lambda a: np.array([[0, 0, 0.3], [0, 0, a[1, 2]], [0, 0, 0]]), side == "body")
    a0 = np.array([[1.0, 0.2, 0.3], [0.5, 1, -0.4], [0.1, 0, 2]])

    def row(a):
        return np.array([1.0, a[0, 2], -2])

    def rates(t, y):
        a, xi, (multiplier,) = hand.split(y)
        da = hand.turned(a, xi)
        p = hand.inertia @ xi + multiplier * row(a)
        moved = np.array([multiplier * (a @ e if hand.body else e @ a)[0, 2] * xi[1] for e in HEISENBERG])
        turning = np.array([0.0, da[0, 2], 0.0])
        right = coadjoint(hand.c, xi, p, hand.body) + hand.torque(a) + moved - multiplier * turning
        m = np.block([[hand.inertia, row(a)[:, None]], [row(a)[None, :], np.zeros((1, 1))]])
        return np.concatenate([da.ravel(), np.linalg.solve(m, np.append(right, -turning @ xi))])

    x2, x3 = -0.8, 0.5
    x1 = -a0[0, 2] * x2 + 2 * x3
    system = ch.System(
        {"A": f"H3 {side}"},
        lagrangian="(A1'^2 + 1.5*A2'^2 + 2*A3'^2 - A23^2)/2 - 0.3*A13",
        kinematic=["A1' + A13*A2' = 2*A3'"],
    )
    motion = run(system, ch.Vakonomic(), {"A": a0, "A2'": x2, "A3'": x3, "lambda1": 0.4}, 3)
    a, xi, rest = hand.split(integrate(rates, hand.start(a0, [x1, x2, x3], 0.4), 3))
    assert np.abs(motion.matrix("A")[-1] - a).max() < NEAR
    assert np.abs([motion.final[f"A{k}'"] - v for k, v in zip((1, 2, 3), xi, strict=True)]).max() < NEAR
    assert abs(motion.final["lambda1"] - rest[0]) < NEAR


def test_virtual_work_with_variations_of_their_own_and_a_row_of_second_order():
    """C_K: A1'' = A12*A3' + t, C_V: δA1 = A21*δA2 on SL2, with a force and dissipation."""
    hand = Hand(SL2, np.diag([1.0, 2, 1.5]), lambda a: np.array([[0, a[0, 1]], [0, 0]]))
    a0, xi0 = np.array([[1.0, 0.3], [0.5, 1.15]]), np.array([0.3, -0.5, 0.8])

    def rates(t, y):
        a, xi, _ = hand.split(y)
        right = hand.free(xi, a) + np.array([0, 0.3 * a[0, 0], 0]) - np.array([0.2 * xi[0], 0, 0.1 * xi[2]])
        variation = np.array([1.0, -a[1, 0], 0])
        m = np.block([[hand.inertia, -variation[:, None]], [np.array([[1.0, 0, 0, 0]])]])
        found = np.linalg.solve(m, np.append(right, a[0, 1] * xi[2] + t))
        return np.concatenate([hand.turned(a, xi).ravel(), found[:3]])

    system = ch.System(
        {"A": "SL2 body"},
        lagrangian="(A1'^2 + 2*A2'^2 + 1.5*A3'^2 - A12^2)/2",
        kinematic=["A1'' = A12*A3' + t"],
        variational=["δA1 = A21*δA2"],
        forces={"A2": "0.3*A11"},
        dissipation="(0.2*A1'^2 + 0.1*A3'^2)/2",
    )
    motion = run(system, ch.VirtualWork(), {"A": a0, **velocities(["A1", "A2", "A3"], xi0)}, 0.8)
    a, xi, _ = hand.split(integrate(rates, hand.start(a0, xi0), 0.8))
    assert np.abs(motion.matrix("A")[-1] - a).max() < NEAR
    assert np.abs([motion.final[f"A{k}'"] - v for k, v in zip((1, 2, 3), xi, strict=True)]).max() < NEAR
