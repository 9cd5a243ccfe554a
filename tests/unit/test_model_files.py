"""Model files: an exact round trip for the gallery, and every fault named with file, table and line."""

import math
import random
import tomllib
from fractions import Fraction
from importlib.resources import files
from inspect import signature

import numpy as np
import pytest
import sympy
from scipy.spatial.transform import Rotation

import chetaev as ch
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.numerics.motion.run_settings import RUN_SETTINGS

SLEIGH = """\
name = "sleigh"
lagrangian = "m/2*(x'^2 + y'^2) + J/2*theta'^2"

[coordinates]
x = "line"
y = "line"
theta = "angle"

[parameters]
m = 1.2
J = {value = 0.4, kind = "positive"}

[constraints]
kinematic = ["y'*cos(theta) - x'*sin(theta) = 0"]

[principle]
name = "dalembert"

[initial]
fixed = ["x = 0", "y = 0", "theta = pi/6", "x' = 1", "theta' = 0.3"]

[simulate]
t = [0, 5]
tolerance = 1e-10
"""


@pytest.mark.parametrize("name", sorted(f.name for f in files("chetaev.gallery").iterdir() if f.name.endswith(".toml")))
def test_files_of_the_gallery_are_faultless(name):
    """The gallery reads its own files without the checks of others: those are made here."""
    text = (files("chetaev.gallery") / name).read_text(encoding="utf-8")
    assert loads(text, name) == ch.gallery(name.removesuffix(".toml"))


@pytest.mark.parametrize("name", ch.gallery())
def test_every_gallery_system_survives_the_file(name, tmp_path):
    model = ch.gallery(name)
    assert ch.load(ch.save(model, tmp_path / f"{name}.toml")) == model


def test_a_file_is_a_model():
    model = loads(SLEIGH)
    assert model.principle == ch.DAlembert()
    assert model.system.kinds["theta"] == "angle"
    assert [p.is_positive for p in model.system.parameters] == [None, True]
    now = ch.evaluate(model)
    # d'Alembert's knife edge: the reaction turns the velocity v = x'/cos(theta), so lambda1 = m*v*theta'
    assert now["lambda1"] == pytest.approx(1.2 * 0.3 / 0.75**0.5, abs=1e-14)


def test_a_declared_parameter_needs_no_value():
    model = loads(SLEIGH.replace("m = 1.2", 'm = {kind = "real"}'))
    assert "m" not in model.parameters
    assert loads(dumps(model)) == model


def test_open_inputs_and_their_values():
    text = SLEIGH + '\n[forces]\nx = "u"\n\n[inputs]\nu = "open"\n\n[values]\nu = "sin(2*t)"\n'
    model = loads(text)
    assert loads(dumps(model)) == model
    assert ch.evaluate(model, t=0.5)["lambda1"] != ch.evaluate(model, t=0.0)["lambda1"]


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ("theta) -", "thta) -", ch.NotationError, "sleigh.toml, constraints.kinematic[0], line 14"),
        ("lagrangian =", "lagrangean =", ch.ModelError, "lagrangean is not a key of the file.\n  -> Did you mean lagrangian?"),
        ("[coordinates]", "[coordinate]", ch.ModelError, "sleigh.toml, coordinate, line 4"),
        ('theta = "angle"', 'theta = "angel"', ch.ModelError, "Did you mean angle?"),
        ('theta = "angle"', "theta = 3", ch.ModelError, "sleigh.toml, coordinates.theta, line 7\n  a text is expected here, not a number."),
        ("m = 1.2", "m = true", ch.ModelError, "sleigh.toml, parameters.m, line 10"),
        ("m = 1.2", "m = inf", ch.ParameterError, "m = inf is not a finite number."),
        ('"dalembert"', '"dalambert"', ch.ModelError, "sleigh.toml, principle.name, line 17"),
        ('name = "dalembert"', "", ch.ModelError, "no principle is named."),
        ('"x = 0"', '"x : 0"', ch.NotationError, "sleigh.toml, initial.fixed[0], line 20"),
        ('"y = 0"', '"x = 0"', ch.ModelError, "x is given twice."),
        ("t = [0, 5]", "t = [0]", ch.ModelError, "t = [0] is no interval."),
        ("tolerance = 1e-10", "tolerance = 0", ch.ModelError, "sleigh.toml, simulate.tolerance, line 24"),
        ("t = [0, 5]", "t = [0, 5", ch.NotationError, "this is not TOML"),
        ("tolerance = 1e-10", "tolerance = " + "9" * 5000, ch.ChetaevError, "sleigh.toml"),
        ("x = 0", "x = " + "[" * 100, ch.ChetaevError, "sleigh.toml"),
    ],
)
def test_a_fault_is_named_with_its_place(old, new, kind, message):
    with pytest.raises(kind) as fault:
        loads(SLEIGH.replace(old, new, 1), "sleigh.toml")
    assert message in str(fault.value)


