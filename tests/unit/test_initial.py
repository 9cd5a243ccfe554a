"""Initial data: completed, moved, refused. Expected values are closed forms of the constraint at hand."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chetaev as ch
from chetaev.core.state import State
from chetaev.mechanics.ranks.factored import least_norm
from chetaev.numerics.flow.prolongation import Problem, prolongation
from chetaev.numerics.graphs.binding import bind
from chetaev.numerics.start.data import read_state
from chetaev.numerics.start.initial import complete

PENDULUM = ch.derive(
    ch.System("x y", "l", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = l^2"], name="pendulum"), ch.DAlembert()
)
UNIT = {"l": 1}
SPEED = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x'^2 + y'^2 = 1"], name="speed"), ch.Chetaev())
TYRE = ch.gallery("rocard")


def completed(equations, start, parameters=None, t=0.0):
    """The state by name, expressions among the data allowed."""
    binding = bind(equations.system, parameters, None, "test")
    data = read_state(equations, start, binding, "test", expressions=True)
    return {z.name: v for z, v in complete(Problem(prolongation(equations), binding, t, "test"), data).items()}


def refusal(equations, start, parameters=None, t=0.0):
    with pytest.raises(ch.InitialError) as caught:
        completed(equations, start, parameters, t)
    return caught.value


def tyre(**changes):
    """Rocard's start with some values replaced, or left out where None."""
    return {k: v for k, v in {**TYRE.start.fixed, **changes}.items() if v is not None}


# -- what is found -----------------------------------------------------------------------------------------------------------


def test_fixed_values_stay_bit_by_bit():
    """0.1 + 0.2 and a third are not representable: any detour through a step would show."""
    start = {"x": 0.1 + 0.2, "x'": 1 / 3}
    found = completed(PENDULUM, State(start, {"y": -0.7}), UNIT)
    assert found["x"] == 0.1 + 0.2 and found["x'"] == 1 / 3
    y = -math.sqrt(1 - (0.1 + 0.2) ** 2)
    assert found["y"] == pytest.approx(y, abs=1e-15)
    assert found["y'"] == pytest.approx(-(0.1 + 0.2) / 3 / y, abs=1e-15)


def test_fixed_values_stay_in_a_large_system():
    model = ch.gallery("chain", n=6)
    found = completed(ch.derive(model), model.start, model.parameters)
    assert {k: found[k] for k in model.start.fixed} == dict(model.start.fixed)


def test_data_good_to_nine_digits_are_projected():
    """Nothing but the fixed values can take up the residual, and it is below what counts as a contradiction."""
    given = {"x": 0.6, "y": -0.8 + 1e-10, "x'": 0.4, "y'": 0.3 + 1e-10}
    found = completed(PENDULUM, given, UNIT)
    assert all(abs(found[k] - v) < 1e-9 for k, v in given.items())
    assert abs(found["x"] ** 2 + found["y"] ** 2 - 1) < 1e-15
    assert abs(found["x"] * found["x'"] + found["y"] * found["y'"]) < 1e-15


def test_guesses_move_less_than_what_was_never_given():
    """One row x' + y' + z' = 1, two guesses of 0: with weights 0.3, 0.3 the least weighted move is 1/2 each when z' is fixed."""
    line = ch.derive(ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["x + y + z = 1"]), ch.DAlembert())
    fixed = {"z": 0.0, "x'": 0.0, "y'": 0.0}
    found = completed(line, State(fixed, {"x": 0.0, "y": 0.0}))
    assert found["x"] == pytest.approx(0.5) and found["y"] == pytest.approx(0.5)
    assert found["z"] == 0.0
    alone = completed(line, State({"x'": 0.0, "y'": 0.0}, {"x": 0.2, "y": 0.1}))  # z was never given, so z takes it all
    assert (alone["x"], alone["y"]) == pytest.approx((0.2, 0.1)) and alone["z"] == pytest.approx(0.7)


