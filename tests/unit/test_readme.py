"""The README's examples do what the README says, and the demo runs."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chetaev as ch

ROOT = Path(__file__).parents[2]


TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n([^`]*?)```\n\n```text\n([^`]*?)```", TEXT)


def test_every_example_shows_what_it_prints():
    assert len(EXAMPLES) == TEXT.count("```python") == 4


@pytest.mark.parametrize("example", range(4), ids=["first", "groups", "transformations", "singular"])
def test_the_readme_examples_print_what_is_shown(example):
    code, shown = EXAMPLES[example]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102
    assert printed.getvalue().strip() == shown.strip()
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_every_verb_the_readme_names_exists():
    """Whatever is written as `ch.name`, and every verb of the tables that stand before `Reading on`."""
    tables = TEXT.split("## Transformations")[1].split("## Reading on")[0]
    verbs = {name for cell in re.findall(r"^\| (`[^|]*) \|", tables, re.MULTILINE) for name in re.findall(r"`(\w+)", cell)}
    assert {"lift", "contact_as_vakonomic", "reduced_phase_space"} <= verbs
    assert [name for name in sorted(verbs | set(re.findall(r"\bch\.(\w+)", TEXT))) if not hasattr(ch, name)] == []


def test_the_demo_runs():
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "demo.py")], capture_output=True, text=True, check=True)  # noqa: S603
    assert "I*psi'' + M*x1''*cos(theta) + M*x2''*sin(theta) = 0" in done.stdout
    assert "m*x'' + lambda1' = 0" in done.stdout
