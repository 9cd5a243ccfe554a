"""Reports and files tell the truth: what they hold gives the same motion again, to the last bit; what they cannot hold they say."""

import html
import re

import numpy as np
import pytest

import chetaev as ch
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.report import _file, sections
from chetaev.report.subject import subject_of
from chetaev.report.typeset import Typesetter

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
    return sections.system(subject, Typesetter()), _file(subject.model, subject.motion)


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


def test_a_report_says_what_the_file_cannot_hold():
    motion = driven(events=[ch.On("theta - 1", terminal=True)])
    assert "It does not hold events" in section_of(motion)[1]
    assert loads(file_of(motion)).t == (0.25, 2.0) and motion.end[0] < 2
    assert "does not hold" not in section_of(driven())[1]


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
    ],
)
def test_unknown_keys_are_refused_everywhere(table, line):
    head = 'name = "p"\nlagrangian = "x\'^2/2"\n'
    rest = '[coordinates]\nx = "line"\n' + ("" if table == "principle" else '[principle]\nname = "hamilton"\n')
    head, rest = (f"{line}\n{head}", rest) if not table else (head, f"{rest}[{table}]\n{line}\n")
    rest = rest.replace("[compare]", '[[compare]]\nname = "vakonomic"')
    with pytest.raises(ch.ModelError, match="is not a key of"):
        loads(head + rest)
