"""The tests of the papers, run once more: how many hold."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def results() -> dict[str, Any]:
    """Numbers of tests per paper, and the names of those that fail."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", "tests/papers", f"--junitxml={report}"]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=False)  # noqa: S603 - failures are what is asked for
        cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314
    counts: dict[str, int] = {}
    failed = []
    for case in cases:
        number = (case.get("classname") or "").split("test_")[-1][:3]
        counts[number] = counts.get(number, 0) + 1
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    return {"counts": counts, "failed": failed}
