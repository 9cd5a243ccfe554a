"""What mends an error is a value, which Python, the command line and model files each say in their own words."""

import pickle

import pytest

import chetaev as ch
from chetaev.cli.session import on_the_command_line
from chetaev.core.fixes import Ask, ChooseBranch, ChooseGauge, Guess, SetInitial, SetInput, SetParameter, UsePrinciple
from chetaev.core.support.registry import words_of
from chetaev.io.reading import loads
from chetaev.io.writing import in_the_file
from chetaev.mechanics.principles import of_words


def caught(call):
    with pytest.raises(ch.ChetaevError) as found:
        call()
    return found.value


def sleigh(**changes):
    parts = {
        "coordinates": "x y",
        "parameters": "m",
        "lagrangian": "m/2*(x'^2 + y'^2)",
        "kinematic": ["y' = t*x'"],
        "name": "sleigh",
    }
    return ch.System(**(parts | changes))


PENDULUM = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = 1"])

RAISED = {
    "parameter": (
        lambda: ch.evaluate(ch.derive(sleigh(), ch.DAlembert()), {"x": 0, "y": 0, "x'": 1}),
        [SetParameter(("m",))],
    ),
    "input": (
        lambda: ch.evaluate(ch.derive(ch.System("x", lagrangian="x'^2/2", inputs={"u": None}, forces={"x": "u"})), {"x": 0, "x'": 1}),
        [SetInput(("u",), "sin(t)")],
    ),
    "initial value": (
        lambda: ch.evaluate(ch.derive(sleigh(), ch.DAlembert()), {"y": 0, "x'": 1}, parameters={"m": 1}),
        [SetInitial(("x",))],
    ),
    "guess": (lambda: ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), {"x": 0.6, "x'": 0}), [Guess(("y",))]),
    "principle": (lambda: ch.derive(sleigh()), [UsePrinciple(ch.DAlembert(), "sleigh"), UsePrinciple(ch.Vakonomic(), "sleigh")]),
    "other principle": (lambda: ch.derive(sleigh(kinematic=["x'^2 + y'^2 = 1"]), ch.DAlembert()), [UsePrinciple(ch.Chetaev())]),
    "inside another": (
        lambda: ch.derive(sleigh(kinematic=["x'^2 + y'^2 = 1"], action="s"), ch.Herglotz(ch.DAlembert())),
        [UsePrinciple(ch.Herglotz(ch.Chetaev()))],
    ),
    "around this one": (lambda: ch.derive(sleigh(action="s"), ch.Vakonomic()), [UsePrinciple(ch.Herglotz(ch.Vakonomic()))]),
    "gauge": (
        lambda: ch.simulate(ch.gallery("krupkova")),
        [ChooseGauge((("q2", "sin(t)"),), "simulate")],
    ),
    "gauge of a function that takes none": (
        lambda: ch.linearize(ch.gallery("krupkova")),
        [ChooseGauge((("q2", "sin(t)"),), "evaluate")],
    ),
    "branch": (lambda: ch.simulate(ch.gallery("cawley"), branch=7), [ChooseBranch(0), ChooseBranch(1)]),
    "more to ask": (
        lambda: ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), {"x": 0.6, "y": 0.6, "x'": 0}),
        [Ask("classify")],
    ),
}


@pytest.mark.parametrize("case", RAISED)
def test_errors_carry_fixes_as_values(case):
    call, fixes = RAISED[case]
    error = caught(call)
    assert list(error.fixes) == fixes
    assert all(str(fix) in error.hint for fix in fixes)
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    assert copied.fixes == error.fixes and copied.place == error.place and str(copied) == str(error)


def test_a_mixture_suggests_a_mixture_and_calls_its_rows_as_the_system_does():
    mixed = {"kinematic[0]": ch.Vakonomic(), "kinematic[1]": ch.DAlembert()}
    system = sleigh(coordinates="x y z", kinematic=["y' = t*x'", "x'^2 + z'^2 = 1"])
    error = caught(lambda: ch.derive(system, ch.Mixed(mixed)))
    assert error.what.startswith("kinematic[1] is nonlinear")
    assert error.fixes == (UsePrinciple(ch.Mixed(mixed | {"kinematic[1]": ch.Chetaev()})),)
    assert len(ch.derive(system, error.fixes[0].principle).rows) == 5


MIXED = ch.Mixed({"kinematic[0]": ch.Vakonomic(), "blade": ch.DAlembert()})


