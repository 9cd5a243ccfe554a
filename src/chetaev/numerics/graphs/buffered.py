"""Functions of CasADi evaluated in place: a call through its own matrices takes many times as long as a small function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Buffered:
    """A function with one result, evaluated by CasADi's own machine, which shares no code with kernels; any thread may call it."""

    def __init__(self, function: ca.Function) -> None:
        self._function, self._size = function, function.numel_out(0)
        self._free: list[tuple[Any, Callable[[], None]]] = []
        """Rooms that no call uses at present; a call in another thread takes another one."""

    def __call__(self, *arguments: Array) -> Array:
        """The result as a row; arguments are contiguous, and their columns are lines here."""
        found = np.empty(self._size)
        try:
            used = self._free.pop()
        except IndexError:
            used = self._function.buffer()
        room, run = used
        for k, given in enumerate(arguments):
            room.set_arg(k, given.reshape(-1).data)
        room.set_res(0, found.data)
        run()
        self._free.append(used)
        return found

    def placed(self, arguments: Sequence[Array], result: Array) -> Callable[[], None]:
        """What evaluates the function at arguments that stay in their places; for one thread."""
        room: Any  # CasADi takes the size of a buffer from the buffer, which its types do not say
        room, run = self._function.buffer()
        for k, given in enumerate(arguments):
            room.set_arg(k, given.data)
        room.set_res(0, result.data)
        kept = (room, arguments, result)

        def evaluate(_: object = kept) -> None:
            run()

        return evaluate
