"""Motions: end states, drift, events, dense output, bad input."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.methods import base

SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))
REST = {"x": 1, "x'": 0}
SINGULAR = ("krupkova", "cawley", "transformer")

# Reference motions computed by independent means to 14 digits: gallery name, options, start, interval, end.
ENDS = {
    "cart-pendulum": {"x": -0.4208917443762907, "theta": 0.03022704915182999, "theta'": -0.22581837403184243},
    "rocard": {
        "psi": 3.666204903745213, "theta": 0.7424669230441151, "epsilon": -0.002488766298465032, "x1": 2.958991916344226,
        "x2": 1.707209962233198, "psi'": 1.697613748163916, "theta'": -0.1787364047191673,
    },
    "disk-contact": {
        "x": 1.3934820742174703, "y": 1.521381416499566, "theta": 2.5559418195298678, "varphi": 1.4527728491139382,
        "x'": 0.09693358051998477, "y'": 0.8174905857378606, "theta'": 0.8232174541410396, "s": 2.196554486802346,
    },
    "viscous-particle": {
        "x": 0.35744291031950365, "y": 0.4715261897957144, "z": 0.1263592057044939, "x'": -0.6020434150290146,
        "y'": -0.18412706519568117, "z'": -0.2665920071553069,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_reference_motions_end_where_they_should(name):
    model = ch.gallery(name)
    motion = ch.simulate(model, t=(0, 2), tolerance=1e-12)
    assert motion.outcome == "finished"
    for key, v in ENDS[name].items():
        assert motion.final[key] == pytest.approx(v, abs=1e-10)
    assert all(size < 1e-12 for label, size in motion.drift.items() if label != "balance")


def test_the_vakonomic_contact_sleigh():
    model = ch.gallery("sleigh-contact").under(ch.Herglotz(ch.Vakonomic()))
    start = {"x": 0.2, "y": -0.1, "theta": 0.5, "x'": 1.0530990742684472, "theta'": 0.8, "s": 0.3, "lambda1": -0.35}
    motion = ch.simulate(ch.derive(model), start, (0, 3), parameters={"alpha": 0.4, "beta": 0.25, "gamma": -0.2}, tolerance=1e-12)
    end = {
        "x": 0.9646646660868877,
        "y": 2.300301638527686,
        "theta": 2.204213290053625,
        "s": 1.6394528692551538,
        "lambda1": 0.8093224658595884,
    }
    for key, v in end.items():
        assert motion.final[key] == pytest.approx(v, abs=1e-10)


@pytest.mark.parametrize("name", [n for n in ch.gallery() if n not in SINGULAR])
def test_every_gallery_motion_keeps_constraints_energy_balance_and_invariants(name):
    model = ch.gallery(name)
    span = model.t[1] - model.t[0]
    motion = ch.simulate(model, t=(model.t[0], model.t[0] + min(span, 5.0)), tolerance=1e-11)
    assert motion.outcome == "finished"
    for label, size in motion.drift.items():
        assert size < (1e-12 if label != "balance" else 2e-8) * max(1.0, float(np.abs(motion.states).max()) ** 2), label
    for text in model.invariants.values():
        column = motion[text]
        assert np.ptp(column) < 1e-7 * max(1.0, np.abs(column).max()), text


def test_closed_form_and_dense_output():
    motion = ch.simulate(SPRING, REST, (0, 20), tolerance=1e-12)
    times = np.linspace(0, 20, 501)
    section = motion.at(times)
    assert np.abs(section["x"] - np.cos(times)).max() < 1e-9
    assert np.abs(section["x''"] + np.cos(times)).max() < 1e-9
    assert motion.at(1.5)["x"] == pytest.approx(math.cos(1.5), abs=1e-10)
    assert motion.energy == pytest.approx(np.full(len(motion), 0.5), abs=1e-11)


def test_dense_output_lies_on_the_constraints():
    motion = ch.simulate(ch.gallery("cartesian-pendulum"), t=(0, 5), tolerance=1e-9)
    section = motion.at(np.linspace(0, 5, 200))
    length = ch.gallery("cartesian-pendulum").parameters["l"]
    assert np.abs(section["x^2 + y^2"] - length**2).max() < 1e-12


def test_backwards_and_back_again():
    model = ch.gallery("double-pendulum")
    there = ch.simulate(model, t=(0, 3), tolerance=1e-12)
    back = ch.simulate(ch.derive(model), there.final, (3, 0), parameters=model.parameters, tolerance=1e-12)
    for name, v in model.start.fixed.items():
        assert back.final[name] == pytest.approx(v, abs=1e-8)


def test_chosen_times_and_final_only():
    kept = ch.simulate(SPRING, REST, [0, 1, 2.5], tolerance=1e-11)
    assert kept["x"] == pytest.approx(np.cos([0, 1, 2.5]), abs=1e-9)
    final = ch.simulate(SPRING, REST, (0, 2.5), tolerance=1e-11, keep="final")
    assert len(final) == 1
    assert final.final["x"] == pytest.approx(math.cos(2.5), abs=1e-9)
    assert final.extrema["x"][0] < -0.75
    with pytest.raises(ch.UsageError):
        kept.at(0.5)


@pytest.mark.parametrize("t", [[0, 5], np.array([0, 5]), np.array([0.0, 5.0])])
def test_two_times_are_an_interval_in_every_form(t):
    """So the docstring and the page on simulation say."""
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - 2*x^2"))
    interval, given = (ch.simulate(spring, {"x": 1, "x'": 0.5}, t) for t in ((0, 5), t))
    assert len(given.t) > 3 and given.t.tolist() == interval.t.tolist()
    assert given["x"].tolist() == interval["x"].tolist()
    assert ch.simulate(spring, {"x": 1, "x'": 0.5}, [0, 2.5, 5]).t.tolist() == [0, 2.5, 5]
    for told in (ch.simulate.__doc__, (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()):
        assert "Two times always mean an interval" in " ".join(told.split())


def test_multipliers_reactions_and_expressions_along_the_motion():
    model = ch.gallery("sleigh")
    motion = ch.simulate(model, tolerance=1e-11)
    now = ch.evaluate(ch.derive(model), motion.at(2.0), parameters=model.parameters)
    assert motion.at(2.0)["lambda1"] == pytest.approx(now["lambda1"], abs=1e-9)
    assert motion.reaction("x")[0] == pytest.approx(ch.evaluate(model).reaction("x"), abs=1e-12)


def test_inputs_drive_the_motion():
    """x'' = u with u = sin(w t): x = t/w - sin(w t)/w^2."""
    equations = ch.derive(ch.System("x", "w", lagrangian="x'^2/2 + x*u", inputs={"u": None}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 3), parameters={"w": 2}, inputs={"u": "sin(w*t)"}, tolerance=1e-12)
    assert motion.final["x"] == pytest.approx(3 / 2 - math.sin(6) / 4, abs=1e-11)
    assert motion["u"][-1] == pytest.approx(math.sin(6))
    assert motion.drift["balance"] < 1e-10


def test_events_are_located():
    motion = ch.simulate(SPRING, REST, (0, 10), tolerance=1e-12, events=["x", ch.On("x'", direction=1)])
    assert [e.t for e in motion.events] == pytest.approx([math.pi / 2, math.pi, 3 * math.pi / 2, 5 * math.pi / 2, 3 * math.pi], abs=1e-10)
    stopped = ch.simulate(SPRING, REST, (0, 10), tolerance=1e-12, events=[ch.On("x - 1/2", terminal=True)])
    assert stopped.outcome == "event"
    assert stopped.final["x"] == pytest.approx(0.5, abs=1e-11)
    assert stopped.end[0] == pytest.approx(math.pi / 3, abs=1e-10)


def test_a_singular_locus_ends_the_motion():
    """000: the cart-pendulum is singular at cos(theta) = -I/(m l b); pushed by a < 0 it gets there."""
    model = ch.gallery("cart-pendulum", friction=False)
    motion = ch.simulate(model, {"x": 0, "theta": 0.5, "theta'": 2.0}, (0, 20), parameters={"a": -4.0})
    assert motion.outcome in ("left_domain", "step_too_small")
    assert motion.end[0] < 20


def test_energy_that_changes_cannot_be_conserved():
    with pytest.raises(ch.UsageError, match="not a first integral"):
        ch.simulate(ch.gallery("rocard"), t=(0, 1), conserve="energy")


def test_energy_can_be_conserved_for_long():
    model = ch.gallery("cartesian-pendulum")
    motion = ch.simulate(model, t=(0, 500), tolerance=1e-9, conserve="energy", keep="final")
    assert motion.drift["balance"] < 1e-12
    assert motion.drift["kinematic[0]"] < 1e-12


def test_new_parameters_need_no_new_code():
    from chetaev.numerics.flow.compiled import compile_equations

    equations = ch.derive(ch.gallery("double-pendulum"))
    assert compile_equations(equations).rhs.address == compile_equations(equations).rhs.address


def test_rows_nonlinear_in_accelerations_keep_their_root():
    """A rocket with thrust of constant size: x''^2 + y''^2 = 1, no other force; the direction never changes."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - x/2", kinematic=["x''^2 + y''^2 = 1"])
    start = ch.State({"x": 0, "y": 0, "x'": 0, "y'": 0}, {"x''": -0.9, "y''": 0.0, "lambda1": 0.2})
    motion = ch.simulate(ch.derive(system, ch.Chetaev()), start, (0, 2), tolerance=1e-11)
    assert motion.final["x"] == pytest.approx(-2.0, abs=1e-9)
    assert max(motion.drift.values()) < 1e-9


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"t": (1, 1)}, ch.InitialError),
        ({"t": 5}, ch.UsageError),
        ({"t": None}, ch.UsageError),
        ({"t": (0, float("nan"))}, ch.InitialError),
        ({"t": (0, float("inf"))}, ch.InitialError),
        ({"t": [0, 2, 1]}, ch.InitialError),
        ({"t": (0, 1), "tolerance": 0}, ch.InitialError),
        ({"t": (0, 1), "tolerance": -1e-9}, ch.InitialError),
        ({"t": (0, 1), "keep": "all"}, ch.UsageError),
        ({"t": (0, 1), "conserve": "momentum"}, ch.UsageError),
        ({"t": (0, 1), "events": ["z"]}, ch.NotationError),
    ],
)
def test_bad_input_is_refused(arguments, error):
    with pytest.raises(error):
        ch.simulate(SPRING, REST, **arguments)


