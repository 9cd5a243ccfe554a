"""Nets of rods, and the elimination of large symmetric matrices by their diagonal, against equations that SciPy solves."""

import casadi as ca
import numpy as np
import pytest
from scipy.sparse import bmat, csr_matrix, diags
from scipy.sparse.linalg import splu

import chetaev as ch
from chetaev.core.support.lines import Line
from chetaev.numerics.flow import exact_rates
from chetaev.numerics.flow.elimination import Samples, solve
from chetaev.numerics.flow.symmetric_order import keeps_digits, symmetric_order
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.residues import residues_of

GRAVITY = 9.81


class Net:
    """Masses at (i, j), each with a rod of length 1 to (i - 1, j), or to a fixed place (0, j, 0), and one to (i, j - 1)."""

    def __init__(self, n):
        nodes = [(i, j) for i in range(n) for j in range(n)]
        self.n, self.names = n, [f"{c}{i}_{j}" for i, j in nodes for c in "xyz"]
        self.masses = np.array([1 + 0.25 * ((3 * i + 5 * j) % 4) for i, j in nodes])
        self.rods, rows = [], []
        for k, (i, j) in enumerate(nodes):
            self.rods.append((k, k - n if i else None, j))
            other = [f"{c}{i - 1}_{j}" for c in "xyz"] if i else ["0", f"{j}", "0"]
            rows.append(" + ".join(f"({c}{i}_{j} - {b})^2" for c, b in zip("xyz", other, strict=True)) + " = 1")
            if j:
                self.rods.append((k, k - 1, j))
                rows.append(" + ".join(f"({c}{i}_{j} - {c}{i}_{j - 1})^2" for c in "xyz") + " = 1")
        energies = [f"{m}*((x{i}_{j}'^2 + y{i}_{j}'^2 + z{i}_{j}'^2)/2 - g*z{i}_{j})" for m, (i, j) in zip(self.masses, nodes, strict=True)]
        self.system = ch.System(" ".join(self.names), "g", lagrangian=" + ".join(energies), kinematic=rows)
        angles = np.array([(0.4, 0.1, -0.3)[i % 3] for i in range(n)])
        x, z = np.cumsum(np.sin(angles)), -np.cumsum(np.cos(angles))
        self.places = np.array([[x[i], float(j), z[i]] for i, j in nodes])
        self.speeds = 0.7 * np.stack([self.places[:, 2], 0 * self.places[:, 2], -self.places[:, 0]], axis=1)  # about the fixed places

    def start(self):
        moving = dict(zip([f"{z}'" for z in self.names], self.speeds.ravel(), strict=True))
        return dict(zip(self.names, self.places.ravel(), strict=True)) | moving

    def newton(self, places, speeds):
        """Accelerations and multipliers: m p'' = -m g + J^T lambda, J p'' = -2 |v_a - v_b|^2, with J the slopes of |p_a - p_b|^2."""
        rows, columns, slopes, right = [], [], [], []
        for k, (a, b, j) in enumerate(self.rods):
            end, speed = (np.array([0.0, j, 0.0]), np.zeros(3)) if b is None else (places[b], speeds[b])
            for node, sign in ((a, 2), (b, -2)):
                if node is not None:
                    rows += [k] * 3
                    columns += [3 * node, 3 * node + 1, 3 * node + 2]
                    slopes += list(sign * (places[a] - end))
            right.append(-2 * ((speeds[a] - speed) ** 2).sum())
        jacobian = csr_matrix((slopes, (rows, columns)), shape=(len(self.rods), places.size))
        inertia = np.repeat(self.masses, 3)
        whole = bmat([[diags(inertia), -jacobian.T], [jacobian, None]]).tocsc()
        forces = inertia * np.tile([0.0, 0.0, -GRAVITY], len(places))
        solution = splu(whole).solve(np.concatenate([forces, right]))
        return solution[: places.size].reshape(places.shape), solution[places.size :]

    def moved(self, duration, steps):
        """Places and speeds after a time, by the classical Runge-Kutta method."""
        p, v, h = self.places, self.speeds, duration / steps
        for _ in range(steps):
            a = self.newton(p, v)[0]
            b = self.newton(p + h / 2 * v, v + h / 2 * a)[0]
            c = self.newton(p + h / 2 * v + h * h / 4 * a, v + h / 2 * b)[0]
            d = self.newton(p + h * v + h * h / 2 * b, v + h * c)[0]
            p, v = p + h * v + h * h / 6 * (a + b + c), v + h / 6 * (a + 2 * b + 2 * c + d)
        return p, v


