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

_DRAWS_PER_POINT = 40
"""Random points tried per point wanted. Each square root of a discriminant has a chance of 1/2, so fewer draws lose points."""

_POINTS_WITHOUT_SOLUTION = 3
"""Random points without a solution after which linear equations count as contradictory, so that the search ends early."""


@dataclass(frozen=True)
class Stage:
    """Rows solved together: a program whose outputs are the rows, then their slopes by the inputs `moved` that occur in them."""

    program: Program
    rows: int
    moved: tuple[int, ...]
    slopes: tuple[tuple[int, int], ...]
    """For each slope the number of its row, and of its input among `moved`; all other slopes are zero."""

    def solve(self, spot: Spot) -> Spot | None:
        """`spot` with the inputs `moved` solved for, in which the rows are affine; None if the rows contradict each other there."""
        start = replace(spot, values=_with(spot.values, dict.fromkeys(self.moved, 0)))
        numbers = _plain(start.whole(self.program))
        right = [-v for v in numbers[: self.rows]]
        matrix: list[dict[int, int]] = [{} for _ in right]
        for (i, j), slope in zip(self.slopes, numbers[self.rows :], strict=True):
            matrix[i][j] = slope
        field, solution = spot.field, [0] * len(self.moved)
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
    inputs: tuple[int, ...]
    """The indices of the program's inputs among those of a spot."""
    slopes: Program | None = None
    """For an input that is a parameter: the slopes of the row by its jets, of the same inputs. Where all of them vanish, a factor of the
    row vanishes that contains parameters only, as l in l*(cos(a) - cos(b)): the row then holds for all jets, unlike with other values."""

    def solve(self, spot: Spot) -> Spot | None:
        """`spot` with the input `moved` solved for, in which the row has degree one or two; None without a root there."""
        start = replace(spot, values=tuple(0 if k == self.moved else spot.values[k] for k in self.inputs))
        c, b, twice_a = _plain(start.whole(self.program))
        if c % spot.field.p == 0 and b % spot.field.p == 0 and twice_a % spot.field.p == 0:
            return spot
        root = _root(spot.field, c, b, twice_a)
        if root is None:
            return None
        found = replace(spot, values=_with(spot.values, {self.moved: root}))
        if self.slopes is None:
            return found
        here = replace(found, values=tuple(found.values[k] for k in self.inputs))
        return found if any(slope % spot.field.p for slope in _plain(here.whole(self.slopes))) else None


def points_of(rows: Program, steps: Sequence[Stage | Single], count: int = TRIALS) -> list[Spot]:
    """Random points at which all `rows` hold, made by `steps`; at most `count`, and none if none is found."""
    found: list[Spot] = []
    contradictions = 0
    for draw in range(_DRAWS_PER_POINT * count):
        spot: Spot | None = random_spot(rows, draw)
        try:
            for step in steps:
                if spot is not None:
                    spot = step.solve(spot)
                    contradictions += spot is None and isinstance(step, Stage)
            if contradictions == _POINTS_WITHOUT_SOLUTION:
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
    changed = list(values)
    for k, v in changes.items():
        changed[k] = v
    return tuple(changed)


def _solved(matrix: Sequence[Mapping[int, int]], right: Sequence[int], kept: Sequence[int], prime: int) -> list[int] | None:
    """A solution of linear equations modulo `prime`; unknowns without a pivot keep the values `kept`. None if there is no solution.

    The matrix is given by its entries that are not zero. Columns are eliminated in their order, each by the shortest row that contains it:
    the solution does not depend on the rows that are chosen.
    """
    rows = [{j: v % prime for j, v in line.items() if v % prime} for line in matrix]
    sides = [b % prime for b in right]
    holding: list[set[int]] = [set() for _ in kept]
    for i, line in enumerate(rows):
        for j in line:
            holding[j].add(i)
    pivots: list[tuple[int, int]] = []
    for j, candidates in enumerate(holding):
        if not candidates:
            continue
        i = min(candidates, key=lambda k: (len(rows[k]), k))
        for c in rows[i]:
            holding[c].discard(i)
        source = rows[i]
        inverse = pow(source[j], -1, prime)
        for k in list(holding[j]):
            target = rows[k]
            share = target[j] * inverse % prime
            for c, v in source.items():
                new = (target.get(c, 0) - share * v) % prime
                if new:
                    target[c] = new
                    holding[c].add(k)
                elif c in target:
                    del target[c]
                    holding[c].discard(k)
            sides[k] = (sides[k] - share * sides[i]) % prime
        pivots.append((i, j))
    solved = {i for i, _ in pivots}
    if any(side for i, side in enumerate(sides) if i not in solved):
        return None
    solution = [v % prime for v in kept]
    for i, j in reversed(pivots):
        rest = sides[i] - sum(v * solution[c] for c, v in rows[i].items() if c != j)
        solution[j] = rest * pow(rows[i][j], -1, prime) % prime
    return solution


def _root(field: Field, c: int, b: int, twice_a: int) -> Residue | None:
    """A root of $a z^2 + b z + c$ modulo p, and modulo q and r where it exists; None without one."""
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