def test_guesses_count_as_data_for_what_follows():
    found = completed(PENDULUM, State({"x'": 0.4}, {"x": 0.6, "y": -0.9}), UNIT)
    length = math.hypot(0.6, 0.9)
    assert (found["x"], found["y"]) == pytest.approx((0.6 / length, -0.9 / length), rel=1e-12)  # the nearest point of the circle
    assert found["y'"] == pytest.approx(0.4 * 0.6 / 0.9, rel=1e-12)


def test_any_sufficient_subset_will_do():
    """Rocard: x1' = psi' cos(theta - epsilon), so x1' can stand for psi'."""
    found = completed(ch.derive(TYRE), tyre(**{"psi'": None, "x1'": 1.7}), TYRE.parameters)
    assert found["psi'"] == pytest.approx(1.7 / math.cos(0.35), rel=1e-15)
    assert found["x2'"] == pytest.approx(1.7 * math.tan(0.35), rel=1e-15)


def test_a_jet_above_the_state_adds_a_row():
    """Rocard: epsilon' is no state variable; given in place of theta' it determines theta' by the hidden constraint."""
    found = completed(ch.derive(TYRE), tyre(**{"theta'": None, "epsilon'": 0.1}), TYRE.parameters)
    e, i, m, a = 0.15, 0.7, 1.5, 3.0
    assert found["theta'"] == pytest.approx(0.1 + a / m * math.sin(e) * (i + m * math.cos(e)) / (m + i * math.cos(e)) / 1.8, rel=1e-12)


def test_an_acceleration_moves_a_guess():
    """At (0.6, -0.8) x'' = -0.48 - 0.6 v^2; x'' = -1 asks for v^2 = 0.52/0.6, and the guess decides the sign."""
    for sign in (1, -1):
        found = completed(PENDULUM, State({"x": 0.6, "y": -0.8, "x''": -1}, {"x'": sign}), UNIT)
        assert found["x'"] == pytest.approx(sign * 0.8 * math.sqrt(0.52 / 0.6), rel=1e-12)
    assert "2 solutions found: x' = " in refusal(PENDULUM, {"x": 0.6, "y": -0.8, "x''": -1}, UNIT).why


def test_expressions_are_data():
    found = completed(PENDULUM, State({"atan2(x, -y)": "pi/6", "x'": 0.3}, {"x": 0.1, "y": -1}), UNIT)
    assert (found["x"], found["y"]) == pytest.approx((0.5, -math.sqrt(0.75)), rel=1e-12)
    linear = completed(PENDULUM, {"x": 0.6, "y": -0.8, "x' - y'": 1}, UNIT)  # x' = 4u, y' = 3u
    assert (linear["x'"], linear["y'"]) == pytest.approx((4.0, 3.0), rel=1e-12)


def test_redundant_rows_are_no_trouble():
    """A parallelogram with a third crank: four rows of rank three on the motion; the cranks stay parallel."""
    rows = [
        "cos(a) + 2*cos(d) - cos(b) = 2",
        "sin(a) + 2*sin(d) - sin(b) = 0",
        "cos(a) + cos(d) - cos(c) = 1",
        "sin(a) + sin(d) - sin(c) = 0",
    ]
    angles = dict.fromkeys("abcd", "angle")
    bars = ch.derive(ch.System(angles, lagrangian="(a'^2 + 2*b'^2 + 3*c'^2 + d'^2)/2", kinematic=rows), ch.DAlembert())
    found = completed(bars, State({"a": 0.7, "a'": 1.0}, {"b": 0.75, "c": 0.65, "d": 0.05}))
    assert [found[k] for k in ("b", "c", "d", "b'", "c'", "d'")] == pytest.approx([0.7, 0.7, 0, 1, 1, 0], abs=1e-12)


