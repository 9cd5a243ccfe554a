"""Parts of ensembles: members that meet corners, members that never start, data completed together, orders of elimination."""

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.enclosures.global_bounds import may_vanish
from chetaev.numerics.ensemble import run, simulate_many
from chetaev.numerics.ensemble.batch import all_in_rows, as_slice
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.elimination import Samples, elimination_order, pivot_orders
from chetaev.numerics.methods.accuracy import usual_sizes

BLOCK = ch.derive(ch.System("x", "mu k", lagrangian="x'^2/2 - k*x^2/2", forces={"x": "-mu*sign(x')"}, name="block with dry friction"))


def test_dry_friction_turns_and_sticks():
    """Each half swing shortens the amplitude by 2 mu/k; the block stays where k |x| <= mu at a turning point."""
    x0 = np.array([0.95, 2.0, 3.35, 0.05, -2.0])
    ensemble = simulate_many(BLOCK, {"x": x0, "x'": 0}, (0, 60), parameters={"mu": 0.1, "k": 1.0}, tolerance=1e-10)
    assert len(ensemble.failed) == 0
    swings = np.maximum(np.ceil((np.abs(x0) - 0.1) / 0.2), 0)
    rest = np.sign(x0) * (-1.0) ** swings * (np.abs(x0) - 0.2 * swings)
    np.testing.assert_allclose(ensemble.final["x"], rest, atol=1e-8)
    np.testing.assert_allclose(ensemble.final["x'"], 0, atol=1e-9)
    np.testing.assert_allclose(ensemble.final["x''"], 0, atol=1e-8)


