"""Settings of the processes that run tests."""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 20
"""Allocations, and collections of younger objects, between two collections. With Python's 700, 10 and 10 the collector visits again and
again what stays to the end: modules, test items, equations that several tests share. Much larger numbers would cost memory."""


def pytest_collection_finish():
    """Set the garbage collector for a long run: whatever is there before the first test stays to the end."""
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    gc.collect()
    gc.freeze()
