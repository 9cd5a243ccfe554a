"""Help that fits a screen, with examples that work, and a start that imports nothing heavy."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from chetaev.cli import application

VERBS = "derive analyze classify simulate compare sweep fit transform animate report studio gallery completion".split()
PAGES = ["", *VERBS, "gallery list", "gallery show", "gallery write"]


def page(words):
    return CliRunner().invoke(application, [*words.split(), "--help"], prog_name="chetaev").stdout


@pytest.mark.parametrize("words", PAGES)
def test_help_fits_a_screen_and_has_an_example(words):
    lines = page(words).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert any(line.strip() == "Examples:" for line in lines)
    assert lines[0].startswith("Usage: chetaev")


def test_the_list_of_verbs_is_complete():
    text = page("")
    assert re.findall(r"^  ([a-z]+)  +", text.partition("Verbs:")[2].partition("\n\n")[0], re.MULTILINE) == VERBS
    assert "Exit codes:" in text


def examples():
    found = []
    for words in PAGES:
        text = page(words).partition("Examples:\n")[2].partition("\n\n")[0]
        found += [re.split(r" {2,}|&&|\|", line.strip())[0] for line in text.splitlines() if line.strip().startswith("chetaev")]
    return sorted(set(found))


@pytest.mark.filterwarnings("ignore:path is deprecated")  # of the package that sets the formulas of a report
@pytest.mark.parametrize("line", examples())
def test_examples_work(line, chetaev, monkeypatch):
    line, _, source = line.removeprefix("chetaev ").partition(" < ")
    text = chetaev("gallery write sleigh -").stdout
    chetaev("gallery write sleigh my.toml")
    if shlex.split(line)[:3] == ["gallery", "write", "sleigh"] and "my.toml" in line:
        line += " --force"
    if line.startswith("fit"):
        chetaev("simulate sleigh --t 0,3 -o data.csv")  # what is measured
        line += " --seeds 1" * ("--principles" in line)
    if line.startswith("sweep status"):
        chetaev("sweep sleigh --over a=0.1:1:5 --measure end=x -o one.zarr")
    if line.startswith("studio"):
        Path("models").mkdir()
        monkeypatch.setattr("chetaev.cli.verbs.studio._serve", lambda server, browser: server.close())  # it would serve until Ctrl-C
    if line.startswith("animate"):
        line += " --seconds 1 --fps 4"  # a short film will do
    found = chetaev(line, text=text if source or line.split()[-1] == "-" else None)
    assert found.exit_code == 0, found.stderr


def test_help_imports_nothing_heavy():
    """Neither the library's packages nor the printer of tables are loaded to print a page of help."""
    for words in ("--help", "simulate --help", "gallery write --help", "--version"):
        heavy = ("numpy", "sympy", "casadi", "scipy", "numba", "rich", "matplotlib", "pandas", "xarray", "chetaev.mechanics.model")
        check = (
            "import sys\nfrom chetaev.cli import application\n"
            f"try:\n    application({words.split()!r})\nexcept SystemExit:\n    pass\n"
            f"loaded = [name for name in {heavy!r} if name in sys.modules]\nassert not loaded, loaded\n"
        )
        subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)  # noqa: S603


def test_the_gallery_is_listed_without_building_a_system():
    check = (
        "import sys\nfrom chetaev.cli import application\n"
        "try:\n    application(['gallery'])\nexcept SystemExit:\n    pass\n"
        "assert 'sympy' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)  # noqa: S603
