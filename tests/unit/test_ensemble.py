"""Ensembles: against closed forms, against single runs, and members that fail."""

import dataclasses
import pickle

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.ensemble import simulate_many
from interrupting import interrupted

SLEIGH = ch.gallery("sleigh")
EQUATIONS = ch.derive(SLEIGH)
VALUES = {"m": 1.2, "J": 0.5, "a": 0.35}
START = {"x": 0.1, "y": 0.4, "theta": -0.3, "x'": -0.8, "theta'": 1.1}


def sleighs(count, seed=3):
    """Starts spread over headings, speeds and spins, and parameters that differ too."""
    chance = np.random.default_rng(seed)
    heading, speed, spin = chance.uniform(-1.3, 1.3, count), chance.uniform(-1.5, 1.5, count), chance.uniform(0.2, 2.0, count)
    starts = {"x": 0.1, "y": chance.uniform(-1, 1, count), "theta": heading, "x'": speed * np.cos(heading), "theta'": spin}
    return starts, {"m": 1.2, "J": chance.uniform(0.3, 0.9, count), "a": chance.uniform(0.2, 0.5, count)}, speed


def one(values, k):
    """The values of one member."""
    return {name: float(np.broadcast_to(v, 10**6)[k]) if np.ndim(v) == 0 else float(v[k]) for name, v in values.items()}


def test_a_thousand_sleighs_against_the_closed_form():
    """v = c tanh(kt + f), theta' = (c/A) sech(kt + f) with A^2 = (J + m a^2)/m, c^2 = v^2 + A^2 theta'^2, k = a c/A^2 (Chaplygin 1911)."""
    starts, values, v = sleighs(1000)
    T = 3.0
    ensemble = simulate_many(EQUATIONS, starts, (0, T), parameters=values, tolerance=1e-11)
    assert len(ensemble) == 1000
    assert len(ensemble.failed) == 0
    A = np.sqrt((values["J"] + values["m"] * values["a"] ** 2) / values["m"])
    c = np.hypot(v, A * starts["theta'"])
    k = values["a"] * c / A**2
    f = np.arctanh(v / c)
    np.testing.assert_allclose(ensemble.final["v"], c * np.tanh(k * T + f), atol=1e-9)
    np.testing.assert_allclose(ensemble.final["theta'"], c / A / np.cosh(k * T + f), atol=1e-9)
    turned = c / (A * k) * (2 * np.arctan(np.tanh((k * T + f) / 2)) - 2 * np.arctan(np.tanh(f / 2)))
    np.testing.assert_allclose(ensemble.final["theta"], starts["theta"] + turned, atol=1e-9)
    assert ensemble.drift["kinematic[0]"].max() < 1e-14
    assert np.all(ensemble.t == T)


def test_each_member_is_the_single_run_bit_for_bit():
    starts, values, _ = sleighs(1000)
    ensemble = simulate_many(EQUATIONS, starts, (0, 5), parameters=values, tolerance=1e-8)
    for k in range(0, 1000, 40):
        start = {name: ensemble.start[name][k] for name in ensemble.start}
        alone = ch.simulate(EQUATIONS, start, (0, 5), parameters=one(values, k), tolerance=1e-8, keep="final")
        assert {name: alone.final[name] for name in alone.final} == {name: ensemble.final[name][k] for name in ensemble.final}
        assert alone.final["lambda1"] == ensemble.final["lambda1"][k]
        assert dict(alone.drift) == {name: sizes[k] for name, sizes in ensemble.drift.items()}
        assert dict(alone.counts) == {name: counts[k] for name, counts in ensemble.counts.items()}
        assert dict(alone.extrema) == {name: (low[k], high[k]) for name, (low, high) in ensemble.extrema.items()}
        assert (alone.outcome, alone.message) == (ensemble.outcome[k], ensemble.message(k))


