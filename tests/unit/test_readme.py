"""The examples of the README and of the overview print what is shown, and the demo runs."""

import contextlib
import io
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chetaev as ch

ROOT = Path(__file__).parents[2]


README = (ROOT / "README.md").read_text(encoding="utf-8")
OVERVIEW = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8")
TEXT = README + OVERVIEW
EXAMPLES = re.findall(r"```python\n([^`]*?)```\n\n```text\n([^`]*?)```", TEXT)


def test_every_example_shows_what_it_prints():
    assert len(EXAMPLES) == TEXT.count("```python") == 4


def test_the_readme_is_what_one_reads_before_the_first_run():
    assert len(README.splitlines()) <= 100


@pytest.mark.parametrize("example", range(4), ids=["first", "groups", "transformations", "singular"])
def test_the_examples_print_what_is_shown(example):
    code, shown = EXAMPLES[example]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102
    assert printed.getvalue().strip() == shown.strip()
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_every_verb_that_is_named_exists():
    """Whatever is written as `ch.name`, and every verb of the tables of verbs."""
    tables = OVERVIEW.split("## Transformations")[1]
    verbs = {name for cell in re.findall(r"^\| (`[^|]*) \|", tables, re.MULTILINE) for name in re.findall(r"`(\w+)", cell)}
    assert {"lift", "contact_as_vakonomic", "reduced_phase_space"} <= verbs
    assert [name for name in sorted(verbs | set(re.findall(r"\bch\.(\w+)", TEXT))) if not hasattr(ch, name)] == []


def test_the_demo_does_the_main_job_and_says_where(tmp_path):
    """`make demo` as in the Makefile, with the environment that is there instead of a new one, and another folder."""
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / "venv" / ".ready").touch()
    given = ["-s", "-C", str(ROOT), f"DEMO={tmp_path}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
    done = subprocess.run(["make", *given, "demo"], capture_output=True, text=True, check=True, env=clean)  # noqa: S603, S607
    page = (tmp_path / "rocard.html").read_text(encoding="utf-8")
    assert "Rocard" in page and "chetaevAnimations" in page and not re.search(r"""(?:src|href)=["']?https?:""", page)
    assert (tmp_path / "disk.png").stat().st_size > 10_000
    assert "DAlembert() and Vakonomic() differ" in done.stdout
    assert f"the motions coincide for lambda1 = {-1.7 * 0.6 * 2.1 * math.cos(0.5):.6g}" in done.stdout
    for name in ("rocard.html", "disk.png"):
        assert f"wrote {tmp_path / name}" in done.stderr and str(tmp_path / name) in done.stdout