def test_members_without_a_corner_on_their_way_are_not_slowed_down():
    """x'' = -mu until the block stops at t = v/mu; only the last member stops within the interval."""
    v = np.linspace(2.0, 0.5, 40)
    free = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2", forces={"x": "-mu*sign(x')"}))
    ensemble = simulate_many(free, {"x": 0, "x'": v}, (0, 1.9), parameters={"mu": 0.3}, tolerance=1e-11)
    t = np.minimum(1.9, v / 0.3)
    np.testing.assert_allclose(ensemble.final["x"], v * t - 0.15 * t**2, atol=1e-9)
    np.testing.assert_allclose(ensemble.final["x'"], v - 0.3 * t, atol=1e-9)
    assert np.flatnonzero([k in ensemble.final.alone for k in range(40)]).tolist() == np.flatnonzero(v / 0.3 < 1.9).tolist()
    np.testing.assert_allclose(ensemble.final["sign(x')"], np.sign(v - 0.3 * t).round(9), atol=1e-12)


def test_members_that_pass_a_corner_there_and_back_within_a_step():
    """x = sin(t) meets a wall c = 1 - depth with the force -2F beyond it, or stays below it; steps are long at this tolerance."""
    wall = ch.derive(ch.System("x", "c F", lagrangian="x'^2/2 - x^2/2", forces={"x": "-F*(1 + sign(x - c))"}))
    depth, F, t = np.array([0.2, 1e-2, 1e-3, 1e-4, 1e-5, -1e-5, -1e-3, -0.2]), 0.7, 4.0
    ensemble = simulate_many(wall, {"x": 0, "x'": 1}, (0, t), parameters={"c": 1 - depth, "F": F}, tolerance=1e-7)
    assert sorted(ensemble.final.alone) == [0, 1, 2, 3, 4]
    c = np.minimum(1 - depth, 1)
    v = np.sqrt(1 - c**2)
    s = t - np.arcsin(c) - (depth > 0) * (np.pi - 2 * np.arctan2(c + 2 * F, v))  # since the wall was left, or the top was reached
    np.testing.assert_allclose(ensemble.final["x"], c * np.cos(s) - v * np.sin(s), atol=3e-6)
    np.testing.assert_allclose(ensemble.final["x'"], -c * np.sin(s) - v * np.cos(s), atol=3e-6)


@pytest.mark.parametrize(("z", "touches"), [(3.0, False), (-3.0, True)])
def test_whether_a_determinant_touches_zero_is_asked_with_the_modes_of_the_start(z, touches, monkeypatch):
    """The mass of y is sin(x)^2 + 1 + sign(z), and x moves through pi."""
    found = []
    monkeypatch.setattr(run, "may_vanish", lambda *given: found.append(may_vanish(*given)) or found[-1])
    stepped = ch.derive(ch.System("x y z", lagrangian="x'^2/2 + z'^2/2 + (sin(x)^2 + 1 + sign(z))*y'^2/2"))
    start = {"x": np.linspace(0.5, 1.0, 8), "x'": 1, "y": 0, "y'": 0, "z": z, "z'": 0}
    ensemble = simulate_many(stepped, start, (0, 5.5))
    assert found == [touches]
    assert (ensemble.outcome == ("left_domain" if touches else "finished")).all()


def test_corners_of_inputs_and_nested_ones():
    """x'' = sign(sin(t)) from rest: x'(t) = |((t + pi) mod 2 pi) - pi| for t > 0; abs(abs(x) - 1) is a corner within a corner."""
    pushed = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": "sign(sin(t))"}))
    ensemble = simulate_many(pushed, {"x": [0.0, 5.0], "x'": 0}, (0.5, 9.0), tolerance=1e-11)
    zigzag = abs((9.0 + np.pi) % (2 * np.pi) - np.pi) - 0.5
    np.testing.assert_allclose(ensemble.final["x'"], zigzag, atol=1e-9)
    nested = ch.derive(ch.System("x", lagrangian="x'^2/2 - abs(abs(x) - 1)"))
    starts = {"x": np.array([0.5, -0.5, 1.5, -1.5]), "x'": np.array([0.1, -0.1, 0.1, -0.1])}
    ensemble = simulate_many(nested, starts, (0, 0.4), tolerance=1e-11)
    slope = np.array([1.0, -1.0, -1.0, 1.0])
    np.testing.assert_allclose(ensemble.final["x"], starts["x"] + 0.4 * starts["x'"] + slope * 0.08, atol=1e-9)


def test_a_member_with_corners_is_the_single_run():
    x0 = np.array([2.0, 1.3])
    ensemble = simulate_many(BLOCK, {"x": x0, "x'": 0.2}, (0, 9), parameters={"mu": [0.1, 0.3], "k": 1.0})
    for k, mu in enumerate((0.1, 0.3)):
        alone = ch.simulate(BLOCK, {"x": x0[k], "x'": 0.2}, (0, 9), parameters={"mu": mu, "k": 1.0}, keep="final")
        assert {name: alone.final[name] for name in alone.final} == {name: ensemble.final[name][k] for name in ensemble.final}
        assert dict(alone.counts) == {name: counts[k] for name, counts in ensemble.counts.items()}
        assert (alone.outcome, alone.message) == (ensemble.outcome[k], ensemble.message(k))


def test_never_started_and_failed_on_the_way_are_told_apart():
    """x'' = -1/x^2 from rest at 1 falls into the centre; at x = 0 there is no equation; NaN is no state."""
    kepler = ch.derive(ch.System("x", lagrangian="x'^2/2 + 1/x"))
    ensemble = simulate_many(kepler, {"x": [4.0, 1.0, 0.0, np.nan], "x'": 0}, (0, 2))
    assert ensemble.started.tolist() == [True, True, False, False]
    assert ensemble.failed.tolist() == [1, 2, 3]
    assert ensemble.status[2:].tolist() == [-1, -1]
    assert ensemble.t[1] > 1
    assert np.isfinite(ensemble.final["x"]).tolist() == [True, True, False, False]
    assert [ensemble.message(k) for k in (2, 3)] == [
        "1/x^2 has no finite value at this state.",
        "x = nan at the start is not finite.",
    ]
    assert str(ensemble).splitlines()[1].startswith("  4 members: 1 finished, 1 ")
    assert str(ensemble).splitlines()[1].endswith(", 2 did not start")


def test_guesses_moved_together_go_where_single_ones_go():
    model = ch.gallery("cartesian-pendulum")
    equations, length = ch.derive(model), float(model.parameters["l"])
    chance = np.random.default_rng(11)
    x, y, speed = length * chance.uniform(-0.9, 0.9, 200), chance.uniform(-3, 3, 200), chance.uniform(-1, 1, 200)
    ensemble = simulate_many(equations, ch.State({"x": x, "x'": speed}, {"y": y}), (0, 0.1), parameters=model.parameters)
    assert len(ensemble.failed) == 0
    root = np.sqrt(length**2 - x**2)
    np.testing.assert_allclose(np.abs(ensemble.start["y"]), root, atol=1e-12)
    np.testing.assert_allclose(ensemble.start["y'"], -x * speed / ensemble.start["y"], atol=1e-10)
    for k in range(0, 200, 10):
        now = ch.evaluate(equations, ch.State({"x": x[k], "x'": speed[k]}, {"y": y[k]}), parameters=model.parameters)
        assert {name: ensemble.start[name][k] for name in ("x", "y", "x'", "y'")} == {name: now[name] for name in ("x", "y", "x'", "y'")}
        assert ensemble.start["x"][k] == x[k]


def test_loose_guesses_of_many_jets_go_where_single_ones_go():
    """Nothing fixed: all four jets move, weighted by their sizes."""
    model = ch.gallery("cartesian-pendulum")
    equations = ch.derive(model)
    chance = np.random.default_rng(12)
    guess = {name: chance.uniform(0.4, 1.2, 60) for name in ("x", "y", "x'", "y'")}
    ensemble = simulate_many(equations, ch.State({}, guess), (0, 0.1), parameters=model.parameters)
    for k in range(0, 60, 6):
        now = ch.evaluate(equations, ch.State({}, {name: v[k] for name, v in guess.items()}), parameters=model.parameters)
        for name in guess:
            assert ensemble.start[name][k] == pytest.approx(now[name], abs=1e-11)


def test_redundant_constraints():
    """The same rod twice: elimination has fewer pivots than unknowns, the motion is that of one rod."""
    system = ch.System("x y", "l g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2", "2*x^2 + 2*y^2 = 2*l^2"])
    once = ch.System("x y", "l g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"])
    angle = np.linspace(-1, 1, 9)
    starts = {"x": np.sin(angle), "y": -np.cos(angle), "x'": 0.3 * np.cos(angle), "y'": 0.3 * np.sin(angle)}
    values = {"l": 1.0, "g": 9.81}
    twice, single = (
        simulate_many(ch.derive(s, ch.DAlembert()), starts, (0, 2), parameters=values, tolerance=1e-11) for s in (system, once)
    )
    assert len(twice.failed) == 0
    np.testing.assert_allclose(twice.final["x"], single.final["x"], atol=1e-8)
    np.testing.assert_allclose(twice.final.reaction("x"), single.final.reaction("x"), atol=1e-7)


