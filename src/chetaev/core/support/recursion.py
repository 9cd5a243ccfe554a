"""Room for deeply nested expressions.

An expression may be nested 200 deep, and SymPy spends several Python frames on each level; the interpreter's default of 1000 frames is
too few. Inside `deep()` there is room; the old limit comes back when the last such block, in any thread, is left.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ROOM = 12_000
_lock = threading.Lock()
_inside = 0
_before = 0


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
