"""What the command line says where a user goes wrong by a little, and what it adds to the words of the library."""

import csv

import pytest

import chetaev as ch
from chetaev.cli.verbs import simulate
from chetaev.core.support.frozen import Frozen
from chetaev.numerics.motion.verification.verify import Residual, Verification

# -- pictures ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["simulate sleigh --plot foo.xyz", "simulate --plot foo.xyz sleigh", "compare disk --plot foo.xyz --t 1"])
def test_a_picture_of_an_unknown_kind(line, chetaev):
    found = chetaev(line)
    assert found.exit_code == 2
    assert "UsageError · foo.xyz" in found.stderr
    assert "files with the ending .xyz are not written." in found.stderr
    assert "one of foo.png foo.svg foo.pdf" in found.stderr


def test_a_picture_without_an_ending(chetaev):
    found = chetaev("simulate sleigh --plot foo")
    assert found.exit_code == 2
    assert "files without an ending are not written." in found.stderr and "foo.png" in found.stderr


def test_the_model_may_still_follow_a_lonely_plot(chetaev, tmp_path):
    (tmp_path / "mine.toml").write_text(chetaev("gallery write sleigh -").stdout)
    for line in ("simulate --t 0,1 --plot sleigh", "simulate --t 0,1 --plot mine.toml", "simulate sleigh --plot --t 0,1"):
        assert chetaev(line).exit_code == 0, line
    assert {"sleigh.png", "mine.png"} <= {path.name for path in tmp_path.iterdir()}


# -- models that are not there -------------------------------------------------------------------------------------------------------


def test_hints_name_the_model_that_was_given(chetaev, tmp_path):
    text = chetaev("gallery write sleigh -").stdout
    (tmp_path / "my sleigh.toml").write_text(text)
    for model, said in (("sleigh", "sleigh"), ("'my sleigh.toml'", "'my sleigh.toml'")):
        found = chetaev(f'simulate {model} --set "y\'=7"')
        assert f"; chetaev classify {said} shows whether the rows themselves contradict each other\n" in found.stderr
        assert "MODEL" not in found.stderr
    assert "; chetaev classify - shows whether" in chetaev('simulate - --set "y\'=7"', text=text).stderr


def test_options_and_keys_that_mend_a_model(chetaev, tmp_path):
    """What the message offers on the command line, and in the file, is what makes the next run succeed."""
    rows = (
        'name = "m"\nlagrangian = "m/2*(x\'^2 + y\'^2) - m*y"\n[coordinates]\nx = "line"\ny = "line"\n[parameters]\nm = {kind = "real"}\n'
    )
    rows += '[constraints]\nkinematic = ["x^2 + y^2 = 1"]\n[principle]\nname = "hamilton"\n[initial]\nfixed = ["x = 0.6", "x\' = 0"]\n'
    file = tmp_path / "m.toml"
    file.write_text(rows)
    offered = "--principle dalembert, --principle chetaev, --principle virtual-work or --principle vakonomic"
    assert chetaev("simulate m.toml --t 0.1").stderr.endswith(f"-> {offered}\n")
    line = "simulate m.toml --t 0.1 --principle dalembert"
    told = chetaev(line).stderr
    assert told.startswith("ParameterError · m.toml, parameters, line 6, simulate 'm'\n") and told.endswith("-> --set m=...\n")
    assert '-> give the value, or in the file, [initial] guess = ["y = ..."]\n' in chetaev(f"{line} --set m=2").stderr
    file.write_text(rows + 'guess = ["y = -0.8"]\n')
    assert chetaev(f"{line} --set m=2").exit_code == 0
    assert chetaev(f"{line} --set q=2").stderr.startswith("ParameterError · --set q\n")  # the fault is not in the file


