"""What a part of the library may load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROCARD = Path(__file__).parents[2] / "examples" / "rocard.toml"
HEAVY = ("casadi", "llvmlite", "numba", "matplotlib", "heyoka")


def loaded(program: str) -> set[str]:
    """The packages that are loaded after a program."""
    text = f"import sys\n{program}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603
    return set(found.stdout.split())


@pytest.mark.parametrize(
    "program",
    [
        "import chetaev",
        f"import chetaev as ch; ch.load({str(ROCARD)!r})",
        f"import chetaev as ch; print(len(str(ch.load({str(ROCARD)!r}))))",
        "import chetaev as ch; ch.gallery('sleigh')",
        "import chetaev.exact.signature",
    ],
    ids=["the package", "a model file", "a printed model", "a gallery system", "exact arithmetic"],
)
def test_what_needs_no_solver_loads_none(program):
    assert not loaded(program) & set(HEAVY)


def test_a_scene_is_described_without_mathematics_and_without_a_drawing_library():
    assert not loaded("from chetaev.scene import Point, Scene; Scene([Point('x, y')])") & {*HEAVY, "numpy", "sympy"}
