r"""Slopes of rows at points of their set, and whether they describe it there.

Where gradients jump, a point is regular if all matrices of the convex hull of the Jacobians nearby have full rank (F. H. Clarke, On the
inverse function theorem, Pacific J. Math. 64 (1976) 97-102). Opposite sides of the tip of a cone have opposite gradients, whose mean
vanishes; at the corner of $\max(x, y) = 0$ no mean of $(1, 0)$ and $(0, 1)$ does. For smooth rows the hull is one matrix, and this is the
usual condition.

Newton's iteration comes near such points slowly, by a half of the distance in each step at a double root and less at others, so that
gradients are small and never zero; they are measured by those at random points off the set. Rows that repeat others on the set lose
rank as well, but the others alone keep them at zero: that is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from sympy import Symbol

from chetaev.core.calculus import Algebra, Evaluator
from chetaev.core.symbols import Input, Jet
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.ranks.generic import Matrix, Point
from chetaev.mechanics.ranks.sizes import Sizes, units_of
from chetaev.numerics.flow.sampling import points_near

_SMALL = 1e-5
"""Slopes below this part of those elsewhere vanish on the set; at a multiple root they are only neared."""
_STARTS = 12
_POINTS = 4
_STEPS = 400
_HALVINGS = 5
_PATIENCE = 20
"""Steps that make rows no smaller before a start is given up."""
_ENTRIES = 2_000_000
"""Entries of Jacobians after which no further start is tried: some seconds of work. They are counted, so that what is found does not depend
on how busy the machine is."""
_STEP = 100
"""What a step costs besides the entries of its Jacobian, in entries."""
_ARRIVED = 1e-10
_ELSEWHERE = 9
_SPREAD = 0.1
_VANISHES = 1e-10
_NOISE = 1e-10
"""Slopes that are round-off."""
_ROUND_OFF = 1e-14
"""Rows that are, in parts of what they are elsewhere."""
_ASIDE = 1e-8
"""How far aside slopes are compared: farther than points are from the set, nearer than any radius of curvature that somebody means."""
_SIDES = 6
_KEPT = 0.1
"""The part of its smallest singular value that a Jacobian of full rank keeps in the hull."""
_JUMP = 3e-5
"""Changes of a slope aside, in parts of slopes elsewhere, that no curvature explains."""


class RowSlopes:
    """Rows, their gradients, and the size of these at random points: what a slope is compared with. Jets are measured by their sizes."""

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
        left, self._spent = _POINTS, 0
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
        """Whether the rows, or those of them that suffice near a point, have independent gradients there."""
        if self.full_rank(point):
            return True
        kept = self._independent(point)
        return bool(kept) and self._kept_in_hull(point, kept) and not self._smaller_than(kept, point)

    def flat(self, k: int, point: Point) -> bool:
        """Whether all slopes of a row vanish at a point."""
        found = self._scaled(point)
        return found is not None and float(np.abs(found[k]).max(initial=0.0)) < _SMALL

    def jumps(self, k: int, point: Point) -> bool:
        """Whether slopes of a row are different on different sides of a point, or have no value there."""
        found = self._aside(point)
        if found is None or self._scaled(point) is None:
            return True
        return float(np.ptp(found[:, k], axis=0).max(initial=0.0)) > _JUMP

    def vanish_nearby(self, point: Point) -> bool:
        """Whether all rows vanish at some point that is not far, without being sought: the set is fat."""
        chance = np.random.default_rng(11)
        for _ in range(_SIDES):
            shift = 3 * _SPREAD * chance.uniform(0.5, 1.5, len(self.jets)) * chance.choice([-1.0, 1.0], len(self.jets))
            values = self._values(self._shifted(point, shift))
            if values is not None and float(np.abs(values / self.scales).max()) <= _ROUND_OFF * self.usual:
                return True
        return False

    def _stays(self, point: Point) -> bool:
        """Whether small slopes stay as they are in a step of Newton's method: a small set, as a sphere of radius 1e-6, has them.

        At a multiple root they shrink, by a half or less; unless the rows are round-off there, which a slope tells by its square.
        """
        found = self._numbers(point)
        if found is None or len(self.rows) > len(self.jets):
            return False
        residual, jacobian = found[0] / self.scales, found[1] / self.scales[:, None]
        step = np.linalg.lstsq(jacobian, -residual, rcond=_NOISE)[0]
        moved = self._scaled(self._moved(point, step))
        if moved is None:
            return False
        before, after = (float(np.linalg.svd(a, compute_uv=False)[-1]) for a in (jacobian, moved))
        return before > max(_NOISE, (_ROUND_OFF * self.usual) ** 0.5) and abs(after - before) < 0.1 * before

    def _kept_in_hull(self, point: Point, kept: Sequence[int]) -> bool:
        """Whether Jacobians beside a point, and the means of opposite ones, have no smaller rank than is usual there."""
        found = self._aside(point)
        if found is None or len(kept) > len(self.jets):
            return False
        sides = found[:, list(kept)]
        hull = np.concatenate([sides, (sides[0::2] + sides[1::2]) / 2])
        sizes = np.linalg.svd(hull, compute_uv=False)[:, -1]
        return bool(sizes.min() > _KEPT * np.median(sizes[: len(sides)]))

    def _aside(self, point: Point) -> Matrix | None:
        """Scaled Jacobians at pairs of opposite points around a point; None where one is undefined."""
        chance = np.random.default_rng(5)
        found = []
        for _ in range(_SIDES):
            direction = chance.standard_normal(len(self.jets))
            shift = _ASIDE * direction / max(float(np.linalg.norm(direction)), 1e-300)
            found += [self._scaled(self._shifted(point, shift)), self._scaled(self._shifted(point, -shift))]
        known = [a for a in found if a is not None]
        return np.array(known) if len(known) == len(found) else None

    def _independent(self, point: Point) -> list[int]:
        """Rows whose gradients are independent at a point, as many as there are."""
        scaled, r = self._scaled(point), self._rank(point)
        return [] if scaled is None or not r else [int(k) for k in scipy.linalg.qr(scaled.T, mode="r", pivoting=True)[-1][:r]]

    def _smaller_than(self, kept: Sequence[int], point: Point) -> bool:
        """Whether rows fail near a point wherever those kept hold: the set is smaller than the rank at the point tells."""
        nearby = points_near([self.rows[k] for k in kept], point, self.algebra, spread=_SPREAD, moved=self.jets, sizes=self.sizes)
        values = [found / self.scales for p in nearby if (found := self._values(p)) is not None]
        return bool(values) and float(np.abs(values).max(axis=1).min()) > _VANISHES  # at one of them chance may lead to another component

    def _rank(self, point: Point) -> int | None:
        found = self._scaled(point)
        return None if found is None else int(np.sum(np.linalg.svd(found, compute_uv=False) > _SMALL))

    def _scaled(self, point: Point) -> Matrix | None:
        found = self._numbers(point)
        return None if found is None else found[1] / self.scales[:, None]

    def _shifted(self, point: Point, shift: Matrix) -> Point:
        """A point aside, by parts of the size of each jet."""
        return self._moved(point, shift * np.maximum(1.0, np.abs([point[z] for z in self.jets]) / self.units))

    def _moved(self, point: Mapping[Symbol, float], step: Matrix) -> dict[Symbol, float]:
        """A point displaced by so many units of each jet."""
        return {**point, **{z: float(point[z] + s) for z, s in zip(self.jets, step * self.units, strict=True)}}

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
        """Gauss-Newton of least norm, with patience for multiple roots, and with shorter steps where rows do not fall or have no value."""
        at, stuck = dict(start), 0
        for _ in range(_STEPS):
            self._spent += _STEP + len(self.rows) * len(self.jets)
            found = self._numbers(at)
            if found is None:  # the end of a domain, as of sqrt(x)
                values = self._values(at)
                return at if values is not None and float(np.abs(values / self.scales).max()) < _ARRIVED else None
            residual, jacobian = found[0] / self.scales, found[1] / self.scales[:, None]
            step = np.linalg.lstsq(jacobian, -residual, rcond=1e-10)[0]
            length = float(np.linalg.norm(step))
            if not np.isfinite(length):
                return None
            if length < _ARRIVED and float(np.abs(residual).max()) < _ARRIVED:
                return at
            if not length:
                return None
            following, smaller = self._stepped(at, min(1.0, 1.0 / length) * step, float(np.linalg.norm(residual)))
            stuck += not smaller
            if following is None or stuck > _PATIENCE:
                return None
            at = following
        return None

    def _stepped(self, at: Mapping[Symbol, float], step: Matrix, size: float) -> tuple[dict[Symbol, float] | None, bool]:
        """The first of ever shorter steps after which the rows are smaller, and whether there is one; else the shortest one with values."""
        last = None
        for k in range(_HALVINGS + 1):
            trial = self._moved(at, step / 2**k)
            values = self._values(trial)
            if values is not None:
                last = trial
                if float(np.linalg.norm(values / self.scales)) < size:
                    return trial, True
        return last, False