def test_a_file_that_is_almost_there(chetaev, tmp_path):
    (tmp_path / "models").mkdir()
    for path in (tmp_path / "sleigh.toml", tmp_path / "models" / "tyre.toml"):
        path.write_text("")
    for given, meant in (
        ("slegh.toml", "Did you mean sleigh.toml?"),
        ("models/tire.toml", "Did you mean models/tyre.toml?"),
        ("models/tyre", "Did you mean models/tyre.toml?"),
        ("model/tyre.toml", "Did you mean models/tyre.toml?"),
        ("rocard.toml", "rocard is a system of the gallery: chetaev gallery write rocard rocard.toml"),
    ):
        found = chetaev(f"derive {given}")
        assert found.exit_code == 2
        assert f"ModelError · {given}\n  there is no such file." in found.stderr, found.stderr
        assert meant in found.stderr, found.stderr
    assert "There is no folder nowhere." in chetaev("derive nowhere/else.toml").stderr
    assert "-> " not in chetaev("derive zzzzz.toml").stderr


def test_the_nearest_name_is_suggested_whether_it_is_a_file_or_a_system(chetaev, tmp_path):
    for name in ("seg.toml", "spinner.toml"):
        (tmp_path / name).write_text("")
    for given, meant in (("slegh", "sleigh?"), ("spiner", "spinner.toml?"), ("rocrd", "rocard?"), ("seg1", "seg.toml?")):
        assert f"Did you mean {meant}" in chetaev(f"simulate {given}").stderr


# -- simulate --verify ---------------------------------------------------------------------------------------------------------------


def test_a_certificate_ends_with_a_verdict(chetaev):
    lines = chetaev("simulate sleigh --t 0,3 --tolerance 1e-8 --verify").stdout.splitlines()
    worst = ch.simulate(ch.gallery("sleigh"), t=(0, 3), tolerance=1e-8).verify().worst
    limit = "the limit is 1e-05 for a tolerance of 1e-08"
    assert lines[-1] == f"  verdict: certified; no row is off by more than {worst:.1e} of its terms; {limit}"


@pytest.mark.parametrize("size", [3e-3, float("nan")])
def test_a_certificate_that_certifies_nothing_says_so(size):
    bad = Verification("system", 10, Frozen({"E_x": Residual(size, size, 1.0, 1.0), "nodes": Residual(1e-16, 1e-16, 0.0, 1.0)}))
    told = simulate.certified(bad, 1e-9)
    assert told.startswith("  verdict: NOT certified; E_x ")
    assert "tolerance of 1e-09" in told and "1e-06" in told


def test_a_table_on_standard_output_stays_a_table(chetaev):
    """The certificate used to follow the table, so that programs that read the table read the certificate too."""
    plain, found = (chetaev(f"simulate sleigh --t 0,1 --points 4 -o - {option}") for option in ("", "--verify"))
    assert (plain.exit_code, found.exit_code) == (0, 0)
    assert found.stdout == plain.stdout
    names, *rows = csv.reader(found.stdout.splitlines())
    assert names[0] == "t" and [len(row) for row in rows] == [len(names)] * 4
    assert [float(row[0]) for row in rows] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert plain.stderr == ""
    assert found.stderr.startswith("Chaplygin sleigh · DAlembert()\n") and "  verdict: certified; " in found.stderr.splitlines()[-1]


def test_a_certificate_beside_a_file_is_printed(chetaev, tmp_path):
    found = chetaev("simulate sleigh --t 0,1 -o run.csv --verify")
    assert "  verdict: certified; " in found.stdout and found.stderr.startswith("wrote run.csv")
    assert "verdict" not in (tmp_path / "run.csv").read_text()


def test_the_help_says_what_certified_means(chetaev):
    told = " ".join(chetaev("simulate --help").stdout.split())
    assert "certified: no row is off by more than 1000 times the tolerance" in told
    limit = {size: Verification("system", 10, Frozen({"E_x": Residual(size, size, 1.0, 1.0)})) for size in (0.99e-6, 1.01e-6)}
    assert [": certified" in simulate.certified(found, 1e-9) for found in limit.values()] == [True, False]


# -- transform -o --------------------------------------------------------------------------------------------------------------------


