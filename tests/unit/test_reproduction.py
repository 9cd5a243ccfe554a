"""Reports and files tell the truth: what they hold gives the same motion again, to the last bit; what they cannot hold they say."""

import copy
import html
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import chetaev as ch
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.numerics.motion.storage.reading import _direction
from chetaev.numerics.slopes.directions import direction_of
from chetaev.report import _file, sections
from chetaev.report.subject import subject_of

SEGWAY = ch.System(
    "x theta",
    {"m": "positive", "l": "real", "g": "real"},
    lagrangian="x'^2 + m*l*x'*theta'*cos(theta) + m*l^2*theta'^2/2 - m*g*l*cos(theta)",
    forces={"x": "tau", "theta": "-tau"},
    inputs={"tau": None, "w": "sin(t)/7"},
    name="cart",
)
VALUES = {"m": 1 / 3, "l": 0.7, "g": 9.81}
START = {"x": 0.1, "theta": "pi/7", "x'": 0, "theta'": 1 / 7}


def driven(**options):
    given = {"parameters": VALUES, "inputs": {"tau": "0.5*sin(2*t)"}, "tolerance": 1e-8, **options}
    return ch.simulate(ch.derive(SEGWAY), START, (0.25, 2), **given)


def section_of(motion):
    """The part of a report with the model file; the pictures of a whole page take seconds."""
    subject = subject_of(motion, None, None, {})
    return sections.system(subject), _file(subject.model, subject.motion)


def file_of(motion):
    """The model file in a report."""
    return html.unescape(re.search(r"Show the file</summary><pre>(.*?)</pre>", section_of(motion)[1], re.DOTALL)[1])


@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=str)
def test_the_model_file_of_a_report_gives_the_same_motion(method, tmp_path):
    motion = driven(method=method)
    for told in (motion, ch.load(motion.save(tmp_path / "run.npz"))):
        model = loads(file_of(told))
        again = ch.simulate(model)
        assert model.inputs == {"tau": "sin(2*t)/2"} and model.tolerance == 1e-8 and model.t == (0.25, 2.0)
        assert np.array_equal(again.t, motion.t) and np.array_equal(again.states, motion.states)
        assert type(again.method) is type(motion.method) and "open" not in section_of(told)[0]


SPRING = ch.System("x", "e", lagrangian="x'^2/2 - x^2/2 + x^3/9", name="spring")
ASKED = {
    "max_step": {"max_step": 0.05},
    "pair": {"tolerance": (1e-8, 1e-10)},
    "scale": {"scale": {"x": 1e-3}},
    "conserve": {"conserve": "energy"},
    "terminal": {"events": [ch.On("x", terminal=True)]},
    "reset": {"events": ["x - 1/2", ch.On(ch.Coordinate("x"), direction=-1, reset={"x'": "-e*x'"})]},
    "times": {"t": np.linspace(0, 4, 7)},
    "backwards": {"t": [4, 1, 0.5]},
    "final": {"keep": "final"},
    "max_steps": {"max_steps": 5},
    "slopes": {"slopes": ["x", "e", "x'"]},
    "slopes of the end": {"slopes": ["x"], "keep": "final"},
    "slopes at an event": {"slopes": ["x"], "events": [ch.On("x", terminal=True)]},
}


@pytest.mark.parametrize("asked", ASKED)
def test_every_setting_of_a_run_is_kept(asked, tmp_path):
    given = {"t": (0, 4), **ASKED[asked]}
    motion = ch.simulate(ch.derive(SPRING), {"x": 1, "x'": 0}, parameters={"e": 0.7}, **given)
    plain = ch.simulate(ch.derive(SPRING), {"x": 1, "x'": 0}, (0, 4), parameters={"e": 0.7})
    assert motion.states.shape != plain.states.shape or not np.array_equal(motion.states, plain.states)  # the setting matters
    for told in (motion, ch.load(motion.save(tmp_path / "run.npz"))):
        assert told.asked.settings == motion.asked.settings and "does not hold" not in section_of(told)[1]
        model = loads(file_of(told))
        assert loads(dumps(model)) == model
        again = ch.simulate(model)
        assert np.array_equal(again.t, motion.t) and np.array_equal(again.states, motion.states)
        assert [event.t for event in again.events] == [event.t for event in motion.events]
        assert again.outcome == motion.outcome == told.outcome and dict(again.final) == dict(motion.final)
        for by in given.get("slopes", ()):
            assert np.array_equal(again.slope("x", by), motion.slope("x", by))