def test_missing_velocities_are_those_of_single_starts():
    starts, values, v = sleighs(50)
    ensemble = simulate_many(EQUATIONS, starts, (0, 1), parameters=values)
    np.testing.assert_allclose(ensemble.start["y'"], v * np.sin(starts["theta"]), atol=1e-14)
    for k in (0, 17, 49):
        now = ch.evaluate(EQUATIONS, one(starts, k), parameters=one(values, k))
        assert ensemble.start["y'"][k] == pytest.approx(now["y'"], abs=1e-15)
        assert ensemble.start["lambda1"][k] == pytest.approx(now["lambda1"], rel=1e-12)
        assert ensemble.start.reaction("x")[k] == pytest.approx(now.reaction("x"), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "principle"),
    [
        ("rocard", None),
        ("cartesian-pendulum", None),
        ("sleigh", ch.Vakonomic()),  # needs other pivots on the way
        ("sleigh-contact", ch.Herglotz(ch.Vakonomic())),
        ("viscous-particle", None),  # leaves the domain
        ("disk-resistance", None),  # has an input
        ("constant-speed", None),  # a nonlinear constraint
    ],
)
def test_models_of_every_kind_agree_with_single_runs(name, principle):
    model = ch.gallery(name) if principle is None else ch.gallery(name).under(principle)
    equations = ch.derive(model)
    alone = ch.simulate(model, keep="final")
    scaled = {key: float(v) * np.array([1.0, 1.02]) for key, v in model.parameters.items()}
    ensemble = simulate_many(model, parameters=scaled)
    for jet in alone.final:
        assert ensemble.final[jet][0] == pytest.approx(alone.final[jet], abs=1e-11)
    start = {jet: ensemble.start[jet][1] for jet in ensemble.start}
    other = ch.simulate(equations, start, model.t, parameters={key: v[1] for key, v in scaled.items()}, inputs=model.inputs, keep="final")
    assert {jet: other.final[jet] for jet in other.final} == {jet: ensemble.final[jet][1] for jet in ensemble.final}
    assert (other.outcome, other.message) == (ensemble.outcome[1], ensemble.message(1))


def test_neither_threads_nor_the_other_members_change_a_member():
    starts, values, _ = sleighs(60)
    starts["theta"] = np.where(np.arange(60) % 3 == 0, 0.0, starts["theta"])  # a pivot vanishes at the start of every third
    first, *others = [simulate_many(EQUATIONS, starts, (0, 6), parameters=values, threads=n) for n in (1, 2, 7)]
    some = [4, 9, 30, 33]
    parts = {name: v if np.ndim(v) == 0 else v[some] for name, v in starts.items()}
    few = simulate_many(EQUATIONS, parts, (0, 6), parameters={n: v if np.ndim(v) == 0 else v[some] for n, v in values.items()})
    for name in first.final:
        for other in others:
            assert np.array_equal(first.final[name], other.final[name])
        assert np.array_equal(first.final[name][some], few.final[name])


def test_a_start_where_a_pivot_vanishes():
    """At theta = 0 the order of elimination chosen at random points divides by zero; nothing is singular there."""
    near = simulate_many(EQUATIONS, {**START, "theta": [0.0, 1e-7]}, (0, 2), parameters=VALUES, tolerance=1e-12)
    assert list(near.outcome) == ["finished", "finished"]
    np.testing.assert_allclose(near.final["theta"][0], near.final["theta"][1] - 1e-7, atol=1e-10)
    assert near.final["lambda1"][0] == pytest.approx(near.final["lambda1"][1], abs=1e-6)


def test_masses_in_other_units_change_nothing():
    """All masses and multipliers times a factor: the same motion, also where pivots have to be chosen anew."""
    model = SLEIGH.under(ch.Vakonomic())
    factor = np.array([1.0, 1e-2, 1e-6, 1e3])
    start = {**model.start.fixed, "lambda1": 0.55 * factor}
    ensemble = simulate_many(model, start, parameters={"m": 1.2 * factor, "J": 0.5 * factor, "a": 0.35}, tolerance=1e-11)
    assert list(ensemble.outcome) == ["finished"] * 4
    np.testing.assert_allclose(ensemble.final["theta"], ensemble.final["theta"][0], atol=1e-6)  # lambda1 is measured by other tolerances