@pytest.mark.parametrize(
    ("fix", "python", "options", "file"),
    [
        (SetParameter(("m", "J")), "parameters=dict(m=..., J=...)", "--set m=... --set J=...", "[parameters] m = ..., J = ..."),
        (SetInput(("u",), "sin(t)"), 'inputs={"u": "sin(t)"}', '--set "u = sin(t)"', '[values] u = "sin(t)"'),
        (SetInput(("u",)), 'inputs={"u": ...}', '--set "u = ..."', '[values] u = "..."'),
        (SetInitial(("x'",)), '{..., "x\'": ...}', '--set "x\' = ..."', '[initial] fixed = [..., "x\' = ..."]'),
        (
            Guess(("y", "z")),
            'State(fixed, guess={"y": ..., "z": ...})',
            'in the file, [initial] guess = ["y = ...", "z = ..."]',
            '[initial] guess = ["y = ...", "z = ..."]',
        ),
        (
            UsePrinciple(ch.VirtualWork(), "tyre"),
            "derive(tyre, VirtualWork())",
            "--principle virtual-work",
            '[principle] name = "virtual-work"',
        ),
        (
            UsePrinciple(ch.Herglotz(ch.Vakonomic())),
            "Herglotz(Vakonomic())",
            '--principle "herglotz(vakonomic)"',
            '[principle] name = "herglotz", inner = "vakonomic"',
        ),
        (
            UsePrinciple(MIXED),
            "Mixed({'kinematic[0]': Vakonomic(), 'blade': DAlembert()})",
            '--principle "mixed(kinematic[0]=vakonomic, blade=dalembert)"',
            '[principle] name = "mixed", rows = {"kinematic[0]" = "vakonomic", blade = "dalembert"}',
        ),
        (ChooseBranch(1), "branch=1", "--branch 1", "[simulate] branch = 1"),
        (
            ChooseGauge((("q2", "sin(t)"), ("q3", "t")), "code"),
            'code(..., gauge={"q2": "sin(t)", "q3": "t"})',
            '--gauge "q2 = sin(t)" --gauge "q3 = t"',
            '[gauge] q2 = "sin(t)", q3 = "t"',
        ),
        (Ask("analyze"), "ch.analyze", "chetaev analyze 'my model.toml'", "ch.analyze"),
    ],
)
def test_each_front_end_has_words_for_a_fix(fix, python, options, file):
    assert str(fix) == python
    assert on_the_command_line(fix, "my model.toml") == options
    assert in_the_file(fix) == file


@pytest.mark.parametrize("principle", [ch.Hamilton(), ch.Herglotz(), ch.Herglotz(ch.Chetaev()), MIXED, ch.Herglotz(MIXED)], ids=str)
def test_the_words_for_a_principle_are_read_back(principle):
    assert of_words(words_of(principle), "here") == principle


FILE = """name = "m"
lagrangian = "x'^2/2 + y'^2/2"

[coordinates]
x = "line"
"θ" = "line"
y = "line"

[parameters]
k = 1

[constraints.kinematic]
blade = "y' = x*x'"

[principle]
name = "dalembert"
"""


@pytest.mark.parametrize(
    ("old", "new", "part", "key", "line"),
    [
        ('lagrangian = "x', 'lagrangian = "q', "lagrangian", None, "lagrangian, line 2"),
        ('"θ" = "line"', '"θ" = "lyne"', "coordinates", "theta", "coordinates.θ, line 6"),
        ("k = 1", "x = 1", "parameters", "x", "parameters.x, line 10"),
        ("k = 1", '"k-1" = 1', "parameters", "k-1", "parameters.k-1, line 10"),
        ("\"y' = x*x'\"", '"z = x"', "kinematic", "blade", "constraints.kinematic.blade, line 13"),
        (
            "[constraints.kinematic]\nblade = \"y' = x*x'\"",
            '[constraints]\nkinematic = ["x = 1",\n"z = 1"]',
            "kinematic",
            1,
            "kinematic[1], line 14",
        ),
        ("[principle]", '[where]\nc = "1"\na = "b"\nb = "a"\n[principle]', "where", "a", "where.a, line 17"),
    ],
)
def test_the_place_of_a_fault_is_a_value_that_a_file_finds(old, new, part, key, line):
    place = caught(lambda: loads(FILE.replace(old, new, 1), "m.toml")).place
    assert (place.source, place.part, place.key) == ("m.toml", part, key)
    assert place.startswith("m.toml, ") and place.endswith(line)


def test_an_error_in_a_file_speaks_the_words_of_the_file():
    wrong = 'name = "herglotz"\ninner = "herglotz"'
    for table, head in (("[principle]", "[principle]"), ('[principle]\nname = "dalembert"\n[[compare]]', "[[compare]]")):
        error = caught(lambda: loads(FILE.replace('[principle]\nname = "dalembert"', f"{table}\n{wrong}"), "m.toml"))  # noqa: B023
        assert error.hint == f'for example {head} name = "herglotz", inner = "dalembert"'
        assert error.fixes == (UsePrinciple(ch.Herglotz(ch.DAlembert())),)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - made here


def test_a_fix_can_be_acted_on():
    """The accelerations of x^2 + y^2 = 1 at the side, with no speed: y'' = -1, x'' = 0."""
    error = caught(lambda: ch.derive(PENDULUM, ch.Hamilton()))
    principle = error.fixes[0].principle
    assert principle == ch.DAlembert()
    now = ch.evaluate(ch.derive(PENDULUM, principle), {"x": 1, "y": 0, "x'": 0, "y'": 0})
    assert now["y''"] == pytest.approx(-1) and now["x''"] == pytest.approx(0, abs=1e-12)


def test_a_contradiction_carries_its_rows():
    """x' = y and x' = z make y' = z', which y' = 1, z' = 0 contradict."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["x' = y", "x' = z"])
    error = caught(lambda: ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": 0, "x'": 1, "y": 1, "z": 2, "y'": 1, "z'": 0}))
    assert error.rows == ("kinematic[0]", "kinematic[1]", "consequence[0]")
    assert "consequence[0] follows from kinematic[0]', kinematic[1]'." in error.why
