"""Lines of sparse matrices, by the entries that are not zero: a chain of n bodies has matrices of n^2 entries, all but a few n zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class Line(Sequence[Any]):
    """A line of a matrix of expressions. As a sequence it has all entries, `zero` where nothing else stands."""

    __slots__ = ("entries", "width", "zero")

    def __init__(self, entries: Mapping[int, Any], width: int, zero: Any) -> None:
        self.entries, self.width, self.zero = entries, width, zero

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(self.width))]
        k = place + self.width if place < 0 else place
        if not 0 <= k < self.width:
            raise IndexError(place)
        return self.entries.get(k, self.zero)

    def __iter__(self) -> Iterator[Any]:
        return (self.entries.get(k, self.zero) for k in range(self.width))


def present(line: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """The entries of a line with their places, without those that a `Line` leaves out."""
    return iter(line.entries.items()) if isinstance(line, Line) else enumerate(line)


def joined(lines: Sequence[Sequence[Any]], zero: Any) -> Line:
    """Lines one behind the other as one."""
    entries: dict[int, Any] = {}
    width = 0
    for line in lines:
        entries.update((width + k, e) for k, e in present(line))
        width += len(line)
    return Line(entries, width, zero)


def columns(lines: Sequence[Sequence[Any]], chosen: Sequence[int], zero: Any) -> list[Line]:
    """The lines with the chosen columns alone."""
    place = {j: k for k, j in enumerate(chosen)}
    return [Line({place[j]: e for j, e in present(line) if j in place}, len(chosen), zero) for line in lines]
