"""Random points of the field that satisfy given rows, for questions about expressions on a constraint manifold.

Rows are solved in stages, each for symbols of its own. A stage whose rows are affine in its symbols is solved by linear algebra, modulo
each of the three primes, so that relations hold inside the arguments of functions too. Other rows are solved one by one, each for a symbol
that no earlier row contains and in which the row has degree one or two. If no such symbols are found, the answer is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chetaev.core.exact.field import Extended, Field, OutsideDomain, Residue
from chetaev.core.exact.functions import FieldFunctions
from chetaev.core.exact.program import Program
from chetaev.core.exact.signature import TRIALS, Spot, random_spot

_DRAWS = 40
"""Random points tried per point wanted. Each square root of a discriminant has a chance of 1/2, so fewer draws lose points."""

_CONTRADICTIONS = 3
"""Random points without a solution after which linear equations count as contradictory, so that the search ends early."""


@dataclass(frozen=True)
class Stage:
    """Rows solved together: a program whose outputs are the rows, then their slopes by the inputs `moved`, row by row."""

    program: Program
    rows: int
    moved: tuple[int, ...]

    def solve(self, spot: Spot) -> Spot | None:
        """`spot` with the inputs `moved` solved for, in which the rows are affine; None if the rows contradict each other there."""
        start = replace(spot, values=_with(spot.values, dict.fromkeys(self.moved, 0)))
        numbers = _plain(start.whole(self.program))
        right = [-v for v in numbers[: self.rows]]
        width = len(self.moved)
        matrix = [numbers[self.rows + i * width : self.rows + (i + 1) * width] for i in range(self.rows)]
        field, solution = spot.field, [0] * width
        kept = _plain([spot.values[k] for k in self.moved])
        for prime, unit in zip((field.p, field.q, field.r), field.idempotents, strict=True):
            found = _solved(matrix, right, kept, prime)
            if found is None and prime == field.p:
                return None
            values = kept if found is None else found
            solution = [(a + v % prime * unit) % field.modulus for a, v in zip(solution, values, strict=True)]
        return replace(spot, values=_with(spot.values, dict(zip(self.moved, solution, strict=True))))


@dataclass(frozen=True)
class Single:
    """One row solved for one input: a program whose outputs are the row and its first two slopes by that input."""

    program: Program
    moved: int

    def solve(self, spot: Spot) -> Spot | None:
        """`spot` with the input `moved` solved for, in which the row has degree one or two; None without a root there."""
        start = replace(spot, values=_with(spot.values, {self.moved: 0}))
        c, b, twice_a = _plain(start.whole(self.program))
        if c % spot.field.p == 0 and b % spot.field.p == 0 and twice_a % spot.field.p == 0:
            return spot
        root = _root(spot.field, c, b, twice_a)
        return None if root is None else replace(spot, values=_with(spot.values, {self.moved: root}))


def points_of(rows: Program, steps: Sequence[Stage | Single], count: int = TRIALS) -> list[Spot]:
    """Random points at which all `rows` hold, made by `steps`; at most `count`, and none if none is found."""
    found: list[Spot] = []
    contradictions = 0
    for draw in range(_DRAWS * count):
        spot: Spot | None = random_spot(rows, draw)
        try:
            for step in steps:
                if spot is not None:
                    spot = step.solve(spot)
                    contradictions += spot is None and isinstance(step, Stage)
            if contradictions == _CONTRADICTIONS:
                break
            if spot is None or any(spot.run(rows)):
                continue
        except OutsideDomain:
            continue
        found.append(spot)
        if len(found) == count:
            break
    return found


def _plain(values: Sequence[Residue]) -> list[int]:
    """The residues, if all lie in the prime field; raises `OutsideDomain` otherwise."""
    found = [v for v in values if not isinstance(v, Extended)]
    if len(found) < len(values):
        raise OutsideDomain
    return found


def _with(values: Sequence[Residue], changes: Mapping[int, Residue]) -> tuple[Residue, ...]:
    return tuple(changes.get(k, v) for k, v in enumerate(values))


def _solved(matrix: Sequence[Sequence[int]], right: Sequence[int], kept: Sequence[int], prime: int) -> list[int] | None:
    """A solution of linear equations modulo `prime`; unknowns without a pivot keep the values `kept`. None if there is no solution."""
    rows = [[v % prime for v in line] + [b % prime] for line, b in zip(matrix, right, strict=True)]
    width = len(kept)
    pivots: list[tuple[int, int]] = []
    for j in range(width):
        top = len(pivots)
        found = next((i for i in range(top, len(rows)) if rows[i][j]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        factor = pow(rows[top][j], -1, prime)
        rows[top] = [v * factor % prime for v in rows[top]]
        for i in range(len(rows)):
            if i != top and rows[i][j]:
                share = rows[i][j]
                rows[i] = [(v - share * w) % prime for v, w in zip(rows[i], rows[top], strict=True)]
        pivots.append((top, j))
    if any(line[width] for line in rows[len(pivots) :]):
        return None
    solution = [v % prime for v in kept]
    own = {j for _, j in pivots}
    for i, j in pivots:
        solution[j] = (rows[i][width] - sum(rows[i][k] * solution[k] for k in range(width) if k not in own)) % prime
    return solution


def _root(field: Field, c: int, b: int, twice_a: int) -> Residue | None:
    """A root of $a z^2 + b z + c$; modulo q and r too where there is one."""
    if not any(v % field.p for v in (b, twice_a)):
        return None
    if twice_a % field.p == 0:
        return -c * field.inverse(b) % field.modulus
    functions = FieldFunctions(field)
    try:
        root = functions.sqrt((b * b - 2 * twice_a * c) % field.modulus)
    except OutsideDomain:
        return None
    return (root - b) * field.inverse(twice_a) % field.modulus
