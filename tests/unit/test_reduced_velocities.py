"""Steps in velocities that the rows leave free: the same motions, against equations that were reduced by hand or solved by NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.constraints.reduction import Reduction, reduction_of
from chetaev.numerics.methods import base

SLEIGH = ch.System(
    "x y theta",
    parameters="m J a b",
    lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2 - b*x",
    kinematic=["y'*cos(theta) - x'*sin(theta) = a*theta'"],
    forces={"theta": "0.3*x'", "y": "-0.2*y'"},
    name="sleigh with forces",
)
VALUES = {"m": 1.2, "J": 0.4, "a": 0.25, "b": 0.7}
START = {"x": 0.1, "y": -0.2, "theta": 0.5, "x'": 1.0, "theta'": 0.3}


def _reduced(model_or_equations):
    equations = ch.derive(model_or_equations) if isinstance(model_or_equations, ch.Model) else model_or_equations
    return reduction_of(compile_equations(equations).flow)


def _bordered(t, y, m, J, a, b):
    """x, y, theta and their velocities; accelerations and the multiplier from the bordered matrix, by NumPy."""
    _, _, th, vx, vz, w = y
    s, c = np.sin(th), np.cos(th)
    row = np.array([-s, c, -a])
    mass = np.diag([m, m, J])
    matrix = np.block([[mass, -row[:, None]], [row[None, :], np.zeros((1, 1))]])
    right = np.array([-b, -0.2 * vz, 0.3 * vx, w * (vz * s + vx * c)])
    found = np.linalg.solve(matrix, right)
    return np.array([vx, vz, w, *found[:3]]), found[3]


@pytest.mark.parametrize("a", [0.25, 1e-3, 0.0, -0.4])
def test_a_sleigh_with_forces_follows_the_bordered_equations(a):
    values = {**VALUES, "a": a}
    equations = ch.derive(SLEIGH, ch.DAlembert())
    assert _reduced(equations).further
    motion = ch.simulate(equations, START, (0, 4), parameters=values, tolerance=1e-12)
    vy = (a * 0.3 + np.sin(0.5)) / np.cos(0.5)
    y0 = [0.1, -0.2, 0.5, 1.0, vy, 0.3]
    peer = solve_ivp(lambda t, y: _bordered(t, y, *values.values())[0], (0, 4), y0, method="DOP853", rtol=1e-12, atol=1e-13)
    names = ("x", "y", "theta", "x'", "y'", "theta'")
    assert [motion.final[n] for n in names] == pytest.approx(peer.y[:, -1], abs=2e-10)
    assert motion["lambda1"][-1] == pytest.approx(_bordered(4, peer.y[:, -1], *values.values())[1], abs=2e-9)
    middle = motion.at(1.7)
    there = solve_ivp(lambda t, y: _bordered(t, y, *values.values())[0], (0, 1.7), y0, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert [middle[n] for n in names] == pytest.approx(there, abs=1e-9)


def test_rows_hold_between_the_nodes_and_at_the_end():
    motion = ch.simulate(ch.derive(SLEIGH, ch.DAlembert()), START, (0, 4), parameters=VALUES)
    times = np.linspace(0, 4, 57)
    for t in times:
        now = motion.at(float(t))
        residual = now["y'"] * np.cos(now["theta"]) - now["x'"] * np.sin(now["theta"]) - 0.25 * now["theta'"]
        assert abs(residual) < 1e-15 * 20
    assert motion.drift["kinematic[0]"] < 1e-15


REDUCED = (
    "sleigh", "knife-edge", "knife-edge-friction", "heisenberg", "leaning-disk", "disk-resistance", "disk-contact", "sleigh-contact",
    "rigid-ball", "roller-racer", "suslov", "action-constraint", "trailer",
)  # fmt: skip


@pytest.mark.parametrize("name", REDUCED)
def test_reduced_rates_are_those_of_all_jets_where_rows_hold(name):
    equations = ch.derive(ch.gallery(name))
    compiled = compile_equations(equations)
    flow, found = compiled.flow, reduction_of(compiled.flow)
    assert found is not None
    for point in flow.points[:3]:
        x = np.array([*[point.get(z, 0.4) for z in flow.state], *([0.2] if flow.has_power else [])])
        p = np.array([*[point.get(z, 0.3) for z in flow.arguments], 0.0])
        t = next((float(v) for z, v in point.items() if z.name == "t"), 0.0)
        own = np.array(found.begin()(t, x, p)).ravel() if found.further else np.zeros(0)
        y = np.concatenate([x, own])
        plain, reduced, at_state = (np.array(f(t, v, p)).ravel() for f, v in ((flow.rhs(), x), (found.rhs(), y), (found.at_state(), x)))
        scale = np.abs(plain).max()
        assert reduced[: len(x)] == pytest.approx(plain, abs=1e-9 * scale)
        assert at_state == pytest.approx(plain, abs=1e-9 * scale)
        assert np.array(found.complete()(t, y, p)).ravel()[: len(flow.state)] == pytest.approx(x[: len(flow.state)], abs=1e-9)


@pytest.mark.parametrize("name", REDUCED)
def test_motions_agree_with_those_of_all_jets(name, monkeypatch):
    """At a tolerance of 1e-11 both formulations give the same end, multipliers included."""
    model = ch.gallery(name)
    reduced = ch.simulate(model, tolerance=1e-11)
    monkeypatch.setattr(base.Explicit, "_run", _without_reduction(base.Explicit._run))
    plain = ch.simulate(model, tolerance=1e-11, conserve=None, max_step=1e300)
    assert reduced.outcome == plain.outcome
    multipliers = [z.name for z in reduced.equations.multipliers]
    for names, allowed in ((reduced.final, 3e-8), (multipliers, 3e-7)):
        for z in names:
            a, b = (motion[z] for motion in (reduced, plain))
            size = max(1.0, float(np.abs(b).max()))
            assert a[-1] == pytest.approx(b[-1], abs=allowed * size), z


def _without_reduction(run):
    return lambda self, task: run(self, replace(task, stepping=None))


def test_the_test_above_compares_two_formulations(monkeypatch):
    seen = []
    original = base._run
    monkeypatch.setattr(base, "_run", lambda task, *rest, **more: (seen.append(task.stepping), original(task, *rest, **more))[1])
    ch.simulate(ch.derive(SLEIGH, ch.DAlembert()), START, (0, 0.5), parameters=VALUES, max_step=1e299)
    assert seen and all(stepping is not None for stepping in seen)


def test_events_are_met_on_reduced_motions():
    """The sleigh without forces has the constant energy m u^2/2 + (J + m a^2) w^2/2; its heading passes 1 at a time that SciPy finds."""
    lagrangian, row = "m/2*(x'^2+y'^2) + J/2*theta'^2", "y'*cos(theta) - x'*sin(theta) = a*theta'"
    system = ch.System("x y theta", "m J a", lagrangian=lagrangian, kinematic=[row])
    values = {"m": 1.2, "J": 0.4, "a": 0.25}
    start = {"x": 0, "y": 0, "theta": 0.5, "x'": 1.0, "theta'": 1.3}
    events = ["theta - 1", ch.On("theta - 1.4", terminal=True)]
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 9), parameters=values, events=events)

    def rates(t, y):
        _, u, w = y
        return [w, values["a"] * w * w, -values["m"] * values["a"] * u * w / (values["J"] + values["m"] * values["a"] ** 2)]

    u0 = 1.0 * np.cos(0.5) + (0.25 * 1.3 + np.sin(0.5)) / np.cos(0.5) * np.sin(0.5)
    surfaces = [lambda t, y: y[0] - 1, lambda t, y: y[0] - 1.4]
    surfaces[1].terminal = True
    peer = solve_ivp(rates, (0, 9), [0.5, u0, 1.3], events=surfaces, rtol=1e-11, atol=1e-12, method="DOP853")
    assert motion.outcome == "event"
    assert [e.t for e in motion.events] == pytest.approx([float(v) for at in peer.t_events for v in at], abs=1e-8)


def test_a_pivot_that_is_zero_for_the_given_values_does_no_harm():
    """A trailer on a bar of length 0, whose heading then has no pivot: two knife edges at one place, which can only turn there."""
    model = ch.gallery("trailer", n=1)
    assert _reduced(model) is not None
    start = {"x": 0.2, "y": -0.1, "theta0": 0.4, "theta1": 1.3, "x'": 0, "y'": 0, "theta0'": 0.25, "theta1'": 0.1}
    motion = ch.simulate(model, start, (0, 2), parameters={"d1": 0}, tolerance=1e-11)
    assert [motion.final[z] for z in ("x", "y", "theta0", "theta1")] == pytest.approx([0.2, -0.1, 0.9, 1.5], abs=1e-9)


def test_the_order_of_rows_and_names_does_not_matter():
    """A tractor with two trailers, its rows in all orders: the same motion, in reduced velocities each time."""
    model = ch.gallery("trailer", n=2)
    rows = [row.text for row in model.system.kinematic]
    ends = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        system = ch.System(
            {"x": "line", "y": "line", "theta0": "angle", "theta1": "angle", "theta2": "angle"},
            [z.name for z in model.system.parameters],
            lagrangian=model.system.lagrangian,
            kinematic=[rows[k] for k in order],
        )
        equations = ch.derive(system, ch.DAlembert())
        assert _reduced(equations) is not None
        motion = ch.simulate(equations, model.start, (0, 3), parameters=model.parameters, tolerance=1e-11)
        ends.append([motion.final[z] for z in ("x", "y", "theta0", "theta1", "theta2", "theta2'")])
    assert ends[1] == pytest.approx(ends[0], abs=1e-9)
    assert ends[2] == pytest.approx(ends[0], abs=1e-9)


def test_holonomic_rows_with_constant_pivots_are_solved():
    """A bead on a parabola: y = x^2 - 1 and its derivative determine y and y'."""
    system = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["y = x^2 - 1"])
    equations = ch.derive(system, ch.DAlembert())
    found = _reduced(equations)
    assert found is None or {z.name for z in found.determined} == {"y", "y'"}
    motion = ch.simulate(equations, {"x": 0.8, "x'": 0.1}, (0, 3), parameters={"g": 2}, tolerance=1e-11)

    def rates(t, y):
        x, v = y
        return [v, -(4 * x * v * v + 2 * 2 * x) / (1 + 4 * x * x)]

    peer = solve_ivp(rates, (0, 3), [0.8, 0.1], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(peer, abs=1e-9)
    assert motion.final["y"] == pytest.approx(peer[0] ** 2 - 1, abs=1e-9)


@pytest.mark.parametrize("written", [{"u": "sin(2*t) + t/3"}, {"u": None}])
def test_rows_that_time_and_inputs_drive(written, monkeypatch):
    """x' = u(t)*cos(theta) + t*theta', y' = u(t)*sin(theta): theta'' follows from the bordered equations with the derivatives of u."""
    system = ch.System(
        "x y theta", "m J", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2 - x", inputs=written,
        kinematic=["x' = u*cos(theta) + t*theta'", "y' = u*sin(theta)"],
    )  # fmt: skip
    monkeypatch.setattr(Reduction, "cost_of_step", 0.0)  # whatever they cost, reduced velocities are used here
    equations = ch.derive(system, ch.DAlembert())
    assert _reduced(equations) is not None
    start, values = {"x": 0.1, "y": 0.2, "theta": 0.4, "theta'": 0.7}, {"m": 1.3, "J": 0.6}
    inputs = {"u": "sin(2*t) + t/3"} if written["u"] is None else None
    motion = ch.simulate(equations, start, (0, 2), parameters=values, inputs=inputs, tolerance=1e-12)

    def rates(t, y):
        _, _, th, w = y
        u, du, s, c = np.sin(2 * t) + t / 3, 2 * np.cos(2 * t) + 1 / 3, np.sin(th), np.cos(th)
        rows = np.array([[1, 0, -t], [0, 1, 0]])
        bias = np.array([du * c - u * s * w + w, du * s + u * c * w])
        matrix = np.block([[np.diag([1.3, 1.3, 0.6]), -rows.T], [rows, np.zeros((2, 2))]])
        found = np.linalg.solve(matrix, np.array([-1, 0, 0, *bias]))
        return np.array([u * c + t * w, u * s, w, found[2]])

    peer = solve_ivp(rates, (0, 2), [0.1, 0.2, 0.4, 0.7], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    assert [motion.final[z] for z in ("x", "y", "theta", "theta'")] == pytest.approx(peer, abs=1e-9)


def test_ensembles_and_prepared_runs_have_the_bits_of_simulate():
    equations = ch.derive(SLEIGH, ch.DAlembert())
    headings = np.linspace(-0.4, 0.6, 9)
    starts = {**START, "theta": headings}
    many = ch.simulate_many(equations, starts, (0, 3), parameters=VALUES)
    run = ch.prepare(equations, t=(0, 3), outputs=["x", "y'", "theta"])
    for k, heading in enumerate(headings):
        start = {**START, "theta": float(heading)}
        one = ch.simulate(equations, start, (0, 3), parameters=VALUES, keep="final")
        assert [many[z][k] for z in ("x", "y'", "theta")] == [one.final[z] for z in ("x", "y'", "theta")]
        assert list(run(*run.start(start, parameters=VALUES))) == [one.final[z] for z in ("x", "y'", "theta")]


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-9])
def test_given_times_of_one_motion_and_of_members_are_the_same_bits(tolerance):
    """States at given times satisfy the rows up to the tolerance only; reduced rates there seemed wrong, and the motion ran once more."""
    equations, times = ch.derive(SLEIGH, ch.DAlembert()), np.linspace(0, 4, 9)
    one = ch.simulate(equations, START, times, parameters=VALUES, tolerance=tolerance)
    many = ch.simulate_many(equations, {k: np.full(3, v) for k, v in START.items()}, times, parameters=VALUES, tolerance=tolerance)
    for name in ("x", "y", "theta", "x'", "y'", "theta'"):
        assert np.array_equal(many[name][1], one[name])
    whole = ch.simulate(equations, START, (0, 4), parameters=VALUES, tolerance=tolerance)
    assert whole.final["x"] == one.final["x"]