def test_a_net_of_a_hundred_and_twenty_rods():
    net, duration = Net(8), 0.02
    equations = ch.derive(net.system, ch.DAlembert())
    found = ch.evaluate(equations, net.start(), parameters={"g": GRAVITY})
    accelerations, multipliers = net.newton(net.places, net.speeds)
    np.testing.assert_allclose([found[f"{z}''"] for z in net.names], accelerations.ravel(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose([found[f"lambda{k + 1}"] for k in range(len(net.rods))], multipliers, rtol=1e-11, atol=1e-11)
    run = ch.simulate(equations, net.start(), (0, duration), parameters={"g": GRAVITY}, tolerance=1e-9)
    assert run.outcome == "finished"
    end, (places, speeds) = run.at(duration), net.moved(duration, 20)
    np.testing.assert_allclose([end[z] for z in net.names], places.ravel(), rtol=0, atol=1e-10)
    np.testing.assert_allclose([end[f"{z}'"] for z in net.names], speeds.ravel(), rtol=0, atol=1e-9)
    later = [end[f"lambda{k}"] for k in (1, 2, 60, 120)]
    np.testing.assert_allclose(later, net.newton(places, speeds)[1][[0, 1, 59, 119]], rtol=1e-7, atol=1e-7)


def test_a_net_needs_no_more_digits_than_pairs_of_doubles_have(monkeypatch):
    """At the start many accelerations are zero by cancellation, and rows hold but for round-off: neither has a digit to be looked for."""

    def refused(*given):
        raise AssertionError("values in many digits were asked for")

    monkeypatch.setattr(exact_rates, "many_digit_values", refused)
    net = Net(8)
    run = ch.simulate(ch.derive(net.system, ch.DAlembert()), net.start(), (0, 0.01), parameters={"g": GRAVITY}, tolerance=1e-9)
    assert run.outcome == "finished"
    lines = str(run).splitlines()
    assert len(lines) == 3 + 20 + 2 and lines[-1].startswith("  and 220 more rows, at most ") and lines[-2].lstrip().startswith("balance")
    shown, others = {line.split()[0]: float(line.split()[-1]) for line in lines[3:-2]}, float(lines[-1].split()[-1])
    left = [size for label, size in run.drift.items() if label not in shown and label != "balance"]
    assert len(shown) == 20 and others == float(f"{max(left):.1e}") <= min(shown.values())
    assert "and 232 more rows" in run._repr_html_()


def test_attractions_of_bodies_with_a_name_for_the_part_of_each():
    chance, n = np.random.default_rng(3), 24
    names = [f"{c}{k}" for k in range(n) for c in "xyz"]
    pair = "G*m{0}*m{1}/sqrt((x{0} - x{1})^2 + (y{0} - y{1})^2 + (z{0} - z{1})^2)"
    where = {f"V{j}": " + ".join(pair.format(i, j) for i in range(j)) for j in range(1, n)}
    kinetic = " + ".join(f"m{k}/2*(x{k}'^2 + y{k}'^2 + z{k}'^2)" for k in range(n))
    system = ch.System(names, ["G", *(f"m{k}" for k in range(n))], lagrangian=" + ".join([kinetic, *where]), where=where)
    places, masses = chance.uniform(-3, 3, (n, 3)), chance.uniform(0.5, 2, n)
    start = dict(zip(names, places.ravel(), strict=True)) | {f"{z}'": 0.1 for z in names}
    found = ch.evaluate(ch.derive(system), start, parameters={"G": 0.7, **{f"m{k}": m for k, m in enumerate(masses)}})
    between = places[None, :, :] - places[:, None, :]
    distances = np.linalg.norm(between, axis=2) + np.eye(n)
    expected = 0.7 * (masses[None, :, None] * between / distances[:, :, None] ** 3).sum(axis=1)
    np.testing.assert_allclose([found[f"{z}''"] for z in names], expected.ravel(), rtol=1e-12)


def joined(blocks):
    """Many blocks [[m, 0, -a], [0, k, -b], [a, b, 0]] in one sparse matrix, each joined to the next by its first mass."""
    graph, x = GraphAlgebra(), ca.SX.sym("x")
    count = 3 * len(blocks)
    rows = [{} for _ in range(count)]
    for at, (m, k, a, b) in enumerate(blocks):
        i = 3 * at
        rows[i][i], rows[i + 1][i + 1] = ca.SX(m), ca.SX(k)
        for j, slope in ((i, a), (i + 1, b), *([(i + 3, 0.5)] if i + 3 < count else [])):
            rows[i + 2][j], rows[j][i + 2] = ca.SX(slope), -ca.SX(slope)
    numbers = np.array([[float(row.get(j, 0)) for j in range(count)] for row in rows])
    return graph, x, [Line(row, count, ca.SX(0)) for row in rows], numbers


def test_a_symmetric_matrix_but_for_signs_is_eliminated_by_its_diagonal():
    chance = np.random.default_rng(5)
    graph, _, lines, numbers = joined([(*chance.integers(1, 9, 2), *chance.integers(1, 9, 2)) for _ in range(40)])
    residues = residues_of(graph, lines)
    order = symmetric_order(numbers.shape, residues)
    assert order is not None
    assert all(i == j for i, j in order.pairs)
    assert keeps_digits(order, numbers, 0 * numbers)
    right, other = chance.uniform(-1, 1, (2, len(numbers)))
    solved = solve(lines, list(map(ca.SX, right)), order, Samples.of([numbers]), residues)
    np.testing.assert_allclose(list(map(float, solved.solution)), np.linalg.solve(numbers, right), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        list(map(float, solved.again(list(map(ca.SX, other))))), np.linalg.solve(numbers, other), rtol=1e-12, atol=1e-12
    )
    sign, log = np.linalg.slogdet(numbers)
    pivots = np.array(list(map(float, solved.pivots)))
    assert solved.sign * np.sign(pivots).prod() == sign
    assert np.log(np.abs(pivots)).sum() == pytest.approx(log, rel=1e-12)


def test_masses_of_both_signs_may_leave_no_pivot_on_the_diagonal():
    graph, _, lines, _ = joined([(1, -1, 3, 3)] * 1 + [(2, 1, 1, 2)] * 39)
    rows = [dict(line.entries) for line in lines]
    for k in (2, 3):  # the first block alone: 9/1 - 9/1 = 0
        rows[k] = {j: e for j, e in rows[k].items() if {j, k} != {2, 3}}
    alone = [Line(row, len(lines), ca.SX(0)) for row in rows]
    assert symmetric_order((120, 120), residues_of(graph, alone)) is None
    assert symmetric_order((120, 120), residues_of(graph, lines)) is not None


def test_a_light_mass_between_heavy_ones_is_not_eliminated_by_its_diagonal():
    """Two rods on a line at a mass of 1e-6 lose six digits in the second pivot."""
    graph, _, lines, numbers = joined([(1, 1, 1, 1)] * 40)
    order = symmetric_order(numbers.shape, residues_of(graph, lines))
    assert keeps_digits(order, numbers, 0 * numbers)
    numbers[3, 3], numbers[4, 4] = 1e-7, 1.0
    assert not keeps_digits(order, numbers, 0 * numbers)
