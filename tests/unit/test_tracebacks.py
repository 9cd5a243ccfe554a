"""Tracebacks of errors of the library: the user's own line, at most one frame of the library, and all frames on request."""

from __future__ import annotations

import enum
import inspect
import linecache
import os
import pickle
import subprocess
import sys
import traceback
from functools import cached_property
from importlib import import_module
from types import FunctionType

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.errors import full_traceback
from chetaev.core.support.public import is_public, public
from chetaev.numerics.motion import simulate as home_of_simulate

SLEIGH = ch.gallery("sleigh")
SPRING = ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
START = {"x": 1, "x'": 0}


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch):
    monkeypatch.delenv("CHETAEV_TRACEBACK", raising=False)


def from_library(trace):
    return [frame for frame in traceback.extract_tb(trace) if "/chetaev/" in frame.filename.replace("\\", "/")]


def spring(**changes):
    return ch.simulate(ch.derive(SPRING), START, (0, 1), **{"parameters": {"k": 1}, **changes})


def free_fall():
    """A motion without a Lagrangian, which has no energy."""
    return ch.simulate(ch.DynamicalForm("q", ["q'' + 1"]), {"q": 0, "q'": 0}, (0, 1))


def again(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own bytes


def prepared():
    return ch.prepare(ch.derive(SPRING), (0, 1))


CALLS = {
    "System": lambda: ch.System("x", lagrangian="x'^2/2 - (((x + ((y))))^2)/2"),
    "parse": lambda: ch.parse("(((x + ((2*)))", SPRING),
    "derive": lambda: ch.derive(SLEIGH.system),
    "principle": lambda: ch.derive(SLEIGH.system, ch.Mixed({"kinematic[3]": ch.DAlembert()})),
    "evaluate": lambda: ch.evaluate(ch.derive(SPRING), {"x": 1}),
    "analyze": lambda: ch.analyze(3),
    "contradiction": lambda: ch.simulate(SLEIGH, {**SLEIGH.start.fixed, "y'": 3.0}, (0, 1)),
    "simulate": lambda: spring(parameters={}),
    "simulate_many": lambda: ch.simulate_many(ch.derive(SPRING), {"x": 1, "x'": 0, "z": 2}, (0, 1), parameters={"k": np.ones(2)}),
    "motion[...]": lambda: spring()["nothing"],
    "motion.at": lambda: spring().at(2.0),
    "motion.final[...]": lambda: spring().final["nothing"],
    "motion.slope": lambda: spring().slope("x", "k"),
    "property": lambda: free_fall().energy,
    "prepare": lambda: ch.prepare(ch.derive(SPRING)),
    "run": lambda: prepared()(np.ones(3), np.ones(1)),
    "run.start": lambda: prepared().start({"x": 1}, {"k": 1}),
    "run.many": lambda: prepared().many(np.ones((2, 2)), np.ones((3, 1))),
    "load": lambda: ch.load("no such file.toml"),
    "gallery": lambda: ch.gallery("slegh"),
    "Model": lambda: ch.Model(SPRING, ch.Hamilton(), scene=3),
    "register": lambda: ch.register(3),
    "transforms": lambda: ch.transforms.routh(SPRING, ["x"]),
    "singular": lambda: ch.constraint_algorithm(ch.DynamicalForm("q", ["z"])),
    "forms": lambda: ch.forms.d("x"),
    "groups": lambda: ch.groups.lie_algebra([1]),
    "plot": lambda: ch.plot.series(spring(), "nothing"),
    "shape": lambda: ch.plot.Rod("0, 0", 3),
    "orbits": lambda: ch.orbits.periodic(ch.derive(SPRING), START, period="a", parameters={"k": 1}),
    "control": lambda: ch.control.growth(3),
    "steer": lambda: ch.steer(SPRING, start=START, end={"z": 1}),
    "fit": lambda: ch.fit(SLEIGH, {"t": [0, 1]}, unknown={}),
    "code": lambda: ch.code(SLEIGH, "cobol"),
    "sweep": lambda: ch.sweep(SLEIGH, over={}, measure={}, to="chart.zarr"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_public_call_shows_at_most_one_frame_of_the_library(name):
    with pytest.raises(ch.ChetaevError) as found:
        CALLS[name]()
    frames = traceback.extract_tb(found.value.__traceback__)
    assert len(from_library(found.value.__traceback__)) <= 1, [frame.filename for frame in frames]
    assert any(frame.filename == __file__ and "lambda" in frame.name for frame in frames)


def test_a_terminal_shows_the_users_line_and_the_message(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(
        "import chetaev as ch\n\nmodel = ch.gallery('sleigh')\n"
        'motion = ch.simulate(model, {**model.start.fixed, "y\'": 3.0}, (0, 1))  # my own line\n'
    )
    shown = {word: _terminal(script, word) for word in ("", "1", "full", "0")}
    assert shown[""] == shown["0"] and shown["1"] == shown["full"]
    assert shown[""].count("/chetaev/") == 1 and "# my own line" in shown[""]
    assert "InitialError · simulate 'Chaplygin sleigh'" in shown[""]
    assert shown["1"].count("/chetaev/") > 5


def _terminal(script, word):
    environment = {**os.environ, "CHETAEV_TRACEBACK": word}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    assert done.returncode == 1
    return done.stderr


def test_a_notebook_shows_the_line_and_the_message():
    with pytest.raises(ch.NotationError) as found:
        ch.System("x", lagrangian="x'^2/2 - k*x^2/2")
    shown = found.value._render_traceback_()
    assert "ch.System(" in shown[0] and shown[0].startswith("line ")
    assert "\n".join(shown).endswith(str(found.value)) and not any("parser" in line for line in shown)


CELL = """model = ch.gallery("sleigh")

def attempt():
    return ch.simulate(model, {**model.start.fixed, "y'": 3.0}, (0, 1))

attempt()
"""


@pytest.mark.parametrize("word", ["", "1"])
def test_a_cell_of_a_notebook_shows_its_own_line_and_the_message(word, monkeypatch):
    """As IPython does it: the cell is known to linecache, runs in `__main__`, and the error says how it is shown, as a list of texts."""
    monkeypatch.setenv("CHETAEV_TRACEBACK", word)
    name = "<ipython-input-1-0123456789ab>"
    monkeypatch.setitem(linecache.cache, name, (len(CELL), None, CELL.splitlines(keepends=True), name))
    with pytest.raises(ch.InitialError) as found:
        exec(compile(CELL, name, "exec"), {"__name__": "__main__", "ch": ch})  # noqa: S102 - a text of this file
    shown = found.value._render_traceback_()
    if word:
        assert len([line for line in shown if "/chetaev/" in line]) > 5
        return
    assert shown[:2] == ['line 4:  return ch.simulate(model, {**model.start.fixed, "y\'": 3.0}, (0, 1))', ""]
    assert shown[2:] == str(found.value).splitlines() and not any("/chetaev/" in line for line in shown)


def test_the_whole_traceback_on_request(monkeypatch):
    for word in ("1", "full"):
        monkeypatch.setenv("CHETAEV_TRACEBACK", word)
        with pytest.raises(ch.NotationError) as found:
            ch.System("x", lagrangian="x'^2/2 - (((x + ((y))))^2)/2")
        assert full_traceback() and len(from_library(found.value.__traceback__)) > 10
        assert any("notation" in line for line in found.value._render_traceback_())
        assert found.value.__context__ is None


def test_the_line_of_a_function_that_the_user_gave_stays():
    outer = {"__name__": "chetaev.some.module"}
    verb = public(FunctionType((lambda function: function()).__code__, outer))

    def mine():
        return ch.parse("2*", SPRING)

    with pytest.raises(ch.NotationError) as found:
        verb(mine)
    names = [frame.name for frame in traceback.extract_tb(found.value.__traceback__)]
    assert names == ["test_the_line_of_a_function_that_the_user_gave_stays", "call", "mine"]


def test_causes_lose_the_frames_of_the_library_only():
    outer = {"__name__": "chetaev.some.module", "ch": ch}

    def fails():
        raise ValueError("mine")

    def library(function):
        try:
            function()
        except ValueError as cause:
            raise ch.ModelError("wrong.", where="here") from cause

    with pytest.raises(ch.ModelError) as found:
        public(FunctionType(library.__code__, outer))(fails)
    assert isinstance(found.value.__cause__, ValueError)
    assert [frame.name for frame in traceback.extract_tb(found.value.__cause__.__traceback__)] == ["fails"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError, ch.errors.ClockWarning])
def test_other_exceptions_keep_all_frames(kind):
    def inner():
        raise kind("x")

    def outer():
        inner()

    with pytest.raises(kind) as found:
        public(outer)()
    assert [frame.name for frame in traceback.extract_tb(found.value.__traceback__)][1:] == ["call", "outer", "inner"]


def test_a_public_function_is_the_one_of_its_module_and_looks_like_it():
    assert ch.simulate is home_of_simulate.simulate and again(ch.simulate) is ch.simulate
    assert ch.reduce is ch.transforms.reduce is ch.groups.reduce
    assert list(inspect.signature(ch.simulate).parameters)[:3] == ["equations", "start", "t"]
    assert ch.simulate.__name__ == "simulate" and ch.simulate.__module__ == "chetaev.numerics.motion.simulate" and ch.simulate.__doc__
    assert "def simulate(" in inspect.getsource(ch.simulate) and public(ch.simulate) is ch.simulate
    assert again(SPRING) == SPRING
    assert next(iter(inspect.signature(ch.System).parameters)) == "coordinates"


def everything_public():
    """All functions and classes of the public tables, by their paths."""
    found = {f"ch.{name}": getattr(ch, name) for name in [*ch.__all__, *ch.ALSO] if name not in ch._MODULES}
    for word, module in ch._MODULES.items():
        found |= {f"ch.{word}.{name}": getattr(import_module(module), name) for name in import_module(module).__all__}
    return found


def functions_of(thing):
    """The functions that a user's line calls when it uses a public name; a package may be called like its function of the same name."""
    if inspect.ismodule(thing):
        return {"": type(thing).__call__}
    if not inspect.isclass(thing):
        return {"": thing}
    found = {}
    for base in thing.__mro__:
        if not base.__module__.startswith("chetaev."):
            continue
        for name, member in vars(base).items():
            target = member.fget if isinstance(member, property) else member.func if isinstance(member, cached_property) else member
            target = getattr(target, "__func__", target)
            if inspect.isfunction(target) and (not name.startswith("_") or name in ("__init__", "__call__", "__getitem__")):
                found[f".{name}"] = target
    return found


def test_every_public_name_cuts_tracebacks():
    exempt = (Exception, enum.Enum, sympy.Symbol)  # symbols raise no error of the library, and SymPy calls their methods very often
    things = {path: thing for path, thing in everything_public().items() if not (inspect.isclass(thing) and issubclass(thing, exempt))}
    open_ones = [path + name for path, thing in things.items() for name, function in functions_of(thing).items() if not is_public(function)]
    assert not open_ones and len(things) > 250
