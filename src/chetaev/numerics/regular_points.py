r"""Rows without a regular point: their rank drops wherever they hold.

A set $f_1 = \dots = f_m = 0$ is regular at a point where it has as many dimensions less as the gradients have rank there. For
$x^2 + y^2 = 0$ this fails at every point of the set: off it the rank is one, on it the gradient vanishes, and yet the set is a point. A
plane that touches a sphere, or a function on a group that is to take its largest value ($A_{33} = 1$), are of the same kind. Then no
reaction has a direction, and what structural analysis says with the rank at points nearby is not true of the set.

Newton's iteration comes near such points slowly, by a half of the distance in each step at a double root and less at others, so that
gradients are small and never zero; they are measured by those at random points off the set. Rows that repeat others on the set lose
rank as well, but the others alone keep them at zero: that is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from sympy import Symbol

from chetaev.analysis.ranks import Matrix, Point
from chetaev.calculus import Algebra
from chetaev.numerics.prolong import Prolongation
from chetaev.numerics.sampling import points_near
from chetaev.symbols import Input, Jet
from chetaev.values import Undefined
from chetaev.zero import random_point, seems_zero

_SMALL = 1e-5
"""Slopes below this part of those elsewhere vanish on the set; at a multiple root they are only neared."""
_STARTS = 12
_POINTS = 4
_STEPS = 300
_ARRIVED = 1e-9
_ELSEWHERE = 9
_SPREAD = 0.1
_VANISHES = 1e-10
_NOISE = 1e-10
"""Slopes that are round-off."""
_ROUND_OFF = 1e-14
"""Rows that are, in parts of what they are elsewhere."""


def rows_without_regular_point(system: Prolongation) -> tuple[str, ...]:
    """The kinematic rows whose common set has no regular point, judged at random points of it; empty if it has one or none is known."""
    pairs = [pair for pair in system.hidden() if pair[1] == 0 and system.label(pair).startswith("kinematic")]
    if not pairs:
        return ()
    rows = _Rows([system.row(pair) for pair in pairs], system.algebra)
    if any(rows.full_rank(point) for point in system.points):
        return ()
    points = [*system.points, *rows.points()]  # patience alone would be drawn to special points where others are regular
    if not points or not all(rows.smaller_than_rank(point) for point in points):
        return ()
    flat = [pair for k, pair in enumerate(pairs) if all(rows.flat(k, point) for point in points)]
    return tuple(map(system.label, flat or pairs))


def without_regular_point(labels: Sequence[str]) -> str:
    """Why rows without a regular point decide nothing."""
    if len(labels) == 1:
        fact = f"{labels[0]} has no regular point: all its slopes vanish wherever it holds"
    else:
        fact = f"{', '.join(labels)} have no regular point in common: their slopes depend on each other wherever they hold"
    return f"{fact}, so that a reaction has no direction there. State what vanishes there itself, as x = 0, y = 0 instead of x^2 + y^2 = 0"


def rows_without_slope(system: Prolongation) -> tuple[str, ...]:
    """Kinematic rows that are the same number at every state, and not zero: the length of a row of a rotation is one, and not two."""
    mechanical = system.equations.system
    found = []
    for k, row in enumerate(mechanical.kinematic):
        written = mechanical.charted(row.residual)
        slopes = [written.diff(z) for z in written.free_symbols if isinstance(z, Jet) and not isinstance(z, Input)]
        if not seems_zero(written) and all(map(seems_zero, slopes)):
            found.append(f"kinematic[{k}]")
    return tuple(found)


class _Rows:
    """Rows, their gradients, and the size of these at random points: what a slope is compared with."""

    def __init__(self, rows: Sequence[Any], algebra: Algebra[Any]) -> None:
        self.rows, self.algebra = rows, algebra
        symbols = algebra.symbols_of(rows)
        self.jets = sorted((z for z in symbols if isinstance(z, Jet) and not isinstance(z, Input)), key=lambda z: z.name)
        self.tape = algebra.tape([*rows, *[d for r in rows for d in algebra.gradient(r, self.jets)]])
        elsewhere = [found for seed in range(_ELSEWHERE) if (found := self._numbers(self._random(seed))) is not None]
        slopes = [np.linalg.norm(jacobian, axis=1) for _, jacobian in elsewhere]
        self.scales = np.maximum(np.median(slopes, axis=0), 1e-300) if elsewhere else np.ones(len(rows))
        self.usual = float((np.median([np.abs(values) for values, _ in elsewhere], axis=0) / self.scales).max()) if elsewhere else 1.0

    def points(self) -> Iterator[Point]:
        """A few points where all rows vanish, reached from random ones by moving all jets at once."""
        left = _POINTS
        for seed in range(_STARTS):
            point = self._reached(self._random(seed))
            if point is not None:
                yield point
                left -= 1
            if not left:
                return

    def full_rank(self, point: Point) -> bool:
        """Whether the gradients are independent at a point."""
        return self._rank(point) == len(self.rows) or self._stays(point)

    def _stays(self, point: Point) -> bool:
        """Whether small slopes stay as they are in a step of Newton's method: a small set, as a sphere of radius 1e-6, has them.

        At a multiple root they shrink, by a half or less; unless the rows are round-off there, which a slope tells by its square.
        """
        found = self._numbers(point)
        if found is None or len(self.rows) > len(self.jets):
            return False
        residual, jacobian = found[0] / self.scales, found[1] / self.scales[:, None]
        step = np.linalg.lstsq(jacobian, -residual, rcond=_NOISE)[0]
        moved = self._scaled({**point, **{z: float(point[z] + s) for z, s in zip(self.jets, step, strict=True)}})
        if moved is None:
            return False
        before, after = (float(np.linalg.svd(a, compute_uv=False)[-1]) for a in (jacobian, moved))
        return before > _NOISE and before**2 > _ROUND_OFF * self.usual and abs(after - before) < 0.1 * before

    def flat(self, k: int, point: Point) -> bool:
        """Whether all slopes of a row vanish at a point."""
        found = self._scaled(point)
        return found is not None and float(np.abs(found[k]).max(initial=0.0)) < _SMALL

    def smaller_than_rank(self, point: Point) -> bool:
        """Whether rows fail near a point wherever others hold that have the same rank there: the set is smaller than this rank tells."""
        scaled = self._scaled(point)
        r = self._rank(point)
        if scaled is None or r is None or r == len(self.rows):
            return False
        kept = scipy.linalg.qr(scaled.T, mode="r", pivoting=True)[-1][:r]
        nearby = points_near([self.rows[k] for k in kept], point, self.algebra, spread=_SPREAD)
        values = [found[0] / self.scales for p in nearby if (found := self._numbers(p)) is not None]
        return bool(values) and float(np.abs(values).max(axis=1).min()) > _VANISHES  # at one of them chance may lead to another component

    def _rank(self, point: Point) -> int | None:
        found = self._scaled(point)
        return None if found is None else int(np.sum(np.linalg.svd(found, compute_uv=False) > _SMALL))

    def _scaled(self, point: Point) -> Matrix | None:
        found = self._numbers(point)
        return None if found is None else found[1] / self.scales[:, None]

    def _random(self, seed: int) -> dict[Symbol, float]:
        return random_point(self.tape.symbols, seed)

    def _numbers(self, point: Mapping[Symbol, float]) -> tuple[Matrix, Matrix] | None:
        try:
            values = np.array(self.tape(point), dtype=float)
        except Undefined:
            return None
        n = len(self.rows)
        return values[:n], values[n:].reshape(n, len(self.jets))

    def _reached(self, start: Mapping[Symbol, float]) -> Point | None:
        """Gauss-Newton of least norm, with patience for multiple roots."""
        at = dict(start)
        for _ in range(_STEPS):
            found = self._numbers(at)
            if found is None:
                return None
            residual, jacobian = found[0] / self.scales, found[1] / self.scales[:, None]
            step = np.linalg.lstsq(jacobian, -residual, rcond=1e-10)[0]
            length = float(np.linalg.norm(step))
            if not np.isfinite(length):
                return None
            if length < _ARRIVED:
                return at if float(np.abs(residual).max()) < _ARRIVED else None
            at |= {z: float(at[z] + min(1.0, 1.0 / length) * s) for z, s in zip(self.jets, step, strict=True)}
        return None
