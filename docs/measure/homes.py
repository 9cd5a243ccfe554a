"""Which code each test of the papers runs: the functions that are called while it runs, once more for each test.

Caches of the library and of the test files are emptied before every test, so that what an earlier test left behind is run again. The
result is written to `docs/papers/ran.json`: for every test, which homes it ran of those that the rows state for the equations it names, and
a digest of the test's text. A test of the documentation fails when a digest is out of date.
"""

from __future__ import annotations

import ast
import cProfile
import functools
import gc
import hashlib
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from generate import papers

import chetaev as ch

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "papers" / "ran.json"


def digest(node: ast.FunctionDef) -> str:
    """The text of a test without its comments, as a short number."""
    return hashlib.sha256(ast.unparse(node).encode()).hexdigest()[:16]


class Recorder:
    """A plugin of pytest that notes the code objects called by each test."""

    def __init__(self) -> None:
        self.called: dict[tuple[str, str], set[CodeType]] = {}
        self.systems: dict[tuple[str, str], set[str]] = {}
        self.failed: list[str] = []
        self._caches: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self) -> None:
        """List all caches, before the settings of the tests hide what is there from the garbage collector."""
        self._caches = [f for f in gc.get_objects() if isinstance(f, functools._lru_cache_wrapper)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        for cache in self._caches:
            cache.cache_clear()
        key = (Path(str(item.fspath)).stem, item.originalname)
        systems, gallery = self.systems.setdefault(key, set()), ch.gallery

        def noted(name: str | None = None, **options: Any) -> Any:
            systems.update(() if name is None else (name,))
            return gallery(name, **options)

        profiler = cProfile.Profile()
        ch.gallery = noted
        profiler.enable()
        try:
            return (yield)
        finally:
            profiler.disable()
            ch.gallery = gallery
            called = {entry.code for entry in profiler.getstats() if isinstance(entry.code, CodeType)}
            self.called.setdefault(key, set()).update(called)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def code_of(home: str) -> Any:
    """What tells that a home was run: a code object, the file of a module or of a class, or the name of a gallery system."""
    name = home.removeprefix("chetaev.")
    if name.startswith("gallery."):
        return name.removeprefix("gallery.").replace("_", "-")
    if name in (*ch.__all__, *ch.ALSO):
        found = getattr(ch, name)
        return inspect.unwrap(found).__code__ if inspect.isfunction(found) else inspect.getsourcefile(found)
    return inspect.getsourcefile(importlib.import_module(home))


def ran(home: str, codes: set[CodeType], systems: set[str]) -> bool:
    """Whether calls of a test belong to a home."""
    wanted = code_of(home)
    if isinstance(wanted, CodeType):
        return wanted in codes
    return wanted in systems or any(code.co_filename == wanted for code in codes)


def record(arguments: list[str]) -> int:
    """Run the tests of the papers, or some files of them, and write what they ran; 1 if a test fails."""
    recorder = Recorder()
    tests = arguments or [str(ROOT / "tests" / "papers")]
    pytest.main(["-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests], plugins=[recorder])
    found: dict[str, Any] = {} if not arguments else json.loads(TARGET.read_text(encoding="utf-8"))
    for (file, name), node in sorted(papers.tests().items()):
        if (file, name) not in recorder.called:
            continue
        number = file.split("_")[1]
        named = papers.named_equations(name, "." in papers.paper(number)["numbers"])
        codes, systems = recorder.called[file, name], recorder.systems[file, name]
        homes = sorted({row.home for row in papers.rows(number) if named & set(row.numbers) and ran(row.home, codes, systems)})
        found[f"{file}::{name}"] = {"digest": digest(node), "homes": homes}
    known = {f"{file}::{name}" for file, name in papers.tests()}
    found = {key: found[key] for key in sorted(found) if key in known}
    TARGET.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if recorder.failed else 0