def test_a_report_on_a_model_runs_as_the_model_says():
    model = ch.Model(SPRING, ch.Hamilton(), {"e": 1}, {"x": 1.0, "x'": 0.0}, (0, 2), max_step=0.1, events=("x - 1/2",))
    subject = subject_of(model, None, None, {"tolerance": (1e-7, 1e-9)})
    assert np.diff(subject.motion.t).max() <= 0.1 + 1e-12 and len(subject.motion.events) == 1
    assert subject.model.tolerance == (1e-7, 1e-9)
    assert np.array_equal(ch.simulate(subject.model).states, subject.motion.states)


def test_branch_and_gauge_are_kept(tmp_path):
    cawley = ch.derive(ch.gallery("cawley"))
    start = {"q1": 0, "q1'": 0.3, "q2": 0, "q3": 0, "q3'": 0}
    motion = ch.simulate(cawley, start, (0, 1), gauge={"q2": "t^2"}, branch="q3 = 0")
    for told in (motion, ch.load(motion.save(tmp_path / "run.npz"))):
        model = loads(file_of(told))
        assert (model.branch, model.gauge) == ("q3 = 0", {"q2": "t^2"})
        again = ch.simulate(model)
        assert np.array_equal(again.states, motion.states) and again.final["q2"] == pytest.approx(1.0)
        assert ch.evaluate(model)["q2''"] == pytest.approx(2.0)
    assert ch.simulate_many(model).final["q1"][0] == motion.final["q1"]


def test_a_report_says_what_the_file_cannot_hold(tmp_path):
    motion = ch.simulate(ch.derive(SPRING), {"x": 1, "x'": 0}, np.linspace(0, 1, 20_001), parameters={"e": 1})
    for told in (motion, ch.load(motion.save(tmp_path / "run.npz"))):
        assert "It does not contain the 20001 times at which states were stored" in section_of(told)[1]
        assert loads(file_of(told)).t == (0.0, 1.0)
    assert "does not hold" not in section_of(driven())[1]


SLOPED = ch.System("x", "k mu", lagrangian="x'^2/2 - k*x^2/2", forces={"x": "-mu*sign(x')"})


@pytest.mark.parametrize(
    "asked",
    [
        {"t": (0, 4), "slopes": ["k", "mu", "x"]},  # the friction changes its sign on the way: two pieces
        {"t": [0, 1.5, 4], "slopes": ["k"]},
        {"t": (0, 4), "slopes": ["x"], "keep": "final"},
        {"t": (0, 4), "slopes": ["x", "k"], "events": [ch.On("x - 1/2", terminal=True)]},
    ],
)
def test_slopes_are_saved_loaded_and_pickled(asked, tmp_path):
    motion = ch.simulate(ch.derive(SLOPED), {"x": 1, "x'": 0}, parameters={"k": 1, "mu": 0.1}, **asked)
    loaded = ch.load(motion.save(tmp_path / "a.npz"))
    assert loaded.save(tmp_path / "b.npz").read_bytes() == (tmp_path / "a.npz").read_bytes()
    for told in (loaded, pickle.loads(pickle.dumps(motion)), copy.deepcopy(motion)):  # noqa: S301 - our own
        for by in asked["slopes"]:
            assert np.array_equal(told.slope("k*x^2", by), motion.slope("k*x^2", by))
            assert told.final.slope("x'", by) == motion.final.slope("x'", by)
            if len(asked["t"]) == 2 and "keep" not in asked:
                assert told.at(0.7).slope("x", by) == motion.at(0.7).slope("x", by)
        with pytest.raises(ch.UsageError, match="not differentiated by"):
            told.slope("x", "x'")


def test_the_slope_in_a_file_is_the_derivative(tmp_path):
    spring = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    motion = ch.simulate(spring, {"x": 1, "x'": 0}, (0, 2), parameters={"k": 1}, slopes=["k", "x"], tolerance=1e-11)
    told = ch.load(motion.save(tmp_path / "a.npz"))  # x = x0 cos(sqrt(k) t): by k at k = 1 it is -t sin(t)/2
    assert told.at(1.3).slope("x", "k") == pytest.approx(-1.3 * np.sin(1.3) / 2, abs=1e-9)
    assert told.final.slope("x", "x") == pytest.approx(np.cos(2), abs=1e-9)


