"""Branches and gauges: motions of systems whose states form a union of manifolds, or leave functions of time free."""

import importlib

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

CAWLEY = ch.derive(ch.System("q1 q2 q3", lagrangian="q1'*q3' + q2^2*q3/2", name="cawley"))
GAUGE = ch.derive(ch.System("q1 q2", lagrangian="(q1' - q2)^2/2"))
CHRIST_LEE = ch.derive(ch.System("x y q", "k", lagrangian="((x' + q*y)^2 + (y' - q*x)^2)/2 - k*(x^2 + y^2)/2"))
SADDLE = ch.derive(ch.System("x y", lagrangian="x'*y' - x*y^2", kinematic=["x' = 0"]), ch.DAlembert())
CLAIRAUT = ch.derive(ch.System("x", lagrangian="0", kinematic=["x = t*x' - x'^2/2"], variational=[]), ch.VirtualWork())
W = {
    "w1": "psi'*sin(theta)*sin(phi) + theta'*cos(phi)",
    "w2": "-psi'*sin(theta)*cos(phi) + theta'*sin(phi)",
    "w3": "phi' + psi'*cos(theta)",
}
BALL = ch.derive(
    ch.System(
        "theta phi psi a1 a2",
        "I M g",
        lagrangian="I/2*(theta'^2 + phi'^2 + psi'^2 + 2*phi'*psi'*cos(theta)) + M/2*(a1'^2 + a2'^2)",
        quasi=W,
        kinematic=["a1' = w2'", "a2' = -w1'", "w1'*w2'' - w2'*w1'' = w3'*(w1'^2 + w2'^2)"],
        variational=["δa1 = δw2", "δa2 = -δw1"],
    ),
    ch.VirtualWork(),
)
STRAIGHT = {"q1": 0.2, "q3": 0.7, "q1'": 0.5, "q3'": -0.4}
DRIVEN = {"q1": 0.2, "q1'": 0.5}


def certified(motion, most=1e-6):
    assert motion.outcome == "finished"
    assert motion.verify().worst < most
    assert max(v for k, v in motion.drift.items() if k != "balance") < 1e-12
    return motion


# -- branches ------------------------------------------------------------------------------------------------------------------------


def test_a_start_on_one_branch_selects_it():
    """q3 is not zero, so q2 = q2' = 0 and everything is uniform."""
    motion = certified(ch.simulate(CAWLEY, STRAIGHT, (0, 3), tolerance=1e-11))
    assert [motion.final[n] for n in ("q1", "q2", "q3", "q1'", "q3'")] == pytest.approx([1.7, 0, -0.5, 0.5, -0.4], abs=1e-12)
    now = ch.evaluate(CAWLEY, STRAIGHT)
    assert [now[n] for n in ("q2", "q2'", "q1''", "q3''")] == pytest.approx([0] * 4, abs=1e-15)


@pytest.mark.parametrize("branch", [0, "q2 = 0", "q2 = q2' = 0", "{q2 = 0, q2' = 0}", "q2", "leaf", "analysis"])
def test_a_branch_is_named_in_many_ways(branch):
    if branch == "leaf":
        branch = ch.constraint_algorithm(CAWLEY).leaves[0]
    if branch == "analysis":
        branch = ch.analyze(CAWLEY).branches[0]
    motion = certified(ch.simulate(CAWLEY, STRAIGHT | {"q3": 0.0}, (0, 1), branch=branch))
    assert motion.final["q3"] == pytest.approx(-0.4, abs=1e-12)


def test_a_motion_passes_where_branches_cross():
    """On {q2 = 0} q3 goes through zero, where the other branch begins; the branch's rows carry it on."""
    motion = certified(ch.simulate(CAWLEY, {"q1": 0, "q1'": 1, "q3": 0.4, "q3'": -0.4}, (0, 2), branch=0))
    assert motion.final["q3"] == pytest.approx(-0.4, abs=1e-12)