def test_failures_are_reported_member_by_member():
    count = 12
    y1 = np.full(count, -0.8 * np.tan(-0.3))
    y1[3], y1[4] = np.nan, 5.0
    mass = np.full(count, 1.2)
    mass[7], mass[8] = np.nan, np.inf
    ensemble = simulate_many(EQUATIONS, {**START, "y'": y1}, (0, 2), parameters={**VALUES, "m": mass})
    assert ensemble.failed.tolist() == [3, 4, 7, 8]
    assert ensemble.message(3) == "y' = nan at the start is not finite."
    assert ensemble.message(4) == "the data contradict kinematic[0]: it is off by 4.54."
    assert ensemble.message(7) == "m = nan is not finite."
    assert ensemble.message(-4) == "m = inf is not finite."
    assert ensemble.message(0) == "the end of the interval was reached."
    assert ensemble.outcome[4] == ch.Outcome.DRIFT_EXCEEDED
    assert ensemble.outcome[7] == ch.Outcome.LEFT_DOMAIN
    assert np.isnan(ensemble.final["x"][[3, 4, 7, 8]]).all()
    assert np.isnan(ensemble.final["lambda1"][[3, 4, 7, 8]]).all()
    good = np.setdiff1d(np.arange(count), ensemble.failed)
    alone = ch.simulate(EQUATIONS, START, (0, 2), parameters=VALUES, keep="final")
    np.testing.assert_allclose(ensemble.final["x"][good], alone.final["x"], atol=1e-12)


def test_starts_on_the_singular_locus():
    """Rocard's Jacobian vanishes with psi'."""
    model = ch.gallery("rocard")
    ensemble = simulate_many(model, {**model.start.fixed, "psi'": [1.8, 0.0, -1.8]}, (0, 0.2))
    assert ensemble.failed.tolist() == [1]
    assert ensemble.outcome[1] == ch.Outcome.LEFT_DOMAIN
    assert ensemble.message(1).startswith("epsilon' is not determined at this state, where psi' = 0.")
    assert not ensemble.started[1]
    assert ensemble.t.tolist() == [0.2, 0.0, 0.2]


def test_equations_without_a_value_at_the_start():
    system = ch.System("x", lagrangian="x'^2/2 + sqrt(x)")
    ensemble = simulate_many(ch.derive(system), {"x": [1.0, -1.0, 0.0], "x'": 0}, (0, 1))
    assert ensemble.outcome[0] == "finished"
    assert ensemble.failed.tolist() == [1, 2]
    held = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y' = sqrt(x)*x'"])
    ensemble = simulate_many(ch.derive(held, ch.DAlembert()), {"x": [1.0, -1.0], "x'": 0.5, "y": 0}, (0, 1))
    assert ensemble.failed.tolist() == [1]
    assert ensemble.message(1) == "the equations have no finite value at the start."


def test_a_member_that_leaves_the_domain_keeps_what_it_reached():
    """x'' = -1/x^2 from rest falls into the centre at t = (pi/2) sqrt(x0^3/2)."""
    kepler = ch.derive(ch.System("x", lagrangian="x'^2/2 + 1/x"))
    ensemble = simulate_many(kepler, {"x": [1.0, 4.0], "x'": 0}, (0, 2))
    assert ensemble.failed.tolist() == [0]
    assert ensemble.t[0] == pytest.approx(np.pi / 2 * np.sqrt(0.5), abs=1e-6)
    assert ensemble.t[1] == 2
    assert 0 <= ensemble.final["x"][0] < 1e-3


