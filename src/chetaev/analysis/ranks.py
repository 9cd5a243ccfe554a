"""Generic ranks of matrices of expressions, taken at random points of a constraint manifold.

A rank off the manifold is the wrong rank: two rows may be independent everywhere except exactly where the motion lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Symbol

from chetaev.calculus import SYMBOLIC, Algebra, Evaluator
from chetaev.symbols import Jet
from chetaev.values import Undefined
from chetaev.zero import random_point

Point = Mapping[Symbol, float]
Matrix = NDArray[np.float64]

_CUT = 1e-8
_NOISE = 1e-11
_STEPS = 60
_PASSES = 2
_FITS = 4
_OUTLIER = -7.0


def rank(matrix: Matrix) -> int:
    """The numerical rank: noise cleared, rows and columns equilibrated, singular values cut at 1e-8 of the largest."""
    return int(np.sum(_singular_values(matrix) > _CUT))


def equilibrated(matrix: Matrix, noise: float = _NOISE) -> tuple[Matrix, Matrix, Matrix]:
    """Row scales, scaled matrix and column scales, with `matrix = diag(rows) @ scaled @ diag(columns)`.

    At random points of order one, entries below the noise are round-off of zeros and are cleared; with a user's values a small
    entry may be a small mass, and nothing is cleared.
    """
    a = np.array(matrix, dtype=float)
    a[np.abs(a) < noise * np.abs(a).max(initial=0.0)] = 0.0
    rows, columns = _geometric_scales(a)
    a = a / rows[:, None] / columns
    for _ in range(_PASSES):
        r = np.abs(a).max(axis=1, initial=0.0)
        r[r == 0] = 1.0
        a, rows = a / r[:, None], rows * r
        c = np.abs(a).max(axis=0, initial=0.0)
        c[c == 0] = 1.0
        a, columns = a / c, columns * c
    return rows, a, columns


def _geometric_scales(a: Matrix) -> tuple[Matrix, Matrix]:
    """Scales that bring the logarithms of the entries nearest to zero (Curtis and Reid): units drop out.

    An entry that stays very small is left out and the rest fitted again: a small entry does no harm, bent scales do.
    """
    m, n = a.shape
    present = a != 0
    logs = np.log(np.abs(a), out=np.zeros_like(a), where=present)
    rows, columns = np.zeros(m), np.zeros(n)
    for _ in range(_FITS):
        if not present.any():
            break
        # the normal equations of logs = rows + columns: as many unknowns as rows and columns, however many entries there are
        counts = np.concatenate([present.sum(axis=1), present.sum(axis=0)])
        normal = np.diag(counts.astype(float))
        normal[:m, m:], normal[m:, :m] = present, present.T
        sums = np.where(present, logs, 0.0)
        fitted = np.linalg.lstsq(normal, np.concatenate([sums.sum(axis=1), sums.sum(axis=0)]), rcond=1e-10)[0]
        rows, columns = fitted[:m], fitted[m:]
        keep = present & (logs - rows[:, None] - columns > _OUTLIER)
        if (keep == present).all():
            break
        present = keep
    return np.exp(rows), np.exp(columns)


def _singular_values(matrix: Matrix) -> Matrix:
    if 0 in matrix.shape:
        return np.zeros(0)
    values = np.linalg.svd(equilibrated(matrix)[1], compute_uv=False)
    return values / values[0] if values[0] > 0 else np.zeros_like(values)


def points_on(rows: Sequence[Any], symbols: Sequence[Symbol], count: int = 3, algebra: Algebra[Any] = SYMBOLIC) -> list[Point]:
    """Random points where all rows vanish, reached by moving jets only. If none is found (no real point, perhaps) the list is empty.

    Rows are met in stages, positions first, each by moving its own highest jets; a joint solution from the start would be drawn to
    special points, where charts and matrices degenerate.
    """
    present = [algebra.symbols(r) for r in rows]
    symbols = sorted(set(symbols).union(*present), key=lambda z: z.name)
    orders = {k: max((z.order for z in found if isinstance(z, Jet)), default=0) for k, found in enumerate(present)}
    stages = []
    for order in sorted(set(orders.values())):
        staged = [r for k, r in enumerate(rows) if orders[k] == order]
        stages.append(_Stage(staged, [z for z in symbols if isinstance(z, Jet) and z.order == order], algebra))
    joint = _Stage(rows, [z for z in symbols if isinstance(z, Jet)], algebra)
    found: list[Point] = []
    for seed in range(8 * count):
        point: dict[Symbol, float] | None = random_point(symbols, seed)
        for stage in stages:
            point = stage.solved(point) or point
        point = joint.solved(point) if rows else point
        if point is not None:
            found.append(point)
        if len(found) == count:
            break
    return found


class _Stage:
    """Some rows and the jets that may move to satisfy them."""

    def __init__(self, rows: Sequence[Any], jets: Sequence[Symbol], algebra: Algebra[Any]) -> None:
        self.count = len(rows)
        present = set().union(*[algebra.symbols(r) for r in rows])
        self.jets = [z for z in jets if z in present]
        self.tape = algebra.tape([*rows, *[d for r in rows for d in algebra.gradient(r, self.jets)]])

    def solved(self, point: Mapping[Symbol, float] | None) -> dict[Symbol, float] | None:
        """Damped Gauss-Newton of least norm from a point; None without convergence in the step."""
        at = dict(point or {})
        for _ in range(_STEPS):
            try:
                numbers = np.array(self.tape(at))
            except Undefined:
                return None
            residual, jacobian = numbers[: self.count], numbers[self.count :].reshape(self.count, len(self.jets))
            step = np.linalg.lstsq(jacobian, -residual, rcond=1e-10)[0]
            length = float(np.linalg.norm(step))
            if not np.isfinite(length):
                return None
            reach = max(1.0, 0.5 * float(np.linalg.norm([at[z] for z in self.jets])))  # the set may be far away
            damping = min(1.0, reach / length) if length > 0 else 1.0
            at |= {z: float(at[z] + damping * s) for z, s in zip(self.jets, step, strict=True)}
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


def generic_rank(entries: Sequence[Sequence[Expr]], points: Sequence[Point]) -> int:
    """The rank met most often at the points."""
    found = Counter(rank(a) for a in matrices_at(entries, points))
    return found.most_common(1)[0][0] if found else 0
