"""Linkages, nets and platforms: the given state decides which component of the constraint set is meant.

References share no code with the library: one angle integrated by SciPy, a spherical pendulum, and bordered matrices solved by NumPy.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.flow import compiled
from chetaev.numerics.flow.constraint_set.component import component_at
from chetaev.numerics.flow.prolongation import Problem, square_prolongation
from chetaev.numerics.graphs.binding import bind
from chetaev.numerics.motion.storage import load

G = 9.81


def four_bars(n):
    """A chain of n parallelograms of uniform unit rods of mass 1: cranks on the ground points (i, 0), couplers between their ends."""
    kinetic, height, rows = [], [], []
    for i in range(n + 1):
        kinetic.append(f"(x{i}'^2 + y{i}'^2)/6")
        height.append(f"y{i}/2")
        rows.append(f"(x{i} - {i})^2 + y{i}^2 = 1")
    for i in range(n):
        j = i + 1
        kinetic.append(f"(x{i}'^2 + y{i}'^2 + x{i}'*x{j}' + y{i}'*y{j}' + x{j}'^2 + y{j}'^2)/6")
        height.append(f"(y{i} + y{j})/2")
        rows.append(f"(x{j} - x{i})^2 + (y{j} - y{i})^2 = 1")
    names = " ".join(f"x{i} y{i}" for i in range(n + 1))
    return ch.derive(ch.System(names, lagrangian=f"{' + '.join(kinetic)} - {G}*({' + '.join(height)})", kinematic=rows), ch.DAlembert())


def at_angle(n, angle, rate):
    """All cranks at one angle; upright means exactly upright."""
    c, s = (0.0, 1.0) if angle == np.pi / 2 else (np.cos(angle), np.sin(angle))
    start = {}
    for i in range(n + 1):
        start |= {f"x{i}": i + c, f"y{i}": s, f"x{i}'": -s * rate, f"y{i}'": c * rate}
    return start


def inertia_and_weight(n):
    return (n + 1) / 3 + n, (n + 1) / 2 + n


def angular_acceleration(n, angle):
    inertia, weight = inertia_and_weight(n)
    return -G * weight * np.cos(angle) / inertia


def angle_after(n, angle, rate, t):
    found = solve_ivp(lambda _, y: [y[1], angular_acceleration(n, y[0])], (0, t), [angle, rate], method="DOP853", rtol=1e-12, atol=1e-13)
    return found.y[:, -1]


@pytest.mark.parametrize(("n", "angle"), [(2, np.pi / 2), (3, np.pi / 2), (5, np.pi / 2), (5, 1.2), (6, -0.8), (10, 2.5), (20, np.pi / 2)])
def test_accelerations_of_a_chain_of_parallelograms(n, angle):
    """Random states lie on folded components, where other rows depend on each other; there the closure found no motion."""
    now = ch.evaluate(four_bars(n), at_angle(n, angle, -1.3))
    a = angular_acceleration(n, angle)
    x, y = -np.sin(angle) * a - np.cos(angle) * 1.69, np.cos(angle) * a - np.sin(angle) * 1.69
    for i in (0, n // 2, n):
        assert (now[f"x{i}''"], now[f"y{i}''"]) == pytest.approx((x, y), abs=1e-10)
    assert now.undetermined == ()


@pytest.mark.parametrize(("n", "angle"), [(4, np.pi / 2), (5, 1.2)])
def test_motion_of_a_chain_of_parallelograms(n, angle):
    motion = ch.simulate(four_bars(n), at_angle(n, angle, -1.0), (0, 0.3), tolerance=1e-10)
    found, rate = angle_after(n, angle, -1.0, 0.3)
    assert motion.outcome == "finished"
    assert motion.final[f"x{n}"] == pytest.approx(n + np.cos(found), abs=1e-8)
    assert motion.final["y0"] == pytest.approx(np.sin(found), abs=1e-8)
    assert motion.final["x1'"] == pytest.approx(-np.sin(found) * rate, abs=1e-7)


@pytest.mark.parametrize("n", [10, 20])
def test_a_long_chain_does_not_wait_for_random_states(n, monkeypatch):
    """The given state decides; consequences at random states, which lie on folded components, are not searched for."""

    def refuse(*_):
        raise AssertionError("a search for consequences that nobody uses")

    monkeypatch.setattr("chetaev.numerics.verdict.branch_choice.closure_of", refuse)
    monkeypatch.setattr("chetaev.numerics.flow.closure.closure_of", refuse)
    motion = ch.simulate(four_bars(n), at_angle(n, np.pi / 2, -1.0), (0, 0.2), tolerance=1e-10)
    found, _ = angle_after(n, np.pi / 2, -1.0, 0.2)
    assert motion.final[f"x{n}"] == pytest.approx(n + np.cos(found), abs=1e-8)


def test_an_ensemble_of_chains_starts_on_the_component_of_its_states():
    n, angles = 5, np.array([1.2, 2.0, 0.7])
    starts = [at_angle(n, angle, -1.0) for angle in angles]
    ends = ch.simulate_many(four_bars(n), {name: np.array([s[name] for s in starts]) for name in starts[0]}, (0, 0.2), tolerance=1e-10)
    expected = [np.sin(angle_after(n, angle, -1.0, 0.2)[0]) for angle in angles]
    assert ends.final["y2"] == pytest.approx(expected, abs=1e-8)


def test_a_motion_on_a_component_of_its_own_is_saved_and_loaded(tmp_path):
    n = 5
    motion = ch.simulate(four_bars(n), at_angle(n, 1.2, -1.0), (0, 0.2), tolerance=1e-10)
    motion.save(tmp_path / "chain.npz")
    loaded = load(tmp_path / "chain.npz")
    angle, _ = angle_after(n, 1.2, -1.0, 0.1)
    assert loaded.at(0.1)["y3"] == pytest.approx(np.sin(angle), abs=1e-8)
    assert loaded.at(0.1)["lambda2"] == pytest.approx(motion.at(0.1)["lambda2"], rel=1e-9)


def test_exported_code_of_a_chain():
    """The right-hand side that is written out gives the accelerations of one angle."""
    n = 5
    equations = four_bars(n)
    model = ch.Model(system=equations.system, principle=ch.DAlembert(), start=ch.State(at_angle(n, 1.2, -1.0)), t=(0, 1))
    names = {}
    exec(ch.code(model, "numpy"), names)  # noqa: S102 - the text is what is tested
    rates = dict(zip(names["STATE"], names["rhs"](0.0, names["START"]), strict=True))
    a = angular_acceleration(n, 1.2)
    assert rates["x3'"] == pytest.approx(-np.sin(1.2) * a - np.cos(1.2), abs=1e-10)
    assert rates["y0'"] == pytest.approx(np.cos(1.2) * a - np.sin(1.2), abs=1e-10)


def test_small_oscillations_of_a_hanging_chain():
    """I a'' = -g w cos a about a = -pi/2: the square of the frequency is g w / I."""
    n = 5
    inertia, weight = inertia_and_weight(n)
    found = ch.linearize(four_bars(n), at_angle(n, -np.pi / 2, 0.0)).eigenvalues
    assert sorted(found.imag) == pytest.approx([-np.sqrt(G * weight / inertia), np.sqrt(G * weight / inertia)], rel=1e-8)
    assert found.real == pytest.approx([0, 0], abs=1e-7)


# ------------------------------------------------------------ nets


def net(n):
    """Nodes of mass 1 joined by rods of length 1, the first row hung from anchors (0, j, 0)."""
    names, terms, rows = [], [], []
    for i in range(n):
        for j in range(n):
            names += [f"{c}{i}_{j}" for c in "xyz"]
            terms.append(f"(x{i}_{j}'^2 + y{i}_{j}'^2 + z{i}_{j}'^2)/2 - g*z{i}_{j}")
            above = f"(x{i}_{j} - x{i - 1}_{j})^2 + (y{i}_{j} - y{i - 1}_{j})^2 + (z{i}_{j} - z{i - 1}_{j})^2 = 1"
            rows.append(above if i else f"x0_{j}^2 + (y0_{j} - {j})^2 + z0_{j}^2 = 1")
            if j:
                rows.append(f"(x{i}_{j} - x{i}_{j - 1})^2 + (y{i}_{j} - y{i}_{j - 1})^2 + (z{i}_{j} - z{i}_{j - 1})^2 = 1")
    return ch.derive(ch.System(" ".join(names), "g", lagrangian=" + ".join(terms), kinematic=rows), ch.DAlembert())


def hung(n, angles):
    start, x, z = {}, 0.0, 0.0
    for i in range(n):
        x, z = x + np.sin(angles[i]), z - np.cos(angles[i])
        for j in range(n):
            start |= {f"x{i}_{j}": x, f"y{i}_{j}": float(j), f"z{i}_{j}": z} | {f"{c}{i}_{j}'": 0.0 for c in "xyz"}
    return start


def test_a_net_restarts_anywhere_along_its_motion(monkeypatch):
    """Differences of coordinates that a symmetric motion keeps equal are round-off; scaling made ones of them, and the state singular."""
    made = []
    compile_flow = compiled._compiled
    monkeypatch.setattr(compiled, "_compiled", lambda flow: made.append(flow.order) or compile_flow(flow))
    equations, start = net(3), hung(3, (0.4, 0.1, -0.3))
    motion = ch.simulate(equations, start, (0, 1), parameters={"g": G}, tolerance=1e-10)
    for t in (0.3, 0.7):
        there = motion.at(t)
        again = ch.simulate(equations, {name: there[name] for name in start}, (t, 1), parameters={"g": G}, tolerance=1e-10)
        assert again.final["z2_1"] == pytest.approx(motion.final["z2_1"], abs=1e-7)
        assert again.final["x1_0"] == pytest.approx(motion.final["x1_0"], abs=1e-7)
    count = len(made)
    for _ in range(2):
        ch.simulate(equations, start, (0, 0.1), parameters={"g": G})
    assert len(made) == count  # the code for these pivots is remembered


def test_accelerations_of_a_net_in_a_nearly_symmetric_position():
    """Against the bordered matrix (I, A^T; A, 0) of the rods, whose condition is moderate."""
    n, rng = 3, np.random.default_rng(5)
    start = hung(n, (0.4, 0.1, -0.3))
    start = {name: v + (1e-16 * rng.standard_normal() if "'" not in name else 0.0) for name, v in start.items()}
    now = ch.evaluate(net(n), start, parameters={"g": G})
    order = [f"{c}{i}_{j}" for i in range(n) for j in range(n) for c in "xyz"]
    place = {name: np.array([start[f"{c}{name}"] for c in "xyz"]) for name in (f"{i}_{j}" for i in range(n) for j in range(n))}
    rods = []
    for i in range(n):
        for j in range(n):
            a = np.zeros(len(order))
            k = 3 * (n * i + j)
            other = place[f"{i - 1}_{j}"] if i else np.array([0.0, j, 0.0])
            a[k : k + 3] = place[f"{i}_{j}"] - other
            if i:
                a[k - 3 * n : k - 3 * n + 3] = -a[k : k + 3]
            rods.append(a)
            if j:
                b = np.zeros(len(order))
                b[k : k + 3] = place[f"{i}_{j}"] - place[f"{i}_{j - 1}"]
                b[k - 3 : k] = -b[k : k + 3]
                rods.append(b)
    a = np.array(rods)
    gravity = np.tile([0.0, 0.0, -G], n * n)
    expected = gravity - a.T @ np.linalg.solve(a @ a.T, a @ gravity)  # at rest
    assert [now[f"{name}''"] for name in order] == pytest.approx(expected, abs=1e-9)


# ------------------------------------------------------------ platforms on parallel ropes


CORNERS = {3: [(1, 1), (1, -1), (-1, 1)], 4: [(1, 1), (1, -1), (-1, 1), (-1, -1)], 5: [(1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0)]}
PLATFORM = {"m": 1.3, "J": 0.4, "g": G}


def platform(corners):
    rows = [f"(x + {a}*A11 + {b}*A12 - {a})^2 + (y + {a}*A21 + {b}*A22 - {b})^2 + (z + {a}*A31 + {b}*A32 - 2)^2 = 4" for a, b in corners]
    kinetic = "m/2*(x'^2 + y'^2 + z'^2) + J/2*(A1'^2 + A2'^2 + 2*A3'^2)"
    coordinates = {"A": "SO3 body", "x": "line", "y": "line", "z": "line"}
    return ch.derive(ch.System(coordinates, "m J g", lagrangian=f"{kinetic} - m*g*z", kinematic=rows), ch.DAlembert())


def swinging(x, y, vx, vy):
    """A translation: the platform's centre is on the sphere of radius 2 about (0, 0, 2)."""
    z = 2 - np.sqrt(4 - x**2 - y**2)
    still = {"A": [0, 0, 0], "A1'": 0, "A2'": 0, "A3'": 0}
    return {**still, "x": x, "y": y, "z": z, "x'": vx, "y'": vy, "z'": (x * vx + y * vy) / (2 - z)}


