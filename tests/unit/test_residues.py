"""Entries of an elimination that do not change along a motion: found where they are, and nowhere else."""

import casadi as ca
import numpy as np
import pytest

import chetaev as ch
from chetaev.core.symbols import Coordinate, Parameter
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.pivot_choice import make_flow
from chetaev.numerics.flow.prolongation import prolongation
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.bounds import Bounds
from chetaev.numerics.graphs.residues import residues_of
from chetaev.numerics.methods import dop853

SLEIGH = ch.System(
    "x y theta",
    parameters="m J a",
    lagrangian="m*((x' - a*sin(theta)*theta')^2 + (y' + a*cos(theta)*theta')^2)/2 + J*theta'^2/2",
    kinematic=["x'*sin(theta) = y'*cos(theta)"],
)


def residues(build):
    """The residue of a graph of one parameter and two symbols that move."""
    graph = GraphAlgebra()
    return residues_of(graph, [[build(*map(graph.leaf, (Parameter("p"), Coordinate("x"), Coordinate("y"))))]])


def constant(build):
    """Whether a graph is told to be constant along a motion."""
    return residues(build).is_constant(0, 0)


@pytest.mark.parametrize(
    "build",
    [
        lambda p, x, y: p * ca.sin(x) ** 2 + p * ca.cos(x) ** 2,
        lambda p, x, y: ca.sin(x * y - p) ** 2 + ca.cos(x * y - p) ** 2 + ca.exp(p),
        lambda p, x, y: 0 * x + p,
        lambda p, x, y: (x * ca.cos(y) / p - ca.cos(y) * (x / p)) + 1 / p,
        lambda p, x, y: (x + p) * (x - p) - x * x,
    ],
)
def test_identities_are_found(build):
    assert constant(build)


@pytest.mark.parametrize(
    "build",
    [
        lambda p, x, y: p + x * 1e-30,  # no tolerance: it changes
        lambda p, x, y: (ca.cos(x) ** 2 - 1) / (p * ca.sin(x) ** 2),  # the same where it has a value, and without one at zero
        lambda p, x, y: (p * y + x * y) / (p + x) - y + p,  # without one at zero if p = 0
        lambda p, x, y: ca.sqrt(p + x) * p - p * ca.sqrt(x + p) + p,  # without one at zero if p < 0
        lambda p, x, y: ca.sin(x) ** 2 + ca.cos(y) ** 2,
        lambda p, x, y: ca.sin(x) ** 2 + 1.0000000000000002 * ca.cos(x) ** 2,
        lambda p, x, y: ca.fmax(x, -5) - x,  # constant in places only
        lambda p, x, y: ca.fabs(x) / x,
        lambda p, x, y: ca.sin(x) ** 2 - ca.cos(x) ** 2,
        lambda p, x, y: ca.if_else(x > 3, p, 2 * p),
    ],
)
def test_what_changes_is_not_taken_for_constant(build):
    assert not constant(build)


def test_a_division_by_zero_is_no_answer():
    assert residues(lambda p, x, y: p / (ca.sin(x) ** 2 + ca.cos(x) ** 2 - 1)) is None
    assert residues(lambda p, x, y: p * np.inf) is None


def test_no_pivot_of_the_sleigh_depends_on_its_position():
    compiled = compile_equations(ch.derive(SLEIGH, ch.DAlembert()))
    flow = compiled.flow
    for pivot in flow.solved.pivots:
        assert all(isinstance(z, Parameter) for z in flow.graph.symbols(pivot))
    # the determinant of the bordered system is that of the mass matrix times the inverse of the inertia across the blade
    m, J, a = 1.3, 0.4, 0.7
    sizes = ca.Function("pivots", [flow.graph.vector(flow.system.equations.system.parameters)], [ca.vertcat(*flow.solved.pivots)])
    assert abs(float(np.prod(np.array(sizes([m, J, a]))))) == pytest.approx(m * (J + m * a * a), rel=1e-13)


@pytest.mark.parametrize("theta", [0.0, 0.3, np.pi / 2, 2.0, np.pi, -1.2])
def test_the_sleigh_in_every_direction(theta):
    """v' = a w^2 and w' = -m a v w / (J + m a^2) in the frame of the blade, where no direction is special."""
    m, J, a, v, w = 1.3, 0.4, 0.7, 0.9, -1.1
    values = {"m": m, "J": J, "a": a}
    start = {"x": 0.2, "y": -0.5, "theta": theta, "x'": v * np.cos(theta), "y'": v * np.sin(theta), "theta'": w}
    motion = ch.simulate(ch.derive(SLEIGH, ch.DAlembert()), start, (0, 1e-9), parameters=values)
    rate, turn = a * w * w, -m * a * v * w / (J + m * a * a)
    c, s = np.cos(theta), np.sin(theta)
    assert motion["x''"][0] == pytest.approx(rate * c - v * w * s, abs=1e-13)
    assert motion["y''"][0] == pytest.approx(rate * s + v * w * c, abs=1e-13)
    assert motion["theta''"][0] == pytest.approx(turn, abs=1e-13)
    # the reaction lambda (sin, -cos) is the mass times the acceleration of the mass centre across the blade, along (-sin, cos)
    assert motion["lambda1"][0] == pytest.approx(-m * (v * w + a * turn), abs=1e-13)


