"""Closed loops, nets and trains: no false "no motion", no false singularity, and the right motion from symmetric positions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch


def four_bars(n: int) -> ch.System:
    """n windows of uniform unit rods: ground points (i, 0), upper joints (x_i, y_i)."""
    ends = [((f"{i}", "0", "0", "0"), (f"x{i}", f"y{i}", f"x{i}'", f"y{i}'")) for i in range(n + 1)]
    ends += [((f"x{i}", f"y{i}", f"x{i}'", f"y{i}'"), (f"x{i + 1}", f"y{i + 1}", f"x{i + 1}'", f"y{i + 1}'")) for i in range(n)]
    text = " + ".join(
        f"({a[2]}^2 + {a[3]}^2 + {a[2]}*{b[2]} + {a[3]}*{b[3]} + {b[2]}^2 + {b[3]}^2)/6 - 9.81*({a[1]} + {b[1]})/2" for a, b in ends
    )
    rows = [f"({b[0]} - {a[0]})^2 + ({b[1]} - {a[1]})^2 = 1" for a, b in ends]
    return ch.System(" ".join(f"x{i} y{i}" for i in range(n + 1)), lagrangian=text, kinematic=rows)


def upright(n: int, angle: float, rate: float) -> dict[str, float]:
    start = {}
    for i in range(n + 1):
        start |= {
            f"x{i}": i + math.cos(angle),
            f"y{i}": math.sin(angle),
            f"x{i}'": -rate * math.sin(angle),
            f"y{i}'": rate * math.cos(angle),
        }
    return start


def bars_by_hand(n: int, angle: float, rate: float, end: float) -> tuple[float, float]:
    """One angle: rods that turn have I = 1/3 and their weight at half height, rods that translate all of it."""
    inertia, weight = (n + 1) / 3 + n, 9.81 * ((n + 1) / 2 + n)
    return tuple(
        solve_ivp(lambda _, y: [y[1], -weight / inertia * math.cos(y[0])], (0, end), [angle, rate], "DOP853", rtol=1e-12, atol=1e-13).y[
            :, -1
        ]
    )


@pytest.mark.parametrize(("n", "angle"), [(1, math.pi / 2), (2, math.pi / 2), (2, 1.571), (3, math.pi / 2), (4, -math.pi / 2), (5, 1.2)])
def test_windows_of_rods_move_as_one_angle(n, angle):
    equations = ch.derive(four_bars(n), ch.DAlembert())
    motion = ch.simulate(equations, upright(n, angle, -1.0), (0, 0.3), tolerance=1e-10)
    a, rate = bars_by_hand(n, angle, -1.0, 0.3)
    assert motion.outcome == "finished", motion.message
    for i in range(n + 1):
        assert motion.final[f"x{i}"] == pytest.approx(i + math.cos(a), abs=1e-7)
        assert motion.final[f"y{i}'"] == pytest.approx(rate * math.cos(a), abs=1e-6)


def test_windows_of_rods_as_an_ensemble():
    ensemble = ch.simulate_many(ch.derive(four_bars(2), ch.DAlembert()), [upright(2, math.pi / 2, -1.0)] * 2, (0, 0.3), tolerance=1e-10)
    a, _ = bars_by_hand(2, math.pi / 2, -1.0, 0.3)
    assert ensemble.final["x0"] == pytest.approx([math.cos(a)] * 2, abs=1e-7)


@pytest.mark.parametrize("n", [2, 5])
def test_accelerations_of_windows_of_rods(n):
    now = ch.evaluate(ch.derive(four_bars(n), ch.DAlembert()), upright(n, 1.2, 0.5))
    a = -9.81 * ((n + 1) / 2 + n) / ((n + 1) / 3 + n) * math.cos(1.2)
    assert now["x0''"] == pytest.approx(-a * math.sin(1.2) - 0.25 * math.cos(1.2), rel=1e-9)
    assert now[f"y{n}''"] == pytest.approx(a * math.cos(1.2) - 0.25 * math.sin(1.2), rel=1e-9)


@pytest.mark.parametrize("n", [10, 45])
def test_a_long_train_follows_its_reduced_equations(n):
    """v_k = v_(k-1) cos(th_(k-1) - th_k), d_k th_k' = v_(k-1) sin(th_(k-1) - th_k); th0' and the energy are constant."""
    model = ch.gallery("trailer", n=n)
    p, fixed = model.parameters, model.start.fixed
    m, J = [float(p[f"m{k}"]) for k in range(n + 1)], [float(p[f"J{k}"]) for k in range(n + 1)]
    d = [0.0] + [float(p[f"d{k}"]) for k in range(1, n + 1)]
    angles = [float(fixed[f"theta{k}"]) for k in range(n + 1)]
    spin, v0 = float(fixed["theta0'"]), float(fixed["x'"]) / math.cos(angles[0])

    def train(angles, v):
        speeds, turns = [v], [spin]
        for k in range(1, n + 1):
            turns.append(speeds[-1] * math.sin(angles[k - 1] - angles[k]) / d[k])
            speeds.append(speeds[-1] * math.cos(angles[k - 1] - angles[k]))
        return speeds, turns

    def kinetic(angles, v):
        speeds, turns = train(angles, v)
        return sum(mk * s * s for mk, s in zip(m, speeds, strict=True)) / 2 + sum(j * w * w for j, w in zip(J, turns, strict=True)) / 2

    energy = kinetic(angles, v0)
    still = J[0] * spin**2 / 2

    def rates(_, y):
        angles = list(y[2:])
        v = math.sqrt((energy - still) / (kinetic(angles, 1.0) - still))
        _, turns = train(angles, v)
        return [v * math.cos(angles[0]), v * math.sin(angles[0]), *turns]

    right = solve_ivp(rates, (0, 0.2), [float(fixed["x"]), float(fixed["y"]), *angles], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    motion = ch.simulate(ch.derive(model), model.start, (0, 0.2), parameters=p, tolerance=1e-10)
    assert motion.outcome == "finished", motion.message
    names = ["x", "y", *(f"theta{k}" for k in range(n + 1))]
    assert [motion.final[name] for name in names] == pytest.approx(right, abs=1e-8)


def net(size: int) -> tuple[ch.System, dict[str, float]]:
    """size x size nodes in space; rods of length 1 to the node above (anchors (0, j, 0)) and to the left neighbour."""
    names, rows, text, start = [], [], [], {}
    angles = [0.4, 0.1, -0.3, 0.2, -0.2, 0.3]
    x = z = 0.0
    for i in range(size):
        x, z = x + math.sin(angles[i]), z - math.cos(angles[i])
        for j in range(size):
            names += [f"x{i}_{j}", f"y{i}_{j}", f"z{i}_{j}"]
            above = (f"x{i - 1}_{j}", f"y{i - 1}_{j}", f"z{i - 1}_{j}") if i else ("0", f"{j}", "0")
            rows.append(f"(x{i}_{j} - {above[0]})^2 + (y{i}_{j} - {above[1]})^2 + (z{i}_{j} - {above[2]})^2 = 1")
            if j:
                rows.append(f"(x{i}_{j} - x{i}_{j - 1})^2 + (y{i}_{j} - y{i}_{j - 1})^2 + (z{i}_{j} - z{i}_{j - 1})^2 = 1")
            text.append(f"(x{i}_{j}'^2 + y{i}_{j}'^2 + z{i}_{j}'^2)/2 - 9.81*z{i}_{j}")
            start |= {f"x{i}_{j}": x, f"y{i}_{j}": float(j), f"z{i}_{j}": z}
    start |= {name + "'": 0.0 for name in names}
    return ch.System(" ".join(names), lagrangian=" + ".join(text), kinematic=rows), start


def net_accelerations(system: ch.System, state: dict[str, float], size: int) -> dict[str, float]:
    """KKT by hand: a rod between p and q gives (p - q).(p'' - q'') = -|p' - q'|^2; unit masses, gravity along -z."""
    index = {f"{i}_{j}": 3 * (i * size + j) for i in range(size) for j in range(size)}

    def place(key, primes=""):
        return np.array([state[f"{c}{key}{primes}"] for c in "xyz"])

    rods = []
    for i in range(size):
        for j in range(size):
            rods.append((f"{i}_{j}", f"{i - 1}_{j}" if i else (0.0, float(j), 0.0)))
            if j:
                rods.append((f"{i}_{j}", f"{i}_{j - 1}"))
    n = 3 * size * size
    A, right = np.zeros((len(rods), n)), np.zeros(len(rods))
    for row, (a, b) in enumerate(rods):
        d = place(a) - (place(b) if isinstance(b, str) else np.array(b))
        v = place(a, "'") - (place(b, "'") if isinstance(b, str) else 0)
        A[row, index[a] : index[a] + 3] = d
        if isinstance(b, str):
            A[row, index[b] : index[b] + 3] = -d
        right[row] = -v @ v
    force = np.tile([0, 0, -9.81], size * size)
    matrix = np.block([[np.eye(n), A.T], [A, np.zeros((len(rods), len(rods)))]])
    found = np.linalg.solve(matrix, np.concatenate([force, right]))[:n]
    return {f"{c}{key}''": found[k + o] for key, k in index.items() for o, c in enumerate("xyz")}


@pytest.mark.parametrize("end", [0.1, 0.3, 0.45])
def test_a_net_restarts_anywhere_along_its_motion(end):
    size = 3
    system, start = net(size)
    equations = ch.derive(system, ch.DAlembert())
    motion = ch.simulate(equations, start, (0, end), tolerance=1e-9)
    assert motion.outcome == "finished", motion.message
    now = ch.evaluate(equations, motion.final)
    right = net_accelerations(system, {n: motion.final[n] for q in system.coordinates for n in (q.name, q.name + "'")}, size)
    assert [now[name] for name in right] == pytest.approx(list(right.values()), abs=1e-8)
    assert ch.simulate(equations, motion.final, (end, end + 0.01)).outcome == "finished"


ROPES = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


@pytest.mark.parametrize("ropes", [3, 4])
def test_a_platform_on_parallel_ropes_translates(ropes):
    """Ropes of length 2 to (a, b, 2): a pendulum of length 2 that does not turn; the fourth rope is redundant along the motion."""
    rows = [
        f"(x + ({a})*A11 + ({b})*A12 - ({a}))^2 + (y + ({a})*A21 + ({b})*A22 - ({b}))^2 + (z + ({a})*A31 + ({b})*A32 - 2)^2 = 4"
        for a, b in ROPES[:ropes]
    ]
    lagrangian = "m/2*(x'^2 + y'^2 + z'^2) + J/2*(A1'^2 + A2'^2 + 2*A3'^2) - m*g*z"
    system = ch.System({"A": "SO3 body", "x": "line", "y": "line", "z": "line"}, "m J g", lagrangian=lagrangian, kinematic=rows)
    start = {"A": np.eye(3).tolist(), "A1'": 0, "A2'": 0, "A3'": 0, "x": 0, "y": 0, "z": 0, "x'": 0.7, "y'": 0.2, "z'": 0}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 1), parameters={"m": 1.3, "J": 0.4, "g": 9.81}, tolerance=1e-10)
    speed = math.hypot(0.7, 0.2)
    a = solve_ivp(lambda _, y: [y[1], -9.81 / 2 * math.sin(y[0])], (0, 1), [0, speed / 2], "DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    assert motion.outcome == "finished", motion.message
    assert motion.final["x"] == pytest.approx(2 * math.sin(a) * 0.7 / speed, abs=1e-8)
    assert motion.final["z"] == pytest.approx(2 - 2 * math.cos(a), abs=1e-8)
    assert motion.verify().worst < 1e-5


def test_a_holonomic_row_with_its_derivative_beside_it_is_one_row():
    """q1 = c cos(k q3): the accelerations are those without the second row, reduced by hand to q3."""
    c, k = -1.115, 0.674
    system = ch.System(
        "q1 q3",
        lagrangian="1.545*q1'^2/2 + 0.727*q3'^2/2 - 0.21*q3^2/2 - 0.462*q1",
        kinematic=[f"q1 = {c}*cos({k}*q3)", f"D(q1, 1) = D({c}*cos({k}*q3), 1)"],
    )
    q, v = -0.122, -0.541
    f, bend = -c * k * math.sin(k * q), -c * k * k * math.cos(k * q)
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"q1": c * math.cos(k * q), "q1'": f * v, "q3": q, "q3'": v})
    right = (-0.21 * q - 0.462 * f - 1.545 * f * bend * v * v) / (0.727 + 1.545 * f * f)
    assert now["q3''"] == pytest.approx(right, rel=1e-9)
    assert now["q1''"] == pytest.approx(f * right + bend * v * v, rel=1e-9)


def test_a_redundant_row_whose_factor_vanishes_on_the_way_is_no_singularity():
    """The first row is sin(q1) times the second: where the factor is zero the second row still holds."""
    row = "q2' - 0.4*q1*q1'"
    system = ch.System("q1 q2", lagrangian="q1'^2/2 + q2'^2/2 - q2", kinematic=[f"sin(q1)*({row}) = 0", f"{row} = 0"])
    start = {"q1": -0.5, "q2": 0, "q1'": 1.2, "q2'": -0.24}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 1), tolerance=1e-10)

    def rates(_, y):
        f = 0.4 * y[0]
        return [y[1], -f * (1 + 0.4 * y[1] ** 2) / (1 + f * f)]

    right = solve_ivp(rates, (0, 1), [-0.5, 1.2], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert motion.outcome == "finished", motion.message
    assert [motion.final["q1"], motion.final["q1'"]] == pytest.approx(right, abs=1e-8)


@pytest.mark.parametrize(("a", "b"), [(0.3, math.pi / 2), (-0.4, math.pi / 2), (math.pi / 2, 0.2), (0.0, 0.5)])
def test_a_double_pendulum_with_a_rod_along_an_axis_is_certified(a, b):
    """Rods of length 1, unit masses, from rest; an entry that is round-off decides nothing. By hand in the two angles."""
    rows = ["x1^2 + y1^2 = 1", "(x2 - x1)^2 + (y2 - y1)^2 = 1"]
    system = ch.System("x1 y1 x2 y2", lagrangian="(x1'^2 + y1'^2 + x2'^2 + y2'^2)/2 - 9.81*(y1 + y2)", kinematic=rows)
    start = {"x1": math.sin(a), "y1": -math.cos(a), "x2": math.sin(a) + math.sin(b), "y2": -math.cos(a) - math.cos(b)}
    motion = ch.simulate(
        ch.derive(system, ch.DAlembert()), start | dict.fromkeys(["x1'", "y1'", "x2'", "y2'"], 0.0), (0, 0.5), tolerance=1e-10
    )

    def rates(_, s):
        u, v, du, dv = s
        c, d = math.cos(u - v), math.sin(u - v)
        matrix = [[2, c], [c, 1]]
        return [du, dv, *np.linalg.solve(matrix, [-d * dv**2 - 2 * 9.81 * math.sin(u), d * du**2 - 9.81 * math.sin(v)])]

    u, v, _, _ = solve_ivp(rates, (0, 0.5), [a, b, 0, 0], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert motion.outcome == "finished", motion.message
    assert [motion.final["x1"], motion.final["x2"]] == pytest.approx([math.sin(u), math.sin(u) + math.sin(v)], abs=1e-8)
