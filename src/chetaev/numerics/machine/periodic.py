r"""Which entries of the state a program reads as angles: through sines, cosines and tangents of whole and half multiples alone.

Such a program has the same values where a multiple of $4\pi$ is added to the entry. A value is *straight* where it is a sum of multiples of
entries of the state and of something else; sines, cosines and tangents end that, and any other function of a straight value depends on the
entries themselves. A program that moves a state stores $y_j$ plus something in place j, which is allowed there.
"""

from __future__ import annotations

import struct

import casadi
import numpy as np

from chetaev.numerics.machine.instructions import CONST, FUSED_FROM, FUSED_LESS, FUSED_SUM, STATE, STORE, TURNING, operands
from chetaev.numerics.machine.tape import Line, lines_of

_ENDING = frozenset((*TURNING, casadi.OP_TAN))
"""Operations that read angles."""
_LONGEST = 20_000
"""Most instructions of a program that is read here, which takes some ten milliseconds. Angles of a longer one are not found."""
_SIGNS = {casadi.OP_ADD: (1.0, 1.0), casadi.OP_SUB: (1.0, -1.0), casadi.OP_NEG: (-1.0,), casadi.OP_TWICE: (2.0,)}
"""Sums of multiples of values."""
_PRODUCTS = {casadi.OP_MUL: (1.0, 0.0), FUSED_SUM: (1.0, 1.0), FUSED_LESS: (1.0, -1.0), FUSED_FROM: (-1.0, 1.0)}
"""What becomes of a product of two values, and of a third one."""
_Straight = dict[int, float]
"""Multiples of entries of the state, by their places."""
_Entries = frozenset[int]


def angles_read(program: bytes, moving: bool, outputs: int) -> tuple[_Entries, _Entries]:
    """The entries that a program reads as angles, and those on which one of its first outputs depends in some other way.

    Programs that are `moving` store a moved state.
    """
    table = np.frombuffer(program, np.int32).reshape(-1, 4)
    read = frozenset(table[table[:, 0] == STATE, 1].tolist())
    if len(table) > _LONGEST or not (moving or np.isin(table[:, 0], list(_ENDING)).any()):
        return frozenset(), read
    reading = _Reading(moving, outputs)
    for k, line in enumerate(lines_of(table)):
        reading.read(k, line)
    return frozenset(reading.angles), frozenset(reading.others)


class _Reading:
    """What is known of the values of a program so far."""

    def __init__(self, moving: bool, outputs: int) -> None:
        self.moving, self.outputs = moving, outputs
        self.numbers: dict[int, float] = {}
        self.straight: dict[int, _Straight] = {}
        self.bent: dict[int, _Entries] = {}
        """The entries on which a value depends otherwise than as on angles, or as a sum."""
        self.angles: set[int] = set()
        self.others: set[int] = set()

    def read(self, k: int, line: Line) -> None:
        """One more value."""
        operation, a, b, c = line
        if operation == STATE:
            self.straight[k] = {a: 1.0}
        elif operation == CONST:
            self.numbers[k] = struct.unpack("=d", struct.pack("=ii", b, c))[0]
        elif operation == STORE:
            self._store(a, b)
        else:
            self._apply(k, operation, a, b, c)

    def _store(self, place: int, value: int) -> None:
        if place < self.outputs:
            found = self.straight.get(value, {})
            own = self.moving and found.get(place) == 1.0
            self.others |= self.bent.get(value, frozenset()) | (found.keys() - {place} if own else found.keys())

    def _apply(self, k: int, operation: int, a: int, b: int, c: int) -> None:
        read = operands(operation, a, b, c)
        bent: set[int] = set().union(*(self.bent[value] for value in read if value in self.bent))
        if operation in _ENDING:
            for entry, times in self.straight.get(a, {}).items():
                (self.angles if float(2 * times).is_integer() else bent).add(entry)
        elif any(value in self.straight for value in read):
            added, otherwise = self._parts(operation, a, b, c)
            bent.update(*(self.straight.get(value, ()) for value in otherwise))
            self.straight[k] = self._sum(added)
        if bent:
            self.bent[k] = frozenset(bent)

    def _sum(self, parts: list[tuple[float, int]]) -> _Straight:
        total: _Straight = {}
        for times, value in parts:
            for entry, own in self.straight.get(value, {}).items():
                total[entry] = total.get(entry, 0.0) + times * own
        return {entry: times for entry, times in total.items() if times != 0.0}

    def _parts(self, operation: int, a: int, b: int, c: int) -> tuple[list[tuple[float, int]], list[int]]:
        """The multiples of other values that an operation adds, and the values of which it makes something else."""
        if operation in _SIGNS:
            return list(zip(_SIGNS[operation], (a, b), strict=False)), []
        if operation == casadi.OP_DIV and b in self.numbers:
            return [(1.0 / self.numbers[b], a)], []
        if operation not in _PRODUCTS:
            return [], operands(operation, a, b, c)
        times, rest = _PRODUCTS[operation]
        third = [(rest, c)] if rest else []
        known = [(times * self.numbers[x], y) for x, y in ((a, b), (b, a)) if x in self.numbers]
        return known[:1] + third, [] if known else [a, b]
