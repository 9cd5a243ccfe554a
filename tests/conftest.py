"""Settings of the processes that run tests, and the order in which tests run."""

import gc
import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import chetaev as ch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Read when NumPy is loaded. There are as many processes as cores, and threads that wait for one another keep their cores busy: a
decomposition of sixty rows then takes fifty times the processor time that it takes alone."""
_YOUNG, _MIDDLE, _OLD = 50_000, 20, 20
"""Allocations, and collections of younger objects, between two collections. With Python's 700, 10 and 10 the collector visits again and
again what stays to the end: modules, test items, equations that several tests share. Much larger numbers would cost memory."""


def pytest_collection_modifyitems(items):
    """Run the tests of one gallery system under one principle one after the other, whatever their files; the other tests follow.

    The library remembers the equations that it compiled last. Laws that each visit the whole gallery in turn would find none of them there,
    and compile every system once per law.
    """
    systems, others = [], []
    for item in items:
        words = _gallery_words(item)
        if words and _may_leave_its_file(item):
            systems.append((words, item))
        else:
            others.append(item)
    systems.sort(key=lambda found: found[0])  # tests with the same words stay in the order of their files
    items[:] = [*[item for _, item in systems], *others]


def _gallery_words(item) -> tuple[str, str] | None:
    """The gallery system and the principle that the arguments of a test name; None without a system."""
    given = list(_flat(tuple(item.callspec.params.values()))) if hasattr(item, "callspec") else []
    system = next((word for word in given if isinstance(word, str) and word.split(",")[0] in ch.gallery()), None)
    principle = next((str(word) for word in given if isinstance(word, ch.Principle)), "")
    return system and (system, principle)


def _flat(value) -> Iterator[object]:
    """All parts of an argument: those of tuples, and the fields of what a test file defines to name a case."""
    if isinstance(value, tuple):
        parts = value
    elif is_dataclass(value) and not isinstance(value, type) and not type(value).__module__.startswith("chetaev"):
        parts = tuple(getattr(value, field.name) for field in fields(value))
    else:
        yield value
        return
    for part in parts:
        yield from _flat(part)


def _may_leave_its_file(item) -> bool:
    """Whether no fixture of the test lasts as long as its file: between tests of other files it would be made again."""
    used = item._fixtureinfo.name2fixturedefs.values()
    return not any(fixture.scope in ("class", "module", "package") for fixtures in used for fixture in fixtures)


def pytest_collection_finish():
    """Set the garbage collector for a long run: whatever is there before the first test stays to the end."""
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    gc.collect()
    gc.freeze()
