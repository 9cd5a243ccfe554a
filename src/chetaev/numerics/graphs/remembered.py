"""A memory for what is made from something that cannot be hashed: the last few results, by identity of their owner."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """Remembers so many values; each keeps its owner alive, so that no other object takes over its identity."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[tuple[int, Hashable], tuple[object, V]] = OrderedDict()

    def get(self, owner: object, key: Hashable, make: Callable[[], V]) -> V:
        """The value for an owner and a key, made if it is new."""
        place = (id(owner), key)
        if place not in self._known:
            self._known[place] = owner, make()
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        self._known.move_to_end(place)
        return self._known[place][1]