def test_hamels_equations_can_be_written(chetaev, tmp_path):
    """They are those of a system without Lagrangian whose forces hold what the frame adds: the same motions from the same start."""
    found = chetaev("transform sleigh hamel --velocity \"v = x'*cos(theta) + y'*sin(theta)\" -o mine.toml")
    assert found.exit_code == 0, found.stderr
    assert found.stderr == "wrote mine.toml\n"
    model, source = ch.load(tmp_path / "mine.toml"), ch.gallery("sleigh")
    assert (str(model.principle), model.system.lagrangian) == ("VirtualWork()", 0)
    first, second = ch.simulate(source, t=(0, 1), tolerance=1e-11), ch.simulate(model, t=(0, 1), tolerance=1e-11)
    for name in ("x", "y", "theta"):
        assert second.final[name] == pytest.approx(first.final[name], abs=1e-9)
    assert second.final["v"] == pytest.approx(first.final["x'*cos(theta) + y'*sin(theta)"], abs=1e-9)
    now = [ch.evaluate(ch.derive(m), m.start, parameters=m.parameters) for m in (source, model)]
    assert now[1]["lambda1"] == pytest.approx(now[0]["lambda1"], rel=1e-12)


def test_rows_that_no_system_gives_are_not_written(monkeypatch, chetaev):
    """A transformation might rewrite rows in a way that its system and principle do not give."""
    from dataclasses import replace

    from chetaev.transforms.tools.theorem import THEOREMS

    whole = ch.hamel

    def shortened(*args, **options):
        found = whole(*args, **options)
        first, *rest = found.target.rewritten
        return replace(found, target=replace(found.target, rewritten=(replace(first, lhs=2 * first.lhs + 1), *rest)))

    monkeypatch.setitem(THEOREMS, "hamel", replace(THEOREMS["hamel"], verb=shortened))
    found = chetaev("transform sleigh hamel --velocity \"v = x'*cos(theta) + y'*sin(theta)\" -o mine.toml")
    assert found.exit_code == 2
    assert "E_v does not follow from a system and a principle alone" in found.stderr
    assert "chetaev derive" not in found.stderr and "leave out -o" in found.stderr


# -- report --simplify ---------------------------------------------------------------------------------------------------------------


def test_a_report_with_simplified_equations(chetaev, tmp_path):
    text = """\
name = "turned"
lagrangian = "x'^2*(cosh(a)^2 - sinh(a)^2)/2 + y'^2*exp(a)*exp(1 - a)/2"
[coordinates]
x = "line"
y = "line"
[parameters]
a = 1
[principle]
name = "hamilton"
[initial]
fixed = ["x = 1", "x' = 0", "y = 0", "y' = 1"]
[simulate]
t = [0, 1]
"""
    for options in ("-o plain.html", "--simplify -o short.html"):
        found = chetaev(f"report - {options}", text=text)
        assert found.exit_code == 0, found.stderr
    plain, short = ((tmp_path / name).read_text() for name in ("plain.html", "short.html"))
    assert "simplified, for at most ten seconds" in short and "simplified" not in plain
    assert len(short) < len(plain)  # x'' = 0 instead of hyperbolic functions that cancel


# -- round-off -----------------------------------------------------------------------------------------------------------------------


def test_round_off_of_zero_is_printed_as_zero(chetaev):
    """The roller racer does not slip sideways: A2' is zero, and was printed as -1.57832e-43."""
    table = {line.split()[0]: line.split()[1:] for line in chetaev("simulate roller-racer --t 0,1").stdout.splitlines() if line[:1] == "A"}
    assert table["A2'"] == ["0", "0", "0", "0"]


def test_small_values_that_are_no_round_off_are_printed(chetaev):
    text = """\
lagrangian = "x'^2/2 + y'^2/2"
[coordinates]
x = "line"
y = "line"
[principle]
name = "hamilton"
[initial]
fixed = ["x = 1e-50", "x' = 0", "y = 1", "y' = 1e-30"]
[simulate]
t = [0, 1]
"""
    table = {line.split()[0]: line.split()[1:] for line in chetaev("simulate -", text=text).stdout.splitlines() if line[:1] in ("x", "y")}
    assert table["x"][:2] == ["1e-50", "1e-50"]
    assert table["y'"][:2] == ["1e-30", "1e-30"]
