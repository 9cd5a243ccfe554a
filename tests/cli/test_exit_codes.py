"""Exit codes: 0 done, 2 the model or its data must change, 3 the verdict forbids a motion, 4 the motion did not finish."""

import sys
from dataclasses import replace

import pytest

import chetaev as ch
from chetaev.cli import application
from chetaev.cli.verbs import derive
from chetaev.core.errors import Interrupted


def model(lagrangian, coordinates, initial, principle="hamilton", kinematic=(), t="0, 5"):
    kinds = "\n".join(f'{name} = "line"' for name in coordinates.split())
    rows = ", ".join(f'"{row}"' for row in kinematic)
    data = ", ".join(f'"{row}"' for row in initial)
    return (
        f'name = "m"\nlagrangian = "{lagrangian}"\n[coordinates]\n{kinds}\n[constraints]\nkinematic = [{rows}]\n'
        f'[principle]\nname = "{principle}"\n[initial]\nfixed = [{data}]\n[simulate]\nt = [{t}]\n'
    )


KEPLER = model("x'^2/2 + 1/x", "x", ["x = 1", "x' = 0"])
"""Falls into the centre at t = pi/(2 sqrt(2)) = 1.11."""
ABSURD = model("x'^2/2 + y", "x y", ["x = 1", "x' = 0", "y = 0"])
"""The row of y says 1 = 0."""
CROSSING = model("q1'*q3' + q2^2*q3/2", "q1 q2 q3", ["q1 = 0", "q1' = 0", "q2 = 0", "q3 = 0", "q3' = 0"])
"""Cawley's Lagrangian where its two branches cross."""
SINGULAR = model("x*x'^2/2 + y'^2/2", "x y", ["x = 0", "x' = 1", "y = 0", "y' = 0"])
"""Regular, but not where x = 0."""


@pytest.mark.parametrize(
    ("line", "text", "code", "message"),
    [
        ("simulate sleigh", "", 0, ""),
        ("simulate - --t 1", KEPLER, 0, ""),
        ("simulate -", KEPLER, 4, ""),
        ("compare - --principles hamilton,dalembert", KEPLER, 4, ""),
        ("analyze -", ABSURD, 3, ""),
        ("simulate -", ABSURD, 3, "no motion"),
        ("simulate -", CROSSING, 3, "--branch 0  or  --branch 1"),
        ("simulate krupkova", "", 3, '-> --gauge "q2 = 0.4 - 0.3*sin(t)"'),
        ("simulate krupkova --gauge q2=1+t", "", 2, "q2 = 0.4 contradicts"),
        ("simulate krupkova --gauge q2=0.4-0.3*t --t 1", "", 0, ""),
        ('simulate cawley --set q3=0 --set "q3\'=0" --gauge q2=t^2', "", 0, ""),
        ("simulate cawley --branch 7", "", 3, "there is no branch 7"),
        ("simulate -", SINGULAR, 2, "where x = 0"),
        ("analyze -", SINGULAR, 0, ""),
        ("analyze cawley", "", 0, ""),
        ("simulate sleigh --branch 0", "", 2, "does not need it"),
        ('simulate sleigh --set "y\' = 9"', "", 2, "contradict"),
        ("simulate sleigh --set m=0", "", 2, ""),
        ("derive sleigh --tolerance 3", "", 2, "No such option"),
        ("fly sleigh", "", 2, "fly is not a verb"),
        ("simulate", "", 2, "Missing argument 'MODEL'"),
    ],
)
def test_exit_code(line, text, code, message, chetaev):
    found = chetaev(line, text=text)
    assert found.exit_code == code, found.output
    assert message in found.stderr
    assert "Traceback" not in found.output


def test_an_unfinished_motion_is_written_all_the_same(chetaev, tmp_path):
    found = chetaev("simulate - -o run.csv", text=KEPLER)
    assert found.exit_code == 4
    last = (tmp_path / "run.csv").read_text().splitlines()[-1]
    assert float(last.split(",")[0]) == pytest.approx(1.1107207345, abs=1e-3)


def test_ctrl_c_in_a_simulation_says_and_writes_what_was_computed(chetaev, tmp_path, monkeypatch):
    computed = replace(ch.simulate(ch.gallery("sleigh"), t=(0, 1)), outcome=ch.Outcome.INTERRUPTED, message="stopped by the user.")

    def stopped(*_, **__):
        raise Interrupted(computed)

    monkeypatch.setattr(sys.modules["chetaev.numerics.motion.simulate"], "simulate", stopped)
    found = chetaev("simulate sleigh -o run.csv")
    assert found.exit_code == 130 and "interrupted: stopped by the user." in found.stdout
    assert float((tmp_path / "run.csv").read_text().splitlines()[-1].split(",")[0]) == 1.0


def test_interrupts_and_faults_end_without_a_traceback(chetaev, monkeypatch):
    for fault, code, message in ((KeyboardInterrupt(), 130, "interrupted"), (ZeroDivisionError("a fault"), 1, "ZeroDivisionError in ")):

        def broken(_, fault=fault):
            raise fault

        monkeypatch.setattr(derive, "read", broken)
        found = chetaev("derive sleigh")
        assert found.exit_code == code and message in found.stderr
        assert "Traceback" not in found.output
    assert "a fault of chetaev, not of your model" in found.stderr


def test_a_traceback_is_shown_to_who_asks_for_it(monkeypatch):
    def broken(_):
        raise ZeroDivisionError

    monkeypatch.setattr(derive, "read", broken)
    monkeypatch.setenv("CHETAEV_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        application(["derive", "sleigh"], standalone_mode=False)
