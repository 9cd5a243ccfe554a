r"""Entries of an elimination that do not change along a motion, although their graphs contain the state.

A sleigh's mass matrix has the same mass in both directions of the plane, so after its elimination the constraint stands there with
$\sin^2\theta + \cos^2\theta$, which a graph does not know to be one. An entry that parameters alone decide never wears out as a pivot, and
nothing has to wait for its inverse while the state is computed.

Whether an entry is steady is decided in the field of integers modulo a prime, where arithmetic is exact: the entries are computed at two
random states with the same random parameters, sine and cosine being a random point of the circle for every argument, and every other
function a random number. What agrees there is the same for all states, but for a chance of one in $10^{15}$ or so (the degree of the
entry divided by the prime; J. T. Schwartz, J. ACM 27 (1980) 701-717). What disagrees may still be steady, by an identity unknown here.

A steady entry is written without the state by setting that to zero. So it counts as steady only if it is made of sums, products, sines and
cosines, and of quotients by what contains parameters alone: these have a value at zero whenever they have one elsewhere.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import numpy as np

from chetaev.numerics.tape import lines_of, tape_of

_PRIME = 2**61 - 1
_DIVISION = 10
"""What a division by something that moves costs, in products: as many could be computed one after the other meanwhile."""

_STEADY, _DEFINED, _OTHER = range(3)
"""What an entry is made of: parameters alone; what has a value at all states; anything else."""

Residue = tuple[int, int, int]
"""A number of the field at either state, and what it is made of."""
_ZERO: Residue = (0, 0, _STEADY)


class Residues:
    """A matrix in the field, by its entries that are not zero; elimination changes it in place."""

    def __init__(self, rows: Sequence[Mapping[int, Residue]], columns: int, frozen: Callable[[ca.SX], ca.SX]) -> None:
        self.rows = [dict(row) for row in rows]
        self.columns = columns
        self.frozen = frozen
        """Writes a graph without the state, which it does not depend on."""
        self.cost = 0
        """Products and divisions of moving entries so far."""
        self.flags = np.ones((len(self.rows), columns), dtype=bool)
        """Which entries are steady."""
        for i, row in enumerate(self.rows):
            for j in row:
                self.flags[i, j] = self.is_steady(i, j)
        self._left = set(range(len(self.rows)))

    def copy(self) -> Residues:
        """The same matrix, to be eliminated in another order."""
        return Residues(self.rows, self.columns, self.frozen)

    def is_steady(self, i: int, j: int) -> bool:
        """Whether an entry is the same at both states, and has a value at zero; zero is steady."""
        here, there, kind = self.rows[i].get(j, _ZERO)
        return here == there and kind != _OTHER

    def eliminate(self, i: int, j: int) -> list[tuple[int, int]] | None:
        """One step. The entries that became steady because something cancels; None if the pivot is zero."""
        source = self.rows[i]
        if j not in source or not all(source[j][:2]):
            return None
        self._left.discard(i)
        self.cost += 0 if self.is_steady(i, j) else _DIVISION
        inverse = [pow(v, -1, _PRIME) for v in source[j][:2]]
        found = []
        for k in self._left:
            target = self.rows[k]
            if j not in target:
                continue
            lasting = self.is_steady(k, j) and self.is_steady(i, j)
            made_of = self._kind(k, j) if self.is_steady(i, j) else _OTHER
            a, b = (v * w % _PRIME for v, w in zip(target.pop(j)[:2], inverse, strict=True))
            for c, (here, there, _) in source.items():
                if c == j:
                    continue
                known = lasting and self.is_steady(i, c) and self.is_steady(k, c)
                kind = max(made_of, self._kind(i, c), self._kind(k, c))
                old = target.pop(c, _ZERO)
                new = (old[0] - a * here) % _PRIME, (old[1] - b * there) % _PRIME, kind
                if new[:2] != (0, 0):
                    target[c] = new
                self.flags[k, c] = self.is_steady(k, c)
                self.cost += 0 if known else 1
                if self.is_steady(k, c) and not known:
                    found.append((k, c))
        return found

    def _kind(self, i: int, j: int) -> int:
        """What an entry is made of; one that is steady is written with parameters only."""
        return _STEADY if self.is_steady(i, j) else self.rows[i][j][2]

    def cost_of(self, pairs: Sequence[tuple[int, int]]) -> int | None:
        """What an elimination with given pivots costs; None if one of them is zero."""
        trial = self.copy()
        return trial.cost if all(trial.eliminate(i, j) is not None for i, j in pairs) else None

    def beside(self, rows: Sequence[dict[int, ca.SX]]) -> Residues:
        """A copy that goes along with the elimination of graphs: rows of the same matrix, in which something may be left out."""
        found = Residues(
            [{j: v for j, v in mine.items() if j in row} for mine, row in zip(self.rows, rows, strict=True)], self.columns, self.frozen
        )
        for i, row in enumerate(rows):
            for j, e in row.items():
                if found.is_steady(i, j):
                    row[j] = self.frozen(e)
        return found

    def follow(self, i: int, j: int, rows: Sequence[dict[int, ca.SX]]) -> bool:
        """A step that the graphs have made already: what is steady now is frozen there. False if they cannot be followed."""
        steady = self.eliminate(i, j)
        if steady is None:
            return False
        for k in self._left:
            for c in [c for c in self.rows[k] if c not in rows[k]]:
                del self.rows[k][c]
                self.flags[k, c] = True
        for k, c in steady:
            if c in rows[k]:
                rows[k][c] = self.frozen(rows[k][c])
        return True


def residues_of(matrix: Sequence[Sequence[ca.SX]], steady: ca.SX, moving: ca.SX, frozen: Callable[[ca.SX], ca.SX]) -> Residues | None:
    """The entries of a matrix of graphs at two random states; None if something is divided by zero there."""
    chance = random.Random(20)
    entries = [e for line in matrix for e in line]
    values = [(v, v, _STEADY) for v in _drawn(chance, steady.numel())]
    values += [(a, b, _DEFINED) for a, b in zip(_drawn(chance, moving.numel()), _drawn(chance, moving.numel()), strict=True)]
    found = _evaluated(ca.Function("entries", [ca.vertcat(steady, moving)], [ca.densify(ca.vertcat(*entries))]), values)
    if found is None:
        return None
    width = len(matrix[0])
    lines = [found[k : k + width] for k in range(0, len(found), width)]
    return Residues([{j: v for j, v in enumerate(line) if v[:2] != (0, 0)} for line in lines], width, frozen)


def _drawn(chance: random.Random, count: int) -> list[int]:
    return [chance.randrange(1, _PRIME) for _ in range(count)]


def _evaluated(function: ca.Function, values: Sequence[Residue]) -> list[Residue] | None:
    """A function of scalars at two points of the field."""
    held: dict[int, Residue] = {}
    out: list[Residue] = [_ZERO] * int(function.numel_out(0))
    for operation, target, a, b in lines_of(tape_of(function)):
        if operation == ca.OP_CONST:
            number = _exact(struct.unpack("=d", struct.pack("=ii", a, b))[0])
            if number is None:
                return None
            held[target] = number, number, _STEADY
        elif operation == ca.OP_INPUT:
            held[target] = values[b]
        elif operation == ca.OP_OUTPUT:
            out[b] = held[a]
        else:
            rule = _RULES.get(operation, _unknown(operation))
            first, second = held[a], held.get(b, held[a])
            try:
                here, there = (rule(u, v) for u, v in zip(first[:2], second[:2], strict=True))
            except ValueError:  # zero has no inverse
                return None
            held[target] = here, there, _made_of(operation, first[2], second[2])
    return out


def _made_of(operation: int, a: int, b: int) -> int:
    """What an operation on such and such is made of."""
    if operation == ca.OP_DIV:
        return a if b == _STEADY else _OTHER
    kind = max(a, b)
    return kind if kind == _STEADY or operation in _KEEPING else _OTHER


def _exact(number: float) -> int | None:
    """A number of double precision, which is a fraction; None for infinity and NaN."""
    if not math.isfinite(number):
        return None
    p, q = number.as_integer_ratio()
    return p * pow(q, -1, _PRIME) % _PRIME


def _unknown(operation: int) -> Callable[[int, int], int]:
    """A function of which nothing is known: the same number for the same arguments."""
    return lambda a, b: random.Random((operation * _PRIME + a) * _PRIME + b).randrange(1, _PRIME)


def _circle(a: int) -> tuple[int, int]:
    """A point of the unit circle for an argument: cosine and sine."""
    u = _unknown(ca.OP_SIN)(a, a)
    below = pow(1 + u * u, -1, _PRIME)
    return (1 - u * u) * below % _PRIME, 2 * u * below % _PRIME


_RULES: dict[int, Callable[[int, int], int]] = {
    ca.OP_ASSIGN: lambda a, _: a,
    ca.OP_ADD: lambda a, b: (a + b) % _PRIME,
    ca.OP_SUB: lambda a, b: (a - b) % _PRIME,
    ca.OP_MUL: lambda a, b: a * b % _PRIME,
    ca.OP_DIV: lambda a, b: a * pow(b, -1, _PRIME) % _PRIME,
    ca.OP_INV: lambda a, _: pow(a, -1, _PRIME),
    ca.OP_NEG: lambda a, _: -a % _PRIME,
    ca.OP_TWICE: lambda a, _: 2 * a % _PRIME,
    ca.OP_SQ: lambda a, _: a * a % _PRIME,
    ca.OP_COS: lambda a, _: _circle(a)[0],
    ca.OP_SIN: lambda a, _: _circle(a)[1],
}

_KEEPING = frozenset(_RULES.keys() - {ca.OP_INV, ca.OP_DIV})
"""Operations that have a value wherever their arguments have one."""
