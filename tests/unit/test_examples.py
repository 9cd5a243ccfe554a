"""The examples run, find what physics says they must find, and the notebooks show what their code gives today."""

import ast
import contextlib
import io
import json
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

import chetaev as ch

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TINY = re.compile(r"\b\d(?:\.\d+)?e-(?:0[6-9]|[1-9]\d)\b|\b0e\+00\b")
"""Residuals, which depend on the machine."""


def test_there_are_ten_scripts_and_three_notebooks_and_the_readme_lists_them():
    listed = re.findall(r"^\| \[([^\]]+)\]", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in [*SCRIPTS, *NOTEBOOKS])
    assert (len(SCRIPTS), len(NOTEBOOKS)) == (10, 3)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_short_say_what_one_learns_and_use_public_names_only(script):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert 20 <= len(text.splitlines()) <= 50
    assert "What one learns: " in (ast.get_docstring(tree) or "")
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in modules if name.startswith("chetaev")} <= {"chetaev.plot"}
    assert not re.search(r"\bch\.\w*\._|\._[a-z]", text)


@pytest.mark.parametrize("name", ["rocard", "disk"])
def test_model_files_are_those_of_the_gallery(name, tmp_path):
    ch.save(ch.gallery(name), tmp_path / "now.toml")
    assert (FOLDER / f"{name}.toml").read_text(encoding="utf-8") == (tmp_path / "now.toml").read_text(encoding="utf-8")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a script as a person would; what it leaves behind, with the files that it says it wrote and all of them looked at."""

    def go(name):
        folder = tmp_path / "made" / "here"
        monkeypatch.setattr(sys, "argv", [name, str(folder)])
        found = SimpleNamespace(**{k.strip("_"): v for k, v in runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__").items()})
        last = capsys.readouterr().out.strip().splitlines()[-1]
        wrote, where = re.fullmatch(r"wrote (.*) to (.*)", last).groups()
        assert where == str(folder.resolve())
        assert sorted(re.split(", | and ", wrote)) == sorted(path.name for path in folder.iterdir())
        for path in folder.iterdir():
            look_at(path)
        return found

    return go


def look_at(path):
    """A picture is not empty; a page needs nothing from elsewhere and holds an animation."""
    if path.suffix == ".png":
        pixels = imread(path)[:, :, :3]
        assert min(pixels.shape[:2]) > 150
        assert 0.002 < np.mean(np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.1) < 0.95
    else:
        text = path.read_text(encoding="utf-8")
        assert path.suffix == ".html" and "chetaevAnimations" in text
        assert not re.search(r"""(?:src|href)=["']?https?:""", text)


def test_the_sleigh_ends_with_all_its_energy_in_forward_speed(run):
    """m v^2/2 + (J + m a^2) w^2/2 is constant and w dies away, so v = sqrt(v0^2 + (J + m a^2) w0^2/m)."""
    found = run("01_first_system")
    assert found.forward[-1] == pytest.approx(np.sqrt(1 + (0.4 + 0.4**2) * 0.1**2), abs=1e-4)
    assert found.motion.final["theta"] > np.pi


def test_the_disk_runs_around_a_circle_under_dalembert_only(run):
    found = run("02_rolling_disk")
    radius, centre = 0.6 * 2.1 / 0.8, (0.3 + 0.6 * 2.1 / 0.8 * np.sin(0.5), -0.4 - 0.6 * 2.1 / 0.8 * np.cos(0.5))
    distances = [np.hypot(m["x"] - centre[0], m["y"] - centre[1]) for m in found.motions.values()]
    assert np.abs(distances[0] - radius).max() < 1e-8
    assert np.abs(distances[1] - radius).max() > 1
    special = found.comparison.pairs[1].coinciding
    assert [special["lambda1"], special["lambda2"]] == pytest.approx([-1.7 * 0.6 * 2.1 * np.cos(0.5), -1.7 * 0.6 * 2.1 * np.sin(0.5)])


