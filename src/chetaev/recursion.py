"""Room for deeply nested expressions.

An expression may be nested 200 deep, and SymPy spends several Python frames on each level; the interpreter's default of 1000 frames is
too few. Inside `deep()` there is room; the old limit comes back afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ROOM = 12_000


@contextmanager
def deep() -> Iterator[None]:
    """A block in which expressions of the permitted depth can be handled."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _ROOM))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