def test_a_bad_guess_does_not_run_away():
    """Newton's step from theta = 1.5 on cos(theta) = 0.9 goes to 14.6; a damped one does not leave the half-turn."""
    pair = ch.System({"theta": "angle", "x": "line"}, lagrangian="(theta'^2 + x'^2)/2", kinematic=["10*cos(theta) + x/10 = 0"])
    found = completed(ch.derive(pair, ch.DAlembert()), State({"x": -90, "x'": 0.0}, {"theta": 0.05}))
    assert abs(found["theta"]) == pytest.approx(math.acos(0.9), rel=1e-12)


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e11])
def test_units_do_not_matter(length):
    found = completed(PENDULUM, State({"x": 0.6 * length, "x'": 0.0}, {"y": -0.5 * length}), {"l": length})
    assert found["y"] == pytest.approx(-0.8 * length, rel=1e-12)


@pytest.mark.parametrize("text", ["pi/6", "l/2 - l + 1/2 + pi/6"])
def test_texts_are_values(text):
    assert completed(PENDULUM, State({"x": text, "x'": 0}, {"y": -1}), UNIT)["x"] == pytest.approx(math.pi / 6)


# -- what is refused -----------------------------------------------------------------------------------------------------------


def test_too_few_data_are_named_from_the_lowest_order_up():
    error = refusal(ch.derive(TYRE), {"psi": 0.2}, TYRE.parameters)
    assert error.what == "no initial values for theta epsilon x1 x2 psi' theta'."
    assert error.why == "x1' x2' then follow from the constraints."
    assert refusal(PENDULUM, {}, UNIT).what == "no initial values for x x'."


def test_what_is_named_suffices():
    """The names in the message, given, complete the state."""
    for model in (TYRE, ch.gallery("snakeboard"), ch.gallery("trailer"), ch.gallery("greidanus")):
        equations = ch.derive(model)
        names = refusal(equations, {}, model.parameters).hint.partition("}")[0]
        whole = ch.evaluate(equations, model.start, parameters=model.parameters)
        given = {part.split('"')[1]: whole[part.split('"')[1]] for part in names.split(", ")[1:]}
        found = completed(equations, State(given, {}), model.parameters)
        assert {k: v for k, v in found.items() if k in given} == given
        assert {k: whole[k] for k in found} == pytest.approx(found, abs=1e-9)


def test_free_multipliers_of_vakonomic_motion():
    model = ch.gallery("disk")
    error = refusal(ch.derive(model.system, ch.Vakonomic()), model.start, model.parameters, t=1.5)
    assert error.what == "no initial values for lambda1 lambda2."
    assert error.why == "lambda1 at t = 1.5 is free data in vakonomic motion."


def test_a_contradiction_says_what_each_value_would_have_to_be():
    error = refusal(PENDULUM, {"x": 0.6, "y": -0.9, "x'": 1}, UNIT)
    assert error.what == "the data contradict kinematic[0]: it is off by 0.17."
    assert error.why == "x = 0.6 would have to be 0.43589, or y = -0.9 would have to be -0.8."  # sqrt(1 - 0.81), sqrt(1 - 0.36)


def test_a_contradiction_of_velocities():
    """x x' + y y' = 0 at (0.6, -0.8): 3 x' = 4 y'."""
    error = refusal(PENDULUM, {"x": 0.6, "y": -0.8, "x'": 1, "y'": 1}, UNIT)
    assert error.what.startswith("the data contradict kinematic[0]':")
    assert "x' = 1 would have to be 1.33333" in error.why and "y' = 1 would have to be 0.75" in error.why


def test_a_contradiction_of_an_expression():
    error = refusal(PENDULUM, {"x": 0.6, "y": -0.8, "x'": 1, "x'*y": 2}, UNIT)
    assert error.what == "the data contradict x'*y = 2: it is off by -2.8."
    assert "x' = 1 would have to be -2.5" in error.why


def test_several_solutions_are_listed():
    error = refusal(SPEED, {"x": 0, "y": 0, "x'": 0.6})
    assert error.what == "y' is missing, and the equations for it are not linear."
    assert sorted(error.why.removeprefix("2 solutions found: ").removesuffix(".").split(" | ")) == ["y' = -0.8", "y' = 0.8"]
    assert 'guess={"y\'": ...}' in error.hint


