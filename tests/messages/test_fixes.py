"""What mends an error is a value, which Python, the command line and model files each say in their own words."""

import pickle

import pytest

import chetaev as ch
from chetaev.cli.fixes import on_the_command_line
from chetaev.core.fixes import (
    Ask,
    ChooseBranch,
    ChooseGauge,
    Code,
    Guess,
    InPython,
    LeaveOut,
    Replace,
    SetArgument,
    SetInitial,
    SetInput,
    SetParameter,
    SetPart,
    UsePrinciple,
)
from chetaev.core.support.registry import words_of
from chetaev.io.fixes import in_the_file
from chetaev.io.reading import loads
from chetaev.mechanics.principles import of_words
from python_code import python_code_in


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
        [ChooseGauge((("q2", "0.4 - 0.3*sin(t)"),), "simulate")],
    ),
    "gauge of a function that takes none": (
        lambda: ch.linearize(ch.gallery("krupkova")),
        [ChooseGauge((("q2", "0.4 - 0.3*sin(t)"),), "evaluate")],
    ),
    "branch": (lambda: ch.simulate(ch.gallery("cawley"), branch=7), [ChooseBranch(0), ChooseBranch(1)]),
    "more to ask": (
        lambda: ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), {"x": 0.6, "y": 0.6, "x'": 0}),
        [LeaveOut(("x", "y")), Guess(("x",)), Ask("classify")],
    ),
    "a value that must not be left out": (
        lambda: ch.evaluate(ch.derive(ch.System({"A": "SO3 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2")), {"A1'": 0, "A2'": 0, "A3'": 1}),
        [SetInitial(("A",), "numpy.eye(3)")],
    ),
    "spelling": (lambda: ch.parse("tetha", coordinates="theta"), [Replace("theta")]),
    "part": (lambda: ch.derive(sleigh(), ch.Herglotz()), [SetPart("action", "s", whole=True)]),
    "interval": (lambda: ch.simulate(ch.derive(PENDULUM, ch.DAlembert()), {"x": 1, "y": 0}, (0, 0)), [SetArgument("t", (0, 10))]),
    "tolerance": (
        lambda: ch.simulate(ch.gallery("sleigh"), tolerance=(1, 2, 3)),
        [SetArgument("tolerance", 1e-9), SetArgument("tolerance", (1e-9, 1e-12))],
    ),
    "method": (
        lambda: ch.simulate(ch.gallery("sleigh"), method="euler"),
        [SetArgument("method", Code("ch.Implicit()", "implicit")), SetArgument("method", Code("ch.Taylor()", "taylor"))],
    ),
    "method to leave out": (
        lambda: ch.simulate(ch.gallery("sleigh"), method=ch.Implicit(), slopes=["a"]),
        [LeaveOut(("method",), argument=True)],
    ),
}


