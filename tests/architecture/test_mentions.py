"""Files and modules that texts name exist: a reader who follows a name after a renaming would find nothing."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import chetaev

SOURCE = Path(chetaev.__file__).parent
ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")})
FILE = re.compile(r"(?<![\w./-])(?:[\w-]+/)*[\w-]+\.py\b")
"""`core/functions.py`, or `ranges.py` alone."""
MODULE = re.compile(r"\bchetaev(?:\.[A-Za-z_]\w*){2,}")
"""`chetaev.core.functions`, perhaps with a name of the module behind it."""


@cache
def files() -> list[str]:
    folders = (SOURCE, ROOT / "tests", ROOT / "docs", ROOT / "benchmarks", ROOT / "tools")
    return [path.as_posix() for path in [*ROOT.glob("*.py"), *[path for folder in folders for path in folder.rglob("*.py")]]]


def docstrings(path: Path) -> str:
    """The texts of a module that are no values: docstrings, and those below constants."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    values = [node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return "\n".join(value.value for value in values if isinstance(value.value, str))


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or occurs in the longest module that begins it."""
    place, rest = SOURCE, name.split(".")[1:]
    while rest and ((place / rest[0]).is_dir() or (place / f"{rest[0]}.py").exists()):
        place, rest = place / rest[0], rest[1:]
    module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return not rest or re.search(rf"\b{rest[0]}\b", module.read_text(encoding="utf-8")) is not None


def stale(text: str) -> set[str]:
    missing = {name for name in FILE.findall(text) if not any(file.endswith(f"/{name}") for file in files())}
    return missing | {name for name in MODULE.findall(text) if not exists(name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_modules_that_pages_name_exist(page):
    assert stale(page.read_text(encoding="utf-8")) == set()


def test_files_and_modules_that_docstrings_name_exist():
    assert {path.name: names for path in SOURCE.rglob("*.py") if (names := stale(docstrings(path)))} == {}
