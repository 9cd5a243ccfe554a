"""Generic ranks of matrices of expressions, taken at random points of a constraint manifold.

A rank off the manifold is the wrong rank: two rows may be independent everywhere except exactly where the motion lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import sympy
from sympy import Expr, Symbol

from chetaev.core.calculus import SYMBOLIC, Algebra, Evaluator
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.ranks.exact import exact_rank, exactly_zero
from chetaev.mechanics.ranks.factored import Factored, Matrix, equilibrated, rank
from chetaev.mechanics.ranks.sizes import Sizes, Slopes, largest_of_kind, natural_sizes

__all__ = ["Matrix", "Point", "equilibrated", "generic_rank", "matrices_at", "numbers_at", "points_on", "rank"]

Point = Mapping[Symbol, float]

_STEPS = 60


class Points(list[Point]):
    """Random points of the set where some rows vanish; the rows come along, so that formal questions can be asked exactly."""

    def __init__(self, points: Iterable[Point] = (), rows: Sequence[Any] = ()) -> None:
        super().__init__(points)
        self.rows = tuple(rows)


def points_on(
    rows: Sequence[Any], symbols: Sequence[Symbol], count: int = 3, algebra: Algebra[Any] = SYMBOLIC, sizes: Sizes | None = None
) -> Points:
    """Random points where all rows vanish, reached by moving jets only. If none is found (no real point, perhaps) the list is empty.

    Rows are met in stages, positions first, each by moving its own highest jets; a joint solution from the start would be drawn to
    special points, where charts and matrices degenerate. The points have the sizes that the rows suggest, or given ones.
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
            point = stage.solved(point) or point
        point = joint.solved(point) if rows else point
        if point is not None:
            found.append(point)
        if len(found) == count:
            break
    return found


class _Stage:
    """Some rows and the jets that may move to satisfy them, in units in which both are of order one."""

    def __init__(self, rows: Sequence[Any], jets: Sequence[Symbol], algebra: Algebra[Any], sizes: Sizes) -> None:
        present = set().union(*[algebra.symbols(r) for r in rows])
        self.jets = [z for z in jets if z in present]
        self.slopes = Slopes(rows, self.jets, algebra, sizes)

    def solved(self, point: Mapping[Symbol, float] | None) -> dict[Symbol, float] | None:
        """Damped Gauss-Newton of least norm from a point; None without convergence in the step."""
        at = dict(point or {})
        units = self.slopes.units
        for _ in range(_STEPS):
            try:
                residual, jacobian = self.slopes(at)
            except Undefined:
                return None
            step = np.linalg.lstsq(jacobian, -residual, rcond=1e-10)[0]
            length = float(np.linalg.norm(step))
            if not np.isfinite(length):
                return None
            far = float(np.linalg.norm(np.array([at[z] for z in self.jets]) / units))
            reach = max(1.0, 0.5 * far)  # the set may be far away
            damping = min(1.0, reach / length) if length > 0 else 1.0
            at |= {z: float(at[z] + damping * s) for z, s in zip(self.jets, step * units, strict=True)}
            if length < 1e-11 * reach:
                size = max(1.0, reach * float(np.abs(jacobian).max(initial=0.0)))
                return at if float(np.abs(residual).max(initial=0.0)) < 1e-9 * size else None
        return None


def matrices_at(entries: Sequence[Sequence[Any]], points: Sequence[Point], algebra: Algebra[Any] = SYMBOLIC) -> list[Matrix]:
    """A matrix of expressions at several points; points where it is undefined are left out."""
    shape = (len(entries), len(entries[0]) if entries else 0)
    return [a for a in numbers_at(algebra.tape([e for row in entries for e in row]), shape, points) if a is not None]


def numbers_at(tape: Evaluator, shape: tuple[int, int], points: Sequence[Point]) -> list[Matrix | None]:
    """What a tape gives at several points, in the shape of a matrix; None where it is undefined."""
    others = random_point(tape.symbols, 0)
    found: list[Matrix | None] = []
    for point in points:
        try:
            found.append(np.array(tape({**others, **point})).reshape(shape))
        except Undefined:
            found.append(None)
    return found


class DoubtingEvaluator(Evaluator, Protocol):
    """An evaluator that bounds its errors."""

    def doubts(self, values: Mapping[Symbol, float], doubts: Mapping[Symbol, float]) -> Sequence[float]:
        """Bounds of the errors of the expressions, from those of the symbols."""


def measured_at(
    tape: DoubtingEvaluator, shape: tuple[int, int], points: Sequence[Point], error: float, sizes: Sizes, drawn: bool = False
) -> list[tuple[Matrix, Matrix] | None]:
    """A matrix at several points with bounds of the errors of its entries; None where it is undefined.

    `error` is that of the jets of a point, relative to each of them; a larger one, as an iteration leaves it, relative to the largest jet
    of the same kind and order, in units of their sizes. `drawn` says that the
    points were drawn at the sizes of the jets, and not near a state: then a jet far below its size is a zero that the iteration met.
    """
    others = random_point(tape.symbols, 0)
    found: list[tuple[Matrix, Matrix] | None] = []
    for point in points:
        at = {**others, **point}
        try:
            numbers = np.array(tape(at)).reshape(shape)
        except Undefined:
            found.append(None)
            continue
        if _may_be_round_off(numbers):
            found.append((numbers, np.array(tape.doubts(at, _errors(at, error, sizes, drawn))).reshape(shape)))
        else:
            found.append((numbers, _AMPLIFIED * error * np.abs(numbers)))
    return found