@pytest.mark.parametrize("case", RAISED)
def test_errors_carry_fixes_as_values(case):
    call, fixes = RAISED[case]
    error = caught(call)
    assert list(error.fixes) == fixes
    assert all(str(fix) in str(error) for fix in fixes)
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
        (Ask("analyze"), "ch.analyze", "chetaev analyze 'my model.toml'", "in Python, ch.analyze"),
        (
            Ask("reduce_velocities", "system"),
            "reduce_velocities(system)",
            "chetaev transform 'my model.toml' reduce-velocities",
            "in Python, reduce_velocities(system)",
        ),
        (Ask("dirac", "system"), "dirac(system)", "in Python, dirac(system)", "in Python, dirac(system)"),
        (InPython("motion.at(0.5)"), "motion.at(0.5)", "in Python, motion.at(0.5)", "in Python, motion.at(0.5)"),
        (Replace("theta"), "Did you mean theta?", "Did you mean theta?", "Did you mean theta?"),
        (
            LeaveOut(("x", "y", "z'")),
            "leave out x, y or z'",
            "leave out x, y or z' (--set, or [initial] fixed in the file)",
            "leave out x, y or z' in [initial] fixed",
        ),
        (
            LeaveOut(("method",), argument=True),
            "leave out method=",
            "leave out --method, or method in the file",
            "leave out method in [simulate]",
        ),
        (SetArgument("t", (0, 10)), "t=(0, 10)", "--t 0,10", "[simulate] t = [0, 10]"),
        (SetArgument("t", (0, 10), "simulate"), "simulate(..., t=(0, 10))", "--t 0,10", "[simulate] t = [0, 10]"),
        (SetArgument("tolerance", 1e-9), "tolerance=1e-9", "--tolerance 1e-9", "[simulate] tolerance = 1e-9"),
        (
            SetArgument("tolerance", (1e-9, 1e-12)),
            "tolerance=(1e-9, 1e-12)",
            "in the file, [simulate] tolerance = [1e-9, 1e-12]",
            "[simulate] tolerance = [1e-9, 1e-12]",
        ),
        (
            SetArgument("method", Code("ch.Implicit()", "implicit")),
            "method=ch.Implicit()",
            "--method implicit",
            '[simulate] method = "implicit"',
        ),
        (SetArgument("scale", {"x'": 1e-6}), 'scale={"x\'": 1e-6}', 'in the file, [scale] "x\'" = 1e-6', '[scale] "x\'" = 1e-6'),
        (SetArgument("events", ["x"]), 'events=["x"]', 'in the file, [[events]] expression = "x"', '[[events]] expression = "x"'),
        (SetArgument("unknown", {"a": (0, 1), "J": None}), 'unknown={"a": (0, 1), "J": None}', "--unknown a=0,1 --unknown J", None),
        (SetArgument("sliders", {"a": (0.1, 1)}), 'sliders={"a": (0.1, 1)}', "--slider a=0.1:1", None),
        (SetArgument("seeds", 20), "seeds=20", "--seeds 20", "in Python, seeds=20"),
        (SetArgument("grid", 41), "grid=41", "in Python, grid=41", "in Python, grid=41"),
        (SetPart("action", "s"), 'action="s"', 'in the file, action = "s"', 'action = "s"'),
        (SetPart("coordinates", "x y"), 'coordinates="x y"', None, '[coordinates] x = "line", y = "line"'),
        (SetPart("kinematic", ["..."]), 'kinematic=["..."]', None, '[constraints] kinematic = ["..."]'),
        (SetPart("kinematic", {"blade": "..."}), 'kinematic={"blade": "..."}', None, '[constraints.kinematic] blade = "..."'),
        (SetPart("inputs", {"u": None}), 'inputs={"u": None}', None, '[inputs] u = "open"'),
        (SetInitial(("A",), "numpy.eye(3)"), '{..., "A": numpy.eye(3)}', '--set "A = ..."', '[initial] fixed = [..., "A = ..."]'),
    ],
)
def test_each_front_end_has_words_for_a_fix(fix, python, options, file):
    assert str(fix) == python
    assert options is None or on_the_command_line(fix, "my model.toml") == options
    assert file is None or in_the_file(fix) == file
    assert not python_code_in(on_the_command_line(fix)) and not python_code_in(in_the_file(fix))
    assert pickle.loads(pickle.dumps(fix)) == fix  # noqa: S301 - made here


def test_a_verb_without_the_option_names_the_key_of_the_file_or_python():
    known = {"--t", "--set"}
    assert on_the_command_line(SetArgument("t", (0, 10)), known=known) == "--t 0,10"
    assert on_the_command_line(SetArgument("max_step", 0.1), known=known) == "in the file, [simulate] max_step = 0.1"
    assert on_the_command_line(SetArgument("seeds", 20), known=known) == "in Python, seeds=20"


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
        ("[principle]", '[initial]\nfixed = ["x = q"]\n\n[principle]', "initial", "fixed", "initial.fixed[0], line 16"),
    ],
)
def test_the_place_of_a_fault_is_a_value_that_a_file_finds(old, new, part, key, line):
    place = caught(lambda: loads(FILE.replace(old, new, 1), "m.toml")).place
    assert (place.source, place.part, place.key) == ("m.toml", part, key)
    assert place.startswith("m.toml, ") and place.endswith(line)


