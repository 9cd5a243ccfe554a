"""Generic ranks of matrices of expressions at random points of a constraint manifold.

The rank off the manifold can differ: two rows may be independent everywhere except on the manifold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import sympy
from sympy import Expr, Symbol

from chetaev.core.calculus import SYMBOLIC, Algebra, Evaluator
from chetaev.core.support.lines import joined
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.ranks.exact import exact_rank, exactly_zero
from chetaev.mechanics.ranks.factored import Factored, Matrix, equilibrated, rank
from chetaev.mechanics.ranks.newton import Root, at_root, least_norm, moved, root
from chetaev.mechanics.ranks.sizes import Sizes, Slopes, largest_of_kind, natural_sizes
from chetaev.mechanics.ranks.sparse import (
    FEWEST_ROWS,
    Numbers,
    doubts_at,
    has_small_entry,
    is_stored_sparsely,
    numbers_in,
    values_at,
    whole,
)
from chetaev.mechanics.tolerances import POINT_ERROR

__all__ = ["Matrix", "Point", "equilibrated", "generic_rank", "matrices_at", "numbers_at", "points_on", "rank"]

Point = Mapping[Symbol, float]

RANK_POINTS = 5
"""Random points at which verbs compute a generic rank. Fewer may all lie outside the domain or at special places."""
SCALED_POINTS = 9
"""Random points at several scales, for rows and expressions that may be undefined in parts of space."""
_MOST_STEPS = 60
"""Steps of the damped Gauss-Newton iteration. Double roots converge linearly and need most of them; with fewer, no point is found there."""
_JETS_PER_STEP = 8
"""Of many rows there is one more step for so many jets: the nodes of a net take their places one after the other. With fewer steps no
point of a large net is found."""
_LARGEST_RESIDUAL = 1e-9
"""Largest residual of a row at a point that is accepted, relative to its change along the last step. Larger values accept points off the
manifold; smaller ones refuse double roots."""
_NOT_REMOVED = 1e-11
"""Largest part of a row, relative to its terms, that a step to a root leaves. The residual of rows that contradict each other is least
where a step removes nothing, and it may be small if the iteration runs to infinity; smaller values refuse the round-off of long rows."""


class Points(list[Point]):
    """Random points of the set where `rows` vanish; the rows are kept for exact questions."""

    def __init__(self, points: Iterable[Point] = (), rows: Sequence[Any] = ()) -> None:
        super().__init__(points)
        self.rows = tuple(rows)


def points_on(
    rows: Sequence[Any], symbols: Sequence[Symbol], count: int = 3, algebra: Algebra[Any] = SYMBOLIC, sizes: Sizes | None = None
) -> Points:
    """Random points where all `rows` vanish; parameters stay random, jets are solved for. The list is empty if none is found.

    Rows are solved in stages, positions first, each for its highest jets; a joint Newton iteration converges to special points, where
    charts and matrices degenerate. The values have the given `sizes`, or sizes that the rows suggest.
    """
    sizes = natural_sizes(rows, algebra, symbols=symbols) if sizes is None else sizes
    present = [algebra.symbols(r) for r in rows]
    symbols = sorted(set(symbols).union(*present), key=lambda z: z.name)
    orders = {k: max((z.order for z in found if isinstance(z, Jet)), default=0) for k, found in enumerate(present)}
    stages = []
    for order in sorted(set(orders.values())):
        staged = [r for k, r in enumerate(rows) if orders[k] == order]
        stages.append(_Stage(staged, [z for z in symbols if isinstance(z, Jet) and z.order == order], algebra, sizes))
    joint = _Stage(rows, [z for z in symbols if isinstance(z, Jet)], algebra, sizes)
    found = Points(rows=rows)
    for seed in range(8 * count):
        point: dict[Symbol, float] | None = random_point(symbols, seed, sizes=sizes)
        for stage in stages:
            solution = stage.solved(point)
            if solution is None and stage.rows >= FEWEST_ROWS:  # all rows together have more steps that fail
                point = None
                break
            point = solution or point
        point = joint.solved(point) if rows and point is not None else point
        if point is not None:
            found.append(point)
        if len(found) == count:
            break
    return found


class _Stage:
    """Some rows and the jets that are solved for, in units in which both are of order one."""

    def __init__(self, rows: Sequence[Any], jets: Sequence[Symbol], algebra: Algebra[Any], sizes: Sizes) -> None:
        present = set().union(*[algebra.symbols(r) for r in rows])
        self.jets, self.rows = [z for z in jets if z in present], len(rows)
        self.slopes = Slopes(rows, self.jets, algebra, sizes)

    def solved(self, point: Mapping[Symbol, float] | None) -> dict[Symbol, float] | None:
        """A solution by damped Gauss-Newton steps of least norm from `point`; None without convergence."""
        steps = _MOST_STEPS + (len(self.jets) // _JETS_PER_STEP if self.rows >= FEWEST_ROWS else 0)
        found = root(self.slopes, point or {}, self.jets, self.slopes.units, steps, self._reach, lambda _, reach: POINT_ERROR * reach)
        if found is None:
            return None
        size = max(1.0, found.reach * float(np.abs(numbers_in(found.jacobian)).max(initial=0.0)))
        small = float(np.abs(found.residual).max(initial=0.0)) < _LARGEST_RESIDUAL * size
        return self._polished(found.point) if small and self._is_root(found) else None

    def _is_root(self, found: Root) -> bool:
        """Whether the last step removes the residual of the rows, and the rows are not small merely because their slopes are."""
        sizes = np.maximum(1.0, np.abs(self._scaled(found.point)))
        step = least_norm(found.residual, found.jacobian)
        left = np.abs(found.residual if step is None else found.residual + found.jacobian @ step[0])
        terms = np.maximum(1.0, abs(found.jacobian) @ sizes)
        return bool(np.all(left <= _NOT_REMOVED * terms)) and at_root(found.residual, found.jacobian, sizes)

    def _polished(self, point: dict[Symbol, float]) -> dict[Symbol, float]:
        """The point after one more step.

        The iteration ends with a step that is short beside the largest jet, which may be far larger than the others. Slopes that vanish on
        the set would not be small there.
        """
        try:
            step = least_norm(*self.slopes(point))
        except Undefined:
            return point
        if step is None or step[1] > POINT_ERROR * self._reach(point):
            return point
        return moved(point, self.jets, step[0] * self.slopes.units)

    def _reach(self, at: Point) -> float:
        """The longest step, which grows with the distance of the point from the origin."""
        return max(1.0, 0.5 * float(np.linalg.norm(self._scaled(at))))

    def _scaled(self, at: Point) -> Matrix:
        return np.array([at[z] for z in self.jets]) / self.slopes.units


def matrices_at(entries: Sequence[Sequence[Any]], points: Sequence[Point], algebra: Algebra[Any] = SYMBOLIC) -> list[Matrix]:
    """A matrix of expressions at several points; points where it is undefined are left out."""
    return [whole(a) for a in sparse_matrices_at(entries, points, algebra)]


def sparse_matrices_at(entries: Sequence[Sequence[Any]], points: Sequence[Point], algebra: Algebra[Any]) -> list[Numbers]:
    """A matrix of expressions at several points, stored without zeros if these are many."""
    shape = (len(entries), len(entries[0]) if entries else 0)
    tape = algebra.tape(joined(entries, algebra.of(sympy.S.Zero)))
    return [a for a in numbers_at(tape, shape, points) if a is not None]


def numbers_at(tape: Evaluator, shape: tuple[int, int], points: Sequence[Point]) -> list[Numbers | None]:
    """The values of `tape` at several points, as matrices, stored without zeros if these are many; None where they are undefined."""
    others = random_point(tape.symbols, 0)
    found: list[Numbers | None] = []
    for point in points:
        try:
            found.append(values_at(tape, {**others, **point}, 0, shape)[1])
        except Undefined:
            found.append(None)
    return found


class DoubtingEvaluator(Evaluator, Protocol):
    """An evaluator that bounds its errors."""

    def doubts(self, values: Mapping[Symbol, float], doubts: Mapping[Symbol, float]) -> Sequence[float]:
        """Bounds of the errors of the expressions, from those of the symbols."""


def measured_at(
    tape: DoubtingEvaluator,
    shape: tuple[int, int],
    points: Sequence[Point],
    error: float,
    sizes: Sizes,
    drawn: bool = False,
    bounded: bool = False,
) -> list[tuple[Numbers, Numbers] | None]:
    """A matrix at several points with bounds of the errors of its entries; None where it is undefined.

    `error` is the relative error of the jets of a point; above `_BY_ITERATION` it is relative to the largest jet of the same kind and
    order, in units of `sizes`. `drawn` means that the points are random at these sizes, and not near a state: then a jet far below its size
    is zero. With `bounded` all bounds are computed, otherwise only where entries are small or change much with their jets.
    Both matrices are stored without zeros if these are many.
    """
    others = random_point(tape.symbols, 0)
    found: list[tuple[Numbers, Numbers] | None] = []
    for point in points:
        at = {**others, **point}
        try:
            numbers = values_at(tape, at, 0, shape)[1]
        except Undefined:
            found.append(None)
            continue
        errors = _errors(at, error, sizes, drawn)
        if bounded or has_small_entry(numbers, _DOUBTFUL_ENTRY) or _left_of_zero(tape, at, errors) or changes_much(tape, at, numbers):
            found.append((numbers, doubts_at(tape, at, errors, 0, shape)[1]))
        else:
            found.append((numbers, _AMPLIFIED * error * abs(numbers)))
    return found


_DOUBTFUL_ENTRY = 1e-6
"""Entries below this part of the largest in their row and column may be round-off; then error bounds of all entries are computed."""
_AMPLIFIED = 100.0
"""Bound for the relative error of an entry that is not a difference of large numbers, in multiples of the error of the jets. With a smaller
one round-off of steep functions counts as rank."""


def _left_of_zero(tape: Evaluator, at: Point, errors: Mapping[Symbol, float]) -> bool:
    """Whether a jet is not zero but smaller than its error: an entry that is alone in its row and column may consist of such jets."""
    return any(0 < abs(at[z]) <= errors[z] for z in tape.symbols if isinstance(z, Jet))


_NUDGES = (1e-9, -3e-9, 7e-9)
"""Relative changes of jets, parameters and time that reveal cancellation. Round-off takes few values, so one change alone often leaves it
unchanged."""
_CANCELLED_CHANGE = 1e-3
"""Relative change of an entry by `_NUDGES` above which over six of its digits cancel; then error bounds of all entries are computed."""


def changes_much(tape: Evaluator, at: Point, numbers: Numbers) -> bool:
    """Whether an entry is a difference of nearly equal numbers. An entry alone in its row and column has no other to be compared with.

    The entries of the matrix are the last values of `tape`.
    """
    symbols = sorted(tape.symbols, key=lambda z: z.name)  # a mass log(c*d) - log(c) - log(d) contains no jet
    point, turns = np.array([at[z] for z in symbols], dtype=float), np.array([math.cos(k) for k in range(len(symbols))])
    entries = numbers_in(numbers)
    for nudge in _NUDGES:
        moved = point * (1 + nudge * turns)
        try:
            values = _values(tape, symbols, moved, numbers)
        except Undefined:
            return True
        change = np.abs(values[values.size - entries.size :].reshape(entries.shape) - entries)
        if np.any(change > _CANCELLED_CHANGE * np.abs(entries)):
            return True
    return False


def _values(tape: Evaluator, symbols: Sequence[Symbol], point: Matrix, numbers: Numbers) -> Matrix:
    """The values of a tape at a point, as those of `numbers` were computed."""
    if not is_stored_sparsely(numbers):
        return np.array(tape(dict(zip(symbols, point.tolist(), strict=True))), dtype=float)
    found: Matrix = tape.run(point)  # type: ignore[attr-defined]
    if not np.isfinite(found).all():
        raise Undefined("not a finite number")
    return found


def factored_at(
    entries: Sequence[Sequence[Any]],
    points: Sequence[Point],
    algebra: Algebra[Any],
    sizes: Sizes,
    error: float = POINT_ERROR,
    drawn: bool = False,
) -> list[Factored]:
    """Decompositions of a matrix of graphs at `points`, with error bounds of its entries; points where it is undefined are left out."""
    shape = (len(entries), len(entries[0]) if entries else 0)
    if 0 in shape:
        return [Factored(np.zeros(shape)) for _ in points]
    tape: Any = algebra.tape(joined(entries, algebra.of(sympy.S.Zero)))
    measured = measured_at(tape, shape, points, error, sizes, drawn)
    return [Factored(found[0], doubts=found[1]) for found in measured if found is not None]


def rank_at(
    entries: Sequence[Sequence[Any]], points: Sequence[Point], algebra: Algebra[Any], sizes: Sizes, error: float = POINT_ERROR
) -> int:
    """The largest rank of a matrix of expressions at some points; 0 without points.

    A full rank that rests on a singular value within its error bound counts only if all points have such ranks.
    """
    found = factored_at(entries, points, algebra, sizes, error)
    return max((at.rank for at in [at for at in found if not at.may_be_less] or found), default=0)


_BY_ITERATION = 1e-12
"""Relative errors above this come from an iteration, which has the same absolute error for all jets that it solves for together. It must
lie between `STATE_ERROR` and `POINT_ERROR`."""


_ZERO_JET = 1e-10
"""Jets of a kind below this part of the other jets of their order are zeros up to the error of the iteration, which is 4e-12 at a double
root; they get the error of the others."""
_ZERO_ORDER = 1e-16
"""If all jets of an order are smaller than this in units of their sizes, they are zero, and get the error of their sizes."""


def _errors(point: Point, error: float, sizes: Sizes, drawn: bool) -> dict[Symbol, float]:
    """The absolute error of each symbol; parameters are exact."""
    jets = {z: v for z, v in point.items() if isinstance(z, Jet)}
    exact = dict.fromkeys(point, 0.0)
    if error <= _BY_ITERATION:
        return {**exact, **{z: error * abs(v) for z, v in jets.items()}}
    largest = largest_of_kind(jets, sizes)
    orders: dict[int, float] = {}
    for z, v in largest.items():
        orders[z.order] = max(orders.get(z.order, 0.0), v / sizes.get(z, 1.0))
    floor = {order: 1.0 if drawn and v < _ZERO_ORDER else v for order, v in orders.items()}
    usual = {z: floor[z.order] * sizes.get(z, 1.0) for z in jets}
    return {**exact, **{z: error * (v if v > _ZERO_JET * usual[z] else usual[z]) for z, v in largest.items()}}


def generic_rank(entries: Sequence[Sequence[Expr]], points: Sequence[Point]) -> int:
    """The rank on the set of `points`: exact if the finite field has points of that set, else the most frequent numerical rank."""
    exact = exact_rank(entries, points.rows) if isinstance(points, Points) else None
    if exact is not None:
        return exact
    found = Counter(rank(a) for a in matrices_at(entries, points))
    return found.most_common(1)[0][0] if found else 0


_NONZERO_SUM = 1e-6
"""Size of a sum relative to its terms above which it is not zero, at points that satisfy their rows to `POINT_ERROR`. A smaller value takes
the error of a point for a value where slopes are steep; a larger one calls true values undecided."""


def zero_on(expressions: Sequence[Expr], points: Sequence[Point]) -> list[bool | None]:
    """For each expression, whether it vanishes on the set of `points`: an exact answer if the finite field has points of that set.

    Otherwise False if an expression does not vanish at some point, and None if it vanishes at all of them.
    """
    exact = exactly_zero(expressions, points.rows) if isinstance(points, Points) else None
    if exact is not None:
        return list(exact)
    found = []
    for e in expressions:
        parts = matrices_at([list(sympy.Add.make_args(e))], points)
        found.append(False if any(abs(float(a.sum())) > _NONZERO_SUM * float(np.abs(a).max(initial=0.0)) for a in parts) else None)
    return found
