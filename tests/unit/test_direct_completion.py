"""Starts that are clear, and short motions in one piece: what is decided once gives what is decided anew."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.flow.prolongation import square_prolongation
from chetaev.numerics.graphs.binding import bind
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.motion.one_piece import one_piece
from chetaev.numerics.start.clear_states import clear_states, state_at_once
from interrupting import interrupted

BLADE = ch.derive(
    ch.System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y'*cos(theta) = x'*sin(theta)"]), ch.DAlembert()
)
REGULAR = ["sleigh", "double-pendulum", "leaning-disk", "damped-oscillator", "lagrange-top", "heisenberg", "foucault"]


def clear_state(equations, start, parameters=None):
    binding = bind(equations.system, parameters, None, "here")
    return state_at_once(equations, start, binding, 0.0, "here")


@pytest.mark.parametrize("name", ["sleigh", "double-pendulum", "leaning-disk", "foucault", "viscous-particle", "snakeboard"])
def test_accelerations_satisfy_the_rows_as_stated(name):
    """The rows are evaluated by another machine, one by one, from SymPy's expressions."""
    model = ch.gallery(name)
    equations = ch.derive(model)
    assert clear_states(square_prolongation(equations)) is not None
    now = ch.evaluate(model)
    left = ch.residual(equations, dict(now), parameters=model.parameters, inputs=model.inputs, t=model.t[0])
    assert max(map(abs, left.values())) < 1e-12 * max(1.0, *map(abs, now.values()))


@pytest.mark.parametrize("angle", [0.3, 1.5, -2.0])
def test_a_missing_velocity_follows_by_a_division(angle):
    found = clear_state(BLADE, {"x": 0, "y": 0, "theta": angle, "x'": 0.7, "theta'": 0.1})
    values = {z.name: v for z, v in found.state.items()}
    assert values["y'"] == pytest.approx(0.7 * math.tan(angle), rel=1e-15)


@pytest.mark.parametrize("angle", [math.pi / 2, math.pi / 2 + 1e-7, -math.pi / 2, 5 * math.pi / 2])
def test_a_divisor_of_round_off_is_no_divisor(angle):
    """cos(pi/2) is 6e-17 in floating point, and y' would be 1e16."""
    assert clear_state(BLADE, {"x": 0, "y": 0, "theta": angle, "x'": 0.7, "theta'": 0.1}) is None


def test_a_small_divisor_in_small_units_is_seen_too():
    """All positions are 1e-17: relative to them the divisor theta is not small."""
    rows = ch.derive(ch.System("x theta", lagrangian="(x'^2 + theta'^2)/2", kinematic=["sin(theta)*x' = theta'"]), ch.DAlembert())
    assert clear_state(rows, {"x": 0, "theta": 1e-17, "theta'": 0.1}) is None


def test_contradictions_and_guesses_are_judged():
    state = {"x": 0, "y": 0, "theta": 0.3, "x'": 0.7, "theta'": 0.1}
    assert clear_state(BLADE, {**state, "y'": 0.5}) is None
    assert clear_state(BLADE, {**state, "y'": 0.7 * math.tan(0.3)}) is not None
    assert clear_state(BLADE, ch.State(state, {"y'": 0.2})) is None
    assert clear_state(BLADE, {**state, "x''": 0.2}) is None
    with pytest.raises(ch.InitialError, match="contradict"):
        ch.simulate(BLADE, {**state, "y'": 0.5}, (0, 1))


def test_a_singular_state_is_judged():
    """The mass of theta vanishes at theta = 0."""
    rows = ch.derive(ch.System("theta", lagrangian="theta^2*theta'^2/2 - theta"))
    assert clear_state(rows, {"theta": 1, "theta'": 0}) is not None
    for theta in (0, 1e-9):
        assert clear_state(rows, {"theta": theta, "theta'": 1}) is None


def same(first, second):
    assert np.array_equal(first.t, second.t) and np.array_equal(first.states, second.states)
    for name in ("outcome", "message", "drift", "scales", "extrema", "counts", "certificate", "enclosed", "events", "tolerance", "jets"):
        assert getattr(first, name) == getattr(second, name), name
    assert first.asked == second.asked


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("options", [{}, {"keep": "final"}, {"t": [0, 0.1, 0.3]}, {"max_step": 0.05, "tolerance": (1e-7, 1e-9)}])
def test_the_hundredth_motion_is_the_first(name, options):
    """The first calls decide everything; later ones follow code that exists."""
    model = ch.gallery(name)
    options = {"t": (0, 0.3), **options}
    first = ch.simulate(model, **options)
    for _ in range(60):
        last = ch.simulate(model, **options)
    equations = ch.derive(model)
    binding = bind(equations.system, model.parameters, model.inputs, "here")
    assert one_piece(equations, binding.inputs) is not None
    same(first, last)
    assert np.array_equal(first.energy, last.energy)
    assert {name: first.final[name] for name in first.final} == {name: last.final[name] for name in last.final}


def test_a_long_motion_has_the_bits_of_the_first():
    model = ch.gallery("double-pendulum")
    first = ch.simulate(model, t=(0, 200), tolerance=1e-10, keep="final")
    for _ in range(60):
        ch.simulate(model, t=(0, 0.1))
    last = ch.simulate(model, t=(0, 200), tolerance=1e-10, keep="final")
    assert first.counts["accepted"] > 512
    same(first, last)


