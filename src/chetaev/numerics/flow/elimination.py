r"""Linear systems of graph expressions, solved by an elimination whose pivots are chosen once.

Which entries are zero is a formal question, answered exactly by residues in a finite field (`residues`): only what is identically zero is
left out, at every step. Which entries are good pivots is a local question, answered by numbers at several points of the constraint manifold
at once: Markowitz' count decides among entries that are not small in their column at any of the points and larger than their own *doubt*,
a bound of their error that is propagated through the elimination. The elimination is then unrolled in the graph, so that solving costs only
the necessary operations. The pivots are returned too: for a square system of full rank their product is the determinant up to sign, and a
pivot far below its reference means that another order is needed.

A matrix of rank $r$, square or not, takes $r$ pivots. Unknowns without a pivot are set to zero, and the directions in which they could
move are returned as a basis of the null space; rows without a pivot leave an expression that must vanish if a solution exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr, Rational

from chetaev.core.support.lines import present
from chetaev.numerics.flow.pivot_search import Elimination, Flags, Indices, Matrix, Samples, samples_of
from chetaev.numerics.graphs.arithmetic import is_nothing, minus, over, times
from chetaev.numerics.graphs.residues import Residues

__all__ = [
    "Flags", "Matrix", "PivotOrder", "Samples", "Solved", "elimination_order", "pivot_orders", "samples_of", "solve", "solve_positive",
]  # fmt: skip


@dataclass(frozen=True)
class Solved:
    """A solution of `A y = b` as graph expressions, and the pivots it divides by."""

    solution: tuple[ca.SX, ...]
    """With zero for unknowns that have no pivot."""
    pivots: tuple[ca.SX, ...]
    references: tuple[float, ...]
    """The largest size of each pivot at the points it was chosen at."""
    sizes: Matrix
    """The size of each pivot at these points: a line per point, a column per pivot."""
    sign: int
    """The sign of the permutation: the determinant is `sign` times the product of the pivots."""
    null: tuple[tuple[ca.SX, ...], ...] = ()
    """For each unknown without a pivot a vector of the null space, with 1 at its place and 0 at the others'."""
    leftover: tuple[tuple[int, ca.SX], ...] = ()
    """Rows without a pivot, and what is left of their right-hand sides: a solution exists where these vanish."""
    steps: tuple[tuple[int, int, ca.SX], ...] = ()
    """What was done with right-hand sides: from one entry, another times a factor was subtracted."""
    rows: tuple[dict[int, ca.SX], ...] = ()
    """The matrix after the elimination."""
    order: tuple[tuple[int, int], ...] = ()
    """The rows and columns of the pivots."""
    signs: tuple[int, ...] = ()
    """The signs that rows were multiplied by before; empty if all are 1."""

    def again(self, right: Sequence[ca.SX]) -> list[ca.SX]:
        """The solution with another right-hand side, by the same factors; what `right` does not have is zero."""
        b = _signed([*right, *[ca.SX(0)] * (len(self.rows) - len(right))], self.signs)
        for k, i, factor in self.steps:
            b[k] = minus(b[k], times(factor, b[i]))
        return _back_substituted(self.rows, b, self.order, len(self.order) + len(self.null))


@dataclass(frozen=True)
class PivotOrder:
    """The order of elimination: pairs (row, column)."""

    pairs: tuple[tuple[int, int], ...]
    signs: tuple[int, ...] = ()
    """The signs of rows that make the matrix symmetric, where all pivots are on its diagonal and one half is computed; otherwise empty."""


def elimination_order(
    samples: Samples, rank: int | None = None, constant: Flags | None = None, residues: Residues | None = None, prefer: bool = False
) -> PivotOrder:
    """Return as many pivots as suit all sample matrices, or at most `rank`, if this rank is known.

    Among entries of equal count, constant ones come first: they keep their size along a motion. With `prefer`, entries that are constant by
    their residues come first regardless of their count.
    """
    work, (m, n) = Elimination(samples, constant, residues), samples.shape
    count = min(m, n) if rank is None else min(m, n, rank)
    ((order, _),) = _chosen(work, len(samples.numbers) - 1, count, prefer, rank is not None)
    return order


