r"""Linear equations for the rates, solved modulo the ideal of a branch without divisors that may vanish.

The unknowns are components $\xi_j$ of the vector field; a row is $\sum_j a_j \xi_j + r = 0$ with $a_j, r$ in the ring. Pivots are taken in
this order: constants; products of factors that do not vanish on the branch; square blocks whose determinant is constant on the branch.
Rows without remaining unknowns are constraints. Only if there are none, pivots that may vanish are returned for a case distinction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from chetaev.singular.algorithm.branches import Branch, refine
from chetaev.singular.algorithm.ideals import normal_form
from chetaev.singular.algorithm.multipliers import determinant, determined, without_blocks
from chetaev.singular.algorithm.reality import never_vanishes
from chetaev.singular.algorithm.ring import Fraction, Poly, support
from chetaev.singular.algorithm.space import Space

Row = list[Poly]
"""The coefficients of the unknowns, then the term without them."""
_BLOCK_ROWS = 6
"""Largest number of rows for which square blocks are tried; the number of blocks grows as the cube of the rows and columns."""
_CHOICES = 4
"""Number of uncertain pivots among which one without real zeros is searched. Fewer cause
unnecessary case distinctions; each costs a proof."""


@dataclass(frozen=True)
class Solved:
    """The solution for the rates: `pivots` maps an unknown to its row; the other unknowns are free."""

    branch: Branch
    pivots: dict[int, Row]
    unknowns: int
    _rates: dict[int, tuple[Fraction, dict[int, Fraction]]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def free(self) -> list[int]:
        """The unknowns that no row determines."""
        return [j for j in range(self.unknowns) if j not in self.pivots]

    def rate(self, space: Space, j: int) -> tuple[Fraction, dict[int, Fraction]]:
        """A rate as a term and the coefficients of the free unknowns; kept, since common divisors of long polynomials take seconds."""
        if j not in self.pivots:
            return (space.zero, space.one), {j: (space.one, space.one)}
        if j not in self._rates:
            row = self.pivots[j]
            coefficients = {k: self._quotient(space, row[k], row[j]) for k in self.free if row[k]}
            self._rates[j] = self._quotient(space, row[-1], row[j]), coefficients
        return self._rates[j]

    def _quotient(self, space: Space, entry: Poly, pivot: Poly) -> Fraction:
        n, d = space.cancel(-entry, pivot) if entry else (space.zero, space.one)
        if d.is_ground and d != space.one:
            space.record(d.LC)
            n, d = n.mul_ground(1 / d.LC), space.one
        return n, d


@dataclass(frozen=True)
class Constraints:
    """Polynomials that must vanish for consistent rows; `radical` if they vanish on the branch but are
    not in its ideal, as $x$ for $x^2$.
    """

    polynomials: list[Poly]
    radical: bool = False


@dataclass(frozen=True)
class Split:
    """Factors of a pivot that may or may not vanish."""

    factors: list[Poly]


def eliminate(space: Space, branch: Branch, rows: Sequence[Row]) -> Solved | Constraints | Split:
    """Gauss-Jordan elimination as far as possible without a case distinction."""
    work = Elimination(space, branch, rows)
    while True:
        reached = work.advance()
        if not isinstance(reached, list):
            return reached
        zero = [f for f in reached[0] if work.branch.vanishes(space, f)]
        if zero:
            return Constraints([zero[0]], radical=True)
        safe = next((factors for factors in reached if all(_without_zeros(space, work.branch, f) for f in factors)), None)
        if safe is None:
            return Split(reached[0])
        work.branch = replace(work.branch, nonzero=(*work.branch.nonzero, *safe))


def _without_zeros(space: Space, branch: Branch, f: Poly) -> bool:
    """Whether a polynomial has no real zero on a branch."""
    return never_vanishes(space, f) or not refine(space, branch, [f])[0]


class Elimination:
    """The state of an elimination; `branch` is narrowed by pivots that must not vanish."""

    def __init__(self, space: Space, branch: Branch, rows: Sequence[Row]) -> None:
        self.space, self.branch = space, branch
        self.unknowns = len(rows[0]) - 1 if rows else 0
        reduced = [[branch.reduce(space, e) for e in row] for row in rows]
        self.rows: list[Row] = [row for row in reduced if any(row)]
        self.done: dict[int, int] = {}
        """The column of the pivot by row."""

    def advance(self) -> Solved | Constraints | list[list[Poly]]:
        """Eliminate with certain pivots: returns the solution, rows that became constraints, or the factors of uncertain pivots."""
        while self.pivot_by_unit() or self.pivot_by_block():
            pass
        left = self.residuals()
        if left:
            return Constraints(left)
        places = self.doubtful()
        if self.branch.blocks and self._clear(places):
            return self.advance()
        if not places:
            return Solved(self.branch, self.pivots(), self.unknowns)
        return [[f for f in self.space.factors(self.rows[i][j]) if f not in self.branch.nonzero] for i, j in places[:_CHOICES]]

    def _stays(self, f: Poly) -> bool:
        """Whether the blocks of the branch do not make a polynomial zero."""
        return not support(f) & determined(self.branch.blocks) or bool(without_blocks(self.space, f, self.branch.blocks, self.branch.basis))

    def _clear(self, places: Sequence[tuple[int, int]]) -> bool:
        """Set entries to zero that the blocks of the branch make zero; return False if there are none."""
        zero = [(i, j) for i, j in places if not self._stays(self.rows[i][j])]
        for i, j in zero:
            self.rows[i][j] = self.space.zero
        return bool(zero)

    def pivots(self) -> dict[int, Row]:
        return {j: self.rows[i] for i, j in self.done.items()}

    def residuals(self) -> list[Poly]:
        left = [row[-1] for i, row in enumerate(self.rows) if i not in self.done and row[-1] and not any(row[:-1])]
        return [f for f in left if self._stays(f)] if self.branch.blocks else left

    def pivot_by_unit(self) -> bool:
        """Eliminate with a pivot that is certainly not zero; False if there is none."""
        best: tuple[tuple[int, ...], int, int] | None = None
        for i, j in self._places():
            p = self.rows[i][j]
            grade = 0 if p.is_ground else 1 if self.branch.is_unit(self.space, p) else 2
            if grade < 2:
                score = (grade, len(p), sum(len(e) for e in self.rows[i]), j)
                best = min(best, (score, i, j)) if best else (score, i, j)
        if best is None:
            return False
        self._eliminate(best[1], best[2])
        return True

    def doubtful(self) -> list[tuple[int, int]]:
        """The indices of pivots that may vanish, the simplest first."""

        def score(place: tuple[int, int]) -> tuple[int, ...]:
            p = self.rows[place[0]][place[1]]
            return len(p), max(sum(m) for m in p), sum(len(e) for e in self.rows[place[0]]), place[1]

        return sorted(self._places(), key=score)

    def pivot_by_block(self, most: int = 3) -> bool:
        """Solve two or three rows jointly if their determinant is a constant, or does not vanish, on the branch."""
        rows = [i for i, row in enumerate(self.rows) if i not in self.done and any(row[:-1])]
        if len(rows) < 2 or len(rows) > _BLOCK_ROWS:
            return False
        space = self.space
        for size in range(2, most + 1):
            for chosen in combinations(rows, size):
                columns = [j for j in range(self.unknowns) if any(self.rows[i][j] for i in chosen)]
                for picked in combinations(columns, size):
                    matrix = [[self.rows[i][j] for j in picked] for i in chosen]
                    d = normal_form(determinant(matrix), self.branch.basis)
                    if d and (d.is_ground or self.branch.is_unit(space, d)):
                        self._join(chosen, matrix)
                        return True
        return False

    def _join(self, chosen: Sequence[int], matrix: Sequence[Sequence[Poly]]) -> None:
        """Multiply rows by the adjugate of their block: it becomes the determinant times the identity."""
        size = len(chosen)
        old = [self.rows[i] for i in chosen]
        for k in range(size):
            total = [self.space.zero] * (self.unknowns + 1)
            for n in range(size):
                minor = [[e for c, e in enumerate(row) if c != k] for r, row in enumerate(matrix) if r != n]
                factor = determinant(minor)
                factor = factor if (k + n) % 2 == 0 else -factor
                total = [t + factor * e if e else t for t, e in zip(total, old[n], strict=True)]
            self.rows[chosen[k]] = [normal_form(e, self.branch.basis) for e in total]

    def _places(self) -> list[tuple[int, int]]:
        return [(i, j) for i, row in enumerate(self.rows) if i not in self.done for j in range(self.unknowns) if row[j]]

    def _eliminate(self, i: int, j: int) -> None:
        """Clear column `j` from every other row."""
        space, pivot_row = self.space, self.rows[i]
        p = pivot_row[j]
        if p.is_ground:
            space.record(p.LC)
            pivot_row = [e.mul_ground(1 / p.LC) if e else e for e in pivot_row]
            p = space.one
            self.rows[i] = pivot_row
        self.done[i] = j
        for k, row in enumerate(self.rows):
            a = row[j]
            if k == i or not a:
                continue
            if p == space.one:
                changed = [x - a * y if y else x for x, y in zip(row, pivot_row, strict=True)]
            else:
                g = space.gcd(p, a)
                up, across = p.exquo(g), a.exquo(g)
                changed = [up * x - across * y for x, y in zip(row, pivot_row, strict=True)]
            changed = [normal_form(x, self.branch.basis) for x in changed]
            changed[j] = space.zero
            self.rows[k] = self._without_units(changed)

    def _without_units(self, row: Row) -> Row:
        """A row divided by common factors that do not vanish on the branch."""
        row, common = self.space.primitive(row)
        for f in self.space.factors(common):
            if f in self.branch.nonzero:
                while all(not x or not x.rem([f]) for x in row):
                    row = [x.exquo(f) if x else x for x in row]
        return row
