"""Constraints that determine velocities one after the other: accelerations, multipliers and motions against bordered matrices in NumPy."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.symbols import Coordinate
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.constraints.null_space import NullSpaceRows
from chetaev.numerics.flow.constraints.reduction import reduction_of
from chetaev.numerics.flow.constraints.triangular import triangular
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.rounding_bounds import values_and_doubts

N = 8
VALUES = (
    {f"m{k}": 0.4 + 0.23 * k for k in range(N + 1)}
    | {f"J{k}": 0.9 - 0.07 * k for k in range(N + 1)}
    | {f"d{k}": (-1) ** (k // 3) * (0.5 + 0.11 * k) for k in range(1, N + 1)}
)
ANGLES = np.array([0.4, 0.1, -0.3, 0.2, -0.1, 0.6, 0.3, -0.5, 0.15])


def trailers(order=None, names=None, driven=False):
    """A tractor with eight trailers and forces on every coordinate; rows and coordinates in any order. Axles may be driven sideways."""
    model = ch.gallery("trailer", n=N)
    rows = [row.text for row in model.system.kinematic]
    if driven:
        rows = [row.replace("= 0", f"= {0.05 * (k + 1)}*" + ("u" if k % 2 else "sin(2*t)")) for k, row in enumerate(rows)]
    angles = [f"theta{k}" for k in range(N + 1)]
    kinds = {z: "line" if z in "xy" else "angle" for z in names or ["x", "y", *angles]}
    forces = {"x": "0.2 - 0.3*x'", "y": "0.1*x", **{f"theta{k}": f"0.05*{k + 1} - 0.1*theta{k}'" for k in range(N + 1)}}
    system = ch.System(
        kinds,
        [z.name for z in model.system.parameters],
        lagrangian=model.system.lagrangian,
        kinematic=[rows[k] for k in order or range(N + 1)],
        forces=forces,
        inputs={"u": "sin(2*t)"} if driven else {},
    )
    return ch.derive(system, ch.DAlembert())


def bordered(q, v, t=None):
    """Accelerations and multipliers for (x, y, angles) and their velocities, from the velocities of the axles."""
    m, inertia, d = (np.array([VALUES[f"{z}{k}"] for k in range(z == "d", N + 1)]) for z in "mJd")
    angles, count = q[2:], N + 3
    slopes, rates = np.zeros((2, N + 1, 2, count))
    for k in range(N + 1):
        slopes[k, :, :2] = np.eye(2)
        for j in range(1, k + 1):
            s, c, w = np.sin(angles[j]), np.cos(angles[j]), v[2 + j]
            slopes[k, :, 2 + j], rates[k, :, 2 + j] = (d[j - 1] * s, -d[j - 1] * c), (d[j - 1] * c * w, d[j - 1] * s * w)
    mass = np.diag([0.0, 0.0, *inertia]) + sum(m[k] * slopes[k].T @ slopes[k] for k in range(N + 1))
    bias = sum(m[k] * slopes[k].T @ (rates[k] @ v) for k in range(N + 1))
    across = np.array([np.sin(angles), -np.cos(angles)]).T
    turning = np.array([np.cos(angles), np.sin(angles)]).T * v[2:, None]
    rows = np.einsum("ki,kij->kj", across, slopes)
    moved = np.einsum("ki,kij->kj", turning, slopes) + np.einsum("ki,kij->kj", across, rates)
    forces = np.array([0.2 - 0.3 * v[0], 0.1 * q[0], *[0.05 * (k + 1) - 0.1 * v[2 + k] for k in range(N + 1)]])
    whole = np.block([[mass, -rows.T], [rows, np.zeros((N + 1, N + 1))]])
    driving = 0.0 if t is None else 0.1 * np.arange(1, N + 2) * np.cos(2 * t)
    found = np.linalg.solve(whole, np.concatenate([forces - bias, driving - moved @ v]))
    return found[:count], found[count:], rows


def start():
    q = np.array([0.2, -0.1, *ANGLES])
    rows = bordered(q, np.zeros(N + 3))[2]
    given = rows[:, 2:3] * 0.25 + rows[:, 0:1] * 1.3
    kept = [1, *range(3, N + 3)]
    v = np.zeros(N + 3)
    v[0], v[2], v[kept] = 1.3, 0.25, np.linalg.solve(rows[:, kept], -given).ravel()
    return q, v


NAMES = ["x", "y", *[f"theta{k}" for k in range(N + 1)]]
STATE = dict(zip([*NAMES, *[f"{z}'" for z in NAMES]], np.concatenate(start()).tolist(), strict=True))


def test_accelerations_and_multipliers_have_the_signs_of_the_bordered_matrix():
    equations = trailers()
    compiled = compile_equations(equations)
    flow = compiled.flow
    assert isinstance(flow.extended, NullSpaceRows)
    assert len(flow.extended.recursion.free) == 2
    x = np.array([*[STATE[z.name] for z in flow.state], *([0.0] if flow.has_power else [])])
    p = np.array([*[VALUES[z.name] for z in flow.arguments], 0.0])
    accelerations, multipliers, _ = bordered(*start())
    found = dict(zip([z.name for z in flow.state], compiled.rhs(0.0, x, p), strict=False))
    assert [found[f"{z}'"] for z in NAMES] == pytest.approx(accelerations, abs=1e-11)
    shares = np.array(flow.function([flow.tops[z] for z in equations.multipliers])(0.0, x, p)).ravel()
    assert shares == pytest.approx(multipliers, abs=1e-11)
    shown = ch.evaluate(equations, STATE, parameters=VALUES)
    assert [shown[f"lambda{k + 1}"] for k in range(N + 1)] == pytest.approx(multipliers, abs=1e-9)
    reduced = reduction_of(flow)
    assert reduced is not None
    assert len(reduced.further) == 1
    y = np.concatenate([x, np.array(reduced.begin()(0.0, x, p)).ravel()])
    rates = dict(zip([z.name for z in flow.state], np.array(reduced.rhs()(0.0, y, p)).ravel(), strict=False))
    assert [rates[f"{z}'"] for z in NAMES] == pytest.approx(accelerations, abs=1e-11)
    assert np.array(reduced.complete()(0.0, y, p)).ravel()[: len(flow.state)] == pytest.approx(x[: len(flow.state)], abs=1e-12)


@pytest.mark.parametrize("shuffled", [False, True])
def test_motions_follow_the_bordered_matrix(shuffled):
    chance = np.random.default_rng(3)
    order, names = (chance.permutation(N + 1).tolist(), [NAMES[k] for k in chance.permutation(N + 3)]) if shuffled else (None, None)
    equations = trailers(order, names)
    assert reduction_of(compile_equations(equations).flow) is not None
    motion = ch.simulate(equations, STATE, (0, 3), parameters=VALUES, tolerance=1e-12)
    assert motion.outcome == "finished"
    assert motion.certificate.ok

    def rates(_, y):
        return np.concatenate([y[N + 3 :], bordered(y[: N + 3], y[N + 3 :])[0]])

    end = solve_ivp(rates, (0, 3), np.concatenate(start()), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert [motion.final[z] for z in STATE] == pytest.approx(end, abs=2e-8)
    shares = bordered(end[: N + 3], end[N + 3 :])[1]
    rows = order or range(N + 1)
    assert [motion[f"lambda{k + 1}"][-1] for k in range(N + 1)] == pytest.approx(shares[list(rows)], abs=2e-7)


def test_rows_that_time_and_inputs_drive():
    """Every axle slides sideways with a given velocity."""
    equations = trailers(driven=True)
    assert isinstance(compile_equations(equations).flow.extended, NullSpaceRows)
    assert reduction_of(compile_equations(equations).flow) is not None
    motion = ch.simulate(equations, STATE, (0, 2), parameters=VALUES, tolerance=1e-12)
    assert motion.certificate.ok

    def rates(t, y):
        return np.concatenate([y[N + 3 :], bordered(y[: N + 3], y[N + 3 :], t)[0]])

    end = solve_ivp(rates, (0, 2), np.concatenate(start()), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert [motion.final[z] for z in STATE] == pytest.approx(end, abs=2e-8)
    shares = bordered(end[: N + 3], end[N + 3 :], 2.0)[1]
    assert [motion[f"lambda{k + 1}"][-1] for k in range(N + 1)] == pytest.approx(shares, abs=2e-7)


def test_the_determinant_is_that_of_the_bordered_matrix():
    """Up to a factor that is the same at all states."""
    equations = trailers()
    compiled = compile_equations(equations)
    flow = compiled.flow
    p = np.array([*[VALUES[z.name] for z in flow.arguments], 0.0])
    jacobian = flow.function([e for line in flow.system.structure.jacobian for e in line])
    chance, ratios = np.random.default_rng(1), []
    for _ in range(4):
        x = chance.uniform(-1, 1, flow.size)
        whole = np.linalg.det(np.array(jacobian(0.0, x, p)).reshape(2 * N + 4, -1))
        ratios.append(float(compiled.determinant(0.0, x, p)[0]) / whole)
    assert ratios == pytest.approx([ratios[0]] * 4, rel=1e-9)
    assert flow.rank == 2 * N + 4


def test_a_bar_of_length_zero_is_solved_in_another_way():
    """Its heading has no pivot then: the axles stand still, and two headings turn."""
    rest = {z: 0.0 for z in STATE if z.endswith("'")} | {"theta0'": 0.25, "theta3'": 0.1}
    model = ch.gallery("trailer", n=N)
    motion = ch.simulate(model, {**STATE, **rest}, (0, 2), parameters={"d3": 0}, tolerance=1e-11)
    assert motion.outcome == "finished"
    assert motion.final["theta0"] == pytest.approx(STATE["theta0"] + 0.5, abs=1e-9)
    assert motion.final["theta3"] == pytest.approx(STATE["theta3"] + 0.2, abs=1e-9)
    assert motion.final["theta5"] == pytest.approx(STATE["theta5"], abs=1e-9)


@pytest.mark.parametrize("name", ["d2", "m4"])
def test_slopes_are_those_of_differences(name):
    model, h = ch.gallery("trailer", n=N), 1e-5
    slopes = ch.simulate(model, None, (0, 1), tolerance=1e-11, slopes=[name])
    value = model.parameters[name]
    ends = [ch.simulate(model, None, (0, 1), tolerance=1e-13, parameters={name: value + side * h}).final for side in (1, -1)]
    for z in ("x", "theta4", "theta8'"):
        assert slopes.slope(z, name)[-1] == pytest.approx((ends[0][z] - ends[1][z]) / (2 * h), abs=1e-7)


def test_slopes_of_a_long_chain():
    """Its rows have intermediate results, which the slopes do not move."""
    model, h = ch.gallery("chain", n=18), 1e-5
    name = next(z for z in model.parameters if z.startswith("l"))
    slopes = ch.simulate(model, None, (0, 0.05), tolerance=1e-11, slopes=[name])
    value = model.parameters[name]
    ends = [ch.simulate(model, None, (0, 0.05), tolerance=1e-13, parameters={name: value + side * h}).final for side in (1, -1)]
    for z in ("theta1'", "theta9'"):
        assert slopes.slope(z, name)[-1] == pytest.approx((ends[0][z] - ends[1][z]) / (2 * h), rel=1e-5, abs=1e-6)


def test_operations_grow_like_the_number_of_trailers():
    small, large = (reduction_of(compile_equations(ch.derive(ch.gallery("trailer", n=n))).flow) for n in (12, 24))
    assert large.rhs().n_instructions() < 2.1 * small.rhs().n_instructions()
    assert small.rhs().n_instructions() < 100 * 12


def test_axles_follow_from_each_other_by_one_product():
    """All but those at both ends: the speed of an axle is a multiple of the speed before it."""
    recursion = compile_equations(ch.derive(ch.gallery("trailer", n=12))).flow.extended.recursion
    lengths = [len(step.others) for step in recursion.steps]
    assert len(lengths) > 40
    assert sum(length > 1 for length in lengths) < 8


def test_bounds_of_rounding_errors_stay_small_along_a_train():
    """Where they doubled from axle to axle, every motion of forty trailers had to be checked in many digits."""
    model = ch.gallery("trailer", n=40)
    flow = compile_equations(ch.derive(model)).flow
    state = ch.evaluate(model)
    given = [0.0, *[state[z.name] for z in flow.state], *[float(model.parameters[z.name]) for z in flow.arguments], 0.0]
    column = ca.SX.sym("column", len(given))
    parts = ca.vertsplit(column, [0, 1, 1 + flow.size, len(given)])
    rates, doubts = values_and_doubts(
        ca.Function("rates", [column], [ca.densify(flow.rhs()(*parts))]), np.array(given), np.zeros(len(given))
    )
    assert max(doubts) < 1e-10 * max(abs(rates))


def test_rows_without_a_recursion_are_left_alone():
    graph = GraphAlgebra()
    x, y, z, a = map(Coordinate, "xyza")
    sine, speeds = ca.sin(graph.leaf(a)), [graph.leaf(q.d()) for q in (x, y, z)]
    jets = [q.d() for q in (x, y, z)]
    moving = [speeds[0] * sine - speeds[1] * graph.leaf(a)]
    assert triangular(graph, moving, jets) is None  # no entry is constant, nor is a sum of two squares
    loop = [speeds[0] + speeds[1], speeds[0] + 2 * speeds[1] + sine * speeds[2]]
    assert triangular(graph, loop, jets) is None  # each unknown with a constant entry stands in both rows
    turned = triangular(graph, [speeds[0] * sine - speeds[1] * ca.cos(graph.leaf(a)) + 3], jets)
    assert len(turned.turns) == 1
    assert turned.free == (2, 3)


def test_ensembles_and_prepared_runs_have_the_bits_of_simulate():
    model = ch.gallery("trailer", n=N)
    equations, spins, names = ch.derive(model), np.linspace(-0.4, 0.6, 5), ("x", "theta8", "theta3'")
    start = {"x": 0.2, "y": -0.1, "x'": 1.3, **{f"theta{k}": float(ANGLES[k]) for k in range(N + 1)}}
    many = ch.simulate_many(equations, {**start, "theta0'": spins}, (0, 3), parameters=model.parameters)
    run = ch.prepare(equations, t=(0, 3), outputs=list(names))
    for k, spin in enumerate(spins):
        here = {**start, "theta0'": float(spin)}
        one = ch.simulate(equations, here, (0, 3), parameters=model.parameters, keep="final")
        assert [many[z][k] for z in names] == [one.final[z] for z in names]
        assert list(run(*run.start(here, parameters=model.parameters))) == [one.final[z] for z in names]