def pivot_orders(
    matrices: Matrix, samples: Samples, rank: int, constant: Flags | None = None, residues: Residues | None = None
) -> dict[PivotOrder, Indices]:
    """`elimination_order` for each matrix together with the samples: which of them take which order.

    A matrix without an order, or with an entry that is not finite, is left out. Few orders come out for many matrices, since all of them
    have to suit the samples too; each order needs separate machine code.
    """
    good = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    if not len(good):
        return {}
    own = Samples.of(list(matrices[good]))
    found = _chosen(Elimination(samples.with_others(own), constant, residues), len(samples.numbers), rank, False, True)
    whole = [(order, good[which]) for order, which in found if len(order.pairs) == rank]
    return dict(sorted(whole, key=lambda item: item[0].pairs))


def _chosen(work: Elimination, shared: int, count: int, prefer: bool, wanted: bool) -> list[tuple[PivotOrder, Indices]]:
    """Orders of at most `count` pivots, and which of the samples after the shared ones take them: those that agree stay together."""
    found: list[tuple[PivotOrder, Indices]] = []
    stack: list[tuple[Elimination, Indices, tuple[tuple[int, int], ...]]]
    stack = [(work, np.arange(len(work.numbers) - shared), ())]
    while stack:
        work, which, pairs = stack.pop()
        places = work.best_pivots(shared, prefer, wanted) if len(pairs) < count else np.full(len(which), -1)
        for place in set(places.tolist()):
            some = places == place
            if place < 0:
                found.append((PivotOrder(pairs), which[some]))
                continue
            part = work if some.all() else work.of_samples(np.concatenate([np.ones(shared, dtype=bool), some]))
            pair = divmod(place, work.width)
            part.eliminate(*pair)
            stack.append((part, which[some], (*pairs, pair)))
    return found


def solve(
    matrix: Sequence[Sequence[ca.SX]],
    right: Sequence[ca.SX],
    order: PivotOrder,
    samples: Samples,
    residues: Residues | None = None,
    freeze: bool = False,
    written: Callable[[Expr], ca.SX] | None = None,
) -> Solved:
    """Unroll the elimination in a given order. Entries whose residues are zero at all states are left out.

    With `freeze`, entries that contain the state but do not depend on it are written without the state. `written` writes quotients of
    numbers, so that they stay exact: CasADi makes a double of 1/3, with which later differences are not zero where they should be.
    """
    rows: list[dict[int, ca.SX]] = [{j: e for j, e in present(line) if not is_nothing(e)} for line in matrix]
    b, n = _signed(right, order.signs), samples.shape[1]
    if order.signs:
        _make_symmetric(rows, order.signs)
    work = Elimination(samples, None, residues)
    if work.residues is not None:
        work.residues.clear(rows, freeze)
    pivots, sizes = [], np.zeros((len(samples.numbers), len(order.pairs)))
    steps: list[tuple[int, int, ca.SX]] = []
    remaining = dict.fromkeys(range(len(b)))
    holding: list[set[int]] = [set() for _ in range(n)]
    for k, line in enumerate(rows):
        for c in line:
            holding[c].add(k)
    for number, (i, j) in enumerate(order.pairs):
        del remaining[i]
        pivot = rows[i][j]
        pivots.append(pivot)
        inverse = over(ca.SX(1), pivot) if order.signs else None
        for k in sorted(holding[j]):
            if k in remaining and j in rows[k]:
                below = rows[k].pop(j)
                factor = _quotient(below, pivot, written) if inverse is None else times(below, inverse)
                if inverse is None:
                    _subtract(rows[k], rows[i], factor, j)
                else:
                    _subtract_half(rows, k, rows[i], factor, j)
                b[k] = minus(b[k], times(factor, b[i]))
                steps.append((k, i, factor))
                for c in rows[i]:
                    holding[c].add(k)
        with np.errstate(over="ignore"):
            sizes[:, number] = np.abs(work.number(i, j)) * samples.down[:, i] * samples.across[:, j]
        exact = work.residues
        changed = work.eliminate(i, j)
        if exact is not None and changed is not None:
            exact.follow(changed, rows, freeze)
    columns = {j for _, j in order.pairs}
    free = [j for j in range(n) if j not in columns]
    solution = _back_substituted(rows, b, order.pairs, n)
    null = []
    for f in free:
        moved = [-line[f] if f in line else ca.SX(0) for line in rows]
        direction = _back_substituted([{c: e for c, e in line.items() if c != f} for line in rows], moved, order.pairs, n)
        direction[f] = ca.SX(1)
        null.append(tuple(direction))
    leftover = tuple((k, b[k]) for k in remaining)
    references = tuple(float(v) or 1.0 for v in np.where(np.isfinite(sizes), sizes, 0.0).max(axis=0, initial=0.0))
    sign, by = _permutation_sign(order.pairs) * math.prod(order.signs), (tuple(steps), tuple(rows), order.pairs, order.signs)
    return Solved(tuple(solution), tuple(pivots), references, sizes, sign, tuple(null), leftover, *by)


