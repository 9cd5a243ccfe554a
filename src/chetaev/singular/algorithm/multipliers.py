r"""Multipliers that enter linearly: blocks of equations $S\lambda + r = 0$ that are not solved explicitly.

Constraints $A\dot q = \dots$ and forces $A^T\lambda$ lead to $S\lambda + r = 0$ with $S = A M^{-1} A^T$. If $\det S$ is not a number, these
equations would make the Gröbner basis of a branch grow beyond any budget, and so would the quotients $-S^{-1} r$ if they were substituted
everywhere. A block states instead that its multipliers are determined: they remain variables, the basis does not contain the block, and
quotients are substituted only to decide whether an expression vanishes.

By the Cauchy-Binet formula $\det(A M^{-1} A^T)$ with positive definite $M$ vanishes at a real point exactly if all maximal minors of $A$
do. These zeros form a separate branch, which is usually empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

from chetaev.core.support.budget import spend
from chetaev.core.symbols import Jet
from chetaev.singular.algorithm.ideals import normal_form
from chetaev.singular.algorithm.reality import sign_of, unsigned_parameters
from chetaev.singular.algorithm.ring import Poly, support, weight
from chetaev.singular.algorithm.space import Space

_LARGEST_BLOCK = 3
"""Largest number of multipliers of a block; `elimination` joins at most as many rows to a block."""
_MOST_MINORS = 150
"""Largest number of maximal minors of the velocity constraints, which are all computed. More would
cost more than they save in the search."""


@dataclass(frozen=True)
class Block:
    r"""Equations $S\lambda + r = 0$ with a square matrix $S$, where $\det S$ does not vanish."""

    rows: tuple[Poly, ...]
    columns: tuple[int, ...]
    matrix: tuple[tuple[Poly, ...], ...]
    rest: tuple[Poly, ...]
    determinant: Poly
    minors: tuple[Poly, ...]
    """Polynomials whose common zeros are the real zeros of the determinant."""
    everywhere: bool = False
    """Whether the determinant is proved to vanish nowhere on the branch; otherwise that is an assumption."""

    def eliminated(self, space: Space, f: Poly, basis: Sequence[Poly]) -> Poly:
        """The polynomial without the multipliers, multiplied by a power of the determinant."""
        degree = max((sum(m[i] for i in self.columns) for m in f), default=0)
        if not degree:
            return f
        numerators = []
        for k in range(len(self.columns)):
            changed = [[-r if n == k else e for n, e in enumerate(row)] for row, r in zip(self.matrix, self.rest, strict=True)]
            numerators.append(normal_form(determinant(changed), basis))
        parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        for m, c in f.items():
            powers = tuple(m[i] for i in self.columns)
            parts.setdefault(powers, {})[tuple(0 if i in self.columns else e for i, e in enumerate(m))] = c
        total = space.zero
        for powers, part in parts.items():
            product = space.ring.from_dict(part)
            factors = [n for n, p in zip(numerators, powers, strict=True) for _ in range(p)]
            for g in [*factors, *[self.determinant] * (degree - sum(powers))]:
                spend(weight(product) * len(g))
                product = normal_form(product * g, basis)
            total += product
        return total


def determinant(matrix: Sequence[Sequence[Poly]]) -> Poly:
    """The determinant of a small matrix, by expansion along the first row."""
    if len(matrix) == 1:
        return matrix[0][0]
    total = matrix[0][0].ring.zero
    for k, entry in enumerate(matrix[0]):
        if entry:
            minor = determinant([[*row[:k], *row[k + 1 :]] for row in matrix[1:]])
            total = total + entry * minor if k % 2 == 0 else total - entry * minor
    return total


def determined(blocks: Iterable[Block]) -> set[int]:
    """The multipliers of some blocks."""
    return {i for block in blocks for i in block.columns}


def without_blocks(space: Space, f: Poly, blocks: Sequence[Block], basis: Sequence[Poly]) -> Poly:
    """A polynomial that vanishes where `f` does and does not contain the multipliers of the blocks; zero if `f` vanishes."""
    rest = normal_form(f, [*basis, *[row for block in blocks for row in block.rows]])
    if not rest or not support(rest) & determined(blocks):
        return rest
    for block in sorted(blocks, key=lambda block: space.levels[block.columns[0]]):  # the equations of a block contain jets of later blocks
        rest = block.eliminated(space, rest, basis)
    return normal_form(rest, basis)


def multiplier_block(
    space: Space, polynomials: Sequence[Poly], known: Sequence[Poly], basis: Sequence[Poly], done: set[int]
) -> Block | None:
    """A block of equations for multipliers that are not `done`, whose determinant is that of $A M^{-1} A^T$.

    `known` are all constraints of the branch. None if there is no such block. Its equations share no multiplier of highest order with
    others.
    """
    for rows, columns in _components(space, polynomials, done):
        if len(rows) != len(columns) or len(rows) > _LARGEST_BLOCK:
            continue
        if any(sum(m[i] for i in columns) > 1 for f in rows for m in f):
            continue
        matrix = tuple(tuple(normal_form(space.slope(f, i), basis) for i in columns) for f in rows)
        if any(support(e) & space.multipliers for row in matrix for e in row):
            continue
        d = normal_form(determinant(matrix), basis)
        if not d:
            continue
        minors = () if d.is_ground else _minors_if_definite(space, d, known, basis)
        if minors is not None:
            rest = tuple(space.ring.from_dict({m: c for m, c in f.items() if not any(m[i] for i in columns)}) for f in rows)
            return Block(tuple(rows), tuple(columns), matrix, rest, d, minors)
    return None


def _components(space: Space, polynomials: Iterable[Poly], done: set[int]) -> list[tuple[list[Poly], list[int]]]:
    """The polynomials that contain multipliers, in groups that share none of highest order, with these multipliers."""
    groups: list[tuple[list[Poly], set[int]]] = []
    for f in polynomials:
        present = support(f) & space.multipliers - done
        if not present:
            continue
        top = max(space.symbols[i].order for i in present)
        inside = {i for i in present if space.symbols[i].order == top}
        joined, apart = [f], []
        for rows, columns in groups:
            if columns & inside:
                joined, inside = [*rows, *joined], inside | columns
            else:
                apart.append((rows, columns))
        groups = [*apart, (joined, inside)]
    return [(rows, sorted(columns)) for rows, columns in groups]


def _minors_if_definite(space: Space, d: Poly, known: Sequence[Poly], basis: Sequence[Poly]) -> tuple[Poly, ...] | None:
    r"""The maximal minors of $A$ if `d` is $\det(A M^{-1} A^T)$ up to a number, for the velocity constraints of the branch; else None."""
    if space.metric is None:
        return None
    velocities, inverse_mass = space.metric
    rows = []
    for g in known:
        inside = support(g)
        orders = [space.symbols[i].order for i in inside if isinstance(space.symbols[i], Jet)]
        row = [g.diff(space.variables[i]) for i in velocities]
        if max(orders, default=0) == 1 and not inside & space.multipliers and any(row):
            rows.append(row)
    size = len(rows)
    if not rows or size > len(velocities) or comb(len(velocities), size) > _MOST_MINORS:
        return None
    gram = []
    for a in rows:
        weighted = [sum((e.mul_ground(w) for e, w in zip(a, line, strict=True) if w and e), space.zero) for line in inverse_mass]
        gram.append([normal_form(sum((x * y for x, y in zip(weighted, b, strict=True)), space.zero), basis) for b in rows])
    expected = normal_form(determinant(gram), basis)
    if not expected or expected.monic() != d.monic():
        return None
    every = combinations(range(len(velocities)), size)
    minors = (normal_form(determinant([[row[j] for j in chosen] for row in rows]), basis) for chosen in every)
    return tuple(dict.fromkeys(m for m in minors if m))


def describe_multipliers(space: Space, rows: Sequence[Sequence[Poly]], columns: Sequence[Jet]) -> None:
    """Set the multipliers and the metric of the space, if rows of second order have a constant positive definite mass matrix.

    `columns` are the jets whose rates the rows contain.
    """
    if any(z.order != 1 for z in columns):
        return
    space.metric = _metric(space, rows, columns)
    if space.metric is not None:
        without = {z.d(-1) for j, z in enumerate(columns) if not any(row[j] for row in rows)}
        space.multipliers = frozenset(i for i, z in enumerate(space.symbols) if isinstance(z, Jet) and z.d(-z.order) in without)


def _metric(space: Space, rows: Sequence[Sequence[Poly]], columns: Sequence[Jet]) -> tuple[list[int], list[list[Any]]] | None:
    r"""The variables of the velocities and $M^{-1}$ up to a factor, if the rows are $M\ddot q + \dots = 0$ with a constant definite matrix.

    Coordinates without accelerations, the multipliers, are left out with their rows.
    """
    moving = [j for j in range(len(columns)) if any(row[j] for row in rows)]
    if len(rows) != len(columns) or any(columns[j] not in space.index for j in moving):
        return None
    block = [[rows[i][j] for j in moving] for i in moving]
    if not block or any(e and not e.is_ground for row in block for e in row):
        return None
    matrix = [[e.LC if e else space.domain.zero for e in row] for row in block]
    if any(matrix[i][j] != matrix[j][i] for i in range(len(moving)) for j in range(i)):
        return None
    first = matrix[0][0]
    if not first:
        return None
    side = sign_of(space, first)
    if not side:  # a matrix is as good as its multiples
        space.record(first)
        side = 1 / first
    inverse = _inverse_if_definite(space, [[e * side for e in row] for row in matrix])
    if inverse is None:
        space.unsigned = unsigned_parameters(space, (e for row in matrix for e in row))
    return None if inverse is None else ([space.index[columns[j]] for j in moving], inverse)


def _inverse_if_definite(space: Space, matrix: list[list[Any]]) -> list[list[Any]] | None:
    """The inverse of a symmetric matrix by elimination on the diagonal, whose pivots must be positive; None if one is not known to be."""
    n, one, zero = len(matrix), space.domain.one, space.domain.zero
    work = [[*row, *[one if i == j else zero for j in range(n)]] for i, row in enumerate(matrix)]
    for k in range(n):
        p = work[k][k]
        if not p or sign_of(space, p) <= 0:
            return None
        space.record(p)
        work[k] = [e / p for e in work[k]]
        for i in range(n):
            if i != k and work[i][k]:
                factor = work[i][k]
                work[i] = [x - factor * y for x, y in zip(work[i], work[k], strict=True)]
    return [row[n:] for row in work]