def test_any_damage_ends_with_a_message_or_a_model():
    """Lines deleted, characters changed, tables repeated: nothing but a ChetaevError ever comes out."""
    source = random.Random(3)
    lines = SLEIGH.splitlines()
    damaged = ["\n".join(lines[:k] + lines[k + 1 :]) for k in range(len(lines))]
    for _ in range(200):
        at = source.randrange(len(SLEIGH))
        damaged.append(SLEIGH[:at] + source.choice("'\"[]={}#\n\\ñθ9\x00") + SLEIGH[at + 1 :])
    messages = [message for text in damaged if (message := _refusal(text))]
    assert all("damaged.toml" in message for message in messages)
    assert len(messages) > 100


def _refusal(text):
    """The message of the error, empty for a good model."""
    try:
        loads(text, "damaged.toml")
    except ch.ChetaevError as fault:
        return str(fault)
    return ""


def test_nested_brackets_and_missing_files():
    with pytest.raises(ch.NotationError):
        loads("a = " + "[" * 100_000)
    with pytest.raises(ch.ModelError, match="cannot be read"):
        ch.load("no/such/file.toml")


# -- values of Python ------------------------------------------------------------------------------------------------------------------

TOP = ch.System({"A": "SO3 body", "x": "line"}, "I", lagrangian="I/2*(A1'^2 + 2*A2'^2 + 3*A3'^2) + x'^2/2 - A31 - x", name="top")
TURNED = Rotation.from_rotvec([0.3, -0.2, 0.7])
REST = {"x": 0.25, "x'": 0, "A1'": 1, "A2'": -2, "A3'": 0.5}


def top(start=None, **changes):
    """A top whose start, or another part of the model, is given as Python has it."""
    return ch.Model(TOP, ch.Hamilton(), **{"parameters": {"I": 2.0}, "start": {"A": [0.3, -0.2, 0.7], **REST, **(start or {})}, **changes})


@pytest.mark.parametrize(
    "given",
    [
        TURNED,
        TURNED.as_matrix(),
        list(TURNED.as_matrix()),
        TURNED.as_rotvec(),
        tuple(TURNED.as_rotvec()),
        np.eye(3, dtype=int),
        [np.int64(0), np.float32(0.5), "pi/2"],
    ],
    ids=["Rotation", "matrix", "rows", "vector", "numbers", "integers", "mixed"],
)
@pytest.mark.parametrize("role", ["fixed", "guess"])
def test_a_rotation_survives_the_file_in_every_form(given, role, tmp_path):
    start = ch.State({"A": given, **REST}) if role == "fixed" else ch.State(REST, {"A": given})
    model = ch.Model(TOP, ch.Hamilton(), {"I": 2.0}, start)
    read = ch.load(ch.save(model, tmp_path / "top.toml"))
    assert dict(ch.evaluate(read)) == dict(ch.evaluate(model))
    if not isinstance(given, list) and given is not TURNED:
        assert read == model


@pytest.mark.parametrize("given", [np.float64(1.1), np.float32(1.1), np.int64(3), Fraction(1, 3), sympy.pi / 6, "pi/6", 2])
def test_numbers_of_every_kind_survive_the_file(given, tmp_path):
    model = top({"x": given}, parameters={"I": given}, t=(0, given), tolerance=np.float32(1e-6))
    read = ch.load(ch.save(model, tmp_path / "top.toml"))
    assert dict(ch.evaluate(read)) == dict(ch.evaluate(model))
    assert read.t == (0.0, math.pi / 6 if given in ("pi/6", sympy.pi / 6) else float(given))
    assert read.tolerance == float(np.float32(1e-6))


def test_an_array_of_two_times_is_the_interval_of_a_model(tmp_path):
    assert ch.load(ch.save(top(t=np.array([0, 5])), tmp_path / "top.toml")).t == (0.0, 5.0)


