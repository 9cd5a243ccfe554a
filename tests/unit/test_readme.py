"""The README's example does what the README says, and the demo runs."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_readme_example_prints_what_is_shown():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102
    assert printed.getvalue().strip() == shown.strip()
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_the_demo_runs():
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "demo.py")], capture_output=True, text=True, check=True)  # noqa: S603
    assert "I*psi'' + M*x1''*cos(theta) + M*x2''*sin(theta) = 0" in done.stdout
    assert "m*x'' + lambda1' = 0" in done.stdout