def test_a_turning_sleigh_keeps_its_pivots(monkeypatch):
    monkeypatch.setattr("chetaev.numerics.smooth_pieces.piece.Setting.renew", lambda *_: pytest.fail("other pivots were looked for"))
    values, start = {"m": 1.0, "J": 0.5, "a": 0.2}, {"x": 0, "y": 0, "theta": 0.1, "x'": np.cos(0.1), "y'": np.sin(0.1), "theta'": 5.0}
    motion = ch.simulate(ch.derive(SLEIGH, ch.DAlembert()), start, (0, 3), parameters=values, tolerance=1e-10)
    assert motion.outcome == "finished"
    assert np.ptp(motion["theta"]) > np.pi  # both sin(theta) and cos(theta) vanish on the way


def test_constant_pivots_are_not_preferred_without_constraints():
    """The mass matrix of a chain is full: its own order is as good as any."""
    chain = ch.System("a b c", lagrangian="a'^2 + b'^2 + c'^2 + a'*b'*cos(a - b) + b'*c'*cos(b - c)")
    assert not make_flow(prolongation(ch.derive(chain))).freeze


@pytest.mark.parametrize(
    ("factor", "row", "values"),
    [
        ("(m + c*t)", "x'*sin(th) - y'*cos(th) = b*th'", {"m": 0.0, "c": 1.0, "b": 0.5}),
        ("(x - m)^2", "x'*sin(th) - y'*cos(th) = b*th' + 0*c", {"m": 0.0, "c": 1.0, "b": 0.5}),
        ("sqrt(m + x)", "x'*sin(th) - y'*cos(th) = b*th' + 0*c", {"m": -0.5, "c": 1.0, "b": 0.5}),
        ("m", "(t + c)*(x'*sin(th) - y'*cos(th)) = b*(t + c)*th'", {"m": 1.3, "c": 0.0, "b": 0.5}),
    ],
)
def test_nothing_is_written_at_a_state_where_it_has_no_value(factor, row, values):
    """Values of parameters for which zero is a special state: the machine code agrees with rows that are solved as they stand."""
    lagrangian = f"{factor}*(x'^2 + y'^2 + th'^2)/2"
    equations = ch.derive(ch.System("x y th", "m c b", lagrangian=lagrangian, kinematic=[row]), ch.DAlembert())
    start = {"x": 0.9, "y": 0.2, "th": 1.0, "th'": 0.2, "y'": 0.3}
    motion = ch.simulate(equations, start, (1, 1.5), parameters=values)
    now = ch.evaluate(equations, start, parameters=values, t=1)
    assert motion.outcome == "finished"
    for name in ("x''", "y''", "th''", "lambda1"):
        assert motion[name][0] == pytest.approx(now[name], rel=1e-11, abs=1e-13)


def test_bounds_hold_at_all_states():
    """Sums and products of sines against their largest values at random states; what grows with the state has no bound."""
    p, q = ca.SX.sym("p", 2), ca.SX.sym("q", 3)
    graphs = [
        p[0] * ca.sin(q[0]) - p[1] * ca.cos(q[1]) / p[0],
        (p[0] - ca.sin(q[0] * q[2])) ** 2 * ca.cos(q[1]),
        -2 * ca.sin(p[0] + q[1] ** 3) * p[1],
        ca.exp(p[0]) * ca.cos(q[0] / q[1]),
    ]
    bounds = Bounds(q)
    found = ca.Function("f", [p, q], [ca.vertcat(*graphs), ca.vertcat(*[bounds.of(e) for e in graphs])])
    chance = np.random.default_rng(2)
    for _ in range(200):
        values, limits = found(chance.normal(size=2), chance.normal(size=3) * 3)
        assert np.all(np.abs(np.array(values)) <= np.array(limits) * (1 + 1e-14))
    assert [bounds.of(e) for e in (q[0] * p[0], ca.exp(q[0]), p[0] / ca.cos(q[0]), ca.tan(q[1]), ca.fmax(q[0], p[0]))] == [None] * 5
    long = ca.SX(1)
    for _ in range(1000):
        long = long * ca.sin(q[0] + long)
    assert bounds.of(long) is None


def watched(values, monkeypatch, **options):
    """How many functions are watched along a motion of the sleigh."""
    counts, run = [], dop853.run
    monkeypatch.setattr(dop853, "run", lambda code, *a, **k: counts.append(code.n_watch) or run(code, *a, **k))
    start = {"x": 0, "y": 0, "theta": 0.4, "x'": np.cos(0.4), "y'": np.sin(0.4), "theta'": 0.3}
    motion = ch.simulate(ch.derive(SLEIGH, ch.DAlembert()), start, (0, 1), parameters=values, **options)
    monkeypatch.undo()
    return counts[0], motion


def test_what_cannot_wear_out_is_not_watched(monkeypatch):
    ordinary = {"m": 1.0, "J": 0.5, "a": 0.2}
    count, motion = watched(ordinary, monkeypatch)
    assert count == 0 and motion.outcome == "finished"
    count, again = watched(ordinary, monkeypatch, events=["x - 100"])
    assert count == 3
    assert again.final["theta"] == pytest.approx(motion.final["theta"], abs=1e-9)


@pytest.mark.parametrize("values", [[1.0, 0.5, 0.2], [1e-3, 2.0, 5.0], [40.0, 1e-4, 1.0]])
def test_no_state_has_a_smaller_pivot_than_the_lowest(values):
    compiled = compile_equations(ch.derive(SLEIGH, ch.DAlembert()))
    flow = compiled.flow
    (lowest,) = flow.lowest_pivot(dict(zip(flow.system.equations.system.parameters, values, strict=True)))
    found = [compiled.watch()(0.0, [0, 0, 0, 0, theta, 0], [*values, 0.0])[1] for theta in np.linspace(-4, 4, 101)]
    assert 0 < lowest <= min(found) <= 1