def test_data_of_another_principle_may_be_arrays_too(tmp_path):
    model = ch.Model(TOP, ch.Hamilton(), {"I": 2.0}, REST, also={ch.DAlembert(): {"A": TURNED.as_matrix()}, ch.Chetaev(): {"A": TURNED}})
    read = ch.load(ch.save(model, tmp_path / "top.toml"))
    for principle in model.also:
        assert dict(ch.evaluate(read.under(principle))) == dict(ch.evaluate(model.under(principle)))


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (top({"x": np.linspace(0, 1, 50)}), ch.InitialError, ["start x", "an array of shape (50,)", "simulate_many takes columns"]),
        (top({"x": np.linspace(0, 1, 5)}), ch.InitialError, ["start x", "given as 5 values", "simulate_many takes columns"]),
        (top({"A": Rotation.from_rotvec(np.eye(3))}), ch.InitialError, ["start A", "shape (3, 3, 3)", "one matrix"]),
        (top({"A": sympy.eye(3)}), ch.InitialError, ["start A", "MutableDenseMatrix cannot be written", "a NumPy array"]),
        (top({"A": [0, 0, float("nan")]}), ch.InitialError, ["start A", "not finite"]),
        (top({"x": float("inf")}), ch.InitialError, ["start x", "not finite"]),
        (top({"x": None}), ch.InitialError, ["start x", "NoneType cannot be written", "a number"]),
        (top({"x": True}), ch.InitialError, ["start x", "bool cannot be written"]),
        (top(parameters={"I": np.array([1.0, 2.0])}), ch.ParameterError, ["parameter I", "ndarray cannot be written"]),
        (top(parameters={"I": float("nan")}), ch.ParameterError, ["parameter I", "not finite"]),
        (top(t=np.linspace(0, 5, 20_001)), ch.ModelError, ["t has 20001 times", "at most 20000", "given to simulate"]),
        (top(inputs={"u": lambda t: t}), ch.ParameterError, ["input u", "a Python function", '"sin(2*t)"']),
    ],
)
def test_what_a_file_cannot_hold_is_refused_before_one_is_made(model, kind, words, tmp_path):
    file = tmp_path / "top.toml"
    with pytest.raises(kind) as fault:
        ch.save(model, file)
    assert str(fault.value).startswith(f"{kind.__name__} · save 'top'")
    assert all(word in str(fault.value) for word in words), str(fault.value)
    assert not file.exists()


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(ch.ModelError, match="the file cannot be written: No such file or directory"):
        ch.save(top(), tmp_path / "nowhere" / "top.toml")


# -- the user's words ------------------------------------------------------------------------------------------------------------------

NAMED = ch.System(
    "x y",
    "k",
    lagrangian="(x'^2 + y'^2)/2 - k*V",
    where={"V": "r2^2/2 + r2", "r2": "x^2 + y^2"},
    quasi={"w": "x'*cos(V) - r2*y'"},
    inputs={"u": "k*sin(2*t)"},
    forces={"x": "-u*V*w'"},
    dissipation="3*w'^2/2",
    kinematic=["y' = V*x'"],
    variational=["δy = V*δx"],
    name="named",
)


def test_named_expressions_are_not_written_out():
    text = dumps(ch.Model(NAMED, ch.VirtualWork()))
    assert tomllib.loads(text) == {
        "name": "named",
        "lagrangian": "(x'^2 + y'^2)/2 - k*V",
        "dissipation": "3*w'^2/2",
        "coordinates": {"x": "line", "y": "line"},
        "parameters": {"k": {"kind": "real"}},
        "where": {"V": "r2^2/2 + r2", "r2": "x^2 + y^2"},
        "quasi": {"w": "x'*cos(V) - r2*y'"},
        "inputs": {"u": "k*sin(2*t)"},
        "constraints": {"kinematic": ["y' = V*x'"], "variational": ["δy = V*δx"]},
        "forces": {"x": "-u*V*w'"},
        "principle": {"name": "virtual-work"},
        "initial": {"fixed": []},
        "simulate": {"t": [0.0, 10.0], "tolerance": 1e-9},
    }
    assert loads(text).system == NAMED
    assert dumps(loads(text)) == text


def test_texts_that_mean_something_else_by_now_are_written_out():
    """A part of a system keeps its meaning when a name it was written with is gone, so its text may not be kept."""
    for names in ({"r2": "x^2 + y^2"}, {}):
        changed = NAMED.replace(where=names)
        model = ch.Model(changed, ch.VirtualWork())
        assert loads(dumps(model)).system == changed
        assert changed.kinematic == NAMED.kinematic and changed.variational == NAMED.variational
        rows = tomllib.loads(dumps(model))["constraints"]
        assert not any("V" in row for row in (*rows["kinematic"], *rows["variational"]))