def test_ctrl_c_in_a_motion_of_known_equations_carries_the_part_that_was_computed():
    model = ch.gallery("double-pendulum")
    for _ in range(60):
        ch.simulate(model, t=(0, 0.1))
    stopped = interrupted(
        lambda: ch.simulate(model, t=(0, 1e9), keep="final", max_steps=10**9),
        begun=lambda error: hasattr(error, "motion") and error.motion.t[-1] > 0,
    )
    assert stopped.motion.outcome == "interrupted" and 0 < stopped.motion.t[-1] < 1e9


def test_equations_whose_long_motions_end_early_are_not_tried_again():
    falling = ch.derive(ch.System("x", lagrangian="x'^2/2 + 1/x"))
    for _ in range(60):
        ch.simulate(falling, {"x": 1, "x'": 0}, (0, 0.1))
    known = one_piece(falling, {})
    assert known is not None
    assert ch.simulate(falling, {"x": 1, "x'": 0}, (0, 3), max_step=0.005).outcome != "finished"
    assert one_piece(falling, {}) is None


def test_a_motion_that_ends_early_is_told_as_before():
    falling = ch.derive(ch.System("x", lagrangian="x'^2/2 + 1/x"))
    first = ch.simulate(falling, {"x": 1, "x'": 0}, (0, 3))
    for _ in range(60):
        ch.simulate(falling, {"x": 1, "x'": 0}, (0, 0.1))
    same(first, ch.simulate(falling, {"x": 1, "x'": 0}, (0, 3)))
    assert first.outcome != "finished"


def test_values_are_remembered_by_their_owner():
    known, made = Remembered(2), []

    def make(value):
        return lambda: made.append(value) or value

    a, b, c = object(), object(), object()
    assert [known.get(a, 1, make(1)), known.get(a, 1, make(2)), known.get(b, 1, make(3)), known.get(a, 1, make(4))] == [1, 1, 3, 1]
    known.get(c, 1, make(5))
    assert known.get(b, 1, make(6)) == 6 and made == [1, 3, 5, 6]


def on_a_circle():
    system = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = 1"])
    return ch.derive(system, ch.DAlembert())


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_velocities_follow_from_guessed_positions_by_divisions(side, monkeypatch):
    """On the circle y' = -x x'/y, whose sign is that of the side; one iteration, for y, and none for y'."""
    from chetaev.numerics.start import initial

    asked, settle = [], initial.settle_together
    monkeypatch.setattr(initial, "settle_together", lambda *given: asked.append(1) or settle(*given))
    now = ch.evaluate(on_a_circle(), ch.State({"x": 0.6, "x'": -0.9}, {"y": 0.9 * side}), parameters={"g": 9.81})
    assert (now["y"], now["y'"]) == pytest.approx((0.8 * side, 0.675 * side), rel=1e-15)
    assert len(asked) == 1


def test_members_at_a_turning_point_do_not_follow_the_others():
    """Where y = 0 the constraint says nothing about y': only that member lacks a value. The others have the bits of single starts."""
    starts = {"x": np.array([0.6, 1.0, -0.28]), "x'": np.array([-0.9, 0.0, 0.5])}
    data, given = ch.State(starts, {"y": np.array([-0.9, 0.1, 1.0])}), {"g": 9.81}
    found = ch.simulate_many(on_a_circle(), data, (0, 0.1), parameters=given)
    assert found.started.tolist() == [True, False, True] and "y'" in found.message(1)
    assert found.start["y'"][[0, 2]] == pytest.approx([-0.675, 0.28 * 0.5 / 0.96], rel=1e-14)
    for k, y in ((0, -0.9), (2, 1.0)):
        start = ch.State({z: float(v[k]) for z, v in starts.items()}, {"y": y})
        alone = ch.simulate(on_a_circle(), start, (0, 0.1), parameters=given, keep="final")
        assert [alone.final[z] for z in ("x", "y", "x'", "y'")] == [found.final[z][k] for z in ("x", "y", "x'", "y'")]


def test_a_motion_from_a_guess_in_one_piece(monkeypatch):
    """The first motion decides everything anew, a later one nothing: equal bits. A wrong guess is refused in the same words."""
    from chetaev.numerics.motion import simulate as whole

    equations, given = on_a_circle(), {"g": 9.81}
    start = ch.State({"x": 0.6, "x'": -0.9}, {"y": -0.9})

    def run(start=start):
        return ch.simulate(equations, start, (0, 0.3), parameters=given)

    first = run()
    while one_piece(equations, {}) is None:
        run()
    with pytest.raises(ch.InitialError) as refused:
        run(ch.State({"x": 1.6, "x'": -0.9}, {"y": -0.9}))
    assert "1.6" in str(refused.value)
    monkeypatch.setattr(whole, "begin", None)
    again = run()
    assert np.array_equal(first.states, again.states) and first.certificate == again.certificate
    assert again.states[0][[z.name for z in again.jets].index("y")] == pytest.approx(-0.8, rel=1e-15)