def spherical_pendulum(start, t):
    def rates(_, s):
        p, v = s[:3], s[3:]
        pull = (v @ v - G * p[2]) / 4
        return [*v, *(np.array([0.0, 0.0, -G]) - pull * p)]

    first = [start["x"], start["y"], start["z"] - 2, start["x'"], start["y'"], start["z'"]]
    return solve_ivp(rates, (0, t), first, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("ropes", [3, 4, 5])
@pytest.mark.parametrize("start", [swinging(0.0, 0.0, 0.7, 0.2), swinging(0.3, -0.5, 0.4, 0.9)], ids=["hanging", "aslant"])
def test_a_platform_on_parallel_ropes(ropes, start):
    """From four ropes on rows depend on each other along the motion and not beside it; multipliers are those of least norm."""
    corners = CORNERS[ropes]
    equations = platform(corners)
    now = ch.evaluate(equations, start, parameters=PLATFORM)
    p = np.array([start["x"], start["y"], start["z"] - 2])
    v = np.array([start["x'"], start["y'"], start["z'"]])
    # m p'' = -m g e_z + 2 p sum(lambda), no torque: sum of lambda_i (corner_i x 2 p) = 0; p . p'' = -v . v
    matrix = np.array([np.concatenate([2 * p, np.cross([a, b, 0.0], 2 * p)]) for a, b in corners]).T
    pull = (-(v @ v) + G * p[2]) / 4  # p'' = -g e_z + pull * p
    force = np.concatenate([PLATFORM["m"] * pull * p, np.zeros(3)])
    multipliers = np.linalg.lstsq(matrix, force, rcond=1e-9)[0]
    assert [now[f"{z}''"] for z in "xyz"] == pytest.approx(pull * p - [0, 0, G], abs=1e-10)
    assert [now[f"lambda{k + 1}"] for k in range(ropes)] == pytest.approx(multipliers, abs=1e-10)
    assert [now[f"A{k}''"] for k in (1, 2, 3)] == pytest.approx([0, 0, 0], abs=1e-10)
    motion = ch.simulate(equations, start, (0, 1.2), parameters=PLATFORM, tolerance=1e-10)
    end = spherical_pendulum(start, 1.2)
    assert motion.outcome == "finished"
    assert [motion.final[z] for z in ("x", "y", "x'", "y'")] == pytest.approx([end[0], end[1], end[3], end[4]], abs=1e-8)


def test_steps_are_projected_to_the_rows_that_the_accelerations_satisfy():
    """The first motion of equations that no other test has: code made for another start must not be needed."""
    start = swinging(0.3, -0.5, 0.4, 0.9)
    motion = ch.simulate(platform([(1.1 * a, 1.1 * b) for a, b in CORNERS[4]]), start, (0, 1.2), parameters=PLATFORM, tolerance=1e-10)
    end = spherical_pendulum(start, 1.2)
    assert motion.outcome == "finished" and len(motion.t) < 2000
    assert [motion.final[z] for z in ("x", "y", "x'", "y'")] == pytest.approx([end[0], end[1], end[3], end[4]], abs=1e-8)


def test_a_flat_parallelogram_is_singular():
    """There rows depend on each other at one state of the motion only, where two motions meet; a little later they do not."""
    equations = four_bars(1)
    system, where = square_prolongation(equations), "test"
    problem = Problem(system, bind(equations.system, None, None, where), 0.0, where)
    for angle, determined in ((0.0, False), (0.01, True)):
        start = at_angle(1, angle, 1.0)
        assert (component_at(problem, {z: start[z.name] for z in system.structure.state}) is not None) == determined


@pytest.mark.parametrize("n", [3, 5])
def test_a_chain_of_parallelograms_ends_where_it_lies_flat(n):
    """It may go on as an antiparallelogram there, at the time at which the one angle is zero; not before, however many pivots fall."""
    flat = solve_ivp(
        lambda _, y: [y[1], angular_acceleration(n, y[0])],
        (0, 2),
        [1.2, 0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
        events=lambda _, y: y[0],
    )
    motion = ch.simulate(four_bars(n), at_angle(n, 1.2, 0.0), (0, 2))
    assert motion.outcome == "left_domain"
    assert motion.t[-1] == pytest.approx(flat.t_events[0][0], abs=1e-3)
