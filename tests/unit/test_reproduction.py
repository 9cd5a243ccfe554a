"""Reports and files tell the truth: what they hold gives the same motion again, to the last bit; what they cannot hold they say."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

import chetaev as ch
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
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
}


@pytest.mark.parametrize("asked", ASKED)
def test_every_setting_of_a_run_is_kept(asked, tmp_path):
    motion = ch.simulate(ch.derive(SPRING), {"x": 1, "x'": 0}, (0, 4), parameters={"e": 0.7}, **ASKED[asked])
    plain = ch.simulate(ch.derive(SPRING), {"x": 1, "x'": 0}, (0, 4), parameters={"e": 0.7})
    assert motion.states.shape != plain.states.shape or not np.array_equal(motion.states, plain.states)  # the setting matters
    for told in (motion, ch.load(motion.save(tmp_path / "run.npz"))):
        assert told.asked.settings == motion.asked.settings and "does not hold" not in section_of(told)[1]
        model = loads(file_of(told))
        assert loads(dumps(model)) == model
        again = ch.simulate(model)
        assert np.array_equal(again.t, motion.t) and np.array_equal(again.states, motion.states)
        assert [event.t for event in again.events] == [event.t for event in motion.events]


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


def test_a_report_says_what_the_file_cannot_hold():
    motion = driven(max_steps=10_000)
    assert "It does not hold a number of steps" in section_of(motion)[1]
    assert "does not hold" not in section_of(driven())[1]


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
        ("[simulate]\nbranch = true", "is expected here"),
        ('[scale]\nx = "1"', "a number is expected"),
        ('[gauge]\nx = "wrong"', "wrong"),
        ("[gauge]\nx = 3", "a text is expected"),
        ("[scale]\ny = 3", "unknown name"),
        ("[scale]\npi = 3", "no jet"),
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