def test_solutions_are_counted_modulo_whole_turns():
    """sin(theta) = 0.5 has two solutions on the circle: pi/6 and 5 pi/6; as a line coordinate they repeat."""
    arm = ch.System({"theta": "angle", "x": "line"}, lagrangian="(theta'^2 + x'^2)/2", kinematic=["sin(theta) = x"])
    error = refusal(ch.derive(arm, ch.DAlembert()), {"x": 0.5, "x'": 1})
    assert error.why.startswith("2 solutions found: ")
    found = [float(part.split("=")[1]) % (2 * math.pi) for part in error.why.removesuffix(".").split(":")[1].split("|")]
    assert sorted(found) == pytest.approx([math.pi / 6, 5 * math.pi / 6], abs=1e-4)


def test_no_solution_at_all():
    error = refusal(PENDULUM, {"x": 2, "x'": 0}, UNIT)
    assert error.why == "No solution was found.  x = 2 would have to be 1."


@pytest.mark.parametrize(
    "start", [{"x": 1, "y": 0, "x'": 0.2}, {"x": 1, "y": math.cos(math.pi / 2), "x'": 0.2}, State({"x": 1, "x'": 0.2}, {"y": -0.7})]
)
def test_at_a_turning_point_the_velocity_contradicts(start):
    """At y = 0 the rod stands level: x' = 0, whatever y'. Dividing by y = 6e-17 would give y' = 3e15."""
    error = refusal(PENDULUM, start, UNIT)
    assert error.what == "the data contradict kinematic[0]': it is off by 0.4."
    assert "x' = 0.2 would have to be 0" in error.why
    assert "turning point: the rows have no slope in y' here." in error.why


def test_at_a_turning_point_a_velocity_is_free():
    assert completed(PENDULUM, {"x": 1, "y": 0, "x'": 0, "y'": 0.5}, UNIT)["y'"] == 0.5
    for equations, start, values in ((PENDULUM, {"x": 1, "y": 0, "x'": 0}, UNIT), (SPEED, {"x": 0, "y": 0, "x'": 1}, None)):
        error = refusal(equations, start, values)
        assert error.what == "no initial value for y'."
        assert error.why == "These data are at a turning point: the rows have no slope in y' here."


def test_unknown_names_bring_the_state():
    with pytest.raises(ch.NotationError) as caught:
        completed(ch.derive(TYRE), tyre(eps=1), TYRE.parameters)
    assert caught.value.hint == "the state is psi psi' theta theta' epsilon x1 x1' x2 x2'"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "1/0", "log(0)", "nan", None, True, 1j, "t"])
def test_values_that_are_no_numbers(bad):
    for start in ({"x": bad, "x'": 0}, State({"x": 0.6, "x'": 0}, {"y": bad})):
        with pytest.raises(ch.ChetaevError):
            completed(PENDULUM, start, UNIT)


def test_parameters_and_time_are_no_data():
    for name in ("l", "t", "2*l"):
        with pytest.raises(ch.InitialError, match="not an unknown of the motion"):
            completed(PENDULUM, {"x": 0.6, name: 1}, UNIT)


def test_an_expression_is_given_once():
    with pytest.raises(ch.InitialError, match="given twice"):
        completed(PENDULUM, {"x": 0.6, "x*y": 1, "y*x": 1}, UNIT)


def test_the_end_of_a_motion_is_a_start_with_rates_of_multipliers_too():
    """The 4-lift of Rocard's tyre has lambda1' in its state."""
    tyre = ch.gallery("rocard")
    lifted = ch.lift(tyre, n=4)
    start = lifted.forward(tyre.start, parameters=tyre.parameters)
    first = ch.simulate(lifted.target, start, (0, 0.2), parameters=tyre.parameters, tolerance=1e-11)
    assert "lambda1'" in first.final
    second = ch.simulate(lifted.target, first.final, (0.2, 0.4), parameters=tyre.parameters, tolerance=1e-11)
    whole = ch.simulate(tyre, t=(0, 0.4), tolerance=1e-12)
    assert second.final["epsilon"] == pytest.approx(whole.final["epsilon"], abs=1e-9)