_SMALL = 1e-6
"""Entries below this part of the largest in their row and in their column may be round-off: then all doubts are computed."""
_AMPLIFIED = 100.0
"""How much more uncertain than the jets of a point an entry is that is no difference of large numbers, at most."""


def _may_be_round_off(numbers: Matrix) -> bool:
    sizes = np.abs(numbers)
    beside = np.maximum(sizes.max(axis=1, keepdims=True, initial=0.0), sizes.max(axis=0, keepdims=True, initial=0.0))
    return bool(np.any((sizes > 0) & (sizes < _SMALL * beside)))


POINT_ERROR = 1e-11
"""Error of a random point of the constraint manifold, found by iteration, in parts of its largest jet of the same order."""
STATE_ERROR = 2e-15
"""Error of a given state, or of a random point that meets no rows, in parts of each jet: some units of its last place."""


def factored_at(
    entries: Sequence[Sequence[Any]],
    points: Sequence[Point],
    algebra: Algebra[Any],
    sizes: Sizes,
    error: float = POINT_ERROR,
    drawn: bool = False,
) -> list[Factored]:
    """A matrix of graphs at several points, with the doubts of its entries; points where it is undefined are left out."""
    shape = (len(entries), len(entries[0]) if entries else 0)
    if 0 in shape:
        return [Factored(np.zeros(shape)) for _ in points]
    tape: Any = algebra.tape([e for line in entries for e in line])
    measured = measured_at(tape, shape, points, error, sizes, drawn)
    return [Factored(found[0], doubts=found[1]) for found in measured if found is not None]


def rank_at(
    entries: Sequence[Sequence[Any]], points: Sequence[Point], algebra: Algebra[Any], sizes: Sizes, error: float = POINT_ERROR
) -> int:
    """The largest rank of a matrix of expressions at some points; 0 without points."""
    return max((found.rank for found in factored_at(entries, points, algebra, sizes, error)), default=0)


_BY_ITERATION = 1e-12
"""Errors above this are those of an iteration, which are of one size for all jets that it moves together."""


_MET = 1e-10
"""Jets of a kind that are smaller than this part of the others of their order are what an iteration leaves of zero, and have its error: a
double root is met to 4e-12."""
_NONE = 1e-16
"""Where all jets of an order are smaller, in units of their sizes, the iteration met zero, and they have the error of the sizes."""


def _errors(point: Point, error: float, sizes: Sizes, drawn: bool) -> dict[Symbol, float]:
    """The error of each symbol: parameters are exact."""
    jets = {z: v for z, v in point.items() if isinstance(z, Jet)}
    exact = dict.fromkeys(point, 0.0)
    if error <= _BY_ITERATION:
        return {**exact, **{z: error * abs(v) for z, v in jets.items()}}
    largest = largest_of_kind(jets, sizes)
    orders: dict[int, float] = {}
    for z, v in largest.items():
        orders[z.order] = max(orders.get(z.order, 0.0), v / sizes.get(z, 1.0))
    floor = {order: 1.0 if drawn and v < _NONE else v for order, v in orders.items()}
    usual = {z: floor[z.order] * sizes.get(z, 1.0) for z in jets}
    return {**exact, **{z: error * (v if v > _MET * usual[z] else usual[z]) for z, v in largest.items()}}


def generic_rank(entries: Sequence[Sequence[Expr]], points: Sequence[Point]) -> int:
    """The rank on the set of the points: exact where a finite field has points of that set, else the one met most often in numbers."""
    exact = exact_rank(entries, points.rows) if isinstance(points, Points) else None
    if exact is not None:
        return exact
    found = Counter(rank(a) for a in matrices_at(entries, points))
    return found.most_common(1)[0][0] if found else 0


_LARGER = 1e-6
"""Sizes of a sum, relative to its terms, that show a value at points that satisfy their rows to 1e-11."""


def zero_on(expressions: Sequence[Expr], points: Sequence[Point]) -> list[bool | None]:
    """Which expressions vanish on the set of the points, exactly, where a finite field has points of it.

    Elsewhere numbers show that an expression does not vanish, and None says that it does not at the points tried.
    """
    exact = exactly_zero(expressions, points.rows) if isinstance(points, Points) else None
    if exact is not None:
        return list(exact)
    found = []
    for e in expressions:
        parts = matrices_at([list(sympy.Add.make_args(e))], points)
        found.append(False if any(abs(float(a.sum())) > _LARGER * float(np.abs(a).max(initial=0.0)) for a in parts) else None)
    return found