def test_all_members_may_fail():
    ensemble = simulate_many(EQUATIONS, {**START, "y'": [7.0, 8.0]}, (0, 2), parameters=VALUES)
    assert ensemble.failed.tolist() == [0, 1]
    assert "2 members: 2 did not start" in str(ensemble)
    assert list(ensemble.outcome) == [ch.Outcome.DRIFT_EXCEEDED] * 2
    ensemble = simulate_many(EQUATIONS, {**START, "x": [np.nan]}, (0, 2), parameters=VALUES)
    assert ensemble.failed.tolist() == [0]
    assert "not known" in str(ensemble)


def test_starts_one_by_one_may_give_different_jets():
    given = [
        START,
        {"x": 0, "y": 0, "theta": "pi/4", "y'": "a", "theta'": 1},
        {**START, "x": "m/2"},
        ch.State({k: v for k, v in START.items() if k != "x'"}, {"x'": 0.3, "y'": 0.1}),
        {"x": 0, "y": 0},
    ]
    ensemble = simulate_many(EQUATIONS, given, (0, 1), parameters={**VALUES, "a": [0.35, 0.2, 0.3, 0.4, 0.5]})
    nearest = (0.3 * np.cos(-0.3) + 0.1 * np.sin(-0.3)) * np.cos(-0.3)
    np.testing.assert_allclose(ensemble.start["x'"][:4], [-0.8, 0.2, -0.8, nearest], atol=1e-15)
    assert ensemble.start["x"][:4].tolist() == [0.1, 0.0, 0.6, 0.1]
    assert ensemble.parameters["a"].tolist() == [0.35, 0.2, 0.3, 0.4, 0.5]
    assert ensemble.failed.tolist() == [4]
    assert ensemble.message(4).startswith("no initial values for theta x' theta'.")


def test_where_the_data_of_one_member_have_another_rank():
    """y' follows from x' unless theta = 0, where the row demands x' = 0."""
    knife = ch.System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y'*theta = x'*(theta - 1)"])
    start = {"x": 0, "y": 0, "theta": [0.0, 1.0, 2.0], "x'": 1.0, "theta'": 0.5}
    ensemble = simulate_many(ch.derive(knife, ch.DAlembert()), start, (0, 0.5))
    assert ensemble.failed.tolist() == [0]
    assert ensemble.message(0).startswith("the data contradict kinematic[0]: it is off by 1.  x' = 1 would have to be 0.")
    np.testing.assert_allclose(ensemble.start["y'"][1:], [0.0, 0.5])


def test_guesses_are_moved_onto_the_constraints():
    model = ch.gallery("cartesian-pendulum")
    length = float(model.parameters["l"])
    x = np.array([0.1, 0.5, 9.0, 0.2])
    ensemble = simulate_many(ch.derive(model), ch.State({"x": x, "x'": 0.3}, {"y": -1.0}), (0, 1), parameters=model.parameters)
    assert ensemble.failed.tolist() == [2]
    assert ensemble.message(2).startswith("the data contradict kinematic[0]")
    good = [0, 1, 3]
    np.testing.assert_allclose(ensemble.start["y"][good], -np.sqrt(length**2 - x[good] ** 2), atol=1e-14)
    np.testing.assert_allclose(ensemble.start["x*x' + y*y'"][good], 0, atol=1e-15)


def test_accelerations_given_must_agree_with_the_equations():
    now = ch.evaluate(SLEIGH)
    ensemble = simulate_many(EQUATIONS, {**START, "theta''": [now["theta''"], 3.0]}, (0, 1), parameters=VALUES)
    assert ensemble.failed.tolist() == [1]
    assert ensemble.message(1).startswith("theta'' = 3 contradicts the equations")


