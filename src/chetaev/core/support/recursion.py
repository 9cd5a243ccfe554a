"""A higher recursion limit for deeply nested expressions.

A text may be nested 200 deep, and SymPy needs several Python frames per level; the interpreter's default of 1000 frames is too few.
`deep()` raises the limit; the old limit is restored when the last such block, in any thread, ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ROOM = 12_000
"""Python frames inside `deep()`: about twenty for each of the 500 levels of `notation.bounds.DEEPEST_NODES`. Much larger values let the
interpreter's own stack overflow."""
_lock = threading.Lock()
_inside = 0
"""The number of open blocks of `deep()`, in all threads."""
_before = 0
"""The limit of recursion before the first of them."""


@contextmanager
def deep() -> Iterator[None]:
    """A block in which expressions of the permitted depth can be handled."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, _ROOM))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                sys.setrecursionlimit(_before)