def test_round_off_beside_ones_does_not_bend_the_scales():
    """An entry of 1e-17 in a row and a column of ones is nothing; scales that count it used to lose the rank of a regular matrix."""
    matrix = np.array([[-0.3, 0, 0, 1], [1, 0, 0, 0], [0, 1, 2.8e-17, 0], [2.8e-17, 0, 1, 0]])
    right = np.array([0.1, 0.67, -2.8, 1.02])
    found, null = least_norm(matrix, right)
    assert null.shape[1] == 0
    assert found == pytest.approx([0.67, -2.8, 1.02, 0.301], abs=1e-14)


def test_round_off_in_one_row_does_not_end_the_search_in_others():
    """Scales of rows differ by 33 orders of magnitude here; the solution, by hand, has all digits whatever the numbers are."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        a, (b0, b1, b2, b3) = rng.uniform(-1, 1), rng.uniform(-3, 3, 4)
        found, _ = least_norm(np.array([[a, 0, 0, 1], [1, 0, 0, 0], [0, 1, 2.8e-17, 0], [2.8e-17, 0, 1, 0]]), np.array([b0, b1, b2, b3]))
        assert found == pytest.approx([b1, b2, b3, b0 - a * b1], abs=1e-14)


def test_small_masses_are_no_round_off():
    found, null = least_norm(np.array([[1.0, 1e-20], [1e-20, 3e-20]]), np.array([1.0, 4e-20]))
    assert null.shape[1] == 0 and found == pytest.approx([1, 1])


def tilted(kind, row, lagrangian):
    return ch.derive(ch.System({"A": kind}, lagrangian=lagrangian, kinematic=[row]), ch.DAlembert())


def mended(error):
    """The element that a message asks for."""
    return [float(part) for part in error.why.rsplit("[", 1)[1].split("]")[0].split(",")]


def test_a_rotation_that_contradicts_is_told_in_rotation_vectors():
    """The places of a rotation are no numbers of the user's: the message says where A itself would have to stand, and that it does."""
    equations = tilted("SO3 body", "A33 = 1/2", "(A1'^2 + A2'^2 + A3'^2)/2")
    error = refusal(equations, {"A": [0.1, 0.2, 0.3], "A1'": 0, "A2'": 0, "A3'": 1})
    assert "A = [0.1, 0.2, 0.3] would have to be another element, such as [" in error.why
    assert "(rotation vectors)" in error.why
    for place in ("A.w", "A.x", "A.y", "A.z"):
        assert place not in str(error)
    assert Rotation.from_rotvec(mended(error)).as_matrix()[2, 2] == pytest.approx(0.5, abs=1e-4)


def test_the_element_that_is_asked_for_may_be_the_only_one():
    equations = tilted("S1", "A11 = 0", "A1'^2/2")
    assert refusal(equations, {"A": 0.3, "A1'": 0}).why == "A = 0.3 would have to be 1.5708."


def test_a_rigid_motion_that_contradicts_is_told_by_position_and_rotation_vector():
    lagrangian = "(A1'^2 + A2'^2 + A3'^2 + A4'^2 + A5'^2 + A6'^2)/2"
    equations = tilted("SE3 spatial", "A14 + A33 = 3", lagrangian)
    error = refusal(equations, {"A": [1, 0, 0, 0.1, 0.2, 0.3], **{f"A{k}'": 0 for k in range(1, 7)}})
    x, _, _, *turn = mended(error)
    assert x + Rotation.from_rotvec(turn).as_matrix()[2, 2] == pytest.approx(3, abs=1e-4)
    flat = tilted("SE2 body", "A13 = 4*A23", "(A1'^2 + A2'^2 + A3'^2)/2")
    error = refusal(flat, {"A": [1, 0, 0.1], **{f"A{k}'": 0 for k in range(1, 4)}})
    x, y, _ = mended(error)
    assert x == pytest.approx(4 * y, abs=1e-4)
