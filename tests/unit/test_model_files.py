"""Model files: an exact round trip for the gallery, and every fault named with file, table and line."""

import random

import pytest

import chetaev as ch
from chetaev.io.reading import loads
from chetaev.io.writing import dumps

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