SKATE = ch.System("x y a", "m", lagrangian="m/2*(x'^2 + y'^2) + a'^2/2", kinematic={"blade": "y' = x'*tan(a)"}, inputs={"u": None})
SKATING = ch.derive(SKATE, ch.DAlembert())
START = {"x": 0, "y": 0, "a": 0, "x'": 1, "a'": 0}
GIVEN = {"parameters": {"m": 1}, "inputs": {"u": 0}}


@pytest.mark.parametrize(
    ("call", "verb", "part", "key", "row"),
    [
        (lambda: ch.derive(SKATE, ch.Hamilton()), "derive", "kinematic", None, ""),
        (lambda: ch.derive(SKATE), "derive", "principle", None, ""),
        (lambda: ch.derive(SKATE.replace(kinematic={"blade": "y'^2 = x'*a'"}), ch.DAlembert()), "derive", "kinematic", None, "blade"),
        (lambda: ch.evaluate(SKATING, START, inputs={"u": 0}), "evaluate", "parameters", "m", ""),
        (lambda: ch.evaluate(SKATING, START, parameters={"m": 1}), "evaluate", "inputs", "u", ""),
        (lambda: ch.evaluate(SKATING, {**START, "z": 1}, **GIVEN), "evaluate", "start", "z", ""),
        (lambda: ch.evaluate(SKATING, {**START, "x''": 3}, **GIVEN), "evaluate", "start", "x''", ""),
        (lambda: ch.evaluate(SKATING, {**START, "y'": 1}, **GIVEN), "evaluate", "start", None, "blade"),
        (lambda: ch.simulate(SKATING, {**START, "y'": 1}, (0, 1), **GIVEN), "simulate", "start", None, "blade"),
        (lambda: ch.simulate(SKATING, {**START, "x": "q"}, (0, 1), **GIVEN), "simulate", "start", "x", ""),
        (lambda: ch.simulate(SKATING, {"x": 0, "y": 0, "a": 0, "x'": 1}, (0, 1), **GIVEN), "simulate", "start", "a'", ""),
        (lambda: ch.simulate(SKATING, START, (0, 1), parameters={"m": 1, "k": 1}, inputs={"u": 0}), "simulate", "parameters", "k", ""),
        (lambda: ch.simulate(SKATING, START, (0, 1), events=["x", ch.On("y", direction=2)], **GIVEN), "simulate", "events", 1, ""),
        (lambda: ch.analyze(SKATING, parameters={"k": 1}), "analyze", "parameters", "k", ""),
        (lambda: ch.control.growth(SKATE.replace(kinematic={"blade": "y'^2 = x'*a'"})), "growth", "kinematic", None, "blade"),
        (lambda: ch.System("x", lagrangian="q'^2"), "System", "lagrangian", None, ""),
        (lambda: ch.derive(3), "derive", "system", None, ""),
        (lambda: ch.derive(SKATE, ch.DAlembert), "derive", "principle", None, ""),
        (lambda: ch.evaluate(SKATING, START, parameters={"m": "q"}, inputs={"u": 0}), "evaluate", "parameters", "m", ""),
        (lambda: ch.simulate(SKATING, START, (0, 1), method="rk5", **GIVEN), "simulate", "method", None, ""),
        (lambda: ch.simulate(SKATING, START, (0, 1), branch=1, **GIVEN), "simulate", "branch", None, ""),
        (lambda: ch.simulate(ch.gallery("krupkova")), "simulate", "gauge", "q2", ""),
        (lambda: ch.transforms.lift(ch.derive(ch.gallery("leaning-disk")), 0), "lift", "n", None, ""),
        (lambda: ch.transforms.hamel(SKATING, velocities={"v": "x'^2"}), "hamel", "velocities", "v", ""),
        (lambda: ch.parse("x +", SKATE), "parse", "text", None, ""),
    ],
)
def test_the_place_of_an_error_names_the_verb_and_what_is_at_fault(call, verb, part, key, row):
    error = caught(call)
    place = error.place
    assert (place.verb, place.part, place.key, place.row) == (verb, part, key, row)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    assert vars(again.place) == vars(place) and str(again) == str(error)