def test_ensembles_with_slopes_and_series_are_pickled():
    model = ch.Model(SPRING, ch.Hamilton(), {"e": 1}, {"x": 1.0, "x'": 0.0}, [0, 1, 2], slopes=["x"], max_steps=10_000)
    many = ch.simulate_many(ch.derive(SPRING), {"x": [1, 0.5], "x'": 0}, [0, 1, 2], parameters={"e": 1}, slopes=["x"])
    again = pickle.loads(pickle.dumps(many))  # noqa: S301 - our own
    assert np.array_equal(again["x"], many["x"]) and np.array_equal(again.slope("x", "x"), many.slope("x", "x"))
    one = ch.simulate_many(model)
    assert one["x"].shape == one.slope("x", "x").shape == (1, 3)
    assert np.array_equal(one.slope("x", "x")[0], many.slope("x", "x")[0])
    assert one.slope("x", "x")[0, -1] == ch.simulate(model).final.slope("x", "x")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"jet": "k"}, "is not a jet"),
        ({"parameter": "w"}, "w"),
        ({"group": "A", "component": 7}, "A"),
        ({"jet": "x'", "colour": 1}, "colour"),
    ],
)
def test_directions_in_a_file_that_the_system_does_not_have_are_refused(change, told):
    with pytest.raises((ValueError, KeyError), match=told):
        direction_of(_direction({"name": "x", **change}), ch.derive(SLOPED))


def test_a_model_with_times_has_an_interval_where_one_is_needed():
    model = ch.Model(SPRING, ch.Hamilton(), {"e": 1}, {"x": 1.0, "x'": 0.0}, np.linspace(0, 3, 4))
    assert model.interval == (0.0, 3.0) and ch.simulate(model).t.tolist() == [0, 1, 2, 3]
    assert "INTERVAL = (0.0, 3.0)" in ch.code(model, "numpy") and ch.prepare(model).t == (0.0, 3.0)
    assert subject_of(replace(model, keep="final"), None, None, {}).motion.t.tolist() == [0, 1, 2, 3]  # a page shows the whole motion


def test_ensembles_take_the_settings_of_a_model():
    model = ch.Model(
        SPRING, ch.Hamilton(), {"e": 1}, {"x": 1.0, "x'": 0.0}, (0, 2), max_step=0.1, scale={"x": 1e-3}, tolerance=(1e-8, 1e-9)
    )
    assert ch.simulate_many(model).final["x"][0] == ch.simulate(model, keep="final").final["x"]
    with_events = replace(model, events=("x",))
    assert ch.simulate_many(with_events).events[0] == ch.simulate(with_events).events


def test_a_rotation_given_as_a_matrix_is_kept(tmp_path):
    model = ch.gallery("euler-top")
    motion = ch.simulate(model, t=(0, 1))
    back = ch.load(motion.save(tmp_path / "top.npz"))
    assert back.asked.start == motion.asked.start and back.method == motion.method
    again = ch.simulate(loads(file_of(back)))
    assert np.array_equal(again.states, motion.states)


def test_the_method_is_kept_in_the_file():
    model = ch.Model(ch.System("x", lagrangian="x'^2/2 - x^2/2"), ch.Hamilton(), {}, {"x": 1.0, "x'": 0.0}, method=ch.Implicit())
    assert 'method = "implicit"' in dumps(model) and loads(dumps(model)) == model
    assert type(ch.simulate(model, t=(0, 1)).method) is ch.Implicit
    assert "method" not in dumps(loads(dumps(model).replace('method = "implicit"\n', "")))
    with pytest.raises(ch.UsageError, match="not a method"):
        loads(dumps(model).replace("implicit", "implicite"))