def _quotient(a: ca.SX, b: ca.SX, written: Callable[[Expr], ca.SX] | None) -> ca.SX:
    """Return a quotient; that of two numbers as `written` writes it."""
    if written is None or not (a.is_constant() and b.is_constant()):
        return over(a, b)
    return written(Rational(float(a)) / Rational(float(b)))


def solve_positive(matrix: Sequence[Sequence[ca.SX]], right: Sequence[ca.SX]) -> list[ca.SX]:
    """The solution of a symmetric positive definite system, eliminated in its own order: no pivot can vanish."""
    n = len(right)
    return list(solve(matrix, right, PivotOrder(tuple((k, k) for k in range(n))), Samples.of([np.eye(n)])).solution)


def _subtract(target: dict[int, ca.SX], source: dict[int, ca.SX], factor: ca.SX, skip: int) -> None:
    for column, e in source.items():
        if column != skip:
            product = times(factor, e)
            target[column] = minus(target[column], product) if column in target else -product


def _signed(column: Sequence[ca.SX], signs: Sequence[int]) -> list[ca.SX]:
    return [-e if sign < 0 else e for e, sign in zip(column, signs, strict=True)] if signs else list(column)


def _make_symmetric(rows: list[dict[int, ca.SX]], signs: Sequence[int]) -> None:
    """Multiply rows by their signs; entries opposite to each other are equal then, and become one graph."""
    for i, row in enumerate(rows):
        for j, e in row.items():
            if j < i and i in rows[j]:
                row[j] = rows[j][i]
            elif signs[i] < 0:
                row[j] = -e


def _subtract_half(rows: Sequence[dict[int, ca.SX]], k: int, source: dict[int, ca.SX], factor: ca.SX, skip: int) -> None:
    """`_subtract` from row k of a symmetric matrix, whose entries left of the diagonal were computed with the rows above."""
    target = rows[k]
    for column, e in source.items():
        if column == skip:
            continue
        if column < k and k in rows[column]:
            target[column] = rows[column][k]
        else:
            product = times(factor, e)
            target[column] = minus(target[column], product) if column in target else -product


def _back_substituted(rows: Sequence[dict[int, ca.SX]], b: Sequence[ca.SX], pairs: Sequence[tuple[int, int]], n: int) -> list[Any]:
    solution: list[Any] = [None] * n
    for i, j in reversed(pairs):
        value = b[i]
        for column, e in rows[i].items():
            if column != j and solution[column] is not None:
                value = minus(value, times(e, solution[column]))
        solution[j] = over(value, rows[i][j])
    return [ca.SX(0) if e is None else e for e in solution]


def _permutation_sign(pairs: Sequence[tuple[int, int]]) -> int:
    """The sign of the permutation of the columns that have a pivot, in the order of their rows."""
    columns = sorted(j for _, j in pairs)
    place = {j: k for k, j in enumerate(columns)}
    target = [place[j] for _, j in sorted(pairs)]
    sign, seen = 1, [False] * len(target)
    for start in range(len(target)):
        length, k = 0, start
        while not seen[k]:
            seen[k] = True
            k = target[k]
            length += 1
        sign = -sign if length and length % 2 == 0 else sign
    return sign
