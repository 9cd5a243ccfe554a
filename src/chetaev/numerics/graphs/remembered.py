"""A cache for results made from objects that cannot be hashed: the last few, by identity of their owner."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """Caches the last `most` values with their owners; a stored owner cannot be freed, so no other object gets its identity."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[tuple[int, Hashable], tuple[object, V]] = OrderedDict()

    def get(self, owner: object, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value for an owner and a key; `make` computes a new one."""
        place = (id(owner), key)
        if place not in self._known:
            self._known[place] = owner, make()
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        self._known.move_to_end(place)
        return self._known[place][1]
