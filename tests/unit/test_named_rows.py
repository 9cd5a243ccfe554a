"""Rows that the user names, and rows that know what they are."""

import numpy as np
import pytest

import chetaev as ch
from chetaev.mechanics.origins import ActionRate, Stated, Variation, origin_of_spec, spec_of_origin

VALUES = {"m": 1, "J": 0.5, "a": 0.2}
START = {"x": 0, "y": 0, "theta": 0.3, "x'": 1, "theta'": 0.4}


def sleigh(rows, **parts):
    return ch.System("x y theta", "m J a", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2", kinematic=rows, name="sleigh", **parts)


ROW = "y'*cos(theta) - x'*sin(theta) = a*theta'"
NAMED = sleigh({"blade": ROW})


def test_a_name_changes_words_and_nothing_else():
    named, numbered = (ch.simulate(ch.derive(s, ch.DAlembert()), START, (0, 1), parameters=VALUES) for s in (NAMED, sleigh([ROW])))
    assert np.array_equal(named["theta"], numbered["theta"]) and np.array_equal(named["lambda1"], numbered["lambda1"])
    assert list(named.drift) == ["blade", "balance"] and list(numbered.drift) == ["kinematic[0]", "balance"]
    assert "blade" in named.verify() and named.verify()["blade"].largest < 1e-14
    assert "blade = 0" in str(ch.analyze(ch.derive(NAMED, ch.DAlembert())))
    assert "blade  linear" in str(ch.classify(NAMED))
    assert "\n  blade    y'" in str(ch.derive(NAMED, ch.DAlembert()))


def test_messages_use_the_name():
    with pytest.raises(ch.PrincipleError, match="speed is nonlinear"):
        ch.derive(sleigh({"speed": "x'^2 + y'^2 = 1"}), ch.DAlembert())
    with pytest.raises(ch.NotationError, match=r"kinematic\.blade"):
        sleigh({"blade": "y'*cos(thta) = 0"})
    with pytest.raises(ch.InitialError, match="the data contradict blade"):
        ch.evaluate(ch.derive(NAMED, ch.DAlembert()), {**START, "y'": 5}, parameters=VALUES)


def test_a_mixture_and_a_transformation_find_the_row_by_its_name():
    mixed = ch.derive(NAMED, ch.Mixed({"blade": ch.Vakonomic()}))
    assert mixed["blade"].origin == Stated("blade", varied="lambda1")
    with pytest.raises(ch.PrincipleError, match="speed is not affine"):
        ch.reduce_velocities(ch.derive(sleigh({"speed": "x'^2 + y'^2 = 1"}), ch.Chetaev()))


@pytest.mark.parametrize("part", ["kinematic", "variational"])
def test_files_and_motions_keep_names(tmp_path, part):
    named = {
        "kinematic": NAMED,
        "variational": sleigh({"blade": ROW}, variational={"edge": "δy*cos(theta) - δx*sin(theta) - a*δtheta = 0"}),
    }
    system = named[part]
    model = ch.Model(system, ch.DAlembert() if part == "kinematic" else ch.VirtualWork(), parameters=VALUES, start=START, t=(0, 1))
    ch.save(model, tmp_path / "sleigh.toml")
    assert ch.load(tmp_path / "sleigh.toml").system == system
    motion = ch.simulate(model)
    motion.save(tmp_path / "run.npz")
    assert list(ch.load(tmp_path / "run.npz").drift) == list(motion.drift) == ["blade", "balance"]
    assert "<li><code>blade</code>: not integrable" in ch.report(motion, animation=False).html


def test_a_fault_in_a_file_is_found_on_the_line_of_the_name(tmp_path):
    text = 'lagrangian = "x\'^2/2 + y\'^2/2"\n\n[coordinates]\nx = "line"\ny = "line"\n\n[constraints.kinematic]\nguide = "y\' = x*z"\n'
    (tmp_path / "wrong.toml").write_text(text + '\n[principle]\nname = "dalembert"\n')
    with pytest.raises(ch.NotationError, match=r"constraints.kinematic.guide, line 8"):
        ch.load(tmp_path / "wrong.toml")


@pytest.mark.parametrize("name", ["E_x", "action", "balance", "", "a[0]", "x'", "two\nlines", 3, "kinematic[1]", "x" * 70])
def test_names_that_could_be_taken_for_something_else_are_refused(name):
    with pytest.raises(ch.ModelError, match="cannot be the name of a row"):
        sleigh({name: ROW})


def test_two_rows_of_one_name_are_refused():
    with pytest.raises(ch.ModelError, match="two rows are called 'blade'"):
        NAMED.replace(kinematic=[*NAMED.kinematic, *NAMED.kinematic])


def test_a_row_knows_what_it_is():
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - s", action="s", kinematic={"guide": "y' = x"})
    rows = ch.derive(system, ch.Herglotz(ch.DAlembert())).rows
    assert [row.origin for row in rows] == [Variation("x"), Variation("y"), Stated("guide"), ActionRate()]
    eliminated = ch.derive(NAMED, ch.DAlembert()).eliminate()
    for row in (*rows, *eliminated):
        assert origin_of_spec(spec_of_origin(row.origin)) == row.origin
    assert str(eliminated[0].origin).startswith("virtual work of ")


def test_a_named_row_keeps_its_name_beside_a_corner():
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic={"guide": "y' = abs(x)"}, forces={"x": "-sign(x')"})
    assert "guide" in ch.simulate(ch.derive(system, ch.DAlembert()), {"x": 1, "x'": 1, "y": 0}, (0, 1)).drift
