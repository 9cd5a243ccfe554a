"""A cache for results made from objects that cannot be hashed: the last few, by identity of their owner."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """Caches the last `most` values with their owners; a stored owner cannot be freed, so no other object gets its identity."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[tuple[int, Hashable], tuple[object, V]] = OrderedDict()
        self._lock = Lock()

    def get(self, owner: object, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value for an owner and a key; `make` computes a new one. Threads may ask for the same value at the same time: all get
        the first one that was made.
        """
        place = (id(owner), key)
        with self._lock:
            found = self._known.get(place)
            if found is not None:
                self._known.move_to_end(place)
                return found[1]
        made = make()
        with self._lock:
            _, made = self._known.setdefault(place, (owner, made))
            self._known.move_to_end(place)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return made