def test_tyres_lose_energy_and_shimmy_beyond_the_threshold(run):
    found = run("03_tyres")
    assert np.all(np.diff(found.motion.energy) < 1e-9) and found.motion.energy[-1] < found.motion.energy[0] - 0.5
    assert 2.0 * 1.5 / 0.9 < found.unstable[0] < 2.0 * 1.5 / 0.9 + 0.1
    stable, unstable = (np.abs(motion["epsilon"]) for motion in found.motions.values())
    assert stable[-20:].max() < 0.2 * stable.max()
    assert unstable[-20:].max() > 3 * unstable[: len(unstable) // 4].max()


def test_no_rod_turns_over_without_the_energy_for_it(run):
    """The lower rod upright and the upper one hanging is the cheapest way to turn over."""
    found = run("04_double_pendulum")
    p = {name: float(v) for name, v in found.model.parameters.items()}

    def potential(one, two):
        return -p["g"] * ((p["m1"] + p["m2"]) * p["l1"] * np.cos(one) + p["m2"] * p["l2"] * np.cos(two))

    poor = potential(found.theta1, found.theta2) < potential(0, np.pi)
    assert poor.mean() > 0.2 and not np.any(found.turns[poor]) and np.any(found.turns[~poor])
    assert np.mean(found.turns == -found.turns[::-1, ::-1]) > 0.99  # right and left; dust aside
    first, second = (motion.at(6.0)["theta2"] for motion in found.motions.values())
    assert 1e-5 < abs(first - second) < 1e-2


def test_the_block_slips_where_the_spring_is_as_strong_as_friction(run):
    found = run("05_stick_slip")
    for motion in found.motions.values():
        slips = [s.t for s in motion.switches if s.before == 0]
        sticks = [s.t for s in motion.switches if s.after == 0]
        assert len(slips) >= 4
        assert np.abs(motion.at(slips)["x"] - 1).max() < 1e-6
        stuck = [0.5 * (a + min(b for b in slips if b > a)) for a in sticks if a < slips[-1]]
        assert np.abs(motion.at(stuck)["x'"] - 0.4).max() < 1e-12
    periods = [np.diff([s.t for s in motion.switches if s.before == 0])[-1] for motion in found.motions.values()]
    assert periods[0] == pytest.approx(periods[1], abs=1e-6)


def test_momentum_and_energy_decay_alike_under_herglotz(run):
    found = run("06_herglotz")
    decay = np.exp(-0.04 * found.motion.t)
    assert np.abs(found.momentum - 1.15 * decay).max() < 1e-8
    assert np.abs(found.motion.energy - found.motion.energy[0] * decay).max() < 1e-8
    assert found.motion.final["x"] == pytest.approx(found.other.final["x"], abs=1e-7)


def test_the_gauge_drives_the_other_coordinate(run):
    """q1'' = q2^2/2 from rest, integrated twice by hand."""
    found = run("07_branches_and_gauge")
    ends = [motion.final["q1"] for motion in found.motions.values()]
    assert ends == pytest.approx([0, 2**4 / 24, 2 + (np.cos(16) - 1) / 64], abs=1e-8)


def test_the_larger_start_runs_away_at_constant_energy(run):
    found = run("08_higher_order")
    small, large = found.motions.values()
    assert (small.outcome, large.outcome) == ("finished", "event")
    assert np.abs(small["q"]).max() < 1.2 and abs(large.final["q"]) == pytest.approx(10)
    by_hand = "q''^2/2 - q'*q''' - (w1^2 + w2^2)*q'^2/2 - w1^2*w2^2*q^2/2 + b*q^4/4"
    for motion in (small, large):
        assert np.abs(motion[by_hand] - motion.energy[0]).max() < 1e-4
    assert found.momenta.final["q"] == pytest.approx(small.final["q"], abs=1e-6)


def test_the_rattleback_turns_back(run):
    found = run("09_rattleback")
    assert found.spin[0] == 5 and found.spin[-1] < -4.5
    assert np.abs(found.energy - found.energy[0]).max() < 1e-7
    assert np.abs(np.linalg.det(found.matrices) - 1).max() < 1e-13


def test_the_parachutist_falls_as_the_closed_form_says(run):
    found = run("10_inverse_problem")
    for motion in found.motions.values():
        assert motion.final["x"] == pytest.approx(np.log(np.cosh(2.5 * np.sqrt(9.81 * 0.3))) / 0.3, abs=1e-7)
    assert np.abs(found.motions["Lagrange"].energy + 9.81 / 0.6).max() < 1e-6
    assert found.motions["Newton"].energy[-1] < -100


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_show_what_their_code_gives(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert path.stat().st_size < 300_000
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    namespace = {}
    for cell in cells:
        printed, value = executed("".join(cell["source"]), namespace)
        shown = "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")
        assert TINY.sub("tiny", printed) == TINY.sub("tiny", shown), f"cell {cell['execution_count']}: run all cells and save the notebook"
        displayed = [o["data"] for o in cell["outputs"] if o["output_type"] == "execute_result"]
        assert len(displayed) == (value is not None)
        for data in displayed:
            assert "".join(data["text/plain"]) == repr(value)
            assert ("image/png" in data) == isinstance(value, Figure)
            assert "".join(data.get("text/latex", "")) == getattr(value, "_repr_latex_", str)()


def executed(source, namespace):
    """What a cell prints, and the value of its last line if that is an expression; lines for the notebook itself are left out."""
    tree = ast.parse("\n".join(line for line in source.splitlines() if not line.startswith("%")))
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)  # noqa: S102
        value = None if last is None else eval(compile(last, "cell", "eval"), namespace)  # noqa: S307
    return printed.getvalue(), value