def test_arrays_are_broadcast_and_members_count_in_c_order():
    grid = simulate_many(EQUATIONS, {**START, "theta": [[0.1], [0.2], [0.3]]}, (0, 1), parameters={**VALUES, "a": [0.2, 0.4]})
    assert grid.shape == (3, 2)
    assert len(grid) == 6
    assert grid.start["theta"].reshape(grid.shape)[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert grid.parameters["a"].tolist() == [0.2, 0.4] * 3
    alone = ch.simulate(EQUATIONS, {**START, "theta": 0.3}, (0, 1), parameters={**VALUES, "a": 0.2})
    assert grid.final["x"].reshape(grid.shape)[2, 0] == pytest.approx(alone.final["x"], abs=1e-13)


def test_inputs_may_contain_the_parameters():
    """x'' = k sin(3 t) from rest: x = k (3 t - sin(3 t))/9."""
    system = ch.System("x", "k", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": None})
    k = np.array([-1.0, 0.5, 2.0])
    ensemble = simulate_many(ch.derive(system), {"x": 0, "x'": 0}, (0, 2), parameters={"k": k}, inputs={"u": "k*sin(3*t)"}, tolerance=1e-12)
    np.testing.assert_allclose(ensemble.final["x"], k * (6 - np.sin(6)) / 9, atol=1e-11)
    np.testing.assert_allclose(ensemble.final["x''"], k * np.sin(6), atol=1e-14)
    np.testing.assert_allclose(ensemble.final["u/k + t"], np.sin(6) + 2, atol=1e-14)
    np.testing.assert_allclose(ensemble.final["x''' + u''"], k * (3 * np.cos(6) - 9 * np.sin(6)), atol=1e-13)


def test_backwards_and_a_step_budget():
    forth = simulate_many(SLEIGH, t=(0, 3), tolerance=1e-11)
    back = simulate_many(EQUATIONS, {name: forth.final[name] for name in forth.final}, (3, 0), parameters=VALUES, tolerance=1e-11)
    assert back.final["theta"][0] == pytest.approx(-0.3, abs=1e-8)
    short = simulate_many(SLEIGH, max_steps=5)
    assert short.outcome[0] == ch.Outcome.STEP_TOO_SMALL
    assert short.message(0).startswith("5 steps did not suffice; t = ")


def test_a_positive_parameter_and_other_members():
    system = ch.System("x", {"k": "positive"}, lagrangian="x'^2/2 - k/2*x^2")
    ensemble = simulate_many(ch.derive(system), {"x": 1, "x'": 0}, (0, np.pi), parameters={"k": [1.0, -1.0, 4.0]}, tolerance=1e-12)
    assert ensemble.message(1) == "k = -1, but it is declared positive."
    np.testing.assert_allclose(ensemble.final["x"][[0, 2]], [-1, 1], atol=1e-10)


def test_what_an_ensemble_prints():
    ensemble = simulate_many(EQUATIONS, {**START, "y'": [-0.8 * np.tan(-0.3), 5.0]}, (0, 2), parameters=VALUES)
    lines = str(ensemble).splitlines()
    assert lines[0] == "Chaplygin sleigh · DAlembert()"
    assert lines[1] == "  2 members: 1 finished, 1 did not start"
    assert lines[-1] == "  member 1: the data contradict kinematic[0]: it is off by 4.54."
    many = simulate_many(EQUATIONS, {**START, "y'": np.full(9, 5.0)}, (0, 2), parameters=VALUES)
    assert str(many).splitlines()[-1] == "  … and 4 more; ensemble.failed lists them"
    assert "theta'" in repr(many.final)
    with pytest.raises(dataclasses.FrozenInstanceError):
        many.t = None


def test_ctrl_c_leaves_what_was_computed():
    """The signal reaches the main thread while compiled loops run in others; a run to the end would take hours."""
    simulate_many(EQUATIONS, START, (0, 1), parameters=VALUES)  # compiled beforehand
    starts = {**START, "x": np.linspace(0, 1, 40)}
    stopped = interrupted(
        lambda: simulate_many(EQUATIONS, starts, (0, 1e9), parameters=VALUES, tolerance=1e-12, max_steps=10**12),
        begun=lambda error: hasattr(error, "motion") and error.motion.t.max() > 0,
    )
    ensemble = stopped.motion
    assert set(ensemble.outcome) == {ch.Outcome.INTERRUPTED}
    assert ensemble.started.all()
    assert 0 < ensemble.t.max() < 1e9
    assert ensemble.message(int(np.argmax(ensemble.t))).startswith("stopped by the user at t = ")


@pytest.mark.parametrize(
    ("change", "error", "what"),
    [
        ({"starts": {"x": [1, 2], "y": 0, "theta": 0}}, ch.InitialError, "no initial values for x' theta'"),
        ({"starts": {**START, "z": [1, 2]}}, ch.NotationError, "unknown name"),
        ({"starts": {**START, "x": ["one", 2]}}, ch.InitialError, "not an array of real numbers"),
        ({"starts": {**START, "x": "t"}}, ch.InitialError, "depends on time"),
        ({"starts": {**START, "x": True}}, ch.InitialError, "not a real number"),
        ({"starts": {**START, "x": []}}, ch.UsageError, "no members are given"),
        ({"starts": []}, ch.UsageError, "no members are given"),
        ({"starts": 5}, ch.UsageError, "the starts are given as int"),
        ({"starts": [5]}, ch.UsageError, "start 0 is given as int"),
        ({"starts": [{**START, "x": [1, 2]}]}, ch.UsageError, "start 0 contains an array"),
        ({"starts": None}, ch.UsageError, "no starts are given"),
        ({"starts": {**START, "x": [1, 2, 3]}, "parameters": {**VALUES, "m": [1, 2]}}, ch.UsageError, "do not go together"),
        ({"starts": [START], "parameters": {**VALUES, "m": [1, 2]}}, ch.UsageError, "more parameters than starts"),
        ({"parameters": {"m": [1, 2], "J": 1}}, ch.ParameterError, "no value for parameter a"),
        ({"parameters": {**VALUES, "m": np.nan}}, ch.ParameterError, "not finite"),
        ({"parameters": {**VALUES, "b": [1, 2]}}, ch.ParameterError, "b is not a parameter"),
        ({"parameters": [1, 2]}, ch.UsageError, "parameters are given as list"),
        ({"t": (1, 1)}, ch.InitialError, "the times do not run"),
        ({"tolerance": 0}, ch.InitialError, "tolerance = 0 is not positive"),
        ({"threads": 0}, ch.UsageError, "threads=0"),
        ({"equations": SLEIGH.system}, ch.UsageError, "takes equations or a model"),
    ],
)
def test_misuse_is_an_error(change, error, what):
    arguments = {"equations": EQUATIONS, "starts": START, "t": (0, 1), "parameters": VALUES} | change
    with pytest.raises(error, match=what):
        simulate_many(**arguments)


def test_data_that_need_a_guess():
    pendulum = ch.derive(ch.gallery("cartesian-pendulum"))
    with pytest.raises(ch.InitialError, match="y is missing, and the equations for it are not linear"):
        simulate_many(pendulum, {"x": [0.1, 0.2], "x'": 0}, (0, 1), parameters=ch.gallery("cartesian-pendulum").parameters)


def test_an_ensemble_is_pickled_with_everything_that_can_be_asked():
    """Members that finish, that never start, and, in the second, that meet a corner and are run by themselves."""
    sleigh = simulate_many(EQUATIONS, {**START, "y'": [-0.8 * np.tan(-0.3), 5.0]}, (0, 2), parameters=VALUES)
    block = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2", forces={"x": "-mu*sign(x') + u"}, inputs={"u": "cos(t)/9"}))
    rubbed = simulate_many(block, {"x": 0, "x'": [1.0, 2.0, -0.1]}, (0, 3), parameters={"mu": 0.5})
    for ensemble, names in ((sleigh, ("x", "theta'", "lambda1", "x''")), (rubbed, ("x", "x'", "x''", "u'"))):
        again = pickle.loads(pickle.dumps(ensemble))  # noqa: S301 - made here
        for name in names:
            assert np.array_equal(again.final[name], ensemble.final[name], equal_nan=True), name
            assert np.array_equal(again.start[name], ensemble.start[name], equal_nan=True), name
        assert str(again) == str(ensemble) and again.outcome.tolist() == ensemble.outcome.tolist()
        assert [again.message(k) for k in range(len(again))] == [ensemble.message(k) for k in range(len(ensemble))]
        assert all(np.array_equal(again.parameters[name], v) for name, v in ensemble.parameters.items())
        assert pickle.dumps(pickle.loads(pickle.dumps(again)))  # noqa: S301 - made here


def test_members_are_projected_onto_their_energies():
    """Of a model and as an argument; without it a pendulum at this tolerance loses a visible part of its energy."""
    pendulum = ch.System("a", lagrangian="a'^2/2 + cos(a)")
    starts, span = {"a": np.array([1.0, 2.0]), "a'": 0.0}, (0, 200)
    model = ch.Model(pendulum, ch.Hamilton(), start={"a": 1.0, "a'": 0.0}, t=span, tolerance=1e-4, conserve="energy")
    energies = -np.cos([1.0, 2.0])
    errors = []
    for ensemble in (
        ch.simulate_many(ch.derive(pendulum), starts, span, tolerance=1e-4),
        ch.simulate_many(ch.derive(pendulum), starts, span, tolerance=1e-4, conserve="energy"),
        ch.simulate_many(model, starts),
    ):
        assert list(ensemble.outcome) == ["finished", "finished"]
        errors.append(np.abs(ensemble.final["a'"] ** 2 / 2 - np.cos(ensemble.final["a"]) - energies).max())
    assert errors[0] > 1e-6 and errors[1] < 1e-12 and errors[2] < 1e-12
    assert ch.simulate_many(model, starts)[1].final["a"] == ch.simulate(model, {"a": 2.0, "a'": 0.0}).final["a"]
    with pytest.raises(ch.UsageError, match="momentum"):
        ch.simulate_many(ch.derive(pendulum), starts, span, conserve="momentum")


def test_members_that_turn_often_have_the_bits_of_simulate_too():
    """Angles beyond 3 pi are folded; the state with its whole turns is projected once more at the end, side by side as alone."""
    chance = np.random.default_rng(1)
    theta, v, spin, a = chance.uniform(-7, 7, 200), chance.normal(size=200), chance.normal(size=200), chance.uniform(-1, 1, 200)
    start = {"x": 0.0, "y": 0.0, "theta": theta, "x'": v, "theta'": spin}
    values = {"m": 1.2, "J": 0.5, "a": a}
    many = simulate_many(EQUATIONS, start, (0, 10), parameters=values)
    turned = np.flatnonzero(np.abs(many.final["theta"]) > 3 * np.pi)
    assert len(turned) > 20
    for k in map(int, turned[:20]):
        alone = ch.simulate(EQUATIONS, one(start, k), (0, 10), parameters=one(values, k), keep="final")
        assert {name: alone.final[name] for name in alone.final} == {name: many.final[name][k] for name in many.final}


@pytest.mark.parametrize("a", [0.0, 1e-16, 1e-12, 1e-8, 0.4])
def test_members_with_exchanged_pivots_have_the_bits_of_simulate(a):
    """The mass matrix [[a, 1], [1, 2]] is regular for a = 0, where the usual pivot vanishes; in any order of calls."""
    system = ch.System("x y", "a b c", lagrangian="a*x'^2/2 + b*x'*y' + c*y'^2/2 - x - 2*y + sin(x*y)")
    equations, start = ch.derive(system), {"x": 0.3, "y": 0.1, "x'": 0.4, "y'": 0.2}
    many = simulate_many(equations, start, (0, 2), parameters={"a": np.array([0.3, a, 0.0]), "b": 1.0, "c": 2.0})
    alone = ch.simulate(equations, start, (0, 2), parameters={"a": a, "b": 1.0, "c": 2.0}, keep="final")
    assert {name: alone.final[name] for name in alone.final} == {name: many.final[name][1] for name in many.final}
    assert alone.final["x''"] == many.final["x''"][1]
