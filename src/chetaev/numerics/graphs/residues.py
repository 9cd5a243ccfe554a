r"""A matrix of graphs in a finite field: which entries are zero, and which do not change along a motion, at every step of an elimination.

An elimination leaves out what is identically zero, and nothing else: whether an entry vanishes is decided by its exact residue at random
states, never by its size at samples (`chetaev.core.exact`).

The same residues show which entries are *constant along a motion*. A sleigh's mass matrix has the same mass in both directions of the
plane, so after its elimination the constraint has the entry $\sin^2\theta + \cos^2\theta$, which a graph does not simplify to one. All
random states have the same random parameters; an entry that is equal at all of them depends on parameters only. As a pivot it keeps its
size, and its inverse is computed once instead of at every state.

A constant entry is written without the state by setting the state to zero. So it counts as constant only if it is made of sums, products,
sines and cosines, and of quotients by what contains parameters alone: these have a value at zero whenever they have one elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy

import casadi as ca

from chetaev.core.calculus import Algebra
from chetaev.core.exact.field import Residue
from chetaev.core.exact.matrices import reciprocal
from chetaev.core.exact.program import Program
from chetaev.core.exact.signature import related
from chetaev.core.support.lines import present
from chetaev.core.symbols import Parameter
from chetaev.numerics.graphs.arithmetic import is_nothing

_DIVISION = 10
"""Cost of a division by a state-dependent entry, in multiplications: the latency of a division in machine code. It only affects the
choice among pivot orders, not results."""

_PARAMETERS, _DEFINED, _OTHER = range(3)
"""Composition of an entry: of parameters only; of expressions with values at all states; of anything else."""


class Entry:
    """An entry of the matrix in the field: its residue at every state, and its composition (`made_of`). Entries are not changed.

    An elimination of n dense rows makes about n^3/3 of them, so this is no frozen dataclass, which takes twice as long to make.
    """

    __slots__ = ("constant", "made_of", "made_of_now", "pivotal", "values", "zero")

    def __init__(self, values: tuple[Residue, ...], made_of: int) -> None:
        self.values, self.made_of = values, made_of
        self.zero = not any(values)
        """Whether it vanishes at all states."""
        self.pivotal = not self.zero and all(values)
        """Whether it vanishes at no state."""
        self.constant = made_of != _OTHER and values.count(values[0]) == len(values)
        """Whether it is the same at all states, and has a value at zero."""
        self.made_of_now = _PARAMETERS if self.constant else made_of
        """The composition; a constant entry is written with parameters only."""


class Residues:
    """A matrix in the field, by its entries that are not zero; elimination changes it in place."""

    def __init__(self, rows: Sequence[Mapping[int, Entry]], columns: int, prime: int, frozen: Callable[[ca.SX], ca.SX]) -> None:
        self.rows = [dict(row) for row in rows]
        self.columns = columns
        self.prime = prime
        self.frozen = frozen
        """Replaces the state in a graph that does not depend on its value."""
        self.cost = 0
        """Products and divisions of moving entries so far."""
        self._holding: list[set[int]] = [set() for _ in range(columns)]
        """The rows without a pivot so far that contain each column."""
        for i, row in enumerate(self.rows):
            for j in row:
                self._holding[j].add(i)

    def copy(self) -> Residues:
        """A copy of this matrix, eliminated as far as this one."""
        found = copy(self)
        found.rows, found.cost, found._holding = [dict(row) for row in self.rows], 0, [set(rows) for rows in self._holding]
        return found

    def is_constant(self, i: int, j: int) -> bool:
        """Whether an entry is constant along a motion; zero is."""
        return j not in self.rows[i] or self.rows[i][j].constant

    def can_pivot(self, i: int, j: int) -> bool:
        """Whether an entry is different from zero at all states."""
        return j in self.rows[i] and self.rows[i][j].pivotal

    def eliminate(self, i: int, j: int) -> list[tuple[int, int]] | None:
        """Make one step. Return the entries that became constant by cancellation; None if the pivot is zero."""
        if not self.can_pivot(i, j):
            return None
        p, source = self.prime, self.rows[i]
        pivot = source[j]
        for c in source:
            self._holding[c].discard(i)
        self.cost += 0 if pivot.constant else _DIVISION
        inverse = [reciprocal(v, p) for v in pivot.values]
        others = [(c, entry) for c, entry in source.items() if c != j]
        nothing = (0,) * len(inverse)
        found = []
        for k in sorted(self._holding[j]):
            target = self.rows[k]
            first = target.pop(j)
            lasting = first.constant and pivot.constant
            made_of = first.made_of_now if pivot.constant else _OTHER
            factors = [v * w % p for v, w in zip(first.values, inverse, strict=True)]
            for c, entry in others:
                old = target.get(c)
                known = lasting and entry.constant and (old is None or old.constant)
                kind = max(made_of, entry.made_of_now, _PARAMETERS if old is None else old.made_of_now)
                before = nothing if old is None else old.values
                new = Entry(tuple([(a - f * b) % p for a, f, b in zip(before, factors, entry.values, strict=True)]), kind)
                self.cost += 0 if known else 1
                if new.zero:
                    if old is not None:
                        del target[c]
                        self._holding[c].discard(k)
                else:
                    target[c] = new
                    if old is None:
                        self._holding[c].add(k)
                if not known and (new.zero or new.constant):
                    found.append((k, c))
        self._holding[j].clear()
        return found

    def cost_of(self, pairs: Sequence[tuple[int, int]]) -> int | None:
        """Return the cost of an elimination with given pivots; None if one of them is zero."""
        trial = self.copy()
        return trial.cost if all(trial.eliminate(i, j) is not None for i, j in pairs) else None

    def clear(self, rows: Sequence[dict[int, ca.SX]], freeze: bool) -> None:
        """Graphs of the same matrix: zero entries are left out and, with `freeze`, constant ones are written without the state."""
        for i, row in enumerate(rows):
            for j in [j for j in row if j not in self.rows[i]]:
                del row[j]
            for j in row if freeze else ():
                if self.is_constant(i, j):
                    row[j] = self.frozen(row[j])

    def follow(self, changed: Sequence[tuple[int, int]], rows: Sequence[dict[int, ca.SX]], freeze: bool) -> None:
        """Repeat in the graphs what a step changed by cancellation: remove entries that are zero, and freeze those that are constant."""
        for k, c in changed:
            if c not in rows[k]:
                continue
            if c not in self.rows[k]:
                del rows[k][c]
            elif freeze:
                rows[k][c] = self.frozen(rows[k][c])


def residues_of(graph: Algebra[ca.SX], matrix: Sequence[Sequence[ca.SX]]) -> Residues | None:
    """The entries of a matrix of graphs at random states with common parameters; None if too few states have values."""
    held = [(i, j, e) for i, line in enumerate(matrix) for j, e in present(line) if not is_nothing(e)]
    entries, places = [e for _, _, e in held], [(i, j) for i, j, _ in held]
    symbols = sorted(graph.symbols_of(entries), key=lambda z: (not isinstance(z, Parameter), z.name))
    common = sum(isinstance(z, Parameter) for z in symbols)
    program, _ = graph.program(entries, symbols)
    found = related(program, common)
    if not found:
        return None
    width = len(matrix[0]) if matrix else 0
    rows: list[dict[int, Entry]] = [{} for _ in matrix]
    for k, ((i, j), kind) in enumerate(zip(places, _made_of(program, common), strict=True)):
        entry = Entry(tuple(values[k] for _, values in found), kind)
        if not entry.zero:
            rows[i][j] = entry
    return Residues(rows, width, found[0][0].field.p, lambda e: graph.without(e, symbols[common:]))


def _made_of(program: Program, parameters: int) -> list[int]:
    """Return the composition of each output of a program whose first inputs are parameters."""
    held: dict[int, int] = {}
    for operation, target, a, b in program.lines:
        if operation == "input":
            held[target] = _PARAMETERS if a < parameters else _DEFINED
        elif operation in ("number", "constant", "undefined"):
            held[target] = _PARAMETERS
        elif operation == "div":
            held[target] = held[a] if held[b] == _PARAMETERS else _OTHER
        elif operation == "power":
            held[target] = held[a] if held[a] == _PARAMETERS or (b.denominator == 1 and b > 0) else _OTHER
        else:
            kind = max(held[a], held.get(b, _PARAMETERS) if operation in _TWO else _PARAMETERS)
            held[target] = kind if kind == _PARAMETERS or operation in _KEEPING else _OTHER
    return [held[slot] for slot in program.outputs]


_TWO = frozenset("add sub mul min max atan2 pow less equal where".split())
_KEEPING = frozenset("add sub mul neg sq twice assign sin cos".split())
"""Operations that have a value wherever their arguments have one, and no corner."""