def test_expressions_of_sympy_are_written_in_the_notation():
    x, y = ch.coordinates("x y")
    system = ch.System(
        [x, y], "k", lagrangian=x.d(1) ** 2 / 2 + y.d(1) ** 2 / 2, where={"r2": x**2 + y**2, "V": "r2^2"}, forces={"x": "-V"}
    )
    named = tomllib.loads(dumps(ch.Model(system, ch.Hamilton())))
    assert named["where"] == {"r2": "x^2 + y^2", "V": "r2^2"}
    assert loads(dumps(ch.Model(system, ch.Hamilton()))).system == system


POINT = '{shape = "point", at = "x, y"}'


@pytest.mark.parametrize(
    ("scene", "said", "where"),
    [
        ("[plot]\nx = 3", "plot is not a key of the file", "plot, line 26"),
        ("[scene]\nfolow = 'x, y'", "folow is not a key of a scene", "scene.folow, line 27"),
        ("[scene]\nshapes = []", "a scene without shapes", "scene.shapes, line 27"),
        (
            f"[scene]\nshapes = [\n{POINT}, # {{\n{{shape = 'whel', at = 'x, y'}}]",
            "'whel' is not a shape",
            "scene.shapes[1].shape, line 29",
        ),
        ("[scene]\nshapes = [{shape = 'rod', start = 'x, y'}]", "the shape rod has no end", "scene.shapes[0].shape, line 27"),
        ("[[scene.shapes]]\nshape = 'point'\nat = 'x, y'\nradus = 3", "radus is not a key of the shape point", "line 29"),
        (f"[scene]\nshapes = [{POINT}]\nfollow = 'x, q'", "unknown name", "scene.follow, line 28"),
        ("[scene]\nshapes = [{shape = 'point', at = 'x, q'}]", "unknown name", "scene.shapes[0].at, line 27"),
        ("[scene]\nshapes = [{shape = 'ball', at = 'x, y', rotation = 'A'}]", "unknown name", "scene.shapes[0].rotation"),
        ("[scene]\nshapes = [{shape = 'ball', at = 'x, y', rotation = 'w x'}]", "not a turn about an axis", "scene.shapes[0].rotation"),
        ("[scene]\nshapes = [{shape = 'wheel', at = 'x, y', spokes = 1000000000}]", "is not a valid number", "scene.shapes[0].spokes"),
        ("[scene]\nshapes = [{shape = 'wheel', at = 'x, y', radius = nan}]", "nan is not a number", "scene.shapes[0].radius"),
        ("[scene]\nshapes = [{shape = 'point', at = 'x, y', colour = 'url(x)'}]", "is not a colour", "scene.shapes[0].colour"),
        ("[scene]\nshapes = [{shape = 'label', at = 'x, y', text = \"\\u001b[2J\"}]", "control character", "scene.shapes[0].text"),
        ("[scene]\nshapes = [{shape = 'frame', at = 'x, y', rods = []}]", "there are no rods", "scene.shapes[0].rods"),
        (f"[scene]\nview = [1]\nshapes = [{POINT}]", "not a direction of view", "scene.view"),
        (f"[scene]\nroom = 0\nshapes = [{POINT}]", "0 is not a positive number", "scene.room"),
    ],
)
def test_faults_of_a_scene_name_their_place(scene, said, where):
    with pytest.raises((ch.ModelError, ch.NotationError)) as caught:
        loads(f"{SLEIGH}\n{scene}\n", "my.toml")
    assert said in str(caught.value)
    assert where in caught.value.where and caught.value.where.startswith("my.toml, ")


def test_the_refusal_of_plot_names_scene():
    with pytest.raises(ch.ModelError) as caught:
        loads(f"{SLEIGH}\n[plot]\n")
    assert "[scene]" in caught.value.hint


def test_every_setting_of_a_run_is_a_field_of_a_model_and_an_argument_of_simulate():
    model = ch.gallery("sleigh")
    names = {"t", *model.run}
    assert {setting.name for setting in RUN_SETTINGS} == names
    assert names <= set(ch.Model.__dataclass_fields__) & set(signature(ch.simulate).parameters)