def test_the_verb_is_the_function_that_the_user_called():
    """`simulate` and `evaluate` share the completion of starts; `compare` calls `simulate` itself."""
    wrong = {**START, "z": 1}
    assert caught(lambda: ch.simulate_many(SKATING, wrong, (0, 1), **GIVEN)).place.verb == "simulate_many"
    assert caught(lambda: ch.compare(SKATE, [ch.DAlembert(), ch.Vakonomic()], wrong, (0, 1), **GIVEN)).place.verb == "compare"
    motion = ch.simulate(SKATING, START, (0, 1), **GIVEN)
    assert caught(lambda: motion["z"]).place.verb == "Trajectory" and caught(lambda: motion.at(5)).place.verb == "Trajectory.at"
    run = ch.prepare(SKATING, t=(0, 1), inputs={"u": 0})
    assert caught(lambda: run([0, 0], [1])).place.verb == "Prepared"


def test_a_place_is_printed_once():
    """The facts of a place are values; the message has the text of the place and names the row in its own sentence."""
    told = str(caught(lambda: ch.evaluate(SKATING, {**START, "y'": 1}, **GIVEN)))
    assert told.splitlines()[0] == "InitialError · evaluate system" and told.count("contradict blade") == 1


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


@pytest.mark.parametrize(
    ("fix", "read"),
    [
        (SetArgument("t", (0, 2)), lambda model: model.t == (0, 2)),
        (SetArgument("tolerance", (1e-6, 1e-9)), lambda model: model.tolerance == (1e-6, 1e-9)),
        (SetArgument("method", Code("ch.Implicit()", "implicit")), lambda model: isinstance(model.method, ch.Implicit)),
        (SetArgument("events", ["x - 5"]), lambda model: len(model.events) == 1),
        (SetArgument("scale", {"x": 1e-6}), lambda model: model.scale == {"x": 1e-6}),
        (SetPart("dissipation", "k*x'^2"), lambda model: model.system.dissipation != 0),
        (SetPart("forces", {"x": "k*t"}), lambda model: len(model.system.forces) == 1),
        (SetPart("inputs", {"u": None}), lambda model: len(model.system.inputs) == 1),
        (SetPart("unilateral", {"floor": ("x >= -5", "1/2")}), lambda model: model.system.unilateral[0].name == "floor"),
        (UsePrinciple(ch.Chetaev()), lambda model: model.principle == ch.Chetaev()),
        (Guess(("x",)), lambda model: model.start.guess == {"x": 1}),
    ],
    ids=lambda given: str(given) if not callable(given) else "",
)
def test_a_file_reads_what_a_fix_writes(fix, read):
    """The example as it is printed; the three dots of a value that the user has to choose become a number."""
    written = in_the_file(fix).replace("...", "1")
    table, _, keys = written.partition("] ") if written.startswith("[") else ("", "", written)
    head, tail = FILE.split("[principle]")
    principle = "" if table == "[principle" else "[principle]" + tail
    text = f"{head}{principle}\n{table}]\n{keys}\n" if table else f"{keys}\n{FILE}"
    assert read(loads(text, "m.toml"))


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "faulty"),
    [
        ("x*x'", "x*q'", 13, 17, "q"),
        ('lagrangian = "x', 'lagrangian = "\\u0078 + w', 2, 24, "w"),
        ("k = 1", "k = [1", 12, 1, "["),
        ("k = 1", 'k = {kind = "rael"}', 10, 14, "rael"),
    ],
)
def test_the_place_has_line_column_and_length(old, new, line, column, faulty):
    text = FILE.replace(old, new, 1)
    place = caught(lambda: loads(text, "m.toml")).place
    assert (place.line, place.column, place.length) == (line, column, len(faulty))
    assert text.split("\n")[line - 1][column - 1 :][: place.length] == faulty
    copied = pickle.loads(pickle.dumps(place))  # noqa: S301 - made here
    assert copied == place and (copied.line, copied.column, copied.source) == (line, column, "m.toml")


@pytest.mark.parametrize(("text", "name"), [("k*x", "k"), ("ω^2", "ω"), ("k'*x", ""), ("k(x)", ""), ("x = 1 = 2", "")])
def test_a_name_that_nothing_declares_is_data(text, name):
    assert caught(lambda: ch.parse(text, coordinates="x")).undeclared == name
