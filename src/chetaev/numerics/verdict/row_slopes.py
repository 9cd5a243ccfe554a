r"""Slopes of rows at points of their set, and whether they describe it there.

Where gradients jump, a point is regular if all matrices of the convex hull of the Jacobians nearby have full rank (F. H. Clarke, On the
inverse function theorem, Pacific J. Math. 64 (1976) 97-102). Opposite sides of the tip of a cone have opposite gradients, whose mean
vanishes; at the corner of $\max(x, y) = 0$ no mean of $(1, 0)$ and $(0, 1)$ does. For smooth rows the hull is one matrix, and this is the
usual condition.

Newton's iteration approaches such points slowly, by half of the distance in each step at a double root and less at others, so that
gradients are small but never zero; they are compared with those at random points off the set. Rows that repeat others on the set lose rank
as well, but vanish wherever the other rows do; this is tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.calculus import Algebra, Evaluator
from chetaev.core.symbols import Input, Jet
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.ranks.generic import Matrix, Point
from chetaev.mechanics.ranks.newton import least_norm, moved
from chetaev.mechanics.ranks.sizes import Sizes, units_of
from chetaev.mechanics.ranks.split import rank_of
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.flow.constraint_set.sampling import points_near

_VANISHING_SLOPE = 1e-5
"""Slope, relative to slopes off the set, below which it vanishes on the set. The iteration ends near a multiple root, not at it, so slopes
are not exactly zero there."""
_STARTS = 12
"""Random starts of the search for points of the set."""
_POINTS_OF_SET = 4
"""Number of points of the set that are used; more make the verdict more reliable and slower."""
_MOST_STEPS = 400
"""Most steps of the iteration, which converges slowly at multiple roots."""
_HALVINGS = 5
"""Most halvings of a step that does not reduce the rows."""
_MOST_IDLE_STEPS = 20
"""Steps without a decrease of the rows after which a start is abandoned."""
_ENTRIES = 2_000_000
"""Budget: entries of Jacobians after which no further start is tried, some seconds of work. Work is counted instead of time, so that the
result does not depend on the load of the machine."""
_STEP = 100
"""Cost of a step besides the entries of its Jacobian, in entries."""
_CONVERGED = 1e-10
"""Relative size of rows and steps at which the iteration has converged."""
_ELSEWHERE = 9
"""Number of random points off the set at which the typical sizes of rows and slopes are measured."""
_SPREAD = 0.1
"""Relative displacement of points near a given point, but clearly different from it."""
_ZERO_ROW = 1e-10
"""Relative size below which rows vanish at a point."""
_ROUND_OFF_OF_SLOPES = 1e-10
"""Slope, relative to slopes off the set, below which it is round-off."""
_ROUND_OFF_OF_ROWS = 1e-14
"""Value of a row, relative to values off the set, below which it is round-off."""
_ASIDE = 1e-8
"""Relative displacement at which slopes on both sides of a point are compared: larger than the distance of points from the set, smaller
than any realistic radius of curvature."""
_SIDES = 6
"""Random directions in which slopes on both sides are compared."""
_KEPT_RANK = 0.1
"""Smallest ratio of a singular value in the hull to that at the point for which the Jacobian keeps full rank."""
_JUMP = 3e-5
"""Change of a slope between the two sides of a point, relative to slopes off the set, above which it is a jump and not curvature."""


class RowSlopes:
    """Rows and their gradients, with the usual sizes of both at random points for comparison. Jets are scaled by their sizes."""

    def __init__(self, rows: Sequence[Any], algebra: Algebra[Any], sizes: Sizes) -> None:
        self.rows, self.algebra, self.sizes = rows, algebra, sizes
        self._spent = 0
        symbols = algebra.symbols_of(rows)
        self.jets = sorted((z for z in symbols if isinstance(z, Jet) and not isinstance(z, Input)), key=lambda z: z.name)
        self.units = units_of(self.jets, sizes)
        self.slopes = [algebra.gradient(r, self.jets) for r in rows]
        self.tape = algebra.tape([*rows, *[d for line in self.slopes for d in line]])
        elsewhere = [found for seed in range(_ELSEWHERE) if (found := self._numbers(self._random(seed))) is not None]
        slopes = np.array([np.linalg.norm(jacobian, axis=1) for _, jacobian in elsewhere]).reshape(len(elsewhere), len(rows))
        self.scales = np.array([float(np.median(s[s > 0])) if (s > 0).any() else 1.0 for s in slopes.T])
        self.usual = float((np.median([np.abs(values) for values, _ in elsewhere], axis=0) / self.scales).max()) if elsewhere else 1.0

    @cached_property
    def _values_tape(self) -> Evaluator:
        return self.algebra.tape(self.rows)

    def points(self) -> Iterator[Point]:
        """A few points where all rows vanish, reached from random ones by moving all jets at once."""
        left, self._spent = _POINTS_OF_SET, 0
        for seed in range(_STARTS):
            point = self._reached(self._random(seed))
            if point is not None:
                yield point
                left -= 1
            if not left or self._spent > _ENTRIES:
                return

    def full_rank(self, point: Point) -> bool:
        """Whether the gradients are independent at a point, and stay so in the hull of those nearby."""
        independent = self._rank(point) == len(self.rows) or self._stays(point)
        return independent and self._kept_in_hull(point, range(len(self.rows)))

    def regular(self, point: Point) -> bool:
        """Whether the rows, or a subset that defines the same set near a point, have independent gradients there."""
        if self.full_rank(point):
            return True
        kept = self._independent(point)
        return bool(kept) and self._kept_in_hull(point, kept) and not self._smaller_than(kept, point)

    def flat(self, k: int, point: Point) -> bool:
        """Whether all slopes of a row vanish at a point."""
        found = self._scaled(point)
        return found is not None and float(np.abs(found[k]).max(initial=0.0)) < _VANISHING_SLOPE

    def jumps(self, k: int, point: Point) -> bool:
        """Whether slopes of a row are different on different sides of a point, or have no value there."""
        found = self._aside(point)
        if found is None or self._scaled(point) is None:
            return True
        return float(np.ptp(found[:, k], axis=0).max(initial=0.0)) > _JUMP

    def vanish_nearby(self, point: Point) -> bool:
        """Tell whether all rows vanish at some random point nearby: the set then has interior points."""
        chance = np.random.default_rng(11)
        for _ in range(_SIDES):
            shift = 3 * _SPREAD * chance.uniform(0.5, 1.5, len(self.jets)) * chance.choice([-1.0, 1.0], len(self.jets))
            values = self._values(self._shifted(point, shift))
            if values is not None and float(np.abs(values / self.scales).max()) <= _ROUND_OFF_OF_ROWS * self.usual:
                return True
        return False

    def _stays(self, point: Point) -> bool:
        """Tell whether small slopes stay unchanged in a step of Newton's method, as on a small set such as a sphere of radius 1e-6.

        At a multiple root they shrink, by half or less, unless the rows are round-off there, that is of the size of the square of a slope.
        """
        found = self._numbers(point)
        if found is None or len(self.rows) > len(self.jets):
            return False
        residual, jacobian = found[0] / self.scales, found[1] / self.scales[:, None]
        step = least_norm(residual, jacobian)
        there = None if step is None else self._scaled(self._moved(point, step[0]))
        if there is None:
            return False
        before, after = (float(np.linalg.svd(a, compute_uv=False)[-1]) for a in (jacobian, there))
        return before > max(_ROUND_OFF_OF_SLOPES, (_ROUND_OFF_OF_ROWS * self.usual) ** 0.5) and abs(after - before) < 0.1 * before

    def _kept_in_hull(self, point: Point, kept: Sequence[int]) -> bool:
        """Tell whether Jacobians near a point, and the means of those at opposite points, keep the rank."""
        found = self._aside(point)
        if found is None or len(kept) > len(self.jets):
            return False
        sides = found[:, list(kept)]
        hull = np.concatenate([sides, (sides[0::2] + sides[1::2]) / 2])
        sizes = np.linalg.svd(hull, compute_uv=False)[:, -1]
        return bool(sizes.min() > _KEPT_RANK * np.median(sizes[: len(sides)]))

    def _aside(self, point: Point) -> Matrix | None:
        """Scaled Jacobians at pairs of opposite points around a point; None where one is undefined."""
        chance = np.random.default_rng(5)
        found = []
        for _ in range(_SIDES):
            direction = chance.standard_normal(len(self.jets))
            shift = _ASIDE * direction / max(float(np.linalg.norm(direction)), ALMOST_ZERO)
            found += [self._scaled(self._shifted(point, shift)), self._scaled(self._shifted(point, -shift))]
        known = [a for a in found if a is not None]
        return np.array(known) if len(known) == len(found) else None

    def _independent(self, point: Point) -> list[int]:
        """Return a largest set of rows whose gradients are independent at a point."""
        scaled, r = self._scaled(point), self._rank(point)
        if scaled is None or not r:
            return []
        from scipy.linalg import qr

        return [int(k) for k in qr(scaled.T, mode="r", pivoting=True)[-1][:r]]

    def _smaller_than(self, kept: Sequence[int], point: Point) -> bool:
        """Tell whether the other rows fail near a point wherever the rows `kept` hold: the set is smaller than the rank suggests."""
        nearby = points_near([self.rows[k] for k in kept], point, self.algebra, spread=_SPREAD, moved=self.jets, sizes=self.sizes)
        values = [found / self.scales for p in nearby if (found := self._values(p)) is not None]
        return bool(values) and float(np.abs(values).max(axis=1).min()) > _ZERO_ROW  # one point alone might lie on another component

    def _rank(self, point: Point) -> int | None:
        found = self._scaled(point)
        return None if found is None else rank_of(found, _VANISHING_SLOPE, size=1.0)

    def _scaled(self, point: Point) -> Matrix | None:
        found = self._numbers(point)
        return None if found is None else found[1] / self.scales[:, None]

    def _shifted(self, point: Point, shift: Matrix) -> Point:
        """A point displaced by `shift` times the size of each jet."""
        return self._moved(point, shift * np.maximum(1.0, np.abs([point[z] for z in self.jets]) / self.units))

    def _moved(self, point: Mapping[Symbol, float], step: Matrix) -> dict[Symbol, float]:
        """Return a point displaced by `step`, in units of each jet."""
        return moved(point, self.jets, step * self.units)

    def _random(self, seed: int) -> dict[Symbol, float]:
        return random_point(self.tape.symbols, seed, sizes=self.sizes)

    def _numbers(self, point: Mapping[Symbol, float]) -> tuple[Matrix, Matrix] | None:
        try:
            values = np.array(self.tape(point), dtype=float)
        except Undefined:
            return None
        n = len(self.rows)
        return values[:n], values[n:].reshape(n, len(self.jets)) * self.units

    def _values(self, point: Mapping[Symbol, float]) -> Matrix | None:
        """The rows alone: they may have values where slopes have none."""
        try:
            return np.array(self._values_tape(point), dtype=float)
        except Undefined:
            return None

    def _reached(self, start: Mapping[Symbol, float]) -> Point | None:
        """Run Gauss-Newton of least norm, with many steps for multiple roots, and shorter steps where rows do not decrease or have no
        value.
        """
        at, stuck = dict(start), 0
        for _ in range(_MOST_STEPS):
            self._spent += _STEP + len(self.rows) * len(self.jets)
            found = self._numbers(at)
            if found is None:  # the end of a domain, as of sqrt(x)
                values = self._values(at)
                return at if values is not None and float(np.abs(values / self.scales).max()) < _CONVERGED else None
            residual, jacobian = found[0] / self.scales, found[1] / self.scales[:, None]
            taken = least_norm(residual, jacobian)
            if taken is None:
                return None
            step, length = taken
            if length < _CONVERGED and float(np.abs(residual).max()) < _CONVERGED:
                return at
            if not length:
                return None
            following, smaller = self._stepped(at, min(1.0, 1.0 / length) * step, float(np.linalg.norm(residual)))
            stuck += not smaller
            if following is None or stuck > _MOST_IDLE_STEPS:
                return None
            at = following
        return None

    def _stepped(self, at: Mapping[Symbol, float], step: Matrix, size: float) -> tuple[dict[Symbol, float] | None, bool]:
        """Return the first of successively shorter steps that reduces the rows, and True; otherwise the shortest with values, and False."""
        last = None
        for k in range(_HALVINGS + 1):
            trial = self._moved(at, step / 2**k)
            values = self._values(trial)
            if values is not None:
                last = trial
                if float(np.linalg.norm(values / self.scales)) < size:
                    return trial, True
        return last, False