def test_where_branches_cross_a_choice_is_needed():
    with pytest.raises(ch.BranchError, match=r"lies on 2 of them: branch 0 \{q2 = q2' = 0\}, branch 1 \{q3 = q3' = 0\}"):
        ch.simulate(CAWLEY, {"q1": 0.2, "q1'": 0.5, "q2": 0, "q2'": 0, "q3": 0, "q3'": 0}, (0, 1))


def test_a_state_on_no_branch():
    with pytest.raises(ch.BranchError, match="none of the 2 branches"):
        ch.evaluate(CAWLEY, {"q1": 0.2, "q1'": 0.5, "q2": 1, "q3": 1})


@pytest.mark.parametrize("branch", [2, -1, "q1 = 0", True, 1.5])
def test_a_branch_that_is_none(branch):
    with pytest.raises((ch.BranchError, ch.UsageError), match=r"branch=0  or  branch=1"):
        ch.simulate(CAWLEY, STRAIGHT, (0, 1), branch=branch)


def test_a_system_with_one_branch_needs_no_choice():
    model = ch.gallery("transformer")
    with pytest.raises(ch.UsageError, match="does not need it"):
        ch.simulate(model, branch=0)


def test_a_branch_that_is_left_at_its_singular_states():
    """Cawley's system beside a mass that vanishes with its place: x x'' + x'^2/2 = 0, x^(3/2) falls linearly to zero at t = 4/3."""
    system = ch.System("q1 q2 q3 x", lagrangian="q1'*q3' + q2^2*q3/2 + x*x'^2/2")
    motion = ch.simulate(ch.derive(system), {**STRAIGHT, "x": 1, "x'": -0.5}, (0, 3))
    assert motion.outcome == "left_domain" and "singular" in motion.message
    assert motion.end[0] == pytest.approx(4 / 3, abs=1e-6)
    assert motion.at(1.0)["x"] == pytest.approx(0.25 ** (2 / 3), abs=1e-8)


def test_clairaut_and_its_envelope():
    """x = t x' - x'^2/2: the lines x = c t - c^2/2, and their envelope x = t^2/2 with x'' = 1."""
    line = certified(ch.simulate(CLAIRAUT, {"x": 0.555, "x'": 0.3}, (2, 3)))
    assert line.final["x"] == pytest.approx(0.3 * 3 - 0.045, abs=1e-12)
    envelope = certified(ch.simulate(CLAIRAUT, {}, (2, 3), branch="2*x = t^2"))
    assert (envelope.final["x"], envelope.final["x'"], envelope["x''"][-1]) == pytest.approx((4.5, 3, 1), abs=1e-12)
    with pytest.raises(ch.BranchError, match="lies on 2 of them"):
        ch.simulate(CLAIRAUT, {"x": 2, "x'": 2}, (2, 3))
    found = ch.analyze(CLAIRAUT)
    assert (found.verdict, [b.dimension for b in found.branches]) == ("BRANCHING", [1, 0])


def test_both_branches_of_the_ball_of_second_order():
    """w3 = 0: it rolls straight with constant angular velocity. w1 = w2 = 0: it spins in place."""
    place, values = {"theta": 1.1, "phi": 0.3, "psi": -0.4, "a1": 0.2, "a2": 0.1}, {"I": 0.4, "M": 1.3, "g": 1}
    rolling = certified(ch.simulate(BALL, {**place, "theta'": 0.3, "psi'": 0.2}, (0, 1), parameters=values, tolerance=1e-11))
    for name in ("a1'", "a2'", "w1'", "w2'"):
        assert np.ptp(rolling[name]) < 1e-10
    assert np.abs(rolling["w3'"]).max() < 1e-13 and abs(rolling["a1'"][0]) > 0.05
    assert rolling.final["a1"] == pytest.approx(0.2 + rolling["a1'"][0], abs=1e-10)
    spinning = certified(ch.simulate(BALL, {**place, "phi'": 0.7}, (0, 1), parameters=values, branch="theta' = 0"))
    assert (spinning.final["phi"], spinning.final["a1"]) == pytest.approx((1.0, 0.2), abs=1e-12)
    with pytest.raises(ch.BranchError, match="none"):
        ch.simulate(BALL, {**place, "theta'": 0.3, "psi'": 0.2, "phi'": 0.5}, (0, 1), parameters=values)