def test_a_budget_of_steps_is_an_outcome():
    motion = ch.simulate(SPRING, REST, (0, 1e6), max_steps=50)
    assert motion.outcome == "step_too_small"
    assert "50 steps" in motion.message


def test_blow_up_is_an_outcome():
    """x'' = 6 x^2 with x = 1/(1 - t)^2: the solution ends at t = 1."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 + 2*x^3"))
    motion = ch.simulate(equations, {"x": 1, "x'": 2}, (0, 2))
    assert motion.outcome in ("step_too_small", "left_domain")
    assert motion.end[0] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", ["sleigh", "disk", "knife-edge", "trailer", "leaning-disk", "snakeboard"])
def test_a_start_in_a_symmetric_position(name):
    """All angles zero: an order of elimination that suits random points may divide by sin(theta)."""
    model = ch.gallery(name)
    start = {k: (0.0 if "'" not in k else v) for k, v in model.start.fixed.items()}
    if name == "leaning-disk":
        start["theta"] = model.start.fixed["theta"]
    motion = ch.simulate(model, start, (0, 0.5))
    assert motion.outcome == "finished", motion.message


def test_inputs_that_the_equations_know_by_their_derivative_only():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 + x*u'", inputs={"u": "t^2"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 1), tolerance=1e-11)
    assert motion["u"][-1] == pytest.approx(1.0)
    assert motion["x'''"][-1] == pytest.approx(2.0)


def test_a_model_brings_its_tolerance():
    model = ch.gallery("double-pendulum")
    assert ch.simulate(model, t=(0, 1)).counts == ch.simulate(model, t=(0, 1), tolerance=model.tolerance).counts


def test_a_state_of_almost_zero_at_a_late_time():
    """The usual guess of the first step, a hundredth of state over rate, is below the round-off of time here."""
    fall = ch.derive(ch.System("z", lagrangian="z'^2/2 - 9.81*z"))
    motion = ch.simulate(fall, {"z": 6.6e-14, "z'": 2.8e-15}, (4, 6), tolerance=1e-11)
    assert motion.outcome == "finished", motion.message
    assert motion.final["z"] == pytest.approx(-9.81 * 2, rel=1e-12)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many", True])
def test_a_number_of_steps_that_is_none(wrong):
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    with pytest.raises(ch.UsageError, match="is not a number of steps"):
        ch.simulate(spring, {"x": 1, "x'": 0}, (0, 1), max_steps=wrong)
    with pytest.raises(ch.UsageError, match="is not a number of steps"):
        ch.simulate_many(spring, {"x": [1, 2], "x'": 0}, t=(0, 1), max_steps=wrong)


def test_a_text_is_no_interval_and_a_tolerance_has_a_limit():
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    with pytest.raises(ch.UsageError, match="is not an interval"):
        ch.simulate(spring, {"x": 1, "x'": 0}, "0, 1")
    with pytest.raises(ch.InitialError, match="beyond double precision"):
        ch.simulate(spring, {"x": 1, "x'": 0}, (0, 1), tolerance=1e-20)


def test_an_input_without_a_value_at_the_start():
    """The constraint contains u itself, the equations its rate 1/(2 sqrt(t))."""
    driven = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y' = x*x' + u"], inputs={"u": None}), ch.DAlembert())
    start = {"x": 1, "y": 0, "x'": 0.5}
    with pytest.raises(ch.StateError, match="no finite value at t = 0"):
        ch.simulate(driven, start, (0, 1), inputs={"u": "sqrt(t)"})
    assert ch.simulate(driven, start, (0.1, 1), inputs={"u": "sqrt(t)"}).outcome == "finished"


def _pendulums(count, tag):
    """A chain of pendulums of unit masses and lengths, with names of its own, so that no code is there already."""
    links = range(1, count + 1)
    q = f"q{tag}_"
    kinetic = " + ".join(
        f"{count + 1 - max(j, i)}/2*{q}{i}'*{q}{j}'*cos({q}{i} - {q}{j})" if i != j else f"{count + 1 - i}/2*{q}{i}'^2"
        for i in links
        for j in links
    )
    potential = " + ".join(f"{count + 1 - i}*g*cos({q}{i})" for i in links)
    equations = ch.derive(ch.System([f"{q}{i}" for i in links], "g", lagrangian=f"{kinetic} + {potential}"))
    return equations, {f"{q}{i}": 0.3 / i for i in links} | {f"{q}{i}'": 0.1 * i for i in links}


@pytest.mark.parametrize("end", [0.05, 3.0])
def test_a_first_try_with_plain_code_changes_nothing(end, monkeypatch):
    """A few steps end within the first try, many begin again with optimised code: the same motion to the last bit as without a try."""
    tried, start = _pendulums(6, f"a{int(end)}")
    plain, same_start = _pendulums(6, f"b{int(end)}")
    assert compile_equations(tried).rhs.provisional == (sys.platform == "linux")
    monkeypatch.setattr(base, "_FIRST_STEPS", 20)
    first = ch.simulate(tried, start, (0, end), parameters={"g": 9.81})
    assert compile_equations(tried).rhs.provisional == (sys.platform == "linux" and end < 1)
    assert (first.counts["accepted"] > 20) == (end > 1)
    monkeypatch.setattr(base, "_FIRST_STEPS", 10**9)
    second = ch.simulate(plain, same_start, (0, end), parameters={"g": 9.81})
    assert np.array_equal(first.t, second.t)
    assert np.array_equal(first.states, second.states)
    assert first.counts == second.counts


def test_regular_systems_do_not_wait_for_the_constraint_algorithm():
    code = "import sys, chetaev; chetaev.simulate; print('chetaev.singular.algorithm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("force", "y"), [("1/y", 0), ("sqrt(y)", -1), ("log(y)", 0), ("exp(y)", 800)])
def test_a_reaction_without_a_value_is_no_start(force, y):
    """The rates have values here: only the multiplier has none."""
    held = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x' = 0"], forces={"x": force}), ch.DAlembert())
    with pytest.raises(ch.StateError, match="no finite value at this state"):
        ch.simulate(held, {"x": 0, "y": y, "x'": 0, "y'": 1}, (0, 0.1))


def test_a_conservative_motion_into_a_singularity():
    """Near the locus round-off looks like power, and the state after a change of pivots has one component more."""
    lagrangian = "x'^2/2 + y'^2/2 + th'^2/4 + x'*th'/2 + 3/2*y*y'*th'"
    equations = ch.derive(ch.System("x y th", lagrangian=lagrangian, kinematic=["x*x' + y*y' = th'"]), ch.DAlembert())
    motion = ch.simulate(equations, {"x": 0.5, "y": 0.3, "th": 0, "x'": 1, "y'": 1}, (0, 3))
    assert motion.outcome == "left_domain"
    x, y = motion.final["x"], motion.final["y"]
    # the determinant of the mass matrix on the constraint's kernel, th' = x x' + y y'
    assert abs(9 * x**2 * y**2 - 2 * x**2 - 6 * x * y**2 - 4 * x - 13 * y**2 - 4) < 1e-2  # of terms of order 60


def test_parameters_for_which_a_quadratic_constraint_leaves_only_rest():
    """x'^2 + y'^2 = d th'^2 with d < 0 at the first random points: that is not what becomes of d = 2."""
    lagrangian = "a*(x'^2 + y'^2)/2 + b*th'^2/2 - c*cos(th)"
    system = ch.System("x y th", "a b c d", lagrangian=lagrangian, kinematic=["x'^2 + y'^2 = d*th'^2"])
    equations, values = ch.derive(system, ch.Chetaev()), {"a": 1.0, "b": 0.5, "c": 0.5, "d": 2.0}
    start = {"x": 0, "y": 0, "th": 0.4, "x'": 0.6, "y'": 0.8, "th'": math.sqrt(0.5)}
    motion = ch.simulate(equations, start, (0, 1), parameters=values)
    assert motion.outcome == "finished"
    # a v' = 2 lambda v along the track, b th'' = c sin(th) - 2 lambda d th', and v = sqrt(d) th'
    pull = 0.5 * math.sin(0.4) / (0.5 + 1.0 * 2.0)
    assert motion["th''"][0] == pytest.approx(pull, rel=1e-9)
    assert (motion["x''"][0], motion["y''"][0]) == pytest.approx((0.6 * math.sqrt(2) * pull, 0.8 * math.sqrt(2) * pull), rel=1e-9)
    assert motion["lambda1"][0] == pytest.approx(math.sqrt(2) * pull / 2, rel=1e-9)