def test_a_start_with_the_rate_of_the_action_is_read_back():
    system = ch.System("x", lagrangian="x'^2/2 - x^2/2 - 0.1*s", action="s")
    model = ch.Model(system, ch.Herglotz(), {}, ch.State({"x": 0.3, "x'": 0.2, "s": 0.1, "s'": -0.035}))
    again = loads(dumps(model))
    assert again == model
    assert ch.evaluate(again, again.start)["s'"] == pytest.approx(0.2**2 / 2 - 0.3**2 / 2 - 0.1 * 0.1)
    with pytest.raises(ch.ChetaevError):
        loads(dumps(model).replace("\"s' = ", "\"r' = "))


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("", "colour = 3"),
        ("simulate", "steps = 3"),
        ("plot", "foo = 3"),
        ("plot", 'scene = ["Ground()"]'),
        ("initial", 'start = ["x = 0"]'),
        ("constraints", 'holonomic = ["x = 0"]'),
        ("principle", 'outer = "x"'),
        ("compare", 'colour = "red"'),
        ("events", 'colour = "red"'),
    ],
)
def test_unknown_keys_are_refused_everywhere(table, line):
    head = 'name = "p"\nlagrangian = "x\'^2/2"\n'
    rest = '[coordinates]\nx = "line"\n' + ("" if table == "principle" else '[principle]\nname = "hamilton"\n')
    head, rest = (f"{line}\n{head}", rest) if not table else (head, f"{rest}[{table}]\n{line}\n")
    rest = rest.replace("[compare]", '[[compare]]\nname = "vakonomic"').replace("[events]", '[[events]]\nexpression = "x"')
    with pytest.raises(ch.ModelError, match="is not a key of"):
        loads(head + rest)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("[simulate]\ntolerance = [1e-9, -1]", "absolute tolerance"),
        ("[simulate]\ntolerance = [1e-9]", "a number, or a list of numbers is expected"),
        ("[simulate]\ntolerance = [0, 1e-9]", "not a positive number"),
        ("[simulate]\nbranch = 1.5", "not a whole number"),
        ("[simulate]\nt = [0, 2, 1]", "not in order"),
        ("[simulate]\nt = [0, 1, 1]", "not in order"),
        ("[simulate]\nt = [1]", "no interval"),
        ("[simulate]\nt = [0, 1, inf]", "no interval"),
        ('[simulate]\nkeep = "all"', "not what a motion can store"),
        ("[simulate]\nmax_steps = 0", "not a number of steps"),
        ("[simulate]\nmax_steps = 1.5", "not a number of steps"),
        ('[simulate]\nslopes = "x"', "a list of texts is expected"),
        ("[simulate]\nbranch = true", "is expected here"),
        ('[scale]\nx = "1"', "a number is expected"),
        ('[gauge]\nx = "wrong"', "wrong"),
        ("[gauge]\nx = 3", "a text is expected"),
        ("[scale]\ny = 3", "unknown name"),
        ("[scale]\npi = 3", "not a jet"),
        ("[scale]\nx = 0", "not positive"),
        ("[scale]\nx = nan", "not positive"),
        ('[simulate]\nconserve = "momentum"', "momentum is not"),
        ("[[events]]\nterminal = true", "no expression"),
        ('[[events]]\nexpression = "u"', "unknown name"),
        ('[[events]]\nexpression = "x"\ndirection = 2', "direction = 2 is not known"),
        ('[[events]]\nexpression = "x"\nterminal = 1', "a truth value is expected"),
        ('[[events]]\nexpression = "x"\nreset = {"x\'" = "-w"}', "unknown name"),
        ('[[events]]\nexpression = "x"\nreset = {"x\'" = 3}', "a table of texts is expected"),
        ('[events]\nexpression = "x"', r"a list of tables \[\[events\]\]"),
    ],
)
def test_settings_of_a_wrong_kind_are_refused_with_their_line(lines, told):
    with pytest.raises(ch.ChetaevError, match=told) as fault:
        loads('name = "p"\nlagrangian = "x\'^2/2"\n[coordinates]\nx = "line"\n[principle]\nname = "hamilton"\n' + lines)
    assert "line" in fault.value.where


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"parameters": {"e": 1, "w": 2}}, "w is not a parameter"),
        ({"inputs": {"w": "t"}}, "w is not an input"),
        ({"start": {"x": 1, "w": 0}}, "load would not read this model: unknown name"),
        ({"scale": {"w": 1}}, "load would not read this model: unknown name"),
        ({"gauge": {"w": "t"}}, "load would not read this model: unknown name"),
        ({"events": ("w",)}, "load would not read this model: unknown name"),
        ({"invariants": {"sum": "x + w"}}, "load would not read this model: unknown name"),
        ({"keep": "all"}, "load would not read this model: all is not what a motion can store"),
    ],
)
def test_what_load_would_refuse_is_not_saved(change, told, tmp_path):
    model = ch.Model(SPRING, ch.Hamilton(), {"e": 1}, {"x": 1.0, "x'": 0.0})
    with pytest.raises(ch.ChetaevError, match=told):
        ch.save(replace(model, **change), tmp_path / "a.toml")
    assert not list(tmp_path.iterdir())
    ch.save(model, tmp_path / "a.toml")


def test_values_under_greek_names_are_saved(tmp_path):
    system = ch.System("x", "θ", lagrangian="x'^2/2 - θ*x^2/2")
    model = ch.Model(system, ch.Hamilton(), {"θ": 2.5}, {"x": 1.0, "x'": 0.0})
    assert ch.load(ch.save(model, tmp_path / "a.toml")).parameters == {"theta": 2.5}


def test_unknown_names_are_refused_by_ensembles_and_analyses():
    with pytest.raises(ch.UsageError, match="slopes: w is neither a parameter nor an initial value"):
        ch.simulate_many(ch.derive(SPRING), {"x": [1, 2], "x'": 0}, (0, 1), parameters={"e": 1}, slopes=["w"])
    with pytest.raises(ch.ParameterError, match="w is not a parameter"):
        ch.analyze(ch.derive(SPRING), parameters={"w": 1})
