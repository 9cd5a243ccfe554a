"""Divide the points of a sweep into chunks: blocks of a grid, contiguous along its last dimensions."""

from __future__ import annotations

from itertools import product
from math import ceil

from chetaev.core.errors import UsageError
from chetaev.core.fixes import SetArgument

_USUAL_CHUNKS = 32
"""Default number of chunks of a sweep: a sweep that is killed loses at most one part in 32."""
_FEWEST_MEMBERS, _FEWEST_IF_SLOW, _MOST_MEMBERS = 1024, 64, 8192
"""Limits of the default number of members of a chunk. A chunk has an overhead of about 10 ms, as much as a thousand short motions of
compiled code; members that run one by one, or on several workers, get smaller chunks. Larger chunks would keep a worker busy for minutes.
"""


def chunk_shape(shape: tuple[int, ...], chunk: int | None, slow: bool, where: str) -> tuple[int, ...]:
    """The shape of the chunks, which have at most `chunk` points and whole rows of the last dimensions; smaller by default for `slow`
    members.
    """
    size = 1
    for n in shape:
        size *= n
    if chunk is None:
        chunk = min(_MOST_MEMBERS, max(_FEWEST_IF_SLOW if slow else _FEWEST_MEMBERS, ceil(size / _USUAL_CHUNKS)))
    if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
        raise UsageError(f"chunk = {chunk!r} is not a number of members.", where=where, hint=(SetArgument("chunk", 1000), ", or None"))
    found: list[int] = []
    left = chunk
    for n in reversed(shape):
        part = max(1, min(n, left))
        found.append(part)
        left = left // part if part == n else 1
    return tuple(reversed(found))


def blocks(shape: tuple[int, ...], chunks: tuple[int, ...]) -> dict[tuple[int, ...], tuple[slice, ...]]:
    """The blocks by the indices of their chunks, in the order in which they are computed."""
    counts = counts_of(shape, chunks)
    return {
        at: tuple(slice(k * c, min(n, (k + 1) * c)) for k, c, n in zip(at, chunks, shape, strict=True))
        for at in product(*map(range, counts))
    }


def counts_of(shape: tuple[int, ...], chunks: tuple[int, ...]) -> tuple[int, ...]:
    """The number of chunks along each dimension."""
    return tuple(ceil(n / c) for n, c in zip(shape, chunks, strict=True))


def size_of(block: tuple[slice, ...]) -> int:
    """The number of points of a block."""
    size = 1
    for part in block:
        size *= part.stop - part.start
    return size