# -- gauges --------------------------------------------------------------------------------------------------------------------------


def test_cawley_driven_by_a_gauge():
    """q1'' = sin(t)^2/2: q1 = 0.2 + 0.5 t + t^2/8 + (cos(2 t) - 1)/16."""
    motion = certified(ch.simulate(CAWLEY, DRIVEN, (0, 2), gauge={"q2": "sin(t)"}, tolerance=1e-11))
    t = motion.t
    assert motion["q1"] == pytest.approx(0.2 + 0.5 * t + t**2 / 8 + (np.cos(2 * t) - 1) / 16, abs=1e-11)
    assert motion["q2'"] == pytest.approx(np.cos(t), abs=1e-13)
    now = ch.evaluate(CAWLEY, DRIVEN, gauge={"q2": "sin(t)"}, t=0.4)
    assert (now["q1''"], now["q2''"], now["q3"]) == pytest.approx((np.sin(0.4) ** 2 / 2, -np.sin(0.4), 0), abs=1e-14)


def test_a_gauge_may_depend_on_the_state_on_parameters_and_on_inputs():
    motion = certified(ch.simulate(CAWLEY, DRIVEN, (0, 2), branch=1, gauge={"q2": "q1"}, tolerance=1e-11))
    exact = solve_ivp(lambda t, y: [y[1], y[0] ** 2 / 2], (0, 2), [0.2, 0.5], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    assert (motion.final["q1"], motion.final["q2"]) == pytest.approx((exact[0], exact[0]), abs=1e-9)
    system = ch.System("q1 q2", "w", lagrangian="(q1' - q2)^2/2 + 0*w", inputs={"u": None})
    motion = ch.simulate(
        ch.derive(system), {"q1": 0.1}, (0, 1), parameters={"w": 3}, inputs={"u": "cos(w*t)"}, gauge={"q2": "w*u"}, tolerance=1e-11
    )
    assert motion.final["q1"] == pytest.approx(0.1 + np.sin(3), abs=1e-10)


def test_any_coordinate_may_carry_the_gauge():
    """L = (q1' - q2)^2/2 demands q1' = q2: either function determines the other."""
    by_rate = certified(ch.simulate(GAUGE, {"q1": 0.2}, (0, 2), gauge={"q2": "cos(2*t)"}, tolerance=1e-11))
    assert by_rate["q1"] == pytest.approx(0.2 + np.sin(2 * by_rate.t) / 2, abs=1e-11)
    by_place = certified(ch.simulate(GAUGE, {}, (0, 2), gauge={"q1": "cos(2*t)"}))
    assert by_place["q2"] == pytest.approx(-2 * np.sin(2 * by_place.t), abs=1e-12)
    by_speed = ch.evaluate(GAUGE, {"q1": 0.2, "q2": 0.3}, gauge={"q2'": "t^2"}, t=0.5)
    assert (by_speed["q1'"], by_speed["q1''"], by_speed["q2'"]) == pytest.approx((0.3, 0.25, 0.25), abs=1e-14)


def test_the_radius_does_not_see_the_gauge():
    """Christ and Lee: x^2 + y^2 is gauge invariant, r'' = -k r without angular momentum; q = 0 gives two oscillators."""
    start, values = {"x": 1, "y": 0.2, "x'": 0.3}, {"k": 1.7}
    radii = []
    for q in ("0", "sin(t)", "x*y"):
        motion = certified(ch.simulate(CHRIST_LEE, start, (0, 0.6), parameters=values, gauge={"q": q}, tolerance=1e-11))
        first = ch.evaluate(CHRIST_LEE, start, parameters=values, gauge={"q": q})
        r, rate = np.hypot(1, 0.2), first["x*x' + y*y'"] / np.hypot(1, 0.2)
        w = np.sqrt(1.7)
        radii.append((motion.final["sqrt(x^2 + y^2)"], r * np.cos(0.6 * w) + rate / w * np.sin(0.6 * w)))
    for found, exact in radii:
        assert found == pytest.approx(exact, abs=1e-9)


def test_without_a_gauge_the_missing_function_is_named():
    with pytest.raises(ch.GaugeError) as caught:
        ch.simulate(CAWLEY, DRIVEN | {"q2": 0.1}, (0, 1))
    assert str(caught.value).splitlines() == [
        "GaugeError · simulate 'cawley', branch {q3 = q3' = 0}",
        "  q2(t) is not fixed by the equations: one free function, u1 = q2''.",
        '  -> simulate(..., gauge={"q2": "0.1 + sin(t)"})',  # which meets the start
    ]
    two = ch.derive(ch.System("a b c d", lagrangian="(a' - b)^2 + (c' - d)^2"))
    with pytest.raises(ch.GaugeError, match="two free functions"):
        ch.evaluate(two, {"a": 0, "c": 0})
    with pytest.raises(ch.GaugeError, match=r"(?s)one free function.*leaves it open"):
        ch.evaluate(two, {"a": 0, "c": 0}, gauge={"b": "t"})
    assert ch.evaluate(two, {"a": 0}, gauge={"b": "t", "c": "t^3"}, t=2)["d'"] == pytest.approx(12)


@pytest.mark.parametrize(
    ("gauge", "kind", "text"),
    [
        ({"q3": "sin(t)"}, ch.GaugeError, "contradicts"),
        ({"q3": "0"}, ch.GaugeError, "leaves it open"),
        ({"q2": "sin(t)", "q1": "t"}, ch.GaugeError, "2 gauge functions"),
        ({}, ch.UsageError, "no gauge function"),
        ({"q4": "t"}, ch.NotationError, "unknown name"),
        ({"t": "t"}, ch.GaugeError, "not an unknown"),
        ("q2", ch.UsageError, "not by name"),
    ],
)
def test_gauges_that_do_not_do(gauge, kind, text):
    with pytest.raises(kind, match=text):
        ch.simulate(CAWLEY, DRIVEN, (0, 1), branch=1, gauge=gauge)


def test_a_gauge_that_is_not_needed():
    with pytest.raises(ch.UsageError, match="does not need it"):
        ch.simulate(CAWLEY, STRAIGHT, (0, 1), branch=0, gauge={"q2": "sin(t)"})
    with pytest.raises(ch.UsageError, match="does not need it"):
        ch.simulate(ch.gallery("transformer"), gauge={"I1": "sin(t)"})


def test_a_start_off_the_gauge_is_refused():
    with pytest.raises(ch.InitialError, match=r"gauge\[q2\]"):
        ch.simulate(GAUGE, {"q1": 0, "q2": 0.5}, (0, 1), gauge={"q2": "sin(t)"})


def test_a_multiplier_that_nothing_determines_moves_a_coordinate():
    """L = x'y' - x y^2 with x' = 0: on x = 0 the multiplier, and with it y'' = lambda1 - y^2, is free; on y = 0 all rests."""
    found = ch.analyze(SADDLE)
    assert (found.verdict, [b.verdict for b in found.branches]) == ("BRANCHING", ["GAUGE", "CONSTRAINED"])
    motion = certified(ch.simulate(SADDLE, {"x": 0}, (0, 1), gauge={"y": "sin(t)"}))
    assert motion["lambda1"] == pytest.approx(np.sin(motion.t) ** 2 - np.sin(motion.t), abs=1e-12)
    rest = ch.evaluate(SADDLE, {"x": 0.2})
    assert (rest["y"], rest["y'"], rest["lambda1"]) == pytest.approx((0, 0, 0), abs=1e-15)


def test_a_motion_on_a_branch_is_stored(tmp_path):
    from chetaev.numerics.motion.storage import load

    motion = ch.simulate(CAWLEY, DRIVEN, (0, 1), gauge={"q2": "sin(t)"})
    again = load(motion.save(tmp_path / "motion.npz"))
    assert again["q1"] == pytest.approx(motion["q1"], abs=0)
    assert again.at(0.3)["q2"] == pytest.approx(np.sin(0.3), abs=1e-12)


# -- what analyze makes of it --------------------------------------------------------------------------------------------------------


def test_branches_of_an_analysis_can_be_used_as_equations():
    driven = ch.analyze(CAWLEY).branches[1]
    assert (driven.verdict, driven.hidden, driven.free_functions, driven.dimension) == ("GAUGE", ("q3", "q3'"), ("q2",), 4)
    now = ch.evaluate(driven.equations, DRIVEN, gauge={"q2": "1 + t"})
    assert now["q1''"] == pytest.approx(0.5)


def test_what_the_budget_does_not_decide_is_said(monkeypatch):
    from chetaev.numerics.verdict import analyze

    monkeypatch.setattr(analyze, "SECONDS_DECIDED", 1e-3)
    found = ch.analyze(ch.gallery("transformer"))
    assert (found.verdict, found.dimension) == ("CONSTRAINED", 2)
    assert "did not finish: the work allowed ran out" in found.evidence and not found.tree.complete


def test_accounts_that_contradict_each_other_are_undecided():
    from dataclasses import replace

    from chetaev.numerics.verdict.branches import branches_of
    from chetaev.numerics.verdict.combined_verdict import joined

    by_numbers = replace(ch.analyze(GAUGE), verdict=ch.Verdict.CONSTRAINED, free_functions=(), dimension=1)
    found = joined(by_numbers, branches_of(GAUGE))
    assert found.verdict == "UNDECIDED" and "contradict each other" in found.evidence


def test_parameters_are_generic():
    found = ch.analyze(ch.gallery("transformer"))
    assert "L1*L2 - M^2 != 0" in found.assumptions
    assert found.leaf is not None and found.tree.complete
    assert not any("consequence" in row for row in found.hidden)


def test_a_stated_row_that_follows_from_the_branch_is_not_judged_by_round_off():
    lines = ch.derive(ch.System("x y z", lagrangian="(x'^2 + y'^2)/2 + z*(x^2 - 2*y^2)"))
    motion = ch.simulate(lines, {"x": "sqrt(2)", "y": 1.0, "y'": 0.3}, t=(0, 1))
    assert motion.final["x"] == pytest.approx(1.3 * np.sqrt(2), abs=1e-12)
    assert motion.final["x'"] == pytest.approx(0.3 * np.sqrt(2), abs=1e-12)
    down = ch.derive(ch.System("th x", lagrangian="x'^2/2 + x*cos(th)"))
    now = ch.evaluate(down, {"th": "pi", "x": 1, "x'": 0.5})
    assert (now["x''"], now["th''"]) == pytest.approx((-1, 0), abs=1e-12)
    assert ch.simulate(down, {"th": "pi", "x": 1, "x'": 0.5}, t=(0, 2)).final["x"] == pytest.approx(0, abs=1e-9)


def test_a_double_root_is_simulated_on_its_branch():
    """003, 9.1: q1^2 = 0 has no slope where it holds; the branch says q1 = 0, and q2 is free."""
    motion = ch.simulate(ch.gallery("krupkova"), {}, (0, 2), gauge={"q2": "sin(3*t)"})
    assert motion.outcome == "finished"
    assert motion.final["q1"] == 0 and motion.final["q2"] == pytest.approx(np.sin(6))


# -- gauges of group coordinates -----------------------------------------------------------------------------------------------------

ROD = ch.derive(ch.System({"A": "SO3 body"}, "I", lagrangian="I/2*(A1'^2 + A2'^2)", name="rod"))
"""A rod without thickness: its spin about itself is free."""
ROD_START = {"A": [0.1, 0.2, 0.3], "A1'": 1.0, "A2'": 0.5}


def test_the_free_spin_of_a_rod_is_named_by_its_velocity():
    """A3 without a prime is no quantity of the notation: what the hint says can be given."""
    assert ch.analyze(ROD).free_functions == ("A3'",)
    with pytest.raises(ch.GaugeError) as caught:
        ch.evaluate(ROD, ROD_START, parameters={"I": 2.0})
    assert str(caught.value).splitlines() == [
        "GaugeError · evaluate 'rod'",
        "  A3'(t) is not fixed by the equations: one free function, u1 = A3''.",
        '  -> evaluate(..., gauge={"A3\'": "sin(t)"})',
    ]
    now = ch.evaluate(ROD, ROD_START, parameters={"I": 2.0}, gauge={"A3'": "sin(t)"}, t=0.4)
    assert now["A3''"] == pytest.approx(np.cos(0.4))
    assert now["A1''"] == pytest.approx(np.sin(0.4) * 0.5)  # Euler: I w1' = I w2 w3 for I3 = 0
    assert now["A2''"] == pytest.approx(-np.sin(0.4) * 1.0)


def test_an_entry_is_no_gauge_of_a_rod():
    with pytest.raises(ch.GaugeError, match=r"jets of A1' A2' A3'"):
        ch.evaluate(ROD, ROD_START, parameters={"I": 2.0}, gauge={"A12": "t"})


def test_where_only_numbers_tell_the_free_spin_is_named_by_its_velocity():
    """With an entry in the potential the constraint algorithm is not asked."""
    heavy = ch.derive(ch.System({"A": "SO3 body"}, "I", lagrangian="I/2*(A1'^2 + A2'^2) - A33"))
    assert ch.analyze(heavy).free_functions == ("A3'",)
    with pytest.raises(ch.GaugeError, match=r"gauge=\{\"A3'\": \"sin\(t\)\"\}"):
        ch.evaluate(heavy, ROD_START, parameters={"I": 2.0})


@pytest.mark.parametrize("narrow", ["(1 + tanh(100*(x - 0.938)))/2", "exp(-(100*(x - 5))^2)"])
def test_what_underflows_is_no_family(narrow):
    """Functions without a root, whose floats vanish at most random points: 15 jets of the state and one row leave 14 free values."""
    system = ch.System("x y z", lagrangian="x'''^2/2 + y'^2/2 + z'''^2/2 - x^2/2", kinematic=[f"x' = {narrow}*y' + 0.3*z^2*z'"])
    found = ch.analyze(ch.derive(system, ch.Vakonomic()))
    assert found.verdict is ch.Verdict.REGULAR
    assert found.dimension == 14


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e9])
def test_units_do_not_put_a_state_on_two_branches(unit):
    """Cawley's q1'' = q2^2/2, q3'' = 0 where q2 = 0: uniform motion, whatever a length is called."""
    start = {"q1": unit, "q2": 0, "q3": 0.5 * unit, "q1'": unit, "q2'": 0, "q3'": 0.2 * unit}
    motion = ch.simulate(CAWLEY, start, (0, 1))
    assert motion.outcome == "finished"
    assert (motion.final["q1"] / unit, motion.final["q3"] / unit) == pytest.approx((2, 0.7), rel=1e-9)


def test_what_ran_out_once_is_not_tried_again(monkeypatch):
    """Numbers decide this system, and branches are not found in the work allowed: analyze, evaluate and simulate ask once."""
    asked = []
    home = importlib.import_module("chetaev.singular.algorithm")
    algorithm = home.constraint_algorithm
    monkeypatch.setattr(home, "constraint_algorithm", lambda *a, **k: asked.append(k) or algorithm(*a, **k))
    row = "D(x,3)*y' + D(y,3)*x = 1 + sin(x)"
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x*z + sin(y)", kinematic=[row])
    equations = ch.derive(system, ch.Chetaev())
    start = {"x": 0.1, "y": 0.2, "z": 0.3, "x'": 0.1, "y'": 0.4, "z'": 0.2, "lambda1": 0.2}
    assert ch.analyze(equations).verdict is ch.Verdict.CONSTRAINED
    found = ch.evaluate(equations, start)
    assert found["x''"] == pytest.approx(-0.3 + 0.2 * 0.4)  # x'' + z = lambda1 y'
    assert ch.simulate(equations, start, (0, 0.01)).outcome == "finished"
    assert len(asked) == 1