def test_orders_of_elimination_chosen_together_are_those_chosen_alone():
    chance = np.random.default_rng(5)
    for _ in range(60):
        n = int(chance.integers(1, 7))
        mask, lasting = chance.random((n, n)) < 0.6, chance.random((n, n)) < 0.4
        samples = [chance.normal(size=(n, n)) * mask for _ in range(3)]
        matrices = chance.normal(size=(10, n, n)) * mask * (chance.random((10, n, n)) < 0.9)
        together = [None] * 10
        for order, members in pivot_orders(matrices, Samples.of(samples), n, lasting).items():
            for k in members:
                together[k] = order
        alone = [elimination_order(Samples.of([a, *samples]), n, lasting) for a in matrices]
        assert together == [order if len(order.pairs) == n else None for order in alone]


def test_typical_sizes_of_several_motions_at_once():
    state = compile_equations(ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2 - x^2 - y^2)/2"))).flow.state
    assert [z.name for z in state] == ["x", "x'", "y", "y'"]
    found = usual_sizes(np.array([[1.0, 3.0, 4.0, 0.5], [1.0, 3.0, 4.0, 0.5], [0.0, 0.0, 2.0, 1.0]]), state, np.array([-1.0, 8.0, 0.0]))
    assert found.tolist() == [[4.0, 4.0, 4.0, 4.0], [4.0, 3.0, 4.0, 3.0], [2.0, 1.0, 2.0, 1.0]]
    assert usual_sizes(np.array([1.0, 3.0, 4.0, 0.5]), state, 0.5).tolist() == [4.0, 8.0, 4.0, 8.0]


def test_members_that_follow_each_other_are_a_slice():
    assert as_slice(np.arange(3, 9)) == slice(3, 9)
    for members in ([], [1, 3, 2, 4], [0, 2, 3], [2, 1]):
        assert as_slice(found := np.array(members, np.int64)) is found
    assert all_in_rows(np.array([[True, True], [False, True]])).tolist() == [True, False]
    assert all_in_rows(np.ones((2, 3), bool)).tolist() == [True, True]
